"""The entries of one session as a stream (`GET /events/SESSION`), read and encoded once for everybody who follows it (D-18).

An `EntryHub` has one feed for each session that is followed. Who comes reads what it lacks from the ledger, page by page, and
then gets what the feed puts into its queue. One that does not keep up is cut off, and comes back with the number of its last
entry.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Final

from moothall.domain.facts import Entry, Reply, SeatLost, ToolUsed
from moothall.domain.ids import SessionId
from moothall.domain.safe_text import dump_json
from moothall.engine.context import SeatWaiting, TextDelta
from moothall.engine.snapshot import Snapshot
from moothall.errors import MootError
from moothall.surfaces.api.entries import build_entry_out, has_sealed_words, is_sealed
from moothall.surfaces.api.method import Caller, ServerContext
from moothall.surfaces.http.stream import QUEUE, RETRY_SECONDS, StreamHub, Viewer, read_queue, rest

PAGE: Final = 200
END: Final = b"event: end\ndata: {}\n\n"


@dataclass(eq=False)
class _EntryViewer(Viewer):
    """A stream of entries; the reader has those up to `after`, which may be ahead of the session."""

    after: int = 0


@dataclass(eq=False)
class _Feed:
    """A session that is followed: where it stands, by whom it is viewed, and the tasks that read it."""

    snapshot: Snapshot
    viewers: set[_EntryViewer] = field(default_factory=set)
    tasks: list["asyncio.Task[None]"] = field(default_factory=list)

    def send(
        self, data: bytes, *, seq: int | None = None, author: str = "", own: bytes = b""
    ) -> None:
        """Put an event into every queue; its author may get one of its own. Whose queue is full is cut off."""
        for viewer in list(self.viewers):
            if seq is not None and seq <= viewer.after:
                continue
            if not viewer.put(own if author and viewer.caller.seat == author else data):
                viewer.end()

    def end(self) -> None:
        for viewer in list(self.viewers):
            viewer.end()


class EntryHub(StreamHub):
    """The streams of entries, and what feeds them."""

    def __init__(self, context: ServerContext, *, queue: int = QUEUE) -> None:
        super().__init__(context, queue=queue)
        self._engine = context.moot.engine
        self._feeds: dict[SessionId, _Feed] = {}

    def list_viewers(self) -> Iterable[Viewer]:
        return (viewer for feed in self._feeds.values() for viewer in feed.viewers)

    async def read(
        self, snapshot: Snapshot, after: int, caller: Caller, secret: str
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of one stream: the entries after `after`, then all as they come, until the session ends or it is cut off."""
        if snapshot.is_closed:
            async for data in self._read_past(_Feed(snapshot), after, snapshot.seq, caller):
                yield data
            yield END
            return
        feed = self._find_feed(snapshot)
        viewer = _EntryViewer(
            caller, secret, frozenset(), self._queue, others=feed.viewers, after=after
        )
        feed.viewers.add(viewer)
        # From here on the queue has every entry: the ledger is read up to where the feed stands now.
        begin = feed.snapshot.seq
        try:
            async for data in self._read_past(feed, after, begin, caller):
                yield data
            async for data in read_queue(viewer.queue):
                yield data
        finally:
            feed.viewers.discard(viewer)
            if not feed.viewers:
                self._drop(feed)

    async def _read_past(
        self, feed: _Feed, after: int, until: int, caller: Caller
    ) -> AsyncIterator[bytes]:
        while after < until:
            entries = await self._engine.entries(
                feed.snapshot.session, after, min(PAGE, until - after)
            )
            # What may be read is decided by where the session stands now.
            yield b"".join(_encode(entry, feed.snapshot.state, caller.seat) for entry in entries)
            after = entries[-1].seq

    def _find_feed(self, snapshot: Snapshot) -> _Feed:
        feed = self._feeds.get(snapshot.session)
        if feed is None:
            feed = self._feeds[snapshot.session] = _Feed(snapshot)
            feed.tasks = self._start(self._feed(feed), self._feed_text(feed))
        return feed

    async def _feed(self, feed: _Feed) -> None:
        session = feed.snapshot.session
        while not feed.snapshot.is_closed:
            try:
                await self._engine.wait_for_change(session, feed.snapshot.seq)
                feed.snapshot, entries = await self._engine.read_on(session, feed.snapshot, PAGE)
            except MootError as error:
                # Whoever comes back learns what is wrong, or finds the ledger at work again.
                self._report(f"session {session} cannot be followed", error)
                feed.end()
                await asyncio.sleep(RETRY_SECONDS)
                continue
            began = time.monotonic()
            for entry in entries:
                self._send_entry(feed, entry)
            # What comes within a pause is one write for each reader.
            if not feed.snapshot.is_closed:
                await rest(began, 0)
        feed.send(END)
        feed.end()
        self._drop(feed)

    def _drop(self, feed: _Feed) -> None:
        if self._feeds.get(feed.snapshot.session) is feed:
            del self._feeds[feed.snapshot.session]
        for task in feed.tasks:
            task.cancel()

    def _send_entry(self, feed: _Feed, entry: Entry) -> None:
        state, fact = feed.snapshot.state, entry.fact
        data = _encode(entry, state, "")
        author = fact.seat if isinstance(fact, Reply | SeatLost | ToolUsed) else ""
        # Only what is sealed reads otherwise for its author.
        is_apart = bool(author) and has_sealed_words(state)
        own = _encode(entry, state, author) if is_apart else b""
        feed.send(data, seq=entry.seq, author=author if is_apart else "", own=own)

    async def _feed_text(self, feed: _Feed) -> None:
        with self._engine.context.hub.listen(feed.snapshot.session) as queue:
            while True:
                event = await queue.get()
                if isinstance(event, SeatWaiting):
                    data = dump_json(
                        {"seat": event.seat, "ask": event.ask, "isOver": event.is_over}
                    )
                    feed.send(b"event: waiting\ndata: %s\n\n" % data.encode())
                if isinstance(event, TextDelta) and not is_sealed(
                    await self._load_state(feed, event)
                ):
                    data = dump_json({"seat": event.seat, "ask": event.ask, "text": event.text})
                    feed.send(b"event: text\ndata: %s\n\n" % data.encode())

    async def _load_state(self, feed: _Feed, event: TextDelta) -> object:
        """Where the session stands: an ask that the feed does not know yet may belong to a sealed phase."""
        if event.ask in feed.snapshot.session_state.pending:
            return feed.snapshot.state
        return (await self._engine.load_snapshot(event.session)).state


def _encode(entry: Entry, state: object, reader: str) -> bytes:
    data = dump_json(build_entry_out(entry, state, reader)).encode()
    return b"id: %d\nevent: entry\ndata: %s\n\n" % (entry.seq, data)
