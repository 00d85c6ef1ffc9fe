"""What a debate over a large folder sends: `python -m bench.evidence.long_folder`.

Four seats with tools debate over 204 files in four folders and a document of 300 pages. The minds are stubs: they search once and read
once before they propose and before they argue, and answer in the form that is asked for. Counted are the tokens of every prompt and of
what tools returned.
"""

import asyncio
from random import Random

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.ids import parse_seat_id
from moothall.domain.roster import Seat
from moothall.domain.topic import ContextFile
from moothall.participants.tool_desk import ToolDesk
from moothall.ports.participant import Answer, NoAnswer
from moothall.reading.schemas import build_user_prompt
from moothall_testkit.careless_model import CarelessModel
from moothall_testkit.prompt_size import count_tokens

SEATS = ("ada", "bob", "cy", "dee")
FOLDERS = ("docs", "notes", "ops", "src")
FILES_OF_FOLDER = 51
PAGES = 300
QUESTION = "Should the service move to the new data centre before the lease ends?"
WORDS = (
    "service",
    "data",
    "centre",
    "lease",
    "move",
    "cost",
    "backup",
    "network",
    "rack",
    "power",
    "cooling",
    "contract",
    "team",
    "plan",
    "risk",
    "month",
    "budget",
    "vendor",
    "latency",
    "disk",
)


def write_text(random: Random, lines: int) -> str:
    """Return lines of twelve words each, drawn from a short list."""
    return "\n".join(" ".join(random.choices(WORDS, k=12)) for _ in range(lines))


def build_folder() -> list[ContextFile]:
    """Return 204 files and a document of 300 pages, always the same."""
    random = Random(1)
    files: list[ContextFile] = []
    for folder in FOLDERS:
        for number in range(FILES_OF_FOLDER):
            name = f"{folder}/f{number:03d}.md"
            files.append(ContextFile(name=name, text=write_text(random, 30)))
    pages = [f"[page {page}]\n{write_text(random, 20)}" for page in range(1, PAGES + 1)]
    files.append(ContextFile(name="handbook.pdf", text="\n".join(pages)))
    return files


class CountingMind(CarelessModel):
    """A stub that looks things up before it proposes and argues, and counts what it is sent."""

    def __init__(self) -> None:
        super().__init__(1, rate=0.0)
        self.calls = 0
        self.tokens = 0
        self.longest = 0

    async def __call__(self, brief: Brief) -> Answer | NoAnswer:
        prompt = f"{brief.system}\n\n{build_user_prompt(brief)}"
        self.calls += 1
        self.tokens += count_tokens(prompt)
        self.longest = max(self.longest, len(prompt))
        desk = ToolDesk(brief)
        if brief.ask.kind in {"propose", "argue"} and desk.is_open:
            for tool, arguments in (
                ("search", {"words": "lease power"}),
                ("read", {"file": "ops/f007.md"}),
            ):
                returned = await desk.call(tool, arguments)
                # The prompt is sent again with what the tool returned.
                self.calls += 1
                self.tokens += count_tokens(prompt) + count_tokens(returned or "")
        return await super().__call__(brief)


async def measure() -> dict[str, int]:
    """Hold the debate; its calls, tokens and longest prompt."""
    minds = {name: CountingMind() for name in SEATS}
    seats = [Seat(id=parse_seat_id(name), platform=name) for name in SEATS]
    async with Moot(environ={"MOOT_LEDGER": "memory:"}, participants=minds) as moot:
        await moot.hold(
            QUESTION,
            protocol="debate",
            seats=seats,
            files=build_folder(),
            settings={"debate": "always", "rounds": 2},
            seed=1,
            memory=False,
            language="en",
            frame="off",
        )
    return {
        "calls": sum(mind.calls for mind in minds.values()),
        "tokens": sum(mind.tokens for mind in minds.values()),
        "longest": max(mind.longest for mind in minds.values()),
    }


if __name__ == "__main__":
    figures = asyncio.run(measure())
    print(
        f"{figures['calls']} calls, {figures['tokens']:,} tokens, longest prompt {figures['longest']:,} characters"
    )
