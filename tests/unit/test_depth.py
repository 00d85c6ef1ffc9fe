"""How deep a question is taken: one mind with a reviewed record, a blind vote, the protocol; and the shadow of it."""

from dataclasses import replace

import pytest
from tests.support.council_scenes import ADA, BOB, CY
from tests.support.play_council import (
    PASS,
    DeliberationRun,
    advisory,
    debate,
    propose,
    support,
    synthesize,
    vote,
)

from moothall.domain.roster import MAILBOX, Seat
from moothall.domain.topic import ReviewedKind, Stakes, Topic
from moothall.errors import BadSetting
from moothall.protocols.council.facts import CouncilSettings
from moothall.protocols.council.plugin import DEBATE, AdvisorySettings
from moothall.protocols.council.report import build_council_report
from moothall.protocols.council.timeline import build_decision
from moothall.reports.plain_text import render_markdown
from moothall.scoring.depth import Depth, DepthTaken, find_first_mind

PROVEN = replace(BOB, accuracy=0.95, cases=30.0)
OPTIONS = ("yes", "no")


def deep(
    depth: Depth = "auto",
    stakes: Stakes = "medium",
    *,
    seat: Seat = PROVEN,
    reviewed: tuple[ReviewedKind, ...] = (),
) -> DeliberationRun:
    subject = Topic(stakes=stakes, options=OPTIONS, reviewed=reviewed)
    return debate(ADA, seat, CY, subject=subject, settings=CouncilSettings(depth=depth))


def argue(table: DeliberationRun) -> DeliberationRun:
    """Hold the rest of a debate."""
    for name in ("ada", "bob", "cy"):
        table.says(name, support(2))
    for name in ("ada", "bob", "cy"):
        table.says(name, synthesize("yes"))
    return table.say(ada=vote(), bob=vote(), cy=vote())


def test_one_mind_with_a_good_record_that_is_sure_decides_alone() -> None:
    """G-4: the others are not asked, and the result says what that spared."""
    table = deep()
    assert table.asked == ["1.propose.bob"]
    closed = table.says("bob", propose("yes", confidence=0.95)).closed
    assert (closed.reason, closed.carried, closed.agreement, closed.unasked) == (
        "one_mind",
        True,
        "alone",
        ("ada", "cy"),
    )
    assert closed.depth == DepthTaken(
        mode="auto", stage="one_mind", reason="clear", spared=11, seat=PROVEN.id, choice="yes"
    )
    decision = build_decision(table.timeline)
    assert (decision.choice, decision.spared, decision.strength, decision.reservations) == (
        "yes",
        11,
        "fair",
        ("one_voice",),
    )
    assert decision.to_json()["depth"]["stage"] == "one_mind"
    assert (
        "one mind: its record and how sure it is were enough; 11 answers spared"
        in render_markdown(build_council_report(table.timeline))
    )


def test_an_answer_that_is_not_sure_enough_is_one_of_the_blind_vote() -> None:
    """G-4: what the first one wrote is not asked for again, and nobody else has read it."""
    table = deep().says("bob", propose("yes", confidence=0.6))
    assert table.asked == ["1.propose.ada", "1.propose.cy"]
    assert "We should." not in table.brief("ada").shared
    closed = table.say(ada=propose("yes"), cy=propose("yes")).closed
    assert (closed.reason, closed.agreement) == ("agreed_blind", "blind")
    assert closed.depth == DepthTaken(
        mode="auto", stage="blind_vote", reason="unclear", spared=9, seat=PROVEN.id, choice="yes"
    )


def test_a_first_mind_that_is_lost_or_passes_settles_nothing() -> None:
    """G-4: careless and silent seats."""
    assert deep().lose_seat("bob").asked == ["1.propose.ada", "1.propose.cy"]
    assert deep().says("bob", PASS).asked == ["1.propose.ada", "1.propose.cy"]


def test_a_blind_vote_that_is_not_clear_is_argued() -> None:
    """G-4: then nothing is spared, which is said too."""
    table = (
        deep().says("bob", propose("yes", confidence=0.5)).say(ada=propose("no"), cy=propose("yes"))
    )
    assert table.phase == (1, "argue")
    taken = argue(table).closed.depth
    assert taken == DepthTaken(
        mode="auto", stage="protocol", reason="unclear", spared=0, seat=PROVEN.id
    )


@pytest.mark.parametrize("stakes", ["high", "critical"])
def test_with_much_at_stake_it_is_always_argued(stakes: Stakes) -> None:
    """G-4: by the stakes."""
    table = deep(stakes=stakes)
    assert table.asked == ["1.propose.ada", "1.propose.bob", "1.propose.cy"]
    table.say(ada=propose("yes"), bob=propose("yes"), cy=propose("yes"))
    assert table.phase == (1, "argue")
    assert argue(table).closed.depth == DepthTaken(
        mode="auto", stage="protocol", reason="stakes", spared=0
    )


def test_the_record_closes_a_stage_that_proved_wrong() -> None:
    """G-4: by the record of decisions like this, once ten are reviewed."""
    few, bad, fine = (
        ReviewedKind(agreement="agreed_alone", cases=cases, right=right)
        for cases, right in ((9, 0), (10, 8), (10, 9))
    )
    assert [deep(reviewed=(each,)).asked for each in (few, bad, fine)] == [
        ["1.propose.bob"],
        ["1.propose.ada", "1.propose.bob", "1.propose.cy"],
        ["1.propose.bob"],
    ]
    blind = ReviewedKind(agreement="agreed_blind", cases=20, right=17)
    table = deep(reviewed=(bad, blind)).say(
        ada=propose("yes"), bob=propose("yes"), cy=propose("yes")
    )
    assert table.phase == (1, "argue")
    taken = argue(table).closed.depth
    assert taken is not None
    assert (taken.stage, taken.reason) == ("protocol", "poor_record")


def test_who_has_no_reviewed_record_or_is_elsewhere_is_not_asked_alone() -> None:
    """G-4: then it begins with the blind vote."""
    subject = Topic(options=OPTIONS)
    assert find_first_mind([ADA, replace(PROVEN, cases=9.0)], subject) == (None, "no_record")
    assert find_first_mind([ADA, replace(PROVEN, platform=MAILBOX)], subject) == (None, "no_record")
    best = replace(CY, accuracy=0.97, cases=12.0)
    assert find_first_mind([ADA, PROVEN, best], subject) == (best.id, "clear")


def test_the_shadow_asks_all_and_says_what_would_have_been_spared() -> None:
    """G-4: a shadow mode changes nothing."""
    table = deep("shadow")
    assert table.asked == ["1.propose.ada", "1.propose.bob", "1.propose.cy"]
    table.say(ada=propose("yes"), bob=propose("no", confidence=0.95), cy=propose("yes"))
    closed = argue(table).closed
    assert closed.depth == DepthTaken(
        mode="shadow", stage="one_mind", reason="clear", spared=11, seat=PROVEN.id, choice="no"
    )
    report = render_markdown(build_council_report(table.timeline))
    assert "it would have ended with one mind" in report
    assert "spared 11 of 12 answers, and decided: no" in report


def test_a_depth_that_cannot_be_honoured_is_refused() -> None:
    """G-4: one clear sentence."""
    for settings in (
        CouncilSettings(depth="auto", panel="adaptive"),
        CouncilSettings(depth="auto", debate="always"),
    ):
        with pytest.raises(BadSetting, match="give one of them"):
            debate(ADA, BOB, settings=settings)
    with pytest.raises(BadSetting, match="needs the protocol debate and blind positions"):
        debate(ADA, BOB, settings=CouncilSettings(depth="auto", blind=False))
    with pytest.raises(BadSetting, match="needs the protocol debate"):
        advisory(ADA, BOB, settings=AdvisorySettings(depth="shadow"))


def test_the_estimate_starts_at_one_answer() -> None:
    """G-4"""
    expect = DEBATE.expect
    assert expect is not None
    assert expect(deep().state.opened)[0].least * 3 == pytest.approx(1)
    assert expect(deep("shadow").state.opened)[0].least == 1
