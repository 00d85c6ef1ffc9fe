"""Threads: lines of reasoning that several sessions follow over days, and what a returning seat has missed (D-16)."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal

from moothall.domain.facts import Entry
from moothall.domain.replace import copy_fields
from moothall.memory import facts
from moothall.memory.remembered_decision import RememberedDecision, RememberedObligation, list_obligations

ThreadEventKind = Literal["created", "joined", "decided", "reviewed", "status", "asked", "settled", "obligation"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadEvent:
    seq: int
    at: datetime
    kind: ThreadEventKind
    text: str = ""
    by: str = ""
    decision_id: str = ""
    question: int = 0
    """The number of the question that it concerns, or 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadQuestion:
    """A question that was left open; `settled_at` is None while it is."""

    number: int
    text: str
    by: str
    asked_at: datetime
    settled_by: str = ""
    settled_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadVisit:
    seat: str
    seq: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    thread: str
    title: str
    category: str
    by: str
    created_at: datetime
    status: facts.ThreadStatus = "active"
    note: str = ""
    decisions: tuple[str, ...] = ()
    questions: tuple[ThreadQuestion, ...] = ()
    happenings: tuple[ThreadEvent, ...] = ()
    visits: tuple[ThreadVisit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """All threads in order of creation, and the threads that each session belongs to; `evolve` changes both in place."""

    threads: dict[str, Thread] = field(default_factory=dict)
    belongs: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDecision:
    decision_id: str
    is_decided: bool = False
    """False until the session has ended."""
    topic: str = ""
    decision: str | None = None
    confidence: float | None = None
    outcome: facts.Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadView:
    thread: str
    title: str
    category: str
    by: str
    status: facts.ThreadStatus
    note: str
    created_at: datetime
    changed_at: datetime
    decisions: tuple[ThreadDecision, ...]
    open_questions: tuple[ThreadQuestion, ...]
    settled_questions: tuple[ThreadQuestion, ...]
    happenings: int
    open_obligations: tuple[RememberedObligation, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventCount:
    kind: ThreadEventKind
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadCatchUp:
    """What a returning seat receives. `last_visit` is None on the first visit; then everything was missed."""

    view: ThreadView
    seat: str
    last_visit: datetime | None
    missed: tuple[ThreadEvent, ...]
    counts: tuple[EventCount, ...]
    visit: ThreadVisit | None = None


def evolve(threads: Threads, entry: Entry) -> Threads:
    """Return the threads after one more entry; facts about an unknown thread change nothing."""
    match entry.fact:
        case facts.ThreadCreated() as fact:
            return _apply_creation(threads, entry, fact)
        case facts.ThreadJoined(thread=thread, session=decision):
            return _apply_join(threads, entry, thread, decision)
        case facts.DecisionRecorded() as fact:
            return _apply_decision(_apply_join(threads, entry, fact.thread, fact.session), entry, fact)
        case facts.OutcomeReviewed() as fact:
            happened = _build_event(entry, "reviewed", text=fact.outcome, by=fact.by, decision=fact.decision_id)
            return _add_event_to_threads(threads, fact.decision_id, happened)
        case facts.ObligationSettled(decision_id=decision) as fact:
            text = f"{fact.number} {fact.state}" + (f": {fact.note}" if fact.note else "")
            return _add_event_to_threads(
                threads, decision, _build_event(entry, "obligation", text=text, by=fact.by, decision=decision)
            )
        case (
            facts.ThreadStatusSet(thread=name)
            | facts.ThreadQuestioned(thread=name)
            | facts.ThreadQuestionSettled(thread=name)
            | facts.ThreadVisited(thread=name)
        ) if name in threads.threads:
            return _with_thread(threads, _evolve_thread(threads.threads[name], entry))
        case _:
            return threads


def build_thread_view(thread: Thread, decisions: Mapping[str, RememberedDecision]) -> ThreadView:
    """Return the current state of a thread, with what is known of its sessions."""
    return copy_fields(
        ThreadView,
        thread,
        changed_at=thread.happenings[-1].at,
        decisions=tuple(_build_thread_decision(name, decisions.get(name)) for name in thread.decisions),
        open_questions=tuple(question for question in thread.questions if question.settled_at is None),
        settled_questions=tuple(question for question in thread.questions if question.settled_at is not None),
        happenings=len(thread.happenings),
        open_obligations=tuple(
            each
            for name in thread.decisions
            if name in decisions
            for each in list_obligations(decisions[name])
            if each.state == "open"
        ),
    )


def build_catch_up(thread: Thread, seat: str, decisions: Mapping[str, RememberedDecision]) -> ThreadCatchUp:
    """Return the state of a thread, and what happened in it since the seat's last visit."""
    return build_catch_up_since(thread, seat, decisions, next((visit for visit in thread.visits if visit.seat == seat), None))


def build_catch_up_since(
    thread: Thread, seat: str, decisions: Mapping[str, RememberedDecision], visit: ThreadVisit | None, most: int | None = None
) -> ThreadCatchUp:
    """Return the state of a thread, and the first `most` events in it since one visit of the seat's; None: all."""
    # By number and not by time: several entries can have the same time.
    missed = tuple(one for one in thread.happenings if visit is None or one.seq > visit.seq)[:most]
    kinds = dict.fromkeys(one.kind for one in missed)
    return ThreadCatchUp(
        view=build_thread_view(thread, decisions),
        seat=seat,
        last_visit=visit.at if visit else None,
        missed=missed,
        counts=tuple(EventCount(kind=kind, number=sum(one.kind == kind for one in missed)) for kind in kinds),
        visit=visit,
    )


def _build_thread_decision(name: str, remembered: RememberedDecision | None) -> ThreadDecision:
    if remembered is None:
        return ThreadDecision(decision_id=name)
    decided = remembered.record.text
    return copy_fields(
        ThreadDecision, remembered.record, decision_id=name, is_decided=True, decision=decided, outcome=remembered.outcome
    )


def _build_event(
    entry: Entry, kind: ThreadEventKind, *, text: str = "", by: str = "", decision: str = "", question: int = 0
) -> ThreadEvent:
    return ThreadEvent(seq=entry.seq, at=entry.at, kind=kind, text=text, by=by, decision_id=decision, question=question)


def _with_thread(threads: Threads, thread: Thread) -> Threads:
    threads.threads[thread.thread] = thread
    return threads


def _with_event(thread: Thread, happened: ThreadEvent) -> Thread:
    return replace(thread, happenings=(*thread.happenings, happened))


def _add_event_to_threads(threads: Threads, decision: str, happened: ThreadEvent) -> Threads:
    for name in threads.belongs.get(decision, ()):
        threads = _with_thread(threads, _with_event(threads.threads[name], happened))
    return threads


def _apply_creation(threads: Threads, entry: Entry, fact: facts.ThreadCreated) -> Threads:
    if fact.thread in threads.threads:
        return threads
    thread = Thread(thread=fact.thread, title=fact.title, category=fact.category, by=fact.by, created_at=entry.at)
    return _with_thread(threads, _with_event(thread, _build_event(entry, "created", text=fact.title, by=fact.by)))


def _apply_join(threads: Threads, entry: Entry, name: str, decision: str) -> Threads:
    thread = threads.threads.get(name)
    if thread is None or decision in thread.decisions:
        return threads
    joined = _with_event(
        replace(thread, decisions=(*thread.decisions, decision)), _build_event(entry, "joined", decision=decision)
    )
    threads.belongs[decision] = (*threads.belongs.get(decision, ()), name)
    return _with_thread(threads, joined)


def _apply_decision(threads: Threads, entry: Entry, fact: facts.DecisionRecorded) -> Threads:
    """Record the end of a session: the questions that it left open become open in its threads."""
    threads = _add_event_to_threads(
        threads, fact.session, _build_event(entry, "decided", text=fact.text or "", decision=fact.session)
    )
    for name in threads.belongs.get(fact.session, ()):
        thread = threads.threads[name]
        for question in fact.open_questions:
            thread = _with_question(thread, entry, question, fact.session)
        threads = _with_thread(threads, thread)
    return threads


def _with_question(thread: Thread, entry: Entry, text: str, by: str) -> Thread:
    number = len(thread.questions) + 1
    question = ThreadQuestion(number=number, text=text, by=by, asked_at=entry.at)
    happened = _build_event(entry, "asked", text=text, by=by, question=number)
    return _with_event(replace(thread, questions=(*thread.questions, question)), happened)


def _evolve_thread(thread: Thread, entry: Entry) -> Thread:
    """Return a thread after one more entry that names it."""
    match entry.fact:
        case facts.ThreadStatusSet(status=status, note=note, by=by):
            happened = _build_event(entry, "status", text=f"{status}: {note}" if note else status, by=by)
            return _with_event(replace(thread, status=status, note=note), happened)
        case facts.ThreadQuestioned(question=question, by=by):
            return _with_question(thread, entry, question, by)
        case facts.ThreadQuestionSettled(number=number, by=by) if 1 <= number <= len(thread.questions):
            asked = thread.questions[number - 1]
            settled = replace(asked, settled_by=by, settled_at=entry.at)
            questions = tuple(settled if one is asked else one for one in thread.questions)
            happened = _build_event(entry, "settled", text=asked.text, by=by, question=asked.number)
            return _with_event(replace(thread, questions=questions), happened)
        case facts.ThreadVisited(seat=seat):
            others = tuple(visit for visit in thread.visits if visit.seat != seat)
            return replace(thread, visits=(*others, ThreadVisit(seat=seat, seq=entry.seq, at=entry.at)))
        case _:
            return thread
