"""Q-12: pools of forecasts, against a second implementation, and how forecasts and estimates are scored."""

import math
import random
from typing import Final

import pytest

from moothall.domain.frame import find_unit, format_number, read_plain_number
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.scoring.estimates import (
    MIN_CASES,
    compute_chance,
    compute_log_odds,
    fit_extremity,
    measure_relative_error,
    pool_forecasts,
    score_brier,
    score_forecasts,
    score_log,
    score_numbers,
    summarize_numbers,
)

PLATFORMS: Final = ("openai:gpt-5", "anthropic:claude-5", "human", "python:call_my_llm")


def draw_seats(rng: random.Random) -> list[Seat]:
    return [
        Seat(
            id=SeatId(f"s{number}"),
            platform=rng.choice(PLATFORMS),
            weight=rng.choice((1.0, 5.0)),
            accuracy=rng.choice((None, 0.5, 0.6, 0.9)),
        )
        for number in range(rng.randint(1, 7))
    ]


def pool_again(seats: list[Seat], chances: dict[SeatId, float], factor: float) -> float:
    """Return the pool by plain sums: one family errs together by a half, one program wholly, others by .2."""
    top = bottom = 0.0
    for seat in seats:
        shared = 0.0
        for other in seats:
            if other is seat:
                shared += 1.0
            elif other.platform == seat.platform and seat.platform != "human":
                shared += 1.0 if seat.platform.startswith("python") else 0.5
            else:
                shared += 0.2
        accuracy = min(0.65 if seat.accuracy is None else seat.accuracy, 0.99)
        weight = max(0.0, math.log(accuracy / (1 - accuracy))) / shared
        share = min(max(chances[seat.id], 0.01), 0.99)
        top += weight * (math.log(share) - math.log(1 - share))
        bottom += weight
    if bottom == 0:
        odds = [math.log(chances[s.id]) - math.log(1 - chances[s.id]) for s in seats]
        top, bottom = sum(odds), len(seats)
    most = math.log(0.99) - math.log(0.01)
    pooled = min(max(factor * top / bottom, -most), most)
    return math.exp(pooled) / (1 + math.exp(pooled))


def test_two_implementations_of_the_pool_agree() -> None:
    """Q-12: 2,000 tables, to 1e-12."""
    rng = random.Random(12)
    for _ in range(2_000):
        seats = draw_seats(rng)
        chances = {seat.id: rng.uniform(0.02, 0.98) for seat in seats}
        factor = rng.choice((1.0, 1.0, rng.uniform(1, 2.5)))
        pooled = pool_forecasts(seats, chances, (), factor)
        assert pooled is not None
        assert pooled.chance == pytest.approx(pool_again(seats, chances, factor), abs=1e-12)


def test_a_bias_weight_says_nothing_of_a_chance_and_one_program_counts_once() -> None:
    chances = {SeatId("a"): 0.9, SeatId("b"): 0.9, SeatId("c"): 0.2}
    one = [Seat(id=seat, platform="python:f" if seat != "c" else "human") for seat in chances]
    heavy = [Seat(id=seat.id, platform=seat.platform, weight=9.0) for seat in one]
    pooled = pool_forecasts(one, chances)
    assert pooled == pool_forecasts(heavy, chances)
    several = [Seat(id=seat, platform="human") for seat in chances]
    apart = pool_forecasts(several, chances)
    assert pooled is not None
    assert apart is not None
    assert pooled.chance < apart.chance


def test_the_pool_is_drawn_only_as_far_as_reviewed_cases_show() -> None:
    """Q-12"""
    assert fit_extremity([]) == 1.0
    assert fit_extremity([(0.7, True)] * (MIN_CASES - 1)) == 1.0
    assert fit_extremity([(0.7, True)] * 7 + [(0.7, False)] * 3) == 1.0
    assert fit_extremity([(0.9, False)] * 20) == 1.0
    few, many = fit_extremity([(0.7, True)] * 10), fit_extremity([(0.7, True)] * 100)
    assert 1.0 < few < many <= 2.5
    assert compute_chance(1e9) == pytest.approx(0.99)
    assert compute_log_odds(0.0) == pytest.approx(-compute_log_odds(1.0))


def test_scores_are_those_of_the_books() -> None:
    assert score_brier(0.8, happened=True) == pytest.approx(0.04)
    assert score_log(0.5, happened=False) == pytest.approx(math.log(0.5))
    scores = score_forecasts([(0.8, True), (0.4, False)])
    assert scores is not None
    assert (scores.cases, scores.brier) == (2, 0.1)
    numbers = score_numbers([(12, 8, 20, 16), (10, 9, 11, 20), (5, 4, 6, 5)])
    assert numbers is not None
    assert (numbers.cases, numbers.within, numbers.error) == (3, 2, 0.25)
    assert measure_relative_error(0, 0) == 0
    assert score_forecasts([]) is None
    assert score_numbers([]) is None


def test_a_median_needs_numbers() -> None:
    assert summarize_numbers([]) is None
    number = summarize_numbers([3.0, 1.0, 2.0, 10.0], "days")
    assert number is not None
    assert (number.median, number.low, number.high) == (2.5, 1.0, 10.0)


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("How many desks do we need?", "desks"),
        ("Timeout of the payment call, in seconds?", "seconds"),
        ("What percentage of users churns?", "%"),
        ("需要多少天？", "天"),
        ("百分之几的用户会流失？", "%"),
        ("What should a seat cost?", ""),
    ],
)
def test_a_unit_is_what_the_question_says(question: str, unit: str) -> None:
    assert find_unit(question) == unit


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [("16 days", "days", 16.0), ("1,500", "", 1500.0), ("soon", "", None), ("nan", "", None)],
)
def test_an_outcome_is_a_number_or_nothing(text: str, unit: str, number: float | None) -> None:
    assert read_plain_number(text, unit) == number
    if number is not None:
        assert read_plain_number(format_number(number, unit), unit) == number
