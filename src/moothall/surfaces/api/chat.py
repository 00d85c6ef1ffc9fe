"""A meeting for a chat client: resumed or opened by a request, described as it happens, answered by its decision."""

import asyncio
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Sequence,
)
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final, Generic, TypeVar

from moothall.app.deliberations import derive_session_id
from moothall.app.session_options import Options
from moothall.domain.budget import Spent
from moothall.domain.dictionaries import BoundedDict, group_pairs
from moothall.domain.facts import Opened, SessionCancelled
from moothall.domain.ids import KeyedCall, SessionId, find_asked_seat
from moothall.domain.safe_text import one_line
from moothall.domain.topic import ContextFile, build_context, build_pictures
from moothall.engine.context import EntryAdded, Event
from moothall.engine.snapshot import Snapshot
from moothall.errors import KeyReused, UnknownSession
from moothall.locale.catalogues import CHAT, SHARED_REPORT
from moothall.ports.plugin import AnyPlugin
from moothall.reports.plain_text import format_cell, quote_markdown, render_blocks
from moothall.reports.sections import describe_shared
from moothall.reports.wording import SpokenLine, format_parking
from moothall.surfaces.api.chat_request import (
    ChatModel,
    ChatRequest,
    Question,
    digest_request,
    list_words,
)
from moothall.surfaces.api.decisions import AnswerShape
from moothall.surfaces.api.entries import SealedEvents
from moothall.surfaces.api.method import Call

RESUMABLE_FOR: Final = timedelta(days=7)
"""How long after its opening an ended meeting answers the same request."""
QUIET_SECONDS: Final = 15.0
"""After this long without a word, the answer says for whom the meeting waits."""
ASKED_SECONDS: Final = 0.5
"""This long after the last event, it is looked whether the reader is asked something."""
PARKED_SECONDS: Final = 5.0
"""How long a parked meeting that is asked about again may take to find out that its outage is over."""
MAX_KEY_LENGTH: Final = 255
MAX_REPORTED: Final = 10_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMeeting:
    """The meeting that answers a request."""

    session: SessionId
    had_ended: bool = False
    """Whether it had ended before the request came."""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """Something that happened, in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The end of an answer, in Markdown, and what the meeting has cost so far."""

    text: str
    spent: Spent
    is_refusal: bool = False
    """Whether it says why there is no answer in the shape that was asked for."""


class ReportedUsage:
    """What was reported to chat clients of each meeting's tokens: who asks again, or asks twice, is not billed twice."""

    def __init__(self, context: object = None) -> None:
        self._reported: BoundedDict[SessionId, Spent] = BoundedDict(MAX_REPORTED)

    def take_new(self, session: SessionId, spent: Spent) -> Spent:
        """Return what was not reported yet, and count it as reported."""
        before = self._reported.get(session, Spent())
        self._reported[session] = spent
        tokens_in, tokens_out = (
            spent.tokens_in - before.tokens_in,
            spent.tokens_out - before.tokens_out,
        )
        return replace(spent, tokens_in=max(0, tokens_in), tokens_out=max(0, tokens_out))


ChatPieces = AsyncGenerator[Reasoning | ChatAnswer, None]


async def find_or_open_meeting(
    call: Call,
    chat: ChatRequest,
    model: ChatModel,
    question: Question,
    key: str,
    *,
    seats: Sequence[str] = (),
) -> ChatMeeting:
    """The meeting that this caller's request opened before, else a new one; raises as `Moot.open`, and KeyReused.

    The ids of meetings follow from the request: a retry finds its meeting, whichever process serves the ledger by then. A meeting
    that was cancelled, or that ended and is a week old, is passed over.
    """
    wanted = f"key {key[:MAX_KEY_LENGTH]}" if key else f"chat {digest_request(chat, model)}"
    words = list_words(chat, model)
    for number in count():
        keyed = KeyedCall(call="chat", by=call.caller.name, key=f"{wanted} {number}", words=words)
        session = derive_session_id(keyed.by, keyed.key)
        try:
            snapshot = await call.moot.engine.load_snapshot(session)
        except UnknownSession:
            await call.context.run_shielded(
                _open_meeting(call, chat, model, question, keyed, seats=seats)
            )
            return ChatMeeting(session=session)
        (first,) = await call.moot.engine.entries(session, 0, 1)
        opened = snapshot.session_state.opened
        if key and not _is_same_request(opened, keyed, question):
            raise KeyReused(
                f"the Idempotency-Key {key[:100]!r} was used for another question; use a new key"
            )
        is_old = snapshot.is_closed and datetime.now(UTC) - first.at > RESUMABLE_FOR
        if not is_old and not isinstance(snapshot.session_state.closed, SessionCancelled):
            if not snapshot.is_closed:
                # Whoever asks again wants to know at once whether a parked meeting can go on.
                call.context.runner.wake(session, at_once=True)
            return ChatMeeting(session=session, had_ended=snapshot.is_closed)
    raise AssertionError("unreachable")


async def _open_meeting(
    call: Call,
    chat: ChatRequest,
    model: ChatModel,
    question: Question,
    keyed: KeyedCall,
    *,
    seats: Sequence[str],
) -> None:
    options: Options = {
        "panel": model.panel,
        "protocol": model.protocol,
        "language": question.language,
        "files": _build_context(question),
        "hosted": True,
    }
    if question.shape is not None and question.shape.options:
        options["options"] = question.shape.options
    if seats:
        options["seats"] = list(seats)
    if chat.seed is not None:
        options["seed"] = chat.seed % 2**31
    await call.deliberations.open(question.text, keyed, **options)


def _is_same_request(opened: Opened, keyed: KeyedCall, question: Question) -> bool:
    if opened.words_digest:
        return opened.words_digest == keyed.digest
    # The meeting of an older version, which has not recorded the words of the request.
    return (opened.topic, opened.subject.given) == (question.text, _build_context(question))


def _build_context(question: Question) -> tuple[ContextFile, ...]:
    """The conversation before the question and the files in it, as every seat reads them."""
    name = CHAT[question.language].conversation
    talk = [ContextFile(name=name, text=question.conversation)] if question.conversation else []
    given = [*talk, *question.files]
    return (*build_context(given), *build_pictures(given))


async def follow_meeting(
    call: Call,
    meeting: ChatMeeting,
    link: str,
    ends: float,
    shape: AnswerShape | None = None,
    *,
    is_asked: Callable[[], Awaitable[bool]] | None = None,
    after: int = 0,
) -> ChatPieces:
    """Tell a meeting from its beginning; the last piece is the answer: when it has ended or is parked, or the time is up.

    `ends` is when that is, by the clock of the event loop. Where `is_asked` says that the reader is to answer, there is none. The
    entries up to `after` were sent before.
    """
    loop = asyncio.get_running_loop()
    session, engine = meeting.session, call.moot.engine
    teller = MeetingTeller(
        await call.moot.load_plugin(session), await engine.load_snapshot(session)
    )
    if not after:
        yield Reasoning(teller.introduce(link))
    spoke_at = loop.time()
    events, asks = EventReader(engine.watch(session), call.deliberations.stopping.wait()), is_asked
    try:
        while not events.has_ended and loop.time() < ends:
            quiet = QUIET_SECONDS
            if asks is not None:
                quiet = ASKED_SECONDS
            elif teller.is_parked:
                quiet = PARKED_SECONDS
            event = await events.read(min(quiet, ends - loop.time()))
            if event is None and asks is not None and await asks():
                return
            if event is None and asks is None and teller.is_parked:
                break
            # Only what happens changes the answer: it is asked for once all that has happened is read.
            asks = None if event is None else is_asked
            text = "" if event is None else teller.describe(event)
            if isinstance(event, EntryAdded) and event.entry.seq <= after:
                continue
            if not text and loop.time() - spoke_at >= QUIET_SECONDS:
                text = teller.describe_waiting()
            if text:
                spoke_at = loop.time()
                yield Reasoning(text)
    finally:
        await events.close()
    answer = await _build_answer(call, meeting, link)
    answer = replace(
        answer, spent=call.context.get_or_create(ReportedUsage).take_new(session, answer.spent)
    )
    if shape is not None:
        fitting = shape.render(await call.moot.decision(meeting.session))
        answer = (
            replace(answer, is_refusal=True) if fitting is None else replace(answer, text=fitting)
        )
    yield answer


class EventReader(Generic[T]):
    """Reads events with a limit of time for each; an event that comes later is read next time. Ends when `until` does."""

    def __init__(self, events: AsyncIterator[T], until: Coroutine[Any, Any, object]) -> None:
        self._events = events
        self._next: asyncio.Task[T | None] | None = None
        self._stopping = asyncio.create_task(until)
        self.has_ended = False
        """Whether nothing comes any more: the meeting has ended, or who reads is about to."""

    async def read(self, seconds: float | None = None) -> T | None:
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._events, None))
        limit = None if seconds is None else max(0.0, seconds)
        await asyncio.wait(
            {self._next, self._stopping}, timeout=limit, return_when=asyncio.FIRST_COMPLETED
        )
        if not self._next.done():
            self.has_ended = self._stopping.done()
            return None
        event, self._next = self._next.result(), None
        self.has_ended = event is None
        return event

    async def close(self) -> None:
        tasks = [task for task in (self._next, self._stopping) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(self._events, AsyncGenerator):
            await self._events.aclose()


class MeetingTeller:
    """Tells the entries of a meeting in Markdown: words as quotes, all else as a list. What is sealed waits until it is not."""

    def __init__(self, plugin: AnyPlugin, snapshot: Snapshot) -> None:
        self._plugin = plugin
        self._timeline = plugin.timeline(snapshot.session)
        self._sealed = SealedEvents(plugin, snapshot.session)
        self._state = snapshot.session_state
        self._words = CHAT[self._state.opened.language]
        self._waiting = ""

    @property
    def is_parked(self) -> bool:
        return (
            self._sealed.session_state is not None and self._sealed.session_state.parked is not None
        )

    def introduce(self, link: str) -> str:
        by_platform = group_pairs((one_line(seat.platform), seat.id) for seat in self._state.voices)
        seats = "; ".join(
            f"{', '.join(names)} ({platform})" for platform, names in by_platform.items()
        )
        return f"{format_cell(self._words.begins.format(protocol=self._plugin.name, seats=seats, link=link))}\n\n"

    def describe(self, event: Event) -> str:
        """What may be said after one more event; empty where that is nothing."""
        if not isinstance(event, EntryAdded):
            return ""
        lines: list[str] = []
        for entry in (
            each.entry for each in self._sealed.release(event) if isinstance(each, EntryAdded)
        ):
            described = self._plugin.describe(self._timeline, entry)
            # Not the question: who reads this has just asked it.
            lines += (
                [*described, *describe_shared(self._timeline, entry.fact)] if entry.seq > 1 else []
            )
        return "".join(map(_format_line, lines))

    def describe_waiting(self) -> str:
        """For whom the meeting waits, where that was not said yet."""
        seats = _list_awaited(self._sealed.pending)
        if not seats or seats == self._waiting:
            return ""
        self._waiting = seats
        return f"- {self._words.waiting.format(seats=seats)}\n"


def _format_line(line: str) -> str:
    if isinstance(line, SpokenLine):
        words = "\n".join(quote_markdown(line.words)) + "\n\n" if line.words else ""
        return f"\n**{format_cell(line.head)}**\n\n{words}"
    return "".join(f"- {format_cell(each)}\n" for each in line.split("\n") if each.strip())


def _list_awaited(asks: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(find_asked_seat(ask) for ask in asks))


async def _build_answer(call: Call, meeting: ChatMeeting, link: str) -> ChatAnswer:
    snapshot = await call.moot.engine.load_snapshot(meeting.session)
    state = snapshot.session_state
    words = CHAT[state.opened.language]
    if snapshot.is_closed:
        return ChatAnswer(await _render_decision(call, meeting, link), state.spent)
    if state.parked is not None:
        reason = format_cell(format_parking(SHARED_REPORT[state.opened.language], state.parked))
        return ChatAnswer(words.parked.format(reason=reason, link=link), state.spent)
    return ChatAnswer(
        words.goes_on.format(seats=_list_awaited(state.pending) or words.nobody, link=link),
        state.spent,
    )


async def _render_decision(call: Call, meeting: ChatMeeting, link: str) -> str:
    """The decision as its report has it: the memo, then what was argued; then the link."""
    plugin, timeline = (
        await call.moot.load_plugin(meeting.session),
        await call.moot.load_timeline(meeting.session),
    )
    report = plugin.report(timeline)
    words = CHAT[timeline.language]
    text = render_blocks((*report.decision[1:], *report.argument))
    before = (
        f"{words.held_before.format(date=f'{timeline.opened_at:%Y-%m-%d}')}\n\n"
        if meeting.had_ended
        else ""
    )
    return f"{text}\n---\n\n{before}{words.link.format(link=link)}\n"
