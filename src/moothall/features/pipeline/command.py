"""`moot pipeline`: a director takes a task through steps."""

import click

from moothall.features.pipeline.facts import PipelineOpened
from moothall.features.pipeline.files import (
    build_pipeline_options,
    get_shipped_path,
    list_shipped,
    load_pipeline,
)
from moothall.features.pipeline.operations import METHODS, PipelineOut
from moothall.features.pipeline.words import PIPELINE_REPORT
from moothall.locale.catalogues import CONSULTATION_PROMPT
from moothall.plugins import (
    BadSetting,
    Call,
    HoldOptions,
    Language,
    LanguageChoice,
    Note,
    Opened,
    Options,
    WaitCommand,
    one_line,
    open_and_hold,
    output,
    session_options,
)
from moothall.surfaces.cli.main import LazyGroup
from moothall.surfaces.cli.operations import Command
from moothall.surfaces.cli.run import resume


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


pipeline.add_command(resume)


async def _describe_status(call: Call, result: PipelineOut) -> list[str]:
    language = (await call.moot.load_timeline(result.session_id)).language
    states, statuses = PIPELINE_REPORT[language].states, CONSULTATION_PROMPT[language].statuses
    lines = []
    for step in result.steps:
        mark = "▶" if step.state == "current" else " "
        kind = " [gate]" if step.gate else ""
        done = f" × {step.done}" if step.done > 1 else ""
        lines.append(
            f"{mark} {step.number:>2}. {step.name}{kind}: {step.agent}, {states[step.state]}{done}"
        )
    for each in result.consultations:
        lines.append(
            f"   {each.seat} → {one_line(each.to)}: {statuses[each.status]} {each.record}".rstrip()
        )
    if result.status in {"thinking", "parked"} and not result.is_running:
        lines.append(
            Note(f"No process runs it; resume it with: moot pipeline resume {result.session_id}")
        )
    return lines


pipeline.add_command(
    Command(
        method=METHODS["moot.getPipeline"],
        describe=_describe_status,
        help="Show the steps of a pipeline, the agent at work and the consultations so far.",
        examples="moot pipeline status think_20261115_001",
        arguments=["session_id"],
    ).build("status")
)


@pipeline.command(name="show")
@click.argument("name", required=False)
@click.option("--language", type=LanguageChoice(), default="en", show_default=True)
def show_pipeline(name: str | None, language: Language) -> None:
    """Print the file of a pipeline that ships with Moot, as a start for your own; without NAME, list them.

    \b
    moot pipeline show contest > mine.toml
    """
    try:
        lines = (
            list_shipped()
            if name is None
            else [get_shipped_path(name, language).read_text(encoding="utf-8").rstrip("\n")]
        )
    except BadSetting as error:
        output.fail(error)
    output.print_line("\n".join(lines))
