"""Facts: what happened, past tense, immutable.

The facts here are those that every protocol shares. A protocol adds its own: one `Opened`, one `Reply` for each kind of answer,
facts that its rulebook computes, and one `Closed`; its `kinds` name all of them.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

from moot.domain.budget import FREE, Budget, BudgetKind, Usage
from moot.domain.consult import ConsultRules
from moot.domain.ids import AskId, SeatId, SessionId
from moot.domain.roster import Seat, Swap
from moot.domain.topic import Topic

Language = Literal["en", "zh"]
Loss = Literal["timeout", "error", "malformed", "refused", "rejected_key", "gave_up", "passed_over"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """The root of all facts; it holds nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where an imported session came from."""

    form: Literal["context"]
    session: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened(Fact):
    """The first fact of a session. All that its rulebook depends on is in here.

    `outside_patience` is how many seconds a seat that answers from elsewhere may take. `hosted`: whichever server serves this
    ledger runs the session, also after it was started anew. `consult`: seats may consult each other, by these rules.
    """

    topic: str
    language: Language
    seed: int
    seats: tuple[Seat, ...]
    budget: Budget = Budget()
    outside_patience: float = 604_800.0
    origin: Origin | None = None
    subject: Topic = Topic()
    hosted: bool = False
    consult: ConsultRules | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Fact):
    """A seat's answer to an ask, checked against its shape. Subclasses narrow `said`. `key` makes a retried call count once."""

    ask: AskId
    seat: SeatId
    said: object
    usage: Usage = FREE
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed(Fact):
    """The last fact of a session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsksPut(Fact):
    """These asks were put to their seats, all with one deadline, for the first time.

    `outside` asks wait for an answer from elsewhere: no process holds them, and their deadline does not move.
    """

    asks: tuple[AskId, ...]
    deadline: datetime | None = None
    outside: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatLost(Fact):
    """A seat gave no usable answer to an ask."""

    ask: AskId
    seat: SeatId
    reason: Loss
    detail: str = ""
    usage: Usage = FREE


@dataclass(frozen=True, slots=True, kw_only=True)
class AsksWithdrawn(Fact):
    """The session went on without waiting for these asks."""

    asks: tuple[AskId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class InputGiven(Fact):
    """The person who asks put in a word. `key` makes a retried call count once."""

    text: str
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseCalled(Fact):
    """Whoever owns the session asked for its end: it concludes with what has been said so far."""

    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetExhausted(Fact):
    """A limit was reached; the protocol ends the meeting as it sees fit."""

    budget: BudgetKind
    spent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionResumed(Fact):
    """A process took the session up again; the time since the last entry does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionForked(Fact):
    """What stands before this is a copy of another session up to one of its entries."""

    source: SessionId
    at: int
    swaps: tuple[Swap, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCancelled(Closed):
    """Somebody ended the session before it came to a conclusion."""

    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionImported(Closed):
    """A session that had ended elsewhere was read back; `conclusion` is its JSON as it stood there."""

    conclusion: str


CORE_KINDS: dict[str, type[Fact]] = {
    "asks_put": AsksPut,
    "seat_lost": SeatLost,
    "asks_withdrawn": AsksWithdrawn,
    "input_given": InputGiven,
    "close_called": CloseCalled,
    "budget_exhausted": BudgetExhausted,
    "session_resumed": SessionResumed,
    "session_forked": SessionForked,
    "session_cancelled": SessionCancelled,
    "session_imported": SessionImported,
}


class Entry(NamedTuple):
    """A fact in its place: `seq` counts from 1 without gaps."""

    seq: int
    at: datetime
    fact: Fact
