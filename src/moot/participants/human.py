"""A person at the terminal. What is asked is put field by field; a slip is told and asked again."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from moot.codec.answers import parsed, schema
from moot.domain.effects import Brief
from moot.errors import BadAnswer
from moot.ports.participant import Answer, NoAnswer, OnText


@dataclass(frozen=True, slots=True)
class Question:
    """One line that a person is asked for. `choices` is empty for free text."""

    seat: str
    field: str
    hint: str
    context: str = ""
    complaint: str = ""


AskPerson = Callable[[Question], Awaitable[str | None]]
"""Puts a question to the person; None when there is nobody any more."""

_YES = {"y", "yes", "true", "1", "是", "好"}
_NO = {"n", "no", "false", "0", "", "否", "不"}


class HumanParticipant:
    """Shared by all human seats of one terminal."""

    def __init__(self, ask: AskPerson | None) -> None:
        """`ask` is None where no terminal is at hand."""
        self._ask = ask
        self._one_seat = asyncio.Lock()

    async def ready(self) -> str | None:
        return None if self._ask else "a human seat needs a terminal; elsewhere use the platform `mailbox`"

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        if self._ask is None:
            return NoAnswer(reason="error", detail="there is no terminal to ask a person at")
        # Two human seats at one terminal are asked one after the other, not field by field in turn.
        async with self._one_seat:
            return await self._answer(self._ask, brief)

    async def _answer(self, ask: AskPerson, brief: Brief) -> Answer | NoAnswer:
        complaint = ""
        # The last line of a form's request is for models: how to write the JSON.
        own = brief.own.rpartition("\n")[0] if brief.form.form == "json" else brief.own
        context = f"{brief.shared}\n\n{own}"
        while True:
            raw = await self._fields(ask, brief, context, complaint)
            if raw is None:
                return NoAnswer(reason="refused", detail="the person left")
            try:
                said = parsed(brief.form, raw)
            except BadAnswer as error:
                complaint, context = str(error), ""
                continue
            complaint, context = brief.fault(said) or "", ""
            if not complaint:
                return Answer(said=said)

    async def _fields(self, ask: AskPerson, brief: Brief, context: str, complaint: str) -> object | None:
        seat = brief.seat.id
        if brief.form.form == "text":
            return await ask(Question(seat, brief.form.kind, "text", context, complaint))
        found: dict[str, Any] = {}
        shape = schema(brief.form.shape)
        for name in shape.get("required", []):
            kind = shape["properties"][name]
            reply = await ask(Question(seat, name, hint(kind), context, complaint))
            if reply is None:
                return None
            context = complaint = ""
            found[name] = read(kind, reply.strip())
        return found


def hint(kind: dict[str, Any]) -> str:
    """What is expected, in a few words."""
    if "enum" in kind:
        return " | ".join(kind["enum"])
    match kind.get("type"):
        case "number" | "integer":
            return f"{kind.get('minimum', '')} – {kind.get('maximum', '')}"
        case "boolean":
            return "y | n"
        case "object":
            return ", ".join(kind.get("required", []))
        case _:
            return "text"


def read(kind: dict[str, Any], reply: str) -> object:
    """A typed line as the value that its field wants; the check comes later."""
    match kind.get("type"):
        case "number" | "integer":
            try:
                return float(reply)
            except ValueError:
                return reply
        case "boolean":
            return True if reply.lower() in _YES else False if reply.lower() in _NO else reply
        case "object":
            return {name: read(kind["properties"][name], reply) for name in kind.get("required", [])}
        case _:
            return reply
