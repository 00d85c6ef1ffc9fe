"""The words of the report of a consultation on its own, in both languages."""

from moothall.reports.shared_text import SHARED_REPORT_TEXT, SharedReportText
from moothall.reports.two_languages import both, in_each_language


class QuestionReportText(SharedReportText):
    """Every text, in one language."""

    minutes = both("Consultation", "咨询")
    decision = both("Answer", "回答")
    question = both("Question", "问题")
    no_decision = both("There is no answer.", "没有得到回答。")
    still_thinking = both("There is no answer yet.", "尚无回答。")
    cancelled = both("Cancelled before there was an answer.", "在得到回答之前被取消。")
    endings = both(
        {
            **SHARED_REPORT_TEXT["en"].budgets,
            "answered": "an answer",
            "unknown": "an answer that does not know",
            "failed": "a consultation that failed",
            "refused": "a refusal of the director",
        },
        {
            **SHARED_REPORT_TEXT["zh"].budgets,
            "answered": "得到回答",
            "unknown": "对方表示不知道",
            "failed": "咨询失败",
            "refused": "Director 拒绝",
        },
    )


REPORT_TEXT = in_each_language(QuestionReportText)
