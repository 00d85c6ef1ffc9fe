"""All operations by name, and what they work on, opened and closed: for a server on a port and for one on standard streams."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from moothall.app.features import load_features, load_place
from moothall.app.moot import Moot
from moothall.app.plugins import load_plugins
from moothall.app.project_root import find_project_root
from moothall.app.runner import LocalRunner, is_run_by_workers
from moothall.ports.feature import Feature
from moothall.ports.runner import Runner
from moothall.surfaces.api import asks, breakers, decisions, memory, opening, page, sessions
from moothall.surfaces.api.method import Method, Operations, ServerContext

log = logging.getLogger("moot")

Table: TypeAlias = dict[str, Method[Any, Any]]


def _collect_methods() -> Table:
    """The calls of Moot's own features, and those that serve every protocol."""
    table: Table = {}
    for feature in load_features():
        for place in feature.operations:
            table.update(load_place(feature, place))
    for module in (memory, decisions, breakers, sessions, asks, page):
        table.update(module.METHODS)
    table.update(asks.PERSON_METHODS)
    table.update(opening.METHODS)
    return table


TABLE: Final[Table] = _collect_methods()
TOOLS: Final[Table] = {method.tool: method for method in TABLE.values() if method.tool}


def add_other_methods() -> None:
    """Add the calls that other distributions bring. A fault in them, or a name that is taken, hurts nobody else."""
    for feature in load_plugins().features:
        for place in feature.operations:
            try:
                methods = load_place(feature, place)
            except Exception as error:  # noqa: BLE001 - other people's code: whatever it raises, everything else must work
                log.warning("the calls of the feature %r are not served: %s", feature.name, error)
                continue
            _add_methods(feature, methods)


def _add_methods(feature: Feature, methods: Operations) -> None:
    for name, method in methods.items():
        if name in TABLE or method.tool in TOOLS:
            log.warning("the call %r of the feature %r exists already", name, feature.name)
            continue
        TABLE[name] = method
        if method.tool:
            TOOLS[method.tool] = method


add_other_methods()


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
