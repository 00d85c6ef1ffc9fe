"""`moot ready`: whether a server or a worker can do its work, for supervisors, health checks and scripts."""

import asyncio
import json
import os
import time
import urllib.error
import urllib.request
from typing import Any, Final

import click

from moothall.app.environment import load_server_url
from moothall.domain.budget import parse_duration
from moothall.domain.safe_text import one_line
from moothall.errors import BadSetting, LedgerUnavailable
from moothall.surfaces.cli.output import CommandResult, json_command

PROBE_SECONDS: Final = 4.0
AGAIN_SECONDS: Final = 0.2
MAX_REASON_LENGTH: Final = 300
MAX_ANSWER_LENGTH: Final = 1_000_000


class ServerUrl(click.ParamType[str]):
    """The address of a server."""

    name = "url"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        # Imported here: it brings what invitations say.
        from moothall.surfaces.invitations.agent_clients import parse_server_url

        try:
            return parse_server_url(value)
        except BadSetting as error:
            self.fail(str(error))


@click.command()
@click.argument("url", type=ServerUrl(), default=lambda: load_server_url(os.environ))
@click.option("--wait", metavar="DURATION", help="Wait so long for it to become ready, as 30s.")
@json_command
async def ready(url: str, wait: str | None) -> CommandResult:
    """Say whether the server at URL, or the worker whose `--port` it is, can do its work.

    The exit code is 0 only then. It asks URL/readyz, which needs no token: whether the ledger answers, and whether
    the tables of the workers are there.

    \b
    moot ready
    moot ready --wait 30s
    moot ready http://127.0.0.1:8761
    """
    ends = time.monotonic() + (0.0 if wait is None else parse_duration(wait))
    while reason := await asyncio.to_thread(_probe, url):
        if time.monotonic() >= ends:
            raise LedgerUnavailable(f"{url} is not ready: {reason}")
        await asyncio.sleep(AGAIN_SECONDS)
    return CommandResult(json={"ready": True, "url": url}, lines=[f"{url} is ready"])


url_option = click.option(
    "--url",
    type=ServerUrl(),
    default=lambda: load_server_url(os.environ),
    help="The address of the server. Default: where yours listened last.",
)


async def describe_server(url: str) -> tuple[bool, str]:
    """Whether a server answers at an address, really asked, and the line that says so."""
    if not await asyncio.to_thread(_probe, url, "healthz"):
        return True, f"moot serve answers at {url}"
    return (
        False,
        f"nothing answers at {url} now: start it there with `moot serve`, and keep it running",
    )


def _probe(url: str, page: str = "readyz") -> str:
    """Why it is not ready; empty if it is."""
    # Past any proxy of the environment, which cannot reach what listens on this machine.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/{page}", timeout=PROBE_SECONDS) as response:
            return "" if json.load(response) == {"status": "ok"} else "it is not Moot"
    except urllib.error.HTTPError as error:
        return read_refusal(error, "reason") or f"it answers with status {error.code}"
    except (OSError, ValueError) as error:
        return f"nothing answers there ({explain_fault(error)})"


def explain_fault(error: Exception) -> str:
    """What the system said, without the name of the library that asked it."""
    why = getattr(error, "reason", error)
    return one_line(str(getattr(why, "strerror", None) or why))[:MAX_REASON_LENGTH]


def read_refusal(error: urllib.error.HTTPError, field: str) -> str:
    """Return why a server refused, which is in this field of its answer; empty where it does not say."""
    try:
        return one_line(str(json.loads(error.read(MAX_ANSWER_LENGTH))[field]))[:MAX_REASON_LENGTH]
    except (OSError, ValueError, LookupError, TypeError):
        return ""
