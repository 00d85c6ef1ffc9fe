"""A swarm driven through its rulebook by the engine's own step: answers in, facts out, no clock and no disk."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

from tests.support.play_swarm import SESSION

from moothall.codec.stored import FactCodec
from moothall.domain.budget import FREE
from moothall.domain.effects import Ask, Brief
from moothall.domain.facts import Fact
from moothall.engine.snapshot import RecordWriter
from moothall.engine.step import StepResult, step
from moothall.ports.plugin import Plan
from moothall.protocols.swarm.answers import ShutdownReply
from moothall.protocols.swarm.plugin import open_session
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall.protocols.swarm.state import Swarm
from moothall.reading.answers import build_reply
from moothall_testkit.rulebook_contract import START

STEP_SECONDS: Final = 30.0
"""A round has two steps, its reports and its collisions: a minute of the run's clock. A stop signal lives for five rounds."""

SCRIBE: Final = RecordWriter(FactCodec(RULES.kinds), [RULES])
Says = Callable[[Brief], object]


class Drive:
    """One run. `facts` are all that were written; `state` is where it stands."""

    def __init__(self, plan: Plan, says: Says) -> None:
        self._says = says
        self._now = START
        self._snapshot, first = SCRIBE.write_opening(SESSION, open_session(plan), START)
        self.facts: list[Fact] = [first.entry.fact]

    @property
    def state(self) -> Swarm:
        found: Swarm = self._snapshot.state
        return found

    def steps(self) -> Iterator[StepResult]:
        """Play to the end, step by step."""
        batch = self._step([])
        yield batch
        while not self._snapshot.is_closed:
            batch = self._step([self._answer(ask) for ask in batch.asks])
            yield batch

    def _step(self, arrived: list[Fact]) -> StepResult:
        self._now += timedelta(seconds=STEP_SECONDS)
        batch = step(SCRIBE, self._snapshot, arrived, self._now, frozenset(), since=START)
        self._snapshot = batch.snapshot
        self.facts += [written.entry.fact for written in batch.written]
        return batch

    def _answer(self, ask: Ask) -> Fact:
        brief = RULES.brief(self.state, ask)
        if ask.kind == "shutdown":
            return build_reply(brief.form, ask.id, ask.seat, ShutdownReply(), FREE)
        # As an answer is read: Moot makes of a plain report what follows from it.
        said = brief.normalize(self._says(brief))[0]
        return build_reply(brief.form, ask.id, ask.seat, said, FREE)
