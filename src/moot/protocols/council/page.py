"""The deliberation as one self-contained HTML page: no script, nothing loaded from elsewhere, everything said is escaped."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from moot.domain.ids import SeatId
from moot.projections.decision import Decision
from moot.projections.html import (
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
from moot.projections.teller import format_time
from moot.protocols.council import tables
from moot.protocols.council.state import Spoken
from moot.protocols.council.story import Deliberation, TimelineLine, decided
from moot.protocols.council.tables import Refs, Row
from moot.protocols.council.telling import first_line, lost_lines
from moot.protocols.council.view_words import VIEW_WORDS, ViewWords

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


def page(story: Deliberation) -> str:
    """The page at any time of a deliberation."""
    language = story.council.opened.language
    words = VIEW_WORDS[language]
    decision = decided(story)
    body = [
        f'<h1 class="said">{escape_text(decision.topic)}</h1>',
        f'<p class="soft">{escape_text(story.session)} · {format_time(story.opened_at)} – {format_time(story.last_at)}</p>',
        f'<p class="soft">{" · ".join(f"{name}: {escape_text(value)}" for name, value in tables.background(story, words))}</p>',
        f"<h2>{words.decision}</h2>",
        *_decision(story, decision, words),
        *_dissent(story, decision, words),
        *_table(story, words.challenges, words.challenge_heads, tables.challenge_rows(story, words)),
        *_positions(story, decision, words),
        *_table(story, words.taken, words.taken_heads, tables.taken_rows(story, words)),
        *_passed(story, words),
        *_missing(story, decision, words),
        f"<h2>{words.timeline}</h2>",
        *_timeline(story, words),
        *_table(story, words.seats, words.seat_heads, tables.seat_rows(story)),
        *_table(story, words.cost, words.cost_heads, tables.cost_rows(story, words)),
    ]
    return render_document(language, decision.topic[:80], f"{STYLE}{LIST_STYLE}{TALK_STYLE}{_OWN_STYLE}", body)


def _value(story: Deliberation, value: object) -> str:
    """A value as markup; lines that it names become links, if they are there."""
    if not isinstance(value, Refs):
        return escape_text(value)
    links = (render_link(number) if 1 <= number <= story.council.last_id else f"#{number}" for number in value.numbers)
    return escape_text(value.told).replace("{line}", ", ".join(links))


def _table(story: Deliberation, title: str, heads: Sequence[str], rows: Iterable[Row]) -> list[str]:
    marked = [tuple(Markup(_value(story, value)) for value in row) for row in rows]
    return [f"<h2>{title}</h2>", render_table(heads, marked)] if marked else []


def _named(story: Deliberation, rows: Iterable[Row]) -> str:
    return render_terms((name, Markup(_value(story, value))) for name, value in rows)


def _decision(story: Deliberation, decision: Decision, words: ViewWords) -> list[str]:
    if decision.status == "thinking":
        told = f"{words.still_thinking}{_named(story, tables.standing(story, words))}"
        return [f'<div class="card decision">{told}</div>', *_motion(story, words)]
    if decision.status == "cancelled":
        return [
            f'<div class="card decision said">{escape_text(f"{words.cancelled} {tables.cancel_reason(story)}".strip())}</div>'
        ]
    warning = first_line(story)
    claim = words.no_decision if decision.decision is None else decision.decision.text
    return [
        *([f'<p class="card warn">{escape_text(warning)}</p>'] if warning else []),
        f'<div class="card decision">{render_quote(claim)}'
        f"{_named(story, tables.resolution_rows(decision, words))}{_tally(story, words)}</div>",
        *_motion(story, words),
        *_votes(story, words),
    ]


def _motion(story: Deliberation, words: ViewWords) -> list[str]:
    found = tables.motion_shown(story)
    if found is None:
        return []
    title = words.motion if story.closed is None else words.not_carried
    head = f"{title} ({render_link(found.id)}, {words.motion_by.format(seat=escape_text(found.seat))})"
    details = _named(story, tables.details(found, words))
    return [f'<div class="card"><div class="soft">{head}</div>{render_quote(found.said.text)}{details}</div>']


def _tally(story: Deliberation, words: ViewWords) -> str:
    """The sides as a bar, each as wide as its votes weigh."""
    weighty = [side for side in tables.sides(story) if side.weight]
    total = sum(side.weight for side in weighty)
    shares = [(side, side.weight / total * 100) for side in weighty]
    parts = "".join(f'<i class="vote-{side.position}" style="flex:{share:.2f}"></i>' for side, share in shares)
    told = ", ".join(f"{tables.side_name(side, words)} {share:.0f} %" for side, share in shares)
    return f'<div class="tally" role="img" aria-label="{escape_text(told)}">{parts}</div>' if parts else ""


def _votes(story: Deliberation, words: ViewWords) -> list[str]:
    keys = [Markup(f'<i class="key vote-{side.position}"></i>{tables.side_name(side, words)}') for side in tables.sides(story)]
    rows = [(key, *rest) for key, (_, *rest) in zip(keys, tables.vote_rows(story, words), strict=True)]
    note = tables.votes_note(story, words)
    return [*([render_table(words.vote_heads, rows)] if rows else []), *([f'<p class="soft">{note}</p>'] if note else [])]


def _dissent(story: Deliberation, decision: Decision, words: ViewWords) -> list[str]:
    if story.resolution is None or story.resolution.motion is None:
        return []
    head = f"<h2>{words.dissent}</h2>"
    if not decision.dissent:
        return [head, f'<p class="soft">{words.no_dissent}</p>']
    items = (
        f'<b>{escape_text(voice.seat)}</b> <span class="soft">({", ".join(_value(story, mark) for mark in marks)})</span> '
        f"{escape_text(voice.text or words.gives_no_reason)}"
        for voice, marks in tables.dissent_marks(story, decision, words)
    )
    return [head, render_bullets(items)]


def _positions(story: Deliberation, decision: Decision, words: ViewWords) -> list[str]:
    shown = _table(story, words.positions, words.position_heads, tables.position_rows(story, decision, words))
    changed = [f"{escape_text(told)} ({_value(story, by)})" for told, by in tables.changes(story, decision, words)]
    return [*shown, f'<p class="soft">{words.changed}</p>', render_bullets(changed)] if changed else shown


def _passed(story: Deliberation, words: ViewWords) -> list[str]:
    rows = tables.pass_rows(story, words)
    return [f"<h2>{words.passed}</h2>", f'<div class="card">{_named(story, rows)}</div>'] if rows else []


def _missing(story: Deliberation, decision: Decision, words: ViewWords) -> list[str]:
    told, losses = lost_lines(story, decision, words), tables.loss_rows(story, words)
    if not told and not losses:
        return []
    return [
        f"<h2>{words.missing}</h2>",
        *([render_bullets(escape_text(line) for line in told)] if told else []),
        *([render_table(words.loss_heads, losses)] if losses else []),
    ]


def _timeline(story: Deliberation, words: ViewWords) -> list[str]:
    colours = assign_hues(story.council.seats)
    notes = tables.notes(story, words)
    cards = [_card(story, story.timeline[0], (), words, colours)]
    for phase in tables.phases(story):
        motion = f" · {words.motion} {render_link(phase.motion)}" if phase.motion else ""
        cards.append(f"<section>\n<h3>{tables.phase_name(phase.phase, phase.round, words)}{motion}</h3>")
        cards += [] if phase.lines else [f'<p class="soft">{words.nothing_said}</p>']
        cards += [_card(story, line, notes[line.id], words, colours) for line in phase.lines]
        cards.append("</section>")
    return cards


def _card(story: Deliberation, line: TimelineLine, notes: Sequence[Refs], words: ViewWords, colours: Mapping[SeatId, int]) -> str:
    is_sealed = tables.is_sealed(story, line)
    shown = render_quote(line.content) if line.content else ""
    inner = f'<div class="soft">{words.sealed}</div>' if is_sealed else shown
    spoken = None if is_sealed else line.spoken
    head = (
        render_muted(f"#{line.id}"),
        render_speaker(line.speaker),
        _marks(story, spoken, notes, words),
        render_muted(line.timestamp),
    )
    details = _named(story, tables.details(spoken, words)) if spoken else ""
    return render_card(line.id, colours.get(line.speaker), head, f"{inner}{details}")


def _marks(story: Deliberation, line: Spoken | None, notes: Sequence[Refs], words: ViewWords) -> str:
    if line is None:
        return ""
    what, *rest = tables.marks(line, words)
    tag = f'<span class="tag {line.said.position or line.said.type}">{escape_text(what)}</span>'
    return tag + "".join(f"<span>{_value(story, mark)}</span>" for mark in (*rest, *notes))
