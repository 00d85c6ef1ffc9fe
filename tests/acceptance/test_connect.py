"""`moot connect`: Moot in the settings of every coding agent, and out again."""

import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from tests.acceptance.doors import Cli, Item, held, write_script
from tests.acceptance.mcp_doors import plain, refused

from moothall.surfaces.invitations.agent_clients import CLIENTS
from moothall.surfaces.invitations.settings_edit import parse_json

JSON_CLIENTS = [key for key, client in CLIENTS.items() if client.form == "json"]
COMMENTED = """\
// My settings; keep them.
{
  "theme": "dark", /* at night */
  "PLACE": {
    // somebody else's
    "other": { "url": "https://other.example/mcp" }, // stays
  },
  "last": [1, 2], // the end
}
"""


def settings_of(cli: Cli, client: str) -> Path:
    """Where the client's settings are: the user's, or the project's where it knows no others."""
    rows = cli.json("connect")
    return Path(next(row["settings"] for row in rows if row["client"] == client))


def read_entry(client: str, path: Path) -> Any:
    text = path.read_text(encoding="utf-8")
    if CLIENTS[client].form == "yaml":
        return dict(line.strip(" -").split(": ", 1) for line in text.splitlines() if ": " in line)
    value: Any = tomllib.loads(text) if CLIENTS[client].form == "toml" else parse_json(text)
    for key in (*CLIENTS[client].place, "moot"):
        value = value[key]
    return value


@pytest.fixture
def home(tmp_path: Path) -> Cli:
    """A user without any variable that moves a client's folder."""
    return Cli(tmp_path / "moot", tmp_path)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_without_settings_is_connected_and_left_without_a_trace(
    home: Cli, client: str
) -> None:
    """D-5: the settings and the command are written; --undo removes them and the folders that were made for them."""
    before = sorted(home.cwd.rglob("*"))
    done = home("connect", client, "--yes")
    path = settings_of(home, client)
    assert f"wrote {path}" in done.out
    assert "+++ " in done.out
    entry = read_entry(client, path)
    assert "mcp" in json.dumps(entry)
    assert str(home.home) in json.dumps(entry)
    written = [each for each in home.cwd.rglob("moot*/*") if each.name == "SKILL.md"] + [
        *home.cwd.rglob("moot*.*")
    ]
    commands = [each for each in written if each != path]
    assert any("open_session" in each.read_text(encoding="utf-8") for each in commands), written
    assert next(row for row in home.json("connect") if row["settings"] == str(path))["connected"]
    assert "is connected already" in home("connect", client, "--yes").out
    home("connect", client, "--undo", "--yes")
    assert [
        each for each in sorted(home.cwd.rglob("*")) if home.home not in (each, *each.parents)
    ] == before


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_json_keeps_its_comments_and_every_other_setting(home: Cli, client: str) -> None:
    """D-5: byte for byte beside the new entry, and byte for byte again after --undo."""
    path = settings_of(home, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = COMMENTED.replace("PLACE", CLIENTS[client].place[0])
    path.write_text(text, encoding="utf-8")
    path.chmod(0o640)
    home("connect", client, "--yes")
    after = path.read_text(encoding="utf-8")
    lines = iter(after.splitlines())
    assert all(line in lines for line in text.splitlines()), after
    value = parse_json(after)
    moot = value[CLIENTS[client].place[0]].pop("moot")
    assert "mcp" in json.dumps(moot)
    assert value == parse_json(text)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    home("connect", client, "--undo", "--yes")
    assert path.read_text(encoding="utf-8") == text


def test_toml_keeps_its_comments_and_every_other_setting(home: Cli) -> None:
    """D-5: an entry of the same name is replaced with its tables, and comes back after --undo."""
    path = settings_of(home, "codex")
    path.parent.mkdir(parents=True)
    text = (
        '# mine\nmodel = "m" # best\n\n[mcp_servers.moot]\nurl = "http://old"\n[mcp_servers.moot.http_headers]\nA = "b"\n\n'
        '[mcp_servers.other]\ncommand = "x"\n'
    )
    path.write_text(text, encoding="utf-8")
    home("connect", "codex", "--yes")
    assert home.home.stat().st_mode & 0o077 == 0
    after = path.read_text(encoding="utf-8")
    assert '# mine\nmodel = "m" # best\n' in after
    found = tomllib.loads(after)
    assert found["mcp_servers"]["other"] == {"command": "x"}
    assert found["mcp_servers"]["moot"]["required"] is True
    assert "url" not in found["mcp_servers"]["moot"]
    home("connect", "codex", "--undo", "--yes")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_what_was_changed_since_stays_when_it_is_undone(home: Cli, client: str) -> None:
    """D-5: then only Moot's entry goes; a command that the user has edited stays."""
    path = settings_of(home, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{\n  "a": 1\n}\n' if client == "claude" else "a = 1\n", encoding="utf-8")
    home("connect", client, "--yes")
    more = (
        path.read_text(encoding="utf-8")
        .replace('"a": 1', '"a": 1,\n  "b": 2')
        .replace("a = 1", "a = 1\nb = 2")
    )
    path.write_text(more, encoding="utf-8")
    (skill,) = home.cwd.rglob("SKILL.md")
    skill.write_text("my own\n", encoding="utf-8")
    done = home("connect", client, "--undo", "--yes")
    text = path.read_text(encoding="utf-8")
    found = parse_json(text) if client == "claude" else tomllib.loads(text)
    assert {key: found[key] for key in ("a", "b")} == {"a": 1, "b": 2}
    assert "moot" not in text
    assert skill.read_text(encoding="utf-8") == "my own\n"
    assert f"{skill} was changed since; it is left as it is" in done.err


def test_connected_twice_it_goes_back_to_what_was_there_before_the_first_time(home: Cli) -> None:
    """D-5"""
    path = settings_of(home, "gemini")
    path.parent.mkdir()
    path.write_text("{}\n", encoding="utf-8")
    home("connect", "gemini", "--yes")
    home("connect", "gemini", "--yes", "--url", "http://127.0.0.1:9", "--token", "moot_x_y")
    assert read_entry("gemini", path)["headers"] == {"Authorization": "Bearer moot_x_y"}
    home("connect", "gemini", "--undo", "--yes")
    assert path.read_text(encoding="utf-8") == "{}\n"
    assert "was not connected here" in home("connect", "gemini", "--undo", "--yes", code=2).err


@pytest.mark.parametrize(
    ("client", "text", "told"),
    [
        ("claude", '{"a": }', "it is not valid JSON: line 1: expecting value"),
        ("claude", "[]", "it is not a JSON object"),
        ("cursor", '{"mcpServers": 3}', "'mcpServers' is not an object there"),
        ("codex", "a = ", "it is not valid TOML"),
        (
            "codex",
            'mcp_servers = { other = { command = "x" } }\n',
            "it cannot be changed without touching other settings",
        ),
    ],
)
def test_settings_that_cannot_be_parsed_are_refused_and_left_alone(
    home: Cli, client: str, text: str, told: str
) -> None:
    """D-6: one sentence with the file and the line; nothing is written, no command either."""
    path = settings_of(home, client)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    done = home("connect", client, "--yes", code=2)
    assert done.err.startswith(f"moot: {path}: {told}")
    assert done.err.count("\n") == 1
    assert path.read_text(encoding="utf-8") == text
    assert list(home.cwd.rglob("SKILL.md")) == []


def test_a_read_only_file_is_left_alone(home: Cli) -> None:
    """D-6: its owner has made it so on purpose."""
    path = settings_of(home, "claude")
    path.write_text("{}\n", encoding="utf-8")
    path.chmod(0o444)
    done = home("connect", "claude", "--yes", code=1)
    assert done.err == f"moot: {path} is read-only; nothing was changed\n"
    assert path.read_text(encoding="utf-8") == "{}\n"
    assert list(home.cwd.rglob("SKILL.md")) == []


def test_without_a_terminal_it_asks_for_a_yes(home: Cli) -> None:
    """D-6: the change is shown, nothing is written."""
    done = home("connect", "opencode", code=2)
    assert "+++ " in done.out
    assert "confirm it with --yes" in done.err
    assert not settings_of(home, "opencode").exists()


def test_a_project_has_settings_of_its_own_where_the_client_knows_them(home: Cli) -> None:
    """D-5: with a warning where a token stands in them; a client that has none says so."""
    done = home(
        "connect",
        "vscode",
        "--project",
        "--yes",
        "--url",
        "http://127.0.0.1:9",
        "--token",
        "moot_a_secret",
    )
    path = home.cwd / ".vscode" / "mcp.json"
    assert json.loads(path.read_text(encoding="utf-8"))["servers"]["moot"]["headers"] == {
        "Authorization": "Bearer moot_a_secret"
    }
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "moot_a_secret" not in done.out + done.err
    assert f"{path} holds a token now: do not commit it" in done.err
    assert "nothing answers at http://127.0.0.1:9 now" in done.err
    assert (
        "has no settings of its own for a project"
        in home("connect", "copilot", "--project", "--yes", code=2).err
    )
    assert (
        "not the address of a server"
        in home("connect", "claude", "--url", "8760", "--yes", code=2).err
    )


def test_a_link_is_followed_and_line_ends_are_kept(home: Cli) -> None:
    """D-5: settings that live elsewhere stay there; those of Windows keep their line ends."""
    real = home.cwd / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_bytes(b'{\r\n  "a": 1\r\n}\r\n')
    path = settings_of(home, "claude")
    path.symlink_to(real)
    home("connect", "claude", "--yes")
    assert path.is_symlink()
    found = real.read_bytes()
    assert found.count(b"\n") == found.count(b"\r\n") > 5
    home("connect", "claude", "--undo", "--yes")
    assert real.read_bytes() == b'{\r\n  "a": 1\r\n}\r\n'


def test_what_is_written_starts_moot_and_a_panel_decides(home: Cli, tmp_path: Path) -> None:
    """D-5: "ask the panel whether …": the steps of the skill, with the tools that the agent is shown."""
    said: dict[str, list[Item]] = {
        "propose": [{"type": "propose", "text": "Ship.", "choice": "yes", "confidence": 0.7}],
        "argue": [{"type": "pass"}],
        "synthesize": [
            {"type": "synthesize", "text": "Ship on Monday.", "choice": "yes", "confidence": 0.7}
        ],
        "vote": [{"type": "vote", "position": "support", "confidence": 0.8}],
    }
    script = write_script(
        tmp_path / "talk.toml", dict.fromkeys(("for", "against", "mediator"), said)
    )
    home("connect", "cursor", "--yes")
    entry = read_entry("cursor", settings_of(home, "cursor"))
    environ = {"PATH": os.environ["PATH"], "HOME": str(home.cwd), **entry["env"]}
    parameters = StdioServerParameters(
        command=entry["command"], args=entry["args"], env=environ, cwd=str(home.cwd)
    )
    topic = {
        "topic": "Ship?",
        "protocol": "debate",
        "stakes": "high",
        "models": [script],
        "category": "",
    }

    async def work() -> None:
        async with Client(parameters, mode="auto") as client:
            shown = {tool.name for tool in (await client.list_tools()).tools}
            assert {"search_decisions", "open_session", "get_session", "review_decision"} <= shown
            assert (
                plain(
                    await client.call_tool("search_decisions", {"query": "ship", "category": ""})
                )["decisions"]
                == []
            )
            for panel in ("../duo", "duo.toml", "nobody"):
                told = refused(await client.call_tool("open_session", {**topic, "panel": panel}))
                assert "the panels are: architecture, board, default, duo" in told
            opened = plain(await client.call_tool("open_session", {**topic, "panel": "duo"}))
            session = {"sessionId": opened["sessionId"], "timeoutSeconds": 100}
            ended = plain(await client.call_tool("get_session", session))
            assert (ended["status"], ended["decision"]) == ("concluded", "Ship on Monday.")
            told = refused(await client.call_tool("get_session", {"sessionId": "nope"}))
            assert (
                told
                == f"no session is called 'nope'; the sessions are: {opened['sessionId']} (Ship?)"
            )

    held(work())
