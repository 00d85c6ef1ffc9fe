"""Limits of providers: what the user sets, what answers say, and the waiting before a call."""

import asyncio
import hashlib
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from moothall.domain.safe_text import compile_late
from moothall.errors import BadSetting, WorldError
from moothall.ports import participant

LIMITS: Final = "MOOT_LIMITS"
"""The variable that sets limits: `openai=500r,200000t,20c,5s;anthropic=50r` (requests and tokens a minute, calls and sessions
at once). Where it says nothing of calls at once, a local server is asked for one answer at a time."""
MAX_LOOK: Final = 5.0
WOKEN_AT_ONCE: Final = 4
"""How many calls look again when one ends: the first may wait for a place of its session, and not for its turn."""
MINUTE: Final = 60.0
MAX_ANSWER_BYTES: Final = 64 * 1024 * 1024
"""Of one answer of a model, with what a stream writes around each of its tokens."""

_PART: Final = compile_late(r"([0-9]{1,9})([rtcs])")
_SPAN: Final = compile_late(r"([0-9]+(?:\.[0-9]+)?)(ms|d|h|m|s)")
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def parse_limits(text: str) -> dict[str, participant.Allowance]:
    """The allowances that a user sets, by provider; raises BadSetting."""
    allowances: dict[str, participant.Allowance] = {}
    for word in filter(None, (each.strip() for each in text.split(";"))):
        provider, _, limits = word.partition("=")
        parts = [_PART.fullmatch(part.strip().lower()) for part in limits.split(",")]
        if not provider.strip() or not all(part is not None and int(part[1]) > 0 for part in parts):
            raise BadSetting(
                f"{LIMITS}: {word!r} is not a limit; expected PROVIDER=500r,200000t,20c,5s (requests a minute, tokens a minute, "
                "calls at once, sessions at once; each may be left out), several apart by semicolons"
            )
        numbers = {part[2]: int(part[1]) for part in parts if part is not None}
        allowances[provider.strip().lower()] = participant.Allowance(
            requests=numbers.get("r"),
            tokens=numbers.get("t"),
            at_once=numbers.get("c"),
            sessions=numbers.get("s"),
        )
    return allowances


def name_account(provider: str, address: str | None, key: str | None) -> str:
    """The name of a provider's account in a shared table. It tells neither the key nor where the server is."""
    secret = hashlib.sha256(f"{address or ''}\n{key or ''}".encode()).hexdigest()[:16]
    return f"{provider}/{secret}"


def name_local_account(server: str) -> str:
    """The name that all models of a local server share. On another machine the same address is another server."""
    return name_account("local", f"{server}@{socket.gethostname()}", None)


def read_headers(
    headers: Mapping[str, str], status: int, now: datetime
) -> participant.LimitReport | None:
    """What an answer says of limits, in OpenAI's or Anthropic's words; None if it says nothing."""
    values: dict[str, float] = {}
    closed = [0.0]
    for name in ("requests", "tokens"):
        limit, left, reset = (
            headers.get(f"x-ratelimit-{part}-{name}")
            or headers.get(f"anthropic-ratelimit-{name}-{part}")
            for part in ("limit", "remaining", "reset")
        )
        for key, value in ((name, limit), (f"{name}_left", left)):
            if (number := _parse_number(value or "")) is not None:
                values[key] = number
        if values.get(f"{name}_left") == 0.0:
            closed.append(_parse_span(reset or "", now))
    if status == 429:
        closed.append(_parse_span(headers.get("retry-after") or "1s", now))
    if not values and max(closed) <= 0:
        return None
    return participant.LimitReport(**values, closed_for=min(max(closed), 10 * MINUTE))


def _parse_span(text: str, now: datetime) -> float:
    """A time span in seconds: `1.5`, `6m0s`, `250ms`, or the date when it ends; 0 for what is none."""
    text = text.strip()
    if (number := _parse_number(text)) is not None:
        return number
    if parts := _SPAN.findall(text):
        return sum(float(number) * _UNITS[unit] for number, unit in parts)
    with suppress(ValueError):
        ends = datetime.fromisoformat(text)
        return max(0.0, (ends - now).total_seconds()) if ends.tzinfo is not None else 0.0
    return 0.0


def _parse_number(text: str) -> float | None:
    """A number that a limit can be; None for anything else."""
    with suppress(ValueError):
        number = float(text)
        return number if 0 <= number < 1e15 else None
    return None


@dataclass(slots=True)
class _Bucket:
    """What is left for an account at a moment. `places` says of each call whose it is, and until when that has a place."""

    at: float
    learned: participant.Allowance = field(default_factory=participant.Allowance)
    requests: float | None = None
    tokens: float | None = None
    closed_until: float = 0.0
    calls: dict[str, float] = field(default_factory=dict)
    places: dict[str, tuple[str, float]] = field(default_factory=dict)


class LocalLimits:
    """Implements `ProviderLimits` for one process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    async def take(
        self,
        account: str,
        call: str,
        *,
        tokens: int,
        allowance: participant.Allowance,
        lasts: float,
        session: str = "",
    ) -> float:
        now = self._clock()
        bucket = self._buckets.setdefault(account, _Bucket(now))
        limits = narrow_allowance(allowance, bucket.learned)
        bucket.requests = refill(bucket.requests, limits.requests, now - bucket.at)
        bucket.tokens = refill(bucket.tokens, limits.tokens, now - bucket.at)
        bucket.at = now
        bucket.calls = {name: ends for name, ends in bucket.calls.items() if ends > now}
        if session and limits.sessions is not None:
            bucket.places = {name: place for name, place in bucket.places.items() if place[1] > now}
            held = {name for name, _ in bucket.places.values()}
            if session not in held and len(held) >= limits.sessions:
                return 1.0
            bucket.places[call] = (session, now + participant.PLACE_SECONDS)
        if limits.at_once is not None and len(bucket.calls) >= limits.at_once:
            return 1.0
        wait = max(
            bucket.closed_until - now,
            compute_wait(bucket.requests, limits.requests, 1),
            compute_wait(bucket.tokens, limits.tokens, tokens),
        )
        if wait > 0:
            return wait
        bucket.requests = None if bucket.requests is None else bucket.requests - 1
        bucket.tokens = None if bucket.tokens is None else bucket.tokens - tokens
        bucket.calls[call] = now + lasts
        if call in bucket.places:
            bucket.places[call] = (session, now + lasts)
        return 0.0

    async def finish(self, account: str, call: str, *, tokens: int) -> None:
        bucket = self._buckets.get(account)
        if bucket is None or bucket.calls.pop(call, None) is None:
            return
        bucket.tokens = None if bucket.tokens is None else bucket.tokens - tokens
        if (place := bucket.places.get(call)) is not None:
            bucket.places[call] = (place[0], self._clock() + participant.PLACE_SECONDS)

    async def report(self, account: str, report: participant.LimitReport) -> None:
        now = self._clock()
        bucket = self._buckets.setdefault(account, _Bucket(now))
        bucket.learned = participant.Allowance(
            requests=report.requests or bucket.learned.requests,
            tokens=report.tokens or bucket.learned.tokens,
        )
        if bucket.requests is not None and report.requests_left is not None:
            bucket.requests = min(bucket.requests, report.requests_left)
        if bucket.tokens is not None and report.tokens_left is not None:
            bucket.tokens = min(bucket.tokens, report.tokens_left)
        bucket.closed_until = max(bucket.closed_until, now + report.closed_for)


def narrow_allowance(
    one: participant.Allowance, other: participant.Allowance
) -> participant.Allowance:
    narrowed = {}
    for each in fields(participant.Allowance):
        limits = (getattr(one, each.name), getattr(other, each.name))
        stated = [limit for limit in limits if limit is not None]
        narrowed[each.name] = min(stated, default=None)
    return participant.Allowance(**narrowed)


def refill(left: float | None, limit: float | None, seconds: float) -> float | None:
    """What is left after a while: the share that may be spent at once, and the rest of a minute's allowance evenly."""
    if limit is None:
        return None
    most = max(1.0, limit * participant.CAPACITY_SHARE)
    if left is None:
        return most
    return min(most, left + limit * (1 - participant.CAPACITY_SHARE) * seconds / MINUTE)


def compute_wait(left: float | None, limit: float | None, wanted: float) -> float:
    """In how many seconds there is enough; a call that is larger than what may be spent at once needs a full bucket."""
    if left is None or limit is None:
        return 0.0
    missing = min(wanted, max(1.0, limit * participant.CAPACITY_SHARE)) - left
    return missing * MINUTE / (limit * (1 - participant.CAPACITY_SHARE)) if missing > 0 else 0.0


@dataclass(slots=True, eq=False)
class _WaitingCall:
    """A call of this process that waits for its turn."""

    loop: asyncio.AbstractEventLoop
    woken: asyncio.Event = field(default_factory=asyncio.Event)


_WAITING: Final[dict[str, list[_WaitingCall]]] = {}
"""The calls that wait, by account, the first one first. It says who looks again at once, and never who may go."""


_UNDER_WAY: Final[Counter[str]] = Counter()
"""How many calls of this process are under way, by account."""


def _wake(account: str, most: int) -> None:
    """Have the calls that wait longest look again at once; those of another event loop look again by themselves."""
    loop = asyncio.get_running_loop()
    waiting = [each for each in _WAITING.get(account, ()) if each.loop is loop]
    for each in waiting[:most]:
        each.woken.set()


@contextmanager
def _stand_in_line(account: str) -> Iterator[_WaitingCall]:
    """While a call waits for its turn. When it leaves, with its turn or without, the next one looks."""
    waiting = _WaitingCall(asyncio.get_running_loop())
    line = _WAITING.setdefault(account, [])
    line.append(waiting)
    try:
        yield waiting
    finally:
        line.remove(waiting)
        if not line:
            del _WAITING[account]
        _wake(account, 1)


class ProviderAccount:
    """One key of one provider: waits until a call is allowed, and learns from the answers."""

    def __init__(
        self, limits: participant.ProviderLimits, account: str, allowance: participant.Allowance
    ) -> None:
        self._limits = limits
        self._account = account
        self._allowance = allowance

    @property
    def at_once(self) -> int | None:
        """How many calls are made at once, where the user or Moot has limited that."""
        return self._allowance.at_once

    @property
    def is_busy(self) -> bool:
        """Whether a call of this process is under way, or waits for its turn."""
        return _UNDER_WAY[self._account] > 0 or self._account in _WAITING

    @asynccontextmanager
    async def call(self, tokens: int, lasts: float) -> AsyncIterator["MeteredCall"]:
        """Wait for the turn, which is no part of the seat's time, and count the call while it is under way."""
        name, began = uuid4().hex, asyncio.get_running_loop().time()
        pause = await self._take(name, tokens, lasts)
        if pause > 0:
            with participant.note_waiting(), _stand_in_line(self._account) as waiting:
                while pause > 0:
                    await _sleep_until_woken(waiting, min(pause, MAX_LOOK))
                    pause = await self._take(name, tokens, lasts)
        call = MeteredCall(waited=asyncio.get_running_loop().time() - began)
        token = _METER.set(call)
        _UNDER_WAY[self._account] += 1
        try:
            yield call
        finally:
            _METER.reset(token)
            _UNDER_WAY[self._account] -= 1
            # A ledger that is away must not cost the answer.
            with suppress(WorldError):
                await self._limits.finish(
                    self._account, name, tokens=(call.tokens or tokens) - tokens
                )
                if call.report is not None:
                    await self._limits.report(self._account, call.report)
            _wake(self._account, WOKEN_AT_ONCE)

    async def _take(self, name: str, tokens: int, lasts: float) -> float:
        try:
            return await self._limits.take(
                self._account,
                name,
                tokens=tokens,
                allowance=self._allowance,
                lasts=lasts,
                session=participant.ASKED_IN.get(),
            )
        except WorldError:
            return 0.0


async def _sleep_until_woken(waiting: _WaitingCall, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await waiting.woken.wait()
    waiting.woken.clear()


@dataclass(slots=True)
class MeteredCall:
    """A call under way: how long it waited for its turn, what it used, and what the answer said of limits."""

    waited: float = 0.0
    tokens: int = 0
    report: participant.LimitReport | None = None


_METER: ContextVar[MeteredCall | None] = ContextVar("moot_metered_call", default=None)


async def note_response(response: Any) -> None:
    """Read the headers of an answer for the call that is under way in this task: a hook of the provider's HTTP client."""
    call = _METER.get()
    if call is not None:
        report = read_headers(response.headers, response.status_code, datetime.now(UTC))
        call.report = report or call.report


def bound_answers(most: int) -> Callable[[Any], Awaitable[None]]:
    """Return a hook of an HTTP client: an answer that unpacks to more bytes fails, whatever size it states."""

    async def bound(response: Any) -> None:
        import httpx2

        read = response.aiter_bytes

        async def read_bytes(chunk_size: int | None = None) -> AsyncIterator[bytes]:
            size = 0
            async with aclosing(read(chunk_size)) as chunks:
                async for chunk in chunks:
                    size += len(chunk)
                    if size > most:
                        raise httpx2.ReadError(f"its answer is longer than {most} bytes")
                    yield chunk

        response.aiter_bytes = read_bytes

    return bound


_BOUND: Final = bound_answers(MAX_ANSWER_BYTES)


def hook_client(client: Any) -> None:
    """Have answers of a provider's client bounded and read by `note_response`, once; other clients are left as they are."""
    hooks = getattr(getattr(client, "_client", None), "event_hooks", None)
    if isinstance(hooks, dict) and note_response not in hooks.get("response", []):
        # The client gives out a copy: only setting it changes anything.
        client._client.event_hooks = {
            **hooks,
            "response": [*hooks.get("response", []), _BOUND, note_response],
        }
