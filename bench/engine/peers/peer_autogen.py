"""Peer: AutoGen AgentChat, a ``RoundRobinGroupChat`` of agents that answer at once.

Each seat is a custom ``BaseChatAgent``, AgentChat's documented way to bring one's own participant, chosen as less work
than an ``AssistantAgent`` over a replayed model client, which was not measured. A seat keeps the last ``WINDOW``
messages itself, as AgentChat's ``BufferedChatCompletionContext`` does, since a team hands an agent only what was said
since its own last turn. Runtime tracing is off (``AUTOGEN_DISABLE_RUNTIME_TRACING``), as its documentation allows.

Variants:

``memory``
    One run of the team with ``max_turns`` set to the number of turns. Nothing is on disk: not durable.
``saved``
    The documented way to keep a team: run it for one turn (``max_turns=1``), take ``save_state()`` while it is not
    running, and store it. The state goes as JSON into one row per session, replaced and committed after each turn (WAL,
    ``synchronous=FULL``). AgentChat has no incremental state: each save holds the whole transcript.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import common
from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response, TaskResult
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core import CancellationToken

_SCHEMA = "CREATE TABLE team (session INTEGER PRIMARY KEY, state TEXT NOT NULL)"
_REPLACE = "INSERT OR REPLACE INTO team (session, state) VALUES (?, ?)"


class Seat(BaseChatAgent):
    """A participant without a model: it answers with the text of its turn."""

    def __init__(self, seat: int, reply_seconds: float) -> None:
        super().__init__(f"seat_{seat}", "A seat at the meeting.")
        self._seat = seat
        self._turn = seat
        self._reply_seconds = reply_seconds
        self._window: deque[BaseChatMessage] = deque(maxlen=common.WINDOW)

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        return (TextMessage,)

    async def on_messages(
        self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken
    ) -> Response:
        self._window.extend(messages)
        if self._reply_seconds:
            await asyncio.sleep(self._reply_seconds)
        message = TextMessage(content=common.text_of(self._seat, self._turn), source=self.name)
        self._window.append(message)
        self._turn += common.SEATS
        return Response(chat_message=message)

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        self._window.clear()
        self._turn = self._seat

    async def save_state(self) -> Mapping[str, Any]:
        return {"turn": self._turn, "window": [message.dump() for message in self._window]}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        self._turn = state["turn"]
        self._window.clear()
        self._window.extend(TextMessage.load(message) for message in state["window"])


def new_team(max_turns: int, reply_seconds: float) -> RoundRobinGroupChat:
    seats = [Seat(seat, reply_seconds) for seat in range(common.SEATS)]
    return RoundRobinGroupChat(list(seats), max_turns=max_turns)


def texts_of(result: TaskResult) -> list[str]:
    return [message.content for message in result.messages if isinstance(message, TextMessage)]


async def hold_in_memory(team: RoundRobinGroupChat) -> list[str]:
    return texts_of(await team.run())


async def hold_saved(
    team: RoundRobinGroupChat, connection: sqlite3.Connection, session: int, turns: int
) -> None:
    for _ in range(turns):
        await team.run()
        state = await team.save_state()
        connection.execute(_REPLACE, (session, json.dumps(state)))
        connection.commit()


def connect(path: Path | str) -> sqlite3.Connection:
    connection = common.open_durable(path)
    connection.execute(_SCHEMA)
    connection.commit()
    return connection


async def measure_in_memory(sessions: int, turns: int, reply_seconds: float) -> common.Meter:
    teams = [new_team(turns, reply_seconds) for _ in range(sessions)]
    with common.Meter() as meter:
        transcripts = await asyncio.gather(*(hold_in_memory(team) for team in teams))
    for texts in transcripts:
        common.check_transcript(texts, turns)
    return meter


async def measure_saved(
    path: Path | str, sessions: int, turns: int, reply_seconds: float
) -> common.Meter:
    connection = connect(path)
    teams = [new_team(1, reply_seconds) for _ in range(sessions)]
    with common.Meter() as meter:
        await asyncio.gather(
            *(hold_saved(team, connection, number, turns) for number, team in enumerate(teams))
        )
    for (state,) in connection.execute("SELECT state FROM team").fetchall():
        common.check_transcript(_saved_texts(json.loads(state)), turns)
    connection.close()
    return meter


def _saved_texts(state: Mapping[str, Any]) -> list[str]:
    manager = state["agent_states"]["RoundRobinGroupChatManager"]
    return [message["content"] for message in manager["message_thread"]]


async def run(job: common.Job) -> tuple[common.Meter, int]:
    if job.variant == "memory":
        await measure_in_memory(1, common.WARM_UP_TURNS, 0.0)
        return await measure_in_memory(job.sessions, job.turns, job.reply_seconds), 0
    await measure_saved(":memory:", 1, common.WARM_UP_TURNS, 0.0)
    path = common.fresh_database(job)
    meter = await measure_saved(path, job.sessions, job.turns, job.reply_seconds)
    return meter, common.disk_bytes(path)


def main() -> None:
    job = common.job_from_command_line("autogen")
    os.environ.setdefault("AUTOGEN_DISABLE_RUNTIME_TRACING", "true")
    meter, disk = asyncio.run(run(job))
    common.print_row(job, meter, disk=disk, durable=job.variant == "saved")


if __name__ == "__main__":
    main()
