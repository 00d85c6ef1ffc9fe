"""The consultations of a session for reports, beside its own timeline. Each entry is added once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from moothall.domain.consult import DEMO_FOLDER, ConsultRequest
from moothall.domain.facts import Entry, SeatLost
from moothall.domain.ids import SeatId, SessionId, parse_ask_kind
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import CONSULTATION_PROMPT, ConsultationPromptText
from moothall.protocols.consultation import facts
from moothall.protocols.consultation.state import to_inner_entry
from moothall.reports.timeline import SessionPhase, SessionTimeline
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


def unwrap_timeline(timeline: Any) -> Any:
    """Return the timeline of the protocol itself, with or without consultations around it."""
    return timeline.within if isinstance(timeline, ConsultingTimeline) else timeline


class ConsultingTimeline(SessionTimeline):
    """A timeline with consultations. `within` is the timeline of the protocol, which does not see the consultations."""

    def __init__(self, session: SessionId, timeline: Any) -> None:
        super().__init__(session)
        assert isinstance(timeline, SessionTimeline)
        self.within: Any = timeline
        self._inner: SessionTimeline = timeline
        # The same list object: it grows as the protocol's timeline adds lines to it.
        self.lines = timeline.lines
        self.consultations: list[ConsultationSummary] = []
        self.refusals: list[ConsultationSummary] = []
        self._requests: list[facts.ConsultationRequested] = []

    @property
    def words(self) -> ConsultationPromptText:
        return CONSULTATION_PROMPT[self.session_state.opened.language]

    @property
    def advice(self) -> facts.Advice | None:
        """The last reply; None where it was not recorded."""
        last = self.consultations[-1] if self.consultations else None
        return None if last is None or last.failure else last.advice

    def add(self, entry: Entry) -> None:
        self.add_consultation_entry(entry)
        inner = to_inner_entry(entry)
        if inner is not None:
            self.within.add(inner)

    def list_phases(self) -> Sequence[SessionPhase]:
        return self._inner.list_phases()

    def list_silences(self) -> Mapping[SeatId, str]:
        return self._inner.list_silences()

    def list_breaks(self) -> Sequence[tuple[int, str]]:
        return self._inner.list_breaks()

    def add_consultation_entry(self, entry: Entry) -> None:
        """Add one entry, except to the timeline of the protocol."""
        self.apply_shared(entry)
        if to_inner_entry(entry) is None:
            # Its cost and its time count in every report of the session.
            self.within.apply_shared(entry)
        match entry.fact:
            case facts.ConsultationRequested():
                self._requests.append(entry.fact)
            case facts.ConsultationRefused() as fact:
                request = self._take_request(fact.seat, fact.request)
                self.refusals.append(
                    ConsultationSummary(seq=entry.seq, seat=fact.seat, to=fact.to, request=request, refusal=fact.reason)
                )
            case facts.ConsultationBegun() as fact:
                request = self._take_request(fact.seat, fact.request)
                self.consultations.append(ConsultationSummary(seq=entry.seq, seat=fact.seat, to=fact.to, request=request))
            case facts.ConsultationInsisted(seat=seat):
                self._take_request(seat, None)
            case facts.ConsultationAnswered(said=advice):
                self._update_last(advice=advice)
            case facts.ConsultationFiled(said=filed):
                # The records of a demo are in Moot's own folder: nobody must look for them in the current one.
                home = f"MOOT_HOME/{DEMO_FOLDER}/" if self.session_state.opened.demo else ""
                self._update_last(filed=replace(filed, path=home + filed.path))
            case facts.ConsultationFailed(reason=reason):
                self._update_last(failure=reason)
            case SeatLost(ask=ask, reason=reason) if parse_ask_kind(ask) == facts.CONSULT:
                self._update_last(failure=reason)

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


def add_and_describe_consultation(
    lines: Callable[[Any, Entry], list[str]], timeline: ConsultingTimeline, entry: Entry
) -> list[str]:
    """Add one entry and return lines that describe it: the protocol's, or the director's."""
    timeline.add_consultation_entry(entry)
    inner = to_inner_entry(entry)
    if inner is not None:
        return lines(timeline.within, inner)
    words = timeline.words
    match entry.fact:
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
        case facts.ConsultationFiled() if timeline.consultations and (filed := timeline.consultations[-1].filed):
            return [f"  ▤ {words.told_filed}: {one_line(filed.path)}"]
        case SeatLost(seat=seat, reason=reason, detail=detail):
            cause = one_line(explain_detail(detail, reason, timeline.session_state.opened.language))
            suffix = f" ({cause})" if cause else ""
            return [f"  ✗ {words.told_failed}: {seat}: {words.losses[reason]}{suffix}"]
        case _:
            return []
