"""A refused call changes nothing: every call of the table with a key that cannot be stored."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.integration.test_change_watch import DistantLedger
from tests.integration.test_stream import Stage, staged

from moothall.app.moot import Moot
from moothall.domain.facts import SeatsSwapped
from moothall.domain.ids import SessionId
from moothall.domain.records import Head
from moothall.errors import SessionClosed
from moothall.surfaces.api.methods import TABLE, open_server_context
from moothall_testkit.counting_ledger import CountingLedger
from moothall_testkit.ledger_scenes import run_with_deadline
from moothall_testkit.stub_server import Hang, StubServer

BAD_KEYS = ("a\nb", "a\r", "\x00", " ", "a\u2028b", "a\u202eb", "x" * 101)
PLAIN = {
    "topic": "A or B?",
    "task": "Do it.",
    "question": "Why?",
    "text": "So it is.",
    "content": "So it is.",
    "type": "propose",
    "confidence": 0.8,
    "force": True,
    "outcome": "success",
    "participant": "ada",
    "seat": "ada",
    "seats": ["ada", "bob"],
    "participants": ["ada", "bob"],
    "pipeline": "contest",
    "name": "contest",
    "title": "Caches",
}
"""Values that many calls take; what a call does not know is left out, what it needs besides is left to chance."""


def name_keyed_calls() -> list[str]:
    return sorted(
        name for name, method in TABLE.items() if "idempotency_key" in method.params.model_fields
    )


def build_params(name: str, session: str) -> dict[str, Any]:
    known = {field.alias or key for key, field in TABLE[name].params.model_fields.items()}
    params = {key: value for key, value in PLAIN.items() if key in known}
    for key in ("sessionId", "deliberationId"):
        params |= {key: session} if key in known else {}
    return params


async def read_heads(stage: Stage) -> list[Head]:
    return sorted(await stage.ledger.heads(), key=lambda head: head.session)


def test_there_are_calls_with_keys() -> None:
    assert {
        "moot.cancelSession",
        "moot.closeSession",
        "cstp.closeDeliberation",
        "cstp.contribute",
    } <= {*name_keyed_calls()}


@pytest.mark.parametrize("name", name_keyed_calls())
def test_a_key_that_cannot_be_stored_is_refused_before_anything_is_done(
    name: str, tmp_path: Path
) -> None:
    """D-6."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session = await stage.open()
            before = await read_heads(stage)
            for key in BAD_KEYS:
                with pytest.raises(ValidationError, match="idempotencyKey"):
                    await stage(name, **build_params(name, session), idempotencyKey=key)
            assert await read_heads(stage) == before

    run_with_deadline(work())


def test_a_close_that_is_refused_takes_no_key(tmp_path: Path) -> None:
    """D-6: of a cancelled session there is no result, and nothing is written down about the call."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session: SessionId = await stage.open()
            await stage("moot.cancelSession", sessionId=session)
            before = await read_heads(stage)
            with pytest.raises(SessionClosed, match="cancelled"):
                await stage(
                    "cstp.closeDeliberation", deliberationId=session, force=True, idempotencyKey="k"
                )
            assert await read_heads(stage) == before

    run_with_deadline(work())


def test_a_cancelled_session_is_looked_at_before_it_is_due(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A-2: workers look at a parked session hours later unless they are told to look at once."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session = await stage.open()
            runner = stage.context.runner
            wakes: list[tuple[str, bool]] = []
            wake = runner.wake

            def record_wake(name: SessionId, *, at_once: bool = False) -> None:
                wakes.append((name, at_once))
                wake(name, at_once=at_once)

            monkeypatch.setattr(runner, "wake", record_wake)
            await stage("moot.cancelSession", sessionId=session)
            assert (session, True) in wakes

    run_with_deadline(work())


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("moot.cancelSession", {"reason": "late"}),
        ("moot.closeSession", {}),
        ("moot.resumeSession", {"swaps": {"ada": "mailbox"}}),
    ],
)
def test_of_several_tries_at_once_with_one_key_all_get_the_answer_of_the_first(
    name: str, given: dict[str, Any], tmp_path: Path
) -> None:
    """D-6: a client that repeats a call before it has the answer."""

    async def work() -> None:
        ledger = CountingLedger(DistantLedger())
        async with open_server_context(
            Moot(environ={"MOOT_HOME": str(tmp_path)}, ledger=ledger)
        ) as context:
            stage = Stage(context, ledger)
            session = await stage.open()
            tries = [stage(name, sessionId=session, **given, idempotencyKey="k") for _ in range(4)]
            first, *others = await asyncio.gather(*tries)
            assert [each["sessionId"] for each in (first, *others)] == [session] * 4
            assert [each.get("entry") for each in others] == [first.get("entry")] * 3
            swaps = [
                entry.fact
                for entry in await stage.context.moot.engine.entries(session)
                if isinstance(entry.fact, SeatsSwapped)
            ]
            assert len(swaps) == (name == "moot.resumeSession")

    run_with_deadline(work())


def test_an_opening_that_is_repeated_with_its_key_while_the_provider_is_out_is_the_same(
    tmp_path: Path,
) -> None:
    """D-6: the session exists; the outage is its own matter, and no refusal of the call."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            async with StubServer([Hang()] * 9) as provider:
                seats = [
                    {"id": name, "platform": f"{provider.base_url}#m"} for name in ("ada", "bob")
                ]
                opening = {
                    "topic": "A or B?",
                    "seats": seats,
                    "protocol": "debate",
                    "idempotencyKey": "k",
                }
                first = await stage("moot.openSession", **opening)
            again = await stage("moot.openSession", **opening)
            assert again["sessionId"] == first["sessionId"]

    run_with_deadline(work())
