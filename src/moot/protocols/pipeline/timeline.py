"""A pipeline for reports. Each entry is added once."""

from dataclasses import dataclass
from typing import Any

from moot.domain.context import extract_first_sentence
from moot.domain.facts import BudgetExhausted, Entry, InputGiven, SeatLost, SessionCancelled
from moot.domain.ids import USER, SeatId, SessionId
from moot.domain.safe_text import one_line, strip_control
from moot.protocols.pipeline.facts import PipelineClosed, StepRejected, VerdictGiven, WorkDone
from moot.protocols.pipeline.prompt_text import PROMPT_TEXT, PipelinePromptText
from moot.protocols.pipeline.rules import RULES
from moot.protocols.pipeline.state import Pipeline
from moot.reports.costs import build_cost_rows, format_money
from moot.reports.decision import Decision, Dissent, SeatLoss, SourcedClaim
from moot.reports.json_text import dump_json
from moot.reports.markdown import format_cell, format_table, quote_markdown
from moot.reports.shared_text import SHARED_REPORT_TEXT
from moot.reports.summary import SummaryLine
from moot.reports.timeline import TimelineBase, TimelineLine, format_time


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineTimelineLine(TimelineLine):
    """An artefact, a verdict or an input of the user."""

    step: str
    verdict: str = ""


class PipelineTimeline(TimelineBase[Pipeline]):
    """All artefacts and verdicts of a pipeline."""

    def __init__(self, session: SessionId) -> None:
        super().__init__(session, RULES)
        self.lines: list[PipelineTimelineLine] = []
        self.verdicts: dict[str, str] = {}

    @property
    def words(self) -> PipelinePromptText:
        return PROMPT_TEXT[self.state.opened.language]

    def begin(self, entry: Entry) -> None:
        self._add_line(entry, USER, "", self.state.opened.topic)

    def follow(self, before: Pipeline, entry: Entry) -> None:
        fact = entry.fact
        step = before.step.name if before.step is not None else ""
        match fact:
            # An answer that changed nothing came too late and is not shown.
            case WorkDone(seat=seat, said=said) if self.state != before:
                self._add_line(entry, seat, step, said.content)
            case VerdictGiven(seat=seat, said=said) if self.state != before:
                self.verdicts[step] = said.verdict
                self._add_line(entry, seat, step, said.content, said.verdict)
            case InputGiven(text=text):
                self._add_line(entry, USER, "", text)
            case _:
                pass

    def _add_line(self, entry: Entry, speaker: SeatId, step: str, text: str, verdict: str = "") -> None:
        number = len(self.lines) + 1
        self.lines.append(
            PipelineTimelineLine(
                id=number,
                seq=entry.seq,
                timestamp=format_time(entry.at),
                speaker=speaker,
                step=step,
                content=text,
                verdict=verdict,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLine:
    """The state of a step. `done` counts how often it was done."""

    number: int
    name: str
    agent: str
    gate: bool
    state: str
    done: int


def list_step_lines(timeline: PipelineTimeline) -> list[StepLine]:
    """Return all steps, in order."""
    pipeline = timeline.state
    lines = []
    for at, step in enumerate(pipeline.steps):
        made = pipeline.made.get(step.name)
        done = made.version if made else pipeline.rejections.get(step.name, 0) + (timeline.verdicts.get(step.name) == "APPROVED")
        if at == pipeline.index and timeline.closed is None:
            state = "current"
        elif step.gate and at < pipeline.index:
            state = "approved"
        elif step.gate and at == pipeline.index and timeline.verdicts.get(step.name) == "REJECTED":
            state = "rejected"
        else:
            state = "done" if at < pipeline.index else "waiting"
        lines.append(StepLine(number=at + 1, name=step.name, agent=step.agent, gate=step.gate, state=state, done=done))
    return lines


def build_decision(timeline: PipelineTimeline) -> Decision:
    """Build the decision: the last artefact, if the pipeline was completed."""
    pipeline = timeline.state
    closed = timeline.closed if isinstance(timeline.closed, PipelineClosed) else None
    is_cancelled = isinstance(timeline.closed, SessionCancelled)
    is_done = closed is not None and closed.outcome == "completed" and bool(pipeline.made)
    last = max(pipeline.made.values(), key=lambda made: made.seq, default=None)
    total = sum(seat.weight for seat in pipeline.seats)
    rejected = [line for line in timeline.lines if line.verdict == "REJECTED"]
    is_rejected = closed is not None and closed.outcome == "rejected"
    return Decision(
        session=timeline.session,
        topic=pipeline.opened.topic,
        status="thinking" if timeline.closed is None else "cancelled" if is_cancelled else "concluded",
        ended_by=closed.outcome if closed else "cancelled" if is_cancelled else None,
        decision=SourcedClaim(text=last.text) if is_done and last else None,
        author=last.seat if is_done and last else None,
        dissent=tuple(Dissent(seat=line.speaker, kind="oppose", text=line.content) for line in rejected[-1:] if is_rejected),
        lost=tuple(
            SeatLoss(
                seat=seat,
                times=lost.times,
                last=lost.last,
                weight_share=pipeline.seat(seat).weight / total,
                voiceless=all(line.speaker != seat for line in timeline.lines),
            )
            for seat, lost in pipeline.losses.items()
        ),
        turns=len(timeline.lines) - 1,
        spent=timeline.spent,
    )


def add_and_describe_entry(timeline: PipelineTimeline, entry: Entry) -> list[str]:
    """Add one entry and return lines that describe it."""
    before = len(timeline.lines)
    timeline.add(entry)
    words, steps = timeline.words, len(timeline.state.steps)
    lines = []
    for line in timeline.lines[before:]:
        at = f"[{timeline.state.position(line.step) + 1}/{steps} {line.step}] " if line.step else ""
        verdict = f"{line.verdict} " if line.verdict else ""
        lines.append(f"#{line.id} {at}{line.speaker}: {verdict}{extract_first_sentence(one_line(line.content))}")
    match entry.fact:
        case StepRejected(step=step, times=times, then=then, to=to):
            lines.append(f"  ✗ {step}: REJECTED ({times}) → {words.then[then].format(to=to)}")
        case SeatLost(seat=seat, reason=reason, detail=detail):
            losses = SHARED_REPORT_TEXT[timeline.state.opened.language].losses
            lines.append(f"  ✗ {seat}: {losses[reason]}" + (f" ({one_line(detail)})" if detail else ""))
        case PipelineClosed(outcome=outcome):
            lines.append(f"  ■ {words.outcomes[outcome]}")
        case BudgetExhausted(spent=spent):
            lines.append(f"  ■ {spent}")
        case _:
            pass
    return lines


def build_summary(timeline: PipelineTimeline) -> list[SummaryLine]:
    """Return a short summary of the result."""
    words, decision = timeline.words, build_decision(timeline)
    shared = SHARED_REPORT_TEXT[timeline.state.opened.language]
    spent = decision.spent
    cost = SummaryLine(f"{shared.spent.format(calls=spent.calls, tokens=spent.tokens)} · {format_money(spent)}", "dim")
    if decision.status != "concluded":
        return [SummaryLine(words.going_on if decision.status == "thinking" else words.cancelled, "strong"), cost]
    closed = timeline.closed
    assert isinstance(closed, PipelineClosed)
    outcome = words.outcomes[closed.outcome] + ("" if closed.outcome == "completed" else f" ({closed.step})")
    return [
        *([SummaryLine(strip_control(decision.decision.text), "strong"), SummaryLine("")] if decision.decision else []),
        SummaryLine(outcome, "plain" if closed.outcome == "completed" else "bad"),
        *(SummaryLine(f"{voice.seat}: {one_line(voice.text)}", "bad") for voice in decision.dissent),
        *(SummaryLine(f"{words.lost}: {lost.seat} ({shared.losses[lost.last]} × {lost.times})", "bad") for lost in decision.lost),
        cost,
    ]


def render_minutes(timeline: PipelineTimeline) -> str:
    """Render the record of a pipeline; possible at any time."""
    pipeline, words = timeline.state, timeline.words
    shared = SHARED_REPORT_TEXT[pipeline.opened.language]
    rows = [(line.name, line.agent, words.states[line.state], line.done) for line in list_step_lines(timeline)]
    parts = [
        [f"# {words.pipeline}: {one_line(timeline.session)}", "", *quote_markdown(pipeline.opened.topic)],
        [one_line(line.text) for line in build_summary(timeline)[-3:-1] if line.text] or [words.going_on],
        format_table(words.columns, rows),
    ]
    for line in timeline.lines[1:]:
        verdict = f" · {line.verdict}" if line.verdict else ""
        head = f"**#{line.id} {line.speaker}** · {line.timestamp} · {format_cell(line.step)}{verdict}"
        parts.append([head, "", *quote_markdown(line.content)])
    costs = build_cost_rows(timeline.costs, pipeline.seats, timeline.spent, shared.total)
    parts.append([f"## {shared.cost}", "", *format_table(shared.cost_heads, costs), ""])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def render_artefacts(timeline: PipelineTimeline) -> str:
    """Render the newest artefact of every step as JSON."""
    made: list[dict[str, Any]] = [
        {"step": each.step, "agent": each.seat, "version": each.version, "entry": each.seq, "content": each.text}
        for each in timeline.state.made.values()
    ]
    return dump_json({"session": timeline.session, "artefacts": made}, indent=2) + "\n"
