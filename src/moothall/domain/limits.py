"""Limits stand with the fields of facts, as `Annotated`: how long a text is, how many items a list has, from where to where a
number goes. Whatever else knows a limit (a schema, a form, a call's parameters) takes the same type; what violates one is
explained here, in the same words everywhere.
"""

import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late, one_line
from moothall.errors import BadSetting

_SURROGATE: Final = compile_late("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class OneLine:
    """The text is printable and has no line breaks."""


Share = Annotated[float, Ge(0), Le(1)]
Count = Annotated[int, Ge(1), Le(1_000)]


def validate_limits(value: object) -> None:
    """Check every field of a fact, and of what it holds, against its type and limits. Raises BadSetting for the first fault."""
    for name, kind in _list_fields(value).items():
        validate_value(name, getattr(value, name), kind)


def validate_value(what: str, value: object, kind: Any) -> None:
    """Check a value against a type with limits. Raises BadSetting, which names the value as `what`."""
    if (violation := explain_violation(what, value, kind)) is not None:
        raise BadSetting(violation)


def explain_violation(
    what: str, value: object, kind: Any, limits: tuple[object, ...] = ()
) -> str | None:
    """Say why a value is not of a type with limits, and what is expected; None if it is."""
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return explain_violation(what, value, arguments[0], (*arguments[1:], *limits))
    if origin in {Union, UnionType}:
        if value is None and NoneType in arguments:
            return None
        violations = [
            explain_violation(what, value, each, limits)
            for each in arguments
            if each is not NoneType
        ]
        return None if None in violations else violations[0]
    if origin is Literal:
        return (
            None
            if value in arguments
            else f"unknown {what} {value!r}; known: {', '.join(map(str, arguments))}"
        )
    if origin is tuple:
        return _explain_items(what, value, arguments[0], _find_number(limits, MaxLen, "max_length"))
    if kind is str:
        return _explain_text(what, value, limits)
    if kind is bool:
        return None if isinstance(value, bool) else f"{what} must be true or false"
    if kind in {int, float}:
        return _explain_number(what, value, limits, is_whole=kind is int)
    if isinstance(value, datetime):
        return None if value.tzinfo is not None else f"{what} must have a time zone"
    if is_dataclass(value):
        held = _list_fields(value).items()
        inner = (explain_violation(f"{what}.{name}", getattr(value, name), of) for name, of in held)
        return next((each for each in inner if each is not None), None)
    return None


def _list_fields(value: object) -> dict[str, Any]:
    kind: Any = type(value)
    return _read_fields(kind)


@cache
def _read_fields(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _explain_items(what: str, value: object, kind: Any, most: float | None) -> str | None:
    if not isinstance(value, tuple | list) or (most is not None and len(value) > most):
        return f"{what} must be a list" + ("" if most is None else f" of at most {most}")
    return next(
        (
            each
            for each in (explain_violation(what, item, kind) for item in value)
            if each is not None
        ),
        None,
    )


def _explain_text(what: str, value: object, limits: Iterable[object]) -> str | None:
    if not isinstance(value, str):
        return f"{what} must be a text, not {type(value).__name__}"
    least, most = (
        _find_number(limits, MinLen, "min_length"),
        _find_number(limits, MaxLen, "max_length"),
    )
    if most is not None and len(value) > most:
        return f"{what} has {len(value)} characters; at most {most} are kept"
    if least and not value.strip():
        return f"{what} is empty; say something"
    if _SURROGATE.search(value):
        return f"{what} holds half a character (a lone surrogate); send valid UTF-8"
    if any(isinstance(each, OneLine) for each in limits) and one_line(value) != value:
        return f"{what} {value!r} must have at most {most} printable characters on one line"
    return None


def _explain_number(
    what: str, value: object, limits: Iterable[object], *, is_whole: bool
) -> str | None:
    over = _find_number(limits, Gt, "gt")
    least = _find_number(limits, Ge, "ge")
    most = _find_number(limits, Le, "le")
    is_number = type(value) is int or (
        not is_whole and isinstance(value, float) and math.isfinite(value)
    )
    if (
        is_number
        and (over is None or value > over)
        and (least is None or value >= least)
        and (most is None or value <= most)
    ):
        return None
    number = "whole number" if is_whole else "number"
    return f"{what} is {value!r:.40}; it must be a {number}{_describe_range(over, least, most)}"


def _describe_range(over: float | None, least: float | None, most: float | None) -> str:
    lower = upper = ""
    if over is not None:
        lower = f" more than {over:g}"
    elif least is not None:
        lower = f" from {least:g}"
    if most is not None and over is not None:
        upper = f" and at most {most:.0f}"
    elif most is not None:
        upper = f" to {most:g}"
    return lower + upper


def _find_number(limits: Iterable[object], kind: type, name: str) -> Any:
    return next((getattr(each, name) for each in limits if isinstance(each, kind)), None)
