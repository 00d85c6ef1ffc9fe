"""What a person is asked in a pipeline: the work of a step, or a verdict on it."""

from collections.abc import Mapping
from typing import Final

from moothall.domain.context import Utterance
from moothall.domain.effects import Ask
from moothall.domain.person import WHY, Answers, PersonAsk, PersonChoice, PersonStep
from moothall.domain.safe_text import quote_lines
from moothall.locale.catalogues import PERSON_STEPS, PIPELINE_PERSON
from moothall.protocols.pipeline.facts import WORK
from moothall.protocols.pipeline.state import Pipeline
from moothall.reports.person_steps import POSITION

WORDS: Final = "words"


def build_person_ask(state: Pipeline, ask: Ask) -> PersonAsk:
    """Build what a person is asked in the current step."""
    language, step = state.opened.language, state.step
    assert step is not None
    words = PIPELINE_PERSON[language]
    news = tuple(Utterance(id=made.seq, speaker=made.seat, text=made.text) for made in state.list_inputs(step))
    lines = [words.task.format(name=step.name), quote_lines(step.task)]
    if reasons := state.feedback.get(step.name, ""):
        lines += [words.feedback, quote_lines(reasons)]
    lines += [part for text in state.inputs[-3:] for part in (words.inputs, quote_lines(text))]
    about = "\n".join(lines)
    if ask.kind == WORK:
        work = PersonStep(name=WORDS, text=words.work.format(name=step.name), is_needed=True, is_long=True)
        return PersonAsk(steps=(work,), about=about, news=news, build=lambda answers: {"content": answers[WORDS]})
    choices = tuple(PersonChoice(value=value, text=text) for value, text in words.verdicts.items())
    judge = words.judge_again if state.is_review else words.judge
    steps = (
        PersonStep(name=POSITION, text=judge, choices=choices, kind="position", is_needed=True),
        # A rejection without a reason cannot be acted on.
        PersonStep(name=WHY, text=words.rejected, is_needed=True, is_long=True, only_after=(POSITION, ("REJECTED",))),
        PersonStep(name=WHY, text=PERSON_STEPS[language].why, is_long=True, only_after=(POSITION, ("APPROVED",))),
    )
    return PersonAsk(steps=steps, about=about, news=news, build=_build_verdict)


def _build_verdict(answers: Answers) -> Mapping[str, object]:
    return {"verdict": answers[POSITION], "content": answers.get(WHY, "")}
