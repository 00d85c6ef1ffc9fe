"""Independent votes, challenges, how a deliberation ends, what is wrong with a contribution, what it costs."""

import math
from dataclasses import replace

import pytest
from tests.support.council_scenes import ADA, AWAY, BOB, CY, FIVE, Opener, at, objecting, proposed
from tests.support.play_council import (
    PASS,
    DeliberationRun,
    advisory,
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

from moothall.domain.budget import Budget, BudgetKind
from moothall.domain.facts import (
    BudgetExhausted,
    CloseCalled,
    Fact,
    InputGiven,
    SeatLost,
    SessionCancelled,
    SessionForked,
)
from moothall.domain.ids import USER, AskId, SeatId, SessionId
from moothall.domain.roster import MAILBOX, Swap
from moothall.domain.session_state import LostSeat
from moothall.domain.topic import ErrorCorrelation, Topic
from moothall.protocols.council.facts import (
    CandidateVote,
    Contributed,
    Contribution,
    CouncilBallot,
    CouncilSettings,
    Phase,
    PhaseBegun,
)
from moothall.protocols.council.motions import Challenge, list_challenges
from moothall.protocols.council.plugin import AdvisorySettings
from moothall.protocols.council.timeline import build_decision, build_dissent
from moothall.scoring.positions import VotePosition

# D-20: heads are not votes


@pytest.mark.parametrize(
    ("platforms", "effective"),
    [
        (("openai:gpt-5", "openrouter:openai/gpt-5-mini", "openai:o3"), 1.5),
        (("openai:gpt-5", "anthropic:claude-5", "google:gemini-3"), 2.0),
        ((MAILBOX, MAILBOX, MAILBOX), 2.0),
    ],
)
def test_seats_of_one_family_are_worth_less_than_their_heads(
    platforms: tuple[str, ...], effective: float
) -> None:
    """D-20"""
    seats = [
        build_seat(name, platform=platform)
        for name, platform in zip(("ada", "bob", "cy"), platforms, strict=True)
    ]
    closed = at("vote", debate, *seats).say_for_all(vote()).closed
    assert closed.voters == 3
    assert closed.effective_voters == pytest.approx(effective)


def test_a_shared_record_replaces_what_is_presumed_of_families() -> None:
    """D-20"""
    bonds = tuple(
        ErrorCorrelation(one=SeatId(one), other=SeatId(other), correlation=value)
        for one, other, value in (("ada", "bob", 0.0), ("cy", "ada", 0.0), ("bob", "cy", 1.0))
    )
    seats = [build_seat(name, platform="openai:gpt-5") for name in ("ada", "bob", "cy")]
    closed = (
        at("vote", debate, *seats, subject=Topic(error_correlations=bonds))
        .say_for_all(vote())
        .closed
    )
    assert closed.effective_voters == pytest.approx(9 / 5)
    some = (
        at("vote", debate, *seats, subject=Topic(error_correlations=bonds[:1]))
        .say_for_all(vote())
        .closed
    )
    assert some.effective_voters == pytest.approx(9 / 5)


def test_an_opponent_who_is_hardly_sure_helps_no_motion() -> None:
    """D-12"""
    table = at("vote", debate)
    table.say(ada=vote("support", None), bob=vote("oppose", 0.75), cy=vote("oppose", 0.51))
    assert not table.closed.carried


def test_an_abstention_is_no_head() -> None:
    """D-20"""
    closed = at("vote").say(ada=vote(), bob=vote(), cy=vote("abstain")).closed
    assert (closed.voters, closed.turnout, closed.consensus_type) == (2, 2 / 3, "convergent")
    assert closed.ballots[2] == CouncilBallot(
        seat=SeatId("cy"), position="abstain", confidence=0.8, weight=0.0
    )


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
def test_a_challenge_is_answered_or_accepted_by_another_seat_or_stays_open(
    name: str, said: Contribution, state: str
) -> None:
    """D-21"""
    table = proposed(debate(*AWAY)).says("bob", challenge(2))
    if said.type == "synthesize":
        table.says("cy", PASS)
    table.says(name, said)
    found = list_challenges(table.state)[0]
    assert found == Challenge(
        line=table.state.lines[3], state=found.state, by=None if state == "open" else 6
    )
    assert found.state == state
    if table.state.phase in {"argue", "synthesize"}:
        table.put(CloseCalled())
    assert (CHALLENGED in table.closed.open_challenges) == (state == "open")


@pytest.mark.parametrize(
    ("said", "is_open"),
    [
        (vote(refers_to=3), True),
        (vote(answers=(5,)), False),
        (vote(accepts=(5,)), False),
        (vote(moved_by=5), True),
    ],
)
def test_a_vote_answers_a_challenge_only_where_it_says_so(
    said: Contribution, is_open: bool
) -> None:
    """D-21"""
    table = (
        proposed(debate(ADA, BOB, CY)).say(ada=PASS, bob=challenge(2), cy=PASS).pass_until("vote")
    )
    table.say(ada=said, bob=vote(), cy=vote())
    assert table.closed.open_challenges == ((5,) if is_open else ())


def test_a_challenge_that_was_answered_first_and_accepted_later_is_accepted() -> None:
    """D-21"""
    table = proposed(debate(ADA, BOB, CY)).say(
        ada=challenge(3), bob=support(5), cy=support(3, accepts=(5,))
    )
    assert list_challenges(table.state) == [
        Challenge(line=table.state.lines[3], state="accepted", by=7)
    ]


def test_open_challenges_are_listed_and_told_first() -> None:
    """D-21"""
    table = proposed(debate(ADA, BOB, CY)).say(
        ada=challenge(3, "Who pays?"), bob=challenge(5, "We do."), cy=PASS
    )
    table.pass_until("vote").say_for_all(vote())
    assert table.closed.open_challenges == (6,)
    assert [claim.text for claim in build_decision(table.timeline).open_challenges] == ["We do."]
    assert [(voice.seat, voice.kind) for voice in build_dissent(table.timeline)] == [
        ("bob", "challenge")
    ]


def test_those_who_synthesize_and_vote_see_which_challenges_are_open() -> None:
    """D-21"""
    table = proposed(debate(ADA, BOB, CY)).say(
        ada=challenge(3), bob=challenge(2, answers=(5,)), cy=PASS
    )
    own = table.pass_until("synthesize").brief("ada").own
    assert "meet each challenge or say that it stays open (#6)." in own
    assert "Nobody has answered #6." in table.pass_until("vote").brief("ada").own
    table = (
        proposed(debate(ADA, BOB, CY))
        .say(ada=challenge(3), bob=support(5), cy=PASS)
        .pass_until("synthesize")
    )
    assert "or say that it stays open." in table.brief("ada").own


# How it ends


@pytest.mark.parametrize("budget", ["tokens", "money", "time"])
@pytest.mark.parametrize("phase", ["propose", "argue", "synthesize"])
@pytest.mark.parametrize("opener", [debate, consensus])
def test_a_budget_ends_the_talk_and_what_is_on_the_table_is_voted_on(
    opener: Opener, phase: str, budget: BudgetKind
) -> None:
    """D-7"""
    table = at(phase, opener)
    table.says("ada", propose("yes") if phase == "propose" else PASS)
    table.put(BudgetExhausted(budget=budget, spent=9, limit=9))
    assert table.phase == (1, "vote")
    assert isinstance(table.last, PhaseBegun)
    assert table.last.candidates == ((2,) if phase == "propose" else (2, 3, 4))
    assert [ask.kind for ask in table.asks] == ["vote", "vote", "vote"]
    closed = table.say(ada=vote("oppose"), bob=vote("oppose"), cy=vote()).closed
    assert (closed.reason, closed.carried) == (budget, False)


def test_a_budget_that_ends_before_anybody_proposed_leaves_no_decision() -> None:
    """D-7"""
    closed = debate(ADA, BOB).put(BudgetExhausted(budget="money", spent=9, limit=9)).closed
    assert (closed.reason, closed.motion, closed.carried, closed.consensus_type) == (
        "money",
        None,
        False,
        "no_consensus",
    )
    closed = (
        advisory(ADA, BOB)
        .says("bob", propose("no"))
        .put(BudgetExhausted(budget="money", spent=9, limit=9))
        .closed
    )
    assert (closed.reason, closed.motion, closed.carried) == ("money", None, False)


def test_a_vote_that_was_begun_is_finished_whatever_the_budget() -> None:
    """D-7"""
    table = (
        at("vote", settings=CouncilSettings(rounds=3))
        .says("ada", vote("oppose"))
        .put(BudgetExhausted(budget="tokens", spent=9, limit=9))
    )
    assert table.asked == ["4.vote.bob", "4.vote.cy"]
    assert table.say_for_all(vote("oppose")).closed.reason == "tokens"


@pytest.mark.parametrize("last", ["support", "oppose"])
def test_a_budget_that_runs_out_among_the_last_votes_is_not_why_it_ended(
    last: VotePosition,
) -> None:
    """D-7: all votes are there, and no other round would follow."""
    table = at("vote", settings=CouncilSettings(rounds=1)).says("ada", vote(last))
    table.put(BudgetExhausted(budget="tokens", spent=9, limit=9))
    assert table.say_for_all(vote(last)).closed.reason == "voted"


def test_a_budget_leaves_the_owner_its_decision() -> None:
    """D-8"""
    table = (
        at("argue", advisory)
        .says("bob", challenge(2))
        .put(BudgetExhausted(budget="tokens", spent=9, limit=9))
    )
    assert table.asked == ["3.decide.ada"]
    assert table.says("ada", synthesize("yes", taken=(build_taken(5, "partly"),))).closed.carried


def test_turns_are_no_budget_of_a_deliberation() -> None:
    """D-7"""
    table = debate(ADA, BOB, budget=Budget(turns=1))
    assert table.asked == ["1.propose.ada", "1.propose.bob"]


@pytest.mark.parametrize("phase", ["propose", "argue", "synthesize", "vote"])
@pytest.mark.parametrize("opener", [debate, consensus])
def test_a_close_that_is_called_closes_at_once(opener: Opener, phase: str) -> None:
    """D-3"""
    closed = at(phase, opener).put(CloseCalled(by="emerson")).closed
    assert (closed.reason, closed.carried, closed.consensus_type) == (
        "called",
        False,
        "no_consensus",
    )
    assert closed.motion == (None if phase == "propose" else 3)
    assert [ballot.position for ballot in closed.ballots] == [None, None, None]


def test_a_close_that_is_called_counts_the_votes_so_far() -> None:
    """D-3"""
    table = at("vote").say(ada=vote("support", 0.9), bob=vote("support", 0.8)).put(CloseCalled())
    closed = table.closed
    assert (closed.reason, closed.consensus_type, closed.carried, closed.turnout) == (
        "called",
        "convergent",
        True,
        2 / 3,
    )
    # Two that err together by a quarter are worth 0.8 each, whatever they say of their sureness (D-12).
    weight = round(math.log(0.65 / 0.35) * 0.8, 12)
    assert tuple(replace(ballot, weight=round(ballot.weight, 12)) for ballot in closed.ballots) == (
        CouncilBallot(seat=SeatId("ada"), position="support", confidence=0.9, weight=weight),
        CouncilBallot(seat=SeatId("bob"), position="support", confidence=0.8, weight=weight),
        CouncilBallot(seat=SeatId("cy"), position=None, confidence=0.0, weight=0.0),
    )


def test_a_close_that_is_called_between_votes_keeps_the_last_vote_and_its_motion() -> None:
    """D-3, D-9"""
    table = objecting(at("synthesize", consensus).says("ada", synthesize("yes"))).put(CloseCalled())
    assert (table.closed.motion, table.ballots) == (
        5,
        {"ada": "support", "bob": "oppose", "cy": "support"},
    )


def test_a_close_that_is_called_before_the_next_vote_leaves_a_new_synthesis_undecided() -> None:
    """D-3: the votes were about another line."""
    table = (
        at("vote", settings=CouncilSettings(rounds=2))
        .say_for_all(vote("oppose"))
        .pass_until("synthesize")
        .says("ada", synthesize("maybe"))
    )
    closed = table.put(CloseCalled()).closed
    assert (closed.motion, closed.carried, [each.line for each in closed.candidates]) == (
        4,
        False,
        [4, 3, 2],
    )


def test_a_budget_does_not_reopen_what_was_called_to_a_close() -> None:
    """D-3: the engine looks at the budget before it asks the rulebook what follows."""
    table = debate(ADA, BOB).says("ada", propose("yes"))
    assert (
        table.put_at_once(
            CloseCalled(), BudgetExhausted(budget="time", spent=9, limit=9)
        ).closed.reason
        == "called"
    )


@pytest.mark.parametrize("phase", ["propose", "argue", "synthesize", "vote"])
@pytest.mark.parametrize("opener", [debate, consensus])
def test_a_seat_that_is_lost_in_any_phase_does_not_hold_up_the_others(
    opener: Opener, phase: str
) -> None:
    """D-7"""
    table = at(phase, opener)
    said: dict[str, Contribution] = {"propose": propose("yes"), "vote": vote()}
    table.lose_seat("ada", "malformed")
    while table.state.phase == phase:
        table.says(table.asks[0].seat, said.get(phase, PASS))
    table.pass_until("vote")
    if table.phase == (1, "vote") and table.asks:
        table.say_for_all(vote())
    if phase == "vote" and opener is consensus:
        table.put(CloseCalled())
    # A consensus is one of all seats: a lost vote is not an agreement.
    assert table.closed.carried == (opener is debate or phase != "vote")
    assert table.closed.lost == (
        LostSeat(
            seat=SeatId("ada"),
            times=1,
            last="malformed",
            weight_share=1 / 3,
            did_not_vote=phase == "vote",
        ),
    )
    assert (table.ballots["ada"] is None) == (phase == "vote")


def test_a_seat_that_is_lost_again_and_again_is_counted() -> None:
    """D-7"""
    table = debate(ADA, replace(BOB, weight=3.0)).say(ada=propose("yes"), bob=None)
    table.say(ada=PASS).lose_seat("bob", "refused").say(ada=PASS).lose_seat("bob", "error").say(
        ada=vote()
    ).lose_seat("bob", "gave_up")
    closed = table.closed
    assert closed.lost == (
        LostSeat(seat=SeatId("bob"), times=4, last="gave_up", weight_share=0.75, did_not_vote=True),
    )
    assert (closed.consensus_type, closed.turnout, closed.outcome_uncertain) == (
        "no_consensus",
        0.25,
        True,
    )


@pytest.mark.parametrize("phase", ["propose", "argue", "synthesize", "vote"])
def test_the_users_word_is_a_line_of_its_own_and_takes_nobodys_turn(phase: str) -> None:
    """D-13"""
    table = at(phase)
    before, count = table.asks, len(table.state.lines)
    table.give_input("And the union?")
    if phase == "vote":
        # Votes that are out are put once more.
        assert [ask.seat for ask in table.asks] == [ask.seat for ask in before]
    else:
        assert table.asks == before
    line = table.state.lines[-1]
    assert (len(table.state.lines), line.id, line.seat, line.said.text) == (
        count + 1,
        count + 2,
        USER,
        "And the union?",
    )
    assert f"[#{count + 2} USER says]\n> And the union?" in table.brief("ada").shared
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
    assert (decision.status, decision.ended_by, decision.decision, decision.dissent) == (
        "cancelled",
        "cancelled",
        None,
        (),
    )


@pytest.mark.parametrize(
    "fact",
    [InputGiven(text="late"), CloseCalled(), BudgetExhausted(budget="time", spent=9, limit=9)],
)
def test_what_comes_after_the_close_changes_nothing(fact: Fact) -> None:
    """D-3"""
    table = at("vote").say_for_all(vote())
    before = table.state
    assert table.put(fact).state == before


def test_a_fork_goes_on_with_the_seats_that_were_swapped_in() -> None:
    """D-16"""
    swaps = (
        Swap(seat=SeatId("ada"), platform="openai:gpt-5"),
        Swap(seat=SeatId("bob"), platform=MAILBOX),
    )
    table = at("argue", settings=CouncilSettings(order="open"))
    before = table.asks
    table.put(SessionForked(source=SessionId("one"), entry=4, swaps=swaps))
    assert table.asks == before
    assert [each.platform for each in table.state.seats] == ["openai:gpt-5", MAILBOX, "script:cy"]
    assert table.brief("ada").seat.platform == "openai:gpt-5"
    table.say(ada=PASS, bob=challenge(2))
    assert table.invited == ["bob"]
    table.put(
        SessionForked(
            source=SessionId("two"),
            entry=9,
            swaps=(Swap(seat=SeatId("bob"), platform="openai:o3"),),
        )
    )
    assert table.invited == []
    closed = table.pass_until("vote").say_for_all(vote()).closed
    assert closed.effective_voters == pytest.approx(9 / (3 + 2 * 0.5 + 4 * 0.25))


def test_an_answer_to_nothing_that_was_asked_changes_nothing() -> None:
    """D-6"""
    table = proposed(debate(ADA, BOB, CY))
    before = table.state
    for ask, name in (
        ("2.argue.bob", "bob"),
        ("2.argue.ada", "bob"),
        ("1.propose.ada", "ada"),
        ("4.free.ada", "ada"),
    ):
        table.put(Contributed(ask=AskId(ask), seat=SeatId(name), said=support(2)))
        table.put(SeatLost(ask=AskId("1.propose.ada"), seat=SeatId(name), reason="timeout"))
    assert table.state == before


def test_an_invitation_cannot_be_lost() -> None:
    """D-7"""
    table = debate(*AWAY).says("ada", propose("yes"))
    before = table.state
    assert (
        table.put(SeatLost(ask=table.ask("ada").id, seat=SeatId("ada"), reason="timeout")).state
        == before
    )


def test_an_unchecked_answer_of_another_phase_counts_as_a_pass() -> None:
    """D-7: the session goes on, and nothing is on the table that does not belong there."""
    table = (
        debate(ADA, BOB, CY)
        .say_unchecked("ada", vote())
        .say_unchecked("bob", synthesize())
        .says("cy", propose("yes"))
    )
    assert table.last == PhaseBegun(round=1, phase="argue")
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
        ("propose", replace(propose("yes"), confidence=None), None),
        ("argue", replace(support(2), confidence=None), None),
        ("vote", replace(vote(refers_to=3), confidence=None), None),
        ("vote", replace(vote("abstain"), confidence=None), None),
        (
            "vote",
            replace(vote(), position=None),
            "a vote needs a position: support, conditional_support, oppose or abstain",
        ),
        ("vote", vote("conditional_support", condition="  ", refers_to=3), None),
        ("vote", vote("conditional_support", condition="a pilot", refers_to=3), None),
        ("vote", vote(refers_to=3), None),
        (
            "propose",
            propose("yes", position="support"),
            "a position belongs to a vote, not to a propose",
        ),
        (
            "propose",
            replace(propose("yes", position="abstain"), confidence=None),
            "a position belongs to a vote, not to a propose",
        ),
        ("argue", support(5), "line 5 does not exist; the lines are 1 to 4"),
        ("argue", support(1), None),
        ("argue", support(2, answers=(9,)), "line 9 does not exist; the lines are 1 to 4"),
        ("argue", support(2, accepts=(9,)), "line 9 does not exist; the lines are 1 to 4"),
        ("vote", vote(moved_by=99, refers_to=3), "line 99 does not exist; the lines are 1 to 4"),
        ("vote", vote(moved_by=4, refers_to=3), None),
        ("argue", support(2, answers=(3,)), "line 3 is no challenge; the challenges are: none"),
        ("argue", support(2, answers=(1,)), "line 1 is no challenge; the challenges are: none"),
        (
            "synthesize",
            synthesize(accepts=(2,)),
            "line 2 is no challenge; the challenges are: none",
        ),
        (
            "synthesize",
            synthesize(taken=(build_taken(44, "adopted"),)),
            "line 44 does not exist; the lines are 1 to 4",
        ),
    ],
)
def test_a_fault_says_what_was_expected(phase: str, said: Contribution, fault: str | None) -> None:
    """D-6"""
    assert at(phase).fault("ada", said) == fault


def test_a_conditional_vote_from_outside_counts_without_its_condition() -> None:
    """D-2, M-2: it stays conditional; what it depends on is its text, else it is recorded as not stated."""
    table = at("vote", debate, *AWAY)
    bare = vote("conditional_support", condition="  ", refers_to=3)
    assert table.fault("ada", bare) is None
    normalize = table.brief("ada").normalize
    assert normalize(bare) == (
        replace(bare, condition="condition not stated"),
        ("missing condition",),
    )
    worded = replace(bare, text="If it ships by May.")
    assert normalize(worded)[0] == replace(worded, condition="If it ships by May.")
    vague = CandidateVote(candidate=2, position="conditional_support")
    said, _ = normalize(Contribution(type="vote", ballot=(vague,)))
    assert said == Contribution(
        type="vote", ballot=(replace(vague, condition="condition not stated"),)
    )


def test_an_answer_to_what_is_no_challenge_is_told_which_there_are() -> None:
    """D-6, D-21"""
    table = proposed(debate(*AWAY)).says("ada", challenge(3)).says("bob", challenge(2))
    assert (
        table.fault("cy", support(2, answers=(5, 2)))
        == "line 2 is no challenge; the challenges are: 5, 6"
    )
    assert table.fault("cy", support(2, answers=(5, 6))) is None


@pytest.mark.parametrize(
    ("said", "fault"),
    [
        (propose("Adopt it"), None),
        (propose("ADOPT IT."), None),
        (
            propose("Both"),
            "choice 'Both' is none of the options; expected one of: Adopt it, Leave it",
        ),
        (propose(""), "choice '' is none of the options; expected one of: Adopt it, Leave it"),
    ],
)
def test_a_proposal_chooses_among_the_options_where_there_are_any(
    said: Contribution, fault: str | None
) -> None:
    """D-6"""
    assert debate(ADA, BOB, subject=OPTIONS).fault("ada", said) == fault


def test_a_synthesis_chooses_among_the_options_and_an_argument_need_not() -> None:
    """D-6"""
    table = debate(ADA, BOB, subject=OPTIONS).say(ada=propose("Adopt it"), bob=propose("Leave it"))
    assert table.fault("ada", support(2)) is None
    table.pass_until("synthesize")
    assert (
        table.fault("ada", synthesize("Both"))
        == "choice 'Both' is none of the options; expected one of: Adopt it, Leave it"
    )
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


@pytest.mark.parametrize(
    ("phase", "kind"), [("propose", "propose"), ("argue", "argue"), ("decide", "decide")]
)
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
    assert table.state.candidates == (2,)


def test_whoever_writes_a_synthesis_again_has_one_candidate_its_last() -> None:
    """D-7: the order in which words arrive decides nothing."""
    table = proposed(debate(*AWAY)).say_for_all(PASS)
    table.says("ada", synthesize("yes")).says("bob", synthesize("no", "Not yet."))
    table.says("ada", synthesize("yes", text="Once more.")).says("cy", PASS)
    assert [
        (line.seat, line.said.text)
        for line in map(table.state.line, table.state.candidates)
        if line is not None
    ] == [
        ("ada", "Once more."),
        ("bob", "Not yet."),
    ]
