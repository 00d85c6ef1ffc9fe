"""The key of a home: who can read it owns the servers that run on this home."""

import logging
from pathlib import Path
from typing import Final

from moothall.app.environment import resolve_home
from moothall.app.moot import Moot
from moothall.disk.private import make_private_folder, read_private, write_private
from moothall.errors import FolderUnwritable
from moothall.memory.tokens import generate_token, parse_token_id

NAME: Final = "owner.key"
NOTE: Final = "the key of a home (owner.key): of whoever runs `moot serve` there"

log = logging.getLogger("moot")


def load_owner_key(home: Path) -> str:
    """The key of a home, created if there is none; raises FolderUnwritable.

    A key that other users could have read is worth nothing any more: it is replaced, with a word about it.
    """
    path = home / NAME
    try:
        make_private_folder(home)
        stored = read_private(path)
        if stored is not None and parse_token_id(stored):
            return stored
        is_replaced = path.is_symlink() or path.exists()
        key = generate_token()
        if not write_private(path, key, over=is_replaced):
            # Another process was first.
            return load_owner_key(home)
    except OSError as cause:
        raise FolderUnwritable(f"the key {path} cannot be read or written ({cause.strerror}); check its rights") from cause
    if is_replaced:
        log.warning("the key %s was no key, or other users could read it; it was replaced: connect anew what used it", path)
    return key


async def adopt_owner_key(moot: Moot) -> str:
    """Let the ledger know the key of this home; its secret. One that was revoked or has expired is replaced."""
    home = resolve_home(moot.environ)
    key = load_owner_key(home)
    while not await moot.access.adopt(key, note=NOTE):
        key = generate_token()
        write_private(home / NAME, key, over=True)
    return key
