"""What `moot invite` prints for each coding agent: whole command lines, entries in their form, and what to know (D-5)."""

import json
import shlex
import tomllib

import pytest

from moothall.surfaces.invitations.agent_clients import (
    ALL_CLIENTS,
    CLIENTS,
    Door,
    render_entry,
    render_invitation,
)

HTTP = Door.over_http("http://127.0.0.1:8760", "moot_a_b")
STDIO = Door(program="/bin/moot", environ={"MOOT_TOKEN": "moot_a_b"})
PROMPT = "Take the seat 'ada', then $(stop) \"here\"."


@pytest.mark.parametrize("key", ALL_CLIENTS)
@pytest.mark.parametrize("door", [HTTP, STDIO], ids=["http", "stdio"])
def test_an_entry_is_whole_in_the_form_of_its_client(key: str, door: Door) -> None:
    """D-5: the address or the program, and the token, where that client looks for them."""
    client = ALL_CLIENTS[key]
    text = render_entry(key, client, door)
    assert "moot_a_b" in text
    assert (door.url or door.program) in text
    if key != "claude" and client.form == "json":
        value = json.loads(text)
        for name in (*client.place, "moot"):
            value = value[name]
        assert value == client.build_entry(door)
    if client.form == "toml":
        assert tomllib.loads(text)["mcp_servers"]["moot"] == client.build_entry(door)


@pytest.mark.parametrize("key", [key for key, client in ALL_CLIENTS.items() if client.headless])
def test_a_headless_line_gives_the_prompt_as_one_argument(key: str) -> None:
    """D-5: whatever it holds, a shell hands it on as it is."""
    words = shlex.split(ALL_CLIENTS[key].build_headless(PROMPT))
    assert words.count(PROMPT) == 1
    assert words[0].startswith(
        ("cursor" if key == "cursor" else "cn" if key == "continue" else key)[:4]
    )


def test_the_line_for_qwen_code_names_its_prompt_by_an_option() -> None:
    """D-5: it takes nothing after `--`."""
    words = shlex.split(ALL_CLIENTS["qwen"].build_headless(PROMPT))
    assert words[-2:] == ["-p", PROMPT]


def test_the_file_that_the_command_line_of_continue_reads_is_named() -> None:
    """D-5"""
    assert "~/.continue/config.yaml" in render_invitation("t", HTTP, PROMPT, agent="continue")


def test_copilot_is_not_promised_the_keys_of_its_environment() -> None:
    """D-5: it hands none on to a program; a server has its own."""
    assert "moot serve" in render_invitation("t", STDIO, PROMPT, agent="copilot")
    assert "keys of model" not in render_invitation("t", HTTP, PROMPT, agent="copilot")


def test_an_invitation_for_all_names_those_that_are_printed_on_request() -> None:
    """D-5"""
    text = render_invitation("t", HTTP, PROMPT, agent=None)
    assert all(client.title in text for client in CLIENTS.values())
    assert "with --for also: amp, cline, crush, generic, goose, jetbrains, zed" in text
