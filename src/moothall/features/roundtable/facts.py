"""The facts of a conference, and the shapes of its answers.

Pydantic copies the docstrings of the answer shapes into the JSON schema that models receive, so they are prompt text.
"""

import re
from typing import Annotated, Final, Literal, Self

from annotated_types import Ge, Gt, Le, MaxLen, MinLen

from moothall.domain.replace import dataclass
from moothall.domain.topic import Headline, drop_choice, extract_choice, extract_headline
from moothall.features.roundtable.sections import MinutesSection
from moothall.plugins import MAX_LABEL_LENGTH, Closed, Fact, Loss, Opened, Reply, SeatId, add_kind
from moothall.reading.choices import POSITIONS
from moothall.reading.stated import find_choice

Text = Annotated[str, MinLen(1), MaxLen(50_000)]
Line = Annotated[str, MaxLen(2_000)]
Short = Annotated[str, MaxLen(MAX_LABEL_LENGTH)]
Seconds = Annotated[float, Gt(0), Le(31_536_000)]
EndReason = Literal["rounds", "consensus", "called", "tokens", "money", "time"]

MODERATOR: Final = SeatId("moderator")
MAX_ROUNDS: Final = 100

_NEXT = re.compile(
    r"^#{1,4}[ \t]*(?:给下一位|提示下一位|下一位|for the next speaker|next speaker)[ \t]*[:：]?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_HEADING = re.compile(r"^#{1,4}\s", re.MULTILINE)
_CONSENSUS = re.compile(r"^[ \t]*\[(?:共识|consensus)\][ \t]*$", re.IGNORECASE | re.MULTILINE)

# A seat's own vote, and not what a conference came to.
_OWN_VOTE = re.compile(
    r"\W*(?:(?:ok|okay|well|so|好的|嗯)\W+)?(?:I|my|vote|position|oppose|abstain|against|我|投票|立场|反对|反對|弃权|棄權)",
    re.IGNORECASE,
)

KINDS: Final[dict[str, type[Fact]]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundtableSettings:
    """The settings of a conference. `agenda` is its background, `prompt` the instruction to the first speaker."""

    max_rounds: Annotated[int, Ge(1), Le(MAX_ROUNDS)] = 3
    conference: Annotated[str, MaxLen(80)] = ""
    agenda: Annotated[str, MaxLen(50_000)] = ""
    prompt: Line = ""
    patience: Seconds = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundtableSpeech:
    """A speech as it is written, word for word. `prompt` is what the speaker leaves for the next one.

    `choice` is its answer in a few words; it counts where nobody has spoken before.
    """

    content: Text
    prompt: Line = ""
    consensus: bool = False
    choice: Short = ""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse the markers in a speech: a section for the next speaker, a line `[CONSENSUS]`, and a line `[CHOICE] …`."""
        agrees = _CONSENSUS.search(text) is not None
        return cls(
            content=text.strip(),
            prompt=extract_next_prompt(text),
            consensus=agrees,
            choice=extract_choice(text),
        )


def extract_next_prompt(text: str) -> str:
    """Return what a speech says to the next speaker; empty if it says nothing."""
    heading = _NEXT.search(text)
    if heading is None:
        return ""
    rest = text[heading.end() :]
    following = _HEADING.search(rest)
    words = " ".join(
        drop_choice(_CONSENSUS.sub("", rest[: following.start()] if following else rest)).split()
    )
    return words[:2_000]


@dataclass(frozen=True, slots=True, kw_only=True)
class Minutes:
    """The minutes as the moderator writes them, word for word; `choice` is what was decided in a few words, `headline` in one sentence."""

    content: Text
    choice: Short = ""
    headline: Headline = ""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Read minutes. Raises ValueError when they are a vote against and no more: such a vote says nothing that was agreed."""
        read = find_choice(text, POSITIONS) if _OWN_VOTE.match(text) else None
        if read is not None and read.value in {"oppose", "abstain"}:
            raise ValueError(
                "the minutes of the conference were expected, and this is one position"
            )
        return cls(
            content=text.strip(), choice=extract_choice(text), headline=extract_headline(text)
        )


@add_kind(KINDS, "roundtable.opened")
class ConferenceOpened(Opened):
    """The opening. `seats` are the speakers in order, the moderator last."""

    settings: RoundtableSettings = RoundtableSettings()

    @property
    def neutral(self) -> frozenset[SeatId]:
        return frozenset({MODERATOR})


@add_kind(KINDS, "roundtable.speech_given")
class SpeechGiven(Reply):
    said: RoundtableSpeech


@add_kind(KINDS, "roundtable.speaker_skipped")
class SpeakerSkipped(Fact):
    """A speaker failed twice in its turn; the conference continued."""

    round: int
    seat: SeatId
    reason: Loss


@add_kind(KINDS, "roundtable.talk_concluded")
class TalkConcluded(Fact):
    """The speeches are over; the moderator writes the minutes."""

    round: int
    reason: EndReason


@add_kind(KINDS, "roundtable.minutes_written")
class MinutesWritten(Reply):
    said: Minutes


@add_kind(KINDS, "roundtable.minutes_returned")
class MinutesReturned(Fact):
    """The minutes lack these sections: their author is asked for them once more."""

    seat: SeatId
    missing: tuple[MinutesSection, ...]


@add_kind(KINDS, "roundtable.closed")
class ConferenceClosed(Closed):
    """The end of a conference. Without an `author` nobody could write the minutes, and they were built from the speeches.

    `missing` are the sections that the minutes lack all the same, after they were sent back.
    """

    reason: EndReason
    author: SeatId | None
    missing: tuple[MinutesSection, ...] = ()
