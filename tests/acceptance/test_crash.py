"""A meeting whose process dies, at any moment and as often as it likes, comes to the same end. Nothing is lost or asked twice."""

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import (
    DEADLINE,
    Cli,
    Terminal,
    facts,
    held,
    round_robin,
    seat_words,
    until,
    write_script,
)

SEATS = ("ada", "bob", "eve", "kim")
TURNS = 6
TOPIC = "Does it survive?"
ASKS = len(SEATS) * (TURNS + 3) + TURNS
"""Positions, seven rounds of bids, the speeches, the draft and the last words of the others."""


class Children:
    """Runs meetings in processes that can be killed; see counted.py."""

    def __init__(self, cli: Cli, platform: str) -> None:
        self.cli = cli
        self._platform = platform
        self._server = cli.converse_with_program(
            Path(__file__).with_name("counted.py"), str(cli.home)
        )

    def close(self) -> None:
        self._server.communicate(timeout=DEADLINE)

    def log(self, session: str) -> Path:
        return self.cli.cwd / f"{session}.log"

    def lines(self, session: str) -> list[str]:
        path = self.log(session)
        return path.read_text().splitlines() if path.exists() else []

    def start(self, session: str, die_at: int = 0) -> int:
        """A child that goes on with the session; its process id."""
        assert self._server.stdin is not None
        self._server.stdin.write(f"{session} {self.log(session)} {die_at}\n".encode())
        self._server.stdin.flush()
        return self._told()

    def ended(self) -> int:
        """The exit code of the child."""
        return self._told()

    def open(self, session: str) -> None:
        async def work() -> None:
            async with self.cli.moot() as moot:
                await moot.open(
                    TOPIC, seats=dict.fromkeys(SEATS, self._platform), session=session, seed=1
                )

        held(work())

    def export(self, session: str, form: str = "jsonl") -> str:
        async def work() -> str:
            async with self.cli.moot() as moot:
                return await moot.export(session, form)

        return held(work())

    def check(self, session: str) -> None:
        """The chain holds, and the rules lead to every step in it."""

        async def work() -> None:
            async with self.cli.moot() as moot:
                assert await moot.verify(session) is None
                await moot.replay(session)

        held(work())

    def _told(self) -> int:
        assert self._server.stdout is not None
        return int(self._server.stdout.readline())


@pytest.fixture
def children(cli: Cli, tmp_path: Path) -> Iterator[Children]:
    platform = write_script(tmp_path / "talk.toml", round_robin(SEATS, TURNS, delay=0.004))
    found = Children(cli, platform)
    yield found
    found.close()


def answered(jsonl: str) -> list[str]:
    """The asks that have an answer on record, or are lost."""
    return [fact["ask"] for fact in facts(jsonl) if "ask" in fact]


def outcome(children: Children, session: str) -> dict[str, Any]:
    """All that a reader sees of a meeting, but for its name, its times and what it cost in time."""
    document: dict[str, Any] = json.loads(children.export(session, "context"))
    for line in document["timeline"]:
        del line["timestamp"]
    del document["session_id"], document["conclusion"]["spent"]
    return document


def drop_head(exported: str) -> str:
    """An export without its first line, which names its last entry."""
    return exported.partition("\n")[2]


def check_whole(children: Children, session: str, before: str, already: int) -> str:
    """What was there before the death is there still, byte for byte; what was answered was not asked again. The record now."""
    now = children.export(session)
    assert drop_head(now).startswith(drop_head(before))
    children.check(session)
    asked_since = {
        line.removeprefix("asked ")
        for line in children.lines(session)[already:]
        if line.startswith("asked ")
    }
    assert asked_since.isdisjoint(answered(before))
    assert max(Counter(answered(now)).values(), default=1) == 1
    kept = [
        int(line.removeprefix("kept "))
        for line in children.lines(session)
        if line.startswith("kept ")
    ]
    assert max(kept, default=0) <= len(facts(now))
    return now


def test_a_meeting_killed_over_one_of_its_asks_ends_as_if_nothing_had_happened(
    children: Children,
) -> None:
    """P-11, P-12: killed once, over the first ask, the third, … the last; resumed; the same end each time."""
    children.open("undisturbed")
    children.start("undisturbed")
    assert children.ended() == 0
    expected = outcome(children, "undisturbed")
    calls = [line for line in children.lines("undisturbed") if line.startswith("asked ")]
    assert len(calls) == len(set(calls)) == ASKS
    assert [line["speaker"] for line in expected["timeline"]] == ["USER", *SEATS, *SEATS[:2]]
    for moment in (*range(1, ASKS, 2), ASKS):
        session = f"killed-{moment}"
        children.open(session)
        children.start(session, moment)
        assert children.ended() == -signal.SIGKILL
        before, already = children.export(session), len(children.lines(session))
        children.start(session)
        assert children.ended() == 0
        check_whole(children, session, before, already)
        assert outcome(children, session) == expected


def test_a_meeting_killed_again_and_again_ends_as_if_nothing_had_happened(
    children: Children,
) -> None:
    """P-11, P-12: killed from outside at moments that fall anywhere, also between an answer and its record."""
    children.open("undisturbed")
    children.start("undisturbed")
    assert children.ended() == 0
    expected = outcome(children, "undisturbed")
    chance = random.Random(20_261_115)
    deaths = run = 0
    while deaths < 40:
        run += 1
        session = f"killed-{run}"
        children.open(session)
        before, already = children.export(session), 0
        while True:
            # Two entries more are at least one answer more, so that it gets on however slow the machine is.
            wanted = len(facts(before)) + chance.randint(2, 4)
            child = children.start(session)
            until(lambda: _is_at(children, session, wanted, child))  # noqa: B023
            time.sleep(chance.uniform(0, 0.008))
            _kill(child)
            code = children.ended()
            before = check_whole(children, session, before, already)
            already = len(children.lines(session))
            if code == 0:
                break
            assert code == -signal.SIGKILL
            deaths += 1
        assert outcome(children, session) == expected


def _is_at(children: Children, session: str, seq: int, child: int) -> bool:
    return f"kept {seq}" in children.lines(session) or not Path(f"/proc/{child}").exists()


def _kill(child: int) -> None:
    try:
        os.kill(child, signal.SIGKILL)
    except ProcessLookupError:
        return


@contextmanager
def running(cli: Cli, tmp_path: Path) -> Iterator[Any]:
    """A meeting in the command line that has got to its second speech and goes no further."""
    platform = write_script(tmp_path / "talk.toml", round_robin(SEATS, TURNS, stuck=2))
    with cli.start(
        "run", TOPIC, *seat_words(platform, SEATS), "--session", "s", "--set", "blind=false"
    ) as process:
        process.wait_for("#3 bob")
        yield process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_meeting_says_how_to_go_on_and_loses_nothing(
    cli: Cli, tmp_path: Path, number: signal.Signals
) -> None:
    """P-11: Ctrl-C and SIGTERM end with code 130 and the command that goes on; `moot resume` does."""
    with running(cli, tmp_path) as process:
        process.process.send_signal(number)
        done = process.ended()
    assert done.code == 130
    assert done.err.strip() == "Stopped. Nothing is lost; resume with: moot resume s"
    before = cli("export", "s", "jsonl").out
    assert [line["speaker"] for line in json.loads(cli("export", "s", "context").out)["timeline"]][
        :3
    ] == ["USER", "ada", "bob"]
    assert cli.json("list")["sessions"][0]["status"] == "thinking"
    write_script(tmp_path / "talk.toml", round_robin(SEATS, TURNS))
    decision = cli.json("resume", "s")
    assert decision["decision"] == "So be it."
    after = cli("export", "s", "jsonl").out
    assert drop_head(after).startswith(drop_head(before))
    assert [fact["fact"] for fact in facts(after)].count("session_resumed") == 1
    assert max(Counter(answered(after)).values()) == 1
    cli("verify", "s")


def test_ctrl_c_in_a_terminal_says_how_to_go_on(cli: Cli, tmp_path: Path) -> None:
    """P-11: the key itself, in the live view; the cursor is given back."""
    platform = write_script(tmp_path / "talk.toml", round_robin(SEATS, TURNS, stuck=1))
    with Terminal(
        cli, "run", TOPIC, *seat_words(platform, SEATS), "--session", "s", "--set", "blind=false"
    ) as terminal:
        terminal.wait_for("ada speaks, turn 1")
        terminal.type("\x03")
        assert terminal.ended() == 130
    assert b"Stopped. Nothing is lost; resume with: moot resume s" in terminal.raw
    assert terminal.raw.rfind(b"\x1b[?25h") > terminal.raw.rfind(b"\x1b[?25l")
    assert b"Traceback" not in terminal.raw
    assert cli.verify("s") == {"s": None}


def test_a_killed_command_leaves_a_session_that_can_be_resumed_at_once(
    cli: Cli, tmp_path: Path
) -> None:
    """P-11: no lock is left behind by a process that was killed."""
    with running(cli, tmp_path) as process:
        process.process.kill()
        assert process.ended().code == -signal.SIGKILL
    before = cli("export", "s", "jsonl").out
    write_script(tmp_path / "talk.toml", round_robin(SEATS, TURNS))
    assert cli.json("resume", "s")["status"] == "concluded"
    assert drop_head(cli("export", "s", "jsonl").out).startswith(drop_head(before))
    assert cli.verify("s") == {"s": None}


def test_an_ask_that_kills_its_process_each_time_is_given_up(children: Children) -> None:
    """P-9: a participant that takes the process down with it is lost in the end; the meeting goes on."""
    children.open("poisoned")
    for _ in range(40):
        children.start("poisoned", 1)
        if children.ended() == 0:
            break
    record = facts(children.export("poisoned"))
    lost = [fact for fact in record if fact["fact"] == "seat_lost"]
    assert lost
    assert {fact["reason"] for fact in lost} == {"gave_up"}
    children.check("poisoned")
