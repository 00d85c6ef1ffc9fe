"""The timeline of a pipeline: every artefact and every verdict, where its steps stand, and its result."""

from dataclasses import dataclass, replace
from typing import Any

from moothall.domain.facts import Entry, InputGiven
from moothall.domain.ids import USER, SeatId, SessionId
from moothall.locale.catalogues import PIPELINE_REPORT, PipelineReportText
from moothall.protocols.pipeline.facts import PipelineClosed, VerdictGiven, WorkDone
from moothall.protocols.pipeline.rules import RULES
from moothall.protocols.pipeline.state import Pipeline
from moothall.reports.decision import Decision, Dissent, SourcedClaim
from moothall.reports.json_text import dump_json
from moothall.reports.sections import start_decision
from moothall.reports.timeline import SessionPhase, TimelineBase, TimelineLine, build_line, mark_phases


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineTimelineLine(TimelineLine):
    """An artefact, a verdict or an input of the user."""

    step: str
    verdict: str = ""


class PipelineTimeline(TimelineBase[Pipeline]):
    def __init__(self, session: SessionId) -> None:
        super().__init__(session, RULES)
        self.lines: list[PipelineTimelineLine] = []
        self.verdicts: dict[str, str] = {}

    @property
    def words(self) -> PipelineReportText:
        return PIPELINE_REPORT[self.state.opened.language]

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

    def list_phases(self) -> list[SessionPhase]:
        return mark_phases([step.name for step in self.state.steps], self.state.index)

    def _add_line(self, entry: Entry, speaker: SeatId, step: str, text: str, verdict: str = "") -> None:
        number = len(self.lines) + 1
        self.lines.append(build_line(PipelineTimelineLine, entry, number, speaker, text, step=step, verdict=verdict))


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
    """The result of the pipeline: its last artefact, if it was completed."""
    pipeline = timeline.state
    closed = timeline.closed if isinstance(timeline.closed, PipelineClosed) else None
    is_done = closed is not None and closed.outcome == "completed" and bool(pipeline.made)
    last = max(pipeline.made.values(), key=lambda made: made.seq, default=None)
    rejected = [line for line in timeline.lines if line.verdict == "REJECTED"]
    is_rejected = closed is not None and closed.outcome == "rejected"
    start = start_decision(timeline)
    return replace(
        start,
        ended_by=closed.outcome if closed else start.ended_by,
        decision=SourcedClaim(text=last.text) if is_done and last else None,
        author=last.seat if is_done and last else None,
        # Whoever made the result, and every gate that approved on the way to it.
        backers=len({last.seat, *(line.speaker for line in timeline.lines if line.verdict == "APPROVED")})
        if is_done and last
        else 0,
        dissent=tuple(Dissent(seat=line.speaker, kind="oppose", text=line.content) for line in rejected[-1:] if is_rejected),
    )


def render_artefacts(timeline: PipelineTimeline) -> str:
    """Render the newest artefact of every step as JSON."""
    made: list[dict[str, Any]] = [
        {"step": each.step, "agent": each.seat, "version": each.version, "entry": each.seq, "content": each.text}
        for each in timeline.state.made.values()
    ]
    return dump_json({"session": timeline.session, "artefacts": made}, indent=2) + "\n"
