"""The execution state machine: which step may follow which. A step that was not confirmed cannot be passed over."""

from dataclasses import dataclass
from typing import Final

STEPS: Final[dict[str, tuple[str, ...]]] = {
    "INIT": ("create_team", "create_blackboard", "init_agent_states", "spawn_agents"),
    "ROUND": (
        "broadcast_round_start",
        "wait_responses",
        "process_operations",
        "return_results",
        "update_blackboard",
        "settle_round",
    ),
    "CONVERGENCE": ("check_beta_stability", "check_quorum", "check_diversity", "generate_report"),
    "SHUTDOWN": ("pre_notify", "graceful_request", "force_terminate", "mark_all_terminated"),
}
"""The steps of the protocol, as its source names them."""

NOTHING: Final = ""


def _build_following() -> dict[str, frozenset[str]]:
    linear = [f"{phase}:{step}" for phase, steps in STEPS.items() for step in steps]
    found = {one: {other} for one, other in zip([NOTHING, *linear], linear, strict=False)}
    # A round that leads to no end is followed by another; an end may be called for before the first.
    found["CONVERGENCE:check_diversity"].add("ROUND:broadcast_round_start")
    found["INIT:spawn_agents"].add("CONVERGENCE:generate_report")
    return {one: frozenset(others) for one, others in found.items()}


FOLLOWING: Final = _build_following()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionProgress:
    """The last step that was confirmed, and how many were."""

    last: str = NOTHING
    count: int = 0

    def can_confirm(self, *steps: str) -> bool:
        """Whether these steps, in this order, are the next."""
        last = self.last
        for step in steps:
            if step not in FOLLOWING.get(last, ()):
                return False
            last = step
        return True

    def with_confirmed(self, *steps: str) -> "ExecutionProgress":
        """With these steps confirmed; raises ValueError when one of them would pass over another."""
        if not self.can_confirm(*steps):
            given = steps[0] if steps else "nothing"
            raise ValueError(f"after {self.last or 'the opening'} comes {_format_next_steps(self.last)}, not {given}")
        return ExecutionProgress(last=steps[-1], count=self.count + len(steps)) if steps else self

    @property
    def is_over(self) -> bool:
        return self.last == "SHUTDOWN:mark_all_terminated"


def _format_next_steps(last: str) -> str:
    return " or ".join(sorted(FOLLOWING.get(last, ()))) or "nothing"
