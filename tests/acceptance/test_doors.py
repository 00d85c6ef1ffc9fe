"""Locked doors (D-6): who comes in, with real servers, real other users and every call of the table."""

import asyncio
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.acceptance.doors import Cli, held, until
from tests.acceptance.mcp_doors import MODERN, POSTED
from tests.acceptance.server import Server

from moothall import Moot
from moothall.surfaces.api.methods import TABLE, TOOLS
from moothall.surfaces.http.access_control import MAX_REFUSALS, name_peer

DOCS = Path(__file__).parents[2] / "docs"
NOBODY = 65_534

ATTACK = """
import json, os, sys, urllib.error, urllib.request
home, address, recipe = sys.argv[1:]
found = {"uid": os.getuid()}
for folder, folders, files in os.walk(home):
    found["listed"] = len(folders) + len(files)
for name in ("owner.key", "ledger.db", "ledger.db-wal", "ledger.db-shm"):
    try:
        open(os.path.join(home, name), "rb").read(1)
        found[name] = "read"
    except OSError as error:
        found[name] = error.strerror
seats = [{"id": "ada", "platform": "command:" + recipe}, {"id": "bob", "platform": "command:" + recipe}]
params = {"topic": "Run this", "protocol": "debate", "seats": seats}
body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "moot.openSession", "params": params}).encode()
tries = {"none": {}, "guess": {"Authorization": "Bearer moot_00000000_x"}, "cookie": {"Cookie": "moot_session=x"}}
for name, more in tries.items():
    request = urllib.request.Request(f"http://{address}/rpc", body, {"Content-Type": "application/json", **more})
    try:
        found[name] = urllib.request.urlopen(request, timeout=60).status
    except urllib.error.HTTPError as error:
        found[name] = error.code
print(json.dumps(found))
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that every user of this machine can enter, as /home is."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def write_recipe(folder: Path, marker: Path) -> Path:
    """A program that leaves a mark where it ran."""
    path = folder / "mark.toml"
    path.write_text(f'argv = ["/bin/sh", "-c", "id -u > {marker}; echo no", "{{prompt}}"]\n')
    path.chmod(0o644)
    return path


@pytest.mark.skipif(
    os.name == "nt" or os.geteuid() != 0, reason="only root can become another user"
)
def test_another_user_of_the_machine_is_nobody(shared: Path) -> None:
    """D-6: neither reads the home nor runs a program as whoever serves; the same call with the key does run it."""
    home, marker = shared / "home", shared / "marker"
    recipe = write_recipe(shared, marker)
    # Not the one of the virtual environment: another user cannot reach that.
    python = Path(sys.executable).resolve()
    with Server(Cli(home, shared)) as server:
        words = [
            "setpriv",
            f"--reuid={NOBODY}",
            f"--regid={NOBODY}",
            "--clear-groups",
            str(python),
            "-I",
            "-c",
            ATTACK,
        ]
        done = subprocess.run(
            [*words, str(home), server.address, str(recipe)],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        denied = "Permission denied"
        assert json.loads(done.stdout) == {
            "uid": NOBODY,
            **dict.fromkeys(("owner.key", "ledger.db", "ledger.db-wal", "ledger.db-shm"), denied),
            **dict.fromkeys(("none", "guess", "cookie"), 401),
        }
        assert server.local("moot.listSessions") == {"sessions": [], "total": 0}
        assert not marker.exists()
        # The attack was a real one: with the key it is the owner's own call.
        seats = [{"id": name, "platform": f"command:{recipe}"} for name in ("ada", "bob")]
        server.local("moot.openSession", topic="Run this", protocol="debate", seats=seats)
        until(marker.exists)


def modes_of(folder: Path) -> set[str]:
    paths = [folder, *folder.rglob("*")]
    return {
        f"{'d' if path.is_dir() else 'f'}{stat.S_IMODE(path.lstat().st_mode):o}"
        for path in paths
        if not path.is_symlink()
    }


def test_a_home_that_others_can_read_gets_its_key_and_is_closed_with_a_word_about_it(
    shared: Path,
) -> None:
    """D-6: what is not Moot's stays as it is, links are not followed."""
    home, outside = shared / "home", shared / "outside.txt"
    cli = Cli(home, shared)
    cli("run", "Who?", "--seat", "ada=mailbox", "--seat", "bob=mailbox", code=3)
    (home / "owner.key").unlink(missing_ok=True)
    outside.write_text("mine")
    (home / "agents").mkdir(exist_ok=True)
    (home / "agents" / "link").symlink_to(outside)
    (home / "notes.txt").write_text("mine, too")
    for path in (home, home / "ledger.db", home / "agents", home / "notes.txt", outside):
        path.chmod(0o755 if path.is_dir() else 0o644)
    done = cli.fresh("list")
    assert f"other users of this machine could read {home}; now only you can" in done.err
    assert [stat.S_IMODE(path.stat().st_mode) for path in (outside, home / "notes.txt")] == [
        0o644,
        0o644,
    ]
    (home / "notes.txt").unlink()
    with Server(cli) as server:
        assert server.local("moot.listSessions")["sessions"]
        # While it runs: SQLite's own files beside the ledger as well.
        assert (home / "ledger.db-wal").exists()
        assert modes_of(home) <= {"d700", "f600"}
        key = (home / "owner.key").read_text().strip()
        server.restart()
        assert cli.key == key
        # A key that others could read is replaced when the server starts next.
        (home / "owner.key").chmod(0o644)
        server.restart()
        assert cli.key != key
        assert server.client(key).get("/me").json()["role"] == "owner"
        assert server.local.get("/me").json()["role"] == "local"
    assert "other users could read it" in server.log.read_text()


def read_matrix() -> dict[str, dict[str, bool]]:
    """Who may make which call, as the documentation says."""
    rows = re.findall(
        r"^\| `((?:cstp|moot)\.\w+)` \|(.*)\|$",
        (DOCS / "server.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    roles = ("owner", "operator", "recorder", "agent", "seat", "observer")
    found = {
        name: dict(zip(roles, (cell.strip() == "yes" for cell in cells.split("|")), strict=True))
        for name, cells in rows
    }
    return {name: {"local": True, **row} for name, row in found.items()}


def test_every_call_is_open_to_the_roles_that_the_documentation_names(tmp_path: Path) -> None:
    """D-6: every method and tool, as every role, over JSON-RPC and MCP; nothing is done: a parameter is always wrong."""
    cli = Cli(tmp_path / "home", tmp_path)
    matrix = read_matrix()
    assert matrix.keys() == TABLE.keys()
    with Server(cli) as server:
        session = server.local.opened()
        words = {
            "owner": ("--owner",),
            "operator": ("--operator",),
            "recorder": ("--recorder",),
            "agent": ("--agent", "ada"),
            "seat": (session, "--seat", "minski"),
            "observer": ("--observer",),
        }
        tokens = {
            "local": cli.key,
            **{role: cli.json("invite", *options)["token"] for role, options in words.items()},
        }
        head = server.local.head(session)
        for role, token in tokens.items():
            client = server.client(token)
            assert client.get("/me").json()["role"] == role
            calls = [
                {"jsonrpc": "2.0", "id": name, "method": name, "params": {"nonsense": 1}}
                for name in matrix
            ]
            answers = {answer["id"]: answer["error"]["code"] for answer in client.send(calls)}
            assert answers == {
                name: -32602 if row[role] else -32001 for name, row in matrix.items()
            }, role
        refusals = asyncio.run(call_tools(server.address, tokens))
        wanted = {
            (role, tool): not matrix[method.name][role]
            for tool, method in TOOLS.items()
            for role in tokens
        }
        assert refusals == wanted
        assert server.local.head(session) == head
        for path in (
            "/rpc",
            "/mcp",
            "/me",
            "/events",
            f"/events/{session}",
            "/metrics",
            "/openrpc.json",
            "/v1/models",
        ):
            assert (
                server.nobody.request(
                    "POST" if path in {"/rpc", "/mcp"} else "GET", path, b"{}"
                ).status
                == 401
            ), path


async def call_tools(address: str, tokens: dict[str, str]) -> dict[tuple[str, str], bool]:
    """Which tools are refused to whom."""
    found = {}
    async with httpx2.AsyncClient(timeout=60) as client:
        for role, token in tokens.items():
            for tool in TOOLS:
                prefix = "io.modelcontextprotocol/"
                meta = {f"{prefix}protocolVersion": MODERN, f"{prefix}clientCapabilities": {}}
                params: dict[str, Any] = {"name": tool, "arguments": {"nonsense": 1}, "_meta": meta}
                headers = {
                    **POSTED,
                    "mcp-protocol-version": MODERN,
                    "mcp-method": "tools/call",
                    "mcp-name": tool,
                }
                body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
                answer = await client.post(
                    f"http://{address}/mcp",
                    json=body,
                    headers={**headers, "authorization": f"Bearer {token}"},
                )
                result = answer.json()["result"]
                assert result["isError"], (role, tool)
                said = result["content"][0]["text"]
                is_refused = "this call needs" in said or "your token is valid only for" in said
                assert is_refused or re.search(r"\w+ (is missing|does not belong)", said), (
                    role,
                    tool,
                    said,
                )
                found[role, tool] = is_refused
    return found


PLUGIN = """
from moothall.plugins import Answer, Feature, ParticipantKind

class Echo:
    async def ready(self):
        return None

    async def respond(self, brief, on_text):
        raise AssertionError("it was asked")

KIND = ParticipantKind(name="echo", usage="echo", make=lambda request: Echo())
FEATURE = Feature(name="echo", package="echo_kind", kinds=(":KIND",))
"""


def test_a_remote_owner_seats_no_program_file_or_plugins_kind_that_is_not_listed(
    tmp_path: Path,
) -> None:
    """D-6: on an address that others reach, by whichever call; what server.toml lists can be seated, and is started."""
    site, marker = tmp_path / "site", tmp_path / "marker"
    info = site / "echo_kind-0.1.dist-info"
    info.mkdir(parents=True)
    (site / "echo_kind.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: echo-kind\nVersion: 0.1\n")
    (info / "entry_points.txt").write_text("[moothall.features]\necho = echo_kind:FEATURE\n")
    recipe = write_recipe(tmp_path, marker)
    cli = Cli(tmp_path / "home", tmp_path, PYTHONPATH=str(site))
    token = cli.json("invite", "--owner")["token"]
    with Server(cli, "--host", "0.0.0.0") as server:
        owner = server.client(token)
        session = owner.open()
        # Beyond loopback not even the key of the home starts programs that are not listed.
        # A local model server is on this machine, and not the caller's to reach.
        for client in (owner, server.local):
            for platform in (
                "echo",
                f"command:{recipe}",
                "command:claude",
                f"Command:{recipe}",
                f" command:{recipe}",
                "script:x",
                "vllm:x",
                "llamacpp:x?temperature=0.2",
                "ollama",
            ):
                seats = [{"id": "ada", "platform": platform}, "bob"]
                role = {"id": "ada", "platform": platform, "description": "d"}
                for method, params in (
                    ("moot.openSession", {"topic": "t", "protocol": "debate", "seats": seats}),
                    ("moot.openSession", {"topic": "t", "panel": "board", "models": [platform]}),
                    ("cstp.openDeliberation", {"topic": "t", "participants": seats}),
                    ("moot.resumeSession", {"sessionId": session, "swaps": {"minski": platform}}),
                    (
                        "moot.forkSession",
                        {"sessionId": session, "at": 1, "swaps": {"minski": platform}},
                    ),
                    ("moot.newConference", {"conference": "c", "topic": "t", "roles": [role]}),
                    ("moot.swarmOpen", {"task": "t", "seats": seats}),
                    ("moot.consult", {"question": "q", "to": "ada", "seats": seats}),
                ):
                    error = client.refused(method, **params)
                    assert error.kind in {"BadRoster", "UnknownPlatform"}, (method, platform, error)
        assert [line["sessionId"] for line in owner("moot.listSessions")["sessions"]] == [session]
        server.stop()
        (cli.home / "server.toml").write_text(f'programs = ["{recipe}"]\nproviders = ["ollama"]\n')
        server.start()
        for platform, kind in (
            ("ollama:x", "ProviderRefused"),
            ("ollama?temperature=0.2", "ProviderRefused"),
            ("vllm:x", "BadRoster"),
        ):
            refused = owner.refused(
                "moot.openSession", topic="t", seats=[{"id": "a", "platform": platform}, "b"]
            )
            assert refused.kind == kind, refused
        seats = [{"id": name, "platform": f"command:{recipe}"} for name in ("ada", "bob")]
        owner("moot.openSession", topic="t", protocol="debate", seats=seats)
        until(marker.exists)
        assert owner.refused(
            "moot.openSession",
            topic="t",
            protocol="debate",
            seats=[{"id": "a", "platform": "command:claude"}, "b"],
        )


def test_a_session_whose_program_may_not_be_started_here_is_parked(tmp_path: Path) -> None:
    """D-6: one that the command line opened; it says why, and goes on where the program may be started."""
    recipe, marker = write_recipe(tmp_path, tmp_path / "marker"), tmp_path / "marker"

    async def work() -> None:
        async with Moot(
            environ={"MOOT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
        ) as moot:
            seats = {"ada": f"command:{recipe}", "bob": f"command:{recipe}"}
            session = await moot.open("Shall we?", seats=seats, protocol="debate", check=False)
            moot.seating.limit_programs(())
            await moot.run(session)
            parked = (await moot.engine.load_snapshot(session)).session_state.parked
            assert parked is not None
            assert "this server may not start the program" in parked.reason
            assert not marker.exists()
            moot.seating.limit_programs([str(recipe)])
            await moot.run(session)
            assert marker.exists()

    held(work())


def test_limits_are_each_tokens_own_and_set_by_role(tmp_path: Path) -> None:
    """D-6: 429 with Retry-After, 413 with the limit, over JSON-RPC and MCP; a wrong file is refused with what was expected."""
    cli = Cli(tmp_path / "home", tmp_path)
    tokens = [cli.json("invite", "--observer")["token"] for _ in range(2)]
    settings = cli.home / "server.toml"
    for text, told in (
        ("programs = 3", "programs"),
        ("limits.burst = 0", "burst"),
        ("limits.nobody.burst = 5", "the roles are: local, owner"),
        ("limits.seat.speed = 5", "speed does not belong to the settings"),
        ("= nonsense", "is not valid TOML"),
        ('proxies = ["*"]', "'*' is not an address"),
        ('proxies = ["10.0.0.1", "::/0"]', "'::/0' is everybody"),
        ('traces = "collector:4318"', "traces"),
    ):
        settings.write_text(text)
        done = cli("serve", "--port", "0", code=2)
        assert told in done.err
        assert str(settings) in done.err
    settings.write_text(
        "[limits.observer]\ncalls_per_second = 0.1\nburst = 3\nlargest_body = 2048\n"
    )
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "moot.listProtocols"}).encode()
    with Server(cli) as server:
        one, other = (server.client(token) for token in tokens)
        assert [one.post(body).status for _ in range(4)] == [200, 200, 200, 429]
        refused = one.request("POST", "/mcp", body)
        assert (refused.status, refused.json()["error"]["code"]) == (429, -32009)
        assert 1 <= int(refused.headers["retry-after"]) <= 10
        large = other.post(b" " * 2_049)
        assert (large.status, large.json()["error"]["message"]) == (
            413,
            "the request is too large; the limit is 2048 bytes",
        )
        assert other.request("POST", "/mcp", b" " * 2_049).status == 413
        # Nobody else is held up by it.
        assert server.local.post(b" " * 2_049 + body).status == 200


def test_too_many_refused_secrets_are_429_and_nobody_else_waits(tmp_path: Path) -> None:
    """D-6: guesses of one address, whatever it says of itself; a valid token there is answered at once."""
    assert name_peer("2001:db8::1") == name_peer("2001:db8::ffff:1") != name_peer("2001:db8:0:1::1")
    assert name_peer("::ffff:192.0.2.7") == "192.0.2.7"
    with Server(Cli(tmp_path / "home", tmp_path)) as server:

        async def guess() -> list[int]:
            # Fewer lines than strangers of one address may have: this is about refusals, not the limit of connections.
            lines = httpx2.Limits(max_connections=100)
            async with (
                httpx2.AsyncClient(timeout=60, limits=lines) as client,
                httpx2.AsyncClient(timeout=60) as owner,
            ):
                wrong = {"Authorization": f"Bearer {server.cli.key}x"}
                # No proxy is set: nobody is believed who says that others sent this.
                made_up = (
                    {**wrong, "X-Forwarded-For": f"198.18.0.{number}"}
                    for number in range(4 * int(MAX_REFUSALS))
                )
                sent = await asyncio.gather(
                    *(
                        client.get(f"http://{server.address}/me", headers=headers)
                        for headers in made_up
                    )
                )
                right = await owner.get(
                    f"http://{server.address}/me",
                    headers={"Authorization": f"Bearer {server.cli.key}"},
                )
                assert right.status_code == 200
                assert {
                    each.headers.get("retry-after") for each in sent if each.status_code == 429
                } == {"1"}
                return [each.status_code for each in sent]

        statuses = asyncio.run(guess())
        assert set(statuses) == {401, 429}
        assert MAX_REFUSALS <= statuses.count(401) <= 3 * MAX_REFUSALS
