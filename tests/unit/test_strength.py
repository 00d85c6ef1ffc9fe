"""What a decision is worth, in one word (M-9)."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.domain.ids import SeatId, SessionId
from moothall.reports.decision import Decision, Dissent, SourcedClaim, summarize_choice
from moothall.scoring.strength import SURE_SUPPORT, Strength, rate_strength

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
CHALLENGE = SourcedClaim(text="And the cost?")
REPORTED = Dissent(seat=None, kind="reported", text="Not all agreed.")
NO_VOTE = replace(AGREED, support=None, turnout=None, confidence=None, confidence_from=None)

RULE: list[tuple[Decision, Strength, str]] = [
    (replace(AGREED, support=SURE_SUPPORT), "strong", "agreed"),
    (replace(AGREED, support=SURE_SUPPORT - 0.01), "fair", "not_all_sure"),
    (replace(AGREED, decision=None), "none", "undecided"),
    (replace(AGREED, support=0.49), "overruled", "opposed"),
    (replace(AGREED, support=0.5), "disputed", "narrow"),
    (replace(AGREED, support=0.59), "disputed", "narrow"),
    (replace(AGREED, overturned=True), "disputed", "overturned"),
    (replace(NO_VOTE, dissent=(REPORTED,)), "disputed", "disputed"),
    (replace(AGREED, turnout=0.49), "weak", "few_voices"),
    (replace(AGREED, outcome_uncertain=True), "weak", "outcome_uncertain"),
    (replace(AGREED, confidence=0.64), "weak", "unsure"),
    (replace(AGREED, voters=1), "weak", "one_voice"),
    (replace(NO_VOTE, voters=1), "weak", "one_voice"),
    (replace(NO_VOTE, voters=2), "fair", "no_vote"),
    (replace(AGREED, dissent=(AGAINST,)), "fair", "some_oppose"),
    (replace(AGREED, open_challenges=(CHALLENGE,)), "fair", "open_challenges"),
    (replace(AGREED, confidence=0.79), "fair", "not_all_sure"),
    (replace(AGREED, confidence=0.8), "strong", "agreed"),
    (replace(AGREED, confidence=None), "fair", "not_all_sure"),
    # D-26: what they answered blind counts, and how many minds they are.
    (replace(AGREED, confidence=0.49), "disputed", "unlikely"),
    (replace(AGREED, confidence=0.49, confidence_from="readings"), "weak", "unsure"),
    (replace(AGREED, confidence=0.5), "weak", "unsure"),
    (replace(AGREED, minds=1), "fair", "one_model"),
    (replace(AGREED, minds=1, confidence=0.64), "weak", "unsure"),
    (replace(AGREED, minds=1, dissent=(AGAINST,)), "fair", "some_oppose"),
    (replace(AGREED, minds=1, effective=1.0, confidence=0.65), "weak", "one_mind"),
    (replace(AGREED, minds=1, effective=1.01), "fair", "one_model"),
    (replace(NO_VOTE, voters=5, minds=1), "fair", "one_model"),
    (replace(AGREED, confidence_from="one_voice"), "weak", "after_reading"),
    (replace(AGREED, confidence_from=None), "weak", "after_reading"),
    (replace(AGREED, effective=1.99), "fair", "alike"),
    (replace(AGREED, effective=None), "fair", "alike"),
    (
        replace(AGREED, author_confidence=1.0, confidence=None, confidence_from=None),
        "weak",
        "after_reading",
    ),
    (AGREED, "strong", "agreed"),
    # Where all have voted, a report of its author changes nothing: the votes are counted.
    (replace(AGREED, dissent=(REPORTED,)), "strong", "agreed"),
]


@pytest.mark.parametrize(("decision", "strength", "reason"), RULE)
def test_each_line_of_the_rule_gives_its_word(
    decision: Decision, strength: Strength, reason: str
) -> None:
    """M-9"""
    assert (decision.strength, decision.strength_reason) == (strength, reason)


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
        return rate_strength(
            is_decided=True,
            support=support,
            turnout=turnout,
            confidence=confidence,
            basis="blind",
            voters=voters,
            effective=3.0,
            opposed=opposed,
            disputed=disputed,
            open_challenges=challenged,
            overturned=overturned,
            outcome_uncertain=differs,
        ).strength

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
