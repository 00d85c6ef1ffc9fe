"""A pipeline as it happens, in plain lines."""

from moothall.domain.context import extract_first_sentence
from moothall.domain.facts import Entry
from moothall.domain.safe_text import one_line
from moothall.protocols.pipeline.facts import PipelineClosed, StepRejected
from moothall.protocols.pipeline.timeline import PipelineTimeline
from moothall.reports.wording import describe_shared_event


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
