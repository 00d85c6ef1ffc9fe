"""Whether deliberation pays where the evidence is split: `python -m bench.evidence [QUESTIONS]`.

Minds of stated reading skill answer questions whose answer lies in five files. Votes and debates run through the
engine as a session would; seats that see a part of the files do so by `sees`, as in a panel file. No model is called.

Ways: one mind that reads all files; a blind vote (each answers once, the plurality counts); a vote (`debate = "never"`: blind
proposals that quote, then one vote after reading them); a debate (`debate = "always"`). Shared: every seat sees all files. Split:
each sees one of the five. With tools: seats are shown the names and the passages that hold most of the question's words, and each
searches once before its first word; without, they are shown the files.
"""

import asyncio
import math
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from bench.evidence.minds import Reader, ReadingMind, Work
from bench.evidence.questions import FILES, KINDS, FileQuestion, guess_answer, make_question
from moothall.app.moot import Moot
from moothall.domain.ids import parse_seat_id
from moothall.domain.roster import Seat
from moothall_testkit.prompt_size import count_tokens

SKILLS = (0.6, 0.8, 0.95)
BLIND = "blind vote"
WAYS = (
    "one mind, all files",
    "blind vote, shared",
    "blind vote, split",
    "vote, shared",
    "vote, split",
    "debate, shared",
    "debate, split",
    "debate, shared, tools",
    "debate, split, tools",
)


@dataclass
class Score:
    """The figures of one way."""

    right: int = 0
    calls: int = 0
    tokens: int = 0
    looked_up: int = 0
    asked: int = 0

    def describe(self) -> str:
        share = self.right / self.asked
        error = math.sqrt(share * (1 - share) / self.asked)
        looked_up = f"{self.looked_up / self.asked:.1f}"
        return f"{share:.0%} ± {error:.0%} | {self.calls / self.asked:.1f} | {looked_up} | {self.tokens / self.asked:,.0f}"


async def hold_session(
    question: FileQuestion, skill: float, seed: int, way: str, work: Work
) -> str:
    """Hold a session on a question; its choice."""
    protocol, evidence, *tools = way.split(", ")
    minds = {
        f"m{at}": ReadingMind(Reader(f"m{at}", skill, seed), question, work) for at in range(FILES)
    }
    seats = [
        Seat(
            id=parse_seat_id(name),
            platform=name,
            sees=(f"part{at}.md",) if evidence == "split" else (),
        )
        for at, name in enumerate(minds)
    ]
    settings = {"debate": "never" if protocol == "vote" else "always"}
    async with Moot(environ={"MOOT_LEDGER": "memory:"}, participants=minds) as moot:
        decision = await moot.hold(
            question.topic,
            protocol="debate",
            seats=seats,
            options=question.options,
            files=question.files,
            settings=settings,
            tools="on" if tools else "off",
            seed=seed,
            memory=False,
            language="en",
        )
    return decision.choice


def answer_alone(
    question: FileQuestion,
    skill: float,
    seed: int,
    work: Work,
    name: str = "m0",
    only: int | None = None,
) -> str:
    """The answer of one mind that reads all files, or one of them."""
    reader = Reader(name, skill, seed)
    for each in question.files if only is None else (question.files[only],):
        reader.read(each.text)
        work.tokens += count_tokens(each.text)
    work.calls += 1
    return guess_answer(question, reader.noticed, Random(f"{name} {seed}"))[0]


def vote_blind(
    question: FileQuestion, skill: float, seed: int, work: Work, *, is_split: bool
) -> str:
    """The choice of most minds; the first of several that are level."""
    said = [
        answer_alone(question, skill, seed, work, f"m{at}", at if is_split else None)
        for at in range(FILES)
    ]
    return Counter(said).most_common(1)[0][0]


async def measure(
    kind: str, skill: float, count: int, ways: Sequence[str] = WAYS
) -> dict[str, Score]:
    """The figures of these ways on so many questions of a kind."""
    scores = {way: Score() for way in ways}
    for seed in range(count):
        question = make_question(kind, seed)
        for way, score in scores.items():
            work = Work()
            if way == WAYS[0]:
                said = answer_alone(question, skill, seed, work)
            elif way.startswith(BLIND):
                said = vote_blind(question, skill, seed, work, is_split=way.endswith("split"))
            else:
                said = await hold_session(question, skill, seed, way, work)
            score.asked, score.right = (
                score.asked + 1,
                score.right + (said.casefold() == question.answer.casefold()),
            )
            score.calls, score.tokens = score.calls + work.calls, score.tokens + work.tokens
            score.looked_up += work.looked_up
    return scores


async def main(count: int) -> None:
    for kind in KINDS:
        for skill in SKILLS:
            print(f"\n{kind}, reading skill {skill:.0%}, {count} questions\n")
            print("| way | right | calls | looked up | tokens sent |\n|---|---|---|---|---|")
            for way, score in (await measure(kind, skill, count)).items():
                print(f"| {way} | {score.describe()} |", flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else 40))
