"""N-4, M-5: a server that is slow is asked in its own time; its seats are neither lost nor asked for ever."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest
from tests.integration.test_model_participant import brief
from tests.support.model_provider import build_words, find_kind
from tests.support.serial_server import SerialServer

from moothall import Moot, Seat
from moothall.app.panels import Panel, assign_seats, find_longest_patience
from moothall.app.plugins import load_kinds
from moothall.app.session_options import Options
from moothall.domain.facts import AsksSent, SeatLost, SessionParked
from moothall.domain.ids import SeatId, SessionId
from moothall.features.persona.facts import PersonaSettings
from moothall.participants.model import ModelParticipant
from moothall.participants.model_request import RetryPolicy
from moothall.participants.platforms import is_asked_one_by_one, parse_platform
from moothall.participants.provider_limits import LIMITS, LocalLimits
from moothall.ports.participant import Answer
from moothall.reports.wording import explain_outage
from moothall_testkit.ledger_scenes import run_with_deadline
from moothall_testkit.stub_server import Hang, Request, Step, StubReply, StubServer

F = TypeVar("F")
INTENT = '{"reaction_score": 0.8, "intent_to_speak": true, "reason": "costs"}'


@pytest.fixture(scope="module", autouse=True)
def _imported() -> None:
    """The first import takes seconds on a busy machine: it is not to count against a brief's patience."""
    import pydantic_ai.direct
    import pydantic_ai.models.openai  # noqa: F401


@asynccontextmanager
async def seated(
    *texts: str, environ: Mapping[str, str] | None = None
) -> AsyncIterator[list[ModelParticipant]]:
    """Minds that share the limits of their providers, as those of one process do."""
    limits = LocalLimits()
    minds = [ModelParticipant(parse_platform(each), environ or {}, limits=limits) for each in texts]
    try:
        yield minds
    finally:
        for mind in minds:
            await mind.aclose()


def test_all_models_of_a_local_server_are_asked_one_at_a_time_and_the_next_goes_at_once() -> None:
    """N-4: by its address, whatever it is called and whichever key it takes; no turn is waited for longer than the last call."""

    async def work() -> None:
        async with SerialServer([StubReply(text=INTENT)], seconds=0.2) as server:
            other = server.base_url.replace("127.0.0.1", "localhost")
            texts = (f"{server.base_url}#a", f"{other}#b?key=KEY", "ollama:c")
            environ = {"OLLAMA_BASE_URL": server.base_url, "KEY": "a-key-of-the-server"}
            async with seated(*texts, environ=environ) as minds:
                asked = [mind.respond(brief("intent"), print) for mind in minds * 2]
                answers = await asyncio.gather(*asked)
        assert [type(each) for each in answers] == [Answer] * 6
        assert server.most_at_once == 1
        gaps = [began - ended for ended, began in zip(server.ended, server.began[1:], strict=False)]
        # Looked at once a second, five turns are 2.5 s late together.
        assert sum(gaps) < 1.5

    run_with_deadline(work())


@pytest.mark.parametrize(
    ("text", "environ", "expected"),
    [
        ("ollama:llama3.2", {}, True),
        ("lmstudio", {}, True),
        ("http://127.0.0.1:8080/v1#m", {}, True),
        ("openai:m", {"OPENAI_BASE_URL": "http://localhost:8080/v1"}, True),
        ("vllm:m", {}, False),
        ("openai:gpt-5-mini", {}, False),
        ("http://models.example.org/v1#m", {}, False),
    ],
)
def test_a_server_of_this_machine_is_asked_one_by_one(
    text: str, environ: dict[str, str], expected: bool
) -> None:
    assert is_asked_one_by_one(parse_platform(text), environ) is expected


def test_what_the_user_allows_a_local_server_holds() -> None:
    async def work() -> None:
        async with (
            SerialServer([StubReply(text=INTENT)], seconds=0.1) as server,
            seated(f"{server.base_url}#m", environ={LIMITS: "server=3c"}) as (mind,),
        ):
            await asyncio.gather(*(mind.respond(brief("intent"), print) for _ in range(6)))
        assert server.most_at_once == 3

    run_with_deadline(work())


def test_a_call_that_is_given_up_while_it_waits_leaves_the_turn_to_the_next() -> None:
    async def work() -> None:
        async with (
            SerialServer([StubReply(text=INTENT)], seconds=0.3) as server,
            seated(f"{server.base_url}#m") as (mind,),
        ):
            asked = [asyncio.create_task(mind.respond(brief("intent"), print)) for _ in "abcd"]
            while not server.began:  # noqa: ASYNC110 - the server says nothing of it
                await asyncio.sleep(0.01)
            asked[1].cancel()
            asked[0].cancel()
            answers = await asyncio.gather(*asked[2:])
        assert [type(each) for each in answers] == [Answer] * 2
        assert server.most_at_once <= 2

    run_with_deadline(work())


def test_a_speech_of_a_local_server_is_not_begun_anew_before_its_first_word() -> None:
    """It reads the prompt for more than half of the time that it has: to leave it would have it read all of it again."""

    async def work() -> None:
        reply = StubReply(text="It costs too much.")
        async with (
            SerialServer([reply], seconds=1.5) as server,
            seated(f"{server.base_url}#m") as (mind,),
        ):
            answer = await mind.respond(brief("speech", patience=2.5), print)
        assert isinstance(answer, Answer)
        assert len(server.asked) == 1

    run_with_deadline(work())


@pytest.mark.parametrize(
    ("platform", "settings", "expected"),
    [
        ("ollama:llama3.2", {}, 600.0),
        ("http://127.0.0.1:8080/v1#m", {}, 600.0),
        ("openai:m", {}, 600.0),
        ("anthropic:claude-opus-4-5", {}, None),
        ("anthropic:claude-opus-4-5", {"intent_patience": 900}, None),
        ("http://models.example.org/v1#m", {}, None),
        ("ollama:m", {"intent_patience": 900}, 900.0),
        ("ollama:m", {"round_timeout": "1200"}, 1_200.0),
        ("ollama:m", {"intent_patience": 20}, 600.0),
        ("embedded", {"speech_patience": 1_800}, 1_800.0),
        ("ollama:m", {"patience": None}, 600.0),
        ("ollama:m", {"patience": "soon"}, 600.0),
        ("ollama:m", {"patience": "nan"}, 600.0),
        ("ollama:m", {"patience": []}, 600.0),
        ("ollama:m", {"patience": -5}, 600.0),
    ],
)
def test_a_seat_of_a_local_model_has_ten_minutes_or_what_was_set_if_that_is_more(
    platform: str, settings: dict[str, object], expected: float | None
) -> None:
    environ = {"OPENAI_BASE_URL": "http://localhost:8080/v1"}
    panel = Panel(
        seats=(
            Seat(id=SeatId("ada"), platform=""),
            Seat(id=SeatId("bob"), platform="", patience=90.0),
        )
    )
    ada, bob = assign_seats(
        panel,
        (),
        [platform],
        load_kinds(),
        environ=environ,
        patience=find_longest_patience(settings),
    )
    assert (ada.patience, bob.patience) == (expected, 90.0)


def test_a_new_meeting_gives_three_minutes_for_an_intent_and_an_old_one_keeps_its_own(
    tmp_path: Path,
) -> None:
    """The default of a stored field never changes: what was recorded without it had a minute."""

    async def work() -> None:
        async with Moot(environ={"MOOT_HOME": str(tmp_path)}) as moot:
            options: Options = {"seats": {"ada": "ollama:m", "bob": "mailbox"}, "check": False}
            planned = await moot.plan_session("Shall we?", **options)
            assert planned.opened.seats[0].patience == 600.0
            assert planned.opened.settings.intent_patience == 180.0  # type: ignore[attr-defined]
            options["settings"] = {"intent_patience": 60}
            planned = await moot.plan_session("Shall we?", **options)
            assert planned.opened.settings.intent_patience == 60.0  # type: ignore[attr-defined]

    run_with_deadline(work())
    assert PersonaSettings().intent_patience == 60.0


@asynccontextmanager
async def open_slow_moot(
    home: Path, server: StubServer, *names: str, limits: str = "", preflight: float = 1.0
) -> AsyncIterator[Moot]:
    """A `Moot` whose seats are one model of this server, which is not asked whether it is slow for long."""
    environ = {"MOOT_HOME": str(home), "PATH": "", LIMITS: limits}
    platform = parse_platform(f"{server.base_url}#m")
    pace = RetryPolicy(first_pause=0.01, longest_pause=0.02, preflight=preflight)
    mind = ModelParticipant(platform, environ, pace=pace)
    # To open its client takes a while on a busy machine: that is not to count against its patience.
    await mind.ready()
    async with Moot(environ=environ, participants={f"x-{name}": mind for name in names}) as moot:
        yield moot


def build_debate(patience: float, *names: str) -> Options:
    return {
        "protocol": "debate",
        "seats": [Seat(id=SeatId(name), platform=f"x-{name}") for name in names],
        "settings": {"patience": patience},
        "session": "s",
        "check": False,
    }


async def list_facts(moot: Moot, kind: type[F]) -> list[F]:
    entries = await moot.engine.entries(SessionId("s"))
    return [entry.fact for entry in entries if isinstance(entry.fact, kind)]


async def list_times(moot: Moot, ask: str) -> list[float]:
    """How many seconds an ask had each time that it was sent, by the record."""
    entries = await moot.engine.entries(SessionId("s"))
    return [
        round((entry.fact.deadline - entry.at).total_seconds(), 1)
        for entry in entries
        if isinstance(entry.fact, AsksSent) and ask in entry.fact.asks and entry.fact.deadline
    ]


def test_a_slow_seat_whose_server_is_there_is_asked_once_more_with_twice_the_time(
    tmp_path: Path,
) -> None:
    """M-5: it answers then; both times are on record, the call that was given up is counted, and a replay gives the same."""
    taken = iter([1.6])

    def answer(request: Request) -> StubReply:
        text = json.dumps(build_words(find_kind(request.text), request.text))
        return StubReply(text=text, delay=next(taken, 0.0), tokens_in=100, tokens_out=10)

    async def work() -> None:
        async with (
            StubServer([answer]) as server,
            open_slow_moot(tmp_path, server, "ada", "bob", limits="server=9c") as moot,
        ):
            decision = await moot.hold("Should we wait?", **build_debate(1.0, "ada", "bob"))
            assert decision.status == "concluded"
            assert await list_facts(moot, SeatLost) == []
            again = [fact for fact in await list_facts(moot, AsksSent) if fact.usage.calls]
            assert [len(fact.asks) for fact in again] == [1]
            assert again[0].usage.tokens_in > 100
            assert await list_times(moot, again[0].asks[0]) == [1.0, 2.0]
            assert decision.spent.calls == len(server.asked)
            report = await moot.replay("s")
            assert report.snapshot.session_state.spent.calls == len(server.asked)

    run_with_deadline(work())


def test_a_seat_that_is_silent_twice_is_lost_with_what_it_had_and_what_helps(
    tmp_path: Path,
) -> None:
    """M-5: the others decide; the record says how long it was waited for, and the calls count."""
    hung: list[str] = []

    def answer(request: Request) -> Step:
        said = StubReply(text=json.dumps(build_words(find_kind(request.text), request.text)))
        # The first question, however often it is put; a trial of a few tokens is answered.
        first = hung[0] if hung else request.text
        if request.text != first or request.body.get("max_tokens") == 16:
            return said
        hung.append(request.text)
        return Hang()

    async def work() -> None:
        names = ("ada", "bob", "cyd")
        async with (
            StubServer([answer]) as server,
            open_slow_moot(tmp_path, server, *names, limits="server=9c") as moot,
        ):
            decision = await moot.hold("Should we wait?", **build_debate(1.0, *names))
            assert decision.status == "concluded"
            (lost,) = await list_facts(moot, SeatLost)
            place = server.base_url.removeprefix("http://").removesuffix("/v1")
            assert (lost.reason, lost.usage.calls) == ("timeout", 1)
            assert str(lost.cause) == (
                f"m at {place} did not answer within 2 s; give it more (`--set patience=10`) "
                "or one at a time (`MOOT_LIMITS=server=1c`)"
            )
            assert await list_times(moot, lost.ask) == [1.0, 2.0]
            assert decision.spent.calls == len(server.asked) - 1
            await moot.replay("s")

    run_with_deadline(work())


def test_a_resumed_ask_has_more_time_than_the_one_that_it_missed_and_ends(tmp_path: Path) -> None:
    """M-5, M-6: a server that computes one answer at a time and then cannot even list its models parks the session. Each resume
    gives it twice the time, so that it ends, and the sentence names the seats, the seconds and what helps."""

    async def work() -> None:
        names = ("ada", "bob")

        def answer(request: Request) -> StubReply:
            return StubReply(text=json.dumps(build_words(find_kind(request.text), request.text)))

        async with SerialServer([answer], seconds=1.5) as server:
            server.is_deaf = True
            async with open_slow_moot(tmp_path, server, *names, preflight=0.2) as moot:
                decision = await moot.hold("Should we wait?", **build_debate(0.5, *names))
                assert decision.status == "parked"
                place = server.base_url.removeprefix("http://").removesuffix("/v1")
                cause = (
                    f"m at {place} did not answer within 0.5 s; give it more (`--set patience=5`)"
                )
                assert decision.parked == f"ada, bob: {cause}"
                (parked,) = await list_facts(moot, SessionParked)
                in_chinese = explain_outage(parked.causes, "zh")
                assert in_chinese.startswith(f"ada, bob：m at {place} 在 0.5 秒")
                assert "`--set patience=5`" in in_chinese
                assert parked.usage.calls == 2
                decision = await moot.run("s")
                assert decision.status == "parked"
                assert "within 1 s" in decision.parked
                (first, *_) = (await list_facts(moot, AsksSent))[0].asks
                assert await list_times(moot, first) == [0.5, 1.0]
            # Another process takes it up, and its server lists its models meanwhile.
            server.is_deaf = False
            async with open_slow_moot(tmp_path, server, *names) as moot:
                decision = await moot.resume("s")
                assert (decision.status, decision.lost) == ("concluded", ())
                assert await list_times(moot, first) == [0.5, 1.0, 2.0]
                await moot.replay("s")

    run_with_deadline(work())
