"""`--require`: a decision that lets pass or stops what comes after it, and the published shape of a decision (G-1)."""

import json
from pathlib import Path

import click
import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.acceptance.doors import SCENES, Cli, seat_words, write_script

from moothall.features.demos.shipped import list_demos
from moothall.surfaces.cli.main import LazyCommand, main

ACCORD = [
    *seat_words(f"script:{SCENES / 'accord.toml'}", ("ada", "bob", "cem")),
    "--protocol",
    "consensus",
    "--session",
    "s",
]
QUESTION = "Four days a week?"
ANY = ("--require-worth", "any")
CAUTION = "All of them are the same model: they make the same mistakes."
MET = f"As required: yes. But: {CAUTION}"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "home", tmp_path)


def test_a_decision_gates_by_the_exit_code_of_run_and_show(cli: Cli) -> None:
    """G-1, G-6, T-6: 0 as required and worth enough, in any case; 6 otherwise; the memo's reservation is said on standard error."""
    done = cli("run", QUESTION, *ACCORD, "--require", "maybe", "--require", " YES.", *ANY)
    assert done.err.splitlines()[-1] == MET
    decided = cli.json("show", "s")["choice"]
    assert decided == "yes"
    for words, code, told in (
        (["--require", "yes", *ANY], 0, MET),
        (["--require", "yes"], 0, MET),
        (["--require", "yes", "--require-worth", "weak"], 0, MET),
        (
            ["--require", "yes", "--require-worth", "strong"],
            6,
            f"Not as required: decided, yes. But: {CAUTION}",
        ),
        (["--require-worth", "weak"], 2, "--require-worth: name the choice as well"),
        (
            ["--require", "no", "--require", "maybe"],
            6,
            "Not as required: decided was “yes”; required was: no, maybe",
        ),
        (["--require", "y"], 6, "Not as required"),
        (["--require", " . "], 2, "--require: expected a choice"),
    ):
        done = cli("show", "s", *words, code=code)
        assert told in done.err.splitlines()[-1]
        if code != 2:
            assert done.out == cli("show", "s").out
            shown = cli.json("show", "s", *words, code=code)
            assert shown.pop("gate")["outcome"] == ("otherwise" if code else "met")
            assert shown == cli.json("show", "s")


def test_what_is_not_decided_is_no_approval(cli: Cli) -> None:
    """G-1: 3 while it waits, 4 when it ended without a decision, each with a line why."""
    cli(
        "run",
        QUESTION,
        "--seat",
        "eve=mailbox",
        "--seat",
        "ada=mailbox",
        "--session",
        "w",
        "--require",
        "yes",
        code=3,
    )
    assert cli("show", "w", "--require", "yes", code=3).err.startswith("Waiting for eve and ada")
    assert "Waiting for eve and ada" in cli("resume", "w", "--require", "yes", code=3).err
    # Without --wait nobody is waited for, with and without --json.
    assert cli.json("resume", "w", "--require", "yes", code=3)["waitingFor"] == ["ada", "eve"]
    cli("cancel", "w")
    assert cli("show", "w", "--require", "yes", code=4).err == "Cancelled before a decision.\n"
    sorry = {"type": "propose", "text": "I'm sorry, but I can't assist with that.", "choice": "yes"}
    refusing = write_script(
        cli.cwd / "refusing.toml", {seat: {"propose": [sorry] * 2} for seat in "ab"}
    )
    done = cli(
        "run",
        "Which?",
        *seat_words(refusing, "ab"),
        "--protocol",
        "debate",
        "--require",
        "yes",
        code=4,
    )
    assert done.err.splitlines()[-1] == "Not decided: nobody proposed anything."


def test_what_could_never_be_decided_is_refused_before_anything_is_recorded(cli: Cli) -> None:
    """G-1: a misspelt choice is wrong usage, not a meeting that fails for ever."""
    done = cli(
        "run", QUESTION, *ACCORD, "--option", "yes", "--option", "no", "--require", "yse", code=2
    )
    assert "--require 'yse': not one of the options: yes, no" in done.err
    consult = ["consult", "--from", "a", "--to", "b", "--seat", "b=mailbox", "Why?"]
    assert "decides nothing" in cli(*consult, "--require", "yes", code=2).err
    table = ["roundtable", "new", "t", "Which?", "--role", "a", "--role", "b"]
    assert "moot roundtable relay" in cli(*table, "--require", "yes", code=2).err
    assert cli("list").out == ""


def test_every_protocol_gates_and_gives_the_published_shape(cli: Cli) -> None:
    """G-1: what was decided, word for word, is required with 0, anything else with 6; the JSON fits `moot decisions schema`."""
    schema = json.loads(cli("decisions", "schema").out)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for name in (demo.name for demo in list_demos("en")):
        shown = cli.json("demo", name, "--fast", "--require", "nothing of the kind", code=6)
        assert list(validator.iter_errors(shown)) == []
        cli("show", shown["sessionId"], "--require", shown["choice"], *ANY)
        # What Moot calls weak or disputed does not pass without being asked for.
        passes = shown["strength"] in {"fair", "strong"}
        cli("show", shown["sessionId"], "--require", shown["choice"], code=0 if passes else 6)
    pipeline = cli.json("demo", "pipeline", "--fast", "--require", "completed")
    cli("show", pipeline["sessionId"], "--require", "rejected", code=6)
    cancelled = {**cli.json("show", pipeline["sessionId"]), "status": "?"}
    assert [error.json_path for error in validator.iter_errors(cancelled)] == ["$.status"]
    garbled = {**pipeline, "memo": {**pipeline["memo"], "lines": "all"}}
    assert [error.json_path for error in validator.iter_errors(garbled)] == ["$.memo.lines"]


DECIDING = {
    "run",
    "swarm",
    "resume",
    "again",
    "show",
    "pipeline run",
    "pipeline resume",
    "roundtable relay",
    "demo",
}
CODES = [
    (["show", "yes", *ANY], ["yes"], 0),
    (["show", "yes"], ["yes"], 0),
    (["show", "yes", "--require-worth", "strong"], ["yes"], 6),
    (["show", "yes"], ["no"], 6),
    (["show", "open"], ["yes"], 3),
    (["show", "gone"], ["yes"], 2),
    (["show", "ended"], ["yes"], 4),
    (["resume", "yes", *ANY], ["yes"], 0),
    (["resume", "yes"], ["no"], 6),
    (["resume", "open"], ["yes"], 3),
    (["resume", "gone"], ["yes"], 2),
    (["resume", "ended"], ["yes"], 4),
    (["again", "yes", *ANY], ["yes"], 0),
    (["again", "yes"], ["no"], 6),
    (["again", "ended"], ["yes"], 3),
    (["again", "open"], ["yes"], 2),
    (["pipeline", "resume", "gone"], ["completed"], 2),
    (["roundtable", "relay", "gone"], ["yes"], 2),
    (["demo", "consensus", "--fast"], ["nothing of the kind"], 6),
    (["demo", "nothing"], ["yes"], 2),
    (["swarm", "Which?", "--model", "mailbox"], [" . "], 2),
    (["pipeline", "run", "gone.toml"], ["completed"], 2),
]


def test_the_exit_code_of_every_command_that_decides(cli: Cli) -> None:
    """G-1: a table; what it needs is a session that decided, one that waits, and one that ended without a decision."""
    cli("run", QUESTION, *ACCORD[:-1], "yes")
    for name in ("open", "ended"):
        cli(
            "run",
            QUESTION,
            "--seat",
            "eve=mailbox",
            "--seat",
            "ada=mailbox",
            "--session",
            name,
            code=3,
        )
    cli("cancel", "ended")
    for words, required, code in CODES:
        done = cli(*words, *(word for each in required for word in ("--require", each)), code=code)
        assert code == 0 or done.err.strip() or words[0] == "again", (words, required)


def list_required(command: click.Command, path: tuple[str, ...] = ()) -> set[str]:
    """The commands below this one that take --require."""
    command = command.load() if isinstance(command, LazyCommand) else command
    if isinstance(command, click.Group):
        return {
            name
            for word, each in command.commands.items()
            for name in list_required(each, (*path, word))
        }
    return (
        {" ".join(path)} if any("--require" in option.opts for option in command.params) else set()
    )


def test_the_commands_that_decide_are_those_of_the_table_and_of_the_docs() -> None:
    """G-1: a command that learns to decide is in the docs."""
    refusing = {"consult", "roundtable new"}
    assert list_required(main) - refusing >= DECIDING
    stated = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text()
    sentence = stated.partition("`--require CHOICE` (several")[2].partition(
        "One line on standard error"
    )[0]
    assert all(f"`{name}`" in sentence for name in DECIDING)
