"""What a conference is expected to ask."""

from moothall.domain.budget import LONG_ANSWER, ExpectedCalls
from moothall.domain.facts import Opened
from moothall.protocols.roundtable.facts import MODERATOR, ConferenceOpened


def expect_calls(opened: Opened) -> tuple[ExpectedCalls, ...]:
    """A speech of everybody in each round, at least in the first; then the minutes."""
    assert isinstance(opened, ConferenceOpened)
    speakers = tuple(seat.id for seat in opened.seats if seat.id != MODERATOR)
    return (
        ExpectedCalls(seats=speakers, least=1, most=opened.settings.max_rounds),
        ExpectedCalls(seats=(MODERATOR,), least=1, most=1, tokens_out=2 * LONG_ANSWER),
    )
