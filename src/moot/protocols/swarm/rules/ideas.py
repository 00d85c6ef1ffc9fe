"""Decides which findings express the same idea: equal text, explicit `agreesWith`, then the recorded verdict of a judge on the
nearest ideas (S-31), and where there is none that of a measure (S-8).

A text is assigned to an idea once, when it is first stated; later figures build on that. Ideas are never merged afterwards:
otherwise it would change in hindsight who held an idea before reading it (S-28).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from moot.domain.effects import CompareTexts
from moot.domain.ids import SeatId
from moot.domain.replace import fast_replace
from moot.protocols.swarm.answers import ComparedPair, PairJudgement, SimilarityReport
from moot.protocols.swarm.facts import PlacedIdea
from moot.protocols.swarm.state import SILENT_ROUNDS, Board, Finding, Idea, NearPair, RoundReview, Swarm
from moot.scoring.likeness import JOIN_AT, find_similar_texts, is_against, measure_by_words, normalize_idea

MOST_COMPARED: Final = 300
"""How many known ideas, the newest, a new text is compared with."""
NEAREST: Final = 3
"""How many of the nearest ideas of each new text are put to the judge."""
ROOM: Final = 30
"""How many pairs one call has room for in any case."""
MOST_JUDGED: Final = 60
"""How many pairs are put to the judge in one round."""


def list_new_findings(state: Swarm) -> list[Finding]:
    """Return the findings of the current round: the unassigned ones at the end."""
    findings = []
    for finding in reversed(state.board.findings):
        if finding.idea:
            break
        findings.append(finding)
    return findings[::-1]


def list_fresh_texts(state: Swarm) -> tuple[str, ...]:
    """Return the texts of the round that nobody stated before, as first written."""
    texts: dict[str, str] = {}
    for finding in list_new_findings(state):
        key = normalize_idea(finding.core_idea)
        if key not in state.board.by_text:
            texts.setdefault(key, finding.core_idea)
    return tuple(texts.values())


def select_comparison(state: Swarm, texts: Collection[str]) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the known ideas and the new texts for a similarity measure; both empty if there is nothing to compare."""
    apart = _collect_separate_texts(state)
    claimed = _collect_agreements(state)
    # Neither texts that the user keeps apart nor texts whose author already says what they agree with need a measure.
    new = tuple(text for text in texts if normalize_idea(text) not in apart and normalize_idea(text) not in claimed)
    known = tuple(idea.number for idea in state.board.ideas if normalize_idea(idea.text) not in apart)[-MOST_COMPARED:]
    return (known, new) if new and len(known) + len(new) > 1 else ((), ())


def build_comparison(state: Swarm) -> CompareTexts:
    """Return the texts that the measure compares."""
    review = state.review
    texts = [idea.text for number in review.known if (idea := state.board.idea(number)) is not None]
    hints = [text for text, _ in review.hints]
    # More than are judged, because several of the nearest texts may say one idea.
    nearest = 4 * NEAREST if state.judge is not None else 0
    return CompareTexts(known=(*texts, *hints), new=review.compared, nearest=nearest)


def compare_by_words(compared: CompareTexts) -> SimilarityReport:
    """Compare by words alone: the fallback if the measure fails."""
    found = find_similar_texts(compared.known, compared.new, measure_by_words, compared.nearest)
    pairs = (ComparedPair(**pair._asdict()) for pair in found)
    return SimilarityReport(by="words", pairs=tuple(pairs))


def list_near_pairs(state: Swarm) -> tuple[NearPair, ...]:
    """Return the pairs for the judge: the nearest earlier texts of each new one (S-31). Of too many, the nearest stay."""
    review = state.review
    if state.judge is None or not review.compared:
        return ()
    report = review.likenesses or compare_by_words(build_comparison(state))
    first, end = review.first_new, review.first_new + len(review.compared)
    founding = {number: at for at, number in enumerate(review.known)}
    near: dict[int, dict[int, float]] = {}
    for pair in report.pairs:
        if first <= pair.one < end and pair.other < pair.one:
            # An idea is found by any of its texts and judged by its founding one: what joined it wrongly attracts nothing.
            hint = pair.other - len(review.known)
            other = founding.get(review.hints[hint][1], -1) if 0 <= hint < len(review.hints) else pair.other
            if other >= 0:
                own = near.setdefault(pair.one, {})
                own[other] = max(own.get(other, 0.0), pair.likeness)
    ranked = []
    for one, others in near.items():
        nearest = sorted(others.items(), key=lambda each: (-each[1], each[0]))
        ranked += [(rank, NearPair(one=one, other=other, likeness=value)) for rank, (other, value) in enumerate(nearest)]
    ranked.sort(key=lambda each: (each[0], -each[1].likeness, each[1].one, each[1].other))
    # Three of each, and the next nearest while one call has room for them: what is founded twice stays two ideas.
    count = min(MOST_JUDGED, max(ROOM, sum(rank < NEAREST for rank, _ in ranked)))
    compared = build_comparison(state)
    texts = (*compared.known, *compared.new)
    chosen = [replace(pair, opposed=_is_denial(pair, texts)) for _, pair in ranked[:count]]
    return tuple(sorted(chosen, key=lambda pair: (pair.one, -pair.likeness, pair.other)))


def _is_denial(pair: NearPair, texts: Sequence[str]) -> bool:
    """Whether two texts say nearly the same words and take opposite sides: there a judge that says otherwise has misread."""
    return pair.likeness >= JOIN_AT and is_against(texts[pair.one], texts[pair.other])


def collect_judgements(review: RoundReview) -> dict[tuple[int, int], PairJudgement]:
    """Return what the judge said of each pair, the first word on it; pairs that it left out are missing."""
    said: dict[tuple[int, int], PairJudgement] = {}
    for each in review.judgements.judgements if review.judgements is not None else ():
        if each.pair <= len(review.pairs):
            pair = review.pairs[each.pair - 1]
            said.setdefault((pair.one, pair.other), each)
    return said


@dataclass(frozen=True, slots=True)
class IdeaSorting:
    """The ideas of the new texts, the measure that assigned them, and how many pairs the judge judged."""

    by: str
    placed: tuple[PlacedIdea, ...]
    judged: int = 0


def sort_ideas(state: Swarm) -> IdeaSorting:
    """Assign every text that nobody stated before to an idea."""
    review = state.review
    report = review.likenesses
    # Recorded with the result, so that a report can say which measure joined two texts.
    by = "" if not review.compared else report.by if report is not None else "words (fallback)"
    likenesses = (report or compare_by_words(build_comparison(state))) if review.compared else None
    judged = collect_judgements(review)
    best = _rank_pairs(review, likenesses, judged)
    declared = _collect_agreements(state)
    places: dict[str, int] = {}
    founded: dict[str, int] = {}
    texts = {idea.number: idea.text for idea in state.board.ideas}
    placed: list[PlacedIdea] = []
    for text in review.fresh:
        key = normalize_idea(text)
        # The author's own word comes first; a measure is only asked where the author says nothing.
        where = (
            _place_by_agreement(state, text, declared.get(key, ()), places)
            or _place_by_judgement(review, text, judged, places)
            or _place_by_similarity(review, text, best.get(key, ()), founded)
        )
        idea = where.idea or len(texts) + 1
        texts.setdefault(idea, text)
        places[key] = idea
        if where.reason == "new":
            # Only the founding text of an idea can attract others; see `_place_by_similarity`.
            founded[key] = idea
        placed.append(replace(where, idea=idea, like="" if where.reason == "new" else texts[idea]))
    return IdeaSorting(by, tuple(placed), len(judged))


def _place_by_judgement(
    review: RoundReview, text: str, judged: Mapping[tuple[int, int], PairJudgement], places: Mapping[str, int]
) -> PlacedIdea | None:
    """Assign a text to the nearest idea that the judge takes for the same, and never to an opposite.

    A judge errs, too, and a join of opposites fakes a consensus: so a denial in nearly the same words stays apart.
    """
    if not judged or text not in review.compared:
        return None
    at = review.first_new + review.compared.index(text)
    own = [(pair, judged[pair.one, pair.other]) for pair in review.pairs if pair.one == at and (pair.one, pair.other) in judged]
    against = {_find_place(review, places, pair.other) for pair, said in own if said.verdict == "opposite"}
    for pair, said in own:
        idea = _find_place(review, places, pair.other)
        if said.verdict == "same" and idea and idea not in against and not pair.opposed:
            return PlacedIdea(text=text, idea=idea, reason="judge", likeness=pair.likeness, why=said.reason)
    return None


def _find_place(review: RoundReview, places: Mapping[str, int], at: int) -> int:
    """Return the idea of the text at this position, whether it founded the idea or joined it."""
    if at < len(review.known):
        return review.known[at]
    return places.get(normalize_idea(review.compared[at - review.first_new]), 0)


def _place_by_agreement(state: Swarm, text: str, names: Sequence[str], places: Mapping[str, int]) -> PlacedIdea | None:
    for name in names:
        idea = find_named_idea(state.board, places, name)
        if idea and normalize_idea(text) not in _collect_separate_texts(state):
            return PlacedIdea(text=text, idea=idea, reason="agreesWith")
    return None


def _place_by_similarity(review: RoundReview, text: str, pairs: Sequence[ComparedPair], founded: Mapping[str, int]) -> PlacedIdea:
    """Assign a text to the idea whose founding text it resembles.

    Later texts of an idea do not attract others: otherwise a chain of similar pairs could join two ideas that have nothing in
    common.
    """
    for pair in pairs:
        idea = _find_idea_at(review, founded, pair.other)
        if idea:
            return PlacedIdea(text=text, idea=idea, reason="measure", likeness=pair.likeness)
    return PlacedIdea(text=text, idea=0, reason="new")


def _rank_pairs(
    review: RoundReview, report: SimilarityReport | None, judged: Collection[tuple[int, int]] = ()
) -> dict[str, list[ComparedPair]]:
    """Return for each new text the texts that it is the same as, the most similar first; without those that a judge judged."""
    known = review.first_new
    best: dict[str, list[ComparedPair]] = {}
    for pair in report.pairs if report is not None else ():
        # The report comes from a participant: pairs out of range are dropped, and only earlier texts count.
        if pair.opposed or pair.likeness < JOIN_AT or not known <= pair.one < known + len(review.compared):
            continue
        if pair.other < pair.one and (pair.one, pair.other) not in judged:
            best.setdefault(normalize_idea(review.compared[pair.one - known]), []).append(pair)
    return {key: sorted(pairs, key=lambda pair: (-pair.likeness, pair.other)) for key, pairs in best.items()}


def _find_idea_at(review: RoundReview, founded: Mapping[str, int], at: int) -> int:
    """Return the idea that was founded by the text at this position; 0 if that text belongs to another idea."""
    if at < len(review.known):
        return review.known[at]
    other = at - review.first_new
    if other < 0:
        return 0
    return founded.get(normalize_idea(review.compared[other]), 0) if other < len(review.compared) else 0


def _collect_agreements(state: Swarm) -> dict[str, tuple[str, ...]]:
    """Return what the author of each new text says it agrees with, as far as that exists."""
    said = {normalize_idea(finding.core_idea) for finding in list_new_findings(state)} | set(state.board.by_text)
    agreements: dict[str, tuple[str, ...]] = {}
    for finding in list_new_findings(state):
        key = normalize_idea(finding.core_idea)
        # Agreeing with oneself would be a founding text that joins itself.
        names = tuple(name for name in finding.agrees_with if _is_known(state.board, said, name) and normalize_idea(name) != key)
        if names and key not in agreements:
            agreements[key] = names
    return agreements


def _is_known(board: Board, said: Collection[str], name: str) -> bool:
    if name.startswith("finding-"):
        finding = board.finding(name)
        return finding is not None and finding.idea > 0
    if name.startswith("idea-"):
        return _find_numbered_idea(board, name) > 0
    return normalize_idea(name) in said


def find_named_idea(board: Board, places: Mapping[str, int], name: str) -> int:
    """Return the idea that an `agreesWith` names by a finding's id, an idea's id, or its text; 0 if there is none."""
    if name.startswith("finding-"):
        finding = board.finding(name)
        return finding.idea if finding is not None else 0
    if name.startswith("idea-"):
        return _find_numbered_idea(board, name)
    key = normalize_idea(name)
    return board.by_text.get(key, 0) or places.get(key, 0)


def _find_numbered_idea(board: Board, name: str) -> int:
    number = name.removeprefix("idea-")
    # `isdigit` accepts digits of other scripts, which `int` may reject or read differently; the length bounds the conversion.
    at = int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0
    return at if board.idea(at) is not None else 0


def _collect_separate_texts(state: Swarm) -> frozenset[str]:
    return frozenset(normalize_idea(text) for text in state.settings.apart)


def with_ideas(state: Swarm, placed: Collection[PlacedIdea]) -> Swarm:
    """Return the swarm with its new texts assigned: findings know their ideas, ideas their backers, agents what they hold."""
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
        # What the validator refuted backs nothing (not so in the first edition).
        is_refuted = normalize_idea(finding.core_idea) in board.refuted and not state.is_first_edition
        if is_refuted:
            held.setdefault(finding.seat, {})
        for number in (idea, *also) if not is_refuted else ():
            if number in ideas:
                # `setdefault` keeps the first round: who held an idea since its founding round counts as independent.
                ideas[number][1].setdefault(finding.seat, state.round)
                held.setdefault(finding.seat, {})[number] = None
    agents = dict(state.agents)
    for seat, numbers in held.items():
        # Only agents with new findings change what they hold: silence keeps the last opinion.
        agents[seat] = fast_replace(agents[seat], holds=tuple(sorted(numbers)))
    findings = (*board.findings[: len(board.findings) - len(new)], *known)
    listed = tuple(replace(idea, since=since) if since != idea.since else idea for idea, since in ideas.values())
    joined = (*board.joined, *((each.text, each.idea) for each in placed if each.reason != "new"))[-MOST_COMPARED:]
    board = fast_replace(board, findings=findings, ideas=listed, by_text=by_text, joined=joined)
    return fast_replace(state, agents=agents, board=board)


def list_silent_agents(state: Swarm) -> tuple[SeatId, ...]:
    """Return the active agents that nobody hears: the quorum does not count them. Not in the first edition."""
    if state.is_first_edition:
        return ()
    agents = (state.agents[seat] for seat in state.active)
    return tuple(agent.seat for agent in agents if agent.silence >= SILENT_ROUNDS or (agent.silence and not agent.findings))


def compute_backing(state: Swarm) -> dict[int, tuple[tuple[SeatId, ...], tuple[SeatId, ...]]]:
    """Return each idea that an active agent holds, with its backers and the independent ones among them."""
    held: dict[int, list[SeatId]] = {}
    silent = frozenset(list_silent_agents(state))
    for seat in state.active:
        for number in state.agents[seat].holds if seat not in silent else ():
            held.setdefault(number, []).append(seat)
    backing = {}
    for number in sorted(held):
        idea = state.board.idea(number)
        if idea is not None:
            # Independent: stated in the round in which the idea first appeared, before anyone could read it on the blackboard.
            own = tuple(seat for seat in held[number] if idea.since.get(seat) == idea.round)
            backing[number] = (tuple(held[number]), own)
    return backing
