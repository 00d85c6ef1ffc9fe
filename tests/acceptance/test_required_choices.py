"""`--require`: a decision that lets pass or stops what comes after it, and the published shape of a decision (G-1)."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from tests.acceptance.doors import SCENES, Cli, seat_words, write_script

from moothall.app.demos import list_demos

ACCORD = [*seat_words(f"script:{SCENES / 'accord.toml'}", ("ada", "bob", "cem")), "--protocol", "consensus", "--session", "s"]
QUESTION = "Four days a week?"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path / "home", tmp_path)


def test_a_decision_gates_by_the_exit_code_of_run_and_show(cli: Cli) -> None:
    """G-1: 0 as required, in whatever case; 6 otherwise; why is said on standard error, and the result stays whole."""
    done = cli("run", QUESTION, *ACCORD, "--require", "maybe", "--require", " YES.")
    assert done.err.splitlines()[-1] == "As required: yes"
    decided = cli.json("show", "s")["choice"]
    assert decided == "yes"
    for words, code, told in (
        (["--require", "yes"], 0, "As required: yes"),
        (["--require", "no", "--require", "maybe"], 6, "Not as required: decided was “yes”; required was: no, maybe"),
        (["--require", "y"], 6, "Not as required"),
        (["--require", " . "], 2, "--require: expected a choice"),
    ):
        done = cli("show", "s", *words, code=code)
        assert told in done.err.splitlines()[-1]
        if code != 2:
            assert done.out == cli("show", "s").out
            assert cli.json("show", "s", *words, code=code) == cli.json("show", "s")


def test_what_is_not_decided_is_no_approval(cli: Cli) -> None:
    """G-1: 3 while it waits, 4 when it ended without a decision, each with a line why."""
    cli("run", QUESTION, "--seat", "eve=mailbox", "--seat", "ada=mailbox", "--session", "w", "--require", "yes", code=3)
    assert cli("show", "w", "--require", "yes", code=3).err.startswith("Not decided yet: ")
    assert "Not decided yet" in cli("resume", "w", "--require", "yes", code=3).err
    cli("cancel", "w")
    assert cli("show", "w", "--require", "yes", code=4).err == "Not decided: cancelled\n"
    sorry = {"type": "propose", "text": "I'm sorry, but I can't assist with that.", "choice": "yes"}
    refusing = write_script(cli.cwd / "refusing.toml", {seat: {"propose": [sorry] * 2} for seat in "ab"})
    done = cli("run", "Which?", *seat_words(refusing, "ab"), "--protocol", "debate", "--require", "yes", code=4)
    assert done.err.splitlines()[-1] == "Not decided: nothing proposed"


def test_what_could_never_be_decided_is_refused_before_anything_is_recorded(cli: Cli) -> None:
    """G-1: a misspelt choice is wrong usage, not a meeting that fails for ever."""
    done = cli("run", QUESTION, *ACCORD, "--option", "yes", "--option", "no", "--require", "yse", code=2)
    assert "--require 'yse': not one of the options: yes, no" in done.err
    consult = ["consult", "--from", "a", "--to", "b", "--seat", "b=mailbox", "Why?"]
    assert "decides nothing" in cli(*consult, "--require", "yes", code=2).err
    table = ["roundtable", "new", "t", "Which?", "--role", "a", "--role", "b"]
    assert "moot roundtable relay" in cli(*table, "--require", "yes", code=2).err
    assert cli("list").out == ""


def test_every_protocol_gates_and_gives_the_published_shape(cli: Cli) -> None:
    """G-1: what was decided, word for word, is required with 0 and anything else with 6; the JSON fits `moot schema decision`."""
    schema = json.loads(cli("schema", "decision").out)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for name in (demo.name for demo in list_demos("en")):
        shown = cli.json("demo", name, "--fast", "--require", "nothing of the kind", code=6)
        assert list(validator.iter_errors(shown)) == []
        cli("show", shown["sessionId"], "--require", shown["choice"])
    pipeline = cli.json("demo", "pipeline", "--fast", "--require", "completed")
    cli("show", pipeline["sessionId"], "--require", "rejected", code=6)
    cancelled = {**cli.json("show", pipeline["sessionId"]), "status": "?"}
    assert [error.json_path for error in validator.iter_errors(cancelled)] == ["$.status"]
