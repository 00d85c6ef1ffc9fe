"""What was decided, in the words of the answer, completed to a sentence where it is a label (T-5)."""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from moothall.domain.facts import Language
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import MemoText
from moothall.reports.decision import Decision
from moothall.reports.sentences import (
    END_MARKS,
    HAN,
    cut_to_width,
    drop_markup,
    end_sentence,
    is_wide,
    join_sentences,
    measure_width,
    split_sentences,
    strip_stop,
)
from moothall.reports.wording import format_percent


class Limits(NamedTuple):
    """How many columns of a terminal each part of a memo may take at most, in one language; a Han character takes two."""

    how: int
    what: int
    headline: int
    body: int
    body_with_headline: int
    next_line: int
    against: int
    answer: int
    short_against: int
    open: int
    label_words: int
    label: int
    question: int


ENGLISH: Final = Limits(100, 180, 120, 260, 160, 150, 220, 120, 150, 160, 8, 80, 100)
CHINESE: Final = Limits(90, 160, 100, 220, 140, 130, 180, 100, 140, 140, 8, 24, 80)
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_COLONS: Final = (":", "：")
_CLAUSES: Final = ";；"


def get_limits(language: Language) -> Limits:
    """Return the limits of a language."""
    if language == HAN:
        return CHINESE
    return ENGLISH


class What(NamedTuple):
    """What was decided, as one sentence, and which sentence of the text it is; "" where it is none of them."""

    text: str
    sentence: str = ""


def choose_what(decision: Decision, texts: MemoText) -> What:
    """Return what was decided: its headline, else its label, else its first sentence, else that the text stands below."""
    language: Language = texts.language
    if decision.decision is None:
        return What("")
    # A forecast is its chance: "yes" alone would say nothing.
    is_forecast = decision.frame is not None and decision.frame.kind == "forecast"
    if is_forecast and decision.choice and decision.confidence is not None:
        share = format_percent(decision.confidence)
        text = texts.forecast.format(answer=strip_stop(one_line(decision.choice)), share=share)
        return What(end_sentence(text, language))
    # The words that the others voted on go before a label.
    headline = find_headline(decision)
    if headline:
        return What(end_sentence(headline, language))
    label = one_line(drop_markup(decision.choice))
    if label and is_label(label, language):
        return What(end_sentence(_complete_label(label, decision, texts), language))
    return _take_first_sentence(label or decision.decision.text, texts)


def is_label(text: str, language: Language) -> bool:
    """Whether an answer is a label: a few words without an end mark."""
    limits = get_limits(language)
    if text.endswith(tuple(END_MARKS)) or any(mark in text for mark in "。！？"):
        return False
    if any(map(is_wide, text)):
        return measure_width(text) <= CHINESE.label
    return len(text.split()) <= limits.label_words and len(text) <= limits.label


def _complete_label(label: str, decision: Decision, texts: MemoText) -> str:
    """Return a label as it was written; a bare yes or no with the question that it answers."""
    if label.casefold() not in texts.bare_answers:
        return label
    question = find_question(decision.topic)
    # A long question is the title already.
    if not question or measure_width(question) > get_limits(texts.language).question:
        return label
    return texts.yes_to.format(answer=label, question=question)


def find_question(topic: str) -> str:
    """Return the sentence of a topic that asks, its last one; its only sentence where none asks; else ""."""
    sentences = split_sentences(topic)
    asking = [each for each in sentences if each.endswith(("?", "？"))]
    if asking:
        return asking[-1]
    if len(sentences) == 1:
        return sentences[0]
    return ""


def _take_first_sentence(text: str, texts: MemoText) -> What:
    """Return the first sentence of a text, whole; a longer one up to its last semicolon that fits."""
    limit = get_limits(texts.language).what
    sentences = split_sentences(text)
    if not sentences:
        return What(texts.below)
    first = sentences[0]
    if first.endswith(_COLONS) and len(sentences) > 1:
        # A list follows: its items are what was decided.
        listed = texts.between_items.join(each.rstrip(".。") for each in sentences[1:])
        joined = join_sentences([first, listed])
        if measure_width(joined) <= limit:
            return What(end_sentence(joined, texts.language), joined)
    if measure_width(first) <= limit:
        return What(end_sentence(first, texts.language), first)
    room = cut_to_width(first, limit)
    end = max(room.rfind(mark) for mark in _CLAUSES)
    if end <= 0:
        return What(texts.below)
    return What(end_sentence(first[:end].rstrip(), texts.language), first)


def find_headline(decision: Decision) -> str:
    """Return the headline of a decision; "" where it has none that fits, or it says what the text does not."""
    if decision.decision is None or not decision.headline.strip():
        return ""
    headline = one_line(drop_markup(decision.headline))
    answers: tuple[str, ...] = ()
    if decision.frame is not None:
        answers = decision.frame.answers
    text = f"{decision.decision.text}\n{decision.choice}"
    limit = get_limits(decision.language).headline
    if measure_width(headline) > limit or not is_faithful(headline, text, answers):
        return ""
    return headline


def is_faithful(headline: str, text: str, answers: Sequence[str] = ()) -> bool:
    """Whether a headline holds no number and none of the listed answers that its text does not have."""
    known = set(_NUMBER.findall(text))
    if any(number not in known for number in _NUMBER.findall(headline)):
        return False
    folded, said = text.casefold(), headline.casefold()
    return all(each.casefold() in folded for each in answers if each.casefold() in said)
