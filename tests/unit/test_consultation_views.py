"""What people get to see of consultations: on their own, and as a part of another session's report."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.shapes import assert_same_shape
from tests.unit.test_consultation_rules import START, Room, asks_for

from moothall.domain.budget import Budget
from moothall.domain.causes import Cause
from moothall.domain.consult import ConsultRequest, ConsultRules
from moothall.domain.facts import CloseCalled, Entry, Fact, Language, SeatLost, SessionCancelled
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import Seat
from moothall.features.roundtable.plugin import ROUNDTABLE
from moothall.ports.plugin import Plan
from moothall.protocols.consultation.facts import Advice, ConsultationRequested
from moothall.protocols.consultation.plugin import (
    CONSULTATION,
    ConsultationSettings,
    open_session,
    wrap_with_consultations,
)
from moothall.protocols.consultation.rules import QuestionRulebook, QuestionRules
from moothall.reports.plain_text import render_decision_lines, render_lines
from moothall.reports.timeline import SessionTimeline
from moothall_testkit.snapshots import check_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
QUESTION = wrap_with_consultations(CONSULTATION)
CONFERENCE = wrap_with_consultations(ROUNDTABLE)
RULES = QuestionRulebook(QuestionRules())
ADVICE = Advice(
    answer="Two of them:\n\n- ARIMA\n- smoothing, for *short* series",
    notes="Check for stationarity first.",
    unsure_of="What the judges expect.",
    ask_instead="advisor",
)


class Question(Room):
    """A consultation on its own, played by hand."""

    def __init__(self) -> None:
        super().__init__(rules=RULES)
        settings = ConsultationSettings(
            background="The data is daily.\nTwo years of it.",
            understanding="ARIMA?",
            kind="confirmation",
        )
        plan = Plan(
            topic="Which methods forecast short series?",
            language="en",
            seed=1,
            seats=tuple(
                Seat(id=SeatId(name), platform="script:x") for name in ("modeler", "researcher")
            ),
            budget=Budget(),
            outside_patience=60.0,
            settings=settings,
        )
        self.opened = replace(open_session(plan), consult=ConsultRules(folder="/p", token="t"))  # type: ignore[assignment]
        self.put()


def _lose(room: Room) -> Fact:
    return SeatLost(
        ask=room.ask.id, seat=room.ask.seat, reason="timeout", cause=Cause(words="<b>late</b>")
    )


def _answered() -> Room:
    return Question().advises(ADVICE).files()


def _unknown() -> Room:
    return (
        Question()
        .advises(Advice(answer="I don't know.", known="unknown", ask_instead="advisor"))
        .files()
    )


def _failed() -> Room:
    room = Question()
    return room.put(_lose(room)).files()


def _nested() -> Room:
    """Whoever is asked would ask another, and is told to answer."""
    return Question().requests(asks_for("modeler", "What is the series?")).advises(ADVICE).files()


def _called() -> Room:
    return Question().put(CloseCalled()).files()


def _cancelled() -> Room:
    return Question().put(SessionCancelled(reason="Asked elsewhere."))


EXAMPLES: dict[str, Callable[[], Room]] = {
    "answered": _answered,
    "unknown": _unknown,
    "failed": _failed,
    "nested": _nested,
    "waiting": Question,
    "called": _called,
    "cancelled": _cancelled,
}


def _conference() -> Room:
    """A conference with a consultation of each outcome."""
    room = Room(per_seat=3, per_session=9).put()
    whole = ConsultRequest(
        to="bob", question="What does it cost?", background="No price.", understanding="Five?"
    )
    room.requests(whole).advises(ADVICE).files().requests(asks_for("ada")).speaks()
    room.requests(asks_for("cy", "Why <i>now</i>?"))
    return room.put(_lose(room)).files(8).speaks()


def _tell(room: Room, language: Language = "en", entries: int | None = None) -> SessionTimeline:
    """The session after so many entries; all of them unless said otherwise."""
    timeline = (QUESTION if isinstance(room, Question) else CONFERENCE).timeline(SessionId("s"))
    assert isinstance(timeline, SessionTimeline)
    for at, fact in enumerate([replace(room.opened, language=language), *room.facts][:entries]):
        timeline.add(Entry(seq=at + 1, at=START + timedelta(seconds=at), fact=fact))
    return timeline


@pytest.mark.parametrize("name", ["answered", "failed", "nested"])
def test_page_and_minutes_of_a_question_read_as_they_did(name: str) -> None:
    """C-7"""
    timeline = _tell(EXAMPLES[name]())
    check_snapshot(
        SNAPSHOTS / f"page_consultation_{name}_en.html", QUESTION.export(timeline, "html")
    )
    check_snapshot(
        SNAPSHOTS / f"minutes_consultation_{name}_en.md", QUESTION.export(timeline, "minutes")
    )
    chinese = _tell(EXAMPLES[name](), "zh")
    assert_same_shape(QUESTION.report(timeline), QUESTION.report(chinese))


def test_chinese_minutes_of_a_question_read_as_they_did() -> None:
    """C-7: one session has all the words of its form."""
    check_snapshot(
        SNAPSHOTS / "minutes_consultation_nested_zh.md",
        QUESTION.export(_tell(EXAMPLES["nested"](), "zh"), "minutes"),
    )


def test_page_and_minutes_of_a_conference_with_consultations_read_as_they_did() -> None:
    """C-7: all parts of request and reply; who failed, who was refused, and why."""
    timeline, chinese = _tell(_conference()), _tell(_conference(), "zh")
    check_snapshot(SNAPSHOTS / "page_consulting_en.html", CONFERENCE.export(timeline, "html"))
    check_snapshot(SNAPSHOTS / "minutes_consulting_en.md", CONFERENCE.export(timeline, "minutes"))
    assert_same_shape(CONFERENCE.report(timeline), CONFERENCE.report(chinese))


@pytest.mark.parametrize("name", EXAMPLES)
def test_there_is_a_report_at_every_moment(name: str) -> None:
    room = EXAMPLES[name]()
    for entries in range(1, len(room.facts) + 2):
        timeline = _tell(room, entries=entries)
        assert QUESTION.export(timeline, "html").endswith("</html>\n")
        assert QUESTION.export(timeline, "minutes").startswith(
            "# Consultation: modeler → researcher: "
        )


NEXT = "Next: ask again with changes, or go on from before the end: `moot fork s`."


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "answered",
            [
                "researcher answers modeler: Two of them: ARIMA; smoothing, for short series.",
                "researcher is unsure: What the judges expect. Ask advisor.",
            ],
        ),
        ("unknown", ["researcher does not know; ask advisor.", NEXT]),
        ("failed", ["No answer from researcher (not in time).", NEXT]),
        ("waiting", ["Still open; nothing is decided yet."]),
        ("called", ["No answer from researcher.", NEXT]),
        ("cancelled", ["Cancelled before a decision: “Asked elsewhere.”"]),
    ],
)
def test_the_terminal_shows_the_answer_or_why_there_is_none(name: str, lines: list[str]) -> None:
    """C-7, T-2"""
    shown = [line.text for line in render_decision_lines(QUESTION.report(_tell(EXAMPLES[name]())))]
    assert shown == lines


def test_why_consultations_came_to_nothing_is_told_in_one_line() -> None:
    """C-2, C-6"""
    shown = render_lines(CONFERENCE.report(_tell(_conference())).argument)[-1]
    assert shown.text == (
        "Consultations: 2, consultation failed: 1 (no answer in time), consultation refused: 1 (nobody consults themselves)"
        " · docs/consultation/7_a_b.md, docs/consultation/7_a_b.md"
    )


def test_a_question_on_its_own_is_shown_once_beside_the_title() -> None:
    """The page has its title and its heading; the answer stands once."""
    page = QUESTION.export(_tell(_answered()), "html")
    assert page.count("Which methods forecast short series?") == 3
    assert page.count("Check for stationarity first.") == 1


def test_what_is_asked_and_answered_is_no_markup_of_the_page() -> None:
    evil = "<script>alert(1)</script>"
    room = Room(per_seat=3).put()
    room.requests(ConsultRequest(to="bob", question=evil, background=evil, understanding=evil))
    room.advises(Advice(answer=evil, notes=evil, unsure_of=evil, ask_instead=evil)).files()
    room.put(ConsultationRequested(ask=room.ask.id, seat=room.ask.seat, said=asks_for(evil, evil)))
    page = CONFERENCE.export(_tell(room), "html")
    assert "<script" not in page
    # Seven parts; the refused question, and twice the name of whom it was for.
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 10
