"""The features of Moot: rows that name places. Those of other distributions are loaded by `app/plugins.py`."""

import os
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from moothall.ports.feature import CommandRow, Feature, OpenerRow

ENTRY_POINT: Final = "moothall.features"
"""By this entry point other distributions bring features."""
OWN: Final = (
    "demos",
    "consultation",
    "council",
    "persona",
    "pipeline",
    "roundtable",
    "swarm",
    "review",
    "bench",
    "notices",
)
"""The folders of `moothall.features`, in the order in which lists show them."""


@cache
def load_features() -> tuple[Feature, ...]:
    """The rows of Moot's own features. A row names places; none of them is imported here."""
    return tuple(import_module(f"moothall.features.{name}.feature").FEATURE for name in OWN)


def load_place(feature: Feature, place: str) -> Any:
    """Import what a row names: `command:review` of the feature's package, `:review` of the package itself."""
    module, _, attribute = place.partition(":")
    path = feature.package
    if module:
        path = f"{path}.{module}"
    return getattr(import_module(path), attribute)


def may_have_other_features() -> bool:
    """Whether another distribution may bring features. Where nothing names the entry point, `importlib.metadata` is not needed.

    It reads what stands beside the modules of installed distributions, and leaves all that is rare to `importlib.metadata`:
    zip archives, eggs, and finders of another kind.
    """
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    if any(getattr(finder, "__name__", "") != "PathFinder" for finder in finders):
        return True
    return any(_may_bring_features(path or os.curdir) for path in sys.path)


def _may_bring_features(path: str) -> bool:
    """Whether a distribution in this entry of `sys.path` names the entry point."""
    if path.endswith(".egg"):
        return True
    try:
        entries = list(os.scandir(path))
    except NotADirectoryError:
        return True
    except OSError:
        return False
    return any(map(_names_features, entries))


def _names_features(entry: "os.DirEntry[str]") -> bool:
    if not entry.name.endswith((".dist-info", ".egg-info")):
        return False
    try:
        return ENTRY_POINT.encode() in Path(entry.path, "entry_points.txt").read_bytes()
    except OSError:
        return False  # it has no entry points; an old `.egg-info` is itself a file


def list_commands() -> Iterator[tuple[Feature, CommandRow]]:
    for feature in load_features():
        for command in feature.commands:
            yield feature, command


@cache
def index_openers() -> Mapping[str, OpenerRow]:
    """The openers of one protocol, by name; `run` and `demo`, which open sessions of any, have no row."""
    return {opener.name: opener for feature in load_features() for opener in feature.openers}


@cache
def index_protocols() -> Mapping[str, Feature]:
    """The feature of each protocol, by the protocol's name."""
    return {name: feature for feature in load_features() for name in feature.protocols}


@cache
def index_wire_names() -> Mapping[str, str]:
    """The protocols that have another name in the APIs, by that name."""
    names: dict[str, str] = {}
    for feature in load_features():
        names.update(feature.wire_names)
    return names


@cache
def index_fact_prefixes() -> Mapping[str, str]:
    """The protocols whose stored facts have another prefix than their name, by that prefix."""
    prefixes: dict[str, str] = {}
    for feature in load_features():
        prefixes.update(feature.fact_prefixes)
    return prefixes


def load_protocol(name: str) -> Any:
    """The `ProtocolPlugin` of this name; raises KeyError where no feature has one."""
    feature = index_protocols()[name]
    return load_place(feature, feature.protocols[name])
