"""The candidates of a vote and the positions on them (D-7): the votes choose the motion, never the order of arrival."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from moothall.domain.dictionaries import group_pairs
from moothall.domain.frame import is_none_of_these
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.domain.topic import normalize_label
from moothall.protocols.council.facts import CandidateVote, Contribution
from moothall.protocols.council.motions import (
    find_discussed_line,
    find_label,
    list_candidates,
    weigh_blind_positions,
    weigh_blind_support,
)
from moothall.protocols.council.state import Council, CouncilLine, CouncilVariant
from moothall.reading.choices import POSITIONS
from moothall.reading.field_values import read_integer
from moothall.reading.stated import find_choice, is_silent, split_by_line_number
from moothall.scoring.independence import build_seat_correlations
from moothall.scoring.positions import VotePosition
from moothall.scoring.posterior import MOTION_OPTIONS, BlindEvidence
from moothall.scoring.resolution import SeatVote, build_vote, weigh_votes

VOTE_SHARE: Final = 0.5
"""What a vote after reading counts beside a blind answer where both choose; `bench/decisions` prints others."""

FAVOUR: Final[tuple[VotePosition | None, ...]] = (
    "support",
    "conditional_support",
    "oppose",
    "abstain",
    None,
)
"""The positions on the texts of one choice, in the order in which they count for the choice."""

ABSTAIN: Final = "abstain"
SUPPORT: Final[frozenset[VotePosition]] = frozenset(("support", "conditional_support"))
_DIGITS = 9
"""Sums are compared to this many digits: the order of floating-point additions must not break a tie."""


def find_candidate_ids(variant: CouncilVariant, state: Council) -> tuple[int, ...]:
    """Return the lines that a vote now is about: those of the vote that has begun, else those that it would begin with."""
    if state.phase == "vote" and state.candidates:
        return state.candidates
    return tuple(line.id for line in list_candidates(variant, state))


def find_voted_ids(variant: CouncilVariant, state: Council) -> tuple[int, ...]:
    """Return the lines that the votes were about; before any vote, those that it would be about."""
    return state.candidates if state.votes else find_candidate_ids(variant, state)


def read_ballot(said: Contribution, candidates: Sequence[int]) -> Mapping[int, CandidateVote]:
    """Return the positions of a vote by candidate.

    A bare position is about the line that it names, or the only candidate; a bare abstention is about all of them.
    """
    votes: dict[int, CandidateVote] = {}
    if said.ballot:
        for vote in said.ballot:
            if vote.candidate in candidates:
                votes[vote.candidate] = vote
        return votes
    if said.position == "abstain":
        for number in candidates:
            votes[number] = CandidateVote(candidate=number, position="abstain")
        return votes
    about: int | None = None
    if said.refers_to in candidates:
        about = said.refers_to
    elif len(candidates) == 1:
        about = candidates[0]
    if about is None or said.position is None:
        return {}
    return {
        about: CandidateVote(
            candidate=about, position=said.position, condition=said.condition, due=said.due
        )
    }


class UnproposedOption(NamedTuple):
    """An answer that seats vote for and that no candidate names: the first vote that explains it stands for its text."""

    line: int
    label: str


def list_unproposed(state: Council, candidates: Sequence[int]) -> tuple[UnproposedOption, ...]:
    """Return the answers that votes name and no candidate does: each is a candidate as well, in their own words (Q-9)."""
    proposed = {find_label(state, state.line(number)) for number in candidates}
    votes: dict[str, CouncilLine] = {}
    for seat in state.seats:
        line = state.line(state.votes.get(seat.id))
        if line is None:
            continue
        label = _find_voted_label(state, line.said, candidates)
        if not label or label in proposed:
            continue
        is_silent_so_far = label in votes and not votes[label].said.text.strip()
        if label not in votes or (is_silent_so_far and line.said.text.strip()):
            votes[label] = line
    return tuple(UnproposedOption(line.id, label) for label, line in votes.items())


def _find_voted_label(state: Council, said: Contribution, candidates: Sequence[int]) -> str:
    """Return the answer that a vote names: a listed one, or one of its own where it supports none that is there; else ""."""
    label = state.groups.find(said.choice)
    if label == ABSTAIN:
        return ""
    if label in set(map(state.groups.find, list_choices(state, candidates))):
        return label
    votes = read_ballot(said, candidates).values()
    if any(vote.position in SUPPORT for vote in votes):
        return ""
    return label


def list_choices(state: Council, candidates: Sequence[int]) -> tuple[str, ...]:
    """Return what a vote may name: the listed answers, and those that a candidate names instead of one."""
    choices = {normalize_label(option): option for option in state.opened.subject.options}
    if choices:
        for line in state.list_lines(candidates):
            if find_label(state, line) and not is_none_of_these(line.said.choice):
                choices.setdefault(find_label(state, line), line.said.choice)
    return tuple(choices.values())


def read_vote(
    state: Council,
    said: Contribution,
    candidates: Sequence[int],
    unproposed: Sequence[UnproposedOption],
) -> Mapping[int, CandidateVote]:
    """Return the positions of a vote by candidate, those that nobody proposed among them."""
    votes = dict(read_ballot(said, candidates))
    label = _find_voted_label(state, said, candidates)
    options = state.opened.subject.options
    # Among options, who approves texts says nothing of one that no text names. Else who supports a text has chosen it.
    has_chosen = not options and any(vote.position in SUPPORT for vote in votes.values())
    if not label and not has_chosen:
        return votes
    for option in unproposed:
        position: VotePosition = "oppose"
        if option.label == label:
            position = "conditional_support" if said.condition.strip() else "support"
        votes[option.line] = CandidateVote(
            candidate=option.line, position=position, condition=said.condition, due=said.due
        )
    return votes


def find_votes(
    state: Council, candidates: Sequence[int], about: Sequence[int]
) -> Mapping[SeatId, CandidateVote]:
    """Return the most favourable vote of everyone who voted on one of these candidates."""
    lines = state.map_lines(state.votes)
    unproposed = list_unproposed(state, candidates)
    best: dict[SeatId, CandidateVote] = {}
    for seat, line in lines.items():
        ballot = read_vote(state, line.said, candidates, unproposed)
        votes = [ballot[number] for number in about if number in ballot]
        if votes:
            best[seat] = min(votes, key=lambda vote: FAVOUR.index(vote.position))
    return best


class CandidateVotes:
    """Everyone's votes on the candidates as they are counted. The ballots are read once for all candidates.

    Candidates that name the same choice are counted together: a seat supports a choice if it supports one of its texts.
    """

    def __init__(self, state: Council, candidates: Sequence[int]) -> None:
        self._state = state
        unproposed = list_unproposed(state, candidates)
        self._candidates = (*candidates, *[option.line for option in unproposed])
        # The ballot of everyone who voted, and how sure its voter is of it as a whole.
        self._ballots: dict[SeatId, tuple[Mapping[int, CandidateVote], float | None]] = {}
        for seat, line in state.map_lines(state.votes).items():
            votes = read_vote(state, line.said, candidates, unproposed)
            self._ballots[seat] = (votes, line.said.confidence)
        # Most voters take one of four positions with one confidence: each of these votes is built once.
        self._built: dict[tuple[SeatId, VotePosition | None, float | None], SeatVote] = {}
        self._votes: dict[int, tuple[SeatVote, ...]] = {}
        self._weights: dict[int, Mapping[str, float]] = {}

    def list_votes(self, candidate: int) -> tuple[SeatVote, ...]:
        """Return everyone's vote on one candidate: who voted, but not on this one, abstains from it."""
        if candidate not in self._votes:
            self._votes[candidate] = tuple(
                [self._build_vote(seat, candidate) for seat in self._state.seats]
            )
        return self._votes[candidate]

    def find_choice(self, candidate: int) -> str:
        """Return what a candidate is counted as: the choice that it names, else the candidate itself."""
        return find_label(self._state, self._state.line(candidate)) or f"#{candidate}"

    @cached_property
    def by_choice(self) -> Mapping[str, tuple[SeatVote, ...]]:
        """Everyone's vote on each choice: the most favourable one on its candidates."""

        def rate(vote: SeatVote) -> int:
            return FAVOUR.index(vote.position)

        groups = group_pairs(
            (self.find_choice(candidate), self.list_votes(candidate))
            for candidate in self._candidates
        )
        best: dict[str, tuple[SeatVote, ...]] = {}
        for choice, listed in groups.items():
            best[choice] = tuple([min(each, key=rate) for each in zip(*listed, strict=True)])
        return best

    @cached_property
    def ranking(self) -> list[int]:
        """Return the candidates, the motion first.

        The choice with the most weighed support wins; of equals the one that more of the weight had written blind, then the one
        with more unconditional support. Within a choice, the text with the most support. The roster decides what nothing else
        does.
        """
        state = self._state
        evidence = weigh_blind_positions(state)
        scores: dict[str, tuple[float, ...]] = {}
        for choice, votes in self.by_choice.items():
            scores[choice] = self._score_choice(choice, votes, evidence)
        places = {seat.id: place for place, seat in enumerate(state.seats)}

        def rate(number: int) -> tuple[float, ...]:
            line = state.line(number)
            # Who has no seat comes last.
            place = len(places)
            if line is not None:
                place = places.get(line.seat, place)
            figures = (
                *scores[self.find_choice(number)],
                *self._count_support(self.list_votes(number)),
            )
            return (*[-round(figure, _DIGITS) for figure in figures], place, number)

        return sorted(self._candidates, key=rate)

    @cached_property
    def blind_support(self) -> Mapping[str, float]:
        """What those who wrote each choice blind weigh."""
        return weigh_blind_support(self._state)

    def compute_shares(self, options: int) -> dict[str, float]:
        """Return each choice's share of blind answers and votes together; a vote after reading counts VOTE_SHARE of an answer."""
        sums = dict(self.blind_support)
        for choice, listed in self.by_choice.items():
            support = self._count_support(listed, options)[0]
            sums[choice] = sums.get(choice, 0.0) + VOTE_SHARE * support
        total = math.fsum(sums.values())
        if total <= 0:
            return dict.fromkeys(sums, 0.0)
        return {choice: value / total for choice, value in sums.items()}

    def _score_choice(
        self, choice: str, votes: Sequence[SeatVote], evidence: BlindEvidence | None
    ) -> tuple[float, ...]:
        support, unconditional, _ = self._count_support(votes)
        if evidence is None:
            return support, 0.0, unconditional
        if self._state.opened.settings.choose == "both":
            return self.compute_shares(evidence.options)[choice], support, unconditional
        return support, self.blind_support.get(choice, 0.0), unconditional

    def _count_support(
        self, votes: Sequence[SeatVote], options: int = MOTION_OPTIONS
    ) -> tuple[float, float, float]:
        """Return the weight of all support, of the unconditional part of it, and, below nought, that of opposition."""
        weights = self._weigh_seats(options)
        support, unconditional, against = (
            sum([weights[vote.seat] for vote in votes if vote.position in positions])
            for positions in (("support", "conditional_support"), ("support",), ("oppose",))
        )
        return support, unconditional, -against

    def _weigh_seats(self, options: int) -> Mapping[str, float]:
        """Return what the vote of everyone who voted weighs; it weighs the same for each candidate."""
        if options not in self._weights:
            voters = [seat for seat in self._state.seats if seat.id in self._ballots]
            correlations = build_seat_correlations(
                self._state.opened.subject.error_correlations, voters
            )
            votes = [build_vote(seat, None, None) for seat in voters]
            weights = weigh_votes(votes, correlations, options)
            names = [seat.id for seat in voters]
            self._weights[options] = dict(zip(names, weights, strict=True))
        return self._weights[options]

    def _build_vote(self, seat: Seat, candidate: int) -> SeatVote:
        position, confidence = self._find_position(seat.id, candidate)
        key = (seat.id, position, confidence)
        if key not in self._built:
            self._built[key] = build_vote(seat, position, confidence)
        return self._built[key]

    def _find_position(
        self, seat: SeatId, candidate: int
    ) -> tuple[VotePosition | None, float | None]:
        """Return a seat's position on a candidate, and how sure it is of it: of this position, else of its whole ballot."""
        if seat not in self._ballots:
            return None, None
        votes, confidence = self._ballots[seat]
        vote = votes.get(candidate)
        if vote is None:
            return "abstain", None
        if vote.confidence is not None:
            confidence = vote.confidence
        return vote.position, confidence


def find_motion(
    variant: CouncilVariant, state: Council, votes: CandidateVotes | None = None
) -> CouncilLine | None:
    """Return the line to decide on: the candidate that leads in the vote; without any vote, the one that is most supported.

    `votes` are those of the state, if they have been read already.
    """
    if not state.votes:
        return find_discussed_motion(variant, state)
    return state.line((votes or CandidateVotes(state, state.candidates)).ranking[0])


def find_discussed_motion(variant: CouncilVariant, state: Council) -> CouncilLine | None:
    """Return the candidate that the discussion supports most, whatever the votes say: these may still be sealed."""
    lines = state.list_lines(find_candidate_ids(variant, state))
    if len(lines) == 1:
        return lines[0]
    return find_discussed_line(state, lines)


def is_by_candidates(variant: CouncilVariant, state: Council) -> bool:
    """Whether the votes choose among candidates: not where a seat owns the decision."""
    return variant.owner(state.opened) is None


def find_early_votes(state: Council, candidates: Iterable[int]) -> dict[SeatId, int]:
    """Return the votes that were cast before the vote began; one before the last candidate was about something else."""
    listed = tuple(candidates)
    newest = max(listed, default=0)
    votes: dict[SeatId, int] = {}
    for seat, line in state.map_lines(state.ahead).items():
        is_about_all = line.phase == "vote" and line.id > newest
        if is_about_all and read_ballot(line.said, listed):
            votes[seat] = line.id
    return votes


_REFERENCES: Final = ("refers_to", "candidate", "motion", "line", "resolution")


def infer_vote_field(name: str, fields: Mapping[str, object]) -> object | None:
    """Return the ballot that a vote lacks, from what else it says; None if nothing says it."""
    if name != "ballot":
        return None
    by_line: dict[int, dict[str, object]] = {}
    for key, value in fields.items():
        if re.fullmatch(r"#?\d{1,6}", key):
            by_line[int(key.lstrip("#"))] = _read(value)
    about = _find_referenced_line(fields)
    said = _read(fields.get("position") or fields.get("vote"))
    if not by_line and about is not None and said:
        by_line = {about: said}
    if not by_line:
        texts = [value for value in fields.values() if isinstance(value, str)]
        by_line = find_line_positions("\n".join(texts))
    ballot: list[dict[str, object]] = []
    for number, position in by_line.items():
        if position:
            ballot.append({"candidate": number, **position})
    return ballot or None


def _find_referenced_line(fields: Mapping[str, object]) -> int | None:
    for key in _REFERENCES:
        number = read_integer(fields.get(key))
        if number is not None:
            return number
    return None


def find_line_positions(words: str) -> dict[int, dict[str, object]]:
    """Return the position on each line that the words name; none if a clause says something that cannot be read."""
    positions: dict[int, dict[str, object]] = {}
    for number, clause in split_by_line_number(words):
        said = {} if number is None else _read(clause)
        if number is not None and said and positions.setdefault(number, said) != said:
            return {}
        if not said and not is_silent(clause, POSITIONS):
            return {}
    return positions


def _read(value: object) -> dict[str, object]:
    if not isinstance(value, str):
        return {}
    read = find_choice(value, POSITIONS)
    if read is None:
        return {}
    position: dict[str, object] = {"position": read.value}
    if read.condition:
        position["condition"] = read.condition
    return position
