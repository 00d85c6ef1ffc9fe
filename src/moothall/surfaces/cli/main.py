"""`moot`: the commands together. A command's module is loaded when the command is called, so that the others cost nothing."""

import gc
import io
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from typing import Any, Final

import click

from moothall.app.features import list_commands, load_place, may_have_other_features
from moothall.app.version import VERSION
from moothall.ports.feature import CommandRow, Feature
from moothall.surfaces.cli.arguments import widen_arguments

# Facts, states and prompts are freed when nobody refers to them; the search for cycles goes through all that sessions hold, over
# and over, and finds next to nothing. Before the modules of a command are loaded: they are much of what it creates, and stay.
gc.set_threshold(10_000, 20, 50)

COMMANDS: Final[Mapping[str, Sequence[str]]] = {
    "config": ("config",),
    "connect": ("connect",),
    "keys": ("keys",),
    "invite": ("invite", "join", "key", "log"),
    "listing": ("list", "label"),
    "mcp": ("mcp", "acp"),
    "memory": ("decisions", "obligations", "trust", "breakers", "reliability"),
    "ready": ("ready",),
    "records": (
        "export",
        "import",
        "replay",
        "fork",
        "diff",
        "verify",
        "heads",
        "backup",
        "restore",
        "archive",
    ),
    "run": ("run", "resume", "again", "watch"),
    "serve": ("serve", "worker"),
    "sessions": ("input", "group", "asks", "answer", "cancel"),
    "setup": ("panel", "setup", "doctor"),
    "show": ("show",),
    "sit": ("sit",),
    "tools": ("tools",),
}
"""The commands of each module of this package."""
FIRST: Final = (
    "demo",
    "run",
    "list",
    "show",
    "resume",
    "sit",
    "export",
    "decisions",
    "serve",
    "doctor",
)
"""The commands that matter first: alone they are the answer to `moot`."""
GROUPS: Final[Mapping[str, Sequence[str]]] = {
    "Ask": ("again",),
    "Take part": ("watch", "asks", "answer", "input", "group", "invite", "join", "cancel"),
    "Look back": ("label", "replay", "verify", "fork", "diff", "import"),
    "Remember": ("obligations", "trust", "reliability", "breakers"),
    "Serve": ("worker", "ready", "mcp", "acp", "access", "ledger"),
    "Extend": ("config", "keys", "setup", "connect", "panel"),
}
"""The other commands by what one wants to do; those of features follow. A test refuses a command that is in none."""
NESTED: Final[Mapping[str, tuple[str, Sequence[str]]]] = {
    "access": (
        "Print your key to servers, who was let in or refused, and what each role may call.",
        ("key", "log", "tools"),
    ),
    "ledger": (
        "Back up, restore and archive the ledger; print its signed heads.",
        ("backup", "restore", "archive", "heads"),
    ),
}
"""The rare commands, under a word of their own."""
MOVED: Final = {
    **{name: f"{group} {name}" for group, (_, names) in NESTED.items() for name in names},
    **{
        "schema": "decisions schema",
        "swarm-report": "export SESSION minutes --apart JOIN",
        "try": "demo --ask TOPIC",
    },
    **{
        "ask": "run QUESTION",
        "cost": "run QUESTION --dry-run",
        "history": "list",
        "version": "--version",
    },
}
"""What words that one might type are called."""
LONG: Final = frozenset({"run", "resume", "again"})
"""Commands whose modules take a second to load: a reader who waits that long for the first sign thinks that it hangs."""
LINES: Final = Path(__file__).with_name("commands.json")
"""The first sentence of each command's help, which the list of commands shows. A test writes it from the commands."""
EPILOG: Final = """\
Exit codes: 0 done · 1 a disk, provider or ledger failed · 2 the call was wrong · 3 the session waits for outside seats ·
4 it ended without a decision · 5 a check failed · 6 decided otherwise than --require says, or than before · 130 interrupted
"""
# Strings: most calls need none of these, and so many letters take milliseconds to compile.
_CHINESE: Final = "[\u4e00-\u9fff]"
# Click counts letters, and breaks lines at spaces. A Chinese letter is two columns wide: it is written with a space after it, or
# with NUL where no line may break; help is printed without them.
_WIDE: Final = r"([\u2e80-\u9fff\uff00-\uff60])(?=([ ，。；：、）？！]?))"
_FIRST_WIDE: Final = "\u2e80"
"""The first of those letters. Most help has none of them, and so needs neither pattern."""
_SPREAD: Final = r"(?<=[\u2e80-\u9fff\uff00-\uff60]) |\0"


@contextmanager
def announce_loading(args: Sequence[str], *, is_slow: bool) -> Iterator[None]:
    """Show that a command is being loaded, where a person would wait for it; the sign is removed again."""
    silencing = {
        "_MOOT_COMPLETE",
        "_MOOTHALL_COMPLETE",
        "-h",
        "--help",
        "--json",
        "-q",
        "--quiet",
    } & {*args, *os.environ}
    is_announced = is_slow and sys.stderr.isatty() and not silencing
    if is_announced:
        click.echo(
            "正在准备 …" if re.search(_CHINESE, " ".join(args)) else "Getting ready …",
            nl=False,
            err=True,
        )
    try:
        yield
    finally:
        if is_announced:
            click.echo("\r\x1b[2K", nl=False, err=True)


class LazyCommand(click.Command):
    """Stands for a command in the list of commands until it is called."""

    def __init__(self, name: str, module: str) -> None:
        super().__init__(name)
        self._module = module
        self.key = f"{module}.{name}"
        """Its name among the lines of the list of commands."""

    def load(self, args: Sequence[str] = ()) -> click.Command:
        """Return the command itself."""
        with announce_loading(args, is_slow=self.name in LONG):
            members: Mapping[str, Any] = vars(import_module(f"{__package__}.{self._module}"))
        command = next(
            each
            for each in members.values()
            if isinstance(each, click.Command) and each.name == self.name
        )
        widen_arguments(command)
        return command

    def get_short_help_str(self, limit: int = 45) -> str:
        return _read_lines(LINES)[self.key]


class FeatureCommand(LazyCommand):
    """Stands for a command of a feature, whose row says what the list of commands shows."""

    def __init__(self, feature: Feature, row: CommandRow) -> None:
        super().__init__(row.name, f"{feature.package}.{row.place}")
        self.name: str = row.name
        self.group = row.group
        """The heading in the list of commands."""
        self.feature, self._row = feature, row

    def load(self, args: Sequence[str] = ()) -> click.Command:
        with announce_loading(args, is_slow=self._row.is_slow):
            command: click.Command = load_place(self.feature, self._row.place)
        widen_arguments(command)
        return command

    def get_short_help_str(self, limit: int = 45) -> str:
        return self._row.summary


class LazyGroup(click.Group):
    """A group whose commands are loaded when they are called."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and "search" in self.commands:
            ctx.fail(
                f'{args[0]!r} is no command of it; to search: {ctx.command_path} search "{" ".join(args)}"'
            )
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load(rest) if isinstance(command, LazyCommand) else command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for command in self.commands.values():
            command.short_help = (
                None if isinstance(command, LazyCommand) else extract_first_sentence(command)
            )
        super().format_commands(ctx, formatter)


class MainGroup(LazyGroup):
    """All commands, listed by what one wants to do; without an argument only those that matter first."""

    def main(self, *args: Any, **given: Any) -> Any:
        try:
            return super().main(*args, **given)
        except (OSError, UnicodeDecodeError) as cause:
            # Files are decoded, and explained, where they are read.
            import_module(f"{__package__}.output").fail_by_system(cause)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for name in ("stdin", "stdout", "stderr"):
            # Closed by who started the command: nobody reads there, or writes.
            if getattr(sys, name) is None:
                setattr(sys, name, Path(os.devnull).open("r+", encoding="utf-8"))  # noqa: SIM115 - as long as the process
        ctx.meta["is_short"] = not args
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if (
            args
            and args[0] not in self.commands
            and (len(args[0].split()) > 1 or re.search(_CHINESE, args[0]))
        ):
            ctx.fail(f'a question is put by `moot run`: moot run "{args[0]}"')
        if args and args[0] in MOVED:
            ctx.fail(f"it is `moot {MOVED[args[0]]}`")
        if args and args[0] not in self.commands:
            add_other_commands()
        return super().resolve_command(ctx, args)

    def get_help(self, ctx: click.Context) -> str:
        if not ctx.meta.get("is_short"):
            add_other_commands()
        return super().get_help(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        assert isinstance(formatter, LanguageFormatter)
        sections = {"First": list(FIRST)}
        if not ctx.meta.get("is_short"):
            sections |= {title: [*names, *_list_group(title)] for title, names in GROUPS.items()}
        # One line each, translated before it is cut: a list that one reads from the top must fit where one reads it.
        widest = max(map(len, self.commands))
        room = formatter.width - widest - 6
        for title, names in sections.items():
            with formatter.section(title):
                lines = {
                    f"{name:{widest}}": formatter.translate(
                        self.commands[name].get_short_help_str()
                    )
                    for name in names
                }
                click.HelpFormatter.write_dl(
                    formatter,
                    [(name, shorten(lines[name], room, placeholder=" …")) for name in lines],
                )
        if ctx.meta.get("is_short"):
            formatter.write(
                f"\n{len(self.commands) - len(FIRST)} {formatter.translate('more: moot --help')}\n"
            )


def _list_group(title: str) -> list[str]:
    """The commands of features under a heading, in the order of the features."""
    return [
        command.name
        for command in main.commands.values()
        if isinstance(command, FeatureCommand) and command.group == title
    ]


@cache
def add_other_commands() -> None:
    """Add the commands of other distributions. Only help, and a command that is not Moot's own, wait for them."""
    if not may_have_other_features():
        return  # as nearly everywhere: what loads them is not needed
    import logging

    from moothall.app.plugins import load_plugins

    log = logging.getLogger("moot")
    for feature in load_plugins().features:
        for row in feature.commands:
            parent = main.commands.get(row.parent) if row.parent else main
            if not isinstance(parent, click.Group) or row.name in parent.commands:
                log.warning("the command %r of %r: its name is taken", row.name, feature.name)
            elif parent is main and row.group not in GROUPS:
                groups = ", ".join(GROUPS)
                log.warning(
                    "the command %r of %r: its group is none of %s", row.name, feature.name, groups
                )
            else:
                parent.add_command(FeatureCommand(feature, row))


def extract_first_sentence(command: click.Command) -> str:
    """Return the first sentence of a command's help, on one line."""
    paragraph = " ".join((command.help or "").partition("\n\n")[0].split())
    return re.split(r"(?<=\.) (?=[A-Z])", paragraph, maxsplit=1)[0]


@cache
def _read_lines(path: Path) -> dict[str, str]:
    # Imported here: only help needs it.
    import json

    lines: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return lines


def _read_lines_of_features(language: str) -> dict[str, str]:
    """The translations that features bring of the help of their own commands."""
    from importlib.resources import files

    lines: dict[str, str] = {}
    for command in main.commands.values():
        if isinstance(command, FeatureCommand) and command.feature.help:
            folder = Path(str(files(command.feature.package))) / command.feature.help
            lines.update(_read_lines(folder / f"{language}.json"))
    return lines


def guess_language() -> str:
    """The reader's language: that of the settings, else that of the terminal."""
    from moothall.app.user_settings import resolve_settings_file

    with suppress(OSError, ValueError):
        text = resolve_settings_file(os.environ).read_text(encoding="utf-8")
        named = str(import_module("tomllib").loads(text).get("language", ""))[:2].lower()
        if named:
            return named if _has_texts(named) else "en"
    wanted = next(
        (os.environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if os.environ.get(name)), ""
    )
    code = wanted[:2].lower()
    if code == "en" or not _has_texts(code):
        return "en"
    # A terminal's language is no wish for one of which little is there.
    from moothall.locale.texts import list_offered_languages

    return code if code in list_offered_languages() else "en"


def _has_texts(code: str) -> bool:
    return (Path(__file__).parents[2] / "locale" / code / "language.toml").exists()


class LanguageFormatter(click.HelpFormatter):
    """Writes help as Click does, in the reader's language."""

    @cached_property
    def _lines(self) -> dict[str, str]:
        language = guess_language()
        lines = _read_lines(LINES.with_suffix(f".{language}.json"))
        if language == "en":
            return lines
        return {**lines, **_read_lines_of_features(language)}

    def translate(self, text: str) -> str:
        """Return a sentence of help in the reader's language, or as it is; what Click adds in brackets stays."""
        sentence, bracket, rest = text.partition("  [")
        line = self._lines.get(" ".join(sentence.strip("\b\n").split()), sentence)
        line = line.replace(
            " Can be repeated.", self._lines.get("Can be repeated.", " Can be repeated.")
        )
        if _has_wide_letters(line):
            line = re.sub(_WIDE, lambda letter: letter[1] + ("\0" if letter[2] else " "), line)
        return line + bracket + rest

    def write_text(self, text: str) -> None:
        super().write_text("\n\n".join(map(self.translate, text.split("\n\n"))))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        super().write_dl(
            [(first, self.translate(second)) for first, second in rows], col_max, col_spacing
        )

    def getvalue(self) -> str:
        text = re.sub(r"(?m)^\w[\w ]*:", lambda head: self.translate(head[0]), super().getvalue())
        return re.sub(_SPREAD, "", text) if _has_wide_letters(text) else text


def _has_wide_letters(text: str) -> bool:
    return max(text, default="") >= _FIRST_WIDE


click.Context.formatter_class = LanguageFormatter


@click.group(
    cls=MainGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EPILOG,
)
@click.version_option(VERSION, prog_name="moot")
def main() -> None:
    """Moot puts a question to a group of models, programs and people, and returns a decision that can be audited.

    \b
    moot run "Should a small team rewrite its working product from scratch?"
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal that knows ASCII alone shows `?` for the rest: no letter ends a meeting.
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower() != "utf-8":
            stream.reconfigure(errors="replace")


_parents: dict[str, click.Group] = {}
for _title, (_help, _nested) in NESTED.items():
    _group = LazyGroup(_title, help=_help, short_help=_help)
    main.add_command(_group)
    _parents.update(dict.fromkeys(_nested, _group))
for _module, _names in COMMANDS.items():
    for _name in _names:
        _parents.get(_name, main).add_command(LazyCommand(_name, _module))
for _feature, _row in list_commands():
    _parents.get(_row.parent, main).add_command(FeatureCommand(_feature, _row))


if __name__ == "__main__":
    main()
