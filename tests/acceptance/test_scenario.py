"""The source's own example (section 5): layoffs of 20 %. A speaks, B answers, C steps in at 0.95."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import (
    LAYOFFS,
    Cli,
    Guest,
    draft,
    facts,
    held,
    round_robin,
    seat_words,
    with_guests,
    write_script,
)

import moothall
from moothall import Moot
from moothall.domain.effects import Brief
from moothall.features.persona.facts import Intent, Stand
from moothall.ports.participant import Answer, NoAnswer

TOPIC = "我们要不要裁员 20%？"
SEATS = ("A", "B", "C")
PLATFORM = f"script:{LAYOFFS}"
WORDS = [
    "run",
    TOPIC,
    *seat_words(PLATFORM, SEATS),
    "--set",
    "summarizer=C",
    "--session",
    "layoffs",
]
PLAN: dict[str, Any] = {
    "seats": dict.fromkeys(SEATS, PLATFORM),
    "settings": {"summarizer": "C"},
    "session": "layoffs",
}

TIMELINE: list[dict[str, Any]] = [
    {"id": 1, "speaker": "USER", "content": TOPIC, "type": "input"},
    {
        "id": 2,
        "speaker": "A",
        "platform": PLATFORM,
        "content": "裁员会导致核心人才流失……",
        "type": "speech",
        "relevance_score": 0.8,
    },
    {
        "id": 3,
        "speaker": "B",
        "platform": PLATFORM,
        "content": "如果不裁员，公司撑不过三个月……",
        "type": "speech",
        "relevance_score": 0.9,
        "refers_to": 2,
    },
    {
        "id": 4,
        "speaker": "C",
        "platform": PLATFORM,
        "content": "为了平衡生存与发展，建议仅对非核心部门进行 10% 优化……",
        "type": "speech",
        "relevance_score": 0.95,
        "refers_to": 3,
    },
]


def check_ledger(text: str) -> None:
    """The context ledger is the source's, entry for entry."""
    document = json.loads(text)
    stamps = [line.pop("timestamp") for line in document["timeline"]]
    assert document["timeline"] == TIMELINE
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stamp) for stamp in stamps)
    assert stamps == sorted(stamps)
    assert document["session_id"] == "layoffs"
    assert document["topic"] == TOPIC
    assert document["status"] == "concluded"
    assert document["participants"] == ["A", "B", "C"]
    assert document["current_consensus"]["contested"] == [
        {"entry": 2, "speaker": "A", "claim": "裁员会导致核心人才流失……", "by": ["B"]}
    ]
    assert document["conclusion"]["decision"] == {
        "text": "仅对非核心部门进行 10% 优化。",
        "entries": [2, 3, 4],
    }


def test_the_sources_scenario_plays_out_through_the_command_line(cli: Cli) -> None:
    """P-16, P-3, P-4, P-6: USER, A, B, C in this order, C at 0.95, written as the source's context ledger."""
    told = cli.fresh(*WORDS).out
    check_ledger(cli.fresh("export", "layoffs", "context").out)
    spoken = [line.split(":")[0] for line in told.splitlines() if re.match(r"#\d", line)]
    assert spoken == ["#1 USER", "#2 A 0.80", "#3 B 0.90 → #2", "#4 C 0.95 → #3"]
    assert "仅对非核心部门进行 10% 优化。" in told


def test_the_decision_weighs_each_seat_and_names_its_grounds(cli: Cli) -> None:
    """P-15, P-17: bias weight × confidence × trust, the dissent by name, positions before and after."""
    decision = cli.json(*WORDS)
    assert (decision["decision"], decision["decisionEntries"]) == (
        "仅对非核心部门进行 10% 优化。",
        [2, 3, 4],
    )
    assert decision["author"] == "C"
    assert decision["endedBy"] == "quiet"
    assert [
        (each["seat"], each["before"], each["verdict"], each["weight"])
        for each in decision["positions"]
    ] == [
        ("A", "反对裁员。", "conditional", 0.35),
        ("B", "支持裁员。", "support", 0.3),
        ("C", "先听听。", "support", 0.4),
    ]
    assert decision["support"] == 1.0
    assert decision["turnout"] == 1.0
    assert decision["dissent"] == []
    assert [(each["seat"], each["text"]) for each in decision["obligations"]] == [
        ("A", "保留研发部")
    ]
    assert decision["lost"] == []
    assert decision["outcomeUncertain"] is False


def test_silence_leaves_no_entry_and_is_kept_with_its_reason(cli: Cli) -> None:
    """P-5, P-10: who was silent and why, who got the floor and why, apart from the timeline."""
    cli(*WORDS)
    record = facts(cli("export", "layoffs", "jsonl").out)
    silent = [
        fact["said"].get("reason")
        for fact in record
        if fact["fact"] == "persona.intent_declared" and fact["seat"] == "C"
    ]
    assert silent[:2] == ["先听听他们怎么说。", "还是没到我说话的时候。"]
    floors = [
        (fact["turn"], fact["seat"], fact["reason"])
        for fact in record
        if fact["fact"] == "persona.floor_given"
    ]
    assert floors == [(1, "A", "first_by_id"), (2, "B", "only_one"), (3, "C", "highest")]
    minutes = cli("export", "layoffs", "minutes").out
    assert "- `████░░░░░░░░░░░░░░░░` C 0.20 沉默 · 先听听他们怎么说。\n" in minutes
    assert "- `██████░░░░░░░░░░░░░░` C 0.30 沉默 · 还是没到我说话的时候。\n" in minutes


def test_the_library_holds_the_same_meeting(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """P-16: `moothall.hold`, for programs without an event loop."""
    monkeypatch.setenv("MOOT_HOME", str(cli.home))
    monkeypatch.delenv("MOOT_LEDGER", raising=False)
    decision = moothall.hold(TOPIC, **PLAN)
    assert decision.decision is not None
    assert decision.decision.entries == (2, 3, 4)

    async def exported() -> str:
        async with Moot() as library:
            return await library.export("layoffs", "context")

    check_ledger(asyncio.run(exported()))


def test_a_program_can_watch_the_scenario_while_it_is_held(cli: Cli) -> None:
    """P-16, P-11: the speech is streamed before its entry is there, and each entry comes once, in order."""

    async def work() -> tuple[list[int], str]:
        async with cli.moot() as library:
            session = await library.open(TOPIC, **PLAN)

            async def watch() -> tuple[list[int], str]:
                seen, heard = [], ""
                async for event in library.watch(session):
                    if isinstance(event, moothall.TextDelta):
                        heard += event.text
                    elif isinstance(event, moothall.EntryAdded):
                        seen.append(event.entry.seq)
                return seen, heard

            watcher = asyncio.create_task(watch())
            await asyncio.sleep(0)
            await library.run(session)
            found = await watcher
            check_ledger(await library.export(session, "context"))
            return found

    seen, heard = held(work())
    assert seen == list(range(1, len(seen) + 1))
    assert heard == "".join(line["content"] for line in TIMELINE[1:])


def test_sessions_are_named_by_the_day_and_counted(cli: Cli) -> None:
    """P-3: `think_YYYYMMDD_NNN` by default."""
    names = [cli.json(*WORDS[:-2])["sessionId"] for _ in range(2)]
    assert all(re.fullmatch(r"think_\d{8}_\d{3}", name) for name in names)
    assert [name[-3:] for name in names] == ["001", "002"]


def test_what_a_seat_receives_stays_bounded_as_the_meeting_grows(cli: Cli, tmp_path: Path) -> None:
    """P-8: the goal, a summary of what is older, the last N turns; never the whole history."""
    talk = round_robin(["a", "b"], 60)
    talk["b"]["draft"] = [draft("Long.", [1])]
    platform = write_script(tmp_path / "long.toml", talk)

    async def listen(brief: Brief) -> Answer | NoAnswer:
        if brief.form.kind == "stand":
            return Answer(said=Stand(verdict="abstain", confidence=0.0))
        return Answer(said=Intent(reaction_score=0.4, intent_to_speak=False))

    listener = Guest(listen)

    async def work() -> None:
        async with with_guests(cli, {"ear": listener}) as library:
            seats = {"a": platform, "b": platform, "ear": "mailbox"}
            settings = {"window": 4, "blind": False, "summarizer": "b"}
            await library.hold("How long?", seats=seats, settings=settings, turns=60)

    held(work())
    bids = [brief for brief in listener.briefs if brief.form.kind == "intent"]
    assert len(bids) == 60
    assert max(len(brief.shared) + len(brief.own) for brief in bids) < 3_000
    late = bids[-1].shared
    assert late.startswith("# Question (#1)\n> How long?\n")
    last_turns = late.partition("# Said so far\n")[2]
    assert [line for line in last_turns.split("\n") if line.startswith("[#")] == [
        "[#57 b]",
        "[#58 a]",
        "[#59 b]",
        "[#60 a]",
    ]
