"""The state of a swarm: its blackboard, its agents, the stage of the round, and the confirmed steps, of which none is skipped.

The state holds what decisions need. What only readers need (every event, every operation with its parameters) is collected from
the facts by `reports/timeline.py`, so that the cost of a fact does not grow with the run.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from itertools import pairwise
from typing import Final, Literal

from moothall.domain.dictionaries import group_pairs
from moothall.domain.facts import Fact, Loss
from moothall.domain.groups import JudgedPair, Pair
from moothall.domain.ids import AskId, SeatId
from moothall.domain.replace import dataclass, fast_replace
from moothall.domain.session_state import PendingAsk, ProtocolState
from moothall.domain.topic import index_replies, read_replies
from moothall.protocols.swarm import answers, facts
from moothall.scoring.likeness import normalize_idea

SILENT_ROUNDS: Final = 2
"""Rounds in a row without output after which an agent counts as silent."""

ASKED: Final[tuple[facts.Status, ...]] = ("active", "interrupted", "degraded")
"""The agents that are asked to explore: a degraded one continues to work, but the quorum does not count it."""

RoundStage = Literal["begin", "explore", "process", "review", "settle", "measure"]
EndStage = Literal["pool", "vote", "notice", "graceful", "terminate", "close", "closed"]
Stage = Literal["init", RoundStage, EndStage]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pheromone:
    """A direction on the blackboard. `direction` is spelled as its first depositor wrote it."""

    direction: str
    concentration: float
    deposited_by: tuple[SeatId, ...]
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SubtaskClaim:
    """A part of the task, and the agents who work on it."""

    id: str
    description: str
    claimed_by: tuple[SeatId, ...]
    round: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """A stop signal. `target` is the key of its direction, `at` the second of the run's clock."""

    id: str
    sender: SeatId
    target: str
    reason: str
    evidence: str
    strength: float
    round: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CollisionReview(answers.Collision):
    """The review of a finding that came from a collision."""

    seat: SeatId
    mode: facts.CollisionMode
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding(answers.StatedIdea):
    """What an agent reported. `idea` is 0 until it is assigned, `also` are other ideas that it agrees with."""

    number: int
    seat: SeatId
    round: int
    direction: str
    idea: int = 0
    also: tuple[int, ...] = ()
    reviews: tuple[CollisionReview, ...] = ()
    verdict: answers.CheckVerdict | None = None
    checked: str = ""

    @property
    def id(self) -> str:
        return f"finding-{self.number:03d}"

    @property
    def key(self) -> str:
        """The text by which findings are the same."""
        return normalize_idea(self.core_idea)

    @property
    def weight(self) -> float:
        """The sum of the weights of its reviews."""
        return sum(review.weight for review in self.reviews)


@dataclass(frozen=True, slots=True, kw_only=True)
class Idea:
    """What one or more texts say; `text` is the first of them. `since` holds the round in which each backer first held it."""

    number: int
    text: str
    round: int
    since: Mapping[SeatId, int] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"idea-{self.number}"

    @property
    def independent(self) -> tuple[SeatId, ...]:
        """The backers that stated it in the round in which it first appeared, before they could read it from others."""
        return tuple(seat for seat, number in self.since.items() if number == self.round)


@dataclass(frozen=True, kw_only=True)
class Agent:
    """An explorer. It has no slots, for `fast_replace`.

    `strikes` counts timeouts in a row, `silence` rounds in a row without output, `wakes` how often it was woken because of that,
    `asked` the round asks that it has answered or missed. `active_at` is its last answer by the run's clock. `holds` are the
    ideas of its last report that had any, `done` the ids of its operations. `read` are the keys of the directions that it
    explored itself, `cuts` those that it sent a stop signal against.
    """

    seat: SeatId
    threshold: float
    random_explore: float
    role: facts.Role = "EXPLORER"
    status: facts.Status = "active"
    ended: facts.Termination | None = None
    deposits: int = 0
    rounds: int = 0
    findings: int = 0
    signals_sent: int = 0
    signals_received: int = 0
    direction: str = ""
    subtask: str = ""
    role_history: tuple[facts.RoleChange, ...] = ()
    violations: tuple[facts.Violation, ...] = ()
    score: int = 0
    strikes: int = 0
    silence: int = 0
    wakes: int = 0
    asked: int = 0
    missed: bool = False
    active_at: float = 0.0
    holds: tuple[int, ...] = ()
    wanted_role: facts.Role | None = None
    role_news: facts.RoleChange | None = None
    role_refused: bool = False
    results: tuple[facts.OperationResult, ...] = ()
    done: frozenset[str] = frozenset()
    read: tuple[str, ...] = ()
    cuts: frozenset[str] = frozenset()

    @property
    def is_asked(self) -> bool:
        return self.status in ASKED


@dataclass(frozen=True, kw_only=True)
class Board:
    """The shared blackboard. Directions are indexed by their normalized form; `by_text` maps each normalized text to its idea."""

    pheromones: Mapping[str, Pheromone] = field(default_factory=dict)
    claims: Mapping[str, SubtaskClaim] = field(default_factory=dict)
    signals: tuple[Signal, ...] = ()
    signals_made: int = 0
    findings: tuple[Finding, ...] = ()
    ideas: Mapping[int, Idea] = field(default_factory=dict)
    by_text: Mapping[str, int] = field(default_factory=dict)
    perspectives: frozenset[str] = frozenset()
    # Of each direction, by its key: who deposited on it, how often and how much in all.
    readings: Mapping[str, Mapping[SeatId, tuple[int, float]]] = field(default_factory=dict)
    # The normalized texts that the validator refuted.
    refuted: frozenset[str] = frozenset()
    # The pairs of texts that were put to the judge a second time, in a later round.
    looked: frozenset[Pair] = frozenset()
    operations: int = 0
    refused: int = 0
    requests: int = 0

    def idea(self, number: int) -> Idea | None:
        return self.ideas.get(number)

    def find_current(self, number: int) -> int:
        """Return the number of the idea that an idea has become part of; its own where it still stands."""
        idea = self.ideas.get(number)
        if idea is None:
            return number
        return self.by_text.get(normalize_idea(idea.text), number)

    def list_ideas(self, numbers: Iterable[int]) -> list[Idea]:
        """Return the ideas with these numbers; a number without an idea is left out."""
        return [self.ideas[number] for number in numbers if number in self.ideas]

    def finding(self, name: str) -> Finding | None:
        at = parse_number(name, "finding-")
        return self.findings[at - 1] if 1 <= at <= len(self.findings) else None

    @property
    def strongest(self) -> float:
        return max((each.concentration for each in self.pheromones.values()), default=0.0)


def parse_number(name: str, prefix: str) -> int:
    """Return the number in the id of a finding or an idea; 0 if there is none."""
    number = name.removeprefix(prefix)
    # `isdigit` accepts digits of other scripts, which `int` may reject or read differently; the length bounds the conversion.
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else 0


def with_changes(board: Board, changes: Iterable[facts.ConcentrationChange]) -> Board:
    after = {change.direction: change.after for change in changes}
    return fast_replace(
        board,
        pheromones={
            key: replace(each, concentration=after[each.direction])
            if each.direction in after
            else each
            for key, each in board.pheromones.items()
        },
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Invitation:
    """An idle agent that is asked to review findings of others."""

    seat: SeatId
    mode: facts.CollisionMode
    targets: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class RoundReview:
    """The questions between a round's operations and its settlement, and their answers; None for an answer that was lost."""

    invitations: tuple[Invitation, ...] = ()
    to_check: tuple[int, ...] = ()
    fresh: tuple[str, ...] = ()
    """The texts that nobody stated before."""
    texts: tuple[str, ...] = ()
    """What is compared for the judge: the texts of known ideas, then the new ones that no `agreesWith` assigns."""
    ideas: tuple[int, ...] = ()
    """The ideas of the known texts."""
    collisions: Mapping[SeatId, answers.Collision | None] = field(default_factory=dict)
    validation: answers.Validation | None = None
    likenesses: answers.SimilarityReport | None = None
    settled: frozenset[SeatId] = frozenset()
    pairs: tuple[answers.ComparedPair, ...] = ()
    """What is put to the judge, once the measure has answered or was lost."""
    denials: tuple[answers.ComparedPair, ...] = ()
    """The pairs that say nearly the same words and take opposite sides: nobody is asked about them."""
    judged: tuple[JudgedPair, ...] = ()
    """What the judge has said of the pairs, in both orders."""
    is_judged: bool = False
    """Whether the judge has answered, or was lost."""

    @property
    def first_new(self) -> int:
        """The place of the first new text among the compared ones."""
        return len(self.ideas)

    @property
    def has_new(self) -> bool:
        return len(self.texts) > len(self.ideas)


NOTHING: Final = ""
CONFIRMS: Final[dict[type[Fact], tuple[str, ...]]] = {
    facts.SwarmFormed: (
        "INIT:create_team",
        "INIT:create_blackboard",
        "INIT:init_agent_states",
        "INIT:spawn_agents",
    ),
    facts.RoundBegun: ("ROUND:broadcast_round_start",),
    facts.BarrierPassed: ("ROUND:wait_responses",),
    facts.OperationsProcessed: ("ROUND:process_operations", "ROUND:return_results"),
    facts.IdeasSorted: ("ROUND:update_blackboard",),
    facts.RoundSettled: ("ROUND:settle_round",),
    facts.ConvergenceMeasured: (
        "CONVERGENCE:check_beta_stability",
        "CONVERGENCE:check_quorum",
        "CONVERGENCE:check_diversity",
    ),
    # Beside the steps of the source: it follows the last measurement, and nothing waits for it.
    facts.TwinsPooled: (),
    facts.SwarmCompleted: ("CONVERGENCE:generate_report",),
    facts.ShutdownNoticed: ("SHUTDOWN:pre_notify",),
    facts.ShutdownAnswered: ("SHUTDOWN:graceful_request",),
    facts.AgentsTerminated: ("SHUTDOWN:force_terminate", "SHUTDOWN:mark_all_terminated"),
}
"""The steps of the protocol in their order, named as in its source, by the fact that confirms them."""


def _build_following() -> dict[str, frozenset[str]]:
    following = {
        one: {other}
        for one, other in pairwise(
            [NOTHING, *(step for steps in CONFIRMS.values() for step in steps)]
        )
    }
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
            raise ValueError(
                f"after {self.last or 'the opening'} comes {expected}, not {steps[0] if steps else 'nothing'}"
            )
        return ExecutionProgress(last=steps[-1], count=self.count + len(steps)) if steps else self


@dataclass(frozen=True, kw_only=True)
class Swarm(ProtocolState):
    """The state of a run.

    `clock` counts the seconds in which a process ran the session, last seen at `at`; `pending` are the open asks. `wanted`
    counts the operations of all reports as they arrive, so that no operation is lost or executed twice unnoticed. `answered`
    and `lost` belong to the current round: the reports, and the losses of each agent in order. `history` is the set of ideas
    that active agents held at the end of each round, `leading` the set of ideas with a quorum after each round. `ballots` and
    `synthesis` belong to the end; `is_put_again`: the user spoke while they were out, so that all were asked once more, and
    `earlier_ballots` count where a seat is lost then. Entries after `sealed_after` are hidden from other seats while `is_sealed`.
    """

    opened: facts.SwarmOpened
    at: datetime | None = None
    clock: float = 0.0
    pending: Mapping[AskId, PendingAsk] = field(default_factory=dict)
    stage: Stage = "init"
    execution: ExecutionProgress = ExecutionProgress()
    round: int = 0
    agents: Mapping[SeatId, Agent] = field(default_factory=dict)
    board: Board = Board()
    orders: Mapping[SeatId, facts.RoundOrder] = field(default_factory=dict)
    answered: Mapping[SeatId, answers.RoundReport] = field(default_factory=dict)
    lost: Mapping[SeatId, tuple[Loss, ...]] = field(default_factory=dict)
    wanted: int = 0
    review: RoundReview = RoundReview()
    history: tuple[frozenset[int], ...] = ()
    leading: tuple[frozenset[int], ...] = ()
    all_random: bool = False
    warnings: tuple[str, ...] = ()
    measured: facts.ConvergenceMeasured | None = None
    ballots: Mapping[SeatId, answers.SwarmBallot | None] = field(default_factory=dict)
    synthesis: str = ""
    author: SeatId | None = None
    writers_lost: tuple[SeatId, ...] = ()
    completed: facts.SwarmCompleted | None = None
    awaited: tuple[SeatId, ...] = ()
    goodbyes: Mapping[SeatId, bool] = field(default_factory=dict)
    sealed_after: int = 0
    is_put_again: bool = False
    earlier_ballots: Mapping[SeatId, answers.SwarmBallot | None] = field(default_factory=dict)

    @property
    def answered_inputs(self) -> Collection[int]:
        return index_replies(read_replies(self.synthesis))

    @property
    def is_sealed(self) -> bool:
        """Whether agents write what no other agent may read yet: all explore, and all vote, at the same time."""
        return self.is_stating_facts or self.stage in {"explore", "vote"}

    @property
    def settings(self) -> facts.SwarmSettings:
        return self.opened.settings

    @property
    def by_evidence(self) -> bool:
        """Whether readings make the decision."""
        return self.settings.settle == "evidence"

    @property
    def explorers(self) -> tuple[SeatId, ...]:
        return tuple(seat.id for seat in self.seats if seat.id not in self.opened.neutral)

    @property
    def helpers(self) -> frozenset[SeatId]:
        return frozenset(seat.id for seat in self.seats if seat.id in self.opened.neutral)

    @property
    def judge(self) -> SeatId | None:
        """The seat that judges whether near ideas are one; None if nobody does."""
        return next((seat.id for seat in self.seats if seat.id == self.settings.judge), None)

    @property
    def active(self) -> tuple[SeatId, ...]:
        """The agents that count: the quorum is a share of them."""
        return tuple(
            seat for seat, agent in self.agents.items() if agent.status in {"active", "interrupted"}
        )

    def group_holders(self, seats: Iterable[SeatId]) -> dict[int, list[SeatId]]:
        """Return the ideas that these agents hold, each with those who hold it."""
        return group_pairs((number, seat) for seat in seats for number in self.agents[seat].holds)

    @property
    def consensus(self) -> tuple[int, ...]:
        """The ideas that reached the quorum at the last measurement, each by the number that it has now."""
        if self.measured is None:
            return ()
        return tuple(dict.fromkeys(map(self.board.find_current, self.measured.quorum_ideas)))
