"""The facts of a persona meeting, and the shapes of its answers.

Pydantic copies the docstrings of the answer shapes into the JSON schema that models receive, so they are prompt text.
"""

import re
from typing import Annotated, Final, Literal, Self

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moothall.domain.replace import dataclass
from moothall.domain.topic import Headline
from moothall.plugins import (
    MAX_LABEL_LENGTH,
    Closed,
    Fact,
    LostSeat,
    Opened,
    Reply,
    SeatId,
    add_kind,
)
from moothall.scoring.posterior import Agreement

Score = Annotated[float, Ge(0), Le(1)]
View = Literal["agree", "contest", "none"]
StandVerdict = Literal["support", "conditional", "oppose", "abstain"]
EndReason = Literal[
    "quiet",
    "nobody_speaks",
    "sufficient",
    "turns",
    "tokens",
    "money",
    "time",
    "seats_lost",
    "called",
    "nobody_spoke",
]
FloorReason = Literal[
    "highest", "longest_silent", "first_by_id", "only_one", "nobody_else", "others_first", "waited"
]
EntryRef = Annotated[int, Ge(1)]
Seconds = Annotated[float, Gt(0), Le(31_536_000)]
Line = Annotated[str, MaxLen(2_000)]
Short = Annotated[str, MaxLen(MAX_LABEL_LENGTH)]
Text = Annotated[str, MinLen(1), MaxLen(20_000)]

# Possessive quantifiers (`*+`): without them a long run of spaces would cause catastrophic backtracking.
_REFERENCE = re.compile(
    r"\s*+[\[(（【]?\s*+(?:re|回应|回應|回复)\s*+[:：]?\s*+[#＃]\s*+(?P<id>\d{1,9})"
    r"\s*+[,，·]?\s*+(?P<view>agree|disagree|contest|赞同|同意|反对|质疑)?\s*+[\])）】]?\s*+[:：。.\-—]*+\s*+",
    re.IGNORECASE,
)

KINDS: Final[dict[str, type[Fact]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaSettings:
    """The settings of a meeting, recorded in the opening.

    `ageing` is what a bid gains for each turn in a row that its seat wanted the floor and did not get it. With `bids` together,
    the seats of one model bid in one call.
    """

    window: Annotated[int, Ge(1), Le(50)] = 6
    threshold: Score = 0.3
    blind: bool = True
    summarizer: SeatId | None = None
    intent_patience: Seconds = 60.0
    speech_patience: Seconds = 180.0
    ageing: Score = 0.0
    bids: Literal["apart", "together"] = "apart"
    judge: Annotated[str, MaxLen(64)] = ""
    """The seat that judges which answers are one and has no say of its own; where it is empty, only equal words are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a seat stands before it has heard anyone; `choice` is its answer in a word or two, for what can be compared."""

    position: Text
    confidence: Score | None = None
    choice: Short = ""
    own_choice: Short = ""
    """Its answer in a few words, where the choice is none of the listed ones; it becomes the choice."""
    number: float | None = None
    """Its estimate, where the question asks for a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A seat's bid for the floor. `sufficient` counts only from the decider; `choice` only while nobody has spoken."""

    reaction_score: Score
    intent_to_speak: bool
    reason: Line = ""
    view: View = "none"
    sufficient: bool = False
    choice: Short = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedIntent(Intent):
    """The bid of the seat `node_id`."""

    node_id: Annotated[str, MinLen(1), MaxLen(64)]


@dataclass(frozen=True, slots=True, kw_only=True)
class JointBids:
    """One bid for each of several seats."""

    bids: Annotated[tuple[NamedIntent, ...], MinLen(1), MaxLen(64)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaSpeech:
    """A full contribution. In plain text a leading `re #3 agree:` names the entry that it answers."""

    content: Text
    refers_to: EntryRef | None = None
    view: View = "none"

    @classmethod
    def from_text(cls, text: str) -> Self:
        match = _REFERENCE.match(text)
        if match is None:
            return cls(content=text)
        content = text[match.end() :].strip() or text
        from moothall.domain.vocabulary import LABELS

        view: View = LABELS["view"].get((match["view"] or "").lower(), "none")
        return cls(content=content, refers_to=int(match["id"]) or None, view=view)


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftClaim:
    """A sentence and the timeline entries that it rests on."""

    text: Text
    entries: Annotated[tuple[EntryRef, ...], MaxLen(500)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputReply:
    """What the conclusion answers to the user's input, and the entries that this rests on."""

    input: EntryRef
    text: Text
    entries: Annotated[tuple[EntryRef, ...], MaxLen(500)] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What the decider concludes; `choice` is the decision in a word or two."""

    decision: DraftClaim
    confidence: Score | None = None
    reasons: Annotated[tuple[DraftClaim, ...], MaxLen(20)] = ()
    dissent: Annotated[tuple[DraftClaim, ...], MaxLen(20)] = ()
    open_questions: Annotated[tuple[DraftClaim, ...], MaxLen(20)] = ()
    answers: Annotated[tuple[InputReply, ...], MaxLen(20)] = ()
    choice: Short = ""
    own_choice: Short = ""
    headline: Headline = ""
    """The decision in one sentence that answers the question."""
    number: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """A seat's last word on the decision; `moved_by` is the entry that changed its mind, if any did."""

    verdict: StandVerdict
    confidence: Score | None = None
    position: Line = ""
    condition: Line = ""
    moved_by: EntryRef | None = None
    due: Short = ""
    """By when the condition must hold."""
    who: Short = ""
    """Who must make it hold."""


@add_kind(KINDS, "persona.meeting_opened")
class MeetingOpened(Opened):
    settings: PersonaSettings = PersonaSettings()
    imported: "tuple[ImportedTurn, ...]" = ()
    views: "tuple[ImportedView, ...]" = ()

    @property
    def neutral(self) -> frozenset[SeatId]:
        return frozenset((SeatId(self.settings.judge),))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedTurn:
    """A timeline entry that was read from a context ledger. `unaware_of` is the input that came while it was being spoken."""

    timestamp: str
    speaker: SeatId
    content: str
    platform: str = ""
    type: str = ""
    relevance_score: float | None = None
    refers_to: int | None = None
    unaware_of: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedView:
    """A seat's view on an imported entry."""

    entry: int
    seat: SeatId
    view: View


@add_kind(KINDS, "persona.position_taken")
class PositionTaken(Reply):
    said: Position


@add_kind(KINDS, "persona.intent_declared")
class IntentDeclared(Reply):
    said: Intent


@add_kind(KINDS, "persona.bids_declared")
class BidsDeclared(Reply):
    """The bids of all seats of one model, given by one of them."""

    said: JointBids


@add_kind(KINDS, "persona.floor_given")
class FloorGiven(Fact):
    """`score` is what the bid counted for: its reaction, and what it gained in the `waited` turns."""

    turn: int
    seat: SeatId
    score: float
    reason: FloorReason
    waited: int = 0


@add_kind(KINDS, "persona.turn_passed")
class TurnPassed(Fact):
    """A turn in which nobody took the floor."""

    turn: int


@add_kind(KINDS, "persona.turn_taken")
class TurnTaken(Reply):
    said: PersonaSpeech


@add_kind(KINDS, "persona.talk_ended")
class TalkEnded(Fact):
    turn: int
    reason: EndReason


@add_kind(KINDS, "persona.conclusion_drafted")
class ConclusionDrafted(Reply):
    said: Draft


@add_kind(KINDS, "persona.stand_taken")
class StandTaken(Reply):
    said: Stand


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedStand:
    """A seat's final position and its weight: bias weight × confidence × trust."""

    seat: SeatId
    verdict: StandVerdict
    weight: float


@add_kind(KINDS, "persona.meeting_concluded")
class MeetingConcluded(Closed):
    """The figures of the conclusion, computed from the record.

    `support` is the supporting side's share among those who took a side, `turnout` their share of all bias weight. `overruled`:
    most of that weight opposes the decision. `unanswered` are the user's inputs that the conclusion says nothing to. `confidence`
    is the chance that it is right by the choices that were named before anybody spoke, `effective` how many independent votes
    those who took a side are worth; `agreement`, where nobody opposes it, whether all had chosen so before.
    """

    reason: EndReason
    author: SeatId | None
    support: float | None
    turnout: float
    positions: tuple[WeighedStand, ...]
    lost: tuple[LostSeat, ...] = ()
    outcome_uncertain: bool = False
    overruled: bool = False
    unanswered: tuple[int, ...] = ()
    confidence: float | None = None
    effective: float = 0.0
    agreement: Agreement | None = None
