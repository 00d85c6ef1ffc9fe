"""Access tokens for outside callers, and tickets that give a browser a login with the rights of a token (W-7).

Only a digest of each secret is stored, in the register `_access`. A ticket and a login end with their token.
"""

import hmac
import logging
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Final, Literal, TypeVar, get_args

from moothall.disk.private import make_private_folder, read_private, write_private
from moothall.domain.facts import OWNER_ORIGIN, Entry, Fact
from moothall.domain.ids import parse_seat_id, parse_session_id
from moothall.domain.limits import validate_value
from moothall.domain.replace import copy_fields, dataclass
from moothall.errors import BadSetting, FolderUnwritable, UnknownToken
from moothall.memory import facts
from moothall.memory.register import Register
from moothall.ports.ledger import Clock, Ledger

NAME: Final = "_access"
OWNER_KEY: Final = "owner.key"
OWNER_NOTE: Final = "the key of a home (owner.key): of whoever runs `moot serve` there"
ROLES: Final[tuple[facts.Role, ...]] = get_args(facts.Role)
MAX_LIFE: Final = timedelta(days=3660)

BEARER: Final = "moot"
TICKET: Final = "moott"
LOGIN: Final = "mootc"
TICKET_LIFE: Final = timedelta(minutes=15)
MAX_CODE_LIFE: Final = timedelta(days=1)
CODE_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Without letters that look like others; 32 to the power of 8 codes, of which a server lets nobody try many."""
CODE_LENGTH: Final = 8
_CODE_SLIPS: Final = str.maketrans({"I": "1", "L": "1", "O": "0", "-": None, " ": None})
MAX_LOGINS_PER_TOKEN: Final = 20
"""Live ones: each is stored, and folded by every server on the ledger."""
MAX_LOGIN: Final = timedelta(days=30)

log = logging.getLogger("moot")

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
    role: facts.Role
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
    role: facts.Role
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _DerivedSecret:
    """A ticket or a login: the token whose rights it has, until when, and which other token took it by a code."""

    token: str
    digest: str
    expires: datetime
    holder: str = ""


S = TypeVar("S", _StoredToken, _DerivedSecret)
Tokens = dict[str, _StoredToken]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessState:
    """All tokens, which `evolve` changes in place, the tickets that nobody has used, and the logins that nobody has ended."""

    tokens: Tokens = field(default_factory=dict)
    tickets: Mapping[str, _DerivedSecret] = field(default_factory=dict)
    logins: Mapping[str, _DerivedSecret] = field(default_factory=dict)


class TokenStore:
    """Issues, identifies and revokes tokens."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._clock = clock
        self._register = Register(
            ledger, clock, NAME, kinds=facts.ACCESS_KINDS, initial=AccessState(), evolve=evolve
        )

    async def issue(
        self,
        role: facts.Role,
        *,
        lasts: timedelta,
        session: str = "",
        seat: str = "",
        note: str = "",
        family: str = "",
    ) -> IssuedToken:
        """Issue a token; the role `seat` needs a session and a seat, `agent` a seat alone: its name. No other role has a seat.

        Raises BadSetting or BadName.
        """
        validate_value("role", role, facts.Role)
        if not timedelta(0) < lasts <= MAX_LIFE:
            days = f"{lasts / timedelta(days=1):,.0f} days"
            raise BadSetting(
                f"a token cannot last {days}; it must last more than nothing and at most {MAX_LIFE.days} days"
            )
        if session:
            parse_session_id(session)
        if role == "seat" and not (session and seat):
            raise BadSetting("a token for a seat needs its session and its seat")
        if role == "agent" and (session or not seat):
            raise BadSetting(
                "a token for an agent needs its name as its seat, and is for all sessions: leave the session out"
            )
        if role == "recorder" and session:
            raise BadSetting(
                "a recorder's token is for the decisions of all sessions; leave the session out"
            )
        if role not in {"seat", "agent"} and seat:
            raise BadSetting(
                f"a token for the role {role!r} has no seat; leave the seat out, or issue one for the role 'seat'"
            )
        validate_value("note", note, facts.Line)
        validate_value("family", family, facts.Name)
        if family and role not in {"seat", "agent"}:
            raise BadSetting(
                f"a token for the role {role!r} has no model family; only one for a seat or an agent has"
            )
        issued: list[IssuedToken] = []

        def choose_facts(state: AccessState) -> Sequence[Fact]:
            issued.append(_generate_secret(BEARER, state.tokens))
            drawn = issued[-1]
            fact = facts.TokenIssued(
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

    async def adopt(self, secret: str, *, note: str) -> bool:
        """Make a secret that was generated elsewhere (`generate_token`) an owner's token for all sessions, unless it is one.

        False if its token was revoked, has expired, or is not this secret's: then another one is needed.
        """
        _, name = _parse_secret(secret)

        def choose_facts(state: AccessState) -> Sequence[Fact]:
            if name in state.tokens:
                return ()
            expires = self._clock.now() + MAX_LIFE
            return (
                facts.TokenIssued(
                    id=name,
                    digest=_digest(secret),
                    role="owner",
                    session="",
                    seat="",
                    expires=expires,
                    note=note,
                ),
            )

        identity = self._identify(await self._register.append(choose_facts), secret)
        return isinstance(identity, Identity) and identity.role == "owner" and not identity.session

    async def adopt_owner_key(self, home: Path) -> str:
        """Let the ledger know the key of a home; its secret. One that was revoked or has expired is replaced."""
        key = load_owner_key(home)
        while not await self.adopt(key, note=OWNER_NOTE):
            key = generate_token()
            write_private(home / OWNER_KEY, key, over=True)
        return key

    async def identify(self, secret: str) -> Identity | AccessDenied:
        """Return the owner of a secret, or why it is rejected. Only who holds the secret learns that its token has expired."""
        return (await self.identify_all((secret,)))[secret]

    async def identify_all(self, secrets: Iterable[str]) -> dict[str, Identity | AccessDenied]:
        """Identify the owners of several secrets, with one read of the register."""
        state = await self._register.state()
        return {secret: self._identify(state, secret) for secret in secrets}

    def _identify(self, state: AccessState, secret: str) -> Identity | AccessDenied:
        held = _find_token(state.tokens, state.logins, LOGIN, secret)
        if held is None:
            return AccessDenied(reason="unknown")
        token, expires = held
        return self._check_token(token, expires)

    def _is_valid(self, token: Token) -> bool:
        return token.revoked_at is None and self._clock.now() < token.expires

    def _check_token(self, token: Token, expires: datetime) -> Identity | AccessDenied:
        if token.revoked_at is not None:
            return AccessDenied(reason="revoked", id=token.id)
        if self._clock.now() >= min(expires, token.expires):
            return AccessDenied(reason="expired", id=token.id)
        return copy_fields(Identity, token)

    async def find_seat(self, holder: str, session: str) -> Identity | None:
        """Return the seat of a session that a token took by a code; None where it has none, or none any more."""
        state = await self._register.state()
        for login in state.logins.values():
            if login.holder != holder:
                continue
            token = state.tokens[login.token].token
            if token.session != session:
                continue
            checked = self._check_token(token, login.expires)
            if isinstance(checked, Identity):
                return checked
        return None

    async def issue_code(self, token: str, lasts: timedelta = TICKET_LIFE) -> IssuedToken:
        """Issue a ticket that a person can read out: eight letters, for a short time. Raises as `issue_ticket`."""
        if lasts > MAX_CODE_LIFE:
            raise BadSetting(
                f"a code lasts at most {MAX_CODE_LIFE}, because it is short; give a token for longer"
            )
        return await self.issue_ticket(token, lasts, generate=_generate_code)

    async def issue_ticket(
        self,
        token: str,
        lasts: timedelta = TICKET_LIFE,
        *,
        generate: Callable[[str, Collection[str]], IssuedToken] | None = None,
    ) -> IssuedToken:
        """Issue a secret that gives one browser a login with the rights of a token; raises UnknownToken, BadSetting."""
        if not timedelta(0) < lasts <= MAX_LIFE:
            raise BadSetting(f"a ticket that lasts {lasts} is none; it must last more than nothing")
        issued: list[IssuedToken] = []

        def choose_facts(state: AccessState) -> Sequence[Fact]:
            held = _get_token(state.tokens, token).token
            if not self._is_valid(held):
                raise UnknownToken(
                    f"the token {token[:100]!r} is not valid any more; issue another one"
                )
            issued.append((generate or _generate_secret)(TICKET, state.tickets))
            expires = min(held.expires, self._clock.now() + lasts)
            return (
                facts.TicketIssued(
                    id=issued[-1].id,
                    digest=_digest(issued[-1].secret),
                    token=token,
                    expires=expires,
                ),
            )

        await self._register.append(choose_facts)
        return issued[-1]

    async def log_in(
        self, secret: str, address: str = "", holder: str = ""
    ) -> IssuedToken | AccessDenied:
        """Start a login for a caller with an unused ticket, or a token; its secret, or why there is none."""
        results: list[IssuedToken | AccessDenied] = []

        def choose_facts(state: AccessState) -> Sequence[Fact]:
            granted = self._find_granting_token(state, secret)
            if isinstance(granted, AccessDenied):
                results.append(granted)
                return ()
            token, ticket = granted
            drawn = _generate_secret(LOGIN, state.logins)
            results.append(drawn)
            expires = min(token.expires, self._clock.now() + MAX_LOGIN)
            own = {"token": token.id, "ticket": ticket, "address": address, "holder": holder}
            started = facts.LoginStarted(
                id=drawn.id, digest=_digest(drawn.secret), expires=expires, **own
            )
            # In the order in which they began: the oldest ends where there would be too many.
            live = [name for name, login in state.logins.items() if login.token == token.id]
            over = max(0, len(live) + 1 - MAX_LOGINS_PER_TOKEN)
            return (*(facts.LoginEnded(id=name) for name in live[:over]), started)

        await self._register.append(choose_facts)
        return results[-1]

    async def find_token(self, secret: str) -> Token | AccessDenied:
        """Return the token whose rights a secret would give to a login, or why it would give none; nothing is written."""
        granted = self._find_granting_token(await self._register.state(), secret)
        return granted if isinstance(granted, AccessDenied) else granted[0]

    async def has_ticket(self, name: str) -> bool:
        """Whether a ticket or a code of this id waits for its bearer."""
        return name in (await self._register.state()).tickets

    def _find_granting_token(
        self, state: AccessState, secret: str
    ) -> tuple[Token, str] | AccessDenied:
        """The token whose rights a secret gives to a login, and the ticket that is used up by it, if it is one."""
        held = _find_token(state.tokens, state.tickets, TICKET, secret)
        if held is None:
            return AccessDenied(reason="unknown")
        token, expires = held
        checked = self._check_token(token, expires)
        if isinstance(checked, AccessDenied):
            return checked
        kind, name = _parse_secret(secret)
        return token, name if kind == TICKET else ""

    async def log_out(self, secret: str) -> None:
        """End the login of a secret; what is none changes nothing."""

        def choose_facts(state: AccessState) -> Sequence[Fact]:
            if _find_secret(state.logins, LOGIN, secret) is None:
                return ()
            return (facts.LoginEnded(id=_parse_secret(secret)[1]),)

        await self._register.append(choose_facts)

    async def revoke(self, id: str) -> Token:  # noqa: A002
        """Revoke a token; revoking it again changes nothing. Raises UnknownToken."""

        def choose_facts(state: AccessState) -> Sequence[Fact]:
            if _get_token(state.tokens, id).token.revoked_at is not None:
                return ()
            return (facts.TokenRevoked(id=id),)

        return _get_token((await self._register.append(choose_facts)).tokens, id).token

    async def is_invited(self, session: str, seat: str) -> bool:
        """Whether there is a valid token for this seat: for the seat itself, or an agent's token of that name."""
        for token in await self.tokens():
            is_named = token.session in {session, ""} and token.seat == seat
            if is_named and self._is_valid(token):
                return True
        return False

    async def mark_owner(self, session: str, seat: str, door: str) -> str:
        """The door of a word that an owner speaks for a seat: marked as the owner's if another holds the seat's token."""
        if await self.is_invited(session, seat):
            return f"{OWNER_ORIGIN}{door}"
        return door

    async def record_refusals(self, refusals: Sequence[facts.Refusal]) -> None:
        await self._register.append(lambda state: (facts.SecretsRefused(refusals=tuple(refusals)),))

    async def load_log(self, count: int) -> list[Entry]:
        """Return the last entries: who was let in, who was refused, which tokens were issued and revoked."""
        return await self._register.load_last(count)

    async def tokens(self) -> list[Token]:
        """Return all tokens in the order in which they were issued."""
        return [held.token for held in (await self._register.state()).tokens.values()]


def evolve(state: AccessState, entry: Entry) -> AccessState:
    """Return who may do what after one more entry."""
    tokens = state.tokens
    match entry.fact:
        case facts.TokenIssued() as fact:
            tokens.setdefault(
                fact.id,
                _StoredToken(
                    token=copy_fields(Token, fact, issued_at=entry.at), digest=fact.digest
                ),
            )
        case facts.TokenRevoked(id=name) if name in tokens:
            tokens[name] = replace(
                tokens[name], token=replace(tokens[name].token, revoked_at=entry.at)
            )
        case facts.TicketIssued(id=name) as fact:
            # Those that have expired are forgotten here, so that the state does not grow with every start of a server.
            tickets = _drop_expired(state.tickets, entry.at)
            tickets[name] = copy_fields(_DerivedSecret, fact)
            return replace(state, tickets=tickets)
        case facts.LoginStarted(id=name) as fact:
            logins = _drop_expired(state.logins, entry.at)
            logins[name] = copy_fields(_DerivedSecret, fact)
            tickets = dict(state.tickets)
            tickets.pop(fact.ticket, None)
            return replace(state, logins=logins, tickets=tickets)
        case facts.LoginEnded(id=name):
            logins = dict(state.logins)
            logins.pop(name, None)
            return replace(state, logins=logins)
    return state


def _drop_expired(secrets: Mapping[str, _DerivedSecret], at: datetime) -> dict[str, _DerivedSecret]:
    return {name: secret for name, secret in secrets.items() if secret.expires > at}


def generate_token() -> str:
    """A new secret that no ledger knows yet."""
    return _generate_secret(BEARER, ()).secret


def parse_token_id(secret: str) -> str:
    """The id of the token that a secret claims to be; empty for what is none."""
    kind, name = _parse_secret(secret)
    return name if kind == BEARER else ""


def _generate_secret(kind: str, known: Collection[str]) -> IssuedToken:
    name = secrets.token_hex(4)
    while name in known:
        name = secrets.token_hex(4)
    # The id is part of the secret, so that `identify` finds the token without comparing all digests.
    return IssuedToken(id=name, secret=f"{kind}_{name}_{secrets.token_urlsafe(32)}")


def _generate_code(kind: str, known: Collection[str]) -> IssuedToken:
    drawn = "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))
    if drawn[:4] in known:
        return _generate_code(kind, known)
    return IssuedToken(id=drawn[:4], secret=f"{kind}_{drawn[:4]}_{drawn[4:]}")


def format_code(secret: str) -> str:
    """A code as people read it: `7K3Q-9XRA`."""
    return "-".join(secret.split("_")[1:])


def parse_code(text: str) -> str:
    """The secret of a code as a person typed it; empty for what is none."""
    plain = text.upper().translate(_CODE_SLIPS)
    is_code = len(plain) == CODE_LENGTH and set(plain) <= set(CODE_LETTERS)
    if not is_code:
        return ""
    return f"{TICKET}_{plain[:4]}_{plain[4:]}"


def find_code_id(secret: str) -> str:
    """The first half of a code, by which it is looked up; empty for every other secret."""
    kind, name = _parse_secret(secret)
    is_code = kind == TICKET and len(name) == CODE_LENGTH // 2
    return name if is_code else ""


def _digest(secret: str) -> str:
    # A plain hash is enough: the secret has 256 random bits, so that guessing it is hopeless even with a fast hash.
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


def _parse_secret(secret: str) -> tuple[str, str]:
    """What a secret is for (a token, a ticket, a login), and its id."""
    kind, _, rest = secret.partition("_")
    return kind, rest.partition("_")[0]


def _find_secret(known: Mapping[str, S], kind: str, secret: str) -> S | None:
    """Return what a secret of this kind belongs to; None if it is not right."""
    own, name = _parse_secret(secret)
    held = known.get(name) if own == kind else None
    # An unknown secret is compared as well: the response time must not reveal which exist.
    is_right = hmac.compare_digest(_digest(secret), _digest("") if held is None else held.digest)
    return held if is_right else None


def _find_token(
    tokens: Tokens, known: Mapping[str, _DerivedSecret], kind: str, secret: str
) -> tuple[Token, datetime] | None:
    """Return the token that a secret belongs to, or that a ticket or login of this kind is of, and until when; else None."""
    derived = _find_secret(known, kind, secret)
    if derived is None:
        held = _find_secret(tokens, BEARER, secret)
        return None if held is None else (held.token, held.token.expires)
    held = tokens.get(derived.token)
    return None if held is None else (held.token, derived.expires)


def _get_token(tokens: Tokens, name: str) -> _StoredToken:
    held = tokens.get(name)
    if held is None:
        raise UnknownToken(f"unknown token {str(name)[:100]!r}; list the tokens to see their ids")
    return held


def load_owner_key(home: Path) -> str:
    """The key of a home, created if there is none: who can read it owns the servers that run there. Raises FolderUnwritable.

    A key that other users could have read is worth nothing any more: it is replaced, with a word about it.
    """
    path = home / OWNER_KEY
    try:
        make_private_folder(home)
        stored = read_private(path)
        if stored is not None and parse_token_id(stored):
            return stored
        is_replaced = path.is_symlink() or path.exists()
        key = generate_token()
        if not write_private(path, key, over=is_replaced):
            # Another process was first.
            return load_owner_key(home)
    except OSError as cause:
        raise FolderUnwritable(
            f"the key {path} cannot be read or written ({cause.strerror}); check its rights"
        ) from cause
    if is_replaced:
        log.warning(
            "the key %s was no key, or other users could read it; it was replaced: connect anew what used it",
            path,
        )
    return key
