"""`moot swarm` and `swarm-report`: equal explorers on one task, and their report with joins undone."""

from pathlib import Path
from typing import Any, get_args

import click

from moothall.app.moot import Moot
from moothall.app.rosters import DEFAULT_TIME, build_swarm_options
from moothall.app.session_options import Options
from moothall.app.swarm_runs import RUNS, RunFolder
from moothall.errors import BadSetting
from moothall.protocols.consultation.timeline import unwrap_timeline
from moothall.protocols.swarm.facts import MAX_AGENTS, MIN_AGENTS, Mode, Settle
from moothall.protocols.swarm.records.blackboard import render_blackboard
from moothall.protocols.swarm.reports.report import build_swarm_report, render_convergence_report
from moothall.protocols.swarm.reports.standing import build_standing_json
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.protocols.swarm.reports.what_if import compute_what_if
from moothall.reports.json_text import dump_json
from moothall.reports.markdown import format_cell, render_markdown
from moothall.reports.page import render_page
from moothall.scoring.convergence import QuorumOf
from moothall.surfaces.cli import output
from moothall.surfaces.cli.options import HoldOptions, WaitCommand, session_options
from moothall.surfaces.cli.terminal_session import open_and_hold


@click.command(cls=WaitCommand)
@click.argument("task")
@click.option("--agents", type=click.IntRange(MIN_AGENTS, MAX_AGENTS), help="Explorers. Default: 5, or the number of seats.")
@click.option("--max-rounds", type=click.IntRange(1, 100), help="Default: 10.")
@click.option("--timeout", type=click.FloatRange(0, min_open=True), metavar="MINUTES", help="The same as --time, in minutes.")
@click.option("--mode", type=click.Choice(get_args(Mode)), help="Default: emergent; with --direction: hybrid.")
@click.option("--direction", "directions", multiple=True, metavar="WORDS", help="A direction to start with; can be repeated.")
@click.option("--quorum", type=click.Choice(get_args(QuorumOf)), help="Whose support counts. Default: all.")
@click.option(
    "--settle",
    type=click.Choice(get_args(Settle)),
    help="What decides: the readings of directions, or the vote on ideas with a quorum. Default: evidence.",
)
@click.option(
    "--runs",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(RUNS),
    help=f"The parent folder of the run. Default: {RUNS}.",
)
@session_options("swarm")
def swarm(
    *, task: str, agents: int | None, timeout: float | None, runs: Path, options: Options, hold: HoldOptions, **settings: Any
) -> None:
    """Run equal explorers on TASK, round by round, until their ideas are stable, shared and diverse enough.

    The report, the blackboard and every agent's reports are written to a new folder. A --seat is an explorer, the `validator` or
    the `likeness`. Without --time it runs for at most an hour.

    \b
    moot swarm "How do we halve the page load time?" --agents 5 --model openai:gpt-5-mini
    moot swarm "Which market first?" --direction "small clinics" --direction "insurers" --max-rounds 6 --time 20m
    """

    def prepare() -> tuple[str, Options]:
        if timeout is not None and "time" in options:
            raise BadSetting("--timeout: --time is given as well; give one of them")
        time = options.get("time") or (DEFAULT_TIME if timeout is None else timeout * 60)
        return task, build_swarm_options({**options, "time": time}, agents, settings)

    open_and_hold(prepare, hold, runs=runs)


@click.command("swarm-report")
@click.argument("session")
@click.option("--apart", multiple=True, metavar="JOIN", help="Undo this join and recompute every figure; can be repeated.")
@click.option(
    "--form",
    type=click.Choice(["md", "html", "convergence", "standing", "blackboard"]),
    default="md",
    show_default=True,
)
@click.option(
    "--folder", type=click.Path(file_okay=False, path_type=Path), help="Write the run's folder again, inside this folder."
)
@output.json_option
def swarm_report(session: str, apart: tuple[str, ...], form: str, folder: Path | None, as_json: bool) -> None:
    """Print a swarm's report, computed from the record. The joins of ideas in it have names; `--apart` undoes them.

    \b
    moot swarm-report think_20261115_001 --apart join-2
    """

    async def work() -> None:
        if apart and (folder is not None or form == "blackboard"):
            raise BadSetting(
                "--apart applies only to the forms md, html, convergence and standing, not to --folder and not to the blackboard"
            )
        async with Moot() as moot:
            timeline = unwrap_timeline(await moot.load_timeline(session))
        if not isinstance(timeline, SwarmTimeline):
            raise BadSetting(f"{session!r} is not a swarm; use `moot show {session}`")
        if folder is not None:
            run = RunFolder(folder)
            run.write(timeline)
            output.print_line(f"{run.path}/")
            return
        if as_json:
            found = compute_what_if(timeline, apart)
            output.print_json(
                {"joins": [{"id": join.id, **_build_join_json(join.placed)} for join in timeline.joins], "rounds": found.rounds}
            )
            return
        output.print_line(_render_form(timeline, form, apart).rstrip("\n"))

    output.run(work, as_json=as_json)


def _render_form(timeline: SwarmTimeline, form: str, apart: tuple[str, ...]) -> str:
    if form == "blackboard":
        return render_blackboard(timeline)
    if form == "standing":
        return dump_json(build_standing_json(timeline, apart), indent=2)
    if form == "convergence":
        return render_convergence_report(timeline, apart)
    report = build_swarm_report(timeline, apart)
    return render_page(report) if form == "html" else render_markdown(report)


def _build_join_json(placed: Any) -> dict[str, object]:
    return {
        "text": format_cell(placed.text),
        "takenFor": format_cell(placed.similar_to),
        "reason": placed.reason,
        "likeness": placed.likeness,
    }
