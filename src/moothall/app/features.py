"""The features that are installed: Moot's own, by name, and those that other distributions bring."""

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, Final

from moothall.ports.feature import CommandRow, Feature, OpenerRow

OWN: Final = ("review", "notices")
"""The folders of `moothall.features`, in the order in which lists show them."""


@cache
def load_features() -> tuple[Feature, ...]:
    """The rows of Moot's own features. A row names places; none of them is imported here."""
    return tuple(import_module(f"moothall.features.{name}.feature").FEATURE for name in OWN)


def load_place(feature: Feature, place: str) -> Any:
    """Import what a row names: `command:review` of the feature's package."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(f"{feature.package}.{module}"), attribute)


def list_commands() -> Iterator[tuple[Feature, CommandRow]]:
    for feature in load_features():
        for command in feature.commands:
            yield feature, command


def find_opener(name: str) -> OpenerRow | None:
    """The row of an opener of one protocol; None for those that open sessions of any."""
    for feature in load_features():
        for opener in feature.openers:
            if opener.name == name:
                return opener
    return None


def load_protocol(name: str) -> Any:
    """The `ProtocolPlugin` of this name; None where no feature has one."""
    for feature in load_features():
        if name in feature.protocols:
            return load_place(feature, feature.protocols[name])
    return None


def list_own_protocols() -> tuple[str, ...]:
    return tuple(name for feature in load_features() for name in feature.protocols)


def load_services() -> list[Any]:
    """What a server runs while it is open."""
    return [load_place(feature, place) for feature in load_features() for place in feature.services]
