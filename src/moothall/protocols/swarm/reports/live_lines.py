"""A swarm in plain lines: as it happens, and its events afterwards."""

from collections import Counter
from collections.abc import Mapping

from moothall.domain.context import extract_first_sentence
from moothall.domain.facts import Entry
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import SwarmReportText
from moothall.protocols.swarm import facts
from moothall.protocols.swarm.reports.terms import translate_detail, translate_term
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.reports.figures import format_percent
from moothall.reports.wording import describe_shared_event


def add_and_describe_entry(timeline: SwarmTimeline, entry: Entry) -> list[str]:
    """Add one more entry, and describe it in plain lines."""
    timeline.add(entry)
    words, fact = timeline.words, entry.fact
    match fact:
        case facts.RoundBegun(round=number, orders=orders):
            return [f"── {words.round.format(number=number)} · {words.crew.format(count=len(orders))}"]
        case facts.Reported(seat=seat, said=report):
            lines = [f"{seat}: {one_line(each.core_idea)}" for each in report.findings]
            return lines or [f"  {seat}: –"]
        case facts.Collided(seat=seat, said=said):
            if said.action == "pass":
                return []
            what = f"{translate_term(words, said.action)} {one_line(said.target_finding_id)}".rstrip()
            return [f"  ↯ {seat} {what}: {one_line(said.content)[:160]}"]
        case facts.BarrierPassed():
            broken = [
                f"  ✗ {each.seat}: {translate_term(words, each.violation)} ({translate_term(words, each.severity)})"
                for each in fact.violations
            ]
            return broken + [_describe_change("✗", each, words) for each in fact.changes]
        case facts.OperationsProcessed():
            return _describe_operations(fact, words)
        case facts.IdeasSorted():
            return [
                f"  ≈ {one_line(each.text)} = {one_line(each.similar_to)} ({translate_term(words, each.reason)}"
                + (f" {each.likeness:.2f})" if each.likeness is not None else ")")
                for each in fact.placed
                if each.reason != "new"
            ]
        case facts.RoundSettled():
            return [_describe_change("⇄", each, words) for each in fact.roles]
        case facts.ConvergenceMeasured():
            return _describe_measurement(timeline, fact)
        case facts.AgentsTerminated(ends=ends):
            counts = Counter(each.reason for each in ends)
            return ["  ■ " + ", ".join(f"{translate_term(words, reason)} × {count}" for reason, count in counts.items())]
        case facts.SwarmClosed(reason=reason, fault=fault):
            return [
                f"  ■ {words.endings[reason]}" + (f": {translate_detail(words, fault)}" if translate_detail(words, fault) else "")
            ]
        case facts.Synthesized(seat=seat, said=said):
            return [f"  ✎ {words.synthesis}, {seat}: {extract_first_sentence(said.content)}"]
        case _:
            return [f"  {event}"] if (event := describe_shared_event(words, fact)) else []


def _describe_change(mark: str, change: facts.StatusChange | facts.RoleChange, words: SwarmReportText) -> str:
    old, new, reason = (translate_term(words, each) for each in (change.old, change.new, change.reason))
    return f"  {mark} {change.seat}: {old} → {new} ({reason})"


def _describe_operations(fact: facts.OperationsProcessed, words: SwarmReportText) -> list[str]:
    lines = [
        f"  · {translate_term(words, each.operation)} {each.seat} {one_line(each.target)} {each.before:.2f} → {each.after:.2f}"
        for each in fact.results
        if each.before is not None and each.after is not None
    ]
    for each in fact.results:
        if not each.success:
            reason = ", ".join(
                part for part in (translate_term(words, each.error or ""), translate_detail(words, each.detail)) if part
            )
            lines.append(f"  ✗ {translate_term(words, each.operation)} {each.seat}: {reason}")
    return lines


def _describe_measurement(timeline: SwarmTimeline, fact: facts.ConvergenceMeasured) -> list[str]:
    words = timeline.words
    stable = "✓" if fact.stable else "✗"
    line = (
        f"  = {words.stability} {stable} · {words.quorum} {format_percent(fact.consensus_rate)} · "
        f"{words.diversity} {fact.diversity:.2f} · {words.convergence_reasons[fact.reason]}"
    )
    return [line, *(f"  ! {translate_term(words, name)}" for name in fact.warnings)]


def list_event_lines(timeline: SwarmTimeline) -> list[str]:
    """What a reader needs to know of, the oldest first."""
    return [_format_event(event, timeline.words) for event in timeline.events if event["type"] in timeline.words.events]


def _format_event(event: Mapping[str, object], words: SwarmReportText) -> str:
    fields = {name: _format_value(value, words) for name, value in event.items() if name not in {"id", "type", "round"}}
    rest = ", ".join(f"{translate_term(words, name)} {value}" for name, value in fields.items() if value)
    return one_line(f"[{event['round']}] {translate_term(words, str(event['type']))}" + (f": {rest}" if rest else ""))


def _format_value(value: object, words: SwarmReportText) -> str:
    if isinstance(value, bool):
        return translate_term(words, str(value).lower())
    if isinstance(value, float):
        return f"{value:.4g}"
    return (
        ", ".join(str(each) for each in value)
        if isinstance(value, list)
        else translate_detail(words, translate_term(words, str(value)))
    )
