"""The wire form of answers: a shape's JSON schema, and text or JSON turned into a checked value."""

import json
import re
from functools import cache
from typing import Any, Protocol, runtime_checkable

from pydantic import TypeAdapter, ValidationError

from moot.domain.effects import Alternative, AnswerForm
from moot.domain.facts import Reply
from moot.domain.safe_text import fix_surrogates
from moot.errors import BadAnswer

_THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_THOUGHT_END = re.compile(r"</think(?:ing)?>")
_FENCE = re.compile(r"```(?:json)?[ \t]*+\n(.*?)```", re.DOTALL)
LONGEST_ANSWER = 100_000
MOST_STARTS = 200
"""Places in an answer at which a JSON object is tried to be read."""


@runtime_checkable
class FromText(Protocol):
    """A shape that knows how to read itself from plain text; raises ValueError saying what was expected."""

    @classmethod
    def from_text(cls, text: str) -> object: ...


@cache
def _adapter(shape: type) -> TypeAdapter[Any]:
    return TypeAdapter(shape)


@cache
def build_schema(shape: type) -> dict[str, Any]:
    """The JSON schema of a shape, with its references resolved in place."""
    found = _adapter(shape).json_schema()
    inlined = _inline_references(found, found.get("$defs", {}))
    assert isinstance(inlined, dict)
    return inlined


def build_form_schema(form: AnswerForm) -> dict[str, Any]:
    """The JSON schema of all that may be given as an answer."""
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


def parse_answer(form: AnswerForm, raw: object) -> object:
    """The checked value in a raw answer (text, or decoded JSON); raises BadAnswer saying what was expected."""
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
    """What was given in place of an answer; None when it is an answer. Raises BadAnswer when it is neither."""
    found: object | None = None
    try:
        if isinstance(raw, str):
            text = strip_thoughts(fix_surrogates(raw))
            found = instead.shape.from_text(text)  # type: ignore[attr-defined]  # as `Instead` promises
            if found is not None:
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
        return None


def strip_thoughts(text: str) -> str:
    """The text without what a model only thought. Templates that open a thought in the prompt leave a lone end tag."""
    return _THOUGHT_END.split(_THOUGHT.sub("", text))[-1].strip()


def build_reply(form: AnswerForm, ask: str, seat: str, said: object, usage: object, *, key: str = "") -> Reply:
    """The fact that keeps an answer; raises BadAnswer when it is of another kind than was asked for."""
    if form.instead is not None and type(said) is form.instead.shape:
        instead: Reply = form.instead.reply(ask=ask, seat=seat, said=said, usage=usage, key=key)  # type: ignore[arg-type]
        return instead
    if type(said) is not form.shape:
        raise BadAnswer(f"{form.kind}: a {form.shape.__name__} was expected, not a {type(said).__name__}")
    return form.reply(ask=ask, seat=seat, said=said, usage=usage, key=key)  # type: ignore[arg-type]  # checked by `parsed`


def as_json(value: object) -> object:
    """A value's plain JSON form, what is at its default left out."""
    return TypeAdapter(type(value)).dump_python(value, mode="json", exclude_defaults=True)


def extract_json(text: str) -> object:
    """The first JSON object in a text, be it bare, fenced or wrapped in words; raises BadAnswer."""
    fenced = _FENCE.search(text)
    source = fenced.group(1) if fenced else text
    decoder = json.JSONDecoder()
    start = source.find("{")
    for _ in range(MOST_STARTS):
        if start < 0:
            break
        try:
            return decoder.raw_decode(source, start)[0]
        except RecursionError:
            break
        except ValueError:
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
