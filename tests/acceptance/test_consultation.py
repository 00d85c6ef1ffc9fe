"""Consultations through the public doors: in meetings, on their own, over crashes, beside other processes."""

import json
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.acceptance.doors import (
    DEADLINE,
    Cli,
    Guest,
    Item,
    Process,
    Terminal,
    draft,
    facts,
    held,
    seat_words,
    stand,
    wants,
    with_guests,
    write_script,
)

from moothall.domain.effects import Brief
from moothall.ports.participant import Answer, NoAnswer
from moothall.reading.answers import parse_answer

ASKS = {
    "consult": {
        "to": "bob",
        "question": "What does it cost?",
        "background": "No price is given.",
        "understanding": "Five?",
    }
}
REPLY = "FROM @bob:\n\n**Answer**: Five euros.\n**Notes**: Without tax.\n**Unsure of**: The tax.\n**Ask instead**: @eve"
RECORD = """# Consultation #1: ada → bob

| Field | Value |
|------|------|
| Number | 1 |
| From | ada |
| To | bob |
| Time | {at} |
| Status | COMPLETED |

---

## Question

**Kind**: knowledge

> What does it cost?

**Background**:

> No price is given.

**My understanding**:

> Five?

---

## Reply

> Five euros.

**Notes**:

> Without tax.

---

## Uncertain points

> The tax.

Ask instead: @eve
"""


def records(folder: Path) -> list[str]:
    place = folder / "docs" / "consultation"
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


def manifest(folder: Path) -> list[list[str]]:
    """The lines of the counter behind its head."""
    return [
        line.split("\t")
        for line in (folder / "VERSION_MANIFEST").read_text(encoding="utf-8").splitlines()[1:]
    ]


def kinds(cli: Cli, session: str) -> list[str]:
    return [fact["fact"] for fact in facts(cli("export", session, "jsonl").out)]


def whole(folder: Path, count: int) -> None:
    """C-8: exactly one file for each number, without gap or repeat, and the counter says the same."""
    lines = manifest(folder)
    assert [line[0] for line in lines] == [str(number) for number in range(1, count + 1)]
    assert {line[1] for line in lines} <= {"written"}
    assert len({line[2] for line in lines}) == count
    assert records(folder) == sorted(line[3] for line in lines)


Scene = dict[str, dict[str, list[Item]]]
PERSONA: Scene = {
    "ada": {
        "position": [{"position": "Wait.", "confidence": 0.5}],
        "intent": [wants(0.9), {"reaction_score": 0.1, "intent_to_speak": False}],
        "speech": [ASKS, {"content": "At five euros, yes."}],
        "stand": [stand()],
        "draft": [draft("Buy it.")],
    },
    "bob": {
        "position": [{"position": "Yes.", "confidence": 0.5}],
        "intent": [{"reaction_score": 0.1, "intent_to_speak": False}],
        "consult": [{"raw": REPLY}],
        "stand": [stand()],
        "draft": [draft("Buy it.")],
    },
}
DEBATE: Scene = {
    "ada": {
        "propose": [
            ASKS,
            {"type": "propose", "text": "Buy it at five.", "confidence": 0.8, "choice": "buy"},
        ],
        "vote": [{"type": "vote", "position": "support", "confidence": 0.9}],
    },
    "bob": {
        "propose": [{"type": "propose", "text": "Buy it.", "confidence": 0.7, "choice": "buy"}],
        "consult": [{"raw": REPLY}],
        "vote": [{"type": "vote", "position": "support", "confidence": 0.9}],
    },
}
ROUNDTABLE: Scene = {
    "ada": {"speech": [ASKS, {"content": "## Stance\nYes."}]},
    "bob": {"speech": [{"content": "## Stance\nYes."}], "consult": [{"raw": REPLY}]},
    "moderator": {"minutes": [{"content": "## Consensus reached\nBuy it."}]},
}
PIPELINE = """
[[agent]]
id = "ada"
platform = "script:scene.toml"
[[agent]]
id = "bob"
platform = "script:scene.toml"
[[step]]
name = "price"
agent = "ada"
task = "Say what it costs."
[[step]]
name = "check"
agent = "bob"
task = "Is the price sound?"
gate = true
"""


@pytest.mark.parametrize(
    ("protocol", "scene"), [("persona", PERSONA), ("debate", DEBATE), ("roundtable", ROUNDTABLE)]
)
def test_a_seat_consults_and_the_meeting_goes_on_with_the_answer(
    cli: Cli, protocol: str, scene: Scene
) -> None:
    """C-1, C-2, C-8, C-9: asked in place of an answer, recorded, and only then handed back."""
    platform = write_script(cli.cwd / "scene.toml", scene)
    words = [
        "run",
        "Buy it?",
        "--protocol",
        protocol,
        *seat_words(platform, list(scene)),
        "--consult",
        "--session",
        "one",
    ]
    words += ["--set", "max_rounds=1"] if protocol == "roundtable" else []
    done = cli(*words)
    assert "ada → bob: What does it cost?" in done.out
    assert "bob: Five euros." in done.out
    (name,) = records(cli.cwd)
    assert name == "1_ada_bob.md"
    text = (cli.cwd / "docs" / "consultation" / name).read_text(encoding="utf-8")
    at = next(line.split("|")[2].strip() for line in text.splitlines() if line.startswith("| Time"))
    assert text == RECORD.format(at=at)
    order = kinds(cli, "one")
    begun, answered = order.index("consultation.begun"), order.index("consultation.answered")
    filed = order.index("consultation.filed")
    assert order.index("consultation.requested") < begun < answered < filed
    later = [
        fact
        for fact in facts(cli("export", "one", "jsonl").out)[filed:]
        if "~1." in str(fact.get("ask", ""))
    ]
    assert [fact["seat"] for fact in later] == ["ada"], "C-2: the first is asked again, and goes on"
    cli("replay", "one")
    minutes = cli("export", "one", "minutes").out
    assert "## Consultations" in minutes
    assert "docs/consultation/1_ada_bob.md" in minutes
    whole(cli.cwd, 1)


def test_a_session_without_the_switch_knows_no_consultations(cli: Cli) -> None:
    """What looks like a request is then the answer itself, word for word."""
    scene: Scene = {
        **ROUNDTABLE,
        "ada": {"speech": [{"raw": "Director, I need to consult @bob: What does it cost?"}]},
    }
    scene["bob"] = {"speech": [{"content": "## Stance\nYes."}]}
    platform = write_script(cli.cwd / "scene.toml", scene)
    words = [
        "run",
        "Buy it?",
        "--protocol",
        "roundtable",
        *seat_words(platform, list(scene)),
        "--set",
        "max_rounds=1",
    ]
    cli(*words, "--session", "one")
    assert not [kind for kind in kinds(cli, "one") if kind.startswith("consultation")]
    assert records(cli.cwd) == []
    assert "consult" not in facts(cli("export", "one", "jsonl").out)[0]


def test_inside_a_pipeline_a_step_consults_and_a_gate_does_not(cli: Cli) -> None:
    """C-5, C-10: the request of a gate is refused and recorded; the gate then judges."""
    write_script(
        cli.cwd / "scene.toml",
        {
            "ada": {"work": [ASKS, {"content": "Five euros."}]},
            "bob": {
                "consult": [{"raw": REPLY}],
                "validate": [
                    {"raw": "Director, I need to consult @ada: Is it sure?"},
                    {"raw": "APPROVED\nIt is."},
                ],
            },
        },
    )
    (cli.cwd / "price.toml").write_text(PIPELINE, encoding="utf-8")
    done = cli("pipeline", "run", "price.toml", "--task", "Price it.", "--session", "one")
    assert "no consultations during a validation" in done.out
    status = cli.json("pipeline", "status", "one")
    assert [step["state"] for step in status["steps"]] == ["done", "approved"]
    assert [each["record"] for each in status["consultations"]] == [
        "docs/consultation/1_ada_bob.md"
    ]
    assert kinds(cli, "one").count("consultation.refused") == 1
    whole(cli.cwd, 1)


def test_the_record_is_on_disk_before_the_answer_is_used(cli: Cli) -> None:
    """C-8, with a participant that looks."""
    seen: list[tuple[bool, str]] = []

    async def ada(brief: Brief) -> Answer | NoAnswer:
        is_there = (cli.cwd / "docs" / "consultation" / "1_ada_bob.md").is_file()
        seen.append((is_there, brief.own))
        if brief.again:
            return Answer(said=parse_answer(brief.form, "## Stance\nYes."))
        assert "Director, I need to consult @NAME" in brief.own, "C-9: the plain form is told"
        return Answer(
            said=parse_answer(
                brief.form, "Director, I need to consult @bob:\n**Question**: What does it cost?"
            )
        )

    async def bob(brief: Brief) -> Answer | NoAnswer:
        text = REPLY if brief.form.kind == "consult" else "## Stance\nYes."
        return Answer(said=parse_answer(brief.form, text))

    async def work() -> None:
        async with with_guests(
            cli, {"ada": Guest(ada), "bob": Guest(bob), "moderator": Guest(bob)}
        ) as moot:
            seats = {"ada": "mailbox", "bob": "mailbox", "moderator": "mailbox"}
            await moot.hold(
                "Buy it?",
                seats=seats,
                protocol="roundtable",
                settings={"max_rounds": 1},
                project=cli.cwd,
                check=False,
            )

    held(work())
    assert [is_there for is_there, _ in seen] == [False, True]
    assert "| FROM @bob:" in seen[1][1]
    assert "| **Answer**: Five euros." in seen[1][1]
    assert "bob suggests asking somebody who is not at the table." in seen[1][1]


def test_who_is_consulted_and_lost_leaves_a_failed_record_and_the_first_goes_on(cli: Cli) -> None:
    """C-2: recorded as failed, the file says so, and the one who asked knows it."""
    scene: Scene = {
        **ROUNDTABLE,
        "bob": {"speech": [{"content": "## Stance\nYes."}], "consult": [{"fail": "timeout"}]},
    }
    platform = write_script(cli.cwd / "scene.toml", scene)
    words = [
        "run",
        "Buy it?",
        "--protocol",
        "roundtable",
        *seat_words(platform, list(scene)),
        "--consult",
        "--session",
        "one",
    ]
    done = cli(*words, "--set", "max_rounds=1")
    assert "consultation failed: bob" in done.out
    text = (cli.cwd / "docs" / "consultation" / "1_ada_bob.md").read_text(encoding="utf-8")
    assert "| Status | FAILED |" in text
    assert "The consultation of @bob failed: no answer in time." in text
    assert cli.json("show", "one")["status"] == "concluded"


def test_a_question_on_its_own_is_answered_and_recorded_in_chinese(cli: Cli) -> None:
    """C-7, C-8, C-9: "I don't know" is kept as such."""
    path = cli.cwd / "r.toml"
    path.write_text(
        '[[consult]]\nraw = "FROM @researcher：\\n**回答**：我不知道。\\n**建议咨询**：@advisor"\n',
        encoding="utf-8",
    )
    words = [
        "consult",
        "--from",
        "modeler",
        "--to",
        "researcher",
        "--seat",
        f"researcher=script:{path}",
        "有哪些方法？",
    ]
    done = cli(*words, "--session", "one", code=4)
    assert "@researcher 表示不知道。" in done.out
    text = (cli.cwd / "docs" / "consultation" / "1_modeler_researcher.md").read_text(
        encoding="utf-8"
    )
    assert "| 编号 | 1 |\n| 发起方 | modeler |\n| 接收方 | researcher |" in text
    assert "| 状态 | COMPLETED |" in text
    assert "## 问题" in text
    assert "## 回复" in text
    assert "## 不确定点\n\n建议咨询：@advisor" in text
    answered = next(
        fact
        for fact in facts(cli("export", "one", "jsonl").out)
        if fact["fact"] == "consultation.answered"
    )
    assert answered["said"] == {
        "answer": "我不知道。",
        "ask_instead": "advisor",
        "known": "unknown",
    }
    assert cli.json("show", "one")["endedBy"] == "unknown"


def test_a_wrong_call_is_refused_before_anything_is_recorded(cli: Cli) -> None:
    """C-6"""
    assert (
        "cannot consult itself"
        in cli("consult", "--from", "ada", "--to", "ada", "Why?", code=2).err
    )
    (cli.cwd / "file").write_text("x")
    words = [
        "consult",
        "--from",
        "ada",
        "--to",
        "bob",
        "--seat",
        "bob=mailbox",
        "Why?",
        "--project",
    ]
    assert "no such folder" in cli(*words, "file", code=2).err
    (cli.cwd / "VERSION_MANIFEST").write_text('{"v": 1}')
    assert "not a manifest of Moot's" in cli(*words, ".", code=2).err
    assert cli.json("list")["sessions"] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_pipeline_that_ships_runs_as_it_is(cli: Cli, language: str) -> None:
    """C-5, C-6, C-10: ten agents; a rejection leads back, another to a consultation; whoever does not know names another."""
    cli("pipeline", "run", "contest", "--language", language, "--session", "one")
    status = cli.json("pipeline", "status", "one")
    assert status["endedBy"] == "completed"
    assert {step["agent"] for step in status["steps"]} == {
        *(
            "reader",
            "researcher",
            "modeler",
            "data_engineer",
            "code_translator",
            "model_trainer",
            "validator",
            "writer",
        ),
        *("visualizer", "advisor"),
    }
    assert [(each["seat"], each["to"], each["status"]) for each in status["consultations"]][:2] == [
        ("reader", "advisor", "unknown"),
        ("reader", "researcher", "answered"),
    ]
    assert ("validator", "model_trainer") in {
        (each["seat"], each["to"]) for each in status["consultations"]
    }
    order = kinds(cli, "one")
    assert order.count("pipeline.step_rejected") == 2
    made = json.loads(cli("export", "one", "artefacts").out)["artefacts"]
    assert len(made) == 9
    written = {path.stem: path.read_text() for path in (cli.cwd / "artefacts" / "one").iterdir()}
    assert written == {each["step"]: each["content"].rstrip("\n") + "\n" for each in made}
    # Never outside of the project: a link in place of the folder is not followed.
    (cli.cwd / "artefacts").rename(cli.cwd / "moved")
    (cli.cwd / "artefacts").symlink_to(cli.home)
    assert "links are not followed" in cli("pipeline", "resume", "one").err
    assert not (cli.home / "one").exists()
    page = cli("export", "one", "html").out
    assert page.startswith(f'<!doctype html>\n<html lang="{language}">')
    assert [
        step["name"]
        for step in status["steps"]
        if f"{step['number']}. {step['name']}</td>" not in page
    ] == []
    assert len(set(re.findall(r"docs/consultation/\d+_\w+\.md", page))) == 6
    cli("replay", "one")
    whole(cli.cwd, 6)


PROGRAM_GATE = """
[pipeline]
task = "Write it."
[[agent]]
id = "maker"
platform = "script:maker.toml"
[[agent]]
id = "tests"
platform = "command:tests.toml"
patience = {patience}
[[step]]
name = "write"
agent = "maker"
task = "Write it."
[[step]]
name = "check"
agent = "tests"
task = "Does it run?"
gate = true
max_rejections = 1
"""


@pytest.mark.parametrize(
    ("program", "ended_by", "verdicts"),
    [
        (
            "import sys; print('1 failed', file=sys.stderr); sys.exit('second' not in sys.stdin.read())",
            "completed",
            "RA",
        ),
        ("raise SystemExit(3)", "rejected", "RR"),
        ("print('REJECTED'); print('It prints so.')", "rejected", "RR"),
        ("print('All tests ran, none of them did not pass.')", "completed", "A"),
        ("print('APPROVED'); raise SystemExit(1)", "rejected", "RR"),
        ("import os; os.kill(os.getpid(), 9)", "failed", ""),
        ("import time; time.sleep(60)", "failed", ""),
    ],
)
def test_a_gate_may_be_a_program(cli: Cli, program: str, ended_by: str, verdicts: str) -> None:
    """C-11: its exit status and its output are the verdict; who is late or killed has not judged."""
    (cli.cwd / "maker.toml").write_text(
        '[[work]]\ncontent = "The first."\n[[work]]\ncontent = "The second."\n'
    )
    argv = json.dumps([sys.executable, "-I", "-S", "-c", program])
    (cli.cwd / "tests.toml").write_text(f'argv = {argv}\nwords = "{{prompt}}"\njudges = true\n')
    (cli.cwd / "line.toml").write_text(
        PROGRAM_GATE.format(patience=3 if "sleep" in program else 60)
    )
    cli(
        "pipeline", "run", "line.toml", "--session", "one", code=0 if ended_by == "completed" else 4
    )
    assert cli.json("pipeline", "status", "one")["endedBy"] == ended_by
    given = [
        fact
        for fact in facts(cli("export", "one", "jsonl").out)
        if fact["fact"] == "pipeline.verdict_given"
    ]
    assert "".join(fact["said"]["verdict"][0] for fact in given) == verdicts
    assert {fact["origin"] for fact in given} <= {"program:tests"}
    if ended_by == "completed":
        assert "Approved by: tests (check)" in " ".join(cli("show", "one").out.split())
    elif "exit" in program.casefold():
        assert all("exit status" in " ".join(fact["corrections"]) for fact in given)


def test_an_answer_by_mail_says_what_was_understood(cli: Cli) -> None:
    """M-14: --preview records nothing."""
    (cli.cwd / "maker.toml").write_text(
        '[[work]]\ncontent = "The first."\n[[work]]\ncontent = "The second."\n'
    )
    (cli.cwd / "line.toml").write_text(
        PROGRAM_GATE.format(patience=60).replace("command:tests.toml", "mailbox")
    )
    cli("pipeline", "run", "line.toml", "--session", "one", code=3)
    said = ("answer", "one", "--seat", "tests", "OK, I reject this.")
    assert 'Understood as: {"verdict": "REJECTED"' in cli(*said, "--preview").out
    assert "pipeline.verdict_given" not in kinds(cli, "one")
    assert 'Understood as: {"verdict": "REJECTED"' in cli(*said).out
    (given,) = (
        fact
        for fact in facts(cli("export", "one", "jsonl").out)
        if fact["fact"] == "pipeline.verdict_given"
    )
    assert given["corrections"] == ["words the answer 'OK, I reject this.'"]


def test_a_copy_of_the_pipeline_that_ships_runs_too(cli: Cli) -> None:
    """C-10: what `show` prints, in a file of one's own."""
    (cli.cwd / "mine.toml").write_text(cli("pipeline", "show", "contest").out, encoding="utf-8")
    cli("pipeline", "run", "mine.toml", "--session", "one")
    assert cli.json("pipeline", "status", "one")["endedBy"] == "completed"


def test_a_pipeline_goes_on_from_another_folder(cli: Cli) -> None:
    """C-10: a script that was named from here is found from there."""
    (cli.cwd / "p.toml").write_text(
        '[pipeline]\ntask = "T"\n[[agent]]\nid = "a"\n[[step]]\nname = "s"\nagent = "a"\ntask = "t"\n'
    )
    (cli.cwd / "s.toml").write_text('[[work]]\ncontent = "done"\n')
    words = ("pipeline", "run", "p.toml", "--model", "script:s.toml", "--session", "one")
    assert cli.json(*words, "--dry-run")["seats"][0]["platform"] == f"script:{cli.cwd / 's.toml'}"
    assert cli.json("list")["sessions"] == []


def test_a_script_that_consults_needs_a_session_with_consultations(cli: Cli) -> None:
    """C-6: told before anything is recorded, with the remedy."""
    for kind in ("speech]]\nconsult = { to = 'b', question = 'q' }", "consult]]\nanswer = 'x'"):
        (cli.cwd / "s.toml").write_text(f"[[{kind}\n")
        words = (
            "run",
            "Q?",
            "--protocol",
            "roundtable",
            "--seat",
            "a=script:s.toml",
            "--seat",
            "b=script:s.toml",
        )
        assert "--consult opens it with them" in cli(*words, code=2).err
    assert cli.json("list")["sessions"] == []


def test_a_terminal_shows_consultations_as_they_happen(cli: Cli) -> None:
    """C-1, in the live view of a persona meeting."""
    platform = write_script(cli.cwd / "scene.toml", PERSONA)
    with Terminal(
        cli, "run", "Buy it?", *seat_words(platform, list(PERSONA)), "--consult", "--session", "one"
    ) as terminal:
        assert terminal.ended() == 0
    shown = terminal.raw.decode()
    assert "? ada → bob: What does it cost?" in shown
    assert "! bob: Five euros." in shown
    assert "docs/consultation/1_ada_bob.md" in shown
    assert "At five euros, yes." in shown


def test_a_person_at_the_terminal_may_ask_in_place_of_any_field(cli: Cli) -> None:
    """C-9: whichever field is asked for."""
    scene: Scene = {"bob": PERSONA["bob"]}
    platform = write_script(cli.cwd / "scene.toml", scene)
    with Terminal(
        cli, "run", "Buy it?", "--seat", "ada=human", "--seat", f"bob={platform}", "--consult"
    ) as terminal:
        terminal.wait_for("/ask NAME QUESTION")
        terminal.wait_for("ada>")
        terminal.type("/ask bob What does it cost?\r")
        terminal.wait_for("docs/consultation/1_ada_bob.md")
        terminal.wait_for("FROM @bob:")
    assert records(cli.cwd) == ["1_ada_bob.md"]


# Crashes

CHILD = Path(__file__).with_name("consult_child.py")


def child(cli: Cli, sessions: Sequence[str], die_at: int = 0) -> Process:
    """A process that runs sessions, all at once, and dies at a step of writing records."""
    return cli.spawn_program(CHILD, str(die_at), *sessions)


def ended(process: Process) -> int:
    _, told = process.communicate(timeout=2 * DEADLINE)
    assert process.returncode in {0, -signal.SIGKILL}, told.decode()
    return process.returncode


def opened(cli: Cli, sessions: Sequence[str]) -> None:
    """Sessions that will each have two consultations."""
    scene: Scene = {
        "ada": {
            "speech": [
                ASKS,
                {"consult": {"to": "bob", "question": "And the tax?"}},
                {"content": "## Stance\nYes."},
            ]
        },
        "bob": {
            "speech": [{"content": "## Stance\nYes."}],
            "consult": [{"answer": "Five."}, {"answer": "I don't know."}],
        },
        "moderator": {"minutes": [{"content": "## Consensus reached\nBuy it."}]},
    }
    platform = write_script(cli.cwd / "scene.toml", scene)

    async def work() -> None:
        async with cli.moot() as moot:
            for session in sessions:
                await moot.open(
                    "Buy it?",
                    session=session,
                    seats=dict.fromkeys(scene, platform),
                    protocol="roundtable",
                    settings={"max_rounds": 1},
                    project=cli.cwd,
                )

    held(work())


@pytest.mark.parametrize("die_at", range(1, 16))
def test_killed_at_any_step_of_writing_there_is_one_record_of_each(cli: Cli, die_at: int) -> None:
    """C-2, C-8: before, while and after the file is written; the counter has no gap and no repeat."""
    opened(cli, ["one"])
    first = ended(child(cli, ["one"], die_at))
    assert (first == -signal.SIGKILL) == (die_at <= 14), "seven steps for each of two records"
    cli("resume", "one")
    whole(cli.cwd, 2)
    order = kinds(cli, "one")
    assert order.count("consultation.filed") == 2
    assert order.count("consultation.begun") == 2
    assert cli.json("show", "one")["status"] == "concluded"
    cli("replay", "one")


def test_eight_sessions_in_four_processes_count_without_gap_or_repeat(cli: Cli) -> None:
    """C-3, C-8: all at once; then some of them killed while they write."""
    sessions = [f"s{number}" for number in range(8)]
    opened(cli, sessions)
    pairs = [sessions[at : at + 2] for at in range(0, 8, 2)]
    running = [child(cli, pair, die_at) for pair, die_at in zip(pairs, (0, 4, 7, 12), strict=True)]
    codes = [ended(process) for process in running]
    assert codes == [0, -signal.SIGKILL, -signal.SIGKILL, -signal.SIGKILL]
    again = [child(cli, pair) for pair in pairs[1:]]
    assert [ended(process) for process in again] == [0, 0, 0]
    whole(cli.cwd, 16)
    for session in sessions:
        assert kinds(cli, session).count("consultation.filed") == 2


def test_a_link_is_not_followed_out_of_the_project(cli: Cli) -> None:
    """C-8: the answer that could not be recorded is not used; the one who asked goes on knowing that."""
    (cli.cwd / "elsewhere").mkdir()
    (cli.cwd / "docs").mkdir()
    (cli.cwd / "docs" / "consultation").symlink_to(cli.cwd / "elsewhere")
    platform = write_script(cli.cwd / "scene.toml", ROUNDTABLE)
    words = [
        "run",
        "Buy it?",
        "--protocol",
        "roundtable",
        *seat_words(platform, list(ROUNDTABLE)),
        "--consult",
    ]
    done = cli(*words, "--session", "one", "--set", "max_rounds=1")
    assert "its record could not be written, so that the answer is not used" in done.out
    assert list((cli.cwd / "elsewhere").iterdir()) == []
    assert cli.json("show", "one")["status"] == "concluded"
