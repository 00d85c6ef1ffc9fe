"""The texts of reviews."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moothall.plugins import Catalogue, SharedReportText, Texts

_FOLDER: Final = Path(__file__).parent / "locale"


class ReviewPromptText(Texts):
    topic: str
    system: str
    task: str
    inputs: str
    change: str
    file: str
    you: str
    instructions: str
    finding: str
    evidence: str
    context: str
    person_inspect: str
    person_stand: str
    now: Mapping[str, str]
    stood: Mapping[str, str]
    stand_words: Mapping[str, str]
    hints: Mapping[str, str]


class ReviewReportText(SharedReportText):
    review: str
    decision: str
    still_thinking: str
    no_decision: str
    findings: str
    set_aside: str
    held_by: str
    disputed_by: str
    because: str
    settles: str
    read_by: str
    nothing_raised: str
    nothing_said: str
    part: str
    check: str
    settle: str
    merged: str
    uncertain: str
    not_read: str
    losses_raised: str
    unquoted: str
    unread: str
    no_sarif: str
    verdicts: Mapping[str, str]
    no_verdict: Mapping[str, str]
    doubts: Mapping[str, str]
    endings: Mapping[str, str]
    stands: Mapping[str, str]
    states: Mapping[str, str]
    severities: Mapping[str, str]
    concerns: Mapping[str, str]


REVIEW_PROMPT: Final = Catalogue("review_prompt", ReviewPromptText, _FOLDER)
REVIEW_REPORT: Final = Catalogue("review_report", ReviewReportText, _FOLDER)
