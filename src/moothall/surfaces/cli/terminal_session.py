"""A meeting held in this terminal: opened, run, shown, and its decision printed."""

import asyncio
import os
import shlex
import sys
import termios
import tty
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click
from rich.text import Text

from moothall.app.estimates import SessionEstimate, estimate_session, warn_unpriced
from moothall.app.features import load_place
from moothall.app.framing import reframe
from moothall.app.moot import Moot
from moothall.app.opening import PlannedSession, frame_planned, open_planned
from moothall.app.plugins import load_all_features
from moothall.app.reading_threads import run_on_own_thread
from moothall.app.requirement import NO_REQUIREMENT, Requirement, add_gate, check_gate_seats
from moothall.app.session_options import Options
from moothall.domain.context import extract_first_sentence
from moothall.domain.facts import Language, Opened, SessionParked
from moothall.domain.ids import parse_session_id
from moothall.domain.roster import ACP, COMMAND, DEMO, EMBEDDED, HUMAN, parse_kind
from moothall.domain.safe_text import one_line
from moothall.engine.context import EntryAdded
from moothall.errors import BadSetting, NoModel, ProviderRefused, SecretsGiven
from moothall.locale.catalogues import DISCOVERY, FRAMING, SESSION_COMMAND, SHARED_REPORT
from moothall.locale.texts import detect_language
from moothall.participants.kinds import ADDRESS, MODEL, SeatRequest
from moothall.participants.platforms import describe_model
from moothall.participants.script import Pacer, make_demo
from moothall.ports.feature import SessionFolder
from moothall.ports.participant import Participant
from moothall.ports.plugin import AnyPlugin
from moothall.reports.decision import Decision
from moothall.reports.given import describe_framing
from moothall.reports.memo import build_memo, encode_with_memo
from moothall.reports.wording import explain_outage
from moothall.surfaces.api.entries import SealedEvents
from moothall.surfaces.cli import output
from moothall.surfaces.cli.live import build_view
from moothall.surfaces.cli.live_views import PlainView
from moothall.surfaces.cli.options import HoldOptions
from moothall.surfaces.cli.output import CommandResult
from moothall.surfaces.cli.person import PersonScreen, build_terminal_ask, stop_command
from moothall.surfaces.cli.render import show_decision
from moothall.surfaces.cli.requirement import REQUIRE, check_required, judge_exit

MAX_LEFT_OUT: Final = 12
"""How many files that are left out of a folder stand in the terminal."""
_MODEL_KINDS: Final = frozenset({ACP, ADDRESS, COMMAND, EMBEDDED, MODEL})
"""The kinds of seats that a model fills, also within an agent."""
CATCH_UP_TRIES = 100
CATCH_UP_SECONDS = 0.02

T = TypeVar("T")


class TerminalSession(PersonScreen):
    """A meeting held in this terminal."""

    def __init__(
        self,
        session: str = "",
        *,
        runs: Path | None = None,
        required: Requirement = NO_REQUIREMENT,
        is_quiet: bool = False,
    ) -> None:
        super().__init__(session)
        self.runs, self.required, self.is_quiet = runs, required, is_quiet
        self._view: PlainView | None = None
        self._moot: Moot | None = None
        self._timeline: Any = None
        self._received = 0
        self._language: Language = "en"
        self._console = output.build_console()

    def open_moot(self) -> Moot:
        return Moot(ask_person=build_terminal_ask(self, stop_command))

    def describe_stop(self) -> str:
        if not self.session:
            return "\nStopped. Nothing was recorded."
        runs = "" if self.runs is None else f" --runs {shlex.quote(str(self.runs))}"
        return "\n" + SESSION_COMMAND[self._language].stopped.format(
            session=f"{self.session}{runs}"
        )

    async def load_language(self, moot: Moot) -> Language:
        """The language in which this session is spoken of from now on."""
        self._language = (
            await moot.engine.load_snapshot(parse_session_id(self.session))
        ).session_state.opened.language
        return self._language

    async def print_earlier(self, moot: Moot, topic: str) -> None:
        """Name the earlier decisions on such questions."""
        for hit in await moot.remembering.find_similar(topic):
            earlier = await moot.memory.get(hit.decision)
            about = extract_first_sentence(earlier.record.topic) if earlier is not None else ""
            words = SESSION_COMMAND[await self.load_language(moot)]
            output.print_note(words.earlier.format(topic=one_line(about), decision=hit.decision))

    async def hold(self, moot: Moot, *, as_json: bool, wait: float = 0.0) -> int:
        """Run the session, show it, print the decision, and return the exit code."""
        plugin = await moot.load_plugin(self.session)
        await self.load_language(moot)
        async with self._keep_folder(moot, plugin) as folder:
            code = await self._run_and_show(moot, plugin, as_json=as_json, wait=wait)
        if folder.fault:
            output.print_note(folder.fault)
        if folder.path is not None and not (as_json or self.is_quiet):
            output.print_line(f"{folder.path}/")
        return code

    def _keep_folder(
        self, moot: Moot, plugin: AnyPlugin
    ) -> AbstractAsyncContextManager[SessionFolder]:
        """What writes the files of the session while it runs here."""
        for feature in load_all_features():
            if plugin.name in feature.session_folders:
                keep = load_place(feature, feature.session_folders[plugin.name])
                folder: AbstractAsyncContextManager[SessionFolder] = keep(
                    moot, plugin, self.session, self.runs
                )
                return folder
        return nullcontext(SessionFolder())

    async def _run_and_show(
        self, moot: Moot, plugin: AnyPlugin, *, as_json: bool, wait: float
    ) -> int:
        if as_json or self.is_quiet:
            decision = await moot.run(
                self.session,
                wait=wait or False,
                on_parked=self._print_parked,
            )
            decision = add_gate(decision, self.required)
            if as_json:
                output.print_json(encode_with_memo(decision))
            else:
                _print_answer(decision)
            return await self._choose_exit_code(moot, decision, quiet=True)
        if await self._has_ended(moot):
            return await self._show_ended(moot, plugin)
        if not self._console.is_terminal:
            output.print_line(SESSION_COMMAND[self._language].session.format(session=self.session))
        run = moot.run(self.session, wait=wait or False, on_parked=self._show_retry)
        return await self._choose_exit_code(
            moot, await self.show_while(moot, plugin, run), quiet=False
        )

    async def show_while(self, moot: Moot, plugin: AnyPlugin, run: Awaitable[T]) -> T:
        """Show the session as it happens while it is run, then its decision; return the result of the run."""
        self._moot = moot
        self._timeline = timeline = plugin.timeline(parse_session_id(self.session))
        self._view = view = build_view(plugin, timeline, self._console)
        seats = (
            await moot.engine.load_snapshot(parse_session_id(self.session))
        ).session_state.seats
        people = frozenset(seat.id for seat in seats if seat.platform == HUMAN)
        # Who sits here reads what is sealed when it is opened.
        sealed = SealedEvents(plugin, self.session, people) if people else None
        with view.open_display():
            watcher = asyncio.create_task(self._watch_events(moot, view, sealed))
            try:
                result = await run
                if await self._has_ended(moot):
                    await watcher
                else:
                    await self.catch_up()
            finally:
                watcher.cancel()
        show_decision(self._console, plugin, timeline)
        return result

    async def _has_ended(self, moot: Moot) -> bool:
        return (await moot.engine.load_snapshot(parse_session_id(self.session))).is_closed

    async def _show_ended(self, moot: Moot, plugin: AnyPlugin) -> int:
        """Say that a session has ended, and with what; `moot show` shows the rest."""
        output.print_note(
            SESSION_COMMAND[self._language].has_ended.format(session=self.session).lstrip("；; ")
        )
        show_decision(self._console, plugin, await moot.load_timeline(self.session))
        return await self._choose_exit_code(moot, await moot.decision(self.session), quiet=True)

    def _print_parked(self, parked: SessionParked, delay: float) -> None:
        output.print_note(explain_outage(parked.causes, self._language))

    def _show_retry(self, parked: SessionParked, delay: float) -> None:
        # The session may be parked before the view has its first entry.
        words = SHARED_REPORT[self._language]
        self._console.print(
            Text(f"  ■ {words.trying_again.format(seconds=round(delay))}", style="yellow")
        )

    async def _watch_events(self, moot: Moot, view: PlainView, sealed: SealedEvents | None) -> None:
        async for event in moot.watch(self.session):
            for each in (event,) if sealed is None else sealed.release(event):
                view.show(each)
            if isinstance(event, EntryAdded):
                self._received = event.entry.seq

    async def _choose_exit_code(self, moot: Moot, decision: Decision, *, quiet: bool) -> int:
        if not quiet and decision.status == "thinking":
            await self._print_waiting(moot)
        if self.required:
            code, reason = judge_exit(decision, self.required, self._language)
            output.print_note(reason)
            return code
        if decision.status in {"thinking", "parked"}:
            return output.WAITING
        return output.DONE if decision.decision is not None else output.UNDECIDED

    async def _print_waiting(self, moot: Moot) -> None:
        words = SESSION_COMMAND[self._language]
        for each in await moot.asks(self.session):
            until = (
                words.until.format(time=output.format_local(each.pending.deadline))
                if each.pending.deadline
                else ""
            )
            output.print_line(
                words.waiting.format(seat=each.ask.seat, until=until, session=self.session)
            )
        output.print_line(words.then_resume.format(session=self.session))

    def pause(self) -> None:
        if self._view is not None:
            self._view.pause()

    def resume(self) -> None:
        if self._view is not None:
            self._view.resume()

    async def catch_up(self) -> bool:
        if self._view is None or self._moot is None:
            return False
        newest = (await self._moot.engine.load_snapshot(parse_session_id(self.session))).seq
        # The view follows in a task of its own: what was said just now must be on the screen before its person is asked.
        for _ in range(CATCH_UP_TRIES):
            if self._received >= newest:
                break
            await asyncio.sleep(CATCH_UP_SECONDS)
        return True

    def find_deadline(self, ask: str) -> datetime | None:
        pending = (
            {}
            if self._timeline is None or not self._timeline.seq
            else self._timeline.session_state.pending
        )
        return pending[ask].deadline if ask in pending else None


def _print_answer(decision: Decision) -> None:
    """Print what was decided, and beside it, not as part of the result, what to mind; or why there is no answer."""
    memo = build_memo(decision, decision.language)
    if decision.decision is None:
        output.print_note(memo.result.text)
        return
    # A text without a headline or a label is an answer as a whole: nothing stands below its first sentence here.
    is_short = bool(decision.choice or decision.headline) and not memo.is_below
    output.print_line(memo.what if is_short else decision.decision.text)
    if memo.caution:
        output.print_note(memo.caution)


def open_and_hold(
    prepare: Callable[[], tuple[str, Options]],
    hold: HoldOptions,
    *,
    runs: Path | None = None,
    choices: Iterable[str] = (),
    describe: Callable[[Opened], Iterable[str]] = lambda opened: (),
    is_described: bool = False,
    finish: Callable[[Moot, str, int], Awaitable[int]] | None = None,
) -> NoReturn:
    """Open the session that `prepare` returns (topic and options), hold it here, and end the process with its exit code.

    `prepare` may read what never ends: it runs on a thread of its own. `runs` is the parent folder of what the protocol writes,
    `choices` are what can be required where only these can be decided. `describe` adds lines to the plan of a dry run; where it
    `is_described`, they and the price are said before a session, too, and earlier decisions on such questions are not. `finish`
    takes the session and the exit code when it was held, and returns the exit code.
    """
    terminal = TerminalSession(runs=runs, required=hold.required, is_quiet=hold.quiet)
    is_talking = not (hold.as_json or hold.quiet)

    async def work() -> int:
        check_required(hold.required, choices)
        topic, options = await run_on_own_thread(prepare)
        async with terminal.open_moot() as moot:
            if hold.dry_run:
                return await _print_plan(moot, topic, options, describe, hold)
            planned = await _plan_or_ask(moot, topic, options, is_talking=is_talking)
            check_gate_seats(hold.required, planned.opened.seats, REQUIRE)
            if not hold.quiet:
                print_left_out(planned)
            if is_talking:
                print_models(moot, planned)
            if is_talking and is_described:
                _print_description(moot, planned.opened, describe)
            if is_talking:
                planned = await frame_planned(moot, planned)
                planned = await run_on_own_thread(partial(confirm_frame, planned))
            warn_of_price(moot, planned.opened)
            terminal.session = await open_planned(moot, planned)
            if is_talking and not is_described:
                await terminal.print_earlier(moot, topic)
            code = await terminal.hold(moot, as_json=hold.as_json, wait=hold.wait)
            if finish is not None:
                return await finish(moot, terminal.session, code)
            return code

    raise SystemExit(output.run(work, as_json=hold.as_json, stopped=terminal.describe_stop))


async def plan_with_key(
    moot: Moot, topic: str, options: Options, *, may_ask: bool
) -> PlannedSession:
    """Plan a session; where no model is set up, a person at a terminal is asked for a key, once."""
    try:
        return await moot.plan_session(topic, **options)
    except NoModel as error:
        if not (may_ask and sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        output.print_note(str(error))
        # Imported here: few need it, and once.
        from moothall.app.provider_keys import add_stored_keys
        from moothall.surfaces.cli.keys import offer_key

        if not await run_on_own_thread(offer_key):
            raise SystemExit(output.USAGE) from None
    add_stored_keys(moot.environ)
    return await moot.plan_session(topic, **options)


def _print_description(
    moot: Moot, opened: Opened, describe: Callable[[Opened], Iterable[str]]
) -> None:
    """Say what is about to be opened, and its price without the notes on it."""
    estimate = estimate_session(opened, moot.seating.kinds)
    price, *_ = describe_estimate(estimate, opened.language)
    output.print_note("\n".join((*describe(opened), price)))


async def _print_plan(
    moot: Moot,
    topic: str,
    options: Options,
    describe: Callable[[Opened], Iterable[str]],
    hold: HoldOptions,
) -> int:
    """Print what would be opened and what it would cost, also before there is a key; what a seat lacks is said last."""
    refused: ProviderRefused | None = None
    try:
        planned = await moot.plan_session(topic, **options)
        print_left_out(planned)
    except ProviderRefused as fault:
        if hold.as_json:
            raise
        unchecked: Options = {**options, "check": False}
        refused, planned = fault, await moot.plan_session(topic, **unchecked)
    check_gate_seats(hold.required, planned.opened.seats, REQUIRE)
    build_plan_result(moot, planned, describe).print(as_json=hold.as_json)
    if refused is not None:
        raise refused
    return output.DONE


def confirm_frame(planned: PlannedSession) -> PlannedSession:
    """Show the frame that Moot made to a person at the terminal, who may change the answers that it lists (Q-1).

    Nobody is stopped over a plain yes or no, nor over a number: these are said and not asked about.
    """
    opened = planned.opened
    frame, words = opened.frame, SESSION_COMMAND[opened.language]
    is_made = frame is not None and frame.made_by != "opener"
    is_seen = sys.stdin.isatty() and sys.stdout.isatty()
    said = describe_framing(opened)
    if not said or not is_seen or (not is_made and opened.framing is None):
        return planned
    output.print_note("\n".join(said))
    if frame is None or (frame.kind != "choice" and frame.made_by != "model"):
        return planned
    while True:
        typed = click.prompt(words.change_frame, default="", show_default=False, err=True)
        if not typed.strip():
            return planned
        try:
            return replace(planned, opened=reframe(opened, typed))
        except BadSetting as fault:
            output.print_note(str(fault))


async def _plan_or_ask(
    moot: Moot, topic: str, options: Options, *, is_talking: bool
) -> PlannedSession:
    """Plan a session; where secrets are given, a person at the terminal says whether they are sent (E-9)."""
    try:
        return await plan_with_key(moot, topic, options, may_ask=is_talking)
    except SecretsGiven as fault:
        if not (is_talking and sys.stdin.isatty() and sys.stdout.isatty()):
            raise
        output.print_note(str(fault).partition("; nothing was sent")[0])
        words = SESSION_COMMAND[options.get("language") or detect_language(topic)]
        ask = partial(click.confirm, words.send_secrets, default=False, err=True)
        if not await run_on_own_thread(ask):
            raise
    allowed: Options = {**options, "allow_secrets": True}
    return await plan_with_key(moot, topic, allowed, may_ask=is_talking)


def print_left_out(planned: PlannedSession) -> None:
    """Say which of the models that were discovered do not sit, and which files of a folder are not given, and why."""
    for line in planned.left_out:
        output.print_note(line)
    for line in describe_left_out(planned.opened):
        output.print_note(line)


def describe_left_out(opened: Opened) -> list[str]:
    """Return a line for each file of a folder that is not given, with the reason; of many the first."""
    left_out = opened.subject.left_out
    words = SESSION_COMMAND[opened.language]
    lines: list[str] = []
    for each in left_out[:MAX_LEFT_OUT]:
        lines.append(words.left_out_file.format(file=one_line(each)))
    more = len(left_out) - MAX_LEFT_OUT
    if more > 0:
        lines.append(words.more_left_out.format(count=more))
    return lines


def print_models(moot: Moot, planned: PlannedSession) -> None:
    """Say which models sit."""
    words = DISCOVERY[planned.opened.language]
    seats: dict[str, list[str]] = {}
    for seat in planned.opened.seats:
        if moot.seating.kinds.find(seat.platform).name in _MODEL_KINDS:
            names = seats.setdefault(seat.platform, [])
            # A judge that has the model of a seat is no news here.
            if not names or seat.id not in planned.opened.neutral:
                names.append(seat.id)
    sits = [
        words.sits.format(model=_describe_model(platform), seats=", ".join(names))
        for platform, names in seats.items()
    ]
    if sits:
        output.print_note(words.models.format(models=" · ".join(sits)))
    if EMBEDDED in seats:
        output.print_note(words.embedded)


def _describe_model(platform: str) -> str:
    is_program = parse_kind(platform) in {ACP, COMMAND, EMBEDDED}
    return one_line(platform if is_program else describe_model(platform))


def build_plan_result(
    moot: Moot,
    planned: PlannedSession,
    describe: Callable[[Opened], Iterable[str]] = lambda opened: (),
) -> CommandResult:
    """Return what would be opened and what it would cost. `describe` adds lines of the protocol's own."""
    from moothall.codec.adapters import as_json as plain_json
    from moothall.surfaces.api.opening import DryRunOut, build_plan

    opened = planned.opened
    estimate = estimate_session(opened, moot.seating.kinds, planned.framer)
    plan = DryRunOut.collect(
        build_plan(planned, estimate), session_id=planned.session, opened=plain_json(opened)
    )
    most = f", turns: at most {opened.budget.turns}" if opened.budget.turns is not None else ""
    head = f"{plan.protocol}, seats: {len(opened.seats)}, language: {opened.language}{most}"
    seats = [f"  {seat.id}: {seat.platform}" for seat in opened.seats]
    return CommandResult(
        json=plan,
        lines=[
            head,
            *describe_framing(opened),
            *_describe_framer(planned),
            *describe_left_out(opened),
            *describe(opened),
            *seats,
            *describe_estimate(estimate, opened.language),
        ],
    )


def _describe_framer(planned: PlannedSession) -> list[str]:
    """Say whose model is asked for the answers before the session opens; a dry run does not ask it."""
    if planned.framer is None:
        return []
    words, seat = FRAMING[planned.opened.language], planned.framer
    return [words.will_ask.format(seat=seat.id, platform=one_line(seat.platform))]


def describe_estimate(estimate: SessionEstimate, language: Language) -> list[str]:
    """Return what a session is expected to cost, in lines for people."""
    words = SESSION_COMMAND[language]
    price = (
        words.price_unknown
        if estimate.usd is None
        else f"${estimate.usd.least:.4f} – ${estimate.usd.most:.4f}"
    )
    line = words.expected.format(
        calls=estimate.calls, path=estimate.path, tokens=estimate.tokens, price=price
    )
    return [line, *(f"  {note}" for note in estimate.notes)]


def warn_of_price(moot: Moot, opened: Opened) -> None:
    """Say where a limit in money cannot stop a session."""
    if warning := warn_unpriced(opened, moot.seating.kinds):
        output.print_note(warning)


def let_pacer_lead(moot: Moot, pacer: Pacer) -> None:
    """Make all demo seats of this process wait by one clock, which the keyboard can move on."""

    def make(request: SeatRequest) -> Participant:
        return make_demo(request.argument, request.seat.id, pacer)

    moot.seating.kinds.add(replace(moot.seating.kinds.find(DEMO), make=make))


@contextmanager
def follow_keys(moot: Moot) -> Iterator[bool]:
    """Let Enter and space skip the waits of demos, while this lasts; False where nobody can press a key."""
    pacer = Pacer()
    let_pacer_lead(moot, pacer)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield False
        return
    number, loop = sys.stdin.fileno(), asyncio.get_running_loop()
    before = termios.tcgetattr(number)

    def read_keys() -> None:
        pressed = os.read(number, 64)
        if not pressed:
            # The terminal has gone: watching it further would only spin.
            loop.remove_reader(number)
        elif set(pressed) & set(b" \r\n"):
            pacer.skip()

    # cbreak, not raw: Ctrl-C still interrupts.
    tty.setcbreak(number)
    loop.add_reader(number, read_keys)
    try:
        yield True
    finally:
        loop.remove_reader(number)
        termios.tcsetattr(number, termios.TCSADRAIN, before)
