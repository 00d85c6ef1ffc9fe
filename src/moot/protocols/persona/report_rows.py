"""The rows of the tables that minutes and page share."""

from moot.protocols.persona.report_text import PersonaReportText
from moot.protocols.persona.timeline import PersonaTimeline
from moot.reports import costs
from moot.reports.decision import Decision
from moot.reports.summary import format_percent

Row = tuple[object, ...]


def format_support(decision: Decision, words: PersonaReportText) -> str:
    """How much support there is, and among how many: support without turnout would pass few voices off as all."""
    return words.turnout.format(support=format_percent(decision.support), turnout=format_percent(decision.turnout))


def describe_no_dissent(decision: Decision, words: PersonaReportText) -> str:
    """What to say where nobody dissented: silence of those who abstained is no agreement."""
    abstained = [position.seat for position in decision.positions if position.verdict == "abstain"]
    return words.no_opposition.format(seats=", ".join(abstained)) if abstained else words.no_dissent


def position_rows(decision: Decision, words: PersonaReportText) -> list[Row]:
    """Where each seat stood before and after."""
    return [
        (
            position.seat,
            position.before or "–",
            format_percent(position.confidence_before),
            position.after or "–",
            words.verdicts.get(position.verdict or "", "–"),
            format_percent(position.confidence_after),
            f"{position.weight:.2f}",
            f"#{position.moved_by}" if position.moved_by else "–",
        )
        for position in decision.positions
    ]


def format_lost_seats(decision: Decision, words: PersonaReportText) -> list[str]:
    """How each lost seat was lost."""
    lines = []
    for lost in decision.lost:
        last = words.losses.get(lost.last, lost.last)
        line = words.lost_line.format(seat=lost.seat, times=lost.times, last=last, share=format_percent(lost.weight_share))
        lines.append(f"{line}; {words.voiceless}" if lost.voiceless else line)
    return lines


def describe_lost_impact(decision: Decision, words: PersonaReportText) -> str:
    """Whether the missing last words could have changed the outcome; empty when none is missing."""
    if not any(lost.voiceless for lost in decision.lost):
        return ""
    return words.could_differ if decision.could_differ else words.could_not_differ


def cost_rows(timeline: PersonaTimeline, words: PersonaReportText) -> list[Row]:
    """What each seat cost, and all together."""
    return costs.build_cost_rows(timeline.costs, timeline.meeting.seats, timeline.spent, words.total)
