"""What a decision rests on of what was given: which files were cited, and which of them nobody was shown a line of."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from moothall.domain.given_search import search_files, select_visible
from moothall.domain.safe_text import one_line
from moothall.domain.topic import ContextFile
from moothall.locale.catalogues import CONTEXT_FILES
from moothall.reports import blocks
from moothall.reports.decision import EvidenceBase, SeatQuotations
from moothall.reports.given import SEARCHED_LENGTH, fits_prompt, is_read_by_tools
from moothall.reports.quotations import count_by_seat, list_checked
from moothall.reports.timeline import SessionTimeline

MAX_NAMED: Final = 12


def build_evidence_base(timeline: SessionTimeline) -> EvidenceBase | None:
    """Return what a session that has ended rests on.

    None before, and where nothing was given or looked up, its text is not there, or the protocol checks it itself.
    """
    files = timeline.session_state.opened.subject.context
    is_absent = timeline.closed is None or not (files or timeline.tool_uses) or not all(each.text for each in files)
    if is_absent or timeline.checks_evidence:
        return None
    return timeline.build_once("evidence", (timeline.seq,), lambda: _collect(timeline, files))


def describe_evidence_base(timeline: SessionTimeline) -> tuple[blocks.Block, ...]:
    """Lines for the decision: which files it was argued from and nobody looked at, false quotations, and refused calls."""
    base, words = build_evidence_base(timeline), CONTEXT_FILES[timeline.language]
    if base is None:
        return ()
    cited = words.rests_on.format(files=_join_names(base.cited)) if base.cited else words.cites_nothing
    unread = words.unread.format(files=_join_names(base.unread)) if base.unread else ""
    refused = words.refused_calls.format(count=base.refused_tool_calls) if base.refused_tool_calls else ""
    is_false = base.quotations_held < base.quotations
    quoted = words.held.format(held=base.quotations_held, all=base.quotations) if is_false else ""
    given = (blocks.Line(cited, "plain" if base.cited else "warn"), blocks.Line(unread, "warn"))
    return (
        *(given if timeline.session_state.opened.subject.context else ()),
        *(blocks.Line(each, "warn") for each in (quoted, refused)),
    )


def _collect(timeline: SessionTimeline, files: tuple[ContextFile, ...]) -> EvidenceBase:
    checked = [each for _, quotations in list_checked(timeline, files) for each in quotations]
    cited = Counter(name for each in checked if (name := _find_file(each.place, files)))
    shown = set(_list_shown(timeline, files))
    own = count_by_seat(timeline, files)
    return EvidenceBase(
        cited=tuple(name for name, _ in cited.most_common()),
        unread=tuple(each.name for each in files if each.name not in shown),
        quotations=len(checked),
        quotations_held=sum(each.holds for each in checked),
        seats=tuple(SeatQuotations(seat=seat, checked=count, held=held) for seat, (count, held) in own.items()),
        refused_tool_calls=sum(bool(use.fact.limit) for use in timeline.tool_uses),
    )


def _list_shown(timeline: SessionTimeline, files: tuple[ContextFile, ...]) -> Iterable[str]:
    opened = timeline.session_state.opened
    for seat in timeline.session_state.seats:
        if seat.id not in timeline.answered_at:
            continue
        visible = select_visible(files, seat.sees)
        if fits_prompt(visible) and not is_read_by_tools(opened, seat, visible):
            yield from (each.name for each in visible)
        else:
            yield from (each.file for each in search_files(visible, opened.topic, SEARCHED_LENGTH))
    for use in timeline.tool_uses:
        yield from (name for place in use.fact.places if (name := _find_file(place, files)))


def _find_file(place: str, files: tuple[ContextFile, ...]) -> str:
    """The file of a place such as `notes.md:12-18`; empty for a place that is in none."""
    return next((each.name for each in files if place == each.name or place.startswith(f"{each.name}:")), "")


def _join_names(names: tuple[str, ...]) -> str:
    more = f" +{len(names) - MAX_NAMED}" if len(names) > MAX_NAMED else ""
    return ", ".join(map(one_line, names[:MAX_NAMED])) + more
