"""`moot keys`: keys of providers, entered once."""

import os
import sys
from typing import Final

import click

from moothall.app import provider_keys
from moothall.errors import BadSetting
from moothall.locale.catalogues import DISCOVERY
from moothall.participants.platforms import list_keyed_providers, list_variables_of
from moothall.surfaces.cli.main import guess_language
from moothall.surfaces.cli.output import CommandResult, Note, json_command

provider_argument = click.argument("provider")
MAX_TRIES: Final = 3
MAX_OFFERED: Final = 6
"""How many providers the question names; `moot keys set` takes all."""


@click.group(invoke_without_command=True)
@click.pass_context
def keys(ctx: click.Context) -> None:
    """Store the keys of providers: entered once, in a file that only you can read.

    A variable of the environment counts more.

    \b
    moot keys set openai
    moot keys
    """
    if ctx.invoked_subcommand is None:
        ctx.invoke(list_keys)


@keys.command("list")
@json_command
async def list_keys() -> CommandResult:
    """List the providers whose key is set, and where; no key is shown.

    \b
    moot keys list --json
    """
    stored = provider_keys.load_keys(os.environ)
    rows = []
    for provider in list_keyed_providers():
        variables = list_variables_of(provider)
        given = [name for name in variables if os.environ.get(name)]
        known = [name for name in variables if name in stored]
        if given:
            rows.append({"provider": provider, "variable": given[0], "place": "environment"})
        elif known:
            rows.append({"provider": provider, "variable": known[0], "place": "stored"})
    lines: list[str] = [f"{row['provider']}: {row['variable']}, {row['place']}" for row in rows]
    return CommandResult(
        json=rows, lines=lines or [Note("no key is set; store one: moot keys set openai")]
    )


@keys.command("set")
@provider_argument
@json_command
async def set_key(provider: str) -> CommandResult:
    """Store the key of PROVIDER.

    It is typed unseen at a terminal; else it is the first line of standard input.

    \b
    moot keys set openai
    pass show openai | moot keys set openai
    """
    variable = provider_keys.find_provider_variable(provider)
    key = _read_key(variable)
    provider_keys.store_key(os.environ, provider, key)
    lines: list[str] = [f"{variable} is stored in MOOT_HOME, where only you can read it"]
    if os.environ.get(variable):
        lines.append(Note(f"{variable} is set in the environment as well, and counts more"))
    return CommandResult(json={"variable": variable}, lines=lines)


@keys.command("forget")
@provider_argument
@json_command
async def forget_key(provider: str) -> CommandResult:
    """Forget the stored key of PROVIDER.

    \b
    moot keys forget openai
    """
    variable = provider_keys.find_provider_variable(provider)
    is_forgotten = provider_keys.forget_key(os.environ, provider)
    line = Note(f"no key of {provider} is stored")
    if is_forgotten:
        line = Note(f"{variable} is stored no longer")
    return CommandResult(json={"variable": variable, "isForgotten": is_forgotten}, lines=[line])


def _read_key(variable: str) -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        typed: str = click.prompt(
            variable, hide_input=True, err=True, default="", show_default=False
        )
        return typed
    return sys.stdin.readline() if sys.stdin is not None else ""


def offer_key() -> bool:
    """Ask at a terminal for a provider and its key, and store it; False where no key was entered."""
    try:
        return _ask_for_key()
    except click.Abort:
        # Ctrl-D says the same as Enter.
        click.echo(err=True)
        return False


def _ask_for_key() -> bool:
    words = DISCOVERY[guess_language()]
    providers = ", ".join(list_keyed_providers()[:MAX_OFFERED])
    for _ in range(MAX_TRIES):
        provider = click.prompt(
            words.offer.format(providers=providers), default="", show_default=False, err=True
        ).strip()
        if not provider:
            return False
        try:
            variable = provider_keys.find_provider_variable(provider)
            provider_keys.store_key(os.environ, provider, _read_key(variable))
        except BadSetting as error:
            click.echo(str(error), err=True)
            continue
        click.echo(words.stored.format(variable=variable), err=True)
        return True
    return False
