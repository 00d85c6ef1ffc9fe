"""The state of a conference."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Literal

from moothall.domain.replace import dataclass
from moothall.domain.topic import (
    drop_choice,
    drop_replies,
    extract_choice,
    index_replies,
    read_replies,
)
from moothall.features.roundtable.facts import (
    MODERATOR,
    ConferenceOpened,
    EndReason,
    Minutes,
    RoundtableSpeech,
)
from moothall.features.roundtable.sections import MinutesSection, extract_minutes_section
from moothall.plugins import (
    PATTERNS,
    BadAnswer,
    Loss,
    ProtocolState,
    SeatId,
    build_choices,
    names_nothing,
)
from moothall.reading.non_answers import check_beside
from moothall.reading.stated import read_option

Status = Literal["open", "concluding", "closed"]
RECENT = 3
"""How many speeches a speaker reads; older ones on request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedSpeech:
    """A speech with its number, which counts all turns from 1, including skipped ones; `seq` is its ledger entry."""

    number: int
    seq: int
    at: datetime
    round: int
    seat: SeatId
    said: RoundtableSpeech


@dataclass(frozen=True, slots=True, kw_only=True)
class SkippedTurn:
    """A skipped turn: it has a number like a speech. `detail` is the reason as it was recorded."""

    number: int
    at: datetime
    round: int
    seat: SeatId
    reason: Loss
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberedInput:
    """An input of the user's with its number, which counts inputs from 1; `after` turns were finished when it came."""

    number: int
    after: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Conference(ProtocolState):
    """The state. It has no slots, for `fast_replace`.

    `turn` counts asks, `failed` how often the current speaker has failed in its turn; `inputs` are all inputs of the user's.
    `agreeing` are the speakers whose last speech declares consensus. `writers_lost` failed to write the minutes. `returned` are
    the minutes that were sent back to `returned_to` because sections were `missing` from them. `is_put_again`: the user spoke while
    they were out, so that they were asked for once more.
    """

    opened: ConferenceOpened
    is_concluding: bool = False
    round: int = 1
    index: int = 0
    turn: int = 1
    failed: int = 0
    last_loss: Loss = "error"
    last_detail: str = ""
    prompt: str = ""
    speeches: tuple[NumberedSpeech, ...] = ()
    agreeing: frozenset[SeatId] = frozenset()
    inputs: tuple[NumberedInput, ...] = ()
    absences: tuple[SkippedTurn, ...] = ()
    ended_by: EndReason | None = None
    writers_lost: tuple[SeatId, ...] = ()
    minutes: Minutes | None = None
    author: SeatId | None = None
    returned: Minutes | None = None
    returned_to: SeatId | None = None
    missing: tuple[MinutesSection, ...] = ()
    is_put_again: bool = False

    @property
    def answers(self) -> Mapping[int, str]:
        """What the minutes answer to each of the user's later words."""
        content = self.minutes.content if self.minutes is not None else ""
        return index_replies(read_replies(content))

    @property
    def answered_inputs(self) -> Collection[int]:
        return self.answers

    @property
    def decided_choice(self) -> str | None:
        """What the minutes choose; empty if nothing was agreed, None if they do not name exactly one of the options."""
        content, options = self.minutes.content if self.minutes else "", self.opened.subject.options
        marked = (self.minutes.choice if self.minutes else "") or extract_choice(content)
        is_open = self.opened.frame is not None
        if names_nothing(options, marked):
            if is_open:
                return ""
            marked = ""
        text = drop_choice(content) or content
        if self.user_inputs:
            text = drop_replies(text)
        agreed = extract_minutes_section(text, "consensus") or text
        if not options or (not marked and PATTERNS["nothing"].fullmatch(agreed)):
            return marked
        choice = read_option(marked or agreed, build_choices(options))
        try:
            check_beside({"choice": choice}, "minutes", agreed, options)
        except BadAnswer:
            return None
        if is_open and choice is None:
            return marked
        return choice

    @property
    def taken(self) -> int:
        """The number of finished turns, spoken or skipped."""
        return len(self.speeches) + len(self.absences)

    @property
    def turns(self) -> tuple["NumberedSpeech | SkippedTurn", ...]:
        return tuple(sorted((*self.speeches, *self.absences), key=lambda turn: turn.number))

    @property
    def status(self) -> Status:
        """Where the conference stands, as `turn.json` names it."""
        if self.is_closed:
            return "closed"
        return "concluding" if self.is_concluding else "open"

    @property
    def speakers(self) -> tuple[SeatId, ...]:
        return tuple(seat.id for seat in self.seats if seat.id != MODERATOR)

    @property
    def current(self) -> SeatId:
        """Whose turn it is, as `turn.json` names it."""
        if self.status == "open":
            return self.speakers[self.index]
        return MODERATOR if self.has_moderator else next(iter(self.writers), self.speakers[0])

    def find_new_inputs(self, role: SeatId) -> tuple[NumberedInput, ...]:
        """Return the inputs that a role has not answered yet: those since its last speech; for the moderator all of them."""
        if not self.inputs or role == MODERATOR:
            return self.inputs
        spoke = next(
            (speech.number for speech in reversed(self.speeches) if speech.seat == role), 0
        )
        return tuple(each for each in self.inputs if each.after >= spoke)

    @property
    def recent(self) -> tuple[NumberedSpeech, ...]:
        return self.speeches[-RECENT:]

    @property
    def writers(self) -> tuple[SeatId, ...]:
        """Who may write the minutes, in order: the moderator if there is one, then the speakers."""
        moderators = (MODERATOR,) if self.has_moderator else ()
        return tuple(
            seat for seat in (*moderators, *self.speakers) if seat not in self.writers_lost
        )

    @property
    def has_moderator(self) -> bool:
        return any(seat.id == MODERATOR for seat in self.seats)
