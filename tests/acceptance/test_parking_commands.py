"""Outages through the command line: parked, shown, refused with the remedy, resumed."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import (
    Cli,
    Item,
    Script,
    draft,
    facts,
    listens,
    position,
    seat_words,
    speech,
    stand,
    wants,
    write_script,
)
from tests.acceptance.test_providers import SEATS, called, mind, run
from tests.support.model_provider import ModelProvider

from moothall_testkit.stub_server import StubServer

MIND: dict[str, list[Item]] = {
    "position": [position("Wait.")],
    "intent": [wants(0.9), listens()],
    "speech": [speech("words")],
    "draft": [draft("Wait a week.", [2])],
    "stand": [stand()],
}


def write_outage(path: Path) -> str:
    """Two seats that are out from the first speech on."""
    out: Script = {seat: {**MIND, "speech": [{"fail": "unreachable"}]} for seat in "ab"}
    return write_script(path / "out.toml", out)


def test_a_parked_session_says_so_wherever_it_is_shown_and_goes_on_with_other_participants(
    cli: Cli, tmp_path: Path
) -> None:
    """M-5, M-6: code 3, the reason and the command in the live lines, `list`, `show` and JSON; `resume --swap` ends it."""
    platform, spare = (
        write_outage(tmp_path),
        write_script(tmp_path / "spare.toml", dict.fromkeys("ab", MIND)),
    )
    parked = cli("run", "Ship?", *seat_words(platform, "ab"), "--session", "s", code=3)
    assert "\n  ■ Parked, nothing is decided or lost: a: scripted\n" in parked.out
    assert parked.out.endswith(
        "On hold, nothing is lost: a: scripted\nTo go on: `moot resume s`.\n"
    )
    listed = cli("list")
    assert "\tparked\t" in listed.out
    assert listed.err == "s is parked: a: scripted; moot resume s\n"
    assert "moot resume s" in cli("show", "s").out
    shown = cli.json("show", "s")
    assert (shown["status"], shown["parked"], shown["decision"], shown["lost"]) == (
        "parked",
        "a: scripted",
        None,
        [],
    )
    cli("input", "s", "Mind the cost.")
    assert cli.json("list")["sessions"][0]["status"] == "parked"
    assert "no seat is called 'c'" in cli("resume", "s", "--swap", "c=mailbox", code=2).err
    assert "expected SEAT=PLATFORM" in cli("resume", "s", "--swap", "a", code=2).err
    swaps = [word for seat in "ab" for word in ("--swap", f"{seat}={spare}")]
    assert "a is filled by script:" in cli("resume", "s", *swaps).out
    kinds = [fact["fact"] for fact in facts(cli("export", "s", "jsonl").out)]
    assert ("seat_lost" in kinds, kinds.count("seats_swapped")) == (False, 1)
    cli("replay", "s")


def test_a_parked_session_can_be_cancelled(cli: Cli, tmp_path: Path) -> None:
    """M-5: it has not ended before."""
    cli("run", "Ship?", *seat_words(write_outage(tmp_path), "ab"), "--session", "s", code=3)
    assert "would cancel s" in cli("cancel", "s", "--dry-run").out
    cli("cancel", "s")
    assert cli.json("list")["sessions"][0]["status"] == "cancelled"


def test_a_chinese_session_is_parked_in_chinese(cli: Cli, tmp_path: Path) -> None:
    """M-5: the lines that Moot writes."""
    done = cli(
        "run", "发布吗？", *seat_words(write_outage(tmp_path), "ab"), "--session", "s", code=3
    )
    assert "会议已暂停" in done.out
    assert "继续：`moot resume s`。" in done.out


@pytest.mark.parametrize("seat", ["human", "key"])
def test_resume_looks_before_it_goes_on(cli: Cli, tmp_path: Path, seat: str) -> None:
    """M-6: no terminal for a person, no key: refused with the remedy before anything is recorded."""
    platform = write_outage(tmp_path)
    cli("run", "Ship?", *seat_words(platform, "ab"), "--session", "s", code=3)
    before = cli("export", "s", "jsonl").out
    swap = "human" if seat == "human" else "openai:gpt-5-mini"
    told = cli("resume", "s", "--swap", f"b={swap}", code=1).err
    assert ("a human seat needs a terminal" if seat == "human" else "set OPENAI_API_KEY") in told
    assert "--swap SEAT=PLATFORM" in told
    assert cli("export", "s", "jsonl").out == before


def test_a_person_without_a_terminal_parks_the_session(cli: Cli, tmp_path: Path) -> None:
    """M-5: asked in a process that has no terminal; nothing is lost."""
    platform = write_script(tmp_path / "s.toml", {"a": MIND})
    words = ("--seat", f"a={platform}", "--seat", "b=human", "--no-check", "--session", "s")
    parked = cli("run", "Ship?", *words, code=3)
    assert "b: there is no terminal to ask a person at" in parked.out
    assert [
        fact for fact in facts(cli("export", "s", "jsonl").out) if fact["fact"] == "seat_lost"
    ] == []


def test_wait_resumes_by_itself_when_the_provider_is_back(cli: Cli) -> None:
    """M-5: `--wait 2m` says when it tries again, and ends the meeting as if nothing had happened."""

    async def work() -> tuple[int, str, list[dict[str, Any]]]:
        async with StubServer([mind]) as first:
            running = asyncio.create_task(
                called(cli, first, "run", "Ship?", *SEATS, "--session", "s", "--wait", "2m")
            )
            while len(first.asked) < 5:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.01)
        while cli.json("list")["sessions"][0]["status"] != "parked":  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.2)
        async with StubServer([mind], port=first.port):
            done = await running
        return done.code, done.out, facts(cli("export", "s", "jsonl").out)

    code, out, record = run(work())
    assert code == 0, out
    assert re.search(r"Parked: trying again in [56] s; Ctrl-C leaves it parked\.", out)
    assert "Wait a week." in out
    assert "seat_lost" not in json.dumps(record)


def test_wait_takes_a_duration_and_nothing_else(cli: Cli, tmp_path: Path) -> None:
    """M-5: `--wait` before the topic keeps the topic, and a limit that has passed leaves the session parked."""
    platform = write_outage(tmp_path)
    spare = write_script(tmp_path / "spare.toml", dict.fromkeys("ab", MIND))
    cli("run", "--wait", "Ship?", *seat_words(spare, "ab"), "--session", "whole")
    assert cli.json("show", "whole")["topic"] == "Ship?"
    done = cli(
        "run", "Ship?", *seat_words(platform, "ab"), "--session", "s", "--wait", "2s", code=3
    )
    assert re.search(r"trying again in [0-2] s", done.out)
    assert cli.json("show", "s")["status"] == "parked"


def test_a_session_that_lost_its_seats_names_the_command_that_goes_on_before_that(
    cli: Cli, tmp_path: Path
) -> None:
    """M-7: seats that answer badly are lost; the fork begins before them, and ends with a decision."""
    bad: list[Item] = [{"raw": "?"}] * 3
    lost: dict[str, list[Item]] = {
        **MIND,
        "position": bad,
        "intent": bad,
        "draft": bad,
        "stand": bad,
    }
    platform, spare = (
        write_script(tmp_path / "lost.toml", dict.fromkeys("ab", lost)),
        write_script(tmp_path / "spare.toml", dict.fromkeys("ab", MIND)),
    )
    done = cli("run", "Ship?", *seat_words(platform, "ab"), "--session", "s", code=4)
    assert "go on from before the end: `moot fork s`" in done.out
    cli(
        "fork",
        "s",
        "--session",
        "t",
        *[word for seat in "ab" for word in ("--swap", f"{seat}={spare}")],
    )
    assert "seat_lost" not in cli("export", "t", "jsonl").out
    cli("resume", "t")
    assert cli.json("show", "t")["decision"] == "Wait a week."


def test_a_session_that_is_parked_because_its_server_is_slow_ends_when_it_is_resumed(
    cli: Cli, tmp_path: Path
) -> None:
    """M-5, M-6: the sentence names the seats, the seconds and what helps; the calls that were given up are counted; another
    process gives each ask twice the time, and a replay gives the same."""
    with ModelProvider(delay=4.0) as provider:
        platform = f"{provider.base_url}#m"
        panel = "".join(
            f'[[seat]]\nid = "{seat}"\nplatform = "{platform}"\npatience = 3\n' for seat in "ab"
        )
        (tmp_path / "slow.toml").write_text(f'name = "slow"\n{panel}', encoding="utf-8")
        words = ("--panel", str(tmp_path / "slow.toml"), "--protocol", "debate", "--no-check")
        provider.is_stuck = True
        parked = cli("run", "Ship?", *words, "--session", "s", code=3)
        place = provider.base_url.removeprefix("http://").removesuffix("/v1")
        told = f"a, b: m at {place} did not answer within 3 s; give it more (`--set patience=15`)"
        assert told in parked.out
        assert cli.json("show", "s")["spent"]["calls"] >= 1
        provider.is_stuck = False
        cli("resume", "s")
    shown = cli.json("show", "s")
    assert (shown["status"], shown["lost"]) == ("concluded", [])
    sent = [fact for fact in facts(cli("export", "s", "jsonl").out) if fact["fact"] == "asks_sent"]
    assert len([fact for fact in sent if "1.propose.a" in fact["asks"]]) == 2
    cli("replay", "s")
