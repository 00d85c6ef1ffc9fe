"""The facts that seats stated first (Q-4), as all read them in every later prompt and as people read them in the minutes.

Code checks what it can: whether the words stand at the place that a seat names in what it was given. Everything else is said to be
unchecked; nothing is left out.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, Literal

from moothall.domain.facts import Language, ToolUsed
from moothall.domain.given_search import select_visible
from moothall.domain.ids import parse_ask_kind
from moothall.domain.quotations import (
    Quotation,
    check_quotations,
    list_cited_lines,
    locate_quotation,
)
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line, quote_lines
from moothall.domain.session_state import ProtocolState
from moothall.domain.stated_facts import (
    FACTS_ASK,
    FactGiver,
    FactsTable,
    PooledFact,
    pool_facts,
)
from moothall.domain.topic import ContextFile
from moothall.locale.catalogues import FACTS_FIRST, FactsFirstText
from moothall.reports import blocks
from moothall.reports.quotations import list_tool_texts
from moothall.reports.timeline import SessionTimeline

FactVerdict = Literal["found", "place", "differs", "not_found", "no_place", "own", "unchecked"]
"""What code says of a source: the words stand there, the place exists, its line says something else, the words are not there, there is
no such place, nothing but the seat's own knowledge, or nothing that code can look at."""
OWN: Final = frozenset(("", "own knowledge", "own", "none", "自有知识", "无"))
"""What a seat writes that has no source but itself."""
MAX_PLACE: Final = 120
_ORDER: Final[tuple[FactVerdict, ...]] = (
    "found",
    "differs",
    "not_found",
    "no_place",
    "place",
    "unchecked",
    "own",
)
"""Of several givers the strongest verdict is shown: what stands in a file stands there, no matter who says it."""


@lru_cache(maxsize=512)
def check_fact(
    text: str, source: str, files: tuple[ContextFile, ...], looked_up: tuple[str, ...] = ()
) -> tuple[FactVerdict, str]:
    """Return what code says of a fact and its source, with the place; `files` are those that its seat was given."""
    cited = list_cited_lines(source, files) or list_cited_lines(text, files)
    for name, first, last in cited:
        file = next(each for each in files if each.name == name)
        at = locate_quotation(text, file, first)
        if at:
            return "found", f"{name}:{at}"
        if last < first:
            return "no_place", f"{name}:{first}"
    # Below zero: what tools returned is a source, entries of seats are none.
    said = {-number: returned for number, returned in enumerate(looked_up, 1)}
    claim = f"{text.rstrip('.。')} ({source})"
    return _judge_quotations(check_quotations(claim, files, said), source, cited)


def _judge_quotations(
    checked: Sequence[Quotation], source: str, cited: Sequence[tuple[str, int, int]]
) -> tuple[FactVerdict, str]:
    for each in checked:
        place = each.cited or each.place
        if each.verdict == "no_place":
            return "no_place", place
        if each.verdict == "differs":
            return "differs", place
        if each.is_fault:
            return "not_found", place or one_line(source)
    for each in checked:
        if each.holds:
            return "found", each.place
    if cited:
        name, first, _ = cited[0]
        return "place", f"{name}:{first}"
    if one_line(source).strip(" .。“”\"'").casefold() in OWN:
        return "own", ""
    return "unchecked", ""


@lru_cache(maxsize=32)
def format_stated_facts(
    language: Language,
    context: tuple[ContextFile, ...],
    seats: tuple[Seat, ...],
    table: FactsTable,
    looked_up: tuple[ToolUsed, ...] = (),
) -> str:
    """Return the facts as every seat reads them in every later prompt; empty before they are listed, or where there are none."""
    pooled = pool_facts(table, [seat.id for seat in seats])
    if not pooled:
        return ""
    words = FACTS_FIRST[language]
    parts = [words.heading]
    for fact in pooled:
        parts.append(_describe_check(words, fact, context, seats, looked_up))
        lines = [fact.text]
        # Where it is from is the seat's word as well: it stands behind the mark.
        for source in _list_sources(fact):
            lines.append(words.source.format(source=source))
        parts.append(quote_lines("\n".join(lines)))
    return "\n".join(parts)


def select_uses(uses: Iterable[ToolUsed]) -> tuple[ToolUsed, ...]:
    """Return what seats looked up for their facts: what is looked up later changes no check."""
    return tuple(use for use in uses if parse_ask_kind(use.ask) == FACTS_ASK)


def list_state_facts(state: object) -> FactsTable | None:
    """Return the facts of a protocol's state; None where it has none to show."""
    if not isinstance(state, ProtocolState) or not state.facts_table.listed_at:
        return None
    return state.facts_table


def build_stated_facts(timeline: SessionTimeline) -> tuple[blocks.Block, ...]:
    """Return the section of the minutes: each fact with its givers and its check, and who had none or did not answer."""
    opened, table = timeline.session_state.opened, timeline.shared_state.facts_table
    if not opened.facts_first or not table.listed_at:
        return ()
    words, seats = FACTS_FIRST[timeline.language], timeline.session_state.seats
    context = opened.subject.context
    uses = select_uses(use.fact for use in timeline.tool_uses)
    content: list[blocks.Block] = [blocks.Line(words.why[opened.facts_first], "dim")]
    pooled = pool_facts(table, [seat.id for seat in seats])
    for fact in pooled:
        check = _describe_check(words, fact, context, seats, uses)
        shown: list[blocks.Block] = [blocks.Quote(fact.text)]
        for source in _list_sources(fact):
            shown.append(blocks.Line(words.source.format(source=source), "dim"))
        content.append(blocks.Card(head=(check,), blocks=tuple(shown)))
    if not pooled:
        content.append(blocks.Line(words.none))
    silent = [each.seat for each in table.stated if not each.said.listed]
    if silent and pooled:
        content.append(blocks.Line(words.passed.format(seats=words.between.join(silent)), "dim"))
    if table.lost:
        content.append(blocks.Line(words.lost.format(seats=words.between.join(table.lost)), "warn"))
    return blocks.build_section(words.section, tuple(content))


def _list_sources(fact: PooledFact) -> list[str]:
    """Return the sources that are named for a fact, each once."""
    sources: dict[str, None] = {}
    for giver in fact.givers:
        source = one_line(giver.source)
        if source:
            sources[source] = None
    return [*sources]


def _describe_check(
    words: FactsFirstText,
    fact: PooledFact,
    context: tuple[ContextFile, ...],
    seats: tuple[Seat, ...],
    looked_up: tuple[ToolUsed, ...],
) -> str:
    """Return who states a fact, and what code says of its source."""
    verdicts: dict[FactVerdict, str] = {}
    for giver in fact.givers:
        verdict, place = _check_giver(fact.text, giver, context, seats, looked_up)
        verdicts.setdefault(verdict, place)
    strongest = min(verdicts, key=_ORDER.index)
    place = one_line(verdicts[strongest])[:MAX_PLACE]
    check = words.checks[strongest].format(place=place)
    givers = words.between.join(giver.seat for giver in fact.givers)
    return words.line.format(givers=givers, check=check)


def _check_giver(
    text: str,
    giver: FactGiver,
    context: tuple[ContextFile, ...],
    seats: tuple[Seat, ...],
    looked_up: tuple[ToolUsed, ...],
) -> tuple[FactVerdict, str]:
    sees: tuple[str, ...] = ()
    for seat in seats:
        if seat.id == giver.seat:
            sees = seat.sees
    files = select_visible(context, sees)
    own_uses = [use for use in looked_up if use.seat == giver.seat]
    return check_fact(text, giver.source, files, list_tool_texts(own_uses))
