"""Whole swarms of simulated explorers, played through the rulebook and the engine's own step, and what came of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.support.play_swarm import build_swarm_plan

from bench.swarm.driver import Drive
from bench.swarm.explorer import Explorer, Manner
from bench.swarm.world import World, alone, plurality, pooled
from moothall.domain.effects import Brief, CompareTexts
from moothall.protocols.swarm.facts import BarrierPassed, ConvergenceMeasured, SwarmClosed
from moothall.protocols.swarm.rules.review import compare_by_words


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One cell: the world, the explorers, and the swarm's settings where they are not the defaults.

    Swarms are settled by the source's rule here; `speech.py` has those that are settled by evidence.
    """

    k: int = 5
    gap: float = 0.2
    noise: float = 0.2
    taste: float = 0.1
    agents: int = 8
    manner: Manner = Manner()
    settings: dict[str, Any] = field(default_factory=lambda: {"settle": "quorum"})

    def world(self, seed: int) -> World:
        return World(seed=seed, k=self.k, gap=self.gap, noise=self.noise, taste=self.taste)

    def but(self, **settings: Any) -> "Case":
        """The same with these settings of the swarm."""
        return replace(self, settings={**self.settings, **settings})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one run came to, and what minds without a blackboard make of as many readings."""

    converged: bool
    is_best: bool
    marked_best: bool
    held_best: bool
    rounds: int
    violations: int
    alone_best: bool
    plurality_best: bool
    pooled_best: bool


def played(case: Case, seed: int) -> Drive:
    """One run to its end."""
    plan = build_swarm_plan(case.agents, seed=seed, platform="mailbox", **case.settings)
    world = case.world(seed)
    explorers = {seat.id: Explorer(world, seat.id, case.manner) for seat in plan.seats}

    def says(brief: Brief) -> object:
        return (
            compare_by_words(brief.chore)
            if isinstance(brief.chore, CompareTexts)
            else explorers[brief.ask.seat].says(brief)
        )

    run = Drive(plan, says)
    for _ in run.steps():
        pass
    return run


def outcome(case: Case, seed: int) -> Outcome:
    """One run, judged by the truth."""
    run, world = played(case, seed), case.world(seed)
    closed = next(fact for fact in run.facts if isinstance(fact, SwarmClosed))
    last = next(fact for fact in reversed(run.facts) if isinstance(fact, ConvergenceMeasured))
    board = run.state.board
    backed = max(last.backing, key=lambda each: len(each.backers))
    held = board.ideas[backed.idea].text
    marked = max(board.pheromones.values(), key=lambda each: each.concentration).direction
    seats = [str(seat) for seat in run.state.explorers]
    return Outcome(
        converged=closed.converged,
        is_best=(held if closed.converged else marked) == world.best,
        marked_best=marked == world.best,
        held_best=held == world.best,
        rounds=closed.rounds,
        violations=sum(
            len(fact.violations) for fact in run.facts if isinstance(fact, BarrierPassed)
        ),
        alone_best=alone(world, seats[0], closed.rounds) == world.best,
        plurality_best=plurality(world, seats, closed.rounds) == world.best,
        pooled_best=pooled(world, seats, closed.rounds) == world.best,
    )


@dataclass(frozen=True, slots=True)
class Share:
    """A share of runs with its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{100 * self.value:.0f} ± {100 * self.error:.0f}"


def share(outcomes: Sequence[Outcome], holds: Callable[[Outcome], bool]) -> Share:
    """The share of outcomes of which something holds."""
    value = sum(map(holds, outcomes)) / len(outcomes)
    return Share(value, math.sqrt(value * (1 - value) / len(outcomes)))


def outcomes(case: Case, runs: int) -> list[Outcome]:
    """So many runs of one cell, each with a seed of its own; the seeds of all cells are the same."""
    return [outcome(case, seed) for seed in range(1, runs + 1)]
