"""The words of minutes, pages and terminals in both languages."""

from moothall.reports.shared_text import SHARED_REPORT_TEXT, SharedReportText
from moothall.reports.two_languages import both, in_each_language


class RoundtableReportText(SharedReportText):
    """Every text, in one language."""

    conference = both("Conference", "圆桌会议")
    agenda = both("Agenda", "议程")
    no_decision = both("Nobody could write the minutes; the speeches stand below.", "无人能够撰写纪要；发言见下。")
    still_thinking = both("The conference goes on.", "会议仍在进行。")
    cancelled = both("Cancelled before its end.", "会议在结束前被取消。")
    disputed = both("Left open", "悬而未决")
    skipped = both("Skipped", "被跳过")
    speeches = both("Speeches", "发言")
    speech = both("speech {number}", "发言 {number}")
    round = both("round {number}", "第 {number} 轮")
    prompt = both("For the next speaker", "给下一位")
    endings = both(
        {**SHARED_REPORT_TEXT["en"].budgets, "rounds": "the last round", "consensus": "everyone having declared consensus"},
        {**SHARED_REPORT_TEXT["zh"].budgets, "rounds": "达到轮次上限", "consensus": "全体宣告共识"},
    )
    background = both("Background", "背景")
    order = both("Order of speaking", "发言顺序")
    rounds = both("Rounds", "轮次")
    rounds_held = both("{held} of at most {most}", "已进行 {held} 轮，上限 {most} 轮")
    opening = both("For the first speaker", "给首位发言者")
    now = both("Now", "当前")
    awaited = both("Awaited", "等待")
    expected = both("What it was told", "给它的提示")
    writing = both("the speeches are over, the minutes are being written", "发言结束，正在撰写纪要")
    declared = both("Consensus declared", "宣告共识")
    declares = both("declares consensus", "宣告共识")
    no_dispute = both("The minutes name no disagreement that was left open.", "纪要未列出悬而未决的分歧。")
    missing = both("Skipped and lost", "被跳过与失联")
    skipped_in = both("{seat} was skipped in round {round}: {reason}", "{seat} 在第 {round} 轮被跳过：{reason}")
    no_writer = both("{seat} was asked for the minutes and failed twice", "{seat} 受请撰写纪要，两次失败")
    minutes_lack = both(
        "The minutes lack these sections, also after they were sent back: {sections}",
        "纪要缺少以下各节，退回一次后仍然如此：{sections}",
    )
    minutes_returned = both("the minutes came back to {seat}: they lack {sections}", "纪要退回 {seat}：缺少 {sections}")
    some_sections = both("without: {sections}", "缺少：{sections}")
    no_sections = both("without sections", "未分节")
    never_spoke = both("{seat} never spoke", "{seat} 从未发言")
    nothing_said = both("Nothing has been said.", "没有发言。")
    roles = both("Roles", "角色")
    role_heads = both(("Role", "Stance and instructions", "Platform"), ("角色", "立场与说明", "平台"))


REPORT_TEXT = in_each_language(RoundtableReportText)
