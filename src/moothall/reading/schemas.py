"""The JSON schemas of answers: derived from a shape, narrowed to one ask, sent on the wire, and described in a prompt.

A schema holds no prose: what a field means is said by the prompt, in the language of the session.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Final

from moothall.codec.adapters import get_adapter
from moothall.domain.facts import Language
from moothall.domain.seeded_random import model_seed, turn_list
from moothall.domain.topic import UserReply
from moothall.locale.catalogues import ANSWER_FORM, PARTICIPANT_PROMPT

if TYPE_CHECKING:
    # What is stored is read by commands that ask nobody: they do not pay for what an ask is made of.
    from moothall.domain.answer_table import AnswerField, Asked
    from moothall.domain.effects import Brief, Schema

_PROSE: Final = frozenset({"$defs", "title", "description", "default"})
OPEN_LIST: Final = "openList"
"""The mark of a list of values beside which a few other words are read; providers are sent the list alone."""
UNASKED: Final = "unasked"
"""The mark of a field that is read where an answer has it, and not asked for."""
UNOFFERED: Final = "unoffered"
"""The mark of listed values that are read, and not offered."""
# Small grammars cannot count to thousands, and several servers reject a schema over these; a text that is too long is cut anyway.
ESTIMATE: Final = "estimate"
"""The mark of a number that is asked for itself, with what it is counted in; providers are sent the type alone."""
_LIMITS: Final = frozenset(
    {"minLength", "maxLength", "maxItems", "pattern", OPEN_LIST, UNASKED, UNOFFERED, ESTIMATE}
)
WRAPPER: Final = "reply"
"""The field that holds an answer of several shapes where a provider takes only an object at the root of a schema."""
MAX_SHOWN: Final = 24
"""How many allowed values of a field a prompt lists."""


@cache
def build_schema(shape: type) -> dict[str, Any]:
    """Return the JSON schema of a shape, with all references inlined, because not every provider resolves `$ref`."""
    schema = get_adapter(shape).json_schema()
    inlined = _inline_references(schema, schema.get("$defs", {}))
    assert isinstance(inlined, dict)
    return inlined


def _inline_references(node: Any, definitions: dict[str, Any], *, is_names: bool = False) -> Any:
    if isinstance(node, list):
        return [_inline_references(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node and not is_names:
        return _inline_references(definitions[node["$ref"].rpartition("/")[2]], definitions)
    # Below `properties` the keys are names of fields, which may be called `title` or `default`.
    return {
        key: _inline_references(value, definitions, is_names=key == "properties" and not is_names)
        for key, value in node.items()
        if is_names or key not in _PROSE
    }


def narrow_schema(
    shape: type, required: Iterable[str], optional: Iterable[str] = (), **changes: "Schema"
) -> dict[str, Any]:
    """Return the schema of a shape with these fields alone, in this order; `changes` replaces the schemas of single fields.

    A field that may be null is described by what it is otherwise: an answer without it leaves it out.
    """
    needed = tuple(required)
    return _narrow(shape, (*needed, *optional), needed, changes)


def narrow_fields(shape: type, fields: "Mapping[str, bool]", **changes: "Schema") -> dict[str, Any]:
    """Return the schema of a shape with these fields in this order, each with whether it is needed."""
    required = tuple(name for name, is_needed in fields.items() if is_needed)
    return _narrow(shape, tuple(fields), required, changes)


def _narrow(
    shape: type, names: tuple[str, ...], required: tuple[str, ...], changes: "Mapping[str, Schema]"
) -> dict[str, Any]:
    """Return the schema of a shape with these fields in this order, of which some are `required`."""
    if not changes:
        return _narrow_plain(shape, names, required)
    known = _build_properties(shape)
    return {
        "type": "object",
        "properties": {name: changes.get(name) or known[name] for name in names},
        "required": [*required],
        "additionalProperties": False,
    }


@lru_cache(maxsize=256)
def _narrow_plain(shape: type, names: tuple[str, ...], required: tuple[str, ...]) -> dict[str, Any]:
    # Few for each shape, and asked for again and again. Nobody changes a schema.
    known = _build_properties(shape)
    return {
        "type": "object",
        "properties": {name: known[name] for name in names},
        "required": [*required],
        "additionalProperties": False,
    }


def build_table_schema(
    shape: type, rows: "Sequence[AnswerField[Asked]]", asked: "Asked"
) -> dict[str, Any]:
    """Return the schema of a shape with the fields that a table has in this ask, in its order, each with what it may hold there."""
    names: list[str] = []
    required: list[str] = []
    changes: dict[str, Schema] = {}
    for row in rows:
        # One loop, and no call for what a row says of itself: a schema is built for every ask.
        if row.is_hidden or not (row.when is None or row.when(asked)):
            continue
        if row.is_unasked is not None and row.is_unasked(asked):
            continue
        names.append(row.name)
        is_needed = row.is_needed if isinstance(row.is_needed, bool) else row.is_needed(asked)
        if is_needed:
            required.append(row.name)
        if row.allow is not None:
            changes[row.name] = row.allow(asked)
        is_read_only = row.is_read_only
        if not isinstance(is_read_only, bool):
            is_read_only = is_read_only(asked)
        if is_read_only:
            allowed = changes.get(row.name) or _build_properties(shape)[row.name]
            changes[row.name] = {**allowed, UNASKED: True}
    return _narrow(shape, tuple(names), tuple(required), changes)


def build_reading_schema(
    shape: type, rows: "Sequence[AnswerField[Asked]]", asked: "Asked"
) -> dict[str, Any]:
    """Return the schema by which an answer is read that may say more than it was asked for: all fields of its shape.

    An item of a list needs in it only what its shape needs.
    """
    all_rows = [replace(row, is_unasked=None) for row in rows]
    table = build_table_schema(shape, all_rows, asked)
    return {**_widen(table, build_schema(shape)), "required": table["required"]}


def _widen(schema: "Schema", whole: "Schema") -> dict[str, Any]:
    """Return a schema with the fields of the whole one that it lacks, at any depth."""
    widened = dict(schema)
    if "items" in schema and "items" in whole:
        widened["items"] = _widen(schema["items"], whole["items"])
    if "properties" in schema and "properties" in whole:
        known: Mapping[str, Schema] = whole["properties"]
        fields = {
            name: _widen(each, known.get(name, {})) for name, each in schema["properties"].items()
        }
        more = {name: _drop_null(each) for name, each in known.items() if name not in fields}
        widened["properties"] = {**fields, **more}
        needed = whole.get("required", ())
        widened["required"] = [name for name in schema.get("required", ()) if name in needed]
    return widened


def allow_values(values: Iterable[str | int]) -> dict[str, Any]:
    """Return the schema of a field with these values."""
    allowed = [*values]
    is_integer = all(isinstance(each, int) for each in allowed)
    return {"type": "integer" if is_integer else "string", "enum": allowed}


def allow_list(item: "Schema", most: int) -> dict[str, Any]:
    """Return the schema of a list."""
    return {"type": "array", "items": item, "maxItems": most}


def allow_choice(options: Sequence[str], longest: int, *, is_open: bool = False) -> dict[str, Any]:
    """Return the schema of an answer in short: one of the options, or a few words where there are none, or the list `is_open`."""
    if not options:
        return allow_line(longest)
    if not is_open:
        return allow_values(options)
    return {**allow_values(options), "maxLength": longest, OPEN_LIST: True}


def allow_estimate(unit: str) -> dict[str, Any]:
    """Return the schema of a number that is asked for itself, with its unit."""
    return {"type": "number", ESTIMATE: unit}


def allow_line(longest: int) -> dict[str, Any]:
    """Return the schema of a text that may be empty."""
    return {"type": "string", "maxLength": longest}


def allow_text(longest: int) -> dict[str, Any]:
    """Return the schema of a text that says something."""
    return {"type": "string", "minLength": 1, "maxLength": longest, "pattern": r"\S"}


@cache
def _build_properties(shape: type) -> "dict[str, Schema]":
    return {name: _drop_null(schema) for name, schema in build_schema(shape)["properties"].items()}


def _drop_null(schema: "Schema") -> "Schema":
    branches = [each for each in schema.get("anyOf", ()) if each.get("type") != "null"]
    return branches[0] if len(branches) == 1 else schema


def build_brief_schema(brief: "Brief") -> dict[str, Any]:
    """Return the JSON schema of what a brief asks for, including the alternative to it."""
    own, instead = build_asked_schema(get_own_schema(brief)), brief.form.instead
    if instead is None:
        return own
    other = {
        "type": "object",
        "properties": {instead.field: build_schema(instead.shape)},
        "required": [instead.field],
    }
    return {"anyOf": [*own.get("anyOf", [own]), other]}


def build_asked_schema(schema: "Schema") -> dict[str, Any]:
    """Return the schema of an answer without the fields and values that are read, and not asked for."""
    if "anyOf" in schema:
        return {**schema, "anyOf": [build_asked_schema(each) for each in schema["anyOf"]]}
    fields: dict[str, Any] = {}
    for name, each in schema.get("properties", {}).items():
        if UNASKED in each:
            continue
        offered = dict(each)
        unoffered = offered.pop(UNOFFERED, ())
        if unoffered:
            offered["enum"] = [value for value in each["enum"] if value not in unoffered]
        fields[name] = offered
    if not fields:
        return dict(schema)
    required = [name for name in schema.get("required", ()) if name in fields]
    return {**schema, "properties": fields, "required": required}


def build_request_schema(brief: "Brief", *, is_shown: bool = False) -> Any:
    """Return the schema that a provider is sent: an object at its root, as all of them take it (M-15).

    Where the prompt says what a field holds that has nothing to say, it is a strict one: see `build_strict_schema`.
    """
    whole = build_brief_schema(brief)
    if brief.explains_fields:
        schema = build_strict_schema(whole, is_shown=is_shown)
    else:
        schema = build_wire_schema(whole)
    if brief.explains_fields and is_shown:
        schema = define_once(schema)
    if "anyOf" not in schema:
        return schema
    return {
        "type": "object",
        "properties": {WRAPPER: schema},
        "required": [WRAPPER],
        "additionalProperties": False,
    }


_LEAST: Final = frozenset({"minimum", "exclusiveMinimum", "minItems"})
"""What would keep a field from being empty."""
_CHECKED_BY_CODE: Final = frozenset({"maximum", "exclusiveMaximum", *_LEAST})
"""What not every strict mode knows: code checks it when the answer is read."""
_NOT_STRICT: Final = frozenset({"allOf", "contains", *_LIMITS})


def build_strict_schema(schema: Any, *, is_shown: bool, is_optional: bool = False) -> Any:
    """Return a schema in which every field is required; one that may be left out may be empty: "", [] or 0.

    So a model writes the fields in their order: the reason before the verdict that rests on it. Where the provider puts the
    schema before the prompt (`is_shown`), numbers of lines are any integers: the schema is the same in each ask of a session,
    and the prompt behind it stays cached.
    """
    if not isinstance(schema, Mapping):
        return schema
    if "anyOf" in schema:
        branches = [each for each in schema["anyOf"] if each.get("type") != "null"]
        built = [build_strict_schema(each, is_shown=is_shown) for each in branches]
        if len(built) == 1:
            return build_strict_schema(branches[0], is_shown=is_shown, is_optional=is_optional)
        return {"anyOf": built}
    if "enum" in schema:
        return _allow_empty_choice(schema, is_shown=is_shown, is_optional=is_optional)
    dropped = _NOT_STRICT
    if is_shown:
        dropped |= _CHECKED_BY_CODE
    if is_optional and schema.get("minimum", 1) > 0:
        # A chance may be 0 as it is; where a line is named, 0 is none.
        dropped |= _LEAST
    built_schema = {key: value for key, value in schema.items() if key not in dropped}
    if "items" in schema:
        built_schema["items"] = build_strict_schema(schema["items"], is_shown=is_shown)
    if "properties" not in schema:
        return built_schema
    required = schema.get("required", ())
    fields: Mapping[str, Any] = schema["properties"]
    built_schema["properties"] = {
        name: build_strict_schema(each, is_shown=is_shown, is_optional=name not in required)
        for name, each in fields.items()
    }
    built_schema["required"] = [*fields]
    built_schema["additionalProperties"] = False
    return built_schema


DEFINITION: Final = "item"


def define_once(schema: Any) -> Any:
    """Return a schema in which the object that its lists and fields hold most often stands once, by reference.

    Only for providers that are known to resolve one: a schema that is shown is read as often as it is sent.
    """
    objects = Counter(_list_objects(schema.get("properties", {})))
    if not objects:
        return schema
    text, count = objects.most_common(1)[0]
    if count < 2:
        return schema
    shared = json.loads(text)
    fields = _refer(schema["properties"], shared)
    return {**schema, "properties": fields, "$defs": {DEFINITION: shared}}


def _list_objects(node: Any) -> Iterator[str]:
    """Yield each object with fields below a node as text."""
    if not isinstance(node, Mapping):
        return
    if node.get("type") == "object" and "properties" in node:
        yield json.dumps(node)
    for value in node.values():
        yield from _list_objects(value)


def _refer(node: Any, shared: "Schema") -> Any:
    if not isinstance(node, Mapping):
        return node
    if node == shared:
        return {"$ref": f"#/$defs/{DEFINITION}"}
    return {key: _refer(value, shared) for key, value in node.items()}


def _allow_empty_choice(schema: "Schema", *, is_shown: bool, is_optional: bool) -> dict[str, Any]:
    values = [*schema["enum"]]
    is_number = all(isinstance(each, int) for each in values)
    if is_number and is_shown:
        return {"type": "integer"}
    empty = 0 if is_number else ""
    if is_optional and empty not in values:
        values.append(empty)
    return {"type": schema.get("type", "string"), "enum": values}


def is_strict_schema(schema: Any) -> bool:
    """Whether a schema fits the strict mode of a provider: each object in it names all of its fields."""
    if not isinstance(schema, Mapping):
        return True
    if schema.get("type") == "object" and "properties" not in schema:
        return False
    inner = [*schema.get("anyOf", ()), *schema.get("properties", {}).values()]
    if "items" in schema:
        inner.append(schema["items"])
    return all(map(is_strict_schema, inner))


def get_own_schema(brief: "Brief") -> dict[str, Any]:
    """Return the JSON schema of the answer itself, without its alternative."""
    return build_schema(brief.form.shape) if brief.schema is None else dict(brief.schema)


def build_wire_schema(schema: Any) -> Any:
    """Return a schema as providers and grammars take it: without lengths and patterns."""
    if isinstance(schema, list):
        return [build_wire_schema(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    built: dict[str, Any] = {}
    for key, value in schema.items():
        if key in _LIMITS:
            continue
        if key == "properties":
            # The names of fields are not words of the schema: one may be called like a limit.
            built[key] = {name: build_wire_schema(each) for name, each in value.items()}
        else:
            built[key] = build_wire_schema(value)
    return built


def describe_schema(schema: "Schema", hints: Mapping[str, str], language: Language) -> str:
    """Describe the answer for a prompt: its fields with their values, and which are needed."""
    branch = schema["anyOf"][0] if "anyOf" in schema else schema
    fields = branch.get("properties")
    if not fields:
        return json.dumps(branch, ensure_ascii=False)
    shape = _describe_object(branch, hints, language)
    needed = ", ".join(branch.get("required", ())) or "—"
    return ANSWER_FORM[language].json_object.format(shape=shape, needed=needed)


def _describe_object(schema: "Schema", hints: Mapping[str, str], language: Language) -> str:
    fields = (
        f'"{name}": {_describe_value(each, hints, name, language)}'
        for name, each in schema["properties"].items()
    )
    return "{" + ", ".join(fields) + "}"


def _describe_value(
    schema: "Schema", hints: Mapping[str, str], name: str, language: Language
) -> str:
    schema = _drop_null(schema)
    # Where the prompt explains the values itself, its hint stands in their place.
    if name in hints and (schema.get("type") == "object" or "enum" in schema):
        return hints[name]
    if "enum" in schema or "const" in schema:
        values = schema.get("enum") or [schema["const"]]
        shown = [json.dumps(each, ensure_ascii=False) for each in values[:MAX_SHOWN]]
        if len(values) > MAX_SHOWN:
            shown.append(ANSWER_FORM[language].more_values)
        return " | ".join(shown)
    match schema.get("type"):
        case "array":
            return f"[{_describe_value(schema.get('items', {}), hints, name, language)}, …]"
        case "object" if schema.get("properties"):
            return _describe_object(schema, hints, language)
        case "object":
            return "{…}"
        case "number" | "integer":
            return hints.get(name) or _describe_limits(schema, language)
        case "boolean":
            return "true | false"
        case _:
            hint = hints.get(name, "…")
            text = ANSWER_FORM[language].text
            return text if hint == "…" else f"{text} ({hint})"


def _describe_limits(schema: "Schema", language: Language) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None or high is None:
        return ANSWER_FORM[language].number
    return f"{low:g} … {high:g}"


def build_user_prompt(
    brief: "Brief", complaint: str | None = None, *, shows_form: bool = True
) -> str:
    """Return everything that follows the system prompt.

    Without `shows_form` a form whose fields the prompt explains is left out: the provider shows its schema to the model.
    """
    parts = [brief.shared, brief.own]
    if brief.form.form == "json" and (shows_form or not brief.explains_fields):
        parts.append(describe_form(brief))
    if complaint is not None:
        parts.append(build_correction(brief.language, complaint))
    return "\n\n".join(filter(None, parts))


def describe_form(brief: "Brief") -> str:
    """Describe the form of an answer: its fields by name where the prompt explains them, else with what each may hold."""
    schema = build_asked_schema(get_own_schema(brief))
    if brief.explains_fields:
        fields = ", ".join(_name_fields(schema))
        return PARTICIPANT_PROMPT[brief.language].form.format(fields=fields)
    turn = model_seed(brief.seed, brief.ask.id)
    return describe_schema(_turn_choices(schema, turn), brief.hints, brief.language)


def _name_fields(schema: "Schema") -> list[str]:
    """Return the names of the fields of an answer; a list of objects is named with theirs: `votes [{answer, rating}]`."""
    branch = schema["anyOf"][0] if "anyOf" in schema else schema
    names: list[str] = []
    for name, each in branch.get("properties", {}).items():
        field = _drop_null(each)
        inner = field.get("items", field)
        if "properties" in inner:
            listed = ", ".join(_name_fields(inner))
            shown = f"{{{listed}}}"
            if field.get("type") == "array":
                shown = f"[{shown}]"
            names.append(f"{name} {shown}")
        else:
            names.append(name)
    return names


def _turn_choices(schema: Any, turn: int) -> Any:
    """Return a schema with the words of each choice turned in their circle: none stands first in every form (M-13)."""
    if isinstance(schema, list):
        return [_turn_choices(each, turn) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    turned = {key: _turn_choices(value, turn) for key, value in schema.items() if key != "enum"}
    if "enum" in schema:
        words = schema["enum"]
        if all(isinstance(each, str) for each in words):
            words = turn_list(words, turn)
        turned["enum"] = [*words]
    return turned


def build_correction(language: Language, complaint: str) -> str:
    """Return the message about what was wrong with the last answer."""
    return PARTICIPANT_PROMPT[language].correction.format(complaint=complaint)


def allow_replies(asked: Any) -> dict[str, Any]:
    """Return the schema of answers to the user's words that are open in this ask."""
    numbers = [each.number for each in asked.state.open_inputs]
    reply = narrow_schema(UserReply, ("input", "text"), input=allow_values(numbers))
    return allow_list(reply, len(numbers))
