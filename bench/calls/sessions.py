"""Whole sessions in memory, of five seats that one participant fills."""

from collections.abc import Sequence

from moothall.app.protocols import collect_kinds, get_protocol, load_protocols
from moothall.app.resources import SystemClock
from moothall.codec.stored import FactCodec
from moothall.domain.budget import Budget
from moothall.domain.facts import Fact
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import Topic
from moothall.engine.engine import Engine
from moothall.ledgers.memory import MemoryLedger
from moothall.ports.participant import Participant
from moothall.ports.plugin import Plan

SEATS = 5


async def hold_session(
    name: str, mind: Participant, settings: object = None, budget: Budget | None = None
) -> Sequence[Fact]:
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
        seats=tuple(
            Seat(id=SeatId(f"seat{number}"), platform="counted") for number in range(1, SEATS + 1)
        ),
        budget=budget or Budget(),
        outside_patience=60.0,
        settings=settings or plugin.settings(),
        subject=Topic(),
    )
    session = await engine.open(plugin.open(plan))
    snapshot = await engine.run(session, lambda seat: mind)
    assert snapshot.is_closed
    return [entry.fact for entry in await engine.entries(session)]
