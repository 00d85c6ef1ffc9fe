"""The facts that follow from a call, given the current memory. Pure functions: after a lost append race they are called again."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from moot.domain.facts import Fact
from moot.domain.topic import normalize_label
from moot.errors import BadSetting, KeyReused, UnknownDecision, UnknownThread
from moot.memory import breakers
from moot.memory.breakers import FAILED, SoloRequest
from moot.memory.facts import OutcomeReviewed, SoloBlocked, SoloDecided, ThreadCreated, ThreadQuestionSettled
from moot.memory.memory_state import MemoryState
from moot.memory.remembered_decision import RememberedDecision
from moot.memory.threads import Thread


@dataclass(frozen=True, slots=True, kw_only=True)
class SoloResult:
    """The result of a request to decide alone: a decision, or the scopes and rules that require a deliberation."""

    decision: str = ""
    probes: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    deliberation: str = ""

    @property
    def is_allowed(self) -> bool:
        return self.decision != ""


def get_decision(book: MemoryState, decision: str) -> RememberedDecision:
    """Return the decision of this name; raises UnknownDecision."""
    kept = book.decisions.get(decision)
    if kept is None:
        raise UnknownDecision(f"no decision {str(decision)[:100]!r} is kept; list or search to see those that are")
    return kept


def get_thread(book: MemoryState, thread: str) -> Thread:
    """Return the thread of this name; raises UnknownThread."""
    known_thread = book.threads.threads.get(thread)
    if known_thread is None:
        known = ", ".join(list(book.threads.threads)[-5:]) or "none yet"
        raise UnknownThread(f"unknown thread {str(thread)[:100]!r}; the newest are: {known}")
    return known_thread


def build_review_facts(book: MemoryState, fact: OutcomeReviewed) -> Sequence[Fact]:
    """Return the review as a fact, or nothing if its key was used before; raises UnknownDecision, KeyReused, BadSetting."""
    kept = get_decision(book, fact.decision)
    if kept.record.decided is None:
        raise BadSetting(f"{fact.decision!r} came to no decision; there is nothing to review")
    for earlier in kept.reviews:
        if fact.key and earlier.key == fact.key:
            if (earlier.outcome, earlier.choice, earlier.note) != (fact.outcome, fact.choice, fact.note):
                raise KeyReused(f"key {fact.key!r} came before with another review of {fact.decision!r}; use a new key")
            return ()
    _refuse_contradiction(kept, fact)
    return (fact,)


def _refuse_contradiction(kept: RememberedDecision, fact: OutcomeReviewed) -> None:
    own, right = normalize_label(kept.record.choice), normalize_label(fact.choice)
    if not own or not right:
        return
    if fact.outcome == "success" and own != right:
        raise BadSetting(
            f"outcome 'success' says that {kept.record.choice!r} was right, the choice says {fact.choice!r}; leave the choice out"
        )
    if fact.outcome in FAILED and own == right:
        raise BadSetting(f"outcome {fact.outcome!r} contradicts the choice {fact.choice!r}: that is what was decided")


def build_solo_facts(
    book: MemoryState, wanted: SoloDecided, deliberation: str, now: datetime
) -> tuple[SoloResult, Sequence[Fact]]:
    """Return the result and the fact that records it; raises UnknownDecision, KeyReused."""
    earlier = book.asked.get((wanted.source, wanted.key))
    if earlier is not None:
        if earlier.topic != wanted.topic:
            raise KeyReused(f"key {wanted.key!r} came before with another topic, {earlier.topic[:80]!r}; use a new key")
        return _build_result(earlier), ()
    for below in wanted.built_on:
        get_decision(book, below)
    ask = SoloRequest(
        source=wanted.source, confidence=wanted.confidence, category=wanted.category, stakes=wanted.stakes, tags=wanted.tags
    )
    verdict = breakers.judge_solo_request(book.breakers, ask, now)
    # A session id contains no dot, so a solo decision can never have the name of a session.
    fact: SoloDecided | SoloBlocked = replace(wanted, decision=f"alone.{book.alone + 1}", probes=verdict.probes)
    if not verdict.is_allowed:
        fact = SoloBlocked(
            source=wanted.source,
            topic=wanted.topic,
            category=wanted.category,
            stakes=wanted.stakes,
            tags=wanted.tags,
            scopes=verdict.scopes,
            rules=verdict.rules,
            deliberation=deliberation,
            key=wanted.key,
        )
    return _build_result(fact), (fact,)


def _build_result(fact: SoloDecided | SoloBlocked) -> SoloResult:
    if isinstance(fact, SoloDecided):
        return SoloResult(decision=fact.decision, probes=fact.probes)
    return SoloResult(scopes=fact.scopes, rules=fact.rules, deliberation=fact.deliberation)


def build_thread_facts(book: MemoryState, wanted: ThreadCreated) -> tuple[str, Sequence[Fact]]:
    """Return the thread's name and the fact that creates it; raises KeyReused."""
    known = book.threads.threads
    if not wanted.thread:
        number = len(known) + 1
        # A user may have named a thread `thread-7` by hand.
        while f"thread-{number}" in known:
            number += 1
        return f"thread-{number}", (replace(wanted, thread=f"thread-{number}"),)
    earlier = known.get(wanted.thread)
    if earlier is None:
        return wanted.thread, (wanted,)
    if earlier.title != wanted.title:
        raise KeyReused(f"thread {wanted.thread!r} exists and is called {earlier.title[:80]!r}; choose another name")
    return wanted.thread, ()


def build_settlement_facts(thread: Thread, fact: ThreadQuestionSettled) -> Sequence[Fact]:
    """Return the fact, or nothing if the question is settled already; raises BadSetting."""
    question = next((one for one in thread.questions if one.number == fact.question), None)
    if question is None:
        raise BadSetting(f"thread {thread.thread!r} has no question {fact.question}; it has {len(thread.questions)}")
    return () if question.settled_at is not None else (fact,)


def has_open_question(thread: Thread, question: str) -> bool:
    """Whether this question is open in the thread."""
    return any(one.text == question and one.settled_at is None for one in thread.questions)
