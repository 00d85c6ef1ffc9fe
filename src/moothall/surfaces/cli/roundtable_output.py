"""What `moot roundtable` prints of a conference."""

from dataclasses import asdict
from typing import Any

from moothall.app.conferences.project import ConferenceProject
from moothall.app.conferences.status import AcceptedSpeech, Blocked, ConferenceStatus, TurnBriefing
from moothall.domain.facts import Language
from moothall.domain.safe_text import strip_control
from moothall.locale.catalogues import ROUNDTABLE_COMMAND, ROUNDTABLE_PROMPT, RoundtableCommandText
from moothall.protocols.roundtable.facts import MODERATOR
from moothall.protocols.roundtable.files import format_input_file_name
from moothall.protocols.roundtable.sections import describe_role, name_minutes_sections
from moothall.protocols.roundtable.turn_file import TurnFile
from moothall.protocols.roundtable.turn_notes import extract_notes, list_notes
from moothall.surfaces.cli import output


def print_next(found: ConferenceStatus) -> None:
    """Whose turn it is, and how that role is woken."""
    conference, turn = found.conference, found.turn
    words = ROUNDTABLE_PROMPT[conference.opened.language]
    if turn.status == "closed":
        output.print_line(words.over)
        return
    seat = conference.seat(conference.current)
    if not seat.is_outside:
        output.print_line(f"{seat.id} ({seat.platform}): moot roundtable relay {turn.conference}")
        return
    wake = words.wake if turn.status == "open" else words.wake_moderator
    output.print_line(
        strip_control(wake.format(conference=turn.conference, role=turn.current_speaker, prompt=turn.prompt_for_speaker))
    )


def build_status_json(hall: ConferenceProject, name: str, found: ConferenceStatus) -> dict[str, Any]:
    return {
        "conference": name,
        "folder": str(hall.table / name),
        "session": found.session,
        "turn": asdict(found.turn),
        "turns_taken": found.conference.taken,
        "skipped": [asdict(absent) for absent in found.conference.absences],
        "roles": {seat.id: seat.platform for seat in found.conference.seats},
        "descriptions": {seat.id: text for seat in found.conference.seats if (text := describe_role(seat))},
        "consensus_declared": sorted(found.conference.agreeing),
        "inputs": [format_input_file_name(given.number) for given in found.conference.inputs],
        "minutes_lack": list(found.conference.missing),
        "writing": found.writing,
        "damage": [asdict(each) for each in found.damage],
    }


def format_standing(found: ConferenceStatus) -> str:
    turn, words = found.turn, ROUNDTABLE_COMMAND[found.conference.opened.language]
    where = words.statuses[turn.status]
    if turn.status == "open":
        where = words.round.format(round=turn.round, rounds=turn.max_rounds, speaker=turn.current_speaker)
    return where + (words.some_damage.format(number=len(found.damage)) if found.damage else "")


def print_status(found: ConferenceStatus) -> None:
    conference = found.conference
    words = ROUNDTABLE_COMMAND[conference.opened.language]
    output.print_line(strip_control(f"{found.turn.conference}: {format_standing(found)}"))
    output.print_line(words.session.format(session=found.session, turns=_format_turns(words, conference.taken)))
    for seat in conference.seats:
        spoken = sum(speech.seat == seat.id for speech in conference.speeches)
        skipped = sum(absent.seat == seat.id for absent in conference.absences)
        line = words.role if seat.id == MODERATOR else words.role_spoke
        who = words.outside if seat.is_outside else seat.platform
        output.print_line(line.format(role=seat.id, platform=who, counts=_format_speeches(words, spoken, skipped)))
    if found.writing:
        output.print_line(words.writing.format(role=found.writing))
    # Whoever comes from outside is woken with its prompt, which has the notes in it.
    if found.damage or not conference.seat(conference.current).is_outside:
        for note in list_notes(conference):
            output.print_line(note)
    for each in found.damage:
        output.print_line(strip_control(words.damaged.format(what=each)))
    if not found.damage:
        print_next(found)


def format_briefing(found: TurnBriefing, role: str) -> str:
    """The reading as one text."""
    if not found.is_turn:
        return found.message
    turn, words = found.turn, ROUNDTABLE_PROMPT[found.language]
    named = {"conference": turn.conference, "role": role}
    is_open = turn.status == "open"
    head = words.read_round.format(**named, round=turn.round, rounds=turn.max_rounds) if is_open else f"{turn.conference}: {role}"
    parts = [f"# {head}", f"## prompt_for_speaker\n\n{turn.prompt_for_speaker}", f"## AGENDA.md\n\n{found.agenda.strip()}"]
    if found.earlier:
        parts.append(words.read_earlier.format(**named, count=found.earlier))
    parts += [f"## {name} ({words.read_input})\n\n{text.strip()}" for name, text in found.inputs]
    parts += [f"## {name}{'…' if name in found.shortened else ''}\n\n{text.strip()}" for name, text in found.speeches]
    parts += [words.read_kept.format(file=kept) for kept in found.kept]
    parts.append(words.read_then.format(**named))
    return "\n\n".join(parts)


def print_returned(given: AcceptedSpeech) -> int:
    sections = name_minutes_sections(given.returned, given.language)
    output.print_note(ROUNDTABLE_PROMPT[given.language].minutes_returned.format(sections=sections, file=given.file))
    return output.WAITING


def print_blocked(blocked: Blocked, *, as_json: bool) -> int:
    if as_json:
        output.print_json({"error": {"kind": "Blocked", "message": str(blocked), "kept": blocked.kept}})
    else:
        output.print_note(f"{blocked}\n{blocked.told}")
    return output.WAITING


def print_turn(turn: TurnFile, language: Language) -> int:
    words = ROUNDTABLE_COMMAND[language]
    output.print_line(words.next.format(role=turn.current_speaker) if turn.status != "closed" else words.closed)
    for note in extract_notes(turn.prompt_for_speaker):
        output.print_line(strip_control(note))
    return output.DONE


def print_lacking(found: ConferenceStatus) -> None:
    """Warn of minutes that were taken without all of their sections."""
    conference = found.conference
    if conference.missing:
        language = conference.opened.language
        sections = name_minutes_sections(conference.missing, language)
        output.print_note(ROUNDTABLE_PROMPT[language].minutes_lack.format(sections=sections))


def _format_turns(words: RoundtableCommandText, number: int) -> str:
    return (words.one_turn if number == 1 else words.turns).format(number=number)


def _format_speeches(words: RoundtableCommandText, spoken: int, skipped: int) -> str:
    """How often a role spoke, and how often its turn was skipped."""
    counts = (words.one_speech if spoken == 1 else words.speeches).format(number=spoken)
    return counts + (words.skipped_once if skipped == 1 else words.skipped.format(number=skipped) if skipped else "")
