"""Words that the views of all protocols share, in both languages."""

from collections.abc import Iterable

from moothall.domain.budget import BudgetKind, Spent
from moothall.domain.facts import Loss, SessionParked
from moothall.domain.safe_text import one_line
from moothall.reports.loss_text import explain_amount, explain_detail, explain_outage
from moothall.reports.two_languages import Both, TwoLanguages, both, in_each_language


class SharedReportText(TwoLanguages):
    """Every text, in one language."""

    def format_loss(self, seat: str, reason: Loss, detail: str) -> str:
        """How a seat was lost, in one line of the live view."""
        told = one_line(explain_detail(detail, reason, self.language))
        return f"✗ {seat}: {self.losses[reason]}" + (f" ({told})" if told else "")

    def format_parking(self, parked: SessionParked) -> str:
        """Why a session is parked, in one line."""
        return self.parked.format(reason=one_line(explain_outage(parked.reason, parked.seats, self.language)))

    def format_mends(self, mends: Iterable[str]) -> str:
        """What was changed to read an answer: the code of each note in words, fields and what was given as they are."""
        return self.between_mends.join(self._format_mend(mend) for mend in mends)

    def _format_mend(self, mend: str) -> str:
        code, _, rest = mend.partition(" ")
        if code not in self.mend_codes:
            # Of a plugin, in words of its own.
            return mend
        whole = "the answer"
        about = self.whole_answer + rest.removeprefix(whole) if rest.startswith(whole) else rest
        return f"{self.mend_codes[code]} {about}"

    def format_limit(self, budget: BudgetKind, spent: str) -> str:
        """Which limit was reached, in one line of the live view."""
        told = explain_amount(spent, self.language)
        return f"■ {self.budgets[budget]}" + (f": {told}" if told else "")

    def format_money(self, spent: Spent) -> str:
        """The price in US dollars, and plainly so when part of it is unknown."""
        if not spent.calls or (not spent.cost and not spent.unpriced):
            return "$0"
        if spent.unpriced == spent.calls:
            return self.no_price
        known = f"${spent.cost / 1e6:.4f}"
        return f"{known} + {self.unpriced.format(calls=spent.unpriced)}" if spent.unpriced else known

    minutes = both("Minutes", "会议纪要")
    demo = both("demo: written in advance, played by the real rules", "演示：台词事先写好，由真实规则推进")
    decision = both("Decision", "决定")
    undecided = both("Undecided", "未决")
    strengths: Both[dict[str, str]] = both(
        {
            "strong": "strong",
            "fair": "fair",
            "weak": "weak",
            "contested": "contested",
            "overruled": "overruled",
            "none": "none",
        },
        {"strong": "有力", "fair": "尚可", "weak": "薄弱", "contested": "有争议", "overruled": "压过多数", "none": "无"},
    )
    strength_reasons: Both[dict[str, str]] = both(
        {
            "undecided": "nothing was decided",
            "opposed": "most of the weight that took a side is against it",
            "narrow": "carried narrowly",
            "overturned": "most had written otherwise, and nobody names a reason for the change",
            "disputed": "a disagreement was left open",
            "few_voices": "less than half of the weight took a side",
            "could_differ": "the missing voices could have changed it",
            "unsure": "less sure than one ordinary vote",
            "one_voice": "one voice; nobody else stands behind it",
            "agreed": "nobody is against it, and the group is sure",
            "some_oppose": "some are against it",
            "open_challenges": "a challenge was left open",
            "no_vote": "several stand behind it, nobody voted",
            "not_all_sure": "nobody is against it, not all are sure",
        },
        {
            "undecided": "没有作出决定",
            "opposed": "表态的权重中多数反对",
            "narrow": "以微弱优势通过",
            "overturned": "多数席位原先所写不同，且无人说明为何改变",
            "disputed": "有分歧悬而未决",
            "few_voices": "表态者不足权重的一半",
            "could_differ": "缺失的意见可能改变结果",
            "unsure": "把握低于普通一票",
            "one_voice": "只有一方的意见，无他人支持",
            "agreed": "无人反对，且群体把握充分",
            "some_oppose": "有人反对",
            "open_challenges": "有质疑未获回应",
            "no_vote": "有多方支持，但未经表决",
            "not_all_sure": "无人反对，但并非都有把握",
        },
    )
    no_decision = both("No decision: every seat that could have written it failed.", "没有决定：所有可以执笔的席位都失败了。")
    still_thinking = both("The meeting goes on; nothing is decided yet.", "会议仍在进行，尚无决定。")
    parked = both("Parked, nothing is decided or lost: {reason}", "会议已暂停，没有作出决定，也没有丢失内容：{reason}")
    how_to_resume = both("Resume when that works again: moot resume {session}", "恢复正常后继续：moot resume {session}")
    trying_again = both(
        "Parked: trying again in {seconds} s; Ctrl-C leaves it parked.", "已暂停：{seconds} 秒后重试；按 Ctrl-C 保持暂停。"
    )
    held_up = both("waits: the limit of its provider is reached", "等待中：其提供方已达限额")
    ended_by_losses = both(
        "Its last asks were lost. Continue from before those losses: moot fork {session}",
        "最后的提问均已失联。可从失联之前继续：moot fork {session}",
    )
    swapped = both("{seat} is filled by {platform} from here on", "{seat} 此后由 {platform} 担任")
    cancelled = both("Cancelled before a decision.", "在作出决定之前被取消。")
    rests_on = both("rests on", "依据")
    names_nothing = both("names no entry", "未注明依据")
    confidence = both("Confidence", "把握")
    support = both("Weighed support", "加权支持度")
    turnout = both(
        "{support} of those who took a side, who hold {turnout} of the weight", "表态者中占 {support}，表态者共占权重 {turnout}"
    )
    ended_by = both("Ended by", "结束原因")
    reasons = both("Reasons", "理由")
    dissent = both("Dissent", "异议")
    no_dissent = both("Nobody dissented.", "无人持异议。")
    no_opposition = both(
        "Nobody opposed it, but not all took a side. Abstained: {seats}.", "无人反对，但并非人人表态。弃权：{seats}。"
    )
    reported = both("reported", "转述")
    open_questions = both("Open questions", "悬而未决")
    positions = both("Positions, before and after", "立场的前后变化")
    position_heads: Both[tuple[str, ...]] = both(
        ("Seat", "Before, blind", "Sure", "Last word", "Verdict", "Sure", "Weight", "Moved by"),
        ("席位", "事前（盲答）", "把握", "最后意见", "表态", "把握", "权重", "因何改变"),
    )
    verdicts: Both[dict[str, str]] = both(
        {"support": "support", "conditional": "conditional", "oppose": "oppose", "abstain": "abstain"},
        {"support": "支持", "conditional": "有条件支持", "oppose": "反对", "abstain": "弃权"},
    )
    not_stated = both("not stated", "未说明")
    lost = both("Lost seats", "失联席位")
    lost_line = both(
        "{seat}: failed {times} ×, last by {last}; holds {share} of the weight",
        "{seat}：失败 {times} 次，最后一次因{last}；占权重 {share}",
    )
    voiceless = both("its last word is missing", "缺少其最后意见")
    could_differ = both("With the missing last words the outcome could have been another.", "若有缺失的意见，结果可能不同。")
    could_not_differ = both("The missing last words could not have changed the outcome.", "缺失的意见不足以改变结果。")
    timeline = both("Timeline", "时间线")
    losses_title = both("Every loss", "每次失联")
    seats = both("Seats", "席位")
    seat_heads: Both[tuple[str, ...]] = both(("Seat", "Stance", "Platform", "Weight"), ("席位", "立场", "平台", "权重"))
    losses: Both[dict[str, str]] = both(
        {
            "timeout": "no answer in time",
            "error": "an error",
            "malformed": "an answer in no usable shape",
            "refused": "a refusal",
            "rejected_key": "a rejected key",
            "gave_up": "giving up after repeated crashes",
            "passed_over": "skipped by hand",
            "unreachable": "an outage",
        },
        {
            "timeout": "超时未答",
            "error": "出错",
            "malformed": "回答不合格式",
            "refused": "拒绝回答",
            "rejected_key": "密钥被拒",
            "gave_up": "多次崩溃后放弃",
            "passed_over": "人工跳过",
            "unreachable": "服务中断",
        },
    )
    asked_for: Both[dict[str, str]] = both(
        {
            "consult": "consultation",
            "record": "record of a consultation",
            "position": "blind position",
            "intent": "bid for the floor",
            "speech": "speech",
            "draft": "draft of the decision",
            "stand": "last word",
            "free": "contribution",
            "propose": "proposal",
            "argue": "argument",
            "synthesize": "synthesis",
            "decide": "decision",
            "vote": "vote",
            "minutes": "minutes",
            "work": "work",
            "validate": "validation",
            "review": "second validation",
            "explore": "round report",
            "collide": "answer to a collision",
            "compare": "comparison of ideas",
            "ballot": "ballot",
            "synthesis": "synthesis",
            "shutdown": "acknowledgement of the end",
        },
        {
            "consult": "咨询",
            "record": "咨询记录",
            "position": "盲答立场",
            "intent": "发言意愿",
            "speech": "发言",
            "draft": "决定草案",
            "stand": "最后意见",
            "free": "发言",
            "propose": "提议",
            "argue": "论证",
            "synthesize": "综合",
            "decide": "决定",
            "vote": "投票",
            "minutes": "纪要",
            "work": "产出",
            "validate": "验证",
            "review": "再次验证",
            "explore": "本轮报告",
            "collide": "碰撞回应",
            "compare": "观点比较",
            "ballot": "表决票",
            "synthesis": "综合",
            "shutdown": "结束确认",
        },
    )
    budgets: Both[dict[str, str]] = both(
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
    endings = budgets
    cost = both("Cost", "花费")
    cost_heads: Both[tuple[str, ...]] = both(
        ("Seat", "Platform", "Calls", "Tokens in", "Tokens out", "Money"),
        ("席位", "平台", "调用", "输入词元", "输出词元", "金额"),
    )
    total = both("Total", "合计")
    no_price = both("price unknown", "价格未知")
    unpriced = both("{calls} unpriced calls", "{calls} 次调用价格未知")
    tokens = both("{tokens} tokens", "{tokens} 词元")
    stops = both("Ctrl-C stops, nothing is lost", "Ctrl-C 停止，不会丢失任何内容")
    spent = both("Cost: {calls} model calls, {tokens} tokens", "花费：{calls} 次模型调用，{tokens} 词元")
    author = both("Written by", "执笔")
    doors: Both[dict[str, str]] = both(
        {
            "token": "with the token {name}",
            "local": "on this machine, {name}",
            "relay": "from a file of the folder",
            "program": "by the program {name}",
        },
        {
            "token": "凭令牌 {name}",
            "local": "在本机由 {name} 输入",
            "relay": "来自文件夹中的文件",
            "program": "由程序 {name} 给出",
        },
    )
    spoken_by_owner = both("spoken by the owner for this seat ({door})", "由所有者代此席位发言（{door}）")
    mend_codes: Both[dict[str, str]] = both(
        {
            "read": "read",
            "left_out": "left out",
            "cut": "cut",
            "repaired": "repaired",
            "words": "read from words:",
            "filled": "filled in",
            "missing": "missing:",
            "skipped": "skipped",
        },
        {
            "read": "读取",
            "left_out": "略去",
            "cut": "截短",
            "repaired": "修复",
            "words": "从文字读取",
            "filled": "补上",
            "missing": "缺少",
            "skipped": "跳过",
        },
    )
    whole_answer = both("the answer", "回答")
    between_mends = both("; ", "；")
    as_read = both("as read: {mends}", "读取时的调整：{mends}")
    answerers = both("Who answered, and how", "谁以何种方式作答")
    answerer_heads: Both[tuple[str, ...]] = both(("Seat", "Came in", "Model", "Answers"), ("席位", "途径", "模型", "次数"))
    mended = both("Answers that were changed to be read", "读取时作了调整的回答")
    mended_heads: Both[tuple[str, ...]] = both(
        ("Ledger entry", "Seat", "Asked for", "Changed"), ("账本条目", "席位", "所求", "调整")
    )
    loss_heads: Both[tuple[str, ...]] = both(
        ("Ledger entry", "Seat", "Asked for", "Lost by", "Detail"), ("账本条目", "席位", "所求", "失联原因", "详情")
    )


SHARED_REPORT_TEXT = in_each_language(SharedReportText)
