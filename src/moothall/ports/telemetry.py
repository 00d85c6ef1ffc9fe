"""The telemetry port: what a process counts of its work, and the spans of its traces. Neither ever holds what was said."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import field
from typing import Final, Protocol

from moothall.domain.replace import dataclass

Value = str | int | float | bool


@dataclass(slots=True)
class Counts:
    """What the sessions of one process did since it started, for its metrics.

    `appends` are those that were written, with `entries` in all; `conflicts` are those that another writer was faster than;
    `ended` are the sessions that one of them closed. `asks_open` are put to participants of this process now, `answers` are
    those that ended, by outcome: `answered` or the loss. `loop_stalls` are the times that the event loop stood still for a second.
    """

    appends: int = 0
    entries: int = 0
    conflicts: int = 0
    ended: int = 0
    ledger_retries: int = 0
    asks_open: int = 0
    ask_retries: int = 0
    provider_waits: int = 0
    provider_wait_seconds: float = 0.0
    loop_stalls: int = 0
    loop_stall_seconds: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)


class Span(Protocol):
    """A piece of work under way."""

    def note(self, **attributes: Value) -> None:
        """Add what became known meanwhile."""


class Tracer(Protocol):
    """Where spans go. Must not block: nothing of a session waits for it."""

    def span(
        self, name: str, *, caller: str = "", **attributes: Value
    ) -> AbstractContextManager[Span]:
        """A span around the work within; tasks that it starts belong to it, also those that outlive it.

        `caller` is the `traceparent` of the caller that asks for the work: the span belongs to that trace, if it names one.
        """


class _NoSpan:
    def note(self, **attributes: Value) -> None:
        return None


_NOTHING: Final = nullcontext(_NoSpan())
"""One object for all spans: a session without traces pays for a call, not for a span."""


class NoTracer:
    """Implements `Tracer` by keeping nothing."""

    def span(
        self, name: str, *, caller: str = "", **attributes: Value
    ) -> AbstractContextManager[Span]:
        return _NOTHING


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What one process counts and traces."""

    counts: Counts = field(default_factory=Counts)
    tracer: Tracer = field(default_factory=NoTracer)


@contextmanager
def name_work(name: str) -> Iterator[None]:
    """Let the task that runs now have the name of the call that it serves, for as long as this holds."""
    task = asyncio.current_task()
    if task is None:
        yield
        return
    before = task.get_name()
    task.set_name(name)
    try:
        yield
    finally:
        task.set_name(before)
