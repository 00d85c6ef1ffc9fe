"""Which swarms are played: the three safeguards in every combination, then one thing changed at a time."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from bench.swarm.explorer import Manner
from bench.swarm.runs import Case, Outcome

BASE: Final = Case()
KEPT: Final = {0.0: "1.0", 0.08: "0.92", 0.3: "0.7"}
"""What evaporation leaves of a concentration, by its rate."""

Played = dict[str, list[Outcome]]


def safeguards() -> Iterator[tuple[str, Case]]:
    """Evaporation × stop signals × random exploration. Without the last nobody is ordered to wander, and nobody does."""
    for rate, kept in KEPT.items():
        for signals in (True, False):
            for wanders in (True, False):
                case = replace(BASE, manner=replace(BASE.manner, wanders=wanders))
                name = f"× {kept:<4}  stop {_on(signals)}  random {_on(wanders)}"
                yield (
                    name,
                    case.but(evaporation=rate, stop_signals=signals, random_exploration=wanders),
                )


def one_at_a_time() -> Iterator[tuple[str, Case]]:
    yield "as shipped", BASE
    yield "2 directions", replace(BASE, k=2)
    yield "10 directions", replace(BASE, k=10)
    yield "gap 0.1", replace(BASE, gap=0.1)
    yield "gap 0.4", replace(BASE, gap=0.4)
    yield "noise 0.1", replace(BASE, noise=0.1)
    yield "noise 0.4", replace(BASE, noise=0.4)
    for agents in (2, 4, 16, 32, 64):
        yield f"{agents} explorers", replace(BASE, agents=agents)
    yield "deposits ÷ 4", replace(BASE, manner=Manner(scale=0.05))
    yield "deposits × 2.5", replace(BASE, manner=Manner(scale=0.5))
    yield "swayed by 0.3", replace(BASE, manner=Manner(sway=0.3))
    yield "swayed by 1", replace(BASE, manner=Manner(sway=1.0))
    yield "orders to wander off", BASE.but(random_exploration=False)
    yield "protection off", BASE.but(protection=False)
    yield "gap 0.4, protection off", replace(BASE, gap=0.4).but(protection=False)
    yield "quorum of independents", BASE.but(quorum="independent")
    yield "floor 0", BASE.but(floor=0.0)
    yield "30 rounds", BASE.but(max_rounds=30)


def _on(value: bool) -> str:
    return "on " if value else "off"
