"""The reference pages of the docs site, written from the code: python -m checks.site_reference FOLDER

Commands from the command line itself, calls from the table of operations, settings from the options of a session and the settings
of each protocol, and the library from its public names.
"""

import ast
import dataclasses
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import click

import moothall
from moothall.app.protocols import get_protocol, list_protocol_names
from moothall.app.session_options import SESSION_OPTIONS, describe_option
from moothall.app.user_settings import SETTINGS
from moothall.surfaces.api.methods import TABLE
from moothall.surfaces.cli.main import LazyCommand, main
from moothall.surfaces.rpc import build_document

MADE = "*Written from the code when the site was built.*"
LIMITS = {
    "gt": "above",
    "ge": "from",
    "lt": "below",
    "le": "to",
    "min_length": "of at least",
    "max_length": "of at most",
}
"""The marks of a limited type, as words."""


def write_pages(folder: Path) -> None:
    """Write every page of the reference into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        "commands": build_commands(),
        "calls": build_calls(),
        "settings": build_settings(),
        "python": build_library(),
    }
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(text, encoding="utf-8")


def build_commands() -> str:
    """Return each command with its help as it is printed at 100 columns."""
    parts = ["# Every command", MADE, "The same by reading: [the command line](../cli.md)."]
    for words, command in walk_commands(main, ()):
        context = click.Context(
            command, info_name=" ".join(("moot", *words)), max_content_width=100, terminal_width=100
        )
        parts.append(
            f"## moot {' '.join(words)}\n\n```text\n{command.get_help(context).rstrip()}\n```"
        )
    return "\n\n".join(parts) + "\n"


def walk_commands(
    group: click.Group, above: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Go through the commands, those of groups after their group."""
    for name, each in sorted(group.commands.items()):
        command = each.load(()) if isinstance(each, LazyCommand) else each
        yield (*above, name), command
        if isinstance(command, click.Group):
            yield from walk_commands(command, (*above, name))


def build_calls() -> str:
    """Return each call of the server with its parameters."""
    document = build_document(TABLE)
    parts = ["# Every call of the server", MADE]
    parts.append(
        "How calls are made, and who may make which: [the server](../server.md). A `?` marks what may be left out."
    )
    parts.append("A server gives the same as OpenRPC at `/openrpc.json`.")
    for method in sorted(document["methods"], key=lambda each: str(each["name"])):
        tool = f" · MCP tool `{method['x-mcp-tool']}`" if "x-mcp-tool" in method else ""
        parts.append(
            f"## {method['name']}\n\n{escape(method['summary'])}\n\nNeeds the right `{method['x-needs']}`{tool}."
        )
        rows = [
            f"| `{each['name']}`{'' if each['required'] else '?'} | {name_type(each['schema'])} | {escape(each['description'])} |"
            for each in method["params"]
        ]
        if rows:
            parts.append("\n".join(["| parameter | type | meaning |", "|---|---|---|", *rows]))
    rows = [
        f"| {code} | {escape(error['message'])} |"
        for code, error in document["components"]["errors"].items()
    ]
    parts.append("\n".join(["## Errors", "", "| code | meaning |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def build_settings() -> str:
    """Return the options of a session, what `moot config` sets, and the settings of each protocol."""
    parts = [
        "# Every setting",
        MADE,
        "What the options mean in use: [the library](../library.md#every-option).",
    ]
    rows = [
        f"| `{name}` | {'–' if option.is_internal else f'`{spell_flag(name)}`'} | {escape(describe_option(name))} |"
        for name, option in SESSION_OPTIONS.items()
        if not option.is_internal
    ]
    parts.append(
        "\n".join(
            [
                "## Options of a session",
                "",
                "| in Python | flag | meaning |",
                "|---|---|---|",
                *rows,
            ]
        )
    )
    parts.append(
        "## moot config\n\n"
        + ", ".join(f"`{name}`" for name in SETTINGS)
        + " can be set once ([how](../cli.md#what-counts-for-every-meeting))."
    )
    for name in sorted(list_protocol_names()):
        settings = get_protocol(name).settings
        if not dataclasses.is_dataclass(settings):
            continue
        comments = read_comments(settings)
        rows = [
            f"| `{each.name}` | {escape(show_type(each.type))} | `{show_default(each)}` | {escape(comments.get(each.name, ''))} |"
            for each in dataclasses.fields(settings)
        ]
        parts.append(
            "\n".join(
                [f"## Settings of {name}", "", f"`--set KEY=VALUE` with `--protocol {name}`.", ""]
            )
        )
        parts.append(
            "\n".join(["| setting | type | default | meaning |", "|---|---|---|---|", *rows])
        )
    return "\n\n".join(parts) + "\n"


def build_library() -> str:
    """Return every public name of the top module, with its signature, its words and its methods or fields."""
    parts = ["# Every public name", MADE, "With examples: [the library](../library.md)."]
    for name in moothall.__all__:
        member = getattr(moothall, name)
        parts.append(f"## moothall.{name}")
        if inspect.isfunction(member):
            parts.append(
                f"```text\n{name}{inspect.signature(member)}\n```\n\n{clean(member.__doc__)}"
            )
            continue
        parts.append(
            clean(getattr(member, "__doc__", ""))
            if inspect.isclass(member)
            else f"`{show_type(member)}`"
        )
        if inspect.isclass(member) and dataclasses.is_dataclass(member):
            comments = read_comments(member)
            rows = [
                f"| `{each.name}` | {escape(show_type(each.type))} | {escape(comments.get(each.name, ''))} |"
                for each in dataclasses.fields(member)
            ]
            parts.append("\n".join(["| field | type | meaning |", "|---|---|---|", *rows]))
        for method, function in sorted(vars(member).items()) if inspect.isclass(member) else ():
            if not method.startswith("_") and inspect.isfunction(function):
                word = "await " if inspect.iscoroutinefunction(function) else ""
                parts.append(
                    f"```text\n{word}{method}{inspect.signature(function)}\n```\n\n{clean(function.__doc__)}"
                )
    return "\n\n".join(parts) + "\n"


def read_comments(kind: type) -> dict[str, str]:
    """Return the docstrings that stand below the fields of a class, and of those that it is made from."""
    comments = {}
    for each in reversed(kind.__mro__[:-1]):
        body = (
            ast.parse(textwrap.dedent(inspect.getsource(each))).body[0]
            if each.__module__.startswith("moothall")
            else None
        )
        members = body.body if isinstance(body, ast.ClassDef) else []
        for field, below in pairwise(members):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
            ):
                comments[field.target.id] = str(ast.literal_eval(below.value))
    return comments


def name_type(schema: dict[str, Any]) -> str:
    """Return the type of a parameter in a word or two."""
    if "anyOf" in schema:
        return " or ".join(
            name_type(each) for each in schema["anyOf"] if each.get("type") != "null"
        )
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "items" in schema:
        return f"list of {name_type(schema['items'])}"
    return str(schema.get("type") or schema.get("$ref", "any").rpartition("/")[2])


def show_type(kind: object) -> str:
    """Return a type as one reads it: choices in words, limits after the type."""
    arguments = get_args(kind)
    if get_origin(kind) is Literal:
        return ", ".join(f"`{each}`" for each in arguments)
    if get_origin(kind) in (Union, UnionType):
        return " or ".join(
            "nothing" if each is type(None) else show_type(each) for each in arguments
        )
    if get_origin(kind) is Annotated:
        limits = [
            f"{word} {getattr(each, name)}"
            for each in arguments[1:]
            for name, word in LIMITS.items()
            if hasattr(each, name)
        ]
        return " ".join([show_type(arguments[0]), *limits])
    text = kind.__name__ if isinstance(kind, type) and not arguments else str(kind)
    return re.sub(r"\b(?:typing|collections\.abc|moothall(?:\.\w+)+)\.", "", text)


def show_default(field: "dataclasses.Field[Any]") -> str:
    if field.default is not dataclasses.MISSING:
        return str(field.default)
    return (
        "needed" if field.default_factory is dataclasses.MISSING else str(field.default_factory())
    )


def spell_flag(name: str) -> str:
    """Return how `moot run` spells an option, with its opposite where it has one."""
    run = main.commands["run"]
    assert isinstance(run, LazyCommand)
    param = next(each for each in run.load(("--help",)).params if each.name == name)
    return " / ".join([*param.opts, *param.secondary_opts])


def clean(text: str | None) -> str:
    return inspect.cleandoc(text or "")


def escape(text: str) -> str:
    """Return a text for a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
