"""The pairs, and what a measure makes of them."""

import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from bench.swarm.speech import build_meanings
from moothall.domain.facts import Language
from moothall.scoring.likeness import ABOUT_ONE_SUBJECT, JOIN_AT, is_against, measure_by_words

DATA: Final = Path(__file__).resolve().parents[1] / "data"
LANGUAGES: Final = ("en", "zh", "across")
KINDS: Final = ("same", "opposed", "near")
PARTS: Final = ("tuning", "held-out", "fresh", "last")


class Judgement(NamedTuple):
    """The similarity of two ideas, and whether they take opposite sides of one question."""

    likeness: float
    opposed: bool


def is_same_idea(judgement: Judgement) -> bool:
    """Whether two ideas with this judgement count as the same."""
    return judgement.likeness >= JOIN_AT and not judgement.opposed


def judge_pair(likeness: float, one: str, other: str) -> Judgement:
    """Combine a similarity with the check for opposite sides."""
    return Judgement(likeness, likeness >= ABOUT_ONE_SUBJECT and is_against(one, other))


Measure = Callable[[str, Sequence[str]], list[Judgement]]
Similarity = Callable[[str, Sequence[str]], list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two ideas: `same` is one said twice, `opposed` the other side of one question, `near` another idea on a near topic."""

    kind: str
    part: str
    one: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A pair as a measure judged it."""

    pair: Pair
    judgement: Judgement

    @property
    def is_right(self) -> bool:
        return is_same_idea(self.judgement) == (self.pair.kind == "same")


@cache
def pairs(language: str) -> tuple[Pair, ...]:
    """The pairs in one language; across: the one idea of each in the one language, the other in the other, both ways."""
    if language == "across":
        english, chinese = pairs("en"), pairs("zh")
        return tuple(
            replace(one, other=other.other)
            for first, second in ((english, chinese), (chinese, english))
            for one, other in zip(first, second, strict=True)
        )
    with (DATA / f"idea_pairs_{language}.toml").open("rb") as file:
        return tuple(Pair(**row) for row in tomllib.load(file)["pair"])


def verdicts(measure: Measure, language: str, part: str) -> list[Verdict]:
    """What a measure makes of the pairs of one part."""
    return [
        Verdict(pair=pair, judgement=measure(pair.one, [pair.other])[0])
        for pair in pairs(language)
        if pair.part == part
    ]


def share(found: Sequence[Verdict], kind: str) -> float:
    """The share of the pairs of a kind that are rightly joined or kept apart."""
    listed = [verdict.is_right for verdict in found if verdict.pair.kind == kind]
    return sum(listed) / len(listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joins:
    """Findings of one task, each compared with all before it: the pairs joined that say the same, and those that do not."""

    right: tuple[tuple[str, str], ...]
    wrong: tuple[tuple[str, str], ...]
    same: int
    compared: int


def one_task(measure: Measure, language: str) -> Joins:
    """What a measure joins of twenty findings of one task."""
    with (DATA / "one_task.toml").open("rb") as file:
        read = tomllib.load(file)
    texts, same = read[language]["findings"], {tuple(places) for places in read["same"]}
    joined = [
        (before, at)
        for at, text in enumerate(texts)
        for before, judgement in enumerate(measure(text, texts[:at]))
        if is_same_idea(judgement)
    ]
    return Joins(
        right=tuple((texts[one], texts[other]) for one, other in joined if (one, other) in same),
        wrong=tuple(
            (texts[one], texts[other]) for one, other in joined if (one, other) not in same
        ),
        same=len(same),
        compared=len(texts) * (len(texts) - 1) // 2,
    )


def count_near(measure: Similarity, language: str) -> int:
    """How many paraphrases are among the texts of all pairs that are nearest to what they say again."""
    texts = list(dict.fromkeys(text for pair in pairs(language) for text in (pair.one, pair.other)))
    return sum(
        pair.other in rank_nearest(measure, pair.one, texts)
        for pair in pairs(language)
        if pair.kind == "same"
    )


def count_near_sentences(measure: Similarity, language: Language) -> tuple[int, int]:
    """How many sentences of explorers have another way to say the same among the nearest, and how many there are."""
    meanings = build_meanings(language)
    near = [
        any(meanings[other] == meaning for other in rank_nearest(measure, text, meanings))
        for text, meaning in meanings.items()
    ]
    return sum(near), len(near)


def rank_nearest(measure: Similarity, text: str, texts: Iterable[str], most: int = 3) -> list[str]:
    """Return the texts that are nearest to one of them."""
    others = [other for other in texts if other != text]
    ranked = sorted(zip(measure(text, others), others, strict=True), key=lambda each: -each[0])
    return [other for _, other in ranked[:most]]


def judge_by_words(one: str, others: Sequence[str]) -> list[Judgement]:
    """Judge each of the others against one text, by words alone."""
    return [
        judge_pair(likeness, one, other)
        for likeness, other in zip(measure_by_words(one, others), others, strict=True)
    ]
