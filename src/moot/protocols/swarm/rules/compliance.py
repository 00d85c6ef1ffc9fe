"""The four checks on every round report, and what breaking a rule weighs (source 15.3, 15.4)."""

from typing import Final

from moot.domain.safe_text import one_line
from moot.protocols.swarm.answers import Candidate, DecisionReport, RoundReport
from moot.protocols.swarm.facts import Severity, Violation
from moot.protocols.swarm.rules.operations import direction_key
from moot.protocols.swarm.state import Agent, Swarm
from moot.scoring.stigmergy import compute_effective_concentration, compute_inhibition, compute_response

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
"""As the source has them; what it does not list is a warning."""


def find_violations(state: Swarm, agent: Agent, report: RoundReport) -> list[Violation]:
    """The rules that a report breaks, at most one of each kind. The classic mode has none of them."""
    if state.settings.mode == "classic":
        return []
    checks = (
        _check_operations(agent, report),
        _check_decision(state, agent, report),
        _check_conflicts(report),
        _check_random_exploration(state, agent, report),
    )
    return [
        Violation(
            seat=agent.seat, violation=found[0], severity=SEVERITIES.get(found[0], "WARNING"), detail=one_line(found[1])[:200]
        )
        for found in checks
        if found is not None
    ]


RuleBreach = tuple[str, str] | None


def _check_operations(agent: Agent, report: RoundReport) -> RuleBreach:
    """C1: what it says was carried out for it must be in the log, under its name."""
    for name in report.confirmed_operations:
        if name not in agent.done:
            return "reported_operation_not_found", name
    return None


def _check_decision(state: Swarm, agent: Agent, report: RoundReport) -> RuleBreach:
    """C2: the decision report is complete, and its probabilities are right."""
    decision = report.decision_report
    if decision is None:
        return "decision_report_missing", ""
    missing = _find_missing_part(decision)
    if missing:
        return f"decision_report_missing_{missing}", ""
    assert decision.threshold is not None
    if abs(decision.threshold - agent.threshold) > TOLERANCE:
        return "response_prob_calculation_error", f"threshold {decision.threshold:g}, yours is {agent.threshold:.4f}"
    for candidate in decision.candidates or ():
        expected = _compute_probabilities(state, agent, candidate)
        if candidate.response_prob is None or all(abs(candidate.response_prob - each) > TOLERANCE for each in expected):
            told = " or ".join(f"{each:.4f}" for each in sorted(set(expected)))
            return "response_prob_calculation_error", f"{candidate.direction}: {candidate.response_prob}, expected {told}"
    return None


def _find_missing_part(decision: DecisionReport) -> str:
    if decision.threshold is None:
        return "threshold"
    if decision.candidates is None:
        return "candidates"
    if not decision.selected_direction.strip():
        return "selectedDirection"
    return "" if decision.selection_reason.strip() else "selectionReason"


def _compute_probabilities(state: Swarm, agent: Agent, candidate: Candidate) -> tuple[float, ...]:
    """P(S, θ) by the blackboard as the agent was shown it: for the raw concentration and for the effective one."""
    key = direction_key(one_line(candidate.direction))
    found = state.board.pheromones.get(key)
    if found is None:
        return (0.0,)
    settings = state.settings
    count = sum(signal.target == key for signal in state.board.signals)
    strength = compute_inhibition(count, settings.signal_strength, settings.most_inhibition)
    return tuple(
        compute_response(value, agent.threshold)
        for value in (found.concentration, compute_effective_concentration(found.concentration, strength))
    )


def _check_conflicts(report: RoundReport) -> RuleBreach:
    """C3: a conflict review, also where it found none."""
    return ("conflict_review_missing", "") if report.conflict_review is None else None


def _check_random_exploration(state: Swarm, agent: Agent, report: RoundReport) -> RuleBreach:
    """C4: random exploration was carried out where it was ordered."""
    order = state.orders.get(agent.seat)
    if order is not None and order.random and not report.random_explore_forced:
        return "random_explore_not_executed", ""
    return None
