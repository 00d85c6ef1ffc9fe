"""`--require CHOICE`: a decision that stops or lets pass what comes after it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, Final, Literal

import click

from moothall.domain.facts import Language
from moothall.domain.roster import Seat, name_platform
from moothall.domain.safe_text import one_line
from moothall.domain.topic import normalize_label
from moothall.errors import BadRoster, BadSetting
from moothall.locale.catalogues import REQUIREMENT, SHARED_REPORT
from moothall.reports.decision import Decision
from moothall.scoring.strength import Strength
from moothall.surfaces.cli import output

Worth = Literal["strong", "fair", "weak", "any"]
WORTHS: Final[tuple[Worth, ...]] = ("strong", "fair", "weak", "any")
"""What a decision must be worth to pass, the most first."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a command requires of a decision: one of these choices, and that it is worth so much. Without choices it requires nothing."""

    choices: tuple[str, ...] = ()
    worth: Worth = "fair"

    def __bool__(self) -> bool:
        return bool(self.choices)

    def takes(self, strength: Strength) -> bool:
        """Whether a decision of this strength is worth enough."""
        if self.worth == "any":
            return True
        return strength in WORTHS[: WORTHS.index(self.worth) + 1]


NO_REQUIREMENT: Final = Requirement()


def require_option(function: Callable[..., None]) -> Callable[..., None]:
    """Give a command `--require` and `--require-worth`: its function takes both as `required`."""

    @wraps(function)
    def call(**values: Any) -> None:
        worth = values.pop("require_worth")
        choices: tuple[str, ...] = values["required"]
        if worth is not None and not choices:
            output.fail(BadSetting("--require-worth: name the choice as well: --require CHOICE"))
        values["required"] = Requirement(choices, worth or "fair")
        function(**values)

    with_worth = click.option(
        "--require-worth",
        type=click.Choice(WORTHS),
        help="With --require: exit with 6 if the decision is worth less.  [default: fair]",
    )(call)
    return click.option(
        "--require",
        "required",
        multiple=True,
        metavar="CHOICE",
        help="Exit with 0 only if this was decided, else with 6, or 4 without a decision; name the answers by --option. Repeatable.",
    )(with_worth)


def check_required(required: Requirement, options: Iterable[str] = ()) -> None:
    """Raises BadSetting where a required choice is empty, or not among the options and so could never be decided."""
    if not all(map(normalize_label, required.choices)):
        raise BadSetting("--require: expected a choice, such as approve")
    known = {normalize_label(option): option for option in options}
    for choice in required.choices if known else ():
        if normalize_label(choice) not in known:
            raise BadSetting(
                f"--require {choice!r}: not one of the options: {', '.join(known.values())}"
            )


def check_gate_seats(required: Requirement, seats: Iterable[Seat]) -> None:
    """Raises BadRoster where the embedded model would sit in a gate."""
    for seat in seats if required else ():
        if name_platform(seat.platform) == "embedded":
            raise BadRoster(
                f"--require: seat {seat.id!r} is the embedded model, which is too small for a gate; "
                "seat another model: --model PROVIDER:MODEL"
            )


def judge_decision(
    decision: Decision, required: Requirement, language: Language
) -> tuple[int, str]:
    """Return how a command ends that required one of these choices of a decision, and why, in a line with what it is worth.

    They are compared without case and closing marks. A pipeline has no choice: it is `completed`, or a gate `rejected` it.
    """
    words, shared = REQUIREMENT[language], SHARED_REPORT[language]
    wanted = ", ".join(map(one_line, required.choices))
    ended_by = decision.ended_by or ""
    if decision.status in {"thinking", "parked"}:
        return output.WAITING, words.open.format(reason=decision.parked or shared.still_thinking)
    if decision.decision is None and ended_by != "rejected":
        ended = shared.endings.get(ended_by, ended_by.replace("_", " "))
        return output.UNDECIDED, words.undecided.format(reason=ended or shared.no_decision)
    decided = decision.short_choice or ended_by
    said = {
        normalize_label(each)
        for each in (
            decision.choice,
            decided,
            ended_by if ended_by in {"completed", "rejected"} else "",
        )
    }
    is_met = not said.isdisjoint(map(normalize_label, required.choices))
    # A finding that nobody could read or place must not become an approval.
    if is_met and decision.findings is not None and decision.outcome_uncertain:
        return output.UNDECIDED, words.uncertain.format(decided=decided)
    if not is_met:
        return output.OTHERWISE, words.other.format(decided=decided, wanted=wanted)
    reservation = shared.strength_reasons[decision.strength_reason]
    worth = f"{shared.strengths[decision.strength]} ({reservation})"
    if required.takes(decision.strength):
        return output.DONE, words.met.format(decided=decided, worth=worth)
    return output.OTHERWISE, words.doubtful.format(
        decided=decided, worth=worth, least=required.worth
    )
