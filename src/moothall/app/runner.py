"""Runs the sessions of one process: each when something happened to it, and when one of its deadlines passes."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import Context
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from moothall.app.outages import Delays, OnClosed, explain_unready_seats, find_retry_delay, iterate_delays
from moothall.domain.ids import SessionId
from moothall.engine.engine import Engine
from moothall.engine.session_loop import ParticipantFactory
from moothall.engine.snapshot import Snapshot
from moothall.errors import BadSetting, LedgerDamaged, LedgerNewer, MootError, SessionBusy, UnknownSession, WorldError
from moothall.ports.runner import Runner, RunnerStats

if TYPE_CHECKING:
    from moothall.app.moot import Moot

LOOK_AGAIN_SECONDS: Final = 1.0
"""How soon to retry a session that another process runs, or that could not be written."""
MAX_WAIT_SECONDS: Final = 3_600.0

RUNNER: Final = "MOOT_RUNNER"
"""The variable that says who runs a server's sessions: `local` (the default) or `workers`."""


@dataclass(slots=True)
class _Retry:
    """When a parked session is looked at again, on the clock of the event loop, and how often that was decided."""

    due: float
    tries: int = 0


log = logging.getLogger("moot")


@dataclass(eq=False)
class LocalRunner:
    """Implements `Runner` in this process: sessions run while it is entered as an async context manager, or `run` goes on."""

    engine: Engine
    seating: ParticipantFactory
    closed: OnClosed
    """Called for each session that ended here."""
    delays: Delays = iterate_delays
    """Says, by a seed, how long to wait before each look at a parked session."""
    _workers: dict[SessionId, "asyncio.Task[None]"] = field(default_factory=dict, init=False)
    _again: set[SessionId] = field(default_factory=set, init=False)
    _alarms: dict[SessionId, asyncio.TimerHandle] = field(default_factory=dict, init=False)
    _retries: dict[SessionId, _Retry] = field(default_factory=dict, init=False)
    _waiting: dict[SessionId, int] = field(default_factory=dict, init=False)
    """The sessions that wait here, with the number of asks that outside participants are to answer."""
    _asks: int = field(default=0, init=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for alarm in self._alarms.values():
            alarm.cancel()
        workers = list(self._workers.values())
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    @property
    def running(self) -> int:
        """The number of sessions that are running now."""
        return len(self._workers)

    @property
    def parked(self) -> int:
        """The number of sessions whose outage is being waited out."""
        return len(self._retries)

    async def run(self) -> None:
        async with self:
            await asyncio.Event().wait()

    async def cancel(self, session: SessionId) -> None:
        self._retries.pop(session, None)
        self._again.discard(session)
        self._note_waiting(session, None)
        if (alarm := self._alarms.pop(session, None)) is not None:
            alarm.cancel()
        if (worker := self._workers.get(session)) is not None:
            worker.cancel()
            await asyncio.wait([worker])

    async def stats(self) -> RunnerStats:
        return RunnerStats(
            running=self.running,
            parked=self.parked,
            provider_waits=self.engine.context.telemetry.counts.provider_waits,
            statuses={"running": self.running, "waiting": len(self._waiting), "parked": self.parked},
            asks=self._asks,
        )

    def wake(self, session: SessionId, *, at_once: bool = False) -> None:
        if at_once:
            self._retries.pop(session, None)
        alarm = self._alarms.pop(session, None)
        if alarm is not None:
            alarm.cancel()
        if session in self._workers:
            # Something may have changed after the running worker last looked: it runs once more.
            self._again.add(session)
            return
        self._workers[session] = asyncio.create_task(self._work(session))

    async def _work(self, session: SessionId) -> None:
        try:
            while True:
                # Before the run and not after it: a wake during the run must cause another one.
                self._again.discard(session)
                self._note_waiting(session, None)
                snapshot = await self._run(session)
                if snapshot is not None and snapshot.session_state.parked is None:
                    self._retries.pop(session, None)
                if snapshot is not None and snapshot.is_closed:
                    await self.closed(session)
                    return
                if session in self._again:
                    continue
                if snapshot is not None and snapshot.session_state.parked is not None:
                    self._set_retry(snapshot)
                    return
                if snapshot is not None:
                    self._note_waiting(session, len(snapshot.session_state.pending))
                    self._set_alarm(snapshot)
                    return
                await asyncio.sleep(LOOK_AGAIN_SECONDS)
        except UnknownSession:
            return
        except MootError as error:
            log.error("session %s cannot be run: %s", session, error)
        except Exception:
            log.exception("session %s cannot be run", session)
        finally:
            self._workers.pop(session, None)

    def _note_waiting(self, session: SessionId, asks: int | None) -> None:
        """Count a session with so many asks among those that wait; None: it does not."""
        self._asks += (asks or 0) - self._waiting.pop(session, 0)
        if asks is not None:
            self._waiting[session] = asks

    async def _run(self, session: SessionId) -> Snapshot | None:
        """Return the snapshot when nothing is left to do here; None if the session must be tried again."""
        with suppress(SessionBusy):
            try:
                snapshot = await self.engine.load_snapshot(session)
                if snapshot.session_state.parked is not None and not await self._is_over(snapshot):
                    return snapshot
                # Among many agents most answers leave nothing to do here, and the last one ends it: that is not worth a claim.
                if snapshot.is_closed or self.engine.has_only_to_wait(snapshot):
                    return snapshot
                return await self.engine.run(session, self.seating)
            # Neither heals by itself: retrying every second would only fill the log.
            except (LedgerDamaged, LedgerNewer):
                raise
            except WorldError as error:
                self.engine.context.outages.tell(error)
        return None

    async def _is_over(self, snapshot: Snapshot) -> bool:
        """Whether the outage of a parked session is over; before it is due to be looked at, it is not."""
        retry = self._retries.get(snapshot.session)
        if retry is not None and asyncio.get_running_loop().time() < retry.due:
            return False
        return not await explain_unready_seats(snapshot, self.seating)

    def _set_retry(self, snapshot: Snapshot) -> None:
        loop, session, parked = asyncio.get_running_loop(), snapshot.session, snapshot.session_state.parked
        retry = self._retries.get(session)
        if retry is None:
            retry = self._retries[session] = _Retry(loop.time())
            log.warning("session %s is parked: %s", session, parked.reason if parked is not None else "")
        if loop.time() >= retry.due:
            delay = find_retry_delay(snapshot, self.engine.context.clock.now(), retry.tries, self.delays)
            if delay is None:
                log.warning("session %s stays parked; resume it with: moot resume %s", session, session)
                return
            retry.due, retry.tries = loop.time() + delay, retry.tries + 1
        self._alarms[session] = loop.call_at(retry.due, self.wake, session, context=Context())

    def _set_alarm(self, snapshot: Snapshot) -> None:
        if (wait := self.engine.compute_wait(snapshot)) is not None:
            loop, delay = asyncio.get_running_loop(), min(wait, MAX_WAIT_SECONDS)
            # A context of its own: what a deadline starts does not belong to the call that came before it.
            self._alarms[snapshot.session] = loop.call_later(delay, self.wake, snapshot.session, context=Context())


def is_run_by_workers(environ: Mapping[str, str]) -> bool:
    """Whether servers leave the running of sessions to `moot worker`; raises BadSetting."""
    chosen = environ.get(RUNNER, "").strip().lower() or "local"
    if chosen not in {"local", "workers"}:
        raise BadSetting(f"{RUNNER} = {chosen!r} names no runner; expected local or workers")
    return chosen == "workers"


@asynccontextmanager
async def open_runner(moot: "Moot") -> AsyncIterator[Runner]:
    """Who runs the sessions of a started `Moot`: this process, or the workers of its ledger. Raises BadSetting, MissingExtra."""
    if is_run_by_workers(moot.environ):
        from moothall.app.shared_runner import open_shared_runner

        async with open_shared_runner(moot) as shared:
            yield shared
        return
    async with LocalRunner(moot.engine, moot.seating, moot.remembering.remember_if_possible) as runner:
        yield runner
