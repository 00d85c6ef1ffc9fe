"""Where positions agree before anybody has read anybody, and what overturns them."""

import math
from dataclasses import replace
from typing import Any

import pytest
from tests.support.council_scenes import ADA, AWAY, BOB, CY, FIVE
from tests.support.play_council import (
    PASS,
    DeliberationRun,
    advisory,
    build_mailbox_seat,
    build_taken,
    challenge,
    consensus,
    debate,
    propose,
    support,
    synthesize,
    vote,
)

from moothall.domain.ids import SeatId
from moothall.domain.topic import Stakes, Topic
from moothall.protocols.council.facts import (
    CandidateVote,
    Contribution,
    CouncilBallot,
    CouncilSettings,
    Debate,
)
from moothall.protocols.council.timeline import build_decision

# D-19: where all agree blind


def agreeing(
    *choices: str, stakes: Stakes = "medium", settings: CouncilSettings | None = None
) -> DeliberationRun:
    table = debate(ADA, BOB, CY, subject=Topic(stakes=stakes), settings=settings)
    for name, choice in zip(("ada", "bob", "cy"), choices, strict=True):
        table.says(name, propose(choice, f"{name} says so.", 0.6))
    return table


def test_blind_positions_that_all_agree_end_it_there() -> None:
    """D-19"""
    closed = agreeing("yes", "yes", "yes").closed
    assert (closed.reason, closed.consensus_type, closed.carried, closed.motion) == (
        "agreed_blind",
        "unanimous",
        True,
        2,
    )
    weight = round(math.log(0.65 / 0.35) * 2 / 3, 12)
    assert tuple(
        replace(ballot, weight=round(ballot.weight, 12)) for ballot in closed.ballots
    ) == tuple(
        CouncilBallot(seat=SeatId(name), position="support", confidence=0.6, weight=weight)
        for name in ("ada", "bob", "cy")
    )
    assert (closed.open_challenges, closed.overturned) == ((), False)
    assert (closed.agreement, closed.confidence_from) == ("blind", "blind")


@pytest.mark.parametrize(
    "choices",
    [
        ("Yes.", " yes ", "ＹＥＳ"),
        ("是。", "是", " 是！"),
        ('"Yes"', "YES!", "(yes)"),
        ("a  b", "A b", "a b."),
    ],
)
def test_choices_are_compared_without_case_width_and_closing_marks(
    choices: tuple[str, str, str],
) -> None:
    """D-19"""
    assert agreeing(*choices).closed.reason == "agreed_blind"


@pytest.mark.parametrize(
    "choices",
    [
        ("yes", "yes", "no"),
        ("yes", "yes", ""),
        ("", "", ""),
        ("yes", "yes", "yes and no"),
        (".", ".", "."),
    ],
)
def test_blind_positions_that_differ_or_name_no_choice_are_argued(
    choices: tuple[str, str, str],
) -> None:
    """D-19"""
    assert agreeing(*choices).phase == (1, "argue")


@pytest.mark.parametrize("third", [PASS, None])
def test_a_seat_that_wrote_nothing_agrees_to_nothing(third: Contribution | None) -> None:
    """D-19"""
    assert debate(*AWAY).say(ada=propose("yes"), bob=propose("yes"), cy=third).phase == (1, "argue")


def test_a_seat_that_went_on_to_support_wrote_nothing_blind() -> None:
    """D-19"""
    assert debate(*AWAY).say(ada=propose("yes"), bob=propose("yes"), cy=support()).phase == (
        1,
        "argue",
    )


@pytest.mark.parametrize(
    ("stakes", "asked", "stops"),
    [
        ("low", None, True),
        ("medium", None, True),
        ("high", None, False),
        ("critical", None, False),
        ("high", "auto", True),
        ("critical", "never", True),
        ("low", "always", False),
    ],
)
def test_high_stakes_are_argued_even_where_all_agree_unless_asked_otherwise(
    stakes: Stakes, asked: Debate | None, stops: bool
) -> None:
    """D-19"""
    table = agreeing("yes", "yes", "yes", stakes=stakes, settings=CouncilSettings(debate=asked))
    assert (table.state.phase == "closed") == stops
    if not stops:
        assert "\n| yes: ada, bob, cy\n" in table.brief("ada").own


def test_an_owner_may_stop_where_all_agree_blind() -> None:
    """D-8, D-19"""
    closed = advisory(ADA, BOB, CY).say_for_all(propose("yes")).closed
    assert (closed.reason, closed.consensus_type, closed.carried, closed.motion) == (
        "agreed_blind",
        "owner_decision",
        True,
        2,
    )


def test_what_is_agreed_blind_is_what_all_agreed_on() -> None:
    """D-19: a seat that rewrote its proposal has not made the others agree to it."""
    table = (
        debate(build_mailbox_seat("ada"), BOB)
        .says("ada", propose("yes"))
        .says("ada", propose("no"))
        .says("bob", propose("yes"))
    )
    agreed = table.state.phase == "closed"
    line = table.state.line(table.closed.motion) if agreed else None
    assert line is None or line.said.choice == "yes"


def test_agreement_below_the_threshold_is_argued_before_it_fails() -> None:
    """D-9, D-19: below the threshold it goes on to a synthesis."""
    table = consensus(ADA, BOB, CY).say_for_all(propose("yes", confidence=0.6))
    assert table.phase == (1, "argue")


# D-19: what overturns the blind majority


def overturning(
    *choices: str, settled: str = "no", blind: bool = True, **votes: Contribution
) -> DeliberationRun:
    """Three blind choices, lines 2 to 4, a support in line 5, a synthesis in line 6, then the votes."""
    table = debate(ADA, BOB, CY, settings=CouncilSettings(blind=blind))
    for name, choice in zip(("ada", "bob", "cy"), choices, strict=True):
        table.says(name, propose(choice))
    table.say(ada=PASS, bob=PASS, cy=support(4)).say(ada=PASS, bob=PASS, cy=synthesize(settled))
    return table.say_all({name: votes.get(name, vote()) for name in ("ada", "bob", "cy")})


def test_an_outcome_against_the_blind_majority_that_nobody_gave_a_reason_for_is_flagged() -> None:
    """D-19"""
    table = overturning("yes", "yes", "no")
    assert (
        table.closed.overturned,
        table.closed.carried,
        build_decision(table.timeline).overturned,
    ) == (True, True, True)


@pytest.mark.parametrize(
    ("why", "table"),
    [
        ("one who changed names the line", overturning("yes", "yes", "no", ada=vote(moved_by=5))),
        (
            "with a condition too",
            overturning(
                "yes", "yes", "no", bob=vote("conditional_support", condition="a pilot", moved_by=5)
            ),
        ),
        ("the outcome is what most wrote", overturning("no", "No.", "yes")),
        ("there was no majority", overturning("yes", "maybe", "no")),
        ("one alone is no majority", overturning("yes", "", "")),
        ("half is no majority", overturning("yes", "no", "", settled="other")),
        ("the motion names no choice", overturning("yes", "yes", "no", settled="")),
        ("nothing was written blind", overturning("yes", "yes", "no", blind=False)),
        (
            "it was not carried",
            overturning("yes", "yes", "no", ada=vote("oppose"), bob=vote("oppose")),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_other_outcome_is_flagged(why: str, table: DeliberationRun) -> None:
    """D-19"""
    assert not table.closed.overturned, why


def test_one_who_changed_on_a_ballot_of_several_texts_names_the_line_too() -> None:
    """D-19"""
    table = debate(ADA, BOB, CY).say(ada=propose("yes"), bob=propose("yes"), cy=propose("no"))
    table.say(ada=PASS, bob=PASS, cy=support(4)).say(
        ada=synthesize("yes"), bob=PASS, cy=synthesize("no", "Leave it.")
    )
    ballot = (
        CandidateVote(candidate=6, position="oppose"),
        CandidateVote(candidate=7, position="support"),
    )
    votes = {
        name: Contribution(type="vote", ballot=ballot, moved_by=4 if name == "ada" else None)
        for name in ("ada", "bob", "cy")
    }
    table.say_all(votes)
    assert (table.closed.motion, table.closed.overturned) == (7, False)


def test_two_of_four_are_no_majority() -> None:
    """D-19"""
    table = debate(*FIVE[:4]).say(
        ada=propose("yes"), bob=propose("yes"), cy=propose("no"), dee=propose("no")
    )
    table.say_for_all(PASS).say_for_all(synthesize("no")).say_for_all(vote())
    assert (table.closed.carried, table.closed.overturned) == (True, False)


@pytest.mark.parametrize(
    ("why", "votes"),
    [
        ("who thought so before did not change", {"cy": vote(moved_by=3)}),
        ("who opposes did not change", {"bob": vote("oppose", 0.3, moved_by=5)}),
        ("who abstains did not change", {"bob": vote("abstain", moved_by=5)}),
    ],
)
def test_a_line_named_by_one_who_did_not_change_is_no_reason(
    why: str, votes: dict[str, Any]
) -> None:
    """D-19"""
    closed = overturning("yes", "yes", "no", **votes).closed
    assert closed.carried
    assert closed.overturned, why


@pytest.mark.parametrize("named", [{"moved_by": 5}, {"taken": (build_taken(5, "adopted"),)}])
def test_an_owner_who_names_the_advice_that_moved_it_gave_a_reason(named: dict[str, Any]) -> None:
    """D-8, D-19"""
    table = advisory(ADA, BOB, CY).say(ada=propose("yes"), bob=propose("yes"), cy=propose("no"))
    table.say(bob=PASS, cy=challenge(2)).says(
        "ada", synthesize("no", **({"taken": (build_taken(5, "partly"),)} | named))
    )
    assert not table.closed.overturned


def test_an_owner_who_overrules_the_blind_majority_without_a_reason_is_flagged() -> None:
    """D-8, D-19"""
    table = (
        advisory(ADA, BOB, CY)
        .say(ada=propose("yes"), bob=propose("no"), cy=propose("no"))
        .pass_until("decide")
    )
    assert table.says("ada", synthesize("yes")).closed.overturned
