"""Slows down whoever guesses: each refused secret of one address is answered later than the one before."""

import asyncio
import ipaddress
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Final

FIRST_SECONDS: Final = 0.05
MAX_SECONDS: Final = 3.0
FREE: Final = 4
"""So many refusals are answered after the first delay: somebody pasted an old token."""
HALF_LIFE_SECONDS: Final = 30.0
MAX_PEERS: Final = 10_000
MAX_HELD: Final = 32
"""How many refusals of one address are held at once; what comes beyond that is answered at once, and costs nothing."""


class RefusalBrake:
    """Remembers how often each address was refused lately, of a bounded number of addresses.

    Who has a valid secret is never held up: all users of a machine, and all behind one proxy, share an address.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refused: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._held: Counter[str] = Counter()

    @property
    def size(self) -> int:
        """How many addresses are remembered."""
        return len(self._refused)

    def note(self, peer: str) -> float:
        """Count one more refusal of an address; for how many seconds it is to be held."""
        now = self._clock()
        count, since = self._refused.pop(peer, (0.0, now))
        count = count * math.exp2((since - now) / HALF_LIFE_SECONDS) + 1
        self._refused[peer] = (count, now)
        if len(self._refused) > MAX_PEERS:
            self._refused.popitem(last=False)
        return min(MAX_SECONDS, FIRST_SECONDS * math.exp2(min(max(0.0, count - FREE), 16.0)))

    async def hold(self, host: str) -> bool:
        """Count a refusal, and hold it; False at once if too many of this address are held already."""
        peer = name_peer(host)
        seconds = self.note(peer)
        if self._held[peer] >= MAX_HELD:
            return False
        self._held[peer] += 1
        try:
            await asyncio.sleep(seconds)
        finally:
            self._held[peer] -= 1
            if not self._held[peer]:
                del self._held[peer]
        return True


def name_peer(host: str) -> str:
    """Who stands behind an address: of IPv6 the network, because a single user has 2**64 addresses in it."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((int(address) >> 64 << 64, 64)))
    return host
