"""M-5, M-6: an ask that missed its deadline never has the same one again. Facts in, asks out."""

from datetime import UTC, datetime, timedelta

import pytest

from moothall.codec.stored import FactCodec
from moothall.domain.budget import Budget, Usage
from moothall.domain.causes import Cause
from moothall.domain.facts import (
    AsksSent,
    AsksWithdrawn,
    Fact,
    SeatCause,
    SeatsSwapped,
    SessionParked,
    SessionResumed,
)
from moothall.domain.ids import AskId, SeatId, SessionId
from moothall.domain.roster import Seat, Swap
from moothall.engine.snapshot import RecordWriter, Snapshot
from moothall.engine.step import MAX_GROWN_SECONDS, grow_patience, step
from moothall.features.persona.facts import MeetingOpened, PersonaSettings
from moothall.features.persona.rules import RULES

ADA, BOB = SeatId("ada"), SeatId("bob")
ASK = AskId("1.intent.ada")
START = datetime(2026, 11, 15, 12, tzinfo=UTC)
PARKED = SessionParked(seats=(ADA,), causes=(SeatCause(seats=(ADA,), cause=Cause(words="silent")),))
WRITER = RecordWriter(FactCodec(RULES.kinds), [RULES])


class Meeting:
    """A meeting whose clock and facts a test sets; nobody is asked."""

    def __init__(self, patience: float = 60.0, own: float | None = None) -> None:
        self.now = START
        opened = MeetingOpened(
            topic="Why?",
            language="en",
            seed=1,
            seats=(
                Seat(id=ADA, platform="test", patience=own),
                Seat(id=BOB, platform="mailbox"),
            ),
            settings=PersonaSettings(blind=False, intent_patience=patience),
            budget=Budget(turns=3),
        )
        self.snapshot: Snapshot = WRITER.write_opening(SessionId("s"), opened, START)[0]
        self.sent: list[AsksSent] = []

    def step(self, *facts: Fact, later: float = 0.0) -> None:
        self.now += timedelta(seconds=later)
        outside = frozenset({BOB})
        result = step(WRITER, self.snapshot, facts, self.now, outside, since=self.now)
        self.snapshot = result.snapshot
        self.sent += [
            each.entry.fact for each in result.written if type(each.entry.fact) is AsksSent
        ]

    @property
    def seconds(self) -> float:
        """The time that ada was given last."""
        sent = [each for each in self.sent if ASK in each.asks]
        assert sent[-1].deadline is not None
        return (sent[-1].deadline - self.now).total_seconds()

    def park(self, *, after: float) -> None:
        self.step(PARKED, later=after)
        self.step(SessionResumed(), later=3_600.0)


def test_each_resume_doubles_the_time_of_an_ask_that_missed_its_deadline_up_to_four_hours() -> None:
    meeting = Meeting(60.0)
    meeting.step()
    given = [meeting.seconds]
    for _ in range(10):
        meeting.park(after=meeting.seconds)
        given.append(meeting.seconds)
    assert given == [min(60.0 * 2**times, MAX_GROWN_SECONDS) for times in range(11)]


def test_an_ask_that_was_parked_before_its_deadline_keeps_its_time() -> None:
    """Its server could not be reached: that says nothing of its speed."""
    meeting = Meeting(60.0)
    meeting.step()
    meeting.park(after=5.0)
    assert meeting.seconds == 60.0


@pytest.mark.parametrize("own", [600.0, 100_000.0])
def test_a_seats_own_patience_grows_too_and_is_never_cut(own: float) -> None:
    meeting = Meeting(60.0, own)
    meeting.step()
    meeting.park(after=own)
    assert meeting.seconds == max(own, min(2 * own, MAX_GROWN_SECONDS))


def test_what_another_participant_missed_is_not_the_next_ones() -> None:
    meeting = Meeting(60.0)
    meeting.step()
    meeting.step(PARKED, later=60.0)
    meeting.step(SeatsSwapped(swaps=(Swap(seat=ADA, platform="faster"),)), later=1.0)
    meeting.step(SessionResumed())
    assert meeting.seconds == 60.0
    assert meeting.snapshot.session_state.missed == {}


def test_a_seat_from_outside_has_the_time_of_such_seats_however_often_the_session_is_parked() -> (
    None
):
    meeting = Meeting(60.0)
    meeting.step()
    before = [each.deadline for each in meeting.sent if each.outside]
    meeting.park(after=60.0)
    assert [each.deadline for each in meeting.sent if each.outside] == before


def test_an_ask_is_sent_again_only_while_it_is_open_and_what_it_cost_counts() -> None:
    meeting = Meeting(60.0)
    meeting.step()
    again = AsksSent(
        asks=(ASK,), deadline=START + timedelta(seconds=180), usage=Usage(calls=1, tokens_in=400)
    )
    meeting.step(again, later=60.0)
    pending = meeting.snapshot.session_state.pending[ASK]
    assert (pending.is_again, pending.seconds) == (True, 120.0)
    spent = meeting.snapshot.session_state.spent
    assert (spent.calls, spent.tokens, spent.unpriced) == (1, 400, 1)
    meeting.step(SessionResumed(), later=10.0)
    assert meeting.snapshot.session_state.pending[ASK].is_again
    late = AsksWithdrawn(asks=(ASK,))
    snapshot = WRITER.write(meeting.snapshot, meeting.now, late)[0]
    gone = AsksSent(asks=(AskId("7.intent.ada"),), usage=Usage(calls=1))
    result = step(WRITER, snapshot, [gone], meeting.now, frozenset({BOB}), since=meeting.now)
    assert gone not in [each.entry.fact for each in result.written]


def test_time_grows_and_never_shrinks() -> None:
    for seconds in (0.1, 60.0, 7_200.0, MAX_GROWN_SECONDS, 86_400.0):
        assert grow_patience(seconds) >= seconds
    assert grow_patience(60.0) == 120.0
