"""Where Moot keeps its data, by environment variables.

MOOT_HOME     the folder of the ledger, the embedded model and the search vectors (default: `moot config get home`, or ~/.moot)
MOOT_MEMORY   `off` tells no seat of earlier decisions on similar questions
MOOT_LEDGER   another ledger: a file, `memory:`, or a postgresql:// address
MOOT_HEADS    signed heads that are stored elsewhere, a file or a folder: `moot verify` compares with them
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from moothall.app.user_settings import read_settings
from moothall.disk.private import make_private_folder, tighten_folder, write_private
from moothall.errors import BadSetting, MissingExtra, describe_install
from moothall.ledgers.memory import MemoryLedger
from moothall.ledgers.sqlite import SqliteLedger
from moothall.ports.ledger import Ledger

_KEYS: Final = "keys.toml"
OWN_NAMES: Final = (
    _KEYS,
    "ledger.db",
    "owner.key",
    "server.toml",
    "server.url",
    "agents",
    "connections",
    "demos",
    "drafts",
    "heads.",
    "history",
    "models",
    "search",
)
"""How the names in MOOT_HOME begin that are Moot's: other files of the folder stay as they are."""
VECTORS: Final = "vectors.bin"
"""The file of what search by meaning has computed, for all ledgers."""
INDEX: Final = "index-{}.bin"
"""The file of a ledger's search index."""
LIST: Final = "list-{}.db"
"""The file of the list of a ledger's sessions."""

LOCAL_URL: Final = "http://127.0.0.1:8760"
"""Where a server listens unless it is asked to listen elsewhere."""
_SERVER_URL: Final = "server.url"

log = logging.getLogger("moot")


def resolve_home(environ: Mapping[str, str]) -> Path:
    """Return the folder that Moot owns."""
    home = environ.get("MOOT_HOME") or read_settings(environ).get("home") or Path.home() / ".moot"
    return Path(home).expanduser().absolute()


def resolve_keys_file(environ: Mapping[str, str]) -> Path:
    """Return the file with the keys of providers that were entered."""
    return resolve_home(environ) / _KEYS


def has_keys(environ: Mapping[str, str]) -> bool:
    """Whether keys of providers were entered."""
    return resolve_keys_file(environ).exists()


def save_server_url(environ: Mapping[str, str], url: str) -> None:
    """Note where the server of this home listens, for the links of invitations; a home that is read-only notes nothing."""
    home = resolve_home(environ)
    with suppress(OSError):
        make_private_folder(home)
        write_private(home / _SERVER_URL, url, over=True)


def load_server_url(environ: Mapping[str, str]) -> str:
    """Return where the server of this home listened last; the usual address where none did."""
    try:
        return (resolve_home(environ) / _SERVER_URL).read_text("utf-8").strip() or LOCAL_URL
    except (OSError, UnicodeDecodeError):
        return LOCAL_URL


def tighten_home(environ: Mapping[str, str]) -> None:
    """Close an existing MOOT_HOME to other users of this machine, with a word about it."""
    home = resolve_home(environ)
    if tighten_folder(home, OWN_NAMES):
        log.warning("other users of this machine could read %s; now only you can", home)


def resolve_ledger_address(environ: Mapping[str, str]) -> str:
    return environ.get("MOOT_LEDGER") or str(resolve_home(environ) / "ledger.db")


def resolve_search_file(environ: Mapping[str, str], name: str) -> Path | None:
    """Return the cache file of what was computed from the ledger (`{}` stands for which); None where nothing is cached."""
    address = resolve_ledger_address(environ)
    # Each ledger has its own: an address may hold a password, and cannot be the name of a file.
    digest = sha256(address.encode()).hexdigest()[:16]
    return None if address == "memory:" else resolve_home(environ) / "search" / name.format(digest)


@asynccontextmanager
async def open_ledger(address: str, *, name: str = "moot") -> AsyncIterator[Ledger]:
    """Open the ledger at an address; raises LedgerUnavailable, LedgerNewer, BadSetting or MissingExtra.

    `name` is what the connections to a database server are called there.
    """
    if address == "memory:":
        yield MemoryLedger()
    elif is_postgres(address):
        try:
            from moothall.ledgers.postgres import PostgresLedger
        except ImportError as cause:
            raise MissingExtra(
                f"a PostgreSQL ledger needs an extra package: {describe_install('postgres')}"
            ) from cause
        async with PostgresLedger(address, name=name) as postgres:
            yield postgres
    elif "://" in address:
        raise BadSetting(
            f"MOOT_LEDGER = {address!r} is not a ledger; expected a file, `memory:` or postgresql://…"
        )
    else:
        async with SqliteLedger(resolve_file_path(address)) as sqlite:
            yield sqlite


def resolve_file_path(address: str) -> Path:
    return Path(address).expanduser().absolute()


def is_postgres(address: str) -> bool:
    return address.startswith(("postgresql://", "postgres://"))
