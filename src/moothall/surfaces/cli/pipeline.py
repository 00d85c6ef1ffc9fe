"""`moot pipeline`: a director takes a task through steps."""

from collections.abc import Iterator
from typing import Any

import click

from moothall.app.moot import Moot
from moothall.app.pipelines import build_pipeline_options, list_shipped, load_pipeline, read_shipped_text
from moothall.app.session_options import Options
from moothall.domain.facts import Language, Opened
from moothall.domain.ids import parse_session_id
from moothall.domain.safe_text import one_line
from moothall.errors import BadSetting
from moothall.locale.catalogues import CONSULTATION_PROMPT
from moothall.locale.texts import list_languages
from moothall.protocols.consultation.timeline import get_consultations
from moothall.protocols.pipeline.facts import PipelineOpened
from moothall.protocols.pipeline.timeline import PipelineTimeline, list_step_lines
from moothall.surfaces.cli import output
from moothall.surfaces.cli.main import LazyGroup
from moothall.surfaces.cli.options import HoldOptions, WaitCommand, session_options, wait_option
from moothall.surfaces.cli.output import CommandResult, Note, moot_command
from moothall.surfaces.cli.requirement import check_required, require_option
from moothall.surfaces.cli.terminal_session import TerminalSession, open_and_hold


@click.group(cls=LazyGroup)
def pipeline() -> None:
    """Run a task through steps: one agent at a time, with artefacts, validation gates and consultations.

    \b
    moot pipeline run contest
    """


@pipeline.command(name="run", cls=WaitCommand)
@click.argument("file")
@click.option("--task", help="The task. Default: the task in the file.")
@session_options("pipeline")
def run_pipeline(*, file: str, task: str | None, options: Options, hold: HoldOptions) -> None:
    """Run the pipeline in FILE (TOML), or one that ships with Moot by its name.

    A --seat fills one agent, a --model in turn those that have no platform in the file.

    \b
    moot pipeline run contest
    moot pipeline run contest --model openai:gpt-5-mini
    moot pipeline run release.toml --seat validator=human
    """

    def prepare() -> tuple[str, Options]:
        loaded = load_pipeline(file, options.get("language") or "en")
        topic = task or loaded.task
        if not topic:
            raise BadSetting(f"the pipeline {file!r} has no task; give one with --task")
        return topic, build_pipeline_options(loaded, options)

    open_and_hold(prepare, hold, describe=_describe_steps)


def _describe_steps(opened: Opened) -> list[str]:
    assert isinstance(opened, PipelineOpened)
    return [
        f"{number}. {one_line(step.name)}: {step.agent}{' (gate)' if step.gate else ''}"
        for number, step in enumerate(opened.settings.steps, 1)
    ]


@pipeline.command(name="resume", cls=WaitCommand)
@click.argument("session")
@wait_option
@require_option
@output.json_option
def resume_pipeline(session: str, wait: float | None, required: tuple[str, ...], as_json: bool) -> None:
    """Resume a pipeline where it stopped: after Ctrl-C, a crash, or an answer from outside.

    \b
    moot pipeline resume think_20261115_001
    """
    terminal = TerminalSession(session, required=required)

    async def work() -> int:
        check_required(required)
        async with terminal.open_moot() as moot:
            await load_pipeline_timeline(moot, session)
            await moot.prepare_resume(session)
            return await terminal.hold(moot, as_json=as_json, wait=wait or 0.0)

    raise SystemExit(output.run(work, as_json=as_json, stopped=terminal.describe_stop))


@pipeline.command(name="status")
@click.argument("session")
@moot_command
async def pipeline_status(moot: Moot, session: str) -> CommandResult:
    """Show the steps of a pipeline, the agent at work and the consultations so far.

    \b
    moot pipeline status think_20261115_001
    """
    timeline = await load_pipeline_timeline(moot, session)
    is_running = await moot.is_running(session)
    lines = list(_describe_status(timeline))
    if timeline.closed is None and not is_running:
        lines.append(Note(f"No process runs it; resume it with: moot pipeline resume {session}"))
    return CommandResult(json=build_status_json(timeline, is_running=is_running), lines=lines)


def _describe_status(timeline: PipelineTimeline) -> Iterator[str]:
    for line in list_step_lines(timeline):
        mark = "▶" if line.state == "current" else " "
        kind = " [gate]" if line.gate else ""
        done = f" × {line.done}" if line.done > 1 else ""
        yield f"{mark} {line.number:>2}. {line.name}{kind}: {line.agent}, {timeline.words.states[line.state]}{done}"
    statuses = CONSULTATION_PROMPT[timeline.language].statuses
    for each in get_consultations(timeline).consultations:
        path = each.filed.path if each.filed is not None else ""
        yield f"   {each.seat} → {one_line(each.to)}: {statuses[each.status]} {path}".rstrip()


@pipeline.command(name="show")
@click.argument("name", required=False)
@click.option("--language", type=click.Choice(list_languages()), default="en", show_default=True)
def show_pipeline(name: str | None, language: Language) -> None:
    """Print the file of a pipeline that ships with Moot, as a start for your own; without NAME, list them.

    \b
    moot pipeline show contest > mine.toml
    """
    try:
        lines = list_shipped() if name is None else [read_shipped_text(name, language).rstrip("\n")]
    except BadSetting as error:
        output.fail(error)
    output.print_line("\n".join(lines))


async def load_pipeline_timeline(moot: Moot, session: str) -> PipelineTimeline:
    """A pipeline; raises BadSetting for a session of another kind."""
    timeline = await moot.load_timeline(parse_session_id(session))
    if not isinstance(timeline, PipelineTimeline):
        raise BadSetting(f"session {session!r} is not a pipeline; `moot show {session}` shows it")
    return timeline


def build_status_json(timeline: PipelineTimeline, *, is_running: bool) -> dict[str, Any]:
    return {
        "session": timeline.session,
        "running": is_running,
        "ended_by": timeline.closed.ended_by if timeline.closed is not None else None,
        "steps": list_step_lines(timeline),
        "consultations": [
            {
                "from": each.seat,
                "to": each.to,
                "status": each.status,
                "number": None if each.filed is None else each.filed.number,
                "record": None if each.filed is None else each.filed.path,
            }
            for each in get_consultations(timeline).consultations
        ],
    }
