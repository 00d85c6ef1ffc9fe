"""Gives broken texts to everything in Moot that reads strangers' texts, and counts what goes wrong."""

import random
import resource
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.reading.__main__ import collect_briefs
from bench.strangers.samples import GOOD, LEASE, list_made
from moothall.app.given_files import build_given_file
from moothall.app.ignore_rules import IgnoreRules
from moothall.app.panels import parse_panel
from moothall.domain.effects import Brief
from moothall.domain.quotations import check_quotations
from moothall.domain.topic import ContextFile
from moothall.errors import MootError
from moothall.features.review.change import leave_out_by_rule, locate_evidence, parse_diff
from moothall.features.roundtable.files import (
    BadTurn,
    parse_agenda,
    parse_speaking_order,
    parse_turn_file,
)
from moothall.features.roundtable.sections import find_missing_minutes, read_actions
from moothall.participants.page_text import extract_text
from moothall.reading.answers import read_answer
from moothall.reports.given_tools import quote_returned, run_tool

LOOP_SECONDS: Final = 0.25
"""What a text may cost of the event loop, where it is read there."""
IN_LOOP: Final = frozenset({"answer", "quotation", "result", "minutes"})
NAMES: Final = (
    "a.log",
    "keep.log",
    "build/x",
    "docs/a/draft1.md",
    "b.txt",
    "a" * 200 + ".txt",
    "#odd ",
)
MAX_FILE_BYTES: Final = 2_000_000
MAX_BROKEN: Final = 200_000
"""Bytes of a broken text: repetitions of repetitions would only test the size of the memory."""
COSTLY: Final = ("pdf",)
"""Read in a process of their own: one in so many of the others."""
COSTLY_SHARE: Final = 0.02

Reader = Callable[[bytes], object]


@dataclass(slots=True)
class Tally:
    """What became of the texts."""

    texts: int = 0
    refused: int = 0
    failed: list[str] = field(default_factory=list)
    """Texts at which something else was raised than a sentence for the one who gave them."""
    slow: list[str] = field(default_factory=list)
    """Texts that held the event loop for too long."""
    by_kind: Counter[str] = field(default_factory=Counter)
    slowest: dict[str, float] = field(default_factory=dict)
    """Seconds of this thread's processor time, by kind."""

    @property
    def memory(self) -> int:
        """The most memory that this process had, in MB."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1_024


async def build_readers(folder: Path) -> Mapping[str, Sequence[Reader]]:
    """What reads each kind, as Moot calls it: an answer, for each kind of ask."""
    briefs: list[Brief] = []
    for protocol in ("persona", "debate"):
        kinds = await collect_briefs(protocol)
        briefs += [each[-1] for each in kinds.values()]
    lease = ContextFile(name="lease.md", text=LEASE)

    def read_file(raw: bytes) -> None:
        file = build_given_file("notes.md", "notes.md", raw[:MAX_FILE_BYTES])
        run_tool("en", (file,), "search", {"words": "rent notice"})

    def read_diff(raw: bytes) -> None:
        text = leave_out_by_rule(raw.decode("utf-8", "replace"))
        locate_evidence(parse_diff(text), "src/pay.py", 3, "return bank.charge(amount)")

    def read_ignore_rules(raw: bytes) -> None:
        (folder / ".gitignore").write_bytes(raw)
        rules = IgnoreRules()
        rules.read(folder, "")
        for name in NAMES:
            rules.ignores(name, is_folder=False)

    def build_answer_reader(brief: Brief) -> Reader:
        return lambda raw: read_answer(brief, raw.decode("utf-8", "replace"))

    def check_quoted(raw: bytes) -> None:
        check_quotations(raw.decode("utf-8", "replace"), (lease,), {1: "The rent is 40,000."})

    def quote_result(raw: bytes) -> None:
        quote_returned("en", "look__up", raw.decode("utf-8", "replace"), "answered")

    def read_page(raw: bytes) -> None:
        extract_text(raw[:200_000].decode("utf-8", "replace"))

    def read_minutes(raw: bytes) -> None:
        text = raw.decode("utf-8", "replace")
        find_missing_minutes(text)
        for read in (parse_turn_file, parse_agenda, parse_speaking_order, read_actions):
            with suppress(MootError, BadTurn):
                read(text)

    def read_panel(raw: bytes) -> None:
        parse_panel(raw.decode("utf-8", "replace"), "the panel", folder)

    return {
        "pdf": [lambda raw: build_given_file("a.pdf", "a.pdf", raw)],
        "picture": [lambda raw: build_given_file("a.png", "a.png", raw)],
        "file": [read_file],
        "diff": [read_diff],
        "page": [read_page],
        "panel": [read_panel],
        "ignore": [read_ignore_rules],
        "answer": list(map(build_answer_reader, briefs)),
        "quotation": [check_quoted],
        "result": [quote_result],
        "minutes": [read_minutes],
    }


async def run_texts(count: int, seed: int, *, has_made: bool = True) -> Tally:
    """Read so many broken texts, and those that were made to hurt."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        readers = await build_readers(Path(folder))
        if has_made:
            for kind, name, raw in list_made():
                for reader in readers[kind]:
                    read_one(tally, reader, kind, name, raw)
        for number, (kind, raw) in enumerate(mutate(count, seed)):
            reader = readers[kind][number % len(readers[kind])]
            read_one(tally, reader, kind, f"number {number} of seed {seed}", raw)
    return tally


def read_one(tally: Tally, reader: Reader, kind: str, name: str, raw: bytes) -> None:
    """Read one text, and note what became of it."""
    tally.texts += 1
    tally.by_kind[kind] += 1
    began = time.thread_time()
    try:
        reader(raw)
    except MootError:
        tally.refused += 1
    except Exception:
        tally.failed.append(f"{kind}, {name}: {traceback.format_exc(limit=-3)}")
    seconds = time.thread_time() - began
    tally.slowest[kind] = max(seconds, tally.slowest.get(kind, 0.0))
    if kind in IN_LOOP and seconds > LOOP_SECONDS:
        tally.slow.append(f"{kind}, {name}: {seconds:.2f} s")


def mutate(count: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """Good samples, each broken in one to four places."""
    chance = random.Random(seed)
    cheap = [kind for kind in GOOD if kind not in COSTLY]
    for _ in range(count):
        kinds: Sequence[str] = COSTLY if chance.random() < COSTLY_SHARE else cheap
        kind = chance.choice(kinds)
        raw = GOOD[kind]
        for _ in range(chance.randint(1, 4)):
            raw = break_text(raw, chance)[:MAX_BROKEN]
        yield kind, raw


def break_text(raw: bytes, chance: random.Random) -> bytes:
    """One change: a byte, a cut, a repetition, a piece of another sample, or signs that mean something somewhere."""
    at, other = chance.randrange(len(raw) + 1), chance.randrange(len(raw) + 1)
    start, end = min(at, other), max(at, other)
    signs = [
        b"\0",
        b"\xff",
        b"{",
        b"}",
        b'"',
        b"`",
        b"<",
        b"*",
        b"@@",
        b"\r",
        b"\xe2\x80\xae",
        b"-1",
        b"9" * 400,
    ]
    match chance.randrange(6):
        case 0:
            return raw[:start] + bytes([chance.randrange(256)]) + raw[start + 1 :]
        case 1:
            return raw[:start] + raw[end:]
        case 2:
            return raw[:end] + raw[start:end] * chance.randint(1, 50) + raw[end:]
        case 3:
            piece = GOOD[chance.choice(list(GOOD))]
            return raw[:start] + piece[: chance.randrange(len(piece))] + raw[start:]
        case 4:
            return raw[:start] + chance.choice(signs) * chance.choice([1, 3, 2_000]) + raw[start:]
        case _:
            lines = raw.split(b"\n")
            chance.shuffle(lines)
            return b"\n".join(lines)
