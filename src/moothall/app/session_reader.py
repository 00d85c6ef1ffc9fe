"""Reads whole sessions: the protocol and the timeline that decisions, reports, exports and views are made of.

One `FoldedSessions` serves all viewers of a process (W-9): however many look at a session, an entry costs one read of the ledger.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, NamedTuple
from weakref import WeakValueDictionary

from moothall.app.environment import resolve_home
from moothall.app.protocols import find_plugin
from moothall.app.reading_threads import run_on_own_thread
from moothall.app.resources import Resources
from moothall.codec.chain import compute_root_hash, validate_chain
from moothall.domain.dictionaries import BoundedDict
from moothall.domain.facts import Entry, Language, Opened, SessionCancelled
from moothall.domain.ids import SessionId, find_asked_seat, parse_session_id
from moothall.domain.records import StoredRecord
from moothall.engine.snapshot import Snapshot
from moothall.errors import BadSetting
from moothall.locale.catalogues import SHARED_REPORT
from moothall.ports.plugin import AnyPlugin
from moothall.reports.decision import Decision
from moothall.reports.outline import OutlineCache
from moothall.reports.quotations import check_lines, has_unchecked
from moothall.reports.timeline import SessionTimeline
from moothall.scoring.reliability import name_agreement

PAGE: Final = 200
MAX_LIVE: Final = 64
MAX_PAST: Final = 8
"""How many folds up to an earlier entry are cached: going forward from one costs only what lies between."""


class ReadSession(NamedTuple):
    plugin: AnyPlugin
    timeline: Any

    def decide(self) -> Decision:
        """Return the decision so far, with why each seat was lost; not while seats write blind: it may quote them."""
        decision, timeline = self.plugin.decision(self.timeline), self.timeline
        why = {}
        if not timeline.shared_state.is_sealed:
            why = {loss.seat: str(loss.cause) for loss in timeline.losses}
        asked = set()
        if timeline.closed is None:
            asked = {find_asked_seat(ask) for ask in timeline.session_state.pending}
        lost = tuple(replace(each, why=why.get(each.seat, "")) for each in decision.lost)
        note = ""
        if decision.no_confidence is not None:
            note = SHARED_REPORT[timeline.language].no_figures[decision.no_confidence]
        return replace(
            decision,
            lost=lost,
            cursor=timeline.seq,
            waiting_for=tuple(sorted(asked)),
            no_confidence_note=note,
        )


async def read_session(resources: Resources, session: str) -> ReadSession:
    """Return the protocol and the timeline of a session. Raises UnknownSession, and LedgerDamaged when its chain is broken."""
    name = parse_session_id(session)
    after, before = 0, compute_root_hash(name)
    plugin: AnyPlugin | None = None
    timeline: Any = None
    async for page in resources.engine.read_pages(name):
        # What people read is verified first: text that was changed afterwards is nobody's statement.
        validate_chain(name, page, after, before)
        after, before = page[-1].seq, page[-1].hash
        for entry in map(resources.engine.entry, page):
            if plugin is None:
                assert isinstance(entry.fact, Opened)
                plugin = find_plugin(entry.fact)
                timeline = plugin.timeline(name)
            timeline.add(entry)
    assert plugin is not None
    await check_quoted_lines(timeline)
    await add_memory(resources, plugin, timeline)
    return ReadSession(plugin, timeline)


async def check_quoted_lines(timeline: SessionTimeline) -> None:
    """Look for what was quoted on a thread: the files may be long, and reports and views are built in the event loop.

    The timeline must not change meanwhile.
    """
    if has_unchecked(timeline):
        await run_on_own_thread(partial(check_lines, timeline))


async def add_memory(resources: Resources, plugin: AnyPlugin, timeline: Any) -> None:
    """Add what memory knows and the session does not: what became of a decision's obligations, how decisions like it fared."""
    from moothall.memory.remembered_decision import list_obligations

    # Once for all who load it: when a meeting of many ends, each of them asks for its result.
    decide = partial(
        timeline.build_once, "decided", (timeline.seq,), partial(plugin.decision, timeline)
    )
    if timeline.closed is None or (decided := decide()).decision is None:
        return
    if decided.confidence is not None and not timeline.session_state.stand_in:
        agreement = name_agreement(decided.agreement, decided.consensus_type)
        reliability = await resources.memory.reliability()
        timeline.track_record = reliability.count_alike(plugin.name, agreement)
    timeline.settled = {}
    if decided.obligations or decided.review_on:
        decision = await resources.memory.get(timeline.session)
        if decision is not None:
            timeline.is_reviewed = bool(decision.reviews)
            timeline.settled = {each.number: each.state for each in list_obligations(decision)}


async def find_fork_entry(resources: Resources, session: SessionId) -> int:
    """The entry that a fork continues from by default: the last before the close, or before the losses that caused it."""
    plugin, timeline = await read_session(resources, session)
    if timeline.closed is None:
        return int(timeline.seq)
    is_lost = timeline.lost_since and plugin.decision(timeline).decision is None
    if is_lost and not isinstance(timeline.closed, SessionCancelled):
        return int(timeline.lost_since) - 1
    return int(timeline.seq) - 1


async def stream_export(resources: Resources, session: str, form: str) -> AsyncIterator[str]:
    """Yield a session in one of its forms, in parts: the `jsonl` of a long one is never in memory as a whole.

    Raises BadSetting when its protocol does not have the form.
    """
    name = parse_session_id(session)
    if form == "jsonl":
        from moothall.app.verification import sign_export
        from moothall.codec.chain import dump_export_head, dump_export_lines, dump_export_text

        end = await _find_end(resources, name)
        if end is None:
            raise await resources.engine.build_unknown(name)
        yield dump_export_head(sign_export(resolve_home(resources.environ), name, end))
        texts: dict[str, str] = {}
        async for page in resources.engine.read_pages(name):
            texts = texts or resources.engine.list_texts(page[0])
            # What was written meanwhile is not covered by the first line.
            yield dump_export_lines(each for each in page if each.seq <= end.seq)
        for digest, text in texts.items():
            yield dump_export_text(digest, text)
        return
    plugin, timeline = await read_session(resources, name)
    if form == "minutes":
        yield await describe_import(resources, name, timeline.language)
    if form not in plugin.forms:
        known = ", ".join(["jsonl", *plugin.forms]).replace("minutes", "minutes (Markdown)")
        raise BadSetting(f"a {plugin.name} session has no form {form!r}; it has: {known}")
    for part in plugin.iterate_export(timeline, form):
        yield part


async def describe_import(resources: Resources, name: SessionId, language: Language) -> str:
    """Return the first lines of the minutes of a session that was imported: when, and signed by whom; "" for any other."""
    if not await resources.may_remember("memory.import_noted", name):
        return ""
    note = await resources.memory.get_import(name)
    if note is None:
        return ""
    words = SHARED_REPORT[language].imported
    return f"> {words.format(on=f'{note.at:%Y-%m-%d}', source=note.source)}\n\n"


async def _find_end(resources: Resources, name: SessionId) -> StoredRecord | None:
    """The last record of a session; None where there is no such session."""
    # A ledger lists all sessions whose ids begin with the name.
    for head in await resources.ledger.heads(name):
        if head.session == name:
            return head.last
    return None


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
    """The sessions that were read last, as they stand and as they stood."""

    def __init__(self, resources: Resources) -> None:
        self._resources = resources
        self._live: BoundedDict[SessionId, FoldedSession] = BoundedDict(MAX_LIVE)
        self._past: BoundedDict[SessionId, FoldedSession] = BoundedDict(MAX_PAST)
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
                raise BadSetting(
                    f"entry {at} does not exist in {session!r}; it has 1 to {live.seq}"
                )
            if at == live.seq:
                return live
            past = self._past.pop(session, None)
            if past is not None and past.seq > at:
                past = None
            past = await self._read_on(session, past, at)
            self._past[session] = past
            return past

    async def _load(self, session: SessionId) -> FoldedSession:
        folded = await self._read_on(session, self._live.pop(session, None), None)
        self._live[session] = folded
        self._resources.engine.offer_snapshot(folded.snapshot)
        if folded.timeline.closed is not None:
            await add_memory(self._resources, folded.plugin, folded.timeline)
        return folded

    async def _read_on(
        self, session: SessionId, known: FoldedSession | None, until: int | None
    ) -> FoldedSession:
        """Read and fold page by page, so that a long session does not hold up the others; what is new is mostly one page."""
        while True:
            snapshot, seq = None, 0
            if known is not None:
                snapshot, seq = known.snapshot, known.seq
            limit = PAGE
            if until is not None:
                limit = min(PAGE, until - seq)
            snapshot, entries = await self._resources.engine.read_on(session, snapshot, limit)
            if known is None:
                plugin = find_plugin(snapshot.session_state.opened)
                known = FoldedSession(plugin, snapshot, plugin.timeline(snapshot.session))
            known.add(snapshot, entries)
            if len(entries) < PAGE or known.seq == until:
                await check_quoted_lines(known.timeline)
                return known
            await asyncio.sleep(0)
