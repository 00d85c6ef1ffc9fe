"""The facts of a swarm.

The facts that the rulebook computes confirm the steps of the execution state machine (`state.py`); each holds the result of
its step, so that the ledger alone describes the run.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, ClassVar, Final, Literal

from annotated_types import Ge, Gt, Le, Lt, MaxLen

from moothall.domain.facts import Closed, Fact, Opened, Reply, add_kind
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.protocols.swarm import answers
from moothall.scoring.evidence import EvidenceVerdict
from moothall.scoring.resolution import Resolution
from moothall.scoring.stigmergy import ConvergenceVerdict, QuorumOf

VALIDATOR: Final = SeatId("validator")
MIN_AGENTS: Final = 2
MAX_AGENTS: Final = 64

Mode = Literal["emergent", "hybrid", "classic"]
SynthesisRule = Literal["classic", "always"]
Role = Literal["EXPLORER", "DEEP_ANALYST", "DEBATER", "SYNTHESIZER"]
Status = Literal["active", "interrupted", "degraded", "removed", "completed", "terminated"]
Termination = Literal["graceful", "forced", "auto_forced", "compliance_violation"]
Severity = Literal["WARNING", "MINOR", "MAJOR", "CRITICAL"]
CollisionMode = Literal["review_challenge", "debate", "collaborate_deepen", "early_synthesis"]
Reason = Literal["new", "agreesWith", "judge"]
Settle = Literal["evidence", "quorum"]
Stability = Literal["all", "leading"]
EndReason = Literal[
    "converged",
    "max_rounds",
    "insufficient_active_agents",
    "synthesis",
    "called",
    "tokens",
    "money",
    "time",
    "fault",
    "clear",
]
Seconds = Annotated[float, Gt(0), Le(86_400)]
Share = Annotated[float, Ge(0), Le(1)]

KINDS: Final[dict[str, type[Fact]]] = {}


ROUND_SECONDS: Final = 120.0
"""How long a round waits for a seat that Moot asks, unless it is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmSettings:
    """The settings of a swarm; the defaults are those of version 2.4.

    `directions` are the user's own, for the mode `hybrid`. `quorum` says whose support counts. `apart` are ideas that are only
    joined with an equal text. The seconds of the last two phases apply to outside agents. `synthesis` says which modes end with
    one.

    `settle` says what makes the decision: the readings of answers, or the vote on ideas with a quorum; None leaves it to the
    mode. `stability` says which ideas must be stable, `clear_at` from which z of the leading answer the run may end early
    (0: never), and `judge` is the seat that judges whether near ideas are one (empty: nobody does); `measure` is what finds them.
    """

    mode: Mode = "emergent"
    max_rounds: Annotated[int, Ge(1), Le(100)] = 10
    directions: Annotated[tuple[answers.Line, ...], MaxLen(32)] = ()
    round_timeout: Seconds | None = None
    """How long a round waits for each seat. Default: ROUND_SECONDS, and for those from outside as long as the session does."""
    evaporation: Annotated[float, Ge(0), Lt(1)] = 0.08
    floor: Share = 0.1
    deposit: Annotated[float, Gt(0), Le(0.3)] = 0.1
    max_deposit: Annotated[float, Gt(0), Le(1)] = 0.3
    agents_per_task: Annotated[int, Ge(1), Le(64)] = 3
    min_rounds: Annotated[int, Ge(1), Le(100)] = 3
    beta: Annotated[int, Ge(1), Le(100)] = 2
    quorum_threshold: Annotated[float, Gt(0), Le(1)] = 0.67
    quorum: QuorumOf = "all"
    min_diversity: Share = 0.4
    max_consensus: Share = 0.9
    fast_before: Annotated[int, Ge(0), Le(100)] = 5
    signal_strength: Share = 0.3
    signal_seconds: Seconds = 300.0
    max_inhibition: Share = 0.5
    random_exploration: bool = True
    stop_signals: bool = True
    protection: bool = True
    collisions: Annotated[int, Ge(0), Le(10)] = 3
    vote: bool = True
    recovery_seconds: Seconds = 120.0
    silent_seconds: Seconds = 120.0
    notice_seconds: Seconds = 5.0
    graceful_seconds: Seconds = 15.0
    apart: Annotated[tuple[answers.Line, ...], MaxLen(100)] = ()
    settle: Settle | None = None
    stability: Stability = "all"
    clear_at: Annotated[float, Ge(0), Le(10)] = 0.0
    judge: Annotated[str, MaxLen(64)] = VALIDATOR
    measure: answers.Measure = "meaning"
    synthesis: SynthesisRule = "always"
    pool_twins: bool = True
    """Whether the judge is asked once more before the close which of the first ideas are one (S-38)."""


@add_kind(KINDS, "swarm.opened")
class SwarmOpened(Opened):
    """The opening. `seats` are the explorers in order, then the validator, if there is one."""

    settings: SwarmSettings = SwarmSettings()
    helpers: ClassVar[frozenset[SeatId]] = frozenset({VALIDATOR})

    @property
    def neutral(self) -> frozenset[SeatId]:
        return self.helpers | {SeatId(self.settings.judge)}


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnParameters:
    """The random parameters of an explorer."""

    seat: SeatId
    threshold: float
    random_explore: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcentrationChange:
    """A concentration before and after a change."""

    direction: str
    before: float
    after: float


@add_kind(KINDS, "swarm.formed")
class SwarmFormed(Fact):
    """The blackboard and its explorers were created. `seeded` are the user's directions, `laid` their concentrations."""

    agents: tuple[DrawnParameters, ...]
    seeded: tuple[str, ...] = ()
    deposited: tuple[ConcentrationChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundOrder:
    """The order of one explorer for a round. `perspective` is assigned in the classic mode.

    `cover`: the recommended direction is one that this explorer has not read yet, and few others have. The last three are for
    a seat that Moot asks: the direction that was drawn for it, or that it looks where nobody has, and one to leave aside.
    """

    seat: SeatId
    random: bool = False
    must_switch: bool = False
    inhibited: bool = False
    wake: bool = False
    recommended: str = ""
    perspective: str = ""
    cover: bool = False
    given: str = ""
    is_new: bool = False
    leave: str = ""


@add_kind(KINDS, "swarm.round_begun")
class RoundBegun(Fact):
    """All active explorers were asked to start."""

    round: int
    orders: tuple[RoundOrder, ...]


@add_kind(KINDS, "swarm.reported")
class Reported(Reply):
    said: answers.RoundReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that a round report broke."""

    seat: SeatId
    violation: str
    severity: Severity
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusChange:
    """A change of an agent's status, and its reason."""

    seat: SeatId
    old: Status
    new: Status
    reason: str


@add_kind(KINDS, "swarm.barrier_passed")
class BarrierPassed(Fact):
    """Every agent has answered, or was given up for this round."""

    round: int
    answered: tuple[SeatId, ...]
    lost: tuple[SeatId, ...] = ()
    is_degraded: bool = False
    violations: tuple[Violation, ...] = ()
    changes: tuple[StatusChange, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationResult:
    """The result of one operation. `target` is the direction, signal, subtask or finding that it was about."""

    number: int
    seat: SeatId
    operation: str
    success: bool
    error: str = ""
    detail: str = ""
    target: str = ""
    before: float | None = None
    after: float | None = None


@add_kind(KINDS, "swarm.operations_processed")
class OperationsProcessed(Fact):
    """The operations of a round, each executed once or refused."""

    round: int
    requests: int
    processed: int
    failed: int
    results: tuple[OperationResult, ...] = ()


@add_kind(KINDS, "swarm.collided")
class Collided(Reply):
    said: answers.Collision


@add_kind(KINDS, "swarm.validated")
class Validated(Reply):
    said: answers.Validation


@add_kind(KINDS, "swarm.compared")
class Compared(Reply):
    said: answers.SimilarityReport


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedIdea:
    """A text that nobody stated before, and the idea that it is assigned to. `similar_to` is the idea's own text.

    `why` is the reason that a judge gave.
    """

    text: str
    idea: int
    reason: Reason
    likeness: float | None = None
    similar_to: str = ""
    why: str = ""


@add_kind(KINDS, "swarm.ideas_sorted")
class IdeasSorted(Fact):
    """The texts of a round with their ideas. `by` names the measure that listed near pairs, `words (fallback)` if it was lost.

    `judge` is the seat that judged them, empty if nobody did; `judged` is how many it judged.
    """

    round: int
    by: str = ""
    placed: tuple[PlacedIdea, ...] = ()
    judge: str = ""
    judged: int = 0


@add_kind(KINDS, "swarm.twins_pooled")
class TwinsPooled(IdeasSorted):
    """The first ideas that the judge called one before the close: the texts of the younger ones, and the idea they went to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoleChange:
    """An agent's new role; `reason` names the rule, `probability` and `drawn` the random draw that decided."""

    seat: SeatId
    old: Role
    new: Role
    round: int
    reason: str
    probability: float = 1.0
    drawn: float = 0.0


@add_kind(KINDS, "swarm.round_settled")
class RoundSettled(Fact):
    """The settlement of a round, in this order: evaporation, expired signals, opinions, roles, round counts.

    `opinions` are the ideas that each active agent holds.
    """

    round: int
    evaporated: tuple[ConcentrationChange, ...] = ()
    expired: tuple[str, ...] = ()
    opinions: Mapping[SeatId, tuple[int, ...]] = field(default_factory=dict)
    roles: tuple[RoleChange, ...] = ()
    refused: tuple[SeatId, ...] = ()
    counted: tuple[SeatId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Backing:
    """The backers of an idea; `independent` are those that held it before they could read it from others."""

    idea: int
    backers: tuple[SeatId, ...]
    independent: tuple[SeatId, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceChoice(EvidenceVerdict):
    """The answer that the readings favour, and how clearly. In `ranked`, ideas are named by their ids, options by their words."""

    answer: str
    """Its text."""
    idea: int = 0
    """The number of the idea that it is; 0 for an option, or a direction of the user's."""


@add_kind(KINDS, "swarm.convergence_measured")
class ConvergenceMeasured(ConvergenceVerdict, Fact):
    """Every figure of the verdict on a round with its inputs, and the protection that followed.

    `silent` are active agents that the quorum does not count. `lead` is what the readings favour so far, where that can end the
    run; `is_clear` says that it does.
    """

    ideas: tuple[int, ...]
    before: tuple[int, ...]
    active: int
    backing: tuple[Backing, ...]
    quorum_ideas: tuple[int, ...]
    warnings: tuple[str, ...] = ()
    all_random: bool = False
    cut: ConcentrationChange | None = None
    debater: RoleChange | None = None
    silent: tuple[SeatId, ...] = ()
    lead: EvidenceChoice | None = None
    is_clear: bool = False

    @property
    def voices(self) -> int:
        """How many agents the quorum counts."""
        return self.active - len(self.silent)


@add_kind(KINDS, "swarm.voted")
class Voted(Reply):
    said: answers.SwarmBallot


@add_kind(KINDS, "swarm.synthesized")
class Synthesized(Reply):
    said: answers.Synthesis


@dataclass(frozen=True, slots=True, kw_only=True)
class IdeaResolution(Resolution):
    """The result of the votes on one answer: an idea, or an option of the question."""

    idea: int
    """The number of the idea, 0 for an option."""
    option: str = ""


@add_kind(KINDS, "swarm.completed")
class SwarmCompleted(Fact):
    """Exploration has ended; all agents that were working are `completed`. `choice` is what the readings favour."""

    round: int
    reason: EndReason
    converged: bool
    resolved: tuple[IdeaResolution, ...] = ()
    synced: tuple[SeatId, ...] = ()
    choice: EvidenceChoice | None = None


@add_kind(KINDS, "swarm.shutdown_noticed")
class ShutdownNoticed(Fact):
    """All agents were notified of the end; `awaited` are outside agents, who are asked to say goodbye."""

    awaited: tuple[SeatId, ...] = ()


@add_kind(KINDS, "swarm.acknowledged")
class Acknowledged(Reply):
    said: answers.ShutdownReply


@add_kind(KINDS, "swarm.shutdown_answered")
class ShutdownAnswered(Fact):
    """The agents that said goodbye when asked."""

    acknowledged: tuple[SeatId, ...] = ()


@add_kind(KINDS, "swarm.terminated")
class AgentsTerminated(Fact):
    """Every remaining agent was terminated, each with its reason."""

    ends: Mapping[SeatId, Termination]


@add_kind(KINDS, "swarm.closed")
class SwarmClosed(Closed):
    """The end of a run. `fault` says what broke if the reason is `fault`."""

    reason: EndReason
    converged: bool
    rounds: int
    fault: str = ""
