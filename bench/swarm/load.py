"""Explorers that answer at once with as much as they are told to bring: what is then measured is the swarm's own work."""

from dataclasses import dataclass
from random import Random
from time import process_time
from typing import Final

from moothall.domain.effects import Brief, CompareTexts
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Collision,
    Operation,
    RoundReport,
    StatedIdea,
    SwarmBallot,
)
from moothall.protocols.swarm.rules.review import compare_by_words

DIRECTIONS: Final = 8
KNOWN_IDEAS: Final = 12
VOCABULARY: Final = 3_000
WORDS: Final = 12


COMMON: Final = "we should make the catalogue fast"


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """What each explorer brings in a round: so many findings, `first` in the first round.

    They are texts that nobody said before where `is_new`, else some of twelve. New ones have six of their ten words in common
    where `is_alike`, which is too little to join them and enough to be told of.
    """

    findings: int = 2
    first: int = 2
    is_new: bool = True
    is_alike: bool = False


def sentence(number: int, common: str = "", words: int = WORDS) -> str:
    """A text that has next to no word in common with another number's, but for those that are given."""
    chance = Random(number)
    return " ".join([*common.split(), *(f"w{chance.randrange(VOCABULARY)}" for _ in range(words))])


class Load:
    """Answers for all seats. `compared` and `answering` are the CPU seconds spent in the measure and in these answers."""

    def __init__(self, amount: Amount) -> None:
        self._amount = amount
        self._made = 0
        self.compared = 0.0
        self.answering = 0.0

    def says(self, brief: Brief) -> object:
        began = process_time()
        if isinstance(brief.chore, CompareTexts):
            found: object = compare_by_words(brief.chore)
            self.compared += process_time() - began
            return found
        found = self._said(brief)
        self.answering += process_time() - began
        return found

    def _said(self, brief: Brief) -> object:
        match brief.ask.kind:
            case "explore":
                return self._report(brief)
            case "collide":
                return Collision(
                    action="support",
                    content="It holds where it was tried.",
                    new_insights=("Try it elsewhere.",),
                )
            case _:
                return SwarmBallot(votes=(AnswerVote(answer=1, position="abstain"),))

    def _report(self, brief: Brief) -> RoundReport:
        turn = brief.ask.turn
        count = self._amount.first if turn == 1 else self._amount.findings
        seat = Random(brief.ask.seat).randrange(DIRECTIONS)
        direction = f"direction-{(seat + turn) % DIRECTIONS}"
        operations = [
            Operation(
                operation="deposit_pheromone", params={"direction": direction, "amount": 0.05}
            )
        ]
        if turn > 1 and (seat + turn) % 4 == 0:
            params = {
                "targetDirection": f"direction-{(seat + turn - 1) % DIRECTIONS}",
                "reason": "contradictory_evidence",
                "evidence": "It was tried.",
            }
            operations.append(Operation(operation="send_stop_signal", params=params))
        return RoundReport(
            direction=direction,
            findings=tuple(self._finding(brief) for _ in range(count)),
            operations=tuple(operations),
        )

    def _finding(self, brief: Brief) -> StatedIdea:
        self._made += 1
        number = (
            self._made
            if self._amount.is_new
            else Random(f"{brief.ask.id}/{self._made}").randrange(KNOWN_IDEAS)
        )
        idea = sentence(number, COMMON, 4) if self._amount.is_alike else sentence(number)
        return StatedIdea(core_idea=idea, perspective=brief.ask.seat, details=sentence(-1 - number))
