"""The facts that follow from a call, given the current memory. Pure functions: after a lost append race they are called again."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime
from hashlib import sha256

from moothall.domain.facts import Fact
from moothall.domain.limits import validate_limits
from moothall.domain.replace import copy_fields
from moothall.domain.topic import normalize_label
from moothall.errors import BadRoster, BadSetting, KeyReused, UnknownDecision, UnknownThread
from moothall.memory import breakers, track_records
from moothall.memory.breakers import FAILED, SoloRequest, SoloVerdict
from moothall.memory.facts import KeyUsed, OutcomeReviewed, SoloBlocked, SoloDecided, ThreadCreated
from moothall.memory.memory_state import MemoryState
from moothall.memory.remembered_decision import RememberedDecision
from moothall.memory.threads import Thread, ThreadCatchUp, ThreadVisit, build_catch_up_since


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """What a source may do alone, asked without deciding; `reviewers` would judge instead of it, the most trusted first."""

    verdict: SoloVerdict
    reviewers: tuple[str, ...] = ()

    @property
    def is_allowed(self) -> bool:
        return self.verdict.is_allowed


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyedCall:
    """A write that may be repeated: which one, by whom, under which key (may be empty), in which words."""

    call: str
    by: str
    key: str
    words: tuple[object, ...]

    @property
    def digest(self) -> str:
        return sha256(json.dumps(self.words, ensure_ascii=True, default=asdict).encode()).hexdigest()


def build_keyed_call(name: str, fact: Fact, key: str) -> KeyedCall:
    """Return the call that records a fact: by whom the fact says, in the words of its other fields. Raises BadSetting."""
    validate_limits(fact)
    words = {each.name: getattr(fact, each.name) for each in fields(fact)}
    by = words.pop("by", "")
    return KeyedCall(call=name, by=by, key=key, words=tuple(words.values()))


def find_earlier_use(book: MemoryState, call: KeyedCall) -> KeyUsed | None:
    """Return the first use of the call's key; raises KeyReused if it was for other words."""
    earlier = book.keys.get((call.call, call.by, call.key)) if call.key else None
    if earlier is not None and earlier.digest != call.digest:
        raise KeyReused(f"the key {call.key!r} came before, with other words; a new call needs a new key")
    return earlier


def get_decision(book: MemoryState, decision: str) -> RememberedDecision:
    """Return the decision of this name; raises UnknownDecision."""
    remembered = book.decisions.get(decision)
    if remembered is None:
        raise UnknownDecision(f"no decision {str(decision)[:100]!r} is kept; list or search to see those that are")
    return remembered


def get_thread(book: MemoryState, thread: str) -> Thread:
    """Return the thread of this name; raises UnknownThread."""
    known_thread = book.threads.threads.get(thread)
    if known_thread is None:
        known = ", ".join(list(book.threads.threads)[-5:]) or "none yet"
        raise UnknownThread(f"unknown thread {str(thread)[:100]!r}; the newest are: {known}")
    return known_thread


def build_review_facts(book: MemoryState, fact: OutcomeReviewed) -> Sequence[Fact]:
    """Return the review as a fact; raises UnknownDecision, and BadSetting when it contradicts what was decided."""
    remembered = get_decision(book, fact.decision_id)
    if remembered.record.text is None:
        raise BadSetting(f"{fact.decision_id!r} came to no decision; there is nothing to review")
    _refuse_contradiction(remembered, fact)
    return (fact,)


def _refuse_contradiction(remembered: RememberedDecision, fact: OutcomeReviewed) -> None:
    own, right = normalize_label(remembered.record.choice), normalize_label(fact.choice)
    if not own or not right:
        return
    if fact.outcome == "success" and own != right:
        raise BadSetting(
            f"outcome 'success' says that {remembered.record.choice!r} was right, the choice says {fact.choice!r}; "
            "leave the choice out"
        )
    if fact.outcome in FAILED and own == right:
        raise BadSetting(f"outcome {fact.outcome!r} contradicts the choice {fact.choice!r}: that is what was decided")


def build_solo_facts(
    book: MemoryState, wanted: SoloDecided, deliberation: str, now: datetime, reviewers: Sequence[str] = ()
) -> tuple[SoloResult, Sequence[Fact]]:
    """Return the result and the fact that records it; for a key that was used before, its first result.

    Raises UnknownDecision, and BadRoster if one of the wanted reviewers failed itself.
    """
    earlier = book.asked.get((wanted.source, wanted.key))
    if earlier is not None:
        return _build_result(earlier), ()
    for below in wanted.built_on:
        get_decision(book, below)
    verdict = breakers.judge_solo_request(book.breakers, copy_fields(SoloRequest, wanted), now)
    # A session id contains no dot, so a solo decision can never have the name of a session.
    fact: SoloDecided | SoloBlocked = replace(wanted, decision_id=f"alone.{book.alone + 1}", probes=verdict.probes)
    if not verdict.is_allowed:
        failing = breakers.find_failing_sources(book.breakers, verdict.scopes, now) - {normalize_label(wanted.source)}
        for name in reviewers:
            if normalize_label(name) in failing:
                raise BadRoster(
                    f"participants: {name[:100]!r} failed here lately and cannot review; leave it out, or name nobody: then "
                    "those with the best record are asked"
                )
        fact = copy_fields(SoloBlocked, wanted, scopes=verdict.scopes, rules=verdict.rules, session=deliberation)
    return _build_result(fact), (fact,)


def build_permission(book: MemoryState, ask: SoloRequest, now: datetime) -> Permission:
    """Judge a request without recording anything, and name who would review it.

    Reviewers are those with a record, by their trust in the category; never the one who asks, never one whose failures opened
    what stands in the way, never one who may not decide alone itself.
    """
    verdict = breakers.judge_solo_request(book.breakers, ask, now)
    failing = breakers.find_failing_sources(book.breakers, verdict.scopes, now) | {normalize_label(ask.source)}
    if verdict.is_allowed:
        return Permission(verdict=verdict)
    scores = {
        name: track_records.collect_scores(name, book.list_reviewed(name))
        for name in book.reviewed
        if normalize_label(name) not in failing
    }
    trust = {name: track_records.compute_standing(listed, ask.category).trust for name, listed in scores.items() if listed}
    return Permission(verdict=verdict, reviewers=tuple(sorted(trust, key=lambda name: (-trust[name], name))))


def _build_result(fact: SoloDecided | SoloBlocked) -> SoloResult:
    if isinstance(fact, SoloDecided):
        return SoloResult(decision=fact.decision_id, probes=fact.probes)
    return SoloResult(scopes=fact.scopes, rules=fact.rules, deliberation=fact.session)


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


def describe_catch_up(catch_up: ThreadCatchUp) -> str:
    """Return how much was missed, and since which visit, as a keyed call keeps it."""
    visit = "" if catch_up.visit is None else f" {catch_up.visit.seq} {catch_up.visit.at.isoformat()}"
    return f"{len(catch_up.missed)}{visit}"


def rebuild_catch_up(book: MemoryState, thread: Thread, seat: str, text: str) -> ThreadCatchUp:
    """Return what `describe_catch_up` described: what happened since then is for the seat's next visit."""
    missed, *rest = text.split(" ")
    visit = ThreadVisit(seat=seat, seq=int(rest[0]), at=datetime.fromisoformat(rest[1])) if rest else None
    return build_catch_up_since(thread, seat, book.decisions, visit, int(missed))


def is_question_settled(thread: Thread, number: int) -> bool:
    """Whether a question is settled already; raises BadSetting when the thread has none of this number."""
    question = next((one for one in thread.questions if one.number == number), None)
    if question is None:
        raise BadSetting(f"thread {thread.thread!r} has no question {number}; it has {len(thread.questions)}")
    return question.settled_at is not None
