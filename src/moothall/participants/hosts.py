"""Hosts: who sits at this machine, which addresses lead to it or into a private network, and requests that look at that.

What people wrote down is only asked for at the place that was checked, in a private network only where that is meant.
"""

import asyncio
import getpass
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final

from moothall.domain.safe_text import one_line

if TYPE_CHECKING:
    import httpx2


async def resolve_host(host: str, port: int) -> list[str]:
    """Return the addresses that a name has now; raises OSError."""
    looked_up = await asyncio.get_running_loop().getaddrinfo(host, port)
    return list(dict.fromkeys(str(each[4][0]) for each in looked_up))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


_TRANSLATED: Final = ip_network("64:ff9b::/96")
_TRANSLATED_LOCALLY: Final = ip_network("64:ff9b:1::/48")
_COMPATIBLE: Final = ip_network("::/96")


def is_private_host(host: str) -> bool:
    """Whether an address is of this machine, of a private network or of a group; of names only `localhost` is."""
    with suppress(ValueError):
        return _is_private_address(ip_address(host.partition("%")[0]))
    return host == "localhost"


def _is_private_address(address: IPv4Address | IPv6Address) -> bool:
    if not address.is_global or address.is_multicast:
        return True
    if isinstance(address, IPv4Address):
        return False
    if address.is_site_local or address in _TRANSLATED_LOCALLY:
        return True
    inner = _find_inner_address(address)
    return inner is not None and _is_private_address(inner)


def _find_inner_address(address: IPv6Address) -> IPv4Address | None:
    """The address that a gateway translates an address to."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if address in _TRANSLATED or address in _COMPATIBLE:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None


MAX_NAME_LENGTH: Final = 64


def name_local_door() -> str:
    """The door of a word that was typed on this machine: `local:USER`."""
    try:
        user = one_line(getpass.getuser())[:MAX_NAME_LENGTH]
    except (OSError, KeyError, ImportError):
        # A container may run under a number that has no name.
        user = ""
    return f"local:{user}" if user else "local"


@asynccontextmanager
async def send_request(
    method: str,
    url: str,
    headers: Mapping[str, str],
    *,
    content: bytes | None = None,
    is_private: bool = False,
) -> AsyncIterator["httpx2.Response"]:
    """Send a request, and yield the answer before its body is read; no redirect is followed. The caller sets the deadline.

    :raises OSError: where nobody answers as HTTP says.
    :raises ValueError: for a host on this machine or in a private network, unless it may be there.
    """
    import httpx2

    try:
        target = httpx2.URL(url)
        addresses = await resolve_host(
            target.host, target.port or (443 if target.scheme == "https" else 80)
        )
        if not is_private and any(map(is_private_host, addresses)):
            raise ValueError(f"{target.host} is on this machine or in a private network")
        # Not compressed: a small answer could become one that fills the memory.
        headers = {
            "Host": target.netloc.decode(),
            "User-Agent": "moot",
            "Accept-Encoding": "identity",
            **headers,
        }
        # No proxy of the environment: it would connect to places that were not checked here.
        async with httpx2.AsyncClient(timeout=None, trust_env=False) as client:
            for address in addresses:
                # A name may lead elsewhere by the next moment. The certificate is that of the name.
                pinned, sni = target.copy_with(host=address), {"sni_hostname": target.host}
                request = client.build_request(
                    method, pinned, headers=headers, content=content, extensions=sni
                )
                try:
                    response = await client.send(request, stream=True)
                    break
                except httpx2.ConnectError:
                    if address == addresses[-1]:
                        raise
            async with aclosing(response):
                yield response
    except (httpx2.HTTPError, httpx2.InvalidURL) as cause:
        raise OSError(str(cause) or type(cause).__name__) from cause
