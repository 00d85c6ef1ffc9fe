"""How much a decision is worth, in one word, by one rule for every protocol (M-9, D-26). The first line that fits counts:

none        nothing was decided
overruled   most of the weight that took a side is against it: the decider went against the group
disputed    the support is below CLEAR_MAJORITY; or by what the seats answered blind it is less likely right than not; or it
            overturns what most wrote blind and nobody names a reason; without a vote, a disagreement was left open
weak        those who took a side hold less than half of the weight, missing votes could have changed it, it says nothing to an
            input of the user, or it is less sure than one ordinary vote; or one voice alone stands behind it: one seat,
            several seats of one program, or a vote after reading without blind answers to compare it with
strong      a vote that nobody opposed, with SURE_SUPPORT and SURE_TURNOUT, at SURE_CONFIDENCE or more by answers that were given
            apart, from seats worth SURE_VOTES independent votes, no challenge left open
fair        everything else; without a vote, or where all are one model, it is never more than this

The word follows the figure: several answers of one model that are .85 likely right are `fair`, with the reservation that all are one
model. The reason of a word is the one reservation that people read beside it.
"""

from typing import Final, Literal, NamedTuple

from moothall.scoring.resolution import CLEAR_MAJORITY

Strength = Literal["strong", "fair", "weak", "disputed", "overruled", "none"]
NoStrength = Literal["undecided", "opposed", "narrow", "unlikely", "overturned", "disputed"]
Weakness = Literal[
    "few_voices",
    "outcome_uncertain",
    "unanswered",
    "unsure",
    "one_voice",
    "one_mind",
    "after_reading",
]
StrengthReason = (
    NoStrength
    | Weakness
    | Literal[
        "agreed", "some_oppose", "open_challenges", "one_model", "no_vote", "alike", "not_all_sure"
    ]
)
ConfidenceBasis = Literal["blind", "readings", "one_voice"]
"""What a confidence comes from: answers before anyone read anyone, independent readings, or votes after reading as one voice."""

SURE_SUPPORT: Final = 0.8
SURE_TURNOUT: Final = 0.8
SURE_CONFIDENCE: Final = 0.8
SURE_VOTES: Final = 2.0

ONE_VOTE: Final = 0.65
"""How often one ordinary vote is right (`moothall.scoring.trust`): a group that is less sure adds nothing to it."""

_HALF: Final = 0.5
_ROUNDING: Final = 1e-9


class StrengthRating(NamedTuple):
    """The word, and the line of the rule that gave it."""

    strength: Strength
    reason: StrengthReason


def rate_strength(
    *,
    is_decided: bool,
    support: float | None = None,
    turnout: float | None = None,
    confidence: float | None = None,
    basis: ConfidenceBasis | None = None,
    voters: int = 0,
    effective: float | None = None,
    minds: int = 0,
    opposed: bool = False,
    disputed: bool = False,
    open_challenges: bool = False,
    overturned: bool = False,
    outcome_uncertain: bool = False,
    unanswered: bool = False,
) -> StrengthRating:
    """Rate a decision by its figures; `voters` stand behind it or took a side, `minds` is how many families and people they are,
    0 if that is not known. `disputed`: its author reports a disagreement. `unanswered`: it says nothing to an input of the user.
    """
    if not is_decided:
        return StrengthRating("none", "undecided")
    if support is not None and support < _HALF - _ROUNDING:
        return StrengthRating("overruled", "opposed")
    if support is not None and support < CLEAR_MAJORITY - _ROUNDING:
        return StrengthRating("disputed", "narrow")
    if overturned:
        return StrengthRating("disputed", "overturned")
    if basis == "blind" and confidence is not None and confidence < _HALF - _ROUNDING:
        return StrengthRating("disputed", "unlikely")
    if support is None and (disputed or opposed):
        return StrengthRating("disputed", "disputed")
    weaknesses: dict[StrengthReason, bool] = {
        "few_voices": turnout is not None and turnout < _HALF - _ROUNDING,
        "outcome_uncertain": outcome_uncertain,
        "unanswered": unanswered,
        "unsure": confidence is not None and confidence < ONE_VOTE - _ROUNDING,
        "one_voice": voters == 1 or (support is None and voters < 1),
        "one_mind": minds == 1 and effective is not None and effective < 1.0 + _ROUNDING,
        "after_reading": support is not None and basis in {None, "one_voice"},
    }
    for reason, holds in weaknesses.items():
        if holds:
            return StrengthRating("weak", reason)
    if support is not None and (opposed or open_challenges):
        return StrengthRating("fair", "some_oppose" if opposed else "open_challenges")
    if minds == 1:
        return StrengthRating("fair", "one_model")
    if support is None:
        return StrengthRating("fair", "no_vote")
    if (
        support < SURE_SUPPORT
        or (turnout or 0.0) < SURE_TURNOUT
        or (confidence or 0.0) < SURE_CONFIDENCE - _ROUNDING
    ):
        return StrengthRating("fair", "not_all_sure")
    is_alike = (effective or 0.0) < SURE_VOTES - _ROUNDING
    return StrengthRating("fair", "alike") if is_alike else StrengthRating("strong", "agreed")
