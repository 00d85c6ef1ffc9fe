"""Real Claude Code and Codex take seats by what `moot invite` prints, word for word; their model is a loopback stand-in."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from checks.obedient_model import ObedientModel
from checks.stage import DEADLINE, MOOT, Stage, installed
from tests.acceptance.outside_agents.obedient_agent import find_tools

from moothall.surfaces.api.toolsets import MAX_TOOLS
from moothall.surfaces.invitations.settings_edit import parse_toml
from moothall_testkit.stub_server import StubServer

pytestmark = pytest.mark.timeout(2 * DEADLINE)

RUNS = {
    "persona": ["--turns", "2"],
    "debate": ["--protocol", "debate", "--stakes", "high"],
    "swarm": ["--protocol", "swarm", "--set", "max_rounds=1"],
}


@pytest.fixture(scope="session")
def path() -> str:
    return installed("claude", "codex")


@asynccontextmanager
async def serving(stage: Stage) -> AsyncIterator[str]:
    """`moot serve` on a free port: its address."""
    process = await asyncio.create_subprocess_exec(
        str(MOOT), "serve", "--port", "0", stdout=asyncio.subprocess.PIPE, env=stage.environ, cwd=stage.project
    )
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), DEADLINE)
        found = re.search(rb"http://\S+", line)
        assert found is not None, line
        yield found[0].decode()
    finally:
        process.terminate()
        await process.wait()


async def take_seat(stage: Stage, session: str, seat: str, client: str, *where: str) -> None:
    """Paste what the invitation says: the settings, then the command line."""
    text = await stage.moot("invite", session, "--seat", seat, "--for", client, *where)
    settings, _, headless = (part.partition("\n")[2].strip() for part in text.split("── ")[1:])
    if client == "claude":
        await stage.shell(settings)
    else:
        config = Path(stage.environ["CODEX_HOME"]) / "config.toml"
        config.write_text(config.read_text(encoding="utf-8") + "\n" + settings + "\n", encoding="utf-8")
        assert parse_toml(config.read_text(encoding="utf-8"))["mcp_servers"]["moot"]
    print(f"{client} ({seat}): {(await stage.shell(headless)).strip()[-60:]!r}")


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.parametrize("protocol", RUNS)
def test_claude_code_and_codex_take_the_seats_they_are_invited_to(
    path: str, tmp_path: Path, protocol: str, transport: str
) -> None:
    """D-5: they find the tools that the prompt names, at most eight, and take part to the end."""
    model = ObedientModel()

    async def work() -> None:
        async with StubServer([model]) as stub:
            stage = Stage(tmp_path, path, stub.base_url)
            seats = ["--seat", "ada=mailbox", "--seat", "bob=mailbox"]
            words = " ".join([*seats, *RUNS[protocol]])
            await stage.shell(f"moot run 'Ship on Friday?' {words} --session s --language en || test $? = 3")
            if transport == "http":
                async with serving(stage) as url:
                    await asyncio.gather(
                        take_seat(stage, "s", "ada", "claude", "--url", url), take_seat(stage, "s", "bob", "codex", "--url", url)
                    )
            else:
                await asyncio.gather(
                    take_seat(stage, "s", "ada", "claude", "--stdio"), take_seat(stage, "s", "bob", "codex", "--stdio")
                )
            assert '"status": "concluded"' in await stage.moot("show", "s", "--json")

    asyncio.run(asyncio.wait_for(work(), 2 * DEADLINE))
    for seat, follower in model.followers.items():
        assert follower.result is not None, seat
        assert {name for name, _ in follower.called} == find_tools(follower.prompt)
        assert len(model.shown[seat]) <= MAX_TOOLS
        print(seat, [name for name, _ in follower.called])
