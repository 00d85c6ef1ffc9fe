"""A decision in short, line by line, for terminals and pages to render as they can."""

from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "strong", "dim", "bad"]


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """One line of a summary."""

    text: str
    tone: Tone = "plain"


def format_percent(value: float | None) -> str:
    """A share as a whole percentage."""
    return "–" if value is None else f"{value * 100:.0f} %"
