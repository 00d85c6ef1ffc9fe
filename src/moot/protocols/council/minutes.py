"""The minutes of a deliberation as Markdown: the decision first, then what it rests on, then the whole record."""

from collections.abc import Iterable, Sequence

from moot.domain.safe_text import one_line
from moot.protocols.council import report_rows
from moot.protocols.council.live_lines import describe_warning, format_lost_seats
from moot.protocols.council.report_rows import LineReferences, Row
from moot.protocols.council.report_text import REPORT_TEXT, CouncilReportText
from moot.protocols.council.timeline import CouncilTimeline, CouncilTimelineLine, build_decision
from moot.reports.decision import Decision
from moot.reports.markdown import format_cell, format_table, quote_markdown
from moot.reports.timeline import format_time


def render_minutes(timeline: CouncilTimeline) -> str:
    """The minutes at any time of a deliberation."""
    words = REPORT_TEXT[timeline.state.opened.language]
    decision = build_decision(timeline)
    parts = [
        [f"# {words.minutes}: {one_line(timeline.session)}", "", f"**{words.question}**", "", *quote_markdown(decision.topic)],
        _format_named_rows(report_rows.background_rows(timeline, words)),
        _render_decision(timeline, decision, words),
        _render_dissent(timeline, decision, words),
        _render_table(words.challenges, words.challenge_heads, report_rows.challenge_rows(timeline, words)),
        _render_positions(timeline, decision, words),
        _render_table(words.taken, words.taken_heads, report_rows.advice_rows(timeline, words)),
        _render_passes(timeline, words),
        _render_missing(timeline, decision, words),
        _render_timeline(timeline, words),
        _render_table(words.seats, words.seat_heads, report_rows.seat_rows(timeline)),
        _render_cost(timeline, words),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _format_named_rows(rows: Iterable[Row]) -> list[str]:
    return [f"- {name}: {format_cell(value)}" for name, value in rows]


def _render_table(title: str, heads: Sequence[str], rows: Sequence[Row]) -> list[str]:
    return [f"## {title}", "", *format_table(heads, rows)] if rows else []


def _render_decision(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[str]:
    lines = [f"## {words.decision}", ""]
    if decision.status == "thinking":
        return [
            *lines,
            words.still_thinking,
            "",
            *_format_named_rows(report_rows.progress_rows(timeline, words)),
            *_render_motion(timeline, words),
        ]
    if decision.status == "cancelled":
        reason = report_rows.find_cancel_reason(timeline)
        return [*lines, words.cancelled, *(["", *quote_markdown(reason)] if reason else [])]
    warning = describe_warning(timeline)
    lines += [f"**{warning}**", ""] if warning else []
    lines += (
        quote_markdown(decision.decision.text) if decision.decision else [words.no_decision, *_render_motion(timeline, words)]
    )
    lines += ["", *_format_named_rows(report_rows.resolution_rows(decision, words))]
    votes = report_rows.vote_rows(timeline, words)
    lines += ["", *format_table(words.vote_heads, votes)] if votes else []
    note = report_rows.describe_votes(timeline, words)
    return [*lines, "", note] if note else lines


def _render_motion(timeline: CouncilTimeline, words: CouncilReportText) -> list[str]:
    found = report_rows.find_shown_motion(timeline)
    if found is None:
        return []
    title = words.motion if timeline.closed is None else words.not_carried
    head = f"{title} ({LineReferences((found.id,))}, {words.motion_by.format(seat=format_cell(found.seat))}):"
    details = _format_named_rows(report_rows.list_line_details(found, words))
    return ["", head, "", *quote_markdown(found.said.text), *(["", *details] if details else [])]


def _render_dissent(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[str]:
    if timeline.resolution is None or timeline.resolution.motion is None:
        return []
    lines = [f"## {words.dissent}", ""]
    if not decision.dissent:
        return [*lines, words.no_dissent]
    for voice, marks in report_rows.list_dissent_marks(timeline, decision, words):
        how = ", ".join(str(mark) for mark in marks)
        lines.append(f"- **{format_cell(voice.seat)}** ({how}): {format_cell(voice.text) or words.gives_no_reason}")
    return lines


def _render_positions(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[str]:
    lines = _render_table(words.positions, words.position_heads, report_rows.position_rows(timeline, decision, words))
    changed = report_rows.list_changed_choices(timeline, decision, words)
    return [*lines, "", f"{words.changed}:", "", *(f"- {format_cell(told)} ({by})" for told, by in changed)] if changed else lines


def _render_passes(timeline: CouncilTimeline, words: CouncilReportText) -> list[str]:
    rows = report_rows.pass_rows(timeline, words)
    return [f"## {words.passed}", "", *_format_named_rows(rows)] if rows else []


def _render_missing(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[str]:
    told, losses = format_lost_seats(timeline, decision, words), report_rows.loss_rows(timeline, words)
    if not told and not losses:
        return []
    lines = [f"## {words.missing}", "", *(f"- {format_cell(line)}" for line in told)]
    return [*lines, *([""] if told else []), *format_table(words.loss_heads, losses)] if losses else lines


def _render_timeline(timeline: CouncilTimeline, words: CouncilReportText) -> list[str]:
    lines = [f"## {words.timeline}", *_render_line(timeline, timeline.lines[0], (), words)]
    notes = report_rows.collect_line_notes(timeline, words)
    for phase in report_rows.group_lines_by_phase(timeline):
        lines += ["", f"### {report_rows.format_phase_name(phase.phase, phase.round, words)}"]
        lines += ["", f"{words.motion}: #{phase.motion}"] if phase.motion else []
        lines += [] if phase.lines else ["", words.nothing_said]
        for line in phase.lines:
            lines += _render_line(timeline, line, notes[line.id], words)
    return lines


def _render_line(
    timeline: CouncilTimeline, line: CouncilTimelineLine, notes: Sequence[LineReferences], words: CouncilReportText
) -> list[str]:
    who = f"**#{line.id} {format_cell(line.speaker)}**"
    if report_rows.is_sealed_line(timeline, line):
        return ["", f"{who} · {line.timestamp}", "", words.sealed]
    marks = [*(report_rows.format_line_marks(line.spoken, words) if line.spoken else [words.question]), *notes]
    head = " · ".join([who, *(str(mark) for mark in marks), line.timestamp])
    details = _format_named_rows(report_rows.list_line_details(line.spoken, words)) if line.spoken else []
    return ["", head, *(["", *quote_markdown(line.content)] if line.content else []), *(["", *details] if details else [])]


def _render_cost(timeline: CouncilTimeline, words: CouncilReportText) -> list[str]:
    when = words.times.format(opened=format_time(timeline.opened_at), last=format_time(timeline.last_at))
    return [*_render_table(words.cost, words.cost_heads, report_rows.cost_rows(timeline, words)), "", when]
