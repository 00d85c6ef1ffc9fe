"""Full-text search over decisions: an inverted index in memory, ranked by BM25; topic before decision before argument."""

import heapq
import math
from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from moot.memory.tokenize import extract_query_terms, extract_terms, is_pair, locate_terms

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
SNIPPET: Final = 160
SCANNED: Final = 20_000
"""How many characters of a text are searched for a snippet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The searchable text of one decision."""

    decision: str
    topic: str
    decided: str = ""
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A decision that matches, with an excerpt around the best place."""

    decision: str
    score: float
    snippet: str


class SearchIndex:
    """An index that grows by one document at a time; documents are never removed, just as decisions are not."""

    def __init__(self) -> None:
        self._documents: list[Document] = []
        self._lengths: array[float] = array("d")
        self._total = 0.0
        self._postings: dict[str, array[int]] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def add_document(self, document: Document) -> "SearchIndex":
        """Add one document and return the same index."""
        number = len(self._documents) << SHIFT
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
        self._documents.append(document)
        self._lengths.append(weights.total())
        self._total += weights.total()
        return self

    def search(self, query: str, limit: int, allowed: Callable[[str], bool]) -> list[SearchHit]:
        """Return the allowed documents that contain any term of the query, best first."""
        looked_for = extract_query_terms(query)
        return self._rank_documents(self._compute_scores(looked_for), looked_for, limit, allowed)

    def find_similar(self, topic: str, limit: int, allowed: Callable[[str], bool]) -> list[SearchHit]:
        """Return documents on a similar topic, best first: those whose headline contains enough of this one's terms."""
        looked_for = extract_query_terms(topic)
        covered = self._compute_coverage(looked_for)
        scores = {
            number: score for number, score in self._compute_scores(looked_for).items() if covered.get(number, 0.0) >= ALIKE
        }
        return self._rank_documents(scores, looked_for, limit, allowed)

    def _compute_rarity(self, term: str) -> float:
        # A term without documents is treated as if one had it: in a small memory it would otherwise weigh twice as much.
        holding = len(self._postings.get(term, ())) or 1
        # BM25's inverse document frequency, ln(1 + (N − n + ½) / (n + ½)); the 1 keeps it positive for common terms.
        return math.log(1.0 + (len(self._documents) - holding + 0.5) / (holding + 0.5))

    def _compute_scores(self, looked_for: Sequence[str]) -> dict[int, float]:
        """Return the BM25 score of every document that contains any of the terms."""
        scores: dict[int, float] = {}
        mean = self._total / len(self._documents) if self._documents else 1.0
        # Σ idf · w·(k₁ + 1) / (w + k₁·(1 − b + b·length/mean)): the parts that do not depend on the document are computed once.
        floor, slope = SATURATION * (1.0 - LENGTH_PENALTY), SATURATION * LENGTH_PENALTY / (mean or 1.0)
        for term in looked_for:
            factor = self._compute_rarity(term) * (SATURATION + 1.0)
            for packed in self._postings.get(term, ()):
                number, weight = packed >> SHIFT, packed >> 1 & HEAVIEST
                gain = factor * weight / (weight + floor + slope * self._lengths[number])
                scores[number] = scores.get(number, 0.0) + gain
        return scores

    def _compute_coverage(self, looked_for: Sequence[str]) -> dict[int, float]:
        """Return the share of the terms' weight that is in each document's headline.

        About half of the character pairs in a text without spaces straddle two words and occur nowhere: a missing pair counts
        half.
        """
        held: dict[int, float] = {}
        missing: dict[int, float] = {}
        whole = 0.0
        for term in looked_for:
            rarity = self._compute_rarity(term)
            without = rarity / 2 if is_pair(term) else rarity
            whole += without
            for packed in self._postings.get(term, ()):
                if packed & 1:
                    number = packed >> SHIFT
                    held[number] = held.get(number, 0.0) + rarity
                    missing[number] = missing.get(number, 0.0) - without
        # held / (held + missing), where missing is the weight of all terms minus that of the terms found.
        return {number: weight / (weight + whole + missing[number]) for number, weight in held.items()}

    def _rank_documents(
        self, scores: dict[int, float], looked_for: Sequence[str], limit: int, allowed: Callable[[str], bool]
    ) -> list[SearchHit]:
        fitting = (number for number in scores if allowed(self._documents[number].decision))
        # The number breaks ties: among equal scores the newest decision comes first.
        best = heapq.nlargest(limit, fitting, key=lambda number: (scores[number], number))
        return [self._build_hit(self._documents[number], scores[number], looked_for) for number in best]

    def _build_hit(self, document: Document, score: float, looked_for: Sequence[str]) -> SearchHit:
        fields = [field for field in (document.text, document.decided, document.topic) if field]
        snippets = [find_snippet(field, looked_for) for field in fields]
        best = max(snippets, key=lambda piece: piece.fits, default=Snippet(0, ""))
        return SearchHit(decision=document.decision, score=score, snippet=best.text)


class Snippet(NamedTuple):
    """An excerpt, and how many of the query's terms it contains."""

    fits: int
    text: str


def find_snippet(text: str, looked_for: Sequence[str]) -> Snippet:
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
