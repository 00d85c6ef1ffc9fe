"""The decisions bench's main figures hold (D-12, D-14, D-19, D-20)."""

import xml.etree.ElementTree as ET
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from bench.decisions.calibration import (
    build_reliability_table,
    compute_brier_score,
    compute_calibration_gap,
)
from bench.decisions.confidences import list_chosen, mean_effective, measured_correlations
from bench.decisions.data import Recording, recordings
from bench.decisions.debates import forecast_decisions, is_debated, measure_gates, score_ways
from bench.decisions.differences import Estimate, compare_brier, compare_gaps
from bench.decisions.panels import hold_panels
from bench.decisions.picture import draw_calibration
from bench.decisions.report import (
    AFTER,
    BEFORE,
    BEFORE_LEARNED,
    BEFORE_UNKNOWN,
    UNKNOWN,
    Measured,
    list_ways,
    measure,
    report,
)
from bench.decisions.stated import (
    CASES,
    GROUPS,
    KINDS,
    LATENT,
    OURS,
    POOLS,
    WHOLE_TABLE,
    Kind,
    Panel,
    Simulation,
    simulate,
)
from bench.decisions.stops import quorums, stops
from bench.decisions.tallies import (
    LESS,
    paired,
    plurality,
    rights,
    rights_by_log_odds,
    rights_by_trust,
    share_alike,
)

from moothall.scoring.independence import OTHER_FAMILY, SAME_FAMILY

RECORDINGS = recordings()
EACH = pytest.mark.parametrize(
    "number", range(3), ids=[recording.name.split(",")[0] for recording in RECORDINGS]
)
PERSONAS, SOLVERS, JUDGES = RECORDINGS
OTHERWISE_SHARED = {"sum over all, f = 1", f"sum over all, correlations × {LESS}"}
"""Shown beside the rule that ships, for what would come of them."""


simulated = cache(simulate)


@cache
def by_trust(number: int, **ways: Any) -> dict[str, bool]:
    return rights_by_trust(RECORDINGS[number], **ways)


@cache
def by_log_odds(number: int, **ways: Any) -> dict[str, bool]:
    return rights_by_log_odds(RECORDINGS[number], **ways)


@cache
def measured(number: int) -> Measured:
    return measure(RECORDINGS[number])


def against_ours(simulation: Simulation, name: str) -> Estimate:
    return compare_brier(simulation.forecasts[name], simulation.forecasts[OURS], CASES)


@EACH
def test_weighing_by_trust_is_not_below_plurality_by_more_than_two_standard_errors(
    number: int,
) -> None:
    baseline = rights(RECORDINGS[number].cases, lambda case: plurality(case.blind))
    for by_category in (False, True):
        for rule in (by_trust, by_log_odds):
            found = paired(rule(number, by_category=by_category), baseline)
            assert found.difference >= -2 * found.standard_error


@EACH
def test_neither_rule_is_right_more_often_on_these_files(number: int) -> None:
    found = paired(by_log_odds(number), by_trust(number))
    assert abs(found.difference) <= 2 * found.standard_error


@EACH
def test_how_votes_share_what_they_are_worth_decides_little(number: int) -> None:
    found = paired(by_log_odds(number), by_log_odds(number, worths=share_alike))
    assert abs(found.difference) <= 2 * found.standard_error


@EACH
def test_the_group_confidence_of_both_rules_scores_better_than_the_base_rate(number: int) -> None:
    found = list_ways(measured(number))
    scores = {
        name: compute_brier_score(pairs) or 1.0
        for name, pairs in found.items()
        if name not in OTHERWISE_SHARED
    }
    base_rate = scores.pop("always the base rate")
    assert max(scores.values()) < base_rate - 0.01


@pytest.mark.parametrize(("number", "least"), [(0, 2), (1, 2), (2, 0)])
def test_the_posterior_is_better_than_the_constants_on_two_files_and_no_worse_on_the_third(
    number: int, least: int
) -> None:
    found = list_ways(measured(number))
    difference = compare_brier(found[AFTER], found[BEFORE])
    assert difference.value <= -least * difference.error


def test_votes_that_err_together_do_not_count_in_full() -> None:
    for number in (0, 2):
        found = list_ways(measured(number))
        assert compare_brier(found["sum over all, f = 1"], found[AFTER]).value > 0.02


def test_the_gap_is_that_of_the_reliability_table() -> None:
    found = list_ways(measured(2))
    gaps = compare_gaps(found, BEFORE)
    for name, pairs in found.items():
        assert gaps[name].gap.value == pytest.approx(
            compute_calibration_gap(build_reliability_table(pairs))
        )
    assert gaps[BEFORE].against == Estimate(value=0.0, error=0.0)


def test_a_panel_that_asks_in_an_order_of_chance_loses_little_and_saves_replies() -> None:
    for recording, least in ((PERSONAS, 0.2), (SOLVERS, 0.0), (JUDGES, 0.4)):
        found = next(
            panel for panel in hold_panels(recording) if panel.rule == "order by chance, either"
        )
        assert found.against.difference >= -0.005 - found.against.standard_error
        assert found.saved > least


@pytest.mark.parametrize("number", range(3))
def test_the_rule_now_is_no_worse_than_the_one_before_on_recorded_votes(number: int) -> None:
    """Q-11: a rule that more support never lowers costs no more than one standard error on any recording."""
    found = list_ways(measured(number))
    for now, before in ((AFTER, BEFORE_LEARNED), (UNKNOWN, BEFORE_UNKNOWN)):
        difference = compare_brier(found[now], found[before])
        assert difference.value <= difference.error, now


@pytest.mark.parametrize("panel", LATENT)
@pytest.mark.parametrize("kind", KINDS)
def test_the_rule_now_is_no_worse_than_the_one_before_on_stated_votes(
    panel: Panel, kind: Kind
) -> None:
    """Q-11, D-12"""
    difference = against_ours(simulated(panel, kind), WHOLE_TABLE)
    assert difference.value >= -difference.error


@pytest.mark.parametrize("panel", LATENT)
@pytest.mark.parametrize("kind", ["calibrated", "overconfident"])
def test_no_way_of_pooling_statements_is_better_by_more_than_noise(
    panel: Panel, kind: Kind
) -> None:
    """D-12: stated confidences, on simulated votes."""
    for name in POOLS:
        difference = against_ours(simulated(panel, kind), name)
        # A thousandth is less than any of the ways is told apart by.
        assert difference.value >= -2 * difference.error - 0.001, name


def test_the_simulated_seats_err_together_as_presumed() -> None:
    assert simulated("one family", "calibrated").correlation == pytest.approx(SAME_FAMILY, abs=0.05)
    assert simulated("five families", "calibrated").correlation == pytest.approx(
        OTHER_FAMILY, abs=0.05
    )
    assert len(simulated("one family", "calibrated").forecasts[OURS]) == GROUPS * CASES


def test_the_page_has_the_report_as_it_is_printed() -> None:
    page = Path(__file__).parents[2] / "docs" / "bench-decisions.md"
    assert f"\n{report(measured(2))}\n" in page.read_text(encoding="utf-8")


def test_a_picture_has_a_line_for_each_rule() -> None:
    ways = {name: list_ways(measured(2))[name] for name in (BEFORE, AFTER)}
    picture = ET.fromstring(draw_calibration("a < b", {"PRD": ways}))
    assert sum(each.tag.endswith("polyline") for each in picture.iter()) == len(ways)


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


@pytest.mark.parametrize("recording", [PERSONAS, SOLVERS], ids=["MMLU", "MATH"])
def test_the_blind_posterior_is_surer_of_what_is_right_than_any_other_way(
    recording: Recording,
) -> None:
    """D-12: on all cases and on those that were debated, within one standard error of the best."""
    ways = forecast_decisions(recording)
    debated = [case for case in list_chosen(recording.cases) if is_debated(case)]
    for cases in (list_chosen(recording.cases), debated):
        for each in score_ways(ways, cases):
            assert each.against.value >= -each.against.error, each.name
            if "all state" in each.name:
                assert each.against.value > 3 * each.against.error


@pytest.mark.parametrize(
    ("recording", "saved"), [(PERSONAS, 0.1), (SOLVERS, 0.1)], ids=["MMLU", "MATH"]
)
def test_debating_only_where_it_is_close_loses_nothing_and_saves_replies(
    recording: Recording, saved: float
) -> None:
    """D-24"""
    always, auto, _never = measure_gates(recording)
    assert auto.right.value >= always.right.value - always.right.error
    assert auto.replies < (1 - saved) * always.replies
