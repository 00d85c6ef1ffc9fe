"""The line of a text that says its answer in a few words, so that it can be compared: `[CHOICE] PostgreSQL`, `[选择] 缓存`."""

import re
from typing import Final

from moothall.domain.safe_text import one_line
from moothall.domain.topic import MAX_LABEL_LENGTH

# Bounded, because it is searched in text from outside; also `[CHOICE: PostgreSQL]`, bold or behind a bullet.
_CHOICE: Final = re.compile(
    r"^[ \t*>-]{0,8}[\[【](?:choice|选择)(?:[\]】][ \t]{0,4}[:：]?|[:：])(?P<label>[^\n]{1,1000})$", re.IGNORECASE | re.MULTILINE
)
_WRAPPED: Final = " \t*[]【】`"


def extract_choice(text: str) -> str:
    """Return the answer in the last such line; empty if there is none, or if it is no label but an essay."""
    found = [match["label"] for match in _CHOICE.finditer(text)]
    label = one_line(found[-1]).strip(_WRAPPED) if found else ""
    return label if len(label) <= MAX_LABEL_LENGTH else ""


def drop_choice(text: str) -> str:
    """Return a text without such lines."""
    return _CHOICE.sub("", text).strip()
