"""The reports of a run as Markdown: `convergence-report.md` and `final-research-report.md` (S-25)."""

from collections.abc import Collection, Mapping
from typing import Final

from moot.protocols.swarm.facts import VALIDATOR, SwarmClosed
from moot.protocols.swarm.prompt_text import DISPLAY_NAMES
from moot.protocols.swarm.reports.timeline import SwarmTimeline, build_decision
from moot.protocols.swarm.reports.what_if import BackedIdea, WhatIfResult, WhatIfRound, compute_what_if
from moot.protocols.swarm.rules.operations import direction_key
from moot.protocols.swarm.rules.shutdown import list_ballot_ideas
from moot.reports.costs import build_cost_rows
from moot.reports.markdown import format_cell, format_table, quote_markdown
from moot.reports.summary import format_percent

BAR: Final = 20
MOST_UNIQUE: Final = 40
MOST_EVENTS: Final = 200
_SHOWN_EVENTS: Final = frozenset(
    (
        "round_degraded",
        "response_lost",
        "violation",
        "agent_degraded",
        "agent_removed",
        "agent_terminated",
        "agent_force_terminated",
        "agent_interrupted",
        "agent_active",
        "force_wake",
        "measure_lost",
        "diversity_warning",
        "stagnation_warning",
        "pheromone_protected",
        "pheromone_stopped",
        "stop_signal_expired",
        "role_transition_executed",
        "swarm_completed",
        "fault",
    )
)
"""The events that a reader wants to hear of."""


def format_bar(value: float) -> str:
    """A share as a bar of twenty blocks."""
    filled = round(max(0.0, min(1.0, value)) * BAR)
    return "█" * filled + "░" * (BAR - filled)


def format_agent_name(seat: str) -> str:
    """An agent as reports name it."""
    shown = DISPLAY_NAMES.get(seat)
    return f"{seat} ({shown})" if shown else seat


def format_verdict(timeline: SwarmTimeline, found: WhatIfResult) -> str:
    """What it came to, in one plain sentence; a run that did not converge says so first."""
    words = timeline.words
    if timeline.closed is None:
        return words.still_open
    if not isinstance(timeline.closed, SwarmClosed):
        return words.cancelled
    last = found.rounds[-1] if found.rounds else None
    is_converged = last is not None and last.verdict.converged if found.undone else timeline.closed.converged
    if is_converged:
        return words.converged
    if timeline.closed.reason == "synthesis":
        return words.classic
    reason = words.convergence_reasons[last.verdict.reason] if last is not None and last.verdict.reason else ""
    ended = words.endings.get(timeline.closed.reason, timeline.closed.reason)
    told = words.not_converged.format(reason="; ".join(part for part in (reason, ended) if part))
    return f"{words.partial} {told}"


def list_figures(timeline: SwarmTimeline, found: WhatIfResult) -> list[tuple[str, float, bool, str]]:
    """The three figures: their name, how full their bar is, whether they hold, and the numbers."""
    words, settings, last = timeline.words, timeline.state.settings, found.rounds[-1]
    stable = 0
    sets = [each.ideas for each in found.rounds]
    for ideas in reversed(sets):
        if not ideas or ideas != sets[-1]:
            break
        stable += 1
    stable = min(stable, settings.beta)
    verdict = last.verdict
    return [
        (words.stability, stable / settings.beta, verdict.stable, f"{stable}/{settings.beta}"),
        (
            words.quorum,
            verdict.consensus_rate,
            verdict.quorum,
            f"{format_percent(verdict.consensus_rate)} / {format_percent(settings.quorum_threshold)}",
        ),
        (
            words.diversity,
            last.diversity.overall,
            verdict.diverse,
            f"{last.diversity.overall:.2f} / {settings.min_diversity:g}",
        ),
    ]


def find_strongest_pheromone(timeline: SwarmTimeline, idea: int) -> float | None:
    """The strongest concentration among the directions in which an idea was found."""
    board = timeline.state.board
    keys = {direction_key(each.direction) for each in board.findings if each.idea == idea and each.direction}
    return max((board.pheromones[key].concentration for key in keys if key in board.pheromones), default=None)


def consensus_rows(timeline: SwarmTimeline, last: WhatIfRound) -> list[tuple[object, ...]]:
    """The ideas that reached the quorum."""
    backed = {each.number: each for each in last.backed}
    rows: list[tuple[object, ...]] = []
    for number in last.quorum:
        each = backed[number]
        strength = find_strongest_pheromone(timeline, number)
        rows.append(
            (
                f"idea-{number}",
                each.text,
                f"{len(each.backers)}/{last.active}",
                format_percent(len(each.backers) / last.active),
                f"{len(each.independent)}/{last.active}",
                "–" if strength is None else f"{strength:.2f}",
            )
        )
    return rows


def list_unique_ideas(found: WhatIfResult) -> list[tuple[str, str]]:
    """The ideas that one agent alone had, with its name."""
    return [(found.texts[number], seats[0]) for number, seats in sorted(found.owners.items()) if len(seats) == 1]


def agent_rows(timeline: SwarmTimeline) -> list[tuple[object, ...]]:
    return [
        (
            format_agent_name(seat),
            agent.role,
            agent.status,
            agent.ended or "–",
            agent.rounds,
            agent.findings,
            agent.deposits,
            agent.score,
        )
        for seat, agent in timeline.state.agents.items()
    ]


def evolution_lines(timeline: SwarmTimeline) -> list[str]:
    """How many agents had which role, round by round."""
    return [
        f"T{at}: " + ", ".join(f"{role} × {count}" for role, count in sorted(crew.items()))
        for at, crew in enumerate(timeline.crews)
    ]


def round_rows(timeline: SwarmTimeline, found: WhatIfResult) -> list[tuple[object, ...]]:
    words = timeline.words
    return [
        (
            each.round,
            len(each.ideas),
            "✓" if each.verdict.stable else "–",
            format_percent(each.verdict.consensus_rate),
            "✓" if each.verdict.quorum else "–",
            f"{each.diversity.overall:.3f}",
            words.convergence_reasons[each.verdict.reason],
        )
        for each in found.rounds
    ]


def conclusion_lines(timeline: SwarmTimeline) -> list[str]:
    """What the run decided, and by how much."""
    words, decision = timeline.words, build_decision(timeline)
    if decision.decision is None:
        lines = [
            words.no_consensus if not timeline.state.consensus else words.not_carried if timeline.state.ballots else words.no_vote
        ]
    else:
        lines = quote_markdown(decision.decision.text)
    for each in timeline.completed.resolved if timeline.completed is not None else ():
        told = words.by_vote.format(
            kind=each.consensus_type,
            count=each.heads,
            all=len(timeline.state.explorers),
            support=format_percent(each.support),
            confidence=format_percent(each.confidence),
        )
        lines += ["", f"idea-{each.idea}: {told}"]
    return lines


def render_convergence_report(timeline: SwarmTimeline, apart: Collection[str] = ()) -> str:
    """`convergence-report.md`."""
    words, found = timeline.words, compute_what_if(timeline, apart)
    parts = [
        [f"# {words.convergence_report}: {format_cell(timeline.session)}"],
        *_render_undone_joins(timeline, found),
        [format_verdict(timeline, found)],
    ]
    if found.rounds:
        parts.append([f"## {words.figures}", "", *_render_bars(timeline, found)])
        parts.append([f"## {words.by_round}", "", *format_table(words.round_heads, round_rows(timeline, found))])
        parts.append(_render_consensus(timeline, found.rounds[-1]))
    parts.append(_render_joins(timeline))
    return _join_parts(parts)


def render_final_report(timeline: SwarmTimeline, apart: Collection[str] = ()) -> str:
    """`final-research-report.md`, at any time of a run."""
    swarm, words, found = timeline.state, timeline.words, compute_what_if(timeline, apart)
    active = swarm.measured.active if swarm.measured is not None else len(swarm.active)
    head = [
        f"# {words.report}: {format_cell(timeline.session)}",
        "",
        f"**{words.task}**",
        "",
        *quote_markdown(swarm.opened.topic),
        "",
        f"- {words.mode}: {words.modes[swarm.settings.mode]}",
        f"- {words.agents}: {words.agents_line.format(count=len(swarm.explorers), active=active)}",
        f"- {words.time}: {words.minutes.format(minutes=timeline.spent.seconds / 60)}",
        f"- {words.rounds}: {swarm.round}/{swarm.settings.max_rounds if swarm.settings.mode != 'classic' else 1}",
    ]
    parts = [head, *_render_undone_joins(timeline, found), [f"**{format_verdict(timeline, found)}**"]]
    if found.rounds:
        last = found.rounds[-1]
        parts.append([f"## {words.figures}", "", *_render_bars(timeline, found)])
        parts += [_render_consensus(timeline, last), _render_independence(timeline, last), _render_unique_ideas(timeline, found)]
    parts.append([f"## {words.agent_table}", "", *format_table(words.agent_heads, agent_rows(timeline))])
    parts.append([f"## {words.evolution}", "", "```", *evolution_lines(timeline), "```"])
    parts.append([f"## {words.pheromones}", "", *_render_pheromones(timeline)])
    if found.rounds:
        parts.append([f"## {words.by_round}", "", *format_table(words.round_heads, round_rows(timeline, found))])
    parts += [
        _render_joins(timeline),
        _render_votes(timeline),
        _render_validation(timeline),
        _render_insights(timeline),
        _render_events(timeline),
    ]
    parts.append([f"## {words.conclusion}", "", f"**{format_verdict(timeline, found)}**", "", *conclusion_lines(timeline)])
    rows = build_cost_rows(timeline.costs, swarm.seats, timeline.spent, words.total)
    parts.append([f"## {words.cost}", "", *format_table(words.cost_heads, rows)])
    return _join_parts(parts)


def _join_parts(parts: list[list[str]]) -> str:
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _render_undone_joins(timeline: SwarmTimeline, found: WhatIfResult) -> list[list[str]]:
    return [[timeline.words.undone.format(joins=", ".join(found.undone))]] if found.undone else []


def _render_bars(timeline: SwarmTimeline, found: WhatIfResult) -> list[str]:
    lines = [
        f"{name} │ {format_bar(value)} │ {'✓' if holds else '✗'} {told}"
        for name, value, holds, told in list_figures(timeline, found)
    ]
    return ["```", *lines, "```"]


def _render_consensus(timeline: SwarmTimeline, last: WhatIfRound) -> list[str]:
    words = timeline.words
    head = f"## {words.consensus.format(threshold=format_percent(timeline.state.settings.quorum_threshold))}"
    rows = consensus_rows(timeline, last)
    return [head, "", *(format_table(words.consensus_heads, rows) if rows else [words.no_consensus])]


def _render_independence(timeline: SwarmTimeline, last: WhatIfRound) -> list[str]:
    words = timeline.words
    backed = {each.number: each for each in last.backed}
    chosen: list[BackedIdea] = [backed[number] for number in last.quorum]
    if not chosen:
        return []
    lines = [
        "- "
        + words.who_line.format(
            idea=f"idea-{each.number}", own=", ".join(each.independent) or "–", joined=", ".join(each.joined) or "–"
        )
        for each in chosen
    ]
    return [f"## {words.who}", "", *lines, "", words.weak]


def _render_unique_ideas(timeline: SwarmTimeline, found: WhatIfResult) -> list[str]:
    words = timeline.words
    lines = [f"- {format_cell(text)} ({format_agent_name(seat)})" for text, seat in list_unique_ideas(found)[:MOST_UNIQUE]]
    return [f"## {words.unique}", "", *(lines or [words.none])]


def _render_pheromones(timeline: SwarmTimeline) -> list[str]:
    ranked = sorted(timeline.state.board.pheromones.values(), key=lambda each: (-each.concentration, each.direction))
    lines = [f"- `{format_bar(each.concentration)}` {each.concentration:.2f} {format_cell(each.direction)}" for each in ranked]
    return lines or [timeline.words.none]


def join_rows(timeline: SwarmTimeline) -> list[tuple[object, ...]]:
    """Which ideas were joined, and why."""
    return [
        (
            join.id,
            join.placed.text,
            f"idea-{join.placed.idea}: {join.placed.like}",
            f"{join.placed.reason} ({join.by})" if join.placed.reason == "measure" else join.placed.reason,
            "–" if join.placed.likeness is None else f"{join.placed.likeness:.2f}",
        )
        for join in timeline.joins
    ]


def _render_joins(timeline: SwarmTimeline) -> list[str]:
    words, rows = timeline.words, join_rows(timeline)
    if not rows:
        return []
    return [
        f"## {words.joined}",
        "",
        *format_table(words.joined_heads, rows),
        "",
        words.joined_how.format(session=timeline.session),
    ]


def vote_rows(timeline: SwarmTimeline) -> list[tuple[object, ...]]:
    swarm = timeline.state
    return [
        (f"idea-{vote.idea}", format_agent_name(seat), vote.position, f"{vote.confidence:.2f}", vote.reason)
        for idea in list_ballot_ideas(swarm)
        for seat in swarm.explorers
        if (ballot := swarm.ballots.get(seat)) is not None
        for vote in ballot.votes
        if vote.idea == idea
    ]


def _render_votes(timeline: SwarmTimeline) -> list[str]:
    rows = vote_rows(timeline)
    return [f"## {timeline.words.votes}", "", *format_table(timeline.words.vote_heads, rows)] if rows else []


def validation_lines(timeline: SwarmTimeline) -> list[str]:
    """The findings that need validation, each with the validator's word on it."""
    words = timeline.words
    return [
        f"{each.id} ({each.seat}): {each.core_idea} — "
        + (words.validated.format(verdict=each.verdict, reason=each.checked) if each.verdict else words.unvalidated)
        for each in [each for each in timeline.state.board.findings if each.needs_validation][:MOST_UNIQUE]
    ]


def has_validator(timeline: SwarmTimeline) -> bool:
    return VALIDATOR in timeline.state.helpers


def _render_validation(timeline: SwarmTimeline) -> list[str]:
    words = timeline.words
    lines = [f"- {format_cell(line)}" for line in validation_lines(timeline)]
    if not lines:
        return []
    return [f"## {words.validator}", "", *lines, *([] if has_validator(timeline) else ["", words.no_validator])]


def insight_lines(timeline: SwarmTimeline) -> list[str]:
    """What collisions brought up, each with its author."""
    lines = [
        f"{text} ({review.seat}, {review.action} {each.id})"
        for each in timeline.state.board.findings
        for review in each.reviews
        for text in review.insights
    ]
    return lines[:MOST_UNIQUE]


def _render_insights(timeline: SwarmTimeline) -> list[str]:
    lines = [f"- {format_cell(line)}" for line in insight_lines(timeline)]
    return [f"## {timeline.words.insights}", "", *lines] if lines else []


def list_event_lines(timeline: SwarmTimeline) -> list[str]:
    """What a reader wants to hear of, one line each, the newest kept where there is too much."""
    found = [event for event in timeline.events if event["type"] in _SHOWN_EVENTS]
    return [_format_event(event) for event in found[-MOST_EVENTS:]]


def _format_event(event: Mapping[str, object]) -> str:
    told = {name: _format_value(value) for name, value in event.items() if name not in {"id", "type", "round"}}
    rest = ", ".join(f"{name} {value}" for name, value in told.items() if value)
    return f"[{event['round']}] {event['type']}" + (f": {rest}" if rest else "")


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.4g}"
    return ", ".join(str(each) for each in value) if isinstance(value, list) else str(value)


def _render_events(timeline: SwarmTimeline) -> list[str]:
    return [f"## {timeline.words.what_happened}", "", *(f"- {format_cell(line)}" for line in list_event_lines(timeline))]
