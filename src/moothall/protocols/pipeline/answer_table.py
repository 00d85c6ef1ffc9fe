"""The answers of a pipeline, field by field: the work of a step, or a verdict on it."""

from typing import Final

from moothall.domain.answer_table import AnswerField, StateAsk, ask_person, define_answer, index_by_kind
from moothall.domain.context import Utterance
from moothall.domain.effects import AnswerForm, Ask
from moothall.domain.person import WHY, PersonAsk, PersonStep
from moothall.domain.safe_text import quote_lines
from moothall.locale.catalogues import PERSON_STEPS, PIPELINE_PERSON, PipelinePersonText
from moothall.protocols.pipeline.facts import REVIEW, VALIDATE, WORK, Artefact, GateVerdict, VerdictGiven, WorkDone
from moothall.protocols.pipeline.state import Pipeline
from moothall.reports.person_steps import POSITION, WORDS, ask_which, ask_words

MAX_INPUTS: Final = 3


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
    why = PERSON_STEPS[asked.state.opened.language].why
    return [
        # A rejection without a reason cannot be acted on.
        PersonStep(name=WHY, text=asked.text.rejected, is_needed=True, is_long=True, only_after=(POSITION, ("REJECTED",))),
        PersonStep(name=WHY, text=why, is_long=True, only_after=(POSITION, ("APPROVED",))),
    ]


VERDICT: Final = (
    Row("verdict", is_needed=True, ask=_ask_verdict, read=lambda _, answers: answers[POSITION]),
    Row("content", ask=_ask_reasons, read=lambda _, answers: answers.get(WHY, "")),
)
FORMS: Final = index_by_kind(
    define_answer(
        AnswerForm(kind=WORK, reply=WorkDone, shape=Artefact, form="text", max_tokens=2_000),
        Row("content", is_needed=True, ask=_ask_work, read=lambda _, answers: answers[WORDS]),
    ),
    define_answer(AnswerForm(kind=VALIDATE, reply=VerdictGiven, shape=GateVerdict, form="json", max_tokens=900), *VERDICT),
    define_answer(AnswerForm(kind=REVIEW, reply=VerdictGiven, shape=GateVerdict, form="json", max_tokens=900), *VERDICT),
)


def build_person_ask(state: Pipeline, ask: Ask) -> PersonAsk:
    asked, step = StepAsk(state=state, ask=ask), state.step
    assert step is not None
    news = tuple(Utterance(id=made.seq, speaker=made.seat, text=made.text) for made in state.list_inputs(step))
    about = [asked.text.task.format(name=step.name), quote_lines(step.task)]
    if reasons := state.feedback.get(step.name, ""):
        about += [asked.text.feedback, quote_lines(reasons)]
    about += [part for text in state.inputs[-MAX_INPUTS:] for part in (asked.text.inputs, quote_lines(text))]
    return ask_person(FORMS[ask.kind].fields, asked, about="\n".join(about), news=news)
