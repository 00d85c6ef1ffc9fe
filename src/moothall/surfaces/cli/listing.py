"""The command that lists sessions. A module of its own: it is called most often, and imports little."""

from typing import TYPE_CHECKING, Final

import click

from moothall.app.moot import Moot
from moothall.app.session_list import SessionLine
from moothall.domain.safe_text import one_line
from moothall.surfaces.cli import output

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from moothall.domain.ids import SessionId
    from moothall.memory.register import ArchivedSession

_STANDING_STYLES: Final = {"decided": "green", "parked": "yellow", "waiting": "yellow", "stopped": "yellow", "damaged": "red"}


@click.command("list")
@click.option("--search", "query", default="", metavar="WORDS", help="Only sessions on such a topic, the best match last.")
@click.option("--open", "is_open", is_flag=True, help="Only sessions that have not ended.")
@click.option("--archived", "is_archived", is_flag=True, help="The sessions that are in archives, and in which.")
@output.json_option
def list_sessions(query: str, is_open: bool, is_archived: bool, as_json: bool) -> None:
    """List all sessions, the most recently active last.

    Each is decided (with what and what that is worth), undecided, parked (it waits for an answer from outside), running, stopped
    (it goes on with `moot resume`) or cancelled.

    \b
    moot list
    moot list --open --search "database"
    """

    async def work() -> None:
        async with Moot() as moot:
            archived = await moot.session_list.load_archived()
            if is_archived:
                _show_archived(archived, as_json=as_json)
                return
            sessions = (await moot.session_list.search(query))[::-1] if query else await moot.sessions()
            wanted = [line for line in sessions if not is_open or line.status in {"thinking", "parked"}]
            lines = await moot.session_list.add_outcomes(wanted)
        if archived and not (as_json or query or is_open):
            output.print_note(f"archived: {len(archived)} more; moot list --archived says where")
        if as_json:
            output.print_json(lines)
        elif lines:
            _show_sessions(lines)
            for line in lines:
                if line.parked:
                    output.print_note(f"{line.session} is parked: {one_line(line.parked)}; moot resume {line.session}")
        elif query or is_open:
            output.print_note("no session matches")
        else:
            output.print_note('No sessions yet. Hold one: moot run "Should we …?"')

    output.run(work, as_json=as_json)


def _show_archived(archived: "Mapping[SessionId, ArchivedSession]", *, as_json: bool) -> None:
    if as_json:
        output.print_json(
            [{"session": name, "file": each.file, "at": each.at, "entries": each.head.seq} for name, each in archived.items()]
        )
    for name, each in archived.items() if not as_json else ():
        output.print_line(f"{name}  archived {each.at:%Y-%m-%d} in {each.file}")
    if not archived and not as_json:
        output.print_note("no session is archived")


def _show_sessions(lines: list[SessionLine]) -> None:
    """The sessions, the newest last: a table for a person, whole lines for a pipe."""
    console = output.build_console()
    if console.is_terminal:
        console.print(_build_table(lines))
        return
    for line in lines:
        opened = f"{line.opened_at:%Y-%m-%d %H:%M}"
        # Not through the console: it would make blanks of the tabs.
        decided = f"{line.strength or '–'}\t{one_line(line.choice) or '–'}"
        click.echo(f"{line.session}\t{_name_protocol(line)}\t{line.standing}\t{opened}\t{one_line(line.topic)}\t{decided}")


def _name_protocol(line: SessionLine) -> str:
    return f"{line.protocol} (demo)" if line.is_demo else line.protocol


def _build_table(lines: list[SessionLine]) -> "Table":
    # Imported here: a reader from a pipe needs no table.
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
    for head in ("session", "protocol", "status", "worth", "decided", "opened", "topic"):
        table.add_column(head, no_wrap=True, overflow="ellipsis", ratio=1 if head in {"topic", "decided"} else None)
    for line in lines:
        table.add_row(
            line.session,
            _name_protocol(line),
            Text(line.standing or line.status, style=_STANDING_STYLES.get(line.standing or "", "")),
            line.strength or "–",
            Text(one_line(line.choice) or "–"),
            f"{line.opened_at:%Y-%m-%d %H:%M}",
            Text(one_line(line.topic)),
        )
    return table
