"""The CPU of a round, against agents and against findings, and a whole run of 64 explorers in the engine."""

import asyncio
import math
import resource
import tempfile
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import process_time
from typing import Final

from tests.support.play_swarm import build_swarm_plan

from bench.swarm.driver import Drive
from bench.swarm.load import Amount, Load
from moothall.app.resources import SystemClock
from moothall.codec.stored import FactCodec
from moothall.domain.effects import Brief
from moothall.domain.roster import DIRECTOR, Seat
from moothall.engine.engine import Engine
from moothall.ledgers.memory import MemoryLedger
from moothall.ledgers.sqlite import SqliteLedger
from moothall.participants.director import DirectorParticipant
from moothall.ports.ledger import Ledger
from moothall.ports.participant import Answer, NoAnswer, OnText, Participant
from moothall.protocols.swarm.facts import ConvergenceMeasured
from moothall.protocols.swarm.plugin import open_session
from moothall.protocols.swarm.rules.rulebook import RULES

AGENTS: Final = (2, 4, 8, 16, 32, 64)
FINDINGS: Final = (10, 30, 100, 300, 1_000, 2_000)
IN_ONE_ROUND: Final = (1, 2, 5, 10)
REPEATS: Final = 3
NEAR: Final = 2
"""Rounds on either side of a round whose median is taken."""
REPEATED: Final = Amount(is_new=False)
WHOLES: Final = {
    "2 findings each, ideas repeated": (10, REPEATED),
    "2 findings each, ideas new": (10, Amount()),
    "10 findings each, ideas new": (10, Amount(findings=10, first=10)),
    "2 findings each, new and alike": (10, Amount(is_alike=True)),
    "10 findings each, new and alike": (3, Amount(findings=10, first=10, is_alike=True)),
}
"""Whole runs of 64 explorers: how many rounds, and what each brings."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: the findings on the blackboard at its end, and the CPU seconds of the rules and of the measure."""

    findings: int
    rules: float
    measure: float


def rounds(agents: int, count: int, amount: Amount) -> Iterator[Round]:
    """The rounds of a run that never converges."""
    load = Load(amount)
    plan = build_swarm_plan(
        agents,
        max_rounds=count,
        min_rounds=count,
        quorum_threshold=1.0,
        vote=False,
        platform="mailbox",
    )
    run = Drive(plan, load.says)
    began = process_time()
    for batch in run.steps():
        if any(isinstance(written.entry.fact, ConvergenceMeasured) for written in batch.written):
            spent = process_time() - began - load.answering - load.compared
            yield Round(findings=len(run.state.board.findings), rules=spent, measure=load.compared)
            load.answering = load.compared = 0.0
            began = process_time()


def least(runs: Sequence[Sequence[Round]]) -> list[Round]:
    """Round by round the least of several runs: what disturbs one only ever adds to it."""
    return [
        Round(
            findings=same[0].findings,
            rules=min(each.rules for each in same),
            measure=min(each.measure for each in same),
        )
        for same in zip(*runs, strict=True)
    ]


def warm() -> None:
    """Let everything be imported and every first call be made before anything is timed."""
    for _ in rounds(8, 3, Amount()):
        pass


def by_agents(*, is_new: bool, count: int = 10) -> dict[int, Round]:
    """The mean round of ten, for each number of agents; two findings each."""
    found = {}
    for agents in AGENTS:
        several = least(
            [list(rounds(agents, count, Amount(is_new=is_new))) for _ in range(REPEATS)]
        )
        found[agents] = Round(
            findings=several[-1].findings,
            rules=math.fsum(each.rules for each in several) / count,
            measure=math.fsum(each.measure for each in several) / count,
        )
    return found


def by_findings(*, is_new: bool) -> dict[int, Round]:
    """The round in which so many findings come to stand on the blackboard: ten agents, two each, one in the first round."""
    several = least([list(rounds(10, 101, Amount(is_new=is_new, first=1))) for _ in range(REPEATS)])
    found = {}
    for wanted in FINDINGS:
        at = next(at for at, each in enumerate(several) if each.findings >= wanted)
        near = several[max(0, at - NEAR) : at + NEAR + 1] if at else several[:1]
        found[wanted] = Round(
            findings=several[at].findings,
            rules=median(each.rules for each in near),
            measure=median(each.measure for each in near),
        )
    return found


def in_one_round() -> dict[int, Round]:
    """The first round of 64 explorers that bring 1 to 10 new findings each."""
    return {
        64 * each: least([list(rounds(64, 1, Amount(first=each))) for _ in range(REPEATS)])[0]
        for each in IN_ONE_ROUND
    }


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of a straight line through the logarithms: 1 is growth in proportion."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    x_mean = math.fsum(x for x, _ in logs) / len(logs)
    y_mean = math.fsum(y for _, y in logs) / len(logs)
    return math.fsum((x - x_mean) * (y - y_mean) for x, y in logs) / math.fsum(
        (x - x_mean) ** 2 for x, _ in logs
    )


class Instant:
    """A seat of the engine that answers at once, and says when a round begins."""

    def __init__(self, load: Load, marks: dict[int, tuple[int, int]]) -> None:
        self._load = load
        self._marks = marks

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        if (
            tracemalloc.is_tracing()
            and brief.ask.kind == "explore"
            and brief.ask.turn not in self._marks
        ):
            self._marks[brief.ask.turn] = tracemalloc.get_traced_memory()
            tracemalloc.reset_peak()
        return Answer(said=self._load.says(brief))


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A run in the engine.

    `lost` is in how many rounds the measure was refused, `kept` the traced bytes at the beginning of each round, `peak` the
    most in it.
    """

    seconds: float
    answering: float
    rounds: int
    findings: int
    entries: int
    lost: int
    rss: int
    kept: dict[int, int]
    peak: dict[int, int]


async def _run(ledger: Ledger, agents: int, count: int, amount: Amount) -> Whole:
    load, marks = Load(amount), dict[int, tuple[int, int]]()
    engine = Engine(
        ledger=ledger, rulebooks=[RULES], codec=FactCodec(RULES.kinds), clock=SystemClock()
    )
    plan = build_swarm_plan(
        agents,
        max_rounds=count,
        min_rounds=count,
        quorum_threshold=1.0,
        platform="script:instant",
        measure="words",
    )
    session = await engine.open(open_session(plan))
    instant, measure = Instant(load, marks), DirectorParticipant()

    def seated(seat: Seat) -> Participant:
        return measure if seat.id == DIRECTOR.id else instant

    began = process_time()
    snapshot = await engine.run(session, seated)
    spent = process_time() - began
    assert snapshot.is_closed
    return Whole(
        seconds=spent,
        answering=load.answering,
        rounds=snapshot.state.round,
        findings=len(snapshot.state.board.findings),
        entries=snapshot.seq,
        lost=snapshot.state.losses[DIRECTOR.id].times
        if DIRECTOR.id in snapshot.state.losses
        else 0,
        rss=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        kept={number: kept for number, (kept, _) in marks.items()},
        peak={number - 1: peak for number, (_, peak) in marks.items() if number > 1},
    )


async def whole(agents: int, count: int, amount: Amount, *, on_disk: bool = False) -> Whole:
    """A whole run in the engine, its ledger in memory or in a file."""
    if not on_disk:
        return await _run(MemoryLedger(), agents, count, amount)
    with tempfile.TemporaryDirectory() as folder:
        async with SqliteLedger(Path(folder) / "bench.db") as ledger:
            return await _run(ledger, agents, count, amount)


def traced(agents: int, count: int, amount: Amount) -> Whole:
    """The same on disk with every allocation traced, which takes several times as long."""
    tracemalloc.start()
    try:
        return asyncio.run(whole(agents, count, amount, on_disk=True))
    finally:
        tracemalloc.stop()
