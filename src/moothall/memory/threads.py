"""Threads: lines of reasoning that several sessions follow over days, and what a returning seat has missed (D-16)."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import Literal

from moothall.domain.facts import Entry
from moothall.domain.replace import copy_fields, dataclass
from moothall.domain.roster import StandIn
from moothall.memory import facts
from moothall.memory.remembered_decision import (
    RememberedDecision,
    RememberedObligation,
    list_obligations,
)

ThreadEventKind = Literal[
    "created",
    "joined",
    "decided",
    "undecided",
    "reviewed",
    "status",
    "asked",
    "settled",
    "obligation",
]


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


@dataclass(slots=True, kw_only=True)
class Thread:
    """Only `evolve` changes it, in place: a copy per entry would cost its whole length."""

    thread: str
    title: str
    category: str
    by: str
    created_at: datetime
    status: facts.ThreadStatus = "active"
    note: str = ""
    decisions: dict[str, None] = field(default_factory=dict)
    questions: list[ThreadQuestion] = field(default_factory=list)
    happenings: list[ThreadEvent] = field(default_factory=list)
    visits: dict[str, ThreadVisit] = field(default_factory=dict)
    """The last one of each seat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Threads:
    """All threads in order of creation, and the threads that each session belongs to; `evolve` changes both in place."""

    threads: dict[str, Thread] = field(default_factory=dict)
    belongs: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadDecision:
    decision_id: str
    has_ended: bool = False
    is_decided: bool = False
    """Whether it came to a decision: false while it goes on, and of one that ended undecided."""
    stand_in: StandIn = ""
    """What spoke in it in place of minds."""
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


def evolve(threads: Threads, entry: Entry) -> None:
    """Apply one more entry; facts about an unknown thread change nothing."""
    match entry.fact:
        case facts.ThreadCreated() as fact if fact.thread not in threads.threads:
            threads.threads[fact.thread] = copy_fields(Thread, fact, created_at=entry.at)
            threads.threads[fact.thread].happenings.append(
                _build_event(entry, "created", text=fact.title, by=fact.by)
            )
        case facts.ThreadJoined(thread=thread, session=decision):
            _apply_join(threads, entry, thread, decision)
        case facts.DecisionRecorded() as fact:
            _apply_join(threads, entry, fact.thread, fact.session)
            kind: ThreadEventKind = "undecided" if fact.text is None else "decided"
            ended = _build_event(entry, kind, text=fact.text or "", decision=fact.session)
            _add_event_to_threads(threads, fact.session, ended)
            # The questions that the session left open become open in its threads.
            for name in threads.belongs.get(fact.session, ()):
                for question in fact.open_questions:
                    _add_question(threads.threads[name], entry, question, fact.session)
        case facts.OutcomeReviewed() as fact:
            happened = _build_event(
                entry, "reviewed", text=fact.outcome, by=fact.by, decision=fact.decision_id
            )
            _add_event_to_threads(threads, fact.decision_id, happened)
        case facts.ObligationSettled(decision_id=decision) as fact:
            text = f"{fact.number} {fact.state}" + (f": {fact.note}" if fact.note else "")
            _add_event_to_threads(
                threads,
                decision,
                _build_event(entry, "obligation", text=text, by=fact.by, decision=decision),
            )
        case facts.ThreadFact(thread=name) if name in threads.threads:
            _evolve_thread(threads.threads[name], entry)


def build_thread_view(thread: Thread, decisions: Mapping[str, RememberedDecision]) -> ThreadView:
    """Return the current state of a thread, with what is known of its sessions."""
    open_obligations: list[RememberedObligation] = []
    for name in thread.decisions:
        if name in decisions:
            listed = list_obligations(decisions[name])
            open_obligations += [each for each in listed if each.state == "open"]
    listed_decisions = [
        _build_thread_decision(name, decisions.get(name)) for name in thread.decisions
    ]
    open_questions, settled_questions = [], []
    for question in thread.questions:
        if question.settled_at is None:
            open_questions.append(question)
        else:
            settled_questions.append(question)
    return copy_fields(
        ThreadView,
        thread,
        changed_at=thread.happenings[-1].at,
        decisions=tuple(listed_decisions),
        open_questions=tuple(open_questions),
        settled_questions=tuple(settled_questions),
        happenings=len(thread.happenings),
        open_obligations=tuple(open_obligations),
    )


def build_catch_up(
    thread: Thread, seat: str, decisions: Mapping[str, RememberedDecision]
) -> ThreadCatchUp:
    """Return the state of a thread, and what happened in it since the seat's last visit."""
    return build_catch_up_since(thread, seat, decisions, thread.visits.get(seat))


def build_catch_up_since(
    thread: Thread,
    seat: str,
    decisions: Mapping[str, RememberedDecision],
    visit: ThreadVisit | None,
    most: int | None = None,
) -> ThreadCatchUp:
    """Return the state of a thread, and the first `most` events in it since one visit of the seat's; None: all."""
    # By number and not by time: several entries can have the same time.
    missed = tuple(one for one in thread.happenings if visit is None or one.seq > visit.seq)[:most]
    by_kind = Counter(one.kind for one in missed)
    return ThreadCatchUp(
        view=build_thread_view(thread, decisions),
        seat=seat,
        last_visit=visit.at if visit else None,
        missed=missed,
        counts=tuple(EventCount(kind=kind, number=number) for kind, number in by_kind.items()),
        visit=visit,
    )


def _build_thread_decision(name: str, remembered: RememberedDecision | None) -> ThreadDecision:
    if remembered is None:
        return ThreadDecision(decision_id=name)
    is_decided = remembered.is_decision
    return copy_fields(
        ThreadDecision,
        remembered.record,
        decision_id=name,
        has_ended=True,
        is_decided=is_decided,
        stand_in=remembered.stand_in,
        decision=remembered.record.text if is_decided else None,
        outcome=remembered.outcome,
    )


def _build_event(
    entry: Entry,
    kind: ThreadEventKind,
    *,
    text: str = "",
    by: str = "",
    decision: str = "",
    question: int = 0,
) -> ThreadEvent:
    return ThreadEvent(
        seq=entry.seq,
        at=entry.at,
        kind=kind,
        text=text,
        by=by,
        decision_id=decision,
        question=question,
    )


def _add_event_to_threads(threads: Threads, decision: str, happened: ThreadEvent) -> None:
    for name in threads.belongs.get(decision, ()):
        threads.threads[name].happenings.append(happened)


def _apply_join(threads: Threads, entry: Entry, name: str, decision: str) -> None:
    thread = threads.threads.get(name)
    if thread is not None and decision not in thread.decisions:
        thread.decisions[decision] = None
        thread.happenings.append(_build_event(entry, "joined", decision=decision))
        threads.belongs[decision] = (*threads.belongs.get(decision, ()), name)


def _add_question(thread: Thread, entry: Entry, text: str, by: str) -> None:
    number = len(thread.questions) + 1
    thread.questions.append(ThreadQuestion(number=number, text=text, by=by, asked_at=entry.at))
    thread.happenings.append(_build_event(entry, "asked", text=text, by=by, question=number))


def _evolve_thread(thread: Thread, entry: Entry) -> None:
    """Apply one more entry that names the thread."""
    match entry.fact:
        case facts.ThreadStatusSet(status=status, note=note, by=by):
            thread.status, thread.note = status, note
            thread.happenings.append(
                _build_event(entry, "status", text=f"{status}: {note}" if note else status, by=by)
            )
        case facts.ThreadQuestioned(question=question, by=by):
            _add_question(thread, entry, question, by)
        case facts.ThreadQuestionSettled(number=number, by=by) if (
            1 <= number <= len(thread.questions)
        ):
            asked = thread.questions[number - 1]
            thread.questions[number - 1] = replace(asked, settled_by=by, settled_at=entry.at)
            thread.happenings.append(
                _build_event(entry, "settled", text=asked.text, by=by, question=number)
            )
        case facts.ThreadVisited(seat=seat):
            thread.visits[seat] = ThreadVisit(seat=seat, seq=entry.seq, at=entry.at)
