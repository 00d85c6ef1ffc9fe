"""What the calls on sessions take and give."""

from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import AliasChoices, Field

from moothall.ports.runner import MAX_WAIT_SECONDS
from moothall.scoring.strength import Strength
from moothall.surfaces.api.fields import IdempotencyKey, Short
from moothall.surfaces.api.method import ApiModel
from moothall.surfaces.api.shapes import MAX_ENTRIES

PAGE: Final = 200

SessionRef = Annotated[
    str,
    Field(
        max_length=80,
        validation_alias=AliasChoices("sessionId", "session", "session_id", "deliberationId", "deliberation_id"),
        serialization_alias="sessionId",
    ),
]


SeatRef = Annotated[
    str | None,
    Field(
        max_length=64,
        validation_alias=AliasChoices("seat", "participant", "agent"),
        serialization_alias="seat",
        description="Whose asks; may be omitted with a seat's token.",
    ),
]


class SessionParams(ApiModel):
    session_id: SessionRef


EntryNumber = Annotated[int | None, Field(ge=1, le=MAX_ENTRIES, description="As it stood after this entry. Default: now.")]


class GetSessionParams(SessionParams):
    timeout_seconds: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS, description="Wait this long for the end.")] = 0.0
    at: EntryNumber = None


class SessionOut(ApiModel):
    session_id: str
    protocol: str
    topic: str
    status: Literal["thinking", "parked", "concluded", "cancelled", "damaged", "not_installed"]
    parked: str = Field(default="", description="Why a parked session cannot go on now.")
    opened_at: datetime
    last_at: datetime
    entries: int
    standing: Literal["decided", "undecided", "parked", "waiting", "running", "stopped", "cancelled", "damaged", "not_installed"]
    choice: str = Field(description="What was decided, in a few words; empty where nothing was.")
    strength: str = Field(description="What the decision is worth: strong, fair, weak, contested, overruled or none.")
    is_demo: bool = Field(default=False, description="Whether it is a demo: its words were written in advance.")


class SessionsOut(ApiModel):
    sessions: list[SessionOut]


class ListSessionsParams(ApiModel):
    status: Literal["thinking", "parked", "concluded", "cancelled", "damaged", "not_installed", "all"] = "all"
    query: Annotated[str, Field(max_length=1_000, description="Only those on such a topic, the best first.")] = ""
    limit: Annotated[int, Field(ge=1, le=1_000)] = 100


class SessionDecisionOut(ApiModel):
    session_id: str
    status: Literal["thinking", "parked", "concluded", "cancelled"]
    parked: str = Field(default="", description="Why a parked session cannot go on now; resume_session tries again.")
    cursor: int
    choice: str = Field(description="What was decided, in a few words; empty where nothing was.")
    strength: Strength = Field(description="What the decision is worth, in one word.")
    decision: dict[str, Any] = Field(description="The current decision, with positions, dissent, losses and costs.")
    summary: list[str] = Field(description="The same in short, for people.")


class EntriesParams(SessionParams):
    after: Annotated[int, Field(ge=0, le=MAX_ENTRIES)] = 0
    limit: Annotated[int, Field(ge=1, le=1_000)] = PAGE


class EntriesOut(ApiModel):
    session_id: str
    entries: list[dict[str, Any]]
    head: int


class AsksParams(SessionParams):
    seat: SeatRef = None
    timeout_seconds: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS, description="Wait this long for an ask to come.")] = 0.0


class AskOut(ApiModel):
    ask: str
    seat: str
    kind: str
    deadline: datetime | None = None
    form: Literal["text", "json"]
    answer_schema: dict[str, Any]
    instructions: str
    briefing: str


class AsksOut(ApiModel):
    session_id: str
    status: Literal["thinking", "parked", "ended"]
    asks: list[AskOut]
    note: str


class AnswerParams(SessionParams):
    seat: SeatRef = None
    ask: Annotated[str | None, Field(max_length=200, description="The ask's id. Default: the one that waits for the seat.")] = (
        None
    )
    answer: Annotated[str | dict[str, Any], Field(description="Text for the form `text`, else the fields of the answer.")]
    idempotency_key: IdempotencyKey = ""


class WrittenOut(ApiModel):
    session_id: str
    entry: int | None = Field(default=None, description="The entry that was written; none where nothing changed.")


class InputParams(SessionParams):
    text: Annotated[str, Field(min_length=1, max_length=20_000)]
    idempotency_key: IdempotencyKey = ""


class ResumeParams(SessionParams):
    swaps: Annotated[
        dict[Short, Short],
        Field(max_length=64, description="Seats that another participant fills from here on: seat to platform."),
    ] = {}
    idempotency_key: IdempotencyKey = ""


class CloseSessionParams(SessionParams):
    idempotency_key: IdempotencyKey = ""


class CancelParams(SessionParams):
    reason: Annotated[str, Field(max_length=2_000)] = ""
    idempotency_key: IdempotencyKey = ""


class ExportParams(SessionParams):
    form: Short = "minutes"


class ExportOut(ApiModel):
    session_id: str
    form: str
    text: str


class VerifyOut(ApiModel):
    session_id: str
    fault: str | None = None
    head: str
    entries: int


class ProtocolsOut(ApiModel):
    protocols: list[str]
