"""Consultations in reports: as a part of any session's report, and on their own."""

from dataclasses import replace

from moot.domain.ids import parse_seat_id
from moot.domain.safe_text import one_line
from moot.protocols.consultation.prompt_text import PROMPT_TEXT
from moot.protocols.consultation.record_text import render_advice, render_request
from moot.protocols.consultation.standalone import QuestionState
from moot.protocols.consultation.timeline import ConsultationSummary, ConsultingTimeline
from moot.reports.blocks import Block, Card, Cell, Line, Quote, Report, Strong, build_section, build_table
from moot.reports.decision import Decision
from moot.reports.sections import build_costs, build_report, build_spent
from moot.reports.shared_text import SHARED_REPORT_TEXT
from moot.reports.timeline import TimelineBase


def add_consultations(report: Report, timeline: ConsultingTimeline) -> Report:
    """The report of a session, with the consultations that its seats had."""
    if not timeline.consultations and not timeline.refusals:
        return report
    words = timeline.words
    paths = [line.filed.path for line in timeline.consultations if line.filed is not None]
    failed = sum(line.status == "failed" for line in timeline.consultations)
    text = f"{words.consultations}: {len(timeline.consultations)}"
    text += f", {words.told_failed}: {failed}" if failed else ""
    text += f", {words.told_refused}: {len(timeline.refusals)}" if timeline.refusals else ""
    text += f" · {one_line(', '.join(paths))}" if paths else ""
    cards = [_build_card(line, timeline) for line in timeline.consultations]
    section = build_section(words.consultations, (build_table(words.columns, _build_rows(timeline)), *cards))
    return replace(report, decision=(*report.decision, Line(text, "dim")), record=(*report.record, *section))


def _build_card(line: ConsultationSummary, timeline: ConsultingTimeline) -> Block:
    words = timeline.words
    blocks: list[Block] = [Quote(line.request.question)] if line.request else []
    if line.advice is not None and not line.failure:
        blocks += [Line(Strong(line.to)), Quote(line.advice.answer)]
    elif line.failure:
        blocks.append(Line(f"{words.told_failed}: {words.failures.get(line.failure, line.failure)}", "bad"))
    return Card(blocks=tuple(blocks), head=(Strong(f"{line.seat} → {line.to}"),), seat=line.seat, kind="turn")


def _build_rows(timeline: ConsultingTimeline) -> list[tuple[Cell, ...]]:
    words = timeline.words
    done = [
        (
            "–" if line.filed is None else line.filed.number,
            line.seat,
            line.to,
            words.statuses[line.status],
            "" if line.filed is None else line.filed.path,
        )
        for line in timeline.consultations
    ]
    refused = [
        ("–", line.seat, line.to, f"{words.statuses['refused']}: {words.refusals.get(line.refusal, line.refusal)}", "")
        for line in timeline.refusals
    ]
    return [*done, *refused]


def build_question_report(timeline: TimelineBase[QuestionState], decision: Decision) -> Report:
    """A consultation on its own: the answer as the one who asked gets it, then the question; the director adds the rest."""
    opened, words, shared = timeline.state.opened, PROMPT_TEXT[timeline.language], SHARED_REPORT_TEXT[timeline.language]
    to = parse_seat_id(opened.request.to)
    if decision.decision is not None and timeline.state.advice is not None:
        answer: Block = Quote(render_advice(timeline.language, to, timeline.state.advice), "strong")
    else:
        status = "failed" if timeline.closed is not None else "open"
        answer = Line(f"@{to}: {words.statuses[status]}", "bad" if status == "failed" else "strong")
    question = Card(blocks=(Quote(render_request(timeline.language, opened.request, opened.request.to)),))
    report = build_report(
        timeline,
        decision,
        shared,
        decision_blocks=(
            *build_section(words.answer_title, (Card(blocks=(answer,), kind="decision"),)),
            build_spent(decision, shared),
        ),
        record=(*build_section(words.question_title, (question,)), *build_costs(timeline, shared)),
    )
    return replace(report, title=f"{words.consultations}: {opened.asker} → {one_line(opened.request.to)}")
