"""The decisions bench's main figures hold (D-12, D-14, D-19, D-20)."""

import pytest
from bench.decisions.confidences import forecasts, mean_effective, measured_correlations
from bench.decisions.data import Recording, recordings
from bench.decisions.stops import quorums, stops
from bench.decisions.tallies import paired, plurality, rights, rights_by_trust

from moot.scoring.calibration import compute_brier_score
from moot.scoring.independence import OTHER_FAMILY, SAME_FAMILY

RECORDINGS = recordings()
EACH = pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.name.split(",")[0])
PERSONAS, SOLVERS, JUDGES = RECORDINGS


@EACH
def test_weighing_by_trust_is_not_below_plurality_by_more_than_two_standard_errors(recording: Recording) -> None:
    baseline = rights(recording.cases, lambda case: plurality(case.blind))
    for by_category in (False, True):
        found = paired(rights_by_trust(recording, by_category=by_category), baseline)
        assert found.difference >= -2 * found.standard_error


@EACH
def test_the_group_confidence_scores_better_than_the_base_rate(recording: Recording) -> None:
    found = forecasts(recording)
    shipped, neutral, base_rate = (compute_brier_score(pairs) for pairs in (found.shipped, found.neutral, found.base_rate))
    assert shipped is not None
    assert neutral is not None
    assert base_rate is not None
    assert max(shipped, neutral) < base_rate - 0.01


def test_seats_of_one_model_are_worth_fewer_than_two_votes() -> None:
    heads, effective = mean_effective(PERSONAS)
    assert effective < 2 < heads


def test_the_presumed_correlations_are_near_the_measured_ones() -> None:
    same, _ = measured_correlations(PERSONAS)
    _, other = measured_correlations(JUDGES)
    assert same == pytest.approx(SAME_FAMILY, abs=0.05)
    assert other == pytest.approx(OTHER_FAMILY, abs=0.05)


def test_stopping_when_two_agree_saves_most_replies_at_little_cost() -> None:
    found = stops(PERSONAS)
    assert found[-1].replies < found[0].replies / 3
    assert found[-1].accuracy > found[0].accuracy - 0.02


def test_a_quorum_formed_after_reading_is_wrong_more_often() -> None:
    for recording in (PERSONAS, SOLVERS):
        before, after = quorums(recording, blind=True), quorums(recording, blind=False)
        assert after.wrong / after.formed > 2 * before.wrong / before.formed
