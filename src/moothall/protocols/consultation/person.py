"""What a person is asked when another seat consults it, and how it asks itself: `/ask NAME QUESTION`."""

from collections.abc import Callable
from dataclasses import replace

from moothall.domain.consult import ConsultRequest
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.domain.person import PersonAsk
from moothall.domain.safe_text import quote_lines
from moothall.locale.catalogues import CONSULTATION_PERSON
from moothall.reports.person_steps import WORDS, ask_words


def build_consulted_ask(language: Language, asker: SeatId, request: ConsultRequest) -> PersonAsk:
    """Build what a consulted person is asked."""
    words = CONSULTATION_PERSON[language]
    lines = [words.asked.format(seat=asker), quote_lines(request.question)]
    if request.background:
        lines += [words.background, quote_lines(request.background)]
    if request.understanding:
        lines += [words.understanding.format(seat=asker), quote_lines(request.understanding)]
    step = ask_words(words.answer)
    return PersonAsk(steps=(step,), about="\n".join(lines), build=lambda answers: answers[WORDS])


def build_conclusion_ask(language: Language) -> PersonAsk:
    """Build what the person is asked who put the question, once it has the answer."""
    words = CONSULTATION_PERSON[language]
    step = ask_words(words.conclude)
    return PersonAsk(steps=(step,), build=lambda answers: answers[WORDS])


def add_consultations(language: Language, build: Callable[[], PersonAsk], learned: str, *, may_ask: bool) -> PersonAsk:
    """Return the protocol's ask with what the person has learned by consulting, and the offer to consult."""
    person, hint = build(), CONSULTATION_PERSON[language].may_ask if may_ask else ""
    about = "\n\n".join(part for part in (learned, person.about) if part)
    return replace(person, about=about, intro="\n".join(part for part in (person.intro, hint) if part))
