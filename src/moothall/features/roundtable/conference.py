"""One conference, with its folder and its ledger.

The ledger is authoritative and the files are its copy, in both directions: what the ledger has and the folder lacks is written
there; valid files that others wrote become entries. Every change holds the folder's lock. A speech counts from the moment its
entry is in the ledger; the next call writes the files that a crash left unwritten.
"""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from moothall.disk.folder import Folder, UnreadableFile
from moothall.domain.facts import OWNER_ORIGIN, RELAY_ORIGIN, TOKEN_ORIGIN
from moothall.domain.safe_text import fix_surrogates
from moothall.engine.engine import Engine
from moothall.errors import FolderDamaged, OutOfTurn, SessionClosed, UnknownConference, UnknownSeat
from moothall.features.roundtable import files
from moothall.features.roundtable import folder_scan as scan
from moothall.features.roundtable.facts import MODERATOR, RoundtableSpeech
from moothall.features.roundtable.files import AGENDA, MINUTES, TURN, BadTurn, TurnFile
from moothall.features.roundtable.sections import name_minutes_sections
from moothall.features.roundtable.state import Conference, SkippedTurn
from moothall.features.roundtable.status import AcceptedSpeech, Blocked, ConferenceStatus
from moothall.features.roundtable.words import FOLDER_DAMAGE, ROUNDTABLE_PROMPT
from moothall.plugins import Language, Loss, SeatId, SessionId, one_line
from moothall.reading.non_answers import is_refusal

MAX_REPAIRS: Final = 10_000


class ConferenceFolder:
    """An open folder of a conference. Every method that changes something is called while the folder is locked."""

    def __init__(self, folder: Folder, own: Folder, engine: Engine) -> None:
        self.folder = folder
        self.aside = scan.Quarantine(folder)
        self._own = own
        self._engine = engine
        self.mark = scan.read_sync_state(own)
        self.session = SessionId("")
        self.is_adopted = False
        self._head = 0

    @classmethod
    @asynccontextmanager
    async def open_locked(
        cls, path: Path, engine: Engine, *, make: bool = False
    ) -> AsyncIterator["ConferenceFolder"]:
        """Open and lock a conference's folder below a `.roundtable`; raises UnknownConference, BadName, SessionBusy."""
        try:
            with Folder.open_folder(path.parent) as table:
                if make:
                    table.make_folder(path.name)
                with Folder.open_folder(path, inside=table) as folder:
                    folder.make_folder(scan.OWN_FOLDER)
                    with Folder.open_folder(path / scan.OWN_FOLDER, inside=folder) as own:
                        async with own.lock(scan.LOCK):
                            # Moot's own notes must not be committed: they belong to this machine and its ledger.
                            if not own.has(".gitignore"):
                                own.put(".gitignore", "*\n")
                            yield cls(folder, own, engine)
        except FileNotFoundError as cause:
            raise UnknownConference(
                f"no conference is called {path.name!r} in {path.parent}"
            ) from cause

    async def load_conference(self) -> Conference:
        """Return the conference's state according to the ledger, with everything that follows from its entries."""
        snapshot = await self._engine.load_snapshot(self.session)
        self._head = snapshot.seq
        assert isinstance(snapshot.state, Conference)
        return snapshot.state

    async def sync(
        self, *, held: frozenset[str] = frozenset(), whole: bool = False, is_finished: bool = False
    ) -> ConferenceStatus:
        """Synchronize ledger and folder; what does not fit is reported and left unchanged.

        `held` roles are working under this process: their files are not recorded until they hand them over. `is_finished`:
        nobody is writing any more, so that half a step is damage at once.
        """
        conference = await self._adopt_inputs(await self.load_conference())
        # First publish, then read: a file that the ledger is about to write must not be mistaken for one that is missing.
        self._publish(conference)
        writing = ""
        # One file per pass, because each recorded file decides which file comes next.
        while True:
            seen = scan.scan_folder(self.folder)
            name, is_ready = self._find_next_file(seen, conference)
            if not name and self._is_ended_by(seen, conference):
                await self._engine.call_close(self.session, TURN)
                conference = await self.load_conference()
                continue
            role = conference.current if conference.status == "open" else MODERATOR
            if not name:
                # An agent may write its two files in the wrong order: its speech is still to come.
                is_fresh = (
                    self.is_turn_changed(seen)
                    and not scan.is_settled(self.folder, TURN)
                    and not is_finished
                )
                writing = ""
                if is_fresh and seen.turn is not None and scan.is_next_turn(seen.turn, conference):
                    writing = role
                break
            if role in held or not is_ready:
                writing = role
                break
            conference = await self._record_next_file(seen, conference, name)
            # At once: minutes that came back must not be read a second time as the next ones.
            self._move_returned_minutes(conference)
        self._publish(conference)
        seen = scan.scan_folder(self.folder)
        damage = tuple(scan.DamageSearch(self.folder, seen, conference, self.mark, whole).find())
        if writing:
            # The files of an author who is still writing are not judged yet.
            damage = tuple(each for each in damage if each.file not in {TURN, name})
        elif not any(each.file == TURN for each in damage) and seen.turn_raw is not None:
            # A different prompt in an otherwise correct file comes from a speaker who was slow to write it: it stays.
            self._update_sync_state(turn=scan.compute_digest(seen.turn_raw), head=self._head)
        expected = files.build_turn_file(conference)
        # The prompt may be the speaker's own words, which stay; everything else follows from the record.
        turn = (
            seen.turn
            if seen.turn is not None and not damage and seen.turn.place == expected.place
            else expected
        )
        return ConferenceStatus(
            session=self.session, conference=conference, turn=turn, damage=damage, writing=writing
        )

    async def _adopt_inputs(self, conference: Conference) -> Conference:
        """Record the user's inputs of a folder that others made; later on only the ledger says what the user said."""
        if conference.inputs or conference.status == "closed" or not self.is_adopted:
            return conference
        names = [
            name for name in scan.scan_folder(self.folder).files if files.is_input_file_name(name)
        ]
        for name in sorted(names):
            if text := (scan.read_text_if_any(self.folder, name) or "").strip():
                await self._engine.give_input(self.session, text, key=name)
        return await self.load_conference() if names else conference

    def _is_ended_by(self, seen: scan.FolderScan, conference: Conference) -> bool:
        """Whether the files end the talk early, and there is reason to accept that.

        Accepted if anybody wrote the minutes as well, or if the folder was adopted from people who keep no other record.
        Otherwise it is only one speaker's claim.
        """
        turn = seen.turn
        if (
            turn is None
            or conference.status != "open"
            or turn.status == "open"
            or seen.highest != conference.taken
        ):
            return False
        has_minutes = turn.status == "closed" and bool(
            MINUTES in seen.files and scan.read_normalized(self.folder, MINUTES)
        )
        return has_minutes or self.is_adopted

    def _find_next_file(self, seen: scan.FolderScan, conference: Conference) -> tuple[str, bool]:
        """Return the file that would be the next step, if it exists, and whether its author has finished it."""
        if conference.status == "closed":
            return "", False
        is_open = conference.status == "open"
        name = (
            files.format_speech_file_name(conference.taken + 1, conference.current)
            if is_open
            else MINUTES
        )
        file = seen.files.get(name)
        if file is None or file.kind != "file":
            return "", False
        text = scan.read_normalized(self.folder, name)
        # A finished speech shows in `turn.json`, in our own notes, or by not having changed for a while.
        is_done = (
            self._is_handed_over(seen, name)
            or self.mark.published > conference.taken
            or self.mark.minutes
            or scan.is_settled(self.folder, name)
        )
        if is_open and text in scan.find_texts_without_file(seen, conference):
            # An earlier speech of the same role under another name, not a new one.
            return "", False
        if (
            text is None
            or not text
            or len(text) > scan.MAX_SPEECH_LENGTH
            or (name == MINUTES and is_refusal(text))
        ):
            return ("", False) if is_done else (name, False)
        return name, is_done

    def _is_handed_over(self, seen: scan.FolderScan, name: str) -> bool:
        """Whether the author wrote `turn.json` after its text; in the wrong order, the text must have come to rest first."""
        is_in_order = self.folder.read_mtime(TURN) >= self.folder.read_mtime(name)
        return self.is_turn_changed(seen) and (
            is_in_order or scan.is_settled(self.folder, name, scan.QUIET_SECONDS)
        )

    async def _record_next_file(
        self, seen: scan.FolderScan, conference: Conference, name: str
    ) -> Conference:
        """Where it stands after a file that is the next step was made an entry, or another word was first."""
        try:
            await self._record_file(seen, conference, name)
        except (OutOfTurn, SessionClosed):
            # The lock is the folder's: a seat that Moot asks may answer between our look at the ledger and our word.
            now = await self.load_conference()
            if (now.taken, now.status) == (conference.taken, conference.status):
                raise
        return await self.load_conference()

    async def _record_file(self, seen: scan.FolderScan, conference: Conference, name: str) -> None:
        """Record a file that is the next step as an entry."""
        if seen.turn is not None and seen.turn_raw is not None:
            # The turn.json beside the file was written together with it: it may be replaced by ours, also after a crash.
            self._update_sync_state(accepted=scan.compute_digest(seen.turn_raw))
        seat = conference.current if conference.status == "open" else conference.writers[0]
        raw = scan.read_answer(self.folder, seen, conference, name)
        if isinstance(raw, dict) and name != MINUTES and is_refusal(str(raw["content"])):
            # An apology is nobody's speech: the turn is taken as refused, with the words in the record.
            raw = "refused"
        if isinstance(raw, dict):
            await self._engine.contribute(self.session, seat, raw, of_any=True, via=RELAY_ORIGIN)
        else:
            await self._record_skip(seat, raw, one_line(self.folder.read(name) or ""))

    def is_turn_changed(self, seen: scan.FolderScan | None = None) -> bool:
        """Whether another process or person has written `turn.json` since it was last correct."""
        seen = seen or scan.scan_folder(self.folder)
        return seen.turn is not None and scan.compute_digest(seen.turn_raw or "") != self.mark.turn

    def collect_answer(self, conference: Conference) -> dict[str, object] | None:
        """Return the files' next step as an answer for the current speaker; None if they have none.

        The `turn.json` that belongs to it counts as ours from now on: the next one may replace it.
        """
        seen = scan.scan_folder(self.folder)
        name, _ = self._find_next_file(seen, conference)
        raw = (
            scan.read_answer(self.folder, seen, conference, name)
            if name and scan.read_normalized(self.folder, name)
            else None
        )
        if not isinstance(raw, dict):
            return None
        if seen.turn is not None and seen.turn_raw is not None:
            self._update_sync_state(turn=scan.compute_digest(seen.turn_raw))
        return raw

    async def _record_skip(self, seat: SeatId, reason: Loss, detail: str) -> None:
        before = (await self.load_conference()).taken
        # The rulebook asks a lost speaker once more: the loop ends all of its attempts.
        while (await self.load_conference()).taken == before:
            await self._engine.pass_over(self.session, seat, reason, detail)

    async def skip(self, role: str, detail: str) -> None:
        """Continue without the current speaker; raises OutOfTurn if that is not this role."""
        conference = await self.load_conference()
        if conference.status != "open" or role != conference.current:
            raise OutOfTurn(_explain_blocked(conference))
        await self._record_skip(conference.current, "passed_over", detail)
        self._publish(await self.load_conference())

    def _publish(self, conference: Conference) -> None:
        """Write the files that the ledger has and the folder lacks: a speech first, then `turn.json`."""
        published = min(
            self.mark.published, max(conference.taken, scan.scan_folder(self.folder).highest)
        )
        if conference.taken < published or (self.mark.minutes and conference.status != "closed"):
            # Another ledger knows more about this folder than ours: its files must be recorded first.
            return
        if not self.mark.agenda:
            self._write_agenda(conference)
        for turn in conference.turns[published:]:
            name, text = files.render_finished_turn(conference, turn)
            self._write_once(name, text, is_skip=isinstance(turn, SkippedTurn))
        for given in conference.inputs[self.mark.inputs :]:
            self._write_once(*files.render_input_file(given))
        self._move_returned_minutes(conference)
        if conference.status == "closed" and not self.mark.minutes:
            self._write_once(MINUTES, files.render_minutes_file(conference))
        wanted = self._choose_turn_text(files.build_turn_file(conference))
        if wanted is None:
            return
        if wanted != scan.read_text_if_any(self.folder, TURN):
            if self._is_ahead(conference):
                return
            self.folder.put(TURN, wanted)
        self._update_sync_state(
            published=conference.taken,
            turn=scan.compute_digest(wanted),
            minutes=conference.status == "closed",
            inputs=len(conference.inputs),
            head=self._head,
            accepted="",
        )

    def _move_returned_minutes(self, conference: Conference) -> None:
        """Move the minutes that came back aside, so that the name is free for the next ones."""
        if conference.returned is None or self.mark.returned:
            return
        if (
            conference.status == "concluding"
            and scan.read_normalized(self.folder, MINUTES) == conference.returned.content
        ):
            sections = name_minutes_sections(conference.missing, conference.opened.language)
            self.aside.move_file(MINUTES, f"these minutes lack {sections}")
        self._update_sync_state(returned=True)

    def _is_ahead(self, conference: Conference) -> bool:
        """Whether the folder has a step that was handed over and is not in the ledger yet: `turn.json` does not go back then."""
        seen = scan.scan_folder(self.folder)
        if seen.turn is None:
            return False
        is_later = seen.turn.taken > conference.taken or (
            seen.turn.status == "closed" != conference.status
        )
        return is_later and bool(self._find_next_file(seen, conference)[0])

    def _choose_turn_text(self, wanted: TurnFile) -> str | None:
        """Choose the content of `turn.json`: a prompt that alone differs stays; else the wanted one, if ours was there.

        None if it is neither ours nor accepted: that is left for `repair`.
        """
        try:
            raw = self.folder.read(TURN)
        except UnreadableFile:
            return None
        if raw is None:
            # Missing although we wrote it before: that is damage, which `repair` reports.
            return None if self.mark.turn else files.render_turn_file(wanted)
        try:
            theirs = files.parse_turn_file(raw)
        except BadTurn:
            theirs = None
        if (
            theirs is not None
            and replace(theirs, prompt_for_speaker=wanted.prompt_for_speaker) == wanted
        ):
            # The words of a slow speaker stay; the notes under them are ours.
            own, notes = (
                files.remove_notes(theirs.prompt_for_speaker),
                files.extract_notes(wanted.prompt_for_speaker),
            )
            prompt = files.add_notes(own, notes, files.MAX_PROMPT_LENGTH)
            is_same = prompt == theirs.prompt_for_speaker
            return (
                raw
                if is_same
                else files.render_turn_file(replace(wanted, prompt_for_speaker=prompt))
            )
        is_ours = scan.compute_digest(raw) in {self.mark.turn, self.mark.accepted}
        # A copy of the folder under another name.
        is_copy = (
            self.is_adopted
            and theirs is not None
            and replace(theirs, conference=wanted.conference) == wanted
        )
        return files.render_turn_file(wanted) if is_ours or is_copy else None

    def _write_agenda(self, conference: Conference) -> None:
        """Write the agenda, or keep the existing one."""
        try:
            existing = self.folder.read(AGENDA)
        except UnreadableFile:
            return
        text = (
            files.render_agenda(conference.opened, conference.speakers)
            if existing is None
            else existing
        )
        if existing is None:
            given = files.name_given_files(conference.opened)
            self.folder.put_below(
                files.GIVEN_FOLDER, {name: each.text for name, each in given.items()}
            )
            self.folder.put(AGENDA, text)
        self._own.put(scan.AGENDA_COPY, text)
        self._update_sync_state(
            agenda=scan.compute_digest(text), language=conference.opened.language
        )

    def _write_once(self, name: str, text: str, *, is_skip: bool = False) -> None:
        """Write a file that never changes. A different file of that name is quarantined: its author was the later of two."""
        if self.folder.has(name):
            existing = scan.read_normalized(self.folder, name)
            if existing == scan.normalize_speech(text) or (
                is_skip and files.parse_skip_reason(existing or "") is not None
            ):
                self.folder.make_read_only(name)
                return
            self.aside.move_file(name, "another text with this name came first")
        self.folder.put(name, text, fresh=True, fixed=True)

    def _update_sync_state(self, **what: object) -> None:
        mark = replace(self.mark, **what)  # type: ignore[arg-type]  # fields of SyncState, spelled by this file
        if mark != self.mark:
            self._own.put(scan.SYNC_STATE, json.dumps(asdict(mark), ensure_ascii=False) + "\n")
            self.mark = mark

    def record_sessions(self, sessions: tuple[str, ...], language: Language) -> None:
        self._update_sync_state(sessions=sessions, path=str(self.folder.path), language=language)

    def reset_sync_state(self) -> None:
        """Forget the notes: the folder is a copy, or unknown to the ledger here."""
        self.mark = scan.SyncState()

    async def say(self, role: str, text: str, key: str = "", *, via: str = "") -> AcceptedSpeech:
        """Record a speech (or, as the moderator, the minutes). `via` is the door; an owner's for a seat that Moot asks itself.

        Raises Blocked, SessionClosed, FolderDamaged, BadAnswer, UnknownSeat.
        """
        status = await self.sync()
        conference = status.conference
        if role not in {*conference.speakers, MODERATOR}:
            raise UnknownSeat(
                f"{role[:80]!r} has no role here; the roles are: {', '.join((*conference.speakers, MODERATOR))}"
            )
        raw = _build_raw_answer(text, role)
        # Before any refusal: a repeated call must succeed, although its turn has passed.
        before = await self._find_earlier_file(conference, role, raw, key)
        if before:
            return AcceptedSpeech(
                file=before, turn=status.turn, language=conference.opened.language, is_repeated=True
            )
        if status.damage:
            # Whatever the reason for a refusal, the author's text is never lost.
            saved = self.aside.keep_text(role, text)
            raise build_damage_error(
                self.folder.path.name, status.damage, f". Your text is kept in {saved}"
            )
        words = ROUNDTABLE_PROMPT[conference.opened.language]
        if conference.status == "closed":
            raise SessionClosed(
                f"{words.over} ({words.saved_in.format(file=self.aside.keep_text(role, text))})"
            )
        if role != conference.current:
            raise Blocked(
                _explain_blocked(conference), self.aside.keep_text(role, text), words.saved_in
            )
        if status.writing:
            raise Blocked(
                words.busy.format(role=role), self.aside.keep_text(role, text), words.saved_in
            )
        is_open = conference.status == "open"
        seat = conference.current if is_open else conference.writers[0]
        is_owner = (
            bool(via) and not via.startswith(TOKEN_ORIGIN) and not conference.seat(seat).is_outside
        )
        door = f"{OWNER_ORIGIN}{via}" if is_owner and not via.startswith(OWNER_ORIGIN) else via
        await self._engine.contribute(self.session, seat, raw, key, of_any=True, via=door)
        after = await self.load_conference()
        self._publish(after)
        language = conference.opened.language
        if not is_open and after.status != "closed":
            saved = self.aside.keep_text(role, text)
            return AcceptedSpeech(
                file=saved,
                turn=files.build_turn_file(after),
                language=language,
                returned=after.missing,
            )
        file = files.format_speech_file_name(conference.taken + 1, role) if is_open else MINUTES
        return AcceptedSpeech(file=file, turn=files.build_turn_file(after), language=language)

    async def _find_earlier_file(
        self, conference: Conference, role: str, raw: dict[str, object], key: str
    ) -> str:
        """Return the file of a text that was given before: by its key, or as equal text of a role whose turn it is not."""
        known = (await self._engine.load_snapshot(self.session)).session_state.answer_keys
        seat = SeatId(role)
        if key and (seat, key) in known:
            entry = await self._engine.contribute(self.session, seat, raw, key, of_any=True)
            return next(
                (
                    files.format_speech_file_name(each.number, role)
                    for each in conference.speeches
                    if each.seq == entry.seq
                ),
                MINUTES,
            )
        # The same text by the current speaker may be meant: without a key it is a new speech.
        if key or (role == conference.current and conference.status != "closed"):
            return ""
        if role == MODERATOR:
            return (
                MINUTES
                if conference.minutes is not None and conference.minutes.content == raw["content"]
                else ""
            )
        own = [speech for speech in conference.speeches if speech.seat == role]
        return (
            files.format_speech_file_name(own[-1].number, role)
            if own and own[-1].said.content == raw["content"]
            else ""
        )

    async def repair(self) -> list[str]:
        """Repair every damage and return what was done. Files that are in the way are quarantined."""
        done: list[str] = []
        for _ in range(MAX_REPAIRS):
            # One damage at a time: each repair can remove or reveal others.
            status = await self.sync(whole=True)
            if not status.damage:
                return done
            done.append(self._repair_damage(status.damage[0], status.conference))
        raise FolderDamaged(f"{self.folder.path.name} cannot be repaired: {status.damage[0]}")

    def _repair_damage(self, damage: scan.Damage, conference: Conference) -> str:
        words = FOLDER_DAMAGE[conference.opened.language]
        texts = dict(files.render_finished_turn(conference, turn) for turn in conference.turns)
        texts |= dict(map(files.render_input_file, conference.inputs))
        if conference.status == "closed":
            texts[MINUTES] = files.render_minutes_file(conference)
        match damage.kind:
            case "aside_blocked":
                return f"{damage}; {words.renamed_to.format(name=self.aside.free_folder_name())}"
            case "speech_renamed":
                self.folder.move(damage.rename, damage.file)
                return f"{damage}; {words.renamed_back}"
            case "gap" | "misnamed" | "number_taken" | "out_of_turn" if (
                damage.rename and not self.folder.has(damage.rename)
            ):
                self.folder.move(damage.file, damage.rename)
                return f"{damage}; {words.renamed_to.format(name=damage.rename)}"
            case "speech_missing" | "minutes_missing" | "input_missing":
                self.folder.put(damage.file, texts[damage.file], fresh=True, fixed=True)
                return f"{damage}; {words.rewritten}"
        aside = (
            self.aside.move_file(damage.file, damage.said) if self.folder.has(damage.file) else ""
        )
        where = f"; {words.moved_to.format(name=aside)}" if aside else ""
        if damage.file == TURN:
            text = files.render_turn_file(files.build_turn_file(conference))
            self.folder.put(TURN, text)
            self._update_sync_state(turn=scan.compute_digest(text), published=conference.taken)
            return f"{damage}{where}; {words.rebuilt}"
        if damage.file == AGENDA:
            agenda = files.render_agenda(conference.opened, conference.speakers)
            text = scan.read_text_if_any(self._own, scan.AGENDA_COPY) or agenda
            self.folder.put(AGENDA, text)
            self._update_sync_state(agenda=scan.compute_digest(text))
            return f"{damage}{where}; {words.restored}"
        if damage.file in texts and damage.kind != "minutes_early":
            self.folder.put(damage.file, texts[damage.file], fresh=True, fixed=True)
            return f"{damage}{where}; {words.rewritten}"
        return f"{damage}{where}"

    def read_unchanged_turn(self) -> TurnFile | None:
        """Return the turn according to the folder alone, if nothing has changed since it was last correct; else None."""
        seen = scan.scan_folder(self.folder)
        if (
            seen.turn is None
            or scan.compute_digest(seen.turn_raw or "") != self.mark.turn
            or seen.misnamed
        ):
            return None
        is_same = (
            len(seen.speeches) == self.mark.published == seen.highest
            and (MINUTES in seen.files) == self.mark.minutes
        )
        return seen.turn if is_same else None


def build_damage_error(
    name: str, damage: tuple[scan.Damage, ...], addition: str = ""
) -> FolderDamaged:
    """Damage as an error, with what helps against it; an `addition` is said behind the damage."""
    others = len(damage) - 1
    more = f" (and {others} more)" if others else ""
    return FolderDamaged(
        f"the folder of {name!r} is damaged: {damage[0]}{more}{addition}",
        command=f"see `moot roundtable check {name}`, and fix it with `moot roundtable repair {name}`",
        tool="check_conference lists all of it, repair_conference fixes it",
    )


def explain_waiting(turn: TurnFile, language: Language) -> str:
    """Say to a role that it may not speak now, and who may."""
    words = ROUNDTABLE_PROMPT[language]
    waiting = {"closed": words.over, "concluding": words.concluding}
    return waiting.get(turn.status) or words.blocked.format(current_speaker=turn.current_speaker)


def _explain_blocked(conference: Conference) -> str:
    return explain_waiting(files.build_turn_file(conference), conference.opened.language)


def _build_raw_answer(text: str, role: str) -> dict[str, object]:
    """Build the answer from a text, word for word."""
    if role == MODERATOR:
        return {"content": fix_surrogates(text).strip()}
    said = RoundtableSpeech.from_text(fix_surrogates(text))
    return {"content": said.content, "prompt": said.prompt, "consensus": said.consensus}
