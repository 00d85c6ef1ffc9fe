"""Durations as people write them: seconds, or a number with a unit."""

import math
from typing import Final

from moothall.errors import BadSetting

_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def parse_duration(value: float | str) -> float:
    """Return the seconds of `90`, `"90"`, `"90s"`, `"10m"`, `"2h"` or `"3d"`.

    Raises BadSetting when it is not a duration, or not greater than 0.
    """
    text = str(value).strip().lower()
    unit = _UNITS.get(text[-1:])
    try:
        seconds = float(text[:-1]) * unit if unit else float(text)
    except ValueError as cause:
        raise BadSetting(f"{str(value)[:60]!r} is not a duration; write seconds, or 90s, 10m, 2h, 3d") from cause
    if not 0 < seconds < math.inf:
        raise BadSetting(f"{str(value)[:60]!r} is not a duration; it must be greater than 0")
    return seconds
