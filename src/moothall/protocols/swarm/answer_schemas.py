"""The schema of each ask of a swarm, and what code fills in for the explorers that Moot asks itself."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, get_args

from moothall.codec.schemas import allow_list, allow_text, allow_values, narrow_schema
from moothall.domain.claims import cut_text
from moothall.domain.effects import Ask, CompareTexts, Normalized, Schema
from moothall.domain.topic import LONGEST_LABEL
from moothall.locale.catalogues import SWARM_PROMPT
from moothall.protocols.swarm.answers import (
    MOST_FINDINGS,
    MOST_OPERATIONS,
    Action,
    Candidate,
    Collision,
    ConflictReview,
    DecisionReport,
    DirectionRating,
    FindingCheck,
    FoundIdea,
    IdeaVote,
    PairJudgement,
    RoundReport,
    SimilarityReport,
)
from moothall.protocols.swarm.facts import Role
from moothall.protocols.swarm.rules.collisions import find_invitation
from moothall.protocols.swarm.rules.evidence import list_rated_directions
from moothall.protocols.swarm.rules.operations import LONGEST_DIRECTION, REASONS
from moothall.protocols.swarm.rules.round_start import TOP, weigh_directions
from moothall.protocols.swarm.rules.shutdown import list_ballot_ideas
from moothall.protocols.swarm.state import Agent, Swarm
from moothall.scoring.positions import VotePosition

LONGEST_LINE: Final = 500
LONGEST_TEXT: Final = 4_000
LONGEST_PERSPECTIVE: Final = 100
MOST_HELD: Final = 10
OFFERED: Final = ("deposit_pheromone", "send_stop_signal", "claim_subtask", "transition_role")
"""What an explorer that Moot asks can do; a finding is one of its own accord, and its state is kept for it."""


def build_answer_schema(state: Swarm, ask: Ask) -> Schema | None:
    """Return the schema of an ask in this state; None for the one of its shape."""
    match ask.kind:
        case "explore" if not state.seat(ask.seat).is_outside:
            return _build_report_schema(state)
        case "collide":
            invitation = find_invitation(state, ask.seat)
            targets = [state.board.findings[number - 1].id for number in invitation.targets] if invitation is not None else []
            named = {"targetFindingId": allow_values(targets)} if targets else {}
            action = {"action": allow_values(get_args(Action)), "content": _line(LONGEST_TEXT)}
            insights = {"newInsights": allow_list(_line(LONGEST_LINE), 5)}
            return narrow_schema(Collision, ("action", "content"), (*named, "newInsights"), **action, **named, **insights)
        case "validate":
            checked = [state.board.findings[number - 1].id for number in state.review.to_check]
            verdict = narrow_schema(FindingCheck, ("finding", "verdict"), ("reason",), finding=allow_values(checked))
            return _build_lists(verdicts=allow_list(verdict, 50))
        case "judge":
            numbers = allow_values(range(1, len(state.review.pairs) + 1))
            said = narrow_schema(PairJudgement, ("pair", "verdict"), ("reason",), pair=numbers, reason=_line(LONGEST_LINE))
            return _build_lists(judgements=allow_list(said, 200))
        case "ballot":
            vote = narrow_schema(
                IdeaVote,
                ("idea", "position"),
                ("confidence", "reason"),
                idea=allow_values(list_ballot_ideas(state)),
                position=allow_values(get_args(VotePosition)),
            )
            return _build_rated_ballot(state, ask, vote) if state.by_evidence else _build_lists(votes=allow_list(vote, 20))
        case _:
            return None


def _build_rated_ballot(state: Swarm, ask: Ask, vote: Schema) -> Schema:
    lists = {}
    directions = list_rated_directions(state, ask.seat)
    if directions:
        rating = narrow_schema(
            DirectionRating, ("direction", "rating"), ("reason",), direction=allow_values(directions), reason=_line(LONGEST_LINE)
        )
        lists["ratings"] = allow_list(rating, 20)
    if list_ballot_ideas(state):
        lists["votes"] = allow_list(vote, 20)
    return _build_lists(**lists)


def _build_lists(**lists: Schema) -> Schema:
    return {"type": "object", "properties": lists, "required": [*lists], "additionalProperties": False}


def _line(longest: int) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest}


def _build_report_schema(state: Swarm) -> Schema:
    finding = narrow_schema(
        FoundIdea,
        ("coreIdea",),
        ("details", "perspective", "agreesWith", "needsValidation"),
        coreIdea=allow_text(LONGEST_LINE),
        details=_line(LONGEST_TEXT),
        perspective=_line(LONGEST_PERSPECTIVE),
        agreesWith=allow_list(_line(LONGEST_LINE), MOST_HELD),
    )
    options = state.opened.subject.options
    # Only in the first round is an answer everyone's own.
    first = {"choice": allow_values(options) if options else _line(LONGEST_LABEL)} if state.round == 1 else {}
    if state.settings.mode == "classic":
        return narrow_schema(RoundReport, ("findings",), ("direction", *first), findings=allow_list(finding, 5), **first)
    return narrow_schema(
        RoundReport,
        ("findings",),
        ("direction", *first, "operations"),
        findings=allow_list(finding, MOST_FINDINGS),
        operations=allow_list(_build_operation_schema(state), MOST_OPERATIONS),
        **first,
    )


def _build_operation_schema(state: Swarm) -> Schema:
    params: dict[str, Schema] = {
        "direction": _line(LONGEST_DIRECTION),
        "amount": {"type": "number", "minimum": 0, "maximum": state.settings.most_deposit},
        "targetDirection": _line(LONGEST_DIRECTION),
        "reason": allow_values(REASONS),
        "evidence": _line(LONGEST_TEXT),
        "description": _line(LONGEST_LINE),
        "newRole": allow_values(get_args(Role)),
    }
    return {
        "type": "object",
        "properties": {
            "operation": allow_values(OFFERED),
            "params": {"type": "object", "properties": params, "additionalProperties": False},
        },
        "required": ["operation", "params"],
        "additionalProperties": False,
    }


def find_fills(state: Swarm, ask: Ask) -> Mapping[str, object]:
    """Return what an answer may do without: whoever has nothing to say says so by leaving it out."""
    empty: dict[str, Mapping[str, object]] = {
        "collide": {"content": ""},
        "explore": {"findings": ()},
        "validate": {"verdicts": ()},
        "judge": {"judgements": ()},
        "ballot": {"votes": (), "ratings": ()} if state.by_evidence else {"votes": ()},
    }
    return empty.get(ask.kind, {})


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
    direction = said.direction.strip() or order.recommended or agent.direction or cut_text(first, LONGEST_DIRECTION)
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
