"""What a session cost, seat by seat."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from moot.domain.budget import Spent
from moot.domain.facts import Fact, Reply, SeatLost
from moot.domain.ids import SeatId
from moot.domain.roster import Seat


@dataclass(slots=True)
class Costs:
    """Adds up usage as facts come in."""

    seats: dict[SeatId, Spent] = field(default_factory=dict)

    def add(self, fact: Fact) -> None:
        if isinstance(fact, Reply | SeatLost):
            self.seats[fact.seat] = self.seats.get(fact.seat, Spent()).plus(fact.usage)


def format_money(spent: Spent) -> str:
    """The price in US dollars, and plainly so when part of it is unknown."""
    if not spent.calls or (not spent.cost and not spent.unpriced):
        return "$0"
    if spent.unpriced == spent.calls:
        return "price unknown"
    known = f"${spent.cost / 1e6:.4f}"
    return f"{known} + {spent.unpriced} unpriced calls" if spent.unpriced else known


def build_cost_rows(costs: Costs, seats: Iterable[Seat], total: Spent, name: str) -> list[tuple[str | int, ...]]:
    """What each seat cost, and all together under `name`."""
    rows: list[tuple[str | int, ...]] = []
    for seat in seats:
        spent = costs.seats.get(seat.id)
        if spent is not None:
            rows.append((seat.id, seat.platform, spent.calls, spent.tokens_in, spent.tokens_out, format_money(spent)))
    return [*rows, (name, "", total.calls, total.tokens_in, total.tokens_out, format_money(total))]
