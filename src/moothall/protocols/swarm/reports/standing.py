"""Where the swarm stands: every idea by support, what speaks for it, what speaks against it (S-33)."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from moothall.domain.ids import SeatId
from moothall.protocols.swarm.facts import IdeaResolution
from moothall.protocols.swarm.json_fields import take_fields
from moothall.protocols.swarm.reports.citations import check_citations
from moothall.protocols.swarm.reports.timeline import SwarmTimeline, find_choice, list_carried_ideas, list_votes
from moothall.protocols.swarm.reports.what_if import WhatIfResult, compute_what_if
from moothall.protocols.swarm.rules.operations import direction_key
from moothall.protocols.swarm.state import Finding
from moothall.scoring.convergence import compute_share
from moothall.scoring.likeness import normalize_idea

_CONFIDENCES: Final = {"high": 0, "medium": 1, None: 2, "low": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """What somebody says to an idea: a review, a vote, a check of a finding, a stop signal. `kind` says which and to what end."""

    seat: SeatId
    kind: str
    text: str
    about: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaStanding:
    """An idea with all that the record has on it.

    `backers` held it at the end of the last round, the `independent` among them before they could read it; `active` is how
    many they could have been. `findings` are its evidence, the best first; what an agent says again is in it once. `pheromone`
    is the strongest concentration of the directions in which it was found; `result` is what the vote made of it.
    """

    number: int
    text: str
    backers: tuple[SeatId, ...] = ()
    independent: tuple[SeatId, ...] = ()
    active: int = 0
    findings: tuple[Finding, ...] = ()
    reviews: tuple[Remark, ...] = ()
    pheromone: float | None = None
    result: IdeaResolution | None = None

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


def rank_ideas(timeline: SwarmTimeline, found: WhatIfResult) -> tuple[IdeaStanding, ...]:
    """All ideas, the one with most support first; equal ones by independent support, then by their number."""
    last = found.rounds[-1] if found.rounds else None
    backed = {each.idea: each for each in last.backing} if last is not None else {}
    said: dict[int, list[Finding]] = {}
    for finding in found.board.findings:
        said.setdefault(finding.idea, []).append(finding)
    results = {each.idea: each for each in timeline.completed.resolved} if timeline.completed is not None else {}
    ideas = []
    for number, idea in found.board.ideas.items():
        held, findings = backed.get(number), said.get(number, ())
        if not findings:
            # All that was said moved to another idea.
            continue
        ideas.append(
            IdeaStanding(
                number=number,
                text=idea.text,
                backers=held.backers if held is not None else (),
                independent=held.independent if held is not None else (),
                active=last.voices if last is not None else 0,
                findings=_select_evidence(findings),
                reviews=_list_reviews(findings),
                pheromone=_find_strongest_pheromone(timeline, findings),
                result=results.get(number),
            )
        )
    return tuple(sorted(ideas, key=lambda idea: (-len(idea.backers), -len(idea.independent), idea.number)))


def find_leading_idea(timeline: SwarmTimeline, ideas: Sequence[IdeaStanding]) -> IdeaStanding | None:
    """The idea that the swarm stands for: what the readings chose, else what the vote carried, else the one with most support."""
    choice = find_choice(timeline)
    carried = choice.idea if choice is not None else next((each.idea for each in list_carried_ideas(timeline)), 0)
    chosen = next((idea for idea in ideas if idea.number == carried), None)
    # What lost its backers to the validator is still what was said: its page says so, and what speaks against it.
    return chosen or next((idea for idea in ideas if idea.backers), None) or next(iter(ideas), None)


def list_objections(timeline: SwarmTimeline, idea: IdeaStanding) -> list[Remark]:
    """Everything on the record against an idea: votes, challenges, checks that refute it, signals against its directions."""
    found = [
        Remark(seat=seat, kind=vote.position, text=vote.reason)
        for seat, vote in list_votes(timeline, idea.number)
        if vote.position in {"oppose", "conditional_support"}
    ]
    found += [each for each in idea.reviews if each.kind == "challenge"]
    found += [
        Remark(seat=each.seat, kind="refuted", text=each.checked, about=each.id)
        for each in idea.findings
        if each.verdict == "refuted"
    ]
    ways = {direction_key(each.direction) for each in idea.findings if each.direction}
    found += [
        Remark(seat=signal.sender, kind=signal.reason, text=signal.evidence, about=signal.id)
        for signal in timeline.signals.values()
        if signal.target in ways
    ]
    return found


def build_standing_json(timeline: SwarmTimeline, apart: Iterable[str] = (), most: int | None = None) -> dict[str, Any]:
    """Where the swarm stands as plain JSON: the leading idea, what speaks against it, the `most` first ideas, the synthesis."""
    found, swarm = compute_what_if(timeline, tuple(apart)), timeline.state
    ideas = rank_ideas(timeline, found)
    leading = find_leading_idea(timeline, ideas)
    checked = check_citations(swarm.synthesis, swarm.board.findings, timeline.words)
    return {
        "question": swarm.opened.topic,
        "converged": found.rounds[-1].converged if found.rounds else False,
        "notConvergedBecause": (found.rounds[-1].reason or None) if found.rounds else "min_rounds",
        "leading": None if leading is None else _build_idea_json(leading),
        "against": [] if leading is None else [_build_remark_json(each) for each in list_objections(timeline, leading)],
        "ideas": [_build_idea_json(idea) for idea in ideas[:most]],
        "ideaCount": len(ideas),
        "synthesis": None
        if not swarm.synthesis
        else {**take_fields(checked, "text cites=cited unknown refuted"), "author": swarm.author},
    }


def _select_evidence(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """What each agent has to say for an idea, once; confirmed findings and sure ones first."""
    best: dict[tuple[SeatId, str], Finding] = {}
    for each in findings:
        key = (each.seat, normalize_idea(each.details or each.core_idea))
        if key not in best or (best[key].verdict is None and each.verdict is not None):
            best[key] = each
    ranked = sorted(
        best.values(),
        key=lambda each: (each.verdict != "confirmed", _CONFIDENCES[each.confidence], not each.details, each.number),
    )
    # Every agent has its say before any has a second one.
    turns: Counter[SeatId] = Counter()
    order = {}
    for each in ranked:
        order[each.number] = turns[each.seat]
        turns[each.seat] += 1
    return tuple(sorted(ranked, key=lambda each: order[each.number]))


def _list_reviews(findings: Sequence[Finding]) -> tuple[Remark, ...]:
    return tuple(
        Remark(seat=review.seat, kind=review.action, text=review.content, about=finding.id)
        for finding in findings
        for review in finding.reviews
        if review.content
    )


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


def _build_remark_json(remark: Remark) -> dict[str, Any]:
    return {**take_fields(remark, "agentId=seat kind text"), "about": remark.about or None}
