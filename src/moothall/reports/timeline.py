"""A session for people, entry by entry: what every protocol's timeline has in common.

A timeline grows with its session, unlike the state that a rulebook folds: it keeps every line that was said.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeVar

from moothall.domain import facts
from moothall.domain.budget import FREE, Spent
from moothall.domain.causes import Cause
from moothall.domain.effects import Rulebook
from moothall.domain.facts import Entry, SessionStatus
from moothall.domain.ids import USER, SeatId, SessionId, find_asked_seat, parse_ask_kind
from moothall.domain.replace import dataclass
from moothall.domain.roster import Seat
from moothall.domain.session_state import ProtocolState, SessionState, apply, build_session_state
from moothall.locale.catalogues import SHARED_REPORT
from moothall.reports.decision import ObligationState
from moothall.reports.wording import explain_outage
from moothall.scoring.reliability import TrackShare

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class LossLine:
    """One time that a seat failed."""

    seq: int
    seat: SeatId
    asked_for: str
    reason: facts.Loss
    cause: Cause

    @property
    def detail(self) -> str:
        """The cause in English."""
        return str(self.cause)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineLine:
    """Something that was said; `seq` is the ledger's entry that made it. Protocols add what else they know of a line."""

    id: int
    seq: int
    timestamp: str
    speaker: SeatId
    content: str


@dataclass(frozen=True, slots=True)
class ToolLine:
    """One use of a tool: the ledger's entry, its time, and what was called."""

    seq: int
    timestamp: str
    fact: facts.ToolUsed


@dataclass(frozen=True, slots=True)
class SessionPhase:
    """A phase, round or step of a session, in words for people."""

    name: str
    state: Literal["done", "now", "ahead"]


def mark_phases(names: Iterable[str], now: int) -> list[SessionPhase]:
    """Phases by their names; the one at the index `now` is under way."""
    phases = []
    for at, name in enumerate(names):
        if at < now:
            phases.append(SessionPhase(name, "done"))
        elif at == now:
            phases.append(SessionPhase(name, "now"))
        else:
            phases.append(SessionPhase(name, "ahead"))
    return phases


class EntryFilter(Protocol):
    """Takes entries out that the protocol of a session does not see: those of its director."""

    def take(self, entry: Entry) -> Entry | None:
        """Return the entry as the protocol sees it; None if it does not concern it."""


class SessionTimeline:
    """What all protocols share: what is spent, who was lost, who spoke how, when it was. Entries come in order.

    `settled` is what became of the decision's obligations, by number, and `track_record` how often decisions like it were
    right, as memory knows it; so is `is_reviewed`, whether it was said how it turned out. `lost_since` is the entry of the
    first loss after which the session got no further, 0 if the last asks were answered. `asked_at` says when each ask was put,
    `answered_at` which entry is the last answer of a seat, `answers` the entries and doors of those of a kind, `speakers` who
    gave it where the seat was swapped since, `forked` where it comes from, `shows_all_given` whether what was given is shown
    whole while it runs.
    """

    lines: Sequence[TimelineLine] = ()
    hides_sealed: bool = False
    """Whether its lines leave out what is sealed. If not, a live view waits until it may be read."""
    seals_losses: bool = False
    """Whether nobody may know who failed while answers are sealed."""
    checks_evidence: bool = False
    """Whether the protocol itself checks what is quoted of the given files, and says so."""
    director: EntryFilter | None = None
    """Who takes the entries first, in a session with consultations."""

    def __init__(self, session: SessionId) -> None:
        self.session = session
        self.losses: list[LossLine] = []
        self.origins: dict[int, facts.Reply] = {}
        self.answers: dict[tuple[SeatId, str], list[tuple[int, str]]] = {}
        self.spent_by_seat: dict[SeatId, Spent] = {}
        self.tool_uses: list[ToolLine] = []
        self.settled: Mapping[int, ObligationState] = {}
        self.is_reviewed = False
        self.shows_all_given = True
        self.track_record: TrackShare | None = None
        self.seq = 0
        self.closed: facts.Closed | None = None
        self.lost_since = 0
        self.asked_at: dict[str, datetime] = {}
        self.answered_at: dict[SeatId, int] = {}
        self.speakers: dict[SeatId, Seat] = {}
        self.forked: facts.SessionForked | None = None
        self.groupings: list[facts.AnswersGrouped] = []
        self._is_answered = False
        self._session_state: SessionState | None = None
        self._opened_at: datetime | None = None
        self._built: dict[Hashable, tuple[tuple[object, ...], Any]] = {}

    def build_once(self, key: Hashable, source: tuple[object, ...], build: Callable[[], T]) -> T:
        """Return what was built under a key from an equal source before, or build it: a report is built after each entry."""
        known = self._built.get(key)
        if known is None or known[0] != source:
            known = self._built[key] = (source, build())
        built: T = known[1]
        return built

    def has_built(self, key: Hashable, source: tuple[object, ...]) -> bool:
        """Whether `build_once` has it already."""
        known = self._built.get(key)
        return known is not None and known[0] == source

    def add(self, entry: Entry) -> None:
        """Take in one more entry."""
        self.apply_shared(entry)
        seen = entry if self.director is None else self.director.take(entry)
        if seen is not None:
            self.apply_own(seen)

    def apply_own(self, entry: Entry) -> None:
        """Take in an entry as the protocol sees it."""

    @property
    def session_state(self) -> SessionState:
        assert self._session_state is not None, "a timeline begins with the opening"
        return self._session_state

    @property
    def shared_state(self) -> ProtocolState:
        """The state whose seats and losses count in a decision."""
        return self.session_state

    @property
    def language(self) -> facts.Language:
        return self.session_state.opened.language

    @property
    def status(self) -> SessionStatus:
        """Whether the session goes on, waits out an outage, or how it ended."""
        if self.closed is not None:
            return "cancelled" if isinstance(self.closed, facts.SessionCancelled) else "concluded"
        return "thinking" if self.session_state.parked is None else "parked"

    @property
    def parked(self) -> str:
        """Why the session is parked, in its language; empty if it is not."""
        parked = self.session_state.parked
        return "" if parked is None else explain_outage(parked.causes, self.language)

    @property
    def spent(self) -> Spent:
        """What the whole session spent, in tokens, money and running time."""
        return self.session_state.spent

    @property
    def opened_at(self) -> datetime:
        assert self._opened_at is not None
        return self._opened_at

    @property
    def last_at(self) -> datetime:
        return self.session_state.at

    def find_door(self, seat: SeatId, kind: str) -> str:
        """The door of a seat's last answer of a kind; empty where it gave none, or Moot asked for it."""
        return self.answers.get((seat, kind), [(0, "")])[-1][1]

    def find_first_door(self, seat: SeatId, kind: str) -> str:
        """The door of a seat's first answer of a kind, likewise."""
        return self.answers.get((seat, kind), [(0, "")])[0][1]

    def apply_shared(self, entry: Entry) -> None:
        """Take in one more entry, as far as all protocols share it."""
        self.seq = entry.seq
        fact = entry.fact
        if isinstance(fact, facts.Opened):
            self._session_state = build_session_state(entry, fact)
            self._opened_at = entry.at
            return
        if isinstance(fact, facts.SeatsSwapped | facts.SessionForked):
            swapped = {swap.seat for swap in fact.swaps} & self.answered_at.keys()
            self.speakers = {
                seat.id: seat for seat in self.session_state.seats if seat.id in swapped
            } | self.speakers
        self._session_state = apply(self.session_state, entry)
        if isinstance(fact, facts.Reply | facts.SeatLost):
            self.spent_by_seat[fact.seat] = self.spent_by_seat.get(fact.seat, Spent()).plus(
                fact.usage
            )
        if isinstance(fact, facts.AsksSent) and fact.usage != FREE:
            for ask in fact.asks:
                seat = find_asked_seat(ask)
                spent = self.spent_by_seat.get(seat, Spent())
                self.spent_by_seat[seat] = spent.plus(fact.usage)
        if isinstance(fact, facts.Reply):
            self.answers.setdefault((fact.seat, parse_ask_kind(fact.ask)), []).append(
                (entry.seq, fact.origin)
            )
            if fact.origin or fact.model or fact.corrections:
                self.origins[entry.seq] = fact
            self._is_answered = True
            self.answered_at[fact.seat] = entry.seq
            self.speakers.pop(fact.seat, None)
        if isinstance(fact, facts.SeatLost):
            kind = parse_ask_kind(fact.ask)
            self.losses.append(
                LossLine(
                    seq=entry.seq,
                    seat=fact.seat,
                    asked_for=kind,
                    reason=fact.reason,
                    cause=fact.cause,
                )
            )
            self.lost_since = self.lost_since or entry.seq
        if isinstance(fact, facts.AsksSent):
            # Further asks after an answer: the session went on in spite of the losses before.
            if self._is_answered:
                self.lost_since, self._is_answered = 0, False
            self.asked_at = {
                ask: self.asked_at.get(ask, entry.at) for ask in self.session_state.pending
            }
        if isinstance(fact, facts.SessionForked):
            self.forked = fact
        if isinstance(fact, facts.AnswersGrouped):
            self.groupings.append(fact)
        if isinstance(fact, facts.ToolUsed):
            self.tool_uses.append(ToolLine(entry.seq, format_time(entry.at), fact))
        if isinstance(fact, facts.Closed):
            self.closed = fact

    def list_phases(self) -> Sequence[SessionPhase]:
        """The phases, rounds or steps of the session, as far as they are known; a protocol without any has none."""
        return ()

    def list_silences(self) -> Mapping[SeatId, str]:
        """Who chose to say nothing now, and why in the session's language."""
        return {}

    def list_breaks(self) -> Sequence[tuple[int, str]]:
        """Where a new part of the timeline begins: the ledger's entry and a title, in order."""
        return ()


class TimelineBase(SessionTimeline, Generic[S]):
    """The timeline of a protocol: folds its state as well. Override `begin` and `follow` to keep lines."""

    def __init__(self, session: SessionId, rules: Rulebook[S]) -> None:
        super().__init__(session)
        self._rules = rules
        self._state: S | None = None

    @property
    def state(self) -> S:
        """The protocol's state after the last entry."""
        assert self._state is not None, "a timeline begins with the opening"
        return self._state

    @property
    def shared_state(self) -> ProtocolState:
        # A seat that failed to advise another has not failed the protocol: its own state does not know that loss.
        return self.state if isinstance(self.state, ProtocolState) else self.session_state

    def apply_own(self, entry: Entry) -> None:
        if isinstance(entry.fact, facts.Opened):
            self._state = self._rules.initial(entry.fact)
            self.begin(entry)
            return
        before = self.state
        self._state = self._rules.evolve(before, entry)
        self.follow(before, entry)

    def begin(self, entry: Entry) -> None:
        """The opening came: keep what is said in it."""

    def follow(self, before: S, entry: Entry) -> None:
        """One more entry came: keep what is said in it. `before` is the state before it, `self.state` the one after it."""


P = TypeVar("P", bound=ProtocolState)


class SpokenTimeline(TimelineBase[P]):
    """The timeline of what seats said, for protocols whose lines are no more than that: `follow` calls `say`.

    While the state is sealed (`ProtocolState.is_sealed`), a line says who wrote, and not what.
    """

    hides_sealed = True

    def __init__(self, session: SessionId, rules: Rulebook[P]) -> None:
        super().__init__(session, rules)
        self.lines: list[TimelineLine] = []
        self._sealed: dict[int, str] = {}

    def say(self, entry: Entry, speaker: SeatId, text: str) -> None:
        """Add a line with these words of an entry."""
        number, words = len(self.lines) + 1, SHARED_REPORT[self.language].sealed
        # The user is no seat: its words are for everybody at once.
        if speaker != USER:
            self._sealed[number] = text
        content = words if number in self._sealed else text
        self.lines.append(build_line(TimelineLine, entry, number, speaker, content))

    def add(self, entry: Entry) -> None:
        super().add(entry)
        state = self.state
        is_open = self.closed is not None or not state.is_sealed
        for number in [
            each
            for each in self._sealed
            if is_open or self.lines[each - 1].seq <= state.sealed_after
        ]:
            self.lines[number - 1] = replace(
                self.lines[number - 1], content=self._sealed.pop(number)
            )


L = TypeVar("L", bound=TimelineLine)


def build_line(
    kind: type[L], entry: Entry, number: int, speaker: SeatId, text: str, **more: Any
) -> L:
    """Return the line of these words of an entry; `more` is what else its kind of line knows."""
    return kind(
        id=number,
        seq=entry.seq,
        timestamp=format_time(entry.at),
        speaker=speaker,
        content=text,
        **more,
    )


def format_time(at: datetime) -> str:
    """A time as records show it."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
