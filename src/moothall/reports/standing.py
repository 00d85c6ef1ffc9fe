"""Where a session stands that has no result: it goes on, waits for someone, is on hold, or was cancelled (T-2)."""

from moothall.domain import facts
from moothall.domain.ids import USER, find_asked_seat
from moothall.reports.how import Standing
from moothall.reports.timeline import SessionTimeline


def build_standing(timeline: SessionTimeline) -> Standing | None:
    """Return where a session stands; None where it is over and has a result, or ended without one."""
    opened = timeline.session_state.opened
    base = Standing(state="running", session=timeline.session, topic=opened.topic)
    if isinstance(timeline.closed, facts.SessionCancelled):
        return Standing(
            state="cancelled",
            session=timeline.session,
            topic=opened.topic,
            reason=timeline.closed.reason,
        )
    if timeline.closed is not None:
        return None
    if timeline.session_state.parked is not None:
        return Standing(
            state="parked", session=timeline.session, topic=opened.topic, reason=timeline.parked
        )
    return _describe_progress(timeline, base)


def _describe_progress(timeline: SessionTimeline, base: Standing) -> Standing:
    pending = timeline.session_state.pending
    waiting = tuple(dict.fromkeys(find_asked_seat(ask) for ask in pending))
    asked = len(timeline.session_state.seats)
    if timeline.session_state.is_waiting_outside:
        deadlines = [each.deadline for each in pending.values() if each.deadline is not None]
        until = ""
        if deadlines:
            until = f"{min(deadlines):%Y-%m-%d %H:%M} UTC"
        return Standing(
            state="running",
            session=base.session,
            topic=base.topic,
            progress="outside",
            waiting=waiting,
            until=until,
        )
    if timeline.shared_state.is_sealed and not waiting:
        return base
    if timeline.shared_state.is_sealed:
        return Standing(
            state="running",
            session=base.session,
            topic=base.topic,
            progress="sealed",
            answered=asked - len(waiting),
            asked=asked,
            waiting=waiting,
        )
    speakers = {line.speaker for line in timeline.lines if line.speaker != USER}
    if not speakers:
        return base
    return Standing(
        state="running",
        session=base.session,
        topic=base.topic,
        progress="talk",
        answered=len(speakers),
        asked=asked,
        waiting=waiting,
    )
