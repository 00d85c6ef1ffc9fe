"""The candidates of a vote and the positions on them (D-7): the votes choose the motion, never the order of arrival."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import Final

from moothall.codec.choice_rule import build_choices, find_choice, is_silent, split_by_line_number
from moothall.codec.value_words import read_integer
from moothall.domain.ids import SeatId
from moothall.domain.roster import Seat
from moothall.protocols.council.facts import CandidateVote, Contribution
from moothall.protocols.council.motions import find_discussed_line, list_candidates
from moothall.protocols.council.state import Council, CouncilLine, CouncilVariant, find_accuracy
from moothall.scoring.confidence import ORDINARY_CONFIDENCE
from moothall.scoring.independence import build_seat_correlations, find_seat_family
from moothall.scoring.positions import VotePosition
from moothall.scoring.resolution import SeatVote, compute_worths, weigh_votes

SIDES: tuple[VotePosition, ...] = ("support", "conditional_support", "oppose")
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
    if said.ballot:
        return {vote.candidate: vote for vote in said.ballot if vote.candidate in candidates}
    if said.position == "abstain":
        return {number: CandidateVote(candidate=number, position="abstain") for number in candidates}
    about = said.refers_to if said.refers_to in candidates else candidates[0] if len(candidates) == 1 else None
    if about is None or said.position is None:
        return {}
    return {about: CandidateVote(candidate=about, position=said.position, condition=said.condition, due=said.due)}


def find_votes(state: Council, candidates: Sequence[int], about: int) -> Mapping[SeatId, CandidateVote]:
    """Return the position of everyone who voted on one candidate; its confidence is that of the whole vote if it states none."""
    votes: dict[SeatId, CandidateVote] = {}
    for seat, number in state.votes.items():
        line = state.line(number)
        vote = None if line is None else read_ballot(line.said, candidates).get(about)
        if line is not None and vote is not None:
            stated = line.said.confidence
            votes[seat] = vote if vote.confidence is not None or stated is None else replace(vote, confidence=stated)
    return votes


def build_voice(seat: Seat, position: VotePosition | None, confidence: float | None) -> SeatVote:
    """Build the vote of a seat as it is counted; a confidence that is not stated is presumed, and marked so."""
    presumed = ORDINARY_CONFIDENCE if position in SIDES else 0.0
    return SeatVote(
        seat=seat.id,
        position=position,
        confidence=presumed if confidence is None else confidence,
        weight=seat.weight,
        trust=seat.trust,
        family=find_seat_family(seat),
        accuracy=find_accuracy(seat),
        stated=confidence is not None,
    )


class CandidateVoices:
    """Everyone's votes on the candidates as they are counted. The ballots are read once for all candidates."""

    def __init__(self, state: Council, candidates: Sequence[int]) -> None:
        self._state = state
        self._candidates = candidates
        # The ballot of everyone who voted, and how sure its voter is of it as a whole.
        lines = {seat: state.line(number) for seat, number in state.votes.items()}
        self._ballots = {
            seat: (read_ballot(line.said, candidates), line.said.confidence) for seat, line in lines.items() if line is not None
        }
        # Most voters take one of four positions with one confidence: each of these votes is built once.
        self._built: dict[tuple[SeatId, VotePosition | None, float | None], SeatVote] = {}
        self._voices: dict[int, tuple[SeatVote, ...]] = {}

    def list_voices(self, candidate: int) -> tuple[SeatVote, ...]:
        """Return everyone's vote on one candidate: who voted, but not on this one, abstains from it."""
        if candidate not in self._voices:
            self._voices[candidate] = tuple([self._build_voice(seat, candidate) for seat in self._state.seats])
        return self._voices[candidate]

    @cached_property
    def ranking(self) -> list[int]:
        """Return the candidates, the motion first.

        The most weighed support wins; of equals the one with more unconditional support; then the author who comes first in the
        roster. Every vote that was cast weighs the same for each candidate that it supports.
        """
        state = self._state
        voters = [seat for seat in state.seats if seat.id in self._ballots]
        # Who did not vote is passed over; where all did, nothing is picked.
        picked = None if len(voters) == len(state.seats) else [seat.id in self._ballots for seat in state.seats]
        correlations = build_seat_correlations(state.opened.subject.error_correlations, voters)
        worths = compute_worths([build_voice(seat, None, None) for seat in voters], correlations)
        places = {seat.id: place for place, seat in enumerate(state.seats)}

        def rate(number: int) -> tuple[float, float, int, int]:
            voices = self.list_voices(number)
            support, unconditional = compute_support(voices if picked is None else [*compress(voices, picked)], worths)
            line = state.line(number)
            place = places.get(line.seat, len(places)) if line is not None else len(places)
            return -round(support, _DIGITS), -round(unconditional, _DIGITS), place, number

        return sorted(self._candidates, key=rate)

    def _build_voice(self, seat: Seat, candidate: int) -> SeatVote:
        ballot = self._ballots.get(seat.id)
        vote = None if ballot is None else ballot[0].get(candidate)
        if vote is None:
            key: tuple[SeatId, VotePosition | None, float | None] = (seat.id, None if ballot is None else "abstain", None)
        else:
            key = (seat.id, vote.position, vote.confidence if vote.confidence is not None or ballot is None else ballot[1])
        if key not in self._built:
            self._built[key] = build_voice(seat, *key[1:])
        return self._built[key]


def compute_support(voices: Sequence[SeatVote], worths: Sequence[float]) -> tuple[float, float]:
    """Return the weight of all support among the votes that were cast, and that of the unconditional part."""
    weights = weigh_votes(voices, worths)
    unconditional = sum([weight for voice, weight in zip(voices, weights, strict=True) if voice.position == "support"])
    conditional = sum([weight for voice, weight in zip(voices, weights, strict=True) if voice.position == "conditional_support"])
    return unconditional + conditional, unconditional


def find_motion(variant: CouncilVariant, state: Council, votes: CandidateVoices | None = None) -> CouncilLine | None:
    """Return the line to decide on: the candidate that leads in the vote; without any vote, the one that is most supported.

    `votes` are those of the state, if they have been read already.
    """
    if not state.votes:
        return find_discussed_motion(variant, state)
    return state.line((votes or CandidateVoices(state, state.candidates)).ranking[0])


def find_discussed_motion(variant: CouncilVariant, state: Council) -> CouncilLine | None:
    """Return the candidate that the discussion supports most, whatever the votes say: these may still be sealed."""
    lines = [line for number in find_candidate_ids(variant, state) if (line := state.line(number)) is not None]
    return lines[0] if len(lines) == 1 else find_discussed_line(state, lines)


def is_by_candidates(variant: CouncilVariant, state: Council) -> bool:
    """Whether the votes choose among candidates: not where a seat owns the decision."""
    return variant.owner(state.opened) is None


def find_early_votes(state: Council, candidates: Iterable[int]) -> dict[SeatId, int]:
    """Return the votes that were cast before the vote began; one before the last candidate was about something else."""
    listed = tuple(candidates)
    newest = max(listed, default=0)
    found: dict[SeatId, int] = {}
    for seat, number in state.ahead.items():
        line = state.line(number)
        if line is None or line.phase != "vote" or line.id <= newest:
            continue
        if read_ballot(line.said, listed):
            found[seat] = line.id
    return found


_POSITIONS: Final = build_choices(("support", "conditional_support", "oppose", "abstain"))
_REFERENCES: Final = ("refers_to", "candidate", "motion", "line", "resolution")


def infer_vote_field(name: str, fields: Mapping[str, object]) -> object | None:
    """Return the ballot that a vote lacks, from what else it says; None if nothing says it."""
    if name != "ballot":
        return None
    by_line = {int(key.lstrip("#")): value for key, value in fields.items() if re.fullmatch(r"#?\d{1,6}", key)}
    if by_line:
        return [{"candidate": number, **_read(value)} for number, value in by_line.items() if _read(value)] or None
    about = next((number for key in _REFERENCES if (number := read_integer(fields.get(key))) is not None), None)
    said = _read(fields.get("position") or fields.get("vote"))
    if about is not None and said:
        return [{"candidate": about, **said}]
    return _find_in_words("\n".join(value for value in fields.values() if isinstance(value, str))) or None


def _find_in_words(words: str) -> list[dict[str, object]]:
    """Return the position on each line that the words name; none if a clause says something that cannot be read."""
    positions: dict[int, dict[str, object]] = {}
    for number, clause in split_by_line_number(words):
        said = {} if number is None else _read(clause)
        if number is not None and said and positions.setdefault(number, said) != said:
            return []
        if not said and not is_silent(clause, _POSITIONS):
            return []
    return [{"candidate": number, **said} for number, said in positions.items()]


def _read(value: object) -> dict[str, object]:
    read = find_choice(value, _POSITIONS) if isinstance(value, str) else None
    if read is None:
        return {}
    return {"position": read.value, "condition": read.condition} if read.condition else {"position": read.value}
