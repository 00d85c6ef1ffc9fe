"""Tools that the owner of this machine set up for seats: those of MCP servers by allow-list, and pages of hosts by list.

Only what `[tools.NAME]` of the settings names is started, connected to or called. What comes back is bounded in time and size.
"""

import asyncio
import importlib
import json
import logging
import os
import re
import time
from collections.abc import AsyncIterable, Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote_plus, urljoin, urlsplit
from uuid import uuid4

from moothall.domain.budget import ToolOutcome, Usage
from moothall.domain.dictionaries import BoundedDict
from moothall.domain.facts import Language
from moothall.domain.safe_text import compile_late, fix_surrogates, is_web_address, one_line
from moothall.domain.topic import ContextFile
from moothall.locale.catalogues import CONTEXT_FILES
from moothall.participants.hosts import send_request
from moothall.participants.page_text import extract_text
from moothall.participants.provider_limits import bound_answers
from moothall.participants.subprocess_runner import MARK, kill_strays
from moothall.reports.given_tools import (
    READ,
    SEARCH,
    OfferedTool,
    ToolResult,
    quote_returned,
    run_tool,
)

if TYPE_CHECKING:
    import httpx2
    from mcp import Client
    from mcp_types import CallToolResult, Tool

MAX_RETURNED: Final = 2_000_000
"""Bytes or characters of one answer; what is over it is not read."""
MAX_PAGE: Final = 200_000
"""Bytes of a page; that there is more, the result says."""
MAX_DESCRIPTION_LENGTH: Final = 1_000
MAX_SCHEMA_LENGTH: Final = 8_000
MAX_TOOLS: Final = 2_000
MAX_TOOL_PAGES: Final = 20
MAX_REDIRECTS: Final = 5
MAX_CACHED: Final = 100
CACHED_SECONDS: Final = 3_600.0
_REFUSED: Final = compile_late(r"[^A-Za-z0-9_-]")
"""What providers do not take in the name of a tool."""
_CHARSET: Final = compile_late(
    r"charset=(utf-?8|iso-8859-\d+|windows-125\d|gb\w+|big5|shift_jis|euc-\w+)\b"
)


class ToolFailure(Exception):
    """A tool did not do its work; why, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSource:
    """One `[tools.NAME]`: a program or an address that speaks MCP, hosts whose pages may be fetched, or a search engine."""

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    allow: tuple[str, ...] = ()
    """The tools of the server that seats may call, and no others."""
    hosts: tuple[str, ...] = ()
    engine: str = ""
    """The address of a search, `{words}` where the words go."""
    builtin: bool = False
    """Whether it is the web search that a model's provider has itself."""
    env: tuple[str, ...] = ()
    """Variables of Moot's environment that the program receives."""
    token: str = ""
    """The variable whose value an MCP server is sent as a bearer token."""
    seconds: float = 20.0
    price: float = 0.0
    """US dollars a call."""
    private: bool = False
    """Whether the hosts may be on this machine or in a private network."""
    remote: bool = False
    """Whether callers from the network may name it for their sessions."""


class ToolBox:
    """The sources of this machine, each opened when it is first needed, and what they answered within the last hour."""

    def __init__(
        self, load: Callable[[], Mapping[str, ToolSource]], environ: Mapping[str, str]
    ) -> None:
        self._load = load
        self._environ = environ
        self._sources: dict[str, ToolServer | WebPages] = {}
        self.repositories: set[str] = set()
        """The git directories that this process may read beside the one that it was started in."""
        self._answers: BoundedDict[tuple[str, str, Language], tuple[float, ToolResult]] = (
            BoundedDict(MAX_CACHED)
        )

    def find(self, name: str) -> ToolSource | None:
        """Return the source of a name; None where the settings have none."""
        return self._load().get(name)

    async def list_tools(self, name: str, language: Language) -> tuple[OfferedTool, ...]:
        """Return what a source offers, nothing where the provider does it all; raises ToolFailure."""
        source = self.find(name)
        if source is not None and source.builtin:
            return ()
        return await self._open(name).list_tools(language)

    async def call(
        self, name: str, tool: str, arguments: Mapping[str, Any], language: Language
    ) -> ToolResult:
        """Return what a tool of a source comes to; raises ToolFailure."""
        key = (tool, json.dumps(arguments, sort_keys=True, default=str), language)
        at, result = self._answers.get(key, (0.0, None))
        if result is None or time.monotonic() - at > CACHED_SECONDS:
            result = await self._open(name).call(tool, arguments, language)
            if result.outcome == "answered":
                self._answers[key] = (time.monotonic(), result)
            source = self.find(name)
            # What comes from the cache afterwards costs nothing.
            if source is not None and source.price:
                result = replace(result, usage=Usage(cost=round(source.price * 1e6)))
        return result

    async def aclose(self) -> None:
        for source in self._sources.values():
            await source.aclose()
        self._sources.clear()

    def _open(self, name: str) -> "ToolServer | WebPages":
        if name not in self._sources:
            source = self.find(name)
            if source is None:
                raise ToolFailure("it is not set up on this machine")
            if source.hosts or source.engine:
                self._sources[name] = WebPages(source)
            else:
                self._sources[name] = ToolServer(source, self._environ)
        return self._sources[name]


@dataclass(slots=True, eq=False)
class _Line:
    """A connection to a server. Only the task that opened it may close it: so one task of its own holds it."""

    loop: asyncio.AbstractEventLoop
    client: "asyncio.Future[Client]"
    is_over: asyncio.Event = field(default_factory=asyncio.Event)
    task: "asyncio.Task[None] | None" = None


class ToolServer:
    """The allowed tools of one MCP server, which is started or connected to when it is first needed."""

    def __init__(self, source: ToolSource, environ: Mapping[str, str]) -> None:
        self._source = source
        self._environ = environ
        self._line: _Line | None = None
        self._lines: set[_Line] = set()
        self._tools: dict[str, tuple[str, OfferedTool]] = {}

    async def list_tools(self, language: Language) -> tuple[OfferedTool, ...]:
        if not self._tools:
            listed: dict[str, Tool] | None = await self._request(_list_all_tools)
            if listed is None:
                raise ToolFailure(
                    f"it lists too many tools: at most {MAX_TOOLS}, on {MAX_TOOL_PAGES} pages, are read"
                )
            for name in self._source.allow:
                if name not in listed:
                    has = ", ".join(sorted(map(one_line, listed))[:30]) or "none"
                    raise ToolFailure(f"it has no tool {name!r}; its tools are: {has}")
            tools: dict[str, tuple[str, OfferedTool]] = {}
            for name in self._source.allow:
                offer = _build_offer(self._source.name, listed[name])
                tools[offer.name] = (name, offer)
            self._tools = tools
        return tuple(offer for _, offer in self._tools.values())

    async def call(self, tool: str, arguments: Mapping[str, Any], language: Language) -> ToolResult:
        name = self._tools[tool][0]
        result: CallToolResult = await self._request(
            lambda client: client.call_tool(name, dict(arguments))
        )
        outcome: ToolOutcome = "failed" if result.is_error else "answered"
        return quote_returned(language, tool, _extract_text(result), outcome)

    async def aclose(self) -> None:
        loop = asyncio.get_running_loop()
        # Lines of another loop ended with it.
        tasks = [line.task for line in self._lines if line.task is not None and line.loop is loop]
        for line in list(self._lines):
            self._drop(line)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _request(self, ask: Callable[["Client"], Any]) -> Any:
        """Return the answer of the server, within its time; asked once more where the connection broke. Raises ToolFailure."""
        # On a thread: the import takes more than a second, which is not the server's.
        await asyncio.to_thread(importlib.import_module, "mcp")
        from mcp.shared.exceptions import MCPError
        from mcp_types import CONNECTION_CLOSED

        why = ""
        for _ in range(2):
            line = self._open_line()
            try:
                async with asyncio.timeout(self._source.seconds):
                    return await ask(await asyncio.shield(line.client))
            except TimeoutError:
                # One that hangs is ended: the next call meets a new one.
                self._drop(line)
                raise ToolFailure(f"no answer within {self._source.seconds:g} s") from None
            except Exception as error:  # noqa: BLE001 - a server is other people's code: whatever comes of it is its own failure
                why = _explain(error)
                if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
                    break
                self._drop(line)
        raise ToolFailure(why)

    def _open_line(self) -> _Line:
        loop = asyncio.get_running_loop()
        if self._line is None or self._line.loop is not loop:
            line = self._line = _Line(loop, loop.create_future())
            self._lines.add(line)
            line.task = loop.create_task(self._hold(line))
        return self._line

    def _drop(self, line: _Line) -> None:
        line.is_over.set()
        if line.task is not None and not line.client.done():
            line.task.cancel()
        if self._line is line:
            self._line = None

    async def _hold(self, line: _Line) -> None:
        from mcp import Client

        why = "it was ended"
        mark = uuid4().hex
        try:
            async with AsyncExitStack() as stack:
                # Entered first, so left last: a child of the server may have a session of its own, and outlive it.
                stack.callback(kill_strays, mark)
                transport = self._build_transport(stack, mark)
                client = await stack.enter_async_context(Client(transport))
                line.client.set_result(client)
                await line.is_over.wait()
        except Exception as error:  # noqa: BLE001 - whatever a server does at its start is for the one who waits for it
            why = _explain(error)
        finally:
            if not line.client.done():
                line.client.set_exception(ToolFailure(why))
                line.client.exception()  # seen, also where the one who waited has left
            self._lines.discard(line)
            self._drop(line)

    def _build_transport(self, stack: AsyncExitStack, mark: str) -> Any:
        from mcp.client.stdio import StdioServerParameters, stdio_client
        from mcp.client.streamable_http import streamable_http_client

        # A server's complaints are not ours: without a handler they would be printed between the lines of a meeting.
        logging.getLogger("mcp").addHandler(logging.NullHandler())
        source = self._source
        if source.command:
            env = {
                name: self._environ[name] for name in ("PATH", *source.env) if name in self._environ
            }
            env[MARK] = mark
            program, *words = source.command
            parameters = StdioServerParameters(
                command=program, args=words, env=env, encoding_error_handler="replace"
            )
            return stdio_client(parameters, errlog=stack.enter_context(Path(os.devnull).open("w")))
        headers = {}
        if source.token:
            headers["Authorization"] = f"Bearer {self._environ.get(source.token, '')}"
        client = _build_bounded_client(headers, source.seconds)
        stack.push_async_callback(client.aclose)
        return streamable_http_client(source.url, http_client=client)


async def _list_all_tools(client: "Client") -> "dict[str, Tool] | None":
    """Return the tools of all pages of a server's list, by name; None where it has too many."""
    listed: dict[str, Tool] = {}
    cursor: str | None = None
    for _ in range(MAX_TOOL_PAGES):
        answer = await client.list_tools(cursor=cursor)
        listed |= {tool.name: tool for tool in answer.tools}
        if len(listed) > MAX_TOOLS:
            return None
        if not answer.next_cursor:
            return listed
        cursor = answer.next_cursor
    return None


@dataclass(frozen=True, slots=True)
class _Page:
    """What is read of a page; `is_cut`: there is more of it."""

    text: str
    is_cut: bool


class WebPages:
    """One tool: it fetches a page of a listed host, or what a search engine answers; checked at every step of the way.

    Connections go to the address that was checked, so that a name cannot lead into a private network a moment later. Redirects
    are followed by hand, each to a host that is listed as well.
    """

    def __init__(self, source: ToolSource) -> None:
        self._source = source

    async def list_tools(self, language: Language) -> tuple[OfferedTool, ...]:
        words, source = CONTEXT_FILES[language].tools, self._source
        text, line = {"type": "string"}, {"type": "integer", "minimum": 1}
        if source.engine:
            fields: dict[str, Any] = {"words": text}
            description = words["web_search"]
        else:
            fields = {"url": text, "words": text, "first": line}
            description = words["fetch"].format(hosts=", ".join(source.hosts[:20]))
        schema = {"type": "object", "properties": fields, "required": [next(iter(fields))]}
        return (OfferedTool(name=source.name, description=description, schema=schema),)

    async def call(self, tool: str, arguments: Mapping[str, Any], language: Language) -> ToolResult:
        source, words, url = self._source, arguments.get("words"), str(arguments.get("url", ""))
        if source.engine:
            url, words = source.engine.replace("{words}", quote_plus(str(words))), None
        try:
            async with asyncio.timeout(source.seconds):
                url, page = await self._fetch(url)
        except TimeoutError:
            raise ToolFailure(f"no answer from {url[:200]} within {source.seconds:g} s") from None
        file = ContextFile(name=url, text=page.text)
        if isinstance(words, str) and words.strip():
            result = run_tool(language, (file,), SEARCH, {"words": words})
        else:
            place = {"file": file.name, "first": arguments.get("first")}
            result = run_tool(language, (file,), READ, place)
        head = CONTEXT_FILES[language].fetched.format(
            url=file.name, at=f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
        )
        if page.is_cut:
            head += "\n" + CONTEXT_FILES[language].page_cut.format(count=MAX_PAGE)
        return replace(result, text=f"{head}\n{result.text}", returned=file.text)

    async def aclose(self) -> None: ...

    async def _fetch(self, url: str) -> tuple[str, _Page]:
        """Return a page and its address, which a redirect may have changed; raises ToolFailure."""
        for _ in range(MAX_REDIRECTS + 1):
            self._check_host(url)
            try:
                async with send_request(
                    "GET", url, {}, is_private=self._source.private
                ) as response:
                    if not response.has_redirect_location:
                        return url, await _read_page(response)
                    url = urljoin(url, response.headers["location"])
            except (OSError, ValueError) as cause:
                raise ToolFailure(f"{url[:200]} cannot be fetched: {cause}") from cause
        raise ToolFailure(f"it was redirected more than {MAX_REDIRECTS} times")

    def _check_host(self, url: str) -> None:
        """Raise ToolFailure for an address that the owner has not listed."""
        source = self._source
        if not is_web_address(url):
            raise ToolFailure(f"{url[:200]!r} is not an address; expected https://HOST/PATH")
        host = (urlsplit(url).hostname or "").rstrip(".")
        hosts = source.hosts or (urlsplit(source.engine).hostname or "",)
        if not any(fnmatchcase(host, each) for each in hosts):
            raise ToolFailure(
                f"{host[:200]} is not among the hosts that may be fetched: {', '.join(hosts[:20])}"
            )


async def read_bounded(chunks: AsyncIterable[bytes], most: int) -> bytes:
    """Return an answer; of one that is longer than `most` bytes the start, which is longer than that too."""
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) > most:
            break
    return bytes(data)


async def _read_page(response: "httpx2.Response") -> _Page:
    kind = response.headers.get("content-type", "text/plain").lower()
    if response.status_code != 200:
        raise ValueError(f"the answer was {response.status_code}")
    if response.headers.get("content-encoding", "identity") != "identity" or not re.match(
        r"text/|application/(json|\S*xml)", kind
    ):
        raise ValueError(f"it is not text but {kind[:60]}")
    raw = await read_bounded(response.aiter_raw(), MAX_PAGE)
    encoding = "utf-8"
    charset = _CHARSET.search(kind)
    if charset is not None:
        encoding = charset[1]
    text = raw[:MAX_PAGE].decode(encoding, "replace")
    if "html" in kind:
        text = await asyncio.to_thread(extract_text, text)
    if not text.strip():
        raise ValueError("it holds no text")
    return _Page(text, is_cut=len(raw) > MAX_PAGE)


def _build_bounded_client(headers: Mapping[str, str], seconds: float) -> "httpx2.AsyncClient":
    """Return a client whose answers end with an error where they are too long, whatever size they state."""
    import httpx2

    timeout = httpx2.Timeout(seconds, read=None)
    return httpx2.AsyncClient(
        headers={**headers, "Accept-Encoding": "identity"},
        timeout=timeout,
        event_hooks={"response": [bound_answers(MAX_RETURNED)]},
    )


def _build_offer(source: str, tool: "Tool") -> OfferedTool:
    """Return a tool as it is described to models; raises ToolFailure for one that they cannot have."""
    hints, name = tool.annotations, _REFUSED.sub("_", f"{source}__{tool.name}")
    if hints is not None and (hints.read_only_hint is False or hints.destructive_hint):
        raise ToolFailure(
            f"its tool {tool.name!r} says that it changes things; seats only look things up"
        )
    if len(name) > 64 or len(json.dumps(tool.input_schema)) > MAX_SCHEMA_LENGTH:
        raise ToolFailure(f"the name or the schema of its tool {tool.name!r} is too long")
    properties = tool.input_schema.get("properties")
    schema = {
        **tool.input_schema,
        "type": "object",
        "properties": properties if isinstance(properties, dict) else {},
    }
    return OfferedTool(
        name=name,
        description=one_line(tool.description or "")[:MAX_DESCRIPTION_LENGTH],
        schema=schema,
    )


def _extract_text(result: "CallToolResult") -> str:
    parts = []
    for each in result.content:
        if each.type == "text":
            parts.append(each.text)
            continue
        text = getattr(getattr(each, "resource", None), "text", None)
        parts.append(f"[{each.type}]" if text is None else text)
    if not parts and result.structured_content is not None:
        parts.append(json.dumps(result.structured_content, ensure_ascii=False))
    return fix_surrogates("\n".join(parts)[:MAX_RETURNED])


def _explain(error: BaseException) -> str:
    """Return the first cause in words."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return one_line(str(error))[:300] or type(error).__name__
