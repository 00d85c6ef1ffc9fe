"""Samples of stored facts: one of each kind with every field set, in `tests/unit/golden/facts.jsonl`.

A line that was released stays for ever: it must be read, and hashed, the same. A kind or a field that is new gets a line of its
own with `MOOT_SNAPSHOTS=write pytest tests/unit/test_codec.py`, which keeps the lines that are there.
"""

import json
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt, MaxLen

from moothall.codec.stored import FactCodec
from moothall.domain.facts import Fact
from moothall.errors import LedgerDamaged, LedgerNewer

GOLDEN = Path(__file__).parents[1] / "unit" / "golden" / "facts.jsonl"
AT = datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)


class Bounds(NamedTuple):
    """What the annotations of a field allow."""

    low: float = float("-inf")
    high: float = float("inf")
    longest: int = 1_000


ANY = Bounds()


def read_golden(codec: FactCodec) -> tuple[Fact, ...]:
    """The facts of the golden file."""
    return tuple(codec.decode(line) for line in GOLDEN.read_bytes().splitlines())


def extend_golden(codec: FactCodec, kinds: Mapping[str, type[Fact]]) -> None:
    """Keep the lines that can be read, and add one for each kind that is missing or has a field that no line sets."""
    lines = (
        [line for line in GOLDEN.read_bytes().splitlines() if _is_readable(codec, line)]
        if GOLDEN.exists()
        else []
    )
    for kind, shape in kinds.items():
        sample: Fact = build_sample(shape)
        of_kind = [line for line in lines if json.loads(line)["fact"] == kind]
        known = {field for line in of_kind for field in list_set_fields(codec.decode(line))}
        if not of_kind or set(list_set_fields(sample)) - known:
            lines.append(codec.encode(sample))
    GOLDEN.write_bytes(b"".join(line + b"\n" for line in lines))


def _is_readable(codec: FactCodec, line: bytes) -> bool:
    try:
        return codec.encode(codec.decode(line)) == line
    except (LedgerDamaged, LedgerNewer):
        return False


def list_set_fields(value: object) -> Iterator[tuple[type, str]]:
    """Every field, at any depth, that is not at its default."""
    if is_dataclass(value):
        for field in fields(value):
            held = getattr(value, field.name)
            if field.default is MISSING or held != field.default:
                yield type(value), field.name
                yield from list_set_fields(held)
    if isinstance(value, tuple):
        for each in value:
            yield from list_set_fields(each)


def build_sample(
    shape: Any, default: object = MISSING, name: str = "text", bounds: Bounds = ANY
) -> Any:
    """A value of a type that is not the default: the same one every time."""
    if hasattr(shape, "__supertype__"):
        return build_sample(shape.__supertype__, default, name, bounds)
    origin, arguments = get_origin(shape), get_args(shape)
    if origin is Annotated:
        return build_sample(arguments[0], default, name, _narrow(bounds, arguments[1:]))
    if origin is Literal:
        return next(value for value in reversed(arguments) if value != default)
    if origin in {Union, types.UnionType}:
        return build_sample(
            next(each for each in arguments if each is not type(None)), default, name, bounds
        )
    if origin is tuple:
        one = build_sample(arguments[0], name=name)
        return (one, one) if default == (one,) else (one,)
    if origin is not None and issubclass(origin, Mapping):
        return {name: build_sample(arguments[1], name=name)}
    if isinstance(shape, type) and is_dataclass(shape):
        hints = get_type_hints(shape, include_extras=True)
        return shape(
            **{
                field.name: build_sample(hints[field.name], field.default, field.name)
                for field in fields(shape)
            }
        )
    if isinstance(shape, type) and hasattr(shape, "_fields"):
        return shape(
            *(build_sample(hint, name=field) for field, hint in get_type_hints(shape).items())
        )
    return _build_scalar(shape, default, name, bounds)


def _build_scalar(shape: Any, default: object, name: str, bounds: Bounds) -> object:
    if shape is bool:
        return default is not True
    if shape is datetime:
        return AT
    if shape in {int, float}:
        candidates = (3, 2, 1, 5, 5_000) if shape is int else (0.375, 30.5, 0.25)
        return next(
            each for each in candidates if bounds.low <= each <= bounds.high and each != default
        )
    # Letters, a quotation mark and a line separator: what a careless writer would escape differently.
    return f'{name} "文\u2028'[: bounds.longest]


def _narrow(bounds: Bounds, limits: tuple[object, ...]) -> Bounds:
    for limit in limits:
        match limit:
            case Ge(ge=float() | int() as value) | Gt(gt=float() | int() as value):
                bounds = bounds._replace(low=value)
            case Le(le=float() | int() as value) | Lt(lt=float() | int() as value):
                bounds = bounds._replace(high=value)
            case MaxLen(max_length=value):
                bounds = bounds._replace(longest=value)
            case _:
                pass
    return bounds
