"""What outlives sessions is stored for ever: samples of its facts, and their bytes."""

from dataclasses import MISSING, fields
from datetime import UTC, datetime
from pathlib import Path

from moothall.codec.stored import FactCodec
from moothall.domain.facts import Fact
from moothall.memory.facts import (
    ACCESS_KINDS,
    MEMORY_KINDS,
    CategoryConfidence,
    DecisionKept,
    KeyUsed,
    LoginEnded,
    LoginStarted,
    Member,
    Policy,
    PolicySet,
    SoloBlocked,
    SoloDecided,
    TicketIssued,
    TokenIssued,
)

CODEC = FactCodec({**MEMORY_KINDS, **ACCESS_KINDS})
GOLDEN = Path(__file__).parent / "golden" / "memory_facts_v1.jsonl"
POLICY = Policy(
    failures=2,
    window_seconds=60.5,
    cooldown_seconds=5.0,
    probe_seconds=7.0,
    deliberate_stakes=("high", "critical"),
    least_confidence=0.75,
    deliberate_categories=("安全",),
    category_confidence=(CategoryConfidence(category="payments", least=0.9),),
    scope_sources=4,
    stakes_sources=6,
    global_sources=7,
)
SAMPLES: tuple[Fact, ...] = (
    SoloDecided(
        decision="alone.1",
        source="ada",
        topic="Which cache?",
        decided="LRU",
        confidence=0.8,
        category="web",
        stakes="high",
        tags=("db",),
        built_on=("s1",),
        probes=("agent:ada",),
        key="k",
        via="token:t1",
    ),
    SoloBlocked(
        source="ada",
        topic="Which cache?",
        category="web",
        stakes="high",
        tags=("db",),
        scopes=("agent:ada",),
        rules=("stakes: …",),
        deliberation="required_1",
        key="k",
        decided="LRU",
        confidence=0.8,
        built_on=("s1",),
        via="token:t1",
    ),
    PolicySet(policy=POLICY, by="token t1"),
    KeyUsed(call="create_thread", by="local", key="k", digest="00ff", result="thread-1"),
    TokenIssued(id="t1", digest="00ff", role="agent", seat="ada", expires=datetime(2026, 1, 1, tzinfo=UTC), note="n"),
    TicketIssued(id="k1", digest="00ff", token="t1", expires=datetime(2026, 1, 1, tzinfo=UTC)),
    LoginStarted(id="c1", digest="00ff", token="t1", expires=datetime(2026, 1, 1, tzinfo=UTC), ticket="k1"),
    LoginEnded(id="c1"),
    DecisionKept(
        decision="s1",
        protocol="roundtable",
        topic="?",
        members=(
            Member(source="ada", seat="ada", first="postgresql"),
            Member(source="openai:m", seat="moderator", is_neutral=True),
        ),
        opened_at=datetime(2026, 1, 1, tzinfo=UTC),
        closed_at=datetime(2026, 1, 2, tzinfo=UTC),
    ),
)
"""Only ever add lines, here and in the golden file."""


def test_stored_bytes_never_change() -> None:
    assert b"".join(CODEC.encode(sample) + b"\n" for sample in SAMPLES) == GOLDEN.read_bytes()


def test_what_was_stored_is_read_as_it_was() -> None:
    assert tuple(CODEC.decode(line) for line in GOLDEN.read_bytes().splitlines()) == SAMPLES


def test_every_field_of_the_samples_is_set() -> None:
    samples: tuple[Fact | Policy, ...] = (*SAMPLES[:4], POLICY)
    for sample in samples:
        unset = [one.name for one in fields(sample) if one.default is not MISSING and getattr(sample, one.name) == one.default]
        assert unset == [], type(sample).__name__


def test_what_an_older_moot_wrote_has_the_defaults() -> None:
    """D-17: a policy and a refusal from before category rules."""
    policy = CODEC.decode(b'{"fact":"memory.policy_set","policy":{"failures":2}}')
    assert policy == PolicySet(
        policy=Policy(failures=2, deliberate_categories=(), scope_sources=2, stakes_sources=3, global_sources=5)
    )
    blocked = CODEC.decode(b'{"fact":"memory.solo_blocked","source":"ada","topic":"?","deliberation":"s"}')
    assert blocked == SoloBlocked(source="ada", topic="?", deliberation="s", decided="", confidence=None)
