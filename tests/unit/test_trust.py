"""Source trust from reviewed forecasts (D-14), and whether forecasts come true."""

import math

import pytest
from bench.decisions.calibration import (
    ReliabilityBin,
    build_reliability_table,
    compute_brier_score,
    compute_calibration_gap,
)
from hypothesis import given
from hypothesis import strategies as st

from moothall.scoring.trust import (
    TrackRecord,
    compute_brier,
    compute_category_trust,
    compute_forecast,
    compute_trust,
)

UNIT = st.floats(0, 1)
SCORES = st.lists(UNIT, max_size=30)


def record(scores: list[float]) -> TrackRecord:
    found = TrackRecord()
    for score in scores:
        found = found.plus(score)
    return found


def test_a_new_source_has_neutral_trust() -> None:
    assert compute_trust(TrackRecord()) == 0.5
    assert compute_category_trust(TrackRecord(), TrackRecord()) == 0.5


def test_a_source_that_always_says_one_half_stays_neutral() -> None:
    assert compute_trust(record([compute_brier(0.5, 1.0)] * 40)) == pytest.approx(0.5)


def test_being_sure_and_right_earns_trust_and_being_sure_and_wrong_loses_it() -> None:
    right, wrong = record([compute_brier(0.9, 1.0)] * 20), record([compute_brier(0.9, 0.0)] * 20)
    assert compute_trust(wrong) < 0.5 < compute_trust(right)


def test_a_long_record_outgrows_the_prior() -> None:
    assert compute_trust(record([0.01] * 10_000)) == pytest.approx(0.9, abs=0.01)


def test_a_category_without_cases_has_a_little_of_the_trust_earned_elsewhere() -> None:
    overall = record([0.04] * 30)
    # What was done elsewhere counts as three cases at most, however many they were.
    assert compute_category_trust(TrackRecord(), overall) == pytest.approx(
        1 - math.sqrt((3 * 0.04 + 10 * 0.25) / 13)
    )
    assert 0.5 < compute_category_trust(TrackRecord(), overall) < compute_trust(overall)


def test_a_category_that_goes_badly_lowers_trust_there_alone() -> None:
    overall = record([0.04] * 30)
    assert compute_category_trust(record([0.81] * 5), overall) < compute_trust(overall)


def test_a_record_counts_its_cases_and_sums_their_scores() -> None:
    assert record([0.25, 0.5]) == TrackRecord(cases=2, brier_sum=0.75)


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        ("support", 0.8),
        ("oppose", 0.2),
        ("conditional_support", 0.8),
        ("abstain", None),
        (None, None),
    ],
)
def test_a_vote_forecasts_its_motion(position: str | None, expected: float | None) -> None:
    match position:
        case "support" | "oppose" | "conditional_support" | "abstain" | None:
            assert compute_forecast(position, 0.8) == (
                None if expected is None else pytest.approx(expected)
            )
        case _:
            raise AssertionError(position)


@given(UNIT, st.floats(0.01, 0.99))
def test_saying_what_one_believes_scores_best(said: float, believed: float) -> None:
    def expected(forecast: float) -> float:
        return believed * compute_brier(forecast, 1.0) + (1 - believed) * compute_brier(
            forecast, 0.0
        )

    assert expected(believed) <= expected(said) + 1e-12


@given(SCORES, UNIT, UNIT)
def test_a_better_score_never_lowers_trust(scores: list[float], one: float, two: float) -> None:
    better, worse = sorted((one, two))
    assert compute_trust(record(scores).plus(better)) >= compute_trust(record(scores).plus(worse))


@given(SCORES, SCORES)
def test_trust_stays_between_nought_and_one(scores: list[float], others: list[float]) -> None:
    assert 0 <= compute_category_trust(record(scores), record(others)) <= 1


def test_the_reliability_table_leaves_out_empty_bins_and_keeps_certainty_in_the_last() -> None:
    assert build_reliability_table([(0.25, True), (0.75, False), (1.0, True)], bins=2) == (
        ReliabilityBin(low=0.0, high=0.5, cases=1, stated=0.25, true=1.0),
        ReliabilityBin(low=0.5, high=1.0, cases=2, stated=0.875, true=0.5),
    )


def test_the_gap_is_the_mean_miss_over_the_bins() -> None:
    assert compute_calibration_gap(
        build_reliability_table([(0.25, True), (0.75, False), (1.0, True)], bins=2)
    ) == pytest.approx(0.5)


def test_without_forecasts_there_is_no_score() -> None:
    assert (compute_brier_score([]), compute_calibration_gap(())) == (None, None)


def test_the_brier_score_is_the_mean_over_the_forecasts() -> None:
    assert compute_brier_score([(1.0, True), (0.5, False)]) == pytest.approx(0.125)
