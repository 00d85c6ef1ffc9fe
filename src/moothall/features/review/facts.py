"""The facts of a review, and the shapes of its answers.

Pydantic copies the docstrings of the answer shapes into the JSON schema that models receive, so they are prompt text.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, get_args

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moothall.domain.topic import InputReplies
from moothall.plugins import Closed, Fact, Opened, Reply, SeatId, add_kind

Severity = Literal["critical", "major", "minor", "note"]
Concern = Literal[
    "logic",
    "security",
    "errors",
    "resources",
    "concurrency",
    "interface",
    "tests",
    "clarity",
    "other",
]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)
"""The worst first."""
StandWord = Literal["confirm", "dispute", "unsure"]
Verdict = Literal["approve", "request changes"]
ReviewEnding = Literal["reviewed", "disputed", "incomplete", "called", "tokens", "money", "time"]
Sentence = Annotated[str, MinLen(1), MaxLen(2_000)]
Remark = Annotated[str, MaxLen(2_000)]
Number = Annotated[int, Ge(0), Le(10_000_000)]

MAX_FINDINGS: Final = 40
"""How many findings one answer has, and how many of others a seat is asked about at once."""
MAX_UNREAD_LENGTH: Final = 1_000
"""How much of what could not be read is stored."""
INSPECT: Final = "inspect"
CHECK: Final = "check"
SETTLE: Final = "settle"

AUTHOR: Final = SeatId("author")
"""The seat of who wrote the change: it reviews nothing and counts for nothing, and answers once to what the others raised."""
AUTHOR_PATIENCE: Final = 86_400.0
"""The seconds that the author has: a comment is not read at once."""

KINDS: Final[dict[str, type[Fact]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewSettings:
    """How a change is reviewed. `block` is the least severity that asks for changes. `part_size` is how many characters of the
    change one question shows. `patience` is the seconds that a seat has for an answer."""

    block: Severity = "major"
    part_size: Annotated[int, Ge(2_000), Le(60_000)] = 24_000
    patience: Annotated[float, Gt(0), Le(31_536_000)] = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RaisedFinding:
    file: Annotated[str, MaxLen(1_000)]
    line: Number = 0
    severity: Severity
    concern: Concern = "other"
    claim: Sentence
    evidence: Annotated[str, MinLen(1), MaxLen(4_000)]
    settles: Remark = ""
    fix: Annotated[str, MaxLen(4_000)] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadFinding:
    """A finding that could not be read, or a word on one. Without `severity` that could not be read either."""

    given: Annotated[str, MaxLen(MAX_UNREAD_LENGTH)]
    why: Annotated[str, MaxLen(MAX_UNREAD_LENGTH)] = ""
    severity: Severity | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingsReport:
    findings: Annotated[tuple[RaisedFinding, ...], MaxLen(MAX_FINDINGS)]
    unread: Annotated[tuple[UnreadFinding, ...], MaxLen(MAX_FINDINGS)] = ()
    to_user: InputReplies = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingStand:
    finding: Number
    stand: StandWord
    reason: Remark = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StandsReport:
    stands: Annotated[tuple[FindingStand, ...], MaxLen(MAX_FINDINGS)]
    unread: Annotated[tuple[UnreadFinding, ...], MaxLen(MAX_FINDINGS)] = ()
    to_user: InputReplies = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedFinding:
    """What one or several seats raised about one place. `is_quoted`: its evidence stands in the change, at `first` to `last`.

    `fix` are lines that may stand in their place, checked to fit; empty where nobody suggested any that do."""

    number: int
    file: str
    first: int
    last: int
    severity: Severity
    concern: Concern
    claim: str
    evidence: str
    is_quoted: bool
    held_by: tuple[SeatId, ...]
    settles: str = ""
    fix: str = ""


@add_kind(KINDS, "review.opened")
class ReviewOpened(Opened):
    """The opening; the change is what was given with the question."""

    settings: ReviewSettings = ReviewSettings()


@add_kind(KINDS, "review.inspected")
class ChangeInspected(Reply):
    said: FindingsReport


@add_kind(KINDS, "review.merged")
class FindingsMerged(Fact):
    """What all seats raised blind, one finding for each place and meaning."""

    findings: tuple[MergedFinding, ...]


@add_kind(KINDS, "review.weighed")
class FindingsWeighed(Reply):
    said: StandsReport


@add_kind(KINDS, "review.closed")
class ReviewClosed(Closed):
    """The end of a review; without a verdict, `reason` says why there is none."""

    reason: ReviewEnding
    verdict: Verdict | None = None
