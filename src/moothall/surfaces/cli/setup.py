"""Commands on the set-up: panel, setup, doctor."""

import asyncio
import os
import platform as machine
import sys
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from moothall.app.discovery import discover_platforms
from moothall.app.environment import resolve_home, resolve_ledger_address
from moothall.app.moot import Moot
from moothall.app.outages import CHECK_SECONDS
from moothall.app.panels import list_presets, load_panel, load_preset, parse_seat_word
from moothall.app.plugins import load_plugins
from moothall.app.seats import LOCAL_SERVERS, SEARCH
from moothall.app.user_settings import read_settings
from moothall.app.version import VERSION
from moothall.domain.facts import Language
from moothall.errors import (
    DISTRIBUTION,
    BadSetting,
    FolderUnwritable,
    MissingExtra,
    MootError,
    describe_install,
)
from moothall.locale.texts import find_translation
from moothall.participants import local_model, semantic_similarity
from moothall.participants.platforms import find_key_variable, find_same_model
from moothall.surfaces.cli import output
from moothall.surfaces.cli.arguments import LanguageChoice
from moothall.surfaces.cli.main import guess_language
from moothall.surfaces.cli.output import CommandResult, json_command

EXTRAS = {
    "a2a": "fasta2a",
    "acp": "acp",
    "anthropic": "anthropic",
    "docx": "docx",
    "google": "google.genai",
    "notify": "apprise",
    "otel": "opentelemetry.sdk",
    "pdf": "pypdf",
    "postgres": "asyncpg",
    "temporal": "temporalio",
    "workers": "psycopg",
}
"""Each extra, and a module that it brings."""

START_FILES = {
    "bash": (".bashrc", 'command -v {name} >/dev/null && eval "$({variable}=bash_source {name})"'),
    "zsh": (".zshrc", 'command -v {name} >/dev/null && eval "$({variable}=zsh_source {name})"'),
    "fish": (".config/fish/completions/{name}.fish", "{variable}=fish_source {name} | source"),
}
"""Where each shell reads what it does at its start, and the line that lets it complete, silent where Moot is not on the path."""


@click.command()
@click.argument("name", required=False)
@click.option("--language", type=LanguageChoice(), default=guess_language, show_default="yours")
@click.option("--toml", is_flag=True, help="Print the panel's file, as a start for your own.")
@json_command
async def panel(name: str | None, language: Language, toml: bool) -> CommandResult:
    """List the panels that ship with Moot, or show one (also a panel file).

    \b
    moot panel
    moot panel board
    moot panel board --language zh --toml > mine.toml
    """
    if name is None:
        rows, lines = [], []
        for preset in list_presets():
            each = load_preset(preset, language)
            rows.append({"name": each.name, "title": each.title, "description": each.description})
            lines.append(f"{each.name:14} {each.title}: {each.description}")
        return CommandResult(json=rows, lines=lines)
    chosen = load_panel(name, language, os.environ)
    if toml and name in list_presets():
        file = find_translation(
            Path(str(files("moothall.app") / "presets")), name, language, "toml"
        )
        return CommandResult(json=chosen, lines=[file.read_text(encoding="utf-8").rstrip("\n")])
    seats = [
        f"{seat.id} · {seat.stance} · weight {seat.weight:g} {seat.platform}\n  {seat.instructions}\n"
        for seat in chosen.seats
    ]
    return CommandResult(json=chosen, lines=[f"{chosen.title}\n{chosen.description}\n", *seats])


@click.command()
@click.argument("what", type=click.Choice(["embedded", "completion"]))
@json_command
async def setup(what: str) -> CommandResult:
    """Set up once: `embedded`, the weights of the small local model (98 MB), or `completion` in your shell.

    Completion knows commands, options, sessions, seats, panels and protocols, in bash, zsh and fish.

    \b
    moot setup embedded
    moot setup completion
    """
    if what == "completion":
        return _install_completion(Path(os.environ.get("SHELL", "")).name)
    if not local_model.is_installed() or not semantic_similarity.is_installed():
        raise MissingExtra(
            f"the embedded model needs other packages first: {describe_install('embedded')}"
        )
    async with Moot(environ=_with_memory_ledger()) as moot:
        if local_model.find_weights(moot.seating.models) is None:
            output.print_note("Downloading the embedded model's weights (98 MB) …")
        path = await asyncio.to_thread(local_model.fetch_weights, moot.seating.models)
    return CommandResult(
        json={"weights": str(path)}, lines=[f"The embedded model is ready: {path}"]
    )


def _install_completion(shell: str) -> CommandResult:
    """Add the line that completes to the start file of a shell. Raises BadSetting for an unknown shell, else FolderUnwritable."""
    if shell not in START_FILES:
        raise BadSetting(f"SHELL = {shell!r}: expected one of {', '.join(START_FILES)}")
    # Who types `moothall` may have a `moot` of another package.
    name = (
        "moothall"
        if DISTRIBUTION in (click.get_current_context().find_root().info_name or "")
        else "moot"
    )
    place, line = (
        text.format(name=name, variable=f"_{name.upper()}_COMPLETE") for text in START_FILES[shell]
    )
    file = Path.home() / place
    try:
        before = file.read_text(encoding="utf-8") if file.exists() else ""
        if line not in before:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"{before.rstrip()}\n{line}\n".lstrip(), encoding="utf-8")
    except (OSError, UnicodeDecodeError) as cause:
        raise FolderUnwritable(
            f"{file} cannot be changed: {cause}; add this line to it: {line}"
        ) from cause
    return CommandResult(
        json={"file": str(file), "line": line},
        lines=[f"{file} completes {name}, from the next shell on"],
    )


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One line of the doctor's."""

    what: str
    ok: bool | None
    """None where it is not there and need not be."""
    result: str


@click.command()
@click.option(
    "--seat",
    "seats",
    multiple=True,
    metavar="NAME=PLATFORM",
    help="Also check this seat; can be repeated.",
)
@output.json_option
def doctor(seats: tuple[str, ...], as_json: bool) -> None:
    """Report what is configured, which providers answer, what is missing, how to get it. Costs nothing.

    \b
    moot doctor
    moot doctor --seat ada=http://localhost:8080/v1#qwen3
    """
    checks = output.run(lambda: _run_checks(seats), as_json=as_json)
    if as_json:
        output.print_json(checks)
    else:
        table = Table.grid(padding=(0, 2))
        marks = {
            True: Text("ok", style="green"),
            False: Text("no", style="red"),
            None: Text("–", style="dim"),
        }
        for check in checks:
            table.add_row(marks[check.ok], Text(check.what), Text(check.result))
        output.build_console().print(table)
    if any(check.ok is False for check in checks):
        sys.exit(output.WORLD)


async def _run_checks(seats: tuple[str, ...]) -> list[DoctorCheck]:
    checks = [
        DoctorCheck(
            "moot",
            True,
            f"{VERSION} on Python {machine.python_version()}, home {resolve_home(os.environ)}",
        )
    ]
    checks.append(await _check_ledger())
    async with Moot(environ=_with_memory_ledger()) as moot:
        discovered, chosen = (
            await discover_platforms(moot.environ, moot.seating),
            read_settings(os.environ).get("models", []),
        )
        checks += await asyncio.gather(
            *(_check_platform(moot, text) for text in dict.fromkeys([*chosen, *discovered.best]))
        )
        if not discovered.models:
            names = [
                str(find_key_variable(each))
                for each in ("openai", "anthropic", "google", "openrouter", "mistral")
            ]
            checks.append(
                DoctorCheck(
                    "providers", None, f"no key set; set {', '.join(names)} or another provider's"
                )
            )
        checks += [
            DoctorCheck(server, None, "not running")
            for server in LOCAL_SERVERS
            if server not in discovered.servers
        ]
        checks += await _check_agents(moot)
        checks.append(_check_embedded(moot))
        checks.append(await _check_search(moot))
        checks += await asyncio.gather(*(_check_platform(moot, word) for word in seats))
    checks += [
        DoctorCheck(f"plugin {fault.name}", False, str(fault)) for fault in load_plugins().faults
    ]
    for extra, module in EXTRAS.items():
        is_ok = _has_module(module) or None
        checks.append(
            DoctorCheck(
                f"{DISTRIBUTION}[{extra}]", is_ok, "installed" if is_ok else describe_install(extra)
            )
        )
    refused = {check.what for check in checks if check.ok is False}
    is_named = bool(discovered.named or chosen)
    best = discovered.best if discovered.named else tuple(chosen) or discovered.best
    return [*checks, _check_minds(best, refused, is_named=is_named)]


def _check_minds(best: tuple[str, ...], refused: set[str], *, is_named: bool) -> DoctorCheck:
    """What `moot run` would ask: of those that were discovered the ones that answer, of those that were named all."""
    usable: list[str] = []
    for each in best:
        if each not in refused and (is_named or find_same_model(each, usable) is None):
            usable.append(each)
    if is_named and refused & set(best):
        return DoctorCheck(
            "minds", False, f"`moot run` would ask {', '.join(best)}, and not all of them answer"
        )
    if usable:
        return DoctorCheck("minds", True, f"`moot run` would ask {', '.join(usable)}")
    return DoctorCheck(
        "minds",
        False,
        "none found: set a provider's key, or start Ollama and fetch a model: ollama pull llama3.2",
    )


async def _check_agents(moot: Moot) -> list[DoctorCheck]:
    """The coding agents, and by which of the two platforms each is best seated."""
    installed, speaking = await moot.seating.agents(), await moot.seating.introduce_agents()
    checks = []
    for name, says in installed.items():
        checks.append(
            DoctorCheck(f"command:{name}", None if says is None else True, says or "not installed")
        )
        if name in speaking:
            is_well, said = speaking[name]
            advice = "not usable"
            if is_well:
                advice = f"use acp:{name}"
            elif says:
                advice = f"use command:{name}"
            checks.append(DoctorCheck(f"acp:{name}", is_well or None, f"{said}; {advice}"))
    return checks


async def _check_ledger() -> DoctorCheck:
    address = resolve_ledger_address(os.environ)
    try:
        async with Moot() as moot:
            sessions = await moot.sessions()
    except MootError as error:
        return DoctorCheck("ledger", False, str(error))
    shown = address if "://" not in address else address.partition("://")[0]
    return DoctorCheck("ledger", True, f"{shown}, sessions: {len(sessions)}")


async def _check_platform(moot: Moot, word: str) -> DoctorCheck:
    try:
        seat = parse_seat_word(word if "=" in word.split("?", maxsplit=1)[0] else f"doctor={word}")
        participant = moot.seating(seat)
        async with asyncio.timeout(CHECK_SECONDS):
            fault = None if participant is None else await participant.ready()
    except MootError as error:
        return DoctorCheck(word, False, str(error))
    except TimeoutError:
        return DoctorCheck(word, False, f"no answer within {CHECK_SECONDS:.0f} s")
    return DoctorCheck(word, fault is None, fault or "ready")


def _check_embedded(moot: Moot) -> DoctorCheck:
    if not local_model.is_installed() or not semantic_similarity.is_installed():
        return DoctorCheck(
            "embedded", None, f"{describe_install('embedded')}, then `moot setup embedded`"
        )
    path = local_model.find_weights(moot.seating.models)
    if path is None:
        return DoctorCheck("embedded", None, "its weights are missing: `moot setup embedded`")
    return DoctorCheck("embedded", True, f"{path.name}: very small, English only")


async def _check_search(moot: Moot) -> DoctorCheck:
    try:
        program = moot.seating.search()
        fault = None if program is None else await program.ready()
    except MootError as error:
        return DoctorCheck("search", False, str(error))
    if program is None:
        return DoctorCheck(
            "search", None, f"none; {SEARCH} names a program that explorers search with"
        )
    return DoctorCheck("search", fault is None, fault or "ready")


def _with_memory_ledger() -> dict[str, str]:
    return {**os.environ, "MOOT_LEDGER": "memory:"}


def _has_module(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
