"""The commands that list and label sessions. A module of its own: a list is called most often, and imports little."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import click

from moothall.app.moot import Moot
from moothall.app.session_list import SessionLine
from moothall.domain.safe_text import one_line
from moothall.errors import BadSetting
from moothall.reports.memo_summary import join_badge
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
    help="Only sessions on such a topic, the best match first.",
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
    "-n",
    "--limit",
    type=click.IntRange(min=0),
    default=None,
    metavar="N",
    help=f"Show only the newest N; 0: all. Default: {SHOWN} in a terminal; a pipe and --json get all.",
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
    """List all sessions, the most recently active first.

    Each is decided (by how many, what, and what to mind), undecided (why), on hold, waiting for someone outside, running, stopped
    (it goes on with `moot resume`) or cancelled.

    \b
    moot list
    moot list -n 5
    moot list --open --search "database"
    """
    archived = await moot.session_list.load_archived()
    if is_archived:
        return _describe_archived(archived)
    is_filtered = bool(query or is_open or tag or is_away)
    if not is_filtered and not archived:
        page = await _load_page(moot, limit)
        if page is not None:
            return page
    if query:
        sessions = await moot.session_list.search(query)
    else:
        sessions = (await moot.sessions())[::-1]
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
    if archived and not is_filtered:
        notes.append(Note(f"archived: {len(archived)} more; moot list --archived says where"))
    shown = _choose_shown(wanted, limit)
    lines = await moot.session_list.add_outcomes(shown)
    return CommandResult(
        json={"sessions": lines, "total": total},
        lines=_describe_sessions(lines, notes, is_filtered, left_out=len(wanted) - len(shown)),
    )


async def _load_page(moot: Moot, limit: int | None) -> CommandResult | None:
    """The newest sessions without those that were put away, read alone; None where all are shown."""
    count = limit
    if limit is None and output.has_reader():
        count = SHOWN
    if not count:
        return None
    away = await moot.session_list.list_away()
    page = await moot.session_list.load_newest(count + len(away))
    listed = [line for line in page.lines if line.session not in away]
    lines = await moot.session_list.add_outcomes(listed[:count])
    notes = [Note(f"put away: {len(away)} more; moot list --away")] if away else []
    left_out = page.total - len(away) - len(lines)
    return CommandResult(
        json={"sessions": lines, "total": page.total},
        lines=_describe_sessions(lines, notes, is_filtered=False, left_out=left_out),
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
    """The first of them: as many as were asked for, or as a person can overlook."""
    if limit is not None:
        return wanted[: limit or None]
    # Who reads is asked last: few have so many sessions.
    if len(wanted) > SHOWN and output.has_reader():
        return wanted[:SHOWN]
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
    opened = output.format_local(line.opened_at)
    columns = [line.session, _name_protocol(line, {}), line.standing, opened]
    columns += [one_line(line.topic), _describe_badge(line) or "–", _describe_result(line)]
    return "\t".join(columns)


def _describe_badge(line: SessionLine) -> str:
    """How a decision came about, and what to mind of it; of any other session its status says as much."""
    # "undecided  not decided  Not decided: …" would say one thing three times.
    if line.standing != "decided":
        return ""
    return join_badge(one_line(line.badge), one_line(line.reservation))


def _describe_result(line: SessionLine) -> str:
    """What was decided, or why nothing was, as its memo says it."""
    return one_line(line.what) or "–"


def _describe_sessions(
    lines: list[SessionLine], notes: list[Note], is_filtered: bool, *, left_out: int = 0
) -> "Iterator[str]":
    """The sessions, the newest first: a table for a person, whole lines for a pipe."""
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

        # Below the others: it is about those that would follow.
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
    """Two lines for each session: the question beside its id, and below it how it was decided and what."""
    from rich.text import Text

    for line in lines:
        head = Text.assemble(f"{line.session}  ", _style_standing(line, words), "  ")
        head.append(f"{_list_marks(line, words.list_marks)} {one_line(line.topic)}".lstrip())
        console.print(head, no_wrap=True, overflow="ellipsis")
        result = Text("    ").append_text(_style_badge(line))
        if len(result) > 4:
            result.append("  ")
        result.append(one_line(line.what))
        if result.plain.strip():
            console.print(result, no_wrap=True, overflow="ellipsis")


def _build_table(lines: list[SessionLine], width: int, words: "SessionCommandText") -> "Table":
    # Imported here: a reader from a pipe needs no table.
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), expand=True)
    more: tuple[str, ...] = ()
    if width >= WIDE:
        more = ("protocol", "opened")
    for name in ("session", "standing", "badge", *more, "topic", "choice"):
        ratio = {"topic": 3, "choice": 2}.get(name)
        table.add_column(words.list_heads[name], no_wrap=True, overflow="ellipsis", ratio=ratio)
    for line in lines:
        marks = _list_marks(line, words.list_marks)
        question = one_line(line.topic)
        added: tuple[str, ...] = ()
        if more:
            opened = f"{line.opened_at.astimezone():%Y-%m-%d %H:%M}"
            added = (_name_protocol(line, words.list_marks), opened)
        elif marks:
            question = f"{marks} {question}"
        cells = (Text(question), Text(_describe_result(line)))
        head = (line.session, _style_standing(line, words), _style_badge(line))
        table.add_row(*head, *added, *cells)
    return table


def _style_badge(line: SessionLine) -> "Text":
    """Return the badge: plain, amber with a reservation, never green, as agreement is not truth."""
    from rich.text import Text

    return Text(_describe_badge(line), style="yellow" if line.reservation else "")


def _style_standing(line: SessionLine, words: "SessionCommandText") -> "Text":
    from rich.cells import cell_len
    from rich.text import Text

    # As wide as the longest: in two lines for each session, what was decided stands below what was decided.
    word = words.standings[line.standing]
    return Text(word + " " * (9 - cell_len(word)), style=_STANDING_STYLES.get(line.standing, ""))
