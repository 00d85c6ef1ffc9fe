"""What a role of a conference should read when it joins."""

from typing import Final

from moothall.app.conferences.conference import ConferenceFolder, explain_waiting
from moothall.app.conferences.folder_scan import FolderScan, scan_folder
from moothall.app.conferences.quarantine import read_text_if_any
from moothall.app.conferences.status import TurnBriefing
from moothall.disk.folder import Folder
from moothall.protocols.roundtable.files import (
    AGENDA,
    MAX_PROMPT_LENGTH,
    TurnFile,
    extract_notes,
    format_speech_file_name,
    is_input_file_name,
)
from moothall.protocols.roundtable.prompts import AGENDA_ROOM, MAX_RECORD_LENGTH, MAX_SPEECH_LENGTH
from moothall.protocols.roundtable.sections import SpeechText, fit_speeches
from moothall.protocols.roundtable.state import RECENT

NO_LIMIT: Final = 1_000_000_000
HEAD_ROOM: Final = 100
"""Characters that are kept free for a file's name above its text."""


def build_briefing(conference: ConferenceFolder, role: str, turn: TurnFile) -> TurnBriefing:
    """Build what a role should read now: the agenda, its prompt, the last speeches. Reads no other speech."""
    folder, language = conference.folder, conference.mark.language
    is_turn = role == turn.current_speaker and turn.status != "closed"
    agenda = read_text_if_any(folder, AGENDA) or ""
    if not is_turn:
        message = explain_waiting(turn, language)
        return TurnBriefing(is_turn=False, message=message, agenda=agenda, turn=turn, language=language)
    seen = scan_folder(folder)
    names = sorted(seen.speeches.items(), key=lambda each: each[1].number)
    is_open = turn.status == "open"
    # A speaker reads few speeches, and all of each; the moderator reads all of them, as far as they fit.
    texts = [
        SpeechText(each.number, each.role, read_text_if_any(folder, name) or "")
        for name, each in (names[-RECENT:] if is_open else names)
    ]
    inputs = _read_inputs(folder, seen, turn, NO_LIMIT if is_open else MAX_SPEECH_LENGTH // RECENT)
    agenda = agenda if is_open or len(agenda) <= AGENDA_ROOM else f"{agenda[:AGENDA_ROOM]}…\n({AGENDA})"
    room = MAX_RECORD_LENGTH - len(agenda) - MAX_PROMPT_LENGTH - sum(len(text) + HEAD_ROOM for _, text in inputs)
    fitted = fit_speeches(texts, NO_LIMIT if is_open else room, HEAD_ROOM, language)
    speeches = [(format_speech_file_name(each.number, each.seat), each) for each in fitted.shown]
    return TurnBriefing(
        is_turn=True,
        message="",
        agenda=agenda,
        turn=turn,
        language=language,
        speeches=tuple((name, each.text) for name, each in speeches),
        earlier=len(names) - len(speeches),
        kept=conference.aside.list_texts(role),
        inputs=inputs,
        shortened=tuple(name for name, each in speeches if each.how != "whole"),
    )


def _read_inputs(folder: Folder, seen: FolderScan, turn: TurnFile, room: int) -> tuple[tuple[str, str], ...]:
    """Return name and text of the newest inputs of the user's that `turn.json` names, each with so many characters."""
    told = " ".join(extract_notes(turn.prompt_for_speaker))
    names = [name for name in seen.files if is_input_file_name(name)]
    named = [name for name in names if name in told]
    # Of many files a note names only the first and the last.
    between = [name for name in names if named and named[0] <= name <= named[-1]][-RECENT:]
    return tuple((name, (read_text_if_any(folder, name) or "")[:room]) for name in between)
