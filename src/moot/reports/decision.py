"""The decision that a session hands back, whatever its protocol."""

from dataclasses import dataclass
from typing import Literal

from moot.domain.budget import Spent
from moot.domain.ids import SeatId, SessionId

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
class AnsweredInput:
    """An input of the user, and what the decision answers to it: None where it says nothing to it."""

    input: int
    asked: str
    answer: str | None
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatPosition:
    """Where a seat stood before and after, and what its last word weighed."""

    seat: SeatId
    before: str | None
    confidence_before: float | None
    after: str | None
    verdict: str | None
    confidence_after: float | None
    weight: float
    moved_by: int | None
    choice_before: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatLoss:
    """A seat that failed, and what that means."""

    seat: SeatId
    times: int
    last: str
    weight_share: float
    voiceless: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of a session. `decision` is None while it goes on, or when it ended without one.

    A protocol names the figures that it has. A field added here is in `moot show --json` of every protocol; where `ResultOut`
    of the calls has a field of that name, it is in the result of a deliberation too.

    `support` is the supporting side's share among those who took a side, `turnout` their share of all weight. `choice` is the
    decision in a word or two, where it has one. `effective` is how many independent votes the `heads` that took a side are worth.
    `overturned`: it is not what most had written blind, and nobody who changed named a reason. `overruled`: most of the weight
    that took a side opposes it. `answers` say what it answers to each input of the user. `parked` says why a parked session
    cannot go on now.
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
    lost: tuple[SeatLoss, ...] = ()
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
