"""Keys of providers that were entered once: a private file in the home, read after the environment (L-5)."""

import json
from collections.abc import Mapping, MutableMapping
from typing import Final

from moothall.app.environment import resolve_keys_file
from moothall.disk.private import make_private_folder, read_private, write_private
from moothall.disk.text_files import parse_toml
from moothall.errors import BadSetting
from moothall.participants.platforms import find_key_variable, list_keyed_providers

MAX_KEY_LENGTH: Final = 1_000


def load_keys(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the stored keys by their variables. Raises BadSetting for a file that is none, or that others can read."""
    path = resolve_keys_file(environ)
    if not path.exists():
        return {}
    try:
        text = read_private(path)
    except OSError as cause:
        raise BadSetting(f"{path} cannot be read: {cause.strerror}") from cause
    if text is None:
        raise BadSetting(
            f"other users can read {path}, so its keys are not used: chmod 600 {path}, and consider them known"
        )
    return {
        name: value for name, value in parse_toml(text, str(path)).items() if isinstance(value, str)
    }


def add_stored_keys(environ: MutableMapping[str, str]) -> None:
    """Set the variables of stored keys that the environment does not set itself."""
    for name, value in load_keys(environ).items():
        if not environ.get(name):
            environ[name] = value


def store_key(environ: Mapping[str, str], provider: str, key: str) -> str:
    """Store the key of a provider in place of an older one; returns its variable. Raises BadSetting."""
    variable = find_provider_variable(provider)
    key = key.strip()
    is_plain = key.isascii() and key.isprintable() and " " not in key
    if not (key and is_plain and len(key) <= MAX_KEY_LENGTH):
        raise BadSetting(
            f"that is no key: expected one word of at most {MAX_KEY_LENGTH} letters, digits and signs"
        )
    _save(environ, {**load_keys(environ), variable: key})
    return variable


def forget_key(environ: Mapping[str, str], provider: str) -> bool:
    """Forget the key of a provider; False where none is stored. Raises BadSetting."""
    variable, stored = find_provider_variable(provider), load_keys(environ)
    if variable not in stored:
        return False
    del stored[variable]
    _save(environ, stored)
    return True


def find_provider_variable(provider: str) -> str:
    """Return the variable that holds the key of a provider; raises BadSetting for one that needs none or is not known."""
    variable = find_key_variable(provider)
    if variable is None:
        known = ", ".join(list_keyed_providers())
        raise BadSetting(f"{provider[:60]!r} is no provider with a key; expected one of: {known}")
    return variable


def _save(environ: Mapping[str, str], keys: Mapping[str, str]) -> None:
    path = resolve_keys_file(environ)
    # A text in JSON is one in TOML, too.
    lines = [f"{name} = {json.dumps(keys[name])}" for name in sorted(keys)]
    try:
        make_private_folder(path.parent)
        write_private(path, "\n".join(lines), over=True)
    except OSError as cause:
        raise BadSetting(f"{path} cannot be written: {cause.strerror}") from cause
