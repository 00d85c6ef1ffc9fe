"""Notices that no entry of a session causes: obligations that come due, and breakers that open and close."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.support.receiver import receive_notices

from moothall import Moot
from moothall.domain.effects import Brief
from moothall.errors import BadSetting
from moothall.features.notices import delivery as notices
from moothall.features.notices.delivery import judge_due
from moothall.features.notices.receivers import Hook, change_hooks, load_hooks
from moothall.memory.facts import DecisionRecorded, Member, RecordedObligation
from moothall.ports.participant import NoAnswer, OnText

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("due", "state"),
    [
        ("2026-12-01", "due"),
        ("2026-12-02", "due"),
        ("2026-12-03", None),
        ("2026-11-30", "overdue"),
        (" 2026-11-30T10:00 ", "overdue"),
        ("next week", None),
        ("", None),
        ("2026-13-45", None),
        ("9999-12-31", None),
        ("0001-01-01", "overdue"),
    ],
)
def test_a_date_is_due_from_the_day_before_and_overdue_from_the_day_after(
    due: str, state: str | None
) -> None:
    """G-2: only what is a date has a clock."""
    assert judge_due(due, NOW) == state


def test_many_receivers_are_read_back_and_a_file_that_others_can_read_is_refused(
    tmp_path: Path,
) -> None:
    """G-2: nobody is dropped in silence, and no key is shown."""
    hook = Hook(id="h", url="https://x.example/a", secret="whsec_AAAA", since=NOW, page="http://x")
    for number in range(40):
        change_hooks(
            tmp_path,
            lambda hooks, number=number: [*hooks, replace(hook, id=f"h{number}")],  # type: ignore[misc]
        )
    assert len(load_hooks(tmp_path)) == 40
    file = tmp_path / "notices.json"
    file.chmod(0o644)
    for call in (
        lambda: load_hooks(tmp_path),
        lambda: change_hooks(tmp_path, lambda hooks: [*hooks, hook]),
    ):
        with pytest.raises(BadSetting, match="open to other users"):
            call()
    file.chmod(0o600)
    file.write_text(file.read_text()[:-40])
    with pytest.raises(BadSetting, match="not the list of receivers") as refused:
        load_hooks(tmp_path)
    assert "whsec" not in str(refused.value)


def test_obligations_and_breakers_are_noticed_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G-2: an obligation that is overdue, a breaker that opens and closes; after a restart nothing is sent again."""
    monkeypatch.setattr(notices, "CLOCK_SECONDS", 0.1)
    monkeypatch.setattr(notices, "LOOK_SECONDS", 0.05)

    async def work(url: str, received: list[dict[str, Any]]) -> None:
        async def until(count: int) -> list[str]:
            async with asyncio.timeout(60):
                while len(received) < count:  # noqa: ASYNC110 - another task fills it
                    await asyncio.sleep(0.02)
            # Time for what would be too many.
            await asyncio.sleep(0.25)
            return [each["event"] for each in received]

        now = datetime.now(UTC)
        hook = Hook(
            id="h", url=url, secret="whsec_AAAA", since=now, page="http://x", is_private=True
        )
        change_hooks(tmp_path / "home", lambda hooks: [hook])
        environ = {"MOOT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
        async with Moot(environ=environ) as moot:
            task = asyncio.create_task(notices.serve_notices(moot))
            due = (now - timedelta(days=2)).strftime("%Y-%m-%d")
            for number in range(6):
                obligations = (
                    (RecordedObligation(by="ada", text="Write the tests", due=due),)
                    if number == 0
                    else ()
                )
                await moot.memory.keep(
                    DecisionRecorded(
                        session=f"s{number}",
                        protocol="debate",
                        topic="Ship?",
                        text="Ship.",
                        category="release.2027",
                        opened_at=now,
                        closed_at=now,
                        obligations=obligations,
                        members=(
                            Member(
                                source=f"m{number}",
                                seat=f"m{number}",
                                position="support",
                                confidence=0.9,
                            ),
                        ),
                    )
                )
            assert await until(1) == ["obligation_overdue"]
            assert "Write the tests" in received[0]["text"]
            for number in range(6):
                await moot.memory.review(f"s{number}", "failure")
            opened = [each for each in await moot.memory.breakers() if each.opened_at is not None]
            if not opened:
                pytest.fail(f"no breaker opened: {await moot.memory.breakers()}")
            events = await until(1 + len(opened))
            assert events == ["obligation_overdue", *["breaker_opened"] * len(opened)]
            # A probe that fails opens its circuits again: none of them has closed.
            await moot.memory.change_policy({"cooldown_seconds": 0.001})
            probe = await moot.memory.decide_alone(
                "zoe", "Again?", "Yes.", 0.9, category="release.2027"
            )
            await moot.memory.review(probe.decision, "failure")
            events = await until(1 + len(opened) + len(probe.probes))
            assert events[1 + len(opened) :] == ["breaker_opened"] * len(probe.probes)
            await moot.memory.reset_circuit(opened[0].scope)
            assert (await until(len(events) + 1))[len(events) :] == ["breaker_closed"]
            assert opened[0].scope in received[-1]["text"]
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        count = len(received)
        async with Moot(environ=environ) as moot:
            task = asyncio.create_task(notices.serve_notices(moot))
            await asyncio.sleep(0.4)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert len(received) == count

    async def run() -> None:
        async with receive_notices() as receiver:
            await work(*receiver)

    asyncio.run(run())


def test_a_review_is_noticed_on_its_day_and_not_where_it_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G-2, T-1: once, with the question and what was decided; not the day before."""
    monkeypatch.setattr(notices, "CLOCK_SECONDS", 0.05)
    monkeypatch.setattr(notices, "LOOK_SECONDS", 0.02)
    now = datetime.now(UTC)

    def record(session: str, days: int) -> DecisionRecorded:
        return DecisionRecorded(
            session=session,
            protocol="debate",
            topic="Ship?",
            text="We ship.",
            what="Ship it.",
            opened_at=now,
            closed_at=now,
            review_on=f"{now + timedelta(days=days):%Y-%m-%d}",
        )

    async def work(url: str, received: list[dict[str, Any]]) -> None:
        hook = Hook(
            id="h", url=url, secret="whsec_AAAA", since=now, page="http://x", is_private=True
        )
        change_hooks(tmp_path / "home", lambda hooks: [hook])
        environ = {"MOOT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
        async with Moot(environ=environ) as moot:
            for session, days in (("reviewed", -1), ("late", -3), ("today", 0), ("later", 2)):
                await moot.memory.keep(record(session, days))
            await moot.memory.review("reviewed", "success")
            task = asyncio.create_task(notices.serve_notices(moot))
            async with asyncio.timeout(60):
                while len(received) < 2:  # noqa: ASYNC110 - another task fills it
                    await asyncio.sleep(0.02)
            # Time for what would be too many.
            await asyncio.sleep(0.4)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert [(each["event"], each["session"]) for each in received] == [
            ("review_due", "late"),
            ("review_due", "today"),
        ]
        assert received[0]["text"] == "How did it turn out? “Ship?” – Ship it. http://x/s/late"

    async def run() -> None:
        async with receive_notices() as receiver:
            await work(*receiver)

    asyncio.run(run())


class Absent:
    """A participant that cannot be reached, and says that it can when it is probed."""

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> NoAnswer:
        return NoAnswer(reason="unreachable", detail="down")


def test_an_outage_is_noticed_once_whatever_is_written_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """G-2: a word or an answer to a parked session is no news of it; that it was parked again after a try is."""
    monkeypatch.setattr(notices, "LOOK_SECONDS", 0.02)

    async def work(url: str, received: list[dict[str, Any]]) -> None:
        hook = Hook(
            id="h",
            url=url,
            secret="whsec_AAAA",
            since=datetime.now(UTC),
            page="http://x",
            is_private=True,
        )
        change_hooks(tmp_path / "home", lambda hooks: [hook])
        environ = {"MOOT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
        async with Moot(
            environ=environ, participants={"python:x": Absent(), "python:y": Absent()}
        ) as moot:
            task = asyncio.create_task(notices.serve_notices(moot))
            seats = ["a=python:x", "b=python:y", "c=mailbox"]
            session = await moot.open("Keep it?", seats=seats, protocol="debate", check=False)
            await moot.run(session)
            await moot.give_input(session, "Who is there?")
            for ask in await moot.asks(session):
                await moot.answer(
                    session, ask.ask.id, {"type": "propose", "text": "Keep it.", "confidence": 0.8}
                )
            await moot.run(session)
            await moot.cancel(session)
            async with asyncio.timeout(60):
                while "decided" not in [each["event"] for each in received]:  # noqa: ASYNC110 - another task fills it
                    await asyncio.sleep(0.02)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        assert [each["event"] for each in received] == ["turn", "parked", "parked", "decided"]

    async def run() -> None:
        async with receive_notices() as receiver:
            await work(*receiver)

    asyncio.run(run())
