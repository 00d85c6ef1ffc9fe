"""The features that other distributions bring, by the entry point `moothall.features`. One that cannot be loaded hurts nobody else."""

import logging
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeAlias

from moothall.app.features import (
    ENTRY_POINT,
    OWN,
    index_openers,
    index_protocols,
    load_features,
    load_place,
)
from moothall.domain.effects import OWN_MEASURES
from moothall.errors import BadSetting
from moothall.participants.kinds import KindTable, ParticipantKind
from moothall.ports.feature import Feature
from moothall.ports.participant import Similarity
from moothall.ports.plugin import AnyPlugin, ProtocolPlugin

log = logging.getLogger("moot")

Service: TypeAlias = Callable[[Any], Coroutine[Any, Any, None]]


@dataclass(frozen=True, slots=True)
class PluginFault:
    """A plugin that cannot be used, and why."""

    name: str
    package: str
    reason: str

    def __str__(self) -> str:
        package = f" of the package {self.package!r}" if self.package else ""
        return f"the plugin {self.name!r}{package} ({ENTRY_POINT}) is not used: {self.reason}"


@dataclass(slots=True)
class LoadedPlugins:
    """What could be loaded, and what could not."""

    features: list[Feature] = field(default_factory=list)
    protocols: dict[str, AnyPlugin] = field(default_factory=dict)
    kinds: list[ParticipantKind] = field(default_factory=list)
    measures: dict[str, Similarity] = field(default_factory=dict)
    faults: list[PluginFault] = field(default_factory=list)


class _Unusable(Exception):
    """Why a feature cannot be used."""


@cache
def load_plugins() -> LoadedPlugins:
    """Load every feature of other distributions once; each fault is logged as one sentence, which a terminal shows on stderr.

    Its protocols, kinds and measures are imported at once: where one of them has a fault, nothing of the feature is used.
    Commands, calls and services are imported when they are called for.
    """
    loaded = LoadedPlugins()
    for point in entry_points(group=ENTRY_POINT):
        package = point.dist.name if point.dist is not None else ""
        try:
            _add_feature(loaded, point)
        except _Unusable as cause:
            loaded.faults.append(PluginFault(point.name, package, str(cause)))
        except Exception as error:  # noqa: BLE001 - other people's code: whatever it raises, everything else must work
            why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            reason = f"it cannot be imported ({why})"
            loaded.faults.append(PluginFault(point.name, package, reason))
    for fault in loaded.faults:
        log.warning("%s", fault)
    return loaded


def load_all_features() -> tuple[Feature, ...]:
    """Moot's own features, and then those of other distributions."""
    return (*load_features(), *load_plugins().features)


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


def load_services() -> Iterator[Service]:
    """What a server runs while it is open: coroutine functions that take its `Moot`."""
    for feature in load_features():
        for place in feature.services:
            yield load_place(feature, place)
    for feature in load_plugins().features:
        for place in feature.services:
            yield partial(_run_other_service, feature, place)


async def _run_other_service(feature: Feature, place: str, moot: Any) -> None:
    """Run a service of another distribution; when it fails, the server goes on without it."""
    try:
        service: Service = load_place(feature, place)
        await service(moot)
    except Exception:
        log.exception("the service %r of the feature %r has ended", place, feature.name)


def _add_feature(loaded: LoadedPlugins, point: EntryPoint) -> None:
    feature = _check_type(point.load(), Feature, point.value)
    _check_names(loaded, feature)
    protocols = {
        name: _check_type(load_place(feature, place), ProtocolPlugin, place)
        for name, place in feature.protocols.items()
    }
    for name, plugin in protocols.items():
        if plugin.name != name:
            raise _Unusable(f"its protocol {name!r} calls itself {plugin.name!r}")
    kinds = [
        _check_type(load_place(feature, place), ParticipantKind, place) for place in feature.kinds
    ]
    known = KindTable(loaded.kinds)
    for kind in kinds:
        if known.is_known(kind.name):
            raise _Unusable(f"the kind {kind.name!r} is one of Moot's own, or of a provider")
    measures = {
        name: _check_type(load_place(feature, place), Similarity, place)
        for name, place in feature.measures.items()
    }
    # All of it, or nothing.
    loaded.features.append(feature)
    loaded.protocols.update(protocols)
    loaded.kinds.extend(kinds)
    loaded.measures.update(measures)


def _check_names(loaded: LoadedPlugins, feature: Feature) -> None:
    """A feature of another distribution cannot take the place of one of Moot's own, nor of another one's."""
    taken_features = {*OWN, *(each.name for each in loaded.features)}
    if feature.name in taken_features:
        raise _Unusable(f"there is a feature {feature.name!r} already")
    _refuse_taken("protocol", feature.protocols, {*index_protocols(), *loaded.protocols})
    _refuse_taken("measure", feature.measures, {*OWN_MEASURES, *loaded.measures})
    taken_openers = set(index_openers())
    for each in loaded.features:
        taken_openers.update(opener.name for opener in each.openers)
    _refuse_taken("opener", [opener.name for opener in feature.openers], taken_openers)


def _refuse_taken(what: str, names: Iterable[str], taken: Collection[str]) -> None:
    for name in names:
        if name in taken:
            raise _Unusable(f"there is a {what} {name!r} already")


def _check_type(loaded: Any, expected: type[Any], place: str) -> Any:
    if not isinstance(loaded, expected):
        raise _Unusable(f"{place} is a {type(loaded).__name__}, not a {expected.__name__}")
    return loaded
