"""Full-text search over decisions: an inverted index in memory, ranked by BM25; topic before decision before argument.

Where the likeness of meanings is known as well, it is added: both are shares from 0 to 1.

Texts are split into terms: words where spaces separate them, pairs of characters where not; with their synonyms.
"""

import heapq
import math
import re
import unicodedata
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Final, NamedTuple

from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late
from moothall.domain.text.signs import simplify_han
from moothall.scoring.phrases import stem


def _read_words(name: str) -> str:
    """Return the word list of this name, which is a file beside this one."""
    return (files(__package__) / f"{name}.txt").read_text(encoding="utf-8")


# Scripts without spaces, or, like Korean, with particles attached to words: Thai, Lao, Burmese, Khmer, kana, Han, Hangul.
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
# Combining marks that are not letters but belong to a word.
_SIGNS: Final = "\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0981-\u0983\u09bc-\u09cd\u0b82-\u0dff"
_TERMS: Final = compile_late(rf"[{_UNSPACED}]+|(?:[^\W_{_UNSPACED}]+|[{_SIGNS}]+)+")
_IS_UNSPACED: Final = compile_late(f"[{_UNSPACED}]")
_COMMON: Final = """
a about after all also an and any are as at be because been before but by can could did do does for from had has have how if in
into is it its may might more most must no not of off on or our out over shall should so some such than that the their them then
there these they this to under up us was we were what when where which while who why will with would you your
"""
COMMON: Final = frozenset(_COMMON.split())
"""Stop words: they do not say what a text is about."""
_ASKING: Final = compile_late(
    "是否|应该|应当|我们|要不要|可以|能不能|什么|怎么|如何|这个|那个|一个|以及|或者|还是|需要|能否|有没有|为什么|[吗呢](?=\\W|$)"
)
"""Their Chinese counterparts, which are removed from a question before it is split into pairs."""
_FRAME: Final = compile_late(
    r"^\s*(?:(?:should|shall|do|does|did|can|could|would|will|must|may|how|which|who|what|where|when|why|is|are)\b\s*)+"
    r"(?:(?:we|the|our|you|it|a|an|is|are|do|does)\b\s*)*|[?？。.!！]+\s*$|我们|我們|是否|要不要|应该|應該|应当|應當|能否|如何|[吗嗎呢]$",
    re.IGNORECASE,
)
MAX_TOPIC_SCANNED: Final = 2_000
"""How many characters of a topic say what it is about."""


class TermSpan(NamedTuple):
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
    return _FRAME.sub("", topic[:MAX_TOPIC_SCANNED]).strip() or topic[:MAX_TOPIC_SCANNED]


def _normalize_text(text: str) -> str:
    return simplify_han(unicodedata.normalize("NFKC", text).casefold())


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
            yield TermSpan(
                stem(unicodedata.normalize("NFKC", run).casefold()), match.start(), match.end()
            )
            continue
        for index in range(len(run)):
            for width in (1, 2):
                if index + width <= len(run):
                    place = match.start() + index
                    yield TermSpan(
                        _normalize_text(run[index : index + width]), place, place + width
                    )


class Alternatives(NamedTuple):
    """A word of a query, and the terms of each other word for it."""

    own: tuple[str, ...]
    others: tuple[tuple[str, ...], ...]


def find_alternatives(query: str) -> list[Alternatives]:
    """Return the words of a query for which there are others."""
    text = " ".join(simplify_han(unicodedata.normalize("NFKC", query).casefold()).split())
    groups, alternatives = _build_groups(), dict[tuple[str, ...], Alternatives]()
    for word in _find_words(text, groups):
        own = extract_query_terms(word)
        others = groups.get(word) or groups[word[:-1]]
        alternatives[own] = Alternatives(own, tuple(terms for terms in others if terms != own))
    return list(alternatives.values())


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
    parts = [
        rf"(?<![a-z0-9]){re.escape(word)}s?(?![a-z0-9])" if word.isascii() else word
        for word in inside
    ]
    return re.findall("|".join(parts), text) if parts else []


TOPIC, DECIDED = 4, 2
"""The weight of a term in the topic and in the decision; in the argument it is 1."""
SHIFT: Final = 16
# 15 bits for the weight, one for the headline, the rest for the document.
HEAVIEST: Final = (1 << SHIFT - 1) - 1
"""A posting is one integer: the document's number, the term's weight there, and whether the headline (topic, decision) has it."""
# BM25's k₁ and b. The small b hardly penalizes length: a long discussion is no worse a match than a short one.
SATURATION: Final = 1.2
LENGTH_PENALTY: Final = 0.4
ALIKE: Final = 0.34
"""The share of a topic's weight that another headline must contain to count as similar."""
OTHER_WORD: Final = 0.7
"""What another word for the same thing counts against the word itself."""
# Cosines of the sentence encoder between a query and a topic, measured on bench/search.
UNRELATED, EQUAL = 0.15, 0.6
"""The likeness that counts nothing, and the one that counts as much as all words of the query."""
RELATED: Final = 0.32
"""The likeness from which a document matches that shares no word with the query."""
ANSWERED: Final = 0.5
"""The share of a query's words from which a document answers it by words."""
SAME_QUESTION: Final = 0.5
"""The likeness from which two topics are similar, whatever their words."""
SNIPPET: Final = 160
SCANNED: Final = 20_000
"""How many characters of a text are searched for a snippet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The searchable text of one decision."""

    decision: str = ""
    topic: str = ""
    decided: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A decision that matches, with an excerpt around the best place."""

    decision: str
    score: float
    snippet: str
    """The excerpt; empty where nothing but the meaning fits."""
    marks: tuple[tuple[int, int], ...] = ()
    """Where in it the words of the query stand: the first character of each, and the one behind it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The numbers of the documents that match, best first, each with its score; and the terms that an excerpt stands around."""

    ranked: Sequence[tuple[int, float]]
    terms: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexDump:
    """An index as it is stored: the length of each document; the terms, how many postings each has, and the postings in a row."""

    lengths: Sequence[float]
    terms: Sequence[str]
    counts: Sequence[int]
    postings: "array[int]"


class SearchIndex:
    """An index that grows by one document at a time; documents are never removed, just as decisions are not."""

    def __init__(self) -> None:
        self._lengths: array[float] = array("d")
        self._total = 0.0
        self._postings: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return len(self._lengths)

    def add_document(self, document: Document) -> None:
        """Add one document. Its text is not held: a match has the number of the document alone, from 0."""
        number = len(self._lengths) << SHIFT
        headline: dict[str, int] = {}
        for field, weight in ((document.topic, TOPIC), (document.decided, DECIDED)):
            for term, count in Counter(extract_terms(field)).items():
                headline[term] = headline.get(term, 0) + weight * count
        weights = Counter(extract_terms(document.text))
        for term, weight in headline.items():
            weights[term] += weight
        # Clamped only if needed: an overflowing weight would change the document's number in the packed posting.
        if max(weights.values(), default=0) > HEAVIEST:
            weights = Counter({term: min(weight, HEAVIEST) for term, weight in weights.items()})
        postings, known = self._postings, self._postings.get
        for term, weight in weights.items():
            packed = number | weight << 1 | (term in headline)
            held = known(term)
            if held is None:
                postings[term] = array("Q", (packed,))
            else:
                held.append(packed)
        self._lengths.append(weights.total())
        self._total += weights.total()

    def rank_by_query(
        self,
        query: str,
        limit: int,
        allowed: Callable[[int], bool],
        likeness: Sequence[float] | None = None,
    ) -> Ranking:
        """Return the allowed documents that contain any term of the query or mean much the same, best first.

        `likeness` is that of the query's meaning to each document's topic, in the order of adding.
        """
        looked_for, alternatives = extract_query_terms(query), find_alternatives(query)
        scores = self._compute_shares(looked_for, alternatives)
        # Where words answer the query, what merely sounds related is not wanted beside it.
        least = SAME_QUESTION if max(scores.values(), default=0.0) >= ANSWERED else RELATED
        _add_meaning(scores, likeness or (), lambda cosine: cosine >= least)
        return _rank_documents(scores, looked_for, alternatives, limit, allowed)

    def rank_by_topic(
        self,
        topic: str,
        limit: int,
        allowed: Callable[[int], bool],
        likeness: Sequence[float] | None = None,
    ) -> Ranking:
        """Return documents on a similar topic, best first: whose headline contains enough of its terms, or means the same."""
        looked_for, alternatives = extract_query_terms(topic), find_alternatives(topic)
        covered = self._compute_coverage(looked_for, alternatives)
        shares = self._compute_shares(looked_for, alternatives)
        scores = {
            number: share for number, share in shares.items() if covered.get(number, 0.0) >= ALIKE
        }
        _add_meaning(scores, likeness or (), lambda cosine: cosine >= SAME_QUESTION)
        return _rank_documents(scores, looked_for, alternatives, limit, allowed)

    def dump(self) -> IndexDump:
        """Return all that the index has computed, without the documents."""
        joined = array("Q")
        for held in self._postings.values():
            joined.extend(held)
        counts = [len(held) for held in self._postings.values()]
        return IndexDump(
            lengths=list(self._lengths), terms=list(self._postings), counts=counts, postings=joined
        )

    @classmethod
    def restore(cls, dump: IndexDump, documents: int) -> "SearchIndex":
        """Return the index of so many documents that was dumped, without them. Raises ValueError if it does not fit."""
        if (
            len(dump.lengths) != documents
            or len(dump.terms) != len(dump.counts)
            or sum(dump.counts) != len(dump.postings)
        ):
            raise ValueError("the parts of the index do not fit together")
        index, start = cls(), 0
        for term, count in zip(dump.terms, dump.counts, strict=True):
            index._postings[term] = dump.postings[start : start + count]
            start += count
        index._lengths = array("d", dump.lengths)
        index._total = math.fsum(dump.lengths)
        return index

    def _compute_rarity(self, term: str) -> float:
        # A term without documents is treated as if one had it: in a small memory it would otherwise weigh twice as much.
        holding = len(self._postings.get(term, ())) or 1
        # BM25's inverse document frequency, ln(1 + (N − n + ½) / (n + ½)); the 1 keeps it positive for common terms.
        return math.log(1.0 + (len(self) - holding + 0.5) / (holding + 0.5))

    def _compute_shares(
        self, looked_for: Sequence[str], alternatives: Sequence[Alternatives]
    ) -> dict[int, float]:
        """Return the score of every document that contains a term or another word for one, as a share of the highest possible."""
        scores = self._compute_scores(looked_for)
        for word in alternatives:
            best: dict[int, float] = {}
            for terms in word.others:
                for number, score in self._score_phrase(terms).items():
                    best[number] = max(best.get(number, 0.0), score)
            # Another word for it says no more than the word itself, and rarer ones are not better.
            most = sum(map(self._compute_rarity, word.own)) * (SATURATION + 1.0)
            for number, score in best.items():
                scores[number] = scores.get(number, 0.0) + OTHER_WORD * min(score, most)
        whole = sum(map(self._compute_rarity, looked_for)) * (SATURATION + 1.0) or 1.0
        return {number: score / whole for number, score in scores.items()}

    def _score_phrase(self, terms: Sequence[str]) -> dict[int, float]:
        """Return the score of every document that contains all of the terms."""
        single = sorted((self._compute_scores((term,)) for term in terms), key=len)
        shared = set(single[0]).intersection(*single[1:]) if single else ()
        return {number: sum(scores[number] for scores in single) for number in shared}

    def _compute_scores(self, looked_for: Sequence[str]) -> dict[int, float]:
        """Return the BM25 score of every document that contains any of the terms."""
        scores: dict[int, float] = {}
        mean = self._total / len(self) if len(self) else 1.0
        # Σ idf · w·(k₁ + 1) / (w + k₁·(1 − b + b·length/mean)): the parts that do not depend on the document are computed once.
        floor, slope = (
            SATURATION * (1.0 - LENGTH_PENALTY),
            SATURATION * LENGTH_PENALTY / (mean or 1.0),
        )
        for term in looked_for:
            factor = self._compute_rarity(term) * (SATURATION + 1.0)
            for packed in self._postings.get(term, ()):
                number, weight = packed >> SHIFT, packed >> 1 & HEAVIEST
                gain = factor * weight / (weight + floor + slope * self._lengths[number])
                scores[number] = scores.get(number, 0.0) + gain
        return scores

    def _compute_coverage(
        self, looked_for: Sequence[str], alternatives: Sequence[Alternatives]
    ) -> dict[int, float]:
        """Return the share of the terms' weight that is in each document's headline.

        About half of the character pairs in a text without spaces straddle two words and occur nowhere: a missing pair counts
        half.
        """
        held: dict[int, float] = {}
        missing: dict[int, float] = {}
        whole = 0.0
        for term in looked_for:
            rarity = self._compute_rarity(term)
            without = rarity / 2 if len(term) == 2 and _IS_UNSPACED.match(term) else rarity
            whole += without
            others = [each.others for each in alternatives if term in each.own]
            for number in self._find_headlines(
                ((term,), *(terms for each in others for terms in each))
            ):
                held[number] = held.get(number, 0.0) + rarity
                missing[number] = missing.get(number, 0.0) - without
        # held / (held + missing), where missing is the weight of all terms minus that of the terms found.
        return {
            number: weight / (weight + whole + missing[number]) for number, weight in held.items()
        }

    def _find_headlines(self, phrases: Iterable[Sequence[str]]) -> set[int]:
        """Return the documents whose headline contains all terms of any of the phrases."""
        numbers: set[int] = set()
        for terms in phrases:
            holding = [
                {packed >> SHIFT for packed in self._postings.get(term, ()) if packed & 1}
                for term in terms
            ]
            numbers |= set.intersection(*holding) if holding else set()
        return numbers


def _rank_documents(
    scores: dict[int, float],
    terms: Sequence[str],
    others: Sequence[Alternatives],
    limit: int,
    allowed: Callable[[int], bool],
) -> Ranking:
    fitting = (number for number in scores if allowed(number))
    # The number breaks ties: among equal scores the newest decision comes first.
    best = heapq.nlargest(limit, fitting, key=lambda number: (scores[number], number))
    around = set(terms)
    for word in others:
        for phrase in word.others:
            around.update(phrase)
    ranked = [(number, scores[number]) for number in best]
    return Ranking(ranked=ranked, terms=frozenset(around))


def build_hit(document: Document, score: float, terms: Collection[str]) -> SearchHit:
    """Build the hit of a document: its best excerpt for these terms, with the words marked."""
    # Among places that say as much, what was decided comes before the question, and both before what was argued.
    fields = [field for field in (document.decided, document.topic, document.text) if field]
    snippets = [find_snippet(field, terms) for field in fields]
    best = max(snippets, key=lambda piece: piece.fits, default=NO_SNIPPET)
    if not best.fits:
        best = NO_SNIPPET
    return SearchHit(
        decision=document.decision,
        score=score,
        snippet=best.text,
        marks=find_marks(best.text, terms),
    )


def find_marks(text: str, terms: Collection[str]) -> tuple[tuple[int, int], ...]:
    """Return where in a text one of the terms stands, without overlaps."""
    marks: list[tuple[int, int]] = []
    for span in sorted(locate_terms(text), key=lambda span: span.start):
        if span.term not in terms:
            continue
        if marks and span.start < marks[-1][1]:
            first, end = marks.pop()
            marks.append((first, max(end, span.end)))
        else:
            marks.append((span.start, span.end))
    return tuple(marks)


def _add_meaning(
    scores: dict[int, float], likeness: Sequence[float], is_enough: Callable[[float], bool]
) -> None:
    """Add the likeness of meanings to the scores; a document without a score needs enough of it to get one."""
    for number, cosine in enumerate(likeness):
        if number in scores or is_enough(cosine):
            scores[number] = scores.get(number, 0.0) + min(
                1.0, max(0.0, (cosine - UNRELATED) / (EQUAL - UNRELATED))
            )


class Snippet(NamedTuple):
    """An excerpt, and how many of the query's terms it contains."""

    fits: int
    text: str


NO_SNIPPET: Final = Snippet(0, "")


def find_snippet(text: str, looked_for: Collection[str]) -> Snippet:
    """Return the excerpt of a text with the most different terms, on one line."""
    places = [span for span in locate_terms(text[:SCANNED]) if span.term in looked_for]
    if not places:
        return Snippet(0, _cut_snippet(text, 0))
    # A sliding window over the matches: `first` moves up until the window fits into one snippet.
    start, best, first = places[0].start, 0, 0
    inside: Counter[str] = Counter()
    for last, span in enumerate(places):
        inside[span.term] += 1
        while first < last and span.end - places[first].start > SNIPPET:
            inside[places[first].term] -= 1
            first += 1
        fits = sum(count > 0 for count in inside.values())
        if fits > best:
            start, best = places[first].start, fits
    return Snippet(best, _cut_snippet(text, max(0, start - SNIPPET // 4)))


def _cut_snippet(text: str, start: int) -> str:
    if start and " " in text[start : start + 20]:
        start = text.index(" ", start) + 1
    end = min(len(text), start + SNIPPET + SNIPPET // 4)
    piece = " ".join(text[start:end].split())
    return ("…" if start else "") + piece + ("…" if end < len(text) else "")
