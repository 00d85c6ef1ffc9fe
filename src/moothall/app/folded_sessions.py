"""Sessions as views need them: the protocol, the snapshot and the timeline after an entry, each entry read and folded once.

One instance serves all viewers of a process (W-9): however many look at a session, an entry costs one read of the ledger.
"""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakValueDictionary

from moothall.app.moot import Moot
from moothall.domain.facts import Entry
from moothall.domain.ids import SessionId
from moothall.engine.snapshot import Snapshot
from moothall.errors import BadSetting
from moothall.ports.plugin import AnyPlugin
from moothall.reports.outline import OutlineCache

PAGE: Final = 200
MAX_LIVE: Final = 64
MAX_PAST: Final = 8
"""How many folds up to an earlier entry are kept: going forward from one costs only what lies between."""


@dataclass(slots=True)
class FoldedSession:
    """A session after an entry. `timeline` is changed in place when it is folded on: read it before the next await."""

    plugin: AnyPlugin
    snapshot: Snapshot
    timeline: Any
    outline: OutlineCache = field(default_factory=OutlineCache)

    @property
    def seq(self) -> int:
        return self.snapshot.seq

    def add(self, snapshot: Snapshot, entries: list[Entry]) -> None:
        for entry in entries:
            self.timeline.add(entry)
        self.snapshot = snapshot


class FoldedSessions:
    """The sessions that somebody looked at last, as they stand and as they stood."""

    def __init__(self, moot: Moot) -> None:
        self._moot = moot
        self._live: OrderedDict[SessionId, FoldedSession] = OrderedDict()
        self._past: OrderedDict[SessionId, FoldedSession] = OrderedDict()
        self._locks: WeakValueDictionary[SessionId, asyncio.Lock] = WeakValueDictionary()

    async def load(self, session: SessionId) -> FoldedSession:
        """Return a session as it stands; folds only what is new. Raises UnknownSession, LedgerDamaged."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            return await self._load(session)

    def get_recent(self, session: SessionId) -> FoldedSession | None:
        """Return a session as it was last loaded, without a look at the ledger."""
        return self._live.get(session)

    async def load_at(self, session: SessionId, at: int) -> FoldedSession:
        """Return a session as it stood after an entry; raises BadSetting for an entry that it does not have."""
        async with self._locks.setdefault(session, asyncio.Lock()):
            live = self._live.get(session)
            if live is None or live.seq <= at:
                live = await self._load(session)
            if not 1 <= at <= live.seq:
                raise BadSetting(f"entry {at} does not exist in {session!r}; it has 1 to {live.seq}")
            if at == live.seq:
                return live
            past = self._past.pop(session, None)
            if past is None or past.seq > at:
                past = None
            past = await self._read_on(session, past, at)
            self._past[session] = past
            if len(self._past) > MAX_PAST:
                self._past.popitem(last=False)
            return past

    async def _load(self, session: SessionId) -> FoldedSession:
        known = self._live.pop(session, None)
        found = await self._read_on(session, known, None)
        self._live[session] = found
        if len(self._live) > MAX_LIVE:
            self._live.popitem(last=False)
        if found.timeline.closed is not None:
            await self._moot.add_settlements(found.timeline)
        return found

    async def _read_on(self, session: SessionId, known: FoldedSession | None, until: int | None) -> FoldedSession:
        """Read and fold page by page, so that a long session does not hold up the others; what is new is mostly one page."""
        while True:
            limit = PAGE if until is None else min(PAGE, until - (known.seq if known else 0))
            snapshot, entries = await self._moot.engine.read_on(session, known.snapshot if known else None, limit)
            known = self._fold(known, snapshot, entries)
            if len(entries) < PAGE or known.seq == until:
                return known
            await asyncio.sleep(0)

    def _fold(self, known: FoldedSession | None, snapshot: Snapshot, entries: list[Entry]) -> FoldedSession:
        if known is None:
            plugin = self._moot.find_plugin(snapshot.session_state.opened)
            known = FoldedSession(plugin, snapshot, plugin.timeline(snapshot.session))
        known.add(snapshot, entries)
        return known
