"""The state of a session's consultations, beside the state of its own protocol."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from moothall.domain.consult import ConsultRequest, ConsultRules
from moothall.domain.ids import AskId, SeatId
from moothall.domain.protocol_state import ProtocolState
from moothall.domain.roster import DIRECTOR
from moothall.protocols.consultation.asks import build_repeat_id
from moothall.protocols.consultation.facts import CONSULT, RECORD, Advice, RecordLocation, Refusal

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
    """The running consultation: first the other seat is asked, then the record is written.

    `tries` and `filings` count failed attempts; `is_direct`: the consulted seat was told to answer without asking further.
    """

    number: int
    ask: AskId
    seat: SeatId
    to: SeatId
    request: ConsultRequest
    status: Literal["asking", "filing"] = "asking"
    tries: int = 0
    filings: int = 0
    is_direct: bool = False
    has_insisted: bool = False
    advice: Advice | None = None
    failure: str = ""
    at: datetime | None = None

    @property
    def consult_ask(self) -> AskId:
        return build_repeat_id(AskId(f"{self.number}.{CONSULT}.{self.to}"), self.tries)

    @property
    def record_ask(self) -> AskId:
        return build_repeat_id(AskId(f"{self.number}.{RECORD}.{DIRECTOR.id}"), self.filings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationOutcome:
    """The outcome of a consultation, as the asker is told."""

    to: SeatId
    request: ConsultRequest
    advice: Advice | None
    failure: str = ""
    filed: RecordLocation | None = None


@dataclass(frozen=True, kw_only=True)
class ConsultingState(ProtocolState):
    """The state. It has no slots, for `fast_replace`. `inner` is the state of the wrapped protocol.

    `put` are the open asks; `again` counts how often an ask of the protocol was repeated; `extra` how many answers of a kind a
    seat has given beside those that the protocol counts. `insisting` are seats that request again after a refusal; `words` holds
    the last text of each seat.
    """

    inner: Any
    rules: ConsultRules
    token: str
    put: tuple[AskId, ...] = ()
    again: Mapping[AskId, int] = field(default_factory=dict)
    extra: Mapping[str, int] = field(default_factory=dict)
    waiting: tuple[PendingRequest, ...] = ()
    nested: PendingRequest | None = None
    current: Consultation | None = None
    begun: int = 0
    counts: Mapping[SeatId, int] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    learned: Mapping[SeatId, tuple[ConsultationOutcome, ...]] = field(default_factory=dict)
    refused: Mapping[AskId, Refusal] = field(default_factory=dict)
    insisting: tuple[tuple[AskId, SeatId], ...] = ()
    words: Mapping[SeatId, str] = field(default_factory=dict)

    @property
    def is_sealed(self) -> bool:
        """Whether the wrapped protocol hides contributions now."""
        return bool(getattr(self.inner, "is_sealed", False))

    @property
    def sealed_after(self) -> int:
        return int(getattr(self.inner, "sealed_after", 0))
