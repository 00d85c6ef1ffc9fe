"""`moot roundtable`: conferences in plain files."""

import asyncio
import re
import sys
from collections.abc import Awaitable, Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

import click
from rich.console import Console

from moothall.app.conferences.guide import read_guide
from moothall.app.conferences.project import DEFAULT_ROUNDS, ConferenceOptions, ConferenceProject, find_project_root
from moothall.app.conferences.status import Blocked, ConferenceStatus
from moothall.app.conferences.unattended import Relay
from moothall.app.moot import Moot
from moothall.app.panels import resolve_platform_path
from moothall.app.session_options import Options
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId, parse_session_id
from moothall.domain.roster import MAILBOX, Seat
from moothall.domain.safe_text import strip_control
from moothall.errors import BadRoster, BadSetting, MootError
from moothall.locale.catalogues import ROUNDTABLE_COMMAND, ROUNDTABLE_PROMPT, SESSION_COMMAND
from moothall.locale.texts import list_languages
from moothall.participants.local_user import name_local_door
from moothall.protocols.roundtable.facts import MODERATOR
from moothall.protocols.roundtable.files import MINUTES
from moothall.protocols.roundtable.rules import RULES
from moothall.protocols.roundtable.sections import find_missing_sections
from moothall.surfaces.cli import output
from moothall.surfaces.cli import roundtable_output as shown
from moothall.surfaces.cli.duration import Duration
from moothall.surfaces.cli.live import build_view
from moothall.surfaces.cli.main import LazyGroup
from moothall.surfaces.cli.options import HoldOptions, WaitCommand, session_options
from moothall.surfaces.cli.render import show_decision
from moothall.surfaces.cli.terminal_session import print_plan

MAX_SPEECH_LENGTH: Final = 50_000
_PLATFORM: Final = re.compile(r"[\w.+-]+(?::\S.*)?", re.ASCII | re.DOTALL)
"""What follows `NAME=` is a platform if it is one word, or a word and a colon; everything else is a description."""


dir_option = click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="The project's folder. Default: the nearest parent folder with a .roundtable.",
)


@click.group(cls=LazyGroup)
def roundtable() -> None:
    """Hold a conference in plain files, which any agent that reads and writes files can join.

    \b
    moot roundtable new cache "Which cache for the catalogue?" --role architect --role reviewer
    moot roundtable join cache --as architect
    moot roundtable say cache --as architect speech.md
    moot roundtable relay cache
    """


def _build_project(moot: Moot, folder: Path | None) -> ConferenceProject:
    return ConferenceProject(moot, folder.absolute() if folder is not None else find_project_root(Path.cwd()))


def _run_on_project(work: Callable[[ConferenceProject], Awaitable[int]], folder: Path | None, *, as_json: bool = False) -> None:
    async def run_work() -> int:
        async with Moot() as moot:
            return await work(_build_project(moot, folder))

    raise SystemExit(output.run(run_work, as_json=as_json))


@roundtable.command(cls=WaitCommand)
@click.argument("name")
@click.argument("topic")
@click.option(
    "--role",
    "roles",
    multiple=True,
    required=True,
    metavar="NAME[=PLATFORM|=TEXT]",
    help="A speaker; repeat in speaking order. TEXT describes the role; a role with a platform and a description is named twice.",
)
@click.option("--moderator", default=MAILBOX, metavar="PLATFORM", help="Who writes the minutes. Default: an agent from outside.")
@click.option("--agenda", type=click.File(encoding="utf-8"), help="A file with the background; - for standard input.")
@click.option("--prompt", default="", help="Instructions for the first speaker.")
@click.option("--rounds", type=click.IntRange(1, 100), default=DEFAULT_ROUNDS, show_default=True)
@click.option("--role-patience", type=Duration(), default=600.0, help="Deadline for a role that Moot drives. Default: 10m.")
@dir_option
@session_options("roundtable")
def new(
    *,
    name: str,
    topic: str,
    roles: tuple[str, ...],
    moderator: str,
    agenda: Any,
    prompt: str,
    rounds: int,
    role_patience: float,
    folder: Path | None,
    options: Options,
    hold: HoldOptions,
) -> None:
    """Start the conference NAME on TOPIC: write .roundtable/NAME with its agenda and turn.json.

    A role with a platform (`reviewer=openai:gpt-5-mini`, `security=command:codex`) is driven by `moot roundtable relay`; a
    role without one is an agent from outside. A description is written into the agenda and told to its role.

    \b
    moot roundtable new cache "Which cache?" --role architect --role security=command:codex
    moot roundtable new cache "Which cache?" --role "architect=Owns the catalogue service" --role security
    """
    background = _read_agenda(agenda)

    async def work() -> int:
        wanted: ConferenceOptions = {
            **options,
            "roles": _parse_roles(roles),
            "moderator": resolve_platform_path(moderator, Path()),
            "agenda": background,
            "prompt": prompt,
            "max_rounds": rounds,
            "role_patience": role_patience,
        }
        async with Moot() as moot:
            project = _build_project(moot, folder)
            if hold.dry_run:
                return print_plan(moot, await project.plan_conference(name, topic, **wanted), as_json=hold.as_json)
            status = await project.create_conference(name, topic, **wanted)
            if hold.as_json:
                output.print_json(shown.build_status_json(project, name, status))
                return output.DONE
            output.print_line(f"{project.table / name}")
            shown.print_next(status)
            return output.DONE

    raise SystemExit(output.run(work, as_json=hold.as_json))


def _parse_role(word: str) -> Seat:
    name, equals, platform = word.partition("=")
    if equals and not platform:
        raise BadRoster(f"--role {word!r}: expected NAME or NAME=PLATFORM, such as reviewer=openai:gpt-5-mini")
    return Seat(id=SeatId(name), platform=resolve_platform_path(platform, Path()) if platform else MAILBOX)


def _parse_roles(words: tuple[str, ...]) -> list[Seat]:
    """Parse speakers in their order. A name that comes again adds what its role still lacks: a platform or a description."""
    found: dict[str, Seat] = {}
    for word in words:
        name, _, text = word.partition("=")
        is_description = bool(text) and not _PLATFORM.fullmatch(text)
        role = Seat(id=SeatId(name), platform=MAILBOX, instructions=text.strip()) if is_description else _parse_role(word)
        known = found.get(name)
        if known is None:
            found[name] = role
        elif is_description and not known.instructions:
            found[name] = replace(known, instructions=role.instructions)
        elif text and not is_description and known.is_outside:
            found[name] = replace(known, platform=role.platform)
        else:
            raise BadRoster(f"--role {word!r}: {name!r} stands there twice; a role has one platform and one description")
    return list(found.values())


@roundtable.command()
@click.argument("name", required=False)
@dir_option
@output.json_option
def status(name: str | None, folder: Path | None, as_json: bool) -> None:
    """Show the state of a conference; without NAME, one line for each.

    \b
    moot roundtable status
    moot roundtable status cache
    """

    async def work(hall: ConferenceProject) -> int:
        if name is None:
            return await _print_list(hall, as_json)
        found = await hall.status(name)
        if as_json:
            output.print_json(shown.build_status_json(hall, name, found))
        else:
            shown.print_status(found)
        return output.FAILED if found.damage else output.DONE

    _run_on_project(work, folder, as_json=as_json)


async def _print_list(hall: ConferenceProject, as_json: bool) -> int:
    lines: list[dict[str, Any]] = []
    for each in hall.names():
        try:
            found = await hall.status(each)
        except MootError as error:
            lines.append({"conference": each, "error": str(error)})
            if not as_json:
                output.print_line(strip_control(f"{each}: {error}"))
            continue
        lines.append(shown.build_status_json(hall, each, found))
        if not as_json:
            output.print_line(f"{each}: {shown.format_standing(found)}")
    if as_json:
        output.print_json(lines)
    elif not lines:
        output.print_line(f"no conference in {hall.table}; start one: moot roundtable new NAME TOPIC --role NAME --role NAME")
    return output.DONE


@roundtable.command()
@click.argument("name")
@click.option("--as", "role", required=True, metavar="ROLE")
@dir_option
@output.json_option
def join(name: str, role: str, folder: Path | None, as_json: bool) -> None:
    """Print what ROLE should read now: the agenda, its prompt and the last three speeches.

    Exit code 0: it is the role's turn; 3: it is another role's turn; 4: the conference is over.

    \b
    moot roundtable join cache --as architect
    """

    async def work(hall: ConferenceProject) -> int:
        found = await hall.join(name, role)
        if as_json:
            output.print_json(asdict(found))
        else:
            output.print_line(strip_control(shown.format_briefing(found, role)))
        if found.is_turn:
            return output.DONE
        return output.UNDECIDED if found.turn.status == "closed" else output.WAITING

    _run_on_project(work, folder, as_json=as_json)


@roundtable.command()
@click.argument("name")
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@click.option("--as", "role", required=True, metavar="ROLE")
@click.option("--key", default="", help="Idempotency key: a repeated call counts once.")
@dir_option
@output.json_option
def say(*, name: str, file: Any, role: str, key: str, folder: Path | None, as_json: bool) -> None:
    """Commit the speech of ROLE from FILE (or standard input) and the new turn.json together.

    For the moderator it commits the minutes. Exit code 3: it is another role's turn, or sections are missing from the minutes;
    the text is kept.

    \b
    moot roundtable say cache --as architect speech.md
    """
    text = _read_speech(file)

    async def work(hall: ConferenceProject) -> int:
        try:
            given = await hall.say(name, role, text, key, via=name_local_door())
        except Blocked as blocked:
            return shown.print_blocked(blocked, as_json=as_json)
        if as_json:
            told = {"file": given.file, "turn": asdict(given.turn), "repeated": given.is_repeated, "returned": given.returned}
            output.print_json(told)
            return output.WAITING if given.returned else output.DONE
        if given.returned:
            return shown.print_returned(given)
        output.print_line(f"{name}/{given.file}")
        missing = find_missing_sections(text, given.language) if role != MODERATOR else ()
        if missing:
            output.print_note(ROUNDTABLE_PROMPT[given.language].no_section.format(sections=", ".join(missing)))
        return shown.print_turn(given.turn, given.language)

    _run_on_project(work, folder, as_json=as_json)


def _read_agenda(file: Any) -> str:
    return "" if file is None else _read_text(file, "an agenda")


def _read_text(file: Any, what: str) -> str:
    try:
        text: str = file.read(MAX_SPEECH_LENGTH + 1)
    except UnicodeDecodeError:
        output.fail(BadSetting(f"{file.name}: not UTF-8 text"))
    if len(text) > MAX_SPEECH_LENGTH:
        output.fail(BadSetting(f"{file.name}: more than {MAX_SPEECH_LENGTH} characters, the limit for {what}"))
    return text


def _read_speech(file: Any) -> str:
    text = _read_text(file, "a speech")
    if not text.strip():
        output.fail(BadSetting(f"{file.name}: empty; a speech was expected"))
    return text


@roundtable.command()
@click.argument("name")
@click.option("--role", "roles", multiple=True, metavar="NAME=PLATFORM", help="Give a role to another participant from now on.")
@dir_option
@output.json_option
def relay(name: str, roles: tuple[str, ...], folder: Path | None, as_json: bool) -> None:
    """Run the whole conference unattended, until its minutes are written.

    Moot drives the roles that have a platform: it asks models and runs coding agents in the project's folder. For other roles
    it watches the files. A role that fails is asked once more and then skipped, with the reason on the record.

    \b
    moot roundtable relay cache
    moot roundtable relay cache --role reviewer=openai:gpt-5-mini --role moderator=command:claude
    """
    console = output.build_console()
    spoken: list[Language] = ["en"]

    async def work() -> int:
        async with Moot() as moot:
            hall = _build_project(moot, folder)
            given = {seat.id: seat.platform for seat in map(_parse_role, roles)}
            found = await (hall.reseat(name, given) if given else hall.status(name))
            spoken[0] = found.conference.opened.language
            moot.seating.check_scripts(found.conference.seats, RULES.forms)
            carried = Relay(moot, hall, name, lambda line: output.print_note(strip_control(line)))
            if as_json:
                output.print_json(shown.build_status_json(hall, name, await carried.run()))
            else:
                found = await _run_and_show(moot, carried, found.session, console)
                output.print_line(f"{hall.table / name / MINUTES}")
                shown.print_lacking(found)
        return output.DONE

    raise SystemExit(
        output.run(work, as_json=as_json, stopped=lambda: f"\n{ROUNDTABLE_COMMAND[spoken[0]].stopped.format(conference=name)}")
    )


async def _run_and_show(moot: Moot, carried: Relay, session: str, console: Console) -> ConferenceStatus:
    """Run it, and show it as it happens."""
    plugin = await moot.load_plugin(session)
    timeline = plugin.timeline(parse_session_id(session))
    view = build_view(plugin, timeline, console)

    async def watch() -> None:
        async for event in moot.watch(session):
            view.show(event)

    with view.open_display():
        watcher = asyncio.create_task(watch())
        try:
            found = await carried.run()
            await watcher
        finally:
            watcher.cancel()
    show_decision(console, plugin, timeline)
    return found


@roundtable.command()
@click.argument("name")
@dir_option
@output.json_option
def check(name: str, folder: Path | None, as_json: bool) -> None:
    """Compare the whole folder with the record and print each fault with file and line. Exit code 5: there are faults.

    \b
    moot roundtable check cache
    """

    async def work(hall: ConferenceProject) -> int:
        found = await hall.status(name, whole=True)
        if as_json:
            output.print_json([asdict(each) for each in found.damage])
        elif not found.damage:
            output.print_line(ROUNDTABLE_COMMAND[found.conference.opened.language].no_faults)
        else:
            for each in found.damage:
                output.print_line(strip_control(str(each)))
        return output.FAILED if found.damage else output.DONE

    _run_on_project(work, folder, as_json=as_json)


@roundtable.command()
@click.argument("name")
@dir_option
@output.json_option
def repair(name: str, folder: Path | None, as_json: bool) -> None:
    """Repair what `check` reports. Nothing is deleted: files in the way are moved to NAME/aside.

    \b
    moot roundtable repair cache
    """

    async def work(hall: ConferenceProject) -> int:
        done = await hall.repair(name)
        if as_json:
            output.print_json(done)
        else:
            for line in done:
                output.print_line(strip_control(line))
            if not done:
                output.print_line(ROUNDTABLE_COMMAND[(await hall.status(name)).conference.opened.language].nothing_to_repair)
        return output.DONE

    _run_on_project(work, folder, as_json=as_json)


@roundtable.command()
@click.argument("name")
@click.option(
    "--write",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Commit these minutes as the moderator; - for standard input.",
)
@dir_option
@output.json_option
def minutes(name: str, write: Any, folder: Path | None, as_json: bool) -> None:
    """Print the minutes, or commit them. Exit code 3: there are no minutes yet.

    \b
    moot roundtable minutes cache
    """
    text = _read_speech(write) if write is not None else ""

    async def work(hall: ConferenceProject) -> int:
        if text:
            try:
                given = await hall.say(name, MODERATOR, text, via=name_local_door())
                if given.returned and not as_json:
                    return shown.print_returned(given)
            except Blocked as blocked:
                return shown.print_blocked(blocked, as_json=as_json)
        written = await hall.minutes(name)
        found = await hall.status(name)
        if as_json:
            lacking = list(found.conference.missing)
            output.print_json({"conference": name, "status": found.turn.status, "minutes": written, "minutes_lack": lacking})
        elif written is None:
            output.print_note(
                f"{ROUNDTABLE_PROMPT[found.conference.opened.language].no_minutes} ({shown.format_standing(found)})"
            )
        else:
            output.print_line(strip_control(written))
            shown.print_lacking(found)
        return output.WAITING if written is None else output.DONE

    _run_on_project(work, folder, as_json=as_json)


@roundtable.command("input")
@click.argument("name")
@click.argument("text")
@click.option("--key", default="", help="Idempotency key: an input with a recorded key is ignored.")
@dir_option
@output.json_option
def give_input(*, name: str, text: str, key: str, folder: Path | None, as_json: bool) -> None:
    """Say something to everyone in the conference NAME. TEXT `-` reads standard input.

    It becomes the file INPUT_NNN.md of the conference, which turn.json names to the next speakers.

    \b
    moot roundtable input cache "We have six months."
    """
    words = sys.stdin.read() if text == "-" else text

    async def work(hall: ConferenceProject) -> int:
        file = await hall.give_input(name, words, key)
        if as_json:
            output.print_json({"conference": name, "file": file or None, "taken": bool(file)})
        elif file:
            output.print_line(f"{name}/{file}")
        else:
            output.print_line(SESSION_COMMAND[(await hall.status(name)).conference.opened.language].recorded_before)
        return output.DONE

    _run_on_project(work, folder, as_json=as_json)


@roundtable.command()
@click.argument("name")
@click.option("--as", "role", required=True, metavar="ROLE")
@click.option("--why", default="", help="The reason, for the record.")
@dir_option
@output.json_option
def skip(name: str, role: str, why: str, folder: Path | None, as_json: bool) -> None:
    """Skip the turn of ROLE and continue; the turn is recorded as skipped.

    \b
    moot roundtable skip cache --as reviewer --why "on holiday"
    """

    async def work(hall: ConferenceProject) -> int:
        found = await hall.skip(name, role, why)
        if as_json:
            output.print_json(shown.build_status_json(hall, name, found))
            return output.DONE
        return shown.print_turn(found.turn, found.conference.opened.language)

    _run_on_project(work, folder, as_json=as_json)


@roundtable.command()
@click.option("--language", type=click.Choice(list_languages()), default="en", show_default=True)
def guide(language: Language) -> None:
    """Print GUIDE.md, the whole protocol for agents that have only files."""
    sys.stdout.write(read_guide(language))
