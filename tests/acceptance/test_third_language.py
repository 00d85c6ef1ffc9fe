"""A third language is files and no code: German has words for some texts, and English for the rest."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.acceptance.doors import Cli
from tests.acceptance.server import Refused, Server

from moothall.locale.texts import list_offered_languages


def test_a_meeting_in_german_has_german_headings_and_english_where_words_are_missing(
    cli: Cli,
) -> None:
    """M-11"""
    played = cli("demo", "persona", "--language", "de", "--pace", "fast", "--session", "s").out
    # No German words yet.
    assert "\nDecided by 4 of 5, Theo against: " in played
    assert (
        "1 · Jonas · All four large customers hear it from me" in cli("show", "s", "--report").out
    )
    figures = cli("show", "s", "--figures").out
    assert "Geschrieben von: Mara" in figures
    assert "Beendet durch: the decider found that enough was said" in figures
    minutes = cli("export", "s", "minutes").out
    assert [
        head
        for head in ("## Entscheidung", "## Plätze", "## Verlauf", "## Kosten")
        if head not in minutes
    ] == []
    page = cli("export", "s", "html").out
    assert '<html lang="de">' in page


def test_prompts_without_a_translation_are_english(cli: Cli) -> None:
    cli(
        "run",
        "Ist es soweit?",
        "--language",
        "de",
        "--seat",
        "ada=mailbox",
        "--seat",
        "bob=mailbox",
        "--session",
        "s",
        code=3,
    )
    assert "# Question (#1)\n> Ist es soweit?" in cli("asks", "s").out


def test_a_language_without_words_is_refused_with_the_list(cli: Cli) -> None:
    listed = ", ".join(map(repr, list_offered_languages()))
    assert f"'xx' is not one of {listed}" in cli("demo", "persona", "--language", "xx", code=2).err
    with (
        Server(cli) as server,
        pytest.raises(
            Refused,
            match=f"language = 'xx'; expected one of: {', '.join(list_offered_languages())}",
        ),
    ):
        server.local("moot.listDemos", language="xx")


def run_new(cli: Cli, *words: str, **environ: str) -> str:
    """What a process of its own prints: it reads the variables as it starts."""
    program = [sys.executable, "-m", "moothall", *words]
    done = subprocess.run(
        program, env={**cli.environ, **environ}, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_a_language_with_few_texts_is_offered_to_nobody_who_does_not_ask_for_it(cli: Cli) -> None:
    """M-11: neither in help, nor by completion, nor because a terminal speaks it; `MOOT_LANGUAGES` shows it."""
    for command in ("run", "demo", "bench", "panel", "consult"):
        assert "[en|zh]" in run_new(cli, command, "--help")
    completed = {
        "_MOOT_COMPLETE": "bash_complete",
        "COMP_WORDS": "moot run --language ",
        "COMP_CWORD": "3",
    }
    assert run_new(cli, **completed).split() == ["plain,en", "plain,zh"]
    shown = {"MOOT_LANGUAGES": "de"}
    assert "[de|en|zh]" in run_new(cli, "run", "--help", **shown)
    assert run_new(cli, **completed, **shown).split() == ["plain,de", "plain,en", "plain,zh"]


def test_a_terminal_in_it_is_answered_in_english_until_the_user_names_it(
    cli: Cli, tmp_path: Path
) -> None:
    """M-11"""
    plays = ("demo", "--list")
    assert run_new(cli, *plays, LC_ALL="de_DE.UTF-8") == run_new(cli, *plays, LC_ALL="C.UTF-8")
    settings = {"MOOT_CONFIG": str(tmp_path / "config.toml")}
    run_new(cli, "config", "set", "language", "de", **settings)
    run_new(cli, "demo", "persona", "--fast", **settings)
    assert "Geschrieben von: Mara" in run_new(cli, "show", "last", "--figures", **settings)


def test_the_calls_of_a_server_do_not_offer_it_and_take_it(cli: Cli) -> None:
    """M-11: a client picks from what the schema lists; who knows the language names it."""
    with Server(cli) as server:
        methods = {
            each["name"]: each for each in server.local.get("/openrpc.json").json()["methods"]
        }
        for name in ("moot.listDemos", "moot.openSession"):
            params = {each["name"]: each["schema"] for each in methods[name]["params"]}
            assert "'de'" not in str(params["language"])
            assert "'zh'" in str(params["language"])
        opening = server.local("moot.getOpening")
        choices = [each["choices"] for each in opening["options"] if each["name"] == "language"]
        assert choices == [["en", "zh"]]
        seats = ["ada", "bob"]
        opened = server.local("moot.openSession", topic="Jetzt?", language="de", seats=seats)
        view = server.local("moot.getView", sessionId=opened["sessionId"])
        assert view["language"] == "de"
