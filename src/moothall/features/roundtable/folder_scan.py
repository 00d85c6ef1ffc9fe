"""Scans a conference's folder, finds its damage, compared with what was there at the last sync, and keeps aside what does not
fit: nothing is ever deleted.
"""

import re
import secrets
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Final, Literal

from annotated_types import Ge
from pydantic import ValidationError

from moothall.disk.folder import Folder, FolderEntry, UnreadableFile, escape_name
from moothall.domain.replace import dataclass
from moothall.features.roundtable import files
from moothall.features.roundtable.facts import RoundtableSpeech
from moothall.features.roundtable.files import (
    AGENDA,
    MINUTES,
    OWN,
    QUARANTINE_FOLDER,
    TURN,
    BadTurn,
    SpeechFileName,
    TurnFile,
)
from moothall.features.roundtable.state import Conference, SkippedTurn
from moothall.features.roundtable.words import FOLDER_DAMAGE, FolderDamageText
from moothall.plugins import Language, Loss, get_adapter
from moothall.reading.non_answers import is_refusal

OWN_FOLDER: Final = ".moot"
LOCK: Final = "lock"
QUARANTINE_LOG: Final = "LOG.md"
AGENDA_COPY: Final = "agenda.md"
SYNC_STATE: Final = "mark.json"
MAX_SPEECH_LENGTH: Final = 50_000
SETTLE_SECONDS: Final = 90.0
"""How long a speaker may take between its two writes, the speech and `turn.json`, before Moot completes them."""
QUIET_SECONDS: Final = 5.0
"""After how long a file that does not change counts as written to its end."""
_MISNAMED: Final = re.compile(r"0*(\d{1,6})[_\- .]+(.+?)\.(?:md|markdown|txt)", re.IGNORECASE)
TurnDamage = Literal[
    "turn_missing", "turn_torn", "turn_wrong", "number_taken", "gap", "out_of_turn", "misnamed"
]
SpeechDamage = Literal["speech_missing", "speech_renamed", "speech_altered", "speech_unreadable"]
MinutesDamage = Literal[
    "minutes_early", "minutes_altered", "minutes_missing", "minutes_unreadable", "aside_blocked"
]
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


def compute_digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def read_sync_state(own: Folder) -> SyncState:
    """Return the stored state; an empty one if there is none, or none that can be read."""
    try:
        state: SyncState = get_adapter(SyncState).validate_json(own.read(SYNC_STATE) or "{}")
    except (UnreadableFile, ValidationError):
        return SyncState()
    return state


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
    parsed = {name: files.parse_speech_file_name(name) for name in entries}
    speeches = {name: speech for name, speech in parsed.items() if speech is not None}
    misnamed = tuple(
        name
        for name in entries
        if name not in OWN and name not in speeches and _MISNAMED.fullmatch(name)
    )
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
    return FolderScan(
        files=entries,
        speeches=speeches,
        turn_raw=raw,
        turn=turn,
        turn_fault=fault,
        misnamed=misnamed,
    )


@dataclass(frozen=True)
class DamageSearch:
    """Compares a folder with the conference's state. Old speeches are read and compared only if the `whole` is wanted."""

    folder: Folder
    seen: FolderScan
    conference: Conference
    mark: SyncState
    whole: bool

    @cached_property
    def _words(self) -> FolderDamageText:
        return FOLDER_DAMAGE[self.conference.opened.language]

    @cached_property
    def _recorded(self) -> dict[str, str]:
        """The files of the turns that were taken, in their order, with what they hold."""
        return dict(
            files.render_finished_turn(self.conference, turn) for turn in self.conference.turns
        )

    def find(self) -> list[Damage]:
        damage = [*self._find_turn_damage(), *self._find_number_damage(), *self._find_old_damage()]
        return [
            *damage,
            *self._find_minutes_damage(),
            *self._find_input_damage(),
            *self._find_agenda_damage(),
        ]

    def _find_turn_damage(self) -> Iterator[Damage]:
        seen, words = self.seen, self._words
        if seen.turn is None:
            assert seen.turn_fault is not None
            is_missing = seen.turn_fault.kind == "turn_missing"
            yield replace(
                seen.turn_fault,
                said=words.missing if is_missing else words.torn.format(why=seen.turn_fault.said),
            )
            return
        expected, turn = files.build_turn_file(self.conference), seen.turn
        for name in (
            "conference",
            "status",
            "round",
            "max_rounds",
            "speaker_order",
            "current_speaker_index",
            "current_speaker",
        ):
            wanted, said = getattr(expected, name), getattr(turn, name)
            if wanted != said:
                line = files.find_field_line(seen.turn_raw or "", name)
                fault = words.turn_wrong.format(
                    name=name, wanted=_format_value(wanted), said=_format_value(said)
                )
                yield Damage(file=TURN, line=line, kind="turn_wrong", said=fault)

    def _find_number_damage(self) -> Iterator[Damage]:
        """Yield speeches without a place: after the last turn, or in addition to one."""
        conference, seen, words = self.conference, self.seen, self._words
        taken = {
            turn.number: name for turn, name in zip(conference.turns, self._recorded, strict=True)
        }
        is_open = conference.status == "open"
        coming = (
            files.format_speech_file_name(conference.taken + 1, conference.current)
            if is_open
            else ""
        )
        # A renamed file is reported once: as the file that is missing.
        for name, speech in sorted(
            seen.speeches.items(), key=lambda each: (each[1].number, each[0])
        ):
            if name == taken.get(speech.number):
                continue
            if name == coming:
                yield from self._find_unreadable(name)
            elif speech.number in taken:
                fault = words.number_taken.format(
                    number=f"{speech.number:03d}", owner=taken[speech.number]
                )
                yield Damage(
                    file=name, kind="number_taken", said=fault, rename=self._find_missing_name(name)
                )
            elif speech.role == conference.current and is_open:
                fault = words.gap.format(number=f"{conference.taken + 1:03d}")
                home = self._find_missing_name(name) or ("" if coming in seen.files else coming)
                yield Damage(file=name, kind="gap", said=fault, rename=home)
            else:
                fault = (
                    words.out_of_turn.format(role=repr(speech.role), current=conference.current)
                    if is_open
                    else words.over
                )
                yield Damage(
                    file=name, kind="out_of_turn", said=fault, rename=self._find_missing_name(name)
                )
        for name in seen.misnamed:
            match = _MISNAMED.fullmatch(name)
            if match is None or match[2] not in conference.speakers:
                # Some other file, not a speech: it is left alone.
                continue
            home = files.format_speech_file_name(int(match[1]), match[2])
            fits = home not in seen.files and (home == coming or home in taken.values())
            yield Damage(
                file=name,
                kind="misnamed",
                said=words.misnamed.format(home=home),
                rename=home if fits else "",
            )

    def _find_unreadable(
        self, name: str, kind: DamageKind = "speech_unreadable"
    ) -> Iterator[Damage]:
        """Yield why the next text cannot be recorded, if so."""
        words = self._words
        try:
            text = self.folder.read(name) or ""
        except UnreadableFile as cause:
            yield Damage(
                file=name, line=cause.line, kind=kind, said=words.torn.format(why=cause.why)
            )
            return
        if not text.strip() and is_settled(self.folder, name, QUIET_SECONDS):
            yield Damage(file=name, kind=kind, said=words.empty)
        if name == MINUTES and is_refusal(text):
            yield Damage(file=name, kind=kind, said=words.refused)
        if len(text) > MAX_SPEECH_LENGTH:
            yield Damage(file=name, kind=kind, said=words.too_long.format(most=MAX_SPEECH_LENGTH))

    def _find_missing_name(self, name: str) -> str:
        """Return the missing file that this one is under another name, or an empty text."""
        missing = {
            home: text for home, text in self._recorded.items() if home not in self.seen.files
        }
        content = read_normalized(self.folder, name) if missing else None
        return next(
            (
                home
                for home, text in missing.items()
                if content is not None and content == normalize_speech(text)
            ),
            "",
        )

    def _find_renamed(self, text: str) -> str:
        """Return the file that a missing speech was renamed to, or an empty text.

        A file that holds what the record says of it is in its place, even if it says the same: to move it away would make it
        the next missing one, without end.
        """
        wanted = normalize_speech(text)
        for other in (*self.seen.speeches, *self.seen.misnamed):
            is_in_place = (
                other in self._recorded and normalize_speech(self._recorded[other]) == wanted
            )
            if not is_in_place and read_normalized(self.folder, other) == wanted:
                return other
        return ""

    def _find_old_damage(self) -> Iterator[Damage]:
        words = self._words
        for turn, (name, text) in zip(self.conference.turns, self._recorded.items(), strict=True):
            file = self.seen.files.get(name)
            if file is None:
                # Comparing contents reads every file, hence only for a full check.
                if moved := self._find_renamed(text) if self.whole else "":
                    yield Damage(
                        file=name,
                        kind="speech_renamed",
                        said=words.renamed.format(moved=moved),
                        rename=moved,
                    )
                else:
                    yield Damage(file=name, kind="speech_missing", said=words.missing)
            elif file.kind != "file":
                yield Damage(
                    file=name, kind="speech_unreadable", said=words.not_plain.format(kind=file.kind)
                )
            elif line := self._find_first_difference(
                name, text, is_skip=isinstance(turn, SkippedTurn)
            ):
                yield Damage(file=name, line=line, kind="speech_altered", said=words.altered)

    def _find_minutes_damage(self) -> Iterator[Damage]:
        conference, seen, words = self.conference, self.seen, self._words
        if conference.status == "open" and MINUTES in seen.files:
            yield Damage(
                file=MINUTES,
                kind="minutes_early",
                said=words.early.format(current=conference.current),
            )
        if conference.status == "concluding" and MINUTES in seen.files:
            yield from self._find_unreadable(MINUTES, "minutes_unreadable")
        if QUARANTINE_FOLDER in seen.files and seen.files[QUARANTINE_FOLDER].kind != "folder":
            said = words.aside_blocked.format(kind=seen.files[QUARANTINE_FOLDER].kind)
            yield Damage(file=QUARANTINE_FOLDER, kind="aside_blocked", said=said)
        if conference.status == "closed":
            if MINUTES not in seen.files:
                yield Damage(file=MINUTES, kind="minutes_missing", said=words.missing)
            elif line := self._find_first_difference(
                MINUTES, files.render_minutes_file(conference)
            ):
                yield Damage(file=MINUTES, line=line, kind="minutes_altered", said=words.altered)

    def _find_input_damage(self) -> Iterator[Damage]:
        words = self._words
        recorded = dict(map(files.render_input_file, self.conference.inputs))
        for name, text in recorded.items():
            if name not in self.seen.files:
                yield Damage(file=name, kind="input_missing", said=words.missing)
            elif line := self._find_first_difference(name, text):
                yield Damage(file=name, line=line, kind="input_altered", said=words.altered)
        for name in self.seen.files:
            if files.is_input_file_name(name) and name not in recorded:
                # The word of the user counts for more than that of an agent: a file alone is not enough for it.
                said = words.input_unknown.format(
                    conference=self.conference.opened.settings.conference
                )
                yield Damage(file=name, kind="input_unknown", said=said)

    def _find_agenda_damage(self) -> Iterator[Damage]:
        if not self.mark.agenda:
            return
        try:
            agenda = self.folder.read(AGENDA)
            if agenda is None:
                yield Damage(file=AGENDA, kind="agenda_altered", said=self._words.missing)
            elif compute_digest(agenda) != self.mark.agenda:
                yield Damage(file=AGENDA, kind="agenda_altered", said=self._words.agenda_altered)
        except UnreadableFile as cause:
            yield Damage(
                file=AGENDA,
                line=cause.line,
                kind="agenda_altered",
                said=self._words.torn.format(why=cause.why),
            )

    def _find_first_difference(self, name: str, text: str, *, is_skip: bool = False) -> int:
        """Return the first line in which a file differs from a text; 0 if it does not, or if that is not wanted."""
        if not self.whole:
            return 0
        try:
            existing = self.folder.read(name)
        except UnreadableFile as cause:
            return cause.line
        if (
            existing is None
            or normalize_speech(existing) == normalize_speech(text)
            or (is_skip and files.parse_skip_reason(existing) is not None)
        ):
            return 0
        lines, wanted = existing.rstrip().split("\n"), text.rstrip().split("\n")
        same = next(
            (
                at
                for at, (one, other) in enumerate(zip(lines, wanted, strict=False))
                if one != other
            ),
            None,
        )
        return (min(len(lines), len(wanted)) if same is None else same) + 1


def _format_value(value: object) -> str:
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


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
    steps = (
        {conference.taken + 1}
        if turn.status == "open"
        else {conference.taken, conference.taken + 1}
    )
    return conference.status == "open" and turn.status != "closed" and turn.taken in steps


def find_texts_without_file(seen: FolderScan, conference: Conference) -> set[str]:
    """Return what the current speaker said in files that are missing now."""
    own = [speech for speech in conference.speeches if speech.seat == conference.current]
    return {
        speech.said.content
        for speech in own
        if files.format_speech_file_name(speech.number, speech.seat) not in seen.files
    }


def read_answer(
    folder: Folder, seen: FolderScan, conference: Conference, name: str
) -> dict[str, object] | Loss:
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
    prompt = (
        files.remove_notes(turn.prompt_for_speaker)
        if turn is not None and is_next and turn.status == "open"
        else ""
    )
    is_last = seen.highest == conference.taken + 1
    is_early = (
        is_last
        and turn is not None
        and turn.status == "concluding"
        and turn.round <= turn.max_rounds
    )
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


def read_text_if_any(folder: Folder, name: str) -> str | None:
    """Return a file's text; None if it cannot be read."""
    try:
        return folder.read(name)
    except UnreadableFile:
        return None


class Quarantine:
    """The folder `aside` of a conference's folder; it is created when needed."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def keep_text(self, role: str, text: str) -> str:
        """Keep a text for its author, once; returns its path."""
        with self._open_folder() as aside:
            number = 1
            while (
                aside.has(f"{role}_{number}.md")
                and (read_text_if_any(aside, f"{role}_{number}.md") or "").strip() != text.strip()
            ):
                number += 1
            if not aside.has(f"{role}_{number}.md"):
                aside.put(f"{role}_{number}.md", text.strip() + "\n", fresh=True)
        return f"{QUARANTINE_FOLDER}/{role}_{number}.md"

    def move_file(self, name: str, why: str) -> str:
        """Move a file out of the way and return its new path; nothing is deleted."""
        with self._open_folder() as aside:
            other, number = name, 1
            while aside.has(other):
                number += 1
                other = f"{number}_{name}"
            self._folder.move(name, other, aside)
            at = datetime.now(UTC).isoformat(timespec="seconds")
            line = f"- {at} `{escape_name(name)}` → `{escape_name(other)}`: {why}\n"
            try:
                aside.append(QUARANTINE_LOG, line)
            except UnreadableFile:
                aside.append(f"LOG-{secrets.token_hex(4)}.md", line)
        return f"{QUARANTINE_FOLDER}/{other}"

    def list_texts(self, role: str) -> tuple[str, ...]:
        if not self._folder.has(QUARANTINE_FOLDER):
            return ()
        with self._open_folder() as aside:
            names = [each.name for each in aside.list_entries()]
        own = re.compile(rf"{re.escape(role)}_\d+\.md")
        return tuple(f"{QUARANTINE_FOLDER}/{name}" for name in names if own.fullmatch(name))

    def free_folder_name(self) -> str:
        """Move away whatever occupies the name of the quarantine folder; returns its new name."""
        occupant = next(
            (each for each in self._folder.list_entries() if each.name == QUARANTINE_FOLDER), None
        )
        if occupant is None or occupant.kind == "folder":
            return ""
        number = 1
        while self._folder.has(f"{QUARANTINE_FOLDER}_{number}"):
            number += 1
        self._folder.move(QUARANTINE_FOLDER, f"{QUARANTINE_FOLDER}_{number}")
        return f"{QUARANTINE_FOLDER}_{number}"

    def _open_folder(self) -> AbstractContextManager[Folder]:
        self.free_folder_name()
        self._folder.make_folder(QUARANTINE_FOLDER)
        return Folder.open_folder(self._folder.path / QUARANTINE_FOLDER, inside=self._folder)
