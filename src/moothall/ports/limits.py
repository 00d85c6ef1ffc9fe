"""The port for a provider's limits: who may call it now, counted over all processes that share the limits."""

from dataclasses import dataclass
from typing import Protocol

CAPACITY_SHARE = 0.1
"""How much of a minute's allowance may be spent at once. The rest flows in evenly: no minute has more than the allowance."""

PLACE_SECONDS = 5.0
"""How long a session keeps its place at a provider after a call: its next call follows, as long as nobody is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a provider allows one key: requests and tokens in a minute, calls and sessions at once. None: no limit is known."""

    requests: float | None = None
    tokens: float | None = None
    at_once: int | None = None
    sessions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReport:
    """What a provider's answer said of its limits.

    `requests` and `tokens` are the allowances of a minute, `..._left` what is left of them; nothing is allowed for `closed_for`
    seconds.
    """

    requests: float | None = None
    requests_left: float | None = None
    tokens: float | None = None
    tokens_left: float | None = None
    closed_for: float = 0.0


class ProviderLimits(Protocol):
    """Limits by account: a provider and a key. `moothall_testkit.limits_contract` tests every implementation against it."""

    async def take(self, account: str, call: str, *, tokens: int, allowance: Allowance, lasts: float, session: str = "") -> float:
        """Take one request and its tokens; returns 0 if the call may begin now, else in how many seconds to ask again.

        `call` names it until `finish`; one that is never finished counts for `lasts` seconds. `session` is whose call it is, ""
        for none: it has a place at the provider until `PLACE_SECONDS` after its last call.
        """
        ...

    async def finish(self, account: str, call: str, *, tokens: int) -> None:
        """End a call; `tokens` are those that it used beyond those taken (less than 0: fewer)."""
        ...

    async def report(self, account: str, report: LimitReport) -> None:
        """Learn what the provider said of its limits; the narrower of what is set and what it says holds."""
        ...
