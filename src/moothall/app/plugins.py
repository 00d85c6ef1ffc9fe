"""What other distributions bring through entry points. A plugin that cannot be loaded hurts nobody else."""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from typing import Final, TypeVar

from moothall.domain.effects import OWN_MEASURES
from moothall.errors import BadSetting
from moothall.participants.kinds import KindTable, ParticipantKind
from moothall.ports.participant import Similarity
from moothall.ports.plugin import AnyPlugin, ProtocolPlugin

log = logging.getLogger("moot")

P = TypeVar("P")

PROTOCOLS: Final = "moothall.protocols"
PARTICIPANTS: Final = "moothall.participants"
MEASURES: Final = "moothall.measures"


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
    measures: Mapping[str, Similarity]
    faults: tuple[PluginFault, ...]


@cache
def load_plugins() -> LoadedPlugins:
    """Load every plugin of other distributions once; each fault is logged as one sentence, which a terminal shows on stderr."""
    faults: list[PluginFault] = []
    protocols = tuple(plugin for _, plugin in _load_group(PROTOCOLS, ProtocolPlugin, faults))
    kinds = tuple(kind for _, kind in _load_group(PARTICIPANTS, ParticipantKind, faults))
    measures = dict(_load_group(MEASURES, Similarity, faults))  # type: ignore[type-abstract]  # only what it has is looked at
    known = KindTable()
    for kind in kinds:
        if known.is_known(kind.name):
            faults.append(
                PluginFault(
                    PARTICIPANTS,
                    kind.name,
                    "",
                    "this name is one of Moot's own kinds or a provider",
                )
            )
    for fault in faults:
        log.warning("%s", fault)
    return LoadedPlugins(
        protocols,
        tuple(kind for kind in kinds if not known.is_known(kind.name)),
        measures,
        tuple(faults),
    )


@cache
def load_kinds() -> KindTable:
    return KindTable(load_plugins().kinds)


def find_measure(name: str) -> Similarity | None:
    """Return the measure of texts that a plugin brings under a name; None for Moot's own. Raises BadSetting if there is none."""
    if name in OWN_MEASURES:
        return None
    measures = load_plugins().measures
    if name not in measures:
        raise BadSetting(
            f"unknown measure {name[:80]!r}; known: {', '.join((*OWN_MEASURES, *measures))}"
        )
    return measures[name]


def _load_group(
    group: str, expected: type[P], faults: list[PluginFault]
) -> Iterator[tuple[str, P]]:
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
            yield point.name, loaded
        else:
            why = f"{point.value} is a {type(loaded).__name__}, not a {expected.__name__}"
            faults.append(PluginFault(group, point.name, package, why))
