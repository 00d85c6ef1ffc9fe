"""Decides whether two ideas are the same (S-8): by their text, their words, and the sides that they take.

Every measure returns a similarity from 0 to 1, scaled so that JOIN_AT has the same meaning for each. It finds the texts that are
near each other; whether they are one idea is for a judge to say (S-36). The measure here needs no package and does not understand
meaning. `participants/semantic_similarity.py` understands more.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from moothall.domain.safe_text import compile_late
from moothall.scoring.phrases import (
    Phrase,
    SideMark,
    Unit,
    collect_content_stems,
    compute_dice,
    is_cross_language,
    normalize_text,
    parse_phrase,
)

JOIN_AT: Final = 0.5
"""Ideas with at least this similarity that are not opposed are the same."""

ABOUT_ONE_SUBJECT: Final = 0.3
"""Below this similarity two ideas are on different subjects, so they cannot be opposed either."""

_SAME_WORDS: Final = 0.8
"""The share of common words from which two ideas are the same by their words."""

_SIGNS: Final = compile_late(r"(?:[^\w%+]|_)+")
# Chinese is written without spaces: a space beside a Han character is typography and must not separate two equal ideas.
_BESIDE_HAN: Final = compile_late(
    r"(?<=[\u3400-\u4dbf\u4e00-\u9fff]) | (?=[\u3400-\u4dbf\u4e00-\u9fff])"
)


Measure = Callable[[str, Sequence[str]], list[float]]
"""Returns the similarity of each of some texts to one text."""


class SimilarTexts(NamedTuple):
    """Two texts and their similarity, given by their positions in a list."""

    one: int
    other: int
    likeness: float


def find_similar_texts(
    known: Sequence[str], new: Sequence[str], measure: Measure, nearest: int
) -> list[SimilarTexts]:
    """Report for each new text the `nearest` earlier texts, the most similar first, for the judge of ideas."""
    texts, pairs = [*known, *new], []
    for at, text in enumerate(new, len(known)):
        # Rounded before it is compared and stored: similarity models differ in the last digits between machines.
        values = [
            (round(min(1.0, value), 4), other)
            for other, value in enumerate(measure(text, texts[:at]))
        ]
        near = sorted(values, key=lambda each: (-each[0], each[1]))[:nearest]
        pairs += [SimilarTexts(at, other, value) for value, other in near]
    return pairs


def is_against(one: str, other: str) -> bool:
    """Whether two ideas on one subject take opposite sides; equal texts never do."""
    return normalize_idea(one) != normalize_idea(other) and is_opposed(one, other)


@lru_cache(maxsize=8_192)
def normalize_idea(text: str) -> str:
    """Normalize an idea: without case, width, punctuation and spaces."""
    return _BESIDE_HAN.sub("", _SIGNS.sub(" ", normalize_text(text)).strip())


def measure_by_words(one: str, others: Sequence[str]) -> list[float]:
    """Return the similarity of each of the others to one text, by words alone."""
    known, cut = normalize_idea(one), parse_phrase(one)
    return [
        1.0
        if normalize_idea(other) == known
        else scale_likeness(compute_dice(cut.gist, parse_phrase(other).gist), _SAME_WORDS)
        for other in others
    ]


def is_same_by_words(one: str, other: str) -> bool:
    """Whether two texts say nearly the same words, and take no opposite sides."""
    return measure_by_words(one, (other,))[0] >= JOIN_AT and not is_against(one, other)


def scale_likeness(value: float, threshold: float) -> float:
    """Rescale a measure's value so that its own threshold becomes JOIN_AT, while 0 and 1 stay fixed."""
    # Two straight lines that meet in (threshold, JOIN_AT).
    if value < threshold:
        return max(0.0, value) / threshold * JOIN_AT
    return min(1.0, JOIN_AT + (value - threshold) / (1 - threshold) * (1 - JOIN_AT))


SHARED: Final = 0.5
"""The share of the shorter statement's terms that the other must contain before a negation or a number makes them opposed."""

_COMPARING: Final = frozenset({"than", "比"})


def is_opposed(one: str, other: str) -> bool:
    """Whether two statements, presumed to be about one subject, contradict each other.

    A semantic similarity sees what a statement is about but not its side: for it "raise taxes" and "lower taxes" are similar.
    Four signs of opposition are checked: words of opposite poles in similar contexts (`sides.toml`), a negation on one side only,
    an inverted comparison, and different numbers in otherwise similar statements. The analysis is shallow: it misses most
    opposites whose words are not listed, and takes some paraphrases for opposites (docs/swarm-likeness.md has the figures).
    """
    first, second = parse_phrase(one), parse_phrase(other)
    if first.terms == second.terms and first.units == second.units:
        return False
    if _is_turned(first.units, second.units):
        # "A is larger than B" and "B is smaller than A" are equal. The compared things ("the new one") are not sides.
        return not _is_clashing(_without_both_poles(first), _without_both_poles(second))
    if _is_crossed(first, second) or _is_clashing(first, second):
        return True
    # Negations and numbers oppose only nearly equal statements: with less overlap they may belong to something else.
    shorter = min(len(first.terms), len(second.terms))
    is_close = is_cross_language(first, second) or (
        shorter and len(first.terms & second.terms) / shorter >= SHARED
    )
    has_other_numbers = (
        bool(first.numbers) and bool(second.numbers) and not first.numbers & second.numbers
    )
    # Exactly one of the two is negated. Parity: two negations in one statement cancel each other.
    is_denied = (_count_denials(first, second) - _count_denials(second, first)) % 2 == 1
    return bool(is_close) and (is_denied or has_other_numbers)


def _is_clashing(one: Phrase, other: Phrase) -> bool:
    """Whether the nearest counterpart of some word on its axis takes the opposite side."""
    across = is_cross_language(one, other)
    return _has_clash(one.marks, other.marks, across) or _has_clash(other.marks, one.marks, across)


def _is_crossed(one: Phrase, other: Phrase) -> bool:
    """Whether both name the same things in one order but the poles in another: "raise A, lower B" and "lower A, raise B"."""
    axes = {mark.axis for mark in one.marks}
    signs = [
        ([mark.sign for mark in cut.marks if mark.axis == axis] for cut in (one, other))
        for axis in axes
    ]
    has_crossed = any(
        first != second and sorted(first) == sorted(second) for first, second in signs
    )
    return has_crossed and _list_shared_things(one, other) == _list_shared_things(other, one)


def _list_shared_things(one: Phrase, other: Phrase) -> list[str]:
    """Return the terms that both statements have, in the order of the first, without the words that take a side."""
    both = collect_content_stems(one.units) & collect_content_stems(other.units)
    sided = {place for word in one.sided for place in range(word.start, word.end)}
    return [
        unit.term
        for place, unit in enumerate(one.units)
        if unit.term in both and place not in sided
    ]


def _without_both_poles(cut: Phrase) -> Phrase:
    poles = {(mark.axis, mark.sign) for mark in cut.marks}
    return cut._replace(
        marks=tuple(mark for mark in cut.marks if (mark.axis, -mark.sign) not in poles)
    )


class _Counterpart(NamedTuple):
    shared: int
    agrees: bool


def _has_clash(marks: tuple[SideMark, ...], others: tuple[SideMark, ...], across: bool) -> bool:
    for mark in marks:
        counterparts = [
            _Counterpart(len(mark.near & other.near), mark.sign == other.sign)
            for other in others
            if other.axis == mark.axis
        ]
        # The counterpart with the most shared context; among equals one that agrees wins, because True sorts after False.
        best = max(counterparts, default=None)
        if best is not None and not best.agrees and (best.shared or across):
            return True
    return False


def _count_denials(one: Phrase, other: Phrase) -> int:
    """Count the negations of the whole, and those of a word on whose axis the other statement says nothing."""
    axes = {mark.axis for mark in other.marks}
    alone = any(mark.turned and mark.sign < 0 and mark.axis not in axes for mark in one.marks)
    return one.denials + alone


def _is_turned(one: tuple[Unit, ...], other: tuple[Unit, ...]) -> bool:
    """Whether both compare the same two things in opposite order."""
    first, second = _parse_comparison(one), _parse_comparison(other)
    if first is None or second is None:
        return False
    return bool(first[0] & second[1]) and bool(first[1] & second[0])


def _parse_comparison(units: tuple[Unit, ...]) -> tuple[frozenset[str], frozenset[str]] | None:
    """Return the terms before and after the comparing word, without those that are on both sides."""
    terms = [unit.term for unit in units]
    place = next((index for index, term in enumerate(terms) if term in _COMPARING), None)
    if place is None and "prefer" in terms and "to" in terms[terms.index("prefer") :]:
        place = terms.index("to", terms.index("prefer"))
    if place is None:
        return None
    left, right = collect_content_stems(units[:place]), collect_content_stems(units[place + 1 :])
    return left - right, right - left
