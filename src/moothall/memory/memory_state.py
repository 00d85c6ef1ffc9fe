"""The state of memory, which is the fold of the register `_memory`, and the facts that follow from a call, given that state.

All of it is pure: after a lost append race the facts are chosen again.
"""

from array import array
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import datetime
from functools import lru_cache
from sys import intern
from typing import Final, NamedTuple

from moothall.codec.adapters import get_adapter
from moothall.domain.facts import Entry, Fact
from moothall.domain.ids import KeyedCall
from moothall.domain.limits import validate_limits
from moothall.domain.replace import copy_fields, dataclass
from moothall.domain.topic import normalize_label
from moothall.errors import BadRoster, BadSetting, KeyReused, UnknownDecision, UnknownThread
from moothall.memory import breakers, facts, threads, track_records
from moothall.memory.breakers import FAILED, Breakers, SoloRequest, SoloVerdict, collect_scopes
from moothall.memory.facts import KeyUsed, OutcomeReviewed, SoloBlocked, SoloDecided, ThreadCreated
from moothall.memory.remembered_decision import (
    ObligationReport,
    OutcomeReview,
    RememberedDecision,
    build_solo_record,
    find_recorded_stand_in,
)
from moothall.memory.threads import (
    Thread,
    ThreadCatchUp,
    Threads,
    ThreadVisit,
    build_catch_up_since,
)
from moothall.scoring.reliability import ReliabilityTable

MAX_SHARED: Final = 4_096


class ImportNote(NamedTuple):
    """When a session was imported, who signed it, and whether the owner adopted what it decided."""

    at: datetime
    source: str
    is_adopted: bool


class MemoryState:
    """Everything that is remembered. Only `evolve` changes it, in place: a copy per entry would cost its whole length.

    `order` lists the decisions as they came, `entries` the numbers of their entries in the register; `obliged` those with
    obligations, `reviewable` those that are to be reviewed on some day; `reviewed` those with a review, by source; `children`
    what was built on each; `quoted` how many quotations of a source were checked, and how many of them held.
    """

    def __init__(self) -> None:
        self.at: datetime | None = None
        self.decisions: dict[str, RememberedDecision] = {}
        self.order: list[str] = []
        self.entries: array[int] = array("Q")
        self.reviewed: dict[str, dict[str, None]] = {}
        self.children: dict[str, list[str]] = {}
        self.quoted: dict[str, tuple[int, int]] = {}
        self.obliged: dict[str, None] = {}
        self.reviewable: dict[str, None] = {}
        self.keys: dict[tuple[str, str, str], KeyUsed] = {}
        self.imports: dict[str, ImportNote] = {}
        self.alone = 0
        self.reliability = ReliabilityTable()
        self.breakers = Breakers()
        self.threads = Threads()

    def collect_scores(self, source: str) -> tuple[track_records.Score, ...]:
        """Return how a source did on each decision that was reviewed."""
        return track_records.collect_scores(
            source, map(self.decisions.__getitem__, self.reviewed.get(source, ()))
        )


def evolve(state: MemoryState, entry: Entry) -> MemoryState:
    """Apply one more entry and return the same state."""
    state.at = entry.at
    threads.evolve(state.threads, entry)
    match entry.fact:
        case facts.DecisionRecorded() as fact:
            _add_decision(state, entry, fact)
        case SoloDecided() as fact:
            _add_decision(state, entry, build_solo_record(fact, entry.at), is_alone=True)
            state.alone += 1
            state.breakers = breakers.start_probes(
                state.breakers, decision=fact.decision_id, scopes=fact.probes, at=entry.at
            )
        case OutcomeReviewed() as fact:
            _apply_review(state, entry, fact)
        case facts.ObligationSettled(decision_id=decision) as fact if decision in state.decisions:
            remembered = state.decisions[decision]
            report = ObligationReport(at=entry.at, fact=fact)
            state.decisions[decision] = replace(
                remembered, settlements=(*remembered.settlements, report)
            )
        case facts.PolicySet(policy=policy):
            state.breakers = breakers.with_policy(state.breakers, policy, entry.at)
        case facts.CircuitReset(scope=scope):
            state.breakers = breakers.reset_circuit(state.breakers, scope)
        case facts.ImportNoted(session=session, source=source, is_adopted=is_adopted):
            # The last one counts: one before it did not get further than its note.
            state.imports[session] = ImportNote(entry.at, source, is_adopted)
        case KeyUsed() as fact:
            state.keys.setdefault((fact.call, fact.by, fact.key), fact)
    return state


def _add_decision(
    state: MemoryState, entry: Entry, record: facts.DecisionRecorded, *, is_alone: bool = False
) -> None:
    if record.session in state.decisions:
        return
    number = len(state.order) + 1
    record = _slim_record(record)
    state.decisions[record.session] = RememberedDecision(
        number=number,
        at=entry.at,
        record=record,
        is_alone=is_alone,
        stand_in=find_recorded_stand_in(record),
    )
    state.order.append(record.session)
    state.entries.append(entry.seq)
    if record.obligations:
        state.obliged[record.session] = None
    if record.review_on:
        state.reviewable[record.session] = None
    for below in record.built_on:
        state.children.setdefault(below, []).append(record.session)
    for member in record.members:
        if member.quotations:
            checked, held = state.quoted.get(member.source, (0, 0))
            state.quoted[member.source] = (
                checked + member.quotations,
                held + member.quotations_held,
            )


def _slim_record(record: facts.DecisionRecorded) -> facts.DecisionRecorded:
    """Return what a process holds of a decision for as long as it lives: little, because there may be very many.

    What was argued is nearly all of a record, and only search reads it, from the ledger, as `verify` does the head. The same
    minds sit in most meetings.
    """
    kind, worth, kin, how = map(
        intern, (record.protocol, record.strength, record.consensus_type, record.agreement)
    )
    members = tuple(map(_share_member, record.members))
    return replace(
        record,
        search_text="",
        head="",
        protocol=kind,
        strength=worth,
        consensus_type=kin,
        agreement=how,
        members=members,
    )


@lru_cache(maxsize=MAX_SHARED)
def _share_member(member: facts.Member) -> facts.Member:
    """Return the first member that was equal to this one."""
    return member


def _apply_review(state: MemoryState, entry: Entry, fact: OutcomeReviewed) -> None:
    reviewed = state.decisions.get(fact.decision_id)
    if reviewed is None:
        return
    review = copy_fields(OutcomeReview, fact, at=entry.at)
    state.decisions[fact.decision_id] = replace(reviewed, reviews=(*reviewed.reviews, review))
    # In place of the outcome that was reviewed before.
    for outcome, times in ((reviewed.outcome, -1), (fact.outcome, 1)):
        if outcome in {"success", "failure"} and reviewed.is_decision:
            state.reliability.add(
                reviewed.kind,
                reviewed.record.confidence,
                is_right=outcome == "success",
                times=times,
            )
    for source in reviewed.sources:
        state.reviewed.setdefault(source, {})[fact.decision_id] = None
    sources, record = reviewed.backers, reviewed.record
    scopes = collect_scopes(
        category=record.category,
        stakes=record.stakes,
        tags=record.tags,
        source=sources[0] if len(sources) == 1 else "",
    )
    state.breakers = breakers.apply_review(
        state.breakers,
        decision=fact.decision_id,
        scopes=scopes,
        sources=sources,
        before=reviewed.outcome,
        outcome=fact.outcome,
        at=entry.at,
    )


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

    def dump(self) -> str:
        return get_adapter(SoloResult).dump_json(self).decode()

    @classmethod
    def load(cls, text: str) -> "SoloResult":
        result: SoloResult = get_adapter(SoloResult).validate_json(text)
        return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission:
    """What a source may do alone, asked without deciding; `reviewers` would judge instead of it, the most trusted first."""

    verdict: SoloVerdict
    reviewers: tuple[str, ...] = ()

    @property
    def is_allowed(self) -> bool:
        return self.verdict.is_allowed


def build_keyed_call(name: str, fact: Fact, key: str) -> KeyedCall:
    """Return the call that records a fact: by whom the fact says, in the words of its other fields. Raises BadSetting."""
    validate_limits(fact)
    words = {each.name: getattr(fact, each.name) for each in fields(fact)}
    by = words.pop("by", "")
    return KeyedCall(call=name, by=by, key=key, words=tuple(words.values()))


def find_earlier_use(state: MemoryState, call: KeyedCall) -> KeyUsed | None:
    """Return the first use of the call's key; raises KeyReused if it was for other words."""
    earlier = state.keys.get((call.call, call.by, call.key)) if call.key else None
    if earlier is not None and earlier.digest != call.digest:
        raise KeyReused(
            f"the key {call.key!r} came before, with other words; a new call needs a new key"
        )
    return earlier


def get_decision(state: MemoryState, decision: str) -> RememberedDecision:
    """Return the decision of this name; raises UnknownDecision."""
    remembered = state.decisions.get(decision)
    if remembered is None:
        raise UnknownDecision(
            f"no decision {str(decision)[:100]!r} is kept; list or search to see those that are"
        )
    return remembered


def get_thread(state: MemoryState, thread: str) -> Thread:
    """Return the thread of this name; raises UnknownThread."""
    known_thread = state.threads.threads.get(thread)
    if known_thread is None:
        known = ", ".join(list(state.threads.threads)[-5:]) or "none yet"
        raise UnknownThread(f"unknown thread {str(thread)[:100]!r}; the newest are: {known}")
    return known_thread


def build_review_facts(state: MemoryState, fact: OutcomeReviewed) -> Sequence[Fact]:
    """Return the review as a fact; raises UnknownDecision, and BadSetting when it contradicts what was decided."""
    remembered = get_decision(state, fact.decision_id)
    if remembered.record.text is None:
        raise BadSetting(f"{fact.decision_id!r} came to no decision; there is nothing to review")
    if not remembered.is_decision:
        raise BadSetting(
            f"in {fact.decision_id!r} the embedded model spoke alone; that is no decision, and there is nothing to review"
        )
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
        raise BadSetting(
            f"outcome {fact.outcome!r} contradicts the choice {fact.choice!r}: that is what was decided"
        )


def build_solo_facts(
    state: MemoryState,
    wanted: SoloDecided,
    deliberation: str,
    now: datetime,
    reviewers: Sequence[str] = (),
) -> tuple[SoloResult, Sequence[Fact]]:
    """Return the result and the fact that records it.

    Raises UnknownDecision, and BadRoster if one of the wanted reviewers failed itself.
    """
    for below in wanted.built_on:
        get_decision(state, below)
    verdict = breakers.judge_solo_request(state.breakers, copy_fields(SoloRequest, wanted), now)
    if verdict.is_allowed:
        # A session id contains no dot, so a solo decision can never have the name of a session.
        name = f"alone.{state.alone + 1}"
        decided = replace(wanted, decision_id=name, probes=verdict.probes)
        return SoloResult(decision=name, probes=verdict.probes), (decided,)
    failing = breakers.find_failing_sources(state.breakers, verdict.scopes, now) - {
        normalize_label(wanted.source)
    }
    for name in reviewers:
        if normalize_label(name) in failing:
            raise BadRoster(
                f"participants: {name[:100]!r} failed here lately and cannot review; leave it out, or name nobody: then "
                "those with the best record are asked"
            )
    blocked = copy_fields(
        SoloBlocked, wanted, scopes=verdict.scopes, rules=verdict.rules, session=deliberation
    )
    return SoloResult(scopes=verdict.scopes, rules=verdict.rules, deliberation=deliberation), (
        blocked,
    )


def build_permission(state: MemoryState, ask: SoloRequest, now: datetime) -> Permission:
    """Judge a request without recording anything, and name who would review it.

    Reviewers are those with a record, by their trust in the category; never the one who asks, never one whose failures opened
    what stands in the way, never one who may not decide alone itself.
    """
    verdict = breakers.judge_solo_request(state.breakers, ask, now)
    if verdict.is_allowed:
        return Permission(verdict=verdict)
    failing = breakers.find_failing_sources(state.breakers, verdict.scopes, now) | {
        normalize_label(ask.source)
    }
    scores = {
        name: state.collect_scores(name)
        for name in state.reviewed
        if normalize_label(name) not in failing
    }
    trust = {
        name: track_records.compute_standing(listed, ask.category).trust
        for name, listed in scores.items()
        if listed
    }
    return Permission(
        verdict=verdict, reviewers=tuple(sorted(trust, key=lambda name: (-trust[name], name)))
    )


def build_thread_facts(state: MemoryState, wanted: ThreadCreated) -> tuple[str, Sequence[Fact]]:
    """Return the thread's name and the fact that creates it; raises KeyReused."""
    known = state.threads.threads
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
        raise KeyReused(
            f"thread {wanted.thread!r} exists and is called {earlier.title[:80]!r}; choose another name"
        )
    return wanted.thread, ()


def describe_catch_up(catch_up: ThreadCatchUp) -> str:
    """Return how much was missed, and since which visit, as a keyed call keeps it."""
    visit = (
        "" if catch_up.visit is None else f" {catch_up.visit.seq} {catch_up.visit.at.isoformat()}"
    )
    return f"{len(catch_up.missed)}{visit}"


def rebuild_catch_up(state: MemoryState, thread: Thread, seat: str, text: str) -> ThreadCatchUp:
    """Return what `describe_catch_up` described: what happened since then is for the seat's next visit."""
    missed, *rest = text.split(" ")
    visit = (
        ThreadVisit(seat=seat, seq=int(rest[0]), at=datetime.fromisoformat(rest[1]))
        if rest
        else None
    )
    return build_catch_up_since(thread, seat, state.decisions, visit, int(missed))


def is_question_settled(thread: Thread, number: int) -> bool:
    """Whether a question is settled already; raises BadSetting when the thread has none of this number."""
    question = next((one for one in thread.questions if one.number == number), None)
    if question is None:
        raise BadSetting(
            f"thread {thread.thread!r} has no question {number}; it has {len(thread.questions)}"
        )
    return question.settled_at is not None
