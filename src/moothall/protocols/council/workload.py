"""What a deliberation is expected to ask."""

from moothall.domain.budget import LONG_ANSWER, SHORT_ANSWER, ExpectedCalls
from moothall.domain.facts import Opened
from moothall.protocols.council.facts import CouncilOpened
from moothall.protocols.council.state import CouncilVariant


def expect_calls(variant: CouncilVariant, opened: Opened) -> tuple[ExpectedCalls, ...]:
    """Every phase of every round once; at least the first one, after which equal blind choices can end it."""
    assert isinstance(opened, CouncilOpened)
    settings, owner = opened.settings, variant.owner(opened)
    seats = tuple(seat.id for seat in opened.seats)
    can_stop = settings.blind and settings.early_stop is not False
    found = []
    phases = [(number, phase) for number in range(settings.rounds) for phase in (variant.again if number else variant.first)]
    for number, phase in phases:
        most = 1 / len(seats) if phase == "decide" or (phase == "synthesize" and variant.one_synthesis) else 1.0
        if phase == "argue" and owner is not None:
            most = (len(seats) - 1) / len(seats)
        is_sure = phase == "propose" or (not can_stop and not number and phase != "answer")
        least = most if is_sure else 0.0
        if phase == "propose" and settings.panel == "adaptive":
            least = 1 / len(seats)
        size = SHORT_ANSWER if phase == "vote" else LONG_ANSWER
        found.append(ExpectedCalls(seats=seats, least=least, most=most, tokens_out=size))
    return tuple(found)
