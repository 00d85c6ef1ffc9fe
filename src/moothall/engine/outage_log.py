"""Tells of an outage of the ledger once, whichever of a process's sessions and calls notice it."""

import logging
import time
from collections.abc import Callable
from typing import Final

from moothall.errors import WorldError

log = logging.getLogger("moot")

OVER_SECONDS: Final = 10.0
"""An outage is over when nobody noticed it for so long; everything that waits for a ledger looks more often."""
AGAIN_SECONDS: Final = 60.0
"""How often a long outage is told of."""


class OutageLog:
    """One sentence for each outage of a kind, and one for each minute that it lasts."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # When an error of a kind was noticed last, and when it was told of.
        self._known: dict[type[WorldError], tuple[float, float]] = {}

    def tell(self, error: WorldError, then: str = "trying again") -> None:
        """Log an error that passes by itself, with what is done about it, unless that was just said."""
        now = self._clock()
        noticed, told = self._known.get(type(error), (float("-inf"), float("-inf")))
        is_news = now - noticed > OVER_SECONDS or now - told > AGAIN_SECONDS
        self._known[type(error)] = (now, now if is_news else told)
        if is_news:
            log.warning("%s; %s", error, then)
