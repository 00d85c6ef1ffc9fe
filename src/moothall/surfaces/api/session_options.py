"""The parameters of the calls that open a session, made from the table of a session's options."""

import dataclasses
from base64 import b64decode
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    assert_never,
    get_args,
)

from pydantic import Field, create_model, model_validator
from pydantic.alias_generators import to_camel, to_snake

from moothall.app import session_options as kinds
from moothall.app.given_files import build_given_file
from moothall.app.panels import list_presets
from moothall.app.plugins import load_kinds
from moothall.app.protocols import get_protocol
from moothall.app.reading_threads import run_on_own_thread
from moothall.app.session_options import (
    SESSION_OPTIONS,
    Opener,
    Options,
    describe_option,
    find_refusal,
    list_public_options,
)
from moothall.codec.settings import KnownLanguage
from moothall.domain.budget import GIVEN_TOOLS, ToolSwitch
from moothall.domain.ids import KeyedCall, SessionId, parse_seat_id
from moothall.domain.roster import HELPING_SEATS, MAX_SEATS, Seat
from moothall.domain.topic import MAX_FILE_LENGTH, ContextFile
from moothall.errors import BadRoster, BadSetting
from moothall.locale.catalogues import OPENING
from moothall.locale.texts import DEFAULT_LANGUAGE
from moothall.surfaces.api.fields import ParticipantIn, Short, convert_type
from moothall.surfaces.api.method import ApiModel, Call

MAX_SETTINGS: Final = 64


class ContextFileIn(ApiModel):
    name: Short
    text: Annotated[str, Field(max_length=MAX_FILE_LENGTH)] = ""
    data: Annotated[
        str,
        Field(
            description="The file itself in base64, in place of its text: a PDF, whose text is taken, or a picture."
        ),
    ] = ""

    def read_text(self) -> ContextFile:
        """The file with its text; raises BadSetting where it has none, MissingExtra for a PDF."""
        if self.text and self.data:
            raise BadSetting(f"{self.name}: text and data were given; expected one of them")
        if not self.data:
            return ContextFile(name=self.name, text=self.text)
        try:
            return build_given_file(self.name, self.name, b64decode(self.data, validate=True))
        except ValueError as cause:
            raise BadSetting(f"{self.name}: data must be in base64") from cause


class OpenerParams(ApiModel):
    """The parameters of a call that opens a session: the options that its opener honours."""

    opener: ClassVar[Opener] = "run"
    option_names: ClassVar[frozenset[str]] = frozenset()
    setting_names: ClassVar[tuple[str, ...]] = ()
    """The settings of its protocol that it takes as parameters of their own."""

    def collect_settings(self) -> dict[str, Any]:
        settings = {}
        for name in self.setting_names:
            value = getattr(self, name)
            if value is not None:
                settings[name] = value
        return settings

    @model_validator(mode="before")
    @classmethod
    def refuse_options(cls, given: Any) -> Any:
        """Raise BadSetting, with the reason, when an option is given that only other openers honour."""
        if not isinstance(given, dict):
            return given
        for name in list_public_options():
            spelled = _find_spelling(given, name)
            if not spelled or name in cls.model_fields:
                continue
            reason = find_refusal(name, cls.opener, is_server=True)
            if reason:
                raise BadSetting(f"{spelled}: {reason}")
        return given


def _find_spelling(given: Mapping[str, Any], name: str) -> str:
    """How an option was spelled that was given; empty where it was not."""
    for spelling in (to_camel(name), name):
        if given.get(spelling) not in (None, ""):
            return spelling
    return ""


def build_params(opener: Opener, without: Collection[str] = ()) -> type[OpenerParams]:
    fields: dict[str, Any] = {}
    for name, option in list_public_options().items():
        if name not in without and not find_refusal(name, opener, is_server=True):
            field = Field(default=None, description=describe_option(name))
            fields[name] = (_choose_type(option.kind) | None, field)
    made = create_model(f"{opener.title()}Params", __base__=OpenerParams, **fields)
    made.opener, made.option_names = opener, frozenset(fields)
    return made


def take_settings(
    protocol: str, *names: str, label: str = ""
) -> Callable[[type[OpenerParams]], type[OpenerParams]]:
    """Add settings of a protocol to the parameters of a call, each to be left out; described as in the page's form."""
    words = OPENING[DEFAULT_LANGUAGE].settings
    shapes = {
        each.name: convert_type(each.type)
        for each in dataclasses.fields(get_protocol(protocol).settings)
    }
    fields: dict[str, Any] = {
        name: (shapes[name] | None, Field(default=None, description=label + words[name]))
        for name in names
    }

    def add(model: type[OpenerParams]) -> type[OpenerParams]:
        made = create_model(model.__name__, __base__=model, __module__=model.__module__, **fields)
        made.setting_names = (*model.setting_names, *names)
        return made

    return add


def _choose_type(kind: kinds.OptionKind) -> Any:
    match kind:
        case kinds.SwitchKind():
            return bool
        case kinds.CountKind():
            return Annotated[int, Field(ge=kind.least, le=kind.most)]
        case kinds.AmountKind():
            return Annotated[float, Field(gt=0, le=kind.most)]
        case kinds.DurationKind():
            return (
                Annotated[float, Field(gt=0, le=kind.most)] | Annotated[str, Field(max_length=20)]
            )
        case kinds.LanguageKind():
            return KnownLanguage
        case kinds.ChoiceKind():
            return Literal[kind.values]
        case kinds.TextKind():
            return Annotated[str, Field(max_length=kind.most)]
        case kinds.TextsKind():
            return Annotated[
                list[Annotated[str, Field(max_length=kind.longest)]], Field(max_length=kind.most)
            ]
        case kinds.SeatsKind():
            return Annotated[list[str | ParticipantIn], Field(max_length=MAX_SEATS + HELPING_SEATS)]
        case kinds.PanelKind():
            return Annotated[str, Field(max_length=64)]
        case kinds.FilesKind():
            return Annotated[list[ContextFileIn], Field(max_length=kind.most)]
        case kinds.SettingsKind():
            return Annotated[dict[str, Any], Field(max_length=MAX_SETTINGS)]
        case kinds.FolderKind() | kinds.TreeKind():
            raise AssertionError("no server opens a folder that a caller names")
        case _:
            assert_never(kind)


if TYPE_CHECKING:
    RunParams = OpenerParams
    DeliberationParams = OpenerParams
    SwarmParams = OpenerParams
    ConsultationParams = OpenerParams
    RoundtableParams = OpenerParams
else:
    # Made, not written: what is added to the table is a parameter of every call that can honour it.
    RunParams = build_params("run")
    # Its participants are the seats; settings of its protocols are parameters, and two of them are called like options.
    DeliberationParams = build_params(
        "run", {"seats", "panel", "models", "protocol", "settings", "patience"}
    )
    SwarmParams = build_params("swarm")
    # Its `kind` is that of a request to consult.
    ConsultationParams = build_params("consult", {"kind"})
    RoundtableParams = build_params("roundtable")


def build_seat(call: Call, given: str | ParticipantIn) -> Seat:
    """The seat for a participant that a caller names; raises BadRoster for a platform that it may not have."""
    words: ParticipantIn | dict[str, str]
    if not isinstance(given, str):
        words = given
    else:
        words = dict(zip(("id", "platform"), given.split("=", 1), strict=False))
    form = ParticipantIn.model_validate(words)
    if not form.platform.strip():
        raise BadRoster(
            f"participant {form.id!r}: the platform is empty; omit it for a participant from outside"
        )
    is_listed = call.moot.seating.is_listed(form.platform)
    if (
        call.caller.role != "local"
        and not is_listed
        and not load_kinds().is_allowed_remotely(form.platform)
    ):
        raise BadRoster(
            f"participant {form.id!r}: the platform {form.platform!r} is allowed only on the server's own machine, "
            "or where its server.toml lists it under `programs` or `providers`"
        )
    return Seat(
        id=parse_seat_id(form.id),
        platform=form.platform,
        stance=form.stance,
        instructions=form.instructions,
        weight=form.weight,
        family=form.family.strip(),
    )


async def collect_options(call: Call, params: OpenerParams) -> Options:
    """Return the options that a caller gives, for a session that a server runs.

    Raises BadSetting when there is no such panel or a file has no text, BadRoster when the caller may not seat such a participant.
    """
    options: Options = {"hosted": True}
    for name in params.option_names:
        value = getattr(params, name)
        if value is not None:
            kind = SESSION_OPTIONS[name].kind
            options[name] = await _read_value(call, name, kind, value)  # type: ignore[literal-required]  # a key, as the table says
    return options


class Opening(NamedTuple):
    """What a call opens: the question, and the options of the session."""

    topic: str
    options: Options


async def open_once(
    call: Call,
    name: str,
    params: ApiModel | Mapping[str, Any],
    key: str,
    plan: Callable[[], Awaitable[Opening]],
) -> SessionId:
    """Open the session that a call asks for; the same words under the same key are the session that they opened before.

    That one is looked for first: who can be seated by now, or no longer, changes nothing about it. Raises KeyReused.
    """
    if isinstance(params, ApiModel):
        try:
            params = params.model_dump(
                mode="json", exclude={"idempotency_key"}, exclude_defaults=True
            )
        except ValueError as cause:
            # No more than 255 levels are written.
            raise BadSetting("the parameters are nested too deeply") from cause
    keyed = KeyedCall.from_params(name, call.caller.name, key, params)
    session = await call.deliberations.find_opened(keyed)
    if session is None:
        opening = await plan()
        session = await call.deliberations.open(opening.topic, keyed, **opening.options)
    return session


async def _read_value(call: Call, name: str, kind: kinds.OptionKind, value: Any) -> Any:
    if isinstance(kind, kinds.SeatsKind):
        return [build_seat(call, each) for each in value]
    if isinstance(kind, kinds.SettingsKind):
        return {to_snake(key): each for key, each in value.items()}
    if isinstance(kind, kinds.FilesKind):
        # A long PDF takes seconds, in which the others are served.
        return await run_on_own_thread(lambda: [each.read_text() for each in value])
    if isinstance(kind, kinds.PanelKind) and value not in list_presets():
        # A file's name is refused as well: no caller chooses what the server reads.
        raise BadSetting(
            f"{name}: no panel is called {value!r}; the panels are: {', '.join(list_presets())}"
        )
    if isinstance(kind, kinds.ToolsKind) and call.caller.role != "local":
        for word in map(str.strip, value.split(",")):
            source = call.moot.seating.tools.find(word)
            if word not in {*GIVEN_TOOLS, *get_args(ToolSwitch)} and not (source and source.remote):
                raise BadSetting(
                    f"{name}: callers of this server may name {', '.join(GIVEN_TOOLS)}; {word[:40]!r} is its owner's"
                )
    if isinstance(kind, kinds.PlatformsKind):
        return [
            build_seat(call, ParticipantIn(id="model", platform=each)).platform for each in value
        ]
    return value
