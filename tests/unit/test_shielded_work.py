"""Work that is carried to its end although its caller has left."""

import asyncio
import gc
from pathlib import Path
from typing import Any, cast

from starlette.types import Message, Receive, Scope, Send

from moothall.errors import BadSetting
from moothall.surfaces.api.method import ServerContext
from moothall.surfaces.http.access_control import AccessControl
from moothall.surfaces.http.metrics import LIVE
from moothall.surfaces.http.server_settings import ServerSettings


def test_a_refusal_whose_caller_has_left_is_not_logged_as_a_fault() -> None:
    """D-5: a client that leaves is no traceback."""
    faults: list[dict[str, Any]] = []

    async def refuse() -> None:
        await asyncio.sleep(0.01)
        raise BadSetting("no")

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(
            lambda loop, context: faults.append(context)
        )
        context = ServerContext(moot=cast("Any", None), runner=cast("Any", None), root=Path())
        caller = asyncio.create_task(context.run_shielded(refuse()))
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.gather(caller, return_exceptions=True)
        await asyncio.wait(context.under_way)
        await asyncio.sleep(0)
        gc.collect()

    asyncio.run(leave())
    assert faults == []


def test_who_still_waits_when_the_server_ends_is_told_so() -> None:
    """D-5: a call that takes longer than the server waits for it is no traceback."""
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def hang(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    async def end() -> None:
        access = cast("Any", None)
        app = AccessControl(
            hang, access=access, owner=str, is_local=True, settings=ServerSettings()
        )
        headers = [(b"host", b"127.0.0.1")]
        scope = {
            "type": "http",
            "method": "GET",
            "path": LIVE,
            "query_string": b"",
            "headers": headers,
        }
        caller = asyncio.create_task(app(scope, receive, send))
        await asyncio.sleep(0.01)
        caller.cancel()
        await caller

    asyncio.run(end())
    assert sent[0]["status"] == 503
    assert b"the server is stopping; repeat the call" in sent[1]["body"]
