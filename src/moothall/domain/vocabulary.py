"""What words mean, in both languages, whoever writes them: choices, degrees and numbers.

People and models are read by the same words; each is understood in a session of either language.
"""

from typing import Final

_SUPPORT: Final = (
    *("support", "supports", "agree", "agreed", "approve", "accept", "endorse", "in favour", "in favor", "am for", "vote for"),
    *("for", "second", "yes", "aye", "ok", "okay"),
    *("支持", "赞成", "赞同", "同意", "是的", "是", "好的", "好", "可以"),
)
_CONDITIONAL: Final = (
    *("conditional", "conditionally", "conditional support", "support on a condition", "support with conditions", "yes if"),
    *("有条件支持", "有条件"),
)
_OPPOSE: Final = (
    *("oppose", "opposed", "object", "reject", "disagree", "against", "vote against", "no", "nay"),
    *("反对", "不支持", "不赞成", "不赞同", "不同意", "不接受", "不可以", "不行", "否", "不"),
)
_CHALLENGE: Final = ("challenge", "objection", "question", "contest", "doubt", "质疑", *_OPPOSE)

CHOICE_WORDS: Final[dict[str, tuple[str, ...]]] = {
    "support": _SUPPORT,
    "conditional_support": _CONDITIONAL,
    "conditional": _CONDITIONAL,
    "oppose": _OPPOSE,
    "abstain": (
        *("abstention", "neutral", "undecided", "no opinion", "no idea"),
        *("弃权", "中立", "没有意见", "不表态"),
    ),
    "agree": _SUPPORT,
    "challenge": _CHALLENGE,
    "contest": _CHALLENGE,
    "extend": ("add", "build", "补充", "扩展"),
    "propose": ("proposal", "suggest", "提议", "提案", "建议"),
    "synthesize": ("synthesis", "synthesise", "combine", "summary", "summarize", "resolution", "综合", "总结"),
    "vote": ("ballot", "投票"),
    "pass": ("skip", "nothing", "跳过"),
    "none": ("neutral", "neither", "n/a", "无", "中立"),
    "adopted": ("adopt", "accept", "accepted", "yes", "采纳", "接受"),
    "partly": ("partial", "partially", "partly adopted", "in part", "部分采纳", "部分"),
    "declined": ("decline", "reject", "rejected", "no", "not adopted", "拒绝", "不采纳", "未采纳"),
    "confirmed": ("confirm", "true", "correct", "verified", "yes", "证实", "确认", "属实", "正确", "是", "对"),
    "refuted": ("refute", "false", "wrong", "incorrect", "no", "证伪", "反驳", "不实", "错误", "否", "不"),
    "unclear": ("unknown", "uncertain", "unsure", "not sure", "不明", "不确定", "不知道"),
    "APPROVED": ("approve", "accept", "accepted", "pass", "passed", "yes", "ok", "okay", "通过", "批准", "同意"),
    "REJECTED": ("reject", "refuse", "not approved", "fail", "failed", "no", "驳回", "不通过", "不同意", "拒绝"),
    "high": ("sure", "very", "高"),
    "medium": ("moderate", "mid", "fair", "中", "中等"),
    "low": ("unsure", "slight", "低"),
    "yes": ("y", "true", "accept", "agree", "give way", "接受", "同意", "是", "是的", "对", "真"),
    "no": ("n", "false", "hold", "reject", "decline", "不接受", "坚持", "否", "不", "不是", "假"),
    "known": ("yes", "知道"),
    "unknown": ("no", "不知道"),
    "sure": ("certain", "very sure", "quite sure", "确定", "很有把握", "有把握"),
    "fairly sure": ("fairly", "rather sure", "比较确定", "比较有把握"),
    "unsure": ("not sure", "uncertain", "不确定", "没把握", "没有把握"),
}
"""What else says the same as a value: of a position, a verdict, a type of contribution, a degree."""

_BARE: Final = """
yes no ok okay aye nay second true false add build pass skip nothing question proposal resolution summary ballot vote neutral
neither wrong correct fail known unknown none 是 好 不 否 可以 对 真 假 无 高 中 低
"""
BARE_WORDS: Final = frozenset(_BARE.split())
"""Words that say something only where nothing hangs on them: "no problem" is not "no"."""
LONE_WORDS: Final = frozenset({"for", "very", "fair", "mid", "y", "n"})
"""Words that say something only as a whole answer, or before a mark: "for as long as it rains" supports nothing."""

DEGREES: Final[dict[str, float]] = {
    **dict.fromkeys(("very high", "sure", "certain", "very sure", "quite sure", "urgent", "很高", "非常确定", "紧急"), 0.9),
    **dict.fromkeys(("确定", "有把握", "很有把握"), 0.9),
    **dict.fromkeys(("high", "confident", "strong", "高"), 0.8),
    **dict.fromkeys(("fairly", "fairly sure", "rather sure", "比较确定", "比较有把握"), 0.7),
    **dict.fromkeys(("medium", "moderate", "fair", "mid", "中", "中等"), 0.6),
    **dict.fromkeys(("unsure", "not sure", "uncertain", "不确定", "没把握", "没有把握"), 0.55),
    **dict.fromkeys(("half", "一半"), 0.5),
    **dict.fromkeys(("low", "weak", "slight", "低"), 0.2),
    **dict.fromkeys(("very low", "very unsure", "很低"), 0.1),
}
"""The share that a word stands for."""

ONES: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen"),
    *("fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
CHINESE_DIGITS: Final = "零一二三四五六七八九十"
EMPTY_WORDS: Final = frozenset({"", "null", "none", "nil", "n/a", "na", "undefined", "-", "—", "无", "没有", "空", "[]", "{}"})
