"""A loopback stand-in for an OpenAI-compatible server, for tests. Standard library only.

    async with StubServer([StubReply(text="hello"), Fail(status=429, retry_after=1)]) as stub:
        ...  # point a client at stub.base_url, then look at stub.requests

Each POST to `/chat/completions` or `/responses` takes the next step of the script, whether it streams or not; when the script has
run out, the last step is repeated. A step may also be a function from the request to a step. `GET /models` takes none.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Final, Self, assert_never

from moothall_testkit.stub_bodies import (
    BREAK,
    Drop,
    Fail,
    Hang,
    Json,
    Raw,
    Request,
    Step,
    StubReply,
    build_body,
    build_error_body,
    build_models_body,
    stream_events,
)

__all__ = ["Drop", "Fail", "Hang", "Raw", "Request", "Step", "StubReply", "StubServer"]

ROUTES: Final = (
    "/responses",
    "/chat/completions",
    "/messages",
    ":generateContent",
    ":streamGenerateContent",
)

Script = Sequence[Step | Callable[[Request], Step]]


class _CloseConnection(Exception):
    """Close the connection now."""


class StubServer:
    """The server. `base_url` ends in `/v1`; `requests` holds every request, in order.

    With an `api_key`, any other is answered with 401. With `models`, these are listed and any other is answered with 404.
    `listing` is what `GET /models` does instead. `reject` looks at a body first and may refuse it without taking a step: a server
    that does not know `response_format`, say. A `port` lets a server come back where it was before; 0 chooses a free one.
    `headers` go with every answer.
    """

    def __init__(
        self,
        script: Script = (),
        *,
        api_key: str | None = None,
        models: Sequence[str] | None = None,
        listing: Step | None = None,
        reject: Callable[[Json], Fail | None] | None = None,
        port: int = 0,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.requests: list[Request] = []
        self.base_url = ""
        self._script = list(script)
        self._taken = 0
        self._api_key = api_key
        self._models = models
        self._listing = listing
        self._reject = reject
        self.headers = dict(headers or {})
        self.port = port
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def asked(self) -> list[Request]:
        """The requests for an answer alone."""
        return [request for request in self.requests if request.method == "POST"]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            while (request := await _read_request(reader)) is not None:
                self.requests.append(request)
                await self._answer(request, writer)
        except (
            _CloseConnection,
            ConnectionError,
            asyncio.IncompleteReadError,
            asyncio.CancelledError,
        ):
            pass
        finally:
            writer.transport.abort()

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        more = [f"{name}: {value}" for name, value in self.headers.items()]
        await _perform_step(self._choose_step(request), request, writer, more)

    def _choose_step(self, request: Request) -> Step:
        if (
            self._api_key is not None
            and request.headers.get("authorization") != f"Bearer {self._api_key}"
        ):
            return Fail(status=401, message="Incorrect API key provided", code="invalid_api_key")
        if request.method == "GET" and request.path.endswith("/models"):
            names = ["stub"] if self._models is None else self._models
            return self._listing or Raw(body=json.dumps(build_models_body(names)).encode())
        if request.method != "POST" or not request.path.endswith(ROUTES):
            return Fail(status=404, message=f"no route {request.method} {request.path}")
        name = request.body.get("model")
        if self._models is not None and name not in self._models:
            return Fail(
                status=404, message=f"The model `{name}` does not exist", code="model_not_found"
            )
        if self._reject is not None and (refused := self._reject(request.body)) is not None:
            return refused
        return self._take_next_step(request)

    def _take_next_step(self, request: Request) -> Step:
        if not self._script:
            return StubReply()
        step = self._script[min(self._taken, len(self._script) - 1)]
        self._taken += 1
        return step(request) if callable(step) else step


async def _perform_step(
    step: Step, request: Request, writer: asyncio.StreamWriter, more: Sequence[str]
) -> None:
    match step:
        case Hang():
            await asyncio.Event().wait()
        case Drop():
            raise _CloseConnection
        case Raw(body=body, status=status, content_type=content_type):
            await _send_response(writer, status, body, f"content-type: {content_type}", *more)
        case Fail(status=status, retry_after=retry_after):
            wait = [] if retry_after is None else [f"retry-after: {retry_after}"]
            await _send_response(
                writer,
                status,
                json.dumps(build_error_body(step)).encode(),
                "content-type: application/json",
                *wait,
                *more,
            )
        case StubReply():
            await asyncio.sleep(step.delay)
            if request.body.get("stream"):
                await _send_events(writer, step, stream_events(step, request), more)
            else:
                await _send_response(
                    writer,
                    200,
                    json.dumps(build_body(step, request)).encode(),
                    "content-type: application/json",
                    *more,
                )
        case _:
            assert_never(step)


async def _read_request(reader: asyncio.StreamReader) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, path, _ = first.split(" ", 2)
    pairs = [line.partition(":") for line in lines if line]
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    raw = await reader.readexactly(int(headers.get("content-length", "0")))
    body = json.loads(raw) if raw else {}
    at = asyncio.get_running_loop().time()
    return Request(
        method=method,
        path=path.partition("?")[0],
        headers=headers,
        body=body if isinstance(body, dict) else {},
        at=at,
    )


async def _send_response(
    writer: asyncio.StreamWriter, status: int, body: bytes, *headers: str
) -> None:
    head = [f"HTTP/1.1 {status} Stub", f"content-length: {len(body)}", *headers]
    writer.write("\r\n".join(head).encode() + b"\r\n\r\n" + body)
    await writer.drain()


async def _send_events(
    writer: asyncio.StreamWriter,
    reply: StubReply,
    events: AsyncIterator[Json],
    more: Sequence[str] = (),
) -> None:
    head = [
        "HTTP/1.1 200 Stub",
        "content-type: text/event-stream",
        "transfer-encoding: chunked",
        *more,
    ]
    writer.write("\r\n".join(head).encode() + b"\r\n\r\n")
    async for body in events:
        if body is BREAK:
            await _break_off(writer, reply)
        else:
            await _send_event(writer, json.dumps(body), body.get("type"))
    await _send_event(writer, "[DONE]")
    writer.write(b"0\r\n\r\n")
    await writer.drain()


async def _send_event(writer: asyncio.StreamWriter, text: str, kind: str | None = None) -> None:
    raw = (f"event: {kind}\n" if kind else "").encode() + f"data: {text}\n\n".encode()
    writer.write(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")
    await writer.drain()


async def _break_off(writer: asyncio.StreamWriter, reply: StubReply) -> None:
    match reply.then:
        case "drop":
            raise _CloseConnection
        case "hang":
            await asyncio.Event().wait()
        case "garbage":
            await _send_event(writer, "{not json")
        case "error":
            await _send_event(writer, json.dumps(build_error_body(Fail(status=500))))
        case _:
            assert_never(reply.then)
