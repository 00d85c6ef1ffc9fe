"""What a swarm is expected to ask."""

from moothall.domain.facts import Opened
from moothall.domain.ids import SeatId
from moothall.domain.workload import LONG_ANSWER, SHORT_ANSWER, ExpectedCalls
from moothall.protocols.swarm.facts import LIKENESS, VALIDATOR, SwarmOpened


def expect_calls(opened: Opened) -> tuple[ExpectedCalls, ...]:
    """A report of every explorer in each round, collisions and judgements beside; then the vote and the synthesis."""
    assert isinstance(opened, SwarmOpened)
    settings = opened.settings
    helpers = {VALIDATOR, LIKENESS, SeatId(settings.judge)}
    explorers = tuple(seat.id for seat in opened.seats if seat.id not in helpers)
    judges = tuple(seat.id for seat in opened.seats if seat.id == settings.judge and seat.id != LIKENESS)
    most = 1 if settings.mode == "classic" else settings.max_rounds
    least = min(most, settings.min_rounds)
    share = 1 / len(explorers)
    return (
        ExpectedCalls(seats=explorers, least=least, most=most, tokens_out=2 * LONG_ANSWER),
        ExpectedCalls(seats=explorers, least=0, most=min(1.0, settings.collisions * share) * most, tokens_out=SHORT_ANSWER),
        ExpectedCalls(seats=judges, least=0, most=most, tokens_out=SHORT_ANSWER),
        ExpectedCalls(seats=explorers, least=0, most=1.0 if settings.vote else 0.0, tokens_out=SHORT_ANSWER),
        ExpectedCalls(seats=explorers, least=share, most=share, tokens_out=2 * LONG_ANSWER),
    )
