"""A participant that is a language model: any provider, or any OpenAI-compatible server."""

import asyncio
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from moothall.domain.causes import CauseCode, state_cause
from moothall.domain.effects import Ask, Brief
from moothall.domain.facts import OUTAGES
from moothall.domain.safe_text import compile_late, one_line, split_address
from moothall.errors import AnswerRefused, BadAnswer, UnclearChoice, describe_install
from moothall.locale.catalogues import PARTICIPANT_PROMPT
from moothall.participants import model_request, provider_limits
from moothall.participants.failures import (
    FailureKind,
    ModelEndpoint,
    ModelFailure,
    explain_failure,
    to_loss,
    translate_error,
    translate_sdk_error,
)
from moothall.participants.model_request import BriefRequest
from moothall.participants.named_tools import ToolBox
from moothall.participants.platforms import (
    SERVER,
    Platform,
    find_address,
    find_compatible_address,
    find_key,
    find_key_variable,
    find_local_server,
    is_asked_one_by_one,
    is_local_server,
    is_served_locally,
)
from moothall.participants.tool_desk import ToolDesk
from moothall.ports.participant import (
    Allowance,
    Answer,
    NoAnswer,
    OnText,
    ProviderLimits,
    UnclearAnswer,
    note_meter,
)
from moothall.reading.answers import Reading, read_answer
from moothall.reading.schemas import build_request_schema, build_user_prompt, is_strict_schema

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

_IMPORTING: Final = threading.Lock()
_TELLS_ALL: Final = frozenset({"openai", "openai-chat", "openai-responses", "ollama", "vllm"})
"""Providers whose list of models is complete, so that a name missing from it is wrong."""

_SHOWS_SCHEMA: Final = frozenset({"openai", "openai-chat", "openai-responses"})
"""Providers that show a schema to the model, as a part of its prompt, and have a strict mode. Others only constrain what it writes."""

_UNUSABLE: Final = frozenset({FailureKind.AUTH, FailureKind.NO_MODEL, FailureKind.NOT_FOUND})
"""Failures of a trial that the next request would have as well."""
_CHAT_TRIAL_SECONDS: Final = 5.0
"""A server says at once that a model does not chat; one that says nothing may be loading it."""
_NO_CHAT: Final = ("embed", "minilm", "bge", "e5", "gte", "rerank")
"""Words in the names of models that cannot chat: they turn texts into vectors, or rank them."""
_NAME_PARTS: Final = compile_late(r"[a-z]+[0-9]*|[0-9]+")

MORE_PATIENCE: Final = 5
"""How many times as patient it is advised to be with a model that did not answer in time."""
_SILENCES: Final[Mapping[tuple[bool, bool], CauseCode]] = {
    (True, True): "slow_more_alone",
    (True, False): "slow_more",
    (False, True): "slow_alone",
    (False, False): "slow",
}
"""The sentence about a silence: whether a setting gives more time, and whether one request at a time would help."""
_NO_LIST: Final = "it sent no list of models; check its address (most end in /v1), and whether a proxy or sign-in page answers"


@dataclass(slots=True)
class _Connection:
    """The model on one event loop: its connections belong to that loop."""

    loop: asyncio.AbstractEventLoop
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    model: "Model | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Obstacle:
    """Why a model cannot be asked: a sentence, and the command that installs what is missing, if that is it."""

    sentence: str
    install: str = ""


class ModelParticipant:
    """Implements `Participant`. The model is opened on the first question, on the running loop; `aclose` closes its connections.

    JSON is requested in the prompt and, if supported, by a schema in the request. A server that rejects the schema is asked by
    the prompt alone from then on, and a server without token probabilities is asked for the whole intent. Where the brief has
    tools, the model may call them first; one whose server rejects them is asked without.
    """

    def __init__(
        self,
        platform: Platform,
        environ: Mapping[str, str] = os.environ,
        *,
        pace: model_request.RetryPolicy = model_request.DEFAULT_RETRY_POLICY,
        limits: ProviderLimits | None = None,
        tools: ToolBox | None = None,
    ) -> None:
        self._tools = tools
        self._platform = platform
        self._environ = environ
        self._pace = pace
        self._name = platform.model
        self._line: _Connection | None = None
        self._takes_schema = True
        self._takes_tools = True
        self._takes_pictures = True
        self._takes_streams = True
        self._is_list_forbidden = False
        self._is_unlisted = False
        self._missing = ""
        self._chatting: list[str] = []
        self._prefixes = model_request.PrefixCache()
        self._is_local = is_served_locally(platform, environ)
        self._tells_tokens = platform.intents == "token"
        self._account = provider_limits.ProviderAccount(
            limits or provider_limits.LocalLimits(),
            _name_account(platform, environ),
            _find_allowance(platform, environ),
        )

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        asking = BriefRequest(
            brief,
            on_text,
            self._pace,
            self._platform,
            self._prefixes,
            account=self._account,
            is_local=self._is_local,
        )
        desk = ToolDesk(brief, self._tools)
        note_meter(asking.estimate_usage)
        try:
            read = await self._probe_intent(asking)
            if read is None:
                read = await asking.run_with_retries(
                    lambda now: self._attempt_with_pictures(asking, now, desk)
                )
        except UnclearChoice as unclear:
            raise UnclearAnswer(
                unclear, asking.usage, model=asking.model, corrections=_note_unseen(asking)
            ) from unclear
        except ModelFailure as failure:
            if failure.kind is FailureKind.TIMEOUT:
                detail: str = self.explain_silence(brief.ask)
            else:
                detail = explain_failure(failure, self._describe_endpoint())
            return NoAnswer(reason=to_loss(failure.kind), detail=detail, usage=asking.usage)
        mends = (*read.mends, *_note_unseen(asking))
        return Answer(said=read.said, corrections=mends, usage=asking.usage, model=asking.model)

    async def ready(self) -> str | None:
        await asyncio.to_thread(_import_libraries)
        try:
            # Each request has its deadline. Importing a provider's client has none, because it may take long on a busy machine.
            names = await self._list_models(await self._open_model())
        except ModelFailure as failure:
            return self._explain_unready(failure)
        self._is_unlisted = bool(names) and not self._is_among(names)
        return self._explain_unknown_model(names)

    @property
    def model_name(self) -> str | None:
        """The model that is asked; None where it was not named, and not chosen yet."""
        return self._name

    async def find_obstacle(self) -> Obstacle | None:
        """Return why this model cannot be asked, None if it can. Where it was not named, it is chosen.

        That is the first that chats. A key that may not list models is tried by the smallest request.
        """
        why = await self.ready()
        if why is None:
            try:
                await self._try_out()
            except ModelFailure as failure:
                if failure.kind in _UNUSABLE:
                    why = self._explain_unready(failure)
        if why is None:
            return None
        return Obstacle(sentence=why, install=self._missing)

    async def _try_out(self) -> None:
        if self._is_list_forbidden:
            await model_request.send_trial(await self._open_model(), self._pace.preflight)
        # Such a server may answer by another name than it lists, so only it can say that the model is not there.
        elif self._is_unlisted and self._describe_endpoint().address is not None:
            await model_request.send_trial(await self._open_model(), _CHAT_TRIAL_SECONDS)
        # A trial costs nothing at a server of this machine, and there is no choice where the model was named.
        is_chosen = self._platform.model is None and is_local_server(self._platform)
        while is_chosen and not await self._is_chatting():
            await self._open_next()

    async def _is_chatting(self) -> bool:
        """Whether the chosen model answers, or at least does not say that it cannot."""
        try:
            await model_request.send_trial(await self._open_model(), _CHAT_TRIAL_SECONDS)
        except ModelFailure as failure:
            return "support chat" not in failure.message
        return True

    async def probe(self) -> str | None:
        """Try the smallest request: a list of models shows neither a used-up quota nor a line that breaks."""
        why = await self.ready()
        if why is not None:
            return why
        # There a trial would wait behind requests of our own, and prove nothing.
        if self._is_local and self._account.is_busy:
            return None
        try:
            await model_request.send_trial(await self._open_model(), self._pace.preflight)
        except ModelFailure as failure:
            if failure.kind is FailureKind.TIMEOUT or to_loss(failure.kind) in OUTAGES:
                return self._explain_unready(failure)
        return None

    def explain_silence(self, ask: Ask) -> str:
        """Return that the model did not answer within the seconds of an ask, and what would help."""
        endpoint = self._describe_endpoint()
        place, helps_alone = endpoint.name, False
        if endpoint.address is not None:
            place = split_address(endpoint.address).netloc
            # On a server that others may share, or that is told to do more at once, one at a time is faster for each.
            helps_alone = self._account.at_once != 1
        digits = 1 if ask.patience < 1 else 0
        more = MORE_PATIENCE * max(1.0, ask.patience)
        code = _SILENCES[bool(ask.timed_by), helps_alone]
        name = f"{self._name} at {place}" if self._name else place
        return state_cause(
            code,
            name=endpoint.scrub(name),
            seconds=f"{ask.patience:.{digits}f}",
            setting=ask.timed_by,
            more=f"{more:.0f}",
            provider=self._platform.provider,
        )

    def _explain_unready(self, failure: ModelFailure) -> str:
        endpoint = self._describe_endpoint()
        self._missing = failure.message if failure.kind is FailureKind.NO_PACKAGE else ""
        if failure.kind is FailureKind.TIMEOUT:
            seconds = f"{self._pace.preflight:g}"
            return state_cause("no_answer", name=endpoint.scrub(endpoint.name), seconds=seconds)
        return explain_failure(failure, endpoint)

    async def aclose(self) -> None:
        """Close the connections of the running loop; another question opens new ones."""
        line, self._line = self._line, None
        # Connections of another loop cannot be awaited here; they end with that loop.
        if line is not None and line.model is not None and line.loop is asyncio.get_running_loop():
            await line.model.__aexit__(None, None, None)

    async def _attempt_with_pictures(
        self, asking: BriefRequest, now: model_request.Attempt, desk: ToolDesk
    ) -> Reading:
        """Return the answer of a model that was sent the pictures; one that takes none is asked without, from then on."""
        if asking.pictures and not (
            self._takes_pictures
            and (await self._open_model()).profile.get("supports_image_input", True)
        ):
            asking.pictures = ()
        takes_tools = self._takes_tools
        try:
            return await self._attempt_answer(asking, now, desk)
        except ModelFailure as failure:
            # Some servers have no better word for it than an error of their own.
            is_named = (
                failure.kind in {FailureKind.REJECTED, FailureKind.SERVER}
                and "image" in failure.message.lower()
            )
            if not asking.pictures or not (failure.is_refused_part or is_named):
                raise
        # It was the pictures that were rejected, as far as can be known: the tools are tried again.
        asking.pictures, self._takes_tools = (), takes_tools
        read = await self._attempt_answer(asking, now, desk)
        self._takes_pictures = False
        return read

    async def _attempt_answer(
        self, asking: BriefRequest, now: model_request.Attempt, desk: ToolDesk
    ) -> Reading:
        brief, model = asking.brief, await self._open_model()
        # An answer that could not be read is asked for again without tools, in its form: it was not for want of knowledge.
        has_tools = (
            self._takes_tools
            and now.complaint is None
            and model.profile.get("supports_tools", True)
        )
        if has_tools and not desk.is_open:
            desk.refuse_first()
        elif has_tools and (await desk.list_offered() or desk.native):
            response = await self._request_with_tools(
                asking, model, build_user_prompt(desk.add_results(brief)), desk, now.room
            )
            if response is not None:
                return _parse_response(brief, response, is_last=False)
        asked = desk.add_results(brief)
        if brief.form.form == "text":
            user = build_user_prompt(asked, now.complaint)
            response = await self._request_text(asking, model, user, now.room)
        else:
            response = await self._request_json(asking, model, asked, now)
        return _parse_response(brief, response, is_last=now.complaint is not None)

    async def _request_with_tools(
        self, asking: BriefRequest, model: "Model", user: str, desk: ToolDesk, room: int
    ) -> "ModelResponse | None":
        """Return the response of a model that has looked up what it wanted; None where it is to be asked without tools.

        That is so once its budget is spent, and at a server that takes no tools.
        """
        from pydantic_ai.messages import ToolCallPart

        searches = bool(desk.native) and model_request.has_web_search(model)
        if desk.native and not searches:
            desk.note_failure(
                desk.native, "the provider of this model has no web search of its own"
            )
        if not searches and not await desk.list_offered():
            return None
        conversation = asking.begin_conversation(
            model, user, await desk.list_offered(), searches=searches
        )
        while desk.is_open:
            try:
                response = await asking.request_next(model, conversation, room)
            except ModelFailure as failure:
                if not failure.is_refused_part:
                    raise
                self._takes_tools = conversation.is_begun
                return None
            for arguments, returned in model_request.list_searches(response):
                desk.note_native(arguments, returned)
            calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
            if not calls:
                return response
            results = []
            for call in calls:
                # What is over the budget is refused there, on the record.
                if (text := await desk.call(call.tool_name, call.args)) is not None:
                    results.append((call, text))
            # What is over the budget is not called; then the model is asked without tools.
            if len(results) == len(calls):
                conversation.add_results(response, results)
        return None

    async def _request_text(
        self, asking: BriefRequest, model: "Model", user: str, room: int
    ) -> "ModelResponse":
        """Return a streamed response; a server that does not take what is sent with a stream is asked without one."""
        if not self._takes_streams:
            return await asking.request_whole(model, user, room, None)
        try:
            return await asking.request_stream(model, user, room)
        except ModelFailure as failure:
            if not failure.is_refused_part:
                raise
        response = await asking.request_whole(model, user, room, None)
        self._takes_streams = False
        return response

    async def _request_json(
        self, asking: BriefRequest, model: "Model", asked: Brief, now: model_request.Attempt
    ) -> "ModelResponse":
        if not self._takes_schema or not model.profile.get("supports_json_schema_output", False):
            user = build_user_prompt(asked, now.complaint)
            return await asking.request_whole(model, user, now.room, None)
        try:
            return await self._request_by_schema(asking, model, asked, now)
        except ModelFailure as failure:
            if not failure.is_refused_part:
                raise
        # If something other than the schema was rejected, this fails in the same way, and the schema is tried again next time.
        user = build_user_prompt(asked, now.complaint)
        response = await asking.request_whole(model, user, now.room, None)
        self._takes_schema = False
        return response

    async def _request_by_schema(
        self, asking: BriefRequest, model: "Model", asked: Brief, now: model_request.Attempt
    ) -> "ModelResponse":
        """Request an answer in its schema; where the provider shows that to the model, the prompt does not describe it again."""
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.output import OutputObjectDefinition

        is_shown = self._shows_schema
        schema = build_request_schema(asked, is_shown=is_shown)
        wanted = OutputObjectDefinition(
            json_schema=schema,
            name=asked.form.kind,
            strict=_find_strict_mode(asked, schema, is_shown=is_shown),
        )
        native = ModelRequestParameters(
            output_mode="native", output_object=wanted, prompted_output_template=False
        )
        user = build_user_prompt(asked, now.complaint, shows_form=not is_shown)
        return await asking.request_whole(model, user, now.room, native)

    @property
    def _shows_schema(self) -> bool:
        """Whether the provider puts the schema before the prompt, where the model reads it."""
        is_own_server = find_address(self._platform, self._environ) is None
        return self._platform.provider in _SHOWS_SCHEMA and is_own_server

    async def _probe_intent(self, asking: BriefRequest) -> Reading | None:
        """Derive an intent from the probability of one token; None if it must be asked in full."""
        brief = asking.brief
        if not self._tells_tokens or not brief.probe or brief.form.kind != "intent":
            return None
        seat = PARTICIPANT_PROMPT[brief.language].seated.format(
            seat=brief.seat.id, stance=one_line(brief.seat.stance)
        )
        user = "\n\n".join(
            filter(None, [brief.shared, seat, brief.seat.instructions.strip(), brief.probe])
        )

        async def attempt(now: model_request.Attempt) -> model_request.TokenProbe:
            return await asking.probe(await self._open_model(), user)

        try:
            probe = await asking.run_with_retries(attempt)
        except ModelFailure as failure:
            if failure.kind is not FailureKind.REJECTED:
                raise
            probe = model_request.TokenProbe(is_shown=False)
        self._tells_tokens = probe.is_shown
        if probe.yes is None:
            return None
        said = {
            "reaction_score": probe.yes,
            "intent_to_speak": probe.yes >= 0.5,
            "reason": f"p(yes) = {probe.yes:.2f}",
        }
        return read_answer(brief, said)

    async def _open_model(self) -> "Model":
        loop = asyncio.get_running_loop()
        # A process may use several event loops, one after the other.
        if self._line is None or self._line.loop is not loop:
            self._line = _Connection(loop)
        line = self._line
        async with line.lock:
            if line.model is None:
                provider = await asyncio.to_thread(_build_provider, self._platform, self._environ)
                if self._name is None:
                    self._name = await self._find_first_model(provider)
                model = await asyncio.to_thread(_build_model, self._platform, self._name, provider)
                line.model = await model.__aenter__()
                # Only now: to enter it may have given it another client.
                provider_limits.hook_client(provider.client)
        return line.model

    async def _find_first_model(self, provider: "Provider[Any]") -> str:
        async with provider:
            provider_limits.hook_client(provider.client)
            names = await _fetch_model_names(provider.client, self._pace.preflight)
        # Servers list embedding models as well, which cannot chat.
        self._chatting = [name for name in names if _may_chat(name)]
        if self._chatting:
            return self._chatting[0]
        if not names:
            raise ModelFailure(FailureKind.NO_MODEL, "it lists no models")
        listed = ", ".join(names[:10])
        raise ModelFailure(FailureKind.NO_MODEL, f"it lists no models that chat ({listed})")

    async def _open_next(self) -> None:
        """Choose the next model that the server lists; raises ModelFailure where it was the last."""
        refused, *self._chatting = self._chatting
        if not self._chatting:
            raise ModelFailure(FailureKind.NO_MODEL, f"its models do not chat ({refused}, …)")
        await self.aclose()
        self._name = self._chatting[0]

    async def _list_models(self, model: "Model") -> list[str]:
        """Return the offered model names, empty if unknown; raises ModelFailure if the failure shows that no model is usable."""
        client: Any = getattr(model, "client", None)
        try:
            if model.system == "openrouter":  # its list of models is public, so it proves no key
                await _check_key(client, self._pace.preflight)
                return []
            return await _fetch_model_names(client, self._pace.preflight)
        except ModelFailure as failure:
            # A key may be valid for answers but not for the list; servers may have no list, or be busy.
            self._is_list_forbidden = failure.status == 403
            if self._is_list_forbidden or failure.kind in {
                FailureKind.NOT_FOUND,
                FailureKind.REJECTED,
                FailureKind.RATE_LIMITED,
            }:
                return []
            raise

    def _explain_unknown_model(self, names: list[str]) -> str | None:
        if self._platform.provider not in _TELLS_ALL or not names or self._is_among(names):
            return None
        if (
            self._platform.provider.startswith("openai")
            and self._describe_endpoint().address is not None
        ):
            return None
        known = ", ".join(names[:10])
        if len(names) > 10:
            known += ", …"
        return f"{self._describe_endpoint().name} has no model {self._name!r}; it has: {known}"

    def _is_among(self, names: list[str]) -> bool:
        """Whether the model is among those that are listed; one that was not named is."""
        return self._name is None or self._name in names or f"{self._name}:latest" in names

    def _describe_endpoint(self) -> ModelEndpoint:
        provider = self._platform.provider
        key = find_key(self._platform, self._environ)
        address = find_address(self._platform, self._environ)
        is_stand_in = provider.startswith("openai")
        if find_key_variable(provider) is not None and not is_stand_in:
            address = None  # a provider on the internet: its address says nothing to a user
        name = provider
        if address is not None and (provider == SERVER or is_stand_in):
            name = address
        return ModelEndpoint(name=name, address=address, variable=key.variable, secret=key.value)


def _find_strict_mode(asked: Brief, schema: Any, *, is_shown: bool) -> bool | None:
    """Return whether a provider is asked to enforce a schema; None where it is not known to have a mode for that."""
    if is_shown and asked.explains_fields and is_strict_schema(schema):
        return True
    return None


def _note_unseen(asking: BriefRequest) -> tuple[str, ...]:
    """Return the note on the pictures that a model was not sent."""
    unseen = [each.name for each in asking.brief.pictures if each not in asking.pictures]
    return (f"unseen {', '.join(unseen)}",) if unseen else ()


def _name_account(platform: Platform, environ: Mapping[str, str]) -> str:
    """Name what the limits hold for: a local server whatever model and key it is asked with, else a key of a provider."""
    server = find_local_server(platform, environ)
    if server is not None:
        return provider_limits.name_local_account(server)
    key = find_key(platform, environ).value
    return provider_limits.name_account(platform.provider, find_address(platform, environ), key)


def _find_allowance(platform: Platform, environ: Mapping[str, str]) -> Allowance:
    """Return what the user allows. A local server answers one request at a time where the user says nothing else."""
    given = provider_limits.parse_limits(environ.get(provider_limits.LIMITS, ""))
    allowance = given.get(platform.provider, Allowance())
    if allowance.at_once is None and is_asked_one_by_one(platform, environ):
        return replace(allowance, at_once=1)
    return allowance


def _parse_response(brief: Brief, response: "ModelResponse", *, is_last: bool) -> Reading:
    """Parse the answer from a response; raises ModelFailure with what is wrong with it."""
    try:
        return read_answer(brief, model_request.extract_text(response), is_last=is_last)
    except UnclearChoice as unclear:
        if response.finish_reason == "length":
            raise ModelFailure(
                FailureKind.MALFORMED, "the answer was cut off", is_cut=True
            ) from unclear
        raise
    except BadAnswer as error:
        kind = FailureKind.DECLINED if isinstance(error, AnswerRefused) else FailureKind.MALFORMED
        if response.finish_reason == "length":
            raise ModelFailure(kind, "the answer was cut off", is_cut=True) from error
        raise ModelFailure(kind, str(error)) from error


def _may_chat(name: str) -> bool:
    """Whether nothing in a model's name says that it does not chat; `e5` is a word, and no part of `qwen3.5`."""
    words = _NAME_PARTS.findall(name.lower())
    return not any(word.startswith(_NO_CHAT) for word in words)


def _import_libraries() -> None:
    """Import the slow libraries: on a thread, to keep the loop free, and one at a time, because they import each other."""
    with _IMPORTING:
        import pydantic_ai.direct
        import pydantic_ai.models.openai  # noqa: F401


async def _fetch_model_names(client: Any, seconds: float) -> list[str]:
    """Return the models that a provider's client lists, empty if it cannot; raises ModelFailure."""
    # Clients import this part of themselves when it is first used: the deadline below is for the request alone.
    await asyncio.to_thread(getattr, client, "models", None)
    try:
        async with asyncio.timeout(seconds):
            if (aio := getattr(client, "aio", None)) is not None:  # google-genai
                page = await aio.models.list(config={"page_size": 100})
                return [str(model.name).removeprefix("models/") for model in page.page]
            if hasattr(client, "with_options") and hasattr(client, "models"):  # openai, anthropic
                page = await client.with_options(max_retries=0).models.list()
                return [str(model.id) for model in page.data]
            if hasattr(getattr(client, "models", None), "list_async"):  # mistral
                page = await client.models.list_async()
                return [str(model.id) for model in page.data]
            return []
    except TimeoutError as error:
        raise ModelFailure(
            FailureKind.TIMEOUT, f"its models were not listed within {seconds:g} s"
        ) from error
    except (AttributeError, TypeError, ValueError) as error:
        # Clients do not look at what they parse. Together lists its models in a bare array; text that is not JSON is a web page.
        if "'str'" not in str(error) and not isinstance(error, ValueError):
            return []
        raise ModelFailure(FailureKind.SERVER, _NO_LIST) from error
    except Exception as error:  # each client has a tree of errors of its own
        raise translate_sdk_error(error) from error


async def _check_key(client: Any, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await client.with_options(max_retries=0).get("/key", cast_to=object)
    except TimeoutError as error:
        raise ModelFailure(
            FailureKind.TIMEOUT, f"its key was not checked within {seconds:g} s"
        ) from error
    except Exception as error:  # as above
        raise translate_sdk_error(error) from error


def _build_provider(platform: Platform, environ: Mapping[str, str]) -> "Provider[Any]":
    """Build the provider's client with its key; raises ModelFailure with what to set or install."""
    key = find_key(platform, environ)
    if key.is_needed and key.value is None:
        raise ModelFailure(FailureKind.NO_KEY, f"{key.variable} is not set")
    # Such a key would only fail inside the HTTP client, far from its cause.
    if key.value is not None and not (
        key.value.isascii() and key.value.isprintable() and " " not in key.value
    ):
        raise ModelFailure(FailureKind.AUTH, "it holds characters that no key has")
    _import_libraries()
    address = find_address(platform, environ)
    if address is not None:
        return _build_compatible_provider(platform.provider, address, key.value)
    from pydantic_ai.providers import infer_provider_class

    try:
        with _IMPORTING:
            make: Any = infer_provider_class(platform.provider)
    except ImportError as error:
        compatible = find_compatible_address(platform.provider)
        if compatible is not None:
            return _build_compatible_provider(platform.provider, compatible, key.value)
        raise ModelFailure(FailureKind.NO_PACKAGE, describe_install(platform.provider)) from error
    provider: Provider[Any] = make(api_key=key.value)
    return provider


def _build_compatible_provider(name: str, address: str, key: str | None) -> "Provider[Any]":
    from pydantic_ai.profiles.openai import OpenAIModelProfile
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    profile = OpenAIModelProfile(
        # Ollama, llama.cpp and LM Studio know `max_tokens`; some silently ignore `max_completion_tokens`.
        openai_chat_supports_max_completion_tokens=False,
        # Some chat templates refuse a second system message.
        openai_chat_supports_multiple_system_messages=False,
        supports_json_schema_output=True,
    )
    # The name determines prices: OpenAI's prices do not apply to a server that stands in for it.
    name = SERVER if name.startswith("openai") else name
    return OpenAICompatibleProvider(name, base_url=address, api_key=key, profile=profile)


def _build_model(platform: Platform, name: str, provider: "Provider[Any]") -> "Model":
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.models import infer_model
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    if isinstance(provider, OpenAICompatibleProvider):
        return OpenAIChatModel(name, provider=provider)
    # OpenAI's newer API has a minimum of 16 tokens, so the probability of a single token needs the older API.
    kind = (
        "openai-chat"
        if platform.provider == "openai" and platform.intents == "token"
        else platform.provider
    )
    try:
        with _IMPORTING:
            return infer_model(f"{kind}:{name}", lambda _: provider)
    except UserError as error:
        raise translate_error(error) from error
