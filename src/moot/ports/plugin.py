"""What a protocol hands to the house: its rulebook, how its sessions open, and how they are told to people."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from moot.domain.budget import Budget
from moot.domain.facts import Entry, Language, Opened
from moot.domain.ids import SessionId
from moot.domain.roster import Seat
from moot.domain.rulebook import Rulebook
from moot.domain.topic import Topic
from moot.reports.decision import Decision
from moot.reports.summary import SummaryLine


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What every session is opened with. `settings` is an instance of the kit's settings class."""

    topic: str
    language: Language
    seed: int
    seats: tuple[Seat, ...]
    budget: Budget
    outside_patience: float
    settings: Any
    subject: Topic = Topic()
    hosted: bool = False


class ImportedSession(Protocol):
    """A session that was read from a file."""

    @property
    def opened(self) -> Opened: ...

    @property
    def session(self) -> str: ...

    @property
    def conclusion(self) -> str | None:
        """The JSON of its conclusion, if it had ended."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolPlugin:
    """One per protocol, found through the entry points `moot.protocols`.

    `tell` begins a teller; `lines` tells it one more entry and says what happened, in plain lines; `summary` is its decision in
    short. `wire_name` is what the protocol is called in calls that other programs make; `blind_from` the
    number of seats from which positions are taken blind, where its settings leave that open. `gates` are the kinds of answers
    that are validations: nobody consults over them. With `consults` its sessions have consultations unasked.
    """

    name: str
    rules: Rulebook[Any]
    settings: type
    open: Callable[[Plan], Opened]
    tell: Callable[[SessionId], Any]
    decision: Callable[[Any], Decision]
    lines: Callable[[Any, Entry], list[str]]
    summary: Callable[[Any], list[SummaryLine]]
    exports: Mapping[str, Callable[[Any], str]]
    wire_name: str = ""
    blind_from: int = 0
    gates: frozenset[str] = frozenset()
    consults: bool = False
    read_back: Callable[[str, tuple[Seat, ...], Budget], ImportedSession] | None = None
