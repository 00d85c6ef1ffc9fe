"""What one seat may see when it is asked: bounded however long the meeting grows."""

import re
from dataclasses import dataclass, replace

from moot.domain.ids import SeatId
from moot.domain.replace import fast_replace

LONGEST_UTTERANCE = 2_000
"""Characters of one contribution that a perception shows; the ledger keeps it whole."""

LONGEST_DIGEST = 160
# A sentence ends here, but for abbreviations; the number of a list ends none.
_END = re.compile(r"[。！？]|[.!?](?<!\b[A-Za-z].)(?<!\bvs.)(?<!\bDr.)(?<!\bMr.)(?<!\bMs.)(?<!\betc.)(?<!\bMrs.) ")
_ITEM = re.compile(r"(?:\(?\d{1,3}[.)、]|[-*•])\s*")
MOST_DIGESTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One timeline entry as a listener hears it."""

    id: int
    speaker: SeatId
    text: str
    refers_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """An older entry in one line."""

    id: int
    speaker: SeatId
    text: str
    weight: float


@dataclass(frozen=True, kw_only=True)
class ContextWindow:
    """The last turns word for word, what is older as a bounded digest, and how many entries the digest left out."""

    window: int
    recent: tuple[Utterance, ...] = ()
    older: tuple[Digest, ...] = ()
    left_out: int = 0
    weights: tuple[float, ...] = ()

    def __hash__(self) -> int:
        # Cheap, and enough to tell the memories of one meeting apart: texts need not be hashed for every prompt.
        return hash((self.left_out, len(self.older), self.recent[-1].id if self.recent else 0))

    def add(self, heard: Utterance, weight: float) -> "ContextWindow":
        """The memory after one more entry; what falls out of the window becomes a line of the digest."""
        recent = (*self.recent, clip_utterance(heard))
        weights = (*self.weights, weight)
        if len(recent) <= self.window:
            return fast_replace(self, recent=recent, weights=weights)
        passed, recent = recent[0], recent[1:]
        older = (
            *self.older,
            Digest(id=passed.id, speaker=passed.speaker, text=extract_first_sentence(passed.text), weight=weights[0]),
        )
        left_out = self.left_out
        if len(older) > MOST_DIGESTS:
            # The question itself (entry 1) stays; of the rest the least moving goes, the oldest of equals first.
            dropped = min(older[1:], key=lambda line: (line.weight, line.id))
            older = tuple(line for line in older if line.id != dropped.id)
            left_out += 1
        return ContextWindow(window=self.window, recent=recent, older=older, left_out=left_out, weights=weights[1:])

    @property
    def latest(self) -> Utterance | None:
        return self.recent[-1] if self.recent else None


def clip_utterance(heard: Utterance) -> Utterance:
    """The entry, cut to what a perception shows."""
    if len(heard.text) <= LONGEST_UTTERANCE:
        return heard
    rest = len(heard.text) - LONGEST_UTTERANCE
    return replace(heard, text=f"{heard.text[:LONGEST_UTTERANCE]}… [+{rest}]")


def extract_first_sentence(text: str) -> str:
    """The first sentence of a text, on one line, cut to `LONGEST_GIST`."""
    line = " ".join(text[: 4 * LONGEST_DIGEST].split())
    item = _ITEM.match(line)
    end = _END.search(line, item.end() if item else 1)
    if end:
        line = line[: end.end()].rstrip()
    return line if len(line) <= LONGEST_DIGEST else f"{line[: LONGEST_DIGEST - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Perception:
    """Goal, summary of what is older, the last turns, and the seat's own last words."""

    goal: str
    memory: ContextWindow
    own_words: str = ""
