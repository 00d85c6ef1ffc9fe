"""What a decision was built on, and what was built on it, each with its outcome."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from moot.decisions.breakers import FAILED
from moot.decisions.facts import Outcome
from moot.decisions.kept import Kept


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A decision that hangs together with another, so many steps away; `is_known` is False when none of that name was kept."""

    decision: str
    steps: int
    is_known: bool = False
    topic: str = ""
    decided: str | None = None
    outcome: Outcome | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """`built_on` are its ancestors, `basis_of` its descendants, nearest first; `failed` are the ancestors that proved wrong."""

    decision: str
    built_on: tuple[Link, ...]
    basis_of: tuple[Link, ...]
    failed: tuple[str, ...]

    @property
    def stands_on_failure(self) -> bool:
        return bool(self.failed)


def lineage(decision: str, decisions: Mapping[str, Kept], children: Mapping[str, Sequence[str]]) -> Lineage:
    """Both directions from a decision; one that comes round to itself is not followed again."""
    above = _reached(decision, decisions, lambda name: decisions[name].record.built_on if name in decisions else ())
    return Lineage(
        decision=decision,
        built_on=above,
        basis_of=_reached(decision, decisions, lambda name: children.get(name, ())),
        failed=tuple(link.decision for link in above if link.outcome in FAILED),
    )


def _reached(start: str, decisions: Mapping[str, Kept], following: Callable[[str], Sequence[str]]) -> tuple[Link, ...]:
    steps = {start: 0}
    queue = [start]
    for name in queue:
        for after in following(name):
            if after not in steps:
                steps[after] = steps[name] + 1
                queue.append(after)
    return tuple(_link(name, steps[name], decisions.get(name)) for name in queue[1:])


def _link(name: str, steps: int, kept: Kept | None) -> Link:
    if kept is None:
        return Link(decision=name, steps=steps)
    return Link(
        decision=name,
        steps=steps,
        is_known=True,
        topic=kept.record.topic,
        decided=kept.record.decided,
        outcome=kept.outcome,
    )
