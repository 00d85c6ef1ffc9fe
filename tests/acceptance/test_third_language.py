"""A third language is files and no code: German has words for some texts, and English for the rest."""

import pytest
from tests.acceptance.doors import Cli
from tests.acceptance.server import Refused, Server

from moothall.locale.texts import list_languages


def test_a_meeting_in_german_has_german_headings_and_english_where_words_are_missing(
    cli: Cli,
) -> None:
    """M-11"""
    played = cli("demo", "persona", "--language", "de", "--pace", "fast", "--session", "s").out
    assert "Geschrieben von: Mara" in played
    assert "1 · Jonas · All four large customers hear it from me" in played
    # No German words yet.
    assert "Beendet durch: the decider found that enough was said" in played
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
    assert "# The question\n| Ist es soweit?" in cli("asks", "s").out


def test_a_language_without_words_is_refused_with_the_list(cli: Cli) -> None:
    listed = ", ".join(map(repr, list_languages()))
    assert f"'xx' is not one of {listed}" in cli("demo", "persona", "--language", "xx", code=2).err
    with (
        Server(cli) as server,
        pytest.raises(
            Refused, match=f"language = 'xx'; expected one of: {', '.join(list_languages())}"
        ),
    ):
        server.local("moot.listDemos", language="xx")
