"""The lineage of a decision: what it was built on and what was built on it, each with its outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from moothall.memory.breakers import FAILED
from moothall.memory.facts import Outcome
from moothall.memory.remembered_decision import RememberedDecision


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedDecision:
    """A decision that is linked to another, with its distance; `is_known` is False if it is not in memory."""

    decision: str
    steps: int
    is_known: bool = False
    topic: str = ""
    decided: str | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """`built_on` are the ancestors, `basis_of` the descendants, nearest first; `failed` are the ancestors that proved wrong."""

    decision: str
    built_on: tuple[LinkedDecision, ...]
    basis_of: tuple[LinkedDecision, ...]
    failed: tuple[str, ...]

    @property
    def stands_on_failure(self) -> bool:
        return bool(self.failed)


def build_lineage(decision: str, decisions: Mapping[str, RememberedDecision], children: Mapping[str, Sequence[str]]) -> Lineage:
    """Follow both directions from a decision; cycles are followed only once."""
    above = _collect_reachable(decision, decisions, lambda name: decisions[name].record.built_on if name in decisions else ())
    return Lineage(
        decision=decision,
        built_on=above,
        basis_of=_collect_reachable(decision, decisions, lambda name: children.get(name, ())),
        failed=tuple(link.decision for link in above if link.outcome in FAILED),
    )


def _collect_reachable(
    start: str, decisions: Mapping[str, RememberedDecision], following: Callable[[str], Sequence[str]]
) -> tuple[LinkedDecision, ...]:
    steps = {start: 0}
    queue = [start]
    # Breadth first, and the list grows while it is read: so the nearest decisions come first.
    for name in queue:
        for after in following(name):
            if after not in steps:
                steps[after] = steps[name] + 1
                queue.append(after)
    return tuple(_build_link(name, steps[name], decisions.get(name)) for name in queue[1:])


def _build_link(name: str, steps: int, kept: RememberedDecision | None) -> LinkedDecision:
    if kept is None:
        return LinkedDecision(decision=name, steps=steps)
    return LinkedDecision(
        decision=name,
        steps=steps,
        is_known=True,
        topic=kept.record.topic,
        decided=kept.record.decided,
        outcome=kept.outcome,
    )
