"""Threads: lines of reasoning that several sessions follow over days, and what one who comes back has missed (D-16)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from moot.decisions.facts import (
    DecisionKept,
    Outcome,
    OutcomeReviewed,
    ThreadCreated,
    ThreadJoined,
    ThreadQuestioned,
    ThreadQuestionSettled,
    ThreadStatus,
    ThreadStatusSet,
    ThreadVisited,
)
from moot.decisions.kept import Kept
from moot.domain.facts import Entry

Kind = Literal["created", "joined", "decided", "reviewed", "status", "asked", "settled"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One thing that happened in a thread. `question` is the number of the question that it concerns, 0 for none."""

    seq: int
    at: datetime
    kind: Kind
    text: str = ""
    by: str = ""
    decision: str = ""
    question: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that was left open; `settled_at` is None while it is."""

    number: int
    text: str
    by: str
    asked_at: datetime
    settled_by: str = ""
    settled_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    seat: str
    seq: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A thread as it is folded."""

    thread: str
    title: str
    category: str
    by: str
    created_at: datetime
    status: ThreadStatus = "active"
    note: str = ""
    decisions: tuple[str, ...] = ()
    questions: tuple[Question, ...] = ()
    happenings: tuple[Happening, ...] = ()
    visits: tuple[Visit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """All threads, in the order in which they were created, and which of them each session belongs to."""

    threads: Mapping[str, Thread] = field(default_factory=dict)
    belongs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDecision:
    """A session of a thread; `is_kept` is False while it has not ended."""

    decision: str
    is_kept: bool = False
    topic: str = ""
    decided: str | None = None
    confidence: float | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    """Where a thread stands."""

    thread: str
    title: str
    category: str
    by: str
    status: ThreadStatus
    note: str
    created_at: datetime
    changed_at: datetime
    decisions: tuple[ThreadDecision, ...]
    open_questions: tuple[Question, ...]
    settled_questions: tuple[Question, ...]
    happenings: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    kind: Kind
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """What one who comes back gets. `last_visit` is None at the first; then everything was missed."""

    view: ThreadView
    seat: str
    last_visit: datetime | None
    missed: tuple[Happening, ...]
    counts: tuple[Count, ...]


def evolve(threads: Threads, entry: Entry) -> Threads:
    """The threads after one more entry; what concerns an unknown thread changes nothing."""
    match entry.fact:
        case ThreadCreated() as fact:
            return _created(threads, entry, fact)
        case ThreadJoined(thread=thread, decision=decision):
            return _joined(threads, entry, thread, decision)
        case DecisionKept() as fact:
            return _decided(_joined(threads, entry, fact.thread, fact.decision), entry, fact)
        case OutcomeReviewed() as fact:
            happened = _happening(entry, "reviewed", text=fact.outcome, by=fact.by, decision=fact.decision)
            return _in_each(threads, fact.decision, happened)
        case ThreadStatusSet() as fact:
            return _status_set(threads, entry, fact)
        case ThreadQuestioned() as fact:
            found = threads.threads.get(fact.thread)
            return _put(threads, _asked(found, entry, fact.question, fact.by)) if found else threads
        case ThreadQuestionSettled() as fact:
            return _settled(threads, entry, fact)
        case ThreadVisited() as fact:
            return _visited(threads, entry, fact)
        case _:
            return threads


def view(thread: Thread, decisions: Mapping[str, Kept]) -> ThreadView:
    """Where a thread stands, with what is known of its sessions."""
    return ThreadView(
        thread=thread.thread,
        title=thread.title,
        category=thread.category,
        by=thread.by,
        status=thread.status,
        note=thread.note,
        created_at=thread.created_at,
        changed_at=thread.happenings[-1].at,
        decisions=tuple(_decision(name, decisions.get(name)) for name in thread.decisions),
        open_questions=tuple(question for question in thread.questions if question.settled_at is None),
        settled_questions=tuple(question for question in thread.questions if question.settled_at is not None),
        happenings=len(thread.happenings),
    )


def resumed(thread: Thread, seat: str, decisions: Mapping[str, Kept]) -> Resumed:
    """Where a thread stands, and what happened in it since the seat's last visit."""
    visit = next((visit for visit in thread.visits if visit.seat == seat), None)
    missed = tuple(one for one in thread.happenings if visit is None or one.seq > visit.seq)
    kinds = dict.fromkeys(one.kind for one in missed)
    return Resumed(
        view=view(thread, decisions),
        seat=seat,
        last_visit=visit.at if visit else None,
        missed=missed,
        counts=tuple(Count(kind=kind, number=sum(one.kind == kind for one in missed)) for kind in kinds),
    )


def _decision(name: str, kept: Kept | None) -> ThreadDecision:
    if kept is None:
        return ThreadDecision(decision=name)
    record = kept.record
    return ThreadDecision(
        decision=name,
        is_kept=True,
        topic=record.topic,
        decided=record.decided,
        confidence=record.confidence,
        outcome=kept.outcome,
    )


def _happening(entry: Entry, kind: Kind, *, text: str = "", by: str = "", decision: str = "", question: int = 0) -> Happening:
    return Happening(seq=entry.seq, at=entry.at, kind=kind, text=text, by=by, decision=decision, question=question)


def _put(threads: Threads, thread: Thread) -> Threads:
    return replace(threads, threads={**threads.threads, thread.thread: thread})


def _with(thread: Thread, happened: Happening) -> Thread:
    return replace(thread, happenings=(*thread.happenings, happened))


def _in_each(threads: Threads, decision: str, happened: Happening) -> Threads:
    for name in threads.belongs.get(decision, ()):
        threads = _put(threads, _with(threads.threads[name], happened))
    return threads


def _created(threads: Threads, entry: Entry, fact: ThreadCreated) -> Threads:
    if fact.thread in threads.threads:
        return threads
    thread = Thread(thread=fact.thread, title=fact.title, category=fact.category, by=fact.by, created_at=entry.at)
    return _put(threads, _with(thread, _happening(entry, "created", text=fact.title, by=fact.by)))


def _joined(threads: Threads, entry: Entry, name: str, decision: str) -> Threads:
    thread = threads.threads.get(name)
    if thread is None or decision in thread.decisions:
        return threads
    joined = _with(replace(thread, decisions=(*thread.decisions, decision)), _happening(entry, "joined", decision=decision))
    belongs = {**threads.belongs, decision: (*threads.belongs.get(decision, ()), name)}
    return replace(_put(threads, joined), belongs=belongs)


def _decided(threads: Threads, entry: Entry, fact: DecisionKept) -> Threads:
    """A session ended: the questions that it left open are open in its threads."""
    threads = _in_each(threads, fact.decision, _happening(entry, "decided", text=fact.decided or "", decision=fact.decision))
    for name in threads.belongs.get(fact.decision, ()):
        thread = threads.threads[name]
        for question in fact.open_questions:
            thread = _asked(thread, entry, question, fact.decision)
        threads = _put(threads, thread)
    return threads


def _asked(thread: Thread, entry: Entry, text: str, by: str) -> Thread:
    number = len(thread.questions) + 1
    question = Question(number=number, text=text, by=by, asked_at=entry.at)
    happened = _happening(entry, "asked", text=text, by=by, question=number)
    return _with(replace(thread, questions=(*thread.questions, question)), happened)


def _status_set(threads: Threads, entry: Entry, fact: ThreadStatusSet) -> Threads:
    thread = threads.threads.get(fact.thread)
    if thread is None:
        return threads
    text = f"{fact.status}: {fact.note}" if fact.note else fact.status
    happened = _happening(entry, "status", text=text, by=fact.by)
    return _put(threads, _with(replace(thread, status=fact.status, note=fact.note), happened))


def _settled(threads: Threads, entry: Entry, fact: ThreadQuestionSettled) -> Threads:
    thread = threads.threads.get(fact.thread)
    if thread is None or not 1 <= fact.question <= len(thread.questions):
        return threads
    asked = thread.questions[fact.question - 1]
    settled = replace(asked, settled_by=fact.by, settled_at=entry.at)
    questions = tuple(settled if one is asked else one for one in thread.questions)
    happened = _happening(entry, "settled", text=asked.text, by=fact.by, question=asked.number)
    return _put(threads, _with(replace(thread, questions=questions), happened))


def _visited(threads: Threads, entry: Entry, fact: ThreadVisited) -> Threads:
    thread = threads.threads.get(fact.thread)
    if thread is None:
        return threads
    others = tuple(visit for visit in thread.visits if visit.seat != fact.seat)
    return _put(threads, replace(thread, visits=(*others, Visit(seat=fact.seat, seq=entry.seq, at=entry.at))))
