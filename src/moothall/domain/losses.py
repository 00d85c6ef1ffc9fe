"""Counts how often seats have failed to answer, for any protocol."""

from collections.abc import Mapping
from dataclasses import dataclass

from moothall.domain.facts import Loss, SeatLost
from moothall.domain.ids import SeatId


@dataclass(frozen=True, slots=True)
class Losses:
    """How often a seat failed, and the reason of the last failure."""

    times: int
    last: Loss


def count_loss(losses: Mapping[SeatId, Losses], fact: SeatLost) -> dict[SeatId, Losses]:
    """Return the losses with one more failure counted."""
    before = losses.get(fact.seat)
    return {**losses, fact.seat: Losses(1 if before is None else before.times + 1, fact.reason)}
