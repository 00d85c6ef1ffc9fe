"""The prompts of a pipeline: pure functions of bounded length."""

from dataclasses import replace
from functools import partial
from typing import Final

from moothall.domain.answer_table import start_brief
from moothall.domain.consult import ConsultRequest
from moothall.domain.context import ContextWindow, Perception, Utterance
from moothall.domain.effects import AnswerRules, Ask, Brief
from moothall.domain.safe_text import one_line, quote_lines, shorten_text
from moothall.locale.catalogues import PIPELINE_PROMPT, PipelinePromptText
from moothall.protocols.pipeline.answer_table import FORMS, build_person_ask
from moothall.protocols.pipeline.facts import REVIEW, VALIDATE, Step
from moothall.protocols.pipeline.state import Pipeline

MAX_PASSED_LENGTH: Final = 48_000
"""The most characters of all artefacts together that a step receives."""
MAX_PART_LENGTH: Final = 6_000
MAX_INPUTS: Final = 3


def build_answer_rules(state: Pipeline, ask: Ask) -> AnswerRules:
    return AnswerRules(form=FORMS[ask.kind], person=partial(build_person_ask, state, ask))


def build_brief(state: Pipeline, ask: Ask) -> Brief:
    words, step = PIPELINE_PROMPT[state.opened.language], state.step
    assert step is not None
    memory = ContextWindow(window=3)
    for number, made in enumerate(state.list_inputs(step), 1):
        memory = memory.add(Utterance(id=number, speaker=made.seat, text=made.text), 0.5)
    own = next((made.text for made in reversed(tuple(state.made.values())) if made.seat == ask.seat), "")
    return replace(
        start_brief(state, ask, build_answer_rules(state, ask), words.system),
        nth=state.counts.get(f"{ask.kind}.{ask.seat}", 0) + 1,
        perception=Perception(goal=state.opened.topic, memory=memory, own_words=own),
        shared=_build_shared_prompt(state, words),
        own=_build_own_prompt(state, words, step, ask),
        subject=step.task,
    )


def build_consult_request(state: Pipeline, gate: Step) -> ConsultRequest:
    """Build the validator's question to the maker of what it rejected."""
    words, maker = PIPELINE_PROMPT[state.opened.language], state.maker(gate)
    reasons = state.verdict.content if state.verdict is not None else state.feedback.get(gate.name, "")
    return ConsultRequest(
        to=maker.agent,
        question=words.question.format(step=maker.name, reasons=reasons[:MAX_PART_LENGTH]),
        background=words.background.format(gate=gate.name),
        kind="feedback",
    )


def _build_shared_prompt(state: Pipeline, words: PipelinePromptText) -> str:
    lines = []
    for number, step in enumerate(state.steps, 1):
        form = words.gate if step.gate else words.step
        lines.append(form.format(number=number, name=one_line(step.name), agent=one_line(step.agent)))
    return "\n".join([words.task, quote_lines(state.opened.topic), "", words.steps, *lines])


def _build_own_prompt(state: Pipeline, words: PipelinePromptText, step: Step, ask: Ask) -> str:
    seat = state.seat(ask.seat)
    lines = [words.you.format(seat=seat.id)]
    lines += [one_line(seat.stance)] if seat.stance else []
    lines += [words.instructions.format(instructions=seat.instructions.strip())] if seat.instructions else []
    passed = state.list_inputs(step)
    if passed:
        room = max(1_000, MAX_PASSED_LENGTH // len(passed))
        lines += ["", words.artefacts]
        for made in passed:
            lines += [words.artefact.format(step=made.step, seat=made.seat), quote_lines(shorten_text(made.text, room))]
    reasons = state.feedback.get(step.name, "")
    if reasons:
        lines += ["", words.feedback, quote_lines(shorten_text(reasons, MAX_PART_LENGTH))]
    if state.inputs:
        lines += ["", words.inputs, *(quote_lines(shorten_text(text, MAX_PART_LENGTH)) for text in state.inputs[-MAX_INPUTS:])]
    how = words.validate if ask.kind == VALIDATE else words.review if ask.kind == REVIEW else words.work
    return "\n".join([*lines, "", words.now.format(name=step.name, task=step.task), how])
