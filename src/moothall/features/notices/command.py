"""`moot notify`: who learns by webhook, chat or mail of a seat's turn, the end of a session, an obligation that is due."""

import base64
import os
import secrets
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

import click

from moothall.app.environment import load_server_url
from moothall.domain.safe_text import encode_fields
from moothall.errors import ProviderRefused
from moothall.features.notices.receivers import (
    KEY_PREFIX,
    Hook,
    Notice,
    change_hooks,
    deliver,
    find_hook,
    is_chat_address,
    load_hooks,
    parse_receiver,
)
from moothall.features.notices.register import TEST, EventKind, NoticeId, open_notice_register
from moothall.features.notices.words import NOTICES
from moothall.plugins import (
    BadSetting,
    LanguageChoice,
    Moot,
    Note,
    parse_seat_id,
    parse_session_id,
    resolve_home,
)
from moothall.surfaces.cli.output import CommandResult, json_command, moot_command
from moothall.surfaces.cli.ready import ServerUrl


@click.group()
def notify() -> None:
    """Tell a receiver by signed webhook, chat or mail when it is a seat's turn, a session ends or an obligation is due.

    A running `moot serve` of this home delivers. What happens while it or the receiver is down is delivered later, in the order
    of each session, under an id that never changes. Receivers and their keys are in notices.json of MOOT_HOME, which nobody else
    can read.

    \b
    moot notify add https://example.com/moot
    moot notify list
    """


@notify.command()
@click.argument("url", metavar="ADDRESS")
@click.option("--session", default="", help="Only of this session.")
@click.option(
    "--seat",
    default="",
    help="Only turns of this seat, and what becomes of the sessions that it sits in.",
)
@click.option(
    "--owner", is_flag=True, help="Not the turns of seats: ends, outages, obligations and breakers."
)
@click.option(
    "--event",
    "events",
    multiple=True,
    type=click.Choice(get_args(EventKind)),
    help="Only this; repeatable.",
)
@click.option(
    "--page",
    type=ServerUrl(),
    default=lambda: load_server_url(os.environ),
    help="The address of your server, for the links.",
)
@click.option(
    "--language",
    type=LanguageChoice(),
    default="en",
    help="Of what belongs to no session. Default: en.",
)
@click.option(
    "--private",
    "is_private",
    is_flag=True,
    help="It may be on this machine or in a private network.",
)
@json_command
async def add(
    *, url: str, session: str, seat: str, page: str, owner: bool, is_private: bool, **given: Any
) -> CommandResult:
    """Add a receiver: a webhook, whose key is printed, or an address of chat or mail as apprise has them (the extra `notify`).

    An address of chat or mail is a secret: with - it is read from standard input, and it is shown nowhere.

    \b
    moot notify add https://example.com/moot --page https://moot.example.com
    moot notify add http://127.0.0.1:9000/ --private --seat ada --event turn
    moot notify add - --owner < address.txt
    moot notify add ntfys://ntfy.sh/our-board --session 2026-11-17-port
    """
    if owner and (seat or given["events"]):
        raise BadSetting(
            "--owner is all but the turns of seats; give it without --seat and --event"
        )
    url = sys.stdin.readline().strip() if url == "-" else url
    parse_receiver(url, is_private=is_private)
    names: dict[str, Any] = {
        "session": session and parse_session_id(session),
        "seat": seat and parse_seat_id(seat),
        "page": page,
        "is_private": is_private,
    }
    if owner:
        given["events"] = tuple(each for each in get_args(EventKind) if each != "turn")
    key = ""
    if not is_chat_address(url):
        key = KEY_PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
    hook = Hook(
        id=secrets.token_hex(4), url=url, secret=key, since=datetime.now(UTC), **names, **given
    )
    change_hooks(resolve_home(os.environ), lambda hooks: [*hooks, hook])
    lines: list[str | Note] = [f"{hook.id}  {hook.place}"]
    if key:
        lines.append(f"key: {key}")
    lines.append(Note(f"try it: moot notify test {hook.id}"))
    return CommandResult(json=_describe(hook) | {"secret": key}, lines=lines)


@notify.command(name="list")
@moot_command
async def list_receivers(moot: Moot) -> CommandResult:
    """List the receivers, with how many notices reached them and how many were given up.

    \b
    moot notify list
    """
    book = await open_notice_register(moot.ledger, moot.clock).state()
    rows = [
        _describe(hook) | {"delivered": book[hook.id].delivered, "givenUp": book[hook.id].lost}
        for hook in load_hooks(resolve_home(os.environ))
    ]
    lines = [_format_receiver(row) for row in rows]
    return CommandResult(
        json=rows, lines=lines or [Note("no receivers yet; add one: moot notify add URL")]
    )


@notify.command()
@click.argument("receiver")
@json_command
async def test(*, receiver: str) -> CommandResult:
    """Send a receiver a notice now, and say whether it was taken.

    \b
    moot notify test 6412413f
    """
    hook = find_hook(resolve_home(os.environ), receiver)
    text = NOTICES[hook.language].test.format(link=hook.page)
    now = datetime.now(UTC)
    notice = Notice(
        id=NoticeId(event=TEST, at=now),
        at=now,
        text=text,
        link=hook.page,
        language=hook.language,
    )
    if failure := await deliver(hook, notice):
        raise ProviderRefused(f"{hook.place} did not take the notice: {failure}")
    name = notice.id.text
    return CommandResult(
        json={"id": name, "delivered": True}, lines=[f"{hook.place} took the notice {name}"]
    )


@notify.command()
@click.argument("receiver")
@json_command
async def remove(*, receiver: str) -> CommandResult:
    """Remove a receiver: nothing more is sent to it.

    \b
    moot notify remove 6412413f
    """
    home = resolve_home(os.environ)
    hook = find_hook(home, receiver)
    change_hooks(home, lambda hooks: [each for each in hooks if each.id != receiver])
    return CommandResult(json=_describe(hook), lines=[f"removed {hook.id}  {hook.place}"])


def _format_receiver(row: dict[str, Any]) -> str:
    session = row["sessionId"] or "all sessions"
    seat = row["seat"] or "all seats"
    events = ", ".join(row["events"]) or "all events"
    counts = f"{row['delivered']} delivered, {row['givenUp']} given up"
    return f"{row['id']}  {row['place']}  {session}  {seat}  {events}  {counts}"


def _describe(hook: Hook) -> dict[str, Any]:
    """A receiver without its secrets."""
    return {"place": hook.place, **encode_fields(replace(hook, url="", secret=""))}
