"""What people get to see: the context ledger and back, minutes, the page, and the arithmetic behind the figures."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.exported_page import EVIL_HTML, SeenPage
from tests.support.play_persona import (
    MeetingRun,
    bid_silence,
    bid_to_speak,
    build_draft,
    build_seat,
    build_stand,
)
from tests.support.shapes import assert_same_shape

from moothall.domain.budget import Budget, Spent, Usage
from moothall.domain.facts import Language, SessionCancelled, SessionImported
from moothall.domain.ids import SeatId, SessionId
from moothall.errors import BadImport
from moothall.features.persona.context import ContextLedger, render_context_ledger
from moothall.features.persona.facts import Draft, DraftClaim, PersonaSettings
from moothall.features.persona.plugin import PERSONA
from moothall.features.persona.timeline import PersonaTimeline, build_decision
from moothall.locale.catalogues import SHARED_REPORT
from moothall.reports.plain_text import extract_question, format_cell, format_table, quote_markdown
from moothall.reports.wording import format_money
from moothall.scoring.positions import (
    Balance,
    VoteSide,
    compute_balance,
    compute_weight,
    is_outcome_uncertain,
)
from moothall_testkit.snapshots import check_snapshot

SNAPSHOTS = Path(__file__).parent / "snapshots"
USAGE = Usage(tokens_in=120, tokens_out=30, cost=450, calls=1)

SOURCE: dict[str, Any] = {
    "session_id": "think_20240520_001",
    "topic": "是否应该在当前市场环境下激进扩张业务？",
    "status": "thinking",
    "participants": ["Node_A_Optimist", "Node_B_Pessimist", "Node_C_Analyst"],
    "timeline": [
        {
            "id": 1,
            "timestamp": "2024-05-20T10:00:01Z",
            "speaker": "USER",
            "content": "我们需要讨论扩张计划。",
            "type": "input",
        },
        {
            "id": 2,
            "timestamp": "2024-05-20T10:00:05Z",
            "speaker": "Node_A_Optimist",
            "platform": "GPT-4",
            "content": "市场虽然有波动，但这是抄底的好机会，建议扩张。",
            "relevance_score": 0.9,
        },
        {
            "id": 3,
            "timestamp": "2024-05-20T10:00:10Z",
            "speaker": "Node_C_Analyst",
            "platform": "Claude-3-Opus",
            "content": "我反对A的看法。数据显示现金流风险过高，此时扩张属于赌博。",
            "relevance_score": 0.95,
            "refers_to": 2,
        },
    ],
    "conclusion": None,
}


def _talked(language: Language) -> MeetingRun:
    """A meeting with everything in it: silence, a loss, a contested point, an input."""
    en = language == "en"
    held = MeetingRun(
        build_seat("ada", stance="radical" if en else "激进派", weight=2),
        build_seat("bob", stance="critic" if en else "保守派"),
        build_seat("dee", stance="decider" if en else "决策者"),
        topic="Should we lay off 20 %?" if en else "我们要不要裁员 20%？",
        language=language,
        settings=PersonaSettings(blind=True),
    )
    held.position("ada", "No." if en else "不裁。", 0.9, USAGE).position(
        "bob", "Yes." if en else "裁。", 0.6, USAGE
    )
    held.lose("position", "dee", "error")
    held.bid("ada", bid_to_speak(0.9, "Morale" if en else "士气"), USAGE).bids(
        bob=bid_to_speak(0.8), dee=None
    )
    held.speaks(
        "ada",
        "Talent leaves.\nFirst the best." if en else "人才会流失。\n先走的是最好的。",
        usage=USAGE,
    )
    held.bids(
        ada=bid_silence(0.2),
        bob=bid_to_speak(0.9, "Cash | flow" if en else "现金 | 流", view="contest"),
        dee=bid_silence(0.5, view="agree"),
    )
    held.give_input("And R&D?" if en else "研发部呢？")
    return held.speaks(
        "bob", "Three months of cash." if en else "现金只够三个月。", refers_to=2, view="contest"
    )


def _concluded(language: Language) -> MeetingRun:
    en = language == "en"
    held = _talked(language).bids(
        ada=bid_silence(0.1), bob=bid_silence(0.1), dee=bid_silence(0.2, view="agree")
    )
    said = Draft(
        decision=DraftClaim(text="Cut 10 %." if en else "优化 10%。", entries=(2, 4)),
        confidence=0.8,
        reasons=(
            DraftClaim(text="Cash is short." if en else "现金不足。", entries=(4,)),
            DraftClaim(text="Talent." if en else "人才。"),
        ),
        dissent=(DraftClaim(text="ada: no cuts" if en else "ada：不裁", entries=(2,)),),
        open_questions=(DraftClaim(text="R&D?" if en else "研发部？", entries=(3,)),),
    )
    held.drafts("dee", said, USAGE)
    condition = "Spare R&D." if en else "保留研发部。"
    position = "Fewer than I feared." if en else "比我担心的少。"
    return held.stands(
        ada=build_stand("conditional", 0.7, position, moved_by=4, condition=condition), bob=None
    )


def _opened(text: str) -> PersonaTimeline:
    """A context ledger, read back and told."""
    read = ContextLedger(text)
    held = MeetingRun(opened=read.opened)
    if read.conclusion is not None:
        held.put(SessionImported(conclusion=read.conclusion))
    story = PersonaTimeline(SessionId("think_20240521_007"))
    for entry in held.entries:
        story.add(entry)
    return story


def _told(held: MeetingRun) -> dict[str, Any]:
    told = json.loads(render_context_ledger(held.timeline))
    assert isinstance(told, dict)
    return told


# P-6


def test_the_context_ledger_has_the_shape_of_the_source() -> None:
    """P-3, P-4, P-6"""
    held = MeetingRun(
        build_seat("A", platform="GPT-4"), build_seat("B"), topic="裁员？", language="zh"
    ).turn("A", "不。", 0.8)
    held.bids(A=bid_silence(0.4), B=bid_to_speak(0.95, view="contest")).speaks(
        "B", "要。", refers_to=2
    )
    told = _told(held)
    roles = told.pop("roles")
    assert told == {
        "session_id": "think_20240520_001",
        "topic": "裁员？",
        "status": "thinking",
        "participants": ["A", "B"],
        "timeline": [
            {
                "id": 1,
                "timestamp": "2024-05-20T10:00:00Z",
                "speaker": "USER",
                "content": "裁员？",
                "type": "input",
            },
            {
                "id": 2,
                "timestamp": "2024-05-20T10:00:04Z",
                "speaker": "A",
                "platform": "GPT-4",
                "content": "不。",
                "type": "speech",
                "relevance_score": 0.8,
            },
            {
                "id": 3,
                "timestamp": "2024-05-20T10:00:08Z",
                "speaker": "B",
                "platform": "script:B",
                "content": "要。",
                "type": "speech",
                "relevance_score": 0.95,
                "refers_to": 2,
            },
        ],
        "current_consensus": {
            "agreed": [],
            "contested": [{"entry": 2, "speaker": "A", "claim": "不。", "by": ["B"]}],
        },
        "conclusion": None,
    }
    assert roles[0] == {
        "role_id": "A",
        "stance": "",
        "platform": "GPT-4",
        "bias_weight": 1.0,
        "instructions": "",
    }
    assert list(told)[:5] == list(SOURCE)[:5]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_context_ledger_reads_as_it_did(language: Language) -> None:
    """P-6"""
    check_snapshot(
        SNAPSHOTS / f"context_{language}.json", render_context_ledger(_concluded(language).timeline)
    )


@pytest.mark.parametrize("end", ["thinking", "concluded", "cancelled", "undecided"])
def test_a_context_ledger_survives_the_way_there_and_back(end: str) -> None:
    """P-6: the same JSON apart from the session's id."""
    held = _concluded("en") if end == "concluded" else _talked("en")
    if end == "cancelled":
        held.put(SessionCancelled(reason="enough"))
    if end == "undecided":
        held.bids(ada=bid_silence(0.1), bob=bid_silence(0.1), dee=bid_silence(0.1))
        for name in ("dee", "ada", "bob"):
            held.lose("draft", name)
    written = _told(held)
    again = json.loads(render_context_ledger(_opened(json.dumps(written))))
    assert again.pop("session_id") == "think_20240521_007"
    assert written.pop("session_id") == "think_20240520_001"
    assert again == written
    assert written["status"] == ("thinking" if end == "thinking" else "concluded")


def test_the_sources_own_example_can_be_read_and_gone_on_with() -> None:
    """P-6"""
    read = ContextLedger(json.dumps(SOURCE))
    assert (read.session, read.conclusion, read.opened.language) == (
        "think_20240520_001",
        None,
        "zh",
    )
    assert [(each.id, each.platform) for each in read.opened.seats] == [
        ("Node_A_Optimist", "mailbox"),
        ("Node_B_Pessimist", "mailbox"),
        ("Node_C_Analyst", "mailbox"),
    ]
    held = MeetingRun(opened=read.opened)
    assert held.asked == [
        "1.intent.Node_A_Optimist",
        "1.intent.Node_B_Pessimist",
        "1.intent.Node_C_Analyst",
    ]
    assert "#3" in held.brief("Node_B_Pessimist").own
    told = _told(held)
    assert told["timeline"] == SOURCE["timeline"]
    held.bids(
        Node_A_Optimist=bid_silence(0.4),
        Node_B_Pessimist=bid_to_speak(0.5),
        Node_C_Analyst=bid_to_speak(1.0),
    ).speaks("Node_B_Pessimist", "也是。")
    assert held.timeline.lines[-1].id == 4


def test_other_seats_can_take_the_places_of_those_in_the_file() -> None:
    """P-6"""
    read = PERSONA.read_back
    assert read is not None
    opened = read(json.dumps(SOURCE), (build_seat("eve"),), Budget(turns=3)).opened
    assert (opened.seats, opened.budget) == ((build_seat("eve"),), Budget(turns=3))


def _changed(**changes: Any) -> str:
    return json.dumps({**SOURCE, **changes})


def _line(**changes: Any) -> str:
    lines = [dict(line) for line in SOURCE["timeline"]]
    lines[2].update(changes)
    return _changed(timeline=lines)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the file is no JSON"),
        ("{", "the file is no JSON"),
        ("[]", "the file holds no JSON object"),
        ("{}", "the file has no 'session_id'"),
        (
            json.dumps({key: value for key, value in SOURCE.items() if key != "timeline"}),
            "the file has no 'timeline'",
        ),
        (_changed(status="paused"), "status is 'paused'; expected 'thinking' or 'concluded'"),
        (_changed(topic="  "), "'topic' must be a text that is not empty"),
        (_changed(topic=7), "'topic' must be a text that is not empty"),
        (_changed(timeline=[]), "'timeline' must be a list with at least one entry"),
        (_changed(timeline={}), "'timeline' must be a list with at least one entry"),
        (_changed(timeline=["x"]), "timeline entry 1: its id must be 1"),
        (_line(id=4), "timeline entry 3: its id must be 3; ids count from 1 without gaps"),
        (_line(speaker=None), "timeline entry 3: "),
        (_line(content=None), "timeline entry 3: "),
        (_line(timestamp=5), "timeline entry 3: "),
        (_line(speaker="a b"), "timeline entry 3: seat id 'a b' may hold letters and digits"),
        (_line(speaker="user"), "timeline entry 3: seat id 'user' is reserved"),
        (_line(relevance_score=1.1), "timeline entry 3: relevance_score is 1.1; expected 0 to 1"),
        (_line(relevance_score=True), "timeline entry 3: relevance_score is True"),
        (_line(relevance_score="0.5"), "timeline entry 3: relevance_score is '0.5'"),
        (_line(relevance_score=float("nan")), "timeline entry 3: relevance_score is nan"),
        (
            _line(refers_to=3),
            "timeline entry 3: refers_to is 3; expected the id of an earlier entry",
        ),
        (_line(refers_to=0), "timeline entry 3: refers_to is 0"),
        (_line(refers_to=True), "timeline entry 3: refers_to is True"),
        (
            _changed(participants="A"),
            "the file's participants cannot be seated: 'participants' must be a list of role ids",
        ),
        (
            _changed(participants=[1]),
            "the file's participants cannot be seated: 'participants' must be a list of role ids",
        ),
        (
            _changed(participants=[]),
            "the file's participants cannot be seated: a meeting needs 1 to 64 seats, not 0",
        ),
        (
            _changed(participants=["A", "a"]),
            "the file's participants cannot be seated: two seats are called 'A' and 'a'",
        ),
        (_changed(participants=["a b"]), "the file's participants cannot be seated: seat id 'a b'"),
        (
            _changed(roles=[{"role_id": "Node_A_Optimist", "bias_weight": 0}]),
            "the file's participants cannot be seated: seat 'Node_A_Opt",
        ),
        (
            _changed(roles=[{"role_id": "Node_A_Optimist", "bias_weight": "1"}]),
            "the file's participants cannot be seated: role 'Node_A_Optimist': bias_weight is '1'",
        ),
        (_changed(current_consensus=[1]), "'current_consensus' must be an object"),
        (
            _changed(current_consensus={"agreed": ["x"]}),
            "current_consensus.agreed: each point names an 'entry'",
        ),
        (
            _changed(current_consensus={"contested": [{"entry": 9, "by": []}]}),
            "current_consensus.contested: each point names",
        ),
    ],
)
def test_a_file_that_is_no_context_ledger_is_refused_with_the_reason(text: str, why: str) -> None:
    """P-6"""
    with pytest.raises(BadImport) as refused:
        ContextLedger(text)
    assert str(refused.value).startswith(why)


@pytest.mark.parametrize(
    "text",
    [
        _changed(status=[]),
        _changed(roles=5),
        _changed(roles=[{"role_id": "Node_A_Optimist", "bias_weight": 10**400}]),
        _changed(current_consensus={"agreed": [{"entry": 2, "by": ["b ad"]}]}),
        "[" * 100_000,
    ],
    ids=range(5),
)
def test_a_file_that_is_no_context_ledger_is_never_a_crash(text: str) -> None:
    """P-6"""
    with pytest.raises(BadImport):
        ContextLedger(text)


def test_a_null_in_the_file_is_nothing() -> None:
    """P-6"""
    opened = ContextLedger(_line(platform=None, type=None)).opened
    assert (opened.imported[2].platform, opened.imported[2].type) == ("", "")


def test_a_long_meeting_keeps_its_consensus_on_the_way_there_and_back() -> None:
    """P-6, P-13"""
    held = (
        MeetingRun(build_seat("ada"), build_seat("bob"))
        .turn("ada", "Cut.")
        .bids(ada=bid_silence(0.4), bob=bid_to_speak(0.9, view="contest"))
        .speaks("bob", "No.")
    )
    for number in range(30):
        held.turn(("ada", "bob")[number % 2], f"{number}")
    written = _told(held)
    assert written["current_consensus"]["contested"]
    again = json.loads(render_context_ledger(_opened(json.dumps(written))))
    assert again["current_consensus"] == written["current_consensus"]


# Minutes and page


@pytest.mark.parametrize("end", ["thinking", "concluded"])
def test_minutes_and_page_read_as_they_did(end: str) -> None:
    """P-5, P-14, P-15, P-17, P-18"""
    hold = {"thinking": _talked, "concluded": _concluded}[end]
    story, chinese = hold("en").timeline, hold("zh").timeline
    check_snapshot(SNAPSHOTS / f"minutes_{end}_en.md", PERSONA.export(story, "minutes"))
    check_snapshot(SNAPSHOTS / f"page_{end}_en.html", PERSONA.export(story, "html"))
    assert_same_shape(PERSONA.report(story), PERSONA.report(chinese))


def test_chinese_minutes_read_as_they_did() -> None:
    """P-14: one meeting has all the words of its form."""
    story = _concluded("zh").timeline
    check_snapshot(SNAPSHOTS / "minutes_concluded_zh.md", PERSONA.export(story, "minutes"))


def test_a_cancelled_meeting_says_so() -> None:
    story = _talked("en").put(SessionCancelled(reason="# no\n<b>money</b>")).timeline
    assert (
        "## Decision\n\n**Cancelled before a decision: “&lt;b>money&lt;/b>.”**\n"
        in PERSONA.export(story, "minutes")
    )
    assert "“&lt;b&gt;money&lt;/b&gt;.”" in PERSONA.export(story, "html")


def test_a_conclusion_that_was_read_back_is_not_denied() -> None:
    """P-6"""
    story = _opened(render_context_ledger(_concluded("en").timeline))
    assert "every seat that could have written it failed" not in PERSONA.export(story, "minutes")
    assert "every seat that could have written it failed" not in PERSONA.export(story, "html")


def test_without_a_decision_nobody_claims_that_the_lost_would_not_have_changed_it() -> None:
    """P-18"""
    held = (
        MeetingRun(build_seat("ada"), build_seat("bob"))
        .bids(ada=bid_silence(0.1), bob=bid_silence(0.1))
        .lose("draft", "ada")
        .lose("draft", "bob")
    )
    assert "could not have changed the outcome" not in PERSONA.export(held.timeline, "minutes")
    assert "could not have changed the outcome" not in PERSONA.export(held.timeline, "html")


def test_what_ended_a_meeting_is_told_without_a_decision_too() -> None:
    """P-14"""
    held = (
        MeetingRun(build_seat("ada"), build_seat("bob"))
        .turn("ada", "Yes.")
        .bids(ada=bid_silence(0.1), bob=bid_silence(0.1))
        .lose("draft", "ada")
        .lose("draft", "bob")
    )
    assert "every reaction was below the threshold" in PERSONA.export(held.timeline, "minutes")
    assert "every reaction was below the threshold" in PERSONA.export(held.timeline, "html")


def test_the_page_tells_why_everyone_was_silent_in_a_turn() -> None:
    """P-5: the minutes do."""
    held = (
        MeetingRun(build_seat("ada"), build_seat("bob"))
        .bids(ada=bid_silence(0.5, "I wait for bob."), bob=bid_silence(0.4))
        .turn("ada", "Yes.")
    )
    assert "I wait for bob." in PERSONA.export(held.timeline, "minutes")
    assert "I wait for bob." in PERSONA.export(held.timeline, "html")


def _everywhere(words: str) -> MeetingRun:
    """A meeting in which everyone says just this, wherever they can."""
    held = MeetingRun(
        build_seat("ada", stance=words, platform=words, instructions=words),
        build_seat("bob"),
        topic=words,
        settings=PersonaSettings(blind=True),
    )
    held.position("ada", words).position("bob", words)
    held.bids(ada=bid_to_speak(0.9, words), bob=bid_silence(0.4, words)).speaks(
        "ada", words
    ).give_input(words)
    held.bids(ada=bid_silence(0.1, words), bob=bid_silence(0.1, words, view="agree"))
    said = Draft(
        decision=DraftClaim(text=words, entries=(1,)),
        confidence=1,
        reasons=(DraftClaim(text=words),),
        dissent=(DraftClaim(text=words, entries=(1,)),),
        open_questions=(DraftClaim(text=words),),
    )
    return held.drafts("ada", said).stands(
        bob=build_stand("conditional", 1.0, words, condition=words)
    )


@pytest.mark.parametrize("evil", EVIL_HTML)
def test_everything_said_is_escaped_in_the_page(evil: str) -> None:
    """The same meeting with harmless words has the very same tags and attributes."""
    seen, harmless = (
        SeenPage(PERSONA.export(_everywhere(evil).timeline, "html")),
        SeenPage(PERSONA.export(_everywhere("x" * len(evil)).timeline, "html")),
    )
    assert seen.tags == harmless.tags
    assert seen.attributes == harmless.attributes


def test_markup_is_no_timestamp() -> None:
    """P-6"""
    evil = {"id": 1, "timestamp": "<script>alert(1)</script>", "speaker": "USER", "content": "x"}
    with pytest.raises(BadImport, match="timestamp"):
        ContextLedger(_changed(timeline=[evil]))


def test_a_timestamp_has_one_line() -> None:
    """P-6"""
    evil = {
        "id": 1,
        "timestamp": "2026-11-15T10:00:00Z\n\n# Forged",
        "speaker": "USER",
        "content": "x",
    }
    with pytest.raises(BadImport, match="timestamp"):
        ContextLedger(_changed(timeline=[evil]))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_page_loads_nothing_from_elsewhere(language: Language) -> None:
    html = PERSONA.export(_concluded(language).timeline, "html")
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


def test_every_reference_in_the_page_leads_somewhere() -> None:
    """P-15"""
    seen = SeenPage(PERSONA.export(_concluded("en").timeline, "html"))
    targets = {value for name, value in seen.attributes if name == "id"}
    assert {value[1:] for name, value in seen.attributes if name == "href"} <= targets


@pytest.mark.parametrize(
    "evil",
    [
        "# heading",
        "**#3 bob** · now",
        "x\n## Decision\n\nYes.",
        "x\r# h",
        "x\u2028# h",
        "| a | b |\n|---|---|",
        "```\n# h",
        "* * *",
        "1) x",
    ],
)
def test_what_a_participant_says_stays_quoted_in_the_minutes(evil: str) -> None:
    """The same minutes with harmless words have the very same lines that are no quotation and no table row."""

    def own(words: str) -> list[str]:
        lines = PERSONA.export(_everywhere(words).timeline, "minutes").split("\n")
        return [
            line.replace(format_cell(words), "…")
            for line in lines
            if not line.startswith(("> ", "| ")) and line != ">"
        ]

    assert own(evil) == own("harmless")


def test_quotations_and_cells_hold_no_marks_of_their_own() -> None:
    assert quote_markdown("a\n\n# b <i>") == ["> a", ">", "> # b &lt;i>"]
    assert format_cell("a | b\n\\ <c>") == "a \\| b \\\\ &lt;c>"
    assert format_table(("x", "y"), [(1, "a|b")]) == ["| x | y |", "|---|---|", "| 1 | a\\|b |"]


@pytest.mark.parametrize(
    ("spent", "told"),
    [
        (Spent(), "$0"),
        (Spent(calls=2, cost=1_234_500), "$1.2345"),
        (Spent(calls=2, unpriced=2), "price unknown"),
        (Spent(calls=3, cost=500, unpriced=1), "$0.0005 + 1 unpriced call"),
    ],
)
def test_a_price_that_nobody_knows_is_told_as_such(spent: Spent, told: str) -> None:
    assert format_money(SHARED_REPORT["en"], spent) == told


def test_a_decision_is_a_projection_at_any_time() -> None:
    """P-15"""
    thinking = build_decision(_talked("en").timeline)
    assert (thinking.status, thinking.ended_by, thinking.decision, thinking.turns) == (
        "thinking",
        None,
        None,
        2,
    )
    found = build_decision(_concluded("en").timeline)
    assert (found.status, found.ended_by, found.author, found.turns) == (
        "concluded",
        "quiet",
        SeatId("dee"),
        2,
    )
    assert [
        (lost.seat, lost.times, lost.last, lost.weight_share, lost.did_not_vote)
        for lost in found.lost
    ] == [
        ("bob", 1, "timeout", 0.25, True),
        ("dee", 2, "timeout", 0.25, False),
    ]


# Weighing


@pytest.mark.parametrize(
    ("bias", "confidence", "trust", "value"),
    [(1, 1, 0.5, 0.5), (2, 0.5, 1, 1), (3, 0, 1, 0), (1, 1, 0, 0), (0.5, 1, 1, 0.5)],
)
def test_a_position_weighs_bias_times_confidence_times_trust(
    bias: float, confidence: float, trust: float, value: float
) -> None:
    """P-15"""
    assert compute_weight(bias, confidence, trust) == value


@pytest.mark.parametrize(
    ("positions", "found", "share"),
    [
        ([], Balance(0, 0), None),
        ([("abstain", 9.0)], Balance(0, 0), None),
        ([("support", 0.0)], Balance(0, 0), None),
        ([("support", 1.0)], Balance(1, 0), 1.0),
        ([("oppose", 1.0)], Balance(0, 1), 0.0),
        ([("conditional", 1.0)], Balance(1, 0), 1.0),
        ([("support", 3.0), ("oppose", 1.0), ("abstain", 5.0)], Balance(3, 1), 0.75),
        ([("support", 1.0), ("conditional", 2.0)], Balance(3, 0), 1.0),
    ],
)
def test_sides_are_balanced(
    positions: list[tuple[VoteSide, float]], found: Balance, share: float | None
) -> None:
    """P-15"""
    assert compute_balance(positions) == found
    assert found.share == share


@pytest.mark.parametrize(
    ("found", "missing", "could"),
    [
        (Balance(1, 0), 0.0, False),
        (Balance(0, 0), 0.0, False),
        (Balance(0, 0), 0.1, True),
        (Balance(2, 1), 0.999, False),
        (Balance(2, 1), 1.0, True),
        (Balance(1, 2), 1.0, True),
        (Balance(1, 1), 0.001, True),
    ],
)
def test_the_outcome_could_differ_from_the_margin_on(
    found: Balance, missing: float, could: bool
) -> None:
    """P-18"""
    assert is_outcome_uncertain(found, missing) is could


def test_one_missing_seat_is_enough_to_differ_in_a_small_meeting() -> None:
    """P-18"""
    held = (
        MeetingRun(build_seat("ada"), build_seat("bob"))
        .bids(ada=bid_silence(0.1), bob=bid_silence(0.1))
        .drafts("ada", build_draft(confidence=0.9))
        .stands(bob=None)
    )
    assert "With the missing last words the outcome could have been another." in PERSONA.export(
        held.timeline, "minutes"
    )
    assert "With the missing last words the outcome could have been another." in PERSONA.export(
        held.timeline, "html"
    )


@pytest.mark.parametrize(
    ("topic", "question"),
    [
        ("Ship on Friday?", "Ship on Friday?"),
        (f"{'We have little time. ' * 9}Do we ship? Or not?", "Do we ship?"),
        (f"{'时间很紧。' * 30}要上线吗？", "要上线吗？"),
        ("a" * 300, f"{'a' * 119}…"),
        ("", ""),
    ],
)
def test_minutes_are_titled_by_the_question(topic: str, question: str) -> None:
    assert extract_question(topic) == question
