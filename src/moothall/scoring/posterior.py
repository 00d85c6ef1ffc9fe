"""What votes are evidence for: weights in log-odds, and the posterior over the options (D-12).

A source that is right with the probability a among K options weighs

    w = max(0, ln(a · (K − 1) / (1 − a)))        nothing at chance, and nothing below it

and the posterior of an option is softmax(Σ w · f) over the options, where f is what a vote is worth beside the others that err
with it (`independence.compute_independence`; n_eff / n where all are alike). An option that nobody named counts exp(0). For a
motion K is 2: it is right or it is not.

A vote that states its confidence c says more than which side it is on: its log-odds ln(c / (1 − c)) replace the presumption, and
the group's are their mean, weighed by the record. A vote that states none is presumed to say what the agreement of all who state
none would be worth, so that one formula serves both:

    log-odds = Σ ± w · f · l / Σ w · f        l = ln(c / (1 − c)) if stated, else Σ w · f of those that state none, as if alone

What a vote is presumed to say does not depend on those that state theirs: one more opponent who is hardly sure thins out the
mean, but does not turn it.

A position that is stated at one half or below weighs nothing, and one above STATED_CEILING no more than that. Nothing above
CEILING is claimed: there are too few recorded cases to show it. `bench/decisions` measures this rule beside the one before it.
"""

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

CEILING: Final = 0.99
"""The most that is claimed."""

STATED_CEILING: Final = 0.95
"""The most that a stated confidence counts as: one vote that claims to be certain must not outweigh all others."""

MOTION_OPTIONS: Final = 2
OPEN_OPTIONS: Final = 20
"""How many options an open answer is presumed to have been chosen from."""


class WeighedVote(NamedTuple):
    """One vote for a side: the weight of its source, w · f, and the confidence that it states, if it does."""

    source: float
    stated: float | None = None


@lru_cache(maxsize=256)
def compute_record_weight(accuracy: float, options: int = MOTION_OPTIONS) -> float:
    """Return the weight of a source that is right this often among so many options, in log-odds."""
    share = min(max(accuracy, 0.0), CEILING)
    odds = share * (max(options, MOTION_OPTIONS) - 1) / (1 - share)
    return math.log(odds) if odds > 1 else 0.0


def compute_vote_weights(votes: Sequence[WeighedVote], presumed: float | None = None) -> list[float]:
    """Return what each vote adds to the log-odds of its side.

    `presumed` are the log-odds of a vote that states none; None for what the agreement of all these votes would be worth.
    """
    total = math.fsum([vote.source for vote in votes])
    if total <= 0:
        return [0.0] * len(votes)
    unstated = total if presumed is None else presumed
    return [vote.source * (unstated if vote.stated is None else _compute_log_odds(vote.stated)) / total for vote in votes]


def compute_motion_posterior(support: float, oppose: float) -> float:
    """Return the probability that a motion is right, from the log-odds of both sides."""
    limit = math.log(CEILING / (1 - CEILING))
    return 1 / (1 + math.exp(-min(max(support - oppose, -limit), limit)))


def compute_posterior(scores: Mapping[str, float], options: int) -> dict[str, float]:
    """Return the probability of each named option, at most CEILING; the unnamed ones of all `options` count exp(0)."""
    if not scores:
        return {}
    # Shifted by the largest score, which changes no ratio and cannot overflow.
    top = max(0.0, *scores.values())
    shares = {name: math.exp(score - top) for name, score in scores.items()}
    total = math.fsum(shares.values()) + max(options - len(scores), 0) * math.exp(-top)
    return {name: min(share / total, CEILING) for name, share in shares.items()}


# Among many votes few confidences are stated.
@lru_cache(maxsize=256)
def _compute_log_odds(stated: float) -> float:
    share = min(stated, STATED_CEILING)
    return math.log(share / (1 - share)) if share > 0.5 else 0.0
