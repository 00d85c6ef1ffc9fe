"""The seat of an agent that speaks the Agent Client Protocol, against a scripted agent that behaves and misbehaves."""

import asyncio
import json
import os
import sys
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.acceptance.doors import Cli, until

from moothall import Moot
from moothall.app.seats import Seating
from moothall.domain.budget import Usage
from moothall.domain.effects import Ask, Brief
from moothall.domain.ids import SeatId, ask_id
from moothall.domain.roster import Seat
from moothall.errors import BadPanel, UnknownPlatform
from moothall.features.persona.facts import Intent, MeetingOpened, PersonaSettings
from moothall.features.persona.rules import RULES
from moothall.participants import acp_process
from moothall.participants.acp_process import MAX_REQUESTS
from moothall.participants.acp_seat import AcpParticipant, build_acp_seat
from moothall.participants.kinds import KindTable
from moothall.participants.recipes import find_acp_recipe, find_recipe, load_agents
from moothall.participants.subprocess_runner import MARK, find_strays
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.reading.answers import read_answer

T = TypeVar("T")

ADA = Seat(id=SeatId("ada"), platform="acp:agent", instructions="Count the costs.")
BOB = Seat(id=SeatId("bob"), platform="test")
INTENT = {"reaction_score": 0.8, "intent_to_speak": True, "reason": "costs"}
MEANT = Intent(reaction_score=0.8, intent_to_speak=True, reason="costs")
DEADLINE = 60.0
TESTKIT = str(Path(__file__).parents[2] / "testkit" / "src")


def build_brief(kind: str = "intent") -> Brief:
    opened = MeetingOpened(
        topic="Build it?",
        language="en",
        seed=7,
        seats=(ADA, BOB),
        settings=PersonaSettings(blind=False),
    )
    return RULES.brief(
        RULES.initial(opened),
        Ask(id=ask_id(1, kind, ADA.id), seat=ADA.id, kind=kind, turn=1, patience=DEADLINE),
    )


def bounded(work: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(DEADLINE):
            return await work

    return asyncio.run(limited())


@dataclass
class AgentTable:
    """A scripted agent at a seat, and what it noted."""

    folder: Path
    behaviour: str
    permit: str = ""
    at: int = 1
    more: tuple[str, ...] = ()
    model: str = ""

    def seat(self) -> AcpParticipant:
        recipe = self.write_recipe({"reaction_score": INTENT, "": "We should."})
        if self.model:
            home = self.folder / "home" / "agents" / "agent" / "ada"
            return AcpParticipant(
                find_acp_recipe(str(recipe)), home, dict(os.environ), model=self.model
            )
        return build_acp_seat(
            f"{recipe}{self.permit}", "ada", dict(os.environ), self.folder / "home"
        )

    def write_recipe(self, said: dict[str, Any]) -> Path:
        answers = self.folder / "answers.json"
        answers.write_text(json.dumps(said))
        argv = [
            sys.executable,
            "-m",
            "moothall_testkit.acp_agent",
            "--at",
            str(self.at),
            "--log",
            str(self.folder / "log"),
        ]
        recipe = self.folder / "agent.toml"
        lines = [
            f"argv = {json.dumps([*argv, *self.more, self.behaviour, str(answers)])}",
            "acp = true",
        ]
        recipe.write_text(
            "\n".join([*lines, f"environ = {{ PYTHONPATH = {json.dumps(TESTKIT)} }}"])
        )
        return recipe

    def notes(self, what: str) -> list[dict[str, Any]]:
        log = self.folder / "log"
        lines = log.read_text().splitlines() if log.exists() else []
        return [note for line in lines if (note := json.loads(line))["what"] == what]

    def is_clean(self) -> bool:
        """Whether no process and no file of it is left."""
        left = [
            pid
            for note in self.notes("start")
            if Path(f"/proc/{(pid := note['pid'])}/environ").exists()
        ]
        return (
            left == [] and list((self.folder / "home" / "agents" / "agent" / "ada").iterdir()) == []
        )


def is_running(pid: int) -> bool:
    with suppress(FileNotFoundError, ProcessLookupError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def find_mark(pid: int) -> str:
    environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    return (
        next(each for each in environ if each.startswith(MARK.encode())).decode().partition("=")[2]
    )


async def ask_once(seat: AcpParticipant, brief: Brief) -> Answer | NoAnswer:
    try:
        return await seat.respond(brief, lambda _: None)
    finally:
        await seat.leave()


def test_one_process_answers_all_asks_of_a_session_and_is_told_once_who_it_is(
    tmp_path: Path,
) -> None:
    """A-1: it remembers the meeting; what it says counts like any answer."""
    table, heard = AgentTable(tmp_path, "good"), list[str]()

    async def work() -> list[Answer | NoAnswer]:
        seat = table.seat()
        try:
            return [
                await seat.respond(build_brief(kind), heard.append)
                for kind in ("intent", "intent", "speech")
            ]
        finally:
            await seat.leave()

    first, again, speech = bounded(work())
    assert first == again == Answer(said=MEANT, usage=Usage(calls=1), origin="program:agent")
    assert isinstance(speech, Answer)
    assert heard == ["We should."]
    assert len(table.notes("start")) == 1
    assert [build_brief().system in note["text"] for note in table.notes("prompt")] == [
        True,
        False,
        False,
    ]
    assert table.notes("initialize")[0]["offered"]["terminal"] is False
    assert table.is_clean()


LOST = {
    "flood": ("error", "agent: it sent too much and was stopped"),
    "long-line": ("error", "agent: it sent too much and was stopped"),
    "beg": ("error", f"agent: it asked for permission more than {MAX_REQUESTS} times"),
    "die": (
        "error",
        "agent: it ended with 3 before its answer: segmentation fault, says the agent",
    ),
    "write": ("error", "agent: it wrote files without being asked to: unasked.txt"),
    "act": ("error", "agent: it did what nobody allowed: execute"),
    "refuse": ("refused", "agent: it refused to answer"),
    "login": ("rejected_key", "agent: it refused: Authentication required"),
}


@pytest.mark.parametrize("behaviour", LOST)
def test_an_agent_that_misbehaves_is_a_loss_and_leaves_nothing(
    tmp_path: Path, behaviour: str
) -> None:
    """A-1: floods, endless requests, a death in mid-answer, files and commands unasked."""
    table = AgentTable(tmp_path, behaviour)
    answer = bounded(ask_once(table.seat(), build_brief()))
    assert isinstance(answer, NoAnswer)
    assert (answer.reason, answer.detail.strip()) == LOST[behaviour]
    assert table.is_clean()


@pytest.mark.parametrize("stores", [False, True])
def test_an_agent_that_failed_is_started_again_and_told_everything(
    tmp_path: Path, *, stores: bool
) -> None:
    """A-1: a loss is one answer's, not the seat's; an agent that stores its conversation goes on in it, and is not told twice."""
    table = AgentTable(tmp_path, "die", at=2, more=("--stores",) if stores else ())

    async def work() -> list[Answer | NoAnswer]:
        seat = table.seat()
        try:
            return [await seat.respond(build_brief(), lambda _: None) for _ in range(3)]
        finally:
            await seat.leave()

    answers = bounded(work())
    assert [type(answer) for answer in answers] == [Answer, NoAnswer, Answer]
    assert len(table.notes("start")) == 2
    assert [build_brief().system in note["text"] for note in table.notes("prompt")] == [
        True,
        False,
        not stores,
    ]
    # What it did before, and tells again, is neither its answer nor a fault.
    assert [note["session"] for note in table.notes("load")] == (["scripted-1"] if stores else [])
    assert table.is_clean()


class AwaySeat:
    """A participant that cannot be reached until it is back."""

    is_back = False

    async def ready(self) -> str | None:
        return None if self.is_back else "it is away"

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        return (
            Answer(said=read_answer(brief, say(brief)).said)
            if self.is_back
            else NoAnswer(reason="unreachable")
        )


@pytest.mark.parametrize("stores", [False, True])
def test_a_later_run_of_a_parked_session_goes_on_in_the_conversation_of_the_agent(
    tmp_path: Path, *, stores: bool
) -> None:
    """A-1: by another process of Moot's; an agent that stores nothing begins anew, and nothing is noted of it."""
    table, bob = AgentTable(tmp_path, "good", more=("--stores",) if stores else ()), AwaySeat()
    table.write_recipe({field: SAID[kind] for kind, field in FIELDS.items()} | {"": "Ship it."})

    async def work() -> Any:
        environ = {**os.environ, "MOOT_HOME": str(tmp_path / "home")}
        seats: Any = {"ada": f"acp:{tmp_path / 'agent.toml'}", "bob": "bob"}
        async with Moot(environ=environ, participants={"bob": bob}) as moot:
            session = await moot.open(
                "Ship on Friday?", seats=seats, turns=1, language="en", check=False
            )
            parked = await moot.run(session)
        assert parked.status == "parked"
        bob.is_back = True
        async with Moot(environ=environ, participants={"bob": bob}) as moot:
            return await moot.run(session)

    assert bounded(work()).status == "concluded"
    assert len(table.notes("start")) == 2
    assert [note["session"] for note in table.notes("load")] == (["scripted-1"] if stores else [])
    folders = {note["cwd"] for note in table.notes("new") + table.notes("load")}
    assert len(folders) == 1
    left = list((tmp_path / "home" / "agents" / "agent" / "ada").iterdir())
    assert [each.suffix for each in left] == ([".conversation"] if stores else [])


def test_a_session_killed_while_its_agents_answer_goes_on_in_their_conversations(
    tmp_path: Path,
) -> None:
    """A-1: Moot ends by SIGKILL; the resumed session ends an agent of then that heeds nothing, and both go on."""
    table, cli = (
        AgentTable(tmp_path, "deaf", at=2, more=("--stores",)),
        Cli(tmp_path / "home", tmp_path),
    )
    said = {field: SAID[kind] for kind, field in FIELDS.items()} | {"": "Ship it."}
    seat = f"acp:{table.write_recipe(said)}"
    with cli.start(
        "run",
        "Ship?",
        "--seat",
        f"ada={seat}",
        "--seat",
        f"bob={seat}",
        "--turns",
        "1",
        "--session",
        "s",
    ) as moot:
        # Both have taken a position; one has the floor.
        until(lambda: len(table.notes("prompt")) == 3)
        moot.process.kill()
        moot.process.wait(DEADLINE)
    left = [note["pid"] for note in table.notes("start")]
    assert any(map(is_running, left))
    table.behaviour = "good"
    table.write_recipe(said)
    assert cli.json("resume", "s")["status"] == "concluded"
    assert [note["session"] for note in table.notes("load")] == ["scripted-1"] * 2
    assert not any(map(is_running, left))


@pytest.mark.parametrize("way", ["option", "groups", "method"])
def test_the_model_of_an_agent_is_chosen(tmp_path: Path, way: str) -> None:
    """A-1: `acp:AGENT:MODEL`, by whichever way the agent has."""
    table = AgentTable(tmp_path, "good", more=("--models", way), model="large")
    assert isinstance(bounded(ask_once(table.seat(), build_brief())), Answer)
    (chosen,) = table.notes("model")
    assert chosen["sessionId"] == "scripted-1"
    assert chosen.get("value", chosen.get("modelId")) == "large"
    assert table.is_clean()


@pytest.mark.parametrize(
    ("way", "listed"), [("option", "small, large"), ("", "none that can be chosen")]
)
def test_a_model_that_an_agent_does_not_have_is_a_loss_that_lists_them(
    tmp_path: Path, way: str, listed: str
) -> None:
    """A-1."""
    table = AgentTable(tmp_path, "good", more=("--models", way), model="huge")
    answer = bounded(ask_once(table.seat(), build_brief()))
    assert isinstance(answer, NoAnswer)
    assert answer.detail == f"agent: it has no model 'huge'; its models: {listed}"
    assert table.is_clean()


@pytest.mark.parametrize(("behaviour", "is_heeded"), [("hang", True), ("deaf", False)])
def test_an_agent_that_hangs_is_cancelled_and_ended_if_it_does_not_heed_that(
    tmp_path: Path, behaviour: str, is_heeded: bool
) -> None:
    """A-1: one that heeds the cancellation stays, with its memory."""
    table = AgentTable(tmp_path, behaviour)

    async def work() -> bool:
        seat = table.seat()
        asking = asyncio.create_task(seat.respond(build_brief(), lambda _: None))
        while not table.notes("prompt"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        is_there = not table.is_clean()
        await seat.leave()
        return is_there

    assert bounded(work()) == is_heeded
    assert bool(table.notes("cancel")) == is_heeded
    assert table.is_clean()


@pytest.mark.parametrize(
    ("permit", "outcome"), [("", "no"), ("?permit=none", "no"), ("?permit=read", "yes")]
)
def test_permission_is_given_by_rule_and_once(tmp_path: Path, permit: str, outcome: str) -> None:
    """A-1: nothing by default; with `read`, reading; what it said before the tool is not its answer."""
    table = AgentTable(tmp_path, "read", permit)
    answer = bounded(ask_once(table.seat(), build_brief("speech")))
    assert isinstance(answer, Answer)
    assert "Let me look" not in str(answer.said)
    assert [note["outcome"] for note in table.notes("permission")] == [
        {"outcome": "selected", "optionId": outcome}
    ]


def test_reading_does_not_permit_to_write(tmp_path: Path) -> None:
    """A-1."""
    table = AgentTable(tmp_path, "beg", "?permit=read")
    assert isinstance(bounded(ask_once(table.seat(), build_brief())), NoAnswer)
    assert {note["outcome"]["optionId"] for note in table.notes("permission")} == {"no"}


def test_lines_that_are_not_of_the_protocol_are_passed_over(tmp_path: Path) -> None:
    """A-1: logs among the messages, updates of a later version."""
    table = AgentTable(tmp_path, "garbage")
    assert bounded(ask_once(table.seat(), build_brief())) == Answer(
        said=MEANT, usage=Usage(calls=1), origin="program:agent"
    )


def test_children_that_left_its_group_are_ended_with_it(tmp_path: Path) -> None:
    """A-1."""
    table, marks = AgentTable(tmp_path, "child"), list[list[int]]()

    async def work() -> None:
        seat = table.seat()
        await seat.respond(build_brief(), lambda _: None)
        (started,) = table.notes("start")
        mark = find_mark(started["pid"])
        marks.append(find_strays(mark))
        await seat.leave()
        marks.append(find_strays(mark))

    bounded(work())
    assert [len(found) for found in marks] == [2, 0]


def test_an_answer_of_another_shape_is_corrected_in_the_same_conversation(tmp_path: Path) -> None:
    """A-1: and a silent agent is lost after that."""
    table = AgentTable(tmp_path, "silent")
    answer = bounded(ask_once(table.seat(), build_brief()))
    assert isinstance(answer, NoAnswer)
    assert answer.usage == Usage(calls=2)
    assert len(table.notes("start")) == 1


def test_a_platform_names_an_agent_a_file_or_a_command(tmp_path: Path) -> None:
    """A-1: known agents speak ACP by their own command lines."""
    assert {
        name: recipe.acp for name, recipe in load_agents().items() if name in {"gemini", "claude"}
    } == {
        "claude": ("claude-agent-acp",),
        "gemini": ("gemini", "--acp"),
    }
    assert find_acp_recipe("my-agent --stdio 'a b'").acp == ("my-agent", "--stdio", "a b")
    with pytest.raises(UnknownPlatform, match="permitted none or read, not 'all'"):
        build_acp_seat("gemini?permit=all", "ada", {}, tmp_path)
    with pytest.raises(UnknownPlatform, match="expected acp:AGENT"):
        find_acp_recipe("")
    (tmp_path / "agent.toml").write_text('argv = ["x"]\nacp = true\n')
    with pytest.raises(BadPanel, match="its platform is acp:"):
        find_recipe(str(tmp_path / "agent.toml"))
    missing = build_acp_seat("claude", "ada", {"PATH": str(tmp_path)}, tmp_path)
    assert bounded(missing.ready()) == (
        "the program 'claude-agent-acp' is not found; install it: npm install -g @agentclientprotocol/claude-agent-acp; "
        "or use command:claude"
    )


FIELDS = {
    "intent": "reaction_score",
    "stand": "verdict",
    "draft": "decision",
    "position": "position",
}
SAID: dict[str, Any] = {
    "intent": {"reaction_score": 0.5, "intent_to_speak": True, "reason": "I know it"},
    "speech": "Ship it.",
    "position": {"position": "Ship it.", "confidence": 0.7},
    "draft": {"decision": {"text": "Ship it.", "entries": [1]}, "confidence": 0.7},
    "stand": {"verdict": "support", "confidence": 0.7, "position": "Ship it."},
}


def say(brief: Brief) -> object:
    return SAID[brief.ask.kind]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [("good", ""), ("deaf", "timeout"), ("flood", "error"), ("beg", "error"), ("die", "error")],
)
def test_a_session_goes_on_without_an_agent_that_misbehaves(
    tmp_path: Path, behaviour: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-1: the loss is on record, the others decide, and no process is left when the session has ended."""
    # It floods every time it is asked: the limit itself is reached once, in the test of one answer.
    monkeypatch.setattr(acp_process, "MAX_MESSAGES", 500)
    table = AgentTable(tmp_path, behaviour)
    table.write_recipe({field: SAID[kind] for kind, field in FIELDS.items()} | {"": "Ship it."})

    async def work() -> tuple[Any, set[tuple[str, str]]]:
        async with Moot(environ={**os.environ, "MOOT_HOME": str(tmp_path / "home")}) as moot:
            agent = Seat(
                id=SeatId("ada"),
                platform=f"acp:{tmp_path / 'agent.toml'}",
                patience=1.0 if reason == "timeout" else 60.0,
            )
            seats: Any = {"ada": agent, "bob": say, "cem": say}
            session = await moot.open("Ship on Friday?", seats=seats, turns=1, language="en")
            decision = await moot.run(session)
            losses = (await moot.load_timeline(session)).losses
            return decision, {(loss.seat, loss.reason) for loss in losses}

    decision, lost = bounded(work())
    assert decision.decision is not None
    assert lost == ({("ada", reason)} if reason else set())
    assert len(table.notes("start")) == 1 or reason
    assert table.is_clean()


def test_a_server_starts_only_agents_that_are_listed(tmp_path: Path) -> None:
    """A-1: a command of a caller's choice is none; an agent is listed with its protocol."""
    seating = Seating(tmp_path, {"PATH": ""})
    seating.limit_programs(["acp:gemini", "claude"])
    assert [
        seating.is_listed(each)
        for each in ("acp:gemini", "acp:claude", "acp:sh -c x", "acp:gemini?permit=read")
    ] == [
        True,
        False,
        False,
        False,
    ]
    assert not KindTable().is_allowed_remotely("acp:gemini")
    refused = seating(Seat(id=SeatId("ada"), platform="acp:sh -c true"))
    assert refused is not None
    assert "may not start the program" in str(bounded(refused.ready()))
