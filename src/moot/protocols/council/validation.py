"""Validates contributions of the right shape against the current state of a deliberation."""

from dataclasses import replace
from typing import Final

from moot.domain.claims import cut_text
from moot.domain.effects import Mended
from moot.domain.ids import SeatId
from moot.domain.topic import normalize_label
from moot.protocols.council.facts import Contribution, ContributionType
from moot.protocols.council.motions import has_motion
from moot.protocols.council.state import QUESTION, Council, Course

PHASE_TYPES: Final[dict[str, tuple[ContributionType, ...]]] = {
    "propose": ("propose",),
    "argue": ("support", "challenge"),
    "synthesize": ("synthesize",),
    "decide": ("synthesize",),
    "vote": ("vote",),
}


LONGEST_CONDITION: Final = 2_000


class ContributionValidator:
    """Validates what one seat says in the current state; returns the fault, or None."""

    def __init__(self, course: Course, state: Council, seat: SeatId) -> None:
        self._course = course
        self._state = state
        self._seat = seat

    def __call__(self, said: object) -> str | None:
        assert isinstance(said, Contribution)
        allowed = list_allowed_types(self._course, self._state, self._seat)
        if said.type not in allowed:
            return f"type {said.type!r} has no place in the phase {self._state.phase!r}; expected: {', '.join(allowed)}"
        if said.type == "pass":
            return None
        checks = (
            _check_text(said),
            _check_vote(said, is_outside=self._state.seat(self._seat).is_outside),
            self._check_choice(said),
            self._check_references(said),
            self._check_advice(said),
        )
        return next((fault for fault in checks if fault is not None), None)

    def _check_choice(self, said: Contribution) -> str | None:
        options = self._state.opened.subject.options
        if said.type not in {"propose", "synthesize"} or not options:
            return None
        if normalize_label(said.choice) in {normalize_label(option) for option in options}:
            return None
        return f"choice {said.choice!r} is none of the options; expected one of: {', '.join(options)}"

    def _check_references(self, said: Contribution) -> str | None:
        state = self._state
        named = [said.refers_to, said.moved_by, *said.answers, *said.accepts, *(taken.entry for taken in said.taken)]
        for number in named:
            if number is not None and not QUESTION <= number <= state.last_id:
                return f"line {number} does not exist; the lines are {QUESTION} to {state.last_id}"
        mover = state.line(said.moved_by)
        if said.moved_by is not None and (mover is None or mover.seat == self._seat):
            return f"moved_by = {said.moved_by}: what moved you is a line of somebody else's"
        for number in (*said.answers, *said.accepts):
            line = state.line(number)
            if line is None or line.said.type != "challenge":
                raised = ", ".join(str(line.id) for line in state.lines if line.said.type == "challenge") or "none"
                return f"line {number} is no challenge; the challenges are: {raised}"
        return None

    def _check_advice(self, said: Contribution) -> str | None:
        # An owner that Moot asks is not refused over it: what it says nothing about stays open, and the record says so.
        if self._state.phase != "decide" or not self._state.seat(self._seat).is_outside:
            return None
        missing = sorted({*list_advice(self._state)} - {taken.entry for taken in said.taken})
        if missing:
            lines = ", ".join(map(str, missing))
            return f"'taken' leaves out the advice in line {lines}; say of each piece of advice how it was taken, and why"
        return None


def mend_contribution(state: Council, seat: SeatId, said: object) -> Mended:
    """Bring a contribution into line with the state: a condition that stands in its text, and advice that it does not mention."""
    assert isinstance(said, Contribution)
    if state.seat(seat).is_outside:
        return said, ()
    if said.position == "conditional_support" and not said.condition.strip() and said.text.strip():
        return replace(said, condition=cut_text(said.text.strip(), LONGEST_CONDITION)), ("read condition text",)
    taken = {each.entry for each in said.taken}
    missing = [f"#{number}" for number in list_advice(state) if number not in taken] if state.phase == "decide" else []
    return said, (f"missing taken {' '.join(missing)}",) if missing else ()


def list_advice(state: Council) -> list[int]:
    """Return the lines that an owner says something about when it decides."""
    return [line.id for line in state.lines if line.phase == "argue" and line.said.type in {"support", "challenge"}]


def list_allowed_types(course: Course, state: Council, seat: SeatId) -> tuple[ContributionType, ...]:
    """Return what a seat may contribute now: the types of this phase, a pass, and the types of the next phase.

    The next phase is open to a seat from outside, once there is something to respond to.
    """
    if state.phase == "closed":
        return ()
    allowed: list[ContributionType] = []
    if seat in course.list_phase_seats(state, state.phase):
        allowed += PHASE_TYPES[state.phase]
        is_owner = course.owner(state.opened) == seat
        # An owner cannot pass: without its proposal or decision there is no result. In the first phase a pass is offered to none
        # of those whom Moot asks, and taken all the same.
        if seat not in state.had and not is_owner:
            allowed.append("pass")
    following = course.find_next_phase(state) if state.seat(seat).is_outside else None
    if following is not None and following != "decide" and seat in course.list_phase_seats(state, following):
        # A synthesis sums up the arguments: it must wait until all others have spoken.
        others = [name for name in course.list_phase_seats(state, state.phase) if name != seat and name not in state.had]
        is_early = following == "synthesize" and bool(others)
        allowed += PHASE_TYPES[following] if has_motion(course, state) and not is_early else ()
    return tuple(allowed)


def _check_text(said: Contribution) -> str | None:
    if said.type != "vote" and not said.text.strip():
        return f"a {said.type} needs a text"
    if said.type != "vote" and said.position is not None:
        return f"a position belongs to a vote, not to a {said.type}"
    return None


def _check_vote(said: Contribution, *, is_outside: bool) -> str | None:
    if said.type != "vote":
        return None
    if said.position is None:
        expected = "support, conditional_support, oppose or abstain"
        return f"a vote needs a position: {expected}"
    if said.position == "conditional_support" and not said.condition.strip() and is_outside:
        return "a conditional_support names its condition"
    return None
