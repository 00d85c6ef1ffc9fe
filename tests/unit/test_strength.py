"""What a decision is worth, in one word (M-9)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.domain.ids import SeatId, SessionId
from moothall.reports.decision import (
    AnsweredInput,
    Decision,
    Dissent,
    QuotationFault,
    SeatPosition,
    SourcedClaim,
    summarize_choice,
)
from moothall.scoring.reservations import ONE_VOTE, RULES, ReservationCode, WorthFigures
from moothall.scoring.resolution import CLEAR_MAJORITY
from moothall.scoring.strength import (
    SURE_CONFIDENCE,
    SURE_SUPPORT,
    SURE_TURNOUT,
    SURE_VOTES,
    Strength,
    rate_strength,
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

RULE: list[tuple[Decision, Strength, tuple[ReservationCode, ...]]] = [
    (SURE, "strong", ()),
    (replace(SURE, decision=None, outcome_uncertain=True), "none", ()),
    # A voice that is missing.
    (replace(SURE, outcome_uncertain=True), "weak", ("voice_missing",)),
    # What the user said.
    (replace(SURE, answers=(ANSWERED,)), "strong", ()),
    (replace(SURE, answers=(ANSWERED, UNANSWERED)), "weak", ("you_unanswered",)),
    # A quotation: of one who is for it, and of one who is not.
    (replace(SURE, faults=(FAULT,)), "weak", ("quotation",)),
    (replace(SURE, faults=(replace(FAULT, seat=DEE),)), "strong", ()),
    (replace(SURE, faults=(replace(FAULT, seat=DEE),), author=DEE), "weak", ("quotation",)),
    # An objection that was left open: of another, of the author, of somebody.
    (replace(SURE, author=ADA, open_challenges=(by(BOB),)), "fair", ("objection_open",)),
    (replace(SURE, author=ADA, open_challenges=(by(ADA),)), "strong", ()),
    (replace(SURE, open_challenges=(by(None),)), "fair", ("objection_open",)),
    # How large the support is.
    (replace(SURE, support=0.49), "overruled", ("most_against",)),
    (replace(SURE, support=0.5), "disputed", ("narrow",)),
    (replace(SURE, support=CLEAR_MAJORITY - 0.01), "disputed", ("narrow",)),
    (replace(SURE, support=CLEAR_MAJORITY), "fair", ()),
    (replace(SURE, support=SURE_SUPPORT - 0.01), "fair", ()),
    (replace(SURE, support=SURE_SUPPORT), "strong", ()),
    # How many heads.
    (replace(SURE, positions=stand(ada="support", bob="oppose")), "fair", ()),
    (
        replace(SURE, positions=stand(ada="support", bob="oppose", cy="oppose")),
        "disputed",
        ("smaller_side",),
    ),
    (replace(SURE, tie_by="names"), "weak", ("tie_broken",)),
    (replace(SURE, overturned=True), "disputed", ("began_elsewhere",)),
    # Without a vote, a point that was left open; where all voted, the votes are counted.
    (replace(NO_VOTE, dissent=(REPORTED,)), "disputed", ("left_open",)),
    (replace(NO_VOTE, dissent=(AGAINST,)), "disputed", ("left_open",)),
    (replace(NO_VOTE, dissent=()), "fair", ()),
    (replace(SURE, dissent=(REPORTED,)), "strong", ()),
    # How many took a side.
    (replace(SURE, turnout=0.49), "weak", ("few_sides",)),
    (replace(SURE, turnout=0.5), "fair", ()),
    (replace(NO_VOTE, backing=0.49), "weak", ("few_sides",)),
    (replace(NO_VOTE, backing=0.5), "fair", ()),
    # How many voices, and how many minds.
    (replace(SURE, voters=1), "weak", ("one_voice",)),
    (replace(SURE, voters=2), "strong", ()),
    (replace(SURE, voters=1, ended_by="one_mind"), "fair", ("one_voice",)),
    (replace(NO_VOTE, voters=0, backers=1), "weak", ("one_voice",)),
    (replace(NO_VOTE, voters=0, backers=2), "fair", ()),
    (replace(NO_VOTE, voters=0), "weak", ("one_voice",)),
    (replace(SURE, minds=1), "fair", ("one_model",)),
    (replace(SURE, minds=1, voters=1), "weak", ("one_voice",)),
    (replace(SURE, minds=2), "strong", ()),
    # What they had answered before they talked: only of what can turn out right or wrong.
    (replace(TURNED, held_before=(ADA,)), "weak", ("after_talking",)),
    (replace(TURNED, held_before=(ADA, BOB)), "strong", ()),
    (replace(SURE, held_before=(ADA,)), "strong", ()),
    (replace(TURNED, held_before=None), "strong", ()),
    (
        replace(TURNED, positions=stand(ada="support", bob="support"), held_before=(ADA,)),
        "strong",
        (),
    ),
    # How likely it is right, where people are told.
    (replace(TURNED, confidence=ONE_VOTE), "fair", ()),
    (replace(TURNED, confidence=ONE_VOTE - 0.01), "weak", ("unsure",)),
    (replace(TURNED, confidence=ONE_VOTE - 0.01, chance_hidden=True), "fair", ()),
    (replace(SURE, confidence=0.1), "fair", ()),
    # D-26: what else a strong one needs.
    (replace(SURE, turnout=SURE_TURNOUT - 0.01), "fair", ()),
    (replace(SURE, confidence=SURE_CONFIDENCE - 0.01), "fair", ()),
    (replace(SURE, confidence=SURE_CONFIDENCE), "strong", ()),
    (replace(SURE, confidence=None), "fair", ()),
    (replace(SURE, confidence_from="one_voice"), "fair", ()),
    (replace(SURE, effective=SURE_VOTES - 0.01), "fair", ()),
    (replace(SURE, effective=None), "fair", ()),
    (replace(SURE, dissent=(AGAINST,)), "fair", ()),
    # All that hold, in their order.
    (
        replace(SURE, minds=1, outcome_uncertain=True, support=0.55),
        "disputed",
        ("voice_missing", "narrow", "one_model"),
    ),
]


@pytest.mark.parametrize(("decision", "strength", "reservations"), RULE)
def test_each_reservation_holds_up_to_its_boundary(
    decision: Decision, strength: Strength, reservations: tuple[ReservationCode, ...]
) -> None:
    """T-4, M-9"""
    assert (decision.reservations, decision.strength) == (reservations, strength)


def test_every_reservation_has_a_case_on_both_sides() -> None:
    """T-4"""
    held = {code for _, _, codes in RULE for code in codes}
    assert held == set(RULES)


_SHARE = st.none() | st.floats(0, 1)


@given(
    support=_SHARE,
    turnout=_SHARE,
    confidence=_SHARE,
    voters=st.integers(0, 64),
    flags=st.tuples(st.booleans(), st.booleans(), st.booleans(), st.booleans(), st.booleans()),
)
def test_opposition_never_makes_a_decision_stronger(
    support: float | None,
    turnout: float | None,
    confidence: float | None,
    voters: int,
    flags: tuple[bool, ...],
) -> None:
    """M-9: whatever the figures, less support or an objection more cannot raise the word; a minority is always `overruled`."""
    order = ("strong", "fair", "weak", "disputed", "overruled")
    disputed, challenged, overturned, differs, opposed = flags

    def rate(opposed: bool, support: float | None) -> Strength:
        figures = WorthFigures(
            is_decided=True,
            support=support,
            turnout=turnout,
            confidence=confidence,
            basis="blind",
            is_chance_shown=True,
            voters=voters,
            supporters=2,
            opponents=int(opposed),
            effective=3.0,
            is_disputed=disputed or opposed,
            has_open_challenges=challenged,
            is_overturned=overturned,
            is_outcome_uncertain=differs,
        )
        return rate_strength(figures)

    assert order.index(rate(True, support)) >= order.index(rate(False, support))
    if support is not None:
        assert order.index(rate(opposed, support / 2)) >= order.index(rate(opposed, support))
        assert (rate(opposed, support) == "overruled") == (support < 0.5 - 1e-9)


@pytest.mark.parametrize(
    ("choice", "text", "summary"),
    [
        ("Postgres", "Because of its indexes.", "Postgres"),
        ("", "# Minutes\n\n**Use Postgres.** It has `indexes`.", "Use Postgres."),
        ("", "- *Redis*\n- nothing else", "Redis nothing else"),
        ("", "# Redis", "Redis"),
        ("", "用 Postgres。因为它有索引。", "用 Postgres。"),
        ("", "a\x1b[31mred\u202e", "a[31mred"),
    ],
)
def test_what_was_chosen_stands_on_one_line_without_markup(
    choice: str, text: str, summary: str
) -> None:
    """M-9"""
    assert summarize_choice(choice, text) == summary
