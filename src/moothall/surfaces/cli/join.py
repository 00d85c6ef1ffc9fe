"""`moot join`: take what a short code gives, from the server that made it."""

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any, Final

import click

from moothall.errors import BadSetting, NotAllowed, WorldError
from moothall.memory.tokens import parse_code
from moothall.surfaces.cli.invite import URL
from moothall.surfaces.cli.output import CommandResult, json_command
from moothall.surfaces.invitations.agent_clients import ALL_CLIENTS, Door
from moothall.surfaces.invitations.entries import render_invitation

SECONDS: Final = 30.0
MAX_ANSWER: Final = 1_000_000


@click.command()
@click.argument("code")
@click.option("--url", default=URL, show_default=True, help="The address of the server that made the code.")
@click.option("--for", "agent", type=click.Choice(sorted(ALL_CLIENTS)), help="Print only the configuration of this coding agent.")
@json_command
async def join(code: str, url: str, agent: str | None) -> CommandResult:
    """Exchange a code of `moot invite --code` for a token of your own, and print what to paste into a coding agent.

    The code works once. The token has the rights that the code was made for, and ends with them.

    \b
    moot join 7K3Q-9XRA --url http://192.168.1.20:8760
    moot join 7K3Q-9XRA --url https://moot.example.org --for claude
    """
    if not parse_code(code):
        raise BadSetting(f"{code[:40]!r} is not a code; expected eight letters and digits, such as 7K3Q-9XRA")
    if not url.startswith(("http://", "https://")):
        raise BadSetting(f"{url[:100]!r} is not an address; expected http://HOST:PORT")
    given = await asyncio.to_thread(_exchange, f"{url.rstrip('/')}/join", code)
    text = render_invitation(given["token"], Door.over_http(url, given["token"]), given["prompt"], agent=agent)
    return CommandResult(json={**given, "url": url}, lines=[text])


def _exchange(address: str, code: str) -> dict[str, Any]:
    """What the server gives for the code. Raises NotAllowed with its reason, WorldError where none answers."""
    body = json.dumps({"code": code}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310 - checked by the caller
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:  # noqa: S310
            given = json.loads(response.read(MAX_ANSWER))
            return {name: str(given[name]) for name in ("token", "role", "session", "seat", "prompt")}
    except urllib.error.HTTPError as error:
        raise NotAllowed(_read_reason(error)) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorldError(f"no server of Moot answers at {address}: {error}") from error


def _read_reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read(MAX_ANSWER))["error"])[:300]
    except (ValueError, KeyError, TypeError):
        return f"the server answered {error.code}"
