"""`--require CHOICE`: the exit code of a command says whether that was decided."""

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, Final

import click

from moothall.app import requirement
from moothall.app.requirement import WORTHS, Requirement, judge_decision
from moothall.domain.facts import Language
from moothall.errors import BadSetting
from moothall.reports.decision import Decision
from moothall.reports.gate import GateOutcome
from moothall.surfaces.cli import output

REQUIRE: Final = "--require"
EXIT_CODES: Final[Mapping[GateOutcome, int]] = MappingProxyType(
    {
        "met": output.DONE,
        "otherwise": output.OTHERWISE,
        "undecided": output.UNDECIDED,
        "waiting": output.WAITING,
    }
)
"""How a command ends by what its gate says."""


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
    """Raises BadSetting where a required choice could never be decided, in the words of the command line."""
    requirement.check_required(required, options, REQUIRE)


def judge_exit(decision: Decision, required: Requirement, language: Language) -> tuple[int, str]:
    """Return how a command ends that required one of these choices of a decision, and why, in a line."""
    judged = judge_decision(decision, required, language)
    return EXIT_CODES[judged.outcome], judged.reason
