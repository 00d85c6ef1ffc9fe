"""The quotations of a session, checked by code: as seats read it in a prompt, and as people read it in a report; and what a
decision rests on of what was given: which files were cited, and which of them nobody was shown a line of.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

from moothall.domain.budget import GIVEN_TOOLS
from moothall.domain.context import Utterance
from moothall.domain.facts import OWNER_ORIGIN, Language, ToolUsed
from moothall.domain.given_search import search_files, select_visible
from moothall.domain.ids import USER, SeatId
from moothall.domain.quotations import Quotation, check_quotations, list_cited_lines
from moothall.domain.safe_text import compile_late, one_line, quote_lines
from moothall.domain.topic import ContextFile, Topic
from moothall.locale.catalogues import CONTEXT_FILES, ContextFilesText
from moothall.reports import blocks
from moothall.reports.decision import EvidenceBase, QuotationFault, SeatQuotations
from moothall.reports.given import find_passage_room, fits_prompt, is_read_by_tools
from moothall.reports.timeline import SessionTimeline, TimelineLine

MAX_NAMED: Final = 12
"""How many faults a prompt names, and how many files a report."""
_FENCED: Final = compile_late(r"^\| (?:\d+: )?", re.MULTILINE)
MAX_WORDS_LENGTH: Final = 200


@lru_cache(maxsize=64)
def format_faults(
    language: Language,
    files: tuple[ContextFile, ...],
    recent: tuple[Utterance, ...],
    looked_up: tuple[str, ...] = (),
) -> str:
    """What seats read of quotations that do not stand where they are said to; empty where all of them do."""
    words = CONTEXT_FILES[language]
    # What tools returned can be quoted as well; its entries have other numbers than lines have.
    said, faults = {-number: text for number, text in enumerate(looked_up, 1)}, list[str]()
    speakers: dict[int, str] = {}
    for each in recent:
        if each.speaker != USER:
            checked = check_quotations(each.text, files, said, speakers=speakers, is_all_said=False)
            faults += _describe_faults(words, each.id, each.speaker, checked)
        said[each.id] = each.text
        speakers[each.id] = each.speaker
    return "\n".join((words.checked, quote_lines("\n".join(faults[-MAX_NAMED:])))) if faults else ""


def list_tool_texts(uses: Iterable[ToolUsed]) -> tuple[str, ...]:
    """Return what tools beyond the given files returned, as it can be quoted: without fences and numbers of lines."""
    return tuple(
        _FENCED.sub("", use.result)
        for use in uses
        if use.outcome == "answered" and use.tool not in GIVEN_TOOLS
    )


def build_quotations(timeline: SessionTimeline, subject: Topic) -> tuple[blocks.Block, ...]:
    """The section of a report on quotations: how many stand where they are said to, and each that does not."""
    # A fault quotes the line that it is about: sealed with it.
    if not (subject.context or timeline.tool_uses) or timeline.shared_state.is_sealed:
        return ()
    words = CONTEXT_FILES[timeline.language]
    counted: list[Quotation] = []
    faults: list[str] = []
    for line, checked in list_checked(timeline, subject.context):
        counted += [each for each in checked if each.is_counted]
        faults += _describe_faults(words, line.id, line.speaker, checked)
    if not counted and not faults:
        return ()
    held = sum(each.holds for each in counted)
    summary = words.held.format(held=held, all=len(counted)) if counted else ""
    counts = count_by_seat(timeline, subject.context)
    shares = ", ".join(
        f"{one_line(seat)} {held}/{checked}" for seat, (checked, held) in counts.items()
    )
    by_seat = blocks.Line(words.by_seat.format(shares=shares) if shares else "", "dim")
    shown = (blocks.Bullets(tuple(faults), "warn"),) if faults else ()
    return blocks.build_section(words.quotations, (blocks.Line(summary), by_seat, *shown))


def mark_faults(
    timeline: SessionTimeline, subject: Topic, record: Iterable[blocks.Block]
) -> Iterator[blocks.Block]:
    """The record with a mark under each turn that quotes what does not stand where it is said to."""
    marks: dict[int, tuple[blocks.Line, ...]] = {}
    if (subject.context or timeline.tool_uses) and not timeline.shared_state.is_sealed:
        for line, checked in list_checked(timeline, subject.context):
            faults = _describe_faults(
                CONTEXT_FILES[timeline.language], line.id, line.speaker, checked
            )
            marks[line.id] = tuple(blocks.Line(text.partition(": ")[2], "warn") for text in faults)
    for block in record:
        if isinstance(block, blocks.Card) and block.kind == "turn":
            marked = marks.get(block.entry or 0, ())
            yield replace(block, blocks=(*block.blocks, *marked)) if marked else block
        else:
            yield block


def list_checked(
    timeline: SessionTimeline, files: tuple[ContextFile, ...]
) -> Iterator[tuple[TimelineLine, list[Quotation]]]:
    """Every line that a seat wrote, with its quotations."""
    for line in timeline.lines:
        if line.speaker != USER:
            # A line quotes what was there before it: the verdict does not change any more.
            check = partial(_check_line, timeline, line, files)
            yield line, timeline.build_once(("quotations", line.id), (line.content,), check)


def has_unchecked(timeline: SessionTimeline) -> bool:
    """Whether there are lines whose quotations nobody has looked for yet, in what was given or looked up."""
    if timeline.shared_state.is_sealed:
        return False
    if not (timeline.session_state.opened.subject.context or timeline.tool_uses):
        return False
    return any(
        line.speaker != USER and not timeline.has_built(("quotations", line.id), (line.content,))
        for line in timeline.lines
    )


def check_lines(timeline: SessionTimeline) -> None:
    """Check the quotations of every line: what reads them afterwards finds the verdicts."""
    for _ in list_checked(timeline, timeline.session_state.opened.subject.context):
        pass


def count_by_seat(
    timeline: SessionTimeline, files: tuple[ContextFile, ...]
) -> dict[SeatId, tuple[int, int]]:
    """How many quotations of each seat were checked, and how many of them held; without what the owner said for it."""
    counts: dict[SeatId, tuple[int, int]] = {}
    for line, checked in list_checked(timeline, files):
        origin = timeline.origins.get(line.seq)
        counted = [each for each in checked if each.is_counted]
        if counted and not (origin and origin.origin.startswith(OWNER_ORIGIN)):
            count, held = counts.get(line.speaker, (0, 0))
            counts[line.speaker] = (
                count + len(counted),
                held + sum(each.holds for each in counted),
            )
    return counts


def list_citing_entries(
    timeline: SessionTimeline, subject: Topic
) -> tuple[tuple[str, int, tuple[int, ...]], ...]:
    """The lines of what was given that entries cite or quote: file, line, entries; none while answers are sealed."""
    if not subject.context or timeline.shared_state.is_sealed:
        return ()
    citing: dict[tuple[str, int], dict[int, None]] = {}
    for line, checked in list_checked(timeline, subject.context):
        cite = partial(list_places, line.content, subject, checked)
        for place in timeline.build_once(("cited", line.id), (line.content,), cite):
            citing.setdefault(place, {})[line.id] = None
    return tuple(
        (file, number, tuple(entries)) for (file, number), entries in sorted(citing.items())
    )


def list_places(text: str, subject: Topic, checked: Iterable[Quotation]) -> list[tuple[str, int]]:
    """The lines of what was given that a text cites, and those that its quotations stand in: file and line."""
    cited = list_cited_lines(text, subject.context)
    places = [(file, number) for file, first, last in cited for number in range(first, last + 1)]
    for each in checked:
        file, _, number = each.place.rpartition(":")
        if each.verdict != "not_found" and file and number.isdecimal():
            places.append((file, int(number)))
    return places


def _check_line(
    timeline: SessionTimeline, line: TimelineLine, files: tuple[ContextFile, ...]
) -> list[Quotation]:
    said: dict[int, str] = {}
    speakers: dict[int, str] = {}
    for each in timeline.lines:
        if each.id < line.id:
            said[each.id] = each.content
            speakers[each.id] = each.speaker
    # By the numbers of the ledger, below zero: those of lines are others.
    for use in timeline.tool_uses:
        if use.seq < line.seq:
            for text in list_tool_texts((use.fact,)):
                said[-use.seq] = text
    return check_quotations(line.content, files, said, speakers=speakers)


def _describe_faults(
    words: ContextFilesText, entry: int, seat: SeatId, checked: Iterable[Quotation]
) -> Iterator[str]:
    for each in checked:
        if each.is_fault:
            quoted, cited = one_line(each.text)[:MAX_WORDS_LENGTH], one_line(each.cited)
            source = words.cited.format(place=cited) if cited else ""
            text = words.faults[each.verdict].format(
                words=quoted, source=source, place=one_line(each.place), cited=cited
            )
            yield f"#{entry} {one_line(seat)}: {text}"


def build_evidence_base(timeline: SessionTimeline) -> EvidenceBase | None:
    """Return what a session that has ended rests on.

    None before, and where nothing was given or looked up, its text is not there, or the protocol checks it itself.
    """
    files = timeline.session_state.opened.subject.context
    is_absent = (
        timeline.closed is None
        or not (files or timeline.tool_uses)
        or not all(each.text for each in files)
    )
    if is_absent or timeline.checks_evidence:
        return None
    return timeline.build_once("evidence", (timeline.seq,), lambda: _collect(timeline, files))


def list_faults(timeline: SessionTimeline) -> tuple[QuotationFault, ...]:
    """Return each quotation of a session that has ended whose words do not stand where they are said to."""
    if build_evidence_base(timeline) is None:
        return ()
    faults: list[QuotationFault] = []
    for line, checked in list_checked(timeline, timeline.session_state.opened.subject.context):
        for each in checked:
            is_of_file = bool(each.cited) and not each.cited.startswith("#")
            if each.verdict == "not_found" and is_of_file:
                fault = QuotationFault(seat=line.speaker, place=each.cited, words=each.text)
                faults.append(fault)
    return tuple(faults)


def describe_evidence_base(timeline: SessionTimeline) -> tuple[blocks.Block, ...]:
    """Lines for the decision: which files it was argued from and nobody looked at, false quotations, and refused calls."""
    base, words = build_evidence_base(timeline), CONTEXT_FILES[timeline.language]
    if base is None:
        return ()
    unread = quoted = refused = ""
    if base.unread:
        unread = words.unread.format(files=_join_names(base.unread))
    if base.quotations_held < base.quotations:
        quoted = words.held.format(held=base.quotations_held, all=base.quotations)
    if base.refused_tool_calls:
        refused = words.refused_calls.format(count=base.refused_tool_calls)
    lines: list[blocks.Block] = []
    if timeline.session_state.opened.subject.context:
        lines += [_describe_cited(base, words), blocks.Line(unread, "warn")]
    lines += [blocks.Line(quoted, "warn"), blocks.Line(refused, "warn")]
    return tuple(lines)


def _describe_cited(base: EvidenceBase, words: ContextFilesText) -> blocks.Line:
    if base.cited:
        return blocks.Line(words.rests_on.format(files=_join_names(base.cited)), "plain")
    return blocks.Line(words.cites_nothing, "warn")


def _collect(timeline: SessionTimeline, files: tuple[ContextFile, ...]) -> EvidenceBase:
    checked: list[Quotation] = []
    for _, quotations in list_checked(timeline, files):
        checked += [each for each in quotations if each.is_counted]
    shown = set(_list_shown(timeline, files))
    unread = [each.name for each in files if each.name not in shown]
    seats = []
    for seat, (count, held) in count_by_seat(timeline, files).items():
        seats.append(SeatQuotations(seat=seat, checked=count, held=held))
    refused = [use for use in timeline.tool_uses if use.fact.limit]
    return EvidenceBase(
        cited=_list_cited_files(timeline, checked, files),
        unread=tuple(unread),
        quotations=len(checked),
        quotations_held=sum(each.holds for each in checked),
        seats=tuple(seats),
        refused_tool_calls=len(refused),
    )


def _list_cited_files(
    timeline: SessionTimeline, checked: Iterable[Quotation], files: tuple[ContextFile, ...]
) -> tuple[str, ...]:
    """The names of the cited files, the most quoted first."""
    cited = Counter[str]()
    for each in checked:
        name = _find_file(each.place, files)
        if name:
            cited[name] += 1
    # A line can be cited without words of it.
    for name, *_ in list_citing_entries(timeline, timeline.session_state.opened.subject):
        cited[name] += 0
    return tuple(name for name, _ in cited.most_common())


def _list_shown(timeline: SessionTimeline, files: tuple[ContextFile, ...]) -> Iterable[str]:
    opened = timeline.session_state.opened
    for seat in timeline.session_state.seats:
        if seat.id not in timeline.answered_at:
            continue
        visible = select_visible(files, seat.sees)
        if fits_prompt(visible) and not is_read_by_tools(opened, seat, visible):
            yield from (each.name for each in visible)
        else:
            room = find_passage_room(opened, seat, visible)
            yield from (each.file for each in search_files(visible, opened.topic, room))
    for use in timeline.tool_uses:
        for place in use.fact.places:
            name = _find_file(place, files)
            if name:
                yield name


def _find_file(place: str, files: tuple[ContextFile, ...]) -> str:
    """The file of a place such as `notes.md:12-18`; empty for a place that is in none."""
    return next(
        (each.name for each in files if place == each.name or place.startswith(f"{each.name}:")), ""
    )


def _join_names(names: tuple[str, ...]) -> str:
    more = f" +{len(names) - MAX_NAMED}" if len(names) > MAX_NAMED else ""
    return ", ".join(map(one_line, names[:MAX_NAMED])) + more
