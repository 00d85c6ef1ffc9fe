"""The minutes of a meeting as Markdown: the decision first, then what it rests on, then the whole record."""

from moot.domain.facts import SessionCancelled, SessionImported
from moot.domain.safe_text import one_line
from moot.protocols.persona.report_rows import (
    cost_rows,
    describe_lost_impact,
    describe_no_dissent,
    format_lost_seats,
    format_support,
    position_rows,
)
from moot.protocols.persona.report_text import REPORT_TEXT, PersonaReportText
from moot.protocols.persona.timeline import PersonaTimeline, build_decision
from moot.reports.decision import Decision, SourcedClaim
from moot.reports.markdown import format_cell, format_table, quote_markdown
from moot.reports.summary import format_percent
from moot.reports.timeline import format_time


def render_minutes(timeline: PersonaTimeline) -> str:
    """The minutes at any time of a meeting."""
    words = REPORT_TEXT[timeline.meeting.opened.language]
    decision = build_decision(timeline)
    parts = [
        [f"# {words.minutes}: {one_line(timeline.session)}", "", f"**{words.question}**", "", *quote_markdown(decision.topic)],
        _render_decision(timeline, decision, words),
        _render_claims(words.reasons, decision.reasons, words),
        _render_dissent(decision, words),
        _render_claims(words.open_questions, decision.open_questions, words),
        _render_positions(decision, words),
        _render_losses(decision, words),
        _render_consensus(timeline, words),
        _render_timeline(timeline, words),
        _render_bids(timeline, words),
        _render_cost(timeline, words),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _render_decision(timeline: PersonaTimeline, decision: Decision, words: PersonaReportText) -> list[str]:
    lines = [f"## {words.decision}", ""]
    if decision.decision is None:
        if timeline.closed is None:
            return [*lines, words.still_thinking]
        if isinstance(timeline.closed, SessionCancelled):
            return [*lines, words.cancelled, *(quote_markdown(timeline.closed.reason) if timeline.closed.reason else [])]
        return [*lines, words.no_decision, "", f"- {words.ended_by}: {words.endings.get(decision.ended_by or '', '–')}"]
    lines += [*quote_markdown(decision.decision.text), "", f"- {_format_references(decision.decision, words)}"]
    if isinstance(timeline.closed, SessionImported):
        return [*lines, f"- {words.read_back}"]
    lines.append(f"- {words.author}: {decision.author}")
    lines.append(f"- {words.confidence}: {format_percent(decision.confidence)}")
    lines.append(f"- {words.support}: {format_support(decision, words)}")
    lines.append(f"- {words.ended_by}: {words.endings.get(decision.ended_by or '', decision.ended_by)}")
    return lines


def _format_references(claim: SourcedClaim, words: PersonaReportText) -> str:
    if not claim.entries:
        return f"({words.names_nothing})"
    return f"{words.rests_on} {', '.join(f'#{entry}' for entry in claim.entries)}"


def _render_claims(title: str, claims: tuple[SourcedClaim, ...], words: PersonaReportText) -> list[str]:
    if not claims:
        return []
    return [
        f"## {title}",
        "",
        *(f"- {format_cell(claim.text)} ({_format_references(claim, words).strip('()')})" for claim in claims),
    ]


def _render_dissent(decision: Decision, words: PersonaReportText) -> list[str]:
    if decision.decision is None:
        return []
    if not decision.dissent:
        return [f"## {words.dissent}", "", describe_no_dissent(decision, words)]
    lines = [f"## {words.dissent}", ""]
    for voice in decision.dissent:
        who = words.reported if voice.seat is None else f"{voice.seat}, {words.verdicts[voice.kind]}"
        entries = f" ({words.rests_on} {', '.join(f'#{entry}' for entry in voice.entries)})" if voice.entries else ""
        lines.append(f"- **{who}**: {format_cell(voice.text)}{entries}")
    return lines


def _render_positions(decision: Decision, words: PersonaReportText) -> list[str]:
    if not decision.positions:
        return []
    return [f"## {words.positions}", "", *format_table(words.position_heads, position_rows(decision, words))]


def _render_losses(decision: Decision, words: PersonaReportText) -> list[str]:
    if not decision.lost:
        return []
    meaning = describe_lost_impact(decision, words)
    lines = [f"## {words.lost}", "", *(f"- {line}" for line in format_lost_seats(decision, words))]
    return [*lines, "", meaning] if meaning else lines


def _render_consensus(timeline: PersonaTimeline, words: PersonaReportText) -> list[str]:
    seats = len(timeline.meeting.seats)
    lines = []
    for point in timeline.meeting.points:
        snapshot = point.compute_status(seats)
        if snapshot == "agreed":
            lines.append(f"- {words.agreed}: #{point.entry} {format_cell(point.claim)} ({words.by} {', '.join(point.agreed)})")
        if snapshot == "contested":
            lines.append(
                f"- {words.contested}: #{point.entry} {format_cell(point.claim)} ({words.by} {', '.join(point.contested)})"
            )
    return [f"## {words.consensus}", "", *lines] if lines else []


def _render_timeline(timeline: PersonaTimeline, words: PersonaReportText) -> list[str]:
    lines = [f"## {words.timeline}"]
    for line in timeline.lines:
        score = "" if line.relevance_score is None else f" · {line.relevance_score:.2f}"
        answers = f" · {words.answers} #{line.refers_to}" if line.refers_to else ""
        lines += [
            "",
            f"**#{line.id} {line.speaker}** · {one_line(line.timestamp)}{score}{answers}",
            "",
            *quote_markdown(line.content),
        ]
    return lines


def _render_bids(timeline: PersonaTimeline, words: PersonaReportText) -> list[str]:
    rows = []
    for turn in timeline.turns:
        given = {floor.seat: words.floors[floor.reason] for floor in turn.floors}
        for bid in turn.bids:
            if bid.intent is None:
                rows.append((turn.number, bid.seat, "–", words.losses.get(bid.lost or "", bid.lost), ""))
                continue
            what = words.speaks if bid.intent.intent_to_speak else words.silent
            if bid.seat in given:
                what = f"{words.floor}: {given[bid.seat]}"
            rows.append((turn.number, bid.seat, f"{bid.intent.reaction_score:.2f}", what, bid.intent.reason))
    return [f"## {words.silence}", "", *format_table(words.silence_heads, rows)] if rows else []


def _render_cost(timeline: PersonaTimeline, words: PersonaReportText) -> list[str]:
    when = f"{format_time(timeline.opened_at)} – {format_time(timeline.last_at)}"
    return [f"## {words.cost}", "", *format_table(words.cost_heads, cost_rows(timeline, words)), "", when]
