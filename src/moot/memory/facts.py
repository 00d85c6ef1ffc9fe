"""The facts that outlive sessions: what was decided, how it turned out, what hangs together, who may come in."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from moot.domain.facts import Fact
from moot.domain.topic import Stakes
from moot.scoring.positions import VotePosition

Outcome = Literal["success", "partial", "failure", "abandoned"]
ThreadStatus = Literal["active", "paused", "completed", "blocked"]
Role = Literal["owner", "observer", "seat"]

WEEK: Final = 7 * 24 * 3600.0
DAY: Final = 24 * 3600.0
HOUR: Final = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One who took part. `first` is the blind first choice as a label, "" when it is not known."""

    source: str
    seat: str
    family: str = ""
    first: str = ""
    first_confidence: float | None = None
    position: VotePosition | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionKept(Fact):
    """A session ended, and this is what is remembered of it. `decision` is the session's id, `head` the hash of its last record.

    `text` is what was argued, for search. `decided` is None when the group came to no decision.
    """

    decision: str
    protocol: str
    topic: str
    category: str = ""
    stakes: Stakes = "medium"
    tags: tuple[str, ...] = ()
    thread: str = ""
    decided: str | None = None
    choice: str = ""
    options: tuple[str, ...] = ()
    confidence: float | None = None
    consensus_type: str = ""
    members: tuple[Member, ...] = ()
    dissent: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    text: str = ""
    built_on: tuple[str, ...] = ()
    opened_at: datetime
    closed_at: datetime
    head: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoloDecided(Fact):
    """One source decided alone. `probes` are the circuits that this decision tries out."""

    decision: str
    source: str
    topic: str
    decided: str
    confidence: float
    category: str = ""
    stakes: Stakes = "medium"
    tags: tuple[str, ...] = ()
    built_on: tuple[str, ...] = ()
    probes: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoloBlocked(Fact):
    """One source wanted to decide alone and may not. `deliberation` is the session that decides instead."""

    source: str
    topic: str
    category: str = ""
    stakes: Stakes = "medium"
    tags: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    deliberation: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeReviewed(Fact):
    """How a decision turned out. `choice` is the choice that proved right, "" when that is not known."""

    decision: str
    outcome: Outcome
    choice: str = ""
    note: str = ""
    by: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadCreated(Fact):
    """A line of reasoning began that several sessions will follow."""

    thread: str
    title: str
    category: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadJoined(Fact):
    """A session belongs to a thread."""

    thread: str
    decision: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadStatusSet(Fact):
    thread: str
    status: ThreadStatus
    note: str = ""
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadQuestioned(Fact):
    """A question was left open in a thread; it gets the thread's next number."""

    thread: str
    question: str
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadQuestionSettled(Fact):
    """The question of this number is open no more."""

    thread: str
    question: int
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadVisited(Fact):
    """A seat was shown where the thread stands."""

    thread: str
    seat: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """The rules under which one may decide alone.

    `failures` within the window open a circuit; after the cooldown one probe may try; it must be reviewed within `probe_seconds`.
    Decisions at `deliberate_stakes` are never taken alone; those at high stakes only with `least_confidence`.
    """

    failures: int = 3
    window_seconds: float = WEEK
    cooldown_seconds: float = HOUR
    probe_seconds: float = DAY
    deliberate_stakes: tuple[Stakes, ...] = ("critical",)
    least_confidence: float = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySet(Fact):
    policy: Policy
    by: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CircuitReset(Fact):
    """Somebody closed a circuit by hand."""

    scope: str
    by: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenIssued(Fact):
    """A token was given out. Only the SHA-256 of its secret is kept; `session` "" is all sessions."""

    id: str
    digest: str
    role: Role
    session: str = ""
    seat: str = ""
    expires: datetime
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRevoked(Fact):
    id: str


MEMORY_KINDS: Final[dict[str, type[Fact]]] = {
    "memory.decision_kept": DecisionKept,
    "memory.solo_decided": SoloDecided,
    "memory.solo_blocked": SoloBlocked,
    "memory.outcome_reviewed": OutcomeReviewed,
    "memory.thread_created": ThreadCreated,
    "memory.thread_joined": ThreadJoined,
    "memory.thread_status_set": ThreadStatusSet,
    "memory.thread_questioned": ThreadQuestioned,
    "memory.thread_question_settled": ThreadQuestionSettled,
    "memory.thread_visited": ThreadVisited,
    "memory.policy_set": PolicySet,
    "memory.circuit_reset": CircuitReset,
}

ACCESS_KINDS: Final[dict[str, type[Fact]]] = {
    "access.token_issued": TokenIssued,
    "access.token_revoked": TokenRevoked,
}
