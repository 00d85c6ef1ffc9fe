"""What people get to see of a pipeline: page, minutes and terminal lines, at every moment of it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.support.shapes import assert_same_shape
from tests.unit.test_pipeline_rules import CHECK, MODEL, PAPER, START, Line

from moothall.domain.causes import Cause
from moothall.domain.facts import Entry, InputGiven, Language, SeatLost, SessionCancelled
from moothall.domain.ids import SessionId
from moothall.features.pipeline.plugin import PIPELINE
from moothall.features.pipeline.timeline import PipelineTimeline
from moothall.reports.plain_text import render_decision_lines
from moothall_testkit.snapshots import check_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"


def _tell(line: Line, language: Language = "en", entries: int | None = None) -> PipelineTimeline:
    """The pipeline after so many entries; all of them unless said otherwise."""
    timeline = PIPELINE.timeline(SessionId("s"))
    for at, fact in enumerate([replace(line.opened, language=language), *line.facts][:entries]):
        timeline.add(Entry(seq=at + 1, at=START + timedelta(seconds=at), fact=fact))
    return timeline


def _completed() -> Line:
    """An artefact that is rejected once, a word of the user's, an agent that fails once."""
    line = Line(MODEL, CHECK, PAPER).makes("y = x").judges("REJECTED", "- no units\n- no source")
    line.makes("y = x + 1").judges("APPROVED", "It holds.").put(InputGiven(text="Keep it short."))
    line.put(
        SeatLost(
            ask=line.ask.id,
            seat=line.ask.seat,
            reason="error",
            cause=Cause(words="HTTP 503 | busy"),
        )
    )
    return line.makes("# The paper\n\nDemand grows by **one** a day.")


def _rejected() -> Line:
    return Line(MODEL, replace(CHECK, on_reject="stop"), PAPER).makes("y = x").judges("REJECTED")


def _failed() -> Line:
    return Line(MODEL).loses().loses()


def _waiting() -> Line:
    return Line(MODEL, CHECK, PAPER).makes("y = x")


def _cancelled() -> Line:
    return _waiting().put(SessionCancelled(reason="Too <b>dear</b>."))


EXAMPLES: dict[str, Callable[[], Line]] = {
    "completed": _completed,
    "rejected": _rejected,
    "failed": _failed,
    "waiting": _waiting,
    "cancelled": _cancelled,
}


@pytest.mark.parametrize("name", ["completed", "rejected"])
def test_page_and_minutes_read_as_they_did(name: str) -> None:
    """C-10"""
    timeline, chinese = _tell(EXAMPLES[name]()), _tell(EXAMPLES[name](), "zh")
    check_snapshot(SNAPSHOTS / f"page_pipeline_{name}_en.html", PIPELINE.export(timeline, "html"))
    check_snapshot(
        SNAPSHOTS / f"minutes_pipeline_{name}_en.md", PIPELINE.export(timeline, "minutes")
    )
    assert_same_shape(PIPELINE.report(timeline), PIPELINE.report(chinese))


def test_chinese_minutes_read_as_they_did() -> None:
    """C-10: one session has all the words of its form."""
    check_snapshot(
        SNAPSHOTS / "minutes_pipeline_completed_zh.md",
        PIPELINE.export(_tell(EXAMPLES["completed"](), "zh"), "minutes"),
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_there_is_a_report_at_every_moment(name: str) -> None:
    line = EXAMPLES[name]()
    for entries in range(1, len(line.facts) + 2):
        timeline = _tell(line, entries=entries)
        assert PIPELINE.export(timeline, "html").endswith("</html>\n")
        assert PIPELINE.export(timeline, "minutes").startswith("# Pipeline: ")


NEXT = "Next: ask again with changes, or go on from before the end: `moot fork s`."


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "completed",
            [
                "Done, all 3 steps, 1 check passed after 1 rejection: Demand grows by one a day.",
                "What you said was not answered: “Keep it short.”",
            ],
        ),
        (
            "rejected",
            ["Stopped at step 2 of 3 (check): bob rejected it 1 time.", NEXT, "bob: “Too thin.”"],
        ),
        ("failed", ["Stopped at step 1 of 1 (model): ada could not answer.", NEXT]),
        ("waiting", ["Still open: step 2 of 3 (check), bob is at it."]),
        ("cancelled", ["Cancelled before a decision: “Too <b>dear</b>.”"]),
    ],
)
def test_the_terminal_shows_the_result_or_why_there_is_none(name: str, lines: list[str]) -> None:
    """C-5, C-10, T-2"""
    shown = [line.text for line in render_decision_lines(PIPELINE.report(_tell(EXAMPLES[name]())))]
    assert shown == lines


def test_what_agents_make_is_no_markup_of_the_page() -> None:
    evil = "<script>alert(1)</script>"
    line = Line(MODEL, replace(CHECK, on_reject="stop")).put(InputGiven(text=evil)).makes(evil)
    line.put(
        SeatLost(ask=line.ask.id, seat=line.ask.seat, reason="error", cause=Cause(words=evil))
    ).judges("REJECTED", evil)
    page = PIPELINE.export(_tell(line), "html")
    assert "<script" not in page
    # Input twice, artefact, verdict (in the memo, in short and in the timeline), detail of the loss.
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 7


def test_only_a_rejection_that_ended_the_pipeline_is_dissent() -> None:
    (voice,) = PIPELINE.decision(_tell(_rejected())).dissent
    assert (voice.seat, voice.kind, voice.text) == ("bob", "oppose", "Too thin.")
    for build in (_completed, _failed, _waiting, _cancelled):
        assert PIPELINE.decision(_tell(build())).dissent == ()
