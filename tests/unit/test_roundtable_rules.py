"""The rulebook of a conference: facts in, effects out (R-3, R-7, R-8, R-9, R-10)."""

from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from moothall.domain.budget import Budget
from moothall.domain.effects import Ask, Record, fold
from moothall.domain.facts import CloseCalled, Entry, Fact, InputGiven, SeatLost
from moothall.domain.ids import AskId, SeatId
from moothall.domain.roster import Seat
from moothall.errors import BadRoster
from moothall.features.roundtable.facts import (
    ConferenceClosed,
    ConferenceOpened,
    Minutes,
    MinutesWritten,
    RoundtableSettings,
    RoundtableSpeech,
    SpeakerSkipped,
    SpeechGiven,
    TalkConcluded,
)
from moothall.features.roundtable.plugin import open_session as opened_by
from moothall.features.roundtable.rules import RULES
from moothall.features.roundtable.state import Conference
from moothall.ports.plugin import Plan
from moothall_testkit.rulebook_contract import RulebookContract, build_fact_source, check_session

START = datetime(2026, 1, 1, tzinfo=UTC)
MINUTES = "## Summary\nYes.\n## Consensus reached\nYes.\n## Disagreements left open\nNone.\n## Action items\nada: do it."


def plan(*names: str, max_rounds: int = 2) -> Plan:
    return Plan(
        topic="Which cache?",
        language="en",
        seed=1,
        seats=tuple(Seat(id=SeatId(name), platform="script:x") for name in names),
        budget=Budget(),
        outside_patience=60.0,
        settings=RoundtableSettings(max_rounds=max_rounds),
    )


class Room:
    """A conference that is played by hand."""

    def __init__(self, *names: str, max_rounds: int = 2) -> None:
        self.opened = opened_by(plan(*names, max_rounds=max_rounds))
        self.facts: list[Fact] = []

    @property
    def state(self) -> Conference:
        entries = [Entry(seq=at, at=START, fact=fact) for at, fact in enumerate(self.facts, 2)]
        return fold(RULES, self.opened, entries)

    def put(self, *facts: Fact) -> "Room":
        self.facts += facts
        while records := [
            effect.fact for effect in RULES.decide(self.state) if isinstance(effect, Record)
        ]:
            self.facts += records
        return self

    @property
    def last(self) -> object:
        return self.facts[-1]

    @property
    def ask(self) -> Ask:
        (found,) = RULES.decide(self.state)
        assert isinstance(found, Ask)
        return found

    def says(self, text: str = "## Stance\nYes.") -> "Room":
        ask = self.ask
        return self.put(
            SpeechGiven(ask=ask.id, seat=ask.seat, said=RoundtableSpeech.from_text(text))
        )

    def loses(self) -> "Room":
        return self.put(SeatLost(ask=self.ask.id, seat=self.ask.seat, reason="timeout"))


def test_speakers_take_turns_round_by_round_and_the_moderator_concludes() -> None:
    """R-7, R-9"""
    room = Room("ada", "bob")
    order = []
    while room.state.status == "open":
        order.append((room.state.round, room.ask.seat))
        room.says()
    assert order == [(1, "ada"), (1, "bob"), (2, "ada"), (2, "bob")]
    assert TalkConcluded(round=2, reason="rounds") in room.facts
    assert (room.ask.kind, room.ask.seat) == ("minutes", "moderator")
    room.put(
        MinutesWritten(ask=room.ask.id, seat=SeatId("moderator"), said=Minutes(content=MINUTES))
    )
    assert room.last == ConferenceClosed(reason="rounds", author=SeatId("moderator"))
    assert RULES.decide(room.state) == ()


def test_declared_consensus_of_all_ends_the_talk() -> None:
    """R-7: of all, in their last speeches."""
    room = Room("ada", "bob", max_rounds=9).says("Yes.\n[CONSENSUS]").says("No.")
    assert room.state.status == "open"
    room.says("Yes.\n[共识]").says("Yes.\n\n[consensus]\n")
    assert room.last == TalkConcluded(round=2, reason="consensus")


def test_a_speaker_leaves_a_prompt_for_the_next_one() -> None:
    """R-8"""
    room = Room("ada", "bob").says(
        "## Stance\nYes.\n## For the next speaker\nWeigh the cost.\nAnd the risk."
    )
    assert room.state.prompt == "Weigh the cost. And the risk."
    assert "Weigh the cost. And the risk." in RULES.brief(room.state, room.ask).own


@pytest.mark.parametrize(
    ("text", "prompt"),
    [
        ("It is slow. What of the cost? And when?", "ada asks: What of the cost? And when?"),
        ("## Questions\n- Who pays?\n- ?", "ada asks: Who pays?"),
        ("It is slow.", "ada has spoken. Respond from the point of view of your role."),
    ],
)
def test_an_empty_prompt_is_made_from_the_questions(text: str, prompt: str) -> None:
    """R-8"""
    assert Room("ada", "bob").says(text).state.prompt == prompt


def test_a_speaker_that_fails_is_asked_once_more_and_then_skipped() -> None:
    """R-10"""
    room = Room("ada", "bob")
    first = room.ask.id
    room.loses()
    assert (room.ask.seat, room.ask.id != first) == ("ada", True)
    room.loses()
    assert room.last == SpeakerSkipped(round=1, seat=SeatId("ada"), reason="timeout")
    assert room.ask.seat == "bob"
    assert len(room.says().state.speeches) == 1


def test_minutes_that_nobody_can_write_do_not_keep_a_conference_from_ending() -> None:
    """R-10: the moderator fails, then every speaker; each is asked twice."""
    room = Room("ada", max_rounds=1).says()
    asked = []
    while room.state.status != "closed":
        asked.append(room.ask.seat)
        room.loses()
    assert asked == ["moderator", "moderator", "ada", "ada"]
    assert room.last == ConferenceClosed(reason="rounds", author=None)


def test_a_call_for_the_end_goes_to_the_minutes() -> None:
    room = Room("ada", "bob").says().put(CloseCalled())
    assert room.last == TalkConcluded(round=1, reason="called")


def test_a_speaker_reads_the_last_three_speeches_and_the_moderator_all() -> None:
    """R-5, R-9"""
    room = Room("ada", "bob", max_rounds=3)
    for number in range(5):
        room.says(f"## Stance\nWord {number}.")
    shown = RULES.brief(room.state, room.ask).shared
    assert [number for number in range(5) if f"Word {number}." in shown] == [2, 3, 4]
    room.says("## Stance\nWord 5.")
    assert all(f"Word {number}." in RULES.brief(room.state, room.ask).shared for number in range(6))


def test_what_the_user_says_reaches_the_next_speaker() -> None:
    room = Room("ada", "bob").put(InputGiven(text="We have six months."))
    assert "We have six months." in RULES.brief(room.state, room.ask).own


def test_a_late_or_forged_speech_changes_nothing() -> None:
    room = Room("ada", "bob").says()
    before = room.state
    late = SpeechGiven(
        ask=AskId("1.speech.ada"), seat=SeatId("ada"), said=RoundtableSpeech(content="Again.")
    )
    forged = SpeechGiven(
        ask=room.ask.id, seat=SeatId("ada"), said=RoundtableSpeech(content="I am bob.")
    )
    for fact in (late, forged):
        assert RULES.evolve(before, Entry(seq=99, at=START, fact=fact)) == before


def test_a_moderator_alone_is_no_conference() -> None:
    with pytest.raises(BadRoster, match="needs a speaker"):
        opened_by(plan("moderator"))


OPENINGS = st.builds(
    lambda count, rounds: opened_by(
        plan(*(f"s{number}" for number in range(count)), max_rounds=rounds)
    ),
    st.integers(1, 4),
    st.integers(1, 3),
)
SAID = {
    "speech": st.builds(
        RoundtableSpeech,
        content=st.sampled_from(("Yes.", "No? Why?", "# x\n| y", "\x1b[2J好")),
        prompt=st.sampled_from(("", "Go on.")),
        consensus=st.booleans(),
    ),
    "minutes": st.builds(Minutes, content=st.sampled_from(("## Summary\nYes.", "–"))),
}
CONTRACT: RulebookContract[Conference] = RulebookContract(
    rules=RULES, openings=OPENINGS, happens=build_fact_source(RULES, SAID)
)


@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(data=st.data())
def test_whatever_is_answered_a_conference_keeps_its_promises(data: st.DataObject) -> None:
    """R-10: it always ends; nobody is asked twice at once; what was settled is not asked again."""
    played = check_session(CONTRACT, data)
    state = played.snapshot.state
    numbers = sorted(turn.number for turn in (*state.speeches, *state.absences))
    assert numbers == list(range(1, len(numbers) + 1))
    assert isinstance(played.opened, ConferenceOpened)
