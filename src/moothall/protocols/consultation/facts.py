"""The facts of consultations, and the shapes of their answers."""

import re
from typing import Annotated, Final, Literal, Self

from annotated_types import Ge, MaxLen, MinLen

from moothall.domain.consult import ConsultRequest, parse_labelled_text
from moothall.domain.effects import Alternative, AnswerForm
from moothall.domain.facts import Closed, Fact, Opened, Reply, add_kind
from moothall.domain.ids import AskId, SeatId
from moothall.domain.replace import dataclass

LongText = Annotated[str, MaxLen(20_000)]
Refusal = Literal[
    "nested",
    "gate",
    "self",
    "unknown",
    "repeated",
    "seat_limit",
    "session_limit",
    "withdrawn",
    "budget",
]
Failure = Literal["withdrawn", "unrecorded"]
Outcome = Literal["answered", "unknown", "failed", "refused", "called", "tokens", "money", "time"]

CONSULT: Final = "consult"
RECORD: Final = "record"
QUESTION: Final = "question"
"""What a question on its own waits for; nobody is asked it: the director is."""
MAX_HEAD_LENGTH: Final = 2_000
"""How many characters of an answer are checked for "I do not know"."""

# The reply may stand in a fence; behind a sentence its labels must follow, because a head among other words quotes another.
_HEAD: Final = r"[ \t*]*+FROM\s*+[@＠][\w-]++[ \t*]*+[:：]?\**+"
_FROM = re.compile(
    rf"\A\s*+(?:```\w*+\s*+)?{_HEAD}|^{_HEAD}(?=\s*+\*\*)", re.IGNORECASE | re.MULTILINE
)
_UNKNOWN = re.compile(
    r"\W*(?:(?:well|hm+|honestly|frankly|sorry|to be honest|说实话|抱歉|老实说|这个)\W{0,3})?"
    r"(?:I (?:(?:really|honestly) )?(?:do not|don['’]t|cannot|can['’]t) (?:know|say|tell)\b|don['’]t know\b|(?:dunno|idk)\b"
    r"|(?:I have )?no (?:idea|clue)\b(?! \w+s\b)|我?也?(?:真的?|实在)?不(?:太?知道|太?清楚|了解))(?P<rest>[^.。!！\n]*)",
    re.IGNORECASE,
)
_YET = re.compile(r"\bbut\b|\bhowever\b|\bthough\b|但|不过|然而", re.IGNORECASE)
_NAME = re.compile(r"[@＠]?([\w-]+)")

KINDS: Final[dict[str, type[Fact]]] = {}
QUESTION_KINDS: Final[dict[str, type[Fact]]] = {}


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
        """Parse the form `FROM @agent：**回答**：…`, or else plain text."""
        from moothall.domain.vocabulary import LABELS

        head = _FROM.search(text)
        fields = parse_labelled_text(
            text[head.end() :].removesuffix("```") if head else text, LABELS["advice"], "answer"
        )
        answer = fields.get("answer", "")
        if not answer:
            raise ValueError("the reply holds no answer; who does not know says so")
        name = _NAME.search(fields.pop("ask_instead", ""))
        known: Literal["known", "unknown"] = "unknown" if is_unknown_answer(answer) else "known"
        return cls(**fields, ask_instead=name[1][:64] if name else "", known=known)


def is_unknown_answer(answer: str) -> bool:
    """Whether an answer begins by saying that it is not one; "I do not know, but …" is an answer."""
    match = _UNKNOWN.match(answer[:MAX_HEAD_LENGTH])
    return match is not None and _YET.search(match["rest"]) is None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLocation:
    """Where a consultation is recorded; `number` counts in the whole project."""

    number: Annotated[int, Ge(1)]
    path: Annotated[str, MinLen(1), MaxLen(500)]


@add_kind(KINDS, "consultation.requested")
class ConsultationRequested(Reply):
    """A seat asked for a consultation in place of its answer."""

    said: ConsultRequest


@add_kind(KINDS, "consultation.refused")
class ConsultationRefused(Fact):
    """The director refused: the seat is asked for a direct answer. `request` is set if the protocol demanded the consultation."""

    ask: AskId
    seat: SeatId
    to: str
    reason: Refusal
    request: ConsultRequest | None = None


@add_kind(KINDS, "consultation.begun")
class ConsultationBegun(Fact):
    """The director asks the other seat. `consultation` counts per session; `request` is set if the protocol demanded it."""

    consultation: int
    ask: AskId
    seat: SeatId
    to: SeatId
    request: ConsultRequest | None = None


@add_kind(KINDS, "consultation.answered")
class ConsultationAnswered(Reply):
    said: Advice


@add_kind(KINDS, "consultation.failed")
class ConsultationFailed(Fact):
    """The consultation failed for another reason than the loss of the consulted seat."""

    consultation: int
    reason: Failure


@add_kind(KINDS, "consultation.filed")
class ConsultationFiled(Reply):
    """The record is on disk; only now is the answer handed back."""

    said: RecordLocation


@add_kind(QUESTION_KINDS, "consultation.question_opened")
class QuestionOpened(Opened):
    """The opening of a standalone consultation."""

    asker: SeatId
    request: ConsultRequest


@add_kind(QUESTION_KINDS, "consultation.question_closed")
class QuestionClosed(Closed):
    reason: Outcome


INSTEAD: Final = Alternative(field="consult", reply=ConsultationRequested, shape=ConsultRequest)
FORMS: dict[str, AnswerForm] = {
    CONSULT: AnswerForm(
        kind=CONSULT,
        reply=ConsultationAnswered,
        shape=Advice,
        form="text",
        max_tokens=900,
        instead=INSTEAD,
    ),
    RECORD: AnswerForm(
        kind=RECORD, reply=ConsultationFiled, shape=RecordLocation, form="json", max_tokens=1
    ),
}
