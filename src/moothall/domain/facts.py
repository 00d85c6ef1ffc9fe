"""Facts: what happened, past tense, immutable.

The facts here are those that every protocol shares. A protocol adds its own: one `Opened`, one `Reply` for each kind of answer,
facts that its rulebook computes, and one `Closed`; its `kinds` name all of them.
"""

from collections.abc import Callable, Iterable
from dataclasses import field
from datetime import datetime
from typing import (
    Annotated,
    ClassVar,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    dataclass_transform,
)

from annotated_types import MaxLen, MinLen

from moothall.domain.budget import (
    DEFAULT_TOOL_RULES,
    FREE,
    Budget,
    BudgetKind,
    ToolOutcome,
    ToolRules,
    Usage,
)
from moothall.domain.causes import NO_CAUSE, Cause
from moothall.domain.consult import ConsultRules
from moothall.domain.groups import AnswerJudgements, JudgedPair
from moothall.domain.ids import AskId, SeatId, SessionId
from moothall.domain.replace import dataclass
from moothall.domain.roster import Seat, Swap
from moothall.domain.stated_facts import FactsReason, StatedFacts
from moothall.domain.topic import Frame, RepositoryTree, Topic

Language: TypeAlias = str
"""The code of a language, such as `en`. One without words here is shown in English (`locale/`)."""
TOKEN_ORIGIN: Final = "token:"  # noqa: S105 - the name of a door
RELAY_ORIGIN: Final = "relay"
OWNER_ORIGIN: Final = "owner:"
"""How `Reply.origin` begins where the owner spoke for a seat that is another's; the owner's own door follows."""

Loss = Literal[
    "timeout",
    "error",
    "malformed",
    "refused",
    "rejected_key",
    "gave_up",
    "passed_over",
    "unreachable",
]
OUTAGES: Final[frozenset[Loss]] = frozenset(("rejected_key", "unreachable"))
"""Losses whose cause lies outside of the meeting: the seat could not be asked at all, and asking later may succeed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """The base class of all facts; it has no fields."""


F = TypeVar("F", bound=Fact)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def add_kind(kinds: dict[str, type[Fact]], name: str) -> Callable[[type[F]], type[F]]:
    """Make a class a fact, among these kinds. Its name is stored in every ledger: a released one never changes."""

    def add(fact: type[F]) -> type[F]:
        kinds[name] = made = dataclass(frozen=True, slots=True, kw_only=True)(fact)
        return made

    return add


CORE_KINDS: Final[dict[str, type[Fact]]] = {}
"""The facts that every protocol shares, by their stored names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSource:
    """Where an imported session came from."""

    form: Literal["context"]
    session: str


FramingFault = Literal[
    "late", "failed", "refused", "unreadable", "echo", "few_answers", "no_choice"
]
"""Why a model's frame is not used: it came too late, or not at all; or it lists too few answers, or yes and no for an either-or."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FramingCall:
    """The one call to a model that was asked what kind of question a session asks, before it opened (Q-1)."""

    seat: SeatId
    """The seat whose model it is."""
    platform: str
    model: str = ""
    """The model that answered, as its provider names it."""
    usage: Usage = FREE
    fault: FramingFault | None = None
    """Why its answer is not used; None where it is."""


SessionStatus = Literal["thinking", "parked", "concluded", "cancelled"]
MAX_KEY_LENGTH: Final = 200
Key = Annotated[str, MaxLen(MAX_KEY_LENGTH)]
InputText = Annotated[str, MaxLen(20_000)]
RequiredInput = Annotated[InputText, MinLen(1)]
ReadingRule = Literal["lenient", "strict"]
"""Whether a choice is read from a sentence, or only where it is named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened(Fact):
    """The first fact of a session; it holds everything that the session's rulebook depends on.

    `outside_patience` is the number of seconds that an outside seat has for an answer. `hosted`: the server of this ledger runs
    the session, also after a restart. `consult`: the rules by which seats may consult each other; None forbids it. `demo` is the
    name of the shipped demo that the session plays: what is said there is nobody's opinion, so it stays out of decision memory.
    `forked_from` is the session that this one is a fork of, for lists, which read this fact alone; the two openings are equal.
    `chance`: the opener asks for how likely the decision is right, where people do not read it otherwise (Q-10).
    `words_digest` is the digest of what a caller sent under its idempotency key: who repeats the key has sent the same (D-6).
    `frame` says what kind of question it is and who listed its answers, which are `subject.options`; None without a frame (Q-1).
    `framing` is the call to a model that was asked for it, where the words of the question do not say it.
    `tree` is a repository at a commit that seats may read and search; None where there is none (G-7).
    `facts_first` is why each seat says first what the others may not know; "" where none does (Q-4).
    """

    topic: str
    language: Language
    seed: int
    seats: tuple[Seat, ...]
    budget: Budget = Budget()
    outside_patience: float = 604_800.0
    imported_from: ImportSource | None = None
    subject: Topic = Topic()
    hosted: bool = False
    consult: ConsultRules | None = None
    demo: str = ""
    forked_from: str = field(default="", compare=False)
    reading: ReadingRule = "lenient"
    tools: ToolRules = DEFAULT_TOOL_RULES
    words_digest: str = field(default="", compare=False)
    chance: bool = False
    frame: Frame | None = None
    framing: FramingCall | None = None
    tree: RepositoryTree | None = None
    facts_first: FactsReason = ""

    helpers: ClassVar[frozenset[SeatId]] = frozenset()
    """The seats of this protocol that serve the others and have no say of their own: their weight does not count."""

    @property
    def neutral(self) -> frozenset[SeatId]:
        """The seats that are never to take a position on the question: they check, compare or moderate."""
        return self.helpers


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Fact):
    """A seat's answer to an ask, validated against its shape. Subclasses narrow `said`. `key` makes a retried call count once.

    `corrections` are the changes that were made to read the answer, `origin` is the door through which it came in (`token:ID`,
    `local:USER`, `relay`, `program:NAME`, `owner:` and one of these), and `model` is the model that answered, as its provider
    names it.
    """

    ask: AskId
    seat: SeatId
    said: object
    usage: Usage = FREE
    key: str = ""
    corrections: tuple[str, ...] = ()
    origin: str = ""
    model: str = ""


def list_worded_choices(corrections: Iterable[str]) -> list[str]:
    """Return the notes on choices that were taken from a sentence or asked back, each with its words."""
    notes = [note for note in corrections if note.startswith(("words ", f"{MEANT} "))]
    return [note for note in notes if note != "words the answer"]


MEANT: Final = "meant"
"""The note on a choice that its seat settled when it was asked which one it had meant, with its words."""
ASKED_BACK: Final = "asked_back"
"""The note on an answer that was given when its seat was asked which one it means, with what it had said."""
UNCOUNTED: Final = "uncounted"
"""The note on an answer that says yes, twice, where the question names several things: it counts for none of them."""


def list_uncounted_words(corrections: Iterable[str]) -> list[str]:
    """Return the words, each in quotation marks, that were recorded and count for nothing."""
    notes = [note.partition(" ") for note in corrections]
    return [words for code, _, words in notes if code == UNCOUNTED]


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed(Fact):
    """The last fact of a session; that of a protocol says in its `reason` what ended it."""

    @property
    def ended_by(self) -> str | None:
        """What ended the session, by a name of the protocol; None where nothing says so."""
        return getattr(self, "reason", None)


@add_kind(CORE_KINDS, "asks_sent")
class AsksSent(Fact):
    """These asks were sent to their seats, all with one deadline.

    `outside` asks wait for an answer from another process: no running process holds them, and their deadline does not move. An
    ask that is open already is sent once more, because its server is slow; `usage` is what the silence before cost.
    """

    asks: tuple[AskId, ...]
    deadline: datetime | None = None
    outside: bool = False
    usage: Usage = FREE


@add_kind(CORE_KINDS, "seat_lost")
class SeatLost(Fact):
    """A seat gave no usable answer to an ask."""

    ask: AskId
    seat: SeatId
    reason: Loss
    cause: Cause = NO_CAUSE
    usage: Usage = FREE


@add_kind(CORE_KINDS, "tool_used")
class ToolUsed(Fact):
    """A seat used a tool while it worked on an ask: what it called, and what came back.

    `result` is what the seat read, `sha256` and `size` (in characters) are those of all that the tool returned, and `places` are
    the lines of given files in it. `limit` is that of a budget which refused the call: `seat.calls = 20`.
    """

    ask: AskId
    seat: SeatId
    tool: str
    arguments: str = ""
    outcome: ToolOutcome = "answered"
    result: str = ""
    sha256: str = ""
    size: int = 0
    places: tuple[str, ...] = ()
    seconds: float = 0.0
    usage: Usage = FREE
    limit: str = ""


@add_kind(CORE_KINDS, "asks_withdrawn")
class AsksWithdrawn(Fact):
    """The session continued without waiting for these asks."""

    asks: tuple[AskId, ...]


@add_kind(CORE_KINDS, "input_given")
class InputGiven(Fact):
    """The user added a message to the session. `key` makes a retried call count once."""

    text: InputText
    key: Key = ""


@add_kind(CORE_KINDS, "close_called")
class CloseCalled(Fact):
    """The owner of the session asked for its end: it concludes with what has been said so far."""

    by: str = ""


@add_kind(CORE_KINDS, "budget_exhausted")
class BudgetExhausted(Fact):
    """A limit was reached; the protocol decides how the session ends."""

    budget: BudgetKind
    spent: float
    limit: float


@add_kind(CORE_KINDS, "session_resumed")
class SessionResumed(Fact):
    """A process resumed the session; the time since the last entry does not count."""


@add_kind(CORE_KINDS, "session_parked")
class SessionParked(Fact):
    """An outage left too few seats to decide fairly: nothing is asked, lost or concluded until the session is resumed.

    `seats` cannot be asked now; `causes` say why, for those that were tried. `usage` is what their failed asks cost; those are
    put again later.
    """

    seats: tuple[SeatId, ...]
    causes: tuple["SeatCause", ...]
    usage: Usage = FREE

    @property
    def reason(self) -> str:
        """Why, in English: `ada, bob: no key; cy: no model`."""
        return "; ".join(f"{', '.join(each.seats)}: {each.cause}" for each in self.causes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatCause:
    """Why seats cannot be asked: those with the same cause together."""

    seats: tuple[SeatId, ...]
    cause: Cause


@add_kind(CORE_KINDS, "seats_swapped")
class SeatsSwapped(Fact):
    """Other participants fill these seats from here on; what they were asked is put again."""

    swaps: tuple[Swap, ...]


@add_kind(CORE_KINDS, "family_stated")
class FamilyStated(Fact):
    """An agent from outside said which model family it is of (D-20); `origin` is the door through which it did."""

    seat: SeatId
    family: str
    origin: str = ""


@add_kind(CORE_KINDS, "answer_asked_back")
class AnswerAskedBack(Fact):
    """An agent from outside answered yes or no where the question names several things, and was asked which one (Q-2).

    Whatever it says next is recorded as its answer. `said` is what it had said.
    """

    ask: AskId
    seat: SeatId
    said: str


@add_kind(CORE_KINDS, "answers_judged")
class AnswersJudged(Reply):
    """What a judge says of pairs of answers, each in the order in which it was shown (Q-3)."""

    said: AnswerJudgements


@add_kind(CORE_KINDS, "answers_grouped")
class AnswersGrouped(Fact):
    """Which answers are counted as one: by `judge`, which was put each pair in both orders, or by the owner (`origin`).

    `missed`: why the judge has not judged (a loss, or what ended the session): then only equal words are one answer.
    """

    pairs: tuple[JudgedPair, ...] = ()
    judge: SeatId | None = None
    missed: str = ""
    origin: str = ""


@add_kind(CORE_KINDS, "facts_stated")
class FactsStated(Reply):
    """What a seat knows that the others may not, said before it could read them (Q-4)."""

    said: StatedFacts


@add_kind(CORE_KINDS, "facts_listed")
class FactsListed(Fact):
    """The facts of all seats are listed to all. `count` is how many there are; `passed` have nothing to add, `lost` did not answer."""

    count: int = 0
    passed: tuple[SeatId, ...] = ()
    lost: tuple[SeatId, ...] = ()


@add_kind(CORE_KINDS, "session_forked")
class SessionForked(Fact):
    """The entries before this one are a copy of another session up to one of its entries."""

    source: SessionId
    entry: int
    swaps: tuple[Swap, ...] = ()


@add_kind(CORE_KINDS, "session_cancelled")
class SessionCancelled(Closed):
    """The session was ended before it reached a conclusion."""

    reason: str = ""

    @property
    def ended_by(self) -> str:
        return "cancelled"


@add_kind(CORE_KINDS, "session_imported")
class SessionImported(Closed):
    """A session that had ended elsewhere was imported; `conclusion` is its JSON, unchanged."""

    conclusion: str


class Entry(NamedTuple):
    """A fact with its sequence number and time: `seq` counts from 1 without gaps."""

    seq: int
    at: datetime
    fact: Fact
