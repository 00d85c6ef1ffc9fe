"""An explorer that speaks, and a judge of ideas that errs.

It chooses, reads and deposits as the explorer that is a formula does, and it carries out the order to cover a direction first.
What it holds it says in other words every time; where it warns of a direction it also says that this is not the answer. At the
end it rates what it has read by the mean of its own readings.
"""

import re
from random import Random
from typing import Final

from bench.swarm.explorer import Explorer, Manner, Message, read
from bench.swarm.speech import Meaning, Side, build_meanings, describe_reading, get_label, say
from bench.swarm.world import World
from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.protocols.swarm.answers import (
    Candidate,
    Collision,
    DecisionReport,
    DirectionRating,
    FoundIdea,
    IdeaJudgements,
    IdeaVote,
    Operation,
    PairJudgement,
    PairVerdict,
    RoundReport,
    SwarmBallot,
)

_LISTED: Final = re.compile(r"^\| (\d+)\. (.+)$", re.MULTILINE)
_PAIR: Final = re.compile(r"^\| (\d+): (\d+), (\d+)$", re.MULTILINE)
_INSTRUCTIONS: Final = re.compile(r'"recommendedDirection": "([^"]+)", "coverFirst": true')
VERDICTS: Final[tuple[PairVerdict, ...]] = ("same", "opposite", "different")


class Speaker(Explorer):
    """`constant` is one that deposits the same amount whatever it reads; without `rates` its ratings are all equal, too."""

    def __init__(
        self, world: World, name: str, manner: Manner, language: Language, *, constant: bool = False, rates: bool = True
    ) -> None:
        super().__init__(world, name, manner)
        self._language: Language = language
        self._constant = constant
        self._rates = rates
        self._voice = Random(f"{world.seed}/{name}/voice")
        self._labels = {get_label(each, language): each for each in world.directions}
        self._meanings = build_meanings(language)
        self._covered = ""

    def says(self, brief: Brief) -> object:
        match brief.ask.kind:
            case "explore":
                return self._speak(brief)
            case "collide":
                return Collision(action="pass")
            case _:
                return self._vote(brief)

    def _speak(self, brief: Brief) -> RoundReport:
        told = self._translate(read(brief))
        order = _INSTRUCTIONS.search(brief.own)
        self._covered = self._labels.get(order[1], "") if order is not None else ""
        said = self._report(told)
        direction = said.direction
        warned = [str((each.params or {})["targetDirection"]) for each in said.operations if each.operation == "send_stop_signal"]
        ideas: list[tuple[str, Side]] = [(said.findings[0].core_idea, "for"), *((each, "against") for each in warned)]
        details = describe_reading(direction, self.readings.seen[direction][-1], self._world.noise, self._language)
        return RoundReport(
            direction=get_label(direction, self._language),
            findings=tuple(
                FoundIdea(core_idea=say(name, side, self._language, self._voice), perspective=self._name, details=details)
                for name, side in ideas
            ),
            operations=tuple(self._rename(each) for each in said.operations),
            decision_report=_rename_candidates(said, self._language),
            conflict_review=said.conflict_review,
            random_explore_forced=said.random_explore_forced,
        )

    def _translate(self, told: Message) -> Message:
        """Read the labels of the blackboard as the directions of the world."""
        names = self._labels
        return Message(
            round=told.round,
            threshold=told.threshold,
            top=[{**each, "direction": names[each["direction"]]} for each in told.top],
            current=names.get(told.current, ""),
            random=told.random,
            must_switch=told.must_switch,
            inhibited=told.inhibited,
            board={names[label]: value for label, value in told.board.items() if label in names},
        )

    def _direction(self, told: Message) -> str:
        chosen = super()._direction(told)
        return self._covered or chosen

    def _rename(self, wanted: Operation) -> Operation:
        params = dict(wanted.params or {})
        for name in ("direction", "targetDirection"):
            if name in params:
                params[name] = get_label(str(params[name]), self._language)
        if self._constant and "amount" in params:
            params["amount"] = 0.1
        return Operation(operation=wanted.operation, params=params)

    def _vote(self, brief: Brief) -> SwarmBallot:
        mine = self.held({})
        ratings, votes = [], []
        for number, text in _LISTED.findall(brief.own):
            label = text.split(" (")[0]
            meaning = self._meanings.get(text)
            if label in self._labels and meaning is None:
                value = 0.5 if not self._rates else min(1.0, max(0.0, self.readings.estimate(self._labels[label])))
                ratings.append(DirectionRating(direction=int(number), rating=value))
            elif meaning is not None:
                agrees = (meaning.direction == mine) == (meaning.side == "for")
                votes.append(IdeaVote(idea=int(number), position="support" if agrees else "oppose", confidence=0.7))
        return SwarmBallot(ratings=tuple(ratings), votes=tuple(votes))


def _rename_candidates(said: RoundReport, language: Language) -> DecisionReport:
    report = said.decision_report
    assert report is not None
    candidates = tuple(
        Candidate(
            direction=get_label(each.direction, language), concentration=each.concentration, response_prob=each.response_prob
        )
        for each in report.candidates or ()
    )
    return DecisionReport(
        threshold=report.threshold,
        candidates=candidates,
        selected_direction=get_label(report.selected_direction, language),
        selection_reason=report.selection_reason,
    )


def find_verdict(one: Meaning, other: Meaning) -> PairVerdict:
    """What is true of two ideas."""
    if one.direction != other.direction:
        return "different"
    return "same" if one.side == other.side else "opposite"


class ErringJudge:
    """Judges pairs by what they mean, and gives another verdict in `errs` of them."""

    def __init__(self, seed: int, language: Language, errs: float = 0.05) -> None:
        self._chance = Random(f"{seed}/judge")
        self._meanings = build_meanings(language)
        self._errs = errs
        self.pairs = 0

    def says(self, brief: Brief) -> IdeaJudgements:
        texts = {int(number): self._meanings[text.split(" — ")[0]] for number, text in _LISTED.findall(brief.own)}
        judged = []
        for pair, one, other in _PAIR.findall(brief.own):
            self.pairs += 1
            verdict = find_verdict(texts[int(one)], texts[int(other)])
            if self._chance.random() < self._errs:
                verdict = self._chance.choice([each for each in VERDICTS if each != verdict])
            judged.append(PairJudgement(pair=int(pair), verdict=verdict, reason="…"))
        return IdeaJudgements(judgements=tuple(judged))
