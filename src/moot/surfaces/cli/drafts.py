"""Drafts of people: what was typed when they were interrupted, offered again when they sit down the next time."""

import json
import os
from contextlib import suppress
from hashlib import sha256
from typing import NamedTuple

from moot.app.environment import resolve_home, resolve_ledger_address


class TypedDraft(NamedTuple):
    """What was typed in answer to one question."""

    ask: str
    step: str
    text: str


class DraftFile:
    """The draft of one seat in one session. Its name is a digest: neither a session nor a seat becomes a path."""

    def __init__(self, session: str, seat: str) -> None:
        address = resolve_ledger_address(os.environ)
        name = sha256("\0".join((address, session, seat)).encode()).hexdigest()[:32]
        self._path = resolve_home(os.environ) / "drafts" / f"{name}.json"

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
