"""Consultation: the question that a seat may put to another seat in place of its answer, and the rules for it.

The plain-text forms are those that agents write to their director: `Director，我需要咨询 @{agent}：…` and its English equivalent.
"""

import re
from collections.abc import Callable
from typing import Annotated, Final, Literal, Self

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late

ConsultKind = Literal["knowledge", "confirmation", "feedback"]
ConsultText = Annotated[str, MaxLen(8_000)]

MAX_PER_SEAT: Final = 100
MAX_PER_SESSION: Final = 1_000
DEMO_FOLDER: Final = "demos"
"""The folder in Moot's home that is the project of demos."""

MAX_PREFACE_LENGTH: Final = 300
"""A request may stand behind a sentence or two; what is longer is a speech that mentions one."""

# Both languages and full-width punctuation: models mix them freely.
_REQUEST = compile_late(
    r"Director\s*[,，]?\s*(?:我需要咨询|我要咨询|I need to consult|I want to consult)"
    r"\s*(?:[@＠]?(?P<to>[\w-]+)\**\s*(?:[:：]|\n)|[@＠])",
    re.IGNORECASE,
)


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
        """Parse a request from plain text; None if it is not one.

        Raises ValueError for one without a question, or to nobody in particular.
        """
        match = _REQUEST.search(text)
        if (
            match is None
            or match.start() > MAX_PREFACE_LENGTH
            or not _is_preface(text[: match.start()])
        ):
            return None
        if match["to"] is None:
            raise ValueError(
                "a request names one seat, then a colon and the question: Director, I need to consult @bob: …"
            )
        # Imported here: only few sessions read such a text, and every command would pay for the words.
        from moothall.domain.vocabulary import LABELS

        fields = parse_labelled_text(
            text[match.end() :].removesuffix("```"), LABELS["request"], "question"
        )
        if not fields.get("question"):
            raise ValueError(
                f"the request to consult @{match['to']} holds no question; write it behind the colon"
            )
        # An unknown kind falls back to a knowledge question: a typing error in one label must not lose the request.
        kind: ConsultKind = LABELS["consult_kind"].get(
            fields.get("kind", "").strip(" *。.").casefold(), "knowledge"
        )
        return cls(
            to=match["to"],
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


def parse_labelled_text(text: str, labels: dict[str, str], first: str) -> dict[str, str]:
    """Split a text by the labels that begin its lines, such as `**问题**：`.

    Text before the first label belongs to `first`, unless that has a label of its own: then it only leads there.
    """
    # Longest label first: alternation takes the first match, so a label that is a prefix of another must come later.
    names = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    label = re.compile(
        rf"^[ \t>-]*\*{{0,2}}({names})\*{{0,2}}[ \t]*[:：]\*{{0,2}}", re.IGNORECASE | re.MULTILINE
    )
    parts: dict[str, str] = {}
    name, start = first, 0
    for match in label.finditer(text):
        _add_part(parts, name, text[start : match.start()])
        name = labels[match[1].casefold()]
        if name == first and not start:
            parts.clear()
        start = match.end()
    _add_part(parts, name, text[start:])
    return parts


def _add_part(parts: dict[str, str], name: str, part: str) -> None:
    words = part.strip()
    if words:
        parts[name] = f"{parts[name]}\n{words}" if name in parts else words


def _is_preface(text: str) -> bool:
    """Whether a text may stand before a request: nothing, or whole sentences; a colon only at the end of a line.

    Bold marks and a fence may open the request.
    """
    head, fence, language = text.rstrip().rstrip("*").rpartition("```")
    opened = head if fence and (not language.strip() or language.strip().isalnum()) else text
    words = opened.rstrip().rstrip("*").rstrip()
    if not words or words[-1] in ".!?。！？":
        return True
    return words[-1] in ":：" and "\n" in text[len(words) :]
