"""A swarm played in memory: seats that are functions, the engine's own `step`, and a clock that is set by hand.

    run = SwarmRun(plan)
    run.play(lambda ask, brief, state: RoundReport(...))

What a seat gives back is an answer's shape, a reason to be lost, or None to be lost in time.
"""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final, get_args

from moothall.codec.stored import FactCodec
from moothall.domain.budget import FREE, Budget
from moothall.domain.effects import Ask, Brief, CompareTexts
from moothall.domain.facts import Entry, Fact, Language, Loss, SeatLost
from moothall.domain.groups import AnswerJudgements
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import Seat
from moothall.domain.topic import Topic
from moothall.engine.snapshot import RecordWriter
from moothall.engine.step import StepResult, step
from moothall.ports.plugin import Plan
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Candidate,
    ConflictReview,
    DecisionReport,
    Operation,
    RoundReport,
    ShutdownReply,
    StatedIdea,
    SwarmBallot,
    Validation,
)
from moothall.protocols.swarm.facts import SwarmSettings
from moothall.protocols.swarm.json_fields import agent_name
from moothall.protocols.swarm.plugin import open_session
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.protocols.swarm.rules.evidence import weigh_directions
from moothall.protocols.swarm.rules.review import compare_by_words
from moothall.protocols.swarm.rules.rulebook import RULES
from moothall.protocols.swarm.state import Swarm
from moothall.reading.answers import build_reply
from moothall_testkit.rulebook_contract import START

SESSION: Final = SessionId("think_20240520_001")
Says = Callable[[Ask, Brief, Swarm], object]
"""What a seat answers: a shape, a loss by its name, or None for no answer in time."""


def build_swarm_plan(
    agents: int = 3,
    *,
    seed: int = 1,
    platform: str = "script:x",
    language: Language = "en",
    **chosen: Any,
) -> Plan:
    """The plan of a swarm with so many explorers; what is left over are its settings.

    It asks for a synthesis, and pools twins, only if told to.
    """
    names = [agent_name(number) for number in range(1, agents + 1)]
    return Plan(
        topic="How do we make the catalogue fast?",
        language=language,
        seed=seed,
        seats=tuple(Seat(id=SeatId(name), platform=platform) for name in names),
        budget=Budget(),
        outside_patience=60.0,
        settings=SwarmSettings(**{"synthesis": "classic", "pool_twins": False, **chosen}),
        subject=Topic(),
    )


def build_valid_report(
    state: Swarm,
    seat: str,
    direction: str,
    *ideas: str,
    perspective: str = "",
    operations: tuple[Operation, ...] = (),
    agrees_with: tuple[str, ...] = (),
) -> RoundReport:
    """A report that keeps every rule: its decision report is right, its order is carried out."""
    agent = state.agents[SeatId(seat)]
    candidates = tuple(
        Candidate(
            direction=each.direction, concentration=each.effective, response_prob=each.probability
        )
        for each in weigh_directions(state, agent, 3)
    )
    return RoundReport(
        direction=direction,
        findings=tuple(
            StatedIdea(core_idea=idea, perspective=perspective or seat, agrees_with=agrees_with)
            for idea in ideas
        ),
        operations=operations,
        decision_report=DecisionReport(
            threshold=agent.threshold,
            candidates=candidates,
            selected_direction=direction,
            selection_reason="It promises most.",
        ),
        conflict_review=ConflictReview(),
        random_explore_forced=state.orders[SeatId(seat)].random,
    )


def build_deposit(direction: str, amount: float | None = None) -> Operation:
    """A deposit on a direction."""
    params: dict[str, Any] = (
        {"direction": direction} if amount is None else {"direction": direction, "amount": amount}
    )
    return Operation(operation="deposit_pheromone", params=params)


def build_stop_signal(direction: str) -> Operation:
    """A stop signal against a direction."""
    params = {
        "targetDirection": direction,
        "reason": "contradictory_evidence",
        "evidence": "It was tried.",
    }
    return Operation(operation="send_stop_signal", params=params)


ABSTAINS: Final = SwarmBallot(votes=(AnswerVote(answer=1, position="abstain"),))


class SwarmRun:
    """A run in memory. Answers are put in seat order, or in the order that `shuffle` makes of them."""

    def __init__(
        self, plan: Plan, *, shuffle: Callable[[list[Ask]], list[Ask]] = list, seconds: float = 1.0
    ) -> None:
        self._writer = RecordWriter(FactCodec(RULES.kinds), [RULES])
        self._shuffle = shuffle
        self.seconds = seconds
        self.now: datetime = START
        self.snapshot, first = self._writer.write_opening(SESSION, open_session(plan), START)
        self.entries: list[Entry] = [first.entry]
        self.asks: list[Ask] = []

    @property
    def state(self) -> Swarm:
        found: Swarm = self.snapshot.state
        return found

    @property
    def timeline(self) -> SwarmTimeline:
        timeline = SwarmTimeline(SESSION)
        for entry in self.entries:
            timeline.add(entry)
        return timeline

    def facts(self, kind: type[Fact]) -> list[Any]:
        return [entry.fact for entry in self.entries if isinstance(entry.fact, kind)]

    def step(self, *arrived: Fact) -> StepResult:
        """What follows from these facts."""
        self.now += timedelta(seconds=self.seconds)
        batch = step(self._writer, self.snapshot, arrived, self.now, frozenset(), since=START)
        self.snapshot = batch.snapshot
        self.entries += [written.entry for written in batch.written]
        return batch

    def play(
        self, says: Says | Mapping[str, Says], *, until: Callable[[Swarm], bool] | None = None
    ) -> "SwarmRun":
        """Play to the end, or until the state is as wanted; `says` may be one for each seat."""
        batch = self.step()
        while not self.snapshot.is_closed and not (until is not None and until(self.state)):
            assert batch.asks, "a run that is not closed asks for something"
            self.asks += batch.asks
            batch = self.step(
                *[self._build_fact(ask, says) for ask in self._shuffle(list(batch.asks))]
            )
        return self

    def _build_fact(self, ask: Ask, says: Says | Mapping[str, Says]) -> Fact:
        brief = RULES.brief(self.state, ask)
        chosen = says if callable(says) else says.get(ask.seat)
        said = chosen(ask, brief, self.state) if chosen is not None else NotImplemented
        if said is NotImplemented:
            said = answer_by_default(ask, brief, self.state)
        losses: dict[object, Loss] = {name: name for name in get_args(Loss)}
        if said is None or isinstance(said, str):
            return SeatLost(ask=ask.id, seat=ask.seat, reason=losses.get(said, "timeout"))
        if isinstance(said, AnswerJudgements):
            said = brief.normalize(said)[0]
        return build_reply(brief.form, ask.id, ask.seat, said, FREE)


def answer_by_default(ask: Ask, brief: Brief, state: Swarm) -> object:
    """What the seats that nobody speaks for say: the measure judges by words, the validator nothing, all others go gently."""
    if ask.kind == "compare":
        assert isinstance(brief.chore, CompareTexts)
        return compare_by_words(brief.chore)
    if ask.kind == "validate":
        return Validation()
    return ShutdownReply() if ask.kind == "shutdown" else None
