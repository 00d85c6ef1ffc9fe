"""A seat that a Python function fills: it gets the brief and returns the answer.

    def ada(brief):
        return "Ship it." if brief.form.form == "text" else {"reaction_score": 0.9, "intent_to_speak": True}

A function may block, so it runs in a thread; a coroutine function runs on the event loop.
"""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from moothall.domain.causes import state_cause
from moothall.domain.effects import Brief
from moothall.errors import AnswerRefused, BadAnswer, UnclearChoice
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.reading.answers import read_answer
from moothall.reading.schemas import build_correction

log = logging.getLogger("moot")

AnswerFunction = Callable[[Brief], object | Awaitable[object]]


class FunctionParticipant:
    """Calls the function for each ask, and once more with the fault where its answer cannot be read.

    What it raises is a loss of its seat, which the engine records.
    """

    def __init__(self, function: AnswerFunction) -> None:
        self._function = function

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        try:
            return await self._respond_once(brief, on_text, is_last=False)
        except (UnclearChoice, AnswerRefused):
            raise
        except BadAnswer as fault:
            correction = build_correction(brief.language, str(fault))
        own = f"{brief.own}\n\n{correction}"
        once_more = replace(brief, own=own, again=brief.again + 1)
        return await self._respond_once(once_more, on_text, is_last=True)

    async def _respond_once(
        self, brief: Brief, on_text: OnText, *, is_last: bool
    ) -> Answer | NoAnswer:
        try:
            said = await self._call(brief)
        except UnclearChoice:
            raise
        except Exception:
            # The record has one line of it; who wrote the function needs the place.
            log.warning("the function of seat %r failed", brief.seat.id, exc_info=True)
            raise
        if said is None:
            return NoAnswer(
                reason="refused",
                detail=state_cause("returned_none"),
            )
        if isinstance(said, Answer | NoAnswer):
            return said
        read = read_answer(brief, said, is_last=is_last)
        if brief.form.form == "text" and isinstance(said, str):
            on_text(said)
        return Answer(said=read.said, corrections=read.mends)

    async def _call(self, brief: Brief) -> object:
        if inspect.iscoroutinefunction(self._function) or inspect.iscoroutinefunction(
            type(self._function).__call__
        ):
            result = self._function(brief)
        else:
            result = await asyncio.to_thread(self._function, brief)
        return await result if inspect.isawaitable(result) else result
