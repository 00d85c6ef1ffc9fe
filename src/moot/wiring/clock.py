"""The system's clock."""

from datetime import UTC, datetime


class SystemClock:
    """UTC that never runs backwards, even when the machine's clock is set back."""

    def __init__(self) -> None:
        self._last = datetime.min.replace(tzinfo=UTC)

    def now(self) -> datetime:
        self._last = max(self._last, datetime.now(UTC))
        return self._last
