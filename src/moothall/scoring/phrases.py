"""Splits a statement for comparison: words and single Chinese characters in order, which of them take a side, and which negate.

Words that take sides stand in `sides.toml`: for each axis the words of its two poles. Two statements on one subject with words
of opposite poles of an axis contradict each other; words of one pole mean the same.

A negation inverts the next sided word that follows closely; a negation that inverts no word negates the whole statement.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, NamedTuple

from moothall.domain.safe_text import compile_late
from moothall.domain.text.numerals import CHINESE_SIGNS, parse_chinese, parse_english


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a light English stem: `adopts`, `adopted` and `adopting` become one term. Other words stay unchanged."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _singularize(word)
    for ending in ("ing", "ed"):
        rest = word.removesuffix(ending)
        # At least three letters and a vowel must remain, so that "thing" and "string" keep theirs.
        if rest != word and len(rest) >= 3 and any(vowel in rest for vowel in "aeiouy"):
            # A doubled consonant belongs to the ending ("stopped"), except l, s and z, which words may end in ("fall", "miss").
            word = rest[:-1] if rest[-1] == rest[-2] and rest[-1] not in "lsz" else rest
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


def _singularize(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


class AxisSide(NamedTuple):
    """One pole of an axis."""

    axis: str
    sign: int


_TABLES: Final = tomllib.loads((files(__package__) / "sides.toml").read_text("utf-8"))


def stem_words(words: str) -> frozenset[str]:
    """Return the stems of the words of a list that is written as one text."""
    return frozenset(map(stem, words.split()))


def _build_sided_words() -> dict[str, tuple[AxisSide, ...]]:
    sides_by_stem: dict[str, tuple[AxisSide, ...]] = {}
    for axis, poles in _TABLES["axes"].items():
        for sign, words in zip((1, -1), poles, strict=True):
            for term in stem_words(words):
                sides_by_stem[term] = (*sides_by_stem.get(term, ()), AxisSide(axis, sign))
    return sides_by_stem


SIDED_WORDS: Final = _build_sided_words()
"""The sides that a word takes, by its stem."""

DENYING: Final = stem_words(_TABLES["denying"])
"""Words that negate what follows, by their stems."""
IDLE: Final = frozenset(_TABLES["idle"].split())
"""Chinese words that contain such a word but take no side."""
COMMON: Final = stem_words(_TABLES["common"])
"""Stems of English words that do not say what a statement is about."""

# English words are single units, so that only Chinese ones limit the longest match.
MAX_WORD_LENGTH: Final = max(
    len(word) for word in (*SIDED_WORDS, *DENYING, *IDLE) if not word.isascii()
)


_NUMBER: Final = compile_late(rf"\d+(?:\.\d+)?|[a-z]+|[{CHINESE_SIGNS}]+")
_ARTICLES: Final = frozenset({"zero", "one"})
"""Words for numbers that mostly are none."""
_EMPTY: Final = frozenset({"一", "千万", "万一", "百", "千", "万", "亿", "零"})
"""Chinese words that look like numbers and mostly are not ("in case", "by all means")."""


def find_numbers(text: str) -> Iterator[str]:
    """Yield the numbers of a text, in digits or in words, without leading or trailing zeros."""
    for match in _NUMBER.finditer(text):
        piece = match.group()
        if piece[0].isdigit():
            yield piece.rstrip("0").rstrip(".") if "." in piece else piece.lstrip("0") or "0"
        elif piece.isascii():
            value = None if piece in _ARTICLES else parse_english([piece])
            if value is not None:
                yield str(value)
        elif piece not in _EMPTY:
            yield str(parse_chinese(piece))


REACH: Final = 4
"""How many words away a negation still inverts a word, and how far a word's context reaches (in Han characters: twice that)."""

_PIECES: Final = compile_late(
    r"[\u3400-\u4dbf\u4e00-\u9fff]|\d+(?:\.\d+)?%?|[^\W\d_\u3400-\u4dbf\u4e00-\u9fff]+|[,;.，；。]"
)
_HAN: Final = compile_late(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_APOSTROPHE: Final = compile_late("(?<=\\w)['’](?=\\w)")
_CONTRASTS: Final = compile_late(
    r"\bno (?:more|less|fewer|later|longer) than\b|\bnot (?:only|just|merely)\b|\bno (?:doubt|matter)\b|\bnothing but\b"
    r"|(?<=,) not\b|\bnot (?=because|by|from|in|at|on|for)\b|\bnot(?= [^,.]{0,200}\bbut\b)|\bnot yet\b"
    "|并非(?=[^。]{0,100}而是)|不是(?=[^。]{0,100}而是)"
)
"""Phrases that look like a negation but exclude an alternative, or bound a number; what they exclude is no more than a sentence."""

_COMMON_HAN: Final = frozenset("的了是在和与把被也就又而但之其这那让使会")
_EMPTY_HAN: Final = compile_late(
    "可以|(?<!不)应[该当]|因此|因为|由于|而且|以及|一个|一种|一些|这[个种些样]|那[个种些样]|[它他我]们|通过|从而|所以|并且|或者|还是|以便|对于|关于|例如|比如"
)
"""The Chinese counterparts of COMMON: characters, and words that would otherwise be cut into pairs."""


class Unit(NamedTuple):
    """A word, or one character of a text without spaces."""

    term: str
    text: str
    is_han: bool


# Replaces a removed word, so that the characters around it do not become a pair.
_BREAK: Final = Unit(" ", " ", False)


class SideMark(NamedTuple):
    """A word that takes a side: its axis and sign, whether it is negated, and the terms around it."""

    axis: str
    sign: int
    turned: bool
    near: frozenset[str]


class SidedWord(NamedTuple):
    """The position of a word that takes a side, and its pole."""

    start: int
    end: int
    pole: str


class Phrase(NamedTuple):
    """A parsed statement: its terms, the terms with sided words replaced by poles, its sides, and the negations of the whole."""

    terms: frozenset[str]
    gist: frozenset[str]
    marks: tuple[SideMark, ...]
    denials: int
    numbers: frozenset[str]
    units: tuple[Unit, ...]
    sided: tuple["SidedWord", ...]


def normalize_text(text: str) -> str:
    # Twice: case folding can produce characters that NFKC changes again.
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


@lru_cache(maxsize=8_192)
def parse_phrase(text: str) -> Phrase:
    # Phrases such as "not only" are removed first: they hold a negation word that negates nothing.
    plain = _CONTRASTS.sub(" ", _APOSTROPHE.sub("", normalize_text(text)))
    units = tuple(_split_units(_EMPTY_HAN.sub(" ", plain)))
    words = list(_find_sided_words(units))
    denied, denials = _find_denied_words(words)
    marks: list[SideMark] = []
    sided: list[SidedWord] = []
    for index, word in enumerate(words):
        if word.term in DENYING:
            continue
        turn = -1 if index in denied else 1
        sides = [AxisSide(side.axis, turn * side.sign) for side in SIDED_WORDS.get(word.term, ())]
        marks += [
            SideMark(side.axis, side.sign, turn < 0, _collect_near_terms(units, word))
            for side in sides
        ]
        sided += [
            SidedWord(word.start, word.end, f"{side.axis}{side.sign:+}") for side in sides[:1]
        ]
    return Phrase(
        terms=collect_terms(units),
        gist=_collect_gist(units, sided),
        marks=tuple(marks),
        denials=denials,
        numbers=frozenset(find_numbers(join_units(units))),
        units=units,
        sided=tuple(sided),
    )


def join_units(units: Sequence[Unit]) -> str:
    """Join the units into text again, with spaces between words but not between characters."""
    return re.sub(
        r"(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])", "", " ".join(unit.text for unit in units)
    )


def collect_content_stems(units: Iterable[Unit]) -> frozenset[str]:
    """Return the stems and single characters of some units, without stop words."""
    return frozenset(
        unit.term for unit in units if unit.term not in COMMON and unit.term not in _COMMON_HAN
    )


def collect_terms(units: Iterable[Unit]) -> frozenset[str]:
    """Return the terms of some units: the stems of words, and each pair of neighbouring Han characters."""
    listed = [unit for unit in units if unit.term not in COMMON and unit.term not in _COMMON_HAN]
    words = {unit.term for unit in listed if not unit.is_han and unit.term[0].isalnum()}
    # Bigrams replace word segmentation, which Chinese would need a dictionary for.
    pairs = {
        one.term + other.term for one, other in pairwise(listed) if one.is_han and other.is_han
    }
    return frozenset(words | pairs)


def _collect_gist(units: Sequence[Unit], sided: Iterable[SidedWord]) -> frozenset[str]:
    """Return the terms with each sided word replaced by its pole, so that synonyms on one pole are equal."""
    left = list(units)
    poles: set[str] = set()
    for word in sided:
        left[word.start : word.end] = [_BREAK] * (word.end - word.start)
        poles.add(word.pole)
    return collect_terms(left) | poles


def is_cross_language(one: Phrase, other: Phrase) -> bool:
    """Whether the two are in different languages, so that their words cannot be compared."""
    return any(unit.is_han for unit in one.units) != any(unit.is_han for unit in other.units)


def compute_dice(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Dice coefficient of the terms of two statements, 2·|A ∩ B| / (|A| + |B|)."""
    size = len(one) + len(other)
    return 2 * len(one & other) / size if size else 0.0


class _Word(NamedTuple):
    term: str
    start: int
    end: int


def _split_units(text: str) -> Iterator[Unit]:
    for match in _PIECES.finditer(text):
        piece = match.group()
        is_han = _HAN.match(piece) is not None
        yield Unit(piece if is_han else stem(piece), piece, is_han)


def _find_sided_words(units: Sequence[Unit]) -> Iterator[_Word]:
    """Yield the words that take a side or negate; where several match, the longest."""
    place = 0
    while place < len(units):
        length, term = _match_known_word(units, place)
        if term and term not in IDLE:
            yield _Word(term, place, place + length)
        place += length


def _match_known_word(units: Sequence[Unit], place: int) -> tuple[int, str]:
    """Return the longest known word that begins here, and its length; an empty word if there is none."""
    unit = units[place]
    if not unit.is_han:
        return 1, unit.term if unit.term in SIDED_WORDS or unit.term in DENYING else ""
    run = ""
    best = (1, "")
    for length in range(1, MAX_WORD_LENGTH + 1):
        if place + length > len(units) or not units[place + length - 1].is_han:
            break
        run += units[place + length - 1].term
        if run in SIDED_WORDS or run in DENYING or run in IDLE:
            best = (length, run)
    return best


def _find_denied_words(words: Sequence[_Word]) -> tuple[frozenset[int], int]:
    """Return which words are inverted, and how many negations invert none."""
    turned: set[int] = set()
    loose = 0
    for index, word in enumerate(words):
        if word.term not in DENYING:
            continue
        # Chinese reaches one unit further, because a word there is often two characters.
        reach = REACH if word.term.isascii() else REACH + 1
        following = index + 1
        if (
            following < len(words)
            and words[following].term not in DENYING
            and words[following].start - word.end < reach
        ):
            # Symmetric difference: a second negation of the same word cancels the first.
            turned ^= {following}
        else:
            loose += 1
    return frozenset(turned), loose


def _collect_near_terms(units: Sequence[Unit], word: _Word) -> frozenset[str]:
    reach = 2 * REACH if units[word.start].is_han else REACH
    before, after = (
        units[max(0, word.start - reach) : word.start],
        units[word.end : word.end + reach],
    )
    return collect_terms(before) | collect_terms(after)
