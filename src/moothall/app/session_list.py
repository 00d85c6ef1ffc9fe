"""The list of sessions: where each stands and what was decided.

A line is kept between processes, and is good as long as its session has not grown: a list of sessions that are known reads
neither facts nor protocols.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from moothall.app.version import VERSION
from moothall.codec.chain import to_datetime
from moothall.disk.private import make_private_folder, write_private
from moothall.domain.facts import Closed, Opened, SessionCancelled, SessionParked
from moothall.domain.ids import SessionId
from moothall.domain.records import Head
from moothall.errors import LedgerDamaged, LedgerNewer, ProtocolMissing

if TYPE_CHECKING:
    from moothall.app.moot import Moot
    from moothall.reports.decision import Status

Standing = Literal["decided", "undecided", "parked", "waiting", "running", "stopped", "cancelled", "damaged", "not_installed"]

FORM: Final = [1, VERSION]
"""What lines are written by; those of another form are built again. The number changes with what a line says."""
MAX_KEPT: Final = 5_000
_KEPT: Final = ("protocol", "topic", "status", "is_hosted", "is_demo", "parked", "standing", "choice", "strength")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionLine:
    """A session in a list. `add_outcomes` fills in where it stands, what was decided and what that is worth."""

    session: SessionId
    protocol: str
    topic: str
    status: "Status | Literal['damaged', 'not_installed']"
    opened_at: datetime
    last_at: datetime
    entries: int
    is_hosted: bool = False
    is_demo: bool = False
    parked: str = ""
    standing: Standing | None = None
    choice: str = ""
    strength: str = ""


class _KeptLine(NamedTuple):
    """What is known of a session whose first and last record have these hashes. `outcome` has its standing, too.

    Whether a process runs it may change without an entry: only for a session that waits for nobody outside it is asked again.
    """

    first: bytes
    last: bytes
    line: SessionLine
    outcome: SessionLine | None = None


class SessionList:
    """The lines of one ledger's sessions; `path` is the file that keeps them (None: none does)."""

    def __init__(self, moot: "Moot", path: Path | None) -> None:
        self._moot = moot
        self._path = path
        self._stored = {} if path is None else _read_lines(path)
        self._kept: dict[SessionId, _KeptLine] = {}
        self._has_news = False

    def build_line(self, head: Head) -> SessionLine:
        """Return the line of a session without its outcome."""
        kept = self._kept.get(head.session) or self._take_stored(head)
        if kept is None or (kept.first, kept.last) != (head.first.hash, head.last.hash):
            kept = self._keep(_KeptLine(head.first.hash, head.last.hash, self._read_line(head)))
        return kept.line

    async def add_outcomes(self, lines: Sequence[SessionLine]) -> list[SessionLine]:
        """Return the lines with what was decided, and with where those stand that go on (M-9)."""
        return [await self._add_outcome(line) for line in lines]

    def save(self) -> None:
        """Write what is new to the file; where that cannot be, the next process reads the sessions again."""
        if self._path is None or not self._has_news:
            return
        # Imported here: whoever has nothing new to keep has read no protocol.
        from moothall.app.protocols import OWN_PROTOCOLS

        lines: dict[str, list[Any]] = {
            str(name): [kept.first.hex(), kept.last.hex(), *(getattr(kept.outcome, field) for field in _KEPT)]
            for name, kept in self._kept.items()
            # Another distribution's protocol may be gone by then, which the list has to say.
            if kept.outcome is not None and kept.outcome.standing != "damaged" and kept.line.protocol in OWN_PROTOCOLS
        }
        # With those that this process did not look at: the newest are the last.
        newest = dict(list({**self._stored, **lines}.items())[-MAX_KEPT:])
        with suppress(OSError):
            make_private_folder(self._path.parent)
            write_private(self._path, json.dumps({"form": FORM, "lines": newest}), over=True)
        self._has_news = False

    def _take_stored(self, head: Head) -> _KeptLine | None:
        fields = self._stored.pop(head.session, None)
        if fields is None or fields[:2] != [head.first.hash.hex(), head.last.hash.hex()]:
            return None
        outcome = replace(_start_line(head), **dict(zip(_KEPT, fields[2:], strict=True)))
        line = replace(outcome, standing=None, choice="", strength="")
        return self._keep(_KeptLine(head.first.hash, head.last.hash, line, outcome), is_new=False)

    def _keep(self, kept: _KeptLine, *, is_new: bool = True) -> _KeptLine:
        # The oldest goes: what is listed again comes back.
        if kept.line.session not in self._kept and len(self._kept) >= MAX_KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[kept.line.session] = kept
        self._has_news |= is_new
        return kept

    def _read_line(self, head: Head) -> SessionLine:
        from moothall.codec.stored import read_topic

        line, engine = _start_line(head), self._moot.engine
        try:
            opened, last = engine.entry(head.first).fact, engine.entry(head.last).fact
        except ProtocolMissing as error:
            return replace(line, protocol=error.protocol, topic=read_topic(head.first.body), status="not_installed")
        except (LedgerDamaged, LedgerNewer):
            return line
        if not isinstance(opened, Opened):
            return line
        return replace(
            line,
            protocol=self._moot.find_plugin(opened).name,
            topic=opened.topic,
            status=_derive_status(last),
            is_hosted=opened.hosted,
            is_demo=bool(opened.demo),
            parked=last.reason if isinstance(last, SessionParked) else "",
        )

    async def _add_outcome(self, line: SessionLine) -> SessionLine:
        kept = self._kept.get(line.session)
        if kept is None or kept.line != line:
            return await self._read_outcome(line)
        if kept.outcome is None:
            kept = self._keep(kept._replace(outcome=await self._read_outcome(line)))
        outcome = kept.outcome
        assert outcome is not None
        if outcome.standing in {"running", "stopped"}:
            is_running = await self._moot.is_running(line.session)
            return replace(outcome, standing=describe_status(line.status, is_running=is_running))
        return outcome

    async def _read_outcome(self, line: SessionLine) -> SessionLine:
        try:
            if line.status == "thinking":
                is_waiting = (await self._moot.engine.load_snapshot(line.session)).session_state.is_waiting_outside
                is_running = not is_waiting and await self._moot.is_running(line.session)
                return replace(line, standing=describe_status(line.status, is_waiting=is_waiting, is_running=is_running))
            if line.status == "concluded":
                return await self._read_decided(line)
        except (LedgerDamaged, LedgerNewer):
            # One that cannot be read must not hide the others.
            return replace(line, standing="damaged")
        return replace(line, standing=describe_status(line.status))

    async def _read_decided(self, line: SessionLine) -> SessionLine:
        kept = await self._moot.memory.get(line.session)
        if kept is not None and (kept.record.strength or kept.record.text is None):
            choice, decided, strength = kept.record.choice, kept.record.text, kept.record.strength or "none"
        else:
            # Not remembered: imported, or ended by a process that died before it could. Version 0.1.0 remembered no strength.
            found = await self._moot.decision(line.session)
            choice, strength = found.choice, found.strength
            decided = None if found.decision is None else found.decision.text
        from moothall.reports.decision import summarize_choice

        standing = describe_status(line.status, is_decided=decided is not None)
        what = "" if decided is None else summarize_choice(choice, decided)
        return replace(line, standing=standing, choice=what, strength=strength)


def describe_status(
    status: "Status | Literal['damaged', 'not_installed']",
    *,
    is_decided: bool = False,
    is_waiting: bool = False,
    is_running: bool = False,
) -> Standing:
    """Where a session stands, in one word for lists. `waiting`: for answers from outside; `stopped`: no process runs it."""
    if status == "concluded":
        return "decided" if is_decided else "undecided"
    if status == "thinking":
        return "waiting" if is_waiting else "running" if is_running else "stopped"
    return status


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


def _derive_status(last: object) -> "Status":
    if isinstance(last, SessionCancelled):
        return "cancelled"
    if isinstance(last, SessionParked):
        return "parked"
    return "concluded" if isinstance(last, Closed) else "thinking"


def _read_lines(path: Path) -> dict[str, list[Any]]:
    """The lines in a file; none if it is missing, damaged or of another form."""
    try:
        stored = json.loads(path.read_bytes())
        lines = stored["lines"] if stored["form"] == FORM else {}
        return {name: fields for name, fields in lines.items() if len(fields) == 2 + len(_KEPT)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
