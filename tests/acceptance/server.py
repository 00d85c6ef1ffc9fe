"""`moot serve` as acceptance tests use it: a process that can be killed and started again, and clients on the standard library.

As a program it is a participant of its own:

    python server.py calls ADDRESS KEY              answers each line of standard input, a call, with a line
    python server.py loop ADDRESS KEY SESSION SEAT  waits for its turns and says what standard input has for each phase
"""

import http.client
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from tests.acceptance.doors import Cli, Process

MOOT = Path(sys.executable).with_name("moot")
DEADLINE = 120.0
MET: set[int] = set()
"""Every error code that a client of this process has met."""

T = TypeVar("T")

SEATS = ("emerson", "minski", "code-reviewer")
HSM: Mapping[str, Any] = {
    "topic": "Should we adopt HSM architecture for long-context processing?",
    "category": "architecture",
    "stakes": "high",
    "participants": list(SEATS),
    "protocol": "structured_debate",
}
"""The opening of the source's example."""

CONDITION = "No production benchmarks yet - revisit after pilot"
STEPS: Sequence[tuple[str, Mapping[str, Any]]] = (
    ("emerson", {"type": "propose", "text": "Adopt HSM for long-context", "confidence": 0.80}),
    ("minski", {"type": "support", "text": "MIT data supports this", "confidence": 0.85}),
    (
        "code-reviewer",
        {"type": "challenge", "text": "No production benchmarks", "confidence": 0.70},
    ),
    (
        "emerson",
        {"type": "synthesize", "text": "HSM for parallel + attention fallback", "confidence": 0.82},
    ),
    ("emerson", {"type": "vote", "position": "support", "confidence": 0.85}),
    ("minski", {"type": "vote", "position": "support", "confidence": 0.80}),
    (
        "code-reviewer",
        {
            "type": "vote",
            "position": "conditional_support",
            "confidence": 0.70,
            "condition": CONDITION,
        },
    ),
)
"""The steps of the source's example between its opening and its close."""


class Refused(Exception):
    """A JSON-RPC error."""

    def __init__(self, code: int, message: str, kind: str = "") -> None:
        super().__init__(f"{code} {kind}: {message}")
        self.code = code
        self.message = message
        self.kind = kind


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body, parse_constant=_no_constant)


def _no_constant(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


@dataclass(frozen=True, slots=True)
class Client:
    """Speaks to a server at host:port; a connection for each request."""

    address: str
    token: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Answer:
        """One request; what is given by name replaces a header (`content_type=…`)."""
        given = dict(self.headers)
        if self.token:
            given["Authorization"] = f"Bearer {self.token}"
        if body is not None:
            given["Content-Type"] = "application/json"
        given.update({name.replace("_", "-").title(): value for name, value in headers.items()})
        link = http.client.HTTPConnection(self.address, timeout=DEADLINE)
        try:
            try:
                link.request(method, path, body, given)
            except (BrokenPipeError, ConnectionResetError):
                # A server that refuses a body need not read it to its end; it has answered.
                if body is None or len(body) < 500_000:
                    raise
            found = link.getresponse()
            return Answer(
                found.status,
                {name.lower(): value for name, value in found.getheaders()},
                found.read(),
            )
        finally:
            link.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, None, **headers)

    def post(self, body: bytes, **headers: str) -> Answer:
        """A body to /rpc."""
        return self.request("POST", "/rpc", body, **headers)

    def send(self, request: object) -> Any:
        """The JSON that a JSON-RPC request, or anything else, is answered with."""
        return self.post(json.dumps(request).encode()).json()

    def __call__(self, method: str, /, **params: Any) -> Any:
        """The result of a call; raises Refused."""
        found = self.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert found["jsonrpc"] == "2.0"
        if "error" in found:
            error = found["error"]
            MET.add(error["code"])
            raise Refused(error["code"], error["message"], error.get("data", {}).get("kind", ""))
        return found["result"]

    def refused(self, method: str, /, **params: Any) -> Refused:
        """The error of a call that must fail."""
        try:
            found = self(method, **params)
        except Refused as error:
            return error
        raise AssertionError(f"{method} {params} was not refused: {found}")

    def insisting(self, method: str, /, **params: Any) -> Any:
        """The result of a call that is made until somebody answers: the server may be down."""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                return self(method, **params)
            except (OSError, http.client.HTTPException):
                assert time.monotonic() < end, f"nobody answers {method}"
                time.sleep(0.02)

    def head(self, session: str) -> str:
        """The hash of a session's last entry."""
        found = self("moot.verifySession", sessionId=session)
        assert found.get("fault") is None
        return str(found["head"])

    def open(self, **changes: Any) -> str:
        """Open the source's deliberation, with some of it changed; its id."""
        return str(self("cstp.openDeliberation", **{**HSM, **changes})["deliberationId"])

    def opened(self, **changes: Any) -> str:
        """As `open`, once the server has put its first asks: from then on nothing is written unless somebody calls."""
        session = self.open(**changes)
        end = time.monotonic() + DEADLINE
        while self("moot.getEntries", sessionId=session)["head"] < 2:
            assert time.monotonic() < end, "nothing is asked"
            time.sleep(0.01)
        return session

    def say(self, session: str, seat: str, kind: str, /, **words: Any) -> Any:
        """Contribute; a proposal, an argument or a synthesis has a text and a confidence unless others are given."""
        if kind not in {"vote", "pass"}:
            words = {"text": f"{seat} {kind}s", "confidence": 0.8, **words}
        return self("cstp.contribute", deliberationId=session, participant=seat, type=kind, **words)

    def vote(
        self,
        session: str,
        seat: str,
        position: str = "support",
        confidence: float = 0.8,
        **words: Any,
    ) -> Any:
        return self.say(session, seat, "vote", position=position, confidence=confidence, **words)

    def held(self, **changes: Any) -> str:
        """A deliberation that has taken the course of the source's example, to its end."""
        session = self.open(**changes)
        for seat, words in STEPS:
            self("cstp.contribute", deliberationId=session, participant=seat, **words)
        return session

    def read(self, session: str, **params: Any) -> Any:
        return self("cstp.getDeliberation", deliberationId=session, **params)

    @contextmanager
    def events(self, session: str, after: int | None = None) -> Iterator["Events"]:
        """The stream of a session's entries."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        if after is not None:
            headers["Last-Event-ID"] = str(after)
        link = http.client.HTTPConnection(self.address, timeout=DEADLINE)
        try:
            link.request("GET", f"/events/{session}", headers=headers)
            found = link.getresponse()
            assert found.status == 200, found.read()
            assert found.getheader("content-type", "").startswith("text/event-stream")
            yield Events(found)
        finally:
            link.close()


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event."""

    kind: str
    id: int | None
    data: Any


class Events:
    """Reads a stream, within the deadline."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self._response = response

    def next(self) -> Event:
        """The next event; raises ConnectionError when the stream breaks off."""
        fields: dict[str, str] = {}
        while True:
            line = self._response.readline().decode().rstrip("\r\n")
            if not line:
                if "event" in fields:
                    number = fields.get("id")
                    return Event(
                        fields["event"],
                        None if number is None else int(number),
                        json.loads(fields["data"]),
                    )
                if self._response.isclosed():
                    raise ConnectionError("the stream broke off")
                continue
            if not line.startswith(":"):
                name, _, value = line.partition(":")
                fields[name] = value.removeprefix(" ")

    def until(self, wanted: Callable[[Event], bool]) -> list[Event]:
        """Everything up to and with the first event that is wanted."""
        found = [self.next()]
        while not wanted(found[-1]):
            found.append(self.next())
        return found

    def entries(self, last: int) -> list[Event]:
        """Everything up to an entry."""
        return self.until(lambda event: event.id == last)

    def rest(self) -> list[Event]:
        """Everything up to the end of the session."""
        return self.until(lambda event: event.kind == "end")


class Server:
    """`moot serve` on a home of its own; the port stays the same when it is started again."""

    def __init__(self, cli: "Cli", *words: str) -> None:
        self.cli = cli
        self._words = words
        self._port = 0
        self.log = cli.cwd / "serve.log"
        self.said = ""
        self._process: Process | None = None
        self.start()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_up:
            self.kill()

    @property
    def is_up(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def local(self) -> Client:
        """A client of whoever runs it: with the key of its home."""
        return Client(self.address, self.cli.key)

    @property
    def nobody(self) -> Client:
        """A client without a token."""
        return Client(self.address)

    def client(self, token: str) -> Client:
        return Client(self.address, token)

    def start(self) -> None:
        """Start it, and wait for the line that says where it is."""
        assert not self.is_up
        with self.log.open("ab") as log:
            self._process = self.cli.spawn(["serve", "--port", str(self._port), *self._words], log)
        line = first_line(self._process)
        self.said += line
        found = re.search(r"http://[^ ]+:(\d+) ", line)
        assert found, (line, self.log.read_text())
        self._port = int(found.group(1))
        self._await_answer()

    def _await_answer(self) -> None:
        """Until it answers: it says where it will be before it is there."""
        end = time.monotonic() + DEADLINE
        while True:
            try:
                found = self.local.get("/healthz")
            except ConnectionRefusedError:
                assert time.monotonic() < end, "nobody answers"
                assert self.is_up, self.log.read_text()
                time.sleep(0.02)
                continue
            assert (found.status, found.json()) == (200, {"status": "ok"})
            return

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        return self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Stop it as its owner would, and start it again."""
        self.stop()
        self.start()

    def logged(self) -> str:
        """All that it has said so far."""
        return self.said + self.log.read_text(encoding="utf-8")

    def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        out, _ = self._process.communicate(timeout=DEADLINE)
        self.said += out.decode()
        assert self._process.returncode is not None
        return self._process.returncode


def first_line(process: "Process | subprocess.Popen[bytes]") -> str:
    """The first line that a process prints; what it said so far if it ends before that."""
    assert process.stdout is not None
    end, found = time.monotonic() + DEADLINE, b""
    while not found.endswith(b"\n"):
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, end - time.monotonic()))
        assert ready, "it says nothing"
        piece = os.read(process.stdout.fileno(), 1)
        if not piece:
            break
        found += piece
    return found.decode()


@contextmanager
def thrown(works: Sequence[Callable[[], T]]) -> Iterator[list["Future[T]"]]:
    """All of these at once, each in a thread of its own."""
    with ThreadPoolExecutor(max_workers=len(works)) as pool:
        yield [pool.submit(work) for work in works]


def at_once(works: Sequence[Callable[[], T]]) -> list[T]:
    """The results of all of these, done at once."""
    with thrown(works) as futures:
        return [future.result(timeout=DEADLINE) for future in futures]


class Participant:
    """A client in a process of its own."""

    def __init__(self, server: "Server", what: str = "calls", *words: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, what, server.address, server.cli.key, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )

    @classmethod
    def looping(
        cls, server: "Server", session: str, seat: str, says: Mapping[str, Sequence[Any]]
    ) -> "Participant":
        """One that waits for its turns; `says` has what it contributes in each phase, in order."""
        found = cls(server, "loop", session, seat)
        found._write(says)
        return found

    def __call__(self, method: str, /, **params: Any) -> Any:
        """Let it make a call; the result. Raises Refused."""
        self._write({"method": method, "params": params})
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the participant has ended"
        found = json.loads(line)
        if "error" in found:
            raise Refused(**found["error"])
        return found["result"]

    def ended(self) -> Any:
        """What a looping participant saw at the end."""
        out, _ = self._process.communicate(timeout=DEADLINE)
        assert self._process.returncode == 0
        return json.loads(out)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate(timeout=DEADLINE)

    def __enter__(self) -> "Participant":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, value: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(value) + "\n")
        self._process.stdin.flush()


def _serve_calls(client: Client, lines: IO[str]) -> None:
    for line in lines:
        call = json.loads(line)
        try:
            found: dict[str, Any] = {"result": client(call["method"], **call["params"])}
        except Refused as error:
            found = {"error": {"code": error.code, "message": error.message, "kind": error.kind}}
        print(json.dumps(found), flush=True)


def _take_turns(
    client: Client, session: str, seat: str, says: Mapping[str, list[dict[str, Any]]]
) -> dict[str, Any]:
    """Contribute at each turn until the end; what was read on the way, and the result."""
    cursor, read = 0, []
    while True:
        turn = client(
            "cstp.waitForTurn",
            deliberationId=session,
            participant=seat,
            cursor=cursor,
            timeoutSeconds=20,
        )
        cursor = turn["cursor"]
        read += turn["new"]
        if turn["status"] == "closed":
            return {"result": turn["result"], "read": read}
        if turn["status"] == "your_turn":
            words = says[turn["ask"]["phase"]].pop(0)
            key = f"{seat} {turn['ask']['id']}"
            client(
                "cstp.contribute",
                deliberationId=session,
                participant=seat,
                idempotencyKey=key,
                **words,
            )


if __name__ == "__main__":
    _, what, where, key, *rest = sys.argv
    if what == "calls":
        _serve_calls(Client(where, key), sys.stdin)
    else:
        print(
            json.dumps(
                _take_turns(Client(where, key), rest[0], rest[1], json.loads(sys.stdin.readline()))
            )
        )
