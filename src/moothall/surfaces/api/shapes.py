"""What the calls of a deliberation take and give."""

from typing import Any, Literal

from pydantic import AliasChoices, Field

from moothall.domain.facts import Opened
from moothall.domain.topic import FrameMaker, QuestionKind
from moothall.memory.remembered_decision import RememberedObligation
from moothall.protocols.council.facts import Contribution
from moothall.reports.decision import FrameObjection, Movement, NoConfidence, WouldChange
from moothall.scoring.depth import DepthTaken
from moothall.scoring.estimates import ForecastEstimate, NumberEstimate
from moothall.scoring.posterior import Agreement
from moothall.scoring.reliability import TrackShare
from moothall.scoring.reservations import ConfidenceBasis
from moothall.scoring.strength import Strength
from moothall.surfaces.api import fields
from moothall.surfaces.api.memo_shape import MemoOut
from moothall.surfaces.api.memory import DecisionHitOut
from moothall.surfaces.api.method import ApiModel


class ParticipantOut(ApiModel):
    id: str
    platform: str
    stance: str = ""
    trust: float
    weight: float
    family: str = Field(default="", description="The model family that it states.")
    may_contribute: list[str] = Field(description="The types that it may contribute now.")


class StandingOut(ApiModel):
    """Where a deliberation stands."""

    deliberation_id: str
    topic: str
    protocol: str
    category: str = ""
    stakes: str
    status: Literal["open", "parked", "closed", "cancelled"]
    phase: str
    round: int
    waiting_for: list[str]
    participants: list[ParticipantOut]
    cursor: int = Field(description="The newest entry of the record.")
    note: str = Field(description="What to do next.")


class OpenedOut(StandingOut):
    earlier_decisions: list[DecisionHitOut] = Field(
        default=[], description="Earlier decisions on similar topics."
    )


@fields.take_fields(
    Contribution,
    text=Field(validation_alias=AliasChoices("text", "content"), serialization_alias="text"),
)
class _Said(ApiModel):
    deliberation_id: fields.DeliberationRef
    participant: fields.ParticipantRef = None


class ContributeParams(_Said):
    idempotency_key: fields.IdempotencyKey = ""


@fields.take_fields(Contribution, has_limits=False)
class _Heard(ApiModel):
    id: int = Field(description="The line's number, for refersTo.")
    entry: int = Field(description="Its entry in the ledger.")
    at: str
    participant: str


class ContributionOut(_Heard):
    type: str
    text: str
    is_cut: bool = Field(
        default=False,
        description="Shortened to keep the answer small; getDeliberation has all of it.",
    )
    round: int
    phase: str
    via: str | None = Field(
        default=None,
        description="The door through which it came in; `owner:` if the owner spoke for the seat.",
    )
    model: str | None = Field(
        default=None, description="The model that answered, as its provider names it."
    )
    mends: list[str] | None = Field(default=None, description="What was changed to read it.")


class ContributedOut(ApiModel):
    deliberation_id: str
    entry: int
    id: int | None = Field(default=None, description="The line's number; none for a pass.")
    phase: str
    waiting_for: list[str]
    status: Literal["open", "parked", "closed", "cancelled"]
    note: str


class VoteOut(ApiModel):
    position: str
    confidence: float | None = Field(default=None, description="As stated; null where it was not.")
    condition: str = ""
    due: str = ""
    moved_by: int | None = None
    weight: fields.Rounded
    via: str | None = Field(
        default=None, description="The door; `owner:` if the owner voted for the seat."
    )
    model: str | None = None


class CandidateOut(ApiModel):
    candidate: int = Field(description="Its line, for refersTo and ballot.")
    participant: str = Field(description="Who wrote it.")
    choice: str = ""
    text: str = Field(description="Its beginning; the contribution of this number has all of it.")


class TallyOut(ApiModel):
    """What a candidate got: the weight of its support, of the unconditional part of it, and against it, and its posterior."""

    candidate: int
    support: fields.Rounded
    unconditional: fields.Rounded
    oppose: fields.Rounded
    confidence: fields.Rounded | None = None


class DeadlineOut(ApiModel):
    participant: str
    phase: str
    deadline: str = Field(description="When its patience ends.")


class DissentOut(ApiModel):
    participant: str
    kind: str
    text: str
    id: int | None = Field(default=None, description="The line's number.")


class LostOut(ApiModel):
    participant: str
    times: int
    last: str
    weight_share: float


class MovedOut(ApiModel):
    participant: str
    before: str
    after: str | None = None
    moved_by: int | None = None
    moved_after: Movement | None = Field(
        default=None, description="New evidence that it met before its vote, or words alone."
    )


class ResultOut(ApiModel):
    """The resolution, computed from the record."""

    deliberation_id: str
    memo: MemoOut = Field(
        description="What a person reads first: the result, who is for it, one reservation, what is next."
    )
    choice: str = Field(description="What was decided, in a few words; empty where nothing was.")
    strength: Strength = Field(description="What the decision is worth, in one word.")
    note: str = Field(
        description="What a reader must know first: open challenges, an overturned majority, missing votes."
    )
    decision: str | None = None
    confidence: fields.Rounded | None = Field(
        default=None, description="The chance that it is right."
    )
    chance_hidden: bool = Field(
        default=False, description="Whether people are not shown this chance: it says too little."
    )
    confidence_from: ConfidenceBasis | None = Field(
        default=None,
        description="What this rests on: answers before anyone read anyone (blind), or votes after it (one_voice).",
    )
    no_confidence: NoConfidence | None = Field(
        default=None,
        description="Why there is no chance: new_answer, nobody had it in these words before they read each other.",
    )
    would_change: WouldChange | None = Field(
        default=None,
        description="What would change it: more voices against it, the answer that comes next, an open point.",
    )
    no_confidence_note: str = Field(default="", description="The same in one sentence.")
    objections: list[FrameObjection] = Field(
        default=[], description="Who said blind that none of the listed answers is right."
    )
    number: NumberEstimate | None = Field(
        default=None, description="The median of the blind estimates and their range (kind number)."
    )
    forecast: ForecastEstimate | None = Field(
        default=None,
        description="The chance that it happens, by the blind forecasts (kind forecast).",
    )
    consensus_type: str
    spared: int = Field(
        default=0,
        description="Answers that were not asked for, because the blind choices were clear.",
    )
    depth: DepthTaken | None = Field(
        default=None,
        description="How deep it was taken, and what that spared (depth auto, shadow).",
    )
    agreement: Agreement | None = Field(
        default=None, description="Nobody is against it: so before reading, or after it."
    )
    track_record: TrackShare | None = Field(
        default=None,
        description="How often decisions of this protocol and kind of agreement were right, from ten reviews on.",
    )
    participant_votes: dict[str, VoteOut]
    dissent: list[str]
    dissent_details: list[DissentOut]
    open_challenges: list[DissentOut]
    motion: str | None = Field(default=None, description="The motion, adopted or not.")
    support: float | None = None
    turnout: float
    votes: int
    effective_votes: float = Field(description="How many independent votes they are worth.")
    overturned_blind_majority: bool
    missing: list[str] = Field(description="Those who did not vote.")
    outcome_uncertain: bool = Field(
        description="Whether the missing votes could have changed the outcome."
    )
    changed_minds: list[MovedOut]
    moved_after_evidence: int | None = Field(
        default=None, description="How many moved after new evidence."
    )
    moved_after_words: int | None = Field(
        default=None, description="How many moved after words alone."
    )
    lost: list[LostOut]
    ended_by: str
    obligations: list[RememberedObligation] = Field(
        default=[], description="The conditions of the decision, and what became of them."
    )
    tally: list[TallyOut] = Field(
        default=[], description="What each candidate got, the motion first."
    )


class ChallengeOut(ApiModel):
    id: int
    participant: str
    state: str
    by: int | None = None


class SilenceOut(ApiModel):
    participant: str
    phase: str
    entry: int
    why: str


class FrameOut(ApiModel):
    """What kind of question a session asks, and its answers; a seat may always answer none of these."""

    kind: QuestionKind
    answers: list[str]
    made_by: FrameMaker = Field(description="Moot by its words, the opener, or a model.")
    model: str = Field(default="", description="The model that made it, from the question alone.")
    added: list[str] = Field(default=[], description="Its answers that the question does not name.")
    unit: str = Field(default="", description="What a number is counted in.")
    assumes: str = Field(default="", description="What the question takes for granted.")
    criteria: list[str] = Field(
        default=[], description="What has to count, in the words of the question."
    )


def build_frame_out(opened: Opened) -> FrameOut | None:
    """Return the frame of a session as callers read it."""
    return None if opened.frame is None else FrameOut.collect(opened.frame)


class DeliberationOut(StandingOut):
    contributions: list[ContributionOut]
    next_since: int | None = Field(
        default=None, description="Where the next page begins; none when this was the last."
    )
    challenges: list[ChallengeOut]
    silences: list[SilenceOut] = Field(
        description="Who passed or was lost, where and how; on the first page."
    )
    options: list[str] = Field(
        description="The possible answers, if they were given, or the question names them."
    )
    frame: FrameOut | None = Field(
        default=None, description="What kind of question it is; none where that was not plain."
    )
    settings: dict[str, Any]
    candidates: list[CandidateOut] = Field(description="What is or would be voted on now.")
    motion: int | None = Field(
        default=None, description="The line that is decided on, once that is known."
    )
    tally: list[TallyOut] = Field(description="The last vote, once it is unsealed.")
    deadlines: list[DeadlineOut]
    patience_seconds: float
    result: ResultOut | None = None
    outcome: str | None = Field(default=None, description="How it turned out, as a review said.")
    obligations: list[RememberedObligation] = []


class TurnAskOut(ApiModel):
    id: str
    phase: str
    expected: list[str] = Field(description="The types that may be contributed now.")
    deadline: str | None = None
    answer_schema: dict[str, Any] = Field(
        description="What fits: the fields of `contribute`, or of `answer_ask` where a colleague asks."
    )
    instructions: str
    briefing: str = Field(description="The question and what was said, as this seat may see it.")


class TurnOut(ApiModel):
    status: Literal["your_turn", "pending", "closed"]
    cursor: int
    note: str
    summary: str = Field(description="What came since the cursor, in a sentence.")
    new: list[ContributionOut] = Field(description="The same in full, by page.")
    more: bool = Field(default=False, description="There is more: call again with the cursor.")
    ask: TurnAskOut | None = None
    result: ResultOut | None = None


class ListedOut(ApiModel):
    deliberation_id: str
    protocol: str
    topic: str
    status: str
    opened_at: str
    last_at: str
    entries: int
    standing: str = Field(
        description="decided, undecided, parked (by an outage), waiting (for answers), running, stopped or cancelled."
    )
    choice: str = Field(description="What was decided, in a few words; empty where nothing was.")
    strength: str = Field(description="What the decision is worth, in one word.")


class ListOut(ApiModel):
    deliberations: list[ListedOut]
