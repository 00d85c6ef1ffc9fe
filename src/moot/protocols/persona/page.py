"""The meeting as one self-contained HTML page: no script, nothing loaded from elsewhere, everything said is escaped."""

from html import escape

from moot.domain.facts import SessionCancelled, SessionImported
from moot.domain.fence import plain
from moot.domain.ids import SeatId
from moot.projections.decision import Claim, Decision
from moot.protocols.persona.story import Story, Turn, decided
from moot.protocols.persona.tables import (
    Row,
    backing,
    cost_rows,
    lost_lines,
    percent,
    position_rows,
    what_it_means,
    without_dissent,
)
from moot.protocols.persona.view_words import VIEW_WORDS, ViewWords

_HUES = (212, 12, 150, 275, 40, 190, 330, 95)

_STYLE = """
:root{color-scheme:light dark;--ink:#1c1e21;--soft:#5c6570;--line:#d9dee4;--card:#fff;--back:#f5f6f8;--mark:#0b63ce}
@media(prefers-color-scheme:dark){:root{--ink:#e8eaed;--soft:#a3adb8;--line:#343a42;--card:#1d2126;--back:#14171a;--mark:#7db4ff}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);font:16px/1.55 system-ui,sans-serif}
main{max-width:62rem;margin:0 auto;padding:2rem 1rem 4rem}h1{font-size:1.5rem;margin:0 0 .25rem;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.2rem 0 .6rem}.soft{color:var(--soft)}
.card{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem 1.2rem;margin:.6rem 0}
.decision{border-left:.35rem solid var(--mark);font-size:1.08rem}.said{white-space:pre-wrap;overflow-wrap:anywhere}
.turn{border-left:.3rem solid hsl(var(--hue) 55% 50%)}.turn header{display:flex;gap:.8rem;flex-wrap:wrap;align-items:baseline}
.who{font-weight:650}a{color:var(--mark)}table{border-collapse:collapse;width:100%;font-size:.93rem}
th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid var(--line);vertical-align:top;overflow-wrap:break-word}
th{white-space:nowrap}
.bids{display:grid;gap:.2rem;margin:.5rem 0 0;font-size:.88rem}
.bid{display:grid;grid-template-columns:9rem 8rem 1fr;gap:.6rem;align-items:center}
.bar{height:.5rem;border-radius:.25rem;background:var(--line);overflow:hidden}
.bar i{display:block;height:100%;background:hsl(var(--hue) 55% 50%)}
details summary{cursor:pointer;color:var(--soft);font-size:.88rem}dl{display:grid;
grid-template-columns:max-content 1fr;gap:.2rem 1rem}
dt{color:var(--soft)}dd{margin:0}@media(max-width:40rem){.bid{grid-template-columns:6rem 5rem 1fr}
dl{grid-template-columns:1fr}dd{margin-bottom:.4rem}}
"""


def page(story: Story) -> str:
    """The page at any time of a meeting."""
    language = story.meeting.opened.language
    words = VIEW_WORDS[language]
    decision = decided(story)
    hues = {seat.id: _HUES[at % len(_HUES)] for at, seat in enumerate(story.meeting.seats)}
    body = [
        f"<h1>{_text(decision.topic)}</h1>",
        f'<p class="soft">{_text(story.session)} · {_text(story.timeline[0].timestamp)}</p>',
        *_decision(story, decision, words),
        *_claims(words.reasons, decision.reasons, words),
        *_dissent(decision, words),
        *_claims(words.open_questions, decision.open_questions, words),
        *_positions(decision, words),
        *_lost(decision, words),
        f"<h2>{words.timeline}</h2>",
        *_timeline(story, words, hues),
        *_seats(story, words),
    ]
    title = _text(decision.topic[:80])
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + "\n</main>\n</body>\n</html>\n"
    )


def _text(text: object) -> str:
    return escape(plain(str(text)))


def _refs(entries: tuple[int, ...], words: ViewWords) -> str:
    if not entries:
        return f'<span class="soft">({words.names_nothing})</span>'
    return " ".join(f'<a href="#entry-{entry}">#{entry}</a>' for entry in entries)


def _decision(story: Story, decision: Decision, words: ViewWords) -> list[str]:
    head = f"<h2>{words.decision}</h2>"
    if decision.decision is None:
        told = words.still_thinking if story.closed is None else words.no_decision
        if isinstance(story.closed, SessionCancelled):
            told = f"{words.cancelled} {story.closed.reason}"
        elif decision.ended_by is not None:
            told = f"{told} ({words.ended_by}: {words.endings.get(decision.ended_by, decision.ended_by)})"
        return [head, f'<div class="card decision">{_text(told)}</div>']
    if isinstance(story.closed, SessionImported):
        told = f'<div class="said">{_text(decision.decision.text)}</div><p class="soft">{words.read_back}</p>'
        return [head, f'<div class="card decision">{told}</div>']
    return [
        head,
        f'<div class="card decision"><div class="said">{_text(decision.decision.text)}</div>'
        f"<p>{words.rests_on} {_refs(decision.decision.entries, words)}</p><dl>"
        f"<dt>{words.author}</dt><dd>{_text(decision.author)}</dd>"
        f"<dt>{words.confidence}</dt><dd>{percent(decision.confidence)}</dd>"
        f"<dt>{words.support}</dt><dd>{backing(decision, words)}</dd>"
        f"<dt>{words.ended_by}</dt><dd>{_text(words.endings.get(decision.ended_by or '', decision.ended_by))}</dd></dl></div>",
    ]


def _claims(title: str, claims: tuple[Claim, ...], words: ViewWords) -> list[str]:
    if not claims:
        return []
    items = "".join(f"<li>{_text(claim.text)} {_refs(claim.entries, words)}</li>" for claim in claims)
    return [f"<h2>{title}</h2>", f'<ul class="card" style="padding-left:2.2rem">{items}</ul>']


def _dissent(decision: Decision, words: ViewWords) -> list[str]:
    if decision.decision is None:
        return []
    items = "".join(
        f"<li><b>{_text(voice.seat or words.reported)}</b> "
        f"{'' if voice.seat is None else '(' + words.verdicts[voice.kind] + ')'} {_text(voice.text)} "
        f"{_refs(voice.entries, words) if voice.entries else ''}</li>"
        for voice in decision.dissent
    )
    inner = (
        f'<ul class="card" style="padding-left:2.2rem">{items}</ul>'
        if items
        else f'<p class="soft">{_text(without_dissent(decision, words))}</p>'
    )
    return [f"<h2>{words.dissent}</h2>", inner]


def _table(heads: tuple[str, ...], rows: list[Row]) -> str:
    head = "".join(f"<th>{_text(name)}</th>" for name in heads)
    lines = "".join("<tr>" + "".join(f"<td>{_text(value)}</td>" for value in row) + "</tr>" for row in rows)
    return f'<div class="card" style="overflow-x:auto"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'


def _positions(decision: Decision, words: ViewWords) -> list[str]:
    if not decision.positions:
        return []
    return [f"<h2>{words.positions}</h2>", _table(words.position_heads, position_rows(decision, words))]


def _lost(decision: Decision, words: ViewWords) -> list[str]:
    if not decision.lost:
        return []
    items = "".join(f"<li>{_text(line)}</li>" for line in lost_lines(decision, words))
    meaning = what_it_means(decision, words)
    note = f"<p>{meaning}</p>" if meaning else ""
    return [f"<h2>{words.lost}</h2>", f'<div class="card"><ul>{items}</ul>{note}</div>']


def _timeline(story: Story, words: ViewWords, hues: dict[SeatId, int]) -> list[str]:
    turns = {turn.spoken: turn for turn in story.turns if turn.spoken is not None}
    silent = iter([turn for turn in story.turns if turn.spoken is None])
    waiting = next(silent, None)
    cards = []
    for line in story.timeline:
        score = "" if line.relevance_score is None else f'<span class="soft">{line.relevance_score:.2f}</span>'
        answers = (
            f'<span>{words.answers} <a href="#entry-{line.refers_to}">#{line.refers_to}</a></span>' if line.refers_to else ""
        )
        turn = turns.get(line.id)
        while turn is not None and waiting is not None and waiting.number < turn.number:
            cards.append(_silent(waiting, words, hues))
            waiting = next(silent, None)
        cards.append(
            f'<article class="card turn" id="entry-{line.id}" style="--hue:{hues.get(line.speaker, 0)}"><header>'
            f'<span class="soft">#{line.id}</span><span class="who">{_text(line.speaker)}</span>{score}{answers}'
            f'<span class="soft">{_text(line.platform)} {_text(line.timestamp)}</span></header>'
            f'<div class="said">{_text(line.content)}</div>{_bids(turn, words, hues) if turn else ""}</article>'
        )
    while waiting is not None:
        cards.append(_silent(waiting, words, hues))
        waiting = next(silent, None)
    return cards


def _silent(turn: Turn, words: ViewWords, hues: dict[SeatId, int]) -> str:
    return f'<article class="card">{_bids(turn, words, hues)}</article>'


def _bids(turn: Turn, words: ViewWords, hues: dict[SeatId, int]) -> str:
    rows = []
    for bid in turn.bids:
        score = 0.0 if bid.intent is None else bid.intent.reaction_score
        told = words.losses.get(bid.lost or "", "") if bid.intent is None else bid.intent.reason
        rows.append(
            f'<div class="bid"><span>{_text(bid.seat)} {"" if bid.intent is None else f"{score:.2f}"}</span>'
            f'<span class="bar" style="--hue:{hues.get(bid.seat, 0)}"><i style="width:{score * 100:.0f}%"></i></span>'
            f'<span class="soft">{_text(told)}</span></div>'
        )
    given = ", ".join(f"{_text(floor.seat)}: {words.floors[floor.reason]}" for floor in turn.floors)
    return f'<details><summary>{words.floor}: {given or "–"}</summary><div class="bids">{"".join(rows)}</div></details>'


def _seats(story: Story, words: ViewWords) -> list[str]:
    seats: list[Row] = [(seat.id, seat.stance, seat.platform, f"{seat.weight:g}") for seat in story.meeting.seats]
    return [
        f"<h2>{words.seats}</h2>",
        _table(words.seat_heads, seats),
        f"<h2>{words.cost}</h2>",
        _table(words.cost_heads, cost_rows(story, words)),
    ]
