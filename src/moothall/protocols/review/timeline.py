"""The timeline of a review, and its decision: the verdict with every finding."""

from dataclasses import replace

from moothall.domain.facts import Entry, InputGiven
from moothall.domain.ids import USER, SeatId, SessionId
from moothall.domain.replace import copy_fields
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import REVIEW_REPORT, ReviewReportText
from moothall.protocols.review.change import locate_evidence, read_change
from moothall.protocols.review.facts import AUTHOR, ChangeInspected, FindingsWeighed, MergedFinding, ReviewClosed
from moothall.protocols.review.rules import RULES
from moothall.protocols.review.state import Review
from moothall.reports.decision import DecidedFinding, Decision, Dissent, SeatPosition, SourcedClaim
from moothall.reports.sections import start_decision
from moothall.reports.timeline import SessionPhase, SpokenTimeline, mark_phases


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
                raised = [f"- {each.file}:{each.line} · {each.severity} · {each.claim}" for each in said.findings]
                self.say(entry, seat, "\n".join(raised) or self.words.nothing_raised)
            case FindingsWeighed(seat=seat, said=said) if self.state != before:
                stands = [f"- F{each.finding} · {self.words.stands[each.stand]} · {each.reason}" for each in said.stands]
                self.say(entry, seat, "\n".join(stands) or self.words.nothing_said)
            case InputGiven(text=text):
                self.say(entry, USER, text)
            case _:
                pass

    def list_phases(self) -> list[SessionPhase]:
        parts, words = len(self.state.parts), self.words
        names = [words.part.format(number=number, parts=parts) for number in range(1, parts + 1)]
        return mark_phases([*names, words.check, words.settle], parts + 2 if self.closed else self.state.turn - 1)


def list_findings(state: Review) -> tuple[DecidedFinding, ...]:
    """Return all findings, with what became of each by what may be read now."""
    return tuple(_build_finding(state, each) for each in state.findings or ())


def _build_finding(state: Review, finding: MergedFinding) -> DecidedFinding:
    stands = state.stands.get(finding.number, {})
    disputing = [seat for seat, each in stands.items() if each.stand == "dispute"]
    return copy_fields(
        DecidedFinding,
        finding,
        first_line=finding.first,
        last_line=finding.last,
        state=state.rate_finding(finding),
        held_by=tuple(seat for seat, each in stands.items() if each.stand == "confirm" and seat != AUTHOR),
        disputed_by=tuple(disputing),
        dissent=tuple(stands[seat].reason for seat in disputing if stands[seat].reason),
    )


def build_decision(timeline: ReviewTimeline) -> Decision:
    """Build the verdict so far: none before the end."""
    state, words = timeline.state, timeline.words
    start, findings = start_decision(timeline), list_findings(state)
    closed = timeline.closed if isinstance(timeline.closed, ReviewClosed) else None
    if closed is None or closed.verdict is None:
        return replace(start, findings=findings, ended_by=closed.reason if closed else start.ended_by)
    counts = {rated: sum(each.state == rated for each in findings) for rated in ("upheld", "dropped", "open", "unquoted")}
    severe = {each.number for each in state.findings or () if state.blocks(each.severity)}
    blocking = [each for each in findings if each.number in severe and each.state == "upheld"]
    readers = {seat for part in state.readers.values() for seat in part}
    is_approved = closed.verdict == "approve"
    against = [
        (seat, each)
        for each in findings
        if each.number in severe
        for seat in (each.held_by if is_approved else each.disputed_by)
        if each.state in ({"dropped", "open"} if is_approved else {"upheld"})
    ]
    holders = readers - {seat for seat, _ in against} if is_approved else {seat for each in blocking for seat in each.held_by}
    lines = {line.speaker: line.id for line in reversed(timeline.lines) if line.speaker != USER}
    return replace(
        start,
        findings=findings,
        ended_by=closed.reason,
        choice=closed.verdict,
        decision=SourcedClaim(text=words.verdicts[closed.verdict].format(blocking=len(blocking), **counts)),
        reasons=tuple(
            SourcedClaim(
                text=f"{one_line(each.file)}:{each.first_line} {one_line(each.claim)}",
                entries=tuple(sorted({lines[seat] for seat in each.held_by if seat in lines})),
            )
            for each in blocking
        ),
        dissent=tuple(
            Dissent(seat=seat, kind="oppose", text=one_line(each.claim if is_approved else " ".join(each.dissent)))
            for seat, each in {(seat, each.number): (seat, each) for seat, each in against}.values()
        ),
        positions=_build_positions(timeline, readers),
        backers=len(holders),
        backing=sum(state.seat(seat).weight for seat in holders) / sum(state.seat(seat).weight for seat in readers or holders),
    )


def _build_positions(timeline: ReviewTimeline, readers: set[SeatId]) -> tuple[SeatPosition, ...]:
    """What each reader would have said alone: changes where it quoted a fault that blocks."""
    state = timeline.state
    change = read_change(state.opened.subject.context)
    alone = {
        seat
        for seat, each in state.raised
        if state.blocks(each.severity) and locate_evidence(change, each.file, each.line, each.evidence)
    }
    return tuple(
        SeatPosition(
            seat=seat.id,
            choice_before="request changes" if seat.id in alone else "approve",
            via_before=timeline.find_first_door(seat.id, "inspect"),
        )
        for seat in state.seats
        if seat.id in readers
    )
