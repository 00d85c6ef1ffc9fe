"""Where people read how likely a decision is right (Q-10)."""

from dataclasses import replace

import pytest

from moothall.domain.ids import SessionId
from moothall.domain.topic import QuestionKind
from moothall.locale.catalogues import SHARED_REPORT
from moothall.reports.decision import Decision, SourcedClaim, is_chance_shown
from moothall.reports.sections import list_confidence_rows

DECIDED = Decision(
    session=SessionId("s"),
    topic="Which?",
    status="concluded",
    decision=SourcedClaim(text="This one."),
    support=1.0,
    confidence=0.85,
    confidence_from="blind",
)


@pytest.mark.parametrize(
    ("kind", "plain", "asked", "reviewed"),
    [
        ("forecast", True, True, True),
        ("number", True, True, True),
        ("yes_no", False, True, True),
        ("choice", False, True, True),
        ("open", False, False, False),
        (None, True, True, True),
    ],
)
def test_a_chance_is_shown_by_the_kind_of_question(
    kind: QuestionKind | None, plain: bool, asked: bool, reviewed: bool
) -> None:
    """Q-10"""
    assert is_chance_shown(kind, is_asked_for=False, has_reviewed=False) is plain
    assert is_chance_shown(kind, is_asked_for=True, has_reviewed=False) is asked
    assert is_chance_shown(kind, is_asked_for=False, has_reviewed=True) is reviewed


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_chance_that_is_not_shown_is_kept_for_programs(language: str) -> None:
    """Q-10: always computed and kept."""
    words = SHARED_REPORT[language]
    hidden = replace(DECIDED, chance_hidden=True)
    assert "85 %" in str(list_confidence_rows(DECIDED, words))
    assert list_confidence_rows(hidden, words) == []
    assert (hidden.to_json()["confidence"], hidden.to_json()["chanceHidden"]) == (0.85, True)
    assert hidden.strength == DECIDED.strength
