"""Small charts in characters, for Markdown and terminals."""

from collections.abc import Sequence
from typing import Final

BAR: Final = 20
_LEVELS: Final = "▁▂▃▄▅▆▇█"


def draw_bar(value: float) -> str:
    """A share as a bar of twenty blocks."""
    filled = round(max(0.0, min(1.0, value)) * BAR)
    return "█" * filled + "░" * (BAR - filled)


def draw_sparkline(values: Sequence[float | None]) -> str:
    """Values from 0 to 1 as a row of blocks; a blank where there is none."""
    return "".join(" " if value is None else _LEVELS[round(max(0.0, min(1.0, value)) * (len(_LEVELS) - 1))] for value in values)
