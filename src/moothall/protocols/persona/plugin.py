"""The persona protocol as the house takes it in."""

from typing import Final

from moothall.domain.budget import Budget
from moothall.domain.roster import Seat, validate_seats
from moothall.errors import BadSetting
from moothall.ports.plugin import Plan, ProtocolPlugin
from moothall.protocols.persona.context import ContextLedger, render_context_ledger
from moothall.protocols.persona.facts import MeetingOpened, PersonaSettings
from moothall.protocols.persona.live_lines import add_and_describe_entry
from moothall.protocols.persona.report import build_persona_report
from moothall.protocols.persona.rules import RULES
from moothall.protocols.persona.timeline import PersonaTimeline, build_decision
from moothall.protocols.persona.workload import expect_calls


def open_session(plan: Plan) -> MeetingOpened:
    """The opening of a meeting; raises BadRoster or BadSetting."""
    settings = plan.settings
    assert isinstance(settings, PersonaSettings)
    seats = validate_seats(plan.seats)
    if settings.summarizer is not None and settings.summarizer not in {seat.id for seat in seats}:
        known = ", ".join(seat.id for seat in seats)
        raise BadSetting(f"summarizer = {settings.summarizer!r} is no seat; the seats are: {known}")
    return plan.opening(MeetingOpened, seats=seats, settings=settings)


def parse_context_ledger(text: str, seats: tuple[Seat, ...], budget: Budget) -> ContextLedger:
    return ContextLedger(text, seats, budget)


PERSONA: Final = ProtocolPlugin(
    name="persona",
    blind_from=3,
    rules=RULES,
    settings=PersonaSettings,
    open=open_session,
    timeline=PersonaTimeline,
    decision=build_decision,
    describe=add_and_describe_entry,
    report=build_persona_report,
    exports={"context": render_context_ledger},
    read_back=parse_context_ledger,
    expect=expect_calls,
)
