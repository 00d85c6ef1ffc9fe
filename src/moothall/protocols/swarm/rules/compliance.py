"""Compliance: the four checks on every round report, and the scores of violations (source 15.3, 15.4)."""

from typing import Final

from moothall.domain.safe_text import one_line
from moothall.protocols.swarm.answers import DecisionReport, RoundReport
from moothall.protocols.swarm.facts import Severity, Violation
from moothall.protocols.swarm.rules.directions import direction_key, weigh_directions
from moothall.protocols.swarm.state import Agent, Swarm
from moothall.scoring.stigmergy import compute_response

SCORES: Final[dict[Severity, int]] = {"WARNING": 1, "MINOR": 3, "MAJOR": 5, "CRITICAL": 10}
TERMINATED_AT: Final = 15
TOLERANCE: Final = 0.01

SEVERITIES: Final[dict[str, Severity]] = {
    "reported_operation_not_found": "MAJOR",
    "decision_report_missing": "MAJOR",
    "decision_report_missing_threshold": "MINOR",
    "response_prob_calculation_error": "MINOR",
    "conflict_review_missing": "MINOR",
    "random_explore_not_executed": "MAJOR",
}
"""As in the source; a violation that it does not list is a warning."""


def find_violations(state: Swarm, agent: Agent, report: RoundReport) -> list[Violation]:
    """Return the violations of a report, at most one per check. The classic mode has no such rules."""
    if state.settings.mode == "classic":
        return []
    order = state.orders.get(agent.seat)
    is_random_missed = order is not None and order.random and not report.random_explore_forced
    # C1: every operation that it reports as carried out must be in the log under its name.
    missing = next((name for name in report.confirmed_operations if name not in agent.done), None)
    checks = (
        ("reported_operation_not_found", missing) if missing is not None else None,
        _check_decision(state, agent, report),
        # C3: there must be a conflict review, also if it found no conflict.
        ("conflict_review_missing", "") if report.conflict_review is None else None,
        # C4: random exploration must be carried out if it was ordered.
        ("random_explore_not_executed", "") if is_random_missed else None,
    )
    return [
        Violation(seat=agent.seat, violation=name, severity=SEVERITIES.get(name, "WARNING"), detail=one_line(detail)[:200])
        for name, detail in filter(None, checks)
    ]


def _check_decision(state: Swarm, agent: Agent, report: RoundReport) -> tuple[str, str] | None:
    """C2: the decision report must be complete, and its probabilities correct."""
    decision = report.decision_report
    if decision is None:
        return "decision_report_missing", ""
    missing = _find_missing_part(decision)
    if missing:
        return f"decision_report_missing_{missing}", ""
    assert decision.threshold is not None
    if abs(decision.threshold - agent.threshold) > TOLERANCE:
        return "response_prob_calculation_error", f"threshold {decision.threshold:g}, yours is {agent.threshold:.4f}"
    weighed = {each.key: each for each in weigh_directions(state, agent)} if decision.candidates else {}
    for candidate in decision.candidates or ():
        seen = weighed.get(direction_key(one_line(candidate.direction)))
        # A direction that is not on the blackboard is no stimulus, so there is no response to it.
        expected = (compute_response(seen.raw, agent.threshold), seen.probability) if seen is not None else (0.0,)
        # Agents may use either concentration of a direction; the report is wrong only if it fits neither.
        if candidate.response_prob is None or all(abs(candidate.response_prob - each) > TOLERANCE for each in expected):
            values = " or ".join(f"{each:.4f}" for each in sorted(set(expected)))
            return "response_prob_calculation_error", f"{candidate.direction}: {candidate.response_prob}, expected {values}"
    return None


def _find_missing_part(decision: DecisionReport) -> str:
    is_missing = {
        "threshold": decision.threshold is None,
        "candidates": decision.candidates is None,
        "selectedDirection": not decision.selected_direction.strip(),
        "selectionReason": not decision.selection_reason.strip(),
    }
    return next((name for name, missing in is_missing.items() if missing), "")
