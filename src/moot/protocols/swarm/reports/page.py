"""The report as one self-contained HTML page with charts: no script, nothing loaded from elsewhere, everything said escaped."""

from collections.abc import Collection, Sequence
from typing import Final

from moot.domain.safe_text import one_line
from moot.protocols.swarm.reports.report import (
    agent_rows,
    consensus_rows,
    evolution_lines,
    format_agent_name,
    format_verdict,
    has_validator,
    insight_lines,
    join_rows,
    list_event_lines,
    list_figures,
    list_unique_ideas,
    round_rows,
    validation_lines,
    vote_rows,
)
from moot.protocols.swarm.reports.timeline import SwarmTimeline, build_decision
from moot.protocols.swarm.reports.what_if import WhatIfResult, compute_what_if
from moot.reports.costs import build_cost_rows
from moot.reports.html import LIST_STYLE, STYLE, escape_text, render_bullets, render_document, render_table
from moot.reports.summary import format_percent

WIDTH: Final = 720
HEIGHT: Final = 220
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 14, 30
MOST_LINES: Final = 8
MOST_BARS: Final = 20
_COLORS: Final = ("#0b63ce", "#c8452d", "#2c8a4b", "#8a4bc8", "#b58a00", "#1a9aa8", "#c82d86", "#5c6570")
_STYLE: Final = """.chart{overflow-x:auto}svg{width:100%;min-width:36rem;height:auto}svg text{fill:var(--soft);font-size:12px}
td:first-child{white-space:nowrap}.grid{stroke:var(--line)}.limit{stroke:var(--soft);stroke-dasharray:4 4}
.bar{display:grid;grid-template-columns:8rem 1fr 8rem;gap:.2rem .9rem;align-items:center;font-size:.9rem;color:var(--soft);
margin:.5rem 0;overflow-wrap:anywhere}.bar.named{grid-template-columns:14rem 1fr}.track{height:1rem;border-radius:.2rem;
background:var(--line);overflow:hidden}.track i{display:block;height:100%;background:var(--mark)}.track .good{background:#2c8a4b}
.track .bad{background:#c8452d}@media(max-width:40rem){.bar,.bar.named{grid-template-columns:1fr auto}
.bar .track{grid-column:1/-1;grid-row:2}.bar.named{grid-template-columns:1fr}}
.key{display:flex;flex-wrap:wrap;gap:.3rem 1.1rem;font-size:.88rem}.key i{display:inline-block;width:.8rem;height:.8rem;
border-radius:.2rem;margin-right:.35rem;vertical-align:-.08rem}pre{white-space:pre-wrap;overflow-wrap:anywhere}
"""


def render_html_report(timeline: SwarmTimeline, apart: Collection[str] = ()) -> str:
    """The whole page, at any time of a run."""
    swarm, words, found = timeline.state, timeline.words, compute_what_if(timeline, apart)
    body = [
        f"<h1>{escape_text(one_line(swarm.opened.topic))}</h1>",
        f'<p class="soft">{escape_text(words.report)} · {escape_text(timeline.session)} · {escape_text(words.modes[swarm.settings.mode])} · '  # noqa: E501
        f"{escape_text(words.crew.format(count=len(swarm.explorers)))} · {escape_text(words.rounds)} {swarm.round}</p>",
    ]
    if found.undone:
        body.append(f'<p class="card">{escape_text(words.undone.format(joins=", ".join(found.undone)))}</p>')
    body.append(
        f'<section class="card decision"><strong>{escape_text(format_verdict(timeline, found))}</strong>{_render_decision(timeline)}</section>'  # noqa: E501
    )
    if found.rounds:
        body += _render_measurements(timeline, found)
    body += _render_agents(timeline)
    body += _render_other_sections(timeline, found)
    return render_document(swarm.opened.language, one_line(swarm.opened.topic)[:80], STYLE + LIST_STYLE + _STYLE, body)


def _render_decision(timeline: SwarmTimeline) -> str:
    decision = build_decision(timeline)
    said = f'<p class="said">{escape_text(decision.decision.text)}</p>' if decision.decision is not None else ""
    for each in timeline.completed.resolved if timeline.completed is not None else ():
        told = timeline.words.by_vote.format(
            kind=each.consensus_type,
            count=each.heads,
            all=len(timeline.state.explorers),
            support=format_percent(each.support),
            confidence=format_percent(each.confidence),
        )
        said += f'<p class="soft">idea-{each.idea}: {escape_text(told)}</p>'
    return said


def _render_measurements(timeline: SwarmTimeline, found: WhatIfResult) -> list[str]:
    words, last = timeline.words, found.rounds[-1]
    parts = [f"<h2>{escape_text(words.figures)}</h2>", f'<div class="card">{_render_gauges(timeline, found)}</div>']
    head = words.consensus.format(threshold=format_percent(timeline.state.settings.quorum_threshold))
    rows = consensus_rows(timeline, last)
    parts.append(f"<h2>{escape_text(head)}</h2>")
    parts.append(render_table(words.consensus_heads, rows) if rows else f'<p class="card">{escape_text(words.no_consensus)}</p>')
    backed = {each.number: each for each in last.backed}
    lines = [
        escape_text(
            words.who_line.format(
                idea=f"idea-{number}",
                own=", ".join(backed[number].independent) or "–",
                joined=", ".join(backed[number].joined) or "–",
            )
        )
        for number in last.quorum
    ]
    if lines:
        parts += [f"<h2>{escape_text(words.who)}</h2>", render_bullets(lines), f'<p class="soft">{escape_text(words.weak)}</p>']
    unique = list_unique_ideas(found)[:40]
    if unique:
        parts += [
            f"<h2>{escape_text(words.unique)}</h2>",
            render_bullets(f"{escape_text(idea)} ({escape_text(format_agent_name(seat))})" for idea, seat in unique),
        ]
    parts += [
        f"<h2>{escape_text(words.by_round)}</h2>",
        _render_card(_render_convergence_chart(timeline, found)),
        render_table(words.round_heads, round_rows(timeline, found)),
    ]
    parts += [
        f"<h2>{escape_text(words.pheromones)}</h2>",
        _render_card(_render_pheromone_chart(timeline)),
        _render_card(_render_pheromone_bars(timeline)),
    ]
    return parts


def _render_card(inner: str) -> str:
    return f'<div class="card">{inner}</div>' if inner else ""


def _render_agents(timeline: SwarmTimeline) -> list[str]:
    words = timeline.words
    lines = "\n".join(evolution_lines(timeline))
    return [
        f"<h2>{escape_text(words.agent_table)}</h2>",
        render_table(words.agent_heads, agent_rows(timeline)),
        f"<h2>{escape_text(words.evolution)}</h2>",
        _render_card(_render_roles_chart(timeline)),
        f'<details class="card"><summary>{escape_text(words.evolution)}</summary><pre>{escape_text(lines)}</pre></details>',
    ]


def _render_other_sections(timeline: SwarmTimeline, found: WhatIfResult) -> list[str]:
    words, parts = timeline.words, []
    joins = join_rows(timeline)
    if joins:
        parts += [f"<h2>{escape_text(words.joined)}</h2>", render_table(words.joined_heads, joins)]
        parts.append(f'<p class="soft">{escape_text(words.joined_how.format(session=timeline.session))}</p>')
    votes = vote_rows(timeline)
    if votes:
        parts += [f"<h2>{escape_text(words.votes)}</h2>", render_table(words.vote_heads, votes)]
    checked = validation_lines(timeline)
    if checked:
        parts += [f"<h2>{escape_text(words.validator)}</h2>", render_bullets(escape_text(line) for line in checked)]
        parts += [] if has_validator(timeline) else [f'<p class="soft">{escape_text(words.no_validator)}</p>']
    insights = insight_lines(timeline)
    if insights:
        parts += [f"<h2>{escape_text(words.insights)}</h2>", render_bullets(escape_text(line) for line in insights)]
    lines = list_event_lines(timeline)
    if lines:
        inner = "".join(f"<li>{escape_text(line)}</li>" for line in lines)
        parts.append(f'<details class="card"><summary>{escape_text(words.what_happened)}</summary><ul>{inner}</ul></details>')
    rows = build_cost_rows(timeline.costs, timeline.state.seats, timeline.spent, words.total)
    return [*parts, f"<h2>{escape_text(words.cost)}</h2>", render_table(words.cost_heads, rows)]


def _render_svg(inner: str, label: str) -> str:
    view = f'viewBox="0 0 {WIDTH} {HEIGHT}"'
    return f'<div class="chart"><svg {view} role="img" aria-label="{escape_text(label)}">{inner}</svg></div>'


def _render_track(value: float, kind: str) -> str:
    return f'<div class="track"><i class="{kind}" style="width:{max(0.0, min(1.0, value)) * 100:.1f}%"></i></div>'


def _render_gauges(timeline: SwarmTimeline, found: WhatIfResult) -> str:
    return "".join(
        f'<div class="bar"><span>{escape_text(name)}</span>{_render_track(value, "good" if holds else "bad")}'
        f"<span>{'✓' if holds else '✗'} {escape_text(told)}</span></div>"
        for name, value, holds, told in list_figures(timeline, found)
    )


def _scale_x(at: int, count: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (at / max(1, count - 1) if count > 1 else 0.5)


def _scale_y(value: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - max(0.0, min(1.0, value)))


def _render_axes(labels: Sequence[str]) -> str:
    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_scale_y(value):.1f}" y2="{_scale_y(value):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{_scale_y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
        for value in (0.0, 0.25, 0.5, 0.75, 1.0)
    )
    step = max(1, len(labels) // 20)
    ticks = "".join(
        f'<text x="{_scale_x(at, len(labels)):.1f}" y="{HEIGHT - 8}" text-anchor="middle">{escape_text(label)}</text>'
        for at, label in enumerate(labels)
        if at % step == 0
    )
    return grid + ticks


def _render_line(values: Sequence[float | None], count: int, color: str, first: int = 0) -> str:
    points = [(_scale_x(at + first, count), _scale_y(value)) for at, value in enumerate(values) if value is not None]
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{color}"/>' for x, y in points)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>{dots}'


def _render_limit(value: float) -> str:
    return f'<line class="limit" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_scale_y(value):.1f}" y2="{_scale_y(value):.1f}"/>'


def _render_legend(names: Sequence[str]) -> str:
    inner = "".join(
        f'<span><i style="background:{_COLORS[at % len(_COLORS)]}"></i>{escape_text(name)}</span>'
        for at, name in enumerate(names)
    )
    return f'<div class="key">{inner}</div>'


def _render_convergence_chart(timeline: SwarmTimeline, found: WhatIfResult) -> str:
    """Best support and diversity by round, with the two bounds."""
    words, settings, rounds = timeline.words, timeline.state.settings, found.rounds
    count = len(rounds)
    inner = (
        _render_axes([str(each.round) for each in rounds])
        + _render_limit(settings.quorum_threshold)
        + _render_limit(settings.min_diversity)
    )
    inner += _render_line([each.verdict.consensus_rate for each in rounds], count, _COLORS[0])
    inner += _render_line([each.diversity.overall for each in rounds], count, _COLORS[1])
    return _render_svg(inner, words.by_round) + _render_legend([words.quorum, words.diversity])


def _render_pheromone_chart(timeline: SwarmTimeline) -> str:
    """The strongest directions over the rounds."""
    settlements = timeline.settlements
    if not settlements or not timeline.state.board.pheromones:
        return ""
    ranked = sorted(timeline.state.board.pheromones.values(), key=lambda each: (-each.concentration, each.direction))[:MOST_LINES]
    inner = _render_axes([str(each.round) for each in settlements])
    for at, each in enumerate(ranked):
        values = [
            next((change.after for change in settled.evaporated if change.direction == each.direction), None)
            for settled in settlements
        ]
        inner += _render_line(values, len(settlements), _COLORS[at % len(_COLORS)])
    return _render_svg(inner, timeline.words.pheromones) + _render_legend([each.direction for each in ranked])


def _render_pheromone_bars(timeline: SwarmTimeline) -> str:
    ranked = sorted(timeline.state.board.pheromones.values(), key=lambda each: (-each.concentration, each.direction))[:MOST_BARS]
    return "".join(
        f'<div class="bar named"><span>{each.concentration:.2f} {escape_text(one_line(each.direction)[:70])}</span>'
        f"{_render_track(each.concentration, 'mark')}</div>"
        for each in ranked
    )


def _render_roles_chart(timeline: SwarmTimeline) -> str:
    """How the crew is made up, round by round."""
    roles = ("EXPLORER", "DEEP_ANALYST", "DEBATER", "SYNTHESIZER")
    crews = timeline.crews
    total = max((sum(crew.values()) for crew in crews), default=0)
    if not total:
        return ""
    width = (WIDTH - LEFT - RIGHT) / len(crews)
    inner = []
    for at, crew in enumerate(crews):
        y = float(HEIGHT - BOTTOM)
        for number, role in enumerate(roles):
            tall = (HEIGHT - TOP - BOTTOM) * crew.get(role, 0) / total
            y -= tall
            inner.append(
                f'<rect x="{LEFT + at * width + width * 0.15:.1f}" y="{y:.1f}" width="{width * 0.7:.1f}" height="{tall:.1f}" '
                f'fill="{_COLORS[number]}"/>'
            )
        inner.append(f'<text x="{LEFT + (at + 0.5) * width:.1f}" y="{HEIGHT - 8}" text-anchor="middle">T{at}</text>')
    return _render_svg("".join(inner), timeline.words.evolution) + _render_legend(roles)
