"""The whole run for people: every operation, event and figure. Grows with the run; each entry is described once.

One table says what each recorded fact adds to the blackboard's events; how an event reads, as it happens and in the report, is
said by the words for its type. What is described does not depend on who answered first: where many answer at once, it waits for
the fact that takes them together.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from moothall.domain.context import extract_first_sentence
from moothall.domain.facts import Entry, Fact, InputGiven
from moothall.domain.ids import USER, SeatId, SessionId
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late, one_line
from moothall.locale.catalogues import LANGUAGE, SWARM_REPORT, SwarmReportText
from moothall.protocols.swarm import facts
from moothall.protocols.swarm.answers import Operation, RoundReport
from moothall.protocols.swarm.json_fields import take_fields
from moothall.protocols.swarm.rules.operations import list_operations, list_reports_in_turn
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall.protocols.swarm.state import Finding, Signal, Swarm
from moothall.reports.timeline import (
    SessionPhase,
    TimelineBase,
    TimelineLine,
    build_line,
    format_time,
    mark_phases,
)
from moothall.reports.wording import describe_shared_event, format_percent

_CHANGE: Final = "direction before after"
_ROLE: Final = "agentId=seat fromRole=old toRole=new reason probability drawn"
_LATIN_WORDS: Final = compile_late(r"[A-Za-z]{3,}[^\u3400-\u9fff]*$")


def translate_term(words: SwarmReportText, term: str) -> str:
    """A role, a state, an event or an operation; what is none stays as it is."""
    for catalogue in (words.terms, words.verdicts, words.consensus_types):
        if term in catalogue:
            return catalogue[term]
    return term


def translate_phrase(words: SwarmReportText, term: str) -> str:
    """A term in a sentence."""
    return translate_term(words, term).replace("_", " ")


def translate_detail(words: SwarmReportText, detail: str) -> str:
    """What exactly was wrong: recorded in English, and left out of a report for others unless it is a name."""
    is_hidden = LANGUAGE[words.language].english_details == "hidden"
    if is_hidden and " " in detail and _LATIN_WORDS.search(detail):
        return ""
    return detail


@dataclass(frozen=True, slots=True)
class EventRow:
    """What a fact adds to the events, and how it reads."""

    list_events: Callable[[Swarm, Any], Iterable[dict[str, Any]]] = lambda before, fact: ()
    """The events of the fact in their order, by the state before it: each with its `type` and its fields."""
    list_lines: Callable[[SwarmReportText, Any], Iterable[str]] = lambda words, fact: ()
    """What is said of it as it happens, before its events."""
    is_quiet: bool = False
    """Whether its events are not said one by one: a table has them."""


def _take(kind: str, parts: Iterable[object], names: str, **given: Any) -> Iterator[dict[str, Any]]:
    """Yield one event for each part, with its named fields."""
    for part in parts:
        yield {"type": kind, **take_fields(part, names, **given), **given}


def _list_orders(_: Swarm, fact: facts.RoundBegun) -> Iterator[dict[str, Any]]:
    yield {"type": "round_start", "agents": [order.seat for order in fact.orders]}
    for order in fact.orders:
        given = {
            "force_wake": order.wake,
            "force_random_explore": order.random,
            "must_switch_direction": order.must_switch,
        }
        for kind, is_given in given.items():
            if is_given:
                yield {"type": kind, "agentId": order.seat}


def _list_barrier(before: Swarm, fact: facts.BarrierPassed) -> Iterator[dict[str, Any]]:
    for seat in before.orders:
        for reason in before.lost.get(seat, ()):
            yield {"type": "response_lost", "agentId": seat, "reason": reason}
    if fact.is_degraded:
        yield {"type": "round_degraded", "lost": list(fact.lost), "of": len(before.orders)}
    yield from _take("violation", fact.violations, "agentId=seat violation severity detail")
    for change in fact.changes:
        yield from _take(f"agent_{change.new}", [change], "agentId=seat was=old reason")


def _list_operations(_: Swarm, fact: facts.OperationsProcessed) -> Iterator[dict[str, Any]]:
    names = {"deposit_pheromone": "pheromone_deposited", "send_stop_signal": "pheromone_stopped"}
    for each in fact.results:
        if not each.success:
            yield from _take("operation_refused", [each], "agentId=seat operation error detail")
        elif each.before is not None and each.after is not None:
            fields = "direction=target before after agentId=seat"
            yield from _take(names[each.operation], [each], fields, operation=f"op-{each.number}")


def _list_ideas(before: Swarm, fact: facts.IdeasSorted) -> Iterator[dict[str, Any]]:
    review = before.review
    for invitation in review.invitations:
        said = review.collisions.get(invitation.seat)
        yield from _take(
            "collision",
            [invitation],
            "agentId=seat mode",
            action=said.action if said is not None else None,
        )
    if fact.by.endswith("(fallback)"):
        yield {"type": "measure_lost", "by": fact.by}
    # Every pair that a judge took for one idea or for two sides of a question, with its reason.
    for pair in review.judged:
        if pair.verdict != "different":
            yield {
                "type": f"ideas_judged_{pair.verdict}",
                "text": pair.other,
                "other": pair.one,
                "reason": pair.reason,
                "agentId": fact.judge,
            }


def _list_settlement(_: Swarm, fact: facts.RoundSettled) -> Iterator[dict[str, Any]]:
    yield from _take("pheromone_evaporated", fact.evaporated, _CHANGE)
    for signal in fact.expired:
        yield {"type": "stop_signal_expired", "signal": signal}
    yield from _take("role_transition_executed", fact.roles, _ROLE)
    for seat in fact.refused:
        yield {"type": "role_request_refused", "agentId": seat}


def _list_measurement(_: Swarm, fact: facts.ConvergenceMeasured) -> Iterator[dict[str, Any]]:
    yield from _take("convergence_checked", [fact], "converged reason")
    for name in fact.warnings:
        yield from _take(name, [fact], "diversity consensusRate")
    if fact.cut is not None:
        yield from _take("pheromone_protected", [fact.cut], _CHANGE)
    if fact.debater is not None:
        yield from _take("role_transition_executed", [fact.debater], _ROLE)


def _list_ends(_: Swarm, fact: facts.AgentsTerminated) -> Iterator[dict[str, Any]]:
    for seat, reason in fact.ends.items():
        kind = "agent_force_terminated"
        if reason == "graceful":
            kind = "agent_terminated"
        yield {"type": kind, "agentId": seat, "reason": reason}


def _describe_report(_: SwarmReportText, fact: facts.Reported) -> list[str]:
    return [f"{fact.seat}: {one_line(each.core_idea)}" for each in fact.said.findings] or [
        f"  {fact.seat}: –"
    ]


def _describe_collision(words: SwarmReportText, fact: facts.Collided) -> list[str]:
    said = fact.said
    if said.action == "pass":
        return []
    what = f"{translate_term(words, said.action)} {one_line(said.target_finding_id)}".rstrip()
    return [f"  ↯ {fact.seat} {what}: {one_line(said.content)[:160]}"]


def _describe_measurement(words: SwarmReportText, fact: facts.ConvergenceMeasured) -> list[str]:
    stable = "✓" if fact.stable else "✗"
    return [
        f"  = {words.stability} {stable} · {words.quorum} {format_percent(fact.consensus_rate)} · "
        f"{words.diversity} {fact.diversity:.2f} · {words.convergence_reasons[fact.reason]}"
    ]


def _describe_ends(words: SwarmReportText, fact: facts.AgentsTerminated) -> list[str]:
    counts = Counter(fact.ends.values()).items()
    ends = [f"{translate_term(words, reason)} × {count}" for reason, count in counts]
    return [f"  ■ {', '.join(ends)}"]


_EVENTS: Final[Mapping[type[Fact], EventRow]] = {
    facts.SwarmFormed: EventRow(
        lambda _, fact: _take("pheromone_deposited", fact.deposited, _CHANGE, agentId=str(USER))
    ),
    facts.RoundBegun: EventRow(
        _list_orders,
        lambda words, fact: [
            f"── {words.round.format(number=fact.round)} · {words.crew.format(count=len(fact.orders))}"
        ],
    ),
    facts.Reported: EventRow(list_lines=_describe_report),
    facts.BarrierPassed: EventRow(_list_barrier),
    facts.OperationsProcessed: EventRow(_list_operations),
    facts.Collided: EventRow(list_lines=_describe_collision),
    facts.IdeasSorted: EventRow(_list_ideas),
    facts.TwinsPooled: EventRow(_list_ideas),
    facts.RoundSettled: EventRow(_list_settlement),
    facts.ConvergenceMeasured: EventRow(_list_measurement, _describe_measurement),
    facts.Synthesized: EventRow(
        list_lines=lambda words, fact: [
            f"  ✎ {words.synthesis}, {fact.seat}: {extract_first_sentence(fact.said.content)}"
        ]
    ),
    facts.SwarmCompleted: EventRow(
        lambda _, fact: _take("swarm_completed", [fact], "reason converged agents=synced")
    ),
    facts.ShutdownNoticed: EventRow(lambda _, fact: _take("shutdown_imminent", [fact], "awaited")),
    facts.ShutdownAnswered: EventRow(
        lambda _, fact: _take("shutdown_request", [fact], "acknowledged")
    ),
    facts.AgentsTerminated: EventRow(_list_ends, _describe_ends, is_quiet=True),
    facts.SwarmClosed: EventRow(
        lambda _, fact: _take("fault", [fact] if fact.reason == "fault" else (), "detail=fault")
    ),
}


def _format_event(event: Mapping[str, object], words: SwarmReportText) -> str:
    """What a reader needs to know of; empty for any other event."""
    text = words.events.get(str(event["type"]), "")
    fields = {name: _format_value(value, words) for name, value in event.items()}
    for name in ("detail", "reason"):
        if name in fields:
            fields[name] = translate_detail(words, fields[name])
    return one_line(text.format_map(fields))


def _format_value(value: object, words: SwarmReportText) -> str:
    if isinstance(value, bool):
        return translate_term(words, str(value).lower())
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list):
        return ", ".join(str(each) for each in value)
    return translate_term(words, str(value))


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
    """A report as it was brought, with each operation and what became of it at `timestamp`."""

    round: int
    seat: SeatId
    report: RoundReport
    timestamp: str
    operations: tuple[tuple[Operation, facts.OperationResult], ...]


class SwarmTimeline(TimelineBase[Swarm]):
    """Every finding, operation, event and figure."""

    seals_losses = True

    def __init__(self, session: SessionId) -> None:
        super().__init__(session, RULES)
        self.lines: list[TimelineLine] = []
        self.events: list[dict[str, Any]] = []
        self.event_lines: list[tuple[int, str]] = []
        self.reports: list[ReceivedReport] = []
        self.joins: list[IdeaJoin] = []
        self.sorted: list[facts.IdeasSorted] = []
        self.settlements: list[facts.RoundSettled] = []
        self.refuted: list[frozenset[str]] = []
        self.measures: list[facts.ConvergenceMeasured] = []
        self.signals: dict[str, Signal] = {}
        self.crews: list[Mapping[str, int]] = []
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
            self._add_events([{"type": "user_input", "text": fact.text}])
        for finding in after.board.findings[len(before.board.findings) :]:
            self._add_line(entry, finding.seat, finding.core_idea)
        # A fact that is not the next step changes nothing, and is not told.
        if before.stage != after.stage:
            row = _EVENTS.get(type(fact), EventRow())
            self._add_events(row.list_events(before, fact), is_quiet=row.is_quiet)
            self._collect(entry, before)

    def _add_line(self, entry: Entry, speaker: SeatId, text: str) -> None:
        self.lines.append(build_line(TimelineLine, entry, len(self.lines) + 1, speaker, text))

    def _add_events(self, events: Iterable[dict[str, Any]], *, is_quiet: bool = False) -> None:
        number = self.state.round
        for event in events:
            self.events.append(
                {"id": len(self.events) + 1, "type": event["type"], "round": number, **event}
            )
            line = "" if is_quiet else _format_event(event, self.words)
            if line:
                self.event_lines.append((number, line))

    def _collect(self, entry: Entry, before: Swarm) -> None:
        """Collect what reports need of a step as a whole."""
        fact = entry.fact
        match fact:
            case facts.SwarmFormed():
                self._count_roles()
            case facts.RoundBegun():
                self.round_entries.append((self.seq, fact.round))
            case facts.OperationsProcessed():
                self._collect_reports(entry, before, fact)
            case facts.IdeasSorted():
                self._collect_joins(fact)
            case facts.RoundSettled():
                self.settlements.append(fact)
                self.refuted.append(self.state.board.refuted)
                self._count_roles()
            case facts.ConvergenceMeasured():
                self.measures.append(fact)
            case _:
                pass

    def list_phases(self) -> list[SessionPhase]:
        swarm, is_over = self.state, self.closed is not None or self.state.completed is not None
        most = swarm.round if is_over else swarm.settings.max_rounds
        names = [self.words.round.format(number=number) for number in range(1, most + 1)]
        return mark_phases(names, swarm.round - (not is_over))

    def list_silences(self) -> dict[SeatId, str]:
        agents = self.state.agents
        silences: dict[SeatId, str] = {}
        for seat, agent in agents.items():
            if agent.status != "active":
                silences[seat] = translate_term(self.words, agent.status)
        return silences

    def list_breaks(self) -> list[tuple[int, str]]:
        return [(seq, self.words.round.format(number=number)) for seq, number in self.round_entries]

    def _collect_reports(
        self, entry: Entry, before: Swarm, fact: facts.OperationsProcessed
    ) -> None:
        self.signals |= {signal.id: signal for signal in self.state.board.signals}
        results, timestamp = iter(fact.results), format_time(entry.at)
        received = {
            seat: ReceivedReport(
                round=fact.round,
                seat=seat,
                report=report,
                timestamp=timestamp,
                operations=tuple(zip(list_operations(report), results, strict=False)),
            )
            for seat, report in list_reports_in_turn(before)
        }
        self.reports += [received[seat] for seat in before.explorers if seat in received]

    def _collect_joins(self, fact: facts.IdeasSorted) -> None:
        self.sorted.append(fact)
        joined = (placed for placed in fact.placed if placed.reason != "new")
        numbered = enumerate(joined, len(self.joins) + 1)
        joins = [
            IdeaJoin(number=at, round=fact.round, by=fact.by, placed=placed)
            for at, placed in numbered
        ]
        self.joins += joins
        fields = "join=id text=placed.text idea=placed.idea# reason=placed.reason likeness=placed.likeness"
        self._add_events({"type": "ideas_joined", **take_fields(join, fields)} for join in joins)

    def _count_roles(self) -> None:
        self.crews.append(Counter(agent.role for agent in self.state.agents.values()))

    def find_finding_line(self, finding: Finding) -> int:
        for line in self.lines:
            if line.speaker == finding.seat and line.content == finding.core_idea:
                return line.id
        return 1


def add_and_describe_entry(timeline: SwarmTimeline, entry: Entry) -> list[str]:
    """Add one more entry, and describe it in plain lines."""
    known = len(timeline.event_lines)
    timeline.add(entry)
    row = _EVENTS.get(type(entry.fact))
    if row is None:
        shared = describe_shared_event(timeline.words, entry.fact)
        if not shared:
            return []
        return [f"  {shared}"]
    lines = list(row.list_lines(timeline.words, entry.fact))
    for _, line in timeline.event_lines[known:]:
        lines.append(f"  {line}")
    return lines
