"""What the use cases of one process work with: its environment, ledger, clock, engine, participants, memory and tokens."""

import os
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Final, TypedDict, Unpack

from moothall.app import environment
from moothall.app.environment import has_keys
from moothall.domain.ids import SessionId, parse_session_id
from moothall.errors import BadSetting, LedgerDamaged, NotStarted
from moothall.ports.ledger import Ledger, is_claimed
from moothall.ports.telemetry import Telemetry

if TYPE_CHECKING:
    from moothall.app.framing import FramedQuestions
    from moothall.app.seats import GivenParticipant, Seating
    from moothall.engine.engine import Engine
    from moothall.memory.decision_memory import DecisionMemory
    from moothall.memory.tokens import TokenStore
    from moothall.participants.human import AskPerson
    from moothall.ports.participant import ProviderLimits
LEAP: Final = timedelta(seconds=60)
MEMORY: Final = SessionId("_memory")
"""The register of what outlives sessions."""


class GivenResources(TypedDict, total=False):
    """What a program may give; None means not given."""

    environ: Mapping[str, str] | None
    """Stands for the process's environment: keys, MOOT_HOME, MOOT_LEDGER."""
    ask_person: "AskPerson | None"
    """Puts questions to human seats."""
    participants: "Mapping[str, GivenParticipant] | None"
    """The program's own, by the name that seats have as their platform: functions that take a brief and return the answer,
    objects with `respond` and `ready`, or `ParticipantKind`s."""
    ledger: Ledger | None
    """A ledger that the program has opened itself."""
    limits: "ProviderLimits | None"
    """The limits of providers, where they are shared with other processes."""
    telemetry: Telemetry | None
    """What the work is counted and traced with."""


_EXPECTED: Final = {
    "environ": ("keys", "a mapping of variables"),
    "ask_person": ("__call__", "a function"),
    "participants": ("items", "a mapping of names and participants"),
    "ledger": ("read", "an open ledger"),
    "limits": ("take", "a ProviderLimits"),
    "telemetry": ("counts", "a Telemetry"),
}
"""What each given thing must have at least, and how it is called."""


class Resources:
    """The parts that use cases share; each is made when it is first used."""

    def __init__(self, **given: Unpack[GivenResources]) -> None:
        for name, value in given.items():
            attribute, expected = _EXPECTED.get(
                name, ("", f"an argument of Moot; known: {', '.join(_EXPECTED)}")
            )
            if value is not None and not (attribute and hasattr(value, attribute)):
                raise BadSetting(f"{name} = {repr(value)[:60]} is not {expected}")
        self._given = given
        environ = given.get("environ")
        self.environ = dict(os.environ if environ is None else environ)
        if environ is None and has_keys(self.environ):
            # Imported here: most have none stored.
            from moothall.app.provider_keys import add_stored_keys

            add_stored_keys(self.environ)
        self.clock = SystemClock()
        self.telemetry = given.get("telemetry") or Telemetry()
        self._ledger = given.get("ledger")
        self.is_ledger_given = self._ledger is not None
        """Whether the program has opened the ledger itself: the files in the home do not belong to it then."""
        self._stack = AsyncExitStack()
        if given.get("participants"):
            # A wrong name is refused here, where it is given.
            _ = self.seating

    def list_given(self, ledger: Ledger) -> GivenResources:
        """Return what this one was given, with another ledger: for work whose sessions must not mix with its own."""
        return {**self._given, "environ": self.environ, "ledger": ledger}

    async def _start(self) -> None:
        """Open the ledger that the environment names, unless one was given; raises what `open_ledger` raises."""
        if self._ledger is None:
            self._ledger = await self._stack.enter_async_context(
                environment.open_ledger(environment.resolve_ledger_address(self.environ))
            )
            # Not before: a folder whose ledger is another program's file, or missing, is left as it is.
            environment.tighten_home(self.environ)
        if self._given.get("telemetry") is None and _names_collector(self.environ):
            # The SDK of OpenTelemetry takes a while to load: only where its variables are set.
            from moothall.app.traces import open_tracer

            tracer = self._stack.enter_context(open_tracer(self.environ))
            self.telemetry = Telemetry(tracer=tracer)

    async def _close(self) -> None:
        await self._stack.aclose()
        if not self.is_ledger_given:
            # What is asked of a closed one is refused with the remedy, not by the driver.
            self._ledger = None
            for part in ("engine", "memory", "access"):
                vars(self).pop(part, None)

    @property
    def ledger(self) -> Ledger:
        if self._ledger is None:
            raise NotStarted(
                "this Moot is not open: it was not started, or was closed; use it as `async with Moot() as moot: …`, "
                "or call `moot.hold(topic, …)`"
            )
        return self._ledger

    @cached_property
    def engine(self) -> "Engine":
        from moothall.app.protocols import find_kinds, find_rules
        from moothall.codec.stored import FactCodec
        from moothall.engine.engine import Engine

        return Engine(
            ledger=self.ledger,
            rulebooks=find_rules,
            codec=FactCodec({}, find_kinds=find_kinds),
            clock=self.clock,
            explain_absence=self._explain_absence,
            telemetry=self.telemetry,
        )

    @cached_property
    def seating(self) -> "Seating":
        from moothall.app.seats import Seating

        given = self._given
        asked, participants, limits = (
            given.get("ask_person"),
            given.get("participants"),
            given.get("limits"),
        )
        seating = Seating(
            environment.resolve_home(self.environ), self.environ, asked, participants, limits
        )
        self._stack.push_async_callback(seating.aclose)
        return seating

    async def may_remember(self, kind: str, session: str) -> bool:
        """Return whether memory may hold a fact of this kind on a session: to read all that it holds takes longer."""
        begin = f'{{"fact":"{kind}"'.encode()
        for record in await self.ledger.read(MEMORY):
            is_named = session.encode() in record.body or not session.isascii()
            if is_named and record.body.startswith(begin):
                return True
        return False

    @cached_property
    def framed_questions(self) -> "FramedQuestions":
        """What models have said of questions whose sessions are not open yet."""
        from moothall.app.framing import FramedQuestions

        return FramedQuestions()

    @cached_property
    def memory(self) -> "DecisionMemory":
        """What outlives sessions: decisions, outcomes, trust, threads, circuit breakers."""
        from moothall.memory.decision_memory import DecisionMemory
        from moothall.participants.semantic_similarity import build_meaning_index

        meaning = build_meaning_index(
            environment.resolve_search_file(self.environ, environment.VECTORS)
        )
        return DecisionMemory(
            self.ledger,
            self.clock,
            meaning,
            environment.resolve_search_file(self.environ, environment.INDEX),
        )

    @cached_property
    def access(self) -> "TokenStore":
        """Who may do what over the network."""
        from moothall.memory.tokens import TokenStore

        return TokenStore(self.ledger, self.clock)

    async def is_running(self, session: str) -> bool:
        """Whether any process runs the session now."""
        name = parse_session_id(session)
        # A process without an engine runs nothing itself, and need not build one to find out about others.
        return await (
            self.engine.is_running(name)
            if "engine" in vars(self)
            else is_claimed(self.ledger, name)
        )

    async def _explain_absence(self, session: SessionId) -> str:
        """Where a session is that was archived; empty if it was not."""
        from moothall.memory.register import explain_archived, open_head_register

        try:
            archived = (await open_head_register(self.ledger, self.clock).state()).archived.get(
                session
            )
        except LedgerDamaged:
            return ""
        return "" if archived is None else explain_archived(session, archived)


def _names_collector(environ: Mapping[str, str]) -> bool:
    """Whether the standard variables may name a collector of spans: what sends them is loaded only then."""
    return any(name.startswith("OTEL_EXPORTER_OTLP") for name in environ)


class SystemClock:
    """UTC that never runs backwards and never stands still: between jumps it follows the monotonic clock.

    A wall clock that is more than a minute ahead (the machine slept, or its clock was set) is followed; one that was set back is
    not.
    """

    def __init__(self) -> None:
        self._anchor = (datetime.now(UTC), time.monotonic())

    def now(self) -> datetime:
        wall, ticks = self._anchor
        steady = wall + timedelta(seconds=time.monotonic() - ticks)
        actual = datetime.now(UTC)
        if actual - steady > LEAP:
            self._anchor = (actual, time.monotonic())
            return actual
        return steady
