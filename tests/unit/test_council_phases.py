"""The course of a deliberation: phases, motions, what is written blind, seats elsewhere."""

import pytest
from tests.support.council_scenes import ADA, AWAY, BOB, CY, NO_BLIND, Opener, at, proposed, seen
from tests.support.play_council import (
    PASS,
    TOPIC,
    advisory,
    build_mailbox_seat,
    challenge,
    consensus,
    debate,
    propose,
    support,
    synthesize,
    vote,
)

from moothall.domain.budget import LONG_ANSWER, SHORT_ANSWER
from moothall.domain.effects import Ask
from moothall.domain.facts import BudgetExhausted
from moothall.domain.ids import AskId, SeatId
from moothall.domain.roster import Seat
from moothall.domain.session_state import LostSeat
from moothall.errors import BadRoster, BadSetting
from moothall.protocols.council.ballots import find_discussed_motion
from moothall.protocols.council.facts import (
    Contribution,
    CouncilSettings,
    PhaseBegun,
    SpeakingOrder,
)
from moothall.protocols.council.plugin import DEBATE_VARIANT, AdvisorySettings, expect_calls
from moothall.protocols.council.report import build_council_report
from moothall.protocols.council.rules import MAX_CONTRIBUTIONS
from moothall.protocols.council.timeline import PassedTurn, build_dissent
from moothall.reports.plain_text import render_markdown

# D-7: the phases


def test_the_phases_follow_one_another_and_everyone_has_a_turn_in_each() -> None:
    """D-7"""
    table = proposed(debate(ADA, BOB, CY))
    table.say(ada=support(2), bob=challenge(2), cy=PASS)
    table.say(ada=synthesize("yes"), bob=PASS, cy=PASS)
    table.say(ada=vote(), bob=vote("oppose"), cy=vote())
    assert table.phases == [
        PhaseBegun(round=1, phase="argue"),
        PhaseBegun(round=1, phase="answer"),
        PhaseBegun(round=1, phase="synthesize"),
        PhaseBegun(round=1, phase="vote", candidates=(7,)),
    ]
    assert list(table.ever_asked) == [
        f"{step}.{phase}.{name}"
        for step, phase in enumerate(("propose", "argue", "answer", "synthesize", "vote"), 1)
        for name in (("ada",) if phase == "answer" else ("ada", "bob", "cy"))
    ]
    assert (table.closed.reason, table.closed.consensus_type, table.closed.motion) == (
        "voted",
        "contested",
        7,
    )


def test_a_pass_and_a_loss_are_turns_and_are_on_record() -> None:
    """D-7"""
    table = debate(*AWAY).say(ada=propose("yes"), bob=PASS, cy=None)
    assert table.last == PhaseBegun(round=1, phase="argue")
    assert [(one.seat, one.phase, one.is_implied) for one in table.timeline.passes] == [
        ("bob", "propose", False)
    ]
    table.say(ada=PASS, bob=PASS).say_for_all(PASS)
    assert "2.argue.cy" in table.ever_asked


def test_the_words_of_a_pass_stand_beside_it_once_they_may_be_read() -> None:
    """M-2, D-4: words with substance are not thrown away; blind they stay as long as all others."""
    table = debate(*AWAY).say(
        ada=propose("yes"), bob=Contribution(type="pass", text="Neither\nis safe.")
    )
    assert table.timeline.list_silences() == {"bob": "passes"}
    table.say(cy=propose("no")).say(ada=Contribution(type="pass", text="It loses data."), bob=PASS)
    assert table.timeline.list_silences() == {"ada": "passes: It loses data.", "bob": "passes"}
    shown = render_markdown(build_council_report(table.timeline))
    assert "bob passes: Neither is safe." in shown
    assert "ada passes: It loses data." in shown


def test_whoever_was_lost_is_asked_again_in_the_next_phase() -> None:
    """D-7"""
    table = at("argue").say(ada=None, bob=None, cy=None)
    assert table.last == PhaseBegun(round=1, phase="synthesize")
    assert table.say_for_all(synthesize("yes")).asked == ["4.vote.ada", "4.vote.bob", "4.vote.cy"]


def test_a_pass_in_a_vote_that_goes_to_another_round_is_recorded() -> None:
    """D-7"""
    table = at("vote", settings=CouncilSettings(rounds=2)).say(
        ada=vote("oppose"), bob=PASS, cy=None
    )
    assert table.last == PhaseBegun(round=2, phase="argue")


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
    assert (
        at("propose", debate, *seats, settings=CouncilSettings(order=chosen)).opened.settings.order
        == order
    )


@pytest.mark.parametrize("opener", [debate, advisory, consensus])
def test_a_deliberation_needs_two_seats(opener: Opener) -> None:
    """D-1"""
    with pytest.raises(BadRoster, match="a meeting needs 2 to 64 seats, not 1"):
        opener(ADA)


def test_an_owner_who_does_not_sit_at_the_table_is_refused() -> None:
    """D-8"""
    with pytest.raises(BadSetting, match="owner = 'zed' is not a seat; the seats are: ada, bob"):
        advisory(ADA, BOB, settings=AdvisorySettings(owner=SeatId("zed")))


@pytest.mark.parametrize("opener", [debate, consensus])
def test_where_nobody_proposes_they_are_asked_once_more_and_then_there_is_nothing_to_decide(
    opener: Opener,
) -> None:
    """D-7, M-1"""
    table = opener(*AWAY).say(ada=PASS, bob=PASS, cy=None)
    assert table.last == PhaseBegun(round=1, phase="propose")
    assert table.state.is_sealed
    closed = table.say(ada=PASS, bob=PASS, cy=None).closed
    assert (
        closed.reason,
        closed.consensus_type,
        closed.carried,
        closed.motion,
        closed.confidence,
        closed.support,
    ) == (
        "nothing_proposed",
        "no_consensus",
        False,
        None,
        None,
        None,
    )
    assert closed.lost == (
        LostSeat(seat=SeatId("cy"), times=2, last="timeout", weight_share=1 / 3, did_not_vote=True),
    )


def test_whoever_proposes_when_asked_once_more_is_heard() -> None:
    """M-1"""
    table = debate(ADA, BOB, CY).say(ada=None, bob=None, cy=None)
    assert table.asked == ["2.propose.ada", "2.propose.bob", "2.propose.cy"]
    assert table.say(ada=propose("yes"), bob=None, cy=propose("no")).phase == (1, "argue")


def test_a_first_pass_is_not_offered_to_a_seat_that_moot_asks() -> None:
    """M-1"""
    table = debate(ADA, BOB, CY)
    assert table.fault("ada", PASS) is None
    assert "pass" not in str(table.brief("ada").schema)
    assert debate(*AWAY).fault("ada", PASS) is None


def test_an_owner_who_gave_nothing_is_asked_once_more_and_nobody_else_is() -> None:
    """M-1, M-2"""
    table = advisory(ADA, BOB, CY).say(ada=None, bob=propose("no"), cy=propose("no"))
    assert table.asked == ["2.propose.ada"]
    table.say(ada=propose("yes")).pass_until("decide").say(ada=None)
    assert table.asked == ["5.decide.ada"]
    assert table.say(ada=synthesize("yes")).closed.reason == "decided"


# What is voted on


def test_every_synthesis_is_a_candidate() -> None:
    """D-7"""
    table = at("synthesize").say(ada=synthesize("yes", "S-a"), bob=synthesize("no", "S-b"), cy=PASS)
    assert table.last == PhaseBegun(round=1, phase="vote", candidates=(5, 6))


def test_two_syntheses_in_the_same_words_are_one_candidate() -> None:
    """D-7"""
    table = at("synthesize").say(
        ada=synthesize("yes", "The same."), bob=synthesize("no", "the  same."), cy=PASS
    )
    assert table.last == PhaseBegun(round=1, phase="vote", candidates=(5,))


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
def test_without_a_synthesis_every_proposal_is_a_candidate(
    said: tuple[Contribution, ...], motion: int
) -> None:
    """D-7: before the vote, the discussion is about the one with most behind it.

    That is: seats of the same choice and supporters, less challengers, each once and none for its own.
    """
    table = at("argue")
    for name, each in zip(("ada", "bob", "cy"), said, strict=True):
        table.says(name, each)
    table.pass_until("vote")
    assert table.last == PhaseBegun(round=1, phase="vote", candidates=(2, 3, 4))
    discussed = find_discussed_motion(table.rules.variant, table.state)
    assert discussed is not None
    assert discussed.id == motion


def test_not_to_have_named_a_choice_is_no_common_ground() -> None:
    """D-7"""
    table = (
        debate(ADA, BOB, CY)
        .say(ada=propose("yes"), bob=propose(""), cy=propose(""))
        .pass_until("vote")
    )
    discussed = find_discussed_motion(table.rules.variant, table.state)
    assert discussed is not None
    assert discussed.id == 2


# D-19: blind


def test_while_proposals_are_written_nobody_can_read_anothers() -> None:
    """D-19"""
    table = debate(*AWAY).says("ada", propose("yes", "SECRET one", evidence=("SECRET two",)))
    table.says("bob", propose("no", "HIDDEN")).says(
        "ada", challenge(None, "SECRET three")
    ).give_input("And the cost?")
    assert [table.state.is_sealed, table.asked, table.invited] == [
        True,
        ["1.propose.cy"],
        ["ada", "bob"],
    ]
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
    table = debate(*AWAY).say(
        ada=propose("yes", "First."), bob=propose("no", "Second."), cy=propose("no", "Third.")
    )
    for name in ("ada", "bob", "cy"):
        shared = table.brief(name).shared
        assert all(
            text in shared
            for text in ("| First.", "| Second.", "| Third.", "[#2 ada", "[#3 bob", "[#4 cy")
        )
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
    assert (
        "# Now\n| yes: ada; no: bob, cy\nSupport or challenge one line above, where the answers part"
        in own
    )


def test_where_nothing_is_blind_proposals_can_be_read_at_once() -> None:
    """D-19"""
    table = debate(*AWAY, settings=NO_BLIND).says("ada", propose("yes", "SECRET"))
    assert "| SECRET" in table.brief("bob").shared
    assert table.brief("bob").subject == "SECRET"
    table.say(bob=propose("yes"), cy=propose("yes"))
    assert table.phase == (1, "argue")


def test_a_budget_breaks_the_seal() -> None:
    """D-19: what is decided on must be readable."""
    table = (
        debate(ADA, BOB)
        .says("ada", propose("yes", "SECRET"))
        .put(BudgetExhausted(budget="tokens", spent=9, limit=9))
    )
    assert "SECRET" in table.brief("bob").shared


# Seats that answer from elsewhere


def test_a_seat_elsewhere_that_goes_on_early_has_passed() -> None:
    """D-7"""
    table = debate(*AWAY).say(ada=propose("yes"), bob=propose("no"), cy=support())
    assert table.last == PhaseBegun(round=1, phase="argue")
    assert table.timeline.passes == [
        PassedTurn(seq=4, seat=SeatId("cy"), round=1, phase="propose", is_implied=True)
    ]
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
        (
            "propose",
            vote(),
            "type 'vote' has no place in the phase 'propose'; expected: propose, pass, support, challenge",
        ),
        (
            "argue",
            vote(),
            "type 'vote' has no place in the phase 'argue'; expected: support, challenge, pass",
        ),
        (
            "argue",
            propose(),
            "type 'propose' has no place in the phase 'argue'; expected: support, challenge, pass",
        ),
        (
            "synthesize",
            support(2),
            "type 'support' has no place in the phase 'synthesize'; expected: synthesize, pass, vote",
        ),
        (
            "vote",
            synthesize(),
            "type 'synthesize' has no place in the phase 'vote'; expected: vote, pass",
        ),
    ],
)
def test_nobody_is_two_phases_ahead_or_one_behind(
    phase: str, said: Contribution, fault: str
) -> None:
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
    table = (
        proposed(debate(*AWAY))
        .says("ada", support(2))
        .says("ada", challenge(3))
        .says("ada", support(2, answers=(6,)))
    )
    assert [(line.id, line.said.type) for line in table.state.lines[3:]] == [
        (5, "support"),
        (6, "challenge"),
        (7, "support"),
    ]
    assert table.asked == ["2.argue.bob", "2.argue.cy"]
    assert (
        table.fault("ada", PASS)
        == "type 'pass' has no place in the phase 'argue'; expected: support, challenge"
    )


def test_only_seats_elsewhere_are_invited() -> None:
    """D-7"""
    table = debate(ADA, build_mailbox_seat("bob"), CY).say(ada=propose("yes"), bob=propose("no"))
    assert table.effects == (
        Ask(id=AskId("1.propose.cy"), seat=SeatId("cy"), kind="propose", turn=1, patience=180.0),
        Ask(
            id=AskId("2.free.bob"),
            seat=SeatId("bob"),
            kind="free",
            turn=2,
            patience=180.0,
            invited=True,
        ),
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
    assert table.last == PhaseBegun(round=1, phase="argue")


def test_a_vote_cast_before_the_motion_was_there_is_not_a_vote_on_it() -> None:
    """D-7"""
    table = (
        at("synthesize", debate, *AWAY)
        .says("ada", vote())
        .says("bob", synthesize("no"))
        .says("cy", vote("oppose"))
    )
    assert table.last == PhaseBegun(round=1, phase="vote", candidates=(6,))
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
    table = (
        at("synthesize", debate, *AWAY)
        .says("ada", synthesize("yes", "S-a"))
        .says("bob", vote())
        .says("cy", synthesize("no", "S-c"))
    )
    assert table.asked == ["4.vote.ada", "4.vote.bob", "4.vote.cy"]


def test_a_vote_cast_early_on_the_only_motion_counts() -> None:
    """D-7"""
    table = at("synthesize", debate, *AWAY).say(ada=vote(), bob=vote("oppose"), cy=vote())
    assert table.closed.motion == 3
    assert table.ballots == {"ada": "support", "bob": "oppose", "cy": "support"}


def test_a_later_vote_replaces_an_earlier_one_and_both_lines_stay() -> None:
    """D-2: nobody votes twice, and nothing said is taken back."""
    table = (
        at("vote", debate, *AWAY)
        .says("ada", vote("oppose", text="No."))
        .says("ada", vote("abstain"))
        .says("ada", vote())
    )
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
    for _ in range(MAX_CONTRIBUTIONS - 1):
        table.say_unchecked("ada", support(2))
    assert (table.invited, table.asked) == ([], ["2.argue.bob", "2.argue.cy"])
    assert table.say(bob=PASS, cy=PASS).asked == [
        "3.synthesize.ada",
        "3.synthesize.bob",
        "3.synthesize.cy",
    ]


def test_a_vote_is_expected_to_be_the_one_short_answer() -> None:
    """An estimate counts what each phase is worth in words: a vote is short, everything before it is long."""
    opened = at("propose").state.opened
    sizes = {each.tokens_out for each in expect_calls(DEBATE_VARIANT, opened)[:-1]}
    assert sizes == {LONG_ANSWER}
    assert expect_calls(DEBATE_VARIANT, opened)[-1].tokens_out == SHORT_ANSWER
