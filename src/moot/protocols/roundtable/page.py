"""The conference as one self-contained HTML page: no script, nothing loaded from elsewhere, everything said is escaped.

Speeches and minutes are Markdown of participants: shown as they were written, not rendered.
"""

from collections.abc import Mapping
from typing import Final

from moot.domain.facts import SessionCancelled
from moot.domain.ids import SeatId
from moot.domain.safe_text import one_line
from moot.protocols.roundtable.files import explain_skip
from moot.protocols.roundtable.timeline import RoundtableTimeline, RoundtableTimelineLine, build_decision
from moot.reports.costs import build_cost_rows
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

LONG_AGENDA: Final = 1_200
"""Characters from which on the background is folded up, so that the minutes stand on the first screen."""

_OWN_STYLE: Final = """
.consensus{border-color:var(--mark)}.decision .said+dl{margin-top:1rem}details .said{margin-top:.4rem}
"""

Row = tuple[object, object]


def render_html_report(timeline: RoundtableTimeline) -> str:
    """The page at any time of a conference."""
    conference, words, decision = timeline.state, timeline.words, build_decision(timeline)
    costs = build_cost_rows(timeline.costs, conference.seats, timeline.spent, words.total)
    body = [
        f'<h1 class="said">{escape_text(decision.topic)}</h1>',
        f'<p class="soft">{escape_text(timeline.session)} · {format_time(timeline.opened_at)} – {format_time(timeline.last_at)}</p>',  # noqa: E501
        f"<h2>{words.agenda}</h2>",
        _render_agenda(timeline),
        f"<h2>{words.minutes}</h2>",
        _render_conclusion(timeline, decision),
        *_render_disputes(timeline, decision),
        *_render_missing(timeline),
        f"<h2>{words.speeches}</h2>",
        *_render_speeches(timeline),
        f"<h2>{words.roles}</h2>",
        render_table(words.role_heads, _role_rows(timeline)),
        f"<h2>{words.cost}</h2>",
        render_table(words.cost_heads, costs),
    ]
    return render_document(conference.opened.language, decision.topic[:80], f"{STYLE}{LIST_STYLE}{TALK_STYLE}{_OWN_STYLE}", body)


def _render_agenda(timeline: RoundtableTimeline) -> str:
    settings, words = timeline.state.opened.settings, timeline.words
    background = render_quote(settings.agenda) if settings.agenda else ""
    if len(settings.agenda) > LONG_AGENDA:
        background = f"<details><summary>{words.background}</summary>{background}</details>"
    held = words.rounds_held.format(held=max(_list_rounds(timeline), default=0), most=settings.max_rounds)
    rows: list[Row] = [(words.conference, settings.conference)] if settings.conference else []
    rows += [(words.order, " → ".join(timeline.state.speakers)), (words.rounds, held)]
    rows += [(words.opening, settings.prompt)] if settings.prompt else []
    return f'<div class="card">{background}{render_terms(rows)}</div>'


def _list_rounds(timeline: RoundtableTimeline) -> set[int]:
    """The rounds in which somebody spoke or was skipped."""
    return {speech.round for speech in timeline.state.speeches} | {skip.round for skip in timeline.skips}


def _render_conclusion(timeline: RoundtableTimeline, decision: Decision) -> str:
    """The minutes, or what there is in their place."""
    minutes, words = timeline.state.minutes, timeline.words
    told = {"thinking": words.still_open, "cancelled": words.cancelled}.get(decision.status, "" if minutes else words.no_minutes)
    if isinstance(timeline.closed, SessionCancelled):
        told = f"{told} {timeline.closed.reason}".strip()
    inner = [render_quote(each) for each in (told, minutes.content if minutes else "") if each]
    return f'<div class="card decision">{"".join(inner)}{render_terms(_progress_rows(timeline, decision))}</div>'


def _progress_rows(timeline: RoundtableTimeline, decision: Decision) -> list[Row]:
    """How it ended, or where it stands."""
    conference, words = timeline.state, timeline.words
    rows: list[Row] = []
    if conference.status == "open":
        rows.append((words.now, words.round.format(number=conference.round)))
        rows += [(words.awaited, conference.current), (words.expected, conference.prompt)]
    if conference.status == "concluding":
        rows.append((words.now, words.writing))
        rows += [(words.awaited, seat) for seat in conference.writers[:1]]
    if conference.author is not None:
        rows.append((words.author, conference.author))
    ended = decision.ended_by or conference.stop
    if ended is not None:
        rows.append((words.ended_by, words.endings.get(ended, ended)))
    if conference.speeches:
        rows.append((words.declared, _format_declared_consensus(timeline)))
    return rows


def _format_declared_consensus(timeline: RoundtableTimeline) -> Markup:
    """How many of the speakers' last speeches declare consensus, and which."""
    conference = timeline.state
    last = {line.speaker: line for line in timeline.lines if line.speech is not None}
    named = [
        f"{escape_text(seat)} {_format_link(last[seat])}"
        for seat in conference.speakers
        if seat in conference.agreeing and seat in last
    ]
    count = f"{len(named)}/{len(conference.speakers)}"
    return Markup(f"{count}: {', '.join(named)}" if named else count)


def _format_link(line: RoundtableTimelineLine) -> str:
    return render_link(line.id, _format_number(line))


def _format_number(line: RoundtableTimelineLine) -> str:
    """The number of a speech as speakers and files know it."""
    return "" if line.speech is None else f"{line.speech.number:03d}"


def _render_disputes(timeline: RoundtableTimeline, decision: Decision) -> list[str]:
    if decision.decision is None:
        return []
    shown = [f'<div class="card">{render_quote(voice.text)}</div>' for voice in decision.dissent]
    return [f"<h2>{timeline.words.disputed}</h2>", *(shown or [f'<p class="soft">{timeline.words.no_dispute}</p>'])]


def _render_missing(timeline: RoundtableTimeline) -> list[str]:
    """Who was skipped, who could not write, who never spoke, and each single loss with its reason."""
    conference, words = timeline.state, timeline.words
    spoke = {speech.seat for speech in conference.speeches}
    silent = [seat for seat in conference.speakers if seat not in spoke] if conference.status != "open" else []
    told = [
        *(words.skipped_in.format(seat=skip.seat, round=skip.round, reason=explain_skip(skip, words)) for skip in timeline.skips),
        *(words.no_writer.format(seat=seat) for seat in conference.writers_lost),
        *(words.never_spoke.format(seat=seat) for seat in silent),
    ]
    losses = [
        (loss.seq, loss.seat, words.asked_for.get(loss.asked_for, loss.asked_for), words.losses[loss.reason], loss.detail or "–")
        for loss in timeline.losses
    ]
    shown = [
        *([render_bullets(escape_text(line) for line in told)] if told else []),
        *([render_table(words.loss_heads, losses)] if losses else []),
    ]
    return [f"<h2>{words.missing}</h2>", *shown] if shown else []


def _render_speeches(timeline: RoundtableTimeline) -> list[str]:
    words, colours = timeline.words, assign_hues(timeline.state.seats)
    parts = []
    for number, lines in sorted(_group_by_round(timeline).items()):
        parts.append(f"<section>\n<h3>{words.round.format(number=number).capitalize()}</h3>")
        parts += [_render_card(timeline, line, colours) for line in lines]
        for skip in timeline.skips:
            if skip.round == number:
                parts.append(f'<p class="soft">{escape_text(f"{words.skipped}: {skip.seat} ({explain_skip(skip, words)})")}</p>')
        parts.append("</section>")
    return parts or [f'<p class="soft">{words.nothing_said}</p>']


def _group_by_round(timeline: RoundtableTimeline) -> dict[int, list[RoundtableTimelineLine]]:
    """What was said in each round; a word of the user's belongs to the speech that follows it."""
    found: dict[int, list[RoundtableTimelineLine]] = {number: [] for number in _list_rounds(timeline)}
    at = timeline.state.round if timeline.state.status == "open" else max(found, default=1)
    for line in reversed(timeline.lines[1:]):
        at = at if line.speech is None else line.speech.round
        found.setdefault(at, []).insert(0, line)
    return found


def _render_card(timeline: RoundtableTimeline, line: RoundtableTimelineLine, colours: Mapping[SeatId, int]) -> str:
    words, speech = timeline.words, line.speech
    if speech is None:
        return render_card(
            line.id, None, (render_speaker(line.speaker), render_muted(line.timestamp)), render_quote(line.content)
        )
    tag = f'<span class="tag consensus">{words.declares}</span>' if speech.said.consensus else ""
    # Where the speech itself has a section for the next speaker, that is it: once is enough.
    is_apart = one_line(speech.said.prompt) not in one_line(line.content)
    left = render_terms([(words.prompt, speech.said.prompt)] if is_apart else [])
    head = (render_muted(_format_number(line)), render_speaker(line.speaker), tag, render_muted(line.timestamp))
    return render_card(line.id, colours.get(line.speaker), head, f"{render_quote(line.content)}{left}")


def _role_rows(timeline: RoundtableTimeline) -> list[tuple[object, ...]]:
    return [
        (seat.id, " · ".join(part for part in (seat.stance, seat.instructions) if part) or "–", seat.platform)
        for seat in timeline.state.seats
    ]
