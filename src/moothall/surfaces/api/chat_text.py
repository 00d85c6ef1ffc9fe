"""What Moot itself says to a chat client."""

from moothall.reports.two_languages import TwoLanguages, both, in_each_language


class ChatText(TwoLanguages):
    """Every text, in one language."""

    conversation = both("conversation", "对话")
    begins = both("A meeting ({protocol}) of {seats}. Follow it here: {link}", "会议（{protocol}）：{seats}。可在此旁观：{link}")
    waiting = both("… waiting for {seats}", "… 正在等待 {seats}")
    link = both("The whole meeting: {link}", "会议全文：{link}")
    held_before = both(
        "This meeting was held on {date}; the same question is answered by it for a week. For a new meeting, ask in other words.",
        "此会议举行于 {date}；一周之内同样的问题都由它回答。需要重新开会时，请换一种说法提问。",
    )
    parked = both(
        "**The meeting is paused; nothing is decided and nothing is lost.** {reason}\n\nIt goes on by itself when that works again. Ask the "
        "same once more later and you get the decision, or follow it here: {link}",
        "**会议已暂停；尚未作出决定，也没有丢失任何内容。** {reason}\n\n一旦恢复正常，会议会自动继续。稍后再问一次同样的问题即可得到决定，也可在此旁观：{link}",
    )
    goes_on = both(
        "**The meeting is still going on; nothing is decided yet.** It is waiting for: {seats}.\n\nIt goes on without you. Ask the same once "
        "more later and you get the decision, or follow it here: {link}",
        "**会议仍在进行，尚未作出决定。** 正在等待：{seats}。\n\n你离开后会议会继续。稍后再问一次同样的问题即可得到决定，也可在此旁观：{link}",
    )
    nobody = both("nobody", "无")
    roles = both(
        {"system": "instructions of the chat client", "user": "user", "assistant": "assistant", "tool": "tool"},
        {"system": "聊天客户端的说明", "user": "用户", "assistant": "助手", "tool": "工具"},
    )
    left_out = both("({count} earlier messages are left out)", "（省略了之前的 {count} 条消息）")
    not_text = both("[{kind}, which is not text, is left out]", "[省略了非文本内容：{kind}]")
    too_short = both(
        "No meeting was held: an answer of at most {tokens} tokens cannot hold a decision. Leave max_tokens out, or set it to 1000 or more.",
        "没有开会：{tokens} 个 token 的上限容不下一个决定。请去掉 max_tokens，或设为 1000 以上。",
    )


CHAT_TEXT = in_each_language(ChatText)
