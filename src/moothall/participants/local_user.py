"""Who sits at this machine, as the record names them."""

import getpass
from typing import Final

from moothall.domain.safe_text import one_line

MAX_NAME_LENGTH: Final = 64


def name_local_door() -> str:
    """The door of a word that was typed on this machine: `local:USER`."""
    try:
        user = one_line(getpass.getuser())[:MAX_NAME_LENGTH]
    except (OSError, KeyError, ImportError):
        # A container may run under a number that has no name.
        user = ""
    return f"local:{user}" if user else "local"
