"""`moot mcp` and `moot acp`: MCP for a client, and ACP for an editor, on standard input and output."""

import asyncio
import logging
import os
import signal
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from moothall.app.moot import Moot
from moothall.errors import MissingExtra, NotAllowed, describe_install
from moothall.surfaces.cli import output as out
from moothall.surfaces.mcp.greeting import build_instructions, greet_client

if TYPE_CHECKING:
    from moothall.memory.tokens import Identity
    from moothall.surfaces.api.method import Caller


@click.command()
@click.option(
    "--all-tools",
    is_flag=True,
    help="Show every tool, not only those for the caller's role (`moot access tools`).",
)
@click.option(
    "--output-schemas",
    is_flag=True,
    help="Show the schemas of the tools' results too: for programs, not for models.",
)
def mcp(all_tools: bool, output_schemas: bool) -> None:
    """Serve MCP to one client on standard input and output, for a coding agent that starts this command.

    With MOOT_TOKEN in the environment it has the rights of that token; without it, all rights on this ledger.

    \b
    moot connect claude
    claude mcp add moot -- moot mcp
    """

    secret = os.environ.get("MOOT_TOKEN", "")
    instructions = build_instructions("local")
    if secret:

        async def check_token() -> "Identity":
            async with Moot() as moot:
                return await _identify(moot, secret)

        # Before the client is greeted.
        identity = out.run(check_token, stopped=lambda: "")
        instructions = build_instructions(identity.role, identity.session)
    try:
        greeting = greet_client(sys.stdin.fileno(), sys.stdout.fileno(), instructions)
    except KeyboardInterrupt:
        sys.exit(out.INTERRUPTED)

    async def work() -> None:
        # Loaded after the first answer: some clients wait a second for it, and this takes longer.
        from moothall.surfaces.api.methods import open_server_context
        from moothall.surfaces.mcp.server import McpServer, serve_on_stdio

        logging.basicConfig(level="WARNING")
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            # A thread waits for the next line and heeds nothing; what was acknowledged is on disk.
            loop.add_signal_handler(number, os._exit, out.INTERRUPTED)
        async with open_server_context(Moot()) as context:
            door = McpServer(
                context,
                lambda request: _find_caller(context.moot, secret),
                shows_all=all_tools,
                shows_outputs=output_schemas,
            )
            await serve_on_stdio(door, greeting)

    out.run(work, stopped=lambda: "")


@click.command()
@click.option(
    "--model",
    default="moot",
    show_default=True,
    metavar="[PROTOCOL:]PANEL",
    help="Who meets first; the editor offers others as modes.",
)
@click.option(
    "--page",
    default="",
    metavar="URL",
    help="The address of your `moot serve`, for links to the meeting's page.",
)
@click.option(
    "--sit", is_flag=True, help="Take a seat in each meeting: what it asks you comes in the chat."
)
def acp(model: str, page: str, sit: bool) -> None:
    """Serve ACP to one editor on standard input and output: its user asks the board and follows the meeting there.

    With MOOT_TOKEN in the environment it has the rights of that token; without it, all rights on this ledger.

    \b
    moot acp
    moot acp --model debate:board --page http://127.0.0.1:8760
    moot acp --sit
    """
    if find_spec("acp") is None:
        out.fail(MissingExtra(f"`moot acp` needs an extra package: {describe_install('acp')}"))
    secret = os.environ.get("MOOT_TOKEN", "")

    async def work() -> None:
        from moothall.surfaces.acp import serve_editor
        from moothall.surfaces.api.methods import open_server_context

        logging.basicConfig(level="WARNING")
        async with open_server_context(Moot()) as context:
            await _find_caller(context.moot, secret)
            await serve_editor(
                context, lambda: _find_caller(context.moot, secret), model, page, sits=sit
            )

    out.run(work, stopped=lambda: "")


async def _find_caller(moot: Moot, secret: str) -> "Caller":
    """Who calls; asked at every call: a token can be revoked meanwhile."""
    from moothall.participants.hosts import name_local_door
    from moothall.surfaces.api.method import Caller

    return (
        Caller.from_identity(await _identify(moot, secret))
        if secret
        else Caller(user=name_local_door())
    )


async def _identify(moot: Moot, secret: str) -> "Identity":
    from moothall.memory.tokens import AccessDenied

    identity = await moot.access.identify(secret)
    if isinstance(identity, AccessDenied):
        raise NotAllowed(
            f"MOOT_TOKEN is {identity.reason}", command="`moot invite` creates a new one"
        )
    return identity
