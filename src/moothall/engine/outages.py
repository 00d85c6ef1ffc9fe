"""Outages: whether the seats that cannot be asked now leave enough of the others to decide fairly, and the log of them."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from moothall.domain.budget import FREE
from moothall.domain.causes import Cause, CauseCode, find_cause, state_cause
from moothall.domain.facts import OUTAGES, Fact, SeatCause, SeatLost, SessionParked
from moothall.domain.ids import AskId, SeatId, parse_ask_kind
from moothall.domain.roster import Seat
from moothall.domain.safe_text import one_line
from moothall.domain.stated_facts import FACTS_ASK
from moothall.errors import MootError
from moothall.ports.participant import Participant, ProbedParticipant

PROBE_SECONDS = 30.0
"""How long a participant may take to say whether it is ready, beside one that is out; its own requests have shorter deadlines."""
log = logging.getLogger("moot")
OVER_SECONDS: Final = 10.0
"""An outage is over when nobody noticed it for so long; everything that waits for a ledger looks more often."""
AGAIN_SECONDS: Final = 60.0
"""How often a long outage is logged."""


@dataclass(slots=True)
class HeldOutages:
    """The asks of this process that failed by an outage, held back until those asked beside them have answered or failed.

    `asked` and `answered` are the seats of one wave: the asks from the moment when nothing was open to the next such moment.
    """

    held: dict[AskId, SeatLost] = field(default_factory=dict)
    asked: set[SeatId] = field(default_factory=set)
    answered: set[SeatId] = field(default_factory=set)
    _beside: set[AskId] = field(default_factory=set)

    def note_ask(self, seat: SeatId, running: Iterable[AskId]) -> None:
        """Note that a seat is asked while these asks are `running`."""
        if not self.held and not any(True for _ in running):
            self.asked, self.answered = set(), set()
        self.asked.add(seat)

    def take(
        self, fact: Fact, seat: SeatId, running: Iterable[AskId], *, is_probed: bool = False
    ) -> bool:
        """Hold the result of an ask back if it is an outage; False if it can be recorded now.

        The silence of a participant that can be probed may be an outage, too.
        """
        # Facts come before anything is decided: who is out then is asked again for its position, and may be missed there.
        if isinstance(fact, SeatLost) and parse_ask_kind(fact.ask) == FACTS_ASK:
            return False
        if not isinstance(fact, SeatLost) or not (
            fact.reason in OUTAGES or (is_probed and fact.reason == "timeout")
        ):
            self.answered.add(seat)
            return False
        self.held[fact.ask] = fact
        # Only the asks of this moment are waited for: a rulebook that keeps asking others must not hold it back for ever.
        self._beside |= set(running)
        return True

    def is_settled(self, running: Iterable[AskId]) -> bool:
        """Whether outages are held, and all who were asked beside them have answered or failed."""
        return bool(self.held) and self._beside.isdisjoint(running)

    def release(self) -> list[SeatLost]:
        """Return what was held, and hold nothing any more."""
        released = list(self.held.values())
        self.held, self._beside = {}, set()
        return released

    def find_out_seats(
        self, out: Iterable[SeatId], participants: Mapping[SeatId, Participant | None]
    ) -> set[SeatId]:
        """Return the seats that cannot be asked: those whose ask failed, and those that the same participant fills."""
        failed = {fact.seat for fact in self.held.values()}
        proven = {id(participants.get(seat)) for seat in self.answered}
        # A model, a key or a terminal is out for all of its seats, unless one of them has answered just now.
        broken = {id(participants.get(seat)) for seat in failed} - proven
        shared = {seat for seat, participant in participants.items() if id(participant) in broken}
        return failed | (shared - self.answered) | (set(out) - self.answered)


def holds_half(seats: Sequence[Seat], out: Iterable[SeatId]) -> bool:
    """Whether these seats hold half of the weight or more."""
    missing = set(out)
    return 2 * sum(seat.weight for seat in seats if seat.id in missing) >= sum(
        seat.weight for seat in seats
    )


async def explain_unready(
    participants: Mapping[SeatId, Participant | None], seconds: float, *, is_outage: bool = False
) -> dict[SeatId, str]:
    """Ask each participant once whether it is ready; returns a sentence with the remedy for each seat that is not.

    With `is_outage`, beside one that is out, those that can be probed are.
    """
    waiting = {
        id(participant): participant
        for participant in participants.values()
        if participant is not None
    }
    sentences = await asyncio.gather(
        *(
            _check_ready(participant, seconds, is_outage=is_outage)
            for participant in waiting.values()
        )
    )
    reasons = dict(zip(waiting, sentences, strict=True))
    unready: dict[SeatId, str] = {}
    for seat, each in participants.items():
        why = reasons.get(id(each))
        if why is not None:
            unready[seat] = why
    return unready


async def _check_ready(participant: Participant, seconds: float, *, is_outage: bool) -> str | None:
    try:
        async with asyncio.timeout(seconds):
            if is_outage and isinstance(participant, ProbedParticipant):
                return await participant.probe()
            return await participant.ready()
    except TimeoutError:
        return state_cause("silent", seconds=f"{seconds:.0f}")
    except Exception as error:  # noqa: BLE001 - a participant is other people's code
        return f"{type(error).__name__}: {error}"


def build_parking(
    held: Sequence[SeatLost], shared: Iterable[SeatId], unready: Mapping[SeatId, str]
) -> SessionParked:
    """Build the fact that says who cannot be asked, and why: seats with the same cause together.

    `shared` are seats that the participant of a held one fills, `unready` those that said themselves why they cannot be asked.
    """
    causes: dict[str, Cause] = {}
    seats_of: dict[str, list[SeatId]] = {}
    for seat, cause in _list_causes(held, unready):
        sentence = one_line(str(cause))
        causes.setdefault(sentence, cause)
        seats_of.setdefault(sentence, [])
        if seat not in seats_of[sentence]:
            seats_of[sentence].append(seat)
    seats = tuple(dict.fromkeys((*(fact.seat for fact in held), *sorted(shared), *unready)))
    return SessionParked(
        seats=seats,
        causes=tuple(
            SeatCause(seats=tuple(seats_of[sentence]), cause=cause)
            for sentence, cause in causes.items()
        ),
        usage=sum((fact.usage for fact in held), FREE),
    )


def _list_causes(
    held: Sequence[SeatLost], unready: Mapping[SeatId, str]
) -> Iterator[tuple[SeatId, Cause]]:
    for fact in held:
        code: CauseCode = "rejected_key" if fact.reason == "rejected_key" else "out"
        yield fact.seat, fact.cause or Cause(code=code)
    for seat, sentence in unready.items():
        yield seat, find_cause(sentence)


class OutageLog:
    """One sentence for each outage of a kind, and one for each minute that it lasts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # When an error of a kind was noticed last, and when it was told of.
        self._known: dict[type[MootError], tuple[float, float]] = {}

    def tell(self, error: MootError, then: str = "trying again") -> None:
        """Log an error that passes by itself, with what is done about it, unless that was just said."""
        now = self._clock()
        noticed, logged = self._known.get(type(error), (float("-inf"), float("-inf")))
        is_news = now - noticed > OVER_SECONDS or now - logged > AGAIN_SECONDS
        self._known[type(error)] = (now, now if is_news else logged)
        if is_news:
            log.warning("%s; %s", error, then)
