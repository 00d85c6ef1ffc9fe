"""Decision memory: what was decided, how it turned out, and what follows from that (D-13 to D-17).

A thin service: every answer is a fold of the register `_memory`, computed by the modules beside this one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from itertools import combinations, islice
from pathlib import Path
from statistics import median_low
from typing import Any, Final, Generic, Literal, TypeVar
from weakref import WeakValueDictionary

from moothall.domain.facts import Fact
from moothall.domain.ids import KeyedCall, parse_session_id
from moothall.domain.limits import Count, Share, validate_limits, validate_value
from moothall.domain.replace import dataclass
from moothall.domain.topic import Stakes, normalize_label
from moothall.engine.grouped_calls import GroupedCalls
from moothall.errors import BadSetting
from moothall.memory import breakers, facts, memory_state, threads, track_records
from moothall.memory.breakers import CircuitView, SoloRequest, validate_policy
from moothall.memory.decision_search import DecisionSearch
from moothall.memory.memory_state import ImportNote, MemoryState, evolve
from moothall.memory.register import Register
from moothall.memory.remembered_decision import (
    RememberedDecision,
    RememberedObligation,
    build_obligation_facts,
    list_obligations,
)
from moothall.memory.search import SearchHit, extract_query_terms, extract_terms
from moothall.memory.threads import Thread, ThreadCatchUp, ThreadView
from moothall.memory.track_records import Amplification, Lineage, SourceStanding, SourceTrust
from moothall.ports.ledger import Clock, Ledger
from moothall.ports.participant import MeaningIndex
from moothall.scoring.reliability import ReliabilityTable

NAME: Final = "_memory"
UNREVIEWED: Final = "unreviewed"
MIN_HABIT: Final = 3
"""From so many reviewed decisions on, the time until their review is the habit of a category."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded(Generic[T]):
    """The memory after a write, and its result; for a repeated one None, and what its first call stored of the result."""

    state: MemoryState
    result: T | None
    earlier: str


class DecisionMemory:
    """The memory of one ledger. One per process; several processes may write at the same time."""

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        meaning: MeaningIndex | None = None,
        index: Path | None = None,
    ) -> None:
        """`meaning` holds the topics by meaning; without it search is by words alone. `index` is the file of its index."""
        self._clock = clock
        self._search = DecisionSearch(ledger, clock, meaning, index)
        self._register = Register(
            ledger, clock, NAME, kinds=facts.MEMORY_KINDS, initial=MemoryState(), evolve=evolve
        )
        # Sessions that end at the same time share a read and an append.
        self._keeps = GroupedCalls(self._keep_all)
        self._tries: WeakValueDictionary[tuple[str, str, str], asyncio.Lock] = WeakValueDictionary()

    # Decisions

    async def keep(self, fact: facts.DecisionRecorded) -> RememberedDecision:
        """Remember what a session decided; an existing record stays unchanged. Raises BadSetting or BadName."""
        parse_session_id(fact.session)
        validate_limits(fact)
        # Before it joins others: what cannot be stored must not fail with them.
        self._register.check_fact(fact)
        return await self._keeps.call(fact)

    async def _keep_all(self, records: list[facts.DecisionRecorded]) -> list[RememberedDecision]:
        given = dict[str, facts.DecisionRecorded]()
        for fact in records:
            given.setdefault(fact.session, fact)
        state = await self._register.append(
            lambda state: [fact for name, fact in given.items() if name not in state.decisions]
        )
        return [state.decisions[fact.session] for fact in records]

    async def note_import(self, session: str, source: str, *, is_adopted: bool) -> None:
        await self._register.append(
            lambda state: [facts.ImportNoted(session=session, source=source, is_adopted=is_adopted)]
        )

    async def get_import(self, session: str) -> ImportNote | None:
        """Return when and from where a session was imported; None for one of this ledger's own."""
        return (await self._register.state()).imports.get(session)

    async def get(self, decision: str) -> RememberedDecision | None:
        """Return a decision with all its reviews."""
        return (await self._register.state()).decisions.get(decision)

    async def list_decisions(
        self,
        *,
        category: str | None = None,
        protocol: str | None = None,
        outcome: facts.Outcome | Literal["unreviewed"] | None = None,
        source: str | None = None,
        limit: int = 50,
        before: str | None = None,
    ) -> list[RememberedDecision]:
        """Return decisions, newest first, starting after `before` in that order; raises UnknownDecision.

        Sessions that ended without one are left out, and those in which the embedded model spoke alone (M-17).
        """
        validate_value("limit", limit, Count)
        validate_value("outcome", outcome, facts.Outcome | Literal["unreviewed"] | None)
        state = await self._register.state()
        listed: list[RememberedDecision] = []
        # Numbers count from 1 in the order of recording, so number − 1 is the index of the decision itself.
        end = len(state.order)
        if before is not None:
            end = memory_state.get_decision(state, before).number - 1
        for decision in reversed(state.order[:end]):
            remembered = state.decisions[decision]
            if (
                remembered.is_decision
                and (
                    category is None
                    or normalize_label(remembered.record.category) == normalize_label(category)
                )
                and (protocol is None or remembered.record.protocol == protocol)
                and (outcome is None or (remembered.outcome or UNREVIEWED) == outcome)
                and (source is None or source in remembered.sources)
            ):
                listed.append(remembered)
            if len(listed) == limit:
                break
        return listed

    async def load_whole(self, decisions: Sequence[RememberedDecision]) -> list[RememberedDecision]:
        """Return decisions with what only the ledger holds: what was argued and the hash of their session."""
        entries = (await self._register.state()).entries
        return [
            replace(each, record=await self._search.read_record(entries[each.number - 1]))
            for each in decisions
        ]

    async def search(
        self, query: str, *, limit: int = 10, category: str | None = None
    ) -> list[SearchHit]:
        """Return the decisions that match the query by words or by meaning, best first."""
        validate_value("query", query, facts.RequiredLine)
        validate_value("limit", limit, Count)
        return await self._search.search(query, limit, category)

    async def find_similar(
        self,
        topic: str,
        *,
        limit: int = 3,
        category: str | None = None,
        only_reviewed: bool = False,
    ) -> list[SearchHit]:
        """Return earlier decisions on a similar topic, best first; empty if none is similar enough (D-16).

        With `only_reviewed` those alone that have a review (M-17).
        """
        validate_value("topic", topic, facts.RequiredText)
        validate_value("limit", limit, Count)
        # Reviews are read only where they are asked for: the index alone answers the rest.
        reviewed = None
        if only_reviewed:
            decisions = (await self._register.state()).decisions
            reviewed = {name for name, each in decisions.items() if each.reviews}
        return await self._search.find_similar(topic, limit, category, reviewed)

    async def find_lineage(self, decision: str) -> Lineage:
        """Return what a decision was built on, and what was built on it; raises UnknownDecision."""
        state = await self._register.state()
        return track_records.build_lineage(
            memory_state.get_decision(state, decision).decision, state.decisions, state.children
        )

    # Outcomes

    async def review(
        self,
        decision: str,
        outcome: facts.Outcome,
        *,
        choice: str = "",
        note: str = "",
        by: str = "",
        key: str = "",
    ) -> RememberedDecision:
        """Record how a decision turned out. A later review replaces an earlier one; the same `key` counts once.

        Raises UnknownDecision, KeyReused, and BadSetting if outcome and choice contradict each other.
        """
        fact = facts.OutcomeReviewed(
            decision_id=decision, outcome=outcome, choice=choice, note=note, by=by
        )
        call = memory_state.build_keyed_call("review", fact, key)
        done = await self._record_once(
            call, lambda state: (None, memory_state.build_review_facts(state, fact))
        )
        return done.state.decisions[decision]

    async def may_decide_alone(
        self,
        source: str,
        confidence: float,
        *,
        category: str = "",
        stakes: Stakes = "medium",
        tags: Sequence[str] = (),
    ) -> memory_state.Permission:
        """Return whether a source may decide this alone now, and who would review it if not; nothing is recorded (D-17)."""
        names = _list_names("tags", tags)
        ask = SoloRequest(
            source=source, confidence=confidence, category=category, stakes=stakes, tags=names
        )
        validate_limits(ask)
        state = await self._register.state()
        return memory_state.build_permission(state, ask, self._now(state))

    # Obligations

    async def list_obligations(
        self, *, decision: str | None = None, only_open: bool = False, limit: int = 200
    ) -> list[RememberedObligation]:
        """Return the obligations of one decision, or of all, the newest decision first (D-22); raises UnknownDecision."""
        validate_value("limit", limit, Count)
        state = await self._register.state()
        names = (
            reversed(state.obliged)
            if decision is None
            else [memory_state.get_decision(state, decision).decision]
        )
        obligations = (each for name in names for each in list_obligations(state.decisions[name]))
        return list(
            islice((each for each in obligations if not only_open or each.state == "open"), limit)
        )

    async def settle_obligation(
        self,
        decision: str,
        number: int,
        state: facts.ObligationState,
        *,
        note: str = "",
        by: str = "",
        key: str = "",
    ) -> RememberedObligation:
        """Record that an obligation was met, waived or failed, or is open again; the same `key` counts once.

        Raises UnknownDecision, KeyReused, and BadSetting for a number that the decision does not have.
        """
        fact = facts.ObligationSettled(
            decision_id=decision, number=number, state=state, note=note, by=by
        )
        call = memory_state.build_keyed_call("settle_obligation", fact, key)
        done = await self._record_once(
            call,
            lambda state: (
                None,
                build_obligation_facts(memory_state.get_decision(state, decision), fact),
            ),
        )
        return list_obligations(done.state.decisions[decision])[number - 1]

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
        reviewers: Sequence[str] = (),
        via: str = "",
    ) -> memory_state.SoloResult:
        """Decide alone, or get the reasons why not; both are recorded (D-17).

        `deliberation` is the session that decides instead if necessary, `reviewers` are those whom the caller wants there, `via`
        is the door. The same source with the same `key` and the same words gets the first result again. Raises UnknownDecision
        for what it is built on, KeyReused, BadSetting, BadRoster for reviewers who failed themselves.
        """
        validate_value("confidence", confidence, Share)
        wanted = facts.SoloDecided(
            decision_id="",
            source=source,
            topic=topic,
            text=decided,
            confidence=float(confidence),
            category=category,
            stakes=stakes,
            tags=_list_names("tags", tags),
            built_on=_list_names("built_on", built_on),
            origin=via,
        )
        validate_limits(wanted)
        if deliberation:
            parse_session_id(deliberation)
        # Whom else to ask is no part of the decision, yet other reviewers under the same key are other words.
        words = (
            topic,
            decided,
            wanted.confidence,
            category,
            stakes,
            wanted.tags,
            wanted.built_on,
            tuple(reviewers),
        )
        call = KeyedCall(call="decide_alone", by=source, key=key, words=words)
        done = await self._record_once(
            call,
            lambda state: memory_state.build_solo_facts(
                state, wanted, deliberation, self._now(state), reviewers
            ),
            describe=lambda result: result.dump(),
        )
        return done.result or memory_state.SoloResult.load(done.earlier)

    # Trust

    async def compute_standings(
        self, names: Sequence[str], category: str = ""
    ) -> dict[str, SourceStanding]:
        """Return what the votes of each of these sources count by."""
        state = await self._register.state()
        return {
            name: track_records.compute_standing(state.collect_scores(name), category)
            for name in names
        }

    async def sources(self) -> list[SourceTrust]:
        """Return the record of every source that has one, by name."""
        state = await self._register.state()
        records = (
            track_records.build_source_trust(
                name, state.collect_scores(name), state.quoted.get(name, (0, 0))
            )
            for name in sorted(state.reviewed.keys() | state.quoted.keys())
        )
        return [record for record in records if record.cases or record.quotations]

    async def search_sources(self, query: str) -> list[SourceTrust]:
        """Return the records of the sources whose name or category has a word of the query."""
        wanted = frozenset(extract_query_terms(query))
        return [
            record
            for record in await self.sources()
            if wanted.intersection(
                extract_terms(
                    " ".join((record.source, *(each.category for each in record.categories)))
                )
            )
        ]

    async def pair_correlations(
        self, names: Sequence[str]
    ) -> dict[tuple[str, str], tuple[int, float | None]]:
        """Return, for all pairs of these sources, how many scored cases they share, and the correlation of their errors."""
        state = await self._register.state()
        scored = {name: state.collect_scores(name) for name in dict.fromkeys(names)}
        pairs = combinations(scored, 2)
        return {
            (one, other): track_records.compute_pair_correlation(scored[one], scored[other])
            for one, other in pairs
        }

    async def amplification(self) -> tuple[Amplification, ...]:
        """Return whether groups did better than their members alone, by protocol (D-15)."""
        return track_records.compute_amplification(
            (await self._register.state()).decisions.values()
        )

    async def list_forecast_cases(self, category: str = "") -> list[tuple[float, bool]]:
        """Return the reviewed forecasts, of one category if one is given: each a chance and whether it happened (Q-12)."""
        state = await self._register.state()
        cases: list[tuple[float, bool]] = []
        for each in state.decisions.values():
            case = each.forecast_case
            if case is not None and category in {"", each.record.category}:
                cases.append(case)
        return cases

    async def find_review_habit(self, category: str) -> int:
        """Return after how many days decisions of a category were first reviewed, by the median; 0 below `MIN_HABIT` reviews."""
        state = await self._register.state()
        wanted = normalize_label(category)
        days: list[int] = []
        for each in state.decisions.values():
            if each.reviews and normalize_label(each.record.category) == wanted:
                days.append((each.reviews[0].at - each.record.closed_at).days)
        # One early review is no habit.
        if len(days) < MIN_HABIT:
            return 0
        # What is reviewed on the day of the decision says nothing of later ones.
        return max(0, median_low(days))

    async def list_awaited_reviews(self) -> list[RememberedDecision]:
        """Return the decisions that are to be reviewed on some day and were not yet, in the order in which they were made."""
        state = await self._register.state()
        awaited = [state.decisions[name] for name in state.reviewable]
        return [each for each in awaited if not each.reviews]

    async def list_number_cases(self) -> list[tuple[float, float, float, float]]:
        """Return the reviewed estimates: median, lowest, highest, and what the number proved to be (Q-12)."""
        state = await self._register.state()
        cases: list[tuple[float, float, float, float]] = []
        for each in state.decisions.values():
            case = each.number_case
            if case is not None:
                number, actual = case
                cases.append((number.median, number.low, number.high, actual))
        return cases

    async def reliability(self) -> ReliabilityTable:
        """Return how often decisions of each kind proved right (D-25)."""
        return (await self._register.state()).reliability

    # Threads

    async def create_thread(
        self, title: str, *, category: str = "", by: str = "", thread: str = "", key: str = ""
    ) -> ThreadView:
        """Create a thread, by default named `thread-N`. The same name and title again is the same thread; raises KeyReused."""
        wanted = facts.ThreadCreated(thread=thread, title=title, category=category, by=by)
        validate_limits(wanted)
        call = KeyedCall(call="create_thread", by=by, key=key, words=(title, category, thread))
        done = await self._record_once(
            call, lambda state: memory_state.build_thread_facts(state, wanted), describe=str
        )
        return threads.build_thread_view(
            done.state.threads.threads[done.result or done.earlier], done.state.decisions
        )

    async def join_thread(self, thread: str, decision: str) -> ThreadView:
        """Add a session to a thread, while it runs or later; raises UnknownThread."""
        fact = facts.ThreadJoined(thread=thread, session=decision)
        return await self._record_in_thread(
            "join_thread", fact, "", lambda current: decision in current.decisions
        )

    async def resume_thread(self, thread: str, seat: str, *, key: str = "") -> ThreadCatchUp:
        """Return a thread and what the seat has missed; the visit is recorded, and a paused thread becomes active again.

        With the same `key` it is the same visit: what was missed before it is returned again.
        """
        visited = facts.ThreadVisited(thread=thread, seat=seat)
        validate_limits(visited)
        active = facts.ThreadStatusSet(thread=thread, status="active", by=seat)

        def choose_visit(state: MemoryState) -> tuple[ThreadCatchUp, Sequence[Fact]]:
            current = memory_state.get_thread(state, thread)
            # Built from the state before the visit: afterwards nothing would count as missed.
            catch_up = threads.build_catch_up(current, seat, state.decisions)
            return catch_up, (active, visited) if current.status == "paused" else (visited,)

        call = KeyedCall(call="resume_thread", by=seat, key=key, words=(thread,))
        done = await self._record_once(call, choose_visit, describe=memory_state.describe_catch_up)
        current = memory_state.get_thread(done.state, thread)
        if done.result is None:
            return memory_state.rebuild_catch_up(done.state, current, seat, done.earlier)
        return replace(done.result, view=threads.build_thread_view(current, done.state.decisions))

    async def thread_status(self, thread: str) -> ThreadView:
        """Return the current state of a thread; raises UnknownThread."""
        state = await self._register.state()
        return threads.build_thread_view(memory_state.get_thread(state, thread), state.decisions)

    async def set_thread_status(
        self,
        thread: str,
        status: facts.ThreadStatus,
        *,
        note: str = "",
        by: str = "",
        key: str = "",
    ) -> ThreadView:
        """Pause, complete, block or reactivate a thread; raises UnknownThread, KeyReused."""
        fact = facts.ThreadStatusSet(thread=thread, status=status, note=note, by=by)
        return await self._record_in_thread(
            "set_thread_status",
            fact,
            key,
            lambda current: (current.status, current.note) == (status, note),
        )

    async def ask_in_thread(
        self, thread: str, question: str, *, by: str = "", key: str = ""
    ) -> ThreadView:
        """Record an open question in a thread; asking it again while it is open is the same question."""
        fact = facts.ThreadQuestioned(thread=thread, question=question, by=by)
        return await self._record_in_thread(
            "ask_in_thread",
            fact,
            key,
            lambda current: any(
                one.text == question and one.settled_at is None for one in current.questions
            ),
        )

    async def settle_question(
        self, thread: str, number: int, *, by: str = "", key: str = ""
    ) -> ThreadView:
        """Record that a question is answered; raises BadSetting if the thread has no such number."""
        fact = facts.ThreadQuestionSettled(thread=thread, number=number, by=by)
        return await self._record_in_thread(
            "settle_question",
            fact,
            key,
            lambda current: memory_state.is_question_settled(current, number),
        )

    async def threads(self) -> list[ThreadView]:
        """Return all threads, the one that changed last first."""
        state = await self._register.state()
        views = [
            threads.build_thread_view(thread, state.decisions)
            for thread in state.threads.threads.values()
        ]
        return sorted(views, key=lambda view: view.changed_at, reverse=True)

    # Circuit breakers

    async def breakers(self) -> tuple[CircuitView, ...]:
        """Return every circuit that is not closed or counts a failure."""
        state = await self._register.state()
        return breakers.list_circuit_views(state.breakers, self._now(state))

    async def circuit(self, scope: str) -> CircuitView:
        """Return the state of a scope's circuit; raises BadSetting for an unknown kind of scope."""
        name = breakers.parse_scope(scope)
        state = await self._register.state()
        return breakers.build_circuit_view(state.breakers, name, self._now(state))

    async def reset_circuit(
        self, scope: str, *, by: str = "", note: str = "", key: str = ""
    ) -> CircuitView:
        """Close a circuit by hand and forget its failures; an unknown one is left unchanged."""
        name = breakers.parse_scope(scope)
        fact = facts.CircuitReset(scope=name, by=by, note=note)
        call = memory_state.build_keyed_call("reset_circuit", fact, key)
        done = await self._record_once(
            call, lambda state: (None, (fact,) if name in state.breakers.circuits else ())
        )
        return breakers.build_circuit_view(done.state.breakers, name, self._now(done.state))

    async def change_policy(
        self, changes: Mapping[str, Any], *, by: str = "", key: str = ""
    ) -> facts.Policy:
        """Change these rules from now on, by the names of their fields; the others stay. Raises BadSetting, KeyReused."""
        known = [one.name for one in fields(facts.Policy)]
        if unknown := [name for name in changes if name not in known]:
            raise BadSetting(f"the policy has no {unknown[0][:100]!r}; it has: {', '.join(known)}")
        validate_value("by", by, facts.Name)

        def choose(state: MemoryState) -> tuple[None, Sequence[Fact]]:
            policy = validate_policy(replace(state.breakers.policy, **changes))
            return None, () if policy == state.breakers.policy else (
                facts.PolicySet(policy=policy, by=by),
            )

        call = KeyedCall(call="change_policy", by=by, key=key, words=tuple(sorted(changes.items())))
        return (await self._record_once(call, choose)).state.breakers.policy

    async def use_key(self, call: KeyedCall, result: str = "") -> None:
        """Take a key for a write that is recorded elsewhere, with what its first call returned; raises KeyReused."""
        await self._record_once(call, lambda state: (result, ()), describe=str)

    async def perform_once(self, call: KeyedCall, work: Callable[[], Awaitable[str]]) -> str:
        """Do what is recorded elsewhere, unless an earlier try with this key did; returns what the first one returned."""
        # Two tries at once: the second waits here for the result of the first.
        async with self._tries.setdefault(
            (call.call, call.by, call.key or call.digest), asyncio.Lock()
        ):
            result = await self.find_keyed_result(call)
            if result is None:
                result = await work()
                # Taken afterwards: a call that was refused does not use its key up.
                await self.use_key(call, result)
            return result

    async def find_keyed_result(self, call: KeyedCall) -> str | None:
        """Return what the first call with this key returned, None if there was none; raises KeyReused for other words."""
        earlier = memory_state.find_earlier_use(await self._register.state(), call)
        return None if earlier is None else earlier.result

    async def policy(self) -> facts.Policy:
        return (await self._register.state()).breakers.policy

    # Helpers

    def _now(self, state: MemoryState) -> datetime:
        """Return the time, never before the last entry."""
        now = self._clock.now()
        return now if state.at is None else max(now, state.at)

    async def _record_once(
        self,
        call: KeyedCall,
        choose: Callable[[MemoryState], tuple[T, Sequence[Fact]]],
        *,
        describe: Callable[[T], str] = lambda result: "",
    ) -> _Recorded[T]:
        """Append the chosen facts, and the use of the call's key if it has one; a key that was used before appends nothing.

        The use of a key is a fact of its own, so that also a write that changes nothing takes its key. Raises KeyReused.
        """
        validate_value("key", call.key, facts.Name)
        results: list[T | None] = []
        earlier: list[str] = [""]

        def choose_facts(state: MemoryState) -> Sequence[Fact]:
            before = memory_state.find_earlier_use(state, call)
            if before is not None:
                results.append(None)
                earlier.append(before.result)
                return ()
            result, chosen = choose(state)
            results.append(result)
            used = facts.KeyUsed(
                call=call.call,
                by=call.by,
                key=call.key,
                digest=call.digest,
                result=describe(result),
            )
            return (*chosen, used) if call.key else chosen

        state = await self._register.append(choose_facts)
        # `choose` runs again after every lost append race: only the last result belongs to what was written.
        return _Recorded(state=state, result=results[-1], earlier=earlier[-1])

    async def _record_in_thread(
        self, name: str, fact: facts.ThreadFact, key: str, is_recorded: Callable[[Thread], bool]
    ) -> ThreadView:
        """Append a fact about a thread, unless the thread as it is says the same already."""
        done = await self._record_once(
            memory_state.build_keyed_call(name, fact, key),
            lambda state: (
                None,
                () if is_recorded(memory_state.get_thread(state, fact.thread)) else (fact,),
            ),
        )
        return threads.build_thread_view(
            done.state.threads.threads[fact.thread], done.state.decisions
        )


def _list_names(what: str, names: Sequence[str]) -> tuple[str, ...]:
    """Each name once, in the given order; raises BadSetting."""
    validate_value(what, names, facts.Labels)
    return tuple(dict.fromkeys(names))
