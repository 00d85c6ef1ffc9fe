"""JSON text that is safe to print: what a terminal or a line reader would take for its own is escaped."""

import json
import re
from collections.abc import Callable
from typing import Any

_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def dump_json(value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    """A value as JSON, in its own script."""
    text = json.dumps(value, ensure_ascii=False, indent=indent, default=default)
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
