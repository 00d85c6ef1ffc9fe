"""The state of a persona meeting: all that `decide` needs, bounded by the number of seats and the window."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from moot.domain.context import ContextWindow
from moot.domain.ids import SeatId
from moot.domain.losses import Losses
from moot.domain.roster import Seat
from moot.protocols.persona.consensus import DiscussionPoints
from moot.protocols.persona.facts import Draft, EndReason, Intent, MeetingOpened, Position, Stand

Phase = Literal["blind", "intents", "floor", "speech", "draft", "stands", "concluding", "closed"]

DECIDERS = frozenset({"decider", "final decider", "the decider", "决策者", "最终决策者", "定夺者"})


@dataclass(frozen=True, kw_only=True)
class Meeting:
    """The state. It has no slots, for `fast_replace`.

    In `positions`, `intents` and `stands` None marks a seat that was lost. `is_spent`: the talk has ended for good.
    """

    opened: MeetingOpened
    seats: tuple[Seat, ...]
    phase: Phase
    memory: ContextWindow
    last_id: int
    decider: SeatId | None
    turn: int = 1
    about: int = 1
    positions: Mapping[SeatId, Position | None] = field(default_factory=dict)
    intents: Mapping[SeatId, Intent | None] = field(default_factory=dict)
    floor: SeatId | None = None
    fallen: tuple[SeatId, ...] = ()
    last_spoke: Mapping[SeatId, int] = field(default_factory=dict)
    speeches: Mapping[SeatId, int] = field(default_factory=dict)
    own_words: Mapping[SeatId, str] = field(default_factory=dict)
    last_speaker: SeatId | None = None
    idle_turns: int = 0
    points: DiscussionPoints = ()
    stop: EndReason | None = None
    is_spent: bool = False
    endings: int = 0
    drafters_lost: tuple[SeatId, ...] = ()
    draft: Draft | None = None
    author: SeatId | None = None
    stands: Mapping[SeatId, Stand | None] = field(default_factory=dict)
    losses: Mapping[SeatId, Losses] = field(default_factory=dict)

    def seat(self, name: SeatId) -> Seat:
        return next(seat for seat in self.seats if seat.id == name)

    @property
    def is_sealed(self) -> bool:
        """Whether nobody may read what the others have written yet."""
        return self.phase == "blind"

    @property
    def is_talking(self) -> bool:
        return self.phase in {"blind", "intents", "floor", "speech"}


def find_decider(opened: MeetingOpened) -> SeatId | None:
    """Return the seat that judges whether enough was said, and writes the conclusion."""
    if opened.settings.summarizer is not None:
        return opened.settings.summarizer
    return next((seat.id for seat in opened.seats if seat.stance.strip().casefold() in DECIDERS), None)


def list_drafters(meeting: Meeting) -> list[SeatId]:
    """Return who may write the conclusion, in order: the decider, then the others by weight."""
    # False sorts before True, so the decider comes first.
    ordered = sorted(meeting.seats, key=lambda seat: (seat.id != meeting.decider, -seat.weight))
    return [seat.id for seat in ordered if seat.id not in meeting.drafters_lost]
