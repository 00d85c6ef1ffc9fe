"""A conference played by hand, for tests: facts in, effects out; no clock, no ledger, no participant.

table = Table(seat("ada"), seat("bob"))
table.says("Yes.").loses().loses()
assert table.asked == ("speech", "ada")
"""

from datetime import UTC, datetime, timedelta
from typing import Final, Self

from moothall.domain.budget import FREE, Budget, Usage
from moothall.domain.causes import Cause
from moothall.domain.effects import Ask, Record
from moothall.domain.facts import Entry, Fact, InputGiven, Language, Loss, SeatLost
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import Seat
from moothall.domain.topic import Topic
from moothall.features.roundtable.facts import (
    Minutes,
    MinutesWritten,
    RoundtableSettings,
    RoundtableSpeech,
    SpeechGiven,
)
from moothall.features.roundtable.plugin import open_session
from moothall.features.roundtable.rules import RULES
from moothall.features.roundtable.timeline import RoundtableTimeline
from moothall.ports.plugin import Plan

START: Final = datetime(2024, 5, 20, 10, 0, 0, tzinfo=UTC)
SESSION: Final = SessionId("think_20240520_001")
TOPIC: Final = "Which cache?"


def build_seat(name: str, *, platform: str = "", stance: str = "", instructions: str = "") -> Seat:
    """A seat whose platform is called after it unless said otherwise."""
    return Seat(
        id=SeatId(name),
        platform=platform or f"script:{name}",
        stance=stance,
        instructions=instructions,
    )


class ConferenceRun:
    """A conference in memory. Every fact lies one second behind the one before; computed facts are recorded at once."""

    def __init__(
        self,
        *seats: Seat,
        topic: str = TOPIC,
        language: Language = "en",
        settings: RoundtableSettings | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        plan = Plan(
            topic=topic,
            language=language,
            seed=7,
            seats=seats,
            budget=Budget(),
            outside_patience=3_600.0,
            settings=settings or RoundtableSettings(),
            subject=Topic(options=options),
        )
        fact = open_session(plan)
        self.entries = [Entry(seq=1, at=START, fact=fact)]
        self.state = RULES.initial(fact)

    def put(self, fact: Fact) -> Self:
        """The conference after this fact and all that follows from it."""
        before = self.entries[-1]
        entry = Entry(seq=before.seq + 1, at=before.at + timedelta(seconds=1), fact=fact)
        self.entries.append(entry)
        self.state = RULES.evolve(self.state, entry)
        for effect in RULES.decide(self.state):
            if isinstance(effect, Record):
                self.put(effect.fact)
        return self

    @property
    def ask(self) -> Ask:
        """What is waited for; fails when the conference is over."""
        (found,) = RULES.decide(self.state)
        assert isinstance(found, Ask)
        return found

    @property
    def asked(self) -> tuple[str, SeatId]:
        return self.ask.kind, self.ask.seat

    @property
    def timeline(self) -> RoundtableTimeline:
        """The conference as it is told to people."""
        return self.story_at(len(self.entries))

    def story_at(self, entries: int) -> RoundtableTimeline:
        """The conference as it was told after so many entries."""
        timeline = RoundtableTimeline(SESSION)
        for entry in self.entries[:entries]:
            timeline.add(entry)
        return timeline

    def says(self, text: str, usage: Usage = FREE) -> Self:
        """Whoever has the turn gives this speech, which is read as any text is."""
        return self.speaks(RoundtableSpeech.from_text(text), usage)

    def speaks(self, said: RoundtableSpeech, usage: Usage = FREE) -> Self:
        """Whoever has the turn gives this speech."""
        return self.put(SpeechGiven(ask=self.ask.id, seat=self.ask.seat, said=said, usage=usage))

    def write_minutes(self, text: str, usage: Usage = FREE) -> Self:
        """Whoever holds the pen writes these minutes, and insists if they come back."""
        said = Minutes.from_text(text)
        self.put(MinutesWritten(ask=self.ask.id, seat=self.ask.seat, said=said, usage=usage))
        is_open = self.state.status != "closed"
        return (
            self.put(MinutesWritten(ask=self.ask.id, seat=self.ask.seat, said=said))
            if is_open
            else self
        )

    def lose_seat(self, reason: Loss = "timeout", detail: str = "", usage: Usage = FREE) -> Self:
        """Whoever is asked gives no usable answer."""
        return self.put(
            SeatLost(
                ask=self.ask.id,
                seat=self.ask.seat,
                reason=reason,
                cause=Cause(words=detail),
                usage=usage,
            )
        )

    def give_input(self, text: str) -> Self:
        """A word of the user's."""
        return self.put(InputGiven(text=text))
