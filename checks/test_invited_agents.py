"""Real coding agents take seats by what `moot invite` prints, word for word; their model is a loopback stand-in."""

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from checks.obedient_model import Follower, ObedientModel
from checks.stage import DEADLINE, MOOT, Stage, installed
from tests.acceptance.outside_agents.obedient_agent import find_tools

from moothall.disk.text_files import parse_toml
from moothall.surfaces.api.toolsets import MAX_TOOLS
from moothall_testkit.stub_server import StubServer

pytestmark = pytest.mark.timeout(2 * DEADLINE)

RUNS = {
    "persona": ["--turns", "2"],
    "debate": ["--protocol", "debate", "--stakes", "high"],
    "swarm": ["--protocol", "swarm", "--set", "max_rounds=1"],
    "roundtable": ["--protocol", "roundtable", "--set", "max_rounds=1"],
}
CLIENTS = {
    "claude": "claude",
    "codex": "codex",
    "opencode": "opencode",
    "gemini": "gemini",
    "qwen": "qwen",
    "copilot": "copilot",
    "continue": "cn",
}
"""What `moot invite --for` calls them, and their programs."""
NOBODY = Follower("", iter(()))  # type: ignore[arg-type]  # nobody takes its steps
FILES = {
    "opencode": ".config/opencode/opencode.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".copilot/mcp-config.json",
}


@asynccontextmanager
async def serving(
    stage: Stage, port: int = 0
) -> AsyncIterator[tuple[str, asyncio.subprocess.Process]]:
    """`moot serve`: its address and its process."""
    process = await asyncio.create_subprocess_exec(
        str(MOOT),
        "serve",
        "--port",
        str(port),
        stdout=asyncio.subprocess.PIPE,
        env=stage.environ,
        cwd=stage.project,
    )
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), DEADLINE)
        found = re.search(rb"http://\S+", line)
        assert found is not None, line
        yield found[0].decode(), process
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


async def paste_settings(stage: Stage, client: str, settings: str) -> None:
    """Put the printed settings where the invitation says."""
    if client == "claude":
        await stage.shell(settings)
    elif client == "codex":
        config = Path(stage.environ["CODEX_HOME"]) / "config.toml"
        config.write_text(
            config.read_text(encoding="utf-8") + "\n" + settings + "\n", encoding="utf-8"
        )
        assert parse_toml(config.read_text(encoding="utf-8"))["mcp_servers"]["moot"]
    elif client == "continue":
        config = stage.home / ".continue" / "config.yaml"
        lines = settings[settings.index("mcpServers:") :]
        config.write_text(f"{config.read_text(encoding='utf-8')}{lines}\n", encoding="utf-8")
    else:
        file = stage.home / FILES[client]
        file.parent.mkdir(parents=True, exist_ok=True)
        before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        file.write_text(json.dumps({**before, **json.loads(settings)}), encoding="utf-8")


async def take_seat(stage: Stage, session: str, seat: str, client: str, *where: str) -> None:
    """Paste what the invitation says: the settings, then the command line."""
    text = await stage.moot("invite", session, "--seat", seat, "--for", client, *where)
    settings, _, headless = (part.partition("\n")[2].strip() for part in text.split("── ")[1:])
    await paste_settings(stage, client, settings)
    print(f"{client} ({seat}): {(await stage.shell(headless)).strip()[-60:]!r}")


def check_followers(model: ObedientModel) -> None:
    assert set(model.followers) == {"ada", "bob"}
    for seat, follower in model.followers.items():
        assert follower.result is not None, seat
        assert {name for name, _ in follower.called} == find_tools(follower.prompt)
        assert len(model.shown[seat]) <= MAX_TOOLS
        print(seat, [name for name, _ in follower.called])


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("protocol", RUNS)
@pytest.mark.parametrize("client", CLIENTS)
def test_agents_take_the_seats_they_are_invited_to(
    tmp_path: Path, client: str, protocol: str, transport: str
) -> None:
    """D-5: they find the tools that the prompt names, at most eight, and take part to the end."""
    model, path = ObedientModel(), installed(CLIENTS[client])

    async def work() -> None:
        async with StubServer([model]) as stub:
            stage = Stage(tmp_path, path, stub.base_url)
            homes = {"ada": stage, "bob": stage.add_home("second")}
            words = " ".join(["--seat", "ada=mailbox", "--seat", "bob=mailbox", *RUNS[protocol]])
            await stage.shell(
                f"moot run 'Ship on Friday?' {words} --session s --language en || test $? = 3"
            )
            if transport == "http":
                async with serving(stage) as (url, _):
                    await asyncio.gather(
                        *(take_seat(homes[seat], "s", seat, client, "--url", url) for seat in homes)
                    )
            else:
                await asyncio.gather(
                    *(take_seat(homes[seat], "s", seat, client, "--stdio") for seat in homes)
                )
            assert '"status": "concluded"' in await stage.moot("show", "s", "--json")

    asyncio.run(asyncio.wait_for(work(), 2 * DEADLINE))
    check_followers(model)


@pytest.mark.parametrize("client", ["codex", "opencode"])
def test_an_agent_that_waits_survives_the_end_of_the_server(tmp_path: Path, client: str) -> None:
    """D-5: killed while one seat waits for the other, and back after some seconds, the debate goes on to its end."""
    model, path = ObedientModel(is_patient=True), installed(CLIENTS[client])
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    async def work() -> None:
        async with StubServer([model]) as stub:
            stage = Stage(tmp_path, path, stub.base_url)
            words = " ".join(["--seat", "ada=mailbox", "--seat", "bob=mailbox", *RUNS["debate"]])
            await stage.shell(
                f"moot run 'Ship on Friday?' {words} --session s --language en || test $? = 3"
            )
            async with serving(stage, port) as (url, process):
                first = asyncio.create_task(take_seat(stage, "s", "ada", client, "--url", url))
                while "wait_for_turn" not in [
                    name for name, _ in model.followers.get("ada", NOBODY).called
                ]:
                    assert not first.done(), first.result()
                    await asyncio.sleep(0.2)
                await asyncio.sleep(2)
                process.kill()
                await process.wait()
            await asyncio.sleep(5)
            async with serving(stage, port) as (url, _):
                await asyncio.gather(
                    first, take_seat(stage.add_home("second"), "s", "bob", client, "--url", url)
                )
            assert '"status": "concluded"' in await stage.moot("show", "s", "--json")

    asyncio.run(asyncio.wait_for(work(), 2 * DEADLINE))
    check_followers(model)
