"""Scans a conference's folder and finds its damage, compared with what was there at the last sync. Reads only."""

import json
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256
from typing import Annotated, Final, Literal

from annotated_types import Ge
from pydantic import TypeAdapter, ValidationError

from moothall.app.conferences.quarantine import read_text_if_any
from moothall.codec.non_answers import is_refusal
from moothall.disk.folder import Folder, FolderEntry, UnreadableFile, escape_name
from moothall.domain.facts import Language, Loss
from moothall.locale.catalogues import FOLDER_DAMAGE, FolderDamageText
from moothall.protocols.roundtable import files
from moothall.protocols.roundtable.facts import RoundtableSpeech
from moothall.protocols.roundtable.files import AGENDA, MINUTES, OWN, QUARANTINE_FOLDER, TURN, BadTurn, SpeechFileName, TurnFile
from moothall.protocols.roundtable.state import Conference, SkippedTurn

OWN_FOLDER: Final = ".moot"
LOCK: Final = "lock"
AGENDA_COPY: Final = "agenda.md"
_NAME: Final = "mark.json"
MAX_SPEECH_LENGTH: Final = 50_000
SETTLE_SECONDS: Final = 90.0
"""How long a speaker may take between its two writes, the speech and `turn.json`, before Moot completes them."""
QUIET_SECONDS: Final = 5.0
"""After how long a file that does not change counts as written to its end."""
_MISNAMED: Final = re.compile(r"0*(\d{1,6})[_\- .]+(.+?)\.(?:md|markdown|txt)", re.IGNORECASE)
TurnDamage = Literal["turn_missing", "turn_torn", "turn_wrong", "number_taken", "gap", "out_of_turn", "misnamed"]
SpeechDamage = Literal["speech_missing", "speech_renamed", "speech_altered", "speech_unreadable"]
MinutesDamage = Literal["minutes_early", "minutes_altered", "minutes_missing", "minutes_unreadable", "aside_blocked"]
InputDamage = Literal["agenda_altered", "input_missing", "input_altered", "input_unknown"]
DamageKind = TurnDamage | SpeechDamage | MinutesDamage | InputDamage


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncState:
    """`published` turns have their files; `turn` and `agenda` are the digests of the files when they were last correct.

    `sessions` are the ids under which ledgers know the conference: people who share a folder may each have their own ledger.
    `path` is where the folder was: a copy of it elsewhere is another conference. `inputs` of the user's have their files, and
    `returned` minutes were moved aside. `head` is the last ledger entry that the files show; `accepted` is the digest of a
    `turn.json` that came with a file of others, until ours replaces it.
    """

    published: Annotated[int, Ge(0)] = 0
    turn: str = ""
    agenda: str = ""
    minutes: bool = False
    language: Language = "en"
    sessions: tuple[str, ...] = ()
    path: str = ""
    inputs: Annotated[int, Ge(0)] = 0
    returned: bool = False
    head: Annotated[int, Ge(0)] = 0
    accepted: str = ""


_SYNC_STATE: Final = TypeAdapter(SyncState)


def compute_digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def read_sync_state(own: Folder) -> SyncState:
    """Return the stored state; an empty one if there is none, or none that can be read."""
    try:
        return _SYNC_STATE.validate_json(own.read(_NAME) or "{}")
    except (UnreadableFile, ValidationError):
        return SyncState()


def write_sync_state(own: Folder, mark: SyncState) -> None:
    own.put(_NAME, json.dumps(asdict(mark), ensure_ascii=False) + "\n")


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """One fault. `rename` is the name that the file should have, or had."""

    file: str
    line: int = 1
    kind: DamageKind
    said: str
    rename: str = ""

    def __str__(self) -> str:
        return f"{escape_name(self.file)}:{self.line}: {self.said}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderScan:
    """The content of a folder. `turn_raw` is None without a turn.json; `turn` is None if it is not valid."""

    files: dict[str, FolderEntry]
    speeches: dict[str, SpeechFileName]
    turn_raw: str | None
    turn: TurnFile | None
    turn_fault: Damage | None = None
    misnamed: tuple[str, ...] = field(default=())

    @property
    def highest(self) -> int:
        return max((name.number for name in self.speeches.values()), default=0)


def scan_folder(folder: Folder) -> FolderScan:
    """Scan a folder: all names, and `turn.json`."""
    entries = {each.name: each for each in folder.list_entries()}
    speeches = {name: parsed for name in entries if (parsed := files.parse_speech_file_name(name)) is not None}
    misnamed = tuple(name for name in entries if name not in OWN and name not in speeches and _MISNAMED.fullmatch(name))
    raw, turn, fault = None, None, None
    try:
        raw = folder.read(TURN)
        if raw is None:
            fault = Damage(file=TURN, kind="turn_missing", said="is missing")
        else:
            turn = files.parse_turn_file(raw)
    except UnreadableFile as cause:
        raw, fault = "", Damage(file=TURN, line=cause.line, kind="turn_torn", said=cause.why)
    except BadTurn as cause:
        fault = Damage(file=TURN, line=cause.line, kind="turn_torn", said=cause.why)
    return FolderScan(files=entries, speeches=speeches, turn_raw=raw, turn=turn, turn_fault=fault, misnamed=misnamed)


def find_damage(folder: Folder, seen: FolderScan, conference: Conference, mark: SyncState, *, whole: bool) -> list[Damage]:
    """Return the damage of a folder, given the conference's state. Old speeches are read and compared only with `whole`."""
    damage = [*_find_turn_damage(seen, conference, mark), *_find_number_damage(folder, seen, conference)]
    damage += _find_old_damage(folder, seen, conference, whole=whole)
    damage += _find_other_damage(folder, seen, conference, mark, whole=whole)
    return damage


def _find_turn_damage(seen: FolderScan, conference: Conference, mark: SyncState) -> Iterator[Damage]:
    words = FOLDER_DAMAGE[conference.opened.language]
    if seen.turn is None:
        assert seen.turn_fault is not None
        is_missing = seen.turn_fault.kind == "turn_missing"
        yield replace(seen.turn_fault, said=words.missing if is_missing else words.torn.format(why=seen.turn_fault.said))
        return
    expected, turn = files.build_turn_file(conference), seen.turn
    for name in ("conference", "status", "round", "max_rounds", "speaker_order", "current_speaker_index", "current_speaker"):
        wanted, said = getattr(expected, name), getattr(turn, name)
        if wanted != said:
            line = files.find_field_line(seen.turn_raw or "", name)
            fault = words.turn_wrong.format(name=name, wanted=_format_value(wanted), said=_format_value(said))
            yield Damage(file=TURN, line=line, kind="turn_wrong", said=fault)


def _format_value(value: object) -> str:
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _find_number_damage(folder: Folder, seen: FolderScan, conference: Conference) -> Iterator[Damage]:
    """Yield speeches without a place: after the last turn, or in addition to one."""
    words = FOLDER_DAMAGE[conference.opened.language]
    taken = {turn.number: files.render_finished_turn(conference, turn)[0] for turn in conference.turns}
    coming = files.format_speech_file_name(conference.taken + 1, conference.current) if conference.status == "open" else ""
    # A renamed file is reported once: as the file that is missing.
    for name, speech in sorted(seen.speeches.items(), key=lambda each: (each[1].number, each[0])):
        if name == taken.get(speech.number):
            continue
        if name == coming:
            yield from _find_unreadable(folder, name, words)
        elif speech.number in taken:
            fault = words.number_taken.format(number=f"{speech.number:03d}", owner=taken[speech.number])
            yield Damage(file=name, kind="number_taken", said=fault, rename=_find_missing_name(folder, name, seen, conference))
        elif speech.role == conference.current and conference.status == "open":
            fault = words.gap.format(number=f"{conference.taken + 1:03d}")
            home = _find_missing_name(folder, name, seen, conference) or ("" if coming in seen.files else coming)
            yield Damage(file=name, kind="gap", said=fault, rename=home)
        else:
            is_open = conference.status == "open"
            fault = words.out_of_turn.format(role=repr(speech.role), current=conference.current) if is_open else words.over
            yield Damage(file=name, kind="out_of_turn", said=fault, rename=_find_missing_name(folder, name, seen, conference))
    for name in seen.misnamed:
        match = _MISNAMED.fullmatch(name)
        if match is None or match[2] not in conference.speakers:
            # Some other file, not a speech: it is left alone.
            continue
        home = files.format_speech_file_name(int(match[1]), match[2])
        fits = home not in seen.files and (home == coming or home in taken.values())
        fault = words.misnamed.format(home=home)
        yield Damage(file=name, kind="misnamed", said=fault, rename=home if fits else "")


def is_settled(folder: Folder, name: str, seconds: float = SETTLE_SECONDS) -> bool:
    """Whether a file has not changed for so long that its author has certainly finished."""
    # `abs`: on a shared disk the file's time can lie ahead of our clock.
    return abs(time.time() - folder.read_mtime(name)) > seconds


def is_next_turn(turn: TurnFile, conference: Conference) -> bool:
    """Whether a `turn.json` is what the speaker whose turn it is would write after its speech, or after the minutes."""
    expected = files.build_turn_file(conference)
    if (turn.conference, turn.max_rounds, turn.speaker_order) != (
        expected.conference,
        expected.max_rounds,
        expected.speaker_order,
    ):
        return False
    if conference.status == "concluding":
        return turn.status == "closed"
    # Whoever ends the talk itself may leave index and round as they are.
    steps = {conference.taken + 1} if turn.status == "open" else {conference.taken, conference.taken + 1}
    return conference.status == "open" and turn.status != "closed" and turn.taken in steps


def _find_unreadable(
    folder: Folder, name: str, words: FolderDamageText, kind: DamageKind = "speech_unreadable"
) -> Iterator[Damage]:
    """Yield why the next text cannot be recorded, if so."""
    try:
        text = folder.read(name) or ""
    except UnreadableFile as cause:
        yield Damage(file=name, line=cause.line, kind=kind, said=words.torn.format(why=cause.why))
        return
    if not text.strip() and is_settled(folder, name, QUIET_SECONDS):
        yield Damage(file=name, kind=kind, said=words.empty)
    if name == MINUTES and is_refusal(text):
        yield Damage(file=name, kind=kind, said=words.refused)
    if len(text) > MAX_SPEECH_LENGTH:
        yield Damage(file=name, kind=kind, said=words.too_long.format(most=MAX_SPEECH_LENGTH))


def _find_missing_name(folder: Folder, name: str, seen: FolderScan, conference: Conference) -> str:
    """Return the missing file that this one is under another name, or an empty text."""
    missing = [files.render_finished_turn(conference, turn) for turn in conference.turns]
    missing = [(home, text) for home, text in missing if home not in seen.files]
    if not missing:
        return ""
    content = read_normalized(folder, name)
    return next((home for home, text in missing if content is not None and content == normalize_speech(text)), "")


def _find_renamed(folder: Folder, seen: FolderScan, text: str, recorded: Mapping[str, str]) -> str:
    """Return the file that a missing speech was renamed to, or an empty text.

    A file that holds what the record says of it is in its place, even if it says the same: to move it away would make it the
    next missing one, without end.
    """
    wanted = normalize_speech(text)
    for other in (*seen.speeches, *seen.misnamed):
        is_in_place = other in recorded and normalize_speech(recorded[other]) == wanted
        if not is_in_place and read_normalized(folder, other) == wanted:
            return other
    return ""


def _find_old_damage(folder: Folder, seen: FolderScan, conference: Conference, *, whole: bool) -> Iterator[Damage]:
    words = FOLDER_DAMAGE[conference.opened.language]
    recorded = dict(files.render_finished_turn(conference, turn) for turn in conference.turns)
    for turn, (name, text) in zip(conference.turns, recorded.items(), strict=True):
        file = seen.files.get(name)
        if file is None:
            # Comparing contents reads every file, hence only for a full check.
            moved = _find_renamed(folder, seen, text, recorded) if whole else ""
            if moved:
                yield Damage(file=name, kind="speech_renamed", said=words.renamed.format(moved=moved), rename=moved)
            else:
                yield Damage(file=name, kind="speech_missing", said=words.missing)
        elif file.kind != "file":
            yield Damage(file=name, kind="speech_unreadable", said=words.not_plain.format(kind=file.kind))
        elif whole and (line := _find_first_difference(folder, name, text, is_skip=isinstance(turn, SkippedTurn))):
            yield Damage(file=name, line=line, kind="speech_altered", said=words.altered)


def _find_other_damage(
    folder: Folder, seen: FolderScan, conference: Conference, mark: SyncState, *, whole: bool
) -> Iterator[Damage]:
    words = FOLDER_DAMAGE[conference.opened.language]
    if conference.status == "open" and MINUTES in seen.files:
        said = words.early.format(current=conference.current)
        yield Damage(file=MINUTES, kind="minutes_early", said=said)
    if conference.status == "concluding" and MINUTES in seen.files:
        yield from _find_unreadable(folder, MINUTES, words, "minutes_unreadable")
    if QUARANTINE_FOLDER in seen.files and seen.files[QUARANTINE_FOLDER].kind != "folder":
        said = words.aside_blocked.format(kind=seen.files[QUARANTINE_FOLDER].kind)
        yield Damage(file=QUARANTINE_FOLDER, kind="aside_blocked", said=said)
    if conference.status == "closed":
        if MINUTES not in seen.files:
            yield Damage(file=MINUTES, kind="minutes_missing", said=words.missing)
        elif whole and (line := _find_first_difference(folder, MINUTES, files.render_minutes_file(conference))):
            yield Damage(file=MINUTES, line=line, kind="minutes_altered", said=words.altered)
    yield from _find_input_damage(folder, seen, conference, whole=whole)
    if not mark.agenda:
        return
    try:
        agenda = folder.read(AGENDA)
        if agenda is None:
            yield Damage(file=AGENDA, kind="agenda_altered", said=words.missing)
        elif compute_digest(agenda) != mark.agenda:
            yield Damage(file=AGENDA, kind="agenda_altered", said=words.agenda_altered)
    except UnreadableFile as cause:
        yield Damage(file=AGENDA, line=cause.line, kind="agenda_altered", said=words.torn.format(why=cause.why))


def _find_input_damage(folder: Folder, seen: FolderScan, conference: Conference, *, whole: bool) -> Iterator[Damage]:
    words = FOLDER_DAMAGE[conference.opened.language]
    recorded = dict(map(files.render_input_file, conference.inputs))
    for name, text in recorded.items():
        if name not in seen.files:
            yield Damage(file=name, kind="input_missing", said=words.missing)
        elif whole and (line := _find_first_difference(folder, name, text)):
            yield Damage(file=name, line=line, kind="input_altered", said=words.altered)
    for name in seen.files:
        if files.is_input_file_name(name) and name not in recorded:
            # The word of the user counts for more than that of an agent: a file alone is not enough for it.
            said = words.input_unknown.format(conference=conference.opened.settings.conference)
            yield Damage(file=name, kind="input_unknown", said=said)


def find_texts_without_file(seen: FolderScan, conference: Conference) -> set[str]:
    """Return what the current speaker said in files that are missing now."""
    own = [speech for speech in conference.speeches if speech.seat == conference.current]
    return {speech.said.content for speech in own if files.format_speech_file_name(speech.number, speech.seat) not in seen.files}


def read_answer(folder: Folder, seen: FolderScan, conference: Conference, name: str) -> dict[str, object] | Loss:
    """Return the answer in a file that is the next step, or the reason if the file says that the turn is skipped."""
    text, turn = folder.read(name) or "", seen.turn
    if conference.status == "concluding":
        return {"content": text.strip()}
    reason = files.parse_skip_reason(text)
    if reason is not None:
        return reason
    said = RoundtableSpeech.from_text(text)
    # The file may still describe the turn before: then its prompt is the one that this speaker received, not the one it left.
    is_next = turn is not None and (turn.status != "open" or turn.taken == conference.taken + 1)
    prompt = files.remove_notes(turn.prompt_for_speaker) if turn is not None and is_next and turn.status == "open" else ""
    is_last = seen.highest == conference.taken + 1
    is_early = is_last and turn is not None and turn.status == "concluding" and turn.round <= turn.max_rounds
    return {
        "content": said.content,
        "prompt": said.prompt if prompt in {"", conference.prompt} else prompt,
        # Ending the talk early claims that all agree. It counts as consensus of this speaker only, not of the others.
        "consensus": said.consensus or is_early,
    }


def normalize_speech(text: str) -> str:
    """Return a speech's text in the form in which the ledger stores it."""
    return RoundtableSpeech.from_text(text).content


def read_normalized(folder: Folder, name: str) -> str | None:
    """Return a file's text in the stored form; None if it cannot be read."""
    text = read_text_if_any(folder, name)
    return None if text is None else normalize_speech(text)


def _find_first_difference(folder: Folder, name: str, text: str, *, is_skip: bool = False) -> int:
    """Return the first line in which a file differs from a text; 0 if it does not."""
    try:
        existing = folder.read(name)
    except UnreadableFile as cause:
        return cause.line
    if (
        existing is None
        or normalize_speech(existing) == normalize_speech(text)
        or (is_skip and files.parse_skip_reason(existing) is not None)
    ):
        return 0
    lines, wanted = existing.rstrip().split("\n"), text.rstrip().split("\n")
    same = next((at for at, (one, other) in enumerate(zip(lines, wanted, strict=False)) if one != other), None)
    return (min(len(lines), len(wanted)) if same is None else same) + 1
