"""The words of minutes and pages in both languages."""

from moothall.reports.shared_text import SHARED_REPORT_TEXT, SharedReportText
from moothall.reports.two_languages import both, in_each_language


class PersonaReportText(SharedReportText):
    """Every text, in one language."""

    question = both("Question", "议题")
    read_back = both("Read back from a file; it was concluded elsewhere.", "由文件读回，结论在别处作出。")
    confidence = both("Confidence of its author", "执笔者的把握")
    answers = both("answers", "回应")
    unaware = both("was under way when {line} came", "在 {line} 到来时已在发言")
    overruled = both("Overruled: most of the weight that took a side opposes it.", "压过多数：表态者的多数权重反对这一决定。")
    nobody_spoke = both("Nobody spoke: no argument was heard before the decision.", "无人发言：决定之前没有听到任何论点。")
    inputs = both("The user's inputs, and what the decision answers", "用户的补充，以及决定的答复")
    no_answer = both("the decision says nothing to it", "决定未作答复")
    waited = both("waited {turns} turns", "已等待 {turns} 轮")
    turn_bids = both("Turn {number}", "第 {number} 轮")
    speaks = both("wants to speak", "想发言")
    silent = both("silent", "沉默")
    floor = both("floor", "发言权")
    footer = both("turn {turn}  ·  {tokens} tokens", "第 {turn} 轮  ·  {tokens} 词元")
    consensus = both("Consensus so far", "目前的共识")
    agreed = both("Agreed", "已同意")
    contested = both("Contested", "有争议")
    by = both("by", "由")
    endings = both(
        {
            **SHARED_REPORT_TEXT["en"].budgets,
            "quiet": "every reaction was below the threshold",
            "nobody_speaks": "nobody wanted to speak in two turns",
            "sufficient": "the decider found that enough was said",
            "seats_lost": "no seat could take the floor in two turns",
            "nobody_spoke": "nobody wanted to speak at all",
        },
        {
            **SHARED_REPORT_TEXT["zh"].budgets,
            "quiet": "所有席位的触动都低于阈值",
            "nobody_speaks": "连续两轮无人要发言",
            "sufficient": "决策者判定信息已充足",
            "seats_lost": "连续两轮没有席位能够发言",
            "nobody_spoke": "自始至终无人要发言",
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
            "waited": "highest with what waiting added",
        },
        {
            "highest": "触动最高",
            "longest_silent": "并列：沉默最久",
            "first_by_id": "并列：按席位名",
            "only_one": "唯一想发言者",
            "nobody_else": "刚发过言，但无他人想发言",
            "others_first": "除上一位发言者外触动最高",
            "waited": "计入等待后触动最高",
        },
    )


REPORT_TEXT = in_each_language(PersonaReportText)
