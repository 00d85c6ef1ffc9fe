"""Decides whether two statements about one subject take opposite sides.

A semantic similarity sees what a statement is about but not its side: for it "raise taxes" and "lower taxes" are similar. Four
signs of opposition are checked: words of opposite poles in similar contexts (`sides.py`), a negation on one side only, an
inverted comparison, and different numbers in otherwise similar statements. The analysis is shallow: it misses most opposites
whose words are not listed, and takes some paraphrases for opposites (docs/swarm-likeness.md has the figures).
"""

from typing import Final, NamedTuple

from moothall.scoring.phrases import Phrase, SideMark, Unit, collect_content_stems, is_cross_language, parse_phrase

SHARED: Final = 0.5
"""The share of the shorter statement's terms that the other must contain before a negation or a number makes them opposed."""

_COMPARING: Final = frozenset({"than", "比"})


def is_opposed(one: str, other: str) -> bool:
    """Whether two statements, presumed to be about one subject, contradict each other."""
    first, second = parse_phrase(one), parse_phrase(other)
    if first.terms == second.terms and first.units == second.units:
        return False
    if _is_turned(first.units, second.units):
        # "A is larger than B" and "B is smaller than A" are equal. The compared things ("the new one") are not sides.
        return not _is_clashing(_without_both_poles(first), _without_both_poles(second))
    if _is_crossed(first, second) or _is_clashing(first, second):
        return True
    # Negations and numbers oppose only nearly equal statements: with less overlap they may belong to something else.
    is_close = is_cross_language(first, second) or _compute_overlap(first, second) >= SHARED
    return is_close and (_is_denied(first, second) or _numbers_differ(first, second))


def _compute_overlap(one: Phrase, other: Phrase) -> float:
    shorter = min(len(one.terms), len(other.terms))
    return len(one.terms & other.terms) / shorter if shorter else 0.0


def _is_clashing(one: Phrase, other: Phrase) -> bool:
    """Whether the nearest counterpart of some word on its axis takes the opposite side."""
    across = is_cross_language(one, other)
    return _has_clash(one.marks, other.marks, across) or _has_clash(other.marks, one.marks, across)


def _is_crossed(one: Phrase, other: Phrase) -> bool:
    """Whether both name the same things in one order but the poles in another: "raise A, lower B" and "lower A, raise B"."""
    axes = {mark.axis for mark in one.marks}
    signs = [([mark.sign for mark in cut.marks if mark.axis == axis] for cut in (one, other)) for axis in axes]
    has_crossed = any(first != second and sorted(first) == sorted(second) for first, second in signs)
    return has_crossed and _list_shared_things(one, other) == _list_shared_things(other, one)


def _list_shared_things(one: Phrase, other: Phrase) -> list[str]:
    """Return the terms that both statements have, in the order of the first, without the words that take a side."""
    both = collect_content_stems(one.units) & collect_content_stems(other.units)
    sided = {place for word in one.sided for place in range(word.start, word.end)}
    return [unit.term for place, unit in enumerate(one.units) if unit.term in both and place not in sided]


def _without_both_poles(cut: Phrase) -> Phrase:
    poles = {(mark.axis, mark.sign) for mark in cut.marks}
    return cut._replace(marks=tuple(mark for mark in cut.marks if (mark.axis, -mark.sign) not in poles))


class _Counterpart(NamedTuple):
    shared: int
    agrees: bool


def _has_clash(marks: tuple[SideMark, ...], others: tuple[SideMark, ...], across: bool) -> bool:
    for mark in marks:
        counterparts = [
            _Counterpart(len(mark.near & other.near), mark.sign == other.sign) for other in others if other.axis == mark.axis
        ]
        # The counterpart with the most shared context; among equals one that agrees wins, because True sorts after False.
        best = max(counterparts, default=None)
        if best is not None and not best.agrees and (best.shared or across):
            return True
    return False


def _is_denied(one: Phrase, other: Phrase) -> bool:
    """Whether exactly one of the two is negated."""
    # Parity: two negations in one statement cancel each other.
    return (_count_denials(one, other) - _count_denials(other, one)) % 2 == 1


def _count_denials(one: Phrase, other: Phrase) -> int:
    """Count the negations of the whole, and those of a word on whose axis the other statement says nothing."""
    axes = {mark.axis for mark in other.marks}
    alone = any(mark.turned and mark.sign < 0 and mark.axis not in axes for mark in one.marks)
    return one.denials + alone


def _numbers_differ(one: Phrase, other: Phrase) -> bool:
    return bool(one.numbers) and bool(other.numbers) and not one.numbers & other.numbers


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
