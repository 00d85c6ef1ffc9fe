"""What people write in plain text is read where it is certain, in both languages, and refused where it is not."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.domain.facts import Language
from moothall.domain.person import PersonAsk, PersonChoice, PersonStep
from moothall.domain.vocabulary import CHOICE_WORDS
from moothall.errors import BadAnswer
from moothall.reading.choices import build_choices, read_choice
from moothall.reading.person_asks import (
    read_confidence,
    read_plain_answer,
    read_step,
    suggest_choice,
)
from moothall.reading.stated import PositionRead, find_choice, read_option
from moothall.reports.person_steps import ask_choice, ask_confidence, ask_position
from moothall.scoring.positions import VotePosition

POSITIONS = ask_position("en", get_args(VotePosition))[0].choices
SURE = ask_confidence("en").choices


def options(*names: str) -> tuple[PersonChoice, ...]:
    return ask_choice("en", names).choices


@pytest.mark.parametrize(
    ("text", "value", "condition"),
    [
        ("support", "support", ""),
        ("1", "support", ""),
        ("SUPPORT!", "support", ""),
        ("I support it, because it is cheap.", "support", ""),
        ("I strongly support this motion", "support", ""),
        ("yes, because it works", "support", ""),
        ("Yes, if it ships by May.", "conditional_support", "it ships by May"),
        ("I support it, provided that Ops agrees", "conditional_support", "Ops agrees"),
        ("I support it as long as #3 is answered", "conditional_support", "#3 is answered"),
        ("Yes, unless it rains", "conditional_support", "unless it rains"),
        ("conditional support: with bread", "conditional_support", "with bread"),
        ("I oppose it: too risky", "oppose", ""),
        ("I am against it", "oppose", ""),
        ("abstain", "abstain", ""),
        ("No opinion.", "abstain", ""),
        ("After all of this, I support it.", "support", ""),
        ("支持，因为便宜。", "support", ""),
        ("我支持这个动议", "support", ""),
        ("支持，如果五月能上线", "conditional_support", "五月能上线"),
        ("我不支持", "oppose", ""),
        ("反对：风险太大", "oppose", ""),
        ("我弃权", "abstain", ""),
    ],
)
def test_a_position_is_read_from_a_sentence(text: str, value: str, condition: str) -> None:
    """M-8: position words in both languages; "yes, if" is conditional support with its condition."""
    assert find_choice(text, POSITIONS) == PositionRead(value, condition)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hm",
        "Nobody can support this.",
        # A condition that comes first is asked about in one line, and shown to a person.
        "If we get the budget, I support it.",
        "如果预算够，我支持",
        "No problem with that",
        "Yes. But mind the cost.",
        "No, it is too early.",
        "I do not support it.",
        "I can’t support this",
        "OK, let me think",
        "Con",
        "I do not oppose it",
        "Who supports whom?",
        "The others support it, and they are wrong",
        "不错的主意",
        "or oppose, who knows",
        "我投票" * 120,
        "i am " * 80,
        "{}",
        *("a", "c", "D", "option b"),
    ],
)
def test_what_is_not_certain_is_no_position(text: str) -> None:
    """M-8: nonsense is never recorded."""
    assert find_choice(text, POSITIONS) is None


@pytest.mark.parametrize(
    ("text", "names", "found"),
    [
        ("2", ("Postgres", "SQLite"), "SQLite"),
        ("b", ("Postgres", "SQLite"), "SQLite"),
        ("B. SQLite", ("Postgres", "SQLite"), "SQLite"),
        ("B. Postgres", ("A. SQLite", "B. Postgres"), "B. Postgres"),
        ("B", ("A. SQLite", "B. Postgres"), "B. Postgres"),
        ("Postgres", ("A. SQLite", "B. Postgres"), "B. Postgres"),
        ("I propose Postgres, because we know it.", ("Postgres", "SQLite"), "Postgres"),
        ("option A", ("A", "B"), "A"),
        ("我选微服务", ("单体", "微服务"), "微服务"),
        # The letter of one and the name of the other.
        ("A. SQLite", ("Postgres", "SQLite"), None),
        ("Either Postgres or SQLite", ("Postgres", "SQLite"), None),
        ("a good question", ("A", "B"), None),
        ("not Postgres", ("Postgres", "SQLite"), None),
        ("9", ("Postgres", "SQLite"), None),
        ("MySQL", ("Postgres", "SQLite"), None),
    ],
)
def test_an_option_is_read_by_number_letter_or_name(
    text: str, names: tuple[str, ...], found: str | None
) -> None:
    """M-8: as in "B. Postgres"."""
    assert read_option(text, options(*names)) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("sure", "sure"),
        ("2", "fairly sure"),
        ("not sure", "unsure"),
        ("80%", "0.8"),
        ("eighty percent", "0.8"),
        ("8/10", "0.8"),
        ("high", "0.8"),
        (".35", "0.35"),
        ("0.35", "0.35"),
        ("7", None),
        ("900%", None),
    ],
)
def test_a_confidence_is_a_word_or_a_share(text: str, found: str | None) -> None:
    """M-8: never a score that a person has to invent."""
    assert read_confidence(text, SURE) == found


def test_numbers_are_typed_as_models_write_them() -> None:
    """M-8"""
    one = PersonStep(name="moved_by", text="?", kind="number", numbers=range(1, 6))
    several = PersonStep(name="answers", text="?", kind="numbers", numbers=range(1, 6))
    assert [read_step(one, typed) for typed in ("#3", "line 3", "three", "第三条", "9", "3 4")] == [
        "3",
        "3",
        "3",
        "3",
        None,
        None,
    ]
    assert [read_step(several, typed) for typed in ("#3, #5", "3 and 5", "3 and 9")] == [
        "3 5",
        "3 5",
        None,
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("value", get_args(VotePosition))
def test_a_model_and_a_person_say_a_position_in_the_same_words(
    language: Language, value: str
) -> None:
    """M-8, M-2: there is one vocabulary."""
    choices = ask_position(language, get_args(VotePosition))[0].choices
    for word in CHOICE_WORDS[value]:
        expected = read_choice(word, choices)
        assert expected == read_choice(word, build_choices(get_args(VotePosition))) == value


def test_a_mistyped_choice_is_explained() -> None:
    """M-8: typos are told, not guessed."""
    assert suggest_choice("suport", POSITIONS) == "support"
    assert suggest_choice("zebra", POSITIONS) == ""


VOTE = PersonAsk(
    steps=(*ask_position("en", get_args(VotePosition)), ask_confidence("en")), build=dict
)
BALLOT = PersonAsk(
    steps=(
        *ask_position("en", get_args(VotePosition), group="1"),
        *ask_position("en", get_args(VotePosition), group="4"),
    ),
    build=dict,
)


def test_a_vote_in_one_sentence_keeps_all_its_words() -> None:
    """M-8: the position, the condition, and the whole sentence as the reason."""
    said = "Yes, if it ships by May. The rest can wait."
    assert read_plain_answer(VOTE, said) == {
        "position": "conditional_support",
        "condition": "it ships by May",
        "why": said,
    }
    assert read_plain_answer(VOTE, "oppose") == {"position": "oppose", "condition": ""}


@pytest.mark.parametrize(
    ("text", "condition", "confidence"),
    [
        ("Yes, if we test restarts, 60% sure", "we test restarts", "0.6"),
        ("Yes, if we test restarts (confidence: 0.7).", "we test restarts", "0.7"),
        ("Yes, if we test restarts. I am about 80 % certain.", "we test restarts", "0.8"),
        ("支持，如果五月能上线，我有70%的把握。", "五月能上线", "0.7"),
        ("Yes, if we are 300% sure", "we are 300% sure", None),
        ("Yes, if nobody is less than 60% sure", "nobody is less than 60% sure", None),
    ],
)
def test_how_sure_a_writer_is_becomes_no_part_of_a_condition(
    text: str, condition: str, confidence: str | None
) -> None:
    """M-8: a sureness at the end is the answer to that question; a share within a sentence belongs to the sentence."""
    ask = PersonAsk(steps=(*VOTE.steps, ask_confidence("en")), build=dict)
    answers = read_plain_answer(ask, text)
    assert isinstance(answers, dict)
    assert (answers["condition"], answers.get("confidence")) == (condition, confidence)


SIDES = build_choices(("support", "challenge"))


@pytest.mark.parametrize(
    ("text", "side"),
    [
        ("challenge: Redis loses jobs on restart unless the log is on.", "challenge"),
        ("challenge #2: it loses jobs, but not always", "challenge"),
        ("I challenge #2: it loses jobs unless the log is on", "challenge"),
        ("support: it does not lose a job", "support"),
        ("challenge: none", None),
        ("challenge: no", None),
        ("support: zero", None),
        ("support: I challenge it", None),
        ("challenge: I support it", None),
        ("No, it is fine", None),
    ],
)
def test_a_contribution_may_begin_with_the_name_of_its_kind(text: str, side: str | None) -> None:
    """M-14: its text may deny and doubt as it likes, but not the name itself."""
    read = find_choice(text, SIDES)
    assert (None if read is None else read.value) == side


def test_several_items_are_answered_on_numbered_lines() -> None:
    """M-8: a ballot of a swarm in plain text."""
    answers = read_plain_answer(BALLOT, "1: yes\n4. I oppose it,\nit is dear")
    assert answers == {
        "position.1": "support",
        "condition.1": "",
        "position.4": "oppose",
        "condition.4": "",
        "why.4": "I oppose it,\nit is dear",
    }


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("perhaps", "expected one of: support | conditional support | oppose | abstain"),
        ("", "the answer is empty; expected one of: support"),
        ("conditional", "the condition is missing"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_can_be_said(text: str, told: str) -> None:
    """M-8."""
    with pytest.raises(BadAnswer) as refused:
        read_plain_answer(VOTE, text)
    assert told in str(refused.value)


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused(text: str) -> None:
    """M-8: never another error, and never a value that is not in the list."""
    words = PersonStep(name="words", text="?", is_needed=True, is_long=True)
    for ask in (VOTE, BALLOT, PersonAsk(steps=(ask_choice("en", ("A", "B")), words), build=dict)):
        try:
            answers = read_plain_answer(ask, text)
        except BadAnswer:
            continue
        assert isinstance(answers, dict)
        for step in ask.steps:
            if step.choices and step.key in answers:
                assert answers[step.key] in {choice.value for choice in step.choices}
