"""What a browser was let into: one cookie for all sessions, and one for each session that it was invited to (W-7).

A link adds a grant. Each request is judged by the grant of the session that it names, so that a second link takes nothing away.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Literal

from starlette.requests import Request
from starlette.responses import Response

from moothall.memory.tokens import AccessDenied, Identity, Token, TokenStore

COOKIE: Final = "moot_session"
SESSION_HEADER: Final = "moot-session"
"""The session that a call of the page is about; of the answer to a login, the one that it is for."""
AS_HEADER: Final = "moot-as"
"""`link`: this tab uses the link by which it was opened, though the browser holds stronger rights."""
REASON_HEADER: Final = "moot-reason"
"""Why a grant is refused: `revoked`, `expired`, `unknown`."""
MAX_GRANTS: Final = 20
"""Invitations that one browser holds at once: with each request it sends all of them."""
MAX_SECRET: Final = 200
"""Characters of a cookie; a longer one is none of ours."""
STRENGTH: Final = {
    "local": 6,
    "owner": 5,
    "operator": 4,
    "seat": 3,
    "agent": 2,
    "recorder": 1,
    "observer": 0,
}


@dataclass(frozen=True, slots=True)
class Grant:
    """One login of a browser, and who it is by it."""

    cookie: str
    secret: str = field(repr=False)
    identity: Identity


@dataclass(frozen=True, slots=True)
class BrowserGrants:
    """The logins of a browser that are valid, and the cookies that are not any more, with the reason."""

    grants: tuple[Grant, ...]
    denied: Mapping[str, AccessDenied]

    @property
    def bound(self) -> list[Grant]:
        """Those that are for one session."""
        return [grant for grant in self.grants if grant.identity.session]

    @property
    def unbound(self) -> list[Grant]:
        """Those that are for all sessions."""
        return [grant for grant in self.grants if not grant.identity.session]

    def choose(self, session: str, *, by_link: bool = False) -> Grant | None:
        """The grant by which a request about a session is judged: the strongest, or with `by_link` that of its link.

        Without a session, the one for all of them; None where the browser holds none that fits.
        """
        about = [grant for grant in self.bound if grant.identity.session == session]
        if by_link and about:
            return _find_strongest(about)
        return _find_strongest((*about, *self.unbound))


def _find_strongest(grants: Iterable[Grant]) -> Grant | None:
    return max(grants, key=lambda grant: STRENGTH[grant.identity.role], default=None)


def name_cookie(request: Request, session: str = "") -> str:
    """The name of a login's cookie: browsers keep the cookies of all ports of a host together."""
    port = request.url.port
    name = COOKIE if port is None else f"{COOKIE}_{port}"
    if not session:
        return name
    # A digest: no name from outside becomes part of a header.
    return f"{name}.{sha256(session.encode()).hexdigest()[:16]}"


def find_cookies(request: Request) -> dict[str, str]:
    """The secrets of a browser's logins by the names of their cookies, as many as it may hold."""
    plain = name_cookie(request)
    secrets: dict[str, str] = {}
    for name, secret in sorted(request.cookies.items()):
        is_ours = name == plain or name.startswith(f"{plain}.")
        if is_ours and 0 < len(secret) <= MAX_SECRET and len(secrets) <= MAX_GRANTS:
            secrets[name] = secret
    return secrets


def find_asked_session(request: Request) -> str:
    """The session that a request says it is about; empty where it says none."""
    return request.headers.get(SESSION_HEADER, "")


async def load_grants(access: TokenStore, request: Request) -> BrowserGrants:
    """Identify all logins of a browser, with one read."""
    cookies = find_cookies(request)
    identities = await access.identify_all(cookies.values())
    grants: list[Grant] = []
    denied: dict[str, AccessDenied] = {}
    for name, secret in cookies.items():
        identity = identities[secret]
        if isinstance(identity, AccessDenied):
            denied[name] = identity
        else:
            grants.append(Grant(name, secret, identity))
    return BrowserGrants(tuple(grants), denied)


def set_cookie(
    request: Request, response: Response, name: str, secret: str = "", seconds: int = 0
) -> None:
    """Let the browser keep a login, or forget it: no script can read it, and no request from another site carries it."""
    response.set_cookie(
        name,
        secret,
        seconds,
        path="/",
        secure=request.url.scheme == "https",
        httponly=True,
        samesite="strict",
    )


ConflictKind = Literal["replaces", "over_seats", "beside", "other_seat", "weaker", "full"]


@dataclass(frozen=True, slots=True)
class LoginConflict:
    """What a login would do to the grants that a browser holds; `may_go_on`: it is done once the person agrees."""

    kind: ConflictKind
    message: str
    may_go_on: bool
    held: Identity


def find_conflict(grants: BrowserGrants, token: Token) -> LoginConflict | None:
    """What has to be asked, or refused, before a browser takes the rights of a token; None where it only gains."""
    if not token.session:
        return _find_replaced(grants, token)
    about = [grant.identity for grant in grants.bound if grant.identity.session == token.session]
    for held in about:
        if held.seat and token.seat and held.seat != token.seat:
            message = (
                f"this browser sits in the meeting as {held.seat!r}; one person takes one seat of a meeting: "
                f"open the link for {token.seat!r} in another browser"
            )
            return LoginConflict("other_seat", message, may_go_on=False, held=held)
        if STRENGTH[held.role] > STRENGTH[token.role]:
            message = "this browser may do more in the meeting already than this link allows"
            return LoginConflict("weaker", message, may_go_on=False, held=held)
    for grant in grants.unbound:
        if STRENGTH[grant.identity.role] > STRENGTH[token.role]:
            message = f"this browser has access to all meetings as {grant.identity.role}"
            return LoginConflict("beside", message, may_go_on=True, held=grant.identity)
    if not about and len(grants.bound) >= MAX_GRANTS:
        message = (
            f"this browser holds {MAX_GRANTS} invitations, and no more fit; sign out of one first"
        )
        return LoginConflict("full", message, may_go_on=False, held=grants.bound[0].identity)
    return None


def _find_replaced(grants: BrowserGrants, token: Token) -> LoginConflict | None:
    for held in (grant.identity for grant in grants.unbound):
        if held.id != token.id:
            message = f"this browser is signed in as {held.role}; that would end"
            return LoginConflict("replaces", message, may_go_on=True, held=held)
    for held in (grant.identity for grant in grants.bound):
        if not grants.unbound and held.seat and STRENGTH[token.role] > STRENGTH[held.role]:
            message = f"this browser sits in a meeting as {held.seat!r}; as {token.role} it would speak there for everybody"
            return LoginConflict("over_seats", message, may_go_on=True, held=held)
    return None
