"""An explorer that speaks, and a judge of ideas that errs.

It is asked as Moot asks its own seats: one direction and one plain question. It looks at the direction that it is given, or at
one of its own choice, rates it by what it read, and stands behind the best of what it has read. Half of the time it names an
answer by its number, else in other words. At the end it rates the answers on the ballot by the mean of its own readings. Some are
careless, silent, constant, or lie.
"""

import re
from random import Random
from typing import Final, Literal

from bench.swarm.speech import Meaning, Side, build_meanings, describe_reading, say
from bench.swarm.world import ORDINARY, Readings, World
from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.domain.groups import AnswerJudgement, AnswerJudgements, PairVerdict
from moothall.locale.catalogues import SWARM_PROMPT
from moothall.protocols.swarm.answers import (
    AnswerVote,
    Collision,
    RoundReport,
    StatedIdea,
    SwarmBallot,
)

_LISTED: Final = re.compile(r"^\| (\d+)\. (.+)$", re.MULTILINE)
_PAIR: Final = re.compile(r"^\| (\d+): (\d+), (\d+)$", re.MULTILINE)
Kind = Literal["careful", "careless", "silent", "constant", "liar"]
"""How an explorer behaves: with care; with ratings at random; silent in three rounds of four; with one rating for everything; or
pushing one wrong direction, whatever it reads."""
SILENT_ROUNDS: Final = 4
NAMES_BY_NUMBER: Final = 0.5
"""How often an answer that is listed is named by its number."""
DENIES: Final = 0.3
"""How often a careless explorer denies an answer in a finding of its own, in place of a low rating."""
VERDICTS: Final[tuple[PairVerdict, ...]] = ("same", "opposite", "different")


class Speaker:
    """One explorer; without `rates` all of its ratings are equal."""

    def __init__(
        self,
        world: World,
        name: str,
        language: Language,
        *,
        kind: Kind = "careful",
        rates: bool = True,
        names: float = NAMES_BY_NUMBER,
    ) -> None:
        self._world = world
        self._language: Language = language
        self._kind = kind
        self._rates = rates
        self._names = names
        self._voice = Random(f"{world.seed}/{name}/voice")
        self._meanings = build_meanings(language)
        self.readings = Readings(world, name)

    def says(self, brief: Brief) -> object:
        """Its answer to an ask of any kind that explorers get."""
        match brief.ask.kind:
            case "explore":
                return self._report(brief)
            case "collide":
                return Collision(action="pass")
            case _:
                return self._vote(brief)

    def _report(self, brief: Brief) -> RoundReport:
        listed = self._read_table(brief)
        direction = self._find_direction(brief)
        score = self.readings.look(direction)
        details = describe_reading(direction, score, self._world.noise, self._language)
        if self._kind == "silent" and brief.ask.turn % SILENT_ROUNDS != 1:
            return RoundReport()
        finding = StatedIdea(
            core_idea=self._name(listed, direction, "for"),
            details=details,
            rating=self._rate_look(score),
        )
        findings = [finding]
        if self._kind == "careless" and self._voice.random() < DENIES:
            denial = self._name(listed, direction, "against")
            findings.append(StatedIdea(core_idea=denial, details=details, rating=0.7))
        mine = self.find_best()
        held = [number for number, each in listed.items() if each == Meaning(mine, "for")]
        if mine != direction and not held:
            # Nobody else has named it yet, or it is not shown: it says so again.
            again = self.readings.seen.get(mine, [score])[-1]
            best = StatedIdea(
                core_idea=self._name(listed, mine, "for"), rating=self._rate_look(again)
            )
            findings.append(best)
        return RoundReport(findings=tuple(findings), holds=tuple(held[:1]))

    def find_best(self) -> str:
        """The direction that it thinks best, of those that it has read."""
        if self._kind == "liar":
            return self._world.decoy
        return max(self.readings.seen, key=lambda each: (self.readings.estimate(each), each))

    def _find_direction(self, brief: Brief) -> str:
        """The direction that it is given; without one, one that it has not read, else any."""
        anywhere = self._voice.choice(self._world.directions)
        if self._kind == "liar":
            return self._world.decoy
        lines = brief.own.splitlines()
        where = SWARM_PROMPT[self._language].where_given
        if where in lines:
            given = lines[lines.index(where) + 1].removeprefix("| ")
            return self._meanings[given].direction
        bare = [each for each in self._world.directions if each not in self.readings.seen]
        if bare:
            return self._voice.choice(bare)
        return anywhere

    def _read_table(self, brief: Brief) -> dict[int, Meaning]:
        """What the listed answers mean, by their numbers."""
        return {int(number): self._meanings[text] for number, text in _LISTED.findall(brief.shared)}

    def _name(self, listed: dict[int, Meaning], direction: str, side: Side) -> str:
        meant = Meaning(direction, side)
        numbers = [number for number, each in listed.items() if each == meant]
        if numbers and self._voice.random() < self._names:
            return str(numbers[0])
        return say(direction, side, self._language, self._voice)

    def _rate_look(self, score: float) -> float:
        match self._kind:
            case "liar":
                return 1.0
            case "careless":
                return self._voice.random()
            case "constant":
                return ORDINARY
            case _:
                return min(1.0, max(0.0, score))

    def _vote(self, brief: Brief) -> SwarmBallot:
        mine = self.find_best()
        assert brief.schema is not None
        listed = self._read_table(brief)
        votes: list[AnswerVote] = []
        for number in brief.schema["properties"]["votes"]["items"]["properties"]["answer"]["enum"]:
            meaning = listed[number]
            agrees = (meaning.direction == mine) == (meaning.side == "for")
            rating = self._rate(meaning.direction)
            if meaning.side == "against":
                rating = 0.0
            votes.append(
                AnswerVote(answer=number, position="support" if agrees else "oppose", rating=rating)
            )
        return SwarmBallot(votes=tuple(votes))

    def _rate(self, direction: str) -> float:
        if self._kind == "liar":
            return float(direction == self._world.decoy)
        if self._kind == "careless":
            return self._voice.random()
        if self._kind == "constant" or not self._rates:
            return ORDINARY
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

    def says(self, brief: Brief) -> AnswerJudgements:
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
            judged.append(AnswerJudgement(pair=int(pair), verdict=verdict, reason="…"))
        said, _ = brief.normalize(AnswerJudgements(judgements=tuple(judged)))
        assert isinstance(said, AnswerJudgements)
        return said
