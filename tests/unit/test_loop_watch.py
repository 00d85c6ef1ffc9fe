"""What holds up the event loop is named, logged and counted (N-8)."""

import asyncio
import logging
import time

import pytest

from moothall.app.loop_watch import (
    BEAT_SECONDS,
    STALL_SECONDS,
    clean_name,
    is_stalled,
    watch_loop,
)
from moothall.ports.telemetry import Counts, name_work


async def hold_the_loop(seconds: float) -> None:
    with name_work("cstp.searchDecisions"):
        time.sleep(seconds)  # noqa: ASYNC251 - the fault that is watched for


def test_what_holds_the_loop_is_named_logged_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """N-8"""
    counts = Counts()

    async def work() -> None:
        with watch_loop(counts):
            await asyncio.sleep(BEAT_SECONDS * 2)
            await hold_the_loop(STALL_SECONDS * 3)
            async with asyncio.timeout(30):
                while not counts.loop_stalls:  # noqa: ASYNC110 - it is counted by a thread
                    await asyncio.sleep(BEAT_SECONDS)

    with caplog.at_level(logging.WARNING, "moot"):
        asyncio.run(work())
    assert counts.loop_stall_seconds >= STALL_SECONDS
    named = [line for line in caplog.messages if "has stood still" in line]
    assert len(named) == counts.loop_stalls
    assert "cstp.searchDecisions" in named[0]


def test_the_name_of_a_task_comes_back_when_the_call_is_over() -> None:
    async def work() -> list[str]:
        task = asyncio.current_task()
        assert task is not None
        names = [task.get_name()]
        with name_work("outer"), name_work("inner"):
            names.append(task.get_name())
        return [*names, task.get_name()]

    before, during, after = asyncio.run(work())
    assert (during, after) == ("inner", before)


@pytest.mark.parametrize(
    ("since_beat", "gap", "busy", "expected"),
    [
        (STALL_SECONDS, 0.2, 0.2, False),
        (STALL_SECONDS + BEAT_SECONDS, 0.2, 0.0, True),
        # A pattern lets no thread run, and the process computes all that time.
        (30.0, 30.0, 30.0, True),
        (30.0, 30.0, 10.0, True),
        # A laptop that slept, a process that was stopped.
        (30.0, 30.0, 0.1, False),
    ],
)
def test_a_machine_that_slept_is_no_standstill(
    since_beat: float, gap: float, busy: float, expected: bool
) -> None:
    """N-8"""
    assert is_stalled(since_beat, gap, busy) is expected


def test_a_name_from_outside_is_one_short_line_of_plain_characters() -> None:
    assert clean_name("GET /s/\n\x1b[31mroot") == "GET /s/\\n\\x1b[31mroot"
    assert len(clean_name("a" * 10_000)) == 100
