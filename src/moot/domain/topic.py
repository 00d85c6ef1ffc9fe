"""What a session is about, beyond its question: where it belongs, what is at stake, what it builds on."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

from moot.domain.ids import SeatId
from moot.domain.safe_text import fix_surrogates, one_line
from moot.errors import BadSetting

Stakes = Literal["low", "medium", "high", "critical"]

LONGEST_LABEL: Final = 100
MOST_LABELS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorCorrelation:
    """How far two seats err together, from the cases that they share; 0 not at all, 1 always."""

    one: SeatId
    other: SeatId
    correlation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Recorded in the opening.

    `options` are the answers to choose among, if they are known; `built_on` are earlier decisions that this one rests on;
    `bonds` tell apart seats that think for themselves from seats that err together.
    """

    category: str = ""
    stakes: Stakes = "medium"
    tags: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    thread: str = ""
    built_on: tuple[str, ...] = ()
    bonds: tuple[ErrorCorrelation, ...] = ()


def build_topic(
    *,
    category: str = "",
    stakes: str = "medium",
    tags: Iterable[str] = (),
    options: Iterable[str] = (),
    thread: str = "",
    built_on: Iterable[str] = (),
) -> Topic:
    """A checked subject; raises BadSetting saying what was expected."""
    return Topic(
        category=_validate_label("category", category),
        stakes=_parse_stakes(stakes),
        tags=_validate_labels("tag", tags),
        options=_validate_labels("option", options),
        thread=_validate_label("thread", thread),
        built_on=_validate_labels("decision built on", built_on),
    )


@lru_cache(maxsize=4_096)
def normalize_label(label: str) -> str:
    """A choice as it is compared: without case, width, surrounding space and closing marks."""
    return " ".join(unicodedata.normalize("NFKC", one_line(label)).casefold().split()).strip(" .!?。！？,，;；:：'\"“”‘’()")


def _parse_stakes(text: str) -> Stakes:
    for known in get_args(Stakes):
        if text == known:
            return text  # type: ignore[return-value]  # one of the literals, as the loop has found
    raise BadSetting(f"stakes = {text!r}; expected one of: {', '.join(get_args(Stakes))}")


def _validate_label(what: str, text: str) -> str:
    label = one_line(fix_surrogates(text))
    if len(label) > LONGEST_LABEL:
        raise BadSetting(f"the {what} {label[:40]!r}… has {len(label)} characters; at most {LONGEST_LABEL} are taken")
    return label


def _validate_labels(what: str, texts: Iterable[str]) -> tuple[str, ...]:
    known: dict[str, str] = {}
    for text in texts:
        label = _validate_label(what, text)
        known.setdefault(normalize_label(label) or label, label)
    labels = tuple(known.values())
    if "" in labels:
        raise BadSetting(f"a {what} is empty")
    if len(labels) > MOST_LABELS:
        raise BadSetting(f"{len(labels)} of {what}; at most {MOST_LABELS} are taken")
    return labels
