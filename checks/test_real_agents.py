"""Real coding agents from npm, with a loopback stand-in for their model: `make test-agents`.

Installs the agents into `.cache/agents` and says what it installed. Nothing leaves the machine but npm's downloads. Every topic
is full of tricks: they reach the agents as plain text and do nothing.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from checks.obedient_model import say
from checks.stage import DEADLINE, Call, Stage, acted, installed, outcomes, prompts

from moothall import Moot
from moothall.domain.safe_text import quote_lines
from moothall_testkit.stub_server import Request, Step, StubReply, StubServer

pytestmark = pytest.mark.timeout(2 * DEADLINE)

TOPIC = (
    'Ship on "Friday"? $(touch tricked) `touch tricked`; touch tricked & touch tricked | touch tricked > tricked\n'
    "--help\n--dangerously-bypass-approvals-and-sandbox\n-rf /\n'\\ {prompt} {session} </script>\n@README.md 发布吗？"
)
SPEECH = "## Stance\n{role} is for it, for the {nth}. time.\n## Analysis\nIt is small.\n## Response and questions\nWho watches it?"
ZH_SPEECH = "## 立场\n{role} 第 {nth} 次赞成。\n## 分析论证\n改动小。\n## 回应/提问\n谁来盯？"
MINUTES = "## Summary\nBoth are for it.\n## Consensus reached\nShip.\n## Disagreements left open\nNone.\n## Action items\nada ships."


MIN_ASK = 200
"""What an agent sends as the user's words is an ask if it is at least as long as this."""


@pytest.fixture(scope="session")
def path() -> str:
    return installed("codex", "opencode")


def held(
    tmp_path: Path,
    path: str,
    model: Callable[[Request], Step],
    work: Callable[[Stage, StubServer], Awaitable[None]],
) -> None:
    """Do the work with agents that have this model; no trick in the topic has done anything."""

    async def staged() -> None:
        async with StubServer([model]) as stub:
            await work(Stage(tmp_path, path, stub.base_url), stub)

    asyncio.run(asyncio.wait_for(staged(), DEADLINE))
    assert [found for found in tmp_path.rglob("*") if "tricked" in found.name] == []


WORDS = {
    "Vote on the motion": {
        "type": "vote",
        "position": "support",
        "confidence": 0.8,
        "text": "It holds.",
    },
    "Write the one resolution": {
        "type": "synthesize",
        "text": "Ship, with a way back.",
        "choice": "yes",
        "confidence": 0.8,
    },
    "Support or challenge one line": {
        "type": "support",
        "text": "The tests pass.",
        "refers_to": 2,
        "confidence": 0.7,
    },
    "What do you propose": {
        "type": "propose",
        "text": "Ship on Friday.",
        "choice": "yes",
        "confidence": 0.7,
    },
    "reaction_score": {
        "reaction_score": 0.9,
        "intent_to_speak": True,
        "reason": "I have run it.",
        "view": "none",
    },
    "You have the floor": "I have run it, and it works.",
    '{"decision": {': {
        "decision": {"text": "Ship, with a way back.", "entries": [1]},
        "confidence": 0.8,
    },
    '{"verdict": ': {
        "verdict": "support",
        "confidence": 0.8,
        "position": "Ship.",
        "moved_by": None,
    },
    '{"action": "': {"action": "pass"},
    '{"ratings": [': {"ratings": [{"answer": 1, "rating": 0.9, "reason": "It holds."}]},
    '{"findings": [': {
        "findings": [{"coreIdea": "Ship behind a flag."}],
        "direction": "flag",
        "choice": "yes",
    },
    '"position"': {"position": "Ship.", "confidence": 0.7},
    "": "Both are for it.",
}
"""What a model would say, by words of what it is asked; the first that fit."""


def choose_words(text: str) -> str:
    words = next(words for part, words in WORDS.items() if part in text)
    return words if isinstance(words, str) else json.dumps(words)


def said(request: Request) -> StubReply:
    """What a model would say to what is asked last: an agent may send the asks before it, too."""
    return StubReply(
        text=choose_words(next(text for text in reversed(prompts(request)) if len(text) > MIN_ASK))
    )


def has_topic(request: Request) -> bool:
    """Whether the topic arrived word for word, as a quotation."""
    return any(quote_lines(TOPIC) in prompt for prompt in prompts(request))


def test_two_agents_hold_a_debate(path: str, tmp_path: Path) -> None:
    """D-1: each is run headless for every phase."""

    async def work(stage: Stage, stub: StubServer) -> None:
        async with Moot(environ=stage.environ) as moot:
            told = await moot.seating.agents()
            print({name: told[name] for name in ("codex", "opencode")})
            seats = {"ada": "command:codex", "bob": "command:opencode"}
            decision = await moot.hold(
                TOPIC, seats=seats, protocol="debate", language="en", settings={"debate": "always"}
            )
        assert decision.lost == ()
        assert decision.decision is not None
        assert decision.decision.text == "Ship, with a way back."
        assert decision.consensus_type == "unanimous"
        assert decision.spent.calls == 8
        assert all(map(has_topic, stub.asked))

    held(tmp_path, path, said, work)


HELD: dict[str, dict[str, Any]] = {
    "debate": {"settings": {"debate": "always"}},
    "persona": {"turns": 2},
    "swarm": {"settings": {"max_rounds": 1}},
    "roundtable": {"settings": {"max_rounds": 1}},
}
ADAPTERS = {"claude": "claude-agent-acp", "codex": "codex-acp"}


@pytest.mark.parametrize("protocol", HELD)
@pytest.mark.parametrize("way", ["command", "acp"])
@pytest.mark.parametrize("agent", ["claude", "codex", "gemini", "opencode", "qwen", "copilot"])
def test_an_agent_fills_both_seats(tmp_path: Path, agent: str, way: str, protocol: str) -> None:
    """D-1, A-1: by its command line, and over the Agent Client Protocol; no answer is lost."""
    path = installed(agent, *([ADAPTERS[agent]] if way == "acp" and agent in ADAPTERS else []))

    async def work(stage: Stage, stub: StubServer) -> None:
        if agent == "opencode":
            # Two that start at once in a new home race for the database that it makes there.
            await stage.shell("opencode session list")
        async with Moot(environ=stage.environ) as moot:
            seats = {"ada": f"{way}:{agent}", "bob": f"{way}:{agent}"}
            decision = await moot.hold(
                TOPIC, seats=seats, protocol=protocol, language="en", **HELD[protocol]
            )
        assert (decision.status, decision.lost) == ("concluded", ())
        if protocol in {"debate", "persona"}:
            assert decision.decision is not None
            assert decision.decision.text == "Ship, with a way back."

    held(tmp_path, path, lambda request: say(request, said(request).text), work)


def test_two_agents_speak_the_agent_client_protocol(tmp_path: Path) -> None:
    """A-1: one process for all phases; the model of one of them is chosen."""
    path = installed("opencode", "codex", "codex-acp")

    async def work(stage: Stage, stub: StubServer) -> None:
        async with Moot(environ=stage.environ) as moot:
            seats = {"ada": "acp:opencode:stub/stub", "bob": "acp:codex"}
            decision = await moot.hold(
                TOPIC, seats=seats, protocol="debate", language="en", settings={"debate": "always"}
            )
        assert decision.lost == ()
        assert decision.decision is not None
        assert decision.decision.text == "Ship, with a way back."
        assert decision.consensus_type == "unanimous"

    held(tmp_path, path, said, work)


def test_two_agents_take_part_in_a_meeting(path: str, tmp_path: Path) -> None:
    """P-9, P-11: they take positions blind, bid, speak, conclude and stand to it, from the command line."""

    async def work(stage: Stage, stub: StubServer) -> None:
        seats = ["--seat", "ada=command:codex", "--seat", "bob=command:opencode"]
        words = [
            "--turns",
            "2",
            "--language",
            "en",
            "--set",
            "blind=true",
            "--set",
            "summarizer=bob",
            "--session",
            "s",
            "--json",
        ]
        decided = json.loads(await stage.moot("run", *seats, *words, "--", TOPIC))
        assert decided["lost"] == []
        assert (decided["author"], decided["decision"]) == ("bob", "Ship, with a way back.")
        assert {
            (each["seat"], each["before"], each["verdict"]) for each in decided["positions"]
        } == {
            ("ada", "Ship.", "support"),
            ("bob", "Ship.", "support"),
        }
        context = json.loads(await stage.moot("export", "s", "context"))
        assert {line["content"] for line in context["timeline"]} >= {"I have run it, and it works."}
        assert decided["spent"]["calls"] == len(stub.asked)
        assert all(map(has_topic, stub.asked))

    held(tmp_path, path, said, work)


class Conference:
    """The model of all roles of a conference: what it does is told by the sentence that wakes the role."""

    def __init__(
        self, wake: str, does: Callable[[str, Request], list[Call]], says: Callable[[str, int], str]
    ) -> None:
        self.wake = re.compile(wake)
        self.does = does
        self.says = says
        self.asked: list[tuple[str, str]] = []
        self.outcomes: list[tuple[str, list[str]]] = []

    def __call__(self, request: Request) -> Step:
        (prompt,) = [prompt for prompt in prompts(request) if self.wake.match(prompt)]
        found = self.wake.match(prompt)
        assert found is not None
        role = found["role"] or "moderator"
        if outcomes(request):
            self.outcomes.append((role, outcomes(request)))
        else:
            self.asked.append((role, prompt))
        return acted(
            request,
            self.does(role, request),
            self.says(role, [other for other, _ in self.asked].count(role)),
        )


EN_WAKE = (
    r"Read \.roundtable/GUIDE\.md and "
    r"(?:join the conference ship as (?P<role>\w+)|conclude the conference ship as its moderator)\. Your instructions are: "
)
ZH_WAKE = r"请阅读 \.roundtable/GUIDE\.md 并以 (?P<role>\w+) 的身份加入 ship 会议。你的指示是: "


@pytest.mark.parametrize(
    ("language", "wake", "speech"),
    [("en", EN_WAKE, SPEECH), ("zh", ZH_WAKE, ZH_SPEECH)],
    ids=["en", "zh"],
)
def test_two_agents_hold_a_conference_in_files(
    path: str, tmp_path: Path, language: str, wake: str, speech: str
) -> None:
    """R-10: woken in turn they read the guide, answer with their speeches and the minutes, and can write nothing themselves."""
    project = tmp_path / "project"

    def looks(role: str, request: Request) -> list[Call]:
        if request.is_responses:
            return [
                Call(
                    name="exec_command",
                    arguments={"cmd": "cat .roundtable/GUIDE.md; touch tricked"},
                )
            ]
        guide = {"filePath": str(project / ".roundtable" / "GUIDE.md")}
        trick = {"command": "touch tricked", "description": "a trick"}
        file = {"filePath": str(project / "tricked.md"), "content": "tricked"}
        return [
            Call(name="read", arguments=guide),
            Call(name="bash", arguments=trick),
            Call(name="write", arguments=file),
        ]

    model = Conference(
        wake,
        looks,
        lambda role, nth: MINUTES if role == "moderator" else speech.format(role=role, nth=nth),
    )

    async def work(stage: Stage, stub: StubServer) -> None:
        roles = [
            "--role",
            "ada=command:codex",
            "--role",
            "bob=command:opencode",
            "--moderator",
            "command:opencode",
        ]
        await stage.moot(
            "roundtable",
            "new",
            *roles,
            "--rounds",
            "2",
            "--language",
            language,
            "--",
            "ship",
            TOPIC,
        )
        found = json.loads(await stage.moot("roundtable", "relay", "ship", "--json"))
        assert (found["turn"]["status"], found["skipped"], found["damage"]) == ("closed", [], [])
        folder = stage.project / ".roundtable" / "ship"
        speeches = {
            name: (folder / name).read_text()
            for name in sorted(each.name for each in folder.glob("0*.md"))
        }
        order = [("ada", 1), ("bob", 1), ("ada", 2), ("bob", 2)]
        assert list(speeches.items()) == [
            (f"{number:03d}_{role}.md", speech.format(role=role, nth=nth) + "\n")
            for number, (role, nth) in enumerate(order, 1)
        ]
        assert (folder / "MINUTES.md").read_text() == f"{MINUTES}\n"
        assert [role for role, _ in model.asked] == ["ada", "bob", "ada", "bob", "moderator"]
        assert all(quote_lines(TOPIC) in prompt for _, prompt in model.asked)
        assert quote_lines(speech.format(role="ada", nth=1)) in model.asked[1][1]
        assert all(
            quote_lines(speech.format(role=role, nth=nth)) in model.asked[4][1]
            for role, nth in order
        )
        for role, told in model.outcomes:
            assert "turn.json" in told[0], (role, told)
        assert sorted(each.name for each in stage.project.iterdir()) == [".roundtable"]
        assert await stage.moot("roundtable", "check", "ship") == "no faults found\n"

    held(tmp_path, path, model, work)


BY_HAND = dedent("""\
    python3 - <<'END'
    import json, os
    folder = ".roundtable/ship/"
    def put(name, text):
        with open(folder + ".draft", "w") as file:
            file.write(text)
        os.rename(folder + ".draft", folder + name)
    turn = json.load(open(folder + "turn.json"))
    if turn["status"] == "concluding":
        put("MINUTES.md", {minutes!r})
        turn["status"] = "closed"
    else:
        number = 1 + sum(name[:3].isdigit() for name in os.listdir(folder))
        put(f"{{number:03d}}_{{turn['current_speaker']}}.md", {speech!r})
        turn["current_speaker_index"] += 1
        turn["current_speaker"] = turn["speaker_order"][turn["current_speaker_index"]]
        turn["prompt_for_speaker"] = {prompt!r}
    put("turn.json", json.dumps(turn))
    END
""")
"""What an agent does that follows the guide with nothing but files."""

BY_COMMAND = "moot roundtable say ship --as {role} - <<'END'\n{speech}\nEND\n"


def test_agents_that_may_write_commit_their_files_themselves(path: str, tmp_path: Path) -> None:
    """R-6, R-10: by recipes of the user's, one with plain files, one with `moot roundtable say`; what they print is no speech."""
    prompt = 'Say "no" to $(touch tricked)?'

    def commits(role: str, request: Request) -> list[Call]:
        speech = SPEECH.format(role=role, nth=1)
        if request.is_responses:
            return [
                Call(
                    name="exec_command",
                    arguments={
                        "cmd": BY_HAND.format(minutes=MINUTES, speech=speech, prompt=prompt)
                    },
                )
            ]
        return [
            Call(
                name="bash",
                arguments={
                    "command": BY_COMMAND.format(role=role, speech=speech),
                    "description": "speak",
                },
            )
        ]

    model = Conference(EN_WAKE, commits, lambda role, nth: "I am done.")

    async def work(stage: Stage, stub: StubServer) -> None:
        codex = (
            "codex",
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--sandbox",
            "workspace-write",
            "-",
        )
        writes = stage.recipe(
            "codex-writes", codex, "type=item.completed:item.type=agent_message:item.text"
        )
        says = stage.recipe(
            "opencode-says",
            ("opencode", "run", "--format", "json", "--pure", "--title", "ship"),
            "type=text:part.text",
        )
        roles = ["--role", f"ada={writes}", "--role", f"bob={says}", "--moderator", writes]
        await stage.moot(
            "roundtable", "new", *roles, "--rounds", "1", "--language", "en", "--", "ship", TOPIC
        )
        found = json.loads(await stage.moot("roundtable", "relay", "ship", "--json"))
        assert (found["turn"]["status"], found["skipped"], found["damage"]) == ("closed", [], []), (
            model.outcomes
        )
        folder = stage.project / ".roundtable" / "ship"
        assert (folder / "001_ada.md").read_text().strip() == SPEECH.format(role="ada", nth=1)
        assert (folder / "002_bob.md").read_text().strip() == SPEECH.format(role="bob", nth=1)
        assert (folder / "MINUTES.md").read_text().strip() == MINUTES
        assert [role for role, _ in model.asked] == ["ada", "bob", "moderator"]
        assert model.asked[1][1].splitlines()[0].endswith(f"Your instructions are: {prompt}")
        assert sorted(each.name for each in folder.glob("*.md")) == [
            "001_ada.md",
            "002_bob.md",
            "AGENDA.md",
            "MINUTES.md",
        ]
        assert await stage.moot("roundtable", "check", "ship") == "no faults found\n"
        assert "seat_lost" not in await stage.moot("export", found["sessionId"], "jsonl")

    held(tmp_path, path, model, work)
