"""What a decision is worth for programs, in one word that follows from its reservations (M-9, D-26, T-4). The first line that fits
counts:

none        nothing was decided
overruled   most of the weight that took a side is against it: the decider went against the group
disputed    it was close, more people are against it than for it, most began with another answer, or a point was left open
weak        a voice, a word of the user or a quotation is missing that it rests on, few took a side, one voice stands behind it, a
            tie was broken, most came to it only by talking, or it is less sure than one ordinary vote
strong      a vote that nobody opposed, without any reservation, with SURE_SUPPORT and SURE_TURNOUT, at SURE_CONFIDENCE or more by
            answers that were given apart, from seats worth SURE_VOTES independent votes
fair        everything else; without a vote, or where all are one model, it is never more than this

People read the sentence of the first reservation instead of a word.
"""

from collections.abc import Collection
from typing import Final, Literal

from moothall.scoring.reservations import ReservationCode, WorthFigures, list_reservations

Strength = Literal["strong", "fair", "weak", "disputed", "overruled", "none"]

SURE_SUPPORT: Final = 0.8
SURE_TURNOUT: Final = 0.8
SURE_CONFIDENCE: Final = 0.8
SURE_VOTES: Final = 2.0

DISPUTING: Final[frozenset[ReservationCode]] = frozenset(
    ("smaller_side", "narrow", "began_elsewhere", "left_open")
)
"""The reservations of a decision that is disputed."""
_MISSING: Final[frozenset[ReservationCode]] = frozenset(
    ("voice_missing", "you_unanswered", "quotation")
)
_THIN: Final[frozenset[ReservationCode]] = frozenset(
    ("tie_broken", "few_sides", "one_voice", "after_talking", "unsure")
)
WEAKENING: Final[frozenset[ReservationCode]] = _MISSING | _THIN
"""The reservations of a decision that is weak."""
_GIVEN_APART: Final = frozenset(("blind", "readings"))
_ROUNDING: Final = 1e-9


def rate_strength(figures: WorthFigures) -> Strength:
    """Return what a decision is worth in one word, by its reservations."""
    if not figures.is_decided:
        return "none"
    codes = list_reservations(figures)
    if "most_against" in codes:
        return "overruled"
    if not DISPUTING.isdisjoint(codes):
        return "disputed"
    if _is_weakened(codes, is_proven_alone=figures.is_proven_alone):
        return "weak"
    if codes or figures.opponents or not _is_sure(figures):
        return "fair"
    return "strong"


def _is_weakened(codes: Collection[ReservationCode], *, is_proven_alone: bool) -> bool:
    weakening = WEAKENING.intersection(codes)
    # One mind with a reviewed record is more than one voice.
    if is_proven_alone:
        weakening -= {"one_voice"}
    return bool(weakening)


def _is_sure(figures: WorthFigures) -> bool:
    """Whether a vote without a reservation is as sure as a vote can be."""
    if figures.support is None or figures.support < SURE_SUPPORT:
        return False
    if (figures.turnout or 0.0) < SURE_TURNOUT:
        return False
    if figures.basis not in _GIVEN_APART:
        return False
    if (figures.confidence or 0.0) < SURE_CONFIDENCE - _ROUNDING:
        return False
    return (figures.effective or 0.0) >= SURE_VOTES - _ROUNDING
