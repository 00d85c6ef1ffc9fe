"""Fills in what code knows of an answer in a swarm: of a report its direction and how that was chosen."""

from dataclasses import replace

from moothall.domain.claims import cut_text
from moothall.domain.effects import Ask, CompareTexts, Normalized
from moothall.locale.catalogues import SWARM_PROMPT
from moothall.protocols.swarm.answers import Candidate, ConflictReview, DecisionReport, RoundReport, SimilarityReport
from moothall.protocols.swarm.rules.directions import TOP, weigh_directions
from moothall.protocols.swarm.rules.operations import MAX_DIRECTION_LENGTH
from moothall.protocols.swarm.state import Agent, Swarm


def normalize_answer(state: Swarm, ask: Ask, compared: CompareTexts, said: object) -> Normalized:
    """Fill in what code knows of a report (M-3), and leave out pairs that were not to be compared."""
    if isinstance(said, SimilarityReport):
        first, end = len(compared.known), len(compared.known) + len(compared.new)
        # Each pair must name a new text and an earlier one, so that every pair is compared once.
        pairs = tuple(pair for pair in said.pairs if first <= pair.one < end and pair.other < pair.one)
        stray = len(said.pairs) - len(pairs)
        return (replace(said, pairs=pairs), (f"skipped pairs {stray}",)) if stray else (said, ())
    agent = state.agents.get(ask.seat)
    if not isinstance(said, RoundReport) or agent is None or state.seat(ask.seat).is_outside or state.settings.mode == "classic":
        return said, ()
    return _fill_report(state, agent, said)


def _fill_report(state: Swarm, agent: Agent, said: RoundReport) -> Normalized:
    order = state.orders[agent.seat]
    first = said.findings[0].core_idea if said.findings else ""
    direction = said.direction.strip() or order.recommended or agent.direction or cut_text(first, MAX_DIRECTION_LENGTH)
    reasons = SWARM_PROMPT[state.opened.language].reasons
    reason = reasons["random" if order.random else "switch" if order.must_switch else "own"]
    report = build_decision_report(state, agent, direction or "—", reason)
    filled = replace(
        said,
        direction=direction,
        decision_report=said.decision_report or report,
        conflict_review=said.conflict_review or ConflictReview(),
        random_explore_forced=order.random,
        confirmed_operations=(),
    )
    return filled, () if said.direction.strip() or not direction else (f"filled direction {direction!r}",)


def build_decision_report(state: Swarm, agent: Agent, direction: str, reason: str) -> DecisionReport:
    """Build what code knows of a decision: the threshold, and the strongest directions with their probabilities."""
    candidates = tuple(
        Candidate(direction=each.direction, concentration=each.effective, response_prob=each.probability)
        for each in weigh_directions(state, agent, TOP)
    )
    return DecisionReport(threshold=agent.threshold, candidates=candidates, selected_direction=direction, selection_reason=reason)
