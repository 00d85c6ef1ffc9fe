"""The clock port: the only source of time."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Return the time in UTC; never earlier than a time that it returned before."""
        ...
