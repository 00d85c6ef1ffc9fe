"""What stopping early costs and saves, and what a quorum is worth before and after the seats read each other (D-19)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.decisions.data import Case, Recording
from bench.decisions.tallies import debated, own_order, plurality

Way = Callable[[Case], tuple[str | None, int]]
"""What is decided, and how many replies it took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A way of stopping: how often it is right, and how many replies it takes per case."""

    rule: str
    accuracy: float
    replies: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Quorums:
    """Cases in which enough seats agreed, and how many of those agreed on what is wrong."""

    formed: int
    wrong: int


def stops(recording: Recording) -> tuple[Stop, ...]:
    """The ways of stopping, from the dearest to the cheapest."""
    ways: dict[str, Way] = {
        "debate always": _debate,
        "stop if the first three agree blind, else debate": lambda case: _stop_if_agreed(case, 3),
        "stop if the first two agree blind, else debate": lambda case: _stop_if_agreed(case, 2),
        "blind round only": _blind_only,
        "blind, the first two that agree decide": _first_two,
    }
    found = []
    for rule, way in ways.items():
        outcomes = [way(case) for case in recording.cases]
        right = sum(
            choice == case.truth
            for (choice, _), case in zip(outcomes, recording.cases, strict=True)
        )
        replies = sum(count for _, count in outcomes)
        count = len(recording.cases)
        found.append(Stop(rule=rule, accuracy=right / count, replies=replies / count))
    return tuple(found)


def quorums(recording: Recording, *, blind: bool) -> Quorums:
    """Quorums among the blind, or those that only formed after reading."""
    formed = wrong = 0
    for case in recording.cases:
        at_first = _agreed(list(case.blind.values()), recording.quorum)
        later = None if at_first else _agreed(list(case.rounds[-1].values()), recording.quorum)
        choice = at_first if blind else later
        formed += choice is not None
        wrong += choice is not None and choice != case.truth
    return Quorums(formed=formed, wrong=wrong)


def _debate(case: Case) -> tuple[str | None, int]:
    return debated(case), sum(len(votes) for votes in case.rounds)


def _blind_only(case: Case) -> tuple[str | None, int]:
    return plurality(case.blind), len(case.blind)


def _stop_if_agreed(case: Case, count: int) -> tuple[str | None, int]:
    """Ask some blind seats; if all choose alike, that is it, and otherwise the whole recorded debate is held."""
    asked = [case.blind[seat] for seat in own_order(case)[:count]]
    agree = len(asked) == count and asked[0] is not None and len(set(asked)) == 1
    return (asked[0], count) if agree else _debate(case)


def _first_two(case: Case) -> tuple[str | None, int]:
    """Ask one blind seat after the other, in an order of the case's own, until two agree."""
    order = own_order(case)
    seen: list[str] = []
    for asked, seat in enumerate(order, start=1):
        choice = case.blind[seat]
        if choice is not None and choice in seen:
            return choice, asked
        if choice is not None:
            seen.append(choice)
    return (seen[0] if seen else None), len(order)


def _agreed(choices: Sequence[str | None], quorum: int) -> str | None:
    return next(
        (choice for choice in choices if choice is not None and choices.count(choice) >= quorum),
        None,
    )
