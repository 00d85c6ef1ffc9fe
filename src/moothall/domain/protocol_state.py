"""What the state of every protocol holds, and the one fold of it: seats, lost seats, the budget, the call for the end."""

from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeVar

from moothall.domain import facts
from moothall.domain.budget import BudgetKind
from moothall.domain.facts import Entry
from moothall.domain.ids import SeatId
from moothall.domain.replace import fast_replace
from moothall.domain.roster import DIRECTOR, Seat, state_family, swap_seats

StopReason = BudgetKind | Literal["called"]

_ORDINARY: Final = (facts.Reply, facts.AsksSent)
"""What most entries hold; nothing that all protocols share follows from them."""


@dataclass(frozen=True, slots=True)
class Losses:
    """How often a seat failed, and the reason of the last failure."""

    times: int
    last: facts.Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class LostSeat:
    """A seat that failed to answer."""

    seat: SeatId
    times: int
    """How often it failed."""
    last: facts.Loss
    """The reason of its last failure."""
    weight_share: float
    """Its share of the bias weight of all seats."""
    did_not_vote: bool = False
    """Whether its voice is missing in the outcome."""
    why: str = ""
    """What went wrong the last time, in the words of the record."""


@dataclass(frozen=True, kw_only=True)
class ProtocolState:
    """The base class of protocols' states. It has no slots, for `fast_replace`.

    `evolve` of a rulebook calls `evolve_shared` first, which keeps these fields; what a protocol does about them is its own.
    """

    opened: facts.Opened
    """The first fact of the session; a protocol narrows its type."""
    seats: tuple[Seat, ...]
    """The seats as they are filled now: swaps, forks and stated families are applied."""
    losses: Mapping[SeatId, Losses] = field(default_factory=dict)
    """The seats that failed to answer, in the order of their first failure."""
    exhausted: BudgetKind | None = None
    """The limit that was reached first."""
    is_close_called: bool = False
    """Whether the owner asked for the end of the session."""
    is_closed: bool = False

    @property
    def stop(self) -> StopReason | None:
        """Why the session is to end now. The owner's call precedes a limit: the owner wants the end at once."""
        return "called" if self.is_close_called else self.exhausted

    @property
    def is_sealed(self) -> bool:
        """Whether what seats say now may be read by nobody else yet. A protocol that asks blind overrides it.

        While it holds, replies after the entry `sealed_after` show at every door who wrote, and not what.
        """
        return False

    @property
    def sealed_after(self) -> int:
        """The last entry that may be read while others are sealed."""
        return 0

    def seat(self, name: str) -> Seat:
        # A loop: several times in every turn, and a generator costs as much as the rest.
        for seat in self.seats:
            if seat.id == name:
                return seat
        if name == DIRECTOR.id:
            return DIRECTOR
        raise LookupError(f"no seat is called {name!r}")


P = TypeVar("P", bound=ProtocolState)


def evolve_shared(state: P, entry: Entry) -> P:
    """Return the state after one more entry, as far as all protocols share it."""
    fact = entry.fact
    if isinstance(fact, _ORDINARY):
        return state
    match fact:
        case facts.SeatLost():
            times = state.losses[fact.seat].times + 1 if fact.seat in state.losses else 1
            return fast_replace(state, losses={**state.losses, fact.seat: Losses(times, fact.reason)})
        case facts.SessionForked(swaps=swaps) | facts.SeatsSwapped(swaps=swaps):
            return fast_replace(state, seats=swap_seats(state.seats, swaps))
        case facts.FamilyStated(seat=seat, family=family):
            return fast_replace(state, seats=state_family(state.seats, seat, family))
        case facts.BudgetExhausted(budget=budget):
            return fast_replace(state, exhausted=state.exhausted or budget)
        case facts.CloseCalled():
            return fast_replace(state, is_close_called=True)
        case facts.Closed():
            return fast_replace(state, is_closed=True)
        case _:
            return state


def list_lost_seats(state: ProtocolState, voices: Container[str]) -> tuple[LostSeat, ...]:
    """Return the seats that failed; `voices` are those whose voice is in the outcome."""
    total = sum(seat.weight for seat in state.seats) or 1.0
    return tuple(
        LostSeat(
            seat=seat.id,
            times=state.losses[seat.id].times,
            last=state.losses[seat.id].last,
            weight_share=seat.weight / total,
            did_not_vote=seat.id not in voices,
        )
        for seat in state.seats
        if seat.id in state.losses
    )
