"""What people typed, kept for the next time that they sit down: the draft that they were interrupted in, and what they sent."""

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from moothall.app.environment import resolve_home, resolve_ledger_address

MAX_TYPED: Final = 500
"""How many earlier lines come back: the newest."""


def _build_path(folder: str, session: str, seat: str, ending: str) -> Path:
    """Return the file of one seat in one session. Its name is a digest: neither a session nor a seat becomes a path."""
    address = resolve_ledger_address(os.environ)
    name = sha256("\0".join((address, session, seat)).encode()).hexdigest()[:32]
    return resolve_home(os.environ) / folder / f"{name}{ending}"


class TypedDraft(NamedTuple):
    """What was typed in answer to one question."""

    ask: str
    step: str
    text: str


class DraftFile:
    """The draft of one seat in one session."""

    def __init__(self, session: str, seat: str) -> None:
        self._path = _build_path("drafts", session, seat, ".json")

    def load(self) -> TypedDraft | None:
        """Return what was typed and not sent; None if nothing was, or if it cannot be read."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            return TypedDraft(str(found["ask"]), str(found["step"]), str(found["text"]))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, ask: str, step: str, text: str) -> None:
        """Keep what was typed so far. Typing goes on if the disk does not take it."""
        if not text:
            self.clear()
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            new = self._path.with_suffix(".new")
            # Called for every key: a rename keeps the file whole, and waiting for the disk would be felt.
            new.write_text(json.dumps({"ask": ask, "step": step, "text": text}), encoding="utf-8")
            new.chmod(0o600)
            new.replace(self._path)

    def clear(self) -> None:
        with suppress(OSError):
            self._path.unlink(missing_ok=True)


class HistoryFile:
    """What one seat said in one session, one text on each line as JSON; nobody else's words come back with the Up key."""

    def __init__(self, session: str, seat: str) -> None:
        self._path = _build_path("history", session, seat, ".jsonl")

    def load(self) -> list[str]:
        """Return what was typed, the oldest first; a line that cannot be read is passed over."""
        found: list[str] = []
        try:
            lines = self._path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            return found
        for line in lines[-MAX_TYPED:]:
            with suppress(ValueError):
                typed = json.loads(line)
                found += [typed] if isinstance(typed, str) else []
        return found

    def append(self, text: str) -> None:
        """Keep what was sent. The answer counts if the disk does not take it."""
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Private from the first byte on.
            with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "a", encoding="utf-8") as file:
                file.write(json.dumps(text) + "\n")
