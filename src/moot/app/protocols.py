"""The protocols that are installed: Moot's own, and those that other distributions bring."""

from functools import cache
from typing import Any

from moot.app.plugins import load_plugins
from moot.domain.facts import Fact, Opened
from moot.domain.rulebook import Rulebook
from moot.errors import UnknownProtocol
from moot.ports.plugin import AnyPlugin
from moot.protocols.consultation.facts import KINDS as CONSULTATION_KINDS
from moot.protocols.consultation.plugin import CONSULTATION, wrap_with_consultations
from moot.protocols.council.advisory import ADVISORY
from moot.protocols.council.consensus import CONSENSUS
from moot.protocols.council.debate import DEBATE
from moot.protocols.persona.plugin import PERSONA
from moot.protocols.pipeline.plugin import PIPELINE
from moot.protocols.roundtable.plugin import ROUNDTABLE
from moot.protocols.swarm.plugin import SWARM

OWN: tuple[AnyPlugin, ...] = (PERSONA, DEBATE, ADVISORY, CONSENSUS, ROUNDTABLE, SWARM, CONSULTATION, PIPELINE)


@cache
def load_protocols() -> dict[str, AnyPlugin]:
    """Every protocol by its name; one of another distribution cannot take the place of Moot's own."""
    return {plugin.name: plugin for plugin in (*load_plugins().protocols, *OWN)}


def get_protocol(name: str) -> AnyPlugin:
    """The protocol of this name, or of this name on the wire; raises UnknownProtocol."""
    plugins = load_protocols()
    plugin = plugins.get(name) or next((plugin for plugin in plugins.values() if plugin.wire_name == name), None)
    if plugin is None:
        fault = next((f"; {fault}" for fault in load_plugins().faults if fault.name == name), "")
        raise UnknownProtocol(f"unknown protocol {name!r}; known: {', '.join(sorted(plugins))}{fault}")
    return plugin


def collect_kinds() -> dict[str, type[Fact]]:
    """Return the stored facts of all protocols."""
    kinds = {kind: fact for plugin in load_protocols().values() for kind, fact in plugin.rules.kinds.items()}
    return {**kinds, **CONSULTATION_KINDS}


@cache
def with_consultations(name: str) -> AnyPlugin:
    """Return the protocol of this name, for sessions with consultations."""
    return wrap_with_consultations(load_protocols()[name])


def find_plugin(opened: Opened) -> AnyPlugin:
    """Return the protocol that a session was opened with."""
    plugin = next(plugin for plugin in load_protocols().values() if type(opened) in plugin.rules.kinds.values())
    return plugin if opened.consult is None else with_consultations(plugin.name)


def find_rules(opened: Opened, rules: Rulebook[Any]) -> Rulebook[Any]:
    """Return the rulebook that runs a session: the protocol's own, or the director around it."""
    if opened.consult is None:
        return rules
    wrapped: Rulebook[Any] = with_consultations(rules.name).rules
    return wrapped
