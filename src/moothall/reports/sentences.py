"""Whole sentences of a text, and how many lines of a terminal they take: what a memo is made to fit by.

A sentence is never cut inside; where one alone is too long, it ends at its last comma or semicolon that fits, with `…`.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from moothall.domain.facts import Language
from moothall.domain.safe_text import compile_late, strip_control

END_MARKS: Final = ".!?…。！？"
COLUMNS: Final = 80
"""The width of a terminal that a memo is made for."""
HAN: Final = "zh"
"""The language that is written without blanks between words."""

_WIDE: Final = frozenset("WF")
_CLOSING: Final = "\"'”’»)]）」』】"
# A full stop ends a sentence only before a blank and something that can begin one: not within `e.g. this` or `3.5`.
_END: Final = compile_late(
    r"[.!?…]+[\"'”’»)\]]*(?=\s+[^a-z\s])|[。！？…]+[”’」』）】\"')]*",
)
_BULLET: Final = compile_late(r"^[^\S\n]*(?:[-*+•–]|\d{1,3}[.)、])[^\S\n]+", re.MULTILINE)
_HEADING: Final = compile_late(r"^[^\S\n]{0,3}#{1,6}\s.*$", re.MULTILINE)
_RULE: Final = compile_late(r"^[^\S\n]*(?:[-*_][^\S\n]*){3,}$", re.MULTILINE)
_MARKUP: Final = compile_late(r"^[^\S\n]*>\s?|\*+(?=\S)|(?<=\S)\*+|__|`", re.MULTILINE)
_LINE_MARK: Final = compile_late(r"^(?:#{1,6}(?=\s)|>|~{3,}|=+$|\|)")
_CLAUSE_ENDS: Final = ",;，；、：:"


def drop_markup(text: str) -> str:
    """Return a text without the marks of headings, lists and emphasis; a heading is left out where there is more."""
    return _MARKUP.sub("", _BULLET.sub("", _drop_headings(text))).strip()


def _drop_headings(text: str) -> str:
    """Return a text without headings and rules; a text of headings alone without their marks."""
    plain = strip_control(text)
    bare = _RULE.sub("", _HEADING.sub("", plain))
    if bare.strip():
        return bare
    return plain.replace("#", "")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text without markup, each on one line; a paragraph and an item of a list end one."""
    sentences: list[str] = []
    for paragraph in _join_wrapped_lines(text):
        begin = 0
        for match in _END.finditer(paragraph):
            sentences.append(paragraph[begin : match.end()])
            begin = match.end()
        sentences.append(paragraph[begin:])
    lines = [" ".join(each.split()) for each in sentences]
    return [each for each in lines if each.strip(END_MARKS + _CLOSING + " ")]


def _join_wrapped_lines(text: str) -> list[str]:
    """Return the paragraphs and items of a text, each on one line; a line that ends within a sentence goes on with the next."""
    bare = _drop_headings(text)
    paragraphs: list[str] = []
    is_open = False
    for line in bare.split("\n"):
        said = _drop_line_marks(line)
        is_item = _BULLET.match(line) is not None
        if is_open and said and not is_item:
            paragraphs[-1] = join_sentences([paragraphs[-1], said])
        elif said:
            paragraphs.append(said)
        is_open = bool(said) and not said.rstrip(_CLOSING).endswith((*END_MARKS, ":", "："))
    return paragraphs


def _drop_line_marks(line: str) -> str:
    """Return a line without what would make a list, a heading, a quotation or a definition of it, however often it has it."""
    said = line.strip()
    bare = _drop_marks_once(said)
    while bare != said:
        said = bare
        bare = _drop_marks_once(said)
    return said.replace("]:", "] :")


def _drop_marks_once(said: str) -> str:
    return _MARKUP.sub("", _LINE_MARK.sub("", _BULLET.sub("", said))).strip()


def join_sentences(sentences: Sequence[str]) -> str:
    """Return sentences beside each other: with a blank between them where they are not written in Chinese."""
    text = ""
    for each in sentences:
        if text and not is_wide(text[-1]):
            text += " "
        text += each
    return text


def is_wide(char: str) -> bool:
    """Whether a character takes two columns of a terminal."""
    return unicodedata.east_asian_width(char) in _WIDE


def measure_width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    width = 0
    for char in text:
        if is_wide(char):
            width += 2
        elif unicodedata.combining(char) == 0:
            width += 1
    return width


def count_lines(text: str, columns: int = COLUMNS) -> int:
    """Return how many lines of a terminal a text takes: a word that is longer than a line begins on one of its own."""
    lines = 1
    used = 0
    for word in text.split():
        width = measure_width(word)
        if used and used + 1 + width > columns:
            lines += 1
            used = 0
        while width > columns:
            # A Han character that does not fit whole leaves a column empty.
            lines += 1
            width -= columns - 1
        if used:
            used += 1
        used += width
    return lines


def keep_first(sentences: Sequence[str], limit: int) -> list[str]:
    """Return the first sentences that fit together; the first alone is shortened where it does not fit."""
    chosen: list[str] = []
    for each in sentences:
        if measure_width(join_sentences([*chosen, each])) > limit:
            break
        chosen.append(each)
    if not chosen and sentences:
        chosen.append(shorten_sentence(sentences[0], limit))
    return chosen


def keep_last(sentences: Sequence[str], limit: int) -> list[str]:
    """Return the last sentences that fit together, because people end with the point; the last alone may be shortened."""
    chosen: list[str] = []
    # Two columns are for `…` and the blank behind it.
    for each in reversed(sentences):
        if measure_width(join_sentences([each, *chosen])) > limit - 2:
            break
        chosen.insert(0, each)
    if not chosen and sentences:
        chosen.append(shorten_sentence(sentences[-1], limit))
    return chosen


def shorten_sentence(sentence: str, limit: int) -> str:
    """Return a sentence that fits; a longer one ends at the last comma or semicolon that does, then `…`."""
    if measure_width(sentence) <= limit:
        return sentence
    room = cut_to_width(sentence, limit - 2)
    end = max(room.rfind(mark) for mark in _CLAUSE_ENDS)
    if end <= 0:
        end = room.rfind(" ")
    if end <= 0:
        return f"{room}…"
    space = "" if is_wide(sentence[end]) else " "
    return f"{room[:end]}{space}…"


def cut_to_width(text: str, columns: int) -> str:
    """Return the beginning of a text that takes so many columns at most."""
    width = 0
    for at, char in enumerate(text):
        width += measure_width(char)
        if width > columns:
            return text[:at]
    return text


def end_sentence(text: str, language: Language) -> str:
    """Return a text with an end mark: a full stop where it has none."""
    if text.rstrip(_CLOSING).endswith(tuple(END_MARKS)):
        return text
    text = text.rstrip().rstrip(",;:，；：、")
    if language == HAN:
        return f"{text}。"
    return f"{text}."


def strip_stop(text: str) -> str:
    """Return a text without its full stop."""
    return text.rstrip().rstrip(".。")
