"""The calls by which seats and users speak in a session of any protocol, and end it: `moot.getAsks`, `answer`, `giveInput` and their kin.

A person's seat on a page is asked the questions of the protocol in plain words, step by step (W-5). A module of its own, since commands
of the terminal make these calls too: it brings no protocol.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, Final, Generic, Literal, TypeVar

from pydantic import Field

from moothall.codec.adapters import as_json
from moothall.domain.effects import Brief
from moothall.domain.facts import Language, RequiredInput, list_worded_choices
from moothall.domain.ids import AskId, KeyedCall, SeatId, SessionId, find_asked_seat, parse_seat_id
from moothall.domain.person import PersonAsk, PersonStep
from moothall.domain.safe_text import fix_surrogates, strip_control
from moothall.engine.outside_answers import OutstandingAsk
from moothall.engine.snapshot import Snapshot
from moothall.errors import BadAnswer, BadSetting, MootError, NotAllowed, UnknownAsk, UnknownSeat
from moothall.locale.catalogues import PERSON_SEAT, PersonSeatText
from moothall.ports.runner import MAX_WAIT_SECONDS, PROGRESS_SECONDS
from moothall.reading.person_asks import (
    UnsaidWords,
    build_person_ask,
    describe_empty,
    find_command,
    read_step,
)
from moothall.reading.schemas import build_brief_schema
from moothall.surfaces.api import fields
from moothall.surfaces.api.method import ApiModel, Call, Operations, ServerContext, Source

METHODS = Operations()

T = TypeVar("T")


class AskOut(ApiModel):
    ask: str
    seat: str
    kind: str
    deadline: datetime | None = None
    form: Literal["text", "json"]
    answer_schema: dict[str, Any]
    instructions: str
    briefing: str
    brief: Source


class AsksOut(ApiModel):
    session_id: str
    status: Literal["thinking", "parked", "ended"]
    asks: list[AskOut]
    note: str


class WrittenOut(ApiModel):
    session_id: str
    entry: int | None = Field(
        default=None, description="The entry that was written; none where nothing changed."
    )


@METHODS.add("moot.getAsks", "speak", tool="get_asks", waits=True)
async def get_asks(
    call: Call,
    session_id: fields.SessionRef,
    seat: fields.SeatRef = None,
    timeout_seconds: Annotated[
        float, Field(ge=0, le=MAX_WAIT_SECONDS, description="Wait this long for an ask to come.")
    ] = 0.0,
) -> AsksOut:
    """What a session asks of your seat, with the form of the answer; it waits for an ask to come. No asks: call it again, until
    status is 'ended'; 'parked': tell the user why, and stop. Next: answer_ask.
    """
    wanted = None
    if call.caller.is_named or seat is not None:
        wanted = call.caller.resolve_speaker(seat)

    async def find_asks() -> Wait[list[OutstandingAsk]]:
        snapshot = await call.moot.engine.load_snapshot(session_id)
        if wanted is None:
            asks = await call.moot.engine.list_outstanding(session_id)
        else:
            check_seat(snapshot, wanted)
            asks = await _list_asks_of(call, session_id, wanted)
        return Wait(snapshot, asks, is_over=bool(asks) or snapshot.is_closed)

    if timeout_seconds:
        # The process that ran the session may be gone: somebody must run it while we wait.
        call.context.runner.wake(session_id)
    ready = await wait_until(call, session_id, timeout_seconds, find_asks)
    is_closed, parked = ready.snapshot.is_closed, ready.snapshot.session_state.parked
    awaited = sorted({find_asked_seat(ask) for ask in ready.snapshot.session_state.pending})
    if ready.result:
        note = "Answer with answer_ask."
    elif parked is not None:
        note = f"The session is parked: {strip_control(parked.reason)}. It goes on when resume_session succeeds."
    elif is_closed:
        note = "The session has ended."
    elif awaited:
        note = f"Nothing yet; waiting for: {', '.join(awaited)}. Call again."
    else:
        note = "Nothing yet: call again."
    return AsksOut(
        session_id=session_id,
        status=_describe_status(ready.snapshot),
        asks=[build_ask_out(each) for each in ready.result],
        note=note,
    )


def _describe_status(snapshot: Snapshot) -> Literal["thinking", "parked", "ended"]:
    if snapshot.is_closed:
        return "ended"
    if snapshot.session_state.parked is None:
        return "thinking"
    return "parked"


async def _list_asks_of(call: Call, session: SessionId, seat: str) -> list[OutstandingAsk]:
    """What a session asks of one seat now."""
    asks = await call.moot.engine.list_outstanding(session)
    return [each for each in asks if each.ask.seat == seat]


def check_seat(snapshot: Snapshot, seat: str) -> None:
    """Raises UnknownSeat, with the seats that there are, when a session does not have this one."""
    known = [each.id for each in snapshot.session_state.seats]
    if seat not in known:
        raise UnknownSeat(
            f"{seat!r} has no seat in {snapshot.session!r}; the seats are: {', '.join(known)}"
        )


@dataclass(frozen=True, slots=True)
class Wait(Generic[T]):
    """The result of a look at a session, and whether to wait no longer."""

    snapshot: Snapshot
    result: T
    is_over: bool


async def wait_until(
    call: Call, name: SessionId, seconds: float, look: Callable[[], Awaitable[Wait[T]]]
) -> Wait[T]:
    """Look again whenever the session changes, until it is over or the time is up."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    while True:
        ready = await look()
        left = ends - loop.time()
        if ready.is_over or left <= 0 or call.deliberations.stopping.is_set():
            return ready
        if call.progress is not None:
            await call.progress(seconds - left, seconds)
        await call.deliberations.wait_for_change(
            name, ready.snapshot.seq, min(left, PROGRESS_SECONDS)
        )


def build_ask_out(each: OutstandingAsk) -> AskOut:
    """An ask as programs get it."""
    return AskOut(
        ask=each.ask.id,
        seat=each.ask.seat,
        kind=each.ask.kind,
        deadline=each.pending.deadline,
        form=each.brief.form.form,
        answer_schema=build_brief_schema(each.brief),
        instructions=strip_control(each.brief.own),
        briefing=strip_control(each.brief.shared),
        brief=each.brief,
    )


@METHODS.add("moot.answer", "speak", tool="answer_ask")
async def answer_ask(
    call: Call,
    session_id: fields.SessionRef,
    *,
    seat: fields.SeatRef = None,
    ask: fields.AskRef = None,
    answer: Annotated[
        str | dict[str, Any],
        Field(description="Text for the form `text`, else the fields of the answer."),
    ],
    idempotency_key: fields.IdempotencyKey = "",
) -> WrittenOut:
    """Answer what get_asks gave you."""
    speaker = parse_seat_id(call.caller.resolve_speaker(seat, "seat"))
    door = await call.find_door(session_id, speaker)
    if call.caller.family:
        # Imported here: it brings the rules of the deliberations.
        from moothall.surfaces.api.deliberation import state_family

        await state_family(call, session_id, speaker)
    if ask is None:
        entry = await call.moot.engine.contribute(
            session_id, speaker, answer, idempotency_key, via=door
        )
    else:
        if find_asked_seat(ask) != speaker:
            raise NotAllowed(f"the ask {ask!r} is not put to the seat {speaker!r}")
        entry = await call.moot.answer(session_id, ask, answer, idempotency_key, via=door)
    call.context.runner.wake(session_id)
    return WrittenOut(session_id=session_id, entry=entry.seq)


class AnswerPreviewOut(ApiModel):
    session_id: str
    fields: Any = Field(description="What the answer would be recorded as.")
    from_words: list[str] = Field(
        description="Each choice that was taken from a sentence, with its words."
    )


@METHODS.add("moot.previewAnswer", "speak")
async def preview_answer(
    call: Call,
    session_id: fields.SessionRef,
    *,
    seat: fields.SeatRef = None,
    answer: Annotated[str | dict[str, Any], Field(description="As for moot.answer.")],
) -> AnswerPreviewOut:
    """What an answer to the open ask of a seat would be read as. Nothing is recorded. Next: moot.answer."""
    speaker = parse_seat_id(call.caller.resolve_speaker(seat, "seat"))
    read = await call.moot.engine.preview_answer(session_id, speaker, answer)
    return AnswerPreviewOut(
        session_id=session_id, fields=as_json(read.said), from_words=list_worded_choices(read.mends)
    )


@METHODS.add("moot.giveInput", "run")
async def give_input(
    call: Call,
    session_id: fields.SessionRef,
    text: RequiredInput,
    idempotency_key: fields.IdempotencyKey = "",
) -> WrittenOut:
    """Add an input of the user's."""
    entry = await call.moot.give_input(session_id, text, idempotency_key)
    call.context.runner.wake(session_id)
    return WrittenOut(session_id=session_id, entry=None if entry is None else entry.seq)


class GroupedAnswersOut(ApiModel):
    session_id: str
    entry: int = Field(description="The entry that was written.")
    groups: list[list[str]] = Field(
        description="The answers that are counted as one, each group under its name first."
    )


@METHODS.add("moot.groupAnswers", "run")
async def group_answers(
    call: Call,
    session_id: fields.SessionRef,
    answers: Annotated[
        list[str],
        Field(
            min_length=1, max_length=64, description="Answers as seats wrote them: their choices."
        ),
    ],
    part: Annotated[
        bool,
        Field(
            description="Count them as different answers; one alone is parted from its whole group."
        ),
    ] = False,
) -> GroupedAnswersOut:
    """Count several answers of a running session as one, or as different ones. Your word goes before that of a judge."""
    entry = await call.moot.engine.group_answers(
        session_id, answers, joined=not part, origin=call.caller.name
    )
    snapshot = await call.moot.engine.load_snapshot(session_id)
    call.context.runner.wake(session_id)
    members = snapshot.session_state.groups.list_members()
    return GroupedAnswersOut(
        session_id=session_id, entry=entry.seq, groups=[list(each) for each in members]
    )


@METHODS.add("moot.closeSession", "run")
async def close_session(
    call: Call, session_id: fields.SessionRef, idempotency_key: fields.IdempotencyKey = ""
) -> WrittenOut:
    """Ask for the end: the session concludes with what was said so far."""

    async def close() -> str:
        entry = await call.moot.engine.call_close(session_id, call.caller.name)
        call.context.runner.wake(session_id)
        return str(entry.seq)

    return await _end_once(call, "close_session", idempotency_key, (session_id,), close)


async def _end_once(
    call: Call,
    name: str,
    key: str,
    words: tuple[SessionId, *tuple[str, ...]],
    end: Callable[[], Awaitable[str]],
) -> WrittenOut:
    """End a session, unless the key says that it was ended by an earlier try of this call; the entry that does."""
    keyed = KeyedCall(call=name, by=call.caller.name, key=key, words=words)
    seq = await call.moot.memory.perform_once(keyed, end)
    return WrittenOut(session_id=words[0], entry=int(seq))


@METHODS.add("moot.cancelSession", "run")
async def cancel_session(
    call: Call,
    session_id: fields.SessionRef,
    reason: Annotated[str, Field(max_length=2_000)] = "",
    idempotency_key: fields.IdempotencyKey = "",
) -> WrittenOut:
    """End a session without a conclusion; its record stays."""

    async def cancel() -> str:
        entry = await call.moot.cancel(session_id, reason)
        # Whoever is asked at this moment is let go at once; then its end is noted like any other.
        await call.context.runner.cancel(session_id)
        call.context.runner.wake(session_id, at_once=True)
        return str(entry.seq)

    return await _end_once(call, "cancel_session", idempotency_key, (session_id, reason), cancel)


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
        if words and (words.kind, words.turn) == (each.ask.kind, each.ask.turn):
            return words.text
        return None

    def follow(
        self, call: Call, session: SessionId, seat: SeatId, words: UnsaidWords | None = None
    ) -> None:
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

    def _forget(
        self, name: str, seat: tuple[SessionId, SeatId], task: "asyncio.Task[None]"
    ) -> None:
        if self.context.followers.get(name) is task:
            del self.context.followers[name]
            self.words.pop(seat, None)

    async def _follow(self, call: Call, session: SessionId, seat: SeatId) -> None:
        engine = call.moot.engine
        # What cannot be answered here is asked on the page, as ever.
        with suppress(MootError, TimeoutError):
            async with asyncio.timeout(MAX_SECONDS):
                while not (snapshot := await engine.load_snapshot(session)).is_closed:
                    asked = await _list_asks_of(call, session, seat)
                    for each in asked:
                        answer = self.find_answer(session, each)
                        if answer is None:
                            return
                        self.words.pop((session, seat), None)
                        await answer_ask(call, session, seat=seat, ask=each.ask.id, answer=answer)
                    if not asked:
                        await engine.wait_for_change(session, snapshot.seq)


PERSON_METHODS = Operations()

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
        default=None,
        description="Asked only where the answer to this step is one of these; where none are listed, after any answer.",
    )
    group: str = Field(description="Steps with the same group belong to one of several items.")
    numbers: list[int] = Field(default=[], description="The entries that may be named.")
    if_empty: str | None = Field(
        default=None,
        description="What is recorded where this is left empty, in words; missing where it has to be answered.",
    )


class CommandOut(ApiModel):
    word: str
    text: str


class PersonAskOut(ApiModel):
    """What a person is asked, in the words of the protocol; `ask` is the same for programs."""

    ask: AskOut
    intro: str
    about: str
    steps: list[PersonStepOut]
    commands: list[CommandOut] = Field(
        description="Words that stand for a whole answer, such as /pass."
    )
    consults: list[str] = Field(
        description="The seats that the person may ask something before it answers."
    )


class ConsultIn(ApiModel):
    """What a person asks another seat in place of answering now; the ask comes back with the reply."""

    to: Annotated[str, Field(min_length=1, max_length=64)]
    question: Annotated[str, Field(min_length=1, max_length=8_000)]


class PersonAsksOut(ApiModel):
    session_id: str
    asks: list[PersonAskOut]


@PERSON_METHODS.add("moot.getPersonAsks", "speak")
async def get_person_asks(
    call: Call, session_id: fields.SessionRef, seat: fields.SeatRef = None
) -> PersonAsksOut:
    """What a session asks of a person at a seat: questions in plain words, one after the other. Next: moot.answerAsPerson."""
    person = call.caller.resolve_speaker(seat, "seat")
    check_seat(await call.moot.engine.load_snapshot(session_id), person)
    turns = call.context.get_or_create(PersonTurns)
    outstanding = await _list_asks_of(call, session_id, person)
    asks = [each for each in outstanding if turns.find_answer(session_id, each) is None]
    if len(asks) < len(outstanding):
        turns.follow(call, session_id, parse_seat_id(person))
    return PersonAsksOut(session_id=session_id, asks=[_build_person_ask_out(each) for each in asks])


@PERSON_METHODS.add("moot.answerAsPerson", "speak")
async def answer_as_person(
    call: Call,
    session_id: fields.SessionRef,
    *,
    seat: fields.SeatRef = None,
    ask: Annotated[str, Field(max_length=200)],
    answers: Annotated[
        dict[
            Annotated[str, Field(max_length=200)],
            Annotated[str, Field(max_length=MAX_ANSWER_LENGTH)],
        ]
        | None,
        Field(
            max_length=MAX_STEPS, description="What the person answered, by the key of the step."
        ),
    ] = None,
    command: Annotated[
        str, Field(max_length=100, description="In place of answers: one of the commands.")
    ] = "",
    consult: Annotated[
        ConsultIn | None,
        Field(description="In place of answers: ask one of the seats in `consults` first."),
    ] = None,
    idempotency_key: fields.IdempotencyKey = "",
) -> WrittenOut:
    """Answer what getPersonAsks gave you, question by question, or with a command such as /pass."""
    person = parse_seat_id(call.caller.resolve_speaker(seat, "seat"))
    brief: Brief | None = None
    for each in await _list_asks_of(call, session_id, person):
        if each.ask.id == ask:
            brief = each.brief
    # Who does not know whether an answer arrived sends it again: then its ask is no longer open. An ask id ends with its seat.
    if brief is None and ask.rpartition(".")[2] == person:
        brief = await call.moot.engine.find_answered_brief(session_id, AskId(ask))
    if brief is None:
        raise UnknownAsk(
            f"the ask {ask[:100]!r} is no longer open for {person!r}; look what is asked now"
        )
    if consult is not None:
        answer = _build_consultation(brief, consult)
    else:
        answer = _build_answer(brief, answers or {}, command)
    written = await answer_ask(
        call, session_id, seat=person, ask=ask, answer=answer, idempotency_key=idempotency_key
    )
    questions = build_person_ask(brief)
    unsaid = None
    if questions.keeps_for and questions.steps and not command and consult is None:
        # What a person said may also answer a later ask of the same turn.
        words = _read_text(answers or {}, questions.steps[0])
        if words:
            unsaid = UnsaidWords(questions.keeps_for, brief.ask.turn, words)
    call.context.get_or_create(PersonTurns).follow(call, session_id, person, unsaid)
    return written


def _read_text(answers: dict[str, str], step: PersonStep) -> str:
    return strip_control(fix_surrogates(answers.get(step.key, ""))).strip()


def _build_person_ask_out(each: OutstandingAsk) -> PersonAskOut:
    person = build_person_ask(each.brief)
    return PersonAskOut(
        ask=build_ask_out(each),
        intro=strip_control(person.intro),
        about=strip_control(person.about),
        steps=[_build_step_out(step, each.brief.language) for step in person.steps],
        commands=[
            CommandOut(word=command.word, text=strip_control(command.text))
            for command in person.commands
        ],
        consults=list(person.consults),
    )


def _build_step_out(step: PersonStep, language: Language) -> PersonStepOut:
    choices = []
    for choice in step.choices:
        choices.append(ChoiceOut(value=choice.value, text=strip_control(choice.text)))
    numbers = []
    if step.kind != "text":
        numbers = _list_numbers(step)
    return PersonStepOut.collect(
        step,
        text=strip_control(step.text),
        needed=step.is_needed,
        long=step.is_long,
        default=strip_control(step.default),
        choices=choices,
        numbers=numbers,
        if_empty=strip_control(describe_empty(step, language)) or None,
    )


def _list_numbers(step: PersonStep) -> list[int]:
    """The numbers of lines that a step takes."""
    return [number for number in range(1, MAX_NUMBERS) if number in step.numbers]


def _build_consultation(brief: Brief, consult: ConsultIn) -> Any:
    """The request that stands in place of the answer; raises BadSetting where this seat may not be asked now."""
    known = build_person_ask(brief).consults
    if brief.form.instead is None or consult.to not in known:
        names = ", ".join(known) or "nobody"
        raise BadSetting(f"consult: {consult.to!r} cannot be asked now; can be asked: {names}")
    question = strip_control(fix_surrogates(consult.question)).strip()
    return {brief.form.instead.field: {"to": consult.to, "question": question}}


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


def _read_answers(
    person: PersonAsk, given: dict[str, str], words: PersonSeatText
) -> dict[str, str]:
    """What was answered to the steps that are asked, each read as a person would type it."""
    answers: dict[str, str] = {}
    for step in person.steps:
        if not step.is_due(answers):
            continue
        text = _read_text(given, step)
        if not text and not step.is_needed:
            continue
        value = None
        if text in {choice.value for choice in step.choices}:
            value = text
        elif text:
            value = read_step(step, text)
        if value is None:
            raise BadAnswer(f"{step.text} {_describe_expected(step, text, words)}")
        answers[step.key] = value
    return answers


def _describe_expected(step: PersonStep, text: str, words: PersonSeatText) -> str:
    if not text:
        return words.needed
    if step.choices:
        return words.choose.format(choices=" | ".join(choice.text for choice in step.choices))
    numbers = _list_numbers(step) or [1]
    return words.number.format(example=f"#{numbers[0]}")
