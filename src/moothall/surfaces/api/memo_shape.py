"""The memo of a session as callers read it."""

from typing import Literal

from pydantic import Field

from moothall.reports.decision import Decision, ObligationState
from moothall.reports.memo import Slot, build_memo, encode_memo
from moothall.scoring.reservations import ReservationCode
from moothall.surfaces.api.method import ApiModel


class MemoLineOut(ApiModel):
    slot: Slot
    text: str
    entries: list[int] = Field(default=[], description="The lines of the timeline that it is from.")


class ReservationOut(ApiModel):
    code: ReservationCode
    text: str
    short: str = Field(description="The same in two or three words, for lists.")


class NextStepOut(ApiModel):
    kind: Literal["condition", "task", "review"]
    text: str = Field(default="", description="What must hold, or what is to be done.")
    by: str = Field(default="", description="Who set the condition.")
    who: str = Field(default="", description="Who must do it; empty where nobody was named.")
    due: str = Field(default="", description="By when, as it was stated.")
    state: ObligationState = "open"


class MemoOut(ApiModel):
    """What a person reads first, in the language of the session: the same words on every surface."""

    badge: str = Field(description="How the result came about, in a word or two: `3 of 4`.")
    what: str = Field(description="What was decided, as a sentence; empty where nothing was.")
    result: str = Field(description="How it came about and what it is, or why there is none.")
    lines: list[MemoLineOut]
    reservations: list[ReservationOut] = Field(
        default=[], description="What a reader must know beside the result, the first one first."
    )
    next: list[NextStepOut] = Field(
        default=[],
        description="All that is to happen: conditions, tasks, a review, each with its date.",
    )
    text: str = Field(description="All lines below each other.")


def build_memo_out(decision: Decision) -> MemoOut:
    """Return the memo of a decision as callers read it."""
    return MemoOut.model_validate(encode_memo(build_memo(decision, decision.language)))
