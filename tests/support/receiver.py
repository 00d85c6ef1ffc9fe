"""Receivers on loopback: the body of a request, and the notices that a webhook is sent."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any


async def read_body(reader: asyncio.StreamReader) -> bytes:
    """Return the body of a request."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    return await reader.readexactly(int(head.partition("content-length:")[2].split("\r\n")[0]))


@asynccontextmanager
async def receive_notices() -> AsyncIterator[tuple[str, list[dict[str, Any]]]]:
    """A receiver that takes every notice; its address, and what it was sent."""
    received: list[dict[str, Any]] = []

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(json.loads(await read_body(reader)))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(receive, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", received
