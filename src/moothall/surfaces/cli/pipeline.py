"""`moot pipeline`: a director takes a task through steps."""

from typing import Any

import click

from moothall.app.moot import Moot
from moothall.app.pipelines import build_options, list_shipped, load_pipeline, read_shipped_text
from moothall.domain.budget import Budget
from moothall.domain.facts import Language
from moothall.domain.ids import parse_session_id
from moothall.domain.roster import WEEK_SECONDS
from moothall.domain.safe_text import one_line
from moothall.errors import BadSetting
from moothall.locale.texts import list_languages
from moothall.protocols.consultation.timeline import ConsultingTimeline
from moothall.protocols.pipeline.timeline import PipelineTimeline, list_step_lines
from moothall.surfaces.cli import output
from moothall.surfaces.cli.duration import Duration
from moothall.surfaces.cli.run import TerminalSession, exit_with, print_plan


@click.group()
def pipeline() -> None:
    """Run a task through steps: one agent at a time, with artefacts, validation gates and consultations.

    \b
    moot pipeline run contest
    """


@pipeline.command(name="run", short_help="Run the pipeline in FILE.")
@click.argument("file")
@click.option("--task", help="The task. Default: the task in the file.")
@click.option("--model", "models", multiple=True, metavar="PLATFORM", help="Fills all agents; can be repeated.")
@click.option("--seat", "seats", multiple=True, metavar="NAME=PLATFORM", help="Fills one agent; can be repeated.")
@click.option("--language", type=click.Choice(list_languages()), help="Default: the language in the file.")
@click.option("--project", type=click.Path(), help="The folder that holds docs/consultation/. Default: the current folder.")
@click.option("--tokens", type=click.IntRange(1), help="Token budget.")
@click.option("--time", "seconds", type=Duration(), help="Time budget, such as 90s or 10m.")
@click.option("--session", metavar="ID", help="The session's id.")
@click.option("--patience", type=Duration(), default=WEEK_SECONDS, help="Deadline for mailbox agents. Default: 7d.")
@click.option("--wait", is_flag=True, help="Wait here for mailbox agents instead of ending the command.")
@click.option("--no-check", is_flag=True, help="Skip the check that every agent can answer.")
@click.option("--dry-run", is_flag=True, help="Validate everything and print the plan; record nothing.")
@output.json_option
def run_pipeline(
    *,
    file: str,
    task: str | None,
    models: tuple[str, ...],
    seats: tuple[str, ...],
    language: Language | None,
    project: str | None,
    tokens: int | None,
    seconds: float | None,
    session: str | None,
    patience: float,
    wait: bool,
    no_check: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run the pipeline in FILE (TOML), or one that ships with Moot by its name.

    \b
    moot pipeline run contest
    moot pipeline run contest --model openai:gpt-5-mini
    moot pipeline run release.toml --seat validator=human
    """
    table = TerminalSession()

    async def work() -> int:
        async with table.open_moot() as moot:
            found = load_pipeline(file, language or "en")
            plan = build_options(found, models=models, seats=seats, project=project, language=language)
            plan["budget"] = Budget(tokens=tokens, seconds=seconds)
            plan["session"] = session
            plan["outside_patience"] = patience
            plan["check"] = not no_check
            topic = task or found.task
            if not topic:
                raise BadSetting(f"the pipeline {file!r} has no task; give one with --task")
            if dry_run and as_json:
                return await print_plan(moot, topic, plan, as_json)
            if dry_run:
                opened = (await moot.plan_session(topic, **plan)).opened
                for number, step in enumerate(found.settings["steps"], 1):
                    output.print_line(f"{number}. {one_line(step['name'])}: {step['agent']}{' (gate)' if step['gate'] else ''}")
                for seat in opened.seats:
                    output.print_line(f"  {seat.id}: {seat.platform}")
                return output.DONE
            table.session = await moot.open(topic, **plan)
            return await table.hold(moot, as_json=as_json, wait=wait)

    exit_with(output.run(work, as_json=as_json, stopped=table.describe_stop))


@pipeline.command(name="resume", short_help="Resume a pipeline.")
@click.argument("session")
@click.option("--wait", is_flag=True, help="Wait here for mailbox agents instead of ending the command.")
@output.json_option
def resume_pipeline(session: str, wait: bool, as_json: bool) -> None:
    """Resume a pipeline where it stopped: after Ctrl-C, a crash, or an answer from outside.

    \b
    moot pipeline resume think_20261115_001
    """
    table = TerminalSession()
    table.session = session

    async def work() -> int:
        async with table.open_moot() as moot:
            await load_pipeline_timeline(moot, session)
            await moot.prepare_resume(session)
            return await table.hold(moot, as_json=as_json, wait=wait)

    exit_with(output.run(work, as_json=as_json, stopped=table.describe_stop))


@pipeline.command(name="status", short_help="Show the current step of a pipeline.")
@click.argument("session")
@output.json_option
def pipeline_status(session: str, as_json: bool) -> None:
    """Show the steps of a pipeline, the agent at work and the consultations so far.

    \b
    moot pipeline status think_20261115_001
    """

    async def work() -> None:
        async with Moot() as moot:
            timeline, consulted = await load_pipeline_timeline(moot, session)
            running = await moot.is_running(session)
        if as_json:
            output.print_json(build_status_json(timeline, consulted, is_running=running))
            return
        words = timeline.words
        for line in list_step_lines(timeline):
            mark = "▶" if line.state == "current" else " "
            kind = " [gate]" if line.gate else ""
            done = f" × {line.done}" if line.done > 1 else ""
            output.print_line(f"{mark} {line.number:>2}. {line.name}{kind}: {line.agent}, {words.states[line.state]}{done}")
        if consulted is not None:
            for each in consulted.consultations:
                path = each.filed.path if each.filed is not None else ""
                output.print_line(
                    f"   {each.seat} → {one_line(each.to)}: {consulted.words.statuses[each.status]} {path}".rstrip()
                )
        if timeline.closed is None and not running:
            output.print_note(f"No process runs it; resume it with: moot pipeline resume {session}")

    output.run(work, as_json=as_json)


@pipeline.command(name="show", short_help="Print a pipeline that ships with Moot.")
@click.argument("name", required=False)
@click.option("--language", type=click.Choice(list_languages()), default="en", show_default=True)
def show_pipeline(name: str | None, language: Language) -> None:
    """Print the file of a pipeline that ships with Moot, as a start for your own; without NAME, list them.

    \b
    moot pipeline show contest > mine.toml
    """

    async def work() -> None:
        if name is None:
            for each in list_shipped():
                output.print_line(each)
            return
        output.print_line(read_shipped_text(name, language).rstrip("\n"))

    output.run(work, as_json=False)


async def load_pipeline_timeline(moot: Moot, session: str) -> tuple[PipelineTimeline, ConsultingTimeline | None]:
    """A pipeline and its consultations; raises BadSetting for a session of another kind."""
    timeline = await moot.load_timeline(parse_session_id(session))
    consulted = timeline if isinstance(timeline, ConsultingTimeline) else None
    within = consulted.within if consulted is not None else timeline
    if not isinstance(within, PipelineTimeline):
        raise BadSetting(f"session {session!r} is not a pipeline; `moot show {session}` shows it")
    return within, consulted


def build_status_json(timeline: PipelineTimeline, consulted: ConsultingTimeline | None, *, is_running: bool) -> dict[str, Any]:
    """Where a pipeline stands, for programs."""
    lines = [] if consulted is None else consulted.consultations
    return {
        "session": timeline.session,
        "running": is_running,
        "ended_by": getattr(timeline.closed, "outcome", None) if timeline.closed is not None else None,
        "steps": list_step_lines(timeline),
        "consultations": [
            {
                "from": each.seat,
                "to": each.to,
                "status": each.status,
                "number": None if each.filed is None else each.filed.number,
                "record": None if each.filed is None else each.filed.path,
            }
            for each in lines
        ],
    }
