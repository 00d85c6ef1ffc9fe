"""How much a decision is worth, in one word, by one rule for every protocol (M-9). The first line that fits counts:

none        nothing was decided
overruled   most of the weight that took a side is against it: the decider went against the group
contested   the support is below CLEAR_MAJORITY, or it overturns what most wrote blind and nobody names a reason; without a vote,
            a disagreement was left open
weak        those who took a side hold less than half of the weight, missing votes could have changed it, or it is less sure
            than one ordinary vote, or one voice alone stands behind it (D-26)
strong      a vote that nobody opposed, with SURE_SUPPORT and SURE_TURNOUT, at SURE_CONFIDENCE or more, no challenge left open
fair        everything else; without a vote it is never more than this
"""

from typing import Final, Literal, NamedTuple

from moothall.scoring.resolution import CLEAR_MAJORITY

Strength = Literal["strong", "fair", "weak", "contested", "overruled", "none"]
StrengthReason = Literal[
    "undecided",
    "opposed",
    "narrow",
    "overturned",
    "disputed",
    "few_voices",
    "outcome_uncertain",
    "unsure",
    "one_voice",
    "agreed",
    "some_oppose",
    "open_challenges",
    "no_vote",
    "not_all_sure",
]

SURE_SUPPORT: Final = 0.8
SURE_TURNOUT: Final = 0.8
SURE_CONFIDENCE: Final = 0.75

ONE_VOTE: Final = 0.65
"""How often one ordinary vote is right (see `moothall.scoring.confidence`): a group that is less sure adds nothing to it."""

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
    voters: int = 0,
    opposed: bool = False,
    disputed: bool = False,
    open_challenges: bool = False,
    overturned: bool = False,
    outcome_uncertain: bool = False,
) -> StrengthRating:
    """Rate a decision by its figures.

    `opposed`: a seat is against it. `disputed`: its author reports a disagreement. `voters`: how many stand behind it or took a
    side.
    """
    if not is_decided:
        return StrengthRating("none", "undecided")
    if support is not None and support < _HALF - _ROUNDING:
        return StrengthRating("overruled", "opposed")
    if support is not None and support < CLEAR_MAJORITY - _ROUNDING:
        return StrengthRating("contested", "narrow")
    if overturned:
        return StrengthRating("contested", "overturned")
    if support is None and (disputed or opposed):
        return StrengthRating("contested", "disputed")
    if turnout is not None and turnout < _HALF - _ROUNDING:
        return StrengthRating("weak", "few_voices")
    if outcome_uncertain:
        return StrengthRating("weak", "outcome_uncertain")
    if confidence is not None and confidence < ONE_VOTE - _ROUNDING:
        return StrengthRating("weak", "unsure")
    if voters == 1 or (support is None and voters < 1):
        return StrengthRating("weak", "one_voice")
    if support is None:
        return StrengthRating("fair", "no_vote")
    if opposed:
        return StrengthRating("fair", "some_oppose")
    if open_challenges:
        return StrengthRating("fair", "open_challenges")
    is_sure = support >= SURE_SUPPORT and (turnout or 0.0) >= SURE_TURNOUT and (confidence or 0.0) >= SURE_CONFIDENCE
    return StrengthRating("strong", "agreed") if is_sure else StrengthRating("fair", "not_all_sure")
