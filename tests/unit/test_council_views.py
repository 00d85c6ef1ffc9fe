"""What people get to see of a deliberation: the minutes and the page, at every moment of it."""

import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
from tests.support.exported_page import EVIL_HTML, SeenPage
from tests.support.play_council import (
    PASS,
    SESSION,
    START,
    DeliberationRun,
    advisory,
    build_mailbox_seat,
    build_seat,
    challenge,
    consensus,
    debate,
    propose,
    support,
    synthesize,
    vote,
)
from tests.support.shapes import assert_same_shape

from moothall.domain.budget import Usage
from moothall.domain.causes import Cause
from moothall.domain.facts import (
    BudgetExhausted,
    CloseCalled,
    Entry,
    Language,
    SeatLost,
    SessionCancelled,
)
from moothall.domain.ids import SeatId, ask_id
from moothall.domain.topic import Topic
from moothall.locale.catalogues import COUNCIL_FIELDS
from moothall.protocols.council.facts import (
    AdviceResponse,
    ConsensusSettings,
    Contributed,
    Contribution,
    CouncilSettings,
)
from moothall.protocols.council.plugin import ADVISORY, DEBATE
from moothall.protocols.council.timeline import CouncilTimeline
from moothall.reports.plain_text import format_cell, render_decision_lines
from moothall_testkit.snapshots import check_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
USAGE = Usage(tokens_in=120, tokens_out=30, cost=450, calls=1)


SHOWN_OTHERWISE = {
    # It becomes the choice.
    "own_choice",
    "type",
    "text",
    "confidence",
    "refers_to",
    "answers",
    "accepts",
    "position",
    "moved_by",
    "taken",
    "ballot",
    "due",
}
"""The fields of a contribution that reports and prompts show as marks, with the condition, or in tables."""


def render_minutes(timeline: CouncilTimeline) -> str:
    """All three protocols have one report."""
    return DEBATE.export(timeline, "minutes")


def render_page(timeline: CouncilTimeline) -> str:
    return DEBATE.export(timeline, "html")


def render_terminal(timeline: CouncilTimeline) -> str:
    return "\n".join(line.text for line in render_decision_lines(DEBATE.report(timeline)))


def _without_tags(text: str) -> str:
    return re.sub(r"<[^>]*>", "", text)


def _says(language: Language) -> Callable[[str, str], str]:
    return lambda en, zh: en if language == "en" else zh


def _rich(language: Language) -> DeliberationRun:
    """An open challenge, an accepted and an answered one, votes that are replaced, two losses, the blind majority overturned."""
    say = _says(language)
    yes, no = say("yes", "是"), say("no", "否")
    held = debate(
        build_seat("emerson", stance=say("inventor", "发明者"), platform="openai:gpt-5", weight=2),
        build_mailbox_seat("minski"),
        build_seat("reviewer", stance=say("critic", "批评者"), platform="openai:gpt-5"),
        build_seat("zoe"),
        topic=say("Should we adopt HSM for long contexts?", "长上下文要不要采用 HSM？"),
        language=language,
        subject=Topic(category="architecture", stakes="high", options=(yes, no)),
    )
    held.says(
        "emerson",
        propose(
            yes,
            say("Adopt it.\nIt is faster.", "采用。\n它更快。"),
            evidence=("arXiv 2401.1 | table 3",),
        ),
        USAGE,
    )
    held.says("minski", propose(no, say("Keep attention.", "保留注意力。"), 0.6))
    held.says("reviewer", propose(no, say("Too early.", "为时过早。"), 0.7), USAGE)
    held.put(
        SeatLost(
            ask=held.ask("zoe").id,
            seat=SeatId("zoe"),
            reason="error",
            cause=Cause(words="HTTP 503 | busy"),
            usage=USAGE,
        )
    )
    held.says("minski", challenge(2, say("It forgets order.", "它会忘记顺序。")))
    held.says(
        "reviewer",
        challenge(
            2, say("No production benchmarks.", "没有生产环境的基准。"), evidence=("MLPerf",)
        ),
        USAGE,
    )
    held.give_input(say("We have a month.", "我们有一个月。"))
    held.says("zoe", challenge(4, say("Late is dear.", "晚了代价大。")), USAGE)
    held.says("emerson", support(2, say("The data agree.", "数据支持。"), answers=(8,)), USAGE)
    held.says("minski", vote("oppose", 0.9, text=say("Not the first draft.", "不要初稿。")))
    both = say(
        "Adopt it, with attention as a fallback,\nafter a pilot.",
        "采用，以注意力为后备，\n先做试点。",
    )
    held.says("emerson", synthesize(yes, both, 0.82, accepts=(6,)), USAGE)
    held.say(reviewer=PASS, zoe=PASS)
    held.says("minski", vote("oppose", 0.6, text=say("Still not.", "还是不行。")))
    held.says("emerson", vote("support", 0.85), USAGE)
    held.says(
        "minski",
        vote(
            "conditional_support",
            0.7,
            condition=say("A fallback stays.", "保留后备。"),
            text=say("Well.", "好吧。"),
        ),
    )
    held.says("reviewer", vote("oppose", 0.6, text=say("Pilot first.", "先试点。")), USAGE)
    return held.lose_seat("zoe")


def _advised(language: Language) -> DeliberationRun:
    """An owner that takes one piece of advice, turns another down, and says why."""
    say = _says(language)
    held = advisory(
        build_seat("emerson"),
        build_seat("minski"),
        build_seat("reviewer"),
        topic=say("Which cache?", "用哪种缓存？"),
        language=language,
        settings=None,
        subject=Topic(stakes="low"),
    )
    held.say(
        emerson=propose("redis", say("Redis.", "用 Redis。")),
        minski=propose("files", say("Files.", "用文件。"), 0.4),
        reviewer=None,
    )
    held.says("minski", challenge(2, say("One more server.", "多一台服务器。")), USAGE)
    held.says("reviewer", support(2, say("With a limit.", "要有上限。")), USAGE)
    taken = (
        AdviceResponse(entry=4, how="declined", why=say("We run it anyway.", "本来就在用。")),
        AdviceResponse(entry=5, how="partly", why=say("A soft one.", "软上限。")),
    )
    return held.says(
        "emerson",
        synthesize("redis", say("Redis, 2 GB.", "Redis，2 GB。"), 0.9, taken=taken),
        USAGE,
    )


def _split(language: Language) -> DeliberationRun:
    """Two rounds, no consensus."""
    say = _says(language)
    settings = ConsensusSettings(rounds=2)
    held = consensus(
        build_seat("ada"),
        build_seat("bob"),
        topic=say("Tabs or spaces?", "制表符还是空格？"),
        language=language,
        settings=settings,
    )
    held.say(
        ada=propose("tabs", say("Tabs.", "制表符。"), 0.9),
        bob=propose("spaces", say("Spaces.", "空格。"), 0.9),
    )
    held.say(ada=challenge(3, say("They waste bytes.", "浪费字节。")), bob=PASS)
    held.says("ada", synthesize("tabs", say("Tabs everywhere.", "全用制表符。")))
    held.say(ada=vote("support", 0.9), bob=vote("oppose", 0.8, text=say("Never.", "绝不。")))
    held.says("bob", synthesize("spaces", say("Spaces everywhere.", "全用空格。"), answers=()))
    return held.say(ada=vote("oppose", 0.9), bob=vote("support", 0.9))


EXAMPLES: dict[str, Callable[[Language], DeliberationRun]] = {
    "debate": _rich,
    "advisory": _advised,
    "no_consensus": _split,
}


def _upto(held: DeliberationRun, entries: int) -> CouncilTimeline:
    """The story as it was after so many entries."""
    timeline = CouncilTimeline(SESSION, held.rules)
    for entry in held.entries[:entries]:
        timeline.add(entry)
    return timeline


def test_every_field_of_a_contribution_is_shown() -> None:
    assert {field.name for field in fields(Contribution)} == SHOWN_OTHERWISE | COUNCIL_FIELDS[
        "en"
    ].labels.keys()


@pytest.mark.parametrize("name", EXAMPLES)
def test_minutes_and_page_read_as_they_did(name: str) -> None:
    """D-8, D-11, D-12, D-13, D-19, D-20, D-21"""
    timeline = EXAMPLES[name]("en").timeline
    check_snapshot(SNAPSHOTS / f"minutes_{name}_en.md", render_minutes(timeline))
    check_snapshot(SNAPSHOTS / f"page_{name}_en.html", render_page(timeline))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_chinese_report_has_the_blocks_of_the_english_one(name: str) -> None:
    """D-8"""
    plugin = {"advisory": ADVISORY}.get(name, DEBATE)
    english, chinese = EXAMPLES[name]("en").timeline, EXAMPLES[name]("zh").timeline
    assert_same_shape(plugin.report(english), plugin.report(chinese))


def test_chinese_minutes_read_as_they_did() -> None:
    """D-8: one session has all the words of its form."""
    check_snapshot(
        SNAPSHOTS / "minutes_debate_zh.md", render_minutes(EXAMPLES["debate"]("zh").timeline)
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_there_are_minutes_and_a_sound_page_at_every_moment(name: str) -> None:
    """D-13, D-18"""
    held = EXAMPLES[name]("en")
    for entries in range(1, len(held.entries) + 1):
        timeline = _upto(held, entries)
        assert render_minutes(timeline).startswith(
            f"# Minutes: {timeline.session_state.opened.topic}\n\n## Decision\n"
        )
        seen = SeenPage(render_page(timeline))
        assert not seen.open
        targets = {value for name, value in seen.attributes if name == "id"}
        assert {value for name, value in seen.attributes if name == "href"} <= {
            f"#{target}" for target in targets
        }


@pytest.mark.parametrize("render", [render_minutes, render_page])
def test_what_stands_first_is_what_a_reader_must_know(
    render: Callable[[CouncilTimeline], str],
) -> None:
    """D-19, D-21, T-4: what was decided and the caution come before the text; all reservations stand with the figures."""
    told = _without_tags(render(_rich("en").timeline))
    places = [
        told.index(words)
        for words in (
            "Decided by 2 of 4, reviewer against",
            "What you said was not answered",
            "It forgets order.",
            "Most began with another answer, and nobody says what changed their mind.",
        )
    ]
    assert places == sorted(places)


@pytest.mark.parametrize("render", [render_minutes, render_page])
def test_a_close_without_a_decision_names_its_open_challenges_first(
    render: Callable[[CouncilTimeline], str],
) -> None:
    """D-21"""
    held = consensus(build_seat("ada"), build_seat("bob"), settings=ConsensusSettings(rounds=1))
    held.say(ada=propose("a"), bob=propose("b")).say(ada=PASS, bob=challenge(2)).pass_until("vote")
    told = _without_tags(render(held.say(ada=vote(), bob=vote("oppose")).timeline))
    places = [
        told.index(words)
        for words in (
            "Not decided: 1 of 2 is for “",
            "This motion did not carry",
        )
    ]
    assert places == sorted(places)


def test_a_motion_that_did_not_carry_is_shown_with_its_votes() -> None:
    """D-9, D-12"""
    told = render_minutes(_split("en").timeline)
    assert "This motion did not carry (#8, by bob)\n\n> Spaces everywhere.\n" in told
    assert "| support | bob | 0.50 |\n| oppose | ada | 0.50 |\n" in told
    assert "- **ada** (opposes, #9): gives no reason\n" in told
    assert "- **ada** (challenged, #4, open): They waste bytes.\n" in told


def test_the_sides_fill_the_bar_by_weight() -> None:
    """D-12"""
    html = render_page(_rich("en").timeline)
    assert re.findall(r'<i class="(\w+)" style="flex:([\d.]+)">', html) == [
        ("good", "52.17"),
        ("warn", "26.09"),
        ("bad", "21.74"),
    ]
    for tone, side in (
        ("good", "support"),
        ("warn", "conditional support"),
        ("bad", "oppose"),
        ("plain", "no vote"),
    ):
        assert re.search(
            rf'<td[^>]* data-name="Vote"><span class="tag {tone}">{side}</span></td>', html
        )
    assert 'aria-label="support 52 %, conditional support 26 %, oppose 22 %"' in html


def test_it_is_told_which_of_a_seats_votes_counts() -> None:
    """D-13: earlier votes stay on the timeline."""
    told = render_minutes(_rich("en").timeline)
    assert re.findall(r"#(\d+) · \*\*minski\*\* · votes: .* · (.*count.*) · 2024", told) == [
        ("10", "does not count: replaced by #12"),
        ("12", "does not count: replaced by #14"),
        ("14", "counts, instead of #12"),
    ]
    assert re.findall(
        r"#(\d+) · \*\*\w+\*\* · votes: .* · does not count: voted on anew",
        render_minutes(_split("en").timeline),
    ) == [
        "6",
        "7",
    ]


def test_a_vote_before_the_motion_does_not_count_and_says_so() -> None:
    """D-13"""
    held = (
        debate(build_seat("ada"), build_mailbox_seat("bob"))
        .say(ada=propose("a"), bob=propose("b"))
        .pass_until("synthesize")
    )
    held.says("bob", vote()).says("ada", synthesize("c"))
    assert "cast before there was the motion #5" not in render_minutes(held.timeline)
    assert (
        render_minutes(held.put(CloseCalled()).timeline).count(
            "cast before there was the motion #5"
        )
        == 1
    )


def test_who_changed_is_told_with_the_line_that_moved_them() -> None:
    """D-19"""
    held = debate(build_seat("ada"), build_seat("bob"), build_seat("cid"), build_seat("dee"))
    held.say(
        ada=propose("yes"), bob=propose("no"), cid=propose("no"), dee=propose("yes")
    ).pass_until("vote")
    held.say(ada=vote(), bob=vote(moved_by=2), cid=vote(), dee=vote("oppose", moved_by=3))
    told = render_minutes(held.timeline)
    assert (
        "- bob: no → yes (moved by #2)\n- cid: no → yes (gives no reason)\n- dee: yes → oppose (moved by #3)\n"
        in told
    )
    assert 'bob: no → yes (moved by <a href="#entry-2">#2</a>)' in render_page(held.timeline)


@pytest.mark.parametrize("render", [render_minutes, render_page])
def test_every_single_loss_is_told_and_what_the_tally_means_without_it(
    render: Callable[[CouncilTimeline], str],
) -> None:
    """D-12"""
    told = render(_rich("en").timeline)
    for words in (
        "HTTP 503",
        "an error",
        "no answer in time",
        "zoe: failed 2 ×",
        "Did not vote: zoe.",
    ):
        assert words in told


@pytest.mark.parametrize("render", [render_minutes, render_page])
def test_sealed_proposals_are_not_shown(render: Callable[[CouncilTimeline], str]) -> None:
    """D-19: neither their words, nor what they choose, nor how sure they are; only who has written."""
    held = debate(
        build_seat("ada"), build_mailbox_seat("bob"), build_seat("cid"), build_seat("dee")
    )
    held.says("ada", propose("SECRET-choice", "SECRET text", 0.77, evidence=("SECRET source",)))
    held.says("bob", challenge(None, "SECRET objection", 0.77))
    held.put(
        SeatLost(
            ask=held.ask("cid").id,
            seat=SeatId("cid"),
            reason="malformed",
            cause=Cause(words="SECRET is no choice"),
        )
    )
    held.give_input("A word from outside.")
    told = render(held.timeline)
    assert "SECRET" not in told
    assert "77 %" not in told
    assert told.count("Sealed until all have written.") == 3
    assert "A word from outside." in told
    assert "dee" in told
    opened = render(held.says("dee", propose()).timeline)
    assert opened.count("SECRET") >= 5
    assert "Sealed until" not in opened


@pytest.mark.parametrize("render", [render_minutes, render_page])
def test_what_was_not_written_blind_is_not_sealed(render: Callable[[CouncilTimeline], str]) -> None:
    """D-19"""
    held = debate(build_seat("ada"), build_seat("bob"), settings=CouncilSettings(blind=False)).says(
        "ada", propose("yes", "In the open.")
    )
    assert "In the open." in render(held.timeline)


def test_the_terminal_shows_the_decision_in_short() -> None:
    """D-12, D-19, D-21, M-9: what was chosen and what it is worth come first."""
    assert render_terminal(_rich("en").timeline).split("\n") == [
        "Decided by 2 of 4, reviewer against: yes, to “Should we adopt HSM for long contexts?”",
        "Adopt it, with attention as a fallback, after a pilot.",
        "For: emerson. On a condition: minski. Against: reviewer. No side: zoe.",
        "Before they talked, 1 of 3 had this answer (emerson).",
        "What you said was not answered: “We have a month.”",
        "minski's condition (open): A fallback stays.",
        "reviewer: “Pilot first.”",
    ]


def test_a_phase_in_which_nothing_was_said_says_so_once_it_is_over() -> None:
    """D-12: while seats may still speak, nothing is said about it."""
    held = debate(build_seat("ada"), build_mailbox_seat("bob"))
    assert "Nothing was said." not in render_minutes(held.timeline)
    assert "Nothing was said." in render_minutes(held.put(SessionCancelled()).timeline)


def test_the_terminal_shows_who_is_waited_for_and_nothing_that_is_sealed() -> None:
    """D-19"""
    held = debate(build_seat("ada"), build_mailbox_seat("bob")).says(
        "ada", propose("SECRET-choice", "SECRET text", 0.77)
    )
    assert render_terminal(held.timeline).split("\n") == [
        "Still open; nothing is decided yet.",
    ]


def _ends() -> dict[str, tuple[DeliberationRun, str]]:
    def table() -> DeliberationRun:
        return debate(build_seat("ada"), build_seat("bob"))

    return {
        "opened": (table(), "Still to answer"),
        "cancelled at once": (table().put(SessionCancelled(reason="Too dear.")), "Too dear."),
        "cancelled later": (
            table().say(ada=propose(), bob=propose()).put(SessionCancelled()),
            "Cancelled before a decision.",
        ),
        "called while sealed": (
            table().says("ada", propose("a", "Mine.")).put(CloseCalled()),
            "its owner called for the end",
        ),
        "called with nothing": (table().put(CloseCalled()), "Not decided"),
        "nothing proposed": (
            table().say(ada=None, bob=None).say(ada=None, bob=None),
            "nobody having proposed anything",
        ),
        "agreed blind": (
            table().say(ada=propose("a"), bob=propose("A.")),
            "Nobody was asked to vote",
        ),
        "budget": (
            table()
            .say(ada=propose("a"), bob=propose("b"))
            .put(BudgetExhausted(budget="tokens", spent=9, limit=9))
            .say(ada=vote(), bob=vote()),
            "the token budget",
        ),
        "budget with nothing": (
            table().put(BudgetExhausted(budget="time", spent=9, limit=9)),
            "the time budget",
        ),
        "all lost at the vote": (
            table()
            .say(ada=propose("a"), bob=propose("b"))
            .pass_until("vote")
            .say(ada=None, bob=None),
            "Did not vote: ada, bob.",
        ),
        "owner lost": (
            advisory(build_seat("ada"), build_seat("bob"))
            .say(ada=None, bob=propose())
            .say(ada=None),
            "the owner having been lost",
        ),
        "voting": (
            table().say(ada=propose("a", "Mine."), bob=propose("b")).pass_until("vote"),
            "Mine.",
        ),
    }


@pytest.mark.parametrize("end", _ends())
@pytest.mark.parametrize("render", [render_minutes, render_page])
def test_whatever_has_happened_is_told(end: str, render: Callable[[CouncilTimeline], str]) -> None:
    """D-3, D-13"""
    held, words = _ends()[end]
    assert words in render(held.timeline)


def _everywhere(words: str, against: float = 1.0) -> DeliberationRun:
    """A deliberation in which everyone says just this, wherever they can."""
    held = debate(
        build_seat("ada", stance=words, platform=words, instructions=words),
        build_mailbox_seat("bob"),
        build_seat("cid", weight=against),
        topic=words,
        subject=Topic(category=words, options=(words, "other")),
    )
    held.says("ada", propose(words[:100], words, evidence=(words,)))
    held.put(
        SeatLost(
            ask=held.ask("cid").id, seat=SeatId("cid"), reason="malformed", cause=Cause(words=words)
        )
    )
    held.says("bob", propose("other", words))
    held.give_input(words)
    held.say(
        bob=challenge(2, words, evidence=(words, words)),
        cid=challenge(3, words),
        ada=support(2, words),
    )
    taken = tuple(AdviceResponse(entry=entry, how="partly", why=words) for entry in (5, 6))
    held.says("ada", synthesize(words[:100], words, accepts=(6,), taken=taken)).say(
        bob=PASS, cid=PASS
    )
    held.say(
        ada=vote("support", text=words),
        bob=vote("conditional_support", condition=words, text=words),
    )
    return held.says("cid", vote("oppose", text=words))


@pytest.mark.parametrize("evil", EVIL_HTML)
def test_everything_said_is_escaped_in_the_page(evil: str) -> None:
    """The same deliberation with as many harmless characters has the very same tags and attributes."""
    seen, harmless = (
        SeenPage(render_page(_everywhere(evil).timeline)),
        SeenPage(render_page(_everywhere("x" * len(evil)).timeline)),
    )
    assert seen.tags == harmless.tags
    assert seen.attributes == harmless.attributes


@pytest.mark.parametrize(
    "evil",
    [
        "# heading",
        "#3 · **bob** · votes: support · 2024",
        "x\n## Decision\n\nYes.",
        "x\r# h",
        "x\u2028# h",
        "| a | b |\n|---|---|",
        "```\n# h",
        "* * *",
        "1) x",
        "<!-- \n-->",
        "{line} {seat}",
    ],
)
def test_what_a_participant_says_stays_quoted_in_the_minutes(evil: str) -> None:
    """The same minutes with harmless words have the very same lines that are no quotation and no table row.

    What remains stands behind a name of ours on the same line.
    """

    def own(words: str) -> list[str]:
        minutes = render_minutes(_everywhere(words, against=9.0).timeline)
        # The memo has no markup of a participant at all, and leaves out what is nothing else.
        memo, _, rest = minutes.partition("## Decision\n\n")[2].partition("\n\n## ")
        assert not re.search(r"^(?:[#>|~]|[-+*] |\d+[.)] |```)", memo, re.MULTILINE)
        lines = rest.split("\n")
        return [
            line.replace(format_cell(words), "…")
            for line in lines
            if not line.startswith(("> ", "| ")) and line != ">"
        ]

    assert own(evil) == own("harmless")
    assert not [line for line in own("harmless") if line.lstrip("-*# ").startswith("…")]


@pytest.mark.parametrize("render", [render_minutes, render_page])
def test_control_codes_do_not_get_through(render: Callable[[CouncilTimeline], str]) -> None:
    told = render(_everywhere("a\x1b[31mb\u202ec\x00d\u2066e").timeline)
    assert not set(told) & set("\x1b\u202e\x00\u2066\r")
    assert "a[31mbcde" in told


def test_a_name_is_as_harmless_as_a_text() -> None:
    """A ledger that came from elsewhere may hold any name."""
    evil = SeatId("<b>x</b>\n# h | y")
    held = debate(build_seat("ada"), build_seat("bob"))
    opened = replace(
        held.opened, seats=(replace(held.opened.seats[0], id=evil), held.opened.seats[1])
    )
    timeline = CouncilTimeline(SESSION, held.rules)
    said = Contributed(
        ask=ask_id(1, "propose", evil),
        seat=evil,
        said=Contribution(type="propose", text="t", confidence=1),
    )
    lost = SeatLost(ask=ask_id(1, "propose", SeatId("bob")), seat=evil, reason="error")
    for number, fact in enumerate((opened, said, lost), 1):
        timeline.add(Entry(seq=number, at=START, fact=fact))
    assert "<b>x" not in render_minutes(timeline) + render_page(timeline)
    assert "\n# h" not in render_minutes(timeline)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", EXAMPLES)
def test_the_page_loads_nothing_from_elsewhere(name: str, language: Language) -> None:
    html = render_page(EXAMPLES[name](language).timeline)
    seen = SeenPage(html)
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "base"} & set(
        seen.tags
    )
    assert not [
        value
        for name, value in seen.attributes
        if name in {"src", "srcset", "action", "background"} or name.startswith("on")
    ]
    assert all(value.startswith("#") for name, value in seen.attributes if name == "href")
    assert not re.search(r"url\(|@import|https?:", html)
    assert ("content", "default-src 'none'; style-src 'unsafe-inline'") in seen.attributes
    assert ("lang", language) in seen.attributes
