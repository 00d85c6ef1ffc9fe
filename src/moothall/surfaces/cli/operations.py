"""Commands made from the table of operations: arguments, options, choices, limits, help and `--json` follow from the call.

Only what a person sees is written by hand: `show` turns a result into lines.
"""

import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Final, Generic, Literal, TypeVar, Union, get_args, get_origin

import click
from annotated_types import Ge, Gt, Le
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from moothall.app.moot import Moot
from moothall.codec.settings import explain_validation_error
from moothall.domain.ids import SessionId
from moothall.domain.safe_text import fix_surrogates
from moothall.errors import BadSetting
from moothall.participants.hosts import name_local_door
from moothall.ports.runner import Runner, RunnerStats
from moothall.surfaces.api.method import ApiModel, Call, Caller, Method, ServerContext, encode_json
from moothall.surfaces.cli import output
from moothall.surfaces.cli.main import LazyGroup

P = TypeVar("P", bound=ApiModel)
R = TypeVar("R")
T = TypeVar("T")
Prepare = Callable[[dict[str, Any]], dict[str, Any]]

HELP: Final = {
    "idempotency_key": "Idempotency key: a repeated call counts once.",
    "category": "The category.",
    "limit": "At most so many.",
    "note": "Stored with it.",
    "source": "A participant by its name, a model by its platform.",
    "tags": "Repeatable.",
}
"""Help for options whose field needs no description in a schema."""
FLAGS: Final = {"idempotency_key": "--key", "tags": "--tag"}
"""Options that are not called as their field is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command(Generic[P, R]):
    """How an operation looks as a command."""

    method: Method[P, R]
    show: Callable[[R], Iterable[str]] = lambda result: ()
    """The lines that a person reads."""
    describe: Callable[[Call, R], Awaitable[Iterable[str]]] | None = None
    """Instead of `show`, where the lines need more than the result has."""
    examples: str
    help: str = ""
    """Instead of the operation's summary, where that speaks to programs."""
    arguments: Sequence[str] = ()
    """The fields that are given by their position."""
    flags: Mapping[str, str] = field(default_factory=dict)
    """Option names that are not the field's."""
    types: Mapping[str, click.ParamType[Any]] = field(default_factory=dict)
    """Types of options that people write differently, such as durations."""
    required: Sequence[str] = ()
    """Fields that only a token may leave out."""
    hidden: Sequence[str] = ()
    """Fields without an option."""
    extra: Sequence[click.Parameter] = ()
    prepare: Prepare = dict
    """Turns what was given, also by the extra options, into parameters."""
    exit_code: Callable[[R], int] = lambda result: output.DONE

    def build(self, name: str) -> click.Command:
        return click.Command(
            name, callback=self.run, params=self.build_params(), help=self.build_help()
        )

    def build_group(self, name: str, commands: Mapping[str, click.Command]) -> click.Group:
        """A group that runs this operation when no other of its commands is named."""

        @click.pass_context
        def run(ctx: click.Context, /, **given: Any) -> None:
            if ctx.invoked_subcommand is None:
                self.run(**given)

        return LazyGroup(
            name,
            commands=dict(commands),
            callback=run,
            params=self.build_params(),
            help=self.build_help(),
            invoke_without_command=True,
        )

    def build_help(self) -> str:
        return f"{self.help or self.method.summary}\n\n\b\n{self.examples}"

    def build_params(self) -> list[click.Parameter]:
        fields = {
            name: field
            for name, field in self.method.params.model_fields.items()
            if name not in self.hidden
        }
        named = [name for name in fields if name not in self.arguments]
        return [
            *(self._build_argument(name, fields[name]) for name in self.arguments),
            *(self._build_option(name, fields[name]) for name in named),
            *self.extra,
            click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."),
        ]

    def run(self, *, as_json: bool, folder: Path | None = None, **given: Any) -> None:
        """Make the call, in the folder that an extra option names."""
        params = {
            name: value
            for name, value in self.prepare(given).items()
            if value is not None and value != ()
        }

        async def work(call: Call) -> output.CommandResult:
            result = await perform(self.method, call, params, self._explain)
            code = self.exit_code(result)
            if as_json:
                return output.CommandResult(json=encode_json(result), code=code)
            lines = (
                self.show(result) if self.describe is None else await self.describe(call, result)
            )
            return output.CommandResult(json=None, lines=lines, code=code)

        output.run_and_print(lambda: call_here(work, folder), as_json=as_json)

    def _explain(self, error: ValidationError) -> str:
        """What was wrong, by the name that the option has here."""
        given = str(error.errors(include_url=False)[0]["loc"][0])
        names = {
            spelling: name
            for name, info in self.method.params.model_fields.items()
            for spelling in (name, info.alias)
        }
        return explain_validation_error(error).replace(
            given, self._find_flag(names.get(given, given)), 1
        )

    def _find_flag(self, name: str) -> str:
        if name in self.arguments:
            return "SESSION" if name == "session_id" else name.upper()
        return {**FLAGS, **self.flags}.get(name, f"--{name.replace('_', '-')}")

    def _build_argument(self, name: str, info: FieldInfo) -> click.Argument:
        kind, is_many = _find_type(info)
        is_required = info.is_required() or name in self.required
        metavar = self._find_flag(name) if name == "session_id" else None
        return click.Argument(
            [name], type=kind, nargs=-1 if is_many else 1, required=is_required, metavar=metavar
        )

    def _build_option(self, name: str, info: FieldInfo) -> click.Option:
        kind, is_many = _find_type(info)
        default = None if info.is_required() else info.get_default(call_default_factory=True)
        has_default = default not in (None, "", False, [])
        text = info.description or HELP.get(name, "")
        return click.Option(
            [self._find_flag(name), name],
            type=self.types.get(name, kind),
            multiple=is_many,
            is_flag=kind is click.BOOL and default is False,
            required=info.is_required() or name in self.required,
            default=default if has_default or kind is click.BOOL else None,
            show_default=has_default,
            # What a token may leave out must be said here.
            help=text.replace("; may be omitted with a seat's token", ""),
        )


def _find_type(info: FieldInfo) -> tuple[click.ParamType[Any], bool]:
    """What an option takes, and whether it may be repeated."""
    kinds = [info.annotation]
    if get_origin(info.annotation) in {Union, UnionType}:
        kinds = [each for each in get_args(info.annotation) if each is not type(None)]
    kind, is_many = kinds[0], get_origin(kinds[0]) is list
    limits = list(info.metadata)
    if is_many:
        kind = get_args(kind)[0]
    if get_origin(kind) is Annotated:
        kind, *rules = get_args(kind)
        for rule in rules:
            limits += rule.metadata if isinstance(rule, FieldInfo) else [rule]
    choices: list[Any] = []
    for each in kinds:
        if get_origin(each) is Literal:
            choices += get_args(each)
    if choices or get_origin(kind) is Literal:
        return click.Choice(choices or list(get_args(kind))), is_many
    if kind not in {int, float}:
        return (click.BOOL if kind is bool else click.STRING), is_many
    low = next((each for each in limits if isinstance(each, Ge | Gt)), None)
    high = next((each.le for each in limits if isinstance(each, Le)), None)
    least, is_open = (low.gt, True) if isinstance(low, Gt) else (low.ge if low else None, False)
    make: Any = click.IntRange if kind is int else click.FloatRange
    return make(least, high, min_open=is_open), is_many


class IdleRunner:
    """For a command that makes one call and ends: sessions are run by others."""

    def wake(self, session: SessionId, *, at_once: bool = False) -> None: ...

    async def run(self) -> None: ...

    async def cancel(self, session: SessionId) -> None: ...

    async def stats(self) -> RunnerStats:
        return RunnerStats()


def read_dash(given: dict[str, Any]) -> dict[str, Any]:
    """Take the text `-` from standard input."""
    return {**given, "text": sys.stdin.read() if given["text"] == "-" else given["text"]}


async def call_here(work: Callable[[Call], Awaitable[T]], folder: Path | None = None) -> T:
    """Make calls on the ledger of this MOOT_HOME, as the person at this terminal; conferences are those of a project's folder."""
    runner: Runner = IdleRunner()
    async with Moot() as moot:
        return await work(
            Call(
                context=ServerContext(moot, runner, folder or Path.cwd()),
                caller=Caller(user=name_local_door()),
            )
        )


def call_command(work: Callable[..., Awaitable[output.CommandResult]]) -> Callable[..., None]:
    """Make an async function that takes a call, and what was given, a command with `--json`."""

    @wraps(work)
    async def work_here(*, folder: Path | None = None, **given: Any) -> output.CommandResult:
        return await call_here(lambda call: work(call, **given), folder)

    return output.json_command(work_here)


async def perform(
    method: Method[Any, T],
    call: Call,
    params: Mapping[str, Any],
    explain: Callable[[ValidationError], str] = explain_validation_error,
) -> T:
    """Make a call; raises BadSetting, which says what was wrong with the parameters."""
    # A shell passes bytes that are no UTF-8 on as lone surrogates.
    given = {
        name: fix_surrogates(value) if isinstance(value, str) else value
        for name, value in params.items()
    }
    try:
        return await method.perform(call, given)
    except ValidationError as error:
        raise BadSetting(explain(error)) from error
