"""The page's one stream (W-9): what happens to all sessions that a caller may see, read and encoded once for everybody.

A `ViewHub` follows the sessions that are viewed. Each change is one read of the ledger, one view, one text of bytes, which goes
to every viewer's queue; only what a caller may do (`may`) is added for each kind of caller. Events are numbered and stored in a
bounded ring, so that a viewer who comes back with its last number gets what it missed without a read. One whose queue is full
is cut off and comes back the same way.
"""

import asyncio
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

from moothall.domain.ids import SessionId
from moothall.domain.records import LABELS
from moothall.domain.safe_text import dump_json
from moothall.engine.context import Event, EventQueue, SeatWaiting, TextDelta
from moothall.errors import LedgerDamaged, LedgerNewer, LedgerUnavailable, MootError, UnknownSession
from moothall.memory.tokens import AccessDenied
from moothall.surfaces.api.entries import is_sealed
from moothall.surfaces.api.method import Caller, ServerContext
from moothall.surfaces.api.page import ViewStore, build_changes
from moothall.surfaces.api.session_view import SessionView, select_allowed

log = logging.getLogger("moot")

QUEUE: Final = 256
"""How many events a viewer may lag before it is cut off."""
RING_BYTES: Final = 8_000_000
RING_EVENTS: Final = 5_000
VIEW_SECONDS: Final = 0.1
"""A session's view is sent at most this often."""
LIST_SECONDS: Final = 0.25
ACCESS_SECONDS: Final = 1.0
LINGER_SECONDS: Final = 60.0
"""How long a session is followed after its last viewer left, so that a reload finds what it missed."""
BEAT_SECONDS: Final = 10.0
BEAT: Final = b"event: beat\ndata: {}\n\n"
"""An event, not a comment: a browser shows no comments to the page, which says "live" only while it hears the server."""
REST: Final = 5
"""How many times as long as the last event took, from its read to its last viewer, passes before the next: however long a meeting
is and however many look at it, most of the time is left to those who contribute."""
MAX_REST_SECONDS: Final = 1.0
MAX_SESSIONS: Final = 64
"""One stream serves all tabs of a browser."""
RETRY_SECONDS: Final = 1.0

EventKind = Literal["line", "view", "text", "asked", "reset", "gone", "beat"]


class SentEvent(NamedTuple):
    """An event as it is stored: encoded once, but for what each caller may do."""

    number: int
    kind: EventKind
    session: SessionId
    seat: str
    """Whom an `asked` is for."""
    data: bytes
    allowed: tuple[str, ...] | None = None
    """What can be done with the session now, where that changed; each caller gets what of it is its own."""

    def encode_for(self, caller: Caller, encoded: dict[tuple[str, ...], bytes]) -> bytes:
        """The bytes for one caller; those who may do the same share them through `encoded`."""
        if self.allowed is None:
            return self.data
        may = tuple(select_allowed(self.allowed, caller))
        if may not in encoded:
            encoded[may] = b'%s,"may":%s}\n\n' % (
                self.data.removesuffix(b"}\n\n"),
                dump_json(may).encode(),
            )
        return encoded[may]


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitations:
    """The sessions to which a browser was invited one by one: as whom it reads each, and which it may not read any more."""

    callers: Mapping[SessionId, Caller] = field(default_factory=dict)
    secrets: frozenset[str] = frozenset()
    ended: Mapping[SessionId, Mapping[str, str]] = field(default_factory=dict)
    """The reason, and a sentence."""


NO_INVITATIONS: Final = Invitations()


@dataclass(eq=False)
class Viewer:
    """One open stream: who reads, which sessions it views, and what waits to be sent."""

    caller: Caller
    secret: str
    sessions: frozenset[SessionId]
    most: int = QUEUE
    queue: "asyncio.Queue[bytes | None]" = field(default_factory=asyncio.Queue)
    own: Mapping[SessionId, Caller] = field(default_factory=dict)
    """Who reads each session to which this browser was invited by itself."""
    own_secrets: frozenset[str] = frozenset()
    others: set[Any] = field(default_factory=set)
    """All who get the same events, this one among them until it is cut off."""

    def find_caller(self, session: SessionId) -> Caller:
        """As whom this viewer reads a session."""
        return self.own.get(session, self.caller)

    @property
    def secrets(self) -> frozenset[str]:
        """What it reads by; it ends with the first of these."""
        return self.own_secrets | {self.secret}

    def wants(self, event: SentEvent) -> bool:
        """Whether this viewer may see an event and asked for it."""
        caller = self.find_caller(event.session)
        if caller.session and caller.session != event.session:
            return False
        if event.kind == "asked":
            return event.seat == caller.seat if caller.is_named else caller.may("run")
        return event.kind in {"line", "gone"} or event.session in self.sessions

    def put(self, data: bytes) -> bool:
        """Whether there was room; one without is to be cut off."""
        if self.queue.qsize() >= self.most:
            return False
        self.queue.put_nowait(data)
        return True

    def end(self) -> None:
        """End the stream once what waits is sent: it comes back for the rest with the number of the last of these."""
        self.others.discard(self)
        self.queue.put_nowait(None)


class StreamHub(ABC):
    """Open streams of a server, and the tasks that feed them while `run` does."""

    def __init__(self, context: ServerContext, *, queue: int = QUEUE) -> None:
        self._context = context
        self._queue = queue
        self._group: asyncio.TaskGroup | None = None

    @abstractmethod
    def list_viewers(self) -> Iterable[Viewer]:
        """Return everybody whose stream is open."""

    async def run(self) -> None:
        """Follow what is viewed until cancelled."""
        async with asyncio.TaskGroup() as self._group:
            await self._check_access()

    def stop(self) -> None:
        """End all streams: the server is about to end."""
        for viewer in list(self.list_viewers()):
            viewer.end()

    def _start(self, *work: Coroutine[Any, Any, None]) -> list["asyncio.Task[None]"]:
        assert self._group is not None, "the hub does not run"
        return [self._group.create_task(each) for each in work]

    def _report(self, what: str, error: MootError) -> None:
        """Log that something cannot be read for now."""
        if isinstance(error, LedgerUnavailable):
            self._context.moot.engine.context.outages.tell(error)
        else:
            log.warning("%s: %s; trying again", what, error)

    async def _check_access(self) -> None:
        """End the streams of those whose token was revoked or has expired: one read for all of them."""
        while True:
            held = [viewer for viewer in self.list_viewers() if viewer.secret]
            if held:
                with suppress(MootError):
                    await self._end_denied(held)
            await asyncio.sleep(ACCESS_SECONDS)

    async def _end_denied(self, viewers: Sequence[Viewer]) -> None:
        """End each stream of which a grant has ended: its browser opens another with those that are left, and reads why."""
        secrets = frozenset[str]().union(*(viewer.secrets for viewer in viewers))
        identities = await self._context.moot.access.identify_all(secrets - {""})
        denied = {key for key, held in identities.items() if isinstance(held, AccessDenied)}
        for viewer in viewers:
            if not denied.isdisjoint(viewer.secrets):
                viewer.end()


@dataclass(eq=False)
class _Followed:
    """A session that is followed: since which event, by which tasks, and until when without viewers; `texts` are the answers that
    are being written, by ask and seat, as far as they were sent."""

    since: int
    tasks: list["asyncio.Task[None]"]
    idle_since: float | None = None
    view: SessionView | None = None
    texts: dict[tuple[str, str], str] = field(default_factory=dict)


class ViewHub(StreamHub):
    """The streams of views, and what feeds them."""

    def __init__(self, context: ServerContext, *, queue: int = QUEUE) -> None:
        super().__init__(context, queue=queue)
        self._store = context.get_or_create(ViewStore)
        self.epoch = secrets.token_hex(4)
        self._number = 0
        self._ring: deque[SentEvent] = deque()
        self._ring_bytes = 0
        self._dropped = 0
        self._viewers: set[Viewer] = set()
        self._followed: dict[SessionId, _Followed] = {}
        self._has_viewers = asyncio.Event()
        self._listed_since = 0

    @property
    def viewers(self) -> int:
        return len(self._viewers)

    def list_viewers(self) -> Iterable[Viewer]:
        return self._viewers

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow_list())
            await super().run()

    @contextmanager
    def view(
        self,
        caller: Caller,
        secret: str,
        sessions: frozenset[SessionId],
        after: str = "",
        invited: Invitations = NO_INVITATIONS,
    ) -> Iterator[Viewer]:
        """One stream: first what was missed since the event `after`, or `reset`; then everything as it comes."""
        viewer = Viewer(
            caller,
            secret,
            sessions,
            self._queue,
            own=invited.callers,
            own_secrets=invited.secrets,
            others=self._viewers,
        )
        for session, why in invited.ended.items():
            data = dump_json({"sessionId": session, **why}).encode()
            viewer.put(self._encode(self._number, "gone", data))
        is_first = not self._viewers
        seen = self._parse_number(after) if after else None
        missed = self._find_missed(viewer, seen) if after else []
        # What happened to a session that was not followed then was not recorded.
        known = set()
        for session in sessions:
            followed = self._followed.get(session)
            if followed and followed.since <= (seen or 0):
                known.add(session)
        unknown = sorted(sessions - known) if after else []
        for session in sessions:
            self._follow(session)
        self._viewers.add(viewer)
        if is_first:
            self._has_viewers.set()
        if missed is None or len(missed) >= self._queue - 1:
            viewer.put(self._encode(self._number, "reset", b"{}"))
        else:
            if unknown:
                viewer.put(
                    self._encode(seen or 0, "reset", dump_json({"sessions": unknown}).encode())
                )
            for event in missed:
                viewer.put(event.encode_for(viewer.find_caller(event.session), {}))
        if not missed:
            self._tell_where(viewer)
        if missed is None or unknown or not after:
            self._tell_texts(viewer)
        # Gives a reader that came without a number one to come back with.
        viewer.put(self._encode(self._number, "beat", b"{}"))
        try:
            yield viewer
        finally:
            self._viewers.discard(viewer)
            if not self._viewers:
                self._has_viewers.clear()
            for session in sessions:
                followed = self._followed.get(session)
                if followed is not None and not any(
                    session in other.sessions for other in self._viewers
                ):
                    followed.idle_since = time.monotonic()

    async def read(
        self,
        caller: Caller,
        secret: str,
        sessions: frozenset[SessionId],
        after: str,
        invited: Invitations = NO_INVITATIONS,
    ) -> AsyncGenerator[bytes, None]:
        """The bytes of one stream, with a heartbeat; ends when it is cut off or the server stops."""
        with self.view(caller, secret, sessions, after, invited) as viewer:
            async for data in read_queue(viewer.queue, BEAT):
                yield data

    def _tell_where(self, viewer: Viewer) -> None:
        """Tell a viewer the newest entry of each session that is followed already: it may have fetched an older view."""
        for session in viewer.sessions:
            followed = self._followed.get(session)
            if followed is not None and followed.view is not None:
                seq = followed.view.seq
                at = dump_json({"sessionId": session, "seq": seq, "head": seq}).encode()
                viewer.put(self._encode(self._number, "view", at))

    def _tell_texts(self, viewer: Viewer) -> None:
        """Tell a viewer who comes during an answer what was written so far."""
        for session in viewer.sessions:
            writing = self._context.moot.engine.context.hub.list_writing(session)
            texts = self._followed[session].texts
            for key in [key for key in texts if key[0] not in writing]:
                del texts[key]
            for (ask, seat), text in texts.items():
                data = _build_text(session, ask, seat, text, is_whole=True)
                viewer.put(self._encode(self._number, "text", dump_json(data).encode()))

    def publish(
        self,
        kind: EventKind,
        session: SessionId,
        value: object,
        seat: str = "",
        allowed: Sequence[str] | None = None,
    ) -> None:
        """Send one event to everybody who may see it and asked for it; `allowed` is what can be done now, if that changed."""
        self._number += 1
        data = self._encode(self._number, kind, dump_json(value).encode())
        event = SentEvent(
            self._number, kind, session, seat, data, None if allowed is None else tuple(allowed)
        )
        self._ring.append(event)
        self._ring_bytes += len(data)
        while self._ring_bytes > RING_BYTES or len(self._ring) > RING_EVENTS:
            gone = self._ring.popleft()
            self._ring_bytes -= len(gone.data)
            self._dropped = gone.number
        encoded: dict[tuple[str, ...], bytes] = {}
        for viewer in list(self._viewers):
            if not viewer.wants(event):
                continue
            caller = viewer.find_caller(event.session)
            if not viewer.put(event.encode_for(caller, encoded)):
                viewer.end()

    def _encode(self, number: int, kind: EventKind, data: bytes) -> bytes:
        return b"id: %s.%d\nevent: %s\ndata: %s\n\n" % (
            self.epoch.encode(),
            number,
            kind.encode(),
            data,
        )

    def _parse_number(self, after: str) -> int | None:
        """The number of the event that a viewer saw last; None where it is not one of this server's."""
        epoch, _, last = after.partition(".")
        return int(last) if epoch == self.epoch and last.isdecimal() and len(last) <= 15 else None

    def _find_missed(self, viewer: Viewer, seen: int | None) -> list[SentEvent] | None:
        """The events since the one that a viewer saw last; None where they are not known any more."""
        # What happened to the list while nobody looked was not recorded.
        if seen is None or not max(self._dropped, self._listed_since) <= seen <= self._number:
            return None
        return [event for event in self._ring if event.number > seen and viewer.wants(event)]

    def _follow(self, session: SessionId) -> None:
        followed = self._followed.get(session)
        if followed is None:
            tasks = self._start(
                self._guard(session, self._follow_entries), self._guard(session, self._follow_text)
            )
            followed = self._followed[session] = _Followed(self._number, tasks)
        followed.idle_since = None

    async def _guard(self, session: SessionId, work: "Callable[[SessionId], Any]") -> None:
        """Follow a session until it is let go; a ledger that fails is tried again."""
        while True:
            try:
                await work(session)
                return
            except (LedgerDamaged, LedgerNewer, UnknownSession) as error:
                self.publish("gone", session, {"sessionId": session, "why": str(error)})
                return
            except MootError as error:
                self._report(f"session {session} cannot be followed", error)
                await asyncio.sleep(RETRY_SECONDS)

    def _let_go(self) -> None:
        """Stop following the sessions that nobody has viewed for a while."""
        now = time.monotonic()
        for session, followed in list(self._followed.items()):
            if followed.idle_since is not None and now - followed.idle_since > LINGER_SECONDS:
                del self._followed[session]
                for task in followed.tasks:
                    task.cancel()

    async def _follow_entries(self, session: SessionId) -> None:
        followed = self._followed[session]
        while True:
            began = time.monotonic()
            view = await self._look(session, followed)
            await rest(began, VIEW_SECONDS)
            await self._context.moot.engine.wait_for_change(session, view.seq)

    async def _look(self, session: SessionId, followed: _Followed) -> SessionView:
        """Load the view of a session, and publish what changed since the last look."""
        view, known = await self._store.load(session), followed.view
        if view is not known and (known is None or known.seq <= view.seq):
            followed.view = view
            self._publish_view(session, known, view)
        return view

    def _publish_view(
        self, session: SessionId, before: SessionView | None, after: SessionView
    ) -> None:
        if before is None:
            for viewer in self._viewers:
                if session in viewer.sessions:
                    self._tell_where(viewer)
            return
        changes = build_changes(before, after)
        if changes:
            allowed = changes.pop("may", None)
            self.publish("view", session, changes, allowed=allowed)
        asked = {each["ask"] for each in before.fields["waiting"]}
        for each in after.fields["waiting"]:
            if each["outside"] and each["ask"] not in asked:
                self.publish(
                    "asked",
                    session,
                    {"sessionId": session, "seat": each["seat"], "ask": each["ask"]},
                    each["seat"],
                )

    async def _follow_text(self, session: SessionId) -> None:
        texts = self._followed[session].texts
        texts.clear()
        with self._context.moot.engine.context.hub.listen(session) as queue:
            while True:
                pieces, has_waits = await _gather_text(queue)
                if has_waits:
                    await self._look(session, self._followed[session])
                if pieces and await self._may_be_read(session, pieces):
                    for (ask, seat), text in pieces.items():
                        before = texts.get((ask, seat), "")
                        texts[ask, seat] = before + text
                        self.publish(
                            "text",
                            session,
                            _build_text(session, ask, seat, text, is_whole=not before),
                        )

    async def _may_be_read(self, session: SessionId, pieces: dict[tuple[str, str], str]) -> bool:
        """Whether what is being written may be read: an ask that the known state does not have may belong to a sealed phase."""
        folded = self._store.folded.get_recent(session)
        if folded is None or any(
            ask not in folded.snapshot.session_state.pending for ask, _ in pieces
        ):
            folded = await self._store.folded.load(session)
        return not is_sealed(folded.snapshot.state)

    async def _follow_list(self) -> None:
        """Send a line for every session that was written to, by whichever process; one cheap read while there are viewers."""
        ledger, position = self._context.moot.ledger, None
        while True:
            if not self._has_viewers.is_set():
                position = None
                await self._has_viewers.wait()
            began = time.monotonic()
            try:
                written = await ledger.list_written(position)
                if position is None:
                    self._listed_since = self._number
                position = written.position
                names = (
                    {head.session for head in await ledger.heads()}
                    if written.sessions is None
                    else written.sessions
                )
                sessions = self._context.moot.session_list
                if LABELS in names:
                    names = {*names, *await sessions.list_relabelled()}
                for line in await sessions.add_outcomes(await sessions.load_some(names)):
                    self.publish("line", line.session, line.to_json())
            except MootError as error:
                self._report("the list of sessions cannot be read", error)
            self._let_go()
            await rest(began, LIST_SECONDS)


def _build_text(
    session: SessionId, ask: str, seat: str, text: str, *, is_whole: bool
) -> dict[str, object]:
    """A piece of what is being written, or with `whole` all of it so far."""
    return {
        "sessionId": session,
        "ask": ask,
        "seat": seat,
        "text": text,
        **({"whole": True} if is_whole else {}),
    }


async def _gather_text(queue: EventQueue) -> tuple[dict[tuple[str, str], str], bool]:
    """The next text, with all that comes within a moment after it, by ask and seat; and whether seats began or ended to wait."""
    pieces: dict[tuple[str, str], str] = {}
    waits: list[SeatWaiting] = []

    def take(event: Event) -> None:
        if isinstance(event, SeatWaiting):
            waits.append(event)
        if isinstance(event, TextDelta):
            key = (event.ask, event.seat)
            pieces[key] = pieces.get(key, "") + event.text

    take(await queue.get())
    if pieces or waits:
        await asyncio.sleep(VIEW_SECONDS)
    while not queue.empty():
        take(queue.get_nowait())
    return pieces, bool(waits)


async def rest(began: float, least: float) -> None:
    """Let those who got an event send it, then leave the time to others."""
    # Every reader that was woken runs once before this goes on.
    for _ in range(3):
        await asyncio.sleep(0)
    await asyncio.sleep(min(MAX_REST_SECONDS, max(least, REST * (time.monotonic() - began))))


async def read_queue(
    queue: "asyncio.Queue[bytes | None]", beat: bytes = b": beat\n\n"
) -> AsyncIterator[bytes]:
    """What is put into a viewer's queue, with a heartbeat, until None is."""
    # Tells the client how soon to come back after a cut.
    yield b"retry: 500\n\n"
    while True:
        try:
            async with asyncio.timeout(BEAT_SECONDS):
                data = await queue.get()
        except TimeoutError:
            yield beat
            continue
        # One write for all that waits: a burst of events is one packet.
        parts = []
        while data is not None:
            parts.append(data)
            if queue.empty():
                break
            data = queue.get_nowait()
        if parts:
            yield b"".join(parts)
        if data is None:
            return
