"""Adds the sessions that have ended to decision memory: at once, in the background, or when a process died before it could."""

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from moothall.app.environment import VECTORS, resolve_search_file
from moothall.app.resources import Resources
from moothall.app.session_list import SessionList
from moothall.domain.facts import SessionCancelled, SessionImported
from moothall.domain.ids import parse_session_id
from moothall.domain.roster import UNREMEMBERED
from moothall.errors import CallerError, LedgerDamaged, LedgerReadOnly, MootError

if TYPE_CHECKING:
    from moothall.memory.decision_memory import DecisionMemory
    from moothall.memory.search import SearchHit
    from moothall.memory.threads import ThreadView

IMPORTED: Final = "imported"
"""The tag of a decision that was taken elsewhere and adopted here."""

log = logging.getLogger("moot")


class Remembering:
    """What connects the sessions of one ledger with its memory."""

    def __init__(self, resources: Resources, sessions: SessionList) -> None:
        self._resources = resources
        self._sessions = sessions
        self._is_recalled = False
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._hurried = asyncio.Event()

    async def remember(self, session: str) -> None:
        """Add an ended session to decision memory; an existing record stays unchanged.

        Demos, meetings of the embedded model alone, and imports that nobody adopted are left out. One that ended undecided is
        stored for its thread and its open questions; nothing lists it or tells it as a decision.
        """
        name, engine = parse_session_id(session), self._resources.engine
        # Nothing follows the end: a process that has just run the session need not read it again to know where it stands.
        snapshot = await engine.load_recent(name)
        if not snapshot.is_closed:
            snapshot = await engine.load_snapshot(name)
        if snapshot.session_state.stand_in in UNREMEMBERED:
            return
        if isinstance(snapshot.session_state.closed, SessionCancelled | SessionImported):
            return
        note = await self._resources.memory.get_import(name)
        if note is not None and not note.is_adopted:
            return
        from moothall.app.decision_records import build_decision_record
        from moothall.app.session_reader import read_session

        plugin, timeline = await read_session(self._resources, name)
        record = build_decision_record(plugin, timeline, snapshot.hash)
        await self._resources.memory.keep(
            record if note is None else replace(record, tags=(*record.tags, IMPORTED))
        )

    async def remember_if_possible(self, session: str) -> None:
        """Like `remember`, but a failure is only logged, and the next `recall` tries again: the session itself is unaffected."""
        self.remember_soon(session)
        # Not awaited itself: a caller that stops waiting must not stop it.
        await asyncio.wait([self._tasks[session]])

    def remember_soon(self, session: str, rest: float = 0.0) -> None:
        """Add an ended session to decision memory in the background: the caller who gave the last answer need not wait for it.

        It begins after a `rest` of seconds, in which answers are sent, or as soon as a caller waits for it. Whatever `recall`
        returns has it, and closing waits for it; if the process dies first, the next one's `recall` adds it.
        """
        if session not in self._tasks:
            self._tasks[session] = asyncio.create_task(self._try_to_remember(session, rest))
            self._tasks[session].add_done_callback(lambda _: self._tasks.pop(session, None))

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

    async def finish(self) -> None:
        """Wait until every session that is being remembered is."""
        self._hurried.set()
        while self._tasks:
            await asyncio.wait(self._tasks.values())
        self._hurried.clear()

    async def recall(self) -> "DecisionMemory":
        """Return decision memory, after adding every session that ended without being remembered because its process died.

        That search runs once: a live process remembers the sessions that it ends.
        """
        await self.finish()
        memory = self._resources.memory
        if not self._is_recalled:
            for line in await self._sessions.load():
                if (
                    line.status == "concluded"
                    and not line.is_demo
                    and await memory.get(line.session) is None
                ):
                    try:
                        await self.remember(line.session)
                    except LedgerReadOnly:
                        # A copy that may only be read tells what it remembers.
                        break
                    except (LedgerDamaged, CallerError) as error:
                        # One unreadable session must not prevent the others from being remembered.
                        log.warning("session %s cannot be remembered: %s", line.session, error)
            self._is_recalled = True
        return memory

    async def find_similar(self, topic: str) -> "list[SearchHit]":
        from moothall.domain.topic import validate_topic

        return await self._resources.memory.find_similar(validate_topic(topic))

    async def search_threads(self, query: str) -> "list[ThreadView]":
        """Return the threads whose title or questions fit a query, the best first."""
        from moothall.app.topic_index import TopicIndex

        views = {view.thread: view for view in await (await self.recall()).threads()}
        texts = {
            name: (
                view.title,
                "\n".join(each.text for each in (*view.open_questions, *view.settled_questions)),
            )
            for name, view in views.items()
        }
        # Made anew: threads are few, and their questions change.
        index = TopicIndex(resolve_search_file(self._resources.environ, VECTORS))
        return [views[name] for name in await index.rank(query, texts)]
