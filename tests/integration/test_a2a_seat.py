"""The seat of an agent that speaks Agent2Agent, against an agent that is slow with its card (A-2)."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.integration.test_acp_seats import bounded, build_brief

from moothall.participants.a2a import A2aParticipant, read_card
from moothall.participants.agent_answers import AgentFault
from moothall.ports.participant import NoAnswer


async def send_for_ever(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A card of which a byte comes now and then: no pause is long enough to be a broken connection."""
    try:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not reader.at_eof():
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.01)
    except ConnectionError:
        pass
    finally:
        writer.close()


def try_slow_card(work: Callable[[A2aParticipant], Awaitable[object]]) -> tuple[object, int]:
    """What a participant makes of a card that never ends, and the port of that agent."""

    async def serve() -> tuple[object, int]:
        server = await asyncio.start_server(send_for_ever, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        try:
            return await work(
                A2aParticipant(f"http://127.0.0.1:{port}", {}, card_seconds=0.2)
            ), port
        finally:
            server.close()

    return bounded(serve())


def test_a_card_that_never_ends_is_said_before_the_session_is_opened() -> None:
    """A-2: a slow card does no harm."""
    told, port = try_slow_card(lambda seat: seat.ready())
    assert (
        told
        == f"http://127.0.0.1:{port}/.well-known/agent-card.json does not answer within 0.2 seconds"
    )


def test_a_card_that_never_ends_is_a_loss_of_the_answer() -> None:
    """A-2: also where the session is under way, and the card is asked for again after a restart."""
    told, port = try_slow_card(lambda seat: seat.respond(build_brief(), lambda _: None))
    assert isinstance(told, NoAnswer)
    assert told.reason == "unreachable"
    assert (
        told.detail
        == f"http://127.0.0.1:{port}/.well-known/agent-card.json does not answer within 0.2 seconds"
    )


def test_a_card_whose_address_is_none_is_refused() -> None:
    """A-2: an address that was never filled in."""
    with pytest.raises(
        AgentFault, match=r"another host \(http://\[HOST:PORT\]/\); they are not sent"
    ):
        read_card({"url": "http://[HOST:PORT]/"}, "http://127.0.0.1:9/card.json")


WORKING = {"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}}
DONE = {"state": "TASK_STATE_COMPLETED"}


@pytest.mark.parametrize(
    ("results", "why"),
    [
        ([{"task": "soon"}], "answered without a task or a message"),
        ([{"task": {"status": DONE, "artifacts": [{"parts": 5}]}}], ""),
        ([{"message": {"parts": {"text": "x"}}}], ""),
        ([{"message": ["x"]}], "answered without a task or a message"),
        ([{"task": {"id": "t", "status": "done"}}], "the agent's task has no state"),
        (
            [WORKING, {"id": "other", "status": DONE, "artifacts": [{"parts": [{"text": "x"}]}]}],
            "answered for another task than",
        ),
    ],
)
def test_what_is_no_answer_of_an_agent_is_a_loss_in_words(results: list[Any], why: str) -> None:
    """A-2: an agent that mixes up its tasks, or sends other shapes, is said to do so."""
    left: list[Any] = [
        {
            "supportedInterfaces": [
                {"protocolBinding": "JSONRPC", "protocolVersion": "1.0", "url": "/"}
            ]
        }
    ]
    left += [{"jsonrpc": "2.0", "id": "1", "result": each} for each in [*results, results[-1]]]

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        await reader.readexactly(int(head.partition("content-length: ")[2].split("\r\n")[0] or 0))
        body = json.dumps(left.pop(0)).encode()
        writer.write(
            b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s"
            % (len(body), body)
        )
        writer.close()

    async def serve() -> object:
        async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
            address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            return await A2aParticipant(address, {}).respond(build_brief(), lambda _: None)

    told = bounded(serve())
    assert isinstance(told, NoAnswer)
    assert (told.reason, why in told.detail) == ("malformed", True), told
