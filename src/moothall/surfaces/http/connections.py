"""Connections of a server: how many of them callers without a token may have, and how long one may be silent.

A stranger is a caller that has not shown a valid token on a connection. Strangers share a part of the connections; who comes when
that is full takes over from the stranger that has been there longest, so that the owner, who shows a token at once, gets in.
"""

import logging
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from typing import Any, Final

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from moothall.surfaces.http.access_control import name_peer

HEADER_SECONDS: Final = 10.0
"""How long a caller may take for a request and its headers, from the connection or the last answer on."""
BODY_SECONDS: Final = 30.0
"""How long a body may be silent; of a stranger, how long a request may take in all."""
TICKS_BETWEEN_SWEEPS: Final = 10
"""Of a tenth of a second."""
WANTED_DESCRIPTORS: Final = 65_536
RESERVED_DESCRIPTORS: Final = 128
"""For the ledger, programs and calls to models."""
MAX_STRANGERS: Final = 512
MAX_STRANGERS_OF_AN_ADDRESS: Final = 128
LOG_SECONDS: Final = 60.0

log = logging.getLogger("moot")


def raise_descriptor_limit() -> int:
    """Allow this process as many descriptors as it may have and needs; return how many."""
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows has no such limit
        return WANTED_DESCRIPTORS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, WANTED_DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return WANTED_DESCRIPTORS if soft == resource.RLIM_INFINITY else soft


class ConnectionLimits:
    """The open connections of a server, oldest first, and which have to go; the limit of an address is not for `proxies`."""

    def __init__(
        self,
        descriptors: int,
        proxies: Collection[str] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.clock = clock
        self._proxies = frozenset(proxies)
        self._max_all = max(16, descriptors - RESERVED_DESCRIPTORS)
        self._max_strangers = max(8, min(MAX_STRANGERS, self._max_all // 4))
        self._all: dict[CountedConnection, None] = {}
        self._strangers: dict[CountedConnection, None] = {}
        self._by_address: dict[str, dict[CountedConnection, None]] = {}
        self._logged_at = -LOG_SECONDS
        self._closed = 0

    def add(self, connection: "CountedConnection") -> None:
        """Count a new connection, and close an older one if there are too many."""
        same = self._by_address.setdefault(connection.address, {})
        for group in (self._all, self._strangers, same):
            group[connection] = None
        if len(same) > MAX_STRANGERS_OF_AN_ADDRESS and connection.address not in self._proxies:
            self._close(
                next(iter(same)),
                f"{MAX_STRANGERS_OF_AN_ADDRESS} connections without a token from {connection.address}",
            )
        elif len(self._strangers) > self._max_strangers:
            self._close(
                next(iter(self._strangers)), f"{self._max_strangers} connections without a token"
            )
        elif len(self._all) > self._max_all:
            oldest = next((each for each in self._all if each.is_owing), connection)
            self._close(oldest, f"{self._max_all} connections")

    def trust(self, connection: "CountedConnection") -> None:
        """Note that a valid token was shown on a connection."""
        self._strangers.pop(connection, None)
        same = self._by_address.get(connection.address, {})
        same.pop(connection, None)
        if not same:
            self._by_address.pop(connection.address, None)

    def discard(self, connection: "CountedConnection") -> None:
        """Forget a connection that was closed."""
        self._all.pop(connection, None)
        self.trust(connection)

    def is_stranger(self, connection: "CountedConnection") -> bool:
        return connection in self._strangers

    def sweep(self) -> None:
        """Close the connections that were silent for too long."""
        now = self.clock()
        for connection in list(self._all):
            is_stranger = connection in self._strangers
            if connection.is_owing_headers:
                limit = HEADER_SECONDS
            elif is_stranger or connection.is_owing:
                limit = BODY_SECONDS
            else:
                continue
            if now - connection.since > limit:
                self._close(connection, f"a request that takes longer than {limit:.0f} s")

    def _close(self, connection: "CountedConnection", limit: str) -> None:
        self.discard(connection)
        connection.abort()
        self._closed += 1
        if self.clock() - self._logged_at >= LOG_SECONDS:
            log.warning(
                "%d connections were closed by a limit, the last one: %s", self._closed, limit
            )
            self._logged_at, self._closed = self.clock(), 0


class CountedConnection(H11Protocol):
    """A connection that is counted. What identifies its caller says so by `request.state.connection.trust()`."""

    limits: ConnectionLimits
    """Set by the server."""

    def __init__(
        self, config: Any, server_state: Any, app_state: dict[str, Any], _loop: Any = None
    ) -> None:
        super().__init__(config, server_state, {**app_state, "connection": self}, _loop)
        self.address = ""
        self.since = self.limits.clock()
        """When the caller began to owe its request, or the part of it that is missing."""

    @property
    def is_owing_headers(self) -> bool:
        return self.conn.their_state is h11.IDLE

    @property
    def is_owing(self) -> bool:
        """Whether something of a request is missing."""
        return self.conn.their_state in {h11.IDLE, h11.SEND_BODY}

    def trust(self) -> None:
        self.limits.trust(self)

    def abort(self) -> None:
        self.transport.abort()

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.address = name_peer(self.client[0]) if self.client else ""
        self.limits.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.limits.discard(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # Headers have their time in all, however they drip; a body of a known caller may take long, but not be silent.
        if not self.is_owing_headers and not self.limits.is_stranger(self):
            self.since = self.limits.clock()

    def on_response_complete(self) -> None:
        self.since = self.limits.clock()
        super().on_response_complete()

    def _should_upgrade(self) -> bool:
        # There are no web sockets here, and nobody is to fill the log by asking for them.
        return False


class LimitedServer(uvicorn.Server):
    """A server of an app whose connections are limited."""

    def __init__(self, app: Any, proxies: Collection[str] = (), **settings: Any) -> None:
        self._limits = ConnectionLimits(raise_descriptor_limit(), proxies)
        protocol = type("LimitedConnection", (CountedConnection,), {"limits": self._limits})
        # Not the library's default, which believes every program on this machine, or what a variable says.
        settings |= {"proxy_headers": bool(proxies), "forwarded_allow_ips": list(proxies)}
        super().__init__(uvicorn.Config(app, http=protocol, server_header=False, **settings))

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS_BETWEEN_SWEEPS == 0:
            self._limits.sweep()
        return await super().on_tick(counter)
