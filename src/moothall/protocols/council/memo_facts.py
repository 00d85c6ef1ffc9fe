"""What the memo of a deliberation is made of: how it came about, which answers led, what was missing, who had the answer before."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from moothall.domain.context import extract_first_sentence
from moothall.domain.ids import SeatId
from moothall.domain.topic import normalize_label
from moothall.locale.catalogues import LOSS_DETAILS
from moothall.protocols.council.ballots import CandidateVotes, find_voted_ids
from moothall.protocols.council.depth import BLIND_ENDINGS
from moothall.protocols.council.facts import ConsensusSettings, DeliberationClosed
from moothall.protocols.council.motions import (
    weigh_blind_support,
)
from moothall.protocols.council.resolution import list_counted_votes
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.state import Council, CouncilLine, CouncilVariant
from moothall.reports.decision import Decision
from moothall.reports.how import (
    ByOwner,
    ByVotes,
    How,
    LeadingSide,
    TieBreak,
    Undecided,
    UndecidedReason,
    VoteEnding,
)
from moothall.scoring.independence import build_seat_correlations
from moothall.scoring.resolution import SIDES, SeatVote

MAX_LEADING: Final = 2
_DIGITS: Final = 9
"""Sums are compared to this many digits, as where the votes are counted."""
_FOR: Final = SIDES[:2]
_LIMITS: Final = frozenset(("turns", "tokens", "money", "time"))


def add_memo_facts(
    decision: Decision, rules: CouncilRules, state: Council, closed: DeliberationClosed
) -> Decision:
    """Return the decision of a deliberation that is over with what its memo is made of."""
    variant = rules.variant
    motion = state.line(closed.motion)
    leading = _list_leading(variant, state, closed)
    tie_by: TieBreak | None = None
    if closed.carried and len(leading) > 1:
        tie_by = _find_tie_break(state, closed, leading)
    decision = replace(decision, leaders=leading, tie_by=tie_by)
    if closed.carried and motion is not None:
        return replace(decision, how=_describe_how(variant, state, closed))
    near = _count_near(variant, state, closed)
    how = _explain_no_decision(decision, variant, state, closed)
    return replace(decision, how=how, near=near)


def _describe_how(variant: CouncilVariant, state: Council, closed: DeliberationClosed) -> How:
    owner = variant.owner(state.opened)
    if owner is not None:
        advised = {
            line.seat for line in state.lines if line.seat != owner and line.said.type != "propose"
        }
        return ByOwner(
            owner=owner,
            advisers=len(state.seats) - 1,
            advised=len(advised),
            is_alike=closed.reason == "agreed_blind",
        )
    ending: VoteEnding = "voted"
    if closed.reason == "agreed_blind":
        ending = "agreed_blind"
    elif closed.reason == "settled":
        ending = "settled"
    elif closed.reason == "one_mind":
        ending = "one_mind"
    settings = state.opened.settings
    is_quorum = isinstance(settings, ConsensusSettings) and settings.quorum is not None
    tries = 1
    if variant.one_synthesis:
        tries = state.round
    return ByVotes(ending=ending, tries=tries, is_quorum=is_quorum, unasked=len(closed.unasked))


def _list_leading(
    variant: CouncilVariant, state: Council, closed: DeliberationClosed
) -> tuple[LeadingSide, ...]:
    """Return the answers with the most support, the motion first; none where nobody voted among answers."""
    if variant.owner(state.opened) is not None or closed.reason in BLIND_ENDINGS:
        return ()
    votes = CandidateVotes(state, find_voted_ids(variant, state))
    if not state.votes:
        motion = state.line(closed.motion)
        if motion is None:
            return ()
        return (LeadingSide(text=_name_answer(motion)),)
    threshold = 0.0
    settings = state.opened.settings
    if isinstance(settings, ConsensusSettings):
        threshold = settings.threshold
    named: dict[str, LeadingSide] = {}
    for number in votes.ranking:
        line = state.line(number)
        choice = votes.find_choice(number)
        if line is None or choice in named or len(named) == MAX_LEADING:
            continue
        listed = votes.by_choice.get(choice) or votes.list_votes(number)
        named[choice] = _build_leading(_name_answer(line), listed, threshold)
    return tuple(named.values())


def _build_leading(text: str, votes: Sequence[SeatVote], threshold: float) -> LeadingSide:
    supporters: list[SeatId] = []
    opponents: list[SeatId] = []
    unsure: list[tuple[SeatId, float]] = []
    for vote in votes:
        seat = SeatId(vote.seat)
        if vote.position in _FOR:
            supporters.append(seat)
            if vote.confidence < threshold:
                unsure.append((seat, vote.confidence))
        elif vote.position == "oppose":
            opponents.append(seat)
    return LeadingSide(
        text=text,
        supporters=tuple(supporters),
        opponents=tuple(opponents),
        unsure=tuple(unsure),
    )


def _name_answer(line: CouncilLine) -> str:
    return line.said.choice.strip() or extract_first_sentence(line.said.text)


def _find_tie_break(
    state: Council, closed: DeliberationClosed, leading: Sequence[LeadingSide]
) -> TieBreak | None:
    """Return what chose between the first two answers; None where the first has more support."""
    weights = {ballot.seat: ballot.weight for ballot in closed.ballots}
    first, second = leading[0], leading[1]
    if not second.supporters:
        return None
    supports = [
        round(sum(weights.get(seat, 0.0) for seat in each.supporters), _DIGITS)
        for each in (first, second)
    ]
    if supports[0] != supports[1]:
        return None
    blind = weigh_blind_support(state)
    shares = [blind.get(normalize_label(each.text), 0.0) for each in (first, second)]
    if shares[0] > shares[1]:
        return "first_answers"
    conditional = sum(ballot.position == "conditional_support" for ballot in closed.ballots)
    if conditional < len(first.supporters) and closed.candidates:
        listed = {each.line: each.unconditional for each in closed.candidates}
        values = list(listed.values())
        if len(values) > 1 and values[0] > values[1]:
            return "conditions"
    return "names"


def _count_near(variant: CouncilVariant, state: Council, closed: DeliberationClosed) -> int | None:
    """Return how many of the others would have had to be for it; None where a number alone would not have been enough."""
    motion = state.line(closed.motion)
    settings = state.opened.settings
    is_by_number = (
        motion is not None
        and bool(state.votes)
        and variant.owner(state.opened) is None
        and settings.carry_at is None
        and settings.choose == "votes"
        and not isinstance(settings, ConsensusSettings)
    )
    if not is_by_number:
        return None
    votes = CandidateVotes(state, find_voted_ids(variant, state))
    counted = list(list_counted_votes(variant, state, closed.reason, motion, votes))
    correlations = build_seat_correlations(state.opened.subject.error_correlations, state.seats)
    others = [at for at, vote in enumerate(counted) if vote.position not in _FOR]
    for more, at in enumerate(others, 1):
        counted[at] = replace(counted[at], position="support")
        if variant.resolve(state, tuple(counted), correlations).carried:
            return more
    return None


def _explain_no_decision(
    decision: Decision, variant: CouncilVariant, state: Council, closed: DeliberationClosed
) -> Undecided:
    """Return why a deliberation ended without a decision."""
    settings = state.opened.settings
    reason = _find_reason(decision, state, closed)
    if reason == "limit":
        return Undecided(reason=reason, limit=closed.reason, amount=_name_limit(state, closed))
    if isinstance(settings, ConsensusSettings):
        return Undecided(
            reason=reason,
            needed=settings.quorum or len(state.seats),
            threshold=settings.threshold,
        )
    return Undecided(reason=reason, threshold=settings.carry_at, chance=closed.confidence)


def _name_limit(state: Council, closed: DeliberationClosed) -> str:
    """Return how much a limit was, with its unit."""
    words = LOSS_DETAILS[state.opened.language]
    budget = state.opened.budget
    if closed.reason == "money" and budget.money is not None:
        return f"{budget.money / 1e6:g} {words.units['money']}"
    if closed.reason == "tokens" and budget.tokens is not None:
        return f"{budget.tokens} {words.units['tokens']}"
    return ""


def _find_reason(decision: Decision, state: Council, closed: DeliberationClosed) -> UndecidedReason:
    if closed.reason in {"nothing_proposed", "owner_lost"}:
        return closed.reason
    if closed.motion is None and not state.votes:
        return "nothing_proposed"
    if not state.votes and closed.reason in _LIMITS:
        return "limit"
    if not state.votes and closed.reason == "called":
        return "called"
    lost = [each for each in decision.lost if each.did_not_vote]
    if 2 * len(lost) > len(state.seats):
        return "voices_lost"
    if closed.voters == 0 or not decision.leaders:
        return "no_side"
    first = decision.leaders[0]
    settings = state.opened.settings
    if isinstance(settings, ConsensusSettings):
        needed = settings.quorum or len(state.seats)
        is_enough = len(first.supporters) >= needed and not first.opponents
        if is_enough and first.unsure:
            return "not_sure"
        return "leader"
    has_majority = closed.support is not None and closed.support > 0.5
    if has_majority and settings.carry_at is not None:
        return "not_likely"
    if first.supporters and len(first.supporters) == len(first.opponents):
        return "tie"
    return "no_majority"
