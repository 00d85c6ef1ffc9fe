"""The whole deliberation for reports: lines, phases, passes, votes. It grows with the session, and each entry is added once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from moothall.domain.facts import Entry
from moothall.domain.groups import Groups
from moothall.domain.ids import USER, SeatId, SessionId
from moothall.domain.quotations import Quotation
from moothall.domain.replace import copy_fields, dataclass
from moothall.domain.safe_text import one_line
from moothall.domain.topic import Topic, index_replies, join_replies
from moothall.locale.catalogues import COUNCIL_REPORT
from moothall.ports.plugin import CastVote
from moothall.protocols.council.ballots import CandidateVotes, find_votes
from moothall.protocols.council.facts import (
    CandidateVote,
    Contributed,
    CouncilBallot,
    DeliberationClosed,
    Phase,
    PhaseBegun,
)
from moothall.protocols.council.memo_facts import add_memo_facts
from moothall.protocols.council.motions import (
    find_blind_positions,
    find_label,
    is_about,
    is_new_answer,
    list_challenges,
    list_first_holders,
)
from moothall.protocols.council.resolution import find_what_would_change
from moothall.protocols.council.rules import CouncilRules
from moothall.protocols.council.state import PASSED, QUESTION, Council, CouncilLine
from moothall.reports.decision import (
    Decision,
    Dissent,
    Movement,
    Obligation,
    SeatPosition,
    SourcedClaim,
    TakenAdvice,
    number_obligations,
)
from moothall.reports.estimates import add_blind_results
from moothall.reports.quotations import list_checked, list_places
from moothall.reports.sections import list_answers, start_decision
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
            text = ""
            if not implied:
                text = one_line(fact.said.text)
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
        phases = [(1, self.rules.variant.first[0])]
        for begun in self.phases:
            phases.append((begun.round, begun.phase))
        done = len(phases)
        if not is_over:
            # The last one that has begun goes on.
            done -= 1
            for phase in self.rules.variant.list_later_phases(self.state):
                phases.append((self.state.round, phase))
        texts: list[str] = []
        for number, phase in phases:
            texts.append(f"{words.phases[phase]} · {words.round.format(number=number)}")
        return mark_phases(texts, done)

    def list_silences(self) -> dict[SeatId, str]:
        silences: dict[SeatId, str] = {}
        for each in self.passes:
            if (each.round, each.phase) == (self.state.round, self.state.phase):
                silences[each.seat] = self.describe_pass(each)
        return silences

    def describe_pass(self, passed: PassedTurn) -> str:
        """Say that a seat passes, with what it said all the same once that may be read (M-2)."""
        words, state = COUNCIL_REPORT[self.language], self.state
        is_hidden = state.is_sealed or passed.phase == "vote"
        is_blind = is_hidden and (passed.round, passed.phase) == (state.round, state.phase)
        if passed.is_implied:
            return words.went_on
        if is_blind or not passed.text:
            return words.passes
        return f"{words.passes}: {passed.text}"


def build_decision(timeline: CouncilTimeline) -> Decision:
    council, closed = timeline.state, timeline.resolution
    open_challenges: list[SourcedClaim] = []
    for each in list_challenges(council):
        if each.state == "open":
            open_challenges.append(_build_claim(each.line))
    decision = replace(
        start_decision(timeline),
        # Who is missing in the outcome is known at its end.
        lost=(),
        positions=build_positions(timeline),
        turns=len(council.lines),
        open_challenges=tuple(open_challenges),
    )
    if closed is None:
        return _add_open_objections(decision, len(open_challenges))
    resolved = _add_resolution(decision, timeline, closed)
    return add_blind_results(resolved, council.opened, council.seats)


def _add_open_objections(decision: Decision, count: int) -> Decision:
    """Return a decision whose session goes on with how many objections nobody has answered."""
    standing = decision.standing
    if standing is None or standing.progress != "talk":
        return decision
    return replace(decision, standing=replace(standing, open_objections=count))


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
    resolved = add_memo_facts(resolved, timeline.rules, timeline.state, closed)
    if not closed.carried:
        return resolved
    decided = timeline.state.line(closed.motion)
    if decided is None:
        return resolved
    resolved = replace(resolved, answers=list_answers(timeline, _find_replies(timeline, decided)))
    said = decided.said
    resolved = replace(resolved, choice=said.choice, headline=said.headline, actions=said.actions)
    resolved = replace(
        resolved,
        decision=_build_claim(decided),
        author=decided.seat,
        advice=_list_advice(timeline.state, decided),
        held_before=list_first_holders(timeline.state, decided),
        no_confidence=None,
        reasons=_list_reasons(timeline, decided),
    )
    if is_new_answer(timeline.state, decided):
        # An older record may have a figure, from comparing labels letter by letter.
        resolved = replace(
            resolved, no_confidence="new_answer", confidence=None, confidence_from=None
        )
    change = find_what_would_change(timeline.rules.variant, timeline.state, closed.reason, resolved)
    return replace(resolved, overruled=resolved.strength == "overruled", would_change=change)


def _list_advice(council: Council, decided: CouncilLine) -> tuple[TakenAdvice, ...]:
    """Return how the owner took each advice."""
    advice: list[TakenAdvice] = []
    for taken in decided.said.taken:
        line = council.line(taken.entry)
        if line is not None:
            advice.append(
                TakenAdvice(seat=line.seat, how=taken.how, why=taken.why, entries=(line.id,))
            )
    return tuple(advice)


def _find_replies(timeline: CouncilTimeline, decided: CouncilLine) -> Mapping[int, str]:
    """Return what was answered to each input of the user: in the text that was decided, else by those who voted on it."""
    votes = timeline.state.list_lines(timeline.state.votes.values())
    voted = join_replies((line.seat, line.said.to_user) for line in votes)
    return {**voted, **index_replies(decided.said.to_user)}


def _list_reasons(timeline: CouncilTimeline, decided: CouncilLine) -> tuple[SourcedClaim, ...]:
    """Return what supports the decision; support of another choice is no reason for this one."""
    owner = timeline.rules.variant.owner(timeline.state.opened)
    choice = find_label(timeline.state, decided)
    reasons: list[SourcedClaim] = []
    for line in timeline.state.lines:
        is_support = line.said.type == "support"
        if is_support and is_about(timeline.state, line, choice, owner or line.seat):
            reasons.append(_build_claim(line))
    return tuple(reasons)


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
            motion is not None
            and has_changed_choice(each, motion.said.choice, timeline.state.groups)
        )
        if not is_moved:
            positions.append(each)
            continue
        after: Movement = "words"
        if before and vote and _has_met_evidence(timeline, before, vote):
            after = "evidence"
        positions.append(replace(each, moved_after=after))
    moved = [each.moved_after for each in positions]
    return replace(
        decision,
        positions=tuple(positions),
        moved_after_evidence=moved.count("evidence"),
        moved_after_words=moved.count("words"),
    )


def has_changed_choice(position: SeatPosition, choice: str, groups: Groups) -> bool:
    """Whether a seat supports another choice than the one that it wrote blind, or opposes that one."""
    before, after = groups.find(position.choice_before), groups.find(choice)
    if not before or not after:
        return False
    if before == after:
        return position.verdict == "oppose"
    return position.verdict in {"support", "conditional_support"}


def _has_met_evidence(timeline: CouncilTimeline, before: CouncilLine, vote: CouncilLine) -> bool:
    """Whether a seat looked something up between its blind position and its vote, or met a citation that is new."""
    council, subject = timeline.state, timeline.state.opened.subject
    for use in timeline.tool_uses:
        is_own = use.fact.seat == vote.seat and use.fact.outcome == "answered"
        if is_own and before.seq < use.seq < vote.seq:
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
        places = met
        if spoken.seat == vote.seat and spoken.seq <= before.seq:
            places = own
        places |= timeline.build_once(
            ("evidence", line.id),
            (line.content,),
            partial(_list_evidence, spoken, subject, checked),
        )
    return not met <= own


def _list_evidence(
    line: CouncilLine, subject: Topic, checked: Sequence[Quotation]
) -> set[tuple[str, int]]:
    cited = ""
    # Where words are invented, the places that they are said to stand in prove nothing.
    if all(each.holds for each in checked):
        cited = "\n".join((line.said.text, *line.said.evidence))
    evidence = set(list_places(cited, subject, checked))
    for each in checked:
        # What another quotes of a tool's result is evidence as well; the number of its entry stands in brackets.
        if each.holds and each.place.startswith("["):
            evidence.add((each.place, 0))
    return evidence


def _build_claim(line: CouncilLine) -> SourcedClaim:
    # An option that was voted for without a word is its own text.
    text = line.said.text.strip() or line.said.choice
    return SourcedClaim(text=text, entries=(line.id,), seat=line.seat)


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
                number_before=before.said.number,
                via_before=before.via,
            )
        if vote:
            position = replace(
                position,
                after=vote.said.text or None,
                moved_by=vote.said.moved_by,
                moved_by_whom=_find_mover(council, vote),
                via=vote.via,
            )
        positions.append(position)
    return tuple(positions)


def _find_mover(council: Council, vote: CouncilLine) -> SeatId | None:
    """Return whose words changed the mind of a seat, as it says itself."""
    line = council.line(vote.said.moved_by)
    if line is None or line.seat in {vote.seat, USER}:
        return None
    return line.seat


def _find_open_vote(council: Council, seat: SeatId) -> CouncilLine | None:
    """Return a seat's vote, once it may be read."""
    vote = council.line(council.votes.get(seat))
    if vote is None or vote.id in council.sealed:
        return None
    return vote


def _find_confidence(ballot: CouncilBallot | None, vote: CouncilLine | None) -> float | None:
    """Return how sure a seat said it is of its vote; None if it did not say."""
    if ballot is not None and ballot.position in SIDES:
        if not ballot.confidence_stated:
            return None
        return ballot.confidence
    if vote is None:
        return None
    return vote.said.confidence


def build_dissent(timeline: CouncilTimeline) -> tuple[Dissent, ...]:
    """Return every opposing vote and open challenge, with its seat; a condition is an obligation.

    The author of what was decided does not dissent from it, whatever it challenged on the way.
    """
    council, closed = timeline.state, timeline.resolution
    if closed is None:
        return ()
    motion = council.line(closed.motion)
    winner: SeatId | None = None
    votes: Mapping[SeatId, CandidateVote] = {}
    if motion is not None:
        votes = find_votes(council, council.candidates or (motion.id,), [motion.id])
        if closed.carried:
            winner = motion.seat
    voiced: list[Dissent] = []
    words = COUNCIL_REPORT[council.opened.language]
    last = {line.seat: line for line in council.lines}
    for ballot in closed.ballots:
        # Where nobody votes, what a seat wrote blind or advised stands for its vote; challenges are listed below.
        said = council.line(council.votes.get(ballot.seat)) or last.get(ballot.seat)
        if said is None or said.said.type == "challenge":
            continue
        vote = votes.get(ballot.seat)
        opposes_words = vote is not None and vote.position == "oppose"
        if ballot.position == "oppose" or opposes_words:
            text = said.said.text.strip() or words.gives_no_reason
            if ballot.position != "oppose":
                text = words.opposes_words.format(reason=text)
            voiced.append(Dissent(seat=ballot.seat, kind="oppose", text=text, entries=(said.id,)))
    left = {"open"}
    if timeline.rules.variant.owner(council.opened) is not None:
        # What an owner turned down stays dissent, also if it was answered.
        left.add("answered")
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


def list_cast_votes(timeline: CouncilTimeline) -> dict[SeatId, CastVote]:
    """Return the last vote of each seat; its condition is the one that it set on the choice of the motion."""
    votes = find_motion_votes(timeline)
    cast = {}
    for seat, number in timeline.state.votes.items():
        line, vote = timeline.state.line(number), votes.get(seat)
        model = line.model if line is not None else ""
        if vote is None:
            cast[seat] = CastVote(model=model)
        else:
            cast[seat] = CastVote(condition=vote.condition, due=vote.due, model=model)
    return cast


def build_obligations(timeline: CouncilTimeline) -> tuple[Obligation, ...]:
    """Return the conditions of those who support a carried motion: what must hold, who set it, by when (D-22)."""
    closed = timeline.resolution
    if closed is None or not closed.carried:
        return ()
    numbers = timeline.state.votes
    conditions: list[tuple[SeatId, str, str, tuple[int, ...]]] = []
    for seat, vote in find_motion_votes(timeline).items():
        if vote.position == "conditional_support":
            conditions.append((seat, vote.condition, vote.due, (numbers[seat],)))
    votes = timeline.state.votes
    said = {seat: timeline.state.line(number) for seat, number in votes.items()}
    who = {seat: line.said.who for seat, line in said.items() if line is not None}
    return number_obligations(conditions, timeline.settled, who)


def list_missing_votes(timeline: CouncilTimeline) -> tuple[SeatId, ...]:
    """Return the seats without a vote in the tally; none before the deliberation is closed."""
    closed = timeline.resolution
    if closed is None:
        return ()
    return tuple(ballot.seat for ballot in closed.ballots if ballot.position is None)
