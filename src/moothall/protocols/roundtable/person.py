"""What a person is asked in a conference: a speech in its own words, or the minutes."""

from collections.abc import Mapping
from typing import Final

from moothall.domain.context import Utterance, clip_utterance
from moothall.domain.effects import Ask
from moothall.domain.person import Answers, PersonAsk, PersonChoice, PersonStep
from moothall.domain.safe_text import quote_lines
from moothall.locale.catalogues import ROUNDTABLE_PERSON
from moothall.protocols.roundtable.state import Conference
from moothall.reports.person_steps import join_long_choice, offer_choice, read_choice

WORDS: Final = "words"
AGREED: Final = "agreed"
MOST_SPEECHES: Final = 20


def build_person_ask(state: Conference, ask: Ask) -> PersonAsk:
    """Build what a person is asked."""
    words = ROUNDTABLE_PERSON[state.opened.language]
    latest = state.speeches[-MOST_SPEECHES:]
    news = tuple(clip_utterance(Utterance(id=speech.number, speaker=speech.seat, text=speech.said.content)) for speech in latest)
    said = [part for given in state.inputs for part in (words.inputs, quote_lines(given.text))]
    choice = offer_choice(state.opened.language, state.opened.subject.options)
    if ask.kind == "minutes":
        step = PersonStep(name=WORDS, text=words.minutes, is_needed=True, is_long=True)
        return PersonAsk(steps=(step, choice), about="\n".join(said), news=news, build=_build_minutes)
    expected = [words.expected, quote_lines(state.prompt)] if state.prompt else []
    steps = [PersonStep(name=WORDS, text=words.speech, is_needed=True, is_long=True)]
    if not state.speeches:
        steps.append(choice)
    if any(speech.seat != ask.seat for speech in state.speeches):
        choices = tuple(PersonChoice(value=value, text=text) for value, text in words.answers.items())
        steps.append(PersonStep(name=AGREED, text=words.agreed, choices=choices, kind="option"))
    return PersonAsk(steps=tuple(steps), about="\n".join([*expected, *said]), news=news, build=_build_speech)


def _build_speech(answers: Answers) -> Mapping[str, object]:
    return {**_build_minutes(answers), "consensus": answers.get(AGREED) == "yes"}


def _build_minutes(answers: Answers) -> Mapping[str, object]:
    return {"content": join_long_choice(answers[WORDS], answers), "choice": read_choice(answers)}
