"""Groups of answers: which words name one answer, so that answers are counted and not spellings (Q-3).

Two texts are one where they are equal after folding, where a judge calls them the same in both orders of the pair, at once or when
it is asked once more, or where the owner joins them. Chains are followed. What excludes each other is never joined: two listed
answers, what the owner parted, and what the judge calls opposite in both orders. The owner's word comes before the judge's. The
order in which anything arrives decides nothing: of two links that exclude each other, the one on which the other verdicts agree
more is followed, and of equals the first by the alphabet.

The words stay as they were said (M-16): a group is for counting, and its name is that of one of its members.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from itertools import chain
from typing import Annotated, Final, Literal

from annotated_types import Ge, MaxLen

from moothall.domain.replace import dataclass
from moothall.domain.topic import normalize_label

PairVerdict = Literal["same", "opposite", "different"]
"""Whether two texts say the same, exclude each other, or neither."""
Pair = tuple[str, str]
Words = Annotated[str, MaxLen(2_000)]

MAX_JUDGEMENTS: Final = 200
"""How many judgements one answer of a judge may hold."""
MAX_PAIRS: Final = 4_000
"""How many pairs of a session count, the newest."""
_SIGNS: Final[Mapping[PairVerdict | None, int]] = {"same": 1, "opposite": -1, "different": -1}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedPair:
    """Two texts, as they were said, and what was said of them in one order and in the other.

    A pair that is different in the first order is not asked in the second: it would not be joined anyway. `third` and `fourth` are
    what was said of a doubtful pair when it was asked once more, in the first order and in the other.
    """

    one: Words
    other: Words
    first: PairVerdict | None = None
    second: PairVerdict | None = None
    reason: Words = ""
    third: PairVerdict | None = None
    fourth: PairVerdict | None = None

    @property
    def verdict(self) -> PairVerdict | None:
        """What both orders say, the last time that they were asked; None where they differ, or where one of them has no verdict."""
        if self.third is None or self.fourth is None:
            return _settle_orders(self.first, self.second)
        return _settle_orders(self.third, self.fourth)

    @property
    def is_doubtful(self) -> bool:
        """Whether one order calls the pair the same and the other does not."""
        orders = (self.first, self.second)
        return "same" in orders and None not in orders and self.verdict != "same"

    @property
    def is_said_once(self) -> bool:
        """Whether the pair is apart by a single word of the judge."""
        return self.first == "different" and self.second is None

    @property
    def key(self) -> Pair:
        return order_pair(normalize_label(self.one), normalize_label(self.other))


def _settle_orders(one: PairVerdict | None, other: PairVerdict | None) -> PairVerdict | None:
    """Return what both orders of a pair say; `different` in one of them is enough not to join it."""
    if one == "different" or other == "different":
        return "different"
    if one == other:
        return one
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerJudgement:
    """What a judge says of one pair of answers, in the order in which it was shown; `one` and `other` are filled in by code."""

    pair: Annotated[int, Ge(1)]
    reason: Words = ""
    verdict: PairVerdict | None
    """None where an answer gives a pair two verdicts, or none."""
    one: Words = ""
    other: Words = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerJudgements:
    """What a judge says of the pairs that it was shown."""

    judgements: Annotated[tuple[AnswerJudgement, ...], MaxLen(MAX_JUDGEMENTS)] = ()


def order_pair(one: str, other: str) -> Pair:
    """Return two texts in the order of the alphabet."""
    return (one, other) if one <= other else (other, one)


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The groups of a session's answers, by the pairs that were judged. Words that no pair has are a group of their own."""

    judged: Mapping[Pair, JudgedPair] = field(default_factory=dict)
    """What the judge says of each pair of folded texts."""
    owned: Mapping[Pair, JudgedPair] = field(default_factory=dict)
    """What the owner says of a pair, the last word on it."""
    listed: frozenset[str] = frozenset()
    """The answers that the question lists: never joined with each other."""
    heads: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The folded text that stands for the group of each text."""
    met: frozenset[str] = field(default_factory=frozenset, compare=False)
    """The folded texts that a judge has been asked about."""
    words: Mapping[str, str] = field(default_factory=dict, compare=False)
    """Each folded text as it was said."""

    def find(self, words: str) -> str:
        """Return what an answer is counted as: the folded text that stands for its group; "" for no answer."""
        folded = normalize_label(words)
        return self.heads.get(folded, folded)

    def name(self, words: str) -> str:
        """Return the name of an answer's group, as one of its members says it."""
        head = self.find(words)
        if head == normalize_label(words):
            return words
        return self.words.get(head, words)

    def is_same(self, one: str, other: str) -> bool:
        """Whether two texts name one answer."""
        return bool(self.find(one)) and self.find(one) == self.find(other)

    def find_pair(self, one: str, other: str) -> JudgedPair | None:
        """Return what a judge has said of two texts; None where it was not asked."""
        return self.judged.get(order_pair(normalize_label(one), normalize_label(other)))

    def is_judged(self, words: str) -> bool:
        """Whether a judge or the owner has spoken on a text: then it is known which other answers it is not."""
        folded = normalize_label(words)
        pairs = (*self.judged.values(), *self.owned.values())
        return any(pair.verdict is not None and folded in pair.key for pair in pairs)

    def list_members(self) -> list[tuple[str, ...]]:
        """Return the groups that have more than one text, each with its texts as they were said, its name first."""
        members: dict[str, list[str]] = {}
        for folded in sorted(self.heads):
            members.setdefault(self.heads[folded], []).append(folded)
        groups: list[tuple[str, ...]] = []
        for head, texts in members.items():
            if len(texts) > 1:
                texts.sort(key=lambda each: each != head)
                groups.append(tuple(self.words[each] for each in texts))
        return groups


NO_GROUPS: Final = Groups()
"""Answers that nobody has judged: equal where their folded texts are."""


def add_judged(groups: Groups, pairs: Iterable[JudgedPair], listed: Iterable[str]) -> Groups:
    """Return the groups after a judge has spoken on pairs. A pair without a verdict leaves no trace but that it was asked."""
    judged = dict(groups.judged)
    for pair in pairs:
        if pair.key[0] and pair.key[0] != pair.key[1]:
            # Put last, so that the newest are those that stay.
            judged.pop(pair.key, None)
            judged[pair.key] = pair
    return _build_groups(_limit_pairs(judged), groups.owned, listed)


def _limit_pairs(judged: Mapping[Pair, JudgedPair]) -> Mapping[Pair, JudgedPair]:
    """Return the pairs that count: of too many, the oldest that join nothing go first."""
    left_over = len(judged) - MAX_PAIRS
    if left_over <= 0:
        return judged
    ranked = sorted(judged, key=lambda key: judged[key].verdict == "same")
    dropped = frozenset(ranked[:left_over])
    return {key: pair for key, pair in judged.items() if key not in dropped}


def add_owned(groups: Groups, pairs: Iterable[JudgedPair], listed: Iterable[str]) -> Groups:
    """Return the groups after the owner has joined or parted answers. Its last word on a pair is the one that counts."""
    owned = dict(groups.owned)
    for pair in pairs:
        if pair.key[0] and pair.key[0] != pair.key[1]:
            owned.pop(pair.key, None)
            owned[pair.key] = pair
    return _build_groups(groups.judged, owned, listed)


def _build_groups(
    judged: Mapping[Pair, JudgedPair],
    owned: Mapping[Pair, JudgedPair],
    listed: Iterable[str],
) -> Groups:
    options = frozenset(normalize_label(option) for option in listed)
    words = _collect_words((*judged.values(), *owned.values()))
    verdicts = {key: pair.verdict for key, pair in judged.items()}
    mine = {key: pair.verdict for key, pair in owned.items()}
    parts = _Parts(words, mine, options)
    # The owner comes before the judge's exclusions: its word makes them void.
    parts.join(sorted(key for key, verdict in mine.items() if verdict == "same"))
    parts.exclude(key for key, verdict in verdicts.items() if verdict == "opposite")
    parts.join(_rank_links(verdicts))
    return Groups(
        judged=judged,
        owned=owned,
        listed=options,
        heads=parts.name_heads(),
        met=frozenset(chain.from_iterable(judged)),
        words=words,
    )


def _collect_words(pairs: Iterable[JudgedPair]) -> dict[str, str]:
    """Return each folded text as it was said; of several spellings that fold to one, the first by the alphabet."""
    words: dict[str, str] = {}
    for pair in pairs:
        for text in (pair.one, pair.other):
            folded = normalize_label(text)
            words[folded] = min(text, words.get(folded, text))
    return words


def _rank_links(verdicts: Mapping[Pair, PairVerdict | None]) -> list[Pair]:
    """Return the pairs that are the same, first those on which the verdicts on other texts agree most."""
    signs: dict[str, dict[str, int]] = {}
    for (one, other), verdict in verdicts.items():
        if verdict is not None:
            signs.setdefault(one, {})[other] = _SIGNS[verdict]
            signs.setdefault(other, {})[one] = _SIGNS[verdict]

    def rate(pair: Pair) -> tuple[int, Pair]:
        one, other = signs[pair[0]], signs[pair[1]]
        agreeing = sum(one[text] * other[text] for text in one.keys() & other.keys())
        return -agreeing, pair

    return sorted((key for key, verdict in verdicts.items() if verdict == "same"), key=rate)


class _Parts:
    """The groups while they are built: what is joined, and what must not be."""

    def __init__(
        self,
        texts: Iterable[str],
        owned: Mapping[Pair, PairVerdict | None],
        options: frozenset[str],
    ) -> None:
        self._members: dict[str, set[str]] = {text: {text} for text in texts}
        self._group_of = {text: text for text in self._members}
        self._options = options
        # The owner's word on a pair makes what a judge says of it void.
        self._settled = frozenset(owned)
        self._excluded = {key for key, verdict in owned.items() if verdict == "opposite"}

    def exclude(self, pairs: Iterable[Pair]) -> None:
        """Keep pairs apart, but those on which the owner has spoken."""
        self._excluded.update(pair for pair in pairs if pair not in self._settled)

    def join(self, pairs: Iterable[Pair]) -> None:
        """Join pairs in this order, each with all that is joined to it already; what excludes each other stays apart."""
        for one, other in pairs:
            low, high = sorted((self._group_of[one], self._group_of[other]))
            if low == high or order_pair(one, other) in self._excluded:
                continue
            if self._may_join(low, high):
                self._members[low] |= self._members[high]
                for text in self._members.pop(high):
                    self._group_of[text] = low

    def _may_join(self, low: str, high: str) -> bool:
        both = self._members[low] | self._members[high]
        # Two listed answers, also where a chain of spellings leads from one to the other.
        if len(both & self._options) > 1:
            return False
        for one in self._members[low]:
            for other in self._members[high]:
                if order_pair(one, other) in self._excluded:
                    return False
        return True

    def name_heads(self) -> dict[str, str]:
        """Return what stands for the group of each text: a listed answer, else the shortest text."""
        heads: dict[str, str] = {}
        for members in self._members.values():
            head = min(members, key=lambda text: (text not in self._options, len(text), text))
            heads.update(dict.fromkeys(members, head))
        return heads
