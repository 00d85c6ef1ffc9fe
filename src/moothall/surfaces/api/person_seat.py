"""A person's seat on a page (W-5): the questions of the protocol in plain words, and the answers to them, step by step."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

from pydantic import Field

from moothall.codec.person_asks import UnsaidWords, build_person_ask, find_command, read_step
from moothall.domain.effects import Brief
from moothall.domain.ids import AskId, SeatId, SessionId, parse_seat_id
from moothall.domain.person import PersonAsk, PersonStep
from moothall.domain.safe_text import fix_surrogates, strip_control
from moothall.engine.outside_answers import OutstandingAsk
from moothall.errors import BadAnswer, BadSetting, MootError, UnknownAsk
from moothall.locale.catalogues import PERSON_SEAT, PersonSeatText
from moothall.surfaces.api.asks import AskOut, WrittenOut, answer_ask, build_ask_out, check_seat
from moothall.surfaces.api.fields import IdempotencyKey, SeatRef, SessionRef
from moothall.surfaces.api.method import ApiModel, Call, Operations, ServerContext

MAX_SECONDS: Final = 3600.0
"""How long what a person said is waited for to be of use; who is asked later is asked on its page."""


@dataclass
class PersonTurns:
    """Answers for persons what code knows: an ask that holds no question, and the speech that a bid was already.

    Whether or not the page is still open: a person is never asked about its own words. `words` are those said in advance.
    """

    context: ServerContext
    words: dict[tuple[SessionId, SeatId], UnsaidWords] = field(default_factory=dict)

    def find_answer(self, session: SessionId, each: OutstandingAsk) -> Any:
        """The answer to an ask that needs no person; None where one is to be asked."""
        person, words = build_person_ask(each.brief), self.words.get((session, each.ask.seat))
        if not person.steps:
            return person.build({})
        return words.text if words and (words.kind, words.turn) == (each.ask.kind, each.ask.turn) else None

    def follow(self, call: Call, session: SessionId, seat: SeatId, words: UnsaidWords | None = None) -> None:
        """Answer what needs no person from now on, until the person is asked again or the session ends."""
        name = f"{session} {seat}"
        if words is not None:
            self.words[session, seat] = words
        elif name in self.context.followers:
            return
        if (before := self.context.followers.get(name)) is not None:
            before.cancel()
        task = self.context.followers[name] = asyncio.create_task(self._follow(call, session, seat))
        task.add_done_callback(lambda done: self._forget(name, (session, seat), done))

    def _forget(self, name: str, seat: tuple[SessionId, SeatId], task: "asyncio.Task[None]") -> None:
        if self.context.followers.get(name) is task:
            del self.context.followers[name]
            self.words.pop(seat, None)

    async def _follow(self, call: Call, session: SessionId, seat: SeatId) -> None:
        engine = call.moot.engine
        # What cannot be answered here is asked on the page, as ever.
        with suppress(MootError, TimeoutError):
            async with asyncio.timeout(MAX_SECONDS):
                while not (snapshot := await engine.load_snapshot(session)).is_closed:
                    asked = [each for each in await engine.list_outstanding(session) if each.ask.seat == seat]
                    for each in asked:
                        answer = self.find_answer(session, each)
                        if answer is None:
                            return
                        self.words.pop((session, seat), None)
                        await answer_ask(call, session, seat=seat, ask=each.ask.id, answer=answer)
                    if not asked:
                        await engine.wait_for_change(session, snapshot.seq)


METHODS = Operations()

MAX_ANSWER_LENGTH: Final = 20_000
MAX_STEPS: Final = 500
MAX_NUMBERS: Final = 2_000
"""Entries up to this one can be named in a list; those after it are typed."""


class ChoiceOut(ApiModel):
    value: str
    text: str


class PersonStepOut(ApiModel):
    key: str
    text: str
    kind: str
    needed: bool
    long: bool
    default: str
    choices: list[ChoiceOut]
    only_after: tuple[str, list[str]] | None = Field(
        default=None, description="Asked only where the answer to this step is one of these."
    )
    group: str = Field(description="Steps with the same group belong to one of several items.")
    numbers: list[int] = Field(default=[], description="The entries that may be named.")


class CommandOut(ApiModel):
    word: str
    text: str


class PersonAskOut(ApiModel):
    """What a person is asked, in the words of the protocol; `ask` is the same for programs."""

    ask: AskOut
    intro: str
    about: str
    steps: list[PersonStepOut]
    commands: list[CommandOut] = Field(description="Words that stand for a whole answer, such as /pass.")


class PersonAsksOut(ApiModel):
    session_id: str
    asks: list[PersonAskOut]


@METHODS.add("moot.getPersonAsks", "speak")
async def get_person_asks(call: Call, session_id: SessionRef, seat: SeatRef = None) -> PersonAsksOut:
    """What a session asks of a person at a seat: questions in plain words, one after the other. Next: moot.answerAsPerson."""
    person = call.caller.resolve_speaker(seat, "seat")
    check_seat(await call.moot.engine.load_snapshot(session_id), person)
    turns = call.context.get_or_create(PersonTurns)
    outstanding = [each for each in await call.moot.engine.list_outstanding(session_id) if each.ask.seat == person]
    asks = [each for each in outstanding if turns.find_answer(session_id, each) is None]
    if len(asks) < len(outstanding):
        turns.follow(call, session_id, parse_seat_id(person))
    return PersonAsksOut(session_id=session_id, asks=[_build_person_ask_out(each) for each in asks])


@METHODS.add("moot.answerAsPerson", "speak")
async def answer_as_person(
    call: Call,
    session_id: SessionRef,
    *,
    seat: SeatRef = None,
    ask: Annotated[str, Field(max_length=200)],
    answers: Annotated[
        dict[Annotated[str, Field(max_length=200)], Annotated[str, Field(max_length=MAX_ANSWER_LENGTH)]] | None,
        Field(max_length=MAX_STEPS, description="What the person answered, by the key of the step."),
    ] = None,
    command: Annotated[str, Field(max_length=100, description="In place of answers: one of the commands.")] = "",
    idempotency_key: IdempotencyKey = "",
) -> WrittenOut:
    """Answer what getPersonAsks gave you, question by question, or with a command such as /pass."""
    person = parse_seat_id(call.caller.resolve_speaker(seat, "seat"))
    open_asks = [each for each in await call.moot.engine.list_outstanding(session_id) if each.ask.seat == person]
    brief = next((each.brief for each in open_asks if each.ask.id == ask), None)
    # Who does not know whether an answer arrived sends it again: then its ask is no longer open. An ask id ends with its seat.
    if brief is None and ask.rpartition(".")[2] == person:
        brief = await call.moot.engine.find_answered_brief(session_id, AskId(ask))
    if brief is None:
        raise UnknownAsk(f"the ask {ask[:100]!r} is no longer open for {person!r}; look what is asked now")
    answer = _build_answer(brief, answers or {}, command)
    written = await answer_ask(call, session_id, seat=person, ask=ask, answer=answer, idempotency_key=idempotency_key)
    call.context.get_or_create(PersonTurns).follow(call, session_id, person, _find_words(brief, answers or {}, command))
    return written


def _find_words(brief: Brief, answers: dict[str, str], command: str) -> UnsaidWords | None:
    """What a person said that also answers a later ask of the same turn."""
    person = build_person_ask(brief)
    said = strip_control(fix_surrogates(answers.get(person.steps[0].key, ""))).strip() if person.steps and not command else ""
    return UnsaidWords(person.keeps_for, brief.ask.turn, said) if said and person.keeps_for else None


def _build_person_ask_out(each: OutstandingAsk) -> PersonAskOut:
    person = build_person_ask(each.brief)
    return PersonAskOut(
        ask=build_ask_out(each),
        intro=strip_control(person.intro),
        about=strip_control(person.about),
        steps=[_build_step_out(step) for step in person.steps],
        commands=[CommandOut(word=command.word, text=strip_control(command.text)) for command in person.commands],
    )


def _build_step_out(step: PersonStep) -> PersonStepOut:
    return PersonStepOut.collect(
        step,
        text=strip_control(step.text),
        needed=step.is_needed,
        long=step.is_long,
        default=strip_control(step.default),
        choices=[ChoiceOut(value=choice.value, text=strip_control(choice.text)) for choice in step.choices],
        numbers=[number for number in range(1, MAX_NUMBERS) if number in step.numbers] if step.kind != "text" else [],
    )


def _build_answer(brief: Brief, answers: dict[str, str], command: str) -> Any:
    """The answer of the seat; raises BadAnswer with what was expected."""
    person = build_person_ask(brief)
    if command:
        answer = find_command(person, command)
        if answer is None:
            known = ", ".join(command.word for command in person.commands) or "none"
            raise BadSetting(f"command: there is no {command!r} here; there are: {known}")
        return answer
    return person.build(_read_answers(person, answers, PERSON_SEAT[brief.language]))


def _read_answers(person: PersonAsk, given: dict[str, str], words: PersonSeatText) -> dict[str, str]:
    """What was answered to the steps that are asked, each read as a person would type it."""
    answers: dict[str, str] = {}
    for step in person.steps:
        if not step.is_due(answers):
            continue
        text = strip_control(fix_surrogates(given.get(step.key, ""))).strip()
        if not text and not step.is_needed:
            continue
        value = text if text in {choice.value for choice in step.choices} else read_step(step, text) if text else None
        if value is None:
            raise BadAnswer(f"{step.text} {_describe_expected(step, text, words)}")
        answers[step.key] = value
    return answers


def _describe_expected(step: PersonStep, text: str, words: PersonSeatText) -> str:
    if not text:
        return words.needed
    if step.choices:
        return words.choose.format(choices=" | ".join(choice.text for choice in step.choices))
    return words.number.format(example=next((f"#{number}" for number in range(1, MAX_NUMBERS) if number in step.numbers), "#1"))
