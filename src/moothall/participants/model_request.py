"""Requests to a model: attempts, pauses between them, streaming, and the total usage.

Built on `pydantic_ai.direct`, which is imported at the first call, because the import takes more than a second.
"""

import asyncio
import math
from base64 import b64decode
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING, Any, Final, TypeVar

from moothall.domain.budget import (
    CHARACTERS_PER_TOKEN,
    FREE,
    MAX_STATED_DOLLARS,
    PICTURE_TOKENS,
    Usage,
    read_tokens,
)
from moothall.domain.effects import LENGTH_ROOM, Brief
from moothall.domain.seeded_random import model_seed, random_unit
from moothall.participants.failures import FailureKind, ModelFailure, translate_error
from moothall.participants.platforms import Platform
from moothall.participants.provider_limits import MeteredCall, ProviderAccount
from moothall.ports.participant import OnText, note_retry
from moothall.reading.answers import strip_thoughts
from moothall.reports.given_tools import OfferedTool

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModelSettings
    from pydantic_ai.settings import ModelSettings

T = TypeVar("T")

THINKING_ROOM: Final = 2_000
"""How many tokens a reasoning model has before it answers."""
MORE_ROOM: Final = 4
ALTERNATIVES: Final = 10
TRIAL_TOKENS: Final = 16
"""The least that every provider accepts as a limit."""
MIN_MASS: Final = 0.05
"""The least total probability of "yes" and "no" for which the probe is meaningful."""

_ATTEMPTS: Final[Mapping[FailureKind, int]] = {
    FailureKind.RATE_LIMITED: 10,
    FailureKind.SERVER: 4,
    FailureKind.UNREACHABLE: 3,
    FailureKind.BROKEN: 3,
    FailureKind.TIMEOUT: 2,
    FailureKind.MALFORMED: 2,
    FailureKind.DECLINED: 2,
}
"""How many failures of each kind are allowed before giving up; one for any other kind."""
_SAID: Final = frozenset({FailureKind.MALFORMED, FailureKind.DECLINED})
"""Failures of what was said: asked again at once, with the fault."""

_MARKED: Final = frozenset({"anthropic"})
"""Providers that cache a prompt only up to a mark."""

_YES: Final = frozenset({"yes", "y", "是", "是的"})
_NO: Final = frozenset({"no", "n", "否", "不", "不是"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Seconds: the first pause after a failure (each further one is twice as long), the longest pause, the limit of `ready`."""

    first_pause: float = 0.5
    longest_pause: float = 20.0
    preflight: float = 10.0


DEFAULT_RETRY_POLICY: Final = RetryPolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """The conditions of an attempt: the fault of the last answer, and the multiple of the usual token limit."""

    complaint: str | None = None
    room: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenProbe:
    """Whether a server reports token probabilities, and "yes" against "no" if the model said either."""

    is_shown: bool
    yes: float | None = None


class PrefixCache:
    """Decides which requests of one model are marked for the provider's prompt cache, up to the end of what all seats read.

    Writing to the cache costs more than a plain request, reading from it a tenth, and what is being written cannot be read yet.
    So of the requests that are sent together the first one writes, the others go without a mark, and later ones read.
    """

    def __init__(self) -> None:
        self._shared = ""
        self._is_written = False

    def wants_mark(self, shared: str) -> bool:
        """Whether the next request with this text is marked."""
        if shared == self._shared:
            return self._is_written
        self._shared, self._is_written = shared, False
        return True

    def note_answer(self, shared: str) -> None:
        """Note that a request with this text was answered, so that the cache holds it."""
        self._is_written = self._is_written or shared == self._shared


class ToolConversation:
    """A question with tools, the calls of the model, and their results."""

    def __init__(
        self, message: "ModelRequest", size: int, parameters: "ModelRequestParameters"
    ) -> None:
        self.messages: list[ModelMessage] = [message]
        self.size = size
        """About how many characters a request has."""
        self.parameters = parameters
        self._instructions = message.instructions

    @property
    def is_begun(self) -> bool:
        """Whether the model has called a tool: then its server takes them."""
        return len(self.messages) > 1

    def add_results(
        self, response: "ModelResponse", results: Sequence[tuple["ToolCallPart", str]]
    ) -> None:
        """Add the calls of a response, with a result for each."""
        from pydantic_ai.messages import ModelRequest, ToolReturnPart

        parts = [ToolReturnPart(call.tool_name, text, call.tool_call_id) for call, text in results]
        self.messages += [response, ModelRequest(parts=parts, instructions=self._instructions)]
        self.size += sum(len(text) for _, text in results)


class BriefRequest:
    """One brief: its deadline, the usage of all attempts, and whether any streamed text was emitted.

    The caller cancels at the deadline. Here the brief's patience only bounds pauses and silences: a pause that would outlast it
    is not started.
    """

    def __init__(
        self,
        brief: Brief,
        on_text: OnText,
        pace: RetryPolicy,
        platform: Platform,
        prefixes: PrefixCache | None = None,
        *,
        account: ProviderAccount | None = None,
        is_local: bool = False,
    ) -> None:
        self._is_local = is_local
        self.usage: Usage = FREE
        self._prefixes = prefixes or PrefixCache()
        self.model = ""
        self.brief = brief
        self._on_text = on_text
        self._pace = pace
        self._platform = platform
        self._end = asyncio.get_running_loop().time() + brief.ask.patience
        self._is_heard = False
        self._under_way: Usage = FREE
        self._account = account
        self.pictures = tuple(each for each in brief.pictures if each.text)

    @asynccontextmanager
    async def _take_turn(
        self, model: "Model", size: int, settings: "ModelSettings"
    ) -> AsyncIterator[MeteredCall]:
        """Wait until the provider's limits allow the request: time that is not the seat's."""
        # Rounded up: about three characters a token.
        sent = (len(self.brief.system) + size) // CHARACTERS_PER_TOKEN
        sent += PICTURE_TOKENS * len(self.pictures)
        if self._account is None:
            with self._count_request(model, sent):
                yield MeteredCall()
            return
        # And an answer as long as it is asked for.
        tokens = sent + self.brief.form.max_tokens
        # A stream may go on for as long as the seat has, however short its silences are.
        lasts = max(settings.get("timeout") or 0.0, self.brief.ask.patience)
        async with self._account.call(tokens, lasts) as call:
            self._end += call.waited
            with self._count_request(model, sent):
                yield call

    @contextmanager
    def _count_request(self, model: "Model", tokens: int) -> Iterator[None]:
        """While a request is under way: if it is called off or too late, its provider charges for it all the same."""
        self._under_way = _estimate_usage(model, tokens)
        try:
            yield
        except asyncio.CancelledError:
            # Whoever has called it off asks what it cost.
            raise
        except BaseException as error:
            if _is_late(error):
                self.usage += self._under_way
            self._under_way = FREE
            raise
        self._under_way = FREE

    def estimate_usage(self) -> Usage:
        """Return what all requests cost so far; of one that is under way, about what was sent."""
        return self.usage + self._under_way

    async def run_with_retries(self, attempt: Callable[[Attempt], Awaitable[T]]) -> T:
        """Return the result of the first attempt that succeeds; raises ModelFailure."""
        failed: dict[FailureKind, int] = {}
        now = Attempt()
        while True:
            try:
                return await attempt(now)
            except ModelFailure as failure:
                failed[failure.kind] = failed.get(failure.kind, 0) + 1
                if self.brief.form.is_asked_once:
                    raise
                # Counted per kind: a rate limit followed by a malformed answer is not two of the same failure.
                if failed[failure.kind] >= _ATTEMPTS.get(failure.kind, 1):
                    raise
                pause = self._compute_pause(failure, sum(failed.values()))
                if pause >= self._compute_seconds_left():
                    raise
                if failure.kind in _SAID:
                    room = MORE_ROOM if failure.is_cut else 1
                    now = Attempt(complaint=failure.message, room=room)
            note_retry()
            await asyncio.sleep(pause)

    async def request_whole(
        self, model: "Model", user: str, room: int, parameters: "ModelRequestParameters | None"
    ) -> "ModelResponse":
        """Request a complete response; raises ModelFailure."""
        messages = [self._build_message(model, user)]
        return await self._send(
            model,
            messages,
            len(user),
            self._build_settings(room, self._compute_timeout()),
            parameters,
        )

    def begin_conversation(
        self, model: "Model", user: str, tools: Iterable[OfferedTool], *, searches: bool = False
    ) -> ToolConversation:
        """Return a question for which a model may call these tools, and where it `searches` its provider's own web search."""
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.native_tools import AbstractNativeTool, WebSearchTool
        from pydantic_ai.tools import ToolDefinition

        offered = [
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.schema),
            )
            for tool in tools
        ]
        native: list[AbstractNativeTool] = []
        if searches:
            native.append(WebSearchTool())
        parameters = ModelRequestParameters(
            function_tools=offered, native_tools=native, allow_text_output=True
        )
        return ToolConversation(self._build_message(model, user), len(user), parameters)

    async def request_next(
        self, model: "Model", conversation: ToolConversation, room: int
    ) -> "ModelResponse":
        """Request what a model says or calls next; raises ModelFailure."""
        settings = self._build_settings(room, self._compute_timeout())
        if conversation.parameters.native_tools:
            settings["openai_include_web_search_sources"] = True  # type: ignore[typeddict-unknown-key]  # of one provider alone
        return await self._send(
            model, conversation.messages, conversation.size, settings, conversation.parameters
        )

    async def request_stream(self, model: "Model", user: str, room: int) -> "ModelResponse":
        """Request a streamed response; raises ModelFailure.

        Only one attempt is streamed: once text was emitted, further attempts are silent, and the complete answer counts.
        """
        if self._is_heard:
            return await self.request_whole(model, user, room, None)
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.exceptions import UnexpectedModelBehavior
        from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

        message = self._build_message(model, user)
        settings = self._build_settings(room, self._compute_silence())
        shown = ThinkFilter()
        with _translate_failures():
            try:
                async with (
                    self._take_turn(model, len(user), settings) as call,
                    model_request_stream(model, [message], model_settings=settings) as stream,
                ):
                    async for event in stream:
                        match event:
                            case PartStartEvent(part=TextPart(content=piece)):
                                self._emit_text(shown.feed_piece(piece))
                            case PartDeltaEvent(delta=TextPartDelta(content_delta=piece)):
                                self._emit_text(shown.feed_piece(piece))
                            case _:
                                pass
                    self._emit_text(shown.flush_held())
                    call.tokens = read_tokens(stream.get().usage.total_tokens)
            except UnexpectedModelBehavior:
                # A page of a proxy is a stream without content: requested whole, it is told from an empty answer.
                self._is_heard = True
                raise
        return self._count_response(stream.get())

    async def probe(self, model: "Model", user: str) -> TokenProbe:
        """Return the probability of "yes" against "no" as the first token; raises ModelFailure."""
        settings: OpenAIChatModelSettings = {
            "max_retries": 0,
            "timeout": self._compute_timeout(),
            "max_tokens": 1,
            "temperature": 0.0,
            "openai_logprobs": True,
            "openai_top_logprobs": ALTERNATIVES,
        }
        return _parse_probe(
            await self._send(model, [self._build_message(model, user)], len(user), settings, None)
        )

    async def _send(
        self,
        model: "Model",
        messages: "Sequence[ModelMessage]",
        size: int,
        settings: "ModelSettings",
        parameters: "ModelRequestParameters | None",
    ) -> "ModelResponse":
        from pydantic_ai.direct import model_request

        with _translate_failures():
            async with self._take_turn(model, size, settings) as call:
                response = await model_request(
                    model, messages, model_settings=settings, model_request_parameters=parameters
                )
                call.tokens = read_tokens(response.usage.total_tokens)
        return self._count_response(response)

    def _count_response(self, response: "ModelResponse") -> "ModelResponse":
        self.usage += _build_usage(response)
        self._prefixes.note_answer(self.brief.shared)
        self.model = response.model_name or self.model
        return response

    def _build_message(self, model: "Model", user: str) -> "ModelRequest":
        from pydantic_ai.messages import BinaryContent, CachePoint, ModelRequest, UserPromptPart

        shared = self.brief.shared
        pictures = [
            BinaryContent(data=b64decode(each.text), media_type=each.media)
            for each in self.pictures
        ]
        # Only where the provider has marks, or there is a picture: other servers may not know a prompt in parts.
        is_marked = (
            model.system in _MARKED
            and user.startswith(shared)
            and self._prefixes.wants_mark(shared)
        )
        if not is_marked and not pictures:
            return ModelRequest.user_text_prompt(user, instructions=self.brief.system or None)
        content: list[Any] = [user, *pictures]
        if is_marked:
            content = [shared, *pictures, CachePoint(), user.removeprefix(shared)]
        return ModelRequest(
            parts=[UserPromptPart(content=content)], instructions=self.brief.system or None
        )

    def _build_settings(self, room: int, silence: float) -> "ModelSettings":
        # The limit only stops a model that runs away.
        # Clients would retry on their own and sleep for any Retry-After, past our deadline: hence no retries there.
        settings: ModelSettings = {
            "max_tokens": room * (THINKING_ROOM + LENGTH_ROOM * self.brief.form.max_tokens),
            "timeout": silence,
            "max_retries": 0,
        }
        if self._platform.temperature is not None:
            settings["temperature"] = self._platform.temperature
        if self._platform.is_local:
            settings["seed"] = model_seed(self.brief.seed, self.brief.ask.id)
        return settings

    def _compute_pause(self, failure: ModelFailure, tries: int) -> float:
        if failure.kind in _SAID:
            return 0.0
        # Exponential backoff: first_pause · 2^(tries − 1), capped.
        pause = min(self._pace.longest_pause, self._pace.first_pause * 2.0 ** (tries - 1))
        # Jitter between half and all of it, so that seats that failed together do not retry together. Seeded, hence reproducible.
        pause *= 0.5 + random_unit(self.brief.seed, "pause", self.brief.ask.id, tries) / 2
        if failure.retry_after is None:
            return pause
        return failure.retry_after + pause * 0.2

    def _compute_timeout(self) -> float:
        """Return how long the server may be silent; raises ModelFailure if the patience ended before the request."""
        left = self._compute_seconds_left()
        if left <= 0:
            raise ModelFailure(
                FailureKind.TIMEOUT, f"no answer within {self.brief.ask.patience:g} s"
            )
        return left

    def _compute_silence(self) -> float:
        """Return how long a stream may be silent; raises ModelFailure as above."""
        left = self._compute_timeout()
        # A local server reads the prompt for most of that time, and would read it again.
        if self._is_local:
            return left
        # At most half of the patience per silence: a stream that hangs can be started once more.
        return min(left, self.brief.ask.patience / 2)

    def _compute_seconds_left(self) -> float:
        return self._end - asyncio.get_running_loop().time()

    def _emit_text(self, piece: str) -> None:
        if piece:
            self._is_heard = True
            self._on_text(piece)


class ThinkFilter:
    """Holds back a <think> span at the start of a stream, however its tags are split into pieces.

    pydantic-ai does so only for a tag that arrives as a piece of its own.
    """

    def __init__(self) -> None:
        self._held = ""
        self._end: str | None = None
        self._is_open = False

    def feed_piece(self, piece: str) -> str:
        """Return what can be shown after this piece."""
        if self._is_open:
            return piece
        self._held += piece
        if self._end is None:
            start = self._held.lstrip()
            for tag in ("<think>", "<thinking>"):
                if start.startswith(tag):
                    self._end = tag.replace("<", "</")
                # So far it could still become a tag: wait for more.
                elif tag.startswith(start):
                    return ""
            if self._end is None:
                return self.flush_held()
        _, end_tag, after = self._held.partition(self._end)
        if not end_tag:
            return ""
        self._held, self._end = after, None
        # After one span another may follow; the remaining text is examined again.
        return self.feed_piece("")

    def flush_held(self) -> str:
        """Return what is still held back at the end of the stream, unless it is reasoning."""
        self._is_open = True
        held, self._held = self._held, ""
        return "" if self._end is not None else held.lstrip()


@contextmanager
def _translate_failures() -> Iterator[None]:
    """Raise what goes wrong in a whole request as ModelFailure."""
    from pydantic_ai.exceptions import AgentRunError, UserError

    try:
        yield
    except (AgentRunError, UserError) as error:
        raise translate_error(error) from error
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        # pydantic-ai 2.66 fails on some JSON that is not a completion, such as `"choices": []` or one that is nested too deep.
        raise ModelFailure(FailureKind.SERVER, "its answer is not a completion") from error


async def send_trial(model: "Model", seconds: float) -> None:
    """Request an answer of a few tokens; raises ModelFailure."""
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import ModelRequest

    settings: ModelSettings = {"max_tokens": TRIAL_TOKENS, "timeout": seconds, "max_retries": 0}
    try:
        with _translate_failures():
            async with asyncio.timeout(seconds):
                await model_request(
                    model, [ModelRequest.user_text_prompt("Say OK.")], model_settings=settings
                )
    except TimeoutError as error:
        raise ModelFailure(FailureKind.TIMEOUT, f"no answer within {seconds:g} s") from error


def has_web_search(model: "Model") -> bool:
    """Whether a model's provider can search the web itself."""
    from pydantic_ai.native_tools import WebSearchTool

    return WebSearchTool in model.profile.get("supported_native_tools", ())


def list_searches(response: "ModelResponse") -> list[tuple[object, object]]:
    """Return what the provider searched for itself, and what came of it."""
    from pydantic_ai.messages import NativeToolCallPart, NativeToolReturnPart

    calls = {
        part.tool_call_id: part.args
        for part in response.parts
        if isinstance(part, NativeToolCallPart)
    }
    return [
        (calls.get(part.tool_call_id), part.content)
        for part in response.parts
        if isinstance(part, NativeToolReturnPart)
    ]


def extract_text(response: "ModelResponse") -> str:
    """Return the text of a response without reasoning; raises ModelFailure if there is none."""
    from pydantic_ai.messages import TextPart

    if response.finish_reason == "content_filter":
        refusal = (response.provider_details or {}).get("refusal")
        raise ModelFailure(
            FailureKind.REFUSED, str(refusal or "stopped by the provider's content filter")
        )
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    text = strip_thoughts(text)
    if text:
        return text
    if response.finish_reason == "length":
        raise ModelFailure(
            FailureKind.MALFORMED, "the answer was cut off before it began", is_cut=True
        )
    raise ModelFailure(FailureKind.MALFORMED, "the answer is empty")


def _is_late(error: BaseException) -> bool:
    """Whether a request ended because its time was over, and not by an answer of the server."""
    from pydantic_ai.exceptions import AgentRunError

    return isinstance(error, AgentRunError) and translate_error(error).kind is FailureKind.TIMEOUT


def _estimate_usage(model: "Model", tokens: int) -> Usage:
    """Return what a request costs that sends so many tokens, before anything is known of the answer."""
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.usage import RequestUsage

    sent = ModelResponse(
        parts=[],
        usage=RequestUsage(input_tokens=tokens),
        model_name=model.model_name,
        provider_name=model.system,
    )
    return _build_usage(sent)


def _build_usage(response: "ModelResponse") -> Usage:
    used = response.usage
    try:
        price = (
            used.cost if used.cost is not None else response.cost().total_price
        )  # gateways report their own
        # Rounded up: a budget must never undercount.
        cost = (
            int((price * 1_000_000).to_integral_value(ROUND_CEILING))
            if 0 <= price < MAX_STATED_DOLLARS
            else None
        )
    except (
        LookupError,
        ValueError,
        AssertionError,
    ):  # a model without a known price, or a server that reported no usage
        cost = None
    return Usage(
        tokens_in=read_tokens(used.input_tokens),
        tokens_out=read_tokens(used.output_tokens),
        cost=cost,
        calls=1,
    )


def _parse_probe(response: "ModelResponse") -> TokenProbe:
    first = next(iter((response.provider_details or {}).get("logprobs") or ()), None)
    alternatives = first.get("top_logprobs") or () if first is not None else ()
    if len(alternatives) < 2:
        return TokenProbe(is_shown=False)
    # Sums over spellings ("Yes", " yes", "是"), because the tokenizer splits the probability between them.
    yes = sum(
        math.exp(one["logprob"]) for one in alternatives if _normalize_token(one["token"]) in _YES
    )
    no = sum(
        math.exp(one["logprob"]) for one in alternatives if _normalize_token(one["token"]) in _NO
    )
    return TokenProbe(is_shown=True, yes=yes / (yes + no) if yes + no >= MIN_MASS else None)


def _normalize_token(token: str) -> str:
    # Some servers show a token's leading space as a visible character.
    return token.lstrip("▁Ġ").strip(" \t\n\"'*.,。，“”").casefold()
