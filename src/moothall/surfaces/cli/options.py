"""Options that several commands share: those of a new session, `--wait` and `--swap`."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import pairwise
from typing import Any, Final, NoReturn, assert_never

import click

from moothall.app import session_options as kinds
from moothall.app.requirement import NO_REQUIREMENT, Requirement
from moothall.app.session_options import (
    Opener,
    SessionOption,
    describe_option,
    find_refusal,
    list_public_options,
    refuse_options,
    validate_options,
)
from moothall.app.user_settings import add_settings
from moothall.domain.facts import Language
from moothall.domain.safe_text import compile_late
from moothall.errors import BadRoster, BadSetting, MootError
from moothall.surfaces.cli import output
from moothall.surfaces.cli.arguments import QUESTIONS, Duration, LanguageChoice
from moothall.surfaces.cli.main import guess_language
from moothall.surfaces.cli.requirement import REQUIRE, check_required, require_option

Decorator = Callable[[Callable[..., None]], Callable[..., None]]

WAIT: Final = "--wait"
WAIT_UNSAID: Final = "7d"
_DURATION_LIKE: Final = compile_late(r"[\d.]+[a-z\d.]*")

swap_option = click.option(
    "--swap",
    "swaps",
    multiple=True,
    metavar="SEAT=PLATFORM",
    help="Give a seat to another participant; repeatable.",
)


wait_option = click.option(
    WAIT,
    type=Duration(),
    metavar="[DURATION]",
    help=f"Wait here for mailbox seats and for the end of an outage; without a duration up to {WAIT_UNSAID}.",
)

quiet_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    help="Print nothing but the answer; what to mind of it goes to standard error.",
)


class WaitCommand(click.Command):
    """A command with `--wait` or `--wait 2h`. Only a duration counts as its value: `--wait TOPIC` keeps the topic."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        words = args[: args.index("--")] if "--" in args else args
        with_value = []
        for at, word in enumerate(words):
            if word == WAIT and not _is_duration(args[at + 1 : at + 2]):
                with_value.append(f"{WAIT}={WAIT_UNSAID}")
            else:
                with_value.append(word)
        for before, word in pairwise(words):
            if before == WAIT and _DURATION_LIKE.fullmatch(word) and not _is_duration([word]):
                ctx.fail(f"{WAIT} {word}: expected a duration such as 90s, 10m, 2h or 3d")
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, [*with_value, *args[len(words) :]])
        if rest and not ctx.resilient_parsing:
            self._refuse_words(ctx, rest)
        return rest

    def _refuse_words(self, ctx: click.Context, rest: Sequence[str]) -> NoReturn:
        """Say what a person meant who gave more words than the command takes."""
        first = next(
            (param.name for param in self.params if isinstance(param, click.Argument)), None
        )
        if first in QUESTIONS:
            ctx.fail(
                f'put the {first} in quotes: {ctx.command_path} "{" ".join([ctx.params[first], *rest])}"'
            )
        ctx.fail(f"unexpected: {' '.join(rest)}; {ctx.command_path} takes one {str(first).upper()}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldOptions:
    """How a command holds the session that it opens."""

    wait: float
    """Seconds to wait for mailbox seats and for the end of an outage; 0: not at all."""
    dry_run: bool
    """Whether only the plan is printed."""
    as_json: bool
    quiet: bool = False
    """Whether only the answer is printed."""
    required: Requirement = NO_REQUIREMENT
    """What must be decided; empty: anything may be."""


_HOLD_REFUSALS: Final[Mapping[str, Mapping[str, str]]] = {
    "roundtable": {
        WAIT: "a conference is held by `moot roundtable relay`, which waits for its roles",
        REQUIRE: "a conference is held by `moot roundtable relay`; require it there",
    },
    "consult": {REQUIRE: "a consultation gives an answer and decides nothing"},
    "demo": {WAIT: "a demo has nobody to wait for", "--dry-run": "a demo costs nothing; play it"},
}


_OWN_FLAGS: Final[Mapping[str, frozenset[str]]] = {"consult": frozenset({"kind"})}
"""Flags of a command that are called like an option, and are something else."""


def _list_flags(opener: Opener) -> dict[str, SessionOption]:
    table = list_public_options()
    for name in _OWN_FLAGS.get(opener, ()):
        del table[name]
    return table


def session_options(opener: Opener) -> Decorator:
    """Give a command the options of a new session: its function takes them as `options`, and how to hold it as `hold`.

    All openers have all options; one that the opener cannot honour is left out of the help and refused with the reason.
    """
    table = _list_flags(opener)

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def call(**values: Any) -> None:
            as_json, wait, dry_run = (
                values.pop("as_json"),
                values.pop("wait"),
                values.pop("dry_run"),
            )
            required: Requirement = values.pop("required")
            quiet: bool = values.pop("quiet")
            try:
                taken = {name: values.pop(name) for name in table}
                pairs = [
                    name
                    for name, option in table.items()
                    if isinstance(option.kind, kinds.SettingsKind)
                ]
                given = validate_options(
                    {**taken, **{name: parse_pairs(taken[name]) for name in pairs}}
                )
                refuse_options(
                    given,
                    opener,
                    spell=lambda name: _spell_flag(
                        name, table[name], is_off=given.get(name) is False
                    ),
                )
                for flag, is_given in (
                    (WAIT, wait is not None),
                    ("--dry-run", dry_run),
                    (REQUIRE, bool(required)),
                ):
                    reason = _HOLD_REFUSALS.get(opener, {}).get(flag)
                    if is_given and reason:
                        raise BadSetting(f"{flag}: {reason}")
                check_required(required, given.get("options") or ())
                given = add_settings(given, opener, os.environ)
            except MootError as error:
                output.fail(error, as_json=as_json)
            hold = HoldOptions(
                wait=wait or 0.0, dry_run=dry_run, as_json=as_json, quiet=quiet, required=required
            )
            function(options=given, hold=hold, **values)

        dry_run = click.option(
            "--dry-run",
            is_flag=True,
            help="Validate everything and print the plan; record nothing.",
        )
        language = guess_language()
        of_session = [
            _build_option(name, option, opener, language) for name, option in table.items()
        ]
        decorators: list[Decorator] = [
            *of_session,
            require_option,
            wait_option,
            dry_run,
            quiet_option,
            output.json_option,
        ]
        decorated: Callable[..., None] = call
        # The last decorator stands first in the help.
        for add in reversed(decorators):
            decorated = add(decorated)
        for param in vars(decorated)["__click_params__"]:
            param.hidden |= param.opts[0] in _HOLD_REFUSALS.get(opener, {})
            if opener == "demo" and param.name == "language":
                param.help = None  # The text above the options says it.
        return decorated

    return decorate


def _spell_flag(name: str, option: SessionOption, *, is_off: bool = False) -> str:
    flag = option.flag or f"--{name.replace('_', '-')}"
    return f"--no-{flag[2:]}" if is_off else flag


def _build_option(
    name: str, option: SessionOption, opener: Opener, language: Language
) -> Decorator:
    flag, kind = _spell_flag(name, option), option.kind
    is_repeated = isinstance(
        kind, kinds.SeatsKind | kinds.TextsKind | kinds.FilesKind | kinds.SettingsKind
    )
    is_switch = isinstance(kind, kinds.SwitchKind)
    if isinstance(kind, kinds.SwitchKind) and kind.default:
        flag = f"{flag}/--no-{flag[2:]}"
    text = describe_option(name, language)
    if is_repeated:
        text += " Can be repeated."
    return click.option(
        flag,
        name,
        type=_choose_type(kind),
        is_flag=is_switch,
        default=None,
        multiple=is_repeated,
        metavar=option.metavar or None,
        shell_complete=_COMPLETED.get(name),
        hidden=bool(find_refusal(name, opener)),
        help=text,
    )


def _complete_panels(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from moothall.app.panels import list_presets

    return [name for name in list_presets() if name.startswith(incomplete)]


def _complete_protocols(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from moothall.app.protocols import list_protocol_names

    return [name for name in list_protocol_names() if name.startswith(incomplete)]


_COMPLETED: Final = {"panel": _complete_panels, "protocol": _complete_protocols}


def _choose_type(kind: kinds.OptionKind) -> click.ParamType[Any]:
    match kind:
        case kinds.SwitchKind():
            return click.BOOL
        case kinds.CountKind():
            return click.IntRange(kind.least, kind.most)
        case kinds.AmountKind():
            return click.FloatRange(0, kind.most, min_open=True)
        case kinds.DurationKind():
            return Duration()
        case kinds.LanguageKind():
            return LanguageChoice()
        case kinds.ChoiceKind():
            return click.Choice(kind.values)
        case kinds.FilesKind():
            # Also `-` and addresses: whoever reads it says what is wrong with it.
            return click.Path(allow_dash=True)
        case kinds.FolderKind():
            return click.Path()
        case (
            kinds.TextKind()
            | kinds.TextsKind()
            | kinds.SeatsKind()
            | kinds.PanelKind()
            | kinds.SettingsKind()
        ):
            return click.STRING
        case kinds.TreeKind():
            raise AssertionError("only programs set it: it has no flag")
        case _:
            assert_never(kind)


def parse_pairs(words: Sequence[str]) -> dict[str, str]:
    """Return `key=value` words as a mapping. Raises BadSetting when a word has no `=`."""
    pairs = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals:
            raise BadSetting(f"--set {word!r}: expected KEY=VALUE, such as window=8")
        pairs[key.strip()] = value.strip()
    return pairs


def parse_swaps(words: Sequence[str]) -> dict[str, str]:
    """Return `SEAT=PLATFORM` words as a mapping. Raises BadRoster when a word is not of this form."""
    pairs = [word.partition("=") for word in words]
    if any(not seat or not platform for seat, _, platform in pairs):
        raise BadRoster("--swap: expected SEAT=PLATFORM, such as ada=openai:gpt-5-mini")
    return {seat: platform for seat, _, platform in pairs}


def _is_duration(words: Sequence[str]) -> bool:
    try:
        return bool(words) and Duration().convert(words[0], None, None) > 0
    except click.BadParameter:
        return False
