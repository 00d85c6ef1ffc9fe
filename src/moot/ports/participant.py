"""The participant port: whoever fills a seat."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from moot.domain.budget import FREE, Usage
from moot.domain.effects import Brief
from moot.domain.facts import Loss

OnText = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer in the shape that was asked for."""

    said: object
    usage: Usage = FREE


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAnswer:
    """Why there is none. Expected to happen, so a value and not an exception."""

    reason: Loss
    detail: str = ""
    usage: Usage = FREE


class Participant(Protocol):
    """Asked with a brief; the caller sets the deadline and cancels."""

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        """Answer in `brief.form.shape`; `on_text` hears plain text while it is produced."""
        ...

    async def ready(self) -> str | None:
        """What keeps this participant from working, in one sentence with the remedy; None if nothing does."""
        ...


@runtime_checkable
class VerifiableAnswer(Protocol):
    """An answer that can be marked as made without what it should have been looked up with."""

    def mark_unverified(self) -> object: ...
