"""Moot's own notes in a conference's folder, in `.moot/`: how far the files are synchronized, and with which session.

All of it can be lost: the ledger and the files hold everything.
"""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Annotated, Final

from annotated_types import Ge
from pydantic import TypeAdapter, ValidationError

from moothall.disk.folder import Folder, UnreadableFile
from moothall.domain.facts import Language

OWN_FOLDER: Final = ".moot"
LOCK: Final = "lock"
AGENDA_KEPT: Final = "agenda.md"
_NAME: Final = "mark.json"


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
