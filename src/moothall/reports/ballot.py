"""What a session votes on, and what each candidate got: for every reader, whichever protocol holds the vote."""

from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BallotLine:
    """A line that is, or would be, voted on."""

    line: int
    """The number of the line."""
    seat: SeatId
    """Who wrote it."""
    choice: str
    """Its short answer; empty where it has none."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSupport:
    """What a candidate got in the last vote."""

    line: int
    support: float
    """The weight of the votes for it."""
    unconditional: float
    """The part of it that is tied to no condition."""
    oppose: float
    """The weight of the votes against it."""
    confidence: float | None = None
    """How likely it is right; None where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballot:
    """The vote of a session, as far as a reader may see it."""

    candidates: tuple[BallotLine, ...] = ()
    motion: int | None = None
    """The line that is decided on; of several candidates none, until the votes have chosen."""
    tally: tuple[CandidateSupport, ...] = ()
    """Empty while any vote is sealed."""

    @property
    def motion_choice(self) -> str:
        """The short answer of the motion; empty where there is none."""
        for candidate in self.candidates:
            if candidate.line == self.motion:
                return candidate.choice
        return ""
