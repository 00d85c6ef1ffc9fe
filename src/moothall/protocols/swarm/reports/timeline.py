"""The whole run for people: every operation, event and figure. Grows with the run; each entry is told once.

What it tells does not depend on who answered first: where many answer at once, it waits for the fact that takes them together.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from moothall.domain.facts import Entry, InputGiven
from moothall.domain.ids import USER, SeatId, SessionId
from moothall.locale.catalogues import SWARM_REPORT, SwarmReportText
from moothall.protocols.swarm import facts
from moothall.protocols.swarm.answers import Operation, RoundReport
from moothall.protocols.swarm.json_fields import take_fields
from moothall.protocols.swarm.reports.terms import translate_term
from moothall.protocols.swarm.rules.ideas import list_judgements
from moothall.protocols.swarm.rules.operations import list_operations, rotate_seats
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall.protocols.swarm.state import Finding, Signal, Swarm
from moothall.reports.timeline import SessionPhase, TimelineBase, TimelineLine, format_time, mark_phases

_CHANGE: Final = "direction before after"
_ROLE: Final = "agentId=seat fromRole=old toRole=new reason probability drawn"


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
        if before.stage != after.stage:
            self._record_entry(entry, before, after)

    def _add_line(self, entry: Entry, speaker: SeatId, text: str) -> None:
        at, number = format_time(entry.at), len(self.lines) + 1
        self.lines.append(TimelineLine(id=number, seq=entry.seq, timestamp=at, speaker=speaker, content=text))

    def _add_event(self, kind: str, number: int, about: object = None, names: str = "", **given: Any) -> None:
        """Add an event with the named fields of what it is about, and what is given besides."""
        fields = {**take_fields(about, names, **given), **given}
        self.events.append({"id": len(self.events) + 1, "type": kind, "round": number, **fields})

    def _record_entry(self, entry: Entry, before: Swarm, after: Swarm) -> None:
        fact, number = entry.fact, after.round
        match fact:
            case facts.SwarmFormed():
                for each in after.board.pheromones.values():
                    fields = "direction before after=concentration agentId"
                    self._add_event("pheromone_deposited", 0, each, fields, before=0.0, agentId=str(USER))
                self._count_roles(after)
            case facts.RoundBegun():
                self._record_orders(fact)
            case facts.BarrierPassed():
                self._record_barrier(before, fact)
            case facts.OperationsProcessed():
                self._record_operations(entry, before, after, fact)
            case facts.IdeasSorted():
                self._record_ideas(before, fact)
            case facts.RoundSettled():
                self._record_settlement(after, fact)
            case facts.ConvergenceMeasured():
                self._record_measurement(fact)
            case facts.SwarmCompleted():
                self.completed = fact
                self._add_event("swarm_completed", number, fact, "reason converged agents=synced")
            case facts.ShutdownNoticed():
                self._add_event("shutdown_imminent", number, fact, "awaited")
            case facts.ShutdownAnswered():
                self._add_event("shutdown_request", number, fact, "acknowledged")
            case facts.AgentsTerminated():
                for end in fact.ends:
                    kind = "agent_terminated" if end.reason == "graceful" else "agent_force_terminated"
                    self._add_event(kind, number, end, "agentId=seat reason")
            case facts.SwarmClosed(reason="fault"):
                self._add_event("fault", number, fact, "detail=fault")
            case _:
                pass

    def list_phases(self) -> list[SessionPhase]:
        swarm, is_over = self.state, self.closed is not None or self.completed is not None
        most = swarm.round if is_over or swarm.settings.mode == "classic" else swarm.settings.max_rounds
        names = [self.words.round.format(number=number) for number in range(1, most + 1)]
        return mark_phases(names, swarm.round - (not is_over))

    def list_silences(self) -> dict[SeatId, str]:
        agents = self.state.agents
        return {seat: translate_term(self.words, agent.status) for seat, agent in agents.items() if agent.status != "active"}

    def list_breaks(self) -> list[tuple[int, str]]:
        return [(seq, self.words.round.format(number=number)) for seq, number in self.round_entries]

    def _record_orders(self, fact: facts.RoundBegun) -> None:
        self.round_entries.append((self.seq, fact.round))
        self._add_event("round_start", fact.round, agents=[order.seat for order in fact.orders])
        for order in fact.orders:
            given = {"force_wake": order.wake, "force_random_explore": order.random, "must_switch_direction": order.must_switch}
            for kind in (kind for kind, is_given in given.items() if is_given):
                self._add_event(kind, fact.round, agentId=order.seat)

    def _record_barrier(self, before: Swarm, fact: facts.BarrierPassed) -> None:
        for seat in before.orders:
            for reason in before.lost.get(seat, ()):
                self._add_event("response_lost", fact.round, agentId=seat, reason=reason)
            if seat in before.answered:
                self.reports.append(ReceivedReport(round=fact.round, seat=seat, report=before.answered[seat]))
        if fact.is_degraded:
            self._add_event("round_degraded", fact.round, lost=list(fact.lost), of=len(before.orders))
        for each in fact.violations:
            self._add_event("violation", fact.round, each, "agentId=seat violation severity detail")
        for change in fact.changes:
            self._add_event(f"agent_{change.new}", fact.round, change, "agentId=seat was=old reason")

    def _record_operations(self, entry: Entry, before: Swarm, after: Swarm, fact: facts.OperationsProcessed) -> None:
        wanted = [
            operation
            for seat in rotate_seats(before.explorers, before.round)
            if seat in before.answered
            for operation in list_operations(before.answered[seat])
        ]
        self.signals |= {signal.id: signal for signal in after.board.signals}
        names = {"deposit_pheromone": "pheromone_deposited", "send_stop_signal": "pheromone_stopped"}
        for operation, result in zip(wanted, fact.results, strict=False):
            done = LoggedOperation(round=fact.round, timestamp=format_time(entry.at), wanted=operation, result=result)
            self.operations.append(done)
            self.logged.setdefault((fact.round, result.seat), []).append(done)
            if result.before is not None and result.after is not None:
                fields = "direction=target before after agentId=seat"
                self._add_event(names[result.operation], fact.round, result, fields, operation=f"op-{result.number}")

    def _record_ideas(self, before: Swarm, fact: facts.IdeasSorted) -> None:
        review = before.review
        for invitation in review.invitations:
            said = review.collisions.get(invitation.seat)
            action = said.action if said is not None else None
            self._add_event("collision", fact.round, invitation, "agentId=seat mode", action=action)
        if fact.by.endswith("(fallback)"):
            self._add_event("measure_lost", fact.round, by=fact.by)
        if fact.judge:
            self._record_judgements(before, fact)
        for placed in fact.placed:
            self.placed.append((fact.round, placed))
            if placed.reason != "new":
                join = IdeaJoin(number=len(self.joins) + 1, round=fact.round, by=fact.by, placed=placed)
                self.joins.append(join)
                fields = "join=id text=placed.text idea=placed.idea# reason=placed.reason likeness=placed.likeness"
                self._add_event("ideas_joined", fact.round, join, fields)

    def _record_judgements(self, before: Swarm, fact: facts.IdeasSorted) -> None:
        """Every pair that a judge took for one idea or for two sides of a question, with its reason."""
        texts = before.review.texts
        for pair, said in list_judgements(before.review):
            if said.verdict != "different":
                about = {"text": texts[pair.one], "other": texts[pair.other], "reason": said.reason, "agentId": fact.judge}
                self._add_event(f"ideas_judged_{said.verdict}", fact.round, **about)

    def _record_settlement(self, after: Swarm, fact: facts.RoundSettled) -> None:
        self.settlements.append(fact)
        self.refuted.append(after.board.refuted)
        for change in fact.evaporated:
            self._add_event("pheromone_evaporated", fact.round, change, _CHANGE)
        for signal in fact.expired:
            self._add_event("stop_signal_expired", fact.round, signal=signal)
        for role in fact.roles:
            self._add_event("role_transition_executed", fact.round, role, _ROLE)
        for seat in fact.refused:
            self._add_event("role_request_refused", fact.round, agentId=seat)
        self._count_roles(after)

    def _record_measurement(self, fact: facts.ConvergenceMeasured) -> None:
        self.measures.append(fact)
        self._add_event("convergence_checked", fact.round, fact, "converged reason")
        for name in fact.warnings:
            self._add_event(name, fact.round, fact, "diversity consensusRate")
        if fact.cut is not None:
            self._add_event("pheromone_protected", fact.round, fact.cut, _CHANGE)
        if fact.debater is not None:
            self._add_event("role_transition_executed", fact.round, fact.debater, _ROLE)

    def _count_roles(self, swarm: Swarm) -> None:
        self.crews.append(Counter(agent.role for agent in swarm.agents.values()))

    def find_finding_line(self, finding: Finding) -> int:
        """The number of the timeline line of a finding."""
        numbers = [line.id for line in self.lines if line.speaker == finding.seat and line.content == finding.core_idea]
        return numbers[0] if numbers else 1
