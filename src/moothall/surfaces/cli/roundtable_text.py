"""What the commands of `moot roundtable` say about one conference, in its language (M-11)."""

from moothall.reports.two_languages import Both, TwoLanguages, both, in_each_language


class RoundtableCommandText(TwoLanguages):
    """Every text, in one language."""

    def format_turns(self, number: int) -> str:
        return (self.one_turn if number == 1 else self.turns).format(number=number)

    def format_speeches(self, spoken: int, skipped: int) -> str:
        """How often a role spoke, and how often its turn was skipped."""
        told = (self.one_speech if spoken == 1 else self.speeches).format(number=spoken)
        return told + (self.skipped_once if skipped == 1 else self.skipped.format(number=skipped) if skipped else "")

    statuses: Both[dict[str, str]] = both(
        {"open": "open", "concluding": "concluding", "closed": "closed"},
        {"open": "进行中", "concluding": "总结中", "closed": "已结束"},
    )
    round = both("round {round} of {rounds}, {speaker}'s turn", "第 {round} 轮（共 {rounds} 轮），轮到 {speaker}")
    some_damage = both(", {number} damaged: see `check`", "，{number} 处损坏：见 `check`")
    session = both("session {session}, {turns} taken", "会议 {session}，已有 {turns}")
    one_turn = both("{number} turn", "{number} 次发言")
    turns = both("{number} turns", "{number} 次发言")
    one_speech = both("{number} speech", "发言 {number} 次")
    speeches = both("{number} speeches", "发言 {number} 次")
    skipped_once = both(", skipped 1 time", "，跳过 1 次")
    skipped = both(", skipped {number} times", "，跳过 {number} 次")
    role = both("  {role} ({platform})", "  {role}（{platform}）")
    role_spoke = both("  {role} ({platform}): {told}", "  {role}（{platform}）：{told}")
    outside = both("from outside", "外部")
    writing = both("{role} is writing", "{role} 正在写入")
    damaged = both("damaged: {what}", "损坏：{what}")
    next = both("next: {role}", "下一位：{role}")
    closed = both("closed", "已结束")
    stopped = both(
        "Stopped. Nothing is lost; continue with: moot roundtable relay {conference}",
        "已停止。没有丢失任何内容；继续：moot roundtable relay {conference}",
    )
    no_faults = both("no faults found", "没有发现问题")
    nothing_to_repair = both("nothing to repair", "无需修复")


TEXT = in_each_language(RoundtableCommandText)
