"""What every seat reads with the question: earlier decisions like it, and the files that were given with it."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

from moothall.domain.effects import Brief, ToolAccess
from moothall.domain.facts import Language, Opened, ToolUsed
from moothall.domain.given_search import select_visible
from moothall.domain.person import PersonAsk
from moothall.domain.safe_text import one_line, quote_lines
from moothall.domain.topic import Precedent
from moothall.locale.catalogues import PRECEDENTS
from moothall.reports.given import (
    can_look_up,
    find_passage_room,
    format_context,
    format_pictures,
    is_read_by_tools,
    list_tool_names,
)
from moothall.reports.quotations import format_faults, list_tool_texts

MAX_MEMORY_LENGTH: Final = 3_000
"""The most characters that memory takes in a brief."""
FAILED: Final = frozenset({"failure", "abandoned"})


@lru_cache(maxsize=32)
def format_precedents(language: Language, precedents: tuple[Precedent, ...]) -> str:
    """Return the earlier decisions as every seat reads them; those that do not fit are left out from the end."""
    words = PRECEDENTS[language]
    text = words.heading
    for each in precedents:
        head = words.basis if each.is_basis else words.similar
        # The outcome is one of a few words; everything else that others wrote stands in the quotation.
        outcome = words.outcomes.get(each.outcome, one_line(each.outcome)[:20])
        lines = [head.format(decision=one_line(each.decision_id), date=each.date, outcome=outcome)]
        quoted = [words.topic.format(text=each.topic), words.decided.format(text=each.text)]
        if each.lesson:
            quoted.append(words.lesson.format(text=each.lesson))
        lines.append(quote_lines("\n".join(quoted)))
        if each.is_basis and each.outcome in FAILED:
            lines.append(words.warning)
        part = "\n".join(lines)
        if len(text) + 1 + len(part) > MAX_MEMORY_LENGTH:
            break
        text += f"\n{part}"
    return text


def add_background(
    brief: Brief,
    opened: Opened,
    used: tuple[ToolUsed, ...] = (),
    looked_up: tuple[ToolUsed, ...] = (),
    stated_facts: str = "",
) -> Brief:
    """Return the brief with the files of the question, what memory holds and the facts that seats stated first, before all that
    changes from turn to turn: providers reuse what stays equal. `used` is what the seat has looked up for this ask already,
    `looked_up` what all have."""
    subject = opened.subject
    context = () if brief.shows_given else subject.context
    files = select_visible(context, brief.seat.sees)
    pictures = select_visible(subject.pictures, brief.seat.sees)
    # A bid says whether one wants to speak; looking things up is for what is said then.
    names = () if brief.probe else list_tool_names(opened, brief.seat, files)
    has_more = bool(context or pictures or subject.precedents or names or stated_facts)
    if brief.chore is not None or not has_more:
        return brief
    is_searched = is_read_by_tools(opened, brief.seat, files)
    given = []
    if files:
        goal = brief.perception.goal
        # Long evidence is paid once (E-10): who has answered has read the passages, and looks up what it needs of them.
        has_read = bool(brief.perception.own_words) and can_look_up(opened, brief.seat, files)
        room = find_passage_room(opened, brief.seat, files)
        given.append(
            format_context(
                brief.language, files, goal, is_searched=is_searched, has_read=has_read, room=room
            )
        )
    if pictures:
        given.append(format_pictures(brief.language, pictures))
    if subject.precedents:
        given.append(format_precedents(brief.language, subject.precedents))
    if stated_facts:
        given.append(stated_facts)
    given_text = "\n\n".join(given)
    texts = list_tool_texts(looked_up)
    faults = ""
    if context or texts:
        faults = format_faults(brief.language, context, brief.perception.memory.recent, texts)
    shared = "\n\n".join(filter(None, (given_text, brief.shared, faults)))
    person = brief.person
    # A person has read it once it has spoken; a model forgets from ask to ask.
    if person is not None and not brief.perception.own_words:
        person = partial(_tell_person, given_text, person)
    tools = None
    if names:
        tools = ToolAccess(
            names=names, files=files, rules=opened.tools, used=used, tree=opened.tree
        )
    if brief.probe:
        pictures = ()
    return replace(brief, shared=shared, person=person, tools=tools, pictures=pictures)


def _tell_person(given_text: str, build: Callable[[], PersonAsk]) -> PersonAsk:
    person = build()
    if not person.steps:
        # Nothing to answer, nothing to read.
        return person
    return replace(person, about="\n\n".join(filter(None, (given_text, person.about))))
