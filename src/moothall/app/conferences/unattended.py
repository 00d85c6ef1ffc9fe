"""Runs a whole conference unattended: Moot drives the roles that it was given, and waits for the others at their folder."""

import asyncio
import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from moothall.app.conferences.folder_scan import QUIET_SECONDS, Damage
from moothall.app.conferences.project import ConferenceProject
from moothall.app.conferences.status import ConferenceStatus
from moothall.app.conferences.wake_agents import (
    LOOK_SECONDS,
    FileAgentParticipant,
    build_wake_recipe,
    build_wake_text,
    watch_changes,
)
from moothall.app.environment import resolve_home
from moothall.app.moot import Moot
from moothall.app.parking import run_through_outages
from moothall.domain.effects import Brief
from moothall.domain.ids import SessionId
from moothall.domain.roster import COMMAND, Seat
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import ROUNDTABLE_PROMPT, SHARED_REPORT
from moothall.participants.agent_recipes import Recipe
from moothall.participants.command import CommandParticipant
from moothall.ports.participant import Participant
from moothall.reports.wording import explain_outage

PASSED: Final[tuple[str, ...]] = ("MOOT_HOME", "MOOT_LEDGER")

Notify = Callable[[str], None]


class Relay:
    """Runs one conference to its minutes. `told` receives what people should know beside the entries."""

    def __init__(self, moot: Moot, hall: ConferenceProject, name: str, told: Notify, look_seconds: float = LOOK_SECONDS) -> None:
        self._moot = moot
        self._hall = hall
        self._name = name
        self._told = told
        self._look_seconds = look_seconds
        self._held: set[str] = set()
        self._session: SessionId | None = None
        self._damaged_since: float | None = None

    async def run(self) -> ConferenceStatus:
        """Run until the conference is over; raises SessionBusy if another process does so already."""
        status = await self._sync_folder(at_once=True)
        # From here on the folder belongs to this session, whatever agents do to it.
        session = self._session = status.session
        language, seats = status.conference.opened.language, [seat.id for seat in status.conference.seats]

        def tell_parked(reason: str, delay: float) -> None:
            again = SHARED_REPORT[language].trying_again.format(seconds=round(delay))
            self._told(f"{again} ({one_line(explain_outage(reason, seats, language))})")

        running = asyncio.create_task(
            run_through_outages(self._moot.engine, session, self._seat_participant, seconds=math.inf, on_parked=tell_parked)
        )
        helpers = [asyncio.create_task(self._follow_ledger(session)), asyncio.create_task(self._watch_folder())]
        try:
            await asyncio.wait([running, *helpers], return_when=asyncio.FIRST_COMPLETED)
            # A helper never ends by itself: if one is done, its failure is raised here.
            for task in helpers:
                if task.done():
                    task.result()
            is_closed = (await running).is_closed
        finally:
            running.cancel()
            for task in helpers:
                task.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running, *helpers])
        status = await self._sync_folder(at_once=True)
        if is_closed:
            await self._moot.remembering.remember_if_possible(session)
        return status

    async def _follow_ledger(self, session: SessionId) -> None:
        """Write new ledger entries to the folder."""
        seen = 0
        while True:
            seen = await self._moot.engine.wait_for_change(session, seen)
            await self._sync_folder()

    async def _watch_folder(self) -> None:
        """Record new files of the folder."""
        async for _ in watch_changes(self._hall.table / self._name, self._look_seconds):
            await self._sync_folder()

    async def _sync_folder(self, *, at_once: bool = False) -> ConferenceStatus:
        """Synchronize folder and ledger; lasting damage is repaired, so that nobody waits for it."""
        async with self._hall.open_conference(self._name, self._session) as conference:
            status = await conference.sync(held=frozenset(self._held))
            now = asyncio.get_running_loop().time()
            # A running agent may be in the middle of its writes: nothing counts as damage until it is done.
            if not status.damage or self._held:
                self._damaged_since = None
                return status
            if self._damaged_since is None:
                self._damaged_since = now
            if at_once or now - self._damaged_since > QUIET_SECONDS:
                for line in await conference.repair():
                    self._told(line)
                self._damaged_since = None
                return await conference.sync()
            return status

    def _seat_participant(self, seat: Seat) -> Participant | None:
        kind, _, name = seat.platform.partition(":")
        if kind != COMMAND or self._moot.seating.refuse_program(seat.platform) is not None:
            return self._moot.seating(seat)
        environ = self._moot.environ
        recipe = build_wake_recipe(name)
        # What an agent does with `moot` itself must reach the same ledger.
        known = {variable: environ[variable] for variable in PASSED if variable in environ}
        recipe = replace(recipe, environ={**recipe.environ, **known})
        return FileAgentParticipant(
            CommandParticipant(recipe, self._hall.root, environ, resolve_home(environ) / "agents"), recipe, self
        )

    async def build_wake_prompt(self, brief: Brief, recipe: Recipe) -> str:
        status = await self._sync_folder(at_once=True)
        words = ROUNDTABLE_PROMPT[brief.language]
        wake = words.wake if brief.ask.kind == "speech" else words.wake_moderator
        prompt = one_line(status.turn.prompt_for_speaker)
        return build_wake_text(recipe, brief, wake.format(conference=self._name, role=brief.seat.id, prompt=prompt))

    def hold(self, role: str) -> None:
        self._held.add(role)

    def release(self, role: str) -> None:
        self._held.discard(role)

    async def is_written(self) -> bool:
        """Whether the files hold the complete next step."""
        async with self._hall.open_conference(self._name, self._session) as conference:
            status = await conference.sync(held=frozenset(self._held))
            return bool(status.writing) and conference.is_turn_changed()

    async def collect_answer(self) -> tuple[dict[str, object] | None, tuple[Damage, ...]]:
        """Return what an agent left in the files as its answer; damage that it caused is repaired."""
        async with self._hall.open_conference(self._name, self._session) as conference:
            before = await conference.load_conference()
            raw = conference.collect_answer(before)
            if raw is not None:
                return raw, ()
            status = await conference.sync(whole=True, is_finished=True)
            for line in await conference.repair() if status.damage else []:
                self._told(line)
            return None, status.damage
