"""A decision in short, line by line, for terminals and pages to render as they can."""

from dataclasses import dataclass
from typing import Literal

Tone = Literal["plain", "strong", "dim", "bad"]


@dataclass(frozen=True, slots=True)
class Summed:
    """One line of a summary."""

    text: str
    tone: Tone = "plain"
