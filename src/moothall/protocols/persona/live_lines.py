"""A persona meeting as it happens, in plain lines, and its decision in short."""

from moothall.domain.facts import Entry
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import PERSONA_REPORT, PersonaReportText
from moothall.protocols.persona.facts import (
    BidsDeclared,
    ConclusionDrafted,
    FloorGiven,
    Intent,
    IntentDeclared,
    MeetingConcluded,
    PositionTaken,
    StandTaken,
    TalkEnded,
)
from moothall.protocols.persona.timeline import PersonaTimeline, PersonaTimelineLine
from moothall.reports.spoken_line import SpokenLine
from moothall.reports.wording import describe_shared_event


def add_and_describe_entry(timeline: PersonaTimeline, entry: Entry) -> list[str]:
    """Tell one more entry, in plain lines; nothing for one that is not worth one."""
    before = len(timeline.lines)
    timeline.add(entry)
    words = PERSONA_REPORT[timeline.language]
    lines: list[str] = [
        SpokenLine(f"#{line.id} {line.speaker}{format_line_marks(line, words)}", line.content) for line in timeline.lines[before:]
    ]
    return [*lines, *(f"  {line}" for line in describe_event(timeline, entry).split("\n") if line)]


def describe_event(timeline: PersonaTimeline, entry: Entry) -> str:
    """An entry that is no contribution, in one line (joint bids: in one for each seat); empty when it is not worth one."""
    words = PERSONA_REPORT[timeline.state.opened.language]
    fact = entry.fact
    match fact:
        case IntentDeclared(seat=seat, said=intent):
            return _describe_bid(seat, intent, words)
        case BidsDeclared(said=said):
            return "\n".join(_describe_bid(one_line(bid.node_id), bid, words) for bid in said.bids)
        case FloorGiven(seat=seat, reason=reason):
            return f"{words.floor}: {seat} ({words.floors[reason]})"
        case PositionTaken(seat=seat, said=position):
            return f"{seat} ({_format_confidence(position.confidence, words)}): {one_line(position.position)}"
        case StandTaken(seat=seat, said=stand):
            sure = _format_confidence(stand.confidence, words)
            return f"{seat}: {words.verdicts[stand.verdict]} ({sure}) {one_line(stand.position)}"
        case TalkEnded(reason=reason):
            return f"■ {words.endings[reason]}"
        case ConclusionDrafted(seat=seat, said=draft):
            return f"{words.decision} ({seat}): {one_line(draft.decision.text)}"
        case MeetingConcluded(overruled=True):
            return words.overruled
        case MeetingConcluded(outcome_uncertain=True, author=author) if author is not None:
            return words.outcome_uncertain
        case _:
            return describe_shared_event(words, fact)


def _describe_bid(seat: str, intent: Intent, words: PersonaReportText) -> str:
    what = words.speaks if intent.intent_to_speak else words.silent
    return f"{seat} {intent.reaction_score:.2f} {what}: {one_line(intent.reason)}"


def _format_confidence(stated: float | None, words: PersonaReportText) -> str:
    return words.not_stated if stated is None else f"{stated:.2f}"


def format_line_marks(line: PersonaTimelineLine, words: PersonaReportText) -> str:
    """How much a line was wanted, what it answers, and which input it did not know."""
    score = "" if line.relevance_score is None else f" {line.relevance_score:.2f}"
    answers = f" → #{line.refers_to}" if line.refers_to else ""
    unaware = f" ({words.unaware.format(line=f'#{line.unaware_of}')})" if line.unaware_of else ""
    return f"{score}{answers}{unaware}"
