"""What every ledger does on an append: checks the numbers, wakes who waits, remembers which heads are not registered yet."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from moothall.codec.chain import HEADS, ChainEnd, HeadHash, seal_heads
from moothall.domain.ids import SessionId
from moothall.domain.records import StoredRecord
from moothall.errors import MootError, SeqConflict

REGISTER_SECONDS: Final = 1.0
"""For how long a head that was written may be missing in the register while its process lives."""
REGISTER_ENTRIES: Final = 64
"""After how many entries the heads are registered, however little time has passed."""


class QueuedAppend(NamedTuple):
    """An append that waits for the next commit."""

    session: SessionId
    records: Sequence[StoredRecord]
    future: "asyncio.Future[None]"


def settle_appends(group: Sequence[QueuedAppend], results: Sequence[MootError | None]) -> None:
    """Answer those who wait for these appends: each with its error, or None if it is durable."""
    for each, error in zip(group, results, strict=True):
        # The caller was cancelled while it waited; its records may be durable all the same.
        if each.future.done():
            continue
        if error is None:
            each.future.set_result(None)
        else:
            each.future.set_exception(error)


UNKNOWN: Final = -1
"""Stands for a head that has moved, where nobody has said how far."""


class ChangeWaiters:
    """The tasks of this process that wait for the heads of sessions: an append of this process wakes them at once."""

    def __init__(self) -> None:
        self._waiting: dict[SessionId, dict[asyncio.Future[int], int]] = {}
        self.joined = 0
        """How many have begun to wait so far."""

    @property
    def sessions(self) -> list[SessionId]:
        return list(self._waiting)

    def wake(self, session: SessionId, head: int = UNKNOWN) -> None:
        """Give the head of a session to those for whom it is news."""
        for waiter, after in self._waiting.get(session, {}).items():
            if not waiter.done() and (head > after or head == UNKNOWN):
                waiter.set_result(head)

    def fail(self, error: MootError) -> None:
        for waiting in self._waiting.values():
            for waiter in waiting:
                if not waiter.done():
                    waiter.set_exception(error)

    @contextmanager
    def wait(self, session: SessionId, after: int) -> Iterator["asyncio.Future[int]"]:
        """Yield a future of the session's head once it is past `after`."""
        waiter: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(session, {})[waiter] = after
        self.joined += 1
        try:
            yield waiter
        finally:
            # Retrieved, also where nobody awaited it: a failure that nobody asks for is reported by the event loop.
            _ = waiter.done() and not waiter.cancelled() and waiter.exception()
            del self._waiting[session][waiter]
            if not self._waiting[session]:
                del self._waiting[session]


@dataclass(slots=True)
class PendingHeads:
    """The heads that the register does not have yet. A burst of appends shares one record of the register."""

    heads: dict[SessionId, HeadHash] = field(default_factory=dict)
    _entries: int = 0
    _opened: bool = False
    _registered_at: float = -REGISTER_SECONDS

    def add(self, session: SessionId, records: Sequence[StoredRecord]) -> None:
        """Note what was appended to a session."""
        if session == HEADS or not records:
            return
        last = records[-1]
        self._entries += len(records)
        # An opening is registered at once: a session that the register never heard of could be dropped unseen.
        self._opened = self._opened or records[0].seq == 1
        self.heads[session] = HeadHash(last.seq, last.hash)

    @property
    def is_due(self) -> bool:
        """Whether the next record of the register is to be written now."""
        return bool(self.heads) and (
            self._opened
            or self._entries >= REGISTER_ENTRIES
            or time.monotonic() - self._registered_at >= REGISTER_SECONDS
        )

    def take(self) -> dict[SessionId, HeadHash]:
        """Return all that is pending; nothing is after it."""
        taken, self.heads = self.heads, {}
        self._entries, self._opened, self._registered_at = 0, False, time.monotonic()
        return taken

    def put_back(self, taken: dict[SessionId, HeadHash]) -> None:
        """Return what could not be registered, except where a session has gone on since."""
        self.heads = {**taken, **self.heads}


def seal_now(end: ChainEnd, heads: Mapping[SessionId, HeadHash]) -> list[StoredRecord]:
    return seal_heads(end, time.time_ns() // 1_000, heads)


def check_order(session: SessionId, records: Sequence[StoredRecord]) -> None:
    """Raise SeqConflict if the numbers of a batch are not consecutive."""
    for before, record in pairwise(records):
        if record.seq != before.seq + 1:
            raise SeqConflict(session, record.seq, before.seq)


def check_head(session: SessionId, records: Sequence[StoredRecord], head: int) -> None:
    """Raise SeqConflict if a batch does not start directly after the head."""
    if records[0].seq != head + 1:
        raise SeqConflict(session, records[0].seq - 1, head)
