"""When a debate is held (D-24), what is decided and how likely it is right (D-12)."""

import pytest
from tests.support.play_council import (
    DeliberationRun,
    build_seat,
    consensus,
    debate,
    propose,
    synthesize,
    vote,
)

from moothall.domain.topic import Stakes, Topic
from moothall.protocols.council.facts import CandidateVote, Contribution, CouncilSettings, Debate
from moothall.protocols.council.plugin import DEBATE
from moothall.protocols.council.report import build_council_report
from moothall.protocols.council.timeline import CouncilTimeline, build_decision
from moothall.reports.plain_text import render_decision_lines, render_markdown
from moothall.scoring.positions import VotePosition


def render_terminal(timeline: CouncilTimeline) -> str:
    return "\n".join(line.text for line in render_decision_lines(DEBATE.report(timeline)))


def cast(positions: dict[int, VotePosition]) -> Contribution:
    """A ballot with these positions."""
    return Contribution(
        type="vote",
        ballot=tuple(
            CandidateVote(candidate=line, position=each) for line, each in positions.items()
        ),
    )


# D-24: a debate is held where it can help


def answering(
    choices: str, stakes: Stakes, options: tuple[str, ...], debate_mode: Debate | None = None
) -> DeliberationRun:
    seats = [build_seat(f"s{n}") for n in range(len(choices))]
    settings = CouncilSettings(debate=debate_mode)
    table = debate(*seats, subject=Topic(stakes=stakes, options=options), settings=settings)
    for seat, choice in zip(seats, choices, strict=True):
        table.says(seat.id, propose(choice))
    return table


NAMED, OPEN = ("a", "b", "c"), ()


@pytest.mark.parametrize(
    ("choices", "stakes", "options", "mode", "reason"),
    [
        ("aaaab", "low", NAMED, None, "settled"),
        ("aaabb", "low", NAMED, None, None),
        ("aaabb", "low", OPEN, None, "settled"),
        ("aabb", "low", OPEN, None, None),
        ("aaaab", "medium", NAMED, None, None),
        ("aaaaa", "medium", NAMED, None, "agreed_blind"),
        ("aaaaa", "high", NAMED, None, None),
        ("aaaab", "medium", NAMED, "auto", "settled"),
        ("aaaab", "critical", NAMED, "never", "settled"),
        ("aaabb", "high", NAMED, "never", "settled"),
    ],
)
def test_it_is_debated_only_where_the_blind_positions_are_not_clear(
    choices: str, stakes: Stakes, options: tuple[str, ...], mode: Debate | None, reason: str | None
) -> None:
    """D-24"""
    table = answering(choices, stakes, options, mode)
    if reason is None:
        assert table.phase == (1, "argue")
        return
    closed = table.closed
    assert (closed.reason, closed.carried, closed.confidence_from) == (reason, True, "blind")
    # What was spared: five arguments, five syntheses, five votes.
    assert closed.spared == build_decision(table.timeline).spared == 15
    minutes = render_markdown(build_council_report(table.timeline))
    assert "15 more answers were not asked for" in minutes


def test_without_a_debate_what_is_tied_is_put_to_the_vote() -> None:
    """D-24"""
    table = answering("aabb", "low", NAMED, "never")
    assert table.phase == (1, "vote")


def test_a_seat_that_wrote_nothing_may_have_turned_the_lead() -> None:
    """D-24: four to two is clear, but not while a third might have been with the two."""
    seats = [build_seat(f"s{n}") for n in range(5)]
    table = debate(*seats, subject=Topic(stakes="low", options=NAMED))
    for seat, choice in zip(seats, "aaab", strict=False):
        table.says(seat.id, propose(choice))
    table.lose_seat("s4")
    assert table.phase == (1, "argue")


def test_only_all_that_agree_end_a_consensus_early() -> None:
    """D-9, D-24"""
    seats = [build_seat(f"s{n}") for n in range(5)]
    table = consensus(*seats, subject=Topic(stakes="low", options=NAMED))
    for seat, choice in zip(seats, "aaaab", strict=True):
        table.says(seat.id, propose(choice))
    assert table.phase == (1, "argue")


# D-12: what is decided, and how likely it is right


def voting(blind: str, decided: str, settings: CouncilSettings | None = None) -> DeliberationRun:
    """Five seats of one model wrote these letters blind; one synthesis names what was decided, and all vote for it at .95."""
    seats = [build_seat(f"s{n}", platform="openai:gpt-5") for n in range(len(blind))]
    table = debate(
        *seats,
        subject=Topic(options=("A", "B", "C", "D")),
        settings=settings or CouncilSettings(debate="always"),
    )
    for seat, choice in zip(seats, blind, strict=True):
        table.says(seat.id, propose(choice, f"{seat.id} says {choice}."))
    table.pass_until("synthesize").says("s0", synthesize(decided)).pass_until("vote")
    return table.say_for_all(vote("support", 0.95))


@pytest.mark.parametrize(
    ("blind", "decided", "confidence", "kind", "agreement", "strength"),
    [
        ("ABCDD", "C", 0.21, "contested", "after_reading", "fair"),
        ("DAAAA", "D", 0.24, "contested", "after_reading", "disputed"),
        ("AAABC", "A", 0.52, "unanimous", "after_reading", "fair"),
        ("AAAAA", "A", 0.85, "unanimous", "blind", "fair"),
    ],
)
def test_five_votes_at_95_say_what_the_blind_answers_are_worth(
    blind: str, decided: str, confidence: float, kind: str, agreement: str, strength: str
) -> None:
    """D-12, D-26: all of these said .95, `unanimous` and `strong`; .85 of one model is .85, and that it is one model stands beside it."""
    table = voting(blind, decided)
    closed, decision = table.closed, build_decision(table.timeline)
    assert closed.confidence is not None
    assert (closed.consensus_type, round(closed.confidence, 2), closed.agreement) == (
        kind,
        confidence,
        agreement,
    )
    assert (closed.carried, closed.support, decision.strength) == (True, 1.0, strength)


def test_the_first_lines_say_how_many_had_the_answer_before() -> None:
    """D-12, T-1"""
    shown = render_terminal(voting("ABCDD", "C").timeline)
    assert "All 5 agree: C." in shown
    assert "Before they talked, 1 of 5 had this answer (s2)." in shown


def test_an_opener_may_demand_a_confidence() -> None:
    """D-12: below it there is no consensus, and the leader is named."""
    below = voting("AAABC", "A", CouncilSettings(debate="always", carry_at=0.6))
    closed, shown = below.closed, render_terminal(below.timeline)
    said = "5 of 5 are for “A”, but it is right with 52 %, and 60 % was asked for."
    assert said in shown
    minutes = render_markdown(build_council_report(below.timeline))
    assert "To carry, a motion had to be at least 60 % likely right." in minutes
    assert (closed.consensus_type, closed.carried, closed.motion) == ("no_consensus", False, 7)
    assert voting("AAAAA", "A", CouncilSettings(debate="always", carry_at=0.6)).closed.carried


def test_five_that_support_everything_decide_what_most_had_written() -> None:
    """D-12: pooled by choice, ties by blind support; the roster decided this once."""
    seats = [build_seat(f"s{n}") for n in range(5)]
    table = debate(
        *seats,
        settings=CouncilSettings(debate="always"),
        subject=Topic(options=("A", "B", "C", "D")),
    )
    for seat, choice in zip(seats, "DAAAA", strict=True):
        table.says(seat.id, propose(choice, f"{seat.id} says {choice}."))
    table.pass_until("vote")
    table.say_for_all(cast(dict.fromkeys(table.state.candidates, "support")))
    closed = table.closed
    decided = table.state.line(closed.motion)
    assert decided is not None
    assert decided.said.choice == "A"
    lines = {each.line: table.state.line(each.line) for each in closed.candidates}
    shares = {
        line.said.choice: each.confidence or 0.0
        for each in closed.candidates
        if (line := lines[each.line]) is not None
    }
    assert sum(shares.values()) <= 1


def test_blind_positions_and_votes_choose_together_where_that_is_set() -> None:
    """D-12: four blind answers outweigh five votes at a half each."""
    settings = CouncilSettings(debate="always", choose="both")
    seats = [build_seat(f"s{n}") for n in range(5)]
    table = debate(*seats, settings=settings, subject=Topic(options=("A", "B")))
    for seat, choice in zip(seats, "AAAAB", strict=True):
        table.says(seat.id, propose(choice, f"{seat.id} says {choice}."))
    table.pass_until("vote")
    b = next(line.id for line in table.state.lines if line.said.choice == "B")
    table.say_for_all(
        cast({line: "support" if line == b else "oppose" for line in table.state.candidates})
    )
    decided = table.state.line(table.closed.motion)
    assert decided is not None
    assert (decided.said.choice, table.closed.consensus_type) == ("A", "contested")
    assert table.closed.support == pytest.approx(4 / 7.5)


def test_words_without_labels_are_one_voice() -> None:
    """D-12: nobody named a choice."""
    seats = [build_seat(f"s{n}") for n in range(5)]
    table = debate(*seats, settings=CouncilSettings(debate="always"))
    for seat in seats:
        table.says(seat.id, propose("", f"{seat.id} has a view."))
    table.pass_until("synthesize").says("s0", synthesize("")).pass_until("vote").say_for_all(
        vote("support", 1.0)
    )
    closed = table.closed
    assert (closed.consensus_type, closed.confidence_from) == ("unanimous", "one_voice")
    assert closed.confidence == pytest.approx(0.65)
    assert build_decision(table.timeline).strength == "fair"
