"""The number of independent votes: seats that err together count for less than their number (D-20).

The family of a seat is the model family behind its platform. The presumed error correlation of two seats was measured on recorded
votes and is higher within a family; the shared track record of two seats replaces the presumption as it grows.
"""

import math
import operator
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Final

from moothall.domain.ids import SeatId
from moothall.domain.roster import COMMAND, EMBEDDED, FUNCTION, SCRIPT, UNNAMED_MINDS, Seat
from moothall.domain.topic import ErrorCorrelation

SAME_FAMILY: Final = 0.5
"""Measured: 0.51 between seven personas of one model, 0.43 between four runs of one, 0.43 between two models of one maker."""

OTHER_FAMILY: Final = 0.25
"""Measured: 0.23 between judges of different makers."""

AGREED_OTHER_FAMILY: Final = 0.2
"""The same among seats that gave one answer, whose worth does not depend on who answered otherwise; chosen by the same judges."""

SAME_MIND: Final = 1.0
"""Asking one function, program or script again is no second answer."""

STRENGTH: Final = 30.0
"""How many shared reviewed cases weigh as much as the presumed correlation."""

_FAMILIES: Final = tomllib.loads((files(__package__) / "model_families.toml").read_text("utf-8"))
_PREFIXES: Final[Mapping[str, str]] = {
    prefix: family for family, prefixes in _FAMILIES.items() for prefix in prefixes
}
"""Prefixes of model names, with their families."""

ONE_SOURCE: Final = frozenset({FUNCTION, SCRIPT})
"""Kinds that do not name a model, but one and the same source for all seats of one platform."""

ONE_MIND: Final = ONE_SOURCE | {COMMAND}
"""Kinds whose seats of one platform are one mind, unless they state a family."""

PairCorrelations = Callable[[int, int], float]
"""The error correlation of two seats, by their places in a list."""

CorrelationRows = tuple[tuple[float, ...], ...]

_LEAST: Final = 0.05
"""The least eigenvalue of correlations that fit together; that of the presumed ones is 0.5."""
_SINGULAR: Final = 1e-9
_SETTLED: Final = 1e-15
_MAX_SWEEPS: Final = 10_000

_EMBEDDED: Final = "smollm"
"""The family of the model that ships with the package."""


def detect_family(platform: str, seat: str) -> str:
    """Return the model family of a seat; a seat whose model is unknown is a family of its own.

    One function or one script on several seats is one mind, whatever it asks (Q-11).
    """
    scheme, _, rest = platform.partition(":")
    if scheme in ONE_SOURCE and rest:
        return platform
    if not scheme or scheme in UNNAMED_MINDS:
        return f"seat:{seat}"
    if scheme == EMBEDDED and not rest:
        return _EMBEDDED
    name = _parse_model_name(platform)
    # The whole name first, then its parts between dots: hosted models are often called `maker.model` (as in
    # `anthropic.claude-…`).
    for part in (name, *name.split(".")):
        for prefix, family in _PREFIXES.items():
            if part.startswith(prefix):
                return family
    return name


def find_seat_family(seat: Seat) -> str:
    """Return the model family of a seat: the one that it states (a family, or the name of a model), else that of its platform."""
    return (
        detect_family(f"stated:{seat.family}", seat.id)
        if seat.family
        else detect_family(seat.platform, seat.id)
    )


def find_mind(seat: Seat) -> str:
    """Return what answers in a seat: the same for all seats of one function, program or script that state no family (Q-11)."""
    scheme, _, rest = seat.platform.partition(":")
    if scheme in ONE_MIND and rest and not seat.family:
        return seat.platform
    return f"seat:{seat.id}"


def count_minds(seats: Iterable[Seat]) -> int:
    """Return how many model families and people these seats are."""
    return len({find_seat_family(seat) for seat in seats})


def is_same_family(one: str, other: str) -> bool:
    """Whether two statements (a family, or the name of a model) name the same model family."""
    return detect_family(f"stated:{one}", "") == detect_family(f"stated:{other}", "")


def _parse_model_name(platform: str) -> str:
    """Return the bare model name of a platform, without server and publisher; a server without a model name is its address."""
    address, _, fragment = platform.partition("#")
    scheme, _, rest = address.partition("?")[0].partition(":")
    if rest.startswith("//") and not fragment:
        return f"{scheme}:{rest}".lower()
    named = fragment.partition("?")[0] or rest or scheme
    return named.rpartition("/")[2].lower()


def presume_correlation(one: str, other: str, other_family: float = OTHER_FAMILY) -> float:
    """Return the presumed error correlation of seats from these two families."""
    return SAME_FAMILY if one == other else other_family


def compute_correlation(
    prior: float, shared: int, observed: float | None, strength: float = STRENGTH
) -> float:
    """Shrink the correlation observed over `shared` reviewed cases towards the prior."""
    if observed is None or shared <= 0 or not math.isfinite(observed):
        return prior
    # Weighted mean (prior·strength + observed·shared) / (strength + shared): the prior counts like `strength` cases.
    return (prior * strength + observed * shared) / (strength + shared)


def build_seat_correlations(
    bonds: Iterable[ErrorCorrelation], seats: Iterable[Seat], *, other_family: float = OTHER_FAMILY
) -> Callable[[str, str], float]:
    """Return a lookup of the error correlation of two seats: by their shared record if there is one, else by their families."""
    return _build_lookup(tuple(bonds), tuple(seats), other_family)


# One lookup for the same seats: what is computed from it for one candidate is kept for the next.
@lru_cache(maxsize=4)
def _build_lookup(
    bonds: tuple[ErrorCorrelation, ...], seats: tuple[Seat, ...], other_family: float
) -> Callable[[str, str], float]:
    families = {seat.id: find_seat_family(seat) for seat in seats}
    minds = {seat.id: find_mind(seat) for seat in seats}
    # What is recorded of one seat says nothing of the mind behind several.
    several = {mind for mind, count in Counter(minds.values()).items() if count > 1}
    shared = {}
    for bond in bonds:
        if several.isdisjoint({minds.get(bond.one), minds.get(bond.other)}):
            shared[frozenset((bond.one, bond.other))] = bond.correlation

    def find_correlation(one: str, other: str) -> float:
        if minds[SeatId(one)] == minds[SeatId(other)]:
            return SAME_MIND
        known = shared.get(frozenset((SeatId(one), SeatId(other)))) if shared else None
        if known is not None:
            return known
        return presume_correlation(families[SeatId(one)], families[SeatId(other)], other_family)

    return find_correlation


def count_effective_votes(weights: Sequence[float], correlations: PairCorrelations) -> float:
    """Return how many independent votes these weights are worth: (Σw)² / ΣΣ wᵢwⱼρᵢⱼ, where ρ is 1 for a vote with itself.

    Kish's effective sample size, extended to correlated votes. It lies between 1 and the number of positive weights; 0 without
    any.
    """
    present = [(index, weight) for index, weight in enumerate(weights) if weight > 0]
    if not present:
        return 0.0
    # Scaling by the largest weight does not change the ratio, and keeps the squares from overflowing or vanishing.
    heaviest = max(weight for _, weight in present)
    scaled = [(index, weight / heaviest) for index, weight in present]
    spread = math.fsum(
        one * other * (1.0 if i == j else correlations(i, j))
        for i, one in scaled
        for j, other in scaled
    )
    total = math.fsum(weight for _, weight in scaled)
    # Negative observed correlations can make the sum zero or negative: then the votes count in full, by the bound below.
    effective = total * total / spread if spread > 0 else math.inf
    return min(max(effective, 1.0), float(len(present)))


def pool_agreeing(weights: Sequence[float], correlations: PairCorrelations) -> float:
    """Return what sources of these weights are worth together that say the same.

    Each step of weight counts as many times as those that reach it are independent voices (a Choquet integral). Another source
    or a larger weight never lowers it, because it only adds to those that reach a step.
    """
    if len(weights) == 1:
        return weights[0]
    order = sorted(range(len(weights)), key=lambda at: -weights[at])
    minds = _group_minds(order, correlations)
    first = [mind[0] for mind in minds]
    rows: list[tuple[float, ...]] = []
    for one in first:
        row = [1.0 if one == other else correlations(one, other) for other in first]
        rows.append(tuple([min(max(rho, 0.0), 1.0) for rho in row]))
    steps = [weights[one] for one in first]
    steps.append(0.0)
    parts: list[float] = []
    for at in range(len(minds)):
        step = steps[at] - steps[at + 1]
        if step > 0:
            reaching = rows[: at + 1]
            parts.append(step * _count_voices(tuple([row[: at + 1] for row in reaching])))
    return math.fsum(parts)


def _group_minds(order: Iterable[int], correlations: PairCorrelations) -> list[list[int]]:
    """Return the sources by mind: those that err together always are one."""
    minds: list[list[int]] = []
    for one in order:
        same = [mind for mind in minds if correlations(mind[0], one) >= SAME_MIND]
        if same:
            same[0].append(one)
        else:
            minds.append([one])
    return minds


@lru_cache(maxsize=512)
def _count_voices(rows: CorrelationRows) -> float:
    """Return how many independent voices these are, by their correlations: 1 / xᵀRx for the best shares x ≥ 0 with Σx = 1.

    One more never makes it fewer: the best shares may leave it out.
    """
    fitting = _make_fit(rows)
    solved = _solve_definite(fitting, 0.0)
    if solved is not None and min(solved) >= 0:
        return math.fsum(solved)
    return _search_voices(fitting)


def _make_fit(rows: CorrelationRows) -> CorrelationRows:
    """Return the correlations, or as many tenths of them as fit together: observed ones need not.

    The more sources there are, the fewer tenths: so that one more never makes it fewer voices here either.
    """
    for tenths in range(10, 0, -1):
        scaled: list[tuple[float, ...]] = []
        for at, row in enumerate(rows):
            shares = [rho * tenths / 10 for rho in row]
            shares[at] = 1.0
            scaled.append(tuple(shares))
        if _solve_definite(scaled, _LEAST) is not None:
            return tuple(scaled)
    return tuple(
        [tuple([float(at == other) for other in range(len(rows))]) for at in range(len(rows))]
    )


def _solve_definite(rows: Sequence[Sequence[float]], least: float) -> list[float] | None:
    """Solve (R − least · I)·x = 1 by a Cholesky decomposition; None if an eigenvalue of R is not above `least`."""
    lower: list[list[float]] = []
    forward: list[float] = []
    for at, row in enumerate(rows):
        line: list[float] = []
        for column in range(at):
            known = math.fsum(map(operator.mul, line, lower[column]))
            line.append((row[column] - known) / lower[column][column])
        pivot = row[at] - least - math.fsum(map(operator.mul, line, line))
        if pivot < _SINGULAR:
            return None
        root = math.sqrt(pivot)
        forward.append((1.0 - math.fsum(map(operator.mul, line, forward))) / root)
        lower.append([*line, root])
    solution = [0.0] * len(rows)
    for at in reversed(range(len(rows))):
        later = range(at + 1, len(rows))
        known = math.fsum([lower[row][at] * solution[row] for row in later])
        solution[at] = (forward[at] - known) / lower[at][at]
    return solution


def _search_voices(rows: Sequence[Sequence[float]]) -> float:
    """Return the most that 2·Σx − xᵀRx comes to for x ≥ 0, which is the number of voices, by improving one share after another."""
    shares = [0.0] * len(rows)
    for _ in range(_MAX_SWEEPS):
        largest = 0.0
        for at, row in enumerate(rows):
            others = math.fsum(map(operator.mul, row, shares)) - shares[at]
            improved = max(0.0, 1.0 - others)
            largest = max(largest, abs(improved - shares[at]))
            shares[at] = improved
        if largest < _SETTLED:
            break
    spread = math.fsum(
        [
            share * math.fsum(map(operator.mul, row, shares))
            for share, row in zip(shares, rows, strict=True)
        ]
    )
    return 2.0 * math.fsum(shares) - spread


def compute_independence(count: int, correlations: PairCorrelations) -> list[float]:
    """Return what each of `count` votes is worth beside the others, 1 for one that errs alone.

    The weights R⁻¹·1 pool correlated votes best, where R holds their error correlations. Votes that are all alike are worth
    1 / (1 + (count − 1)·ρ) each, their effective number over their number; a family of many counts as the few that it is.
    """
    minds = _group_minds(range(count), correlations)
    first = [mind[0] for mind in minds]
    rows = [[1.0 if i == j else correlations(i, j) for j in first] for i in first]
    # Observed correlations need not fit together. Where they do not, each vote shares with those that it errs with.
    shared = [1.0 / max(math.fsum(row), 1.0) for row in rows]
    solved = _solve_ones([row[:] for row in rows])
    if solved is None or not all(0 <= worth <= 1 for worth in solved):
        solved = shared
    worths = [0.0] * count
    for mind, worth in zip(minds, solved, strict=True):
        # The seats of one mind share its voice.
        for at in mind:
            worths[at] = worth / len(mind)
    return worths


def _solve_ones(rows: list[list[float]]) -> list[float] | None:
    """Solve R·x = 1 by Gaussian elimination with pivots; None if R is (almost) singular."""
    count = len(rows)
    rest = [1.0] * count
    for column in range(count):
        pivot = max(range(column, count), key=lambda row: abs(rows[row][column]))
        if abs(rows[pivot][column]) < _SINGULAR:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rest[column], rest[pivot] = rest[pivot], rest[column]
        for row in range(column + 1, count):
            factor = rows[row][column] / rows[column][column]
            if factor:
                rest[row] -= factor * rest[column]
                rows[row][column:] = [
                    below - factor * above
                    for below, above in zip(rows[row][column:], rows[column][column:], strict=True)
                ]
    solution = [0.0] * count
    for row in reversed(range(count)):
        known = math.fsum(rows[row][later] * solution[later] for later in range(row + 1, count))
        solution[row] = (rest[row] - known) / rows[row][row]
    return solution
