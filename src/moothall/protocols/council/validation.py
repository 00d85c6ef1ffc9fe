"""Validates contributions of the right shape against the current state of a deliberation."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar, Final

from moothall.domain.answer_table import read_two_sides
from moothall.domain.claims import cut_text
from moothall.domain.effects import Normalized
from moothall.domain.frame import is_none_of_these, settle_own_choice
from moothall.domain.ids import SeatId
from moothall.domain.prompt_parts import is_open_list
from moothall.domain.roster import Seat
from moothall.domain.topic import normalize_label
from moothall.domain.vocabulary import is_pass_text
from moothall.locale.catalogues import COUNCIL_PROMPT, PARTICIPANT_PROMPT
from moothall.protocols.council.ballots import (
    find_candidate_ids,
    find_line_positions,
    is_by_candidates,
    list_choices,
    read_ballot,
)
from moothall.protocols.council.facts import (
    CandidateVote,
    Contribution,
    ContributionType,
    Phase,
)
from moothall.protocols.council.motions import has_motion
from moothall.protocols.council.state import (
    PASSED,
    QUESTION,
    Council,
    CouncilVariant,
    list_own_challenges,
)
from moothall.scoring.positions import VotePosition

PHASE_TYPES: Final[dict[str, tuple[ContributionType, ...]]] = {
    "propose": ("propose",),
    "argue": ("support", "challenge"),
    "answer": ("support",),
    "synthesize": ("synthesize",),
    "decide": ("synthesize",),
    "vote": ("vote",),
}


MAX_TEXT_LENGTH: Final = 20_000
MAX_CONDITION_LENGTH: Final = 2_000
CACHED_STATES: Final = 8
"""For how many of the last states it is cached what seats may contribute."""


class ContributionValidator:
    """Validates what one seat says in the current state; returns the fault, or None."""

    def __init__(self, variant: CouncilVariant, state: Council, seat: SeatId) -> None:
        self._variant = variant
        self._state = state
        self._seat = seat

    @property
    def _is_outside(self) -> bool:
        return self._state.seat(self._seat).is_outside

    def __call__(self, said: object) -> str | None:
        assert isinstance(said, Contribution)
        allowed = list_allowed_types(self._variant, self._state, self._seat)
        if said.type not in allowed:
            return f"type {said.type!r} has no place in the phase {self._state.phase!r}; expected: {', '.join(allowed)}"
        if said.type == "pass":
            return None
        checks = (
            _check_text(said),
            self._check_vote(said),
            self._check_choice(said),
            self._check_references(said),
            self._check_advice(said),
        )
        for fault in checks:
            if fault is not None:
                return fault
        return None

    def _check_vote(self, said: Contribution) -> str | None:
        if said.type != "vote":
            if said.ballot:
                return "a ballot belongs to a vote"
            return None
        if said.position is None and not said.ballot:
            options = ", ".join(self._state.opened.subject.options)
            choice = ""
            if options:
                choice = f"a choice ({options}) or "
            return (
                f"a vote needs {choice}a position: support, conditional_support, oppose or abstain"
            )
        candidates = find_candidate_ids(self._variant, self._state)
        is_outside = self._state.seat(self._seat).is_outside
        if (
            is_outside
            and _names_option(self._variant, self._state, said)
            and _contradicts(said, _rate_candidates(self._variant, self._state, said))
        ):
            return f"the choice {said.choice!r} and the position beside it take two sides; which of the two is meant? Give one"
        contradiction = _find_spoken_contradiction(said)
        if contradiction is not None:
            return contradiction
        for vote in said.ballot:
            if vote.candidate not in candidates:
                return f"line {vote.candidate} is no candidate; the candidates are: {self._list_lines(candidates)}"
        if is_by_candidates(self._variant, self._state) and not read_ballot(said, candidates):
            return (
                f"there are {len(candidates)} candidates: {self._list_lines(candidates)}; give a position on each in `ballot`, "
                "or name one of them in `refers_to`"
            )
        return None

    def _list_lines(self, numbers: Iterable[int]) -> str:
        lines = self._state.list_lines(numbers)
        return ", ".join(f"#{line.id} by {line.seat}" for line in lines)

    def _check_choice(self, said: Contribution) -> str | None:
        options = self._state.opened.subject.options
        is_free = not options or (is_open_list(self._state) and bool(said.choice))
        frame = self._state.opened.frame
        if frame is not None and frame.made_by != "opener" and self._is_outside:
            # Who comes from outside was given a question, and no list.
            is_free = True
        if said.type not in {"propose", "synthesize"} or is_free:
            return None
        if normalize_label(said.choice) in {normalize_label(option) for option in options}:
            return None
        return (
            f"choice {said.choice!r} is none of the options; expected one of: {', '.join(options)}"
        )

    def _check_references(self, said: Contribution) -> str | None:
        state = self._state
        named = [
            said.refers_to,
            said.moved_by,
            *said.answers,
            *said.accepts,
            *(taken.entry for taken in said.taken),
        ]
        for number in named:
            if number is not None and not QUESTION <= number <= state.last_id:
                return f"line {number} does not exist; the lines are {QUESTION} to {state.last_id}"
            line = state.line(number)
            if line is not None and line.id in state.sealed and line.seat != self._seat:
                return f"line {number} is sealed: nobody has read it yet, so nothing can refer to it; wait until this phase ends"
        inputs = {each.number for each in state.user_inputs}
        for reply in said.to_user:
            if reply.input not in inputs:
                listed = ", ".join(map(str, sorted(inputs))) or "none"
                return f"`to_user` names {reply.input}; the user's later words are: {listed}"
        mover = state.line(said.moved_by)
        if said.moved_by is not None and (mover is None or mover.seat == self._seat):
            return f"`moved_by` is {said.moved_by}: what moved you is a line of another seat"
        for number in (*said.answers, *said.accepts):
            line = state.line(number)
            if line is None or line.said.type != "challenge":
                raised = [str(line.id) for line in state.lines if line.said.type == "challenge"]
                return f"line {number} is no challenge; the challenges are: {', '.join(raised) or 'none'}"
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


def _find_spoken_contradiction(said: Contribution) -> str | None:
    """Return how the text of a vote contradicts its ballot; None if it does not."""
    if not said.ballot:
        return None
    spoken = find_line_positions(said.text)
    for vote in said.ballot:
        other = spoken.get(vote.candidate, {}).get("position")
        # Who supports on a condition may say that in a field.
        if other is not None and other not in {vote.position, _find_side(vote.position)}:
            return f"the ballot says {vote.position} of #{vote.candidate}, but its text {other}; which of the two is meant?"
    return None


def normalize_contribution(
    variant: CouncilVariant, state: Council, seat: SeatId, said: object
) -> Normalized:
    """Bring a contribution into line with the state: a condition that stands in its text, what it leaves out, what it answers."""
    assert isinstance(said, Contribution)
    is_outside = state.seat(seat).is_outside
    said = _take_own_choice(variant, state, said)
    if said.type in {"support", "challenge"} and not said.text.strip() and said.evidence:
        # The evidence is what it says.
        said = replace(said, text=cut_text("\n".join(said.evidence), MAX_TEXT_LENGTH))
    says_nothing = not is_outside and _is_empty(said)
    if (says_nothing or _is_pass(said)) and "pass" in list_allowed_types(variant, state, seat):
        return Contribution(type="pass", text=said.text), (f"read type {said.type!r} → 'pass'",)
    dropped = list[str]()
    if (
        said.type == "vote"
        and _names_option(variant, state, said)
        and not (is_outside and (said.position or said.ballot))
    ):
        votes = _rate_candidates(variant, state, said)
        if _contradicts(said, votes):
            side = "ballot"
            if said.position:
                side = f"position {said.position!r}"
            dropped.append(f"read {side} → choice {said.choice!r}")
        said = _apply_choice(said, votes)
    if said.type == "vote":
        # A vote from outside stays conditional, whether or not it says on what: nobody could be asked for it again.
        unstated = ""
        if is_outside:
            unstated = COUNCIL_PROMPT[state.opened.language].condition_not_stated
        return _normalize_vote(variant, state, said, unstated, dropped)
    if is_outside:
        return said, ()
    if state.phase == "answer" and said.type == "support" and not said.answers:
        # Code knows what it was asked to answer: what does not convince the seat is answered by its text.
        own = list_own_challenges(state, seat)
        answered = [number for number in own if number not in said.accepts and said.text.strip()]
        return replace(said, answers=tuple(answered)), ()
    if state.phase != "decide":
        return said, ()
    taken = {each.entry for each in said.taken}
    missing = [f"#{number}" for number in list_advice(state) if number not in taken]
    if not missing:
        return said, ()
    return said, (f"missing taken {' '.join(missing)}",)


def _take_own_choice(variant: CouncilVariant, state: Council, said: Contribution) -> Contribution:
    """Return a contribution with its own answer as its choice; a vote for it, where answers are listed, opposes all candidates.

    That holds where it takes none of the listed ones, or names none (Q-2, Q-9).
    """
    taken = settle_own_choice(said)
    is_free = said.type != "vote" or not state.opened.subject.options
    if is_free or not is_none_of_these(said.choice):
        return taken
    if taken.choice == said.choice:
        taken = replace(taken, choice=PARTICIPANT_PROMPT[state.opened.language].none_of_these)
    candidates = find_candidate_ids(variant, state)
    against = tuple(CandidateVote(candidate=each, position="oppose") for each in candidates)
    return _apply_choice(taken, against)


def _is_pass(said: Contribution) -> bool:
    """Whether a contribution is none by its text. Beside a choice a word such as "pass" may be the answer itself."""
    if said.type in {"vote", "pass"}:
        return False
    return not said.choice.strip() and is_pass_text(said.text)


def _is_empty(said: Contribution) -> bool:
    """Whether a contribution has no text where one is asked for: a seat that Moot asks passes so."""
    if said.type in {"vote", "pass"} or said.text.strip():
        return False
    return said.type != "support" or not said.accepts


def _names_option(variant: CouncilVariant, state: Council, said: Contribution) -> bool:
    options = list_choices(state, find_candidate_ids(variant, state))
    find = state.groups.find
    return bool(options) and find(said.choice) in map(find, (*options, "abstain"))


def _apply_choice(said: Contribution, votes: tuple[CandidateVote, ...]) -> Contribution:
    """Return a vote for an option as a position on each candidate: the choice is what was asked for, and counts."""
    if len(votes) == 1:
        return replace(said, position=votes[0].position, ballot=())
    if not votes:
        return said
    if all(vote.position == "oppose" for vote in votes):
        # Of an option that nobody proposed, the vote itself holds the condition.
        return replace(said, position=None, ballot=votes)
    return replace(said, position=None, ballot=votes, condition="", due="")


def _contradicts(said: Contribution, votes: Sequence[CandidateVote]) -> bool:
    """Whether a vote takes the other side than the choice beside it: which of the two is meant, only its seat can say."""
    # To abstain from a resolution that one does not choose is no contradiction to the choice.
    stated: dict[int, VotePosition] = {
        vote.candidate: vote.position for vote in said.ballot if vote.position != "abstain"
    }
    if said.position is not None and len(votes) == 1:
        stated[votes[0].candidate] = said.position
    for vote in votes:
        other = stated.get(vote.candidate, vote.position)
        if _find_side(other) != _find_side(vote.position):
            return True
    return False


def _find_side(position: VotePosition) -> VotePosition:
    if position == "conditional_support":
        return "support"
    return position


def _rate_candidates(
    variant: CouncilVariant, state: Council, said: Contribution
) -> tuple[CandidateVote, ...]:
    """Return what a choice says of each candidate: who chooses another option opposes it."""
    label, is_conditional = state.groups.find(said.choice), bool(said.condition.strip())

    def rate(number: int) -> CandidateVote:
        line = state.line(number)
        if label == "abstain" or line is None:
            return CandidateVote(candidate=number, position="abstain")
        if state.groups.find(line.said.choice) != label:
            return CandidateVote(candidate=number, position="oppose")
        position: VotePosition = "support"
        if is_conditional:
            position = "conditional_support"
        return CandidateVote(
            candidate=number, position=position, condition=said.condition, due=said.due
        )

    return tuple(rate(number) for number in find_candidate_ids(variant, state))


def _normalize_vote(
    variant: CouncilVariant, state: Council, said: Contribution, unstated: str, mends: list[str]
) -> Normalized:
    votes, changes = read_two_sides("ballot", said.ballot, "candidate", "position", "abstain")
    ballot, mends = list[CandidateVote](), [*mends, *changes]
    for vote in votes:
        mended, changes = _normalize_condition(vote.position, vote.condition, said.text, unstated)
        ballot.append(replace(vote, position=mended[0], condition=mended[1]))
        mends += changes
    if said.position is not None:
        (position, condition), changes = _normalize_condition(
            said.position, said.condition, said.text, unstated
        )
        said, mends = replace(said, position=position, condition=condition), [*mends, *changes]
    if ballot:
        named = {vote.candidate for vote in ballot}
        missing = [
            f"#{number}" for number in find_candidate_ids(variant, state) if number not in named
        ]
        if missing:
            mends.append(f"missing ballot {' '.join(missing)}")
    return replace(said, ballot=tuple(ballot)), tuple(dict.fromkeys(mends))


def _normalize_condition(
    position: VotePosition, condition: str, text: str, unstated: str
) -> tuple[tuple[VotePosition, str], tuple[str, ...]]:
    """Return a position with its condition: the text where it names none; without a text `unstated`, or plain support."""
    if position != "conditional_support" or condition.strip():
        return (position, condition), ()
    if text.strip():
        return (position, cut_text(text.strip(), MAX_CONDITION_LENGTH)), ("read condition text",)
    if unstated:
        return (position, unstated), ("missing condition",)
    return ("support", ""), ("missing condition",)


def list_advice(state: Council) -> list[int]:
    """Return the lines that an owner says something about when it decides."""
    numbers: list[int] = []
    for line in state.lines:
        if line.phase == "argue" and line.said.type in {"support", "challenge"}:
            numbers.append(line.id)
    return numbers


def list_allowed_types(
    variant: CouncilVariant, state: Council, seat: SeatId
) -> tuple[ContributionType, ...]:
    """Return what a seat may contribute now; see `AllowedTypes`."""
    return AllowedTypes.of(variant, state).list_types(state.seat(seat))


def list_offered_types(
    variant: CouncilVariant, state: Council, seat: SeatId
) -> tuple[ContributionType, ...]:
    """Return what a seat is asked for now: while proposals are blind nothing that speaks to a line, which it has not read."""
    allowed = list_allowed_types(variant, state, seat)
    is_blind = state.is_sealed and state.phase == "propose" and seat not in state.had
    if not is_blind:
        return allowed
    return tuple(kind for kind in allowed if kind in {"propose", "pass"})


class AllowedTypes:
    """What seats may contribute now: the types of this phase, a pass, and the types of the next phase.

    The next phase is open to a seat from outside, once there is something to respond to. What is the same for all seats is
    computed once, so that a list for all of them takes no longer than their number.
    """

    _last: "ClassVar[tuple[AllowedTypes, ...]]" = ()

    @classmethod
    def of(cls, variant: CouncilVariant, state: Council) -> "AllowedTypes":
        """Return what seats may contribute in a state; cached for the last few, because every speaker asks several times."""
        for known in cls._last:
            if known._state is state and known._variant is variant:
                return known
        new = cls(variant, state)
        cls._last = (new, *cls._last[: CACHED_STATES - 1])
        return new

    def __init__(self, variant: CouncilVariant, state: Council) -> None:
        self._variant = variant
        self._state = state
        self._owner = variant.owner(state.opened)
        seats: tuple[SeatId, ...] = ()
        if state.phase != "closed":
            seats = variant.list_phase_seats(state, state.phase)
        self._speaking = frozenset(seats)
        self._waiting = frozenset(name for name in seats if name not in state.had)
        self._ahead: list[tuple[Phase, frozenset[SeatId]]] = []
        if has_motion(variant, state):
            for phase in variant.list_open_phases(state)[1:]:
                if phase != "decide":
                    phase_seats = frozenset(variant.list_phase_seats(state, phase))
                    self._ahead.append((phase, phase_seats))
        self._synthesizers = _list_synthesizers(variant, state)

    def has_types(self, seat: Seat) -> bool:
        """Whether one seat may contribute anything."""
        is_free = self._state.phase != "synthesize" or self._synthesizers is None
        return (is_free and seat.id in self._speaking) or bool(self.list_types(seat))

    def list_types(self, seat: Seat) -> tuple[ContributionType, ...]:
        state, name = self._state, seat.id
        if state.phase == "closed":
            return ()
        allowed: list[ContributionType] = []
        if name in self._speaking:
            if state.phase != "synthesize" or self._may_synthesize(name):
                allowed += PHASE_TYPES[state.phase]
            # An owner cannot pass: without its proposal or decision there is no result. In the first phase a pass is offered to
            # none of those whom Moot asks, and taken all the same.
            if name not in state.had and name != self._owner:
                allowed.append("pass")
        if not seat.is_outside:
            return tuple(allowed)
        for following, seats in self._ahead:
            if name not in seats:
                continue
            # A synthesis sums up the arguments: it must wait until all others have spoken.
            is_early = following == "synthesize" and (
                bool(self._waiting - {name}) or not self._may_synthesize(name)
            )
            if not is_early:
                allowed += [kind for kind in PHASE_TYPES[following] if kind not in allowed]
        return tuple(allowed)

    def _may_synthesize(self, seat: SeatId) -> bool:
        return self._synthesizers is None or seat in self._synthesizers[:1]


def _list_synthesizers(variant: CouncilVariant, state: Council) -> list[SeatId] | None:
    """Return whose turn it is to synthesize, in order, where one synthesis is enough: who comes first must not decide.

    None if everyone may.
    """
    if not variant.one_synthesis:
        return None
    seats = variant.list_phase_seats(state, "synthesize")
    if state.phase != "synthesize":
        return list(seats)
    synthesizers: list[SeatId] = []
    for name in seats:
        has_gone_on = name in state.had and state.had[name] in {PASSED, None}
        if not has_gone_on:
            synthesizers.append(name)
    return synthesizers


def _check_text(said: Contribution) -> str | None:
    may_be_empty = said.type == "vote" or (said.type == "support" and said.accepts)
    if not may_be_empty and not said.text.strip():
        return f"a {said.type} needs a text"
    if said.type != "vote" and said.position is not None:
        return f"a position belongs to a vote, not to a {said.type}"
    return None
