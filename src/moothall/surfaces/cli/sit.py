"""`moot sit`: sit down at a session from a terminal, see it happen, and answer when it is the seat's turn."""

import asyncio
import sys
from collections.abc import Container
from contextlib import suppress
from typing import Any

import click
from rich.text import Text

from moothall.app.moot import Moot
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId, parse_seat_id, parse_session_id
from moothall.domain.roster import HUMAN, MAILBOX, Seat
from moothall.engine.context import EntryAdded, Event
from moothall.engine.outside_answers import OutstandingAsk
from moothall.errors import (
    BadAnswer,
    BadSetting,
    MootError,
    SessionBusy,
    SessionClosed,
    UnknownAsk,
    UnknownSeat,
)
from moothall.locale.catalogues import SIT
from moothall.participants.human import PersonInterview
from moothall.surfaces.api.entries import SealedEvents
from moothall.surfaces.cli import output
from moothall.surfaces.cli.live_views import PlainView, style_line
from moothall.surfaces.cli.person import PersonScreen, TerminalPrompt
from moothall.surfaces.cli.render import show_decision
from moothall.surfaces.cli.terminal_session import TerminalSession


@click.command()
@click.argument("session")
@click.option(
    "--seat",
    required=True,
    metavar="NAME",
    help="The seat to take: a `mailbox` seat, or a `human` one that nobody runs.",
)
@click.option("--no-run", is_flag=True, help="Never run the session here; only watch and answer.")
def sit(session: str, seat: str, no_run: bool) -> None:
    """Sit down at SESSION: see it happen, and answer in plain words when it is your turn.

    A session that no other process runs goes on here while you sit, if its other seats can be asked from here. Enter sends an
    answer, Alt-Enter adds a line; `/leave` or Ctrl-D leaves the seat open, and what you typed stays as a draft.

    \b
    moot sit think_20261115_001 --seat eve
    """
    table = TerminalSession(session)
    language: list[Language] = ["en"]

    async def work() -> int:
        if not sys.stdin.isatty():
            raise BadSetting(
                f"`moot sit` needs a terminal; elsewhere: moot answer {session} --seat {seat} TEXT"
            )
        async with table.open_moot() as moot:
            name = parse_session_id(session)
            state = (await moot.engine.load_snapshot(name)).session_state
            language[0] = state.opened.language
            chosen = _find_seat(state.seats, parse_seat_id(seat), session)
            if state.closed is not None:
                raise SessionClosed(
                    f"session {session!r} has ended; `moot show {session}` shows it"
                )
            if chosen.platform == HUMAN:
                # Such a seat is asked by the process that runs the session: here, unless another one does.
                if await moot.is_running(session):
                    raise UnknownSeat(
                        f"the seat {seat!r} is asked at the terminal that runs the session; sit down there"
                    )
                return await table.hold(moot, as_json=False, wait=True)
            return await Sitting(moot, session, chosen, may_run=not no_run).hold()

    raise SystemExit(
        output.run(work, stopped=lambda: f"\n{describe_leaving(session, seat, language[0])}")
    )


def describe_leaving(session: str, seat: str, language: Language) -> str:
    return SIT[language].left.format(session=session, seat=seat)


def _find_seat(seats: tuple[Seat, ...], name: SeatId, session: str) -> Seat:
    chosen = next((seat for seat in seats if seat.id == name), None)
    if chosen is None:
        raise UnknownSeat(
            f"{name!r} has no seat in {session!r}; the seats are: {', '.join(seat.id for seat in seats)}"
        )
    if chosen.platform not in {MAILBOX, HUMAN}:
        raise UnknownSeat(
            f"the seat {name!r} is filled by {chosen.platform}, which Moot asks itself; people sit at: "
            f"{', '.join(seat.id for seat in seats if seat.platform in {MAILBOX, HUMAN}) or 'no seat'}"
        )
    return chosen


class SittingView(PlainView):
    """The lines of a session as they come, above the prompt."""

    def show(self, event: Event) -> None:
        if not isinstance(event, EntryAdded):
            return
        for line in self._plugin.describe(self._timeline, event.entry):
            self._console.print(style_line(line), soft_wrap=True)


class Sitting(PersonScreen):
    """One person at one seat, from sitting down to the end of the session or to leaving."""

    def __init__(self, moot: Moot, session: str, seat: Seat, *, may_run: bool) -> None:
        super().__init__(session)
        self._moot = moot
        self._seat = seat
        self._may_run = may_run
        self._console = output.build_console()
        self._interview = PersonInterview()
        self._words = SIT["en"]
        self._prompt = TerminalPrompt(self)
        self._turn: asyncio.Task[bool] | None = None
        self._asked = ""
        self._sent = ""

    async def catch_up(self) -> bool:
        # The lines of the session appear above the prompt, also while the person types.
        return True

    async def hold(self) -> int:
        """Show the session and ask its person until it ends; the exit code."""
        from prompt_toolkit.patch_stdout import patch_stdout

        moot, name = self._moot, parse_session_id(self.session)
        plugin = await moot.load_plugin(self.session)
        timeline: Any = plugin.timeline(name)
        opened = (await moot.engine.load_snapshot(name)).session_state.opened
        self._words = SIT[opened.language]
        view = SittingView(plugin, timeline, self._console)
        with patch_stdout(raw=True):
            self._print(self._words.seated.format(session=self.session, seat=self._seat.id))
            runner = await self._start_running()
            try:
                has_left = await self._follow(
                    view, SealedEvents(plugin, self.session, frozenset({self._seat.id})), runner
                )
            finally:
                tasks = [task for task in (runner, self._turn) if task is not None]
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
        if has_left:
            output.print_line(describe_leaving(self.session, self._seat.id, opened.language))
            return output.WAITING
        await moot.remembering.remember(self.session)
        show_decision(self._console, plugin, timeline)
        return output.DONE if plugin.decision(timeline).decision is not None else output.UNDECIDED

    async def _start_running(self) -> "asyncio.Task[None] | None":
        """Run the session here, if no other process does and its seats can be asked from here."""
        moot, words = self._moot, self._words
        if await moot.is_running(self.session):
            return None
        state = (await moot.engine.load_snapshot(parse_session_id(self.session))).session_state
        why = "" if self._may_run else "--no-run"
        person = next((seat.id for seat in state.seats if seat.platform == HUMAN), None)
        if state.opened.hosted:
            why = words.hosted
        elif person is not None:
            why = words.other_person.format(seat=person)
        elif not why:
            try:
                await moot.seating.check(state.seats, state.opened.language)
            except MootError as error:
                why = str(error)
        if why:
            self._print(words.not_run.format(why=why, session=self.session))
            return None
        self._print(words.runs_here)
        return asyncio.create_task(self._run())

    async def _run(self) -> None:
        # Another process that began to run it in the meantime does the same work.
        with suppress(SessionBusy):
            await self._moot.run(self.session, wait=True)

    async def _follow(
        self, view: SittingView, sealed: SealedEvents, runner: "asyncio.Task[None] | None"
    ) -> bool:
        """Show what happens and ask when it is the seat's turn; True if the person left, False if the session ended."""
        events = aiter(self._moot.watch(self.session))
        coming = asyncio.ensure_future(anext(events, None))
        seen = 0
        try:
            while True:
                waiting = {coming, *(task for task in (runner, self._turn) if task is not None)}
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                if runner is not None and runner.done():
                    # Raises what ended it, such as a full disk.
                    runner.result()
                    runner = None
                if self._turn is not None and self._turn.done():
                    turn, self._turn = self._turn, None
                    if turn.result():
                        return True
                if coming.done():
                    event = coming.result()
                    if event is None:
                        return False
                    for each in sealed.release(event):
                        view.show(each)
                    seen = event.entry.seq if isinstance(event, EntryAdded) else seen
                    coming = asyncio.ensure_future(anext(events, None))
                    await self._withdraw_turn(sealed.pending)
                if self._turn is None:
                    await self._begin_turn(seen)
        finally:
            coming.cancel()
            await asyncio.gather(coming, return_exceptions=True)

    async def _begin_turn(self, seen: int) -> None:
        # What was said before is on the screen before the person is asked: the next entry leads here again.
        if seen < (await self._moot.engine.load_snapshot(parse_session_id(self.session))).seq:
            return
        try:
            asked = await self._moot.engine.find_open_ask(
                parse_session_id(self.session), self._seat.id
            )
        except SessionClosed:
            return
        # An invitation is not a question: the session does not wait for it.
        if asked is None or asked.ask.invited or asked.ask.id == self._sent:
            return
        self._asked = asked.ask.id
        self._deadline = asked.pending.deadline
        self._turn = asyncio.create_task(self._take_turn(asked))

    async def _withdraw_turn(self, pending: Container[str]) -> None:
        """Stop asking for what is no longer open: its time is over, or another person answered."""
        if (
            self._turn is None
            or self._turn.done()
            or self._asked in pending
            or self._asked == self._sent
        ):
            return
        # An ask that was computed but not yet recorded is not pending, and open all the same.
        outstanding = await self._moot.asks(self.session)
        if any(each.ask.id == self._asked for each in outstanding):
            return
        self._turn.cancel()
        await asyncio.gather(self._turn, return_exceptions=True)
        self._turn = None
        self._print(self._words.gone.format(why=self._words.went_on))

    async def _take_turn(self, asked: OutstandingAsk) -> bool:
        """Ask the person and record the answer; True if the person left."""
        raw = await self._interview.ask_for_answer(self._prompt, asked.brief)
        if raw is None:
            return True
        self._sent = asked.ask.id
        try:
            await self._moot.answer(self.session, asked.ask.id, raw)
        except (UnknownAsk, SessionClosed, BadAnswer) as error:
            self._sent = ""
            self._print(self._words.gone.format(why=error))
        return False

    def _print(self, line: str) -> None:
        self._console.print(Text(line, style="dim"), soft_wrap=True)
