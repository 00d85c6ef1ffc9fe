"""Who is let in: hosts and origins, tokens, sizes, rates. And how the others are refused."""

import asyncio
import ipaddress
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from moothall.domain.ids import SessionId
from moothall.domain.safe_text import dump_json, split_address
from moothall.errors import NotAllowed, WorldError
from moothall.memory.tokens import AccessDenied, Identity, TokenStore
from moothall.participants.a2a import CARD_PATH
from moothall.participants.hosts import is_loopback
from moothall.ports.telemetry import name_work
from moothall.surfaces.api.errors import CODES, TOO_MUCH, find_error_code
from moothall.surfaces.api.method import TRACE_HEADER, Call, Caller, RateLimiter
from moothall.surfaces.http.browser_grants import (
    AS_HEADER,
    REASON_HEADER,
    STRENGTH,
    BrowserGrants,
    Grant,
    find_asked_session,
    find_cookies,
    load_grants,
    name_cookie,
    set_cookie,
)
from moothall.surfaces.http.metrics import HEALTH, LIVE, READY
from moothall.surfaces.http.page_files import is_page_path
from moothall.surfaces.http.server_settings import ServerSettings
from moothall.surfaces.http.stream import Invitations
from moothall.surfaces.rpc import build_refusal

OPEN_PATHS: Final = frozenset({HEALTH, LIVE, READY, CARD_PATH})
LOGIN_PATHS: Final = frozenset({"/login", "/join", "/logout"})
SAFE_HEADERS: Final = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
        b"form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types moot-quote",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
"""On every answer: what a page of this server may load, and who may load it (W-7)."""
MAX_DRAINED: Final = 67_108_864
DRAIN_SECONDS: Final = 10.0
WHERE_FROM: Final = "`moot access key` prints that of whoever runs the server, `moot invite` makes one for somebody else"
DENIED: Final = {
    "unknown": "the token is unknown",
    "expired": "the token has expired; ask whoever runs the server for a new one (`moot invite`)",
    "revoked": "the token was revoked",
}
REFUSALS_PER_SECOND: Final = 1.0
MAX_REFUSALS: Final = 30.0
"""So many refused secrets of an address are looked up at once, then one a second. Who has a valid one is never held up: all users
of a machine, and all behind one proxy, share an address."""
CHAT_PATHS: Final = "/v1/"
"""What the paths of chat clients begin with."""
_TYPES: Final = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}
_CODES: Final = {401: "invalid_api_key", 403: "permission_denied", 429: "rate_limit_exceeded"}


def name_peer(host: str) -> str:
    """Who stands behind an address: of IPv6 the network, because a single user has 2**64 addresses in it."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped or ipaddress.ip_network((int(address) >> 64 << 64, 64)))
    return host


@dataclass(frozen=True, slots=True)
class Known:
    """A caller that was holder, the id by which its calls are counted, and the secret that it brought.

    `others` are further grants of the same browser, and `gone` its cookies that are refused, with the reason.
    """

    caller: Caller
    id: str
    secret: str = field(repr=False)
    others: "tuple[Known, ...]" = ()
    gone: Mapping[str, AccessDenied] = field(default_factory=dict)


class AccessControl:
    """ASGI middleware: refuses before anything is read, else says who calls in `request.state.caller`.

    Nobody comes in without a secret, wherever the call comes from: every user of a machine can reach its loopback address. On a
    server that only this machine reaches, who holds the key of its home (`owner`, the id of that token) is `local`; and it
    answers to its own names alone, so that no page can reach it by another.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        access: Callable[[], TokenStore],
        owner: Callable[[], str],
        is_local: bool,
        settings: ServerSettings,
        rates: RateLimiter | None = None,
        on_denied: Callable[[str, AccessDenied], None] = lambda peer, denied: None,
        on_refused: Callable[[int], None] = lambda status: None,
        build_page: Callable[[Request, int], Response] | None = None,
    ) -> None:
        self._app = app
        self._access = access
        self._owner = owner
        self._is_local = is_local
        self._settings = settings
        self._on_denied = on_denied
        self._on_refused = on_refused
        self._denials = RateLimiter(REFUSALS_PER_SECOND, MAX_REFUSALS)
        self._build_page = build_page
        self._underway: Counter[str] = Counter()
        """How many requests of each token are being answered, streams and long polls among them."""
        self._rates = {
            role: rates or RateLimiter(limits.calls_per_second, limits.burst)
            for role, limits in settings.limits.items()
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request, who = Request(scope), ""
        is_chat = request.url.path.startswith(CHAT_PATHS)
        refused = self._refuse_other_origin(request)
        if refused is None and not _is_open(request):
            try:
                holder: Known | Response = await self._identify_caller(request)
            except WorldError as error:
                holder = build_unavailable(error)
            if isinstance(holder, Response):
                refused = holder
            else:
                role, who = holder.caller.role, holder.id
                rates, limits = self._rates[role], self._settings.limits[role]
                largest = limits.largest_body
                if "connection" in scope.get("state", ()):
                    scope["state"]["connection"].trust()
                if not rates.take(who):
                    refused = _build_too_many(rates.count_wait(who))
                elif self._underway[who] >= limits.at_once:
                    refused = _build_too_many(
                        1, f"{limits.at_once} calls and streams of this token are under way"
                    )
                else:
                    refused = _refuse_large(request, largest)
                known = {
                    "caller": holder.caller,
                    "secret": holder.secret,
                    "take": lambda: rates.take(who),
                }
                known |= {"largest_body": largest, "token_id": who, "limits": limits}
                known["holder"] = holder
                scope["state"] = {**scope.get("state", {}), **known}
        if refused is not None:
            self._on_refused(refused.status_code)
            if is_chat:
                refused = reshape_refusal(refused)
            elif (
                refused.status_code == 401
                and self._build_page is not None
                and _is_navigation(request)
            ):
                # A person reads this: the page says what to do, and where to sign in.
                refused = self._build_page(request, 401)
            if refused.status_code == 413:
                await drain_body(receive)
        self._underway[who] += 1
        try:
            await _answer_by_name(refused or self._app, request, receive, _add_safe_headers(send))
        except ClientDisconnect:
            # It left while it sent its body: there is nobody to answer, and nothing was done.
            return
        except asyncio.CancelledError:
            # The server ends, and waits no longer for a call that takes long. An answer that has begun breaks off.
            stopping = build_unavailable(WorldError("the server is stopping"))
            with suppress(RuntimeError):
                await (reshape_refusal(stopping) if is_chat else stopping)(scope, receive, send)
        finally:
            self._underway[who] -= 1
            if not self._underway[who]:
                del self._underway[who]

    def _refuse_other_origin(self, request: Request) -> Response | None:
        """The refusal of a request that a page of another origin made."""
        host = request.headers.get("host", "")
        if self._is_local and not is_loopback(split_address(f"//{host}").hostname or ""):
            return PlainTextResponse(f"this server is not called {host[:100]!r}\n", 421)
        origin = request.headers.get("origin")
        if origin is not None and not _is_from(origin, host):
            return PlainTextResponse("requests from pages of another origin are refused\n", 403)
        # A link from elsewhere may open the page: it holds nothing, and what it then asks for comes from itself.
        is_opened = request.headers.get("sec-fetch-mode") == "navigate" and _is_open(request)
        if request.headers.get("sec-fetch-site") in {"cross-site", "same-site"} and not is_opened:
            return PlainTextResponse("requests from pages of another origin are refused\n", 403)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if request.method == "POST" and kind != "application/json":
            return PlainTextResponse("expected Content-Type: application/json\n", 415)
        return None

    async def _identify_caller(self, request: Request) -> Known | Response:
        given = request.headers.get("authorization", "")
        if not given:
            return await self._identify_browser(request)
        secret = _parse_secret(request)
        if not secret:
            return _build_unauthorized("expected Authorization: Bearer TOKEN")
        identity = await self._access().identify(secret)
        if isinstance(identity, AccessDenied):
            return self._deny(request, identity)
        return self._recognize(identity, secret)

    async def _identify_browser(self, request: Request) -> Known | Response:
        """Who a browser is for the session that its request is about."""
        if not find_cookies(request):
            return _build_unauthorized(
                f"a token is needed: Authorization: Bearer TOKEN ({WHERE_FROM})"
            )
        held = await load_grants(self._access(), request)
        chosen = _choose_grant(request, held)
        if isinstance(chosen, AccessDenied):
            refused = self._deny(request, chosen)
            # The other meetings of this browser stay open: it is not signed out.
            if held.grants and refused.status_code == 401:
                refused.status_code = 403
            return refused
        if request.method not in {"GET", "HEAD"} and not _is_same_origin(request):
            # A browser sends its cookie by itself: only what says that a page of this server asked may change anything.
            return PlainTextResponse(
                "a request with a cookie needs the Origin of this server\n", 403
            )
        others = [grant for grant in held.grants if grant is not chosen]
        known = self._recognize(chosen.identity, chosen.secret)
        return replace(
            known,
            others=tuple(self._recognize(each.identity, each.secret) for each in others),
            gone=held.denied,
        )

    def _recognize(self, identity: Identity, secret: str) -> Known:
        is_owner = self._is_local and identity.id == self._owner()
        caller = Caller() if is_owner else Caller.from_identity(identity)
        return Known(caller, identity.id, secret)

    def _deny(self, request: Request, denied: AccessDenied) -> Response:
        peer = name_peer(request.client.host if request.client else "")
        self._on_denied(peer, denied)
        if not self._denials.take(peer):
            return _build_too_many(
                self._denials.count_wait(peer), "too many refused tokens from your address"
            )
        refusal = _build_unauthorized(DENIED[denied.reason])
        refusal.headers[REASON_HEADER] = denied.reason
        # What has ended says so as often as it is asked; what was never valid is forgotten.
        if denied.reason == "unknown" and not request.headers.get("authorization"):
            for name in find_cookies(request):
                set_cookie(request, refusal, name)
        return refusal


def _choose_grant(request: Request, held: BrowserGrants) -> Grant | AccessDenied:
    """The grant by which a request of a browser is judged, or why there is none."""
    session = find_asked_session(request)
    chosen = held.choose(session, by_link=request.headers.get(AS_HEADER) == "link")
    if chosen is not None:
        return chosen
    ended = held.denied.get(name_cookie(request, session))
    if ended is not None:
        return ended
    if held.grants:
        # Only for other sessions: its rights are checked by the call, which says so.
        return held.grants[0]
    return next(iter(held.denied.values()))


def find_invitations(request: Request, holder: Known, names: Iterable[SessionId]) -> Invitations:
    """As whom a browser reads each session to which it was invited, and which of these it may not read any more."""
    by_link = request.query_params.get("as", "")
    callers: dict[SessionId, Caller] = {}
    secrets = set[str]()
    for each in (holder, *holder.others):
        session = SessionId(each.caller.session)
        if session and (session == by_link or not _is_stronger(holder.caller, each.caller)):
            callers[session] = each.caller
            secrets.add(each.secret)
    ended: dict[SessionId, Mapping[str, str]] = {}
    for name in names:
        caller = callers.get(name, holder.caller)
        if caller.session and caller.session != name:
            denied = holder.gone.get(name_cookie(request, name))
            reason = "other_meeting" if denied is None else denied.reason
            why = f"your link does not open {name!r}" if denied is None else DENIED[denied.reason]
            ended[name] = {"reason": reason, "why": why}
    return Invitations(callers=callers, secrets=frozenset(secrets), ended=ended)


def _is_stronger(one: Caller, other: Caller) -> bool:
    """Whether a browser that holds both reads by the first: it is for all sessions, and may do more."""
    return not one.session and STRENGTH[one.role] > STRENGTH[other.role]


def build_call(request: Request) -> Call:
    """The call that a request makes once it is let in."""
    trace = request.headers.get(TRACE_HEADER, "")
    return Call(
        context=request.app.state.site.server_context, caller=request.state.caller, trace=trace
    )


def _is_same_origin(request: Request) -> bool:
    origin = request.headers.get("origin")
    if origin is not None:
        return _is_from(origin, request.headers.get("host", ""))
    return request.headers.get("sec-fetch-site") == "same-origin"


def _is_open(request: Request) -> bool:
    """Whether anybody may make this request."""
    # The path by which the request is routed; that of its address would have to be put together for every call.
    path: str = request.scope["path"]
    if path in LOGIN_PATHS and request.method == "POST":
        return True
    return path in OPEN_PATHS or (request.method in {"GET", "HEAD"} and is_page_path(path))


def _is_navigation(request: Request) -> bool:
    """Whether a browser shows the answer as a page."""
    return (
        request.method == "GET"
        and "authorization" not in request.headers
        and "text/html" in request.headers.get("accept", "")
    )


async def _answer_by_name(app: ASGIApp, request: Request, receive: Receive, send: Send) -> None:
    """Answer a request; what it costs the event loop is logged under its name."""
    with name_work(f"{request.method} {request.url.path}"):
        await app(request.scope, receive, send)


def _add_safe_headers(send: Send) -> Send:
    async def send_safely(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *SAFE_HEADERS]}
        await send(message)

    return send_safely


def _parse_secret(request: Request) -> str:
    scheme, _, secret = request.headers.get("authorization", "").partition(" ")
    return secret.strip() if scheme.lower() == "bearer" else ""


def _is_from(origin: str, host: str) -> bool:
    return bool(host) and split_address(origin).netloc == host


def _build_unauthorized(message: str) -> Response:
    body = build_refusal(CODES[NotAllowed].number, message, "NotAllowed")
    return Response(
        body, 401, {"WWW-Authenticate": 'Bearer realm="moot"'}, media_type="application/json"
    )


def _build_too_many(seconds: float, reason: str = "too many calls") -> Response:
    wait = max(1, math.ceil(seconds))
    body = build_refusal(TOO_MUCH.number, f"{reason}; wait {wait} s", "TooMuch")
    return Response(body, 429, {"Retry-After": str(wait)}, media_type="application/json")


def build_unavailable(error: WorldError) -> Response:
    body = build_refusal(find_error_code(error), f"{error}; repeat the call", type(error).__name__)
    return Response(body, 503, {"Retry-After": "2"}, media_type="application/json")


def _refuse_large(request: Request, largest: int) -> Response | None:
    """The refusal of a body that says itself that it is too large; any other is counted while it is read."""
    size = request.headers.get("content-length", "")
    return build_too_large(largest) if size.isdecimal() and int(size[:20]) > largest else None


async def read_body(request: Request, most: int | None = None) -> bytes | None:
    """The body; None when it is larger than its caller may send, or than `most`."""
    body, largest = bytearray(), request.state.largest_body if most is None else most
    async for piece in request.stream():
        body += piece
        if len(body) > largest:
            # Not of a stranger, who logs in: it would choose how much is read.
            if most is None:
                await drain_body(request.receive)
            return None
    return bytes(body)


async def drain_body(receive: Receive) -> None:
    """Read what a client still sends: many read no answer before they have sent all of it, and find the line closed."""
    size, more = 0, True
    try:
        async with asyncio.timeout(DRAIN_SECONDS):
            while more and size < MAX_DRAINED:
                message = await receive()
                size, more = size + len(message.get("body", b"")), message.get("more_body", False)
    except TimeoutError:
        return


def build_too_large(largest: int) -> Response:
    body = build_refusal(
        TOO_MUCH.number, f"the request is too large; the limit is {largest} bytes", "TooMuch"
    )
    return Response(body, 413, media_type="application/json")


class SafeJSONResponse(JSONResponse):
    """JSON that can be sent whatever a client wrote: half a character in a name of its own ends no answer."""

    def render(self, content: Any) -> bytes:
        return dump_json(content).encode()


def build_chat_error(
    status: int,
    message: str,
    code: str,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    return SafeJSONResponse(
        build_error_body(status, message, code, param), status, headers=dict(headers or {})
    )


def build_error_body(
    status: int, message: str, code: str, param: str | None = None
) -> dict[str, Any]:
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
    headers = {
        name: value
        for name, value in refusal.headers.items()
        if name in {"www-authenticate", "retry-after"}
    }
    return build_chat_error(
        refusal.status_code, message, _CODES.get(refusal.status_code, "refused"), headers=headers
    )
