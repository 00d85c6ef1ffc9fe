"""The texts of a conference's files (R-1, R-3, R-12): what Moot writes, it and others can read again."""

from datetime import UTC, datetime
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moothall.domain.facts import Language, Loss
from moothall.domain.ids import SeatId
from moothall.domain.roster import MAILBOX, Seat
from moothall.features.roundtable.facts import (
    MODERATOR,
    ConferenceOpened,
    RoundtableSettings,
    RoundtableSpeech,
)
from moothall.features.roundtable.files import (
    parse_agenda,
    parse_skip_reason,
    render_agenda,
    render_skip_text,
)
from moothall.features.roundtable.rules import RULES
from moothall.features.roundtable.sections import find_missing_sections, is_speechlike
from moothall.features.roundtable.state import Conference, SkippedTurn

ROLES = (SeatId("architect"), SeatId("审查"), SeatId("x_1-y"))


def opened(
    topic: str = "Which cache?", language: Language = "en", **settings: object
) -> ConferenceOpened:
    seats = tuple(Seat(id=role, platform=MAILBOX) for role in (*ROLES, MODERATOR))
    return ConferenceOpened(
        topic=topic,
        seats=seats,
        language=language,
        seed=1,
        settings=RoundtableSettings(conference="cache", **settings),  # type: ignore[arg-type]  # fields of Settings
    )


def conference(language: Language) -> Conference:
    return RULES.initial(opened(language=language))


def absent(reason: Loss, detail: str = "") -> SkippedTurn:
    return SkippedTurn(
        number=2,
        at=datetime(2026, 1, 1, tzinfo=UTC),
        round=1,
        seat=ROLES[1],
        reason=reason,
        detail=detail,
    )


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("reason", get_args(Loss))
def test_a_skipped_turn_says_its_reason_and_can_be_read_again(
    language: Language, reason: Loss
) -> None:
    """R-10: for every reason there is, in both languages."""
    text = render_skip_text(conference(language), absent(reason))
    assert text.startswith("[SKIPPED]" if language == "en" else "[跳过]")
    assert "审查" in text
    assert parse_skip_reason(text) == reason
    assert parse_skip_reason(f"\n{text}\n") == reason


def test_a_turn_that_was_skipped_by_hand_says_why() -> None:
    """R-10: in the words that were given, whatever stands in them."""
    text = render_skip_text(conference("zh"), absent("passed_over", "休假\n(timeout)"))
    assert "人工跳过: 休假 (timeout)" in text
    assert parse_skip_reason(text) == "passed_over"


@pytest.mark.parametrize(
    "text", ["[SKIPPED]", "[skipped] by hand", "[跳过] 本轮没来", "  [SKIPPED] (nonsense)"]
)
def test_a_turn_skipped_by_hand_has_a_reason_too(text: str) -> None:
    assert parse_skip_reason(text) == "error"


@pytest.mark.parametrize(
    "text", ["", "## Stance\n[SKIPPED] was said of me", "I was [SKIPPED]", "SKIPPED"]
)
def test_a_speech_that_speaks_of_skipping_is_a_speech(text: str) -> None:
    assert parse_skip_reason(text) is None


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("## 立场\n## 分析论证\n## 回应/提问", ()),
        ("## Stance\n## Analysis\n## Response and questions", ()),
        ("# STANCE\n#### analysis of it\n## Questions", ()),
        ("## Stance\nNo more.", ("Analysis", "Response and questions")),
        ("My stance, my analysis, my questions", ("Stance", "Analysis", "Response and questions")),
    ],
)
def test_the_sections_of_a_speech_are_told(text: str, missing: tuple[str, ...]) -> None:
    """R-3"""
    assert find_missing_sections(text) == missing
    assert is_speechlike(text) == (len(missing) < 3)


@given(st.text(min_size=1, max_size=300), st.sampled_from(["en", "zh"]), st.integers(1, 100))
def test_an_agenda_says_who_speaks_and_how_often(
    topic: str, language: Language, rounds: int
) -> None:
    """R-12: so that turn.json can be made again from agenda and speeches."""
    if any(word in topic for word in ("Rounds", "order", "轮次", "顺序", "max_rounds")):
        return
    found = parse_agenda(render_agenda(opened(f"Q: {topic}", language, max_rounds=rounds), ROLES))
    assert found.speakers == ROLES
    assert found.max_rounds == rounds
    assert found.title.startswith("Q:")


def test_a_background_does_not_change_the_course() -> None:
    """R-12: what a background says of other conferences is not this one's order."""
    background = "Last time we had:\n- Speaking order: x → y\n- Rounds: 9"
    found = parse_agenda(render_agenda(opened(agenda=background, max_rounds=2), ROLES))
    assert (found.speakers, found.max_rounds) == (ROLES, 2)


@given(st.text(max_size=200))
def test_what_is_kept_of_a_speech_is_what_stands_in_its_file(text: str) -> None:
    """R-3: word for word, but for the space around it; reading it again changes nothing."""
    once = RoundtableSpeech.from_text(text)
    assert RoundtableSpeech.from_text(f"{once.content}\n") == once
