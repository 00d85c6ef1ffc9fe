"""What `moot invite` prints is followed: by protocol, by client, over HTTP and over stdio."""

import asyncio
import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from tests.acceptance.doors import Cli, held
from tests.acceptance.mcp_doors import Json, Server, plain, sdk, serving
from tests.acceptance.outside_agents.obedient_agent import find_tools, follow_prompt

from moothall.surfaces.api.toolsets import MAX_TOKENS, MAX_TOOLS, estimate_tokens
from moothall.surfaces.invitations.agent_clients import CLIENTS

RUNS: dict[str, tuple[str, ...]] = {
    "persona": ("--turns", "2"),
    "debate": ("--protocol", "debate", "--stakes", "high"),
    "roundtable": ("--protocol", "roundtable", "--set", "max_rounds=1"),
    "swarm": ("--protocol", "swarm", "--set", "max_rounds=1"),
    "consulting": ("--protocol", "debate", "--stakes", "high", "--consult"),
}
PROTOCOLS = [*RUNS, "conference"]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("invited")) as found:
        yield found


def opened(cli: Cli, protocol: str, session: str) -> tuple[str, list[str]]:
    """A session of a protocol for agents from outside: its id, and its seats."""
    if protocol == "conference":
        roles = ["--role", "ada", "--role", "bob"]
        found = cli.json("roundtable", "new", session, "Ship on Friday?", *roles, "--rounds", "1")
        return str(found["sessionId"]), ["ada", "bob", "moderator"]
    seats = ["ada", "bob", "moderator"] if protocol == "roundtable" else ["ada", "bob"]
    words = [word for seat in seats for word in ("--seat", f"{seat}=mailbox")]
    cli(
        "run",
        "Ship on Friday?",
        *words,
        *RUNS[protocol],
        "--session",
        session,
        "--language",
        "en",
        code=3,
    )
    return session, seats


def read_door(client: str, text: str) -> dict[str, Any]:
    """The address and headers, or the command and environment, that a client would read in its settings."""
    if client == "claude":
        words = shlex.split(text)
        if "--" in words:
            at = words.index("--")
            environ = dict(
                words[n + 1].split("=", 1) for n, word in enumerate(words[:at]) if word == "-e"
            )
            return {"command": words[at + 1], "args": words[at + 2 :], "env": environ}
        url = next(word for word in words if word.startswith("http://"))
        name, _, value = words[words.index("--header") + 1].partition(": ")
        return {"url": url, "headers": {name: value}}
    if client == "continue":
        lines = dict(line.strip(" -").split(": ", 1) for line in text.splitlines() if ": " in line)
        entry = {
            name: json.loads(lines[name])
            for name in ("url", "requestOptions", "command", "args", "env")
            if name in lines
        }
        return {**entry, **entry.pop("requestOptions", {})}
    whole = tomllib.loads(text) if client == "codex" else json.loads(text)
    entry = whole[CLIENTS[client].place[0]]["moot"]
    command = entry.get("command")
    return {
        "url": entry.get("httpUrl", entry.get("url")),
        "headers": entry.get("headers", entry.get("http_headers")),
        "command": command[0] if isinstance(command, list) else command,
        "args": command[1:] if isinstance(command, list) else entry.get("args"),
        "env": entry.get("env", entry.get("environment")),
    }


def read_parts(text: str) -> tuple[str, str, str]:
    """An invitation for one client: its settings, the prompt, the command line without a terminal."""
    settings, prompt, headless = (part.partition("\n")[2].strip() for part in text.split("── ")[1:])
    return settings, prompt, headless


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_clients_invitation_names_tools_that_its_token_is_shown_and_that_work(
    server: Server, protocol: str
) -> None:
    """D-5, D-6: each client reaches the server by what was printed for it; few tools, few tokens, and the first one answers."""
    session, seats = opened(server.cli, protocol, f"every-{protocol}")

    async def work(client: str, door: Json, prompt: str) -> None:
        token = door["headers"]["Authorization"].removeprefix("Bearer ")
        async with sdk(server, "auto", token) as reached:
            tools = (await reached.list_tools()).tools
            assert find_tools(prompt) <= {tool.name for tool in tools}, client
            assert len(tools) <= MAX_TOOLS
            sent = [
                tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools
            ]
            assert estimate_tokens(sent) <= MAX_TOKENS
            first = next(
                word for word in re.findall(r"\w+", prompt) if word in {tool.name for tool in tools}
            )
            plain(await reached.call_tool(first, {}))

    for client in CLIENTS:
        text = server.cli(
            "invite", session, "--seat", seats[0], "--for", client, "--url", server.url
        ).out
        assert f"moot serve answers at {server.url}" in text
        settings, prompt, headless = read_parts(text)
        door = read_door(client, settings)
        assert door["url"] == server.mcp
        assert (shlex.split(headless).count(prompt) == 1) == bool(CLIENTS[client].headless)
        held(work(client, door, prompt))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_agents_that_follow_the_prompt_hold_the_session_over_http(
    server: Server, protocol: str
) -> None:
    """D-5: word for word, with nothing but the tools that it names, from the first call to the end."""
    session, seats = opened(server.cli, protocol, f"http-{protocol}")

    texts = [
        server.cli("invite", session, "--seat", seat, "--for", "codex", "--url", server.url).out
        for seat in seats
    ]

    async def follow(text: str) -> Json:
        settings, prompt, _ = read_parts(text)
        token = read_door("codex", settings)["headers"]["Authorization"].removeprefix("Bearer ")
        async with sdk(server, "auto", token) as client:
            called, found = await follow_prompt(client, prompt)
        # Nobody is unsure here, so nobody consults.
        assert called == find_tools(prompt) - (
            {"consult", "answer_ask"} if protocol == "consulting" else set()
        )
        return found

    async def work() -> list[Json]:
        return await asyncio.gather(*map(follow, texts))

    first, *others = held(work())
    assert all(each == first for each in others) or protocol == "swarm"
    assert server.cli.json("show", session)["status"] == "concluded"


@pytest.mark.parametrize("protocol", ["persona", "debate", "swarm"])
def test_agents_that_follow_the_prompt_hold_the_session_over_stdio(cli: Cli, protocol: str) -> None:
    """D-5: each starts `moot mcp` by what was printed for it; no server runs."""
    session, seats = opened(cli, protocol, protocol)
    clients = ("claude", "codex")
    texts = [
        cli("invite", session, "--seat", seat, "--for", each, "--stdio").out
        for seat, each in zip(seats, clients, strict=True)
    ]

    async def follow(name: str, text: str) -> None:
        settings, prompt, _ = read_parts(text)
        door = read_door(name, settings)
        # An agent passes on little of its own environment.
        environ = {name: cli.environ[name] for name in ("PATH", "HOME")} | door["env"]
        parameters = StdioServerParameters(
            command=door["command"], args=door["args"], env=environ, cwd=str(cli.cwd)
        )
        async with Client(parameters, mode="auto") as client:
            await follow_prompt(client, prompt)

    async def work() -> None:
        await asyncio.gather(*map(follow, clients, texts))

    held(work())
    assert cli.json("show", session)["status"] == "concluded"


def test_every_client_starts_the_same_program_over_stdio(cli: Cli) -> None:
    """D-5: `moot mcp` by its whole path, with the token and the ledger; Codex waits for it."""
    session, _ = opened(cli, "persona", "p")
    for client in CLIENTS:
        text = cli("invite", session, "--seat", "ada", "--for", client, "--stdio").out
        token = text.splitlines()[0].rpartition(" ")[2]
        assert "answers at" not in text, "no server is needed"
        door = read_door(client, read_parts(text)[0])
        assert Path(door["command"]).is_absolute()
        assert door["args"] == ["mcp"]
        assert door["env"] == {"MOOT_TOKEN": token, "MOOT_HOME": str(cli.home)}, client
        if client == "codex":
            assert tomllib.loads(read_parts(text)[0])["mcp_servers"]["moot"]["required"] is True


def test_an_invitation_to_a_chinese_session_is_chinese(cli: Cli) -> None:
    """M-11: the prompt too, with the same tools."""
    cli(
        "run",
        "周五发布吗？",
        "--seat",
        "ada=mailbox",
        "--seat",
        "bob=mailbox",
        "--session",
        "zh",
        code=3,
    )
    prompt = cli.json("invite", "zh", "--seat", "ada")["prompt"]
    assert prompt.startswith("使用 MCP 服务器 `moot` 的工具")
    assert find_tools(prompt) == {"get_asks", "answer_ask", "get_session"}


def test_an_invitation_says_that_no_server_runs(cli: Cli) -> None:
    """D-5: it is really asked, also where something else answers."""
    opened(cli, "persona", "p")
    told = cli("invite", "p", "--seat", "ada", "--url", "http://127.0.0.1:9").out
    assert "nothing answers at http://127.0.0.1:9 now: start it there with `moot serve`" in told
    assert (
        cli.json("invite", "p", "--seat", "ada", "--url", "http://127.0.0.1:9")["serving"] is False
    )


def test_an_invitation_says_of_which_family_the_agent_is(cli: Cli) -> None:
    """D-20: kept with the token, listed, and only where there is a seat."""
    words = (
        "--seat",
        "ada=mailbox",
        "--seat",
        "bob=mailbox",
        "--protocol",
        "debate",
        "--session",
        "kin",
    )
    cli("run", "Ship?", *words, code=3)
    issued = cli.json("invite", "kin", "--seat", "ada", "--family", "claude-opus-4")
    assert [(each["id"], each["family"]) for each in cli.json("invite", "--list")["tokens"]] == [
        (issued["tokenId"], "claude-opus-4")
    ]
    assert "claude-opus-4" in cli("invite", "--list").out
    assert "has no model family" in cli("invite", "--owner", "--family", "claude", code=2).err
    assert "printable" in cli("invite", "kin", "--seat", "ada", "--family", "a\nb", code=2).err
