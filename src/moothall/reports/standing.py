"""Where a session stands that has no result: it goes on, waits for someone, is on hold, or was cancelled (T-2)."""

from dataclasses import replace

from moothall.domain import facts
from moothall.domain.ids import USER, SessionId, find_asked_seat
from moothall.domain.session_state import SessionState
from moothall.reports.how import Standing
from moothall.reports.timeline import SessionTimeline


def build_standing(timeline: SessionTimeline) -> Standing | None:
    """Return where a session stands; None where it is over and has a result, or ended without one."""
    state = timeline.session_state
    standing = build_idle_standing(timeline.session, state, timeline.parked)
    if standing is not None:
        return standing
    if state.closed is not None:
        return None
    base = Standing(state="running", session=timeline.session, topic=state.opened.topic)
    return _describe_progress(timeline, base)


def build_idle_standing(session: SessionId, state: SessionState, parked: str) -> Standing | None:
    """Return where a session stands that does nothing now: cancelled, on hold for a reason, or waiting for someone outside.

    None for any other. It follows from the state that all protocols share: a list need not read the whole session.
    """
    base = Standing(state="running", session=session, topic=state.opened.topic)
    if isinstance(state.closed, facts.SessionCancelled):
        return replace(base, state="cancelled", reason=state.closed.reason)
    if state.closed is not None:
        return None
    if state.parked is not None:
        return replace(base, state="parked", reason=parked)
    if not state.is_waiting_outside:
        return None
    deadlines = [each.deadline for each in state.pending.values() if each.deadline is not None]
    until = ""
    if deadlines:
        until = f"{min(deadlines):%Y-%m-%d %H:%M} UTC"
    return replace(base, progress="outside", waiting=_list_awaited(state), until=until)


def _list_awaited(state: SessionState) -> tuple[str, ...]:
    return tuple(dict.fromkeys(find_asked_seat(ask) for ask in state.pending))


def _describe_progress(timeline: SessionTimeline, base: Standing) -> Standing:
    waiting = _list_awaited(timeline.session_state)
    asked = len(timeline.session_state.seats)
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
