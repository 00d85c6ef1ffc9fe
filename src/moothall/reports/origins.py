"""Who spoke, in reports (M-12): through which door each answer came in, which model gave it, and what was changed to read it."""

from collections.abc import Iterable
from dataclasses import replace

from moothall.domain.facts import OWNER_ORIGIN, RELAY_ORIGIN
from moothall.domain.ids import SeatId
from moothall.locale.catalogues import SharedReportText
from moothall.reports.blocks import Block, Card, Line, build_section, build_table
from moothall.reports.timeline import ReplyOrigin, SessionTimeline
from moothall.reports.wording import format_mends


def describe_door(via: str, words: SharedReportText) -> str:
    """A door as people read it."""
    if via.startswith(OWNER_ORIGIN):
        return words.spoken_by_owner.format(door=describe_door(via.removeprefix(OWNER_ORIGIN), words))
    kind, _, name = via.partition(":")
    if kind == RELAY_ORIGIN:
        return words.doors[RELAY_ORIGIN]
    text = words.doors.get(kind)
    # A caller of the server without a token has no name.
    return via if text is None else text.format(name=name).strip(" ,，")


def add_origins(timeline: SessionTimeline, record: Iterable[Block], words: SharedReportText) -> tuple[Block, ...]:
    """The record with a note under each line that came in through a door or was mended, and how each seat answered."""
    blocks = tuple(record)
    # What was changed in an answer may quote it, and how many answered so far says who failed: sealed with the answers.
    if not timeline.origins or getattr(getattr(timeline, "state", None), "is_sealed", False):
        return blocks
    by_line = {line.id: timeline.origins[line.seq] for line in timeline.lines if line.seq in timeline.origins}
    noted: set[int] = set()
    found = tuple(_add_note(block, by_line, noted, words) for block in blocks)
    return (*found, *_build_answerers(timeline, words), *_build_mended(timeline, noted, words))


def _add_note(block: Block, by_line: dict[int, ReplyOrigin], noted: set[int], words: SharedReportText) -> Block:
    """A card of a line with its note. A session gives every card of the timeline at the top of its record."""
    origin = by_line.get(block.entry or 0) if isinstance(block, Card) and block.kind == "turn" else None
    if origin is None or not isinstance(block, Card):
        return block
    noted.add(origin.seq)
    came = " · ".join(part for part in (describe_door(origin.via, words) if origin.via else "", origin.model) if part)
    is_owner = origin.via.startswith(OWNER_ORIGIN)
    notes = (Line(came, "warn" if is_owner else "dim"), Line(_format_mends(origin, words), "dim"))
    return replace(block, blocks=(*block.blocks, *notes))


def _format_mends(origin: ReplyOrigin, words: SharedReportText) -> str:
    return words.as_read.format(mends=format_mends(words, origin.mends)) if origin.mends else ""


def _build_answerers(timeline: SessionTimeline, words: SharedReportText) -> tuple[Block, ...]:
    """Each seat that somebody answered for: through which doors, by which models, and how often."""
    seats: dict[SeatId, list[ReplyOrigin]] = {}
    for origin in timeline.origins.values():
        if origin.via or origin.model:
            seats.setdefault(origin.seat, []).append(origin)
    rows = [
        (
            seat,
            ", ".join(dict.fromkeys(describe_door(one.via, words) for one in origins if one.via)) or "–",
            ", ".join(dict.fromkeys(one.model for one in origins if one.model)) or "–",
            len(origins),
        )
        for seat, origins in seats.items()
    ]
    return build_section(words.answerers, (build_table(words.answerer_heads, rows),))


def _build_mended(timeline: SessionTimeline, noted: set[int], words: SharedReportText) -> tuple[Block, ...]:
    """The answers that were changed to be read and have no card of their own: bids, votes, reports."""
    rows = [
        (one.seq, one.seat, words.asked_for.get(one.asked_for, one.asked_for), format_mends(words, one.mends))
        for one in timeline.origins.values()
        if one.mends and one.seq not in noted
    ]
    return build_section(words.mended, (build_table(words.mended_heads, rows),))
