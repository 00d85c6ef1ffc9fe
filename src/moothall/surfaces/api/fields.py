"""Types of fields, and parameters, that many calls have."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, is_dataclass
from dataclasses import fields as list_fields
from types import GenericAlias, UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, AliasChoices, Field, create_model
from pydantic.alias_generators import to_camel, to_snake

from moothall.domain.ids import MAX_SEAT_LENGTH, SessionId, parse_session_id
from moothall.domain.limits import Share, explain_violation
from moothall.domain.roster import MAILBOX, MAX_FAMILY_LENGTH
from moothall.memory.facts import Line, Name
from moothall.surfaces.api.method import ApiModel, build_output_schema

M = TypeVar("M", bound=ApiModel)

PAGE: Final = 200
MAX_ENTRIES: Final = 10**12


def _validate_key(key: str) -> str:
    """A key that could not be stored is refused before anything is done."""
    if (violation := explain_violation("the key", key, Name)) is not None:
        raise ValueError(violation)
    return key


IdempotencyKey = Annotated[
    Name,
    Field(description="A repeated call with the same key counts once."),
    AfterValidator(_validate_key),
]
Short = Name
Note = Line
Score = Share
Rounded = Annotated[float, AfterValidator(lambda value: round(value, 4))]
Limit = Annotated[int, Field(ge=1, le=1_000)]
EntryNumber = Annotated[
    int | None,
    Field(ge=1, le=MAX_ENTRIES, description="As it stood after this entry. Default: now."),
]


def spell_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values under their names on the wire; what has no value is left out."""
    return {to_camel(name): value for name, value in values.items() if value is not None}


def build_ref(name: str, *spellings: str, max_length: int, **more: Any) -> Any:
    """A field by which callers name something: it is sent as `name`, and taken under other spellings too, each also in snake case."""
    choices = dict.fromkeys(
        each for spelling in (name, *spellings) for each in (spelling, to_snake(spelling))
    )
    return Field(
        max_length=max_length,
        validation_alias=AliasChoices(*choices),
        serialization_alias=name,
        **more,
    )


SessionRef = Annotated[
    SessionId,
    build_ref("sessionId", "session", "deliberationId", max_length=80),
    AfterValidator(parse_session_id),
]
DeliberationRef = Annotated[
    SessionId,
    build_ref(
        "deliberationId",
        "sessionId",
        "session",
        max_length=80,
        description="The deliberation's id.",
    ),
    AfterValidator(parse_session_id),
]
DecisionRef = Annotated[
    str,
    build_ref(
        "decisionId",
        "deliberationId",
        "id",
        max_length=100,
        description="A deliberation's id, or the id that record_decision returned.",
    ),
]
_OMITTED: Final = "may be omitted with a seat's token."
ParticipantRef = Annotated[
    str | None,
    build_ref(
        "participant",
        "agent",
        "agentId",
        "seat",
        max_length=MAX_SEAT_LENGTH,
        description=f"Who speaks; {_OMITTED}",
    ),
]
SeatRef = Annotated[
    str | None,
    build_ref(
        "seat",
        "participant",
        "agent",
        max_length=MAX_SEAT_LENGTH,
        description=f"Whose asks; {_OMITTED}",
    ),
]
AskRef = Annotated[
    str | None,
    Field(max_length=200, description="The ask's id. Default: the one that waits for the seat."),
]
AgentName = Annotated[
    str | None,
    build_ref(
        "agent",
        "source",
        "participant",
        max_length=100,
        min_length=1,
        description="Who decides; may be omitted with an agent's token.",
    ),
]
SourceRef = Annotated[
    str,
    build_ref(
        "source",
        "agent",
        "participant",
        max_length=500,
        min_length=1,
        description="A participant by its name, a model by its platform.",
    ),
]
FamilyRef = Annotated[
    str,
    build_ref(
        "family",
        "model",
        "modelFamily",
        max_length=MAX_FAMILY_LENGTH,
        description="The model (family) behind it, such as claude-opus-4: agents of one family err together and count for less.",
    ),
]
SwapsRef = Annotated[
    dict[Short, Short] | None,
    Field(
        max_length=64,
        description="Seats that another participant fills from there on: seat to platform.",
    ),
]


class ParticipantIn(ApiModel):
    """A seat. Without a platform a participant comes from outside and speaks for it; with one (`openai:gpt-5-mini`) Moot asks the model."""

    id: Annotated[str, Field(max_length=MAX_SEAT_LENGTH)]
    platform: Annotated[str, Field(max_length=500)] = MAILBOX
    stance: Annotated[str, Field(max_length=200)] = ""
    instructions: Annotated[str, Field(max_length=8_000)] = ""
    weight: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    family: FamilyRef = ""


def take_fields(
    shape: type, *, has_limits: bool = True, **more: Any
) -> Callable[[type[M]], type[M]]:
    """Add the fields of a dataclass of the domain to a model, behind the model's own.

    A call takes them with their limits and with what is written below each of them; a result has neither. `more` says of a field
    what only the wire knows.
    """
    fields: dict[str, Any] = {}
    for each in list_fields(shape):
        kind = convert_type(each.type, has_limits)
        if each.name in more:
            kind = Annotated[kind, more[each.name]]
        default: Any = each.default
        if default is MISSING:
            default = ...
        elif default == ():
            default = []
        fields[each.name] = (kind, default)

    def describe(schema: dict[str, Any]) -> None:
        for name, field in build_output_schema(shape)["properties"].items() if has_limits else ():
            schema["properties"][name] |= {
                key: text for key, text in field.items() if key == "description"
            }

    given: Any = {"__cls_kwargs__": {"json_schema_extra": describe}, **fields}
    return lambda model: create_model(
        model.__name__, __base__=model, __module__=model.__module__, **given
    )


def convert_type(kind: Any, has_limits: bool = True) -> Any:
    """A type of the domain as the wire has it: lists for tuples, models for dataclasses."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        inner = convert_type(arguments[0], has_limits)
        return Annotated[inner, *arguments[1:]] if has_limits else inner
    if origin in {Union, UnionType}:
        return Union[tuple(convert_type(each, has_limits) for each in arguments)]  # noqa: UP007 - made of a list
    if origin is tuple:
        return GenericAlias(list, (convert_type(arguments[0], has_limits),))
    if isinstance(kind, type) and is_dataclass(kind):
        return take_fields(kind, has_limits=has_limits)(type(kind.__name__, (ApiModel,), {}))
    return kind
