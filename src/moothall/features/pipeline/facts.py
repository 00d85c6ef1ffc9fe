"""The facts of a pipeline, and the shapes of its answers.

Pydantic copies the docstrings of the answer shapes into the JSON schema that models receive, so they are prompt text.
"""

import re
from typing import Annotated, Final, Literal, Self, get_args

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moothall.domain.replace import dataclass
from moothall.plugins import Closed, Fact, Opened, Reply, SeatId, add_kind, build_choices
from moothall.reading.stated import find_choice

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
# Bounded repetitions: an answer of thousands of marks must not cause backtracking.
_VERDICT = re.compile(
    r"[\s*#>_`-]{0,20}(?:(?:(?:my )?(?:verdict|decision)|结论|裁定|判定)[\s*]{0,4}(?:[:：]|is)[\s*]{0,4})?"
    rf"((?:{_JUDGED})(?![a-z]))",
    re.IGNORECASE,
)
# What takes a rejection back: an approval, or a denial of it ("not approved, not rejected").
_TURNED = re.compile(
    r"approv|accept|(?<!不)(?:通过|批准)|^\W*(?:(?:and|but|yet|it is|it's|i) )*(?:not|nor|never|do not|can(?:no|['’])t|withdraw)"
    r"(?: \w+)? reject|^\W*[也又但亦]?[不没未](?:\w?)(?:驳回|拒绝)",
    re.IGNORECASE,
)
_MARKS: Final = " \t*_`.,:;!。，：；！—–-了"
_APPROVALS: Final = frozenset({"approved", "approve", "accepted", "通过", "批准"})
_VERDICTS: Final = build_choices(get_args(Judgement))
_SENTENCE_ENDS: Final = (".", "!", "。", "！")

KINDS: Final[dict[str, type[Fact]]] = {}


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
    verdict: Judgement
    content: Line = ""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse a verdict in words: the first line makes it, a line that is labelled so, or the last line; the rest is the reasons.

        Raises ValueError if there is no verdict, or if a line makes another one.
        """
        lines = [
            line.strip()
            for line in text.strip().splitlines()
            if not line.lstrip().startswith("```")
        ]
        read = _read_first_line(lines) or _read_labelled_line(lines) or _read_last_line(lines)
        parts = (part for line in lines for part in (line, re.split("[:：]", line)[-1]))
        if read is None or any(_read_line(part) not in {None, read[0]} for part in parts):
            raise ValueError(
                "a first line that begins with APPROVED or with REJECTED was expected, and not both"
            )
        return cls(verdict=read[0], content=read[1][:20_000])


def _read_line(line: str) -> Judgement | None:
    """Return the verdict that a line makes by the rule for all choices, which reads nothing across a denial."""
    read = find_choice(line, _VERDICTS)
    if read is None:
        return None
    return "APPROVED" if read.value == "APPROVED" else "REJECTED"


def _read_first_line(lines: list[str]) -> tuple[Judgement, str] | None:
    first = lines[0] if lines else ""
    verdict, head = _read_line(first), _VERDICT.match(first)
    rest = first if head is None else first[head.end() :]
    # The reasons of a rejection may deny what they like, where a mark parts them from it: a gate stays closed.
    if (
        head is not None
        and head[1].casefold() not in _APPROVALS
        and rest[:1] in _MARKS
        and not _TURNED.search(rest)
    ):
        verdict = "REJECTED"
    return (
        None if verdict is None else (verdict, "\n".join([rest.lstrip(_MARKS), *lines[1:]]).strip())
    )


_LABELS: Final = frozenset({"verdict", "判定", "结论"})


def _read_labelled_line(lines: list[str]) -> tuple[Judgement, str] | None:
    """Return the verdict of the first line that says that it is one, wherever it stands."""
    for at, line in enumerate(lines):
        label, mark, rest = line.replace("：", ":").partition(":")
        if not mark or label.strip(" #*>`_-").casefold() not in _LABELS:
            continue
        verdict = _read_line(rest.strip(" *`_"))
        if verdict is not None:
            return verdict, "\n".join([*lines[:at], *lines[at + 1 :]]).strip()
    return None


def _read_last_line(lines: list[str]) -> tuple[Judgement, str] | None:
    head = _VERDICT.match(lines[-1]) if len(lines) > 1 else None
    before = next((line for line in reversed(lines[:-1]) if line), "")
    # "The work is not", and on the next line "APPROVED", is one sentence.
    if head is None or lines[-1][head.end() :].strip(_MARKS) or not before.endswith(_SENTENCE_ENDS):
        return None
    return ("APPROVED" if head[1].casefold() in _APPROVALS else "REJECTED"), "\n".join(
        lines[:-1]
    ).strip()


@add_kind(KINDS, "pipeline.opened")
class PipelineOpened(Opened):
    """The opening. `seats` are the agents."""

    settings: PipelineSettings = PipelineSettings()


@add_kind(KINDS, "pipeline.work_done")
class WorkDone(Reply):
    said: Artefact


@add_kind(KINDS, "pipeline.verdict_given")
class VerdictGiven(Reply):
    said: GateVerdict


@add_kind(KINDS, "pipeline.step_rejected")
class StepRejected(Fact):
    """A gate rejected for the `times`-th time, and what follows: back to a step, a consultation, or the end."""

    step: str
    times: int
    then: OnReject
    to: str = ""


@add_kind(KINDS, "pipeline.closed")
class PipelineClosed(Closed):
    """The end of a pipeline. `step` is where it ended; `agent` who failed there, if anyone did."""

    reason: Outcome
    step: str = ""
    agent: SeatId | None = None
