"""Outside answers: the asks of seats whose participant runs in another process, and the answers that come for them."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from moothall import errors
from moothall.domain import facts
from moothall.domain.budget import FREE
from moothall.domain.causes import find_cause
from moothall.domain.effects import AnswerRules, Ask, Brief, fold
from moothall.domain.frame import is_yes_or_no
from moothall.domain.ids import AskId, SeatId, SessionId, find_asked_seat, parse_ask_kind
from moothall.domain.limits import validate_value
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import fix_surrogates
from moothall.domain.session_state import PendingAsk
from moothall.engine.sessions import Sessions
from moothall.engine.snapshot import Snapshot
from moothall.engine.step import StepResult
from moothall.locale.catalogues import PARTICIPANT_PROMPT
from moothall.reading.answers import Reading, build_reply, parse_answer, read_answer
from moothall.reading.non_answers import drop_choice_label, find_unlisted_answer
from moothall.reading.person_asks import interpret_plain_text

MAX_REASON_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class OutstandingAsk:
    """An ask that waits for an answer, or an invitation that a seat may answer."""

    ask: Ask
    pending: PendingAsk
    brief: Brief


FindEarlier = Callable[[Snapshot], int | None]
"""Returns the number of the entry that already holds the same content, or None; may raise if nothing may be said."""

ChooseAsk = Callable[[StepResult], Ask | None]
"""Picks the ask that an answer belongs to; None if no open ask fits."""


class OutsideAnswers(Sessions):
    """The engine's operations for outside seats."""

    async def list_outstanding(self, session: SessionId) -> list[OutstandingAsk]:
        """Return the asks that wait for an answer from outside; asks that a running process holds are not listed."""
        snapshot = await self.load_snapshot(session)
        batch = self._compute_step(snapshot)
        return [_build_outstanding(batch, ask) for ask in batch.asks if _is_outside(batch, ask)]

    async def find_open_ask(self, session: SessionId, seat: SeatId) -> OutstandingAsk | None:
        """Return what an outside seat may answer now: its open ask, else its invitation; raises UnknownSeat."""
        batch = self._compute_step(await self.load_snapshot(session))
        ask = _find_open_ask(batch, _validate_seat(batch.snapshot, seat))
        return None if ask is None else _build_outstanding(batch, ask)

    async def preview_answer(self, session: SessionId, seat: SeatId, raw: object) -> Reading:
        """Return what an answer of an outside seat would be read as. Raises UnknownSeat, OutOfTurn, BadAnswer."""
        asked = await self.find_open_ask(session, seat)
        if asked is None:
            raise errors.OutOfTurn(
                f"nothing is asked of {seat!r} now; {await self._describe_waiting(session)}"
            )
        return _read_outside(asked.brief, raw)

    def find_turn(self, snapshot: Snapshot, seat: SeatId) -> OutstandingAsk | None:
        """Return the open ask of an outside seat as a session stands; None if it has no turn, or the session is about to end."""
        batch = self._compute_step(snapshot)
        ask = (
            None
            if batch.snapshot.is_closed
            else _find_open_ask(batch, _validate_seat(batch.snapshot, seat))
        )
        # No prompt is written for an invitation: whoever waits is not told of it.
        return None if ask is None or ask.invited else _build_outstanding(batch, ask)

    def has_only_to_wait(self, snapshot: Snapshot) -> bool:
        """Whether nothing is to be done for a session until an outside seat answers, or a deadline passes."""
        state, now = snapshot.session_state, self.context.clock.now()
        if snapshot.is_closed or state.parked is not None or not state.is_waiting_outside:
            return False
        if any(ask.deadline is not None and ask.deadline <= now for ask in state.pending.values()):
            return False
        batch = self._compute_step(snapshot)
        return not batch.written and all(ask.id in state.pending for ask in batch.asks)

    async def answer(
        self, session: SessionId, ask: AskId, raw: object, key: str = "", via: str = ""
    ) -> facts.Entry:
        """Record the answer to an outstanding ask; a repeated answer, or a repeated `key`, returns the first entry and counts
        once. `via` is the door through which it came in.

        Raises UnknownAsk, BadAnswer, KeyReused, SessionClosed.
        """

        def choose_ask(batch: StepResult) -> Ask | None:
            return next(
                (
                    each
                    for each in (*batch.asks, *batch.invited)
                    if each.id == ask and _is_outside(batch, each)
                ),
                None,
            )

        entry = await self._record_answer(
            session, find_asked_seat(ask), choose_ask, raw, key, via=via
        )
        # A retry without a key arrives here: the ask is no longer open, so the entry that answered it is looked up.
        return entry or await self._get_earlier_answer(await self.load_snapshot(session), ask, raw)

    async def find_answered_brief(self, session: SessionId, ask: AskId) -> Brief | None:
        """Return the brief whose answer is recorded; None if there is no answer, or today's rules do not ask for it."""
        snapshot = await self.load_snapshot(session)
        reply = await self._find_reply(session, ask)
        moment = None if reply is None else await self._rebuild_moment(snapshot, *reply)
        return None if moment is None else moment[0].rules.brief(moment[0].state, moment[1])

    async def contribute(
        self,
        session: SessionId,
        seat: SeatId,
        raw: object,
        key: str = "",
        *,
        said_before: FindEarlier | None = None,
        of_any: bool = False,
        via: str = "",
    ) -> facts.Entry:
        """Record a contribution of an outside seat as the answer to whatever it may say now; the same `key` counts once.

        `said_before` may recognise repeated content without a key: it returns the entry that has it. With `of_any` the content
        may also come from a seat that Moot asks itself, if a caller answered for it first. `via` is the door through which it
        came in. Raises UnknownSeat, OutOfTurn, BadAnswer, KeyReused, SessionClosed.
        """

        def choose_ask(batch: StepResult) -> Ask | None:
            return _find_open_ask(batch, _validate_seat(batch.snapshot, seat, of_any=of_any))

        entry = await self._record_answer(session, seat, choose_ask, raw, key, said_before, via=via)
        if entry is None:
            raise errors.OutOfTurn(
                f"nothing is asked of {seat!r} now; {await self._describe_waiting(session)}"
            )
        return entry

    async def pass_over(
        self, session: SessionId, seat: SeatId, reason: facts.Loss, detail: str = ""
    ) -> facts.Entry:
        """Record that a seat does not answer its open ask. Raises UnknownSeat, OutOfTurn, SessionClosed."""
        # The lock orders writers of this process; the loop handles other processes: a lost append race computes everything again.
        async with self._queue(session):
            while True:
                snapshot = await self.load_snapshot(session)
                before = self._compute_step(snapshot, is_left=not await self.is_running(session))
                _validate_seat(before.snapshot, seat, of_any=True)
                ask = next((each for each in before.asks if each.seat == seat), None)
                if ask is None:
                    raise errors.OutOfTurn(
                        f"nothing is asked of {seat!r} now; {await self._describe_waiting(session)}"
                    )
                fact = facts.SeatLost(
                    ask=ask.id,
                    seat=seat,
                    reason=reason,
                    cause=find_cause(detail),
                )
                lost, written = self._writer.write(before.snapshot, self.context.clock.now(), fact)
                # The entry just written sets `ran_at` to now, so no pause is left to record.
                after = self._compute_step(lost, is_left=False)
                if await self._commit(after.snapshot, [*before.written, written, *after.written]):
                    return written.entry

    async def call_close(self, session: SessionId, by: str = "") -> facts.Entry:
        """Ask for the end: the session concludes with what has been said so far; raises SessionClosed if it has ended."""
        async with self._queue(session):
            while True:
                snapshot = await self.load_snapshot(session)
                if snapshot.is_closed:
                    raise errors.SessionClosed(f"session {session!r} has ended already")
                called, written = self._writer.write(
                    snapshot,
                    self.context.clock.now(),
                    facts.CloseCalled(by=fix_surrogates(by)[: facts.MAX_KEY_LENGTH]),
                )
                after = self._compute_step(called, is_left=not await self.is_running(session))
                if await self._commit(after.snapshot, [written, *after.written]):
                    return written.entry

    async def _record_answer(  # noqa: PLR0917
        self,
        session: SessionId,
        seat: SeatId,
        choose: ChooseAsk,
        raw: object,
        key: str,
        said_before: FindEarlier | None = None,
        *,
        via: str,
    ) -> facts.Entry | None:
        validate_value("the key", fix_surrogates(key), facts.Key)
        key = fix_surrogates(key)
        async with self._queue(session):
            while True:
                snapshot = await self.load_snapshot(session)
                # The key is checked before the ask: a retry must succeed although its ask is no longer open.
                if key and (seat, key) in snapshot.session_state.answer_keys:
                    return await self._get_entry_by_key(snapshot, seat, key, raw)
                earlier = None if said_before is None else said_before(snapshot)
                if earlier is not None:
                    return (await self.entries(session, earlier - 1, 1))[0]
                # While only outside seats are awaited no time counts anyway: the claim of `is_running` (a lock file or a query)
                # is spared.
                is_left = (
                    not snapshot.session_state.is_waiting_outside
                    and not await self.is_running(session)
                )
                before = self._compute_step(snapshot, is_left=is_left)
                ask = choose(before)
                if ask is None:
                    return None
                rules = before.snapshot.build_answer_rules(ask)
                fact = _build_reply(rules, ask, raw, key, via)
                label = find_unlisted_answer(rules, fact.said)
                if label and ask.id not in snapshot.session_state.asked_back:
                    asked = facts.AnswerAskedBack(ask=ask.id, seat=ask.seat, said=label)
                    noted, written = self._writer.write(snapshot, self.context.clock.now(), asked)
                    if await self._commit(noted, [written]):
                        language = snapshot.session_state.opened.language
                        raise errors.BadAnswer(_explain_which_one(rules, label, language))
                    continue
                if is_yes_or_no(label):
                    fact = _leave_uncounted(fact, label)
                said, written = self._writer.write(before.snapshot, self.context.clock.now(), fact)
                after = self._compute_step(said, is_left=is_left)
                # One append for what led to the ask, the answer, and what follows from it: a crash in between cannot lose a part.
                if await self._commit(after.snapshot, [*before.written, written, *after.written]):
                    return written.entry

    async def _get_entry_by_key(
        self, snapshot: Snapshot, seat: SeatId, key: str, raw: object
    ) -> facts.Entry:
        seq = snapshot.session_state.answer_keys[seat, key]
        entry = (await self.entries(snapshot.session, seq - 1, 1))[0]
        assert isinstance(entry.fact, facts.Reply)
        if not await self._is_same_answer(snapshot, entry, entry.fact, raw):
            raise errors.KeyReused(
                f"the key {key!r} came before, with other words (entry {seq}); a new contribution needs a new key"
            )
        return entry

    async def _describe_waiting(self, session: SessionId) -> str:
        batch = self._compute_step(await self.load_snapshot(session))
        if batch.snapshot.is_closed:
            raise errors.SessionClosed(f"session {session!r} has ended; nothing is asked any more")
        waiting = ", ".join(f"{ask.seat} ({ask.kind})" for ask in batch.asks)
        return f"waited for: {waiting or 'nobody'}"

    async def _is_same_answer(
        self, snapshot: Snapshot, entry: facts.Entry, fact: facts.Reply, raw: object
    ) -> bool:
        """Whether a repeated answer says what the recorded one says."""
        form = snapshot.rules.forms[parse_ask_kind(fact.ask)]
        with suppress(errors.BadAnswer):
            said = raw if isinstance(raw, form.shape) else parse_answer(form, raw)
            if fact.said in (said, drop_choice_label(said)):
                return True
        # What words mean, and what code fills in, depends on what was asked: the answer is read again in the state in which
        # the first one was given. What cannot be read there is another answer.
        moment = await self._rebuild_moment(snapshot, entry, fact)
        with suppress(errors.BadAnswer):
            return (
                moment is not None
                and _read_outside(moment[0].build_answer_rules(moment[1]), raw).said == fact.said
            )
        return False

    async def _rebuild_moment(
        self, snapshot: Snapshot, entry: facts.Entry, fact: facts.Reply
    ) -> tuple[Snapshot, Ask] | None:
        """Return how the session stood before an answer, and its ask; None if today's rules do not ask for it."""
        opening, *later = await self.entries(snapshot.session, 0, entry.seq - 1)
        assert isinstance(opening.fact, facts.Opened)
        state = fold(snapshot.rules, opening.fact, later)
        asks = (effect for effect in snapshot.rules.decide(state) if isinstance(effect, Ask))
        ask = next((each for each in asks if each.id == fact.ask), None)
        return None if ask is None else (snapshot._replace(state=state), ask)

    async def _find_reply(
        self, session: SessionId, ask: AskId
    ) -> tuple[facts.Entry, facts.Reply] | None:
        entries = await self.entries(session)
        return next(
            (
                (each, each.fact)
                for each in entries
                if isinstance(each.fact, facts.Reply) and each.fact.ask == ask
            ),
            None,
        )

    async def _get_earlier_answer(self, snapshot: Snapshot, ask: AskId, raw: object) -> facts.Entry:
        reply = await self._find_reply(snapshot.session, ask)
        if reply is not None:
            entry, fact = reply
            if await self._is_same_answer(snapshot, entry, fact, raw):
                return entry
            raise errors.UnknownAsk(
                f"ask {ask!r} has been answered already (entry {entry.seq}), with other words"
            )
        if snapshot.is_closed:
            raise errors.SessionClosed(
                f"session {snapshot.session!r} has ended; nothing is asked any more"
            )
        open_asks = ", ".join(snapshot.session_state.pending) or "none"
        raise errors.UnknownAsk(f"nothing is asked under {ask!r} now; outstanding: {open_asks}")


def _read_outside(rules: AnswerRules, raw: object) -> Reading:
    return read_answer(rules, interpret_plain_text(rules, raw), is_strict=True)


def _build_reply(rules: AnswerRules, ask: Ask, raw: object, key: str, via: str) -> facts.Reply:
    read = _read_outside(rules, raw)
    return build_reply(
        rules.form,
        ask.id,
        ask.seat,
        read.said,
        FREE,
        key=key,
        corrections=read.mends,
        origin=fix_surrogates(via)[: facts.MAX_KEY_LENGTH],
    )


def _explain_which_one(rules: AnswerRules, label: str, language: facts.Language) -> str:
    words = PARTICIPANT_PROMPT[language]
    asked = words.which_one.format(names=words.or_one.join(rules.alternatives))
    return f"{asked} {label!r} names none of them; what is sent next is recorded as it is"


def _leave_uncounted(fact: facts.Reply, label: str) -> facts.Reply:
    """Return an answer that says yes once more: its words stay, and its label counts for nothing."""
    notes = (*fact.corrections, f"{facts.UNCOUNTED} {label!r}")
    return replace(fact, said=drop_choice_label(fact.said), corrections=notes)


def _build_outstanding(batch: StepResult, ask: Ask) -> OutstandingAsk:
    snapshot = batch.snapshot
    # An invitation is not recorded with AsksSent: it has no deadline and is outside by definition.
    pending = snapshot.session_state.pending.get(ask.id, PendingAsk(None, outside=True))
    return OutstandingAsk(ask, pending, snapshot.build_brief(ask))


def _is_outside(batch: StepResult, ask: Ask) -> bool:
    pending = batch.snapshot.session_state.pending.get(ask.id)
    # A recorded ask says itself who holds it: a process may have found a participant for a mailbox seat, or none for another
    # seat.
    return (
        batch.snapshot.session_state.seat(ask.seat).is_outside
        if pending is None
        else pending.outside
    )


def _validate_seat(snapshot: Snapshot, seat: SeatId, *, of_any: bool = False) -> SeatId:
    """Return the seat if it is an outside seat (or `of_any` kind); raises UnknownSeat, SessionClosed."""
    seated = next((each for each in snapshot.session_state.seats if each.id == seat), None)
    if seated is None:
        known = ", ".join(each.id for each in snapshot.session_state.seats)
        raise errors.UnknownSeat(
            f"{seat!r} has no seat in {snapshot.session!r}; the seats are: {known}"
        )
    if not seated.is_outside and not of_any:
        raise errors.UnknownSeat(
            f"the seat {seat!r} is filled by a mind that Moot asks itself; nobody else may speak for it"
        )
    if snapshot.is_closed:
        raise errors.SessionClosed(
            f"session {snapshot.session!r} has ended; nothing is asked any more"
        )
    return seat


def _find_open_ask(batch: StepResult, seat: SeatId) -> Ask | None:
    # A direct question comes before an invitation.
    return next((ask for ask in (*batch.asks, *batch.invited) if ask.seat == seat), None)
