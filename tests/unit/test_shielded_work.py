"""Work that is carried to its end although its caller has left."""

import asyncio
import gc
from pathlib import Path
from typing import Any, cast

from moothall.errors import BadSetting
from moothall.surfaces.api.method import ServerContext


def test_a_refusal_whose_caller_has_left_is_not_logged_as_a_fault() -> None:
    """D-5: a client that leaves is no traceback."""
    faults: list[dict[str, Any]] = []

    async def refuse() -> None:
        await asyncio.sleep(0.01)
        raise BadSetting("no")

    async def leave() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context))
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
