"""The events of a run, one line each."""

from collections.abc import Mapping
from typing import Final

from moot.domain.safe_text import one_line
from moot.protocols.swarm.reports.report_text import SwarmReportText
from moot.protocols.swarm.reports.timeline import SwarmTimeline

MOST_EVENTS: Final = 200
"""So many of the newest stand in a report."""
_SHOWN_EVENTS: Final = frozenset(
    (
        "round_degraded",
        "response_lost",
        "violation",
        "agent_degraded",
        "agent_removed",
        "agent_terminated",
        "agent_force_terminated",
        "agent_interrupted",
        "agent_active",
        "force_wake",
        "measure_lost",
        "diversity_warning",
        "stagnation_warning",
        "pheromone_protected",
        "pheromone_stopped",
        "stop_signal_expired",
        "role_transition_executed",
        "swarm_completed",
        "fault",
    )
)
"""The events that a reader needs: not the deposits, evaporations and checks of every round."""


def list_event_lines(timeline: SwarmTimeline) -> list[str]:
    """What a reader needs to know of, the oldest first."""
    return [_format_event(event, timeline.words) for event in timeline.events if event["type"] in _SHOWN_EVENTS]


def _format_event(event: Mapping[str, object], words: SwarmReportText) -> str:
    fields = {name: _format_value(value, words) for name, value in event.items() if name not in {"id", "type", "round"}}
    rest = ", ".join(f"{words.term(name)} {value}" for name, value in fields.items() if value)
    return one_line(f"[{event['round']}] {words.term(str(event['type']))}" + (f": {rest}" if rest else ""))


def _format_value(value: object, words: SwarmReportText) -> str:
    if isinstance(value, bool):
        return words.term(str(value).lower())
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(str(each) for each in value) if isinstance(value, list) else words.detail(words.term(str(value)))
