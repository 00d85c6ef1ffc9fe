"""Who is let in: hosts and origins, tokens, sizes, rates."""

import ipaddress
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from moot.errors import NotAllowed
from moot.memory.tokens import AccessDenied, TokenStore, looks_like_token
from moot.surfaces.api.errors import CODES, TOO_MUCH
from moot.surfaces.api.method import Caller
from moot.surfaces.http.chat_errors import CHAT_PATHS, reshape_refusal
from moot.surfaces.rpc.jsonrpc import build_refusal

OPEN_PATHS: Final = frozenset({"/healthz"})
MOST_CALLERS: Final = 10_000
DENIED: Final = {
    "unknown": "the token is unknown",
    "expired": "the token has expired; ask whoever runs the server for a new one (`moot invite`)",
    "revoked": "the token was revoked",
}


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class RateLimiter:
    """A bucket per caller that fills by `per_second` up to `burst`."""

    def __init__(self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second = per_second
        self._burst = burst
        self._clock = clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, caller: str) -> bool:
        """Whether one more call fits."""
        now = self._clock()
        left, since = self._buckets.pop(caller, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._per_second)
        self._buckets[caller] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > MOST_CALLERS:
            self._buckets.popitem(last=False)
        return left >= 1


class AccessControl:
    """ASGI middleware: refuses before anything is read, else says who calls in `request.state.caller`.

    A server that only this machine reaches lets in who has no token as `local`, and answers to its own names alone, so that no
    page can reach it by another. One that others reach lets nobody in without a token.
    """

    def __init__(self, app: ASGIApp, *, access: Callable[[], TokenStore], is_local: bool, rates: RateLimiter) -> None:
        self._app = app
        self._access = access
        self._is_local = is_local
        self._rates = rates

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refused = self._refuse_other_origin(request)
        if refused is None and request.url.path not in OPEN_PATHS:
            caller = await self._identify_caller(request)
            if isinstance(caller, Response):
                refused = caller
            else:
                who = caller.token or (request.client.host if request.client else "")
                refused = None if self._rates.take(who) else _build_too_many()
                known = {"caller": caller, "secret": _parse_secret(request), "take": lambda: self._rates.take(who)}
                scope["state"] = {**scope.get("state", {}), **known}
        if refused is not None and request.url.path.startswith(CHAT_PATHS):
            refused = reshape_refusal(refused)
        await (refused or self._app)(scope, receive, send)

    def _refuse_other_origin(self, request: Request) -> Response | None:
        """The refusal of a request that a page of another origin made."""
        host = request.headers.get("host", "")
        if self._is_local and not is_loopback(_parse_host_name(host)):
            return PlainTextResponse(f"this server is not called {host[:100]!r}\n", 421)
        origin = request.headers.get("origin")
        if origin is not None and not _is_from(origin, host):
            return PlainTextResponse("requests from pages of another origin are refused\n", 403)
        if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"}:
            return PlainTextResponse("requests from pages of another origin are refused\n", 403)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "POST" and kind != "application/json":
            return PlainTextResponse("expected Content-Type: application/json\n", 415)
        return None

    async def _identify_caller(self, request: Request) -> Caller | Response:
        given = request.headers.get("authorization", "")
        if not given:
            return Caller() if self._is_local else _build_unauthorized("a token is needed: Authorization: Bearer TOKEN")
        secret = _parse_secret(request)
        if self._is_local and request.url.path.startswith(CHAT_PATHS) and not looks_like_token(secret):
            # Chat clients insist on a key: where none is needed, one that never was a token of ours stands for none.
            return Caller()
        if not secret:
            return _build_unauthorized("expected Authorization: Bearer TOKEN")
        identity = await self._access().identify(secret)
        if isinstance(identity, AccessDenied):
            return _build_unauthorized(DENIED[identity.reason])
        return Caller.from_identity(identity)


def _parse_secret(request: Request) -> str:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _parse_host_name(host: str) -> str:
    """The host without its port; empty for what is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_from(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc == host
    except ValueError:
        return False


def _build_unauthorized(message: str) -> Response:
    body = build_refusal(CODES[NotAllowed].number, message, "NotAllowed")
    return Response(body, 401, {"WWW-Authenticate": 'Bearer realm="moot"'}, media_type="application/json")


def _build_too_many() -> Response:
    body = build_refusal(TOO_MUCH.number, "too many calls; slow down", "TooMuch")
    return Response(body, 429, {"Retry-After": "1"}, media_type="application/json")
