"""The decision that a session hands back, whatever its protocol."""

import re
from dataclasses import dataclass, field
from typing import Final, Literal

from moothall.domain.budget import Spent
from moothall.domain.context import extract_first_sentence
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.protocol_state import LostSeat
from moothall.domain.safe_text import strip_control
from moothall.scoring.strength import Strength, StrengthReason, rate_strength

ObligationState = Literal["open", "met", "waived", "failed"]
Status = Literal["thinking", "parked", "concluded", "cancelled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcedClaim:
    """A sentence, and the numbers of the timeline entries that it rests on."""

    text: str
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Dissent:
    """Someone who does not go along, or not without a condition. `seat` is None where the author reports it."""

    seat: SeatId | None
    kind: Literal["oppose", "conditional", "reported", "challenge"]
    text: str
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Obligation:
    """A condition of a decision that was made: who set it, what must hold, by when if that was stated, and what became of it."""

    seat: SeatId
    text: str
    due: str = ""
    entries: tuple[int, ...] = ()
    state: ObligationState = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweredInput:
    """An input of the user, and what the decision answers to it: None where it says nothing to it."""

    input: int
    asked: str
    answer: str | None
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatPosition:
    """Where a seat stood before and after, what its last word weighed, and through which doors both came in."""

    seat: SeatId
    before: str | None
    confidence_before: float | None
    after: str | None
    verdict: str | None
    confidence_after: float | None
    weight: float
    moved_by: int | None
    choice_before: str = ""
    via_before: str = ""
    via: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of a session. `decision` is None while it goes on, or when it ended without one.

    A protocol names the figures that it has. A field added here is in `moot show --json` of every protocol; where `ResultOut`
    of the calls has a field of that name, it is in the result of a deliberation too.

    `support` is the supporting side's share among those who took a side, `turnout` their share of all weight. `choice` is the
    decision in a word or two, where it has one. `effective` is how many independent votes the `heads` that took a side are worth.
    `overturned`: it is not what most had written blind, and nobody who changed named a reason. `overruled`: most of the weight
    that took a side opposes it. `answers` say what it answers to each input of the user. `parked` says why a parked session
    cannot go on now. Where nobody votes, `backers` is how many stand behind it, and `backing` their share of the weight of those
    who spoke. `obligations` are the conditions that it was supported on. `strength` is what it is worth in one word and
    `strength_reason` why; both follow from the other figures (`moothall.scoring.strength`), whatever the protocol.
    """

    session: SessionId
    topic: str
    status: Status
    ended_by: str | None = None
    decision: SourcedClaim | None = None
    author: SeatId | None = None
    confidence: float | None = None
    support: float | None = None
    turnout: float | None = None
    reasons: tuple[SourcedClaim, ...] = ()
    positions: tuple[SeatPosition, ...] = ()
    dissent: tuple[Dissent, ...] = ()
    open_questions: tuple[SourcedClaim, ...] = ()
    lost: tuple[LostSeat, ...] = ()
    could_differ: bool = False
    turns: int = 0
    spent: Spent = Spent()
    consensus_type: str | None = None
    choice: str = ""
    heads: int = 0
    effective: float | None = None
    open_challenges: tuple[SourcedClaim, ...] = ()
    overturned: bool = False
    overruled: bool = False
    answers: tuple[AnsweredInput, ...] = ()
    parked: str = ""
    backers: int = 0
    backing: float | None = None
    obligations: tuple[Obligation, ...] = ()
    strength: Strength = field(init=False, default="none")
    strength_reason: StrengthReason = field(init=False, default="undecided")

    def __post_init__(self) -> None:
        rating = rate_strength(
            is_decided=self.decision is not None,
            support=self.support,
            turnout=self.backing if self.turnout is None else self.turnout,
            confidence=self.confidence,
            heads=self.heads or self.backers,
            # Where an owner decides, nobody votes: what stands for a vote is in the positions alone.
            opposed=any(voice.kind == "oppose" for voice in self.dissent)
            or any(position.verdict == "oppose" for position in self.positions),
            disputed=any(voice.kind == "reported" for voice in self.dissent),
            open_challenges=bool(self.open_challenges),
            overturned=self.overturned,
            could_differ=self.could_differ,
        )
        # The class is frozen: this is the one place that may write, before anybody has seen the value.
        object.__setattr__(self, "strength", rating.strength)
        object.__setattr__(self, "strength_reason", rating.reason)


_HEADING: Final = re.compile(r"^[^\S\n]*+#{1,6}\s.*$", re.MULTILINE)
_MARKUP: Final = re.compile(r"^[^\S\n]*+(?:#{1,6}|>|[-*+])\s+|\*+(?=\S)|(?<=\S)\*+|__|`", re.MULTILINE)


def summarize_choice(choice: str, text: str) -> str:
    """What was chosen, on one line: the choice where there is one, else the first sentence of the decision without its markup."""
    # The first kilobyte holds the first sentence; a decision may be a whole document. A title says what it is about, not what
    # was decided: it counts only where there is nothing else.
    words = strip_control(choice).strip() or strip_control(text[:1_000])
    return extract_first_sentence(_MARKUP.sub("", _HEADING.sub("", words)).strip() or _MARKUP.sub("", words).strip())
