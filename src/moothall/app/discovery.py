"""Discovers available platforms: keys in the environment, model servers on this machine, the embedded model."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from moothall.app.seats import Seating
from moothall.participants.platforms import find_address, find_platforms, parse_platform

KNOCK_SECONDS = 2.0
"""How long a local port may be silent; if nobody listens, the connection fails at once."""
LOCAL_SERVERS = ("ollama", "lmstudio", "llamacpp", "vllm")


@dataclass(frozen=True, slots=True)
class DiscoveredPlatforms:
    """Platforms that could fill a seat, the better ones first."""

    models: tuple[str, ...]
    servers: tuple[str, ...]
    embedded: bool

    @property
    def best(self) -> tuple[str, ...]:
        """The platforms to use by default: the embedded model only if there is nothing better."""
        return (*self.models, *self.servers) or (("embedded",) if self.embedded else ())


async def discover_platforms(environ: Mapping[str, str], seating: Seating) -> DiscoveredPlatforms:
    """Discover platforms, without spending anything."""
    knocked = await asyncio.gather(*(_is_listening(name, environ) for name in LOCAL_SERVERS))
    servers = tuple(name for name, listens in zip(LOCAL_SERVERS, knocked, strict=True) if listens)
    return DiscoveredPlatforms(models=tuple(find_platforms(environ)), servers=servers, embedded=seating.has_embedded())


async def _is_listening(name: str, environ: Mapping[str, str]) -> bool:
    """Whether a model server answers there with a list of models: other programs listen on the same ports."""
    parts = urlsplit(find_address(parse_platform(name), environ) or "")
    with suppress(OSError, TimeoutError, ValueError):
        async with asyncio.timeout(KNOCK_SECONDS):
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port or 80)
            try:
                path = f"{parts.path.rstrip('/')}/models"
                writer.write(f"GET {path} HTTP/1.0\r\nHost: {parts.hostname}\r\nAccept: application/json\r\n\r\n".encode())
                await writer.drain()
                answer = await reader.read(4_096)
            finally:
                writer.close()
        return b" 200 " in answer.split(b"\r\n", 1)[0] and b'"data"' in answer
    return False
