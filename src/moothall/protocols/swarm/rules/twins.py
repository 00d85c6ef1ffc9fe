"""Twins before the close: ideas among the first ones that say the same in other words are pooled with their readings (S-38).

The pairs of the first ideas are put to the judge once more, each in both orders, in one call. Two ideas become one where both orders
say so and no other pair of the two groups says otherwise twice.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from moothall.domain.replace import fast_replace
from moothall.protocols.swarm.answers import ComparedPair, PairVerdict
from moothall.protocols.swarm.facts import PlacedIdea, TwinsPooled
from moothall.protocols.swarm.rules.endings import list_best_backed_ideas
from moothall.protocols.swarm.rules.evidence import build_choice
from moothall.protocols.swarm.rules.review import list_judgements
from moothall.protocols.swarm.state import Idea, RoundReview, Swarm, parse_number
from moothall.scoring.likeness import measure_by_words, normalize_idea

FIRST: Final = 5
"""How many of the first ideas are put to the judge, by their readings or else by their support."""


def start_pooling(state: Swarm) -> Swarm:
    """Return the swarm with the pairs of its first ideas for the judge, in the stage in which it is asked."""
    ideas = _list_first_ideas(state)
    texts = tuple(idea.text for idea in ideas)
    pairs = tuple(_list_pairs(texts))
    review = RoundReview(texts=texts, ideas=tuple(idea.number for idea in ideas), pairs=pairs)
    return fast_replace(state, stage="pool", review=review)


def can_pool(state: Swarm) -> bool:
    """Whether there is anybody to ask, and anything to decide between."""
    is_wanted = state.settings.pool_twins and not state.opened.subject.options
    if not is_wanted or state.judge is None or state.stop is not None:
        return False
    return state.settings.mode != "classic" and len(_list_first_ideas(state)) > 1


def _list_first_ideas(state: Swarm) -> list[Idea]:
    numbers: list[int] = []
    choice = None
    if state.by_evidence:
        choice = build_choice(state)
    if choice is not None:
        numbers = [parse_number(each.answer, "idea-") for each in choice.ranked]
    numbers += list_best_backed_ideas(state)
    ideas = state.board.list_ideas(dict.fromkeys(numbers))
    return ideas[:FIRST]


def _list_pairs(texts: tuple[str, ...]) -> Iterator[ComparedPair]:
    """Yield each pair in both orders: what a judge says of one order alone may be its place in the list."""
    places = [*combinations(range(len(texts)), 2)]
    for one, other in (*places, *((other, one) for one, other in reversed(places))):
        likeness = measure_by_words(texts[one], (texts[other],))[0]
        yield ComparedPair(one=one, other=other, likeness=round(likeness, 4))


def pool_twins(state: Swarm) -> TwinsPooled:
    """Return which ideas the judge calls one in both orders; the older of them stays."""
    review = state.review
    said: dict[frozenset[int], list[PairVerdict | None]] = {}
    reasons: dict[frozenset[int], str] = {}
    for pair, judgement in list_judgements(review):
        key = frozenset((review.ideas[pair.one], review.ideas[pair.other]))
        said.setdefault(key, []).append(judgement.verdict)
        reasons[key] = judgement.reason
    twins = {key for key, verdicts in said.items() if verdicts == ["same", "same"]}
    apart = {key for key, verdicts in said.items() if len(verdicts) > 1 and "same" not in verdicts}
    pools = {number: {number} for number in review.ideas}
    for one, other in sorted(tuple(sorted(key)) for key in twins):
        left, right = pools[one], pools[other]
        is_contradicted = any(frozenset((a, b)) in apart for a in left for b in right)
        if left is right or is_contradicted:
            continue
        left |= right
        for number in right:
            pools[number] = left
    placed = tuple(_list_moves(state, pools, reasons))
    judge = ""
    if review.judgements is not None:
        judge = state.judge or ""
    return TwinsPooled(round=state.round, placed=placed, judge=judge, judged=len(said))


def _list_moves(
    state: Swarm, pools: dict[int, set[int]], reasons: dict[frozenset[int], str]
) -> Iterator[PlacedIdea]:
    """Yield each text of an idea that is pooled with an older one."""
    board = state.board
    for key, number in board.by_text.items():
        first = min(pools.get(number, {number}))
        if first == number:
            continue
        older, text = board.ideas[first], board.ideas[number].text
        if key != normalize_idea(text):
            text = key
        yield PlacedIdea(
            text=text,
            idea=first,
            reason="judge",
            similar_to=older.text,
            why=reasons.get(frozenset((first, number)), ""),
        )
