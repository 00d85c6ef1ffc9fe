"""The facts of a pipeline, and the shapes of its answers.

Pydantic copies the docstrings of the answer shapes into the JSON schema that models receive, so they are prompt text.
"""

import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moothall.domain.consult import parse_json_object
from moothall.domain.facts import Closed, Fact, Opened, Reply
from moothall.domain.ids import SeatId

Name = Annotated[str, MinLen(1), MaxLen(64)]
Line = Annotated[str, MaxLen(20_000)]
Seconds = Annotated[float, Gt(0), Le(31_536_000)]
OnReject = Literal["back", "consult", "stop"]
Outcome = Literal["completed", "rejected", "failed", "called", "tokens", "money", "time"]

MAX_STEPS: Final = 200
WORK: Final = "work"
VALIDATE: Final = "validate"
REVIEW: Final = "review"

Judgement = Literal["APPROVED", "REJECTED"]

# The longer form comes first: "not approved" begins with no verdict, and "不通过" holds "通过".
_JUDGED: Final = r"not approved|approved?|accepted|rejected?|不通过|不批准|通过|批准|驳回|拒绝"
_WORDS = re.compile(rf"\b(?:{_JUDGED})\b|不通过|不批准|通过|批准|驳回|拒绝", re.IGNORECASE)
# Bounded repetitions: an answer of thousands of marks must not cause backtracking.
_VERDICT = re.compile(
    r"[\s*#>_`-]{0,20}(?:(?:(?:my )?(?:verdict|decision)|结论|裁定|判定)[\s*]{0,4}(?:[:：]|is)[\s*]{0,4})?"
    rf"((?:{_JUDGED})(?![a-z]))",
    re.IGNORECASE,
)
_MARKS: Final = " \t*_`.,:;!。，：；！—–-了"
_MEANS: Final[dict[str, Judgement]] = {
    **dict.fromkeys(("approved", "approve", "accepted", "通过", "批准"), "APPROVED"),
    **dict.fromkeys(("rejected", "reject", "not approved", "不通过", "不批准", "驳回", "拒绝"), "REJECTED"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step. `uses` are the steps whose artefacts it receives; by default the last step before it that made something.

    A `gate` ends in APPROVED or REJECTED, without consultations. `on_reject` is what follows a rejection: `back` to a step (at
    most `max_rejections` times, then the pipeline stops), `consult` (the validator asks the maker, then judges again), or `stop`.
    """

    name: Name
    agent: Name
    task: Annotated[str, MinLen(1), MaxLen(20_000)]
    uses: Annotated[tuple[Name, ...], MaxLen(MAX_STEPS)] = ()
    gate: bool = False
    on_reject: OnReject = "back"
    back_to: Annotated[str, MaxLen(64)] = ""
    max_rejections: Annotated[int, Ge(0), Le(100)] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineSettings:
    """How a pipeline runs."""

    steps: Annotated[tuple[Step, ...], MaxLen(MAX_STEPS)] = ()
    patience: Seconds = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """What a step made, word for word."""

    content: Annotated[str, MinLen(1), MaxLen(100_000)]

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(content=text.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class GateVerdict:
    """What a gate ends in."""

    verdict: Judgement
    content: Line = ""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse a verdict: the first line begins with APPROVED or REJECTED, or the last line is just that; the rest is the
        reasons.

        Raises ValueError if there is no verdict, or if both are given.
        """
        fields = parse_json_object(text, "verdict")
        if fields:
            verdict = _MEANS.get(str(fields["verdict"]).strip().casefold())
            reasons = str(fields.get("content") or fields.get("reasons") or "")
        else:
            verdict, reasons = _parse_verdict([line.strip() for line in text.strip().splitlines()])
        if verdict is None:
            raise ValueError("a first line that begins with APPROVED or with REJECTED was expected, and not both")
        return cls(verdict=verdict, content=reasons[:20_000])


def _parse_verdict(lines: list[str]) -> tuple[Judgement | None, str]:
    """Return the verdict of some lines, and the remaining text."""
    first = _VERDICT.match(lines[0]) if lines else None
    if first is not None:
        said = {_MEANS[each.casefold()] for each in _WORDS.findall(lines[0])}
        reasons = "\n".join([lines[0][first.end() :].lstrip(_MARKS), *lines[1:]]).strip()
        # "APPROVED, not REJECTED" is ambiguous for a parser: the agent is asked again.
        return (_MEANS[first[1].casefold()], reasons) if len(said) == 1 else (None, "")
    alone = {
        at: match for at, line in enumerate(lines) if (match := _VERDICT.match(line)) and not line[match.end() :].strip(_MARKS)
    }
    said = {_MEANS[match[1].casefold()] for match in alone.values()}
    # All lines that hold only a verdict must agree, and the last line must be one of them.
    if len(said) != 1 or len(lines) - 1 not in alone:
        return None, ""
    return said.pop(), "\n".join(lines[:-1]).strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOpened(Opened):
    """The opening. `seats` are the agents."""

    settings: PipelineSettings = PipelineSettings()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDone(Reply):
    said: Artefact


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictGiven(Reply):
    said: GateVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRejected(Fact):
    """A gate rejected for the `times`-th time, and what follows: back to a step, a consultation, or the end."""

    step: str
    times: int
    then: OnReject
    to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineClosed(Closed):
    """The end of a pipeline. `step` is where it ended; `agent` who failed there, if anyone did."""

    outcome: Outcome
    step: str = ""
    agent: SeatId | None = None


KINDS: dict[str, type[Fact]] = {
    "pipeline.opened": PipelineOpened,
    "pipeline.work_done": WorkDone,
    "pipeline.verdict_given": VerdictGiven,
    "pipeline.step_rejected": StepRejected,
    "pipeline.closed": PipelineClosed,
}
