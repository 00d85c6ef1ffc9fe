"""What a decision costs its user: calls, prompt tokens and waiting, in every protocol and beside simpler ways to ask models.

All minds are one model that says about 100 tokens at a time. It is assumed to begin after half a second, to read 3,000 tokens a
second and to write 60; what an earlier call that has ended began with, word for word, it need not read again, from 1,024 tokens
on, where prompts are cached. Nobody waits for it: the event loop's clock jumps to the next moment at which anything happens, so
that the seconds are those of the longest chain of calls, whatever the machine does.

Beside them stand: a round robin (each speaks in turn, one call a turn), a selector (one more call a turn, which chooses the next
speaker), both with the whole talk in every prompt and a conclusion at the end, and the model alone, asked once.
"""

import asyncio
import json
import selectors
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeVar

from bench.calls.persona import answer_brief
from moothall.app.moot import Moot
from moothall.codec.adapters import as_json
from moothall.domain.effects import Brief
from moothall.features.persona.answer_table import FORMS as PERSONA_FORMS
from moothall.ports.participant import Answer, NoAnswer
from moothall.reading.schemas import build_user_prompt
from moothall_testkit.careless_model import CarelessModel
from moothall_testkit.prompt_size import count_tokens

T = TypeVar("T")

FIRST_SECONDS, READ_PER_SECOND, WRITTEN_PER_SECOND = 0.5, 3_000, 60
MIN_CACHED: Final = 1_024
SEATS, TURNS = 5, 10
TOPIC: Final = "Should the team move its invoices from files on a shared disk to a database now, or wait for the new hire?"
SPEECH: Final = (
    "I would start with a pilot, because we do not know the load yet: twenty users are enough to measure it, and their invoices "
    "fit into one table. What speaks against it is the time of the only person who knows the old files, and she is away until "
    "June. If the pilot fails, we have lost two weeks, not the quarter. The numbers of last year say that the files were the "
    "cause of three of the four outages, so waiting is not free either."
)
PERSONA_REPLIES: Final = frozenset(form.reply for form in PERSONA_FORMS.values())
_LONG_FIELDS: Final = frozenset({"text", "content", "core_idea", "position", "reason", "why"})
PROTOCOLS: Final[Mapping[str, tuple[str, Mapping[str, object]]]] = {
    "persona": ("persona", {}),
    'persona, bids = "together"': ("persona", {"bids": "together"}),
    "roundtable, two rounds": ("roundtable", {"max_rounds": 2}),
    "debate": ("debate", {"debate": "always"}),
    "consensus": ("consensus", {"debate": "always"}),
    "advisory": ("advisory", {"debate": "always"}),
    "swarm, two rounds": ("swarm", {"max_rounds": 2}),
    "pipeline, one gate": (
        "pipeline",
        {
            "steps": [
                {"name": "draft", "agent": "seat1", "task": "Write the plan."},
                {"name": "check", "agent": "seat2", "task": "Check the plan.", "gate": True},
            ]
        },
    ),
}


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock stands still while anything is to be done, and jumps to the next timer otherwise."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(_JumpingSelector(self))

    def time(self) -> float:
        return self.now

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        """Do it at once: while another thread worked, nothing would happen here, and the clock would jump."""
        done: asyncio.Future[T] = self.create_future()
        done.set_result(func(*args))
        return done


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: JumpingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            return super().select(None)
        found = super().select(0)
        if not found:
            self._loop.now += max(timeout, 0.0)
        return found


@dataclass
class PricedModel:
    """Counts what is sent and said, and takes the time for it."""

    is_caching: bool
    seconds: float | None = None
    """How long every call takes; None if reading and writing take their time."""
    calls: int = 0
    sent: int = 0
    cached: int = 0
    said: int = 0
    _earlier: list[str] = field(default_factory=list)

    async def take(self, prompt: str, answer: str) -> None:
        """Answer a prompt, which takes as long as reading and writing takes."""
        known = (
            max((count_equal(prompt, other) for other in self._earlier), default=0)
            if self.is_caching
            else 0
        )
        reused = count_tokens(prompt[:known])
        reused = reused if reused >= MIN_CACHED else 0
        sent, said = count_tokens(prompt), count_tokens(answer)
        self.calls, self.sent, self.cached, self.said = (
            self.calls + 1,
            self.sent + sent,
            self.cached + reused,
            self.said + said,
        )
        usual = FIRST_SECONDS + (sent - reused) / READ_PER_SECOND + said / WRITTEN_PER_SECOND
        await asyncio.sleep(usual if self.seconds is None else self.seconds)
        self._earlier.append(prompt)


def count_equal(one: str, other: str) -> int:
    """Count the characters with which both texts begin."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


class PricedMind(CarelessModel):
    """A seat of a session: answers any brief in the form that it asks for, without a fault."""

    def __init__(self, number: int, model: PricedModel) -> None:
        super().__init__(number, rate=0.0)
        self._model = model

    async def __call__(self, brief: Brief) -> Answer | NoAnswer:
        prompt = f"{brief.system}\n\n{build_user_prompt(brief)}"
        if brief.form.reply in PERSONA_REPLIES:
            # Who wants to speak decides how many calls a meeting takes: all do, every time.
            said = answer_brief(brief)
            await self._model.take(prompt, json.dumps(as_json(said)))
            return Answer(said=said)
        await self._model.take(prompt, self.write(brief, Random(brief.ask.id)))
        return await super().__call__(brief)

    def write(self, brief: Brief, random: Random) -> str:
        written = super().write(brief, random)
        if brief.form.form == "text":
            return SPEECH if "verdict" not in (brief.schema or {}) else written
        fields: dict[str, Any] = json.loads(written)
        longer = {
            name: SPEECH
            for name in fields
            if name in _LONG_FIELDS and isinstance(fields[name], str)
        }
        texts = json.dumps({**fields, **longer})
        # A field of that name may be one of a few words.
        return (
            texts
            if brief.form.kind in {"propose", "argue", "answer", "synthesize", "decide", "explore"}
            else written
        )


async def hold_meeting(model: PricedModel, protocol: str, settings: Mapping[str, object]) -> None:
    # One model fills all seats: only then can their bids be asked for together.
    seats = {f"seat{number}": "priced" for number in range(1, SEATS + 1)}
    async with Moot(
        environ={"MOOT_LEDGER": "memory:"}, participants={"priced": PricedMind(1, model)}
    ) as moot:
        await moot.hold(
            TOPIC,
            protocol=protocol,
            seats=seats,
            seed=1,
            settings=dict(settings),
            turns=TURNS if protocol == "persona" else None,
            memory=False,
        )


async def talk(model: PricedModel, *, has_selector: bool) -> None:
    """Let the seats speak, each with the whole talk before it, and conclude."""
    talked = f"You take part in a meeting of {SEATS} experts. The question:\n{TOPIC}\n"
    for turn in range(TURNS):
        if has_selector:
            await model.take(
                f"{talked}\nWho should speak next? Answer with a name.", f"seat{turn % SEATS + 1}"
            )
        await model.take(f"{talked}\nYou are seat{turn % SEATS + 1}. Speak.", SPEECH)
        talked += f"\nseat{turn % SEATS + 1}: {SPEECH}"
    await model.take(f"{talked}\nState the decision of this meeting and its reasons.", SPEECH)


WAYS: Final[Mapping[str, Callable[[PricedModel], Awaitable[None]]]] = {
    "one model alone": lambda model: model.take(f"{TOPIC}\nDecide, and give your reasons.", SPEECH),
    "round robin": lambda model: talk(model, has_selector=False),
    "selector": lambda model: talk(model, has_selector=True),
    **{
        name: lambda model, protocol=protocol, settings=settings: hold_meeting(
            model, protocol, settings
        )  # type: ignore[misc]
        for name, (protocol, settings) in PROTOCOLS.items()
    },
}


@dataclass(frozen=True, slots=True)
class DecisionCost:
    """What one decision took: the model that was asked, and the seconds."""

    model: PricedModel
    seconds: float


def run_in_jumps(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """Run to the end on a loop whose clock jumps; return the result and the seconds that it took there."""
    loop = JumpingLoop()
    try:
        return loop.run_until_complete(work), loop.now
    finally:
        loop.close()


def measure_way(name: str, *, is_caching: bool, seconds: float | None = None) -> DecisionCost:
    model = PricedModel(is_caching, seconds)

    async def work() -> None:
        await WAYS[name](model)

    return DecisionCost(model, run_in_jumps(work())[1])


def report_costs() -> list[str]:
    """Return the table of all ways."""
    lines = [
        f"| {SEATS} seats, {TURNS} turns | calls | one after the other "
        "| prompt tokens | of them cached | tokens said | seconds | with the cache |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in WAYS:
        off, on = measure_way(name, is_caching=False), measure_way(name, is_caching=True)
        # If every call took a second, a session would take as many as its longest chain of calls.
        path = round(measure_way(name, is_caching=False, seconds=1.0).seconds)
        figures = [on.model.calls, path, on.model.sent, on.model.cached, on.model.said]
        shown = " | ".join(f"{figure:,}" for figure in figures)
        lines.append(f"| {name} | {shown} | {off.seconds:.0f} | {on.seconds:.0f} |")
    return lines
