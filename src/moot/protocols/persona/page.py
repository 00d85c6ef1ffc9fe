"""The meeting as one self-contained HTML page: no script, nothing loaded from elsewhere, everything said is escaped."""

from typing import Final

from moot.domain.facts import SessionCancelled, SessionImported
from moot.domain.ids import SeatId
from moot.protocols.persona.report_rows import (
    Row,
    cost_rows,
    describe_lost_impact,
    describe_no_dissent,
    format_lost_seats,
    format_support,
    position_rows,
)
from moot.protocols.persona.report_text import REPORT_TEXT, PersonaReportText
from moot.protocols.persona.timeline import PersonaTimeline, PersonaTurn, build_decision
from moot.reports.decision import Decision, SourcedClaim
from moot.reports.html import (
    LIST_STYLE,
    STYLE,
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
from moot.reports.summary import format_percent

_BIDS_STYLE: Final = """.bids{display:grid;gap:.2rem;margin:.5rem 0 0;font-size:.88rem}
.bid{display:grid;grid-template-columns:9rem 8rem 1fr;gap:.6rem;align-items:center}
.bar{height:.5rem;border-radius:.25rem;background:var(--line);overflow:hidden}
.bar i{display:block;height:100%;background:hsl(var(--hue) 55% 50%)}
@media(max-width:40rem){.bid{grid-template-columns:6rem 5rem 1fr}}
"""


def render_html_report(timeline: PersonaTimeline) -> str:
    """The page at any time of a meeting."""
    language = timeline.meeting.opened.language
    words = REPORT_TEXT[language]
    decision = build_decision(timeline)
    colours = assign_hues(timeline.meeting.seats)
    body = [
        f"<h1>{escape_text(decision.topic)}</h1>",
        f'<p class="soft">{escape_text(timeline.session)} · {escape_text(timeline.lines[0].timestamp)}</p>',
        *_render_decision(timeline, decision, words),
        *_render_claims(words.reasons, decision.reasons, words),
        *_render_dissent(decision, words),
        *_render_claims(words.open_questions, decision.open_questions, words),
        *_render_positions(decision, words),
        *_render_losses(decision, words),
        f"<h2>{words.timeline}</h2>",
        *_render_timeline(timeline, words, colours),
        *_render_seats(timeline, words),
    ]
    return render_document(language, decision.topic[:80], f"{STYLE}{_BIDS_STYLE}{LIST_STYLE}", body)


def _format_references(entries: tuple[int, ...], words: PersonaReportText) -> str:
    if not entries:
        return f'<span class="soft">({words.names_nothing})</span>'
    return " ".join(render_link(entry) for entry in entries)


def _render_decision(timeline: PersonaTimeline, decision: Decision, words: PersonaReportText) -> list[str]:
    head = f"<h2>{words.decision}</h2>"
    if decision.decision is None:
        told = words.still_thinking if timeline.closed is None else words.no_decision
        if isinstance(timeline.closed, SessionCancelled):
            told = f"{words.cancelled} {timeline.closed.reason}"
        elif decision.ended_by is not None:
            told = f"{told} ({words.ended_by}: {words.endings.get(decision.ended_by, decision.ended_by)})"
        return [head, f'<div class="card decision">{escape_text(told)}</div>']
    claim = render_quote(decision.decision.text)
    if isinstance(timeline.closed, SessionImported):
        return [head, f'<div class="card decision">{claim}<p class="soft">{words.read_back}</p></div>']
    rows = (
        (words.author, decision.author),
        (words.confidence, format_percent(decision.confidence)),
        (words.support, format_support(decision, words)),
        (words.ended_by, words.endings.get(decision.ended_by or "", decision.ended_by)),
    )
    rests_on = f"<p>{words.rests_on} {_format_references(decision.decision.entries, words)}</p>"
    return [head, f'<div class="card decision">{claim}{rests_on}{render_terms(rows)}</div>']


def _render_claims(title: str, claims: tuple[SourcedClaim, ...], words: PersonaReportText) -> list[str]:
    if not claims:
        return []
    return [
        f"<h2>{title}</h2>",
        render_bullets(f"{escape_text(claim.text)} {_format_references(claim.entries, words)}" for claim in claims),
    ]


def _render_dissent(decision: Decision, words: PersonaReportText) -> list[str]:
    if decision.decision is None:
        return []
    if not decision.dissent:
        return [f"<h2>{words.dissent}</h2>", f'<p class="soft">{escape_text(describe_no_dissent(decision, words))}</p>']
    items = (
        f"<b>{escape_text(voice.seat or words.reported)}</b> "
        f"{'' if voice.seat is None else '(' + words.verdicts[voice.kind] + ')'} {escape_text(voice.text)} "
        f"{_format_references(voice.entries, words) if voice.entries else ''}"
        for voice in decision.dissent
    )
    return [f"<h2>{words.dissent}</h2>", render_bullets(items)]


def _render_positions(decision: Decision, words: PersonaReportText) -> list[str]:
    if not decision.positions:
        return []
    return [f"<h2>{words.positions}</h2>", render_table(words.position_heads, position_rows(decision, words))]


def _render_losses(decision: Decision, words: PersonaReportText) -> list[str]:
    if not decision.lost:
        return []
    items = "".join(f"<li>{escape_text(line)}</li>" for line in format_lost_seats(decision, words))
    meaning = describe_lost_impact(decision, words)
    note = f"<p>{meaning}</p>" if meaning else ""
    return [f"<h2>{words.lost}</h2>", f'<div class="card"><ul>{items}</ul>{note}</div>']


def _render_timeline(timeline: PersonaTimeline, words: PersonaReportText, colours: dict[SeatId, int]) -> list[str]:
    turns = {turn.spoken: turn for turn in timeline.turns if turn.spoken is not None}
    silent = iter([turn for turn in timeline.turns if turn.spoken is None])
    waiting = next(silent, None)
    cards = []
    for line in timeline.lines:
        score = "" if line.relevance_score is None else render_muted(f"{line.relevance_score:.2f}")
        answers = f"<span>{words.answers} {render_link(line.refers_to)}</span>" if line.refers_to else ""
        turn = turns.get(line.id)
        while turn is not None and waiting is not None and waiting.number < turn.number:
            cards.append(_render_silent_turn(waiting, words, colours))
            waiting = next(silent, None)
        head = (
            render_muted(f"#{line.id}"),
            render_speaker(line.speaker),
            score,
            answers,
            render_muted(f"{line.platform} {line.timestamp}"),
        )
        inner = f"{render_quote(line.content)}{_render_bids(turn, words, colours) if turn else ''}"
        cards.append(render_card(line.id, colours.get(line.speaker), head, inner))
    while waiting is not None:
        cards.append(_render_silent_turn(waiting, words, colours))
        waiting = next(silent, None)
    return cards


def _render_silent_turn(turn: PersonaTurn, words: PersonaReportText, colours: dict[SeatId, int]) -> str:
    return f'<article class="card">{_render_bids(turn, words, colours)}</article>'


def _render_bids(turn: PersonaTurn, words: PersonaReportText, colours: dict[SeatId, int]) -> str:
    rows = []
    for bid in turn.bids:
        score = 0.0 if bid.intent is None else bid.intent.reaction_score
        told = words.losses.get(bid.lost or "", "") if bid.intent is None else bid.intent.reason
        rows.append(
            f'<div class="bid"><span>{escape_text(bid.seat)} {"" if bid.intent is None else f"{score:.2f}"}</span>'
            f'<span class="bar" style="--hue:{colours.get(bid.seat, 0)}"><i style="width:{score * 100:.0f}%"></i></span>'
            f'<span class="soft">{escape_text(told)}</span></div>'
        )
    given = ", ".join(f"{escape_text(floor.seat)}: {words.floors[floor.reason]}" for floor in turn.floors)
    return f'<details><summary>{words.floor}: {given or "–"}</summary><div class="bids">{"".join(rows)}</div></details>'


def _render_seats(timeline: PersonaTimeline, words: PersonaReportText) -> list[str]:
    seats: list[Row] = [(seat.id, seat.stance, seat.platform, f"{seat.weight:g}") for seat in timeline.meeting.seats]
    return [
        f"<h2>{words.seats}</h2>",
        render_table(words.seat_heads, seats),
        f"<h2>{words.cost}</h2>",
        render_table(words.cost_heads, cost_rows(timeline, words)),
    ]
