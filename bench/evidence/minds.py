"""A mind of stated reading skill: of the facts in front of it, it notices each with that probability, and says which it noticed.

What it noticed once stays noticed: whether it notices a fact follows from the mind and the fact, not from how often it looks. A
fact that another seat quotes is in front of it like one in a file, and is noticed more easily: half of what is missed in a file
is seen when it is quoted. Of the passages that it searches for itself it misses nothing.
"""

import json
import re
from dataclasses import dataclass, field
from random import Random

from bench.evidence.questions import FACTS, QUERIES, FileQuestion, guess_answer
from moothall.domain.effects import Brief
from moothall.domain.seeded_random import random_unit
from moothall.participants.tool_desk import ToolDesk
from moothall.ports.participant import Answer, NoAnswer
from moothall.reading.schemas import build_user_prompt
from moothall_testkit.careless_model import CarelessModel
from moothall_testkit.prompt_size import count_tokens


@dataclass
class Work:
    """What the minds of one session were sent."""

    calls: int = 0
    tokens: int = 0
    looked_up: int = 0


@dataclass
class Reader:
    """What one mind notices."""

    name: str
    skill: float
    seed: int
    noticed: dict[str, re.Match[str]] = field(default_factory=dict)

    def read(self, text: str, missed: float = 1.0) -> None:
        """Notice facts in a text; `missed` is the share that is missed of what it would miss in a file."""
        missed *= 1 - self.skill
        for pattern in FACTS:
            for fact in pattern.finditer(text):
                if (
                    fact[0] not in self.noticed
                    and random_unit(self.seed, self.name, fact[0]) >= missed
                ):
                    self.noticed[fact[0]] = fact


class ReadingMind(CarelessModel):
    """A seat that answers from what it noticed, and quotes it."""

    def __init__(self, reader: Reader, question: FileQuestion, work: Work) -> None:
        super().__init__(reader.seed, rate=0.0)
        self._reader = reader
        self._question = question
        self._work = work

    async def __call__(self, brief: Brief) -> Answer | NoAnswer:
        desk = ToolDesk(brief)
        # Once, before its first word: what it noticed stays noticed.
        for words in QUERIES[self._question.kind] if brief.ask.kind == "propose" else ():
            if desk.is_open and (returned := await desk.call("search", {"words": words})):
                self._work.looked_up += 1
                self._work.tokens += count_tokens(returned)
                self._reader.read(returned, missed=0.0)
        return await super().__call__(brief)

    def write(self, brief: Brief, random: Random) -> str:
        prompt = f"{brief.system}\n\n{build_user_prompt(brief)}"
        self._work.calls += 1
        self._work.tokens += count_tokens(prompt)
        quoted = "\n".join(line for line in prompt.splitlines() if '"' in line or "“" in line)
        self._reader.read(prompt)
        self._reader.read(quoted, missed=0.5)
        choice, sure = guess_answer(
            self._question, self._reader.noticed, Random(f"{self._reader.name} {self._reader.seed}")
        )
        written = super().write(brief, random)
        if brief.form.form == "text":
            return self._quote()
        fields = json.loads(written)
        values = {
            "choice": choice,
            "confidence": round(sure, 2),
            "text": f"{choice}. {self._quote()}",
        }
        values |= (
            {"position": "support", "reason": self._quote(), "condition": ""}
            if brief.ask.kind == "vote"
            else {}
        )
        fields |= {name: value for name, value in values.items() if name in fields}
        return json.dumps(fields)

    def _quote(self) -> str:
        return (
            " ".join(f'"{fact}"' for fact in sorted(self._reader.noticed)[:25])
            or "I found nothing that tells."
        )
