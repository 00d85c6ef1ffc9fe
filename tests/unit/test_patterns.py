"""No text that somebody writes may hold a process up: every pattern comes to its end on long texts of one kind."""

import importlib
import pkgutil
import re
import time
from functools import cache
from typing import cast

import pytest

import moothall
from moothall.domain.safe_text import LatePattern

TEXTS = {
    "words": "word " * 20_000,
    "spaces": "a" + " " * 100_000 + "b",
    "letters": "a" * 100_000,
    "stars": "*" * 100_000,
    "sentences": "so. " * 25_000,
    "lines": "well" + "\n" * 100_000 + "so",
    "questions": "a?" * 50_000,
    "characters": "的" * 100_000,
    "headings": "# " * 50_000,
    "list": "- " * 50_000,
    "names": "@a " * 30_000,
    "numbers": "1," * 50_000,
    "brackets": "{[" * 50_000,
    "blank lines": " \n" * 50_000,
}
PARTS = 5
AT_ONCE = 0.02
"""Seconds of CPU."""
MATCHED = {
    "moothall.domain.secret_shapes._REFERENCE",
    "moothall.reports.given._NUMBERED",
    "moothall.app.recurring._REPEATED",
    "moothall.features.review.change._BEGINS",
    "moothall.features.review.prompts._NOTHING",
    "moothall.features.review.prompts._TYPED",
    "moothall.reading.stated._AFTER",
    "moothall.reading.stated._AMOUNT",
    "moothall.reading.stated._BOX",
    "moothall.reading.stated._IT_IS",
    "moothall.reading.stated._LABEL",
    "moothall.reading.stated._LINE_LEAD",
    "moothall.reading.stated._OBJECT",
    "moothall.reading.stated._OR",
    "moothall.reading.stated._PRONOUN",
    "moothall.reading.stated._SEPARATOR",
    "moothall.reading.stated._STATEMENT",
    "moothall.reading.stated._WHY",
    "moothall.reading.lenient_parser._NUMBERED",
    "moothall.reading.non_answers._APOLOGY",
    "moothall.reading.non_answers._BARE",
    "moothall.reading.field_values._STATED_NUMBER",
    "moothall.features.persona.answer_table._LEADING_AMOUNT",
    "moothall.domain.consult._REQUEST",
    "moothall.protocols.consultation.facts._FROM",
    "moothall.protocols.swarm.rules.plain_report._NUMBER",
    "moothall.protocols.consultation.facts._UNKNOWN",
    "moothall.features.persona.facts._REFERENCE",
    "moothall.features.pipeline.facts._VERDICT",
    "moothall.features.roundtable.facts._OWN_VOTE",
    "moothall.features.roundtable.files._SKIPPED",
    "moothall.surfaces.api.chat_request._TASK",
    "moothall.surfaces.api.chat_request._TITLE_ZH",
    "moothall.surfaces.invitations.settings_edit._LINE_END",
    "moothall.surfaces.invitations.settings_edit._SPACE",
}
"""Patterns that are held against the beginning of a text only, never looked for in it."""


@cache
def patterns() -> dict[str, re.Pattern[str]]:
    rooms = [
        f"moothall.{name}."
        for name in (
            "domain",
            "scoring",
            "protocols",
            "codec",
            "reading",
            "participants",
            "reports",
            "surfaces",
            "app",
            "features",
        )
    ]
    found = {}
    for module in pkgutil.walk_packages(moothall.__path__, "moothall."):
        if module.name.startswith(tuple(rooms)):
            for name, value in vars(importlib.import_module(module.name)).items():
                if isinstance(value, re.Pattern | LatePattern) and isinstance(value.pattern, str):
                    found[f"{module.name}.{name}"] = cast("re.Pattern[str]", value)
    return found


def test_there_are_patterns_to_look_at() -> None:
    assert len(patterns()) > 100
    assert patterns().keys() >= MATCHED


@pytest.mark.timeout(60)
@pytest.mark.parametrize(("name", "pattern"), patterns().items(), ids=list(patterns()))
def test_a_pattern_comes_to_its_end(name: str, pattern: re.Pattern[str]) -> None:
    for text in TEXTS.values():
        # What is done with a part of a text at once is soon done with all of it, also where the time grows with its cube.
        begun = time.process_time()
        run_pattern(name, pattern, text[: len(text) // PARTS])
        if time.process_time() - begun > AT_ONCE:
            run_pattern(name, pattern, text)


def run_pattern(name: str, pattern: re.Pattern[str], text: str) -> None:
    found = [pattern.match(text)] if name in MATCHED else list(pattern.finditer(text))
    assert len(found) <= len(text) + 1
