"""The clock port: the only source of time."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The time in UTC, never earlier than what it said before."""
        ...
