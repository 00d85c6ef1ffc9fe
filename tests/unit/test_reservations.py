"""The reservations of a decision: each holds up to its boundary, and no further (T-4)."""

from dataclasses import replace

import pytest

from moothall.domain.ids import SeatId, SessionId
from moothall.reports.decision import (
    AnsweredInput,
    Decision,
    Dissent,
    QuotationFault,
    SeatPosition,
    SourcedClaim,
)
from moothall.scoring.reservations import RULES, ReservationCode
from moothall.scoring.resolution import CLEAR_MAJORITY
from moothall.scoring.strength import (
    ONE_VOTE,
    SURE_CONFIDENCE,
    SURE_SUPPORT,
    SURE_TURNOUT,
    SURE_VOTES,
)

AGREED = Decision(
    session=SessionId("s"),
    topic="Which?",
    status="concluded",
    decision=SourcedClaim(text="This one."),
    support=1.0,
    turnout=1.0,
    confidence=0.85,
    confidence_from="blind",
    voters=3,
    effective=2.0,
    minds=3,
)
AGAINST = Dissent(seat=SeatId("bob"), kind="oppose", text="No.")
ANSWERED = AnsweredInput(input=1, asked="When?", answer="In May.")
UNANSWERED = AnsweredInput(input=2, asked="And who?", answer=None)
REPORTED = Dissent(seat=None, kind="reported", text="Not all agreed.")


def by(seat: SeatId | None) -> SourcedClaim:
    return SourcedClaim(text="And the cost?", seat=seat)


NO_VOTE = replace(AGREED, support=None, turnout=None, confidence=None, confidence_from=None)

ADA, BOB, CY, DEE = (SeatId(name) for name in ("ada", "bob", "cy", "dee"))


def stand(**verdicts: str) -> tuple[SeatPosition, ...]:
    return tuple(
        SeatPosition(seat=SeatId(seat), verdict=verdict, choice_before="this")
        for seat, verdict in verdicts.items()
    )


SURE = replace(AGREED, positions=stand(ada="support", bob="support", cy="support"))
"""Three for it."""
TURNED = replace(SURE, can_turn_out=True, held_before=(ADA, BOB, CY))
"""A question that can turn out right or wrong, and an answer that all three had before."""
FAULT = QuotationFault(seat=ADA, place="report.pdf", words="twice as fast")

RULE: list[tuple[Decision, tuple[ReservationCode, ...]]] = [
    (SURE, ()),
    (replace(SURE, decision=None, outcome_uncertain=True), ()),
    # A voice that is missing.
    (replace(SURE, outcome_uncertain=True), ("voice_missing",)),
    # What the user said.
    (replace(SURE, answers=(ANSWERED,)), ()),
    (replace(SURE, answers=(ANSWERED, UNANSWERED)), ("you_unanswered",)),
    # A quotation: of one who is for it, and of one who is not.
    (replace(SURE, faults=(FAULT,)), ("quotation",)),
    (replace(SURE, faults=(replace(FAULT, seat=DEE),)), ()),
    (replace(SURE, faults=(replace(FAULT, seat=DEE),), author=DEE), ("quotation",)),
    # An objection that was left open: of another, of the author, of somebody.
    (replace(SURE, author=ADA, open_challenges=(by(BOB),)), ("objection_open",)),
    (replace(SURE, author=ADA, open_challenges=(by(ADA),)), ()),
    (replace(SURE, open_challenges=(by(None),)), ("objection_open",)),
    # How large the support is.
    (replace(SURE, support=0.49), ("most_against",)),
    (replace(SURE, support=0.5), ("narrow",)),
    (replace(SURE, support=CLEAR_MAJORITY - 0.01), ("narrow",)),
    (replace(SURE, support=CLEAR_MAJORITY), ()),
    (replace(SURE, support=SURE_SUPPORT - 0.01), ()),
    (replace(SURE, support=SURE_SUPPORT), ()),
    # How many heads.
    (replace(SURE, positions=stand(ada="support", bob="oppose")), ()),
    (
        replace(SURE, positions=stand(ada="support", bob="oppose", cy="oppose")),
        ("smaller_side",),
    ),
    (replace(SURE, tie_by="names"), ("tie_broken",)),
    (replace(SURE, overturned=True), ("began_elsewhere",)),
    # Without a vote, a point that was left open; where all voted, the votes are counted.
    (replace(NO_VOTE, dissent=(REPORTED,)), ("left_open",)),
    (replace(NO_VOTE, dissent=(AGAINST,)), ("left_open",)),
    (replace(NO_VOTE, dissent=()), ()),
    (replace(SURE, dissent=(REPORTED,)), ()),
    # How many took a side.
    (replace(SURE, turnout=0.49), ("few_sides",)),
    (replace(SURE, turnout=0.5), ()),
    (replace(NO_VOTE, backing=0.49), ("few_sides",)),
    (replace(NO_VOTE, backing=0.5), ()),
    # How many voices, and how many minds.
    (replace(SURE, voters=1), ("one_voice",)),
    (replace(SURE, voters=2), ()),
    (replace(SURE, voters=1, ended_by="one_mind"), ("one_voice",)),
    (replace(NO_VOTE, voters=0, backers=1), ("one_voice",)),
    (replace(NO_VOTE, voters=0, backers=2), ()),
    (replace(NO_VOTE, voters=0), ("one_voice",)),
    (replace(SURE, minds=1), ("one_model",)),
    (replace(SURE, minds=1, voters=1), ("one_voice",)),
    (replace(SURE, minds=2), ()),
    # What they had answered before they talked: only of what can turn out right or wrong.
    (replace(TURNED, held_before=(ADA,)), ("after_talking",)),
    (replace(TURNED, held_before=(ADA, BOB)), ()),
    (replace(SURE, held_before=(ADA,)), ()),
    (replace(TURNED, held_before=None), ()),
    (
        replace(TURNED, positions=stand(ada="support", bob="support"), held_before=(ADA,)),
        (),
    ),
    # How likely it is right, where people are told.
    (replace(TURNED, confidence=ONE_VOTE), ()),
    (replace(TURNED, confidence=ONE_VOTE - 0.01), ("unsure",)),
    (replace(TURNED, confidence=ONE_VOTE - 0.01, chance_hidden=True), ()),
    (replace(SURE, confidence=0.1), ()),
    # D-26: what else a strong one needs.
    (replace(SURE, turnout=SURE_TURNOUT - 0.01), ()),
    (replace(SURE, confidence=SURE_CONFIDENCE - 0.01), ()),
    (replace(SURE, confidence=SURE_CONFIDENCE), ()),
    (replace(SURE, confidence=None), ()),
    (replace(SURE, confidence_from="one_voice"), ()),
    (replace(SURE, effective=SURE_VOTES - 0.01), ()),
    (replace(SURE, effective=None), ()),
    (replace(SURE, dissent=(AGAINST,)), ()),
    # All that hold, in their order.
    (
        replace(SURE, minds=1, outcome_uncertain=True, support=0.55),
        ("voice_missing", "narrow", "one_model"),
    ),
]


@pytest.mark.parametrize(("decision", "reservations"), RULE)
def test_each_reservation_holds_up_to_its_boundary(
    decision: Decision, reservations: tuple[ReservationCode, ...]
) -> None:
    """T-4"""
    assert decision.reservations == reservations


def test_every_reservation_has_a_case_on_both_sides() -> None:
    """T-4"""
    held = {code for _, codes in RULE for code in codes}
    assert held == set(RULES)
