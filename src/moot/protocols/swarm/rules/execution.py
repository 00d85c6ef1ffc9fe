"""The execution state machine: which step may follow which; no step can be skipped."""

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
"""The steps of the protocol, named as in its source."""

NOTHING: Final = ""


def _build_following() -> dict[str, frozenset[str]]:
    linear = [f"{phase}:{step}" for phase, steps in STEPS.items() for step in steps]
    following = {one: {other} for one, other in zip([NOTHING, *linear], linear, strict=False)}
    # A round without an end is followed by another one; a run may also be ended before its first round.
    following["CONVERGENCE:check_diversity"].add("ROUND:broadcast_round_start")
    following["INIT:spawn_agents"].add("CONVERGENCE:generate_report")
    return {one: frozenset(others) for one, others in following.items()}


FOLLOWING: Final = _build_following()


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionProgress:
    """The last confirmed step, and the number of confirmed steps."""

    last: str = NOTHING
    count: int = 0

    def can_confirm(self, *steps: str) -> bool:
        """Whether these steps, in this order, come next."""
        last = self.last
        for step in steps:
            if step not in FOLLOWING.get(last, ()):
                return False
            last = step
        return True

    def with_confirmed(self, *steps: str) -> "ExecutionProgress":
        """Return the progress with these steps confirmed; raises ValueError if one of them would skip another."""
        if not self.can_confirm(*steps):
            given = steps[0] if steps else "nothing"
            raise ValueError(f"after {self.last or 'the opening'} comes {_format_next_steps(self.last)}, not {given}")
        return ExecutionProgress(last=steps[-1], count=self.count + len(steps)) if steps else self

    @property
    def is_over(self) -> bool:
        return self.last == "SHUTDOWN:mark_all_terminated"


def _format_next_steps(last: str) -> str:
    return " or ".join(sorted(FOLLOWING.get(last, ()))) or "nothing"
