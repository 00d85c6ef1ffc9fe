"""A call that may be repeated under an idempotency key: the sender's own words decide whether it is the same call.

What Moot makes of the words (which models it finds, what it remembers) may differ by the second time, so it is never compared.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCall:
    """A write that may be repeated: which one, by whom, under which key (may be empty), in which words."""

    call: str
    by: str
    key: str
    words: tuple[object, ...]

    @classmethod
    def from_params(cls, call: str, by: str, key: str, params: Mapping[str, Any]) -> Self:
        """Return the call with the parameters that its sender gave, in whatever order they came."""
        return cls(call=call, by=by, key=key, words=(call, json.dumps(params, sort_keys=True)))

    @property
    def digest(self) -> str:
        """What stands for the words, and is compared when the key comes again."""
        words = json.dumps(self.words, ensure_ascii=True, default=asdict)
        return sha256(words.encode()).hexdigest()
