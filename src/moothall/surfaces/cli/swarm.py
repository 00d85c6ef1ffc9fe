"""`moot swarm` and `swarm-report`: equal explorers on one task, and their report with joins undone."""

from pathlib import Path
from typing import Any, Final

import click

from moothall.app.moot import Moot, Options
from moothall.app.panels import parse_seat_word
from moothall.app.swarm_runs import RUNS, RunFolder, check_writable
from moothall.domain.budget import Budget
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import build_topic
from moothall.errors import BadRoster, BadSetting
from moothall.locale.texts import list_languages
from moothall.protocols.swarm.agent_names import agent_name
from moothall.protocols.swarm.facts import FEWEST_AGENTS, LIKENESS, MOST_AGENTS, VALIDATOR
from moothall.protocols.swarm.records.blackboard import render_blackboard
from moothall.protocols.swarm.reports.report import build_swarm_report, render_convergence_report
from moothall.protocols.swarm.reports.standing import build_standing_json
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.protocols.swarm.reports.what_if import compute_what_if
from moothall.reports.json_text import dump_json
from moothall.reports.markdown import format_cell, render_markdown
from moothall.reports.page import render_page
from moothall.surfaces.cli import output
from moothall.surfaces.cli.run import TerminalSession, exit_with, parse_pairs, print_discovered, print_plan, to_millionths

DEFAULT_AGENTS: Final = 5


@click.command(short_help="Run a swarm on TASK.")
@click.argument("task")
@click.option("--agents", type=click.IntRange(FEWEST_AGENTS, MOST_AGENTS), help="Explorers. Default: 5, or the number of seats.")
@click.option("--max-rounds", type=click.IntRange(1, 100), default=10, show_default=True)
@click.option("--timeout", type=click.FloatRange(0, min_open=True), default=60.0, show_default=True, help="In minutes.")
@click.option("--mode", type=click.Choice(["emergent", "hybrid", "classic"]), help="Default: emergent; with --direction: hybrid.")
@click.option("--direction", "directions", multiple=True, metavar="WORDS", help="A direction to start with; can be repeated.")
@click.option("--seat", "seats", multiple=True, metavar="NAME=PLATFORM", help="An explorer, `validator` or `likeness`; repeat.")
@click.option("--panel", metavar="NAME|FILE", help="Explorers from a panel.")
@click.option(
    "--model", "models", multiple=True, metavar="PLATFORM", help="Fills explorers that have no platform; can be repeated."
)
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="The run's seed.")
@click.option(
    "--quorum", type=click.Choice(["all", "independent"]), default="all", show_default=True, help="Whose support counts."
)
@click.option(
    "--settle",
    type=click.Choice(["evidence", "quorum"]),
    help="What decides: the readings of directions, or the vote on ideas with a quorum. Default: evidence.",
)
@click.option("--language", type=click.Choice(list_languages()), help="Default: the task's language.")
@click.option("--tokens", type=click.IntRange(1), help="Token budget.")
@click.option("--money", type=click.FloatRange(0, min_open=True), help="Money budget in US dollars.")
@click.option("--category", default="", help="The category of the task; trust is kept per category.")
@click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the protocol, such as evaporation=0.05."
)
@click.option("--session", metavar="ID", help="The session's id. Default: think_YYYYMMDD_NNN.")
@click.option(
    "--runs",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path(RUNS),
    help=f"The parent folder of the run. Default: {RUNS}.",
)
@click.option("--no-wait", is_flag=True, help="Park the session when only mailbox seats are awaited.")
@click.option("--no-check", is_flag=True, help="Skip the check that every seat can answer.")
@click.option("--dry-run", is_flag=True, help="Validate everything and print the plan; record nothing.")
@output.json_option
def swarm(
    *,
    task: str,
    agents: int | None,
    max_rounds: int,
    timeout: float,
    mode: str | None,
    directions: tuple[str, ...],
    seats: tuple[str, ...],
    panel: str | None,
    models: tuple[str, ...],
    seed: int | None,
    quorum: str,
    settle: str | None,
    language: Language | None,
    tokens: int | None,
    money: float | None,
    category: str,
    settings: tuple[str, ...],
    session: str | None,
    runs: Path,
    no_wait: bool,
    no_check: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Run equal explorers on TASK, round by round, until their ideas are stable, shared and diverse enough.

    The report, the blackboard and every agent's reports are written to a new folder.

    \b
    moot swarm "How do we halve the page load time?" --agents 5 --model openai:gpt-5-mini
    moot swarm "Which market first?" --direction "small clinics" --direction "insurers" --max-rounds 6
    """
    table = TerminalSession()
    table.runs = runs

    async def work() -> int:
        chosen: dict[str, Any] = {
            "max_rounds": max_rounds,
            "mode": mode or ("hybrid" if directions else "emergent"),
            "directions": directions,
            "quorum": quorum,
            **({"settle": settle} if settle else {}),
            **parse_pairs(settings),
        }
        async with table.open_moot() as moot:
            plan: Options = {
                "seats": build_swarm_seats(seats, agents, panel is not None, str(chosen.get("judge", ""))),
                "panel": panel,
                "models": list(models),
                "protocol": "swarm",
                "language": language,
                "seed": seed,
                "budget": Budget(tokens=tokens, money=to_millionths(money), seconds=timeout * 60),
                "settings": chosen,
                "session": session,
                "check": not no_check,
                "subject": build_topic(category=category),
            }
            if dry_run:
                return await print_plan(moot, task, plan, as_json)
            check_writable(runs)
            table.session = await moot.open(task, **plan)
            if not seats and not models and not as_json:
                await print_discovered(moot, table.session)
            return await table.hold(moot, as_json=as_json, wait=not no_wait)

    exit_with(output.run(work, as_json=as_json, stopped=table.describe_stop))


def build_swarm_seats(words: tuple[str, ...], count: int | None, has_panel: bool, judge: str = "") -> list[Seat]:
    """The seats of a swarm: those given, then explorers by their own names up to `count`; raises BadRoster."""
    given = [parse_seat_word(word) for word in words]
    explorers = [seat.id for seat in given if seat.id not in {VALIDATOR, LIKENESS, judge}]
    if has_panel and count is not None:
        raise BadRoster("a panel sets the number of explorers; give --agents or --panel, not both")
    if has_panel:
        return given
    wanted = count or (len(explorers) if len(explorers) >= FEWEST_AGENTS else DEFAULT_AGENTS)
    if len(explorers) > wanted:
        raise BadRoster(f"{len(explorers)} explorers are seated, but --agents is {wanted}")
    names = [SeatId(agent_name(number)) for number in range(1, MOST_AGENTS * 2)]
    free = [name for name in names if name not in explorers][: wanted - len(explorers)]
    filled = [Seat(id=name, platform="") for name in free]
    # The usual order of names, whoever of them was given a platform.
    rank = {name: at for at, name in enumerate(names)}
    return sorted([*given, *filled], key=lambda seat: rank.get(seat.id, len(names)))


@click.command("swarm-report", short_help="Print a swarm's report, also with joins undone.")
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
            timeline = await moot.load_timeline(session)
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
        "takenFor": format_cell(placed.like),
        "reason": placed.reason,
        "likeness": placed.likeness,
    }
