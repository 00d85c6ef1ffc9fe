"""The question alone, as a user asks a model: no meeting, no prompt of Moot's, one request; each answer is recorded once (G-3)."""

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Self

from annotated_types import MaxLen

from moothall.domain.replace import dataclass as quick_dataclass
from moothall.features.bench.questions import BenchQuestion
from moothall.features.bench.trials import Trial
from moothall.memory.register import Register
from moothall.plugins import (
    FREE,
    PATTERNS,
    Answer,
    AnswerForm,
    Ask,
    AskId,
    Brief,
    ContextWindow,
    Entry,
    Fact,
    Moot,
    MootError,
    NoAnswer,
    Perception,
    Reply,
    Seat,
    SeatId,
    Usage,
    add_kind,
    build_choices,
    find_choice,
    normalize_label,
)
from moothall.ports.ledger import Clock, Ledger

MAX_SAID: Final = 4_000
SECONDS: Final = 300.0
TOKENS: Final = 2_000
NAME: Final = "_bench"
_SEAT: Final = SeatId("model")
KINDS: Final[dict[str, type[Fact]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class BareText:
    """What a model says, whatever it is."""

    content: Annotated[str, MaxLen(100_000)]

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(content=text)


@add_kind(KINDS, "bench.answered")
class BareAnswered(Fact):
    """A model answered the question alone."""

    question: str
    """Its key."""
    model: str
    said: str
    usage: Usage = FREE
    seconds: float = 0.0


_FORM: Final = AnswerForm(
    kind="bare", reply=Reply, shape=BareText, form="text", max_tokens=TOKENS, is_asked_once=True
)

BareAnswers = dict[tuple[str, str], BareAnswered]
"""What was answered, by question and model."""


def open_bare_register(ledger: Ledger, clock: Clock) -> Register[BareAnswers]:
    return Register(ledger, clock, NAME, kinds=KINDS, initial={}, evolve=_evolve)


def _evolve(answers: BareAnswers, entry: Entry) -> BareAnswers:
    fact = entry.fact
    if isinstance(fact, BareAnswered):
        answers.setdefault((fact.question, fact.model), fact)
    return answers


@quick_dataclass(frozen=True, slots=True)
class NotAsked:
    """A model could not be asked now."""

    why: str


class BareAsker:
    """Asks models the questions alone, on the ledger of a bench."""

    def __init__(self, moot: Moot) -> None:
        self._moot = moot
        self._register = open_bare_register(moot.ledger, moot.clock)

    async def find(self, model: str, question: BenchQuestion) -> Trial | None:
        """Return what is recorded; None where the model was not asked."""
        answers = await self._register.state()
        answered = answers.get((question.key, model))
        if answered is None:
            return None
        return _judge(answered, question)

    async def ask(self, model: str, question: BenchQuestion) -> Trial | NotAsked:
        """Ask a model once and record what it says; an outage is no answer."""
        began = time.monotonic()
        response = await self._respond(Seat(id=_SEAT, platform=model), question)
        if isinstance(response, NoAnswer) and response.reason in {"unreachable", "rejected_key"}:
            return NotAsked(response.detail)
        said = ""
        if isinstance(response, Answer) and isinstance(response.said, BareText):
            said = response.said.content[:MAX_SAID]
        answered = BareAnswered(
            question=question.key,
            model=model,
            said=said,
            usage=response.usage,
            seconds=round(time.monotonic() - began, 3),
        )
        await self._register.append(lambda _: (answered,))
        return _judge(answered, question)

    async def _respond(self, seat: Seat, question: BenchQuestion) -> Answer | NoAnswer:
        try:
            participant = self._moot.seating(seat)
            if participant is None:
                return NoAnswer(reason="unreachable", detail="it answers from outside")
            async with asyncio.timeout(SECONDS):
                return await participant.respond(build_bare_brief(seat, question), _ignore_text)
        except TimeoutError:
            return NoAnswer(reason="timeout")
        except MootError as fault:
            return NoAnswer(reason="error", detail=str(fault))
        except Exception as error:  # noqa: BLE001 - a participant is other people's code
            return NoAnswer(reason="error", detail=type(error).__name__)


def _ignore_text(_: str) -> None:
    """Nobody reads along."""


def word_question(question: BenchQuestion) -> str:
    """Return the question as a user types it: with its options, where it does not name them itself."""
    said = normalize_label(question.question)
    if all(normalize_label(option) in said for option in question.options):
        return question.question
    return f"{question.question}\n{' / '.join(question.options)}"


def build_bare_brief(seat: Seat, question: BenchQuestion) -> Brief:
    """Return a brief that is the question and nothing else."""
    text = word_question(question)
    ask = Ask(id=AskId("bare"), seat=seat.id, kind="bare", turn=0, patience=SECONDS)
    return Brief(
        form=_FORM,
        ask=ask,
        seat=seat,
        language="en",
        seed=0,
        nth=1,
        perception=Perception(goal=text, memory=ContextWindow(window=1)),
        system="",
        shared=text,
        own="",
    )


def find_option(said: str, options: Sequence[str]) -> str:
    """Return the option that an answer states, or the only one that it names where it denies nothing; empty where there is none.

    It is the rule of other benches for prose, and kinder than that of a meeting: nobody can ask this model back.
    """
    read = find_choice(said, build_choices(tuple(options)))
    if read is not None:
        return read.value
    named: list[str] = []
    rest = said
    for option in options:
        whole = re.compile(rf"(?<![A-Za-z0-9_]){re.escape(option)}(?![A-Za-z0-9_])", re.IGNORECASE)
        if whole.search(said):
            named.append(option)
            rest = whole.sub(" ", rest)
    # An option may be a denial itself: "no".
    if PATTERNS["denial"].search(rest):
        return ""
    if len(named) == 1:
        return named[0]
    return ""


def _judge(answered: BareAnswered, question: BenchQuestion) -> Trial:
    """Return what an answer is worth: of listed options the one that it gives, else its words."""
    said = answered.said
    if question.options and said:
        said = find_option(said, question.options)
    usage = answered.usage
    return Trial(
        said=said,
        right=bool(said) and question.is_right(said),
        calls=usage.calls,
        tokens=usage.tokens_in + usage.tokens_out,
        cost=usage.cost if usage.calls else 0,
        seconds=answered.seconds,
    )
