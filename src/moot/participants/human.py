"""A person at the terminal. Answers are requested field by field; a mistake is explained and asked again."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from moot.codec.answers import build_schema, parse_alternative, read_answer
from moot.domain.effects import Brief, FieldPrompt
from moot.errors import BadAnswer
from moot.participants.local_user import name_local_door
from moot.ports.participant import Answer, NoAnswer, OnText


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """One line that a person is asked for."""

    seat: str
    field: str
    hint: str
    context: str = ""
    complaint: str = ""


AskPerson = Callable[[PersonQuestion], Awaitable[str | None]]
"""Asks the person; None if nobody is there any more."""

_ENTRY = re.compile(r"[#＃](\d{1,9})")
_YES = {"y", "yes", "true", "1", "是", "好"}
_NO = {"n", "no", "false", "0", "", "否", "不"}


class HumanParticipant:
    """Shared by all human seats of one terminal."""

    def __init__(self, ask: AskPerson | None) -> None:
        """Create the participant; `ask` is None if there is no terminal."""
        self._ask = ask
        self._one_seat = asyncio.Lock()

    async def ready(self) -> str | None:
        return None if self._ask else "a human seat needs a terminal; elsewhere use the platform `mailbox`"

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        if self._ask is None:
            return NoAnswer(reason="error", detail="there is no terminal to ask a person at")
        # Two human seats at one terminal are asked one after the other, not alternately field by field.
        async with self._one_seat:
            return await self._ask_until_valid(self._ask, brief)

    async def _ask_until_valid(self, ask: AskPerson, brief: Brief) -> Answer | NoAnswer:
        complaint = ""
        # The last line of a request is for models: it says how to write the JSON.
        own = brief.own.rpartition("\n")[0] if brief.form.form == "json" else brief.own
        context = f"{brief.shared}\n\n{own}"
        while True:
            try:
                raw = await self._ask_fields(_catch_alternative(ask, brief), brief, context, complaint)
            except _AlternativeGiven as given:
                raw = given.text
            if raw is None:
                return NoAnswer(reason="refused", detail="the person left")
            try:
                read = read_answer(brief, raw)
            except BadAnswer as error:
                complaint, context = str(error), ""
                continue
            return Answer(said=read.said, mends=read.mends, via=name_local_door())

    async def _ask_fields(self, ask: AskPerson, brief: Brief, context: str, complaint: str) -> object | None:
        """Ask for the fields that count; an empty line leaves out an optional one."""
        seat = brief.seat.id
        if brief.form.form == "text":
            return await ask(PersonQuestion(seat, brief.form.kind, "text", context, complaint))
        shape = build_schema(brief.form.shape)
        values: dict[str, Any] = {}
        for wanted in brief.wanted or _list_fields(shape):
            kind = shape["properties"][wanted.field]
            if wanted.entries:
                value: object = await self._ask_each_entry(ask, seat, wanted, kind)
            # Nothing to choose, so nothing to ask.
            elif len(wanted.choices) == 1:
                value = wanted.choices[0]
            else:
                value = await self._ask_field(
                    ask, PersonQuestion(seat, wanted.field, "", context, complaint), wanted, find_field_type(kind)
                )
                context = complaint = ""
            if value is None:
                return None
            if value != LEFT_OUT:
                values[wanted.field] = value
            if value in wanted.ends:
                break
        return values

    async def _ask_field(
        self, ask: AskPerson, question: PersonQuestion, wanted: FieldPrompt, kind: dict[str, Any] | None
    ) -> object | None:
        """Ask for one field: returns its value, `LEFT_OUT`, or None if the person left."""
        if kind is None or (kind.get("type") == "boolean" and not wanted.is_needed):
            return LEFT_OUT
        if wanted.choices:
            kind = {"enum": list(wanted.choices)}
        hint = describe_expected(kind) if wanted.is_needed else f"{describe_expected(kind)}, Enter: none"
        while True:
            reply = await ask(replace(question, hint=hint))
            if reply is None:
                return None
            if not reply.strip() and not wanted.is_needed:
                return LEFT_OUT
            value = parse_typed_value(kind, reply.strip())
            complaint = find_typing_error(kind, value) or ("" if reply.strip() else "something was expected")
            if not complaint:
                return value
            question = replace(question, context="", complaint=complaint)

    async def _ask_each_entry(
        self, ask: AskPerson, seat: str, wanted: FieldPrompt, kind: dict[str, Any]
    ) -> list[dict[str, object]] | None:
        """Ask for one answer per listed entry."""
        answers: list[dict[str, object]] = []
        for entry in wanted.entries:
            answer: dict[str, object] = {"entry": entry}
            for name, each in kind["items"]["properties"].items():
                if name == "entry":
                    continue
                field = FieldPrompt(field=name, is_needed=name in kind["items"].get("required", ()))
                value = await self._ask_field(ask, PersonQuestion(seat, f"#{entry} {name}", ""), field, find_field_type(each))
                if value is None:
                    return None
                if value != LEFT_OUT:
                    answer[name] = value
            answers.append(answer)
        return answers


class _AlternativeGiven(Exception):
    """The person gave something in place of the whole answer while being asked for a field."""

    def __init__(self, text: str) -> None:
        self.text = text


def _catch_alternative(ask: AskPerson, brief: Brief) -> AskPerson:
    """Wrap `ask` so that an alternative is recognised, whichever field was asked for."""
    instead = brief.form.instead
    if instead is None or brief.form.form == "text":
        return ask

    async def ask_and_catch(question: PersonQuestion) -> str | None:
        reply = await ask(question)
        if reply is not None and parse_alternative(brief.form, instead, reply) is not None:
            raise _AlternativeGiven(reply)
        return reply

    return ask_and_catch


LEFT_OUT: Final = object()
"""Marks a field that the person left out."""


def _list_fields(shape: dict[str, Any]) -> list[FieldPrompt]:
    """Return every field, the required ones first."""
    required = shape.get("required", [])
    optional = [name for name in shape["properties"] if name not in required]
    return [*(FieldPrompt(field=name, is_needed=True) for name in required), *(FieldPrompt(field=name) for name in optional)]


def find_field_type(kind: dict[str, Any]) -> dict[str, Any] | None:
    """Return the plain type of a field that fits on a line; None for lists."""
    for choice in kind.get("anyOf", []):
        if choice.get("type") != "null":
            return find_field_type(choice)
    return None if kind.get("type") == "array" else kind


def find_typing_error(kind: dict[str, Any], value: object) -> str:
    """Return what is wrong with a typed value; empty if nothing is."""
    if "enum" in kind and value not in kind["enum"]:
        return f"one of: {' | '.join(kind['enum'])}"
    match kind.get("type"):
        case "number" | "integer":
            low, high = kind.get("minimum", float("-inf")), kind.get("maximum", float("inf"))
            if not isinstance(value, float) or not low <= value <= high:
                return f"a number was expected: {describe_expected(kind)}"
        case "boolean" if not isinstance(value, bool):
            return "y or n was expected"
        case "string" if "enum" not in kind and not value and kind.get("minLength"):
            return "some words were expected"
        case _:
            pass
    return ""


def describe_expected(kind: dict[str, Any]) -> str:
    """Describe what is expected, in a few words."""
    if "enum" in kind:
        return " | ".join(kind["enum"])
    match kind.get("type"):
        case "number" | "integer":
            return f"{kind.get('minimum', '')} – {kind.get('maximum', '…')}"
        case "boolean":
            return "y | n"
        case "object":
            return "text, naming the entries that it rests on as #2"
        case _:
            return "text"


def parse_typed_value(kind: dict[str, Any], reply: str) -> object:
    """Convert a typed line to the value of its field; it is validated later."""
    match kind.get("type"):
        case "number" | "integer":
            try:
                return float(reply)
            except ValueError:
                return reply
        case "boolean":
            return True if reply.lower() in _YES else False if reply.lower() in _NO else reply
        case "object":
            values = {name: parse_typed_value(kind["properties"][name], reply) for name in kind.get("required", [])}
            if "entries" in kind["properties"]:
                values["entries"] = [int(number) for number in _ENTRY.findall(reply)]
            return values
        case _:
            return reply
