"""Every example in the README and the docs runs, or at least is what the command line takes."""

import ast
import asyncio
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest
from tests.acceptance.doors import DEADLINE, Cli

import moothall
from moothall.app.panels import parse_panel
from moothall.features.pipeline.files import parse_pipeline
from moothall.participants.recipes import find_recipe
from moothall.surfaces.cli.arguments import SessionName
from moothall.surfaces.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "zh").glob("*.md")]
)
PACKAGES = frozenset({"writing-a-protocol.md", "writing-a-participant.md"})
"""Pages whose examples are packages: tests/docs/test_writing_plugins.py installs and runs them."""
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language: str) -> list[tuple[str, str]]:
    return [
        (page.name, found.group(2))
        for page in PAGES
        for found in _BLOCK.finditer(page.read_text(encoding="utf-8"))
        if found.group(1) == language
    ]


def commands() -> list[tuple[str, str]]:
    joined = [(page, block.replace("\\\n", " ")) for page, block in blocks("sh")]
    return [
        (page, line)
        for page, block in joined
        for line in block.splitlines()
        if line.startswith("moot ")
    ]


@pytest.mark.parametrize(
    ("page", "code"), [found for found in blocks("python") if found[0] not in PACKAGES]
)
def test_a_python_example_runs(page: str, code: str, tmp_path: Path) -> None:
    # It runs where all of Moot is loaded: a module that it did not import would be there, which is no public name.
    for node in ast.walk(ast.parse(code)):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "moothall"
        ):
            assert node.attr in moothall.__all__
    program = tmp_path / "example.py"
    program.write_text(code, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cli = Cli(
        tmp_path / "home",
        ROOT,
        HOME=str(tmp_path),
        PATH=path,
        PYTHONPATH=str(ROOT / "testkit" / "src"),
    )
    process = cli.spawn_program(program)
    out, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 0, err.decode()
    assert out
    # One example is about losses, and shows them.
    if "decision.lost" not in code:
        assert list_lost_seats(cli.home) == []


def list_lost_seats(home: Path) -> list[str]:
    """The sessions of an example with the seats that lost a turn there: one that ends well all the same hides it."""

    async def work() -> list[str]:
        environ = {"MOOT_HOME": str(home), "HOME": str(home)}
        async with moothall.Moot(environ=environ) as moot:
            return [
                f"{line.session}: {lost.seat}, {lost.why}"
                for line in await moot.sessions()
                for lost in (await moot.decision(line.session)).lost
            ]

    return asyncio.run(work())


@pytest.mark.parametrize(("page", "line"), commands())
def test_a_command_in_the_docs_is_one_that_moot_takes(
    page: str, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Which session is the last one is not asked here: there is none.
    monkeypatch.setattr(SessionName, "convert", lambda self, value, param, ctx: value)
    words = shlex.split(line.partition(" >")[0], comments=True)[1:]
    name, command, rest = main.resolve_command(click.Context(main), words)
    assert command is not None
    assert name is not None
    command.make_context(name, rest)


def test_the_scripted_meeting_of_the_docs_is_held(tmp_path: Path) -> None:
    line = next(line for page, line in commands() if page == "scripts.md" and "script:" in line)
    environ = {**os.environ, "MOOT_HOME": str(tmp_path)}
    moot = [sys.executable, "-m", "moothall.surfaces.cli.main", *shlex.split(line)[1:]]
    done = subprocess.run(
        moot, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "Ship on Friday at ten" in done.stdout


def test_the_panel_of_the_docs_is_one() -> None:
    text = next(block for page, block in blocks("toml") if page == "panels.md")
    assert tomllib.loads(text)
    assert [seat.id for seat in parse_panel(text, "the docs", Path()).seats] == ["ops", "lead"]


def test_the_pipeline_of_the_docs_is_one() -> None:
    """C-10"""
    text = next(block for page, block in blocks("toml") if page == "consultation.md")
    found = parse_pipeline(text, "the docs", Path())
    assert [agent.id for agent in found.agents] == ["modeler", "validator"]
    assert "@modeler (what a rejection is about)" in found.agents[1].instructions


def test_the_search_of_the_docs_is_a_recipe(tmp_path: Path) -> None:
    """S-27"""
    path = tmp_path / "search.toml"
    path.write_text(
        next(block for page, block in blocks("toml") if page == "swarm.md"), encoding="utf-8"
    )
    assert find_recipe(str(path)).argv == ("my-search", "--plain")


def test_the_docs_name_every_command() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [
        name for name in main.commands if f"`{name}" not in page and f"`{name} " not in page
    ] == []


def test_every_public_name_of_the_top_module_stands_in_an_example() -> None:
    """In Python that runs as a test or, where it would never end, in a block to read."""
    examples = "\n".join(code for language in ("python", "py") for _, code in blocks(language))
    assert [name for name in moothall.__all__ if not re.search(rf"\b{name}\b", examples)] == []


def test_every_link_in_the_docs_leads_somewhere() -> None:
    links = [
        (page, link)
        for page in PAGES
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8"))
        if not (page.parent / link).exists()
    ]
    assert links == []
