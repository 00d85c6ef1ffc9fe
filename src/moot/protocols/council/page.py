"""The deliberation as one self-contained HTML page: no script, nothing loaded from elsewhere, everything said is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from moot.domain.ids import SeatId
from moot.protocols.council import report_rows
from moot.protocols.council.live_lines import describe_warning, format_lost_seats
from moot.protocols.council.report_rows import LineReferences, Row
from moot.protocols.council.report_text import REPORT_TEXT, CouncilReportText
from moot.protocols.council.state import CouncilLine
from moot.protocols.council.timeline import CouncilTimeline, CouncilTimelineLine, build_decision
from moot.reports.decision import Decision
from moot.reports.html import (
    LIST_STYLE,
    STYLE,
    TALK_STYLE,
    Markup,
    assign_hues,
    escape_text,
    render_bullets,
    render_card,
    render_document,
    render_link,
    render_muted,
    render_quote,
    render_speaker,
    render_table,
    render_terms,
)
from moot.reports.timeline import format_time

_OWN_STYLE: Final = """
:root{--for:#2f8f5b;--on:#c58a12;--against:#c8453b;--warn:#fff3d6}
@media(prefers-color-scheme:dark){:root{--for:#4fb57e;--on:#e0ab3f;--against:#e8756b;--warn:#3a2f14}}
.warn{background:var(--warn);border-left:.35rem solid var(--on);font-weight:600}
.challenge,.oppose{border-color:var(--against)}.support{border-color:var(--for)}
.conditional_support{border-color:var(--on)}.synthesize{border-color:var(--mark)}
.tally{display:flex;gap:2px;height:.7rem;border-radius:.35rem;overflow:hidden;margin:1rem 0 .4rem;background:var(--line)}
.key{display:inline-block;width:.7rem;height:.7rem;border-radius:.2rem;margin-right:.5rem;background:var(--line)}
.vote-support{background:var(--for)}.vote-conditional_support{background:var(--on)}.vote-oppose{background:var(--against)}
"""


def render_html_report(timeline: CouncilTimeline) -> str:
    """The page at any time of a deliberation."""
    language = timeline.state.opened.language
    words = REPORT_TEXT[language]
    decision = build_decision(timeline)
    body = [
        f'<h1 class="said">{escape_text(decision.topic)}</h1>',
        f'<p class="soft">{escape_text(timeline.session)} · {format_time(timeline.opened_at)} – {format_time(timeline.last_at)}</p>',  # noqa: E501
        f'<p class="soft">{" · ".join(f"{name}: {escape_text(value)}" for name, value in report_rows.background_rows(timeline, words))}</p>',  # noqa: E501
        f"<h2>{words.decision}</h2>",
        *_render_decision(timeline, decision, words),
        *_render_dissent(timeline, decision, words),
        *_render_table(timeline, words.challenges, words.challenge_heads, report_rows.challenge_rows(timeline, words)),
        *_render_positions(timeline, decision, words),
        *_render_table(timeline, words.taken, words.taken_heads, report_rows.advice_rows(timeline, words)),
        *_render_passes(timeline, words),
        *_render_missing(timeline, decision, words),
        f"<h2>{words.timeline}</h2>",
        *_render_timeline(timeline, words),
        *_render_table(timeline, words.seats, words.seat_heads, report_rows.seat_rows(timeline)),
        *_render_table(timeline, words.cost, words.cost_heads, report_rows.cost_rows(timeline, words)),
    ]
    return render_document(language, decision.topic[:80], f"{STYLE}{LIST_STYLE}{TALK_STYLE}{_OWN_STYLE}", body)


def _format_value(timeline: CouncilTimeline, value: object) -> str:
    """A value as markup; lines that it names become links, if they are there."""
    if not isinstance(value, LineReferences):
        return escape_text(value)
    links = (render_link(number) if 1 <= number <= timeline.state.last_id else f"#{number}" for number in value.numbers)
    return escape_text(value.told).replace("{line}", ", ".join(links))


def _render_table(timeline: CouncilTimeline, title: str, heads: Sequence[str], rows: Iterable[Row]) -> list[str]:
    marked = [tuple(Markup(_format_value(timeline, value)) for value in row) for row in rows]
    return [f"<h2>{title}</h2>", render_table(heads, marked)] if marked else []


def _format_named_rows(timeline: CouncilTimeline, rows: Iterable[Row]) -> str:
    return render_terms((name, Markup(_format_value(timeline, value))) for name, value in rows)


def _render_decision(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[str]:
    if decision.status == "thinking":
        told = f"{words.still_thinking}{_format_named_rows(timeline, report_rows.progress_rows(timeline, words))}"
        return [f'<div class="card decision">{told}</div>', *_render_motion(timeline, words)]
    if decision.status == "cancelled":
        return [
            f'<div class="card decision said">{escape_text(f"{words.cancelled} {report_rows.find_cancel_reason(timeline)}".strip())}</div>'  # noqa: E501
        ]
    warning = describe_warning(timeline)
    claim = words.no_decision if decision.decision is None else decision.decision.text
    return [
        *([f'<p class="card warn">{escape_text(warning)}</p>'] if warning else []),
        f'<div class="card decision">{render_quote(claim)}'
        f"{_format_named_rows(timeline, report_rows.resolution_rows(decision, words))}{_render_tally(timeline, words)}</div>",
        *_render_motion(timeline, words),
        *_render_votes(timeline, words),
    ]


def _render_motion(timeline: CouncilTimeline, words: CouncilReportText) -> list[str]:
    found = report_rows.find_shown_motion(timeline)
    if found is None:
        return []
    title = words.motion if timeline.closed is None else words.not_carried
    head = f"{title} ({render_link(found.id)}, {words.motion_by.format(seat=escape_text(found.seat))})"
    details = _format_named_rows(timeline, report_rows.list_line_details(found, words))
    return [f'<div class="card"><div class="soft">{head}</div>{render_quote(found.said.text)}{details}</div>']


def _render_tally(timeline: CouncilTimeline, words: CouncilReportText) -> str:
    """The sides as a bar, each as wide as its votes weigh."""
    weighty = [side for side in report_rows.group_vote_sides(timeline) if side.weight]
    total = sum(side.weight for side in weighty)
    shares = [(side, side.weight / total * 100) for side in weighty]
    parts = "".join(f'<i class="vote-{side.position}" style="flex:{share:.2f}"></i>' for side, share in shares)
    told = ", ".join(f"{report_rows.format_side_name(side, words)} {share:.0f} %" for side, share in shares)
    return f'<div class="tally" role="img" aria-label="{escape_text(told)}">{parts}</div>' if parts else ""


def _render_votes(timeline: CouncilTimeline, words: CouncilReportText) -> list[str]:
    keys = [
        Markup(f'<i class="key vote-{side.position}"></i>{report_rows.format_side_name(side, words)}')
        for side in report_rows.group_vote_sides(timeline)
    ]
    rows = [(key, *rest) for key, (_, *rest) in zip(keys, report_rows.vote_rows(timeline, words), strict=True)]
    note = report_rows.describe_votes(timeline, words)
    return [*([render_table(words.vote_heads, rows)] if rows else []), *([f'<p class="soft">{note}</p>'] if note else [])]


def _render_dissent(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[str]:
    if timeline.resolution is None or timeline.resolution.motion is None:
        return []
    head = f"<h2>{words.dissent}</h2>"
    if not decision.dissent:
        return [head, f'<p class="soft">{words.no_dissent}</p>']
    items = (
        f'<b>{escape_text(voice.seat)}</b> <span class="soft">({", ".join(_format_value(timeline, mark) for mark in marks)})</span> '  # noqa: E501
        f"{escape_text(voice.text or words.gives_no_reason)}"
        for voice, marks in report_rows.list_dissent_marks(timeline, decision, words)
    )
    return [head, render_bullets(items)]


def _render_positions(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[str]:
    shown = _render_table(timeline, words.positions, words.position_heads, report_rows.position_rows(timeline, decision, words))
    changed = [
        f"{escape_text(told)} ({_format_value(timeline, by)})"
        for told, by in report_rows.list_changed_choices(timeline, decision, words)
    ]
    return [*shown, f'<p class="soft">{words.changed}</p>', render_bullets(changed)] if changed else shown


def _render_passes(timeline: CouncilTimeline, words: CouncilReportText) -> list[str]:
    rows = report_rows.pass_rows(timeline, words)
    return [f"<h2>{words.passed}</h2>", f'<div class="card">{_format_named_rows(timeline, rows)}</div>'] if rows else []


def _render_missing(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[str]:
    told, losses = format_lost_seats(timeline, decision, words), report_rows.loss_rows(timeline, words)
    if not told and not losses:
        return []
    return [
        f"<h2>{words.missing}</h2>",
        *([render_bullets(escape_text(line) for line in told)] if told else []),
        *([render_table(words.loss_heads, losses)] if losses else []),
    ]


def _render_timeline(timeline: CouncilTimeline, words: CouncilReportText) -> list[str]:
    colours = assign_hues(timeline.state.seats)
    notes = report_rows.collect_line_notes(timeline, words)
    cards = [_render_card(timeline, timeline.lines[0], (), words, colours)]
    for phase in report_rows.group_lines_by_phase(timeline):
        motion = f" · {words.motion} {render_link(phase.motion)}" if phase.motion else ""
        cards.append(f"<section>\n<h3>{report_rows.format_phase_name(phase.phase, phase.round, words)}{motion}</h3>")
        cards += [] if phase.lines else [f'<p class="soft">{words.nothing_said}</p>']
        cards += [_render_card(timeline, line, notes[line.id], words, colours) for line in phase.lines]
        cards.append("</section>")
    return cards


def _render_card(
    timeline: CouncilTimeline,
    line: CouncilTimelineLine,
    notes: Sequence[LineReferences],
    words: CouncilReportText,
    colours: Mapping[SeatId, int],
) -> str:
    is_sealed = report_rows.is_sealed_line(timeline, line)
    shown = render_quote(line.content) if line.content else ""
    inner = f'<div class="soft">{words.sealed}</div>' if is_sealed else shown
    spoken = None if is_sealed else line.spoken
    head = (
        render_muted(f"#{line.id}"),
        render_speaker(line.speaker),
        _render_marks(timeline, spoken, notes, words),
        render_muted(line.timestamp),
    )
    details = _format_named_rows(timeline, report_rows.list_line_details(spoken, words)) if spoken else ""
    return render_card(line.id, colours.get(line.speaker), head, f"{inner}{details}")


def _render_marks(
    timeline: CouncilTimeline, line: CouncilLine | None, notes: Sequence[LineReferences], words: CouncilReportText
) -> str:
    if line is None:
        return ""
    what, *rest = report_rows.format_line_marks(line, words)
    tag = f'<span class="tag {line.said.position or line.said.type}">{escape_text(what)}</span>'
    return tag + "".join(f"<span>{_format_value(timeline, mark)}</span>" for mark in (*rest, *notes))
