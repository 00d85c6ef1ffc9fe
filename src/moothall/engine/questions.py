"""Puts questions of a session to its participants; whatever these do is an answer, or the reason why there is none."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from moothall.domain.budget import FREE, Usage
from moothall.domain.causes import find_cause, state_cause
from moothall.domain.effects import Ask, Brief
from moothall.domain.facts import ASKED_BACK, UNCOUNTED, Fact, Loss, SeatLost, ToolUsed
from moothall.domain.frame import is_none_of_these, is_yes_or_no
from moothall.domain.ids import AskId
from moothall.domain.roster import parse_kind
from moothall.engine.context import EngineContext, SeatWaiting, TextDelta
from moothall.engine.snapshot import RecordWriter, Snapshot
from moothall.errors import BadAnswer, MootError, UnclearChoice
from moothall.ports.participant import (
    ASKED_IN,
    ON_METER,
    ON_RETRY,
    ON_TOOL,
    ON_WAITING,
    Answer,
    Meter,
    NoAnswer,
    Participant,
    UnclearAnswer,
)
from moothall.reading.answers import build_reply, read_answer
from moothall.reading.ask_back import (
    build_meant_note,
    build_small_ask,
    find_unlisted_choice,
    is_within_item,
    settle_choice,
)
from moothall.reading.non_answers import drop_choice_label, name_choice

log = logging.getLogger("moot")

Response = Answer | NoAnswer


CANCELLED: Final = frozenset(("timeout", "withdrawn", "stopped"))
"""Why the run loop ends an ask, for the metrics."""

OUT: Final[frozenset[Loss]] = frozenset(("timeout", "unreachable", "rejected_key"))
"""Losses that say nothing of what was said before."""

MAX_SMALL_ASKS: Final = 3
"""How many choices of one reply a seat is asked about."""

BROKEN: Final[frozenset[Loss]] = frozenset(("timeout", "unreachable", "error"))
"""Losses that a pause of this process can cause: the seat is asked again, for the time that it has left."""


class Questions:
    """The questions that one run of a session puts: counted, traced, and with the time that each waits for its provider."""

    def __init__(self, context: EngineContext) -> None:
        self._context = context
        self._time = asyncio.get_running_loop().time
        # For how long each ask has waited for its provider's turn, and since when it waits now: time that is not the seat's.
        self._waited: dict[AskId, float] = {}
        self._waiting: dict[AskId, float] = {}
        # What each ask that is being answered has cost so far.
        self._meters: dict[AskId, list[Meter]] = {}
        # Seats that are asked at once share the budget for tools: each sees what the others use meanwhile.
        self._uses: list[ToolUsed] | None = None

    async def put(
        self,
        ask: Ask,
        participant: Participant,
        snapshot: Snapshot,
        take: Callable[[Response], str],
        on_tool: Callable[[ToolUsed], None],
    ) -> None:
        """Put a question, and give what comes of it to `take`, which returns the outcome for the metrics.

        `on_tool` receives what the seat looks up before that.
        """
        counts = self._context.telemetry.counts
        vendor = parse_kind(snapshot.session_state.seat(ask.seat).platform)
        outcome = "error"
        counts.asks_open += 1
        try:
            with self._context.telemetry.tracer.span(
                "moot.ask",
                session=snapshot.session,
                ask=ask.id,
                seat=ask.seat,
                kind=ask.kind,
                vendor=vendor,
            ) as span:
                try:
                    response = await self._get_response(ask, participant, snapshot, on_tool)
                    outcome = take(response)
                    # What an answer cost and whose it is; never what it says.
                    if isinstance(response, Answer | NoAnswer):
                        usage = response.usage
                        span.note(
                            tokens_in=usage.tokens_in,
                            tokens_out=usage.tokens_out,
                            calls=usage.calls,
                        )
                    if isinstance(response, Answer) and response.model:
                        span.note(model=response.model)
                except asyncio.CancelledError as error:
                    outcome = str(error) if str(error) in CANCELLED else "cancelled"
                    raise
                finally:
                    span.note(outcome=outcome)
        finally:
            self._meters.pop(ask.id, None)
            counts.asks_open -= 1
            counts.answers[outcome] += 1

    def count_retry(self) -> None:
        """Count a question that is put once more."""
        self._context.telemetry.counts.ask_retries += 1

    def get_waited(self, ask: AskId) -> float:
        """Return for how many seconds a question has waited for its provider's turn."""
        since = self._waiting.get(ask)
        return self._waited.get(ask, 0.0) + (0.0 if since is None else self._time() - since)

    def estimate_usage(self, ask: AskId) -> Usage:
        """Return about what an ask has cost that is not answered yet."""
        try:
            return sum((meter() for meter in self._meters.get(ask, ())), FREE)
        except Exception:
            # A participant is other people's code: what it cannot say is no reason to end the session.
            log.exception("the cost of %s is not known", ask)
            return FREE

    async def _get_response(
        self,
        ask: Ask,
        participant: Participant,
        snapshot: Snapshot,
        on_tool: Callable[[ToolUsed], None],
    ) -> Response:
        session, pauses = snapshot.session, self._context.pauses
        uses: list[ToolUsed] = []
        session_uses = self._uses = (
            list(snapshot.session_state.looked_up) if self._uses is None else self._uses
        )

        def note_use(used: ToolUsed) -> None:
            uses.append(used)
            session_uses.append(used)
            on_tool(used)

        def on_text(text: str) -> None:
            self._context.hub.publish(TextDelta(session, ask.id, ask.seat, text))

        def on_waiting(is_waiting: bool) -> None:
            self._note_waiting(ask.id, is_waiting)
            self._context.hub.publish(
                SeatWaiting(session, ask.id, ask.seat, is_over=not is_waiting)
            )

        def on_meter(meter: Meter) -> None:
            self._meters.setdefault(ask.id, []).append(meter)

        ASKED_IN.set(session)
        ON_METER.set(on_meter)
        ON_WAITING.set(on_waiting)
        ON_RETRY.set(self.count_retry)
        ON_TOOL.set(note_use)
        try:
            brief = _with_its_time(snapshot.build_brief(ask), snapshot)
            if brief.tools is not None:
                brief = replace(brief, tools=replace(brief.tools, session_uses=session_uses))
            while True:
                before = pauses.look()
                response = await _respond(brief, participant, on_text)
                # Its own deadline passed, or its connection broke, while this process stood still: that is not its silence.
                if (
                    not isinstance(response, NoAnswer)
                    or response.reason not in BROKEN
                    or pauses.look() == before
                ):
                    return await _ask_which_one(brief, participant, response)
                self.count_retry()
                if brief.tools is not None and uses:
                    brief = replace(
                        brief, tools=replace(brief.tools, used=(*brief.tools.used, *uses))
                    )
                    uses.clear()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            # `cancelling` separates a cancellation by the loop, which must propagate, from a participant that cancelled itself.
            if task is None or task.cancelling():
                raise
            return NoAnswer(reason="error", detail=state_cause("cancelled"))
        except MootError as error:
            return NoAnswer(
                reason=error.loss if isinstance(error, BadAnswer) else "error", detail=str(error)
            )
        except Exception as error:  # noqa: BLE001 - a participant is other people's code: whatever it raises is its own loss
            return NoAnswer(reason="error", detail=f"{type(error).__name__}: {error}")
        finally:
            self._context.hub.end_text(session, ask.id)

    def _note_waiting(self, ask: AskId, is_waiting: bool) -> None:
        now, counts = self._time(), self._context.telemetry.counts
        if is_waiting:
            self._waiting[ask] = now
            counts.provider_waits += 1
        else:
            waited = now - self._waiting.pop(ask, now)
            self._waited[ask] = self._waited.get(ask, 0.0) + waited
            counts.provider_wait_seconds += waited


async def _respond(
    brief: Brief, participant: Participant, on_text: Callable[[str], None]
) -> Response:
    """Return what a participant answers; one whose reply makes no choice plainly is asked which one it meant."""
    try:
        return await participant.respond(brief, on_text)
    except UnclearChoice as unclear:
        return await _ask_what_was_meant(brief, participant, unclear)


async def _ask_what_was_meant(
    brief: Brief, participant: Participant, first: UnclearChoice
) -> Response:
    """Ask which of the choices was meant, once for each choice that is not plain, and read the reply again by that.

    Where that stays open in an item of a list, it costs that item alone (Q-7).
    """
    usage, model, origin = FREE, "", ""
    if isinstance(first, UnclearAnswer):
        usage, model, origin = first.usage, first.model, first.origin
    settled: dict[str, str] = {}
    notes = list(first.corrections) if isinstance(first, UnclearAnswer) else []
    unclear, raw = first, first.raw
    while unclear.field not in settled:
        meant: str | NoAnswer = NoAnswer(reason=unclear.loss, detail=str(unclear))
        if len(settled) < MAX_SMALL_ASKS:
            meant, cost = await _put_small_ask(brief, participant, unclear)
            usage += cost
        if isinstance(meant, str):
            settled[unclear.field] = meant
            notes.append(build_meant_note(unclear, meant))
        elif is_within_item(unclear) and meant.reason not in OUT:
            settled[unclear.field] = ""
        else:
            return replace(meant, usage=usage)
        try:
            read = read_answer(brief, raw, settled=settled, is_last=True)
        except UnclearChoice as another:
            unclear = another
            continue
        except BadAnswer as fault:
            return NoAnswer(reason=fault.loss, detail=str(fault), usage=usage)
        return Answer(
            said=read.said,
            corrections=(*read.mends, *notes),
            usage=usage,
            model=model,
            origin=origin,
        )
    return NoAnswer(reason=unclear.loss, detail=str(unclear), usage=usage)


async def _put_small_ask(
    brief: Brief, participant: Participant, unclear: UnclearChoice
) -> tuple[str | NoAnswer, Usage]:
    """Return the choice that was meant, or the loss where none was, and what the question has cost."""
    lost = NoAnswer(reason=unclear.loss, detail=str(unclear))
    try:
        reply = await participant.respond(build_small_ask(brief, unclear), _drop_text)
    except UnclearAnswer as fault:
        return lost, fault.usage
    except (
        Exception
    ):  # a function that does not know the question: what it said first is what it is lost for
        log.info("seat %r does not say which it meant", brief.seat.id, exc_info=True)
        return lost, FREE
    if isinstance(reply, NoAnswer):
        # An outage is one of the second question, too: the seat is asked again once it is over.
        return (reply if reply.reason in OUT else lost), reply.usage
    meant = settle_choice(unclear, reply.said, reply.corrections)
    return (meant or lost), reply.usage


def _drop_text(text: str) -> None:
    """Show nothing: what was said stands there already."""


async def _ask_which_one(brief: Brief, participant: Participant, first: Response) -> Response:
    """Ask a seat whose answer is none of the listed ones, such as yes, which one it means (Q-2, Q-6).

    Nothing is dropped: other words than the listed ones stay an answer of its own, and a yes that stays one is recorded, without
    counting.
    """
    unclear = find_unlisted_choice(brief, first.said) if isinstance(first, Answer) else None
    if unclear is None or not isinstance(first, Answer):
        return first
    said = str(unclear.raw)
    meant, cost = await _put_small_ask(brief, participant, unclear)
    first = replace(first, usage=first.usage + cost)
    is_bare = is_yes_or_no(said)
    if isinstance(meant, str) and (is_bare or not is_none_of_these(meant)):
        return _settle(first, name_choice(first.said, meant), build_meant_note(unclear, meant))
    if is_bare:
        return _settle(first, drop_choice_label(first.said), f"{UNCOUNTED} {said!r}")
    return _settle(first, first.said, f"{ASKED_BACK} {said!r}")


def _settle(answer: Answer, said: object, note: str) -> Answer:
    return replace(answer, said=said, corrections=(*answer.corrections, note))


def build_fact(writer: RecordWriter, snapshot: Snapshot, ask: Ask, response: Response) -> Fact:
    """Return the fact that a response becomes. A value that is not valid is a loss: the ledger must stay readable."""
    try:
        match response:
            case Answer(
                said=said, usage=usage, corrections=corrections, model=model, origin=origin
            ):
                form = snapshot.rules.forms[ask.kind]
                fact: Fact = build_reply(
                    form,
                    ask.id,
                    ask.seat,
                    said,
                    usage,
                    corrections=corrections,
                    model=model,
                    origin=origin,
                )
            case NoAnswer(reason=reason, detail=detail, usage=usage):
                cause = find_cause(detail)
                fact = SeatLost(ask=ask.id, seat=ask.seat, reason=reason, cause=cause, usage=usage)
            case _:
                raise BadAnswer(
                    f"{ask.kind}: neither an answer nor a reason for none, but a {type(response).__name__}"
                )
        writer.check(fact)
    except BadAnswer as error:
        # No usage here: the value that carries it is the one that failed validation.
        fault = find_cause(str(error))
        return SeatLost(ask=ask.id, seat=ask.seat, reason="malformed", cause=fault)
    return fact


def _with_its_time(brief: Brief, snapshot: Snapshot) -> Brief:
    """Give a participant the seconds that its ask has by the record: a seat's own, or more because it was asked again."""
    pending = snapshot.session_state.pending.get(brief.ask.id)
    if pending is None or not pending.seconds:
        return brief
    return replace(brief, ask=replace(brief.ask, patience=max(0.0, pending.seconds)))
