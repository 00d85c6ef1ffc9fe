"""The rulebook of debate, advisory and consensus: facts in, effects out. Each test names the requirement that it proves."""

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest
from tests.support.play_council import (
    PASS,
    TOPIC,
    DeliberationRun,
    advisory,
    build_mailbox_seat,
    build_seat,
    build_taken,
    challenge,
    consensus,
    debate,
    propose,
    support,
    synthesize,
    vote,
)

from moot.domain.budget import Budget, BudgetKind
from moot.domain.effects import Ask, Brief
from moot.domain.facts import BudgetExhausted, CloseCalled, Fact, InputGiven, SeatLost, SessionCancelled, SessionForked
from moot.domain.ids import USER, AskId, SeatId, SessionId
from moot.domain.roster import MAILBOX, Seat, Swap
from moot.domain.topic import ErrorCorrelation, Stakes, Topic, build_topic
from moot.errors import BadRoster, BadSetting
from moot.protocols.council.advisory import AdvisorySettings
from moot.protocols.council.consensus import ConsensusSettings
from moot.protocols.council.facts import (
    Contributed,
    Contribution,
    CouncilBallot,
    CouncilLostSeat,
    CouncilSettings,
    Phase,
    PhaseBegun,
    SpeakingOrder,
)
from moot.protocols.council.motions import Challenge, list_challenges
from moot.protocols.council.rules import MOST_CONTRIBUTIONS
from moot.protocols.council.timeline import PassedTurn, build_decision, build_dissent
from moot.reports.decision import Dissent

ADA, BOB, CY = build_seat("ada"), build_seat("bob"), build_seat("cy")
AWAY = (build_mailbox_seat("ada"), build_mailbox_seat("bob"), build_mailbox_seat("cy"))
FIVE = tuple(build_seat(name) for name in ("ada", "bob", "cy", "dee", "eve"))
HSM = (build_mailbox_seat("emerson"), build_mailbox_seat("minski"), build_mailbox_seat("code-reviewer"))
NO_BLIND = CouncilSettings(blind=False)

Opener = Callable[..., DeliberationRun]


def ids(*names: str) -> tuple[SeatId, ...]:
    return tuple(SeatId(name) for name in names)


def proposed(table: DeliberationRun) -> DeliberationRun:
    """After the first phase: ada for (#2), bob and cy against (#3, #4)."""
    return table.say(ada=propose("yes", "Adopt it."), bob=propose("no", "Leave it."), cy=propose("no", "Wait."))


def at(phase: str, opener: Opener = debate, *seats: Seat, **rest: Any) -> DeliberationRun:
    """A deliberation of three that stands in this phase, with nothing said in it yet."""
    table = opener(*(seats or (ADA, BOB, CY)), **rest)
    if phase == "propose":
        return table
    proposed(table)
    return table.pass_until(phase)  # type: ignore[arg-type]  # the names of the phases are given by the tests


def seen(brief: Brief) -> str:
    """All that a participant could read of the others."""
    memory = brief.perception.memory
    heard = [line.text for line in memory.recent] + [line.text for line in memory.older]
    return "\n".join([brief.shared, brief.own, brief.perception.goal, brief.perception.own_words, brief.subject, *heard])


# D-7: the phases


def test_the_phases_follow_one_another_and_everyone_has_a_turn_in_each() -> None:
    """D-7"""
    table = proposed(debate(ADA, BOB, CY))
    table.say(ada=support(2), bob=challenge(2), cy=PASS)
    table.say(ada=synthesize("yes"), bob=PASS, cy=PASS)
    table.say(ada=vote(), bob=vote("oppose"), cy=vote())
    assert table.phases == [
        PhaseBegun(round=1, phase="argue"),
        PhaseBegun(round=1, phase="synthesize", passed=ids("cy")),
        PhaseBegun(round=1, phase="vote", passed=ids("bob", "cy"), motion=7),
    ]
    assert list(table.ever_asked) == [
        f"{step}.{phase}.{name}"
        for step, phase in enumerate(("propose", "argue", "synthesize", "vote"), 1)
        for name in ("ada", "bob", "cy")
    ]
    assert (table.closed.reason, table.closed.consensus_type, table.closed.motion) == ("voted", "majority", 7)


def test_a_pass_and_a_loss_are_turns_and_are_on_record() -> None:
    """D-7"""
    table = debate(ADA, BOB, CY).say(ada=propose("yes"), bob=PASS, cy=None)
    assert table.last == PhaseBegun(round=1, phase="argue", passed=ids("bob"), lost=ids("cy"))
    assert [(one.seat, one.phase, one.is_implied) for one in table.timeline.passes] == [("bob", "propose", False)]
    table.say(ada=PASS, bob=PASS).say_for_all(PASS)
    assert "2.argue.cy" in table.ever_asked


def test_whoever_was_lost_is_asked_again_in_the_next_phase() -> None:
    """D-7"""
    table = at("argue").say(ada=None, bob=None, cy=None)
    assert table.last == PhaseBegun(round=1, phase="synthesize", lost=ids("ada", "bob", "cy"))
    assert table.say_for_all(synthesize("yes")).asked == ["4.vote.ada", "4.vote.bob", "4.vote.cy"]


def test_a_pass_in_a_vote_that_goes_to_another_round_is_recorded() -> None:
    """D-7"""
    table = at("vote", settings=CouncilSettings(rounds=2)).say(ada=vote("oppose"), bob=PASS, cy=None)
    assert table.last == PhaseBegun(round=2, phase="argue", passed=ids("bob"), lost=ids("cy"))


@pytest.mark.parametrize("phase", ["argue", "synthesize"])
def test_in_turn_seats_are_asked_one_after_another(phase: str) -> None:
    """D-7"""
    table = at(phase)
    step = table.state.step
    for name in ("ada", "bob", "cy"):
        assert table.asked == [f"{step}.{phase}.{name}"]
        table.says(name, PASS)


@pytest.mark.parametrize("phase", ["propose", "vote"])
def test_proposals_and_votes_are_asked_for_all_at_once(phase: str) -> None:
    """D-7, D-19: nobody reads anybody in these, so that nobody need wait."""
    table = at(phase)
    step = table.state.step
    assert table.asked == [f"{step}.{phase}.{name}" for name in ("ada", "bob", "cy")]


@pytest.mark.parametrize("phase", ["propose", "argue", "synthesize", "vote"])
def test_in_open_order_all_are_asked_at_once(phase: str) -> None:
    """D-7"""
    table = at(phase, settings=CouncilSettings(order="open"))
    step = table.state.step
    assert table.asked == [f"{step}.{phase}.{name}" for name in ("ada", "bob", "cy")]


@pytest.mark.parametrize(
    ("chosen", "seats", "order"),
    [
        ("auto", (ADA, BOB), "round_robin"),
        ("auto", (ADA, build_mailbox_seat("bob")), "open"),
        ("open", (ADA, BOB), "open"),
        ("round_robin", (ADA, build_mailbox_seat("bob")), "round_robin"),
    ],
)
def test_the_order_is_open_as_soon_as_one_seat_comes_from_elsewhere(
    chosen: SpeakingOrder, seats: tuple[Seat, ...], order: SpeakingOrder
) -> None:
    """D-7"""
    assert at("propose", debate, *seats, settings=CouncilSettings(order=chosen)).opened.settings.order == order


@pytest.mark.parametrize("opener", [debate, advisory, consensus])
def test_a_deliberation_needs_two_seats(opener: Opener) -> None:
    """D-1"""
    with pytest.raises(BadRoster, match="1 seats; a meeting needs 2 to 64"):
        opener(ADA)


def test_an_owner_who_does_not_sit_at_the_table_is_refused() -> None:
    """D-8"""
    with pytest.raises(BadSetting, match="owner = 'zed' is no seat; the seats are: ada, bob"):
        advisory(ADA, BOB, settings=AdvisorySettings(owner=SeatId("zed")))


@pytest.mark.parametrize("opener", [debate, consensus])
def test_where_nobody_proposes_there_is_nothing_to_decide(opener: Opener) -> None:
    """D-7"""
    closed = opener(ADA, BOB, CY).say(ada=PASS, bob=PASS, cy=None).closed
    assert (closed.reason, closed.consensus_type, closed.carried, closed.motion, closed.confidence, closed.support) == (
        "nothing_proposed",
        "no_consensus",
        False,
        None,
        None,
        None,
    )
    assert closed.lost == (CouncilLostSeat(seat=SeatId("cy"), times=1, last="timeout", weight_share=1 / 3),)


# What is voted on


def test_the_last_synthesis_is_the_motion() -> None:
    """D-7"""
    table = at("synthesize").say(ada=synthesize("yes"), bob=synthesize("no"), cy=PASS)
    assert table.last == PhaseBegun(round=1, phase="vote", passed=ids("cy"), motion=6)


@pytest.mark.parametrize(
    ("said", "motion"),
    [
        ((PASS, PASS, PASS), 3),
        ((support(2), support(2), PASS), 2),
        ((PASS, PASS, challenge(3)), 4),
        ((PASS, challenge(3), support(4)), 3),
        ((PASS, support(4), challenge(3)), 4),
        ((support(4), PASS, PASS), 4),
    ],
)
def test_without_a_synthesis_the_proposal_with_most_behind_it_is_the_motion(said: tuple[Contribution, ...], motion: int) -> None:
    """D-7: seats of the same choice and supporters, less challengers, each once and none for its own; the earliest of equals."""
    table = at("argue")
    for name, each in zip(("ada", "bob", "cy"), said, strict=True):
        table.says(name, each)
    table.pass_until("vote")
    assert table.last == PhaseBegun(round=1, phase="vote", passed=ids("ada", "bob", "cy"), motion=motion)


def test_not_to_have_named_a_choice_is_no_common_ground() -> None:
    """D-7"""
    table = debate(ADA, BOB, CY).say(ada=propose("yes"), bob=propose(""), cy=propose("")).pass_until("vote")
    assert table.state.motion == 2


# D-19: blind


def test_while_proposals_are_written_nobody_can_read_anothers() -> None:
    """D-19"""
    table = debate(*AWAY).says("ada", propose("yes", "SECRET one", evidence=("SECRET two",)))
    table.says("bob", propose("no", "HIDDEN")).says("ada", challenge(3, "SECRET three")).give_input("And the cost?")
    assert [table.state.is_sealed, table.asked, table.invited] == [True, ["1.propose.cy"], ["ada", "bob"]]
    for name in ("bob", "cy"):
        assert "SECRET" not in seen(table.brief(name))
    for name in ("ada", "cy"):
        assert "HIDDEN" not in seen(table.brief(name))
    for name in ("ada", "bob", "cy"):
        assert "And the cost?" in table.brief(name).shared
    assert all(f"SECRET {each}" in seen(table.brief("ada")) for each in ("one", "two", "three"))
    assert "HIDDEN" in seen(table.brief("bob"))
    assert table.brief("ada").subject == TOPIC


def test_once_all_have_written_everything_can_be_read() -> None:
    """D-19"""
    table = debate(*AWAY).say(ada=propose("yes", "First."), bob=propose("no", "Second."), cy=propose("no", "Third."))
    for name in ("ada", "bob", "cy"):
        shared = table.brief(name).shared
        assert all(text in shared for text in ("| First.", "| Second.", "| Third.", "[#2 ada", "[#3 bob", "[#4 cy"))
        assert [heard.id for heard in table.brief(name).perception.memory.recent] == [2, 3, 4]


def test_the_entry_that_broke_the_seal_is_remembered() -> None:
    """D-19: what was written blind can be read from there on."""
    table = debate(ADA, BOB).say(ada=propose("yes"))
    assert table.state.revealed_at == 0
    table.say(bob=propose("no"))
    assert (table.state.revealed_at, table.last) == (4, PhaseBegun(round=1, phase="argue"))
    assert table.pass_until("vote").state.revealed_at == 4


def test_where_positions_differ_the_arguing_is_about_what_is_disputed() -> None:
    """D-19"""
    own = at("argue").brief("ada").own
    assert "ada:\n| yes\nbob cy:\n| no\nThe positions differ: speak to what is disputed" in own


def test_where_nothing_is_blind_proposals_can_be_read_at_once() -> None:
    """D-19"""
    table = debate(*AWAY, settings=NO_BLIND).says("ada", propose("yes", "SECRET"))
    assert "| SECRET" in table.brief("bob").shared
    assert table.brief("bob").subject == "SECRET"
    table.say(bob=propose("yes"), cy=propose("yes"))
    assert table.phase == (1, "argue")


def test_a_budget_breaks_the_seal() -> None:
    """D-19: what is decided on must be readable."""
    table = debate(ADA, BOB).says("ada", propose("yes", "SECRET")).put(BudgetExhausted(budget="tokens", spent="all"))
    assert "SECRET" in table.brief("bob").shared


# D-19: where all agree blind


def agreeing(*choices: str, stakes: Stakes = "medium", settings: CouncilSettings | None = None) -> DeliberationRun:
    table = debate(ADA, BOB, CY, subject=Topic(stakes=stakes), settings=settings)
    for name, choice in zip(("ada", "bob", "cy"), choices, strict=True):
        table.says(name, propose(choice, f"{name} says so.", 0.6))
    return table


def test_blind_positions_that_all_agree_end_it_there() -> None:
    """D-19"""
    closed = agreeing("yes", "yes", "yes").closed
    assert (closed.reason, closed.consensus_type, closed.carried, closed.motion) == ("agreed_blind", "unanimous", True, 2)
    assert closed.ballots == tuple(
        CouncilBallot(seat=SeatId(name), position="support", confidence=0.6, weight=0.3) for name in ("ada", "bob", "cy")
    )
    assert (closed.open_challenges, closed.overturned) == ((), False)


@pytest.mark.parametrize(
    "choices", [("Yes.", " yes ", "ＹＥＳ"), ("是。", "是", " 是！"), ('"Yes"', "YES!", "(yes)"), ("a  b", "A b", "a b.")]
)
def test_choices_are_compared_without_case_width_and_closing_marks(choices: tuple[str, str, str]) -> None:
    """D-19"""
    assert agreeing(*choices).closed.reason == "agreed_blind"


@pytest.mark.parametrize(
    "choices", [("yes", "yes", "no"), ("yes", "yes", ""), ("", "", ""), ("yes", "yes", "yes and no"), (".", ".", ".")]
)
def test_blind_positions_that_differ_or_name_no_choice_are_argued(choices: tuple[str, str, str]) -> None:
    """D-19"""
    assert agreeing(*choices).phase == (1, "argue")


@pytest.mark.parametrize("third", [PASS, None])
def test_a_seat_that_wrote_nothing_agrees_to_nothing(third: Contribution | None) -> None:
    """D-19"""
    assert debate(ADA, BOB, CY).say(ada=propose("yes"), bob=propose("yes"), cy=third).phase == (1, "argue")


def test_a_seat_that_went_on_to_support_wrote_nothing_blind() -> None:
    """D-19"""
    assert debate(*AWAY).say(ada=propose("yes"), bob=propose("yes"), cy=support(2)).phase == (1, "argue")


@pytest.mark.parametrize(
    ("stakes", "asked", "stops"),
    [
        ("low", None, True),
        ("medium", None, True),
        ("high", None, False),
        ("critical", None, False),
        ("high", True, True),
        ("critical", True, True),
        ("low", False, False),
    ],
)
def test_high_stakes_are_argued_even_where_all_agree_unless_asked_otherwise(
    stakes: Stakes, asked: bool | None, stops: bool
) -> None:
    """D-19"""
    table = agreeing("yes", "yes", "yes", stakes=stakes, settings=CouncilSettings(early_stop=asked))
    assert (table.state.phase == "closed") == stops
    if not stops:
        assert "All named the same choice." in table.brief("ada").own


def test_an_owner_may_stop_where_all_agree_blind() -> None:
    """D-8, D-19"""
    closed = advisory(ADA, BOB, CY).say_for_all(propose("yes")).closed
    assert (closed.reason, closed.consensus_type, closed.carried, closed.motion) == ("agreed_blind", "owner_decision", True, 2)


def test_what_is_agreed_blind_is_what_all_agreed_on() -> None:
    """D-19: a seat that rewrote its proposal has not made the others agree to it."""
    table = (
        debate(build_mailbox_seat("ada"), BOB).says("ada", propose("yes")).says("ada", propose("no")).says("bob", propose("yes"))
    )
    agreed = table.state.phase == "closed"
    line = table.state.line(table.closed.motion) if agreed else None
    assert line is None or line.said.choice == "yes"


def test_agreement_below_the_threshold_is_argued_before_it_fails() -> None:
    """D-9, D-19: below the threshold it goes on to a synthesis."""
    table = consensus(ADA, BOB, CY).say_for_all(propose("yes", confidence=0.6))
    assert table.phase == (1, "argue")


# D-19: what overturns the blind majority


def overturning(*choices: str, settled: str = "no", blind: bool = True, **votes: Contribution) -> DeliberationRun:
    """Three blind choices, lines 2 to 4, a support in line 5, a synthesis in line 6, then the votes."""
    table = debate(ADA, BOB, CY, settings=CouncilSettings(blind=blind))
    for name, choice in zip(("ada", "bob", "cy"), choices, strict=True):
        table.says(name, propose(choice))
    table.say(ada=PASS, bob=PASS, cy=support(4)).say(ada=PASS, bob=PASS, cy=synthesize(settled))
    return table.say_all({name: votes.get(name, vote()) for name in ("ada", "bob", "cy")})


def test_an_outcome_against_the_blind_majority_that_nobody_gave_a_reason_for_is_flagged() -> None:
    """D-19"""
    table = overturning("yes", "yes", "no")
    assert (table.closed.overturned, table.closed.carried, build_decision(table.timeline).overturned) == (True, True, True)


@pytest.mark.parametrize(
    ("why", "table"),
    [
        ("one who changed names the line", overturning("yes", "yes", "no", ada=vote(moved_by=5))),
        (
            "with a condition too",
            overturning("yes", "yes", "no", bob=vote("conditional_support", condition="a pilot", moved_by=5)),
        ),
        ("the outcome is what most wrote", overturning("no", "No.", "yes")),
        ("there was no majority", overturning("yes", "maybe", "no")),
        ("one alone is no majority", overturning("yes", "", "")),
        ("half is no majority", overturning("yes", "no", "", settled="other")),
        ("the motion names no choice", overturning("yes", "yes", "no", settled="")),
        ("nothing was written blind", overturning("yes", "yes", "no", blind=False)),
        ("it was not carried", overturning("yes", "yes", "no", ada=vote("oppose"), bob=vote("oppose"))),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_no_other_outcome_is_flagged(why: str, table: DeliberationRun) -> None:
    """D-19"""
    assert not table.closed.overturned, why


def test_two_of_four_are_no_majority() -> None:
    """D-19"""
    table = debate(*FIVE[:4]).say(ada=propose("yes"), bob=propose("yes"), cy=propose("no"), dee=propose("no"))
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
def test_a_line_named_by_one_who_did_not_change_is_no_reason(why: str, votes: dict[str, Any]) -> None:
    """D-19"""
    closed = overturning("yes", "yes", "no", **votes).closed
    assert closed.carried
    assert closed.overturned, why


@pytest.mark.parametrize("named", [{"moved_by": 5}, {"taken": (build_taken(5, "adopted"),)}])
def test_an_owner_who_names_the_advice_that_moved_it_gave_a_reason(named: dict[str, Any]) -> None:
    """D-8, D-19"""
    table = advisory(ADA, BOB, CY).say(ada=propose("yes"), bob=propose("yes"), cy=propose("no"))
    table.say(bob=PASS, cy=challenge(2)).says("ada", synthesize("no", **({"taken": (build_taken(5, "partly"),)} | named)))
    assert not table.closed.overturned


def test_an_owner_who_overrules_the_blind_majority_without_a_reason_is_flagged() -> None:
    """D-8, D-19"""
    table = advisory(ADA, BOB, CY).say(ada=propose("yes"), bob=propose("no"), cy=propose("no")).pass_until("decide")
    assert table.says("ada", synthesize("yes")).closed.overturned


# Seats that answer from elsewhere


def test_a_seat_elsewhere_that_goes_on_early_has_passed() -> None:
    """D-7"""
    table = debate(*AWAY).say(ada=propose("yes"), bob=propose("no"), cy=support(2))
    assert table.last == PhaseBegun(round=1, phase="argue", passed=ids("cy"))
    assert table.timeline.passes == [PassedTurn(seq=4, seat=SeatId("cy"), round=1, phase="propose", is_implied=True)]
    assert table.asked == ["2.argue.ada", "2.argue.bob"]
    assert (table.state.lines[-1].phase, table.state.lines[-1].id) == ("argue", 4)


@pytest.mark.parametrize(
    ("phase", "said", "fault"),
    [
        (
            "propose",
            synthesize(),
            "type 'synthesize' has no place in the phase 'propose'; expected: propose, pass, support, challenge",
        ),
        ("propose", vote(), "type 'vote' has no place in the phase 'propose'; expected: propose, pass, support, challenge"),
        ("argue", vote(), "type 'vote' has no place in the phase 'argue'; expected: support, challenge, pass"),
        ("argue", propose(), "type 'propose' has no place in the phase 'argue'; expected: support, challenge, pass"),
        ("synthesize", support(2), "type 'support' has no place in the phase 'synthesize'; expected: synthesize, pass, vote"),
        ("vote", synthesize(), "type 'synthesize' has no place in the phase 'vote'; expected: vote, pass"),
    ],
)
def test_nobody_is_two_phases_ahead_or_one_behind(phase: str, said: Contribution, fault: str) -> None:
    """D-6, D-7"""
    table = at(phase, debate, *AWAY)
    if phase == "propose":
        table.says("ada", propose("yes"))
    assert table.fault("bob", said) == fault


@pytest.mark.parametrize("said", [support(), challenge()])
def test_to_support_or_challenge_needs_something_on_the_table(said: Contribution) -> None:
    """D-6"""
    fault = f"type {said.type!r} has no place in the phase 'propose'; expected: propose, pass"
    assert debate(*AWAY).fault("bob", said) == fault
    assert debate(*AWAY).says("ada", PASS).fault("bob", said) == fault
    assert debate(*AWAY).says("ada", propose("yes")).fault("bob", said) is None
    assert advisory(*AWAY).says("cy", propose("yes")).fault("bob", said) == fault


def test_a_seat_elsewhere_may_add_to_what_it_said_while_the_phase_lasts() -> None:
    """D-7"""
    table = proposed(debate(*AWAY)).says("ada", support(2)).says("ada", challenge(3)).says("ada", support(2, answers=(6,)))
    assert [(line.id, line.said.type) for line in table.state.lines[3:]] == [(5, "support"), (6, "challenge"), (7, "support")]
    assert table.asked == ["2.argue.bob", "2.argue.cy"]
    assert table.fault("ada", PASS) == "type 'pass' has no place in the phase 'argue'; expected: support, challenge"


def test_only_seats_elsewhere_are_invited() -> None:
    """D-7"""
    table = debate(ADA, build_mailbox_seat("bob"), CY).say(ada=propose("yes"), bob=propose("no"))
    assert table.effects == (
        Ask(id=AskId("1.propose.cy"), seat=SeatId("cy"), kind="propose", turn=1, patience=180.0),
        Ask(id=AskId("2.free.bob"), seat=SeatId("bob"), kind="free", turn=2, patience=180.0, invited=True),
    )


def test_where_seats_argue_in_turn_one_elsewhere_waits_for_its_turn() -> None:
    """D-7"""
    table = proposed(debate(*AWAY, settings=CouncilSettings(order="round_robin")))
    assert (table.asked, table.invited) == (["2.argue.ada"], [])
    table.says("ada", support(2))
    assert (table.asked, table.invited) == (["2.argue.bob"], ["ada"])


def test_a_seat_elsewhere_that_was_lost_may_still_come_while_the_phase_lasts() -> None:
    """D-7"""
    table = debate(*AWAY).say(ada=propose("yes"), bob=None)
    assert table.invited == ["ada", "bob"]
    table.say(bob=propose("no"), cy=PASS)
    assert table.last == PhaseBegun(round=1, phase="argue", passed=ids("cy"))


def test_a_vote_cast_before_the_motion_was_there_is_not_a_vote_on_it() -> None:
    """D-7"""
    table = at("synthesize", debate, *AWAY).says("ada", vote()).says("bob", synthesize("no")).says("cy", vote("oppose"))
    assert table.last == PhaseBegun(round=1, phase="vote", passed=ids("ada", "cy"), motion=6)
    assert table.asked == ["4.vote.ada", "4.vote.bob"]
    table.say(ada=vote("oppose"), bob=vote("abstain"))
    assert [(ballot.seat, ballot.position) for ballot in table.closed.ballots] == [
        ("ada", "oppose"),
        ("bob", "abstain"),
        ("cy", "oppose"),
    ]
    assert [line.id for line in table.state.lines if line.said.type == "vote"] == [5, 7, 8, 9]


def test_a_vote_cast_early_on_a_motion_that_a_later_synthesis_replaced_does_not_count() -> None:
    """D-7"""
    table = at("synthesize", debate, *AWAY).says("ada", synthesize("yes")).says("bob", vote()).says("cy", synthesize("no"))
    assert table.asked == ["4.vote.ada", "4.vote.bob", "4.vote.cy"]


def test_a_vote_cast_early_on_the_only_motion_counts() -> None:
    """D-7"""
    table = at("synthesize", debate, *AWAY).say(ada=vote(), bob=vote("oppose"), cy=vote())
    assert table.closed.motion == 3
    assert table.ballots == {"ada": "support", "bob": "oppose", "cy": "support"}


def test_a_later_vote_replaces_an_earlier_one_and_both_lines_stay() -> None:
    """D-2: nobody votes twice, and nothing said is taken back."""
    table = at("vote", debate, *AWAY).says("ada", vote("oppose", text="No.")).says("ada", vote("abstain")).says("ada", vote())
    assert table.asked == ["4.vote.bob", "4.vote.cy"]
    table.say(bob=vote(), cy=vote())
    assert table.ballots == {"ada": "support", "bob": "support", "cy": "support"}
    assert table.closed.consensus_type == "unanimous"
    assert [(line.seat, line.said.position) for line in table.state.lines[-5:-2]] == [
        ("ada", "oppose"),
        ("ada", "abstain"),
        ("ada", "support"),
    ]
    assert build_dissent(table.timeline) == ()


def test_no_seat_may_speak_for_ever() -> None:
    """D-6"""
    table = proposed(debate(*AWAY))
    for _ in range(MOST_CONTRIBUTIONS - 1):
        table.say_unchecked("ada", support(2))
    assert (table.invited, table.asked) == ([], ["2.argue.bob", "2.argue.cy"])
    assert table.say(bob=PASS, cy=PASS).asked == ["3.synthesize.ada", "3.synthesize.bob", "3.synthesize.cy"]


# The source's own example


def hsm(**answered: Any) -> DeliberationRun:
    table = debate(
        *HSM, topic="Should we adopt HSM architecture for long-context processing?", subject=build_topic(stakes="high")
    )
    table.says("emerson", propose("adopt", "Adopt HSM for long-context", 0.80))
    table.says("minski", support(2, "MIT data supports this", 0.85))
    table.says("code-reviewer", challenge(2, "No production benchmarks", 0.70))
    return table.says("emerson", synthesize("adopt", "HSM for parallel + attention fallback", 0.82, **answered))


PILOT = "No production benchmarks yet - revisit after pilot"
VOTES = {
    "emerson": vote("support", 0.85),
    "minski": vote("support", 0.80),
    "code-reviewer": vote("conditional_support", 0.70, condition=PILOT),
}


@pytest.mark.parametrize("order", list(permutations(VOTES)), ids=" ".join)
def test_the_sources_flow_converges_in_whatever_order_they_vote(order: tuple[str, ...]) -> None:
    """D-2, D-3, D-7, D-11: nobody passes in so many words."""
    table = hsm(accepts=(4,)).say_all({name: VOTES[name] for name in order})
    closed, decision = table.closed, build_decision(table.timeline)
    assert (closed.reason, closed.consensus_type, closed.motion) == ("voted", "convergent", 5)
    assert decision.decision is not None
    assert (decision.decision.text, decision.author) == ("HSM for parallel + attention fallback", "emerson")
    assert [(ballot.seat, ballot.position, ballot.confidence) for ballot in closed.ballots] == [
        ("emerson", "support", 0.85),
        ("minski", "support", 0.80),
        ("code-reviewer", "conditional_support", 0.70),
    ]
    assert [(voice.seat, voice.kind, voice.text) for voice in decision.dissent] == [("code-reviewer", "conditional", PILOT)]
    assert [(begun.phase, set(begun.passed)) for begun in table.phases] == [
        ("argue", {"minski", "code-reviewer"}),
        ("synthesize", {"emerson"}),
        ("vote", {"minski", "code-reviewer"}),
    ]


def test_a_challenge_that_the_sources_synthesis_does_not_name_stays_open() -> None:
    """D-12, D-21"""
    table = hsm().say_all(VOTES)
    assert (table.closed.consensus_type, table.closed.open_challenges) == ("convergent", (4,))
    assert [(voice.seat, voice.kind, voice.text) for voice in build_dissent(table.timeline)] == [
        ("code-reviewer", "conditional", PILOT),
        ("code-reviewer", "challenge", "No production benchmarks"),
    ]


# D-8: the owner decides


def advised(**rest: Any) -> DeliberationRun:
    """Before the owner's decision: bob supports in line 5, cy challenges in line 6."""
    return proposed(advisory(ADA, BOB, CY, **rest)).say(bob=support(2), cy=challenge(2, "Too dear."))


def test_one_proposes_the_others_advise_and_the_proposer_decides() -> None:
    """D-8"""
    table = proposed(advisory(ADA, BOB, CY))
    assert table.asked == ["2.argue.bob"]
    assert table.says("bob", support(2)).asked == ["2.argue.cy"]
    table.says("cy", challenge(2, "Too dear."))
    assert (table.asked, table.last) == (["3.decide.ada"], PhaseBegun(round=1, phase="decide"))
    table.says("ada", synthesize("yes", "Adopt it slowly.", 0.9, taken=(build_taken(5, "adopted"), build_taken(6, "partly"))))
    closed = table.closed
    assert (closed.reason, closed.consensus_type, closed.carried, closed.motion) == ("decided", "owner_decision", True, 7)
    assert table.ballots == {"ada": "support", "bob": "support", "cy": "conditional_support"}


def test_the_owner_may_be_any_seat() -> None:
    """D-8"""
    table = proposed(advisory(ADA, BOB, CY, settings=AdvisorySettings(owner=SeatId("cy"))))
    table.say(ada=PASS, bob=PASS)
    assert table.asked == ["3.decide.cy"]
    assert table.says("cy", synthesize("no")).closed.motion == 5


@pytest.mark.parametrize(
    ("taken", "missing"),
    [((), "5, 6"), ((build_taken(5, "adopted"),), "6"), ((build_taken(6, "declined"), build_taken(6, "partly")), "5")],
)
def test_the_owner_must_say_how_it_took_each_piece_of_advice(taken: tuple[object, ...], missing: str) -> None:
    """D-8"""
    fault = f"'taken' leaves out the advice in line {missing}; say of each piece of advice how it was taken, and why"
    assert advised().fault("ada", synthesize("yes", taken=taken)) == fault


def test_advice_given_early_must_be_taken_too() -> None:
    """D-8"""
    table = advisory(*AWAY).say(ada=propose("yes"), bob=challenge(2), cy=PASS).says("cy", PASS)
    assert table.fault("ada", synthesize("yes")) is not None
    assert table.fault("ada", synthesize("yes", taken=(build_taken(3, "adopted"),))) is None


@pytest.mark.parametrize("table", [advisory(ADA, BOB), advised()], ids=["propose", "decide"])
def test_the_owner_cannot_pass(table: DeliberationRun) -> None:
    """D-8"""
    expected = "propose" if table.state.phase == "propose" else "synthesize"
    fault = f"type 'pass' has no place in the phase {table.state.phase!r}; expected: {expected}"
    assert table.fault("ada", PASS) == fault


def test_the_owner_cannot_decide_before_it_was_advised() -> None:
    """D-8"""
    table = proposed(advisory(*AWAY))
    assert (table.asked, table.invited) == (["2.argue.bob", "2.argue.cy"], [])


def test_a_declined_challenge_is_answered_by_a_reason_and_stays_dissent() -> None:
    """D-8, D-12, D-21"""
    table = advised().says("ada", synthesize("yes", taken=(build_taken(5, "adopted"), build_taken(6, "declined", "We can pay."))))
    assert table.closed.open_challenges == ()
    assert table.ballots["cy"] == "oppose"
    assert build_dissent(table.timeline) == (Dissent(seat=SeatId("cy"), kind="challenge", text="Too dear.", entries=(6,)),)


def test_a_challenge_declined_without_a_reason_is_open() -> None:
    """D-8, D-21"""
    table = advised().says("ada", synthesize("yes", taken=(build_taken(5, "adopted"), build_taken(6, "declined", " "))))
    assert table.closed.open_challenges == (6,)
    assert table.ballots["cy"] == "oppose"


def test_an_owner_that_was_lost_before_it_proposed_leaves_no_decision() -> None:
    """D-8"""
    closed = advisory(ADA, BOB, CY).say(ada=None, bob=propose("no"), cy=propose("no")).closed
    assert (closed.reason, closed.carried, closed.motion, closed.consensus_type) == ("owner_lost", False, None, "no_consensus")


def test_an_owner_that_was_lost_before_it_decided_leaves_no_decision() -> None:
    """D-8"""
    table = advised().lose_seat("ada")
    assert table.closed.reason == "owner_lost"
    assert (table.closed.carried, build_decision(table.timeline).decision) == (False, None)


def test_a_close_that_is_called_before_the_owner_decided_leaves_no_decision() -> None:
    """D-3, D-8"""
    closed = advised().put(CloseCalled(by="bob")).closed
    assert (closed.reason, closed.carried, closed.consensus_type, closed.motion) == ("called", False, "no_consensus", 2)


def test_an_advisor_who_passes_abstains_and_one_that_is_lost_gave_no_word() -> None:
    """D-8"""
    table = proposed(advisory(ADA, BOB, CY)).say(bob=PASS, cy=None).says("ada", synthesize("yes"))
    assert table.ballots == {"ada": "support", "bob": "abstain", "cy": None}


def test_an_advisor_who_passes_after_an_earlier_loss_abstains() -> None:
    """D-8"""
    table = advisory(ADA, BOB, CY).say(ada=propose("yes"), bob=None, cy=propose("no"))
    table.say(bob=PASS, cy=PASS).says("ada", synthesize("yes"))
    assert table.ballots == {"ada": "support", "bob": "abstain", "cy": "abstain"}


@pytest.mark.parametrize("ends", [CloseCalled(), BudgetExhausted(budget="time", spent="all")], ids=["called", "budget"])
def test_an_advisor_that_was_never_asked_gave_no_word(ends: Fact) -> None:
    """D-3, D-8"""
    table = advisory(ADA, BOB, CY).says("ada", propose("yes")).put(ends)
    if table.asks:
        table.says("ada", synthesize("yes"))
    assert table.ballots == {"ada": "support", "bob": None, "cy": None}


def test_an_advisor_cannot_decide_even_where_its_answer_was_not_checked() -> None:
    """D-8: not every participant asks the brief what is wrong with its answer."""
    table = proposed(advisory(ADA, BOB, CY)).say_unchecked("bob", synthesize("no")).says("cy", PASS)
    decided = table.says("ada", synthesize("yes")).timeline.state.line(table.closed.motion)
    assert decided is not None
    assert decided.seat == "ada"
    lost = proposed(advisory(ADA, BOB, CY)).say_unchecked("bob", synthesize("no")).says("cy", PASS).lose_seat("ada")
    assert lost.closed.reason == "owner_lost"


# D-9: consensus


def objecting(table: DeliberationRun, **votes: Contribution | None) -> DeliberationRun:
    return table.say_all({"ada": vote(), "bob": vote("oppose", text="It is slow."), "cy": vote()} | votes)


def test_agreement_at_the_threshold_ends_it() -> None:
    """D-9"""
    table = at("synthesize", consensus).says("ada", synthesize("yes")).say_for_all(vote("support", 0.7))
    assert (table.closed.reason, table.closed.consensus_type, table.closed.carried) == ("voted", "unanimous", True)


@pytest.mark.parametrize("third", [vote("support", 0.69), vote("oppose"), vote("conditional_support", 0.6, condition="a pilot")])
def test_below_the_threshold_it_goes_back_for_another_synthesis(third: Contribution) -> None:
    """D-9"""
    table = at("synthesize", consensus).says("ada", synthesize("yes")).say(ada=vote(), bob=vote(), cy=third)
    assert (table.phase, table.last) == ((2, "synthesize"), PhaseBegun(round=2, phase="synthesize"))


def test_the_threshold_is_configurable() -> None:
    """D-9"""
    table = at("synthesize", consensus, settings=ConsensusSettings(threshold=0.5)).says("ada", synthesize("yes"))
    assert table.say_for_all(vote("support", 0.5)).closed.carried


def test_the_objections_are_put_to_the_next_synthesizer() -> None:
    """D-9"""
    table = at("synthesize", consensus).says("ada", synthesize("yes"))
    assert "objections" not in table.brief("bob").own
    objecting(table, cy=vote("conditional_support", 0.6, condition="After a pilot."))
    own = table.brief("bob").own
    assert "The last vote did not carry. These are the objections" in own
    assert "[#7 bob votes, oppose, confidence 0.80]\n| It is slow." in own
    assert "| condition: After a pilot." in own
    assert "#6" not in own


def test_the_synthesizer_rotates_round_by_round() -> None:
    """D-9"""
    table = at("synthesize", consensus, settings=ConsensusSettings(rounds=4))
    for number, name in enumerate(("ada", "bob", "cy", "ada"), 1):
        assert (table.phase, [ask.seat for ask in table.asks]) == ((number, "synthesize"), [name])
        objecting(table.says(name, synthesize("yes")))
    assert table.closed.reason == "voted"


@pytest.mark.parametrize("first", [PASS, None])
@pytest.mark.parametrize("second", [PASS, None])
def test_a_synthesizer_that_passes_or_is_lost_hands_on_to_the_next(
    first: Contribution | None, second: Contribution | None
) -> None:
    """D-9"""
    table = at("synthesize", consensus).say(ada=first)
    assert table.asked == ["3.synthesize.bob"]
    assert table.say(bob=second).asked == ["3.synthesize.cy"]
    table.says("cy", synthesize("no"))
    assert table.asked == ["4.vote.ada", "4.vote.bob", "4.vote.cy"]
    assert {seat for begun in table.phases[-1:] for seat in (*begun.passed, *begun.lost)} == {"ada", "bob"}


def test_where_all_synthesizers_pass_the_strongest_proposal_is_voted_on() -> None:
    """D-9"""
    assert at("synthesize", consensus).say_for_all(PASS).state.motion == 3


def test_a_seat_elsewhere_may_synthesize_out_of_turn() -> None:
    """D-9"""
    table = at("synthesize", consensus, *AWAY).says("cy", synthesize("no"))
    assert (table.phase, table.state.motion) == ((1, "vote"), 5)


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_after_the_last_round_it_closes_with_the_positions_as_they_stand(rounds: int) -> None:
    """D-9"""
    table = at("synthesize", consensus, settings=ConsensusSettings(rounds=rounds))
    for _ in range(rounds):
        objecting(table.say_for_all(synthesize("yes")))
    closed = table.closed
    assert (closed.reason, closed.consensus_type, closed.carried) == ("voted", "no_consensus", False)
    assert table.ballots == {"ada": "support", "bob": "oppose", "cy": "support"}
    assert build_decision(table.timeline).decision is None
    assert [(voice.seat, voice.kind, voice.text) for voice in build_dissent(table.timeline)] == [("bob", "oppose", "It is slow.")]
    assert sum(line.said.type == "synthesize" for line in table.state.lines) == rounds


def test_the_votes_of_the_last_round_count() -> None:
    """D-9"""
    table = objecting(at("synthesize", consensus).says("ada", synthesize("yes")))
    table.says("bob", synthesize("no")).say(ada=vote("support", 0.9), bob=vote("support", 0.9), cy=vote("support", 0.75))
    assert (table.closed.consensus_type, table.closed.motion) == ("unanimous", 9)
    assert [ballot.confidence for ballot in table.closed.ballots] == [0.9, 0.9, 0.75]
    assert build_dissent(table.timeline) == ()


def test_a_debate_goes_back_to_arguing_while_rounds_are_left() -> None:
    """D-7"""
    table = at("vote", settings=CouncilSettings(rounds=2)).say_for_all(vote("oppose"))
    assert (table.phase, table.asked) == ((2, "argue"), ["5.argue.ada"])
    table.pass_until("vote").say_for_all(vote("oppose"))
    assert (table.closed.reason, table.closed.consensus_type) == ("voted", "no_consensus")


def test_a_vote_in_which_nobody_votes_is_not_repeated() -> None:
    """D-9"""
    table = at("vote", consensus).say(ada=PASS, bob=PASS, cy=None)
    assert (table.closed.consensus_type, table.ballots) == ("no_consensus", {"ada": None, "bob": None, "cy": None})


# D-20: heads are not votes


@pytest.mark.parametrize(
    ("platforms", "effective"),
    [
        (("openai:gpt-5", "openrouter:openai/gpt-5-mini", "openai:o3"), 1.5),
        (("openai:gpt-5", "anthropic:claude-5", "google:gemini-3"), 2.0),
        ((MAILBOX, MAILBOX, MAILBOX), 2.0),
    ],
)
def test_seats_of_one_family_are_worth_less_than_their_heads(platforms: tuple[str, ...], effective: float) -> None:
    """D-20"""
    seats = [build_seat(name, platform=platform) for name, platform in zip(("ada", "bob", "cy"), platforms, strict=True)]
    closed = at("vote", debate, *seats).say_for_all(vote()).closed
    assert closed.heads == 3
    assert closed.effective == pytest.approx(effective)


def test_a_shared_record_replaces_what_is_presumed_of_families() -> None:
    """D-20"""
    bonds = tuple(
        ErrorCorrelation(one=SeatId(one), other=SeatId(other), correlation=value)
        for one, other, value in (("ada", "bob", 0.0), ("cy", "ada", 0.0), ("bob", "cy", 1.0))
    )
    seats = [build_seat(name, platform="openai:gpt-5") for name in ("ada", "bob", "cy")]
    closed = at("vote", debate, *seats, subject=Topic(bonds=bonds)).say_for_all(vote()).closed
    assert closed.effective == pytest.approx(9 / 5)
    some = at("vote", debate, *seats, subject=Topic(bonds=bonds[:1])).say_for_all(vote()).closed
    assert some.effective == pytest.approx(9 / 5)


def test_an_abstention_is_no_head() -> None:
    """D-20"""
    closed = at("vote").say(ada=vote(), bob=vote(), cy=vote("abstain")).closed
    assert (closed.heads, closed.turnout, closed.consensus_type) == (2, 2 / 3, "convergent")
    assert closed.ballots[2] == CouncilBallot(seat=SeatId("cy"), position="abstain", confidence=0.8, weight=0.0)


# D-21: what becomes of a challenge


CHALLENGED = 5


@pytest.mark.parametrize(
    ("name", "said", "state"),
    [
        ("cy", support(5, "True."), "answered"),
        ("cy", challenge(5, "Wrong."), "answered"),
        ("cy", support(2, answers=(5,)), "answered"),
        ("cy", support(2, accepts=(5,)), "accepted"),
        ("cy", support(2, answers=(5,), accepts=(5,)), "accepted"),
        ("cy", support(2), "open"),
        ("cy", PASS, "open"),
        ("bob", support(5), "open"),
        ("bob", support(2, answers=(5,)), "open"),
        ("bob", support(2, accepts=(5,)), "open"),
        ("ada", synthesize(answers=(5,)), "answered"),
        ("ada", synthesize(accepts=(5,)), "accepted"),
        ("ada", synthesize(refers_to=5), "answered"),
    ],
)
def test_a_challenge_is_answered_or_accepted_by_another_seat_or_stays_open(name: str, said: Contribution, state: str) -> None:
    """D-21"""
    table = proposed(debate(*AWAY)).says("bob", challenge(2))
    if said.type == "synthesize":
        table.says("cy", PASS)
    table.says(name, said)
    found = list_challenges(table.state)[0]
    assert found == Challenge(line=table.state.lines[3], state=found.state, by=None if state == "open" else 6)
    assert found.state == state
    if table.state.phase in {"argue", "synthesize"}:
        table.put(CloseCalled())
    assert (CHALLENGED in table.closed.open_challenges) == (state == "open")


@pytest.mark.parametrize(
    ("said", "is_open"),
    [(vote(refers_to=5), True), (vote(answers=(5,)), False), (vote(accepts=(5,)), False), (vote(moved_by=5), True)],
)
def test_a_vote_answers_a_challenge_only_where_it_says_so(said: Contribution, is_open: bool) -> None:
    """D-21"""
    table = proposed(debate(ADA, BOB, CY)).say(ada=PASS, bob=challenge(2), cy=PASS).pass_until("vote")
    table.say(ada=said, bob=vote(), cy=vote())
    assert table.closed.open_challenges == ((5,) if is_open else ())


def test_a_challenge_that_was_answered_first_and_accepted_later_is_accepted() -> None:
    """D-21"""
    table = proposed(debate(ADA, BOB, CY)).say(ada=challenge(3), bob=support(5), cy=support(3, accepts=(5,)))
    assert list_challenges(table.state) == [Challenge(line=table.state.lines[3], state="accepted", by=7)]


def test_open_challenges_are_listed_and_told_first() -> None:
    """D-21"""
    table = proposed(debate(ADA, BOB, CY)).say(ada=challenge(3, "Who pays?"), bob=challenge(5, "We do."), cy=PASS)
    table.pass_until("vote").say_for_all(vote())
    assert table.closed.open_challenges == (6,)
    assert [claim.text for claim in build_decision(table.timeline).open_challenges] == ["We do."]
    assert [(voice.seat, voice.kind) for voice in build_dissent(table.timeline)] == [("bob", "challenge")]


def test_those_who_synthesize_and_vote_see_which_challenges_are_open() -> None:
    """D-21"""
    table = proposed(debate(ADA, BOB, CY)).say(ada=challenge(3), bob=challenge(2, answers=(5,)), cy=PASS)
    assert "# Challenges that nobody has answered\n#6 bob\n" in table.brief("ada").own
    assert "# Challenges that nobody has answered\n#6 bob\n" in table.pass_until("vote").brief("ada").own
    table = proposed(debate(ADA, BOB, CY)).say(ada=challenge(3), bob=support(5), cy=PASS)
    assert "# Challenges" not in table.brief("ada").own


# How it ends


@pytest.mark.parametrize("budget", ["tokens", "money", "time"])
@pytest.mark.parametrize("phase", ["propose", "argue", "synthesize"])
@pytest.mark.parametrize("opener", [debate, consensus])
def test_a_budget_ends_the_talk_and_what_is_on_the_table_is_voted_on(opener: Opener, phase: str, budget: BudgetKind) -> None:
    """D-7"""
    table = at(phase, opener)
    table.says("ada", propose("yes") if phase == "propose" else PASS)
    table.put(BudgetExhausted(budget=budget, spent="all"))
    assert table.phase == (1, "vote")
    assert isinstance(table.last, PhaseBegun)
    assert table.last.motion == (2 if phase == "propose" else 3)
    assert [ask.kind for ask in table.asks] == ["vote", "vote", "vote"]
    closed = table.say(ada=vote("oppose"), bob=vote("oppose"), cy=vote()).closed
    assert (closed.reason, closed.carried) == (budget, False)


def test_a_budget_that_ends_before_anybody_proposed_leaves_no_decision() -> None:
    """D-7"""
    closed = debate(ADA, BOB).put(BudgetExhausted(budget="money", spent="all")).closed
    assert (closed.reason, closed.motion, closed.carried, closed.consensus_type) == ("money", None, False, "no_consensus")
    closed = advisory(ADA, BOB).says("bob", propose("no")).put(BudgetExhausted(budget="money", spent="all")).closed
    assert (closed.reason, closed.motion, closed.carried) == ("money", None, False)


def test_a_vote_that_was_begun_is_finished_whatever_the_budget() -> None:
    """D-7"""
    table = (
        at("vote", settings=CouncilSettings(rounds=3))
        .says("ada", vote("oppose"))
        .put(BudgetExhausted(budget="tokens", spent="all"))
    )
    assert table.asked == ["4.vote.bob", "4.vote.cy"]
    assert table.say_for_all(vote("oppose")).closed.reason == "tokens"


def test_a_budget_leaves_the_owner_its_decision() -> None:
    """D-8"""
    table = at("argue", advisory).says("bob", challenge(2)).put(BudgetExhausted(budget="tokens", spent="all"))
    assert table.asked == ["3.decide.ada"]
    assert table.says("ada", synthesize("yes", taken=(build_taken(5, "partly"),))).closed.carried


def test_turns_are_no_budget_of_a_deliberation() -> None:
    """D-7"""
    table = debate(ADA, BOB, budget=Budget(turns=1)).put(BudgetExhausted(budget="turns", spent="1 of 1"))
    assert table.asked == ["1.propose.ada", "1.propose.bob"]


@pytest.mark.parametrize("phase", ["propose", "argue", "synthesize", "vote"])
@pytest.mark.parametrize("opener", [debate, consensus])
def test_a_close_that_is_called_closes_at_once(opener: Opener, phase: str) -> None:
    """D-3"""
    closed = at(phase, opener).put(CloseCalled(by="emerson")).closed
    assert (closed.reason, closed.carried, closed.consensus_type) == ("called", False, "no_consensus")
    assert closed.motion == (None if phase == "propose" else 3)
    assert [ballot.position for ballot in closed.ballots] == [None, None, None]


def test_a_close_that_is_called_counts_the_votes_so_far() -> None:
    """D-3"""
    table = at("vote").say(ada=vote("support", 0.9), bob=vote("support", 0.8)).put(CloseCalled())
    closed = table.closed
    assert (closed.reason, closed.consensus_type, closed.carried, closed.turnout) == ("called", "convergent", True, 2 / 3)
    assert closed.ballots == (
        CouncilBallot(seat=SeatId("ada"), position="support", confidence=0.9, weight=0.45),
        CouncilBallot(seat=SeatId("bob"), position="support", confidence=0.8, weight=0.4),
        CouncilBallot(seat=SeatId("cy"), position=None, confidence=0.0, weight=0.0),
    )


def test_a_close_that_is_called_between_votes_keeps_the_last_vote_and_its_motion() -> None:
    """D-3, D-9"""
    table = objecting(at("synthesize", consensus).says("ada", synthesize("yes"))).put(CloseCalled())
    assert (table.closed.motion, table.ballots) == (5, {"ada": "support", "bob": "oppose", "cy": "support"})


def test_a_close_that_is_called_before_the_next_vote_leaves_a_new_synthesis_undecided() -> None:
    """D-3: the votes were about another line."""
    table = (
        at("vote", settings=CouncilSettings(rounds=2))
        .say_for_all(vote("oppose"))
        .pass_until("synthesize")
        .says("ada", synthesize("maybe"))
    )
    closed = table.put(CloseCalled()).closed
    assert (closed.motion, closed.carried, [ballot.position for ballot in closed.ballots]) == (3, False, ["oppose"] * 3)


def test_a_budget_does_not_reopen_what_was_called_to_a_close() -> None:
    """D-3: the engine looks at the budget before it asks the rulebook what follows."""
    table = debate(ADA, BOB).says("ada", propose("yes"))
    assert table.put_at_once(CloseCalled(), BudgetExhausted(budget="time", spent="all")).closed.reason == "called"


@pytest.mark.parametrize("phase", ["propose", "argue", "synthesize", "vote"])
@pytest.mark.parametrize("opener", [debate, consensus])
def test_a_seat_that_is_lost_in_any_phase_does_not_hold_up_the_others(opener: Opener, phase: str) -> None:
    """D-7"""
    table = at(phase, opener)
    said: dict[str, Contribution] = {"propose": propose("yes"), "vote": vote()}
    table.lose_seat("ada", "malformed")
    while table.state.phase == phase:
        table.says(table.asks[0].seat, said.get(phase, PASS))
    table.pass_until("vote")
    if table.asks:
        table.say_for_all(vote())
    assert table.closed.carried
    assert table.closed.lost == (CouncilLostSeat(seat=SeatId("ada"), times=1, last="malformed", weight_share=1 / 3),)
    assert (table.ballots["ada"] is None) == (phase == "vote")


def test_a_seat_that_is_lost_again_and_again_is_counted() -> None:
    """D-7"""
    table = debate(ADA, replace(BOB, weight=3.0)).say(ada=propose("yes"), bob=None)
    table.say(ada=PASS).lose_seat("bob", "refused").say(ada=PASS).lose_seat("bob", "error").say(ada=vote()).lose_seat(
        "bob", "gave_up"
    )
    closed = table.closed
    assert closed.lost == (CouncilLostSeat(seat=SeatId("bob"), times=4, last="gave_up", weight_share=0.75),)
    assert (closed.consensus_type, closed.turnout, closed.could_differ) == ("no_consensus", 0.25, True)


@pytest.mark.parametrize("phase", ["propose", "argue", "synthesize", "vote"])
def test_the_users_word_is_a_line_of_its_own_and_takes_nobodys_turn(phase: str) -> None:
    """D-13"""
    table = at(phase)
    before, count = table.asks, len(table.state.lines)
    table.give_input("And the union?")
    assert table.asks == before
    line = table.state.lines[-1]
    assert (len(table.state.lines), line.id, line.seat, line.said.text) == (count + 1, count + 2, USER, "And the union?")
    assert f"[#{count + 2} USER says]\n| And the union?" in table.brief("ada").shared
    assert table.timeline.lines[-1].content == "And the union?"


def test_a_users_word_is_neither_advice_nor_a_motion() -> None:
    """D-8, D-13"""
    table = at("argue", advisory).give_input("Mind the cost.").say(bob=PASS, cy=PASS)
    assert table.says("ada", synthesize("yes")).closed.motion == 6


@pytest.mark.parametrize("opener", [debate, advisory, consensus])
def test_a_cancelled_deliberation_asks_for_nothing(opener: Opener) -> None:
    """D-3"""
    table = proposed(opener(ADA, BOB, CY)).put(SessionCancelled(reason="enough"))
    assert (table.effects, table.state.phase) == ((), "closed")
    decision = build_decision(table.timeline)
    assert (decision.status, decision.ended_by, decision.decision, decision.dissent) == ("cancelled", "cancelled", None, ())


@pytest.mark.parametrize("fact", [InputGiven(text="late"), CloseCalled(), BudgetExhausted(budget="time", spent="")])
def test_what_comes_after_the_close_changes_nothing(fact: Fact) -> None:
    """D-3"""
    table = at("vote").say_for_all(vote())
    before = table.state
    assert table.put(fact).state == before


def test_a_fork_goes_on_with_the_seats_that_were_swapped_in() -> None:
    """D-16"""
    swaps = (Swap(seat=SeatId("ada"), platform="openai:gpt-5"), Swap(seat=SeatId("bob"), platform=MAILBOX))
    table = at("argue", settings=CouncilSettings(order="open"))
    before = table.asks
    table.put(SessionForked(source=SessionId("one"), at=4, swaps=swaps))
    assert table.asks == before
    assert [each.platform for each in table.state.seats] == ["openai:gpt-5", MAILBOX, "script:cy"]
    assert table.brief("ada").seat.platform == "openai:gpt-5"
    table.say(ada=PASS, bob=challenge(2))
    assert table.invited == ["bob"]
    table.put(SessionForked(source=SessionId("two"), at=9, swaps=(Swap(seat=SeatId("bob"), platform="openai:o3"),)))
    assert table.invited == []
    closed = table.pass_until("vote").say_for_all(vote()).closed
    assert closed.effective == pytest.approx(9 / (3 + 2 * 0.5 + 4 * 0.25))


def test_an_answer_to_nothing_that_was_asked_changes_nothing() -> None:
    """D-6"""
    table = proposed(debate(ADA, BOB, CY))
    before = table.state
    for ask, name in (("2.argue.bob", "bob"), ("2.argue.ada", "bob"), ("1.propose.ada", "ada"), ("4.free.ada", "ada")):
        table.put(Contributed(ask=AskId(ask), seat=SeatId(name), said=support(2)))
        table.put(SeatLost(ask=AskId("1.propose.ada"), seat=SeatId(name), reason="timeout"))
    assert table.state == before


def test_an_invitation_cannot_be_lost() -> None:
    """D-7"""
    table = debate(*AWAY).says("ada", propose("yes"))
    before = table.state
    assert table.put(SeatLost(ask=table.ask("ada").id, seat=SeatId("ada"), reason="timeout")).state == before


def test_an_unchecked_answer_of_another_phase_counts_as_a_pass() -> None:
    """D-7: the session goes on, and nothing is on the table that does not belong there."""
    table = debate(ADA, BOB, CY).say_unchecked("ada", vote()).say_unchecked("bob", synthesize()).says("cy", propose("yes"))
    assert table.last == PhaseBegun(round=1, phase="argue", passed=ids("ada", "bob"))
    assert [line.seat for line in table.state.lines] == ["cy"]


# D-6: what is wrong with a contribution


OPTIONS = Topic(options=("Adopt it", "Leave it"))


@pytest.mark.parametrize(
    ("phase", "said", "fault"),
    [
        ("propose", replace(propose("yes"), text=" \n"), "a propose needs a text"),
        ("argue", replace(support(2), text=""), "a support needs a text"),
        ("argue", replace(challenge(2), text=""), "a challenge needs a text"),
        ("synthesize", replace(synthesize(), text=""), "a synthesize needs a text"),
        ("propose", replace(propose("yes"), confidence=None), "a propose needs a confidence between 0 and 1"),
        ("argue", replace(support(2), confidence=None), "a support needs a confidence between 0 and 1"),
        ("vote", replace(vote(), confidence=None), "a vote needs a confidence between 0 and 1"),
        ("vote", replace(vote("abstain"), confidence=None), None),
        ("vote", replace(vote(), position=None), "a vote needs a position: support, conditional_support, oppose or abstain"),
        ("vote", vote("conditional_support", condition="  "), "a conditional_support names its condition"),
        ("vote", vote("conditional_support", condition="a pilot"), None),
        ("vote", vote(), None),
        ("propose", propose("yes", position="support"), "a position belongs to a vote, not to a propose"),
        (
            "propose",
            replace(propose("yes", position="abstain"), confidence=None),
            "a position belongs to a vote, not to a propose",
        ),
        ("argue", support(5), "line 5 does not exist; the lines are 1 to 4"),
        ("argue", support(1), None),
        ("argue", support(2, answers=(9,)), "line 9 does not exist; the lines are 1 to 4"),
        ("argue", support(2, accepts=(9,)), "line 9 does not exist; the lines are 1 to 4"),
        ("vote", vote(moved_by=99), "line 99 does not exist; the lines are 1 to 4"),
        ("vote", vote(moved_by=4), None),
        ("argue", support(2, answers=(3,)), "line 3 is no challenge; the challenges are: none"),
        ("argue", support(2, answers=(1,)), "line 1 is no challenge; the challenges are: none"),
        ("synthesize", synthesize(accepts=(2,)), "line 2 is no challenge; the challenges are: none"),
        ("synthesize", synthesize(taken=(build_taken(44, "adopted"),)), "line 44 does not exist; the lines are 1 to 4"),
    ],
)
def test_a_fault_says_what_was_expected(phase: str, said: Contribution, fault: str | None) -> None:
    """D-6"""
    assert at(phase).fault("ada", said) == fault


def test_an_answer_to_what_is_no_challenge_is_told_which_there_are() -> None:
    """D-6, D-21"""
    table = proposed(debate(*AWAY)).says("ada", challenge(3)).says("bob", challenge(2))
    assert table.fault("cy", support(2, answers=(5, 2))) == "line 2 is no challenge; the challenges are: 5, 6"
    assert table.fault("cy", support(2, answers=(5, 6))) is None


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (propose("Adopt it"), None),
        (propose("ADOPT IT."), None),
        (propose("Both"), "choice 'Both' is none of the options; expected one of: Adopt it, Leave it"),
        (propose(""), "choice '' is none of the options; expected one of: Adopt it, Leave it"),
    ],
)
def test_a_proposal_chooses_among_the_options_where_there_are_any(said: Contribution, fault: str | None) -> None:
    """D-6"""
    assert debate(ADA, BOB, subject=OPTIONS).fault("ada", said) == fault


def test_a_synthesis_chooses_among_the_options_and_an_argument_need_not() -> None:
    """D-6"""
    table = debate(ADA, BOB, subject=OPTIONS).say(ada=propose("Adopt it"), bob=propose("Leave it"))
    assert table.fault("ada", support(2)) is None
    table.pass_until("synthesize")
    assert table.fault("ada", synthesize("Both")) == "choice 'Both' is none of the options; expected one of: Adopt it, Leave it"
    assert table.fault("ada", synthesize("leave it")) is None


# What it costs


def asked_in(table: DeliberationRun) -> list[tuple[str, int]]:
    kinds = [ask.kind for ask in table.ever_asked.values()]
    return [(kind, kinds.count(kind)) for kind in dict.fromkeys(kinds)]


def five(opener: Opener, choices: str = "yyynn") -> DeliberationRun:
    table = opener(*FIVE)
    for each, choice in zip(FIVE, choices, strict=True):
        table.says(each.id, propose(choice))
    return table


def test_a_debate_of_five_takes_twenty_asks() -> None:
    """D-7"""
    table = five(debate).say_for_all(support(2)).say_for_all(synthesize("y")).say_for_all(vote())
    assert table.closed.carried
    assert asked_in(table) == [("propose", 5), ("argue", 5), ("synthesize", 5), ("vote", 5)]


@pytest.mark.parametrize("opener", [debate, advisory, consensus])
def test_five_that_agree_blind_take_five_asks(opener: Opener) -> None:
    """D-19"""
    table = five(opener, "yyyyy")
    assert table.closed.carried
    assert asked_in(table) == [("propose", 5)]


def test_a_consensus_of_five_with_one_synthesis_takes_sixteen_asks() -> None:
    """D-9"""
    table = five(consensus).say_for_all(support(2)).say_for_all(synthesize("y")).say_for_all(vote())
    assert table.closed.carried
    assert asked_in(table) == [("propose", 5), ("argue", 5), ("synthesize", 1), ("vote", 5)]


def test_an_advisory_panel_of_five_takes_ten_asks() -> None:
    """D-8, D-15: everyone's blind position is kept, the four advise, the one decides."""
    table = five(advisory).say_for_all(PASS).say_for_all(synthesize("y"))
    assert table.closed.carried
    assert asked_in(table) == [("propose", 5), ("argue", 4), ("decide", 1)]


@pytest.mark.parametrize(("phase", "kind"), [("propose", "propose"), ("argue", "argue"), ("decide", "decide")])
def test_every_ask_has_the_patience_of_its_settings(phase: Phase, kind: str) -> None:
    """D-5"""
    table = at(phase, advisory, settings=AdvisorySettings(patience=33.0))
    assert {(ask.kind, ask.patience, ask.turn) for ask in table.asks} == {(kind, 33.0, 1)}


def test_no_seat_gives_its_own_proposal_more_weight_by_speaking_often() -> None:
    """D-7: six supports of one's own proposal weigh nothing."""
    table = debate(*AWAY).say(ada=propose("yes"), bob=propose("yes"), cy=propose("no"))
    for number in range(6):
        table.says("cy", support(4, f"Again, {number}."))
    table.says("ada", PASS).says("bob", PASS).pass_until("vote")
    assert table.state.motion == 2


def test_whoever_writes_a_synthesis_again_does_not_move_behind_the_others() -> None:
    """D-7: it mends its own; the last to come to a synthesis has the motion."""
    table = proposed(debate(*AWAY)).say_for_all(PASS)
    table.says("ada", synthesize("yes")).says("bob", synthesize("no")).says("ada", synthesize("yes", text="Once more.")).says(
        "cy", PASS
    )
    motion = table.state.line(table.state.motion)
    assert motion is not None
    assert motion.seat == "bob"
