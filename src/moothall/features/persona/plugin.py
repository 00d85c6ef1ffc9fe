"""Registers the persona protocol."""

from typing import Final

from moothall.domain.roster import MAX_SEATS
from moothall.features.persona.context import ContextLedger, render_context_ledger
from moothall.features.persona.facts import MeetingOpened, PersonaSettings
from moothall.features.persona.report import add_and_describe_entry, build_persona_report
from moothall.features.persona.rules import RULES
from moothall.features.persona.timeline import PersonaTimeline, build_decision
from moothall.plugins import (
    LONG_ANSWER,
    SHORT_ANSWER,
    BadSetting,
    ExpectedCalls,
    Opened,
    Plan,
    ProtocolPlugin,
    validate_seats,
)
from moothall.protocols.answer_judge import expect_judge_calls, split_judge

BLIND_FROM = 3
USUAL_TURNS = 12
SETTLED = 2
"""How often answers are settled: after the blind positions, and after the draft."""


def expect_calls(opened: Opened) -> tuple[ExpectedCalls, ...]:
    """Blind positions, bids and one speech for each turn, the draft and the last words. At least one turn is held."""
    assert isinstance(opened, MeetingOpened)
    seats = tuple(seat.id for seat in opened.seats if seat.id not in opened.neutral)
    turns, share = opened.budget.turns or USUAL_TURNS, 1 / len(seats)
    blind = 1 if opened.settings.blind and len(seats) >= BLIND_FROM else 0
    # With joint bids the seats of one model bid in one call.
    bids = (
        len({seat.platform for seat in opened.seats if seat.id in seats}) * share
        if opened.settings.bids == "together"
        else 1.0
    )
    return (
        ExpectedCalls(seats=seats, least=blind, most=blind, tokens_out=SHORT_ANSWER),
        ExpectedCalls(
            seats=seats, least=bids, most=bids * turns, tokens_out=SHORT_ANSWER, steps=(1, turns)
        ),
        ExpectedCalls(
            seats=seats, least=0, most=turns * share, tokens_out=LONG_ANSWER, is_in_turn=True
        ),
        # The draft, and one last word of everybody else.
        ExpectedCalls(
            seats=seats, least=share, most=share, tokens_out=LONG_ANSWER, is_in_turn=True
        ),
        ExpectedCalls(seats=seats, least=1 - share, most=1 - share, tokens_out=LONG_ANSWER),
        *expect_judge_calls(opened.settings.judge, SETTLED),
    )


def open_session(plan: Plan) -> MeetingOpened:
    """The opening of a meeting; raises BadRoster or BadSetting."""
    settings = plan.settings
    assert isinstance(settings, PersonaSettings)
    voices, judge = split_judge(plan.seats, settings.judge)
    seats = validate_seats(voices)
    if settings.summarizer is not None and settings.summarizer not in {seat.id for seat in seats}:
        known = ", ".join(seat.id for seat in seats)
        raise BadSetting(
            f"summarizer = {settings.summarizer!r} is not a seat; the seats are: {known}"
        )
    if judge is not None:
        # The whole roster once more: a judge may have no name that a seat has.
        seats = validate_seats((*seats, judge), most=MAX_SEATS + 1)
    return plan.opening(MeetingOpened, seats=seats, settings=settings)


PERSONA: Final = ProtocolPlugin(
    name="persona",
    states_facts=True,
    blind_from=3,
    # A model that thinks first needs more than the minute of the stored default.
    defaults={"intent_patience": 180.0},
    rules=RULES,
    settings=PersonaSettings,
    open=open_session,
    timeline=PersonaTimeline,
    decision=build_decision,
    describe=add_and_describe_entry,
    report=build_persona_report,
    exports={"context": render_context_ledger},
    read_back=ContextLedger,
    expect=expect_calls,
)
