"""The state of a review, and what code makes of it: merged findings, what became of each, and the verdict."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from moothall.domain.topic import UserReply
from moothall.features.review import facts
from moothall.features.review.change import (
    ChangedFile,
    QuotedPlace,
    locate_evidence,
    read_change,
    split_parts,
)
from moothall.features.review.fixes import fit_fix
from moothall.plugins import ProtocolState, SeatId, copy_fields
from moothall.scoring.likeness import ABOUT_ONE_SUBJECT, measure_by_words

FindingState = Literal["upheld", "dropped", "open", "unquoted"]
Doubt = Literal["unheard", "unread", "unplaced", "missing"]
"""Why a verdict could have been another: a reviewer did not read all of the change, a finding that may ask for changes could not be
read, or its quoted lines stand nowhere, or words that are missing could have turned what became of one."""

ALIKE_ON_A_LINE: Final = 0.2
"""How alike the words of two findings are, on the same line and of one concern, that are one: one line may have two faults."""
NEAR_LINES: Final = 2
"""How far apart two places may lie that are one."""
_RANKS: Final = {severity: rank for rank, severity in enumerate(facts.SEVERITIES)}


def rank_severity(severity: facts.Severity) -> int:
    """0 for the worst."""
    return _RANKS[severity]


Report = facts.FindingsReport | facts.StandsReport


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """How many findings were raised, and how many parts of answers could not be read."""

    raised: int = 0
    unread: int = 0
    unread_words: int = 0
    replies: int = 0


@dataclass(frozen=True, kw_only=True)
class Review(ProtocolState):
    """The state. It has no slots, for `fast_replace`.

    `turn` counts the parts of the change, then the check of findings, then the vote on disputed ones. `answered` are the seats
    that answered or failed in this turn, `raised` what was raised so far, `unread` and `unread_words` what of it and of the words on
    findings could not be read, `readers` who read each part. `stands` holds the last
    word of each seat on each finding, up to the entry `opened_up_to`; `fresh` are the words of this turn, which nobody reads yet.
    `before` is how much was heard when the turn began, `said` the answers since. `is_put_again`: the user spoke while the words on
    findings, or on the last part, were out, so that all were asked once more; `earlier` counts where a seat is lost then.
    `replies` is what seats answer to the user.
    """

    opened: facts.ReviewOpened
    turn: int = 1
    answered: frozenset[SeatId] = frozenset()
    raised: tuple[tuple[SeatId, facts.RaisedFinding], ...] = ()
    unread: tuple[tuple[SeatId, facts.UnreadFinding], ...] = ()
    unread_words: tuple[tuple[SeatId, facts.UnreadFinding], ...] = ()
    readers: Mapping[int, tuple[SeatId, ...]] = field(default_factory=dict)
    findings: tuple[facts.MergedFinding, ...] | None = None
    stands: Mapping[int, Mapping[SeatId, facts.FindingStand]] = field(default_factory=dict)
    fresh: tuple[tuple[SeatId, facts.FindingStand], ...] = ()
    opened_up_to: int = 0
    before: Heard = Heard()
    said: Mapping[SeatId, Report] = field(default_factory=dict)
    earlier: Mapping[SeatId, Report] = field(default_factory=dict)
    is_put_again: bool = False
    replies: tuple[tuple[SeatId, tuple[UserReply, ...]], ...] = ()

    @property
    def ask_number(self) -> int:
        """The number in the ids of this turn's asks: those that were put again have others than all turns."""
        if not self.is_put_again:
            return self.turn
        return self.turn + len(self.parts) + 2

    @property
    def parts(self) -> tuple[tuple[ChangedFile, ...], ...]:
        return split_parts(self.opened.subject.context, self.opened.settings.part_size)

    @property
    def reviewers(self) -> tuple[SeatId, ...]:
        """The seats that review: all but the author's."""
        return tuple(seat.id for seat in self.seats if seat.id != facts.AUTHOR)

    @property
    def kind(self) -> str:
        """What is asked in this turn; empty if nothing is."""
        if self.findings is None:
            return facts.INSPECT if self.turn <= len(self.parts) else ""
        return {len(self.parts) + 1: facts.CHECK, len(self.parts) + 2: facts.SETTLE}.get(
            self.turn, ""
        )

    @property
    def is_sealed(self) -> bool:
        return not self.is_closed

    @property
    def sealed_after(self) -> int:
        return self.opened_up_to

    def list_questions(self, seat: SeatId) -> tuple[facts.MergedFinding, ...]:
        """The findings that a seat is asked about in this turn, the worst first."""
        findings = [each for each in self.findings or () if each.is_quoted]
        if self.kind == facts.SETTLE:
            findings = [
                each for each in findings if seat != facts.AUTHOR and self.is_disputed(each.number)
            ]
        elif seat != facts.AUTHOR:
            # What most raised blind needs no second look.
            findings = [
                each
                for each in findings
                if seat not in each.held_by and 2 * len(each.held_by) <= len(self.reviewers)
            ]
        ordered = sorted(findings, key=lambda each: (rank_severity(each.severity), each.number))
        return tuple(ordered[: facts.MAX_FINDINGS])

    def list_asked(self) -> tuple[SeatId, ...]:
        if self.kind in {facts.CHECK, facts.SETTLE}:
            return tuple(seat.id for seat in self.seats if self.list_questions(seat.id))
        return self.reviewers if self.kind else ()

    def is_disputed(self, number: int) -> bool:
        """Whether a seat disputes a finding; what the author says against it is weighed by the reviewers."""
        return any(each.stand == "dispute" for each in self.stands.get(number, {}).values())

    def rate_finding(self, finding: facts.MergedFinding) -> FindingState:
        """What became of a finding: each seat counts once, and one without evidence in the change counts for nothing."""
        lead = self._count_lead(finding)
        if not finding.is_quoted:
            return "unquoted"
        if lead == 0 or self._is_lone(finding):
            return "open"
        return "upheld" if lead > 0 else "dropped"

    def _list_stands(self, finding: facts.MergedFinding) -> list[facts.FindingStand]:
        stands = self.stands.get(finding.number, {})
        return [each for seat, each in stands.items() if seat != facts.AUTHOR]

    def _count_lead(self, finding: facts.MergedFinding) -> int:
        """How many more seats confirm a finding than dispute it."""
        words = [each.stand for each in self._list_stands(finding)]
        return words.count("confirm") - words.count("dispute")

    def _is_lone(self, finding: facts.MergedFinding) -> bool:
        """Whether one seat alone holds a finding, and those who looked at it as well cannot tell: it is neither upheld nor dropped."""
        words = [each.stand for each in self._list_stands(finding)]
        return words.count("confirm") == 1 and words.count("unsure") > 1

    def blocks(self, severity: facts.Severity) -> bool:
        """Whether a finding of this severity asks for changes."""
        return rank_severity(severity) <= rank_severity(self.opened.settings.block)

    def list_blocking(self, rated: FindingState) -> list[facts.MergedFinding]:
        return [
            each
            for each in self.findings or ()
            if self.blocks(each.severity) and self.rate_finding(each) == rated
        ]

    def list_unheard(self) -> tuple[SeatId, ...]:
        """The reviewers who did not read all of the change: what they would have raised is not known."""
        unheard: dict[SeatId, None] = {}
        for part in range(1, len(self.parts) + 1):
            readers = self.readers.get(part, ())
            unheard |= dict.fromkeys(seat for seat in self.reviewers if seat not in readers)
        return tuple(unheard)

    def list_unread(self) -> list[facts.UnreadFinding]:
        """What was raised, could not be read, and may ask for changes."""
        unread: list[facts.UnreadFinding] = []
        for _, each in self.unread:
            if each.severity is None or self.blocks(each.severity):
                unread.append(each)
        return unread

    def list_turned(self, rated: FindingState) -> list[facts.MergedFinding]:
        """The findings that would ask for changes, and with the missing words on them could have become something else."""
        return list(filter(self._could_turn, self.list_blocking(rated)))

    def _could_turn(self, finding: facts.MergedFinding) -> bool:
        missing = len(self.reviewers) - len(self._list_stands(finding))
        return 0 < abs(self._count_lead(finding)) <= missing

    def list_doubts(self, verdict: facts.Verdict) -> tuple[Doubt, ...]:
        """Why a verdict could have been another."""
        if verdict == "request changes":
            turned = self.list_turned("upheld")
            return ("missing",) if len(turned) == len(self.list_blocking("upheld")) else ()
        doubts: list[Doubt] = []
        if self.list_unheard():
            doubts.append("unheard")
        if self.list_unread():
            doubts.append("unread")
        if self.list_blocking("unquoted"):
            doubts.append("unplaced")
        if self.list_turned("dropped"):
            doubts.append("missing")
        return tuple(doubts)

    def is_read(self) -> bool:
        """Whether more than half of the seats read each part of the change."""
        return bool(self.parts) and all(
            2 * len(self.readers.get(part, ())) > len(self.reviewers)
            for part in range(1, len(self.parts) + 1)
        )

    def reach_verdict(self) -> tuple[facts.Verdict | None, facts.ReviewEnding]:
        """The verdict, and how the review ends: a finding that blocks asks for changes; only what most have read is approved."""
        if self.stop is not None:
            return None, self.stop
        if self.list_blocking("upheld"):
            return "request changes", "reviewed"
        if self.list_blocking("open"):
            return None, "disputed"
        return ("approve", "reviewed") if self.is_read() else (None, "incomplete")


@dataclass(frozen=True, slots=True)
class _PlacedFinding:
    seat: SeatId
    raised: facts.RaisedFinding
    place: QuotedPlace | None

    @property
    def lines(self) -> QuotedPlace:
        return self.place or QuotedPlace(
            self.raised.file, max(1, self.raised.line), max(1, self.raised.line)
        )


def merge_findings(state: Review) -> tuple[facts.MergedFinding, ...]:
    """Make one finding of what several seats say alike of the same lines; those with evidence stand first in each file.

    What one seat raises apart stays apart: it means two faults.
    """
    change = read_change(state.opened.subject.context)
    placed = [
        _PlacedFinding(seat, each, locate_evidence(change, each.file, each.line, each.evidence))
        # Word for word the same, it was said twice.
        for seat, each in dict.fromkeys(state.raised)
    ]
    groups: list[list[_PlacedFinding]] = []
    for each in placed:
        alike = [group for group in groups if _belongs_to(each, group)]
        if alike:
            max(alike, key=lambda group: _measure_likeness(each, group)).append(each)
        else:
            groups.append([each])
    order = {file.name: at for at, file in enumerate(change)}
    groups.sort(
        key=lambda group: (
            group[0].place is None,
            order.get(group[0].lines.file, len(order)),
            group[0].lines.first,
        )
    )
    return tuple(_merge_group(number, group, change) for number, group in enumerate(groups, 1))


def _belongs_to(one: _PlacedFinding, group: Sequence[_PlacedFinding]) -> bool:
    is_alike = False
    for other in group:
        if other.seat == one.seat:
            return False
        is_alike = is_alike or _is_same(one, other)
    return is_alike


def _measure_likeness(one: _PlacedFinding, group: Sequence[_PlacedFinding]) -> float:
    return max(measure_by_words(one.raised.claim, [other.raised.claim for other in group]))


def _is_same(one: _PlacedFinding, other: _PlacedFinding) -> bool:
    """Whether two findings are about the same lines and say the same of them, in like words; where they are on one line and of one
    concern, in words that are less alike."""
    here, there = one.lines, other.lines
    is_near = here.first <= there.last + NEAR_LINES and there.first <= here.last + NEAR_LINES
    if here.file != there.file or not is_near or (one.place is None) != (other.place is None):
        return False
    least = ABOUT_ONE_SUBJECT
    is_one_concern = one.raised.concern == other.raised.concern != "other"
    if is_one_concern and max(here.first, there.first) <= min(here.last, there.last):
        least = ALIKE_ON_A_LINE
    [likeness] = measure_by_words(one.raised.claim, [other.raised.claim])
    return likeness >= least


def _merge_group(
    number: int, group: Sequence[_PlacedFinding], change: Sequence[ChangedFile]
) -> facts.MergedFinding:
    ranked = sorted(group, key=lambda each: rank_severity(each.raised.severity))
    # The middle one, the worse of two: nobody alone makes a fault of several worse or lesser than most say.
    chosen = ranked[(len(ranked) - 1) // 2]
    settles = [each.raised.settles for each in (chosen, *group) if each.raised.settles]
    return copy_fields(
        facts.MergedFinding,
        chosen.raised,
        chosen.lines,
        number=number,
        is_quoted=chosen.place is not None,
        held_by=tuple(dict.fromkeys(each.seat for each in group)),
        settles=settles[0] if settles else "",
        fix=_choose_fix(change, chosen, group),
    )


def _choose_fix(
    change: Sequence[ChangedFile], chosen: _PlacedFinding, group: Sequence[_PlacedFinding]
) -> str:
    """Return the first suggestion that applies to the lines of the finding: that of its author before those of the others."""
    for each in (chosen, *group):
        if each.lines == chosen.lines:
            fix = fit_fix(change, each.place, each.raised.evidence, each.raised.fix)
            if fix:
                return fix
    return ""


def start_stands(
    findings: Iterable[facts.MergedFinding],
) -> dict[int, dict[SeatId, facts.FindingStand]]:
    """The first word on each finding: those who raised it confirm it."""
    return {
        each.number: {
            seat: facts.FindingStand(finding=each.number, stand="confirm") for seat in each.held_by
        }
        for each in findings
    }
