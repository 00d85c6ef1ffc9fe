"""Derives from the lines: the motion, the challenges and their state, the blind positions."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, Literal

from moothall.domain.frame import names_nothing
from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.topic import normalize_label
from moothall.protocols.council.facts import Contribution
from moothall.protocols.council.state import Council, CouncilLine, CouncilVariant
from moothall.scoring import posterior
from moothall.scoring.independence import build_seat_correlations
from moothall.scoring.posterior import MOTION_OPTIONS, BlindEvidence, weigh_blind_answers
from moothall.scoring.resolution import build_vote, weigh_votes

ChallengeState = Literal["open", "answered", "accepted"]

_DIGITS: Final = 9
"""Sums are compared to this many digits: the order of floating-point additions must not break a tie."""

_STANCES: Final[dict[str, int]] = {"support": 1, "challenge": -1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """A challenge, its state, and the line that answered or accepted it."""

    line: CouncilLine
    state: ChallengeState
    by: int | None = None


def is_text(state: Council, line: CouncilLine) -> bool:
    """Whether a proposal or synthesis says anything to vote on: "yes" names none of the things in the question (Q-2)."""
    options = state.opened.subject.options
    return bool(line.said.choice) or not names_nothing(options, "", line.said.text)


def list_proposals(state: Council) -> list[CouncilLine]:
    proposals = [line for line in state.lines if line.said.type == "propose"]
    last_by_seat = {line.seat: line for line in proposals if is_text(state, line)}
    return sorted(last_by_seat.values(), key=lambda line: line.id)


def list_candidates(variant: CouncilVariant, state: Council) -> list[CouncilLine]:
    """Return the lines to vote on, in the order of the roster: the syntheses of the last round that has any, else the proposals.

    Each seat has one, its last; of two in the same words the first author's counts. If a seat owns the decision, its proposal or
    synthesis is the only one.
    """
    if variant.owner(state.opened) is not None:
        alone = find_owned_motion(variant, state)
        if alone is None:
            return []
        return [alone]
    syntheses = _list_syntheses(state)
    latest = {line.seat: line for line in syntheses if line.round == syntheses[-1].round}
    lines = latest or {line.seat: line for line in list_proposals(state)}
    in_order = [lines[seat.id] for seat in state.seats if seat.id in lines]
    # Of texts, not of answers: the same words stand to the vote once.
    by_text = {normalize_label(line.said.text): line for line in reversed(in_order)}
    return list(reversed(by_text.values()))


def _list_syntheses(state: Council) -> list[CouncilLine]:
    """Return the syntheses that say something; of an owner these are its decisions."""
    syntheses: list[CouncilLine] = []
    for line in state.lines:
        if line.said.type == "synthesize" and is_text(state, line):
            syntheses.append(line)
    return syntheses


def find_discussed_line(state: Council, lines: Sequence[CouncilLine]) -> CouncilLine | None:
    """Return the line that has the most support in the discussion; among equals the first one.

    Its support is the number of seats that wrote the same choice or support it, minus those that challenge it.
    """
    alike = Counter(find_label(state, line) for line in lines if line.said.choice)
    # Keyed by line and seat: the last stance of a seat replaces its earlier ones.
    stances = {
        (line.said.refers_to, line.seat): _STANCES[line.said.type]
        for line in state.lines
        if line.said.type in _STANCES
    }
    authors = {line.id: line.seat for line in lines}
    about: Counter[int | None] = Counter()
    for (number, seat), stance in stances.items():
        # A seat counts once per line, however often it speaks; an author is already counted for its own.
        if authors.get(number or 0) != seat:
            about[number] += stance
    return max(
        lines,
        key=lambda line: alike[find_label(state, line)] + about[line.id],
        default=None,
    )


def is_about(state: Council, line: CouncilLine, choice: str, author: SeatId) -> bool:
    """Whether a line may speak to a choice: the line that it names, else the proposal of `author`, names no other."""
    if not choice:
        return True
    about = [each for each in list_proposals(state) if each.seat == author]
    referred = state.line(line.said.refers_to)
    if referred is not None:
        about.insert(0, referred)
    for each in about:
        label = find_label(state, each)
        if label:
            return label == choice
    return True


def find_owned_motion(variant: CouncilVariant, state: Council) -> CouncilLine | None:
    """Return the motion of a session that a seat owns: the owner's decision, else its proposal."""
    owner = variant.owner(state.opened)
    for line in reversed((*list_proposals(state), *_list_syntheses(state))):
        if line.seat == owner:
            return line
    return None


def has_motion(variant: CouncilVariant, state: Council) -> bool:
    """Whether there is anything to decide on, without computing the motion."""
    owner = variant.owner(state.opened)
    for line in state.lines:
        is_proposal = line.said.type == "propose" and owner in {None, line.seat}
        if (is_proposal or line.said.type == "synthesize") and is_text(state, line):
            return True
    return False


def list_challenges(state: Council) -> list[Challenge]:
    """Return every challenge: accepted if another seat gave way to it, answered if another seat responded, else open."""
    raised = {line.id: line for line in state.lines if line.said.type == "challenge"}
    answered: dict[int, int] = {}
    accepted: dict[int, int] = {}
    if not raised:
        return []
    for line in state.lines:
        for number in _list_answered_lines(line.said):
            challenge = raised.get(number)
            # Nobody answers their own challenge, and no line answers one that came after it.
            if challenge is None or challenge.seat == line.seat or line.id <= number:
                continue
            if number in line.said.accepts or _takes_advice(line.said, number):
                # `setdefault` keeps the first line; an acceptance outranks an answer, see below.
                accepted.setdefault(number, line.id)
            else:
                answered.setdefault(number, line.id)
    challenges: list[Challenge] = []
    for number, line in raised.items():
        if number in accepted:
            challenges.append(Challenge(line=line, state="accepted", by=accepted[number]))
        elif number in answered:
            challenges.append(Challenge(line=line, state="answered", by=answered[number]))
        else:
            challenges.append(Challenge(line=line, state="open"))
    return challenges


def _takes_advice(said: Contribution, number: int) -> bool:
    """Whether a contribution takes the advice in a line, all of it or a part."""
    return any(taken.entry == number and taken.how != "declined" for taken in said.taken)


def _list_answered_lines(said: Contribution) -> set[int]:
    """Return the lines that a contribution answers or accepts; a vote addresses the motion, whatever it refers to."""
    answered = {*said.answers, *said.accepts}
    if said.refers_to is not None and said.type != "vote":
        answered.add(said.refers_to)
    for taken in said.taken:
        # Advice that is declined without a reason has not been answered.
        if taken.how != "declined" or taken.why.strip():
            answered.add(taken.entry)
    return answered


def find_blind_positions(state: Council) -> Mapping[SeatId, CouncilLine]:
    """Return what each seat wrote before it read anyone: its first proposal. Empty if the session was not blind."""
    if not state.opened.settings.blind:
        return {}
    positions: dict[SeatId, CouncilLine] = {}
    for line in state.lines:
        if line.said.type == "propose" and line.round == 1:
            positions.setdefault(line.seat, line)
    return positions


def weigh_blind_positions(state: Council) -> BlindEvidence | None:
    """Return what the blind positions say about the choices; None if the session was not blind, or nobody named a choice."""
    answers: dict[SeatId, tuple[str, float | None]] = {}
    for seat, line in find_blind_positions(state).items():
        answers[seat] = (line.said.choice, line.said.confidence)
    return weigh_blind_answers(state.seats, answers, state.opened.subject, state.groups)


def weigh_blind_support(state: Council) -> Mapping[str, float]:
    """Return what those who wrote each choice blind would weigh in a vote: by record, independence and bias weight."""
    labels: dict[SeatId, str] = {}
    for seat_id, line in find_blind_positions(state).items():
        if find_label(state, line):
            labels[seat_id] = find_label(state, line)
    subject = state.opened.subject
    seats = [seat for seat in state.seats if seat.id in labels]
    correlations = build_seat_correlations(subject.error_correlations, seats)
    evidence = weigh_blind_positions(state)
    options = MOTION_OPTIONS if evidence is None else evidence.options
    weights = weigh_votes([build_vote(seat, None, None) for seat in seats], correlations, options)
    support: dict[str, float] = {}
    for seat, weight in zip(seats, weights, strict=True):
        label = labels[seat.id]
        support[label] = support.get(label, 0.0) + weight
    return support


def find_blind_leader(state: Council) -> str | None:
    """Return the choice that would win if the blind positions were votes; of equals the one of more seats, None if two have as many.

    Bias weights say who decides, so they count here; they do not count in how likely it is right.
    """
    evidence = weigh_blind_positions(state)
    if evidence is None:
        return None
    weights = weigh_blind_support(state)
    ranks = {
        choice: (round(weights[choice], _DIGITS), count)
        for choice, count in evidence.counts.items()
    }
    best = max(ranks.values())
    leading = [choice for choice, rank in ranks.items() if rank == best]
    return leading[0] if len(leading) == 1 else None


def is_new_answer(state: Council, decided: CouncilLine | None) -> bool:
    """Whether nobody had written this answer blind: then the blind ones do not say how likely it is right (Q-10)."""
    evidence = weigh_blind_positions(state)
    label = find_label(state, decided)
    return bool(label) and evidence is not None and not evidence.is_given(label)


def list_first_holders(state: Council, decided: CouncilLine) -> tuple[SeatId, ...] | None:
    """Return the seats whose blind answer this was; None where nobody can tell."""
    blind = {seat: line.said.choice for seat, line in find_blind_positions(state).items()}
    return posterior.list_first_holders(decided.said.choice, blind, weigh_blind_positions(state))


def find_label(state: Council, line: CouncilLine | None) -> str:
    """Return what the choice of a line is counted as; empty without a line."""
    if line is None:
        return ""
    return state.groups.find(line.said.choice)


def is_blind_agreement(state: Council) -> bool:
    """Whether every seat wrote a position blind, and all name the same choice."""
    positions = find_blind_positions(state)
    if len(positions) < max(2, len(state.seats)):
        return False
    # A seat that proposed twice must not have changed its choice in between.
    named = {find_label(state, line) for line in (*positions.values(), *list_proposals(state))}
    return len(named) == 1 and named != {""}


def is_overturned(variant: CouncilVariant, state: Council, decided: CouncilLine | None) -> bool:
    """Whether the decision differs from the blind majority, although nobody who changed names a line that moved them.

    An owner names what moved it by the advice that it took.
    """
    evidence = weigh_blind_positions(state)
    after = find_label(state, decided)
    if evidence is None or evidence.majority is None:
        return False
    if not after or after == evidence.majority:
        return False
    if not evidence.is_comparable(after):
        return False
    if decided is not None and variant.owner(state.opened) is not None:
        return all(taken.how == "declined" for taken in decided.said.taken)
    return not any(_is_moved(state, seat, after) for seat in state.votes)


def _is_moved(state: Council, seat: SeatId, after: str) -> bool:
    vote, before = state.line(state.votes[seat]), find_blind_positions(state).get(seat)
    if vote is None or before is None or find_label(state, before) == after:
        return False
    positions = {vote.said.position}
    for each in vote.said.ballot:
        if find_label(state, state.line(each.candidate)) == after:
            positions.add(each.position)
    if find_label(state, vote) == after:
        positions.add("support")
    is_with = not positions.isdisjoint({"support", "conditional_support"})
    return vote.said.moved_by is not None and is_with
