"""What `moot roundtable` prints of a conference."""

from collections.abc import Iterator

from moothall.app.conferences.status import Blocked, ConferenceStatus, TurnBriefing
from moothall.domain.facts import Language
from moothall.domain.safe_text import strip_control
from moothall.locale.catalogues import ROUNDTABLE_COMMAND, ROUNDTABLE_PROMPT
from moothall.protocols.roundtable.facts import MODERATOR
from moothall.protocols.roundtable.files import TurnFile, extract_notes, list_notes
from moothall.protocols.roundtable.sections import name_minutes_sections
from moothall.surfaces.cli.output import WAITING, CommandResult, Note


def format_next(status: ConferenceStatus) -> str:
    """Say whose turn it is, and how that role is woken."""
    conference, turn = status.conference, status.turn
    words = ROUNDTABLE_PROMPT[conference.opened.language]
    if turn.status == "closed":
        return words.over
    seat = conference.seat(conference.current)
    if not seat.is_outside:
        return f"{seat.id} ({seat.platform}): moot roundtable relay {turn.conference}"
    wake = words.wake if turn.status == "open" else words.wake_moderator
    return strip_control(wake.format(conference=turn.conference, role=turn.current_speaker, prompt=turn.prompt_for_speaker))


def format_standing(status: ConferenceStatus) -> str:
    turn, words = status.turn, ROUNDTABLE_COMMAND[status.conference.opened.language]
    where = words.statuses[turn.status]
    if turn.status == "open":
        where = words.round.format(round=turn.round, rounds=turn.max_rounds, speaker=turn.current_speaker)
    return where + (words.some_damage.format(number=len(status.damage)) if status.damage else "")


def list_status_lines(status: ConferenceStatus) -> Iterator[str]:
    """Describe the state of a conference and of its roles."""
    conference = status.conference
    words = ROUNDTABLE_COMMAND[conference.opened.language]
    yield strip_control(f"{status.turn.conference}: {format_standing(status)}")
    yield words.session.format(session=status.session, turns=conference.taken)
    for seat in conference.seats:
        spoken = sum(speech.seat == seat.id for speech in conference.speeches)
        skipped = sum(absent.seat == seat.id for absent in conference.absences)
        line = words.role if seat.id == MODERATOR else words.role_spoke
        who = words.outside if seat.is_outside else seat.platform
        counts = words.speeches.format(number=spoken) + (words.skipped.format(number=skipped) if skipped else "")
        yield line.format(role=seat.id, platform=who, counts=counts)
    if status.writing:
        yield words.writing.format(role=status.writing)
    # An agent from outside is woken with its prompt, which has the notes in it.
    if status.damage or not conference.seat(conference.current).is_outside:
        yield from list_notes(conference)
    yield from (strip_control(words.damaged.format(what=each)) for each in status.damage)
    if not status.damage:
        yield format_next(status)


def format_briefing(briefing: TurnBriefing) -> str:
    """The reading as one text."""
    if not briefing.is_turn:
        return briefing.message
    turn, words = briefing.turn, ROUNDTABLE_PROMPT[briefing.language]
    role = turn.current_speaker
    named = {"conference": turn.conference, "role": role}
    is_open = turn.status == "open"
    head = words.read_round.format(**named, round=turn.round, rounds=turn.max_rounds) if is_open else f"{turn.conference}: {role}"
    parts = [f"# {head}", f"## prompt_for_speaker\n\n{turn.prompt_for_speaker}", f"## AGENDA.md\n\n{briefing.agenda.strip()}"]
    if briefing.earlier:
        parts.append(words.read_earlier.format(**named, count=briefing.earlier))
    parts += [f"## {name} ({words.read_input})\n\n{text.strip()}" for name, text in briefing.inputs]
    parts += [f"## {name}{'…' if name in briefing.shortened else ''}\n\n{text.strip()}" for name, text in briefing.speeches]
    parts += [words.read_kept.format(file=file) for file in briefing.kept]
    parts.append(words.read_then.format(**named))
    return "\n\n".join(parts)


def describe_blocked(blocked: Blocked) -> CommandResult:
    """Return what a role gets that may not speak now."""
    error = {"kind": "Blocked", "message": str(blocked), "kept": blocked.file}
    return CommandResult(json={"error": error}, lines=[Note(str(blocked))], code=WAITING)


def list_turn_lines(turn: TurnFile, language: Language) -> Iterator[str]:
    """Say whose turn is next, with the notes of its prompt."""
    words = ROUNDTABLE_COMMAND[language]
    yield words.next.format(role=turn.current_speaker) if turn.status != "closed" else words.closed
    yield from map(strip_control, extract_notes(turn.prompt_for_speaker))


def list_lacking(status: ConferenceStatus) -> Iterator[Note]:
    """Warn of minutes that were taken without all of their sections."""
    conference = status.conference
    if conference.missing:
        sections = name_minutes_sections(conference.missing, conference.opened.language)
        yield Note(ROUNDTABLE_PROMPT[conference.opened.language].minutes_lack.format(sections=sections))
