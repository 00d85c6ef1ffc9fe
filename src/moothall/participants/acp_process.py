"""A running agent that speaks the Agent Client Protocol: its process, its conversation, and what it may do.

Moot offers it neither files nor terminals. What it asks permission for is answered by a rule; what it does without is a fault.
"""

import asyncio
import json
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Literal, TypeVar

from acp import PROTOCOL_VERSION, RequestError, schema
from acp.connection import Connection
from acp.meta import AGENT_METHODS, CLIENT_METHODS
from pydantic import BaseModel, Field, ValidationError

from moothall.disk.private import make_private_folder
from moothall.domain.budget import Usage, read_tokens
from moothall.domain.facts import Loss
from moothall.domain.safe_text import one_line
from moothall.errors import DISTRIBUTION
from moothall.participants.agent_answers import ONE_CALL, AgentFault, AgentReply
from moothall.participants.subprocess_runner import (
    GRACE_SECONDS,
    MAX_COMPLAINT,
    MAX_OUTPUT,
    BoundedBuffer,
    end_program,
    start_program,
)

Permit = Literal["none", "read"]
"""What an agent is allowed when it asks: nothing, or to read and to search."""

START_SECONDS: Final = 60.0
MAX_MESSAGES: Final = 20_000
MAX_REQUESTS: Final = 50
"""How many messages, and how many requests of its own, an agent may send for one answer."""
MAX_DETAIL_LENGTH: Final = 300
NEEDS_LOGIN: Final = -32000

READING: Final = frozenset({"read", "search", "think"})
ACTING: Final = frozenset({"edit", "delete", "move", "execute"})
"""The kinds of tools that write or run something."""

ResponseT = TypeVar("ResponseT", bound=BaseModel)


class AgentProcess:
    """One process and one conversation with it. The caller that starts it ends it."""

    def __init__(
        self, process: asyncio.subprocess.Process, mark: str, folder: Path, permit: Permit
    ) -> None:
        self._process = process
        self._mark = mark
        self._folder = folder
        self._permit = permit
        self._messages = _BoundedMessages(process)
        self._connection = Connection(self._handle, self._messages)
        self._complaint = BoundedBuffer(MAX_COMPLAINT)
        assert process.stderr is not None
        self._reading = asyncio.create_task(self._complaint.read_stream(process.stderr))
        self.conversation = ""
        """The id of the conversation, as the agent says it."""
        self.is_resumed = False
        self.has_storage = False
        """Whether the agent says that it can go on with a conversation later."""
        self._is_loading = False
        self._said = [""]
        self._kinds: dict[str, str] = {}
        self._requests = 0
        self._fault: AgentFault | None = None
        self._turn: asyncio.Task[Any] | None = None
        self._is_ended = False
        self.name = ""
        """The agent's name and version, as it says them."""

    @classmethod
    async def start(
        cls,
        argv: Sequence[str],
        folder: Path,
        environ: Mapping[str, str],
        permit: Permit,
        *,
        model: str = "",
        conversation: str = "",
    ) -> "AgentProcess":
        """Start an agent in a folder of its own and begin a conversation, or go on with one; raises OSError or AgentFault."""
        # A run that was killed may have left it behind.
        shutil.rmtree(folder, ignore_errors=True)
        make_private_folder(folder)
        try:
            process, mark = await start_program(
                argv, folder=folder, environ=environ, is_fed=True, mark=str(folder)
            )
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        agent = cls(process, mark, folder, permit)
        try:
            async with asyncio.timeout(START_SECONDS):
                await agent._begin(model, conversation)
        except TimeoutError:
            await agent.end()
            raise AgentFault(
                "error", f"it did not begin a conversation within {START_SECONDS:.0f} s"
            ) from None
        except BaseException:
            await agent.end()
            raise
        return agent

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None and not self._is_ended

    async def ask(self, text: str) -> AgentReply:
        """Put a prompt; raises AgentFault. Cancelled, it calls off the prompt; an agent that does not heed that is ended."""
        self._said, self._requests = [""], 0
        request = schema.PromptRequest(
            session_id=self.conversation, prompt=[schema.TextContentBlock(type="text", text=text)]
        )
        response = await self._request("session_prompt", _dump(request), schema.PromptResponse)
        left = sorted(path.name for path in self._folder.iterdir() if not path.name.startswith("."))
        if left:
            raise AgentFault(
                "error",
                f"it wrote files without being asked to: {', '.join(left)[:MAX_DETAIL_LENGTH]}",
            )
        if response.stop_reason == "refusal":
            raise AgentFault("refused", "it refused to answer")
        said = next((part for part in reversed(self._said) if part.strip()), "")
        usage, used = ONE_CALL, response.usage
        if used is not None:
            usage = Usage(
                calls=1,
                tokens_in=read_tokens(used.input_tokens),
                tokens_out=read_tokens(used.output_tokens),
            )
        return AgentReply(text=said.strip(), usage=usage)

    async def end(self) -> None:
        """End the process with its children, and remove its folder."""
        if self._is_ended:
            return
        self._is_ended = True
        try:
            await end_program(self._process, self._mark)
        finally:
            self._reading.cancel()
            shutil.rmtree(self._folder, ignore_errors=True)
            await self._connection.close()

    async def _begin(self, model: str, conversation: str) -> None:
        offered = schema.ClientCapabilities(
            fs=schema.FileSystemCapabilities(read_text_file=False, write_text_file=False),
            terminal=False,
        )
        moot = schema.Implementation(name="moot", title="Moot", version=version(DISTRIBUTION))
        greeting = schema.InitializeRequest(
            protocol_version=PROTOCOL_VERSION, client_capabilities=offered, client_info=moot
        )
        greeted = await self._request("initialize", _dump(greeting), schema.InitializeResponse)
        if greeted.protocol_version != PROTOCOL_VERSION:
            raise AgentFault(
                "error",
                f"it speaks version {greeted.protocol_version} of ACP; expected {PROTOCOL_VERSION}",
            )
        info = greeted.agent_info
        self.name = one_line(f"{info.name} {info.version}")[:80] if info is not None else ""
        method = _find_resume_method(greeted.agent_capabilities)
        self.has_storage = bool(method)
        begun = await self._resume(conversation, method) if conversation and method else None
        if begun is None:
            wanted = schema.NewSessionRequest(cwd=str(self._folder), mcp_servers=[])
            begun = await self._request("session_new", _dump(wanted), _Conversation)
            self.conversation = begun.session_id
        if model:
            await self._choose_model(model, begun)

    async def _resume(self, conversation: str, method: str) -> "_Conversation | None":
        """Go on with a conversation that the agent has stored, if it still has it."""
        params = {"sessionId": conversation, "cwd": str(self._folder), "mcpServers": []}
        # What was said and done before is sent again: none of it is of now.
        self._is_loading = True
        try:
            begun = await self._request(method, params, _Conversation)
        except AgentFault:
            return None
        finally:
            self._is_loading = False
        self.conversation, self.is_resumed = conversation, True
        return begun

    async def _choose_model(self, model: str, begun: "_Conversation") -> None:
        option, models = begun.list_models()
        if model not in models:
            listed = ", ".join(models) or "none that can be chosen"
            raise AgentFault("error", _shorten(f"it has no model {model!r}; its models: {listed}"))
        chosen = {"configId": option, "value": model} if option else {"modelId": model}
        method = "session_set_config_option" if option else "session/set_model"
        await self._request(method, {"sessionId": self.conversation, **chosen}, _Conversation)

    async def _request(
        self, method: str, params: dict[str, Any], answer: type[ResponseT]
    ) -> ResponseT:
        self._messages.allow_more()
        name = AGENT_METHODS.get(method, method)
        turn = asyncio.create_task(self._connection.send_request(name, params))
        self._turn = turn
        try:
            await asyncio.wait({turn})
        except asyncio.CancelledError:
            await self._call_off(turn)
            raise
        if self._fault is not None:
            raise self._fault
        try:
            return answer.model_validate(turn.result() or {})
        except RequestError as cause:
            reason: Loss = "rejected_key" if cause.code == NEEDS_LOGIN else "error"
            raise AgentFault(reason, _shorten(f"it refused: {cause} {cause.data or ''}")) from cause
        except ValidationError as cause:
            raise AgentFault("malformed", f"its answer to {name} is not of the protocol") from cause
        except ConnectionError:
            raise await self._explain_end() from None

    async def _call_off(self, turn: "asyncio.Task[Any]") -> None:
        """Cancel a prompt: as the protocol says first, then with the process."""
        try:
            with suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(GRACE_SECONDS):
                    await self._connection.send_notification(
                        AGENT_METHODS["session_cancel"], {"sessionId": self.conversation}
                    )
                    await asyncio.wait({turn})
        finally:
            if not turn.done():
                turn.cancel()
                await self.end()

    async def _explain_end(self) -> AgentFault:
        if self._messages.is_over:
            return AgentFault("error", "it sent too much and was stopped")
        # Its output may end a moment before it does, and so may its error output.
        with suppress(TimeoutError):
            async with asyncio.timeout(GRACE_SECONDS):
                await self._process.wait()
                await asyncio.wait({self._reading})
        complaint = one_line(self._complaint.stored.decode("utf-8", "replace"))[-MAX_DETAIL_LENGTH:]
        code = "" if self._process.returncode is None else f" with {self._process.returncode}"
        return AgentFault(
            "error", f"it ended{code} before its answer{f': {complaint}' if complaint else ''}"
        )

    def _stop(self, detail: str) -> None:
        """End the current prompt with a fault."""
        self._fault = AgentFault("error", detail)
        if self._turn is not None:
            self._turn.cancel()

    async def _handle(self, method: str, params: Any, is_notification: bool) -> BaseModel | None:
        try:
            if method == CLIENT_METHODS["session_update"]:
                self._take_update(schema.SessionNotification.model_validate(params))
                return None
        except ValidationError:
            # An update of a kind that this version does not know says nothing that is needed.
            return None
        if is_notification:
            return None
        self._requests += 1
        if self._requests > MAX_REQUESTS:
            self._stop(f"it asked for permission more than {MAX_REQUESTS} times")
        if method == CLIENT_METHODS["session_request_permission"]:
            return self._decide(schema.RequestPermissionRequest.model_validate(params))
        raise RequestError.method_not_found(method)

    def _decide(self, asked: schema.RequestPermissionRequest) -> schema.RequestPermissionResponse:
        kind = asked.tool_call.kind or self._kinds.get(asked.tool_call.tool_call_id)
        is_allowed = self._permit == "read" and kind in READING
        # Once, never for ever: the next question is another one.
        wanted = ("allow_once",) if is_allowed else ("reject_once", "reject_always")
        for word in wanted:
            for option in asked.options:
                if option.kind == word:
                    selected = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
                    return schema.RequestPermissionResponse(outcome=selected)
        return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))

    def _take_update(self, notice: schema.SessionNotification) -> None:
        if self._is_loading:
            return
        match notice.update:
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                self._said[-1] += text
            case schema.ToolCallStart() | schema.ToolCallProgress() as call:
                # What was said before a tool is used tells of the work; the answer comes last.
                self._said.append("")
                if call.kind is not None:
                    self._kinds[call.tool_call_id] = call.kind
                if call.status == "completed" and self._kinds.get(call.tool_call_id) in ACTING:
                    self._stop(
                        f"it did what nobody allowed: {one_line(call.title or self._kinds[call.tool_call_id])[:200]}"
                    )


class _Conversation(BaseModel):
    """What an agent says of a conversation that begins or goes on: its id if it is new, and the models to choose from."""

    session_id: str = Field(default="", alias="sessionId")
    config_options: list[dict[str, Any]] | None = Field(default=None, alias="configOptions")
    models: dict[str, Any] | None = None
    """As agents said it before there were options, and many still do."""

    def list_models(self) -> tuple[str, list[str]]:
        """The option that chooses the model ("" where it has a method of its own), and the ids of the models."""
        for option in self.config_options or ():
            if option.get("category") == "model" and isinstance(
                choices := option.get("options"), list
            ):
                # Choices may stand in groups.
                flat = [each for choice in choices for each in choice.get("options", (choice,))]
                return str(option.get("id")), [str(each.get("value")) for each in flat]
        return "", [
            str(each.get("modelId")) for each in (self.models or {}).get("availableModels", ())
        ]


class _BoundedMessages:
    """The messages of a process, of limited number and size between two requests; a transport of the library's."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.is_over = False
        self.allow_more()

    def allow_more(self) -> None:
        self._bytes_left, self._messages_left = MAX_OUTPUT, MAX_MESSAGES

    async def send(self, message: dict[str, Any]) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        # That it has ended is seen where its messages are read.
        with suppress(BrokenPipeError, ConnectionResetError):
            stdin.write(json.dumps(message).encode() + b"\n")
            await stdin.drain()

    async def receive(self) -> dict[str, Any] | None:
        stdout = self._process.stdout
        assert stdout is not None
        while True:
            # Each message is dealt with before the next: a flood takes turns with everything else.
            await asyncio.sleep(0)
            try:
                line = await stdout.readline()
            except ValueError:
                self.is_over = True
                return None
            if not line:
                return None
            self._bytes_left -= len(line)
            self._messages_left -= 1
            if self._bytes_left < 0 or self._messages_left < 0:
                self.is_over = True
                return None
            # Some agents print other lines, too.
            with suppress(ValueError, RecursionError):
                message = json.loads(line)
                if isinstance(message, dict):
                    return message

    async def close(self) -> None:
        """Nothing to do: the process is ended by its owner."""


def _find_resume_method(capabilities: schema.AgentCapabilities | None) -> str:
    """How an agent goes on with a conversation that it has stored; "" where it cannot."""
    if capabilities is None:
        return ""
    can_resume = (
        capabilities.session_capabilities is not None
        and capabilities.session_capabilities.resume is not None
    )
    if can_resume:
        return "session_resume"
    return "session_load" if capabilities.load_session else ""


def _dump(params: BaseModel) -> dict[str, Any]:
    # Defaults are sent, too: what is not offered is said.
    return params.model_dump(mode="json", by_alias=True, exclude_none=True)


def _shorten(text: str) -> str:
    return one_line(text)[:MAX_DETAIL_LENGTH]
