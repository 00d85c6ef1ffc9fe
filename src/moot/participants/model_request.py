"""Asking a model once or more: attempts, pauses between them, the stream of an answer, and what all of it used.

Built on `pydantic_ai.direct`, which is imported at the first call: the import costs more than a second.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING, Final, TypeVar

from moot.codec.answers import strip_thoughts
from moot.domain.budget import FREE, Usage
from moot.domain.effects import Brief
from moot.domain.seeded_random import model_seed, random_unit
from moot.participants.failures import FailureKind, ModelFailure, translate_error
from moot.ports.participant import OnText

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.models.openai import OpenAIChatModelSettings
    from pydantic_ai.settings import ModelSettings

T = TypeVar("T")

LEAST_ROOM: Final = 2_000
MORE_ROOM: Final = 4
ALTERNATIVES: Final = 10
LEAST_MASS: Final = 0.05
"""How much of the probability "yes" and "no" must have between them to say anything."""

_ATTEMPTS: Final[Mapping[FailureKind, int]] = {
    FailureKind.RATE_LIMITED: 10,
    FailureKind.SERVER: 4,
    FailureKind.UNREACHABLE: 3,
    FailureKind.BROKEN: 3,
    FailureKind.TIMEOUT: 2,
    FailureKind.MALFORMED: 2,
}
"""How often a question may fail in this way before it is given up; once for any other."""

_YES: Final = frozenset({"yes", "y", "是", "是的"})
_NO: Final = frozenset({"no", "n", "否", "不", "不是"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Seconds: the first pause after a failure (each further one is twice as long), the longest, and what `ready` may take."""

    first_pause: float = 0.5
    longest_pause: float = 20.0
    preflight: float = 10.0


DEFAULT_RETRY_POLICY: Final = RetryPolicy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """What an attempt has to heed: what was wrong with the last answer, and how many times the usual room this one has."""

    complaint: str | None = None
    room: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a model is to choose its words."""

    temperature: float | None = None
    is_seeded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenProbe:
    """Whether a server tells the probabilities of tokens, and "yes" against "no" if the model said either."""

    is_told: bool
    yes: float | None = None


class BriefRequest:
    """One brief: the time that it has, what its attempts have used, and whether anything of a stream was heard.

    The caller cancels at the deadline. Here the brief's patience only bounds pauses and silences: a pause that would outlast it
    is not begun.
    """

    def __init__(self, brief: Brief, on_text: OnText, pace: RetryPolicy, sampling: Sampling) -> None:
        self.usage: Usage = FREE
        self._brief = brief
        self._on_text = on_text
        self._pace = pace
        self._sampling = sampling
        self._end = asyncio.get_running_loop().time() + brief.ask.patience
        self._is_heard = False

    async def run_with_retries(self, attempt: Callable[[Attempt], Awaitable[T]]) -> T:
        """The first attempt's result that does not fail; raises ModelFailure."""
        failed: dict[FailureKind, int] = {}
        now = Attempt()
        while True:
            try:
                return await attempt(now)
            except ModelFailure as failure:
                failed[failure.kind] = failed.get(failure.kind, 0) + 1
                if failed[failure.kind] >= _ATTEMPTS.get(failure.kind, 1):
                    raise
                pause = self._compute_pause(failure, sum(failed.values()))
                if pause >= self._compute_seconds_left():
                    raise
                if failure.kind is FailureKind.MALFORMED:
                    now = Attempt(complaint=failure.message, room=MORE_ROOM if failure.is_cut else 1)
            await asyncio.sleep(pause)

    async def request_whole(
        self, model: "Model", user: str, room: int, parameters: "ModelRequestParameters | None"
    ) -> "ModelResponse":
        """A response in one piece; raises ModelFailure."""
        return await self._send_request(model, user, self._build_settings(room, self._compute_timeout()), parameters)

    async def request_stream(self, model: "Model", user: str, room: int) -> "ModelResponse":
        """A response that is heard while it comes; raises ModelFailure.

        The listener hears one attempt: after something was heard, further attempts are silent, and the whole answer tells.
        """
        if self._is_heard:
            return await self.request_whole(model, user, room, None)
        from pydantic_ai.direct import model_request_stream
        from pydantic_ai.exceptions import AgentRunError, UserError
        from pydantic_ai.messages import ModelRequest, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

        message = ModelRequest.user_text_prompt(user, instructions=self._brief.system)
        # Half of the patience for a silence: a stream that hangs can be begun once more.
        settings = self._build_settings(room, min(self._compute_timeout(), self._brief.ask.patience / 2))
        shown = ThinkFilter()
        try:
            async with model_request_stream(model, [message], model_settings=settings) as stream:
                async for event in stream:
                    match event:
                        case PartStartEvent(part=TextPart(content=piece)):
                            self._emit_text(shown.feed_piece(piece))
                        case PartDeltaEvent(delta=TextPartDelta(content_delta=piece)):
                            self._emit_text(shown.feed_piece(piece))
                        case _:
                            pass
                self._emit_text(shown.flush_held())
        except (AgentRunError, UserError) as error:
            raise translate_error(error) from error
        response = stream.get()
        self.usage += _build_usage(response)
        return response

    async def probe(self, model: "Model", user: str) -> TokenProbe:
        """How probable "yes" is against "no" as the first token; raises ModelFailure."""
        settings: OpenAIChatModelSettings = {
            "max_retries": 0,
            "timeout": self._compute_timeout(),
            "max_tokens": 1,
            "temperature": 0.0,
            "openai_logprobs": True,
            "openai_top_logprobs": ALTERNATIVES,
        }
        return _parse_probe(await self._send_request(model, user, settings, None))

    async def _send_request(
        self, model: "Model", user: str, settings: "ModelSettings", parameters: "ModelRequestParameters | None"
    ) -> "ModelResponse":
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import AgentRunError, UserError
        from pydantic_ai.messages import ModelRequest

        message = ModelRequest.user_text_prompt(user, instructions=self._brief.system)
        try:
            response = await model_request(model, [message], model_settings=settings, model_request_parameters=parameters)
        except (AgentRunError, UserError) as error:
            raise translate_error(error) from error
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            # pydantic-ai 2.66 stumbles over some well-formed JSON that is no completion, such as `"choices": []`.
            raise ModelFailure(FailureKind.MALFORMED, "the server's answer is not a completion") from error
        self.usage += _build_usage(response)
        return response

    def _build_settings(self, room: int, silence: float) -> "ModelSettings":
        # Models that think spend tokens before they answer: the limit stops one that runs away, the prompt sizes the answer.
        # Clients would retry on their own and sleep for any Retry-After: none of that.
        settings: ModelSettings = {
            "max_tokens": room * max(LEAST_ROOM, 4 * self._brief.form.max_tokens),
            "timeout": silence,
            "max_retries": 0,
        }
        if self._sampling.temperature is not None:
            settings["temperature"] = self._sampling.temperature
        if self._sampling.is_seeded:
            settings["seed"] = model_seed(self._brief.seed, self._brief.ask.id)
        return settings

    def _compute_pause(self, failure: ModelFailure, tries: int) -> float:
        if failure.kind is FailureKind.MALFORMED:
            return 0.0
        pause = min(self._pace.longest_pause, self._pace.first_pause * 2.0 ** (tries - 1))
        # Spread out, so that seats that failed together do not come back together.
        pause *= 0.5 + random_unit(self._brief.seed, "pause", self._brief.ask.id, tries) / 2
        return pause if failure.retry_after is None else failure.retry_after + pause * 0.2

    def _compute_timeout(self) -> float:
        """How long the server may say nothing; raises ModelFailure when the patience is at its end before it was asked."""
        left = self._compute_seconds_left()
        if left <= 0:
            raise ModelFailure(FailureKind.TIMEOUT, f"no answer within {self._brief.ask.patience:g} s")
        return left

    def _compute_seconds_left(self) -> float:
        return self._end - asyncio.get_running_loop().time()

    def _emit_text(self, piece: str) -> None:
        if piece:
            self._is_heard = True
            self._on_text(piece)


class ThinkFilter:
    """Holds back a <think> span at the start of a stream, however its tags are cut into pieces.

    pydantic-ai does so only for a tag that comes as a piece of its own.
    """

    def __init__(self) -> None:
        self._held = ""
        self._end: str | None = None
        self._is_open = False

    def feed_piece(self, piece: str) -> str:
        """What can be shown once this piece has come."""
        if self._is_open:
            return piece
        self._held += piece
        if self._end is None:
            start = self._held.lstrip()
            for tag in ("<think>", "<thinking>"):
                if start.startswith(tag):
                    self._end = tag.replace("<", "</")
                elif tag.startswith(start):
                    return ""
            if self._end is None:
                return self.flush_held()
        _, found, after = self._held.partition(self._end)
        if not found:
            return ""
        self._held, self._end = after, None
        return self.feed_piece("")

    def flush_held(self) -> str:
        """What is still held back when the stream ends, unless it is thought."""
        self._is_open = True
        held, self._held = self._held, ""
        return "" if self._end is not None else held.lstrip()


def extract_text(response: "ModelResponse") -> str:
    """The words of a response without thoughts; raises ModelFailure when there are none."""
    from pydantic_ai.messages import TextPart

    if response.finish_reason == "content_filter":
        refusal = (response.provider_details or {}).get("refusal")
        raise ModelFailure(FailureKind.REFUSED, str(refusal or "stopped by the provider's content filter"))
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    text = strip_thoughts(text)
    if text:
        return text
    if response.finish_reason == "length":
        raise ModelFailure(FailureKind.MALFORMED, "the answer was cut off before it began", is_cut=True)
    raise ModelFailure(FailureKind.MALFORMED, "the answer is empty")


def _build_usage(response: "ModelResponse") -> Usage:
    used = response.usage
    try:
        price = used.cost if used.cost is not None else response.cost().total_price  # gateways tell their own
        cost = int((price * 1_000_000).to_integral_value(ROUND_CEILING))
    except (LookupError, ValueError, AssertionError):  # a model without a known price, or a server that told no usage
        cost = None
    return Usage(tokens_in=used.input_tokens, tokens_out=used.output_tokens, cost=cost, calls=1)


def _parse_probe(response: "ModelResponse") -> TokenProbe:
    first = next(iter((response.provider_details or {}).get("logprobs") or ()), None)
    told = first.get("top_logprobs") or () if first is not None else ()
    if len(told) < 2:
        return TokenProbe(is_told=False)
    yes = sum(math.exp(one["logprob"]) for one in told if _normalize_token(one["token"]) in _YES)
    no = sum(math.exp(one["logprob"]) for one in told if _normalize_token(one["token"]) in _NO)
    return TokenProbe(is_told=True, yes=yes / (yes + no) if yes + no >= LEAST_MASS else None)


def _normalize_token(token: str) -> str:
    # Some servers show a token's leading space as a letter of its own.
    return token.lstrip("▁Ġ").strip(" \t\n\"'*.,。，“”").casefold()
