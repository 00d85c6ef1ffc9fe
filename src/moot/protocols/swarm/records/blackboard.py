"""The files of a run as text: run-config.json, blackboard.json, operation-log.json, the agents' reports.

The blackboard contains no time of day: the same seed and the same answers give the same bytes. Times are in the operation log and
in the ledger.
"""

from dataclasses import fields
from typing import Any

from moot.protocols.swarm.answers import FoundIdea
from moot.protocols.swarm.facts import ConvergenceMeasured, EvidenceChoice
from moot.protocols.swarm.prompts import build_agent_state
from moot.protocols.swarm.reports.json_fields import name_ideas, take_fields, to_camel_case, to_plain_json
from moot.protocols.swarm.reports.report_text import SwarmReportText, format_agent_name
from moot.protocols.swarm.reports.timeline import LoggedOperation, ReceivedReport, SwarmTimeline
from moot.protocols.swarm.rules.operations import read_amount
from moot.protocols.swarm.state import Agent, Finding, Idea, Swarm
from moot.reports.json_text import dump_json
from moot.reports.markdown import format_cell, format_table, quote_markdown
from moot.reports.timeline import format_time
from moot.scoring.likeness import JOIN_AT

VERSION = "2.4"
LATER_SETTINGS = frozenset(("settle", "stability", "clear_at", "judge", "synthesis"))


def _dump_json_text(value: object) -> str:
    return dump_json(value, indent=2) + "\n"


def build_config(swarm: Swarm) -> dict[str, Any]:
    """Return every setting of the run, including those at their defaults."""
    settings = swarm.settings
    # The settings of later editions mean nothing to a run of the first one, and its files stay as they were written.
    names = [each.name for each in fields(settings) if not swarm.is_first_edition or each.name not in LATER_SETTINGS]
    values = {to_camel_case(name): getattr(settings, name) for name in names}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in {**values, "joinAt": JOIN_AT}.items()}


def render_run_config(timeline: SwarmTimeline) -> str:
    """Render `run-config.json`: what was run, by whom, when."""
    swarm = timeline.state
    opened = swarm.opened
    return _dump_json_text(
        {
            "protocol": "swarm",
            "version": VERSION,
            "session": timeline.session,
            "task": opened.topic,
            "language": opened.language,
            "seed": opened.seed,
            "startedAt": format_time(timeline.opened_at),
            "seats": [take_fields(seat, "id platform") for seat in opened.seats],
            "budget": take_fields(opened.budget, "tokens money seconds"),
            "config": build_config(swarm),
        }
    )


def render_blackboard(timeline: SwarmTimeline) -> str:
    """Render `blackboard.json`: the whole state in canonical form."""
    return _dump_json_text(build_board_json(timeline))


def build_board_json(timeline: SwarmTimeline) -> dict[str, Any]:
    """Return the blackboard as plain JSON."""
    swarm = timeline.state
    board = swarm.board
    active = {signal.id for signal in board.signals}
    return {
        "protocol": "swarm",
        "version": VERSION,
        "task": swarm.opened.topic,
        "seed": swarm.opened.seed,
        "currentRound": swarm.round,
        "stage": swarm.stage,
        "pheromones": _build_pheromones(timeline),
        "claims": {
            claim.id: {
                **take_fields(claim, "description claimedBy"),
                "maxAgents": swarm.settings.agents_per_task,
                "round": claim.round,
            }
            for claim in board.claims.values()
        },
        "stopSignals": [
            {
                **take_fields(signal, "id from=sender"),
                "target": board.pheromones[signal.target].direction,
                **take_fields(signal, "reason evidence strength round"),
                "active": signal.id in active,
            }
            for signal in timeline.signals.values()
        ],
        "findings": [_build_finding(finding) for finding in board.findings],
        "ideas": [_build_idea(timeline, idea) for idea in board.ideas],
        "joins": [
            {
                **take_fields(join, "id round"),
                **take_fields(join.placed, "text"),
                "idea": f"idea-{join.placed.idea}",
                **take_fields(join.placed, "takenFor=like reason likeness"),
                "measure": join.by if join.placed.reason == "measure" else None,
                **({"why": join.placed.why} if join.placed.reason == "judge" else {}),
            }
            for join in timeline.joins
        ],
        "opinionHistory": [
            {"round": settled.round, "opinions": {each.seat: name_ideas(each.ideas) for each in settled.opinions}}
            for settled in timeline.settlements
        ],
        "convergence": [build_convergence_json(measured, swarm) for measured in timeline.measures],
        "agentStates": {seat: _build_agent(agent) for seat, agent in swarm.agents.items()},
        "operations": {"requested": board.requests, "processed": board.operations, "failed": board.refused},
        # While all vote, nobody may read the votes of others, not even from the files.
        "votes": {} if swarm.is_sealed else _build_votes(swarm),
        **({"ratings": {} if swarm.is_sealed else _build_ratings(swarm)} if swarm.by_evidence else {}),
        "result": _build_result(timeline),
        "execution": {"lastStep": swarm.execution.last, "confirmedSteps": swarm.execution.count},
        "events": timeline.events,
        "config": build_config(swarm),
    }


def _build_pheromones(timeline: SwarmTimeline) -> dict[str, Any]:
    settings = timeline.state.settings
    # What was deposited, also where the direction had no room left for all of it.
    amounts = {
        f"op-{each.result.number}": read_amount(each.wanted.params or {}, settings)
        for each in timeline.operations
        if each.result.operation == "deposit_pheromone" and each.result.success
    }
    seeded = settings.deposit
    deposits: dict[str, list[dict[str, Any]]] = {}
    changes: dict[str, list[dict[str, Any]]] = {}
    for event in timeline.events:
        if event["type"] == "pheromone_deposited":
            deposits.setdefault(event["direction"], []).append(
                {"agentId": event["agentId"], "round": event["round"], "amount": amounts.get(event.get("operation", ""), seeded)}
            )
        elif event["type"].startswith("pheromone_"):
            changes.setdefault(event["direction"], []).append(
                {"type": event["type"], "round": event["round"], "before": event["before"], "after": event["after"]}
            )
    return {
        each.direction: {
            **take_fields(each, "concentration depositedBy createdRound=round"),
            "depositHistory": deposits.get(each.direction, []),
            "changes": changes.get(each.direction, []),
        }
        for each in timeline.state.board.pheromones.values()
    }


def _build_finding(finding: Finding) -> dict[str, Any]:
    return {
        **take_fields(finding, "id agentId=seat round"),
        "direction": finding.direction or None,
        **take_fields(finding, "coreIdea perspective details agreesWith confidence needsValidation searchAttempted"),
        "idea": f"idea-{finding.idea}" if finding.idea else None,
        "alsoBacks": name_ideas(finding.also),
        "weight": finding.weight,
        "reviews": [
            take_fields(review, "agentId=seat mode action weight content newInsights=insights") for review in finding.reviews
        ],
        "verdict": finding.verdict,
        "verdictReason": finding.checked or None,
    }


def _build_idea(timeline: SwarmTimeline, idea: Idea) -> dict[str, Any]:
    # A text that moved stands where it was placed last.
    texts = [text for text, at in {placed.text: placed.idea for _, placed in timeline.placed}.items() if at == idea.number]
    return {**take_fields(idea, "id text round"), "texts": texts, **take_fields(idea, "since independent")}


def build_convergence_json(measured: ConvergenceMeasured, swarm: Swarm) -> dict[str, Any]:
    """Return the figures of one round with their inputs."""
    settings = swarm.settings
    return {
        **take_fields(measured, "round minRoundsMet=enough_rounds"),
        "betaStability": {
            "stable": measured.stable,
            **({} if swarm.is_first_edition else {"of": swarm.settings.stability}),
            "beta": settings.beta,
            "ideas": name_ideas(measured.ideas),
            "before": name_ideas(measured.before),
        },
        "quorum": {
            "quorum": measured.has_quorum,
            "of": settings.quorum,
            "threshold": settings.quorum_threshold,
            "activeAgents": measured.active,
            **({} if swarm.is_first_edition else {"silentAgents": list(measured.silent)}),
            "support": {f"idea-{each.idea}": take_fields(each, "backers independent") for each in measured.backing},
            "quorumIdeas": name_ideas(measured.quorum_ideas),
            **take_fields(measured, "consensusRate tooFast"),
        },
        "diversity": {
            **take_fields(
                measured, "perspectiveCount=perspectives uniqueIdeaCount=distinct totalIdeaCount=stated concentrations"
            ),
            **take_fields(
                measured, "perspectiveDiversity=coverage orthogonality entropy overall=diversity aboveThreshold=is_diverse"
            ),
        },
        "converged": measured.converged,
        **({"lead": build_choice_json(measured.lead), "leadIsClear": measured.is_clear} if measured.lead is not None else {}),
        "reason": measured.reason or None,
        "warnings": list(measured.warnings),
    }


def _build_agent(agent: Agent) -> dict[str, Any]:
    return {
        **build_agent_state(agent),
        "roleHistory": [take_fields(each, "from=old to=new reason round") for each in agent.role_history],
        "violations": [take_fields(each, "violation severity detail") for each in agent.violations],
        "holds": name_ideas(agent.holds),
        "terminationReason": agent.ended,
    }


def _build_votes(swarm: Swarm) -> dict[str, Any]:
    return {
        seat: [{"idea": f"idea-{vote.idea}", **take_fields(vote, "position confidence reason")} for vote in ballot.votes]
        for seat in swarm.explorers
        if (ballot := swarm.ballots.get(seat)) is not None
    }


def _build_ratings(swarm: Swarm) -> dict[str, Any]:
    names = [each.direction for each in swarm.board.pheromones.values()]
    return {
        seat: [
            {"direction": names[each.direction - 1], "rating": each.rating, "reason": each.reason}
            for each in ballot.ratings
            if each.direction <= len(names)
        ]
        for seat in swarm.explorers
        if (ballot := swarm.ballots.get(seat)) is not None
    }


def build_choice_json(choice: EvidenceChoice) -> dict[str, Any]:
    """Return the choice of the readings with its figures."""
    return {
        "direction": choice.direction,
        "idea": f"idea-{choice.idea}" if choice.idea else None,
        "method": choice.method,
        "margin": choice.margin,
        "z": choice.z,
        "readingsToChange": choice.needed,
        "decisiveAgents": list(choice.decisive),
        "ranked": [
            {"direction": each.direction, "value": each.value, "readings": each.readings, "readers": each.readers}
            for each in choice.ranked
        ],
    }


def _build_result(timeline: SwarmTimeline) -> dict[str, Any] | None:
    done = timeline.completed
    if done is None:
        return None
    return {
        **take_fields(done, "reason converged round"),
        "synthesis": timeline.state.synthesis or None,
        "resolved": [
            {"idea": f"idea-{each.idea}", **take_fields(each, "consensusType carried support turnout confidence heads effective")}
            for each in done.resolved
        ],
        **({"choice": build_choice_json(done.choice)} if done.choice is not None else {}),
    }


def render_operation_log(timeline: SwarmTimeline) -> str:
    """Render `operation-log.json`: every requested operation and its result."""
    return _dump_json_text([_build_log_entry(each) for each in timeline.operations])


def _build_log_entry(each: LoggedOperation) -> dict[str, Any]:
    result = each.result
    return {
        "operationId": f"op-{result.number}",
        **take_fields(each, "round timestamp"),
        **take_fields(result, "from=seat operation"),
        "params": to_plain_json(each.wanted.params or {}),
        "status": "completed" if result.success else "failed",
        "result": {
            "type": "operation_result",
            "success": result.success,
            "error": result.error or None,
            "detail": result.detail or None,
            "target": result.target or None,
            **take_fields(result, "before after"),
        },
    }


def render_agent_report(timeline: SwarmTimeline, received: ReceivedReport) -> str:
    """Render `agent-reports/round-N/NAME.md`: one report for people."""
    words, report = timeline.words, received.report
    title = f"# {format_agent_name(received.seat)} · {words.round.format(number=received.round)}"
    parts = [[title], [_format_field(words.direction, format_cell(report.direction) or "–", words)], [f"## {words.findings}"]]
    parts += [_render_finding(finding) for finding in report.findings]
    results = [each.result for each in timeline.logged.get((received.round, received.seat), ())]
    rows = [(f"op-{each.number}", each.operation, words.yes if each.success else each.error, each.target) for each in results]
    if rows:
        parts.append([f"## {words.operations}", "", *format_table(("#", words.operations, "✓", ""), rows)])
    decision = report.decision_report
    if decision is not None:
        candidates = [(each.direction, each.concentration, each.response_prob) for each in decision.candidates or ()]
        head = f"θ = {decision.threshold} · {format_cell(decision.selected_direction)}"
        table = format_table((words.direction, "S", "P(S,θ)"), candidates) if candidates else []
        parts.append([f"## {words.decision}", "", head, "", *quote_markdown(decision.selection_reason), "", *table])
    review = report.conflict_review
    if review is not None:
        details = ["", *quote_markdown(review.details)] if review.details else []
        parts.append([f"## {words.conflicts}{words.colon}{review.conflicts_found}", *details])
    parts.append([_format_field(words.random, words.yes if report.random_explore_forced else words.no, words)])
    return "\n\n".join("\n".join(part).rstrip() for part in parts) + "\n"


def _format_field(name: str, value: str, words: SwarmReportText) -> str:
    return f"**{name}**{words.colon}{value}"


def _render_finding(finding: FoundIdea) -> list[str]:
    view = f" ({format_cell(finding.perspective)})" if finding.perspective else ""
    flags = {"needsValidation": finding.needs_validation, "searchAttempted": finding.search_attempted}
    marks = ", ".join(each for each in (finding.confidence or "", *(name for name in flags if flags[name])) if each)
    head = f"- **{format_cell(finding.core_idea)}**{view}" + (f" [{marks}]" if marks else "")
    return [head, *(["", *quote_markdown(finding.details)] if finding.details else [])]
