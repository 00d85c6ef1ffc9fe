"""Directions with a true quality, what an explorer reads of them, and how well minds do that never share a blackboard.

One direction is better than all others by `gap`; the others are equal. A reading is the quality, the reader's own taste for
that direction, and noise. Both are drawn from the seed, the reader, the direction and how often it looked, so that two runs that
differ in one setting read the same.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

NAMES: Final = (
    "harbour",
    "orchard",
    "granite",
    "lantern",
    "meadow",
    "saffron",
    "turbine",
    "velvet",
    "willow",
    "zephyr",
)
ORDINARY: Final = 0.5
"""The quality of every direction but the best, and what an explorer expects of one before it has looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    seed: int
    k: int
    gap: float
    noise: float
    taste: float

    @property
    def directions(self) -> tuple[str, ...]:
        return NAMES[: self.k]

    @property
    def best(self) -> str:
        return Random(f"{self.seed}/best").choice(self.directions)

    @property
    def decoy(self) -> str:
        """The wrong direction that liars push, all the same one."""
        return Random(f"{self.seed}/decoy").choice(
            [each for each in self.directions if each != self.best]
        )

    def reading(self, reader: str, direction: str, nth: int) -> float:
        """What the reader's n-th look at a direction shows."""
        quality = ORDINARY + self.gap * (direction == self.best)
        taste = Random(f"{self.seed}/{reader}/{direction}").gauss(0.0, self.taste)
        return (
            quality
            + taste
            + Random(f"{self.seed}/{reader}/{direction}/{nth}").gauss(0.0, self.noise)
        )


class Readings:
    """What one reader has seen."""

    def __init__(self, world: World, reader: str) -> None:
        self._world = world
        self._reader = reader
        self.seen: dict[str, list[float]] = {}

    def look(self, direction: str) -> float:
        found = self.seen.setdefault(direction, [])
        found.append(self._world.reading(self._reader, direction, len(found)))
        return found[-1]

    def estimate(self, direction: str) -> float:
        """The mean of what was read, with one ordinary reading put to it: a single lucky look is not taken for the truth."""
        found = self.seen.get(direction, [])
        return (ORDINARY + math.fsum(found)) / (1 + len(found))

    def doubt(self, one: str, other: str) -> float:
        """The standard error of the difference between two directions."""
        return self._world.noise * math.sqrt(sum(1 / len(self.seen[each]) for each in (one, other)))


def alone(world: World, reader: str, looks: int) -> str:
    """The choice of one who looks at the directions in turn, in an order of its own."""
    return _best(_in_turn(world, reader, looks))


def plurality(world: World, readers: Sequence[str], looks: int) -> str:
    """The choice of most readers, each of whom looks so many times and hears of nobody else; a tie is left to chance."""
    votes: dict[str, int] = {}
    for reader in readers:
        choice = alone(world, reader, looks)
        votes[choice] = votes.get(choice, 0) + 1
    most = max(votes.values())
    tied = [direction for direction in world.directions if votes.get(direction) == most]
    return Random(f"{world.seed}/tie").choice(tied)


def plurality_of(world: World, looks: Mapping[str, int], liars: Sequence[str]) -> str:
    """The same where readers look a different number of times, and liars vote for the decoy whatever they read."""
    votes = [
        world.decoy if reader in liars else alone(world, reader, count)
        for reader, count in looks.items()
    ]
    most = max(votes.count(each) for each in votes)
    return Random(f"{world.seed}/tie").choice(
        [each for each in world.directions if votes.count(each) == most]
    )


def pooled(world: World, readers: Sequence[str], looks: int) -> str:
    """The choice by the mean of all that these readers read."""
    seen: dict[str, list[float]] = {}
    for reader in readers:
        for direction, found in _in_turn(world, reader, looks).items():
            seen.setdefault(direction, []).extend(found)
    return _best(seen)


def _in_turn(world: World, reader: str, looks: int) -> Mapping[str, list[float]]:
    order = list(world.directions)
    Random(f"{world.seed}/{reader}/order").shuffle(order)
    found = Readings(world, reader)
    for look in range(looks):
        found.look(order[look % len(order)])
    return found.seen


def _best(seen: Mapping[str, list[float]]) -> str:
    return max(
        seen,
        key=lambda direction: (ORDINARY + math.fsum(seen[direction])) / (1 + len(seen[direction])),
    )
