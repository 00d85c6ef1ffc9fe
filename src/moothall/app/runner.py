"""Runs sessions: each when something happened to it, and when one of its deadlines passes; `LocalRunner` in one process."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field, replace
from itertools import islice
from types import TracebackType
from typing import Final, NamedTuple, Self

from moothall import errors
from moothall.app.outages import MAX_OUTAGE, Delays, OnClosed, explain_unready_seats, iterate_delays
from moothall.domain.ids import SessionId
from moothall.engine.engine import Engine
from moothall.engine.session_loop import ParticipantFactory
from moothall.engine.snapshot import Snapshot
from moothall.ports.runner import RunnerStats, Settled

LOOK_AGAIN_SECONDS: Final = 1.0
"""How soon to retry a session that another process runs, or whose ledger is away."""
SOON_TRIES: Final = (0.05, 0.2)
"""How soon to look again for a claim that another process holds for a moment, as a look at a list of sessions does."""
FAILING_SECONDS: Final = 5.0
BROKEN_SECONDS: Final = 300.0
"""How soon a session is tried again that failed for a reason which does not pass by itself."""
MAX_WAIT_SECONDS: Final = 3_600.0

RUNNER: Final = "MOOT_RUNNER"
"""The variable that says who runs a server's sessions: `local` (the default) or `workers`."""

log = logging.getLogger("moot")


@dataclass(eq=False)
class AdvancingRunner(ABC):
    """What the runners of this process and of workers share: a session is run as far as it goes, and settled."""

    engine: Engine
    seating: ParticipantFactory
    closed: OnClosed
    """Called for each session that ended here."""
    delays: Delays = field(default=iterate_delays, kw_only=True)
    """Says, by a seed, how long to wait before each look at a parked session."""

    async def advance(self, session: SessionId) -> Settled:
        """Run a session as far as it goes, and say when it is due again; raises LedgerUnavailable."""
        try:
            return await self._advance(await self.engine.load_snapshot(session))
        except errors.SessionBusy:
            return Settled(status="busy", due=LOOK_AGAIN_SECONDS)
        except errors.UnknownSession:
            return Settled(status="foreign")
        except (
            errors.LedgerNewer,
            errors.UnknownProtocol,
            errors.UnknownPlatform,
            errors.MissingExtra,
        ) as error:
            log.warning("session %s is left to a process that can run it: %s", session, error)
            return Settled(status="left")
        except errors.LedgerDamaged as error:
            log.error("session %s cannot be run: %s", session, error)
            return Settled(status="damaged")
        except errors.LedgerUnavailable:
            raise
        except errors.WorldError as error:
            log.warning("session %s: %s; it is tried again", session, error)
            return Settled(status="failing", due=FAILING_SECONDS)
        except errors.MootError as error:
            log.error("session %s cannot be run: %s", session, error)
        except Exception:
            log.exception("session %s cannot be run", session)
        return Settled(status="failing", due=BROKEN_SECONDS)

    async def _advance(self, snapshot: Snapshot) -> Settled:
        """Run a session if it can go on; raises SessionBusy."""
        tries = 0
        if not snapshot.is_closed and snapshot.session_state.parked is not None:
            parked = await self._find_parked(snapshot.session)
            if parked.due is not None and parked.due > 0:
                return replace(parked, seen=snapshot.seq)
            tries = parked.tries
            if await explain_unready_seats(snapshot, self.seating):
                return self._settle_parked(snapshot, tries)
        # Among many agents most answers leave nothing to do here, and the last one ends it: that is not worth a claim.
        if not snapshot.is_closed and not self.engine.has_only_to_wait(snapshot):
            snapshot = await self._run(snapshot)
        if snapshot.is_closed:
            await self.closed(snapshot.session)
            return Settled(status="closed", seen=snapshot.seq)
        if snapshot.session_state.parked is not None:
            return self._settle_parked(snapshot, tries)
        asks = len(snapshot.session_state.pending)
        return Settled(
            status="waiting", seen=snapshot.seq, due=self.engine.compute_wait(snapshot), asks=asks
        )

    @abstractmethod
    async def _find_parked(self, session: SessionId) -> Settled:
        """Return how a parked session was left: it may be looked at again now unless it is `due` later."""

    async def _run(self, snapshot: Snapshot) -> Snapshot:
        loaded: Snapshot | None = snapshot
        for pause in SOON_TRIES:
            with suppress(errors.SessionBusy):
                return await self.engine.run(snapshot.session, self.seating, loaded=loaded)
            # Whoever held it may have written to it.
            loaded = None
            await asyncio.sleep(pause)
        return await self.engine.run(snapshot.session, self.seating)

    def _settle_parked(self, snapshot: Snapshot, tries: int) -> Settled:
        session, state, parked = (
            snapshot.session,
            snapshot.session_state,
            snapshot.session_state.parked,
        )
        if not tries:
            log.warning(
                "session %s is parked: %s", session, parked.reason if parked is not None else ""
            )
        is_over = (self.engine.context.clock.now() - state.at).total_seconds() > MAX_OUTAGE
        delay = None if is_over else next(islice(self.delays(state.opened.seed), tries, None))
        if delay is None:
            log.warning("session %s stays parked; resume it with: moot resume %s", session, session)
        return Settled(status="parked", seen=snapshot.seq, due=delay, tries=tries + 1)


class _Left(NamedTuple):
    """How a session was left, and when it is due again on the clock of the event loop."""

    settled: Settled
    due: float


@dataclass(eq=False)
class LocalRunner(AdvancingRunner):
    """Implements `Runner` in this process: sessions run while it is entered as an async context manager, or `run` goes on."""

    _workers: dict[SessionId, "asyncio.Task[None]"] = field(default_factory=dict, init=False)
    _again: set[SessionId] = field(default_factory=set, init=False)
    _alarms: dict[SessionId, asyncio.TimerHandle] = field(default_factory=dict, init=False)
    _left: dict[SessionId, _Left] = field(default_factory=dict, init=False)
    """The sessions that are to go on here, later."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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
        return sum(left.settled.status == "parked" for left in self._left.values())

    async def run(self) -> None:
        async with self:
            await asyncio.Event().wait()

    async def cancel(self, session: SessionId) -> None:
        self._left.pop(session, None)
        self._again.discard(session)
        self._silence(session)
        if (worker := self._workers.get(session)) is not None:
            worker.cancel()
            await asyncio.wait([worker])

    async def stats(self) -> RunnerStats:
        left = (
            (session, each.settled)
            for session, each in self._left.items()
            if session not in self._workers
        )
        waiting = [settled.asks for _, settled in left if settled.status == "waiting"]
        return RunnerStats(
            running=self.running,
            parked=self.parked,
            provider_waits=self.engine.context.telemetry.counts.provider_waits,
            statuses={"running": self.running, "waiting": len(waiting), "parked": self.parked},
            asks=sum(waiting),
        )

    def wake(self, session: SessionId, *, at_once: bool = False) -> None:
        if at_once:
            self._left.pop(session, None)
        self._silence(session)
        if session in self._workers:
            # Something may have changed after the running worker last looked: it runs once more.
            self._again.add(session)
            return
        self._workers[session] = asyncio.create_task(self._work(session), name=f"session {session}")

    def _silence(self, session: SessionId) -> None:
        if (alarm := self._alarms.pop(session, None)) is not None:
            alarm.cancel()

    async def _work(self, session: SessionId) -> None:
        try:
            while True:
                # Before the run and not after it: a wake during the run must cause another one.
                self._again.discard(session)
                try:
                    settled = await self.advance(session)
                except errors.LedgerUnavailable as error:
                    self.engine.context.outages.tell(error)
                    settled = Settled(status="failing", due=LOOK_AGAIN_SECONDS)
                if session not in self._again or settled.status == "closed":
                    break
            self._leave(session, settled)
        finally:
            self._workers.pop(session, None)

    def _leave(self, session: SessionId, settled: Settled) -> None:
        """Remember how a session was left, and wake it when it is due; what has ended, or is not ours, is forgotten."""
        loop = asyncio.get_running_loop()
        self._again.discard(session)
        self._left.pop(session, None)
        if settled.status in {"closed", "foreign", "left", "damaged"}:
            return
        self._left[session] = _Left(settled, loop.time() + (settled.due or 0.0))
        if settled.due is not None:
            # A context of its own: what a deadline starts does not belong to the call that came before it.
            delay = min(settled.due, MAX_WAIT_SECONDS)
            self._alarms[session] = loop.call_later(delay, self.wake, session, context=Context())

    async def _find_parked(self, session: SessionId) -> Settled:
        left = self._left.get(session)
        if left is None or left.settled.status != "parked":
            return Settled(status="parked")
        return replace(left.settled, due=left.due - asyncio.get_running_loop().time())


def is_run_by_workers(environ: Mapping[str, str]) -> bool:
    """Whether servers leave the running of sessions to `moot worker`; raises BadSetting."""
    chosen = environ.get(RUNNER, "").strip().lower() or "local"
    if chosen not in {"local", "workers"}:
        raise errors.BadSetting(f"{RUNNER} = {chosen!r} names no runner; expected local or workers")
    return chosen == "workers"
