"""`moot roundtable`: conferences in plain files."""

import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from moothall.app.panels import resolve_platform_path
from moothall.app.project_root import TABLE, find_project_root
from moothall.app.requirement import Requirement
from moothall.domain.roster import MAILBOX
from moothall.features.roundtable.facts import MODERATOR
from moothall.features.roundtable.files import MINUTES, TurnFile, extract_notes, list_notes
from moothall.features.roundtable.operations import (
    METHODS,
    CheckedOut,
    ConferenceInputOut,
    RepairedOut,
    SaidOut,
    build_conference_out,
)
from moothall.features.roundtable.project import (
    DEFAULT_ROUNDS,
    ConferenceOptions,
    ConferenceProject,
    read_guide,
)
from moothall.features.roundtable.rules import RULES
from moothall.features.roundtable.sections import name_minutes_sections
from moothall.features.roundtable.status import Blocked, ConferenceStatus, TurnBriefing
from moothall.features.roundtable.unattended import Relay
from moothall.features.roundtable.words import ROUNDTABLE_COMMAND, ROUNDTABLE_PROMPT
from moothall.locale.catalogues import SESSION_COMMAND
from moothall.plugins import (
    BadRoster,
    BadSetting,
    Call,
    HoldOptions,
    Language,
    LanguageChoice,
    Note,
    Options,
    Seat,
    SeatId,
    TerminalSession,
    WaitCommand,
    compile_late,
    output,
    session_options,
    strip_control,
)
from moothall.surfaces.cli.arguments import Duration
from moothall.surfaces.cli.main import LazyGroup, guess_language
from moothall.surfaces.cli.operations import Command, call_command, call_here, perform, read_dash
from moothall.surfaces.cli.output import CommandResult
from moothall.surfaces.cli.requirement import check_required, judge_exit, require_option
from moothall.surfaces.cli.terminal_session import build_plan_result

MAX_SPEECH_LENGTH: Final = 50_000
_PLATFORM: Final = compile_late(r"[\w.+-]+(?::\S.*)?", re.ASCII | re.DOTALL)
"""What follows `NAME=` is a platform if it is one word, or a word and a colon; everything else is a description."""


_DIR: Final[dict[str, Any]] = {
    "type": click.Path(file_okay=False, exists=True, path_type=Path),
    "callback": lambda ctx, param, given: (
        find_project_root(Path.cwd()) if given is None else given.absolute()
    ),
    "help": "The project's folder. Default: the nearest parent folder with a .roundtable.",
}
dir_option = click.option("--dir", "folder", **_DIR)


@click.group(cls=LazyGroup)
def roundtable() -> None:
    """Hold a conference in plain files, which any agent that reads and writes files can join.

    \b
    moot roundtable new cache "Which cache for the catalogue?" --role architect --role reviewer
    moot roundtable join cache --as architect
    moot roundtable say cache --as architect speech.md
    moot roundtable relay cache
    """


def _add_command(name: str, call: str, *arguments: str, **how: Any) -> None:
    """Make a command of a call on one conference."""
    folder = click.Option(["--dir", "folder"], **_DIR)
    command: Command[Any, Any] = Command(
        method=METHODS[call], arguments=["conference", *arguments], extra=[folder], **how
    )
    roundtable.add_command(command.build(name))


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
@click.option(
    "--moderator",
    default=MAILBOX,
    metavar="PLATFORM",
    help="Who writes the minutes. Default: an agent from outside.",
)
@click.option(
    "--agenda",
    type=click.File(encoding="utf-8"),
    help="A file with the background; - for standard input.",
)
@click.option("--prompt", default="", help="Instructions for the first speaker.")
@click.option("--rounds", type=click.IntRange(1, 100), default=DEFAULT_ROUNDS, show_default=True)
@click.option(
    "--role-patience",
    type=Duration(),
    default=600.0,
    help="Deadline for a role that Moot drives. Default: 10m.",
)
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
    folder: Path,
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

    async def work(call: Call) -> CommandResult:
        wanted: ConferenceOptions = {
            **options,
            "roles": _parse_roles(roles),
            "moderator": resolve_platform_path(moderator, Path()),
            "agenda": "" if agenda is None else _read_text(agenda, "an agenda"),
            "prompt": prompt,
            "max_rounds": rounds,
            "role_patience": role_patience,
        }
        project = ConferenceProject(call.moot, folder)
        if hold.dry_run:
            return build_plan_result(
                call.moot, await project.plan_conference(name, topic, **wanted)
            )
        status = await project.create_conference(name, topic, **wanted)
        lines = [f"{project.table / name}", _format_next(status)]
        return CommandResult(json=build_conference_out(call, name, status), lines=lines)

    output.run_and_print(lambda: call_here(work, folder), as_json=hold.as_json)


def _parse_role(word: str) -> Seat:
    name, equals, platform = word.partition("=")
    if equals and not platform:
        raise BadRoster(
            f"--role {word!r}: expected NAME or NAME=PLATFORM, such as reviewer=openai:gpt-5-mini"
        )
    return Seat(
        id=SeatId(name), platform=resolve_platform_path(platform, Path()) if platform else MAILBOX
    )


def _parse_roles(words: tuple[str, ...]) -> list[Seat]:
    """Parse speakers in their order. A name that comes again adds what its role still lacks: a platform or a description."""
    seats: dict[str, Seat] = {}
    for word in words:
        name, _, text = word.partition("=")
        is_description = bool(text) and not _PLATFORM.fullmatch(text)
        role = (
            Seat(id=SeatId(name), platform=MAILBOX, instructions=text.strip())
            if is_description
            else _parse_role(word)
        )
        known = seats.get(name)
        if known is None:
            seats[name] = role
        elif is_description and not known.instructions:
            seats[name] = replace(known, instructions=role.instructions)
        elif text and not is_description and known.is_outside:
            seats[name] = replace(known, platform=role.platform)
        else:
            raise BadRoster(
                f"--role {word!r}: {name!r} stands there twice; a role has one platform and one description"
            )
    return list(seats.values())


@roundtable.command()
@click.argument("name", required=False)
@dir_option
@call_command
async def status(call: Call, name: str | None) -> CommandResult:
    """Show the state of a conference; without NAME, one line for each.

    \b
    moot roundtable status
    moot roundtable status cache
    """
    if name is not None:
        one = await perform(METHODS["moot.conferenceStatus"], call, {"conference": name})
        return CommandResult(
            json=one,
            lines=_list_status_lines(one.state),
            code=output.FAILED if one.damage else output.DONE,
        )
    result = await perform(METHODS["moot.listConferences"], call, {})
    lines = [f"{each.conference}: {_format_standing(each.state)}" for each in result.conferences]
    lines += [
        strip_control(f"{conference}: {why}") for conference, why in result.unreadable.items()
    ]
    none = f"no conference in {call.context.root / TABLE}; start one: moot roundtable new NAME TOPIC --role NAME --role NAME"
    return CommandResult(json=result, lines=lines or [none])


def _find_join_code(joined: Any) -> int:
    """Return the exit code: whether it is the role's turn, another role's, or nobody's any more."""
    if joined.is_your_turn:
        return output.DONE
    if joined.status == "closed":
        return output.UNDECIDED
    return output.WAITING


_add_command(
    "join",
    "moot.joinConference",
    show=lambda joined: [strip_control(_format_briefing(joined.briefing))],
    exit_code=_find_join_code,
    help="""Print what ROLE should read now: the agenda, its prompt and the last three speeches.

Exit code 0: it is the role's turn; 3: it is another role's turn; 4: the conference is over.""",
    examples="moot roundtable join cache --as architect",
    flags={"role": "--as"},
    required=["role"],
    hidden=["timeout_seconds"],
)


@roundtable.command()
@click.argument("name")
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@click.option("--as", "role", required=True, metavar="ROLE")
@click.option("--key", default="", help="Idempotency key: a repeated call counts once.")
@dir_option
@call_command
async def say(call: Call, *, name: str, file: Any, role: str, key: str) -> CommandResult:
    """Commit the speech of ROLE from FILE (or standard input) and the new turn.json together.

    For the moderator it commits the minutes. Exit code 3: it is another role's turn, or sections are missing from the minutes;
    the text is stored.

    \b
    moot roundtable say cache --as architect speech.md
    """
    try:
        said = await _say(call, name, role, file, key)
    except Blocked as blocked:
        return _describe_blocked(blocked)
    if said.message:
        return CommandResult(json=said, lines=[Note(said.message)], code=output.WAITING)
    given, missing = said.accepted, said.missing_sections
    notes = (
        [Note(ROUNDTABLE_PROMPT[given.language].no_section.format(sections=", ".join(missing)))]
        if missing
        else []
    )
    return CommandResult(
        json=said,
        lines=[f"{name}/{given.file}", *notes, *_list_turn_lines(given.turn, given.language)],
    )


async def _say(call: Call, name: str, role: str, file: Any, key: str = "") -> SaidOut:
    """Give a role's speech, or the minutes. Raises Blocked when it is another role's turn."""
    text = _read_text(file, "a speech")
    if not text.strip():
        raise BadSetting(f"{file.name}: empty; a speech was expected")
    given = {"conference": name, "role": role, "text": text, "idempotencyKey": key}
    said: SaidOut = await perform(METHODS["moot.sayInConference"], call, given)
    return said


def _read_text(file: Any, what: str) -> str:
    try:
        text: str = file.read(MAX_SPEECH_LENGTH + 1)
    except UnicodeDecodeError:
        raise BadSetting(f"{file.name}: not UTF-8 text") from None
    if len(text) > MAX_SPEECH_LENGTH:
        raise BadSetting(
            f"{file.name}: more than {MAX_SPEECH_LENGTH} characters, the limit for {what}"
        )
    return text


@roundtable.command()
@click.argument("name")
@click.option(
    "--role",
    "roles",
    multiple=True,
    metavar="NAME=PLATFORM",
    help="Give a role to another participant from now on.",
)
@require_option
@dir_option
@output.json_option
def relay(
    name: str, roles: tuple[str, ...], required: Requirement, folder: Path, as_json: bool
) -> None:
    """Run the whole conference unattended, until its minutes are written.

    Moot drives the roles that have a platform: it asks models and runs coding agents in the project's folder. For other roles
    it watches the files. A role that fails is asked once more and then skipped, with the reason on the record.

    \b
    moot roundtable relay cache
    moot roundtable relay cache --role reviewer=openai:gpt-5-mini --role moderator=command:claude
    """
    spoken: list[Language] = ["en"]

    async def work(call: Call) -> CommandResult:
        check_required(required)
        moot, project = call.moot, ConferenceProject(call.moot, folder)
        given = {seat.id: seat.platform for seat in map(_parse_role, roles)}
        status = await (project.reseat(name, given) if given else project.status(name))
        spoken[0] = status.conference.opened.language
        moot.seating.check_scripts(status.conference.seats, RULES.forms)
        conference = Relay(moot, project, name, lambda line: output.print_note(strip_control(line)))
        terminal, plugin = TerminalSession(status.session), await moot.load_plugin(status.session)
        run = conference.run()
        status = await (run if as_json else terminal.show_while(moot, plugin, run))
        lines = [f"{project.table / name / MINUTES}", *_list_lacking(status)]
        result = CommandResult(json=build_conference_out(call, name, status), lines=lines)
        if not required:
            return result
        code, reason = judge_exit(await moot.decision(status.session), required, spoken[0])
        return replace(result, lines=[*lines, Note(reason)], code=code)

    def describe_stop() -> str:
        return f"\n{ROUNDTABLE_COMMAND[spoken[0]].stopped.format(conference=name)}"

    output.run_and_print(lambda: call_here(work, folder), as_json=as_json, stopped=describe_stop)


async def _load_language(call: Call, name: str) -> Language:
    status = await perform(METHODS["moot.conferenceStatus"], call, {"conference": name})
    language: Language = status.state.conference.opened.language
    return language


async def _describe_check(call: Call, checked: CheckedOut) -> list[str]:
    faults = [strip_control(str(each)) for each in checked.damage]
    return faults or [ROUNDTABLE_COMMAND[await _load_language(call, checked.conference)].no_faults]


async def _describe_repair(call: Call, repaired: RepairedOut) -> list[str]:
    done = [strip_control(line) for line in repaired.done]
    return done or [
        ROUNDTABLE_COMMAND[await _load_language(call, repaired.conference)].nothing_to_repair
    ]


_add_command(
    "check",
    "moot.checkConference",
    describe=_describe_check,
    exit_code=lambda checked: output.FAILED if checked.damage else output.DONE,
    help="Compare the whole folder with the record and print each fault with file and line. Exit code 5: there are faults.",
    examples="moot roundtable check cache",
)
_add_command(
    "repair",
    "moot.repairConference",
    describe=_describe_repair,
    help="Repair what `check` reports. Nothing is deleted: files in the way are moved to its folder aside.",
    examples="moot roundtable repair cache",
)


@roundtable.command()
@click.argument("name")
@click.option(
    "--write",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Commit these minutes as the moderator; - for standard input.",
)
@dir_option
@call_command
async def minutes(call: Call, name: str, write: Any) -> CommandResult:
    """Print the minutes, or commit them. Exit code 3: there are no minutes yet.

    \b
    moot roundtable minutes cache
    """
    message = ""
    if write is not None:
        try:
            message = (await _say(call, name, MODERATOR, write)).message
        except Blocked as blocked:
            return _describe_blocked(blocked)
    result = await perform(METHODS["moot.conferenceMinutes"], call, {"conference": name})
    if result.minutes is not None:
        return CommandResult(
            json=result, lines=[strip_control(result.minutes), *_list_lacking(result.state)]
        )
    words = ROUNDTABLE_PROMPT[result.state.conference.opened.language]
    none = message or f"{words.no_minutes} ({_format_standing(result.state)})"
    return CommandResult(json=result, lines=[Note(none)], code=output.WAITING)


async def _describe_input(call: Call, given: ConferenceInputOut) -> list[str]:
    if given.file is not None:
        return [f"{given.conference}/{given.file}"]
    return [SESSION_COMMAND[await _load_language(call, given.conference)].recorded_before]


_add_command(
    "input",
    "moot.giveConferenceInput",
    "text",
    describe=_describe_input,
    prepare=read_dash,
    help="""Say something to everyone in a conference. TEXT `-` reads standard input.

It becomes the file INPUT_NNN.md of the conference, which turn.json names to the next speakers.""",
    examples='moot roundtable input cache "We have six months."',
)
_add_command(
    "skip",
    "moot.skipSpeaker",
    show=lambda result: _list_turn_lines(
        result.state.turn, result.state.conference.opened.language
    ),
    help="Skip the turn of ROLE and continue; the turn is recorded as skipped.",
    examples='moot roundtable skip cache --as reviewer --why "on holiday"',
    flags={"role": "--as"},
)


@roundtable.command()
@click.option("--language", type=LanguageChoice(), default=guess_language, show_default="yours")
def guide(language: Language) -> None:
    """Print GUIDE.md, the whole protocol for agents that have only files."""
    sys.stdout.write(read_guide(language))


def _format_next(status: ConferenceStatus) -> str:
    """Say whose turn it is, and how that role is woken."""
    conference, turn = status.conference, status.turn
    words = ROUNDTABLE_PROMPT[conference.opened.language]
    if turn.status == "closed":
        return words.over
    seat = conference.seat(conference.current)
    if not seat.is_outside:
        return f"{seat.id} ({seat.platform}): moot roundtable relay {turn.conference}"
    wake = words.wake if turn.status == "open" else words.wake_moderator
    return strip_control(
        wake.format(
            conference=turn.conference, role=turn.current_speaker, prompt=turn.prompt_for_speaker
        )
    )


def _format_standing(status: ConferenceStatus) -> str:
    turn, words = status.turn, ROUNDTABLE_COMMAND[status.conference.opened.language]
    where = words.statuses[turn.status]
    if turn.status == "open":
        where = words.round.format(
            round=turn.round, rounds=turn.max_rounds, speaker=turn.current_speaker
        )
    return where + (words.some_damage.format(number=len(status.damage)) if status.damage else "")


def _list_status_lines(status: ConferenceStatus) -> Iterator[str]:
    """Describe the state of a conference and of its roles."""
    conference = status.conference
    words = ROUNDTABLE_COMMAND[conference.opened.language]
    yield strip_control(f"{status.turn.conference}: {_format_standing(status)}")
    yield words.session.format(session=status.session, turns=conference.taken)
    for seat in conference.seats:
        spoken = sum(speech.seat == seat.id for speech in conference.speeches)
        skipped = sum(absent.seat == seat.id for absent in conference.absences)
        line = words.role if seat.id == MODERATOR else words.role_spoke
        who = words.outside if seat.is_outside else seat.platform
        counts = words.speeches.format(number=spoken) + (
            words.skipped.format(number=skipped) if skipped else ""
        )
        yield line.format(role=seat.id, platform=who, counts=counts)
    if status.writing:
        yield words.writing.format(role=status.writing)
    # An agent from outside is woken with its prompt, which has the notes in it.
    if status.damage or not conference.seat(conference.current).is_outside:
        yield from list_notes(conference)
    yield from (strip_control(words.damaged.format(what=each)) for each in status.damage)
    if not status.damage:
        yield _format_next(status)


def _format_briefing(briefing: TurnBriefing) -> str:
    """The reading as one text."""
    if not briefing.is_turn:
        return briefing.message
    turn, words = briefing.turn, ROUNDTABLE_PROMPT[briefing.language]
    role = turn.current_speaker
    named = {"conference": turn.conference, "role": role}
    is_open = turn.status == "open"
    head = (
        words.read_round.format(**named, round=turn.round, rounds=turn.max_rounds)
        if is_open
        else f"{turn.conference}: {role}"
    )
    parts = [
        f"# {head}",
        f"## prompt_for_speaker\n\n{turn.prompt_for_speaker}",
        f"## AGENDA.md\n\n{briefing.agenda.strip()}",
    ]
    if briefing.earlier:
        parts.append(words.read_earlier.format(**named, count=briefing.earlier))
    parts += [f"## {name} ({words.read_input})\n\n{text.strip()}" for name, text in briefing.inputs]
    parts += [
        f"## {name}{'…' if name in briefing.shortened else ''}\n\n{text.strip()}"
        for name, text in briefing.speeches
    ]
    parts += [words.read_saved.format(file=file) for file in briefing.kept]
    parts.append(words.read_then.format(**named))
    return "\n\n".join(parts)


def _describe_blocked(blocked: Blocked) -> CommandResult:
    """Return what a role gets that may not speak now."""
    error = {"kind": "Blocked", "message": str(blocked), "kept": blocked.file}
    return CommandResult(json={"error": error}, lines=[Note(str(blocked))], code=output.WAITING)


def _list_turn_lines(turn: TurnFile, language: Language) -> Iterator[str]:
    """Say whose turn is next, with the notes of its prompt."""
    words = ROUNDTABLE_COMMAND[language]
    yield words.next.format(role=turn.current_speaker) if turn.status != "closed" else words.closed
    yield from map(strip_control, extract_notes(turn.prompt_for_speaker))


def _list_lacking(status: ConferenceStatus) -> Iterator[Note]:
    """Warn of minutes that were taken without all of their sections."""
    conference = status.conference
    if conference.missing:
        sections = name_minutes_sections(conference.missing, conference.opened.language)
        yield Note(
            ROUNDTABLE_PROMPT[conference.opened.language].minutes_lack.format(sections=sections)
        )
