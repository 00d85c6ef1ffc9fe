"""What other distributions bring through entry points. A plugin that cannot be loaded hurts nobody else."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Final, TypeVar

from moothall.participants.kinds import KindTable, ParticipantKind
from moothall.ports.plugin import AnyPlugin, ProtocolPlugin

log = logging.getLogger("moot")

P = TypeVar("P")

PROTOCOLS: Final = "moothall.protocols"
PARTICIPANTS: Final = "moothall.participants"


@dataclass(frozen=True, slots=True)
class PluginFault:
    """A plugin that cannot be used, and why."""

    group: str
    name: str
    package: str
    reason: str

    def __str__(self) -> str:
        package = f" of the package {self.package!r}" if self.package else ""
        return f"the plugin {self.name!r}{package} ({self.group}) is not used: {self.reason}"


@dataclass(frozen=True, slots=True)
class LoadedPlugins:
    """What could be loaded, and what could not."""

    protocols: tuple[AnyPlugin, ...]
    kinds: tuple[ParticipantKind, ...]
    faults: tuple[PluginFault, ...]


@cache
def load_plugins() -> LoadedPlugins:
    """Load every plugin of other distributions once; each fault is logged as one sentence, which a terminal shows on stderr."""
    faults: list[PluginFault] = []
    protocols = tuple(_load_group(PROTOCOLS, ProtocolPlugin, faults))
    kinds = tuple(_load_group(PARTICIPANTS, ParticipantKind, faults))
    known = KindTable()
    for kind in kinds:
        if known.is_known(kind.name):
            faults.append(PluginFault(PARTICIPANTS, kind.name, "", "this name is one of Moot's own kinds or a provider"))
    for fault in faults:
        log.warning("%s", fault)
    return LoadedPlugins(protocols, tuple(kind for kind in kinds if not known.is_known(kind.name)), tuple(faults))


@cache
def load_kinds() -> KindTable:
    return KindTable(load_plugins().kinds)


def _load_group(group: str, expected: type[P], faults: list[PluginFault]) -> Iterator[P]:
    for point in entry_points(group=group):
        if point.value.startswith("moothall."):
            continue  # Moot's own, which are imported by name
        package = point.dist.name if point.dist is not None else ""
        try:
            loaded = point.load()
        except Exception as error:  # noqa: BLE001 - other people's code: whatever it raises, everything else must work
            why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            faults.append(PluginFault(group, point.name, package, f"it cannot be imported ({why})"))
            continue
        if isinstance(loaded, expected):
            yield loaded
        else:
            why = f"{point.value} is a {type(loaded).__name__}, not a {expected.__name__}"
            faults.append(PluginFault(group, point.name, package, why))
