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
    AccessDenied,
    IssuedToken,
    Token,
    TokenStore,
    parse_code,
)
from moothall.surfaces.api.method import MAY, Caller, RateLimiter, SecretTries
from moothall.surfaces.http.access_control import Known, name_peer, read_body
from moothall.surfaces.http.browser_grants import (
    REASON_HEADER,
    SESSION_HEADER,
    LoginConflict,
    find_asked_session,
    find_conflict,
    load_grants,
    name_cookie,
    set_cookie,
)

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
        self._tries = SecretTries()
        self._logins = RateLimiter(LOGINS_PER_SECOND, MAX_LOGINS_AT_ONCE)

    def build_routes(self) -> list[Route]:
        return [
            Route("/login", self.log_in, methods=["POST"]),
            Route("/join", self.join, methods=["POST"]),
            Route("/logout", self.log_out, methods=["POST"]),
            Route("/me", self.describe_caller, methods=["GET"]),
        ]

    async def log_in(self, request: Request) -> Response:
        """Add the rights of a link or a token to those that a browser has; what would take rights away is asked first."""
        granted = await self._grant(request, is_browser=True)
        if isinstance(granted, Response):
            return granted
        token, login = granted
        headers = {"Cache-Control": "no-store", SESSION_HEADER: token.session}
        response = Response(status_code=204, headers=headers)
        held = await load_grants(self._access(), request)
        for name in held.denied:
            set_cookie(request, response, name)
        name = name_cookie(request, token.session)
        set_cookie(request, response, name, login.secret, int(MAX_LOGIN.total_seconds()))
        return response

    async def _find_conflict(
        self, request: Request, token: Token, *, is_agreed: bool
    ) -> Response | None:
        """The question that a login in this browser raises; None where it only gains by it, or the person has agreed."""
        conflict = find_conflict(await load_grants(self._access(), request), token)
        if conflict is None or (is_agreed and conflict.may_go_on):
            return None
        return _describe_conflict(conflict, token)

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

    async def _grant(
        self, request: Request, *, is_browser: bool = False
    ) -> tuple[Token, IssuedToken] | Response:
        """The login that a request's secret gives, and whose rights it has; or the refusal."""
        body = await read_body(request, MAX_LOGIN_BODY_LENGTH) or b""
        secret, is_agreed = _parse_login(body)
        if secret is None:
            return JSONResponse(
                {"error": 'expected {"ticket": "…"}, {"token": "…"} or {"code": "…"}'}, 400
            )
        address = request.client.host if request.client else ""
        peer = name_peer(address)
        try:
            token = await self._tries.find_token(self._access(), secret, peer)
            if token is None:
                self._log.note(peer, AccessDenied(reason="unknown"))
                message = "too many refused logins from your address; wait a moment"
                return JSONResponse({"error": message}, 429, {"Retry-After": "5"})
            if isinstance(token, Token) and not self._logins.take(token.id):
                wait = math.ceil(self._logins.count_wait(token.id))
                return JSONResponse(
                    {"error": "too many logins with this token; wait a moment"},
                    429,
                    {"Retry-After": str(wait)},
                )
            if isinstance(token, Token) and is_browser:
                conflict = await self._find_conflict(request, token, is_agreed=is_agreed)
                if conflict is not None:
                    return conflict
            login = (
                await self._access().log_in(secret, address) if isinstance(token, Token) else token
            )
        except WorldError as error:
            return JSONResponse({"error": f"{error}; try again"}, 503, {"Retry-After": "2"})
        if isinstance(login, AccessDenied):
            self._log.note(peer, login)
            headers = {REASON_HEADER: login.reason}
            return JSONResponse({"error": _DENIED[login.reason]}, 401, headers)
        assert isinstance(token, Token)
        return token, login

    async def log_out(self, request: Request) -> Response:
        """End the login of the session that the request is about; without one, all of this browser."""
        session, access = find_asked_session(request), self._access()
        held = await load_grants(access, request)
        chosen = held.choose(session)
        ended = [chosen] if session and chosen is not None else held.grants
        response = Response(status_code=204)
        for grant in ended:
            await access.log_out(grant.secret)
            set_cookie(request, response, grant.cookie)
        for name in held.denied:
            set_cookie(request, response, name)
        return response

    async def describe_caller(self, request: Request) -> Response:
        caller: Caller = request.state.caller
        holder: Known = request.state.holder
        bound = [each.caller for each in (holder, *holder.others) if each.caller.session]
        grants = [{"session": each.session, "seat": each.seat, "role": each.role} for each in bound]
        shown = {
            "grants": grants,
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


def _describe_conflict(conflict: LoginConflict, token: Token) -> Response:
    held = conflict.held
    shown = {
        "kind": conflict.kind,
        "mayGoOn": conflict.may_go_on,
        "session": token.session,
        "seat": token.seat,
        "role": token.role,
        "heldSeat": held.seat,
        "heldRole": held.role,
    }
    headers = {"Cache-Control": "no-store"}
    return JSONResponse({"error": conflict.message, "conflict": shown}, 409, headers)


def _parse_login(body: bytes) -> tuple[str | None, bool]:
    """The secret that a login brings, None for anything else; and whether the person has agreed to what it changes."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return None, False
    if not isinstance(given, dict):
        return None, False
    is_agreed = given.pop("isAgreed", False) is True
    if len(given) != 1:
        return None, is_agreed
    secret = given.get("ticket") or given.get("token") or given.get("code")
    if not isinstance(secret, str) or not secret.strip():
        return None, is_agreed
    # A person may type a code where a token is asked for.
    return parse_code(secret) or secret.strip(), is_agreed
