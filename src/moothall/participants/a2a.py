"""A seat filled by an agent elsewhere that speaks the Agent2Agent protocol: `a2a:URL`, the address of the agent or of its card.

The card says where the agent takes messages. A card is the word of another: it is bounded, no redirect is followed, and a place
on another host than the card's own is refused, so that neither prompts nor the token leave for a host that the user did not name.
Version 1.0 of the protocol is spoken, and 0.3 where the card names no newer one.
"""

import asyncio
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit
from uuid import uuid4

from moothall.domain.causes import state_cause
from moothall.domain.effects import Brief
from moothall.domain.facts import Loss
from moothall.domain.safe_text import fix_surrogates, is_web_address, one_line, split_address
from moothall.errors import UnknownPlatform
from moothall.participants.agent_answers import AgentFault, AgentReply, ask_with_correction
from moothall.participants.named_tools import read_bounded
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.reading.schemas import build_user_prompt

if TYPE_CHECKING:
    import httpx2

CARD_PATH: Final = "/.well-known/agent-card.json"
CARD_SECONDS: Final = 15.0
CANCEL_SECONDS: Final = 3.0
MAX_CARD_BYTES: Final = 256 * 1024
MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 5.0
MAX_REASON_LENGTH: Final = 300
MAX_CONTEXT_LENGTH: Final = 200
OVER: Final = frozenset(
    {"completed", "canceled", "failed", "rejected", "input-required", "auth-required"}
)
"""States in which a task waits for nobody but us."""
METHODS: Final = {
    "SendMessage": "message/send",
    "GetTask": "tasks/get",
    "CancelTask": "tasks/cancel",
}
"""The calls by their names today, and what version 0.3 calls them."""


@dataclass(frozen=True, slots=True)
class AgentPlace:
    """Where an agent takes messages, in which version of the protocol, and what it calls itself."""

    url: str
    is_old: bool
    name: str


def parse_agent_url(url: str) -> str:
    """The address of a card; raises UnknownPlatform."""
    if not is_web_address(url):
        raise UnknownPlatform(
            f"a2a:{url[:200]}: expected the agent's address, such as a2a:https://agents.example.com"
        )
    parts = urlsplit(url)
    if parts.path.endswith(".json"):
        return url
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}{CARD_PATH}"


def name_token_variable(card: str) -> str:
    """The environment variable of the token for an agent's host; each host has its own, so that none gets another's."""
    return "MOOT_A2A_TOKEN_" + re.sub(r"[^A-Z0-9]", "_", (urlsplit(card).hostname or "").upper())


def read_card(card: object, card_url: str) -> AgentPlace:
    """Where the agent of a card takes messages; raises AgentFault where that is not on the card's own host."""
    if not isinstance(card, dict):
        raise AgentFault("malformed", f"{card_url} holds no agent card")
    places = _list_rpc_places(card)
    newest = next(
        (row for row in places if str(row.get("protocolVersion", "")).startswith("1.")), None
    )
    url = card.get("url")
    if newest is not None:
        url = newest["url"]
    elif places:
        url = places[0]["url"]
    if not isinstance(url, str):
        raise AgentFault("malformed", f"the card at {card_url} names no place that takes JSON-RPC")
    with suppress(ValueError):
        url = urljoin(card_url, url)
    if _find_origin(url) != _find_origin(card_url):
        raise AgentFault(
            "refused",
            f"the card at {card_url} sends messages to another host ({url[:200]}); they are not sent",
        )
    return AgentPlace(url=url, is_old=newest is None, name=one_line(str(card.get("name", "")))[:80])


def _list_rpc_places(card: dict[str, Any]) -> list[dict[str, Any]]:
    """The places of a card that take JSON-RPC; what has another form is left out."""
    rows = card.get("supportedInterfaces")
    if not isinstance(rows, list):
        return []
    places = []
    for row in rows:
        if not isinstance(row, dict) or row.get("protocolBinding") != "JSONRPC":
            continue
        if isinstance(row.get("url"), str):
            places.append(row)
    return places


def _find_origin(url: str) -> tuple[str, str | None, int | None]:
    parts = split_address(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


class A2aParticipant:
    """Sends each brief to the agent as a message and waits for the end of its task.

    A message contains everything, so that the agent needs no memory of the one before; only a correction continues its context.
    """

    def __init__(
        self, url: str, environ: Mapping[str, str], *, card_seconds: float = CARD_SECONDS
    ) -> None:
        self._card_url = parse_agent_url(url)
        self._card_seconds = card_seconds
        self._variable = name_token_variable(self._card_url)
        token = environ.get(self._variable, "")
        self._headers = {"A2A-Version": "1.0", "Accept-Encoding": "identity"}
        if token:
            self._headers["Authorization"] = f"Bearer {token}"
        self._place: AgentPlace | None = None

    async def ready(self) -> str | None:
        try:
            async with self._connect() as client:
                await self._find_place(client)
        except AgentFault as fault:
            return str(fault)
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        context = ""

        async def ask(complaint: str) -> AgentReply:
            nonlocal context
            prompt = build_user_prompt(brief, complaint or None)
            text, context = await self._ask(
                client, fix_surrogates(f"{brief.system}\n\n{prompt}"), context
            )
            return AgentReply(text=text)

        async with self._connect() as client:
            return await ask_with_correction(brief, on_text, ask)

    def _connect(self) -> "httpx2.AsyncClient":
        import httpx2

        # The engine ends a wait that is too long; a connection has to come about soon.
        timeout = httpx2.Timeout(None, connect=CARD_SECONDS)
        return httpx2.AsyncClient(
            headers=self._headers, follow_redirects=False, timeout=timeout, trust_env=False
        )

    async def _find_place(self, client: "httpx2.AsyncClient") -> AgentPlace:
        if self._place is None:
            try:
                async with asyncio.timeout(self._card_seconds):
                    body = await self._fetch(client, "GET", self._card_url, None, MAX_CARD_BYTES)
            except TimeoutError:
                why = f"{self._card_url} does not answer within {self._card_seconds:g} seconds"
                raise AgentFault("unreachable", why) from None
            self._place = read_card(body, self._card_url)
        return self._place

    async def _ask(
        self, client: "httpx2.AsyncClient", prompt: str, context: str
    ) -> tuple[str, str]:
        """What the agent answers, and the context in which it did; raises AgentFault."""
        place = await self._find_place(client)
        message: dict[str, Any] = {"messageId": str(uuid4())}
        if place.is_old:
            message["role"] = "user"
            message["parts"] = [{"kind": "text", "text": prompt}]
            message["kind"] = "message"
        else:
            message["role"] = "ROLE_USER"
            message["parts"] = [{"text": prompt}]
        if context:
            message["contextId"] = context
        modes = {"acceptedOutputModes": ["application/json", "text/plain"]}
        result = await self._call(
            client, place, "SendMessage", {"message": message, "configuration": modes}
        )
        reply = result.get("task") or result.get("message") or result
        if not isinstance(reply, dict):
            raise AgentFault("malformed", "the agent answered without a task or a message")
        named = str(reply.get("contextId", ""))[:MAX_CONTEXT_LENGTH]
        if "status" in reply:
            return await self._wait(client, place, reply), named
        return _join_parts([reply]), named

    async def _wait(
        self, client: "httpx2.AsyncClient", place: AgentPlace, task: dict[str, Any]
    ) -> str:
        """What comes of a task; it is cancelled where nobody waits for it any more."""
        pause = FIRST_PAUSE
        name = {"id": str(task.get("id"))[:500]}
        try:
            while (state := _read_state(task)) not in OVER:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                task = await self._call(client, place, "GetTask", name)
                if str(task.get("id", name["id"]))[:500] != name["id"]:
                    raise AgentFault(
                        "malformed", "the agent answered for another task than it was asked for"
                    )
        except asyncio.CancelledError:
            with suppress(AgentFault, TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await self._call(client, place, "CancelTask", name)
            raise
        message = task["status"].get("message")
        if state == "completed":
            artifacts = task.get("artifacts")
            if isinstance(artifacts, list) and artifacts:
                return _join_parts(artifacts)
            return _join_parts([message])
        said = one_line(_join_parts([message]))[:MAX_REASON_LENGTH]
        reason: Loss = "refused" if state == "rejected" else "error"
        raise AgentFault(reason, f"the agent's task ended as {state}: {said or 'no reason'}")

    async def _call(
        self, client: "httpx2.AsyncClient", place: AgentPlace, method: str, params: dict[str, Any]
    ) -> dict[str, Any]:
        name = METHODS[method] if place.is_old else method
        body = {"jsonrpc": "2.0", "id": str(uuid4()), "method": name, "params": params}
        answer = await self._fetch(client, "POST", place.url, body, MAX_ANSWER_BYTES)
        fields = answer if isinstance(answer, dict) else {}
        result = fields.get("result")
        if isinstance(result, dict):
            return result
        said = "neither result nor error"
        error = fields.get("error")
        if isinstance(error, dict):
            said = one_line(str(error.get("message")))[:MAX_REASON_LENGTH]
        raise AgentFault("error", f"the agent answered {name} with an error: {said}")

    async def _fetch(
        self, client: "httpx2.AsyncClient", method: str, url: str, body: object, most: int
    ) -> object:
        import httpx2

        try:
            async with client.stream(method, url, json=body) as response:
                if response.status_code in {401, 403}:
                    raise AgentFault(
                        "rejected_key",
                        f"{url} wants a token ({response.status_code}); set {self._variable}",
                    )
                if response.status_code != 200:
                    where = " (redirects are not followed)" if response.is_redirect else ""
                    reason: Loss = "unreachable" if response.status_code >= 500 else "error"
                    raise AgentFault(reason, f"{url} answers {response.status_code}{where}")
                data = await read_bounded(response.aiter_raw(), most)
                if len(data) > most:
                    raise AgentFault("malformed", f"{url} answers with more than {most} bytes")
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as cause:
            raise AgentFault(
                "unreachable",
                state_cause("not_reached", str(cause) or type(cause).__name__, name=url),
            ) from cause
        try:
            document: object = json.loads(data)
        except (ValueError, RecursionError) as cause:
            raise AgentFault("malformed", f"{url} answers with no JSON") from cause
        return document


def _read_state(task: dict[str, Any]) -> str:
    status = task.get("status")
    if not isinstance(status, dict) or not isinstance(status.get("state"), str):
        raise AgentFault("malformed", "the agent's task has no state")
    state: str = status["state"]
    return state.removeprefix("TASK_STATE_").lower().replace("_", "-")


def _join_parts(holders: list[Any]) -> str:
    """The text of messages or artifacts; data is written as JSON."""
    texts = []
    for part in _list_parts(holders):
        text = part.get("text")
        if text:
            texts.append(str(text))
        elif "data" in part:
            texts.append(json.dumps(part["data"]))
    return "\n\n".join(texts)


def _list_parts(holders: list[Any]) -> list[dict[str, Any]]:
    """The parts of all messages or artifacts, in order; what has another form is left out."""
    parts: list[dict[str, Any]] = []
    for holder in holders:
        if isinstance(holder, dict) and isinstance(holder.get("parts"), list):
            parts += [part for part in holder["parts"] if isinstance(part, dict)]
    return parts
