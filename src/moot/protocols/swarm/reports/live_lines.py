"""A swarm in plain lines as it happens, and its decision in short."""

from moot.domain.facts import BudgetExhausted, Entry, Reply, SeatLost
from moot.domain.safe_text import one_line, strip_control
from moot.protocols.swarm.facts import (
    AgentsTerminated,
    BarrierPassed,
    Collided,
    ConvergenceMeasured,
    IdeasSorted,
    OperationsProcessed,
    Reported,
    RoundBegun,
    RoundSettled,
    SwarmClosed,
)
from moot.protocols.swarm.reports.report import format_verdict
from moot.protocols.swarm.reports.timeline import SwarmTimeline, build_decision
from moot.protocols.swarm.reports.what_if import compute_what_if
from moot.reports.costs import format_money
from moot.reports.summary import SummaryLine, format_percent


def add_and_describe_entry(timeline: SwarmTimeline, entry: Entry) -> list[str]:
    """Tell one more entry, in plain lines."""
    timeline.add(entry)
    words, fact = timeline.words, entry.fact
    match fact:
        case RoundBegun(round=number, orders=orders):
            return [f"── {words.round.format(number=number)} · {words.crew.format(count=len(orders))}"]
        case Reported(seat=seat, said=report):
            lines = [f"{seat}: {one_line(each.core_idea)}" for each in report.findings]
            return lines or [f"  {seat}: –"]
        case Collided(seat=seat, said=said):
            if said.action == "pass":
                return []
            what = f"{said.action} {one_line(said.target_finding_id)}".rstrip()
            return [f"  ↯ {seat} {what}: {one_line(said.content)[:160]}"]
        case BarrierPassed():
            return [
                *(f"  ✗ {each.seat}: {each.violation} ({each.severity})" for each in fact.violations),
                *(f"  ✗ {each.seat}: {each.old} → {each.new} ({each.reason})" for each in fact.changes),
            ]
        case OperationsProcessed():
            return _describe_operations(fact)
        case IdeasSorted():
            return [
                f"  ≈ {one_line(each.text)} = {one_line(each.like)} ({each.reason}"
                + (f" {each.likeness:.2f})" if each.likeness is not None else ")")
                for each in fact.placed
                if each.reason != "new"
            ]
        case RoundSettled():
            return [f"  ⇄ {role.seat}: {role.old} → {role.new} ({role.reason})" for role in fact.roles]
        case ConvergenceMeasured():
            return _describe_measurement(timeline, fact)
        case _:
            return _describe_other(timeline, entry)


def _describe_operations(fact: OperationsProcessed) -> list[str]:
    lines = [
        f"  · {each.operation} {each.seat} {one_line(each.target)} {each.before:.2f} → {each.after:.2f}"
        for each in fact.results
        if each.before is not None and each.after is not None
    ]
    lines += [f"  ✗ {each.operation} {each.seat}: {each.error}, {each.detail}" for each in fact.results if not each.success]
    return lines


def _describe_measurement(timeline: SwarmTimeline, fact: ConvergenceMeasured) -> list[str]:
    words = timeline.words
    stable = "✓" if fact.stable else "✗"
    line = (
        f"  = {words.stability} {stable} · {words.quorum} {format_percent(fact.consensus_rate)} · "
        f"{words.diversity} {fact.diversity:.2f} · {words.convergence_reasons[fact.reason]}"
    )
    return [line, *(f"  ! {name}" for name in fact.warnings)]


def _describe_other(timeline: SwarmTimeline, entry: Entry) -> list[str]:
    words, fact = timeline.words, entry.fact
    match fact:
        case SeatLost(seat=seat, reason=reason, detail=detail):
            return [f"  ✗ {seat}: {words.losses[reason]}" + (f" ({one_line(detail)})" if detail else "")]
        case BudgetExhausted(spent=spent):
            return [f"  ■ {spent}"]
        case AgentsTerminated(ends=ends):
            counts: dict[str, int] = {}
            for each in ends:
                counts[each.reason] = counts.get(each.reason, 0) + 1
            return ["  ■ " + ", ".join(f"{reason} × {count}" for reason, count in counts.items())]
        case SwarmClosed(reason=reason, fault=fault):
            return [f"  ■ {words.endings[reason]}" + (f": {fault}" if fault else "")]
        case Reply():
            return []
        case _:
            return []


def build_summary(timeline: SwarmTimeline) -> list[SummaryLine]:
    """The conclusion in short."""
    words, decision, found = timeline.words, build_decision(timeline), compute_what_if(timeline)
    if decision.status != "concluded":
        return [SummaryLine(words.still_open if decision.status == "thinking" else words.cancelled, "strong")]
    spent = decision.spent
    first = strip_control(decision.decision.text) if decision.decision is not None else _describe_no_result(timeline)
    lines = [SummaryLine(first, "strong"), SummaryLine(""), SummaryLine(format_verdict(timeline, found))]
    if decision.consensus_type is not None:
        support = (
            f"{decision.consensus_type}, {format_percent(decision.support)}, {decision.heads}/{len(timeline.state.explorers)}"
        )
        lines.append(SummaryLine(f"{words.votes}: {support}"))
    last = found.rounds[-1] if found.rounds else None
    for number in last.quorum if last is not None else ():
        backed = next(each for each in last.backed if each.number == number) if last is not None else None
        if backed is not None:
            own, joined = ", ".join(backed.independent) or "–", ", ".join(backed.joined) or "–"
            lines.append(SummaryLine(words.who_line.format(idea=one_line(backed.text), own=own, joined=joined)))
    lines += [SummaryLine(f"{words.dissent}: {voice.seat}: {one_line(voice.text)}") for voice in decision.dissent]
    lines += [
        SummaryLine(f"{words.lost}: {lost.seat} × {lost.times} ({words.losses[lost.last]})", "bad") for lost in decision.lost
    ]
    lines.append(SummaryLine(f"{words.spent.format(calls=spent.calls, tokens=spent.tokens)} · {format_money(spent)}", "dim"))
    return lines


def _describe_no_result(timeline: SwarmTimeline) -> str:
    words = timeline.words
    if not timeline.state.consensus:
        return words.no_consensus
    return words.not_carried if timeline.state.ballots else words.no_vote
