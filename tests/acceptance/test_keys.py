"""Keys of providers are entered once, seen by nobody, and read after the environment (L-5)."""

from pathlib import Path

import pytest
from tests.acceptance.doors import Cli, Terminal

SECRET = "sk-test-4711-not-a-real-one"


def test_a_key_is_stored_where_only_its_owner_reads_it(cli: Cli) -> None:
    """L-5"""
    assert "no key is set" in cli("keys").err
    stored = cli("keys", "set", "openai", stdin=f"{SECRET}\n")
    assert "OPENAI_API_KEY is stored" in stored.out
    path = cli.home / "keys.toml"
    assert path.stat().st_mode & 0o077 == 0
    assert SECRET in path.read_text()
    listed = cli.json("keys", "list")
    assert listed == [{"provider": "openai", "variable": "OPENAI_API_KEY", "place": "stored"}]
    assert SECRET not in stored.out + stored.err + cli("keys").out
    # A model of that provider is planned now; whether its server can be reached is another question.
    assert "openai:gpt-5-mini" in cli("run", "Ship?", "--dry-run", code=None).out
    assert "OPENAI_API_KEY is stored no longer" in cli("keys", "forget", "openai").err
    assert "no key of openai is stored" in cli("keys", "forget", "openai").err
    assert cli.json("keys", "list") == []


def test_a_variable_of_the_environment_counts_more(tmp_path: Path) -> None:
    """L-5"""
    cli = Cli(tmp_path / "home", tmp_path, GEMINI_API_KEY="from-outside")
    cli("keys", "set", "google", stdin="stored-one\n")
    cli("keys", "set", "mistral", stdin="another\n")
    assert cli.json("keys", "list") == [
        {"provider": "google", "variable": "GEMINI_API_KEY", "place": "environment"},
        {"provider": "mistral", "variable": "MISTRAL_API_KEY", "place": "stored"},
    ]


@pytest.mark.parametrize(
    ("words", "given", "said"),
    [
        (["set", "nobody"], "x\n", "'nobody' is no provider with a key; expected one of: openai"),
        (["set", "ollama"], "x\n", "'ollama' is no provider with a key"),
        (["set", "openai"], "", "that is no key: expected one word"),
        (["set", "openai"], "two words\n", "that is no key"),
        (["set", "openai"], "schlüssel\n", "that is no key"),
        (["set", "openai"], "x" * 1_001, "that is no key"),
        (["forget", "../../etc"], "", "is no provider with a key"),
    ],
)
def test_what_is_no_key_is_refused_and_nothing_is_stored(
    cli: Cli, words: list[str], given: str, said: str
) -> None:
    """L-5"""
    assert said in cli("keys", *words, stdin=given, code=2).err
    assert not (cli.home / "keys.toml").exists()


def test_a_file_of_keys_that_others_can_read_is_not_used(cli: Cli) -> None:
    """L-5: a sentence says what to do."""
    cli("keys", "set", "openai", stdin=f"{SECRET}\n")
    path = cli.home / "keys.toml"
    path.chmod(0o644)
    refused = cli("keys", code=2)
    assert f"other users can read {path}" in refused.err
    path.chmod(0o600)
    path.write_text("OPENAI_API_KEY = [1\n")
    assert "is not valid TOML" in cli("keys", code=2).err


def test_whoever_has_no_model_is_asked_for_a_key_at_a_terminal(cli: Cli) -> None:
    """L-5: typed unseen; a slip is said and asked again; Enter alone asks nothing more."""
    with Terminal(cli, "run", "Ship on Friday?") as terminal:
        terminal.wait_for("Enter a key now?")
        terminal.type("nobody\n")
        terminal.wait_for("is no provider with a key")
        terminal.type("\n")
        assert terminal.ended() == 2
    with Terminal(cli, "run", "Ship on Friday?") as terminal:
        terminal.wait_for("Enter a key now?")
        terminal.type("\x04")
        assert terminal.ended() == 2
        assert b"Aborted" not in terminal.raw
    assert not (cli.home / "keys.toml").exists()
    with Terminal(cli, "run", "Ship on Friday?", "--dry-run") as terminal:
        terminal.wait_for("No model is set up.")
        assert terminal.ended() == 2
    with Terminal(cli, "run", "Ship on Friday?") as terminal:
        terminal.wait_for("Enter a key now?")
        terminal.type("openai\n")
        terminal.wait_for("OPENAI_API_KEY:")
        terminal.type(f"{SECRET}\n")
        terminal.wait_for("OPENAI_API_KEY is stored")
        # Without a network, or with a key that nobody issued, the meeting itself cannot begin.
        assert terminal.ended() != 0
        assert SECRET.encode() not in terminal.raw
    assert SECRET in (cli.home / "keys.toml").read_text()
