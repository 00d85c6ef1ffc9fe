"""Registers the pipeline protocol."""

from typing import Final

from moothall.errors import BadName
from moothall.features.pipeline import timeline
from moothall.features.pipeline.facts import (
    REVIEW,
    VALIDATE,
    PipelineOpened,
    PipelineSettings,
    Step,
)
from moothall.features.pipeline.rules import RULES
from moothall.plugins import (
    LONG_ANSWER,
    BadSetting,
    ExpectedCalls,
    Opened,
    Plan,
    ProtocolPlugin,
    parse_seat_id,
    validate_seats,
)


def expect_calls(opened: Opened) -> tuple[ExpectedCalls, ...]:
    """Every step once; again from where a gate can send it back to, as often as the gate may."""
    assert isinstance(opened, PipelineOpened)
    steps = opened.settings.steps
    names = [step.name for step in steps]
    times = [1] * len(steps)
    for at, step in enumerate(steps):
        if not step.gate or step.on_reject == "stop":
            continue
        start = (
            names.index(step.back_to)
            if step.on_reject == "back" and step.back_to in names
            else max(0, at - 1)
        )
        for again in range(start, at + 1):
            times[again] += step.max_rejections
    return tuple(
        ExpectedCalls(
            seats=(parse_seat_id(step.agent),), least=1, most=times[at], tokens_out=2 * LONG_ANSWER
        )
        for at, step in enumerate(steps)
    )


def open_session(plan: Plan) -> PipelineOpened:
    """The opening of a pipeline; raises BadSetting, BadRoster."""
    assert isinstance(plan.settings, PipelineSettings)
    seats = validate_seats(plan.seats)
    _validate_steps(plan.settings.steps, [seat.id for seat in seats])
    return plan.opening(PipelineOpened, seats=seats, settings=plan.settings)


def _validate_steps(steps: tuple[Step, ...], agents: list[str]) -> None:
    """Raises BadSetting with the first slip."""
    if not steps:
        raise BadSetting("a pipeline needs steps: each with a name, an agent and a task")
    before: list[Step] = []
    for step in steps:
        where = f"step {step.name!r}"
        try:
            parse_seat_id(step.name)
        except BadName as cause:
            raise BadSetting(
                f"{where}: a step's name may hold letters and digits of any script, '_' and '-'"
            ) from cause
        names = [each.name for each in before]
        if step.name in names:
            raise BadSetting(f"{where}: two steps have this name; each needs one of its own")
        if step.agent not in agents:
            raise BadSetting(
                f"{where}: no agent is called {step.agent!r}; the agents are: {', '.join(agents)}"
            )
        for used in step.uses:
            if used not in names:
                raise BadSetting(
                    f"{where}: uses {used!r}, which is no step before it; those are: {', '.join(names) or 'none'}"
                )
        makers = [each.name for each in before if not each.gate]
        if step.back_to and step.back_to not in makers:
            raise BadSetting(
                f"{where}: back_to = {step.back_to!r}; expected a step before it that is no gate: {', '.join(makers)}"
            )
        if step.gate and not makers:
            raise BadSetting(f"{where}: a gate needs a step before it that makes something")
        before.append(step)


PIPELINE: Final = ProtocolPlugin(
    name="pipeline",
    rules=RULES,
    settings=PipelineSettings,
    open=open_session,
    timeline=timeline.PipelineTimeline,
    decision=timeline.build_decision,
    describe=timeline.add_and_describe_entry,
    report=timeline.build_pipeline_report,
    exports={"artefacts": timeline.render_artefacts},
    gates=frozenset({VALIDATE, REVIEW}),
    consults=True,
    opens_by_question=False,
    expect=expect_calls,
    refuses={
        "turns": "its length is that of its steps; limit the repetitions of a step with `most` in its file",
        "kind": "its result is what its steps write, not a choice",
        "facts": "its agents work one after the other, each on what the one before it made",
        "frame": "its result is what its steps write, not a choice",
        "options": "its result is what its steps write, not a choice; write possible answers into the task",
    },
)
