"""The figures recalculated from the record with some joins undone: what would have been measured had two ideas stayed apart."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from moothall.domain.ids import SeatId
from moothall.errors import BadSetting
from moothall.protocols.swarm.facts import ConvergenceMeasured, PlacedIdea, RoundSettled
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.protocols.swarm.rules.convergence import build_bounds
from moothall.protocols.swarm.rules.ideas import parse_idea_number
from moothall.protocols.swarm.state import Finding
from moothall.scoring.convergence import ConvergenceVerdict, compute_share, find_quorum_ideas, judge_convergence
from moothall.scoring.likeness import normalize_idea
from moothall.scoring.stigmergy import Diversity, compute_diversity


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedIdea:
    """An idea with its backers at the end of a round; `independent` held it before they could read it."""

    number: int
    text: str
    backers: tuple[SeatId, ...]
    independent: tuple[SeatId, ...]
    joined: tuple[SeatId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfRound:
    """The figures of one round, recalculated."""

    round: int
    ideas: frozenset[int]
    backed: tuple[BackedIdea, ...]
    quorum: tuple[int, ...]
    active: int
    diversity: Diversity
    verdict: ConvergenceVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfResult:
    """All rounds, and the texts, holders and findings of all ideas, with these joins undone."""

    undone: tuple[str, ...]
    rounds: tuple[WhatIfRound, ...]
    texts: dict[int, str]
    owners: dict[int, tuple[SeatId, ...]]
    findings: dict[int, tuple[Finding, ...]]


def compute_what_if(timeline: SwarmTimeline, apart: Collection[str] = ()) -> WhatIfResult:
    """The figures with the joins `apart` undone; raises BadSetting for a join that there is not."""
    known = {join.id: join for join in timeline.joins}
    for name in apart:
        if name not in known:
            raise BadSetting(f"there is no join {name!r}; known: {', '.join(known) or 'none'}")
    texts = {idea.number: idea.text for idea in timeline.state.board.ideas}
    separate: dict[str, int] = {}
    for name in sorted(set(apart), key=lambda name: known[name].number):
        number = len(texts) + 1
        texts[number] = known[name].placed.text
        separate[normalize_idea(known[name].placed.text)] = number
    tally = _Tally(timeline, separate)
    rounds = tuple(tally.count(settled.round, measured, texts) for settled, measured in _pair_rounds(timeline))
    return WhatIfResult(
        undone=tuple(sorted(set(apart))), rounds=rounds, texts=texts, owners=tally.owners(), findings=tally.group_findings()
    )


def _pair_rounds(timeline: SwarmTimeline) -> Iterator[tuple[RoundSettled, ConvergenceMeasured]]:
    return zip(timeline.settlements, timeline.measures, strict=False)


class _Tally:
    """Who holds what, round by round, with some texts standing apart."""

    def __init__(self, timeline: SwarmTimeline, separate: dict[str, int]) -> None:
        self._swarm = timeline.state
        self._separate = separate
        self._active = {settled.round: [each.seat for each in settled.opinions] for settled in timeline.settlements}
        self._refuted = {settled.round: texts for settled, texts in zip(timeline.settlements, timeline.refuted, strict=True)}
        self._findings: dict[int, list[Finding]] = {}
        for finding in self._swarm.board.findings:
            self._findings.setdefault(finding.round, []).append(finding)
        self._placed: dict[int, list[PlacedIdea]] = {}
        for number, each in timeline.placed:
            self._placed.setdefault(number, []).append(each)
        # Where each text stands after the rounds so far, what each idea is called, and what findings agree with.
        self._where: dict[str, int] = {}
        self._texts: dict[int, str] = {}
        self._also: dict[int, list[tuple[str, int, bool]]] = {}
        self._history: list[frozenset[int]] = []
        self._leading: list[frozenset[int]] = []
        self._clear()

    def _clear(self) -> None:
        self._born: dict[int, int] = {}
        self._since: dict[tuple[int, SeatId], int] = {}
        self._holds: dict[SeatId, set[int]] = {}
        self._distinct: set[int] = set()
        self._stated = 0

    def count(self, number: int, measured: ConvergenceMeasured, texts: Mapping[int, str]) -> WhatIfRound:
        """The figures of the next round."""
        self._place_texts(number)
        self._add_findings(number, self._refuted[number])
        active = self._active[number]
        backed = self._build_backed_ideas(active, texts)
        # The quorum does not count who was silent.
        voices = [seat for seat in active if seat not in measured.silent]
        heard = self._build_backed_ideas(voices, texts)
        self._history.append(frozenset(each.number for each in backed))
        limits, is_strict = build_bounds(self._swarm), self._swarm.settings.quorum == "independent"
        counts = {each.number: each.independent if is_strict else each.backers for each in heard}
        spread = compute_diversity(
            perspectives=measured.perspectives,
            distinct=len(self._distinct),
            stated=self._stated,
            concentrations=measured.concentrations,
        )
        reached = find_quorum_ideas(counts, len(voices), limits.quorum)
        self._leading.append(frozenset(reached))
        verdict = judge_convergence(
            round_number=number,
            history=self._leading if self._swarm.settings.stability == "leading" else self._history,
            has_quorum=bool(reached),
            consensus_rate=max((compute_share(len(seats), len(voices)) for seats in counts.values()), default=0.0),
            diversity=spread.overall,
            bounds=limits,
        )
        return WhatIfRound(
            round=number,
            ideas=self._history[-1],
            backed=backed,
            quorum=reached,
            active=len(voices),
            diversity=spread,
            verdict=verdict,
        )

    def owners(self) -> dict[int, tuple[SeatId, ...]]:
        """Who ever held each idea."""
        found: dict[int, list[SeatId]] = {}
        for idea, seat in self._since:
            found.setdefault(idea, []).append(seat)
        return {idea: tuple(seats) for idea, seats in found.items()}

    def group_findings(self) -> dict[int, tuple[Finding, ...]]:
        """The findings that say each idea; one that only agrees with it is none of them."""
        found: dict[int, list[Finding]] = {}
        for finding in self._swarm.board.findings:
            found.setdefault(self._find_own_idea(finding), []).append(finding)
        return {idea: tuple(findings) for idea, findings in found.items()}

    def _find_own_idea(self, finding: Finding) -> int:
        key = normalize_idea(finding.core_idea)
        return self._separate.get(key, self._where.get(key, finding.idea))

    def _place_texts(self, number: int) -> None:
        """Place the texts of a round as it was recorded; where known ones moved, count all earlier rounds again."""
        placed = {normalize_idea(each.text): each for each in self._placed.get(number, ())}
        known_texts = frozenset(self._where)
        is_moved = not known_texts.isdisjoint(placed)
        known = len(self._texts)
        self._where |= {key: each.idea for key, each in placed.items()}
        self._texts |= {each.idea: each.text for each in placed.values() if each.reason == "new"}
        earlier = [each for before in range(1, number) for each in self._findings.get(before, ())]
        if is_moved:
            now = {idea: self._where[normalize_idea(text)] for idea, text in self._texts.items()}
            homes = {each.number: self._where[normalize_idea(each.core_idea)] for each in earlier}
            self._also = {
                at: [(key, now[idea], is_own or now[idea] == homes[at]) for key, idea, is_own in also]
                for at, also in self._also.items()
            }
            self._texts |= {each.idea: each.text for key, each in reversed(placed.items()) if key not in known_texts}
            self._texts |= {self._where[normalize_idea(each.core_idea)]: each.core_idea for each in reversed(earlier)}
        for finding in self._findings.get(number, ()):
            named = (self._find_named_idea(name, number, known) for name in finding.agrees_with)
            own = self._where.get(normalize_idea(finding.core_idea), 0)
            self._also[finding.number] = [(key, idea, idea == own) for key, idea in named if idea]
        if is_moved:
            self._clear()
            for before in range(1, number):
                self._add_findings(before, self._refuted[number])

    def _find_named_idea(self, name: str, number: int, known: int) -> tuple[str, int]:
        """Return the text that an `agreesWith` names, and its idea; 0 if there was none in that round."""
        if name.startswith("finding-"):
            other = self._swarm.board.finding(name)
            key = normalize_idea(other.core_idea) if other is not None and other.round < number else ""
        elif name.startswith("idea-"):
            at = parse_idea_number(name)
            return "", self._where[normalize_idea(self._texts[at])] if 1 <= at <= known else 0
        else:
            key = normalize_idea(name)
        return key, self._where.get(key, 0)

    def _add_findings(self, number: int, refuted: Collection[str]) -> None:
        fresh: dict[SeatId, set[int]] = {}
        for finding in self._findings.get(number, ()):
            own, *also = self._list_ideas(finding)
            self._stated += 1
            self._distinct.add(own)
            self._born.setdefault(own, number)
            held = fresh.setdefault(finding.seat, set())
            # What the validator refuted is stated, but backs nothing.
            if normalize_idea(finding.core_idea) in refuted:
                continue
            held.update((own, *also))
            for idea in (own, *also):
                self._since.setdefault((idea, finding.seat), number)
        self._holds |= fresh

    def _list_ideas(self, finding: Finding) -> tuple[int, ...]:
        """What a finding says, and what else it backs: what it agrees with stays where its words point."""
        own = self._find_own_idea(finding)
        # Agreeing with its own idea says nothing more, unless that join is undone.
        is_apart = normalize_idea(finding.core_idea) in self._separate
        named = self._also[finding.number]
        also = (self._separate.get(key, idea) for key, idea, is_own in named if is_apart or key in self._separate or not is_own)
        return (own, *(idea for idea in dict.fromkeys(also) if idea != own))

    def _build_backed_ideas(self, active: Sequence[SeatId], texts: Mapping[int, str]) -> tuple[BackedIdea, ...]:
        backers: dict[int, list[SeatId]] = {}
        for seat in active:
            for idea in sorted(self._holds.get(seat, ())):
                backers.setdefault(idea, []).append(seat)
        return tuple(
            BackedIdea(
                number=idea,
                text=texts.get(idea, ""),
                backers=tuple(seats),
                independent=tuple(seat for seat in seats if self._since[idea, seat] == self._born.get(idea)),
                joined=tuple(seat for seat in seats if self._since[idea, seat] != self._born.get(idea)),
            )
            for idea, seats in sorted(backers.items())
        )
