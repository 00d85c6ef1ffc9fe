"""`moot serve`, `moot mcp`, `moot invite`: the doors for other programs."""

import asyncio
import logging
import os
import socket
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from types import FrameType
from typing import TYPE_CHECKING

import click

from moothall.app.environment import resolve_home
from moothall.app.moot import Moot
from moothall.app.opening import check_invitation
from moothall.app.owner_key import NOTE as OWNER_NOTE
from moothall.app.owner_key import adopt_owner_key, is_loopback, load_owner_key
from moothall.app.runner import RUNNER, is_run_by_workers
from moothall.app.traces import open_tracer
from moothall.domain.ids import parse_session_id
from moothall.domain.safe_text import one_line
from moothall.errors import BadSetting, LedgerUnavailable, MootError, NotAllowed
from moothall.memory.facts import Role
from moothall.memory.tokens import IssuedToken, Token, TokenStore, parse_token_id
from moothall.ports.telemetry import Telemetry
from moothall.surfaces.cli import output as out
from moothall.surfaces.cli.duration import Duration
from moothall.surfaces.invitations.agent_clients import CLIENTS, Door
from moothall.surfaces.invitations.entries import INVITE_TICKET, build_login_link, describe_server, is_serving, render_invitation

if TYPE_CHECKING:
    from moothall.surfaces.http.server_settings import ServerSettings

PORT = 8760
BACKLOG = 2_048
WEEK = 604_800.0
BROWSER_NOTE = "for the browser that `moot serve` signs in"
"""The note of the tokens that earlier versions made for their browsers."""
FOREVER = 1e10
"""Seconds beyond every life that a token may have; what is longer is refused there."""


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=PORT, show_default=True, help="0 chooses a free port.")
@click.option("--open", "opens", is_flag=True, help="Open the page in the browser.")
@click.option("--workers", is_flag=True, help="Leave the running of sessions to `moot worker` (as MOOT_RUNNER=workers does).")
@click.option("--log-level", type=click.Choice(["error", "warning", "info", "debug"]), default="warning", show_default=True)
def serve(host: str, port: int, opens: bool, workers: bool, log_level: str) -> None:
    """Serve the page, JSON-RPC, MCP and events on one port.

    The page is at /; programs call /rpc (JSON-RPC 2.0), /mcp (MCP), /v1 (OpenAI's chat API), /events (a stream), /livez, /readyz
    and /metrics.

    The link that is printed opens the page and signs a browser in; it works once, within a quarter of an hour.

    Every request needs a token, also from this machine. Yours is the key of MOOT_HOME, which nobody else can read: the printed
    link signs your browser in with it, `moot connect` writes it into your agents' settings, `moot key` prints it. On an address
    that other machines reach, the server does not start while no other valid token exists (`moot invite --owner`).

    server.toml in MOOT_HOME says which programs the server may start for seats, and how much each token may ask.

    \b
    moot serve
    moot serve --open
    moot invite --owner && moot serve --host 0.0.0.0
    MOOT_LEDGER=postgresql://moot@db/moot moot serve --workers
    """
    if workers:
        os.environ[RUNNER] = "workers"
    is_local = is_loopback(host)

    async def prepare() -> tuple[str, "ServerSettings"]:
        from moothall.surfaces.http.server_settings import load_server_settings

        if is_run_by_workers(os.environ):
            from moothall.app.shared_runner import resolve_shared_ledger

            resolve_shared_ledger(os.environ)

        settings = load_server_settings(resolve_home(os.environ))
        return await _prepare_login(is_local, host), settings

    ticket, settings = out.run(prepare)
    listening = open_socket(host, port)
    from moothall.surfaces.http.app import build_app

    logging.basicConfig(level=log_level.upper(), format="%(levelname)s %(name)s: %(message)s")
    traces = ExitStack()
    try:
        telemetry = Telemetry(tracer=traces.enter_context(open_tracer(os.environ, settings.traces)))
    except MootError as error:
        out.fail(error)
    address = listening.getsockname()
    shown = f"[{address[0]}]" if ":" in address[0] else address[0]
    out.print_line(
        f"Moot serves on http://{shown}:{address[1]}  ·  /rpc  /mcp  /v1  /events/SESSION  /readyz  /metrics  ·  Ctrl-C stops"
    )
    # A server on all addresses is reached from here by the name of this machine to itself.
    link = build_login_link(f"http://{_name_for_browser(shown)}:{address[1]}", ticket)
    out.print_line(f"Open in a browser: {link}")
    if opens and not _open_browser(link):
        out.print_note("no browser could be opened here; open the link above yourself")
    app = build_app(Moot(telemetry=telemetry), is_local=is_local, settings=settings)
    import uvicorn

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            await super().shutdown(sockets)
            # Here and not at the end: the signal that stopped the server is raised again before that.
            await asyncio.to_thread(traces.close)

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            app.state.site.stop()
            super().handle_exit(sig, frame)

    config = uvicorn.Config(
        app,
        log_level=log_level,
        # Otherwise every answer is described to a logger that does not want it.
        access_log=log_level in {"debug", "info"},
        timeout_graceful_shutdown=3,
        server_header=False,
        # Not the library's default, which believes every program on this machine, or what a variable says.
        proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies),
    )
    Server(config).run(sockets=[listening])


def _name_for_browser(shown: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(shown, shown)  # noqa: S104 - compared, not bound


def _open_browser(link: str) -> bool:
    """Whether a browser was started with the page."""
    import webbrowser

    try:
        return webbrowser.open(link)
    except (webbrowser.Error, OSError):
        return False


async def _prepare_login(is_local: bool, host: str) -> str:
    """A ticket of an owner for the first browser, after a check that somebody may come in at all; raises NotAllowed."""
    async with Moot() as moot:
        now = datetime.now(UTC)
        live = [token for token in await moot.access.tokens() if token.revoked_at is None and token.expires > now]
        # The key lets only this machine's user in, and the secret of an older browser's token is lost.
        if not is_local and all(token.note in {BROWSER_NOTE, OWNER_NOTE} for token in live):
            raise NotAllowed(
                f"{host} can be reached from other machines, and no valid token exists; create one (moot invite --owner), "
                "or serve on 127.0.0.1"
            )
        return (await moot.access.issue_ticket(parse_token_id(await adopt_owner_key(moot)))).secret


def open_socket(host: str, port: int) -> socket.socket:
    """The socket to serve on; ends with one sentence when it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
        # From here on whoever connects waits for the server instead of being refused.
        found.listen(BACKLOG)
    except OSError as cause:
        found.close()
        why = cause.strerror or str(cause)
        out.fail(LedgerUnavailable(f"{host}:{port} cannot be bound: {why}; choose another --host or --port"))
    return found


@click.command()
@out.json_option
def key(as_json: bool) -> None:
    """Print the key with which you call the servers that you run.

    A chat client, curl or a program of yours calls with it. It has all rights, and only you can read its file. Give
    others a token of their own (`moot invite`). It changes when you revoke it (`moot invite --list`, `moot invite --revoke ID`)
    and start the server again.

    \b
    moot key
    curl -H "Authorization: Bearer $(moot key)" http://127.0.0.1:8760/me
    """

    async def work() -> None:
        home = resolve_home(os.environ)
        found = load_owner_key(home)
        out.print_json({"key": found, "id": parse_token_id(found), "home": str(home)}) if as_json else out.print_line(found)

    out.run(work, as_json=as_json)


@click.command()
@click.argument("session", required=False)
@click.option("--seat", help="A token for this seat of SESSION only.")
@click.option("--owner", is_flag=True, help="A token that may open, close and review (all sessions, or only SESSION).")
@click.option(
    "--agent",
    "named",
    metavar="NAME",
    help="A token for an agent that decides and takes part under this name; it cannot review, reset or set rules.",
)
@click.option(
    "--operator", is_flag=True, help="A token that may run sessions (all, or only SESSION); no reset, review or invitation."
)
@click.option("--recorder", is_flag=True, help="A token that may record decisions, for any agent, and read.")
@click.option("--observer", is_flag=True, help="A token that may read (all sessions, or only SESSION).")
@click.option("--lasts", type=Duration(), default=WEEK, help="How long the token is valid. Default: 7d.")
@click.option("--url", default=f"http://127.0.0.1:{PORT}", show_default=True, help="The address of the server.")
@click.option("--for", "agent", type=click.Choice(sorted(CLIENTS)), help="Print only the configuration of this coding agent.")
@click.option("--stdio", is_flag=True, help="For an agent on this machine that starts `moot mcp` itself, without a server.")
@click.option("--family", default="", help="The model (family) of the agent in this seat: agents of one family count for less.")
@click.option("--note", default="", help="Stored with the token.")
@click.option("--list", "listing", is_flag=True, help="List all tokens.")
@click.option("--revoke", metavar="ID", help="Revoke a token.")
@out.json_option
def invite(
    *,
    session: str | None,
    seat: str | None,
    owner: bool,
    named: str | None,
    operator: bool,
    recorder: bool,
    observer: bool,
    lasts: float,
    url: str,
    agent: str | None,
    stdio: bool,
    family: str,
    note: str,
    listing: bool,
    revoke: str | None,
    as_json: bool,
) -> None:
    """Create, list and revoke tokens for a server.

    With a new token, which is shown once, it prints what to paste into a coding agent so that the agent takes its seat.

    \b
    moot invite think_20261115_001 --seat minski
    moot invite think_20261115_001 --seat minski --for claude --stdio
    moot invite think_20261115_001 --seat emerson --family gpt-5
    moot invite --owner --lasts 30d
    moot invite --operator --lasts 30d
    moot invite --agent ada --lasts 30d
    moot invite --list
    moot invite --revoke 6412413f
    """

    async def work() -> None:
        async with Moot() as moot:
            if listing:
                _show_tokens(await moot.access.tokens(), as_json)
                return
            if revoke is not None:
                token = await moot.access.revoke(revoke)
                out.print_json(token) if as_json else out.print_line(f"revoked {token.id}")
                return
            issued = await _issue_token(moot)
            prompt = await _build_prompt(moot, session, seat) if session is not None and seat is not None else ""
            link = "" if stdio else await build_invitation_link(moot.access, issued.id, url, session=session, seat=seat)
        door = Door.over_stdio(os.environ, issued.secret) if stdio else Door.over_http(url, issued.secret)
        if as_json:
            out.print_json(
                {
                    "id": issued.id,
                    "token": issued.secret,
                    "session": session,
                    "seat": named or seat,
                    "url": None if stdio else url,
                    "serving": None if stdio else await is_serving(url),
                    "link": link or None,
                    "prompt": prompt,
                    "agents": {
                        key: {
                            "settings": client.build_entry(door),
                            "headless": client.build_headless(prompt) or None if prompt else None,
                        }
                        for key, client in CLIENTS.items()
                        if agent in {None, key}
                    },
                }
            )
        else:
            serving = "" if stdio else await describe_server(url)
            out.print_line(render_invitation(issued.secret, door, prompt, agent=agent, serving=serving, link=link))

    async def _build_prompt(moot: Moot, session: str, seat: str) -> str:
        from moothall.surfaces.api.toolsets import find_conference_name, find_session_kind
        from moothall.surfaces.invitations.join_prompt import build_join_prompt

        snapshot = await moot.engine.load_snapshot(parse_session_id(session))
        opened = snapshot.session_state.opened
        return build_join_prompt(
            find_session_kind(snapshot),
            opened.language,
            session=find_conference_name(opened) or session,
            seat=seat,
            has_token=True,
            has_consultations=opened.consult is not None,
        )

    async def _issue_token(moot: Moot) -> IssuedToken:
        given: dict[Role, bool] = {
            "seat": seat is not None,
            "owner": owner,
            "agent": named is not None,
            "operator": operator,
            "recorder": recorder,
            "observer": observer,
        }
        chosen = [role for role, is_given in given.items() if is_given]
        if len(chosen) != 1:
            raise BadSetting(
                "choose one: --seat NAME (with a SESSION), --agent NAME, --owner, --operator, --recorder or --observer"
            )
        if named is not None and session is not None:
            raise BadSetting("an agent's token is for all sessions; leave the SESSION out, or invite it to one seat with --seat")
        if session is not None:
            check_invitation(await moot.engine.load_snapshot(parse_session_id(session)), seat)
        elif seat is not None:
            raise BadSetting("a seat belongs to a session: moot invite SESSION --seat NAME")
        lasting = timedelta(seconds=min(lasts, FOREVER))
        return await moot.access.issue(
            chosen[0], session=session or "", seat=named or seat or "", lasts=lasting, note=note, family=family
        )

    out.run(work, as_json=as_json)


async def build_invitation_link(access: TokenStore, token: str, url: str, *, session: str | None, seat: str | None) -> str:
    """A link that signs one browser in with the rights of a token, at the place that it is for."""
    ticket = (await access.issue_ticket(token, INVITE_TICKET)).secret
    place = f"/seat/{session}/{seat}" if session and seat else f"/s/{session}" if session else "/"
    return build_login_link(url, ticket, place)


def _show_tokens(tokens: list[Token], as_json: bool) -> None:
    if as_json:
        out.print_json(tokens)
        return
    if not tokens:
        out.print_note("no tokens yet; create one: moot invite --owner")
    for token in tokens:
        where = " ".join(part for part in (token.session or "all sessions", token.seat) if part)
        state = f"revoked {token.revoked_at:%Y-%m-%d}" if token.revoked_at else f"until {token.expires:%Y-%m-%d %H:%M} UTC"
        family = f"  {token.family}" if token.family else ""
        out.print_line(f"{token.id}  {token.role}  {where}  {state}{family}  {one_line(token.note)}".rstrip())
