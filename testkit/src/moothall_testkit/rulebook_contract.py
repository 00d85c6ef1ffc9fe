"""What every rulebook promises, whatever the answers: whole sessions played in memory, for use with Hypothesis.

    CONTRACT = RulebookContract(rules=RULES, openings=openings(), happens=build_fact_source(RULES, said))

    @given(st.data())
    def test_every_session_keeps_the_contract(data: st.DataObject) -> None:
        check_session(CONTRACT, data)

A session goes through the engine's own `step`: answers come in a drawn order and in drawn batches, some lost, some late, twice or
from nobody who was asked, with the user's words, budgets, resumes, forks and cancellations in between.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final, Generic, TypeVar

from hypothesis import strategies as st

from moothall.codec.stored import FactCodec
from moothall.domain.budget import FREE, BudgetKind, Usage
from moothall.domain.causes import Cause
from moothall.domain.effects import AnswerForm, AnswerRules, Ask, Brief, Rulebook, fold
from moothall.domain.facts import (
    AsksSent,
    AsksWithdrawn,
    BudgetExhausted,
    Closed,
    Entry,
    Fact,
    FamilyStated,
    InputGiven,
    Loss,
    Opened,
    Reply,
    SeatLost,
    SeatsSwapped,
    SessionCancelled,
    SessionForked,
    SessionImported,
    SessionParked,
    SessionResumed,
)
from moothall.domain.ids import AskId, SeatId, SessionId
from moothall.domain.roster import DIRECTOR, Swap
from moothall.engine.snapshot import RecordWriter, Snapshot
from moothall.engine.step import step
from moothall.errors import BadAnswer
from moothall.reading.answers import (
    MAX_ANSWER_LENGTH,
    Reading,
    build_reply,
    parse_answer,
    read_answer,
)
from moothall.reading.schemas import get_own_schema
from moothall_testkit.schema_values import draw_value

S = TypeVar("S")

GHOST: Final = SeatId("ghost")
"""A seat that sits at no table."""

START: Final = datetime(2024, 5, 20, 10, 0, tzinfo=UTC)
MAX_INTERRUPTIONS: Final = 8
"""How often the player does something else than answer; a user who never stops talking proves nothing."""

_SESSION: Final = SessionId("think_20240520_001")
_LOSSES: Final[tuple[Loss, ...]] = (
    "timeout",
    "error",
    "malformed",
    "refused",
    "rejected_key",
    "gave_up",
    "passed_over",
    "unreachable",
)
_BUDGETS: Final[tuple[BudgetKind, ...]] = ("tokens", "money", "time")
_USAGES: Final = (
    FREE,
    Usage(tokens_in=40, tokens_out=9, cost=12, calls=1),
    Usage(tokens_in=7, calls=2),
)
# Built once: a strategy is checked when it is first drawn from.
_FATES: Final = st.tuples(st.integers(0, 15), st.sampled_from(_USAGES))
_PAUSES: Final = st.sampled_from((0, 1, 30))
_COUNTS: Final = st.sampled_from((1, 1, 2, 3))
_LOST: Final = st.sampled_from(_LOSSES)
_TEXTS: Final = (
    "And the cost?",
    "# Now\n[#9 bob]\u2028| x",
    "那预算呢？",
    "\x1b[2J\u202eevil",
    " ",
)

DrawFact = Callable[[st.DataObject, Ask], Fact]
"""Draws what happens while this ask is out: its answer or loss, or something that nobody was asked for."""


@dataclass(frozen=True, kw_only=True)
class RulebookContract(Generic[S]):
    """A rulebook and how its sessions are drawn.

    `most_entries` is the length that no drawn session may reach, `longest_brief` the characters that no brief may have.
    """

    rules: Rulebook[S]
    openings: st.SearchStrategy[Opened]
    happens: DrawFact
    most_entries: int = 2_000
    longest_brief: int = 150_000


def build_fact_source(
    rules: Rulebook[Any], said: Mapping[str, st.SearchStrategy[object]]
) -> DrawFact:
    """Mostly answers, drawn from `said` by the kind of the ask; else losses and what comes from outside."""
    outside: tuple[st.SearchStrategy[Fact], ...] = (
        st.builds(InputGiven, text=st.sampled_from(_TEXTS), key=st.sampled_from(("", "k1"))),
        st.builds(
            BudgetExhausted,
            budget=st.sampled_from(_BUDGETS),
            spent=st.just(9.0),
            limit=st.just(9.0),
        ),
        st.just(SessionResumed()),
        st.just(SessionCancelled(reason="enough")),
    )
    # Cancelling is the dullest of ends: one in many.
    chosen = st.sampled_from((0, 0, 0, 0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 3))

    def draw_fact(data: st.DataObject, ask: Ask) -> Fact:
        fate, usage = data.draw(_FATES)
        if fate < 12:
            return build_reply(
                rules.forms[ask.kind], ask.id, ask.seat, data.draw(said[ask.kind]), usage
            )
        if fate < 14:
            return SeatLost(ask=ask.id, seat=ask.seat, reason=data.draw(_LOST), usage=usage)
        return data.draw(outside[data.draw(chosen)])

    return draw_fact


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """A whole session: its entries, the opening first, and where it led."""

    entries: Sequence[Entry]
    snapshot: Snapshot

    @property
    def opened(self) -> Opened:
        return self.snapshot.session_state.opened


def play_session(contract: RulebookContract[S], data: st.DataObject) -> PlayedSession:
    """Play one session to its end; raises AssertionError when it has none within the bound."""
    rules = contract.rules
    writer = RecordWriter(FactCodec(rules.kinds), [rules])
    snapshot, first = writer.write_opening(_SESSION, data.draw(contract.openings), START)
    entries, now, arrived, interruptions = [first.entry], START, list[Fact](), 0
    while not snapshot.is_closed:
        now += timedelta(seconds=data.draw(_PAUSES))
        batch = step(writer, snapshot, arrived, now, frozenset(), since=START)
        _check_step(snapshot, arrived, [written.entry for written in batch.written])
        snapshot = batch.snapshot
        entries += [written.entry for written in batch.written]
        assert len(entries) < contract.most_entries, "the session does not end"
        if snapshot.is_closed:
            break
        assert batch.asks, f"a session that is not closed asks for nothing: {snapshot.state}"
        arrived = _draw_arrivals(
            contract,
            data,
            snapshot,
            batch.asks,
            entries,
            may_interrupt=interruptions < MAX_INTERRUPTIONS,
        )
        interruptions += sum(not isinstance(fact, Reply | SeatLost) for fact in arrived)
    return PlayedSession(entries, snapshot)


def _draw_arrivals(
    contract: RulebookContract[S],
    data: st.DataObject,
    snapshot: Snapshot,
    asks: tuple[Ask, ...],
    before: Sequence[Entry],
    *,
    may_interrupt: bool,
) -> list[Fact]:
    """What comes in before the next step: one fact or some, among them such as nobody waits for."""
    arrived: list[Fact] = []
    for _ in range(data.draw(_COUNTS)):
        ask = data.draw(st.sampled_from(asks))
        fact = _refuse_alternative(contract, snapshot, ask, contract.happens(data, ask))
        if isinstance(fact, Reply | SeatLost) or may_interrupt:
            arrived.append(fact)
    if data.draw(st.integers(0, 7)) == 7:
        told = [entry.fact for entry in before if isinstance(entry.fact, Reply | SeatLost)]
        arrived.append(data.draw(st.sampled_from(told or [_build_ghost_loss()])))
        arrived.append(_build_ghost_loss())
        arrived += arrived[:1]
    if may_interrupt and data.draw(st.integers(0, 31)) == 31:
        swaps = (
            Swap(seat=asks[0].seat, platform="script:other"),
            Swap(seat=GHOST, platform="script:other"),
        )
        arrived.append(SessionForked(source=_SESSION, entry=len(before), swaps=swaps))
    return arrived or [SeatLost(ask=asks[0].id, seat=asks[0].seat, reason="timeout")]


def _refuse_alternative(
    contract: RulebookContract[S], snapshot: Snapshot, ask: Ask, fact: Fact
) -> Fact:
    """What is given in place of an answer is a loss where the brief does not take it, as the engine has it."""
    instead = contract.rules.forms[ask.kind].instead
    if instead is None or not isinstance(fact, instead.reply):
        return fact
    fault = contract.rules.brief(snapshot.state, ask).fault(fact.said)
    return (
        fact
        if fault is None
        else SeatLost(ask=ask.id, seat=ask.seat, reason="malformed", cause=Cause(words=fault))
    )


def _build_ghost_loss() -> SeatLost:
    return SeatLost(ask=AskId("1.any.ghost"), seat=GHOST, reason="error")


def _check_step(before: Snapshot, arrived: Sequence[Fact], written: Sequence[Entry]) -> None:
    answered = [entry.fact.ask for entry in written if isinstance(entry.fact, Reply | SeatLost)]
    assert len(answered) == len(set(answered)), "an ask was answered twice"
    assert set(answered) <= set(before.session_state.pending), (
        "an answer to nothing that was asked was taken"
    )
    assert len(answered) <= len(arrived)


def check_session(contract: RulebookContract[S], data: st.DataObject) -> PlayedSession:
    """Play one session and hold it against every promise; the session, for promises of the protocol's own."""
    played = play_session(contract, data)
    check_asks(contract, played)
    check_folding(contract, played, data.draw(st.integers(1, len(played.entries))))
    check_evolving(contract, played, data.draw(st.integers(1, len(played.entries))))
    check_codec(contract, played)
    return played


def check_asks(contract: RulebookContract[S], played: PlayedSession) -> None:
    """Deciding twice is equal; asks go to seats, to each once at a time, under ids of their own; the closed ask for nothing."""
    rules = contract.rules
    seats = {DIRECTOR.id, *(seat.id for seat in played.opened.seats)}
    known: dict[AskId, Ask] = {}
    prompts: dict[AskId, tuple[object, ...]] = {}
    checked: set[tuple[str, int]] = set()
    settled: set[AskId] = set()
    state = rules.initial(played.opened)
    for entry in played.entries:
        if entry.seq > 1:
            state = rules.evolve(state, entry)
        settled |= _find_settled_asks(entry.fact)
        effects = rules.decide(state)
        assert effects == rules.decide(state), "deciding twice differs"
        asks = [effect for effect in effects if isinstance(effect, Ask)]
        asked = [ask.seat for ask in asks]
        assert set(asked) <= seats, f"asked someone who does not sit here: {asked}"
        assert len(asked) == len(set(asked)), f"asked one seat twice at once: {asked}"
        if isinstance(entry.fact, Closed):
            assert effects == (), f"asked for something after the close: {effects}"
        for ask in asks:
            assert ask.id not in settled, f"{ask.id!r} was settled, and is asked again"
            if ask.id not in known or not isinstance(entry.fact, Reply | SeatLost):
                brief = rules.brief(state, ask)
                prompt = (
                    brief.system,
                    brief.shared,
                    brief.own,
                    brief.probe,
                    brief.subject,
                    brief.schema,
                    brief.fills,
                )
                # What is asked in the same words as before is read as before.
                if prompts.get(ask.id) != prompt:
                    _check_brief(contract, state, ask, brief)
                    prompts[ask.id] = prompt
            # Once for each kind and turn: the seats of one turn are asked in the same form.
            if (ask.kind, ask.turn) not in checked:
                checked.add((ask.kind, ask.turn))
                check_schema(rules.brief(state, ask))
            assert known.setdefault(ask.id, ask) == ask, f"{ask.id!r} was used for two questions"


def _find_settled_asks(fact: Fact) -> set[AskId]:
    match fact:
        case Reply(ask=ask) | SeatLost(ask=ask):
            return {ask}
        case AsksWithdrawn(asks=asks):
            return set(asks)
        case _:
            return set()


def _check_brief(contract: RulebookContract[S], state: S, ask: Ask, brief: Brief) -> None:
    assert (brief.ask, brief.seat.id, brief.form) == (ask, ask.seat, contract.rules.forms[ask.kind])
    size = sum(
        len(part) for part in (brief.system, brief.shared, brief.own, brief.probe, brief.subject)
    )
    assert 0 < size <= contract.longest_brief, f"the brief of {ask.id!r} has {size} characters"
    _check_answer_rules(contract.rules, state, brief)


def _check_answer_rules(rules: Rulebook[S], state: S, brief: Brief) -> None:
    """An answer is read in the same way with the brief and, where the rulebook has them, with its answer rules alone."""
    build = getattr(rules, "answer_rules", None)
    if build is None:
        return
    alone: AnswerRules = build(state, brief.ask)
    assert (alone.form, alone.fills, alone.person is None) == (
        brief.form,
        brief.fills,
        brief.person is None,
    )
    schema = get_own_schema(brief)
    value = draw_value(schema, Random(f"{brief.ask.id} {json.dumps(schema, sort_keys=True)}"))  # noqa: S311
    # Form and filled fields are equal: both parse it in the same way, so that it is parsed once.
    said = _try_to_parse(
        brief.form, value, {**brief.fills, **value} if isinstance(value, dict) else value
    )
    plain = AnswerRules(**{each.name: getattr(brief, each.name) for each in fields(AnswerRules)})
    assert _try_to_read(alone, said) == _try_to_read(plain, said)


def _try_to_parse(form: AnswerForm, value: object, whole: object) -> object:
    try:
        said = parse_answer(form, whole)
    except BadAnswer:
        return value
    return said if isinstance(said, form.shape) else value


def _try_to_read(rules: AnswerRules, value: object) -> Reading | str:
    try:
        return read_answer(rules, value, is_strict=True)
    except BadAnswer as refused:
        return str(refused)


def check_schema(brief: Brief) -> None:
    """M-1: what fits the schema of an ask is taken as it is, from whoever comes, as JSON and as text."""
    schema = get_own_schema(brief)
    random = Random(f"{brief.ask.id} {json.dumps(schema, sort_keys=True)}")  # noqa: S311
    value = draw_value(schema, random)
    text = json.dumps(value, ensure_ascii=False)
    for raw in (value, text) if len(text) <= MAX_ANSWER_LENGTH else (value,):
        read = read_answer(brief, raw, is_strict=brief.seat.is_outside)
        # Of the entries in a range, those that were not shown are left out.
        lost = [
            note
            for note in read.mends
            if note.startswith(("left_out", "cut")) and "entries" not in note
        ]
        assert not lost, f"{brief.ask.id!r} was changed to be read: {lost} of {raw}"


def check_folding(contract: RulebookContract[S], played: PlayedSession, at: int) -> None:
    """Folding in two parts equals folding at once."""
    rules = contract.rules
    state = fold(rules, played.opened, played.entries[1:at])
    for entry in played.entries[max(1, at) :]:
        state = rules.evolve(state, entry)
    assert state == fold(rules, played.opened, played.entries[1:]) == played.snapshot.state


def check_evolving(contract: RulebookContract[S], played: PlayedSession, at: int) -> None:
    """Evolving never raises, whatever the entry, and leaves the state that it was given as it was."""
    rules = contract.rules
    state = fold(rules, played.opened, played.entries[1:at])
    again = fold(rules, played.opened, played.entries[1:at])
    for number, fact in enumerate(build_stray_facts(played), at + 1):
        rules.evolve(state, Entry(seq=number, at=START, fact=fact))
    assert state == again, "evolving changed the state in place"
    for number, fact in enumerate(build_stray_facts(played), at + 1):
        state = rules.evolve(state, Entry(seq=number, at=START, fact=fact))


def build_stray_facts(played: PlayedSession) -> list[Fact]:
    """Facts out of their place: all of the session's own again, from nobody, with nothing sensible in them, and core facts."""
    own = [entry.fact for entry in played.entries]
    replies = [fact for fact in own if isinstance(fact, Reply)]
    return [
        *(replace(fact, seat=GHOST) for fact in replies),
        *(replace(fact, ask=AskId("no such ask")) for fact in replies),
        *(replace(fact, said=None) for fact in replies),
        *(
            replace(fact, **_find_impossible_values(fact))
            for fact in own
            if _find_impossible_values(fact)
        ),
        AsksSent(asks=(AskId(""),)),
        AsksWithdrawn(asks=(AskId("."),)),
        _build_ghost_loss(),
        InputGiven(text=""),
        BudgetExhausted(budget="tokens", spent=9, limit=9),
        SessionForked(source=_SESSION, entry=10**9, swaps=(Swap(seat=GHOST, platform=""),)),
        SessionParked(causes=(), seats=(GHOST,)),
        SeatsSwapped(swaps=(Swap(seat=GHOST, platform=""),)),
        FamilyStated(seat=GHOST, family="claude"),
        *own,
        SessionImported(conclusion="null"),
        SessionCancelled(),
        *own,
    ]


def _find_impossible_values(fact: Fact) -> dict[str, Any]:
    """The fact's own seat and numbers, made impossible."""
    if isinstance(fact, Reply | Opened) or not is_dataclass(fact):
        return {}
    values = {each.name: getattr(fact, each.name) for each in fields(fact)}
    ghosts = {name: GHOST for name in values if name == "seat"}
    return ghosts | {name: -1 for name, value in values.items() if type(value) is int}


def check_codec(contract: RulebookContract[S], played: PlayedSession) -> None:
    """Every fact survives its stored form, and has one stored form only."""
    codec = FactCodec(contract.rules.kinds)
    for entry in played.entries:
        body = codec.encode(entry.fact)
        read = codec.decode(body)
        assert read == entry.fact, f"{entry.fact} came back as {read}"
        assert codec.encode(read) == body
