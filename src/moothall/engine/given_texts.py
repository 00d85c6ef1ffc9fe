"""The texts of given files: stored once in the ledger under their hash, however many sessions were given them.

Each is a stream of its own, as registers are: hash-chained, never changed, and copied with the ledger.
"""

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import Final

from moothall.codec.chain import compute_root_hash, decode_entry, seal, validate_chain
from moothall.codec.stored import FactCodec
from moothall.domain.facts import Opened
from moothall.domain.given_search import search_files, select_visible
from moothall.domain.ids import SessionId
from moothall.domain.records import FILE_KINDS, FileEnded, FilePart, FileStored, StoredRecord
from moothall.domain.topic import ContextFile
from moothall.errors import LedgerDamaged, SeqConflict
from moothall.ports.ledger import Clock, Ledger
from moothall.reports.given import fits_prompt

PART_LENGTH: Final = 200_000
MAX_CACHED: Final = 32_000_000
"""How many characters of texts a process keeps."""

FindText = Callable[[str], str | None]


def name_stream(digest: str) -> SessionId:
    """The stream of a text; no session can have its name."""
    return SessionId(f"_file_{digest}")


def drop_texts(opened: Opened) -> Opened:
    """Return an opening as it is stored: with the hashes of its files in place of their texts."""
    return (
        _change_texts(opened, lambda each: "" if each.sha256 else each.text)
        if opened.subject.given
        else opened
    )


def fill_texts(opened: Opened, find: FindText) -> Opened:
    """Return a stored opening with the texts of its files, as far as they are stored."""
    if not any(each.sha256 and not each.text for each in opened.subject.given):
        return opened
    return _change_texts(opened, lambda each: each.text or find(each.sha256) or "")


def _change_texts(opened: Opened, choose: Callable[[ContextFile], str]) -> Opened:
    subject = opened.subject
    context, pictures = (
        tuple(replace(each, text=choose(each)) for each in files)
        for files in (subject.context, subject.pictures)
    )
    return replace(opened, subject=replace(subject, context=context, pictures=pictures))


def list_hashes(opening: bytes) -> list[str]:
    """The hashes of the files in a stored opening, also of a protocol that is not installed."""
    # Most sessions were given no files: their openings are not read twice.
    if b'"sha256"' not in opening:
        return []
    try:
        subject = json.loads(opening)["subject"]
        files = (*subject.get("context", ()), *subject.get("pictures", ()))
        return [each["sha256"] for each in files if each.get("sha256")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


async def prepare_search(opened: Opened) -> None:
    """Index the files that no prompt has room for, on a thread: for a large folder that takes a second or more."""
    context = opened.subject.context
    for files in {
        select_visible(context, seat.sees) for seat in opened.seats if not fits_prompt(context)
    }:
        await asyncio.to_thread(search_files, files, "", 0)


class GivenTexts:
    """The texts in one ledger. `find` answers at once for those that were stored or loaded here lately."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._codec = FactCodec(FILE_KINDS)
        self._cached: OrderedDict[str, str] = OrderedDict()
        self._size = 0

    def find(self, digest: str) -> str | None:
        """Return a text that is at hand."""
        return self._cached.get(digest)

    async def store(self, files: Iterable[ContextFile]) -> None:
        """Store the texts that the ledger does not have yet."""
        for each in files:
            if not each.sha256 or not each.text:
                continue
            name, now, before = (
                name_stream(each.sha256),
                self._clock.now(),
                compute_root_hash(name_stream(each.sha256)),
            )
            records: list[StoredRecord] = []
            parts = [
                each.text[at : at + PART_LENGTH] for at in range(0, len(each.text), PART_LENGTH)
            ]
            for fact in (
                FileStored(sha256=each.sha256, size=each.size),
                *(FilePart(text=part) for part in parts),
                FileEnded(),
            ):
                records.append(seal(self._codec, before, len(records) + 1, now, fact))
                before = records[-1].hash
            if not await self._ledger.read(name, 0, 1):
                # Another process may be faster: the name is the hash, so its text is the same.
                with suppress(SeqConflict):
                    await self._ledger.append(name, records)
            self._cache(each.sha256, each.text)

    async def load(self, digests: Iterable[str]) -> None:
        """Make texts ready for `find`, those that the ledger has; raises LedgerDamaged if one is not what its hash says."""
        for digest in digests:
            if digest in self._cached:
                self._cached.move_to_end(digest)
                continue
            name = name_stream(digest)
            facts = [
                decode_entry(self._codec, each).fact
                for each in validate_chain(name, await self._ledger.read(name))
            ]
            text = "".join(fact.text for fact in facts if isinstance(fact, FilePart))
            if not facts:
                continue
            if sha256(text.encode()).hexdigest() != digest:
                raise LedgerDamaged(
                    f"the text of the given file {digest[:12]}… is not what its hash says"
                )
            self._cache(digest, text)

    def _cache(self, digest: str, text: str) -> None:
        self._size += len(text) - len(self._cached.pop(digest, ""))
        self._cached[digest] = text
        while self._size > MAX_CACHED and len(self._cached) > 1:
            self._size -= len(self._cached.popitem(last=False)[1])
