"""Two MCP servers that others wrote, in every protocol: `python -m bench.evidence.servers FOLDER`.

FOLDER holds what the registries gave, and needs the network once: `npm install --prefix FOLDER
@modelcontextprotocol/server-filesystem`, `python -m venv FOLDER/py` and `FOLDER/py/bin/pip install mcp-server-motherduck`. The
first is started by Moot and speaks over standard input, the second listens on a port of this machine. Models of a stub server
call the tools of both in every answer. Then both are killed after the first use of a meeting, and the second comes back.
"""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from moothall.app.moot import Moot
from moothall.app.user_settings import write_settings
from moothall.domain.facts import ToolUsed
from moothall.engine.context import EntryAdded
from moothall_testkit.schema_values import draw_value
from moothall_testkit.stub_server import Request, Step, StubReply, StubServer

DIFF = "--- a/rent.py\n+++ b/rent.py\n@@ -1 +1 @@\n-RENT = 36000\n+RENT = 40000\n"
SQL = (
    "create table rents(year int, euros int); insert into rents values (2024, 36000), (2025, 40000)"
)
STEPS = [
    {"name": "draft", "agent": "ada", "task": "Write."},
    {"name": "check", "agent": "bob", "task": "Judge.", "gate": True},
]
MEETINGS: dict[str, dict[str, Any]] = {
    "debate": {},
    "consensus": {},
    "advisory": {},
    "persona": {"turns": 3},
    "swarm": {"settings": {"max_rounds": 2}},
    "roundtable": {"settings": {"max_rounds": 1}},
    "consultation": {},
    "pipeline": {"settings": {"steps": STEPS}},
    "review": {"files": ["change.diff"]},
}
SEATS = {
    "swarm": ("ada", "bob", "cem", "dan", "eve", "validator"),
    "roundtable": ("ada", "bob", "cem", "moderator"),
}


def act(folder: Path) -> Callable[[Request], Step]:
    """A model that reads a file of one server and asks the other, first with a call that is wrong, and then answers."""
    number = iter(range(1_000_000))

    def step(request: Request) -> Step:
        # Another text each time: what was asked already would be answered without the server.
        sql = f"select euros, {next(number)} as asked from rents where year = 2025"
        rounds = [
            (
                (
                    "files__read_text_file",
                    json.dumps({"path": str(folder / "lease.md"), "head": next(number) + 2}),
                ),
            ),
            (
                ("rents__execute_query", '{"query": 1}'),
                ("rents__execute_query", json.dumps({"sql": sql})),
            ),
            (
                ("files__write_file", '{"path": "x", "content": "x"}'),
                ("rents__execute_query", '{"sql": "drop table rents"}'),
            ),
        ]
        done = sum(message["role"] == "assistant" for message in request.body["messages"])
        if request.body.get("tools") and done < len(rounds):
            return StubReply(calls=rounds[done])
        form = request.body.get("response_format")
        answer = (
            json.dumps(draw_value(form["json_schema"]["schema"], Random(7)))
            if form
            else "The rent is 40,000 euros."
        )
        return StubReply(text=answer)

    return step


def start_listener(folder: Path, data: Path, port: int) -> subprocess.Popen[bytes]:
    """Start the server of the second registry and wait until it listens."""
    base = data / "rents.duckdb"
    if not base.exists():
        subprocess.run(
            [
                folder / "py/bin/python",
                "-c",
                f"import duckdb; duckdb.connect({str(base)!r}).execute({SQL!r})",
            ],
            check=True,
        )
    program = str(folder / "py/bin/mcp-server-motherduck")
    command = [program, "--transport", "http", "--port", str(port), "--db-path", str(base)]
    environ = {**os.environ, "HOME": str(data), "NO_PROXY": "*"}
    process = subprocess.Popen(
        command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while process.poll() is None:
        with socket.socket() as probe:
            if not probe.connect_ex(("127.0.0.1", port)):
                return process
    raise SystemExit("mcp-server-motherduck did not start")


def choose_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def write_tables(environ: dict[str, str], folder: Path, data: Path, port: int) -> None:
    """Set up both servers as their owner would; the first writes its process id, so that it can be killed."""
    program = folder / "node_modules/.bin/mcp-server-filesystem"
    command = ["sh", "-c", f"echo $$ > {data / 'pid'}; exec node {program} {data}"]
    files = {"command": command, "allow": ["read_text_file", "list_directory"], "seconds": 20}
    rents = {
        "url": f"http://127.0.0.1:{port}/mcp",
        "allow": ["execute_query", "list_tables"],
        "seconds": 10,
    }
    write_settings(environ, {"tools": {"files": files, "rents": rents}})


async def hold(
    moot: Moot, stub: StubServer, protocol: str, data: Path, on_use: Callable[[ToolUsed], None]
) -> str:
    """Hold one meeting; return what became of it in a line."""
    platforms = {
        name: f"{stub.base_url}#{name}" for name in SEATS.get(protocol, ("ada", "bob", "cem"))
    }
    options: dict[str, Any] = {
        "seats": platforms,
        "tools": "files,rents",
        "tool_calls": 12,
        "seed": 7,
        **MEETINGS[protocol],
    }
    if "files" in options:
        options["files"] = [data / name for name in options["files"]]
    if protocol in {"consultation", "pipeline"}:
        options["project"] = str(data)
    session = await moot.open("Is the rent of 40,000 euros fair?", protocol=protocol, **options)
    running = asyncio.create_task(moot.run(session))
    async for event in moot.watch(session):
        if isinstance(event, EntryAdded) and isinstance(event.entry.fact, ToolUsed):
            on_use(event.entry.fact)
    await running
    uses = [
        entry.fact
        for entry in await moot.engine.entries(session)
        if isinstance(entry.fact, ToolUsed)
    ]
    counts = Counter((use.tool, use.outcome) for use in uses)
    minutes = await moot.export(session, "minutes")
    is_named = all(use.tool in minutes for use in uses)
    snapshot = await moot.engine.load_snapshot(session)
    summary = ", ".join(
        f"{tool} {outcome} {count}" for (tool, outcome), count in sorted(counts.items())
    )
    return (
        f"{protocol}: ended {snapshot.is_closed}; in the minutes {is_named}; {summary or 'no use'}"
    )


async def main(folder: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        data = Path(name)
        (data / "lease.md").write_text("The rent is 40,000 euros a year.\nIt ends in May.\n")
        (data / "change.diff").write_text(DIFF)
        environ = {
            **os.environ,
            "MOOT_HOME": name,
            "MOOT_CONFIG": str(data / "config.toml"),
            "MOOT_MEMORY": "off",
        }
        port = choose_port()
        write_tables(environ, folder, data, port)
        listener = start_listener(folder, data, port)
        try:
            async with StubServer([act(data)]) as stub, Moot(environ=environ) as moot:
                for protocol in MEETINGS:
                    print(await hold(moot, stub, protocol, data, lambda use: None), flush=True)

            def kill(use: ToolUsed) -> None:
                nonlocal listener
                if (
                    use.tool == "rents__execute_query"
                    and use.outcome == "answered"
                    and listener.poll() is None
                ):
                    listener.kill()
                    listener.wait()
                    os.kill(int((data / "pid").read_text()), signal.SIGKILL)
                    print("  both killed", flush=True)

            for protocol in MEETINGS:
                if listener.poll() is not None:
                    listener = start_listener(folder, data, port)
                async with StubServer([act(data)]) as stub, Moot(environ=environ) as moot:
                    print(await hold(moot, stub, protocol, data, kill), flush=True)
        finally:
            listener.kill()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]).resolve()))
