"""The prompts of a conference, pure functions of bounded length, and its answers: a speech in the own words, or the minutes."""

from dataclasses import replace
from functools import partial
from typing import Final

from moothall.domain.answer_table import (
    ask_for_replies,
    list_alternatives,
    quote_open_inputs,
)
from moothall.domain.prompt_parts import build_system_text, introduce_seat, is_open_list
from moothall.domain.topic import drop_choice
from moothall.features.roundtable.facts import (
    Minutes,
    MinutesWritten,
    RoundtableSpeech,
    SpeechGiven,
)
from moothall.features.roundtable.files import build_consensus_note
from moothall.features.roundtable.sections import (
    SpeechText,
    describe_role,
    fit_speeches,
    name_minutes_sections,
)
from moothall.features.roundtable.state import RECENT, Conference, NumberedSpeech
from moothall.features.roundtable.words import (
    ROUNDTABLE_PERSON,
    ROUNDTABLE_PROMPT,
    RoundtablePersonText,
    RoundtablePromptText,
)
from moothall.locale.catalogues import PARTICIPANT_PROMPT
from moothall.plugins import (
    WORDS,
    AnswerField,
    AnswerForm,
    AnswerRules,
    Answers,
    Ask,
    Brief,
    ContextWindow,
    Perception,
    PersonAsk,
    PersonChoice,
    PersonStep,
    StateAsk,
    Utterance,
    ask_person,
    ask_words,
    clip_utterance,
    compile_late,
    define_answer,
    fill_brief,
    index_by_kind,
    one_line,
    quote_lines,
    quote_user,
    shorten_text,
)
from moothall.reports.person_steps import CHOICE_FIELD, join_long_choice

AGREED: Final = "agreed"
MAX_SPEECHES: Final = 20


class ConferenceAsk(StateAsk[Conference]):
    @property
    def text(self) -> RoundtablePersonText:
        return ROUNDTABLE_PERSON[self.language]


Row = AnswerField[ConferenceAsk]


def _read_content(_: ConferenceAsk, answers: Answers) -> str:
    return join_long_choice(answers[WORDS], answers)


def _ask_consensus(asked: ConferenceAsk) -> list[PersonStep]:
    if all(speech.seat == asked.ask.seat for speech in asked.state.speeches):
        return []
    choices = tuple(
        PersonChoice(value=value, text=text) for value, text in asked.text.answers.items()
    )
    return [
        PersonStep(
            name=AGREED,
            text=asked.text.agreed,
            choices=choices,
            kind="option",
            if_empty=asked.text.not_agreed,
        )
    ]


FORMS: Final = index_by_kind(
    define_answer(
        AnswerForm(
            kind="speech", reply=SpeechGiven, shape=RoundtableSpeech, form="text", max_tokens=900
        ),
        Row(
            "content",
            is_needed=True,
            ask=lambda asked: [ask_words(asked.text.speech)],
            read=_read_content,
        ),
        # It counts where nobody has spoken before.
        replace(CHOICE_FIELD, when=lambda asked: not asked.state.speeches),
        Row("consensus", ask=_ask_consensus, read=lambda _, answers: answers.get(AGREED) == "yes"),
    ),
    define_answer(
        AnswerForm(
            kind="minutes", reply=MinutesWritten, shape=Minutes, form="text", max_tokens=1_500
        ),
        Row(
            "content",
            is_needed=True,
            ask=lambda asked: [ask_words(asked.text.minutes)],
            read=_read_content,
        ),
        CHOICE_FIELD,
    ),
)


def build_person_ask(state: Conference, ask: Ask) -> PersonAsk:
    asked = ConferenceAsk(state=state, ask=ask)
    latest = state.speeches[-MAX_SPEECHES:]
    news = tuple(
        clip_utterance(Utterance(id=speech.number, speaker=speech.seat, text=speech.said.content))
        for speech in latest
    )
    is_expected = state.prompt and ask.kind == "speech"
    about = [asked.text.expected, _quote_prompt(state)] if is_expected else []
    about += [
        part for given in state.inputs for part in (asked.text.inputs, quote_user(given.text))
    ]
    return ask_person(FORMS[ask.kind].fields, asked, about="\n".join(about), news=news)


MAX_SPEECH_LENGTH: Final = 6_000
"""The most characters of one speech that the next speakers read."""

MAX_RECORD_LENGTH: Final = 60_000
"""The most characters that the moderator is sent in all."""

AGENDA_ROOM: Final = 12_000
RETURNED_ROOM: Final = 8_000
"""The most characters of the agenda and of minutes that came back, where the moderator reads them."""

MAX_ROLE_LENGTH: Final = 120
"""The most characters of a role's description that the others read."""

_SENTENCES = compile_late(r"(?<=[。！？.!?\n])")
MAX_QUESTIONS: Final = 3


def build_answer_rules(state: Conference, ask: Ask) -> AnswerRules:
    return AnswerRules(
        form=FORMS[ask.kind],
        is_open=is_open_list(state),
        alternatives=list_alternatives(state),
        person=partial(build_person_ask, state, ask),
    )


def build_brief(state: Conference, ask: Ask) -> Brief:
    words = ROUNDTABLE_PROMPT[state.opened.language]
    memory = ContextWindow(window=RECENT)
    for speech in state.recent:
        memory = memory.add(
            Utterance(id=speech.number, speaker=speech.seat, text=speech.said.content), 0.5
        )
    own_prompt = _build_own_prompt(state, words, ask)
    added = quote_open_inputs(state)
    own = next(
        (speech.said.content for speech in reversed(state.speeches) if speech.seat == ask.seat), ""
    )
    if ask.kind == "speech":
        nth, shared = state.round, _build_shared_prompt(state, words)
    else:
        nth = 1 if state.returned is None else 2
        shared = _build_record(state, words, f"{added}{own_prompt}")
    return fill_brief(
        state,
        ask,
        build_answer_rules(state, ask),
        nth=nth,
        perception=Perception(goal=state.opened.topic, memory=memory, own_words=own),
        shared=shared,
        own=own_prompt,
        subject=state.speeches[-1].said.content if state.speeches else state.opened.topic,
    )


def _build_shared_prompt(state: Conference, words: RoundtablePromptText) -> str:
    """Build what every speaker reads: the agenda and the latest speeches."""
    parts = [_build_agenda(state, words, MAX_RECORD_LENGTH)]
    if state.recent:
        older = len(state.speeches) - len(state.recent)
        lines = [words.latest]
        if older:
            lines.append(words.earlier.format(count=older))
        lines += [_format_speech(words, speech, MAX_SPEECH_LENGTH) for speech in state.recent]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _build_agenda(state: Conference, words: RoundtablePromptText, room: int) -> str:
    opened = state.opened
    agenda = quote_user("\n".join(part for part in (opened.topic, opened.settings.agenda) if part))
    if len(agenda) > room:
        agenda = f"{agenda[:room]}…\n{words.agenda_cut.format(where=_find_place(state, words, 'AGENDA.md'))}"
    described: list[str] = []
    for role in state.speakers:
        text = describe_role(state.seat(role))
        if text:
            described.append(f"{role}: {text[:MAX_ROLE_LENGTH]}")
    lines = [words.agenda, agenda, words.roles.format(roles=" → ".join(state.speakers))]
    if described:
        lines.append(quote_lines("\n".join(described)))
    return "\n".join(lines)


def _quote_prompt(state: Conference) -> str:
    """Quote what is asked of the speaker: before anybody has spoken, these are the words of who opened the conference."""
    if state.speeches:
        return quote_lines(state.prompt)
    if state.opened.settings.prompt:
        return quote_user(state.prompt)
    return state.prompt


def _find_place(state: Conference, words: RoundtablePromptText, file: str = "") -> str:
    """Name where a whole text is: a file of the conference's folder, or the record of a session without files."""
    name = state.opened.settings.conference
    return f".roundtable/{name}/{file}" if name else words.in_record


def _build_record(state: Conference, words: RoundtablePromptText, own: str) -> str:
    """Build what the moderator reads: all speeches, shortened so that the whole prompt stays within `MAX_RECORD_LENGTH`."""
    agenda = _build_agenda(state, words, AGENDA_ROOM)
    if not state.speeches:
        return agenda
    room = (
        MAX_RECORD_LENGTH
        - len(build_system_text(state.opened.language))
        - len(own)
        - len(agenda)
        - len(words.all_speeches)
        - 500
    )
    speeches = [SpeechText(each.number, each.seat, each.said.content) for each in state.speeches]
    longest = max(state.speakers, key=len)
    where = _find_place(state, words, f"{len(speeches):06d}_{longest}.md")
    head_room = (
        max(
            len(head.format(number=10**5, seat=longest, where=where))
            for head in (words.cut, words.digest)
        )
        + 2
    )
    fitted = fit_speeches(speeches, max(0, room), head_room, state.opened.language, quote_lines)
    rounds = {each.number: each.round for each in state.speeches}
    lines = [words.all_speeches]
    if fitted.left_out:
        lines.append(words.left_out.format(count=fitted.left_out, where=_find_place(state, words)))
    for each in fitted.shown:
        head = {"whole": words.speech, "cut": words.cut, "digest": words.digest}[each.how]
        where = _find_place(state, words, f"{each.number:03d}_{each.seat}.md")
        lines += [
            head.format(number=each.number, seat=each.seat, round=rounds[each.number], where=where),
            each.text,
        ]
    return f"{agenda}\n\n" + "\n".join(lines)


def _format_speech(words: RoundtablePromptText, speech: NumberedSpeech, room: int) -> str:
    cut = shorten_text(quote_lines(speech.said.content), room)
    return (
        f"{words.speech.format(number=speech.number, seat=speech.seat, round=speech.round)}\n{cut}"
    )


def _build_own_prompt(state: Conference, words: RoundtablePromptText, ask: Ask) -> str:
    language = state.opened.language
    lines = introduce_seat(language, state.seat(ask.seat))
    if ask.kind == "speech" and state.agreeing:
        lines += ["", build_consensus_note(state)]
    if ask.kind == "minutes" and state.returned is not None:
        sections = name_minutes_sections(state.missing, language)
        returned = quote_lines(state.returned.content)[:RETURNED_ROOM]
        lines += ["", words.return_minutes.format(sections=sections), returned]
    lines += ["", PARTICIPANT_PROMPT[language].heads["now"]]
    options = " | ".join(one_line(option) for option in state.opened.subject.options)
    one_of = ""
    if options:
        one_of = words.choice_options.format(options=options)
    if ask.kind == "minutes":
        replies = ask_for_replies(state)
        return "\n".join([*lines, words.conclude.format(options=one_of, replies=replies)])
    if state.prompt:
        lines += _format_prompt(state, words)
    first_choice = ""
    if not state.speeches:
        first_choice = words.first_choice.format(options=one_of)
    return "\n".join([*lines, words.speak.format(first_choice=first_choice)])


def _format_prompt(state: Conference, words: RoundtablePromptText) -> list[str]:
    """Return what is expected of the speaker: by the one before it, or by who opened the conference."""
    if not state.speeches:
        return [_quote_prompt(state)]
    return [words.asks_of_you.format(seat=state.speeches[-1].seat), _quote_prompt(state)]


def build_next_prompt(state: Conference, speech: NumberedSpeech) -> str:
    """Return the instruction to the next speaker if the last one left none: its questions, else that it has spoken."""
    words = ROUNDTABLE_PROMPT[state.opened.language]
    sentences = _SENTENCES.split(drop_choice(speech.said.content)[:MAX_SPEECH_LENGTH])
    asked = [one_line(each).lstrip("-*•># ") for each in sentences if each.endswith(("?", "？"))]
    questions = [each for each in asked if each.strip("?？")][-MAX_QUESTIONS:]
    if questions:
        return words.asked.format(seat=speech.seat, questions=" ".join(questions))[:2_000]
    return words.following.format(seat=speech.seat)
