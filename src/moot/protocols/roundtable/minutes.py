"""The record of a conference as Markdown: the minutes first, then every speech."""

from moot.domain.safe_text import one_line
from moot.protocols.roundtable.facts import ConferenceClosed
from moot.protocols.roundtable.files import explain_skip
from moot.protocols.roundtable.timeline import RoundtableTimeline, build_summary, format_speaker_label
from moot.reports.costs import build_cost_rows
from moot.reports.markdown import format_table, quote_markdown
from moot.reports.timeline import format_time


def render_minutes(timeline: RoundtableTimeline) -> str:
    """The record at any time of a conference."""
    conference, words = timeline.state, timeline.words
    parts = [
        [
            f"# {words.conference}: {one_line(timeline.session)}",
            "",
            f"**{words.agenda}**",
            "",
            *quote_markdown(conference.opened.topic),
        ]
    ]
    if conference.opened.settings.agenda:
        parts.append(quote_markdown(conference.opened.settings.agenda))
    if conference.minutes is not None and isinstance(timeline.closed, ConferenceClosed):
        parts.append([words.written_by.format(seat=timeline.closed.author), "", *quote_markdown(conference.minutes.content)])
    else:
        parts.append([build_summary(timeline)[0].text])
    if timeline.skips:
        parts.append([f"- {words.skipped}: {skip.seat} ({explain_skip(skip, words)})" for skip in timeline.skips])
    parts.append([f"## {words.speeches}"])
    for line in timeline.lines[1:]:
        head = f"**{format_speaker_label(line)}** · {line.timestamp}"
        if line.speech is not None:
            head += f" · {words.round.format(number=line.speech.round)}"
        parts.append([head, "", *quote_markdown(line.content)])
    rows = build_cost_rows(timeline.costs, conference.seats, timeline.spent, words.total)
    when = f"{format_time(timeline.opened_at)} – {format_time(timeline.last_at)}"
    parts.append([f"## {words.cost}", "", *format_table(words.cost_heads, rows), "", when])
    return "\n\n".join("\n".join(part) for part in parts) + "\n"
