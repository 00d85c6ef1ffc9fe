"""What a run decided, and what a synthesis cites, checked against the findings that there are (S-29, S-33)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal

from moothall.domain.context import extract_first_sentence
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import compile_late, one_line
from moothall.domain.session_state import list_lost_seats
from moothall.domain.topic import (
    drop_choice,
    drop_replies,
    index_replies,
    join_replies,
    read_replies,
)
from moothall.locale.catalogues import SwarmReportText
from moothall.protocols.swarm import facts
from moothall.protocols.swarm.answers import AnswerVote
from moothall.protocols.swarm.reports.timeline import SwarmTimeline
from moothall.protocols.swarm.rules.endings import (
    find_stated_vote,
    find_vote,
    read_synthesis_choice,
)
from moothall.protocols.swarm.rules.evidence import AnswerIndex
from moothall.protocols.swarm.state import Finding, Swarm
from moothall.reports.decision import (
    Decision,
    Dissent,
    LeadingAnswer,
    SeatPosition,
    SourcedClaim,
    number_obligations,
)
from moothall.reports.how import ByMeasure, How, LeadingSide, Standing, Undecided
from moothall.reports.sections import list_answers, start_decision
from moothall.scoring.independence import count_minds
from moothall.scoring.positions import VotePosition
from moothall.scoring.stigmergy import compute_share

# `\b` would not do: Han characters count as letters, and nothing separates them from an id.
_CITED: Final = compile_late(r"(?<![A-Za-z0-9])finding[-_ #]{0,2}(\d{1,9})(?![0-9])", re.IGNORECASE)


def list_carried_ideas(timeline: SwarmTimeline) -> tuple[facts.IdeaResolution, ...]:
    """The consensus ideas that the vote carried; the ballot may hold other ideas as well."""
    if timeline.state.completed is None:
        return ()
    carried: list[facts.IdeaResolution] = []
    for each in timeline.state.completed.resolved:
        if each.carried and each.idea in timeline.state.consensus:
            carried.append(each)
    return tuple(carried)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """What a run came to: the answer that it decided on, and the vote that the figures are of."""

    choice: facts.EvidenceChoice | None = None
    """What the readings chose, where that is what was decided."""
    option: str = ""
    """The option of the question that was decided on; empty where none was, or the question has none."""
    ideas: tuple[int, ...] = ()
    """The ideas that were decided on."""
    vote: facts.IdeaResolution | None = None
    """The result of the vote on it; of an undecided run, that on the first answer."""
    numbers: tuple[int, ...] = ()
    """The answers, by their numbers on ballots, whose votes count as dissent and conditions."""


def find_outcome(timeline: SwarmTimeline) -> RunOutcome:
    """Return what a closed run came to. Where the question has options, that is one of them or nothing (S-38)."""
    swarm = timeline.state
    if swarm.completed is None or not isinstance(timeline.closed, facts.SwarmClosed):
        return RunOutcome()
    if swarm.opened.subject.options:
        return _find_option_outcome(timeline, swarm.completed)
    voted, choice = swarm.completed.resolved, find_choice(timeline)
    if choice is not None:
        vote = next((each for each in voted if each.idea == choice.idea), None)
        ideas = (choice.idea,) if choice.idea else ()
        return RunOutcome(choice=choice, ideas=ideas, vote=vote, numbers=(choice.idea,))
    carried = list_carried_ideas(timeline)
    with_quorum = [each for each in voted if each.idea in swarm.consensus]
    return RunOutcome(
        ideas=tuple(each.idea for each in carried),
        vote=next(iter([*carried, *with_quorum]), None),
        numbers=tuple(each.idea for each in with_quorum),
    )


def _find_option_outcome(timeline: SwarmTimeline, done: facts.SwarmCompleted) -> RunOutcome:
    """Return the option that the vote carried, the best supported of several; without a vote, what the readings chose."""
    index, choice = AnswerIndex(timeline.state), find_choice(timeline)
    numbers = {answer.text: answer.number for answer in index.answers.values()}
    ranks: dict[str, int] = {}
    if done.choice is not None:
        ranks = {each.answer: at for at, each in enumerate(done.choice.ranked)}
    voted = [each for each in done.resolved if each.option]
    voted.sort(key=lambda each: (-(each.support or 0.0), ranks.get(each.option, len(ranks))))
    # Nobody took a side: then the readings are all there is.
    if not any(each.voters for each in voted):
        if choice is None:
            return RunOutcome()
        return RunOutcome(choice=choice, option=choice.answer, numbers=(numbers[choice.answer],))
    carried = [each for each in voted if each.carried]
    if not carried:
        return RunOutcome(vote=voted[0], numbers=(numbers[voted[0].option],))
    first = carried[0]
    # Readings of another option say nothing of how sure this one is.
    if choice is not None and choice.answer != first.option:
        choice = None
    return RunOutcome(
        choice=choice, option=first.option, vote=first, numbers=(numbers[first.option],)
    )


def find_choice(timeline: SwarmTimeline) -> facts.EvidenceChoice | None:
    """The answer that the readings chose; None where they do not tell the first from the second (S-35).

    Then an idea that the vote carried is what was decided, and without one nothing was.
    """
    if timeline.state.completed is None:
        return None
    choice = timeline.state.completed.choice
    if choice is None or not choice.is_distinct:
        return None
    return choice


def _find_replies(swarm: Swarm) -> Mapping[int, str]:
    """Return what was answered to each input of the user: by the synthesis, else on ballots."""
    ballots = [(seat, ballot) for seat, ballot in swarm.ballots.items() if ballot is not None]
    voted = join_replies((seat, ballot.to_user) for seat, ballot in ballots)
    return {**voted, **index_replies(read_replies(swarm.synthesis))}


def build_decision(timeline: SwarmTimeline) -> Decision:
    """The decision as it stands: the consensus ideas that the vote carried; in the classic mode the synthesis."""
    swarm = timeline.state
    started, closed = start_decision(timeline), timeline.closed
    is_over = isinstance(closed, facts.SwarmClosed)
    outcome = find_outcome(timeline)
    claim: SourcedClaim | None = None
    if outcome.ideas:
        claim = _build_claim(timeline, outcome.ideas)
    elif outcome.option:
        claim = SourcedClaim(text=outcome.option)
    elif outcome.choice is not None:
        claim = SourcedClaim(text=outcome.choice.answer)
    # In the other modes a synthesis sums up the findings; what was decided is what the readings or the vote say.
    is_synthesis = is_over and bool(swarm.synthesis) and swarm.settings.mode == "classic"
    votes = [each for number in outcome.numbers for each in list_votes(timeline, number)]
    first_votes = votes
    if outcome.vote is not None and outcome.vote.idea:
        first_votes = list_votes(timeline, outcome.vote.idea)
    backing = [vote for _, vote in first_votes if vote.position == "support"]
    # Who reported nothing has no voice in the outcome, nor has one whose ballot was lost.
    voices = {
        seat
        for seat, agent in swarm.agents.items()
        if agent.findings and swarm.ballots.get(seat, agent) is not None
    }
    conditions = [
        (seat, vote.condition or vote.reason, "", ())
        for seat, vote in votes
        if vote.position == "conditional_support"
    ]
    if is_synthesis:
        text = drop_choice(swarm.synthesis) or swarm.synthesis
        if swarm.user_inputs:
            text = drop_replies(text)
        claim = SourcedClaim(text=check_citations(text, swarm.board.findings, timeline.words).text)
        label = read_synthesis_choice(swarm, swarm.synthesis) or ""
    else:
        label = outcome.option or _find_label(timeline, outcome.choice)
    opposing = [(seat, vote) for seat, vote in votes if vote.position == "oppose"]
    decision = replace(
        _add_figures(started, timeline, outcome.vote, outcome.choice),
        decision=claim,
        author=swarm.author if is_synthesis else None,
        minds=count_minds(swarm.seat(name) for name in swarm.explorers),
        positions=_build_positions(timeline, outcome),
        dissent=tuple(
            Dissent(seat=seat, kind="oppose", text=vote.words) for seat, vote in opposing
        ),
        lost=list_lost_seats(swarm, swarm.helpers | voices),
        choice=label,
        turns=len(timeline.reports),
        open_challenges=_collect_challenges(timeline, outcome),
        answers=list_answers(timeline, _find_replies(swarm)),
    )
    decision = replace(decision, asked=swarm.explorers)
    if not is_over:
        decision = replace(decision, standing=_describe_round(timeline, decision))
    if claim is None:
        leading = list_leading_answers(timeline)
        leaders = _list_leaders(timeline, leading, decision)
        return replace(
            decision,
            leading=leading,
            leading_note=_describe_leading(leading, timeline.words),
            how=_explain_no_result(timeline, decision, leaders),
            leaders=leaders,
        )
    has_vote = any(vote.position in _FOR for _, vote in votes)
    how = _describe_measure(timeline, decision, has_vote=has_vote)
    return replace(
        decision,
        how=how,
        held_before=None if is_synthesis else _list_first_holders(swarm, outcome.numbers),
        reasons=tuple(SourcedClaim(text=vote.reason) for vote in backing if vote.reason),
        # The conditions of those who support what was decided (D-22).
        obligations=number_obligations(conditions, timeline.settled),
    )


_FOR: Final = frozenset(("support", "conditional_support"))
_LIMITS: Final = frozenset(("tokens", "money", "time"))


def _describe_measure(timeline: SwarmTimeline, decision: Decision, *, has_vote: bool) -> ByMeasure:
    """Say what chose the answer of a run: a synthesis, a vote, or the readings alone."""
    way: Literal["vote", "readings", "synthesis"] = "readings"
    if decision.author is not None:
        way = "synthesis"
    elif has_vote:
        way = "vote"
    readers = len({report.seat for report in timeline.reports})
    return ByMeasure(way=way, readers=readers, writer=decision.author)


def _describe_round(timeline: SwarmTimeline, decision: Decision) -> Standing | None:
    """Say which round of a run is under way."""
    standing, swarm = decision.standing, timeline.state
    if standing is None or standing.state != "running" or standing.progress == "outside":
        return standing
    most = swarm.settings.max_rounds
    number = min(max(swarm.round, 1), most)
    return replace(standing, progress="round", number=number, of=most, waiting=())


def _list_leaders(
    timeline: SwarmTimeline, leading: Sequence[LeadingAnswer], decision: Decision
) -> tuple[LeadingSide, ...]:
    """Return the first two answers of an undecided run: the first with its votes, or each with those who hold it."""
    supporters = tuple(each.seat for each in decision.positions if each.verdict in _FOR)
    opponents = tuple(each.seat for each in decision.positions if each.verdict == "oppose")
    leaders: list[LeadingSide] = []
    for each in leading[:2]:
        holders: tuple[SeatId, ...] = ()
        if not supporters and not opponents:
            holders = _list_holders(timeline.state, each.idea)
        leaders.append(LeadingSide(text=each.idea, supporters=holders))
    if leaders and (supporters or opponents):
        leaders[0] = replace(leaders[0], supporters=supporters, opponents=opponents)
    return tuple(leaders)


def _list_holders(swarm: Swarm, text: str) -> tuple[SeatId, ...]:
    """Return who held the idea with these words in the end."""
    if swarm.measured is None:
        return ()
    for each in swarm.measured.backing:
        if swarm.board.ideas[each.idea].text == text:
            return each.backers
    return ()


def _explain_no_result(
    timeline: SwarmTimeline, decision: Decision, leaders: Sequence[LeadingSide]
) -> How | None:
    """Say why a run that is over has no result; None while it goes on."""
    closed = timeline.closed
    if not isinstance(closed, facts.SwarmClosed):
        return None
    if closed.reason == "insufficient_active_agents":
        return Undecided(reason="too_few")
    if closed.reason == "called":
        return Undecided(reason="called")
    supporters = [each for each in decision.positions if each.verdict in _FOR]
    opponents = [each for each in decision.positions if each.verdict == "oppose"]
    if supporters or opponents:
        if len(supporters) == len(opponents):
            return Undecided(reason="tie")
        return Undecided(reason="no_majority")
    if closed.reason in _LIMITS:
        return Undecided(reason="limit", limit=closed.reason)
    counts = [len(each.supporters) for each in leaders]
    completed = timeline.state.completed
    is_read = completed is not None and completed.choice is not None
    # Where readings decide they weigh more than heads: then the first two are told apart by them or not at all.
    if not is_read and len(counts) > 1 and counts[0] > counts[1]:
        return Undecided(reason="leads")
    return Undecided(reason="two_level")


MAX_LEADING: Final = 5
"""How many of the first answers an undecided run names."""


def list_leading_answers(timeline: SwarmTimeline) -> tuple[LeadingAnswer, ...]:
    """Return the first answers of an ended run by their readings; without readings by their support (S-35)."""
    swarm = timeline.state
    if swarm.completed is None:
        return ()
    choice = swarm.completed.choice
    if choice is None:
        return _list_best_backed(swarm)
    texts = {answer.name: answer.text for answer in AnswerIndex(swarm).answers.values()}
    leading: list[LeadingAnswer] = []
    for each in choice.ranked[:MAX_LEADING]:
        text = texts.get(each.answer, each.answer)
        leading.append(LeadingAnswer(idea=text, value=each.value, readers=each.readers))
    return tuple(leading)


def _list_best_backed(swarm: Swarm) -> tuple[LeadingAnswer, ...]:
    measured = swarm.measured
    if measured is None:
        return ()
    leading: list[LeadingAnswer] = []
    ranked = sorted(measured.backing, key=lambda each: (-len(each.backers), each.idea))
    for each in ranked[:MAX_LEADING]:
        count = len(each.backers)
        share = compute_share(count, measured.voices)
        idea = swarm.board.ideas[each.idea]
        leading.append(LeadingAnswer(idea=idea.text, value=share, readers=count))
    return tuple(leading)


def _describe_leading(leading: Sequence[LeadingAnswer], words: SwarmReportText) -> str:
    """Return the line that names the first two answers of an undecided run; "" without findings."""
    names = [extract_first_sentence(each.idea) for each in leading[:2]]
    match names:
        case [first, second]:
            return words.undecided_two.format(first=first, second=second)
        case [first]:
            return words.undecided_one.format(first=first)
        case _:
            return ""


def _list_first_holders(swarm: Swarm, decided: Sequence[int]) -> tuple[SeatId, ...] | None:
    """Return who stated the first of these ideas in the round in which it came up; None for an answer that is no idea."""
    for idea in swarm.board.list_ideas(decided[:1]):
        return idea.independent
    return None


def _add_figures(
    decision: Decision,
    timeline: SwarmTimeline,
    first: facts.IdeaResolution | None,
    choice: facts.EvidenceChoice | None,
) -> Decision:
    """Add how sure the decision is, and by what: by the vote on its first idea, or by the readings of the chosen answer."""
    if first is not None:
        decision = replace(
            decision,
            confidence=first.confidence,
            confidence_from="one_voice",
            support=first.support,
            turnout=first.turnout,
            outcome_uncertain=first.outcome_uncertain,
            consensus_type=first.consensus_type,
            voters=first.voters,
            effective=first.effective,
        )
    if choice is not None:
        # What the readings say comes before what the vote on the same idea says.
        decision = replace(
            decision,
            confidence=choice.sureness,
            confidence_from="readings",
            outcome_uncertain=_could_differ(timeline, choice),
        )
    return decision


def _find_label(timeline: SwarmTimeline, choice: facts.EvidenceChoice | None) -> str:
    """The answer in a few words: an option, a direction of the user's, or what an explorer called the idea in the first round.

    The label of any other direction is none: it says where explorers looked.
    """
    if choice is None:
        return ""
    if not choice.idea:
        return choice.answer
    for each in timeline.reports:
        label = one_line(each.report.choice)
        if each.round != 1 or not label:
            continue
        match = re.search(re.escape(label), choice.answer, re.IGNORECASE)
        if match is not None:
            # As the idea has it.
            return match[0]
    return ""


def _could_differ(timeline: SwarmTimeline, choice: facts.EvidenceChoice) -> bool:
    """Whether those whose ballot is missing could have put the second first."""
    missing = sum(ballot is None for ballot in timeline.state.ballots.values())
    return choice.needed is not None and missing >= choice.needed


def _build_claim(timeline: SwarmTimeline, numbers: Sequence[int]) -> SourcedClaim:
    swarm = timeline.state
    texts = [idea.text for idea in swarm.board.list_ideas(numbers)]
    lines = {line.content: line.id for line in reversed(timeline.lines)}
    stated = [each.core_idea for each in swarm.board.findings if each.idea in numbers]
    rests = sorted({lines[text] for text in stated if text in lines})
    if len(texts) == 1:
        text = texts[0]
    else:
        text = "\n".join(f"{at}. {each}" for at, each in enumerate(texts, 1))
    return SourcedClaim(text=text, entries=tuple(rests))


def list_votes(timeline: SwarmTimeline, answer: int) -> list[tuple[SeatId, AnswerVote]]:
    """The vote of each agent on an answer, by its number on ballots; none while they are sealed."""
    if timeline.is_sealed:
        return []
    votes: list[tuple[SeatId, AnswerVote]] = []
    for seat in timeline.state.explorers:
        vote = find_stated_vote(timeline.state, seat, answer)
        if vote is not None:
            votes.append((seat, vote))
    return votes


def _build_positions(timeline: SwarmTimeline, outcome: RunOutcome) -> tuple[SeatPosition, ...]:
    swarm = timeline.state
    opening = {each.seat: each for each in reversed(timeline.reports)}
    votes: dict[SeatId, AnswerVote] = {}
    weights: Mapping[str, float] = {}
    number = next(iter(outcome.numbers), 0)
    if outcome.vote is not None:
        number = outcome.vote.idea or number
        votes = dict(list_votes(timeline, number))
        weights = outcome.vote.weights
    positions = []
    for name in swarm.explorers:
        report, vote = opening.get(name), votes.get(name)
        position: VotePosition | None = None
        confidence: float | None = None
        if outcome.vote is not None:
            position, confidence = find_vote(swarm, name, number)
        if report is None and position is None:
            continue
        before = choice_before = ""
        if report is not None:
            before = "; ".join(each.core_idea for each in report.report.findings)
            # From the second round on it has read what others said.
            if report.round == 1:
                choice_before = report.report.choice
        after = ""
        if vote is not None:
            after = vote.words
        positions.append(
            SeatPosition(
                seat=name,
                before=before or None,
                after=after or None,
                verdict=position,
                confidence_after=confidence,
                weight=weights.get(name, 0.0),
                choice_before=choice_before,
                via_before=timeline.find_first_door(name, "explore"),
                via=timeline.find_door(name, "ballot"),
            )
        )
    return tuple(positions)


def _collect_challenges(timeline: SwarmTimeline, outcome: RunOutcome) -> tuple[SourcedClaim, ...]:
    """Challenges of collisions against findings that back what was decided on."""
    challenges: list[SourcedClaim] = []
    index = AnswerIndex(timeline.state)
    for finding in timeline.state.board.findings:
        if index.find_answer(finding) not in outcome.numbers:
            continue
        for review in finding.reviews:
            if review.action == "challenge" and review.content:
                entry = timeline.find_finding_line(finding)
                challenges.append(
                    SourcedClaim(text=review.content, entries=(entry,), seat=review.seat)
                )
    return tuple(challenges)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSynthesis:
    """A text whose citations of no finding, and of refuted ones, are marked where they stand."""

    text: str
    cited: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    refuted: tuple[str, ...] = ()


def check_citations(
    text: str, findings: Sequence[Finding], words: SwarmReportText
) -> CheckedSynthesis:
    """Check every finding that a text names: one that does not exist or was refuted is marked, not passed on as a fact."""
    named: dict[str, dict[str, None]] = {"cited": {}, "unknown": {}, "refuted": {}}

    def mark(match: re.Match[str]) -> str:
        number = int(match[1])
        if not 1 <= number <= len(findings):
            named["unknown"][match[0]] = None
            return f"{match[0]} ({words.no_such_finding})"
        finding = findings[number - 1]
        named["cited"][finding.id] = None
        if finding.verdict != "refuted":
            return match[0]
        named["refuted"][finding.id] = None
        return f"{match[0]} ({words.refuted_finding})"

    marked = _CITED.sub(mark, text)
    return CheckedSynthesis(text=marked, **{name: tuple(each) for name, each in named.items()})
