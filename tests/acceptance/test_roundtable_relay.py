"""A conference that nobody attends (R-10): agents that know only the guide carry it, agents that do harm do not stop it."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import (
    DEADLINE,
    Cli,
    Leaps,
    Script,
    facts,
    until,
    word_stored_cause,
    write_script,
)
from tests.acceptance.tables import MINUTES_TEXT, Desk, Table, aged, speech

from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line
from moothall.features.roundtable import unattended
from moothall.features.roundtable.unattended import Relay
from moothall.participants import kinds

AGENTS = Path(__file__).with_name("outside_agents")
PYTHON = (sys.executable, "-I", "-S")
TRICKS = (
    "\"double\" 'single' `touch pwned` $(touch pwned); touch pwned & | > pwned\n"
    "--version\n-rf /\n\\ {prompt} {session} {role} %s 👩‍🔬 重写吗？\t[SKIPPED]"
)


def recipe(cli: Cli, name: str, argv: Sequence[str], **environ: str) -> str:
    """A recipe whose processes carry the test's mark; the word for its platform."""
    fields: dict[str, Any] = {"argv": [*argv]}
    if "{prompt}" not in argv:
        fields["words"] = "{prompt}"
    lines = [f"{key} = {json.dumps(value)}\n" for key, value in fields.items()]
    marked = {"ROUNDTABLE_TEST": str(cli.cwd), **environ}
    lines.append(
        "environ = {"
        + ", ".join(f"{key} = {json.dumps(value)}" for key, value in marked.items())
        + "}\n"
    )
    (cli.cwd / f"{name}.toml").write_text("".join(lines), encoding="utf-8")
    return f"command:{cli.cwd / name}.toml"


def plain(cli: Cli, **environ: str) -> str:
    return recipe(cli, "plain", (*PYTHON, str(AGENTS / "plain_agent.py"), "{prompt}"), **environ)


def other(cli: Cli) -> str:
    return recipe(cli, "other", (*PYTHON, str(AGENTS / "other_agent.py")))


def bad(cli: Cli, way: str, conference: str = "cache") -> str:
    return recipe(
        cli,
        way.replace(" ", "_"),
        (*PYTHON, str(AGENTS / "bad_agent.py"), way, conference, "{prompt}"),
    )


def scripted(
    cli: Cli, *roles: str, rounds: int = 1, delay: float = 0.0, heads: str = "## Stance"
) -> str:
    """A platform on which these roles speak, and the moderator concludes."""
    late: dict[str, Any] = {"delay": delay} if delay else {}
    script: Script = {
        **{
            role: {
                "speech": [
                    {"raw": f"{heads}\n{role} {turn}", **late} for turn in range(1, rounds + 1)
                ]
            }
            for role in roles
        },
        "moderator": {"minutes": [{"raw": MINUTES_TEXT, **late}]},
    }
    return write_script(cli.cwd / "talk.toml", script)


def begun(
    cli: Cli,
    roles: Sequence[str],
    moderator: str,
    rounds: int = 1,
    more: Sequence[str] = (),
    topic: str = "Q?",
) -> Table:
    table = Table(cli)
    table.new(
        *roles, rounds=rounds, topic=topic, more=("--moderator", moderator, "--no-check", *more)
    )
    return table


def lost(cli: Cli, table: Table) -> dict[str, list[str]]:
    """Who was lost, and why, each time."""
    found: dict[str, list[str]] = {}
    for fact in facts(cli("export", table.session(), "jsonl").out):
        if fact["fact"] == "seat_lost":
            found.setdefault(fact["seat"], []).append(
                f"{fact['reason']}: {word_stored_cause(fact)}"
            )
    return found


def left_behind(cli: Cli) -> list[int]:
    """Processes of the test's agents that still run."""
    mark, found = f"ROUNDTABLE_TEST={cli.cwd}".encode(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
    return found


def is_over(table: Table) -> None:
    assert table.turn()["status"] == "closed"
    assert (table.folder / "MINUTES.md").exists()
    table.is_sound()


def is_at(table: Table, role: str, number: int) -> bool:
    return bool(table.turn()["current_speaker"] == role) and len(table.speeches()) == number - 1


def has_speeches(table: Table, count: int) -> bool:
    return len(table.speeches()) >= count


# Agents that know only the guide


def test_two_agents_from_elsewhere_and_moot_hold_a_conference(cli: Cli) -> None:
    """R-1, R-2, R-4 to R-10: by the guide alone they take their turns among roles that Moot drives, down to the minutes."""
    cli("roundtable", "guide")
    table = begun(
        cli,
        [f"ada={plain(cli)}", "bob", f"eve={scripted(cli, 'eve', rounds=2)}"],
        plain(cli),
        rounds=2,
    )
    with cli.start("roundtable", "relay", "cache", "--dir", str(cli.cwd)) as relay:
        for number in (2, 5):
            until(partial(is_at, table, "bob", number))
            said = by_hand_agent(cli, "other_agent.py", "--加入", "cache", "bob")
            assert said == f"已发言：{number:03d}_bob.md"
        assert relay.ended().code == 0
    assert table.speeches() == [
        f"{number:03d}_{role}.md" for number, role in enumerate(["ada", "bob", "eve"] * 2, 1)
    ]
    assert (
        (table.folder / "001_ada.md")
        .read_text()
        .startswith("## Stance\nada on # Q? at 001: asked 'Open the conference")
    )
    assert "asked 'eve" in (table.folder / "004_ada.md").read_text()
    assert "heard 3" in (table.folder / "004_ada.md").read_text()
    assert (table.folder / "MINUTES.md").read_text().startswith("## Summary\n- ada: ada on # Q?")
    assert lost(cli, table) == {}
    is_over(table)
    assert left_behind(cli) == []


def by_hand_agent(cli: Cli, name: str, *words: str) -> str:
    done = subprocess.run(
        [*PYTHON, str(AGENTS / name), *words],
        cwd=cli.cwd,
        capture_output=True,
        encoding="utf-8",
        timeout=DEADLINE,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_agents_carry_a_conference_with_files_alone(cli: Cli, language: str) -> None:
    """R-1 to R-9: Moot only begins it, and takes everything in when it is over. The answers are those of R-4."""
    table = Table(cli)
    topic = "Which cache?" if language == "en" else "用哪种缓存？"
    table.new("ada", "鲍勃", rounds=2, topic=topic)
    programs = {
        "ada": ("plain_agent.py", "--join"),
        "鲍勃": ("other_agent.py", "--加入"),
        "moderator": ("other_agent.py", "--加入"),
    }
    blocked = by_hand_agent(cli, "other_agent.py", "--加入", "cache", "鲍勃")
    assert blocked == "[会议阻塞] 当前轮到 ada 发言，请调度对应代理。"
    if language == "zh":
        assert table.say("鲍勃", code=3).err.split("\n")[0] == blocked
        assert (table.folder.parent / "GUIDE.md").read_text() == cli(
            "roundtable", "guide", "--language", "zh"
        ).out
    for _ in range(5):
        program, word = programs[table.turn()["current_speaker"]]
        by_hand_agent(cli, program, word, "cache", table.turn()["current_speaker"])
    assert table.turn()["status"] == "closed"
    assert (
        by_hand_agent(cli, "plain_agent.py", "--join", "cache", "ada")
        == "The conference is over; please read MINUTES.md."
    )
    assert table.status()["turnsTaken"] == 4
    is_over(table)
    over = (
        "The conference is over; please read MINUTES.md."
        if language == "en"
        else "会议已结束，请查阅 MINUTES.md"
    )
    assert table("join", "--as", "ada", code=4).out.strip() == over
    assert over in table.say("ada", "late", code=2).err


def test_a_chinese_conference_is_relayed_in_chinese(cli: Cli) -> None:
    """R-10: woken in the words of the source, an agent that knows the Chinese guide speaks and concludes."""
    table = begun(
        cli,
        [f"架构师={other(cli)}", f"审查={other(cli)}"],
        other(cli),
        rounds=2,
        topic="用哪种缓存？",
    )
    table("relay")
    assert table.speeches() == ["001_架构师.md", "002_审查.md", "003_架构师.md", "004_审查.md"]
    assert (table.folder / "MINUTES.md").read_text().startswith("## 讨论摘要\n- 001_架构师\n")
    assert lost(cli, table) == {}
    is_over(table)


def test_an_agent_finishes_what_another_left_half_done(cli: Cli) -> None:
    """R-6: a speech without its turn.json; the next agent writes it, and Moot takes both in."""
    table = Table(cli)
    table.new("ada", "bob", rounds=1)
    table.put("001_ada.md", speech("ada"), is_old=False)
    assert by_hand_agent(cli, "plain_agent.py", "--join", "cache", "ada") == (
        "[Conference blocked] It is bob's turn to speak; please schedule that agent."
    )
    assert table.status()["turnsTaken"] == 1
    table.go_on()


def test_an_agent_that_answers_instead_of_writing_files_is_filed(cli: Cli) -> None:
    """R-10: as speaker and as moderator."""
    program = (
        *PYTHON,
        "-c",
        "import sys; sys.stdin.read(); print('## Stance\\nSpoken.\\n## Summary\\nSo.')",
    )
    talker = recipe(cli, "talker", program)
    table = begun(cli, [f"ada={talker}"], talker)
    table("relay")
    assert (table.folder / "001_ada.md").read_text() == "## Stance\nSpoken.\n## Summary\nSo.\n"
    is_over(table)


def test_topic_and_prompt_reach_an_agent_as_plain_text(cli: Cli) -> None:
    """R-10: quotes, lines, `$(…)` and options are one argument, and nobody runs them."""
    log = cli.cwd / "prompts.jsonl"
    table = begun(
        cli,
        [f"ada={plain(cli, PLAIN_LOG=str(log))}"],
        scripted(cli),
        topic=f"{TRICKS} topic",
        more=("--prompt", TRICKS),
    )
    table("relay")
    (words,) = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(words) == 1
    assert words[0].split("\n")[0] == (
        f"Read .roundtable/GUIDE.md and join the conference cache as ada. Your instructions are: {one_line(TRICKS)}"
    )
    assert not list(cli.cwd.rglob("pwned"))
    is_over(table)


# Agents that do harm


def test_agents_that_fail_or_break_the_files_are_skipped(cli: Cli) -> None:
    """R-10, R-11: each is asked twice and then skipped with its reason; the conference comes to its minutes, every speech is what
    it was, the other conference is as it was or told to be damaged, and no process is left."""
    victim = Table(cli, "other")
    victim.new("victim", "second")
    ways = (
        "fails",
        "half",
        "forks",
        "flood",
        "garbage",
        "alters",
        "impersonates",
        "skips ahead",
        "trespasses",
        "links",
    )
    roles = [f"{way.replace(' ', '_')}={bad(cli, way)}" for way in ways]
    missing = recipe(cli, "missing", (str(cli.cwd / "no-such-program"), "{prompt}"))
    table = begun(
        cli, [f"good={scripted(cli, 'good')}", *roles, f"missing={missing}"], scripted(cli, "good")
    )
    table("relay")
    is_over(table)
    found = lost(cli, table)
    assert {role: len(told) for role, told in found.items()} == {
        way.replace(" ", "_"): 2 for way in (*ways, "missing")
    }
    for role, words in {
        "fails": "error: fails ended with 7",
        "half": "malformed: it wrote no speech",
        "forks": "malformed: it wrote no speech",
        "flood": "error: flood printed too much",
        "garbage": "malformed: it broke the files: turn.json:1: no valid JSON",
        "alters": "malformed: it broke the files: 001_good.md:2: differs",
        "impersonates": "malformed: it broke the files: 008_good.md:1: 'good' spoke out of turn",
        "skips_ahead": "malformed: it broke the files: turn.json:1: status",
        "trespasses": "malformed: it wrote no speech",
        "links": "malformed: it broke the files: 011_links.md:1: a link",
        "missing": "unreachable: ",
    }.items():
        assert any(told.startswith(words) for told in found[role]), found[role]
    assert (table.folder / "001_good.md").read_text() == "## Stance\ngood 1\n"
    for number, way in enumerate((*ways, "missing"), 2):
        text = (table.folder / f"{number:03d}_{way.replace(' ', '_')}.md").read_text()
        assert text.startswith(f"[SKIPPED] {way.replace(' ', '_')} gave no speech in this turn: ")
    aside = "".join(
        path.read_text() for path in (table.folder / "aside").iterdir() if not path.is_symlink()
    )
    assert "I never said that." in aside
    assert "I decide." in aside
    aged(victim.folder / "001_victim.md")
    victim("repair")
    assert victim.speeches() == ["001_victim.md"]
    victim.go_on()
    assert left_behind(cli) == []


def _has_spoken(desk: Desk) -> bool:
    """Whether the turn has gone from the first role to the next."""
    with suppress(OSError, ValueError):
        return bool(desk.turn()["current_speaker"] == "good")
    return False


def relayed(desk: Desk, beside: Coroutine[Any, Any, None] | None = None, **platforms: str) -> None:
    """Hold a conference of one round in this process, with something going on beside it."""

    async def held() -> None:
        async with asyncio.timeout(DEADLINE), asyncio.TaskGroup() as group:
            if beside is not None:
                group.create_task(beside)
            roles = [
                Seat(id=SeatId(role), platform=platform)
                for role, platform in platforms.items()
                if role != "moderator"
            ]
            await desk.hall.create_conference(
                "cache",
                "Q?",
                roles=roles,
                moderator=platforms["moderator"],
                max_rounds=1,
                check=False,
            )
            await Relay(desk.hall._moot, desk.hall, "cache", lambda _: None, 0.2).run()

    desk.run(held())


def test_a_turn_that_was_handed_over_does_not_go_back_before_it_is_in_the_ledger(cli: Cli) -> None:
    """R-4, R-10: whoever looks in between sees the next speaker, not the last one."""
    with Desk(cli.cwd, home=cli.home) as desk:
        desk.new("ada", "bob", rounds=1)
        by_hand_agent(cli, "plain_agent.py", "--join", "cache", "ada")
        assert desk.turn()["current_speaker"] == "bob"

        async def handed_over() -> None:
            async with desk.hall.open_conference("cache") as conference:
                assert conference.collect_answer(await conference.load_conference()) is not None
                await conference.sync(held=frozenset({"ada"}))

        desk.run(handed_over())
        assert desk.turn()["current_speaker"] == "bob"
        aged(desk.folder / "001_ada.md")
        assert desk.status().conference.current == "bob"
        desk.go_on()


def test_the_patience_that_was_given_holds_for_agents(cli: Cli) -> None:
    """R-10: `--patience` says how long a role that Moot drives may take."""
    with Desk(cli.cwd, home=cli.home) as desk:
        found = desk.run(
            desk.hall.create_conference(
                "cache",
                "Q?",
                roles=[Seat(id=SeatId("a"), platform=bad(cli, "hang"))],
                role_patience=2.0,
                check=False,
            )
        )
        assert found.conference.seats[0].patience in {None, 2.0}


def test_agents_that_do_not_end_are_stopped(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """R-10: past its patience an agent is ended with all its processes, also one that is deaf to it."""
    _set_patience(monkeypatch, 0.5)
    good = scripted(cli, "good")
    with Desk(cli.cwd, home=cli.home) as desk:
        relayed(desk, hang=bad(cli, "hang"), deaf=bad(cli, "deaf"), good=good, moderator=good)
        found = desk.status().conference
        assert [(absent.seat, absent.reason) for absent in found.absences] == [
            ("hang", "timeout"),
            ("deaf", "timeout"),
        ]
        desk.is_sound()
    table = Table(cli)
    assert {role: len(told) for role, told in lost(cli, table).items()} == {"hang": 2, "deaf": 2}
    assert "(timeout)" in (table.folder / "002_deaf.md").read_text()
    assert table.speeches() == ["001_hang.md", "002_deaf.md", "003_good.md"]
    is_over(table)
    assert left_behind(cli) == []


@pytest.mark.parametrize("end", ["its patience", "it is done"])
def test_an_agent_that_has_spoken_and_does_not_end_has_spoken(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, leaps: Leaps, end: str
) -> None:
    """R-10: its files count, once, and it is ended, be it by its patience or because it is done."""
    is_patient = end == "it is done"
    _set_patience(monkeypatch, 600.0 if is_patient else 60.0)
    monkeypatch.setattr(
        "moothall.features.roundtable.unattended.DONE_SECONDS", 0.5 if is_patient else 600.0
    )
    monkeypatch.setattr("moothall.features.roundtable.unattended.LOOK_SECONDS", 0.3)
    good = scripted(cli, "good")
    with Desk(cli.cwd, home=cli.home) as desk:
        passing = None if is_patient else leaps.once(lambda: _has_spoken(desk), 60.0)
        relayed(desk, passing, ada=bad(cli, "no end"), good=good, moderator=good)
        desk.is_sound()
        assert desk.speeches() == ["001_ada.md", "002_good.md"]
        assert "It is done." in (desk.folder / "001_ada.md").read_text()
        assert desk.turn()["status"] == "closed"
    assert left_behind(cli) == []


def test_there_are_minutes_even_if_nobody_can_write_them(cli: Cli) -> None:
    """R-10: it goes on until MINUTES.md is there."""
    fails = bad(cli, "fails")
    table = begun(cli, [f"ada={fails}"], fails)
    table("relay")
    assert table.turn()["status"] == "closed"
    assert (table.folder / "MINUTES.md").exists()


HARMS = {
    "cleans": "without .moot (`git clean -X` removes it too) Hall.conference takes the folder in as another session: the relay "
    "goes on with its own, ends with exit code 0, and the folder has neither its speeches nor its minutes",
    "blocks aside": "a file called `aside` is no damage that repair mends: _look raises BadName, and the relay ends with it",
    "makes folders": "Folder.read_bytes raises IsADirectoryError: the relay ends with a traceback",
    "odd name": "watchfiles fails for a name that is no UTF-8, and the relay ends with a traceback; nor can repair move it",
}


@pytest.mark.parametrize("way", [pytest.param(way) for way, reason in HARMS.items()])
def test_an_agent_that_does_other_harm_does_not_end_the_relay(cli: Cli, way: str) -> None:
    """R-10: the minutes come, and they are in the folder."""
    table = begun(
        cli, [f"bad={bad(cli, way)}", f"good={scripted(cli, 'good')}"], scripted(cli, "good")
    )
    with cli.start("roundtable", "relay", "cache", "--dir", str(cli.cwd)) as relay:
        assert relay.ended().code == 0
    assert (table.folder / "002_good.md").read_text() == "## Stance\ngood 1\n"
    is_over(table)


def test_a_role_from_outside_that_never_comes_is_skipped(cli: Cli) -> None:
    """R-10: the conference never hangs."""
    table = begun(
        cli,
        ["guest", f"good={scripted(cli, 'good')}"],
        scripted(cli, "good"),
        more=("--patience", "1s"),
    )
    table("relay")
    is_over(table)
    assert (table.folder / "001_guest.md").read_text().startswith("[SKIPPED] guest")
    assert [absent["reason"] for absent in table.status()["skipped"]] == ["timeout"]


# Relays that end, and disks that say nothing


def test_a_relay_that_is_killed_goes_on_where_it_was(cli: Cli) -> None:
    """R-10: nothing is lost and nothing is said twice."""
    platform = scripted(cli, "a", "b", rounds=4, delay=0.1)
    table = begun(cli, [f"a={platform}", f"b={platform}"], platform, rounds=4)
    for count in (2, 5):
        with cli.start("roundtable", "relay", "cache", "--dir", str(cli.cwd)) as relay:
            until(partial(has_speeches, table, count))
            os.kill(relay.process.pid, signal.SIGKILL)
    table("relay")
    is_over(table)
    texts = Counter((table.folder / name).read_text() for name in table.speeches())
    assert texts == Counter(f"## Stance\n{role} {turn}\n" for role in "ab" for turn in range(1, 5))


def test_an_agent_that_outlives_its_relay_does_not_speak_twice(cli: Cli) -> None:
    """R-10: it is still at work when the relay is started again."""
    slow = plain(cli, PLAIN_SLOW="1.5")
    table = begun(cli, [f"ada={slow}", f"good={scripted(cli, 'good')}"], scripted(cli, "good"))
    with cli.start("roundtable", "relay", "cache", "--dir", str(cli.cwd)) as relay:
        until(lambda: left_behind(cli))
        os.kill(relay.process.pid, signal.SIGKILL)
    table("relay")
    until(lambda: not left_behind(cli))
    is_over(table)
    assert table.speeches() == ["001_ada.md", "002_good.md"]


def test_a_second_relay_is_refused_and_a_first_one_goes_on(cli: Cli) -> None:
    """R-10"""
    platform = scripted(cli, "a", rounds=2)
    table = begun(cli, [f"a={platform}", "guest"], platform, rounds=1)
    with cli.start("roundtable", "relay", "cache", "--dir", str(cli.cwd)) as relay:
        until(table.speeches)
        assert "moot:" in table("relay", code=2).err
        table.say("guest")
        assert relay.ended().code == 0
    is_over(table)
    assert "MINUTES.md" in table("relay").out


@pytest.mark.parametrize("disk", ["polling", "silent"])
def test_a_disk_that_tells_of_no_changes_stops_nobody(
    cli: Cli, disk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-10: the folder is looked at now and then."""
    if disk == "polling":
        monkeypatch.setenv("WATCHFILES_FORCE_POLLING", "1")
    else:
        monkeypatch.setattr(unattended, "awatch", _silent)
    with Desk(cli.cwd, home=cli.home) as desk:
        desk.new("ada", rounds=1)
        told: list[str] = []

        async def held() -> None:
            async with asyncio.timeout(DEADLINE):
                running = asyncio.create_task(
                    Relay(desk.hall._moot, desk.hall, "cache", told.append, 0.2).run()
                )
                for role in ("ada", "moderator"):
                    while desk.turn()["current_speaker"] != role:  # noqa: ASYNC110 - files wake nobody
                        await asyncio.sleep(0.05)
                    await asyncio.to_thread(
                        by_hand_agent, cli, "plain_agent.py", "--join", "cache", role
                    )
                await running

        desk.run(held())
        assert told == []
        desk.is_sound()
        assert desk.turn()["status"] == "closed"


async def _silent(*_: object, rust_timeout: int, **__: object) -> AsyncIterator[set[object]]:
    while True:
        await asyncio.sleep(rust_timeout / 1_000)
        yield set()


def _set_patience(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    rows = tuple(
        replace(kind, patience=seconds) if kind.name == "command" else kind
        for kind in kinds.BUILT_IN
    )
    monkeypatch.setattr(kinds, "BUILT_IN", rows)
