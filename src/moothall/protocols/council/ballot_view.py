"""The vote of a deliberation, as far as a reader may see it."""

from moothall.domain.ids import SeatId
from moothall.protocols.council.ballots import find_candidate_ids
from moothall.protocols.council.facts import CandidateTally, DeliberationClosed
from moothall.protocols.council.resolution import tally_candidates
from moothall.protocols.council.state import Council, CouncilVariant
from moothall.reports.ballot import Ballot, BallotLine, CandidateSupport


def build_ballot(
    variant: CouncilVariant,
    council: Council,
    closed: DeliberationClosed | None,
    reader: SeatId | None,
) -> Ballot:
    """The candidates that a reader (None: anyone) may see, the motion, and the tally once no vote is sealed (D-23)."""
    numbers = find_candidate_ids(variant, council)
    visible = {line.id: line for line in council.list_visible_lines(reader)}
    candidates = []
    for number in numbers:
        line = visible.get(number)
        if line is not None:
            said = line.said
            candidates.append(
                BallotLine(line=line.id, seat=line.seat, choice=said.choice, text=said.text)
            )
    if closed is not None:
        motion, tallies = closed.motion, closed.candidates
    else:
        is_single = council.phase == "vote" and len(numbers) == 1
        motion = numbers[0] if is_single else None
        tallies = _tally_open_votes(variant, council)
    return Ballot(
        candidates=tuple(candidates), motion=motion, tally=tuple(map(build_support, tallies))
    )


def build_support(tally: CandidateTally) -> CandidateSupport:
    return CandidateSupport(
        line=tally.line,
        support=tally.support,
        unconditional=tally.unconditional,
        oppose=tally.oppose,
        confidence=tally.confidence,
    )


def _tally_open_votes(variant: CouncilVariant, council: Council) -> tuple[CandidateTally, ...]:
    is_sealed = any(number in council.sealed for number in council.votes.values())
    if council.phase == "vote" or is_sealed:
        return ()
    return tally_candidates(variant, council)
