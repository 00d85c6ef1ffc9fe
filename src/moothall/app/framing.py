"""Frames a session before it opens (Q-1): by its options, by the words of its question, else by one call to a model that sits there."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from moothall import errors
from moothall.app.estimates import FRAMING_IN, find_price
from moothall.app.seats import Seating
from moothall.app.session_options import Options
from moothall.domain.budget import FREE, Usage
from moothall.domain.context import ContextWindow, Perception
from moothall.domain.effects import AnswerForm, Ask, Brief, Schema
from moothall.domain.facts import FramingCall, FramingFault, Loss, Opened, Reply
from moothall.domain.frame import build_frame, read_question
from moothall.domain.framing import FramedQuestion, check_framed_question
from moothall.domain.ids import AskId
from moothall.domain.roster import Seat
from moothall.domain.safe_text import quote_user
from moothall.domain.topic import Frame, build_topic
from moothall.errors import BadAnswer, MootError
from moothall.locale.catalogues import FRAMING, LANGUAGE
from moothall.ports.participant import ON_METER, Answer, Meter, NoAnswer
from moothall.ports.plugin import AnyPlugin

log = logging.getLogger("moot")

FRAME_SECONDS: Final = 20.0
"""How long a model has to frame a question; after that the session opens without its frame."""
FRAME_TOKENS: Final = 300
"""How long its answer may be."""
MAX_QUESTION: Final = 4_000
"""A longer text is not sent: it is a task, and the call is to be a short one."""
MAX_FRAMED: Final = 64
"""How many framed questions wait for their session."""
OPEN_WORDS: Final = frozenset({"open", "-"})

_FORM: Final = AnswerForm(
    kind="frame",
    reply=Reply,
    shape=FramedQuestion,
    form="json",
    max_tokens=FRAME_TOKENS,
    asides=frozenset({"assumes", "criteria", "answers"}),
    is_asked_once=True,
)
_KINDS: Final = ("choice", "yes_no", "number", "forecast", "open", "plan")
_TEXT: Final[Schema] = {"type": "string"}
_TEXTS: Final[Schema] = {"type": "array", "items": _TEXT}
# In this order: what a model takes for granted and what counts, before it settles on a kind.
_FIELDS: Final[Schema] = {
    "assumes": _TEXT,
    "criteria": _TEXTS,
    "kind": {"type": "string", "enum": [*_KINDS]},
    "answers": _TEXTS,
}
_SCHEMA: Final[Schema] = {
    "type": "object",
    "properties": _FIELDS,
    "required": [*_FIELDS],
    "additionalProperties": False,
}
_FAULTS: Final[Mapping[Loss, FramingFault]] = MappingProxyType(
    {"timeout": "late", "refused": "refused", "malformed": "unreadable"}
)
"""Why a frame is missing, by why there is no answer; whatever else happened, it failed."""


def frame_question(opened: Opened, plugin: AnyPlugin, options: Options) -> Opened:
    """Return an opening with the frame of its question: the answers that its question names are its options.

    Yes and no are listed in the frame alone: a vote on them is one on a text, with its conditions.

    A demo plays as it was written, and a protocol without options has none. Raises BadSetting.
    """
    kind, is_off = options.get("kind"), options.get("frame") == "off"
    if kind and is_off:
        raise errors.BadSetting(f"kind: {kind} was given, and frame=off leaves the frame out")
    if kind and "options" in plugin.refuses:
        raise errors.BadSetting(f"kind: {plugin.refuses['options']} (protocol {plugin.name})")
    if is_off or options.get("demo") or not is_framed(plugin):
        return opened
    given = opened.subject.options
    frame = build_frame(opened.topic, opened.language, options=given, kind=kind)
    if frame is None or given:
        return replace(opened, frame=frame)
    return set_frame(opened, frame)


def is_framed(plugin: AnyPlugin) -> bool:
    """Whether sessions of a protocol have a frame: its plugin refuses what it has no use for."""
    return not plugin.refuses.keys() & {"frame", "options"}


def set_frame(opened: Opened, frame: Frame) -> Opened:
    """Return an opening with a frame, whose answers are its options where they are alternatives."""
    if frame.kind != "choice":
        return replace(opened, frame=frame)
    subject = replace(opened.subject, options=frame.answers)
    return replace(opened, frame=frame, subject=subject)


def reframe(opened: Opened, words: str) -> Opened:
    """Return an opening with the frame that its opener wants.

    `words` are answers between slashes; a kind, such as `number`; `open` for a text; or `off` for no frame. Raises BadSetting for
    fewer than two answers, or two that are the same.
    """
    word = words.strip().casefold().replace("-", "_")
    bare = replace(opened, frame=None, subject=replace(opened.subject, options=()))
    if word == "off":
        return bare
    if word in OPEN_WORDS or words.strip() in OPEN_WORDS:
        return replace(bare, frame=Frame(kind="open", made_by="opener"))
    if word in {"yes_no", "number", "forecast"}:
        kind = build_frame(opened.topic, opened.language, kind=word)  # type: ignore[arg-type]  # one of the kinds
        return replace(bare, frame=kind)
    answers = build_topic(options=[each.strip() for each in words.split("/")]).options
    if len(answers) < 2:
        raise errors.BadSetting(f"{words!r} is one answer; write at least two: Postgres / MySQL")
    frame = build_frame(opened.topic, opened.language, options=answers)
    return replace(opened, subject=replace(opened.subject, options=answers), frame=frame)


def find_framer(
    opened: Opened, plugin: AnyPlugin, options: Options, seating: Seating
) -> Seat | None:
    """Return the seat whose model is asked for the frame: the cheapest that Moot runs; None where nobody is to be asked.

    Nobody is where the opener says it, the words of the question do, or nobody sits there but people, functions and agents.
    """
    is_said = options.get("frame") == "off" or options.get("kind") or opened.subject.options
    if is_said or options.get("demo") or not is_framed(plugin):
        return None
    # What the words plainly say needs no model; a long text is a task.
    read = read_question(opened.topic)
    if (read is not None and read.is_sure) or len(opened.topic) > MAX_QUESTION:
        return None
    return find_cheapest_model(opened.seats, seating)


def find_cheapest_model(seats: Sequence[Seat], seating: Seating) -> Seat | None:
    """Return the seat with the cheapest of the models that Moot runs; None where there is none."""
    models: list[Seat] = []
    for seat in seats:
        if seating.kinds.find(seat.platform).frames_questions:
            models.append(seat)
    return min(models, key=_find_cost, default=None)


def _find_cost(seat: Seat) -> tuple[bool, float]:
    """Return what a short call costs; a price that is not known comes last."""
    price = find_price(seat, FRAMING_IN, FRAME_TOKENS)
    return price is None, float(price or 0)


class FramedQuestions:
    """What models have said of questions whose sessions are not open yet: who sees a frame before it opens one pays for it once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], Opened] = {}

    def add(self, opened: Opened, seat: Seat) -> None:
        """Keep the newest ones."""
        self._known[opened.topic, opened.language, seat.platform] = opened
        # The oldest go first: a dict has its keys in the order in which they came.
        while len(self._known) > MAX_FRAMED:
            del self._known[next(iter(self._known))]

    def find(self, opened: Opened) -> Opened | None:
        """Return an opening of the same question that was framed by a model which sits in this one, too."""
        for seat in opened.seats:
            earlier = self._known.get((opened.topic, opened.language, seat.platform))
            if earlier is not None:
                return earlier
        return None

    def forget(self, opened: Opened) -> None:
        """The session is open: its opening has the call, and what it cost."""
        for seat in opened.seats:
            self._known.pop((opened.topic, opened.language, seat.platform), None)


def apply_earlier_frame(opened: Opened, framer: Seat | None, known: FramedQuestions) -> Opened:
    """Return an opening with the call that framed its question before; with its frame, too, where the opener gave none."""
    earlier = known.find(opened)
    if earlier is None or earlier.framing is None:
        return opened
    seat = next(each for each in opened.seats if each.platform == earlier.framing.platform)
    framed = replace(opened, framing=replace(earlier.framing, seat=seat.id))
    # An opener who has said the kind or the answers is not overruled; the call was made all the same.
    if framer is None or earlier.frame is None:
        return framed
    return set_frame(framed, earlier.frame)


async def ask_for_frame(seating: Seating, opened: Opened, seat: Seat) -> Opened:
    """Return an opening with what a model says of its question; where that cannot be used, as it was, with the reason.

    The call is on the record either way. Nothing that a model does keeps the session from opening.
    """
    # What is under way when time is up was paid for, too.
    meters: list[Meter] = []
    ON_METER.set(meters.append)
    brief = build_framing_brief(opened, seat)
    call = FramingCall(seat=seat.id, platform=seat.platform)
    try:
        async with asyncio.timeout(FRAME_SECONDS):
            response = await _respond(seating, seat, brief)
    except TimeoutError:
        return replace(opened, framing=replace(call, usage=_add_up(meters), fault="late"))
    # What it cost is counted whether or not it can be used.
    call = replace(call, usage=response.usage)
    if isinstance(response, NoAnswer):
        log.info("the question was not framed: %s", response.detail)
        return replace(opened, framing=replace(call, fault=_FAULTS.get(response.reason, "failed")))
    call = replace(call, model=response.model)
    said = response.said
    if not isinstance(said, FramedQuestion):
        return replace(opened, framing=replace(call, fault="unreadable"))
    checked = check_framed_question(
        said,
        opened.topic,
        opened.language,
        model=response.model or seat.platform,
        asked=FRAMING[opened.language].ask,
    )
    if isinstance(checked, Frame):
        return replace(set_frame(opened, checked), framing=call)
    return replace(opened, framing=replace(call, fault=checked))


async def _respond(seating: Seating, seat: Seat, brief: Brief) -> Answer | NoAnswer:
    """Return what a model answers; whatever it raises is no answer."""
    try:
        participant = seating(seat)
        if participant is None:
            return NoAnswer(reason="error", detail="nobody is there to be asked")
        return await participant.respond(brief, _ignore_text)
    except MootError as error:
        reason: Loss = error.loss if isinstance(error, BadAnswer) else "error"
        return NoAnswer(reason=reason, detail=str(error))
    except Exception as error:  # noqa: BLE001 - a participant is other people's code: whatever it raises, the session opens
        return NoAnswer(reason="error", detail=f"{type(error).__name__}: {error}")


def _ignore_text(_: str) -> None:
    """Nobody reads along: there is no session yet."""


def _add_up(meters: list[Meter]) -> Usage:
    total = FREE
    for meter in meters:
        total += meter()
    return total


def build_framing_brief(opened: Opened, seat: Seat) -> Brief:
    """Return what the model is asked: the question alone, without the files and whatever else is given with it."""
    words = FRAMING[opened.language]
    ask = Ask(id=AskId("frame"), seat=seat.id, kind="frame", turn=0, patience=FRAME_SECONDS)
    system = words.system.format(language=LANGUAGE[opened.language].name)
    # Its stance and its instructions are for the meeting: here it speaks for nobody.
    nobody = Seat(id=seat.id, platform=seat.platform)
    perception = Perception(goal=opened.topic, memory=ContextWindow(window=1))
    question = f"{words.question}\n{quote_user(opened.topic)}"
    return Brief(
        form=_FORM,
        ask=ask,
        seat=nobody,
        language=opened.language,
        seed=opened.seed,
        nth=1,
        perception=perception,
        system=system,
        shared=question,
        own=words.ask,
        schema=_SCHEMA,
    )
