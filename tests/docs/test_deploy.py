"""N-6: the files of deploy/ start what exists, with options that it takes, and hold no secret."""

import re
import shlex
from pathlib import Path

import click
import pytest

from moothall.surfaces.cli.main import main

FOLDER = Path(__file__).resolve().parents[2] / "deploy"


def list_commands() -> list[tuple[str, list[str]]]:
    found = []
    for path in sorted(each for each in FOLDER.iterdir() if each.is_file()):
        text = path.read_text(encoding="utf-8").replace("%i", "8761")
        found += [
            (path.name, shlex.split(line))
            for line in re.findall(r"^ExecStart=\S+/moot (.+)$", text, re.MULTILINE)
        ]
        found += [
            (path.name, re.findall(r'"([^"]+)"', line))
            for line in re.findall(r'command: \["moot", (.+)\]$', text, re.MULTILINE)
        ]
    return found


@pytest.mark.parametrize(("name", "words"), list_commands())
def test_a_command_of_a_deployment_is_one_that_moot_takes(name: str, words: list[str]) -> None:
    found, command, rest = main.resolve_command(click.Context(main), words)
    assert command is not None
    assert found in {"serve", "worker", "again"}
    command.make_context(found, rest)


def test_every_way_has_a_server_that_only_wakes_and_workers() -> None:
    commands = list_commands()
    for names in ({"compose.yaml"}, {"moot-server.service", "moot-worker@.service"}):
        words = [words for name, words in commands if name in names]
        assert sorted(each[0] for each in words) == ["serve", "worker"]
        assert all("--workers" in each for each in words if each[0] == "serve")


def test_secrets_come_from_outside() -> None:
    for path in (each for each in FOLDER.rglob("*") if each.is_file() and each.suffix != ".pyc"):
        text = path.read_text(encoding="utf-8")
        for name, value in re.findall(
            r"^\s*(?:Environment=)?(\w*(?:PASSWORD|KEY|SECRET)\w*)[:=] *(\S+)", text, re.MULTILINE
        ):
            assert value.startswith("${"), (path.name, name)
