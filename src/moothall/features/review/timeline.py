"""A review for people: its timeline, the verdict with every finding, the report, and the lines of the live view."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from moothall.domain.topic import join_replies
from moothall.features.review.change import list_left_out, locate_evidence, read_change
from moothall.features.review.facts import (
    AUTHOR,
    ChangeInspected,
    FindingsMerged,
    FindingsWeighed,
    MergedFinding,
    ReviewClosed,
    UnreadFinding,
    Verdict,
)
from moothall.features.review.rules import RULES
from moothall.features.review.state import Review
from moothall.features.review.words import REVIEW_REPORT, ReviewReportText
from moothall.plugins import (
    USER,
    Block,
    ByReview,
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
    SpokenTimeline,
    Undecided,
    blocks,
    build_section,
    copy_fields,
    describe_shared_event,
    mark_phases,
    one_line,
    render_markdown,
    sections,
    shorten_text,
    strip_control,
)
from moothall.reports.decision import DecidedFinding, LostFinding


class ReviewTimeline(SpokenTimeline[Review]):
    """What every seat raised, and how it stands to what the others raised."""

    checks_evidence = True

    def __init__(self, session: SessionId) -> None:
        super().__init__(session, RULES)

    @property
    def words(self) -> ReviewReportText:
        return REVIEW_REPORT[self.state.opened.language]

    def begin(self, entry: Entry) -> None:
        self.say(entry, USER, self.state.opened.topic)

    def follow(self, before: Review, entry: Entry) -> None:
        match entry.fact:
            # An answer that changed nothing came too late and is not shown.
            case ChangeInspected(seat=seat, said=said) if self.state != before:
                lines: list[str] = []
                for finding in said.findings:
                    severity = self.words.severities[finding.severity]
                    lines.append(f"- {finding.file}:{finding.line} · {severity} · {finding.claim}")
                lines += self._describe_unread(said.unread)
                self.say(entry, seat, "\n".join(lines) or self.words.nothing_raised)
            case FindingsWeighed(seat=seat, said=said) if self.state != before:
                lines = []
                for each in said.stands:
                    parts = (f"- F{each.finding}", self.words.stands[each.stand], each.reason)
                    lines.append(" · ".join(filter(None, parts)))
                lines += self._describe_unread(said.unread)
                self.say(entry, seat, "\n".join(lines) or self.words.nothing_said)
            case InputGiven(text=text):
                self.say(entry, USER, text)
            case _:
                pass

    def _describe_unread(self, unread: Sequence[UnreadFinding]) -> list[str]:
        return [f"- {self.words.not_read} · {shorten_text(each.given, 160)}" for each in unread]

    def list_phases(self) -> list[SessionPhase]:
        parts, words = len(self.state.parts), self.words
        names = [words.part.format(number=number, parts=parts) for number in range(1, parts + 1)]
        names += [words.check, words.settle]
        if self.closed:
            return mark_phases(names, len(names))
        return mark_phases(names, self.state.turn - 1)


def list_lost_findings(state: Review) -> tuple[LostFinding, ...] | None:
    """Return what could not be read, once what was raised may be read; None where there is nothing."""
    if state.findings is None and not state.is_closed:
        return None
    lost: list[LostFinding] = []
    for seat, each in (*state.unread, *state.unread_words):
        lost.append(LostFinding(seat=seat, given=each.given, why=each.why, severity=each.severity))
    return tuple(lost) or None


def list_findings(state: Review) -> tuple[DecidedFinding, ...]:
    """Return all findings, with what became of each by what may be read now."""
    return tuple(_build_finding(state, each) for each in state.findings or ())


def _build_finding(state: Review, finding: MergedFinding) -> DecidedFinding:
    stands = state.stands.get(finding.number, {})
    confirming = [seat for seat, each in stands.items() if each.stand == "confirm"]
    disputing = [seat for seat, each in stands.items() if each.stand == "dispute"]
    reasons = [stands[seat].reason for seat in disputing]
    reviewers = tuple(seat for seat in confirming if seat != AUTHOR)
    dissent = tuple(reason for reason in reasons if reason)
    return copy_fields(
        DecidedFinding,
        finding,
        first_line=finding.first,
        last_line=finding.last,
        state=state.rate_finding(finding),
        held_by=reviewers,
        disputed_by=tuple(disputing),
        dissent=dissent,
    )


def build_decision(timeline: ReviewTimeline) -> Decision:
    """Build the verdict so far: none before the end."""
    state, words, stands = timeline.state, timeline.words, timeline.state.stands
    findings = list_findings(state)
    start = replace(
        sections.start_decision(timeline),
        asked=state.reviewers,
        findings=findings,
        lost_findings=list_lost_findings(state),
        answers=sections.list_answers(timeline, join_replies(state.replies)),
    )
    closed = timeline.closed if isinstance(timeline.closed, ReviewClosed) else None
    if closed is None or closed.verdict is None:
        is_open = closed is not None and any(lost.did_not_vote for lost in start.lost)
        return replace(start, outcome_uncertain=is_open, how=_explain_no_verdict(state, closed))
    counts = {
        rated: sum(each.state == rated for each in findings)
        for rated in ("upheld", "dropped", "open", "unquoted")
    }
    severe = {each.number for each in state.findings or () if state.blocks(each.severity)}
    blocking = [each for each in findings if each.number in severe and each.state == "upheld"]
    readers = {seat for part in state.readers.values() for seat in part}
    is_approved = closed.verdict == "approve"
    against_states = {"dropped", "open"} if is_approved else {"upheld"}
    against: list[tuple[SeatId, DecidedFinding]] = []
    for each in findings:
        if each.number in severe and each.state in against_states:
            seats = each.held_by if is_approved else each.disputed_by
            against += [(seat, each) for seat in seats]
    if is_approved:
        holders = readers - {seat for seat, _ in against} - _list_unplaced_seats(state)
    else:
        holders = {seat for each in blocking for seat in each.held_by}
    dissent: list[Dissent] = []
    for seat, each in {(seat, each.number): (seat, each) for seat, each in against}.values():
        text = each.claim if is_approved else stands[each.number][seat].reason
        dissent.append(Dissent(seat=seat, kind="oppose", text=one_line(text)))
    decision = words.verdicts[closed.verdict].format(blocking=len(blocking), **counts)
    held = sum(state.seat(seat).weight for seat in holders)
    return replace(
        start,
        outcome_uncertain=bool(state.list_doubts(closed.verdict)),
        choice=closed.verdict,
        how=_describe_verdict(state, findings, blocking),
        decision=SourcedClaim(text=decision),
        reasons=_list_reasons(timeline, blocking),
        dissent=tuple(dissent),
        positions=_build_positions(timeline, readers),
        backers=len(holders),
        backers_named=tuple(seat for seat in state.reviewers if seat in holders),
        backing=held / sum(state.seat(seat).weight for seat in readers or holders),
    )


def _count_readers(state: Review) -> int:
    """Return how many read all of the change."""
    return len(state.reviewers) - len(state.list_unheard())


def _describe_verdict(
    state: Review, findings: Sequence[DecidedFinding], blocking: Sequence[DecidedFinding]
) -> ByReview:
    """Say what the reviewers hold of a change, how many they are, and what must be mended first."""
    readers = _count_readers(state)
    small = sum(1 for each in findings if each.state == "upheld") - len(blocking)
    if not blocking:
        return ByReview(
            outcome="approve", readers=readers, reviewers=len(state.reviewers), small=small
        )
    worst = min(blocking, key=lambda each: _SEVERITIES.index(each.severity))
    return ByReview(
        outcome="changes",
        readers=readers,
        reviewers=len(state.reviewers),
        faults=len(blocking),
        small=small,
        place=f"{worst.file}:{worst.first_line}",
        claim=worst.claim,
    )


def _explain_no_verdict(state: Review, closed: ReviewClosed | None) -> How | None:
    """Say why a review that is over has no verdict."""
    if closed is None:
        return None
    if closed.reason == "called":
        return Undecided(reason="called")
    if closed.reason in {"tokens", "money", "time"}:
        return Undecided(reason="limit", limit=closed.reason)
    readers = _count_readers(state)
    open_findings = state.list_blocking("open")
    if closed.reason == "disputed" and open_findings:
        claim = open_findings[0].claim
        return ByReview(
            outcome="tied", readers=readers, reviewers=len(state.reviewers), claim=claim
        )
    unplaced = len(state.list_blocking("unquoted")) + len(state.list_unread())
    if unplaced and readers == len(state.reviewers):
        return ByReview(
            outcome="unplaced", readers=readers, reviewers=len(state.reviewers), faults=unplaced
        )
    return ByReview(outcome="few_readers", readers=readers, reviewers=len(state.reviewers))


def _list_reasons(
    timeline: ReviewTimeline, blocking: Sequence[DecidedFinding]
) -> tuple[SourcedClaim, ...]:
    """Return each blocking finding with the lines of those who hold it."""
    lines = {line.speaker: line.id for line in reversed(timeline.lines) if line.speaker != USER}
    reasons: list[SourcedClaim] = []
    for each in blocking:
        text = f"{one_line(each.file)}:{each.first_line} {one_line(each.claim)}"
        entries = sorted({lines[seat] for seat in each.held_by if seat in lines})
        reasons.append(SourcedClaim(text=text, entries=tuple(entries)))
    return tuple(reasons)


def _build_positions(timeline: ReviewTimeline, readers: set[SeatId]) -> tuple[SeatPosition, ...]:
    """What each reader would have said alone: changes where it quoted a fault that blocks."""
    state = timeline.state
    change = read_change(state.opened.subject.context)
    alone: set[SeatId] = set()
    for seat, each in state.raised:
        if not state.blocks(each.severity):
            continue
        if locate_evidence(change, each.file, each.line, each.evidence):
            alone.add(seat)
    unplaced = _list_unplaced_seats(state)
    choices: dict[SeatId, str] = {}
    for seat in readers:
        # Whose finding has no place in the change approves nothing.
        choices[seat] = "" if seat in unplaced else "approve"
        if seat in alone:
            choices[seat] = "request changes"
    positions: list[SeatPosition] = []
    for reader in state.seats:
        if reader.id in readers:
            via = timeline.find_first_door(reader.id, "inspect")
            positions.append(
                SeatPosition(seat=reader.id, choice_before=choices[reader.id], via_before=via)
            )
    return tuple(positions)


def _list_unplaced_seats(state: Review) -> set[SeatId]:
    """The seats that raised what would ask for changes, where code could not read or place it."""
    unplaced: set[SeatId] = set()
    for finding in state.list_blocking("unquoted"):
        unplaced.update(finding.held_by)
    blocking = state.list_unread()
    for seat, unread in state.unread:
        if unread in blocking:
            unplaced.add(seat)
    return unplaced


_SEVERITIES: Final = ("critical", "major", "minor", "note")
MAX_QUOTED_LINES: Final = 12
_TONES: Final[dict[str, blocks.Tone]] = {
    "critical": "bad",
    "major": "bad",
    "minor": "warn",
    "note": "dim",
}
_STATE_TONES: Final[dict[str, blocks.Tone]] = {
    "upheld": "strong",
    "dropped": "dim",
    "open": "warn",
    "unquoted": "dim",
}


def build_review_report(timeline: ReviewTimeline) -> Report:
    words, decision = timeline.words, build_decision(timeline)
    shown = [each for each in decision.findings or () if each.state in {"upheld", "open"}]
    aside = [each for each in decision.findings or () if each.state == "dropped"]
    lines: list[Block] = []
    for line in timeline.lines:
        build_card = partial(sections.build_line_card, line)
        lines.append(timeline.build_once(line.id, (line,), build_card))
    return sections.build_report(
        timeline,
        decision,
        words,
        text=(),
        figures=_list_figures(timeline, words),
        result=(
            *_explain_doubts(timeline, words),
            *build_section(words.findings, [_build_card(each, words) for each in shown]),
            *_build_losses(decision, words),
        ),
        argument=sections.build_lost_seats(decision, words),
        record=(
            *build_section(words.set_aside, [_build_card(each, words) for each in aside]),
            *build_section(words.timeline, lines),
        ),
        title=words.review,
    )


def _build_losses(decision: Decision, words: ReviewReportText) -> tuple[Block, ...]:
    """What was raised and counts for nothing: its quoted lines do not stand in the change, or it could not be read."""
    unquoted = [each for each in decision.findings or () if each.state == "unquoted"]
    unread = [_format_lost(each, words) for each in decision.lost_findings or ()]
    losses: list[Block] = []
    if unquoted:
        cards = tuple(_build_card(each, words) for each in unquoted)
        losses.append(blocks.Details(words.unquoted, cards))
    if unread:
        losses.append(blocks.Details(words.unread, (blocks.Bullets(tuple(unread)),)))
    return build_section(words.losses_raised, losses)


def _format_lost(lost: LostFinding, words: ReviewReportText) -> str:
    severity = words.severities.get(lost.severity or "", "?")
    given = shorten_text(one_line(lost.given), 200)
    return f"{lost.seat} · {severity} · {given} ({one_line(lost.why)})"


def _build_doubts(state: Review, verdict: Verdict | None, words: ReviewReportText) -> list[Block]:
    """Why the verdict could have been another, in words."""
    if verdict is None:
        return []
    doubts = state.list_doubts(verdict)
    if not doubts:
        return []
    figures = {
        "seats": ", ".join(state.list_unheard()),
        "unread": len(state.list_unread()),
        "unplaced": len(state.list_blocking("unquoted")),
    }
    lines: list[Block] = []
    for each in doubts:
        lines.append(blocks.Line(words.doubts[each].format(**figures), "bad"))
    return lines


def _explain_doubts(timeline: ReviewTimeline, words: ReviewReportText) -> list[Block]:
    """Why the verdict of a review that is over could have been another."""
    closed = timeline.closed
    if not isinstance(closed, ReviewClosed):
        return []
    lines = _build_doubts(timeline.state, closed.verdict, words)
    left_out = ", ".join(map(one_line, list_left_out(timeline.state.opened.subject.context)))
    if left_out:
        lines.append(blocks.Fields(((words.left_out, left_out),)))
    return lines


def _list_figures(
    timeline: ReviewTimeline, words: ReviewReportText
) -> list[tuple[str, blocks.Cell]]:
    """How many read each part of the change, and how the review ended."""
    closed, state = timeline.closed, timeline.state
    if not isinstance(closed, ReviewClosed):
        return []
    read: list[str] = []
    for part in range(1, len(state.parts) + 1):
        read.append(f"{len(state.readers.get(part, ()))}/{len(state.reviewers)}")
    ended = words.endings.get(closed.reason, closed.reason)
    return [(words.read_by, ", ".join(read)), (words.ended_by, ended)]


def _build_card(finding: DecidedFinding, words: ReviewReportText) -> Block:
    place = f"{one_line(finding.file)}:{finding.first_line}"
    if finding.last_line != finding.first_line:
        place += f"-{finding.last_line}"
    rows = [
        (words.held_by, ", ".join(finding.held_by) or "–"),
        (words.disputed_by, ", ".join(finding.disputed_by)),
    ]
    for reason in finding.dissent:
        rows.append((words.because, one_line(reason)))
    rows.append((words.settles, one_line(finding.settles)))
    quoted = tuple(strip_control(finding.evidence).split("\n")[:MAX_QUOTED_LINES])
    return blocks.Card(
        head=(
            blocks.Strong(f"F{finding.number} {place}"),
            blocks.Mark(words.severities[finding.severity], _TONES[finding.severity]),
            blocks.Muted(words.concerns[finding.concern]),
            blocks.Mark(words.states[finding.state], _STATE_TONES[finding.state]),
        ),
        blocks=(
            blocks.Quote(finding.claim),
            blocks.Preformatted(quoted),
            *_build_fix(finding, words),
            blocks.build_fields(rows),
        ),
    )


def _build_fix(finding: DecidedFinding, words: ReviewReportText) -> tuple[Block, ...]:
    """The lines that a reviewer suggests in place of the quoted ones."""
    if not finding.fix:
        return ()
    lines = tuple(f"+ {line}" for line in strip_control(finding.fix).split("\n"))
    return (blocks.Line(words.fix), blocks.Preformatted(lines))


def render_summary(timeline: ReviewTimeline) -> str:
    """Render the verdict and the findings as Markdown, without the record: what a comment on a change holds."""
    return render_markdown(replace(build_review_report(timeline), record=(), folds=()))


def add_and_describe_entry(timeline: ReviewTimeline, entry: Entry) -> list[str]:
    """Add one more entry, and describe it in plain lines."""
    before = list(timeline.lines)
    timeline.add(entry)
    words = timeline.words
    # A sealed line is shown a second time, with its words, as soon as they may be read.
    lines: list[str] = []
    for at, line in enumerate(timeline.lines):
        if at >= len(before) or line != before[at]:
            text = shorten_text(one_line(line.content), 160)
            lines.append(f"#{line.id} {line.speaker}: {text}")
    match entry.fact:
        case FindingsMerged(findings=findings):
            unquoted = sum(not each.is_quoted for each in findings)
            lines.append(
                f"  = {words.merged.format(count=len(findings), raised=len(timeline.state.raised), unquoted=unquoted)}"
            )
        case ReviewClosed(reason=reason):
            lines.append(f"  ■ {words.endings.get(reason, reason)}")
        case fact:
            event = describe_shared_event(words, fact)
            if event:
                lines.append(f"  {event}")
    return lines
