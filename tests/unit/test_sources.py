"""D-14: each source has a track record, from outcomes that were reported later. D-20: and so has each pair."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from moothall.memory.facts import DecisionRecorded, Member, Outcome
from moothall.memory.remembered_decision import OutcomeReview, RememberedDecision
from moothall.memory.track_records import (
    Score,
    SourceStanding,
    build_source_trust,
    collect_scores,
    compute_pair_correlation,
    compute_score,
    compute_standing,
)
from moothall.scoring.positions import VotePosition
from moothall.scoring.resolution import SeatVote, resolve_open_vote
from moothall.scoring.trust import TrackRecord, compute_category_trust, compute_trust

NOW = datetime(2025, 3, 1, tzinfo=UTC)


def case(
    outcome: Outcome | None,
    *members: tuple[str, VotePosition | None, float | None],
    category: str = "web",
    decision: str = "d",
    decided: str | None = "Yes.",
) -> RememberedDecision:
    record = DecisionRecorded(
        session=decision,
        protocol="debate",
        topic="Now?",
        category=category,
        text=decided,
        members=tuple(
            Member(source=source, seat=f"seat{number}", position=position, confidence=confidence)
            for number, (source, position, confidence) in enumerate(members)
        ),
        opened_at=NOW,
        closed_at=NOW,
    )
    return RememberedDecision(
        number=1,
        at=NOW,
        record=record,
        reviews=(OutcomeReview(at=NOW, outcome=outcome),) if outcome else (),
    )


@pytest.mark.parametrize(
    ("outcome", "position", "expected"),
    [
        ("success", "support", 0.04),
        ("partial", "support", 0.09),
        ("failure", "support", 0.64),
        ("failure", "oppose", 0.04),
        ("success", "conditional_support", 0.04),
        ("success", "abstain", None),
        ("success", None, None),
        ("abandoned", "support", None),
        (None, "support", None),
    ],
)
def test_a_vote_is_scored_as_a_forecast(
    outcome: Outcome | None, position: VotePosition | None, expected: float | None
) -> None:
    found = compute_score("ada", case(outcome, ("ada", position, 0.8)))
    assert (found and pytest.approx(found.brier)) == expected


def test_a_vote_without_confidence_has_no_brier_score() -> None:
    assert compute_score("ada", case("success", ("ada", "support", None))) == Score(
        decision="d", category="web", brier=None, right=1.0
    )


def test_no_decision_is_not_scored() -> None:
    assert compute_score("ada", case("failure", ("ada", "support", 0.8), decided=None)) is None


def test_a_source_on_two_seats_is_one_case() -> None:
    found = compute_score("ada", case("success", ("ada", "support", 1.0), ("ada", "oppose", 1.0)))
    assert found == Score(decision="d", category="web", brier=0.5, right=0.5)


def test_trust_is_neutral_without_a_record() -> None:
    assert (
        compute_standing([])
        == compute_standing([], "web")
        == SourceStanding(trust=0.5, accuracy=0.65, cases=0)
    )
    assert build_source_trust("ada", []).brier is None


def test_trust_is_kept_by_category_and_drawn_towards_the_whole_record() -> None:
    good = [
        compute_score(
            "ada", case("success", ("ada", "support", 0.9), category="Web", decision=f"w{n}")
        )
        for n in range(8)
    ]
    bad = [
        compute_score(
            "ada", case("failure", ("ada", "support", 0.9), category="ops", decision=f"o{n}")
        )
        for n in range(4)
    ]
    listed = [one for one in (*good, *bad) if one]
    web, ops = TrackRecord(cases=8, brier_sum=8 * 0.01), TrackRecord(cases=4, brier_sum=4 * 0.81)
    overall = TrackRecord(cases=12, brier_sum=8 * 0.01 + 4 * 0.81)
    found = build_source_trust("ada", listed)
    assert found.cases == 12
    assert found.trust == pytest.approx(compute_trust(overall))
    assert {one.category: one.trust for one in found.categories} == {
        "ops": pytest.approx(compute_category_trust(ops, overall)),
        "web": pytest.approx(compute_category_trust(web, overall)),
    }
    assert compute_standing(listed, " WEB").trust == pytest.approx(
        compute_category_trust(web, overall)
    )
    ops_here, web_here = compute_standing(listed, "ops"), compute_standing(listed, "web")
    assert ops_here.trust < compute_standing(listed).trust < web_here.trust
    assert {one.category: one.brier for one in found.categories} == {
        "ops": pytest.approx(0.81),
        "web": pytest.approx(0.01),
    }
    # Of the other category half of the cases count, three at most, and none of its own twice.
    assert web_here.accuracy == pytest.approx((8 + 6.5) / (8 + 2 + 10))
    assert ops_here.accuracy == pytest.approx((0 + 3 + 6.5) / (4 + 3 + 10))
    assert found.accuracy == pytest.approx((8 + 6.5) / (12 + 10))


def test_being_right_counts_also_where_no_confidence_was_stated() -> None:
    """D-12: how often a source was on the side that proved right."""
    listed = collect_scores(
        "ada", [case("success", ("ada", "support", None), decision=str(n)) for n in range(3)]
    )
    assert [(one.brier, one.right) for one in listed] == [(None, 1.0)] * 3
    assert compute_standing(listed) == SourceStanding(trust=0.5, accuracy=(3 + 6.5) / 13, cases=0)


def test_wins_elsewhere_do_not_make_an_authority_here() -> None:
    """D-14: a hundred trivial wins are outweighed by two honest opponents in another category."""
    farmed = compute_standing(
        collect_scores(
            "ada",
            [
                case("success", ("ada", "support", 1.0), category="trivia", decision=str(n))
                for n in range(100)
            ],
        ),
        "security",
    )
    farmer = SeatVote(seat="ada", position="support", stated=False, accuracy=farmed.accuracy)
    honest = [SeatVote(seat=name, position="oppose", stated=False) for name in ("bob", "cy")]
    assert farmed.accuracy > 0.65
    assert not resolve_open_vote([farmer, *honest]).carried
    assert resolve_open_vote(
        [replace(farmer, position="oppose"), *(replace(v, position="support") for v in honest)]
    ).carried


def scored(*briers: float) -> list[Score]:
    return [
        Score(decision=str(number), category="", brier=brier) for number, brier in enumerate(briers)
    ]


def test_those_who_err_on_the_same_cases_are_correlated() -> None:
    one = scored(0.1, 0.6, 0.1, 0.6)
    assert compute_pair_correlation(one, scored(0.0, 0.8, 0.0, 0.8))[1] == pytest.approx(1.0)
    assert compute_pair_correlation(one, scored(0.8, 0.0, 0.8, 0.0))[1] == pytest.approx(-1.0)


def test_strangers_are_not_correlated_by_the_outcome_that_they_share() -> None:
    cases = [
        case(outcome, ("ada", one, 0.8), ("bob", other, 0.8), decision=f"{outcome}{one}{other}")
        for outcome in ("success", "failure")
        for one in ("support", "oppose")
        for other in ("support", "oppose")
    ]
    shared, found = compute_pair_correlation(
        collect_scores("ada", cases), collect_scores("bob", cases)
    )
    assert shared == 8
    assert found == pytest.approx(0.0)


def test_too_few_cases_or_none_that_differ_say_nothing() -> None:
    assert compute_pair_correlation(scored(0.1, 0.6), scored(0.1, 0.6)) == (2, None)
    assert compute_pair_correlation(scored(0.1, 0.1, 0.1), scored(0.1, 0.6, 0.1)) == (3, None)
    assert compute_pair_correlation([], scored(0.1)) == (0, None)
