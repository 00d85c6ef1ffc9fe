"""Answers are settled before they are counted (Q-3): groups of words that say the same, and who held an answer first."""

import pytest
from tests.support.judging import (
    JUDGE,
    answer_judge,
    judge_by,
    read_pairs,
    say_as_judge,
    say_judgements,
)
from tests.support.play_council import (
    PASS,
    DeliberationRun,
    build_seat,
    debate,
    propose,
    synthesize,
    vote,
)

from moothall.domain.facts import AnswersGrouped, Loss
from moothall.domain.groups import AnswerJudgement, AnswerJudgements
from moothall.domain.topic import Stakes, Topic
from moothall.protocols.council.facts import CouncilSettings
from moothall.protocols.council.timeline import build_decision

NAMES = ("ada", "bob", "cy", "dee", "eve")


def decide_in_words(blind: tuple[str, ...], decided: str) -> DeliberationRun:
    """A debate in which every seat has an answer in its own words, and all support one text in the end."""
    table = debate(
        *[build_seat(name) for name in NAMES[: len(blind)]],
        settings=CouncilSettings(debate="always"),
    )
    for name, choice in zip(NAMES, blind, strict=False):
        table.says(name, propose(choice, f"We take {choice}, says {name}."))
    table.pass_until("synthesize").says("ada", synthesize(decided, f"The group takes {decided}."))
    return table.pass_until("vote").say_for_all(vote("support"))


@pytest.mark.parametrize(
    ("blind", "decided", "holders"),
    [
        (("PostgreSQL", "postgresql.", "MySQL"), "PostgreSQL", ("ada", "bob")),
        (("yes", "yes", "no"), "no", ("cy",)),
        (("yes", "yes", "yes"), "no", ()),
        # Nobody can tell whether this is the same in other words.
        (("use PostgreSQL",) * 3, "PostgreSQL", None),
    ],
)
def test_a_decision_says_whose_first_answer_it_was(
    blind: tuple[str, ...], decided: str, holders: tuple[str, ...] | None
) -> None:
    """Q-3"""
    assert build_decision(decide_in_words(blind, decided).timeline).held_before == holders


def open_judged(
    *blind: str,
    debate_mode: str | None = None,
    stakes: Stakes = "medium",
    options: tuple[str, ...] = (),
) -> DeliberationRun:
    """A debate with a judge, once every seat has written its answer blind."""
    seats = [build_seat(name) for name in NAMES[: len(blind)]]
    table = debate(
        *seats,
        build_seat(JUDGE),
        settings=CouncilSettings(debate=debate_mode, judge=JUDGE),  # type: ignore[arg-type]
        subject=Topic(stakes=stakes, options=options),
    )
    for name, choice in zip(NAMES, blind, strict=False):
        table.says(name, propose(choice, f"We take {choice}, says {name}."))
    return table


SPELLINGS = {
    "use PostgreSQL": "pg",
    "PostgreSQL": "pg",
    "go with Postgres": "pg",
    "MySQL": "my",
    "use MySQL": "my",
}


def test_one_answer_in_three_spellings_is_unanimous() -> None:
    """Q-3, D-12, D-19: "0 % likely right, disputed" was what three spellings of one answer gave."""
    table = answer_judge(
        open_judged("use PostgreSQL", "PostgreSQL", "go with Postgres"), judge_by(SPELLINGS)
    )
    assert (table.closed.reason, table.closed.consensus_type) == ("agreed_blind", "unanimous")
    decision = build_decision(table.timeline)
    assert decision.confidence is not None
    assert decision.confidence > 0.5
    assert decision.agreement == "blind"
    assert decision.held_before == ("ada", "bob", "cy")
    # The words stay as they were said (M-16).
    assert [each.choice_before for each in decision.positions] == [
        "use PostgreSQL",
        "PostgreSQL",
        "go with Postgres",
    ]


def test_what_is_decided_in_new_words_joins_the_answer_that_it_is() -> None:
    """Q-3: three write `use PostgreSQL`, decide `PostgreSQL`, and all support."""
    table = open_judged("use PostgreSQL", "use PostgreSQL", "MySQL")
    answer_judge(table, judge_by(SPELLINGS))
    table.pass_until("synthesize")
    table.says("ada", synthesize("PostgreSQL", "The group takes it."))
    table.say(bob=PASS, cy=PASS)
    answer_judge(table, judge_by(SPELLINGS))
    decision = build_decision(table.pass_until("vote").say_for_all(vote("support")).timeline)
    assert decision.choice == "PostgreSQL"
    assert decision.no_confidence is None
    assert decision.confidence is not None
    assert decision.confidence > 0.5
    assert decision.strength != "disputed"
    assert decision.held_before == ("ada", "bob")


def test_an_answer_that_talking_brought_is_known_to_be_new() -> None:
    """Q-3, Q-10: a judge says that nobody had it, so it is nobody's, and has no figure."""
    table = open_judged("all at once", "never", "later")
    answer_judge(table, lambda one, other: "opposite")
    table.pass_until("synthesize").says("ada", synthesize("two steps", "In two steps."))
    table.say(bob=PASS, cy=PASS)
    answer_judge(table, lambda one, other: "different")
    decision = build_decision(table.pass_until("vote").say_for_all(vote("support")).timeline)
    assert decision.held_before == ()
    assert (decision.confidence, decision.no_confidence) == (None, "new_answer")


def test_a_judge_is_asked_only_where_answers_are_free_and_differ() -> None:
    """Q-3"""
    assert open_judged("PostgreSQL", "postgresql", "POSTGRESQL.").closed.reason == "agreed_blind"
    assert "judge" not in " ".join(open_judged("yes", "no", "yes").asked)
    listed = open_judged("A", "B", "A", options=("A", "B", "C"))
    assert "judge" not in " ".join(listed.asked)
    assert open_judged("use A", "A", "B").asked == ["1.judge.judge"]


def test_the_second_order_is_asked_only_for_what_it_could_join_or_exclude() -> None:
    """Q-3: each pair in both orders, joined only where both say the same."""
    table = open_judged("use PostgreSQL", "PostgreSQL", "MySQL")
    first = read_pairs(table.brief(JUDGE))
    assert len(first) == 3
    say_as_judge(
        table, lambda one, other: "same" if SPELLINGS[one] == SPELLINGS[other] else "different"
    )
    second = read_pairs(table.brief(JUDGE))
    assert second == [
        tuple(reversed(pair)) for pair in first if SPELLINGS[pair[0]] == SPELLINGS[pair[1]]
    ]
    say_as_judge(table, lambda one, other: "same")
    grouped = next(fact for fact in table.facts if isinstance(fact, AnswersGrouped))
    assert (grouped.judge, grouped.missed) == (JUDGE, "")
    assert {(pair.first, pair.second) for pair in grouped.pairs} == {
        ("same", "same"),
        ("different", None),
    }
    assert table.state.groups.is_same("use PostgreSQL", "PostgreSQL")


def test_a_judge_that_contradicts_itself_joins_nothing() -> None:
    """Q-3"""
    table = open_judged("use PostgreSQL", "PostgreSQL", "go with Postgres")
    say_as_judge(table, lambda one, other: "same")
    say_as_judge(table, lambda one, other: "different")
    # What is in doubt is asked once more, each pair in both orders.
    asked = read_pairs(table.brief(JUDGE))
    assert len(asked) == 6
    assert {(other, one) for one, other in asked} == set(asked)
    say_as_judge(table, lambda one, other: "same" if one < other else "different")
    assert table.state.groups.list_members() == []
    assert table.phase == (1, "argue")


def test_a_slip_of_the_judge_in_one_order_is_asked_about_again() -> None:
    """Q-3: where no chain of other pairs joins the two."""
    table = open_judged("use PostgreSQL", "PostgreSQL", "PostgreSQL")
    say_as_judge(table, lambda one, other: "same")
    say_as_judge(table, lambda one, other: "different")
    say_as_judge(table, lambda one, other: "same")
    assert table.closed.reason == "agreed_blind"
    (grouped,) = [fact for fact in table.facts if isinstance(fact, AnswersGrouped)]
    (pair,) = grouped.pairs
    assert (pair.first, pair.second, pair.third, pair.fourth) == (
        "same",
        "different",
        "same",
        "same",
    )


def test_two_verdicts_on_one_pair_in_one_answer_are_none() -> None:
    """Q-3"""
    table = open_judged("use PostgreSQL", "PostgreSQL", "PostgreSQL")
    said = [AnswerJudgement(pair=1, verdict=each) for each in ("same", "different", "same")]
    said.append(AnswerJudgement(pair=99, verdict="same"))
    say_judgements(table, AnswerJudgements(judgements=tuple(said)))
    grouped = next(fact for fact in table.facts if isinstance(fact, AnswersGrouped))
    assert [pair.verdict for pair in grouped.pairs] == [None]
    assert table.phase == (1, "argue")


@pytest.mark.parametrize("reason", ["timeout", "malformed", "refused", "unreachable", "error"])
@pytest.mark.parametrize("after", [0, 1])
def test_a_judge_that_is_lost_leaves_equal_words_and_the_record_says_so(
    reason: Loss, after: int
) -> None:
    """Q-3: in the first order or in the second; nothing is joined by half of an answer, and it is not asked again."""
    table = open_judged("use PostgreSQL", "PostgreSQL", "postgresql")
    if after:
        say_as_judge(table, lambda one, other: "same")
    table.lose_seat(JUDGE, reason)
    grouped = next(fact for fact in table.facts if isinstance(fact, AnswersGrouped))
    assert (grouped.judge, grouped.missed) == (JUDGE, reason)
    assert table.state.groups.list_members() == []
    assert table.state.groups.is_same("PostgreSQL", "postgresql")
    assert table.phase == (1, "argue")
    table.pass_until("synthesize").says("ada", synthesize("Postgres", "It."))
    assert "judge" not in " ".join(table.asked)
    decision = build_decision(table.pass_until("vote").say_for_all(vote("support")).timeline)
    assert JUDGE not in [each.seat for each in decision.lost]
    assert decision.held_before is None
