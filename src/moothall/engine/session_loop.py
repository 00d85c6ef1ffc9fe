"""The run loop of one session: step, append, ask, wait; until it is closed or this process has nothing left to do."""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from moothall.domain.causes import find_cause, state_cause
from moothall.domain.effects import Ask
from moothall.domain.facts import AsksSent, Fact, SeatLost, SessionResumed, ToolUsed
from moothall.domain.ids import AskId, SeatId, find_asked_seat
from moothall.domain.roster import Seat
from moothall.domain.session_state import MAX_ATTEMPTS, PendingAsk, find_judge, is_judge_ask
from moothall.engine.context import LEAP_SECONDS, EngineContext, EntryAdded
from moothall.engine.outages import (
    PROBE_SECONDS,
    HeldOutages,
    build_parking,
    explain_unready,
    holds_half,
)
from moothall.engine.questions import Questions, Response, build_fact
from moothall.engine.session_log import log_entries
from moothall.engine.snapshot import Snapshot
from moothall.engine.step import StepResult, grow_patience, step
from moothall.errors import LedgerUnavailable, SeqConflict, SessionBusy
from moothall.ports.participant import (
    NO_ANSWER,
    LeavingParticipant,
    NoAnswer,
    Participant,
    ProbedParticipant,
    SlowParticipant,
)
from moothall.ports.telemetry import Span

log = logging.getLogger("moot")

T = TypeVar("T")

LISTEN_AGAIN_SECONDS = 0.2
LEDGER_SECONDS = 30.0
"""For how long a ledger that is away is tried again before the run ends with one sentence."""
FIRST_RETRY_SECONDS = 0.25
MAX_RETRY_SECONDS = 4.0
GRACE_SECONDS = 2.0
"""How long a cancelled participant may take to stop."""
FROZEN_SECONDS: Final = 1.0
"""An append that took longer may have been the sleep of this process: the ledger is read again before anybody is asked."""
NEW_SECONDS = 5.0
"""How soon after its opening a session counts as running without a pause."""

ParticipantFactory = Callable[[Seat], Participant | None]
"""Returns the participant that fills a seat; None if the seat answers from outside."""


class SessionRun:
    """Runs one session in this process. `run` may be cancelled at any time: the ledger stays consistent."""

    def __init__(
        self,
        context: EngineContext,
        snapshot: Snapshot,
        seating: ParticipantFactory,
        *,
        wait_outside: bool | float,
    ) -> None:
        self.snapshot = snapshot
        self._context = context
        self._seating = seating
        # Asked of the loop once: who asks for the running loop makes a call to the system each time.
        self._time = asyncio.get_running_loop().time
        self._waits_until = math.inf if wait_outside is True else self._time() + wait_outside
        self._participants: dict[SeatId, Participant | None] = {}
        self._outside: frozenset[SeatId] = frozenset()
        # `_arrived` and `_woken` connect the participants' tasks with the loop: a task appends its fact and wakes the loop, and
        # only the loop writes to the ledger.
        self._arrived: list[Fact] = []
        self._tasks: dict[AskId, asyncio.Task[None]] = {}
        self._questions = Questions(context)
        self._put_again: set[AskId] = set()
        self._outages = HeldOutages()
        self._unready: dict[SeatId, str] = {}
        self._is_parking = False
        self._woken = asyncio.Event()
        self._alarm: asyncio.TimerHandle | None = None
        self._since = snapshot.session_state.at
        self._seen = (snapshot.session_state.at, 0.0)
        self._is_taken_up = False
        self._is_stale = False
        self._pauses = 0

    def notify_appended(self) -> None:
        """Signal that another writer appended to the session, so that the loop reads the new entries."""
        self._is_stale = True
        self._woken.set()

    async def run(self) -> Snapshot:
        """Return the snapshot when the session is closed, is parked, or waits only for outside seats."""
        seats = self.snapshot.session_state.seats
        self._participants = {seat.id: self._seating(seat) for seat in seats}
        self._outside = frozenset(seat.id for seat in seats if self._participants[seat.id] is None)
        self._start_clock()
        try:
            async with asyncio.TaskGroup() as group:
                listener = group.create_task(self._listen())
                try:
                    await self._loop()
                finally:
                    listener.cancel()
        finally:
            try:
                await self._cancel_tasks()
            finally:
                seated: list[object] = [*self._participants.values()]
                leaving = [each.leave() for each in seated if isinstance(each, LeavingParticipant)]
                await asyncio.gather(*leaving, return_exceptions=True)
        return self.snapshot

    async def _loop(self) -> None:
        tracer, session = self._context.telemetry.tracer, self.snapshot.session
        while True:
            with tracer.span("moot.step", session=session) as span:
                is_over = await self._advance(span)
            if is_over:
                return
            # What others wrote meanwhile is read at once; else an answer, another writer or a deadline is waited for.
            if not self._is_stale:
                self._set_alarm()
                await self._woken.wait()
                self._woken.clear()

    async def _advance(self, span: Span) -> bool:
        """Take one step: append what follows from what arrived, and ask. True when this process has nothing left to do."""
        # Read foreign entries before deciding: a decision on old state would only lose the append race.
        if self._is_stale:
            await self._catch_up()
        batch = self._step(self._read_clock())
        if not await self._commit(batch):
            # Another writer was first: nothing of this batch happened, so it is computed again on the new state.
            return False
        span.note(entries=len(batch.written), head=self.snapshot.seq)
        if self.snapshot.is_closed:
            return True
        # A process that was frozen since may have a successor, which has asked already.
        if self._time() - self._seen[1] > FROZEN_SECONDS:
            self._is_stale = True
            return False
        # After the append, never before: a participant is called only for an ask that is durable, so that a restart asks it
        # again.
        pending = self.snapshot.session_state.pending
        if not self._tasks.keys() <= pending.keys():
            for ask in [ask for ask in self._tasks if ask not in pending]:
                # `pop` first: a task that is no longer registered discards its result (see `_ask_participant`).
                self._tasks.pop(ask).cancel("withdrawn")
        self._start(batch)
        if not self._outages.held:
            self._is_parking = False
        elif await self._settle_outages():
            return True
        is_waiting = self._tasks or self._arrived or self._is_stale
        return not is_waiting and not (
            self._time() < self._waits_until and self.snapshot.session_state.pending
        )

    def _step(self, now: datetime) -> StepResult:
        """Compute the next step. A resumed session records SessionResumed before the first entry that this process writes."""
        batch = step(
            self._context.writer,
            self.snapshot,
            self._arrived,
            now,
            self._outside,
            since=self._since,
        )
        if not self._is_taken_up:
            return batch
        # An ask that the dead process held must be sent again, and SessionResumed counts that attempt and moves its deadline.
        session_state = self.snapshot.session_state
        has_asked = session_state.parked is not None or any(
            not pending.outside for pending in session_state.pending.values()
        )
        if not batch.written and not has_asked:
            return batch
        resumed = [SessionResumed(), *self._arrived]
        batch = step(
            self._context.writer, self.snapshot, resumed, now, self._outside, since=self._since
        )
        # Only the pause made the rulebook or the budget act (for example a time limit that seemed exceeded). SessionResumed
        # removes that reason, and on its own it is not worth an entry.
        if len(batch.written) == 1 and not has_asked:
            return StepResult(self.snapshot, [], batch.asks)
        return batch

    def _start_clock(self) -> None:
        """Start counting time: the time before, when no process ran the session, does not count."""
        self._since = self._context.clock.now()
        self._seen = (self._since, self._time())
        self._context.pauses.start()
        self._pauses = self._context.pauses.look()
        is_new = (
            self.snapshot.seq == 1
            and (self._since - self.snapshot.session_state.at).total_seconds() < NEW_SECONDS
        )
        self._is_taken_up = not is_new

    def _read_clock(self) -> datetime:
        """Return the time.

        A jump of the clock (a suspended machine, a clock that was set) is treated as a pause without a process. One in which this
        process was stopped is, too, where time costs something; deadlines are extended by it anyway.
        """
        now, ticks = self._context.clock.now(), self._time()
        leap = (now - self._seen[0]).total_seconds() - (ticks - self._seen[1])
        self._seen = (now, ticks)
        paused, self._pauses = (
            self._context.pauses.look() - self._pauses,
            self._context.pauses.count,
        )
        if leap > LEAP_SECONDS or (
            paused and self.snapshot.session_state.opened.budget.seconds is not None
        ):
            self._since, self._is_taken_up = now, True
        else:
            # Not after a jump: deadlines that passed while the machine slept are first moved by SessionResumed.
            self._time_out(now)
        return now

    async def _cancel_tasks(self) -> None:
        """Cancel the participants that are still working.

        One that ignores the cancellation is abandoned, so that it cannot block the session.
        """
        if self._alarm is not None:
            self._alarm.cancel()
        for task in self._tasks.values():
            task.cancel("stopped")
        if self._tasks:
            await asyncio.wait(self._tasks.values(), timeout=GRACE_SECONDS)

    async def _commit(self, batch: StepResult) -> bool:
        """Append the batch. False if another writer was first: then nothing of the batch counts."""
        if not batch.written:
            self._arrived.clear()
            return True
        # `_arrived` can grow during the append: only the facts that this batch has taken in may be removed after it.
        taken = len(self._arrived)
        records = [written.record for written in batch.written]
        try:
            # One that failed on its way may be durable all the same: then the next try conflicts with it, and it is read back.
            await self._insist(lambda: self._context.append(batch.snapshot.session, records))
        except SeqConflict:
            self._is_stale = True
            return False
        self.snapshot = batch.snapshot
        self._context.telemetry.counts.ended += batch.snapshot.is_closed
        log_entries(batch.snapshot.session, [each.entry for each in batch.written])
        self._is_taken_up = False
        # Answers that arrived during the append wait for the next step.
        del self._arrived[:taken]
        if self._context.hub.is_watched(self.snapshot.session):
            for written in batch.written:
                self._context.hub.publish(EntryAdded(self.snapshot.session, written.entry))
        return True

    async def _catch_up(self) -> None:
        self._is_stale = False
        records = await self._insist(
            lambda: self._context.ledger.read(self.snapshot.session, self.snapshot.seq)
        )
        for record in records:
            entry = self._context.writer.validate_record(self.snapshot, record)
            # Only a process that takes a session up writes this: it is not ours any more, and another asks its participants.
            if isinstance(entry.fact, SessionResumed):
                session = self.snapshot.session
                raise SessionBusy(
                    f"session {session!r} was taken over by another process",
                    command=f"follow it with `moot watch {session}`",
                )
            self.snapshot = self.snapshot.apply_entry(entry, record.hash)
            self._context.hub.publish(EntryAdded(self.snapshot.session, entry))

    async def _insist(self, work: Callable[[], Awaitable[T]]) -> T:
        """Do something on the ledger; one that is away (a full disk, a lost server) is tried again for a while.

        Those who are asked meanwhile go on, and what they say is held here.
        """
        ends, delay = self._time() + LEDGER_SECONDS, FIRST_RETRY_SECONDS
        while True:
            try:
                return await work()
            except LedgerUnavailable as error:
                if self._time() + delay > ends:
                    raise
                if delay == FIRST_RETRY_SECONDS:
                    self._context.outages.tell(error, f"trying again for {LEDGER_SECONDS:.0f} s")
            self._context.telemetry.counts.ledger_retries += 1
            await asyncio.sleep(delay)
            delay = min(2 * delay, MAX_RETRY_SECONDS)

    def _start(self, batch: StepResult) -> None:
        for ask in batch.asks:
            # A seat outside of the roster, such as Moot itself: its participant is created when it is first asked.
            if ask.seat not in self._participants:
                self._participants[ask.seat] = self._seating(
                    self.snapshot.session_state.seat(ask.seat)
                )
            participant = self._participants[ask.seat]
            if (
                participant is None
                or ask.id in self._tasks
                or ask.id in self._outages.held
                or self._is_parking
            ):
                continue
            pending = self.snapshot.session_state.pending.get(ask.id)
            # The answer is here already but not yet written: asking again would pay for a second one.
            if pending is None or (
                self._arrived
                and any(getattr(fact, "ask", None) == ask.id for fact in self._arrived)
            ):
                continue
            # A participant that kills the process each time (out of memory, a native crash) must not do so forever.
            if pending.attempts > MAX_ATTEMPTS:
                self._record_response(
                    ask,
                    NoAnswer(
                        reason="gave_up",
                        detail=state_cause("crashed", times=MAX_ATTEMPTS),
                    ),
                )
                continue
            if pending.attempts > 1:
                self._questions.count_retry()
            self._outages.note_ask(ask.seat, self._tasks)
            self._tasks[ask.id] = asyncio.create_task(
                self._ask_participant(ask, participant, self._time())
            )

    async def _ask_participant(self, ask: Ask, participant: Participant, put_at: float) -> None:
        # As in `_loop`: the process slept before this task began. Once: on a machine that is merely slow the next try counts.
        if self._time() - put_at > FROZEN_SECONDS and ask.id not in self._put_again:
            self._put_again.add(ask.id)
            self._tasks.pop(ask.id, None)
            self.notify_appended()
            return

        def take(response: Response) -> str:
            # Not registered any more: the ask was withdrawn or timed out in the meantime, and this answer is too late.
            is_late = self._tasks.pop(ask.id, None) is None
            return "late" if is_late else self._record_response(ask, response)

        def note_use(used: ToolUsed) -> None:
            if ask.id in self._tasks:
                self._arrived.append(used)
                self._woken.set()

        await self._questions.put(ask, participant, self.snapshot, take, note_use)

    def _record_response(self, ask: Ask, response: Response) -> str:
        """Queue the result of an ask, and return its outcome."""
        fact = build_fact(self._context.writer, self.snapshot, ask, response)
        self._take_result(fact, ask.seat)
        self._woken.set()
        return fact.reason if isinstance(fact, SeatLost) else "answered"

    def _take_result(self, fact: Fact, seat: SeatId) -> None:
        """Queue the result of an ask, or hold it back if it may be an outage."""
        beside: Iterable[AskId] = self._tasks
        is_probed = False
        if isinstance(fact, SeatLost) and fact.reason == "timeout":
            # A silence is judged beside those that end as soon: a person may think for days.
            beside = [ask for ask in self._tasks if self._is_probed(find_asked_seat(ask))]
            is_probed = self._is_probed(seat)
        if not self._outages.take(fact, seat, beside, is_probed=is_probed):
            self._arrived.append(fact)

    def _is_probed(self, seat: SeatId) -> bool:
        return isinstance(self._participants.get(seat), ProbedParticipant)

    async def _release_slow(self) -> None:
        """Tell who is slow from who is out: a slow seat is asked once more, with twice the time, and lost after that.

        At first it is enough that its server is there. A trial would only wait behind the requests that this server is still
        busy with, so that it comes after the second silence, when none of ours is under way.
        """
        silent = [fact for fact in self._outages.held.values() if fact.reason == "timeout"]
        first = [fact for fact in silent if self._may_ask_again(fact.ask)]
        for fact in await self._list_reachable(first, is_tried=False):
            self._arrived.append(self._build_second_ask(fact))
        second = [fact for fact in silent if fact not in first]
        for fact in await self._list_reachable(second, is_tried=not self._tasks):
            self._outages.answered.add(fact.seat)
            self._arrived.append(fact)
        if self._arrived:
            self._woken.set()

    def _may_ask_again(self, ask: AskId) -> bool:
        pending = self.snapshot.session_state.pending.get(ask)
        return pending is not None and not pending.is_again and not self._is_parking

    async def _list_reachable(self, silent: list[SeatLost], *, is_tried: bool) -> list[SeatLost]:
        """Return those of the held silences whose participants are there, and hold them no longer."""
        participants = {fact.seat: self._participants.get(fact.seat) for fact in silent}
        unready = await explain_unready(participants, PROBE_SECONDS, is_outage=is_tried)
        reachable = [fact for fact in silent if fact.seat not in unready]
        # Meanwhile one of them may have been withdrawn.
        return [fact for fact in reachable if self._outages.held.pop(fact.ask, None) is not None]

    def _build_second_ask(self, fact: SeatLost) -> AsksSent:
        """Return the fact that sends an ask again. What is left of a restarted process counts as the whole time."""
        pending = self.snapshot.session_state.pending[fact.ask]
        usual = self.snapshot.session_state.seat(fact.seat).patience or 0.0
        seconds = grow_patience(max(pending.seconds or 0.0, usual))
        deadline = self._context.clock.now() + timedelta(seconds=seconds)
        return AsksSent(asks=(fact.ask,), deadline=deadline, usage=fact.usage)

    async def _settle_outages(self) -> bool:
        """Record held outages as losses, or park the session: True once it is parked.

        They are judged when everybody who was asked beside them has answered or failed, and that is on record.
        """
        # Those of asks that the rulebook no longer wants are forgotten.
        for ask in self._outages.held.keys() - self.snapshot.session_state.pending.keys():
            del self._outages.held[ask]
        if not self._outages.is_settled(self._tasks) or self._arrived or self._is_stale:
            self._is_parking &= bool(self._outages.held)
            return False
        await self._release_slow()
        if self._arrived:
            return False
        if not self._is_parking and not await self._is_left_unfair():
            self._arrived += self._outages.release()
            self._woken.set()
            return False
        # What is still on its way is waited for and kept, so that no call that succeeds is repeated.
        self._is_parking = True
        if self._tasks or self._arrived or self._is_stale:
            return False
        shared = self._outages.find_out_seats((), self._participants)
        parked = build_parking(list(self._outages.held.values()), shared, self._unready)
        after, written = self._context.writer.write(
            self.snapshot, self._context.clock.now(), parked
        )
        return await self._commit(StepResult(after, [written]))

    async def _is_left_unfair(self) -> bool:
        """Whether those who can still be asked could not decide fairly without the seats that are out."""
        session_state = self.snapshot.session_state
        serving = {*session_state.opened.helpers, find_judge(session_state.opened)}
        voices = [seat for seat in session_state.seats if seat.id not in serving]
        lost = list(self._outages.held.values())
        self._unready = {}
        # A judge that is out joins nothing; whether the others can be asked shows when they are.
        if all(is_judge_ask(fact.ask) for fact in lost):
            return False
        out = self._outages.find_out_seats(session_state.unavailable, self._participants)
        is_alone = not self._outages.answered and not any(
            each.outside for each in session_state.pending.values()
        )
        if holds_half(voices, out) or (is_alone and len(lost) > 1):
            return True
        # Asked one by one, every seat would look like the only one that is out, and who answered a moment ago may be out by now:
        # so all others are asked whether they are ready.
        others = {seat: each for seat, each in self._participants.items() if seat not in out}
        self._unready = await explain_unready(others, PROBE_SECONDS, is_outage=True)
        if holds_half(voices, {*out, *self._unready}):
            return True
        # Nobody else was asked, and without this seat the session would be over: an outage does not end a meeting.
        return is_alone and self._ends_without(lost)

    def _ends_without(self, lost: list[SeatLost]) -> bool:
        """Whether the session would end if these asks were lost, and whatever it asks the same seats alone after that, too."""
        snapshot, now, out = self.snapshot, self._context.clock.now(), {fact.seat for fact in lost}
        for _ in range(MAX_ATTEMPTS):
            after = step(self._context.writer, snapshot, lost, now, self._outside, since=now)
            if after.snapshot.is_closed or not {ask.seat for ask in after.asks} <= out:
                return after.snapshot.is_closed
            snapshot, lost = (
                after.snapshot,
                [SeatLost(ask=ask.id, seat=ask.seat, reason="unreachable") for ask in after.asks],
            )
        return False

    def _set_alarm(self) -> None:
        """Wake up at the next deadline. Waking too early is harmless, so an earlier alarm stays set."""
        wait = self._next_deadline(self._seen[0])
        if wait is None:
            return
        loop = asyncio.get_running_loop()
        due = loop.time() + max(0.0, wait)
        if self._alarm is not None:
            if self._alarm.when() <= due:
                return
            self._alarm.cancel()
        self._alarm = loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self._woken.set()

    def _next_deadline(self, now: datetime) -> float | None:
        session_state = self.snapshot.session_state
        held = self._outages.held
        waits: list[float] = []
        for ask, pending in session_state.pending.items():
            if ask in held:
                continue
            deadline = self._context.pauses.extend_deadline(pending)
            if deadline:
                waits.append((deadline - now).total_seconds() + self._questions.get_waited(ask))
        if session_state.is_waiting_outside and self._time() < self._waits_until < math.inf:
            waits.append(self._waits_until - self._time())
        # The time budget is a deadline, too; while only outside seats are awaited its clock stands still.
        seconds = session_state.opened.budget.seconds
        is_counting = session_state.exhausted is None and not session_state.is_waiting_outside
        if seconds is not None and is_counting:
            passed = (now - max(session_state.ran_at, self._since)).total_seconds()
            waits.append(seconds - session_state.spent.seconds - passed)
        return min(waits, default=None)

    def _time_out(self, now: datetime) -> None:
        """Record a timeout for every ask whose deadline has passed."""
        late = [each for each in self.snapshot.session_state.pending if self._is_late(each, now)]
        if not late:
            return
        effects = self.snapshot.rules.decide(self.snapshot.state)
        asks = {each.id: each for each in effects if isinstance(each, Ask)}
        for ask in late:
            pending = self.snapshot.session_state.pending[ask]
            task = self._tasks.pop(ask, None)
            # No task and not outside: its participant was not started yet, or its answer waits in `_arrived`.
            if task is None and not pending.outside:
                continue
            lost = self._build_timeout(ask, pending, asks.get(ask))
            if task is None:
                self._arrived.append(lost)
            else:
                task.cancel("timeout")
                self._take_result(lost, lost.seat)

    def _is_late(self, ask: AskId, now: datetime) -> bool:
        pending = self.snapshot.session_state.pending[ask]
        deadline = self._context.pauses.extend_deadline(pending)
        if deadline is None:
            return False
        return deadline + timedelta(seconds=self._questions.get_waited(ask)) <= now

    def _build_timeout(self, ask: AskId, pending: PendingAsk, wanted: Ask | None) -> SeatLost:
        """Return the loss of an ask whose deadline has passed, with what its requests cost: a provider charges for them."""
        seat = self.snapshot.session_state.seat(find_asked_seat(ask)).id
        participant: object = self._participants.get(seat)
        detail: str = NO_ANSWER
        if isinstance(participant, SlowParticipant) and wanted is not None:
            seconds = pending.seconds or wanted.patience
            detail = participant.explain_silence(replace(wanted, patience=seconds))
        usage = self._questions.estimate_usage(ask)
        cause = find_cause(detail)
        return SeatLost(ask=ask, seat=seat, reason="timeout", cause=cause, usage=usage)

    async def _listen(self) -> None:
        while True:
            # Limits how often a busy session reads its own appends back: `wait_for_change` reports its own, too. Before the
            # first time, too: a short session needs no listener, and an append on an old state fails in any case.
            await asyncio.sleep(LISTEN_AGAIN_SECONDS)
            # A ledger that is away tells nothing; who reads or writes meets that, too, and says so.
            with suppress(LedgerUnavailable):
                head = await self._context.ledger.wait_for_change(
                    self.snapshot.session, self.snapshot.seq
                )
                if head > self.snapshot.seq:
                    self.notify_appended()
