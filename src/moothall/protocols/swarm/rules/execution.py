"""The execution state machine: which step may follow which; no step can be skipped."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from moothall.domain.facts import Fact
from moothall.protocols.swarm import facts

NOTHING: Final = ""
CONFIRMS: Final[dict[type[Fact], tuple[str, ...]]] = {
    facts.SwarmFormed: ("INIT:create_team", "INIT:create_blackboard", "INIT:init_agent_states", "INIT:spawn_agents"),
    facts.RoundBegun: ("ROUND:broadcast_round_start",),
    facts.BarrierPassed: ("ROUND:wait_responses",),
    facts.OperationsProcessed: ("ROUND:process_operations", "ROUND:return_results"),
    facts.IdeasSorted: ("ROUND:update_blackboard",),
    facts.RoundSettled: ("ROUND:settle_round",),
    facts.ConvergenceMeasured: ("CONVERGENCE:check_beta_stability", "CONVERGENCE:check_quorum", "CONVERGENCE:check_diversity"),
    facts.SwarmCompleted: ("CONVERGENCE:generate_report",),
    facts.ShutdownNoticed: ("SHUTDOWN:pre_notify",),
    facts.ShutdownAnswered: ("SHUTDOWN:graceful_request",),
    facts.AgentsTerminated: ("SHUTDOWN:force_terminate", "SHUTDOWN:mark_all_terminated"),
}
"""The steps of the protocol in their order, named as in its source, by the fact that confirms them."""


def _build_following() -> dict[str, frozenset[str]]:
    following = {one: {other} for one, other in pairwise([NOTHING, *(step for steps in CONFIRMS.values() for step in steps)])}
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
        return all(step in FOLLOWING.get(last, ()) for last, step in pairwise((self.last, *steps)))

    def with_confirmed(self, *steps: str) -> "ExecutionProgress":
        """Return the progress with these steps confirmed; raises ValueError if one of them would skip another."""
        if not self.can_confirm(*steps):
            expected = " or ".join(sorted(FOLLOWING.get(self.last, ()))) or "nothing"
            raise ValueError(f"after {self.last or 'the opening'} comes {expected}, not {steps[0] if steps else 'nothing'}")
        return ExecutionProgress(last=steps[-1], count=self.count + len(steps)) if steps else self

    @property
    def is_over(self) -> bool:
        return self.last == "SHUTDOWN:mark_all_terminated"
