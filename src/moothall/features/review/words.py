"""The texts of reviews."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from moothall.plugins import Catalogue, SharedReportText, Texts

_FOLDER: Final = Path(__file__).parent / "locale"


class ReviewPromptText(Texts):
    topic: str
    task: str
    change: str
    file: str
    finding: str
    evidence: str
    context: str
    person_inspect: str
    person_stand: str
    tree: str
    now: Mapping[str, str]
    stood: Mapping[str, str]
    stand_words: Mapping[str, str]


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
    fix: str
    read_by: str
    nothing_raised: str
    nothing_said: str
    part: str
    check: str
    settle: str
    merged: str
    not_read: str
    losses_raised: str
    unquoted: str
    unread: str
    no_sarif: str
    left_out: str
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

_SEVERITIES: Final[Mapping[str, Mapping[str, list[str]]]] = tomllib.loads(
    Path(__file__).with_name("severities.toml").read_text(encoding="utf-8")
)
PLAIN_HAN: Final = tuple(sorted(_SEVERITIES["beside"]["plain_han"], key=len, reverse=True))
"""What stands beside the Chinese word for a severity, and says nothing of its own."""
DENIALS: Final = frozenset(_SEVERITIES["beside"]["denial"])


def _index_severities() -> dict[str, str]:
    meanings = {}
    for severity, words in _SEVERITIES["severities"].items():
        for word in words:
            meanings[word.casefold()] = severity
    return meanings


SEVERITY_WORDS: Final[Mapping[str, str]] = _index_severities()
"""The severity that a word means, in all languages."""
