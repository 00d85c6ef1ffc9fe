"""How likely what was decided is right, by what the seats answered before they read each other (D-12)."""

import math
from collections.abc import Sequence

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import ErrorCorrelation, Topic
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
    [("ABCDD", "C", 0.21), ("DAAAA", "D", 0.13), ("AAAAA", "A", 0.85)],
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
    """D-12: n / (n + 10), the presumption the rest."""
    seat = Seat(id=SeatId("a"), platform="human", cases=cases)
    found = weigh_blind_answers([seat], {seat.id: ("A", 0.9)}, FOUR)
    assert found is not None
    presumed, stated = math.log(0.65 * 3 / 0.35), math.log(0.9 * 3 / 0.1)
    assert found.scores["a"] == pytest.approx((1 - share) * presumed + share * stated)


def test_a_record_counts_as_it_is_among_options_and_as_a_ratio_among_open_answers() -> None:
    """D-12: being right in 40 % of open questions is no ignorance."""
    assert weigh("AA", accuracy=0.4).scores["a"] < weigh("AA").scores["a"]
    assert weigh("AA", Topic(), accuracy=0.4).scores == pytest.approx(weigh("AA", Topic()).scores)


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


def compute_again(
    drawn: Sequence[tuple[str, str, float, float, float | None, float]], options: int | None
) -> dict[str, float]:
    """The same by another way: R is solved by a library, and every sum is written out."""
    families = [
        platform if platform != "human" else f"human {n}"
        for n, (_, platform, *_) in enumerate(drawn)
    ]
    correlations = numpy.array(
        [
            [1.0 if i == j else 0.5 if a == b else 0.25 for j, b in enumerate(families)]
            for i, a in enumerate(families)
        ]
    )
    worths = numpy.linalg.solve(correlations, numpy.ones(len(drawn)))
    k = options or 20
    records = numpy.array(
        [max(0.0, math.log(min(a, 0.99) * (k - 1) / (1 - min(a, 0.99)))) for *_, a, _, _ in drawn]
    )
    if options is None and records.mean() > 0:
        records = records / records.mean() * math.log(0.65 * (k - 1) / 0.35)
    biases = numpy.array([weight for _, _, weight, *_ in drawn])
    sources = biases / biases.max() * records * worths
    sums = {choice.lower(): 0.0 for choice, *_ in drawn}
    for (choice, _, _, _, stated, cases), source in zip(drawn, sources, strict=True):
        kappa = cases / (cases + 10) if stated is not None and sources.sum() > 0 else 0.0
        odds = min(stated or 0.0, 0.95) * (k - 1) / (1 - min(stated or 0.0, 0.95))
        said = math.log(odds) if odds > 1 else 0.0
        sums[choice.lower()] += (1 - kappa) * source + (
            kappa * said * source / sources.sum() if kappa else 0.0
        )
    total = sum(math.exp(value) for value in sums.values()) + max(k - len(sums), 0)
    return {choice: min(math.exp(value) / total, 0.99) for choice, value in sums.items()}


@given(_SEATS, st.sampled_from((None, 2, 4, 7)))
def test_a_second_implementation_comes_to_the_same(
    drawn: list[tuple[str, str, float, float, float | None, float]], options: int | None
) -> None:
    """D-12: random groups, to twelve digits."""
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


@given(_SEATS, st.sampled_from((None, 4)), st.sampled_from("ABC"))
def test_one_more_that_answered_so_never_makes_it_less_likely(
    drawn: list[tuple[str, str, float, float, float | None, float]],
    options: int | None,
    decided: str,
) -> None:
    """D-12: seats without a record, whatever their families and their words."""
    seats = [
        Seat(id=SeatId(f"s{n}"), platform=platform) for n, (_, platform, *_) in enumerate(drawn)
    ]
    answers = {
        seat.id: (choice, stated)
        for seat, (choice, _, _, _, stated, _) in zip(seats, drawn, strict=True)
    }
    subject = Topic(options=tuple("ABCD"[: options or 0]))
    before = weigh_blind_answers(seats, answers, subject)
    more = Seat(id=SeatId("more"), platform="human")
    after = weigh_blind_answers([*seats, more], {**answers, more.id: (decided, 0.1)}, subject)
    assert before is not None
    assert after is not None
    assert (
        after.compute_posterior(decided.lower())
        >= before.compute_posterior(decided.lower()) - 1e-12
    )


def test_shared_records_replace_the_presumed_correlation() -> None:
    """D-20"""
    bond = ErrorCorrelation(one=SeatId("s0"), other=SeatId("s1"), correlation=0.0)
    apart = weigh("AA", Topic(options=FOUR.options, error_correlations=(bond,)))
    assert apart.scores["a"] == pytest.approx(2 * math.log(0.65 * 3 / 0.35))
