"""Words that the views of all protocols share, in both languages."""

from moot.reports.two_languages import TwoLanguages, both, in_each_language


class SharedReportText(TwoLanguages):
    """Every text, in one language."""

    decision = both("Decision", "决定")
    losses = both(
        {
            "timeout": "no answer in time",
            "error": "an error",
            "malformed": "an answer in no usable shape",
            "refused": "a refusal",
            "rejected_key": "a rejected key",
            "gave_up": "giving up after repeated crashes",
            "passed_over": "skipped by hand",
        },
        {
            "timeout": "超时未答",
            "error": "出错",
            "malformed": "回答不合格式",
            "refused": "拒绝回答",
            "rejected_key": "密钥被拒",
            "gave_up": "多次崩溃后放弃",
            "passed_over": "人工跳过",
        },
    )
    budgets = both(
        {
            "turns": "the turn budget",
            "tokens": "the token budget",
            "money": "the money budget",
            "time": "the time budget",
            "called": "its owner called for the end",
            "cancelled": "cancelled",
        },
        {
            "turns": "达到轮次上限",
            "tokens": "达到词元上限",
            "money": "达到金额上限",
            "time": "达到时间上限",
            "called": "负责人要求结束",
            "cancelled": "被取消",
        },
    )
    cost = both("Cost", "花费")
    cost_heads = both(
        ("Seat", "Platform", "Calls", "Tokens in", "Tokens out", "Money"),
        ("席位", "平台", "调用", "输入词元", "输出词元", "金额"),
    )
    total = both("Total", "合计")
    spent = both("Cost: {calls} model calls, {tokens} tokens", "花费：{calls} 次模型调用，{tokens} 词元")
    author = both("Written by", "执笔")
    loss_heads = both(
        ("Ledger entry", "Seat", "Asked for", "Lost by", "Detail"), ("账本条目", "席位", "所求", "失联原因", "详情")
    )


SHARED_REPORT_TEXT = in_each_language(SharedReportText)
