"""The protocols that are installed: Moot's own, and those that other distributions bring. Each is imported at its first use."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from moothall.app.features import (
    index_fact_prefixes,
    index_protocols,
    index_wire_names,
    load_protocol,
)
from moothall.domain.effects import Rulebook
from moothall.domain.facts import Fact, Opened
from moothall.errors import UnknownProtocol
from moothall.ports.plugin import AnyPlugin

_loaded: dict[str, AnyPlugin] = {}


def load_protocols() -> dict[str, AnyPlugin]:
    """Import every protocol; by name. One of another distribution cannot take the place of Moot's own."""
    protocols = {name: _load_own(name) for name in index_protocols()}
    return {**_load_others(), **protocols}


def list_protocol_names() -> list[str]:
    return sorted({*index_protocols(), *_load_others()})


def get_protocol(name: str) -> AnyPlugin:
    """The protocol of this name, or of this name on the wire; raises UnknownProtocol."""
    # Moot's own first: no plugin of another distribution is imported, and none can take its place.
    own = index_wire_names().get(name, name)
    if own in index_protocols():
        return _load_own(own)
    others = _load_others()
    if name in others:
        return others[name]
    for plugin in others.values():
        if plugin.wire_name == name:
            return plugin
    raise UnknownProtocol(
        f"unknown protocol {name!r}; known: {', '.join(list_protocol_names())}{_find_fault(name)}"
    )


def _find_fault(name: str) -> str:
    """Why the feature of this name is not used, behind a semicolon; empty where nothing is known of it."""
    from moothall.app.plugins import load_plugins

    for fault in load_plugins().faults:
        if fault.name == name:
            return f"; {fault}"
    return ""


def _load_own(name: str) -> AnyPlugin:
    if name not in _loaded:
        _loaded[name] = load_protocol(name)
    return _loaded[name]


def _load_others() -> dict[str, AnyPlugin]:
    # Imported here: only few have protocols of other distributions, and everybody would pay for the look.
    from moothall.app.plugins import load_plugins

    return load_plugins().protocols


def find_kinds(wanted: str | type[Fact]) -> Mapping[str, type[Fact]]:
    """Return the stored facts of the protocol that has a stored kind or a class of facts, with their names.

    Consultations inside of other protocols are those of the consultation.
    """
    if isinstance(wanted, str):
        prefix = wanted.partition(".")[0]
        own = index_fact_prefixes().get(prefix, prefix)
        if own in index_protocols():
            return _load_own(own).rules.kinds
    else:
        # Who has an instance of a fact has most often loaded its protocol.
        for plugin in list(_loaded.values()):
            if wanted in plugin.rules.kinds.values():
                return plugin.rules.kinds
    return collect_kinds()


def collect_kinds() -> dict[str, type[Fact]]:
    return {
        kind: fact
        for plugin in load_protocols().values()
        for kind, fact in plugin.rules.kinds.items()
    }


@cache
def with_consultations(name: str) -> AnyPlugin:
    """Return the protocol of this name, for sessions with consultations."""
    from moothall.protocols.consultation.plugin import wrap_with_consultations

    return wrap_with_consultations(get_protocol(name))


def find_plugin(opened: Opened) -> AnyPlugin:
    """Return the protocol that a session was opened with; raises UnknownProtocol."""
    # What is loaded first: a session in hand has most often loaded its protocol, and the others stay where they are.
    plugin = _find_opened(_loaded, opened) or _find_opened(load_protocols(), opened)
    if plugin is None:
        raise UnknownProtocol(f"no protocol opens sessions with a {type(opened).__name__}")
    return plugin if opened.consult is None else with_consultations(plugin.name)


def _find_opened(plugins: Mapping[str, AnyPlugin], opened: Opened) -> AnyPlugin | None:
    return next(
        (plugin for plugin in plugins.values() if type(opened) in plugin.rules.kinds.values()), None
    )


def find_rules(opened: Opened) -> Rulebook[Any]:
    """Return the rulebook that runs a session: the protocol's own, or the director around it; raises UnknownProtocol."""
    return find_plugin(opened).rules
