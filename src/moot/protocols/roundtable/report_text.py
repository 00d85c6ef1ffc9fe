"""The words of minutes, pages and terminals in both languages."""

from dataclasses import dataclass

from moot.domain.facts import Language
from moot.reports.shared_text import SHARED_REPORT_TEXT


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundtableReportText:
    conference: str
    agenda: str
    written_by: str
    no_minutes: str
    still_open: str
    cancelled: str
    ended_by: str
    disputed: str
    skipped: str
    speeches: str
    round: str
    prompt: str
    cost: str
    cost_heads: tuple[str, ...]
    total: str
    spent: str
    endings: dict[str, str]
    losses: dict[str, str]
    consensus_heads: tuple[str, ...]
    dispute_heads: tuple[str, ...]
    background: str
    order: str
    rounds: str
    rounds_held: str
    opening: str
    minutes: str
    author: str
    now: str
    awaited: str
    expected: str
    writing: str
    declared: str
    declares: str
    no_dispute: str
    missing: str
    skipped_in: str
    no_writer: str
    never_spoke: str
    loss_heads: tuple[str, ...]
    asked_for: dict[str, str]
    nothing_said: str
    roles: str
    role_heads: tuple[str, ...]


EN = RoundtableReportText(
    conference="Conference",
    agenda="Agenda",
    written_by="Minutes written by {seat}",
    no_minutes="Nobody could write the minutes; the speeches stand below.",
    still_open="The conference goes on.",
    cancelled="Cancelled before its end.",
    ended_by="Ended by",
    disputed="Left open",
    skipped="Skipped",
    speeches="Speeches",
    round="round {number}",
    prompt="For the next speaker",
    cost=SHARED_REPORT_TEXT["en"].cost,
    cost_heads=SHARED_REPORT_TEXT["en"].cost_heads,
    total=SHARED_REPORT_TEXT["en"].total,
    spent=SHARED_REPORT_TEXT["en"].spent,
    endings={**SHARED_REPORT_TEXT["en"].budgets, "rounds": "the last round", "consensus": "everyone having declared consensus"},
    losses=SHARED_REPORT_TEXT["en"].losses,
    consensus_heads=("consensus", "最终共识", "共识"),
    dispute_heads=("disagreements", "悬而未决", "分歧"),
    background="Background",
    order="Order of speaking",
    rounds="Rounds",
    rounds_held="{held} of at most {most}",
    opening="For the first speaker",
    minutes="Minutes",
    author=SHARED_REPORT_TEXT["en"].author,
    now="Now",
    awaited="Awaited",
    expected="What it was told",
    writing="the speeches are over, the minutes are being written",
    declared="Consensus declared",
    declares="declares consensus",
    no_dispute="The minutes name no disagreement that was left open.",
    missing="Skipped and lost",
    skipped_in="{seat} was skipped in round {round}: {reason}",
    no_writer="{seat} was asked for the minutes and failed twice",
    never_spoke="{seat} never spoke",
    loss_heads=SHARED_REPORT_TEXT["en"].loss_heads,
    asked_for={"speech": "speech", "minutes": "minutes"},
    nothing_said="Nothing has been said.",
    roles="Roles",
    role_heads=("Role", "Stance and instructions", "Platform"),
)
ZH = RoundtableReportText(
    conference="圆桌会议",
    agenda="议程",
    written_by="纪要由 {seat} 撰写",
    no_minutes="无人能够撰写纪要；发言见下。",
    still_open="会议仍在进行。",
    cancelled="会议在结束前被取消。",
    ended_by="结束于",
    disputed="悬而未决",
    skipped="被跳过",
    speeches="发言",
    round="第 {number} 轮",
    prompt="给下一位",
    cost=SHARED_REPORT_TEXT["zh"].cost,
    cost_heads=SHARED_REPORT_TEXT["zh"].cost_heads,
    total=SHARED_REPORT_TEXT["zh"].total,
    spent=SHARED_REPORT_TEXT["zh"].spent,
    endings={**SHARED_REPORT_TEXT["zh"].budgets, "rounds": "达到轮次上限", "consensus": "全体宣告共识"},
    losses=SHARED_REPORT_TEXT["zh"].losses,
    consensus_heads=EN.consensus_heads,
    dispute_heads=EN.dispute_heads,
    background="背景",
    order="发言顺序",
    rounds="轮次",
    rounds_held="已进行 {held} 轮，上限 {most} 轮",
    opening="给首位发言者",
    minutes="会议纪要",
    author=SHARED_REPORT_TEXT["zh"].author,
    now="当前",
    awaited="等待",
    expected="给它的提示",
    writing="发言结束，正在撰写纪要",
    declared="宣告共识",
    declares="宣告共识",
    no_dispute="纪要未列出悬而未决的分歧。",
    missing="被跳过与失联",
    skipped_in="{seat} 在第 {round} 轮被跳过：{reason}",
    no_writer="{seat} 受请撰写纪要，两次失败",
    never_spoke="{seat} 从未发言",
    loss_heads=SHARED_REPORT_TEXT["zh"].loss_heads,
    asked_for={"speech": "发言", "minutes": "纪要"},
    nothing_said="没有发言。",
    roles="角色",
    role_heads=("角色", "立场与说明", "平台"),
)
REPORT_TEXT: dict[Language, RoundtableReportText] = {"en": EN, "zh": ZH}
