"""What the commands say about one session, in its language (M-11)."""

from moothall.reports.two_languages import TwoLanguages, both, in_each_language


class SessionText(TwoLanguages):
    """Every text, in one language."""

    session = both("session {session}", "会议 {session}")
    waiting = both(
        "waiting for {seat}{until}: moot answer {session} --seat {seat}",
        "等待 {seat}{until}：moot answer {session} --seat {seat}",
    )
    until = both(" by {time} UTC", "（截止 {time} UTC）")
    then_resume = both("then resume with: moot resume {session}", "然后继续：moot resume {session}")
    stopped = both(
        "Stopped. Nothing is lost; resume with: moot resume {session}", "已停止。没有丢失任何内容；继续：moot resume {session}"
    )
    waits = both("It waits for answers from outside: {seats}", "正在等待外部席位的回答：{seats}")
    expected = both(
        "expected: {calls} model calls, {tokens} tokens, {price}", "预计：{calls} 次模型调用，{tokens} 个 token，{price}"
    )
    price_unknown = both("price unknown", "价格未知")
    not_running = both(
        "No process runs this session; resume it with: moot resume {session}", "没有进程在运行此会议；继续：moot resume {session}"
    )
    earlier = both(
        "An earlier decision on a similar question ({topic}): moot decisions show {decision}",
        "对类似问题已有决定（{topic}）：moot decisions show {decision}",
    )
    found_keys = both("Found keys for: {models}", "找到密钥：{models}")
    found_servers = both("Found on this machine: {servers}", "在本机找到：{servers}")
    found_embedded = both(
        "Found the embedded model; it is very small: set a provider's key for a better model (`moot doctor`)",
        "找到内置模型；它很小：设置提供商的密钥可用更好的模型（`moot doctor`）",
    )
    recorded = both("recorded{hint}", "已记录{hint}")
    recorded_as = both("recorded as #{number}{hint}", "已记录为 #{number}{hint}")
    recorded_before = both("recorded before: nothing changed", "此前已记录：没有变化")
    goes_on = both("; continue with: moot resume {session}", "；继续：moot resume {session}")
    has_ended = both("; the session has ended: moot show {session}", "；会议已结束：moot show {session}")

    no_ask = both("no ask is open", "没有等待回答的问题")
    ask_until = both(" (until {time} UTC)", "（截止 {time} UTC）")
    in_words = both(
        "In plain words (moot answer {session} --seat {seat} TEXT): {question}",
        "可用自己的话回答（moot answer {session} --seat {seat} TEXT）：{question}",
    )
    nothing_recorded = both("Nothing was recorded.", "没有记录任何内容。")
    would_cancel = both("would cancel {session} ({turns} turns taken)", "将取消 {session}（已进行 {turns} 轮）")
    cancelled = both("cancelled by entry {entry}", "已取消（条目 {entry}）")


SESSION_TEXT = in_each_language(SessionText)
