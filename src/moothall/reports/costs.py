"""What a session cost, seat by seat."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from moothall.domain.budget import Spent
from moothall.domain.facts import Fact, Reply, SeatLost
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.locale.catalogues import SharedReportText
from moothall.reports.wording import format_money


@dataclass(slots=True)
class Costs:
    """Adds up usage as facts come in."""

    seats: dict[SeatId, Spent] = field(default_factory=dict)

    def add(self, fact: Fact) -> None:
        if isinstance(fact, Reply | SeatLost):
            self.seats[fact.seat] = self.seats.get(fact.seat, Spent()).plus(fact.usage)


def build_cost_rows(costs: Costs, seats: Iterable[Seat], total: Spent, words: SharedReportText) -> list[tuple[str | int, ...]]:
    """What each seat cost, and all together."""
    rows: list[tuple[str | int, ...]] = []
    for seat in seats:
        spent = costs.seats.get(seat.id)
        if spent is not None:
            rows.append((seat.id, seat.platform, spent.calls, spent.tokens_in, spent.tokens_out, format_money(words, spent)))
    return [*rows, (words.total, "", total.calls, total.tokens_in, total.tokens_out, format_money(words, total))]
