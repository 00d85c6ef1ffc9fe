"""Entries and events of a session as they cross the wire, and the search in them: what is still sealed shows who wrote, and not what."""

import asyncio
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from moothall.app.session_list import SessionLine
from moothall.codec.adapters import as_json
from moothall.domain.facts import Entry, FactsListed, InputGiven, Reply, SeatLost, ToolUsed
from moothall.domain.ids import SessionId
from moothall.domain.safe_text import strip_control
from moothall.domain.session_state import ProtocolState, RevealedLine, SessionState
from moothall.engine.context import EntryAdded, Event
from moothall.errors import LedgerDamaged, LedgerNewer
from moothall.memory.search import Document, SearchIndex, find_marks, find_snippet
from moothall.ports.plugin import AnyPlugin
from moothall.reports.timeline import format_time
from moothall.surfaces.api.fields import spell_fields
from moothall.surfaces.api.method import ServerContext


def is_sealed(state: object) -> bool:
    """Whether seats are writing what nobody else may read yet."""
    return bool(getattr(state, "is_sealed", False))


def has_sealed_words(state: object) -> bool:
    """Whether anything is recorded that a reader may not see yet, such as a vote ahead of the vote."""
    return is_sealed(state) or bool(list_sealed_entries(state))


def list_sealed_entries(state: object) -> Collection[int]:
    """The entries that only their author may read yet, beside those of a sealed phase."""
    return state.sealed_entries if isinstance(state, ProtocolState) else ()


def build_entry_out(entry: Entry, state: object, reader: str = "") -> dict[str, Any]:
    """One entry. `state` is where the session stands now: it says what may be read."""
    out: dict[str, Any] = {
        "seq": entry.seq,
        "at": entry.at.isoformat(),
        "fact": type(entry.fact).__name__,
    }
    fact = entry.fact
    if (
        isinstance(fact, Reply | SeatLost | ToolUsed)
        and fact.seat != reader
        and _is_entry_sealed(entry, state)
    ):
        # How an answer was malformed may quote it.
        loss = {"reason": fact.reason} if isinstance(fact, SeatLost) else {}
        return {**out, "what": {"seat": fact.seat, "ask": fact.ask, "sealed": True, **loss}}
    out["what"] = as_json(fact)
    # No answer reveals anything: only what follows from one does, such as the next phase.
    if isinstance(state, ProtocolState) and not isinstance(fact, Reply):
        revealed = state.list_revealed(entry.seq)
        if revealed:
            out["revealed"] = [build_revealed(line) for line in revealed]
    return out


def build_revealed(line: RevealedLine) -> dict[str, Any]:
    """What was said in an entry that all may read from now on: the fields of the answer, and what is known of the line beside."""
    fields, beside = as_json(line.said), as_json(line)
    assert isinstance(fields, dict)
    assert isinstance(beside, dict)
    for name, value in beside.items():
        if value and name != "said":
            fields[name] = value
    del fields["seq"], fields["seat"]
    out = spell_fields(fields)
    return {**out, "entry": line.seq, "at": format_time(line.at), "participant": line.seat}


def _is_entry_sealed(entry: Entry, state: object) -> bool:
    """Whether nobody but its author may read an entry yet: what was written in a sealed phase, or a vote ahead of the vote."""
    if entry.seq in list_sealed_entries(state):
        return True
    return is_sealed(state) and entry.seq > getattr(state, "sealed_after", 0)


class SealedEvents:
    """Releases events in their order; from the first sealed one on they wait. `readers` are seats that may read their own."""

    def __init__(
        self, plugin: AnyPlugin, session: str, readers: frozenset[str] = frozenset()
    ) -> None:
        # A timeline of its own: that of whoever shows the events must not run ahead of what it shows.
        self._timeline: Any = plugin.timeline(SessionId(session))
        self._readers = readers
        self._held: list[Event] = []

    @property
    def session_state(self) -> SessionState | None:
        """Where the session stands after every entry that came in; None before the first."""
        return self._timeline.session_state if self._timeline.seq else None

    @property
    def pending(self) -> Collection[str]:
        """The open asks, after every entry that came in."""
        return () if self.session_state is None else self.session_state.pending

    def release(self, event: Event) -> list[Event]:
        """Take one more event; those that may be read now."""
        if isinstance(event, EntryAdded):
            self._timeline.add(event.entry)
        if self._held or self._is_hidden(event):
            self._held.append(event)
        else:
            return [event]
        # The positions after the facts are sealed again, and must not hold these back.
        is_list = isinstance(event, EntryAdded) and isinstance(event.entry.fact, FactsListed)
        if self._is_sealed() and not is_list:
            return []
        held, self._held = self._held, []
        return held

    def _is_sealed(self) -> bool:
        return not self._timeline.hides_sealed and is_sealed(getattr(self._timeline, "state", None))

    def _is_hidden(self, event: Event) -> bool:
        if not self._is_sealed():
            return False
        if not isinstance(event, EntryAdded):
            return event.seat not in self._readers
        fact = event.entry.fact
        return isinstance(fact, Reply | SeatLost | ToolUsed) and fact.seat not in self._readers


class SaidWords(NamedTuple):
    """An entry that fits a query, with the words around the best place."""

    entry: int
    excerpt: str
    marks: tuple[tuple[int, int], ...]
    """Where in it the words of the query stand."""


class SaidSearch:
    """Search in what was said. An entry never changes, so each is indexed once; what is sealed, when its seal is broken."""

    def __init__(self, context: ServerContext) -> None:
        self._engine = context.moot.engine
        self._index = SearchIndex()
        self._places: list[tuple[SessionId, int]] = []
        self._read: dict[SessionId, int] = {}
        self._lock = asyncio.Lock()

    async def search(
        self, query: str, lines: Collection[SessionLine]
    ) -> dict[SessionId, SaidWords]:
        """Return the best entry of each of these sessions in which something like the query was said, the best first."""
        async with self._lock:
            for line in lines:
                if line.topic and self._read.get(line.session, 0) < line.entries:
                    await self._add_session(line)
        wanted = {line.session for line in lines}
        ranking = self._index.rank_by_query(
            query, 500, lambda number: self._places[number][0] in wanted
        )
        best: dict[SessionId, int] = {}
        for number, _ in ranking.ranked:
            best.setdefault(*self._places[number])
        said = {}
        for session, seq in best.items():
            entry = (await self._engine.entries(session, seq - 1, 1))[0]
            snippet = find_snippet(_join_words(entry.fact), ranking.terms)
            excerpt = strip_control(snippet.text)
            marks = find_marks(excerpt, ranking.terms)
            said[session] = SaidWords(entry.seq, excerpt, marks)
        return said

    async def _add_session(self, line: SessionLine) -> None:
        try:
            if line.status in {"thinking", "parked"} and has_sealed_words(
                (await self._engine.load_snapshot(line.session)).state
            ):
                return
            for entry in await self._engine.entries(line.session, self._read.get(line.session, 0)):
                if words := _join_words(entry.fact):
                    self._index.add_document(Document(text=words))
                    self._places.append((line.session, entry.seq))
                self._read[line.session] = entry.seq
        except (LedgerDamaged, LedgerNewer):
            # One that cannot be read must not hide the others.
            self._read[line.session] = line.entries


def _join_words(fact: object) -> str:
    """The words of an answer, with its seat, or of an input; nothing for what code records."""
    if isinstance(fact, Reply):
        return f"{fact.seat}: {' '.join(_list_texts(as_json(fact.said)))}"
    return fact.text if isinstance(fact, InputGiven) else ""


def _list_texts(value: Any) -> Iterator[str]:
    # Not what the form calls a choice, such as `conditional_support`.
    if isinstance(value, str) and not (
        value.isidentifier() and value.islower() and value.isascii()
    ):
        yield value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _list_texts(each)
