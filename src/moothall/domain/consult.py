"""Consultation: the question that a seat may put to another seat in place of its answer, and the rules for it.

The plain-text forms are those that agents write to their director: `Director，我需要咨询 @{agent}：…` and its English equivalent.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moothall.domain.ids import SeatId

ConsultKind = Literal["knowledge", "confirmation", "feedback"]
ConsultText = Annotated[str, MaxLen(8_000)]

MAX_PER_SEAT: Final = 100
MAX_PER_SESSION: Final = 1_000

# Both languages and full-width punctuation: models mix them freely. Leading `*` allows for a request in bold Markdown.
_REQUEST = re.compile(
    r"[\s*]*Director\s*[,，]?\s*(?:我需要咨询|我要咨询|I need to consult|I want to consult)"
    r"\s*[@＠](?P<to>[\w-]+)\**\s*(?:[:：]|\n)",
    re.IGNORECASE,
)
_LABELS: Final[dict[str, str]] = {
    "问题": "question",
    "question": "question",
    "背景": "background",
    "background": "background",
    "我的理解": "understanding",
    "my understanding": "understanding",
    "类型": "kind",
    "kind": "kind",
}
_KINDS: Final[dict[str, ConsultKind]] = {
    "knowledge": "knowledge",
    "知识": "knowledge",
    "知识咨询": "knowledge",
    "confirmation": "confirmation",
    "确认": "confirmation",
    "确认咨询": "confirmation",
    "feedback": "feedback",
    "反馈": "feedback",
    "问题反馈": "feedback",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultRules:
    """How the seats of a session may consult each other; recorded in its opening.

    `folder` is the project that keeps the records; `token` separates this session's consultations from all others in that folder.
    A session that is a validation `gate` refuses every consultation.
    """

    folder: str
    token: str
    per_seat: Annotated[int, Ge(0), Le(MAX_PER_SEAT)] = 3
    per_session: Annotated[int, Ge(0), Le(MAX_PER_SESSION)] = 24
    gate: bool = False
    patience: Annotated[float, Gt(0), Le(31_536_000)] = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultRequest:
    """Whom a seat wants to ask, and what. `understanding` is its own view so far, to be confirmed or put right."""

    to: Annotated[str, MinLen(1), MaxLen(64)]
    question: Annotated[str, MinLen(1), MaxLen(8_000)]
    background: ConsultText = ""
    understanding: ConsultText = ""
    kind: ConsultKind = "knowledge"

    @classmethod
    def from_text(cls, text: str) -> Self | None:
        """Parse a request from plain text; None if it is not one. Raises ValueError for a request without a question."""
        found = _REQUEST.match(text)
        if found is None:
            return None
        fields = parse_labelled_text(text[found.end() :], _LABELS, "question")
        if not fields.get("question"):
            raise ValueError(f"the request to consult @{found['to']} holds no question; write it behind the colon")
        # An unknown kind falls back to a knowledge question: a typing error in one label must not lose the request.
        kind = _KINDS.get(fields.get("kind", "").strip(" *。.").casefold(), "knowledge")
        return cls(
            to=found["to"],
            question=fields["question"],
            background=fields.get("background", ""),
            understanding=fields.get("understanding", ""),
            kind=kind,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordFileRequest:
    """A record file that Moot itself writes under the next free number of a project.

    `key` is the same for every attempt, so that a retry writes the record only once; `document` renders its text for a given
    number.
    """

    folder: str
    key: str
    asker: SeatId
    asked: SeatId
    document: Callable[[int], str]


def parse_json_object(text: str, field: str) -> dict[str, object]:
    """Parse a text as a JSON object that has this field; any other text gives an empty dict."""
    if not text.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(text)
    # RecursionError: a participant may send thousands of nested brackets, which must not end the session.
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and field in found else {}


def parse_labelled_text(text: str, labels: dict[str, str], first: str) -> dict[str, str]:
    """Split a text by the labels that begin its lines, such as `**问题**：`; text before the first label belongs to `first`."""
    # Longest label first: alternation takes the first match, so a label that is a prefix of another must come later.
    names = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    label = re.compile(rf"^[ \t>-]*\*{{0,2}}({names})\*{{0,2}}[ \t]*[:：]\*{{0,2}}", re.IGNORECASE | re.MULTILINE)
    found: dict[str, str] = {}
    name, start = first, 0
    for match in label.finditer(text):
        _add_part(found, name, text[start : match.start()])
        name, start = labels[match[1].casefold()], match.end()
    _add_part(found, name, text[start:])
    return found


def _add_part(found: dict[str, str], name: str, part: str) -> None:
    words = part.strip()
    if words:
        found[name] = f"{found[name]}\n{words}" if name in found else words
