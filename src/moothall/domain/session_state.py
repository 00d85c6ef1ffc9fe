"""What the state of every protocol holds: seats, lost seats, the budget, the call for the end; and what every session has beside
it: pending asks, spending, running time. Each has its one fold.

Only time in which a process runs a session counts as running.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime, timedelta
from typing import Any, Final, Literal, Protocol, TypeVar

from moothall.domain import facts
from moothall.domain.budget import BudgetKind, Spent
from moothall.domain.facts import Entry, Fact
from moothall.domain.groups import (
    NO_GROUPS,
    AnswerJudgement,
    Groups,
    Pair,
    add_judged,
    add_owned,
)
from moothall.domain.ids import AskId, SeatId, find_asked_seat, parse_ask_kind
from moothall.domain.replace import dataclass, fast_replace
from moothall.domain.roster import (
    DIRECTOR,
    Seat,
    StandIn,
    Swap,
    find_stand_in,
    state_family,
    swap_seats,
)
from moothall.domain.stated_facts import FACTS_ASK, NO_FACTS, FactsTable, SeatFacts
from moothall.domain.topic import UserInput, add_input

StopReason = BudgetKind | Literal["called"]

_ORDINARY: Final = (facts.Reply, facts.AsksSent)
"""What most entries hold; nothing that all protocols share follows from them."""


@dataclass(frozen=True, slots=True)
class Losses:
    """How often a seat failed, and the reason of the last failure."""

    times: int
    last: facts.Loss


@dataclass(frozen=True, slots=True, kw_only=True)
class LostSeat:
    """A seat that failed to answer."""

    seat: SeatId
    times: int
    """How often it failed."""
    last: facts.Loss
    """The reason of its last failure."""
    weight_share: float
    """Its share of the bias weight of all seats."""
    did_not_vote: bool = False
    """Whether its voice is missing in the outcome."""
    why: str = ""
    """What went wrong the last time, in the words of the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeHearing:
    """What a judge of answers has said, each pair in the order in which it was shown, and why it does not say more.

    `again` is what it said of pairs in an order in which it had been asked before. `asked` counts its answers and losses, which
    number its asks. `lost` is why it did not answer, and `missed` is the same once that is on record: then it is not asked again.
    """

    said: Mapping[Pair, AnswerJudgement] = field(default_factory=dict)
    again: Mapping[Pair, AnswerJudgement] = field(default_factory=dict)
    asked: int = 0
    lost: str = ""
    missed: str = ""


NOT_HEARD: Final = JudgeHearing()
JUDGE_ASK: Final = "judge"
"""The kind of ask that puts pairs of answers to a judge."""


@dataclass(frozen=True, kw_only=True)
class ProtocolState:
    """The base class of protocols' states. It has no slots, for `fast_replace`.

    `evolve` of a rulebook calls `evolve_shared` first, which keeps these fields; what a protocol does about them is its own.
    """

    opened: facts.Opened
    """The first fact of the session; a protocol narrows its type."""
    seats: tuple[Seat, ...]
    """The seats as they are filled now: swaps, forks and stated families are applied."""
    losses: Mapping[SeatId, Losses] = field(default_factory=dict)
    """The seats that failed to answer, in the order of their first failure."""
    exhausted: BudgetKind | None = None
    """The limit that was reached first."""
    is_close_called: bool = False
    """Whether the owner asked for the end of the session."""
    is_closed: bool = False
    user_inputs: tuple[UserInput, ...] = ()
    """What the user has added since the opening, the newest last."""
    judge_seat: Seat | None = None
    """Who judges whether two answers are one and has no say of its own, where a protocol has such a seat."""
    groups: Groups = NO_GROUPS
    """Which answers are counted as one (Q-3)."""
    hearing: JudgeHearing = NOT_HEARD
    """What the judge has said that is not recorded as groups yet."""
    facts_table: FactsTable = NO_FACTS
    """What seats stated before they took positions (Q-4)."""

    @property
    def is_stating_facts(self) -> bool:
        """Whether seats say now what the others may not know: nothing else is asked until that is listed to all."""
        is_open = not (self.facts_table.listed_at or self.is_closed)
        return bool(self.opened.facts_first) and is_open

    @property
    def next_input(self) -> int:
        """The number of the user's next input. A protocol that numbers what is said overrides it."""
        return self.user_inputs[-1].number + 1 if self.user_inputs else 1

    @property
    def answered_inputs(self) -> Collection[int]:
        """The inputs of the user that the result answers by now; a protocol whose result does overrides it."""
        return ()

    @property
    def open_answers(self) -> tuple[str, ...]:
        """The answers of the seats, as they were said, that all may read by now; a protocol that counts answers overrides it."""
        return ()

    @property
    def open_inputs(self) -> tuple[UserInput, ...]:
        """The inputs of the user that nobody has answered: they stand in every ask (Q-8)."""
        if not self.user_inputs:
            return ()
        answered = self.answered_inputs
        return tuple(each for each in self.user_inputs if each.number not in answered)

    @property
    def stop(self) -> StopReason | None:
        """Why the session is to end now. The owner's call precedes a limit: the owner wants the end at once."""
        return "called" if self.is_close_called else self.exhausted

    @property
    def stand_in(self) -> StandIn:
        """What speaks here in place of minds, so that nothing said here is a decision; "" where minds speak (M-17)."""
        return find_stand_in(self.seats, self.opened.demo)

    @property
    def is_sealed(self) -> bool:
        """Whether what seats say now may be read by nobody else yet. A protocol that asks blind adds to it.

        While it holds, replies after the entry `sealed_after` show at every door who wrote, and not what.
        """
        return self.is_stating_facts

    @property
    def sealed_after(self) -> int:
        """The last entry that may be read while others are sealed."""
        return self.facts_table.listed_at

    @property
    def sealed_entries(self) -> Collection[int]:
        """Entries that only their author may read yet, whatever `is_sealed` says: a vote that came ahead of the vote."""
        return ()

    def list_revealed(self, seq: int) -> "Sequence[RevealedLine]":
        """Return what all may read from this entry on, and could not before."""
        if seq and seq == self.facts_table.listed_at:
            return self.facts_table.stated
        return ()

    def seat(self, name: str) -> Seat:
        # A loop: several times in every turn, and a generator costs as much as the rest.
        for seat in self.seats:
            if seat.id == name:
                return seat
        if self.judge_seat is not None and name == self.judge_seat.id:
            return self.judge_seat
        if name == DIRECTOR.id:
            return DIRECTOR
        raise LookupError(f"no seat is called {name!r}")


class RevealedLine(Protocol):
    """What a seat said in a sealed entry, as it is shown when all may read it."""

    @property
    def seq(self) -> int: ...

    @property
    def at(self) -> datetime: ...

    @property
    def seat(self) -> SeatId: ...

    @property
    def said(self) -> Any:
        """The answer: a dataclass, whose fields are shown."""


P = TypeVar("P", bound=ProtocolState)
V = TypeVar("V")


def evolve_shared(state: P, entry: Entry) -> P:
    """Return the state after one more entry, as far as all protocols share it."""
    fact = entry.fact
    if isinstance(fact, facts.AnswersJudged):
        return _hear_judge(state, fact)
    if isinstance(fact, facts.FactsStated):
        return _add_stated_facts(state, fact, entry)
    if isinstance(fact, _ORDINARY):
        return state
    match fact:
        case facts.SeatLost(ask=ask, seat=seat) if parse_ask_kind(ask) == FACTS_ASK:
            return _add_lost_facts(state, seat)
        case facts.FactsListed():
            return fast_replace(state, facts_table=replace(state.facts_table, listed_at=entry.seq))
        case facts.SeatLost(seat=seat) if _is_of_judge(state, seat) and is_judge_ask(fact.ask):
            hearing = replace(state.hearing, asked=state.hearing.asked + 1, lost=fact.reason)
            return fast_replace(state, hearing=hearing)
        case facts.AnswersGrouped():
            return _apply_grouping(state, fact)
        case facts.SeatLost():
            times = state.losses[fact.seat].times + 1 if fact.seat in state.losses else 1
            return fast_replace(
                state, losses={**state.losses, fact.seat: Losses(times, fact.reason)}
            )
        case facts.SessionForked(swaps=swaps) | facts.SeatsSwapped(swaps=swaps):
            state = fast_replace(state, seats=swap_seats(state.seats, swaps))
            if state.judge_seat is None:
                return state
            return fast_replace(state, judge_seat=swap_seats((state.judge_seat,), swaps)[0])
        case facts.FamilyStated(seat=seat, family=family):
            return fast_replace(state, seats=state_family(state.seats, seat, family))
        case facts.BudgetExhausted(budget=budget):
            return fast_replace(state, exhausted=state.exhausted or budget)
        case facts.CloseCalled():
            return fast_replace(state, is_close_called=True)
        case facts.InputGiven(text=text):
            inputs = add_input(state.user_inputs, state.next_input, entry.seq, text)
            return fast_replace(state, user_inputs=inputs)
        case facts.Closed():
            return fast_replace(state, is_closed=True)
        case _:
            return state


def find_judge(opened: facts.Opened) -> str:
    """Return the name of the seat that judges answers or ideas; "" where a session has none."""
    judge: str = getattr(getattr(opened, "settings", None), "judge", "")
    return judge


def is_judge_ask(ask: AskId) -> bool:
    """Whether an ask puts pairs to a judge; its seat may have other tasks."""
    return parse_ask_kind(ask) == JUDGE_ASK


def _is_of_judge(state: ProtocolState, seat: SeatId) -> bool:
    return state.judge_seat is not None and seat == state.judge_seat.id


def _hear_judge(state: P, fact: facts.AnswersJudged) -> P:
    if not _is_of_judge(state, fact.seat):
        return state
    said, again = dict(state.hearing.said), dict(state.hearing.again)
    for each in fact.said.judgements:
        pair = (each.one, each.other)
        if pair in state.hearing.said:
            again[pair] = each
        else:
            said[pair] = each
    hearing = JudgeHearing(said=said, again=again, asked=state.hearing.asked + 1)
    # Who says nothing of any pair is not asked the same again.
    if not fact.said.judgements:
        hearing = replace(hearing, lost="malformed")
    return fast_replace(state, hearing=hearing)


def _add_stated_facts(state: P, fact: facts.FactsStated, entry: Entry) -> P:
    table = state.facts_table
    is_awaited = state.is_stating_facts and fact.seat not in table.settled
    if not is_awaited or parse_ask_kind(fact.ask) != FACTS_ASK:
        return state
    said = SeatFacts(seq=entry.seq, at=entry.at, seat=fact.seat, said=fact.said)
    return fast_replace(state, facts_table=replace(table, stated=(*table.stated, said)))


def _add_lost_facts(state: P, seat: SeatId) -> P:
    """Note that a seat states no facts. It is no loss of its voice: it is asked for its position all the same."""
    table = state.facts_table
    if not state.is_stating_facts or seat in table.settled:
        return state
    return fast_replace(state, facts_table=replace(table, lost=(*table.lost, seat)))


def _apply_grouping(state: P, fact: facts.AnswersGrouped) -> P:
    options = state.opened.subject.options
    if fact.judge is None:
        return fast_replace(state, groups=add_owned(state.groups, fact.pairs, options))
    return fast_replace(
        state,
        groups=add_judged(state.groups, fact.pairs, options),
        hearing=JudgeHearing(asked=state.hearing.asked, missed=fact.missed),
    )


def list_lost_seats(state: ProtocolState, voices: Container[str]) -> tuple[LostSeat, ...]:
    """Return the seats that failed; `voices` are those whose voice is in the outcome."""
    total = sum(seat.weight for seat in state.seats) or 1.0
    lost: list[LostSeat] = []
    for seat in state.seats:
        if seat.id not in state.losses:
            continue
        losses = state.losses[seat.id]
        lost.append(
            LostSeat(
                seat=seat.id,
                times=losses.times,
                last=losses.last,
                weight_share=seat.weight / total,
                did_not_vote=seat.id not in voices,
            )
        )
    return tuple(lost)


_FROM_OUTSIDE: Final = (
    facts.InputGiven,
    facts.CloseCalled,
    facts.SeatsSwapped,
    facts.FamilyStated,
    facts.AnswerAskedBack,
    facts.AnswersGrouped,
    facts.SessionCancelled,
    facts.SessionForked,
)
"""Facts that a process which does not run the session may write, beside answers."""


@dataclass(frozen=True, slots=True)
class PendingAsk:
    """An ask that was sent and is not yet answered. `attempts` counts the processes that have sent it, last `put_at`.

    `is_again`: its deadline has passed once, and it was sent again with a later one.
    """

    deadline: datetime | None
    outside: bool = False
    attempts: int = 1
    is_again: bool = False
    put_at: datetime | None = field(default=None, compare=False)

    @property
    def seconds(self) -> float | None:
        """How long it has from when it was sent; None where that has no end."""
        if self.deadline is None or self.put_at is None:
            return None
        return (self.deadline - self.put_at).total_seconds()


@dataclass(frozen=True, slots=True)
class RunningTime:
    """The time between the last known sign of a running process and this entry (`at`).

    The session ran for `seconds`; for `waited` seconds it waited only for outside seats.
    """

    at: datetime
    seconds: float = 0.0
    waited: float = 0.0


def is_waiting_outside(pending: Mapping[AskId, PendingAsk]) -> bool:
    """Whether the session waits only for outside seats; no process needs to run it then."""
    # A plain loop, for it runs several times with every entry and mostly ends at the first ask.
    for each in pending.values():
        if not each.outside:
            return False
    # Without pending asks it does not wait: the session then has work to compute, and a process must run it.
    return bool(pending)


def compute_running_time(
    ran_at: datetime, pending: Mapping[AskId, PendingAsk], entry: Entry
) -> RunningTime:
    """Return what an entry says about the time before it, given the asks that were pending then."""
    gap = (entry.at - ran_at).total_seconds()
    if is_waiting_outside(pending):
        return RunningTime(entry.at, waited=gap)
    # Such an entry can be written while no process runs the session, so it proves nothing: the interval stays open until the next
    # entry that only a running process writes.
    put = pending.get(entry.fact.ask) if isinstance(entry.fact, facts.Reply) else None
    if put.outside if put is not None else isinstance(entry.fact, _FROM_OUTSIDE):
        return RunningTime(ran_at)
    # SessionResumed is the first entry after a pause: the gap before it is time without a process.
    if isinstance(entry.fact, facts.SessionResumed):
        return RunningTime(entry.at)
    return RunningTime(entry.at, seconds=gap)


def update_pending(
    pending: Mapping[AskId, PendingAsk], fact: Fact, at: datetime | None = None
) -> Mapping[AskId, PendingAsk]:
    """Return the pending asks after a fact that was recorded `at` a time."""
    # The facts of every turn come first, and without a pattern.
    if isinstance(fact, facts.Reply):
        left = dict(pending)
        left.pop(fact.ask, None)
        return left
    if isinstance(fact, facts.AsksSent):
        is_again = not pending.keys().isdisjoint(fact.asks)
        sent = PendingAsk(fact.deadline, fact.outside, is_again=is_again, put_at=at)
        return {**pending, **dict.fromkeys(fact.asks, sent)}
    match fact:
        case facts.SeatLost(ask=ask):
            return remove_asks(pending, (ask,))
        case facts.AsksWithdrawn(asks=asks):
            return remove_asks(pending, asks)
        # No process holds them any more: whoever resumes the session puts them again, with deadlines of its own.
        case facts.SessionParked():
            return {key: value for key, value in pending.items() if value.outside}
        case facts.SeatsSwapped(swaps=swaps):
            return _remove_asks_of(pending, _list_swapped(swaps))
        # A fork does not inherit its source's asks: its own process sends them again, with deadlines of its own.
        case facts.SessionForked() | facts.Closed():
            return {}
        case _:
            return pending


def remove_asks(known: Mapping[AskId, V], asks: tuple[AskId, ...]) -> dict[AskId, V]:
    """Return what is known of all asks but these."""
    return {key: value for key, value in known.items() if key not in asks}


def _remove_asks_of(known: Mapping[AskId, V], seats: set[SeatId]) -> dict[AskId, V]:
    """Return what is known of all asks but those that were put to these seats."""
    return {key: value for key, value in known.items() if find_asked_seat(key) not in seats}


def _list_swapped(swaps: tuple[Swap, ...]) -> set[SeatId]:
    return {swap.seat for swap in swaps}


MAX_ATTEMPTS: Final = 10
"""How often an ask is sent again after the process that held it died."""

REMEMBERED_KEYS: Final = 64
REMEMBERED_ANSWERS: Final = 1_024
"""How many answer keys are remembered: the newest, counted over all seats."""

_CHARGED: Final = (
    facts.Reply,
    facts.SeatLost,
    facts.SessionParked,
    facts.ToolUsed,
    facts.AsksSent,
)


@dataclass(frozen=True, kw_only=True)
class SessionState(ProtocolState):
    """A fold of the facts that all protocols share; its size is bounded by the pending asks and the seats."""

    seq: int
    """The number of the last entry."""
    at: datetime
    """The time of the last entry."""
    ran_at: datetime
    """The time of the last entry that a running process wrote; inputs and outside answers may also come while none runs."""
    pending: Mapping[AskId, PendingAsk] = field(default_factory=dict)
    """The asks that were put and not settled."""
    spent: Spent = Spent()
    input_keys: tuple[str, ...] = ()
    """The keys of the newest inputs; a retried call with one of them counts once."""
    answer_keys: Mapping[tuple[SeatId, str], int] = field(default_factory=dict)
    """The entries of the newest answers by seat and key."""
    closed: facts.Closed | None = None
    """The last fact of the session."""
    parked: facts.SessionParked | None = None
    """The outage that the session waits out."""
    unavailable: frozenset[SeatId] = frozenset()
    """The seats whose last ask failed by an outage."""
    missed: Mapping[AskId, float] = field(default_factory=dict)
    """The asks whose deadline had passed when the session was parked, each with the seconds that it had."""
    tool_uses: Mapping[AskId, tuple[facts.ToolUsed, ...]] = field(default_factory=dict)
    """What seats looked up for asks that are not answered yet: a restarted process goes on from there."""
    asked_back: frozenset[AskId] = frozenset()
    """The asks whose first answer from outside named none of the things that the question is about."""
    looked_up: tuple[facts.ToolUsed, ...] = ()
    """All that seats looked up so far."""

    @property
    def voices(self) -> tuple[Seat, ...]:
        """The seats that may take a position on the question: all but those that check, compare or judge answers."""
        neutral = self.opened.neutral
        return tuple([seat for seat in self.seats if seat.id not in neutral])

    @property
    def is_waiting_outside(self) -> bool:
        """Whether the session waits only for outside seats: then no time counts."""
        return is_waiting_outside(self.pending)


def build_session_state(entry: Entry, opened: facts.Opened) -> SessionState:
    spent = Spent()
    if opened.framing is not None:
        spent = spent.plus(opened.framing.usage)
    return SessionState(
        opened=opened,
        seats=opened.seats,
        seq=entry.seq,
        at=entry.at,
        ran_at=entry.at,
        spent=spent,
    )


def apply(session_state: SessionState, entry: Entry) -> SessionState:
    fact = entry.fact
    # Before `update_pending`: whether the interval counts depends on the asks that were open during it, not after it.
    time = compute_running_time(session_state.ran_at, session_state.pending, entry)
    spent = session_state.spent.with_seconds(time.seconds) if time.seconds else session_state.spent
    pending = update_pending(session_state.pending, fact, entry.at)
    if isinstance(fact, _CHARGED):
        # A failed answer costs money, too: the provider charges for tokens that could not be parsed.
        spent = spent.plus(fact.usage)
    after = fast_replace(
        session_state, seq=entry.seq, at=entry.at, ran_at=time.at, pending=pending, spent=spent
    )
    # Most entries are asks and plain answers: nothing else follows from them.
    if isinstance(fact, facts.AsksSent) or (
        isinstance(fact, facts.Reply)
        and not fact.key
        and fact.seat not in after.unavailable
        and not after.tool_uses
        and not after.missed
    ):
        return after
    missed = _update_missed(session_state, entry)
    if missed is not session_state.missed:
        after = fast_replace(after, missed=missed)
    if isinstance(fact, facts.ToolUsed) or after.tool_uses:
        looked_up = after.looked_up
        if isinstance(fact, facts.ToolUsed):
            looked_up = (*looked_up, fact)
        after = fast_replace(
            after, tool_uses=_update_tool_uses(after.tool_uses, fact), looked_up=looked_up
        )
    return _apply_rare_fact(
        evolve_shared(after, entry), fact, (entry.at - session_state.ran_at).total_seconds()
    )


def _update_tool_uses(
    uses: Mapping[AskId, tuple[facts.ToolUsed, ...]], fact: Fact
) -> Mapping[AskId, tuple[facts.ToolUsed, ...]]:
    match fact:
        case facts.ToolUsed(ask=ask):
            return {**uses, ask: (*uses.get(ask, ()), fact)}
        case facts.Reply(ask=ask) | facts.SeatLost(ask=ask):
            return remove_asks(uses, (ask,))
        case facts.AsksWithdrawn(asks=asks):
            return remove_asks(uses, asks)
        case facts.SeatsSwapped(swaps=swaps) | facts.SessionForked(swaps=swaps):
            # Another participant looks for itself.
            swapped = _list_swapped(swaps)
            return {key: value for key, value in uses.items() if value[0].seat not in swapped}
        case facts.Closed():
            return {}
        case _:
            return uses


def _update_missed(session_state: SessionState, entry: Entry) -> Mapping[AskId, float]:
    """Return which asks were not answered in the time that they had: the next process gives them more."""
    missed = session_state.missed
    match entry.fact:
        case facts.SessionParked():
            late = list_late_asks(session_state.pending, entry.at)
            return {**missed, **late} if late else missed
        case facts.Reply(ask=ask) | facts.SeatLost(ask=ask) if ask in missed:
            return remove_asks(missed, (ask,))
        case facts.AsksWithdrawn(asks=asks) if missed:
            return remove_asks(missed, asks)
        case facts.SeatsSwapped(swaps=swaps) | facts.SessionForked(swaps=swaps) if missed:
            # Another participant may be faster.
            return _remove_asks_of(missed, _list_swapped(swaps))
        case _:
            return missed


def list_late_asks(pending: Mapping[AskId, PendingAsk], at: datetime) -> dict[AskId, float]:
    """Return the asks of a running process whose deadline has passed, each with the seconds that it had."""
    late = {}
    for ask, each in pending.items():
        is_late = not each.outside and each.deadline is not None and each.deadline <= at
        if is_late and each.seconds:
            late[ask] = each.seconds
    return late


def _apply_rare_fact(session_state: SessionState, fact: Fact, gap: float) -> SessionState:
    match fact:
        case facts.Reply(seat=seat) if seat in session_state.unavailable:
            return _apply_rare_fact(_with_available(session_state, {seat}), fact, gap)
        case facts.Reply(key=key) if key:
            keys = {**session_state.answer_keys, (fact.seat, fact.key): session_state.seq}
            # Dicts keep insertion order, so the first key is the oldest. The bound keeps a state small in any session.
            if len(keys) > REMEMBERED_ANSWERS:
                del keys[next(iter(keys))]
            return fast_replace(session_state, answer_keys=keys)
        case facts.SeatLost(seat=seat, reason=reason) if reason in facts.OUTAGES:
            return fast_replace(session_state, unavailable=session_state.unavailable | {seat})
        case facts.SessionParked():
            return fast_replace(session_state, parked=fact)
        case facts.AnswerAskedBack(ask=ask):
            return fast_replace(session_state, asked_back=session_state.asked_back | {ask})
        case facts.SeatsSwapped(swaps=swaps):
            # Another participant has not failed yet.
            return _with_available(session_state, _list_swapped(swaps))
        case facts.SessionResumed():
            return fast_replace(
                session_state,
                parked=None,
                pending={
                    key: _renew_pending(value, gap, session_state.at)
                    for key, value in session_state.pending.items()
                },
            )
        case facts.InputGiven(key=key) if key:
            return fast_replace(
                session_state, input_keys=(*session_state.input_keys, key)[-REMEMBERED_KEYS:]
            )
        case facts.SessionForked(swaps=swaps):
            return fast_replace(_with_available(session_state, _list_swapped(swaps)), parked=None)
        case facts.Closed():
            return fast_replace(session_state, closed=fact, parked=None)
        case _:
            return session_state


def _with_available(session_state: SessionState, seats: set[SeatId]) -> SessionState:
    return fast_replace(session_state, unavailable=session_state.unavailable - seats)


def _renew_pending(pending: PendingAsk, gap: float, at: datetime) -> PendingAsk:
    if pending.outside:
        return pending
    # Nobody worked on the ask while no process ran: its deadline moves by the gap, so that a restart neither shortens nor extends
    # the time that is left.
    deadline = pending.deadline
    if deadline is not None:
        deadline += timedelta(seconds=max(0.0, gap))
    return PendingAsk(deadline, False, pending.attempts + 1, is_again=pending.is_again, put_at=at)
