"""An operation: its shapes, who may call it, and how it is refused."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from types import GenericAlias
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Literal, Self, TypeVar, get_args

from pydantic import (
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    create_model,
    model_validator,
)
from pydantic.alias_generators import to_pascal

from moothall.domain.dictionaries import BoundedDict
from moothall.domain.facts import TOKEN_ORIGIN
from moothall.domain.ids import SessionId
from moothall.domain.safe_text import name_field, one_line
from moothall.errors import LIST_SESSIONS, BadSetting, NotAllowed, UnknownSession
from moothall.memory.tokens import AccessDenied, Identity, Token, TokenStore, find_code_id
from moothall.ports.telemetry import name_work

if TYPE_CHECKING:
    # For their names only: commands of the terminal load this module, and many need none of them.
    from moothall.app.deliberations import Deliberations, Progress
    from moothall.app.moot import Moot
    from moothall.app.session_list import NewestLines
    from moothall.app.session_reader import FoldedSessions
    from moothall.ports.runner import Runner

T = TypeVar("T")

Role = Literal["local", "owner", "operator", "recorder", "agent", "seat", "observer"]
"""`local` holds the key of the server's own home; every other role is a token's."""
Needs = Literal["read", "speak", "decide", "run", "own"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)

MAY: Final[dict[Role, frozenset[Needs]]] = {
    "local": frozenset({"read", "speak", "decide", "run", "own"}),
    "owner": frozenset({"read", "speak", "decide", "run", "own"}),
    # Who runs sessions neither judges decisions, nor resets circuits, nor lets others in.
    "operator": frozenset({"read", "speak", "run"}),
    # Who decides, or records what others decided, neither reviews, nor resets, nor sets the rules: it would judge itself.
    "recorder": frozenset({"read", "decide"}),
    "agent": frozenset({"read", "speak", "decide"}),
    "seat": frozenset({"read", "speak"}),
    "observer": frozenset({"read"}),
}

HOLDERS: Final[dict[Needs, str]] = {
    "own": "an owner's token",
    "run": "an operator's or an owner's token",
    "decide": "an agent's, a recorder's or an owner's token",
    "speak": "a seat's, an operator's or an owner's token",
    "read": "a token",
}
"""Whose token does for each need, for the sentence of a refusal."""

MAX_NAMED: Final = 10
"""How many sessions an error names."""
MAX_VALUES: Final = 20_000
MAX_CALLERS: Final = 10_000
TRIES_PER_SECOND: Final = 0.2
MAX_TRIES: Final = 5.0
"""Of wrong secrets, by one caller."""
MAX_TRIES_PER_CODE: Final = 10.0
TRIES_PER_CODE_AND_SECOND: Final = 1 / 3_600
"""Of the second half of a code whose first half is right: four letters, so about a million."""
TRACE_HEADER: Final = "traceparent"


Source = Annotated[Any, Field(exclude=True, repr=False)]
"""What a result was made of, for a command that describes it to people; it is never sent."""
JSON_CONFIG: Final = ConfigDict(
    alias_generator=name_field,
    populate_by_name=True,
    extra="forbid",
    frozen=True,
    from_attributes=True,
    defer_build=True,
)
"""The one JSON dialect: camelCase names, nothing unknown let through; a dataclass inside of a model speaks it too."""


class ApiModel(BaseModel):
    """What crosses the wire as parameters, or as a result that no dataclass of the domain has."""

    model_config = JSON_CONFIG

    @classmethod
    def collect(cls, *sources: object, **given: object) -> Self:
        """Take what is not given from the first source that has an attribute of the field's name."""
        for name in cls.model_fields.keys() - given.keys():
            for source in sources:
                if hasattr(source, name):
                    given[name] = getattr(source, name)
                    break
        return cls.model_validate(given)

    def to_json(self) -> dict[str, Any]:
        """The same in the one JSON dialect, as a call answers with it and a command prints it."""
        return encode_json(self)

    @model_validator(mode="before")
    @classmethod
    def drop_empty(cls, given: Any) -> Any:
        """Models fill what they do not need with "" or null: for a field that may be left out, that is left out."""
        # Ballots of many have many parts, and most of what is given is full.
        if not isinstance(given, dict) or not ("" in given.values() or None in given.values()):
            return given
        optional = _list_optional_names(cls)
        return {
            name: value
            for name, value in given.items()
            if (value is not None and value != "") or name not in optional
        }


@cache
def _list_optional_names(shape: type[BaseModel]) -> frozenset[str]:
    """Every spelling of the fields that may be left out."""
    fields = {name: field for name, field in shape.model_fields.items() if not field.is_required()}
    return frozenset(
        spelling
        for name, field in fields.items()
        for spelling in list_spellings(name, field.validation_alias)
    )


def list_spellings(name: str, alias: object) -> list[str]:
    """The names under which a field is accepted."""
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
    return [name, *(each for each in choices if isinstance(each, str))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who calls. Who holds the key of the server's own home, or starts `moot mcp` on it, is `local` and may do everything."""

    role: Role = "local"
    token: str = ""
    session: str = ""
    seat: str = ""
    user: str = ""
    """Who sits at this machine (`local:USER`), where that is known."""
    family: str = ""
    """The model family that its token says."""

    @classmethod
    def from_identity(cls, identity: Identity) -> "Caller":
        return cls(
            role=identity.role,
            token=identity.id,
            session=identity.session,
            seat=identity.seat,
            family=identity.family,
        )

    @property
    def name(self) -> str:
        """How the record names this caller."""
        return self.seat or (f"token {self.token}" if self.token else "local")

    @property
    def door(self) -> str:
        """The door through which this caller's words come in: the token's id, never its secret."""
        return f"{TOKEN_ORIGIN}{self.token}" if self.token else self.user or "local"

    @property
    def is_named(self) -> bool:
        """Whether the token says under which name its holder speaks: a seat's or an agent's."""
        return self.role in {"seat", "agent"}

    def may(self, needs: Needs) -> bool:
        return needs in MAY[self.role]

    def check(self, needs: Needs) -> None:
        """Raises NotAllowed when this caller may not do such a thing at all."""
        if not self.may(needs):
            article = "an" if self.role[0] in "aeiou" else "a"
            raise NotAllowed(f"this call needs {HOLDERS[needs]}; yours is {article} {self.role}'s")

    def check_session(self, session: str) -> None:
        """Raises NotAllowed when this caller's token is for another session."""
        if self.session and self.session != session:
            raise NotAllowed(
                f"your token is valid only for the session {self.session!r}, not for {session[:100]!r}"
            )

    def check_unbound(self, what: str) -> None:
        """Raises NotAllowed when this caller's token is for one session only."""
        if self.session:
            raise NotAllowed(
                f"your token is valid only for the session {self.session!r}; {what} needs a token for all sessions"
            )

    def resolve_speaker(self, given: str | None, name: str = "participant") -> str:
        """The name under which this caller speaks, given as the parameter `name`; raises NotAllowed when it is another's."""
        if self.is_named:
            if given is not None and given != self.seat:
                raise NotAllowed(
                    f"your token is valid only for the {self.role} {self.seat!r}, not for {given[:100]!r}"
                )
            return self.seat
        if given is None:
            raise NotAllowed(f"{name!r} is missing: your token is not a seat's, so name who speaks")
        return given


class RateLimiter:
    """A bucket per caller that fills by `per_second` up to `burst`."""

    def __init__(
        self, per_second: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._per_second, self._burst, self._clock = per_second, burst, clock
        self._buckets: BoundedDict[str, tuple[float, float]] = BoundedDict(MAX_CALLERS)

    def count_wait(self, caller: str) -> float:
        """In how many seconds one more call will fit."""
        left, since = self._buckets.get(caller, (self._burst, self._clock()))
        return max(0.0, (1 - left) / self._per_second - (self._clock() - since))

    def take(self, caller: str) -> bool:
        """Whether one more call fits."""
        now = self._clock()
        left, since = self._buckets.get(caller, (self._burst, now))
        left = min(self._burst, left + (now - since) * self._per_second)
        self._buckets[caller] = (left - 1 if left >= 1 else left, now)
        return left >= 1


class SecretTries:
    """Who may try one more secret: wrong ones count against their caller, and each code has a few tries of its own.

    So a right code is looked up also where others guess from the same address, and nobody can guess one.
    """

    def __init__(self) -> None:
        self._callers = RateLimiter(TRIES_PER_SECOND, MAX_TRIES)
        self._codes = RateLimiter(TRIES_PER_CODE_AND_SECOND, MAX_TRIES_PER_CODE)

    async def find_token(
        self, access: TokenStore, secret: str, caller: str
    ) -> Token | AccessDenied | None:
        """The token whose rights a secret gives, or why it gives none; None where the caller tried too many wrong ones."""
        token = await self._look_up(access, secret)
        if isinstance(token, AccessDenied) and not self._callers.take(caller):
            return None
        return token

    def count_wait(self, caller: str) -> float:
        """In how many seconds a caller may try one more."""
        return self._callers.count_wait(caller)

    async def _look_up(self, access: TokenStore, secret: str) -> Token | AccessDenied:
        code = find_code_id(secret)
        if code and not (await access.has_ticket(code) and self._codes.take(code)):
            return AccessDenied(reason="unknown")
        return await access.find_token(secret)


@dataclass(frozen=True)
class ServerContext:
    """What calls work on."""

    moot: "Moot"
    runner: "Runner"
    root: Path = field(default_factory=Path.cwd)
    """The folder whose conferences calls may reach."""
    under_way: set[asyncio.Future[Any]] = field(default_factory=set)
    """Changes that are carried through, whether or not their caller still waits."""
    relays: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """The conferences that are driven from here."""
    followers: dict[str, asyncio.Task[None]] = field(default_factory=dict)
    """What answers for persons where there is nothing to ask them."""
    secret_tries: SecretTries = field(default_factory=SecretTries)
    parts: dict[object, Any] = field(default_factory=dict)
    """The instances that `get_or_create` has made."""

    def get_or_create(self, build: "Callable[[ServerContext], T]") -> T:
        """The one instance that a class or a function builds on this context, made at its first use."""
        if build not in self.parts:
            self.parts[build] = build(self)
        instance: T = self.parts[build]
        return instance

    @cached_property
    def deliberations(self) -> "Deliberations":
        # Imported here: it brings the rules of the deliberations, which few commands of the terminal need.
        from moothall.app.deliberations import Deliberations

        return Deliberations(self.moot, self.runner.wake)

    @cached_property
    def folded(self) -> "FoldedSessions":
        """The sessions as views need them, folded once for everybody."""
        from moothall.app.session_reader import FoldedSessions

        return FoldedSessions(self.moot)

    async def run_shielded(self, work: Awaitable[T]) -> T:
        """Do it to its end, whether or not the caller still waits for it: half a change would leave others waiting."""
        task = asyncio.ensure_future(work)
        caller = asyncio.current_task()
        if caller is not None and isinstance(task, asyncio.Task):
            task.set_name(caller.get_name())
        self.under_way.add(task)
        task.add_done_callback(self._forget_done)
        return await asyncio.shield(task)

    def _forget_done(self, task: asyncio.Future[Any]) -> None:
        self.under_way.discard(task)
        if not task.cancelled():
            # Looked at: a refusal whose caller has left is no fault of the server's for its log.
            task.exception()


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call under way: who makes it, on what, how to report progress, and to which trace of the caller's it belongs."""

    context: ServerContext
    caller: Caller
    progress: "Progress | None" = None
    trace: str = ""

    @property
    def moot(self) -> "Moot":
        return self.context.moot

    @property
    def deliberations(self) -> "Deliberations":
        return self.context.deliberations

    async def take_seat(self, session: str) -> "Call":
        """This call as from the seat of the session that an agent took by a code; any other call as it is."""
        seat = (
            await self.moot.access.find_seat(self.caller.token, session)
            if self.caller.role == "agent"
            else None
        )
        return self if seat is None else replace(self, caller=Caller.from_identity(seat))

    async def find_door(self, session: str, seat: str) -> str:
        """Through which door this caller speaks for a seat; an owner who speaks for another's seat is marked."""
        return (
            self.caller.door
            if self.caller.is_named
            else await self.moot.access.mark_owner(session, seat, self.caller.door)
        )


P = TypeVar("P", bound=ApiModel)
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Method(Generic[P, R]):
    """One operation of the table. JSON-RPC, OpenRPC, MCP, the command and its `--json`, and TypeScript's types follow from it."""

    name: str
    summary: str
    params: type[P]
    result: type[R]
    """An `ApiModel`, or a dataclass of the domain."""
    handler: Callable[[Call, P], Awaitable[R]]
    needs: Needs
    """The right that its caller must have."""
    tool: str = ""
    """Its name in MCP, where it has one."""
    waits: bool = False
    """Whether it may be broken off; any other that changes something is carried through once it has begun."""
    needs_unbound_token: bool = False
    """Whether it is refused to a token that is for one session."""
    serves_seats: bool = False
    """Whether a seat's token may make it nevertheless: who decides may look into memory (D-16), who only watches may not."""

    @property
    def is_reading(self) -> bool:
        return self.needs == "read"

    async def invoke(self, call: Call, params: object) -> dict[str, Any]:
        """Check, do, and give back the plain result. Raises ValidationError for wrong parameters, MootError if refused."""
        span = call.moot.telemetry.tracer.span(
            "moot.call", caller=call.trace, method=self.name, role=call.caller.role
        )
        with span, name_work(self.name):
            try:
                return encode_json(await self.perform(call, params))
            except UnknownSession as error:
                if error.command != LIST_SESSIONS:
                    raise
                known = await _list_known_sessions(call)
                raise UnknownSession(f"{error.sentence}; {known}") from None

    async def perform(self, call: Call, params: object) -> R:
        """Check the caller and the parameters, and do it."""
        call.caller.check(self.needs)
        if self.needs_unbound_token and not (self.serves_seats and call.caller.role == "seat"):
            call.caller.check_unbound("this call")
        _check_size(params)
        given = self.params.model_validate(params)
        for name in _SESSION_NAMES:
            if (session := getattr(given, name, None)) is not None:
                call.caller.check_session(session)
                call = await call.take_seat(session)
        work = self.handler(call, given)
        return await (work if self.is_reading or self.waits else call.context.run_shielded(work))

    def input_schema(self) -> dict[str, Any]:
        return _build_input_schema(self.params)

    def output_schema(self) -> dict[str, Any]:
        shape: Any = self.result
        return build_output_schema(shape)


_SESSION_NAMES: Final = ("session_id", "deliberation_id", "decision_id")
"""The parameters that name a session: a token for one session is refused wherever another one is named."""


async def load_newest_sessions(call: Call, count: int, after: int = 0) -> "NewestLines":
    """The sessions that the caller may see, the most recently active first; they cost what they are, not what there is."""
    listed, session = call.moot.session_list, call.caller.session
    if session:
        return await listed.load_only(SessionId(session), count, after)
    return await listed.load_newest(count, after)


async def _list_known_sessions(call: Call) -> str:
    """The sessions that the caller may see, for one that may not have the command that lists them."""
    visible = await load_newest_sessions(call, MAX_NAMED)
    if not visible.lines:
        return "there are no sessions yet"
    newest = [f"{line.session} ({one_line(line.topic)[:40]})" for line in visible.lines]
    older = visible.total - len(newest)
    more = f" and {older} older ones" if older else ""
    return f"the sessions are: {', '.join(newest)}{more}"


def _drop_missing(value: Any) -> Any:
    """What is not there is left out, but for the decision of a result: that there is none is the answer."""
    # A dumped model holds plain lists and objects; long answers have many parts that are neither.
    if type(value) is list:
        return [_drop_missing(each) if type(each) in _NESTED else each for each in value]
    if type(value) is not dict:
        return value
    always = _ALWAYS if "consensusType" in value or "decisionEntries" in value else ()
    return {
        name: _drop_missing(each) if type(each) in _NESTED else each
        for name, each in value.items()
        if each is not None or name in always
    }


_NESTED: Final = frozenset({dict, list})
_ALWAYS: Final = frozenset({"decision", "confidence"})


@cache
def _build_input_schema(shape: type[ApiModel]) -> dict[str, Any]:
    return shape.model_json_schema(by_alias=True)


@cache
def build_output_schema(shape: Any) -> dict[str, Any]:
    """Return the JSON schema of a result: a model of the API, or a dataclass in the one JSON dialect."""
    if issubclass(shape, ApiModel):
        schema: dict[str, Any] = shape.model_json_schema(by_alias=True, mode="serialization")
        return schema
    # Read from the source files, which takes a while: for schemas only.
    config = ConfigDict(**JSON_CONFIG, use_attribute_docstrings=True)
    many: Any = GenericAlias(list, (shape,))
    schema = TypeAdapter(many, config=config).json_schema(by_alias=True, mode="serialization")
    shapes = schema["$defs"]
    root = shapes.pop(schema["items"]["$ref"].rpartition("/")[2])
    return {**root, **({"$defs": shapes} if shapes else {})}


@cache
def _get_adapter(shape: Any) -> TypeAdapter[Any]:
    """Encodes dataclasses of a kind. A list of them, since only what holds a dataclass may say how its fields are named."""
    many: Any = GenericAlias(list, (shape,))
    return TypeAdapter(many, config=JSON_CONFIG)


def encode_json(value: Any) -> dict[str, Any]:
    """A model, or a dataclass of the domain, in the one JSON dialect; what is not there is left out."""
    if isinstance(value, ApiModel):
        plain = value.model_dump(mode="json", by_alias=True)
    else:
        shape: Any = type(value)
        (plain,) = _get_adapter(shape).dump_python([value], mode="json", by_alias=True)
    encoded: dict[str, Any] = _drop_missing(plain)
    return encoded


H = TypeVar("H", bound=Callable[..., Awaitable[Any]])


class Operations(dict[str, Method[Any, Any]]):
    """The operations of a module, by their names."""

    def add(
        self,
        name: str,
        needs: Needs,
        *,
        tool: str = "",
        waits: bool = False,
        unbound: bool = False,
        seats: bool = False,
    ) -> Callable[[H], H]:
        """Make a handler an operation: its signature has the shapes, its docstring says to callers what it does.

        What callers give stands after the call, each a parameter of its own, or all of them in one model called `params`.
        """

        def register(handler: H) -> H:
            shapes = handler.__annotations__
            has_model = "params" in shapes
            self[name] = Method(
                name=name,
                summary=" ".join((handler.__doc__ or "").split()),
                params=shapes["params"] if has_model else _build_params(handler),
                result=shapes["return"],
                handler=handler
                if has_model
                else lambda call, params: handler(call, **dict(params)),
                needs=needs,
                tool=tool,
                waits=waits,
                needs_unbound_token=unbound,
                serves_seats=seats or not unbound,
            )
            return handler

        return register


def _build_params(handler: Callable[..., Awaitable[Any]]) -> type[ApiModel]:
    """The model of what callers give to a handler that takes each of its parameters by itself."""
    _, *taken = inspect.signature(handler).parameters.values()
    fields: dict[str, Any] = {
        each.name: (each.annotation, ... if each.default is each.empty else each.default)
        for each in taken
    }
    return create_model(f"{to_pascal(handler.__name__)}Params", __base__=ApiModel, **fields)


def _check_size(params: object) -> None:
    """Raise BadSetting if a call has so many values, at any depth, that it takes seconds to say what is wrong with each."""
    level, count = [params], 0
    while level:
        lists = [
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, dict | list)
        ]
        if (count := count + sum(map(len, lists))) > MAX_VALUES:
            raise BadSetting(
                f"the parameters have more than {MAX_VALUES:,} values; expected fewer in one call"
            )
        level = [value for values in lists for value in values]
