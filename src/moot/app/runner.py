"""Runs the sessions of one process: each when something happened to it, and when one of its deadlines passes."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, Self

from moot.domain.ids import SessionId
from moot.engine.engine import Engine
from moot.engine.session_loop import ParticipantFactory
from moot.engine.snapshot import Snapshot
from moot.errors import LedgerDamaged, LedgerNewer, MootError, SessionBusy, UnknownSession, WorldError

LOOK_AGAIN_SECONDS: Final = 1.0
"""How soon to retry a session that another process runs, or that could not be written."""
LONGEST_WAIT_SECONDS: Final = 3_600.0

OnClosed = Callable[[SessionId], Awaitable[object]]

log = logging.getLogger("moot")


class LocalRunner:
    """Runs sessions in the background. Use as an async context manager. `closed` is called for each session that ended here."""

    def __init__(self, engine: Engine, seating: ParticipantFactory, closed: OnClosed) -> None:
        self._engine = engine
        self._seating = seating
        self._closed = closed
        self._workers: dict[SessionId, asyncio.Task[None]] = {}
        self._again: set[SessionId] = set()
        self._alarms: dict[SessionId, asyncio.TimerHandle] = {}

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

    def nudge(self, session: SessionId) -> None:
        """Signal that something happened to this session: run it as far as possible."""
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
                # Before the run and not after it: a nudge during the run must cause another one.
                self._again.discard(session)
                snapshot = await self._run(session)
                if snapshot is not None and snapshot.is_closed:
                    await self._closed(session)
                    return
                if session in self._again:
                    continue
                if snapshot is not None:
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

    async def _run(self, session: SessionId) -> Snapshot | None:
        """Return the snapshot when nothing is left to do here; None if the session must be tried again."""
        with suppress(SessionBusy):
            try:
                return await self._engine.run(session, self._seating)
            # Neither heals by itself: retrying every second would only fill the log.
            except (LedgerDamaged, LedgerNewer):
                raise
            except WorldError:
                log.exception("session %s: trying again", session)
        return None

    def _set_alarm(self, snapshot: Snapshot) -> None:
        deadlines = [pending.deadline for pending in snapshot.session_state.pending.values() if pending.deadline is not None]
        if not deadlines:
            return
        wait = (min(deadlines) - datetime.now(UTC)).total_seconds()
        delay = min(max(0.0, wait), LONGEST_WAIT_SECONDS)
        loop = asyncio.get_running_loop()
        self._alarms[snapshot.session] = loop.call_later(delay, self.nudge, snapshot.session)
