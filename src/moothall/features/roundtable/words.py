"""The texts of roundtables."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moothall.plugins import Catalogue, SharedReportText, Texts

_FOLDER: Final = Path(__file__).parent / "locale"


class RoundtableCommandText(Texts):
    round: str
    some_damage: str
    session: str
    speeches: str
    skipped: str
    role: str
    role_spoke: str
    outside: str
    writing: str
    damaged: str
    next: str
    closed: str
    stopped: str
    no_faults: str
    nothing_to_repair: str
    statuses: Mapping[str, str]


class RoundtablePersonText(Texts):
    speech: str
    expected: str
    agreed: str
    not_agreed: str
    minutes: str
    inputs: str
    answers: Mapping[str, str]


class RoundtablePromptText(Texts):
    agenda: str
    roles: str
    latest: str
    earlier: str
    speech: str
    cut: str
    digest: str
    left_out: str
    in_record: str
    agenda_cut: str
    asks_of_you: str
    speak: str
    return_minutes: str
    conclude: str
    first_choice: str
    choice_options: str
    all_speeches: str
    first: str
    following: str
    asked: str
    moderate: str
    consensus_note: str
    input_note: str
    returned_note: str
    minutes_returned: str
    minutes_lack: str
    skipped: str
    background: str
    role_heads: str
    course: str
    order: str
    rounds: str
    wake: str
    wake_moderator: str
    woken: str
    blocked: str
    concluding: str
    over: str
    busy: str
    saved_in: str
    no_minutes: str
    read_round: str
    read_earlier: str
    read_saved: str
    read_then: str
    read_input: str
    no_section: str
    no_tools: str
    files_below: str
    files_cut: str
    speech_heads: tuple[str, ...]
    minutes_heads: Mapping[str, str]


class RoundtableReportText(SharedReportText):
    conference: str
    agenda: str
    no_decision: str
    nothing_agreed: str
    no_choice: str
    nobody_spoke: str
    still_thinking: str
    cancelled: str
    disputed: str
    skipped: str
    speeches: str
    speech: str
    round: str
    prompt: str
    background: str
    order: str
    rounds: str
    rounds_held: str
    opening: str
    now: str
    awaited: str
    expected: str
    writing: str
    declared: str
    declares: str
    no_dispute: str
    missing: str
    skipped_in: str
    no_writer: str
    minutes_lack: str
    minutes_returned: str
    some_sections: str
    no_sections: str
    never_spoke: str
    nothing_said: str
    roles: str
    role_heads: tuple[str, ...]
    endings: Mapping[str, str]


class FolderDamageText(Texts):
    missing: str
    torn: str
    empty: str
    too_long: str
    turn_wrong: str
    number_taken: str
    gap: str
    out_of_turn: str
    over: str
    misnamed: str
    renamed: str
    not_plain: str
    altered: str
    early: str
    aside_blocked: str
    agenda_altered: str
    input_unknown: str
    renamed_to: str
    renamed_back: str
    rewritten: str
    moved_to: str
    rebuilt: str
    restored: str
    refused: str


class SpeechDigestText(Texts):
    stand: str
    figures: str
    reason: str


ROUNDTABLE_COMMAND: Final = Catalogue("roundtable_command", RoundtableCommandText, _FOLDER)
ROUNDTABLE_PERSON: Final = Catalogue("roundtable_person", RoundtablePersonText, _FOLDER)
ROUNDTABLE_PROMPT: Final = Catalogue("roundtable_prompt", RoundtablePromptText, _FOLDER)
ROUNDTABLE_REPORT: Final = Catalogue("roundtable_report", RoundtableReportText, _FOLDER)
FOLDER_DAMAGE: Final = Catalogue("folder_damage", FolderDamageText, _FOLDER)
SPEECH_DIGEST: Final = Catalogue("speech_digest", SpeechDigestText, _FOLDER)
