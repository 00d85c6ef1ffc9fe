"""Quarantine: keeps what did not fit into a conference beside it; nothing is ever deleted."""

import re
import secrets
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Final

from moothall.disk.folder import Folder, UnreadableFile, escape_name
from moothall.protocols.roundtable.files import QUARANTINE_FOLDER

LOG: Final = "LOG.md"


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
                aside.append(LOG, line)
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
        occupant = next((each for each in self._folder.list_entries() if each.name == QUARANTINE_FOLDER), None)
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


def read_text_if_any(folder: Folder, name: str) -> str | None:
    """Return a file's text; None if it cannot be read."""
    try:
        return folder.read(name)
    except UnreadableFile:
        return None
