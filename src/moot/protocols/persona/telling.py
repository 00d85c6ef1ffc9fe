"""A persona meeting as it happens, in plain lines, and its decision in short."""

from moot.domain.facts import BudgetExhausted, Entry, SeatLost
from moot.domain.fence import one_line, strip_control
from moot.projections.costs import format_money
from moot.projections.decision import Decision
from moot.projections.summary import SummaryLine, format_percent
from moot.protocols.persona.facts import (
    ConclusionDrafted,
    FloorGiven,
    IntentDeclared,
    MeetingConcluded,
    PositionTaken,
    StandTaken,
    TalkEnded,
)
from moot.protocols.persona.story import Line, Story, decided
from moot.protocols.persona.tables import backing, lost_lines, what_it_means, without_dissent
from moot.protocols.persona.view_words import VIEW_WORDS, ViewWords


def told(story: Story, entry: Entry) -> list[str]:
    """Tell one more entry, in plain lines; nothing for one that is not worth one."""
    before = len(story.timeline)
    story.add(entry)
    lines = [f"#{line.id} {line.speaker}{about(line)}: {one_line(line.content)}" for line in story.timeline[before:]]
    happened = happening(story, entry)
    return [*lines, f"  {happened}"] if happened else lines


def happening(story: Story, entry: Entry) -> str:
    """An entry that is no contribution, in one line; empty when it is not worth one."""
    words = VIEW_WORDS[story.meeting.opened.language]
    fact = entry.fact
    match fact:
        case IntentDeclared(seat=seat, said=intent):
            what = words.speaks if intent.intent_to_speak else words.silent
            return f"{seat} {intent.reaction_score:.2f} {what}: {one_line(intent.reason)}"
        case FloorGiven(seat=seat, reason=reason):
            return f"{words.floor}: {seat} ({words.floors[reason]})"
        case SeatLost(seat=seat, reason=reason, detail=detail):
            return loss_line(seat, words.losses[reason], detail)
        case PositionTaken(seat=seat, said=position):
            return f"{seat} ({position.confidence:.2f}): {one_line(position.position)}"
        case StandTaken(seat=seat, said=stand):
            return f"{seat}: {words.verdicts[stand.verdict]} ({stand.confidence:.2f}) {one_line(stand.position)}"
        case TalkEnded(reason=reason):
            return f"■ {words.endings[reason]}"
        case ConclusionDrafted(seat=seat, said=draft):
            return f"{words.decision} ({seat}): {one_line(draft.decision.text)}"
        case BudgetExhausted(spent=spent):
            return f"■ {spent}"
        case MeetingConcluded(could_differ=True, author=author) if author is not None:
            return words.could_differ
        case _:
            return ""


def loss_line(seat: str, what: str, detail: str) -> str:
    """How a seat was lost, in one line."""
    return f"✗ {seat}: {what} ({one_line(detail)})" if detail else f"✗ {seat}: {what}"


def about(line: Line) -> str:
    """How much a line was wanted, and what it answers."""
    score = "" if line.relevance_score is None else f" {line.relevance_score:.2f}"
    return f"{score} → #{line.refers_to}" if line.refers_to else score


def summary(story: Story) -> list[SummaryLine]:
    """The decision as a person wants it first: what, how sure, who dissents, who was lost, what it cost."""
    words = VIEW_WORDS[story.meeting.opened.language]
    decision = decided(story)
    if decision.decision is None:
        told = words.still_thinking if decision.status == "thinking" else words.cancelled
        return [SummaryLine(words.no_decision if decision.status == "concluded" else told, "strong"), *_lost(decision, words)]
    entries = " ".join(f"#{entry}" for entry in decision.decision.entries)
    ended = words.endings.get(decision.ended_by or "", decision.ended_by)
    spent = decision.spent
    return [
        SummaryLine(strip_control(decision.decision.text), "strong"),
        SummaryLine(""),
        SummaryLine(f"{words.rests_on} {entries or words.names_nothing}"),
        SummaryLine(f"{words.confidence}: {format_percent(decision.confidence)}"),
        SummaryLine(f"{words.support}: {backing(decision, words)}"),
        SummaryLine(f"{words.ended_by}: {ended}"),
        *_dissent(decision, words),
        *_lost(decision, words),
        SummaryLine(f"{words.spent.format(calls=spent.calls, tokens=spent.tokens)} · {format_money(spent)}", "dim"),
    ]


def _dissent(decision: Decision, words: ViewWords) -> list[SummaryLine]:
    if not decision.dissent:
        return [SummaryLine(without_dissent(decision, words))]
    found = [SummaryLine(f"{words.dissent}:")]
    for voice in decision.dissent:
        who = words.reported if voice.seat is None else f"{voice.seat} ({words.verdicts[voice.kind]})"
        found.append(SummaryLine(f"– {who}: {one_line(voice.text)}"))
    return found


def _lost(decision: Decision, words: ViewWords) -> list[SummaryLine]:
    meaning = what_it_means(decision, words)
    lines = [f"{words.lost}: {line}" for line in lost_lines(decision, words)]
    return [SummaryLine(line, "bad") for line in ([*lines, meaning] if meaning else lines)]
