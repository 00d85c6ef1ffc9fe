"""Moot as a library: everything that the command line does, in Python."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from moothall.app.clock import SystemClock
from moothall.app.environment import (
    open_ledger,
    resolve_home,
    resolve_index_path,
    resolve_ledger_address,
    resolve_list_path,
    resolve_vectors_path,
    tighten_home,
)
from moothall.app.session_list import SessionLine, SessionList
from moothall.domain.budget import DEFAULT_TURNS, Budget
from moothall.domain.facts import OWNER_ORIGIN, Entry, Opened, SessionCancelled, SessionImported
from moothall.domain.ids import AskId, SessionId, is_register, parse_session_id
from moothall.domain.roster import Seat, Swap, swap_seats, validate_swaps
from moothall.errors import (
    BadImport,
    BadSetting,
    CallerError,
    LedgerDamaged,
    LedgerReadOnly,
    MootError,
    NotStarted,
    ProviderRefused,
    SessionClosed,
)
from moothall.ports.ledger import Ledger, is_claimed
from moothall.ports.telemetry import Telemetry

if TYPE_CHECKING:
    # A command imports what it uses, where it uses it: most of them neither open a session nor ask anybody.
    from moothall.app.discovery import DiscoveredPlatforms
    from moothall.app.opening import PlannedSession
    from moothall.app.parking import OnParked
    from moothall.app.seats import GivenParticipant, Seating
    from moothall.app.session_options import Options
    from moothall.engine.engine import Engine
    from moothall.engine.events import Event
    from moothall.engine.outside_answers import OutstandingAsk
    from moothall.engine.replay import ReplayResult
    from moothall.memory.decision_memory import DecisionMemory
    from moothall.memory.head_book import ArchivedSession
    from moothall.memory.search import SearchHit
    from moothall.memory.threads import ThreadView
    from moothall.memory.tokens import TokenStore
    from moothall.participants.human import AskPerson
    from moothall.ports.limits import ProviderLimits
    from moothall.ports.plugin import AnyPlugin
    from moothall.reports.decision import Decision

log = logging.getLogger("moot")

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of two sessions: the number of shared entries, and what each has after them."""

    shared: int
    left: tuple[Entry, ...]
    right: tuple[Entry, ...]


class Moot:
    """The library's main class. Use as an async context manager.

    `environ` stands for the process's environment (keys, MOOT_HOME, MOOT_LEDGER); `ask_person` puts questions to human seats.
    `participants` are the program's own, by the name that seats have as their platform: functions that take a brief and return
    the answer, objects with `respond` and `ready`, or `ParticipantKind`s. `ledger` is one that the program has opened itself.
    `limits` are those of providers, where they are shared with other processes. `telemetry` is what its work is counted and
    traced with.
    """

    def __init__(
        self,
        *,
        environ: Mapping[str, str] | None = None,
        ask_person: "AskPerson | None" = None,
        participants: "Mapping[str, GivenParticipant] | None" = None,
        ledger: Ledger | None = None,
        limits: "ProviderLimits | None" = None,
        telemetry: Telemetry | None = None,
    ) -> None:
        self.environ = dict(os.environ if environ is None else environ)
        # Kept until the first seat is filled: most commands fill none.
        self._ask_person = ask_person
        self._participants = participants
        self._ledger = ledger
        self._is_given = ledger is not None
        self._limits = limits
        self.telemetry = telemetry or Telemetry()
        self._stack = AsyncExitStack()
        self._clock = SystemClock()
        self._is_recalled = False
        self._remembering: dict[str, asyncio.Task[None]] = {}
        self._hurried = asyncio.Event()
        if participants:
            # A wrong name is refused here, where it is given.
            _ = self.seating

    async def __aenter__(self) -> Self:
        if self._ledger is None:
            self._ledger = await self._stack.enter_async_context(open_ledger(resolve_ledger_address(self.environ)))
            # Not before: a folder whose ledger is another program's file, or none, is left as it is.
            tighten_home(self.environ)
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._finish_remembering()
        if "_list" in vars(self):
            self._list.save()
        await self._stack.aclose()

    @cached_property
    def engine(self) -> "Engine":
        from moothall.app.protocols import find_kinds, find_rules
        from moothall.codec.stored import FactCodec
        from moothall.engine.engine import Engine

        codec = FactCodec({}, find_kinds=find_kinds)
        ledger = _require_started(self._ledger)
        return Engine(
            ledger=ledger,
            rulebooks=find_rules,
            codec=codec,
            clock=self._clock,
            explain_absence=self._explain_absence,
            telemetry=self.telemetry,
        )

    @property
    def ledger(self) -> Ledger:
        return _require_started(self._ledger)

    @property
    def clock(self) -> SystemClock:
        return self._clock

    @cached_property
    def seating(self) -> "Seating":
        """Who fills the seats."""
        from moothall.app.seats import Seating

        seating = Seating(resolve_home(self.environ), self.environ, self._ask_person, self._participants, self._limits)
        self._stack.push_async_callback(seating.aclose)
        return seating

    @cached_property
    def memory(self) -> "DecisionMemory":
        """What outlives sessions: decisions, outcomes, trust, threads, circuit breakers."""
        from moothall.memory.decision_memory import DecisionMemory
        from moothall.participants.meaning_index import build_meaning_index

        meaning = build_meaning_index(resolve_vectors_path(self.environ))
        return DecisionMemory(_require_started(self._ledger), self._clock, meaning, resolve_index_path(self.environ))

    @cached_property
    def _list(self) -> SessionList:
        # A ledger that the program has opened itself is not the one that the files in the home belong to.
        return SessionList(self, None if self._is_given else resolve_list_path(self.environ))

    @cached_property
    def access(self) -> "TokenStore":
        """Who may do what over the network."""
        from moothall.memory.tokens import TokenStore

        return TokenStore(_require_started(self._ledger), self._clock)

    async def discover(self) -> "DiscoveredPlatforms":
        """Return the platforms that are available without being named."""
        from moothall.app.discovery import discover_platforms

        return await discover_platforms(self.environ, self.seating)

    async def open(self, topic: str, **options: "Unpack[Options]") -> SessionId:
        """Open a session and return its id; nothing is recorded unless all checks of `plan_session` pass."""
        from moothall.app.opening import open_planned

        return await open_planned(self, await self.plan_session(topic, **options))

    async def plan_session(self, topic: str, **options: "Unpack[Options]") -> "PlannedSession":
        """What `open` would record, after all of its checks. Raises CallerError or ProviderRefused."""
        from moothall.app.opening import plan_session

        return await plan_session(self, topic, options)

    async def run(self, session: str, *, wait: bool | float = False, on_parked: "OnParked | None" = None) -> "Decision":
        """Run or resume a session until it ends, is parked by an outage, or waits only for outside seats; the decision so far.

        `wait=True` waits here for outside seats. A number of seconds waits as long for them and for the end of an outage;
        `on_parked` is told each time before it waits for that.
        """
        name = parse_session_id(session)
        if isinstance(wait, bool):
            snapshot = await self.engine.run(name, self.seating, wait_outside=wait)
        else:
            from moothall.app.parking import run_through_outages

            snapshot = await run_through_outages(self.engine, name, self.seating, seconds=wait, on_parked=on_parked)
        if snapshot.is_closed:
            await self.remember(session)
        return await self.decision(session)

    async def prepare_resume(self, session: str, *, swaps: Mapping[str, str] | None = None, check: bool = True) -> None:
        """Make the checks of `open` for a session that is to be resumed, then record the swaps of seats, if any.

        Raises CallerError or ProviderRefused before anything is recorded.
        """
        from moothall.app.consultations import select_asked_kinds

        name = parse_session_id(session)
        snapshot = await self.engine.load_snapshot(name)
        changes = self._build_swaps(swaps)
        if snapshot.is_closed:
            if changes:
                raise SessionClosed(f"session {session!r} has ended; continue a copy: moot fork {session} --swap SEAT=PLATFORM")
            return
        seats = swap_seats(snapshot.session_state.seats, validate_swaps(snapshot.session_state.seats, changes))
        opened = snapshot.session_state.opened
        forms = self.find_plugin(opened).rules.forms
        self.seating.check_scripts(seats, select_asked_kinds(forms))
        if check:
            try:
                await self.seating.check(seats, opened.language)
                await self.seating.check_search(forms)
            except ProviderRefused as cause:
                raise ProviderRefused(f"{cause}; or seat another participant: --swap SEAT=PLATFORM") from cause
        if changes:
            await self.engine.swap(name, changes)

    async def resume(
        self, session: str, *, swaps: Mapping[str, str] | None = None, check: bool = True, wait: bool | float = False
    ) -> "Decision":
        """Resume a session after the checks of `prepare_resume`, and run it as `run` does."""
        await self.prepare_resume(session, swaps=swaps, check=check)
        return await self.run(session, wait=wait)

    async def hold(self, topic: str, **options: "Unpack[Options]") -> "Decision":
        """Open a session and run it to its end."""
        return await self.run(await self.open(topic, **options))

    async def remember(self, session: str) -> None:
        """Add an ended session to decision memory; an existing record stays unchanged, and a demo is left out."""
        name = parse_session_id(session)
        # Nothing follows the end: whoever has just run the session need not read it again to know where it stands.
        snapshot = await self.engine.load_recent(name)
        if not snapshot.is_closed:
            snapshot = await self.engine.load_snapshot(name)
        if snapshot.session_state.opened.demo or isinstance(snapshot.session_state.closed, SessionCancelled | SessionImported):
            return
        from moothall.app.remember import build_decision_record

        plugin, timeline = await self._load_plugin_and_timeline(name)
        await self.memory.keep(build_decision_record(plugin, timeline, snapshot.hash))

    async def remember_if_possible(self, session: str) -> None:
        """Like `remember`, but a failure is only logged, and the next `recall` tries again: the session itself is unaffected."""
        self.remember_soon(session)
        # Not awaited itself: whoever stops waiting must not stop it.
        await asyncio.wait([self._remembering[session]])

    async def _try_to_remember(self, session: str, rest: float) -> None:
        if rest:
            with suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._hurried.wait()
        try:
            await self.remember(session)
        except MootError as error:
            self._is_recalled = False
            log.warning("session %s is not remembered yet: %s", session, error)

    def remember_soon(self, session: str, rest: float = 0.0) -> None:
        """Add an ended session to decision memory in the background: whoever gave the last answer need not wait for it.

        It begins after a `rest` of seconds, in which answers are sent, or as soon as somebody waits for it. Whatever `recall`
        returns has it, and closing waits for it; if the process dies first, the next one's `recall` adds it.
        """
        if session not in self._remembering:
            self._remembering[session] = asyncio.create_task(self._try_to_remember(session, rest))
            self._remembering[session].add_done_callback(lambda _: self._remembering.pop(session, None))

    async def _finish_remembering(self) -> None:
        self._hurried.set()
        while self._remembering:
            await asyncio.wait(self._remembering.values())
        self._hurried.clear()

    async def recall(self) -> "DecisionMemory":
        """Return decision memory, after adding every session that ended without being remembered because its process died.

        That search runs once: a live process remembers the sessions that it ends.
        """
        await self._finish_remembering()
        if not self._is_recalled:
            for line in await self.sessions():
                if line.status == "concluded" and not line.is_demo and not await self.memory.has(line.session):
                    try:
                        await self.remember(line.session)
                    except LedgerReadOnly:
                        # A copy that may only be read tells what it remembers.
                        break
                    except (LedgerDamaged, CallerError) as error:
                        # One unreadable session must not prevent the others from being remembered.
                        log.warning("session %s cannot be remembered: %s", line.session, error)
            self._is_recalled = True
        return self.memory

    async def find_similar(self, topic: str) -> "list[SearchHit]":
        """Return earlier decisions on a similar topic."""
        from moothall.app.validation import validate_topic

        hits = await self.memory.find_similar(validate_topic(topic))
        return [hit for hit in hits if (kept := await self.memory.get(hit.decision)) is not None and kept.record.text]

    async def decision(self, session: str) -> "Decision":
        """Return the current decision."""
        plugin, timeline = await self._load_plugin_and_timeline(session)
        return plugin.decision(timeline)

    def watch(self, session: str, after: int = 0) -> "AsyncIterator[Event]":
        """Yield entries as they are written, and text while it is produced if this process runs the session."""
        return self.engine.watch(parse_session_id(session), after)

    async def give_input(self, session: str, text: str, key: str = "") -> Entry | None:
        return await self.engine.give_input(parse_session_id(session), text, key)

    async def asks(self, session: str) -> "list[OutstandingAsk]":
        """Return the open asks."""
        return await self.engine.list_outstanding(parse_session_id(session))

    async def answer(self, session: str, ask: str, raw: object, key: str = "", *, via: str = "") -> Entry:
        """Answer for an outside seat: text, or the fields of the answer. The same `key` counts once; `via` is the door."""
        return await self.engine.answer(parse_session_id(session), AskId(ask), raw, key, via)

    async def mark_owner(self, session: str, seat: str, door: str) -> str:
        """The door of a word that an owner speaks for a seat: marked as the owner's if somebody else holds the seat's token."""
        return f"{OWNER_ORIGIN}{door}" if await self.access.is_invited(session, seat) else door

    async def is_running(self, session: str) -> bool:
        """Whether any process runs the session now."""
        name = parse_session_id(session)
        # A process without an engine runs nothing itself, and need not build one to find out about others.
        return await (self.engine.is_running(name) if "engine" in vars(self) else is_claimed(self.ledger, name))

    async def cancel(self, session: str, reason: str = "") -> Entry:
        return await self.engine.cancel(parse_session_id(session), reason)

    async def sessions(self) -> list[SessionLine]:
        """Return every session, the most recently active one last."""
        heads = [head for head in await _require_started(self._ledger).heads() if not is_register(head.session)]
        lines = [self._list.build_line(head) for head in heads]
        return sorted(lines, key=lambda line: (line.last_at, line.session))

    async def list_archived(self) -> "dict[SessionId, ArchivedSession]":
        """Return the sessions that went into archives, and where each is."""
        from moothall.ports.ledger_upkeep import LedgerUpkeep

        if not isinstance(self.ledger, LedgerUpkeep) or not (removed := set(await self.ledger.list_removed())):
            return {}
        from moothall.memory.head_book import open_head_register

        book = await open_head_register(self.ledger, self._clock).state()
        return {session: each for session, each in sorted(book.archived.items()) if session in removed}

    async def find_lines(self, sessions: Collection[SessionId]) -> list[SessionLine]:
        """Return these sessions as a list has them; those that do not exist are left out."""
        heads = [head for name in sorted(sessions) for head in await self.engine.heads(name) if head.session == name]
        return [self._list.build_line(head) for head in heads if not is_register(head.session)]

    async def load_lines(self, sessions: Collection[SessionId]) -> list[SessionLine]:
        """Return these sessions as a list has them, with their outcomes; those that do not exist are left out."""
        return await self.add_outcomes(await self.find_lines(sessions))

    async def search_sessions(self, query: str) -> list[SessionLine]:
        """Return the sessions whose topic fits a query by words or by meaning, the best first."""
        from moothall.app.topic_search import search_topics

        lines = {line.session: line for line in await self.sessions() if line.topic}
        found = await search_topics(self.environ, query, {name: (line.topic, "") for name, line in lines.items()})
        return [lines[SessionId(name)] for name in found]

    async def search_threads(self, query: str) -> "list[ThreadView]":
        """Return the threads whose title or questions fit a query, the best first."""
        from moothall.app.topic_search import search_topics

        views = {view.thread: view for view in await (await self.recall()).threads()}
        texts = {
            name: (view.title, "\n".join(each.text for each in (*view.open_questions, *view.settled_questions)))
            for name, view in views.items()
        }
        return [views[name] for name in await search_topics(self.environ, query, texts)]

    async def add_outcomes(self, lines: Sequence[SessionLine]) -> list[SessionLine]:
        """Return the lines with what was decided, and with where those stand that go on (M-9)."""
        return await self._list.add_outcomes(lines)

    async def export(self, session: str, form: str) -> str:
        """Render the session as `jsonl`, or in one of its protocol's forms; raises BadSetting."""
        return "".join([part async for part in self.stream_export(session, form)])

    async def stream_export(self, session: str, form: str = "jsonl") -> AsyncIterator[str]:
        """Yield the session as `export` renders it, in parts: the `jsonl` of a long one is never in memory as a whole."""
        name = parse_session_id(session)
        if form == "jsonl":
            from moothall.codec.export import dump_export_head, dump_export_lines

            yield dump_export_head(name)
            async for page in self.engine.read_pages(name):
                yield dump_export_lines(page)
            return
        plugin, timeline = await self._load_plugin_and_timeline(name)
        if form not in plugin.forms:
            raise BadSetting(f"a {plugin.name} session has no form {form!r}; it has: jsonl, {', '.join(plugin.forms)}")
        for part in plugin.iterate_export(timeline, form):
            yield part

    async def read_back(
        self, text: str, *, seats: Sequence[Seat] = (), name: str = "persona", session: str | None = None
    ) -> SessionId:
        """Import an export: `jsonl` under its own id, a context ledger as a new session; raises BadImport."""
        if text.lstrip().startswith('{"moot":'):
            return await self._restore_export(text)
        from moothall.app.protocols import get_protocol

        plugin = get_protocol(name)
        if plugin.read_back is None:
            raise BadImport(f"the protocol {plugin.name!r} can import only jsonl")
        imported = plugin.read_back(text, tuple(seats), Budget(turns=DEFAULT_TURNS))
        if imported.conclusion is None:
            self._check_platforms(imported.opened.seats)
        then = []
        if imported.conclusion is not None:
            then = [Entry(seq=2, at=datetime.now(UTC), fact=SessionImported(conclusion=imported.conclusion))]
        return await self.engine.open(imported.opened, parse_session_id(session) if session else None, then)

    async def replay(self, session: str) -> "ReplayResult":
        return await self.engine.replay(parse_session_id(session))

    async def verify(self, session: str) -> str | None:
        """Return what is wrong with a session: its hash chain, or entries that the register of heads has; None if nothing is."""
        from moothall.app.verification import LedgerVerifier

        name = parse_session_id(session)
        found = await LedgerVerifier(self.ledger, self._clock).verify_session(name)
        if found is None:
            raise await self.engine.build_unknown(name)
        return found.fault

    async def _explain_absence(self, session: SessionId) -> str:
        """Where a session is that was archived; empty if it was not."""
        from moothall.app.archive import explain_archived
        from moothall.memory.head_book import open_head_register

        try:
            archived = (await open_head_register(self.ledger, self._clock).state()).archived.get(session)
        except LedgerDamaged:
            return ""
        return "" if archived is None else explain_archived(session, archived)

    async def fork(
        self, session: str, *, at: int | None = None, swaps: Mapping[str, str] | None = None, name: str | None = None
    ) -> SessionId:
        """Create a session that continues from entry `at`, with some seats swapped.

        Default: the last before the close or, if the session ended without a decision because seats were lost, the last before
        those losses.
        """
        source = parse_session_id(session)
        if at is None:
            at = await self._find_fork_entry(source)
        changes = self._build_swaps(swaps)
        return await self.engine.fork(source, at, changes, parse_session_id(name) if name else None)

    async def _find_fork_entry(self, session: SessionId) -> int:
        plugin, timeline = await self._load_plugin_and_timeline(session)
        if timeline.closed is None:
            return int(timeline.seq)
        is_lost = timeline.lost_since and plugin.decision(timeline).decision is None
        return int(timeline.lost_since if is_lost and not isinstance(timeline.closed, SessionCancelled) else timeline.seq) - 1

    def _build_swaps(self, swaps: Mapping[str, str] | None) -> list[Swap]:
        from moothall.app.opening import refuse_demo_seats
        from moothall.app.panels import parse_seat_word

        seats = [parse_seat_word(f"{seat}={platform}") for seat, platform in (swaps or {}).items()]
        refuse_demo_seats(seat.platform for seat in seats)
        for seat in seats:
            # Fails for an unknown platform before anything is recorded.
            self.seating(seat)
        return [Swap(seat=seat.id, platform=seat.platform) for seat in seats]

    async def diff(self, left: str, right: str) -> Difference:
        """Compare two sessions."""
        ones = [self.engine.entry(record) for record in await self.engine.records(parse_session_id(left))]
        others = [self.engine.entry(record) for record in await self.engine.records(parse_session_id(right))]
        shared = 0
        while shared < min(len(ones), len(others)) and ones[shared].fact == others[shared].fact:
            shared += 1
        return Difference(shared=shared, left=tuple(ones[shared:]), right=tuple(others[shared:]))

    async def load_timeline(self, session: str) -> Any:
        """Return the timeline of a session."""
        return (await self._load_plugin_and_timeline(session))[1]

    async def load_plugin(self, session: str) -> "AnyPlugin":
        """Return the protocol of a session; raises UnknownSession."""
        return self.find_plugin((await self.engine.load_snapshot(parse_session_id(session))).session_state.opened)

    async def _load_plugin_and_timeline(self, session: str) -> "tuple[AnyPlugin, Any]":
        from moothall.codec.chain import compute_root_hash, validate_chain

        name = parse_session_id(session)
        after, before = 0, compute_root_hash(name)
        plugin: AnyPlugin | None = None
        timeline: Any = None
        async for page in self.engine.read_pages(name):
            # What people read is verified first: text that was changed afterwards is nobody's statement.
            validate_chain(name, page, after, before)
            after, before = page[-1].seq, page[-1].hash
            for entry in map(self.engine.entry, page):
                if plugin is None:
                    assert isinstance(entry.fact, Opened)
                    plugin = self.find_plugin(entry.fact)
                    timeline = plugin.timeline(name)
                timeline.add(entry)
        assert plugin is not None
        await self.add_settlements(timeline)
        return plugin, timeline

    async def add_settlements(self, timeline: Any) -> None:
        """Add what became of a decision's obligations: memory has it, the session does not."""
        from moothall.memory.obligations import list_obligations
        from moothall.protocols.consultation.timeline import unwrap_timeline
        from moothall.protocols.council.timeline import CouncilTimeline, build_obligations

        inner = unwrap_timeline(timeline)
        if not isinstance(inner, CouncilTimeline) or not build_obligations(inner):
            return
        kept = await self.memory.get(inner.session)
        inner.settled = {} if kept is None else {each.number: each.state for each in list_obligations(kept)}

    def _check_platforms(self, seats: Sequence[Seat]) -> None:
        """Raise BadImport if a seat could not continue."""
        for seat in seats:
            try:
                self.seating(seat)
            except CallerError as cause:
                raise BadImport(f"{cause}; name a participant for every seat: --seat {seat.id}=PLATFORM") from cause

    def find_plugin(self, opened: Opened) -> "AnyPlugin":
        from moothall.app.protocols import find_plugin

        return find_plugin(opened)

    async def _restore_export(self, text: str) -> SessionId:
        from moothall.codec.export import parse_export

        session, records = parse_export(text)
        await self.engine.restore(session, records)
        return session


def _require_started(part: T | None) -> T:
    if part is None:
        raise NotStarted("this Moot was not started; use it as `async with Moot() as moot: …`, or call `moot.hold(topic, …)`")
    return part
