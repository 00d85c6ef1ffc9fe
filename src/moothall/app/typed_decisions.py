"""Puts a decision into a type of the program's own: one call to a model of the session, checked by that type (G-8)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from pydantic.errors import PydanticUserError

from moothall.app.estimates import find_price
from moothall.app.resources import Resources
from moothall.app.seats import Seating
from moothall.domain.budget import FREE, Usage
from moothall.domain.context import ContextWindow, Perception
from moothall.domain.effects import AnswerForm, Ask, Brief
from moothall.domain.facts import Reply
from moothall.domain.ids import AskId, SeatId, parse_session_id
from moothall.domain.roster import FUNCTION, Seat, parse_kind
from moothall.domain.safe_text import quote_lines
from moothall.errors import BadAnswer, BadSetting, MootError, ProviderRefused
from moothall.locale.catalogues import LANGUAGE, TYPED_DECISION
from moothall.participants.kinds import KindTable
from moothall.ports.participant import Answer, NoAnswer, UnclearAnswer
from moothall.reading.schemas import build_schema
from moothall.reports.decision import Decision
from moothall.reports.memo import build_memo

OUTPUT: Final = "output"
"""The kind of the ask that fills a type."""
OUTPUT_SECONDS: Final = 120.0
"""How long a model has to fill a type, where its platform is not known to be slower."""
OUTPUT_TOKENS: Final = 4_000
TRIES: Final = 2
"""How often a model is asked: once more with the fault where its answer cannot be read."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedDecision(Generic[T]):
    """A decision, and the same in a type of the program's own."""

    decision: Decision
    output: T | None
    """None where nothing was decided."""
    written_by: SeatId | None = None
    """The seat whose model filled it."""
    usage: Usage = FREE
    """What that cost, beside what the session did."""


def check_output_type(output_type: type) -> None:
    """Raise BadSetting for what is not a pydantic model, a dataclass or another type whose JSON is an object with named fields."""
    expected = "expected a pydantic model or a dataclass"
    name = getattr(output_type, "__name__", repr(output_type)[:60])
    if not isinstance(output_type, type):
        raise BadSetting(f"output_type = {name} is not a class; {expected}")
    try:
        schema = build_schema(output_type)
    except RecursionError as cause:
        raise BadSetting(f"output_type = {name} holds itself; {expected} without that") from cause
    except (PydanticUserError, TypeError) as cause:
        raise BadSetting(f"output_type = {name} has no JSON schema; {expected}") from cause
    if not schema.get("properties"):
        raise BadSetting(f"output_type = {name} has no named fields; {expected}")


def find_writer(seats: Sequence[Seat], kinds: KindTable, output_type: type) -> Seat:
    """Return the seat that fills a type: the cheapest model that Moot runs, else the first function; raises BadSetting."""
    models = [seat for seat in seats if kinds.find(seat.platform).frames_questions]
    if models:
        return min(models, key=_find_cost)
    for seat in seats:
        if parse_kind(seat.platform) == FUNCTION:
            return seat
    raise BadSetting(
        f"output_type: nobody sits here who could fill {output_type.__name__}: no model that Moot runs, and no function; "
        "seat one, such as openai:gpt-5-mini"
    )


def _find_cost(seat: Seat) -> tuple[bool, float]:
    """Return what a call costs; a price that is not known comes last."""
    price = find_price(seat, OUTPUT_TOKENS, OUTPUT_TOKENS)
    return price is None, float(price or 0)


async def fill_output(
    moot: Resources, decision: Decision, output_type: type[T]
) -> TypedDecision[T]:
    """Return a decision in a type of the program's own, filled by a model of its session; the type itself checks what it says.

    Raises BadSetting where nobody sits there who could fill it, ProviderRefused where two answers could not be read. The call is
    no part of the session: what it cost is in the result.
    """
    check_output_type(output_type)
    if decision.decision is None:
        return TypedDecision(decision=decision, output=None)
    snapshot = await moot.engine.load_snapshot(parse_session_id(decision.session))
    seats = snapshot.session_state.seats
    seat = find_writer(seats, moot.seating.kinds, output_type)
    return await fill_by(moot, decision, seat, output_type)


async def fill_by(
    moot: Resources, decision: Decision, seat: Seat, output_type: type[T]
) -> TypedDecision[T]:
    """Return a decision in a type of the program's own, filled by what sits in this seat."""
    patience = moot.seating.kinds.find_patience(seat.platform, moot.environ) or OUTPUT_SECONDS
    brief = build_output_brief(decision, seat, output_type, patience)
    own, usage, fault = brief.own, FREE, ""
    for _ in range(TRIES):
        response = await _ask(moot.seating, seat, brief)
        usage += response.usage
        if isinstance(response, Answer) and isinstance(response.said, output_type):
            return TypedDecision(
                decision=decision, output=response.said, written_by=seat.id, usage=usage
            )
        fault = "the answer was of another type"
        if isinstance(response, NoAnswer):
            fault = response.detail
            if response.reason != "malformed":
                break
        corrected = TYPED_DECISION[decision.language].corrected.format(fault=fault)
        brief = replace(brief, own=f"{own}\n\n{corrected}", again=brief.again + 1)
    raise ProviderRefused(
        f"output_type: {seat.id!r} did not fill {output_type.__name__}: {fault}; the decision of {decision.session} stands, "
        "fill_output tries again"
    )


async def _ask(seating: Seating, seat: Seat, brief: Brief) -> Answer | NoAnswer:
    """Return what a participant answers; whatever it raises is no answer."""
    try:
        participant = seating(seat)
        if participant is None:
            return NoAnswer(reason="error", detail="nobody is there to be asked")
        async with asyncio.timeout(brief.ask.patience):
            return await participant.respond(brief, _ignore_text)
    except TimeoutError:
        return NoAnswer(
            reason="timeout", detail=f"no answer came within {brief.ask.patience:.0f} s"
        )
    except UnclearAnswer as fault:
        return NoAnswer(reason="malformed", detail=str(fault), usage=fault.usage)
    except BadAnswer as fault:
        return NoAnswer(reason="malformed", detail=str(fault))
    except MootError as fault:
        return NoAnswer(reason="error", detail=str(fault))
    except Exception as error:  # noqa: BLE001 - a participant is other people's code
        return NoAnswer(reason="error", detail=f"{type(error).__name__}: {error}")


def _ignore_text(_: str) -> None:
    """Nobody reads along: the session is over."""


def build_output_brief(decision: Decision, seat: Seat, output_type: type, patience: float) -> Brief:
    """Return what the model is asked: the decision with what stands behind it, and the form."""
    words = TYPED_DECISION[decision.language]
    text = decision.decision.text if decision.decision is not None else ""
    reasons = "\n".join(each.text for each in decision.reasons)
    memo = build_memo(decision, decision.language).text
    parts = [
        (words.question, decision.topic),
        (words.decision, text),
        (words.memo, memo),
        (words.reasons, reasons),
    ]
    shown: list[str] = []
    for head, said in parts:
        # What seats wrote is data, behind a mark on every line: a decision may hold words that give orders.
        if said.strip():
            shown.append(f"{head}\n{quote_lines(said)}")
    # Its stance is for the meeting: here it speaks for nobody.
    nobody = Seat(id=seat.id, platform=seat.platform)
    ask = Ask(id=AskId(OUTPUT), seat=seat.id, kind=OUTPUT, turn=0, patience=patience)
    perception = Perception(goal=decision.topic, memory=ContextWindow(window=1))
    system = words.system.format(language=LANGUAGE[decision.language].name)
    return Brief(
        form=_build_form(output_type),
        ask=ask,
        seat=nobody,
        language=decision.language,
        seed=0,
        nth=1,
        perception=perception,
        system=system,
        shared="\n\n".join(shown),
        own=words.ask,
        schema=build_schema(output_type),
    )


def _build_form(output_type: type) -> AnswerForm:
    # Asked once: what it repeats of the decision is no echo, it is what is wanted. The second try is made here, with the fault.
    return AnswerForm(
        kind=OUTPUT,
        reply=Reply,
        shape=output_type,
        form="json",
        max_tokens=OUTPUT_TOKENS,
        is_asked_once=True,
    )
