"""What people read of a review: the verdict, each finding with its place and who holds it, and the lines of the live view."""

from dataclasses import replace
from functools import partial
from typing import Final

from moothall.domain.facts import Entry
from moothall.domain.safe_text import one_line, shorten_text, strip_control
from moothall.locale.catalogues import ReviewReportText
from moothall.protocols.review.facts import FindingsMerged, ReviewClosed
from moothall.protocols.review.timeline import ReviewTimeline, build_decision
from moothall.reports import blocks, sections
from moothall.reports.blocks import Block, Report, build_section
from moothall.reports.decision import DecidedFinding, Decision
from moothall.reports.markdown import iterate_markdown
from moothall.reports.wording import describe_shared_event

MAX_QUOTED_LINES: Final = 12
_TONES: Final[dict[str, blocks.Tone]] = {"critical": "bad", "major": "bad", "minor": "warn", "note": "dim"}
_STATE_TONES: Final[dict[str, blocks.Tone]] = {"upheld": "strong", "dropped": "dim", "open": "warn", "unquoted": "dim"}


def build_review_report(timeline: ReviewTimeline) -> Report:
    words, decision = timeline.words, build_decision(timeline)
    shown = [each for each in decision.findings or () if each.state in {"upheld", "open"}]
    aside = [each for each in decision.findings or () if each.state not in {"upheld", "open"}]
    lines = [timeline.build_once(line.id, (line,), partial(sections.build_line_card, line)) for line in timeline.lines]
    return sections.build_report(
        timeline,
        decision,
        words,
        decision_blocks=(
            *build_section(words.decision, (blocks.Card(blocks=_build_outcome(timeline, decision, words), kind="decision"),)),
            *build_section(words.findings, [_build_card(each, words) for each in shown]),
            *sections.build_lost_seats(decision, words),
            sections.build_spent(decision, words),
        ),
        record=(
            *build_section(words.set_aside, [_build_card(each, words) for each in aside]),
            *build_section(words.timeline, lines),
            *sections.build_losses(timeline, words),
            *sections.build_seats(timeline.state.seats, words),
        ),
        title=words.review,
    )


def _build_outcome(timeline: ReviewTimeline, decision: Decision, words: ReviewReportText) -> tuple[Block, ...]:
    closed, state = timeline.closed, timeline.state
    if not isinstance(closed, ReviewClosed):
        return sections.explain_no_decision(timeline, decision, words)
    text = words.no_verdict.get(closed.reason, words.no_decision) if decision.decision is None else decision.decision.text
    read = ", ".join(f"{len(state.readers.get(part, ()))}/{len(state.reviewers)}" for part in range(1, len(state.parts) + 1))
    rows: list[tuple[str, blocks.Cell]] = [
        (words.read_by, read),
        (words.ended_by, words.endings.get(closed.reason, closed.reason)),
    ]
    losses = sections.explain_ending_losses(timeline, words) if decision.decision is None else ()
    return (blocks.Line(text, "bad" if closed.verdict != "approve" else "good"), blocks.Fields(tuple(rows)), *losses)


def _build_card(finding: DecidedFinding, words: ReviewReportText) -> Block:
    last = f"-{finding.last_line}" if finding.last_line != finding.first_line else ""
    rows: list[tuple[str, blocks.Cell]] = [(words.held_by, ", ".join(finding.held_by) or "–")]
    rows += [(words.disputed_by, ", ".join(finding.disputed_by))] if finding.disputed_by else []
    rows += [(words.because, one_line(each)) for each in finding.dissent]
    rows += [(words.settles, one_line(finding.settles))] if finding.settles else []
    quoted = tuple(strip_control(finding.evidence).split("\n")[:MAX_QUOTED_LINES])
    return blocks.Card(
        head=(
            blocks.Strong(f"F{finding.number} {one_line(finding.file)}:{finding.first_line}{last}"),
            blocks.Mark(words.severities[finding.severity], _TONES[finding.severity]),
            blocks.Muted(words.concerns[finding.concern]),
            blocks.Mark(words.states[finding.state], _STATE_TONES[finding.state]),
        ),
        blocks=(blocks.Quote(finding.claim), blocks.Preformatted(quoted), blocks.Fields(tuple(rows))),
    )


def render_summary(timeline: ReviewTimeline) -> str:
    """Render the verdict and the findings as Markdown, without the record: what a comment on a change holds."""
    return "".join(iterate_markdown(replace(build_review_report(timeline), record=())))


def add_and_describe_entry(timeline: ReviewTimeline, entry: Entry) -> list[str]:
    """Add one more entry, and describe it in plain lines."""
    before = list(timeline.lines)
    timeline.add(entry)
    words = timeline.words
    # A sealed line is shown a second time, with its words, as soon as they may be read.
    shown = [line for at, line in enumerate(timeline.lines) if at >= len(before) or line != before[at]]
    lines = [f"#{line.id} {line.speaker}: {shorten_text(one_line(line.content), 160)}" for line in shown]
    match entry.fact:
        case FindingsMerged(findings=findings):
            unquoted = sum(not each.is_quoted for each in findings)
            lines.append(f"  = {words.merged.format(count=len(findings), raised=len(timeline.state.raised), unquoted=unquoted)}")
        case ReviewClosed(reason=reason):
            lines.append(f"  ■ {words.endings.get(reason, reason)}")
        case fact:
            lines += [f"  {event}"] if (event := describe_shared_event(words, fact)) else []
    return lines
