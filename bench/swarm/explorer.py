"""An explorer that is a formula. It knows the message that it is given, the names of the directions, and what it read itself.

It carries out the orders of its `round_start`. Without one it follows the pheromone in 70 of 100 rounds: down the directions that
it is shown, each taken with the probability that stands beside it; where it takes none it stays. Else it takes a direction that
nobody covers, or any. It deposits in proportion to its reading, holds the direction that it thinks best, and signals against the
strongest of the directions that it has read, where its best is better by more than the standard error of that difference.
"""

import json
import re
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from bench.swarm.world import Readings, World
from moothall.domain.effects import Brief
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Candidate,
    Collision,
    ConflictReview,
    DecisionReport,
    Operation,
    RoundReport,
    StatedIdea,
    SwarmBallot,
)

FOLLOW: Final = 0.70
UNCOVERED: Final = 0.15
MAX_DEPOSIT: Final = 0.3

_MARK = re.compile(r"^\| (\d\.\d{4})(?: \((\d\.\d{4})\))? (\S+)$", re.MULTILINE)
_VOTED = re.compile(r"^\| (\d+)\. (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How an explorer behaves, where that is not given by its orders.

    `wanders` is False for one that follows the pheromone alone. `scale` is the deposit for a reading of 1: with 0.2 an ordinary
    direction gets the protocol's default amount. `sway` is how much a concentration of 1 adds to what it thinks of a direction.
    """

    wanders: bool = True
    scale: float = 0.2
    sway: float = 0.0


@dataclass(frozen=True, slots=True)
class Message:
    """A `round_start` as an explorer reads it; `board` has the effective concentration of each direction shown."""

    round: int
    threshold: float
    top: list[dict[str, Any]]
    current: str
    random: bool
    must_switch: bool
    inhibited: bool
    board: dict[str, float]


def read(brief: Brief) -> Message:
    """The message in a brief."""
    told: dict[str, Any] = {}
    for line in brief.own.splitlines():
        if line.startswith("| {"):
            told |= json.loads(line[2:])
    orders, support = told["instructions"], told["decisionSupport"]
    return Message(
        round=told["round"],
        threshold=support["threshold"],
        top=support["topDirections"],
        current=told["agentState"]["current"]["exploringDirection"] or "",
        random=orders["forceRandomExplore"],
        must_switch=orders["mustSwitchDirection"],
        inhibited=orders["currentDirectionInhibited"],
        board={name: float(left or raw) for raw, left, name in _MARK.findall(brief.shared)},
    )


class Explorer:
    def __init__(self, world: World, name: str, manner: Manner) -> None:
        self._world = world
        self._name = name
        self._manner = manner
        self._chance = Random(f"{world.seed}/{name}/chance")
        self._signalled: set[str] = set()
        self.readings = Readings(world, name)

    def says(self, brief: Brief) -> object:
        """Its answer to an ask of any kind that explorers get."""
        match brief.ask.kind:
            case "explore":
                return self._report(read(brief))
            case "collide":
                return Collision(action="pass")
            case _:
                return self._ballot(brief)

    def _report(self, told: Message) -> RoundReport:
        direction = self._direction(told)
        amount = min(max(self._manner.scale * self.readings.look(direction), 0.001), MAX_DEPOSIT)
        deposit = Operation(
            operation="deposit_pheromone", params={"direction": direction, "amount": amount}
        )
        held = self.held(told.board)
        return RoundReport(
            direction=direction,
            findings=(StatedIdea(core_idea=held, perspective=self._name),),
            operations=(deposit, *self._signals(told)),
            decision_report=DecisionReport(
                threshold=told.threshold,
                candidates=tuple(
                    Candidate(
                        direction=each["direction"],
                        concentration=each["effectiveConcentration"],
                        response_prob=each["responseProbability"],
                    )
                    for each in told.top
                ),
                selected_direction=direction,
                selection_reason="By its orders, its threshold and chance.",
            ),
            conflict_review=ConflictReview(),
            random_explore_forced=told.random,
        )

    def held(self, board: dict[str, float]) -> str:
        """The direction that it thinks best, of those that it has read."""
        return max(
            self.readings.seen,
            key=lambda each: (
                self.readings.estimate(each) + self._manner.sway * board.get(each, 0.0),
                each,
            ),
        )

    def _direction(self, told: Message) -> str:
        """Every way of choosing draws equally often, so that runs which differ in one setting stay comparable."""
        mood, *draws = (self._chance.random() for _ in range(2 + len(told.top)))
        anywhere = self._world.directions[int(draws[-1] * self._world.k)]
        if told.random:
            return anywhere
        if self._manner.wanders and mood >= FOLLOW:
            return self._uncovered(told, draws[-1]) if mood < FOLLOW + UNCOVERED else anywhere
        leaves = told.must_switch or told.inhibited
        for each, drawn in zip(told.top, draws, strict=False):
            if drawn < each["responseProbability"] and not (
                leaves and each["direction"] == told.current
            ):
                return str(each["direction"])
        return (
            told.current
            if told.current and not told.must_switch
            else self._uncovered(told, draws[-1])
        )

    def _uncovered(self, told: Message, drawn: float) -> str:
        """One that is not on the blackboard; where all are, the faintest."""
        bare = [each for each in self._world.directions if each not in told.board]
        return (
            bare[int(drawn * len(bare))]
            if bare
            else min(told.board, key=lambda each: (told.board[each], each))
        )

    def _signals(self, told: Message) -> tuple[Operation, ...]:
        read_and_marked = [each for each in told.board if each in self.readings.seen]
        if not read_and_marked:
            return ()
        strongest = max(read_and_marked, key=lambda each: (told.board[each], each))
        better = self.held({})
        if better == strongest or strongest in self._signalled:
            return ()
        if self.readings.estimate(better) - self.readings.estimate(
            strongest
        ) <= self.readings.doubt(better, strongest):
            return ()
        self._signalled.add(strongest)
        params = {
            "targetDirection": strongest,
            "reason": "better_alternative",
            "evidence": f"{better} reads better.",
        }
        return (Operation(operation="send_stop_signal", params=params),)

    def _ballot(self, brief: Brief) -> SwarmBallot:
        mine = self.held({})
        return SwarmBallot(
            votes=tuple(
                AnswerVote(
                    answer=int(number),
                    position="support" if name == mine else "oppose",
                    confidence=0.7,
                )
                for number, name in _VOTED.findall(brief.shared)
            )
        )
