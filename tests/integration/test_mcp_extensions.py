"""The extensions of MCP: a session as a task, and its page as an app, by the library's own client with both extensions."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim, advertise
from pydantic import ConfigDict
from tests.integration.test_mcp_today import Mode, play, say
from tests.support.model_provider import ModelProvider

from moothall import Moot
from moothall.surfaces.api.method import Caller, ServerContext
from moothall.surfaces.api.methods import open_server_context
from moothall.surfaces.mcp.greeting import APPS, ICON, TASKS
from moothall.surfaces.mcp.server import APP, McpServer

APP_TYPE = "text/html;profile=mcp-app"
SEEN = advertise(APPS, {"mimeTypes": [APP_TYPE]})


class Handle(types.Result):
    model_config = ConfigDict(extra="allow")

    result_type: Literal["task"]
    task_id: str
    status: str
    created_at: str
    last_updated_at: str
    ttl_ms: int | None = None
    poll_interval_ms: int


class Loaded(types.Result):
    model_config = ConfigDict(extra="allow")


async def ask_about(client: Any, method: str, task: str, **more: Any) -> dict[str, Any]:
    request: Any = types.Request[dict[str, Any], str](
        method=method, params={"taskId": task, **more}
    )
    answer: Loaded = await client.send_request(request, Loaded)
    return answer.model_dump(by_alias=True, exclude_none=True)


class Tasks(ClientExtension):
    """A client that polls for the model: it has the result only."""

    identifier = TASKS

    def __init__(self) -> None:
        self.handles: list[Handle] = []

    def claims(self) -> Sequence[ResultClaim[Any]]:
        return [ResultClaim(result_type="task", model=Handle, resolve=self.resolve)]

    async def resolve(self, handle: Handle, context: ClaimContext) -> types.CallToolResult:
        self.handles.append(handle)
        while (task := await ask_about(context.session, "tasks/get", handle.task_id))[  # noqa: ASYNC110
            "status"
        ] == "working":
            await asyncio.sleep(0.02)
        if task["status"] == "cancelled":
            return types.CallToolResult(content=[], is_error=True)
        return types.CallToolResult.model_validate(task["result"])


@asynccontextmanager
async def open_server(home: Path, **environ: str) -> AsyncIterator[ServerContext]:
    async with open_server_context(Moot(environ={"MOOT_HOME": str(home), **environ})) as context:
        yield context


def connect(
    context: ServerContext,
    *extensions: ClientExtension,
    mode: Mode = "auto",
    caller: Caller | None = None,
) -> Client:
    async def caller_of(_: Any) -> Caller:
        return caller or Caller()

    return Client(McpServer(context, caller_of).build_server(), mode=mode, extensions=extensions)


async def open_debate(
    context: ServerContext, *, is_held: asyncio.Event | None = None, outside: bool = False
) -> str:
    async def wait_and_say(brief: Any) -> object:
        if is_held is not None:
            await is_held.wait()
        return say(brief)

    seats: Any = {"ada": "mailbox" if outside else wait_and_say, "bob": say, "cem": say}
    session = await context.moot.open(
        "Ship on Friday?", protocol="debate", seats=seats, language="en"
    )
    context.runner.wake(session)
    return session


def test_a_call_that_waits_for_the_end_is_a_task_for_a_client_that_has_them(tmp_path: Path) -> None:
    """A-3: the client polls, and its model gets the decision with the link to the minutes; what has ended is no task."""

    async def work() -> None:
        tasks, held = Tasks(), asyncio.Event()
        async with open_server(tmp_path) as context, connect(context, tasks) as client:
            session = await open_debate(context, is_held=held)
            asking = asyncio.create_task(client.call_tool("get_session", {"sessionId": session}))
            while not tasks.handles:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            held.set()
            result = await asking
            (handle,) = tasks.handles
            assert (handle.task_id, handle.status) == (session, "working")
            assert handle.created_at <= handle.last_updated_at
            assert result.structured_content is not None
            assert result.structured_content["status"] == "concluded"
            assert any(isinstance(each, types.ResourceLink) for each in result.content)
            # A repeated call, and one that says how long it waits, are answered as ever.
            again = await client.call_tool("get_session", {"sessionId": session})
            soon = await client.call_tool(
                "get_session", {"sessionId": session, "timeoutSeconds": 0}
            )
            assert again.structured_content == soon.structured_content == result.structured_content
            assert len(tasks.handles) == 1

    play(work)


def test_a_question_that_models_decide_is_one_call(tmp_path: Path) -> None:
    """A-3: `open_session` is a task, and its result is the decision; nobody calls `get_session`."""

    async def work() -> None:
        tasks = Tasks()
        with ModelProvider() as provider:
            environ = {
                "OPENAI_API_KEY": "sk-test",
                "OPENAI_BASE_URL": provider.base_url,
                "MOOT_MODEL": "stub",
            }
            async with (
                open_server(tmp_path, **environ) as context,
                connect(context, tasks) as client,
            ):
                result = await client.call_tool(
                    "open_session", {"topic": "Ship on Friday?", "panel": "duo"}
                )
        assert result.structured_content is not None, result.content
        assert (result.structured_content["status"], len(tasks.handles)) == ("concluded", 1)
        assert result.structured_content["sessionId"] == tasks.handles[0].task_id

    play(work)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_question_to_one_mind_is_a_task_that_ends_with_its_reply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_cancelled: bool
) -> None:
    """A-3: the result has the form of `consult`, not of a session; cancelled, it ends the session of the question."""
    monkeypatch.chdir(tmp_path)  # where the record of a consultation is written

    async def work() -> None:
        tasks, held = Tasks(), asyncio.Event()

        async def advise(_: Any) -> object:
            await held.wait()
            return {"answer": "Every six hours."}

        async with open_server(tmp_path) as context, connect(context, tasks) as client:
            context.moot.seating.add("oracle", advise)
            given = {
                "to": "ada",
                "question": "How often is it backed up?",
                "seats": [{"id": "ada", "platform": "oracle"}],
            }
            asking = asyncio.create_task(client.call_tool("consult", given))
            while not tasks.handles:
                assert not asking.done(), asking.result()
                await asyncio.sleep(0.02)
            task = tasks.handles[0].task_id
            session = task.removeprefix("consult:")
            assert session != task
            if is_cancelled:
                await ask_about(client.session, "tasks/cancel", task)
                assert (await asking).is_error
                return
            held.set()
            replied = (await asking).structured_content
            assert replied is not None
            assert (replied["sessionId"], replied["status"], replied["answer"]) == (
                session,
                "answered",
                "Every six hours.",
            )
            other = await open_debate(context)
            with pytest.raises(MCPError, match="is not a consultation"):
                await ask_about(client.session, "tasks/get", f"consult:{other}")

    play(work)


def test_a_task_is_cancelled_with_its_session(tmp_path: Path) -> None:
    """A-3: input that nobody asked for is passed over; a task that does not exist is refused in one sentence."""

    async def work() -> None:
        tasks = Tasks()
        async with open_server(tmp_path) as context, connect(context, tasks) as client:
            session = await open_debate(context, is_held=asyncio.Event())
            asking = asyncio.create_task(client.call_tool("get_session", {"sessionId": session}))
            while not tasks.handles:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            updated = await ask_about(
                client.session, "tasks/update", session, inputResponses={"x": {"action": "accept"}}
            )
            assert updated["resultType"] == "complete"
            await ask_about(client.session, "tasks/cancel", session)
            assert (await asking).is_error
            assert (await ask_about(client.session, "tasks/get", session))["status"] == "cancelled"
            assert (await ask_about(client.session, "tasks/cancel", session))[
                "resultType"
            ] == "complete"
            for method in ("tasks/get", "tasks/update", "tasks/cancel"):
                with pytest.raises(MCPError, match="no session is called 'nothing'"):
                    await ask_about(client.session, method, "nothing")

    play(work)


def test_who_may_have_to_answer_is_given_no_task(tmp_path: Path) -> None:
    """A-3: with a seat from outside the call is answered, and polled as by clients without tasks."""

    async def work() -> None:
        tasks = Tasks()
        async with open_server(tmp_path) as context, connect(context, tasks) as client:
            seats = [{"id": "ada"}, {"id": "bob"}]
            opened = await client.call_tool(
                "open_session", {"topic": "Ship?", "protocol": "debate", "seats": seats}
            )
            assert opened.structured_content is not None, opened.content
            assert opened.structured_content["status"] == "thinking"
            assert not tasks.handles

    play(work)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_without_tasks_is_given_none(tmp_path: Path, mode: Mode) -> None:
    """A-3: `tasks/get` says which extension is missing, or is not a method of the revision."""

    async def work() -> None:
        held = asyncio.Event()
        async with open_server(tmp_path) as context, connect(context, mode=mode) as client:
            session = await open_debate(context, is_held=held)
            shown = await client.call_tool(
                "get_session", {"sessionId": session, "timeoutSeconds": 0}
            )
            assert shown.structured_content is not None
            assert shown.structured_content["status"] == "thinking"
            with pytest.raises(MCPError) as refused:
                await ask_about(client.session, "tasks/get", session)
            assert refused.value.error.code == (-32021 if mode == "auto" else -32601)
            held.set()

    play(work)


def test_a_token_for_another_session_sees_no_task(tmp_path: Path) -> None:
    """A-3: the rights of a task are those of its session."""

    async def work() -> None:
        async with open_server(tmp_path) as context:
            session = await open_debate(context)
            caller = Caller(role="observer", session=await open_debate(context))
            async with connect(context, Tasks(), caller=caller) as client:
                with pytest.raises(MCPError, match="your token is valid only for the session"):
                    await ask_about(client.session, "tasks/get", session)
                with pytest.raises(MCPError, match="this call needs"):
                    await ask_about(client.session, "tasks/cancel", caller.session)

    play(work)


def test_the_page_of_a_session_is_an_app_for_a_client_that_shows_them(tmp_path: Path) -> None:
    """A-3: the app is one for all sessions and reads the page of the one that a result names; others see no sign of it."""

    async def work() -> None:
        async with open_server(tmp_path) as context:
            session, other = await open_debate(context), await open_debate(context)
            caller = Caller(role="owner", session=session)
            async with connect(context, SEEN, caller=caller) as client:
                bound = {
                    tool.name: tool.meta for tool in (await client.list_tools()).tools if tool.meta
                }
                assert bound == {"get_session": {"ui": {"resourceUri": APP}}}
                assert (APP, APP_TYPE) in {
                    (each.uri, each.mime_type) for each in (await client.list_resources()).resources
                }
                (app,) = (await client.read_resource(APP)).contents
                (page,) = (await client.read_resource(f"ui://moot/sessions/{session}")).contents
                assert isinstance(app, types.TextResourceContents)
                assert isinstance(page, types.TextResourceContents)
                assert (app.mime_type, page.mime_type) == (APP_TYPE, APP_TYPE)
                assert "ui/initialize" in app.text
                assert "http" not in app.text
                assert "Ship on Friday?" in page.text
                for uri in (f"ui://moot/sessions/{other}", "ui://moot/other.html"):
                    with pytest.raises(
                        MCPError, match=r"your token is valid only|no resource is called"
                    ):
                        await client.read_resource(uri)
            async with connect(context, caller=caller) as client:
                assert not any(tool.meta for tool in (await client.list_tools()).tools)
                assert APP not in {each.uri for each in (await client.list_resources()).resources}

    play(work)


def test_a_demo_is_listed_as_one_among_the_resources_and_is_no_decision(tmp_path: Path) -> None:
    """M-17: a model that looks for an earlier answer finds none in what was written in advance."""

    async def work() -> None:
        async with open_server(tmp_path) as context:
            demo = await context.moot.open(
                "Ship on Friday?",
                protocol="debate",
                seats={"ada": "mailbox", "bob": "mailbox"},
                demo="shown",
            )
            async with connect(context, caller=Caller(role="owner")) as client:
                (listed,) = (await client.list_resources()).resources
                assert listed.name.startswith(f"{demo} (")
                assert listed.name.endswith(", demo): Ship on Friday?")
                asked = {"query": "Ship on Friday?"}
                searched = await client.call_tool("search_decisions", asked)
                assert searched.structured_content is not None
                assert searched.structured_content["decisions"] == []

    play(work)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_can_show_the_servers_icon(tmp_path: Path, mode: Mode) -> None:
    """A-3: the icon of the page, inside of the answer; nothing is fetched."""

    async def work() -> None:
        async with open_server(tmp_path) as context, connect(context, mode=mode) as client:
            assert client.server_info is not None
            (icon,) = client.server_info.icons or []
            assert icon.model_dump(by_alias=True, exclude_none=True) == ICON
            # Nothing but what an address may hold: clients that validate answers refuse all of them otherwise.
            assert re.fullmatch(r"data:image/svg\+xml,[\w%.~!$&'()*+,;=:@/?-]+", icon.src, re.ASCII)

    play(work)
