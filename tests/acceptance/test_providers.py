"""Models behind a real HTTP server, through the command line."""

import asyncio
import json
import sqlite3
from collections.abc import Coroutine
from typing import Any, TypeVar

from tests.acceptance.doors import DEADLINE, Cli, Done

from moothall_testkit.stub_server import Fail, Hang, Request, Step, StubReply, StubServer

T = TypeVar("T")
SEATS = (
    "--seat",
    "ada=openai:gpt-stub",
    "--seat",
    "bob=openai:gpt-stub",
    "--seat",
    "cem=openai:gpt-stub",
)


def mind(request: Request) -> Step:
    """Answers whatever a persona meeting asks: everyone speaks once, then all are quiet."""
    text = request.text
    if "Nobody has spoken yet" in text:
        return StubReply(text=json.dumps({"position": "Wait.", "confidence": 0.6}))
    if "Do you need to speak now?" in text:
        spoken = text.count("] \n") or text.count("said: words")
        wants = spoken < 3
        return StubReply(
            text=json.dumps(
                {"reaction_score": 0.8 if wants else 0.1, "intent_to_speak": wants, "reason": "r"}
            )
        )
    if "Your turn to speak" in text:
        return StubReply(text="re #1 agree: said: words", tokens_in=100, tokens_out=20)
    if "Write its conclusion" in text:
        claim = {"text": "Wait a week.", "entries": [2, 3]}
        return StubReply(
            text=json.dumps({"decision": claim, "confidence": 0.7, "reasons": [claim]})
        )
    return StubReply(
        text=json.dumps(
            {"verdict": "support", "confidence": 0.9, "position": "Fine.", "moved_by": 2}
        )
    )


def run(work: Coroutine[Any, Any, T]) -> T:
    async def bounded() -> T:
        async with asyncio.timeout(2 * DEADLINE):
            return await work

    return asyncio.run(bounded())


async def called(cli: Cli, stub: StubServer, *words: str, key: str = "sk-right") -> Done:
    def call() -> Done:
        with Cli(cli.home, cli.cwd, OPENAI_BASE_URL=stub.base_url, OPENAI_API_KEY=key).start(
            *words
        ) as running:
            return running.ended()

    return await asyncio.to_thread(call)


async def called_afresh(cli: Cli, stub: StubServer, *words: str) -> Done:
    """As `called`, by the installed script, which loads what it needs itself."""
    found = Cli(cli.home, cli.cwd, OPENAI_BASE_URL=stub.base_url, OPENAI_API_KEY="sk-right")
    return await asyncio.to_thread(found.fresh, *words)


def recorded(cli: Cli) -> int:
    ledger = cli.home / "ledger.db"
    if not ledger.exists():
        return 0
    with sqlite3.connect(ledger) as connection:
        (entries,) = connection.execute("SELECT count(*) FROM entries").fetchone()
    connection.close()
    return int(entries)


def one_sentence(done: Done) -> str:
    assert done.code == 1, done
    assert "Traceback" not in done.err
    (line,) = done.err.strip().splitlines()
    return line


def test_three_model_seats_hold_a_meeting_over_http(cli: Cli) -> None:
    """P-2, P-9, P-11, P-15, P-17: any OpenAI-compatible server by its usual environment variable."""

    async def work() -> tuple[Done, list[Request]]:
        async with StubServer([mind]) as stub:
            return await called_afresh(
                cli, stub, "run", "Should we ship on Friday?", *SEATS, "--json"
            ), stub.asked

    done, asked = run(work())
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert (found["decision"], found["decisionEntries"]) == ("Wait a week.", [2, 3])
    assert found["endedBy"] == "quiet"
    assert found["turns"] == 3
    assert found["spent"]["tokensIn"] > 0
    assert found["lost"] == []
    assert [
        position["movedBy"]
        for position in found["positions"]
        if position["seat"] != found["author"]
    ] == [2, 2]
    # As many calls as the protocol needs: 3 positions, 4 × 3 bids, 3 speeches, 1 draft, 2 last words.
    assert len(asked) == 3 + 12 + 3 + 1 + 2


def test_a_key_that_the_provider_rejects_is_told_before_anything_is_recorded(cli: Cli) -> None:
    async def work() -> Done:
        async with StubServer([mind], api_key="sk-right") as stub:
            return await called(cli, stub, "run", "Ship?", *SEATS, key="sk-wrong-and-secret")

    told = one_sentence(run(work()))
    assert "OPENAI_API_KEY" in told
    assert "sk-wrong-and-secret" not in told
    assert recorded(cli) == 0


def test_a_provider_that_hangs_is_told_before_anything_is_recorded(cli: Cli) -> None:
    async def work() -> Done:
        async with StubServer([mind], listing=Hang()) as stub:
            return await called(cli, stub, "run", "Ship?", *SEATS)

    assert "10 s" in one_sentence(run(work()))
    assert recorded(cli) == 0


def test_a_provider_that_hangs_in_the_meeting_loses_its_seat_and_no_more(cli: Cli) -> None:
    """P-9, P-12, P-18: the meeting goes on, and the result names the seat that was lost."""

    def half(request: Request) -> Step:
        return Hang() if "You are cem." in request.text else mind(request)

    async def work() -> Done:
        async with StubServer([half]) as stub:
            panel = cli.cwd / "panel.toml"
            lines = [
                f'[[seat]]\nid = "{seat}"\nplatform = "openai:gpt-stub"\n'
                for seat in ("ada", "bob", "cem")
            ]
            panel.write_text("".join([*lines, "patience = 1.5\n"]))
            return await called(
                cli,
                stub,
                "run",
                "Ship?",
                "--panel",
                str(panel),
                "--set",
                "blind=false",
                "--turns",
                "2",
                "--json",
            )

    done = run(work())
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert [(lost["seat"], lost["last"], lost["didNotVote"]) for lost in found["lost"]] == [
        ("cem", "timeout", True)
    ]
    assert found["decision"] == "Wait a week."


def test_a_rate_limit_is_waited_out(cli: Cli) -> None:
    limits = iter([Fail(status=429, retry_after=0.2)] * 3)

    async def work() -> tuple[Done, int]:
        async with StubServer([lambda request: next(limits, None) or mind(request)]) as stub:
            return await called(cli, stub, "run", "Ship?", *SEATS, "--turns", "2", "--json"), len(
                stub.asked
            )

    done, asked = run(work())
    assert done.code == 0, done.err
    assert json.loads(done.out)["lost"] == []
    assert asked == 3 + 3 + 6 + 2 + 1 + 2


def test_nothing_listening_is_told_with_the_address(cli: Cli) -> None:
    async def work() -> Done:
        async with StubServer([]) as stub:
            pass
        return await called(cli, stub, "run", "Ship?", *SEATS)

    told = one_sentence(run(work()))
    assert "nothing answers" in told
    assert "http://127.0.0.1" in told


def test_the_first_lines_of_a_meeting_say_which_models_sit(cli: Cli) -> None:
    """P-17: by vendor and model, with the seats that each fills; those who read JSON are told nothing beside it."""

    async def work() -> list[Done]:
        async with StubServer([mind]) as stub:
            words = ("run", "Ship?", *SEATS, "--turns", "1")
            return [await called(cli, stub, *words, *more) for more in ((), ("--json",))]

    shown, plain = run(work())
    assert shown.code == plain.code == 0, shown.err
    assert shown.err.splitlines()[0] == "Models: OpenAI gpt-stub (ada, bob, cem)"
    assert "Models:" not in plain.err


def test_by_command_a_wrong_key_is_left_out_and_moot_model_counts(cli: Cli) -> None:
    """P-9: the meeting goes on with what answers, and says so; a name that cannot be had is refused."""

    async def work() -> list[Done]:
        async with (
            StubServer([mind], api_key="sk-right") as wrong,
            StubServer([mind], models=["bge-m3", "llama3.2"]) as ollama,
        ):
            given = Cli(
                cli.home,
                cli.cwd,
                OPENAI_BASE_URL=wrong.base_url,
                OPENAI_API_KEY="sk-wrong-and-secret",
                OLLAMA_BASE_URL=ollama.base_url,
            )
            named = [
                Cli(given.home, given.cwd, **{**given.environ, "MOOT_MODEL": name})
                for name in ("ollama:llama3.2", "ollama:llama3.3")
            ]
            return [
                await asyncio.to_thread(
                    each, "run", "Ship?", "--panel", "duo", "--turns", "1", code=None
                )
                for each in (given, *named)
            ]

    found, named, missing = run(work())
    assert (found.code, named.code, missing.code) == (0, 0, 1), (found.err, named.err)
    left_out, models = found.err.splitlines()[:2]
    assert left_out.startswith("Left out: http://127.0.0.1")
    assert "OPENAI_API_KEY" in left_out
    assert "sk-wrong-and-secret" not in found.err
    assert models.startswith("Models: Ollama llama3.2 (")
    assert named.err.splitlines()[0] == models
    assert missing.err.startswith("moot: MOOT_MODEL=ollama:llama3.3: ollama has no model")
