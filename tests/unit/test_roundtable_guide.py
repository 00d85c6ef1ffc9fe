"""GUIDE.md (R-1): complete, and at one with what the code does."""

import re
from typing import get_args

import pytest

from moothall.domain.facts import Language
from moothall.features.roundtable.facts import RoundtableSpeech
from moothall.features.roundtable.files import (
    AGENDA,
    GUIDE,
    KINDS,
    MAX_PROMPT_LENGTH,
    MINUTES,
    RESERVED,
    TURN,
    parse_skip_reason,
    parse_turn_file,
)
from moothall.features.roundtable.project import read_guide
from moothall.features.roundtable.sections import find_missing_sections
from moothall.features.roundtable.state import Status
from moothall.features.roundtable.words import ROUNDTABLE_PROMPT

LANGUAGES = ("en", "zh")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_example_in_the_guide_is_a_valid_turn(language: Language) -> None:
    """R-1, R-2"""
    (block,) = re.findall(r"```json\n(.*?)```", read_guide(language), re.DOTALL)
    turn = parse_turn_file(block)
    assert (turn.status, turn.current_speaker) == ("open", turn.speaker_order[0])


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_guide_tells_everything_that_an_agent_needs(language: Language) -> None:
    """R-1, R-4, R-7, R-9, R-12: files, fields, states, the words of refusal, the marks, the names that are kept."""
    guide, words = read_guide(language), ROUNDTABLE_PROMPT[language]
    for word in (
        AGENDA,
        TURN,
        MINUTES,
        GUIDE,
        *KINDS,
        *get_args(Status),
        "001_",
        "moderator",
        "aside/",
    ):
        assert word in guide
    assert words.blocked in guide
    assert words.over.rstrip("。.") in guide
    assert words.wake.replace("{role}", "{current_speaker}").replace(
        "{prompt}", "{prompt_for_speaker}"
    ).replace("{conference}", "{conference}" if language == "en" else "{会议名}") in re.sub(
        r"\s+", " ", guide
    )
    assert str(MAX_PROMPT_LENGTH) in guide.replace(",", "")
    for name in RESERVED:
        assert name in guide or name.upper() in guide


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_marks_of_the_guide_are_those_that_count(language: Language) -> None:
    """R-3, R-7, R-10"""
    guide = read_guide(language)
    consensus, skipped = ("[CONSENSUS]", "[SKIPPED]") if language == "en" else ("[共识]", "[跳过]")
    assert consensus in guide
    assert skipped in guide
    assert RoundtableSpeech.from_text(f"Yes.\n{consensus}").consensus
    assert parse_skip_reason(f"{skipped} …") is not None
    sections = "\n".join(re.findall(r"^ {3}(## .+)$", guide, re.MULTILINE))
    assert find_missing_sections(sections) == ()


def test_both_guides_have_the_same_steps() -> None:
    heads = {
        language: len(re.findall(r"^## ", read_guide(language), re.MULTILINE))
        for language in LANGUAGES
    }
    assert len(set(heads.values())) == 1
    fields = [
        re.search(r"```json\n(.*?)```", read_guide(language), re.DOTALL) for language in LANGUAGES
    ]
    assert all(fields)
