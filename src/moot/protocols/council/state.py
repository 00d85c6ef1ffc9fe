"""The state of a deliberation: its phase, who has had a turn, and the lines so far."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from moot.domain.ids import SeatId
from moot.domain.losses import Losses
from moot.domain.roster import Seat
from moot.protocols.council.facts import Contribution, CouncilOpened, EndReason, Phase
from moot.scoring.resolution import Correlations, Resolution, SeatVote

QUESTION: Final = 1
"""The number of the line with the question; contributions count from 2."""

# A line number that no line has; None stands for a seat that was lost.
PASSED: Final = 0


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
class Council:
    """The state. It has no slots, for `fast_replace`.

    `had` holds who has had a turn in this phase: the number of the line, `PASSED`, or None for a seat that was lost. `ahead` are
    lines that already belong to the next phase; `argued` is `had` of the last argue phase that ended. `votes` are those of the
    last vote that began, on `motion`. `revealed_at` is the ledger entry from which on blind contributions can be read. With
    `repeated` the phase began a second time, for those who gave nothing.
    """

    opened: CouncilOpened
    seats: tuple[Seat, ...]
    phase: Phase | Literal["closed"]
    round: int = 1
    step: int = 1
    lines: tuple[CouncilLine, ...] = ()
    had: Mapping[SeatId, int | None] = field(default_factory=dict)
    ahead: Mapping[SeatId, int] = field(default_factory=dict)
    argued: Mapping[SeatId, int | None] = field(default_factory=dict)
    votes: Mapping[SeatId, int] = field(default_factory=dict)
    motion: int | None = None
    revealed_at: int = 0
    counts: Mapping[SeatId, int] = field(default_factory=dict)
    losses: Mapping[SeatId, Losses] = field(default_factory=dict)
    stop: EndReason | None = None
    repeated: bool = False

    def seat(self, name: SeatId) -> Seat:
        return next(seat for seat in self.seats if seat.id == name)

    def line(self, number: int | None) -> CouncilLine | None:
        """Return a line by its number; None for the question and for unknown numbers."""
        at = (number or 0) - QUESTION - 1
        return self.lines[at] if 0 <= at < len(self.lines) else None

    @property
    def last_id(self) -> int:
        return QUESTION + len(self.lines)

    @property
    def is_sealed(self) -> bool:
        """Whether nobody may read what the others have written yet."""
        return self.opened.settings.blind and self.phase == "propose"


Resolve = Callable[[Council, Sequence[SeatVote], Correlations], Resolution]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The differences between the three protocols.

    `first` are the phases of the first round, `again` those of later rounds. `owner` returns the seat that decides, if there is
    one. With `one_synthesis` the phase ends with the first synthesis, and the seats are asked for it in rotation.
    """

    first: tuple[Phase, ...]
    again: tuple[Phase, ...]
    resolve: Resolve
    owner: Callable[[CouncilOpened], SeatId | None]
    one_synthesis: bool = False

    def find_next_phase(self, state: Council) -> Phase | None:
        """Return the phase after the current one; None if the round ends with it."""
        phases = self.first if state.round == 1 else self.again
        if state.phase == "closed" or state.phase not in phases:
            return None
        at = phases.index(state.phase) + 1
        return phases[at] if at < len(phases) else None

    def list_phase_seats(self, state: Council, phase: str) -> tuple[SeatId, ...]:
        """Return the seats that have a turn in a phase, in order."""
        owner = self.owner(state.opened)
        seats = tuple(seat.id for seat in state.seats)
        if owner is not None and phase == "argue":
            return tuple(seat for seat in seats if seat != owner)
        if owner is not None and phase == "decide":
            return (owner,)
        if self.one_synthesis and phase == "synthesize":
            # A different seat begins in every round, so that a failed synthesis is not simply repeated.
            turn = (state.round - 1) % len(seats)
            return seats[turn:] + seats[:turn]
        return seats


def find_no_owner(opened: CouncilOpened) -> SeatId | None:
    """Return None: the deliberation has no owner."""
    return None
