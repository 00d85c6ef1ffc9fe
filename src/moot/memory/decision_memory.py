"""Decision memory: what was decided, how it turned out, and what follows from that (D-13 to D-17).

A thin service: every answer is a fold of the register `_memory`, computed by the modules beside this one.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import combinations
from typing import Final, Literal, TypeVar

from moot.domain.facts import Fact
from moot.domain.ids import parse_session_id
from moot.domain.topic import Stakes, normalize_label
from moot.memory import amplification, breakers, lineage, threads, track_records, validation
from moot.memory.amplification import Amplification
from moot.memory.breakers import CircuitView, Policy
from moot.memory.commands import (
    SoloResult,
    build_review_facts,
    build_settlement_facts,
    build_solo_facts,
    build_thread_facts,
    get_decision,
    get_thread,
    has_open_question,
)
from moot.memory.facts import (
    MEMORY_KINDS,
    CircuitReset,
    DecisionKept,
    Outcome,
    OutcomeReviewed,
    PolicySet,
    SoloDecided,
    ThreadCreated,
    ThreadJoined,
    ThreadQuestioned,
    ThreadQuestionSettled,
    ThreadStatus,
    ThreadStatusSet,
    ThreadVisited,
)
from moot.memory.lineage import Lineage
from moot.memory.memory_state import MemoryState, evolve
from moot.memory.register import Register
from moot.memory.remembered_decision import RememberedDecision
from moot.memory.search import SearchHit
from moot.memory.threads import Thread, ThreadCatchUp, ThreadView
from moot.memory.track_records import SourceTrust
from moot.ports.clock import Clock
from moot.ports.ledger import Ledger

NAME: Final = "_memory"
UNREVIEWED: Final = "unreviewed"
BATCH: Final = 100
"""Decisions that are indexed before others may run."""

T = TypeVar("T")


class DecisionMemory:
    """One per process and ledger; several may write at once."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._clock = clock
        self._register = Register(ledger, clock, NAME, kinds=MEMORY_KINDS, initial=MemoryState(), evolve=evolve)

    # Decisions

    async def keep(self, fact: DecisionKept) -> RememberedDecision:
        """Remember what a session decided; one that is already kept stays as it is. Raises BadSetting or BadName."""
        validation.validate_decision(fact)
        book = await self._register.append(lambda book: () if fact.decision in book.decisions else (fact,))
        return book.decisions[fact.decision]

    async def has(self, decision: str) -> bool:
        return decision in (await self._register.state()).decisions

    async def get(self, decision: str) -> RememberedDecision | None:
        """A decision with all its reviews."""
        return (await self._register.state()).decisions.get(decision)

    async def list_decisions(
        self,
        *,
        category: str | None = None,
        protocol: str | None = None,
        outcome: Outcome | Literal["unreviewed"] | None = None,
        source: str | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[RememberedDecision]:
        """Decisions, newest first, from the one kept before `before` on; raises UnknownDecision."""
        validation.validate_count("limit", limit)
        if outcome is not None:
            validation.validate_choice("outcome", outcome, (*validation.OUTCOMES, UNREVIEWED))
        book = await self._register.state()
        found: list[RememberedDecision] = []
        end = len(book.order) if before is None else get_decision(book, before).number - 1
        for decision in reversed(book.order[:end]):
            kept = book.decisions[decision]
            if (
                (category is None or normalize_label(kept.record.category) == normalize_label(category))
                and (protocol is None or kept.record.protocol == protocol)
                and (outcome is None or (kept.outcome or UNREVIEWED) == outcome)
                and (source is None or source in kept.sources)
            ):
                found.append(kept)
            if len(found) == limit:
                break
        return found

    async def search(self, query: str, *, limit: int = 10, category: str | None = None) -> list[SearchHit]:
        """The decisions that hold what the query looks for, best first."""
        validation.validate_nonempty_text("query", query)
        validation.validate_count("limit", limit)
        book = await self._load_with_index()
        return book.index.search(query, limit, _build_category_filter(book, category))

    async def find_similar(self, topic: str, *, limit: int = 3, category: str | None = None) -> list[SearchHit]:
        """Earlier decisions on a like topic, best first; none when none is like it (D-16)."""
        validation.validate_nonempty_text("topic", topic, validation.LONGEST_TEXT)
        validation.validate_count("limit", limit)
        book = await self._load_with_index()
        return book.index.find_similar(topic, limit, _build_category_filter(book, category))

    async def find_lineage(self, decision: str) -> Lineage:
        """What a decision was built on, and what on it; raises UnknownDecision."""
        book = await self._register.state()
        return lineage.build_lineage(get_decision(book, decision).decision, book.decisions, book.children)

    # Outcomes

    async def review(
        self, decision: str, outcome: Outcome, *, choice: str = "", note: str = "", by: str = "", key: str = ""
    ) -> RememberedDecision:
        """Say how a decision turned out. A later review replaces an earlier one; the same `key` again counts once.

        Raises UnknownDecision, KeyReused, and BadSetting when outcome and choice contradict each other.
        """
        fact = OutcomeReviewed(
            decision=decision,
            outcome=validation.validate_choice("outcome", outcome, validation.OUTCOMES),
            choice=validation.validate_text("choice", choice),
            note=validation.validate_text("note", note),
            by=validation.validate_optional_name("by", by),
            key=validation.validate_optional_name("key", key),
        )
        book = await self._register.append(lambda book: build_review_facts(book, fact))
        return book.decisions[decision]

    async def decide_alone(
        self,
        source: str,
        topic: str,
        decided: str,
        confidence: float,
        *,
        category: str = "",
        stakes: Stakes = "medium",
        tags: Sequence[str] = (),
        built_on: Sequence[str] = (),
        key: str = "",
        deliberation: str = "",
    ) -> SoloResult:
        """Decide alone, or hear why not; either is recorded (D-17).

        `deliberation` is the session that will decide instead if it must. The same source with the same `key` gets the first
        result again. Raises UnknownDecision for what it is built on, KeyReused, BadSetting.
        """
        wanted = SoloDecided(
            decision="",
            source=validation.validate_name("source", source),
            topic=validation.validate_nonempty_text("topic", topic),
            decided=validation.validate_nonempty_text("decided", decided, validation.LONGEST_TEXT),
            confidence=validation.validate_share("confidence", confidence),
            category=validation.validate_optional_name("category", category),
            stakes=validation.validate_choice("stakes", stakes, validation.STAKES),
            tags=validation.validate_names("tags", tags),
            built_on=validation.validate_names("built on", built_on),
            key=validation.validate_optional_name("key", key),
        )
        if deliberation:
            parse_session_id(deliberation)
        return await self._record_facts(lambda book: build_solo_facts(book, wanted, deliberation, self._now(book)))

    # Trust

    async def source_trust(self, source: str, category: str | None = None) -> float:
        """The trust in a source, 0.5 for one without a record (D-14)."""
        return (await self.compute_trusts([source], category or ""))[source]

    async def compute_trusts(self, names: Sequence[str], category: str = "") -> dict[str, float]:
        """The trust in each of these sources."""
        book = await self._register.state()
        return {
            name: track_records.compute_source_trust(track_records.collect_scores(name, book.list_reviewed(name)), category)
            for name in names
        }

    async def sources(self) -> list[SourceTrust]:
        """The record of every source that has one, by name."""
        book = await self._register.state()
        found = (
            track_records.build_source_trust(name, track_records.collect_scores(name, book.list_reviewed(name)))
            for name in sorted(book.reviewed)
        )
        return [record for record in found if record.cases]

    async def pair_correlation(self, one: str, other: str) -> tuple[int, float | None]:
        """How many scored cases two sources share, and how much their errors go together."""
        book = await self._register.state()
        return track_records.compute_pair_correlation(
            track_records.collect_scores(one, book.list_reviewed(one)),
            track_records.collect_scores(other, book.list_reviewed(other)),
        )

    async def pair_correlations(self, names: Sequence[str]) -> dict[tuple[str, str], tuple[int, float | None]]:
        """`pair_correlation` of all pairs of these sources; each record is looked through once."""
        book = await self._register.state()
        scored = {name: track_records.collect_scores(name, book.list_reviewed(name)) for name in dict.fromkeys(names)}
        pairs = combinations(scored, 2)
        return {(one, other): track_records.compute_pair_correlation(scored[one], scored[other]) for one, other in pairs}

    async def amplification(self) -> tuple[Amplification, ...]:
        """Whether groups did better than their members alone, by protocol (D-15)."""
        return amplification.compute_amplification((await self._register.state()).decisions.values())

    # Threads

    async def create_thread(self, title: str, *, category: str = "", by: str = "", thread: str = "") -> ThreadView:
        """Begin a thread; without a name it is `thread-N`. The same name and title again is the same thread; raises KeyReused."""
        wanted = ThreadCreated(
            thread=validation.validate_optional_name("thread", thread),
            title=validation.validate_nonempty_text("title", title),
            category=validation.validate_optional_name("category", category),
            by=validation.validate_optional_name("by", by),
        )
        return await self.thread_status(await self._record_facts(lambda book: build_thread_facts(book, wanted)))

    async def join_thread(self, thread: str, decision: str) -> ThreadView:
        """Say that a session belongs to a thread, while it runs or later; raises UnknownThread."""
        fact = ThreadJoined(thread=thread, decision=validation.validate_name("decision", decision))
        return await self._record_in_thread(thread, lambda found: () if decision in found.decisions else (fact,))

    async def resume_thread(self, thread: str, seat: str) -> ThreadCatchUp:
        """Where a thread stands and what the seat has missed; the visit is recorded, a paused thread is active again."""
        validation.validate_name("seat", seat)
        visited = ThreadVisited(thread=thread, seat=seat)
        active = ThreadStatusSet(thread=thread, status="active", by=seat)

        def choose_visit(book: MemoryState) -> tuple[ThreadCatchUp, Sequence[Fact]]:
            found = get_thread(book, thread)
            return threads.build_catch_up(found, seat, book.decisions), (active, visited) if found.status == "paused" else (
                visited,
            )

        return replace(await self._record_facts(choose_visit), view=await self.thread_status(thread))

    async def thread_status(self, thread: str) -> ThreadView:
        """Where a thread stands; raises UnknownThread."""
        book = await self._register.state()
        return threads.build_thread_view(get_thread(book, thread), book.decisions)

    async def set_thread_status(self, thread: str, status: ThreadStatus, *, note: str = "", by: str = "") -> ThreadView:
        """Pause, complete, block or take up a thread; raises UnknownThread."""
        fact = ThreadStatusSet(
            thread=thread,
            status=validation.validate_choice("status", status, validation.STATUSES),
            note=validation.validate_text("note", note),
            by=validation.validate_optional_name("by", by),
        )
        return await self._record_in_thread(thread, lambda found: () if (found.status, found.note) == (status, note) else (fact,))

    async def ask_in_thread(self, thread: str, question: str, *, by: str = "") -> ThreadView:
        """Leave a question open in a thread; the same again while it is open is the same question."""
        fact = ThreadQuestioned(
            thread=thread,
            question=validation.validate_nonempty_text("question", question),
            by=validation.validate_optional_name("by", by),
        )
        return await self._record_in_thread(thread, lambda found: () if has_open_question(found, question) else (fact,))

    async def settle_question(self, thread: str, number: int, *, by: str = "") -> ThreadView:
        """Say that a question is answered; raises BadSetting when the thread has none of that number."""
        fact = ThreadQuestionSettled(thread=thread, question=number, by=validation.validate_optional_name("by", by))
        return await self._record_in_thread(thread, lambda found: build_settlement_facts(found, fact))

    async def threads(self) -> list[ThreadView]:
        """All threads, the one that changed last first."""
        book = await self._register.state()
        found = [threads.build_thread_view(thread, book.decisions) for thread in book.threads.threads.values()]
        return sorted(found, key=lambda view: view.changed_at, reverse=True)

    # Circuit breakers

    async def breakers(self) -> tuple[CircuitView, ...]:
        """Every circuit that is not closed or counts a failure."""
        book = await self._register.state()
        return breakers.list_circuit_views(book.breakers, self._now(book))

    async def circuit(self, scope: str) -> CircuitView:
        """How the circuit of a scope stands; raises BadSetting for what is no scope."""
        name = breakers.parse_scope(scope)
        book = await self._register.state()
        return breakers.build_circuit_view(book.breakers, name, self._now(book))

    async def reset_circuit(self, scope: str, *, by: str = "", note: str = "") -> CircuitView:
        """Close a circuit by hand and forget its failures; one of which nothing is known is left alone."""
        name = breakers.parse_scope(scope)
        fact = CircuitReset(
            scope=name, by=validation.validate_optional_name("by", by), note=validation.validate_text("note", note)
        )
        book = await self._register.append(lambda book: (fact,) if name in book.breakers.circuits else ())
        return breakers.build_circuit_view(book.breakers, name, self._now(book))

    async def set_policy(self, policy: Policy, *, by: str = "") -> Policy:
        """Change the rules from now on; raises BadSetting."""
        fact = PolicySet(policy=validation.validate_policy(policy), by=validation.validate_optional_name("by", by))
        book = await self._register.append(lambda book: () if book.breakers.policy == policy else (fact,))
        return book.breakers.policy

    async def policy(self) -> Policy:
        return (await self._register.state()).breakers.policy

    # How it is done

    async def _load_with_index(self) -> MemoryState:
        """The book with its search index up to date; others may run while a long one is made."""
        book = await self._register.state()
        for _ in book.index_in_batches(BATCH):
            await asyncio.sleep(0)
        return book

    def _now(self, book: MemoryState) -> datetime:
        """The time, never before the last entry."""
        now = self._clock.now()
        return now if book.at is None else max(now, book.at)

    async def _record_facts(self, choose: Callable[[MemoryState], tuple[T, Sequence[Fact]]]) -> T:
        """The result that goes with the facts that were appended."""
        results: list[T] = []

        def choose_facts(book: MemoryState) -> Sequence[Fact]:
            result, facts = choose(book)
            results.append(result)
            return facts

        await self._register.append(choose_facts)
        return results[-1]

    async def _record_in_thread(self, thread: str, choose: Callable[[Thread], Sequence[Fact]]) -> ThreadView:
        book = await self._register.append(lambda book: choose(get_thread(book, thread)))
        return threads.build_thread_view(book.threads.threads[thread], book.decisions)


def _build_category_filter(book: MemoryState, category: str | None) -> Callable[[str], bool]:
    if category is None:
        return lambda _: True
    return lambda decision: normalize_label(book.decisions[decision].record.category) == normalize_label(category)
