"""The roster of a session: its seats, and the checks that make a roster valid."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final, Literal

from moothall.domain.ids import SeatId, list_name_shapes, parse_seat_id
from moothall.domain.replace import dataclass
from moothall.domain.safe_text import fix_surrogates, one_line
from moothall.errors import BadRoster

NEUTRAL_TRUST: Final = 0.5
"""The trust in a seat without a track record: the middle of the scale."""

MAILBOX: Final = "mailbox"
"""The platform of a seat whose participant answers from another process."""

HUMAN: Final = "human"
SCRIPT: Final = "script"
A2A: Final = "a2a"
COMMAND: Final = "command"
ACP: Final = "acp"
EMBEDDED: Final = "embedded"
FUNCTION: Final = "python"
DEMO: Final = "demo"

UNNAMED_MINDS: Final = frozenset({MAILBOX, HUMAN, SCRIPT, FUNCTION, DEMO})
"""Kinds whose platform does not say which mind is behind it: its record has the seat's own name.

Sessions are folded by this, so it depends on what is recorded alone, never on which plugins are installed.
"""

StandIn = Literal["", "demo", "embedded", "script"]
"""What speaks in place of minds where nobody else does: a demo, the embedded model, or an answer file; "" where minds speak."""

STAND_INS: Final[tuple[StandIn, ...]] = ("demo", "embedded", "script")
UNREMEMBERED: Final[frozenset[StandIn]] = frozenset({"demo", "embedded"})
"""Those whose sessions decision memory leaves out."""

TOOLLESS: Final = UNNAMED_MINDS | {ACP, COMMAND, EMBEDDED}
"""Kinds whose participants call no tools of Moot's: they are shown what was given as far as it fits."""

MAX_SEATS: Final = 64
HELPING_SEATS: Final = 2
"""Seats that a protocol may add to a full roster: one that checks, and one that judges."""

MAX_ROLE_LENGTH: Final = 20_000
MAX_FAMILY_LENGTH: Final = 100
MAX_WEIGHT: Final = 1e6
MAX_PATIENCE: Final = 10 * 31_536_000.0
WEEK_SECONDS: Final = 604_800.0
"""How long a session waits for an answer from outside, by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A place in a session; `platform` names the participant that fills it.

    `patience` is the number of seconds that the seat has for an answer; None leaves that to the protocol. `accuracy` is how often
    its source was right by its track record; None where `trust` was set by hand or nothing is recorded. `cases` is how many of
    its stated confidences were reviewed. `family` is the model family that the roster or an agent from outside states; "" where
    the platform says it.
    """

    id: SeatId
    platform: str
    stance: str = ""
    weight: float = 1.0
    instructions: str = ""
    trust: float = NEUTRAL_TRUST
    patience: float | None = None
    accuracy: float | None = None
    cases: float = 0.0
    family: str = ""
    sees: tuple[str, ...] = ()
    """Patterns of the names of given files, such as `contracts/*`: the seat is shown those alone; all where there is none."""
    tools: tuple[str, ...] = ()
    """The tools that it has, such as `read` or the name of a server; those of the session where there is none."""

    @property
    def is_outside(self) -> bool:
        return self.platform == MAILBOX

    def introduce(self, name: str, instructions: str, stance: str = "{stance}") -> list[str]:
        """Return the lines that tell the seat who it is, in these words; without those for what it does not have."""
        lines = [name.format(seat=self.id)]
        if self.stance:
            lines.append(stance.format(stance=one_line(self.stance)))
        if self.instructions:
            lines.append(instructions.format(instructions=self.instructions.strip()))
        return lines

    @property
    def source(self) -> str:
        """The name of the track record: the model, or the seat's own id where no model is behind the seat."""
        return self.id if parse_kind(self.platform) in UNNAMED_MINDS else self.platform


def name_platform(platform: str) -> str:
    """A platform without its settings, in the form in which platforms are compared: `embedded`."""
    return platform.partition("?")[0].strip().lower()


def parse_kind(platform: str) -> str:
    """What stands before the colon of a platform: which kind of participant fills the seat."""
    return platform.partition(":")[0]


def find_stand_in(seats: Iterable[Seat], demo: str = "") -> StandIn:
    """Return what speaks in place of minds in a session of these seats, or of this demo; "" if minds speak (M-17)."""
    return "demo" if demo else compare_stand_ins(seat.platform for seat in seats)


def compare_stand_ins(platforms: Iterable[str]) -> StandIn:
    """Return what speaks on these platforms in place of minds; "" if there is one of another kind."""
    kinds = {parse_kind(name_platform(platform)) for platform in platforms}
    if not kinds <= set(STAND_INS):
        return ""
    for stand_in in STAND_INS:
        if stand_in in kinds:
            return stand_in
    return ""


# '@' is not allowed in a seat id (see `parse_seat_id`), so that no real seat can take this name.
DIRECTOR: Final = Seat(id=SeatId("@director"), platform="director")
"""Moot itself as a seat: it is asked for work outside of the ledger, such as writing a file or comparing texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """A change of platform: another participant fills this seat from here on."""

    seat: SeatId
    platform: str


def validate_seats(
    seats: Iterable[Seat], *, fewest: int = 1, most: int = MAX_SEATS
) -> tuple[Seat, ...]:
    """Validate a roster and return it; raises BadRoster with the first reason why it is not valid."""
    roster = tuple(
        replace(
            seat, stance=fix_surrogates(seat.stance), instructions=fix_surrogates(seat.instructions)
        )
        for seat in seats
    )
    if not fewest <= len(roster) <= most:
        change = "add --seat name=platform" if len(roster) < fewest else "leave some out"
        raise BadRoster(f"a meeting needs {fewest} to {most} seats, not {len(roster)}: {change}")
    seen: dict[str, SeatId] = {}
    for seat in roster:
        if parse_seat_id(seat.id) != seat.id:
            raise BadRoster(f"seat id {seat.id!r} must be written {parse_seat_id(seat.id)!r}")
        if len(seat.stance) + len(seat.instructions) > MAX_ROLE_LENGTH:
            raise BadRoster(
                f"seat {seat.id!r}: stance and instructions have more than {MAX_ROLE_LENGTH} characters"
            )
        # By their looks: prompts and files name seats, and "Ada" beside "ada" would be ambiguous for a reader.
        shapes = list_name_shapes(seat.id)
        if twin := next((seen[shape] for shape in shapes if shape in seen), None):
            alike = "" if twin == seat.id else ", which look alike"
            raise BadRoster(
                f"two seats are called {twin!r} and {seat.id!r}{alike}; each needs an id of its own"
            )
        seen |= dict.fromkeys(shapes, seat.id)
        if not 0 < seat.weight <= MAX_WEIGHT:
            raise BadRoster(
                f"seat {seat.id!r} has the weight {seat.weight}; a bias weight must be greater than 0 (at most {MAX_WEIGHT:g})"
            )
        if seat.patience is not None and not 0 < seat.patience <= MAX_PATIENCE:
            raise BadRoster(
                f"seat {seat.id!r} has the patience {seat.patience}; it must be more than 0 seconds and at most ten years"
            )
        if not 0 <= seat.trust <= 1:
            raise BadRoster(
                f"seat {seat.id!r} has the trust {seat.trust}; it must lie between 0 and 1"
            )
        if seat.accuracy is not None and not 0 <= seat.accuracy <= 1:
            raise BadRoster(
                f"seat {seat.id!r} has the accuracy {seat.accuracy}; it must lie between 0 and 1"
            )
        if len(seat.family) > MAX_FAMILY_LENGTH or not (
            seat.family.isprintable() and seat.family == seat.family.strip()
        ):
            raise BadRoster(
                f"seat {seat.id!r} has the family {seat.family!r}; expected a name of at most {MAX_FAMILY_LENGTH} characters"
            )
    return roster


def swap_seats(seats: tuple[Seat, ...], swaps: Iterable[Swap]) -> tuple[Seat, ...]:
    """Return the roster after the swaps; a swap of an unknown seat changes nothing."""
    platforms = {swap.seat: swap.platform for swap in swaps}
    # The track record belongs to the participant, not to the seat: a new participant starts with neutral trust.
    swapped: list[Seat] = []
    for seat in seats:
        platform = platforms.get(seat.id, seat.platform)
        if platform == seat.platform:
            swapped.append(seat)
            continue
        swapped.append(
            replace(
                seat,
                platform=platform,
                trust=NEUTRAL_TRUST,
                accuracy=None,
                cases=0.0,
                family="",
            )
        )
    return tuple(swapped)


def state_family(seats: tuple[Seat, ...], name: SeatId, family: str) -> tuple[Seat, ...]:
    """Return the roster after an agent from outside stated its model family; for any other seat nothing changes."""
    return tuple(
        replace(seat, family=family) if seat.id == name and seat.is_outside else seat
        for seat in seats
    )


def validate_swaps(seats: tuple[Seat, ...], swaps: Iterable[Swap]) -> tuple[Swap, ...]:
    """Return the swaps if each names a known seat; raises BadRoster."""
    wanted = tuple(swaps)
    known = [seat.id for seat in seats]
    for swap in wanted:
        if swap.seat not in known:
            raise BadRoster(f"no seat is called {swap.seat!r}; the seats are: {', '.join(known)}")
    return wanted
