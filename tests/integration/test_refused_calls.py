"""A refused call changes nothing: every call of the table with a key that cannot be stored."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from tests.integration.test_stream import Stage, staged

from moothall.domain.ids import SessionId
from moothall.domain.records import Head
from moothall.errors import SessionClosed
from moothall.surfaces.api.methods import TABLE
from moothall_testkit.ledger_scenes import run_with_deadline

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
    return sorted(name for name, method in TABLE.items() if "idempotency_key" in method.params.model_fields)


def build_params(name: str, session: str) -> dict[str, Any]:
    known = {field.alias or key for key, field in TABLE[name].params.model_fields.items()}
    params = {key: value for key, value in PLAIN.items() if key in known}
    for key in ("sessionId", "deliberationId"):
        params |= {key: session} if key in known else {}
    return params


async def read_heads(stage: Stage) -> list[Head]:
    return sorted(await stage.ledger.heads(), key=lambda head: head.session)


def test_there_are_calls_with_keys() -> None:
    assert {"moot.cancelSession", "moot.closeSession", "cstp.closeDeliberation", "cstp.contribute"} <= {*name_keyed_calls()}


@pytest.mark.parametrize("name", name_keyed_calls())
def test_a_key_that_cannot_be_stored_is_refused_before_anything_is_done(name: str, tmp_path: Path) -> None:
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
                await stage("cstp.closeDeliberation", deliberationId=session, force=True, idempotencyKey="k")
            assert await read_heads(stage) == before

    run_with_deadline(work())
