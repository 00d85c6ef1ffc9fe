"""Words that the views of all protocols share, in both languages."""

from dataclasses import dataclass

from moot.domain.facts import Language


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedReportText:
    decision: str
    losses: dict[str, str]
    budgets: dict[str, str]
    cost: str
    cost_heads: tuple[str, ...]
    total: str
    spent: str
    author: str
    loss_heads: tuple[str, ...]


EN = SharedReportText(
    decision="Decision",
    losses={
        "timeout": "no answer in time",
        "error": "an error",
        "malformed": "an answer in no usable shape",
        "refused": "a refusal",
        "rejected_key": "a rejected key",
        "gave_up": "giving up after repeated crashes",
        "passed_over": "skipped by hand",
    },
    budgets={
        "turns": "the turn budget",
        "tokens": "the token budget",
        "money": "the money budget",
        "time": "the time budget",
        "called": "its owner called for the end",
        "cancelled": "cancelled",
    },
    cost="Cost",
    cost_heads=("Seat", "Platform", "Calls", "Tokens in", "Tokens out", "Money"),
    total="Total",
    spent="Cost: {calls} model calls, {tokens} tokens",
    author="Written by",
    loss_heads=("Ledger entry", "Seat", "Asked for", "Lost by", "Detail"),
)
ZH = SharedReportText(
    decision="决定",
    losses={
        "timeout": "超时未答",
        "error": "出错",
        "malformed": "回答不合格式",
        "refused": "拒绝回答",
        "rejected_key": "密钥被拒",
        "gave_up": "多次崩溃后放弃",
        "passed_over": "人工跳过",
    },
    budgets={
        "turns": "达到轮次上限",
        "tokens": "达到词元上限",
        "money": "达到金额上限",
        "time": "达到时间上限",
        "called": "负责人要求结束",
        "cancelled": "被取消",
    },
    cost="花费",
    cost_heads=("席位", "平台", "调用", "输入词元", "输出词元", "金额"),
    total="合计",
    spent="花费：{calls} 次模型调用，{tokens} 词元",
    author="执笔",
    loss_heads=("账本条目", "席位", "所求", "失联原因", "详情"),
)
SHARED_REPORT_TEXT: dict[Language, SharedReportText] = {"en": EN, "zh": ZH}
