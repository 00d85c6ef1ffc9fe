"""The facts of consultations, and the shapes of their answers."""

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

from annotated_types import Ge, MaxLen, MinLen

from moothall.domain.consult import ConsultRequest, parse_json_object, parse_labelled_text
from moothall.domain.effects import Alternative, AnswerForm
from moothall.domain.facts import Closed, Fact, Opened, Reply
from moothall.domain.ids import AskId, SeatId

LongText = Annotated[str, MaxLen(20_000)]
Refusal = Literal["nested", "gate", "self", "unknown", "repeated", "seat_limit", "session_limit", "withdrawn", "budget"]
Failure = Literal["withdrawn", "insisted", "unrecorded"]
Outcome = Literal["answered", "unknown", "failed", "refused", "called", "tokens", "money", "time"]

CONSULT: Final = "consult"
RECORD: Final = "record"
QUESTION: Final = "question"
MAX_HEAD_LENGTH: Final = 2_000
"""How many characters of an answer are checked for "I do not know"."""

_FROM = re.compile(r"[\s*]*FROM\s*[@＠][\w-]+[\s*]*[:：]?", re.IGNORECASE)
_LABELS: Final[dict[str, str]] = {
    "回答": "answer",
    "answer": "answer",
    "补充说明": "notes",
    "notes": "notes",
    "不确定点": "unsure_of",
    "不确定": "unsure_of",
    "unsure of": "unsure_of",
    "建议咨询": "ask_instead",
    "ask instead": "ask_instead",
}
_UNKNOWN = re.compile(
    r"\W*(?:(?:honestly|frankly|sorry|to be honest|说实话|抱歉|老实说)\W{1,3})?"
    r"(?:I (?:do not|don['’]t|cannot|can['’]t) (?:know|say|tell)|我?也?(?:不知道|不清楚))(?P<rest>[^.。!！\n]*)",
    re.IGNORECASE,
)
_YET = re.compile(r"\bbut\b|\bhowever\b|\bthough\b|但|不过|然而", re.IGNORECASE)
_NAME = re.compile(r"[@＠]?([\w-]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What a consulted seat says. `known` is "unknown" when it does not know, and says so; `ask_instead` is whom it would ask."""

    answer: Annotated[str, MinLen(1), MaxLen(20_000)]
    notes: LongText = ""
    unsure_of: LongText = ""
    ask_instead: Annotated[str, MaxLen(64)] = ""
    known: Literal["known", "unknown"] = "known"

    @property
    def is_unknown(self) -> bool:
        """Whether it says that it does not know, by its field or in its text."""
        return self.known == "unknown" or is_unknown_answer(self.answer)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse the form `FROM @agent：**回答**：…`, an object with these fields, or else plain text."""
        head = _FROM.match(text)
        fields = parse_json_object(text, "answer") or parse_labelled_text(text[head.end() :] if head else text, _LABELS, "answer")
        answer = str(fields.get("answer") or "").strip()
        if not answer:
            raise ValueError("the reply holds no answer; who does not know says so")
        name = _NAME.search(str(fields.get("ask_instead") or ""))
        stated = fields.get("known")
        is_unknown = stated == "unknown" or (stated is None and is_unknown_answer(answer))
        return cls(
            answer=answer,
            notes=str(fields.get("notes") or ""),
            unsure_of=str(fields.get("unsure_of") or ""),
            ask_instead=name[1][:64] if name else "",
            known="unknown" if is_unknown else "known",
        )


def is_unknown_answer(answer: str) -> bool:
    """Whether an answer begins by saying that it is not one; "I do not know, but …" is an answer."""
    match = _UNKNOWN.match(answer[:MAX_HEAD_LENGTH])
    return match is not None and _YET.search(match["rest"]) is None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLocation:
    """Where a consultation is recorded; `number` counts in the whole project."""

    number: Annotated[int, Ge(1)]
    path: Annotated[str, MinLen(1), MaxLen(500)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationRequested(Reply):
    """A seat asked for a consultation in place of its answer."""

    said: ConsultRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationRefused(Fact):
    """The director refused: the seat is asked for a direct answer. `request` is set if the protocol demanded the consultation."""

    ask: AskId
    seat: SeatId
    to: str
    reason: Refusal
    request: ConsultRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationBegun(Fact):
    """The director asks the other seat. `consultation` counts per session; `request` is set if the protocol demanded it."""

    consultation: int
    ask: AskId
    seat: SeatId
    to: SeatId
    request: ConsultRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationAnswered(Reply):
    said: Advice


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationFailed(Fact):
    """The consultation failed for another reason than the loss of the consulted seat."""

    consultation: int
    reason: Failure


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationInsisted(Fact):
    """A refused seat asked for a consultation again: for its protocol it is lost for this ask."""

    ask: AskId
    seat: SeatId


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationFiled(Reply):
    """The record is on disk; only now is the answer handed back."""

    said: RecordLocation


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionOpened(Opened):
    """The opening of a standalone consultation."""

    asker: SeatId
    request: ConsultRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class AskerConclusion:
    """What the one who asked makes of it, where it is asked itself."""

    content: Annotated[str, MinLen(1), MaxLen(20_000)]

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(content=text.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAnswered(Reply):
    said: AskerConclusion


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionClosed(Closed):
    outcome: Outcome


KINDS: dict[str, type[Fact]] = {
    "consultation.requested": ConsultationRequested,
    "consultation.refused": ConsultationRefused,
    "consultation.begun": ConsultationBegun,
    "consultation.answered": ConsultationAnswered,
    "consultation.failed": ConsultationFailed,
    "consultation.insisted": ConsultationInsisted,
    "consultation.filed": ConsultationFiled,
}
QUESTION_KINDS: dict[str, type[Fact]] = {
    "consultation.question_opened": QuestionOpened,
    "consultation.question_answered": QuestionAnswered,
    "consultation.question_closed": QuestionClosed,
}

INSTEAD: Final = Alternative(field="consult", reply=ConsultationRequested, shape=ConsultRequest)
FORMS: dict[str, AnswerForm] = {
    CONSULT: AnswerForm(kind=CONSULT, reply=ConsultationAnswered, shape=Advice, form="text", max_tokens=900, instead=INSTEAD),
    RECORD: AnswerForm(kind=RECORD, reply=ConsultationFiled, shape=RecordLocation, form="json", max_tokens=1),
}
QUESTION_FORMS: dict[str, AnswerForm] = {
    QUESTION: AnswerForm(kind=QUESTION, reply=QuestionAnswered, shape=AskerConclusion, form="text", max_tokens=900),
}
