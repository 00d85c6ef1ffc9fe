"""The words of a pipeline's reports, pages and terminal lines in both languages."""

from moothall.reports.shared_text import SHARED_REPORT_TEXT, SharedReportText
from moothall.reports.two_languages import both, in_each_language


class PipelineReportText(SharedReportText):
    """Every text, in one language."""

    pipeline = both("Pipeline", "流水线")
    decision = both("Result", "结果")
    still_thinking = both("The pipeline goes on.", "流水线仍在进行。")
    cancelled = both("Cancelled before its end.", "在结束前被取消。")
    no_decision = both("The pipeline was not completed.", "流水线未能完成。")
    author = both("Made by", "产出者")
    at_step = both("In the step", "所在步骤")
    rejected = both("Rejected", "未通过")
    lost = both("Lost agents", "失联的 Agent")
    lost_line = both("{seat}: failed {times} ×, last by {last}", "{seat}：失败 {times} 次，最后一次因{last}")
    steps = both("Steps", "步骤")
    columns = both(("Step", "Agent", "State", "Done"), ("步骤", "Agent", "状态", "次数"))
    states = both(
        {"done": "done", "approved": "APPROVED", "current": "at work", "waiting": "waiting", "rejected": "REJECTED"},
        {"done": "完成", "approved": "通过", "current": "进行中", "waiting": "等待", "rejected": "驳回"},
    )
    verdicts = both({"APPROVED": "APPROVED", "REJECTED": "REJECTED"}, {"APPROVED": "通过", "REJECTED": "驳回"})
    endings = both(
        {
            **SHARED_REPORT_TEXT["en"].budgets,
            "completed": "all steps done",
            "rejected": "a gate that rejected for good",
            "failed": "an agent that failed twice in a step",
        },
        {
            **SHARED_REPORT_TEXT["zh"].budgets,
            "completed": "全部步骤完成",
            "rejected": "验证最终未通过",
            "failed": "某个 Agent 在一步中两次失败",
        },
    )
    then = both(
        {"back": "back to {to}", "consult": "the validator asks the maker", "stop": "the pipeline stops"},
        {"back": "退回 {to}", "consult": "验证者向产出者咨询", "stop": "流水线停止"},
    )


REPORT_TEXT = in_each_language(PipelineReportText)
