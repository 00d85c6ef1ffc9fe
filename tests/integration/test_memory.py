"""D-13 to D-17 on real ledgers: what is remembered survives a restart, and two who write at once lose nothing."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from moothall.codec.chain import find_chain_fault
from moothall.domain.facts import Entry, Fact
from moothall.domain.ids import SessionId
from moothall.errors import (
    BadName,
    BadSetting,
    KeyReused,
    LedgerDamaged,
    UnknownDecision,
    UnknownThread,
)
from moothall.ledgers.memory import MemoryLedger
from moothall.ledgers.sqlite import SqliteLedger
from moothall.memory.decision_memory import DecisionMemory
from moothall.memory.facts import (
    MEMORY_KINDS,
    DecisionRecorded,
    Member,
    Outcome,
    Policy,
    ThreadCreated,
)
from moothall.memory.register import PAGE, Register
from moothall.ports.ledger import Ledger
from moothall_testkit.ledger_scenes import expect_error, run_with_deadline

START = datetime(2025, 3, 1, tzinfo=UTC)
NAME = SessionId("_memory")
Opening = Callable[[], AbstractAsyncContextManager[Ledger]]


class Hands:
    """A clock whose hands the test moves."""

    def __init__(self, at: datetime = START) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def pass_by(self, **time: float) -> None:
        self.at += timedelta(**time)


@pytest.fixture(params=["memory", "sqlite"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """Opens the same ledger each time."""
    if request.param == "sqlite":
        return lambda: SqliteLedger(tmp_path / "ledger.sqlite")
    one = MemoryLedger()

    @asynccontextmanager
    async def same() -> AsyncIterator[Ledger]:
        yield one

    return same


def over(
    opening: Opening,
    body: Callable[[Ledger, Hands], Coroutine[Any, Any, None]],
    hands: Hands | None = None,
) -> None:
    async def work() -> None:
        async with opening() as ledger:
            await body(ledger, hands or Hands())

    run_with_deadline(work())


def decision(name: str = "s1", **fields: Any) -> DecisionRecorded:
    given: dict[str, Any] = {
        "session": name,
        "protocol": "debate",
        "topic": "Which database should we use for billing?",
        "category": "architecture",
        "text": "Use SQLite.",
        "choice": "sqlite",
        "options": ("sqlite", "postgres"),
        "confidence": 0.8,
        "members": (
            Member(
                source="m:ada",
                seat="ada",
                first_choice="sqlite",
                position="support",
                confidence=0.9,
            ),
            Member(
                source="m:bob",
                seat="bob",
                first_choice="postgres",
                position="oppose",
                confidence=0.7,
            ),
        ),
        "search_text": "ada: SQLite is enough for one machine. bob: 我们需要复制。",
        "opened_at": START,
        "closed_at": START,
    }
    return DecisionRecorded(**{**given, **fields})


BOTH = tuple(
    Member(source=name, seat=name, position="support", confidence=0.9) for name in ("cay", "dan")
)
"""Two who stood behind a decision together."""


def test_what_was_kept_and_reviewed_survives_a_reopen(opening: Opening) -> None:
    async def first(ledger: Ledger, hands: Hands) -> None:
        memory = DecisionMemory(ledger, hands)
        await memory.keep(decision())
        await memory.review("s1", "failure", note="lost data", by="eve")
        hands.pass_by(days=1)
        await memory.review("s1", "success", by="ada")

    async def second(ledger: Ledger, hands: Hands) -> None:
        memory = DecisionMemory(ledger, hands)
        kept = await memory.get("s1")
        assert kept is not None
        # What was argued is for search, which reads it from the ledger.
        assert kept.record == replace(decision(), search_text="")
        assert [(review.outcome, review.by, review.note) for review in kept.reviews] == [
            ("failure", "eve", "lost data"),
            ("success", "ada", ""),
        ]
        assert kept.outcome == "success"
        standings = await memory.compute_standings(["m:ada", "m:bob", "m:new"], "architecture")
        assert standings["m:ada"].trust > standings["m:new"].trust == 0.5 > standings["m:bob"].trust
        assert [(one.source, one.cases) for one in await memory.sources()] == [
            ("m:ada", 1),
            ("m:bob", 1),
        ]
        assert await memory.pair_correlations(["m:ada", "m:bob"]) == {("m:ada", "m:bob"): (1, None)}
        (figures,) = await memory.amplification()
        assert (figures.protocol, figures.cases, figures.group.right, figures.members_right) == (
            "debate",
            1,
            1,
            1,
        )
        assert find_chain_fault(NAME, await ledger.read(NAME)) is None

    over(opening, first)
    over(opening, second)


def test_keeping_twice_is_keeping_once(opening: Opening) -> None:
    async def body(ledger: Ledger, hands: Hands) -> None:
        memory = DecisionMemory(ledger, hands)
        first = await memory.keep(decision())
        assert await memory.keep(decision()) == first
        assert await DecisionMemory(ledger, hands).keep(decision(text="Something else.")) == first
        assert len(await ledger.read(NAME)) == 1
        assert await memory.get("s1")
        assert await memory.get("s2") is None

    over(opening, body)


def test_two_who_write_at_once_lose_nothing(opening: Opening) -> None:
    async def body(ledger: Ledger, hands: Hands) -> None:
        async with opening() as other:
            one, two = DecisionMemory(ledger, hands), DecisionMemory(other, hands)
            names = [f"s{number}" for number in range(40)]
            async with asyncio.TaskGroup() as group:
                for number, name in enumerate(names):
                    group.create_task((one, two)[number % 2].keep(decision(name)))
                    group.create_task((two, one)[number % 2].keep(decision(name)))
            for memory in (one, two):
                assert {kept.decision for kept in await memory.list_decisions(limit=100)} == set(
                    names
                )
            records = await ledger.read(NAME)
            assert len(records) == 40
            assert find_chain_fault(NAME, records) is None

    over(opening, body)


def test_of_two_probes_at_once_one_goes(opening: Opening) -> None:
    async def body(ledger: Ledger, hands: Hands) -> None:
        async with opening() as other:
            one, two = DecisionMemory(ledger, hands), DecisionMemory(other, hands)
            await one.change_policy({"failures": 1, "stakes_sources": 2}, by="eve")
            await one.keep(decision(members=BOTH))
            await one.review("s1", "failure")
            hands.pass_by(hours=2)
            tries = await asyncio.gather(
                *(
                    memory.decide_alone(f"a{number}", "Now?", "Yes.", 0.9)
                    for memory in (one, two)
                    for number in range(3)
                )
            )
            assert sorted(result.is_allowed for result in tries) == [False] * 5 + [True]

    over(opening, body)


def test_a_breaker_stands_after_a_restart_and_its_probe_closes_it(opening: Opening) -> None:
    hands = Hands()

    async def failing(ledger: Ledger, hands: Hands) -> None:
        memory = DecisionMemory(ledger, hands)
        for name in ("s1", "s2", "s3"):
            await memory.keep(decision(name, members=BOTH))
            await memory.review(name, "failure")
        blocked = await memory.decide_alone(
            "ada",
            "Which cache?",
            "Redis.",
            0.9,
            category="Architecture",
            key="k",
            deliberation="think_1",
        )
        assert not blocked.is_allowed
        assert blocked.scopes == ("category:architecture",)
        assert blocked.deliberation == "think_1"
        assert (
            await memory.decide_alone(
                "ada", "Which cache?", "Redis.", 0.9, category="Architecture", key="k"
            )
            == blocked
        )
        with pytest.raises(KeyReused):
            await memory.decide_alone("ada", "Which colour?", "Red.", 0.9, key="k")

    async def probing(ledger: Ledger, hands: Hands) -> None:
        memory = DecisionMemory(ledger, hands)
        assert (await memory.circuit("category:architecture")).state == "open"
        hands.pass_by(hours=1)
        assert {one.scope: one.state for one in await memory.breakers()} == {
            "category:architecture": "half_open",
            "global": "closed",
            "stakes:medium": "closed",
        }
        probe = await memory.decide_alone(
            "ada", "Which cache?", "Redis.", 0.9, category="architecture"
        )
        assert (probe.decision, probe.probes) == ("alone.1", ("category:architecture",))
        await memory.review(probe.decision, "success")
        assert [(one.scope, one.state) for one in await memory.breakers()] == [
            ("global", "closed"),
            ("stakes:medium", "closed"),
        ]
        assert (await memory.decide_alone("ada", "And now?", "Yes.", 0.9)).decision == "alone.2"

    over(opening, failing, hands)
    over(opening, probing, hands)


def test_rules_block_and_a_reset_closes() -> None:
    async def work() -> None:
        memory = DecisionMemory(MemoryLedger(), Hands())
        blocked = await memory.decide_alone("ada", "Launch?", "Yes.", 0.3, stakes="critical")
        assert (blocked.scopes, len(blocked.rules)) == ((), 2)
        assert (
            await memory.change_policy({"failures": 1})
            == await memory.policy()
            == Policy(failures=1)
        )
        taken = await memory.decide_alone("ada", "Tea?", "Yes.", 0.3, tags=["drinks"])
        await memory.review(taken.decision, "abandoned")
        assert [one.scope for one in await memory.breakers()] == [
            "agent:ada",
            "global",
            "stakes:medium",
            "tag:drinks",
        ]
        assert [one.scope for one in await memory.breakers() if one.state != "closed"] == [
            "agent:ada"
        ]
        assert (await memory.reset_circuit("agent:ADA", by="eve")).state == "closed"
        assert [one.scope for one in await memory.breakers()] == [
            "global",
            "stakes:medium",
            "tag:drinks",
        ]

    run_with_deadline(work())


def test_a_group_counts_in_the_agent_scope_only_where_one_stood_behind_it() -> None:
    """D-17: two who agreed are two sources; one whom the other opposed failed alone, and stops nobody else."""

    async def work() -> None:
        memory = DecisionMemory(MemoryLedger(), Hands())
        await memory.change_policy({"failures": 1, "stakes_sources": 2, "global_sources": 3})
        await memory.keep(decision(members=BOTH))
        await memory.review("s1", "failure")
        opened = [one.scope for one in await memory.breakers() if one.state == "open"]
        assert opened == ["category:architecture", "stakes:medium"]
        await memory.keep(decision("s2", category="elsewhere", stakes="low"))
        await memory.review("s2", "failure")
        opened = [one.scope for one in await memory.breakers() if one.state == "open"]
        assert opened == ["agent:m:ada", "category:architecture", "global", "stakes:medium"]

    run_with_deadline(work())


def test_decisions_are_searched_and_like_topics_offered(opening: Opening) -> None:
    async def body(ledger: Ledger, hands: Hands) -> None:
        memory = DecisionMemory(ledger, hands)
        await memory.keep(decision("s1"))
        await memory.keep(
            decision(
                "s2",
                topic="Should we hire a designer?",
                text="Yes.",
                search_text="",
                choice="",
                options=(),
            )
        )
        assert [hit.decision for hit in await memory.search("复制")] == ["s1"]
        assert "复制" in (await memory.search("复制"))[0].snippet
        assert await memory.search("复制", category="people") == []
        assert [
            hit.decision
            for hit in await memory.find_similar("Which database for the billing service?")
        ] == ["s1"]
        assert await memory.find_similar("What is for lunch?") == []
        await memory.keep(decision("s3", search_text="A kestrel."))
        assert [hit.decision for hit in await memory.search("kestrel")] == ["s3"]

    over(opening, body)


def test_an_excerpt_comes_from_whatever_field_has_the_word(opening: Opening) -> None:
    """D-16: of a decision by a group or alone, each text that is searched is shown where it is found."""
    texts: dict[str, Any] = {
        "topic": "Where do kestrels nest?",
        "text": "In a walnut.",
        "choice": "harbour",
        "options": ("meadow", "glacier"),
        "dissent": ("a volcano",),
        "open_questions": ("Which comet?",),
        "tags": ("tag lantern",),
        "category": "orchard",
        "search_text": "bob: a thicket.",
    }

    async def body(ledger: Ledger, hands: Hands) -> None:
        memory = DecisionMemory(ledger, hands)
        await memory.keep(decision("s1", **texts))
        done = await memory.decide_alone(
            "ada", "Which pebble?", "The marble one.", 0.9, category="quarry", tags=("tag spruce",)
        )
        words = [
            "kestrels",
            "walnut",
            "harbour",
            "meadow",
            "glacier",
            "volcano",
            "comet",
            "lantern",
            "orchard",
            "thicket",
        ]
        for word in (*words, "pebble", "marble", "quarry", "spruce"):
            (hit,) = await memory.search(word)
            assert hit.decision == ("s1" if word in words else done.decision)
            assert word in hit.snippet

    over(opening, body)


def test_decisions_are_listed_newest_first_by_what_is_asked_for() -> None:
    async def work() -> None:
        memory = DecisionMemory(MemoryLedger(), Hands())
        for number in range(1, 5):
            await memory.keep(
                decision(f"s{number}", protocol="debate" if number % 2 else "consensus")
            )
        await memory.decide_alone("ada", "Tea?", "Yes.", 0.5, category="Drinks")
        await memory.review("s2", "success")

        async def named(**filters: Any) -> list[str]:
            return [kept.decision for kept in await memory.list_decisions(**filters)]

        assert await named() == ["alone.1", "s4", "s3", "s2", "s1"]
        assert await named(limit=2, before="s4") == ["s3", "s2"]
        assert await named(protocol="consensus") == ["s4", "s2"]
        assert await named(outcome="success") == ["s2"]
        assert await named(outcome="unreviewed", category="architecture") == ["s4", "s3", "s1"]
        assert await named(source="ada") == ["alone.1"]
        assert await named(category="drinks") == ["alone.1"]
        await expect_error(UnknownDecision, memory.list_decisions(before="nope"))

    run_with_deadline(work())


def test_a_chain_shows_both_directions_and_a_failed_ancestor() -> None:
    async def work() -> None:
        memory = DecisionMemory(MemoryLedger(), Hands())
        await memory.keep(decision("s1", built_on=("s3", "gone")))
        await memory.keep(decision("s2", built_on=("s1",)))
        await memory.keep(decision("s3", built_on=("s2",)))
        top = await memory.decide_alone("ada", "Go on?", "Yes.", 0.7, built_on=["s2"])
        await memory.review("s1", "failure")
        found = await memory.find_lineage(top.decision)
        assert [
            (link.decision_id, link.steps, link.outcome, link.is_known) for link in found.built_on
        ] == [
            ("s2", 1, None, True),
            ("s1", 2, "failure", True),
            ("s3", 3, None, True),
            ("gone", 3, None, False),
        ]
        assert (found.failed, found.stands_on_failure, found.basis_of) == (("s1",), True, ())
        assert [link.decision_id for link in (await memory.find_lineage("s1")).basis_of] == [
            "s2",
            "s3",
            top.decision,
        ]
        await expect_error(UnknownDecision, memory.find_lineage("nope"))
        await expect_error(
            UnknownDecision, memory.decide_alone("ada", "Go on?", "Yes.", 0.7, built_on=["nope"])
        )

    run_with_deadline(work())


def test_a_review_is_refused_when_it_cannot_be_true() -> None:
    async def work() -> None:
        ledger = MemoryLedger()
        memory = DecisionMemory(ledger, Hands())
        await memory.keep(decision())
        await expect_error(UnknownDecision, memory.review("nope", "success"))
        await expect_error(BadSetting, memory.review("s1", "success", choice="postgres"))
        await expect_error(BadSetting, memory.review("s1", "failure", choice=" SQLite"))
        nonsense: Any = "splendid"
        assert "known: success, partial" in str(
            await expect_error(BadSetting, memory.review("s1", nonsense))
        )
        await memory.review("s1", "failure", choice="postgres", key="k")
        await memory.review("s1", "failure", choice="postgres", key="k")
        await expect_error(KeyReused, memory.review("s1", "success", key="k"))
        # The decision, its review, and the key that the review took.
        assert len(await ledger.read(NAME)) == 3

    run_with_deadline(work())


@pytest.mark.parametrize(
    "fields",
    [
        {"topic": " "},
        {"topic": "x" * 4_001},
        {"topic": "half \ud800"},
        {"decided": ""},
        {"confidence": 1.01},
        {"confidence": float("nan")},
        {"confidence": True},
        {"confidence": "0.5"},
        {"source": ""},
        {"source": "a\nb"},
        {"category": "x" * 101},
        {"stakes": "enormous"},
        {"tags": ["ok", ""]},
        {"tags": "abc"},
    ],
)
def test_malformed_values_are_refused_and_nothing_is_written(fields: dict[str, Any]) -> None:
    async def work() -> None:
        ledger = MemoryLedger()
        given = {"source": "ada", "topic": "Tea?", "decided": "Yes.", "confidence": 0.5, **fields}
        await expect_error(BadSetting, DecisionMemory(ledger, Hands()).decide_alone(**given))
        assert await ledger.read(NAME) == []

    run_with_deadline(work())


@pytest.mark.parametrize(
    "fields",
    [
        {"topic": ""},
        {"confidence": float("nan")},
        {"text": "x" * 100_001},
        {"opened_at": datetime(2025, 3, 1)},
        {"members": (Member(source="a", seat="a", confidence=-0.1),)},
        {"stakes": "enormous"},
    ],
)
def test_a_malformed_decision_is_not_kept(fields: dict[str, Any]) -> None:
    async def work() -> None:
        ledger = MemoryLedger()
        await expect_error(BadSetting, DecisionMemory(ledger, Hands()).keep(decision(**fields)))
        await expect_error(BadName, DecisionMemory(ledger, Hands()).keep(decision("_memory")))
        assert await ledger.read(NAME) == []

    run_with_deadline(work())


def test_a_thread_is_followed_over_days_and_restarts(opening: Opening) -> None:
    hands = Hands()

    async def monday(ledger: Ledger, hands: Hands) -> None:
        memory = DecisionMemory(ledger, hands)
        created = await memory.create_thread("Storage", category="architecture", by="ada")
        assert created.thread == "thread-1"
        assert (await memory.create_thread("Other", thread="mine")).thread == "mine"
        assert (await memory.create_thread("Other", thread="mine")).happenings == 1
        await expect_error(KeyReused, memory.create_thread("Third", thread="mine"))
        await memory.join_thread("thread-1", "s1")
        first = await memory.resume_thread("thread-1", "bob")
        assert ([one.kind for one in first.missed], first.last_visit) == (
            ["created", "joined"],
            None,
        )
        await memory.set_thread_status("thread-1", "paused", note="weekend", by="ada")

    async def friday(ledger: Ledger, hands: Hands) -> None:
        memory = DecisionMemory(ledger, hands)
        await memory.keep(decision("s1", open_questions=("And backups?",)))
        asked = await memory.ask_in_thread("thread-1", "And costs?", by="ada")
        assert [question.number for question in asked.open_questions] == [1, 2]
        assert await memory.ask_in_thread("thread-1", "And costs?", by="bob") == asked
        await memory.settle_question("thread-1", 1, by="ada")
        found = await memory.resume_thread("thread-1", "bob")
        assert found.last_visit == START
        assert [one.kind for one in found.missed] == [
            "status",
            "decided",
            "asked",
            "asked",
            "settled",
        ]
        assert (found.view.status, [one.text for one in found.view.open_questions]) == (
            "active",
            ["And costs?"],
        )
        assert [(one.decision_id, one.decision) for one in found.view.decisions] == [
            ("s1", "Use SQLite.")
        ]
        assert (await memory.resume_thread("thread-1", "bob")).missed == ()
        assert [view.thread for view in await memory.threads()] == ["thread-1", "mine"]
        await expect_error(UnknownThread, memory.thread_status("nope"))
        await expect_error(UnknownThread, memory.resume_thread("nope", "bob"))
        await expect_error(BadSetting, memory.settle_question("thread-1", 9))

    over(opening, monday, hands)
    hands.pass_by(days=4)
    over(opening, friday, hands)


def test_a_register_checks_the_chain_as_it_reads() -> None:
    async def work() -> None:
        ledger = MemoryLedger()
        await DecisionMemory(ledger, Hands()).keep(decision())
        (record,) = await ledger.read(NAME)
        forged = MemoryLedger()
        await forged.append(NAME, [record._replace(body=record.body.replace(b"SQLite", b"Oracle"))])
        error = await expect_error(LedgerDamaged, DecisionMemory(forged, Hands()).get("s1"))
        assert "entry 1 was changed" in str(error)

    run_with_deadline(work())


def titles(state: tuple[str, ...], entry: Entry) -> tuple[str, ...]:
    assert isinstance(entry.fact, ThreadCreated)
    return (*state, entry.fact.title)


def register(ledger: Ledger, hands: Hands) -> Register[tuple[str, ...]]:
    return Register(ledger, hands, "_test", kinds=MEMORY_KINDS, initial=(), evolve=titles)


def created(title: str) -> Fact:
    return ThreadCreated(thread=title, title=title)


def test_time_never_runs_backwards_in_a_register() -> None:
    async def work() -> None:
        ledger, hands = MemoryLedger(), Hands()
        one = register(ledger, hands)
        await one.append(lambda _: [created("a")])
        hands.pass_by(days=-3)
        await one.append(lambda _: [created("b")])
        times = [record.at for record in await ledger.read(SessionId("_test"))]
        assert times[0] == times[1]

    run_with_deadline(work())


def test_choosing_nothing_writes_nothing_and_an_error_leaves_the_register_as_it_was() -> None:
    async def work() -> None:
        ledger = MemoryLedger()
        one = register(ledger, Hands())
        assert await one.append(lambda _: []) == ()

        def refuse(_: tuple[str, ...]) -> list[Fact]:
            raise BadSetting("no")

        await expect_error(BadSetting, one.append(refuse))
        assert await one.append(lambda _: [created("a"), created("b")]) == ("a", "b")
        assert await register(ledger, Hands()).state() == ("a", "b")

    run_with_deadline(work())


def test_who_comes_second_chooses_anew() -> None:
    async def work() -> None:
        ledger = MemoryLedger()
        one, two = register(ledger, Hands()), register(ledger, Hands())
        seen: list[tuple[str, ...]] = []

        def number(state: tuple[str, ...]) -> list[Fact]:
            seen.append(state)
            return [created(str(len(state) + 1))]

        await asyncio.gather(*(who.append(number) for who in (one, two) for _ in range(10)))
        assert (
            await one.state() == await two.state() == tuple(str(number) for number in range(1, 21))
        )

    run_with_deadline(work())


def test_a_long_register_is_read_page_by_page() -> None:
    async def work() -> None:
        ledger = MemoryLedger()
        await register(ledger, Hands()).append(
            lambda _: [created(str(number)) for number in range(2 * PAGE)]
        )
        assert len(await register(ledger, Hands()).state()) == 2 * PAGE

    run_with_deadline(work())


def test_a_register_cannot_have_the_name_of_a_session() -> None:
    nothing: tuple[str, ...] = ()
    with pytest.raises(BadName, match="must begin with '_'"):
        Register(
            MemoryLedger(), Hands(), "memory", kinds=MEMORY_KINDS, initial=nothing, evolve=titles
        )


@pytest.mark.parametrize("outcome", ["success", "partial", "failure", "abandoned"])
def test_every_outcome_can_be_reviewed(outcome: Outcome) -> None:
    async def work() -> None:
        memory = DecisionMemory(MemoryLedger(), Hands())
        await memory.keep(decision())
        assert (await memory.review("s1", outcome)).outcome == outcome

    run_with_deadline(work())


def test_two_processes_with_one_key_write_once(opening: Opening) -> None:
    """D-17: the key is taken together with what it wrote; both get the first result, a third with other words gets none."""

    async def body(ledger: Ledger, hands: Hands) -> None:
        async with opening() as other:
            both = DecisionMemory(ledger, hands), DecisionMemory(other, hands)
            made = await asyncio.gather(
                *(
                    memory.create_thread("Long", by="eve", key="k")
                    for memory in both
                    for _ in range(3)
                )
            )
            assert {view.thread for view in made} == {"thread-1"}
            told = await asyncio.gather(
                *(memory.decide_alone("ada", "?", "!", 0.9, key="k") for memory in both)
            )
            assert [found.decision for found in told] == ["alone.1", "alone.1"]
            await expect_error(KeyReused, both[1].create_thread("Short", by="eve", key="k"))
            assert (await both[1].create_thread("Short", by="dan", key="k")).thread == "thread-2"

    over(opening, body)


def test_a_repeated_reset_does_not_close_what_opened_since() -> None:
    """D-17: the key of the first reset is spent."""

    async def work() -> None:
        memory = DecisionMemory(MemoryLedger(), Hands())
        await memory.change_policy({"failures": 1})
        for number in (1, 2):
            taken = await memory.decide_alone("ada", "Tea?", "Yes.", 0.9)
            await memory.review(taken.decision, "failure")
            assert (await memory.circuit("agent:ada")).state == "open"
            found = await memory.reset_circuit("agent:ada", by="eve", key="once")
            assert found.state == ("closed" if number == 1 else "open")

    run_with_deadline(work())
