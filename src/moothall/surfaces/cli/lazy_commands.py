"""Commands whose modules are loaded when they are called, so that the others cost nothing."""

import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Final

import click

_CHINESE: Final = re.compile("[\u4e00-\u9fff]")


class LazyCommand(click.Command):
    """Stands for a command in the list of commands until it is called. `path` is its module and its name there.

    The line that the list shows of it is written here and nowhere else. One that `is_long` in loading says so in a terminal: a
    reader who waits a second for the first sign thinks that it hangs.
    """

    def __init__(self, name: str, path: str, help: str, *, is_long: bool = False) -> None:  # noqa: A002 - click's own word
        super().__init__(name, help=help)
        self._path = path
        self._is_long = is_long

    def load(self, args: Sequence[str] = ()) -> click.Command:
        """The command itself."""
        is_announced = self._is_long and sys.stderr.isatty() and not {"-h", "--help", "--json"} & set(args)
        if is_announced:
            click.echo("正在准备 …" if _CHINESE.search(" ".join(args)) else "Getting ready …", nl=False, err=True)
        try:
            module, _, name = self._path.partition(":")
            command = getattr(import_module(f"{__package__}.{module}"), name)
        finally:
            # Taken away again: what follows is the meeting.
            if is_announced:
                click.echo("\r\x1b[2K", nl=False, err=True)
        assert isinstance(command, click.Command)
        command.short_help = self.help
        return command


class LazyGroup(click.Group):
    """A group whose commands are loaded when they are called."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str | None, click.Command | None, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load(rest) if isinstance(command, LazyCommand) else command, rest
