"""What people read of a pipeline: its report, with the result first, and the lines of the live view."""

from functools import partial
from typing import Final

from moothall.domain.context import extract_first_sentence
from moothall.domain.facts import Entry
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import PipelineReportText
from moothall.protocols.pipeline.facts import PipelineClosed, StepRejected
from moothall.protocols.pipeline.timeline import PipelineTimeline, PipelineTimelineLine, build_decision, list_step_lines
from moothall.reports import blocks, sections
from moothall.reports.blocks import Block, Report, build_section, build_table
from moothall.reports.decision import Decision
from moothall.reports.wording import describe_shared_event

_TONES: Final[dict[str, blocks.Tone]] = {"APPROVED": "good", "REJECTED": "bad"}


def build_pipeline_report(timeline: PipelineTimeline) -> Report:
    words, decision = timeline.words, build_decision(timeline)
    lines = [timeline.build_once(line.id, (line,), partial(_build_line, line, words)) for line in timeline.lines]
    return sections.build_report(
        timeline,
        decision,
        words,
        decision_blocks=(
            *build_section(words.decision, (blocks.Card(blocks=_build_outcome(timeline, decision, words), kind="decision"),)),
            *build_section(words.rejected, _build_rejections(decision, words)),
            *_build_lost_agents(decision, words),
            sections.build_spent(decision, words),
        ),
        record=(
            *_build_steps(timeline, words),
            *build_section(words.timeline, lines),
            *sections.build_losses(timeline, words),
            *sections.build_seats(timeline.state.seats, words),
        ),
        title=words.pipeline,
    )


def _build_outcome(timeline: PipelineTimeline, decision: Decision, words: PipelineReportText) -> tuple[Block, ...]:
    """The last artefact with its author, or why there is none."""
    closed = timeline.closed
    if not isinstance(closed, PipelineClosed):
        step = timeline.state.step
        at = (blocks.Fields(((words.at_step, f"{step.name} ({step.agent})"),)),) if step is not None else ()
        return (*sections.explain_no_decision(timeline, decision, words), *at)
    rows: list[tuple[str, blocks.Cell]] = [(words.ended_by, words.endings[closed.outcome])]
    if decision.decision is None:
        return (
            blocks.Line(words.no_decision, "bad"),
            blocks.Fields((*rows, (words.at_step, closed.step))),
            *sections.explain_ending_losses(timeline, words),
        )
    # The decision is the last artefact, and so the last line that belongs to a step and is no verdict.
    made = [line.id for line in timeline.lines if line.step and not line.verdict][-1:]
    author = (f"{decision.author} ", blocks.References(tuple(made), "({line})"))
    gates = [f"{step.agent} ({step.name})" for step in timeline.state.steps if timeline.verdicts.get(step.name) == "APPROVED"]
    approved: list[tuple[str, blocks.Cell]] = [(words.approved_by, ", ".join(gates))] if gates else []
    return (blocks.Quote(decision.decision.text, "strong"), blocks.Fields(((words.author, author), *approved, *rows)))


def _build_rejections(decision: Decision, words: PipelineReportText) -> list[Block]:
    """The verdict that stopped the pipeline."""
    return [
        blocks.Card(
            blocks=(blocks.Quote(voice.text),),
            head=(blocks.Strong(f"{voice.seat}"), blocks.Mark(words.verdicts["REJECTED"], "bad")),
            seat=voice.seat,
            kind="turn",
        )
        for voice in decision.dissent
    ]


def _build_lost_agents(decision: Decision, words: PipelineReportText) -> tuple[Block, ...]:
    lines = [
        words.lost_line.format(seat=lost.seat, times=lost.times, last=words.losses.get(lost.last, lost.last))
        for lost in decision.lost
    ]
    return build_section(words.lost, (blocks.Bullets(tuple(lines), "bad"),))


def _build_steps(timeline: PipelineTimeline, words: PipelineReportText) -> tuple[Block, ...]:
    rows = [
        (f"{line.number}. {line.name}", line.agent, words.states[line.state], line.done) for line in list_step_lines(timeline)
    ]
    return build_section(words.steps, (build_table(words.columns, rows),))


def _build_line(line: PipelineTimelineLine, words: PipelineReportText) -> Block:
    step = (blocks.Mark(line.step),) if line.step else ()
    verdict = (blocks.Mark(words.verdicts[line.verdict], _TONES[line.verdict]),) if line.verdict else ()
    return sections.build_line_card(line, *step, *verdict)


def add_and_describe_entry(timeline: PipelineTimeline, entry: Entry) -> list[str]:
    """Add one more entry, and describe it in plain lines."""
    before = len(timeline.lines)
    timeline.add(entry)
    words, steps = timeline.words, len(timeline.state.steps)
    lines = []
    for line in timeline.lines[before:]:
        at = f"[{timeline.state.position(line.step) + 1}/{steps} {line.step}] " if line.step else ""
        verdict = f"{words.verdicts[line.verdict]} " if line.verdict else ""
        lines.append(f"#{line.id} {at}{line.speaker}: {verdict}{extract_first_sentence(one_line(line.content))}")
    match entry.fact:
        case StepRejected(step=step, times=times, then=then, to=to):
            lines.append(f"  ✗ {step}: {words.verdicts['REJECTED']} ({times}) → {words.then[then].format(to=to)}")
        case PipelineClosed(outcome=outcome):
            lines.append(f"  ■ {words.endings[outcome]}")
        case fact:
            lines += [f"  {event}"] if (event := describe_shared_event(words, fact)) else []
    return lines
