"""Splits a text into search terms: words where spaces separate them, pairs of characters where not; with their synonyms."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, NamedTuple

from moothall.scoring.sides import stem


def _read_words(name: str) -> str:
    """Return the word list of this name, which is a file beside this one."""
    return (files(__package__) / f"{name}.txt").read_text(encoding="utf-8")


# Pairs: the traditional character, then the simplified one.
_PAIRS: Final = "".join(_read_words("traditional_characters").split())
_FOLDED: Final = str.maketrans(dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True)))
# Scripts without spaces, or, like Korean, with particles attached to words: Thai, Lao, Burmese, Khmer, kana, Han, Hangul.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Combining marks that are not letters but belong to a word.
_SIGNS: Final = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0b82-\u0dff"
_TERMS: Final = re.compile(rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]+|[{_SIGNS}]+)+")
_IS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")
_COMMON: Final = """
a about after all also an and any are as at be because been before but by can could did do does for from had has have how if in
into is it its may might more most must no not of off on or our out over shall should so some such than that the their them then
there these they this to under up us was we were what when where which while who why will with would you your
"""
COMMON: Final = frozenset(_COMMON.split())
"""Stop words: they do not say what a text is about."""
_ASKING: Final = re.compile(
    "是否|应该|应当|我们|要不要|可以|能不能|什么|怎么|如何|这个|那个|一个|以及|或者|还是|需要|能否|有没有|为什么|[吗呢](?=\\W|$)"
)
"""Their Chinese counterparts, which are removed from a question before it is split into pairs."""
_FRAME: Final = re.compile(
    r"^\s*(?:(?:should|shall|do|does|did|can|could|would|will|must|may|how|which|who|what|where|when|why|is|are)\b\s*)+"
    r"(?:(?:we|the|our|you|it|a|an|is|are|do|does)\b\s*)*|[?？。.!！]+\s*$|我们|我們|是否|要不要|应该|應該|应当|應當|能否|如何|[吗嗎呢]$",
    re.IGNORECASE,
)
SCANNED: Final = 2_000
"""How many characters of a topic say what it is about."""


def fold_han(text: str) -> str:
    """Return the text with traditional characters replaced one by one; its length does not change."""
    return text.translate(_FOLDED)


class TermSpan(NamedTuple):
    """A term and its position in the text."""

    term: str
    start: int
    end: int


def extract_terms(text: str) -> list[str]:
    """Return all terms of a text: stemmed words; for a run without spaces every character and every pair of neighbours."""
    terms: list[str] = []
    for run in _TERMS.findall(_normalize_text(text)):
        if _IS_UNSPACED.match(run):
            terms.extend(run)
            terms.extend(map("".join, pairwise(run)))
        else:
            terms.append(stem(run))
    return terms


def extract_query_terms(query: str) -> tuple[str, ...]:
    """Return the terms of a query, each once: pairs instead of single characters, and stop words only if nothing else is left."""
    text = _normalize_text(query)
    pieces = _split_pieces(text)
    telling = [term for term in _split_pieces(_ASKING.sub(" ", text)) if term not in COMMON]
    return tuple(dict.fromkeys(stem(term) for term in telling or pieces))


def strip_question(topic: str) -> str:
    """Return what a question is about, without the words that make it one: all questions are alike in those."""
    return _FRAME.sub("", topic[:SCANNED]).strip() or topic[:SCANNED]


def is_pair(term: str) -> bool:
    """Whether a term is a pair from a run without spaces, and not a word."""
    return len(term) == 2 and _IS_UNSPACED.match(term) is not None


def _normalize_text(text: str) -> str:
    return fold_han(unicodedata.normalize("NFKC", text).casefold())


def _split_pieces(text: str) -> list[str]:
    pieces: list[str] = []
    for run in _TERMS.findall(text):
        if len(run) == 1 or not _IS_UNSPACED.match(run):
            pieces.append(run)
        else:
            pieces.extend(map("".join, pairwise(run)))
    return pieces


def locate_terms(text: str) -> Iterator[TermSpan]:
    """Yield the same terms with their positions in the original text."""
    for match in _TERMS.finditer(text):
        run = match.group()
        if not _IS_UNSPACED.match(run):
            # Normalized per run and not as a whole text: NFKC can change lengths, and the positions must fit the original.
            yield TermSpan(stem(unicodedata.normalize("NFKC", run).casefold()), match.start(), match.end())
            continue
        for index in range(len(run)):
            for width in (1, 2):
                if index + width <= len(run):
                    place = match.start() + index
                    yield TermSpan(_normalize_text(run[index : index + width]), place, place + width)


class Alternatives(NamedTuple):
    """A word of a query, and the terms of each other word for it."""

    own: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]


def find_alternatives(query: str) -> list[Alternatives]:
    """Return the words of a query for which there are others."""
    text = " ".join(fold_han(unicodedata.normalize("NFKC", query).casefold()).split())
    groups, found = _build_groups(), dict[tuple[str, ...], Alternatives]()
    for word in _find_words(text, groups):
        own = extract_query_terms(word)
        others = groups.get(word) or groups[word[:-1]]
        found[own] = Alternatives(own, tuple(terms for terms in others if terms != own))
    return list(found.values())


@cache
def _build_groups() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Return, by each word that finds others, the terms of every word of its group."""
    groups: dict[str, tuple[tuple[str, ...], ...]] = {}
    for line in _read_words("synonyms").splitlines():
        general, _, special = line.partition(" > ")
        names, cases = general.split(", "), special.split(", ") if special else []
        terms = tuple(map(extract_query_terms, (*names, *cases)))
        for word in names:
            groups[word] = tuple(dict.fromkeys((*groups.get(word, ()), *terms)))
    return groups


def _find_words(text: str, words: Iterable[str]) -> list[str]:
    """Return the words that stand in a text, the longest first; Latin ones stand alone, perhaps in the plural."""
    # Only those that are in the text at all: a pattern of all words would take longer to compile than a search takes.
    inside = sorted((word for word in words if word in text), key=len, reverse=True)
    # Not \b: Chinese characters are letters too, and "用k8s吗" has no border between them.
    parts = [rf"(?<![a-z0-9]){re.escape(word)}s?(?![a-z0-9])" if word.isascii() else word for word in inside]
    return re.findall("|".join(parts), text) if parts else []
