"""A line between a worker and the database that can be cut: a network namespace, or a proxy where namespaces are not allowed."""

import os
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass

from bench.scale.cut_line import CutLine
from bench.scale.database import Database


@dataclass(frozen=True)
class Line:
    """How a worker at the far end is started, and what cuts it off: both ends stay connected, and nothing gets through."""

    kind: str
    address: str
    command: Sequence[str]
    cut: Callable[[], object]
    mend: Callable[[], object]


@dataclass(frozen=True)
class Namespace:
    """A network namespace that is joined to this machine by one virtual cable."""

    name: str
    cable: str
    host: str
    far_host: str

    @property
    def command(self) -> list[str]:
        return ["ip", "netns", "exec", self.name]

    def set_cable(self, state: str) -> None:
        _run_ip("link", "set", self.cable, state)


@contextmanager
def open_namespace() -> Iterator[Namespace | None]:
    """None where this machine does not allow it."""
    number = os.getpid()
    name, near, far = f"moot-scale-{number}", f"mt{number % 10**7}a", f"mt{number % 10**7}b"
    net = f"10.213.{number % 250}"
    try:
        _run_ip("netns", "add", name)
    except (OSError, subprocess.CalledProcessError):
        yield None
        return
    try:
        found: Namespace | None = Namespace(name, near, f"{net}.1", f"{net}.2")
        try:
            _run_ip("link", "add", near, "type", "veth", "peer", "name", far)
            _run_ip("link", "set", far, "netns", name)
            _run_ip("addr", "add", f"{net}.1/30", "dev", near)
            _run_ip("link", "set", near, "up")
            _run_ip("-n", name, "addr", "add", f"{net}.2/30", "dev", far)
            _run_ip("-n", name, "link", "set", far, "up")
            _run_ip("-n", name, "link", "set", "lo", "up")
        except subprocess.CalledProcessError:
            found = None
        yield found
    finally:
        # Both ends of the cable go with one of them; a namespace lives on as long as a process is in it.
        for arguments in (("link", "del", near), ("netns", "del", name)):
            with suppress(subprocess.CalledProcessError):
                _run_ip(*arguments)


@asynccontextmanager
async def open_line(database: Database, namespace: Namespace | None) -> AsyncIterator[Line]:
    if namespace is not None:
        address = database.build_address(namespace.host)
        yield Line(
            "a network namespace",
            address,
            namespace.command,
            lambda: namespace.set_cable("down"),
            lambda: namespace.set_cable("up"),
        )
        return
    async with CutLine(database.socket) as proxy:
        address = f"postgresql://postgres@127.0.0.1:{proxy.port}/postgres"
        yield Line(
            "a proxy: this machine allows no network namespaces", address, [], proxy.cut, proxy.mend
        )


def _run_ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)
