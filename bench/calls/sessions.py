"""Whole sessions in memory, of five seats that one participant fills."""

from collections.abc import Sequence

from moot.app.clock import SystemClock
from moot.app.protocols import collect_kinds, get_protocol, load_protocols
from moot.codec.stored import FactCodec
from moot.domain.budget import Budget
from moot.domain.facts import Fact
from moot.domain.ids import SeatId
from moot.domain.roster import Seat
from moot.domain.topic import Topic
from moot.engine.engine import Engine
from moot.ledgers.memory import MemoryLedger
from moot.ports.participant import Participant
from moot.ports.plugin import Plan

SEATS = 5


async def hold_session(name: str, mind: Participant, settings: object = None, budget: Budget | None = None) -> Sequence[Fact]:
    """Hold one session of a protocol to its end; return its facts."""
    plugin = get_protocol(name)
    engine = Engine(
        ledger=MemoryLedger(),
        rulebooks=[each.rules for each in load_protocols().values()],
        codec=FactCodec(collect_kinds()),
        clock=SystemClock(),
    )
    plan = Plan(
        topic="Shall we?",
        language="en",
        seed=1,
        seats=tuple(Seat(id=SeatId(f"seat{number}"), platform="counted") for number in range(1, SEATS + 1)),
        budget=budget or Budget(),
        outside_patience=60.0,
        settings=settings or plugin.settings(),
        subject=Topic(),
    )
    session = await engine.open(plugin.open(plan))
    snapshot = await engine.run(session, lambda seat: mind)
    assert snapshot.is_closed
    return [entry.fact for entry in await engine.entries(session)]
