"""The protocols that are installed: Moot's own, and those that other distributions bring as entry points."""

from functools import cache
from importlib.metadata import entry_points

from moot.domain.facts import Fact
from moot.errors import UnknownProtocol
from moot.ports.kit import ProtocolKit
from moot.protocols.persona.kit import PERSONA


@cache
def protocols() -> dict[str, ProtocolKit]:
    """Every protocol by its name."""
    found = {PERSONA.name: PERSONA}
    for point in entry_points(group="moot.protocols"):
        if point.name not in found:
            kit = point.load()
            if isinstance(kit, ProtocolKit):
                found[kit.name] = kit
    return found


def protocol(name: str) -> ProtocolKit:
    """The protocol of this name; raises UnknownProtocol."""
    kit = protocols().get(name)
    if kit is None:
        raise UnknownProtocol(f"unknown protocol {name!r}; known: {', '.join(sorted(protocols()))}")
    return kit


def all_kinds() -> dict[str, type[Fact]]:
    """The stored facts of all protocols."""
    return {kind: fact for kit in protocols().values() for kind, fact in kit.rules.kinds.items()}
