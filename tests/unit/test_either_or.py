"""Q-2: which questions name two things, so that yes is no answer; labelled in `either_or_questions.tsv` before the rule was run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from moothall.domain.either_or import find_alternatives, is_yes_or_no

CORPUS: Final = Path(__file__).with_name("either_or_questions.tsv")


class LabelledQuestion(NamedTuple):
    language: str
    label: str
    text: str
    names: tuple[str, ...]


def read_corpus() -> Iterator[LabelledQuestion]:
    for line in CORPUS.read_text("utf-8").splitlines():
        language, label, text, *names = line.split("\t")
        yield LabelledQuestion(language, label, text, tuple(names[0].split("|")) if names else ())


QUESTIONS: Final = tuple(read_corpus())
REAL: Final = tuple(each.text for each in QUESTIONS if each.label == "other")
EITHER_OR: Final = tuple(each for each in QUESTIONS if each.label == "which")


@pytest.mark.parametrize("question", REAL)
def test_no_question_that_yes_may_answer_is_asked_back(question: str) -> None:
    """Q-2: on the side of asking nothing where it is not sure."""
    assert find_alternatives(question) == ()


MISSED: Final = {
    "Should we hire a designer or a developer first?",
    "Should we charge per seat or per session?",
}
"""What the rule does not see: nothing is asked there, and yes counts as before."""


def test_questions_that_name_things_are_seen() -> None:
    """Q-2: 69 of 71 labelled either-or questions in three languages; the rest is left alone."""
    missed = {each.text for each in EITHER_OR if not find_alternatives(each.text)}
    assert missed == MISSED
    named = [each for each in EITHER_OR if each.names]
    assert {each.text: find_alternatives(each.text) for each in named} == {
        each.text: each.names for each in named
    }
    assert len(QUESTIONS) >= 150


def test_a_long_or_hostile_question_is_left_alone() -> None:
    """A topic may have 20,000 characters, and none of them costs more than its length."""
    for text in (
        " " * 20_000,
        "a or " * 4_000 + "b?",
        "还是" * 9_000,
        ", or " * 4_000,
        "x" * 20_000,
    ):
        assert find_alternatives(text) == ()


@pytest.mark.parametrize(
    "label", ["yes", "Yes.", "YES!", "no", "ja", "Nein", "是", "是的。", "否", "不"]
)
def test_yes_and_no_are_known_in_three_languages(label: str) -> None:
    assert is_yes_or_no(label)


@pytest.mark.parametrize(
    "label", ["", "yes, PostgreSQL", "PostgreSQL", "not MySQL", "北京", "neither"]
)
def test_other_labels_are_no_bare_yes(label: str) -> None:
    assert not is_yes_or_no(label)
