"""A deliberation played by hand, for tests: facts in, effects out; no clock, no ledger, no participant.

table = debate(seat("ada"), elsewhere("bob"))
table.say(ada=propose("yes"), bob=propose("no"))
assert table.asked == ["2.argue.ada", "2.argue.bob"]
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Self

from moothall.domain.budget import FREE, Budget, Usage
from moothall.domain.effects import Ask, Brief, Record
from moothall.domain.facts import Entry, Fact, InputGiven, Language, Loss, SeatLost
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.roster import MAILBOX, NEUTRAL_TRUST, Seat
from moothall.domain.topic import Topic
from moothall.ports.plugin import AnyPlugin, Plan
from moothall.protocols.council.ballots import find_candidate_ids, find_discussed_motion
from moothall.protocols.council.facts import (
    AdviceOutcome,
    AdviceResponse,
    ConsensusSettings,
    Contributed,
    Contribution,
    CouncilOpened,
    CouncilSettings,
    DeliberationClosed,
    Phase,
    PhaseBegun,
)
from moothall.protocols.council.plugin import ADVISORY, CONSENSUS, DEBATE, AdvisorySettings
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.state import Council
from moothall.protocols.council.timeline import CouncilTimeline
from moothall.reading.answers import build_reply
from moothall.scoring.positions import VotePosition

START: Final = datetime(2024, 5, 20, 10, 0, 0, tzinfo=UTC)
SESSION: Final = SessionId("think_20240520_001")
TOPIC: Final = "Should we adopt HSM?"
PASS: Final = Contribution(type="pass")

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
    """A seat that is asked here; its platform is called after it unless said otherwise."""
    where = platform or f"script:{name}"
    return Seat(
        id=SeatId(name),
        platform=where,
        stance=stance,
        weight=weight,
        trust=trust,
        instructions=instructions,
    )


def build_mailbox_seat(name: str) -> Seat:
    """A seat whose participant answers from elsewhere."""
    return build_seat(name, platform=MAILBOX)


def propose(
    choice: str = "", text: str = "We should.", confidence: float = 0.8, **rest: Any
) -> Contribution:
    return Contribution(type="propose", text=text, choice=choice, confidence=confidence, **rest)


def support(
    about: int | None = None, text: str = "The data agree.", confidence: float = 0.8, **rest: Any
) -> Contribution:
    return Contribution(type="support", text=text, refers_to=about, confidence=confidence, **rest)


def challenge(
    about: int | None = None, text: str = "Not at scale.", confidence: float = 0.7, **rest: Any
) -> Contribution:
    return Contribution(type="challenge", text=text, refers_to=about, confidence=confidence, **rest)


def synthesize(
    choice: str = "", text: str = "Both, in turn.", confidence: float = 0.8, **rest: Any
) -> Contribution:
    return Contribution(type="synthesize", text=text, choice=choice, confidence=confidence, **rest)


def vote(
    position: VotePosition = "support",
    confidence: float | None = 0.8,
    *,
    condition: str = "",
    **rest: Any,
) -> Contribution:
    return Contribution(
        type="vote", position=position, confidence=confidence, condition=condition, **rest
    )


def build_taken(entry: int, how: AdviceOutcome, why: str = "It costs too much.") -> AdviceResponse:
    """How the owner took the advice in a line."""
    return AdviceResponse(entry=entry, how=how, why=why)


class DeliberationRun:
    """A deliberation in memory. Every fact lies one second behind the one before; computed facts are recorded at once."""

    def __init__(
        self,
        plugin: AnyPlugin,
        settings: CouncilSettings,
        *seats: Seat,
        topic: str = TOPIC,
        language: Language = "en",
        budget: Budget | None = None,
        subject: Topic | None = None,
    ) -> None:
        plan = Plan(
            topic=topic,
            language=language,
            seed=7,
            seats=seats,
            budget=budget or Budget(),
            outside_patience=3_600.0,
            settings=settings,
            subject=subject or Topic(),
        )
        assert isinstance(plugin.rules, CouncilRules)
        opened = plugin.open(plan)
        assert isinstance(opened, CouncilOpened)
        self.rules = plugin.rules
        self.opened = opened
        self.entries = [Entry(seq=1, at=START, fact=opened)]
        self.state: Council = self.rules.initial(opened)
        self.ever_asked: dict[str, Ask] = {}
        self._settle()

    def put(self, *facts: Fact) -> Self:
        """The deliberation after these facts and all that follows from each."""
        for fact in facts:
            self._write(fact)
            self._settle()
        return self

    def put_at_once(self, *facts: Fact) -> Self:
        """The deliberation after these facts, written before anything follows from them."""
        for fact in facts:
            self._write(fact)
        self._settle()
        return self

    @property
    def effects(self) -> tuple[Ask, ...]:
        return tuple(effect for effect in self.rules.decide(self.state) if isinstance(effect, Ask))

    @property
    def asks(self) -> tuple[Ask, ...]:
        """What is waited for."""
        return tuple(ask for ask in self.effects if not ask.invited)

    @property
    def asked(self) -> list[str]:
        return [ask.id for ask in self.asks]

    @property
    def invited(self) -> list[str]:
        """Who may add something of its own accord."""
        return [ask.seat for ask in self.effects if ask.invited]

    @property
    def phase(self) -> tuple[int, str]:
        """The round and the phase."""
        return self.state.round, self.state.phase

    @property
    def facts(self) -> list[Fact]:
        return [entry.fact for entry in self.entries]

    @property
    def last(self) -> Fact:
        return self.entries[-1].fact

    @property
    def phases(self) -> list[PhaseBegun]:
        return [fact for fact in self.facts if isinstance(fact, PhaseBegun)]

    @property
    def closed(self) -> DeliberationClosed:
        """The resolution; fails while there is none."""
        assert isinstance(self.last, DeliberationClosed), (
            f"not closed, but {self.phase}, asking {self.asked}"
        )
        return self.last

    @property
    def ballots(self) -> dict[str, VotePosition | None]:
        return {ballot.seat: ballot.position for ballot in self.closed.ballots}

    @property
    def timeline(self) -> CouncilTimeline:
        """The deliberation as it is told to people."""
        timeline = CouncilTimeline(SESSION, self.rules)
        for entry in self.entries:
            timeline.add(entry)
        return timeline

    def ask(self, name: str) -> Ask:
        """What this seat is asked, or invited to; fails when it is neither."""
        found = next((ask for ask in self.effects if ask.seat == name), None)
        assert found is not None, (
            f"nothing is asked of {name!r} in {self.phase}, but {self.asked}; invited: {self.invited}"
        )
        return found

    def brief(self, name: str) -> Brief:
        """What this seat is sent with its ask or invitation."""
        return self.rules.brief(self.state, self.ask(name))

    def fault(self, name: str, said: Contribution) -> str | None:
        """What is wrong with this contribution, now."""
        return self.brief(name).fault(said)

    def says(self, name: str, said: Contribution, usage: Usage = FREE) -> Self:
        """One contribution in answer to the seat's ask or invitation; fails when it has a fault.

        A bare vote among several candidates is about the one that the discussion supports most. Who was challenged, and has no
        words here, passes when another phase goes on.
        """
        if (
            self.state.phase == "answer"
            and said.type in {"synthesize", "vote"}
            and not self.state.seat(SeatId(name)).is_outside
        ):
            self.say_for_all(PASS)
        if said.type == "vote" and not said.ballot and said.refers_to is None:
            motion = find_discussed_motion(self.rules.variant, self.state)
            has_choice = len(find_candidate_ids(self.rules.variant, self.state)) > 1
            said = replace(said, refers_to=motion.id) if motion is not None and has_choice else said
        fault = self.fault(name, said)
        assert fault is None, f"{name}: {fault}"
        return self.say_unchecked(name, said, usage)

    def say_unchecked(self, name: str, said: Contribution, usage: Usage = FREE) -> Self:
        """One contribution, whatever is wrong with it."""
        ask = self.ask(name)
        fact = build_reply(self.rules.forms[ask.kind], ask.id, ask.seat, said, usage)
        assert isinstance(fact, Contributed)
        return self.put(fact)

    def say(self, **said: Contribution | None) -> Self:
        """Contributions, one after another; None is a loss."""
        return self.say_all(said)

    def say_all(self, said: Mapping[str, Contribution | None]) -> Self:
        for name, each in said.items():
            if each is None:
                self.lose_seat(name)
            else:
                self.says(name, each)
        return self

    def say_for_all(self, said: Contribution) -> Self:
        """All who are waited for in this phase say the same, in the order in which they are asked."""
        before = self.state.step
        while self.state.step == before and self.asks:
            self.says(self.asks[0].seat, said)
        return self

    def pass_until(self, phase: Phase) -> Self:
        """Everyone passes until this phase."""
        while self.state.phase not in {phase, "closed"}:
            self.say_for_all(PASS)
        return self

    def lose_seat(self, name: str, reason: Loss = "timeout") -> Self:
        """The seat gives no usable answer to its ask."""
        return self.put(SeatLost(ask=self.ask(name).id, seat=SeatId(name), reason=reason))

    def give_input(self, text: str) -> Self:
        """A word of the user's."""
        return self.put(InputGiven(text=text))

    def _write(self, fact: Fact) -> None:
        before = self.entries[-1]
        entry = Entry(seq=before.seq + 1, at=before.at + timedelta(seconds=1), fact=fact)
        self.entries.append(entry)
        self.state = self.rules.evolve(self.state, entry)

    def _settle(self) -> None:
        for _ in range(_MAX_COMPUTED):
            computed = [
                effect.fact
                for effect in self.rules.decide(self.state)
                if isinstance(effect, Record)
            ]
            if not computed:
                self.ever_asked.update({ask.id: ask for ask in self.asks})
                return
            for fact in computed:
                self._write(fact)
        raise AssertionError("the rulebook computes without end")


def debate(*seats: Seat, settings: CouncilSettings | None = None, **rest: Any) -> DeliberationRun:
    """A debate of these seats."""
    return DeliberationRun(DEBATE, settings or CouncilSettings(), *seats, **rest)


def advisory(
    *seats: Seat, settings: AdvisorySettings | None = None, **rest: Any
) -> DeliberationRun:
    """An advisory panel; the first seat owns the decision unless said otherwise."""
    return DeliberationRun(ADVISORY, settings or AdvisorySettings(), *seats, **rest)


def consensus(
    *seats: Seat, settings: ConsensusSettings | None = None, **rest: Any
) -> DeliberationRun:
    """A search for consensus among these seats."""
    return DeliberationRun(CONSENSUS, settings or ConsensusSettings(), *seats, **rest)
