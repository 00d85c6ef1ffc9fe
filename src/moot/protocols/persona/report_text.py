"""The words of minutes and pages in both languages."""

from moot.reports.shared_text import SHARED_REPORT_TEXT, SharedReportText
from moot.reports.two_languages import both, in_each_language


class PersonaReportText(SharedReportText):
    """Every text, in one language."""

    question = both("Question", "议题")
    read_back = both("Read back from a file; it was concluded elsewhere.", "由文件读回，结论在别处作出。")
    confidence = both("Confidence of its author", "执笔者的把握")
    answers = both("answers", "回应")
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
