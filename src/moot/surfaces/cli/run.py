"""`moot run`, `resume` and `watch`: a meeting in the terminal."""

import asyncio
import math
import shlex
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console

from moot.app.consultations import Consult
from moot.app.moot import DEFAULT_TURNS, WEEK_SECONDS, Moot, Options
from moot.app.swarm_runs import RUNS, keep_run_folder
from moot.domain.budget import Budget
from moot.domain.context import extract_first_sentence
from moot.domain.facts import Language
from moot.domain.ids import parse_session_id
from moot.domain.safe_text import one_line
from moot.domain.topic import build_topic
from moot.engine.events import EntryAdded
from moot.errors import BadSetting
from moot.ports.plugin import AnyPlugin
from moot.reports.decision import Decision
from moot.surfaces.cli import output
from moot.surfaces.cli.duration import Duration
from moot.surfaces.cli.live import View, build_view
from moot.surfaces.cli.person import build_terminal_ask
from moot.surfaces.cli.render import show_decision
from moot.surfaces.cli.session_text import SESSION_TEXT


@click.command(short_help="Hold a meeting on TOPIC.")
@click.argument("topic")
@click.option("--seat", "seats", multiple=True, metavar="NAME=PLATFORM", help="A seat and its participant; can be repeated.")
@click.option("--panel", metavar="NAME|FILE", help="A preset (listed by `moot panel`) or a panel file.")
@click.option("--model", "models", multiple=True, metavar="PLATFORM", help="Fills seats without a platform; can be repeated.")
@click.option("--protocol", default="persona", show_default=True, help="Or debate, advisory, consensus, roundtable, swarm.")
@click.option("--language", type=click.Choice(["en", "zh"]), help="Default: the topic's language.")
@click.option("--turns", type=click.IntRange(1, 100_000), default=DEFAULT_TURNS, show_default=True, help="Turn budget.")
@click.option("--tokens", type=click.IntRange(1), help="Token budget.")
@click.option("--money", type=click.FloatRange(0, min_open=True), help="Money budget in US dollars.")
@click.option("--time", "seconds", type=Duration(), help="Time budget, such as 90s or 10m.")
@click.option("--category", default="", help="The category of the question; trust is kept per category.")
@click.option("--stakes", type=click.Choice(["low", "medium", "high", "critical"]), default="medium", show_default=True)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="A tag of the decision; can be repeated.")
@click.option("--option", "options", multiple=True, metavar="ANSWER", help="One of the possible answers; repeat for each.")
@click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="A setting of the protocol, such as window=8.")
@click.option("--seed", type=click.IntRange(0, 2**31 - 1), help="The session's seed.")
@click.option("--session", metavar="ID", help="The session's id. Default: think_YYYYMMDD_NNN.")
@click.option("--patience", type=Duration(), default=WEEK_SECONDS, help="Deadline for mailbox seats. Default: 7d.")
@click.option("--wait", is_flag=True, help="Wait here for mailbox seats instead of parking the session.")
@click.option("--consult", is_flag=True, help="Allow seats to consult each other before they answer.")
@click.option("--consult-limit", type=click.IntRange(0, 100), help="Consultations per seat (default 3); implies --consult.")
@click.option("--consult-total", type=click.IntRange(0, 1_000), help="Consultations in total (default 24); implies --consult.")
@click.option("--gate", is_flag=True, help="Mark the session as a validation: consultations are refused and recorded.")
@click.option("--project", type=click.Path(), help="The folder that holds docs/consultation/. Default: the current folder.")
@click.option("--no-check", is_flag=True, help="Skip the check that every seat can answer.")
@click.option("--dry-run", is_flag=True, help="Validate everything and print the plan; record nothing.")
@output.json_option
def run(
    *,
    topic: str,
    seats: tuple[str, ...],
    panel: str | None,
    models: tuple[str, ...],
    protocol: str,
    language: Language | None,
    turns: int,
    tokens: int | None,
    money: float | None,
    seconds: float | None,
    category: str,
    stakes: str,
    tags: tuple[str, ...],
    options: tuple[str, ...],
    settings: tuple[str, ...],
    seed: int | None,
    session: str | None,
    patience: float,
    wait: bool,
    consult: bool,
    consult_limit: int | None,
    consult_total: int | None,
    gate: bool,
    project: str | None,
    no_check: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Hold a meeting on TOPIC and print the decision.

    Without --seat and --panel, Moot fills the default panel with the participants that it finds: providers with a key in the
    environment, a model server on this machine, or the embedded model.

    \b
    moot run "Should we rewrite the product?"
    moot run "Should we hire?" --panel board --model openai:gpt-5-mini
    moot run "A or B?" --seat ada=openai:gpt-5-mini --seat bob=embedded
    moot run "A or B?" --protocol debate --option A --option B --stakes high
    """
    table = TerminalSession()

    async def work() -> int:
        budget = Budget(turns=turns, tokens=tokens, money=to_millionths(money), seconds=seconds)
        async with table.open_moot() as moot:
            plan: Options = {
                "seats": list(seats),
                "panel": panel,
                "models": list(models),
                "protocol": protocol,
                "language": language,
                "seed": seed,
                "budget": budget,
                "settings": parse_pairs(settings),
                "outside_patience": patience,
                "session": session,
                "check": not no_check,
                "subject": build_topic(category=category, stakes=stakes, tags=tags, options=options),
                "consult": build_consult(consult, consult_limit, consult_total, gate=gate, project=project),
            }
            if dry_run:
                return await print_plan(moot, topic, plan, as_json)
            table.session = await moot.open(topic, **plan)
            for hit in [] if as_json else await moot.find_similar(topic):
                kept = await moot.memory.get(hit.decision)
                about = extract_first_sentence(kept.record.topic) if kept is not None else ""
                words = SESSION_TEXT[await table.load_language(moot)]
                output.print_note(words.earlier.format(topic=one_line(about), decision=hit.decision))
            if not seats and not models and not as_json:
                await print_discovered(moot, table.session)
            return await table.hold(moot, as_json=as_json, wait=wait)

    exit_with(output.run(work, as_json=as_json, stopped=table.describe_stop))


@click.command(short_help="Resume a session.")
@click.argument("session")
@click.option("--wait", is_flag=True, help="Wait here for mailbox seats instead of parking the session.")
@click.option(
    "--runs", type=click.Path(file_okay=False, path_type=Path), help="The folder that holds swarm runs. Default: swarm-runs."
)
@output.json_option
def resume(session: str, wait: bool, runs: Path | None, as_json: bool) -> None:
    """Resume a session where it stopped: after Ctrl-C, a crash, or an answer from outside.

    \b
    moot resume think_20261115_001
    """
    table = TerminalSession()
    table.session = session
    table.runs = runs

    async def work() -> int:
        async with table.open_moot() as moot:
            return await table.hold(moot, as_json=as_json, wait=wait)

    exit_with(output.run(work, as_json=as_json, stopped=table.describe_stop))


@click.command(short_help="Follow a session as it happens.")
@click.argument("session")
@click.option("--after", type=click.IntRange(0), default=0, help="Skip the entries up to this number.")
@output.json_option
def watch(session: str, after: int, as_json: bool) -> None:
    """Print a session from its first entry until it ends, also one that another process runs.

    \b
    moot watch think_20261115_001
    """

    async def work() -> None:
        async with Moot() as moot:
            if as_json:
                from moot.surfaces.api.entries import build_entry_out

                async for event in moot.watch(session, after):
                    if isinstance(event, EntryAdded):
                        state = (await moot.engine.load_snapshot(parse_session_id(session))).state
                        output.print_json_line(build_entry_out(event.entry, state))
                return
            console = output.build_console()
            plugin = await moot.load_plugin(session)
            timeline = plugin.timeline(parse_session_id(session))
            view = build_view(plugin, timeline, console)
            with view.open_display():
                snapshot = await moot.engine.load_snapshot(parse_session_id(session))
                words = SESSION_TEXT[snapshot.session_state.opened.language]
                if snapshot.session_state.is_parked:
                    waiting = ", ".join(sorted({ask.split(".", 2)[2] for ask in snapshot.session_state.pending}))
                    output.print_note(words.waits.format(seats=waiting))
                elif not snapshot.is_closed and not await moot.is_running(session):
                    output.print_note(words.not_running.format(session=session))
                async for event in moot.watch(session):
                    view.show(event)
            show_decision(console, plugin, timeline)

    output.run(work, as_json=as_json, stopped=lambda: "")


class TerminalSession:
    """A meeting held in this terminal."""

    def __init__(self) -> None:
        self.session = ""
        self.runs: Path | None = None
        self._view: View | None = None
        self._language: Language = "en"
        self._console = output.build_console()

    def open_moot(self) -> Moot:
        return Moot(ask_person=build_terminal_ask(self._pause_view, self._resume_view))

    def describe_stop(self) -> str:
        if not self.session:
            return "\nStopped. Nothing was recorded."
        runs = f" --runs {shlex.quote(str(self.runs))}" if self.runs is not None and str(self.runs) != RUNS else ""
        return "\n" + SESSION_TEXT[self._language].stopped.format(session=f"{self.session}{runs}")

    async def load_language(self, moot: Moot) -> Language:
        """The language in which this session is spoken of from now on."""
        self._language = (await moot.engine.load_snapshot(parse_session_id(self.session))).session_state.opened.language
        return self._language

    async def hold(self, moot: Moot, *, as_json: bool, wait: bool) -> int:
        """Run the session, show it, print the decision; the exit code."""
        plugin = await moot.load_plugin(self.session)
        await self.load_language(moot)
        async with keep_run_folder(moot, plugin, self.session, self.runs) as folder:
            code = await self._run_and_show(moot, plugin, as_json=as_json, wait=wait)
        if folder is not None and not as_json:
            output.print_line(f"{folder.path}/")
        return code

    async def _run_and_show(self, moot: Moot, plugin: AnyPlugin, *, as_json: bool, wait: bool) -> int:
        if as_json:
            decision = await moot.run(self.session, wait=wait)
            output.print_json(decision)
            return await self._choose_exit_code(moot, decision, quiet=True)
        timeline = plugin.timeline(parse_session_id(self.session))
        self._view = build_view(plugin, timeline, self._console)
        if not self._console.is_terminal:
            output.print_line(SESSION_TEXT[self._language].session.format(session=self.session))
        with self._view.open_display():
            watcher = asyncio.create_task(self._watch_events(moot, self._view))
            try:
                decision = await moot.run(self.session, wait=wait)
                if decision.status != "thinking":
                    await watcher
                else:
                    await asyncio.sleep(0.3)
            finally:
                watcher.cancel()
        show_decision(self._console, plugin, timeline)
        return await self._choose_exit_code(moot, decision, quiet=False)

    async def _watch_events(self, moot: Moot, view: View) -> None:
        async for event in moot.watch(self.session):
            view.show(event)

    async def _choose_exit_code(self, moot: Moot, decision: Decision, *, quiet: bool) -> int:
        if decision.status == "thinking":
            if not quiet:
                await self._print_waiting(moot)
            return output.WAITING
        return output.DONE if decision.decision is not None else output.UNDECIDED

    async def _print_waiting(self, moot: Moot) -> None:
        words = SESSION_TEXT[self._language]
        for each in await moot.asks(self.session):
            until = words.until.format(time=f"{each.pending.deadline:%Y-%m-%d %H:%M}") if each.pending.deadline else ""
            output.print_line(words.waiting.format(seat=each.ask.seat, until=until, session=self.session))
        output.print_line(words.then_resume.format(session=self.session))

    def _pause_view(self) -> None:
        if self._view is not None:
            self._view.pause()

    def _resume_view(self) -> None:
        if self._view is not None:
            self._view.resume()


def build_consult(
    wanted: bool, limit: int | None, total: int | None, *, gate: bool = False, project: str | None = None
) -> Consult | None:
    """Consultations as the options say; None for a session without."""
    if not wanted and limit is None and total is None and not gate and project is None:
        return None
    usual = Consult()
    return Consult(
        per_seat=usual.per_seat if limit is None else limit,
        per_session=usual.per_session if total is None else total,
        gate=gate,
        folder=project,
    )


def parse_pairs(words: Sequence[str]) -> dict[str, str]:
    """`key=value` words as a mapping; raises BadSetting."""
    found = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise BadSetting(f"--set {word!r}: expected KEY=VALUE, such as window=8")
        found[key.strip()] = value.strip()
    return found


def to_millionths(money: float | None) -> int | None:
    if money is None:
        return None
    if not math.isfinite(money):
        raise BadSetting(f"--money {money}: expected US dollars, such as 0.50")
    return max(1, round(money * 1e6))


def exit_with(code: int) -> None:
    """End the process with this exit code."""
    raise SystemExit(code)


async def print_discovered(moot: Moot, session: str) -> None:
    """Which of the minds at hand took seats that nobody was named for."""
    found = await moot.discover()
    state = (await moot.engine.load_snapshot(parse_session_id(session))).session_state
    taken, words = {seat.platform for seat in state.seats}, SESSION_TEXT[state.opened.language]
    models = [text for text in found.models if text in taken]
    servers = [text for text in found.servers if text in taken]
    if models:
        output.print_note(words.found_keys.format(models=", ".join(models)))
    if servers:
        output.print_note(words.found_servers.format(servers=", ".join(servers)))
    if found.embedded and "embedded" in taken:
        output.print_note(words.found_embedded)


async def print_plan(moot: Moot, topic: str, plan: Options, as_json: bool) -> int:
    """Everything that `open` checks, and nothing recorded."""
    opened = (await moot.plan_session(topic, **plan)).opened
    if as_json:
        from moot.codec.answers import as_json as plain_json

        output.print_json(plain_json(opened))
        return output.DONE
    console: Console = output.build_console()
    most = f", {opened.budget.turns} turns at most" if plan.get("protocol") == "persona" else ""
    head = f"[bold]{plan.get('protocol')}[/], {len(opened.seats)} seats, language {opened.language}{most}"
    console.print(head, highlight=False)
    for seat in opened.seats:
        console.print(f"  {seat.id}: {seat.platform}", markup=False)
    return output.DONE
