"""Decides which findings express the same idea: equal text, explicit `agreesWith`, then the recorded verdict of a judge on the
nearest ideas (S-31), and where there is none that of a measure (S-8).

Without a judge a text is assigned to an idea once, when it is first stated. A judge errs, so its verdicts are kept, and what they
leave in doubt is put to it again in the next round: then texts move, and ideas that turn out to be one become one. Each move is
recorded as another assignment of the text. Everything else follows from where the texts stand and from the findings: what ideas
are called, who holds them, and who held them before reading them (S-28).
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from moothall.domain.effects import CompareTexts
from moothall.domain.ids import SeatId
from moothall.domain.replace import fast_replace
from moothall.protocols.swarm.answers import ComparedPair, PairJudgement, PairVerdict, SimilarityReport
from moothall.protocols.swarm.facts import IdeasSorted, PlacedIdea
from moothall.protocols.swarm.state import Board, Finding, Idea, NearPair, RoundReview, Swarm, parse_number
from moothall.scoring.likeness import JOIN_AT, find_similar_texts, is_against, measure_by_words, normalize_idea
from moothall.scoring.text_groups import Pair, TextGroups, order_pair

MAX_COMPARED: Final = 300
"""How many known ideas, the newest, a new text is compared with."""
NEAREST: Final = 3
"""How many of the nearest texts of each new one are put to the judge."""
PER_IDEA: Final = 2
"""How many of these may say one idea."""
MAX_JUDGED: Final = 60
"""How many pairs with new texts are put to the judge in one round, and how many second looks."""
MAX_SECOND_LOOKS: Final = 12
MAX_VERDICTS: Final = 4_000
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
        key = finding.key
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
    keys = ((idea.number, normalize_idea(idea.text)) for idea in state.board.ideas.values())
    # An idea whose texts all moved to another is none any more.
    return tuple(number for number, key in keys if key not in apart and by_text.get(key) == number)[-MAX_COMPARED:]


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
    similar = find_similar_texts(compared.known, compared.new, measure_by_words, compared.nearest)
    pairs = (ComparedPair(**pair._asdict()) for pair in similar)
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
        counts: dict[int, int] = {}
        chosen = []
        for other, value in sorted(others.items(), key=lambda each: (-each[1], each[0])):
            idea = ideas[other] if other < first else -other
            counts[idea] = counts.get(idea, 0) + 1
            if counts[idea] <= PER_IDEA:
                chosen.append(NearPair(one=one, other=other, likeness=value))
        ranked += list(enumerate(chosen[:NEAREST]))
    ranked.sort(key=lambda each: (each[0], -each[1].likeness, each[1].one, each[1].other))
    return sorted((pair for _, pair in ranked[:MAX_JUDGED]), key=lambda pair: (pair.one, -pair.likeness, pair.other))


def _list_second_looks(state: Swarm) -> list[NearPair]:
    """Return pairs of known texts whose places are in doubt."""
    texts = _list_texts(state)[: state.review.first_new]
    places = {normalize_idea(text): at for at, text in enumerate(texts)}
    looks = []
    for doubted in TextGroups(state.board.by_text, state.board.verdicts).list_doubts(places):
        other, one = sorted(places[key] for key in doubted)
        looks.append(NearPair(one=one, other=other, likeness=round(measure_by_words(texts[one], (texts[other],))[0], 4)))
        if len(looks) == MAX_SECOND_LOOKS:
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


def sort_ideas(state: Swarm) -> IdeasSorted:
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
    return IdeasSorted(
        round=state.round,
        by=by,
        placed=_list_placed(state, groups, placed, judged),
        judge=state.judge or "" if review.judgements is not None else "",
        judged=len(judged),
    )


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
    numbers = {number: number for number in board.ideas}
    names = {number: idea.text for number, idea in board.ideas.items()}
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
        listed.append(replace(before, idea=numbers[at], similar_to=names[at]))
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
    if normalize_idea(text) in _collect_separate_texts(state):
        return None
    idea = next((idea for name in names if (idea := find_named_idea(state.board, places, name))), 0)
    return PlacedIdea(text=text, idea=idea, reason="agreesWith") if idea else None


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
    board, new = state.board, list_new_findings(state)
    said = {finding.key for finding in new}
    agreements: dict[str, tuple[str, ...]] = {}
    for finding in new:
        # Agreeing with oneself would be a founding text that joins itself.
        others = (name for name in finding.agrees_with if normalize_idea(name) != finding.key)
        names = tuple(name for name in others if normalize_idea(name) in said or find_named_idea(board, board.by_text, name))
        if names:
            agreements.setdefault(finding.key, names)
    return agreements


def find_named_idea(board: Board, places: Mapping[str, int], name: str) -> int:
    """Return the idea that an `agreesWith` names by the id of a finding or of an idea, or by its text; 0 if there is none."""
    if name.startswith("finding-"):
        finding = board.finding(name)
        return finding.idea if finding is not None else 0
    if name.startswith("idea-"):
        idea = board.idea(parse_number(name, "idea-"))
        # An idea that became part of another is found there.
        return places.get(normalize_idea(idea.text), idea.number) if idea is not None else 0
    return places.get(normalize_idea(name), 0)


def _collect_separate_texts(state: Swarm) -> frozenset[str]:
    return frozenset(normalize_idea(text) for text in state.settings.apart)


def with_ideas(state: Swarm, placed: Collection[PlacedIdea]) -> Swarm:
    """Return the swarm with these texts assigned, and with all that follows from where texts stand."""
    before, new = state.board, list_new_findings(state)
    places = {normalize_idea(each.text): each.idea for each in placed}
    by_text = {**before.by_text, **places}
    known, ideas = before.findings[: len(before.findings) - len(new)], dict(before.ideas)
    founded = {each.idea: Idea(number=each.idea, text=each.text, round=state.round) for each in placed if each.reason == "new"}
    # Where no known text moved, what earlier findings back stays as it was: only the new ones are counted.
    is_moved = not places.keys().isdisjoint(before.by_text)
    if is_moved:
        known = _move_findings(known, {**ideas, **founded}, by_text)
        stated = (replace(each, idea=by_text.get(each.key, 0)) for each in new)
        ideas = _name_ideas({**ideas, **founded}, (*known, *stated))
        founded = {number: ideas.pop(number) for number in founded}
    # Agents name ideas that they have read, so none of this round.
    board = fast_replace(before, findings=(*known, *new), ideas=ideas, by_text=by_text)
    assigned = tuple(_assign_finding(board, finding) for finding in new)
    ideas, holds = _count_backers({**ideas, **founded}, (*known, *assigned) if is_moved else assigned, before.refuted)
    # Silence keeps the last opinion.
    agents = {seat: fast_replace(agent, holds=holds[seat]) if seat in holds else agent for seat, agent in state.agents.items()}
    board = fast_replace(
        board,
        findings=(*known, *assigned),
        ideas=ideas,
        joined=_list_joined_texts(before, ideas, by_text, placed),
        verdicts=_add_verdicts(state, placed),
    )
    return fast_replace(state, agents=agents, board=board)


def _move_findings(findings: Sequence[Finding], ideas: Mapping[int, Idea], by_text: Mapping[str, int]) -> tuple[Finding, ...]:
    # What agreed with an idea goes where its founding text goes.
    now = {number: by_text.get(normalize_idea(idea.text), number) for number, idea in ideas.items()}
    return tuple(_with_idea(each, by_text.get(each.key, 0), (now[number] for number in each.also)) for each in findings)


def _assign_finding(board: Board, finding: Finding) -> Finding:
    named = (find_named_idea(board, board.by_text, name) for name in finding.agrees_with)
    return _with_idea(finding, board.by_text.get(finding.key, 0), named)


def _with_idea(finding: Finding, idea: int, named: Iterable[int]) -> Finding:
    return replace(finding, idea=idea, also=tuple(dict.fromkeys(number for number in named if number and number != idea)))


def _name_ideas(ideas: Mapping[int, Idea], findings: Iterable[Finding]) -> dict[int, Idea]:
    """Name each idea by the first finding that says it; one that lost all its texts keeps its name."""
    first: dict[int, Finding] = {}
    for finding in findings:
        first.setdefault(finding.idea, finding)
    return {
        number: replace(idea, since={}, text=first[number].core_idea, round=first[number].round)
        if number in first
        else replace(idea, since={})
        for number, idea in ideas.items()
    }


def _count_backers(
    ideas: Mapping[int, Idea], findings: Iterable[Finding], refuted: Collection[str]
) -> tuple[dict[int, Idea], dict[SeatId, tuple[int, ...]]]:
    """Return the ideas with those who back them by these findings, and what each author holds by its last report among them."""
    since = {number: dict(idea.since) for number, idea in ideas.items()}
    last: dict[SeatId, tuple[int, set[int]]] = {}
    for finding in findings:
        if finding.seat not in last or last[finding.seat][0] != finding.round:
            last[finding.seat] = (finding.round, set())
        # What the validator refuted backs nothing.
        for number in (finding.idea, *finding.also) if finding.key not in refuted else ():
            if number in since:
                # `setdefault` keeps the first round: who held an idea since its founding round counts as independent.
                since[number].setdefault(finding.seat, finding.round)
                last[finding.seat][1].add(number)
    backed = {
        number: replace(idea, since=since[number]) if since[number] != idea.since else idea for number, idea in ideas.items()
    }
    return backed, {seat: tuple(sorted(numbers)) for seat, (_, numbers) in last.items()}


def _list_joined_texts(
    before: Board, ideas: Mapping[int, Idea], by_text: Mapping[str, int], placed: Collection[PlacedIdea]
) -> tuple[tuple[str, int], ...]:
    """Return the texts that founded no idea, as written, with their ideas: the newest."""
    founding = {normalize_idea(idea.text) for number, idea in ideas.items() if by_text.get(normalize_idea(idea.text)) == number}
    texts = (
        *(text for text, _ in before.joined),
        *(idea.text for idea in before.ideas.values()),
        *(each.text for each in placed),
    )
    keys = ((text, normalize_idea(text)) for text in dict.fromkeys(texts))
    return tuple((text, by_text[key]) for text, key in keys if key not in founding)[-MAX_COMPARED:]


def _add_verdicts(state: Swarm, placed: Collection[PlacedIdea]) -> Mapping[Pair, tuple[float, int]]:
    """Return the verdicts on pairs with those of this round, the oldest left out; what an author says counts as one, too."""
    if state.judge is None:
        return state.board.verdicts
    agreed = (
        order_pair(normalize_idea(each.text), normalize_idea(each.similar_to)) for each in placed if each.reason == "agreesWith"
    )
    verdicts = {**state.board.verdicts, **_collect_verdicts(state), **dict.fromkeys(agreed, (AGREED, 1))}
    return dict([*verdicts.items()][-MAX_VERDICTS:]) if len(verdicts) > MAX_VERDICTS else verdicts
