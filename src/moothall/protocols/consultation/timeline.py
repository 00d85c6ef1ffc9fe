"""The consultations of a session for reports, beside what its own protocol says."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from moothall.domain.consult import DEMO_FOLDER, ConsultRequest
from moothall.domain.facts import Entry, Fact, Opened, SeatLost
from moothall.domain.ids import SeatId, parse_ask_kind
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import CONSULTATION_PROMPT
from moothall.protocols.consultation import facts
from moothall.protocols.consultation.state import is_director_ask, to_inner_entry
from moothall.reports.timeline import SessionTimeline
from moothall.reports.wording import explain_detail


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsultationSummary:
    """One consultation in its current state, or one refused request."""

    seq: int
    seat: SeatId
    to: str
    request: ConsultRequest | None
    advice: facts.Advice | None = None
    failure: str = ""
    refusal: str = ""
    filed: facts.RecordLocation | None = None

    @property
    def status(self) -> str:
        if self.refusal:
            return "refused"
        if self.failure:
            return "failed"
        if self.advice is None:
            return "open"
        return "unknown" if self.advice.is_unknown else "answered"


class ConsultationLog:
    """The consultations of a session and its refused requests: the `director` of its timeline."""

    def __init__(self) -> None:
        self.consultations: list[ConsultationSummary] = []
        self.refusals: list[ConsultationSummary] = []
        self._requests: list[facts.ConsultationRequested] = []
        self._home = ""

    @property
    def advice(self) -> facts.Advice | None:
        """The last reply; None where it was not recorded."""
        last = self.consultations[-1] if self.consultations else None
        return None if last is None or last.failure else last.advice

    def take(self, entry: Entry) -> Entry | None:
        match entry.fact:
            case Opened(demo=demo) if demo:
                # The records of a demo are in Moot's own folder: nobody must look for them in the current one.
                self._home = f"MOOT_HOME/{DEMO_FOLDER}/"
            case facts.ConsultationRequested() as fact:
                self._requests.append(fact)
            case facts.ConsultationRefused() as fact:
                request = self._take_request(fact.seat, fact.request)
                self.refusals.append(
                    ConsultationSummary(seq=entry.seq, seat=fact.seat, to=fact.to, request=request, refusal=fact.reason)
                )
            case facts.ConsultationBegun() as fact:
                request = self._take_request(fact.seat, fact.request)
                self.consultations.append(ConsultationSummary(seq=entry.seq, seat=fact.seat, to=fact.to, request=request))
            case facts.ConsultationAnswered(said=advice):
                self._update_last(advice=advice)
            case facts.ConsultationFiled(said=filed):
                self._update_last(filed=replace(filed, path=self._home + filed.path))
            case facts.ConsultationFailed(reason=reason):
                self._update_last(failure=reason)
            case SeatLost(ask=ask, reason=reason) if parse_ask_kind(ask) == facts.CONSULT:
                self._update_last(failure=reason)
        return to_inner_entry(entry)

    def _take_request(self, seat: SeatId, given: ConsultRequest | None) -> ConsultRequest | None:
        if given is not None:
            return given
        # The oldest request of this seat: requests are handled in the order in which they arrive.
        requested = next((each for each in self._requests if each.seat == seat), None)
        if requested is None:
            return None
        self._requests.remove(requested)
        return requested.said

    def _update_last(self, **changes: Any) -> None:
        if self.consultations:
            self.consultations[-1] = replace(self.consultations[-1], **changes)


def get_consultations(timeline: SessionTimeline) -> ConsultationLog:
    """Return the consultations of a session; an empty log for one that has no director."""
    return timeline.director if isinstance(timeline.director, ConsultationLog) else ConsultationLog()


def add_and_describe_consultation(lines: Callable[[Any, Entry], list[str]], timeline: SessionTimeline, entry: Entry) -> list[str]:
    """Add one entry and return lines that describe it: the protocol's, or the director's."""
    if to_inner_entry(entry) is not None:
        return lines(timeline, entry)
    timeline.add(entry)
    return describe_consultation(timeline, entry.fact)


def describe_consultation(timeline: SessionTimeline, fact: Fact) -> list[str]:
    """Return lines that describe what the director did; nothing for any other fact."""
    words, done = CONSULTATION_PROMPT[timeline.language], get_consultations(timeline).consultations
    match fact:
        case facts.ConsultationRequested(seat=seat, said=request):
            return [f"  ? {seat} → {one_line(request.to)}: {one_line(request.question)}"]
        case facts.ConsultationBegun(seat=seat, to=to, request=ConsultRequest() as request):
            return [f"  ? {seat} → {to}: {one_line(request.question)}"]
        case facts.ConsultationRefused(seat=seat, to=to, reason=reason):
            return [f"  ✗ {words.told_refused}: {seat} → {one_line(to)} ({words.refusals[reason]})"]
        case facts.ConsultationAnswered(seat=seat, said=advice):
            mark = f" [{words.unknown.format(to=seat)}]" if advice.is_unknown else ""
            return [f"  ! {seat}: {one_line(advice.answer)}{mark}"]
        case facts.ConsultationFailed(reason=reason):
            return [f"  ✗ {words.told_failed}: {words.failures[reason]}"]
        case facts.ConsultationFiled() if done and (filed := done[-1].filed):
            return [f"  ▤ {words.told_filed}: {one_line(filed.path)}"]
        case SeatLost(ask=ask, seat=seat, reason=reason, detail=detail) if is_director_ask(ask):
            cause = one_line(explain_detail(detail, reason, timeline.language))
            suffix = f" ({cause})" if cause else ""
            return [f"  ✗ {words.told_failed}: {seat}: {words.losses[reason]}{suffix}"]
        case _:
            return []
