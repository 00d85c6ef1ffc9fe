"""What seats looked up, as people read it: in a report, between the lines of a timeline, and while it happens."""

from functools import partial
from typing import Final

from moothall.domain.facts import ToolUsed
from moothall.domain.safe_text import one_line, shorten_text
from moothall.locale.catalogues import CONTEXT_FILES
from moothall.reports import blocks
from moothall.reports.timeline import SessionTimeline, ToolLine

MAX_SHOWN: Final = 200
MAX_SHOWN_LENGTH: Final = 2_000
MAX_WORDS_LENGTH: Final = 160


def describe_tool_use(timeline: SessionTimeline, fact: ToolUsed) -> str:
    """One line: who called what. What was looked up says as much as an answer does, and is sealed with it."""
    words = CONTEXT_FILES[timeline.language]
    if timeline.shared_state.is_sealed:
        return words.tool_sealed.format(seat=one_line(fact.seat))
    line = words.tool_line.format(
        seat=one_line(fact.seat), tool=one_line(fact.tool), arguments=shorten_text(fact.arguments, MAX_WORDS_LENGTH)
    )
    came = ", ".join(map(one_line, fact.places)) if fact.outcome == "answered" else words.outcomes[fact.outcome]
    return f"{line} → {shorten_text(came, MAX_WORDS_LENGTH) or '–'}"


def build_tool_use(timeline: SessionTimeline, use: ToolLine) -> blocks.Details:
    """One use of a tool: its line, and folded below it what was called, what came back, and how long that took."""
    words, fact = CONTEXT_FILES[timeline.language], use.fact
    fields = (
        (words.tool_arguments, f"{one_line(fact.tool)} {fact.arguments}"),
        (words.tool_places, words.tool_result.format(outcome=words.outcomes[fact.outcome], size=fact.size)),
        (words.hash, fact.sha256),
        (words.tool_seconds, f"{fact.seconds:g} s"),
    )
    lines = shorten_text(fact.result, MAX_SHOWN_LENGTH).split("\n")
    return blocks.Details(
        f"[{use.seq}] {describe_tool_use(timeline, fact)}", (blocks.Fields(fields), blocks.Preformatted(tuple(lines)))
    )


def list_tool_uses(timeline: SessionTimeline) -> list[ToolLine]:
    """Return the uses that may be read now."""
    return [] if timeline.shared_state.is_sealed else timeline.tool_uses


def build_tool_uses(timeline: SessionTimeline) -> tuple[blocks.Block, ...]:
    """The section of a report on what was looked up."""
    uses = list_tool_uses(timeline)
    words = CONTEXT_FILES[timeline.language]
    shown = [timeline.build_once(("tool", use.seq), (), partial(build_tool_use, timeline, use)) for use in uses[:MAX_SHOWN]]
    more = [blocks.Line(words.tool_more.format(count=len(uses) - MAX_SHOWN), "dim")] if len(uses) > MAX_SHOWN else []
    return blocks.build_section(words.tool_uses, (*shown, *more))
