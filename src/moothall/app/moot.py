"""Moot as a library: everything that the command line does, in Python; also from code that is not async."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from types import TracebackType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, Unpack, overload

from moothall.app.environment import LIST, resolve_search_file
from moothall.app.remembering import Remembering
from moothall.app.resources import GivenResources, Resources
from moothall.app.session_list import SessionLine, SessionList
from moothall.domain.facts import Entry
from moothall.domain.ids import AskId, SessionId, parse_session_id
from moothall.domain.roster import Seat
from moothall.errors import BadSetting

T = TypeVar("T")

if TYPE_CHECKING:
    # A command imports what it uses, where it uses it: most of them neither open a session nor ask a participant.
    from moothall.app.held_sessions import SessionPlan
    from moothall.app.opening import PlannedSession
    from moothall.app.outages import OnParked
    from moothall.app.recurring import RepeatedAnswer
    from moothall.app.requirement import Worth
    from moothall.app.session_options import Options
    from moothall.app.typed_decisions import TypedDecision
    from moothall.engine.context import Event
    from moothall.engine.engine import Engine
    from moothall.engine.outside_answers import OutstandingAsk
    from moothall.engine.snapshot import ReplayResult
    from moothall.memory.decision_memory import DecisionMemory
    from moothall.ports.plugin import AnyPlugin
    from moothall.reports.decision import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference of two sessions."""

    shared: int
    """The number of entries that both begin with."""
    left: tuple[Entry, ...]
    right: tuple[Entry, ...]


def check_argument(name: str, value: object, kind: "type | UnionType") -> None:
    """Raise BadSetting for an argument of another type: what a caller mixed up is said where it was given."""
    if not isinstance(value, kind):
        expected = getattr(kind, "__name__", str(kind))
        raise BadSetting(f"{name} = {repr(value)[:60]} is not of the type {expected}")


class Moot(Resources):
    """The library's main class: what its use cases work with, and the use cases. Use as an async context manager."""

    def __init__(self, **given: "Unpack[GivenResources]") -> None:
        super().__init__(**given)
        # The files in the home belong to the ledger there, not to one that the program has opened itself.
        self.session_list = SessionList(
            self, None if self.is_ledger_given else resolve_search_file(self.environ, LIST)
        )
        """The sessions as lists show them: all, some, those that fit a query, each with its outcome."""
        self.remembering = Remembering(self, self.session_list)
        """Adds ended sessions to memory, and searches what is remembered."""

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.remembering.finish()
        self.session_list.save()
        await self._close()

    async def open(self, topic: str, **options: "Unpack[Options]") -> SessionId:
        """Open a session and return its id; nothing is recorded unless all checks of `plan_session` pass."""
        from moothall.app.opening import open_planned

        return await open_planned(self, await self.plan_session(topic, **options))

    async def plan_session(self, topic: str, **options: "Unpack[Options]") -> "PlannedSession":
        """What `open` would record, after all of its checks. Raises CallerError or ProviderRefused."""
        from moothall.app.opening import plan_session

        check_argument("topic", topic, str)
        return await plan_session(self, self.remembering, topic, options)

    async def run(
        self, session: str, *, wait: bool | float = False, on_parked: "OnParked | None" = None
    ) -> "Decision":
        """Run or resume a session until it ends, is parked by an outage, or waits only for outside seats; the decision so far.

        `wait=True` waits here for outside seats. A number of seconds waits as long for them and for the end of an outage;
        `on_parked` is called each time before it waits for that.
        """
        name = parse_session_id(session)
        check_argument("wait", wait, int | float)
        if isinstance(wait, bool):
            snapshot = await self.engine.run(name, self.seating, wait_outside=wait)
        else:
            from moothall.app.outages import run_through_outages

            snapshot = await run_through_outages(
                self.engine, name, self.seating, seconds=wait, on_parked=on_parked
            )
        if snapshot.is_closed:
            await self.remembering.remember(session)
        return await self.decision(session)

    async def prepare_resume(
        self, session: str, *, swaps: Mapping[str, str] | None = None, check: bool = True
    ) -> None:
        """Make the checks of `open` for a session that is to be resumed, then record the swaps of seats, if any.

        Raises CallerError or ProviderRefused before anything is recorded.
        """
        from moothall.app.opening import prepare_resume

        check_argument("swaps", swaps, Mapping | None)
        await prepare_resume(self, session, swaps or {}, check=check)

    async def resume(
        self,
        session: str,
        *,
        swaps: Mapping[str, str] | None = None,
        check: bool = True,
        wait: bool | float = False,
    ) -> "Decision":
        """Resume a session after the checks of `prepare_resume`, and run it as `run` does."""
        await self.prepare_resume(session, swaps=swaps, check=check)
        return await self.run(session, wait=wait)

    @overload
    async def hold(
        self,
        topic: str,
        *,
        require: str | Sequence[str] = (),
        require_worth: "Worth" = "fair",
        output_type: None = None,
        dry_run: Literal[False] = False,
        **options: "Unpack[Options]",
    ) -> "Decision": ...

    @overload
    async def hold(
        self,
        topic: str,
        *,
        require: str | Sequence[str] = (),
        require_worth: "Worth" = "fair",
        output_type: None = None,
        dry_run: Literal[True],
        **options: "Unpack[Options]",
    ) -> "SessionPlan": ...

    @overload
    async def hold(
        self,
        topic: str,
        *,
        require: str | Sequence[str] = (),
        require_worth: "Worth" = "fair",
        output_type: type[T],
        dry_run: Literal[False] = False,
        **options: "Unpack[Options]",
    ) -> "TypedDecision[T]": ...

    async def hold(
        self,
        topic: str,
        *,
        require: str | Sequence[str] = (),
        require_worth: "Worth" = "fair",
        output_type: type[Any] | None = None,
        dry_run: bool = False,
        **options: "Unpack[Options]",
    ) -> "Decision | SessionPlan | TypedDecision[Any]":
        """Open a session and run it to its end.

        With `require` the decision has a `gate`: whether one of these choices was decided, and is worth at least `require_worth`.
        With an `output_type` (a pydantic model or a dataclass) a model of the session fills it from the decision. With `dry_run`
        nobody is asked and nothing is recorded: the plan says who would sit and what it would cost.
        """
        from moothall.app import held_sessions
        from moothall.app.opening import open_planned
        from moothall.app.session_options import validate_options

        check_argument("topic", topic, str)
        if dry_run:
            if output_type is not None:
                raise BadSetting(
                    "dry_run: nothing is decided, so that there is no output_type to fill"
                )
            # A plan needs no key: nobody is asked.
            options["check"] = False
        prepared = await held_sessions.prepare_hold(
            self,
            self.remembering,
            topic,
            validate_options(options),
            require=require,
            require_worth=require_worth,
            output_type=output_type,
        )
        if dry_run:
            return held_sessions.build_session_plan(self, prepared.planned)
        session = await open_planned(self, prepared.planned)
        decision = await self.run(session)
        return await held_sessions.finish_hold(self, decision, prepared)

    async def again(
        self,
        session: str,
        *,
        wait: bool | float = False,
        require: str | Sequence[str] = (),
        require_worth: "Worth" = "fair",
    ) -> "RepeatedAnswer":
        """Ask the question of a session again: the same seats, options and files, and nobody knows the former answer.

        What was cut short goes on. With `require` the latest decision has a `gate`, as from `hold`.
        """
        from moothall.app.recurring import RepeatedAnswer, open_again
        from moothall.app.requirement import add_gate, build_requirement, check_required

        required = build_requirement(require, require_worth)
        check_required(required)
        asked = await open_again(self, session)
        latest = add_gate(await self.run(asked.session, wait=wait), required)
        return RepeatedAnswer(latest=latest, former=await self.decision(asked.former))

    async def recall(self) -> "DecisionMemory":
        """Return decision memory, after adding every session that ended without being remembered because its process died."""
        return await self.remembering.recall()

    async def decision(self, session: str) -> "Decision":
        """Return the current decision."""
        from moothall.app.session_reader import read_session

        return (await read_session(self, session)).decide()

    async def load_timeline(self, session: str) -> Any:
        """Return the timeline of a session."""
        from moothall.app.session_reader import read_session

        return (await read_session(self, session)).timeline

    async def load_plugin(self, session: str) -> "AnyPlugin":
        """Return the protocol of a session; raises UnknownSession."""
        from moothall.app.protocols import find_plugin

        return find_plugin(
            (await self.engine.load_snapshot(parse_session_id(session))).session_state.opened
        )

    def watch(self, session: str, after: int = 0) -> "AsyncIterator[Event]":
        """Yield entries as they are written, and text while it is produced if this process runs the session."""
        check_argument("after", after, int)
        return self.engine.watch(parse_session_id(session), after)

    async def give_input(self, session: str, text: str, key: str = "") -> Entry | None:
        check_argument("text", text, str)
        check_argument("key", key, str)
        return await self.engine.give_input(parse_session_id(session), text, key)

    async def asks(self, session: str) -> "list[OutstandingAsk]":
        """Return the open asks."""
        return await self.engine.list_outstanding(parse_session_id(session))

    async def answer(
        self, session: str, ask: str, raw: object, key: str = "", *, via: str = ""
    ) -> Entry:
        """Answer for an outside seat: text, or the fields of the answer. The same `key` counts once; `via` is the door."""
        check_argument("ask", ask, str)
        check_argument("key", key, str)
        return await self.engine.answer(parse_session_id(session), AskId(ask), raw, key, via)

    async def cancel(self, session: str, reason: str = "") -> Entry:
        check_argument("reason", reason, str)
        return await self.engine.cancel(parse_session_id(session), reason)

    async def sessions(self) -> list[SessionLine]:
        """Return every session, the most recently active one last."""
        return await self.session_list.load()

    async def export(self, session: str, form: str) -> str:
        """Render the session as `jsonl`, or in one of its protocol's forms; raises BadSetting."""
        return "".join([part async for part in self.stream_export(session, form)])

    def stream_export(self, session: str, form: str = "jsonl") -> AsyncIterator[str]:
        """Yield the session as `export` renders it, in parts."""
        from moothall.app.session_reader import stream_export

        return stream_export(self, session, form)

    async def read_back(
        self,
        text: str,
        *,
        seats: Sequence[Seat] = (),
        name: str = "persona",
        session: str | None = None,
        is_adopted: bool = False,
    ) -> SessionId:
        """Import an export: `jsonl` under its own id, a context ledger as a new session; raises BadImport.

        What a `jsonl` decided counts here as a precedent and in track records only if it `is_adopted`.
        """
        from moothall.app.opening import read_back

        check_argument("text", text, str)
        check_argument("seats", seats, Sequence)
        check_argument("name", name, str)
        return await read_back(self, text, seats, name, session, is_adopted=is_adopted)

    async def replay(self, session: str) -> "ReplayResult":
        return await self.engine.replay(parse_session_id(session))

    async def verify(self, session: str) -> str | None:
        """Return what is wrong with a session: its hash chain, or entries that the register of heads has; None if nothing is."""
        from moothall.app.verification import LedgerVerifier

        return (
            await LedgerVerifier(self.ledger, self.clock).verify_named(
                self.engine, parse_session_id(session)
            )
        ).fault

    async def fork(
        self,
        session: str,
        *,
        at: int | None = None,
        swaps: Mapping[str, str] | None = None,
        name: str | None = None,
    ) -> SessionId:
        """Create a session that continues from entry `at`, with some seats swapped.

        Default: the last before the close or, if the session ended without a decision because seats were lost, the last before
        those losses.
        """
        from moothall.app.opening import build_swaps

        check_argument("at", at, int | None)
        check_argument("swaps", swaps, Mapping | None)
        source = parse_session_id(session)
        if at is None:
            from moothall.app.session_reader import find_fork_entry

            at = await find_fork_entry(self, source)
        changes = build_swaps(self.seating, swaps or {})
        return await self.engine.fork(source, at, changes, parse_session_id(name) if name else None)

    async def diff(self, left: str, right: str) -> Difference:
        """Compare two sessions."""
        ones = await _list_entries(self.engine, left)
        others = await _list_entries(self.engine, right)
        shared = 0
        for one, other in zip(ones, others, strict=False):
            if one.fact != other.fact:
                break
            shared += 1
        return Difference(shared=shared, left=tuple(ones[shared:]), right=tuple(others[shared:]))


async def _list_entries(engine: "Engine", session: str) -> list[Entry]:
    records = await engine.records(parse_session_id(session))
    return [engine.entry(record) for record in records]


def run_blocking(work: Callable[[], Awaitable[T]]) -> T:
    """What the coroutine returns, or what it raises. Ctrl-C cancels it and waits until it has cleaned up."""

    async def run() -> T:
        return await work()

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(run())
    return _run_in_thread(run)


def _run_in_thread(run: Callable[[], Awaitable[T]]) -> T:
    # A loop cannot be entered twice: a notebook's own loop is busy with the cell that calls us, so another thread gets one.
    done: Future[T] = Future()
    started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = Future()

    async def main() -> None:
        task = asyncio.current_task()
        assert task is not None
        started.set_result((asyncio.get_running_loop(), task))
        try:
            done.set_result(await run())
        except BaseException as error:  # noqa: BLE001 - handed over to the thread that waits
            done.set_exception(error)

    context = contextvars.copy_context()
    thread = threading.Thread(
        target=lambda: context.run(asyncio.run, main()), name="moot", daemon=True
    )
    thread.start()
    try:
        return done.result()
    except BaseException:
        if not done.done():
            loop, task = started.result()
            loop.call_soon_threadsafe(task.cancel)
        raise
    finally:
        thread.join()
