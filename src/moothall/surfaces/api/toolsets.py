"""Which tools a caller is shown, and their descriptions in as few words as do.

A coding agent reads every name, description and schema that it is shown, at every start. So a caller is shown what it can use and
no more: at most `MAX_TOOLS` tools of `MAX_TOKENS` tokens together. A tool that is not shown still answers callers that may call it.
"""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, Final

from pydantic.alias_generators import to_camel

from moothall.app.session_options import Opener, list_public_options
from moothall.domain.ids import parse_session_id
from moothall.domain.safe_text import dump_json
from moothall.surfaces.api.method import Call, Method, Role, list_spellings
from moothall.surfaces.api.methods import TOOLS
from moothall.surfaces.api.session_options import OpenerParams
from moothall.surfaces.api.views import find_join_guide

MAX_TOOLS: Final = 8
MAX_TOKENS: Final = 3_000
CHARACTERS_PER_TOKEN: Final = 4
"""The usual estimate for English and JSON; good enough for a limit, and it needs no tokenizer."""

_TABLES: Final[dict[str, Any]] = tomllib.loads(
    (files(__package__) / "toolsets.toml").read_text("utf-8")
)


def _read_table(name: str) -> dict[Any, tuple[str, ...]]:
    return {key: tuple(tools) for key, tools in _TABLES[name].items()}


SEAT_TOOLS: Final[dict[str, tuple[str, ...]]] = _read_table("seat")
ROLE_TOOLS: Final[dict[Role, tuple[str, ...]]] = _read_table("role")
SESSION_OWNER_TOOLS: Final[dict[str, tuple[str, ...]]] = _read_table("session_owner")
SESSION_OBSERVER_TOOLS: Final[dict[str, tuple[str, ...]]] = _read_table("session_observer")
ALL_TOOLS: Final = tuple(TOOLS)

READING_TOOLS: Final = frozenset(
    name for name, method in TOOLS.items() if method.is_reading or name in _TABLES["waiting"]
)
"""The tools that change nothing. Who waits for a turn only reads, whatever right that needs."""
TOOL_WAIT_SECONDS: Final = 45.0
"""How long a tool that waits does so unless it is asked otherwise: shorter than clients wait for a tool."""

_TOKEN_SAYS: Final = frozenset(
    {"deliberationId", "participant", "sessionId", "seat", "conference", "role"}
)
"""What a seat's token says already: its session and its seat."""
_AGENT_SAYS: Final = frozenset({"agent", "participant", "participants"})
"""What an agent's token says already: who it is; and its reviewers are not its to choose."""


def select_seat_tools(kind: str, *, has_consultations: bool) -> tuple[str, ...]:
    """The tools of a seat of such a session."""
    names = SEAT_TOOLS[kind]
    if has_consultations:
        names = (*names, *_TABLES["consult"])
    return tuple(dict.fromkeys(names))


async def select_tools(call: Call, *, is_everything: bool = False) -> tuple[str, ...]:
    """The tools that a caller is shown; `is_everything` shows all that its rights allow."""
    caller = call.caller
    if is_everything:
        return tuple(name for name, method in TOOLS.items() if caller.may(method.needs))
    if not caller.session:
        return ROLE_TOOLS[caller.role]
    snapshot = await call.moot.engine.load_snapshot(parse_session_id(caller.session))
    opened = snapshot.session_state.opened
    kind, has_consultations = find_join_guide(opened).kind, opened.consult is not None
    if caller.role == "seat":
        return select_seat_tools(kind, has_consultations=has_consultations)
    if caller.role == "observer":
        return SESSION_OBSERVER_TOOLS[kind]
    return SESSION_OWNER_TOOLS[kind]


async def complete_arguments(
    call: Call, method: Method[Any, Any], given: dict[str, Any]
) -> dict[str, Any]:
    """The arguments with what the caller's token says, and with the time to wait: a token for one session need not name it."""
    if (
        method.tool in _TABLES["waiting"]
        and not {"timeoutSeconds", "timeout_seconds", "at"} & given.keys()
    ):
        given = {**given, "timeoutSeconds": TOOL_WAIT_SECONDS}
    if not call.caller.session:
        return given
    for name in ("deliberation_id", "session_id", "conference"):
        field = method.params.model_fields.get(name)
        if field is None:
            continue
        spellings = list_spellings(name, field.validation_alias)
        if any(given.get(each) for each in spellings):
            continue
        # An empty string, under whichever spelling, is as good as none.
        rest = _drop_keys(given, spellings)
        if name != "conference":
            return {**rest, name: call.caller.session}
        snapshot = await call.moot.engine.load_snapshot(parse_session_id(call.caller.session))
        return {**rest, name: find_join_guide(snapshot.session_state.opened).session}
    return given


def describe_tools(names: Sequence[str], role: Role = "local") -> list[dict[str, Any]]:
    """The tools as `tools/list` has them. A seat and an agent are not asked for what their tokens say."""
    said: frozenset[str] = frozenset()
    if role == "agent":
        said = _AGENT_SAYS
    elif role == "seat":
        said = _TOKEN_SAYS
    return [_describe_tool(name, TOOLS[name], said) for name in names]


def add_output_schemas(tools: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tools with the schemas of their results; on request only, since they are longer than all the rest."""
    return [{**tool, "outputSchema": TOOLS[tool["name"]].output_schema()} for tool in tools]


def _describe_tool(name: str, method: Method[Any, Any], said: frozenset[str]) -> dict[str, Any]:
    schema, hidden = _compact_input_schema(name), said
    if issubclass(method.params, OpenerParams):
        hidden |= _list_unshown_options(method.params.opener, said)
    if hidden:
        schema = _leave_out(schema, hidden)
    # What a client may do without asking; `destructiveHint` counts only for a tool that changes something.
    is_reading = name in READING_TOOLS
    hints = {"readOnlyHint": is_reading}
    if not is_reading:
        hints["destructiveHint"] = False
    if is_reading or name in _TABLES["idempotent"]:
        hints["idempotentHint"] = True
    hints["openWorldHint"] = False
    return {
        "name": name,
        "description": method.summary,
        "inputSchema": schema,
        "annotations": hints,
    }


@cache
def _list_unshown_options(opener: Opener, said: frozenset[str]) -> frozenset[str]:
    """The options of a new session that an agent need not read of: it may give them all the same."""
    table = list_public_options()
    if said is _TOKEN_SAYS:
        # A seat's token opens no session: its tools are those of the session that it sits in.
        unshown = set(table)
    elif opener == "consult":
        unshown = table.keys() - {"seats", "models", "language"}
    else:
        unshown = {name for name, option in table.items() if option.is_rare}
    return frozenset(map(to_camel, unshown))


def estimate_tokens(tools: Sequence[dict[str, Any]]) -> int:
    """About how many tokens a model reads of these tools."""
    return -(-len(dump_json(list(tools))) // CHARACTERS_PER_TOKEN)


@cache
def _compact_input_schema(name: str) -> dict[str, Any]:
    schema = TOOLS[name].input_schema()
    compact = _compact(schema, schema.get("$defs", {}))
    assert isinstance(compact, dict)
    if name in _TABLES["waiting"]:
        compact["properties"]["timeoutSeconds"]["default"] = TOOL_WAIT_SECONDS
    return {"type": "object", "properties": {}, **compact}


def _compact(value: Any, parts: dict[str, Any]) -> Any:
    """A schema that means the same in fewer words.

    Without titles, without `null` beside a type (what is left out is absent), with its parts in their places: some clients do not
    follow references.
    """
    if isinstance(value, list):
        return [_compact(each, parts) for each in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        part = parts[value["$ref"].rpartition("/")[2]]
        return _compact({**part, **_drop_keys(value, {"$ref"})}, parts)
    compacted = _drop_keys(value, {"title", "$defs"})
    if isinstance(compacted.get("properties"), dict):
        # The names of properties are not words of JSON Schema: `title` may be one of them.
        properties = {
            name: _compact(each, parts) for name, each in compacted.pop("properties").items()
        }
        return {**_compact(compacted, parts), "properties": properties}
    if compacted.get("default", 0) in (None, "", [], {}):
        del compacted["default"]
    if "anyOf" in compacted:
        others = [each for each in compacted["anyOf"] if each != {"type": "null"}]
        if len(others) == 1:
            del compacted["anyOf"]
            return _compact({**others[0], **compacted}, parts)
        compacted["anyOf"] = others
    for key in compacted.keys() - {"enum", "default", "required"}:
        compacted[key] = _compact(compacted[key], parts)
    return compacted


def _drop_keys(values: Mapping[str, Any], keys: Collection[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in keys}


def _leave_out(schema: dict[str, Any], names: frozenset[str]) -> dict[str, Any]:
    # An agent may name its session, and give a rare option, all the same.
    reduced = _drop_keys(schema, {"additionalProperties"})
    reduced["properties"] = _drop_keys(schema["properties"], names)
    if "required" in reduced:
        reduced["required"] = [name for name in reduced["required"] if name not in names]
    return reduced
