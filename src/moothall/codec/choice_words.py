"""Finds what was chosen: by number, by letter, by name, by a word for it, or in a sentence; people and models alike.

A whole answer is looked up here; sentences are read by the one rule of `choice_rule`.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from moothall.codec.choice_rule import PositionRead, apply_rule, has_denial, list_synonyms
from moothall.domain.person import PersonChoice
from moothall.domain.topic import normalize_label

_LETTER = re.compile(r"(?:option\s+|answer\s+|选项\s*)?(?P<mark>[a-z]|\d{1,2})\s*(?:[.):、）：]|$)\s*(?P<rest>.*)", re.DOTALL)
_LINE_NUMBER: Final = re.compile(r"#(\d{1,6})")
_NUMBERED_CLAUSE: Final = re.compile(r"[.;；。\n]|\s(?:and|but|while)\s|[,，、](?=[^#]{0,40}#\d)|而|但")
MIN_PREFIX: Final = 4
"""How many letters of a word for a choice must be typed: "con" may be the beginning of a condition, or against it."""


@lru_cache(maxsize=256)
def split_by_line_number(text: str) -> list[tuple[int | None, str]]:
    """Return what each clause says of the lines that it names: "I support #5 and oppose #6" speaks of both apart.

    A clause that names no line has None: what it says may take back what another one says.
    """
    clauses: list[tuple[int | None, str]] = []
    for clause in filter(str.strip, _NUMBERED_CLAUSE.split(text)):
        words = " ".join(_LINE_NUMBER.sub(" it ", clause).split())
        clauses += [(int(number), words) for number in _LINE_NUMBER.findall(clause)] or [(None, words)]
    return clauses


def build_choices(options: tuple[str, ...]) -> tuple[PersonChoice, ...]:
    """Return options as choices."""
    return tuple(PersonChoice(value=option, text=option) for option in options)


def list_words(choice: PersonChoice) -> tuple[str, ...]:
    """Return every word that means a choice: its value, what is shown, and what else says the same."""
    return (choice.value, choice.text, *choice.words, *list_synonyms(choice))


def has_meaning(choices: Sequence[PersonChoice]) -> bool:
    """Whether the choices are positions, verdicts or the like, which have other words, and not names alone."""
    return any(list_synonyms(choice) for choice in choices)


def find_choice(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Return the one choice that a text makes; None if it does not make exactly one."""
    chosen = read_choice(text, choices)
    return PositionRead(chosen) if chosen is not None else apply_rule(text, choices)


def read_position(text: str, choices: Sequence[PersonChoice]) -> PositionRead | None:
    """Return the position that a text takes, such as "Yes, if it ships by May."; None if it does not take exactly one."""
    return find_choice(text, choices)


def read_option(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the one option that a text names, such as "I propose Postgres, because …"; None if none or several."""
    read = find_choice(text, choices)
    return None if read is None else read.value


@lru_cache(maxsize=256)
def _index_words(choices: tuple[PersonChoice, ...]) -> dict[str, str]:
    """Return the value of each word. A choice by its own name comes before a word for another one."""
    values = {name: each.value for each in reversed(choices) for name in (_fold(each.value), _fold(each.text))}
    for choice in choices:
        for word in list_words(choice):
            values.setdefault(_fold(word), choice.value)
    values.pop("", None)
    return values


def read_choice(text: str, choices: Sequence[PersonChoice]) -> str | None:
    """Return the choice that a whole text is: by number, by letter, by word or by a part of its name; None if not certain."""
    typed = _fold(text)
    value = _index_words(tuple(choices)).get(typed)
    if value is not None:
        return value
    mark = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip().casefold())
    if mark is not None:
        return _read_marked_choice(mark["mark"], _fold(mark["rest"]), choices)
    shortest = MIN_PREFIX if typed.isascii() and has_meaning(choices) else 2
    begun = [choice.value for choice in choices if len(typed) >= shortest and _fold(choice.text).startswith(typed)]
    if len(begun) == 1:
        return begun[0]
    is_name = len(typed) >= 3 and not has_denial(typed)
    holding = [choice.value for choice in choices if is_name and _holds_name(_fold(choice.text), typed)]
    return holding[0] if len(holding) == 1 else None


def is_line_mark(text: str, choices: Sequence[PersonChoice]) -> bool:
    """Whether a text is the number or the letter of a line, and no choice is called that."""
    mark = _LETTER.fullmatch(unicodedata.normalize("NFKC", text).strip().casefold())
    if mark is None or mark["rest"]:
        return False
    label = re.compile(rf"{re.escape(mark['mark'])}(?:\W|$)")
    return not any(label.match(word.casefold()) for choice in choices for word in list_words(choice))


def _read_marked_choice(mark: str, rest: str, choices: Sequence[PersonChoice]) -> str | None:
    """Read "2", "b" or "B. Postgres"; where options bear marks themselves, the name must be the one of its mark."""
    if rest:
        bare = [choice.value for choice in choices if _fold(choice.text) == mark]
        named = [choice.value for choice in choices if rest in {_fold(choice.text), _fold(choice.value)}]
        own = [choice.value for choice in choices if _fold(choice.text).startswith(f"{mark}.")]
        return bare[0] if bare else named[0] if named and (not own or own == named) else None
    # An option that is called "B. Postgres" itself comes before the second of the list.
    lettered = [choice.value for choice in choices if re.match(rf"{re.escape(mark)}\W", choice.text.casefold())]
    if lettered:
        return lettered[0] if len(lettered) == 1 else None
    at = int(mark) - 1 if mark.isdigit() else ord(mark) - ord("a")
    return choices[at].value if 0 <= at < len(choices) else None


def _holds_name(text: str, name: str) -> bool:
    edge = r"(?<![a-z0-9_])" if name[0].isascii() else ""
    after = r"(?![a-z0-9_])" if name[-1].isascii() else ""
    return re.search(f"{edge}{re.escape(name)}{after}", text) is not None


def _fold(text: str) -> str:
    return normalize_label(text.replace("_", " ")).strip("\"'`*.,;:!?()[]{}。，；：！？（）【】“”‘’ ")
