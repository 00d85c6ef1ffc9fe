"""The consultations of a session for people, beside what its own protocol tells. Each entry is told once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from moot.domain.consult import ConsultRequest
from moot.domain.facts import Entry, SeatLost
from moot.domain.ids import SeatId, SessionId
from moot.domain.safe_text import one_line
from moot.protocols.consultation.asks import parse_ask_kind, to_inner_entry
from moot.protocols.consultation.facts import (
    CONSULT,
    Advice,
    ConsultationAnswered,
    ConsultationBegun,
    ConsultationFailed,
    ConsultationFiled,
    ConsultationInsisted,
    ConsultationRefused,
    ConsultationRequested,
    RecordLocation,
)
from moot.protocols.consultation.prompt_text import PROMPT_TEXT, ConsultationPromptText
from moot.reports.timeline import SessionTimeline


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationSummary:
    """One consultation as it stands, or one request that was refused."""

    seq: int
    seat: SeatId
    to: str
    request: ConsultRequest | None
    advice: Advice | None = None
    failure: str = ""
    refusal: str = ""
    filed: RecordLocation | None = None

    @property
    def status(self) -> str:
        if self.refusal:
            return "refused"
        if self.failure:
            return "failed"
        if self.advice is None:
            return "open"
        return "answered" if self.advice.known == "known" else "unknown"


def unwrap_timeline(timeline: Any) -> Any:
    """The story of the protocol itself, be it told with consultations round it or without."""
    return timeline.within if isinstance(timeline, ConsultingTimeline) else timeline


class ConsultingTimeline(SessionTimeline):
    """Told entry by entry, the opening first. `within` is the story of the protocol, which hears of no consultation."""

    def __init__(self, session: SessionId, timeline: Any) -> None:
        super().__init__(session)
        assert isinstance(timeline, SessionTimeline)
        self.within: Any = timeline
        # The protocol's own lines, which grow as it adds to them.
        self.lines = timeline.lines
        self.consultations: list[ConsultationSummary] = []
        self.refusals: list[ConsultationSummary] = []
        self._requests: list[ConsultationRequested] = []

    @property
    def words(self) -> ConsultationPromptText:
        return PROMPT_TEXT[self.session_state.opened.language]

    def add(self, entry: Entry) -> None:
        """Tell one more entry."""
        self.add_consultation_entry(entry)
        seen = to_inner_entry(entry)
        if seen is not None:
            self.within.add(seen)

    def add_consultation_entry(self, entry: Entry) -> None:
        """Take in one more entry, all but what the protocol makes of it."""
        self.apply_shared(entry)
        if to_inner_entry(entry) is None:
            # What it cost, and how long it took, counts in every view of the session.
            self.within.apply_shared(entry)
        match entry.fact:
            case ConsultationRequested():
                self._requests.append(entry.fact)
            case ConsultationRefused() as fact:
                request = self._take_request(fact.seat, fact.request)
                self.refusals.append(
                    ConsultationSummary(seq=entry.seq, seat=fact.seat, to=fact.to, request=request, refusal=fact.reason)
                )
            case ConsultationBegun() as fact:
                request = self._take_request(fact.seat, fact.request)
                self.consultations.append(ConsultationSummary(seq=entry.seq, seat=fact.seat, to=fact.to, request=request))
            case ConsultationInsisted(seat=seat):
                self._take_request(seat, None)
            case ConsultationAnswered(said=advice):
                self._update_last(advice=advice)
            case ConsultationFiled(said=filed):
                self._update_last(filed=filed)
            case ConsultationFailed(reason=reason):
                self._update_last(failure=reason)
            case SeatLost(ask=ask, reason=reason) if parse_ask_kind(ask) == CONSULT:
                self._update_last(failure=reason)
            case _:
                pass

    def _take_request(self, seat: SeatId, given: ConsultRequest | None) -> ConsultRequest | None:
        if given is not None:
            return given
        found = next((each for each in self._requests if each.seat == seat), None)
        if found is None:
            return None
        self._requests.remove(found)
        return found.said

    def _update_last(self, **changes: Any) -> None:
        if self.consultations:
            self.consultations[-1] = replace(self.consultations[-1], **changes)


def add_and_describe_consultation(
    lines: Callable[[Any, Entry], list[str]], timeline: ConsultingTimeline, entry: Entry
) -> list[str]:
    """Tell one more entry, in plain lines: those of the protocol, or those of the director."""
    timeline.add_consultation_entry(entry)
    seen = to_inner_entry(entry)
    if seen is not None:
        return lines(timeline.within, seen)
    words = timeline.words
    match entry.fact:
        case ConsultationRequested(seat=seat, said=request):
            return [f"  ? {seat} → {one_line(request.to)}: {one_line(request.question)}"]
        case ConsultationBegun(seat=seat, to=to, request=ConsultRequest() as request):
            return [f"  ? {seat} → {to}: {one_line(request.question)}"]
        case ConsultationRefused(seat=seat, to=to, reason=reason):
            return [f"  ✗ {words.told_refused}: {seat} → {one_line(to)} ({words.refusals[reason]})"]
        case ConsultationAnswered(seat=seat, said=advice):
            mark = f" [{words.unknown.format(to=seat)}]" if advice.is_unknown else ""
            return [f"  ! {seat}: {one_line(advice.answer)}{mark}"]
        case ConsultationFailed(reason=reason):
            return [f"  ✗ {words.told_failed}: {words.failures[reason]}"]
        case ConsultationFiled(said=filed):
            return [f"  ▤ {words.told_filed}: {one_line(filed.path)}"]
        case SeatLost(seat=seat, reason=reason, detail=detail):
            told = f" ({one_line(detail)})" if detail else ""
            return [f"  ✗ {words.told_failed}: {seat}: {words.failures[reason]}{told}"]
        case _:
            return []
