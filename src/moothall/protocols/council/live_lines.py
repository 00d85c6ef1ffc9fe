"""A deliberation as it happens, in plain lines."""

from moothall.domain.facts import Entry, SeatLost
from moothall.locale.catalogues import COUNCIL_REPORT, CouncilReportText
from moothall.protocols.council.facts import DeliberationClosed, PhaseBegun
from moothall.protocols.council.state import CouncilLine
from moothall.protocols.council.timeline import CouncilTimeline, CouncilTimelineLine
from moothall.reports.spoken_line import SpokenLine
from moothall.reports.wording import describe_shared_event, explain_consensus, format_loss


def add_and_describe_entry(timeline: CouncilTimeline, entry: Entry) -> list[str]:
    """Add one more entry and describe it, in plain lines; nothing for one that is not worth one.

    What is written blind is shown when it may be read: when the phase is over.
    """
    before, passed = len(timeline.lines), len(timeline.passes)
    was_sealed = timeline.state.sealed if timeline.seq else frozenset()
    timeline.add(entry)
    words = COUNCIL_REPORT[timeline.state.opened.language]
    lines = [f"  {one.seat} {words.went_on if one.is_implied else words.passes}" for one in timeline.passes[passed:]]
    sealed = timeline.state.sealed
    if opened := was_sealed - sealed:
        lines += [_format_line(line, words) for line in timeline.lines[:before] if line.id in opened]
    for line in timeline.lines[before:]:
        lines.append(f"  {line.speaker} {words.has_written}" if line.id in sealed else _format_line(line, words))
    happened = describe_event(entry, words)
    if isinstance(entry.fact, SeatLost) and entry.fact.reason == "malformed" and timeline.state.is_sealed:
        # How a sealed answer was malformed may quote it.
        happened = format_loss(words, entry.fact.seat, "malformed", "")
    return [*lines, f"  {happened}"] if happened else lines


def _format_line(line: CouncilTimelineLine, words: CouncilReportText) -> str:
    head = line.speaker if line.spoken is None else _format_head(line.spoken, words)
    return SpokenLine(f"#{line.id} {head}", line.content or (line.spoken.said.condition if line.spoken is not None else ""))


def _format_head(line: CouncilLine, words: CouncilReportText) -> str:
    said = line.said
    what = words.types[said.type] if said.position is None else words.verdicts[said.position]
    if said.ballot:
        what = f"{what}: " + ", ".join(f"#{vote.candidate} {words.verdicts[vote.position]}" for vote in said.ballot)
    about = f" → #{said.refers_to}" if said.refers_to else ""
    sure = "" if said.confidence is None else f" ({said.confidence:.2f})"
    return f"{line.seat} {what}{about}{sure}"


def describe_event(entry: Entry, words: CouncilReportText) -> str:
    """An entry that is not a contribution, in one line; empty when it is not worth one."""
    fact = entry.fact
    match fact:
        case PhaseBegun(phase=phase, round=number):
            again = f" · {words.round.format(number=number)}" if number > 1 else ""
            return f"■ {words.phases[phase]}{again}"
        case DeliberationClosed(consensus_type=kind):
            return f"■ {explain_consensus(words, kind)}"
        case _:
            return describe_shared_event(words, fact)
