"""The one JSON dialect, and JSON text that is safe to print: what a terminal would take for its own is escaped."""

import json
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any

_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def dump_json(value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    """A value as JSON, in its own script."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=default)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def encode_fields(value: Any) -> Any:
    """A dataclass as JSON has it: names in camelCase, moments in ISO 8601; what is not there is left out."""
    if is_dataclass(value) and not isinstance(value, type):
        return {
            to_camel(each.name): encode_fields(inner)
            for each in fields(value)
            if (inner := getattr(value, each.name)) is not None
        }
    if isinstance(value, (tuple, list)):
        return [encode_fields(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value


def to_camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(map(str.capitalize, rest))
