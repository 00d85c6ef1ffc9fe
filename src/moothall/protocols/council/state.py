"""The state of a deliberation: its phase, who has had a turn, and the lines so far."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from typing import Final, Literal

from moothall.domain.frame import format_number
from moothall.domain.ids import USER, SeatId
from moothall.domain.replace import dataclass
from moothall.domain.session_state import ProtocolState, RevealedLine, StopReason
from moothall.domain.topic import ActionItem, UserReply, describe_action
from moothall.protocols.council.facts import Contribution, CouncilOpened, Phase
from moothall.scoring.resolution import Correlations, Resolution, SeatVote
from moothall.scoring.trust import find_accuracy

QUESTION: Final = 1
"""The number of the line with the question; contributions count from 2."""

# A line number that no line has; None stands for a seat that was lost.
PASSED: Final = 0

ANSWERING: Final = frozenset({"propose", "synthesize", "vote"})
"""The types of contributions whose choice is an answer."""
SETTLING: Final = frozenset({"propose", "synthesize", "decide", "vote"})
"""The phases at whose end answers are settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilLine:
    """A contribution, or the user's input. `seq` is the ledger entry that holds it; the rest of it is as in `Reply`."""

    id: int
    seq: int
    at: datetime
    seat: SeatId
    said: Contribution
    round: int
    phase: Phase
    via: str = ""
    model: str = ""
    mends: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Council(ProtocolState):
    """The state. It has no slots, for `fast_replace`.

    `had` holds who has had a turn in this phase: the number of the line, `PASSED`, or None for a seat that was lost. `ahead` are
    lines that already belong to the next phase; `argued` is `had` of the last argue phase that ended. `votes` are those of the
    last vote that began, on `candidates`. `revealed_at` is the ledger entry from which on blind contributions can be read,
    `reveals` those that ended a vote, `sealed` the lines that only their authors may read now. With `repeated` the phase began a
    second time, for those who gave nothing. `challenged` are those who answer in the phase `answer`. `cut_by` is the stop for
    which this phase began before its time. `put_again`: the user spoke while votes were out, so that all were asked once more.
    """

    opened: CouncilOpened
    phase: Phase | Literal["closed"]
    round: int = 1
    step: int = 1
    lines: tuple[CouncilLine, ...] = ()
    had: Mapping[SeatId, int | None] = field(default_factory=dict)
    ahead: Mapping[SeatId, int] = field(default_factory=dict)
    argued: Mapping[SeatId, int | None] = field(default_factory=dict)
    votes: Mapping[SeatId, int] = field(default_factory=dict)
    revealed_at: int = 0
    counts: Mapping[SeatId, int] = field(default_factory=dict)
    repeated: bool = False
    candidates: tuple[int, ...] = ()
    sealed: frozenset[int] = frozenset()
    sealed_after: int = 0
    reveals: tuple[int, ...] = ()
    challenged: tuple[SeatId, ...] = ()
    cut_by: StopReason | None = None
    put_again: bool = False

    @property
    def next_input(self) -> int:
        return self.last_id + 1

    @property
    def open_answers(self) -> tuple[str, ...]:
        """The answers that seats have named in this session, as they were said: those that are to be settled before counting."""
        hidden: Collection[int] = ()
        if self.phase != "vote":
            hidden = self.ahead.values()
        words: list[str] = []
        for line in self.lines:
            if line.said.type in ANSWERING and line.id not in hidden:
                words.append(line.said.choice)
        return tuple(words)

    @property
    def answered_inputs(self) -> Collection[int]:
        """Those that every text answers that is voted on now."""
        if self.phase != "vote" or not self.candidates:
            return ()
        candidates = self.list_lines(self.candidates)
        replies = [{reply.input for reply in line.said.to_user} for line in candidates]
        return set.intersection(*replies) if replies else ()

    def line(self, number: int | None) -> CouncilLine | None:
        """Return a line by its number; None for the question and for unknown numbers."""
        at = (number or 0) - QUESTION - 1
        if not 0 <= at < len(self.lines):
            return None
        return self.lines[at]

    def list_lines(self, numbers: Iterable[int]) -> list[CouncilLine]:
        """Return the lines with these numbers; a number without a line is left out."""
        lines = [self.line(number) for number in numbers]
        return [line for line in lines if line is not None]

    def map_lines(self, numbers: Mapping[SeatId, int]) -> dict[SeatId, CouncilLine]:
        """Return the line of each seat by its number; a number without a line is left out."""
        lines = {seat: self.line(number) for seat, number in numbers.items()}
        return {seat: line for seat, line in lines.items() if line is not None}

    @property
    def last_id(self) -> int:
        return QUESTION + len(self.lines)

    @property
    def is_sealed(self) -> bool:
        """Whether nobody may read what the others have written in this phase yet."""
        # Votes stay hidden until all are in or the phase ends (D-23).
        return (
            self.is_stating_facts
            or (self.opened.settings.blind and self.phase == "propose")
            or self.phase == "vote"
        )

    @property
    def sealed_entries(self) -> Collection[int]:
        if not self.sealed:
            return ()
        return {line.seq for line in self.lines if line.id in self.sealed}

    def list_revealed(self, seq: int) -> Sequence[RevealedLine]:
        if seq != self.revealed_at and seq not in self.reveals:
            return super().list_revealed(seq)
        return [line for line in self.lines if line.seq < seq == self.find_reveal_entry(line)]

    def list_visible_lines(self, seat: SeatId | None) -> tuple[CouncilLine, ...]:
        """Return the lines that a seat may read: of those that are still sealed, only its own."""
        if not self.sealed:
            return self.lines
        return tuple(line for line in self.lines if line.id not in self.sealed or line.seat == seat)

    def find_reveal_entry(self, line: CouncilLine) -> int:
        """Return the ledger entry from which on others than its author can read a line."""
        if line.phase == "vote":
            for entry in self.reveals:
                if entry > line.seq:
                    return entry
            return line.seq
        if not self.opened.settings.blind:
            return line.seq
        return max(line.seq, self.revealed_at)


Resolve = Callable[[Council, Sequence[SeatVote], Correlations], Resolution]


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilVariant:
    """The differences between the three protocols.

    `first` are the phases of the first round, `again` those of later rounds. `owner` returns the seat that decides, if there is
    one. With `one_synthesis` the phase ends with the first synthesis, and the seats are asked for it in rotation.
    With `settles` blind positions that lead clearly may decide, also where not all agree.
    """

    first: tuple[Phase, ...]
    again: tuple[Phase, ...]
    resolve: Resolve
    owner: Callable[[CouncilOpened], SeatId | None] = lambda opened: None
    one_synthesis: bool = False
    settles: bool = False

    def list_later_phases(self, state: Council) -> tuple[Phase, ...]:
        """Return the phases of this round that follow the current one."""
        phases = self.again
        if state.round == 1:
            phases = self.first
        if state.phase == "closed" or state.phase not in phases:
            return ()
        later = phases[phases.index(state.phase) + 1 :]
        # Nobody is asked to answer who was not challenged, or who has gone on already.
        if "answer" in later and all(
            seat in state.ahead for seat in self.list_phase_seats(state, "answer")
        ):
            return tuple(phase for phase in later if phase != "answer")
        return later

    def find_next_phase(self, state: Council) -> Phase | None:
        """Return the phase after the current one; None if the round ends with it."""
        later = self.list_later_phases(state)
        if not later:
            return None
        return later[0]

    def list_open_phases(self, state: Council) -> tuple[Phase, ...]:
        """Return the phases that a seat may contribute to now: this one and the next, and the one after an optional one."""
        if state.phase == "closed":
            return ()
        later = self.list_later_phases(state)
        ahead = 2 if "answer" in (state.phase, *later[:1]) else 1
        return (state.phase, *later[:ahead])

    def list_phase_seats(self, state: Council, phase: str) -> tuple[SeatId, ...]:
        owner = self.owner(state.opened)
        seats = tuple([seat.id for seat in state.seats])
        if phase == "answer":
            if state.phase == "answer":
                return state.challenged
            return find_challenged_seats(state)
        if phase == "propose" and state.opened.settings.panel_order == "trust":
            trusted = sorted(state.seats, key=lambda seat: -find_accuracy(seat))
            return tuple(seat.id for seat in trusted)
        if owner is not None and phase == "argue":
            return tuple(seat for seat in seats if seat != owner)
        if owner is not None and phase == "decide":
            return (owner,)
        if self.one_synthesis and phase == "synthesize":
            # A different seat begins in every round, so that a failed synthesis is not simply repeated.
            turn = (state.round - 1) % len(seats)
            return seats[turn:] + seats[:turn]
        return seats


def find_challenged_seats(state: Council) -> tuple[SeatId, ...]:
    """Return the seats that owe an answer to a challenge of this round, in the order of the roster."""
    if not state.opened.settings.rebuttal:
        return ()
    challenged = {seat for _, seat in _list_unanswered(state)}
    return tuple(seat.id for seat in state.seats if seat.id in challenged)


def list_own_challenges(state: Council, seat: SeatId) -> list[int]:
    """Return the challenges of this round that a seat owes an answer to."""
    return [line.id for line, challenged in _list_unanswered(state) if challenged == seat]


def _list_unanswered(state: Council) -> Sequence[tuple[CouncilLine, SeatId]]:
    """Return the challenges of this round that nobody has answered yet, each with the other seat whose words it is about.

    A challenge that names no line is about the only proposal, if there is just one.
    """
    raised: list[CouncilLine] = []
    for line in state.lines:
        if line.said.type == "challenge" and line.round == state.round:
            raised.append(line)
    if not raised:
        return ()
    answered: set[int] = set()
    for line in state.lines:
        answered.update(line.said.answers, line.said.accepts)
    alone = _find_only_proposal(state)
    unanswered: list[tuple[CouncilLine, SeatId]] = []
    for line in raised:
        if line.id in answered:
            continue
        target = state.line(line.said.refers_to) or alone
        if target is not None and target.seat not in {line.seat, USER}:
            unanswered.append((line, target.seat))
    return unanswered


def _find_only_proposal(state: Council) -> CouncilLine | None:
    """Return the first proposal, if all are of one seat."""
    proposals = [line for line in state.lines if line.said.type == "propose"]
    authors = {line.seat for line in proposals}
    if len(authors) != 1:
        return None
    return proposals[0]


def list_details(said: Contribution, labels: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what stands beside the text: the fields that have labels, in the order of these, each item of a list by itself."""
    for name, label in labels.items():
        value = getattr(said, name)
        # An estimate is the choice, too.
        if name == "choice" and said.number is not None:
            continue
        for each in value if isinstance(value, tuple) else (value,):
            if isinstance(each, UserReply):
                yield f"{label} #{each.input}", each.text
            elif isinstance(each, ActionItem):
                yield label, describe_action(each)
            elif isinstance(each, float):
                yield label, format_number(each)
            elif each:
                yield label, each


def has_voted(state: Council, seat: SeatId) -> bool:
    """Whether a seat has voted, in any round or ahead of the vote."""
    return any(line.seat == seat and line.phase == "vote" for line in state.lines)
