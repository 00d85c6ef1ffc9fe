"""`moot acp`: the board inside an editor, driven by the protocol library's own client side."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from acp import PROTOCOL_VERSION, RequestError, helpers, schema, spawn_agent_process
from click.testing import CliRunner
from tests.support.model_provider import ModelProvider

from moothall import Moot
from moothall.surfaces.cli.main import main

DEADLINE = 90.0
QUESTION = "Should we ship on Friday?"


@dataclass
class Editor:
    """The editor's side: it keeps what it is shown."""

    thoughts: str = ""
    message: str = ""
    seen: asyncio.Event = field(default_factory=asyncio.Event)

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        match update:
            case schema.AgentThoughtChunk(content=schema.TextContentBlock(text=text)):
                self.thoughts += text
                self.seen.set()
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                self.message += text

    async def request_permission(self, **_: Any) -> Any:
        raise AssertionError("Moot asks an editor for nothing")


@asynccontextmanager
async def start_moot(
    home: Path, provider: ModelProvider, *words: str
) -> AsyncIterator[tuple[Editor, Any]]:
    editor: Any = Editor()
    environ = {
        **os.environ,
        "MOOT_HOME": str(home),
        "OPENAI_API_KEY": "sk-test",
        "OPENAI_BASE_URL": provider.base_url,
    }
    environ |= {"MOOT_MODEL": "stub"}
    argv = ["-m", "moothall.surfaces.cli.main", "acp", "--model", "duo", *words]
    async with spawn_agent_process(editor, sys.executable, *argv, env=environ, cwd=str(home)) as (
        agent,
        _,
    ):
        await agent.initialize(protocol_version=PROTOCOL_VERSION)
        yield editor, agent


def play(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await work()

    asyncio.run(bounded())


async def load_status(home: Path, session: str) -> str:
    async with Moot(environ={"MOOT_HOME": str(home)}) as moot:
        return next(line.status for line in await moot.sessions() if line.session == session)


def test_an_editors_user_asks_the_board_follows_the_meeting_and_may_cancel_it(
    tmp_path: Path,
) -> None:
    """A-1: the meeting is progress, the decision is the message, with the record's id and link; cancelling is on record."""

    async def work() -> None:
        with ModelProvider() as provider:
            async with start_moot(tmp_path, provider, "--page", "http://127.0.0.1:8760/") as (
                editor,
                agent,
            ):
                started = await agent.new_session(cwd=str(tmp_path), mcp_servers=[])
                session, modes = (
                    started.session_id,
                    {mode.id for mode in started.modes.available_modes},
                )
                assert {"moot/board", "moot/duo", "moot/debate:default"} <= modes
                answer = await agent.prompt(
                    session_id=session, prompt=[helpers.text_block(QUESTION)]
                )
                name = answer.field_meta["moot"]["session"]
                assert answer.stop_reason == "end_turn"
                assert "Let us wait." in editor.thoughts
                assert "Wait a week." in editor.message
                assert f"http://127.0.0.1:8760/s/{name}" in editor.message
                await cancel_second_prompt(agent, session, editor, provider)
                editor.message = ""
                empty = await agent.prompt(session_id=session, prompt=[helpers.text_block("  ")])
                assert empty.stop_reason == "end_turn"
                assert editor.message == "the last message of the user is empty; write a question"

    async def cancel_second_prompt(
        agent: Any, session: str, editor: Editor, provider: ModelProvider
    ) -> None:
        with pytest.raises(RequestError):
            await agent.set_session_mode(session_id=session, mode_id="moot/nobody")
        await agent.set_session_mode(session_id=session, mode_id="moot/debate:duo")
        provider.delay, editor.thoughts = 3_600.0, ""
        editor.seen.clear()
        asking = asyncio.create_task(
            agent.prompt(session_id=session, prompt=[helpers.text_block("And on Monday?")])
        )
        await editor.seen.wait()
        with pytest.raises(RequestError):
            await agent.prompt(session_id=session, prompt=[helpers.text_block("At the same time?")])
        while not any(  # noqa: ASYNC110
            f"| {QUESTION}" in prompt and "And on Monday?" in prompt for prompt in provider.prompts
        ):
            await asyncio.sleep(0.02)
        await agent.cancel(session_id=session)
        answer = await asking
        assert answer.stop_reason == "cancelled"
        assert "meeting (debate)" in editor.thoughts
        assert await load_status(tmp_path, answer.field_meta["moot"]["session"]) == "cancelled"

    play(work)


def test_an_editors_user_takes_a_seat_in_the_chat(tmp_path: Path) -> None:
    """A-1: a prompt ends where the user is asked, the next one answers; what they say is on record, and nothing is told twice."""

    async def work() -> None:
        with ModelProvider() as provider:
            async with start_moot(tmp_path, provider, "--sit") as (editor, agent):
                session = (await agent.new_session(cwd=str(tmp_path), mcp_servers=[])).session_id
                await agent.set_session_mode(session_id=session, mode_id="moot/debate:duo")
                said, turns = QUESTION, 0
                while True:
                    editor.message = ""
                    answer = await agent.prompt(
                        session_id=session, prompt=[helpers.text_block(said)]
                    )
                    name, turns = answer.field_meta["moot"]["session"], turns + 1
                    assert turns < 20, editor.message
                    if await load_status(tmp_path, name) != "thinking":
                        break
                    choice = re.search(r"^- `([^`/]+)`", editor.message, re.MULTILINE)
                    said = choice[1] if choice else "I say: by boat."
                assert f"moot show {name}" in editor.message
                assert turns > 2
                assert editor.thoughts.count("meeting (debate)") == 1
        async with Moot(environ={"MOOT_HOME": str(tmp_path)}) as moot:
            assert "I say: by boat." in await moot.export(name, "minutes")

    play(work)


def test_a_panel_that_does_not_exist_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """A-1."""
    done = CliRunner().invoke(main, ["acp", "--model", "nobody"], env={"MOOT_HOME": str(tmp_path)})
    assert done.exit_code == 2
    assert "--model: the model 'nobody' does not exist; the models are: moot/" in done.output


def test_a_file_in_place_of_a_pipe_is_refused_in_one_sentence(tmp_path: Path) -> None:
    """A-1."""
    with (tmp_path / "out").open("w") as out:
        argv = [sys.executable, "-m", "moothall.surfaces.cli.main", "acp"]
        environ = {**os.environ, "MOOT_HOME": str(tmp_path / "home")}
        done = subprocess.run(
            argv,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.PIPE,
            env=environ,
            check=False,
        )
    assert done.returncode == 2
    assert (
        done.stderr
        == b"moot: `moot acp` speaks with an editor through pipes; its input and output cannot be files\n"
    )
