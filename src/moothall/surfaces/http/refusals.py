"""How callers are refused: repeated failed logins of one address are delayed, and chat clients read errors in OpenAI's shape."""

import asyncio
import ipaddress
import json
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.responses import JSONResponse, Response

from moothall.domain.safe_text import dump_json
from moothall.memory.tokens import AccessDenied

FIRST_SECONDS: Final = 0.05
MAX_SECONDS: Final = 3.0
FREE: Final = 4
"""So many refusals are answered after the first delay: a person may have pasted an old token."""
HALF_LIFE_SECONDS: Final = 30.0
MAX_PEERS: Final = 10_000
MAX_HELD: Final = 32
"""How many refusals of one address are held at once; what comes beyond that is answered at once, and costs nothing."""


class RefusalBrake:
    """Remembers how often each address was refused lately, of a bounded number of addresses.

    Who has a valid secret is never held up: all users of a machine, and all behind one proxy, share an address.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        on_refused: Callable[[str, AccessDenied], None] = lambda peer, denied: None,
    ) -> None:
        self._clock = clock
        self._on_refused = on_refused
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

    async def hold(self, host: str, denied: AccessDenied, *, has_room: bool = True) -> bool:
        """Count a refusal, and hold it; False at once without room, and if too many of this address are held already."""
        peer = name_peer(host)
        self._on_refused(peer, denied)
        seconds = self.note(peer)
        if not has_room or self._held[peer] >= MAX_HELD:
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


CHAT_PATHS: Final = "/v1/"
"""What the paths of chat clients begin with."""
_TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES: Final = {401: "invalid_api_key", 403: "permission_denied", 429: "rate_limit_exceeded"}


class SafeJSONResponse(JSONResponse):
    """JSON that can be sent whatever a client wrote: half a character in a name of its own ends no answer."""

    def render(self, content: Any) -> bytes:
        return dump_json(content).encode()


def build_chat_error(
    status: int, message: str, code: str, param: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    return SafeJSONResponse(build_error_body(status, message, code, param), status, headers=dict(headers or {}))


def build_error_body(status: int, message: str, code: str, param: str | None = None) -> dict[str, Any]:
    """A sentence, and OpenAI's type for such a status."""
    kind = _TYPES.get(status) or ("server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": message.strip(), "type": kind, "param": param, "code": code}}


def reshape_refusal(refusal: Response) -> Response:
    """A refusal of the server's door, in OpenAI's shape."""
    text = bytes(refusal.body).decode()
    try:
        message = json.loads(text)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = text
    headers = {name: value for name, value in refusal.headers.items() if name in {"www-authenticate", "retry-after"}}
    return build_chat_error(refusal.status_code, message, _CODES.get(refusal.status_code, "refused"), headers=headers)
