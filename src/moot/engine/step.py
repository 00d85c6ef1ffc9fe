"""One step of a session: from what arrived to what is to be written and asked. Pure: the time comes in as a value."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from moot.domain.budget import find_exhausted_limit
from moot.domain.effects import Ask, Record
from moot.domain.facts import AsksPut, AsksWithdrawn, BudgetExhausted, Fact, Reply, SeatLost
from moot.domain.ids import AskId, SeatId
from moot.engine.snapshot import RecordWriter, Snapshot, WrittenEntry

MOST_STEPS = 10_000
"""Computed facts in a row after which a rulebook is taken to be faulty."""


@dataclass(slots=True)
class StepResult:
    """What one step writes, where it leads, the asks that are then outstanding, and what seats may add of their own accord."""

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
    """Take in the facts that still have their place, then all that follows from them, up to the next asks.

    `outside` are the seats that answer from elsewhere; `since` is when this process took the session up.
    """
    batch = StepResult(snapshot, [])
    for fact in arrived:
        if isinstance(fact, Reply | SeatLost) and fact.ask not in batch.snapshot.session_state.pending:
            continue
        if not batch.snapshot.is_closed:
            _write(writer, batch, now, fact)
    for _ in range(MOST_STEPS):
        if batch.snapshot.is_closed:
            return batch
        spent = _find_exceeded_budget(batch.snapshot, now, since)
        if spent is not None:
            _write(writer, batch, now, spent)
            continue
        effects = batch.snapshot.rules.decide(batch.snapshot.state)
        computed = [effect.fact for effect in effects if isinstance(effect, Record)]
        for fact in computed:
            _write(writer, batch, now, fact)
        if not computed:
            batch.asks = tuple(effect for effect in effects if isinstance(effect, Ask) and not effect.invited)
            batch.invited = tuple(effect for effect in effects if isinstance(effect, Ask) and effect.invited)
            _record_asks(writer, batch, now, outside)
            return batch
    raise AssertionError(f"the rulebook {snapshot.rules.name!r} computes without end")


def _write(writer: RecordWriter, batch: StepResult, now: datetime, fact: Fact) -> None:
    batch.snapshot, written = writer.write(batch.snapshot, now, fact)
    batch.written.append(written)


def _find_exceeded_budget(snapshot: Snapshot, now: datetime, since: datetime) -> BudgetExhausted | None:
    session_state = snapshot.session_state
    if session_state.exhausted is not None:
        return None
    budget = session_state.opened.budget
    spent = (
        session_state.spent
        if session_state.is_parked
        else session_state.spent.with_seconds((now - max(session_state.ran_at, since)).total_seconds())
    )
    kind = find_exhausted_limit(budget, spent)
    if kind is None:
        return None
    amounts = {
        "tokens": f"{spent.tokens} of {budget.tokens} tokens",
        "money": f"{spent.cost / 1e6:.4f} of {(budget.money or 0) / 1e6:.4f} US dollars",
        "time": f"{spent.seconds:.1f} of {budget.seconds} seconds",
        "turns": "",
    }
    return BudgetExhausted(budget=kind, spent=amounts[kind])


def _record_asks(writer: RecordWriter, batch: StepResult, now: datetime, outside: frozenset[SeatId]) -> None:
    pending = batch.snapshot.session_state.pending
    wanted = {ask.id for ask in batch.asks}
    stale = tuple(ask for ask in pending if ask not in wanted)
    if stale:
        _write(writer, batch, now, AsksWithdrawn(asks=stale))
    groups: dict[tuple[bool, float], list[AskId]] = {}
    for ask in batch.asks:
        if ask.id not in pending:
            elsewhere = ask.seat in outside
            own = batch.snapshot.session_state.seat(ask.seat).patience
            patience = own or (
                batch.snapshot.session_state.opened.outside_patience if elsewhere and not ask.firm else ask.patience
            )
            groups.setdefault((elsewhere, patience), []).append(ask.id)
    for (elsewhere, patience), asks in groups.items():
        deadline = now + timedelta(seconds=patience)
        _write(writer, batch, now, AsksPut(asks=tuple(asks), deadline=deadline, outside=elsewhere))
