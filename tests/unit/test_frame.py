"""Q-1: what a question says of its own answers; each question was labelled before the rule was first run on it.

A label is a kind, with the names of a choice behind it; `unclear` where no kind is plain. `either_or_questions.tsv` labels only
whether a question names several things (`which`). A line break within a question is written as \\n.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from moothall.domain.frame import (
    AskedKind,
    build_frame,
    is_none_of_these,
    is_yes_or_no,
    names_nothing,
    read_question,
)
from moothall.domain.topic import Frame
from moothall.errors import BadSetting

HERE: Final = Path(__file__).parent


class LabelledQuestion(NamedTuple):
    language: str
    label: str
    names: tuple[str, ...]
    text: str


def read_corpus(name: str) -> Iterator[LabelledQuestion]:
    for line in (HERE / name).read_text("utf-8").splitlines():
        language, label, names, text = line.split("\t")
        answers = tuple(names.split("|")) if names else ()
        yield LabelledQuestion(language, label, answers, text.replace("\\n", "\n"))


FIRST: Final = tuple(read_corpus("frame_questions.tsv"))
SECOND: Final = tuple(read_corpus("frame_questions_held.tsv"))
EITHER_OR: Final = tuple(
    line.split("\t") for line in (HERE / "either_or_questions.tsv").read_text("utf-8").splitlines()
)


def judge(question: LabelledQuestion) -> str:
    """Return whether what is read is right, wrong, or none where there is something to read."""
    read = read_question(question.text)
    kind = "open" if read is None else read.kind
    if question.label in {"open", "unclear"}:
        return "right" if kind == "open" else "wrong"
    if kind == "open":
        return "none"
    return (
        "right" if read == AskedKind(kind, question.names) and kind == question.label else "wrong"
    )


@pytest.mark.parametrize(
    ("corpus", "right", "none"), [(FIRST, 291, 1), (SECOND, 217, 7)], ids=["first", "second"]
)
def test_no_question_gets_a_wrong_frame(
    corpus: tuple[LabelledQuestion, ...], right: int, none: int
) -> None:
    """Q-1: a wrong frame would forbid the right answer; no frame costs nothing."""
    judged = {each.text: judge(each) for each in corpus}
    assert [text for text, verdict in judged.items() if verdict == "wrong"] == []
    assert Counter(judged.values()) == Counter(right=right, none=none)
    assert len(corpus) >= 150


@pytest.mark.parametrize("line", EITHER_OR, ids=lambda line: line[2])
def test_a_question_that_names_several_things_is_a_choice_and_no_other_is(line: list[str]) -> None:
    """Q-2: 73 of 73 either-or questions in three languages."""
    read = read_question(line[2])
    assert (read is not None and read.kind == "choice") == (line[1] == "which")


@pytest.mark.parametrize(
    "text",
    [
        " " * 20_000,
        "a or " * 4_000 + "b?",
        "还是" * 9_000,
        ", or " * 4_000,
        "x" * 20_000,
        "We have a database. " * 1_250 + "Should we use Postgres or MySQL?",
        "PostgreSQL or MySQL? " * 400,
        "should we " * 190 + "a or b?",
        "`" * 1_999 + "?",
    ],
    ids=range(9),
)
def test_a_long_or_hostile_text_has_no_frame(text: str) -> None:
    """Q-1: a text of 5,000 words is a task; a topic may have 20,000 characters, and none of them costs more than its length."""
    assert read_question(text) is None


def test_an_either_or_question_lists_what_it_names_and_never_yes_or_no() -> None:
    """Q-2"""
    frame = build_frame("Postgres or a document database for a small clinic?", "en")
    assert frame == Frame(kind="choice", answers=("Postgres", "document database"))
    for each in (*FIRST, *SECOND):
        named = build_frame(each.text, each.language)
        if named is not None and named.kind == "choice":
            assert not any(map(is_yes_or_no, named.answers))


def test_answers_are_listed_in_the_language_of_the_session() -> None:
    assert build_frame("Should we ship?", "en") == Frame(kind="yes_no", answers=("yes", "no"))
    assert build_frame("要不要发布？", "zh") == Frame(kind="yes_no", answers=("是", "否"))
    assert build_frame("How many seats do we need?", "en") == Frame(kind="number", unit="seats")


def test_what_the_opener_gives_counts_before_the_words() -> None:
    """Q-1: options and kind are the opener's own."""
    given = build_frame("Should we ship?", "en", options=("now", "later"))
    assert given == Frame(kind="choice", answers=("now", "later"), made_by="opener")
    as_open = build_frame("Should we ship?", "en", kind="open")
    assert as_open == Frame(kind="open", made_by="opener")
    both = build_frame("Ship it.", "en", kind="yes_no", options=("Yes", "No"))
    assert both == Frame(kind="yes_no", answers=("Yes", "No"), made_by="opener")
    with pytest.raises(BadSetting, match="--option A --option B"):
        build_frame("Which database?", "en", kind="choice")


@pytest.mark.parametrize(
    "label", ["yes", "Yes.", "YES!", "no", "ja", "Nein", "是", "是的。", "否", "不"]
)
def test_yes_and_no_are_known_in_three_languages(label: str) -> None:
    assert is_yes_or_no(label)
    assert names_nothing(("Postgres", "MySQL"), label)
    assert not names_nothing(("yes", "no"), label)
    assert not names_nothing((), label)


@pytest.mark.parametrize(
    "label", ["", "yes, PostgreSQL", "PostgreSQL", "not MySQL", "北京", "neither"]
)
def test_other_labels_are_no_bare_yes(label: str) -> None:
    assert not is_yes_or_no(label)


@pytest.mark.parametrize("label", ["none of these", "None of these.", "都不是", "neither"])
def test_none_of_these_is_known_in_both_languages(label: str) -> None:
    assert is_none_of_these(label)
