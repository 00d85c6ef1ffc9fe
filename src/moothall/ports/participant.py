"""The participant port: a model, agent, person or script that fills a seat."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from moothall.domain.budget import FREE, Usage
from moothall.domain.effects import Brief
from moothall.domain.facts import Loss

OnText = Callable[[str], None]

OnWaiting = Callable[[bool], None]
"""Told when a participant begins and ends to wait for its turn at a provider."""
ON_WAITING: ContextVar[OnWaiting | None] = ContextVar("moot_on_waiting", default=None)
ON_RETRY: ContextVar[Callable[[], None] | None] = ContextVar("moot_on_retry", default=None)
"""Told when a participant tries again to get an answer."""

ASKED_IN: ContextVar[str] = ContextVar("moot_asked_in", default="")
"""The session whose ask is being answered; "" where nobody is asked."""


@contextmanager
def note_waiting() -> Iterator[None]:
    """While a participant waits for its turn at a provider: that time is not the seat's, and its deadline moves by it."""
    told = ON_WAITING.get()
    if told is not None:
        told(True)
    try:
        yield
    finally:
        if told is not None:
            told(False)


def note_retry() -> None:
    """Say that the answer is tried for again, after a failure that may pass."""
    told = ON_RETRY.get()
    if told is not None:
        told()


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer in the requested shape."""

    said: object
    usage: Usage = FREE
    corrections: tuple[str, ...] = ()
    """What was changed to read it."""
    model: str = ""
    """The model that answered, as its provider names it."""
    origin: str = ""
    """The door it came in through where that is not the seat's platform itself: `program:NAME`, `local:USER`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """The reason why there is no answer. A value and not an exception, because it is expected to happen.

    `unreachable` (and `rejected_key`) is an outage: the participant could not be asked at all, and may be back later. Where
    outages leave too few seats, the session parks and asks again when it is resumed; any other reason is a loss.
    """

    reason: Loss
    detail: str = ""
    usage: Usage = FREE


class Participant(Protocol):
    """Something that answers briefs. The caller sets the deadline and cancels."""

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        """Return an answer in `brief.form.shape`; `on_text` receives plain text while it is produced."""
        ...

    async def ready(self) -> str | None:
        """Return what prevents this participant from working, in one sentence with the remedy; None if nothing does."""
        ...


@runtime_checkable
class VerifiableAnswer(Protocol):
    """An answer that can be marked as unverified: given without the search that it should rest on."""

    def mark_unverified(self) -> object: ...
