"""The facts that outlive sessions: decisions, outcomes, threads, circuit breakers, tokens."""

from datetime import datetime
from typing import Annotated, Final, Literal

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moothall.domain.facts import Fact, add_kind
from moothall.domain.limits import Count, OneLine, Share
from moothall.domain.replace import dataclass
from moothall.domain.topic import MAX_LABELS, Stakes
from moothall.scoring.positions import VotePosition

Outcome = Literal["success", "partial", "failure", "abandoned"]
ThreadStatus = Literal["active", "paused", "completed", "blocked"]
ObligationState = Literal["open", "met", "waived", "failed"]
Role = Literal["owner", "observer", "seat", "agent", "operator", "recorder"]

WEEK: Final = 7 * 24 * 3600.0
DAY: Final = 24 * 3600.0
HOUR: Final = 3600.0
MAX_WINDOW: Final = 366 * 24 * 3600.0
MAX_NAME_LENGTH: Final = 100
MAX_NAMES: Final = 200

Name = Annotated[str, MaxLen(MAX_NAME_LENGTH), OneLine()]
"""A short name, "" if there is none."""
RequiredName = Annotated[str, MinLen(1), MaxLen(MAX_NAME_LENGTH), OneLine()]
Source = Annotated[str, MinLen(1), MaxLen(500)]
"""Whose track record something adds to: a model, or the seat's own name."""
Number = Annotated[int, Ge(1)]
Line = Annotated[str, MaxLen(4_000)]
RequiredLine = Annotated[str, MinLen(1), MaxLen(4_000)]
Text = Annotated[str, MaxLen(100_000)]
RequiredText = Annotated[str, MinLen(1), MaxLen(100_000)]
Proposal = Annotated[str, MinLen(1), MaxLen(20_000)]
"""What a source wants to decide alone: a deliberation that decides instead takes it as a contribution."""
Labels = Annotated[tuple[RequiredName, ...], MaxLen(MAX_LABELS)]
Names = Annotated[tuple[RequiredName, ...], MaxLen(MAX_NAMES)]
Texts = Annotated[tuple[Text, ...], MaxLen(MAX_NAMES)]
Seconds = Annotated[float, Gt(0), Le(MAX_WINDOW)]
SourceCount = Annotated[int, Ge(2), Le(1_000)]
"""How many different sources must fail: with one, the failures of one would stop everyone."""

MEMORY_KINDS: Final[dict[str, type[Fact]]] = {}
ACCESS_KINDS: Final[dict[str, type[Fact]]] = {}
LABEL_KINDS: Final[dict[str, type[Fact]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A participant of a decision."""

    source: Source
    """Whose track record it adds to: a model, or the seat's own name."""
    seat: Source
    family: Annotated[str, MaxLen(500)] = ""
    first_choice: Line = ""
    """Its blind first choice as a label, "" if unknown."""
    first_confidence: Share | None = None
    position: VotePosition | None = None
    confidence: Share | None = None
    is_neutral: bool = False
    """It checked, compared or moderated, and was never to take a position."""
    quotations: Annotated[int, Ge(0)] = 0
    """How many of its quotations and citations were checked."""
    quotations_held: Annotated[int, Ge(0)] = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedObligation:
    """A condition of a decision that was carried: who set it, what must hold, and by when if that was stated (D-22)."""

    by: Source
    text: RequiredLine
    due: Annotated[str, MaxLen(MAX_NAME_LENGTH)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedNumber:
    """The median of blind estimates and their range."""

    median: float
    low: float
    high: float
    unit: Annotated[str, MaxLen(MAX_NAME_LENGTH)] = ""


@add_kind(MEMORY_KINDS, "memory.decision_recorded")
class DecisionRecorded(Fact):
    """What is remembered of a session that ended, or of a decision that a source made alone."""

    session: str
    """The id of the decision: its session's, or `alone.N`."""
    protocol: RequiredName
    topic: RequiredText
    category: Name = ""
    stakes: Stakes = "medium"
    tags: Labels = ()
    thread: Name = ""
    text: Text | None = None
    """What was decided; None if the group reached no decision."""
    choice: Line = ""
    options: Texts = ()
    confidence: Share | None = None
    consensus_type: Line = ""
    agreement: Name = ""
    """Where nobody is against it: `blind` if all had answered so before they read each other, else `after_reading`."""
    members: Annotated[tuple[Member, ...], MaxLen(MAX_NAMES)] = ()
    dissent: Texts = ()
    open_questions: Texts = ()
    search_text: Text = ""
    """What was argued, for search."""
    built_on: Labels = ()
    opened_at: datetime
    closed_at: datetime
    head: Line = ""
    """The hash of the session's last record."""
    strength: Name = ""
    """What the decision is worth in one word."""
    obligations: Annotated[tuple[RecordedObligation, ...], MaxLen(MAX_NAMES)] = ()
    """Numbered from 1."""
    number: RecordedNumber | None = None
    """The median of the blind estimates, where the question asked for a number."""
    forecast: Share | None = None
    """The chance by the blind forecasts that it happens, where the question was one; before it was drawn away from a half."""
    leading: Line = ""
    """Which answers the group did not tell apart, in one sentence, where it decided nothing."""
    badge: Line = ""
    """How the result came about, in a word or two: `3 of 4`; as in its memo."""
    what: Line = ""
    """What was decided, or why nothing was, in one sentence of its memo."""
    reservation: Line = ""
    """The short form of the first reservation of its memo; empty where there is none."""
    review_on: Name = ""
    """The day on which it is to be said how it turned out, such as 2026-12-19; empty where nobody wants that."""


@add_kind(MEMORY_KINDS, "memory.import_noted")
class ImportNoted(Fact):
    """A session was imported. What it decided is remembered only if it `is_adopted`."""

    session: str
    source: Line
    """Who signed it, in a few words."""
    is_adopted: bool = False


@add_kind(MEMORY_KINDS, "memory.solo_decided")
class SoloDecided(Fact):
    """A source decided alone."""

    decision_id: str
    source: RequiredName
    topic: RequiredLine
    text: Proposal
    confidence: Share
    category: Name = ""
    stakes: Stakes = "medium"
    tags: Labels = ()
    built_on: Labels = ()
    probes: tuple[str, ...] = ()
    """The circuits that this decision tests."""
    origin: Line = ""
    """The door through which it came in."""


@add_kind(MEMORY_KINDS, "memory.solo_blocked")
class SoloBlocked(Fact):
    """A source wanted to decide alone and may not."""

    source: str
    topic: str
    category: str = ""
    stakes: Stakes = "medium"
    tags: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    session: str = ""
    """The deliberation that decides instead."""
    text: str = ""
    """What the source wanted to decide."""
    confidence: float | None = None
    built_on: tuple[str, ...] = ()
    origin: str = ""


@add_kind(MEMORY_KINDS, "memory.outcome_reviewed")
class OutcomeReviewed(Fact):
    """How a decision turned out. `choice` is the choice that proved right, "" if unknown."""

    decision_id: str
    outcome: Outcome
    choice: Line = ""
    note: Line = ""
    by: Name = ""


@add_kind(MEMORY_KINDS, "memory.obligation_settled")
class ObligationSettled(Fact):
    """What became of the obligation of this number; a later fact replaces an earlier one, and `open` takes it back."""

    decision_id: str
    number: Number
    state: ObligationState
    note: Line = ""
    by: Name = ""


@add_kind(MEMORY_KINDS, "memory.thread_created")
class ThreadCreated(Fact):
    """A line of reasoning began that several sessions will follow."""

    thread: Name
    title: RequiredLine
    category: Name = ""
    by: Name = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadFact(Fact):
    """A fact about a thread that exists."""

    thread: str


@add_kind(MEMORY_KINDS, "memory.thread_joined")
class ThreadJoined(ThreadFact):
    """A session belongs to a thread."""

    session: RequiredName


@add_kind(MEMORY_KINDS, "memory.thread_status_set")
class ThreadStatusSet(ThreadFact):
    status: ThreadStatus
    note: Line = ""
    by: Name = ""


@add_kind(MEMORY_KINDS, "memory.thread_questioned")
class ThreadQuestioned(ThreadFact):
    """An open question was added to a thread; it gets the thread's next number."""

    question: RequiredLine
    by: Name = ""


@add_kind(MEMORY_KINDS, "memory.thread_question_settled")
class ThreadQuestionSettled(ThreadFact):
    """The question of this number is no longer open."""

    number: Number
    by: Name = ""


@add_kind(MEMORY_KINDS, "memory.thread_visited")
class ThreadVisited(ThreadFact):
    """A seat was shown the state of the thread."""

    seat: RequiredName


@dataclass(frozen=True, slots=True, kw_only=True)
class CategoryConfidence:
    """The confidence that a decision in a category needs to be made alone."""

    category: RequiredName
    min_confidence: Share


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules for deciding alone.

    `failures` within the window open a circuit; after the cooldown one probe is allowed, which must be reviewed within
    `probe_seconds`. Decisions at `deliberate_stakes` and in `deliberate_categories` are never made alone; those at high stakes
    only with `min_confidence`, those in a category of `category_confidence` only with what it says. The circuit of a category
    or of a tag opens on failures of at least `scope_sources` different sources, that of a level of stakes, which nearly everyone
    shares, on `stakes_sources`, the global one on `global_sources`.
    """

    failures: Count = 3
    window_seconds: Seconds = WEEK
    cooldown_seconds: Seconds = HOUR
    probe_seconds: Seconds = DAY
    deliberate_stakes: Annotated[tuple[Stakes, ...], MaxLen(4)] = ("critical",)
    min_confidence: Share = 0.6
    deliberate_categories: Names = ()
    category_confidence: Annotated[tuple[CategoryConfidence, ...], MaxLen(MAX_NAMES)] = ()
    scope_sources: SourceCount = 2
    stakes_sources: SourceCount = 3
    global_sources: SourceCount = 5


@add_kind(MEMORY_KINDS, "memory.policy_set")
class PolicySet(Fact):
    policy: Policy
    by: Name = ""


@add_kind(MEMORY_KINDS, "memory.circuit_reset")
class CircuitReset(Fact):
    """A circuit was closed by hand."""

    scope: str
    by: Name = ""
    note: Line = ""


@add_kind(MEMORY_KINDS, "memory.key_used")
class KeyUsed(Fact):
    """An idempotency key of a caller's was used: for which kind of write, with which words (their digest), for what result."""

    call: str
    by: str
    key: RequiredName
    digest: str
    result: str = ""


@add_kind(ACCESS_KINDS, "access.token_issued")
class TokenIssued(Fact):
    """A token was issued. Only the SHA-256 of its secret is stored; an empty `session` means all sessions.

    `seat` is the name that its holder speaks under: a seat of the session or, for the role `agent`, its own name everywhere.
    `family` is the model family of the agent that it is for, "" if that is not known.
    """

    id: str
    digest: str
    role: Role
    session: str = ""
    seat: str = ""
    expires: datetime
    note: Line = ""
    family: Name = ""


@add_kind(ACCESS_KINDS, "access.token_revoked")
class TokenRevoked(Fact):
    id: str


@add_kind(ACCESS_KINDS, "access.ticket_issued")
class TicketIssued(Fact):
    """A ticket was issued: its first bearer gets a login with the rights of the token. Only its digest is stored."""

    id: str
    digest: str
    token: str
    expires: datetime


@add_kind(ACCESS_KINDS, "access.login_started")
class LoginStarted(Fact):
    """A login with the rights of a token, by a ticket or, without, by the token itself; a browser's, or the token `holder`'s."""

    id: str
    digest: str
    token: str
    expires: datetime
    ticket: str = ""
    address: Name = ""
    holder: str = ""


@add_kind(ACCESS_KINDS, "access.login_ended")
class LoginEnded(Fact):
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """How often secrets of one address were refused for one reason; `token` is the id where the secret was once right."""

    address: Name
    reason: Name
    token: Name = ""
    count: Number = 1


@add_kind(ACCESS_KINDS, "access.secrets_refused")
class SecretsRefused(Fact):
    """Secrets were refused since the last such entry of a server; those of a flood are counted together."""

    refusals: Annotated[tuple[Refusal, ...], MaxLen(MAX_NAMES)]


@add_kind(LABEL_KINDS, "label.set")
class SessionLabelled(Fact):
    """The tags of a session, all of them, and whether it was put away; None leaves what was said before."""

    session: RequiredName
    tags: Labels | None = None
    is_away: bool | None = None
