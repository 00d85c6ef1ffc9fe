"""Every call of the table with malformed values and the worst texts: refused calls write nothing, none holds up the others."""

import asyncio
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import ValidationError
from tests.integration.test_refused_calls import build_params, read_heads
from tests.integration.test_stream import Stage, staged

from moothall.errors import MootError
from moothall.surfaces.api.method import Method
from moothall.surfaces.api.methods import TABLE
from moothall_testkit.ledger_scenes import run_with_deadline

MALFORMED: Final[tuple[Any, ...]] = (
    *(
        None,
        "",
        " ",
        "a\nb",
        "\x00",
        "\ud800",
        "../../x",
        "_access",
        "x" * 5_000,
        -1,
        10**30,
        1e308,
        float("nan"),
        True,
    ),
    *([], {}, [[]], {"a": {"b": []}}, ["a\x00"], [None], {"\x00": 1}),
)
LENGTH: Final = 100_000
WORST: Final = (
    *(
        "a." * (LENGTH // 2) + "a=1",
        "[" * LENGTH,
        '{"a":' * (LENGTH // 5),
        "[a." + "a." * (LENGTH // 2) + "a]\n",
        "(" * LENGTH,
    ),
    *(
        "\n" * LENGTH,
        "- " * (LENGTH // 2),
        "> " * (LENGTH // 2),
        "*a_" * (LENGTH // 3),
        "|a" * (LENGTH // 2),
        "`" * LENGTH,
    ),
    *(
        "是" * LENGTH,
        "k8s " * (LENGTH // 4),
        "a" * LENGTH,
        "\u0301" * LENGTH,
        "no not " * (LENGTH // 7),
    ),
)
LARGE: Final[tuple[Any, ...]] = (
    *(
        "a b " * 250_000,
        "\x00" * LENGTH,
        "\ud800" * LENGTH,
        "\n".join(f"k{number} = 1" for number in range(20_000)),
    ),
    *(
        {f"k{number}": number for number in range(50_000)},
        [1] * 500_000,
        [["a"] * 10] * 40_000,
        10**4_000,
    ),
    json.loads("[" * 900 + "]" * 900),
)
"""About as much as a body may have: a million characters, many keys, long lists, deep ones, a huge number."""
NEEDED: Final[dict[str, Any]] = {
    **dict.fromkeys(
        (
            "thread",
            "source",
            "query",
            "decision",
            "scope",
            "ask",
            "conference",
            "code",
            "role",
            "report",
        ),
        "talk",
    ),
    **{
        "status": "active",
        "state": "met",
        "to": "bob",
        "entry": 1,
        "number": 1,
        "roles": ["ada", "bob"],
    },
    **{
        "answer": {"type": "propose", "text": "So.", "confidence": 0.8},
        "tokenId": "talk",
        "decisionId": "talk",
    },
}
"""What calls need beside the value that is tried, so that it is looked at."""
RECORD_NOTHING: Final = frozenset({"moot.planSession"})
"""Calls that need the right to write and only read: nothing goes on after them."""
MAX_SECONDS: Final = 1.0
"""Of CPU in the loop, for which a call may hold up the others here; the worst before was 49 s."""


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipeline that a call opens leaves its consultations in the folder in which it is opened."""
    monkeypatch.chdir(tmp_path)


def name_fields(method: Method[Any, Any]) -> list[str]:
    return [field.alias or key for key, field in method.params.model_fields.items()]


ASKED_BACK = "what is sent next is recorded as it is"


async def settle(stage: Stage) -> list[Any]:
    """The heads of the ledger once nobody writes any more."""
    heads = await read_heads(stage)
    while True:
        await asyncio.sleep(0.05)
        later = await read_heads(stage)
        if later == heads:
            return heads
        heads = later


@pytest.mark.parametrize("name", sorted(TABLE))
def test_a_call_with_a_malformed_value_is_refused_without_a_trace_or_taken(
    name: str, tmp_path: Path
) -> None:
    """D-6: an error of the caller's, never one of the server's, and the ledger is as it was."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session = await stage.open()
            before = await settle(stage)
            for field in name_fields(TABLE[name]):
                for value in MALFORMED:
                    try:
                        async with asyncio.timeout(5.0):
                            await stage(name, **{**build_params(name, session), field: value})
                    except (MootError, ValidationError) as refused:
                        if ASKED_BACK in str(refused):
                            # A question of its own, which the record has: the next answer is taken as it is.
                            before = await settle(stage)
                        if await read_heads(stage) != before:
                            # A session that was taken with a short patience has gone on by itself: the same call once more.
                            before = await settle(stage)
                            with suppress(MootError, ValidationError):
                                await stage(name, **{**build_params(name, session), field: value})
                        assert await read_heads(stage) == before, (field, value)
                    except TimeoutError:
                        # It was taken, and waits for what may come.
                        before = await settle(stage)
                    else:
                        # A call that only reads leaves nothing to wait for; another may go on after it has answered.
                        is_waiting = not TABLE[name].is_reading and name not in RECORD_NOTHING
                        if is_waiting or await read_heads(stage) != before:
                            before = await settle(stage)

    run_with_deadline(work())


@pytest.mark.parametrize("name", sorted(TABLE))
def test_no_text_of_a_call_holds_up_the_others(name: str, tmp_path: Path) -> None:
    """D-6: each parameter with each of the worst values. By the CPU of the loop's thread: it does not matter what else runs."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session = await stage.open()
            needed = {
                key: given for key, given in NEEDED.items() if key in name_fields(TABLE[name])
            }
            plain = needed | build_params(name, session)
            slow = []
            begun = time.thread_time()
            for field in name_fields(TABLE[name]):
                for value in (*WORST, *LARGE):
                    with suppress(MootError, ValidationError, TimeoutError):
                        async with asyncio.timeout(10.0):
                            await stage(name, **{**plain, field: value})
                    await asyncio.sleep(0)
                    now = time.thread_time()
                    if now - begun > MAX_SECONDS:
                        slow.append((field, str(value)[:10], round(now - begun, 2)))
                    begun = now
            assert slow == []

    run_with_deadline(work())
