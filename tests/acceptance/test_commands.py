"""Every command, from outside: its help, its JSON, its exit code, and what other processes see of it."""

import asyncio
import json
import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import (
    DEADLINE,
    LAYOFFS,
    Cli,
    Guest,
    Running,
    Terminal,
    asked,
    draft,
    facts,
    held,
    listens,
    record,
    round_robin,
    seat_words,
    speech,
    stand,
    timeline,
    until,
    wants,
    with_guests,
    write_script,
)

from moothall.domain.effects import Brief
from moothall.features.persona.facts import Draft, DraftClaim, Intent, PersonaSpeech, Stand
from moothall.ports.participant import Answer, NoAnswer
from moothall.surfaces.cli.output import localize_times

COMMANDS = (
    "run",
    "resume",
    "watch",
    "list",
    "show",
    "input",
    "asks",
    "answer",
    "cancel",
    "export",
    "import",
    "replay",
    "fork",
    "diff",
    "verify",
    "panel",
    "setup",
    "doctor",
)
SCENE = seat_words(f"script:{LAYOFFS}", "ABC")
QUIET = {
    "A": {"draft": [draft("Nothing to say.", [1])], "stand": [stand()]},
    "B": {"stand": [stand()]},
}


@pytest.fixture
def quiet(tmp_path: Path) -> str:
    """Seats A and B, who have nothing to say; A concludes."""
    return write_script(tmp_path / "quiet.toml", QUIET)


@pytest.fixture
def waiting(cli: Cli, quiet: str) -> str:
    """A session in which A has answered and eve, who sits elsewhere, has not."""
    words = (
        "--seat",
        f"A={quiet}",
        "--seat",
        "eve=mailbox",
        "--set",
        "summarizer=A",
        "--session",
        "s",
    )
    done = cli("run", "Is anyone there?", *words, code=3)
    assert "waiting for eve by " in done.out
    assert done.out.endswith("moot answer s --seat eve\nthen resume with: moot resume s\n")
    return "s"


def test_the_help_lists_every_command_and_the_exit_codes(cli: Cli) -> None:
    told = cli("--help").out
    for command in COMMANDS:
        assert f"\n  {command} " in told
    for code in (
        "0 done",
        "1 a disk",
        "2 the call was wrong",
        "3 the session waits",
        "4 it ended without",
        "5 a check",
        "130",
    ):
        assert code in " ".join(told.split())
    assert cli("--version").out.startswith("moot, version ")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_has_an_example(cli: Cli, command: str) -> None:
    told = cli(command, "--help").out
    assert f"\n  moot {command}" in told
    assert "-h, --help" in told


def test_the_whole_report_is_shown_as_lines_of_a_terminal(cli: Cli) -> None:
    """P-15: decision and record; what was said stands behind a bar; not together with --json."""
    decided = cli.json(
        "run", "裁员？", *SCENE, "--set", "summarizer=C", "--session", "s", "--seed", "7"
    )
    shown = cli("show", "s", "--report").out.splitlines()
    assert shown[:3] == ["裁员？", "", "决定"]
    # The result says all of a decision of one sentence; the first quote is the question in the timeline.
    assert shown[3] == decided["memo"]["result"]
    assert shown[3].endswith(decided["decision"])
    assert next(line for line in shown if line.startswith("│ ")) == "│ 裁员？"
    heads = [
        line.removeprefix("## ")
        for line in cli("show", "s").out.splitlines()
        if line.startswith("## ")
    ]
    assert [line for at, line in enumerate(shown) if shown[at - 1] == ""] == heads
    assert cli.json("show", "s", "--report", code=2)["error"]["kind"] == "BadSetting"


def test_run_list_show_and_exit_codes_of_a_decided_meeting(cli: Cli) -> None:
    """P-3, P-15: code 0; the same decision from `run` and `show`; the list knows it."""
    decided = cli.json(
        "run", "裁员？", *SCENE, "--set", "summarizer=C", "--session", "s", "--seed", "7"
    )
    assert decided["status"] == "concluded"
    assert cli.json("show", "s") == decided
    (line,) = cli.json("list")["sessions"]
    assert (line["sessionId"], line["protocol"], line["topic"], line["status"]) == (
        "s",
        "persona",
        "裁员？",
        "concluded",
    )
    assert "裁员？" in cli("list").out
    minutes = cli("show", "s").out
    assert minutes.startswith("# 会议纪要: ")
    assert minutes == cli("export", "s", "minutes").out
    assert cli.json("resume", "s") == decided
    assert json.loads(record(cli).split("\n")[1])["body"].count('"seed":7') == 1


def test_a_meeting_without_a_decision_ends_with_code_4(cli: Cli, tmp_path: Path) -> None:
    """P-12, P-14: nobody can write the conclusion."""
    platform = write_script(
        tmp_path / "s.toml", {"A": {"intent": [wants()], "speech": [speech("x")]}}
    )
    decided = cli.json("run", "Who writes?", "--seat", f"A={platform}", code=4)
    assert decided["status"] == "concluded"
    assert decided["decision"] is None


def test_a_dry_run_checks_everything_and_records_nothing(cli: Cli, quiet: str) -> None:
    """P-1: the roster is shown or refused, the ledger stays empty."""
    told = cli("run", "Dry?", *seat_words(quiet, "AB"), "--turns", "3", "--dry-run").out
    assert "seats: 2" in told
    assert "turns: at most 3" in told
    opened = cli.json("run", "Dry?", *seat_words(quiet, "AB"), "--dry-run")
    assert [seat["id"] for seat in opened["seats"]] == ["A", "B"]
    cli("run", "Dry?", *seat_words(quiet, "AZ"), "--dry-run", code=2)
    assert cli.json("list")["sessions"] == []


def test_a_dry_run_names_the_price_before_there_is_a_key(cli: Cli) -> None:
    """L-2: what a seat lacks is said last."""
    planned = cli("run", "Which?", "--model", "openai:gpt-5-mini", "--dry-run", code=1)
    assert " model calls " in planned.out
    assert "$" in planned.out
    assert (
        planned.err
        == "moot: seat 'optimist': openai needs a key: set OPENAI_API_KEY or choose another --seat\n"
    )


def test_a_dry_run_refuses_an_id_that_is_taken(cli: Cli, quiet: str, waiting: str) -> None:
    """P-3: what `run` would refuse, its dry run refuses."""
    cli("run", "Again?", *seat_words(quiet, "AB"), "--session", waiting, code=2)
    cli("run", "Again?", *seat_words(quiet, "AB"), "--session", waiting, "--dry-run", code=2)


def test_an_id_that_is_taken_is_refused(cli: Cli, quiet: str, waiting: str) -> None:
    """P-3: one sentence, and the session that has the id is as it was."""
    before = record(cli)
    done = cli("run", "Again?", *seat_words(quiet, "AB"), "--session", waiting, code=2)
    assert done.err == "moot: session 's' exists already; choose another id\n"
    assert record(cli) == before


# A session that another process runs.


@pytest.fixture
def held_up(cli: Cli, tmp_path: Path) -> Iterator[Running]:
    """Session `s`, run by another process, which waits for eve's first bid; ada's is there."""
    talk = {
        "ada": {
            "intent": [wants(0.5)],
            "speech": [speech("Hello.")],
            "draft": [draft("Done.", [1])],
            "stand": [stand()],
        }
    }
    platform = write_script(tmp_path / "ada.toml", talk)
    words = (
        "--seat",
        f"ada={platform}",
        "--seat",
        "eve=mailbox",
        "--set",
        "summarizer=ada",
        "--session",
        "s",
        "--wait",
    )
    with cli.start("run", "Who is there?", *words) as process:
        until(lambda: asked(cli) == ["1.intent.eve"])
        until(lambda: facts(record(cli))[-1]["fact"] == "persona.intent_declared")
        yield process


def test_a_second_process_is_told_that_the_session_is_busy(cli: Cli, held_up: Running) -> None:
    """P-11: one process runs a session; the other gets one sentence and code 2, and changes nothing."""
    before = record(cli)
    done = cli("resume", "s", code=2)
    assert done.err == "moot: session 's' is being run already; follow it with `moot watch s`\n"
    assert cli.json("resume", "s", code=2)["error"]["kind"] == "SessionBusy"
    assert record(cli) == before
    assert held_up.process.poll() is None


def test_an_input_from_another_process_is_the_newest_entry_and_the_next_perception(
    cli: Cli, held_up: Running
) -> None:
    """P-7: given while the meeting runs; in the timeline at once, and in what the next seat is asked with."""
    taken = cli.json("input", "s", "We have six months of cash.", "--key", "k1")
    assert taken["entry"] is not None
    assert (
        timeline(cli("export", "s", "context").out)[-1]["content"] == "We have six months of cash."
    )
    (ask,) = cli.json("asks", "s")["asks"]
    assert "[#2 USER]\n> We have six months of cash." in ask["briefing"]
    assert cli.json("input", "s", "We have six months of cash.", "--key", "k1") == {
        "sessionId": "s"
    }
    cli("answer", "s", "--seat", "eve", json.dumps(listens(0.4)))
    until(lambda: "2.intent.eve" in asked(cli))
    lines = timeline(cli("export", "s", "context").out)
    assert [(line["id"], line["speaker"], line["type"]) for line in lines] == [
        (1, "USER", "input"),
        (2, "USER", "input"),
        (3, "ada", "speech"),
    ]
    cli("answer", "s", "--seat", "eve", json.dumps(listens(0.0)))
    until(lambda: "2.stand.eve" in asked(cli))
    cli("answer", "s", "--seat", "eve", json.dumps(stand()))
    assert held_up.ended().code == 0


def test_asks_and_cancel_speak_the_language_of_the_session(cli: Cli) -> None:
    """M-11"""
    seats = ("--seat", "ada=mailbox", "--seat", "bob=mailbox")
    cli("run", "用哪个？", "--protocol", "debate", *seats, "--session", "z", code=3)
    asked_for = cli("asks", "z").out
    assert "可用自己的话回答（moot answer z --seat ada TEXT）：" in asked_for
    assert "（截止 " in asked_for
    assert "In plain words" not in asked_for
    assert cli("cancel", "z", "--dry-run").out == "将取消 z（已进行 0 轮）\n"
    assert cli("cancel", "z").out.startswith("已取消（条目 ")


def test_a_running_session_can_be_cancelled_from_another_process(
    cli: Cli, held_up: Running
) -> None:
    """P-14: the runner stops, with code 4, and the record says who ended it and why."""
    would = cli("cancel", "s", "--dry-run").out
    assert would == "would cancel s (0 turns taken)\n"
    assert asked(cli)
    assert "cancelled by entry" in cli("cancel", "s", "--reason", "asked the wrong question").out
    assert held_up.ended().code == 4
    assert facts(record(cli))[-1] == {
        "fact": "session_cancelled",
        "reason": "asked the wrong question",
    }
    decided = cli.json("show", "s")
    assert (decided["status"], decided["endedBy"], decided["decision"]) == (
        "cancelled",
        "cancelled",
        None,
    )
    for words in (["cancel", "s"], ["input", "s", "hello"]):
        assert (
            cli(*words, code=2).err
            == "moot: session 's' has ended; `moot fork` goes on from an earlier entry\n"
        )


def test_a_watcher_in_another_process_sees_every_entry_once_and_ends_with_the_session(
    cli: Cli, held_up: Running
) -> None:
    """P-11: from the first entry on, in order, until the close."""
    with cli.start("watch", "s", "--json") as watcher, cli.start("watch", "s") as reader:
        watcher.wait_for('"seq": 3')
        reader.wait_for("ada 0.50")
        cli("answer", "s", "--seat", "eve", json.dumps(wants(0.9, "me first")))
        reader.wait_for("eve 0.90 wants to speak: me first")
        cli("cancel", "s")
        done, read = watcher.ended(), reader.ended()
    assert (done.code, read.code) == (0, 0)
    lines = [json.loads(line) for line in done.out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(1, len(facts(record(cli))) + 1))
    assert lines[0]["fact"] == "MeetingOpened"
    assert lines[-1]["fact"] == "SessionCancelled"
    assert held_up.ended().code == 4
    after = cli("watch", "s", "--json", "--after", str(len(lines) - 1)).out
    assert after == done.out.splitlines(keepends=True)[-1]


def test_a_dry_cancel_prints_json_too(cli: Cli, waiting: str) -> None:
    assert cli.json("cancel", waiting, "--dry-run")["sessionId"] == "s"


def test_a_dry_cancel_refuses_what_cancel_refuses(cli: Cli, waiting: str) -> None:
    cli("cancel", waiting)
    cli("cancel", waiting, "--dry-run", code=2)


# A seat that answers from elsewhere.


def test_a_mailbox_seat_is_asked_and_answers_from_other_processes(cli: Cli, waiting: str) -> None:
    """P-2, P-9, P-15: parks with code 3, takes answers, goes on, parks again, concludes."""
    (ask,) = cli.json("asks", "s")["asks"]
    assert (ask["ask"], ask["seat"], ask["kind"], ask["form"]) == (
        "1.intent.eve",
        "eve",
        "intent",
        "json",
    )
    assert ask["answerSchema"]["required"] == ["reaction_score", "intent_to_speak"]
    assert "> Is anyone there?" in ask["briefing"]
    assert "── 1.intent.eve (until " in cli("asks", "s").out
    shanghai = Cli(cli.home, cli.cwd, TZ="Asia/Shanghai").fresh("asks", "s").out
    assert re.search(r"1\.intent\.eve \(until [\d-]+ [\d:]+ CST\)", shanghai)
    assert (
        "continue with: moot resume s"
        in cli("answer", "s", "--seat", "eve", json.dumps(wants(0.9, "I am."))).out
    )
    cli("resume", "s", code=3)
    assert asked(cli) == ["1.speech.eve"]
    cli("answer", "s", "--seat", "eve", stdin="re #1 agree: I am here.\nStill.")
    assert cli.json("resume", "s", code=3)["status"] == "thinking"
    assert asked(cli) == ["2.intent.eve"]
    cli("answer", "s", "--seat", "eve", json.dumps(listens(0.0)))
    cli("resume", "s", code=3)
    assert asked(cli) == ["2.stand.eve"]
    cli("answer", "s", "--seat", "eve", json.dumps(stand("oppose", 0.5, position="Why ask?")))
    decided = cli.json("resume", "s")
    assert (decided["decision"], decided["decisionEntries"]) == ("Nothing to say.", [1])
    assert [(voice["seat"], voice["text"]) for voice in decided["dissent"]] == [("eve", "Why ask?")]
    line = timeline(cli("export", "s", "context").out)[1]
    assert (line["speaker"], line["platform"], line["content"], line["refers_to"]) == (
        "eve",
        "mailbox",
        "I am here.\nStill.",
        1,
    )
    assert cli("asks", "s").err == "no ask is open\n"
    assert cli.json("asks", "s")["asks"] == []


def test_a_session_that_only_waits_grows_by_nothing_however_often_it_is_resumed(
    cli: Cli, waiting: str
) -> None:
    """P-5: looking again leaves no trace."""
    before = record(cli)
    for _ in range(2):
        cli("resume", "s", code=3)
    assert record(cli) == before


def test_the_same_answer_counts_once(cli: Cli, waiting: str) -> None:
    """P-9: a retry gets the entry of the first; other words are refused."""
    words = json.dumps(wants(0.9, "I am."))
    first = cli.json("answer", "s", "--seat", "eve", "--ask", "1.intent.eve", words)
    after = record(cli)
    assert cli.json("answer", "s", "--seat", "eve", "--ask", "1.intent.eve", words) == first
    other = cli(
        "answer", "s", "--seat", "eve", "--ask", "1.intent.eve", json.dumps(listens()), code=2
    )
    assert (
        other.err
        == f"moot: ask '1.intent.eve' has been answered already (entry {first['entry']}), with other words\n"
    )
    assert record(cli) == after


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--seat", "eve", " "],
            "the answer is empty; expected words of yours, or /listen (listen)",
        ),
        (
            ["--seat", "eve", '{"reaction_score": 0.9,'],
            "intent_to_speak: it is needed, and missing",
        ),
        (
            ["--seat", "eve", '{"intent_to_speak": true}'],
            "reaction_score: it is needed, and missing",
        ),
        (
            ["--seat", "eve", '{"reaction_score": 7, "intent_to_speak": true}'],
            "reaction_score: a number from 0 to 1 was expected (given: 7)",
        ),
        (
            ["--seat", "eve", '{"reaction_score": "\\ud800", "intent_to_speak": true}'],
            "reaction_score: a number from 0 to 1 was expected",
        ),
        (["--seat", "A", "{}"], "the seat 'A' is filled by a mind that Moot asks itself"),
        (
            ["--seat", "eve", "--ask", "9.intent.eve", "{}"],
            "nothing is asked under '9.intent.eve' now; outstanding: 1.intent.eve",
        ),
        (
            ["--seat", "eve", "--ask", "1.intent.A", "{}"],
            "ask '1.intent.A' is not put to seat 'eve'",
        ),
    ],
)
def test_an_answer_in_the_wrong_shape_is_refused_and_changes_nothing(
    cli: Cli, waiting: str, words: list[str], told: str
) -> None:
    """P-9: one sentence that says what was expected, code 2, the ask stays open."""
    before = record(cli)
    done = cli("answer", "s", *words, code=2)
    assert done.err.startswith(f"moot: {told}")
    assert done.err.count("\n") == 1
    assert record(cli) == before
    assert asked(cli) == ["1.intent.eve"]


def test_a_person_at_the_terminal_sits_among_the_others(cli: Cli, quiet: str) -> None:
    """P-2, M-8: asked in sentences; a slip is told and asked again; the words are in the timeline like anyone's."""
    with Terminal(
        cli,
        "run",
        "Lunch?",
        "--seat",
        f"A={quiet}",
        "--seat",
        "me=human",
        "--session",
        "s",
        "--turns",
        "1",
    ) as terminal:
        terminal.wait_for("Do you want to say something?")
        terminal.wait_for("me>")
        terminal.type("re #1 agree: Soup.\r")
        terminal.wait_for("Where do you stand on this decision?")
        terminal.type("perhaps\r")
        terminal.wait_for("! expected a number or a word of the list")
        terminal.type("2\r")
        terminal.wait_for("On which condition?")
        terminal.type("with bread\r")
        terminal.wait_for("By when must it hold")
        terminal.type("2027-01-31\r")
        terminal.wait_for("Why?")
        terminal.type("\r")
        terminal.wait_for("How sure are you?")
        terminal.type("sure\r")
        assert terminal.ended() == 0
    line = timeline(cli("export", "s", "context").out)[1]
    assert (line["speaker"], line["platform"], line["content"], line["refers_to"]) == (
        "me",
        "human",
        "Soup.",
        1,
    )
    decision = cli.json("show", "s")
    assert [(each["seat"], each["text"], each["due"]) for each in decision["obligations"]] == [
        ("me", "with bread", "2027-01-31")
    ]
    assert [each["confidenceAfter"] for each in decision["positions"] if each["seat"] == "me"] == [
        0.9
    ]


# Inputs, seen by whoever is asked next.


async def _quiet_about(brief: Brief) -> Answer | NoAnswer:
    match brief.form.kind:
        case "intent":
            return Answer(said=Intent(reaction_score=0.0, intent_to_speak=False))
        case "draft":
            return Answer(
                said=Draft(decision=DraftClaim(text="Done.", entries=(1,)), confidence=0.5)
            )
        case "stand":
            return Answer(said=Stand(verdict="support", confidence=0.5))
        case _:
            return Answer(said=PersonaSpeech(content="I have heard it."))


def test_an_input_during_the_bids_is_bid_on_before_the_talk_ends(cli: Cli) -> None:
    """P-7: it is the next perception, so silence about the entry before it does not end the meeting."""
    gate = asyncio.Event()

    async def slow(brief: Brief) -> Answer | NoAnswer:
        if brief.form.kind == "intent" and brief.ask.turn == 1:
            await gate.wait()
        return await _quiet_about(brief)

    fast, late = Guest(_quiet_about), Guest(slow)

    async def work() -> list[dict[str, Any]]:
        async with with_guests(cli, {"a": fast, "b": late}) as moot:
            session = await moot.open(
                "Quiet?", seats={"a": "mailbox", "b": "mailbox"}, settings={"summarizer": "a"}
            )
            running = asyncio.create_task(moot.run(session))
            await late.asked("intent")
            await moot.give_input(session, "The office is on fire.")
            gate.set()
            await running
            return facts(await moot.export(session, "jsonl"))

    held(work())
    bids = [brief for brief in fast.briefs + late.briefs if brief.form.kind == "intent"]
    assert any("The office is on fire." in brief.shared for brief in bids)


def test_an_input_while_the_conclusion_is_written_takes_the_meeting_back_to_talking(
    cli: Cli,
) -> None:
    """P-7: everyone is asked about it before there is a conclusion."""
    gate = asyncio.Event()

    async def slow(brief: Brief) -> Answer | NoAnswer:
        if brief.form.kind == "draft" and brief.ask.turn == 1:
            await gate.wait()
        return await _quiet_about(brief)

    author, other = Guest(slow), Guest(_quiet_about)

    async def work() -> str:
        async with with_guests(cli, {"a": author, "b": other}) as moot:
            session = await moot.open(
                "Quiet?", seats={"a": "mailbox", "b": "mailbox"}, settings={"summarizer": "a"}
            )
            running = asyncio.create_task(moot.run(session))
            await author.asked("draft")
            await moot.give_input(session, "The office is on fire.")
            await running
            return await moot.export(session, "context")

    assert [line["content"] for line in timeline(held(work()))] == [
        "Quiet?",
        "The office is on fire.",
    ]
    bids = [brief for brief in other.briefs if brief.form.kind == "intent"]
    assert "[#2 USER]\n> The office is on fire." in bids[-1].shared


# Files.


def test_an_export_is_written_as_a_whole(cli: Cli, waiting: str, tmp_path: Path) -> None:
    """P-6: a reader finds the old file or the new one; nothing else is left in the folder."""
    target = tmp_path / "out" / "context_ledger.json"
    target.parent.mkdir()
    target.write_text("old")
    with target.open() as reader:
        done = cli("export", "s", "context", "-o", str(target))
        assert reader.read() == "old"
    assert (done.out, done.err) == ("", f"wrote {target}\n")
    assert target.read_text(encoding="utf-8") == cli("export", "s", "context").out
    assert json.loads(target.read_text(encoding="utf-8"))["status"] == "thinking"
    assert list(target.parent.iterdir()) == [target]
    gone = cli("export", "s", "context", "-o", str(tmp_path / "nowhere" / "c.json"), code=2)
    assert (
        gone.err
        == f"moot: {tmp_path / 'nowhere' / 'c.json'} cannot be written: No such file or directory\n"
    )


def test_an_export_as_json_holds_the_text_or_names_its_file(
    cli: Cli, waiting: str, tmp_path: Path
) -> None:
    """P-6: never both: a text that went into a file is not printed a second time."""
    plain, target = cli("export", "s", "minutes").out, tmp_path / "m.md"
    assert localize_times(cli.json("export", "s", "minutes")["text"]) == plain
    named = cli.json("export", "s", "minutes", "-o", str(target))
    assert named == {"sessionId": "s", "form": "minutes", "file": str(target)}
    assert target.read_text(encoding="utf-8") == plain


def test_an_export_has_the_rights_that_new_files_have(
    cli: Cli, waiting: str, tmp_path: Path
) -> None:
    """P-6: a colleague can read it as any other file that the user writes."""
    (tmp_path / "plain").touch()
    cli("export", "s", "minutes", "-o", str(tmp_path / "m.md"))
    assert stat.S_IMODE((tmp_path / "m.md").stat().st_mode) == stat.S_IMODE(
        (tmp_path / "plain").stat().st_mode
    )


def test_a_file_can_be_read_from_standard_input(cli: Cli, waiting: str) -> None:
    """P-6: `moot export … | moot import -`."""
    other = cli.elsewhere("other")
    assert other("import", "-", stdin=record(cli)).out == "session s\n"
    assert record(other).partition("\n")[2] == record(cli).partition("\n")[2]


LINE: dict[str, Any] = {
    "id": 1,
    "timestamp": "2024-05-20T10:00:01Z",
    "speaker": "USER",
    "content": "扩张？",
    "type": "input",
}
CONTEXT: dict[str, Any] = {
    "session_id": "think_20240520_001",
    "topic": "扩张？",
    "status": "thinking",
    "participants": ["Node_A"],
    "timeline": [LINE],
    "conclusion": None,
}
BAD_FILES = [
    pytest.param("", id="empty"),
    pytest.param("{}", id="no fields"),
    pytest.param("[]", id="a list"),
    pytest.param(
        '{"moot": 3, "session": "s"}\n{"seq": 1, "at": 1, "hash": "00", "body": "{}"}',
        id="newer export",
    ),
    pytest.param(
        '{"moot": 1, "session": "s"}\n{"seq": 1, "at": 1, "hash": "00", "body": "{}"}',
        id="older export",
    ),
    pytest.param('{"moot": 2, "session": "s"}', id="no entries"),
    pytest.param(json.dumps({**CONTEXT, "status": "perhaps"}), id="status"),
    pytest.param(json.dumps({**CONTEXT, "timeline": []}), id="no timeline"),
    pytest.param(json.dumps({**CONTEXT, "timeline": [{**LINE, "id": 2}]}), id="gap"),
    pytest.param(json.dumps({**CONTEXT, "timeline": [{**LINE, "relevance_score": 2}]}), id="score"),
    pytest.param(json.dumps({**CONTEXT, "participants": ["A", "a"]}), id="equal seats"),
    pytest.param(json.dumps({**CONTEXT, "participants": []}), id="no seats"),
    pytest.param(json.dumps({**CONTEXT, "status": []}), id="status a list"),
    pytest.param(
        '{"moot": 1, "session": 5}\n{"seq": 1, "at": 1, "hash": "00", "body": "{}"}', id="session 5"
    ),
    pytest.param(
        f'{{"moot": 1, "session": "s"}}\n{{"seq": 1, "at": {10**30}, "hash": "00", "body": "{{}}"}}',
        id="at",
    ),
    pytest.param(
        json.dumps({**CONTEXT, "roles": [{"role_id": "Node_A", "platform": "GPT-4"}]}),
        id="unknown platform",
    ),
]


@pytest.mark.parametrize("text", BAD_FILES)
def test_a_file_that_is_no_session_is_refused_and_nothing_is_recorded(cli: Cli, text: str) -> None:
    """P-1, P-6: one sentence that says where it is wrong, code 2."""
    done = cli("import", "-", stdin=text, code=2)
    assert done.err.startswith("moot: ")
    assert done.err.count("\n") == 1

    async def sessions() -> int:
        async with cli.moot() as moot:
            return len(await moot.sessions())

    assert held(sessions()) == 0


@pytest.mark.parametrize(
    "more", [{"roles": None}, {"current_consensus": {"agreed": None}}, {"topic": "x\ud800y"}]
)
def test_a_file_that_leaves_something_out_is_taken_in_whole(cli: Cli, more: dict[str, Any]) -> None:
    """P-6: null for what is optional, and half a character, are no reason to refuse; what is recorded can be read again."""
    cli("import", "-", "--session", "s", stdin=json.dumps({**CONTEXT, **more}))
    assert timeline(cli("export", "s", "context").out) == [LINE]
    assert cli.json("list")["sessions"][0]["status"] == "thinking"


# The rest.


def test_verify_and_replay_of_sessions_that_are_whole(cli: Cli, waiting: str) -> None:
    """P-3: also of one that goes on."""
    found = cli.json("verify", "s")
    assert (found["sessionId"], found.get("fault"), len(found["head"])) == ("s", None, 64)
    assert cli.json("verify") == {"faults": [], "sessions": [found], "notes": []}
    assert cli("verify", "s").out == f"s: intact, head {found['head'][:16]}…\n"
    assert cli.json("replay", "s")["answers"] == 1
    empty = Cli(cli.cwd / "elsewhere", cli.cwd)("verify")
    assert (empty.out, empty.err) == (
        "",
        "nothing is recorded in this ledger: there is nothing to verify\n",
    )


@pytest.mark.parametrize(
    "words",
    [[each] for each in ("resume", "watch", "show", "asks", "cancel", "replay", "fork", "verify")],
)
def test_a_session_that_is_not_there_is_told_in_one_sentence(cli: Cli, words: list[str]) -> None:
    done = cli(*words, "nope", code=2)
    assert done.err == "moot: no session is called 'nope'; `moot list` shows those that exist\n"
    assert done.out == ""


def test_errors_come_as_json_where_json_was_asked_for(cli: Cli) -> None:
    told = cli.json("show", "nope", code=2)
    assert told["error"]["kind"] == "UnknownSession"
    assert "`moot list`" in told["error"]["message"]


def test_an_empty_list_says_how_to_begin(cli: Cli) -> None:
    done = cli("list")
    assert (done.out, done.err) == ("", 'No sessions yet. Hold one: moot run "Should we …?"\n')


def test_panels_are_listed_shown_and_copied(cli: Cli, quiet: str, tmp_path: Path) -> None:
    """P-1: a copied preset is a panel file."""
    names = [each["name"] for each in cli.json("panel")]
    assert "default" in names
    listed = cli("panel").out
    assert all(line.split()[0] in names for line in listed.splitlines())
    (tmp_path / "mine.toml").write_text(
        cli("panel", "default", "--language", "zh", "--toml").out, encoding="utf-8"
    )
    mine, shipped = cli.json("panel", "mine.toml"), cli.json("panel", "default", "--language", "zh")
    assert mine == shipped
    assert len(mine["seats"]) >= 3


def test_a_panel_file_seats_its_scripts_from_beside_it(cli: Cli, tmp_path: Path) -> None:
    """P-1: stance, weight and settings come from the file; the script's path is taken from where the file lies."""
    folder = tmp_path / "panel"
    folder.mkdir()
    write_script(folder / "talk.toml", round_robin(["X", "Y"], 2))
    (folder / "p.toml").write_text(
        '[settings]\nwindow = 3\n[[seat]]\nid = "X"\nplatform = "script:talk.toml"\nstance = "radical"\nweight = 2.0\n'
        '[[seat]]\nid = "Y"\nplatform = "script:talk.toml"\nstance = "decider"\n'
    )
    decided = cli.json("run", "Panel?", "--panel", str(folder / "p.toml"), "--session", "s")
    assert decided["author"] == "Y"
    opened = facts(record(cli))[0]
    assert opened["settings"] == {"window": 3, "blind": False, "intent_patience": 180.0}
    assert [
        (seat["id"], seat.get("stance"), seat.get("weight", 1.0)) for seat in opened["seats"]
    ] == [
        ("X", "radical", 2.0),
        ("Y", "decider", 1.0),
    ]


def test_a_list_shows_the_sessions_of_a_tag_and_those_that_were_put_away_apart(
    cli: Cli, waiting: str
) -> None:
    assert cli("label", "s", "--tag", "budget").out == "s: budget\n"
    assert (cli("list", "--tag", "budget").out[:2], cli("list", "--tag", "other").out) == (
        "s\t",
        "",
    )
    assert cli("label", "s", "--away").out == "s: budget, put away\n"
    assert (cli("list").out, cli("list", "--away").out[:2]) == ("", "s\t")
    assert "give one of them" in cli("label", "s", "--tag", "x", "--no-tags", code=2).err


def test_the_doctor_says_what_is_there_and_checks_a_seat(cli: Cli, quiet: str) -> None:
    """P-2: nothing is spent; a seat that would not answer is told with its reason, code 1."""
    found = {
        check["what"]: check
        for check in json.loads(cli("doctor", "--seat", f"A={quiet}", "--json", code=1).out)
    }
    assert found["ledger"]["ok"] is True
    assert found[f"A={quiet}"] == {"what": f"A={quiet}", "ok": True, "result": "ready"}
    assert found["minds"]["ok"] is False
    project = tomllib.loads(
        (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    )["project"]
    extras = {
        f"moothall[{extra}]" for extra in project["optional-dependencies"] if extra != "embedded"
    }
    assert {what for what in found if what.startswith("moothall[")} == extras
    assert "ok" not in found["search"]
    assert found["search"]["result"].startswith("none; ")
    gone = {
        check["what"]: check
        for check in json.loads(cli("doctor", "--seat", "B=script:gone.toml", "--json", code=1).out)
    }
    assert gone["B=script:gone.toml"]["ok"] is False
    assert gone["B=script:gone.toml"]["result"].endswith(
        "gone.toml cannot be read: No such file or directory"
    )
    assert "no  minds" in cli("doctor", code=1).out
    # What is set once is what `moot run` asks, whatever else is there.
    (settings := cli.cwd / "settings.toml").write_text('models = ["mailbox"]')
    found = {
        check["what"]: check
        for check in Cli(cli.home, cli.cwd, MOOT_CONFIG=str(settings)).json("doctor")
    }
    assert found["minds"] == {"what": "minds", "ok": True, "result": "`moot run` would ask mailbox"}


def test_a_reader_that_has_seen_enough_is_no_failure(cli: Cli, waiting: str) -> None:
    """`moot export … | head -1`."""
    with cli.start("export", "s", "html") as process:
        assert process.process.stdout is not None
        process.process.stdout.close()
        process.process.stdout = None
        done = process.process.communicate(timeout=DEADLINE)
    assert process.process.returncode == 0
    assert done[1] == b""


def test_a_meeting_whose_reader_has_gone_does_not_end_without_a_word(cli: Cli, quiet: str) -> None:
    """P-11: `moot run … | head -1` runs on to its end, or says how to go on."""
    with cli.start("run", "Pipe?", *seat_words(quiet, "AB"), "--session", "s") as process:
        process.wait_for("session s")
        assert process.process.stdout is not None
        process.process.stdout.close()
        process.process.stdout = None
        _, told = process.process.communicate(timeout=DEADLINE)
    assert cli.json("list")["sessions"][0]["status"] == "concluded" or b"moot resume s" in told
    assert process.process.returncode in {0, 130}


def test_inputs_from_many_processes_at_once_are_all_taken_one_after_the_other(
    cli: Cli, waiting: str
) -> None:
    """P-4, P-7: strictly linear, no gap, none lost."""
    before = len(facts(record(cli)))
    started = [cli.start("input", "s", f"word {number}", "--json") for number in range(5)]
    taken = [json.loads(process.ended().out)["entry"] for process in started]
    assert sorted(taken) == list(range(before + 1, before + 6))
    lines = timeline(cli("export", "s", "context").out)
    assert [line["id"] for line in lines] == list(range(1, 7))
    assert {line["content"] for line in lines[1:]} == {f"word {number}" for number in range(5)}
    assert cli.verify("s") == {"s": None}
