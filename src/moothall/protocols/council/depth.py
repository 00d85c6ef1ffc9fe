"""When blind positions are enough: who is asked first, whether a debate follows (D-24), how deep a question is taken (G-4)."""

from collections.abc import Mapping
from typing import Final, Literal

from moothall.domain.ids import SeatId
from moothall.domain.topic import Stakes
from moothall.protocols.council.facts import CouncilOpened, EndReason
from moothall.protocols.council.motions import (
    find_blind_leader,
    find_blind_positions,
    is_blind_agreement,
    weigh_blind_positions,
)
from moothall.protocols.council.state import Council, CouncilVariant
from moothall.scoring.depth import (
    BLIND,
    NEEDED,
    DepthTaken,
    Stage,
    find_first_mind,
    is_enough_alone,
    is_record_poor,
)
from moothall.scoring.posterior import OPEN_OPTIONS

DebateMode = Literal["auto", "unanimity", "always", "never"]

_MODES: Final[Mapping[Stakes, DebateMode]] = {
    "low": "auto",
    "medium": "unanimity",
    # High stakes deserve a discussion even if all agree blind.
    "high": "always",
    "critical": "always",
}

BLIND_ENDINGS: Final[frozenset[EndReason]] = frozenset({"agreed_blind", "settled", "one_mind"})
"""Why a session ends on the blind positions, without a vote."""

ENOUGH_LEAD: Final = 3
"""How many more seats than for any other choice settle the question for an adaptive panel."""

CLEAR_LEAD: Final = 2
"""From which lead on a debate gained nothing where options were named; with open answers it gained at a tie alone."""

ENOUGH_POSTERIOR: Final = 0.80
"""The posterior of a choice that settles it; measured with the lead in `bench/decisions`."""


def find_settled_choice(state: Council) -> str | None:
    """Return the choice that the blind positions so far settle the question with; None if they do not yet."""
    evidence = weigh_blind_positions(state)
    choice = find_blind_leader(state)
    if state.open_inputs or evidence is None or choice is None:
        return None
    is_settled = (
        evidence.count_lead(choice) >= ENOUGH_LEAD
        or evidence.compute_posterior(choice) >= ENOUGH_POSTERIOR
    )
    return choice if is_settled else None


def is_blind_lead_clear(state: Council, *, at_all: bool) -> bool:
    """Whether the blind positions lead so far that a debate would not gain anything (D-24); `at_all`: any lead will do.

    Seats that wrote nothing count as if they had written what comes second.
    """
    evidence = weigh_blind_positions(state)
    choice = find_blind_leader(state)
    if evidence is None or choice is None:
        return False
    enough = 1 if at_all or evidence.options == OPEN_OPTIONS else CLEAR_LEAD
    return (
        evidence.count_lead(choice) - (len(state.seats) - sum(evidence.counts.values())) >= enough
    )


def find_debate_mode(opened: CouncilOpened) -> DebateMode:
    """Return what the opener chose, or what the stakes ask for: at medium stakes only blind unanimity ends it (D-24)."""
    if opened.settings.depth == "auto" and is_record_poor(opened.subject, BLIND):
        return "always"
    return opened.settings.debate or _MODES[opened.subject.stakes]


def find_blind_ending(
    variant: CouncilVariant, state: Council, mode: DebateMode
) -> EndReason | None:
    """Return what the blind positions end a session by; None if it is argued."""
    # Nobody has answered what the user added while all wrote blind.
    if mode == "always" or not state.opened.settings.blind or state.open_inputs:
        return None
    if is_blind_agreement(state):
        return "agreed_blind"
    is_settled = (
        variant.settles
        and mode != "unanimity"
        and is_blind_lead_clear(state, at_all=mode == "never")
    )
    return "settled" if is_settled else None


def find_asked_alone(state: Council) -> SeatId | None:
    """Return the seat that is asked before all others; None where nobody is."""
    if state.opened.settings.depth != "auto" or state.stop is not None:
        return None
    return find_first_mind(state.seats, state.opened.subject)[0]


def is_settled_alone(state: Council) -> bool:
    """Whether the seat that was asked first has answered, nobody else has, and that is enough."""
    first = find_asked_alone(state)
    if state.open_inputs:
        return False
    return first is not None and set(state.had) == {first} and _is_first_enough(state, first)


def _is_first_enough(state: Council, first: SeatId) -> bool:
    line = find_blind_positions(state).get(first)
    seat = next(seat for seat in state.seats if seat.id == first)
    return line is not None and is_enough_alone(
        seat, line.said.choice, line.said.confidence, state.opened.subject
    )


def count_spared(variant: CouncilVariant, state: Council) -> int:
    """Return how many answers were not asked for: those of the later phases, and of seats that were not asked at all."""
    later = sum(
        len(variant.list_phase_seats(state, phase)) for phase in variant.list_later_phases(state)
    )
    return later + sum(seat.id not in state.had for seat in state.seats)


def describe_depth(variant: CouncilVariant, state: Council, reason: EndReason) -> DepthTaken | None:
    """Return how deep a session that ends now was taken, or would have been; None where nobody asked for that."""
    mode, subject = state.opened.settings.depth, state.opened.subject
    if mode == "full":
        return None
    first, why = find_first_mind(state.seats, subject)
    positions = find_blind_positions(state)
    is_poor = is_record_poor(subject, BLIND)
    is_ended_blind = reason in BLIND_ENDINGS
    if mode == "shadow":
        # What the opener chose does not count here: the question is what `auto` would have done.
        is_ended_blind = (
            find_blind_ending(variant, state, "always" if is_poor else _MODES[subject.stakes])
            is not None
        )
    stage: Stage = "blind_vote" if is_ended_blind else "protocol"
    if first is not None:
        is_first_enough = reason == "one_mind" or (
            mode == "shadow" and _is_first_enough(state, first)
        )
        stage, why = ("one_mind", "clear") if is_first_enough else (stage, "unclear")
    if stage == "protocol":
        why = "unclear"
        if subject.stakes not in NEEDED:
            why = "stakes"
        elif is_poor:
            why = "poor_record"
    spared = 0
    if mode == "shadow":
        asked = sum(state.counts.values())
        needed = {"one_mind": 1, "blind_vote": len(positions)}.get(stage, asked)
        spared = asked - needed
    elif is_ended_blind:
        spared = count_spared(variant, state)
    return DepthTaken(
        mode=mode,
        stage=stage,
        reason=why,
        spared=spared,
        seat=first,
        choice=_find_stage_choice(state, stage, first),
    )


def _find_stage_choice(state: Council, stage: Stage, first: SeatId | None) -> str:
    choices = {seat: line.said.choice for seat, line in find_blind_positions(state).items()}
    if stage == "one_mind" and first is not None:
        return choices[first]
    if stage != "blind_vote":
        return ""
    leader = find_blind_leader(state)
    named = [each for each in choices.values() if state.groups.find(each) == leader]
    return named[0] if named else ""
