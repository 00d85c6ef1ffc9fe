"""The file that keeps a search index between processes. A cache: where it is missing or damaged, the index is built again."""

import json
import os
import sys
from array import array
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from moothall.memory.register import RegisterPosition
from moothall.memory.search import IndexDump

# The number changes with what splits texts into terms and weighs them. Postings are kept as the machine holds them.
MAGIC: Final = f"moot search index 1 {sys.byteorder}\n".encode()
DIGEST_BYTES: Final = 32
LENGTH_BYTES: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptIndex:
    """An index and where it stands in the register; `decisions` have a name, a number, a topic and a category."""

    position: RegisterPosition
    decisions: Sequence[tuple[str, int, str, str]]
    full: IndexDump
    headlines: IndexDump


def write_index(path: Path, kept: KeptIndex) -> None:
    """Replace the file; if that fails, the old one stays."""
    position = [kept.position.seq, kept.position.at, kept.position.hash.hex()]
    parts = {name: _describe(dump) for name, dump in (("full", kept.full), ("headlines", kept.headlines))}
    head = json.dumps({"position": position, "decisions": kept.decisions, **parts}).encode()
    body = len(head).to_bytes(LENGTH_BYTES, "big") + head + kept.full.postings.tobytes() + kept.headlines.postings.tobytes()
    # Two processes may write at once: each has a file of its own until it takes the place of the old one.
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(MAGIC + sha256(body).digest() + body)
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


def read_index(path: Path) -> KeptIndex | None:
    """Return the index in a file; None if there is none that can be read."""
    try:
        content = path.read_bytes()
    except OSError:
        return None
    start = len(MAGIC) + DIGEST_BYTES
    body = content[start:]
    if not content.startswith(MAGIC) or sha256(body).digest() != content[len(MAGIC) : start]:
        return None
    end = LENGTH_BYTES + int.from_bytes(body[:LENGTH_BYTES], "big")
    head: dict[str, Any] = json.loads(body[LENGTH_BYTES:end])
    postings = array("Q", body[end:])
    middle = sum(head["full"]["counts"])
    seq, at, digest = head["position"]
    return KeptIndex(
        position=RegisterPosition(seq, at, bytes.fromhex(digest)),
        decisions=head["decisions"],
        full=IndexDump(**head["full"], postings=postings[:middle]),
        headlines=IndexDump(**head["headlines"], postings=postings[middle:]),
    )


def _describe(dump: IndexDump) -> Mapping[str, object]:
    return {"lengths": dump.lengths, "terms": dump.terms, "counts": dump.counts}
