"""MCP as it is today: elicitation, output schemas, resource links and completion, by the library's own client in both eras."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import mcp_types as types
import pytest
from mcp import Client

from moothall import Moot
from moothall.domain.effects import Brief
from moothall.domain.ids import SessionId
from moothall.protocols.council.facts import Contributed
from moothall.surfaces.api.method import Caller, ServerContext
from moothall.surfaces.api.methods import open_server_context
from moothall.surfaces.api.toolsets import MAX_TOKENS, MAX_TOOLS, estimate_tokens
from moothall.surfaces.mcp import server
from moothall.surfaces.mcp.server import McpServer

Mode = Literal["auto", "legacy"]
MODES: tuple[Mode, ...] = ("auto", "legacy")
DEADLINE = 60.0
PROPOSAL = {"type": "propose", "text": "Ship it.", "choice": "yes", "confidence": 0.7}
SAID: dict[str, Any] = {
    "propose": PROPOSAL,
    "vote": {"type": "vote", "position": "support", "confidence": 0.8},
}


def say(brief: Brief) -> object:
    return SAID.get(brief.ask.kind, {"type": "pass"})


@dataclass
class Person:
    """The person at the client: what they are shown, and what they do with it."""

    action: Literal["accept", "decline"] = "accept"
    filled: dict[str, str] | None = None
    """The fields that they fill in; the others are sent empty. None: all, with the first that is offered."""
    forms: list[types.ElicitRequestFormParams] = field(default_factory=list)

    async def answer(self, context: Any, params: Any) -> types.ElicitResult:
        self.forms.append(params)
        if self.action == "decline":
            return types.ElicitResult(action="decline")
        fields = params.requested_schema["properties"]
        if self.filled is not None:
            return types.ElicitResult(
                action="accept", content={**dict.fromkeys(fields, ""), **self.filled}
            )
        content = {name: each.get("enum", ["We should wait."])[0] for name, each in fields.items()}
        return types.ElicitResult(action="accept", content=content)


@asynccontextmanager
async def open_context(home: Path) -> AsyncIterator[tuple[ServerContext, str]]:
    """A debate in which ada is asked from outside."""
    async with open_server_context(Moot(environ={"MOOT_HOME": str(home)})) as context:
        seats: Any = {"ada": "mailbox", "bob": say, "cem": say}
        session = await context.moot.open(
            "Ship on Friday?", protocol="debate", seats=seats, language="en"
        )
        context.runner.wake(session)
        while not await context.moot.engine.list_outstanding(session):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        yield context, session


def connect(
    context: ServerContext, caller: Caller, mode: Mode, person: Person | None, **shown: bool
) -> Client:
    async def caller_of(_: Any) -> Caller:
        return caller

    server = McpServer(context, caller_of, **shown).build_server()
    return Client(server, mode=mode, elicitation_callback=None if person is None else person.answer)


def play(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(DEADLINE):
            await work()

    asyncio.run(bounded())


@pytest.mark.parametrize("mode", MODES)
def test_the_person_at_the_client_answers_for_the_seat_in_a_form(
    tmp_path: Path, mode: Mode
) -> None:
    """A-3: where the client shows forms; a refusal of the person's is no answer; the limit of tools holds."""

    async def work() -> None:
        async with open_context(tmp_path) as (context, session):
            caller, person = Caller(role="seat", session=session, seat="ada"), Person("decline")
            async with connect(context, caller, mode, person) as client:
                listed = (await client.list_tools()).tools
                assert "ask_person" in {tool.name for tool in listed}
                assert len(listed) <= MAX_TOOLS
                assert (
                    estimate_tokens([tool.model_dump(exclude_none=True) for tool in listed])
                    <= MAX_TOKENS
                )
                declined = await client.call_tool("ask_person", {})
                assert declined.structured_content == {"status": "declined", "sessionId": session}
                person.action = "accept"
                answered = await client.call_tool("ask_person", {})
                assert answered.structured_content is not None, answered
                assert answered.structured_content["status"] == "answered"
            assert (
                "Ship on Friday?" in person.forms[-1].message
                or person.forms[-1].requested_schema["required"]
            )
            entries = await context.moot.engine.entries(session)  # type: ignore[arg-type]
            assert any(
                "We should wait." in str(entry.fact) and "ada" in str(entry.fact)
                for entry in entries
            )

    play(work)


def test_a_client_without_forms_is_not_offered_any(tmp_path: Path) -> None:
    """A-3: and a call all the same is refused in one sentence."""

    async def work() -> None:
        async with open_context(tmp_path) as (context, session):
            caller = Caller(role="seat", session=session, seat="ada")
            async with connect(context, caller, "auto", None) as client:
                assert "ask_person" not in {tool.name for tool in (await client.list_tools()).tools}
                refused = await client.call_tool("ask_person", {})
                assert refused.is_error
                assert "this client cannot ask its user" in str(refused.content)

    play(work)


def test_ids_are_completed_and_a_session_that_is_over_links_its_minutes(tmp_path: Path) -> None:
    """A-3: a token for one session is offered no other."""

    async def work() -> None:
        async with open_context(tmp_path) as (context, session):
            template = types.ResourceTemplateReference(uri="moot://sessions/{session}/timeline")
            async with connect(context, Caller(), "auto", None) as client:
                found = await client.complete(template, {"name": "session", "value": session[:3]})
                assert found.completion.values == [session]
                assert (
                    await client.complete(template, {"name": "session", "value": "zz"})
                ).completion.values == []
                prompt = types.PromptReference(name="join")
                seats = await client.complete(
                    prompt, {"name": "seat", "value": ""}, {"session": session}
                )
                assert seats.completion.values == ["ada"]
                running = await client.call_tool(
                    "get_session", {"sessionId": session, "timeoutSeconds": 0}
                )
                assert [part.type for part in running.content] == ["text"]
                await context.moot.cancel(session, "enough")
                ended = await client.call_tool("get_session", {"sessionId": session})
                (link,) = [part for part in ended.content if isinstance(part, types.ResourceLink)]
                minutes = (await client.read_resource(str(link.uri))).contents[0]
                assert isinstance(minutes, types.TextResourceContents)
                assert "Ship on Friday?" in minutes.text
            other = Caller(role="seat", session="another", seat="ada")
            async with connect(context, other, "auto", None) as client:
                assert (
                    await client.complete(template, {"name": "session", "value": ""})
                ).completion.values == []

    play(work)


@pytest.mark.parametrize(("most", "is_cut"), [(2, False), (1, True)])
def test_a_completion_says_whether_there_is_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, is_cut: bool
) -> None:
    """A-3: a list that just fits is whole."""
    monkeypatch.setattr(server, "MAX_LISTED", most)

    async def work() -> None:
        async with open_context(tmp_path) as (context, _):
            seats: Any = {"ada": "mailbox", "bob": "mailbox"}
            await context.moot.open("And on Monday?", protocol="debate", seats=seats)
            template = types.ResourceTemplateReference(uri="moot://sessions/{session}/timeline")
            async with connect(context, Caller(), "auto", None) as client:
                completion = (
                    await client.complete(template, {"name": "session", "value": ""})
                ).completion
                assert len(completion.values) == most
                assert completion.total == 2
                assert completion.has_more is is_cut

    play(work)


def test_output_schemas_are_shown_on_request_and_hold(tmp_path: Path) -> None:
    """A-3: the client checks each result against them; by default they take nobody's tokens."""

    async def work() -> None:
        async with open_context(tmp_path) as (context, session):
            async with connect(context, Caller(), "auto", None) as client:
                assert all(tool.output_schema is None for tool in (await client.list_tools()).tools)
            async with connect(
                context, Caller(), "auto", None, shows_all=True, shows_outputs=True
            ) as client:
                listed = (await client.list_tools()).tools
                assert {(tool.output_schema or {}).get("type") for tool in listed} == {"object"}
                for name, given in (
                    ("get_session", {"sessionId": session, "timeoutSeconds": 0}),
                    ("get_asks", {"sessionId": session, "timeoutSeconds": 0}),
                    ("get_deliberation", {"deliberationId": session}),
                    ("list_sessions", {}),
                ):
                    assert not (await client.call_tool(name, given)).is_error, name

    play(work)


@pytest.mark.parametrize("mode", MODES)
def test_a_field_of_the_form_that_is_left_empty_says_what_it_means_and_records_nothing(
    tmp_path: Path, mode: Mode
) -> None:
    """A-3, W-5: a client may send what was not filled in as an empty text, or leave it out."""

    async def work() -> None:
        async with open_context(tmp_path) as (context, session):
            caller = Caller(role="seat", session=session, seat="ada")
            for filled in (
                {"words": "We should wait."},
                {"position": "support", "words": "I agree."},
            ):
                person = Person(filled=filled)
                async with connect(context, caller, mode, person) as client:
                    while (await ask(client))["status"] == "nothing_asked":  # noqa: ASYNC110
                        await asyncio.sleep(0.02)
            shown = person.forms[-1].requested_schema["properties"]
            assert shown["refers_to"]["description"] == "Left empty: no line is named"
            assert "description" not in shown["position"]
            entries = await context.moot.engine.entries(SessionId(session))
            facts = [entry.fact for entry in entries if isinstance(entry.fact, Contributed)]
            said = [fact.said for fact in facts if fact.seat == "ada"]
            assert [each.type for each in said] == ["propose", "support"]
            assert [(each.refers_to, each.moved_by, each.confidence) for each in said] == [
                (None, None, None)
            ] * 2

    play(work)


async def ask(client: Client) -> dict[str, Any]:
    """Put what is asked now to the person at the client; the result."""
    content: dict[str, Any] | None = (await client.call_tool("ask_person", {})).structured_content
    assert content is not None
    return content
