"""Moot doing the peers' work: `ring` makes one call per turn as they do, `persona` six (five bids and a speech)."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from bench.engine.peers.common import (
    SEATS,
    TEXT_BYTES,
    Job,
    Meter,
    check_transcript,
    disk_bytes,
    fresh_database,
    job_from_command_line,
    print_row,
    seat_of,
    text_of,
)
from bench.engine.ring import RING, RingOpened, Said, Spoke
from moot.app.clock import SystemClock
from moot.codec.stored import FactCodec
from moot.domain.budget import Budget
from moot.domain.effects import Brief
from moot.domain.facts import Opened
from moot.domain.ids import SeatId, SessionId
from moot.domain.roster import Seat
from moot.engine.engine import Engine
from moot.ledgers.memory import MemoryLedger
from moot.ledgers.sqlite import SqliteLedger
from moot.ports.ledger import Ledger
from moot.ports.participant import Answer, OnText
from moot.protocols.persona.facts import (
    Draft,
    DraftClaim,
    Intent,
    MeetingOpened,
    PersonaSettings,
    PersonaSpeech,
    Stand,
    TurnTaken,
)
from moot.protocols.persona.rules import RULES

ROSTER = tuple(Seat(id=SeatId(f"seat-{number}"), platform="bench") for number in range(SEATS))
SILENT = Intent(reaction_score=0.4, intent_to_speak=False, reason="Nothing to add to what has just been said.")
MOVED = Intent(reaction_score=0.8, intent_to_speak=True, reason="The last speaker left out the way back.")
DRAFT = Draft(decision=DraftClaim(text="Rehearse the way back first.", entries=(2,)), confidence=0.7)
STAND = Stand(verdict="support", confidence=0.7)


class Instant:
    """Answers at once, or after `seconds`, whatever is asked."""

    def __init__(self, seat: Seat, seconds: float) -> None:
        self._number = int(seat.id.rpartition("-")[2])
        self._seconds = seconds

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer:
        if self._seconds:
            await asyncio.sleep(self._seconds)
        return Answer(said=self._said(brief))

    def _said(self, brief: Brief) -> object:
        turn = brief.ask.turn
        if brief.form.shape is Said:
            return Said(content=text_of(self._number, turn))
        match brief.ask.kind:
            case "intent":
                return MOVED if seat_of(turn - 1) == self._number else SILENT
            case "speech":
                return PersonaSpeech(content=text_of(self._number, turn - 1))
            case "draft":
                return DRAFT
            case _:
                return STAND


def opened(variant: str, turns: int) -> Opened:
    if variant.startswith("ring"):
        return RingOpened(topic="bench", language="en", seed=1, seats=ROSTER, turns=turns)
    settings = PersonaSettings(blind=False)
    return MeetingOpened(topic="bench", language="en", seed=1, seats=ROSTER, budget=Budget(turns=turns), settings=settings)


def engine_on(ledger: Ledger) -> Engine:
    codec = FactCodec({**RULES.kinds, **RING.kinds})
    return Engine(ledger=ledger, rulebooks=[RULES, RING], codec=codec, clock=SystemClock())


async def held(engine: Engine, session: SessionId, seconds: float) -> None:
    seats = {seat.id: Instant(seat, seconds) for seat in ROSTER}
    await engine.run(session, lambda seat: seats[seat.id])


async def transcript(engine: Engine, session: SessionId) -> list[str]:
    entries = await engine.entries(session)
    return [entry.fact.said.content for entry in entries if isinstance(entry.fact, Spoke | TurnTaken)]


async def measured(job: Job, path: Path) -> Meter:
    warm = engine_on(MemoryLedger())
    await held(warm, await warm.open(opened(job.variant, SEATS)), 0.0)
    async with AsyncExitStack() as stack:
        ledger: Ledger = MemoryLedger()
        if not job.variant.endswith("-memory"):
            ledger = await stack.enter_async_context(SqliteLedger(path))
        engine = engine_on(ledger)
        sessions = [await engine.open(opened(job.variant, job.turns)) for _ in range(job.sessions)]
        with Meter() as meter:
            await asyncio.gather(*(held(engine, session, job.reply_seconds) for session in sessions))
        for session in sessions:
            check_transcript(await transcript(engine, session), job.turns)
    return meter


def main() -> None:
    job = job_from_command_line("moot")
    path = fresh_database(job)
    meter = asyncio.run(measured(job, path))
    bids = (SEATS - 1) * len(SILENT.reason) + len(MOVED.reason) if job.variant.startswith("persona") else 0
    text = (TEXT_BYTES + bids) * job.turns * job.sessions
    print_row(job, meter, disk=disk_bytes(path), durable=not job.variant.endswith("-memory"), text=text)


if __name__ == "__main__":
    main()
