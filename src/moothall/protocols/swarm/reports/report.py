"""The reports of a run as blocks: the final one (Markdown, page, terminal) and `convergence-report.md` (S-25).

Both take the names of joins to undo; their figures are then those that the run would have had without these joins.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final

from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import SHARED_REPORT, SwarmReportText
from moothall.protocols.swarm.facts import VALIDATOR, ConvergenceMeasured, SwarmSettings
from moothall.protocols.swarm.json_fields import format_agent_name
from moothall.protocols.swarm.reports import answer
from moothall.protocols.swarm.reports.decision import build_decision, find_outcome, list_votes
from moothall.protocols.swarm.reports.standing import IdeaStanding, SwarmStanding, build_standing
from moothall.protocols.swarm.reports.timeline import SwarmTimeline, translate_term
from moothall.protocols.swarm.rules.endings import find_confidence, list_voted_answers
from moothall.protocols.swarm.state import Finding
from moothall.reports import blocks
from moothall.reports.decision import Decision
from moothall.reports.plain_text import render_blocks
from moothall.reports.sections import build_report, format_lost_seats
from moothall.reports.wording import format_percent

MAX_LINES: Final = 8
"""Directions in the chart: as many as it has colours."""
MAX_BARS: Final = 20
MAX_EVENTS: Final = 200
"""So many of the newest stand in a report."""
ROLES: Final = ("EXPLORER", "DEEP_ANALYST", "DEBATER", "SYNTHESIZER")

_VOTE_TONES: Final[Mapping[str, blocks.Tone]] = {
    "support": "good",
    "conditional_support": "warn",
    "oppose": "bad",
}


def build_swarm_report(timeline: SwarmTimeline, apart: Collection[str] = ()) -> blocks.Report:
    """The final report at any time of a run, with the joins `apart` undone. Raises BadSetting when there is no such join."""
    words, standing = timeline.words, build_standing(timeline, apart)
    decision = build_decision(timeline)
    return build_report(
        timeline,
        decision,
        words,
        figures=answer.list_figures(standing),
        argument=(
            *answer.build_answer(standing, decision),
            *_build_sections(standing, *[*_SECTIONS][:FIRST]),
            *_build_lost_seats(timeline, decision),
        ),
        record=_build_sections(standing, *[*_SECTIONS][FIRST:]),
        seats=(),
        subtitle=_build_subtitle(timeline),
    )


def list_section_titles(words: SwarmReportText) -> tuple[str, ...]:
    """The titles of the report's sections in their order; a run that has nothing for one leaves it out."""
    titles = [str(getattr(words, section)) for section in _SECTIONS]
    shared = SHARED_REPORT[words.language]
    first = (shared.decision, shared.in_full, shared.reasons)
    argued = (words.conclusion, words.why, words.against, *titles[:FIRST], words.lost)
    folded = (shared.figures, words.cost, words.losses_title, words.answerers, words.mended)
    return (*first, *argued, *titles[FIRST:], *folded)


def render_convergence_report(timeline: SwarmTimeline, apart: Collection[str] = ()) -> str:
    """`convergence-report.md`: how the run converged, or did not, with the joins `apart` undone."""
    standing = build_standing(timeline, apart)
    title = blocks.Heading(f"{timeline.words.convergence_report}: {timeline.session}", 1)
    undone = answer.build_undone_joins(standing)
    verdict = answer.build_verdict(standing)
    rest = _build_sections(standing, "figures", "by_round", "consensus", "joined")
    return render_blocks((title, *undone, verdict, *rest))


def _build_subtitle(timeline: SwarmTimeline) -> tuple[blocks.Text, ...]:
    swarm, words = timeline.state, timeline.words
    active = swarm.measured.active if swarm.measured is not None else len(swarm.active)
    agents = words.agents_line.format(count=len(swarm.explorers), active=active)
    minutes = words.time_line.format(minutes=timeline.spent.seconds / 60)
    return (
        f"{words.mode}: {words.modes[swarm.settings.mode]}",
        f"{words.agents}: {agents}",
        f"{words.time}: {minutes}",
        f"{words.rounds}: {swarm.round}/{swarm.settings.max_rounds}",
    )


def _build_lost_seats(timeline: SwarmTimeline, decision: Decision) -> tuple[blocks.Block, ...]:
    """The seats that failed, once the run has ended."""
    if decision.status in {"thinking", "parked"}:
        return ()
    words = timeline.words
    return blocks.build_section(
        words.lost, (blocks.Bullets(format_lost_seats(decision, words), "bad"),)
    )


def _build_figures(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """The three figures that must hold, as bars."""
    gauges = build_gauges(standing.words, standing.swarm.settings, standing.what_if.rounds)
    return (blocks.Card(blocks=(blocks.Bars(gauges),)),) if gauges else ()


def build_gauges(
    words: SwarmReportText, settings: SwarmSettings, rounds: Sequence[ConvergenceMeasured]
) -> tuple[blocks.Bar, ...]:
    """How far the last round is from convergence; nothing before the first was measured."""
    if not rounds:
        return ()
    last, held = rounds[-1], rounds[-1].ideas
    # For how many rounds up to the last the same ideas were held.
    same = 0
    if held:
        same = sum(1 for _ in takewhile(lambda each: each.ideas == held, reversed(rounds)))
    stable = min(same, settings.beta)
    # Two of three are 66.7 %: as "67 % / 67 %" the failed quorum would look reached.
    support = f"{last.consensus_rate * 100:.3g} % / {settings.quorum_threshold * 100:.3g} %"
    rounds_held = f"{stable}/{settings.beta}"
    diversity = f"{last.diversity:.2f} / {settings.min_diversity:g}"
    return (
        _build_gauge(words.stability, stable / settings.beta, last.stable, rounds_held),
        _build_gauge(words.quorum, last.consensus_rate, last.has_quorum, support),
        _build_gauge(words.diversity, last.diversity, last.is_diverse, diversity),
    )


def _build_gauge(name: str, value: float, holds: bool, text: str) -> blocks.Bar:
    return blocks.Bar(
        name=name,
        value=value,
        text=f"{'✓' if holds else '✗'} {text}",
        tone="good" if holds else "bad",
    )


def _build_consensus(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """The ideas with a quorum: who held each before it could be read, who joined later (S-28), and their strongest pheromone."""
    words = standing.words
    rows = [_build_consensus_row(idea) for idea in standing.quorum_ideas]
    if rows:
        note = blocks.Line(words.weak, "dim")
    else:
        note = blocks.Line(words.no_consensus if standing.last is not None else "")
    return blocks.build_table(words.consensus_heads, rows), note


def _build_consensus_row(idea: IdeaStanding) -> tuple[str, ...]:
    joined = [seat for seat in idea.backers if seat not in idea.independent]
    return (
        idea.name,
        idea.text,
        f"{len(idea.backers)}/{idea.active}",
        format_percent(idea.share),
        ", ".join(idea.independent) or "–",
        ", ".join(joined) or "–",
        "–" if idea.pheromone is None else f"{idea.pheromone:.2f}",
    )


def _build_unique_ideas(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """The ideas that one agent alone had."""
    if standing.last is None:
        return ()
    unique = [idea for idea in standing.ideas if len(idea.owners) == 1]
    unique.sort(key=lambda idea: idea.number)
    items: list[blocks.Text] = [
        (blocks.Strong(format_agent_name(idea.owners[0])), f": {one_line(idea.text)}")
        for idea in unique
    ]
    return (answer.build_list(items) if items else blocks.Line(standing.words.none),)


def _build_agents(standing: SwarmStanding) -> Iterable[blocks.Block]:
    words = standing.words
    rows = [
        (
            format_agent_name(seat),
            translate_term(words, agent.role),
            translate_term(words, agent.status),
            translate_term(words, agent.ended or "–"),
            agent.rounds,
            agent.findings,
            agent.deposits,
            agent.score,
        )
        for seat, agent in standing.swarm.agents.items()
    ]
    return (blocks.build_table(words.agent_heads, rows),)


def _build_role_evolution(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """How many agents had which role, round by round."""
    words, crews = standing.words, standing.timeline.crews
    series: list[blocks.Series] = []
    for role in ROLES:
        counts = tuple(float(crew.get(role, 0)) for crew in crews)
        series.append(blocks.Series(translate_term(words, role), counts))
    labels = tuple(f"T{at}" for at in range(len(crews)))
    return (blocks.ColumnChart(label=words.evolution, labels=labels, series=tuple(series)),)


def _build_pheromones(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """The strongest directions over the rounds, and all of them as they stand."""
    words, settlements = standing.words, standing.timeline.settlements
    ranked = sorted(
        standing.swarm.board.pheromones.values(),
        key=lambda each: (-each.concentration, each.direction),
    )
    bars = [
        blocks.Bar(
            name=f"{each.concentration:.2f}",
            value=each.concentration,
            text=one_line(each.direction),
        )
        for each in ranked
    ]
    if not bars:
        return (blocks.Line(words.none),)
    after = [
        {change.direction: change.after for change in settled.evaporated} for settled in settlements
    ]
    series: list[blocks.Series] = []
    for each in ranked[:MAX_LINES]:
        concentrations = tuple(values.get(each.direction) for values in after)
        series.append(blocks.Series(one_line(each.direction), concentrations))
    labels = tuple(str(settled.round) for settled in settlements)
    chart = blocks.LineChart(label=words.pheromones, labels=labels, series=tuple(series))
    content: list[blocks.Block] = [
        chart,
        blocks.Card(
            head=(blocks.Muted(words.concentrations),),
            blocks=(blocks.Bars(tuple(bars[:MAX_BARS])),),
        ),
    ]
    if len(bars) > MAX_BARS:
        content.append(
            blocks.Details(f"+ {len(bars) - MAX_BARS}", (blocks.Bars(tuple(bars[MAX_BARS:])),))
        )
    return content


def _build_rounds(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """Best support and diversity by round with their bounds, and all figures of each round."""
    words, settings, rounds = standing.words, standing.swarm.settings, standing.what_if.rounds
    chart = blocks.LineChart(
        label=words.by_round,
        labels=tuple(str(each.round) for each in rounds),
        series=(
            blocks.Series(words.quorum, tuple(each.consensus_rate for each in rounds)),
            blocks.Series(words.diversity, tuple(each.diversity for each in rounds)),
        ),
        bounds=(settings.quorum_threshold, settings.min_diversity),
    )
    rows: list[tuple[blocks.Cell, ...]] = []
    for each in rounds:
        stable = "✓" if each.stable else "–"
        quorum = "✓" if each.has_quorum else "–"
        share, diversity = format_percent(each.consensus_rate), f"{each.diversity:.3f}"
        reason = words.convergence_reasons[each.reason]
        rows.append((each.round, len(each.ideas), stable, share, quorum, diversity, reason))
    return chart, blocks.build_table(words.round_heads, rows)


def _build_joins(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """Which texts were taken for an idea that stood already, why, and how to undo that."""
    words, timeline = standing.words, standing.timeline
    rows: list[tuple[str, ...]] = []
    for join in timeline.joins:
        placed = join.placed
        idea = f"{words.idea_name.format(number=placed.idea)}: {placed.similar_to}"
        likeness = "–" if placed.likeness is None else f"{placed.likeness:.2f}"
        reason = translate_term(words, placed.reason)
        rows.append((join.id, placed.text, idea, reason, likeness))
    how = words.joined_how.format(session=timeline.session) if rows else ""
    return blocks.build_table(words.joined_heads, rows), blocks.Line(how, "dim")


def _build_votes(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """Every vote with its reason, once all have voted."""
    words = standing.words
    rows: list[tuple[blocks.Cell, ...]] = []
    for number, voted in list_voted_answers(standing.swarm).items():
        name = voted.text
        if voted.idea:
            name = words.idea_name.format(number=voted.idea)
        for seat, vote in list_votes(standing.timeline, number):
            position = vote.position or ""
            tone = _VOTE_TONES.get(position, "plain")
            verdict = blocks.Mark(translate_term(words, position), tone)
            confidence = find_confidence(vote)
            sure = words.not_stated
            if confidence is not None:
                sure = f"{confidence:.2f}"
            rows.append((name, format_agent_name(seat), verdict, sure, vote.words))
    return (blocks.build_table(words.vote_heads, rows),)


def _build_validation(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """The findings that need validation, each with the validator's verdict."""
    swarm, words = standing.swarm, standing.words
    items: list[blocks.Text] = []
    for each in swarm.board.findings:
        if each.needs_validation:
            verdict = _describe_validation(each, words)
            text = f" ({each.id}): {one_line(each.core_idea)} — {verdict}"
            items.append((blocks.Strong(each.seat), text))
    is_unchecked = bool(items) and VALIDATOR not in swarm.helpers
    return answer.build_list(items), blocks.Line(words.no_validator if is_unchecked else "", "dim")


def _describe_validation(finding: Finding, words: SwarmReportText) -> str:
    if not finding.verdict:
        return words.unvalidated
    return words.validated.format(
        verdict=translate_term(words, finding.verdict), reason=finding.checked
    )


def _build_insights(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """What collisions brought up, each with its author."""
    items: list[blocks.Text] = []
    for finding in standing.swarm.board.findings:
        for review in finding.reviews:
            action = translate_term(standing.words, review.action)
            for text in review.new_insights:
                said = f" ({action} {finding.id}): {one_line(text)}"
                items.append((blocks.Strong(review.seat), said))
    return (answer.build_list(items),)


def _build_events(standing: SwarmStanding) -> Iterable[blocks.Block]:
    """What happened, one line each; the newest where there is too much."""
    lines = standing.timeline.event_lines
    shown = tuple(f"[{number}] {line}" for number, line in lines[-MAX_EVENTS:])
    summary = standing.words.event_count.format(shown=len(shown), all=len(lines))
    return (blocks.Details(summary, (blocks.Bullets(shown),)),) if shown else ()


_SECTIONS: Final[dict[str, Callable[[SwarmStanding], Iterable[blocks.Block]]]] = {
    "what_decided": answer.build_evidence,
    "figures": _build_figures,
    "consensus": _build_consensus,
    "all_ideas": answer.build_ideas,
    "synthesis": answer.build_synthesis,
    "unique": _build_unique_ideas,
    "agent_table": _build_agents,
    "evolution": _build_role_evolution,
    "pheromones": _build_pheromones,
    "by_round": _build_rounds,
    "joined": _build_joins,
    "votes": _build_votes,
    "validator": _build_validation,
    "insights": _build_insights,
    "what_happened": _build_events,
}
"""What the sections hold, in their order; each is called as the words are that are its title."""
FIRST: Final = 3
"""So many of them stand with the answer; the others are the record."""


def _build_sections(standing: SwarmStanding, *names: str) -> tuple[blocks.Block, ...]:
    threshold = format_percent(standing.swarm.settings.quorum_threshold)
    titles = {
        name: str(getattr(standing.words, name)).format(threshold=threshold) for name in names
    }
    if "what_decided" in titles and find_outcome(standing.timeline).choice is None:
        # Readings that did not decide are not called what decided.
        titles["what_decided"] = standing.words.what_readings_say
    return tuple(
        block
        for name in names
        for block in blocks.build_section(titles[name], tuple(_SECTIONS[name](standing)))
    )
