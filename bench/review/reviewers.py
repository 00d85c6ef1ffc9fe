"""Scripted reviewers of stated skill: what each finds, invents and believes is drawn from a seed, never from a model."""

import re
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from bench.review.fixtures import Fixture
from moothall.domain.effects import Brief

_ASKED: Final = re.compile(r"^Finding (\d+), .*\n\| (.*)$", re.MULTILINE)
CONCERNS: Final = (
    "logic",
    "security",
    "errors",
    "resources",
    "concurrency",
    "interface",
    "tests",
    "clarity",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """How good a reviewer is: the chances that it finds a defect of its own concerns or of others, invents a finding in a
    change, quotes lines for it that are not there, and judges a finding of another rightly."""

    concerns: tuple[str, ...]
    finds_own: float = 0.85
    finds_other: float = 0.35
    invents: float = 0.3
    misquotes: float = 0.3
    judges: float = 0.8


BOARD: Final = {
    "correctness": Skill(concerns=("logic", "errors", "concurrency")),
    "security": Skill(concerns=("security", "resources")),
    "maintenance": Skill(concerns=("clarity", "tests", "interface")),
    "customer": Skill(concerns=("interface", "errors")),
}


class ScriptedReviewer:
    """One reviewer of one change; the same seed says the same, alone and on a board."""

    def __init__(self, name: str, skill: Skill, fixture: Fixture, seed: int) -> None:
        self._name, self._skill, self._fixture, self._seed = name, skill, fixture, seed

    def __call__(self, brief: Brief) -> dict[str, Any]:
        random = Random(
            f"{self._seed} {self._name} {self._fixture.name} {self._fixture.line} {brief.ask.kind}"
        )
        if brief.ask.kind == "inspect":
            return {"findings": self._inspect(random)}
        return {
            "stands": [
                self._judge(random, int(number), claim)
                for number, claim in _ASKED.findall(brief.own)
            ]
        }

    def _inspect(self, random: Random) -> list[dict[str, Any]]:
        skill, fixture, findings = self._skill, self._fixture, []
        chance = skill.finds_own if fixture.concern in skill.concerns else skill.finds_other
        if random.random() < chance and fixture.concern:
            findings.append(self._build(fixture.concern, fixture.claim, fixture.line))
        if random.random() < skill.invents:
            at = random.randrange(len(fixture.lines))
            quoted = (
                "launch_missiles(now)" if random.random() < skill.misquotes else fixture.lines[at]
            )
            concern = random.choice([each for each in CONCERNS if each != fixture.concern])
            findings.append(
                self._build(concern, f"{self._name} sees a ghost of {concern} number {at}.", quoted)
            )
        return findings

    def _build(self, concern: str, claim: str, quoted: str) -> dict[str, Any]:
        return {
            "file": self._fixture.name,
            "line": 1,
            "severity": "major",
            "concern": concern,
            "claim": claim,
            "evidence": quoted,
        }

    def _judge(self, random: Random, number: int, claim: str) -> dict[str, Any]:
        is_right = random.random() < self._skill.judges
        is_real = claim == self._fixture.claim
        stand = "confirm" if is_real == is_right else "dispute"
        return {"finding": number, "stand": stand, "reason": f"{self._name} looked at the lines."}
