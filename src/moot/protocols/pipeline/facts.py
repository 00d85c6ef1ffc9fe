"""The facts of a pipeline, and the shapes of what is said in it."""

import json
import re
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moot.domain.effects import AnswerForm
from moot.domain.facts import Closed, Fact, Opened, Reply
from moot.domain.ids import SeatId

Name = Annotated[str, MinLen(1), MaxLen(64)]
Line = Annotated[str, MaxLen(20_000)]
Seconds = Annotated[float, Gt(0), Le(31_536_000)]
OnReject = Literal["back", "consult", "stop"]
Outcome = Literal["completed", "rejected", "failed", "called", "tokens", "money", "time"]

MOST_STEPS: Final = 200
WORK: Final = "work"
VALIDATE: Final = "validate"
REVIEW: Final = "review"

_VERDICT = re.compile(r"^\W*(APPROVED|REJECTED|通过|驳回)\b\W*", re.IGNORECASE | re.MULTILINE)
_MEANS: Final[dict[str, Literal["APPROVED", "REJECTED"]]] = {
    "approved": "APPROVED",
    "通过": "APPROVED",
    "rejected": "REJECTED",
    "驳回": "REJECTED",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step. `uses` are the steps whose artefacts it gets; empty for the one before it that made something.

    A `gate` ends in APPROVED or REJECTED, without consultations. What a rejection leads to is `on_reject`: `back` to a step (at
    most `most` times, then the pipeline stops), `consult` (the validator asks who made it, then judges again), or `stop`.
    """

    name: Name
    agent: Name
    task: Annotated[str, MinLen(1), MaxLen(20_000)]
    uses: Annotated[tuple[Name, ...], MaxLen(MOST_STEPS)] = ()
    gate: bool = False
    on_reject: OnReject = "back"
    back_to: Annotated[str, MaxLen(64)] = ""
    most: Annotated[int, Ge(0), Le(100)] = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a pipeline runs."""

    steps: Annotated[tuple[Step, ...], MaxLen(MOST_STEPS)] = ()
    patience: Seconds = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Artefact:
    """What a step made, word for word."""

    content: Annotated[str, MinLen(1), MaxLen(100_000)]

    @classmethod
    def from_text(cls, text: str) -> Self:
        return cls(content=text.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a gate ends in."""

    verdict: Literal["APPROVED", "REJECTED"]
    content: Line = ""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """The first line that begins with APPROVED or REJECTED says it; the rest is the reasons.

        Raises ValueError where neither is said, or both below other words.
        """
        fields = _object(text)
        first = _VERDICT.match(text.lstrip())
        found = {_MEANS[each.casefold()] for each in ([first[1]] if first else _VERDICT.findall(text))}
        if fields:
            found = {_MEANS[str(fields["verdict"]).casefold()]} if str(fields["verdict"]).casefold() in _MEANS else set()
        if len(found) != 1:
            told = "both" if found else "neither"
            raise ValueError(f"a line that begins with APPROVED or with REJECTED was expected, and {told} was found")
        reasons = str(fields.get("content") or fields.get("reasons") or "") if fields else _VERDICT.sub("", text, count=1).strip()
        return cls(verdict=found.pop(), content=reasons[:20_000])


def _object(text: str) -> dict[str, object]:
    if not text.lstrip().startswith("{"):
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and "verdict" in found else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineOpened(Opened):
    """`seats` are the agents."""

    settings: Settings = Settings()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkDone(Reply):
    said: Artefact


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictGiven(Reply):
    said: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRejected(Fact):
    """A gate rejected for the `times`-th time, and what follows: back to a step, a consultation, or the end."""

    step: str
    times: int
    then: OnReject
    to: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineClosed(Closed):
    """`step` is where it ended; `agent` who failed there, if anyone did."""

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
FORMS: dict[str, AnswerForm] = {
    WORK: AnswerForm(kind=WORK, reply=WorkDone, shape=Artefact, form="text", max_tokens=2_000),
    VALIDATE: AnswerForm(kind=VALIDATE, reply=VerdictGiven, shape=Verdict, form="text", max_tokens=900),
    REVIEW: AnswerForm(kind=REVIEW, reply=VerdictGiven, shape=Verdict, form="text", max_tokens=900),
}
