"""How much more work a larger text is: linear code takes about as much more as there is more text."""

import time
from collections.abc import Callable


def measure_growth(work: Callable[[int], object], small: int, large: int) -> float:
    """Return how many times the processor time of a small size a large one takes; each the best of three."""
    return _measure(work, large) / max(_measure(work, small), 0.001)


def _measure(work: Callable[[int], object], size: int) -> float:
    best = float("inf")
    for _ in range(3):
        begun = time.process_time()
        work(size)
        best = min(best, time.process_time() - begun)
    return best
