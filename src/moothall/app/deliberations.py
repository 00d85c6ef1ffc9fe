"""Deliberations with outside participants: open, contribute, wait, close, across processes and days.

The service of one family of protocols, the council's: its rules and states are known here by their classes.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, Literal, Unpack

from pydantic import ValidationError

from moothall.app.moot import Moot
from moothall.app.session_options import Options
from moothall.codec.adapters import get_adapter
from moothall.domain.effects import Ask
from moothall.domain.facts import Entry, Opened
from moothall.domain.ids import USER, KeyedCall, SeatId, SessionId, parse_seat_id, parse_session_id
from moothall.domain.roster import NEUTRAL_TRUST, UNREMEMBERED, Seat, find_stand_in
from moothall.engine.outside_answers import OutstandingAsk
from moothall.engine.snapshot import Snapshot
from moothall.errors import (
    BadRoster,
    KeyReused,
    OutOfTurn,
    SessionClosed,
    SessionExists,
    UnknownSeat,
    UnknownSession,
)
from moothall.ports.runner import MAX_WAIT_SECONDS, PROGRESS_SECONDS
from moothall.protocols.consultation.rules import ConsultingRulebook
from moothall.protocols.council.answer_table import FORMS
from moothall.protocols.council.ballots import find_candidate_ids, find_early_votes
from moothall.protocols.council.facts import Contribution
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.state import Council, CouncilLine, has_voted
from moothall.protocols.council.validation import AllowedTypes, list_offered_types
from moothall.reading.answers import parse_answer
from moothall.reading.non_answers import drop_choice_label
from moothall.scoring.independence import is_same_family

ANSWER_SECONDS: Final = 0.1
"""How long the answers to those who took part in a session that has ended come before the memory of it."""
_OTHER_TOOLS: Final = {"swarm": "swarm_round and swarm_report"}
Progress = Callable[[float, float], Awaitable[None]]
Nudge = Callable[[SessionId], None]


@dataclass(frozen=True)
class DeliberationState:
    snapshot: Snapshot
    rules: CouncilRules
    council: Council

    @property
    def allowed(self) -> dict[SeatId, tuple[str, ...]]:
        """What each seat may contribute now."""
        types = AllowedTypes.of(self.rules.variant, self.council)
        return {seat.id: types.list_types(seat) for seat in self.council.seats}

    def list_allowed(self, name: SeatId) -> tuple[str, ...] | None:
        """Return what one seat may contribute now; None if there is no such seat."""
        seat = self.find_seat(name)
        if seat is None:
            return None
        return AllowedTypes.of(self.rules.variant, self.council).list_types(seat)

    def find_seat(self, name: SeatId) -> Seat | None:
        for seat in self.council.seats:
            if seat.id == name:
                return seat
        return None

    def list_offered(self, name: SeatId) -> tuple[str, ...]:
        """Return what one seat is asked for now."""
        return list_offered_types(self.rules.variant, self.council, name)

    @cached_property
    def waiting_for(self) -> list[SeatId]:
        seats = []
        for effect in self.rules.decide(self.council):
            if isinstance(effect, Ask) and not effect.invited:
                seats.append(effect.seat)
        return seats

    def lines(self, seat: SeatId | None, since: int = 0) -> list[CouncilLine]:
        """Return the lines that a seat (None: anyone) may read, and that were written or revealed after a ledger entry."""
        return [
            line
            for line in self.council.list_visible_lines(seat)
            if self.find_reveal_entry(line, seat) > since
        ]

    def find_reveal_entry(self, line: CouncilLine, seat: SeatId | None) -> int:
        """Return the entry from which on a seat can read a line: sealed lines of others are revealed later."""
        if line.seat in {seat, USER}:
            return line.seq
        return self.council.find_reveal_entry(line)

    def last_visit(self, seat: SeatId) -> int:
        """Return the entry up to which a seat has surely read: that of its last line but one."""
        # A seat may have written its last line without reading what came before it.
        own = [line.seq for line in self.council.lines if line.seat == seat]
        if len(own) < 2:
            return 0
        return own[-2]


WaitStatus = Literal["your_turn", "pending", "closed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitResult:
    """The result of waiting. `cursor` is where to continue reading."""

    status: WaitStatus
    place: DeliberationState
    new: tuple[CouncilLine, ...]
    cursor: int
    ask: OutstandingAsk | None = None


@dataclass(frozen=True, slots=True)
class RecordedContribution:
    """The entry that holds a contribution, and the state after it."""

    entry: Entry
    state: DeliberationState


class Deliberations:
    """Works on the sessions of one `Moot`; `nudge` signals the runner that a session has changed."""

    def __init__(self, moot: Moot, nudge: Nudge | None = None) -> None:
        self._moot = moot
        self._nudge = nudge or (lambda session: None)
        self.stopping = asyncio.Event()

    async def open(
        self,
        topic: str,
        keyed: KeyedCall | None = None,
        *,
        key: str = "",
        by: str = "",
        **options: Unpack[Options],
    ) -> SessionId:
        """Open a deliberation; the same words of a caller under the same key return the existing one.

        `keyed` has the words that came through a door, which `find_opened` is asked for first; with a `key` alone, topic and
        options are the words. Raises as `Moot.open`, and KeyReused for other words.
        """
        if keyed is None and key:
            keyed = _describe_words(topic, options, key, by)
            earlier = await self.find_opened(keyed)
            if earlier is not None:
                return earlier
        if keyed is None or not keyed.key:
            session = await self._moot.open(topic, **options)
            self._nudge(session)
            return session
        options["session"] = derive_session_id(keyed.by, keyed.key)
        options["words_digest"] = keyed.digest
        try:
            session = await self._moot.open(topic, **options)
        except SessionExists:
            earlier = await self.find_opened(keyed)
            return earlier or await self._find_of_older_version(keyed, topic, options)
        self._nudge(session)
        return session

    async def find_opened(self, keyed: KeyedCall) -> SessionId | None:
        """Return the session that these words opened under this key; raises KeyReused for other words.

        None also for the session of an older version, which has not recorded the words.
        """
        if not keyed.key:
            return None
        session = derive_session_id(keyed.by, keyed.key)
        try:
            opened = (await self._moot.engine.load_snapshot(session)).session_state.opened
        except UnknownSession:
            return None
        if not opened.words_digest:
            return None
        if opened.words_digest != keyed.digest:
            raise _build_key_reused(keyed, session)
        await self._take_up(session, opened)
        return session

    async def _find_of_older_version(
        self, keyed: KeyedCall, topic: str, options: Options
    ) -> SessionId:
        """Return the session if what it was opened with is what these options would open; raises KeyReused."""
        session = derive_session_id(keyed.by, keyed.key)
        opened = (await self._moot.engine.load_snapshot(session)).session_state.opened
        again = options.copy()
        # No check of its seats: an outage since then does not make it another opening.
        again["session"], again["memory"], again["check"] = None, False, False
        wanted = (await self._moot.plan_session(topic, **again)).opened
        if _normalize_opening(opened) != _normalize_opening(wanted):
            raise _build_key_reused(keyed, session)
        await self._take_up(session, opened)
        return session

    async def _take_up(self, session: SessionId, opened: Opened) -> None:
        """Do what the call that opened a session may have been cut off before."""
        thread = opened.subject.thread
        if thread and find_stand_in(opened.seats, opened.demo) not in UNREMEMBERED:
            await self._moot.memory.join_thread(thread, session)
        self._nudge(session)

    async def load_state(self, session: str) -> DeliberationState:
        """Return the state of a deliberation; raises UnknownSession also for sessions of other protocols."""
        return build_deliberation_state(
            await self._moot.engine.load_snapshot(parse_session_id(session))
        )

    async def contribute(
        self, session: str, seat: str, said: dict[str, Any], key: str = "", *, via: str = ""
    ) -> RecordedContribution:
        """Record what a seat says; the same key counts once. The ledger is read once. `via` is the door.

        Without a key, the content that the seat said last counts once, until the seat is asked for something new.

        Raises OutOfTurn, UnknownSeat, BadAnswer, KeyReused, SessionClosed, UnknownSession.
        """
        name, speaker = parse_session_id(session), parse_seat_id(seat)
        contribution = _read_contribution(said)

        def find_earlier(snapshot: Snapshot) -> int | None:
            place = build_deliberation_state(snapshot)
            if place.council.is_stating_facts and not snapshot.is_closed:
                raise OutOfTurn(
                    f"{speaker!r} is asked for facts before positions: answer_ask takes them, as "
                    '{"facts": [{"fact": "…", "source": "…"}]}'
                )
            # Who gives a key says by it what is a retry, and what is said anew in equal words.
            if not key:
                earlier = _find_repeated(place, speaker, contribution)
                if earlier is not None:
                    return earlier
            # The engine refuses unknown seats and closed sessions.
            allowed = place.list_allowed(speaker)
            if allowed is not None and not snapshot.is_closed and contribution.type not in allowed:
                raise _build_out_of_turn(place, speaker, contribution.type, allowed)
            return None

        # What was parsed here is not parsed again: a value of the right shape is taken as it is.
        entry = await self._moot.engine.contribute(
            name, speaker, contribution, key, said_before=find_earlier, via=via
        )
        return RecordedContribution(entry, build_deliberation_state(await self._follow_up(name)))

    async def state_family(self, session: str, seat: str, family: str, *, via: str = "") -> None:
        """Record of which model family the agent in a seat is (D-20): before its first vote, and not against the opening.

        In a session that has ended nothing changes. Raises UnknownSeat, BadRoster, OutOfTurn, UnknownSession.
        """
        name, speaker = parse_session_id(session), parse_seat_id(seat)
        place = await self.load_state(name)
        if place.snapshot.is_closed:
            return
        held = place.find_seat(speaker)
        if held is not None and held.family and is_same_family(held.family, family):
            return
        given = {each.id: each.family for each in place.council.opened.seats}

        def check(snapshot: Snapshot, seat: Seat) -> None:
            if given[seat.id]:
                raise BadRoster(
                    f"{seat.id!r} was opened with the family {given[seat.id]!r}; it cannot be of {family!r}"
                )
            if has_voted(build_deliberation_state(snapshot).council, seat.id):
                raise OutOfTurn(
                    f"{seat.id!r} has voted already; its family is fixed from its first vote on"
                )

        try:
            await self._moot.engine.state_family(name, speaker, family, via=via, check=check)
        except SessionClosed:
            return

    async def close(self, session: str, *, by: str = "", force: bool = False) -> DeliberationState:
        """Compute and record the decision from the existing votes; a closed one is returned unchanged. Raises OutOfTurn."""
        name = parse_session_id(session)
        place = await self.load_state(name)
        if place.snapshot.is_closed:
            return place
        council = place.council
        has_votes = council.votes or find_early_votes(
            council, find_candidate_ids(place.rules.variant, council)
        )
        if not force and council.phase not in {"vote", "decide"} and not has_votes:
            waiting = ", ".join(place.waiting_for) or "nobody"
            raise OutOfTurn(
                f"no vote has been cast: the deliberation is in the phase {place.council.phase!r} and waits for: {waiting}; "
                "contribute first, or close it now with force"
            )
        try:
            await self._moot.engine.call_close(name, by)
        except SessionClosed:
            return await self.load_state(name)
        await self._follow_up(name)
        return await self.load_state(name)

    async def wait(
        self,
        session: str,
        seat: str,
        *,
        reader: SeatId | None = None,
        cursor: int | None = None,
        timeout: float = 45.0,
        progress: Progress | None = None,
    ) -> WaitResult:
        """Wait until a seat has a turn or the session ends; `pending` on a timeout, or when this process is `stopping`.

        `reader` is as whom new lines are read: blind lines are visible to their author only.
        """
        name, speaker = parse_session_id(session), parse_seat_id(seat)
        loop = asyncio.get_running_loop()
        started = loop.time()
        ends = started + min(max(0.0, timeout), MAX_WAIT_SECONDS)
        seen: int | None = None
        is_nudged = False
        while True:
            if progress is not None:
                await progress(loop.time() - started, timeout)
            # Only who was told of a change need not look at the ledger itself.
            if seen is None:
                place = await self.load_state(name)
            else:
                place = build_deliberation_state(await self._moot.engine.load_after(name, seen))
            if place.find_seat(speaker) is None:
                known = ", ".join(each.id for each in place.council.seats)
                raise UnknownSeat(f"{speaker!r} has no seat in {name!r}; the seats are: {known}")
            if not is_nudged:
                # The process that ran the session may be gone: somebody must run it while we wait. Not for a seat that is none.
                self._nudge(name)
                is_nudged = True
            ask = self._moot.engine.find_turn(place.snapshot, speaker)
            if (
                ask is not None
                and (await self._moot.engine.load_recent(name)).seq > place.snapshot.seq
            ):
                # It went on in between: a turn may be over.
                seen = place.snapshot.seq
                continue
            left = ends - loop.time()
            if ask is not None or place.snapshot.is_closed or left <= 0 or self.stopping.is_set():
                return _build_wait_result(place, speaker, reader, cursor, ask)
            # Woken at least every PROGRESS_SECONDS, so that the caller's connection sees progress.
            is_changed = await self.wait_for_change(
                name, place.snapshot.seq, min(left, PROGRESS_SECONDS)
            )
            seen = None
            if is_changed:
                seen = place.snapshot.seq
                self._nudge(name)

    async def wait_for_change(self, session: SessionId, after: int, timeout: float) -> bool:
        """Whether a session changed within a time; returns at once when this process is `stopping`."""
        changed = asyncio.create_task(self._moot.engine.wait_for_change(session, after))
        stopped = asyncio.create_task(self.stopping.wait())
        try:
            done, _ = await asyncio.wait(
                [changed, stopped], timeout=timeout, return_when=asyncio.FIRST_COMPLETED
            )
            # The result raises what went wrong.
            return changed in done and changed.result() > after and not self.stopping.is_set()
        finally:
            # Also one that has failed: its failure then counts as seen, and the event loop does not report it.
            changed.cancel()
            stopped.cancel()

    async def _follow_up(self, session: SessionId) -> Snapshot:
        """Let the session continue after a change, have it remembered when it has ended, and return its snapshot."""
        self._nudge(session)
        snapshot = await self._moot.engine.load_recent(session)
        if snapshot.is_closed:
            self._moot.remembering.remember_soon(session, ANSWER_SECONDS)
        return snapshot


def _build_wait_result(
    place: DeliberationState,
    seat: SeatId,
    reader: SeatId | None,
    cursor: int | None,
    ask: OutstandingAsk | None,
) -> WaitResult:
    if cursor is None:
        lines = place.lines(reader, place.last_visit(seat))
        new = tuple(line for line in lines if line.seat != seat)
    else:
        new = tuple(place.lines(reader, cursor))
    return WaitResult(
        status=_describe_wait(place, ask),
        place=place,
        new=new,
        cursor=place.snapshot.seq,
        ask=ask,
    )


def _describe_wait(place: DeliberationState, ask: OutstandingAsk | None) -> WaitStatus:
    if place.snapshot.is_closed:
        return "closed"
    if ask is None:
        return "pending"
    return "your_turn"


def _build_out_of_turn(
    place: DeliberationState, speaker: SeatId, said: str, allowed: Sequence[str]
) -> OutOfTurn:
    expected = f"nothing is expected of {speaker!r} now"
    if allowed:
        expected = f"expected of {speaker!r} now: {', '.join(allowed)}"
    waiting = ", ".join(place.waiting_for) or "nobody"
    return OutOfTurn(
        f"{said!r} is not allowed in the phase {place.council.phase!r}; {expected}; waiting for: {waiting}"
    )


def _find_repeated(
    place: DeliberationState, seat: SeatId, contribution: Contribution
) -> int | None:
    """Return the entry that has what a seat says again without a key; None if it is said anew."""
    council = place.council
    own = [line for line in council.lines if line.seat == seat and line.round == council.round]
    if not own or own[-1].said not in (contribution, drop_choice_label(contribution)):
        return None
    is_asked_anew = seat in place.waiting_for
    if is_asked_anew and contribution.type in (place.list_allowed(seat) or ()):
        return None
    return own[-1].seq


def _describe_words(topic: str, options: Options, key: str, by: str) -> KeyedCall:
    """Return an opening as its caller wrote it: files by their paths, functions by their names."""
    words = json.dumps({"topic": topic, **options}, default=_describe_value, sort_keys=True)
    return KeyedCall(call="open", by=by, key=key, words=("open", words))


def _describe_value(value: object) -> object:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return str(getattr(value, "__qualname__", value))


def _build_key_reused(keyed: KeyedCall, session: SessionId) -> KeyReused:
    return KeyReused(
        f"the key {keyed.key!r} came before, with other words, and opened {session}; "
        "a new call needs a new key"
    )


def derive_session_id(by: str, key: str) -> SessionId:
    """The id that follows from a caller and its key, so that a retry, even in another process, meets the same session."""
    return SessionId(f"d_{sha256(chr(0x1F).join((by, key)).encode()).hexdigest()[:24]}")


def _normalize_opening(opened: Opened) -> Opened:
    """Return an opening without its random values and without what memory added."""
    seats = tuple(
        replace(seat, trust=NEUTRAL_TRUST, accuracy=None, cases=0.0) for seat in opened.seats
    )
    consult = opened.consult
    if consult is not None:
        consult = replace(consult, token="")
    subject = replace(
        opened.subject,
        error_correlations=(),
        precedents=(),
        reviewed=(),
        extremity=1.0,
        again_of="",
    )
    return replace(opened, seed=0, seats=seats, subject=subject, consult=consult)


def find_council_rules(snapshot: Snapshot) -> CouncilRules | None:
    """The rules of a deliberation, be it with consultations or without; None for a session of another protocol."""
    rules = snapshot.rules
    if isinstance(rules, ConsultingRulebook):
        rules = rules.inner
    if isinstance(rules, CouncilRules):
        return rules
    return None


def build_deliberation_state(snapshot: Snapshot) -> DeliberationState:
    """The state of a deliberation after a snapshot; raises UnknownSession for a session of another protocol."""
    rules = find_council_rules(snapshot)
    if rules is None:
        name = snapshot.rules.name
        others = _OTHER_TOOLS.get(name, "get_asks and answer_ask")
        raise UnknownSession(
            f"session {snapshot.session!r} is a {name}, not a deliberation; take part in it with {others}"
        )
    state = snapshot.state
    if isinstance(snapshot.rules, ConsultingRulebook):
        state = state.inner
    return DeliberationState(snapshot, rules, state)


def _is_bare_vote(vote: object) -> bool:
    return isinstance(vote, dict) and not vote.get("condition") and not vote.get("due")


def _read_contribution(said: dict[str, Any]) -> Contribution:
    """Return a contribution; raises BadAnswer with what was expected."""
    ballot = said.get("ballot") or ()
    # Bare positions leave nothing to interpret, and a ballot on many candidates has very many of them.
    if ballot and all(_is_bare_vote(vote) for vote in ballot):
        with suppress(ValidationError):
            votes = (
                get_adapter(Contribution).validate_python({"type": "vote", "ballot": ballot}).ballot
            )
            return replace(_read_contribution({**said, "ballot": ()}), ballot=votes)
    contribution = parse_answer(FORMS["free"], said)
    assert isinstance(contribution, Contribution)
    return contribution
