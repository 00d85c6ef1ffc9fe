"""What a session is about, beyond its question: where it belongs, what is at stake, what it builds on."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, get_args

from moot.domain.fence import one_line, sound
from moot.domain.ids import SeatId
from moot.errors import BadSetting

Stakes = Literal["low", "medium", "high", "critical"]

LONGEST_LABEL: Final = 100
MOST_LABELS: Final = 32


@dataclass(frozen=True, slots=True, kw_only=True)
class Bond:
    """How far two seats err together, from the cases that they share; 0 not at all, 1 always."""

    one: SeatId
    other: SeatId
    correlation: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
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
    bonds: tuple[Bond, ...] = ()


def subject(
    *,
    category: str = "",
    stakes: str = "medium",
    tags: Iterable[str] = (),
    options: Iterable[str] = (),
    thread: str = "",
    built_on: Iterable[str] = (),
) -> Subject:
    """A checked subject; raises BadSetting saying what was expected."""
    return Subject(
        category=_label("category", category),
        stakes=_stakes(stakes),
        tags=_labels("tag", tags),
        options=_labels("option", options),
        thread=_label("thread", thread),
        built_on=_labels("decision built on", built_on),
    )


@lru_cache(maxsize=4_096)
def normal(label: str) -> str:
    """A choice as it is compared: without case, width, surrounding space and closing marks."""
    return " ".join(unicodedata.normalize("NFKC", one_line(label)).casefold().split()).strip(" .!?。！？,，;；:：'\"“”‘’()")


def _stakes(text: str) -> Stakes:
    for known in get_args(Stakes):
        if text == known:
            return text  # type: ignore[return-value]  # one of the literals, as the loop has found
    raise BadSetting(f"stakes = {text!r}; expected one of: {', '.join(get_args(Stakes))}")


def _label(what: str, text: str) -> str:
    label = one_line(sound(text))
    if len(label) > LONGEST_LABEL:
        raise BadSetting(f"the {what} {label[:40]!r}… has {len(label)} characters; at most {LONGEST_LABEL} are taken")
    return label


def _labels(what: str, texts: Iterable[str]) -> tuple[str, ...]:
    known: dict[str, str] = {}
    for text in texts:
        label = _label(what, text)
        known.setdefault(normal(label) or label, label)
    labels = tuple(known.values())
    if "" in labels:
        raise BadSetting(f"a {what} is empty")
    if len(labels) > MOST_LABELS:
        raise BadSetting(f"{len(labels)} of {what}; at most {MOST_LABELS} are taken")
    return labels
