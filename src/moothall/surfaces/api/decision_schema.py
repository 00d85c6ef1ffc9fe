"""The published JSON schema of a decision, and a decision in the shape that a chat client asks for."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from moothall.domain.safe_text import dump_json, name_field
from moothall.domain.topic import MAX_LABELS, normalize_label
from moothall.reports.decision import Decision
from moothall.surfaces.api.method import build_output_schema

_JSON_TYPES: Final[Mapping[str, type | tuple[type, ...]]] = {
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


@cache
def build_decision_schema() -> dict[str, Any]:
    """Return the schema of what `Decision.to_json` gives: `moot show --json`, the library's `to_json`, the chat endpoint."""
    shape: dict[str, Any] = build_output_schema(Decision)
    fields = {
        **shape["properties"],
        "decision": {"type": ["string", "null"], "description": "What was decided; null where nothing was, or not yet."},
        "decisionEntries": {"type": "array", "items": {"type": "integer"}, "description": "The entries that it rests on."},
    }
    always = ["sessionId", "topic", "status", "decision", "decisionEntries", "confidence", "choice", "strength"]
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", **shape, "description": "The outcome of a session."}
    return {
        **head,
        "properties": fields,
        "required": always,
        "$defs": {name: _relax(each) for name, each in shape["$defs"].items()},
    }


def _relax(shape: dict[str, Any]) -> dict[str, Any]:
    """The schema of a part, in which what has no value is left out."""
    required = [name for name in shape.get("required", ()) if {"type": "null"} not in shape["properties"][name].get("anyOf", ())]
    return {**shape, "required": required} if "required" in shape else shape


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerShape:
    """The shape in which a client wants a decision: all its fields, or those that its own schema names."""

    wanted: Mapping[str, Mapping[str, Any]] | None = None
    """The fields by the client's names, each with its schema; None: all."""

    @property
    def options(self) -> tuple[str, ...]:
        """What the client's schema allows as `choice`: the options of the meeting."""
        allowed = _list_allowed((self.wanted or {}).get("choice", {})) or ()
        options = tuple(each for each in allowed if isinstance(each, str) and normalize_label(each))
        return options[:MAX_LABELS] if len(options) > 1 else ()

    def render(self, decision: Decision) -> str | None:
        """Return the decision as JSON text; None where it does not fit the client's schema."""
        given = decision.to_json()
        if self.wanted is None:
            return dump_json(given)
        chosen = {}
        for name, schema in self.wanted.items():
            value = given.get(name_field(name))
            allowed = _list_allowed(schema)
            if allowed is not None:
                known = {normalize_label(str(each)): each for each in allowed}
                if normalize_label(str(value)) not in known:
                    return None
                value = known[normalize_label(str(value))]
            if not _is_of_type(value, schema):
                return None
            chosen[name] = value
        return dump_json(chosen)


def parse_answer_shape(given: Any) -> AnswerShape | None:
    """Return the shape that a `response_format` asks for; None for text. Raises ValueError where a decision has no such shape."""
    kind = given.get("type") if isinstance(given, dict) else None if given is None else "?"
    if kind in (None, "text"):
        return None
    if kind == "json_object":
        return AnswerShape()
    schema = given.get("json_schema", {}) if isinstance(given, dict) else {}
    schema = schema.get("schema") if kind == "json_schema" and isinstance(schema, dict) else None
    fields = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(schema, dict) or not isinstance(fields, dict) or not fields:
        raise ValueError("expected the type text, json_object or json_schema with the properties of an object")
    known = build_decision_schema()["properties"]
    for name in fields:
        if name_field(str(name)) not in known:
            raise ValueError(f"a decision has no field {str(name)[:60]!r}; it has: {', '.join(known)}")
    return AnswerShape(wanted={name: _resolve(each, schema.get("$defs")) for name, each in fields.items()})


def _resolve(schema: Any, shared: Any) -> Mapping[str, Any]:
    """A field's schema, which may stand among the shared ones."""
    reference = schema.get("$ref") if isinstance(schema, dict) else None
    if isinstance(reference, str) and isinstance(shared, dict):
        schema = shared.get(reference.removeprefix("#/$defs/"))
    return schema if isinstance(schema, dict) else {}


def _list_allowed(schema: Mapping[str, Any]) -> list[Any] | None:
    allowed = schema.get("enum")
    return allowed if isinstance(allowed, list) else [schema["const"]] if "const" in schema else None


def _is_of_type(value: Any, schema: Mapping[str, Any]) -> bool:
    branches = schema.get("anyOf")
    if isinstance(branches, list):
        return any(isinstance(each, dict) and _is_of_type(value, each) for each in branches)
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else list(_JSON_TYPES)
    if isinstance(value, bool):
        return "boolean" in kinds
    return any(isinstance(value, _JSON_TYPES[kind]) for kind in kinds if kind in _JSON_TYPES)
