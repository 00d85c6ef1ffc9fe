"""What a session may spend, and what it has spent."""

from dataclasses import dataclass
from typing import Literal

from moot.domain.replace import fast_replace

BudgetKind = Literal["turns", "tokens", "money", "time"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one answer cost. Money is in millionths of a US dollar; None is "not known"."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost: int | None = None
    calls: int = 0

    def __add__(self, other: "Usage") -> "Usage":
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
    """Limits of a session; None is no limit. Seconds count only while a process runs the session."""

    turns: int | None = None
    tokens: int | None = None
    money: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, kw_only=True)
class Spent:
    """The running total. `unpriced` counts model calls whose price nobody knows."""

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
        if usage == FREE:
            return self
        return Spent(
            tokens_in=self.tokens_in + usage.tokens_in,
            tokens_out=self.tokens_out + usage.tokens_out,
            cost=self.cost + (usage.cost or 0),
            calls=self.calls + usage.calls,
            unpriced=self.unpriced + (usage.calls if usage.cost is None else 0),
            seconds=self.seconds,
        )

    def with_seconds(self, seconds: float) -> "Spent":
        return fast_replace(self, seconds=self.seconds + max(0.0, seconds))


def find_exhausted_limit(budget: Budget, spent: Spent) -> BudgetKind | None:
    """The first limit that has been reached, tokens before money before time. Turns are the protocol's to count."""
    if budget.tokens is not None and spent.tokens >= budget.tokens:
        return "tokens"
    if budget.money is not None and spent.cost >= budget.money:
        return "money"
    if budget.seconds is not None and spent.seconds >= budget.seconds:
        return "time"
    return None
