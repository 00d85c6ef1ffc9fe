"""The reservations of a decision: what a reader must know beside its result, by one written rule (T-4).

Each is a code with the condition under which it holds (`RULES`). People read the sentence of the first that holds, in the order of
the list; programs have all of them.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Final, Literal

from moothall.domain.replace import dataclass
from moothall.scoring.resolution import CLEAR_MAJORITY

ReservationCode = Literal[
    "voice_missing",
    "you_unanswered",
    "quotation",
    "objection_open",
    "most_against",
    "smaller_side",
    "narrow",
    "tie_broken",
    "began_elsewhere",
    "left_open",
    "few_sides",
    "one_voice",
    "one_model",
    "after_talking",
    "unsure",
]
ConfidenceBasis = Literal["blind", "readings", "one_voice"]
"""What a confidence comes from: answers before anyone read anyone, independent readings, or votes after reading as one voice."""

ONE_VOTE: Final = 0.65
"""How often one ordinary vote is right (`moothall.scoring.trust`): a group that is less sure adds nothing to it."""

_HALF: Final = 0.5
# Shares of thirds and sevenths do not add up exactly: a half is a half all the same.
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class WorthFigures:
    """What the reservations of a decision follow from, and what it is worth."""

    is_decided: bool
    support: float | None = None
    """The supporting share of the weight that took a side; None where nobody voted."""
    turnout: float | None = None
    """The share of all weight that took a side or stands behind it."""
    confidence: float | None = None
    """The chance that it is right."""
    basis: ConfidenceBasis | None = None
    """What that chance comes from."""
    is_chance_shown: bool = False
    """Whether people read the chance."""
    voters: int = 0
    """How many took a side, or stand behind it."""
    supporters: int = 0
    """How many persons and seats are for it."""
    opponents: int = 0
    """How many are against it."""
    effective: float | None = None
    """How many independent votes the voters are worth."""
    minds: int = 0
    """How many model families and people they are; 0 if that is not known."""
    held_before: int | None = None
    """How many of those for it had this answer before they talked; None where nobody can say."""
    can_turn_out: bool = False
    """Whether its question can turn out right or wrong."""
    is_disputed: bool = False
    """Whether someone is against it, or its author reports a disagreement."""
    has_open_challenges: bool = False
    is_overturned: bool = False
    is_outcome_uncertain: bool = False
    is_user_unanswered: bool = False
    has_false_quotation: bool = False
    is_tie_broken: bool = False
    is_proven_alone: bool = False
    """Whether one mind decided alone because of its reviewed record."""


Rule = Callable[[WorthFigures], bool]


def _has_most_against(figures: WorthFigures) -> bool:
    return figures.support is not None and figures.support < _HALF - _ROUNDING


def _is_narrow(figures: WorthFigures) -> bool:
    # That most are against it says more than that it was close.
    if figures.support is None or _has_most_against(figures):
        return False
    return figures.support < CLEAR_MAJORITY - _ROUNDING


def _is_smaller_side(figures: WorthFigures) -> bool:
    # By heads: here fewer outweigh more, because their votes count more.
    if figures.support is None or _has_most_against(figures):
        return False
    return figures.supporters < figures.opponents


def _has_few_sides(figures: WorthFigures) -> bool:
    return figures.turnout is not None and figures.turnout < _HALF - _ROUNDING


def _is_one_voice(figures: WorthFigures) -> bool:
    # Without a vote nobody may stand behind it but its author.
    return figures.voters == 1 or (figures.support is None and figures.voters < 1)


def _came_by_talking(figures: WorthFigures) -> bool:
    if not figures.can_turn_out or figures.held_before is None:
        return False
    return 2 * figures.held_before < figures.supporters


def _is_unsure(figures: WorthFigures) -> bool:
    if not figures.is_chance_shown or figures.confidence is None:
        return False
    return figures.confidence < ONE_VOTE - _ROUNDING


def _is_left_open(figures: WorthFigures) -> bool:
    return figures.support is None and figures.is_disputed


def _is_one_model(figures: WorthFigures) -> bool:
    return figures.minds == 1 and figures.voters > 1


# What can be mended by asking again stands first, then what makes the count flatter, then who was asked.
_MENDABLE: Final[dict[ReservationCode, Rule]] = {
    "voice_missing": attrgetter("is_outcome_uncertain"),
    "you_unanswered": attrgetter("is_user_unanswered"),
    "quotation": attrgetter("has_false_quotation"),
    "objection_open": attrgetter("has_open_challenges"),
    "most_against": _has_most_against,
    "smaller_side": _is_smaller_side,
    "narrow": _is_narrow,
    "tie_broken": attrgetter("is_tie_broken"),
}
_LASTING: Final[dict[ReservationCode, Rule]] = {
    "began_elsewhere": attrgetter("is_overturned"),
    "left_open": _is_left_open,
    "few_sides": _has_few_sides,
    "one_voice": _is_one_voice,
    "one_model": _is_one_model,
    "after_talking": _came_by_talking,
    "unsure": _is_unsure,
}
RULES: Final[dict[ReservationCode, Rule]] = _MENDABLE | _LASTING
"""When each reservation holds: first what can be mended by asking again, then what makes the count flatter, then who was asked."""


def list_reservations(figures: WorthFigures) -> tuple[ReservationCode, ...]:
    """Return every reservation that holds, in the order in which people read them; none where nothing was decided."""
    if not figures.is_decided:
        return ()
    return tuple(code for code, holds in RULES.items() if holds(figures))
