"""`moot notify`: who learns by webhook, chat or mail of a seat's turn, the end of a session, an obligation that is due."""

import os
import sys
from dataclasses import replace
from typing import Any, Final, get_args

import click

from moothall.app.environment import load_server_url
from moothall.domain.safe_text import encode_fields
from moothall.features.notices.library import Notices
from moothall.features.notices.receivers import Hook, find_hook
from moothall.features.notices.register import EventKind
from moothall.plugins import (
    Language,
    LanguageChoice,
    Moot,
    Note,
    resolve_home,
)
from moothall.surfaces.cli.output import CommandResult, json_command, moot_command
from moothall.surfaces.cli.ready import ServerUrl

WHO_DELIVERS: Final = (
    "`moot serve` of this home delivers while it runs: start it, or keep it running"
)


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
    *,
    url: str,
    session: str,
    seat: str,
    events: tuple[EventKind, ...],
    page: str,
    language: Language,
    owner: bool,
    is_private: bool,
) -> CommandResult:
    """Add a receiver: a webhook, whose key is printed, or an address of chat or mail as apprise has them (the extra `notify`).

    An address of chat or mail is a secret: with - it is read from standard input, and it is shown nowhere.

    \b
    moot notify add https://example.com/moot --page https://moot.example.com
    moot notify add http://127.0.0.1:9000/ --private --seat ada --event turn
    moot notify add - --owner < address.txt
    moot notify add ntfys://ntfy.sh/our-board --session 2026-11-17-port
    """
    url = sys.stdin.readline().strip() if url == "-" else url
    hook = Notices(Moot()).add(
        url,
        session=session,
        seat=seat,
        events=events,
        owner=owner,
        page=page,
        language=language,
        private=is_private,
    )
    lines: list[str | Note] = [f"{hook.id}  {hook.place}"]
    if hook.secret:
        lines.append(f"key: {hook.secret}")
    lines.append(Note(WHO_DELIVERS))
    lines.append(Note(f"try it: moot notify test {hook.id}"))
    return CommandResult(json=_describe(hook) | {"secret": hook.secret}, lines=lines)


@notify.command(name="list")
@moot_command
async def list_receivers(moot: Moot) -> CommandResult:
    """List the receivers, with how many notices reached them and how many were given up.

    \b
    moot notify list
    """
    states = await Notices(moot).receivers()
    rows: list[dict[str, Any]] = []
    for each in states:
        counts = {"delivered": each.delivered, "givenUp": each.given_up, "served": each.is_served}
        rows.append(_describe(each.receiver) | counts)
    lines: list[str | Note] = [_format_receiver(row) for row in rows]
    if not rows:
        lines.append(Note("no receivers yet; add one: moot notify add URL"))
    elif not any(each.is_served for each in states):
        lines.append(Note(f"nobody delivers now: {WHO_DELIVERS}"))
    return CommandResult(json=rows, lines=lines)


@notify.command()
@click.argument("receiver")
@json_command
async def test(*, receiver: str) -> CommandResult:
    """Send a receiver a notice now, and say whether it was taken.

    \b
    moot notify test 6412413f
    """
    notices = Notices(Moot())
    name = await notices.test(receiver)
    place = find_hook(resolve_home(os.environ), receiver).place
    return CommandResult(
        json={"id": name, "delivered": True}, lines=[f"{place} took the notice {name}"]
    )


@notify.command()
@click.argument("receiver")
@json_command
async def remove(*, receiver: str) -> CommandResult:
    """Remove a receiver: nothing more is sent to it.

    \b
    moot notify remove 6412413f
    """
    hook = Notices(Moot()).remove(receiver)
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
