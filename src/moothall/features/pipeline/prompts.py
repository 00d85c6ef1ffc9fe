"""The prompts of a pipeline, pure functions of bounded length, and its answers: the work of a step, or a verdict on it."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from moothall.domain.answer_table import ask_for_replies
from moothall.domain.consult import ConsultRequest
from moothall.features.pipeline.facts import (
    REVIEW,
    VALIDATE,
    WORK,
    Artefact,
    GateVerdict,
    Step,
    VerdictGiven,
    WorkDone,
)
from moothall.features.pipeline.state import Pipeline
from moothall.features.pipeline.words import (
    PIPELINE_PERSON,
    PIPELINE_PROMPT,
    PipelinePersonText,
    PipelinePromptText,
)
from moothall.plugins import (
    WHY,
    WORDS,
    AnswerField,
    AnswerForm,
    AnswerRules,
    Ask,
    Brief,
    ContextWindow,
    Perception,
    PersonAsk,
    PersonStep,
    Schema,
    StateAsk,
    Utterance,
    ask_person,
    ask_words,
    build_table_schema,
    define_answer,
    fill_brief,
    index_by_kind,
    introduce_seat,
    one_line,
    quote_lines,
    quote_user,
    shorten_text,
)
from moothall.reports.person_steps import POSITION, ask_which, ask_why

MAX_PASSED_LENGTH: Final = 48_000
"""The most characters of all artefacts together that a step receives."""
MAX_PART_LENGTH: Final = 6_000


class StepAsk(StateAsk[Pipeline]):
    @property
    def text(self) -> PipelinePersonText:
        return PIPELINE_PERSON[self.language]


Row = AnswerField[StepAsk]


def _ask_work(asked: StepAsk) -> list[PersonStep]:
    assert asked.state.step is not None
    return [ask_words(asked.text.work.format(name=asked.state.step.name))]


def _ask_verdict(asked: StepAsk) -> list[PersonStep]:
    judge = asked.text.judge_again if asked.state.is_review else asked.text.judge
    return [ask_which(judge, asked.text.verdicts)]


def _ask_reasons(asked: StepAsk) -> list[PersonStep]:
    return [
        # A rejection without a reason cannot be acted on.
        PersonStep(
            name=WHY,
            text=asked.text.rejected,
            is_needed=True,
            is_long=True,
            only_after=(POSITION, ("REJECTED",)),
        ),
        ask_why(asked.language, is_long=True, only_after=(POSITION, ("APPROVED",))),
    ]


# The reasons before the verdict: what is written first, the verdict follows.
VERDICT: Final = (
    Row("content", ask=_ask_reasons, read=lambda _, answers: answers.get(WHY, "")),
    Row("verdict", is_needed=True, ask=_ask_verdict, read=lambda _, answers: answers[POSITION]),
)
FORMS: Final = index_by_kind(
    define_answer(
        AnswerForm(kind=WORK, reply=WorkDone, shape=Artefact, form="text", max_tokens=2_000),
        Row("content", is_needed=True, ask=_ask_work, read=lambda _, answers: answers[WORDS]),
    ),
    define_answer(
        AnswerForm(
            kind=VALIDATE, reply=VerdictGiven, shape=GateVerdict, form="json", max_tokens=900
        ),
        *VERDICT,
    ),
    define_answer(
        AnswerForm(kind=REVIEW, reply=VerdictGiven, shape=GateVerdict, form="json", max_tokens=900),
        *VERDICT,
    ),
)


def build_person_ask(state: Pipeline, ask: Ask) -> PersonAsk:
    asked, step = StepAsk(state=state, ask=ask), state.step
    assert step is not None
    news = tuple(
        Utterance(id=made.seq, speaker=made.seat, text=made.text)
        for made in state.list_inputs(step)
    )
    about = [asked.text.task.format(name=step.name), quote_user(step.task)]
    reasons = state.feedback.get(step.name, "")
    if reasons:
        about += [asked.text.feedback, quote_lines(reasons)]
    for each in state.open_inputs:
        about += [asked.text.inputs, quote_user(each.text)]
    rows: Sequence[Row] = FORMS[ask.kind].fields
    if ask.kind != WORK:
        # A person is asked for its verdict first: what follows depends on it.
        rows = FORMS[ask.kind].put_first("verdict")
    return ask_person(rows, asked, about="\n".join(about), news=news)


def build_answer_rules(state: Pipeline, ask: Ask) -> AnswerRules:
    return AnswerRules(form=FORMS[ask.kind], person=partial(build_person_ask, state, ask))


def build_brief(state: Pipeline, ask: Ask) -> Brief:
    words, step = PIPELINE_PROMPT[state.opened.language], state.step
    assert step is not None
    memory = ContextWindow(window=3)
    for number, made in enumerate(state.list_inputs(step), 1):
        memory = memory.add(Utterance(id=number, speaker=made.seat, text=made.text), 0.5)
    own = next(
        (made.text for made in reversed(tuple(state.made.values())) if made.seat == ask.seat), ""
    )
    return fill_brief(
        state,
        ask,
        build_answer_rules(state, ask),
        nth=state.counts.get(f"{ask.kind}.{ask.seat}", 0) + 1,
        perception=Perception(goal=state.opened.topic, memory=memory, own_words=own),
        shared=_build_shared_prompt(state, words),
        own=_build_own_prompt(state, words, step, ask),
        subject=step.task,
        schema=_build_schema(state, ask),
        explains_fields=ask.kind != WORK,
    )


def _build_schema(state: Pipeline, ask: Ask) -> Schema | None:
    """Return the schema of a verdict, its reasons first; None for work, which is a text."""
    if ask.kind == WORK:
        return None
    form = FORMS[ask.kind]
    return build_table_schema(form.shape, form.fields, StepAsk(state=state, ask=ask))


def build_consult_request(state: Pipeline, gate: Step) -> ConsultRequest:
    """Build the validator's question to the maker of what it rejected."""
    words, maker = PIPELINE_PROMPT[state.opened.language], state.maker(gate)
    reasons = (
        state.verdict.content if state.verdict is not None else state.feedback.get(gate.name, "")
    )
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
        lines.append(
            form.format(number=number, name=one_line(step.name), agent=one_line(step.agent))
        )
    return "\n".join([words.task, quote_user(state.opened.topic), "", words.steps, *lines])


def _build_own_prompt(state: Pipeline, words: PipelinePromptText, step: Step, ask: Ask) -> str:
    lines = introduce_seat(state.opened.language, state.seat(ask.seat))
    passed = state.list_inputs(step)
    if passed:
        room = max(1_000, MAX_PASSED_LENGTH // len(passed))
        lines += ["", words.artefacts]
        for made in passed:
            lines += [
                words.artefact.format(step=made.step, seat=made.seat),
                quote_lines(shorten_text(made.text, room)),
            ]
    reasons = state.feedback.get(step.name, "")
    if reasons:
        lines += ["", words.feedback, quote_lines(shorten_text(reasons, MAX_PART_LENGTH))]
    if ask.kind == VALIDATE:
        how = words.validate.strip()
    elif ask.kind == REVIEW:
        how = words.review.strip()
    elif state.index == state.last_work:
        how = words.work + ask_for_replies(state)
    else:
        how = words.work
    return "\n".join(
        [*lines, "", words.now.format(name=one_line(step.name)), quote_user(step.task), how]
    )
