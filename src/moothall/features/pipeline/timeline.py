"""A pipeline for people: its timeline with every artefact and verdict, its result, its report, and the lines of the live view."""

from dataclasses import replace
from functools import partial
from typing import Any, Final, Literal

from moothall.domain.replace import dataclass
from moothall.domain.topic import index_replies
from moothall.features.pipeline.facts import PipelineClosed, StepRejected, VerdictGiven, WorkDone
from moothall.features.pipeline.rules import RULES
from moothall.features.pipeline.state import Pipeline
from moothall.features.pipeline.words import PIPELINE_REPORT, PipelineReportText
from moothall.plugins import (
    USER,
    Block,
    BySteps,
    Decision,
    Dissent,
    Entry,
    How,
    InputGiven,
    Report,
    SeatId,
    SessionId,
    SessionPhase,
    SourcedClaim,
    Standing,
    TimelineBase,
    TimelineLine,
    Undecided,
    blocks,
    build_line,
    build_section,
    build_table,
    describe_shared_event,
    dump_json,
    extract_first_sentence,
    mark_phases,
    one_line,
    sections,
)


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

    def _add_line(
        self, entry: Entry, speaker: SeatId, step: str, text: str, verdict: str = ""
    ) -> None:
        number = len(self.lines) + 1
        self.lines.append(
            build_line(
                PipelineTimelineLine, entry, number, speaker, text, step=step, verdict=verdict
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
    pipeline = timeline.state
    lines = []
    for at, step in enumerate(pipeline.steps):
        made = pipeline.made.get(step.name)
        if made:
            done = made.version
        else:
            done = pipeline.rejections.get(step.name, 0)
            if timeline.verdicts.get(step.name) == "APPROVED":
                done += 1
        if at == pipeline.index and timeline.closed is None:
            state = "current"
        elif step.gate and at < pipeline.index:
            state = "approved"
        elif step.gate and at == pipeline.index and timeline.verdicts.get(step.name) == "REJECTED":
            state = "rejected"
        else:
            state = "done" if at < pipeline.index else "waiting"
        lines.append(
            StepLine(
                number=at + 1,
                name=step.name,
                agent=step.agent,
                gate=step.gate,
                state=state,
                done=done,
            )
        )
    return lines


def build_decision(timeline: PipelineTimeline) -> Decision:
    """The result of the pipeline: its last artefact, if it was completed."""
    pipeline = timeline.state
    closed = timeline.closed if isinstance(timeline.closed, PipelineClosed) else None
    is_done = closed is not None and closed.reason == "completed" and bool(pipeline.made)
    last = max(pipeline.made.values(), key=lambda made: made.seq, default=None)
    decision = sections.start_decision(timeline)
    decision = replace(
        decision, how=_describe_how(timeline, closed), standing=_describe_step(timeline, decision)
    )
    if is_done and last:
        approved = {line.speaker for line in timeline.lines if line.verdict == "APPROVED"}
        # The seat that made the result, and every gate that approved on the way to it.
        backers = tuple(dict.fromkeys((last.seat, *sorted(approved))))
        answers = sections.list_answers(timeline, index_replies(last.replies))
        decision = replace(
            decision,
            decision=SourcedClaim(text=last.text),
            author=last.seat,
            backers=len(backers),
            backers_named=backers,
            answers=answers,
        )
    rejected = [line for line in timeline.lines if line.verdict == "REJECTED"]
    if rejected and closed is not None and closed.reason == "rejected":
        line = rejected[-1]
        dissent = Dissent(seat=line.speaker, kind="oppose", text=line.content)
        decision = replace(decision, dissent=(dissent,))
    return decision


def _describe_how(timeline: PipelineTimeline, closed: PipelineClosed | None) -> How | None:
    """Say how many steps were done and how often a check rejected something, or where it ended."""
    if closed is None:
        return None
    pipeline = timeline.state
    if closed.reason == "called":
        return Undecided(reason="called")
    if closed.reason in {"tokens", "money", "time"}:
        return Undecided(reason="limit", limit=closed.reason)
    passed = [line for line in timeline.lines if line.verdict == "APPROVED"]
    rejected = [line for line in timeline.lines if line.verdict == "REJECTED"]
    steps = BySteps(
        outcome="completed",
        all=len(pipeline.steps),
        passed=len({line.step for line in passed}),
        rejected=len(rejected),
    )
    if closed.reason == "completed":
        return steps
    outcome: Literal["rejected", "failed"] = "failed"
    times = 0
    if closed.reason == "rejected":
        outcome = "rejected"
        times = sum(1 for line in rejected if line.step == closed.step)
    at = pipeline.position(closed.step)
    return replace(
        steps,
        outcome=outcome,
        at=at + 1,
        step=closed.step,
        seat=closed.agent or SeatId(pipeline.steps[at].agent),
        rejected=times,
    )


def _describe_step(timeline: PipelineTimeline, decision: Decision) -> Standing | None:
    """Say which step of a pipeline is under way."""
    standing, step = decision.standing, timeline.state.step
    is_known = standing is not None and standing.state == "running" and step is not None
    if standing is None or step is None or not is_known or standing.progress == "outside":
        return standing
    return replace(
        standing,
        progress="step",
        number=timeline.state.index + 1,
        of=len(timeline.state.steps),
        step=step.name,
        waiting=standing.waiting or (step.agent,),
    )


def render_artefacts(timeline: PipelineTimeline) -> str:
    """Render the newest artefact of every step as JSON."""
    made: list[dict[str, Any]] = [
        {
            "step": each.step,
            "agent": each.seat,
            "version": each.version,
            "entry": each.seq,
            "content": each.text,
        }
        for each in timeline.state.made.values()
    ]
    return dump_json({"session": timeline.session, "artefacts": made}, indent=2) + "\n"


_TONES: Final[dict[str, blocks.Tone]] = {"APPROVED": "good", "REJECTED": "bad"}


def build_pipeline_report(timeline: PipelineTimeline) -> Report:
    words, decision = timeline.words, build_decision(timeline)
    lines = [
        timeline.build_once(line.id, (line,), partial(_build_line, line, words))
        for line in timeline.lines
    ]
    lost = tuple(
        words.lost_line.format(
            seat=each.seat, times=each.times, last=words.losses.get(each.last, each.last)
        )
        for each in decision.lost
    )
    steps = [
        (f"{each.number}. {each.name}", each.agent, words.states[each.state], each.done)
        for each in list_step_lines(timeline)
    ]
    mark = blocks.Mark(words.verdicts["REJECTED"], "bad")
    rejections = [
        blocks.Card(
            blocks=(blocks.Quote(voice.text),),
            head=(blocks.Strong(f"{voice.seat}"), mark),
            seat=voice.seat,
            kind="turn",
        )
        for voice in decision.dissent
    ]
    return sections.build_report(
        timeline,
        decision,
        words,
        figures=_list_figures(timeline, decision, words),
        argument=(
            *build_section(words.rejected, rejections),
            *build_section(words.lost, (blocks.Bullets(lost, "bad"),)),
        ),
        record=(
            *build_section(words.steps, (build_table(words.columns, steps),)),
            *build_section(words.timeline, lines),
        ),
        title=words.pipeline,
    )


def _list_figures(
    timeline: PipelineTimeline, decision: Decision, words: PipelineReportText
) -> list[tuple[str, blocks.Cell]]:
    """Who made the result, which checks passed, how it ended or which step is under way."""
    closed = timeline.closed
    rows: list[tuple[str, blocks.Cell]] = []
    if not isinstance(closed, PipelineClosed):
        step = timeline.state.step
        if step is not None:
            rows.append((words.at_step, f"{step.name} ({step.agent})"))
        return rows
    if decision.decision is not None:
        # The decision is the last artefact, and so the last line that belongs to a step and is no verdict.
        made = [line.id for line in timeline.lines if line.step and not line.verdict][-1:]
        author = (f"{decision.author} ", blocks.References(tuple(made), "({line})"))
        gates: list[str] = []
        for step in timeline.state.steps:
            if timeline.verdicts.get(step.name) == "APPROVED":
                gates.append(f"{step.agent} ({step.name})")
        rows += [(words.author, author), (words.approved_by, ", ".join(gates))]
    rows.append((words.ended_by, words.endings[closed.reason]))
    if decision.decision is None:
        rows.append((words.at_step, closed.step))
    return rows


def _build_line(line: PipelineTimelineLine, words: PipelineReportText) -> Block:
    step = (blocks.Mark(line.step),) if line.step else ()
    verdict = (
        (blocks.Mark(words.verdicts[line.verdict], _TONES[line.verdict]),) if line.verdict else ()
    )
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
        lines.append(
            f"#{line.id} {at}{line.speaker}: {verdict}{extract_first_sentence(one_line(line.content))}"
        )
    match entry.fact:
        case StepRejected(step=step, times=times, then=then, to=to):
            lines.append(
                f"  ✗ {step}: {words.verdicts['REJECTED']} ({times}) → {words.then[then].format(to=to)}"
            )
        case PipelineClosed(reason=reason):
            lines.append(f"  ■ {words.endings[reason]}")
        case fact:
            event = describe_shared_event(words, fact)
            if event:
                lines.append(f"  {event}")
    return lines
