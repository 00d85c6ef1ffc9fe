"""Programs that the relay wakes: what they are told, in the project's folder (R-10)."""

import json
from pathlib import Path

import pytest
from tests.acceptance.doors import Cli

from moothall.domain.safe_text import quote_user

TRICKS = 'Ship "it"? $(touch tricked) `touch tricked`; touch tricked > tricked\n--version\n-rf /\n\'\\ {prompt} {session} 发布吗？'
SPEECH = r"printf '## Stance\nYes.\n## Analysis\nIt is small.\n## Response and questions\nNone.\n'"
MINUTES = r"printf '## Summary\nShort.\n'"


def agent(folder: Path, name: str, way: str, answer: str) -> str:
    """The platform of a program that keeps what it is told beside its recipe, numbered, and gives its answer."""
    told = f"told=$(printf '%s_%s' {folder / name} $(ls {folder} | grep -c '{name}_'))"
    keep = 'printf %s "$1" > "$told"' if way == "argument" else 'cat > "$told"'
    argv = [
        "sh",
        "-c",
        f"{told}; {keep}; {answer}",
        "sh",
        *(["{prompt}"] if way == "argument" else []),
    ]
    words = "" if way == "argument" else 'words = "{prompt}"\n'
    (folder / f"{name}.toml").write_text(f"argv = {json.dumps(argv)}\n{words}", encoding="utf-8")
    return f"{name}=command:{folder / name}.toml"


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    folder = tmp_path / "recipes"
    folder.mkdir()
    return folder


def files(cli: Cli) -> list[str]:
    return sorted(path.name for path in (cli.cwd / ".roundtable" / "ship").glob("*.md"))


@pytest.mark.parametrize("way", ["argument", "standard input"])
def test_a_woken_program_is_told_all_that_it_needs_to_speak(
    cli: Cli, recipes: Path, way: str
) -> None:
    """R-5, R-10: the sentence first, then the agenda, the last speeches and the user's word; tricks in them do nothing."""
    ada, bob = (agent(recipes, name, way, SPEECH) for name in ("ada", "bob"))
    moderator = agent(recipes, "moderator", way, MINUTES).partition("=")[2]
    words = [
        "--role",
        ada,
        "--role",
        bob,
        "--moderator",
        moderator,
        "--rounds",
        "2",
        "--language",
        "en",
    ]
    new = cli.json("roundtable", "new", "ship", TRICKS, *words)
    cli("input", new["sessionId"], "The budget is halved.")
    found = cli.json("roundtable", "relay", "ship")
    assert (found["turn"]["status"], found["skipped"], found["damage"]) == ("closed", [], [])
    assert files(cli) == [
        "001_ada.md",
        "002_bob.md",
        "003_ada.md",
        "004_bob.md",
        "AGENDA.md",
        "INPUT_001.md",
        "MINUTES.md",
    ]
    first, second, last = (
        (recipes / name).read_text() for name in ("ada_0", "bob_1", "moderator_0")
    )
    assert first.startswith(
        "Read .roundtable/GUIDE.md and join the conference ship as ada. Your instructions are: Open the"
    )
    assert last.startswith(
        "Read .roundtable/GUIDE.md and conclude the conference ship as its moderator. Your instructions are: "
    )
    assert all(quote_user(TRICKS) in told for told in (first, second, last))
    assert "> The budget is halved." in first
    assert "[003 ada, round 2]\n| ## Stance\n| Yes." in second
    assert all(f"[00{number} " in last for number in (1, 2, 3, 4))
    assert [path for path in cli.cwd.rglob("*") if path.name == "tricked"] == []


def test_a_long_record_does_not_keep_a_program_from_being_woken(cli: Cli, recipes: Path) -> None:
    """R-10: one that takes its prompt as an argument gets as much as an argument holds."""
    (cli.cwd / "agenda.md").write_text("缓存" * 24_000, encoding="utf-8")
    ada = agent(recipes, "ada", "argument", SPEECH)
    moderator = agent(recipes, "moderator", "argument", MINUTES).partition("=")[2]
    words = [
        "--role",
        ada,
        "--moderator",
        moderator,
        "--rounds",
        "1",
        "--language",
        "zh",
        "--agenda",
        "agenda.md",
    ]
    cli("roundtable", "new", "ship", "用哪种缓存？", *words)
    assert cli.json("roundtable", "relay", "ship")["skipped"] == []
    told = (recipes / "ada_0").read_text()
    assert told.startswith(
        "请阅读 .roundtable/GUIDE.md 并以 ada 的身份加入 ship 会议。你的指示是: "
    )
    assert 110_000 < len(told.encode()) <= 120_000
    assert files(cli) == ["001_ada.md", "AGENDA.md", "MINUTES.md"]


def test_a_recipe_is_found_from_where_the_command_runs(cli: Cli, recipes: Path) -> None:
    agent(recipes, "ada", "standard input", SPEECH)
    agent(recipes, "moderator", "standard input", MINUTES)
    words = [
        "--role",
        "ada=command:recipes/ada.toml",
        "--moderator",
        "command:recipes/moderator.toml",
        "--rounds",
        "1",
    ]
    cli("roundtable", "new", "ship", "Ship it?", *words)
    cli("roundtable", "relay", "ship")
    assert files(cli) == ["001_ada.md", "AGENDA.md", "MINUTES.md"]
