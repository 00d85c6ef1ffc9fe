"""The whole run for people: every operation, event and figure. Grows with the run; each entry is told once.

What it tells does not depend on who answered first: where many answer at once, it waits for the fact that takes them together.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from moothall.domain.facts import Entry, InputGiven
from moothall.domain.ids import USER, SeatId, SessionId
from moothall.locale.catalogues import SWARM_REPORT, SwarmReportText
from moothall.protocols.swarm import facts
from moothall.protocols.swarm.answers import Operation, RoundReport
from moothall.protocols.swarm.json_fields import take_fields
from moothall.protocols.swarm.reports.events import describe_fact, list_events, translate_term
from moothall.protocols.swarm.rules.operations import list_operations, list_reports_in_turn
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall.protocols.swarm.state import Finding, Signal, Swarm
from moothall.reports.timeline import SessionPhase, TimelineBase, TimelineLine, format_time, mark_phases


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOperation:
    """One operation with what was asked for and what became of it."""

    round: int
    timestamp: str
    wanted: Operation
    result: facts.OperationResult


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaJoin:
    """A text that was taken for an idea that stood already."""

    number: int
    round: int
    by: str
    placed: facts.PlacedIdea

    @property
    def id(self) -> str:
        return f"join-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedReport:
    """A report as it was brought."""

    round: int
    seat: SeatId
    report: RoundReport


class SwarmTimeline(TimelineBase[Swarm]):
    """Every finding, operation, event and figure."""

    def __init__(self, session: SessionId) -> None:
        super().__init__(session, RULES)
        self.lines: list[TimelineLine] = []
        self.events: list[dict[str, Any]] = []
        self.operations: list[LoggedOperation] = []
        self.logged: dict[tuple[int, SeatId], list[LoggedOperation]] = {}
        self.reports: list[ReceivedReport] = []
        self.joins: list[IdeaJoin] = []
        self.placed: list[tuple[int, facts.PlacedIdea]] = []
        self.settlements: list[facts.RoundSettled] = []
        self.refuted: list[frozenset[str]] = []
        self.measures: list[facts.ConvergenceMeasured] = []
        self.signals: dict[str, Signal] = {}
        self.crews: list[Mapping[str, int]] = []
        self.completed: facts.SwarmCompleted | None = None
        self.round_entries: list[tuple[int, int]] = []

    @property
    def words(self) -> SwarmReportText:
        return SWARM_REPORT[self.state.opened.language]

    @property
    def is_sealed(self) -> bool:
        """Whether agents write what no other may read yet; what a cancelled run had sealed is not sealed any more."""
        return self.closed is None and self.state.is_sealed

    def begin(self, entry: Entry) -> None:
        self._add_line(entry, USER, self.state.opened.topic)

    def follow(self, before: Swarm, entry: Entry) -> None:
        fact, after = entry.fact, self.state
        if isinstance(fact, InputGiven):
            self._add_line(entry, USER, fact.text)
        for finding in after.board.findings[len(before.board.findings) :]:
            self._add_line(entry, finding.seat, finding.core_idea)
        # A fact that is not the next step changes nothing, and is not told.
        if before.stage != after.stage:
            self._add_events(list_events(before, fact))
            self._collect(entry, before)

    def _add_line(self, entry: Entry, speaker: SeatId, text: str) -> None:
        at, number = format_time(entry.at), len(self.lines) + 1
        self.lines.append(TimelineLine(id=number, seq=entry.seq, timestamp=at, speaker=speaker, content=text))

    def _add_events(self, events: Iterable[dict[str, Any]]) -> None:
        number = self.state.round
        self.events += [
            {"id": at, "type": event["type"], "round": number, **event} for at, event in enumerate(events, len(self.events) + 1)
        ]

    def _collect(self, entry: Entry, before: Swarm) -> None:
        """Collect what reports need of a step as a whole."""
        fact = entry.fact
        match fact:
            case facts.SwarmFormed():
                self._count_roles()
            case facts.RoundBegun():
                self.round_entries.append((self.seq, fact.round))
            case facts.BarrierPassed():
                answered = {seat: before.answered[seat] for seat in before.orders if seat in before.answered}
                self.reports += [ReceivedReport(round=fact.round, seat=seat, report=each) for seat, each in answered.items()]
            case facts.OperationsProcessed():
                self._log_operations(entry, before, fact)
            case facts.IdeasSorted():
                self._collect_joins(fact)
            case facts.RoundSettled():
                self.settlements.append(fact)
                self.refuted.append(self.state.board.refuted)
                self._count_roles()
            case facts.ConvergenceMeasured():
                self.measures.append(fact)
            case facts.SwarmCompleted():
                self.completed = fact
            case _:
                pass

    def list_phases(self) -> list[SessionPhase]:
        swarm, is_over = self.state, self.closed is not None or self.completed is not None
        most = swarm.round if is_over else swarm.settings.max_rounds
        names = [self.words.round.format(number=number) for number in range(1, most + 1)]
        return mark_phases(names, swarm.round - (not is_over))

    def list_silences(self) -> dict[SeatId, str]:
        agents = self.state.agents
        return {seat: translate_term(self.words, agent.status) for seat, agent in agents.items() if agent.status != "active"}

    def list_breaks(self) -> list[tuple[int, str]]:
        return [(seq, self.words.round.format(number=number)) for seq, number in self.round_entries]

    def _log_operations(self, entry: Entry, before: Swarm, fact: facts.OperationsProcessed) -> None:
        wanted = [operation for _, report in list_reports_in_turn(before) for operation in list_operations(report)]
        self.signals |= {signal.id: signal for signal in self.state.board.signals}
        for operation, result in zip(wanted, fact.results, strict=False):
            done = LoggedOperation(round=fact.round, timestamp=format_time(entry.at), wanted=operation, result=result)
            self.operations.append(done)
            self.logged.setdefault((fact.round, result.seat), []).append(done)

    def _collect_joins(self, fact: facts.IdeasSorted) -> None:
        self.placed += [(fact.round, placed) for placed in fact.placed]
        joined = (placed for placed in fact.placed if placed.reason != "new")
        numbered = enumerate(joined, len(self.joins) + 1)
        joins = [IdeaJoin(number=at, round=fact.round, by=fact.by, placed=placed) for at, placed in numbered]
        self.joins += joins
        fields = "join=id text=placed.text idea=placed.idea# reason=placed.reason likeness=placed.likeness"
        self._add_events({"type": "ideas_joined", **take_fields(join, fields)} for join in joins)

    def _count_roles(self) -> None:
        self.crews.append(Counter(agent.role for agent in self.state.agents.values()))

    def find_finding_line(self, finding: Finding) -> int:
        """The number of the timeline line of a finding."""
        numbers = [line.id for line in self.lines if line.speaker == finding.seat and line.content == finding.core_idea]
        return numbers[0] if numbers else 1


def add_and_describe_entry(timeline: SwarmTimeline, entry: Entry) -> list[str]:
    """Add one more entry, and describe it in plain lines."""
    timeline.add(entry)
    return describe_fact(timeline.words, entry.fact)
