"""The lineage of a decision: what it was built on and what was built on it, each with its outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from moothall.memory.breakers import FAILED
from moothall.memory.facts import Outcome
from moothall.memory.remembered_decision import RememberedDecision


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkedDecision:
    """A decision that is linked to another."""

    decision_id: str
    steps: int
    """Its distance."""
    is_known: bool = False
    """Whether it is in memory."""
    topic: str = ""
    decision: str | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """The decisions that a decision builds on, and those that build on it, nearest first."""

    decision_id: str
    built_on: tuple[LinkedDecision, ...]
    basis_of: tuple[LinkedDecision, ...]
    failed: tuple[str, ...]
    """The failed decisions that it builds on."""
    stands_on_failure: bool


def build_lineage(decision: str, decisions: Mapping[str, RememberedDecision], children: Mapping[str, Sequence[str]]) -> Lineage:
    """Follow both directions from a decision; cycles are followed only once."""
    above = _collect_reachable(decision, decisions, lambda name: decisions[name].record.built_on if name in decisions else ())
    failed = tuple(link.decision_id for link in above if link.outcome in FAILED)
    return Lineage(
        decision_id=decision,
        built_on=above,
        basis_of=_collect_reachable(decision, decisions, lambda name: children.get(name, ())),
        failed=failed,
        stands_on_failure=bool(failed),
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
        return LinkedDecision(decision_id=name, steps=steps)
    return LinkedDecision(
        decision_id=name,
        steps=steps,
        is_known=True,
        topic=kept.record.topic,
        decision=kept.record.text,
        outcome=kept.outcome,
    )
