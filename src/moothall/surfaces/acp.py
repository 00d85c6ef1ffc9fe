"""Moot as an agent that speaks the Agent Client Protocol, for one editor on standard input and output.

A prompt opens a meeting, as a request of a chat client does, and by the same code: what happens is sent as thoughts, the decision
as the message. Which panel meets, and by which protocol, is the mode of the conversation. Where the user has a seat, a prompt
ends when they are asked something, and the next one answers.
"""

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from stat import S_ISREG
from typing import Any, Final
from uuid import uuid4

from acp import PROTOCOL_VERSION, RequestError, helpers, run_agent, schema
from acp.interfaces import Client

from moothall.app.reading_threads import run_on_own_thread
from moothall.app.version import VERSION
from moothall.domain.ids import SessionId
from moothall.errors import BadAnswer, BadSetting, MootError
from moothall.surfaces.api import chat_request
from moothall.surfaces.api.chat import (
    ChatAnswer,
    ChatMeeting,
    Reasoning,
    find_or_open_meeting,
    follow_meeting,
)
from moothall.surfaces.api.chat_request import ChatMessage, ChatModel, ChatRefused, ChatRequest
from moothall.surfaces.api.method import Call, Caller, ServerContext
from moothall.surfaces.api.methods import TABLE

PROMPT_SECONDS: Final = 7_200.0
CANCELLED: Final = "cancelled in the editor"
SEAT: Final = "you"
SKIP: Final = "/skip"
"""What leaves a question empty: an editor sends no empty prompt."""

CallerOf = Callable[[], Awaitable[Caller]]

log = logging.getLogger("moot")


@dataclass(slots=True)
class EditorSeat:
    """The seat of the user: what it is asked now is put in the chat, one question at a time, and the next prompts answer."""

    meeting: ChatMeeting
    last_entry: int = 0  # up to which entry the editor was sent the meeting
    ask: str = ""
    step: str = ""
    answers: dict[str, str] = field(default_factory=dict)

    async def find_question(self, call: Call) -> str:
        """The next question in Markdown; empty where the user is asked nothing."""
        asked = await self._load_ask(call)
        if asked is None:
            return ""
        parts: list[str] = []
        if asked["ask"]["ask"] != self.ask:
            self.ask, self.answers, parts = (
                asked["ask"]["ask"],
                {},
                [asked["about"], asked["intro"]],
            )
        step = self._find_step(asked["steps"])
        assert step is not None, "an ask without a question is answered by code"
        self.step = step["key"]
        choices = "\n".join(
            f"- `{choice['value']}`: {choice['text']}" for choice in step["choices"]
        )
        empty = step.get("ifEmpty")
        skip = f"- `{SKIP}`: {empty}" if empty else ""
        commands = "\n".join(
            f"- `{command['word']}`: {command['text']}" for command in asked["commands"]
        )
        return "\n\n".join(filter(None, (*parts, f"**{step['text']}**", choices, skip, commands)))

    async def answer(self, call: Call, text: str) -> None:
        """Take a prompt as the answer to the question that was put; raises MootError, and asks anew after that."""
        asked = await self._load_ask(call)
        if asked is None or asked["ask"]["ask"] != self.ask:
            return
        given: dict[str, Any] = {"sessionId": self.meeting.session, "seat": SEAT, "ask": self.ask}
        text = text.strip()
        if text in {command["word"] for command in asked["commands"]}:
            given["command"] = text
        else:
            step = next(each for each in asked["steps"] if each["key"] == self.step)
            values = {
                each[key].casefold(): each["value"]
                for each in step["choices"]
                for key in ("value", "text")
            }
            is_skipped = text == SKIP and "ifEmpty" in step
            self.answers[self.step] = "" if is_skipped else values.get(text.casefold(), text)
            if self._find_step(asked["steps"]) is not None:
                return
            given["answers"] = self.answers
        self.ask, self.answers = "", {}
        await TABLE["moot.answerAsPerson"].invoke(call, given)

    async def _load_ask(self, call: Call) -> dict[str, Any] | None:
        asks = (
            await TABLE["moot.getPersonAsks"].invoke(
                call, {"sessionId": self.meeting.session, "seat": SEAT}
            )
        )["asks"]
        return asks[0] if asks else None

    def _is_due(self, step: dict[str, Any]) -> bool:
        """Whether a step is asked at all, after what was answered to the one that it depends on."""
        after = step.get("onlyAfter")
        if after is None:
            return True
        said = self.answers.get(after[0])
        # Without values any answer will do.
        if not after[1]:
            return bool(said)
        return said in after[1]

    def _find_step(self, steps: list[dict[str, Any]]) -> dict[str, Any] | None:
        """The next question: the first, then each that needs an answer, or takes a position on one of several items."""
        put = [step for step in steps if self._is_due(step)]
        open_steps = [step for step in put if step["key"] not in self.answers]
        for step in open_steps:
            is_position = bool(step["group"]) and step["kind"] in {"position", "option"}
            if step["needed"] or is_position or not self.answers:
                return step
        return None


@dataclass(slots=True)
class Conversation:
    """One conversation with the editor's user: what was said, who meets, and the meeting that is being held."""

    model: ChatModel
    messages: list[ChatMessage] = field(default_factory=list)
    asked: int = 0
    work: "asyncio.Task[None] | None" = None
    meeting: SessionId | None = None
    seat: EditorSeat | None = None
    """Where the user was asked something in a meeting that goes on."""


class MootAgent:
    """Answers an editor; the library calls its methods by their names."""

    def __init__(
        self,
        context: ServerContext,
        caller_of: CallerOf,
        model: ChatModel,
        page: str,
        *,
        sits: bool,
    ) -> None:
        self._context = context
        self._caller_of = caller_of
        self._model = model
        self._page = page
        self._sits = sits
        self._conversations: dict[str, Conversation] = {}
        self._editor: Client | None = None

    def on_connect(self, conn: Client) -> None:
        self._editor = conn

    async def initialize(self, protocol_version: int, **given: Any) -> schema.InitializeResponse:
        return schema.InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=schema.AgentCapabilities(
                load_session=False,
                prompt_capabilities=schema.PromptCapabilities(embedded_context=True),
            ),
            agent_info=schema.Implementation(name="moot", title="Moot", version=VERSION),
        )

    async def new_session(self, cwd: str, **given: Any) -> schema.NewSessionResponse:
        name = uuid4().hex
        self._conversations[name] = Conversation(self._model)
        modes = [
            schema.SessionMode(id=model.id, name=model.describe())
            for model in list_modes(self._model)
        ]
        return schema.NewSessionResponse(
            session_id=name,
            modes=schema.SessionModeState(available_modes=modes, current_mode_id=self._model.id),
        )

    async def set_session_mode(
        self, mode_id: str, session_id: str, **given: Any
    ) -> schema.SetSessionModeResponse:
        conversation = self._find(session_id)
        try:
            conversation.model = chat_request.find_model(mode_id)
        except ChatRefused as refused:
            raise RequestError.invalid_params({"details": str(refused)}) from None
        return schema.SetSessionModeResponse()

    async def prompt(
        self, session_id: str, prompt: list[Any], **given: Any
    ) -> schema.PromptResponse:
        conversation = self._find(session_id)
        if conversation.work is not None:
            raise RequestError.invalid_params(
                {"details": "a meeting is being held in this conversation; cancel it first"}
            )
        conversation.meeting = None
        conversation.work = asyncio.create_task(
            self._hold_meeting(session_id, conversation, prompt)
        )
        try:
            await asyncio.wait({conversation.work})
        finally:
            work, conversation.work = conversation.work, None
            work.cancel()
        if work.cancelled():
            conversation.seat = None
            await self._cancel_meeting(conversation.meeting)
            return schema.PromptResponse(
                stop_reason="cancelled", field_meta=_name_meeting(conversation)
            )
        work.result()
        return schema.PromptResponse(stop_reason="end_turn", field_meta=_name_meeting(conversation))

    async def cancel(self, session_id: str, **given: Any) -> None:
        work = self._find(session_id).work
        if work is not None:
            work.cancel()

    def _find(self, name: str) -> Conversation:
        if name not in self._conversations:
            raise RequestError.invalid_params(
                {"details": f"no conversation is called {name[:100]!r}; begin one: session/new"}
            )
        return self._conversations[name]

    async def _hold_meeting(self, name: str, conversation: Conversation, prompt: list[Any]) -> None:
        asked = read_prompt(prompt)
        try:
            answer = await self._follow_meeting(
                name, conversation, [*conversation.messages, *asked]
            )
        except (MootError, ChatRefused) as refused:
            # A sentence that the user of the editor can act on; an error of the protocol would hide it.
            await self._send(name, helpers.update_agent_message_text(str(refused)))
            return
        if answer:
            conversation.messages += [*asked, ChatMessage(role="assistant", content=answer)]

    async def _follow_meeting(
        self, name: str, conversation: Conversation, messages: list[ChatMessage]
    ) -> str:
        """Open the meeting that a prompt asks for, or answer in it, and tell it; returns its answer. Raises as `Moot.open`."""
        caller = await self._caller_of()
        caller.check("run")
        caller.check_unbound("a conversation")
        call = Call(context=self._context, caller=caller)
        seat, conversation.seat = conversation.seat, None
        if seat is None:
            seat = await self._open_meeting(call, name, conversation, messages)
        else:
            try:
                await seat.answer(call, str(messages[-1].content))
            except BadAnswer as refused:
                await self._send(name, helpers.update_agent_message_text(f"{refused}\n\n"))
        conversation.meeting, question = seat.meeting.session, ""

        async def is_asked() -> bool:
            nonlocal question
            question = await seat.find_question(call)
            return bool(question)

        link = (
            f"{self._page}/s/{conversation.meeting}"
            if self._page
            else f"moot show {conversation.meeting}"
        )
        ends = asyncio.get_running_loop().time() + PROMPT_SECONDS
        waits = is_asked if self._sits else None
        async with aclosing(
            follow_meeting(call, seat.meeting, link, ends, is_asked=waits, after=seat.last_entry)
        ) as pieces:
            async for piece in pieces:
                match piece:
                    case Reasoning(text=text):
                        await self._send(name, helpers.update_agent_thought_text(text))
                    case ChatAnswer(text=text):
                        await self._send(name, helpers.update_agent_message_text(text))
                        return text
        conversation.seat, seat.last_entry = (
            seat,
            (await call.moot.engine.load_snapshot(conversation.meeting)).seq,
        )
        await self._send(name, helpers.update_agent_message_text(question))
        return ""

    async def _open_meeting(
        self, call: Call, name: str, conversation: Conversation, messages: list[ChatMessage]
    ) -> EditorSeat:
        chat = ChatRequest(model=conversation.model.id, messages=messages)
        question = await run_on_own_thread(lambda: chat_request.read_question(chat))
        conversation.asked += 1
        key, seats = f"acp {name} {conversation.asked}", (f"{SEAT}=mailbox",) if self._sits else ()
        return EditorSeat(
            await find_or_open_meeting(call, chat, conversation.model, question, key, seats=seats)
        )

    async def _cancel_meeting(self, session: SessionId | None) -> None:
        if session is not None:
            # One that has just ended stays as it is.
            with suppress(MootError):
                await self._context.moot.cancel(session, CANCELLED)
                await self._context.runner.cancel(session)

    async def _send(
        self, name: str, update: schema.AgentMessageChunk | schema.AgentThoughtChunk
    ) -> None:
        assert self._editor is not None
        await self._editor.session_update(session_id=name, update=update)


def list_modes(chosen: ChatModel) -> list[ChatModel]:
    """The modes that an editor offers: each panel, and each protocol with the usual panel; the chosen one is among them."""
    usual = chat_request.find_model("moot")
    modes = [
        each
        for each in chat_request.list_models()
        if usual.protocol == each.protocol or usual.panel == each.panel
    ]
    return modes if chosen in modes else [chosen, *modes]


def read_prompt(prompt: list[Any]) -> list[ChatMessage]:
    """A prompt as messages: what it refers to first, then the question, which is the user's text."""
    given, text = list[ChatMessage](), list[str]()
    for block in prompt:
        match block:
            case schema.TextContentBlock(text=said):
                text.append(said)
            case schema.EmbeddedResourceContentBlock(
                resource=schema.TextResourceContents(uri=uri, text=said)
            ):
                given.append(ChatMessage(role="user", content=f"{uri}\n{said}"))
            case schema.ResourceContentBlock(uri=uri):
                text.append(uri)
            case _:
                kind = getattr(block, "type", "part")
                given.append(ChatMessage(role="user", content=[{"type": kind}]))
    return [*given, ChatMessage(role="user", content="\n".join(text))]


def _name_meeting(conversation: Conversation) -> dict[str, Any] | None:
    return None if conversation.meeting is None else {"moot": {"session": conversation.meeting}}


async def serve_editor(
    context: ServerContext, caller_of: CallerOf, model: str, page: str, *, sits: bool
) -> None:
    """Serve one editor until it closes standard input; raises BadSetting for an unknown model, and for files as streams."""
    try:
        chosen = chat_request.find_model(model)
    except ChatRefused as refused:
        raise BadSetting(f"--model: {refused}") from None
    agent: Any = MootAgent(context, caller_of, chosen, page.rstrip("/"), sits=sits)
    if any(S_ISREG(os.fstat(number).st_mode) for number in (0, 1)):
        raise BadSetting(
            "`moot acp` speaks with an editor through pipes; its input and output cannot be files"
        )
    await run_agent(agent)
