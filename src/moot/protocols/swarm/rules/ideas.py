"""Which findings say the same: exact words, explicit `agreesWith`, then the recorded judgement of a measure (S-8).

A text is placed once, when it is first said; later figures build on where it was placed. Ideas are never merged afterwards, so
that who held an idea before reading it (S-28) stays true.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from moot.domain.effects import CompareTexts
from moot.domain.ids import SeatId
from moot.domain.replace import fast_replace
from moot.protocols.swarm.answers import ComparedPair, SimilarityReport
from moot.protocols.swarm.facts import PlacedIdea
from moot.protocols.swarm.state import Board, Finding, Idea, RoundReview, Swarm
from moot.scoring.likeness import JOIN_AT, find_similar_texts, measure_by_words, normalize_idea

MOST_COMPARED: Final = 300
"""Known ideas, the newest, that a new text is compared with."""


def list_new_findings(state: Swarm) -> list[Finding]:
    """Those of the round under way: they stand at the end."""
    found = []
    for finding in reversed(state.board.findings):
        if finding.idea:
            break
        found.append(finding)
    return found[::-1]


def list_fresh_texts(state: Swarm) -> tuple[str, ...]:
    """The texts of the round that nobody had said before, as they were first written."""
    texts: dict[str, str] = {}
    for finding in list_new_findings(state):
        key = normalize_idea(finding.core_idea)
        if key not in state.board.by_text:
            texts.setdefault(key, finding.core_idea)
    return tuple(texts.values())


def select_comparison(state: Swarm, texts: Collection[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The known ideas and the new texts that a measure is asked about; nothing where there is nothing to compare."""
    apart = _collect_separate_texts(state)
    claimed = _collect_agreements(state)
    new = tuple(text for text in texts if normalize_idea(text) not in apart and normalize_idea(text) not in claimed)
    known = tuple(idea.number for idea in state.board.ideas if normalize_idea(idea.text) not in apart)[-MOST_COMPARED:]
    return (known, new) if new and len(known) + len(new) > 1 else ((), ())


def build_comparison(state: Swarm) -> CompareTexts:
    """What the measure is handed."""
    review = state.review
    texts = [idea.text for number in review.known if (idea := state.board.idea(number)) is not None]
    return CompareTexts(known=tuple(texts), new=review.compared)


def compare_by_words(compared: CompareTexts) -> SimilarityReport:
    """The judgement by words alone: what a measure that was lost is replaced with."""
    pairs = (ComparedPair(**pair._asdict()) for pair in find_similar_texts(compared.known, compared.new, measure_by_words))
    return SimilarityReport(by="words", pairs=tuple(pairs))


@dataclass(frozen=True, slots=True)
class IdeaSorting:
    """Where the new texts belong, and by which measure."""

    by: str
    placed: tuple[PlacedIdea, ...]


def sort_ideas(state: Swarm) -> IdeaSorting:
    """Place every text that nobody had said before."""
    review = state.review
    found = review.likenesses
    by = "" if not review.compared else found.by if found is not None else "words (fallback)"
    likenesses = (found or compare_by_words(build_comparison(state))) if review.compared else None
    best = _rank_pairs(review, likenesses)
    declared = _collect_agreements(state)
    places: dict[str, int] = {}
    founded: dict[str, int] = {}
    texts = {idea.number: idea.text for idea in state.board.ideas}
    placed: list[PlacedIdea] = []
    for text in review.fresh:
        key = normalize_idea(text)
        where = _place_by_agreement(state, text, declared.get(key, ()), places) or _place_by_similarity(
            review, text, best.get(key, ()), founded
        )
        idea = where.idea or len(texts) + 1
        texts.setdefault(idea, text)
        places[key] = idea
        if where.reason == "new":
            founded[key] = idea
        placed.append(replace(where, idea=idea, like="" if where.reason == "new" else texts[idea]))
    return IdeaSorting(by, tuple(placed))


def _place_by_agreement(state: Swarm, text: str, names: Sequence[str], places: Mapping[str, int]) -> PlacedIdea | None:
    for name in names:
        idea = find_named_idea(state.board, places, name)
        if idea and normalize_idea(text) not in _collect_separate_texts(state):
            return PlacedIdea(text=text, idea=idea, reason="agreesWith")
    return None


def _place_by_similarity(review: RoundReview, text: str, pairs: Sequence[ComparedPair], founded: Mapping[str, int]) -> PlacedIdea:
    """Like an idea's own first text: what that text has taken in may be like anything, and no chain of likenesses joins."""
    for pair in pairs:
        idea = _find_idea_at(review, founded, pair.other)
        if idea:
            return PlacedIdea(text=text, idea=idea, reason="measure", likeness=pair.likeness)
    return PlacedIdea(text=text, idea=0, reason="new")


def _rank_pairs(review: RoundReview, found: SimilarityReport | None) -> dict[str, list[ComparedPair]]:
    """For each new text the texts that it is one with, the most like first."""
    known = len(review.known)
    best: dict[str, list[ComparedPair]] = {}
    for pair in found.pairs if found is not None else ():
        if pair.opposed or pair.likeness < JOIN_AT or not known <= pair.one < known + len(review.compared):
            continue
        if pair.other < pair.one:
            best.setdefault(normalize_idea(review.compared[pair.one - known]), []).append(pair)
    return {key: sorted(pairs, key=lambda pair: (-pair.likeness, pair.other)) for key, pairs in best.items()}


def _find_idea_at(review: RoundReview, founded: Mapping[str, int], at: int) -> int:
    """The idea whose first text stands at this place; 0 where a text stands there that another idea took in."""
    if at < len(review.known):
        return review.known[at]
    other = at - len(review.known)
    return founded.get(normalize_idea(review.compared[other]), 0) if other < len(review.compared) else 0


def _collect_agreements(state: Swarm) -> dict[str, tuple[str, ...]]:
    """What the author of each new text says that it agrees with, where that can be found."""
    said = {normalize_idea(finding.core_idea) for finding in list_new_findings(state)} | set(state.board.by_text)
    found: dict[str, tuple[str, ...]] = {}
    for finding in list_new_findings(state):
        key = normalize_idea(finding.core_idea)
        names = tuple(name for name in finding.agrees_with if _is_known(state.board, said, name) and normalize_idea(name) != key)
        if names and key not in found:
            found[key] = names
    return found


def _is_known(board: Board, said: Collection[str], name: str) -> bool:
    if name.startswith("finding-"):
        found = board.finding(name)
        return found is not None and found.idea > 0
    if name.startswith("idea-"):
        return _find_numbered_idea(board, name) > 0
    return normalize_idea(name) in said


def find_named_idea(board: Board, places: Mapping[str, int], name: str) -> int:
    """The idea that an `agreesWith` names: by a finding's id, an idea's id, or its words; 0 where there is none."""
    if name.startswith("finding-"):
        found = board.finding(name)
        return found.idea if found is not None else 0
    if name.startswith("idea-"):
        return _find_numbered_idea(board, name)
    key = normalize_idea(name)
    return board.by_text.get(key, 0) or places.get(key, 0)


def _find_numbered_idea(board: Board, name: str) -> int:
    number = name.removeprefix("idea-")
    at = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    return at if board.idea(at) is not None else 0


def _collect_separate_texts(state: Swarm) -> frozenset[str]:
    return frozenset(normalize_idea(text) for text in state.settings.apart)


def with_ideas(state: Swarm, placed: Collection[PlacedIdea]) -> Swarm:
    """The swarm after its new texts were placed: findings know their ideas, ideas their backers, agents what they hold."""
    board = state.board
    by_text = {**board.by_text, **{normalize_idea(each.text): each.idea for each in placed}}
    ideas = {idea.number: (idea, dict(idea.since)) for idea in board.ideas}
    for each in placed:
        if each.reason == "new":
            ideas[each.idea] = (Idea(number=each.idea, text=each.text, round=state.round, since={}), {})
    new = list_new_findings(state)
    places = {normalize_idea(each.text): each.idea for each in placed}
    held: dict[SeatId, dict[int, None]] = {}
    known = []
    for finding in new:
        idea = by_text.get(normalize_idea(finding.core_idea), 0)
        also = tuple(
            number for name in finding.agrees_with if (number := find_named_idea(board, places, name)) and number != idea
        )
        known.append(replace(finding, idea=idea, also=tuple(dict.fromkeys(also))))
        for number in (idea, *also):
            if number in ideas:
                ideas[number][1].setdefault(finding.seat, state.round)
                held.setdefault(finding.seat, {})[number] = None
    agents = dict(state.agents)
    for seat, numbers in held.items():
        agents[seat] = fast_replace(agents[seat], holds=tuple(sorted(numbers)))
    findings = (*board.findings[: len(board.findings) - len(new)], *known)
    listed = tuple(replace(idea, since=since) if since != idea.since else idea for idea, since in ideas.values())
    return fast_replace(state, agents=agents, board=fast_replace(board, findings=findings, ideas=listed, by_text=by_text))


def compute_backing(state: Swarm) -> dict[int, tuple[tuple[SeatId, ...], tuple[SeatId, ...]]]:
    """Each idea that an active agent holds, with its backers and the independent ones among them."""
    held: dict[int, list[SeatId]] = {}
    for seat in state.active:
        for number in state.agents[seat].holds:
            held.setdefault(number, []).append(seat)
    found = {}
    for number in sorted(held):
        idea = state.board.idea(number)
        if idea is not None:
            own = tuple(seat for seat in held[number] if idea.since.get(seat) == idea.round)
            found[number] = (tuple(held[number]), own)
    return found
