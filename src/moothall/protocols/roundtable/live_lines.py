"""A conference as it happens, in plain lines."""

from moothall.domain.facts import Entry
from moothall.protocols.roundtable.facts import ConferenceClosed, MinutesReturned, SpeakerSkipped, TalkConcluded
from moothall.protocols.roundtable.files import explain_skip
from moothall.protocols.roundtable.sections import name_minutes_sections
from moothall.protocols.roundtable.timeline import RoundtableTimeline, RoundtableTimelineLine
from moothall.reports.spoken_line import SpokenLine
from moothall.reports.wording import describe_shared_event


def add_and_describe_entry(timeline: RoundtableTimeline, entry: Entry) -> list[str]:
    """Add one more entry, and describe it in plain lines."""
    before = len(timeline.lines)
    timeline.add(entry)
    words = timeline.words
    lines: list[str] = [SpokenLine(_format_speaker(line), line.content) for line in timeline.lines[before:]]
    match entry.fact:
        case SpeakerSkipped(seat=seat):
            lines += [f"  ✗ {words.skipped}: {seat} ({explain_skip(skip, words)})" for skip in timeline.skips[-1:]]
        case TalkConcluded(reason=reason):
            lines.append(f"  ■ {words.endings[reason]}")
        case MinutesReturned(seat=seat, missing=missing):
            sections = name_minutes_sections(missing, words.language)
            lines.append(f"  ↺ {words.minutes_returned.format(seat=seat, sections=sections)}")
        case ConferenceClosed(missing=missing) if missing:
            lines.append(f"  ! {words.minutes_lack.format(sections=name_minutes_sections(missing, words.language))}")
        case fact:
            lines += [f"  {event}"] if (event := describe_shared_event(words, fact)) else []
    return lines


def _format_speaker(line: RoundtableTimelineLine) -> str:
    """Who speaks, with the number that its file has."""
    return line.speaker if line.speech is None else f"{line.speech.number:03d} {line.speaker}"
