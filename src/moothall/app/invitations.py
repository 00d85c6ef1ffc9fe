"""Whom a session can invite: seats that nobody in this process fills."""

from moothall.domain.ids import parse_seat_id
from moothall.engine.snapshot import Snapshot
from moothall.errors import SessionClosed, UnknownSeat


def check_invitation(snapshot: Snapshot, seat: str | None) -> None:
    """Raise SessionClosed if a session has ended, UnknownSeat if the seat is not free for somebody from outside."""
    session = snapshot.session
    if snapshot.is_closed:
        raise SessionClosed(f"session {session!r} has ended; nobody can take part any more")
    names = {known.id: known for known in snapshot.session_state.seats}
    if seat is not None and (seat not in names or not names[parse_seat_id(seat)].is_outside):
        outside = ", ".join(known.id for known in names.values() if known.is_outside) or "none"
        raise UnknownSeat(
            f"{seat!r} is not a free seat of {session!r}; free seats: {outside} "
            "(a seat for somebody from outside is opened with --seat NAME=mailbox)"
        )
