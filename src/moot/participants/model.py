"""A participant that is a language model: any provider, or any server that speaks OpenAI's language."""

import asyncio
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from moot.codec.answers import build_schema, parse_answer
from moot.domain.effects import Brief
from moot.domain.facts import Language
from moot.domain.fence import one_line
from moot.errors import BadAnswer
from moot.participants.asking import USUAL_PACE, Asking, Pace, Probe, Sampling, Try, text_of
from moot.participants.failures import Kind, ModelFailure, Whom, loss_of, sentence, translated, translated_sdk
from moot.participants.platforms import SERVER, Platform, address_of, key_of, key_variable
from moot.participants.wording import asked
from moot.ports.participant import Answer, NoAnswer, OnText

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

_IMPORTING: Final = threading.Lock()
_EXTRAS: Final = frozenset({"anthropic", "google"})
_TELLS_ALL: Final = frozenset({"openai", "openai-chat", "openai-responses", "ollama", "vllm"})
"""Providers whose list of models is complete, so that a name that is not on it is wrong."""

_NOT_TAKEN: Final = frozenset({400, 422, 501})

_SEATED: Final[Mapping[Language, str]] = {
    "en": "Your seat: {seat}. Your stance: {stance}.",
    "zh": "你的席位：{seat}。你的立场：{stance}。",
}


@dataclass(slots=True)
class _Line:
    """The model as one event loop holds it: its connections belong to that loop."""

    loop: asyncio.AbstractEventLoop
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    model: "Model | None" = None


class ModelParticipant:
    """Implements `Participant`. Opened at the first question, on whatever loop that is; `aclose` closes its connections.

    JSON is asked for in the prompt and, where it is taken, in the request; a server that answers 400 to that is asked in the
    prompt alone from then on, and a server that tells no token probabilities is asked for the whole intent.
    """

    def __init__(self, platform: Platform, environ: Mapping[str, str] = os.environ, *, pace: Pace = USUAL_PACE) -> None:
        self._platform = platform
        self._environ = environ
        self._pace = pace
        self._name = platform.model
        self._line: _Line | None = None
        self._takes_schema = True
        self._tells_tokens = platform.intents == "token"

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        sampling = Sampling(temperature=self._platform.temperature, is_seeded=self._platform.is_local)
        asking = Asking(brief, on_text, self._pace, sampling)
        try:
            said = await self._probed(asking, brief)
            if said is None:
                said = await asking.retrying(lambda now: self._attempt(asking, brief, now))
        except ModelFailure as failure:
            return NoAnswer(reason=loss_of(failure.kind), detail=sentence(failure, self._whom()), usage=asking.usage)
        return Answer(said=said, usage=asking.usage)

    async def ready(self) -> str | None:
        await asyncio.to_thread(_load)
        try:
            # Each request has its deadline; importing a provider's client, which a busy machine may take long over, has none.
            names = await self._listed(await self._model())
        except ModelFailure as failure:
            if failure.kind is Kind.TIMEOUT:
                return f"no answer from {self._whom().name} within {self._pace.preflight:g} s"
            return sentence(failure, self._whom())
        return self._misnamed(names)

    async def aclose(self) -> None:
        """Close the connections of the running loop; another question opens new ones."""
        line, self._line = self._line, None
        if line is not None and line.model is not None and line.loop is asyncio.get_running_loop():
            await line.model.__aexit__(None, None, None)

    async def _attempt(self, asking: Asking, brief: Brief, now: Try) -> object:
        user = asked(brief, now.complaint)
        model = await self._model()
        if brief.form.form == "text":
            response = await asking.stream(model, user, now.room)
        else:
            response = await self._structured(asking, model, brief, user, now.room)
        return _checked(brief, response)

    async def _structured(self, asking: Asking, model: "Model", brief: Brief, user: str, room: int) -> "ModelResponse":
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        # Providers differ on what they take at the root of a schema: a choice of shapes is asked for in the prompt alone.
        is_choice = brief.form.instead is not None
        if is_choice or not self._takes_schema or not model.profile.get("supports_json_schema_output", False):
            return await asking.whole(model, user, room, None)
        wanted = OutputObjectDefinition(json_schema=build_schema(brief.form.shape), name=brief.form.kind)
        native = ModelRequestParameters(output_mode="native", output_object=wanted, prompted_output_template=False)
        try:
            return await asking.whole(model, user, room, native)
        except ModelFailure as failure:
            if failure.kind is not Kind.REJECTED or failure.status not in _NOT_TAKEN:
                raise
        # Were it anything but the schema that the server does not take, this fails in the same way.
        response = await asking.whole(model, user, room, None)
        self._takes_schema = False
        return response

    async def _probed(self, asking: Asking, brief: Brief) -> object | None:
        """An intent from the probability of one token; None when it has to be asked for in full."""
        if not self._tells_tokens or not brief.probe or brief.form.kind != "intent":
            return None
        seat = _SEATED[brief.language].format(seat=brief.seat.id, stance=one_line(brief.seat.stance))
        user = "\n\n".join(filter(None, [brief.shared, seat, brief.seat.instructions.strip(), brief.probe]))

        async def attempt(now: Try) -> Probe:
            return await asking.probe(await self._model(), user)

        try:
            probe = await asking.retrying(attempt)
        except ModelFailure as failure:
            if failure.kind is not Kind.REJECTED:
                raise
            probe = Probe(is_told=False)
        self._tells_tokens = probe.is_told
        if probe.yes is None:
            return None
        said = {"reaction_score": probe.yes, "intent_to_speak": probe.yes >= 0.5, "reason": f"p(yes) = {probe.yes:.2f}"}
        return parse_answer(brief.form, said)

    async def _model(self) -> "Model":
        loop = asyncio.get_running_loop()
        if self._line is None or self._line.loop is not loop:
            self._line = _Line(loop)
        line = self._line
        async with line.lock:
            if line.model is None:
                provider = await asyncio.to_thread(_provider, self._platform, self._environ)
                if self._name is None:
                    self._name = await self._first_listed(provider)
                model = await asyncio.to_thread(_named, self._platform, self._name, provider)
                line.model = await model.__aenter__()
        return line.model

    async def _first_listed(self, provider: "Provider[Any]") -> str:
        async with provider:
            names = await _names(provider.client, self._pace.preflight)
        for name in names:
            if "embed" not in name.lower():
                return name
        raise ModelFailure(Kind.NOT_FOUND, "it lists no models")

    async def _listed(self, model: "Model") -> list[str]:
        """The names on offer, or none where that cannot be known; raises ModelFailure when it shows that no model can be had."""
        client: Any = getattr(model, "client", None)
        try:
            if model.system == "openrouter":  # its list of models is public, so it proves no key
                await _key_checked(client, self._pace.preflight)
                return []
            return await _names(client, self._pace.preflight)
        except ModelFailure as failure:
            # Keys may be good for answers and not for the list; servers may have no list, or be busy.
            if failure.status == 403 or failure.kind in {Kind.NOT_FOUND, Kind.REJECTED, Kind.RATE_LIMITED}:
                return []
            raise

    def _misnamed(self, names: list[str]) -> str | None:
        name = self._name or ""
        if self._platform.provider not in _TELLS_ALL or not names or name in names or f"{name}:latest" in names:
            return None
        if self._platform.provider.startswith("openai") and self._whom().address is not None:
            return None
        return f"{self._whom().name} has no model {name!r}; it has: {', '.join(names[:10])}{', …' if len(names) > 10 else ''}"

    def _whom(self) -> Whom:
        provider = self._platform.provider
        key = key_of(self._platform, self._environ)
        address = address_of(self._platform, self._environ)
        is_stand_in = provider.startswith("openai")
        if key_variable(provider) is not None and not is_stand_in:
            address = None  # a provider on the internet: its address tells nobody anything
        name = address if address is not None and (provider == SERVER or is_stand_in) else provider
        return Whom(name=name, address=address, variable=key.variable, secret=key.value)


def _checked(brief: Brief, response: "ModelResponse") -> object:
    """The answer in a response; raises ModelFailure with what is wrong with it."""
    try:
        said = parse_answer(brief.form, text_of(response))
    except BadAnswer as error:
        is_cut = response.finish_reason == "length"
        raise ModelFailure(Kind.MALFORMED, "the answer was cut off" if is_cut else str(error), is_cut=is_cut) from error
    if fault := brief.fault(said):
        raise ModelFailure(Kind.MALFORMED, fault)
    return said


def _load() -> None:
    """Import what takes long: in a thread, so that the loop goes on, and one at a time, since the modules import each other."""
    with _IMPORTING:
        import pydantic_ai.direct
        import pydantic_ai.models.openai  # noqa: F401


async def _names(client: Any, seconds: float) -> list[str]:
    """The models that a provider's client lists, none where it cannot list any; raises ModelFailure."""
    try:
        async with asyncio.timeout(seconds):
            if (aio := getattr(client, "aio", None)) is not None:  # google-genai
                page = await aio.models.list(config={"page_size": 100})
                return [str(found.name).removeprefix("models/") for found in page.page]
            if hasattr(client, "with_options") and hasattr(client, "models"):  # openai, anthropic
                page = await client.with_options(max_retries=0).models.list()
                return [str(found.id) for found in page.data]
            if hasattr(getattr(client, "models", None), "list_async"):  # mistral
                page = await client.models.list_async()
                return [str(found.id) for found in page.data]
            return []
    except TimeoutError as error:
        raise ModelFailure(Kind.TIMEOUT, f"its models were not listed within {seconds:g} s") from error
    except Exception as error:  # each client has a tree of errors of its own
        raise translated_sdk(error) from error


async def _key_checked(client: Any, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await client.with_options(max_retries=0).get("/key", cast_to=object)
    except TimeoutError as error:
        raise ModelFailure(Kind.TIMEOUT, f"its key was not checked within {seconds:g} s") from error
    except Exception as error:  # as above
        raise translated_sdk(error) from error


def _provider(platform: Platform, environ: Mapping[str, str]) -> "Provider[Any]":
    """The provider's client with its key; raises ModelFailure saying what to set or install."""
    key = key_of(platform, environ)
    if key.is_needed and key.value is None:
        raise ModelFailure(Kind.NO_KEY, f"{key.variable} is not set")
    if key.value is not None and not (key.value.isascii() and key.value.isprintable() and " " not in key.value):
        raise ModelFailure(Kind.AUTH, "it holds characters that no key has")
    _load()
    address = address_of(platform, environ)
    if address is not None:
        return _compatible(platform.provider, address, key.value)
    from pydantic_ai.providers import infer_provider_class

    try:
        with _IMPORTING:
            make: Any = infer_provider_class(platform.provider)
    except ImportError as error:
        extra = f"moot[{platform.provider}]" if platform.provider in _EXTRAS else f"pydantic-ai-slim[{platform.provider}]"
        raise ModelFailure(Kind.NO_PACKAGE, f'pip install "{extra}"') from error
    provider: Provider[Any] = make(api_key=key.value)
    return provider


def _compatible(name: str, address: str, key: str | None) -> "Provider[Any]":
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    profile = OpenAIModelProfile(
        # Ollama, llama.cpp and LM Studio know `max_tokens`; some silently ignore `max_completion_tokens`.
        openai_chat_supports_max_completion_tokens=False,
        # Some chat templates refuse a second system message.
        openai_chat_supports_multiple_system_messages=False,
        supports_json_schema_output=True,
    )
    # The name decides on prices: those of OpenAI do not hold for a server that stands in for it.
    name = SERVER if name.startswith("openai") else name
    return OpenAICompatibleProvider(name, base_url=address, api_key=key, profile=profile)


def _named(platform: Platform, name: str, provider: "Provider[Any]") -> "Model":
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    if isinstance(provider, OpenAICompatibleProvider):
        return OpenAIChatModel(name, provider=provider)
    # OpenAI's newer API gives no fewer than 16 tokens, so a single one's probability is asked for through the older.
    kind = "openai-chat" if platform.provider == "openai" and platform.intents == "token" else platform.provider
    try:
        with _IMPORTING:
            return infer_model(f"{kind}:{name}", lambda _: provider)
    except UserError as error:
        raise translated(error) from error
