"""The persona protocol as the house takes it in."""

from typing import Final

from moot.domain.budget import Budget
from moot.domain.roster import Seat, validate_seats
from moot.errors import BadSetting
from moot.ports.kit import Plan, ProtocolPlugin
from moot.protocols.persona.context import ContextLedger, context_ledger
from moot.protocols.persona.facts import MeetingOpened, Settings
from moot.protocols.persona.minutes import minutes
from moot.protocols.persona.page import page
from moot.protocols.persona.rules import RULES
from moot.protocols.persona.story import Story, decided
from moot.protocols.persona.telling import summary, told


def opened(plan: Plan) -> MeetingOpened:
    """The opening of a meeting; raises BadRoster or BadSetting."""
    settings = plan.settings
    assert isinstance(settings, Settings)
    seats = validate_seats(plan.seats)
    if settings.summarizer is not None and settings.summarizer not in {seat.id for seat in seats}:
        known = ", ".join(seat.id for seat in seats)
        raise BadSetting(f"summarizer = {settings.summarizer!r} is no seat; the seats are: {known}")
    return MeetingOpened(
        topic=plan.topic,
        language=plan.language,
        seed=plan.seed,
        seats=seats,
        budget=plan.budget,
        outside_patience=plan.outside_patience,
        settings=settings,
        subject=plan.subject,
        hosted=plan.hosted,
    )


def read_back(text: str, seats: tuple[Seat, ...], budget: Budget) -> ContextLedger:
    return ContextLedger(text, seats, budget)


PERSONA: Final = ProtocolPlugin(
    name="persona",
    blind_from=3,
    rules=RULES,
    settings=Settings,
    open=opened,
    tell=Story,
    decision=decided,
    lines=told,
    summary=summary,
    exports={"context": context_ledger, "minutes": minutes, "html": page},
    read_back=read_back,
)
