"""D-16: a thread is taken up again after days, and who comes back gets what was missed."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta

from moothall.domain.facts import Entry, Fact
from moothall.memory.facts import (
    DecisionRecorded,
    OutcomeReviewed,
    ThreadCreated,
    ThreadJoined,
    ThreadQuestioned,
    ThreadQuestionSettled,
    ThreadStatusSet,
    ThreadVisited,
)
from moothall.memory.remembered_decision import RememberedDecision
from moothall.memory.threads import (
    EventCount,
    ThreadDecision,
    ThreadEvent,
    ThreadQuestion,
    Threads,
    build_catch_up,
    build_thread_view,
    evolve,
)

START = datetime(2025, 3, 1, tzinfo=UTC)
CREATED = ThreadCreated(thread="t", title="Storage", category="web", by="ada")


def at(seq: int) -> datetime:
    return START + timedelta(hours=seq)


def folded(*facts: Fact) -> Threads:
    threads = Threads()
    for seq, fact in enumerate(facts, 1):
        evolve(threads, Entry(seq, at(seq), fact))
    return threads


def kept(
    decision: str = "s1", thread: str = "t", questions: tuple[str, ...] = ()
) -> DecisionRecorded:
    return DecisionRecorded(
        session=decision,
        protocol="debate",
        topic="Which store?",
        thread=thread,
        text="SQLite",
        open_questions=questions,
        opened_at=START,
        closed_at=START,
    )


def test_the_first_visit_shows_everything() -> None:
    threads = folded(CREATED, ThreadJoined(thread="t", session="s1"))
    found = build_catch_up(threads.threads["t"], "bob", {})
    assert found.last_visit is None
    assert found.missed == (
        ThreadEvent(seq=1, at=at(1), kind="created", text="Storage", by="ada"),
        ThreadEvent(seq=2, at=at(2), kind="joined", decision_id="s1"),
    )
    assert found.view.decisions == (ThreadDecision(decision_id="s1"),)


def test_a_session_of_a_thread_is_decided_once_memory_has_its_decision() -> None:
    threads = folded(
        CREATED, ThreadJoined(thread="t", session="s1"), ThreadJoined(thread="t", session="s2")
    )
    known = {"s1": RememberedDecision(number=1, at=START, record=kept())}
    decided, running = build_thread_view(threads.threads["t"], known).decisions
    assert (decided.decision_id, decided.is_decided, decided.decision) == ("s1", True, "SQLite")
    assert running == ThreadDecision(decision_id="s2", is_decided=False)


def test_who_comes_back_gets_what_was_missed_in_full_and_counted() -> None:
    threads = folded(
        CREATED,
        ThreadJoined(thread="t", session="s1"),
        ThreadVisited(thread="t", seat="bob"),
        ThreadVisited(thread="t", seat="ada"),
        kept(),
        ThreadQuestioned(thread="t", question="And backups?", by="ada"),
        ThreadQuestioned(thread="t", question="And costs?", by="ada"),
        OutcomeReviewed(decision_id="s1", outcome="success", by="eve"),
    )
    found = build_catch_up(threads.threads["t"], "bob", {})
    assert found.last_visit == at(3)
    assert found.missed == (
        ThreadEvent(seq=5, at=at(5), kind="decided", text="SQLite", decision_id="s1"),
        ThreadEvent(seq=6, at=at(6), kind="asked", text="And backups?", by="ada", question=1),
        ThreadEvent(seq=7, at=at(7), kind="asked", text="And costs?", by="ada", question=2),
        ThreadEvent(seq=8, at=at(8), kind="reviewed", text="success", by="eve", decision_id="s1"),
    )
    assert found.counts == (
        EventCount(kind="decided", number=1),
        EventCount(kind="asked", number=2),
        EventCount(kind="reviewed", number=1),
    )


def test_a_visit_is_the_seats_own() -> None:
    threads = folded(CREATED, ThreadVisited(thread="t", seat="bob"))
    assert build_catch_up(threads.threads["t"], "bob", {}).missed == ()
    assert len(build_catch_up(threads.threads["t"], "eve", {}).missed) == 1


def test_a_kept_decision_joins_its_thread_and_leaves_its_questions_there() -> None:
    thread = folded(CREATED, kept(questions=("At scale?",))).threads["t"]
    assert list(thread.decisions) == ["s1"]
    assert build_thread_view(thread, {}).open_questions == (
        ThreadQuestion(number=1, text="At scale?", by="s1", asked_at=at(2)),
    )


def test_a_settled_question_is_open_no_more() -> None:
    thread = folded(
        CREATED,
        ThreadQuestioned(thread="t", question="Why?"),
        ThreadQuestioned(thread="t", question="How?"),
        ThreadQuestionSettled(thread="t", number=1, by="bob"),
    ).threads["t"]
    found = build_thread_view(thread, {})
    assert [question.text for question in found.open_questions] == ["How?"]
    assert found.settled_questions == (
        ThreadQuestion(
            number=1, text="Why?", by="", asked_at=at(2), settled_by="bob", settled_at=at(4)
        ),
    )


def test_a_status_is_shown_with_its_note() -> None:
    thread = folded(
        CREATED, ThreadStatusSet(thread="t", status="blocked", note="no budget", by="eve")
    ).threads["t"]
    assert (thread.status, thread.note) == ("blocked", "no budget")
    assert thread.happenings[-1].text == "blocked: no budget"


def test_what_concerns_no_known_thread_changes_nothing() -> None:
    known = folded(CREATED)
    for fact in (
        ThreadJoined(thread="x", session="s"),
        ThreadStatusSet(thread="x", status="paused"),
        ThreadQuestioned(thread="x", question="?"),
        ThreadQuestionSettled(thread="x", number=1),
        ThreadQuestionSettled(thread="t", number=1),
        ThreadQuestionSettled(thread="t", number=0),
        ThreadVisited(thread="x", seat="bob"),
        OutcomeReviewed(decision_id="s", outcome="failure"),
        kept(thread="x"),
        kept(thread=""),
        CREATED,
    ):
        after = deepcopy(known)
        evolve(after, Entry(2, at(2), fact))
        assert after == known


def test_joining_twice_is_joining_once() -> None:
    join = ThreadJoined(thread="t", session="s1")
    assert folded(CREATED, join, join) == folded(CREATED, join)


def test_an_entry_is_added_to_a_long_thread_without_a_copy_of_what_came_before() -> None:
    """D-16: thousands of events fold in linear time."""
    threads = folded(CREATED)
    happenings, questions = threads.threads["t"].happenings, threads.threads["t"].questions
    evolve(threads, Entry(2, at(2), ThreadQuestioned(thread="t", question="Why?")))
    after = threads.threads["t"]
    assert (len(happenings), len(questions)) == (2, 1)
    assert after.happenings is happenings
    assert after.questions is questions
