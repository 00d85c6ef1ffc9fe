"""What a person sets once for all meetings of this machine: a TOML file, read where a call does not say it itself.

MOOT_CONFIG   the file (default: moot/config.toml in XDG_CONFIG_HOME, or in ~/.config)
"""

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, get_args

from moothall.errors import BadSetting, FolderUnwritable

if TYPE_CHECKING:
    from moothall.app.session_options import Opener, Options
    from moothall.participants.named_tools import ToolSource

HOME: Final = "home"
OF_SESSIONS: Final = ("models", "panel", "protocol", "language", "money", "tokens", "turns", "time")
"""The options of a session that can be set once."""
SETTINGS: Final = (*OF_SESSIONS, HOME)
TOOLS: Final = "tools"
"""The tables `[tools.NAME]`: what seats may look things up with. They are written by hand."""
MAX_TOOL_SECONDS: Final = 120.0


def resolve_settings_file(environ: Mapping[str, str]) -> Path:
    """Return the file of the settings, which need not exist."""
    folder = Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return (
        Path(environ.get("MOOT_CONFIG") or folder / "moot" / "config.toml").expanduser().absolute()
    )


def read_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what is set; raises BadSetting when the file is not TOML, or has a name or a value that it cannot have."""
    path = resolve_settings_file(environ)
    if not path.exists():
        return {}
    # Imported here: most processes have no such file.
    from moothall.disk.text_files import read_toml_file

    settings = read_toml_file(path, str(path))
    for name, value in settings.items():
        validate_setting(name, value)
    return settings


def validate_setting(name: str, value: object) -> None:
    """Raise BadSetting when a setting does not exist or cannot have this value."""
    if name not in (*SETTINGS, TOOLS):
        raise BadSetting(f"unknown setting {name!r}; known: {', '.join((*SETTINGS, TOOLS))}")
    if name == TOOLS:
        # Read in full where a session has tools: other processes need not know what they are.
        _validate_tables(value)
        return
    if name == HOME and not (isinstance(value, str) and value):
        raise BadSetting(f"home = {value!r} is not a folder's path")
    if name != HOME:
        from moothall.app.session_options import validate_options

        validate_options({name: value})


def _validate_tables(value: object) -> None:
    """Raise BadSetting for tools that are not set up by a table each."""
    is_table_of_tables = isinstance(value, dict) and all(
        isinstance(each, dict) for each in value.values()
    )
    if not is_table_of_tables:
        raise BadSetting("tools: expected tables such as [tools.docs]")


def write_settings(environ: Mapping[str, str], settings: Mapping[str, Any]) -> None:
    """Write the file; raises FolderUnwritable."""
    from moothall.disk.private import make_private_folder, write_atomically

    path = resolve_settings_file(environ)
    if path.exists() and not path.is_file():
        raise FolderUnwritable(
            f"{path} is not a file, and stores no settings; name another in MOOT_CONFIG"
        )
    lines = _format_lines({name: value for name, value in settings.items() if name != TOOLS})
    for name, table in settings.get(TOOLS, {}).items():
        lines += [f"\n[{TOOLS}.{json.dumps(name)}]\n", *_format_lines(table)]
    try:
        make_private_folder(path.parent)
        write_atomically(path, "".join(lines))
    except OSError as cause:
        raise FolderUnwritable(f"{path} cannot be written: {cause.strerror}") from cause


def _format_lines(settings: Mapping[str, Any]) -> list[str]:
    # Texts, numbers and lists are the same in JSON and in TOML.
    return [
        f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in settings.items()
    ]


def load_tool_sources(environ: Mapping[str, str]) -> dict[str, "ToolSource"]:
    """Return what `[tools.NAME]` sets up, by name; raises BadSetting with the name and what was expected."""
    return {
        name: _parse_tool(name, table)
        for name, table in read_settings(environ).get(TOOLS, {}).items()
    }


def _parse_tool(name: str, table: Mapping[str, Any]) -> "ToolSource":
    from pydantic import ValidationError

    from moothall.codec.adapters import get_adapter
    from moothall.codec.settings import explain_validation_error
    from moothall.domain.budget import GIVEN_TOOLS, ToolSwitch
    from moothall.domain.safe_text import is_web_address
    from moothall.participants.named_tools import ToolSource

    known = [each.name for each in fields(ToolSource) if each.name != "name"]
    fault = ""
    source = ToolSource(name=name)
    unknown = [key for key in table if key not in known]
    try:
        if unknown:
            fault = f"{unknown[0]} is not a known key; known: {', '.join(known)}"
        else:
            source = get_adapter(ToolSource).validate_python({**table, "name": name})
    except ValidationError as cause:
        raise BadSetting(f"[tools.{name}] {explain_validation_error(cause)}") from cause
    is_server = bool(source.command or source.url)
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,30}", name) or name in {
        *GIVEN_TOOLS,
        *get_args(ToolSwitch),
    }:
        fault = "the name is one of Moot's own, or not of small letters, digits and '-'"
    elif (
        not fault
        and sum(
            map(bool, (source.command, source.url, source.hosts, source.engine, source.builtin))
        )
        != 1
    ):
        fault = "expected one of: command = [...], url, hosts = [...], engine, builtin = true"
    elif not fault and is_server != bool(source.allow):
        fault = 'expected allow = ["TOOL", ...] for a server, and for nothing else'
    elif source.url and not is_web_address(source.url):
        fault = "url: expected https://HOST/PATH"
    elif source.engine and not (
        is_web_address(source.engine.replace("{words}", "")) and "{words}" in source.engine
    ):
        fault = "engine: expected an address with {words} in it"
    elif not 0 < source.seconds <= MAX_TOOL_SECONDS or source.price < 0:
        fault = f"seconds: expected at most {MAX_TOOL_SECONDS:g}; price: expected US dollars a call"
    if fault:
        raise BadSetting(f"[tools.{name}] {fault}")
    return source


def add_settings(given: "Options", opener: "Opener", environ: Mapping[str, str]) -> "Options":
    """Return the options with what is set for all meetings, where they neither say it nor cannot honour it."""
    from moothall.app.protocols import get_protocol
    from moothall.app.session_options import find_refusal

    settings = read_settings(environ)
    settings.pop(HOME, None)
    settings.pop(TOOLS, None)
    if not settings:
        return given
    if environ.get("MOOT_MODEL", "").strip():
        # What is set for this shell comes before what is set for all.
        settings.pop("models", None)
    if "seats" in given:
        # Who is seated by name sits there alone.
        settings.pop("panel", None)
    merged: Any = {
        name: value for name, value in settings.items() if not find_refusal(name, opener)
    }
    protocol = {**merged, **given}.get("protocol")
    if isinstance(protocol, str):
        for name in get_protocol(protocol).refuses:
            merged.pop(name, None)
    merged.update(given)
    options: Options = merged
    return options
