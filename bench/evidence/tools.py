"""Debates over files of which each seat sees all or a part: `python -m bench.evidence.tools`.

The minds are scripted and offline. One of reading skill s takes in a line of a long text with chance s, and a line of a short
passage that a tool returns, or that another seat reads out, always. It answers rightly once it has every line that the
question needs, and guesses otherwise. So the figures show what the protocol and the tools do with evidence, and nothing about
any model.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random
from typing import Final

from moothall.app.moot import Moot
from moothall.codec.answers import read_answer
from moothall.codec.schemas import get_own_schema
from moothall.domain.budget import ToolSwitch
from moothall.domain.effects import Brief
from moothall.domain.facts import Reply, ToolUsed
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.seeded_random import random_unit
from moothall.domain.topic import ContextFile
from moothall.participants.tool_desk import ToolDesk
from moothall.ports.participant import Answer, NoAnswer, OnText

SEATS: Final = ("ada", "bob", "cem")
KINDS: Final = {"sum of three tables": 3, "sum of two tables": 2, "one needed clause": 1}
SKILL: Final = 0.7
SWITCHES: Final[tuple[ToolSwitch, ...]] = ("off", "on")
QUESTIONS: Final = 20
FILLER: Final = 60
_LINE: Final = re.compile(r"item (\w+) costs (\d+)")


@dataclass(frozen=True)
class Question:
    """A question whose answer follows from `needed` lines, each in a file of its own."""

    text: str
    files: tuple[ContextFile, ...]
    needed: frozenset[str]
    options: tuple[str, ...]
    right: str


def make_question(kind: str, seed: int) -> Question:
    """Make a question of a kind; its lines lie among others that do not matter."""
    random = Random(f"{kind} {seed}")
    items = {f"x{seed}{at}": random.randint(10, 90) for at in range(len(SEATS))}
    needed = frozenset(list(items)[: KINDS[kind]])
    total = sum(items[name] for name in needed)
    options = sorted({total, total + 7, total - 7, total + 13})
    files = []
    for at, (name, cost) in enumerate(items.items()):
        lines = [f"The record of day {day} holds nothing of note." for day in range(FILLER)]
        lines.insert(random.randrange(FILLER), f"item {name} costs {cost}")
        files.append(ContextFile(name=f"part{at}/table.md", text="\n".join(lines)))
    text = f"What do {' and '.join(sorted(needed))} cost together?"
    return Question(text, tuple(files), needed, tuple(map(str, options)), str(total))


class ReadingMind:
    """A scripted mind of one reading skill; implements `Participant`."""

    def __init__(self, question: Question, skill: float) -> None:
        self._question = question
        self._skill = skill
        self.prompt_size = 0

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self.prompt_size += len(brief.system) + len(brief.shared) + len(brief.own)
        known = self._read(brief)
        desk = ToolDesk(brief)
        for name in sorted(self._question.needed - known.keys()):
            if desk.is_open and brief.ask.kind == "propose":
                known.update(_parse_lines(await desk.call("search", {"words": f"item {name} costs"}) or ""))
        return Answer(said=read_answer(brief, self._build_answer(brief, known)).said)

    def _read(self, brief: Brief) -> dict[str, int]:
        lines = brief.shared.split("\n")
        heard = [line for line in lines if "I read:" in line]
        own = [line for line in lines if "I read:" not in line and _LINE.search(line)]
        seen = [line for line in own if random_unit(brief.seed, brief.seat.id, line) < self._skill]
        return _parse_lines("\n".join([*heard, *seen]))

    def _build_answer(self, brief: Brief, known: dict[str, int]) -> dict[str, object]:
        is_known = self._question.needed <= known.keys()
        guess = int(random_unit(brief.seed, brief.seat.id, "guess") * len(self._question.options))
        choice = str(sum(known[name] for name in self._question.needed)) if is_known else self._question.options[guess]
        read = "I read: " + "; ".join(f"item {name} costs {cost}" for name, cost in known.items()) if known else "I read nothing."
        fields = get_own_schema(brief).get("properties", {})
        said: dict[str, object] = {"text": read, "choice": choice, "confidence": 0.9 if is_known else 0.4}
        said |= {"type": {"propose": "propose", "argue": "support", "vote": "vote"}.get(brief.ask.kind, "synthesize")}
        said |= {"position": "support"} if brief.ask.kind == "vote" and "position" in fields else {}
        return said


def _parse_lines(text: str) -> dict[str, int]:
    return {name: int(cost) for name, cost in _LINE.findall(text)}


@dataclass
class Tally:
    """What came of the questions of one arm."""

    alone: float = 0.0
    voted: int = 0
    debated: int = 0
    calls: int = 0
    looked_up: int = 0
    tokens: int = 0


async def hold(question: Question, *, is_split: bool, tools: ToolSwitch, seed: int, tally: Tally) -> None:
    """Hold one debate, and count whether its seats, their blind vote and its decision are right."""
    mind = ReadingMind(question, SKILL)
    seats = [Seat(id=SeatId(name), platform="mind", sees=(f"part{at}/*",) if is_split else ()) for at, name in enumerate(SEATS)]
    async with Moot(environ={"MOOT_LEDGER": "memory:"}, participants={"mind": mind}) as moot:
        session = await moot.open(
            question.text,
            protocol="debate",
            seats=seats,
            files=question.files,
            options=question.options,
            tools=tools,
            seed=seed,
            memory=False,
            check=False,
        )
        decision = await moot.run(session)
        facts = [entry.fact for entry in await moot.engine.entries(session)]
    blind = [fact.said for fact in facts if isinstance(fact, Reply) and fact.ask.startswith("1.propose.")]
    choices = Counter(str(getattr(said, "choice", "")) for said in blind)
    tally.alone += choices[question.right] / len(SEATS)
    tally.voted += _find_plurality(choices.items()) == question.right
    tally.debated += decision.choice == question.right
    tally.calls += sum(isinstance(fact, Reply) for fact in facts)
    uses = [fact for fact in facts if isinstance(fact, ToolUsed)]
    tally.looked_up += len(uses)
    tally.tokens += (mind.prompt_size + sum(use.size for use in uses)) // 4


def _find_plurality(choices: Iterable[tuple[str, int]]) -> str:
    """The choice of the most; empty where two have as many."""
    ranked = sorted(choices, key=lambda item: -item[1])
    return "" if len(ranked) > 1 and ranked[0][1] == ranked[1][1] else ranked[0][0]


async def main() -> None:
    print(f"{QUESTIONS} questions of each kind, three minds of reading skill {SKILL}")
    heads = f"{'one mind':>10}{'blind vote':>12}{'debate':>8}{'calls':>7}{'looked up':>11}{'tokens':>9}"
    print(f"{'':22}{'evidence':>9}{'tools':>7}{heads}")
    for kind in KINDS:
        for is_split in (False, True):
            for tools in SWITCHES:
                tally = Tally()
                for seed in range(QUESTIONS):
                    await hold(make_question(kind, seed), is_split=is_split, tools=tools, seed=seed, tally=tally)
                print(
                    f"{kind:22}{'split' if is_split else 'shared':>9}{tools:>7}{tally.alone / QUESTIONS:>10.2f}"
                    f"{tally.voted / QUESTIONS:>12.2f}{tally.debated / QUESTIONS:>8.2f}{tally.calls / QUESTIONS:>7.1f}"
                    f"{tally.looked_up / QUESTIONS:>11.1f}{tally.tokens / QUESTIONS:>9,.0f}"
                )


if __name__ == "__main__":
    asyncio.run(main())
