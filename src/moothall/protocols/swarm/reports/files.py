"""The folder of a run, file by file (S-24); its content follows from the ledger alone.

The blackboard contains no time of day: the same seed and the same answers give the same bytes. Times are in the operation log and
in the ledger.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple

from moothall.domain.dictionaries import group_pairs
from moothall.domain.facts import Language
from moothall.domain.safe_text import compile_late, dump_json, one_line
from moothall.locale.catalogues import SWARM_REPORT, SWARM_TEMPLATE, SwarmReportText
from moothall.protocols.swarm.answers import DecisionReport, Operation, StatedIdea
from moothall.protocols.swarm.facts import ConvergenceMeasured, OperationResult, SwarmSettings
from moothall.protocols.swarm.json_fields import (
    format_agent_name,
    name_ideas,
    take_fields,
    to_camel_case,
    to_plain_json,
)
from moothall.protocols.swarm.reports.report import (
    build_swarm_report,
    list_section_titles,
    render_convergence_report,
)
from moothall.protocols.swarm.reports.standing import build_choice_json, build_standing_json
from moothall.protocols.swarm.reports.timeline import IdeaJoin, ReceivedReport, SwarmTimeline
from moothall.protocols.swarm.round_message import build_agent_state
from moothall.protocols.swarm.rules.evidence import AnswerIndex
from moothall.protocols.swarm.rules.operations import read_params
from moothall.protocols.swarm.state import Agent, Finding, Swarm
from moothall.reports import blocks
from moothall.reports.page import render_page
from moothall.reports.plain_text import render_blocks, render_markdown
from moothall.reports.timeline import format_time
from moothall.scoring.likeness import JOIN_AT

VERSION = "2.4"


def _dump_json_text(value: object) -> str:
    return dump_json(value, indent=2) + "\n"


def build_config(swarm: Swarm) -> dict[str, Any]:
    """Return every setting of the run, including those at their defaults."""
    values = {
        to_camel_case(each.name): getattr(swarm.settings, each.name)
        for each in fields(swarm.settings)
    }
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in {**values, "joinAt": JOIN_AT}.items()
    }


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
    claims = {
        claim.id: take_fields(
            claim,
            "description claimedBy maxAgents round",
            maxAgents=swarm.settings.agents_per_task,
        )
        for claim in board.claims.values()
    }
    signals = [
        take_fields(
            signal,
            "id from=sender target reason evidence strength round active",
            target=board.pheromones[signal.target].direction,
            active=signal.id in active,
        )
        for signal in timeline.signals.values()
    ]
    history: list[dict[str, Any]] = []
    for settled in timeline.settlements:
        opinions = {seat: name_ideas(ideas) for seat, ideas in settled.opinions.items()}
        history.append({"round": settled.round, "opinions": opinions})
    return {
        "protocol": "swarm",
        "version": VERSION,
        "task": swarm.opened.topic,
        "seed": swarm.opened.seed,
        "currentRound": swarm.round,
        "stage": swarm.stage,
        "pheromones": _build_pheromones(timeline),
        "claims": claims,
        "stopSignals": signals,
        "findings": [_build_finding(finding) for finding in board.findings],
        "ideas": _build_ideas(timeline),
        "joins": [_build_join(join) for join in timeline.joins],
        "opinionHistory": history,
        "convergence": [build_convergence_json(measured, swarm) for measured in timeline.measures],
        "agentStates": {seat: _build_agent(agent) for seat, agent in swarm.agents.items()},
        "operations": {
            "requested": board.requests,
            "processed": board.operations,
            "failed": board.refused,
        },
        "votes": _build_votes(swarm),
        "result": _build_result(timeline),
        "execution": {"lastStep": swarm.execution.last, "confirmedSteps": swarm.execution.count},
        "events": timeline.events,
        "config": build_config(swarm),
    }


def _build_pheromones(timeline: SwarmTimeline) -> dict[str, Any]:
    settings = timeline.state.settings
    # What was deposited, also where the direction had no room left for all of it.
    amounts: dict[str, float] = {}
    for received in timeline.reports:
        for wanted, result in received.operations:
            if result.operation == "deposit_pheromone" and result.success:
                params = read_params("deposit_pheromone", wanted.params or {})
                amounts[f"op-{result.number}"] = float(params.get("amount", settings.deposit))
    deposits: dict[str, list[dict[str, Any]]] = {}
    changes: dict[str, list[dict[str, Any]]] = {}
    for event in timeline.events:
        if event["type"] == "pheromone_deposited":
            amount = amounts.get(event.get("operation", ""), settings.deposit)
            deposit = {"agentId": event["agentId"], "round": event["round"], "amount": amount}
            deposits.setdefault(event["direction"], []).append(deposit)
        elif event["type"].startswith("pheromone_"):
            change = {name: event[name] for name in ("type", "round", "before", "after")}
            changes.setdefault(event["direction"], []).append(change)
    return {
        each.direction: take_fields(
            each,
            "concentration depositedBy createdRound=round depositHistory changes",
            depositHistory=deposits.get(each.direction, []),
            changes=changes.get(each.direction, []),
        )
        for each in timeline.state.board.pheromones.values()
    }


def _build_finding(finding: Finding) -> dict[str, Any]:
    review = "agentId=seat mode action weight content newInsights"
    return take_fields(
        finding,
        "id agentId=seat round direction? coreIdea perspective details agreesWith confidence needsValidation searchAttempted "
        "rating option? "
        "idea# alsoBacks=also# weight reviews verdict verdictReason=checked?",
        reviews=[take_fields(each, review) for each in finding.reviews],
    )


def _build_ideas(timeline: SwarmTimeline) -> list[dict[str, Any]]:
    # A text that moved stands where it was placed last.
    where = {placed.text: placed.idea for each in timeline.sorted for placed in each.placed}
    texts = group_pairs((idea, text) for text, idea in where.items())
    ideas = timeline.state.board.ideas.values()
    return [
        take_fields(idea, "id text round texts since independent", texts=texts.get(idea.number, []))
        for idea in ideas
    ]


def _build_join(join: IdeaJoin) -> dict[str, Any]:
    """Return a join with what decided it: the author's word, or the judge's on a pair that a measure listed."""
    placed = join.placed
    built = {
        **take_fields(join, "id round"),
        **take_fields(placed, "text idea# takenFor=similar_to reason likeness"),
        "measure": join.by if placed.likeness is not None else None,
    }
    if placed.reason == "judge":
        built["why"] = placed.why
    return built


def build_convergence_json(measured: ConvergenceMeasured, swarm: Swarm) -> dict[str, Any]:
    """Return the figures of one round with their inputs."""
    settings = swarm.settings
    lead: dict[str, Any] = {}
    if measured.lead is not None:
        lead = {"lead": build_choice_json(measured.lead), "leadIsClear": measured.is_clear}
    return {
        **take_fields(measured, "round minRoundsMet=enough_rounds"),
        "betaStability": take_fields(
            measured, "stable of beta ideas# before#", of=settings.stability, beta=settings.beta
        ),
        "quorum": _build_quorum(measured, settings),
        "diversity": take_fields(
            measured,
            "perspectiveCount=perspectives uniqueIdeaCount=distinct totalIdeaCount=stated concentrations "
            "perspectiveDiversity=coverage orthogonality entropy overall=diversity aboveThreshold=is_diverse",
        ),
        "converged": measured.converged,
        **lead,
        **take_fields(measured, "reason? warnings"),
    }


def _build_quorum(measured: ConvergenceMeasured, settings: SwarmSettings) -> dict[str, Any]:
    support = {
        f"idea-{each.idea}": take_fields(each, "backers independent") for each in measured.backing
    }
    return take_fields(
        measured,
        "quorum=has_quorum of threshold activeAgents=active silentAgents=silent support quorumIdeas# consensusRate tooFast",
        of=settings.quorum,
        threshold=settings.quorum_threshold,
        support=support,
    )


def _build_agent(agent: Agent) -> dict[str, Any]:
    return {
        **build_agent_state(agent),
        "roleHistory": [
            take_fields(each, "from=old to=new reason round") for each in agent.role_history
        ],
        "violations": [take_fields(each, "violation severity detail") for each in agent.violations],
        "holds": name_ideas(agent.holds),
        "terminationReason": agent.ended,
    }


def _build_votes(swarm: Swarm) -> dict[str, Any]:
    """Return the votes of each seat: the answer by its name, and the fields that it filled."""
    # While all vote, nobody may read the votes of others, not even from the files.
    seats = () if swarm.is_sealed else swarm.explorers
    answers = AnswerIndex(swarm).answers
    given = {number: answer.name for number, answer in answers.items() if not answer.idea}
    fields = "answer position condition confidence rating reason"
    votes: dict[str, Any] = {}
    for seat in seats:
        ballot = swarm.ballots.get(seat)
        if ballot is not None:
            votes[seat] = [
                take_fields(each, fields, answer=given.get(each.answer, f"idea-{each.answer}"))
                for each in ballot.votes
            ]
    return votes


def _build_result(timeline: SwarmTimeline) -> dict[str, Any] | None:
    done = timeline.state.completed
    if done is None:
        return None
    resolution = (
        "idea# option? consensusType carried support turnout confidence heads=voters effective"
    )
    result = take_fields(
        done,
        "reason converged round synthesis resolved",
        synthesis=timeline.state.synthesis or None,
        resolved=[take_fields(each, resolution) for each in done.resolved],
    )
    if done.choice is not None:
        result["choice"] = build_choice_json(done.choice)
    return result


def render_operation_log(timeline: SwarmTimeline) -> str:
    """Render `operation-log.json`: every requested operation and its result."""
    done = [
        (each, wanted, result) for each in timeline.reports for wanted, result in each.operations
    ]
    return _dump_json_text(
        [_build_log_entry(*each) for each in sorted(done, key=lambda each: each[2].number)]
    )


def _build_log_entry(
    received: ReceivedReport, wanted: Operation, result: OperationResult
) -> dict[str, Any]:
    entry = take_fields(
        received,
        "operationId round timestamp from=seat operation params status result",
        operationId=f"op-{result.number}",
        operation=result.operation,
        params=to_plain_json(wanted.params or {}),
        status="completed" if result.success else "failed",
        result=take_fields(
            result, "type success error? detail? target? before after", type="operation_result"
        ),
    )
    if wanted.by_moot:
        entry["by"] = "Moot"
    return entry


def render_agent_report(timeline: SwarmTimeline, received: ReceivedReport) -> str:
    """Render `agent-reports/round-N/NAME.md`: one report for people."""
    words, report = timeline.words, received.report
    rows: list[tuple[str, str, str, str]] = []
    for wanted, each in received.operations:
        outcome = words.yes if each.success else each.error
        name = each.operation
        if wanted.by_moot:
            name = words.by_moot.format(operation=name)
        rows.append((f"op-{each.number}", name, outcome, each.target))
    findings: list[blocks.Block] = []
    for finding in report.findings:
        findings += _describe_finding(finding)
    operations = [blocks.build_table(("#", words.operations, "✓", ""), rows)]
    decided = _describe_decision(report.decision_report, words)
    round_name = words.round.format(number=received.round)
    conflicts, conflict_details = words.not_stated, ""
    if report.conflict_review is not None:
        conflicts = str(report.conflict_review.conflicts_found)
        conflict_details = report.conflict_review.details
    yes_or_no = words.not_stated
    if report.random_explore_forced is not None:
        yes_or_no = words.yes if report.random_explore_forced else words.no
    return render_blocks(
        (
            blocks.Heading(f"{format_agent_name(received.seat)} · {round_name}", 1),
            blocks.Fields(((words.direction, report.direction or "–"),)),
            *blocks.build_section(words.findings, findings),
            *blocks.build_section(words.operations, operations),
            *blocks.build_section(words.decision, decided),
            blocks.Heading(f"{words.conflicts}{words.colon}{conflicts}"),
            blocks.Quote(conflict_details),
            blocks.Fields(((words.random, yes_or_no),)),
        )
    )


def _describe_decision(
    decision: DecisionReport | None, words: SwarmReportText
) -> list[blocks.Block]:
    """Describe how an agent came to its direction, as it said; where it did not, say so (S-39)."""
    if decision is None:
        return [blocks.Line(words.not_stated)]
    candidates = [
        (each.direction, each.concentration, each.response_prob)
        for each in decision.candidates or ()
    ]
    threshold = "–"
    if decision.threshold is not None:
        threshold = str(decision.threshold)
    chosen = blocks.Line(f"θ = {threshold} · {one_line(decision.selected_direction)}")
    table = blocks.build_table((words.direction, "S", "P(S,θ)"), candidates)
    return [chosen, blocks.Quote(decision.selection_reason), table]


def _describe_finding(finding: StatedIdea) -> tuple[blocks.Block, ...]:
    view = f" ({finding.perspective})" if finding.perspective else ""
    marks: list[str] = []
    if finding.confidence:
        marks.append(finding.confidence)
    if finding.needs_validation:
        marks.append("needsValidation")
    if finding.search_attempted:
        marks.append("searchAttempted")
    marked = f" [{', '.join(marks)}]" if marks else ""
    head = (blocks.Strong(finding.core_idea), f"{view}{marked}")
    return blocks.Bullets((head,)), blocks.Quote(finding.details)


CONFIG: Final = "run-config.json"
MAX_SLUG_LENGTH: Final = 30
MAX_NAME_LENGTH: Final = 120
"""The most bytes of a file name; some scripts need four per letter."""

_OTHER = compile_late(r"[^a-z0-9\u4e00-\u9fff]+")


class RunFile(NamedTuple):
    """A file in a run's folder: the parts of its path, none of which can leave the folder, and its text."""

    path: tuple[str, ...]
    text: str


def task_slug(task: str) -> str:
    """Return a task as part of a folder name: letters, digits and Han characters, at most thirty."""
    words = _OTHER.sub("-", unicodedata.normalize("NFKC", task).lower()).strip("-")
    return words[:MAX_SLUG_LENGTH].strip("-") or "task"


def folder_name(started: datetime, task: str) -> str:
    """Return `YYYY-MM-DD-task-slug`, by the UTC day on which the run began."""
    return f"{started:%Y-%m-%d}-{task_slug(task)}"


def file_name(seat: str) -> str:
    """Return the file name of an agent's report; a name that is too long is cut and made unique by its hash."""
    if len(seat.encode()) <= MAX_NAME_LENGTH:
        return f"{seat}.md"
    # Nine bytes for the hyphen and the hash; "ignore" drops a character that the cut splits.
    start = seat.encode()[: MAX_NAME_LENGTH - 9].decode("utf-8", "ignore")
    return f"{start}-{sha256(seat.encode()).hexdigest()[:8]}.md"


def list_template_files(language: Language) -> Iterator[RunFile]:
    """Yield the files of `.template/`: what the folder of a run holds, and the parts of its report in their order."""
    words = SWARM_TEMPLATE[language]
    yield RunFile(("README.md",), words.readme)
    titles = (
        title.format(number=1, threshold="67 %")
        for title in list_section_titles(SWARM_REPORT[language])
    )
    yield RunFile(
        ("report-template.md",),
        "\n\n".join((words.head, *(f"## {title}\n\n…" for title in titles))) + "\n",
    )


def render_standing(timeline: SwarmTimeline, apart: Iterable[str] = ()) -> str:
    """Return where the swarm stands, as JSON."""
    return _dump_json_text(build_standing_json(timeline, apart))


def run_files(timeline: SwarmTimeline) -> Iterator[RunFile]:
    """Yield every file of the run in its current state."""
    yield RunFile((CONFIG,), render_run_config(timeline))
    yield RunFile(("blackboard.json",), render_blackboard(timeline))
    yield RunFile(("operation-log.json",), render_operation_log(timeline))
    for received in timeline.reports:
        yield RunFile(
            ("agent-reports", f"round-{received.round}", file_name(received.seat)),
            render_agent_report(timeline, received),
        )
    report = build_swarm_report(timeline)
    yield RunFile(("convergence-report.md",), render_convergence_report(timeline))
    yield RunFile(("final-research-report.md",), render_markdown(report))
    yield RunFile(("final-research-report.html",), render_page(report))
