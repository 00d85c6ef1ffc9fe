"""What a gate says of a decision: whether it is what was required, and worth enough."""

from typing import Literal

from moothall.domain.replace import dataclass

GateOutcome = Literal["met", "otherwise", "undecided", "waiting"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateJudgement:
    """Whether a decision is one of the choices that its caller required, and why."""

    outcome: GateOutcome
    """`met`: as required. `otherwise`: another choice, or worth too little. `undecided`: nothing that may pass was decided.
    `waiting`: the session goes on."""
    reason: str
    """One line, in the language of the session."""

    @property
    def is_met(self) -> bool:
        """Whether what comes after the decision may go on."""
        return self.outcome == "met"
