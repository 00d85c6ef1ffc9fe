"""All operations by name, and what they work on, opened and closed: for a server on a port and for one on standard streams."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final

from moothall.app.conferences.project import find_project_root
from moothall.app.moot import Moot
from moothall.app.runner import LocalRunner, is_run_by_workers
from moothall.ports.runner import Runner
from moothall.surfaces.api import (
    asks,
    breakers,
    consultation,
    decisions,
    deliberation,
    memory,
    opening,
    page,
    pipelines,
    roundtable,
    sessions,
    swarm,
)
from moothall.surfaces.api.method import Method, ServerContext

TABLE: Final[dict[str, Method[Any, Any]]] = {
    **consultation.METHODS,
    **deliberation.METHODS,
    **memory.METHODS,
    **decisions.METHODS,
    **breakers.METHODS,
    **pipelines.METHODS,
    **roundtable.METHODS,
    **sessions.METHODS,
    **asks.METHODS,
    **swarm.METHODS,
    **page.METHODS,
    **asks.PERSON_METHODS,
    **opening.METHODS,
}
TOOLS: Final[dict[str, Method[Any, Any]]] = {
    method.tool: method for method in TABLE.values() if method.tool
}


@asynccontextmanager
async def open_server_context(moot: Moot) -> AsyncIterator[ServerContext]:
    """What calls work on, with a runner that keeps sessions going while it is open, here or on workers."""
    async with moot, _choose_runner(moot) as runner:
        context = ServerContext(moot, runner, find_project_root(Path.cwd()))
        try:
            yield context
        finally:
            relays = [*context.relays.values(), *context.followers.values()]
            for relay in relays:
                relay.cancel()
            await asyncio.gather(*relays, return_exceptions=True)


def _choose_runner(moot: Moot) -> AbstractAsyncContextManager[Runner]:
    """Who runs the sessions of a started `Moot`: this process, or the workers of its ledger. Raises BadSetting, MissingExtra."""
    if is_run_by_workers(moot.environ):
        from moothall.app.shared_runner import open_shared_runner

        return open_shared_runner(moot)
    return LocalRunner(moot.engine, moot.seating, moot.remembering.remember_if_possible)
