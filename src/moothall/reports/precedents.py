"""What a seat is told of earlier decisions: marked as memory, quoted, of bounded length."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial
from typing import Final

from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.domain.person import PersonAsk
from moothall.domain.safe_text import one_line, quote_lines
from moothall.domain.topic import Precedent, Topic
from moothall.reports.context_files import format_context
from moothall.reports.two_languages import TwoLanguages, both, in_each_language

LONGEST_MEMORY: Final = 3_000
"""The most characters that memory takes in a brief."""
FAILED: Final = frozenset({"failure", "abandoned"})


class PrecedentText(TwoLanguages):
    """Every text, in one language."""

    heading = both(
        "# Memory: earlier decisions (quoted; they bind nobody, and circumstances may have changed)",
        "# 记忆：以往的决定（引文；不具约束力，情况可能已变）",
    )
    similar = both("[{decision}, {date}, on a similar question: {outcome}]", "[{decision}，{date}，类似问题：{outcome}]")
    basis = both(
        "[{decision}, {date}, this question builds on it: {outcome}]", "[{decision}，{date}，本问题以它为基础：{outcome}]"
    )
    warning = both(
        "! Warning: what this question builds on has failed. Check whether the reason still holds.",
        "！警告：本问题所依据的决定已经失败。请核实失败的原因是否仍然存在。",
    )
    topic = both("Question: {text}", "问题：{text}")
    decided = both("Decided: {text}", "决定：{text}")
    lesson = both("How it went: {text}", "结果说明：{text}")
    outcomes = both(
        {
            "": "not reviewed yet",
            "success": "it succeeded",
            "partial": "it succeeded in part",
            "failure": "it FAILED",
            "abandoned": "it was abandoned",
        },
        {"": "尚无结果", "success": "成功", "partial": "部分成功", "failure": "失败", "abandoned": "被放弃"},
    )


PRECEDENT_TEXT = in_each_language(PrecedentText)


@lru_cache(maxsize=32)
def format_precedents(language: Language, precedents: tuple[Precedent, ...]) -> str:
    """Return the earlier decisions as every seat reads them; those that do not fit are left out from the end."""
    words = PRECEDENT_TEXT[language]
    text = words.heading
    for each in precedents:
        part = _format_precedent(words, each)
        if len(text) + 1 + len(part) > LONGEST_MEMORY:
            break
        text += f"\n{part}"
    return text


def add_background(brief: Brief, subject: Topic) -> Brief:
    """Return the brief with the files of the question and what memory holds, before all that changes from turn to turn:
    providers reuse what stays equal."""
    is_told = (subject.context or subject.precedents) and brief.file_request is None and brief.form.kind != "compare"
    if not is_told:
        return brief
    given = [format_context(brief.language, subject.context)] if subject.context else []
    given += [format_precedents(brief.language, subject.precedents)] if subject.precedents else []
    told = "\n\n".join(given)
    shared = f"{told}\n\n{brief.shared}" if brief.shared else told
    person = brief.person
    # A person has read it once it has spoken; a model forgets from ask to ask.
    if person is not None and not brief.perception.own_words:
        person = partial(_tell_person, told, person)
    return replace(brief, shared=shared, person=person)


def _format_precedent(words: PrecedentText, each: Precedent) -> str:
    head = words.basis if each.is_basis else words.similar
    # The outcome is one of a few words; everything else that others wrote stands in the quotation.
    outcome = words.outcomes.get(each.outcome, one_line(each.outcome)[:20])
    lines = [head.format(decision=one_line(each.decision), date=each.date, outcome=outcome)]
    quoted = [words.topic.format(text=each.topic), words.decided.format(text=each.decided)]
    quoted += [words.lesson.format(text=each.lesson)] if each.lesson else []
    lines.append(quote_lines("\n".join(quoted)))
    if each.is_basis and each.outcome in FAILED:
        lines.append(words.warning)
    return "\n".join(lines)


def _tell_person(told: str, build: Callable[[], PersonAsk]) -> PersonAsk:
    person = build()
    # Nothing to answer, nothing to read.
    return replace(person, about="\n\n".join(part for part in (told, person.about) if part)) if person.steps else person
