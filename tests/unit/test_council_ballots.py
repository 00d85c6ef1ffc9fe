"""D-7, D-23: candidates and sealed ballots; the votes choose the motion, never the order in which words arrive."""

from collections.abc import Mapping
from itertools import permutations

import pytest
from tests.support.council_scenes import ADA, AWAY, BOB, CY, at, proposed, seen
from tests.support.play_council import (
    PASS,
    DeliberationRun,
    advisory,
    build_seat,
    challenge,
    consensus,
    debate,
    propose,
    support,
    synthesize,
    vote,
)

from moothall.domain.facts import CloseCalled
from moothall.domain.ids import SeatId
from moothall.domain.roster import MAILBOX, Seat
from moothall.domain.topic import Topic
from moothall.errors import BadSetting
from moothall.protocols.council.ballots import read_ballot
from moothall.protocols.council.facts import (
    CandidateVote,
    ConsensusSettings,
    Contribution,
    CouncilSettings,
    PhaseBegun,
)
from moothall.protocols.council.report_timeline import add_and_describe_entry
from moothall.protocols.council.timeline import (
    CouncilTimeline,
    build_decision,
    build_dissent,
    build_obligations,
)
from moothall.reports.decision import Obligation
from moothall.scoring.positions import VotePosition

NAMES = ("ada", "bob", "cy")


def cast(positions: Mapping[int, VotePosition], confidence: float = 0.8) -> Contribution:
    """A ballot with these positions."""
    votes = tuple(
        CandidateVote(
            candidate=number,
            position=position,
            condition="a pilot" if position == "conditional_support" else "",
        )
        for number, position in positions.items()
    )
    return Contribution(type="vote", ballot=votes, confidence=confidence)


def ballot(confidence: float = 0.8, **positions: VotePosition) -> Contribution:
    """A ballot over the lines that are named `l5`, `l6`, …"""
    return cast({int(line[1:]): position for line, position in positions.items()}, confidence)


def three_syntheses(order: tuple[str, ...] = NAMES) -> DeliberationRun:
    """Three agents from elsewhere; each wrote its own synthesis, in this order of arrival."""
    table = at("synthesize", debate, *AWAY)
    for name in order:
        table.says(name, synthesize(f"S-{name[0]}", f"The synthesis of {name}."))
    return table


# The motion


@pytest.mark.parametrize("arrival", list(permutations(NAMES)), ids=" ".join)
@pytest.mark.parametrize("votes", list(permutations(NAMES)), ids=" ".join)
def test_whoever_writes_or_votes_last_the_same_synthesis_wins(
    arrival: tuple[str, ...], votes: tuple[str, ...]
) -> None:
    """D-7: the order of arrival decides nothing."""
    table = three_syntheses(arrival)
    lines = {line.seat: line.id for line in table.state.lines if line.said.type == "synthesize"}
    a, b, c = (lines[SeatId(name)] for name in NAMES)
    casts = {
        "ada": cast({a: "support", b: "support", c: "oppose"}),
        "bob": cast({a: "oppose", b: "support", c: "oppose"}),
        "cy": cast({a: "oppose", b: "conditional_support", c: "support"}),
    }
    for name in votes:
        table.says(name, casts[name])
    motion = table.state.line(table.closed.motion)
    assert motion is not None
    assert (motion.said.choice, table.closed.support, table.closed.carried) == ("S-b", 1.0, True)
    assert table.ballots == {"ada": "support", "bob": "support", "cy": "conditional_support"}
    ranked = [
        line.said.choice
        for each in table.closed.candidates
        if (line := table.state.line(each.line)) is not None
    ]
    assert ranked == ["S-b", "S-a", "S-c"]


def test_of_equals_the_one_with_more_unconditional_support_is_the_motion() -> None:
    """D-7"""
    table = three_syntheses().pass_until("vote")
    table.say(
        ada=ballot(l5="conditional_support", l6="support"),
        bob=ballot(l5="support", l6="support"),
        cy=ballot(l5="oppose", l6="oppose"),
    )
    assert table.closed.motion == 6


@pytest.mark.parametrize("arrival", [("cy", "bob", "ada"), ("ada", "bob", "cy")])
def test_then_the_author_who_comes_first_in_the_roster(arrival: tuple[str, ...]) -> None:
    """D-7"""
    table = three_syntheses(arrival)
    assert [line.seat for line in map(table.state.line, table.state.candidates) if line] == list(
        NAMES
    )
    everything = cast(dict.fromkeys(table.state.candidates, "support"))
    table.say(ada=everything, bob=everything, cy=everything)
    motion = table.state.line(table.closed.motion)
    assert motion is not None
    assert motion.seat == "ada"


def test_one_that_abstains_from_a_candidate_does_not_make_its_one_supporter_heavier() -> None:
    """D-7: five who are fairly sure outweigh one who is very sure, whoever abstains."""
    seats = [build_seat(name) for name in ("ada", "bob", "cy", "dee", "eve")]
    table = (
        debate(*seats)
        .say(**{seat.id: propose(f"P-{seat.id}", f"Of {seat.id}.") for seat in seats})
        .pass_until("vote")
    )
    table.say(ada=ballot(0.95, l2="support", l3="abstain"))
    table.say(**{name: ballot(0.7, l3="support") for name in ("bob", "cy", "dee", "eve")})
    assert table.closed.motion == 3


def test_a_bare_vote_counts_where_there_is_one_candidate() -> None:
    """D-2, D-7: as the source's own example votes. All differed before (D-12), so that it is contested."""
    table = at("synthesize").says("ada", synthesize("yes")).pass_until("vote").say_for_all(vote())
    assert (table.closed.motion, table.closed.consensus_type, table.closed.support) == (
        5,
        "contested",
        1.0,
    )


def test_a_bare_vote_is_otherwise_answered_with_the_list() -> None:
    """D-7"""
    table = three_syntheses()
    expected = (
        "there are 3 candidates: #5 by ada, #6 by bob, #7 by cy; give a position on each in `ballot`, "
        "or name one of them in `refers_to`"
    )
    assert table.fault("ada", vote()) == expected
    assert table.fault("ada", vote("oppose")) == expected
    assert table.fault("ada", vote(refers_to=2)) == expected
    assert table.fault("ada", vote(refers_to=6)) is None
    assert table.fault("ada", vote("abstain")) is None
    assert table.fault("ada", ballot(l2="support")) == (
        "line 2 is no candidate; the candidates are: #5 by ada, #6 by bob, #7 by cy"
    )
    assert table.fault("ada", ballot(l5="support")) is None


def test_a_bare_abstention_abstains_from_all_and_a_candidate_that_is_not_named_gets_no_side() -> (
    None
):
    """D-7"""
    assert {vote.position for vote in read_ballot(vote("abstain"), (5, 6)).values()} == {"abstain"}
    table = three_syntheses().pass_until("vote")
    table.say(ada=vote("abstain"), bob=vote(refers_to=6), cy=vote(refers_to=6))
    assert table.ballots == {"ada": "abstain", "bob": "support", "cy": "support"}
    assert {each.line: each.support > 0 for each in table.closed.candidates} == {
        5: False,
        6: True,
        7: False,
    }


def test_an_asked_seat_that_leaves_a_candidate_out_is_noted_and_not_refused() -> None:
    """M-1, D-7"""
    table = at("synthesize").say(ada=synthesize("a", "A."), bob=synthesize("b", "B."), cy=PASS)
    said, mends = table.brief("ada").normalize(ballot(l5="support"))
    assert (said, mends) == (ballot(l5="support"), ("missing ballot #6",))
    vague = Contribution(
        type="vote", ballot=(CandidateVote(candidate=5, position="conditional_support"),)
    )
    mended, mends = table.brief("ada").normalize(vague)
    assert isinstance(mended, Contribution)
    assert (mended.ballot[0].position, mends) == (
        "support",
        ("missing condition", "missing ballot #6"),
    )


def test_a_new_synthesis_in_the_next_round_makes_new_candidates() -> None:
    """D-7"""
    table = at("synthesize", settings=CouncilSettings(rounds=2)).say(
        ada=synthesize("a", "A."), bob=PASS, cy=PASS
    )
    table.say_for_all(vote("oppose")).pass_until("synthesize").say(
        ada=PASS, bob=synthesize("b", "B."), cy=PASS
    )
    assert table.state.candidates == (9,)
    assert table.say_for_all(vote()).closed.motion == 9


def test_a_close_that_is_called_ahead_of_the_vote_counts_ballots_that_were_cast_early() -> None:
    """D-3, D-7"""
    table = (
        at("synthesize", debate, *AWAY)
        .says("ada", synthesize("a", "A."))
        .says("bob", synthesize("b", "B."))
    )
    table.says("ada", ballot(l5="oppose", l6="support")).says("bob", vote(refers_to=6)).put(
        CloseCalled()
    )
    assert (table.closed.motion, table.ballots) == (
        6,
        {"ada": "support", "bob": "support", "cy": None},
    )


# D-23: sealed


def test_votes_are_sealed_until_all_are_in() -> None:
    """D-23"""
    table = at("synthesize", debate, *AWAY).says("ada", synthesize("a", "A.")).pass_until("vote")
    table.says("ada", vote("oppose", text="SECRET reason"))
    assert "SECRET" in seen(table.brief("ada"))
    for name in ("bob", "cy"):
        assert "SECRET" not in seen(table.brief(name))
        assert "oppose" not in table.brief(name).shared
    assert [line.id for line in table.state.list_visible_lines(None)] == [2, 3, 4, 5]
    table.say(bob=vote(), cy=vote())
    assert table.state.sealed == frozenset()
    assert table.state.reveals == (table.entries[-1].seq,)


def test_a_vote_ahead_of_the_vote_is_sealed_too() -> None:
    """D-23"""
    table = (
        at("synthesize", debate, *AWAY)
        .says("ada", synthesize("a", "A."))
        .says("ada", vote(text="SECRET"))
    )
    assert "SECRET" not in seen(table.brief("bob"))
    table.say(bob=PASS, cy=PASS)
    assert table.phase == (1, "vote")
    assert "SECRET" not in seen(table.brief("bob"))


def test_a_vote_ahead_that_was_changed_stays_sealed_too() -> None:
    """D-23"""
    table = at("synthesize", debate, *AWAY).says("ada", synthesize("a", "A."))
    table.says("ada", vote(text="FIRST thought")).says(
        "ada", vote("oppose", text="SECOND thought")
    ).say(bob=PASS, cy=PASS)
    assert table.phase == (1, "vote")
    assert "thought" not in seen(table.brief("bob"))


def test_what_was_sealed_can_be_read_in_the_next_round() -> None:
    """D-23"""
    table = at("synthesize", consensus, *AWAY).says("ada", synthesize("a", "A."))
    table.say(ada=vote(), bob=vote("oppose", text="It is slow."), cy=vote())
    assert table.phase == (2, "synthesize")
    assert "| It is slow." in table.brief("cy").shared


def test_the_live_view_tells_votes_when_all_are_in() -> None:
    """D-23"""
    table = (
        at("synthesize")
        .says("ada", synthesize("a", "A."))
        .pass_until("vote")
        .says("ada", vote("oppose", text="SECRET"))
    )
    timeline = CouncilTimeline(table.timeline.session, table.rules)
    told = [line for entry in table.entries for line in add_and_describe_entry(timeline, entry)]
    assert not [line for line in told if "SECRET" in str(line)]
    assert "  ada has written; sealed until all have" in told
    before = len(table.entries)
    table.say(bob=vote(), cy=vote())
    later = [
        line for entry in table.entries[before:] for line in add_and_describe_entry(timeline, entry)
    ]
    assert len([line for line in later if "SECRET" in str(line)]) == 1


def test_nothing_can_refer_to_what_is_sealed() -> None:
    """D-19, D-23"""
    table = debate(*AWAY).says("ada", propose("yes"))
    fault = "line 2 is sealed: nobody has read it yet, so nothing can refer to it; wait until this phase ends"
    assert table.fault("bob", support(2)) == fault
    assert table.fault("bob", challenge(2)) == fault
    assert table.fault("bob", support()) is None


# A rebuttal


def test_those_who_were_challenged_answer_before_the_synthesis_and_only_they() -> None:
    """D-21"""
    table = proposed(debate(ADA, BOB, CY)).say(
        ada=challenge(3, "Too slow?"), bob=PASS, cy=challenge(3, "Too dear?")
    )
    assert table.last == PhaseBegun(round=1, phase="answer")
    assert table.asked == ["3.answer.bob"]
    own = table.brief("bob").own
    assert "Your words were challenged in #5 #6." in own
    said, _ = table.brief("bob").normalize(Contribution(type="support", text="It is not."))
    assert isinstance(said, Contribution)
    assert said.answers == (5, 6)
    table.says("bob", said)
    assert table.phase == (1, "synthesize")
    assert table.say_for_all(synthesize("x")).say_for_all(vote()).closed.open_challenges == ()


def test_where_nobody_was_challenged_nobody_is_asked_to_answer() -> None:
    """D-7"""
    assert [
        each.phase for each in proposed(debate(ADA, BOB, CY)).say_for_all(support(2)).phases
    ] == ["argue", "synthesize"]


def test_a_rebuttal_can_be_left_out() -> None:
    table = proposed(debate(ADA, BOB, CY, settings=CouncilSettings(rebuttal=False))).say(
        ada=challenge(3), bob=PASS, cy=PASS
    )
    assert table.phase == (1, "synthesize")


def test_one_who_is_challenged_by_a_line_that_names_none_answers_for_the_only_proposal() -> None:
    table = (
        debate(*AWAY)
        .say(ada=propose("yes"), bob=PASS, cy=PASS)
        .say(ada=PASS, bob=challenge(), cy=PASS)
    )
    assert table.asked == ["3.answer.ada"]
    two = proposed(debate(*AWAY)).say(ada=challenge(), bob=PASS, cy=PASS)
    assert two.phase == (1, "synthesize")


def test_a_challenged_seat_elsewhere_may_go_on_instead_and_then_nobody_is_asked() -> None:
    """D-7: as the source's own example does."""
    table = debate(*AWAY).say(ada=propose("yes"), bob=PASS, cy=PASS).say(bob=challenge(2), cy=PASS)
    table.says("ada", synthesize("yes", "Both.", accepts=(3,)))
    assert table.phase == (1, "synthesize")
    table.says("bob", vote()).says("cy", vote()).says("ada", vote())
    assert (table.closed.carried, table.closed.open_challenges) == (True, ())


def test_one_that_is_lost_when_it_should_answer_holds_nobody_up() -> None:
    table = proposed(debate(ADA, BOB, CY)).say(ada=challenge(3), bob=PASS, cy=PASS).lose_seat("bob")
    assert table.phase == (1, "synthesize")
    assert table.say_for_all(PASS).say_for_all(vote()).closed.open_challenges == (5,)


def test_an_owner_is_not_asked_to_answer_twice() -> None:
    """D-8: it says how it took each piece of advice when it decides."""
    assert proposed(advisory(ADA, BOB, CY)).say(bob=challenge(2), cy=PASS).phase == (1, "decide")


# An adaptive panel


def panel(
    *seats: Seat, options: tuple[str, ...] = (), order: str = "roster", **choices: str
) -> DeliberationRun:
    settings = CouncilSettings(
        panel="adaptive", debate="always", panel_order="trust" if order == "trust" else "roster"
    )
    table = debate(*seats, settings=settings, subject=Topic(options=options))
    for name, choice in choices.items():
        assert [ask.seat for ask in table.asks] == [name]
        table.says(name, propose(choice, f"{choice}."))
    return table


MODELS = ("gpt", "claude", "qwen", "phi", "glm")
FIVE = tuple(
    build_seat(name, platform=f"openai:{model}")
    for name, model in zip("abcde", MODELS, strict=True)
)


def test_seats_are_asked_one_after_another_until_it_is_settled() -> None:
    table = panel(*FIVE, a="Redis", b="redis")
    closed = table.closed
    assert (closed.reason, closed.carried, closed.motion, closed.unasked) == (
        "settled",
        True,
        2,
        ("c", "d", "e"),
    )
    assert [ballot.seat for ballot in closed.ballots] == ["a", "b"]
    assert closed.confidence is not None
    assert closed.confidence >= 0.8
    assert (closed.turnout, closed.consensus_type, closed.outcome_uncertain) == (
        1.0,
        "unanimous",
        False,
    )


def test_a_lead_of_three_settles_it_where_the_posterior_does_not() -> None:
    alike = tuple(build_seat(name, platform="openai:gpt") for name in "abcde")
    table = panel(*alike, options=("yes", "no"), a="yes", b="yes")
    assert table.phase == (1, "propose")
    assert table.says("c", propose("yes")).closed.reason == "settled"


def test_where_they_differ_all_are_asked_and_then_it_is_argued() -> None:
    table = panel(*FIVE, options=("yes", "no"), a="yes", b="no", c="yes", d="no", e="yes")
    assert table.phase == (1, "argue")


def test_the_order_by_trust_is_the_callers_choice() -> None:
    seats = (build_seat("a", trust=0.4), build_seat("b", trust=0.9), build_seat("c", trust=0.6))
    assert [ask.seat for ask in panel(*seats).asks] == ["a"]
    assert [ask.seat for ask in panel(*seats, order="trust").asks] == ["b"]


def test_those_who_name_another_choice_oppose_and_are_told() -> None:
    table = panel(*FIVE, a="Redis", b="files", c="Redis")
    assert (table.closed.reason, table.ballots["b"]) == ("settled", "oppose")
    decision = build_decision(table.timeline)
    # D-12: dissent is listed where nobody was asked to vote, too.
    assert (decision.choice, [(each.seat, each.text) for each in decision.dissent]) == (
        "Redis",
        [("b", "files.")],
    )


def test_only_a_debate_with_blind_positions_has_an_adaptive_panel() -> None:
    with pytest.raises(BadSetting, match="needs the protocol debate and blind positions"):
        debate(ADA, BOB, settings=CouncilSettings(panel="adaptive", blind=False))
    with pytest.raises(BadSetting, match="needs the protocol debate and blind positions"):
        consensus(ADA, BOB, settings=ConsensusSettings(panel="adaptive"))


# Conditions and dissent


def test_conditions_of_what_was_carried_are_obligations() -> None:
    """D-22"""
    table = at("synthesize").says("ada", synthesize("yes")).pass_until("vote")
    table.say(
        ada=vote(),
        bob=vote("conditional_support", condition="A pilot first.", due="before May"),
        cy=vote("conditional_support", condition="A pilot first."),
    )
    assert (table.closed.carried, table.closed.support) == (True, 1.0)
    assert build_obligations(table.timeline) == build_decision(table.timeline).obligations
    assert build_obligations(table.timeline) == (
        Obligation(seat=SeatId("bob"), text="A pilot first.", due="before May", entries=(7,)),
        Obligation(seat=SeatId("cy"), text="A pilot first.", entries=(8,)),
    )
    # D-12: two who say the same are two, and neither of them dissents.
    assert build_dissent(table.timeline) == ()


def test_a_condition_on_another_text_of_the_choice_obliges_and_who_is_against_the_words_is_listed() -> (
    None
):
    """D-12, D-22: the choice is what counts, and no condition or opposition is lost with it."""
    table = at("synthesize", debate, *AWAY).say(
        ada=synthesize("yes", "In May."), bob=synthesize("yes", "In June."), cy=PASS
    )
    table.say(
        ada=ballot(l5="support", l6="support"),
        bob=ballot(l5="conditional_support", l6="oppose"),
        cy=ballot(l5="oppose", l6="support"),
    )
    decision = build_decision(table.timeline)
    assert (table.closed.motion, table.ballots["bob"]) == (6, "conditional_support")
    assert [(each.seat, each.text) for each in decision.obligations] == [("bob", "a pilot")]
    assert [(each.seat, each.text) for each in decision.dissent] == [
        ("bob", "for the choice, against these words: gives no reason")
    ]


def test_where_all_abstain_nobody_is_said_to_be_sure() -> None:
    """D-12: no side, no figure."""
    table = at("synthesize").says("ada", synthesize("", "In May.")).pass_until("vote")
    table.say_for_all(Contribution(type="vote", position="abstain"))
    decision = build_decision(table.timeline)
    assert (decision.confidence, {each.confidence_after for each in decision.positions}) == (
        None,
        {None},
    )


def test_what_was_not_carried_obliges_nobody() -> None:
    """D-22"""
    table = at("synthesize").says("ada", synthesize("yes")).pass_until("vote")
    table.say(
        ada=vote("oppose"),
        bob=vote("oppose"),
        cy=vote("conditional_support", condition="A pilot first."),
    )
    assert build_obligations(table.timeline) == ()


def test_dissent_is_never_empty_and_never_names_the_winner() -> None:
    """D-12"""
    table = (
        proposed(debate(ADA, BOB, CY))
        .say(ada=challenge(3, "Too slow."), bob=PASS, cy=PASS)
        .say(bob=PASS)
    )
    table.says("ada", synthesize("yes", "Adopt it.")).say_for_all(PASS)
    table.say(ada=vote(), bob=vote(), cy=vote("oppose"))
    assert table.closed.open_challenges == (5,)
    assert [(voice.seat, voice.kind, voice.text) for voice in build_dissent(table.timeline)] == [
        ("cy", "oppose", "gives no reason")
    ]


def test_a_seat_elsewhere_counts_by_the_family_that_it_states() -> None:
    """D-20: seven agents of one family count as what they are."""
    clones = [
        Seat(id=SeatId(f"s{number}"), platform=MAILBOX, family="gpt-5") for number in range(7)
    ]
    others = [Seat(id=SeatId(name), platform=MAILBOX, family=name) for name in ("claude", "qwen")]
    table = debate(*clones, *others).says("s0", propose("yes"))
    table.say_all({seat.id: PASS for seat in (*clones[1:], *others)})
    table.pass_until("vote").say_all(
        {seat.id: Contribution(type="vote", position="support") for seat in clones}
    )
    table.say_all({seat.id: Contribution(type="vote", position="oppose") for seat in others})
    assert (
        table.closed.voters,
        round(table.closed.effective_voters, 1),
        table.closed.consensus_type,
    ) == (9, 2.2, "contested")
