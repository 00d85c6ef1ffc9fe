"""The calls of the table as an MCP server, for clients of every revision.

The SDK costs about a second to import, so that the command line imports this module only where it serves.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from typing import Any, Final

import anyio
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.apps import APP_MIME_TYPE, client_supports_apps
from mcp.server.context import CallNext, HandlerResult
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp.shared.uri_template import UriTemplate
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from moothall.app.session_list import SessionLine
from moothall.app.version import VERSION
from moothall.codec.settings import explain_validation_error
from moothall.domain.ids import parse_session_id
from moothall.domain.safe_text import dump_json, fix_surrogates, one_line
from moothall.errors import BadSetting, MootError, SessionClosed
from moothall.locale.catalogues import PERSON_SEAT, PersonSeatText
from moothall.surfaces.api.errors import explain_to_client
from moothall.surfaces.api.method import (
    TRACE_HEADER,
    Call,
    Caller,
    ServerContext,
    load_newest_sessions,
)
from moothall.surfaces.api.methods import TABLE, TOOLS
from moothall.surfaces.api.page import HTML, export_text
from moothall.surfaces.api.toolsets import (
    ALL_TOOLS,
    MAX_TOOLS,
    add_output_schemas,
    complete_arguments,
    describe_tools,
    select_tools,
)
from moothall.surfaces.api.views import build_seat_prompt
from moothall.surfaces.mcp.greeting import EXTENSIONS, ICON, Greeting, build_instructions
from moothall.surfaces.mcp.tasks import (
    CONSULT,
    TASK,
    begin_task,
    check_tasks,
    has_tasks,
    load_task,
    may_be_task,
)
from moothall.surfaces.mcp.transport import CancelMiddleware

TIMELINE: Final = "moot://sessions/{session}/timeline"
TIMELINE_DESCRIPTION: Final = (
    "The minutes of a session: the decision first, then everything that was said."
)
PAGE: Final = "ui://moot/sessions/{session}"
APP: Final = "ui://moot/session.html"
APP_TOOLS: Final = frozenset({"open_session", "get_session"})
"""The tools whose results the app shows: those that give a session's decision."""
MAX_LISTED: Final = 100
ENDED: Final = frozenset({"concluded", "closed", "ended", "cancelled"})
"""The statuses of results that say that a session is over."""

log = logging.getLogger("moot")

Ctx = ServerRequestContext[dict[str, Any], Any]
PageParams = types.PaginatedRequestParams | None
CallerOf = Callable[[Any], Awaitable[Caller]]
"""Who stands behind a request; the request is None on stdio."""

PROMPT: Final = types.Prompt(
    name="join",
    description="Take a seat in a session and take part in it to its end.",
    arguments=[
        types.PromptArgument(name="session", description="The session's id.", required=True),
        types.PromptArgument(
            name="seat", description="The seat; may be omitted with a seat's token.", required=False
        ),
    ],
)

ASK_PERSON: Final = types.Tool(
    name="ask_person",
    description="Let the person at this client answer what your seat is asked now, in a form. Use it where they want to speak or "
    "vote themselves; what they answer is recorded as the seat's.",
    input_schema={"type": "object", "properties": {}},
    annotations=types.ToolAnnotations(
        read_only_hint=False, destructive_hint=False, open_world_hint=False
    ),
)
ANSWER: Final = "answer"
MAX_PERSON_MESSAGE: Final = 8_000


class McpServer:
    """Answers the requests of MCP clients."""

    def __init__(
        self,
        context: ServerContext,
        caller_of: CallerOf,
        *,
        shows_all: bool = False,
        shows_outputs: bool = False,
    ) -> None:
        self._house = context
        self._caller_of = caller_of
        self._shows_all = shows_all
        self._shows_outputs = shows_outputs
        self._timeline = UriTemplate.parse(TIMELINE)
        self._page = UriTemplate.parse(PAGE)

    def build_server(self) -> Server[dict[str, Any]]:
        """The server; a transport runs it."""
        schemas = {tool["name"]: tool["inputSchema"] for tool in describe_tools(ALL_TOOLS)}
        server: Server[dict[str, Any]] = Server(
            "moot",
            version=VERSION,
            title="Moot",
            instructions=build_instructions("local"),
            icons=[types.Icon.model_validate(ICON)],
            # Without it every call of a stateless client would list the tools first.
            get_tool_input_schema=schemas.get,
            on_list_tools=self._list_tools,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._get_prompt,
            on_completion=self._complete,
        )
        server.extensions = EXTENSIONS
        # Answers with a task, too, which the library knows as a handler of any request only.
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        for method in ("tasks/get", "tasks/update", "tasks/cancel"):
            server.add_request_handler(method, types.GetTaskRequestParams, self._handle_task)
        server.middleware.append(CancelMiddleware())
        server.middleware.append(self._instruct)
        return server

    async def _instruct(self, ctx: Ctx, call_next: CallNext) -> HandlerResult:
        """Greet each caller with the instructions of its role."""
        result = await call_next(ctx)
        if ctx.method not in {"initialize", "server/discover"} or not isinstance(result, dict):
            return result
        caller = await self._caller_of(ctx.request)
        return {**result, "instructions": build_instructions(caller.role, caller.session)}

    async def _build_call(self, ctx: Ctx) -> Call:
        async def progress(done: float, total: float) -> None:
            await ctx.session.report_progress(done, total, "waiting")

        trace = "" if ctx.request is None else ctx.request.headers.get(TRACE_HEADER, "")
        return Call(
            context=self._house,
            caller=await self._caller_of(ctx.request),
            progress=progress,
            trace=trace,
        )

    async def _list_tools(self, ctx: Ctx, params: PageParams) -> types.ListToolsResult:
        call = await self._build_call(ctx)
        # `/mcp?tools=all`: for a client that finds its way among all of them.
        shows_all = self._shows_all or (
            ctx.request is not None and ctx.request.query_params.get("tools") == "all"
        )
        with _explain_errors(types.INTERNAL_ERROR):
            names = await select_tools(call, is_everything=shows_all)
        tools = describe_tools(names, "local" if shows_all else call.caller.role)
        if self._shows_outputs or (
            ctx.request is not None and ctx.request.query_params.get("output") == "schema"
        ):
            tools = add_output_schemas(tools)
        if client_supports_apps(ctx):
            tools = [
                {**each, "_meta": {"ui": {"resourceUri": APP}}}
                if each["name"] in APP_TOOLS
                else each
                for each in tools
            ]
        described = [types.Tool.model_validate(each) for each in tools]
        is_person_here = (
            call.caller.role == "seat" and len(described) < MAX_TOOLS and can_ask_person(ctx)
        )
        return types.ListToolsResult(
            tools=[*described, ASK_PERSON] if is_person_here else described
        )

    async def _call_tool(self, ctx: Ctx, params: types.CallToolRequestParams) -> HandlerResult:
        method = TOOLS.get(params.name)
        if method is None and params.name != ASK_PERSON.name:
            known = ", ".join(await select_tools(await self._build_call(ctx)))
            raise MCPError(
                code=types.INVALID_PARAMS,
                message=f"no tool is called {params.name[:100]!r}; yours are: {known}",
            )
        try:
            call = await self._build_call(ctx)
            if method is None:
                outcome = await ask_person(ctx, call, params)
                if isinstance(outcome, types.InputRequiredResult):
                    return outcome
                result = outcome
            else:
                given = params.arguments or {}
                arguments = await complete_arguments(call, method, given)
                begins = has_tasks(ctx) and may_be_task(params.name, given)
                result = await (
                    begin_task(call, method, arguments)
                    if begins
                    else method.invoke(call, arguments)
                )
                if TASK.items() <= result.items():
                    return result
        except ValidationError as cause:
            return _build_refusal(explain_validation_error(cause))
        except MootError as cause:
            return _build_refusal(explain_to_client(cause))
        except Exception:
            log.exception("the tool %s failed", params.name)
            return _build_refusal("the server failed; see its log")
        return self._build_result(result)

    def _build_result(self, result: dict[str, Any]) -> types.CallToolResult:
        content: list[types.ContentBlock] = [
            types.TextContent(text=dump_json(result)),
            *self._link_minutes(result),
        ]
        return types.CallToolResult(content=content, structured_content=result)

    async def _handle_task(self, ctx: Ctx, params: types.GetTaskRequestParams) -> HandlerResult:
        """Read a task, or cancel it. It asks for no input: what it is sent all the same is passed over, as the extension says."""
        check_tasks(ctx)
        call = await self._build_call(ctx)
        try:
            if ctx.method == "tasks/cancel":
                with suppress(SessionClosed):
                    await TABLE["moot.cancelSession"].invoke(
                        call, {"sessionId": params.task_id.removeprefix(CONSULT)}
                    )
            task = await load_task(call, params.task_id, self._build_result)
        except MootError as cause:
            raise MCPError(code=types.INVALID_PARAMS, message=explain_to_client(cause)) from None
        return task if ctx.method == "tasks/get" else {}

    def _link_minutes(self, result: dict[str, Any]) -> list[types.ResourceLink]:
        """The minutes of a session that a result says to be over."""
        session = result.get("sessionId") or result.get("deliberationId")
        if not session or result.get("status") not in ENDED:
            return []
        uri = self._timeline.expand({"session": session})
        return [
            types.ResourceLink(name=f"minutes of {session}", uri=uri, mime_type="text/markdown")
        ]

    async def _complete(
        self, ctx: Ctx, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """The ids of sessions that begin so, the newest first; for a seat of the prompt, the seats for those from outside."""
        call, typed = await self._build_call(ctx), params.argument.value
        values: list[str] = []
        if params.argument.name == "session":
            named = await call.moot.session_list.load_named(typed)
            values = [
                line.session
                for line in reversed(named)
                if call.caller.session in {"", line.session}
            ]
        elif (
            params.argument.name == "seat"
            and params.context is not None
            and params.context.arguments
        ):
            with suppress(MootError):
                session = params.context.arguments.get("session", "")
                call.caller.check_session(session)
                snapshot = await call.moot.engine.load_snapshot(parse_session_id(session))
                seats = [seat.id for seat in snapshot.session_state.seats if seat.is_outside]
                values = [seat for seat in seats if seat.startswith(typed)]
        shown = values[:MAX_LISTED]
        return types.CompleteResult(
            completion=types.Completion(
                values=shown, total=len(values), has_more=len(values) > len(shown)
            )
        )

    async def _list_resources(self, ctx: Ctx, params: PageParams) -> types.ListResourcesResult:
        call = await self._build_call(ctx)
        newest = await load_newest_sessions(call, MAX_LISTED)
        resources = []
        if client_supports_apps(ctx):
            app = types.Resource(
                name="session", title="The page of a session", uri=APP, mime_type=APP_MIME_TYPE
            )
            resources.append(app)
        for line in await call.moot.session_list.add_outcomes(newest.lines[::-1]):
            resources.append(
                types.Resource(
                    name=_name_resource(line),
                    uri=self._timeline.expand({"session": line.session}),
                    mime_type="text/markdown",
                )
            )
        return types.ListResourcesResult(resources=resources)

    async def _list_templates(
        self, ctx: Ctx, params: PageParams
    ) -> types.ListResourceTemplatesResult:
        timeline = types.ResourceTemplate(
            name="timeline",
            uri_template=TIMELINE,
            description=TIMELINE_DESCRIPTION,
            mime_type="text/markdown",
        )
        page = types.ResourceTemplate(name="page", uri_template=PAGE, mime_type=APP_MIME_TYPE)
        return types.ListResourceTemplatesResult(
            resource_templates=[timeline, page] if client_supports_apps(ctx) else [timeline]
        )

    async def _read_resource(
        self, ctx: Ctx, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        call = await self._build_call(ctx)
        if params.uri == APP:
            return _build_resource(
                APP, (files(__package__) / "session_app.html").read_text("utf-8")
            )
        minutes, page = self._timeline.match(params.uri), self._page.match(params.uri)
        session = (minutes or page or {}).get("session")
        if not isinstance(session, str):
            raise MCPError(
                code=types.INVALID_PARAMS, message=f"no resource is called {params.uri[:200]!r}"
            )
        with _explain_errors():
            call.caller.check_session(session)
            text = await export_text(call.moot, session, "minutes" if minutes else HTML)
        return _build_resource(params.uri, text)

    async def _list_prompts(self, ctx: Ctx, params: PageParams) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[PROMPT])

    async def _get_prompt(
        self, ctx: Ctx, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        arguments = params.arguments or {}
        if params.name != PROMPT.name or not arguments.get("session"):
            raise MCPError(
                code=types.INVALID_PARAMS, message="expected the prompt 'join' with a session"
            )
        call = await self._build_call(ctx)
        seat, session = arguments.get("seat") or call.caller.seat, arguments["session"]
        with _explain_errors():
            call.caller.check_session(session)
            snapshot = await call.moot.engine.load_snapshot(parse_session_id(session))
        outside = [each.id for each in snapshot.session_state.seats if each.is_outside]
        if seat not in outside:
            raise MCPError(
                code=types.INVALID_PARAMS,
                message=f"seat: {seat[:100]!r} is not a seat for somebody from outside; such are: {', '.join(outside) or 'none'}",
            )
        text = build_seat_prompt(snapshot, seat, has_token=call.caller.role == "seat")
        return types.GetPromptResult(
            description=PROMPT.description,
            messages=[types.PromptMessage(role="user", content=types.TextContent(text=text))],
        )


def can_ask_person(ctx: Ctx) -> bool:
    """Whether the client shows forms to its user, on this connection."""
    capabilities = ctx.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return _is_modern(ctx) or ctx.session.can_send_request


async def ask_person(
    ctx: Ctx, call: Call, params: types.CallToolRequestParams
) -> dict[str, Any] | types.InputRequiredResult:
    """Put the first open ask of the caller's seat to the person, and record the answer; raises MootError."""
    if not can_ask_person(ctx):
        raise BadSetting(
            "this client cannot ask its user; answer for the seat yourself, or let them use the session's page"
        )
    given = params.arguments or {}
    named = {
        "sessionId": given.get("sessionId") or call.caller.session,
        "seat": given.get("seat") or call.caller.seat,
    }
    asks = (await TABLE["moot.getPersonAsks"].invoke(call, named))["asks"]
    if not asks:
        return {"status": "nothing_asked", "sessionId": named["sessionId"]}
    name = asks[0]["ask"]["ask"]
    message = "\n\n".join(filter(None, (asks[0].get("about", ""), asks[0].get("intro", ""))))[
        -MAX_PERSON_MESSAGE:
    ]
    snapshot = await call.moot.engine.load_snapshot(parse_session_id(named["sessionId"]))
    words = PERSON_SEAT[snapshot.session_state.opened.language]
    form = types.ElicitRequestFormParams(
        message=message, requested_schema=_build_person_form(asks[0]["steps"], words)
    )
    if not _is_modern(ctx):
        answered: Any = await ctx.session.elicit_form(
            form.message, form.requested_schema, ctx.request_id
        )
    else:
        answered = (params.input_responses or {}).get(ANSWER)
        # An answer to an ask that is over by now answers nothing.
        if answered is None or params.request_state != name:
            return types.InputRequiredResult(
                input_requests={ANSWER: types.ElicitRequest(params=form)}, request_state=name
            )
    if not isinstance(answered, types.ElicitResult) or answered.action != "accept":
        return {"status": "declined", "sessionId": named["sessionId"]}
    answers = {
        key: str(value) for key, value in (answered.content or {}).items() if value is not None
    }
    written = await TABLE["moot.answerAsPerson"].invoke(
        call, {**named, "ask": name, "answers": answers}
    )
    return {"status": "answered", **written}


def _is_modern(ctx: Ctx) -> bool:
    return ctx.session.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS


def _build_person_form(steps: list[dict[str, Any]], words: PersonSeatText) -> dict[str, Any]:
    """The steps of an ask as a flat form: what is only asked after another answer may be left out.

    A field that may be left empty says what is recorded then.
    """
    fields: dict[str, Any] = {}
    for step in steps:
        fields[step["key"]] = {"type": "string", "title": one_line(step["text"])}
        if "ifEmpty" in step:
            meaning = words.left_empty.format(meaning=one_line(step["ifEmpty"]))
            fields[step["key"]]["description"] = meaning
        if step.get("choices"):
            choices = step["choices"]
            fields[step["key"]] |= {
                "enum": [choice["value"] for choice in choices],
                "enumNames": [one_line(choice["text"]) for choice in choices],
            }
    needed = [step["key"] for step in steps if step.get("needed") and step.get("onlyAfter") is None]
    return {"type": "object", "properties": fields, "required": needed}


@contextmanager
def _explain_errors(code: int = types.INVALID_PARAMS) -> Iterator[None]:
    """Answer a request that is refused with an error of the protocol."""
    try:
        yield
    except MootError as cause:
        raise MCPError(code=code, message=explain_to_client(cause)) from None


def _name_resource(line: SessionLine) -> str:
    """Name a session by where it stands, and by what spoke there in place of minds (M-17)."""
    stand_in = f", {line.stand_in}" if line.stand_in else ""
    return f"{line.session} ({line.standing}{stand_in}): {line.topic[:80]}"


def _build_resource(uri: str, text: str) -> types.ReadResourceResult:
    mime_type = APP_MIME_TYPE if uri.startswith("ui:") else "text/markdown"
    return types.ReadResourceResult(
        contents=[types.TextResourceContents(uri=uri, mime_type=mime_type, text=text)]
    )


def _build_refusal(message: str) -> types.CallToolResult:
    """A tool's refusal, without structured content: that is for results."""
    return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)


async def serve_on_stdio(door: McpServer, greeting: Greeting) -> None:
    """Serve one client on standard input and output until it goes; it was greeted already."""
    server = door.build_server()
    async with stdio_server() as (reading, writing), anyio.create_task_group() as group:
        sender, received = anyio.create_memory_object_stream[SessionMessage | Exception]()
        written, answers = anyio.create_memory_object_stream[SessionMessage]()

        # The library does not know that its client was greeted: it gets the first line as if it had read it itself.
        async def read() -> None:
            async with sender:
                if greeting.line:
                    await sender.send(_parse_message(greeting.line))
                async for message in reading:
                    await sender.send(
                        _mend_message(message) if isinstance(message, ValidationError) else message
                    )

        async def write() -> None:
            is_due = greeting.answered is not None
            async with writing:
                async for message in answers:
                    sent = message.message
                    if (
                        is_due
                        and isinstance(sent, types.JSONRPCResponse)
                        and sent.id == greeting.answered
                    ):
                        is_due = False
                        continue
                    await writing.send(message)

        group.start_soon(read)
        group.start_soon(write)
        async with written:
            await server.run(received, written, server.create_initialization_options())


def _parse_message(line: bytes) -> SessionMessage | Exception:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValidationError as error:
        return error


def _mend_message(error: ValidationError) -> SessionMessage | Exception:
    """Read a line again that holds half a character, with a mark in its place: the library leaves its call without an answer."""
    try:
        given = json.loads(error.errors()[0]["input"])
    except (ValueError, TypeError, RecursionError):
        return error
    return _parse_message(fix_surrogates(json.dumps(given, ensure_ascii=False)).encode())
