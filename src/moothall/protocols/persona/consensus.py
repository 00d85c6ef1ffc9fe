"""The current consensus: what is agreed, what is contested and by whom, updated from the seats' own views.

Nobody is asked for it: every bid says whether its seat agrees with the newest entry or contests it, and a speech may say so about
the entry that it answers.
"""

from dataclasses import dataclass, replace
from typing import Literal

from moothall.domain.ids import SeatId
from moothall.protocols.persona.facts import View

MAX_POINTS = 20

PointStatus = Literal["agreed", "contested", "open"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscussionPoint:
    """One contribution, with the seats that took a side on it."""

    entry: int
    speaker: SeatId
    claim: str
    agreed: tuple[SeatId, ...] = ()
    contested: tuple[SeatId, ...] = ()

    def compute_status(self, seats: int) -> PointStatus:
        """Contested if one seat contests it; agreed if its speaker and supporters are more than half of the seats."""
        if self.contested:
            return "contested"
        # + 1 for the speaker, who is not listed among those who agree.
        return "agreed" if self.agreed and (len(self.agreed) + 1) * 2 > seats else "open"


DiscussionPoints = tuple[DiscussionPoint, ...]


def add_point(points: DiscussionPoints, entry: int, speaker: SeatId, claim: str, seats: int) -> DiscussionPoints:
    """Return the points with one more; above the limit the oldest is dropped, agreed before open before contested."""
    grown = (*points, DiscussionPoint(entry=entry, speaker=speaker, claim=claim))
    if len(grown) <= MAX_POINTS:
        return grown
    rank = {"agreed": 0, "open": 1, "contested": 2}
    dropped = min(grown[:-1], key=lambda point: (rank[point.compute_status(seats)], point.entry))
    return tuple(point for point in grown if point is not dropped)


def apply_view(points: DiscussionPoints, entry: int, seat: SeatId, view: View) -> DiscussionPoints:
    """Return the points after a seat's view on one of them; a view on its own contribution does not count."""
    if view == "none":
        return points
    return tuple(_with_view(point, seat, view) if point.entry == entry and point.speaker != seat else point for point in points)


def _with_view(point: DiscussionPoint, seat: SeatId, view: View) -> DiscussionPoint:
    # A seat has one view per point: the new one replaces the old.
    agreed = tuple(other for other in point.agreed if other != seat)
    contested = tuple(other for other in point.contested if other != seat)
    if view == "agree":
        return replace(point, agreed=(*agreed, seat), contested=contested)
    return replace(point, agreed=agreed, contested=(*contested, seat))
