"""Twins before the close: ideas among the first ones that say the same in other words are pooled with their readings (S-38).

The pairs of the first ideas are put to the judge once more, each in both orders; what the groups of answers then call one is pooled.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from moothall.domain.replace import fast_replace
from moothall.domain.session_state import JudgeHearing
from moothall.protocols.swarm.answers import ComparedPair
from moothall.protocols.swarm.facts import PlacedIdea, TwinsPooled
from moothall.protocols.swarm.rules.endings import list_best_backed_ideas
from moothall.protocols.swarm.rules.evidence import build_choice
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
    # A judge that was lost in a round is asked again before the close.
    hearing = JudgeHearing(asked=state.hearing.asked)
    return fast_replace(state, stage="pool", review=review, hearing=hearing)


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
    for other, one in combinations(range(len(texts)), 2):
        likeness = measure_by_words(texts[one], (texts[other],))[0]
        yield ComparedPair(one=one, other=other, likeness=round(likeness, 4))


def pool_twins(state: Swarm) -> TwinsPooled:
    """Return which ideas the judge calls one; the older of them stays."""
    review = state.review
    first: dict[int, int] = {}
    for number in review.ideas:
        first[number] = min(other for other in review.ideas if _is_one(state, number, other))
    judge = ""
    if review.is_judged:
        judge = state.judge or ""
    placed = tuple(_list_moves(state, first))
    return TwinsPooled(round=state.round, placed=placed, judge=judge, judged=len(review.judged))


def _is_one(state: Swarm, one: int, other: int) -> bool:
    ideas = state.board.ideas
    return one == other or state.groups.is_same(ideas[one].text, ideas[other].text)


def _list_moves(state: Swarm, pools: dict[int, int]) -> Iterator[PlacedIdea]:
    """Yield each text of an idea that is pooled with an older one."""
    board = state.board
    for key, number in board.by_text.items():
        first = pools.get(number, number)
        if first == number:
            continue
        older, text = board.ideas[first], board.ideas[number].text
        pair = state.groups.find_pair(text, older.text)
        if key != normalize_idea(text):
            text = key
        yield PlacedIdea(
            text=text,
            idea=first,
            reason="judge",
            similar_to=older.text,
            why="" if pair is None else pair.reason,
        )
