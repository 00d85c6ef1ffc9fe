"""How a browser logs in and out (W-7): a ticket, or a token that a person pastes, becomes a cookie that no script can read."""

import asyncio
import json
import math
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Final

from pydantic.alias_generators import to_camel
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from moothall.errors import WorldError
from moothall.memory.facts import Refusal
from moothall.memory.tokens import (
    MAX_LOGIN,
    TICKET,
    AccessDenied,
    IssuedToken,
    Token,
    TokenStore,
    parse_code,
)
from moothall.surfaces.api.method import MAX_TRIES, MAY, TRIES_PER_SECOND, Caller, RateLimiter
from moothall.surfaces.http.access_control import find_cookie, name_peer, read_body, set_cookie

MAX_LOGIN_BODY_LENGTH: Final = 4_096
LOGINS_PER_SECOND: Final = 0.2
"""With one token, after the first ten: a person logs in now and then, and each login is an entry of the ledger."""
MAX_LOGINS_AT_ONCE: Final = 10.0
LOG_SECONDS: Final = 1.0
"""So long refusals are gathered before they are recorded."""
LOG_ENTRIES_PER_SECOND: Final = 1 / 600
MAX_LOG_ENTRIES_AT_ONCE: Final = 10.0
MAX_LOG_LINES: Final = 20
"""In one entry; what other addresses did is counted together."""

_DENIED: Final = {
    "unknown": "this link or token is not valid; a link works once: ask for another one (`moot invite`, `moot serve`)",
    "expired": "this link or token has expired; ask for another one (`moot invite`, `moot serve`)",
    "revoked": "the token of this link was revoked",
}


class Login:
    """The requests `/login`, `/join`, `/logout` and `/me`."""

    def __init__(
        self,
        access: Callable[[], TokenStore],
        log: "RefusalLog",
        build_prompt: Callable[[Token], Awaitable[str]],
    ) -> None:
        self._access = access
        self._build_prompt = build_prompt
        self._log = log
        self._refusals = RateLimiter(TRIES_PER_SECOND, MAX_TRIES)
        self._logins = RateLimiter(LOGINS_PER_SECOND, MAX_LOGINS_AT_ONCE)

    def build_routes(self) -> list[Route]:
        return [
            Route("/login", self.log_in, methods=["POST"]),
            Route("/join", self.join, methods=["POST"]),
            Route("/logout", self.log_out, methods=["POST"]),
            Route("/me", self.describe_caller, methods=["GET"]),
        ]

    async def log_in(self, request: Request) -> Response:
        granted = await self._grant(request)
        if isinstance(granted, Response):
            return granted
        response = Response(status_code=204, headers={"Cache-Control": "no-store"})
        set_cookie(request, response, granted[1].secret, int(MAX_LOGIN.total_seconds()))
        return response

    async def join(self, request: Request) -> Response:
        """Answer a code with a token for programs: its rights are those of the token that the code was made for (A-4)."""
        granted = await self._grant(request)
        if isinstance(granted, Response):
            return granted
        token, login = granted
        shown = {
            "token": login.secret,
            "role": token.role,
            "sessionId": token.session,
            "seat": token.seat,
        }
        return JSONResponse(
            {**shown, "prompt": await self._build_prompt(token)},
            headers={"Cache-Control": "no-store"},
        )

    async def _grant(self, request: Request) -> tuple[Token, IssuedToken] | Response:
        """The login that a request's secret gives, and whose rights it has; or the refusal."""
        secret = _parse_login(await read_body(request, MAX_LOGIN_BODY_LENGTH) or b"")
        if secret is None:
            return JSONResponse(
                {"error": 'expected {"ticket": "…"}, {"token": "…"} or {"code": "…"}'}, 400
            )
        address = request.client.host if request.client else ""
        peer = name_peer(address)
        is_code = bool(parse_code(secret.removeprefix(f"{TICKET}_").replace("_", "")))
        # A code is short enough to be guessed: where too many were tried, not even a right one is looked up.
        has_room = not is_code or self._refusals.take(peer)
        try:
            # A long secret is looked up before anything is counted: who has a right one shares its address with those who guess.
            token = (
                await self._access().find_token(secret)
                if has_room
                else AccessDenied(reason="unknown")
            )
            if isinstance(token, Token) and not self._logins.take(token.id):
                wait = math.ceil(self._logins.count_wait(token.id))
                return JSONResponse(
                    {"error": "too many logins with this token; wait a moment"},
                    429,
                    {"Retry-After": str(wait)},
                )
            login = (
                await self._access().log_in(secret, address) if isinstance(token, Token) else token
            )
        except WorldError as error:
            return JSONResponse({"error": f"{error}; try again"}, 503, {"Retry-After": "2"})
        if isinstance(login, AccessDenied):
            self._log.note(peer, login)
            if not has_room or (not is_code and not self._refusals.take(peer)):
                message = "too many refused logins from your address; wait a moment"
                return JSONResponse({"error": message}, 429, {"Retry-After": "5"})
            return JSONResponse({"error": _DENIED[login.reason]}, 401)
        assert isinstance(token, Token)
        return token, login

    async def log_out(self, request: Request) -> Response:
        await self._access().log_out(find_cookie(request))
        response = Response(status_code=204)
        set_cookie(request, response)
        return response

    async def describe_caller(self, request: Request) -> Response:
        caller: Caller = request.state.caller
        shown = {
            "role": caller.role,
            "may": sorted(MAY[caller.role]),
            "seat": caller.seat,
            "session": caller.session,
            "name": caller.name,
            "isInvited": bool(caller.token),
            "tokenId": request.state.token_id,
            "limits": {to_camel(name): most for name, most in request.state.limits},
        }
        return JSONResponse(shown, headers={"Cache-Control": "no-store"})


class RefusalLog:
    """Records who was refused: the first soon, a flood counted together, in at most 154 entries on its first day."""

    def __init__(self, access: Callable[[], TokenStore]) -> None:
        self._access = access
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._noted = asyncio.Event()
        self._pace = RateLimiter(LOG_ENTRIES_PER_SECOND, MAX_LOG_ENTRIES_AT_ONCE)

    def note(self, peer: str, denied: AccessDenied) -> None:
        known = (peer, denied.reason, denied.id)
        is_counted = known in self._counts or len(self._counts) < MAX_LOG_LINES
        self._counts[known if is_counted else ("other addresses", "", "")] += 1
        self._noted.set()

    async def run(self) -> None:
        try:
            while await self._noted.wait():
                await asyncio.sleep(max(LOG_SECONDS, self._pace.count_wait("")))
                self._pace.take("")
                await self.flush()
        finally:
            await self.flush()

    async def flush(self) -> None:
        """Record what was counted; what the ledger does not take is counted further."""
        counts, self._counts = self._counts, Counter()
        self._noted.clear()
        lines = [
            Refusal(address=peer, reason=why, token=token, count=n)
            for (peer, why, token), n in counts.items()
        ]
        try:
            await self._access().record_refusals(lines) if lines else None
        except WorldError:
            self._counts.update(counts)


def _parse_login(body: bytes) -> str | None:
    """The secret that a login brings; None for anything else."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(given, dict) or len(given) != 1:
        return None
    secret = given.get("ticket") or given.get("token") or given.get("code")
    # A person may type a code where a token is asked for.
    return (
        parse_code(secret) or secret.strip() if isinstance(secret, str) and secret.strip() else None
    )
