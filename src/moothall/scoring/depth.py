"""How deep a question is taken (G-4): one mind with a reviewed record, else a blind vote, else the whole protocol.

Code decides it from three things: the stakes, the record, and how unclear the answers are.

one mind     at low and medium stakes: a seat with MIN_ALIKE reviewed cases whose answer alone is as likely right as NEEDED says,
             by its record and by how sure it says it is (`moothall.scoring.posterior`)
blind vote   as the stakes allow it (D-24): at low stakes a clear lead ends it, at medium stakes unanimity
protocol     everything else; at high and critical stakes always

Decisions of the same kind that proved right less often than NEEDED, once MIN_ALIKE of them are reviewed, close their stage.
"""

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from moothall.domain.ids import SeatId
from moothall.domain.replace import dataclass
from moothall.domain.roster import Seat
from moothall.domain.topic import Stakes, Topic
from moothall.scoring.posterior import weigh_blind_answers
from moothall.scoring.reliability import MIN_ALIKE
from moothall.scoring.trust import find_accuracy

Depth = Literal["full", "auto", "shadow"]
Stage = Literal["one_mind", "blind_vote", "protocol"]
DepthReason = Literal["clear", "unclear", "stakes", "no_record", "poor_record"]

NEEDED: Final[Mapping[Stakes, float]] = {"low": 0.80, "medium": 0.90}
"""How likely right one mind must be; with more at stake nobody decides alone."""
ALONE: Final = "agreed_alone"
BLIND: Final = "agreed_blind"
"""The kinds of agreement whose record counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DepthTaken:
    """How deep a question was taken, or in the shadow mode: would have been."""

    mode: Literal["auto", "shadow"]
    stage: Stage
    """The last one that was needed."""
    reason: DepthReason
    """Why this stage: it was `clear` there, or why those before it were not enough."""
    spared: int
    """How many answers were not asked for; in the shadow mode: how many of those that were given were not needed."""
    seat: SeatId | None = None
    """Who was asked first, alone."""
    choice: str = ""
    """What this stage decides, where it is not the protocol."""


def is_record_poor(subject: Topic, agreement: str) -> bool:
    """Whether decisions by this kind of agreement proved right less often than the stakes need; few of them say nothing."""
    needed = NEEDED.get(subject.stakes, 1.0)
    return any(
        each.agreement == agreement and each.cases >= MIN_ALIKE and each.right < needed * each.cases
        for each in subject.reviewed
    )


def find_first_mind(seats: Iterable[Seat], subject: Topic) -> tuple[SeatId | None, DepthReason]:
    """Return who is asked first, alone: the seat with the best record. None where nobody is, and why."""
    if subject.stakes not in NEEDED:
        return None, "stakes"
    proven = [seat for seat in seats if seat.cases >= MIN_ALIKE and not seat.is_outside]
    if not proven:
        return None, "no_record"
    if is_record_poor(subject, ALONE):
        return None, "poor_record"
    return max(proven, key=find_accuracy).id, "clear"


def is_enough_alone(seat: Seat, choice: str, stated: float | None, subject: Topic) -> bool:
    """Whether what one seat answered is likely enough right to decide."""
    evidence = weigh_blind_answers([seat], {seat.id: (choice, stated)}, subject)
    leader = None if evidence is None else evidence.leader
    return (
        evidence is not None
        and leader is not None
        and evidence.compute_posterior(leader) >= NEEDED.get(subject.stakes, 1.0)
    )
