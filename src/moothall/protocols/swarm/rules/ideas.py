"""Decides which findings express the same idea: equal text, explicit `agreesWith`, then the recorded verdict of a judge on the
nearest ideas (S-31), and where there is none that of a measure (S-8).

Without a judge a text is assigned to an idea once, when it is first stated. A judge errs, so its verdicts are kept, and what they
leave in doubt is put to it again in the next round: then texts move, and ideas that turn out to be one become one. Each move is
recorded as another assignment of the text. Who held an idea before reading it (S-28) follows the texts.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from moothall.domain.effects import CompareTexts
from moothall.domain.ids import SeatId
from moothall.domain.replace import fast_replace
from moothall.protocols.swarm.answers import ComparedPair, PairJudgement, PairVerdict, SimilarityReport
from moothall.protocols.swarm.facts import PlacedIdea
from moothall.protocols.swarm.state import SILENT_ROUNDS, Board, Finding, Idea, NearPair, RoundReview, Swarm
from moothall.scoring.likeness import JOIN_AT, find_similar_texts, is_against, measure_by_words, normalize_idea
from moothall.scoring.text_groups import Pair, TextGroups, order_pair

MOST_COMPARED: Final = 300
"""How many known ideas, the newest, a new text is compared with."""
NEAREST: Final = 3
"""How many of the nearest texts of each new one are put to the judge."""
PER_IDEA: Final = 2
"""How many of these may say one idea."""
MOST_JUDGED: Final = 60
"""How many pairs with new texts are put to the judge in one round, and how many second looks."""
MOST_SECOND_LOOKS: Final = 12
MOST_VERDICTS: Final = 4_000
"""How many verdicts on pairs are kept, the newest."""
WEIGHTS: Final[Mapping[PairVerdict, float]] = {"same": 1.0, "different": -1.0, "opposite": -2.0}
AGREED: Final = 2.0
"""The weight of an author's own word that two texts are one."""


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
    known = _list_known_ideas(state)
    return (known, new) if new and len(known) + len(new) > 1 else ((), ())


def _list_known_ideas(state: Swarm) -> tuple[int, ...]:
    apart, by_text = _collect_separate_texts(state), state.board.by_text
    keys = ((idea.number, normalize_idea(idea.text)) for idea in state.board.ideas)
    # An idea whose texts all moved to another is none any more.
    return tuple(number for number, key in keys if key not in apart and by_text.get(key) == number)[-MOST_COMPARED:]


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


def with_pairs(state: Swarm) -> Swarm:
    """Return the swarm with the pairs for the judge (S-31): near ones, known once the measure has answered, and second looks."""
    review = state.review
    if state.judge is None:
        return state
    if not review.compared:
        # Nothing is new: what is known is listed for second looks alone.
        review = fast_replace(review, known=_list_known_ideas(state), hints=state.board.joined)
        state = fast_replace(state, review=review)
    pairs = (*_list_near_pairs(state), *_list_second_looks(state))
    texts = _list_texts(state)
    checked = tuple(replace(pair, opposed=_is_denial(pair, texts)) for pair in pairs)
    return fast_replace(state, review=fast_replace(review, pairs=checked))


def _list_texts(state: Swarm) -> tuple[str, ...]:
    compared = build_comparison(state)
    return (*compared.known, *compared.new)


def _list_near_pairs(state: Swarm) -> list[NearPair]:
    """Return the nearest earlier texts of each new one, at most `PER_IDEA` of one idea. Of too many, the nearest stay."""
    review = state.review
    if not review.compared:
        return []
    report = review.likenesses or compare_by_words(build_comparison(state))
    first, end = review.first_new, review.first_new + len(review.compared)
    ideas = (*review.known, *(idea for _, idea in review.hints))
    near: dict[int, dict[int, float]] = {}
    for pair in report.pairs:
        if first <= pair.one < end and 0 <= pair.other < pair.one:
            near.setdefault(pair.one, {})[pair.other] = pair.likeness
    ranked = []
    for one, others in near.items():
        told: dict[int, int] = {}
        chosen = []
        for other, value in sorted(others.items(), key=lambda each: (-each[1], each[0])):
            idea = ideas[other] if other < first else -other
            told[idea] = told.get(idea, 0) + 1
            if told[idea] <= PER_IDEA:
                chosen.append(NearPair(one=one, other=other, likeness=value))
        ranked += list(enumerate(chosen[:NEAREST]))
    ranked.sort(key=lambda each: (each[0], -each[1].likeness, each[1].one, each[1].other))
    return sorted((pair for _, pair in ranked[:MOST_JUDGED]), key=lambda pair: (pair.one, -pair.likeness, pair.other))


def _list_second_looks(state: Swarm) -> list[NearPair]:
    """Return pairs of known texts whose places are in doubt."""
    texts = _list_texts(state)[: state.review.first_new]
    places = {normalize_idea(text): at for at, text in enumerate(texts)}
    looks = []
    for doubted in TextGroups(state.board.by_text, state.board.verdicts).list_doubts(places):
        other, one = sorted(places[key] for key in doubted)
        looks.append(NearPair(one=one, other=other, likeness=round(measure_by_words(texts[one], (texts[other],))[0], 4)))
        if len(looks) == MOST_SECOND_LOOKS:
            break
    return looks


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
    """Assign every text that nobody stated before to an idea; by new verdicts others may move."""
    review = state.review
    report = review.likenesses
    # Recorded with the result, so that a report can say which measure joined two texts.
    by = "" if not review.compared else report.by if report is not None else "words (fallback)"
    likenesses = (report or compare_by_words(build_comparison(state))) if review.compared else None
    judged = collect_judgements(review)
    best = _rank_pairs(review, likenesses, judged)
    declared = _collect_agreements(state)
    said = _collect_verdicts(state)
    groups = TextGroups(state.board.by_text, {**state.board.verdicts, **said})
    free = len(state.board.ideas) + 1
    placed: dict[str, PlacedIdea] = {}
    founded: dict[str, int] = {}
    for text in review.fresh:
        key = normalize_idea(text)
        # The author's own word comes first; a measure is only asked where the author says nothing.
        where = (
            _place_by_agreement(state, text, declared.get(key, ()), groups.where)
            or _place_by_judgement(groups, text)
            or _place_by_similarity(review, text, best.get(key, ()), founded)
        )
        idea = where.idea
        if not idea:
            # Only the founding text of an idea can attract others; see `_place_by_similarity`.
            idea = founded[key] = free
            free += 1
        groups.add(key, idea)
        placed[key] = where
    groups.regroup({key for pair in said for key in pair}, free)
    return IdeaSorting(by, _list_placed(state, groups, placed, judged), len(judged))


def _collect_verdicts(state: Swarm) -> dict[Pair, tuple[float, int]]:
    """Return the pairs that were judged in this round, with all verdicts on them. A denial in nearly the same words is none."""
    review, texts, known = state.review, _list_texts(state), state.board.verdicts
    denied = {(pair.one, pair.other) for pair in review.pairs if pair.opposed}
    verdicts = {}
    for (one, other), each in collect_judgements(review).items():
        pair = order_pair(normalize_idea(texts[one]), normalize_idea(texts[other]))
        weight, count = known.get(pair, (0.0, 0))
        verdicts[pair] = (weight + WEIGHTS["opposite" if (one, other) in denied else each.verdict], count + 1)
    return verdicts


def _place_by_judgement(groups: TextGroups, text: str) -> PlacedIdea | None:
    """Assign a text to the idea that most verdicts speak for."""
    totals = groups.weigh(normalize_idea(text))
    best = max(totals, key=lambda idea: (totals[idea], -idea), default=0)
    return PlacedIdea(text=text, idea=best, reason="judge") if best and totals[best] > 0 else None


def _list_placed(
    state: Swarm, groups: TextGroups, placed: Mapping[str, PlacedIdea], judged: Mapping[tuple[int, int], PairJudgement]
) -> tuple[PlacedIdea, ...]:
    """Return the assignments of new texts, then of those that moved; new ideas are numbered in this order without gaps."""
    board = state.board
    texts = {normalize_idea(text): text for text in _list_texts(state)}
    moved = {key: texts.get(key, key) for key, idea in board.by_text.items() if groups.where[key] != idea}
    numbers = {idea.number: idea.number for idea in board.ideas}
    names = {idea.number: idea.text for idea in board.ideas}
    listed = []
    for key, text in [*((key, each.text) for key, each in placed.items()), *moved.items()]:
        at = groups.where[key]
        if at not in numbers:
            numbers[at] = len(numbers) + 1
            names[at] = text
            listed.append(PlacedIdea(text=text, idea=numbers[at], reason="new"))
            continue
        before = placed.get(key)
        if before is None or before.idea != at or before.reason == "judge":
            before = _explain_judgement(state, groups, key, text, judged)
        listed.append(replace(before, idea=numbers[at], like=names[at]))
    return tuple(listed)


def _explain_judgement(
    state: Swarm, groups: TextGroups, key: str, text: str, judged: Mapping[tuple[int, int], PairJudgement]
) -> PlacedIdea:
    """Return a join with the reason that the judge gave for it in this round, if it gave one."""
    texts = [normalize_idea(each) for each in _list_texts(state)]
    for pair in state.review.pairs:
        said = judged.get((pair.one, pair.other))
        ends = (texts[pair.one], texts[pair.other])
        if said is not None and said.verdict == "same" and key in ends and groups.where[ends[0]] == groups.where[ends[1]]:
            return PlacedIdea(text=text, idea=0, reason="judge", likeness=pair.likeness, why=said.reason)
    return PlacedIdea(text=text, idea=0, reason="judge")


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


def find_named_idea(board: Board, places: Mapping[str, int], name: str, most: int | None = None) -> int:
    """Return the idea that an `agreesWith` names by a finding's id, an idea's id (up to `most`), or its text; 0 if none."""
    if name.startswith("finding-"):
        finding = board.finding(name)
        return finding.idea if finding is not None else 0
    if name.startswith("idea-"):
        return _find_numbered_idea(board, name, most)
    key = normalize_idea(name)
    return board.by_text.get(key, 0) or places.get(key, 0)


def _find_numbered_idea(board: Board, name: str, most: int | None = None) -> int:
    at = parse_idea_number(name)
    idea = board.idea(at) if most is None or at <= most else None
    # An idea that became part of another is found there.
    return board.by_text.get(normalize_idea(idea.text), at) if idea is not None else 0


def parse_idea_number(name: str) -> int:
    """Return the number in the id of an idea; 0 if there is none."""
    number = name.removeprefix("idea-")
    # `isdigit` accepts digits of other scripts, which `int` may reject or read differently; the length bounds the conversion.
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0


def _collect_separate_texts(state: Swarm) -> frozenset[str]:
    return frozenset(normalize_idea(text) for text in state.settings.apart)


def with_ideas(state: Swarm, placed: Collection[PlacedIdea]) -> Swarm:
    """Return the swarm with its texts assigned: findings know their ideas, ideas their backers, agents what they hold."""
    before = state.board
    new = list_new_findings(state)
    places = {normalize_idea(each.text): each.idea for each in placed}
    founded = [Idea(number=each.idea, text=each.text, round=state.round, since={}) for each in placed if each.reason == "new"]
    verdicts = _add_verdicts(state, placed)
    if places.keys() & before.by_text.keys():
        state = _with_moved_texts(state, placed, founded)
    board = state.board
    by_text = {**board.by_text, **places}
    ideas = {idea.number: (idea, dict(idea.since)) for idea in (*board.ideas, *founded[len(board.ideas) - len(before.ideas) :])}
    held: dict[SeatId, dict[int, None]] = {}
    known = []
    for finding in new:
        idea = by_text.get(normalize_idea(finding.core_idea), 0)
        also = tuple(
            number
            for name in finding.agrees_with
            if (number := find_named_idea(board, places, name, len(before.ideas))) and number != idea
        )
        known.append(replace(finding, idea=idea, also=tuple(dict.fromkeys(also))))
        # What the validator refuted backs nothing .
        is_refuted = normalize_idea(finding.core_idea) in board.refuted
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
    founding = {normalize_idea(ideas[number][0].text) for number in places.values()}
    joined = {**dict(board.joined), **{each.text: each.idea for each in placed if normalize_idea(each.text) not in founding}}
    board = fast_replace(
        board,
        findings=findings,
        ideas=listed,
        by_text=by_text,
        joined=tuple(joined.items())[-MOST_COMPARED:],
        verdicts=verdicts,
    )
    return fast_replace(state, agents=agents, board=board)


def _add_verdicts(state: Swarm, placed: Collection[PlacedIdea]) -> Mapping[Pair, tuple[float, int]]:
    """Return the verdicts on pairs with those of this round, the oldest left out; what an author says counts as one, too."""
    if state.judge is None:
        return state.board.verdicts
    agreed = (order_pair(normalize_idea(each.text), normalize_idea(each.like)) for each in placed if each.reason == "agreesWith")
    verdicts = {**state.board.verdicts, **_collect_verdicts(state), **dict.fromkeys(agreed, (AGREED, 1))}
    return dict([*verdicts.items()][-MOST_VERDICTS:]) if len(verdicts) > MOST_VERDICTS else verdicts


def _with_moved_texts(state: Swarm, placed: Collection[PlacedIdea], founded: Sequence[Idea]) -> Swarm:
    """Return the swarm after known texts moved: everything that follows from the idea of a text is derived again."""
    board = state.board
    places = {normalize_idea(each.text): each.idea for each in placed}
    by_text = {key: places.get(key, idea) for key, idea in board.by_text.items()}
    ideas = (*board.ideas, *founded)
    # What agreed with an idea goes where its founding text goes.
    now = {idea.number: by_text.get(normalize_idea(idea.text), idea.number) for idea in ideas}
    findings: list[Finding] = []
    first: dict[int, Finding] = {}
    since: dict[int, dict[SeatId, int]] = {idea.number: {} for idea in ideas}
    last: dict[SeatId, tuple[int, set[int]]] = {}
    for finding in board.findings:
        if not finding.idea:
            findings.append(finding)
            continue
        key = normalize_idea(finding.core_idea)
        own = by_text[key]
        also = tuple(dict.fromkeys(now[number] for number in finding.also if now[number] != own))
        findings.append(replace(finding, idea=own, also=also))
        first.setdefault(own, finding)
        if last.get(finding.seat, (0,))[0] != finding.round:
            last[finding.seat] = (finding.round, set())
        for number in (own, *also) if key not in board.refuted else ():
            last[finding.seat][1].add(number)
            since[number].setdefault(finding.seat, finding.round)
    fresh = [each for each in placed if normalize_idea(each.text) not in board.by_text]
    origins = {each.idea: (each.text, state.round) for each in reversed(fresh)}
    origins |= {number: (finding.core_idea, finding.round) for number, finding in first.items()}
    # An idea that lost all its texts keeps its name, by which others may call it.
    named = ((idea, *origins.get(idea.number, (idea.text, idea.round))) for idea in ideas)
    ideas = tuple(replace(idea, since=since[idea.number], text=text, round=number) for idea, text, number in named)
    founding = {normalize_idea(text) for text, _ in origins.values()}
    texts = dict.fromkeys((*(text for text, _ in board.joined), *(idea.text for idea in board.ideas)))
    joined = tuple((text, by_text[key]) for text in texts if (key := normalize_idea(text)) not in founding)
    agents = {
        seat: fast_replace(agent, holds=tuple(sorted(last[seat][1]))) if seat in last else agent
        for seat, agent in state.agents.items()
    }
    board = fast_replace(board, by_text=by_text, findings=tuple(findings), ideas=ideas, joined=joined)
    return fast_replace(state, agents=agents, board=board)


def list_silent_agents(state: Swarm) -> tuple[SeatId, ...]:
    """Return the active agents that nobody hears: the quorum does not count them."""
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
