"""Heads are not votes: which seats err together, and how many independent votes they are worth (D-20).

A seat's family is the model family behind its platform. Two seats are presumed to err together as much as was measured on
recorded votes, those of one family more than others; what their shared track record shows replaces the presumption as it grows.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from moot.domain.ids import SeatId
from moot.domain.roster import EMBEDDED, UNNAMED_MINDS, Seat
from moot.domain.topic import ErrorCorrelation

SAME_FAMILY: Final = 0.5
"""Measured: 0.51 between seven personas of one model, 0.43 between four runs of one, 0.43 between two models of one maker."""

OTHER_FAMILY: Final = 0.25
"""Measured: 0.23 between judges of different makers."""

STRENGTH: Final = 30.0
"""How many shared reviewed cases weigh as much as the prior."""

_PREFIXES: Final[Mapping[str, str]] = {
    "gpt": "gpt",
    "chatgpt": "gpt",
    "codex": "gpt",
    "o1": "gpt",
    "o3": "gpt",
    "o4": "gpt",
    "claude": "claude",
    "gemini": "gemini",
    "gemma": "gemini",
    "llama": "llama",
    "qwen": "qwen",
    "qwq": "qwen",
    "mistral": "mistral",
    "mixtral": "mistral",
    "ministral": "mistral",
    "magistral": "mistral",
    "codestral": "mistral",
    "devstral": "mistral",
    "deepseek": "deepseek",
    "phi": "phi",
    "grok": "grok",
    "command": "cohere",
    "c4ai": "cohere",
    "aya": "cohere",
    "kimi": "kimi",
    "moonshot": "kimi",
    "glm": "glm",
    "chatglm": "glm",
    "smollm": "smollm",
}
"""How model names begin, and their families."""

_EMBEDDED: Final = "smollm"
"""What the package's own model is."""


def detect_family(platform: str, seat: str) -> str:
    """The model family of a seat; those whose mind is unknown are each a family of their own."""
    scheme, _, rest = platform.partition(":")
    if not scheme or scheme in UNNAMED_MINDS:
        return f"seat:{seat}"
    if scheme == EMBEDDED and not rest:
        return _EMBEDDED
    name = _parse_model_name(platform)
    known = (_PREFIXES[prefix] for part in (name, *name.split(".")) for prefix in _PREFIXES if part.startswith(prefix))
    return next(known, name)


def _parse_model_name(platform: str) -> str:
    """The bare model name in a platform, without who serves or publishes it; a server that names no model is its address."""
    address, _, fragment = platform.partition("#")
    scheme, _, rest = address.partition("?")[0].partition(":")
    if rest.startswith("//") and not fragment:
        return f"{scheme}:{rest}".lower()
    named = fragment.partition("?")[0] or rest or scheme
    return named.rpartition("/")[2].lower()


def presume_correlation(one: str, other: str) -> float:
    """How much seats of these two families are presumed to err together."""
    return SAME_FAMILY if one == other else OTHER_FAMILY


def compute_correlation(prior: float, shared: int, observed: float | None, strength: float = STRENGTH) -> float:
    """The prior error correlation of a pair, drawn towards what their `shared` reviewed cases show."""
    if observed is None or shared <= 0 or not math.isfinite(observed):
        return prior
    return (prior * strength + observed * shared) / (strength + shared)


def build_seat_correlations(bonds: Iterable[ErrorCorrelation], seats: Iterable[Seat]) -> Callable[[str, str], float]:
    """How far two seats err together: by their shared record where there is one, else by their families."""
    shared = {frozenset((bond.one, bond.other)): bond.correlation for bond in bonds}
    families = {seat.id: detect_family(seat.platform, seat.id) for seat in seats}

    def find_correlation(one: str, other: str) -> float:
        known = shared.get(frozenset((SeatId(one), SeatId(other))))
        return presume_correlation(families[SeatId(one)], families[SeatId(other)]) if known is None else known

    return find_correlation


def count_effective_votes(weights: Sequence[float], correlations: Callable[[int, int], float]) -> float:
    """How many independent votes these weights are worth: (Σw)² / ΣΣ wᵢwⱼρᵢⱼ, where ρ is 1 for a vote with itself.

    Between 1 and the number of positive weights; 0 when there is none.
    """
    present = [(index, weight) for index, weight in enumerate(weights) if weight > 0]
    if not present:
        return 0.0
    heaviest = max(weight for _, weight in present)
    scaled = [(index, weight / heaviest) for index, weight in present]
    spread = math.fsum(one * other * (1.0 if i == j else correlations(i, j)) for i, one in scaled for j, other in scaled)
    total = math.fsum(weight for _, weight in scaled)
    found = total * total / spread if spread > 0 else math.inf
    return min(max(found, 1.0), float(len(present)))
