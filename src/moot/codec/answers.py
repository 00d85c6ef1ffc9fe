"""The wire form of answers: the JSON schema of a shape, and the parsing of text or JSON into a validated value."""

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, TypedDict, Unpack, runtime_checkable

from pydantic import TypeAdapter, ValidationError

from moot.domain.effects import Alternative, AnswerForm, Brief
from moot.domain.facts import Reply
from moot.domain.safe_text import fix_surrogates
from moot.errors import BadAnswer

# Reasoning models print their reasoning in tags. An unclosed one runs to the end of the text: the model was cut off in it.
_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_END = re.compile(r"</think(?:ing)?>")
# The possessive `*+` prevents backtracking through a long run of spaces after the fence.
_FENCE = re.compile(r"```(?:json)?[ \t]*+\n(.*?)```", re.DOTALL)
LONGEST_ANSWER = 100_000
MOST_STARTS = 200
"""At how many places of an answer parsing a JSON object is attempted: this bounds the work on hostile input."""


@runtime_checkable
class FromText(Protocol):
    """A shape that can parse itself from plain text; raises ValueError with what was expected."""

    @classmethod
    def from_text(cls, text: str) -> object: ...


class ReplyDetails(TypedDict, total=False):
    """What the record says of an answer beside its words: see `Reply`."""

    key: str
    mends: tuple[str, ...]
    via: str
    model: str


@cache
def _adapter(shape: type) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


@cache
def build_schema(shape: type) -> dict[str, Any]:
    """Return the JSON schema of a shape, with all references inlined."""
    schema = _adapter(shape).json_schema()
    # Self-contained, because not every provider resolves `$ref`. Note that a shape's docstring becomes its `description`: models
    # read it, so that a change of it changes a prompt.
    inlined = _inline_references(schema, schema.get("$defs", {}))
    assert isinstance(inlined, dict)
    return inlined


def build_form_schema(form: AnswerForm) -> dict[str, Any]:
    """Return the JSON schema of an answer, including its alternative."""
    own, instead = build_schema(form.shape), form.instead
    if instead is None:
        return own
    other = {"type": "object", "properties": {instead.field: build_schema(instead.shape)}, "required": [instead.field]}
    return {"anyOf": [own, other]}


def _inline_references(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_inline_references(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inline_references(definitions[node["$ref"].rpartition("/")[2]], definitions)
    return {key: _inline_references(value, definitions) for key, value in node.items() if key not in {"$defs", "title"}}


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer that counts, and what was changed to read it."""

    said: object
    mends: tuple[str, ...] = ()


def read_answer(brief: Brief, raw: object) -> Reading:
    """Read an answer to a brief (text, decoded JSON, or a value of its shape); raises BadAnswer with what was expected."""
    said = raw if isinstance(raw, brief.form.shape) else parse_answer(brief.form, raw)
    if fault := brief.fault(said):
        raise BadAnswer(fault)
    return Reading(said)


def parse_answer(form: AnswerForm, raw: object) -> object:
    """Parse a raw answer (text, or decoded JSON) into a validated value; raises BadAnswer with what was expected."""
    if isinstance(raw, str) and len(raw) > LONGEST_ANSWER:
        raise BadAnswer(f"the answer has {len(raw)} characters; at most {LONGEST_ANSWER} are taken")
    if form.instead is not None and (instead := parse_alternative(form, form.instead, raw)) is not None:
        return instead
    if isinstance(raw, str):
        text = strip_thoughts(fix_surrogates(raw))
        raw = _parse_text(form.shape, text) if form.form == "text" else extract_json(text)
    try:
        return _adapter(form.shape).validate_python(raw)
    except ValidationError as cause:
        raise BadAnswer(_explain(form, cause)) from cause


def parse_alternative(form: AnswerForm, instead: Alternative, raw: object) -> object | None:
    """Return what was given in place of an answer; None if it is a normal answer.

    Raises BadAnswer for a malformed alternative.
    """
    found: object | None = None
    try:
        if isinstance(raw, str):
            text = strip_thoughts(fix_surrogates(raw))
            found = instead.shape.from_text(text)  # type: ignore[attr-defined]  # as `Alternative` promises
            if found is not None:
                # Back to plain data, so that one validation below applies the limits to both forms.
                found = _adapter(instead.shape).dump_python(found)
            else:
                raw = extract_json(text) if form.form == "json" or text.startswith(("{", "```")) else None
        if isinstance(raw, dict) and instead.field in raw:
            found = raw[instead.field]
        return None if found is None else _adapter(instead.shape).validate_python(found)
    except ValidationError as cause:
        first = cause.errors(include_url=False)[0]
        where = ".".join(str(part) for part in (instead.field, *first["loc"]))
        raise BadAnswer(f"{where}: {first['msg']} (given: {str(first.get('input'))[:60]!r})") from cause
    except ValueError as cause:
        raise BadAnswer(str(cause)) from cause
    except BadAnswer:
        # The text holds no JSON at all: it is for the parser of normal answers to accept or to refuse.
        return None


def strip_thoughts(text: str) -> str:
    """Remove a model's reasoning from its text. Templates that open the tag in the prompt leave a lone end tag."""
    return _THOUGHT_END.split(_THOUGHT.sub("", text))[-1].strip()


def build_reply(form: AnswerForm, ask: str, seat: str, said: object, usage: object, **details: Unpack[ReplyDetails]) -> Reply:
    """Build the fact that stores an answer; raises BadAnswer if the value has another type than was asked for."""
    if form.instead is not None and type(said) is form.instead.shape:
        instead: Reply = form.instead.reply(ask=ask, seat=seat, said=said, usage=usage, **details)  # type: ignore[arg-type]
        return instead
    if type(said) is not form.shape:
        raise BadAnswer(f"{form.kind}: a {form.shape.__name__} was expected, not a {type(said).__name__}")
    return form.reply(ask=ask, seat=seat, said=said, usage=usage, **details)  # type: ignore[arg-type]  # `parse_answer` validates it


def as_json(value: object) -> object:
    """Return the plain JSON form of a value, without the fields that have their default."""
    return TypeAdapter(type(value)).dump_python(value, mode="json", exclude_defaults=True)


def extract_json(text: str) -> object:
    """Return the first JSON object in a text, whether it is bare, fenced or surrounded by prose; raises BadAnswer."""
    fenced = _FENCE.search(text)
    source = fenced.group(1) if fenced else text
    decoder = json.JSONDecoder()
    start = source.find("{")
    for _ in range(MOST_STARTS):
        if start < 0:
            break
        try:
            return decoder.raw_decode(source, start)[0]
        # Thousands of nested brackets: every later start would fail in the same way.
        except RecursionError:
            break
        except ValueError:
            # A brace in prose, or broken JSON: a valid object may still follow.
            start = source.find("{", start + 1)
    raise BadAnswer("a JSON object was expected, and none was found in the answer")


def _parse_text(shape: type, text: str) -> object:
    if not text:
        raise BadAnswer("an answer in words was expected, and it was empty")
    if not issubclass(shape, FromText):
        raise TypeError(f"{shape.__name__} cannot be read from plain text")
    try:
        return _adapter(shape).dump_python(shape.from_text(text))
    except ValueError as cause:
        raise BadAnswer(str(cause)) from cause


def _explain(form: AnswerForm, cause: ValidationError) -> str:
    first = cause.errors(include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "the answer"
    given = str(first.get("input"))[:60]
    return f"{form.kind}: {where}: {first['msg']} (given: {given!r})"
