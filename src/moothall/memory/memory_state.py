"""The state of memory: the fold of the register `_memory`."""

from array import array
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from sys import intern
from typing import Final, NamedTuple

from moothall.domain.facts import Entry
from moothall.domain.replace import copy_fields
from moothall.memory import breakers, facts, threads
from moothall.memory.breakers import Breakers, collect_scopes
from moothall.memory.remembered_decision import ObligationReport, OutcomeReview, RememberedDecision, build_solo_record
from moothall.memory.threads import Threads
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
    obligations; `reviewed` those with a review, by source; `children` what was built on each; `quoted` how many
    quotations of a source were checked, and how many of them held.
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
        self.asked: dict[tuple[str, str], facts.SoloDecided | facts.SoloBlocked] = {}
        self.keys: dict[tuple[str, str, str], facts.KeyUsed] = {}
        self.imports: dict[str, ImportNote] = {}
        self.alone = 0
        self.reliability = ReliabilityTable()
        self.breakers = Breakers()
        self.threads = Threads()

    def list_reviewed(self, source: str) -> Iterator[RememberedDecision]:
        return (self.decisions[decision] for decision in self.reviewed.get(source, ()))


def evolve(book: MemoryState, entry: Entry) -> MemoryState:
    """Apply one more entry and return the same state."""
    book.at = entry.at
    threads.evolve(book.threads, entry)
    match entry.fact:
        case facts.DecisionRecorded() as fact:
            _add_decision(book, entry, fact)
        case facts.SoloDecided() as fact:
            _add_decision(book, entry, build_solo_record(fact, entry.at), is_alone=True)
            book.alone += 1
            book.breakers = breakers.start_probes(book.breakers, decision=fact.decision_id, scopes=fact.probes, at=entry.at)
            _remember_ask(book, fact)
        case facts.SoloBlocked() as fact:
            _remember_ask(book, fact)
        case facts.OutcomeReviewed() as fact:
            _apply_review(book, entry, fact)
        case facts.ObligationSettled(decision_id=decision) as fact if decision in book.decisions:
            remembered = book.decisions[decision]
            report = ObligationReport(at=entry.at, fact=fact)
            book.decisions[decision] = replace(remembered, settlements=(*remembered.settlements, report))
        case facts.PolicySet(policy=policy):
            book.breakers = breakers.with_policy(book.breakers, policy, entry.at)
        case facts.CircuitReset(scope=scope):
            book.breakers = breakers.reset_circuit(book.breakers, scope)
        case facts.ImportNoted(session=session, source=source, is_adopted=is_adopted):
            # The last one counts: one before it did not get further than its note.
            book.imports[session] = ImportNote(entry.at, source, is_adopted)
        case facts.KeyUsed() as fact:
            book.keys.setdefault((fact.call, fact.by, fact.key), fact)
        case _:
            pass
    return book


def _add_decision(book: MemoryState, entry: Entry, record: facts.DecisionRecorded, *, is_alone: bool = False) -> None:
    if record.session in book.decisions:
        return
    number = len(book.order) + 1
    record = _slim_record(record)
    book.decisions[record.session] = RememberedDecision(number=number, at=entry.at, record=record, is_alone=is_alone)
    book.order.append(record.session)
    book.entries.append(entry.seq)
    if record.obligations:
        book.obliged[record.session] = None
    for below in record.built_on:
        book.children.setdefault(below, []).append(record.session)
    for member in record.members:
        if member.quotations:
            checked, held = book.quoted.get(member.source, (0, 0))
            book.quoted[member.source] = (checked + member.quotations, held + member.quotations_held)


def _slim_record(record: facts.DecisionRecorded) -> facts.DecisionRecorded:
    """Return what a process holds of a decision for as long as it lives: little, because there may be very many.

    What was argued is nearly all of a record, and only search reads it, from the ledger, as `verify` does the head. The same
    minds sit in most meetings.
    """
    kind, worth, kin, how = map(intern, (record.protocol, record.strength, record.consensus_type, record.agreement))
    members = tuple(map(_share_member, record.members))
    return replace(
        record, search_text="", head="", protocol=kind, strength=worth, consensus_type=kin, agreement=how, members=members
    )


@lru_cache(maxsize=MAX_SHARED)
def _share_member(member: facts.Member) -> facts.Member:
    """Return the first member that was equal to this one."""
    return member


def _remember_ask(book: MemoryState, fact: facts.SoloDecided | facts.SoloBlocked) -> None:
    if fact.key:
        book.asked.setdefault((fact.source, fact.key), fact)


def _apply_review(book: MemoryState, entry: Entry, fact: facts.OutcomeReviewed) -> None:
    reviewed = book.decisions.get(fact.decision_id)
    if reviewed is None:
        return
    review = copy_fields(OutcomeReview, fact, at=entry.at)
    book.decisions[fact.decision_id] = replace(reviewed, reviews=(*reviewed.reviews, review))
    _count_outcome(book.reliability, reviewed, fact.outcome)
    for source in reviewed.sources:
        book.reviewed.setdefault(source, {})[fact.decision_id] = None
    sources = reviewed.backers
    record = reviewed.record
    book.breakers = breakers.apply_review(
        book.breakers,
        decision=fact.decision_id,
        scopes=collect_scopes(
            category=record.category, stakes=record.stakes, tags=record.tags, source=sources[0] if len(sources) == 1 else ""
        ),
        sources=sources,
        before=reviewed.outcome,
        outcome=fact.outcome,
        at=entry.at,
    )


def _count_outcome(table: ReliabilityTable, decision: RememberedDecision, outcome: facts.Outcome) -> None:
    """Count the outcome of a decision in place of the one that was reviewed before."""
    for reviewed, times in ((decision.outcome, -1), (outcome, 1)):
        if reviewed in {"success", "failure"} and decision.record.text is not None:
            table.add(decision.kind, decision.record.confidence, is_right=reviewed == "success", times=times)
