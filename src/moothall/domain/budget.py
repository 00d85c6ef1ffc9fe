"""The budget of a session, its running total (tokens, money, time), the work that it may take, and the tools of one ask;
and durations as people write them: seconds, or a number with a unit.
"""

import math
from typing import Final, Literal

from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass, fast_replace
from moothall.errors import BadSetting

BudgetKind = Literal["tokens", "money", "time"]
DEFAULT_TURNS: Final = 12
"""The turns of a session that is opened without a budget."""
SHORT_ANSWER = 120
LONG_ANSWER = 500
"""Tokens of a bid or a vote, and of a speech, a proposal or a report, as models usually write them."""

MAX_STATED_TOKENS: Final = 10**9
MAX_STATED_DOLLARS: Final = 10**6


def read_tokens(count: object) -> int:
    """Return a count of tokens that another program states; 0 for what is none or cannot be true: it is added to a budget."""
    return (
        count
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < MAX_STATED_TOKENS
        else 0
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The cost of one answer. Money is in millionths of a US dollar; None means that the price is unknown."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: int | None = None
    calls: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        # A sum keeps the known part: one call without a price must not hide what the others cost.
        known = [cost for cost in (self.cost, other.cost) if cost is not None]
        return Usage(
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost=sum(known) if known else None,
            calls=self.calls + other.calls,
        )


FREE = Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limits of a session; None means no limit. Seconds count only while a process runs the session."""

    turns: int | None = None
    tokens: int | None = None
    money: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The running total of a session. `unpriced` counts model calls whose price is unknown."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: int = 0
    calls: int = 0
    unpriced: int = 0
    seconds: float = 0.0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    def plus(self, usage: Usage) -> "Spent":
        # Most facts of a session cost nothing: returning the same object spares a copy for each of them.
        if usage is FREE or usage == FREE:
            return self
        cost, unpriced = self.cost, self.unpriced
        if usage.cost is None:
            unpriced += usage.calls
        else:
            cost += usage.cost
        return Spent(
            tokens_in=self.tokens_in + usage.tokens_in,
            tokens_out=self.tokens_out + usage.tokens_out,
            cost=cost,
            calls=self.calls + usage.calls,
            unpriced=unpriced,
            seconds=self.seconds,
        )

    def with_seconds(self, seconds: float) -> "Spent":
        # A clock that was set back must not give time back: a negative gap counts as zero.
        return fast_replace(self, seconds=self.seconds + max(0.0, seconds))


def find_exhausted_limit(budget: Budget, spent: Spent) -> BudgetKind | None:
    """Return the first limit that is reached: tokens before money before time. Each protocol counts its own turns."""
    if budget.tokens is not None and spent.tokens >= budget.tokens:
        return "tokens"
    if budget.money is not None and spent.cost >= budget.money:
        return "money"
    if budget.seconds is not None and spent.seconds >= budget.seconds:
        return "time"
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCalls:
    """How often each of these seats is asked for one kind of answer, at least and at most, and how long the answers are.

    A fraction is a share of asks that go to one of several seats. What one entry names comes after what the entry before it does.
    """

    seats: tuple[SeatId, ...]
    least: float
    most: float
    tokens_out: int = LONG_ANSWER
    is_in_turn: bool = False
    """Whether the seats are asked one after the other, each after the answer of the one before, and not all at once."""
    steps: tuple[int, int] | None = None
    """How many of these calls wait for one another, at least and at most, where neither is so."""
    tokens_in: int | None = None
    """The tokens of one prompt, where the protocol knows them: it shows a part of what was given."""


ToolSwitch = Literal["auto", "on", "off"]
"""`auto`: where the given files are too long for a prompt. `on`: wherever files were given; models are shown passages alone."""
ToolOutcome = Literal["answered", "refused", "failed"]

GIVEN_TOOLS: Final = ("read", "search")
"""The tools over what was given; any other name is one that the owner of the machine has set up."""
MAX_TOOL_CALLS: Final = 50
CHARACTERS_PER_TOKEN: Final = 3
PICTURE_TOKENS: Final = 1_600
"""About what one picture costs at most with the providers that say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLimits:
    """How much may be looked up; None means no limit. Tokens are those of results, money is in millionths of a US dollar."""

    calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    money: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """The budget of one ask. What is over it is not called: the seat answers with what it has."""

    switch: ToolSwitch = "auto"
    calls: int = 8
    """How many calls are made, those that are refused included."""
    seconds: float = 60.0
    """After which time no further call is made."""
    tokens: int = 24_000
    """How many tokens all results may have together, about three characters each."""
    names: tuple[str, ...] = GIVEN_TOOLS
    """Which tools seats have; those over what was given as `switch` says."""
    money: int | None = None
    seat: ToolLimits = ToolLimits()
    """What each seat may use in the whole session."""
    session: ToolLimits = ToolLimits()
    """What all seats may use together."""


DEFAULT_TOOL_RULES: Final = ToolRules()


_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def parse_duration(value: float | str) -> float:
    """Return the seconds of `90`, `"90"`, `"90s"`, `"10m"`, `"2h"` or `"3d"`.

    Raises BadSetting when it is not a duration, or not greater than 0.
    """
    text = str(value).strip().lower()
    unit = _UNITS.get(text[-1:])
    try:
        seconds = float(text[:-1]) * unit if unit else float(text)
    except ValueError as cause:
        raise BadSetting(
            f"{str(value)[:60]!r} is not a duration; write seconds, or 90s, 10m, 2h, 3d"
        ) from cause
    if not 0 < seconds < math.inf:
        raise BadSetting(f"{str(value)[:60]!r} is not a duration; it must be greater than 0")
    return seconds
