"""What one seat may see when it is asked: bounded however long the meeting grows."""

import re
from dataclasses import dataclass, replace

from moot.domain.ids import SeatId
from moot.domain.values import changed

LONGEST_HEARD = 2_000
"""Characters of one contribution that a perception shows; the ledger keeps it whole."""

LONGEST_GIST = 160
# A sentence ends here, but for abbreviations; the number of a list ends none.
_END = re.compile(r"[。！？]|[.!?](?<!\b[A-Za-z].)(?<!\bvs.)(?<!\bDr.)(?<!\bMr.)(?<!\bMs.)(?<!\betc.)(?<!\bMrs.) ")
_ITEM = re.compile(r"(?:\(?\d{1,3}[.)、]|[-*•])\s*")
MOST_GISTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """One timeline entry as a listener hears it."""

    id: int
    speaker: SeatId
    text: str
    refers_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Gist:
    """An older entry in one line."""

    id: int
    speaker: SeatId
    text: str
    weight: float


@dataclass(frozen=True, kw_only=True)
class Memory:
    """The last turns word for word, what is older as a bounded digest, and how many entries the digest left out."""

    window: int
    recent: tuple[Heard, ...] = ()
    older: tuple[Gist, ...] = ()
    left_out: int = 0
    weights: tuple[float, ...] = ()

    def __hash__(self) -> int:
        # Cheap, and enough to tell the memories of one meeting apart: texts need not be hashed for every prompt.
        return hash((self.left_out, len(self.older), self.recent[-1].id if self.recent else 0))

    def hear(self, heard: Heard, weight: float) -> "Memory":
        """The memory after one more entry; what falls out of the window becomes a line of the digest."""
        recent = (*self.recent, clipped(heard))
        weights = (*self.weights, weight)
        if len(recent) <= self.window:
            return changed(self, recent=recent, weights=weights)
        passed, recent = recent[0], recent[1:]
        older = (*self.older, Gist(id=passed.id, speaker=passed.speaker, text=gist(passed.text), weight=weights[0]))
        left_out = self.left_out
        if len(older) > MOST_GISTS:
            # The question itself (entry 1) stays; of the rest the least moving goes, the oldest of equals first.
            dropped = min(older[1:], key=lambda line: (line.weight, line.id))
            older = tuple(line for line in older if line.id != dropped.id)
            left_out += 1
        return Memory(window=self.window, recent=recent, older=older, left_out=left_out, weights=weights[1:])

    @property
    def latest(self) -> Heard | None:
        return self.recent[-1] if self.recent else None


def clipped(heard: Heard) -> Heard:
    """The entry, cut to what a perception shows."""
    if len(heard.text) <= LONGEST_HEARD:
        return heard
    rest = len(heard.text) - LONGEST_HEARD
    return replace(heard, text=f"{heard.text[:LONGEST_HEARD]}… [+{rest}]")


def gist(text: str) -> str:
    """The first sentence of a text, on one line, cut to `LONGEST_GIST`."""
    line = " ".join(text[: 4 * LONGEST_GIST].split())
    item = _ITEM.match(line)
    end = _END.search(line, item.end() if item else 1)
    if end:
        line = line[: end.end()].rstrip()
    return line if len(line) <= LONGEST_GIST else f"{line[: LONGEST_GIST - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Perception:
    """Goal, summary of what is older, the last turns, and the seat's own last words."""

    goal: str
    memory: Memory
    own_words: str = ""
