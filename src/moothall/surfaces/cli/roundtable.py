"""`moot roundtable`: conferences in plain files."""

import re
import sys
from collections.abc import Callable, Coroutine
from dataclasses import asdict, replace
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from moothall.app.conferences.project import DEFAULT_ROUNDS, ConferenceOptions, ConferenceProject, find_project_root, read_guide
from moothall.app.conferences.status import Blocked
from moothall.app.conferences.unattended import Relay
from moothall.app.moot import Moot
from moothall.app.panels import resolve_platform_path
from moothall.app.session_options import Options
from moothall.domain.facts import Language
from moothall.domain.ids import SeatId
from moothall.domain.roster import MAILBOX, Seat
from moothall.domain.safe_text import encode_fields, strip_control
from moothall.errors import BadRoster, BadSetting, MootError
from moothall.locale.catalogues import ROUNDTABLE_COMMAND, ROUNDTABLE_PROMPT, SESSION_COMMAND
from moothall.locale.texts import list_languages
from moothall.participants.local_machine import name_local_door
from moothall.protocols.roundtable.facts import MODERATOR
from moothall.protocols.roundtable.files import MINUTES
from moothall.protocols.roundtable.rules import RULES
from moothall.protocols.roundtable.sections import find_missing_sections
from moothall.surfaces.cli import output
from moothall.surfaces.cli import roundtable_output as shown
from moothall.surfaces.cli.main import LazyGroup
from moothall.surfaces.cli.options import Duration, HoldOptions, WaitCommand, session_options
from moothall.surfaces.cli.output import CommandResult, Note, moot_command
from moothall.surfaces.cli.requirement import check_required, judge_decision, require_option
from moothall.surfaces.cli.terminal_session import TerminalSession, build_plan_result

MAX_SPEECH_LENGTH: Final = 50_000
_PLATFORM: Final = re.compile(r"[\w.+-]+(?::\S.*)?", re.ASCII | re.DOTALL)
"""What follows `NAME=` is a platform if it is one word, or a word and a colon; everything else is a description."""


dir_option = click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="The project's folder. Default: the nearest parent folder with a .roundtable.",
)
role_option = click.option("--as", "role", required=True, metavar="ROLE")


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


def project_command(work: Callable[..., Coroutine[Any, Any, CommandResult]]) -> Callable[..., None]:
    """Make an async function that takes the project and what was given a command with `--dir` and `--json`."""

    async def work_on_project(moot: Moot, folder: Path | None, **given: Any) -> CommandResult:
        return await work(_build_project(moot, folder), **given)

    return dir_option(moot_command(wraps(work)(work_on_project)))


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
    role without one is an agent from outside. A description is written into the agenda and given to its role.

    \b
    moot roundtable new cache "Which cache?" --role architect --role security=command:codex
    moot roundtable new cache "Which cache?" --role "architect=Owns the catalogue service" --role security
    """

    async def work() -> CommandResult:
        wanted: ConferenceOptions = {
            **options,
            "roles": _parse_roles(roles),
            "moderator": resolve_platform_path(moderator, Path()),
            "agenda": "" if agenda is None else _read_text(agenda, "an agenda"),
            "prompt": prompt,
            "max_rounds": rounds,
            "role_patience": role_patience,
        }
        async with Moot() as moot:
            project = _build_project(moot, folder)
            if hold.dry_run:
                return build_plan_result(moot, await project.plan_conference(name, topic, **wanted))
            status = await project.create_conference(name, topic, **wanted)
        lines = [f"{project.table / name}", shown.format_next(status)]
        return CommandResult(json=shown.build_status_json(project, name, status), lines=lines)

    output.run_and_print(work, as_json=hold.as_json)


def _parse_role(word: str) -> Seat:
    name, equals, platform = word.partition("=")
    if equals and not platform:
        raise BadRoster(f"--role {word!r}: expected NAME or NAME=PLATFORM, such as reviewer=openai:gpt-5-mini")
    return Seat(id=SeatId(name), platform=resolve_platform_path(platform, Path()) if platform else MAILBOX)


def _parse_roles(words: tuple[str, ...]) -> list[Seat]:
    """Parse speakers in their order. A name that comes again adds what its role still lacks: a platform or a description."""
    seats: dict[str, Seat] = {}
    for word in words:
        name, _, text = word.partition("=")
        is_description = bool(text) and not _PLATFORM.fullmatch(text)
        role = Seat(id=SeatId(name), platform=MAILBOX, instructions=text.strip()) if is_description else _parse_role(word)
        known = seats.get(name)
        if known is None:
            seats[name] = role
        elif is_description and not known.instructions:
            seats[name] = replace(known, instructions=role.instructions)
        elif text and not is_description and known.is_outside:
            seats[name] = replace(known, platform=role.platform)
        else:
            raise BadRoster(f"--role {word!r}: {name!r} stands there twice; a role has one platform and one description")
    return list(seats.values())


@roundtable.command()
@click.argument("name", required=False)
@project_command
async def status(project: ConferenceProject, name: str | None) -> CommandResult:
    """Show the state of a conference; without NAME, one line for each.

    \b
    moot roundtable status
    moot roundtable status cache
    """
    if name is None:
        return await _list_conferences(project)
    status = await project.status(name)
    code = output.FAILED if status.damage else output.DONE
    return CommandResult(json=shown.build_status_json(project, name, status), lines=shown.list_status_lines(status), code=code)


async def _list_conferences(project: ConferenceProject) -> CommandResult:
    rows: list[dict[str, Any]] = []
    lines: list[str] = []
    for name in project.names():
        try:
            status = await project.status(name)
        except MootError as error:
            rows.append({"conference": name, "error": str(error)})
            lines.append(strip_control(f"{name}: {error}"))
            continue
        rows.append(shown.build_status_json(project, name, status))
        lines.append(f"{name}: {shown.format_standing(status)}")
    none = f"no conference in {project.table}; start one: moot roundtable new NAME TOPIC --role NAME --role NAME"
    return CommandResult(json=rows, lines=lines or [none])


@roundtable.command()
@click.argument("name")
@role_option
@project_command
async def join(project: ConferenceProject, name: str, role: str) -> CommandResult:
    """Print what ROLE should read now: the agenda, its prompt and the last three speeches.

    Exit code 0: it is the role's turn; 3: it is another role's turn; 4: the conference is over.

    \b
    moot roundtable join cache --as architect
    """
    briefing = await project.join(name, role)
    waiting = output.UNDECIDED if briefing.turn.status == "closed" else output.WAITING
    return CommandResult(
        json={**encode_fields(briefing), "turn": asdict(briefing.turn)},
        lines=[strip_control(shown.format_briefing(briefing, role))],
        code=output.DONE if briefing.is_turn else waiting,
    )


@roundtable.command()
@click.argument("name")
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@role_option
@click.option("--key", default="", help="Idempotency key: a repeated call counts once.")
@project_command
async def say(project: ConferenceProject, *, name: str, file: Any, role: str, key: str) -> CommandResult:
    """Commit the speech of ROLE from FILE (or standard input) and the new turn.json together.

    For the moderator it commits the minutes. Exit code 3: it is another role's turn, or sections are missing from the minutes;
    the text is stored.

    \b
    moot roundtable say cache --as architect speech.md
    """
    text = _read_speech(file)
    try:
        given = await project.say(name, role, text, key, via=name_local_door())
    except Blocked as blocked:
        return shown.describe_blocked(blocked)
    result = {"file": given.file, "turn": asdict(given.turn), "isRepeated": given.is_repeated, "missingSections": given.returned}
    if given.returned:
        return CommandResult(json=result, lines=[shown.note_returned(given)], code=output.WAITING)
    missing = find_missing_sections(text, given.language) if role != MODERATOR else ()
    notes = [Note(ROUNDTABLE_PROMPT[given.language].no_section.format(sections=", ".join(missing)))] if missing else []
    return CommandResult(json=result, lines=[f"{name}/{given.file}", *notes, *shown.list_turn_lines(given.turn, given.language)])


def _read_text(file: Any, what: str) -> str:
    try:
        text: str = file.read(MAX_SPEECH_LENGTH + 1)
    except UnicodeDecodeError:
        raise BadSetting(f"{file.name}: not UTF-8 text") from None
    if len(text) > MAX_SPEECH_LENGTH:
        raise BadSetting(f"{file.name}: more than {MAX_SPEECH_LENGTH} characters, the limit for {what}")
    return text


def _read_speech(file: Any) -> str:
    text = _read_text(file, "a speech")
    if not text.strip():
        raise BadSetting(f"{file.name}: empty; a speech was expected")
    return text


@roundtable.command()
@click.argument("name")
@click.option("--role", "roles", multiple=True, metavar="NAME=PLATFORM", help="Give a role to another participant from now on.")
@require_option
@dir_option
@output.json_option
def relay(name: str, roles: tuple[str, ...], required: tuple[str, ...], folder: Path | None, as_json: bool) -> None:
    """Run the whole conference unattended, until its minutes are written.

    Moot drives the roles that have a platform: it asks models and runs coding agents in the project's folder. For other roles
    it watches the files. A role that fails is asked once more and then skipped, with the reason on the record.

    \b
    moot roundtable relay cache
    moot roundtable relay cache --role reviewer=openai:gpt-5-mini --role moderator=command:claude
    """
    spoken: list[Language] = ["en"]

    async def work() -> CommandResult:
        check_required(required)
        async with Moot() as moot:
            project = _build_project(moot, folder)
            given = {seat.id: seat.platform for seat in map(_parse_role, roles)}
            status = await (project.reseat(name, given) if given else project.status(name))
            spoken[0] = status.conference.opened.language
            moot.seating.check_scripts(status.conference.seats, RULES.forms)
            conference = Relay(moot, project, name, lambda line: output.print_note(strip_control(line)))
            terminal, plugin = TerminalSession(status.session), await moot.load_plugin(status.session)
            run = conference.run()
            status = await (run if as_json else terminal.show_while(moot, plugin, run))
            lines = [f"{project.table / name / MINUTES}", *shown.list_lacking(status)]
            result = CommandResult(json=shown.build_status_json(project, name, status), lines=lines)
            if not required:
                return result
            judgement = judge_decision(await moot.decision(status.session), required, spoken[0])
            return replace(result, lines=[*lines, Note(judgement.reason)], code=judgement.code)

    def describe_stop() -> str:
        return f"\n{ROUNDTABLE_COMMAND[spoken[0]].stopped.format(conference=name)}"

    output.run_and_print(work, as_json=as_json, stopped=describe_stop)


@roundtable.command()
@click.argument("name")
@project_command
async def check(project: ConferenceProject, name: str) -> CommandResult:
    """Compare the whole folder with the record and print each fault with file and line. Exit code 5: there are faults.

    \b
    moot roundtable check cache
    """
    status = await project.status(name, whole=True)
    damage = [asdict(each) for each in status.damage]
    if not damage:
        return CommandResult(json=damage, lines=[ROUNDTABLE_COMMAND[status.conference.opened.language].no_faults])
    return CommandResult(json=damage, lines=[strip_control(str(each)) for each in status.damage], code=output.FAILED)


@roundtable.command()
@click.argument("name")
@project_command
async def repair(project: ConferenceProject, name: str) -> CommandResult:
    """Repair what `check` reports. Nothing is deleted: files in the way are moved to NAME/aside.

    \b
    moot roundtable repair cache
    """
    done = await project.repair(name)
    lines = [strip_control(line) for line in done]
    if not done:
        lines = [ROUNDTABLE_COMMAND[(await project.status(name)).conference.opened.language].nothing_to_repair]
    return CommandResult(json=done, lines=lines)


@roundtable.command()
@click.argument("name")
@click.option(
    "--write",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Commit these minutes as the moderator; - for standard input.",
)
@project_command
async def minutes(project: ConferenceProject, name: str, write: Any) -> CommandResult:
    """Print the minutes, or commit them. Exit code 3: there are no minutes yet.

    \b
    moot roundtable minutes cache
    """
    returned: list[str] = []
    if write is not None:
        try:
            given = await project.say(name, MODERATOR, _read_speech(write), via=name_local_door())
        except Blocked as blocked:
            return shown.describe_blocked(blocked)
        returned = [shown.note_returned(given)] if given.returned else []
    text, status = await project.minutes(name), await project.status(name)
    lacking = list(status.conference.missing)
    result = {"conference": name, "status": status.turn.status, "minutes": text, "missingSections": lacking}
    if text is None:
        none = f"{ROUNDTABLE_PROMPT[status.conference.opened.language].no_minutes} ({shown.format_standing(status)})"
        return CommandResult(json=result, lines=returned or [Note(none)], code=output.WAITING)
    return CommandResult(json=result, lines=[strip_control(text), *shown.list_lacking(status)])


@roundtable.command("input")
@click.argument("name")
@click.argument("text")
@click.option("--key", default="", help="Idempotency key: an input with a recorded key is ignored.")
@project_command
async def give_input(project: ConferenceProject, *, name: str, text: str, key: str) -> CommandResult:
    """Say something to everyone in the conference NAME. TEXT `-` reads standard input.

    It becomes the file INPUT_NNN.md of the conference, which turn.json names to the next speakers.

    \b
    moot roundtable input cache "We have six months."
    """
    file = await project.give_input(name, sys.stdin.read() if text == "-" else text, key)
    line = f"{name}/{file}"
    if not file:
        line = SESSION_COMMAND[(await project.status(name)).conference.opened.language].recorded_before
    return CommandResult(json={"conference": name, "file": file or None, "isRepeated": not file}, lines=[line])


@roundtable.command()
@click.argument("name")
@role_option
@click.option("--why", default="", help="The reason, for the record.")
@project_command
async def skip(project: ConferenceProject, name: str, role: str, why: str) -> CommandResult:
    """Skip the turn of ROLE and continue; the turn is recorded as skipped.

    \b
    moot roundtable skip cache --as reviewer --why "on holiday"
    """
    status = await project.skip(name, role, why)
    lines = shown.list_turn_lines(status.turn, status.conference.opened.language)
    return CommandResult(json=shown.build_status_json(project, name, status), lines=lines)


@roundtable.command()
@click.option("--language", type=click.Choice(list_languages()), default="en", show_default=True)
def guide(language: Language) -> None:
    """Print GUIDE.md, the whole protocol for agents that have only files."""
    sys.stdout.write(read_guide(language))
