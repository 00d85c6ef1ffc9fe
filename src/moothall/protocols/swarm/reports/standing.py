"""Where the swarm stands: every idea by support, what speaks for it, what speaks against it (S-33).

Some joins can be undone: then the recorded rounds are played again by the rules themselves, and only the texts of these joins are
placed elsewhere.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from moothall.domain.dictionaries import group_pairs
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass, fast_replace
from moothall.errors import BadSetting
from moothall.locale.catalogues import SwarmReportText
from moothall.protocols.swarm.facts import (
    ConvergenceMeasured,
    EvidenceChoice,
    IdeaResolution,
    PlacedIdea,
    TwinsPooled,
)
from moothall.protocols.swarm.json_fields import take_fields
from moothall.protocols.swarm.reports.decision import (
    check_citations,
    find_outcome,
    list_votes,
)
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.protocols.swarm.rules.endings import compute_figures
from moothall.protocols.swarm.rules.evidence import AnswerIndex, direction_key
from moothall.protocols.swarm.rules.review import with_ideas
from moothall.protocols.swarm.state import Board, Finding, RoundReview, Swarm
from moothall.scoring.likeness import normalize_idea
from moothall.scoring.stigmergy import compute_share

_CONFIDENCES: Final = {"high": 0, "medium": 1, None: 2, "low": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What an agent says to an idea: a review, a vote, a check of a finding, a stop signal. `kind` says which and to what end."""

    seat: SeatId
    kind: str
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaStanding:
    """An idea with all that the record has on it."""

    number: int
    name: str
    text: str
    owners: tuple[SeatId, ...] = ()
    """All who ever held it."""
    backers: tuple[SeatId, ...] = ()
    """Those who held it at the end of the last round."""
    independent: tuple[SeatId, ...] = ()
    """Those among the backers who held it before they could read it."""
    active: int = 0
    """How many backers there could be."""
    findings: tuple[Finding, ...] = ()
    """Its evidence, the best first; what an agent says again is in it once."""
    reviews: tuple[Remark, ...] = ()
    pheromone: float | None = None
    """The strongest concentration of the directions in which it was reported."""
    result: IdeaResolution | None = None
    """What the vote made of it."""

    @property
    def share(self) -> float:
        return compute_share(len(self.backers), self.active)

    @property
    def id(self) -> str:
        return f"idea-{self.number}"

    @property
    def reasons(self) -> tuple[Finding, ...]:
        """The findings that say why, without those that the validator refuted."""
        return tuple(each for each in self.findings if each.verdict != "refuted")


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfResult:
    """What a run came to, with some joins undone."""

    undone: tuple[str, ...] = ()
    """The ids of the undone joins."""
    rounds: tuple[ConvergenceMeasured, ...]
    """The figures of every measured round, without the protection that followed."""
    board: Board
    """The findings and the ideas after the last of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmStanding:
    """Where a run stands, with some joins undone: what all reports show."""

    timeline: SwarmTimeline
    what_if: WhatIfResult
    ideas: tuple[IdeaStanding, ...]
    """All ideas, the one with most support first."""
    leading: IdeaStanding | None
    """The idea that the swarm stands for."""

    @property
    def words(self) -> SwarmReportText:
        return self.timeline.words

    @property
    def swarm(self) -> Swarm:
        return self.timeline.state

    @property
    def last(self) -> ConvergenceMeasured | None:
        if not self.what_if.rounds:
            return None
        return self.what_if.rounds[-1]

    @property
    def quorum_ideas(self) -> list[IdeaStanding]:
        if self.last is None:
            return []
        numbers = self.last.quorum_ideas
        return [idea for idea in self.ideas if idea.number in numbers]


def build_standing(timeline: SwarmTimeline, apart: Collection[str] = ()) -> SwarmStanding:
    """Return where a run stands with the joins `apart` undone. Raises BadSetting when there is no such join."""
    what_if = compute_what_if(timeline, apart)
    ideas = _rank_ideas(timeline, what_if)
    return SwarmStanding(
        timeline=timeline, what_if=what_if, ideas=ideas, leading=_find_leading_idea(timeline, ideas)
    )


def compute_what_if(timeline: SwarmTimeline, apart: Collection[str] = ()) -> WhatIfResult:
    """Return the figures with the joins `apart` undone. Raises BadSetting when there is no such join."""
    known = {join.id: join.placed.text for join in timeline.joins}
    for name in apart:
        if name not in known:
            raise BadSetting(f"there is no join {name!r}; known: {', '.join(known) or 'none'}")
    if not apart:
        return WhatIfResult(rounds=tuple(timeline.measures), board=timeline.state.board)
    texts = dict.fromkeys(normalize_idea(text) for name, text in known.items() if name in apart)
    # After all ideas of the run, whose numbers votes and agents refer to.
    numbers = {
        text: number for number, text in enumerate(texts, len(timeline.state.board.ideas) + 1)
    }
    return replace(replay_rounds(timeline, numbers), undone=tuple(sorted(set(apart))))


def replay_rounds(timeline: SwarmTimeline, apart: Mapping[str, int]) -> WhatIfResult:
    """Play the measured rounds again with these normalized texts in ideas of their own, given by their numbers."""
    swarm = timeline.state
    agents = {seat: fast_replace(agent, holds=()) for seat, agent in swarm.agents.items()}
    state = fast_replace(
        swarm, agents=agents, board=Board(), review=RoundReview(), history=(), leading=()
    )
    rounds = []
    measures = zip(
        timeline.sorted, timeline.settlements, timeline.refuted, timeline.measures, strict=False
    )
    for placed, settled, refuted, measured in measures:
        new = (
            replace(each, idea=0, also=())
            for each in swarm.board.findings
            if each.round == settled.round
        )
        board = fast_replace(state.board, findings=(*state.board.findings, *new), refuted=refuted)
        state = fast_replace(state, round=settled.round, board=board)
        state = with_ideas(state, list(_place_apart(placed.placed, apart, board)))
        held = frozenset(number for seat in settled.opinions for number in state.agents[seat].holds)
        state = fast_replace(state, history=(*state.history, held))
        voices = [seat for seat in settled.opinions if seat not in measured.silent]
        figures = compute_figures(state, voices, measured.perspectives, measured.concentrations)
        rounds.append(replace(figures, active=measured.active, silent=measured.silent))
        state = fast_replace(state, leading=(*state.leading, frozenset(figures.quorum_ideas)))
    for pooled in timeline.sorted:
        if isinstance(pooled, TwinsPooled):
            state = with_ideas(state, list(_place_apart(pooled.placed, apart, state.board)))
    return WhatIfResult(rounds=tuple(rounds), board=state.board)


def _place_apart(
    placed: Collection[PlacedIdea], apart: Mapping[str, int], board: Board
) -> Iterator[PlacedIdea]:
    """Yield the recorded assignments; a text that stands apart founds an idea of its own and stays there."""
    for each in placed:
        key = normalize_idea(each.text)
        # An idea that such a text founded is still there for the texts that joined it.
        if key not in apart or each.reason == "new":
            yield each
        if key in apart:
            yield replace(each, idea=apart[key], reason="judge" if key in board.by_text else "new")


def _rank_ideas(timeline: SwarmTimeline, what_if: WhatIfResult) -> tuple[IdeaStanding, ...]:
    """All ideas, the one with most support first; equal ones by independent support, then by their number."""
    last = what_if.rounds[-1] if what_if.rounds else None
    backed = {each.idea: each for each in last.backing} if last is not None else {}
    completed = timeline.state.completed
    results = {each.idea: each for each in completed.resolved} if completed is not None else {}
    findings = group_pairs((finding.idea, finding) for finding in what_if.board.findings)
    ideas: list[IdeaStanding] = []
    for number, idea in what_if.board.ideas.items():
        # Without findings all that was said moved to another idea.
        if number not in findings:
            continue
        standing = IdeaStanding(
            number=number,
            name=timeline.words.idea_name.format(number=number),
            text=idea.text,
            owners=tuple(idea.since),
            backers=(),
            independent=(),
            active=last.voices if last is not None else 0,
            findings=_select_evidence(findings[number]),
            reviews=_list_reviews(findings[number]),
            pheromone=_find_strongest_pheromone(timeline, findings[number]),
            result=results.get(number),
        )
        if number in backed:
            backing = backed[number]
            standing = replace(standing, backers=backing.backers, independent=backing.independent)
        ideas.append(standing)
    ideas.sort(key=lambda idea: (-len(idea.backers), -len(idea.independent), idea.number))
    return tuple(ideas)


def _find_leading_idea(
    timeline: SwarmTimeline, ideas: Sequence[IdeaStanding]
) -> IdeaStanding | None:
    """What the readings chose, else what the vote carried, else what the readings lean to, else the idea with most support."""
    outcome, completed = find_outcome(timeline), timeline.state.completed
    number = next(iter(outcome.ideas), 0)
    if not number and completed is not None and completed.choice is not None:
        number = completed.choice.idea
    for idea in ideas:
        if idea.number == number:
            return idea
    if outcome.option:
        # What was found for the option that was decided on.
        index = AnswerIndex(timeline.state)
        for idea in ideas:
            if any(index.find_answer(each) in outcome.numbers for each in idea.reasons):
                return idea
    for idea in ideas:
        if idea.backers:
            return idea
    # What lost its backers to the validator is still what was said: its page says so, and what speaks against it.
    return next(iter(ideas), None)


def list_objections(standing: SwarmStanding) -> list[Remark]:
    """Everything on the record against the leading idea: votes, challenges, checks that refute it, signals against its ways."""
    timeline, idea = standing.timeline, standing.leading
    if idea is None:
        return []
    objections: list[Remark] = []
    for seat, vote in list_votes(timeline, idea.number):
        if vote.position in {"oppose", "conditional_support"}:
            objections.append(Remark(seat=seat, kind=vote.position, text=vote.words))
    objections += [each for each in idea.reviews if each.kind == "challenge"]
    for each in idea.findings:
        if each.verdict == "refuted":
            objections.append(
                Remark(seat=each.seat, kind="refuted", text=each.checked, about=each.id)
            )
    # Its own directions are those in which it was stated first: what backs it may be filed under a rival's, too.
    stated = {
        direction_key(each.direction): each.idea
        for each in reversed(standing.what_if.board.findings)
    }
    for signal in timeline.signals.values():
        if stated.get(signal.target) == idea.number:
            objections.append(
                Remark(
                    seat=signal.sender, kind=signal.reason, text=signal.evidence, about=signal.id
                )
            )
    return objections


def build_standing_json(
    timeline: SwarmTimeline, apart: Iterable[str] = (), most: int | None = None
) -> dict[str, Any]:
    """Where the swarm stands as plain JSON: the leading idea, what speaks against it, the `most` first ideas, the synthesis."""
    standing, swarm = build_standing(timeline, tuple(apart)), timeline.state
    last, leading, done = standing.last, standing.leading, timeline.state.completed
    checked = check_citations(swarm.synthesis, swarm.board.findings, timeline.words)
    evidence = synthesis = None
    if done is not None and done.choice is not None:
        evidence = build_choice_json(done.choice)
    if swarm.synthesis:
        synthesis = take_fields(checked, "text cites=cited unknown refuted")
        synthesis["author"] = swarm.author
    return {
        "question": swarm.opened.topic,
        "converged": last is not None and last.converged,
        "notConvergedBecause": (last.reason or None) if last is not None else "min_rounds",
        "leading": None if leading is None else _build_idea_json(leading),
        "evidence": evidence,
        "against": [_build_remark_json(each) for each in list_objections(standing)],
        "ideas": [_build_idea_json(idea) for idea in standing.ideas[:most]],
        "ideaCount": len(standing.ideas),
        "synthesis": synthesis,
    }


def _select_evidence(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """What each agent has to say for an idea, once; confirmed findings and sure ones first."""
    best: dict[tuple[SeatId, str], Finding] = {}
    for each in findings:
        key = (each.seat, normalize_idea(each.details or each.core_idea))
        if key not in best or (best[key].verdict is None and each.verdict is not None):
            best[key] = each
    ranked = sorted(best.values(), key=_rank_evidence)
    # Every agent has its say before any has a second one.
    turns: Counter[SeatId] = Counter()
    order = {}
    for each in ranked:
        order[each.number] = turns[each.seat]
        turns[each.seat] += 1
    return tuple(sorted(ranked, key=lambda each: order[each.number]))


def _rank_evidence(finding: Finding) -> tuple[bool, int, bool, int]:
    is_confirmed = finding.verdict == "confirmed"
    has_details = bool(finding.details)
    return not is_confirmed, _CONFIDENCES[finding.confidence], not has_details, finding.number


def _list_reviews(findings: Sequence[Finding]) -> tuple[Remark, ...]:
    remarks: list[Remark] = []
    for finding in findings:
        for review in finding.reviews:
            if review.content:
                remarks.append(
                    Remark(
                        seat=review.seat, kind=review.action, text=review.content, about=finding.id
                    )
                )
    return tuple(remarks)


def _find_strongest_pheromone(timeline: SwarmTimeline, findings: Sequence[Finding]) -> float | None:
    pheromones = timeline.state.board.pheromones
    ways = {direction_key(each.direction) for each in findings if each.direction}
    return max((pheromones[way].concentration for way in ways if way in pheromones), default=None)


def _build_idea_json(idea: IdeaStanding) -> dict[str, Any]:
    evidence = "finding=id agentId=seat coreIdea details confidence verdict"
    return {
        **take_fields(idea, "id text backers independent share pheromone"),
        "vote": None if idea.result is None else take_fields(idea.result, "carried support"),
        "evidence": [take_fields(each, evidence) for each in idea.findings],
        "reviews": [_build_remark_json(each) for each in idea.reviews],
    }


def build_choice_json(choice: EvidenceChoice) -> dict[str, Any]:
    """What decided: the ranking of the answers with its figures, and what it would take to change it (S-35)."""
    ranked = [take_fields(each, "answer value readings readers") for each in choice.ranked]
    names = "answer idea# method margin z sureness isDistinct readingsToChange=needed decisiveAgents=decisive ranked"
    return take_fields(choice, names, ranked=ranked)


def _build_remark_json(remark: Remark) -> dict[str, Any]:
    return {**take_fields(remark, "agentId=seat kind text"), "about": remark.about or None}
