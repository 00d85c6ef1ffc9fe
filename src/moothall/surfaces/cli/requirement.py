"""`--require CHOICE`: a decision that stops or lets pass what comes after it."""

from collections.abc import Iterable, Sequence

import click

from moothall.domain.facts import Language
from moothall.domain.roster import Seat, name_platform
from moothall.domain.safe_text import one_line
from moothall.domain.topic import normalize_label
from moothall.errors import BadRoster, BadSetting
from moothall.locale.catalogues import REQUIREMENT, SHARED_REPORT
from moothall.reports.decision import Decision
from moothall.surfaces.cli import output

require_option = click.option(
    "--require",
    "required",
    multiple=True,
    metavar="CHOICE",
    help="Exit with 0 only if this was decided, else with 6, or 4 without a decision; name the answers by --option. Repeatable.",
)


def check_required(required: Sequence[str], options: Iterable[str] = ()) -> None:
    """Raises BadSetting where a required choice is empty, or not among the options and so could never be decided."""
    if not all(map(normalize_label, required)):
        raise BadSetting("--require: expected a choice, such as approve")
    known = {normalize_label(option): option for option in options}
    for choice in required if known else ():
        if normalize_label(choice) not in known:
            raise BadSetting(
                f"--require {choice!r}: not one of the options: {', '.join(known.values())}"
            )


def check_gate_seats(required: Sequence[str], seats: Iterable[Seat]) -> None:
    """Raises BadRoster where the embedded model would sit in a gate."""
    for seat in seats if required else ():
        if name_platform(seat.platform) == "embedded":
            raise BadRoster(
                f"--require: seat {seat.id!r} is the embedded model, which is too small for a gate; "
                "seat another model: --model PROVIDER:MODEL"
            )


def judge_decision(
    decision: Decision, required: Sequence[str], language: Language
) -> tuple[int, str]:
    """Return how a command ends that required one of these choices of a decision, and why, in a line.

    They are compared without case and closing marks. A pipeline has no choice: it is `completed`, or a gate `rejected` it.
    """
    words, shared = REQUIREMENT[language], SHARED_REPORT[language]
    wanted = ", ".join(map(one_line, required))
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
    is_met = not said.isdisjoint(map(normalize_label, required))
    # A finding that nobody could read or place must not become an approval.
    if is_met and decision.findings is not None and decision.outcome_uncertain:
        return output.UNDECIDED, words.uncertain.format(decided=decided)
    reason = (words.met if is_met else words.other).format(decided=decided, wanted=wanted)
    return output.DONE if is_met else output.OTHERWISE, reason
