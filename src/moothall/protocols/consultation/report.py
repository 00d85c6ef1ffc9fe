"""The consultations of a session in its report."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from moothall.domain.consult import ConsultRequest
from moothall.domain.ids import SeatId
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import CONSULTATION_PROMPT, ConsultationPromptText
from moothall.protocols.consultation.facts import Advice
from moothall.protocols.consultation.timeline import ConsultationLog, ConsultationSummary
from moothall.reports.blocks import Block, Card, Cell, Line, Mark, Muted, Quote, Report, Strong, Tone, build_section, build_table

_TONES: Final[dict[str, Tone]] = {"answered": "good", "unknown": "warn", "failed": "bad", "refused": "bad"}


def add_consultations(report: Report, log: ConsultationLog, shown: Iterable[ConsultationSummary]) -> Report:
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
        decision=(*report.decision, Line(_summarize(log, words), "dim")),
        record=(*report.record, *section),
        names={**report.names, words.consultations: "consultations"},
    )


def _summarize(log: ConsultationLog, words: ConsultationPromptText) -> str:
    """How many consultations there were, why some came to nothing, and where the records are."""
    failed = [line for line in log.consultations if line.status == "failed"]
    text = f"{words.consultations}: {len(log.consultations)}"
    for name, lines in ((words.told_failed, failed), (words.told_refused, log.refusals)):
        reasons = ", ".join(dict.fromkeys(_explain(line, words) for line in lines))
        text += f", {name}: {len(lines)} ({reasons})" if lines else ""
    paths = [line.filed.path for line in log.consultations if line.filed is not None]
    return f"{text} · {one_line(', '.join(paths))}" if paths else text


def _build_row(line: ConsultationSummary, words: ConsultationPromptText) -> tuple[Cell, ...]:
    number, path = ("–", "") if line.filed is None else (line.filed.number, line.filed.path)
    reason, status = _explain(line, words), words.statuses[line.status]
    return (number, line.seat, line.to, f"{status}: {reason}" if reason else status, path)


def _explain(line: ConsultationSummary, words: ConsultationPromptText) -> str:
    """Why a consultation failed or was refused; empty where it was not."""
    return (
        words.refusals.get(line.refusal, line.refusal)
        or words.failures.get(line.failure)
        or words.losses.get(line.failure, line.failure)
    )


def _build_card(line: ConsultationSummary, words: ConsultationPromptText) -> Card:
    asked = build_request(line.seat, line.to, line.request, words)
    outcome: tuple[Block, ...] = (Line(_explain(line, words), "bad"),)
    if line.advice is not None and not line.failure:
        outcome = (Line(Strong(line.to)), *build_advice(line.advice, line.to, words))
    status = Mark(words.statuses[line.status], _TONES.get(line.status, "plain"))
    return replace(asked, blocks=(*asked.blocks, *outcome), head=(*asked.head, status))


def build_request(seat: SeatId, to: str, request: ConsultRequest | None, words: ConsultationPromptText) -> Card:
    head = (Strong(f"{seat} → {to}"),)
    if request is None:
        return Card(blocks=(), head=head, seat=seat, kind="turn")
    blocks = (
        Quote(request.question),
        *_build_part(words.labels["background"], request.background),
        *_build_part(words.labels["understanding"], request.understanding),
    )
    return Card(blocks=blocks, head=(*head, Mark(words.kinds[request.kind])), seat=seat, kind="turn")


def build_advice(advice: Advice, to: str, words: ConsultationPromptText, tone: Tone = "plain") -> tuple[Block, ...]:
    return (
        *((Line(words.unknown.format(to=to), "strong"),) if advice.is_unknown else ()),
        Quote(advice.answer, tone),
        *_build_part(words.labels["notes"], advice.notes),
        *_build_part(words.labels["unsure_of"], advice.unsure_of),
        *((Line((Muted(words.labels["ask_instead"]), f" @{advice.ask_instead}")),) if advice.ask_instead else ()),
    )


def _build_part(label: str, text: str) -> tuple[Block, ...]:
    """A part of a request or a reply under its name; nothing where it is empty."""
    return (Line(label, "dim"), Quote(text)) if text else ()
