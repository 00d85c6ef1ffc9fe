"""A persona meeting played by hand, for tests: facts in, effects out; no clock, no ledger, no participant.

table = Table(seat("ada"), seat("bob"))
table.bids(ada=wants(0.9), bob=silent(0.1)).speaks("ada", "Yes.")
assert table.asked == ["2.intent.ada", "2.intent.bob"]
"""

from datetime import UTC, datetime, timedelta
from typing import Final, Self

from moothall.domain.budget import FREE, Budget, Usage
from moothall.domain.effects import Ask, Brief, Record
from moothall.domain.facts import Entry, Fact, InputGiven, Language, Loss, SeatLost
from moothall.domain.ids import AskId, SeatId, SessionId, ask_id
from moothall.domain.roster import NEUTRAL_TRUST, Seat
from moothall.features.persona.facts import (
    ConclusionDrafted,
    Draft,
    DraftClaim,
    Intent,
    IntentDeclared,
    MeetingOpened,
    PersonaSettings,
    PersonaSpeech,
    Position,
    PositionTaken,
    Stand,
    StandTaken,
    StandVerdict,
    TurnTaken,
    View,
)
from moothall.features.persona.rules import RULES
from moothall.features.persona.state import Meeting
from moothall.features.persona.timeline import PersonaTimeline

START: Final = datetime(2024, 5, 20, 10, 0, 0, tzinfo=UTC)
SESSION: Final = SessionId("think_20240520_001")
TOPIC: Final = "Should we lay off 20 %?"

_MAX_COMPUTED: Final = 100


def build_seat(
    name: str,
    *,
    platform: str = "",
    stance: str = "",
    weight: float = 1.0,
    trust: float = NEUTRAL_TRUST,
    instructions: str = "",
) -> Seat:
    """A seat; its platform is called after it unless said otherwise."""
    where = platform or f"script:{name}"
    return Seat(
        id=SeatId(name),
        platform=where,
        stance=stance,
        weight=weight,
        trust=trust,
        instructions=instructions,
    )


def build_opening(
    *seats: Seat,
    topic: str = TOPIC,
    language: Language = "en",
    settings: PersonaSettings | None = None,
    budget: Budget | None = None,
) -> MeetingOpened:
    """An opening; without settings nobody is asked blind."""
    return MeetingOpened(
        topic=topic,
        language=language,
        seed=7,
        seats=seats,
        budget=budget or Budget(),
        settings=settings or PersonaSettings(blind=False),
    )


def bid_to_speak(
    score: float, reason: str = "", *, view: View = "none", sufficient: bool = False
) -> Intent:
    """A bid of a seat that wants to speak."""
    return Intent(
        reaction_score=score, intent_to_speak=True, reason=reason, view=view, sufficient=sufficient
    )


def bid_silence(
    score: float, reason: str = "", *, view: View = "none", sufficient: bool = False
) -> Intent:
    """A bid of a seat that does not."""
    return Intent(
        reaction_score=score, intent_to_speak=False, reason=reason, view=view, sufficient=sufficient
    )


def build_stand(
    verdict: StandVerdict,
    confidence: float = 1.0,
    position: str = "",
    *,
    moved_by: int | None = None,
    condition: str = "",
) -> Stand:
    """A last word."""
    return Stand(
        verdict=verdict,
        confidence=confidence,
        position=position,
        moved_by=moved_by,
        condition=condition,
    )


def build_draft(text: str = "Cut 10 %.", *entries: int, confidence: float = 1.0) -> Draft:
    """A conclusion that rests on these entries, or on the first."""
    return Draft(decision=DraftClaim(text=text, entries=entries or (1,)), confidence=confidence)


class MeetingRun:
    """A meeting in memory. Every fact lies one second behind the one before; computed facts are recorded at once."""

    def __init__(
        self,
        *seats: Seat,
        topic: str = TOPIC,
        language: Language = "en",
        settings: PersonaSettings | None = None,
        budget: Budget | None = None,
        opened: MeetingOpened | None = None,
    ) -> None:
        """`opened` takes the place of all the rest."""
        self.opened = opened or build_opening(
            *seats, topic=topic, language=language, settings=settings, budget=budget
        )
        self.entries = [Entry(seq=1, at=START, fact=self.opened)]
        self.state: Meeting = RULES.initial(self.opened)
        self._settle()

    def put(self, *facts: Fact) -> Self:
        """The meeting after these facts and all that follows from them."""
        for fact in facts:
            self._write(fact)
            self._settle()
        return self

    @property
    def asks(self) -> tuple[Ask, ...]:
        return tuple(effect for effect in RULES.decide(self.state) if isinstance(effect, Ask))

    @property
    def asked(self) -> list[str]:
        return [ask.id for ask in self.asks]

    @property
    def facts(self) -> list[Fact]:
        return [entry.fact for entry in self.entries]

    @property
    def last(self) -> Fact:
        return self.entries[-1].fact

    @property
    def timeline(self) -> PersonaTimeline:
        """The meeting as it is told to people."""
        timeline = PersonaTimeline(SESSION)
        for entry in self.entries:
            timeline.add(entry)
        return timeline

    def brief(self, name: str) -> Brief:
        """What this seat is sent with its ask."""
        return RULES.brief(self.state, next(ask for ask in self.asks if ask.seat == name))

    def position(
        self,
        name: str,
        text: str,
        confidence: float = 0.5,
        usage: Usage = FREE,
        *,
        choice: str = "",
    ) -> Self:
        said = Position(position=text, confidence=confidence, choice=choice)
        return self.put(
            PositionTaken(
                ask=self._ask("position", name), seat=SeatId(name), said=said, usage=usage
            )
        )

    def bid(self, name: str, intent: Intent | None, usage: Usage = FREE) -> Self:
        """One bid; None is a lost one."""
        if intent is None:
            return self.lose("intent", name)
        return self.put(
            IntentDeclared(
                ask=self._ask("intent", name), seat=SeatId(name), said=intent, usage=usage
            )
        )

    def bids(self, **intents: Intent | None) -> Self:
        for name, intent in intents.items():
            self.bid(name, intent)
        return self

    def speaks(
        self,
        name: str,
        text: str,
        *,
        refers_to: int | None = None,
        view: View = "none",
        usage: Usage = FREE,
    ) -> Self:
        said = PersonaSpeech(content=text, refers_to=refers_to, view=view)
        return self.put(
            TurnTaken(ask=self._ask("speech", name), seat=SeatId(name), said=said, usage=usage)
        )

    def turn(self, speaker: str, text: str, score: float = 0.9) -> Self:
        """One whole turn: this seat bids, all others are silent, it speaks."""
        others = {other.id: bid_silence(0.4) for other in self.state.seats if other.id != speaker}
        return self.bids(**{speaker: bid_to_speak(score)}, **others).speaks(speaker, text)

    def drafts(self, name: str, said: Draft | None = None, usage: Usage = FREE) -> Self:
        return self.put(
            ConclusionDrafted(
                ask=self._ask("draft", name),
                seat=SeatId(name),
                said=said or build_draft(),
                usage=usage,
            )
        )

    def stands(self, **stands: Stand | None) -> Self:
        """Last words; None is a lost one."""
        for name, said in stands.items():
            if said is None:
                self.lose("stand", name)
            else:
                self.put(StandTaken(ask=self._ask("stand", name), seat=SeatId(name), said=said))
        return self

    def lose(self, kind: str, name: str, reason: Loss = "timeout") -> Self:
        return self.put(SeatLost(ask=self._ask(kind, name), seat=SeatId(name), reason=reason))

    def give_input(self, text: str) -> Self:
        """A word of the user's."""
        return self.put(InputGiven(text=text))

    def _ask(self, kind: str, name: str) -> AskId:
        return ask_id(self.state.turn, kind, SeatId(name))

    def _write(self, fact: Fact) -> None:
        before = self.entries[-1]
        entry = Entry(seq=before.seq + 1, at=before.at + timedelta(seconds=1), fact=fact)
        self.entries.append(entry)
        self.state = RULES.evolve(self.state, entry)

    def _settle(self) -> None:
        for _ in range(_MAX_COMPUTED):
            computed = [
                effect.fact for effect in RULES.decide(self.state) if isinstance(effect, Record)
            ]
            if not computed:
                return
            for fact in computed:
                self._write(fact)
        raise AssertionError("the rulebook computes without end")
