"""Who sits at the table: seats, and the rule that they can sit together."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from moot.domain.ids import SeatId, parse_seat_id
from moot.domain.safe_text import fix_surrogates
from moot.errors import BadRoster

NEUTRAL_TRUST: Final = 0.5
"""What a seat without a track record is trusted: the middle of the scale."""

MAILBOX: Final = "mailbox"
"""The platform of a seat whose participant answers from elsewhere."""

HUMAN: Final = "human"
SCRIPT: Final = "script"
COMMAND: Final = "command"
EMBEDDED: Final = "embedded"
MEASURE: Final = "measure"
FUNCTION: Final = "python"

UNNAMED_MINDS: Final = frozenset({MAILBOX, HUMAN, SCRIPT, FUNCTION})
"""Kinds whose platform does not say which mind is behind it: its record is kept under the seat's own name.

Sessions are folded by this, so it depends on what is recorded alone, never on which plugins are installed.
"""

MOST_SEATS: Final = 64
HELPING_SEATS: Final = 2
"""Seats that a protocol may add to a full table: one that checks, one that compares."""

LONGEST_ROLE: Final = 20_000
MOST_WEIGHT: Final = 1e6
MOST_PATIENCE: Final = 10 * 31_536_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A place at the table; `platform` says which participant fills it.

    `patience` is how many seconds it may take over an answer; None leaves that to the protocol.
    """

    id: SeatId
    platform: str
    stance: str = ""
    weight: float = 1.0
    instructions: str = ""
    trust: float = NEUTRAL_TRUST
    patience: float | None = None

    @property
    def is_outside(self) -> bool:
        return self.platform == MAILBOX

    @property
    def source(self) -> str:
        """Whose track record counts: the mind behind the seat, be it called by its model or by its own name."""
        return self.id if parse_kind(self.platform) in UNNAMED_MINDS else self.platform


def parse_kind(platform: str) -> str:
    """What stands before the colon of a platform: which kind of participant fills the seat."""
    return platform.partition(":")[0]


DIRECTOR: Final = Seat(id=SeatId("@director"), platform="director")
"""The house itself: asked where something is to be done outside of the ledger. No seat at a table can have its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """A seat that another participant takes over from here on."""

    seat: SeatId
    platform: str


def validate_seats(seats: Iterable[Seat], *, fewest: int = 1, most: int = MOST_SEATS) -> tuple[Seat, ...]:
    """The seats, if they can sit at one table; raises BadRoster with the first reason that they cannot."""
    roster = tuple(
        replace(seat, stance=fix_surrogates(seat.stance), instructions=fix_surrogates(seat.instructions)) for seat in seats
    )
    if not fewest <= len(roster) <= most:
        raise BadRoster(f"{len(roster)} seats; a meeting needs {fewest} to {most}: add --seat name=platform")
    seen: dict[str, SeatId] = {}
    for seat in roster:
        if parse_seat_id(seat.id) != seat.id:
            raise BadRoster(f"seat id {seat.id!r} must be written {parse_seat_id(seat.id)!r}")
        if len(seat.stance) + len(seat.instructions) > LONGEST_ROLE:
            raise BadRoster(f"seat {seat.id!r}: stance and instructions have more than {LONGEST_ROLE} characters")
        key = seat.id.casefold()
        if key in seen:
            raise BadRoster(f"two seats are called {seen[key]!r} and {seat.id!r}; each needs an id of its own")
        seen[key] = seat.id
        if not 0 < seat.weight <= MOST_WEIGHT:
            raise BadRoster(
                f"seat {seat.id!r} has the weight {seat.weight}; a bias weight must be greater than 0 (at most {MOST_WEIGHT:g})"
            )
        if seat.patience is not None and not 0 < seat.patience <= MOST_PATIENCE:
            raise BadRoster(
                f"seat {seat.id!r} has the patience {seat.patience}; it must be more than 0 seconds and at most ten years"
            )
        if not 0 <= seat.trust <= 1:
            raise BadRoster(f"seat {seat.id!r} has the trust {seat.trust}; it must lie between 0 and 1")
    return roster


def swap_seats(seats: tuple[Seat, ...], swaps: Iterable[Swap]) -> tuple[Seat, ...]:
    """The roster after the swaps; one that names no seat changes nothing."""
    platforms = {swap.seat: swap.platform for swap in swaps}
    return tuple(_swap_platform(seat, platforms.get(seat.id, seat.platform)) for seat in seats)


def _swap_platform(seat: Seat, platform: str) -> Seat:
    # Another mind has no part in the track record of the one before it.
    return seat if platform == seat.platform else replace(seat, platform=platform, trust=NEUTRAL_TRUST)


def validate_swaps(seats: tuple[Seat, ...], swaps: Iterable[Swap]) -> tuple[Swap, ...]:
    """The swaps, if each names a seat; raises BadRoster."""
    wanted = tuple(swaps)
    known = [seat.id for seat in seats]
    for swap in wanted:
        if swap.seat not in known:
            raise BadRoster(f"no seat is called {swap.seat!r}; the seats are: {', '.join(known)}")
    return wanted
