"""An explorer that speaks, and a judge of ideas that errs.

It chooses, reads and deposits as the explorer that is a formula does, and it carries out the order to cover a direction first.
What it holds it says in other words every time; where it warns of a direction it also says that this is not the answer. A
direction has several spellings: it takes the one on the blackboard, and where there is none its own. At the end it rates the
answers that it has read by the mean of its own readings. Some are careless, silent, constant, or lie.
"""

import re
from dataclasses import replace
from random import Random
from typing import Final, Literal

from bench.swarm.explorer import Explorer, Manner, Message, read
from bench.swarm.speech import Meaning, Side, build_meanings, describe_reading, list_labels, say
from bench.swarm.world import World
from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.locale.catalogues import SWARM_PROMPT
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Collision,
    IdeaJudgements,
    Operation,
    PairJudgement,
    PairVerdict,
    RoundReport,
    StatedIdea,
    SwarmBallot,
)

_LISTED: Final = re.compile(r"^\| (\d+)\. (.+)$", re.MULTILINE)
_PAIR: Final = re.compile(r"^\| (\d+): (\d+), (\d+)$", re.MULTILINE)
_INSTRUCTIONS: Final = re.compile(r'"recommendedDirection": "([^"]+)", "coverFirst": true')
Kind = Literal["careful", "careless", "silent", "constant", "liar"]
"""How an explorer behaves: with care; with ratings at random; silent in three rounds of four; with one amount and one rating for
everything; or pushing one wrong direction, whatever it reads."""
SILENT_ROUNDS: Final = 4
VERDICTS: Final[tuple[PairVerdict, ...]] = ("same", "opposite", "different")


class Speaker(Explorer):
    """`spellings` is how many ways there are to write a direction; without `rates` all ratings are equal."""

    def __init__(
        self,
        world: World,
        name: str,
        language: Language,
        *,
        kind: Kind = "careful",
        rates: bool = True,
        spellings: int = 1,
    ) -> None:
        super().__init__(world, name, Manner())
        self._language: Language = language
        self._kind = kind
        self._rates = rates
        self._voice = Random(f"{world.seed}/{name}/voice")
        spelled = {each: list_labels(each, language)[:spellings] for each in world.directions}
        self._labels = {label: each for each, labels in spelled.items() for label in labels}
        self._own = {each: self._voice.choice(labels) for each, labels in spelled.items()}
        self._spelled = dict(self._own)
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
        raw = read(brief)
        told = self._translate(raw)
        order = _INSTRUCTIONS.search(brief.own)
        self._covered = self._labels.get(order[1], "") if order is not None else ""
        said = self._report(told)
        direction = said.direction
        warned = [
            str((each.params or {})["targetDirection"])
            for each in said.operations
            if each.operation == "send_stop_signal"
        ]
        held = self._world.decoy if self._kind == "liar" else said.findings[0].core_idea
        ideas: list[tuple[str, Side]] = [(held, "for"), *((each, "against") for each in warned)]
        details = describe_reading(
            direction, self.readings.seen[direction][-1], self._world.noise, self._language
        )
        decision = said.decision_report
        assert decision is not None
        candidates = zip(decision.candidates or (), raw.top, strict=True)
        report = replace(
            said,
            direction=self._spelled[direction],
            findings=tuple(
                StatedIdea(
                    core_idea=say(name, side, self._language, self._voice),
                    perspective=self._name,
                    details=details,
                )
                for name, side in ideas
            ),
            operations=tuple(self._rename(each) for each in said.operations),
            decision_report=replace(
                decision,
                candidates=tuple(
                    replace(each, direction=shown["direction"]) for each, shown in candidates
                ),
                selected_direction=self._spelled[direction],
            ),
        )
        is_silent = self._kind == "silent" and raw.round % SILENT_ROUNDS != 1
        return replace(report, findings=(), operations=()) if is_silent else report

    def _translate(self, told: Message) -> Message:
        """Read the labels of the blackboard as the directions of the world; of several spellings the strongest counts."""
        names = self._labels
        board: dict[str, float] = {}
        self._spelled = dict(self._own)
        for label, value in told.board.items():
            name = names.get(label, "")
            if name and value > board.get(name, 0.0):
                board[name], self._spelled[name] = value, label
        return Message(
            round=told.round,
            threshold=told.threshold,
            top=[{**each, "direction": names[each["direction"]]} for each in told.top],
            current=names.get(told.current, ""),
            random=told.random,
            must_switch=told.must_switch,
            inhibited=told.inhibited,
            board=board,
        )

    def _direction(self, told: Message) -> str:
        chosen = super()._direction(told)
        return self._world.decoy if self._kind == "liar" else self._covered or chosen

    def _rename(self, wanted: Operation) -> Operation:
        params = dict(wanted.params or {})
        for name in ("direction", "targetDirection"):
            if name in params:
                params[name] = self._spelled[str(params[name])]
        if "amount" in params and self._kind in {"constant", "careless"}:
            params["amount"] = 0.1
        if "amount" in params and self._kind == "liar":
            params["amount"] = 0.3
        return Operation(operation=wanted.operation, params=params)

    def _vote(self, brief: Brief) -> SwarmBallot:
        mine = self._world.decoy if self._kind == "liar" else self.held({})
        read = brief.own.partition(f"\n{SWARM_PROMPT[brief.language].ballot_ideas}\n")[0]
        votes: dict[int, AnswerVote] = {}
        for number, text in _LISTED.findall(brief.own):
            meaning = self._meanings.get(text.split(" (")[0])
            if meaning is None:
                continue
            agrees = (meaning.direction == mine) == (meaning.side == "for")
            # A denial answers nothing, and is not rated.
            is_rated = f"| {number}. {text}" in read and meaning.side == "for"
            votes[int(number)] = AnswerVote(
                answer=int(number),
                position="support" if agrees else "oppose",
                confidence=0.7,
                rating=self._rate(meaning.direction) if is_rated else None,
            )
        return SwarmBallot(votes=tuple(votes.values()))

    def _rate(self, direction: str) -> float:
        if self._kind == "liar":
            return float(direction == self._world.decoy)
        if self._kind == "careless":
            return self._voice.random()
        if self._kind == "constant" or not self._rates:
            return 0.5
        return min(1.0, max(0.0, self.readings.estimate(direction)))


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
        texts = {
            int(number): self._meanings[text.split(" — ")[0]]
            for number, text in _LISTED.findall(brief.own)
        }
        judged = []
        for pair, one, other in _PAIR.findall(brief.own):
            self.pairs += 1
            verdict = find_verdict(texts[int(one)], texts[int(other)])
            if self._chance.random() < self._errs:
                verdict = self._chance.choice([each for each in VERDICTS if each != verdict])
            judged.append(PairJudgement(pair=int(pair), verdict=verdict, reason="…"))
        return IdeaJudgements(judgements=tuple(judged))
