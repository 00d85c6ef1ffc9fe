"""Durations on the command line."""

from typing import Any

import click

from moothall.domain.durations import parse_duration
from moothall.errors import BadSetting


class Duration(click.ParamType[float]):
    """Seconds, or a number with s, m, h or d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            return parse_duration(value)
        except BadSetting as error:
            self.fail(str(error))
