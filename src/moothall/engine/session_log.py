"""Log lines of what happens to sessions, in every process: ids, seats and reasons, never what was said (G-8)."""

import logging
from collections.abc import Iterable

from moothall.domain.facts import (
    Closed,
    Entry,
    Opened,
    SeatLost,
    SessionParked,
    SessionResumed,
)
from moothall.domain.ids import SessionId

log = logging.getLogger("moot")


def log_entries(session: SessionId, entries: Iterable[Entry]) -> None:
    """Log what a reader of logs wants to know of these entries, at the level INFO."""
    # Crowds write thousands of entries a minute: nothing is looked at where nobody reads the log.
    if not log.isEnabledFor(logging.INFO):
        return
    for entry in entries:
        match entry.fact:
            case Opened(seats=seats):
                log.info("session %s: opened with %d seats", session, len(seats))
            case SeatLost(seat=seat, reason=reason):
                log.info("session %s: seat %s gave no answer (%s)", session, seat, reason)
            case SessionParked(seats=seats):
                log.info("session %s: parked; out of reach: %s", session, ", ".join(seats))
            case SessionResumed():
                log.info("session %s: goes on", session)
            case Closed() as closed:
                log.info("session %s: ended (%s)", session, closed.ended_by or "cancelled")
            case _:
                pass
