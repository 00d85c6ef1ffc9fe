"""What every protocol's story keeps: what is spent, who was lost, when it was."""

from dataclasses import dataclass
from datetime import datetime

from moot.domain.budget import Spent
from moot.domain.facts import Closed, Entry, Loss, Opened, SeatLost
from moot.domain.ids import SeatId, SessionId
from moot.domain.session_state import SessionState, apply, build_session_state
from moot.reports.costs import Costs


@dataclass(frozen=True, slots=True, kw_only=True)
class LossLine:
    """One time that a seat failed."""

    seq: int
    seat: SeatId
    asked_for: str
    reason: Loss
    detail: str


class TimelineBase:
    """Told entry by entry, the opening first."""

    def __init__(self, session: SessionId) -> None:
        self.session = session
        self.losses: list[LossLine] = []
        self.costs = Costs()
        self.seq = 0
        self.closed: Closed | None = None
        self._session_state: SessionState | None = None
        self._opened_at: datetime | None = None

    @property
    def session_state(self) -> SessionState:
        assert self._session_state is not None, "a story begins with the opening"
        return self._session_state

    @property
    def spent(self) -> Spent:
        """What the whole session spent, in tokens, money and running time."""
        return self.session_state.spent

    @property
    def opened_at(self) -> datetime:
        assert self._opened_at is not None
        return self._opened_at

    @property
    def last_at(self) -> datetime:
        return self.session_state.at

    def apply_shared(self, entry: Entry) -> None:
        """Take in one more entry, as far as all protocols share it."""
        self.seq = entry.seq
        fact = entry.fact
        if isinstance(fact, Opened):
            self._session_state = build_session_state(entry, fact)
            self._opened_at = entry.at
            return
        self._session_state = apply(self.session_state, entry)
        self.costs.add(fact)
        if isinstance(fact, SeatLost):
            kind = fact.ask.split(".", 2)[1]
            self.losses.append(LossLine(seq=entry.seq, seat=fact.seat, asked_for=kind, reason=fact.reason, detail=fact.detail))
        if isinstance(fact, Closed):
            self.closed = fact


def format_time(at: datetime) -> str:
    """A time as records show it."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
