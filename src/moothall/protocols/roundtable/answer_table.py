"""The answers of a conference, field by field: a speech in the speaker's own words, or the minutes."""

from typing import Final

from moothall.domain.answer_table import AnswerField, StateAsk, ask_person, define_answer, index_by_kind
from moothall.domain.context import Utterance, clip_utterance
from moothall.domain.effects import AnswerForm, Ask
from moothall.domain.person import Answers, PersonAsk, PersonChoice, PersonStep
from moothall.domain.safe_text import quote_lines
from moothall.locale.catalogues import ROUNDTABLE_PERSON, RoundtablePersonText
from moothall.protocols.roundtable.facts import Minutes, MinutesWritten, RoundtableSpeech, SpeechGiven
from moothall.protocols.roundtable.state import Conference
from moothall.reports.person_steps import WORDS, ask_words, join_long_choice, offer_choice, read_choice

AGREED: Final = "agreed"
MAX_SPEECHES: Final = 20


class ConferenceAsk(StateAsk[Conference]):
    @property
    def text(self) -> RoundtablePersonText:
        return ROUNDTABLE_PERSON[self.language]


Row = AnswerField[ConferenceAsk]


def _read_content(_: ConferenceAsk, answers: Answers) -> str:
    return join_long_choice(answers[WORDS], answers)


def _read_choice(_: ConferenceAsk, answers: Answers) -> str:
    return read_choice(answers)


def _ask_choice(asked: ConferenceAsk) -> list[PersonStep]:
    opened = asked.state.opened
    return [offer_choice(opened.language, opened.subject.options)]


def _ask_consensus(asked: ConferenceAsk) -> list[PersonStep]:
    if all(speech.seat == asked.ask.seat for speech in asked.state.speeches):
        return []
    choices = tuple(PersonChoice(value=value, text=text) for value, text in asked.text.answers.items())
    return [PersonStep(name=AGREED, text=asked.text.agreed, choices=choices, kind="option")]


FORMS: Final = index_by_kind(
    define_answer(
        AnswerForm(kind="speech", reply=SpeechGiven, shape=RoundtableSpeech, form="text", max_tokens=900),
        Row("content", is_needed=True, ask=lambda asked: [ask_words(asked.text.speech)], read=_read_content),
        # It counts where nobody has spoken before.
        Row("choice", ask=lambda asked: [] if asked.state.speeches else _ask_choice(asked), read=_read_choice),
        Row("consensus", ask=_ask_consensus, read=lambda _, answers: answers.get(AGREED) == "yes"),
    ),
    define_answer(
        AnswerForm(kind="minutes", reply=MinutesWritten, shape=Minutes, form="text", max_tokens=1_500),
        Row("content", is_needed=True, ask=lambda asked: [ask_words(asked.text.minutes)], read=_read_content),
        Row("choice", ask=_ask_choice, read=_read_choice),
    ),
)


def build_person_ask(state: Conference, ask: Ask) -> PersonAsk:
    asked = ConferenceAsk(state=state, ask=ask)
    latest = state.speeches[-MAX_SPEECHES:]
    news = tuple(clip_utterance(Utterance(id=speech.number, speaker=speech.seat, text=speech.said.content)) for speech in latest)
    is_expected = state.prompt and ask.kind == "speech"
    about = [asked.text.expected, quote_lines(state.prompt)] if is_expected else []
    about += [part for given in state.inputs for part in (asked.text.inputs, quote_lines(given.text))]
    return ask_person(FORMS[ask.kind].fields, asked, about="\n".join(about), news=news)
