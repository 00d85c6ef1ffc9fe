"""The minutes of a deliberation as Markdown: the decision first, then what it rests on, then the whole record."""

from collections.abc import Iterable, Sequence

from moot.domain.fence import one_line
from moot.projections.decision import Decision
from moot.projections.markdown import format_cell, format_table, quote_markdown
from moot.projections.teller import format_time
from moot.protocols.council import tables
from moot.protocols.council.story import Deliberation, TimelineLine, decided
from moot.protocols.council.tables import Refs, Row
from moot.protocols.council.telling import first_line, lost_lines
from moot.protocols.council.view_words import VIEW_WORDS, ViewWords


def minutes(story: Deliberation) -> str:
    """The minutes at any time of a deliberation."""
    words = VIEW_WORDS[story.council.opened.language]
    decision = decided(story)
    parts = [
        [f"# {words.minutes}: {one_line(story.session)}", "", f"**{words.question}**", "", *quote_markdown(decision.topic)],
        _named(tables.background(story, words)),
        _decision(story, decision, words),
        _dissent(story, decision, words),
        _table(words.challenges, words.challenge_heads, tables.challenge_rows(story, words)),
        _positions(story, decision, words),
        _table(words.taken, words.taken_heads, tables.taken_rows(story, words)),
        _passed(story, words),
        _missing(story, decision, words),
        _timeline(story, words),
        _table(words.seats, words.seat_heads, tables.seat_rows(story)),
        _cost(story, words),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _named(rows: Iterable[Row]) -> list[str]:
    return [f"- {name}: {format_cell(value)}" for name, value in rows]


def _table(title: str, heads: Sequence[str], rows: Sequence[Row]) -> list[str]:
    return [f"## {title}", "", *format_table(heads, rows)] if rows else []


def _decision(story: Deliberation, decision: Decision, words: ViewWords) -> list[str]:
    lines = [f"## {words.decision}", ""]
    if decision.status == "thinking":
        return [*lines, words.still_thinking, "", *_named(tables.standing(story, words)), *_motion(story, words)]
    if decision.status == "cancelled":
        reason = tables.cancel_reason(story)
        return [*lines, words.cancelled, *(["", *quote_markdown(reason)] if reason else [])]
    warning = first_line(story)
    lines += [f"**{warning}**", ""] if warning else []
    lines += quote_markdown(decision.decision.text) if decision.decision else [words.no_decision, *_motion(story, words)]
    lines += ["", *_named(tables.resolution_rows(decision, words))]
    votes = tables.vote_rows(story, words)
    lines += ["", *format_table(words.vote_heads, votes)] if votes else []
    note = tables.votes_note(story, words)
    return [*lines, "", note] if note else lines


def _motion(story: Deliberation, words: ViewWords) -> list[str]:
    found = tables.motion_shown(story)
    if found is None:
        return []
    title = words.motion if story.closed is None else words.not_carried
    head = f"{title} ({Refs((found.id,))}, {words.motion_by.format(seat=format_cell(found.seat))}):"
    details = _named(tables.details(found, words))
    return ["", head, "", *quote_markdown(found.said.text), *(["", *details] if details else [])]


def _dissent(story: Deliberation, decision: Decision, words: ViewWords) -> list[str]:
    if story.resolution is None or story.resolution.motion is None:
        return []
    lines = [f"## {words.dissent}", ""]
    if not decision.dissent:
        return [*lines, words.no_dissent]
    for voice, marks in tables.dissent_marks(story, decision, words):
        how = ", ".join(str(mark) for mark in marks)
        lines.append(f"- **{format_cell(voice.seat)}** ({how}): {format_cell(voice.text) or words.gives_no_reason}")
    return lines


def _positions(story: Deliberation, decision: Decision, words: ViewWords) -> list[str]:
    lines = _table(words.positions, words.position_heads, tables.position_rows(story, decision, words))
    changed = tables.changes(story, decision, words)
    return [*lines, "", f"{words.changed}:", "", *(f"- {format_cell(told)} ({by})" for told, by in changed)] if changed else lines


def _passed(story: Deliberation, words: ViewWords) -> list[str]:
    rows = tables.pass_rows(story, words)
    return [f"## {words.passed}", "", *_named(rows)] if rows else []


def _missing(story: Deliberation, decision: Decision, words: ViewWords) -> list[str]:
    told, losses = lost_lines(story, decision, words), tables.loss_rows(story, words)
    if not told and not losses:
        return []
    lines = [f"## {words.missing}", "", *(f"- {format_cell(line)}" for line in told)]
    return [*lines, *([""] if told else []), *format_table(words.loss_heads, losses)] if losses else lines


def _timeline(story: Deliberation, words: ViewWords) -> list[str]:
    lines = [f"## {words.timeline}", *_line(story, story.timeline[0], (), words)]
    notes = tables.notes(story, words)
    for phase in tables.phases(story):
        lines += ["", f"### {tables.phase_name(phase.phase, phase.round, words)}"]
        lines += ["", f"{words.motion}: #{phase.motion}"] if phase.motion else []
        lines += [] if phase.lines else ["", words.nothing_said]
        for line in phase.lines:
            lines += _line(story, line, notes[line.id], words)
    return lines


def _line(story: Deliberation, line: TimelineLine, notes: Sequence[Refs], words: ViewWords) -> list[str]:
    who = f"**#{line.id} {format_cell(line.speaker)}**"
    if tables.is_sealed(story, line):
        return ["", f"{who} · {line.timestamp}", "", words.sealed]
    marks = [*(tables.marks(line.spoken, words) if line.spoken else [words.question]), *notes]
    head = " · ".join([who, *(str(mark) for mark in marks), line.timestamp])
    details = _named(tables.details(line.spoken, words)) if line.spoken else []
    return ["", head, *(["", *quote_markdown(line.content)] if line.content else []), *(["", *details] if details else [])]


def _cost(story: Deliberation, words: ViewWords) -> list[str]:
    when = words.times.format(opened=format_time(story.opened_at), last=format_time(story.last_at))
    return [*_table(words.cost, words.cost_heads, tables.cost_rows(story, words)), "", when]
