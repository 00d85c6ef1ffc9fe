"""A blind wave: one ask for all seats at once, each answered before its seat reads what the others write.

Positions and facts are collected by it; what differs between them is the form of the answer and how long a seat has.
"""

from collections.abc import Container, Iterable

from moothall.domain.effects import Ask
from moothall.domain.ids import AskId, SeatId, ask_id
from moothall.domain.replace import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindWave:
    """What all seats are asked in one wave."""

    kind: str
    """The kind of the ask, which names the form of its answer."""
    turn: int
    patience: float
    timed_by: str = ""
    """The setting that says how long a seat has."""
    firm: bool = False

    def build_ask(self, seat: SeatId) -> Ask:
        """Return the ask of one seat; its id is the same in every process."""
        return Ask(
            id=ask_id(self.turn, self.kind, seat),
            seat=seat,
            kind=self.kind,
            turn=self.turn,
            patience=self.patience,
            timed_by=self.timed_by,
            firm=self.firm,
        )

    def list_asks(self, seats: Iterable[SeatId], settled: Container[SeatId]) -> tuple[Ask, ...]:
        """Return the asks of the seats that have neither answered nor been lost."""
        return tuple(self.build_ask(seat) for seat in seats if seat not in settled)

    def is_ask_of(self, ask: AskId, seat: SeatId) -> bool:
        """Whether an ask is the one of this seat in this wave."""
        return ask == ask_id(self.turn, self.kind, seat)
