"""Where the name of a host leads now, and whether that is on this machine or in a private network."""

import asyncio
from contextlib import suppress
from ipaddress import ip_address


async def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses that a name has now; raises OSError."""
    looked_up = await asyncio.get_running_loop().getaddrinfo(host, port)
    return list(dict.fromkeys(str(each[4][0]) for each in looked_up))


def is_private_host(host: str) -> bool:
    """Whether an address is of this machine or of a private network; of names only `localhost` is."""
    with suppress(ValueError):
        return not ip_address(host).is_global
    return host == "localhost"
