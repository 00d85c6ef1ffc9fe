"""The conferences of one project: everything below its `.roundtable`."""

import math
import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Final, Required, Unpack

from moothall.app.opening import PlannedSession, open_planned
from moothall.app.project_root import TABLE
from moothall.app.session_options import refuse_options
from moothall.disk.folder import Folder, UnreadableFile
from moothall.domain.roster import MAILBOX, Swap
from moothall.errors import (
    BadName,
    FolderDamaged,
    SessionExists,
    UnknownConference,
    UnknownSession,
)
from moothall.features.roundtable import files
from moothall.features.roundtable import folder_scan as scan
from moothall.features.roundtable.conference import (
    ConferenceFolder,
    build_damage_error,
    explain_waiting,
)
from moothall.features.roundtable.facts import MODERATOR, ConferenceOpened
from moothall.features.roundtable.prompts import AGENDA_ROOM, MAX_RECORD_LENGTH, MAX_SPEECH_LENGTH
from moothall.features.roundtable.sections import SpeechText, fit_speeches
from moothall.features.roundtable.state import RECENT
from moothall.features.roundtable.status import AcceptedSpeech, ConferenceStatus, TurnBriefing
from moothall.locale.texts import detect_language, find_translation
from moothall.plugins import (
    Language,
    Moot,
    MootError,
    Options,
    Seat,
    SeatId,
    SessionId,
    parse_session_id,
)

NO_LIMIT: Final = 1_000_000_000
HEAD_ROOM: Final = 100
"""Characters that are reserved for a file's name above its text."""


def build_briefing(conference: ConferenceFolder, role: str, turn: files.TurnFile) -> TurnBriefing:
    """Build what a role should read now: the agenda, its prompt, the last speeches. Reads no other speech."""
    folder, language = conference.folder, conference.mark.language
    is_turn = role == turn.current_speaker and turn.status != "closed"
    agenda = scan.read_text_if_any(folder, files.AGENDA) or ""
    if not is_turn:
        message = explain_waiting(turn, language)
        return TurnBriefing(
            is_turn=False, message=message, agenda=agenda, turn=turn, language=language
        )
    seen = scan.scan_folder(folder)
    names = sorted(seen.speeches.items(), key=lambda each: each[1].number)
    is_open = turn.status == "open"
    # A speaker reads few speeches, and all of each; the moderator reads all of them, as far as they fit.
    texts = [
        SpeechText(each.number, each.role, scan.read_text_if_any(folder, name) or "")
        for name, each in (names[-RECENT:] if is_open else names)
    ]
    inputs = _read_inputs(folder, seen, turn, NO_LIMIT if is_open else MAX_SPEECH_LENGTH // RECENT)
    agenda = (
        agenda
        if is_open or len(agenda) <= AGENDA_ROOM
        else f"{agenda[:AGENDA_ROOM]}…\n({files.AGENDA})"
    )
    room = (
        MAX_RECORD_LENGTH
        - len(agenda)
        - files.MAX_PROMPT_LENGTH
        - sum(len(text) + HEAD_ROOM for _, text in inputs)
    )
    fitted = fit_speeches(texts, NO_LIMIT if is_open else room, HEAD_ROOM, language)
    speeches = [
        (files.format_speech_file_name(each.number, each.seat), each) for each in fitted.shown
    ]
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


def _read_inputs(
    folder: Folder, seen: scan.FolderScan, turn: files.TurnFile, room: int
) -> tuple[tuple[str, str], ...]:
    """Return name and text of the newest inputs of the user's that `turn.json` names, each with so many characters."""
    notes = " ".join(files.extract_notes(turn.prompt_for_speaker))
    names = [name for name in seen.files if files.is_input_file_name(name)]
    named = [name for name in names if name in notes]
    # Of many files a note names only the first and the last.
    between = [name for name in names if named and named[0] <= name <= named[-1]][-RECENT:]
    return tuple((name, (scan.read_text_if_any(folder, name) or "")[:room]) for name in between)


DEFAULT_ROUNDS: Final = 3


@cache
def read_guide(language: Language) -> str:
    """The page that lies in the folder of a project's conferences."""
    return find_translation(Path(__file__).parent, "guide", language, "md").read_text(
        encoding="utf-8"
    )


class ConferenceOptions(Options, total=False):
    """The options of a new conference: those of every session that it can honour, and its own."""

    roles: Required[Sequence[Seat]]
    """The speakers, in their order."""
    moderator: str
    """The platform of the moderator, who writes the minutes. Default: an agent from outside."""
    agenda: str
    """The background that every speaker reads."""
    prompt: str
    """Instructions for the first speaker."""
    max_rounds: int
    role_patience: float | None
    """Seconds that a role driven by Moot has for its speech."""


OWN_OPTIONS: Final = ConferenceOptions.__annotations__.keys() - Options.__annotations__.keys()


class ConferenceProject:
    """Works on the ledger of one `Moot` and the folders of one project."""

    def __init__(self, moot: Moot, root: Path) -> None:
        self._moot = moot
        self.root = root
        self.table = root / TABLE

    def names(self) -> list[str]:
        try:
            with Folder.open_folder(self.table) as table:
                return [
                    each.name
                    for each in table.list_entries()
                    if each.kind == "folder" and _is_name(each.name)
                ]
        except FileNotFoundError:
            return []

    async def create_conference(
        self, name: str, topic: str, **options: Unpack[ConferenceOptions]
    ) -> ConferenceStatus:
        """Create a conference: folder, guide, agenda, `turn.json`.

        Raises BadName, BadRoster, BadSetting when an option is wrong or a conference cannot honour it, SessionExists when there
        is one of that name.
        """
        plan = await self.plan_conference(name, topic, **options)
        path, session = self.table / name, plan.session
        assert session is not None
        self._make_conferences_folder(plan.opened.language)
        async with ConferenceFolder.open_locked(path, self._moot.engine, make=True) as conference:
            if conference.folder.has(files.TURN):
                raise SessionExists(f"the conference {name!r} exists already; choose another name")
            conference.reset_sync_state()
            # The folder notes its session before the session exists: after a crash in between, the conference can be created
            # again.
            conference.record_sessions((session,), plan.opened.language)
            conference.session = await open_planned(self._moot, plan)
            return await conference.sync()

    async def plan_conference(
        self, name: str, topic: str, **options: Unpack[ConferenceOptions]
    ) -> PlannedSession:
        """Return what `create_conference` would record, after all of its checks; raises as it does."""
        files.validate_conference_name(name)
        shared: Options = {key: value for key, value in options.items() if key not in OWN_OPTIONS}  # type: ignore[assignment]  # the other keys
        refuse_options(shared, "roundtable")
        own = {
            "max_rounds": options.get("max_rounds", DEFAULT_ROUNDS),
            "agenda": options.get("agenda", ""),
            "prompt": options.get("prompt", ""),
        }
        seats = [replace(role, id=files.validate_role_name(role.id)) for role in options["roles"]]
        seats.append(Seat(id=MODERATOR, platform=options.get("moderator", MAILBOX)))
        patience = options.get("role_patience")
        if patience is not None:
            seats = [
                seat if seat.is_outside else replace(seat, patience=patience) for seat in seats
            ]
            own["patience"] = patience
        shared["protocol"] = "roundtable"
        shared["frame"] = "off"
        shared["seats"] = seats
        shared["settings"] = {**own, **(options.get("settings") or {}), "conference": name}
        # A random id: names of conferences are only unique within their project, sessions within the whole ledger.
        shared["session"] = f"rt_{secrets.token_hex(6)}"
        plan = await self._moot.plan_session(topic, **shared)
        for other in self.names():
            # Some file systems treat names that differ only by case as one.
            if other != name and other.casefold() == name.casefold():
                raise SessionExists(
                    f"the conference {other!r} exists already, and some file systems take it for {name!r}; choose another name"
                )
        return plan

    def _make_conferences_folder(self, language: Language) -> None:
        try:
            self.table.mkdir(exist_ok=True)
        except FileExistsError as cause:
            raise BadName(f"{self.table} is a link or a file; it must be a folder") from cause
        with Folder.open_folder(self.table) as table:
            if not table.has(files.GUIDE):
                table.put(files.GUIDE, read_guide(language))

    @asynccontextmanager
    async def open_conference(
        self, name: str, session: SessionId | None = None
    ) -> AsyncIterator[ConferenceFolder]:
        """Open and lock a conference; one that no ledger here knows is adopted. Raises UnknownConference, FolderDamaged.

        With a `session` it is that session's folder, whatever happened to it.
        """
        try:
            path = self.table / files.validate_conference_name(name)
        except BadName as cause:
            raise UnknownConference(str(cause)) from cause
        async with ConferenceFolder.open_locked(
            path, self._moot.engine, make=session is not None
        ) as conference:
            mark = conference.mark
            if session is not None:
                conference.session = session
                conference.record_sessions(
                    (session, *(each for each in mark.sessions if each != session)), mark.language
                )
                yield conference
                return
            # The original is still there, so this folder is a copy: it must not write into the original's session.
            if mark.path and mark.path != str(path) and _is_there(Path(mark.path), mark.sessions):
                conference.reset_sync_state()
            known = await self._find_known_session(name, conference.mark.sessions)
            conference.is_adopted = known is None
            conference.session = known or await self._adopt_folder(name, conference)
            conference.record_sessions(conference.mark.sessions, conference.mark.language)
            yield conference

    async def _find_known_session(self, name: str, sessions: Sequence[str]) -> SessionId | None:
        """Return the session of a conference, if this ledger has it. The folder's own claim is verified."""
        for each in sessions:
            try:
                session = parse_session_id(each)
                opened = (await self._moot.engine.load_snapshot(session)).session_state.opened
            except (BadName, UnknownSession):
                continue
            if isinstance(opened, ConferenceOpened) and opened.settings.conference == name:
                return session
        return None

    async def find_session(self, name: str) -> SessionId | None:
        """Return the session of a conference, if this ledger has it; adopts and changes nothing."""
        try:
            with (
                Folder.open_folder(self.table) as table,
                Folder.open_folder(
                    self.table / files.validate_conference_name(name), inside=table
                ) as folder,
            ):
                if not folder.has(scan.OWN_FOLDER):
                    return None
                with Folder.open_folder(folder.path / scan.OWN_FOLDER, inside=folder) as own:
                    return await self._find_known_session(name, scan.read_sync_state(own).sessions)
        except FileNotFoundError as cause:
            raise UnknownConference(f"no conference is called {name!r} in {self.table}") from cause
        except BadName as cause:
            raise UnknownConference(str(cause)) from cause

    async def _adopt_folder(self, name: str, conference: ConferenceFolder) -> SessionId:
        """Open a session for a folder that others made. The next `sync` records its speeches."""
        seen = scan.scan_folder(conference.folder)
        try:
            agenda = conference.folder.read(files.AGENDA) or ""
        except UnreadableFile as cause:
            raise FolderDamaged(f"{files.AGENDA}:{cause.line}: {cause.why}") from cause
        order, rounds, prompt = _parse_course(name, seen, agenda)
        try:
            seats = [Seat(id=files.validate_role_name(role), platform=MAILBOX) for role in order]
        except BadName as cause:
            raise FolderDamaged(f"the speaking order of {name!r}: {cause}") from cause
        title = files.parse_agenda(agenda).title or name
        language = detect_language(agenda or name)
        session = await self._moot.open(
            title,
            protocol="roundtable",
            seats=[*seats, Seat(id=MODERATOR, platform=MAILBOX)],
            settings={
                "max_rounds": rounds,
                "conference": name,
                "agenda": agenda[:50_000],
                "prompt": prompt,
            },
            language=language,
            session=f"rt_{secrets.token_hex(6)}",
            check=False,
        )
        conference.record_sessions((*conference.mark.sessions, session), language)
        self._make_conferences_folder(language)
        return session

    async def status(self, name: str, *, whole: bool = False) -> ConferenceStatus:
        """Return the state of a conference, after everything that fits was recorded."""
        async with self.open_conference(name) as conference:
            was = (await conference.load_conference()).status
            status = await conference.sync(whole=whole)
        if status.conference.status == "closed" != was:
            await self._moot.remembering.remember_if_possible(conference.session)
        return status

    async def check(self, name: str) -> tuple[scan.Damage, ...]:
        return (await self.status(name, whole=True)).damage

    async def repair(self, name: str) -> list[str]:
        async with self.open_conference(name) as conference:
            return await conference.repair()

    async def join(self, name: str, role: str) -> TurnBriefing:
        """Return what a role should read now; as fast at the end of a long conference as at its beginning.

        Raises FolderDamaged.
        """
        async with self._open_with_turn(name) as (conference, turn):
            if role not in {*turn.speaker_order, MODERATOR}:
                raise UnknownConference(
                    f"{role[:80]!r} has no role in {name!r}; the roles are: {', '.join((*turn.speaker_order, MODERATOR))}"
                )
            return build_briefing(conference, role, turn)

    @asynccontextmanager
    async def _open_with_turn(
        self, name: str
    ) -> AsyncIterator[tuple[ConferenceFolder, files.TurnFile]]:
        """Open a conference with its turn: from the folder alone if it is unchanged; only otherwise is the ledger read."""
        path = self.table / name
        if _is_name(name):
            async with ConferenceFolder.open_locked(path, self._moot.engine) as conference:
                turn = (
                    conference.read_unchanged_turn() if conference.mark.path == str(path) else None
                )
                if turn is not None and await self._is_head(conference):
                    yield conference, turn
                    return
        async with self.open_conference(name) as conference:
            status = await conference.sync()
            if status.damage:
                raise build_damage_error(name, status.damage)
            yield conference, status.turn

    async def _is_head(self, conference: ConferenceFolder) -> bool:
        """Whether the files show the last entry of the ledger: an input of the user's may have come since."""
        for session in conference.mark.sessions:
            for head in await self._moot.ledger.heads(session):
                if head.session == session:
                    return head.last.seq == conference.mark.head
        return False

    async def give_input(self, name: str, text: str, key: str = "") -> str:
        """Give an input of the user's to everyone, and return its file; empty if an input with this key was given before.

        Raises SessionClosed, BadSetting.
        """
        async with self.open_conference(name) as conference:
            await conference.sync()
            entry = await self._moot.engine.give_input(conference.session, text, key)
            status = await conference.sync()
            return (
                files.format_input_file_name(len(status.conference.inputs))
                if entry is not None
                else ""
            )

    async def say(
        self, name: str, role: str, text: str, key: str = "", *, via: str = ""
    ) -> AcceptedSpeech:
        async with self.open_conference(name) as conference:
            given = await conference.say(role, text, key, via=via)
        if given.turn.status == "closed" and not given.is_repeated:
            await self._moot.remembering.remember_if_possible(conference.session)
        return given

    async def skip(self, name: str, role: str, why: str) -> ConferenceStatus:
        async with self.open_conference(name) as conference:
            await conference.sync()
            await conference.skip(role, why)
            return await conference.sync()

    async def minutes(self, name: str) -> str | None:
        """Return MINUTES.md, if it is written."""
        async with self.open_conference(name) as conference:
            status = await conference.sync()
            return None if status.conference.minutes is None else status.conference.minutes.content

    async def reseat(self, name: str, platforms: Mapping[SeatId, str]) -> ConferenceStatus:
        """Give roles to other participants: the session continues as a fork of itself. Raises BadRoster."""
        async with self.open_conference(name) as conference:
            status = await conference.sync()
            seats = {seat.id: seat.platform for seat in status.conference.seats}
            changed = {
                role: platform
                for role, platform in platforms.items()
                if seats.get(role) != platform
            }
            if changed:
                swaps = [
                    Swap(
                        seat=MODERATOR if role == MODERATOR else files.validate_role_name(role),
                        platform=platform,
                    )
                    for role, platform in changed.items()
                ]
                head = (await self._moot.engine.load_snapshot(conference.session)).seq
                session = await self._moot.engine.fork(
                    conference.session, head, swaps, SessionId(f"rt_{secrets.token_hex(6)}")
                )
                # First the folder notes its new session: a crash before the old one is ended leaves two sessions, not none.
                old, conference.session = conference.session, session
                conference.record_sessions((session,), conference.mark.language)
                await self._moot.engine.cancel(old, f"continued as {session}")
            return await conference.sync()


def _parse_course(
    name: str, seen: scan.FolderScan, agenda: str
) -> tuple[tuple[str, ...], int, str]:
    """Return speakers, rounds and first prompt of a folder: from its `turn.json`, else from its agenda and speeches."""
    if seen.turn is not None:
        turn = seen.turn
        return turn.speaker_order, turn.max_rounds, "" if seen.speeches else turn.prompt_for_speaker
    said = files.parse_agenda(agenda)
    roles: list[str] = []
    for speech in sorted(seen.speeches.values(), key=lambda each: each.number):
        # The first repeated role starts the second round, so the order is complete.
        if speech.role in roles:
            break
        roles.append(speech.role)
    order = said.speakers or tuple(roles)
    # At least as many rounds as the speeches fill.
    held = math.ceil(seen.highest / max(1, len(order)))
    if not order:
        fault = str(seen.turn_fault) if seen.turn_fault else files.TURN
        raise FolderDamaged(
            f"{name!r} cannot be imported: {fault}, and neither the agenda nor the speeches name the speakers"
        )
    return order, max(held, said.max_rounds or DEFAULT_ROUNDS), ""


def _is_name(name: str) -> bool:
    try:
        return files.validate_conference_name(name) == name
    except MootError:
        return False


def _is_there(path: Path, sessions: Sequence[str]) -> bool:
    """Whether the folder that this one was copied from still exists, with the same session."""
    try:
        with Folder.open_folder(path / scan.OWN_FOLDER) as own:
            return bool(set(sessions) & set(scan.read_sync_state(own).sessions))
    except (OSError, MootError):
        return False
