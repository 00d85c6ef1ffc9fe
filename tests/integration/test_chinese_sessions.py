"""A Chinese session is Chinese in everything that a person reads of it, whatever its protocol (M-11)."""

import asyncio
import io
import re
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any, get_args

import pytest
from rich.console import Console

from moothall import Moot, Seat
from moothall.domain.budget import Usage
from moothall.domain.causes import Cause, CauseCode, state_cause
from moothall.domain.effects import Brief
from moothall.domain.facts import Loss, SeatCause
from moothall.domain.ids import SeatId, SessionId
from moothall.engine.context import EntryAdded
from moothall.locale.catalogues import LOSS_DETAILS, SHARED_REPORT
from moothall.ports.participant import Answer, NoAnswer, OnText
from moothall.reading.answers import read_answer
from moothall.reports.wording import explain_cause, explain_outage
from moothall.surfaces.cli.live import build_view
from moothall.surfaces.cli.render import show_decision, show_report

LOSSES: tuple[tuple[Loss, str], ...] = (
    ("timeout", state_cause("deadline")),
    ("error", state_cause("failed", "upstream connect error", name="OpenAI", status=503)),
    ("error", state_cause("no_server", address="http://127.0.0.1:9")),
    ("error", "ValueError: something that only the author of the program understands"),
    ("malformed", state_cause("cut_off")),
    ("malformed", "vote: confidence: Input should be less than or equal to 1"),
    ("refused", state_cause("declined", "I cannot help with that")),
    (
        "rejected_key",
        state_cause("rejects_key", "bad key", name="OpenAI", key="OPENAI_API_KEY", status=401),
    ),
    ("unreachable", state_cause("no_server", address="http://127.0.0.1:9")),
    ("gave_up", state_cause("crashed", times=10)),
    ("passed_over", ""),
)

MENDS = (
    *(
        "left_out refers_to 9",
        "read confidence '高' → 0.8",
        "cut text 900 > 600",
        "repaired the answer '…'",
        "words the answer",
    ),
    *("filled direction '缓存'", "missing taken #4 #5", "skipped pairs 2", "某插件自己的说明"),
)
MENDS_TOLD = (
    "略去 refers_to 9；读取 confidence '高' → 0.8；截短 text 900 > 600；修复 回答 '…'；从文字读取 回答；"
    "补上 direction '缓存'；缺少 taken #4 #5；跳过 pairs 2；某插件自己的说明"
)
"""One note of each code; the names of fields stay as they are."""

SAID: Mapping[str, Any] = {
    "position": {"position": "应当采用", "confidence": 0.8},
    "intent": {"reaction_score": 0.9, "intent_to_speak": True, "reason": "有话要说"},
    "speech": "## 发言内容\n- 应当采用\n\n## 给下一位的提示词\n请继续\n\n[CONSENSUS_REACHED]",
    "draft": {
        "decision": {"text": "采用。先做试点。", "entries": [1]},
        "confidence": 0.8,
        "dissent": [{"text": "有人反对", "entries": [1]}],
    },
    "stand": {"verdict": "oppose", "confidence": 0.7, "position": "太贵"},
    "propose": {"type": "propose", "text": "采用它", "choice": "是", "confidence": 0.8},
    "argue": {"type": "challenge", "text": "太贵", "refers_to": 2, "confidence": 0.7},
    "synthesize": {"type": "synthesize", "text": "先试点", "choice": "是", "confidence": 0.8},
    "decide": {"type": "synthesize", "text": "先试点", "choice": "是", "confidence": 0.8},
    "vote": {"type": "vote", "position": "support", "confidence": 0.8, "text": "同意"},
    "minutes": "## 共识\n采用\n\n## 分歧\n价格",
    "work": "成果一份",
    "validate": "驳回\n太薄",
    "review": "驳回\n仍太薄",
    "explore": {
        "direction": "缓存",
        "findings": [{"coreIdea": "在边缘加缓存", "perspective": "技术", "details": "初看"}],
        "operations": [
            {"operation": "deposit_pheromone", "params": {"direction": "缓存", "amount": 0.2}},
            {
                "operation": "send_stop_signal",
                "params": {"direction": "没有这个方向", "reason": "resource_conflict"},
            },
        ],
    },
    "collide": {"action": "pass"},
    "synthesis": "综合：加缓存",
    "shutdown": {"acknowledged": True},
    "ballot": {
        "votes": [{"answer": 1, "position": "support", "confidence": 0.8, "reason": "可行"}]
    },
}


class Troubled:
    """Answers in Chinese, for money that is partly unknown; every third ask is lost, each time by another cause."""

    def __init__(self, first: int) -> None:
        self.asked = 0
        self.lost: Iterator[tuple[Loss, str]] = iter((*LOSSES[first:], *LOSSES[:first]))

    async def ready(self) -> str | None:
        return None

    async def respond(self, brief: Brief, on_text: OnText) -> Answer | NoAnswer:
        self.asked += 1
        usage = Usage(calls=1, tokens_in=50, tokens_out=10, cost=None if self.asked % 2 else 1_500)
        lost = next(self.lost, None) if self.asked % 3 == 0 else None
        if lost is not None:
            return NoAnswer(reason=lost[0], detail=lost[1], usage=usage)
        read = read_answer(brief, SAID[brief.form.kind])
        return Answer(
            said=read.said, usage=usage, model="qwen-3", origin="program:台词", corrections=MENDS
        )


PROTOCOLS: Mapping[str, Mapping[str, Any]] = {
    "persona": {},
    "debate": {},
    "advisory": {},
    "consensus": {},
    "roundtable": {"max_rounds": "2"},
    "swarm": {"max_rounds": "2"},
    "pipeline": {
        "steps": [
            {"name": "产出", "agent": "甲", "task": "写出成果"},
            {"name": "检查", "agent": "乙", "task": "检查成果", "gate": True, "on_reject": "back"},
        ]
    },
}
NAMES = ("甲", "乙", "丙", "丁")

# Names, commands and figures that stay as they are in any language.
_KEPT = re.compile(
    r"\b(?:refers_to|confidence|text|direction|taken|pairs)\b|"
    r"moot [a-z-]+(?: [\w\d_]+)?(?: --\w+(?: \w+)?)*|--seat|OpenAI|OPENAI_API_KEY|https?://\S+|qwen-3|Ctrl-C|UTC|Agent|idea-\d+|join-\d+|finding-\d+"
    r"|\d{4}-\d\d-\d\dT[\d:]+Z|mailbox|\bUSER\b|think_\d+_\d+|\bT\d+\b|\bSwarm\b|CONSENSUS_REACHED|JOIN\b|\bop-\d+"
)
_ENGLISH = re.compile(r"[A-Za-z]{2,}")


def find_english(text: str) -> list[str]:
    """The lines that have English words left."""
    lines = (_KEPT.sub("", line) for line in text.split("\n"))
    return [line for line in lines if _ENGLISH.search(line)]


def strip_markup(page: str) -> str:
    body = re.sub(r"<style>.*?</style>|<head>.*?</title>", "", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]*>", "\n", body))


async def hold(
    home: Path, protocol: str, settings: Mapping[str, Any], tokens: int | None
) -> list[str]:
    """Everything that people read of a session: each time that an outage parks it, and at its end."""
    troubled = Troubled(0 if tokens is None else 5)
    environ = {"MOOT_HOME": str(home), "PATH": ""}
    async with Moot(environ=environ, participants={"台词": troubled}) as moot:
        names = {"roundtable": (*NAMES, "moderator"), "pipeline": NAMES[:2]}.get(protocol, NAMES)
        session = await moot.open(
            "我们应当采用它吗？",
            seats=[Seat(id=SeatId(name), platform="台词") for name in names],
            protocol=protocol,
            settings=settings,
            turns=6 if protocol == "persona" else None,
            tokens=tokens,
            language="zh",
        )
        seen: list[str] = []
        while (decision := await moot.run(session)).status == "parked":
            (line,) = await moot.sessions()
            assert decision.parked == line.parked != ""
            seen += [line.parked, *await tell(moot, session)]
        return [*seen, *await tell(moot, session)]


async def tell(moot: Moot, session: SessionId) -> list[str]:
    """What people read of a session now: `moot run` in a pipe and in a terminal, minutes, report and page."""
    plugin, seen = await moot.load_plugin(session), []
    for is_terminal in (False, True):
        printed = io.StringIO()
        console = Console(
            file=printed, force_terminal=is_terminal, color_system=None, width=200, highlight=False
        )
        timeline = plugin.timeline(session)
        view = build_view(plugin, timeline, console)
        for entry in await moot.engine.entries(session):
            view.show(EntryAdded(session, entry))
        if is_terminal:
            console.print(view._render())  # type: ignore[attr-defined]
        show_decision(console, plugin, timeline)
        show_report(console, plugin.report(timeline))
        seen.append(printed.getvalue())
    return [
        *seen,
        await moot.export(session, "minutes"),
        strip_markup(await moot.export(session, "html")),
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("tokens", [None, 900])
def test_a_chinese_session_has_no_english_in_what_people_read(
    tmp_path: Path, protocol: str, tokens: int | None
) -> None:
    """M-11: losses of every cause, prices, limits, votes, doors and mends; in the live view, the result, minutes and the page."""
    texts = asyncio.run(asyncio.wait_for(hold(tmp_path, protocol, PROTOCOLS[protocol], tokens), 60))
    for text in texts:
        assert (
            find_english(text.replace("moderator", "主持") if protocol == "roundtable" else text)
            == []
        )
    assert any("次调用价格未知" in text for text in texts)
    assert any("✗" in text for text in texts)
    assert MENDS_TOLD in texts[-2]


def test_every_cause_of_a_loss_has_a_name_in_both_languages() -> None:
    """M-11"""
    causes = {reason for reason, _ in LOSSES}
    assert causes == set(SHARED_REPORT["zh"].losses) == set(SHARED_REPORT["en"].losses)


def test_an_outage_names_every_seat_whatever_its_cause() -> None:
    """M-5, M-11: a cause that only its English words tell is an outage; its signs part no causes."""
    causes = (
        build_cause(("甲", "乙"), Cause(words="Acme: down; see status: red")),
        build_cause(
            ("丙",), state_cause("failed", "no upstream; try again", name="Acme", status=503).cause
        ),
        build_cause(("丁",), Cause(code="rejected_key")),
    )
    assert explain_outage(causes, "zh") == "甲, 乙：服务中断；丙：Acme 出错（503）；丁：密钥被拒"
    assert (
        explain_outage(causes, "en")
        == "甲, 乙: Acme: down; see status: red; 丙: Acme failed (503): no upstream; try again; 丁: its key was rejected"
    )


def build_cause(seats: tuple[str, ...], cause: Cause) -> SeatCause:
    return SeatCause(seats=tuple(SeatId(seat) for seat in seats), cause=cause)


@pytest.mark.parametrize("code", sorted(set(get_args(CauseCode)) - {"said"}))
def test_every_cause_has_a_chinese_sentence_with_its_values(code: CauseCode) -> None:
    """M-11: the sentence is Chinese but for names, keys, addresses and commands; what a provider wrote is not shown."""
    values = {
        "name": "Acme", "key": "ACME_KEY", "address": "http://127.0.0.1:9", "provider": "acme",
        "setting": "patience", "more": 10, "seconds": 2, "times": 10, "turn": 3, "kind": "speech",
        "code": 7, "status": 503, "wait": 5, "fetch": "ollama pull llama3.2",
    }  # fmt: skip
    sentence = explain_cause(
        state_cause(code, "the provider's words", **values).cause, "unreachable", "zh"
    )
    own = re.compile(r"Acme|ACME_KEY|http://\S+|`[^`]*`|--seat|\?key=|ollama pull llama3\.2|speech")
    assert re.search(r"[\u3400-\u9fff]", sentence)
    assert not _ENGLISH.search(own.sub("", sentence)), sentence
    assert "{" not in sentence
    assert "?" not in sentence.replace("?key=", "")


def test_the_codes_of_causes_are_those_that_have_sentences() -> None:
    assert set(LOSS_DETAILS["en"].details) == set(get_args(CauseCode)) - {"said"}


def test_a_cause_that_lacks_a_value_is_still_a_sentence() -> None:
    """A record that was imported may say anything."""
    assert str(Cause(code="needs_key")) == "? needs a key: set ? or choose another --seat"
