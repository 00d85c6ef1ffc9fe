"""The timeline of a conference: every speech, and the decision that its minutes hold."""

import re
from dataclasses import dataclass, replace

from moothall.domain.facts import Entry, InputGiven
from moothall.domain.ids import USER, SeatId, SessionId
from moothall.domain.topic import drop_choice, extract_choice
from moothall.locale.catalogues import ROUNDTABLE_REPORT, RoundtableReportText
from moothall.protocols.roundtable.facts import ConferenceClosed
from moothall.protocols.roundtable.rules import RULES
from moothall.protocols.roundtable.sections import extract_minutes_section, extract_speech_section
from moothall.protocols.roundtable.state import Conference, NumberedSpeech, SkippedTurn
from moothall.reports.decision import Decision, Dissent, SeatPosition, SourcedClaim
from moothall.reports.sections import start_decision
from moothall.reports.timeline import SessionPhase, TimelineBase, TimelineLine, build_line, mark_phases

_NOTHING = re.compile(
    r"[\s*•–-]*(?:none|nothing|no (?:disagreements?|consensus|agreement)|"
    r"[暂暫尚]?[无無]|[没沒]有|(?:[尚并並]?未|[没沒]有)[达達]成)?"
    r"(?: (?:yet|so far|was reached|has been reached|was agreed(?: on)?))?(?:分歧|共[识識]|一致)?[\s.。]*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundtableTimelineLine(TimelineLine):
    """A speech, the question or an input of the user."""

    speech: NumberedSpeech | None = None


class RoundtableTimeline(TimelineBase[Conference]):
    """All speeches and skipped turns of a conference."""

    def __init__(self, session: SessionId) -> None:
        super().__init__(session, RULES)
        self.lines: list[RoundtableTimelineLine] = []
        self.skip_entries: dict[int, int] = {}

    @property
    def skips(self) -> tuple[SkippedTurn, ...]:
        return self.state.absences

    @property
    def words(self) -> RoundtableReportText:
        return ROUNDTABLE_REPORT[self.state.opened.language]

    def begin(self, entry: Entry) -> None:
        self._add_line(entry, USER, self.state.opened.topic)

    def follow(self, before: Conference, entry: Entry) -> None:
        fact = entry.fact
        self.skip_entries |= {skip.number: entry.seq for skip in self.state.absences[len(before.absences) :]}
        for speech in self.state.speeches[len(before.speeches) :]:
            self._add_line(entry, speech.seat, speech.said.content, speech)
        if isinstance(fact, InputGiven):
            self._add_line(entry, USER, fact.text)

    def list_phases(self) -> list[SessionPhase]:
        conference, is_open = self.state, self.state.status == "open"
        most = conference.opened.settings.max_rounds if is_open else max((turn.round for turn in conference.turns), default=1)
        names = [*(self.words.round.format(number=number) for number in range(1, most + 1)), self.words.minutes]
        return mark_phases(names, conference.round - 1 if is_open else most + (self.closed is not None))

    def _add_line(self, entry: Entry, speaker: SeatId, text: str, speech: NumberedSpeech | None = None) -> None:
        self.lines.append(build_line(RoundtableTimelineLine, entry, len(self.lines) + 1, speaker, text, speech=speech))


def build_decision(timeline: RoundtableTimeline) -> Decision:
    """Build the current decision: what the minutes call the consensus."""
    conference = timeline.state
    closed = timeline.closed if isinstance(timeline.closed, ConferenceClosed) else None
    minutes = conference.minutes.content if closed is not None and conference.minutes is not None else ""
    choice = (conference.minutes.choice or extract_choice(minutes)) if minutes and conference.minutes is not None else ""
    # The line that names the choice may stand in any section.
    minutes = drop_choice(minutes) or minutes
    agreed, disputed = extract_minutes_section(minutes, "consensus"), extract_minutes_section(minutes, "disagreements")
    disputed = "" if _NOTHING.fullmatch(disputed) else disputed
    # Minutes of speeches that nobody gave, or by which nothing was agreed, decide nothing: they stand in the report as they are.
    if not conference.speeches or (agreed and _NOTHING.fullmatch(agreed) and not choice):
        agreed = minutes = choice = ""
    elif agreed and _NOTHING.fullmatch(agreed):
        agreed = choice
    spoken = sum(conference.seat(seat).weight for seat in conference.speakers)
    start = start_decision(timeline)
    return replace(
        start,
        ended_by=closed.reason if closed else start.ended_by,
        decision=SourcedClaim(text=agreed or minutes) if minutes else None,
        author=closed.author if closed else None,
        choice=choice,
        positions=_build_positions(timeline),
        # To declare consensus is to take the side of what the minutes say; nobody can declare against it.
        backers=len(conference.agreeing) if minutes else 0,
        backing=sum(conference.seat(seat).weight for seat in conference.agreeing) / spoken if minutes else None,
        dissent=(Dissent(seat=None, kind="reported", text=disputed),) if disputed else (),
    )


def _build_positions(timeline: RoundtableTimeline) -> tuple[SeatPosition, ...]:
    """Build where the first speaker stood: nobody else speaks before it has heard others."""
    if not timeline.state.speeches:
        return ()
    first = timeline.state.speeches[0]
    choice = first.said.choice or extract_choice(first.said.content)
    position = SeatPosition(
        seat=first.seat,
        before=extract_speech_section(first.said.content, 0) or None,
        choice_before=choice,
        via_before=timeline.find_first_door(first.seat, "speech"),
    )
    return (position,) if choice else ()
