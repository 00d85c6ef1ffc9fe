"""How a result came about: a closed union that each protocol fills with values, so that the memo knows no protocol (T-1)."""

from typing import Literal

from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass

VoteEnding = Literal["voted", "agreed_blind", "one_mind", "settled"]
UndecidedReason = Literal[
    "leader",
    "not_sure",
    "not_likely",
    "tie",
    "no_majority",
    "no_side",
    "nothing_proposed",
    "voices_lost",
    "owner_lost",
    "limit",
    "called",
    "nothing_agreed",
    "nobody_spoke",
    "no_minutes",
    "two_level",
    "leads",
    "too_few",
    "unknown",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ByVotes:
    """Those who took part decided, each with a vote or with its first answer."""

    kind: Literal["votes"] = "votes"
    ending: VoteEnding = "voted"
    """Whether they voted, or their first answers decided."""
    tries: int = 1
    """The number of the text that they agreed to."""
    is_quorum: bool = False
    """Whether fewer than all were asked to agree."""
    unasked: int = 0
    """How many were not asked, because the others were enough."""
    silent_writer: SeatId | None = None
    """Who wrote the decision where nobody had spoken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByOwner:
    """One participant decided, after advice from the others."""

    kind: Literal["owner"] = "owner"
    owner: SeatId
    advisers: int = 0
    """How many could advise."""
    advised: int = 0
    """How many did."""
    is_alike: bool = False
    """Whether all gave the same answer before they read each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByMinutes:
    """Minutes say what was agreed; nobody votes."""

    kind: Literal["minutes"] = "minutes"
    open_points: int = 0
    """How many points the minutes call open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByMeasure:
    """A crowd looked for an answer, and a measure chose it."""

    kind: Literal["measure"] = "measure"
    way: Literal["vote", "readings", "synthesis"]
    readers: int = 0
    """How many looked something up."""
    writer: SeatId | None = None
    """Who summed it up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByAnswer:
    """One participant was asked on behalf of another."""

    kind: Literal["answer"] = "answer"
    outcome: Literal["answered", "unknown", "refused", "failed"]
    asked: str
    asker: str
    ask_instead: str = ""
    """Whom to ask in its place."""
    unsure_of: str = ""
    """What it is not sure of, in its own words."""
    loss: str = ""
    """How the answer failed, as a code of a loss."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BySteps:
    """A result was made step by step."""

    kind: Literal["steps"] = "steps"
    outcome: Literal["completed", "rejected", "failed"]
    all: int
    """How many steps there are."""
    passed: int = 0
    """How many checks passed."""
    rejected: int = 0
    """How often a check rejected something."""
    at: int = 0
    """The number of the step that it ended at."""
    step: str = ""
    """Its name."""
    seat: SeatId | None = None
    """Who does that step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByReview:
    """A change was checked."""

    kind: Literal["review"] = "review"
    outcome: Literal["approve", "changes", "tied", "few_readers", "unplaced"]
    readers: int = 0
    """How many read all of it."""
    reviewers: int = 0
    faults: int = 0
    """How many faults must be mended, or were raised and have no place in the change."""
    small: int = 0
    """How many other findings there are."""
    place: str = ""
    """Where the worst fault is: `pay.py:41`."""
    claim: str = ""
    """What it is, or what is disputed, in the words of its finder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ByAuthor:
    """Someone decided alone, or wrote what others stand behind, without a vote."""

    kind: Literal["author"] = "author"
    author: SeatId | None
    backers: int = 0
    is_imported: bool = False
    """Whether the session was held elsewhere and read from a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """It ended without a decision."""

    kind: Literal["undecided"] = "undecided"
    reason: UndecidedReason
    limit: str = ""
    """Which limit was reached: `turns`, `tokens`, `money` or `time`."""
    amount: str = ""
    """How much that limit is, in words."""
    needed: int = 0
    """How many had to be for it."""
    threshold: float | None = None
    """How sure each had to be, or how likely right it had to be."""
    chance: float | None = None
    """How likely right it is."""


How = (
    ByVotes | ByOwner | ByMinutes | ByMeasure | ByAnswer | BySteps | ByReview | ByAuthor | Undecided
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LeadingSide:
    """An answer with the most support, whether it was decided on or not."""

    text: str
    """Its label, or its first sentence."""
    supporters: tuple[SeatId, ...] = ()
    opponents: tuple[SeatId, ...] = ()
    unsure: tuple[tuple[SeatId, float], ...] = ()
    """Those for it who are less sure than was asked of each, and how sure they are."""


TieBreak = Literal["first_answers", "conditions", "names"]
"""What chose between two answers with as much support: who had it before, who set a condition, or the order of names."""

Progress = Literal["sealed", "talk", "step", "round", "outside"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where a session stands that has no result: one that goes on, waits, was cancelled, or cannot be read (T-2)."""

    state: Literal["running", "parked", "stopped", "cancelled", "damaged", "newer"]
    session: str = ""
    topic: str = ""
    progress: Progress | None = None
    """What of a running session is known."""
    answered: int = 0
    """How many have answered or spoken."""
    asked: int = 0
    """How many are asked."""
    open_objections: int = 0
    waiting: tuple[str, ...] = ()
    """Those who are awaited."""
    until: str = ""
    """By when they may answer."""
    step: str = ""
    number: int = 0
    """The number of the step or round that is under way."""
    of: int = 0
    """How many steps or rounds there are."""
    reason: str = ""
    """Why it is on hold, or was cancelled."""
    entry: int = 0
    """The entry that cannot be read."""
