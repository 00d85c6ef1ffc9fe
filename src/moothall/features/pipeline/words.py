"""The texts of pipeline."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moothall.plugins import Catalogue, SharedReportText, Texts

_FOLDER: Final = Path(__file__).parent / "locale"


class PipelinePersonText(Texts):
    work: str
    task: str
    judge: str
    judge_again: str
    rejected: str
    feedback: str
    inputs: str
    verdicts: Mapping[str, str]


class PipelinePromptText(Texts):
    task: str
    steps: str
    step: str
    gate: str
    artefacts: str
    artefact: str
    feedback: str
    now: str
    work: str
    validate: str
    review: str
    question: str
    background: str
    usual_partners: str


class PipelineReportText(SharedReportText):
    pipeline: str
    decision: str
    still_thinking: str
    cancelled: str
    no_decision: str
    author: str
    approved_by: str
    at_step: str
    rejected: str
    lost: str
    lost_line: str
    steps: str
    columns: tuple[str, ...]
    states: Mapping[str, str]
    verdicts: Mapping[str, str]
    endings: Mapping[str, str]
    then: Mapping[str, str]


PIPELINE_PERSON: Final = Catalogue("pipeline_person", PipelinePersonText, _FOLDER)
PIPELINE_PROMPT: Final = Catalogue("pipeline_prompt", PipelinePromptText, _FOLDER)
PIPELINE_REPORT: Final = Catalogue("pipeline_report", PipelineReportText, _FOLDER)
