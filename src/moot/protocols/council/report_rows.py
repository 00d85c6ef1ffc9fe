"""What minutes and page both show, row by row, before it is Markdown or HTML."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from moot.domain.facts import SessionCancelled
from moot.domain.ids import USER, SeatId
from moot.domain.topic import normalize_label
from moot.protocols.council.facts import CouncilBallot, Phase
from moot.protocols.council.live_lines import format_votes
from moot.protocols.council.motions import Challenge
from moot.protocols.council.report_text import CouncilReportText
from moot.protocols.council.state import QUESTION, CouncilLine
from moot.protocols.council.timeline import CouncilTimeline, CouncilTimelineLine
from moot.reports import costs
from moot.reports.decision import Decision, Dissent
from moot.reports.summary import format_percent
from moot.scoring.positions import VotePosition

Row = tuple[Any, ...]

NOTHING = "–"
_SIDES: tuple[VotePosition, ...] = ("support", "conditional_support", "oppose", "abstain")


@dataclass(frozen=True, slots=True)
class LineReferences:
    """Words of our own that name lines: `{line}` stands in their place."""

    numbers: tuple[int, ...]
    told: str = "{line}"

    def __str__(self) -> str:
        return self.told.replace("{line}", ", ".join(f"#{number}" for number in self.numbers))


@dataclass(frozen=True, slots=True, kw_only=True)
class VoteGroup:
    """Those who voted alike, and what their votes weigh; None stands for those who did not vote."""

    position: VotePosition | None
    seats: tuple[SeatId, ...]
    weight: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseLines:
    """A phase and the lines that belong to it, in order; `motion` is what is voted on."""

    round: int
    phase: Phase
    motion: int | None
    lines: list[CouncilTimelineLine]


def background_rows(timeline: CouncilTimeline, words: CouncilReportText) -> list[Row]:
    """What is known of the question beside its words."""
    subject = timeline.state.opened.subject
    rows: list[Row] = [(words.protocol, timeline.rules.name), (words.stakes, words.stakes_words[subject.stakes])]
    rows += [(words.category, subject.category)] if subject.category else []
    return [*rows, (words.options, " / ".join(subject.options))] if subject.options else rows


def progress_rows(timeline: CouncilTimeline, words: CouncilReportText) -> list[Row]:
    """Where a deliberation that goes on is: its phase, and who has not had a turn in it."""
    council = timeline.state
    if council.phase == "closed":
        return []
    waiting = [seat for seat in timeline.rules.course.list_phase_seats(council, council.phase) if seat not in council.had]
    now = (words.now, format_phase_name(council.phase, council.round, words))
    return [now, (words.awaited, ", ".join(waiting))] if waiting else [now]


def find_shown_motion(timeline: CouncilTimeline) -> CouncilLine | None:
    """The motion of a vote that goes on, or that did not carry; None where there is a decision, or nothing to decide on."""
    closed = timeline.resolution
    if closed is not None:
        return None if closed.carried else timeline.state.line(closed.motion)
    return timeline.state.line(timeline.state.motion) if timeline.state.phase == "vote" else None


def resolution_rows(decision: Decision, words: CouncilReportText) -> list[Row]:
    """What kind of an outcome it is, and how much stands behind it."""
    rows: list[Row] = [(words.choice, decision.choice)] if decision.choice else []
    if decision.decision is not None:
        rows += [(words.author, decision.author), (words.motion, LineReferences(decision.decision.entries))]
    return [
        *rows,
        (words.consensus, words.consensus_types[decision.consensus_type or "no_consensus"]),
        (words.confidence, format_percent(decision.confidence)),
        (words.support, format_votes(decision, words)),
        (words.ended_by, words.endings.get(decision.ended_by or "", decision.ended_by)),
    ]


def list_counted_ballots(timeline: CouncilTimeline) -> tuple[CouncilBallot, ...]:
    """The votes that were counted; empty where there was nothing to vote on."""
    closed = timeline.resolution
    return () if closed is None or closed.motion is None else closed.ballots


def group_vote_sides(timeline: CouncilTimeline) -> list[VoteGroup]:
    """The sides that were taken at the vote, and the seats that took none."""
    found = []
    for position in (*_SIDES, None):
        votes = [ballot for ballot in list_counted_ballots(timeline) if ballot.position == position]
        seats = tuple(ballot.seat for ballot in votes)
        found.append(VoteGroup(position=position, seats=seats, weight=sum(ballot.weight for ballot in votes)))
    return [side for side in found if side.seats]


def format_side_name(side: VoteGroup, words: CouncilReportText) -> str:
    return words.no_vote if side.position is None else words.verdicts[side.position]


def vote_rows(timeline: CouncilTimeline, words: CouncilReportText) -> list[Row]:
    """Who voted how, and what that weighs, one side after another."""
    return [(format_side_name(side, words), ", ".join(side.seats), f"{side.weight:.2f}") for side in group_vote_sides(timeline)]


def describe_votes(timeline: CouncilTimeline, words: CouncilReportText) -> str:
    """What the votes are where nobody voted; empty where somebody did."""
    closed = timeline.resolution
    if closed is None or closed.motion is None:
        return ""
    if closed.reason == "agreed_blind":
        return words.votes_read["agreed_blind"]
    return "" if timeline.rules.course.owner(timeline.state.opened) is None else words.votes_read["owner"]


def find_cancel_reason(timeline: CouncilTimeline) -> str:
    return timeline.closed.reason if isinstance(timeline.closed, SessionCancelled) else ""


def list_dissent_marks(
    timeline: CouncilTimeline, decision: Decision, words: CouncilReportText
) -> list[tuple[Dissent, list[object]]]:
    """Who dissents, how and where; of a challenge also what became of it."""
    met = {each.line.id: describe_challenge_outcome(timeline, each, words) for each in timeline.challenges()}
    return [
        (
            voice,
            [
                words.kinds[voice.kind],
                LineReferences(voice.entries),
                *(met[entry] for entry in voice.entries if voice.kind == "challenge" and entry in met),
            ],
        )
        for voice in decision.dissent
    ]


def describe_challenge_outcome(timeline: CouncilTimeline, found: Challenge, words: CouncilReportText) -> LineReferences:
    """What became of a challenge."""
    if found.by is None:
        return LineReferences((), words.challenge_states[found.state])
    by = timeline.state.line(found.by)
    is_declined = by is not None and any(each.entry == found.line.id and each.how == "declined" for each in by.said.taken)
    told = words.challenge_states[found.state].replace("#{line}", "{line}")
    return LineReferences((found.by,), words.declined if is_declined and found.state == "answered" else told)


def challenge_rows(timeline: CouncilTimeline, words: CouncilReportText) -> list[Row]:
    """Every challenge and what became of it; none while proposals are sealed."""
    if timeline.state.is_sealed:
        return []
    return [
        (LineReferences((each.line.id,)), each.line.seat, each.line.said.text, describe_challenge_outcome(timeline, each, words))
        for each in timeline.challenges()
    ]


def advice_rows(timeline: CouncilTimeline, words: CouncilReportText) -> list[Row]:
    """How each piece of advice was taken, and why."""
    rows: list[Row] = []
    for line in () if timeline.state.is_sealed else timeline.state.lines:
        for taken in line.said.taken:
            advice = timeline.state.line(taken.entry)
            who, text = (advice.seat, advice.said.text) if advice else (NOTHING, NOTHING)
            how = words.takings[taken.how]
            rows.append((LineReferences((taken.entry,)), who, text, how, taken.why or NOTHING, LineReferences((line.id,))))
    return rows


def position_rows(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[Row]:
    """Where each seat stood before it read anyone, how it voted, and what moved it; none while proposals are sealed."""
    if timeline.state.is_sealed:
        return []
    weighed = {ballot.seat: f"{ballot.weight:.2f}" for ballot in list_counted_ballots(timeline)}
    return [
        (
            position.seat,
            _join_texts(position.choice_before, position.before),
            format_percent(position.confidence_before),
            words.verdicts.get(position.verdict or "", NOTHING),
            format_percent(position.confidence_after),
            _join_texts(_find_condition(timeline, position.seat), position.after),
            weighed.get(position.seat, NOTHING),
            LineReferences((position.moved_by,)) if position.moved_by else NOTHING,
        )
        for position in decision.positions
    ]


def _join_texts(*texts: str | None) -> str:
    return " – ".join(text for text in texts if text) or NOTHING


def _find_condition(timeline: CouncilTimeline, seat: SeatId) -> str:
    vote = timeline.state.line(timeline.state.votes.get(seat))
    return vote.said.condition if vote is not None else ""


def list_changed_choices(timeline: CouncilTimeline, decision: Decision, words: CouncilReportText) -> list[tuple[str, object]]:
    """Who went over to another choice than the one that it wrote blind, and the line that it says moved it."""
    closed = timeline.resolution
    motion = timeline.state.line(closed.motion) if closed is not None else None
    if motion is None or not normalize_label(motion.said.choice):
        return []
    found: list[tuple[str, object]] = []
    for position in decision.positions:
        before = normalize_label(position.choice_before)
        is_with = position.verdict in {"support", "conditional_support"}
        is_against = position.verdict == "oppose"
        if not before or not (is_with if before != normalize_label(motion.said.choice) else is_against):
            continue
        after = motion.said.choice if is_with else words.verdicts["oppose"]
        told = words.moved.format(seat=position.seat, before=position.choice_before, after=after)
        found.append((told, LineReferences((position.moved_by,), words.moved_by) if position.moved_by else words.names_nothing))
    return found


def pass_rows(timeline: CouncilTimeline, words: CouncilReportText) -> list[Row]:
    """Who passed, phase by phase."""
    phases: dict[str, list[str]] = {}
    for one in timeline.passes:
        told = f"{one.seat} {words.went_on if one.is_implied else words.passes}"
        phases.setdefault(format_phase_name(one.phase, one.round, words), []).append(told)
    return [(phase, ", ".join(told)) for phase, told in phases.items()]


def loss_rows(timeline: CouncilTimeline, words: CouncilReportText) -> list[Row]:
    """Each single time that a seat was lost. What is wrong with a sealed answer may quote it, and is sealed with it."""
    return [
        (
            loss.seq,
            loss.seat,
            words.phases.get(loss.asked_for, loss.asked_for),
            words.losses[loss.reason],
            words.sealed if timeline.state.is_sealed and loss.reason == "malformed" else loss.detail or NOTHING,
        )
        for loss in timeline.losses
    ]


def group_lines_by_phase(timeline: CouncilTimeline) -> list[PhaseLines]:
    """The lines by the phase that they belong to; the question belongs to none."""
    found = {
        (1, timeline.rules.course.first[0]): PhaseLines(round=1, phase=timeline.rules.course.first[0], motion=None, lines=[])
    }
    for begun in timeline.phases:
        found[begun.round, begun.phase] = PhaseLines(round=begun.round, phase=begun.phase, motion=begun.motion, lines=[])
    for line in timeline.lines:
        if (spoken := line.spoken) is not None:
            here = PhaseLines(round=spoken.round, phase=spoken.phase, motion=None, lines=[])
            found.setdefault((spoken.round, spoken.phase), here).lines.append(line)
    return list(found.values())


def format_phase_name(phase: str, number: int, words: CouncilReportText) -> str:
    return f"{words.phases[phase]} · {words.round.format(number=number)}"


def is_sealed_line(timeline: CouncilTimeline, line: CouncilTimelineLine) -> bool:
    """Whether only its author may read this line yet."""
    return timeline.state.is_sealed and line.id != QUESTION and line.speaker != USER


def format_line_marks(line: CouncilLine, words: CouncilReportText) -> list[object]:
    """What a line is, what it is about, and how sure its author is."""
    said = line.said
    what = words.types[said.type]
    found: list[object] = [what if said.position is None else f"{what}: {words.verdicts[said.position]}"]
    named = (
        (words.about, (said.refers_to,) if said.refers_to else ()),
        (words.answers, said.answers),
        (words.accepts, said.accepts),
        (words.moved_by, (said.moved_by,) if said.moved_by else ()),
    )
    found += [LineReferences(numbers, told) for told, numbers in named if numbers]
    return found if said.confidence is None else [*found, words.sure.format(share=format_percent(said.confidence))]


def collect_line_notes(timeline: CouncilTimeline, words: CouncilReportText) -> Mapping[int, list[LineReferences]]:
    """What is not plain to see of a line: that it was written ahead of its phase, and whether a vote counts."""
    found: dict[int, list[LineReferences]] = {}
    latest = 0
    for phase in group_lines_by_phase(timeline):
        for line in phase.lines:
            found[line.id] = [LineReferences((), words.ahead)] if line.id < latest else []
        latest = max([latest, *(line.id for line in phase.lines)])
    for votes in _group_votes_by_seat(timeline).values():
        for earlier, later in pairwise(votes):
            found[earlier.id].append(LineReferences((later.id,), words.replaced))
        found[votes[-1].id] += _describe_vote_status(timeline, votes, words)
    return found


def _group_votes_by_seat(timeline: CouncilTimeline) -> Mapping[tuple[SeatId, int], list[CouncilLine]]:
    """The votes of each seat in each round, in order."""
    found: dict[tuple[SeatId, int], list[CouncilLine]] = {}
    for line in timeline.state.lines:
        if line.said.type == "vote":
            found.setdefault((line.seat, line.round), []).append(line)
    return found


def _describe_vote_status(timeline: CouncilTimeline, votes: list[CouncilLine], words: CouncilReportText) -> list[LineReferences]:
    last = votes[-1]
    begun = next((each for each in timeline.phases if each.phase == "vote" and each.round == last.round), None)
    if begun is None:
        return [LineReferences((), words.cast_ahead)]
    if begun.motion is not None and last.id < begun.motion:
        return [LineReferences((begun.motion,), words.cast_early)]
    if timeline.state.votes.get(last.seat) != last.id:
        return [LineReferences((), words.voted_anew)]
    return [LineReferences((votes[-2].id,), words.vote_counts)] if len(votes) > 1 else []


def list_line_details(line: CouncilLine, words: CouncilReportText) -> list[tuple[str, str]]:
    """What a line holds beside its text, by name."""
    said = line.said
    found = [(words.choice, said.choice), (words.condition, said.condition), *((words.evidence, each) for each in said.evidence)]
    return [(name, text) for name, text in found if text]


def seat_rows(timeline: CouncilTimeline) -> list[Row]:
    """Who sat at the table."""
    return [(seat.id, seat.stance, seat.platform, f"{seat.weight:g}", f"{seat.trust:.2f}") for seat in timeline.state.seats]


def cost_rows(timeline: CouncilTimeline, words: CouncilReportText) -> list[Row]:
    """What each seat cost, and all together."""
    return costs.build_cost_rows(timeline.costs, timeline.state.seats, timeline.spent, words.total)
