"""The consultations of a session for people, beside what its own protocol says: what became of each, and their report."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, Final

from moothall.domain.consult import DEMO_FOLDER, ConsultRequest
from moothall.domain.facts import Entry, Fact, Opened, SeatLost
from moothall.domain.ids import SeatId
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import CONSULTATION_PROMPT, ConsultationPromptText
from moothall.protocols.consultation import facts
from moothall.protocols.consultation.rules import apply_director, start_director
from moothall.protocols.consultation.state import (
    Consultation,
    ConsultingState,
    is_director_ask,
    to_inner_entry,
)
from moothall.reports.blocks import (
    Block,
    Card,
    Cell,
    Line,
    Mark,
    Muted,
    Quote,
    Report,
    Strong,
    Tone,
    build_section,
    build_table,
)
from moothall.reports.timeline import SessionTimeline
from moothall.reports.wording import explain_cause


class ConsultationLog:
    """The consultations of a session and its refused requests: the `director` of its timeline."""

    def __init__(self) -> None:
        self._state: ConsultingState | None = None

    @property
    def consultations(self) -> tuple[Consultation, ...]:
        state = self._state
        if state is None or not state.opened.demo:
            return () if state is None else state.consultations
        # The records of a demo are in Moot's own folder: nobody must look for them in the current one.
        return tuple(
            replace(
                each,
                filed=each.filed
                and replace(each.filed, path=f"MOOT_HOME/{DEMO_FOLDER}/{each.filed.path}"),
            )
            for each in state.consultations
        )

    @property
    def refusals(self) -> tuple[Consultation, ...]:
        return () if self._state is None else self._state.rejected

    @property
    def advice(self) -> facts.Advice | None:
        """The last reply; None where it was not recorded."""
        last = self.consultations[-1] if self.consultations else None
        return None if last is None or last.failure else last.advice

    def take(self, entry: Entry) -> Entry | None:
        if isinstance(entry.fact, Opened):
            self._state = start_director(entry.fact)
        elif self._state is not None:
            self._state = apply_director(self._state, entry)
        return to_inner_entry(entry)


def get_consultations(timeline: SessionTimeline) -> ConsultationLog:
    """Return the consultations of a session; an empty log for one that has no director."""
    return (
        timeline.director if isinstance(timeline.director, ConsultationLog) else ConsultationLog()
    )


def add_and_describe_consultation(
    lines: Callable[[Any, Entry], list[str]], timeline: SessionTimeline, entry: Entry
) -> list[str]:
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
            return [f"  ✗ {words.refused_line}: {seat} → {one_line(to)} ({words.refusals[reason]})"]
        case facts.ConsultationAnswered(seat=seat, said=advice):
            mark = f" [{words.unknown.format(to=seat)}]" if advice.is_unknown else ""
            return [f"  ! {seat}: {one_line(advice.answer)}{mark}"]
        case facts.ConsultationFailed(reason=reason):
            return [f"  ✗ {words.failed_line}: {words.failures[reason]}"]
        case facts.ConsultationFiled() if done and (filed := done[-1].filed):
            return [f"  ▤ {words.filed_line}: {one_line(filed.path)}"]
        case SeatLost(ask=ask, seat=seat, reason=reason) if is_director_ask(ask):
            cause = one_line(explain_cause(fact.cause, reason, timeline.language))
            suffix = f" ({cause})" if cause else ""
            return [f"  ✗ {words.failed_line}: {seat}: {words.losses[reason]}{suffix}"]
        case _:
            return []


_TONES: Final[dict[str, Tone]] = {
    "answered": "good",
    "unknown": "warn",
    "failed": "bad",
    "refused": "bad",
}


def add_consultations(
    report: Report, log: ConsultationLog, shown: Iterable[Consultation]
) -> Report:
    """The report of a session, with the consultations that its seats had, and a card for each that is `shown`."""
    entries = (*log.consultations, *log.refusals)
    if not entries:
        return report
    words = CONSULTATION_PROMPT[report.language]
    cards = [_build_card(line, words) for line in shown]
    table = build_table(words.columns, [_build_row(line, words) for line in entries])
    section = build_section(words.consultations, (table, *cards))
    return replace(
        report,
        argument=(*report.argument, Line(_summarize(log, words), "dim")),
        record=(*report.record, *section),
        names={**report.names, words.consultations: "consultations"},
    )


def _summarize(log: ConsultationLog, words: ConsultationPromptText) -> str:
    """How many consultations there were, why some came to nothing, and where the records are."""
    failed = [line for line in log.consultations if line.status == "failed"]
    text = f"{words.consultations}: {len(log.consultations)}"
    for name, lines in ((words.failed_line, failed), (words.refused_line, log.refusals)):
        if lines:
            reasons = ", ".join(dict.fromkeys(_explain(line, words) for line in lines))
            text += f", {name}: {len(lines)} ({reasons})"
    paths = [line.filed.path for line in log.consultations if line.filed is not None]
    return f"{text} · {one_line(', '.join(paths))}" if paths else text


def _build_row(line: Consultation, words: ConsultationPromptText) -> tuple[Cell, ...]:
    number, path = ("–", "") if line.filed is None else (line.filed.number, line.filed.path)
    reason, status = _explain(line, words), words.statuses[line.status]
    return (number, line.seat, line.to, f"{status}: {reason}" if reason else status, path)


def _explain(line: Consultation, words: ConsultationPromptText) -> str:
    """Why a consultation failed or was refused; empty where it was not."""
    return (
        words.refusals.get(line.refusal, line.refusal)
        or words.failures.get(line.failure)
        or words.losses.get(line.failure, line.failure)
    )


def _build_card(line: Consultation, words: ConsultationPromptText) -> Card:
    asked = build_request(line.seat, line.to, line.request, words)
    outcome: tuple[Block, ...] = (Line(_explain(line, words), "bad"),)
    if line.advice is not None and not line.failure:
        outcome = (Line(Strong(line.to)), *build_advice(line.advice, line.to, words))
    status = Mark(words.statuses[line.status], _TONES.get(line.status, "plain"))
    return replace(asked, blocks=(*asked.blocks, *outcome), head=(*asked.head, status))


def build_request(
    seat: SeatId, to: str, request: ConsultRequest, words: ConsultationPromptText
) -> Card:
    head = (Strong(f"{seat} → {to}"),)
    blocks = (
        Quote(request.question),
        *_build_part(words.labels["background"], request.background),
        *_build_part(words.labels["understanding"], request.understanding),
    )
    return Card(
        blocks=blocks, head=(*head, Mark(words.kinds[request.kind])), seat=seat, kind="turn"
    )


def build_advice(
    advice: facts.Advice, to: str, words: ConsultationPromptText, tone: Tone = "plain"
) -> tuple[Block, ...]:
    blocks: list[Block] = []
    if advice.is_unknown:
        blocks.append(Line(words.unknown.format(to=to), "strong"))
    blocks.append(Quote(advice.answer, tone))
    blocks += _build_part(words.labels["notes"], advice.notes)
    blocks += _build_part(words.labels["unsure_of"], advice.unsure_of)
    if advice.ask_instead:
        blocks.append(Line((Muted(words.labels["ask_instead"]), f" @{advice.ask_instead}")))
    return tuple(blocks)


def _build_part(label: str, text: str) -> tuple[Block, ...]:
    """A part of a request or a reply under its name; nothing where it is empty."""
    return (Line(label, "dim"), Quote(text)) if text else ()
