"""Panels that ask one seat after another and stop when they know enough: what that costs and saves (D-19)."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.decisions.blind_rules import forecast_by_agreement
from bench.decisions.data import Case, Recording, Votes
from bench.decisions.posteriors import list_answers
from bench.decisions.tallies import (
    Paired,
    Trust,
    accuracy,
    find_leader,
    folds,
    learned,
    own_order,
    paired,
    score_options,
)

LEAD: Final = 3
SURE: Final = 0.80

Order = Callable[[Case, Trust], Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """Where a panel stands after some replies: what weighs most, by how many seats it leads, and how likely it is right."""

    leader: str | None
    lead: int
    posterior: float


STOPS: Final[dict[str, Callable[[Stand], bool]]] = {
    f"lead of {LEAD}": lambda stand: stand.lead >= LEAD,
    f"posterior of {SURE:.2f}": lambda stand: stand.posterior >= SURE,
    "either": lambda stand: stand.lead >= LEAD or stand.posterior >= SURE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptivePanel:
    """How often a panel is right, against all asked; how many replies it takes per case, and how many all would be."""

    rule: str
    accuracy: float
    against: Paired
    replies: float
    asked: float

    @property
    def saved(self) -> float:
        return 1 - self.replies / self.asked


def hold_panels(recording: Recording) -> tuple[AdaptivePanel, ...]:
    """Both orders with each rule for stopping, over the blind round."""
    orders: dict[str, Order] = {
        "order by chance": _order_by_chance,
        "order by trust": _order_by_trust,
    }
    return tuple(
        panel for name, order in orders.items() for panel in _hold_in_order(recording, name, order)
    )


def _hold_in_order(recording: Recording, name: str, order: Order) -> list[AdaptivePanel]:
    stands: dict[str, list[Stand]] = {}
    for known, scored in folds(recording.cases):
        accurate = learned(known).accuracy_of
        for case in scored:
            seats = order(case, accurate)
            prefixes = [
                {seat: case.blind[seat] for seat in seats[:count]}
                for count in range(1, len(seats) + 1)
            ]
            stands[case.id] = [
                _find_stand(votes, recording, accurate, case.category) for votes in prefixes
            ]
    truths = {case.id: case.truth for case in recording.cases}
    baseline = {case: each[-1].leader == truths[case] for case, each in stands.items()}
    found = []
    for rule, stops in STOPS.items():
        ends = {
            case: next((at for at, stand in enumerate(each) if stops(stand)), len(each) - 1)
            for case, each in stands.items()
        }
        right = {case: stands[case][at].leader == truths[case] for case, at in ends.items()}
        found.append(
            AdaptivePanel(
                rule=f"{name}, {rule}",
                accuracy=accuracy(right),
                against=paired(right, baseline),
                replies=sum(at + 1 for at in ends.values()) / len(ends),
                asked=sum(len(each) for each in stands.values()) / len(ends),
            )
        )
    return found


def _find_stand(votes: Votes, recording: Recording, accurate: Trust, category: str) -> Stand:
    leader = find_leader(score_options(votes, recording, accurate, category))
    posterior = 0.0
    if leader is not None:
        answers = list_answers(votes, recording, accurate, category)
        posterior = forecast_by_agreement(answers, leader, recording.options)
    return Stand(leader=leader, lead=_count_lead(votes), posterior=posterior)


def _order_by_chance(case: Case, _accurate: Trust) -> list[str]:
    return own_order(case)


def _order_by_trust(case: Case, accurate: Trust) -> list[str]:
    # Sorted stably over the order of chance: equals are not always asked in the same order.
    return sorted(own_order(case), key=lambda seat: -accurate(seat, case.category))


def _count_lead(votes: Votes) -> int:
    """How many more seats chose the most frequent option than the next."""
    counts = [
        number
        for _, number in Counter(
            choice for choice in votes.values() if choice is not None
        ).most_common(2)
    ]
    return counts[0] - (counts[1] if len(counts) > 1 else 0) if counts else 0
