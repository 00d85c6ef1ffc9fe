"""What the moderator is sent (R-9), how minutes come back (R-9), and what one ask costs (M-2, M-4)."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.play_roundtable import ConferenceRun, build_seat

from moothall.domain.effects import Brief
from moothall.domain.facts import Language
from moothall.domain.safe_text import quote_lines
from moothall.features.roundtable.facts import (
    ConferenceClosed,
    MinutesReturned,
    RoundtableSettings,
)
from moothall.features.roundtable.prompts import MAX_RECORD_LENGTH
from moothall.features.roundtable.rules import RULES
from moothall.features.roundtable.sections import (
    SpeechText,
    build_digest,
    extract_minutes_section,
    find_missing_minutes,
    fit_speeches,
)
from moothall.features.roundtable.timeline import build_roundtable_report
from moothall.reports.plain_text import render_markdown
from moothall_testkit.prompt_size import count_tokens

LANGUAGES = ("en", "zh")
WHOLE = "## Summary\nShort.\n## Consensus reached\nRedis.\n## Disagreements left open\nNone.\n## Action items\nada: do it.\n"
SPEECH = (
    "## Stance\nWe take Redis, number {number}.\n## Analysis\nBecause reads are {number}0 times writes. {filler}\n"
    "## Questions\nWhy?\n"
)


def measure(brief: Brief) -> int:
    return len(brief.system) + len(brief.shared) + len(brief.own)


def hold(speakers: int, rounds: int, filler: int, **more: str) -> ConferenceRun:
    seats = [
        build_seat(f"role{number}", instructions=more.get("instructions", ""))
        for number in range(speakers)
    ]
    limits = RoundtableSettings(
        max_rounds=rounds, conference="cache", agenda=more.get("agenda", "")
    )
    run = ConferenceRun(*seats, settings=limits, topic=more.get("topic", "Which cache?"))
    number = 0
    while run.state.status == "open":
        number += 1
        run.says(SPEECH.format(number=number, filler="x" * filler))
    return run


def test_the_largest_conference_fits_into_what_the_moderator_is_sent() -> None:
    """R-9: 63 speakers, 100 rounds: 60,000 characters in all, and it says what was shortened and where the file is."""
    run = hold(63, 100, 200)
    brief = RULES.brief(run.state, run.ask)
    assert measure(brief) <= MAX_RECORD_LENGTH
    assert measure(brief) > MAX_RECORD_LENGTH * 0.8
    # Each role's last speech is there, the newest whole.
    assert all(
        f"[{number} role{(number - 1) % 63}, " in brief.shared for number in range(6238, 6301)
    )
    assert "| We take Redis, number 6300." in brief.shared
    assert "digest; whole in .roundtable/cache/" in brief.shared
    assert (
        "speeches before these do not fit and are not shown; they are in .roundtable/cache/"
        in brief.shared
    )


@pytest.mark.parametrize("filler", [0, 3_000, 49_000])
def test_few_long_speeches_fit_as_well(filler: int) -> None:
    """R-9: a short conference is read whole; of long speeches each role's last ones are shown as far as they fit."""
    run = hold(3, 2, filler)
    brief = RULES.brief(run.state, run.ask)
    assert measure(brief) <= MAX_RECORD_LENGTH
    assert ("shortened" in brief.shared or "digest" in brief.shared) == (filler == 49_000)
    assert all(f"We take Redis, number {number}." in brief.shared for number in range(1, 7))


def test_a_long_agenda_and_long_instructions_leave_it_bounded() -> None:
    """R-9: everything at its greatest length."""
    run = hold(20, 2, 5_000, agenda="a\n" * 25_000, topic="t\n" * 9_000, instructions="i " * 9_900)
    for _ in range(4):
        run.give_input("n\n" * 9_000)
    run.put(
        RULES.forms["minutes"].reply(
            ask=run.ask.id, seat=run.ask.seat, said=run_minutes("m\n" * 20_000)
        )
    )
    assert measure(RULES.brief(run.state, run.ask)) <= MAX_RECORD_LENGTH


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.text(alphabet="x1.\n因", max_size=3_000)), max_size=40
    ),
    st.integers(0, 30_000),
    st.sampled_from(LANGUAGES),
)
@example([(seat, "x" * 10) for seat in "abcd" * 10], 1_500, "en")
def test_speeches_fit_into_any_room(
    said: list[tuple[str, str]], room: int, language: Language
) -> None:
    """R-9: never more than the room; the newest first; what is not shown is counted."""
    speeches = [SpeechText(number, seat, text) for number, (seat, text) in enumerate(said, 1)]
    fitted = fit_speeches(speeches, room, 50, language, quote_lines)
    assert sum(len(each.text) + 50 for each in fitted.shown) <= room
    assert len(fitted.shown) + fitted.left_out == len(speeches)
    numbers = [each.number for each in fitted.shown]
    assert numbers == sorted(set(numbers))
    whole = {each.number: each.text for each in fitted.shown if each.how == "whole"}
    assert all(text == quote_lines(speeches[number - 1].text) for number, text in whole.items())
    # A third of the room is for digests of the older ones.
    assert (
        len(whole) == len(speeches)
        or sum(len(text) + 50 for text in whole.values()) <= room * 2 // 3
    )


def test_a_digest_that_fits_exactly_is_shown() -> None:
    """R-9: no digest is left out for want of room that is there."""
    speeches = [
        SpeechText(1, "ada", SPEECH.format(number=1, filler="x" * 400)),
        SpeechText(2, "ada", "Yes." * 25),
    ]
    digest, last = build_digest(speeches[0].text, "en"), speeches[1].text
    room = len(digest) + 10 + len(last) + 10
    shown = fit_speeches(speeches, room, 10, "en").shown
    assert [(each.how, each.text) for each in shown] == [("digest", digest), ("whole", last)]
    assert [each.text for each in fit_speeches(speeches, room - 1, 10, "en").shown] == [last]


def test_a_digest_keeps_stand_figures_and_reason() -> None:
    """R-9"""
    text = "## Stance\nWe take Redis.\n## Analysis\nIt is known. It costs 40 dollars a month. We take it because reads dominate.\n"
    assert build_digest(text, "en") == (
        "Stand: We take Redis. Figures: It costs 40 dollars a month. Reason: We take it because reads dominate."
    )
    chinese = "## 立场\n用 Redis。\n## 分析论证\n每月 40 元。因为读多写少。\n"
    assert build_digest(chinese, "zh") == "立场：用 Redis。 数字：每月 40 元。 理由：因为读多写少。"


# Minutes that come back


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        (WHOLE, ()),
        ("# 会议纪要\n## 讨论摘要\nx\n## 最终共识\nx\n## 悬而未决的分歧\nx\n## 决议行动项\nx", ()),
        ("**Summary**\nx\n**Points agreed**\nx\n**Open questions**\nx\n**Next steps:**\nx", ()),
        ("Summary:\nx\nAgreements:\nx\nDissent:\nx\nTo-do:\nx", ()),
        ("### 1. Overview\nx\n### 2. Consensus and disagreements\nx\n### 3. Action items", ()),
        ("一、总结：\nx\n二、共识：\nx\n三、争议：\nx\n四、待办：\nx", ()),
        ("## Summary\nx\n## Disagreements left open\nx", ("consensus", "actions")),
        ("## 不一致之处\nx", ("summary", "consensus", "actions")),
        (
            "We talked, and all of us agreed on the summary.",
            ("summary", "consensus", "disagreements", "actions"),
        ),
    ],
)
def test_the_sections_of_minutes_are_recognised_kindly(text: str, missing: tuple[str, ...]) -> None:
    """R-9, M-2: in either language, under headings of any kind."""
    assert find_missing_minutes(text) == missing


def test_a_section_goes_on_past_a_bold_line() -> None:
    text = "## Consensus reached\nRedis.\n**Why**\nIt is fast.\n## Action items\nada: do it."
    assert extract_minutes_section(text, "consensus") == "Redis.\n\nWhy:\nIt is fast."
    for bold in ("**Consensus**", "**Consensus:**", "Consensus:"):
        assert (
            extract_minutes_section(f"{bold}\nRedis.\n**Action items**\nNone.", "consensus")
            == "Redis."
        )


@pytest.mark.parametrize("language", LANGUAGES)
def test_minutes_without_their_sections_come_back_once(language: Language) -> None:
    """R-9: the author is asked again with what is missing; the second ones are taken, with a warning on the record."""
    run = ConferenceRun(
        build_seat("ada"), language=language, settings=RoundtableSettings(max_rounds=1)
    ).says("Yes.")
    first = run.ask
    run.put(
        RULES.forms["minutes"].reply(
            ask=first.id, seat=first.seat, said=run_minutes("## Summary\nShort.")
        )
    )
    returned = MinutesReturned(seat=first.seat, missing=("consensus", "disagreements", "actions"))
    assert returned in [entry.fact for entry in run.entries]
    assert (run.ask.seat, run.ask.kind, run.ask.id != first.id) == (first.seat, "minutes", True)
    own = RULES.brief(run.state, run.ask).own
    assert "| ## Summary\n| Short." in own
    assert ("## Consensus reached" if language == "en" else "## 最终共识") in own.split("\n| ")[0]
    run.put(
        RULES.forms["minutes"].reply(
            ask=run.ask.id, seat=first.seat, said=run_minutes("## Summary\nLonger.")
        )
    )
    closed = run.entries[-1].fact
    assert isinstance(closed, ConferenceClosed)
    assert (closed.author, closed.missing) == (
        first.seat,
        ("consensus", "disagreements", "actions"),
    )
    shown = render_markdown(build_roundtable_report(run.timeline))
    assert ("The minutes lack these sections" if language == "en" else "纪要缺少以下各节") in shown


def run_minutes(text: str) -> object:
    return RULES.forms["minutes"].shape.from_text(text)  # type: ignore[attr-defined]  # the shape of minutes


def test_complete_minutes_the_second_time_leave_no_warning() -> None:
    """R-9"""
    run = ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=1)).says("Yes.")
    for text in ("Nothing.", WHOLE):
        run.put(
            RULES.forms["minutes"].reply(ask=run.ask.id, seat=run.ask.seat, said=run_minutes(text))
        )
    assert run.entries[-1].fact == ConferenceClosed(reason="rounds", author=run.state.author)


def test_minutes_that_came_back_count_if_nothing_better_comes() -> None:
    """R-9, M-2: words are not thrown away."""
    run = ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=1)).says("Yes.")
    run.put(
        RULES.forms["minutes"].reply(
            ask=run.ask.id, seat=run.ask.seat, said=run_minutes("We agreed.")
        )
    )
    run.lose_seat().lose_seat()
    assert run.state.status == "closed"
    assert run.state.minutes is not None
    assert run.state.minutes.content == "We agreed."


# What one ask sends beyond the matter


@pytest.mark.parametrize("kind", ["speech", "minutes", "minutes again"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_an_ask_sends_little_beyond_the_matter(language: Language, kind: str) -> None:
    """M-4: at most 350 tokens of instructions, for each kind of ask."""
    run = ConferenceRun(
        build_seat("ada"),
        build_seat("bob"),
        language=language,
        settings=RoundtableSettings(max_rounds=2),
    )
    run.says("Yes.\n[CONSENSUS]").give_input("Go on.")
    if kind != "speech":
        run.says("A.").says("B.").says("C.")
    if kind == "minutes again":
        run.put(
            RULES.forms["minutes"].reply(
                ask=run.ask.id, seat=run.ask.seat, said=run_minutes("Nothing.")
            )
        )
    brief = RULES.brief(run.state, run.ask)
    words = "\n".join(part for part in (brief.system, brief.shared, brief.own))
    beyond = "\n".join(line for line in words.split("\n") if not line.startswith(("> ", "| ")))
    assert 60 < count_tokens(beyond) <= 350


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_speech_without_sections_is_taken_and_noted(language: Language) -> None:
    """M-2, R-3"""
    run = ConferenceRun(build_seat("ada"), language=language).says("Redis, plainly.")
    assert [speech.said.content for speech in run.state.speeches] == ["Redis, plainly."]
    shown = render_markdown(build_roundtable_report(run.timeline))
    assert ("without sections" if language == "en" else "未分节") in shown


def test_an_input_reaches_every_role_until_the_minutes_answer_it() -> None:
    """R-13, Q-8: roles that Moot drives get it too."""
    run = ConferenceRun(
        build_seat("ada"), build_seat("bob"), settings=RoundtableSettings(max_rounds=2)
    )
    run.says("A.").give_input("Half the budget.")
    told = []
    while run.state.status == "open":
        told.append("Half the budget." in RULES.brief(run.state, run.ask).own)
        run.says("B.")
    assert told == [True, True, True]
    assert "Half the budget." in RULES.brief(run.state, run.ask).own


def test_what_roles_are_for_stands_in_the_prompts_of_all() -> None:
    """R-16"""
    run = ConferenceRun(
        build_seat("ada", instructions="Thinks like an attacker"), build_seat("bob")
    )
    assert "Thinks like an attacker" in RULES.brief(run.state, run.ask).own
    run.says("A.")
    brief = RULES.brief(run.state, run.ask)
    assert "| ada: Thinks like an attacker" in brief.shared
    assert "attacker" not in brief.own
