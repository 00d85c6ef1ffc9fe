"""How likely what was decided is right, by what the seats answered before they read each other (D-12)."""

import itertools
import math
from collections.abc import Sequence

import numpy
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import ErrorCorrelation, Topic
from moothall.scoring.independence import pool_agreeing
from moothall.scoring.posterior import BlindEvidence, find_agreement, weigh_blind_answers

FOUR = Topic(options=("A", "B", "C", "D"))


def weigh(choices: str, subject: Topic = FOUR, **more: float | str) -> BlindEvidence:
    """Seats of one model that answered these letters."""
    seats = [Seat(id=SeatId(f"s{n}"), platform="openai:gpt-5", **more) for n in range(len(choices))]  # type: ignore[arg-type]  # by their names
    found = weigh_blind_answers(
        seats,
        {seat.id: (choice, None) for seat, choice in zip(seats, choices, strict=True)},
        subject,
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("blind", "decided", "confidence"),
    [("ABCDD", "C", 0.21), ("DAAAA", "D", 0.24), ("AAAAA", "A", 0.85)],
)
def test_debates_that_said_95_say_what_the_blind_answers_are_worth(
    blind: str, decided: str, confidence: float
) -> None:
    """D-12: five seats of one model, four options; all had voted for the decision at .95."""
    found = weigh(blind).find_confidence(decided)
    assert found is not None
    assert round(found, 2) == confidence


def test_what_an_unknown_seat_states_counts_nothing() -> None:
    """D-12: .95 of a model without a reviewed case."""
    seats = [Seat(id=SeatId(name), platform="human") for name in "ab"]
    said, silent = (
        weigh_blind_answers(seats, {seats[0].id: ("A", stated), seats[1].id: ("B", None)}, FOUR)
        for stated in (0.95, None)
    )
    assert said == silent


@pytest.mark.parametrize(("cases", "share"), [(10, 0.5), (90, 0.9)])
def test_a_statement_counts_by_the_reviewed_cases_behind_it(cases: float, share: float) -> None:
    """D-12: n / (n + 10), the presumption, that it is as sure as .85, the rest."""
    seat = Seat(id=SeatId("a"), platform="human", cases=cases)
    found = weigh_blind_answers([seat], {seat.id: ("A", 0.9)}, FOUR)
    assert found is not None
    presumed, stated = math.log(0.65 * 3 / 0.35), math.log(0.9 * 3 / 0.1)
    factor = 1 - share + share * stated / math.log(0.85 * 3 / 0.15)
    assert found.scores["a"] == pytest.approx(presumed * factor)


def test_a_record_counts_as_it_is_among_options_and_skill_is_enough_among_open_answers() -> None:
    """D-12: being right in a quarter of open questions is no ignorance; being right by chance is."""
    assert weigh("AA", accuracy=0.4).scores["a"] < weigh("AA").scores["a"]
    ordinary = weigh("AA", Topic()).scores["a"]
    for accuracy in (0.25, 0.4, 0.65):
        assert weigh("AA", Topic(), accuracy=accuracy).scores["a"] == pytest.approx(ordinary)
    assert weigh("AA", Topic(), accuracy=0.8).scores["a"] > ordinary
    assert 0 < weigh("AA", Topic(), accuracy=0.1).scores["a"] < ordinary
    assert weigh("AA", Topic(), accuracy=0.05).scores["a"] == pytest.approx(0)


def test_the_more_open_answers_there_are_the_more_there_could_have_been() -> None:
    """D-12: twenty, and forty more for every further answer."""
    evidence = weigh("AABC", Topic())
    scores = [math.exp(each) for each in evidence.scores.values()]
    chance = scores[0] / (math.fsum(scores) + 100 - 3)
    assert evidence.find_confidence("A") == pytest.approx(chance)


def test_yes_and_no_are_two_options() -> None:
    seats = [Seat(id=SeatId(name), platform="human") for name in "abc"]
    for yes, no in (("Yes.", "no"), ("是", "否")):
        found = weigh_blind_answers(
            seats,
            dict(zip([s.id for s in seats], [(yes, None), (yes, None), (no, None)], strict=True)),
            Topic(),
        )
        assert found is not None
        assert found.options == 2


@pytest.mark.parametrize(("choices", "decided"), [("A", "A"), ("AA", ""), ("AA", "?")])
def test_there_is_no_figure_for_one_answer_or_for_words_without_a_choice(
    choices: str, decided: str
) -> None:
    """D-12: one voice is not a group's."""
    assert weigh(choices).find_confidence(decided) is None


def test_without_a_choice_there_is_no_evidence() -> None:
    seat = Seat(id=SeatId("a"), platform="human")
    assert weigh_blind_answers([seat], {seat.id: (" ", 0.9)}, FOUR) is None


@pytest.mark.parametrize(
    ("choices", "leader", "majority"),
    [("AAB", "a", "a"), ("AB", None, None), ("AABBC", None, None), ("AABC", "a", None)],
)
def test_who_leads_and_what_most_answered(
    choices: str, leader: str | None, majority: str | None
) -> None:
    found = weigh(choices)
    assert (found.leader, found.majority) == (leader, majority)


@pytest.mark.parametrize(
    ("choice", "agreement"),
    [("Postgres", "blind"), ("SQLite", "after_reading"), ("", "after_reading")],
)
def test_agreement_before_reading_is_told_from_agreement_after_it(
    choice: str, agreement: str
) -> None:
    """D-26"""
    blind = {SeatId("a"): "postgres", SeatId("b"): "Postgres."}
    assert find_agreement(choice, blind, blind) == agreement
    assert find_agreement(choice, [SeatId("c"), *blind], blind) == "after_reading"


Drawn = tuple[str, str, float, float, float | None, float]
"""An answer: its choice, platform, bias weight, accuracy, statement and reviewed cases."""

_SEATS = st.lists(
    st.tuples(
        st.sampled_from("ABCDE"),
        st.sampled_from(("openai:gpt-5", "anthropic:claude-5", "human")),
        st.floats(0.2, 3),
        st.floats(0.05, 0.98),
        st.none() | st.floats(0, 1),
        st.sampled_from((0.0, 3.0, 40.0)),
    ),
    min_size=1,
    max_size=9,
)


def weigh_again(drawn: Drawn, options: int | None) -> float:
    """What one answer weighs, written out."""
    _, _, _, accuracy, stated, cases = drawn
    k = options or 20

    def log_odds(share: float) -> float:
        return max(0.0, math.log(share * (k - 1) / (1 - share))) if share > 0 else 0.0

    record = log_odds(min(accuracy, 0.99))
    if options is None and accuracy < 0.65:
        record = log_odds(0.65) * min(1.0, record / log_odds(0.25))
    if stated is None:
        return record
    kappa = cases / (cases + 10)
    return record * ((1 - kappa) + kappa * log_odds(min(stated, 0.95)) / log_odds(0.85))


def count_voices_again(families: Sequence[str]) -> float:
    """The independent voices by the formula for families: Σ m / (ρ₁ + m · ρ₂), pooled over the families by ρ₂."""
    sizes = [families.count(family) for family in set(families)]
    # R is block-diagonal plus 0.2 everywhere: with 0.5 within a family, 0.5 · I + 0.3 · J within a block.
    apart = sum(size / (0.5 + 0.3 * size) for size in sizes)
    return apart / (1 + 0.2 * apart)


def compute_again(drawn: Sequence[Drawn], options: int | None) -> dict[str, float]:
    """The same by another way: the integral over the steps of weight, and the voices of families by a formula."""
    groups: dict[str, list[tuple[float, str]]] = {}
    for number, each in enumerate(drawn):
        family = each[1] if each[1] != "human" else f"human {number}"
        groups.setdefault(each[0].lower(), []).append((weigh_again(each, options), family))
    sums: dict[str, float] = {}
    for choice, group in groups.items():
        total, below = 0.0, 0.0
        for step in sorted({weight for weight, _ in group}):
            reaching = [family for weight, family in group if weight >= step]
            total += (step - below) * count_voices_again(reaching)
            below = step
        sums[choice] = total
    k = options or 20 + 40 * (len(sums) - 1)
    whole = sum(math.exp(value) for value in sums.values()) + max(k - len(sums), 0)
    return {choice: min(math.exp(value) / whole, 0.99) for choice, value in sums.items()}


@given(_SEATS, st.sampled_from((None, 2, 4, 7)))
def test_a_second_implementation_comes_to_the_same(drawn: list[Drawn], options: int | None) -> None:
    """D-12, Q-11: random groups, to twelve digits."""
    seats = [
        Seat(id=SeatId(f"s{n}"), platform=platform, weight=weight, accuracy=accuracy, cases=cases)
        for n, (_, platform, weight, accuracy, _, cases) in enumerate(drawn)
    ]
    answers = {
        seat.id: (choice, stated)
        for seat, (choice, _, _, _, stated, _) in zip(seats, drawn, strict=True)
    }
    found = weigh_blind_answers(
        seats, answers, Topic(options=tuple(f"o{n}" for n in range(options or 0)))
    )
    assert found is not None
    for choice, confidence in compute_again(drawn, options).items():
        assert found.compute_posterior(choice) == pytest.approx(confidence, abs=1e-12)


@given(st.integers(2, 6), st.data())
def test_voices_are_counted_by_the_best_shares_whatever_was_observed(
    count: int, data: st.DataObject
) -> None:
    """Q-11: against a search over all subsets, where the observed correlations fit together."""
    rows = numpy.eye(count)
    for one in range(count):
        for other in range(one):
            rows[one, other] = rows[other, one] = data.draw(st.floats(0, 0.9))
    assume(numpy.linalg.eigvalsh(rows)[0] > 0.06)
    best = 0.0
    for size in range(1, count + 1):
        for places in itertools.combinations(range(count), size):
            shares = numpy.linalg.solve(rows[numpy.ix_(places, places)], numpy.ones(size))
            if shares.min() >= 0:
                best = max(best, float(shares.sum()))
    assert pool_agreeing([1.0] * count, lambda i, j: rows[i, j]) == pytest.approx(best, abs=1e-9)


def test_shared_records_replace_the_presumed_correlation() -> None:
    """D-20"""
    bond = ErrorCorrelation(one=SeatId("s0"), other=SeatId("s1"), correlation=0.0)
    apart = weigh("AA", Topic(options=FOUR.options, error_correlations=(bond,)))
    assert apart.scores["a"] == pytest.approx(2 * math.log(0.65 * 3 / 0.35))


@pytest.mark.parametrize(("options", "count"), [(2, 5), (4, 3), (None, 4)])
@pytest.mark.parametrize("accuracy", [None, 0.55, 0.8])
def test_one_mind_says_at_most_what_its_record_says(
    options: int | None, count: int, accuracy: float | None
) -> None:
    """Q-11: five seats of one function were .961; asking it again is no second answer."""
    seats = [
        Seat(id=SeatId(f"s{n}"), platform="python:call_my_llm", accuracy=accuracy)
        for n in range(count)
    ]
    subject = Topic(options=tuple(f"o{n}" for n in range(options or 0)))
    found = weigh_blind_answers(seats, {seat.id: ("o1", None) for seat in seats}, subject)
    assert found is not None
    # In open questions an ordinary skill is presumed.
    record = max(accuracy or 0.65, 0.65) if options is None else accuracy or 0.65
    assert found.find_confidence("o1") == pytest.approx(record)


def test_a_second_mind_that_agrees_lifts_the_cap() -> None:
    """Q-11"""
    seats = [Seat(id=SeatId(f"s{n}"), platform="command:./ask") for n in range(4)]
    seats.append(Seat(id=SeatId("eve"), platform="human"))
    found = weigh_blind_answers(seats, {seat.id: ("A", None) for seat in seats}, FOUR)
    assert found is not None
    chance = found.find_confidence("A")
    assert chance is not None
    assert chance > 0.8
