"""How often seats have failed, whatever the protocol."""

from collections.abc import Mapping
from dataclasses import dataclass

from moot.domain.facts import Loss, SeatLost
from moot.domain.ids import SeatId


@dataclass(frozen=True, slots=True)
class Losses:
    """How often a seat failed, and how last."""

    times: int
    last: Loss


def count_loss(losses: Mapping[SeatId, Losses], fact: SeatLost) -> dict[SeatId, Losses]:
    """The losses with one more."""
    before = losses.get(fact.seat)
    return {**losses, fact.seat: Losses(1 if before is None else before.times + 1, fact.reason)}
