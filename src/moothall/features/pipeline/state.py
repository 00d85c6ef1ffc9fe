"""The state of a pipeline."""

from collections.abc import Collection, Mapping
from dataclasses import field

from moothall.domain.replace import dataclass
from moothall.domain.topic import UserReply, index_replies
from moothall.features.pipeline.facts import (
    REVIEW,
    VALIDATE,
    WORK,
    GateVerdict,
    Outcome,
    PipelineOpened,
    Step,
)
from moothall.plugins import ProtocolState, SeatId


@dataclass(frozen=True, slots=True, kw_only=True)
class StepArtefact:
    """An artefact of a step; `version` counts how often the step was done."""

    step: str
    seat: SeatId
    text: str
    seq: int
    version: int = 1
    replies: tuple[UserReply, ...] = ()
    """What it answers to the user's later words; these lines do not stand in the text."""


@dataclass(frozen=True, kw_only=True)
class Pipeline(ProtocolState):
    """The state. It has no slots, for `fast_replace`.

    `turn` counts asks; `failed` how often the current agent has failed in this step; `verdict` is a rejection without a
    consequence yet; `is_review`: the gate judges again after a consultation; `is_put_again`: the user spoke while a verdict or the
    result was out, so that it was asked for once more. `feedback` is what a repeated step must take into
    account.
    """

    opened: PipelineOpened
    index: int = 0
    turn: int = 1
    failed: int = 0
    made: Mapping[str, StepArtefact] = field(default_factory=dict)
    verdict: GateVerdict | None = None
    is_review: bool = False
    is_put_again: bool = False
    rejections: Mapping[str, int] = field(default_factory=dict)
    feedback: Mapping[str, str] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    is_rejected: bool = False

    @property
    def steps(self) -> tuple[Step, ...]:
        return self.opened.settings.steps

    @property
    def step(self) -> Step | None:
        """The current step; None if all are done."""
        return self.steps[self.index] if self.index < len(self.steps) else None

    @property
    def kind(self) -> str:
        """What the agent of the current step is asked for."""
        is_gate = self.step is not None and self.step.gate
        if not is_gate:
            return WORK
        return REVIEW if self.is_review else VALIDATE

    @property
    def ended_by(self) -> Outcome | None:
        """Why the pipeline ends before its last step, if it does."""
        return "rejected" if self.is_rejected else self.stop

    def position(self, name: str) -> int:
        return next(at for at, step in enumerate(self.steps) if step.name == name)

    def maker(self, gate: Step) -> Step:
        """Return the step whose work a gate judges: `back_to`, else the last step before it that makes something."""
        before = self.steps[: self.position(gate.name)]
        named = next((step for step in before if step.name == gate.back_to), None)
        return named or next((step for step in reversed(before) if not step.gate), gate)

    @property
    def last_work(self) -> int:
        """The index of the step that makes the result: the last one that is no gate."""
        return max((at for at, step in enumerate(self.steps) if not step.gate), default=-1)

    @property
    def answered_inputs(self) -> Collection[int]:
        if self.index <= self.last_work or self.last_work < 0:
            return ()
        made = self.made.get(self.steps[self.last_work].name)
        return () if made is None else index_replies(made.replies)

    def list_inputs(self, step: Step) -> tuple[StepArtefact, ...]:
        """Return the artefacts that a step receives, in the order of its `uses`."""
        if step.uses:
            return tuple(self.made[name] for name in step.uses if name in self.made)
        before = self.steps[: self.position(step.name)]
        last = next(
            (each.name for each in reversed(before) if not each.gate and each.name in self.made),
            None,
        )
        return () if last is None else (self.made[last],)
