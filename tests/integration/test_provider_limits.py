"""N-4: a provider's limits, as it states them and as the user sets them, hold for all who share them; waiting costs no seat."""

import asyncio
import json
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tests.conformance.test_runners import build_engine

from moothall.app.moot import Moot
from moothall.domain.effects import Brief
from moothall.domain.facts import SeatLost
from moothall.engine.context import SeatWaiting
from moothall.errors import BadSetting, LedgerUnavailable
from moothall.ledgers.memory import MemoryLedger
from moothall.ledgers.postgres import PostgresLedger
from moothall.ledgers.postgres_queue import PostgresLimits, PostgresQueue
from moothall.locale.catalogues import SHARED_REPORT
from moothall.participants.model import ModelParticipant
from moothall.participants.platforms import parse_platform
from moothall.participants.provider_limits import (
    LIMITS,
    LocalLimits,
    name_account,
    parse_limits,
    read_headers,
)
from moothall.ports.participant import (
    ASKED_IN,
    Allowance,
    Answer,
    LimitReport,
    NoAnswer,
    OnText,
    note_waiting,
)
from moothall.surfaces.api.methods import open_server_context
from moothall.surfaces.api.page import ViewStore
from moothall.surfaces.cli.live_views import PlainView, SeatsView
from moothall_testkit.ledger_scenes import run_with_deadline
from moothall_testkit.runner_contract import build_contribution, build_debate
from moothall_testkit.stub_server import Fail, StubReply, StubServer

PROPOSAL = '{"type": "propose", "text": "Yes.", "confidence": 0.8}'
NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)


def test_limits_are_read_as_people_write_them() -> None:
    assert parse_limits("") == {}
    assert parse_limits(" OpenAI=500r,200000t,20c,5s ; anthropic = 50R;") == {
        "openai": Allowance(requests=500, tokens=200_000, at_once=20, sessions=5),
        "anthropic": Allowance(requests=50),
    }


@pytest.mark.parametrize(
    "text",
    ["openai", "openai=", "openai=500", "=5r", "openai=0r", "openai=5r,-1t", "a=5r,b=6r", "x=٣r"],
)
def test_what_is_no_limit_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(BadSetting, match="expected PROVIDER=500r,200000t,20c"):
        parse_limits(text)


def test_what_providers_say_is_read_in_their_own_words() -> None:
    openai = {
        "x-ratelimit-limit-requests": "500",
        "x-ratelimit-remaining-requests": "499",
        "x-ratelimit-reset-requests": "120ms",
        "x-ratelimit-limit-tokens": "30000",
        "x-ratelimit-remaining-tokens": "0",
        "x-ratelimit-reset-tokens": "1m6.5s",
    }
    assert read_headers(openai, 200, NOW) == LimitReport(
        requests=500, requests_left=499, tokens=30_000, tokens_left=0, closed_for=66.5
    )
    anthropic = {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "0",
        "anthropic-ratelimit-requests-reset": "2026-11-16T12:00:05Z",
    }
    assert read_headers(anthropic, 200, NOW) == LimitReport(
        requests=50, requests_left=0, closed_for=5.0
    )
    assert read_headers({"retry-after": "7"}, 429, NOW) == LimitReport(closed_for=7.0)


@pytest.mark.parametrize("value", ["", "soon", "NaN s", "-5", "9" * 400, "2026-11-16T12:00:05"])
def test_careless_headers_close_nothing_for_long(value: str) -> None:
    headers = {
        "x-ratelimit-limit-requests": value,
        "x-ratelimit-remaining-requests": "0",
        "x-ratelimit-reset-requests": value,
    }
    report = read_headers(headers, 200, NOW)
    assert report is not None
    assert 0 <= report.closed_for <= 600


def test_an_account_does_not_tell_its_key() -> None:
    name = name_account("openai", None, "sk-secret")
    assert name.startswith("openai/")
    assert "secret" not in name
    assert name != name_account("openai", None, "sk-other")


def test_two_processes_share_what_the_provider_states(postgres_address: str) -> None:
    """N-4: the stub says 120 requests a minute; two participants on two connections together keep to it."""

    async def work() -> None:
        stub = StubServer([StubReply(text=PROPOSAL)], headers={"x-ratelimit-limit-requests": "120"})
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(stub)
            async with PostgresLedger(postgres_address):
                pass
            minds = []
            for _ in range(2):
                queue = await stack.enter_async_context(PostgresQueue(postgres_address))
                mind = ModelParticipant(
                    parse_platform(f"{stub.base_url}#m"), {}, limits=PostgresLimits(queue)
                )
                stack.push_async_callback(mind.aclose)
                minds.append(mind)
            brief = await build_brief()
            await minds[0].respond(brief, print)
            loop = asyncio.get_running_loop()
            began = loop.time()
            answers = await asyncio.gather(
                *(minds[number % 2].respond(brief, print) for number in range(18))
            )
            assert all(isinstance(answer, Answer) for answer in answers)
            times = sorted(request.at - began for request in stub.asked[1:])
            # At once go 12, then 108 a minute.
            for number, at in enumerate(times):
                assert at >= (number - 12) * 60 / 108 - 0.1
            assert times[-1] >= 2.5

    run_with_deadline(work())


async def build_brief() -> Brief:
    """A brief of a debate's first ask."""
    engine, found = build_engine(MemoryLedger()), list[Brief]()

    class Keeper:
        async def ready(self) -> str | None:
            return None

        async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
            found.append(brief)
            return Answer(said=build_contribution(brief.ask.kind))

    await engine.run(await engine.open(build_debate()), lambda seat: Keeper())
    return found[0]


def test_a_seat_that_waits_for_its_provider_is_not_lost() -> None:
    """N-4: the wait is no part of the seat's time; what comes after it is."""

    class Waiting:
        def __init__(self, works: float) -> None:
            self._works = works

        async def ready(self) -> str | None:
            return None

        async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
            with note_waiting():
                await asyncio.sleep(0.6)
            await asyncio.sleep(self._works)
            return Answer(said=build_contribution(brief.ask.kind))

    async def work(works: float) -> list[SeatLost]:
        engine = build_engine(MemoryLedger())
        session = await engine.open(build_debate(patience_inside=0.3))
        await engine.run(session, lambda seat: Waiting(works))
        return [
            entry.fact
            for entry in await engine.entries(session)
            if isinstance(entry.fact, SeatLost)
        ]

    assert run_with_deadline(work(0.0)) == []
    assert {fact.reason for fact in run_with_deadline(work(5.0))} == {"timeout"}


def test_whoever_watches_a_session_sees_who_waits_for_a_provider(tmp_path: Path) -> None:
    """N-4: in the events, in a terminal, in a log and in the view of the page; no longer than it lasts.

    The terminal counts the seconds of an answer, without that time.
    """
    clock = [1_000.0]
    allowed, told, sessions = asyncio.Event(), SHARED_REPORT["zh"].held_up, set[str]()

    class Waiting:
        async def ready(self) -> str | None:
            return None

        async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
            sessions.add(ASKED_IN.get())
            if not allowed.is_set():
                with note_waiting():
                    await allowed.wait()
            return Answer(said=build_contribution(brief.ask.kind))

    async def work() -> None:
        environ = {"MOOT_HOME": str(tmp_path), "HOME": str(tmp_path)}
        async with open_server_context(
            Moot(environ=environ, participants={"slow": Waiting()})
        ) as context:
            moot, views = context.moot, ViewStore(context)
            session = await moot.open(
                "去吗？",
                protocol="debate",
                seats=dict.fromkeys(("ada", "bob"), "slow"),
                language="zh",
            )
            plugin = await moot.load_plugin(session)
            shown = [
                Console(file=StringIO(), width=100),
                Console(file=StringIO(), width=100, get_time=lambda: clock[0]),
            ]
            plain = PlainView(plugin, plugin.timeline(session), shown[0])
            moving = SeatsView(plugin, plugin.timeline(session), shown[1])
            running, events = asyncio.create_task(moot.run(session)), moot.watch(session)
            waiting: list[str] = []
            async for event in events:
                plain.show(event)
                moving.show(event)
                if isinstance(event, SeatWaiting) and event.is_over:
                    clock[0] += 61
                    with shown[1].capture() as drawn:
                        shown[1].print(moving._render())
                    assert "61 秒" in drawn.get()
                    assert "600 秒" not in drawn.get()
                if isinstance(event, SeatWaiting):
                    waiting.append(event.seat)
                if len(waiting) == 2 and not allowed.is_set():
                    view = await views.load(session)
                    assert [(seat["state"], seat["why"]) for seat in view.fields["seats"]] == [
                        ("held_up", told)
                    ] * 2
                    # Whoever comes later is told, too.
                    assert isinstance(await anext(moot.watch(session, view.seq)), SeatWaiting)
                    shown[1].print(moving._render())
                    clock[0] += 600
                    allowed.set()
            await running
            # By this a provider's places are counted.
            assert sessions == {session}
            assert waiting == ["ada", "bob", "ada", "bob"]
            assert not moot.engine.context.hub.list_waiting(session)
            assert told not in json.dumps((await views.load(session)).fields, ensure_ascii=False)
            texts = [console.file.getvalue() for console in shown]  # type: ignore[attr-defined]
            assert [text.count(told) for text in texts] == [2, 2]

    run_with_deadline(work())


def test_a_provider_that_refuses_for_a_while_is_left_alone_by_all_seats() -> None:
    """N-4: one 429 closes the account; other seats do not run into it."""

    async def work() -> None:
        stub = StubServer([Fail(status=429, retry_after=1), StubReply(text=PROPOSAL)])
        async with stub:
            limits = LocalLimits()
            one, two = (
                ModelParticipant(parse_platform(f"{stub.base_url}#{name}"), {}, limits=limits)
                for name in "ab"
            )
            brief = await build_brief()
            first = asyncio.create_task(one.respond(brief, print))
            while not stub.asked:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.2)
            assert isinstance(await two.respond(brief, print), Answer)
            assert isinstance(await first, Answer)
            assert min(request.at for request in stub.asked[1:]) - stub.asked[0].at > 0.9
            await one.aclose()
            await two.aclose()

    run_with_deadline(work())


def test_limits_that_cannot_be_asked_cost_no_answer() -> None:
    class Away(LocalLimits):
        async def take(
            self,
            account: str,
            call: str,
            *,
            tokens: int,
            allowance: Allowance,
            lasts: float,
            session: str = "",
        ) -> float:
            raise LedgerUnavailable("the database is away")

        async def finish(self, account: str, call: str, *, tokens: int) -> None:
            raise LedgerUnavailable("the database is away")

    async def work() -> None:
        async with StubServer([StubReply(text=PROPOSAL)]) as stub:
            mind = ModelParticipant(
                parse_platform(f"{stub.base_url}#m"), {LIMITS: "server=1r"}, limits=Away()
            )
            brief = await build_brief()
            assert isinstance(await mind.respond(brief, print), Answer)
            await mind.aclose()

    run_with_deadline(work())
