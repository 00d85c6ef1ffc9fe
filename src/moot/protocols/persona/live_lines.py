"""A persona meeting as it happens, in plain lines, and its decision in short."""

from moot.domain.facts import BudgetExhausted, Entry, SeatLost
from moot.domain.safe_text import one_line
from moot.protocols.persona.facts import (
    ConclusionDrafted,
    FloorGiven,
    IntentDeclared,
    MeetingConcluded,
    PositionTaken,
    StandTaken,
    TalkEnded,
)
from moot.protocols.persona.report_text import REPORT_TEXT
from moot.protocols.persona.timeline import PersonaTimeline, PersonaTimelineLine
from moot.reports.spoken_line import SpokenLine


def add_and_describe_entry(timeline: PersonaTimeline, entry: Entry) -> list[str]:
    """Tell one more entry, in plain lines; nothing for one that is not worth one."""
    before = len(timeline.lines)
    timeline.add(entry)
    lines: list[str] = [
        SpokenLine(f"#{line.id} {line.speaker}{format_line_marks(line)}", line.content) for line in timeline.lines[before:]
    ]
    happened = describe_event(timeline, entry)
    return [*lines, f"  {happened}"] if happened else lines


def describe_event(timeline: PersonaTimeline, entry: Entry) -> str:
    """An entry that is no contribution, in one line; empty when it is not worth one."""
    words = REPORT_TEXT[timeline.state.opened.language]
    fact = entry.fact
    match fact:
        case IntentDeclared(seat=seat, said=intent):
            what = words.speaks if intent.intent_to_speak else words.silent
            return f"{seat} {intent.reaction_score:.2f} {what}: {one_line(intent.reason)}"
        case FloorGiven(seat=seat, reason=reason):
            return f"{words.floor}: {seat} ({words.floors[reason]})"
        case SeatLost(seat=seat, reason=reason, detail=detail):
            return words.format_loss(seat, reason, detail)
        case PositionTaken(seat=seat, said=position):
            return f"{seat} ({position.confidence:.2f}): {one_line(position.position)}"
        case StandTaken(seat=seat, said=stand):
            return f"{seat}: {words.verdicts[stand.verdict]} ({stand.confidence:.2f}) {one_line(stand.position)}"
        case TalkEnded(reason=reason):
            return f"■ {words.endings[reason]}"
        case ConclusionDrafted(seat=seat, said=draft):
            return f"{words.decision} ({seat}): {one_line(draft.decision.text)}"
        case BudgetExhausted(budget=budget, spent=spent):
            return words.format_limit(budget, spent)
        case MeetingConcluded(could_differ=True, author=author) if author is not None:
            return words.could_differ
        case _:
            return ""


def format_line_marks(line: PersonaTimelineLine) -> str:
    """How much a line was wanted, and what it answers."""
    score = "" if line.relevance_score is None else f" {line.relevance_score:.2f}"
    return f"{score} → #{line.refers_to}" if line.refers_to else score
