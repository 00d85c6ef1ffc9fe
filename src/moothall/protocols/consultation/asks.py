"""The ids of asks that are repeated after a consultation, and the ledger as the wrapped protocol sees it.

An ask `3.speech.ada` that was answered with a request is repeated as `3~1.speech.ada`. The protocol knows only one ask.
"""

from dataclasses import replace
from typing import Final

from moothall.domain.facts import AsksSent, AsksWithdrawn, Entry, Fact, Reply, SeatLost
from moothall.domain.ids import AskId
from moothall.protocols.consultation.facts import CONSULT, KINDS, RECORD, ConsultationInsisted

INSISTED: Final = "it asked for a consultation again after one was refused"
_CONSULTATION_FACTS = tuple(KINDS.values())


def build_repeat_id(ask: AskId, times: int) -> AskId:
    """Return the id of an ask that was sent `times` times before."""
    turn, dot, rest = ask.partition(".")
    return AskId(f"{turn}~{times}{dot}{rest}") if times else ask


def strip_repeat_id(ask: AskId) -> AskId:
    """Return the id by which the protocol knows an ask."""
    turn, dot, rest = ask.partition(".")
    return AskId(f"{turn.partition('~')[0]}{dot}{rest}") if "~" in turn else ask


def parse_ask_kind(ask: AskId) -> str:
    parts = ask.split(".", 2)
    return parts[1] if len(parts) == 3 else ""


def is_director_ask(ask: AskId) -> bool:
    """Whether an ask is one of the director's own."""
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
            kept = tuple(strip_repeat_id(ask) for ask in asks if not is_director_ask(ask))
            if kept == asks:
                return fact
            return replace(fact, asks=kept) if kept else None
        case ConsultationInsisted(ask=ask, seat=seat):
            return SeatLost(ask=strip_repeat_id(ask), seat=seat, reason="malformed", detail=INSISTED)
        case _:
            return None if isinstance(fact, _CONSULTATION_FACTS) else fact
