"""Forward-only migrations, one SQL file each, numbered from 1 without gaps."""

from importlib.resources import files
from typing import NamedTuple


class Migration(NamedTuple):
    version: int
    sql: str


def load_migrations(database: str) -> list[Migration]:
    """Return the migrations of one kind of database, in order."""
    folder = files(__package__) / database
    # Names begin with four digits, so the order of names is the order of versions.
    paths = sorted((path for path in folder.iterdir() if path.name.endswith(".sql")), key=lambda path: path.name)
    return [Migration(int(path.name[:4]), path.read_text(encoding="utf-8")) for path in paths]
