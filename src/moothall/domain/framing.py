"""What a model says of a question before a session opens (Q-1), and the checks that it has to pass.

The model is sent the question alone and answers once. Code keeps what the question bears out: answers that are short and distinct,
criteria in the user's own words. Where too little is left, the session has the frame that code read, or none.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

from moothall.domain.facts import FramingFault, Language
from moothall.domain.frame import (
    MAX_ANSWER_LENGTH,
    MAX_ANSWERS,
    asks_which_one,
    find_unit,
    is_none_of_these,
    is_yes_or_no,
    list_yes_and_no,
    names_several,
)
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late, one_line, shorten_text
from moothall.domain.text.signs import fold_text
from moothall.domain.topic import Frame, normalize_label

MAX_WORDS: Final = 5
MAX_HAN: Final = 10
"""How long an answer is at most: in words, or in Chinese characters."""
MAX_ASSUMES: Final = 240
MAX_CRITERIA: Final = 6
MAX_CRITERION: Final = 160
MIN_CRITERION: Final = 2
"""How many letters a quoted criterion has at least."""

_NUMBER: Final = compile_late(
    r"(?:[\d\s.,:;/%％$€£¥+~≈<>=—–-]|\b(?:to|bis|and|or)\b|至|到)+", re.IGNORECASE
)
_NUMBERING: Final = compile_late(r"^(?:\(?(?:[a-h]|\d{1,2})[.)、]|[-*•])\s+", re.IGNORECASE)
_HAN: Final = compile_late(r"[\u3400-\u9fff]")
_NO_LETTERS: Final = compile_late(r"[\W_]+")
_SENTENCE_END: Final = compile_late(r"(?<=[.!?])\s+|[。！？\n]")
_NOTHING: Final = frozenset(
    ("", "none", "nothing", "no", "n/a", "not applicable", "null", "无", "没有", "暂无", "否")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FramedQuestion:
    """What a model says of a question."""

    assumes: str = ""
    criteria: tuple[str, ...] = ()
    kind: Literal["choice", "yes_no", "number", "forecast", "open", "plan"]
    answers: tuple[str, ...] = ()


def check_framed_question(
    said: FramedQuestion, question: str, language: Language, *, model: str, asked: str
) -> Frame | FramingFault:
    """Return the frame of what a model says of a question, or why it is not used; `asked` are the words of the ask."""
    frame = Frame(
        kind="open",
        made_by="model",
        model=model,
        assumes=_check_assumption(said.assumes, question, asked),
        criteria=_list_criteria(said.criteria, question),
    )
    answers = _list_usable_answers(said.answers, question, asked)
    match _settle_kind(said, answers, question):
        case "open" | "plan":
            return frame
        case "number":
            return replace(frame, kind="number", unit=find_unit(question))
        case "yes_no" | "forecast" as kind:
            # What asks which one, or names two, is not answered by yes.
            if asks_which_one(question):
                return "no_choice"
            return replace(frame, kind=kind, answers=list_yes_and_no(language))
        case "choice":
            return _check_choice(frame, said.answers, answers, question)


def _settle_kind(
    said: FramedQuestion, answers: Sequence[str], question: str
) -> Literal["choice", "yes_no", "number", "forecast", "open", "plan"]:
    """Return the kind that a model says, by its answers where these say another one."""
    # Small models call it a choice between yes and no.
    is_polar = len(said.answers) == 2 and all(map(is_yes_or_no, said.answers))
    if said.kind == "choice" and is_polar:
        return "yes_no"
    names_others = len(answers) > 1
    if said.kind == "forecast" and names_others and asks_which_one(question):
        return "choice"
    return said.kind


def _check_choice(
    frame: Frame, given: Sequence[str], answers: Sequence[str], question: str
) -> Frame | FramingFault:
    # Who repeats the question has not framed it.
    if len(answers) < 2:
        repeated = [each for each in given if _is_sentence_of(each, question)]
        return "echo" if repeated and len(repeated) == len(given) else "few_answers"
    added = tuple(each for each in answers if not _stands_in(each, question))
    if names_several(question) and len(added) == len(answers):
        return "no_choice"
    return replace(frame, kind="choice", answers=tuple(answers), added=added)


def _list_usable_answers(given: Sequence[str], question: str, asked: str) -> list[str]:
    """Return the answers that can be listed: short, no two alike, no bare numbers, no words of the ask."""
    answers: dict[str, str] = {}
    for each in given:
        shown = _NUMBERING.sub("", one_line(each)).strip(" .,;:，。；：'\"“”‘’`*")
        label = normalize_label(shown)
        if not label or is_none_of_these(label) or is_yes_or_no(label) or not _is_short(shown):
            continue
        if _NUMBER.fullmatch(label) or _is_sentence_of(shown, question):
            continue
        # "A or B?" stands in the ask as an example.
        if _stands_in(shown, asked) and not _stands_in(shown, question):
            continue
        answers.setdefault(label, shown)
    return list(answers.values())[:MAX_ANSWERS]


def _is_short(answer: str) -> bool:
    if len(answer) > MAX_ANSWER_LENGTH:
        return False
    if _HAN.search(answer):
        return len(_HAN.findall(answer)) <= MAX_HAN
    return len(answer.split()) <= MAX_WORDS


def _is_sentence_of(text: str, question: str) -> bool:
    """Whether a text is the question, or one of several sentences of it."""
    sentences = {_fold_letters(each) for each in _SENTENCE_END.split(question)}
    return _fold_letters(text) in {*sentences, _fold_letters(question)}


def _stands_in(answer: str, text: str) -> bool:
    """Whether a text has an answer, or each of its words."""
    # Chinese has no spaces between words: there the answer stands in one piece.
    letters = _fold_letters(answer)
    if letters and _HAN.search(answer):
        return letters in _fold_letters(text)
    words = set(_split_words(text))
    own = _split_words(answer)
    return bool(own) and words.issuperset(own)


def _split_words(text: str) -> list[str]:
    return [each for each in _NO_LETTERS.split(fold_text(text)) if each]


def _fold_letters(text: str) -> str:
    return _NO_LETTERS.sub("", fold_text(text))


def _check_assumption(text: str, question: str, asked: str) -> str:
    """Return what a question takes for granted; nothing where a model repeats the question, or what it was asked."""
    shown = one_line(text)
    letters = _fold_letters(shown)
    is_nothing = normalize_label(shown) in _NOTHING or not letters
    if is_nothing or letters in _fold_letters(asked) or letters == _fold_letters(question):
        return ""
    return shorten_text(shown, MAX_ASSUMES)


def _list_criteria(given: Sequence[str], question: str) -> tuple[str, ...]:
    """Return the criteria that are quoted of the question."""
    asked = _fold_letters(question)
    criteria: dict[str, str] = {}
    for each in given:
        shown = one_line(each).strip(" '\"“”‘’")
        letters = _fold_letters(shown)
        is_quoted = len(letters) >= MIN_CRITERION and letters in asked and letters != asked
        if is_quoted and len(shown) <= MAX_CRITERION:
            criteria.setdefault(letters, shown)
    return tuple(criteria.values())[:MAX_CRITERIA]
