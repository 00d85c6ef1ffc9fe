"""`moot invite`, `moot join` and `moot access key`: the tokens with which programs and people call a server."""

import asyncio
import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args

import click

from moothall.app.environment import resolve_home
from moothall.app.moot import Moot
from moothall.domain.facts import Entry
from moothall.domain.ids import parse_session_id
from moothall.domain.safe_text import one_line
from moothall.errors import BadSetting, NotAllowed, WorldError
from moothall.memory import facts
from moothall.memory.facts import Role
from moothall.memory.tokens import (
    MAX_CODE_LIFE,
    TICKET_LIFE,
    Token,
    format_code,
    load_owner_key,
    parse_code,
    parse_token_id,
)
from moothall.surfaces.cli.arguments import Duration
from moothall.surfaces.cli.output import (
    CommandResult,
    Note,
    format_local,
    json_command,
    moot_command,
)
from moothall.surfaces.cli.ready import describe_server, explain_fault, read_refusal, url_option
from moothall.surfaces.invitations import agent_clients as agents
from moothall.surfaces.invitations.agent_clients import ALL_CLIENTS, Door

WEEK: Final = 604_800.0
MAX_SECONDS: Final = 1e10
"""Seconds beyond every life that a token may have; what is longer is refused there."""
JOIN_SECONDS: Final = 30.0
MAX_ANSWER: Final = 1_000_000
_ACCESS_EVENTS: Final = {
    facts.TokenIssued: "token issued",
    facts.TokenRevoked: "token revoked",
    facts.TicketIssued: "link issued",
    facts.LoginStarted: "signed in",
    facts.LoginEnded: "signed out",
}


@click.command()
@json_command
async def key() -> CommandResult:
    """Print the key with which you call the servers that you run.

    A chat client, curl or a program of yours calls with it. It has all rights, and only you can read its file. Give others a
    token of their own (`moot invite`). It changes when you revoke it (`moot invite --list`, `moot invite --revoke ID`) and start
    the server again.

    \b
    moot access key
    curl -H "Authorization: Bearer $(moot access key)" http://127.0.0.1:8760/me
    """
    home = resolve_home(os.environ)
    secret = load_owner_key(home)
    return CommandResult(
        json={"key": secret, "id": parse_token_id(secret), "home": str(home)}, lines=[secret]
    )


@click.command()
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="At most so many entries.",
)
@moot_command
async def log(moot: Moot, *, limit: int) -> CommandResult:
    """List the last logins, refused secrets, and tokens that were issued or revoked; no secret is among them.

    Refusals of one address are counted together, and of a flood only the figures are recorded.

    \b
    moot access log
    moot access log --limit 1000 --json
    """
    tokens = {token.id: token for token in await moot.access.tokens()}
    rows, lines = [], []
    for entry in await moot.access.load_log(limit):
        for said in _describe_access(entry, tokens):
            row = {name: value for name, value in said.items() if value != ""}
            at, *rest = row.values()
            rows.append(row)
            lines.append("  ".join((format_local(at, "%H:%M:%S"), *map(str, rest))))
    return CommandResult(json=rows, lines=lines or [Note("nobody was let in or refused yet")])


def _describe_access(entry: Entry, tokens: Mapping[str, Token]) -> Iterator[dict[str, Any]]:
    """Yield what an entry of the log says, by address or token."""
    fact, at = entry.fact, entry.at
    if isinstance(fact, facts.SecretsRefused):
        for each in fact.refusals:
            why = ""
            if each.reason:
                why = f"{each.reason} secret"
            yield {
                "at": at,
                "event": "refused",
                "tokenId": each.token,
                "why": why,
                "from": each.address,
                "times": each.count,
            }
        return
    name = str(getattr(fact, "token", "") or getattr(fact, "id", ""))
    whose = ""
    if name in tokens:
        token = tokens[name]
        whose = " ".join(filter(None, (token.role, token.session, token.seat)))
    event = _ACCESS_EVENTS[type(fact)]
    yield {
        "at": at,
        "event": event,
        "tokenId": name,
        "for": whose,
        "from": getattr(fact, "address", ""),
    }


@click.command()
@click.argument("session", required=False)
@click.option("--seat", help="A token for this seat of SESSION only.")
@click.option(
    "--owner",
    is_flag=True,
    help="A token that may open, close and review (all sessions, or only SESSION).",
)
@click.option(
    "--agent",
    "named",
    metavar="NAME",
    help="A token for an agent that decides and takes part under this name; it cannot review, reset or set rules.",
)
@click.option(
    "--operator",
    is_flag=True,
    help="A token that may run sessions (all, or only SESSION); no reset, review or invitation.",
)
@click.option(
    "--recorder", is_flag=True, help="A token that may record decisions, for any agent, and read."
)
@click.option(
    "--observer", is_flag=True, help="A token that may read (all sessions, or only SESSION)."
)
@click.option(
    "--lasts", type=Duration(), default=WEEK, help="How long the token is valid. Default: 7d."
)
@url_option
@click.option(
    "--for",
    "agent",
    type=click.Choice(sorted(ALL_CLIENTS)),
    help="Print only the configuration of this coding agent.",
)
@click.option(
    "--stdio",
    is_flag=True,
    help="For an agent on this machine that starts `moot mcp` itself, without a server.",
)
@click.option(
    "--code",
    "is_code",
    is_flag=True,
    help="Print a code in place of the token: for 15 minutes, or --lasts up to 1d; works once.",
)
@click.option(
    "--family",
    default="",
    help="The model (family) of the agent in this seat: agents of one family count for less.",
)
@click.option("--note", default="", help="Stored with the token.")
@click.option("--list", "is_listing", is_flag=True, help="List all tokens.")
@click.option("--revoke", metavar="ID", help="Revoke a token.")
@moot_command
async def invite(
    moot: Moot,
    *,
    url: str,
    agent: str | None,
    stdio: bool,
    is_listing: bool,
    revoke: str | None,
    **wanted: Any,
) -> CommandResult:
    """Create, list and revoke tokens for a server.

    With a new token, which is shown once, it prints what to paste into a coding agent so that the agent takes its seat.

    \b
    moot invite think_20261115_001 --seat minski
    moot invite think_20261115_001 --seat minski --for claude --stdio
    moot invite think_20261115_001 --seat emerson --family gpt-5
    moot invite think_20261115_001 --seat minski --code
    moot invite --owner --lasts 30d
    moot invite --operator --lasts 30d
    moot invite --agent ada --lasts 30d
    moot invite --list
    moot invite --revoke 6412413f
    """
    if is_listing:
        tokens = await moot.access.tokens()
        return CommandResult(json={"tokens": tokens}, lines=_list_tokens(tokens))
    if revoke is not None:
        token = await moot.access.revoke(revoke)
        return CommandResult(json={"tokens": [token]}, lines=[f"revoked {token.id}"])
    if wanted["is_code"] and stdio:
        raise BadSetting("a code is for another machine; leave --stdio out")
    return await _create_token(moot, url="" if stdio else url, agent=agent, **wanted)


async def _create_token(
    moot: Moot,
    *,
    url: str,
    agent: str | None,
    session: str | None,
    seat: str | None,
    named: str | None,
    lasts: float,
    note: str,
    family: str,
    is_code: bool,
    **flags: bool,
) -> CommandResult:
    """Create a token, and say how to use it; without a URL the agent starts `moot mcp` itself."""
    role = await _choose_role(moot, session, seat, named, flags)
    issued = await moot.access.issue(
        role,
        session=session or "",
        seat=named or seat or "",
        lasts=timedelta(seconds=min(lasts, MAX_SECONDS)),
        note=note,
        family=family,
    )
    if is_code:
        return await _create_code(moot, issued.id, url, session, named or seat, lasts=lasts)
    prompt = ""
    if session is not None and seat is not None:
        prompt = await _build_prompt(moot, session, seat)
    link, is_serving, serving = "", None, ""
    if url:
        ticket = (await moot.access.issue_ticket(issued.id, agents.INVITE_TICKET)).secret
        path = "/"
        if session and seat:
            path = f"/seat/{session}/{seat}"
        elif session:
            path = f"/s/{session}"
        link = agents.build_login_link(url, ticket, path)
        is_serving, serving = await describe_server(url)
    door = Door.over_http(url, issued.secret) if url else Door.over_stdio(os.environ, issued.secret)
    clients = {
        name: {
            "settings": client.build_entry(door),
            "headless": (prompt and client.build_headless(prompt)) or None,
        }
        for name, client in ALL_CLIENTS.items()
        if agent in {None, name}
    }
    result = {
        "tokenId": issued.id,
        "token": issued.secret,
        "sessionId": session,
        "seat": named or seat,
        "url": url or None,
        "serving": is_serving,
        "link": link or None,
        "prompt": prompt,
        "agents": clients,
    }
    return CommandResult(
        json=result,
        lines=[
            agents.render_invitation(
                issued.secret, door, prompt, agent=agent, serving=serving, link=link
            )
        ],
    )


async def _create_code(
    moot: Moot, token: str, url: str, session: str | None, seat: str | None, *, lasts: float
) -> CommandResult:
    """Create a code for a new token: its secret is shown to nobody."""
    life = timedelta(seconds=lasts) if lasts <= MAX_CODE_LIFE.total_seconds() else TICKET_LIFE
    code = format_code((await moot.access.issue_code(token, life)).secret)
    line = f"moot join {code} --url {url}"
    notes = [
        Note(
            f"the code works once, within {life.total_seconds() / 60:.0f} minutes; in a browser it is taken at /login"
        )
    ]
    return CommandResult(
        json={
            "tokenId": token,
            "code": code,
            "sessionId": session,
            "seat": seat,
            "url": url,
            "command": line,
        },
        lines=[code, line, *notes, Note((await describe_server(url))[1])],
    )


async def _choose_role(
    moot: Moot, session: str | None, seat: str | None, named: str | None, flags: Mapping[str, bool]
) -> Role:
    """Return the one role that was chosen. Raises BadSetting when it is not one, or does not fit what else was given."""
    roles = {"seat": seat is not None, "agent": named is not None, **flags}
    chosen: list[Role] = [role for role in get_args(Role) if roles[role]]
    if len(chosen) != 1:
        raise BadSetting(
            "choose one: --seat NAME (with a SESSION), --agent NAME, --owner, --operator, --recorder or --observer"
        )
    if named is not None and session is not None:
        raise BadSetting(
            "an agent's token is for all sessions; leave the SESSION out, or invite it to one seat with --seat"
        )
    if session is not None:
        # Imported here: it brings the rules for opening sessions, and `moot access key` starts without them.
        from moothall.app.opening import check_invitation

        check_invitation(await moot.engine.load_snapshot(parse_session_id(session)), seat)
    elif seat is not None:
        raise BadSetting("a seat belongs to a session: moot invite SESSION --seat NAME")
    return chosen[0]


async def _build_prompt(moot: Moot, session: str, seat: str) -> str:
    from moothall.surfaces.api.views import build_seat_prompt

    return build_seat_prompt(await moot.engine.load_snapshot(parse_session_id(session)), seat)


def _list_tokens(tokens: list[Token]) -> Iterator[str]:
    if not tokens:
        yield Note("no tokens yet; create one: moot invite --owner")
    for token in tokens:
        where = " ".join(part for part in (token.session or "all sessions", token.seat) if part)
        until = "expired" if token.expires <= datetime.now(UTC) else "until"
        state = (
            f"revoked {format_local(token.revoked_at)}"
            if token.revoked_at
            else f"{until} {format_local(token.expires)}"
        )
        family = f"  {token.family}" if token.family else ""
        yield f"{token.id}  {token.role}  {where}  {state}{family}  {one_line(token.note)}".rstrip()


@click.command()
@click.argument("code")
@url_option
@click.option(
    "--for",
    "agent",
    type=click.Choice(sorted(ALL_CLIENTS)),
    help="Print only the configuration of this coding agent.",
)
@json_command
async def join(code: str, url: str, agent: str | None) -> CommandResult:
    """Exchange a code of `moot invite --code` for a token of your own, and print what to paste into a coding agent.

    The code works once. The token has the rights that the code was made for, and ends with them.

    \b
    moot join 7K3Q-9XRA --url http://192.168.1.20:8760
    moot join 7K3Q-9XRA --url https://moot.example.org --for claude
    """
    if not parse_code(code):
        raise BadSetting(
            f"{code[:40]!r} is not a code; expected eight letters and digits, such as 7K3Q-9XRA"
        )
    given = await asyncio.to_thread(_exchange_code, f"{url}/join", code)
    text = agents.render_invitation(
        given["token"], Door.over_http(url, given["token"]), given["prompt"], agent=agent
    )
    return CommandResult(json={**given, "url": url}, lines=[text])


def _exchange_code(address: str, code: str) -> dict[str, Any]:
    """What the server gives for the code. Raises NotAllowed with its reason, WorldError where none answers."""
    body = json.dumps({"code": code}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})  # noqa: S310 - checked by the caller
    try:
        with urllib.request.urlopen(request, timeout=JOIN_SECONDS) as response:  # noqa: S310
            given = json.loads(response.read(MAX_ANSWER))
            return {
                name: str(given[name]) for name in ("token", "role", "sessionId", "seat", "prompt")
            }
    except urllib.error.HTTPError as error:
        raise NotAllowed(
            read_refusal(error, "error") or f"the server answered {error.code}"
        ) from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise WorldError(
            f"no server of Moot answers at {address}: {explain_fault(error)}"
        ) from error
