"""`moot swarm` and what it leaves behind: the run's folder, the report, a killed run that goes on (S-1, S-24, S-26)."""

import json
import random
import re
import time
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.doors import Cli, Terminal, until

from moothall.domain.seeded_random import random_unit

EXAMPLE = Path(__file__).resolve().parents[2] / "docs" / "examples" / "swarm.toml"
NAMES = ("TanWei", "SuYuan", "DongCha", "QiuSuo", "XiLi")
TASK = "How do we make the catalogue fast?"
FOLDER = "how-do-we-make-the-catalogue-f"


def seats(script: Path = EXAMPLE) -> list[str]:
    words = [word for name in NAMES for word in ("--seat", f"{name}=script:{script}")]
    return [*words, "--seed", "7"]


def slow(tmp_path: Path, seconds: float) -> Path:
    """The example, each answer of which takes its time."""
    path = tmp_path / "slow.toml"
    text = EXAMPLE.read_text(encoding="utf-8").replace(
        "conflictReview", f"delay = {seconds}\nconflictReview"
    )
    path.write_text(text, encoding="utf-8")
    return path


def stuck(tmp_path: Path) -> Path:
    """The example, in whose second round nobody answers: whoever does something to the run then is surely in time."""
    path = tmp_path / "stuck.toml"
    path.write_text(
        EXAMPLE.read_text(encoding="utf-8").replace("turn = 2\n", "turn = 2\ndelay = 3600\n"),
        encoding="utf-8",
    )
    return path


def folders(cli: Cli) -> list[Path]:
    return sorted((cli.cwd / "swarm-runs").glob("2*"))


def read(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_swarm_converges_votes_and_leaves_its_folder(cli: Cli) -> None:
    """S-1, S-24, S-25, S-29."""
    done = cli("swarm", TASK, *seats())
    assert "── Round 3 · 5 Agents" in done.out
    assert "\nFound and backed by 4 of 5, XiLi against: " in done.out
    assert "\nXiLi: “Stale prices cost more than slow pages.”\n" in done.out
    (folder,) = folders(cli)
    assert folder.name.endswith(FOLDER)
    assert f"swarm-runs/{folder.name}/" in done.out
    files = read(folder)
    assert "Converged: all figures hold." in cli("show", session_of(files), "--figures").out
    assert {name for name in files if "/" not in name} == {
        "run-config.json",
        "blackboard.json",
        "operation-log.json",
        "convergence-report.md",
        "final-research-report.md",
        "final-research-report.html",
    }
    assert len([name for name in files if name.startswith("agent-reports/round-")]) == 15
    decisions = cli("decisions", "search", "catalogue").out
    assert "Serve the catalogue from a cache at the edge." in decisions
    shown = cli("decisions", "show", session_of(files)).out
    assert "XiLi [XiLi]: oppose (0.70)" in shown


def test_the_template_says_what_a_run_leaves_and_is_written_once(cli: Cli) -> None:
    """S-24, S-25: `.template` has the parts of the report in their order; what a person changes in it stays."""
    words = ["swarm", "How do we make the catalogue fast?", "--seed", "7", *seats()]
    assert cli(*words).code == 0
    template = cli.cwd / "swarm-runs" / ".template"
    assert sorted(path.name for path in template.iterdir()) == ["README.md", "report-template.md"]
    parts = [
        line
        for line in (template / "report-template.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("## ")
    ]
    (folder,) = folders(cli)
    report = (folder / "final-research-report.md").read_text(encoding="utf-8").splitlines()
    shown = [line for line in report if line.startswith("## ")]
    assert shown == [part for part in parts if part in shown]
    told = (template / "README.md").read_text(encoding="utf-8")
    assert all(
        f"`{path.name}`" in told for path in folder.iterdir() if path.suffix in {".json", ".md"}
    )
    (template / "README.md").write_text("Mine.", encoding="utf-8")
    assert cli(*words).code == 0
    assert (template / "README.md").read_text(encoding="utf-8") == "Mine."


def session_of(files: dict[str, bytes]) -> str:
    return str(json.loads(files["run-config.json"])["session"])


def test_the_same_seed_and_answers_give_the_same_bytes_in_a_folder_of_their_own(cli: Cli) -> None:
    """S-3, S-24: a second run of the same day and task gets a suffix and overwrites nothing."""
    cli("swarm", TASK, *seats())
    first = read(folders(cli)[0])
    cli("swarm", TASK, *seats())
    cli("swarm", TASK, *seats()[:-1], "8")
    one, two, three = folders(cli)
    assert (two.name, three.name) == (f"{one.name}-2", f"{one.name}-3")
    assert read(one) == first
    assert read(two)["blackboard.json"] == first["blackboard.json"]
    assert read(three)["blackboard.json"] != first["blackboard.json"]


def test_the_folder_is_told_again_from_the_ledger_byte_for_byte(cli: Cli) -> None:
    """S-24: nothing in it that the ledger does not have."""
    cli("swarm", TASK, *seats())
    (folder,) = folders(cli)
    session = session_of(read(folder))
    cli("export", session, "folder", "-o", "again")
    (again,) = (cli.cwd / "again").iterdir()
    assert read(again) == read(folder)
    assert cli("replay", session).code == 0
    assert cli("verify", session).code == 0


def test_a_join_is_undone_in_the_report(cli: Cli) -> None:
    """S-8."""
    cli("swarm", TASK, *seats())
    session = session_of(read(folders(cli)[0]))
    names = sorted(set(re.findall(r"join-\d+", cli("export", session, "minutes").out)))
    assert names
    apart = [word for name in names for word in ("--apart", name)]
    undone = cli("export", session, "minutes", *apart).out
    assert "RECKONED ANEW with these joins undone" in undone
    assert "there is no join" in cli("export", session, "minutes", "--apart", "join-99", code=2).err
    assert "<svg" in cli("export", session, "html", *apart).out
    assert json.loads(cli("export", session, "standing", *apart).out) != json.loads(
        cli("export", session, "standing").out
    )
    for words in (["folder", "-o", "elsewhere"], ["blackboard"]):
        assert (
            "--apart applies only"
            in cli("export", session, *words, "--apart", names[0], code=2).err
        )
    assert (
        "it is `moot export SESSION minutes --apart JOIN`"
        in cli("swarm-report", session, code=2).err
    )
    assert not (cli.cwd / "elsewhere").exists()


def test_a_folder_that_cannot_be_written_is_told_before_anything_is_recorded(cli: Cli) -> None:
    """S-24."""
    (cli.cwd / "file").write_text("", encoding="utf-8")
    assert "cannot be written" in cli("swarm", TASK, *seats(), "--runs", "file/runs", code=1).err
    assert cli.json("list")["sessions"] == []


def test_a_swarm_that_is_killed_goes_on_where_it_stood(cli: Cli, tmp_path: Path) -> None:
    """S-26: kill -9 at any moment, as often as it likes: no operation lost or done twice, the same blackboard in the end."""
    cli("swarm", TASK, *seats())
    whole = read(folders(cli)[0])
    script = slow(tmp_path, 0.05)
    chance = random.Random(6)
    words = ["swarm", TASK, *seats(script), "--session", "killed"]
    for _ in range(6):
        with cli.start(*words) as process:
            process.wait_for("session killed")
            time.sleep(chance.uniform(0.05, 0.5))
            process.process.kill()
            process.ended()
        words = ["resume", "killed"]
        if cli.json("show", "killed")["status"] == "concluded":
            break
    cli("resume", "killed")
    found = read(folders(cli)[1])
    assert found["blackboard.json"] == whole["blackboard.json"]
    log = json.loads(found["operation-log.json"])
    assert [each["operationId"] for each in log] == [
        f"op-{number}" for number in range(1, len(log) + 1)
    ]
    assert [each["operationId"] for each in log] == [
        each["operationId"] for each in json.loads(whole["operation-log.json"])
    ]
    assert cli("replay", "killed").code == 0
    assert len(folders(cli)) == 2, "a resumed run writes into its own folder"


def test_a_run_in_another_place_goes_on_there(cli: Cli, tmp_path: Path) -> None:
    """S-24, S-26: `moot resume` takes the same --runs."""
    script = stuck(tmp_path)
    with cli.start(
        "swarm", TASK, *seats(script), "--session", "elsewhere", "--runs", "my runs"
    ) as process:
        process.wait_for("── Round 2")
        process.process.kill()
        process.ended()
    script.write_bytes(EXAMPLE.read_bytes())
    cli("resume", "elsewhere", "--runs", "my runs")
    (folder,) = (cli.cwd / "my runs").glob("2*")
    assert (folder / "final-research-report.html").exists()
    assert not (cli.cwd / "swarm-runs").exists()


def test_the_folder_is_there_after_every_round(cli: Cli, tmp_path: Path) -> None:
    """S-24: a run that dies has left what it had."""
    with cli.start("swarm", TASK, *seats(stuck(tmp_path))) as process:
        process.wait_for("── Round 2")
        until(lambda: list((cli.cwd / "swarm-runs").glob("2*/agent-reports/round-1/*.md")))
        process.process.kill()
    (folder,) = folders(cli)
    board = json.loads(read(folder)["blackboard.json"])
    assert board["currentRound"] >= 1
    assert board["result"] is None


def test_a_terminal_shows_the_swarm_at_work(cli: Cli, tmp_path: Path) -> None:
    """S-1: round, pheromone bars, findings as they come, roles, figures."""
    with Terminal(cli, "swarm", TASK, *seats(slow(tmp_path, 0.3))) as terminal:
        terminal.wait_for("Round 3")
        assert terminal.ended() == 0
        shown = terminal.raw.decode()
    for part in (
        "caching at the edge",
        "█",
        "explorer",
        "debater",
        "Diversity",
        "探微者",
        "Ctrl-C",
    ):
        assert part in shown, part


def test_the_generic_command_runs_a_swarm_too(cli: Cli) -> None:
    """S-1: `moot run --protocol swarm`."""
    done = cli.json("run", TASK, "--protocol", "swarm", *seats(), "--set", "collisions=0")
    assert done["decision"] == "Serve the catalogue from a cache at the edge."
    assert done["consensusType"] == "majority"
    assert len(folders(cli)) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--agents", "1"], "1 is not in the range"),
        (["--agents", "65"], "65 is not in the range"),
        (["--agents", "3", *seats()], "5 explorers are seated, but the number of agents is 3"),
        (["--mode", "hybrid", *seats()], "needs directions"),
        (["--mode", "emergent", "--direction", "x", *seats()], "hybrid only"),
        (["--direction", " ", *seats()], "a direction is empty"),
        (["--set", "evaporation=2", *seats()], "setting evaporation"),
        (["--set", "colour=red", *seats()], "unknown setting 'colour'"),
        (["--set", "measure=colour", *seats()], "unknown measure 'colour'; known: meaning, words"),
        (["--timeout", "0", *seats()], "0"),
        (["--seat", "a=script:nowhere.toml", "--seat", "b=script:nowhere.toml"], "cannot be read"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_recorded(
    cli: Cli, words: list[str], told: str
) -> None:
    done = cli("swarm", TASK, *words, code=2)
    assert told in done.err
    assert not (cli.cwd / "swarm-runs").exists()
    assert cli.json("list")["sessions"] == []


def test_a_hybrid_run_begins_with_the_users_directions(cli: Cli) -> None:
    """S-1."""
    cli("swarm", TASK, "--direction", "ask the users", *seats(), "--max-rounds", "1", code=4)
    board: dict[str, Any] = json.loads(read(folders(cli)[0])["blackboard.json"])
    assert board["pheromones"]["ask the users"]["depositedBy"] == ["USER"]
    assert board["config"]["mode"] == "hybrid"


def test_a_dry_run_says_who_would_take_part_and_writes_nothing(cli: Cli) -> None:
    done = cli(
        "swarm", TASK, "--agents", "3", "--model", "openai:gpt-5-mini", "--no-check", "--dry-run"
    )
    lines = [line.split(":")[0].strip() for line in done.out.splitlines()[1:]]
    assert lines[:5] == ["TanWei", "SuYuan", "DongCha", "validator", "expected"]
    assert cli.json("list")["sessions"] == []


def test_a_folder_that_cannot_be_written_is_told_and_the_session_stands(cli: Cli) -> None:
    cli("swarm", TASK, *seats(), "--session", "one")
    (cli.cwd / "swarm-runs").rename(cli.cwd / "moved")
    (cli.cwd / "swarm-runs").write_text("a file", encoding="utf-8")
    done = cli("resume", "one", code=1)
    assert "the run's folder cannot be written" in done.err
    assert cli.json("list")["sessions"][0]["status"] == "concluded"


def test_a_hostile_task_stays_below_the_runs(cli: Cli) -> None:
    """S-24."""
    cli("swarm", "../../" + "🚀" * 30 + "../x 供应链", *seats(), "--max-rounds", "1", code=4)
    (folder,) = folders(cli)
    assert folder.name.endswith("-x-供应链")


def test_seats_that_are_late_broken_wrong_lying_or_silent_are_dealt_with_and_the_run_ends(
    cli: Cli, tmp_path: Path
) -> None:
    """S-12, S-21, S-23: with real deadlines; every agent ends terminated, and the report says what happened.

    Code keeps the log of operations for explorers that Moot asks: what one claims beside it counts neither for nor against it.
    """
    good = (
        'findings = [{ coreIdea = "Idea of NAME", perspective = "NAME" }]\nrandomExploreForced = true\n'
        'operations = [{ operation = "deposit_pheromone", params = { direction = "way of NAME" } }]\n'
        "conflictReview = { conflictsFound = 0 }\n"
    )
    decision = 'decisionReport = { threshold = THETA, candidates = [], selectedDirection = "x", selectionReason = "r" }\n'
    kinds = {
        "late": "delay = 60\n",
        "broken": 'fail = "error"\n',
        "wrong": 'raw = "{"\n',
        "liar": good + 'confirmedOperations = ["op-999"]\n',
        "good1": good + decision,
        "good2": good + decision,
        "good3": good + decision,
    }
    lines = []
    for name, body in kinds.items():
        theta = 0.3 + 0.3 * random_unit(1, "threshold", name)
        said = body.replace("NAME", name).replace("THETA", f"{theta:.4f}")
        lines += [f"[[seats.{name}.explore]]\nturn = {number}\n{said}" for number in range(1, 7)]
    path = tmp_path / "crew.toml"
    path.write_text("\n".join([*lines, "[seats.silent]"]), encoding="utf-8")
    crew = [f'[[seat]]\nid = "{name}"\nplatform = "script:{path}"\n' for name in (*kinds, "silent")]
    panel = tmp_path / "panel.toml"
    panel.write_text("".join([crew[0], "patience = 0.3\n", *crew[1:]]))
    quick = [
        "--set",
        "round_timeout=60",
        "--set",
        "recovery_seconds=0.3",
        "--set",
        "collisions=0",
        "--seed",
        "1",
    ]
    cli("swarm", TASK, "--panel", str(panel), *quick, "--max-rounds", "6", code=4)
    files = read(folders(cli)[0])
    board = json.loads(files["blackboard.json"])
    agents = board["agentStates"]
    assert {agent["status"] for agent in agents.values()} == {"terminated"}
    assert all(agent["terminationReason"] for agent in agents.values())
    happened = [
        (event["type"], event.get("agentId"), event.get("reason")) for event in board["events"]
    ]
    for name in ("late", "wrong"):
        assert ("agent_degraded", name, "timeout") in happened
        assert ("agent_removed", name, "timeout") in happened
    assert ("agent_degraded", "broken", "interrupted for too long") in happened
    assert [
        kind for kind, agent, _ in happened if agent == "broken" and kind == "response_lost"
    ] == ["response_lost"] * 5
    assert agents["liar"]["violations"] == []
    assert agents["liar"]["terminationReason"] == agents["good1"]["terminationReason"]
    assert b"op-999" not in files["operation-log.json"]
    assert (
        board["operations"]["requested"]
        == board["operations"]["processed"] + board["operations"]["failed"]
    )
    text = files["final-research-report.md"].decode()
    for told in (
        "PARTIAL REPORT",
        "✗ late: degraded → removed (timeout)",
        "✗ wrong: degraded → removed",
    ):
        assert told in text, told
