"""What a person sets once for all meetings of this machine: a TOML file, read where a call does not say it itself.

MOOT_CONFIG   the file (default: moot/config.toml in XDG_CONFIG_HOME, or in ~/.config)
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from moothall.disk.private import make_private_folder, write_atomically
from moothall.errors import BadSetting, FolderUnwritable

if TYPE_CHECKING:
    from moothall.app.session_options import Opener, Options

HOME: Final = "home"
OF_SESSIONS: Final = ("models", "panel", "protocol", "language", "money", "tokens", "turns", "time")
"""The options of a session that can be set once."""
SETTINGS: Final = (*OF_SESSIONS, HOME)


def resolve_settings_file(environ: Mapping[str, str]) -> Path:
    """Return the file of the settings, which need not exist."""
    folder = Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
    return Path(environ.get("MOOT_CONFIG") or folder / "moot" / "config.toml").expanduser().absolute()


def read_settings(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return what is set; raises BadSetting when the file is not TOML, or has a name or a value that it cannot have."""
    path = resolve_settings_file(environ)
    if not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise BadSetting(f"{path} cannot be read: {cause}") from cause
    # Imported here: most processes have no such file.
    from moothall.codec.toml_text import parse_toml

    settings = parse_toml(text, str(path))
    for name, value in settings.items():
        validate_setting(name, value)
    return settings


def validate_setting(name: str, value: object) -> None:
    """Raise BadSetting when a setting does not exist or cannot have this value."""
    if name not in SETTINGS:
        raise BadSetting(f"unknown setting {name!r}; known: {', '.join(SETTINGS)}")
    if name == HOME and not isinstance(value, str):
        raise BadSetting(f"home = {value!r} is not a folder's path")
    if name != HOME:
        from moothall.app.session_options import validate_options

        validate_options({name: value})


def write_settings(environ: Mapping[str, str], settings: Mapping[str, Any]) -> None:
    """Write the file; raises FolderUnwritable."""
    path = resolve_settings_file(environ)
    # Texts, numbers and lists are the same in JSON and in TOML.
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in settings.items()]
    try:
        make_private_folder(path.parent)
        write_atomically(path, "".join(lines))
    except OSError as cause:
        raise FolderUnwritable(f"{path} cannot be written: {cause.strerror}") from cause


def add_settings(given: "Options", opener: "Opener", environ: Mapping[str, str]) -> "Options":
    """Return the options with what is set for all meetings, where they neither say it nor cannot honour it."""
    from moothall.app.protocols import get_protocol
    from moothall.app.session_options import find_refusal

    settings = read_settings(environ)
    settings.pop(HOME, None)
    if not settings:
        return given
    if "seats" in given:
        # Who is seated by name sits there alone.
        settings.pop("panel", None)
    usable: Any = {name: value for name, value in settings.items() if not find_refusal(name, opener)}
    protocol = {**usable, **given}.get("protocol")
    refused = get_protocol(protocol).refuses if isinstance(protocol, str) else {}
    return {**{name: value for name, value in usable.items() if name not in refused}, **given}
