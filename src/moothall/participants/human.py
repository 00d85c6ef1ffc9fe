"""A person at the terminal, asked as a person: what is new, then one question at a time. Mistakes are explained."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import Final

from moothall.domain.causes import state_cause
from moothall.domain.dictionaries import BoundedDict
from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.domain.ids import USER, AskId, SeatId
from moothall.domain.person import PersonAsk, PersonChoice, PersonCommand, PersonStep
from moothall.domain.safe_text import (
    compile_late,
    fix_surrogates,
    quote_lines,
    quote_user,
    strip_control,
)
from moothall.errors import BadAnswer
from moothall.locale.catalogues import INTERVIEW, InterviewText
from moothall.participants.hosts import name_local_door
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.reading import person_asks
from moothall.reading.answers import Reading, WordedAnswer, read_answer
from moothall.reading.non_answers import is_blank

MAX_MEETINGS: Final = 256
"""Of how many seats is remembered what they have seen: the newest."""

_COMMAND = compile_late(r"/[a-z]+", re.IGNORECASE)
_CUT = compile_late(r"cut \S+ '(\d+) > (\d+)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonQuestion:
    """One question to a person. `news` are the contributions since it was last asked; `spoken` names who made them, for a screen
    that shows them anyway.

    `text` is the question itself. `complaint` says what was wrong with the answer before. `default` stands in the prompt.
    `is_words`: the answer is a text of the person's own, and not one of a list or a number.
    """

    seat: SeatId
    ask: AskId
    step: str
    language: Language
    text: str
    news: str = ""
    spoken: str = ""
    about: str = ""
    complaint: str = ""
    choices: tuple[PersonChoice, ...] = ()
    commands: tuple[PersonCommand, ...] = ()
    default: str = ""
    is_words: bool = False
    is_long: bool = False
    is_first: bool = False


AskPerson = Callable[[PersonQuestion], Awaitable[str | None]]
"""Asks the person; None if nobody is there any more."""


@dataclass(frozen=True, slots=True)
class TypedAnswers:
    """What a person has typed at the questions of one ask."""

    answers: dict[str, str] = field(default_factory=dict)
    worded: dict[str, str] = field(default_factory=dict)
    """The sentences from which a choice was taken."""


class PersonInterview:
    """Asks one person for the answers to its briefs, and remembers what it has seen and said."""

    def __init__(self) -> None:
        # Keyed by seat and seed: the seed tells sessions apart.
        self._seen: BoundedDict[tuple[SeatId, int], int] = BoundedDict(MAX_MEETINGS)
        self._unsaid: dict[tuple[SeatId, int], person_asks.UnsaidWords] = {}

    def find_unsaid_words(self, brief: Brief) -> person_asks.UnsaidWords | None:
        """Return the words that this brief's person typed and that also answer a later ask."""
        return self._unsaid.get((brief.seat.id, brief.seed))

    async def ask_for_answer(self, ask: AskPerson, brief: Brief) -> object | None:
        """Return an answer that `read_answer` accepts; None if the person left."""
        person = self._add_unsaid(person_asks.build_person_ask(brief), brief)
        words = self._take_unsaid_words(brief)
        if words is not None:
            return words
        first = self._introduce(person, brief)
        typed = TypedAnswers()
        while True:
            given = await self._ask_steps(ask, person, brief, first, typed)
            if given is None:
                return None
            try:
                raw = given
                if given is typed.answers:
                    raw = person.build(typed.answers)
                    if typed.worded:
                        said = tuple(typed.worded.values())
                        raw = WordedAnswer(fields=raw, words=said, is_confirmed=True)
                _check_length(read_answer(brief, raw, is_typed=True), INTERVIEW[brief.language])
            except BadAnswer as error:
                # What was typed stands in the prompts again, so that no words are lost.
                first = replace(first, news="", spoken="", about="", complaint=str(error))
                continue
            self._keep_words(person, brief, typed.answers if given is typed.answers else {})
            return raw

    def _introduce(self, person: PersonAsk, brief: Brief) -> PersonQuestion:
        """Return what comes before the first question: the question of the session, what is new, and what this is about."""
        words, key = INTERVIEW[brief.language], (brief.seat.id, brief.seed)
        seen = self._seen.get(key)
        news = [
            each for each in person.news if each.id > (seen or 0) and each.speaker != brief.seat.id
        ]
        newest = max((each.id for each in person.news), default=0)
        self._seen[key] = max(seen or 0, newest)
        lines, speakers = list[str](), list[str]()
        if seen is None:
            lines.append(f"{words.question}\n{quote_user(brief.perception.goal)}")
        for each in news:
            if each.speaker != USER or each.text != brief.perception.goal:
                head = words.said.format(speaker=each.speaker, number=each.id)
                quote = quote_user if each.speaker == USER else quote_lines
                lines.append(f"{head}\n{quote(each.text)}")
            if each.speaker != USER or each.id > 1:
                speakers.append(f"{each.speaker} (#{each.id})")
        spoken = ""
        if seen is not None and speakers:
            spoken = words.spoken.format(speakers=", ".join(speakers))
        may_ask = words.may_ask if person.consults else ""
        about = "\n\n".join(filter(None, (person.about, person.intro, may_ask)))
        return PersonQuestion(
            seat=brief.seat.id,
            ask=brief.ask.id,
            step="",
            language=brief.language,
            text="",
            news="\n\n".join(lines),
            spoken=spoken,
            about=about,
            commands=person.commands,
            is_first=True,
        )

    async def _ask_steps(
        self,
        ask: AskPerson,
        person: PersonAsk,
        brief: Brief,
        first: PersonQuestion,
        typed_in: TypedAnswers,
    ) -> object | None:
        """Fill the answers and return them; or return a whole answer given in their place, or None if the person left."""
        question, asked, answers, worded = first, set[str](), typed_in.answers, typed_in.worded
        for step in person.steps:
            if not step.is_due(answers):
                # Steps after different choices may share a key: what was just typed at another one is kept.
                if step.key not in asked:
                    answers.pop(step.key, None)
                continue
            asked.add(step.key)
            before = answers.pop(step.key, "")
            question = replace(
                question,
                step=step.key,
                text=_write_question(step, brief.language),
                choices=step.choices,
                default=(before or step.default) if step.kind == "text" else "",
                is_words=step.kind == "text",
                is_long=step.is_long,
            )
            understood = ""
            while True:
                typed = await ask(question)
                if typed is None:
                    return None
                text = strip_control(fix_surrogates(typed)).strip()
                question = replace(
                    question, news="", spoken="", about="", complaint="", is_first=False
                )
                try:
                    instead = person_asks.find_command(person, text)
                    if instead is not None and any(
                        each.kind == "text" and each.key in answers for each in person.steps
                    ):
                        # A command takes nothing back that was said: it skips this question, and its plain word answers it.
                        instead, text = None, "" if text.startswith("/") else text
                    instead = (
                        person_asks.find_alternative(brief, text) if instead is None else instead
                    )
                    if instead is not None:
                        return instead
                    # An empty line confirms what was understood.
                    value = (
                        understood
                        if understood and not text
                        else _read_typed(person, step, text, INTERVIEW[brief.language])
                    )
                except BadAnswer as error:
                    question = replace(
                        question, complaint=str(error), default=text if step.kind == "text" else ""
                    )
                    understood = ""
                    continue
                if value != understood and person_asks.is_read_from_words(step, text):
                    question = replace(question, complaint=_describe_understood(step, value, brief))
                    understood, worded[step.key] = value, text
                    continue
                if value != understood:
                    worded.pop(step.key, None)
                if value:
                    answers[step.key] = value
                break
        return answers

    def _add_unsaid(self, person: PersonAsk, brief: Brief) -> PersonAsk:
        """Offer words that were saved for a floor that another seat got."""
        saved = self._unsaid.get((brief.seat.id, brief.seed))
        if saved is None or person.keeps_for != saved.kind or not person.steps:
            return person
        answer = person.build({person.steps[0].key: saved.text})
        words = INTERVIEW[brief.language]
        again = PersonCommand(word="/again", text=words.again, answer=answer)
        intro = words.unsaid.format(words=saved.text)
        return replace(
            person,
            commands=(*person.commands, again),
            intro="\n".join(part for part in (person.intro, intro) if part),
        )

    def _take_unsaid_words(self, brief: Brief) -> object | None:
        """Return the words that answer this ask already, if they are an answer."""
        key = (brief.seat.id, brief.seed)
        saved = self._unsaid.get(key)
        if saved is None or saved.kind != brief.ask.kind:
            return None
        del self._unsaid[key]
        try:
            _check_length(read_answer(brief, saved.text, is_typed=True), INTERVIEW[brief.language])
        except BadAnswer:
            return None
        if saved.turn != brief.ask.turn:
            return None
        return saved.text

    def _keep_words(self, person: PersonAsk, brief: Brief, answers: dict[str, str]) -> None:
        key = (brief.seat.id, brief.seed)
        if not person.keeps_for or not person.steps:
            return
        saved, words = self._unsaid.pop(key, None), answers.get(person.steps[0].key, "")
        if saved is not None and not answers:
            words = saved.text
        elif not words:
            return
        self._unsaid[key] = person_asks.UnsaidWords(person.keeps_for, brief.ask.turn, words)


def _write_question(step: PersonStep, language: Language) -> str:
    """Return a question as a terminal puts it: with how a number is given, and with what Enter alone means."""
    words, notes = INTERVIEW[language], list[str]()
    if step.kind in {"number", "reference"}:
        notes.append(words.one_number)
    empty = person_asks.describe_empty(step, language)
    if empty:
        notes.append(words.enter.format(meaning=empty))
    if not notes:
        return step.text
    return words.notes.format(text=step.text, notes=words.between.join(notes))


def _check_length(read: Reading, words: InterviewText) -> None:
    """Raises BadAnswer if words of a person were left away: who sits there can shorten them."""
    if cut := next(filter(None, map(_CUT.match, read.mends)), None):
        raise BadAnswer(words.long.format(given=cut[1], most=cut[2]))


def _describe_understood(step: PersonStep, value: str, brief: Brief) -> str:
    shown = next(each.text for each in step.choices if each.value == value)
    return INTERVIEW[brief.language].understood.format(choice=shown)


def _read_typed(person: PersonAsk, step: PersonStep, text: str, words: InterviewText) -> str:
    """Return the value of what was typed, empty for what was left out; raises BadAnswer with what was expected."""
    if _COMMAND.fullmatch(text):
        known = ", ".join([command.word for command in person.commands] + ["/leave"])
        raise BadAnswer(words.command.format(typed=text, known=known))
    if is_blank(text):
        if text or step.is_needed:
            raise BadAnswer(_describe_needed(step, words))
        return ""
    value = person_asks.read_step(step, text)
    if value is not None:
        return value
    if step.choices:
        near = person_asks.suggest_choice(text, step.choices)
        if near:
            raise BadAnswer(words.nearest.format(typed=text[:60], near=near))
        raise BadAnswer(words.choose)
    raise BadAnswer(_describe_number(step, words))


def _describe_needed(step: PersonStep, words: InterviewText) -> str:
    if step.choices:
        return words.choose
    if step.kind == "reference":
        return _describe_number(step, words)
    return words.needed


def _describe_number(step: PersonStep, words: InterviewText) -> str:
    example = next((f"#{number}" for number in range(1, 1_000) if number in step.numbers), "#1")
    return words.number.format(example=example)


class HumanParticipant:
    """Shared by all human seats of one terminal."""

    def __init__(self, ask: AskPerson | None) -> None:
        """Create the participant; `ask` is None if there is no terminal."""
        self._ask = ask
        self._one_seat = asyncio.Lock()
        self._interview = PersonInterview()

    async def ready(self) -> str | None:
        if self._ask is None:
            return "a human seat needs a terminal; elsewhere use the platform `mailbox`"
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        if self._ask is None:
            return NoAnswer(reason="unreachable", detail=state_cause("no_terminal"))
        # Two human seats at one terminal are asked one after the other, not alternately question by question.
        async with self._one_seat:
            raw = await self._interview.ask_for_answer(self._ask, brief)
        if raw is None:
            return NoAnswer(reason="refused", detail=state_cause("person_left"))
        read: Reading = read_answer(brief, raw, is_typed=True)
        return Answer(said=read.said, corrections=read.mends, origin=name_local_door())
