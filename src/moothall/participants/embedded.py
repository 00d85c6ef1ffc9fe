"""The embedded seat: a model in this process.

The default weights are those of a very small model. It can write sentences but not judge. So its reactions come from a sentence
encoder (how relevant a text is to the persona), it supports what is similar to its own words and otherwise abstains, and the
entries that a claim rests on are the most similar ones. A larger model in a GGUF file of the user fills the whole form itself.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event
from typing import Any, Final

from moothall.domain.budget import FREE, Usage
from moothall.domain.causes import state_cause
from moothall.domain.context import extract_first_sentence
from moothall.domain.effects import LENGTH_ROOM, Brief, Schema
from moothall.domain.seeded_random import model_seed, random_unit
from moothall.errors import UnclearChoice
from moothall.participants.agent_answers import AgentReply, ask_with_correction
from moothall.participants.local_model import NAME, Completion, LocalModel
from moothall.participants.semantic_similarity import compute_relevance
from moothall.ports.participant import Answer, NoAnswer, OnText, Similarity, UnclearAnswer
from moothall.reading.answers import read_answer
from moothall.reading.field_values import is_free_text
from moothall.reading.schemas import build_request_schema, build_user_prompt, get_own_schema

SPEAKS_FROM: Final = 0.3
"""The reaction from which an embedded seat wants to speak."""
SUPPORTS_FROM: Final = 0.5
"""The similarity to its own words from which it supports a decision."""
_FOR: Final = ("support", "agree", "confirmed", "APPROVED")
_AGAINST: Final = ("abstain", "challenge", "unclear", "REJECTED", "none")
"""What it says of what is like its own words, and of what is not: it is too small to oppose with reasons."""
MOVED: Final = 0.35
"""The part of a reaction that comes from the entry; the rest comes from what the seat has not said yet."""
MAX_TOKENS: Final = 160
TURNS_SHOWN: Final = 2

# Two or three whole sentences on one line: no lists, no lines of other speakers, and no figures, which a small model invents.
_SENTENCES: Final = r"""root ::= first (" " other){1,2}
first ::= " "? [^.!?\n":0-9%]{15,300} [.!?]
other ::= [A-Z] [^.!?\n":0-9%]{15,300} [.!?]
"""
_PROSE: Final = {
    "temperature": 0.4,
    "top_p": 0.9,
    "min_p": 0.05,
    "repeat_penalty": 1.08,
    "repeat_last_n": 96,
    "grammar": _SENTENCES,
}
_OPENERS: Final = (
    "As {who}, I think",
    "From where I stand as {who}, the point is that",
    "As {who}, I would add that",
    "Speaking as {who}, I believe",
)


class EmbeddedParticipant:
    """Fills a seat with the model in this process; the default one writes sentences, and the encoder judges."""

    def __init__(self, model: LocalModel, measure: Similarity) -> None:
        self._model = model
        self._measure = measure

    async def ready(self) -> str | None:
        if not self._model.path.is_file():
            return f"there is no model file {self._model.path}; `moot setup embedded` fetches the default one"
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        small = self._model.path.name == NAME
        if small and brief.language == "zh":
            return NoAnswer(
                reason="refused",
                detail=state_cause("no_chinese"),
            )
        if not small:
            return await self._answer_in_full(brief, on_text)
        is_speech = brief.form.form == "text" and not any(
            "enum" in field for field in _list_required(get_own_schema(brief))
        )
        said, usage = await (
            self._generate_speech(brief, on_text) if is_speech else self._fill_form(brief)
        )
        try:
            read = read_answer(brief, said)
        except UnclearChoice as unclear:
            raise UnclearAnswer(unclear, usage, model=self._model.path.name) from unclear
        return Answer(
            said=read.said, corrections=read.mends, usage=usage, model=self._model.path.name
        )

    async def _answer_in_full(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        """Answer with a capable model: the full prompt, JSON constrained by a grammar, one correction."""
        is_text = brief.form.form == "text"
        sampling: dict[str, object] = {
            "temperature": 0.7,
            "seed": model_seed(brief.seed, brief.ask.id),
        }
        if not is_text:
            sampling["json_schema"] = build_request_schema(brief)

        async def ask(complaint: str) -> AgentReply:
            messages = [
                {"role": "system", "content": brief.system},
                {"role": "user", "content": build_user_prompt(brief, complaint or None)},
            ]
            done = await self._generate_text(
                messages,
                LENGTH_ROOM * brief.form.max_tokens,
                sampling,
                on_text if is_text else _discard_text,
            )
            return AgentReply(text=done.text, usage=_build_usage(done), model=self._model.path.name)

        # What is said was streamed already.
        return await ask_with_correction(brief, _discard_text, ask)

    async def _generate_speech(self, brief: Brief, on_text: OnText) -> tuple[object, Usage]:
        who = brief.seat.stance or brief.seat.id
        at = int(random_unit(brief.seed, brief.ask.id, "opener") * len(_OPENERS))
        opener = _OPENERS[at].format(
            who=who if who.lower().startswith(("a ", "the ")) else f"the {who}"
        )
        on_text(opener)
        done = await self._generate_prose(brief, opener, on_text)
        text = f"{opener} {done.text.strip()}"
        latest = brief.perception.memory.latest
        if (
            latest is not None
            and latest.id > 1
            and "refers_to" in get_own_schema(brief)["properties"]
        ):
            text = f"re #{latest.id}: {text}"
        return text, _build_usage(done)

    async def _generate_prose(self, brief: Brief, opener: str, on_text: OnText) -> Completion:
        seat = brief.seat
        turns = brief.perception.memory.recent[-TURNS_SHOWN:]
        talk = "\n".join(
            f"{turn.speaker}: {extract_first_sentence(turn.text).rstrip('…')}"
            for turn in turns
            if turn.id > 1
        )
        asked = f"The question is: {brief.perception.goal}\n{talk}\nWhat is your opinion, in two sentences?"
        persona = " ".join(f"You are {seat.id}, {seat.stance}. {seat.instructions}".split())
        messages = [
            {"role": "system", "content": persona},
            {"role": "user", "content": asked},
            {"role": "assistant", "content": opener},
        ]
        sampling = {**_PROSE, "seed": model_seed(brief.seed, brief.ask.id)}
        return await self._generate_text(messages, MAX_TOKENS, sampling, on_text)

    async def _fill_form(self, brief: Brief) -> tuple[object, Usage]:
        """Fill a form field by field: sentences by the model, numbers and choices by the encoder."""
        shape = get_own_schema(brief)
        filler = _FormFiller(brief, self._measure)
        if not filler.wants_text(shape):
            return await asyncio.to_thread(filler.fill_fields, shape, ""), FREE
        opener = "We should" if brief.form.kind == "draft" else "I think"
        done = await self._generate_prose(brief, opener, _discard_text)
        text = f"{opener} {done.text.strip()}"
        return await asyncio.to_thread(filler.fill_fields, shape, text), _build_usage(done)

    async def _generate_text(
        self,
        messages: list[dict[str, str]],
        max_tokens: int,
        sampling: dict[str, object],
        on_text: OnText,
    ) -> Completion:
        """Generate on a thread; cancelling the task stops the generation."""
        loop = asyncio.get_running_loop()
        stopped = Event()

        def forward(text: str) -> None:
            # Called on the model's thread; the loop may be closed already when a cancelled generation ends.
            if not loop.is_closed():
                loop.call_soon_threadsafe(on_text, text)

        work = partial(
            self._model.complete,
            messages,
            max_tokens=max_tokens,
            sampling=sampling,
            on_text=forward,
            is_cancelled=stopped.is_set,
        )
        try:
            return await asyncio.to_thread(work)
        finally:
            # Cancelling the task does not stop its thread: this makes the generation end at the next chunk.
            stopped.set()


@dataclass(frozen=True, slots=True)
class _FormFiller:
    """Fills the required fields of a shape with the results of the encoder."""

    brief: Brief
    measure: Similarity

    def wants_text(self, shape: Schema) -> bool:
        return any(
            is_free_text(field) or self._wants_inner_text(field) for field in _list_required(shape)
        )

    def _wants_inner_text(self, field: Schema) -> bool:
        inner = field.get("items", {}) if field.get("type") == "array" else field
        return inner.get("type") == "object" and self.wants_text(inner)

    def fill_fields(self, shape: Schema, text: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name, field in shape["properties"].items():
            if name == "reason" and "enum" not in field:
                values[name] = "measured: relevance to my stance, and what I have not said yet"
            elif name == "entries":
                values[name] = self._find_entries(text)
            elif name == "reaction_score":
                values[name] = round(self._compute_reaction(), 2)
            elif name == "rating" or name in shape.get("required", []):
                values[name] = self._fill_value(field, text)
        return values

    def _fill_value(self, field: Schema, text: str) -> object:
        field = field.get("anyOf", [field])[0]
        if "enum" in field:
            return self._choose(field["enum"], text)
        match field.get("type"):
            case "number" | "integer":
                return round(self._compute_likeness(text), 2)
            case "boolean":
                return self._compute_reaction() >= SPEAKS_FROM
            case "object":
                return self.fill_fields(field, text)
            case "array":
                return self._fill_items(field["items"], text)
            case _:
                return text

    def _fill_items(self, item: Schema, text: str) -> list[object]:
        """Fill a list: one item for each thing that is to be judged, or else one."""
        named = next(
            (name for name in item.get("required", ()) if "enum" in item["properties"][name]), None
        )
        if named is None:
            return [self._fill_value(item, text)]
        return [
            {**self.fill_fields(item, text), named: each}
            for each in item["properties"][named]["enum"]
        ]

    def _choose(self, options: Sequence[Any], text: str) -> object:
        """Choose for or against by likeness to its own words; among answers, the one that is most like them."""
        is_like = self._compute_likeness() >= SUPPORTS_FROM
        for side in _FOR if is_like else _AGAINST:
            if side in options:
                return side
        named = [str(option) for option in options]
        likeness = self.measure.likeness(text or self.brief.perception.own_words, named)
        return options[likeness.index(max(likeness))]

    def _compute_reaction(self) -> float:
        """Return the reaction: relevance to the persona, and how little the seat has said; lower when the talk repeats itself."""
        seat, recent = self.brief.seat, self.brief.perception.memory.recent
        persona, message = (
            f"{seat.stance}. {seat.instructions}",
            f"{self.brief.perception.goal} {self.brief.subject}",
        )
        moved = compute_relevance(self.measure, persona, message)
        # 1, 1/3, 1/5, … for every turn of its own in the window: a seat that has just spoken lets others speak.
        unsaid = 1.0 / (1 + 2 * sum(turn.speaker == seat.id for turn in recent))
        worn = max(
            self.measure.likeness(self.brief.subject, [turn.text for turn in recent[:-1]]),
            default=0.0,
        )
        # (MOVED·relevance + (1 − MOVED)·unsaid) · (1 − repetition²): the square spares mild similarity and silences real
        # repetition.
        return (MOVED * moved + (1.0 - MOVED) * unsaid) * (1.0 - worn**2)

    def _compute_likeness(self, text: str = "") -> float:
        own = text or self.brief.perception.own_words
        return self.measure.likeness(own, [self.brief.subject])[0]

    def _find_entries(self, text: str) -> list[int]:
        turns = self.brief.perception.memory.recent
        likeness = self.measure.likeness(text, [turn.text for turn in turns])
        ranked = sorted(zip(likeness, turns, strict=True), key=lambda pair: -pair[0])
        return sorted(turn.id for _, turn in ranked[:2]) or [1]


def _list_required(shape: Schema) -> list[Schema]:
    return [shape["properties"][name] for name in shape.get("required", [])]


def _discard_text(text: str) -> None:
    """Ignore text that no watcher should see while it is produced."""


def _build_usage(done: Completion) -> Usage:
    return Usage(tokens_in=done.prompt_tokens, tokens_out=done.completion_tokens, cost=0, calls=1)
