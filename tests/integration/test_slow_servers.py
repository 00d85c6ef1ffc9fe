"""N-4, M-5: a server that is slow is asked in its own time; its seats are neither lost nor asked for ever."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest
from tests.integration.test_model_participant import brief
from tests.support.serial_server import SerialServer

from moothall.participants.model import ModelParticipant
from moothall.participants.platforms import is_asked_one_by_one, parse_platform
from moothall.participants.provider_limits import LIMITS, LocalLimits
from moothall.ports.participant import Answer
from moothall_testkit.ledger_scenes import run_with_deadline
from moothall_testkit.stub_server import StubReply

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
