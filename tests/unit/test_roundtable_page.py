"""What people get to see of a conference: page, minutes and terminal lines, at every moment of it."""

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from tests.support.exported_page import EVIL_HTML, SeenPage
from tests.support.play_roundtable import ConferenceRun, build_seat
from tests.support.shapes import assert_same_shape

from moothall.domain.budget import Usage
from moothall.domain.facts import BudgetExhausted, CloseCalled, Language, SessionCancelled
from moothall.features.roundtable.facts import RoundtableSettings, RoundtableSpeech
from moothall.features.roundtable.plugin import ROUNDTABLE
from moothall.features.roundtable.timeline import LONG_AGENDA, RoundtableTimeline
from moothall.reports.plain_text import render_decision_lines
from moothall_testkit.snapshots import check_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
USAGE = Usage(tokens_in=120, tokens_out=30, cost=450, calls=1)


def _says(language: Language) -> Callable[[str, str], str]:
    return lambda en, zh: en if language == "en" else zh


def _talked(language: Language) -> ConferenceRun:
    """Two rounds: a prompt of each kind, a word of the user's, a speaker that is skipped, declared consensus."""
    say = _says(language)
    held = ConferenceRun(
        build_seat("architect", platform="openai:gpt-5", stance=say("for Redis", "支持 Redis")),
        build_seat("security", instructions=say("Look for threats.", "寻找威胁。")),
        build_seat("reviewer"),
        topic=say("Which cache for the catalogue?", "商品目录用哪种缓存？"),
        language=language,
        settings=RoundtableSettings(
            max_rounds=2,
            conference=say("cache", "缓存"),
            agenda=say(
                "2 million products.\n\nDecide this month.", "两百万种商品。\n\n本月内决定。"
            ),
            prompt=say("Begin with today's figures.", "先说明现状。"),
        ),
    )
    stance, following = say("Stance", "立场"), say("For the next speaker", "给下一位")
    held.says(
        f"## {stance}\nRedis.\n## {following}\n{say('Which threats?', '有哪些威胁？')}", USAGE
    )
    held.speaks(
        RoundtableSpeech(
            content=say("Fine, if closed off.", "可以，但要隔离。"),
            prompt=say("Name the cost.", "请说明成本。"),
        ),
        USAGE,
    )
    held.give_input(say("We have 500 a month.", "每月预算 500。"))
    held.says(say("Measure first.", "先测量。"), USAGE)
    held.says(say("Agreed.\n[CONSENSUS]", "同意。\n[共识]"), USAGE)
    held.lose_seat("error", "HTTP 503 | busy", USAGE).lose_seat()
    return held


def _concluded(language: Language) -> ConferenceRun:
    say = _says(language)
    held = _talked(language).says(say("Agreed, too.\n[CONSENSUS]", "也同意。\n[共识]"), USAGE)
    return held.write_minutes(
        say(
            "## Summary\nRedis was weighed.\n## Consensus reached\n- Redis\n## Disagreements left open\nThe import job.\n"
            "## Action items\n- reviewer: measure",
            "## 讨论摘要\n讨论了 Redis。\n## 最终共识\n- Redis\n## 悬而未决的分歧\n导入任务。\n## 决议行动项\n- reviewer：测量",
        ),
        USAGE,
    )


def _cancelled(language: Language) -> ConferenceRun:
    return _talked(language).put(SessionCancelled(reason=_says(language)("Too dear.", "太贵。")))


def _page(timeline: RoundtableTimeline) -> str:
    return ROUNDTABLE.export(timeline, "html")


EXAMPLES: dict[str, Callable[[Language], ConferenceRun]] = {
    "thinking": _talked,
    "concluded": _concluded,
    "cancelled": _cancelled,
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_page_and_minutes_read_as_they_did(name: str) -> None:
    """R-9"""
    timeline, chinese = EXAMPLES[name]("en").timeline, EXAMPLES[name]("zh").timeline
    check_snapshot(SNAPSHOTS / f"page_roundtable_{name}_en.html", _page(timeline))
    check_snapshot(
        SNAPSHOTS / f"minutes_roundtable_{name}_en.md", ROUNDTABLE.export(timeline, "minutes")
    )
    assert_same_shape(ROUNDTABLE.report(timeline), ROUNDTABLE.report(chinese))


def test_chinese_minutes_read_as_they_did() -> None:
    """R-9: one conference has all the words of its form."""
    check_snapshot(
        SNAPSHOTS / "minutes_roundtable_concluded_zh.md",
        ROUNDTABLE.export(EXAMPLES["concluded"]("zh").timeline, "minutes"),
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_there_is_a_sound_page_at_every_moment(name: str) -> None:
    held = EXAMPLES[name]("en")
    for entries in range(1, len(held.entries) + 1):
        seen = SeenPage(_page(held.story_at(entries)))
        assert not seen.open
        targets = {value for name, value in seen.attributes if name == "id"}
        assert {value for name, value in seen.attributes if name == "href"} <= {
            f"#{target}" for target in targets
        }


def test_html_and_minutes_are_forms_of_a_conference() -> None:
    assert ROUNDTABLE.forms == ("minutes", "html")


def test_the_minutes_stand_as_written_with_author_end_and_what_was_left_open() -> None:
    """R-9: summary, consensus, disagreements, action items, word for word; two of them once more by themselves."""
    timeline = _concluded("en").timeline
    assert timeline.state.minutes is not None
    quoted = "\n".join(f"> {line}" for line in timeline.state.minutes.content.split("\n"))
    assert f"## Minutes\n\n{quoted}\n\n" in ROUNDTABLE.export(timeline, "minutes")
    told = _page(timeline)
    assert '<p class="line strong">2 of 3 agree, 1 point left open: Redis.</p>' in told
    assert "<dt>Written by</dt><dd>moderator</dd><dt>Ended by</dt><dd>the last round</dd>" in told
    assert (
        '<h2>Left open</h2>\n<article class="card"><div class="words"><p>The import job.</p></div></article>'
        in told
    )
    minutes = re.search(
        r'<h2>Minutes</h2>\n<article class="card"><div class="words">(.*?)</div>', told, re.DOTALL
    )
    assert minutes is not None
    text = re.sub(r"[#\s-]", "", timeline.state.minutes.content)
    assert re.sub(r"<.*?>|\s", "", minutes[1]) == text


def test_minutes_without_a_section_for_the_consensus_are_shown_once() -> None:
    """R-9"""
    held = (
        ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=1))
        .says("Yes.")
        .write_minutes("We do it.")
    )
    assert _page(held.timeline).count("We do it.") == 1


@pytest.mark.parametrize(
    "agreed",
    ["None.", "- Nothing", "No consensus was reached.", "无", "尚未达成共识。", "沒有達成一致"],
)
def test_minutes_by_which_nothing_was_agreed_decide_nothing(agreed: str) -> None:
    """R-9: the minutes are shown whole all the same."""
    run = ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=1)).says("Yes.")
    held = run.write_minutes(
        f"## Summary\nMuch talk.\n## Consensus\n{agreed}\n## Disagreements\nAll of it."
    )
    assert ROUNDTABLE.decision(held.timeline).decision is None
    assert "Not decided: nothing was agreed." in _page(held.timeline)
    assert "Much talk." in _page(held.timeline)


def test_minutes_of_speeches_that_nobody_gave_decide_nothing() -> None:
    """R-9, R-10"""
    run = (
        ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=1))
        .lose_seat()
        .lose_seat()
    )
    held = run.write_minutes("## Summary\nThey met.\n## Consensus\nShip it.\nChoice: ship")
    decision = ROUNDTABLE.decision(held.timeline)
    assert (decision.decision, decision.choice) == (None, "")
    assert "Not decided: nobody spoke." in _page(held.timeline)


def test_the_terminal_shows_the_consensus_what_was_left_open_and_who_was_skipped() -> None:
    """R-9, R-10: in short."""
    assert [
        line.text for line in render_decision_lines(ROUNDTABLE.report(_concluded("en").timeline))
    ] == [
        "2 of 3 agree, 1 point left open: Redis.",
        "For: architect, reviewer. Not with them: security.",
        "What you said was not answered: “We have 500 a month.”",
        "To do, reviewer: measure.",
        "Left open: The import job.",
    ]


def test_minutes_without_open_disagreements_say_that_none_is_named() -> None:
    """R-9"""
    held = (
        ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=1))
        .says("Yes.")
        .write_minutes("## Summary\nYes.")
    )
    assert "The minutes name no disagreement that was left open." in _page(held.timeline)


def test_speeches_stand_round_by_round_with_their_numbers() -> None:
    """R-7: numbers as the speakers and the moderator know them; a word of the user's has none."""
    text = _page(_concluded("en").timeline)
    rounds = re.findall(r"<h3>(.*?)</h3>(.*?)(?=<h[23]>)", text, re.DOTALL)
    head = r'<span class="soft">#\d+</span></span><span><b>(\w+)</b></span>(?:<span><span class="soft">speech (\d+)</span>)?'
    heads = [
        (name, [(number, who) for who, number in re.findall(head, inner)]) for name, inner in rounds
    ]
    assert heads == [
        ("Round 1", [("1", "architect"), ("2", "security"), ("", "USER"), ("3", "reviewer")]),
        ("Round 2", [("4", "architect"), ("6", "reviewer")]),
    ]


def test_what_a_speaker_leaves_for_the_next_is_shown_once() -> None:
    """R-8: in the speech itself, or beside it where it was given apart."""
    told = _page(_concluded("en").timeline)
    assert told.count("Which threats?") == 1
    assert told.count("<dt>For the next speaker</dt><dd>Name the cost.</dd>") == 1


def test_who_declares_consensus_is_told_with_the_speech() -> None:
    """R-7: of all speakers, in their last speeches."""
    told = _page(_concluded("en").timeline)
    declared = 'architect <a href="#entry-6">#6</a>, reviewer <a href="#entry-7">#7</a>'
    assert f"<dt>Consensus declared</dt><dd>2/3: {declared}</dd>" in told
    assert told.count("declares consensus") == 2
    assert re.search(r'id="entry-6".*?<b>architect</b>.*?speech 4.*?declares consensus', told)
    taken_back = (
        ConferenceRun(build_seat("ada"), build_seat("bob"))
        .says("Yes.\n[CONSENSUS]")
        .says("No.")
        .says("Then no.")
    )
    assert "<dt>Consensus declared</dt><dd>0/2</dd>" in _page(taken_back.timeline)


def test_a_skipped_speaker_is_told_with_every_failure() -> None:
    """R-10"""
    told = _page(_concluded("en").timeline)
    assert "<li>security was skipped in round 2: no answer in time</li>" in told
    assert re.search(
        r'<h3>Round 2</h3>.*<p class="line dim">Skipped: security \(no answer in time\)</p>\n<details',
        told,
        re.DOTALL,
    )
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", told)]
    losses = [row[1:] for row in cells if row[2:3] == ["speech"]]
    assert losses == [
        ["security", "speech", "an error", "HTTP 503 | busy"],
        ["security", "speech", "no answer in time", "–"],
    ]


def test_a_round_in_which_nobody_could_speak_is_not_left_out() -> None:
    """R-10"""
    held = (
        ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=2))
        .lose_seat()
        .lose_seat()
        .says("Yes.")
    )
    told = _page(held.timeline)
    assert re.findall(r"<h3>(.*?)</h3>", told) == ["Round 1", "Round 2"]
    assert "never spoke" not in told
    silent = (
        ConferenceRun(
            build_seat("ada"), build_seat("bob"), settings=RoundtableSettings(max_rounds=1)
        )
        .lose_seat()
        .lose_seat()
        .says("Yes.")
    )
    assert "<li>ada never spoke</li>" in _page(silent.timeline)


def test_the_pen_that_was_handed_on_and_minutes_that_nobody_wrote() -> None:
    """R-9, R-10"""
    held = (
        ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=1))
        .says("Yes.")
        .lose_seat()
        .lose_seat()
    )
    assert "<dt>Awaited</dt><dd>ada</dd>" in _page(held.timeline)
    first = ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=1)).says("Yes.")
    assert _page(first.timeline).count("<dt>Awaited</dt>") == 1
    assert "<li>moderator was asked for the minutes and failed twice</li>" in _page(held.timeline)
    written = (
        ConferenceRun(build_seat("ada"), settings=RoundtableSettings(max_rounds=1))
        .says("Yes.")
        .lose_seat()
        .lose_seat()
        .write_minutes("Yes.")
    )
    assert "<dt>Written by</dt><dd>ada</dd>" in _page(written.timeline)
    told = _page(held.lose_seat().lose_seat().timeline)
    assert "Not decided: nobody could write the minutes; what was said stands below." in told
    assert "Left open" not in told
    assert "<dt>Ended by</dt><dd>the last round</dd>" in told


@pytest.mark.parametrize(
    ("held", "words"),
    [
        (ConferenceRun(build_seat("ada")), "Nothing has been said."),
        (
            ConferenceRun(build_seat("ada")),
            "<dt>Now</dt><dd>round 1</dd><dt>Awaited</dt><dd>ada</dd>",
        ),
        (ConferenceRun(build_seat("ada")).give_input("A word."), "A word."),
        (ConferenceRun(build_seat("ada")).put(SessionCancelled()), "Cancelled before a decision."),
        (
            ConferenceRun(build_seat("ada")).says("Yes.").put(SessionCancelled(reason="Too dear.")),
            '<p class="line strong">Cancelled before a decision: “Too dear.”</p>',
        ),
        (
            ConferenceRun(build_seat("ada")).says("Yes.").put(CloseCalled()).write_minutes("So."),
            "its owner called for the end",
        ),
        (
            ConferenceRun(build_seat("ada")).put(
                BudgetExhausted(budget="tokens", spent=9, limit=9)
            ),
            "the token budget",
        ),
        (
            ConferenceRun(build_seat("ada")).says("Yes.\n[CONSENSUS]"),
            "the speeches are over, the minutes are being written",
        ),
        (
            ConferenceRun(build_seat("ada")).says("Yes.\n[CONSENSUS]"),
            "everyone having declared consensus",
        ),
        (ConferenceRun(build_seat("ada")).says("Yes.\n[CONSENSUS]").give_input("Late."), "Late."),
    ],
)
def test_whatever_has_happened_is_told(held: ConferenceRun, words: str) -> None:
    assert words in _page(held.timeline)


def test_a_long_background_is_folded_up() -> None:
    assert "<summary>Background" not in _page(
        ConferenceRun(
            build_seat("ada"), settings=RoundtableSettings(agenda="x" * LONG_AGENDA)
        ).timeline
    )
    assert "<summary>Background</summary>" in _page(
        ConferenceRun(
            build_seat("ada"), settings=RoundtableSettings(agenda="x" * (LONG_AGENDA + 1))
        ).timeline
    )


def _everywhere(words: str) -> ConferenceRun:
    """A conference in which everyone says just this, wherever they can."""
    held = ConferenceRun(
        build_seat("ada", stance=words, platform=words, instructions=words),
        build_seat("bob"),
        topic=words,
        settings=RoundtableSettings(
            max_rounds=1, conference=words[:80], agenda=words, prompt=words
        ),
    )
    held.give_input(words).speaks(RoundtableSpeech(content="Yes.", prompt=words)).lose_seat(
        "error", words
    ).speaks(RoundtableSpeech(content=words))
    return held.write_minutes(f"## Summary\n{words}\n## Disagreements left open\n{words}")


@pytest.mark.parametrize("evil", EVIL_HTML)
def test_everything_said_is_escaped_in_the_page(evil: str) -> None:
    """The same conference with harmless words has the very same tags and attributes."""
    harmless = "x" * len(evil)
    seen, other = (
        SeenPage(_page(_everywhere(evil).timeline)),
        SeenPage(_page(_everywhere(harmless).timeline)),
    )
    assert seen.tags == other.tags
    assert seen.attributes == other.attributes
    # Title, topic; the headline; what was left open, minutes twice; agenda, name, opening; input twice, prompt, speech; detail; stance,
    # instructions, and the platform, which is the moderator's too, in two tables: nothing is left out.
    assert other.text.count(harmless) == 21
    # In what is rendered as Markdown, an entity stands for its character.
    assert (
        seen.text.count(evil) + (seen.text.count(unescape(evil)) if unescape(evil) != evil else 0)
        == 21
    )


def test_markdown_of_a_speaker_loads_nothing_and_runs_nothing() -> None:
    """R-9: an image is not shown, a script is no link, a heading is none of the page's own."""
    evil = "[x](javascript:alert(1)) ![i](http://evil.example/i.png)\n\n# Decision\n\n- item"
    seen, other = (
        SeenPage(_page(_everywhere(evil).timeline)),
        SeenPage(_page(_everywhere("x" * len(evil)).timeline)),
    )
    assert "img" not in seen.tags
    assert not [
        value
        for name, value in seen.attributes
        if name == "href" and value.startswith("javascript")
    ]
    assert not [name for name, _ in seen.attributes if name in {"src", "onerror"}]
    assert [tag for tag in seen.tags if tag in {"h1", "h2", "h3"}] == [
        tag for tag in other.tags if tag in {"h1", "h2", "h3"}
    ]


def test_a_cancellations_reason_is_escaped() -> None:
    told = _page(
        ConferenceRun(build_seat("ada")).put(SessionCancelled(reason="<b>money</b>")).timeline
    )
    assert "Cancelled before a decision" in told
    assert "&lt;b&gt;money&lt;/b&gt;" in told


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_loads_nothing_from_elsewhere(language: Language) -> None:
    html = _page(_concluded(language).timeline)
    seen = SeenPage(html)
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "base"} & set(
        seen.tags
    )
    assert all(value.startswith("#") for name, value in seen.attributes if name == "href")
    assert not re.search(r"url\(|@import|https?:", html)
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in seen.attributes
    assert ("lang", language) in seen.attributes


def test_a_chinese_page_has_no_english_in_between() -> None:
    html = _page(_concluded("zh").timeline)
    text = SeenPage(re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL)).text
    known = r"think_20240520_001|architect|security|reviewer|moderator|script|openai:gpt-5|Redis|USER|HTTP 503 \| busy"
    assert re.findall(r"[A-Za-z]{2,}", re.sub(known, "", text)) == []
