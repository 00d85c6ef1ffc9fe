"""A deliberation as it happens, in plain lines, and its decision in short."""

from moot.domain.facts import BudgetExhausted, Entry, SeatLost
from moot.domain.ids import USER
from moot.domain.safe_text import one_line, strip_control
from moot.protocols.council.facts import Contributed, DeliberationClosed, PhaseBegun
from moot.protocols.council.report_text import REPORT_TEXT, CouncilReportText
from moot.protocols.council.state import CouncilLine
from moot.protocols.council.timeline import CouncilTimeline, CouncilTimelineLine, build_decision
from moot.reports.costs import format_money
from moot.reports.decision import Decision
from moot.reports.summary import SummaryLine, format_percent


def add_and_describe_entry(timeline: CouncilTimeline, entry: Entry) -> list[str]:
    """Tell one more entry, in plain lines; nothing for one that is not worth one.

    What is written blind is told when it may be read: when the phase is over.
    """
    before, passed, was_sealed = len(timeline.lines), len(timeline.passes), bool(timeline.seq) and timeline.state.is_sealed
    timeline.add(entry)
    words = REPORT_TEXT[timeline.state.opened.language]
    lines = [f"  {one.seat} {words.went_on if one.is_implied else words.passes}" for one in timeline.passes[passed:]]
    if was_sealed and not timeline.state.is_sealed:
        before = 1
    for line in timeline.lines[before:]:
        is_hidden = timeline.state.is_sealed and line.spoken is not None and line.speaker != USER
        lines.append(f"  {line.speaker} {words.has_written}" if is_hidden else _format_line(line, words))
    happened = describe_event(entry, words)
    return [*lines, f"  {happened}"] if happened else lines


def _format_line(line: CouncilTimelineLine, words: CouncilReportText) -> str:
    head = line.speaker if line.spoken is None else _format_head(line.spoken, words)
    text = one_line(line.content)
    return f"#{line.id} {head}: {text}" if text else f"#{line.id} {head}"


def _format_head(line: CouncilLine, words: CouncilReportText) -> str:
    said = line.said
    what = words.types[said.type] if said.position is None else words.verdicts[said.position]
    about = f" → #{said.refers_to}" if said.refers_to else ""
    sure = "" if said.confidence is None else f" ({said.confidence:.2f})"
    return f"{line.seat} {what}{about}{sure}"


def describe_event(entry: Entry, words: CouncilReportText) -> str:
    """An entry that is no contribution, in one line; empty when it is not worth one."""
    fact = entry.fact
    match fact:
        case PhaseBegun(phase=phase, round=number):
            again = f" · {words.round.format(number=number)}" if number > 1 else ""
            return f"■ {words.phases[phase]}{again}"
        case SeatLost(seat=seat, reason=reason, detail=detail):
            told = f" ({one_line(detail)})" if detail else ""
            return f"✗ {seat}: {words.losses[reason]}{told}"
        case BudgetExhausted(spent=spent):
            return f"■ {spent}"
        case DeliberationClosed(consensus_type=kind):
            return f"■ {words.consensus_types[kind]}"
        case Contributed():
            return ""
        case _:
            return ""


def describe_warning(timeline: CouncilTimeline) -> str:
    """What a reader must know before the decision itself: that challenges are open, or that it turned over what most thought."""
    words = REPORT_TEXT[timeline.state.opened.language]
    closed = timeline.resolution
    if closed is None:
        return ""
    lines = [words.consensus_types["contested"].capitalize() + "."] if closed.consensus_type == "contested" else []
    if closed.open_challenges:
        numbers = ", ".join(f"#{number}" for number in closed.open_challenges)
        told = words.with_open if closed.carried else words.closed_with_open
        lines.append(told.format(count=len(closed.open_challenges), lines=numbers))
    if closed.overturned:
        lines.append(words.overturned)
    return " ".join(lines)


def build_summary(timeline: CouncilTimeline) -> list[SummaryLine]:
    """The decision as a person wants it first: what, how sure, who dissents, who was lost, what it cost."""
    words = REPORT_TEXT[timeline.state.opened.language]
    decision = build_decision(timeline)
    if decision.status != "concluded":
        told = words.still_thinking if decision.status == "thinking" else words.cancelled
        return [SummaryLine(told, "strong")]
    warning = describe_warning(timeline)
    text = words.no_decision if decision.decision is None else strip_control(decision.decision.text)
    spent = decision.spent
    return [
        *([SummaryLine(warning, "bad")] if warning else []),
        SummaryLine(text, "strong"),
        SummaryLine(""),
        SummaryLine(f"{words.consensus}: {words.consensus_types[decision.consensus_type or 'no_consensus']}"),
        SummaryLine(f"{words.confidence}: {format_percent(decision.confidence)}"),
        SummaryLine(f"{words.support}: {format_votes(decision, words)}"),
        SummaryLine(f"{words.ended_by}: {words.endings.get(decision.ended_by or '', decision.ended_by)}"),
        *summarize_dissent(decision, words),
        *[SummaryLine(line, "bad") for line in format_lost_seats(timeline, decision, words)],
        SummaryLine(f"{words.spent.format(calls=spent.calls, tokens=spent.tokens)} · {format_money(spent)}", "dim"),
    ]


def format_votes(decision: Decision, words: CouncilReportText) -> str:
    """The shares, and how many independent votes the heads are worth."""
    return words.votes.format(
        support=format_percent(decision.support),
        turnout=format_percent(decision.turnout),
        heads=decision.heads,
        effective=f"{decision.effective or 0:.1f}",
    )


def summarize_dissent(decision: Decision, words: CouncilReportText) -> list[SummaryLine]:
    """Who does not go along, one line each."""
    if not decision.dissent:
        return [SummaryLine(words.no_dissent)]
    return [
        SummaryLine(f"{words.dissent}:"),
        *(SummaryLine(f"– {voice.seat} ({words.kinds[voice.kind]}): {one_line(voice.text)}") for voice in decision.dissent),
    ]


def format_lost_seats(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[str]:
    """Who was lost or did not vote, and what the tally means without them."""
    lines = []
    for lost in decision.lost:
        last = words.losses.get(lost.last, lost.last)
        line = words.lost_line.format(seat=lost.seat, times=lost.times, last=last, share=format_percent(lost.weight_share))
        lines.append(f"{words.lost}: {line}; {words.voiceless}" if lost.voiceless else f"{words.lost}: {line}")
    closed = timeline.resolution
    missing = [ballot.seat for ballot in (closed.ballots if closed else ()) if ballot.position is None]
    if not missing:
        return lines
    meaning = words.could_differ if decision.could_differ else words.could_not_differ
    return [*lines, f"{words.not_voted.format(seats=', '.join(missing))} {meaning}"]
