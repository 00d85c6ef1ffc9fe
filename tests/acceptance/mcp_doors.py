"""The MCP doors as acceptance tests use them: a server in a process of its own, and clients of every revision."""

import asyncio
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final, Protocol

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, TextContent
from tests.acceptance.doors import DEADLINE, MOOT, Cli, Process

HANDSHAKE: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN: Final = "2026-07-28"
SDK_MODES: Final = ("auto", "legacy")
CLIENTS: Final = (*SDK_MODES, *HANDSHAKE, MODERN)
"""The SDK's client in its two modes, and every revision by hand."""
POSTED: Final = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
}
PARTICIPANT: Final = Path(__file__).with_name("mcp_participant.py")

Json = dict[str, Any]


class Server:
    """`moot serve` with a home of its own. Killed, it can be started again at the same address."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.cli = Cli(folder / "home", folder)
        self.log = folder / "serve.log"
        self.url = ""
        self._process: Process | None = None
        self._sessions = count(1)

    def start(self) -> None:
        port = self.url.rpartition(":")[2] or "0"
        with self.log.open("ab") as log:
            self._process = self.cli.spawn(["serve", "--port", port], log)
        line = first_line(self._process)
        found = re.match(r"Moot serves on (http://\S+) ", line)
        assert found, (line, self.log.read_text())
        self.url = found[1]
        # Whoever reads the line may call: the answer comes as soon as the server is up.
        assert httpx2.get(f"{self.url}/healthz", timeout=DEADLINE).json() == {"status": "ok"}, (
            self.log.read_text()
        )

    def stop(self, number: signal.Signals = signal.SIGKILL) -> int:
        assert self._process is not None
        process, self._process = self._process, None
        process.send_signal(number)
        process.communicate(timeout=DEADLINE)
        assert process.returncode is not None
        return process.returncode

    @property
    def is_up(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def close(self) -> None:
        if self.is_up:
            self.stop(signal.SIGTERM)

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    def rpc(self, method: str, params: Mapping[str, Any] | None = None, token: str = "") -> Json:
        """A JSON-RPC response."""
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": dict(params or {})}
        found: Json = httpx2.post(
            f"{self.url}/rpc", json=request, headers=bearer(token or self.cli.key), timeout=DEADLINE
        ).json()
        return found

    def result(self, method: str, **params: Any) -> Json:
        """What a JSON-RPC call gives to whoever runs the server."""
        answer = self.rpc(method, params)
        assert "result" in answer, answer
        found: Json = answer["result"]
        return found

    def opened(self, *participants: str, **more: Any) -> str:
        """A new deliberation."""
        topic = more.pop("topic", f"Question {next(self._sessions)}?")
        plan: Json = {"topic": topic, "participants": list(participants), "stakes": "high", **more}
        return str(self.result("cstp.openDeliberation", **plan)["deliberationId"])

    def says(self, session: str, participant: str, kind: str, text: str = "", **more: Any) -> Json:
        """Contribute as anyone."""
        said = {"text": text, "confidence": 0.7, **more} if kind != "pass" else {}
        return self.result(
            "cstp.contribute", deliberationId=session, participant=participant, type=kind, **said
        )

    def entries(self, session: str) -> list[Json]:
        """The whole ledger of a session."""
        found: list[Json] = self.result("moot.getEntries", sessionId=session, limit=1_000)[
            "entries"
        ]
        return found

    def invited(self, session: str, seat: str) -> str:
        """A seat's token."""
        return str(self.cli.json("invite", session, "--seat", seat)["token"])


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server that has run without a fault of its own when it ends."""
    server = Server(folder)
    try:
        server.start()
        yield server
    finally:
        server.close()
    assert "Traceback" not in server.log.read_text(), server.log.read_text()


def first_line(process: "subprocess.Popen[bytes] | Process") -> str:
    """The next line that a process writes, within the deadline."""
    assert process.stdout is not None
    end = time.monotonic() + DEADLINE
    line = b""
    while not line.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))
        assert ready, f"no line came: {line!r}"
        # One byte at a time: what follows the line is not to be kept in a buffer.
        piece = os.read(process.stdout.fileno(), 1)
        assert piece, f"ended before a line came: {line!r}"
        line += piece
    return line.decode()


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}


def http(token: str = "") -> httpx2.AsyncClient:
    return httpx2.AsyncClient(headers=bearer(token), timeout=httpx2.Timeout(DEADLINE, read=600))


@asynccontextmanager
async def sdk(server: Server, mode: str, token: str = "", query: str = "") -> AsyncIterator[Client]:
    """The SDK's own client."""
    address = server.mcp + query
    async with (
        http(token or server.cli.key) as transport,
        Client(streamable_http_client(address, http_client=transport), mode=mode) as client,
    ):
        yield client


def plain(result: CallToolResult) -> Json:
    """What a tool gave."""
    assert not result.is_error, text_of(result)
    assert result.structured_content is not None
    found: Json = result.structured_content
    return found


def refused(result: CallToolResult) -> str:
    """The sentence with which a tool refuses."""
    assert result.is_error, result.structured_content
    assert result.structured_content is None
    return text_of(result)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


class Agent(Protocol):
    """A client of any revision. Gives the result of a request as it crossed the wire."""

    async def request(self, method: str, params: Json) -> Json: ...


class SdkAgent:
    """The SDK's client behind the same four requests."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def request(self, method: str, params: Json) -> Json:
        found = await self._sent(method, params)
        dumped: Json = found.model_dump(mode="json", by_alias=True, exclude_none=True)
        return dumped

    async def _sent(self, method: str, params: Json) -> Any:
        match method:
            case "tools/list":
                return await self.client.list_tools()
            case "tools/call":
                return await self.client.call_tool(params["name"], params["arguments"])
            case "resources/list":
                return await self.client.list_resources()
            case "resources/read":
                return await self.client.read_resource(params["uri"])
            case "prompts/get":
                return await self.client.get_prompt(params["name"], params["arguments"])
            case _:
                raise AssertionError(method)


class RawAgent:
    """A revision spoken by hand: one POST for each message."""

    def __init__(self, server: Server, revision: str, transport: httpx2.AsyncClient) -> None:
        self._server = server
        self._revision = revision
        self._http = transport
        self._session = ""
        self._numbers = count(1)

    async def greet(self) -> None:
        """The handshake of the revisions that have one."""
        about = {
            "protocolVersion": self._revision,
            "capabilities": {},
            "clientInfo": {"name": "by hand", "version": "1"},
        }
        response = await self.post("initialize", about)
        agreed = message(response)["result"]
        assert agreed["protocolVersion"] == self._revision
        assert agreed["serverInfo"]["name"] == "moot"
        self._session = response.headers["mcp-session-id"]
        assert (await self.notify("notifications/initialized", {})).status_code == 202

    async def request(self, method: str, params: Json) -> Json:
        answer = message(await self.post(method, params))
        assert "result" in answer, answer
        found: Json = answer["result"]
        return found

    async def post(self, method: str, params: Json, token: str = "") -> httpx2.Response:
        body = {
            "jsonrpc": "2.0",
            "id": next(self._numbers),
            "method": method,
            "params": self._enveloped(params),
        }
        headers = {**self._headers(method, params), **bearer(token)}
        return await self._http.post(self._server.mcp, content=json.dumps(body), headers=headers)

    async def notify(self, method: str, params: Json) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "method": method, "params": params}
        return await self._http.post(
            self._server.mcp, content=json.dumps(body), headers=self._headers(method, params)
        )

    def stream(
        self, method: str, params: Json, number: int
    ) -> contextlib.AbstractAsyncContextManager[httpx2.Response]:
        """A request whose response is read as it comes."""
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": self._enveloped(params)}
        return self._http.stream(
            "POST",
            self._server.mcp,
            content=json.dumps(body),
            headers=self._headers(method, params),
        )

    def _enveloped(self, params: Json) -> Json:
        if self._revision != MODERN:
            return params
        prefix = "io.modelcontextprotocol/"
        meta = {
            f"{prefix}protocolVersion": MODERN,
            f"{prefix}clientCapabilities": {},
            **params.get("_meta", {}),
        }
        return {**params, "_meta": meta}

    def _headers(self, method: str, params: Json) -> dict[str, str]:
        if self._revision == MODERN:
            named = params.get("name") or params.get("uri")
            more = {"mcp-name": named} if named else {}
            return {**POSTED, "mcp-protocol-version": MODERN, "mcp-method": method, **more}
        headers = dict(POSTED)
        if self._session:
            headers["mcp-session-id"] = self._session
            # The older ones do not know this header.
            if self._revision >= "2025-06-18":
                headers["mcp-protocol-version"] = self._revision
        return headers


def message(response: httpx2.Response) -> Json:
    """The last JSON-RPC message of a response, sent plainly or as an event."""
    text = response.text
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        text = [
            line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")
        ][-1]
    found: Json = json.loads(text)
    return found


@asynccontextmanager
async def by_hand(server: Server, revision: str, token: str = "") -> AsyncIterator[RawAgent]:
    """A client of one revision that owes nothing to the SDK."""
    async with http(token or server.cli.key) as transport:
        agent = RawAgent(server, revision, transport)
        if revision in HANDSHAKE:
            await agent.greet()
        yield agent


@asynccontextmanager
async def reached(server: Server, kind: str, token: str = "") -> AsyncIterator[Agent]:
    """A client of a kind of `CLIENTS`."""
    if kind in SDK_MODES:
        async with sdk(server, kind, token) as client:
            yield SdkAgent(client)
    else:
        async with by_hand(server, kind, token) as agent:
            yield agent


class Begun:
    """Tells that a call has reached the server: its first report of progress came."""

    def __init__(self) -> None:
        self.reports: list[float] = []
        self._first = asyncio.Event()

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.reports.append(progress)
        self._first.set()

    async def wait(self) -> None:
        await self._first.wait()


class Stdio:
    """`moot mcp` in a process of its own, spoken to line by line; `is_fresh`: the installed script, which loads Moot itself."""

    def __init__(self, cli: Cli, *, is_fresh: bool = False, **environ: str) -> None:
        self._process = _start_mcp(cli, environ) if is_fresh else cli.converse("mcp", **environ)
        self._numbers = count(1)
        self.lines: list[str] = []

    def __enter__(self) -> "Stdio":
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate(timeout=DEADLINE)

    def greet(self, revision: str = HANDSHAKE[-1]) -> Json:
        about = {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "by hand", "version": "1"},
        }
        found = self.request("initialize", about)
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return found

    def request(self, method: str, params: Json) -> Json:
        """The result of a request; what comes before it is kept in `lines`."""
        number = next(self._numbers)
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            answer = self.read()
            if answer.get("id") == number:
                assert "result" in answer, answer
                found: Json = answer["result"]
                return found

    def call(self, tool: str, **arguments: Any) -> Json:
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def send(self, body: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(body).encode() + b"\n")
        self._process.stdin.flush()

    def read(self) -> Json:
        """The next line; it must be a message of the protocol."""
        self.lines.append(first_line(self._process))
        return checked_message(self.lines[-1])

    def stopped(self, number: signal.Signals, within: float) -> int:
        """Send a signal while its input stays open; the exit code."""
        self._process.send_signal(number)
        return self._process.wait(timeout=within)

    def ended(self) -> tuple[int, str]:
        """Close its input and wait: the exit code, and what it wrote on standard error."""
        out, err = self._process.communicate(timeout=DEADLINE)
        self.lines += out.decode().splitlines()
        assert self._process.returncode is not None
        return self._process.returncode, err.decode()


def _start_mcp(cli: Cli, environ: Mapping[str, str]) -> "Process | subprocess.Popen[bytes]":
    return subprocess.Popen(
        [MOOT, "mcp"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**cli.environ, **environ},
        cwd=cli.cwd,
    )


def checked_message(line: str) -> Json:
    """A line of standard output as a JSON-RPC message; nothing else has a place there."""
    found = json.loads(line)
    assert isinstance(found, dict), line
    assert found.get("jsonrpc") == "2.0", line
    assert {"result", "error", "method"} & found.keys(), line
    return found


def participating(
    cli: Cli, plan: Mapping[str, Any], token: str, *, url: str = "", mode: str = "auto"
) -> Process:
    """A participant in a process of its own: over HTTP, or, without a URL, over the standard streams of `moot mcp`."""
    return cli.spawn_program(
        PARTICIPANT, url or str(MOOT), mode, json.dumps(plan), MOOT_TOKEN=token
    )
