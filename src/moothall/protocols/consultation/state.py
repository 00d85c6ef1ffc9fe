"""The state of a session's consultations, beside the state of its own protocol."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import Any

from moothall.domain.consult import ConsultRequest, ConsultRules
from moothall.domain.facts import AsksSent, AsksWithdrawn, Entry, Fact, Reply, SeatLost
from moothall.domain.ids import AskId, SeatId, parse_ask_kind
from moothall.domain.replace import dataclass
from moothall.domain.roster import DIRECTOR
from moothall.domain.session_state import ProtocolState, RevealedLine
from moothall.domain.topic import UserInput
from moothall.protocols.consultation.facts import (
    CONSULT,
    KINDS,
    RECORD,
    Advice,
    RecordLocation,
    Refusal,
)

_CONSULTATION_FACTS = tuple(KINDS.values())


def build_repeat_id(ask: AskId, times: int) -> AskId:
    """Return the id of an ask that was sent `times` times before: `3.speech.ada` is repeated as `3~1.speech.ada`."""
    turn, dot, rest = ask.partition(".")
    return AskId(f"{turn}~{times}{dot}{rest}") if times else ask


def strip_repeat_id(ask: AskId) -> AskId:
    """Return the id by which the protocol knows an ask."""
    turn, dot, rest = ask.partition(".")
    return AskId(f"{turn.partition('~')[0]}{dot}{rest}") if "~" in turn else ask


def is_director_ask(ask: AskId) -> bool:
    return parse_ask_kind(ask) in {CONSULT, RECORD}


def to_inner_entry(entry: Entry) -> Entry | None:
    """Return the entry as the wrapped protocol sees it; None if it does not concern it."""
    fact = _to_inner_fact(entry.fact)
    # The same object if nothing changed: most entries need no copy.
    if fact is entry.fact:
        return entry
    return None if fact is None else entry._replace(fact=fact)


def _to_inner_fact(fact: Fact) -> Fact | None:
    match fact:
        case Reply(ask=ask) | SeatLost(ask=ask):
            if isinstance(fact, _CONSULTATION_FACTS) or is_director_ask(ask):
                return None
            return replace(fact, ask=strip_repeat_id(ask)) if "~" in ask.partition(".")[0] else fact
        case AsksSent(asks=asks) | AsksWithdrawn(asks=asks):
            own = tuple(strip_repeat_id(ask) for ask in asks if not is_director_ask(ask))
            if own == asks:
                return fact
            return replace(fact, asks=own) if own else None
        case _:
            return None if isinstance(fact, _CONSULTATION_FACTS) else fact


MAX_LEARNED = 6
"""How many consultations a seat is reminded of, the newest of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingRequest:
    """A request that the director has not handled yet. `is_own`: the seat made it itself."""

    ask: AskId
    seat: SeatId
    request: ConsultRequest
    is_own: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Consultation:
    """A consultation: first the other seat is asked, then the record is written and `filed`, and the asker reads its outcome.

    `seq` is the entry that began or refused it; `is_own`: the seat asked for it itself. `tries` and `filings` count failed
    attempts; `nested` is what the consulted seat itself would ask, until that is refused; `is_direct`: it was asked to answer
    without asking further. A request that was refused has no number, and names `to` as it was written.
    """

    number: int
    ask: AskId
    seat: SeatId
    to: SeatId
    request: ConsultRequest
    seq: int = 0
    is_own: bool = True
    tries: int = 0
    filings: int = 0
    nested: ConsultRequest | None = None
    is_direct: bool = False
    advice: Advice | None = None
    failure: str = ""
    refusal: str = ""
    at: datetime | None = None
    filed: RecordLocation | None = None

    @property
    def status(self) -> str:
        if self.refusal:
            return "refused"
        if self.failure:
            return "failed"
        if self.advice is None:
            return "open"
        return "unknown" if self.advice.is_unknown else "answered"

    @property
    def is_settled(self) -> bool:
        """Whether there is an answer or a failure, and only the record is to be written."""
        return self.advice is not None or bool(self.failure)

    @property
    def consult_ask(self) -> AskId:
        return build_repeat_id(AskId(f"{self.number}.{CONSULT}.{self.to}"), self.tries)

    @property
    def record_ask(self) -> AskId:
        return build_repeat_id(AskId(f"{self.number}.{RECORD}.{DIRECTOR.id}"), self.filings)


@dataclass(frozen=True, kw_only=True)
class ConsultingState(ProtocolState):
    """The state. It has no slots, for `fast_replace`. `inner` is the state of the wrapped protocol.

    `put` are the open asks; `again` counts how often an ask of the protocol was repeated; `extra` how many answers of a kind a
    seat has given beside those that the protocol counts. `ended` are the consultations before the current one, `rejected` the
    requests that were refused, and `refused` why, as long as the ask is open. `words` holds the last text of each seat.
    """

    inner: Any
    rules: ConsultRules
    token: str
    put: tuple[AskId, ...] = ()
    again: Mapping[AskId, int] = field(default_factory=dict)
    extra: Mapping[str, int] = field(default_factory=dict)
    waiting: tuple[PendingRequest, ...] = ()
    current: Consultation | None = None
    ended: tuple[Consultation, ...] = ()
    rejected: tuple[Consultation, ...] = ()
    refused: Mapping[AskId, Refusal] = field(default_factory=dict)
    words: Mapping[SeatId, str] = field(default_factory=dict)

    @property
    def consultations(self) -> tuple[Consultation, ...]:
        return self.ended if self.current is None else (*self.ended, self.current)

    def list_learned(self, seat: SeatId) -> tuple[Consultation, ...]:
        """Return the consultations that a seat is reminded of."""
        return tuple(each for each in self.ended if each.seat == seat)[-MAX_LEARNED:]

    def count_own(self, seat: SeatId) -> int:
        """Return how many consultations a seat has asked for itself."""
        return sum(each.seat == seat and each.is_own for each in self.consultations)

    @property
    def open_inputs(self) -> tuple[UserInput, ...]:
        if isinstance(self.inner, ProtocolState):
            return self.inner.open_inputs
        return self.user_inputs

    @property
    def is_sealed(self) -> bool:
        """Whether the wrapped protocol hides contributions now."""
        return bool(getattr(self.inner, "is_sealed", False))

    @property
    def sealed_after(self) -> int:
        return int(getattr(self.inner, "sealed_after", 0))

    @property
    def sealed_entries(self) -> Collection[int]:
        return self.inner.sealed_entries if isinstance(self.inner, ProtocolState) else ()

    def list_revealed(self, seq: int) -> Sequence[RevealedLine]:
        return self.inner.list_revealed(seq) if isinstance(self.inner, ProtocolState) else ()
