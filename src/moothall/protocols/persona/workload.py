"""What a meeting is expected to ask."""

from moothall.domain.budget import LONG_ANSWER, SHORT_ANSWER, ExpectedCalls
from moothall.domain.facts import Opened
from moothall.protocols.persona.facts import MeetingOpened

BLIND_FROM = 3
USUAL_TURNS = 12


def expect_calls(opened: Opened) -> tuple[ExpectedCalls, ...]:
    """Blind positions, bids and one speech for each turn, the draft and the last words. At least one turn is held."""
    assert isinstance(opened, MeetingOpened)
    seats = tuple(seat.id for seat in opened.seats)
    turns, share = opened.budget.turns or USUAL_TURNS, 1 / len(seats)
    blind = 1 if opened.settings.blind and len(seats) >= BLIND_FROM else 0
    # With joint bids the seats of one model bid in one call.
    bids = len({seat.platform for seat in opened.seats}) * share if opened.settings.bids == "together" else 1.0
    return (
        ExpectedCalls(seats=seats, least=blind, most=blind, tokens_out=SHORT_ANSWER),
        ExpectedCalls(seats=seats, least=bids, most=bids * turns, tokens_out=SHORT_ANSWER),
        ExpectedCalls(seats=seats, least=0, most=turns * share, tokens_out=LONG_ANSWER),
        # The draft, and one last word of everybody else.
        ExpectedCalls(seats=seats, least=1, most=1, tokens_out=LONG_ANSWER),
    )
