"""The whole deliberation for reports: lines, phases, passes, votes. It grows with the session, and each entry is added once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from moothall.domain.facts import Entry
from moothall.domain.ids import USER, SeatId, SessionId
from moothall.domain.quotations import Quotation
from moothall.domain.replace import copy_fields
from moothall.domain.safe_text import one_line
from moothall.domain.topic import Topic, normalize_label
from moothall.locale.catalogues import COUNCIL_REPORT
from moothall.protocols.council.ballots import CandidateVotes, find_votes
from moothall.protocols.council.facts import (
    CandidateVote,
    Contributed,
    CouncilBallot,
    DeliberationClosed,
    Phase,
    PhaseBegun,
)
from moothall.protocols.council.motions import (
    find_blind_positions,
    is_about,
    is_new_answer,
    list_challenges,
)
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.state import PASSED, QUESTION, Council, CouncilLine
from moothall.reports.decision import (
    Decision,
    Dissent,
    Movement,
    Obligation,
    SeatPosition,
    SourcedClaim,
    number_obligations,
)
from moothall.reports.quotations import list_checked, list_places
from moothall.reports.sections import start_decision
from moothall.reports.timeline import (
    SessionPhase,
    TimelineBase,
    TimelineLine,
    build_line,
    mark_phases,
)
from moothall.scoring.independence import count_minds
from moothall.scoring.resolution import SIDES


@dataclass(frozen=True, slots=True, kw_only=True)
class CouncilTimelineLine(TimelineLine):
    """A line with its time. The question is the first line."""

    spoken: CouncilLine | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedTurn:
    """A seat that had nothing to say in a phase; `is_implied` if it continued with the next phase instead."""

    seq: int
    seat: SeatId
    round: int
    phase: Phase
    is_implied: bool
    text: str = ""


class CouncilTimeline(TimelineBase[Council]):
    """All lines, passes and phases of a deliberation."""

    hides_sealed = True

    def __init__(self, session: SessionId, rules: CouncilRules) -> None:
        super().__init__(session, rules)
        self.rules = rules
        self.lines: list[CouncilTimelineLine] = []
        self.passes: list[PassedTurn] = []
        self.phases: list[PhaseBegun] = []
        self.phase_entries: dict[tuple[int, str], int] = {}

    @property
    def resolution(self) -> DeliberationClosed | None:
        return self.closed if isinstance(self.closed, DeliberationClosed) else None

    def begin(self, entry: Entry) -> None:
        self._add_line(entry, QUESTION, USER, self.state.opened.topic, None)

    def follow(self, before: Council, entry: Entry) -> None:
        fact, after = entry.fact, self.state
        if isinstance(fact, PhaseBegun):
            self.phases.append(fact)
            self.phase_entries[fact.round, fact.phase] = entry.seq
        has_passed = (
            isinstance(fact, Contributed)
            and fact.seat not in before.had
            and after.had.get(fact.seat) == PASSED
        )
        if isinstance(fact, Contributed) and before.phase != "closed" and has_passed:
            implied = fact.said.type != "pass"
            text = "" if implied else one_line(fact.said.text)
            self.passes.append(
                PassedTurn(
                    seq=entry.seq,
                    seat=fact.seat,
                    round=before.round,
                    phase=before.phase,
                    is_implied=implied,
                    text=text,
                )
            )
        for line in after.lines[len(before.lines) :]:
            self._add_line(entry, line.id, line.seat, line.said.text, line)

    def _add_line(
        self, entry: Entry, number: int, speaker: SeatId, text: str, spoken: CouncilLine | None
    ) -> None:
        self.lines.append(
            build_line(CouncilTimelineLine, entry, number, speaker, text, spoken=spoken)
        )

    def list_phases(self) -> list[SessionPhase]:
        words, is_over = COUNCIL_REPORT[self.language], self.closed is not None
        begun = [
            (1, self.rules.variant.first[0]),
            *((each.round, each.phase) for each in self.phases),
        ]
        later = () if is_over else self.rules.variant.list_later_phases(self.state)
        named = [*begun, *((self.state.round, phase) for phase in later)]
        texts = [
            f"{words.phases[phase]} · {words.round.format(number=number)}"
            for number, phase in named
        ]
        return mark_phases(texts, len(begun) - (not is_over))

    def list_silences(self) -> dict[SeatId, str]:
        now = [
            each
            for each in self.passes
            if (each.round, each.phase) == (self.state.round, self.state.phase)
        ]
        return {each.seat: self.describe_pass(each) for each in now}

    def describe_pass(self, passed: PassedTurn) -> str:
        """Say that a seat passes, with what it said all the same once that may be read (M-2)."""
        words, state = COUNCIL_REPORT[self.language], self.state
        is_hidden = state.is_sealed or passed.phase == "vote"
        is_blind = is_hidden and (passed.round, passed.phase) == (state.round, state.phase)
        said = f": {passed.text}" if passed.text and not is_blind else ""
        return words.went_on if passed.is_implied else f"{words.passes}{said}"


def build_decision(timeline: CouncilTimeline) -> Decision:
    council, closed = timeline.state, timeline.resolution
    decision = replace(
        start_decision(timeline),
        # Who is missing in the outcome is known at its end.
        lost=(),
        positions=build_positions(timeline),
        turns=len(council.lines),
        open_challenges=tuple(
            _build_claim(each.line)
            for each in list_challenges(timeline.state)
            if each.state == "open"
        ),
    )
    return decision if closed is None else _add_resolution(decision, timeline, closed)


def _add_resolution(
    decision: Decision, timeline: CouncilTimeline, closed: DeliberationClosed
) -> Decision:
    """Add what the closing recorded, and the motion if it carried."""
    siding = {ballot.seat for ballot in closed.ballots if ballot.position in SIDES}
    resolved = copy_fields(
        Decision,
        decision,
        closed,
        open_challenges=decision.open_challenges,
        minds=count_minds(seat for seat in timeline.state.seats if seat.id in siding),
        dissent=build_dissent(timeline),
        obligations=build_obligations(timeline),
        effective=closed.effective_voters,
    )
    resolved = _add_movements(resolved, timeline, closed)
    decided = timeline.state.line(closed.motion) if closed.carried else None
    if decided is None:
        return resolved
    owner, choice = (
        timeline.rules.variant.owner(timeline.state.opened),
        normalize_label(decided.said.choice),
    )
    reasons = tuple(
        _build_claim(line)
        for line in timeline.state.lines
        # Support of another choice is no reason for this one.
        if line.said.type == "support"
        and is_about(timeline.state, line, choice, owner or line.seat)
    )
    resolved = replace(
        resolved,
        decision=_build_claim(decided),
        author=decided.seat,
        choice=decided.said.choice,
        no_confidence="new_answer" if is_new_answer(timeline.state, decided) else None,
        reasons=reasons,
    )
    if resolved.no_confidence is not None:
        # An older record may have a figure, from comparing labels letter by letter.
        resolved = replace(resolved, confidence=None, confidence_from=None)
    return replace(resolved, overruled=resolved.strength == "overruled")


def _add_movements(
    decision: Decision, timeline: CouncilTimeline, closed: DeliberationClosed
) -> Decision:
    """Add who moved after new evidence and who after words alone, where the session began blind."""
    motion, blind = timeline.state.line(closed.motion), find_blind_positions(timeline.state)
    if not blind:
        return decision
    positions = []
    for each in decision.positions:
        before, vote = blind.get(each.seat), _find_open_vote(timeline.state, each.seat)
        is_moved = each.moved_by or (
            motion is not None and has_changed_choice(each, motion.said.choice)
        )
        after: Movement = (
            "evidence"
            if is_moved and before and vote and _has_met_evidence(timeline, before, vote)
            else "words"
        )
        positions.append(replace(each, moved_after=after) if is_moved else each)
    moved = [each.moved_after for each in positions]
    return replace(
        decision,
        positions=tuple(positions),
        moved_after_evidence=moved.count("evidence"),
        moved_after_words=moved.count("words"),
    )


def has_changed_choice(position: SeatPosition, choice: str) -> bool:
    """Whether a seat supports another choice than the one that it wrote blind, or opposes that one."""
    before, after = normalize_label(position.choice_before), normalize_label(choice)
    is_with = position.verdict in {"support", "conditional_support"}
    return bool(before and after) and (is_with if before != after else position.verdict == "oppose")


def _has_met_evidence(timeline: CouncilTimeline, before: CouncilLine, vote: CouncilLine) -> bool:
    """Whether a seat looked something up between its blind position and its vote, or met a citation that is new."""
    council, subject = timeline.state, timeline.state.opened.subject
    uses = (
        each
        for each in timeline.tool_uses
        if each.fact.seat == vote.seat and each.fact.outcome == "answered"
    )
    if any(before.seq < each.seq < vote.seq for each in uses):
        return True
    own, met = set[tuple[str, int]](), set[tuple[str, int]]()
    for line, checked in list_checked(timeline, subject.context):
        spoken = council.line(line.id)
        # Votes of one round are not read before all are in.
        is_unread = (
            spoken is not None
            and spoken.phase == "vote"
            and spoken.round == vote.round
            and spoken.seat != vote.seat
        )
        if spoken is None or is_unread or spoken.seq > vote.seq:
            continue
        places = own if spoken.seat == vote.seat and spoken.seq <= before.seq else met
        places |= timeline.build_once(
            ("evidence", line.id),
            (line.content,),
            partial(_list_evidence, spoken, subject, checked),
        )
    return not met <= own


def _list_evidence(
    line: CouncilLine, subject: Topic, checked: Sequence[Quotation]
) -> set[tuple[str, int]]:
    # Where words are invented, the places that they are said to stand in prove nothing.
    cited = (
        "\n".join((line.said.text, *line.said.evidence))
        if all(each.holds for each in checked)
        else ""
    )
    # What another quotes of a tool's result is evidence as well; the number of its entry stands in brackets.
    of_tools = ((each.place, 0) for each in checked if each.holds and each.place.startswith("["))
    return {*list_places(cited, subject, checked), *of_tools}


def _build_claim(line: CouncilLine) -> SourcedClaim:
    # An option that was voted for without a word is its own text.
    return SourcedClaim(text=line.said.text.strip() or line.said.choice, entries=(line.id,))


def build_positions(timeline: CouncilTimeline) -> tuple[SeatPosition, ...]:
    """Return each seat's position before it read the others, and its vote."""
    council, closed = timeline.state, timeline.resolution
    is_blind = council.is_sealed and council.phase == "propose"
    blind = {} if is_blind else find_blind_positions(council)
    ballots = {ballot.seat: ballot for ballot in (closed.ballots if closed else ())}
    positions = []
    for seat in council.seats:
        before = blind.get(seat.id)
        vote = _find_open_vote(council, seat.id)
        ballot = ballots.get(seat.id)
        verdict = vote.said.position if vote else None
        if ballot:
            verdict = ballot.position
        if before is None and verdict is None:
            continue
        position = SeatPosition(
            seat=seat.id,
            verdict=verdict,
            confidence_after=_find_confidence(ballot, vote),
            weight=ballot.weight if ballot else 0.0,
        )
        if before:
            position = replace(
                position,
                before=before.said.text,
                confidence_before=before.said.confidence,
                choice_before=before.said.choice,
                via_before=before.via,
            )
        if vote:
            position = replace(
                position,
                after=vote.said.text or None,
                moved_by=vote.said.moved_by,
                via=vote.via,
            )
        positions.append(position)
    return tuple(positions)


def _find_open_vote(council: Council, seat: SeatId) -> CouncilLine | None:
    """Return a seat's vote, once it may be read."""
    vote = council.line(council.votes.get(seat))
    return None if vote is None or vote.id in council.sealed else vote


def _find_confidence(ballot: CouncilBallot | None, vote: CouncilLine | None) -> float | None:
    """Return how sure a seat said it is of its vote; None if it did not say."""
    if ballot is not None and ballot.position in SIDES:
        return ballot.confidence if ballot.confidence_stated else None
    return vote.said.confidence if vote else None


def build_dissent(timeline: CouncilTimeline) -> tuple[Dissent, ...]:
    """Return every opposing vote and open challenge, with its seat; a condition is an obligation.

    The author of what was decided does not dissent from it, whatever it challenged on the way.
    """
    council, closed = timeline.state, timeline.resolution
    if closed is None:
        return ()
    motion = council.line(closed.motion)
    winner = motion.seat if motion is not None and closed.carried else None
    voiced: list[Dissent] = []
    words = COUNCIL_REPORT[council.opened.language]
    votes = (
        {}
        if motion is None
        else find_votes(council, council.candidates or (motion.id,), [motion.id])
    )
    last = {line.seat: line for line in council.lines}
    for ballot in closed.ballots:
        # Where nobody votes, what a seat wrote blind or advised stands for its vote; challenges are listed below.
        said, vote = (
            council.line(council.votes.get(ballot.seat)) or last.get(ballot.seat),
            votes.get(ballot.seat),
        )
        if (
            said is not None
            and said.said.type != "challenge"
            and "oppose" in {ballot.position, vote and vote.position}
        ):
            text = said.said.text.strip() or words.gives_no_reason
            text = text if ballot.position == "oppose" else words.opposes_words.format(reason=text)
            voiced.append(Dissent(seat=ballot.seat, kind="oppose", text=text, entries=(said.id,)))
    # What an owner turned down stays dissent, also if it was answered.
    left = (
        {"open"} if timeline.rules.variant.owner(council.opened) is None else {"open", "answered"}
    )
    for each in list_challenges(council):
        if each.state in left and each.line.seat != winner:
            voiced.append(
                Dissent(
                    seat=each.line.seat,
                    kind="challenge",
                    text=each.line.said.text,
                    entries=(each.line.id,),
                )
            )
    return tuple(voiced)


def find_motion_votes(timeline: CouncilTimeline) -> Mapping[SeatId, CandidateVote]:
    """Return the position of everyone who voted on the choice of the motion, as it counts: the most favourable on its texts.

    Nothing before the deliberation is closed.
    """
    council, closed = timeline.state, timeline.resolution
    if closed is None or closed.motion is None:
        return {}
    candidates = council.candidates or (closed.motion,)
    find_choice = CandidateVotes(council, candidates).find_choice
    # The option of a vote that no candidate names is a candidate of its own.
    alike = [number for number in candidates if find_choice(number) == find_choice(closed.motion)]
    return find_votes(council, candidates, [closed.motion, *alike])


def build_obligations(timeline: CouncilTimeline) -> tuple[Obligation, ...]:
    """Return the conditions of those who support a carried motion: what must hold, who set it, by when (D-22)."""
    closed = timeline.resolution
    if closed is None or not closed.carried:
        return ()
    votes = find_motion_votes(timeline).items()
    conditions = [(seat, vote) for seat, vote in votes if vote.position == "conditional_support"]
    numbers = timeline.state.votes
    return number_obligations(
        ((seat, vote.condition, vote.due, (numbers[seat],)) for seat, vote in conditions),
        timeline.settled,
    )


def list_missing_votes(timeline: CouncilTimeline) -> tuple[SeatId, ...]:
    """Return the seats without a vote in the tally; none before the deliberation is closed."""
    closed = timeline.resolution
    return (
        tuple(ballot.seat for ballot in closed.ballots if ballot.position is None)
        if closed is not None
        else ()
    )
