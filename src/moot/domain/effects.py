"""Effects: what a rulebook wants done. Only the engine does it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from moot.domain.consult import ConsultRequest
from moot.domain.context import Perception
from moot.domain.facts import Fact, Language, Reply
from moot.domain.ids import AskId, SeatId
from moot.domain.roster import Seat


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Ask one seat for one kind of answer within `patience` seconds.

    An `invited` ask waits for nobody: a seat that answers from elsewhere may take it up of its own accord, no participant is
    called for it, and the session goes on without it. The patience of a `firm` one holds for a seat elsewhere, too. `first` is a
    consultation that the seat is to have before it answers, where the session has consultations.
    """

    id: AskId
    seat: SeatId
    kind: str
    turn: int
    patience: float
    invited: bool = False
    first: ConsultRequest | None = None
    firm: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Append a fact that follows from the state alone."""

    fact: Fact


Effect = Ask | Record


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """What may be given in place of an answer, and the fact that keeps it.

    In JSON it is an object with this one field; `shape.from_text` reads it from plain text, and gives None for any other text.
    """

    field: str
    reply: type[Reply]
    shape: type


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """How one kind of answer looks: the fact that keeps it, and whether it is plain text or JSON.

    `looks_up`: whoever answers may look things up first, where there is something to look them up with. `is_simple`: a very
    small model can fill it. `silence` are the fields of an answer that says nothing, where there is one.
    """

    kind: str
    reply: type[Reply]
    shape: type
    form: Literal["text", "json"]
    max_tokens: int
    instead: Alternative | None = None
    looks_up: bool = False
    is_simple: bool = False
    silence: tuple[tuple[str, object], ...] | None = None


def no_fault(said: object) -> str | None:
    """The check of an answer that its shape says all about."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldPrompt:
    """One field of an answer that a person is asked for. `choices` narrows it; one of `ends` needs no further fields.

    With `entries` it is asked for once for each of these lines.
    """

    field: str
    choices: tuple[str, ...] = ()
    is_needed: bool = False
    ends: tuple[str, ...] = ()
    entries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompareTexts:
    """Texts to be compared: each new one with all known ones and with the new ones before it."""

    known: tuple[str, ...] = ()
    new: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Brief:
    """All that a participant gets with an ask.

    The prompt is `system`, then `shared` (equal for all seats), then `own`. `probe` is a yes-or-no question whose answer's
    probability can stand for the whole. `subject` is the text that the answer is about. `fault` says what is wrong with an
    answer that has the right shape; None if nothing is. `wanted` are the fields that count here, in order; empty for all.
    `again` counts how often this very question was put before; `file_request` is what Moot itself is to do where no mind is
    asked.
    `comparing` are the texts that a measure of likeness is asked about.
    """

    ask: Ask
    seat: Seat
    form: AnswerForm
    language: Language
    seed: int
    nth: int
    perception: Perception
    system: str
    shared: str
    own: str
    probe: str = ""
    subject: str = ""
    fault: Callable[[object], str | None] = no_fault
    wanted: tuple[FieldPrompt, ...] = ()
    again: int = 0
    file_request: object = None
    comparing: CompareTexts = CompareTexts()
