"""Access tokens for outside callers. Only a digest of each secret is stored, in the register `_access`."""

import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from typing import Final, Literal, get_args

from moot.domain.facts import Entry, Fact
from moot.domain.ids import parse_seat_id, parse_session_id
from moot.errors import BadSetting, UnknownToken
from moot.memory import validation
from moot.memory.facts import ACCESS_KINDS, Role, TokenIssued, TokenRevoked
from moot.memory.register import Register
from moot.ports.clock import Clock
from moot.ports.ledger import Ledger

NAME: Final = "_access"
ROLES: Final[tuple[Role, ...]] = get_args(Role)
LONGEST_LIFE: Final = timedelta(days=3660)

DenialReason = Literal["unknown", "expired", "revoked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuedToken:
    """A new token. Its secret is shown only once."""

    id: str
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The caller that a token identifies. An empty `session` means all sessions; `seat` is the name that it speaks under."""

    id: str
    role: Role
    session: str = ""
    seat: str = ""
    family: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessDenied:
    """Why a secret is rejected. `id` is empty unless the secret belongs to a real token."""

    reason: DenialReason
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as its issuer sees it."""

    id: str
    role: Role
    session: str
    seat: str
    note: str
    issued_at: datetime
    expires: datetime
    revoked_at: datetime | None = None
    family: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredToken:
    token: Token
    digest: str


Tokens = Mapping[str, _StoredToken]


class TokenStore:
    """Issues, identifies and revokes tokens."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._clock = clock
        nobody: Tokens = {}
        self._register = Register(ledger, clock, NAME, kinds=ACCESS_KINDS, initial=nobody, evolve=evolve)

    async def issue(
        self, role: Role, *, lasts: timedelta, session: str = "", seat: str = "", note: str = "", family: str = ""
    ) -> IssuedToken:
        """Issue a token; the role `seat` needs a session and a seat, `agent` a seat alone: its name. No other role has a seat.

        Raises BadSetting or BadName.
        """
        _check(role, lasts, session, seat)
        validation.validate_text("note", note)
        if validation.validate_optional_name("family", family) and role not in {"seat", "agent"}:
            raise BadSetting(f"a token for the role {role!r} has no model family; only one for a seat or an agent has")
        issued: list[IssuedToken] = []

        def choose_facts(tokens: Tokens) -> Sequence[Fact]:
            issued.append(_generate_token(tokens))
            drawn = issued[-1]
            fact = TokenIssued(
                id=drawn.id,
                digest=_digest(drawn.secret),
                role=role,
                session=session,
                seat=parse_seat_id(seat) if seat else "",
                expires=self._clock.now() + lasts,
                note=note,
                family=family.strip(),
            )
            return (fact,)

        await self._register.append(choose_facts)
        return issued[-1]

    async def identify(self, secret: str) -> Identity | AccessDenied:
        """Return the owner of a secret, or why it is rejected. Only who holds the secret learns that its token has expired."""
        held = (await self._register.state()).get(_parse_token_id(secret))
        # An unknown token is compared as well: the response time must not reveal which tokens exist.
        is_right = hmac.compare_digest(_digest(secret), held.digest if held else _digest(""))
        if held is None or not is_right:
            return AccessDenied(reason="unknown")
        token = held.token
        if token.revoked_at is not None:
            return AccessDenied(reason="revoked", id=token.id)
        if self._clock.now() >= token.expires:
            return AccessDenied(reason="expired", id=token.id)
        return Identity(id=token.id, role=token.role, session=token.session, seat=token.seat, family=token.family)

    async def revoke(self, id: str) -> Token:  # noqa: A002
        """Revoke a token; revoking it again changes nothing. Raises UnknownToken."""

        def choose_facts(tokens: Tokens) -> Sequence[Fact]:
            return () if _get_token(tokens, id).token.revoked_at is not None else (TokenRevoked(id=id),)

        return _get_token(await self._register.append(choose_facts), id).token

    async def is_invited(self, session: str, seat: str) -> bool:
        """Whether somebody holds a valid token for this seat: for the seat itself, or an agent's token of that name."""
        held = (each.token for each in (await self._register.state()).values())
        named = (token for token in held if token.session in {session, ""} and token.seat == seat)
        return any(token.revoked_at is None and self._clock.now() < token.expires for token in named)

    async def tokens(self) -> list[Token]:
        """Return all tokens in the order in which they were issued."""
        return [held.token for held in (await self._register.state()).values()]


def evolve(tokens: Tokens, entry: Entry) -> Tokens:
    """Return the tokens after one more entry."""
    match entry.fact:
        case TokenIssued() as fact:
            token = Token(
                id=fact.id,
                role=fact.role,
                session=fact.session,
                seat=fact.seat,
                note=fact.note,
                issued_at=entry.at,
                expires=fact.expires,
                family=fact.family,
            )
            return tokens if fact.id in tokens else {**tokens, fact.id: _StoredToken(token=token, digest=fact.digest)}
        case TokenRevoked(id=name) if name in tokens:
            held = tokens[name]
            return {**tokens, name: replace(held, token=replace(held.token, revoked_at=entry.at))}
        case _:
            return tokens


def _check(role: Role, lasts: timedelta, session: str, seat: str) -> None:
    validation.validate_choice("role", role, ROLES)
    if not timedelta(0) < lasts <= LONGEST_LIFE:
        raise BadSetting(
            f"a token that lasts {lasts} is none; it must last more than nothing and at most {LONGEST_LIFE.days} days"
        )
    if session:
        parse_session_id(session)
    if role == "seat" and not (session and seat):
        raise BadSetting("a token for a seat needs its session and its seat")
    if role == "agent" and (session or not seat):
        raise BadSetting("a token for an agent needs its name as its seat, and is for all sessions: leave the session out")
    if role not in {"seat", "agent"} and seat:
        raise BadSetting(f"a token for the role {role!r} has no seat; leave the seat out, or issue one for the role 'seat'")


def _generate_token(tokens: Tokens) -> IssuedToken:
    name = secrets.token_hex(4)
    while name in tokens:
        name = secrets.token_hex(4)
    # The id is part of the secret, so that `identify` finds the token without comparing all digests.
    return IssuedToken(id=name, secret=f"moot_{name}_{secrets.token_urlsafe(32)}")


def _digest(secret: str) -> str:
    # A plain hash is enough: the secret has 256 random bits, so that guessing it is hopeless even with a fast hash.
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def looks_like_token(secret: str) -> bool:
    """Whether a text has the form of a token, be it valid or not."""
    return bool(_parse_token_id(secret))


def _parse_token_id(secret: str) -> str:
    mark, _, rest = secret.partition("_")
    return rest.partition("_")[0] if mark == "moot" else ""


def _get_token(tokens: Tokens, name: str) -> _StoredToken:
    held = tokens.get(name)
    if held is None:
        raise UnknownToken(f"unknown token {str(name)[:100]!r}; list the tokens to see their ids")
    return held
