"""Groups texts by verdicts on pairs of them, from a judge that errs (S-31).

A verdict is a weight: `same` speaks for one group, `different` and `opposite` for two. A text stands where the sum of its weights
is highest, so that later verdicts outvote a wrong one: a text moves, and two groups become one where enough speaks for it.
"""

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

MERGE_AT: Final = 2.0
"""The sum of the weights between two groups from which they are one; a text joins a group by any that is positive."""
SURE_AT: Final = 2.0
"""The sum of the weights from which the place of a text is not in doubt."""
MAX_LOOKS: Final = 6
"""With so many verdicts a text is not looked at again because of doubts."""
MAX_PASSES: Final = 4

Pair = tuple[str, str]
Verdicts = Mapping[Pair, tuple[float, int]]
"""Of each pair of texts, in sorted order: the sum of the weights, and the number of verdicts."""


def order_pair(one: str, other: str) -> Pair:
    return (one, other) if one <= other else (other, one)


class TextGroups:
    """Texts in numbered groups; `where` is the group of each."""

    def __init__(self, where: Mapping[str, int], verdicts: Verdicts) -> None:
        self.where = dict(where)
        self.members: dict[int, dict[str, None]] = {}
        for text, group in self.where.items():
            self.members.setdefault(group, {})[text] = None
        self._verdicts = verdicts
        self._links: dict[str, dict[str, float]] = {}
        for (one, other), (weight, _) in self._verdicts.items():
            self._links.setdefault(one, {})[other] = weight
            self._links.setdefault(other, {})[one] = weight

    def add(self, text: str, group: int) -> None:
        self.where[text] = group
        self.members.setdefault(group, {})[text] = None

    def move(self, text: str, group: int) -> None:
        self.members[self.where[text]].pop(text)
        self.add(text, group)

    def weigh(self, text: str) -> dict[int, float]:
        """Return the sum of the weights of a text to each group that it has verdicts with."""
        totals: dict[int, float] = {}
        for other, weight in self._links.get(text, {}).items():
            if other in self.where:
                group = self.where[other]
                totals[group] = totals.get(group, 0.0) + weight
        return totals

    def find_best(self, text: str) -> int:
        """Return the group that most verdicts on a text speak for; 0 if none does."""
        totals = self.weigh(text)
        best = max(totals, key=lambda group: (totals[group], -group), default=0)
        return best if best and totals[best] > 0 else 0

    def regroup(self, texts: Iterable[str], free: int) -> None:
        """Move these texts to where most speaks for them, then merge groups; `free` is the first number of a new group."""
        touched = sorted(texts)
        for _ in range(MAX_PASSES):
            before = dict(self.where)
            for text in touched:
                free += self._improve(text, free)
            self._merge()
            for group in sorted({self.where[text] for text in touched}):
                free += self._split(group, free)
            if self.where == before:
                return

    def _improve(self, text: str, free: int) -> bool:
        """Move a text if it stands better elsewhere; return whether it took the free number."""
        totals = self.weigh(text)
        own = totals.pop(self.where[text], 0.0)
        best = max(totals, key=lambda group: (totals[group], -group), default=0)
        if best and totals[best] > max(own, 0.0):
            self.move(text, best)
        elif own < 0 and len(self.members[self.where[text]]) > 1:
            self.move(text, free)
            return True
        return False

    def _merge(self) -> None:
        while True:
            between = self._weigh_groups()
            best = max(between, key=lambda pair: (between[pair], -pair[0], -pair[1]), default=None)
            if best is None or between[best] < MERGE_AT:
                return
            for text in list(self.members[best[1]]):
                self.move(text, best[0])

    def _split(self, group: int, free: int) -> bool:
        """Part a group along a verdict against it, if more speaks against what is parted than for it."""
        for one in self.members[group]:
            for other, weight in self._links.get(one, {}).items():
                if weight < 0 and one < other and self.where.get(other) == group:
                    sides = self._part(group, one, other)
                    if (
                        sum(
                            self._links.get(text, {}).get(other, 0.0)
                            for text in sides[0]
                            for other in sides[1]
                        )
                        < 0
                    ):
                        # The oldest text stays, and with it the number that others know the group by.
                        for text in sides[next(iter(self.members[group])) in sides[0]]:
                            self.move(text, free)
                        return True
        return False

    def _part(self, group: int, one: str, other: str) -> tuple[dict[str, None], dict[str, None]]:
        """Return two sides of a group, each text on the side that more speaks for; the clearest first."""
        sides: tuple[dict[str, None], dict[str, None]] = ({one: None}, {other: None})
        left = [text for text in self.members[group] if text not in {one, other}]
        leans = {
            text: self._links.get(text, {}).get(one, 0.0)
            - self._links.get(text, {}).get(other, 0.0)
            for text in left
        }
        while leans:
            text = max(leans, key=lambda each: abs(leans[each]))
            side = leans.pop(text) < 0
            sides[side][text] = None
            for near, weight in self._links.get(text, {}).items():
                if near in leans:
                    leans[near] += -weight if side else weight
        return sides

    def _weigh_groups(self) -> dict[tuple[int, int], float]:
        between: dict[tuple[int, int], float] = {}
        for (one, other), (weight, _) in self._verdicts.items():
            low, high = sorted((self.where[one], self.where[other]))
            if low != high:
                between[low, high] = between.get((low, high), 0.0) + weight
        return between

    def list_doubts(self, texts: Collection[str]) -> Iterator[Pair]:
        """Yield the pairs of these texts that deserve a second look, the most doubtful first."""
        doubts: list[tuple[float, Pair]] = []
        for (low, high), weight in self._weigh_groups().items():
            groups = self.members[low], self.members[high]
            if abs(weight) >= MERGE_AT or min(map(len, groups)) <= 1:
                continue
            pair = self._find_pair(*groups, texts)
            if pair is not None:
                doubts.append((1.0 - weight, pair))
        for text in self._links:
            if text not in texts:
                continue
            doubt = self._doubt(text, texts)
            if doubt is not None:
                doubts.append(doubt)
        # The newest come last in `_links`, and are looked at least; sorting keeps their order.
        doubts.reverse()
        pairs = dict.fromkeys(
            order_pair(*pair) for _, pair in sorted(doubts, key=lambda each: each[0])
        )
        yield from pairs

    def _doubt(self, text: str, texts: Collection[str]) -> tuple[float, Pair] | None:
        """Return how doubtful the place of a text is, with the pair to look at; None if it is not."""
        totals, group = self.weigh(text), self.where[text]
        own = totals.pop(group, 0.0)
        if sum(self._count(text, other) for other in self._links[text]) >= MAX_LOOKS:
            return None
        if len(self.members[group]) > 1:
            if own >= SURE_AT:
                return None
            pair = self._find_pair({text: None}, self.members[group], texts)
            return None if pair is None else (1.0 + own, pair)
        # Alone: perhaps one of its verdicts was wrong. The nearest group was the first to be judged.
        rival = next(
            (
                each
                for each in sorted(totals, key=lambda each: -totals[each])
                if totals[each] > -SURE_AT
            ),
            0,
        )
        pair = self._find_pair({text: None}, self.members.get(rival, {}), texts)
        return None if pair is None else (4.0, pair)

    def _count(self, one: str, other: str) -> int:
        return self._verdicts.get(order_pair(one, other), (0.0, 0))[1]

    def _find_pair(
        self, own: Collection[str], others: Collection[str], texts: Collection[str]
    ) -> Pair | None:
        """Return the pair of two groups that was judged least often, the best supported text first."""
        own_texts = [text for text in own if text in texts]
        other_texts = [text for text in others if text in texts]
        pairs = [
            self._rank_pair(one, other)
            for one, other in itertools.product(own_texts, other_texts)
            if one != other
        ]
        return min(pairs)[2:] if pairs else None

    def _rank_pair(self, one: str, other: str) -> tuple[int, int, str, str]:
        """Return the pair behind how often it was judged and how little the other text is supported."""
        return self._count(one, other), -len(self._links.get(other, {})), one, other
