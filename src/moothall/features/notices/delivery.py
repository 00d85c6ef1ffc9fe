"""Notices (G-2): a receiver learns of turns, parked and ended sessions, obligations that are due, and breakers.

What happened is read from the ledger, and what was delivered is recorded there: after a crash nothing is left out. A claim
decides which server of a ledger serves a receiver. Addresses and keys of receivers are secrets: they are in a private file of the
home, never in the ledger.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import quote

from moothall.app.recurring import has_changed
from moothall.domain.facts import SessionImported
from moothall.domain.ids import find_asked_seat, is_register
from moothall.errors import SessionBusy
from moothall.features.notices.receivers import Hook, Notice, deliver, load_hooks
from moothall.features.notices.register import (
    EventKind,
    HookProgress,
    NoticeId,
    NoticeSettled,
    open_notice_register,
)
from moothall.features.notices.words import NOTICES
from moothall.plugins import (
    AsksSent,
    Closed,
    Entry,
    MootError,
    SessionId,
    SessionParked,
    SessionResumed,
    WorldError,
    one_line,
    resolve_home,
    shorten_text,
)
from moothall.reports.memo import Memo, build_memo, summarize_decision
from moothall.reports.sentences import strip_stop
from moothall.reports.wording import explain_outage

if TYPE_CHECKING:
    from moothall.app.moot import Moot
    from moothall.domain.session_state import SessionState
    from moothall.memory.remembered_decision import RememberedDecision, RememberedObligation

LOOK_SECONDS: Final = 1.0
CLOCK_SECONDS: Final = 15.0
"""How often obligations and breakers are looked at."""
MAX_WAIT: Final = 600.0
"""Between two tries to deliver a notice; the first wait is a second, and each is twice the one before."""
GIVE_UP_SECONDS: Final = 3 * 24 * 3600.0
MAX_TOPIC: Final = 200
MAX_WORDS: Final = 1_000
MAX_OBLIGATIONS: Final = 1_000

Due = Literal["due", "overdue"]

log = logging.getLogger("moot")


async def serve_notices(moot: "Moot") -> None:
    """Deliver to the receivers of this home, also to those that are added or removed meanwhile."""
    tasks: dict[Hook, asyncio.Task[None]] = {}
    async with asyncio.TaskGroup() as group:
        while True:
            try:
                hooks = set(load_hooks(resolve_home(moot.environ)))
                for hook in tasks.keys() - hooks:
                    tasks.pop(hook).cancel()
                tasks |= {
                    hook: group.create_task(NoticeService(moot, hook).run())
                    for hook in hooks - tasks.keys()
                }
            except MootError as error:
                moot.engine.context.outages.tell(error)
            await asyncio.sleep(LOOK_SECONDS)


@dataclass(slots=True)
class _Queue:
    """The notices of one session in their order; one that fails holds up no other session."""

    notices: list[Notice] = field(default_factory=list)
    failing_since: float = 0.0
    retry_at: float = 0.0
    tries: int = 0


class NoticeService:
    """Delivers the notices of one receiver while it holds the receiver's claim."""

    def __init__(self, moot: "Moot", hook: Hook) -> None:
        self._moot = moot
        self._hook = hook
        self._register = open_notice_register(moot.ledger, moot.clock)
        self._forget()

    def _forget(self) -> None:
        self._position: int | None = None
        self._seen: dict[str, int] = {}
        """Up to which entry each session was read."""
        self._queues: dict[str, _Queue] = {}
        self._parked: dict[str, int] = {}
        """The first entry that parked each session, until it is resumed or ends."""
        self._clock_at = 0.0

    async def run(self) -> None:
        while True:
            try:
                async with self._moot.ledger.claim(SessionId(f"_notices-{self._hook.id}")):
                    # Another process may have delivered meanwhile.
                    self._forget()
                    while True:
                        await self._collect((await self._register.state())[self._hook.id])
                        for name in list(self._queues):
                            await self._deliver_queue(name)
                        await asyncio.sleep(LOOK_SECONDS)
            except SessionBusy:
                await asyncio.sleep(LOOK_SECONDS)
            except WorldError as error:
                self._moot.engine.context.outages.tell(error)
                await asyncio.sleep(LOOK_SECONDS)
            except MootError as error:
                log.warning("no notices to %s: %s", self._hook.id, error)
                await asyncio.sleep(MAX_WAIT)

    async def _collect(self, progress: HookProgress) -> None:
        """Queue what happened since the last look."""
        hook, written = self._hook, await self._moot.ledger.list_written(self._position)
        names = written.sessions
        if self._position is None or names is None:
            since = hook.since.timestamp() * 1e6
            names = frozenset(
                head.session for head in await self._moot.ledger.heads() if head.last.at > since
            )
        self._position = written.position
        for session in sorted(names):
            if not is_register(session) and hook.session in {"", session}:
                await self._collect_session(
                    session, *progress.sessions.get(session, (1, frozenset()))
                )
        if time.monotonic() >= self._clock_at:
            self._clock_at = time.monotonic() + CLOCK_SECONDS
            async for notice in self._list_clock_notices(progress):
                if notice.id not in progress.others and notice.id.text not in self._queues:
                    self._add(notice.id.text, notice)

    def _add(self, queue: str, notice: Notice) -> None:
        if not self._hook.events or notice.id.event in self._hook.events:
            self._queues.setdefault(queue, _Queue()).notices.append(notice)

    async def _collect_session(
        self, session: SessionId, settled: int, ids: frozenset[NoticeId]
    ) -> None:
        try:
            state = (await self._moot.engine.load_snapshot(session)).session_state
            opened = state.opened
            is_seated = not self._hook.seat or any(
                seat.id == self._hook.seat for seat in opened.seats
            )
            for record in await self._moot.ledger.read(
                session, self._seen.get(session, settled - 1)
            ):
                entry = self._moot.engine.entry(record)
                if isinstance(entry.fact, SessionResumed | Closed):
                    self._parked.pop(session, None)
                for notice in await self._list_notices(session, state, entry):
                    if is_seated and entry.at > self._hook.since and notice.id not in ids:
                        self._add(session, notice)
                self._seen[session] = record.seq
        except WorldError:
            raise
        except MootError as error:
            # A damaged session, or one of a protocol that is not installed: nothing can be said of it.
            log.warning("no notices of session %s: %s", session, error)

    async def _list_notices(
        self, session: SessionId, state: "SessionState", entry: Entry
    ) -> list[Notice]:
        opened, fact = state.opened, entry.fact
        words, topic = NOTICES[opened.language], shorten_text(one_line(opened.topic), MAX_TOPIC)
        mark = words.stand_ins.get(state.stand_in, "")

        def build(
            event: EventKind,
            text: str,
            *,
            seat: str = "",
            status: str = "",
            until: str = "",
            of: str = "",
        ) -> Notice:
            link = f"{self._hook.page}/s/{session}"
            if seat:
                link = f"{self._hook.page}/seat/{session}/{quote(seat)}"
            said = shorten_text(one_line(of), MAX_WORDS)
            sentence = text.format(topic=topic, seat=seat, until=until, words=said, link=link)
            return Notice(
                id=NoticeId(event=event, session=session, seq=entry.seq, seat=seat),
                at=entry.at,
                text=mark + sentence,
                link=link,
                topic=topic,
                language=opened.language,
                status=status,
                demo=opened.demo,
                stand_in=state.stand_in,
            )

        match fact:
            case AsksSent(outside=True, asks=asks, deadline=deadline):
                until = ""
                if deadline is not None:
                    until = words.until.format(deadline=f"{deadline:%Y-%m-%d %H:%M} UTC")
                seats = dict.fromkeys(find_asked_seat(ask) for ask in asks)
                return [
                    build("turn", words.turn, seat=each, until=until)
                    for each in seats
                    if self._hook.seat in {"", each}
                ]
            # Whatever is written meanwhile has it parked once more after it: that is no news.
            case SessionParked(causes=causes) if (
                self._parked.setdefault(session, entry.seq) == entry.seq
            ):
                reason = explain_outage(causes, opened.language)
                return [build("parked", words.parked, of=reason)]
            case Closed() if not isinstance(fact, SessionImported):
                result = await self._moot.decision(session)
                sentences = " ".join(list_notice_lines(build_memo(result, result.language)))
                if opened.subject.again_of and result.decision is not None:
                    # A question that is asked on a schedule: only another answer is news.
                    former = await self._moot.decision(opened.subject.again_of)
                    if not has_changed(former, result):
                        return []
                    before = strip_stop(summarize_decision(former).what)
                    change = words.change.format(before=before, after=sentences)
                    return [build("changed", words.changed, status=result.status, of=change)]
                return [build("decided", words.decided, status=result.status, of=sentences)]
            case _:
                return []

    async def _list_clock_notices(self, progress: HookProgress) -> AsyncIterator[Notice]:
        """Yield what follows from the time and from memory."""
        if self._hook.seat:
            return
        now = self._moot.clock.now()
        for each in await self._moot.memory.list_obligations(only_open=True, limit=MAX_OBLIGATIONS):
            state = judge_due(each.due, now)
            if state is not None and self._hook.session in {"", each.decision_id}:
                yield self._build_obligation_notice(each, state, now)
        for decision in await self._moot.memory.list_awaited_reviews():
            # From the day itself on: the day before there is nothing to say yet.
            is_due = decision.record.review_on <= f"{now.astimezone(UTC):%Y-%m-%d}"
            if is_due and self._hook.session in {"", decision.decision}:
                yield self._build_review_notice(decision, now)
        if self._hook.session:
            return
        words = NOTICES[self._hook.language]
        openings = {
            each.scope: NoticeId(event="breaker_opened", scope=each.scope, at=each.opened_at)
            for each in await self._moot.memory.breakers()
            if each.opened_at is not None
        }
        for opening in openings.values():
            text = words.breaker_opened.format(scope=opening.scope)
            yield self._build_clock_notice(opening, text, now)
        # What was sent as open, and is not any more: the record of what was sent is all that is needed to see it close.
        for opening in _list_last_openings(progress.others):
            if opening.scope not in openings:
                text = words.breaker_closed.format(scope=opening.scope)
                yield self._build_clock_notice(replace(opening, event="breaker_closed"), text, now)

    def _build_obligation_notice(
        self, obligation: "RememberedObligation", state: Due, now: datetime
    ) -> Notice:
        words = NOTICES[self._hook.language]
        event: EventKind
        if state == "due":
            event, text = "obligation_due", words.obligation_due
        else:
            event, text = "obligation_overdue", words.obligation_overdue
        name = NoticeId(
            event=event,
            session=obligation.decision_id,
            obligation=obligation.number,
            due=obligation.due,
        )
        text = text.format(
            due=obligation.due,
            words=shorten_text(one_line(obligation.text), MAX_WORDS),
            topic=shorten_text(one_line(obligation.topic), MAX_TOPIC),
        )
        return self._build_clock_notice(name, text, now)

    def _build_review_notice(self, decision: "RememberedDecision", now: datetime) -> Notice:
        record = decision.record
        name = NoticeId(event="review_due", session=decision.decision, due=record.review_on)
        text = NOTICES[self._hook.language].review_due.format(
            topic=shorten_text(one_line(record.topic), MAX_TOPIC),
            words=shorten_text(one_line(record.what or record.choice), MAX_WORDS),
        )
        return self._build_clock_notice(name, text, now)

    def _build_clock_notice(self, name: NoticeId, text: str, now: datetime) -> Notice:
        path = f"s/{name.session}" if name.session else ""
        link = f"{self._hook.page}/{path}"
        return Notice(
            id=name, at=now, text=f"{text} {link}", link=link, language=self._hook.language
        )

    async def _deliver_queue(self, name: str) -> None:
        """Deliver what waits in a queue, until one is not taken."""
        queue = self._queues[name]
        while queue.notices and queue.retry_at <= time.monotonic():
            notice, began = queue.notices[0], time.monotonic()
            failure = await deliver(self._hook, notice)
            queue.failing_since = queue.failing_since or began
            if failure and began - queue.failing_since < GIVE_UP_SECONDS:
                if not queue.tries:
                    log.warning(
                        "notice %s did not reach %s: %s; it is tried again",
                        notice.id.text,
                        self._hook.id,
                        failure,
                    )
                queue.retry_at, queue.tries = (
                    time.monotonic() + min(MAX_WAIT, 2.0**queue.tries),
                    queue.tries + 1,
                )
                return
            await self._settle(notice, failure)
            # Only now: what could not be recorded is delivered again, under the same id.
            queue.notices.pop(0)
            queue.failing_since, queue.tries = 0.0, 0
        if not queue.notices:
            del self._queues[name]

    async def _settle(self, notice: Notice, failure: str) -> None:
        """Record that a notice was delivered, or given up."""
        fact = NoticeSettled(
            hook=self._hook.id, notice=notice.id, is_delivered=not failure, detail=failure
        )
        await self._register.append(lambda _: (fact,))


def list_notice_lines(memo: Memo) -> list[str]:
    """Return what a notice says of a session that is over: the result, what to mind of it, and the first thing to do."""
    lines = [memo.result.text]
    # Who is for it, and what was said, the link leads to.
    for slot in ("caution", "next"):
        said = [line.text for line in memo.lines if line.slot == slot]
        lines += said[:1]
    return lines


def _list_last_openings(settled: Iterable[NoticeId]) -> list[NoticeId]:
    """The notices of opened breakers, the last one of each scope: a breaker may open several times before it closes."""
    opened = [(each.at, each) for each in settled if each.event == "breaker_opened" and each.at]
    last: dict[str, NoticeId] = {}
    for _, each in sorted(opened, key=lambda pair: pair[0]):
        last[each.scope] = each
    return list(last.values())


def judge_due(due: str, now: datetime) -> Due | None:
    """Whether what is due on a day (`2026-12-01`, in UTC) is due, from the day before on, or overdue; None for other words."""
    try:
        left = (date.fromisoformat(due.strip()[:10]) - now.astimezone(UTC).date()).days
    except ValueError:
        return None
    if left < 0:
        return "overdue"
    return "due" if left <= 1 else None
