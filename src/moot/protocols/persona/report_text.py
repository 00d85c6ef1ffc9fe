"""The words of minutes and pages in both languages."""

from moot.reports.shared_text import SHARED_REPORT_TEXT, SharedReportText
from moot.reports.two_languages import both, in_each_language


class PersonaReportText(SharedReportText):
    """Every text, in one language."""

    minutes = both("Minutes", "会议纪要")
    question = both("Question", "议题")
    decision = both("Decision", "决定")
    no_decision = both("No decision: every seat that could have written it failed.", "没有决定：所有可以执笔的席位都失败了。")
    still_thinking = both("The meeting goes on; nothing is decided yet.", "会议仍在进行，尚无决定。")
    cancelled = both("Cancelled before a decision.", "在作出决定之前被取消。")
    read_back = both("Read back from a file; it was concluded elsewhere.", "由文件读回，结论在别处作出。")
    rests_on = both("rests on", "依据")
    names_nothing = both("names no entry", "未注明依据")
    confidence = both("Confidence of its author", "执笔者的把握")
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
    position_heads = both(
        ("Seat", "Before, blind", "Sure", "Last word", "Verdict", "Sure", "Weight", "Moved by"),
        ("席位", "事前（盲答）", "把握", "最后意见", "表态", "把握", "权重", "因何改变"),
    )
    lost = both("Lost seats", "失联席位")
    lost_line = both(
        "{seat}: failed {times} ×, last by {last}; holds {share} of the weight",
        "{seat}：失败 {times} 次，最后一次因{last}；占权重 {share}",
    )
    voiceless = both("its last word is missing", "缺少其最后意见")
    could_differ = both("With the missing last words the outcome could have been another.", "若有缺失的意见，结果可能不同。")
    could_not_differ = both("The missing last words could not have changed the outcome.", "缺失的意见不足以改变结果。")
    timeline = both("Timeline", "时间线")
    answers = both("answers", "回应")
    silence = both("Who was silent, and why", "谁在沉默，为什么")
    silence_heads = both(("Turn", "Seat", "Reaction", "", "Reason"), ("轮次", "席位", "触动", "", "理由"))
    speaks = both("wants to speak", "想发言")
    silent = both("silent", "沉默")
    floor = both("floor", "发言权")
    footer = both("turn {turn}  ·  {tokens} tokens", "第 {turn} 轮  ·  {tokens} 词元")
    stops = both("Ctrl-C stops", "Ctrl-C 停止")
    consensus = both("Consensus so far", "目前的共识")
    agreed = both("Agreed", "已同意")
    contested = both("Contested", "有争议")
    by = both("by", "由")
    seats = both("Seats", "席位")
    seat_heads = both(("Seat", "Stance", "Platform", "Weight"), ("席位", "立场", "平台", "权重"))
    verdicts = both(
        {"support": "support", "conditional": "conditional", "oppose": "oppose", "abstain": "abstain"},
        {"support": "支持", "conditional": "有条件支持", "oppose": "反对", "abstain": "弃权"},
    )
    endings = both(
        {
            **SHARED_REPORT_TEXT["en"].budgets,
            "quiet": "every reaction was below the threshold",
            "nobody_speaks": "nobody wanted to speak in two turns",
            "sufficient": "the decider found that enough was said",
            "seats_lost": "no seat could take the floor in two turns",
        },
        {
            **SHARED_REPORT_TEXT["zh"].budgets,
            "quiet": "所有席位的触动都低于阈值",
            "nobody_speaks": "连续两轮无人要发言",
            "sufficient": "决策者判定信息已充足",
            "seats_lost": "连续两轮没有席位能够发言",
        },
    )
    floors = both(
        {
            "highest": "highest reaction",
            "longest_silent": "tie: silent for longest",
            "first_by_id": "tie: first by id",
            "only_one": "the only one to bid",
            "nobody_else": "spoke last, but nobody else bid",
            "others_first": "highest of those who did not speak last",
        },
        {
            "highest": "触动最高",
            "longest_silent": "并列：沉默最久",
            "first_by_id": "并列：按席位名",
            "only_one": "唯一想发言者",
            "nobody_else": "刚发过言，但无他人想发言",
            "others_first": "除上一位发言者外触动最高",
        },
    )


REPORT_TEXT = in_each_language(PersonaReportText)
