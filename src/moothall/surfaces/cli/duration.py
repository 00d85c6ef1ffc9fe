"""Spans of time on the command line."""

from typing import Any

import click

_UNITS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


class Duration(click.ParamType[float]):
    """Seconds, or a number with s, m, h or d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip().lower()
        unit = _UNITS.get(text[-1:])
        try:
            seconds = float(text[:-1]) * unit if unit else float(text)
        except ValueError:
            self.fail(f"{value!r} is not a duration; write seconds, or 90s, 10m, 2h, 3d")
        if not 0 < seconds < float("inf"):
            self.fail(f"{value!r} is not a duration; it must be greater than 0")
        return seconds
