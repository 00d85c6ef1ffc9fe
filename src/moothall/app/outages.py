"""What is out: when to look again whether the seats of a parked session can be asked, who still cannot, and whether a process
that serves or runs sessions can do its work now.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from moothall.domain.facts import SessionParked
from moothall.domain.ids import SeatId, SessionId, find_asked_seat
from moothall.domain.seeded_random import random_unit
from moothall.engine.engine import Engine
from moothall.engine.outages import explain_unready
from moothall.engine.session_loop import ParticipantFactory
from moothall.engine.snapshot import Snapshot
from moothall.errors import MootError, WorldError
from moothall.ports.ledger import Ledger
from moothall.ports.runner import CheckedRunner, Runner

FIRST_SECONDS: Final = 5.0
MAX_SECONDS: Final = 300.0
JITTER: Final = 0.2
MAX_OUTAGE: Final = 604_800.0
"""For how long, in seconds, a parked session is looked at again unless an option says otherwise: a week."""
CHECK_SECONDS: Final = 120.0
"""How long `ready` may take, including imports on a busy machine; a participant's requests have their own deadlines."""

Delays = Callable[[int], Iterator[float]]
"""Says, by a seed, how long to wait before each look at a parked session."""

OnClosed = Callable[[SessionId], Awaitable[object]]
"""Called for each session that a runner has ended."""

OnParked = Callable[[SessionParked, float], None]
"""Receives why a session is parked, and in how many seconds it is tried again."""


def iterate_delays(seed: int) -> Iterator[float]:
    """Yield how long to wait before each look: doubling up to five minutes, spread so that sessions do not look all at once."""
    delay, number = FIRST_SECONDS, 0
    while True:
        yield min(delay, MAX_SECONDS) * (1 + JITTER * (random_unit(seed, "parking", number) - 0.5))
        delay, number = min(2 * delay, MAX_SECONDS), number + 1


async def explain_unready_seats(
    snapshot: Snapshot, seating: ParticipantFactory
) -> dict[SeatId, str]:
    """Return why seats of a parked session still cannot be asked; empty if all that were out can, or if it is not parked."""
    state = snapshot.session_state
    out = () if state.parked is None else state.parked.seats
    # These have more time now, and a trial of theirs would have as little as before.
    slow = {find_asked_seat(ask) for ask in state.missed}
    participants = {seat.id: seating(seat) for seat in state.seats if seat.id in out}
    tried = {seat: each for seat, each in participants.items() if seat not in slow}
    asked = {seat: each for seat, each in participants.items() if seat in slow}
    unready = await explain_unready(tried, CHECK_SECONDS, is_outage=True)
    return unready | await explain_unready(asked, CHECK_SECONDS)


async def run_through_outages(
    engine: Engine,
    session: SessionId,
    seating: ParticipantFactory,
    *,
    seconds: float,
    on_parked: OnParked | None = None,
) -> Snapshot:
    """Run a session, and again whenever an outage that parked it is over; outside seats are waited for, too.

    Returns when the session is closed, or still waits `seconds` from now.
    """
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    delays: Iterator[float] | None = None
    while True:
        started = loop.time()
        snapshot = await engine.run(session, seating, wait_outside=ends - started)
        if delays is None or loop.time() - started > MAX_SECONDS:
            # It went on for a while: this outage is another one.
            delays = iterate_delays(snapshot.session_state.opened.seed)
        while snapshot.session_state.parked is not None:
            delay = min(next(delays), ends - loop.time())
            if delay <= 0:
                return snapshot
            if on_parked is not None:
                on_parked(snapshot.session_state.parked, delay)
            await asyncio.sleep(delay)
            snapshot = await engine.load_snapshot(session)
            if not await explain_unready_seats(snapshot, seating):
                break
        else:
            return snapshot


READY_SECONDS: Final = 2.0
"""How long a ledger may take to answer before it counts as away."""
NOBODY: Final = SessionId("readiness")
"""A session that nobody opens: to look for it is one step into an index, however many there are."""

log = logging.getLogger("moot")


class ReadinessProbe:
    """Looks whether the ledger answers, and what else the runner needs.

    What it says is for anybody who can reach the port: the details, which may name hosts and users, go to the log.
    """

    def __init__(self, ledger: Ledger, engine: Engine, runner: Runner) -> None:
        self._ledger = ledger
        self._engine = engine
        self._runner = runner
        self._looks: set[asyncio.Task[str]] = set()
        self._logged = ""

    async def explain(self) -> str:
        """Return why this process is not ready, in one sentence; empty if it is."""
        look = asyncio.create_task(self._look())
        self._looks.add(look)
        look.add_done_callback(self._looks.discard)
        done, _ = await asyncio.wait([look], timeout=READY_SECONDS)
        if done:
            return look.result()
        # Not awaited: behind a cut cable a query is called off as slowly as it is answered.
        look.cancel()
        return self._tell("the ledger does not answer", f"no answer within {READY_SECONDS:g} s")

    async def _look(self) -> str:
        try:
            await self._ledger.read(NOBODY, 0, 1)
        except WorldError as error:
            # Whoever else needs the ledger has perhaps said so already.
            self._engine.context.outages.tell(error)
            return "the ledger cannot be read"
        except MootError as error:
            return self._tell("the ledger cannot be read", str(error))
        try:
            if isinstance(self._runner, CheckedRunner):
                await self._runner.check()
        except MootError as error:
            return self._tell("the tables of the workers cannot be read", str(error))
        self._logged = ""
        return ""

    def _tell(self, reason: str, detail: str) -> str:
        # Once for each outage: whoever asks does so every few seconds.
        if self._logged != reason:
            self._logged = reason
            log.error("not ready: %s (%s)", reason, detail)
        return reason
