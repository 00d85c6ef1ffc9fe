"""One step of a session: from the facts that arrived to the entries to write and the asks to send. Pure: time is an argument."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from moothall.domain.budget import find_exhausted_limit
from moothall.domain.effects import Ask, Record
from moothall.domain.facts import (
    AsksSent,
    AsksWithdrawn,
    BudgetExhausted,
    Fact,
    Reply,
    SeatLost,
    ToolUsed,
)
from moothall.domain.ids import AskId, SeatId
from moothall.engine.snapshot import RecordWriter, Snapshot, WrittenEntry

_ANSWERS: Final = (Reply, SeatLost, ToolUsed)
MAX_GROWN_SECONDS: Final = 14_400.0
"""How much time an ask is given at most because it was not answered in less; what was set for it is never cut."""
MAX_STEPS = 10_000
"""How many facts in a row a rulebook may compute before it is considered faulty."""


@dataclass(slots=True)
class StepResult:
    """The entries that one step writes, the snapshot after them, the asks that are then open, and the invitations."""

    snapshot: Snapshot
    written: list[WrittenEntry]
    asks: tuple[Ask, ...] = ()
    invited: tuple[Ask, ...] = ()


def step(
    writer: RecordWriter,
    snapshot: Snapshot,
    arrived: Iterable[Fact],
    now: datetime,
    outside: frozenset[SeatId],
    *,
    since: datetime,
) -> StepResult:
    """Apply the facts that are still valid, then everything that follows from them, up to the next asks.

    `outside` are the seats that answer from outside; `since` is when this process started to run the session.
    """
    batch = StepResult(snapshot, [])
    for fact in arrived:
        # A duplicate, or an answer to an ask that was withdrawn while it was on its way.
        pending = batch.snapshot.session_state.pending
        if isinstance(fact, _ANSWERS) and fact.ask not in pending:
            continue
        # As late: an ask that was to be sent once more.
        if isinstance(fact, AsksSent) and not pending.keys() >= set(fact.asks):
            continue
        if not batch.snapshot.is_closed:
            _write(writer, batch, now, fact)
    for _ in range(MAX_STEPS):
        if batch.snapshot.is_closed:
            return batch
        # The budget comes before every decision, so that the rulebook never asks for more once a limit is reached. What ends
        # anyway with the answers that are there is not ended by it.
        spent = find_exceeded_budget(batch.snapshot, now, since)
        if spent is not None and not _ends_by_itself(writer, batch.snapshot, now):
            _write(writer, batch, now, spent)
            continue
        effects = batch.snapshot.rules.decide(batch.snapshot.state)
        computed = [effect.fact for effect in effects if isinstance(effect, Record)]
        # All facts of one decision, then decide again: `decide` sees a state that contains all of them.
        for fact in computed:
            _write(writer, batch, now, fact)
        if not computed:
            asks = [effect for effect in effects if isinstance(effect, Ask)]
            batch.asks = tuple([ask for ask in asks if not ask.invited])
            batch.invited = tuple([ask for ask in asks if ask.invited])
            _record_asks(writer, batch, now, outside)
            return batch
    raise AssertionError(f"the rulebook {snapshot.rules.name!r} computes without end")


def _ends_by_itself(writer: RecordWriter, snapshot: Snapshot, now: datetime) -> bool:
    """Whether the rulebook ends the session without another ask."""
    for _ in range(MAX_STEPS):
        computed = [
            effect.fact
            for effect in snapshot.rules.decide(snapshot.state)
            if isinstance(effect, Record)
        ]
        for fact in computed:
            snapshot, _ = writer.write(snapshot, now, fact)
        if snapshot.is_closed or not computed:
            break
    return snapshot.is_closed


def _write(writer: RecordWriter, batch: StepResult, now: datetime, fact: Fact) -> None:
    batch.snapshot, written = writer.write(batch.snapshot, now, fact)
    batch.written.append(written)


def find_exceeded_budget(
    snapshot: Snapshot, now: datetime, since: datetime
) -> BudgetExhausted | None:
    """Return the fact that a limit of the session is reached; None if none is, or if that is recorded already."""
    session_state = snapshot.session_state
    # Recorded once per session: how to end is the protocol's decision from then on.
    if session_state.exhausted is not None:
        return None
    budget = session_state.opened.budget
    if budget.seconds is None and budget.tokens is None and budget.money is None:
        return None
    # Time since the last entry is not in the state yet. Time before `since` belongs to no process, and waiting for outside seats
    # is free.
    spent = session_state.spent
    if not session_state.is_waiting_outside:
        passed = (now - max(session_state.ran_at, since)).total_seconds()
        spent = spent.with_seconds(passed)
    kind = find_exhausted_limit(budget, spent)
    if kind is None:
        return None
    match kind:
        case "tokens":
            return BudgetExhausted(budget=kind, spent=spent.tokens, limit=budget.tokens or 0)
        case "money":
            dollars, limit = spent.cost / 1e6, (budget.money or 0) / 1e6
            return BudgetExhausted(budget=kind, spent=round(dollars, 6), limit=round(limit, 6))
        case "time":
            seconds = round(spent.seconds, 1)
            return BudgetExhausted(budget=kind, spent=seconds, limit=budget.seconds or 0.0)


def compute_patience(snapshot: Snapshot, ask: Ask, *, is_outside: bool) -> float:
    """Return for how many seconds an ask is waited for. One that missed its deadline before never has the same one again."""
    session_state = snapshot.session_state
    own = session_state.seat(ask.seat).patience
    # The seat's own patience is the strongest; then the session's for outside seats, who may need days; then the protocol's.
    usual = ask.patience
    if is_outside and not ask.firm:
        usual = session_state.opened.outside_patience
    patience = own or usual
    missed = session_state.missed.get(ask.id)
    if missed is None or is_outside:
        return patience
    return grow_patience(max(patience, missed))


def grow_patience(seconds: float) -> float:
    """Return the time of an ask that was not answered in these seconds: twice as much, up to four hours."""
    return max(seconds, min(2 * seconds, MAX_GROWN_SECONDS))


def _record_asks(
    writer: RecordWriter, batch: StepResult, now: datetime, outside: frozenset[SeatId]
) -> None:
    pending = batch.snapshot.session_state.pending
    wanted = {ask.id for ask in batch.asks}
    # The rulebook no longer wants these: it decided without them, for example because a quorum was reached.
    if not pending.keys() <= wanted:
        _write(
            writer,
            batch,
            now,
            AsksWithdrawn(asks=tuple(ask for ask in pending if ask not in wanted)),
        )
    # AsksSent holds one deadline for all its asks, so asks are grouped by who answers and how long they may take.
    groups: dict[tuple[bool, float], list[AskId]] = {}
    for ask in batch.asks:
        elsewhere = ask.seat in outside
        # A parked session asks nobody whom a process would have to ask: whoever resumes it does that.
        if ask.id not in pending and (elsewhere or batch.snapshot.session_state.parked is None):
            patience = compute_patience(batch.snapshot, ask, is_outside=elsewhere)
            groups.setdefault((elsewhere, patience), []).append(ask.id)
    for (elsewhere, patience), asks in groups.items():
        deadline = now + timedelta(seconds=patience)
        _write(writer, batch, now, AsksSent(asks=tuple(asks), deadline=deadline, outside=elsewhere))
