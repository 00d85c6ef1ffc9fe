"""Many agents in one debate: what a contribution costs, and what its answer does not wait for."""

import asyncio
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from moothall.app.deliberations import Deliberations
from moothall.app.moot import Moot
from moothall.app.resources import SystemClock
from moothall.app.session_reader import FoldedSessions
from moothall.codec.stored import FactCodec
from moothall.domain.effects import Ask, Brief
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import MAILBOX, Seat
from moothall.engine.engine import Engine
from moothall.ledgers.memory import MemoryLedger
from moothall.protocols.council.facts import SHARED_KINDS
from moothall.protocols.council.plugin import DEBATE_VARIANT, DebateOpened
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.state import Council


class PromptCounter(CouncilRules):
    """Counts the prompts that are written."""

    def __init__(self) -> None:
        super().__init__("debate", DebateOpened, DEBATE_VARIANT)
        self.prompts = 0

    def brief(self, state: Council, ask: Ask) -> Brief:
        self.prompts += 1
        return super().brief(state, ask)


def name_agents(count: int) -> list[str]:
    return [f"agent{number:02}" for number in range(count)]


def propose(number: int) -> dict[str, Any]:
    return {
        "type": "propose",
        "text": f"Proposal {number}.",
        "choice": f"way {number}",
        "confidence": 0.7,
    }


def test_an_answer_from_outside_costs_no_prompt() -> None:
    """As fields, as a value of the form, and in words: for the last the questions for people are enough."""
    rules = PromptCounter()
    codec = FactCodec({"debate.opened": DebateOpened, **SHARED_KINDS})
    seats = tuple(Seat(id=SeatId(name), platform=MAILBOX) for name in name_agents(3))

    async def work() -> None:
        engine = Engine(ledger=MemoryLedger(), rulebooks=[rules], codec=codec, clock=SystemClock())
        session = await engine.open(
            DebateOpened(topic="Which way?", language="en", seed=1, seats=seats)
        )
        for number, seat in enumerate(seats[:2]):
            await engine.contribute(session, seat.id, propose(number), f"key {number}")
        await engine.contribute(session, seats[0].id, propose(0), "key 0")
        await engine.contribute(session, seats[2].id, "We should go left, for it is shorter.")
        assert rules.prompts == 0
        assert len(await engine.list_outstanding(session)) == rules.prompts == 3

    asyncio.run(work())


def count_calls(seats: int) -> int:
    """How many functions a contribution calls in the middle of the first phase."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    async def work() -> None:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            names = name_agents(seats)
            session = await moot.open(
                "Which way?", protocol="debate", seats=dict.fromkeys(names, "mailbox")
            )
            deliberations = Deliberations(moot)
            for number in range(3):
                await deliberations.contribute(session, names[number], propose(number))
            sys.setprofile(count)
            try:
                await deliberations.contribute(session, names[3], propose(3))
            finally:
                sys.setprofile(None)

    asyncio.run(work())
    return calls


def test_a_contribution_among_fifty_costs_little_more_than_one_among_five() -> None:
    """Counted in calls of functions, which no other program on the machine can change."""
    count_calls(5)
    few, many = count_calls(5), count_calls(50)
    # Each seat may take a handful of looks, not a computation of its own.
    assert many - few < 20 * 45, f"{few} calls among 5 seats, {many} among 50"


async def hold(moot: Moot, names: list[str]) -> SessionId:
    session = await moot.open(
        "Which way?", protocol="debate", seats=dict.fromkeys(names, "mailbox")
    )
    deliberations = Deliberations(moot)
    for number, name in enumerate(names):
        await deliberations.contribute(session, name, propose(number))
    for name in names:
        await deliberations.contribute(
            session, name, {"type": "support", "text": "Yes.", "refers_to": 2}
        )
    for name in names:
        await deliberations.contribute(
            session, name, {"type": "synthesize", "text": "Left.", "choice": "left"}
        )
    for name in names:
        recorded = await deliberations.contribute(
            session, name, {"type": "vote", "position": "support", "confidence": 0.8}
        )
    assert recorded.state.snapshot.is_closed
    return session


def count_loads(seats: int) -> tuple[int, int]:
    """How many functions it takes to read a debate that has ended, and to read it again."""
    calls = [0]

    def count(frame: FrameType, event: str, argument: object) -> None:
        calls[-1] += event == "call"

    async def work() -> None:
        async with Moot(environ={"MOOT_LEDGER": "memory:"}) as moot:
            session = await hold(moot, name_agents(seats))
            folded = FoldedSessions(moot)
            for _ in range(2):
                sys.setprofile(count)
                try:
                    assert (await folded.load(session)).timeline.closed is not None
                finally:
                    sys.setprofile(None)
                calls.append(0)

    asyncio.run(work())
    return calls[0], calls[1]


def test_who_asks_for_a_result_after_others_does_not_have_it_decided_again() -> None:
    """All who waited for their turn ask when it closes: among many that was most of the whole debate."""
    count_loads(3)
    few, again_few = count_loads(3)
    many, again_many = count_loads(20)
    assert again_many - again_few < 100 < few < many, (few, again_few, many, again_many)


def test_the_last_vote_is_answered_before_the_decision_is_remembered_and_no_crash_loses_it(
    tmp_path: Path,
) -> None:
    environ = {"MOOT_HOME": str(tmp_path), "HOME": str(tmp_path)}
    names = name_agents(3)

    async def work() -> None:
        async with Moot(environ=environ) as moot:
            session = await hold(moot, names)
            assert await moot.memory.get(session) is None
            assert await (await moot.recall()).get(session)
            unfinished = await hold(moot, names)
            # As if the process had died between the answer and the memory.
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
        async with Moot(environ=environ) as moot:
            assert await moot.memory.get(unfinished) is None
            assert await (await moot.recall()).get(unfinished)
        async with Moot(environ=environ) as moot:
            last = await hold(moot, names)
        # Closing waits for what is being remembered.
        async with Moot(environ=environ) as moot:
            assert await moot.memory.get(last)

    asyncio.run(work())
