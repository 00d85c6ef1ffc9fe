"""The commands that list and label sessions. A module of its own: a list is called most often, and imports little."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from moothall.app.moot import Moot
from moothall.app.session_list import SessionLine
from moothall.domain.safe_text import one_line
from moothall.errors import BadSetting
from moothall.surfaces.cli import output
from moothall.surfaces.cli.main import guess_language
from moothall.surfaces.cli.output import CommandResult, Note

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from moothall.domain.ids import SessionId
    from moothall.locale.catalogues import SessionCommandText
    from moothall.memory.register import ArchivedSession

NARROW, WIDE = 100, 140
"""Below the one, question and decision need a line each; from the other on, there is room for the rest."""
SHOWN: Final = 50
"""How many sessions a person is shown who names no number."""
_STANDING_STYLES: Final = {
    "decided": "green",
    "parked": "yellow",
    "waiting": "yellow",
    "stopped": "yellow",
    "damaged": "red",
}


@click.command("list")
@click.option(
    "--search",
    "query",
    default="",
    metavar="WORDS",
    help="Only sessions on such a topic, the best match last.",
)
@click.option("--open", "is_open", is_flag=True, help="Only sessions that have not ended.")
@click.option("--tag", default="", metavar="TAG", help="Only sessions that have this tag.")
@click.option(
    "--away", "is_away", is_flag=True, help="The sessions that were put away (`moot label`)."
)
@click.option(
    "--archived",
    "is_archived",
    is_flag=True,
    help="The sessions that are in archives, and in which.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=None,
    metavar="N",
    help=f"Show only the last N; 0: all. Default: {SHOWN} in a terminal; a pipe and --json get all.",
)
@output.moot_command
async def list_sessions(
    moot: Moot,
    *,
    query: str,
    is_open: bool,
    tag: str,
    is_away: bool,
    is_archived: bool,
    limit: int | None,
) -> CommandResult:
    """List all sessions, the most recently active last.

    Each is decided (with what and what that is worth), undecided, parked (it waits for an answer from outside), running, stopped
    (it goes on with `moot resume`) or cancelled.

    \b
    moot list
    moot list --open --search "database"
    moot list --limit 0
    """
    archived = await moot.session_list.load_archived()
    if is_archived:
        return _describe_archived(archived)
    if query:
        sessions = (await moot.session_list.search(query))[::-1]
    else:
        sessions = await moot.sessions()
    wanted, away = [], []
    labelled = await moot.session_list.add_labels(sessions)
    for line, label in zip(sessions, labelled, strict=True):
        if is_open and line.status not in {"thinking", "parked"}:
            continue
        if tag and tag not in label.tags:
            continue
        wanted.append(line)
        if label.is_away:
            away.append(line)
    total, notes = len(wanted), []
    if is_away:
        wanted = away
    elif away and not query and not tag:
        # What is searched for is shown wherever it is.
        wanted = [line for line in wanted if line not in away]
        notes.append(Note(f"put away: {len(away)} more; moot list --away"))
    is_filtered = bool(query or is_open or tag or is_away)
    if archived and not is_filtered:
        notes.append(Note(f"archived: {len(archived)} more; moot list --archived says where"))
    shown = _choose_shown(wanted, limit)
    lines = await moot.session_list.add_outcomes(shown)
    return CommandResult(
        json={"sessions": lines[::-1], "total": total},
        lines=_describe_sessions(lines, notes, is_filtered, left_out=len(wanted) - len(shown)),
    )


def _describe_archived(archived: "Mapping[SessionId, ArchivedSession]") -> CommandResult:
    """The sessions that went into archives, and where each is."""
    rows, lines = [], []
    for name, each in archived.items():
        row = {"sessionId": name, "file": each.file, "at": each.at, "entries": each.head.seq}
        rows.append(row)
        lines.append(f"{name}  archived {each.at.astimezone():%Y-%m-%d} in {each.file}")
    return CommandResult(json=rows, lines=lines or [Note("no session is archived")])


def _choose_shown(wanted: list[SessionLine], limit: int | None) -> list[SessionLine]:
    """The last of them: as many as were asked for, or as a person can overlook."""
    if limit is not None:
        return wanted[-limit:] if limit else wanted
    # Who reads is asked last: few have so many sessions.
    if len(wanted) > SHOWN and output.has_reader():
        return wanted[-SHOWN:]
    return wanted


@click.command("label")
@click.argument("session")
@click.option(
    "--tag",
    "tags",
    multiple=True,
    metavar="TAG",
    help="A tag for it, in place of those that it has; repeatable.",
)
@click.option("--no-tags", "is_bare", is_flag=True, help="Take its tags away.")
@click.option(
    "--away/--back",
    "is_away",
    default=None,
    help="Put it away: `moot list` and the page leave it out; or bring it back.",
)
@output.moot_command
async def label(
    moot: Moot, session: str, tags: tuple[str, ...], is_bare: bool, is_away: bool | None
) -> CommandResult:
    """Give a session tags, or put it away; nothing of the session itself is changed.

    \b
    moot label think_20261115_001 --tag budget --tag 2027
    moot label think_20261115_001 --away
    """
    if is_bare and tags:
        raise BadSetting("--tag and --no-tags are two things; give one of them")
    if not (tags or is_bare) and is_away is None:
        raise BadSetting("nothing to change: give --tag, --no-tags, --away or --back")
    line = await moot.session_list.label(
        session, tags if tags or is_bare else None, is_away=is_away
    )
    place = ", put away" if line.is_away else ""
    return CommandResult(
        json=line, lines=[f"{line.session}: {', '.join(line.tags) or 'no tags'}{place}"]
    )


def _format_line(line: SessionLine) -> str:
    """What a pipe gets of a session."""
    decided = f"{line.strength or '–'}\t{_describe_choice(line)}"
    opened = output.format_local(line.opened_at)
    return f"{line.session}\t{_name_protocol(line, {})}\t{line.standing}\t{opened}\t{one_line(line.topic)}\t{decided}"


def _describe_choice(line: SessionLine) -> str:
    """What was decided; of an undecided session the answers that it did not tell apart (S-35)."""
    return one_line(line.choice) or one_line(line.leading) or "–"


def _describe_sessions(
    lines: list[SessionLine], notes: list[Note], is_filtered: bool, *, left_out: int = 0
) -> "Iterator[str]":
    """The sessions, the newest last: a table for a person, whole lines for a pipe."""
    yield from notes
    if not lines:
        yield Note(
            "no session matches"
            if is_filtered
            else 'No sessions yet. Hold one: moot run "Should we …?"'
        )
        return
    if output.may_be_terminal() and (console := output.build_console()).is_terminal:
        # Imported here: a pipe gets the same words in every language.
        from moothall.locale.catalogues import SESSION_COMMAND

        words = SESSION_COMMAND[guess_language()]
        if console.width < NARROW:
            _print_pairs(console, lines, words)
        else:
            console.print(_build_table(lines, console.width, words))
    else:
        yield from map(_format_line, lines)
    for line in lines:
        if line.parked:
            yield Note(
                f"{line.session} is parked: {one_line(line.parked)}; moot resume {line.session}"
            )
    if left_out:
        from moothall.locale.catalogues import SESSION_COMMAND

        # Below the others: a long list scrolls away.
        yield Note(SESSION_COMMAND[guess_language()].list_more.format(count=left_out))


def _name_protocol(line: SessionLine, names: Mapping[str, str]) -> str:
    return f"{line.protocol} {_list_marks(line, names)}".rstrip()


def _list_marks(line: SessionLine, names: Mapping[str, str]) -> str:
    marks: list[str] = []
    if line.stand_in:
        marks.append(line.stand_in)
    if line.is_imported:
        marks.append("imported")
    if line.forked_from:
        marks.append("fork")
    return " ".join(f"({names.get(mark, mark)})" for mark in marks)


def _print_pairs(console: "Console", lines: list[SessionLine], words: "SessionCommandText") -> None:
    """Two lines for each session: what was decided beside its id, and below it the question."""
    from rich.text import Text

    for line in lines:
        head = Text.assemble(
            f"{line.session}  ", _style_standing(line, words), "  ", _describe_choice(line)
        )
        console.print(head, no_wrap=True, overflow="ellipsis")
        question = f"{_list_marks(line, words.list_marks)} {one_line(line.topic)}".lstrip()
        console.print(Text(f"    {question}"), no_wrap=True, overflow="ellipsis")


def _build_table(lines: list[SessionLine], width: int, words: "SessionCommandText") -> "Table":
    # Imported here: a reader from a pipe needs no table.
    from rich.table import Table
    from rich.text import Text

    from moothall.locale.catalogues import SHARED_REPORT

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
    more, strengths = (
        ("strength", "protocol", "opened") if width >= WIDE else (),
        SHARED_REPORT[guess_language()].strengths,
    )
    for name in ("session", "standing", *more, "topic", "choice"):
        ratio = {"topic": 3, "choice": 2}.get(name)
        table.add_column(words.list_heads[name], no_wrap=True, overflow="ellipsis", ratio=ratio)
    for line in lines:
        opened, protocol = (
            f"{line.opened_at.astimezone():%Y-%m-%d %H:%M}",
            _name_protocol(line, words.list_marks),
        )
        added = (strengths.get(line.strength, "–"), protocol, opened) if more else ()
        marks = "" if more else _list_marks(line, words.list_marks)
        question, decided = (
            Text(f"{marks} {one_line(line.topic)}".lstrip()),
            Text(_describe_choice(line)),
        )
        table.add_row(line.session, _style_standing(line, words), *added, question, decided)
    return table


def _style_standing(line: SessionLine, words: "SessionCommandText") -> "Text":
    from rich.cells import cell_len
    from rich.text import Text

    # As wide as the longest: in two lines for each session, what was decided stands below what was decided.
    word = words.standings[line.standing]
    return Text(word + " " * (9 - cell_len(word)), style=_STANDING_STYLES.get(line.standing, ""))
