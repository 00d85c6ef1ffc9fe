"""Advisory panels, consensus rounds, and the source's own example."""

from itertools import permutations
from typing import Any

import pytest
from tests.support.council_scenes import ADA, AWAY, BOB, CY, HSM, at, objecting, proposed
from tests.support.play_council import (
    PASS,
    DeliberationRun,
    advisory,
    build_taken,
    challenge,
    consensus,
    debate,
    propose,
    support,
    synthesize,
    vote,
)

from moothall.domain.facts import BudgetExhausted, CloseCalled, Fact
from moothall.domain.ids import SeatId
from moothall.domain.topic import build_topic
from moothall.errors import BadSetting
from moothall.protocols.council.facts import (
    ConsensusSettings,
    Contribution,
    CouncilSettings,
    PhaseBegun,
)
from moothall.protocols.council.plugin import AdvisorySettings
from moothall.protocols.council.timeline import build_decision, build_dissent
from moothall.reports.decision import Dissent

# The source's own example


def hsm(**answered: Any) -> DeliberationRun:
    table = debate(
        *HSM,
        topic="Should we adopt HSM architecture for long-context processing?",
        subject=build_topic(stakes="high"),
    )
    table.says("emerson", propose("adopt", "Adopt HSM for long-context", 0.80))
    table.says("minski", support(None, "MIT data supports this", 0.85))
    table.says("code-reviewer", challenge(None, "No production benchmarks", 0.70))
    return table.says(
        "emerson", synthesize("adopt", "HSM for parallel + attention fallback", 0.82, **answered)
    )


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
    assert (decision.decision.text, decision.author) == (
        "HSM for parallel + attention fallback",
        "emerson",
    )
    assert [(ballot.seat, ballot.position, ballot.confidence) for ballot in closed.ballots] == [
        ("emerson", "support", 0.85),
        ("minski", "support", 0.80),
        ("code-reviewer", "conditional_support", 0.70),
    ]
    assert decision.dissent == ()
    assert [(each.seat, each.text) for each in decision.obligations] == [("code-reviewer", PILOT)]
    assert [begun.phase for begun in table.phases] == ["argue", "synthesize", "vote"]


def test_a_challenge_that_the_sources_synthesis_does_not_name_stays_open() -> None:
    """D-12, D-21"""
    table = hsm().say_all(VOTES)
    assert (table.closed.consensus_type, table.closed.open_challenges) == ("convergent", (4,))
    assert [(voice.seat, voice.kind, voice.text) for voice in build_dissent(table.timeline)] == [
        ("code-reviewer", "challenge", "No production benchmarks"),
    ]


# D-8: the owner decides


def advised(**rest: Any) -> DeliberationRun:
    """Before the owner's decision: bob supports in line 5, cy challenges in line 6."""
    return proposed(advisory(ADA, BOB, CY, **rest)).say(
        bob=support(2), cy=challenge(2, "Too dear.")
    )


def test_one_proposes_the_others_advise_and_the_proposer_decides() -> None:
    """D-8"""
    table = proposed(advisory(ADA, BOB, CY))
    assert table.asked == ["2.argue.bob"]
    assert table.says("bob", support(2)).asked == ["2.argue.cy"]
    table.says("cy", challenge(2, "Too dear."))
    assert (table.asked, table.last) == (["3.decide.ada"], PhaseBegun(round=1, phase="decide"))
    table.says(
        "ada",
        synthesize(
            "yes",
            "Adopt it slowly.",
            0.9,
            taken=(build_taken(5, "adopted"), build_taken(6, "partly")),
        ),
    )
    closed = table.closed
    assert (closed.reason, closed.consensus_type, closed.carried, closed.motion) == (
        "decided",
        "owner_decision",
        True,
        7,
    )
    assert table.ballots == {"ada": "support", "bob": "support", "cy": "conditional_support"}


def test_the_owner_may_be_any_seat() -> None:
    """D-8"""
    table = proposed(advisory(ADA, BOB, CY, settings=AdvisorySettings(owner=SeatId("cy"))))
    table.say(ada=PASS, bob=PASS)
    assert table.asked == ["3.decide.cy"]
    assert table.says("cy", synthesize("no")).closed.motion == 5


@pytest.mark.parametrize(
    ("taken", "missing"),
    [
        ((), "5, 6"),
        ((build_taken(5, "adopted"),), "6"),
        ((build_taken(6, "declined"), build_taken(6, "partly")), "5"),
    ],
)
def test_the_owner_must_say_how_it_took_each_piece_of_advice(
    taken: tuple[object, ...], missing: str
) -> None:
    """D-8"""
    fault = f"'taken' leaves out the advice in line {missing}; say of each piece of advice how it was taken, and why"
    table = proposed(advisory(*AWAY)).say(bob=support(2), cy=challenge(2, "Too dear."))
    assert table.fault("ada", synthesize("yes", taken=taken)) == fault
    # An owner that Moot asks itself is not refused over it: what it left out is noted.
    asked = advised()
    assert asked.fault("ada", synthesize("yes", taken=taken)) is None
    lines = " ".join(f"#{number}" for number in missing.split(", "))
    assert asked.brief("ada").normalize(synthesize("yes", taken=taken))[1] == (
        f"missing taken {lines}",
    )


def test_advice_given_early_must_be_taken_too() -> None:
    """D-8"""
    table = advisory(*AWAY).say(ada=propose("yes"), bob=challenge(), cy=PASS).says("cy", PASS)
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
    table = advised().says(
        "ada",
        synthesize(
            "yes", taken=(build_taken(5, "adopted"), build_taken(6, "declined", "We can pay."))
        ),
    )
    assert table.closed.open_challenges == ()
    assert table.ballots["cy"] == "oppose"
    assert build_dissent(table.timeline) == (
        Dissent(seat=SeatId("cy"), kind="challenge", text="Too dear.", entries=(6,)),
    )


def test_who_advised_what_the_owner_left_does_not_support_what_it_decided() -> None:
    """D-8, D-12: bob supported the proposal that ada left, and cy challenged it."""
    table = advised().says("ada", synthesize("no", "We leave it."))
    decision = build_decision(table.timeline)
    assert table.ballots == {"ada": "support", "bob": "oppose", "cy": "abstain"}
    assert [(each.seat, each.kind) for each in decision.dissent] == [
        ("bob", "oppose"),
        ("cy", "challenge"),
    ]
    assert (decision.reasons, decision.support, decision.strength) == ((), 0.5, "disputed")
    against = (
        proposed(advisory(ADA, BOB, CY))
        .say(bob=support(2), cy=support(2))
        .says("ada", synthesize("no", "We leave it."))
    )
    overruled = build_decision(against.timeline)
    assert (overruled.overruled, overruled.strength) == (True, "overruled")


def test_a_challenge_declined_without_a_reason_is_open() -> None:
    """D-8, D-21"""
    table = advised().says(
        "ada", synthesize("yes", taken=(build_taken(5, "adopted"), build_taken(6, "declined", " ")))
    )
    assert table.closed.open_challenges == (6,)
    assert table.ballots["cy"] == "oppose"


def test_an_owner_that_was_lost_before_it_proposed_leaves_no_decision() -> None:
    """D-8"""
    closed = (
        advisory(ADA, BOB, CY)
        .say(ada=None, bob=propose("no"), cy=propose("no"))
        .say(ada=None)
        .closed
    )
    assert (closed.reason, closed.carried, closed.motion, closed.consensus_type) == (
        "owner_lost",
        False,
        None,
        "no_consensus",
    )


def test_an_owner_that_was_lost_before_it_decided_leaves_no_decision() -> None:
    """D-8"""
    table = advised().lose_seat("ada").lose_seat("ada")
    assert table.closed.reason == "owner_lost"
    assert (table.closed.carried, build_decision(table.timeline).decision) == (False, None)


def test_a_close_that_is_called_before_the_owner_decided_leaves_no_decision() -> None:
    """D-3, D-8"""
    closed = advised().put(CloseCalled(by="bob")).closed
    assert (closed.reason, closed.carried, closed.consensus_type, closed.motion) == (
        "called",
        False,
        "no_consensus",
        2,
    )


def test_an_advisor_who_passes_abstains_and_one_that_is_lost_gave_no_word() -> None:
    """D-8"""
    table = proposed(advisory(ADA, BOB, CY)).say(bob=PASS, cy=None).says("ada", synthesize("yes"))
    assert table.ballots == {"ada": "support", "bob": "abstain", "cy": None}


def test_an_advisor_who_passes_after_an_earlier_loss_abstains() -> None:
    """D-8"""
    table = advisory(ADA, BOB, CY).say(ada=propose("yes"), bob=None, cy=propose("no"))
    table.say(bob=PASS, cy=PASS).says("ada", synthesize("yes"))
    assert table.ballots == {"ada": "support", "bob": "abstain", "cy": "abstain"}


@pytest.mark.parametrize(
    "ends",
    [CloseCalled(), BudgetExhausted(budget="time", spent=9, limit=9)],
    ids=["called", "budget"],
)
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
    lost = (
        proposed(advisory(ADA, BOB, CY))
        .say_unchecked("bob", synthesize("no"))
        .says("cy", PASS)
        .lose_seat("ada")
        .lose_seat("ada")
    )
    assert lost.closed.reason == "owner_lost"


# D-9: consensus


def test_agreement_at_the_threshold_ends_it() -> None:
    """D-9"""
    table = (
        at("synthesize", consensus).says("ada", synthesize("yes")).say_for_all(vote("support", 0.7))
    )
    assert (table.closed.reason, table.closed.consensus_type, table.closed.carried) == (
        "voted",
        "contested",
        True,
    )


@pytest.mark.parametrize(
    "third",
    [vote("support", 0.69), vote("oppose"), vote("conditional_support", 0.6, condition="a pilot")],
)
def test_below_the_threshold_it_goes_back_for_another_synthesis(third: Contribution) -> None:
    """D-9"""
    table = (
        at("synthesize", consensus)
        .says("ada", synthesize("yes"))
        .say(ada=vote(), bob=vote(), cy=third)
    )
    assert (table.phase, table.last) == ((2, "synthesize"), PhaseBegun(round=2, phase="synthesize"))


def test_the_threshold_is_configurable() -> None:
    """D-9"""
    table = at("synthesize", consensus, settings=ConsensusSettings(threshold=0.6)).says(
        "ada", synthesize("yes")
    )
    assert table.say_for_all(vote("support", 0.6)).closed.carried


def test_the_objections_are_put_to_the_next_synthesizer() -> None:
    """D-9"""
    table = at("synthesize", consensus).says("ada", synthesize("yes"))
    assert "did not carry" not in table.brief("bob").own
    objecting(table, cy=vote("conditional_support", 0.6, condition="After a pilot."))
    own = table.brief("bob").own
    assert "The last vote did not carry: meet #7 #8. " in own
    shared = table.brief("bob").shared
    assert "[#7 bob votes, oppose]\n| It is slow." in shared
    assert "| condition: After a pilot." in shared
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


def test_where_all_synthesizers_pass_every_proposal_is_voted_on() -> None:
    """D-7, D-9"""
    assert at("synthesize", consensus).say_for_all(PASS).state.candidates == (2, 3, 4)


def test_where_one_synthesis_is_enough_a_seat_elsewhere_waits_for_its_turn_to_write_it() -> None:
    """D-7, D-9: who comes first decides nothing."""
    table = at("synthesize", consensus, *AWAY)
    assert (
        table.fault("cy", synthesize("no"))
        == "type 'synthesize' has no place in the phase 'synthesize'; expected: pass, vote"
    )
    table.says("ada", PASS).says("bob", PASS).says("cy", synthesize("no"))
    assert (table.phase, table.state.candidates) == ((1, "vote"), (5,))


@pytest.mark.parametrize("third", [vote("abstain"), None])
def test_consensus_means_all_seats_unless_a_smaller_quorum_was_set(
    third: Contribution | None,
) -> None:
    """D-9: one that abstains, is lost or did not vote is not an agreement."""
    for quorum, carried in ((None, False), (3, False), (2, True)):
        settings = ConsensusSettings(rounds=1, quorum=quorum)
        table = at("synthesize", consensus, settings=settings).says("ada", synthesize("yes"))
        closed = table.say(ada=vote(), bob=vote(), cy=third).closed
        assert (closed.carried, closed.consensus_type) == (
            carried,
            "contested" if carried else "no_consensus",
        )


@pytest.mark.parametrize("third", [vote("oppose", 0.01), vote("support", 0.69)])
def test_a_quorum_does_not_overrule_one_that_does_not_agree(third: Contribution) -> None:
    """D-9"""
    table = at("synthesize", consensus, settings=ConsensusSettings(rounds=1, quorum=1)).says(
        "ada", synthesize("yes")
    )
    assert not table.say(ada=vote(), bob=vote(), cy=third).closed.carried


def test_a_quorum_of_more_seats_than_there_are_is_refused() -> None:
    """D-9"""
    with pytest.raises(BadSetting, match="quorum = 4 is more than the 3 seats; expected 1 to 3"):
        consensus(ADA, BOB, CY, settings=ConsensusSettings(quorum=4))


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_after_the_last_round_it_closes_with_the_positions_as_they_stand(rounds: int) -> None:
    """D-9"""
    table = at("synthesize", consensus, settings=ConsensusSettings(rounds=rounds))
    for _ in range(rounds):
        objecting(table.say_for_all(synthesize("yes")))
    closed = table.closed
    assert (closed.reason, closed.consensus_type, closed.carried) == (
        "voted",
        "no_consensus",
        False,
    )
    assert table.ballots == {"ada": "support", "bob": "oppose", "cy": "support"}
    assert build_decision(table.timeline).decision is None
    assert [(voice.seat, voice.kind, voice.text) for voice in build_dissent(table.timeline)] == [
        ("bob", "oppose", "It is slow.")
    ]
    assert sum(line.said.type == "synthesize" for line in table.state.lines) == rounds


def test_the_votes_of_the_last_round_count() -> None:
    """D-9"""
    table = objecting(at("synthesize", consensus).says("ada", synthesize("yes")))
    table.says("bob", synthesize("no")).say(
        ada=vote("support", 0.9), bob=vote("support", 0.9), cy=vote("support", 0.75)
    )
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
    assert (table.closed.consensus_type, table.ballots) == (
        "no_consensus",
        {"ada": None, "bob": None, "cy": None},
    )
