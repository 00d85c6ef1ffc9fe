"""A report taken apart for front ends: its timeline item by item, and its other sections as lenses on it (W-2, W-4)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from operator import attrgetter
from typing import Final

from moothall.domain.ids import USER, SeatId
from moothall.domain.replace import dataclass
from moothall.reports.blocks import Block, Card, Details, Heading, Line, Report
from moothall.reports.given_tools import build_tool_use, list_tool_uses
from moothall.reports.sections import build_line_card
from moothall.reports.timeline import SessionTimeline, TimelineLine

_FIELD: Final = re.compile(r"\{\w*\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineItem:
    """One item of the timeline. `seq` is the ledger's entry that made it, `entry` the number that references lead to."""

    seq: int
    at: str
    block: Block
    seat: SeatId | None = None
    entry: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """A section of a report. `id` is the same in every language."""

    id: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    items: tuple[TimelineItem, ...]
    lenses: tuple[Lens, ...]


@dataclass(slots=True)
class OutlineCache:
    """The blocks of a session's timeline and their items as they were listed last: what has not changed is not listed again."""

    blocks: Sequence[Block] = ()
    items: Sequence[TimelineItem] = ()


def build_outline(
    report: Report, timeline: SessionTimeline, cache: OutlineCache | None = None
) -> Outline:
    """Split the record at its level-2 headings; what is called as `report.timeline` says is the timeline.

    `cache` is for a caller that does so after each entry of one session.
    """
    lenses, timeline_blocks = [], None
    for lens in _split_sections(report):
        if lens.id == report.timeline and timeline_blocks is None:
            timeline_blocks = lens.blocks
        else:
            lenses.append(lens)
    blocks = (*(timeline_blocks or ()), *report.replies)
    return Outline(tuple(_list_items(blocks, timeline, cache or OutlineCache())), tuple(lenses))


def _split_sections(report: Report) -> Iterator[Lens]:
    title, blocks = "", list[Block]()
    folded = chain.from_iterable(fold.blocks for fold in report.folds)
    for block in chain(report.record, folded, (Heading(""),)):
        if not isinstance(block, Heading) or block.level != 2:
            blocks.append(block)
            continue
        if blocks:
            yield Lens(id=_find_name(report, title), title=title, blocks=tuple(blocks))
        title, blocks = block.text, []


def _find_name(report: Report, title: str) -> str:
    """The name of a section: that of the text which its title is, or was made from; else the title in small letters."""
    known = report.names.get(title) or next(
        (name for text, name in report.names.items() if _is_made_from(title, text)), None
    )
    return known or re.sub(r"\W+", "-", title.casefold()).strip("-") or "record"


def _is_made_from(title: str, text: str) -> bool:
    if "{" not in text:
        return False
    parts = [part for part in _FIELD.split(text) if part]
    return (
        len("".join(parts)) > 2
        and re.fullmatch(".*".join(re.escape(part) for part in _FIELD.split(text)), title)
        is not None
    )


def _list_items(
    blocks: Sequence[Block], timeline: SessionTimeline, cache: OutlineCache
) -> list[TimelineItem]:
    """The items in order; lines that the section has no card for stand where they were said, also before the first one."""
    lines = {line.id: line for line in timeline.lines}
    # What a report leaves out while it is sealed stays left out.
    state = getattr(timeline, "state", None)
    is_sealed, sealed_after = getattr(state, "is_sealed", False), getattr(state, "sealed_after", 0)
    same = _count_same_items(blocks, lines, cache)
    line_items = [*cache.items[:same], *(_build_item(block, lines) for block in blocks[same:])]
    _fill_entries(line_items, same)
    cache.blocks, cache.items = blocks, line_items
    shown = {item.entry for item in line_items}
    missing = []
    for line in timeline.lines:
        is_readable = not is_sealed or line.speaker == USER or line.seq <= sealed_after
        if line.id not in shown and is_readable:
            missing.append(_build_line_item(line))
    breaks = [
        TimelineItem(seq=seq, at="", block=Heading(title, 3, seq))
        for seq, title in timeline.list_breaks()
    ]
    uses = [
        TimelineItem(
            seq=use.seq, at=use.timestamp, block=build_tool_use(timeline, use), seat=use.fact.seat
        )
        for use in list_tool_uses(timeline)
    ]
    if missing or breaks or uses:
        # Sorting is stable: a break stands before what was said at its entry, and what a protocol tells keeps its order.
        return sorted([*breaks, *missing, *uses, *line_items], key=attrgetter("seq"))
    return line_items


def _build_line_item(line: TimelineLine) -> TimelineItem:
    """The item of a line that its section has no card for."""
    return TimelineItem(
        seq=line.seq,
        at=line.timestamp,
        block=build_line_card(line),
        seat=line.speaker,
        entry=line.id,
    )


def _build_item(block: Block, lines: Mapping[int, TimelineLine]) -> TimelineItem:
    """The item of a block, as far as the block itself says what it is."""
    number, seat = (block.entry, block.seat) if isinstance(block, Card) else (None, None)
    line = lines.get(number) if number is not None else None
    if line is not None:
        return TimelineItem(seq=line.seq, at=line.timestamp, block=block, seat=seat, entry=number)
    seq = block.seq if isinstance(block, Heading | Line | Details) else None
    return TimelineItem(seq=seq or 0, at="", block=block, seat=seat, entry=number)


def _count_same_items(
    blocks: Sequence[Block], lines: Mapping[int, TimelineLine], cache: OutlineCache
) -> int:
    """How many items at the beginning are those of the last time: up to the last line before the first change.

    A heading takes its time from what follows it, a line from nothing but itself.
    """
    same = 0
    for known, block in zip(cache.blocks, blocks, strict=False):
        if known is not block and known != block:
            break
        same += 1
    while same and cache.items[same - 1].entry not in lines:
        same -= 1
    return same


def _fill_entries(items: list[TimelineItem], begin: int) -> None:
    """Give an item without an entry of its own that of the next one (a heading belongs to what follows), else of the last."""
    seq, at = 0, ""
    for place in range(len(items) - 1, begin - 1, -1):
        item = items[place]
        if item.seq:
            seq, at = item.seq, item.at or at
        if item.seq != seq or item.at != (item.at or at):
            items[place] = replace(item, seq=seq, at=item.at or at)
    last = items[begin - 1].seq if begin else 1
    for place in range(begin, len(items)):
        last = items[place].seq or last
        if items[place].seq != last:
            items[place] = replace(items[place], seq=last)
