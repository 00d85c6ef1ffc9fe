"""What seats say before they take positions where they were given different things (Q-4): facts that the others may lack.

A group that decides by what all of its members know already leaves out what one of them knows alone. So each seat is asked for that
first, blind, and everything is listed to all, word for word, with who said it.
"""

from collections.abc import Iterable
from dataclasses import field
from datetime import datetime
from typing import Annotated, Final, Literal

from annotated_types import MaxLen

from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.roster import Seat, find_stand_in

FactsSwitch = Literal["auto", "on", "off"]
"""Whether seats say first what the others may not know; `auto`: where they were given different things."""
FactsReason = Literal["", "on", "files", "tools", "instructions", "roles"]
"""Why they do: the opener asked for it, or what differs between them; "" where they do not."""

FACTS_ASK: Final = "facts"
"""The kind of ask that wants the facts of a seat."""
MAX_FACTS: Final = 5
"""How many facts one seat may state."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFact:
    """A fact in the words of the seat that states it, and where it has it from."""

    fact: Annotated[str, MaxLen(1_000)]
    source: Annotated[str, MaxLen(300)] = ""
    """A file and line, a link or a tool; empty where the seat names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedFacts:
    """All facts that one seat states; none where it has nothing to add."""

    facts: Annotated[tuple[StatedFact, ...], MaxLen(MAX_FACTS)]

    @property
    def listed(self) -> tuple[StatedFact, ...]:
        """The facts without those that are empty, or say that there is none."""
        # Imported here: lists of sessions know these shapes and read no words.
        from moothall.domain.vocabulary import is_pass_text

        listed: list[StatedFact] = []
        for each in self.facts:
            # Small models fill a list that they could leave empty.
            if each.fact.strip() and not is_pass_text(each.fact):
                listed.append(each)
        return tuple(listed)


@dataclass(frozen=True, slots=True, kw_only=True)
class SeatFacts:
    """What one seat stated, with the ledger's entry that holds it."""

    seq: int
    at: datetime
    seat: SeatId
    said: StatedFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class FactsTable:
    """The facts of a session."""

    stated: tuple[SeatFacts, ...] = ()
    """The answers, in the order in which they came."""
    lost: tuple[SeatId, ...] = ()
    """The seats that gave no usable answer."""
    listed_at: int = 0
    """The ledger's entry from which on all may read them; 0 while seats still write."""

    @property
    def settled(self) -> frozenset[SeatId]:
        """The seats that need not be asked any more."""
        return frozenset((*self.lost, *(each.seat for each in self.stated)))


NO_FACTS: Final = FactsTable()


@dataclass(frozen=True, slots=True, kw_only=True)
class FactGiver:
    """A seat that states a fact, and its source for it."""

    seat: SeatId
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledFact:
    """A fact as it is listed to all: in the words of the first seat that states it, with every seat that does."""

    text: str
    givers: tuple[FactGiver, ...] = field(default=())


def pool_facts(table: FactsTable, seats: Iterable[SeatId]) -> tuple[PooledFact, ...]:
    """Return the facts that all may read, in the order of the seats: equal words of two seats are one fact of both."""
    if not table.listed_at:
        return ()
    by_seat: dict[SeatId, tuple[StatedFact, ...]] = {}
    for each in table.stated:
        by_seat[each.seat] = each.said.listed
    texts: dict[str, str] = {}
    givers: dict[str, list[FactGiver]] = {}
    for seat in seats:
        for stated in by_seat.get(seat, ()):
            # The same sentence of two seats is one fact; a fact in other words stays another, whatever it means.
            key = " ".join(stated.fact.casefold().split()).rstrip(".。!！")
            texts.setdefault(key, stated.fact)
            givers.setdefault(key, []).append(FactGiver(seat=seat, source=stated.source))
    return tuple(PooledFact(text=text, givers=tuple(givers[key])) for key, text in texts.items())


def find_difference(seats: Iterable[Seat]) -> FactsReason:
    """Return what these seats were given differently; "" where it is the same for all, or where no minds sit there."""
    voices = tuple(seats)
    # What was written in advance, or is too small to know anything, has nothing to add.
    if len(voices) < 2 or find_stand_in(voices):
        return ""
    if len({frozenset(seat.sees) for seat in voices}) > 1:
        return "files"
    if len({frozenset(seat.tools) for seat in voices}) > 1:
        return "tools"
    # An agent from outside that has a role alone keeps the calls of its protocol, which begin with positions.
    if any(seat.is_outside for seat in voices):
        return ""
    if len({seat.instructions.strip() for seat in voices}) > 1:
        return "instructions"
    if len({seat.stance.strip().casefold() for seat in voices}) > 1:
        return "roles"
    return ""
