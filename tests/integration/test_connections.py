"""Connections of a server over real sockets: who is silent goes, strangers have their share, known callers stay."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from starlette.types import Receive, Scope, Send

from moothall.surfaces.http import connections
from moothall.surfaces.http.connections import LimitedServer
from moothall_testkit.ledger_scenes import run_with_deadline

REQUEST = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /known HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n123"


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """An app: `/known` shows a token, `/poll` shows one and answers two seconds later."""
    if scope["type"] != "http":
        return
    if scope["path"] in {"/known", "/poll"}:
        scope["state"]["connection"].trust()
    if scope["path"] == "/poll":
        await asyncio.sleep(2.0)
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


@asynccontextmanager
async def serve(monkeypatch: pytest.MonkeyPatch, **limits: float) -> AsyncIterator[int]:
    for name, value in {
        "HEADER_SECONDS": 0.5,
        "BODY_SECONDS": 1.5,
        "TICKS_BETWEEN_SWEEPS": 1,
        **limits,
    }.items():
        monkeypatch.setattr(connections, name, value)
    server = LimitedServer(answer, host="127.0.0.1", port=0, log_level="warning", lifespan="off")
    serving = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 - the library has no event for it
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await serving


async def connect(
    port: int, text: bytes = b""
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(text)
    await writer.drain()
    return reader, writer


async def is_closed(reader: asyncio.StreamReader, seconds: float = 10.0) -> bool:
    """Whether the server closes the connection, whatever it says before."""
    try:
        async with asyncio.timeout(seconds):
            await reader.read()
    except TimeoutError:
        return False
    except ConnectionError:
        return True
    return True


def test_who_is_silent_goes_and_who_waits_for_an_answer_stays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """N-7: no first request, half a header, a header that drips, a body that stops; a long poll is not silence."""

    async def drip(writer: asyncio.StreamWriter) -> None:
        for _ in range(40):
            writer.write(b"x")
            await asyncio.sleep(0.05)

    async def work() -> None:
        async with serve(monkeypatch) as port:
            for text in (b"", b"GET / HT", POST, POST.replace(b"known", b"login")):
                reader, _ = await connect(port, text)
                assert await is_closed(reader), text
            reader, writer = await connect(port, b"GET / HTTP/1.1\r\nX: ")
            dripping = asyncio.create_task(drip(writer))
            assert await is_closed(reader)
            dripping.cancel()
            reader, writer = await connect(port, REQUEST % b"poll")
            assert (await reader.readline()).startswith(b"HTTP/1.1 204")
            # It goes on being used, and a body that comes slowly is not silent.
            await reader.readuntil(b"\r\n\r\n")
            writer.write(POST)
            for piece in (b"45", b"67", b"89"):
                await asyncio.sleep(0.6)
                writer.write(piece)
            assert (await reader.readline()).startswith(b"HTTP/1.1 204")

    run_with_deadline(work())


@pytest.mark.parametrize("limit", ["MAX_STRANGERS", "MAX_STRANGERS_OF_AN_ADDRESS"])
def test_strangers_have_their_share_and_known_callers_stay(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, limit: str
) -> None:
    """N-7: beyond the limit the stranger that was there longest goes; one line in the log says so."""

    async def work() -> None:
        async with serve(monkeypatch, HEADER_SECONDS=60.0, **{limit: 20}) as port:
            known, writer = await connect(port, REQUEST % b"known")
            await known.readuntil(b"\r\n\r\n")
            strangers = [await connect(port, b"GET / HT") for _ in range(100)]
            # The owner comes last, when all that strangers may have is taken.
            late, _ = await connect(port, REQUEST % b"known")
            assert (await late.readline()).startswith(b"HTTP/1.1 204")
            writer.write(REQUEST % b"known")
            assert (await known.readline()).startswith(b"HTTP/1.1 204")
            await asyncio.sleep(0.2)
            gone = [await is_closed(reader, 0.05) for reader, _ in strangers]
            # The late one was a stranger for a moment, too.
            assert gone == [True] * 81 + [False] * 19

    with caplog.at_level(logging.WARNING, logger="moot"):
        run_with_deadline(work())
    lines = [each.getMessage() for each in caplog.records if each.name == "moot"]
    assert len(lines) == 1
    assert "20 connections without a token" in lines[0]


def test_a_server_has_as_many_descriptors_as_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    """N-7: the soft limit goes up to the hard one."""
    resource = pytest.importorskip("resource")
    asked: list[tuple[int, int]] = []
    limits = [(1_024, 4_096), (4_096, 4_096)]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: limits.pop(0))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, wanted: asked.append(wanted))
    assert connections.raise_descriptor_limit() == 4_096
    assert asked == [(4_096, 4_096)]
