"""The part of a session that one seat sees when it is asked; its size is bounded, however long the session grows."""

from dataclasses import replace
from functools import cached_property

from moothall.domain.claims import extract_claim
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass, fast_replace
from moothall.domain.safe_text import compile_late

MAX_UTTERANCE_LENGTH = 2_000
"""The most characters of one contribution that a prompt shows; the ledger keeps the whole text."""

MAX_DIGEST_LENGTH = 160
# Full stops end a sentence only before a space and not after common abbreviations or a single letter ("e.g.", initials).
_END = compile_late(
    r"[。！？]|[.!?](?<!\b[A-Za-z].)(?<!\bvs.)(?<!\bDr.)(?<!\bMr.)(?<!\bMs.)(?<!\betc.)(?<!\bMrs.) "
)
# The marker of a list item is skipped first, so that the full stop in "1." does not end the sentence.
_ITEM = compile_late(r"(?:\(?\d{1,3}[.)、]|[-*•])\s*")
MAX_DIGESTS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Utterance:
    """One timeline entry as other seats read it."""

    id: int
    speaker: SeatId
    text: str
    refers_to: int | None = None


@dataclass(frozen=True, kw_only=True)
class Digest:
    """An older entry, shortened to one line when it is first shown: many lines are dropped before that."""

    id: int
    speaker: SeatId
    whole: str
    weight: float

    @cached_property
    def text(self) -> str:
        return extract_claim(self.whole)


@dataclass(frozen=True, kw_only=True)
class ContextWindow:
    """The last turns word for word, the older ones as a bounded digest, and the number of entries that the digest dropped.

    `room` is how many characters the last turns may have together (0: any number), `longest` how many of one entry are shown, and
    `digests` how many lines the digest has.
    """

    window: int
    recent: tuple[Utterance, ...] = ()
    older: tuple[Digest, ...] = ()
    left_out: int = 0
    weights: tuple[float, ...] = ()
    room: int = 0
    longest: int = MAX_UTTERANCE_LENGTH
    digests: int = MAX_DIGESTS

    def __hash__(self) -> int:
        # Deliberately weak: it still separates the windows of one session, and no text is hashed for every prompt.
        return hash((self.left_out, len(self.older), self.recent[-1].id if self.recent else 0))

    def add(self, utterance: Utterance, weight: float) -> "ContextWindow":
        """Return the window with one more entry; an entry that leaves the window becomes a line of the digest."""
        recent = (*self.recent, clip_utterance(utterance, self.longest))
        weights, older, left_out = (*self.weights, weight), self.older, self.left_out
        while len(recent) > self.window or (
            self.room and len(recent) > 1 and sum(len(each.text) for each in recent) > self.room
        ):
            passed, recent = recent[0], recent[1:]
            older = (
                *older,
                Digest(id=passed.id, speaker=passed.speaker, whole=passed.text, weight=weights[0]),
            )
            weights = weights[1:]
            if len(older) > self.digests:
                # Entry 1 is the question and always stays. Of the rest the line of the lowest weight goes; of equals the oldest.
                dropped = min(older[1:], key=lambda line: (line.weight, line.id))
                older = tuple(line for line in older if line.id != dropped.id)
                left_out += 1
        return fast_replace(self, recent=recent, older=older, left_out=left_out, weights=weights)

    def holds(self, entry: int) -> bool:
        """Whether an entry is shown word for word."""
        return any(each.id == entry for each in self.recent)

    @property
    def whole(self) -> frozenset[int]:
        """The entries that are shown word for word."""
        return frozenset(each.id for each in self.recent)

    @property
    def shown(self) -> frozenset[int]:
        """The entries that this window shows, whole or as a line of the digest."""
        return self.whole | {line.id for line in self.older}

    @property
    def latest(self) -> Utterance | None:
        return self.recent[-1] if self.recent else None


def clip_utterance(utterance: Utterance, longest: int = MAX_UTTERANCE_LENGTH) -> Utterance:
    """Return the entry with its text cut to this many characters."""
    if len(utterance.text) <= longest:
        return utterance
    return replace(
        utterance, text=f"{utterance.text[:longest]}… [+{len(utterance.text) - longest}]"
    )


def extract_first_sentence(text: str) -> str:
    """Return the first sentence of a text on one line, cut to `MAX_DIGEST_LENGTH`."""
    # Four times the limit is enough to find a sentence end, and keeps the regular expression off very long texts.
    line = " ".join(text[: 4 * MAX_DIGEST_LENGTH].split())
    item = _ITEM.match(line)
    end = _END.search(line, item.end() if item else 1)
    if end:
        line = line[: end.end()].rstrip()
    return line if len(line) <= MAX_DIGEST_LENGTH else f"{line[: MAX_DIGEST_LENGTH - 1]}…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Perception:
    """What a prompt is built from: the goal, the digest, the last turns, and the seat's own last words."""

    goal: str
    memory: ContextWindow
    own_words: str = ""
