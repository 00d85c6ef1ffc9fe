"""What a debate decides and how sure of it one may be: votes after reading, blind answers, and both (D-12, D-24).

Only recordings in which the seats answered again after reading each other; one that did not answer again keeps its answer.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench.decisions.blind_rules import (
    TableAnswer,
    forecast_by_agreement,
    forecast_by_whole_table,
)
from bench.decisions.calibration import (
    build_reliability_table,
    compute_brier_score,
    compute_calibration_gap,
)
from bench.decisions.confidences import Pairs, list_chosen
from bench.decisions.data import Case, Recording, Votes
from bench.decisions.differences import Estimate, compare_brier, estimate_mean
from bench.decisions.earlier import average_stated
from bench.decisions.tallies import folds
from moothall.scoring.posterior import OPEN_OPTIONS
from moothall.scoring.resolution import SeatVote

STATED: Final = 0.9
"""What every seat is made to state where the rule before counted it."""

Choose = Callable[[Case], str | None]
Forecast = Callable[[Sequence[TableAnswer], str, int], float]


def find_latest(case: Case) -> Votes:
    """The last answer of each seat."""
    found: dict[str, str | None] = {}
    for votes in case.rounds:
        found |= {seat: choice for seat, choice in votes.items() if choice is not None}
    return found


def is_debated(case: Case) -> bool:
    """Whether anybody answered again."""
    return len(case.rounds) > 1 and any(case.rounds[1:])


def choose_blind(case: Case) -> str | None:
    """The choice of most blind answers."""
    return _choose(Counter(_list(case.blind)), Counter())


def choose_by_votes(case: Case) -> str | None:
    """The rule now: most votes after reading; ties go to blind support."""
    return _choose(Counter(_list(find_latest(case))), Counter(_list(case.blind)))


def choose_by_ties(case: Case) -> str | None:
    """Most blind answers; the votes after reading break ties only."""
    return _choose(Counter(_list(case.blind)), Counter(_list(find_latest(case))))


def weigh_both(share: float) -> Choose:
    """Blind answers, and this share of a vote for each vote after reading."""

    def choose(case: Case) -> str | None:
        sums = {choice: float(count) for choice, count in Counter(_list(case.blind)).items()}
        for choice in _list(find_latest(case)):
            sums[choice] = sums.get(choice, 0.0) + share
        return _choose(sums, Counter(_list(find_latest(case))))

    return choose


CHOICES: Final[dict[str, Choose]] = {
    "blind plurality": choose_blind,
    "votes, ties by blind (the rule now)": choose_by_votes,
    "blind + ¼ vote": weigh_both(0.25),
    "blind + ½ vote (choose = both)": weigh_both(0.5),
    "blind + 1 vote": weigh_both(1.0),
    "blind, ties by votes": choose_by_ties,
}


def _list(votes: Votes) -> list[str]:
    return [choice for choice in votes.values() if choice is not None]


def _choose(counts: "Counter[str] | dict[str, float]", ties: "Counter[str]") -> str | None:
    # `max` keeps the first of equals: the one that was named first.
    return max(
        counts, key=lambda choice: (round(counts[choice], 9), ties.get(choice, 0)), default=None
    )


def forecast_blind(
    case: Case, recording: Recording, choice: str | None, forecast: Forecast
) -> float:
    """The posterior of what was decided by the blind answers, by seats without a record."""
    answers = [
        TableAnswer(choice=answer, family=recording.families[seat])
        for seat, answer in case.blind.items()
        if answer is not None
    ]
    return forecast(answers, str(choice), recording.options)


def forecast_votes(
    case: Case, recording: Recording, choice: str | None, stated: float | None
) -> float:
    """The rule before: the votes after reading on what was decided as evidence; `stated` is what each seat says."""
    votes = [
        SeatVote(
            seat=seat,
            position="support" if answer == choice else "oppose",
            confidence=stated or 0.0,
            stated=stated is not None,
            family=recording.families[seat],
        )
        for seat, answer in find_latest(case).items()
        if answer is not None
    ]
    return average_stated(votes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One way of being sure, over some cases."""

    name: str
    right: Estimate
    brier: float
    against: Estimate
    """The Brier score against that of the rule now."""
    gap: float


TABLE: Final = "blind posterior by the whole table (before)"
NOW: Final = "blind posterior (the rule now)"


def forecast_decisions(recording: Recording) -> dict[str, dict[str, tuple[float, bool]]]:
    """What each way says of the decision by votes, by case."""
    ways: dict[str, dict[str, tuple[float, bool]]] = {}
    for known, scored in folds(list_chosen(recording.cases)):
        rate = sum(choose_by_votes(case) == case.truth for case in known) / len(known)
        for case in scored:
            choice = choose_by_votes(case)
            right = choice == case.truth
            blind, latest = _list(case.blind), _list(find_latest(case))
            said = {
                "a constant": rate,
                "votes, nobody states (the rule before)": forecast_votes(
                    case, recording, choice, None
                ),
                f"votes, all state {STATED} (the rule before)": forecast_votes(
                    case, recording, choice, STATED
                ),
                "share of the blind answers": blind.count(str(choice)) / len(blind),
                "share of the votes": latest.count(str(choice)) / len(latest),
                TABLE: forecast_blind(case, recording, choice, forecast_by_whole_table),
                NOW: forecast_blind(case, recording, choice, forecast_by_agreement),
            }
            for name, share in said.items():
                ways.setdefault(name, {})[case.id] = (share, right)
    return ways


def score_ways(
    ways: dict[str, dict[str, tuple[float, bool]]], cases: Sequence[Case]
) -> list[Scored]:
    """The ways on these cases, the rule now last."""
    ours: Pairs = [ways[NOW][case.id] for case in cases]
    found = []
    for name, by_case in ways.items():
        pairs: Pairs = [by_case[case.id] for case in cases]
        brier, gap = (
            compute_brier_score(pairs),
            compute_calibration_gap(build_reliability_table(pairs)),
        )
        assert brier is not None
        assert gap is not None
        right = estimate_mean([float(right) for _, right in pairs])
        found.append(
            Scored(name=name, right=right, brier=brier, against=compare_brier(pairs, ours), gap=gap)
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """When a debate is held: the share of cases, how often the decision is right, and what it costs."""

    name: str
    debated: float
    right: Estimate
    replies: float


def measure_gates(recording: Recording) -> list[Gate]:
    """Debate always, never, and where the blind lead is small (`debate = auto`)."""
    # Measured on these files: below 2 with named options, at 0 with open answers.
    most = 0 if recording.options == OPEN_OPTIONS else 1
    gates: dict[str, Callable[[Case], bool]] = {
        "always": lambda _case: True,
        "auto": lambda case: _count_lead(case) <= most,
        "never": lambda _case: False,
    }
    found = []
    cases = list_chosen(recording.cases)
    for name, is_open in gates.items():
        held = [is_debated(case) and is_open(case) for case in cases]
        rights = [
            float((choose_by_votes(case) if debated else choose_blind(case)) == case.truth)
            for case, debated in zip(cases, held, strict=True)
        ]
        replies = [
            len(case.blind) + (sum(len(votes) for votes in case.rounds[1:]) if debated else 0)
            for case, debated in zip(cases, held, strict=True)
        ]
        found.append(
            Gate(
                name=name,
                debated=sum(held) / len(cases),
                right=estimate_mean(rights),
                replies=sum(replies) / len(cases),
            )
        )
    return found


def _count_lead(case: Case) -> int:
    counts = [count for _, count in Counter(_list(case.blind)).most_common(2)]
    return counts[0] - counts[1] if len(counts) > 1 else counts[0]
