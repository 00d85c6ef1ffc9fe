"""What a session cost, seat by seat."""

from dataclasses import dataclass, field

from moot.domain.budget import Spent
from moot.domain.facts import Fact, Reply, SeatLost
from moot.domain.ids import SeatId


@dataclass(slots=True)
class Costs:
    """Adds up usage as facts come in."""

    seats: dict[SeatId, Spent] = field(default_factory=dict)

    def add(self, fact: Fact) -> None:
        if isinstance(fact, Reply | SeatLost):
            self.seats[fact.seat] = self.seats.get(fact.seat, Spent()).plus(fact.usage)


def money(spent: Spent) -> str:
    """The price in US dollars, and plainly so when part of it is unknown."""
    if not spent.calls or (not spent.cost and not spent.unpriced):
        return "$0"
    if spent.unpriced == spent.calls:
        return "price unknown"
    known = f"${spent.cost / 1e6:.4f}"
    return f"{known} + {spent.unpriced} unpriced calls" if spent.unpriced else known
