"""The folder of a project: that which holds its conferences in files."""

from pathlib import Path
from typing import Final

TABLE: Final = ".roundtable"
"""The folder of a project's conferences."""


def find_project_root(start: Path) -> Path:
    """Return the nearest folder, from here upwards, that has conferences; `start` itself if none has."""
    here = start.absolute()
    for folder in (here, *here.parents):
        if (folder / TABLE).is_dir():
            return folder
    return here
