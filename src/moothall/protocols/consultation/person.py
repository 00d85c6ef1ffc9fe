"""What a person is asked when another seat consults it, and how it asks itself: `/ask NAME QUESTION`."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from moothall.domain.consult import ConsultRequest
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.domain.person import PersonAsk, PersonStep
from moothall.domain.safe_text import quote_lines
from moothall.reports.two_languages import TwoLanguages, both, in_each_language

WORDS: Final = "words"


class ConsultationPersonText(TwoLanguages):
    """Every text, in one language."""

    asked = both("{seat} asks you:", "{seat} 向你咨询：")
    background = both("The background:", "背景：")
    understanding = both("{seat} believes so far:", "{seat} 目前的理解：")
    answer = both("What do you answer? Say so if you do not know.", "你的回答是什么？不知道就说不知道。")
    conclude = both("What do you make of it?", "你的结论是什么？")
    may_ask = both("(Before you answer you may ask someone: /ask NAME QUESTION)", "（回答之前可以先咨询别人：/ask 名字 问题）")


PERSON_TEXT = in_each_language(ConsultationPersonText)


def build_consulted_ask(language: Language, asker: SeatId, request: ConsultRequest) -> PersonAsk:
    """Build what a consulted person is asked."""
    words = PERSON_TEXT[language]
    lines = [words.asked.format(seat=asker), quote_lines(request.question)]
    if request.background:
        lines += [words.background, quote_lines(request.background)]
    if request.understanding:
        lines += [words.understanding.format(seat=asker), quote_lines(request.understanding)]
    step = PersonStep(name=WORDS, text=words.answer, is_needed=True, is_long=True)
    return PersonAsk(steps=(step,), about="\n".join(lines), build=lambda answers: answers[WORDS])


def build_conclusion_ask(language: Language) -> PersonAsk:
    """Build what the person is asked who put the question, once it has the answer."""
    words = PERSON_TEXT[language]
    step = PersonStep(name=WORDS, text=words.conclude, is_needed=True, is_long=True)
    return PersonAsk(steps=(step,), build=lambda answers: answers[WORDS])


def add_consultations(language: Language, build: Callable[[], PersonAsk], learned: str, *, may_ask: bool) -> PersonAsk:
    """Return the protocol's ask with what the person has learned by consulting, and the offer to consult."""
    person, hint = build(), PERSON_TEXT[language].may_ask if may_ask else ""
    about = "\n\n".join(part for part in (learned, person.about) if part)
    return replace(person, about=about, intro="\n".join(part for part in (person.intro, hint) if part))
