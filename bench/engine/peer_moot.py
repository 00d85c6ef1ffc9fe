"""Moot doing the peers' work: `ring` and `roundtable` make one call per turn, as they do; `persona` makes six."""

import asyncio
import gc
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
from moothall.app.resources import SystemClock
from moothall.codec.stored import FactCodec
from moothall.domain.budget import Budget
from moothall.domain.effects import Brief
from moothall.domain.facts import Opened
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import Seat
from moothall.engine.engine import Engine
from moothall.engine.snapshot import AnyRulebook
from moothall.features.persona.facts import (
    Draft,
    DraftClaim,
    Intent,
    MeetingOpened,
    PersonaSettings,
    PersonaSpeech,
    Stand,
    TurnTaken,
)
from moothall.features.persona.rules import RULES
from moothall.features.roundtable.facts import (
    MAX_ROUNDS,
    MODERATOR,
    ConferenceOpened,
    Minutes,
    RoundtableSettings,
    RoundtableSpeech,
    SpeechGiven,
)
from moothall.features.roundtable.rules import RULES as ROUNDTABLE_RULES
from moothall.ledgers.memory import MemoryLedger
from moothall.ledgers.sqlite import SqliteLedger
from moothall.ports.ledger import Ledger
from moothall.ports.participant import Answer, OnText

ROSTER = tuple(Seat(id=SeatId(f"seat-{number}"), platform="bench") for number in range(SEATS))
SILENT = Intent(
    reaction_score=0.4, intent_to_speak=False, reason="Nothing to add to what has just been said."
)
MOVED = Intent(
    reaction_score=0.8, intent_to_speak=True, reason="The last speaker left out the way back."
)
DRAFT = Draft(
    decision=DraftClaim(text="Rehearse the way back first.", entries=(2,)), confidence=0.7
)
MINUTES = Minutes(content="The way back is rehearsed first.")
STAND = Stand(verdict="support", confidence=0.7)


class Instant:
    """Answers at once, or after `seconds`, whatever is asked."""

    def __init__(self, seat: Seat, seconds: float) -> None:
        self._number = 0 if seat.id == MODERATOR else int(seat.id.rpartition("-")[2])
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
        if brief.form.shape is RoundtableSpeech:
            # Its turns are rounds; the id of an ask counts the speeches.
            spoken = int(brief.ask.id.partition(".")[0]) - 1
            return RoundtableSpeech(content=text_of(seat_of(spoken), spoken))
        match brief.ask.kind:
            case "intent":
                return MOVED if seat_of(turn - 1) == self._number else SILENT
            case "speech":
                return PersonaSpeech(content=text_of(self._number, turn - 1))
            case "draft":
                return DRAFT
            case "minutes":
                return MINUTES
            case _:
                return STAND


def opened(variant: str, turns: int) -> Opened:
    if variant.startswith("ring"):
        return RingOpened(topic="bench", language="en", seed=1, seats=ROSTER, turns=turns)
    if variant == "roundtable":
        # At most a hundred rounds: more turns have more speakers.
        speakers = max(SEATS, -(-turns // MAX_ROUNDS))
        seats = tuple(
            Seat(id=SeatId(f"seat-{number}"), platform="bench") for number in range(speakers)
        )
        rounds = RoundtableSettings(max_rounds=turns // speakers)
        moderator = Seat(id=MODERATOR, platform="bench")
        return ConferenceOpened(
            topic="bench", language="en", seed=1, seats=(*seats, moderator), settings=rounds
        )
    settings = PersonaSettings(blind=False)
    return MeetingOpened(
        topic="bench",
        language="en",
        seed=1,
        seats=ROSTER,
        budget=Budget(turns=turns),
        settings=settings,
    )


def engine_on(ledger: Ledger) -> Engine:
    rulebooks: list[AnyRulebook] = [RULES, ROUNDTABLE_RULES, RING]
    codec = FactCodec({kind: fact for rules in rulebooks for kind, fact in rules.kinds.items()})
    return Engine(ledger=ledger, rulebooks=rulebooks, codec=codec, clock=SystemClock())


async def held(engine: Engine, session: SessionId, seconds: float) -> None:
    await engine.run(session, lambda seat: Instant(seat, seconds))


async def transcript(engine: Engine, session: SessionId) -> list[str]:
    entries = await engine.entries(session)
    return [
        entry.fact.said.content
        for entry in entries
        if isinstance(entry.fact, Spoke | TurnTaken | SpeechGiven)
    ]


async def measured(job: Job, path: Path) -> Meter:
    warm = engine_on(MemoryLedger())
    await held(warm, await warm.open(opened(job.variant, SEATS)), 0.0)
    async with AsyncExitStack() as stack:
        ledger: Ledger = MemoryLedger()
        if not job.variant.endswith("-memory"):
            ledger = await stack.enter_async_context(SqliteLedger(path))
        engine = engine_on(ledger)

        async def meeting(session: SessionId) -> None:
            await held(
                engine,
                await engine.open(opened(job.variant, job.turns), session),
                job.reply_seconds,
            )

        sessions = [SessionId(f"bench-{number}") for number in range(job.sessions)]
        with Meter() as meter:
            await asyncio.gather(*(meeting(session) for session in sessions))
        for session in sessions:
            check_transcript(await transcript(engine, session), job.turns)
    return meter


def main() -> None:
    # As every command of Moot does.
    gc.set_threshold(10_000, 20, 50)
    job = job_from_command_line("moot")
    path = fresh_database(job)
    meter = asyncio.run(measured(job, path))
    bids = (
        (SEATS - 1) * len(SILENT.reason) + len(MOVED.reason)
        if job.variant.startswith("persona")
        else 0
    )
    text = (TEXT_BYTES + bids) * job.turns * job.sessions
    print_row(
        job, meter, disk=disk_bytes(path), durable=not job.variant.endswith("-memory"), text=text
    )


if __name__ == "__main__":
    main()
