"""This machine: who sits at it, as the record names them, and whether the name of a host leads to it or to a private network."""

import asyncio
import getpass
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

from moothall.domain.safe_text import one_line


async def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses that a name has now; raises OSError."""
    looked_up = await asyncio.get_running_loop().getaddrinfo(host, port)
    return list(dict.fromkeys(str(each[4][0]) for each in looked_up))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def is_private_host(host: str) -> bool:
    """Whether an address is of this machine or of a private network; of names only `localhost` is."""
    with suppress(ValueError):
        return not ip_address(host).is_global
    return host == "localhost"


MAX_NAME_LENGTH: Final = 64


def name_local_door() -> str:
    """The door of a word that was typed on this machine: `local:USER`."""
    try:
        user = one_line(getpass.getuser())[:MAX_NAME_LENGTH]
    except (OSError, KeyError, ImportError):
        # A container may run under a number that has no name.
        user = ""
    return f"local:{user}" if user else "local"
