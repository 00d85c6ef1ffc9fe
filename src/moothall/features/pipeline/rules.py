"""The rulebook of a pipeline: steps in order, one agent at a time.

An agent that fails is asked once more; if it fails again the pipeline ends, and can be continued in a fork with another
participant in the seat. What follows a rejection is set in the gate's step.
"""

from collections.abc import Mapping
from typing import Final

from moothall.domain.topic import UserReply, drop_replies, read_replies
from moothall.features.pipeline import facts
from moothall.features.pipeline.prompts import (
    FORMS,
    build_answer_rules,
    build_brief,
    build_consult_request,
)
from moothall.features.pipeline.state import Pipeline, StepArtefact
from moothall.plugins import (
    AnswerForm,
    Ask,
    Effect,
    Entry,
    Fact,
    InputGiven,
    Opened,
    Record,
    Reply,
    SeatId,
    SeatLost,
    SeatsSwapped,
    SessionForked,
    ask_id,
    evolve_shared,
    fast_replace,
)

MAX_TRIES: Final = 2


class PipelineRules:
    """Implements `Rulebook[Pipeline]`."""

    name = "pipeline"
    kinds: Mapping[str, type[Fact]] = facts.KINDS
    forms: Mapping[str, AnswerForm] = FORMS
    brief = staticmethod(build_brief)
    answer_rules = staticmethod(build_answer_rules)

    def initial(self, opened: Opened) -> Pipeline:
        assert isinstance(opened, facts.PipelineOpened)
        return Pipeline(opened=opened, seats=opened.seats)

    def evolve(self, state: Pipeline, entry: Entry) -> Pipeline:
        if state.is_closed:
            return state
        fact, state = entry.fact, evolve_shared(state, entry)
        match fact:
            case Reply() | SeatLost() if fact.ask != _find_open_ask(state):
                return state
            case facts.WorkDone(said=facts.Artefact() as said) if state.kind == facts.WORK:
                return _apply_artefact(state, entry, said)
            case facts.VerdictGiven(said=facts.GateVerdict() as said) if state.kind != facts.WORK:
                return _apply_verdict(state, said)
            case SeatLost():
                return fast_replace(_settle_ask(state), failed=state.failed + 1)
            case facts.StepRejected():
                return _apply_rejection(state, fact)
            case InputGiven():
                return _put_step_again(state)
            case SessionForked() | SeatsSwapped():
                # The new participant has not failed yet.
                return fast_replace(state, failed=0)
            case _:
                return state

    def decide(self, state: Pipeline) -> tuple[Effect, ...]:
        if state.is_closed:
            return ()
        step = state.step
        if step is None:
            return (
                Record(
                    fact=facts.PipelineClosed(
                        reason="completed", step=state.steps[-1].name if state.steps else ""
                    )
                ),
            )
        if state.ended_by is not None:
            return (Record(fact=facts.PipelineClosed(reason=state.ended_by, step=step.name)),)
        # A rejection is recorded as a fact of its own before anything else happens, so that the ledger shows why work is
        # repeated.
        if state.verdict is not None:
            return (Record(fact=_build_rejection(state, step)),)
        if state.failed >= MAX_TRIES:
            return (
                Record(
                    fact=facts.PipelineClosed(
                        reason="failed", step=step.name, agent=SeatId(step.agent)
                    )
                ),
            )
        kind = state.kind
        # The maker is consulted once per review: a retry after a loss does not ask again.
        first = (
            build_consult_request(state, step)
            if kind == facts.REVIEW and state.failed == 0 and not state.is_put_again
            else None
        )
        seat = SeatId(step.agent)
        patience = state.opened.settings.patience
        return (
            Ask(
                id=ask_id(state.turn, kind, seat),
                seat=seat,
                kind=kind,
                turn=state.turn,
                patience=patience,
                first=first,
            ),
        )


RULES: Final = PipelineRules()


def _find_open_ask(state: Pipeline) -> str | None:
    step = state.step
    if (
        step is None
        or state.verdict is not None
        or state.failed >= MAX_TRIES
        or state.ended_by is not None
    ):
        return None
    return ask_id(state.turn, state.kind, SeatId(step.agent))


def _settle_ask(state: Pipeline) -> Pipeline:
    """Count the settled ask, so that the next one gets another id."""
    step = state.step
    assert step is not None
    key = f"{state.kind}.{step.agent}"
    return fast_replace(
        state,
        turn=state.turn + 1,
        counts={**state.counts, key: state.counts.get(key, 0) + 1},
        is_put_again=False,
    )


def _put_step_again(state: Pipeline) -> Pipeline:
    """Ask once more, and once only, where the user has spoken while a verdict or the result is out: nobody reads it later (Q-8)."""
    step = state.step
    if step is None or state.is_put_again or _find_open_ask(state) is None:
        return state
    if not step.gate and state.index != state.last_work:
        return state
    return fast_replace(state, turn=state.turn + 1, is_put_again=True)


def _apply_artefact(state: Pipeline, entry: Entry, said: facts.Artefact) -> Pipeline:
    step = state.step
    assert step is not None
    before = state.made.get(step.name)
    version = 1 if before is None else before.version + 1
    text = said.content
    replies: tuple[UserReply, ...] = ()
    if state.open_inputs:
        replies = read_replies(text)
        text = drop_replies(text)
    made = StepArtefact(
        step=step.name,
        seat=SeatId(step.agent),
        text=text,
        seq=entry.seq,
        version=version,
        replies=replies,
    )
    # The feedback led to this version: the next one must not be judged by it.
    feedback = {name: text for name, text in state.feedback.items() if name != step.name}
    after = _settle_ask(state)
    return fast_replace(
        after,
        made={**state.made, step.name: made},
        feedback=feedback,
        index=state.index + 1,
        failed=0,
    )


def _apply_verdict(state: Pipeline, said: facts.GateVerdict) -> Pipeline:
    after = fast_replace(_settle_ask(state), failed=0)
    if said.verdict == "REJECTED":
        return fast_replace(after, verdict=said)
    return fast_replace(after, index=state.index + 1, is_review=False)


def _build_rejection(state: Pipeline, gate: facts.Step) -> facts.StepRejected:
    maker = state.maker(gate)
    times = state.rejections.get(gate.name, 0) + 1
    if gate.on_reject == "consult" and not state.is_review:
        return facts.StepRejected(step=gate.name, times=times, then="consult")
    # `maker is gate`: nothing was made before this gate, so there is no step to return to.
    is_over = gate.on_reject == "stop" or times > gate.max_rejections or maker is gate
    then: facts.OnReject = "stop" if is_over else "back"
    return facts.StepRejected(
        step=gate.name, times=times, then=then, to=maker.name if then == "back" else ""
    )


def _apply_rejection(state: Pipeline, fact: facts.StepRejected) -> Pipeline:
    step, verdict = state.step, state.verdict
    if step is None or verdict is None or fact.step != step.name:
        return state
    reasons = verdict.content
    if fact.then == "consult":
        return fast_replace(
            state, verdict=None, is_review=True, feedback={**state.feedback, step.name: reasons}
        )
    after = fast_replace(
        # Only rejections that send work back or stop count towards the limit; a consultation is not one.
        state,
        verdict=None,
        is_review=False,
        rejections={**state.rejections, step.name: state.rejections.get(step.name, 0) + 1},
    )
    maker = state.maker(step)
    if fact.then == "stop" or maker is step:
        return fast_replace(after, is_rejected=True)
    feedback = {name: text for name, text in state.feedback.items() if name != step.name}
    return fast_replace(
        after,
        index=state.position(maker.name),
        feedback={**feedback, maker.name: reasons or verdict.verdict},
    )
