"""How much a session is expected to ask, before it is held: each protocol says it from its opening (W-1)."""

from dataclasses import dataclass

from moothall.domain.ids import SeatId

SHORT_ANSWER = 120
LONG_ANSWER = 500
"""Tokens of a bid or a vote, and of a speech, a proposal or a report, as models usually write them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCalls:
    """How often each of these seats is asked for one kind of answer, at least and at most, and how long the answers are.

    A fraction is a share of asks that go to one of several seats.
    """

    seats: tuple[SeatId, ...]
    least: float
    most: float
    tokens_out: int = LONG_ANSWER
