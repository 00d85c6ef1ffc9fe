"""The embedded seat with the real model: fetched once, then from the cache."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from moothall import Moot, TextDelta
from moothall.domain.facts import Reply, SeatLost
from moothall.errors import BadRoster, WorldError
from moothall.participants import embedded, local_model, semantic_similarity
from moothall.participants.local_model import LocalModel

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def model_folder() -> Path:
    folder = Path(os.environ.get("MOOT_TEST_MODELS") or ROOT / ".cache" / "models")
    local_model.fetch_weights(folder)
    return folder


@pytest.fixture
def environ(model_folder: Path, tmp_path: Path) -> Mapping[str, str]:
    (tmp_path / "models").symlink_to(model_folder)
    return {"MOOT_HOME": str(tmp_path)}


def test_a_meeting_of_embedded_seats_comes_to_a_decision_that_names_its_sources(
    environ: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """P-2, P-15: a local model with no key and no network sits in a meeting like any other."""
    monkeypatch.setattr(embedded, "MAX_TOKENS", 32)

    async def meeting() -> None:
        async with Moot(environ=environ) as moot:
            seats = {"ada": "embedded", "bob": "embedded"}
            session = await moot.open("Should we ship on Friday?", seats=seats, turns=2, seed=7)
            heard: list[str] = []

            async def follow() -> None:
                async for event in moot.watch(session):
                    if isinstance(event, TextDelta):
                        heard.append(event.text)

            follower = asyncio.create_task(follow())
            decision = await moot.run(session)
            await follower
            assert decision.decision is not None
            assert decision.decision.entries
            assert decision.lost == ()
            assert decision.turns == 2
            assert decision.spent.tokens_out > 0
            speeches = [line.content for line in (await moot.load_timeline(session)).lines[1:]]
            assert len(speeches) == 2
            # What was streamed is what was recorded.
            assert "".join(heard).replace(" ", "").endswith(speeches[-1].replace(" ", ""))

    asyncio.run(meeting())


def test_the_same_seed_gives_the_same_words(environ: Mapping[str, str], model_folder: Path) -> None:
    model = LocalModel(model_folder / local_model.NAME)
    sampling = {"temperature": 0.4, "seed": 11}

    def said() -> str:
        messages = [{"role": "user", "content": "Name one risk of a rewrite, in one sentence."}]
        done = model.complete(
            messages,
            max_tokens=24,
            sampling=sampling,
            on_text=lambda text: None,
            is_cancelled=lambda: False,
        )
        return done.text

    assert said() == said() != ""


def test_a_generation_stops_when_it_is_cancelled(model_folder: Path) -> None:
    model = LocalModel(model_folder / local_model.NAME)
    pieces: list[str] = []
    done = model.complete(
        [{"role": "user", "content": "Tell a long story."}],
        max_tokens=400,
        sampling={"temperature": 0.0},
        on_text=pieces.append,
        is_cancelled=lambda: len(pieces) >= 3,
    )
    assert done.finish == "cancelled"
    assert len(pieces) < 20


def test_a_missing_model_file_is_told(tmp_path: Path) -> None:
    model = LocalModel(tmp_path / "none.gguf")
    with pytest.raises(WorldError, match="moot setup embedded"):
        model.complete(
            [], max_tokens=1, sampling={}, on_text=lambda text: None, is_cancelled=lambda: False
        )


def test_a_chinese_meeting_is_refused_before_anything_is_recorded(
    environ: Mapping[str, str],
) -> None:
    async def meeting() -> None:
        async with Moot(environ=environ) as moot:
            with pytest.raises(BadRoster, match="English only"):
                await moot.open("我们要不要裁员？", panel="duo", models=["embedded"])
            assert await moot.sessions() == []

    asyncio.run(meeting())


@pytest.mark.parametrize(
    ("persona", "on_topic", "off_topic"),
    [
        (
            "You watch the company's cash and its costs.",
            "The rewrite will cost two million and our cash lasts a year.",
            "The new logo should be blue.",
        ),
        (
            "你关心公司的现金流和成本。",
            "重写要花两百万，而我们的现金只够一年。",
            "新的标志应该是蓝色的。",
        ),
        (
            "You care about the people who work here and how they are treated.",
            "Half of the night shift would lose their jobs.",
            "The database index is too large.",
        ),
    ],
)
def test_relevance_tells_what_concerns_a_persona(
    persona: str, on_topic: str, off_topic: str
) -> None:
    measure = semantic_similarity.SentenceEncoder()
    assert semantic_similarity.compute_relevance(
        measure, persona, on_topic
    ) > semantic_similarity.compute_relevance(measure, persona, off_topic)


def test_an_empty_text_is_like_nothing() -> None:
    assert semantic_similarity.SentenceEncoder().likeness("", ["a word"]) == [0.0]


@pytest.mark.parametrize("protocol", ["roundtable", "debate", "advisory", "consensus", "swarm"])
def test_the_embedded_model_sits_in_every_protocol_and_loses_nothing_to_shape(
    environ: Mapping[str, str], protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M-1: its words are poor, its shapes are right, also where they are cut off."""
    # A small part of what it may write: how long it speaks says nothing of the shapes, and each word takes a while.
    monkeypatch.setattr(embedded, "MAX_TOKENS", 6)
    settings = {"swarm": {"max_rounds": 1, "collisions": 0}, "roundtable": {"max_rounds": 1}}.get(
        protocol, {}
    )
    seats = {"ada": "embedded", "bob": "embedded"} | (
        {"moderator": "embedded"} if protocol == "roundtable" else {}
    )

    async def work() -> None:
        async with Moot(environ=environ) as moot:
            decision = await moot.hold(
                "Should we ship on Friday?",
                protocol=protocol,
                seats=seats,
                seed=3,
                settings=settings,
            )
            facts = [entry.fact for entry in await moot.engine.entries(decision.session)]
        assert [fact for fact in facts if isinstance(fact, SeatLost)] == []
        assert decision.status == "concluded"
        models = {fact.model for fact in facts if isinstance(fact, Reply) and fact.usage.tokens_out}
        assert models == {local_model.NAME}

    asyncio.run(work())
