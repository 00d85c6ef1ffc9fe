"""The reports of a run as blocks: the final one (Markdown, page, terminal) and `convergence-report.md` (S-25).

Both take the names of joins to undo; their figures are then those that the run would have had without these joins.
"""

from collections.abc import Collection, Mapping, Sequence
from itertools import takewhile
from typing import Final

from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import SwarmReportText
from moothall.protocols.swarm.agent_names import format_agent_name
from moothall.protocols.swarm.facts import VALIDATOR
from moothall.protocols.swarm.reports.answer import (
    build_answer,
    build_headline,
    build_ideas,
    build_list,
    build_synthesis,
    build_undone_joins,
    build_verdict,
)
from moothall.protocols.swarm.reports.live_lines import list_event_lines
from moothall.protocols.swarm.reports.standing import IdeaStanding, rank_ideas
from moothall.protocols.swarm.reports.terms import translate_term
from moothall.protocols.swarm.reports.timeline import SwarmTimeline, build_decision
from moothall.protocols.swarm.reports.what_if import WhatIfResult, compute_what_if
from moothall.protocols.swarm.rules.shutdown import list_ballot_ideas
from moothall.protocols.swarm.state import Finding
from moothall.reports.blocks import (
    Bar,
    Bars,
    Block,
    Bullets,
    Card,
    ColumnChart,
    Details,
    Heading,
    Line,
    LineChart,
    Mark,
    Muted,
    Report,
    Series,
    Strong,
    Text,
    Tone,
    build_section,
    build_table,
)
from moothall.reports.decision import Decision
from moothall.reports.figures import format_percent
from moothall.reports.markdown import render_blocks
from moothall.reports.sections import build_costs, build_losses, build_report, build_spent

MOST_LINES: Final = 8
"""Directions in the chart: as many as it has colours."""
MOST_BARS: Final = 20
MOST_EVENTS: Final = 200
"""So many of the newest stand in a report."""
ROLES: Final = ("EXPLORER", "DEEP_ANALYST", "DEBATER", "SYNTHESIZER")

_VOTE_TONES: Final[Mapping[str, Tone]] = {"support": "good", "conditional_support": "warn", "oppose": "bad"}


def build_swarm_report(timeline: SwarmTimeline, apart: Collection[str] = ()) -> Report:
    """The final report at any time of a run, with the joins `apart` undone; raises BadSetting for an unknown join."""
    words, decision, found = timeline.words, build_decision(timeline), compute_what_if(timeline, apart)
    ideas = rank_ideas(timeline, found)
    return build_report(
        timeline,
        decision,
        words,
        decision_blocks=(
            *build_answer(timeline, decision, found, ideas),
            *_build_figures(timeline, found),
            *_build_independence(timeline, found, ideas),
            *_build_lost_seats(timeline, decision),
            build_spent(decision, words),
        ),
        record=(
            *build_ideas(timeline, ideas),
            *build_synthesis(timeline),
            *_build_consensus(timeline, found, ideas),
            *_build_unique_ideas(timeline, found),
            *_build_agents(timeline),
            *_build_role_evolution(timeline),
            *_build_pheromones(timeline),
            *_build_rounds(timeline, found),
            *_build_joins(timeline),
            *_build_votes(timeline),
            *_build_validation(timeline),
            *_build_insights(timeline),
            *_build_events(timeline),
            # While a round is sealed, nobody may know who failed in it.
            *(() if timeline.is_sealed else build_losses(timeline, words)),
            *build_costs(timeline, words),
        ),
        subtitle=_build_subtitle(timeline),
        undecided=build_headline(timeline, ideas),
    )


def build_convergence_blocks(timeline: SwarmTimeline, apart: Collection[str] = ()) -> tuple[Block, ...]:
    """How the run converged, or did not, with the joins `apart` undone."""
    found = compute_what_if(timeline, apart)
    return (
        Heading(f"{timeline.words.convergence_report}: {timeline.session}", 1),
        *build_undone_joins(timeline, found),
        build_verdict(timeline, found),
        *_build_figures(timeline, found),
        *_build_rounds(timeline, found),
        *_build_consensus(timeline, found, rank_ideas(timeline, found)),
        *_build_joins(timeline),
    )


def list_section_titles(words: SwarmReportText) -> tuple[str, ...]:
    """The titles of the report's sections in their order; a run that has nothing for one leaves it out."""
    return (
        *(words.conclusion, words.why, words.against, words.figures, words.who, words.lost),
        *(words.all_ideas, words.synthesis, words.consensus, words.unique, words.agent_table, words.evolution),
        *(words.pheromones, words.by_round, words.joined, words.votes, words.validator, words.insights),
        *(words.what_happened, words.losses_title, words.cost, words.answerers, words.mended),
    )


def render_convergence_report(timeline: SwarmTimeline, apart: Collection[str] = ()) -> str:
    """`convergence-report.md`."""
    return render_blocks(build_convergence_blocks(timeline, apart))


def _build_subtitle(timeline: SwarmTimeline) -> tuple[Text, ...]:
    swarm, words = timeline.state, timeline.words
    active = swarm.measured.active if swarm.measured is not None else len(swarm.active)
    most = 1 if swarm.settings.mode == "classic" else swarm.settings.max_rounds
    return (
        f"{words.mode}: {words.modes[swarm.settings.mode]}",
        f"{words.agents}: {words.agents_line.format(count=len(swarm.explorers), active=active)}",
        f"{words.time}: {words.time_line.format(minutes=timeline.spent.seconds / 60)}",
        f"{words.rounds}: {swarm.round}/{most}",
    )


def _build_lost_seats(timeline: SwarmTimeline, decision: Decision) -> tuple[Block, ...]:
    """The seats that failed, once the run has ended."""
    if decision.status in {"thinking", "parked"}:
        return ()
    words = timeline.words
    lines = [
        words.lost_line.format(
            seat=lost.seat, times=lost.times, last=words.losses[lost.last], share=format_percent(lost.weight_share)
        )
        for lost in decision.lost
    ]
    return build_section(words.lost, (Bullets(tuple(lines), "bad"),))


def _build_figures(timeline: SwarmTimeline, found: WhatIfResult) -> tuple[Block, ...]:
    """The three figures that must hold, as bars."""
    if not found.rounds:
        return ()
    words, settings, last = timeline.words, timeline.state.settings, found.rounds[-1]
    stable = _count_stable_rounds(found, settings.beta)
    support = f"{format_percent(last.consensus_rate)} / {format_percent(settings.quorum_threshold)}"
    bars = (
        _build_gauge(words.stability, stable / settings.beta, last.stable, f"{stable}/{settings.beta}"),
        _build_gauge(words.quorum, last.consensus_rate, last.has_quorum, support),
        _build_gauge(words.diversity, last.diversity, last.is_diverse, f"{last.diversity:.2f} / {settings.min_diversity:g}"),
    )
    return build_section(words.figures, (Card(blocks=(Bars(bars),)),))


def _count_stable_rounds(found: WhatIfResult, most: int) -> int:
    """For how many rounds up to the last the same ideas were held; at most `most`."""
    held = found.rounds[-1].ideas
    same = takewhile(lambda each: each.ideas == held, reversed(found.rounds))
    return min(sum(1 for _ in same), most) if held else 0


def _build_gauge(name: str, value: float, holds: bool, text: str) -> Bar:
    return Bar(name=name, value=value, text=f"{'✓' if holds else '✗'} {text}", tone="good" if holds else "bad")


def _list_quorum_ideas(found: WhatIfResult, ideas: Sequence[IdeaStanding]) -> list[IdeaStanding]:
    """The ideas with a quorum in the last round."""
    reached = found.rounds[-1].quorum_ideas if found.rounds else ()
    return [idea for idea in ideas if idea.number in reached]


def _build_independence(timeline: SwarmTimeline, found: WhatIfResult, ideas: Sequence[IdeaStanding]) -> tuple[Block, ...]:
    """Who held each consensus idea before it could be read, and who joined later."""
    words = timeline.words
    items: list[Text] = []
    for idea in _list_quorum_ideas(found, ideas):
        joined = ", ".join(seat for seat in idea.backers if seat not in idea.independent) or "–"
        who = words.who_line.format(own=", ".join(idea.independent) or "–", joined=joined)
        items.append((Strong(idea.id), f" {words.quoted.format(text=one_line(idea.text))}{who}"))
    return build_section(words.who, (Bullets(tuple(items)), Line(words.weak if items else "", "dim")))


def _build_consensus(timeline: SwarmTimeline, found: WhatIfResult, ideas: Sequence[IdeaStanding]) -> tuple[Block, ...]:
    """The ideas with a quorum, their backers and their strongest pheromone."""
    if not found.rounds:
        return ()
    words, last = timeline.words, found.rounds[-1]
    rows = [
        (
            idea.id,
            idea.text,
            f"{len(idea.backers)}/{last.voices}",
            format_percent(idea.share),
            f"{len(idea.independent)}/{last.voices}",
            "–" if idea.pheromone is None else f"{idea.pheromone:.2f}",
        )
        for idea in _list_quorum_ideas(found, ideas)
    ]
    title = words.consensus.format(threshold=format_percent(timeline.state.settings.quorum_threshold))
    return build_section(title, (build_table(words.consensus_heads, rows) if rows else Line(words.no_consensus),))


def _build_unique_ideas(timeline: SwarmTimeline, found: WhatIfResult) -> tuple[Block, ...]:
    """The ideas that one agent alone had."""
    words = timeline.words
    items: list[Text] = [
        (Strong(format_agent_name(next(iter(idea.since)))), f": {one_line(idea.text)}")
        for idea in found.board.ideas.values()
        if len(idea.since) == 1
    ]
    return build_section(words.unique, (build_list(items) if items else Line(words.none),)) if found.rounds else ()


def _build_agents(timeline: SwarmTimeline) -> tuple[Block, ...]:
    words = timeline.words
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
        for seat, agent in timeline.state.agents.items()
    ]
    return build_section(words.agent_table, (build_table(words.agent_heads, rows),))


def _build_role_evolution(timeline: SwarmTimeline) -> tuple[Block, ...]:
    """How many agents had which role, round by round."""
    words, crews = timeline.words, timeline.crews
    chart = ColumnChart(
        label=words.evolution,
        labels=tuple(f"T{at}" for at in range(len(crews))),
        series=tuple(Series(translate_term(words, role), tuple(float(crew.get(role, 0)) for crew in crews)) for role in ROLES),
    )
    return build_section(words.evolution, (chart,))


def _build_pheromones(timeline: SwarmTimeline) -> tuple[Block, ...]:
    """The strongest directions over the rounds, and all of them as they stand."""
    words, settlements = timeline.words, timeline.settlements
    ranked = sorted(timeline.state.board.pheromones.values(), key=lambda each: (-each.concentration, each.direction))
    bars = [Bar(name=f"{each.concentration:.2f}", value=each.concentration, text=one_line(each.direction)) for each in ranked]
    if not bars:
        return build_section(words.pheromones, (Line(words.none),))
    after = [{change.direction: change.after for change in settled.evaporated} for settled in settlements]
    chart = LineChart(
        label=words.pheromones,
        labels=tuple(str(settled.round) for settled in settlements),
        series=tuple(
            Series(one_line(each.direction), tuple(values.get(each.direction) for values in after))
            for each in ranked[:MOST_LINES]
        ),
    )
    blocks: list[Block] = [chart, Card(head=(Muted(words.concentrations),), blocks=(Bars(tuple(bars[:MOST_BARS])),))]
    if len(bars) > MOST_BARS:
        blocks.append(Details(f"+ {len(bars) - MOST_BARS}", (Bars(tuple(bars[MOST_BARS:])),)))
    return build_section(words.pheromones, blocks)


def _build_rounds(timeline: SwarmTimeline, found: WhatIfResult) -> tuple[Block, ...]:
    """Best support and diversity by round with their bounds, and all figures of each round."""
    words, settings, rounds = timeline.words, timeline.state.settings, found.rounds
    chart = LineChart(
        label=words.by_round,
        labels=tuple(str(each.round) for each in rounds),
        series=(
            Series(words.quorum, tuple(each.consensus_rate for each in rounds)),
            Series(words.diversity, tuple(each.diversity for each in rounds)),
        ),
        bounds=(settings.quorum_threshold, settings.min_diversity),
    )
    rows = [
        (
            each.round,
            len(each.ideas),
            "✓" if each.stable else "–",
            format_percent(each.consensus_rate),
            "✓" if each.has_quorum else "–",
            f"{each.diversity:.3f}",
            words.convergence_reasons[each.reason],
        )
        for each in rounds
    ]
    return build_section(words.by_round, (chart, build_table(words.round_heads, rows)))


def _build_joins(timeline: SwarmTimeline) -> tuple[Block, ...]:
    """Which texts were taken for an idea that stood already, why, and how to undo that."""
    words = timeline.words
    rows = [
        (
            join.id,
            join.placed.text,
            f"idea-{join.placed.idea}: {join.placed.like}",
            f"{translate_term(words, join.placed.reason)} ({translate_term(words, join.by)})"
            if join.placed.reason == "measure"
            else translate_term(words, join.placed.reason),
            "–" if join.placed.likeness is None else f"{join.placed.likeness:.2f}",
        )
        for join in timeline.joins
    ]
    how = words.joined_how.format(session=timeline.session) if rows else ""
    return build_section(words.joined, (build_table(words.joined_heads, rows), Line(how, "dim")))


def _build_votes(timeline: SwarmTimeline) -> tuple[Block, ...]:
    """Every vote with its reason, once all have voted."""
    swarm, words = timeline.state, timeline.words
    rows = [
        (
            f"idea-{idea}",
            format_agent_name(seat),
            Mark(translate_term(words, vote.position), _VOTE_TONES.get(vote.position, "plain")),
            f"{vote.confidence:.2f}",
            vote.reason,
        )
        for idea in list_ballot_ideas(swarm)
        for seat in swarm.explorers
        if (ballot := swarm.ballots.get(seat)) is not None and not timeline.is_sealed
        for vote in ballot.votes
        if vote.idea == idea
    ]
    return build_section(words.votes, (build_table(words.vote_heads, rows),))


def _build_validation(timeline: SwarmTimeline) -> tuple[Block, ...]:
    """The findings that need validation, each with the validator's verdict."""
    swarm, words = timeline.state, timeline.words
    items: list[Text] = [
        (Strong(each.seat), f" ({each.id}): {one_line(each.core_idea)} — {_describe_validation(timeline, each)}")
        for each in swarm.board.findings
        if each.needs_validation
    ]
    is_unchecked = bool(items) and VALIDATOR not in swarm.helpers
    return build_section(words.validator, (build_list(items), Line(words.no_validator if is_unchecked else "", "dim")))


def _describe_validation(timeline: SwarmTimeline, finding: Finding) -> str:
    words = timeline.words
    return (
        words.validated.format(verdict=translate_term(words, finding.verdict), reason=finding.checked)
        if finding.verdict
        else words.unvalidated
    )


def _build_insights(timeline: SwarmTimeline) -> tuple[Block, ...]:
    """What collisions brought up, each with its author."""
    items: list[Text] = [
        (Strong(review.seat), f" ({translate_term(timeline.words, review.action)} {each.id}): {one_line(text)}")
        for each in timeline.state.board.findings
        for review in each.reviews
        for text in review.insights
    ]
    return build_section(timeline.words.insights, (build_list(items),))


def _build_events(timeline: SwarmTimeline) -> tuple[Block, ...]:
    """What happened, one line each; the newest where there is too much."""
    words = timeline.words
    lines = list_event_lines(timeline)
    shown = tuple(lines[-MOST_EVENTS:])
    summary = words.event_count.format(shown=len(shown), all=len(lines))
    return build_section(words.what_happened, (Details(summary, (Bullets(shown),)),) if shown else ())
