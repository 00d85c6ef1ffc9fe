"""Requests to addresses that people wrote down: to the place that was checked, in a private network only where that is meant."""

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING

from moothall.participants.local_machine import is_private_host, resolve_host

if TYPE_CHECKING:
    import httpx2


@asynccontextmanager
async def send_request(
    method: str, url: str, headers: Mapping[str, str], *, content: bytes | None = None, is_private: bool = False
) -> AsyncIterator["httpx2.Response"]:
    """Send a request, and yield the answer before its body is read; no redirect is followed. The caller sets the deadline.

    :raises OSError: where nobody answers as HTTP says.
    :raises ValueError: for a host on this machine or in a private network, unless it may be there.
    """
    import httpx2

    try:
        target = httpx2.URL(url)
        addresses = await resolve_host(target.host, target.port or (443 if target.scheme == "https" else 80))
        if not is_private and any(map(is_private_host, addresses)):
            raise ValueError(f"{target.host} is on this machine or in a private network")
        # Not compressed: a small answer could become one that fills the memory.
        headers = {"Host": target.netloc.decode(), "User-Agent": "moot", "Accept-Encoding": "identity", **headers}
        # No proxy of the environment: it would connect to places that were not checked here.
        async with httpx2.AsyncClient(timeout=None, trust_env=False) as client:
            for address in addresses:
                # A name may lead elsewhere by the next moment. The certificate is that of the name.
                pinned, sni = target.copy_with(host=address), {"sni_hostname": target.host}
                request = client.build_request(method, pinned, headers=headers, content=content, extensions=sni)
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
