"""The list of sessions: where each stands and what was decided.

A line is stored between processes, and is good as long as its session has not grown: a list of sessions that are known reads
neither facts nor protocols.
"""

import asyncio
import json
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from moothall.app.environment import VECTORS, resolve_search_file
from moothall.app.resources import Resources
from moothall.app.version import VERSION
from moothall.codec.chain import to_datetime, to_microseconds
from moothall.domain.facts import (
    Closed,
    Fact,
    Opened,
    SessionCancelled,
    SessionParked,
    SessionStatus,
)
from moothall.domain.ids import SessionId, is_register, parse_session_id
from moothall.domain.records import LABELS, Head
from moothall.domain.roster import StandIn
from moothall.domain.safe_text import encode_fields
from moothall.errors import LedgerDamaged, LedgerNewer, ProtocolMissing
from moothall.ledgers.line_file import LineFile, LineRow

if TYPE_CHECKING:
    from moothall.app.topic_index import TopicIndex
    from moothall.memory.facts import DecisionRecorded
    from moothall.memory.register import ArchivedSession, LabelBook, Register, SessionLabel
    from moothall.memory.remembered_decision import RememberedDecision
    from moothall.reports.memo_summary import MemoSummary


Unreadable = Literal["damaged", "newer", "not_installed"]
Standing = (
    Literal["decided", "undecided", "parked", "waiting", "running", "stopped", "cancelled"]
    | Unreadable
)

FORM: Final = [6, VERSION]
"""What lines are written by; those of another form are built again. The number changes with what a line says."""
MAX_CACHED_BYTES: Final = 64_000_000
"""What the lines may hold in memory, and the file of them: enough for some 50,000 sessions."""
LINE_BYTES: Final = 900
"""What a line holds in memory beside its texts: two objects and two hashes."""
BATCH: Final = 100
"""So many sessions are listed at once; then whatever else this process does has its turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLine:
    """A session in a list. `add_outcomes` fills in where it stands, what was decided and what that is worth."""

    session: SessionId
    protocol: str
    topic: str
    status: SessionStatus | Unreadable
    opened_at: datetime
    last_at: datetime
    entries: int
    is_hosted: bool = False
    """Whether the server of this ledger runs it."""
    is_demo: bool = False
    """Whether it is a demo: its words were written in advance."""
    stand_in: StandIn = ""
    """What spoke in place of minds: known of demos, and of sessions that have ended."""
    forked_from: str = ""
    """The session that it is a fork of."""
    parked: str = ""
    """Why a parked session cannot go on now."""
    standing: Standing = "stopped"
    choice: str = ""
    """What was decided, in a few words; empty where nothing was."""
    leading: str = ""
    """Which answers an undecided session did not tell apart, in one sentence; empty where it does not say."""
    strength: str = ""
    """What the decision is worth: strong, fair, weak, disputed, overruled or none."""
    badge: str = ""
    """How the result came about, in a word or two, as its memo says it: `3 of 4`."""
    what: str = ""
    """What was decided, or why nothing is, in one sentence of its memo; empty while it runs."""
    reservation: str = ""
    """The short form of the first reservation of its memo; empty where there is none."""
    is_imported: bool = False
    """Whether it was held elsewhere, or begun there."""
    tags: tuple[str, ...] = ()
    """Those that it was opened with, or was given later in their place."""
    is_away: bool = False
    """Whether it was put away: a list shows it to those who ask for it."""
    said: str = ""
    """Words that fit a query, where they were said in the session."""
    said_marks: tuple[tuple[int, int], ...] = ()
    """Where in them the words of the query stand: the first character of each, and the one behind it."""
    said_entry: int | None = None
    """The entry that holds them."""

    def to_json(self) -> dict[str, Any]:
        """The session as a server lists it."""
        encoded: dict[str, Any] = encode_fields(self)
        return encoded


_NOT_STORED: Final = {"session", "opened_at", "last_at", "entries", "is_away"}
_OF_SEARCHES: Final = {"said", "said_marks", "said_entry"}
_STORED_FIELDS: Final = [
    each.name for each in fields(SessionLine) if each.name not in _NOT_STORED | _OF_SEARCHES
]
"""What the file has of a line; the rest is in the records themselves, or in the register of labels."""


_LINE_LENGTH: Final = 2 + len(_STORED_FIELDS)
"""Two hashes and the fields. A line of another distribution's protocol has the version of its feature behind them."""


class _CachedLine(NamedTuple):
    """What is known of a session whose first and last record have these hashes. `outcome` has its standing, too.

    Whether a process runs it may change without an entry: only for a session that waits for nobody outside it is asked again.
    """

    first: bytes
    last: bytes
    line: SessionLine
    outcome: SessionLine | None = None

    @property
    def size(self) -> int:
        """About how many bytes it holds in memory."""
        texts = [self.line.topic, self.line.parked, *self.line.tags]
        if self.outcome is not None:
            texts += [self.outcome.choice, self.outcome.what, self.outcome.badge]
        return LINE_BYTES + sum(map(sys.getsizeof, texts))


class NewestLines(NamedTuple):
    """The sessions that were active last, and how many there are."""

    total: int
    lines: list[SessionLine]


class SessionList:
    """The lines of one ledger's sessions; `path` is the file that keeps them (None: none does)."""

    def __init__(self, resources: Resources, path: Path | None) -> None:
        self._resources = resources
        self._file = None
        if path is not None:
            self._file = LineFile(path, json.dumps(FORM))
        self._cached: dict[SessionId, _CachedLine] = {}
        self._cached_bytes = 0
        self._stored: Mapping[str, list[Any]] = {}
        """What the file has of the sessions that are listed now."""
        self._news: set[SessionId] = set()
        """The sessions that the file does not have as they are."""
        self._gone: set[str] = set()
        """What the file has of sessions that are in the ledger no longer."""
        self._known_labels: LabelBook = {}

    async def load(self) -> list[SessionLine]:
        """Return every session, the most recently active one last."""
        heads = [
            head for head in await self._resources.ledger.heads() if not is_register(head.session)
        ]
        await self._fetch_stored(heads, is_all=True)
        lines: list[SessionLine] = []
        for start in range(0, len(heads), BATCH):
            lines += map(self._build_line, heads[start : start + BATCH])
            await asyncio.sleep(0)
        self._forget_missing({line.session for line in lines})
        self._drop_oldest()
        return sorted(lines, key=lambda line: (line.last_at, line.session))

    async def load_some(self, sessions: Collection[SessionId]) -> list[SessionLine]:
        """Return these sessions; those that do not exist are left out."""
        ledger = self._resources.ledger
        heads: list[Head] = []
        for name in sorted(sessions):
            # A ledger lists all sessions whose ids begin with the name.
            heads += [head for head in await ledger.heads(name) if head.session == name]
        return await self._build_lines([head for head in heads if not is_register(head.session)])

    async def load_newest(self, count: int, after: int = 0) -> NewestLines:
        """Return the sessions that were active last, the newest first, without the first `after`: it costs what they do."""
        newest = await self._resources.ledger.list_newest(count, after)
        return NewestLines(newest.total, await self._build_lines(newest.heads))

    async def load_only(self, session: SessionId, count: int, after: int = 0) -> NewestLines:
        """Return the same where one session is all that there is to see."""
        lines = await self.load_some([session])
        return NewestLines(len(lines), lines[after : after + count])

    async def load_named(self, prefix: str) -> list[SessionLine]:
        """Return the sessions whose ids begin so, the most recently active one last."""
        heads = await self._resources.ledger.heads(prefix)
        lines = await self._build_lines([head for head in heads if not is_register(head.session)])
        return sorted(lines, key=lambda line: (line.last_at, line.session))

    async def _build_lines(self, heads: Sequence[Head]) -> list[SessionLine]:
        await self._fetch_stored(heads)
        lines = list(map(self._build_line, heads))
        self._drop_oldest()
        return lines

    async def _fetch_stored(self, heads: Sequence[Head], *, is_all: bool = False) -> None:
        """Take from the file what it has of sessions that this process does not know; with `is_all` these are all there are."""
        names = {head.session for head in heads}
        unknown = names - self._cached.keys()
        if self._file is None or not unknown:
            return
        # On a thread: a file of many lines takes its time.
        self._stored = await asyncio.to_thread(self._file.read, None if is_all else unknown)
        if is_all:
            self._gone = set(self._stored.keys() - names)

    async def search(self, query: str) -> list[SessionLine]:
        """Return the sessions whose topic fits a query by words or by meaning, the best first."""
        lines: dict[SessionId, SessionLine] = {}
        texts: dict[str, tuple[str, str]] = {}
        for line in await self.load():
            if line.topic:
                lines[line.session] = line
                texts[line.session] = (line.topic, "")
        names = await self._topic_index.rank(query, texts)
        return [lines[SessionId(name)] for name in names]

    @cached_property
    def _topic_index(self) -> "TopicIndex":
        # Imported here: a list that nobody searches starts without it.
        from moothall.app.topic_index import TopicIndex

        return TopicIndex(resolve_search_file(self._resources.environ, VECTORS))

    async def load_archived(self) -> "dict[SessionId, ArchivedSession]":
        """Return the sessions that went into archives, and where each is."""
        from moothall.ports.ledger import LedgerUpkeep

        ledger = self._resources.ledger
        if not isinstance(ledger, LedgerUpkeep) or not (
            removed := set(await ledger.list_removed())
        ):
            return {}
        from moothall.memory.register import open_head_register

        book = await open_head_register(ledger, self._resources.clock).state()
        return {
            session: each for session, each in sorted(book.archived.items()) if session in removed
        }

    def _build_line(self, head: Head) -> SessionLine:
        """Return the line of a session without its outcome."""
        cached = self._cached.get(head.session) or self._take_stored(head)
        if cached is None or (cached.first, cached.last) != (head.first.hash, head.last.hash):
            cached = self._cache(
                _CachedLine(head.first.hash, head.last.hash, self._read_line(head))
            )
        return cached.line

    async def add_outcomes(self, lines: Sequence[SessionLine]) -> list[SessionLine]:
        """Return the lines with their labels, with what was decided, and with where those stand that go on (M-9)."""
        return await self.add_labels([await self._add_outcome(line) for line in lines])

    async def add_labels(self, lines: Sequence[SessionLine]) -> list[SessionLine]:
        """Return the lines with the tags that they were given later, and with whether they were put away."""
        book = await self._load_labels()
        return [_add_label(line, book.get(line.session)) for line in lines]

    async def label(
        self, session: str, tags: Iterable[str] | None = None, *, is_away: bool | None = None
    ) -> SessionLine:
        """Give a session these tags in place of those that it has, put it away or bring it back; returns its line.

        Raises BadSetting or UnknownSession.
        """
        from moothall.domain.topic import build_topic
        from moothall.memory.facts import SessionLabelled

        name = parse_session_id(session)
        lines = await self.load_some([name])
        if not lines:
            raise await self._resources.engine.build_unknown(name)
        given = None
        if tags is not None:
            given = build_topic(tags=tags).tags
        fact = SessionLabelled(session=name, tags=given, is_away=is_away)
        await self._label_register.append(lambda book: [fact])
        return (await self.add_outcomes(lines))[0]

    async def list_away(self) -> set[SessionId]:
        """Return the sessions that were put away."""
        book = await self._load_labels()
        return {SessionId(name) for name, label in book.items() if label.is_away}

    async def list_relabelled(self) -> set[SessionId]:
        """Return the sessions whose labels were changed since the last such call, by whichever process."""
        before, self._known_labels = self._known_labels, dict(await self._load_labels())
        changed = set()
        for name, label in self._known_labels.items():
            if before.get(name) != label:
                changed.add(SessionId(name))
        return changed

    @cached_property
    def _label_register(self) -> "Register[LabelBook]":
        from moothall.memory.register import open_label_register

        return open_label_register(self._resources.ledger, self._resources.clock)

    async def _load_labels(self) -> "LabelBook":
        # Asked first: a ledger in which nothing was labelled loads no register.
        with suppress(LedgerDamaged, LedgerNewer):
            if "_label_register" in vars(self) or await self._resources.ledger.heads(LABELS):
                return await self._label_register.state()
        return {}

    def save(self) -> None:
        """Write what is new to the file; where that cannot be, the next process reads the sessions again."""
        if self._file is None or not (self._news or self._gone):
            return
        rows: dict[str, LineRow] = {}
        for name in self._news & self._cached.keys():
            cached = self._cached[name]
            if not _is_readable(cached):
                continue
            version = _find_line_version(cached.line.protocol)
            if version is not None:
                at = to_microseconds(cached.line.last_at)
                rows[name] = LineRow(at, [*_encode_line(cached), *version])
        self._file.write(rows, self._gone, MAX_CACHED_BYTES)
        self._news.clear()
        self._gone.clear()

    def _take_stored(self, head: Head) -> _CachedLine | None:
        fields = self._stored.get(head.session)
        if fields is None or len(fields) not in (_LINE_LENGTH, _LINE_LENGTH + 1):
            return None
        if fields[:2] != [head.first.hash.hex(), head.last.hash.hex()]:
            return None
        values = dict(zip(_STORED_FIELDS, fields[2:_LINE_LENGTH], strict=True))
        for name, value in values.items():
            if isinstance(value, list):
                values[name] = tuple(value)
        outcome = replace(_start_line(head), **values)
        version = fields[_LINE_LENGTH:]
        if version and version != _find_line_version(outcome.protocol):
            return None
        line = replace(outcome, standing="stopped", is_imported=False)
        line = replace(line, choice="", leading="", strength="")
        line = replace(line, badge="", what="", reservation="")
        known = None
        if outcome.standing:
            known = outcome
        return self._cache(_CachedLine(head.first.hash, head.last.hash, line, known), is_new=False)

    def _cache(self, cached: _CachedLine, *, is_new: bool = True) -> _CachedLine:
        self._forget(cached.line.session)
        self._cached[cached.line.session] = cached
        self._cached_bytes += cached.size
        if is_new:
            self._news.add(cached.line.session)
        return cached

    def _forget(self, session: SessionId) -> None:
        self._news.discard(session)
        cached = self._cached.pop(session, None)
        if cached is not None:
            self._cached_bytes -= cached.size

    def _forget_missing(self, sessions: Collection[SessionId]) -> None:
        """Forget the lines of sessions that are no longer in the ledger."""
        for session in [name for name in self._cached if name not in sessions]:
            self._forget(session)
        self._stored = {}

    def _drop_oldest(self) -> None:
        """Stay within the bound by forgetting the sessions that were active longest ago.

        Not those that were listed longest ago: a list of all of them would forget each line before it comes to it again.
        """
        if self._cached_bytes <= MAX_CACHED_BYTES:
            return
        for cached in sorted(self._cached.values(), key=_get_last_time):
            self._forget(cached.line.session)
            # A little room, so that not every new session sorts all of them.
            if self._cached_bytes <= MAX_CACHED_BYTES * 0.9:
                return

    def _read_line(self, head: Head) -> SessionLine:
        from moothall.app.protocols import find_plugin
        from moothall.codec.stored import read_topic

        line, engine = _start_line(head), self._resources.engine
        try:
            opened, last = engine.entry(head.first).fact, engine.entry(head.last).fact
        except ProtocolMissing as error:
            return replace(
                line,
                protocol=error.protocol,
                topic=read_topic(head.first.body),
                status="not_installed",
            )
        except LedgerNewer:
            return replace(line, status="newer")
        except LedgerDamaged:
            return line
        if not isinstance(opened, Opened):
            return line
        if opened.demo:
            line = replace(line, is_demo=True, stand_in="demo")
        return replace(
            line,
            protocol=find_plugin(opened).name,
            topic=opened.topic,
            status=_derive_status(last),
            is_hosted=opened.hosted,
            forked_from=opened.forked_from,
            tags=opened.subject.tags,
            parked=_explain_parking(last, opened.language),
        )

    async def _add_outcome(self, line: SessionLine) -> SessionLine:
        cached = self._cached.get(line.session)
        if cached is None or cached.line != line:
            return await self._read_outcome(line)
        if cached.outcome is None:
            cached = self._cache(cached._replace(outcome=await self._read_outcome(line)))
        outcome = cached.outcome
        assert outcome is not None
        if outcome.standing in {"running", "stopped"}:
            is_running = await self._resources.is_running(line.session)
            return replace(outcome, standing=describe_status(line.status, is_running=is_running))
        return outcome

    async def _read_outcome(self, line: SessionLine) -> SessionLine:
        outcome = await self._read_standing(line)
        with suppress(LedgerDamaged, LedgerNewer):
            return replace(
                outcome,
                is_imported=await self._resources.memory.get_import(line.session) is not None,
            )
        return outcome

    async def _read_standing(self, line: SessionLine) -> SessionLine:
        try:
            if line.status == "concluded":
                return await self._read_decided(line)
            if line.status in {"thinking", "parked", "cancelled"}:
                return await self._read_idle(line)
        # One that cannot be read must not hide the others.
        except LedgerNewer:
            return replace(line, standing="newer")
        except LedgerDamaged:
            return replace(line, standing="damaged")
        return replace(line, standing=describe_status(line.status))

    async def _read_idle(self, line: SessionLine) -> SessionLine:
        """Return the line of a session that has no result: where it stands, and why if it does nothing now."""
        # Imported here: few lists have one that is not known yet.
        from moothall.reports.memo import build_memo
        from moothall.reports.standing import build_idle_standing

        snapshot = await self._resources.engine.load_snapshot(line.session)
        state = snapshot.session_state
        is_running = False
        if line.status == "thinking" and not state.is_waiting_outside:
            is_running = await self._resources.is_running(line.session)
        word = describe_status(
            line.status, is_waiting=state.is_waiting_outside, is_running=is_running
        )
        standing = build_idle_standing(line.session, state, line.parked)
        if standing is None:
            return replace(line, standing=word)
        memo = build_memo(standing, state.opened.language)
        return replace(line, standing=word, badge=memo.badge, what=memo.result.text)

    async def _read_decided(self, line: SessionLine) -> SessionLine:
        remembered = await self._resources.memory.get(line.session)
        if remembered is not None and remembered.record.badge:
            return _add_record(line, remembered)
        # Not remembered: imported, or ended by a process that died before it could.
        from moothall.app.session_reader import read_session
        from moothall.reports.memo import summarize_decision

        plugin, timeline = await read_session(self._resources, line.session)
        decision = plugin.decision(timeline)
        summary = summarize_decision(decision)
        is_decided = decision.decision is not None
        line = replace(
            line,
            standing=describe_status(line.status, is_decided=is_decided),
            choice=decision.short_choice,
            leading=decision.leading_note,
            strength=decision.strength,
            stand_in=timeline.session_state.stand_in,
        )
        return _add_summary(line, summary)


def _add_record(line: SessionLine, remembered: "RememberedDecision") -> SessionLine:
    """Return the line of a session that ended with what memory has of it."""
    from moothall.reports.decision import summarize_choice

    record, choice = remembered.record, ""
    if record.text is not None:
        choice = summarize_choice(record.choice, record.text)
    line = replace(
        line,
        standing=describe_status(line.status, is_decided=record.text is not None),
        choice=choice,
        leading=record.leading,
        strength=record.strength,
        stand_in=remembered.stand_in,
    )
    return _add_summary(line, record)


def _add_summary(line: SessionLine, summary: "MemoSummary | DecisionRecorded") -> SessionLine:
    return replace(line, badge=summary.badge, what=summary.what, reservation=summary.reservation)


def describe_status(
    status: SessionStatus | Unreadable,
    *,
    is_decided: bool = False,
    is_waiting: bool = False,
    is_running: bool = False,
) -> Standing:
    """Where a session stands, in one word for lists. `waiting`: for answers from outside; `stopped`: no process runs it."""
    if status == "concluded":
        if is_decided:
            return "decided"
        return "undecided"
    if status == "thinking":
        if is_waiting:
            return "waiting"
        if is_running:
            return "running"
        return "stopped"
    return status


def _get_last_time(cached: _CachedLine) -> datetime:
    return cached.line.last_at


def _is_readable(cached: _CachedLine) -> bool:
    shown = cached.outcome or cached.line
    return not {shown.standing, cached.line.status} & {"damaged", "newer", "not_installed"}


def _find_line_version(protocol: str) -> list[int] | None:
    """What stands behind a stored line of a protocol: nothing for Moot's own; None where its lines are not stored.

    Another distribution's protocol may be gone by the next time, which the list has to say.
    """
    # Imported here: a process that has nothing new to save has read no protocol.
    from moothall.app.features import index_protocols

    if protocol in index_protocols():
        return []
    from moothall.app.plugins import load_plugins

    for feature in load_plugins().features:
        if protocol in feature.protocols and feature.line_version:
            return [feature.line_version]
    return None


def _encode_line(cached: _CachedLine) -> list[Any]:
    """A line as the file has it; one whose outcome nobody asked for has no standing."""
    shown = cached.outcome or cached.line
    values: dict[str, Any] = {field: getattr(shown, field) for field in _STORED_FIELDS}
    if cached.outcome is None:
        values["standing"] = ""
    return [cached.first.hex(), cached.last.hex(), *values.values()]


def _add_label(line: SessionLine, label: "SessionLabel | None") -> SessionLine:
    """The line with what it was labelled with later; as it is where nobody labelled it."""
    if label is None:
        return line
    if label.tags is None:
        return replace(line, is_away=label.is_away)
    return replace(line, is_away=label.is_away, tags=label.tags)


def _start_line(head: Head) -> SessionLine:
    """The line of a session of which only the records are known."""
    return SessionLine(
        session=head.session,
        protocol="",
        topic="",
        status="damaged",
        opened_at=to_datetime(head.first.at),
        last_at=to_datetime(head.last.at),
        entries=head.last.seq,
    )


def _explain_parking(last: Fact, language: str) -> str:
    """Why a session is parked, in its language; empty where its last entry is another one."""
    if not isinstance(last, SessionParked):
        return ""
    # Imported here: few lists have one that is parked.
    from moothall.reports.wording import explain_outage

    return explain_outage(last.causes, language)


def _derive_status(last: object) -> SessionStatus:
    if isinstance(last, SessionCancelled):
        return "cancelled"
    if isinstance(last, SessionParked):
        return "parked"
    if isinstance(last, Closed):
        return "concluded"
    return "thinking"
