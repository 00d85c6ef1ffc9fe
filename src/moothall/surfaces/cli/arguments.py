"""What arguments of all commands understand: short names of sessions, questions from a pipe, and what a shell completes."""

import re
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from moothall.errors import BadSetting, MootError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from moothall.app.moot import Moot

LAST: Final = "last"
SESSIONS: Final = frozenset({"session", "session_id", "sessions", "left", "right", "decision_id"})
"""The arguments that name an existing session."""
QUESTIONS: Final = frozenset({"topic", "task", "question"})
"""The arguments that are a text of the caller's."""
MAX_NAMED: Final = 3
MAX_COMPLETED: Final = 50
"""So many sessions are offered to a shell that completes an id, the newest of them."""
T = TypeVar("T")

_WHOLE: Final = re.compile(r"think_\d{8}_\d{3,}")


class Duration(click.ParamType[float]):
    """Seconds, or a number with s, m, h or d."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        from moothall.domain.budget import parse_duration

        try:
            return parse_duration(value)
        except BadSetting as error:
            self.fail(str(error))


class LanguageChoice(click.Choice[str]):
    """A language by its code. Help and completion name those that are offered; any whose folder is there is taken."""

    def __init__(self) -> None:
        # Imported here: the list of commands needs no language but its own.
        from moothall.locale.texts import list_offered_languages

        super().__init__(list_offered_languages())

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from moothall.locale.texts import list_languages

        return value if value in list_languages() else super().convert(value, param, ctx)


class SessionName(click.ParamType[str]):
    """The id of a session; `last` is the one that was active last, and a beginning (or the last number) that only one
    id has stands for that id."""

    name = "session"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        # An id that Moot has drawn is whole: most calls read the ledger once.
        if _WHOLE.fullmatch(value):
            return str(value)
        if value == LAST:
            return self._find_last(value)
        if (lines := _read_ledger(lambda moot: moot.sessions())) is None:
            return str(value)
        names = [line.session for line in lines]
        if value in names:
            return str(value)
        meant = [
            name
            for name in names
            if value and (name.startswith(value) or name.endswith(f"_{value}"))
        ]
        if len(meant) > 1:
            shown = ", ".join(meant[-MAX_NAMED:])
            self.fail(
                f"{value!r} stands for {len(meant)} sessions, the last of them {shown}; give more of the id"
            )
        # What is unknown here may be in an archive, or decided by one agent alone: the command knows.
        return meant[0] if meant else str(value)

    def _find_last(self, value: str) -> str:
        newest = _read_ledger(lambda moot: moot.session_list.load_newest(1))
        if newest is None:
            return value
        if not newest.lines:
            self.fail('there is no session yet; hold one: moot run "Should we …?"')
        return newest.lines[0].session

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        if incomplete:
            named = _read_ledger(lambda moot: moot.session_list.load_named(incomplete)) or []
            lines = named[::-1][:MAX_COMPLETED]
        else:
            newest = _read_ledger(lambda moot: moot.session_list.load_newest(MAX_COMPLETED))
            lines = newest.lines if newest else []
        return [CompletionItem(line.session, help=line.topic[:60]) for line in lines]


class QuestionText(click.ParamType[str]):
    """A text in quotes; `-` stands for standard input."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return sys.stdin.read().strip() if value == "-" else str(value)


def widen_arguments(command: click.Command) -> None:
    """Let the arguments of a command, and of its own commands, take `last`, beginnings of ids and `-`; complete its seats."""
    for param in command.params:
        if param.name == "seat":
            param.shell_complete = _complete_seats  # type: ignore[method-assign]
        if not isinstance(param, click.Argument):
            continue
        if param.name in SESSIONS:
            param.type = SessionName()
        elif param.name in QUESTIONS:
            param.type = QuestionText()
    for each in command.commands.values() if isinstance(command, click.Group) else ():
        widen_arguments(each)


def _complete_seats(ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
    """Return the seats of the session that the line names."""
    from click.shell_completion import CompletionItem

    from moothall.domain.ids import parse_session_id

    # The parser stops at an option without its value, and leaves the words as they are.
    session = SessionName().convert(
        ctx.params.get("session") or ctx.params.get("session_id") or "".join(ctx.args[:1]),
        None,
        ctx,
    )

    async def load(moot: "Moot") -> list[str]:
        return [
            str(seat.id)
            for seat in (
                await moot.engine.load_snapshot(parse_session_id(session))
            ).session_state.seats
        ]

    names = _read_ledger(load) or []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _read_ledger(read: "Callable[[Moot], Awaitable[T]]") -> "T | None":
    """Return what is read; None where the ledger cannot be read: the command itself will say why."""
    import asyncio

    from moothall.app.moot import Moot

    async def load() -> "T":
        async with Moot() as moot:
            return await read(moot)

    try:
        return asyncio.run(load())
    except MootError:
        return None
