"""The same request twice: the sender's words are compared, not what Moot made of them; a new key is a new request."""

from pathlib import Path
from typing import Any

import pytest
from tests.integration.test_session_views import Rpc, in_memory, served
from tests.integration.test_stream import staged

from moothall.app.deliberations import Deliberations, derive_session_id
from moothall.domain.ids import KeyedCall, SeatId, parse_session_id
from moothall.domain.roster import MAILBOX, Seat
from moothall.errors import KeyReused
from moothall.participants.model import ModelParticipant
from moothall.surfaces.api.chat import find_or_open_meeting
from moothall.surfaces.api.chat_request import ChatModel, ChatRequest, read_question
from moothall_testkit.ledger_scenes import run_with_deadline

FOUND_LATER = {"OPENAI_API_KEY": "sk-of-nobody"}
FOUND_FIRST = {"GROQ_API_KEY": "gsk-of-nobody"}

OPENINGS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "moot.openSession": (
        {"topic": "Redis or Postgres?", "check": False},
        {"topic": "Redis or Kafka?", "check": False},
        "sessionId",
    ),
    "cstp.openDeliberation": (
        {
            "topic": "A or B?",
            "participants": [{"id": "ada", "platform": "groq:m"}, "bob"],
            "check": False,
        },
        {"topic": "A or B?", "participants": ["ada", "bob"], "check": False},
        "deliberationId",
    ),
    "moot.swarmOpen": (
        {"task": "Name it.", "panel": "board", "check": False},
        {"task": "Name it.", "panel": "board", "check": False, "maxRounds": 2},
        "sessionId",
    ),
    "moot.openPipeline": (
        {"pipeline": "contest", "task": "Do it.", "check": False},
        {"pipeline": "contest", "task": "Do it not.", "check": False},
        "sessionId",
    ),
    "moot.consult": (
        {
            "question": "Why?",
            "to": "optimist",
            "panel": "board",
            "timeoutSeconds": 0,
            "check": False,
        },
        {
            "question": "Why not?",
            "to": "optimist",
            "panel": "board",
            "timeoutSeconds": 0,
            "check": False,
        },
        "sessionId",
    ),
    "moot.playDemo": (
        {"name": "debate", "pace": "reading"},
        {"name": "debate", "pace": "reading", "language": "zh"},
        "sessionId",
    ),
}
"""Every call that opens a session with a key: words, other words, and where the result names the session."""


def change_discovery(rpc: Rpc, found: dict[str, str]) -> None:
    """From now on these keys are in the environment, and none of the earlier ones."""
    environ = rpc.call.moot.environ
    for name in (*FOUND_FIRST, *FOUND_LATER):
        environ.pop(name, None)
    environ.update(found)


@pytest.fixture(autouse=True)
def _in_a_folder_without_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A consultation keeps its record in the folder that it is asked in.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("moothall.app.seats.LOCAL_SERVERS", ())


@pytest.mark.parametrize("method", OPENINGS)
def test_a_repeated_key_finds_its_session_whatever_models_are_found_by_then(
    method: str, tmp_path: Path
) -> None:
    """D-6: other models are found, and then none at all; the words that were sent are the same."""
    words, other, name = OPENINGS[method]

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            change_discovery(rpc, FOUND_FIRST)
            first = await rpc(method, **words, idempotencyKey="k")
            for found in (FOUND_FIRST | FOUND_LATER, FOUND_LATER, {}):
                change_discovery(rpc, found)
                again = await rpc(method, **dict(reversed(words.items())), idempotencyKey="k")
                assert again[name] == first[name]
                with pytest.raises(KeyReused, match="'k' came before, with other words"):
                    await rpc(method, **other, idempotencyKey="k")
            change_discovery(rpc, FOUND_FIRST)
            new = await rpc(method, **words, idempotencyKey="another key")
            assert new[name] != first[name]

    run_with_deadline(work())


def test_one_key_for_two_kinds_of_call_is_refused(tmp_path: Path) -> None:
    """D-6: nobody is handed a session that another call opened."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            seats = ["ada", "bob"]
            await rpc("cstp.openDeliberation", topic="A?", participants=seats, idempotencyKey="k")
            with pytest.raises(KeyReused):
                await rpc(
                    "moot.openSession",
                    topic="A?",
                    seats=seats,
                    protocol="debate",
                    idempotencyKey="k",
                )

    run_with_deadline(work())


def test_a_session_of_an_older_version_is_found_by_what_was_opened(tmp_path: Path) -> None:
    """Its opening holds no digest of the words: it is compared by its seats, as it was then."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            seats = {"ada": "mailbox", "bob": "mailbox"}
            session = derive_session_id("local", "k")
            await rpc.call.moot.open("A or B?", seats=seats, session=session, hosted=True)
            words = {"topic": "A or B?", "seats": ["ada=mailbox", "bob=mailbox"]}
            again = await rpc("moot.openSession", **words, idempotencyKey="k")
            assert again["sessionId"] == session
            with pytest.raises(KeyReused):
                await rpc("moot.openSession", **{**words, "topic": "C?"}, idempotencyKey="k")

    run_with_deadline(work())


def test_a_fork_is_not_what_the_key_opened(tmp_path: Path) -> None:
    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            opened = await rpc(
                "moot.openSession", topic="A?", seats=["ada", "bob"], idempotencyKey="k"
            )
            engine = rpc.call.moot.engine
            fork = await engine.fork(parse_session_id(opened["sessionId"]), 1)
            first = (await engine.load_snapshot(fork)).session_state.opened
            assert first.words_digest == ""

    run_with_deadline(work())


def test_the_digest_of_a_call_depends_on_its_words_alone() -> None:
    """Not on the order of the fields; and one that was kept by an older version is computed the same."""
    one = KeyedCall.from_params("m", "ada", "k", {"a": 1, "b": {"c": 2, "d": [3]}})
    same = KeyedCall.from_params("m", "bob", "j", {"b": {"d": [3], "c": 2}, "a": 1})
    other = KeyedCall.from_params("m", "ada", "k", {"a": 1, "b": {"c": 2, "d": [4]}})
    assert one.digest == same.digest != other.digest
    kept = KeyedCall(call="create_thread", by="", key="k", words=("Caches", "文", ""))
    assert kept.digest == "57f8985c9ed82e8cdf596c4e9fbb692937ef8443bdfab4af90693e1cb7687cd3"


# The chat door


def build_chat(
    model: str = "default", text: str = "Redis or Postgres?", **more: Any
) -> ChatRequest:
    said = [{"role": "user", "content": text}]
    return ChatRequest.model_validate({"model": f"moot/{model}", "messages": said, **more})


def test_a_chat_key_compares_the_request_and_not_what_was_found_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another question, and the same one to another group, are other words; a seed says nothing of either."""

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            change_discovery(rpc, FOUND_FIRST)
            monkeypatch.setattr(ModelParticipant, "find_obstacle", _accept)

            async def ask(key: str, group: str = "default", **more: Any) -> str:
                chat = build_chat(group, **more)
                model = ChatModel(panel=group, protocol="persona")
                question = read_question(chat)
                return (await find_or_open_meeting(rpc.call, chat, model, question, key)).session

            first = await ask("k")
            change_discovery(rpc, FOUND_LATER)
            assert await ask("k") == first
            assert await ask("k", seed=4) == first
            for other in ({"text": "Redis or Kafka?"}, {"group": "board"}):
                with pytest.raises(KeyReused, match="used for another question"):
                    await ask("k", **other)
            assert await ask("another key") != first

    run_with_deadline(work())


async def _accept(*given: object) -> None:
    """Every model can be asked."""


# Contributions


async def hold_to(stage: Any, session: str, phase: str) -> None:
    """Bring a debate of ada and bob into a phase."""
    for seat in ("ada", "bob"):
        await stage.propose(session, seat, f"{seat}'s")
    shown = await stage("cstp.getDeliberation", deliberationId=session)
    assert shown["phase"] == phase


def say(stage: Any, session: str, seat: str, **words: Any) -> Any:
    return stage("cstp.contribute", deliberationId=session, participant=seat, **words)


AGREES = {"type": "support", "text": "I agree.", "refersTo": 3, "confidence": 0.7}


def test_equal_words_under_a_new_key_are_a_new_contribution(tmp_path: Path) -> None:
    """D-2: within a phase, and in the next one, where the seat is asked again and would be waited for for ever."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session = await stage.open("ada", "bob", stakes="high")
            await hold_to(stage, session, "argue")
            first = await say(stage, session, "ada", **AGREES, idempotencyKey="1")
            assert (await say(stage, session, "ada", **AGREES, idempotencyKey="1")) == first
            again = await say(stage, session, "ada", **AGREES, idempotencyKey="2")
            assert again["entry"] > first["entry"]
            doubt = {"type": "challenge", "text": "Why?", "refersTo": 2, "confidence": 0.6}
            answered = await say(stage, session, "bob", **doubt, idempotencyKey="1")
            assert answered["phase"] == "answer"
            third = await say(stage, session, "ada", **AGREES, idempotencyKey="3")
            assert third["entry"] > again["entry"]
            assert third["phase"] == "synthesize"

    run_with_deadline(work())


def test_equal_words_without_a_key_count_once_until_the_seat_is_asked_anew(tmp_path: Path) -> None:
    """D-2: a retry is one; who is asked for something new has said something new."""

    async def work() -> None:
        async with staged(tmp_path) as stage:
            session = await stage.open("ada", "bob", stakes="high")
            await hold_to(stage, session, "argue")
            first = await say(stage, session, "ada", **AGREES)
            assert (await say(stage, session, "ada", **AGREES))["entry"] == first["entry"]
            doubt = {"type": "challenge", "text": "Why?", "refersTo": 2, "confidence": 0.6}
            await say(stage, session, "bob", **doubt)
            second = await say(stage, session, "ada", **AGREES)
            assert second["entry"] > first["entry"]
            assert second["phase"] == "synthesize"

    run_with_deadline(work())


# The library


def test_a_key_in_python_compares_topic_and_options_as_they_were_given(tmp_path: Path) -> None:
    """Also where they hold seats, files and functions, and other models are found by then."""

    def ada(brief: object) -> str:
        return "A"

    async def work() -> None:
        async with served(in_memory(tmp_path)) as rpc:
            moot = rpc.call.moot
            deliberations = Deliberations(moot)
            file = tmp_path / "plan.md"
            file.write_text("The plan.", encoding="utf-8")
            seats: Any = {"ada": ada, "bob": Seat(id=SeatId("bob"), platform=MAILBOX)}
            given: Any = {"seats": seats, "files": [file], "protocol": "debate", "check": False}
            first = await deliberations.open("A or B?", key="k", by="me", **given)
            assert await deliberations.open("A or B?", key="k", by="me", **given) == first
            with pytest.raises(KeyReused):
                await deliberations.open("A or C?", key="k", by="me", **given)
            assert await deliberations.open("A or B?", key="j", by="me", **given) != first
            assert await deliberations.open("A or B?", key="k", by="you", **given) != first
            change_discovery(rpc, FOUND_FIRST)
            filled = await deliberations.open("A or B?", key="found", check=False)
            change_discovery(rpc, {})
            assert await deliberations.open("A or B?", key="found", check=False) == filled

    run_with_deadline(work())
