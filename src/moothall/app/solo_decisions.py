"""Decisions that one agent makes alone: recorded where the rules allow it, put before a deliberation where they do not (D-17)."""

from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex
from typing import Final

from moothall.app.deliberations import Deliberations
from moothall.app.moot import Moot
from moothall.domain.ids import SeatId, parse_seat_id
from moothall.domain.roster import MAILBOX, Seat, validate_seats
from moothall.domain.safe_text import one_line
from moothall.domain.topic import Stakes
from moothall.errors import BadName, BadSetting, OutOfTurn, SessionClosed, SessionExists
from moothall.memory.memory_state import Permission, SoloResult

MAX_INVITED: Final = 2
MAX_PROPOSAL_LENGTH: Final = 20_000
MAX_CHOICE_WORDS: Final = 5
REVIEWER: Final = "reviewer"
"""The seat that is held free for a reviewer, where nobody with a record is known."""
PROPOSER: Final = "proposer"
"""The seat of an agent whose name cannot be a seat's, such as a model's platform."""
_PROPOSAL_KEY: Final = "refused-decision"


@dataclass(frozen=True, slots=True, kw_only=True)
class SoloDecision:
    """What an agent wants to decide alone. `reviewers` judge it if it may not; without them Moot chooses by trust."""

    agent: str
    topic: str
    decision: str
    confidence: float
    category: str = ""
    stakes: Stakes = "medium"
    tags: tuple[str, ...] = ()
    built_on: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoloAnswer:
    """What came of it. `participants` are the seats of the required deliberation, `reviewers` those of them whom Moot knows."""

    result: SoloResult
    participants: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()


class SoloDecisions:
    """Asks for permission, records, and opens the deliberation that is required instead."""

    def __init__(self, moot: Moot, deliberations: Deliberations | None = None) -> None:
        self._moot = moot
        self._deliberations = deliberations or Deliberations(moot)

    async def ask(self, wanted: SoloDecision) -> Permission:
        """Whether the agent may decide this alone now; nothing is recorded."""
        memory = await self._moot.recall()
        return await memory.may_decide_alone(
            wanted.agent,
            wanted.confidence,
            category=wanted.category,
            stakes=wanted.stakes,
            tags=wanted.tags,
        )

    async def decide(self, wanted: SoloDecision, *, via: str = "") -> SoloAnswer:
        """Record the decision, or open the deliberation that is required, with the refused decision as its first proposal.

        Raises BadSetting, BadName, BadRoster for reviewers who failed themselves or look alike, UnknownDecision, KeyReused.
        """
        if len(wanted.decision) > MAX_PROPOSAL_LENGTH:
            raise BadSetting(
                f"the decision has {len(wanted.decision)} characters; at most {MAX_PROPOSAL_LENGTH} are taken"
            )
        agent = _parse_seat(wanted.agent) or SeatId(PROPOSER)
        named = [parse_seat_id(name) for name in wanted.reviewers]
        # Before anything is recorded: these may have to sit at one table.
        validate_seats(Seat(id=seat, platform=MAILBOX) for seat in dict.fromkeys((agent, *named)))
        about = {
            name: getattr(wanted, name)
            for name in ("category", "stakes", "tags", "built_on", "key", "reviewers")
        }
        # The same id for the same key, so that a retry opens no second deliberation.
        seed = token_hex(16)
        if wanted.key:
            seed = "\x1f".join((wanted.agent, wanted.key))
        instead = f"required_{sha256(seed.encode('utf-8', 'replace')).hexdigest()[:20]}"
        memory = await self._moot.recall()
        outcome = await memory.decide_alone(
            wanted.agent,
            wanted.topic,
            wanted.decision,
            wanted.confidence,
            **about,
            deliberation=instead,
            via=via,
        )
        if outcome.is_allowed:
            return SoloAnswer(result=outcome)
        free = _name_free_seat(agent)
        reviewers = named or list_reviewers(await self.ask(wanted))
        others = [seat for seat in dict.fromkeys(reviewers) if seat != agent]
        await self._open(wanted, outcome.deliberation, [agent, *(others or [free])], via)
        place = await self._deliberations.load_state(outcome.deliberation)
        seats = [seat.id for seat in place.council.seats]
        known = tuple(seat for seat in seats if seat != agent and (seat != free or seat in named))
        return SoloAnswer(result=outcome, participants=tuple(seats), reviewers=known)

    async def _open(
        self, wanted: SoloDecision, session: str, seats: list[SeatId], via: str
    ) -> None:
        """Open the deliberation and say there what the agent wanted; a repeated call finds both done."""
        with suppress(SessionExists):
            await self._deliberations.open(
                wanted.topic,
                seats=[Seat(id=seat, platform=MAILBOX) for seat in seats],
                protocol="debate",
                session=session,
                category=wanted.category,
                stakes=wanted.stakes,
                tags=wanted.tags,
                built_on=wanted.built_on,
                hosted=True,
            )
        # A decision of a few words is its own label: positions can be compared by it.
        line = one_line(wanted.decision)
        choice = ""
        if len(line.split()) <= MAX_CHOICE_WORDS and len(line) <= 100:
            choice = line
        said = {
            "type": "propose",
            "text": wanted.decision,
            "confidence": wanted.confidence,
            "choice": choice,
        }
        # A deliberation of an older Moot holds no such proposal, and may have gone on without it.
        with suppress(OutOfTurn, SessionClosed):
            await self._deliberations.contribute(session, seats[0], said, _PROPOSAL_KEY, via=via)


def list_reviewers(permission: Permission) -> list[SeatId]:
    """Those who would be asked to review: the most trusted who come from outside and can take a seat, of two alike the first."""
    read = [_parse_seat(name) for name in permission.reviewers]
    seats = [seat for seat in read if seat is not None]
    firsts = {seat.casefold(): seat for seat in reversed(seats)}
    return [seat for seat in seats if firsts[seat.casefold()] == seat][:MAX_INVITED]


def _name_free_seat(agent: SeatId) -> SeatId:
    if agent == REVIEWER:
        return SeatId(f"{REVIEWER}-2")
    return SeatId(REVIEWER)


def _parse_seat(source: str) -> SeatId | None:
    try:
        return parse_seat_id(source)
    except BadName:
        return None
