"""What the command line prints, and how it ends.

Exit codes: 0 done; 1 a disk, provider or ledger failed; 2 the call was wrong; 3 the session waits for outside seats or is parked;
4 it ended without a decision; 5 a check failed (verify, replay); 6 it decided otherwise than `--require` says; 130 interrupted.
"""

import asyncio
import errno
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, is_dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from moothall.domain.safe_text import compile_late, dump_json, encode_fields, shorten_text
from moothall.errors import (
    BadSetting,
    CallerError,
    FolderUnwritable,
    LedgerDamaged,
    MootError,
    ReplayDiffers,
)
from moothall.surfaces.cli.stopping import (
    EndWatch,
    get_signals,
    restore_signals,
    run_until_stopped,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

DONE, WORLD, USAGE, WAITING, UNDECIDED, FAILED, OTHERWISE, INTERRUPTED = 0, 1, 2, 3, 4, 5, 6, 130

_STAMP = compile_late(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_HEAD = compile_late(rf"^(?:#\d+ · .*|[^>|\n]* · {_STAMP.pattern} – .*)$", re.MULTILINE)
MAX_PIECE_LENGTH = 1_000_000
MAX_PARTS = 100

T = TypeVar("T")


class Note(str):
    """A line that is not part of the result: it goes to standard error."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """What a command prints, and how it ends."""

    json: Any
    """The result for programs: plain, or what `print_json` encodes."""
    lines: Iterable[str] = ()
    """The same for people."""
    code: int = DONE

    def print(self, *, as_json: bool) -> None:
        if as_json:
            print_json(self.json)
            return
        for line in self.lines:
            print_note(line) if isinstance(line, Note) else print_line(line)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def build_console() -> "Console":
    """Where people read. When the reader has gone (`| head`), the meeting goes on unseen."""
    # Imported here: a command that prints JSON or a plain line needs no console.
    from rich.console import Console

    class PipeSafeConsole(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())

    # Rich takes COLUMNS=0 at its word, and shows nothing.
    return PipeSafeConsole(
        highlight=False, soft_wrap=False, width=80 if os.environ.get("COLUMNS") == "0" else None
    )


def has_reader() -> bool:
    """Whether a person reads what the command prints: it goes to a terminal, and not as JSON."""
    context = click.get_current_context(silent=True)
    if context is not None and context.params.get("as_json"):
        return False
    return may_be_terminal() and build_console().is_terminal


def may_be_terminal() -> bool:
    """Whether standard output may be a terminal to Rich: where it is a pipe and nobody says otherwise, Rich need not be loaded."""
    return sys.stdout.isatty() or bool({"FORCE_COLOR", "TTY_COMPATIBLE"} & os.environ.keys())


def localize_times(minutes: str) -> str:
    """Return minutes with the times of their heads as the clock here shows them; what participants wrote stays as it is."""
    return _HEAD.sub(
        lambda head: _STAMP.sub(
            lambda stamp: format_local(datetime.fromisoformat(stamp[0])), head[0]
        ),
        minutes,
    )


def format_local(at: datetime, clock: str = "%H:%M") -> str:
    return f"{at.astimezone():%Y-%m-%d {clock} %Z}"


def print_paged(console: "Console", content: "RenderableType") -> None:
    """Print through a pager what is longer than the screen (PAGER; `cat` for none), and anything else as it is."""
    with console.capture() as capture:
        console.print(content)
    text = capture.get()
    if text.count("\n") < console.height or not sys.stdin.isatty():
        click.echo(text, nl=False)
        return
    # Colours as they are, and nothing asked where it fits after all.
    os.environ.setdefault("LESS", "-FRX")
    click.echo_via_pager(text, color=None if console.no_color else True)


def print_line(text: str = "") -> None:
    click.echo(text)


async def print_parts(parts: AsyncIterator[str]) -> None:
    """A long text that comes in parts, and an end of line; few are in memory, and each call of the system prints many."""
    held: list[str] = []
    last = ""
    async for part in parts:
        held.append(part)
        last = part or last
        if sum(map(len, held)) >= MAX_PIECE_LENGTH or len(held) >= MAX_PARTS:
            click.echo("".join(held), nl=False)
            held.clear()
    click.echo("".join(held), nl=not last.endswith("\n"))


def print_note(text: str) -> None:
    """A line that is not a result."""
    click.echo(text, err=True)


def print_json(value: Any, indent: int | None = 2) -> None:
    click.echo(dump_json(value, indent=indent, default=_to_plain))


def _to_plain(value: Any) -> Any:
    if hasattr(value, "to_json"):
        return value.to_json()
    if is_dataclass(value) or isinstance(value, datetime):
        return encode_fields(value)
    return str(value)


def write_file(name: str, text: str, *, command: str = "") -> None:
    """Write what a user named for a result. Raises BadSetting where it cannot be written; `command` says what helps then."""
    # Imported here: few commands write files, and start-up time counts for every command.
    from moothall.disk.private import open_output

    try:
        with open_output(Path(name)) as file:
            file.write(text)
    except OSError as cause:
        raise BadSetting(f"{name} cannot be written: {cause.strerror}", command=command) from cause


def fail(error: MootError, *, as_json: bool = False) -> NoReturn:
    """End with one sentence that says what was wrong and what to do."""
    code = WORLD
    if isinstance(error, CallerError):
        code = USAGE
    elif isinstance(error, ReplayDiffers | LedgerDamaged):
        code = FAILED
    if as_json:
        print_json({"error": {"kind": type(error).__name__, "message": str(error)}})
    else:
        print_note(f"moot: {error}")
    sys.exit(code)


def run(
    work: Callable[[], Coroutine[Any, Any, T]],
    *,
    as_json: bool = False,
    stopped: Callable[[], str] | None = None,
) -> T:
    """Run async work; Ctrl-C and SIGTERM cancel it cleanly, a second one at once. `stopped` is said then."""

    def say() -> None:
        print_note("" if stopped is None else stopped())

    before = get_signals()
    watch = EndWatch(say)
    try:
        return asyncio.run(run_until_stopped(work(), watch, INTERRUPTED))
    except MootError as error:
        fail(error, as_json=as_json)
    except (KeyboardInterrupt, asyncio.CancelledError):
        say()
        sys.exit(INTERRUPTED)
    except OSError as cause:
        fail_by_system(cause, as_json=as_json)
    finally:
        watch.end()
        restore_signals(before)


def fail_by_system(cause: OSError | UnicodeDecodeError, *, as_json: bool = False) -> NoReturn:
    """End with one sentence where a file or a stream cannot be read or written; raises the cause where it is none of these."""
    if isinstance(cause, UnicodeDecodeError):
        fail(BadSetting("standard input is not text in UTF-8"))
    if cause.errno is None:
        raise cause
    if cause.errno not in {errno.EPIPE, errno.ENOSPC}:
        why = (
            f"a file cannot be read or written ({cause.strerror}): {cause.filename}"
            if cause.filename
            else str(cause)
        )
        fail(FolderUnwritable(shorten_text(why, 200)), as_json=as_json)
    with suppress(OSError):
        sys.stdout.close()
    if cause.errno == errno.ENOSPC:
        fail(FolderUnwritable("the output cannot be written: its disk is full"))
    # The reader (`| head`) has seen enough.
    sys.exit(DONE)


def run_and_print(
    work: Callable[[], Coroutine[Any, Any, CommandResult]],
    *,
    as_json: bool,
    stopped: Callable[[], str] | None = None,
) -> NoReturn:
    """Run async work as `run` does, print its result and end the process with its code."""

    async def print_result() -> int:
        result = await work()
        result.print(as_json=as_json)
        return result.code

    sys.exit(run(print_result, as_json=as_json, stopped=stopped))


def json_command(work: Callable[..., Coroutine[Any, Any, CommandResult]]) -> Callable[..., None]:
    """Make an async function that takes what was given a command with `--json` that prints its result."""

    @json_option
    @wraps(work)
    def call(*, as_json: bool, **given: Any) -> None:
        run_and_print(lambda: work(**given), as_json=as_json)

    return call


def moot_command(work: Callable[..., Coroutine[Any, Any, CommandResult]]) -> Callable[..., None]:
    """Make an async function that takes `moot` and what was given such a command."""

    @wraps(work)
    async def work_on_ledger(**given: Any) -> CommandResult:
        # Imported here: a command without a ledger needs none of it.
        from moothall.app.moot import Moot

        async with Moot() as moot:
            return await work(moot, **given)

    return json_command(work_on_ledger)
