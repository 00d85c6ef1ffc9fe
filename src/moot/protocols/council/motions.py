"""What can be read off the table: the motion, the challenges and what became of them, the blind positions."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from moot.domain.ids import SeatId
from moot.domain.topic import normalize_label
from moot.protocols.council.facts import Contribution
from moot.protocols.council.state import Council, CouncilLine, Course

ChallengeState = Literal["open", "answered", "accepted"]

_STANCES: Final[dict[str, int]] = {"support": 1, "challenge": -1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Challenge:
    """A challenge, what became of it, and the line that answered or accepted it."""

    line: CouncilLine
    state: ChallengeState
    by: int | None = None


def list_proposals(state: Council) -> list[CouncilLine]:
    """Each seat's proposal: its last, where it wrote more than one."""
    found = {line.seat: line for line in state.lines if line.said.type == "propose"}
    return sorted(found.values(), key=lambda line: line.id)


def find_motion(course: Course, state: Council) -> CouncilLine | None:
    """What is to be decided on: the last synthesis; without one the proposal that has the most behind it.

    Behind a proposal stand the seats that proposed the same choice and those that support it, less those that challenge it; the
    earliest of equals. Where somebody owns the decision, it is the owner's proposal.
    """
    synthesis = _find_synthesis(state)
    if synthesis is not None:
        return synthesis
    owner = course.owner(state.opened)
    found = list_proposals(state)
    if owner is not None:
        return next((line for line in found if line.seat == owner), None)
    alike = Counter(normalize_label(line.said.choice) for line in found if line.said.choice)
    stances = {(line.said.refers_to, line.seat): _STANCES[line.said.type] for line in state.lines if line.said.type in _STANCES}
    authors = {line.id: line.seat for line in found}
    about: Counter[int | None] = Counter()
    for (number, seat), stance in stances.items():
        # However often a seat speaks to a proposal, it stands behind it once; an author stands behind its own anyway.
        about[number] += 0 if authors.get(number or 0) == seat else stance
    return max(found, key=lambda line: (alike[normalize_label(line.said.choice)] + about[line.id], -line.id), default=None)


def _find_synthesis(state: Council) -> CouncilLine | None:
    """The last synthesis. Whoever writes again mends its own, and does not move behind the others by it."""
    firsts: dict[tuple[int, SeatId], int] = {}
    latest: dict[tuple[int, SeatId], CouncilLine] = {}
    for line in state.lines:
        if line.said.type == "synthesize":
            firsts.setdefault((line.round, line.seat), line.id)
            latest[line.round, line.seat] = line
    return latest[max(firsts, key=lambda key: (key[0], firsts[key]))] if firsts else None


def has_motion(course: Course, state: Council) -> bool:
    """Whether there is anything to decide on, without working out what."""
    owner = course.owner(state.opened)
    return any(
        line.said.type == "synthesize" or (line.said.type == "propose" and owner in {None, line.seat}) for line in state.lines
    )


def find_early_votes(state: Council, about: CouncilLine | None) -> dict[SeatId, int]:
    """The votes that were cast before the vote has begun. One that came before the motion was about something else."""
    newest = 0 if about is None else about.id
    ahead = {seat: state.line(number) for seat, number in state.ahead.items()}
    return {seat: line.id for seat, line in ahead.items() if line is not None and line.phase == "vote" and line.id > newest}


def list_challenges(state: Council) -> list[Challenge]:
    """Every challenge: accepted where another seat gave way to it, answered where another seat spoke to it, else open."""
    raised = {line.id: line for line in state.lines if line.said.type == "challenge"}
    answered: dict[int, int] = {}
    accepted: dict[int, int] = {}
    for line in state.lines if raised else ():
        for number in _list_answered_lines(line.said):
            challenge = raised.get(number)
            if challenge is None or challenge.seat == line.seat or line.id <= number:
                continue
            if number in line.said.accepts or _is_adopted(line.said, number):
                accepted.setdefault(number, line.id)
            else:
                answered.setdefault(number, line.id)
    return [_build_challenge(line, answered.get(number), accepted.get(number)) for number, line in raised.items()]


def _list_answered_lines(said: Contribution) -> set[int]:
    """The lines that a contribution answers or gives way to; a vote speaks to the motion, whatever it refers to."""
    spoken_to = {said.refers_to} if said.refers_to is not None and said.type != "vote" else set()
    taken = {each.entry for each in said.taken if each.how != "declined" or each.why.strip()}
    return spoken_to | set(said.answers) | set(said.accepts) | taken


def _build_challenge(line: CouncilLine, answered: int | None, accepted: int | None) -> Challenge:
    if accepted is not None:
        return Challenge(line=line, state="accepted", by=accepted)
    return Challenge(line=line, state="open" if answered is None else "answered", by=answered)


def _is_adopted(said: Contribution, number: int) -> bool:
    return any(taken.entry == number and taken.how != "declined" for taken in said.taken)


def find_blind_positions(state: Council) -> Mapping[SeatId, CouncilLine]:
    """What each seat wrote before it read anyone: its first proposal. Empty where nothing was written blind."""
    if not state.opened.settings.blind:
        return {}
    found: dict[SeatId, CouncilLine] = {}
    for line in state.lines:
        if line.said.type == "propose" and line.round == 1:
            found.setdefault(line.seat, line)
    return found


def find_blind_majority(state: Council) -> str | None:
    """The choice that more than half of those who named one named blind, at least two of them."""
    choices = Counter(choice for line in find_blind_positions(state).values() if (choice := normalize_label(line.said.choice)))
    if not choices:
        return None
    choice, count = choices.most_common(1)[0]
    return choice if count >= 2 and 2 * count > choices.total() else None


def is_blind_agreement(state: Council) -> bool:
    """Whether every seat wrote a position blind, and all name the same choice."""
    positions = find_blind_positions(state)
    if len(positions) < max(2, len(state.seats)):
        return False
    # Those who wrote twice must not have come to another choice meanwhile.
    named = {normalize_label(line.said.choice) for line in (*positions.values(), *list_proposals(state))}
    return len(named) == 1 and named != {""}


def is_overturned(course: Course, state: Council, decided: CouncilLine | None) -> bool:
    """Whether the decision is not what most had written blind, and nobody who changed names a line that moved them.

    An owner names what moved it by the advice that it took.
    """
    before = find_blind_majority(state)
    after = normalize_label(decided.said.choice) if decided is not None else ""
    if before is None or not after or after == before:
        return False
    if decided is not None and course.owner(state.opened) is not None:
        return all(taken.how == "declined" for taken in decided.said.taken)
    return not any(_is_moved(state, seat, after) for seat in state.votes)


def _is_moved(state: Council, seat: SeatId, after: str) -> bool:
    vote, before = state.line(state.votes[seat]), find_blind_positions(state).get(seat)
    if vote is None or before is None or normalize_label(before.said.choice) == after:
        return False
    return vote.said.position in {"support", "conditional_support"} and vote.said.moved_by is not None
