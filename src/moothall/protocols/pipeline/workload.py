"""What a pipeline is expected to ask."""

from moothall.domain.budget import LONG_ANSWER, ExpectedCalls
from moothall.domain.facts import Opened
from moothall.domain.ids import parse_seat_id
from moothall.protocols.pipeline.facts import PipelineOpened


def expect_calls(opened: Opened) -> tuple[ExpectedCalls, ...]:
    """Every step once; again from where a gate can send it back to, as often as the gate may."""
    assert isinstance(opened, PipelineOpened)
    steps = opened.settings.steps
    names = [step.name for step in steps]
    times = [1] * len(steps)
    for at, step in enumerate(steps):
        if not step.gate or step.on_reject == "stop":
            continue
        start = names.index(step.back_to) if step.on_reject == "back" and step.back_to in names else max(0, at - 1)
        for again in range(start, at + 1):
            times[again] += step.max_rejections
    return tuple(
        ExpectedCalls(seats=(parse_seat_id(step.agent),), least=1, most=times[at], tokens_out=2 * LONG_ANSWER)
        for at, step in enumerate(steps)
    )
