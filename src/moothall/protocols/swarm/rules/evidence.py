"""The readings of a swarm, and the answer that they favour (S-30, S-34).

Answers are the topic's options where it has them, else the ideas; directions are only where to look. A reading is a deposit: its
amount says how good the answer that a direction stands for looked to the explorer that was there. In the closing ballot each
explorer rates the answers that it read itself; its rating then stands for all of its deposits.

A direction is also what an agent responds to, under stop signals, and reports (S-9, S-15).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from moothall.domain.dictionaries import group_pairs
from moothall.domain.ids import SeatId
from moothall.domain.replace import copy_fields, dataclass
from moothall.domain.topic import normalize_label
from moothall.protocols.swarm.facts import EvidenceChoice
from moothall.protocols.swarm.state import Agent, Board, Finding, Swarm
from moothall.scoring.evidence import AnswerReading, judge_evidence, scale_deposits
from moothall.scoring.independence import build_seat_correlations
from moothall.scoring.stigmergy import (
    compute_effective_concentration,
    compute_inhibition,
    compute_response,
)

TOP: Final = 3
"""How many of the strongest directions an agent is shown with its response to them."""


def direction_key(direction: str) -> str:
    """Normalize a direction for comparison: without case, width and surrounding punctuation."""
    # A direction of punctuation only has an empty label: then its text is the key, so that such directions stay distinct.
    return normalize_label(direction) or direction


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedDirection:
    """A direction with the response of one agent to it."""

    key: str
    direction: str
    raw: float
    effective: float
    probability: float
    signals: int


def weigh_directions(state: Swarm, agent: Agent, most: int | None = None) -> list[WeighedDirection]:
    """Return the directions of the blackboard with the response of this agent, the strongest first."""
    board, settings = state.board, state.settings
    counts = count_active_signals(board)
    effective = {}
    for key, each in board.pheromones.items():
        strength = compute_inhibition(
            counts[key], settings.signal_strength, settings.max_inhibition
        )
        effective[key] = compute_effective_concentration(each.concentration, strength)
    # The key breaks ties.
    ranked = sorted(effective, key=lambda key: (-effective[key], key))
    weighed: list[WeighedDirection] = []
    for key in ranked[:most]:
        pheromone = board.pheromones[key]
        weighed.append(
            WeighedDirection(
                key=key,
                direction=pheromone.direction,
                raw=pheromone.concentration,
                effective=effective[key],
                probability=compute_response(effective[key], agent.threshold),
                signals=counts[key],
            )
        )
    return weighed


def count_active_signals(board: Board) -> Counter[str]:
    return Counter(signal.target for signal in board.signals)


MAX_RATED: Final = 12
MAX_RANKED: Final = 12
CLEAR_READINGS: Final = 2
"""A leader is clear only when every direction has been read so often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleAnswer:
    """A possible answer to the question."""

    number: int
    """Its number on ballots."""
    name: str
    """The id of an idea; an option, or a direction of the user's, as written."""
    text: str
    idea: int = 0
    """The number of the idea, 0 if it is none."""


class AnswerIndex:
    """The answers of a run, which of them each direction stands for, and which each explorer read."""

    def __init__(self, state: Swarm) -> None:
        self._state = state
        self.answers = self._list_answers()
        self.by_direction = self._index_directions()

    def _list_answers(self) -> dict[int, PossibleAnswer]:
        options = self._state.opened.subject.options
        if options:
            return self._number_given(options)
        stated = {
            finding.idea for finding in self._state.board.findings if finding.verdict != "refuted"
        }
        ideas = {
            number: idea for number, idea in self._state.board.ideas.items() if number in stated
        }
        answers = {
            at: PossibleAnswer(number=at, name=idea.id, text=idea.text, idea=at)
            for at, idea in ideas.items()
        }
        # The user's own directions may be answers, too; other labels never are.
        return {**answers, **self._number_given(self._state.settings.directions)}

    def _number_given(self, texts: Sequence[str]) -> dict[int, PossibleAnswer]:
        """Number what the user gave after all ideas: an idea has the same number wherever it stands."""
        numbered = enumerate(texts, len(self._state.board.ideas) + 1)
        return {
            number: PossibleAnswer(number=number, name=text, text=text) for number, text in numbered
        }

    def _index_directions(self) -> dict[str, int]:
        """Return the answer that each direction stands for: the one that it names, else what most explorers first reported there.

        Directions in which the same idea was reported are one, however they are spelled.
        """
        named = {
            direction_key(answer.text): answer.number
            for answer in self.answers.values()
            if not answer.idea
        }
        stated: dict[str, int] = {}
        finders: dict[str, Counter[int]] = {}
        met: set[tuple[SeatId, int]] = set()
        for finding in self._state.board.findings:
            if finding.idea not in self.answers or finding.verdict == "refuted":
                continue
            stated[direction_key(finding.core_idea)] = finding.idea
            # An idea that is stated again and again, wherever its author stands, was found in the first direction.
            if (finding.seat, finding.idea) not in met:
                met.add((finding.seat, finding.idea))
                finders.setdefault(direction_key(finding.direction), Counter())[finding.idea] += 1
        held = Counter(number for agent in self._state.agents.values() for number in agent.holds)
        directions = {
            key: max(each, key=lambda idea: (held[idea] > 0, each[idea], held[idea], -idea))
            for key, each in finders.items()
        }
        if self._state.opened.subject.options:
            return named
        # A direction in the words of an idea stands for that one, whatever was reported there first.
        return {**named, **directions, **stated}

    def find_answer(self, finding: Finding) -> int:
        """Return the number of the answer that a finding is about, 0 for none: its idea, or an option of the question."""
        if not self._state.opened.subject.options:
            return finding.idea
        return self.by_direction.get(direction_key(finding.option or finding.direction), 0)

    def list_read(self, seat: SeatId) -> dict[int, PossibleAnswer]:
        """Return the answers that an explorer can rate: what it stated itself, and what the directions that it read stand for.

        Of many, those that it read last. Options can be rated by all.
        """
        if self._state.opened.subject.options:
            return self.answers
        own = self._list_stated(seat)
        ways: list[int] = []
        for key in self._state.agents[seat].read:
            if key in self.by_direction and self._has_read(seat, key):
                ways.append(self.by_direction[key])
        numbers = [number for number in dict.fromkeys((*own, *ways)) if number in self.answers]
        return {number: self.answers[number] for number in sorted(numbers[-MAX_RATED:])}

    def _list_stated(self, seat: SeatId) -> list[int]:
        """Return the ideas that an explorer stated; one that is asked plainly may only stand behind an idea of others."""
        is_outside = self._state.seat(seat).is_outside
        stated: list[int] = []
        for finding in self._state.board.findings:
            if finding.seat != seat:
                continue
            idea = self._state.board.idea(finding.idea)
            is_founder = idea is not None and seat in idea.independent
            if is_outside or is_founder or finding.details or finding.rating is not None:
                stated.append(finding.idea)
        return stated

    def _has_read(self, seat: SeatId, key: str) -> bool:
        """Whether an explorer that was at a direction read it: who is asked plainly says by its rating what it read."""
        if self._state.seat(seat).is_outside:
            return True
        return seat in self._state.board.readings.get(key, {})

    def sum_deposits(self) -> dict[tuple[int, SeatId], tuple[int, float]]:
        """Return how often and how much in all each explorer deposited on the directions of an answer."""
        amounts: dict[tuple[int, SeatId], tuple[int, float]] = {}
        for key, seats in self._state.board.readings.items():
            for seat, (count, total) in seats.items() if key in self.by_direction else ():
                before = amounts.get((self.by_direction[key], seat), (0, 0.0))
                amounts[self.by_direction[key], seat] = (before[0] + count, before[1] + total)
        return amounts


def build_choice(state: Swarm) -> EvidenceChoice | None:
    """Return the answer that the readings favour; None if nobody read any."""
    index = AnswerIndex(state)
    # What it says of an answer that it did not read does not count.
    ratings: dict[tuple[int, SeatId], float] = {}
    for seat, ballot in state.ballots.items():
        if ballot is None:
            continue
        read = index.list_read(seat)
        for each in ballot.votes:
            if each.answer in read and each.rating is not None:
                ratings[each.answer, seat] = each.rating
    amounts = index.sum_deposits()
    factor = scale_deposits(amounts, ratings, state.settings.max_deposit)
    weights = _weigh_findings(state)
    readings = []
    for number, seat in amounts.keys() | ratings.keys():
        if (number, seat) in ratings:
            value = ratings[number, seat]
        else:
            count, total = amounts[number, seat]
            value = total / count * factor
        answer, agent = index.answers[number], state.agents[seat]
        warned = {index.by_direction.get(key) for key in agent.cuts}
        # What it holds comes before what it leaves, and that before what it warned of.
        rank = 0.0
        if answer.idea in agent.holds:
            rank += 1.0
        if number in warned:
            rank -= 1.0
        readings.append(
            AnswerReading(
                answer=answer.name,
                reader=seat,
                value=min(1.0, value),
                weight=weights.get((answer.idea, seat), 1.0),
                rank=rank,
            )
        )
    verdict = judge_evidence(
        readings, build_seat_correlations(state.opened.subject.error_correlations, state.seats)
    )
    if verdict is None:
        return None
    leader = next(each for each in index.answers.values() if each.name == verdict.ranked[0].answer)
    return copy_fields(
        EvidenceChoice,
        verdict,
        ranked=verdict.ranked[:MAX_RANKED],
        answer=leader.text,
        idea=leader.idea,
    )


def _weigh_findings(state: Swarm) -> dict[tuple[int, SeatId], float]:
    """Return how much an explorer's reading of an idea counts after the reviews of its findings for it (S-13).

    Support 0.8, extension 1.2 and synthesis 1.0 stand behind a reading, a challenge of 1.5 against it; what the validator refuted
    does not count at all. What its author read of other ideas is not touched.
    """
    checked = [
        finding
        for finding in state.board.findings
        if finding.reviews or finding.verdict is not None
    ]
    reviewed = group_pairs(((finding.idea, finding.seat), finding) for finding in checked)
    weights = {}
    for key, findings in reviewed.items():
        reviews = [review for finding in findings for review in finding.reviews]
        against = sum(review.weight for review in reviews if review.action == "challenge")
        behind = 1.0 + sum(review.weight for review in reviews if review.action != "challenge")
        unrefuted = sum(finding.verdict != "refuted" for finding in findings) / len(findings)
        weights[key] = unrefuted * behind / (behind + against)
    return weights


def is_clear(state: Swarm, choice: EvidenceChoice | None) -> bool:
    """Whether the leader is so clear that the run may end: by the setting, and only once every direction has been read."""
    settings = state.settings
    if (
        not settings.clear_at
        or choice is None
        or choice.z is None
        or state.round < settings.min_rounds
    ):
        return False
    read = [
        sum(count for count, _ in state.board.readings.get(key, {}).values())
        for key in state.board.pheromones
    ]
    return min(read) >= CLEAR_READINGS and choice.z >= settings.clear_at
