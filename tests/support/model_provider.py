"""A loopback model server in a thread of its own, whose models take part in a persona meeting or a debate."""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from moothall_testkit.stub_server import Drop, Request, Step, StubReply, StubServer

DEADLINE = 60.0
KINDS = (
    ("position", "Nobody has spoken yet", "还没有人发言"),
    ("intent", "Do you need to speak now?", "你觉得有必要现在发言吗"),
    ("speech", "Your turn to speak", "轮到你发言"),
    ("draft", "Write its conclusion", "代表全体写出结论"),
    ("propose", "What do you propose", "你提议什么"),
    ("argue", "Support or challenge one line", "支持或质疑上面的一条"),
    ("answer", "Your words were challenged", "中受到质疑"),
    ("synthesize", "Write the one resolution", "写出供表决"),
    ("vote", "Vote on #", "投票。按自己"),
)


def find_kind(text: str) -> str:
    """What a prompt asks for; the rest is the last word on a persona meeting's draft."""
    return next((kind for kind, *marks in KINDS if any(mark in text for mark in marks)), "stand")


def build_words(kind: str, text: str) -> Any:
    """What a sensible mind answers."""
    claim = {"text": "Wait a week.", "entries": [2]}
    match kind:
        case "position":
            return {"position": "SEALED wait.", "confidence": 0.6}
        case "intent":
            wants = text.count("Let us wait") < 2
            return {
                "reaction_score": 0.8 if wants else 0.1,
                "intent_to_speak": wants,
                "reason": "it matters",
            }
        case "speech":
            return "Let us wait."
        case "draft":
            reason = {"text": "Nobody has tested it.", "entries": [2]}
            return {"decision": claim, "confidence": 0.7, "reasons": [reason]}
        case "propose":
            # Where all name one choice, there is nothing to vote on.
            choice = "ship" if "You are for." in text else "wait"
            return {"type": "propose", "text": f"We {choice}.", "choice": choice, "confidence": 0.8}
        case "argue" | "answer":
            return {
                "type": "support",
                "text": "Nobody has tested it.",
                "refers_to": 2,
                "confidence": 0.8,
            }
        case "synthesize":
            return {
                "type": "synthesize",
                "text": "Wait a week, then test it.",
                "choice": "wait",
                "confidence": 0.8,
            }
        case "vote":
            return {"type": "vote", "position": "support", "text": "SEALED yes.", "confidence": 0.8}
        case _:
            return {"verdict": "support", "confidence": 0.9, "position": "Fine.", "moved_by": 2}


@dataclass
class ModelProvider:
    """`change` may replace what is answered: it is given the kind of the ask and the request.

    While `is_out`, nobody answers; while `is_held`, whoever asks for an answer waits for it; while it `is_stuck`,
    too, and it cannot say which models there are.
    """

    change: Callable[[str, Request], Step | None] = lambda kind, request: None
    delay: float = 0.0
    is_out: bool = False
    is_held: bool = False
    is_stuck: bool = False
    answered: list[str] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)
    base_url: str = ""
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def __enter__(self) -> Self:
        self._ready = threading.Event()
        self._thread = threading.Thread(
            target=self._loop.run_until_complete, args=(self._serve(),), daemon=True
        )
        self._thread.start()
        assert self._ready.wait(DEADLINE)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(DEADLINE)
        self._loop.close()

    async def _serve(self) -> None:
        self._end = asyncio.Event()
        async with _Switchable(self) as server:
            self.base_url = server.base_url
            self._ready.set()
            await self._end.wait()

    def answer(self, request: Request) -> Step:
        kind = find_kind(request.text)
        self.prompts.append(request.text)
        step = self.change(kind, request)
        if step is None:
            words = build_words(kind, request.text)
            said = words if isinstance(words, str) else json.dumps(words)
            step = StubReply(text=said, delay=self.delay, tokens_in=100, tokens_out=10)
        self.answered.append(kind)
        return step


class _Switchable(StubServer):
    """A server that drops every connection while its provider is out, also those of whoever asks which models there are."""

    def __init__(self, provider: ModelProvider) -> None:
        super().__init__([provider.answer])
        self._provider = provider

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        is_asked = request.method == "POST"
        while is_asked and self._holds_back:  # noqa: ASYNC110 - the test is another thread
            await asyncio.sleep(0.02)
        await super()._answer(request, writer)

    @property
    def _holds_back(self) -> bool:
        return self._provider.is_held or self._provider.is_stuck

    def _choose_step(self, request: Request) -> Step:
        is_out = self._provider.is_out or self._provider.is_stuck
        return Drop() if is_out else super()._choose_step(request)
