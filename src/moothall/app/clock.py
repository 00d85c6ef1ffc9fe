"""The system clock."""

import time
from datetime import UTC, datetime, timedelta
from typing import Final

LEAP: Final = timedelta(seconds=60)


class SystemClock:
    """UTC that never runs backwards and never stands still: between jumps it follows the monotonic clock.

    A wall clock that is more than a minute ahead (the machine slept, or its clock was set) is followed; one that was set back is
    not.
    """

    def __init__(self) -> None:
        self._anchor = (datetime.now(UTC), time.monotonic())

    def now(self) -> datetime:
        wall, ticks = self._anchor
        steady = wall + timedelta(seconds=time.monotonic() - ticks)
        actual = datetime.now(UTC)
        if actual - steady > LEAP:
            self._anchor = (actual, time.monotonic())
            return actual
        return steady
