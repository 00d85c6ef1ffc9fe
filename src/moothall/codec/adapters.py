"""The validators of shapes, each built once, and the plain JSON of a value."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter


@cache
def get_adapter(shape: type) -> TypeAdapter[Any]:
    """Return the validator of a shape; it is built once."""
    return TypeAdapter(shape)


def as_json(value: object) -> object:
    """Return the plain JSON form of a value, without the fields that have their default."""
    return get_adapter(type(value)).dump_python(value, mode="json", exclude_defaults=True)  # type: ignore[arg-type]  # is hashable
