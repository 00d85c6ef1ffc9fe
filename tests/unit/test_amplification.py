"""D-15: was the group better or worse than its members alone?"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from moothall.memory.facts import DecisionRecorded, Member, Outcome
from moothall.memory.remembered_decision import OutcomeReview, RememberedDecision
from moothall.memory.track_records import (
    Amplification,
    Share,
    compute_amplification,
    find_right_choice,
)

NOW = datetime(2025, 3, 1, tzinfo=UTC)


def case(
    firsts: Sequence[str],
    outcome: Outcome | None,
    *,
    choice: str = "a",
    options: tuple[str, ...] = ("a", "b"),
    right: str = "",
    protocol: str = "debate",
    decided: str | None = "We do it.",
) -> RememberedDecision:
    """A decision whose members' blind first choices are one letter each; `-` is unknown."""
    record = DecisionRecorded(
        session="d",
        protocol=protocol,
        topic="What now?",
        text=decided,
        choice=choice,
        options=options,
        members=tuple(
            Member(source=f"s{number}", seat=f"s{number}", first_choice=first.strip("-"))
            for number, first in enumerate(firsts)
        ),
        opened_at=NOW,
        closed_at=NOW,
    )
    reviews = (OutcomeReview(at=NOW, outcome=outcome, choice=right),) if outcome else ()
    return RememberedDecision(number=1, at=NOW, record=record, reviews=reviews)


def only(*cases: RememberedDecision) -> Amplification:
    (found,) = compute_amplification(cases)
    return found


def test_all_figures_of_a_protocol_with_their_counts() -> None:
    found = only(
        case("aab", "success"),
        case("abb", "success"),
        case("abb", "failure"),
        case("aa-", "abandoned"),
        case("aab", "partial"),
    )
    members_right = 2 / 3 + 1 / 3 + 2 / 3 + 0
    assert found == Amplification(
        protocol="debate",
        cases=5,
        partial=1,
        group=Share(right=2, of=4),
        compared=Share(right=2, of=4),
        members=Share(right=members_right, of=4),
        members_known=11,
        members_right=5,
        members_unknown=1,
        majority=Share(right=2, of=4),
        corrections=1,
        subversions=1,
        amplification=2 / (4 - members_right),
        members_blank=1,
    )
    assert found.group.rate == 0.5


@pytest.mark.parametrize(
    ("kept", "right"),
    [
        (case("ab", "success"), "a"),
        (case("ab", "failure"), "b"),
        (case("ab", "abandoned"), "b"),
        (case("ab", "partial"), None),
        (case("ab", "failure", options=("a", "b", "c")), None),
        (case("ab", "failure", options=("a", "b", "c"), right="C "), "c"),
        (case("ab", "failure", options=()), None),
        (case("ab", "failure", choice="x"), None),
        (case("ab", "success", choice=""), None),
        (case("ab", None), None),
        (case("ab", "success", choice="use a"), None),
        (case("ab", "failure", choice="use a"), None),
        (case("ab", "failure", right="neither"), "neither"),
        (case("ab", "success", choice="a " * 40, options=()), None),
        (case("ab", "failure", right="a " * 40), None),
        (case("ab", "success", choice="是。", options=()), "yes"),
    ],
)
def test_which_choice_proved_right(kept: RememberedDecision, right: str | None) -> None:
    assert find_right_choice(kept) == right


def test_where_nobody_knows_what_was_right_the_members_are_unknown_and_not_compared() -> None:
    found = only(
        case("abc", "failure", options=("a", "b", "c")),
        case("aac", "success", options=("a", "b", "c")),
    )
    assert (found.members_unknown, found.members_known) == (3, 3)
    assert (found.group, found.compared) == (Share(right=1, of=2), Share(right=1, of=1))
    assert found.amplification == 0.0


@pytest.mark.parametrize(
    ("first", "is_right"),
    [
        ("PostgreSQL", True),
        (" POSTGRESQL. ", True),
        ("ＰｏｓｔｇｒｅＳＱＬ", True),
        ("SQLite", False),
        ("use PostgreSQL", False),
        ("PostgreSQL " * 30, None),
        ("\u200b ?!", None),
        ("", None),
    ],
)
def test_a_careless_label_is_compared_by_its_words_or_not_at_all(
    first: str, is_right: bool | None
) -> None:
    """D-15: nothing is guessed: what is too long for a label is no choice, and other words are another one."""
    found = only(case([first], "success", choice="postgresql", options=()))
    known = 0 if is_right is None else 1
    assert (found.members_right, found.members_known, found.members_blank) == (
        int(is_right is True),
        known,
        1 - known,
    )
    assert found.cases_blank == 1 - known


@pytest.mark.parametrize(
    ("first", "right"), [("是的", "Yes"), ("YES!", "是"), ("否", "no"), ("No", "不是")]
)
def test_yes_and_no_are_the_same_in_both_languages(first: str, right: str) -> None:
    """D-15"""
    assert only(case([first], "success", choice=right, options=())).members_right == 1
    assert only(case([first], "success", choice=right, options=("是", "否"))).members_right == 1


def test_a_label_that_is_none_of_the_options_is_no_choice() -> None:
    """D-15"""
    found = only(case(["a", "option a", "c"], "success"))
    assert (
        found.members_right,
        found.members_known,
        found.members_unknown,
        found.members_blank,
    ) == (1, 1, 2, 2)


def test_who_checks_or_moderates_is_no_member_that_could_be_right() -> None:
    """D-15"""
    kept = case("a-", "success")
    one, other = kept.record.members
    moderated = replace(
        kept, record=replace(kept.record, members=(one, replace(other, is_neutral=True)))
    )
    assert (only(kept).members_blank, only(moderated).members_blank) == (1, 0)


def test_a_group_that_errs_more_than_its_members_amplifies() -> None:
    assert only(case("bbbba", "failure")).amplification == pytest.approx(5.0)


def test_members_without_an_error_leave_nothing_to_amplify() -> None:
    assert only(case("aa", "success")).amplification is None


def test_two_halves_are_no_majority() -> None:
    assert only(case("ab", "success")).majority == Share(right=0, of=0)
    assert only(case("ab", "success")).majority.rate is None


def test_one_of_three_is_no_majority() -> None:
    """D-15: whoever speaks first in a roundtable stands for itself."""
    found = only(case("b--", "success"))
    assert (found.majority, found.corrections, found.members) == (
        Share(right=0, of=0),
        0,
        Share(right=0, of=1),
    )
    assert only(case("bb-", "success")).corrections == 1


def test_only_what_was_decided_by_a_group_and_reviewed_counts() -> None:
    assert compute_amplification([case("ab", None), case("ab", "failure", decided=None)]) == ()


def test_protocols_are_reported_apart() -> None:
    found = compute_amplification(
        [case("a", "success", protocol="debate"), case("a", "failure", protocol="consensus")]
    )
    assert [(one.protocol, one.group) for one in found] == [
        ("consensus", Share(right=0, of=1)),
        ("debate", Share(right=1, of=1)),
    ]
