"""A conference for people: every speech, the decision that its minutes hold, the report, and the lines of the live view."""

from dataclasses import replace
from functools import partial
from typing import Final

from moothall.domain.replace import dataclass
from moothall.domain.topic import drop_choice, drop_replies, extract_choice, extract_headline
from moothall.features.roundtable.facts import (
    ConferenceClosed,
    MinutesReturned,
    RoundtableSpeech,
    SpeakerSkipped,
    TalkConcluded,
)
from moothall.features.roundtable.files import explain_skip
from moothall.features.roundtable.rules import RULES
from moothall.features.roundtable.sections import (
    extract_minutes_section,
    extract_speech_section,
    find_missing_sections,
    is_speechlike,
    name_minutes_sections,
    read_actions,
)
from moothall.features.roundtable.state import Conference, NumberedSpeech
from moothall.features.roundtable.words import ROUNDTABLE_REPORT, RoundtableReportText
from moothall.plugins import (
    PATTERNS,
    USER,
    Block,
    ByMinutes,
    Decision,
    Dissent,
    Entry,
    How,
    InputGiven,
    Report,
    SeatId,
    SeatPosition,
    SessionId,
    SessionPhase,
    SourcedClaim,
    SpokenLine,
    Standing,
    TimelineBase,
    TimelineLine,
    Undecided,
    blocks,
    build_line,
    build_section,
    build_table,
    describe_shared_event,
    mark_phases,
    names_nothing,
    one_line,
    sections,
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
    def words(self) -> RoundtableReportText:
        return ROUNDTABLE_REPORT[self.state.opened.language]

    def begin(self, entry: Entry) -> None:
        self._add_line(entry, USER, self.state.opened.topic)

    def follow(self, before: Conference, entry: Entry) -> None:
        fact = entry.fact
        self.skip_entries |= {
            skip.number: entry.seq for skip in self.state.absences[len(before.absences) :]
        }
        for speech in self.state.speeches[len(before.speeches) :]:
            self._add_line(entry, speech.seat, speech.said.content, speech)
        if isinstance(fact, InputGiven):
            self._add_line(entry, USER, fact.text)

    def list_phases(self) -> list[SessionPhase]:
        conference, is_open = self.state, self.state.status == "open"
        most = (
            conference.opened.settings.max_rounds
            if is_open
            else max((turn.round for turn in conference.turns), default=1)
        )
        names = [
            *(self.words.round.format(number=number) for number in range(1, most + 1)),
            self.words.minutes,
        ]
        return mark_phases(
            names, conference.round - 1 if is_open else most + (self.closed is not None)
        )

    def _add_line(
        self, entry: Entry, speaker: SeatId, text: str, speech: NumberedSpeech | None = None
    ) -> None:
        self.lines.append(
            build_line(
                RoundtableTimelineLine, entry, len(self.lines) + 1, speaker, text, speech=speech
            )
        )


def build_decision(timeline: RoundtableTimeline) -> Decision:
    """Build the current decision: what the minutes call the consensus."""
    conference = timeline.state
    closed = timeline.closed if isinstance(timeline.closed, ConferenceClosed) else None
    minutes = (
        conference.minutes.content if closed is not None and conference.minutes is not None else ""
    )
    choice = conference.decided_choice if minutes else ""
    headline = extract_headline(minutes)
    # The line that names the choice may stand in any section.
    minutes = drop_choice(minutes) or minutes
    if conference.user_inputs:
        minutes = drop_replies(minutes)
    agreed, disputed = (
        extract_minutes_section(minutes, "consensus"),
        extract_minutes_section(minutes, "disagreements"),
    )
    disputed = "" if PATTERNS["nothing"].fullmatch(disputed) else disputed
    # Minutes of speeches that nobody gave, or by which nothing is agreed or chosen, decide nothing: the report shows them.
    if (
        not conference.speeches
        or choice is None
        or (agreed and PATTERNS["nothing"].fullmatch(agreed) and not choice)
    ):
        agreed = minutes = choice = ""
    elif agreed and PATTERNS["nothing"].fullmatch(agreed):
        agreed = choice
    if names_nothing(conference.opened.subject.options, choice, agreed or minutes):
        agreed = minutes = choice = ""
    decision = replace(
        sections.start_decision(timeline),
        author=closed.author if closed else None,
        choice=choice,
        positions=_build_positions(timeline),
        answers=sections.list_answers(timeline, conference.answers),
        dissent=(Dissent(seat=None, kind="reported", text=disputed),) if disputed else (),
        asked=conference.speakers,
        standing=_describe_round(timeline),
        how=_explain_ending(timeline, closed),
    )
    if not minutes:
        return decision
    # To declare consensus is to take the side of what the minutes say; nobody can declare against it.
    agreeing = sum(conference.seat(seat).weight for seat in conference.agreeing)
    spoken = sum(conference.seat(seat).weight for seat in conference.speakers)
    backers = tuple(seat for seat in conference.speakers if seat in conference.agreeing)
    actions = read_actions(extract_minutes_section(minutes, "actions"))
    return replace(
        decision,
        decision=SourcedClaim(text=agreed or minutes),
        # How many points the minutes leave open.
        how=ByMinutes(open_points=len(split_points(disputed))),
        headline=headline,
        actions=actions,
        backers=len(conference.agreeing),
        backers_named=backers,
        backing=agreeing / spoken,
    )


def split_points(text: str) -> list[str]:
    """Return the points of a section of minutes: the items of a list, else its paragraphs."""
    items = [line for line in text.splitlines() if line.lstrip().startswith(("-", "*", "•"))]
    if items:
        return items
    return [each for each in text.split("\n\n") if each.strip()]


def _describe_round(timeline: RoundtableTimeline) -> Standing | None:
    """Say which round of a conference is under way, and who has the floor."""
    standing = sections.start_decision(timeline).standing
    conference = timeline.state
    is_talking = standing is not None and standing.progress in {"talk", "sealed", None}
    if standing is None or standing.state != "running" or not is_talking:
        return standing
    most = conference.opened.settings.max_rounds
    return replace(standing, progress="round", number=min(conference.round, most), of=most)


def _explain_ending(timeline: RoundtableTimeline, closed: ConferenceClosed | None) -> How | None:
    """Say why a conference that is over has no decision."""
    if closed is None:
        return None
    if not timeline.state.speeches:
        return Undecided(reason="nobody_spoke")
    if timeline.state.minutes is None or closed.author is None:
        return Undecided(reason="no_minutes")
    return Undecided(reason="nothing_agreed")


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


LONG_AGENDA: Final = 1_200
"""Characters from which on the background is folded up on a page."""


def build_roundtable_report(timeline: RoundtableTimeline) -> Report:
    """The report at any time of a conference."""
    words, decision = timeline.words, build_decision(timeline)
    rows = [
        (
            seat.id,
            " · ".join(part for part in (seat.stance, seat.instructions) if part) or "–",
            seat.platform,
        )
        for seat in timeline.state.seats
    ]
    return sections.build_report(
        timeline,
        decision,
        words,
        argument=(
            *_explain_outcome(timeline, decision, words),
            *_build_disputes(decision, words),
            *build_section(
                words.missing, (blocks.Bullets(tuple(_list_missing(timeline, words)), "bad"),)
            ),
        ),
        record=(
            *_build_minutes(timeline, decision, words),
            *build_section(words.agenda, (_build_agenda(timeline, words),)),
            *build_section(words.speeches, _build_speeches(timeline, words)),
        ),
        seats=build_section(words.roles, (build_table(words.role_heads, rows),)),
        figures=_list_figures(timeline, decision, words),
        section="speeches",
        title=words.conference,
    )


def _explain_outcome(
    timeline: RoundtableTimeline, decision: Decision, words: RoundtableReportText
) -> tuple[Block, ...]:
    """Say what the minutes lack, and which answers they had to choose from where they choose none."""
    lines: list[Block] = []
    is_undecided = decision.decision is None and timeline.closed is not None
    if is_undecided and timeline.state.speeches and timeline.state.decided_choice is None:
        options = " | ".join(map(one_line, timeline.state.opened.subject.options))
        lines.append(blocks.Line(words.no_choice.format(options=options)))
    if isinstance(timeline.closed, ConferenceClosed) and timeline.closed.missing:
        lacking = name_minutes_sections(timeline.closed.missing, words.language)
        lines.append(blocks.Line(words.minutes_lack.format(sections=lacking), "warn"))
    return tuple(lines)


def _list_figures(
    timeline: RoundtableTimeline, decision: Decision, words: RoundtableReportText
) -> list[tuple[str, blocks.Cell]]:
    """Where a conference stands or how it ended, who wrote the minutes, and who declared agreement with them."""
    conference = timeline.state
    rows: list[tuple[str, blocks.Cell]] = []
    if conference.status == "open":
        rows.append((words.now, words.round.format(number=conference.round)))
        rows += [(words.awaited, conference.current), (words.expected, conference.prompt)]
    if conference.status == "concluding":
        rows.append((words.now, words.writing))
        rows += [(words.awaited, seat) for seat in conference.writers[:1]]
    if conference.author is not None:
        rows.append((words.author, conference.author))
    ended = decision.ended_by or conference.ended_by or conference.stop
    if ended is not None:
        rows.append((words.ended_by, words.endings.get(ended, ended)))
    if conference.speeches:
        rows.append((words.declared, _format_declared_consensus(timeline)))
    return rows


def _format_declared_consensus(timeline: RoundtableTimeline) -> blocks.Text:
    """How many of the speakers' last speeches declare consensus, and which."""
    conference = timeline.state
    last = {line.speaker: line.id for line in timeline.lines if line.speech is not None}
    named = [seat for seat in conference.speakers if seat in conference.agreeing and seat in last]
    spans: list[blocks.Span] = [f"{len(named)}/{len(conference.speakers)}"]
    for at, seat in enumerate(named):
        spans += [f"{', ' if at else ': '}{seat} ", blocks.References((last[seat],))]
    return tuple(spans)


def _build_disputes(decision: Decision, words: RoundtableReportText) -> tuple[Block, ...]:
    if decision.decision is None:
        return ()
    voices = [blocks.Card(blocks=(blocks.Quote(voice.text),)) for voice in decision.dissent]
    return build_section(words.disputed, voices or (blocks.Line(words.no_dispute, "dim"),))


def _list_missing(timeline: RoundtableTimeline, words: RoundtableReportText) -> list[str]:
    """Who was skipped, who could not write the minutes, who never spoke."""
    conference = timeline.state
    spoke = {speech.seat for speech in conference.speeches}
    missing: list[str] = []
    for skip in conference.absences:
        reason = explain_skip(skip, words)
        missing.append(words.skipped_in.format(seat=skip.seat, round=skip.round, reason=reason))
    missing += [words.no_writer.format(seat=seat) for seat in conference.writers_lost]
    if conference.status != "open":
        silent = [seat for seat in conference.speakers if seat not in spoke]
        missing += [words.never_spoke.format(seat=seat) for seat in silent]
    return missing


def _build_minutes(
    timeline: RoundtableTimeline, decision: Decision, words: RoundtableReportText
) -> tuple[Block, ...]:
    """The minutes as they were written; nothing where they are the decision, word for word."""
    minutes = timeline.state.minutes
    if minutes is None or (
        decision.decision is not None and decision.decision.text == minutes.content
    ):
        return ()
    return build_section(words.minutes, (blocks.Card(blocks=(blocks.Quote(minutes.content),)),))


def _build_agenda(timeline: RoundtableTimeline, words: RoundtableReportText) -> Block:
    settings = timeline.state.opened.settings
    held = words.rounds_held.format(
        held=max(_list_rounds(timeline), default=0), most=settings.max_rounds
    )
    background: Block = blocks.Quote(settings.agenda)
    if len(settings.agenda) > LONG_AGENDA:
        background = blocks.Details(words.background, (background,))
    order = " → ".join(timeline.state.speakers)
    rows = (
        (words.conference, settings.conference),
        (words.order, order),
        (words.rounds, held),
        (words.opening, settings.prompt),
    )
    return blocks.Card(blocks=(background, blocks.build_fields(rows)))


def _list_rounds(timeline: RoundtableTimeline) -> set[int]:
    """The rounds in which a speech was given or skipped."""
    return {turn.round for turn in timeline.state.turns}


def _build_speeches(timeline: RoundtableTimeline, words: RoundtableReportText) -> list[Block]:
    """Every speech round by round, with the speakers that were skipped in it."""
    content: list[Block] = []
    for number, lines in sorted(_group_by_round(timeline).items()):
        content.append(blocks.Heading(words.round.format(number=number).capitalize(), 3))
        content += [
            timeline.build_once(line.id, (line,), partial(_build_speech, line, words))
            for line in lines
        ]
        skips = [skip for skip in timeline.state.absences if skip.round == number]
        content += [
            blocks.Line(
                f"{words.skipped}: {skip.seat} ({explain_skip(skip, words)})",
                "dim",
                timeline.skip_entries.get(skip.number),
            )
            for skip in skips
        ]
    return content or [blocks.Line(words.nothing_said, "dim")]


def _group_by_round(timeline: RoundtableTimeline) -> dict[int, list[RoundtableTimelineLine]]:
    """What was said in each round; a word of the user's belongs to the speech that follows it."""
    lines_by_round: dict[int, list[RoundtableTimelineLine]] = {
        number: [] for number in _list_rounds(timeline)
    }
    at = timeline.state.round if timeline.state.status == "open" else max(lines_by_round, default=1)
    for line in reversed(timeline.lines[1:]):
        at = at if line.speech is None else line.speech.round
        lines_by_round.setdefault(at, []).append(line)
    return {number: lines[::-1] for number, lines in lines_by_round.items()}


def _build_speech(line: RoundtableTimelineLine, words: RoundtableReportText) -> Block:
    speech = line.speech
    if speech is None:
        return sections.build_line_card(line)
    is_declared = speech.said.consensus or RoundtableSpeech.from_text(line.content).consensus
    marks = [blocks.Mark(words.declares, "good")] if is_declared else []
    if lacking := find_missing_sections(line.content, words.language):
        some = words.some_sections.format(sections=", ".join(lacking))
        marks.append(blocks.Mark(some if is_speechlike(line.content) else words.no_sections, "dim"))
    # Where the speech itself has a section for the next speaker, that is it: once is enough.
    is_apart = one_line(speech.said.prompt) not in one_line(line.content)
    left = (blocks.Fields(((words.prompt, speech.said.prompt),)),) if is_apart else ()
    return sections.build_line_card(
        line, blocks.Muted(words.speech.format(number=speech.number)), *marks, content=left
    )


def add_and_describe_entry(timeline: RoundtableTimeline, entry: Entry) -> list[str]:
    """Add one more entry, and describe it in plain lines."""
    before = len(timeline.lines)
    timeline.add(entry)
    words = timeline.words
    # A speech has the number of its file.
    spoken = [
        (f"{line.speech.number:03d} " if line.speech else "", line)
        for line in timeline.lines[before:]
    ]
    lines: list[str] = [
        SpokenLine(f"{number}{line.speaker}", line.content) for number, line in spoken
    ]
    match entry.fact:
        case SpeakerSkipped(seat=seat):
            lines += [
                f"  ✗ {words.skipped}: {seat} ({explain_skip(skip, words)})"
                for skip in timeline.state.absences[-1:]
            ]
        case TalkConcluded(reason=reason):
            lines.append(f"  ■ {words.endings[reason]}")
        case MinutesReturned(seat=seat, missing=missing):
            lacking = name_minutes_sections(missing, words.language)
            lines.append(f"  ↺ {words.minutes_returned.format(seat=seat, sections=lacking)}")
        case ConferenceClosed(missing=missing) if missing:
            lines.append(
                f"  ! {words.minutes_lack.format(sections=name_minutes_sections(missing, words.language))}"
            )
        case fact:
            event = describe_shared_event(words, fact)
            if event:
                lines.append(f"  {event}")
    return lines
