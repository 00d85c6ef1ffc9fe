"""What `moot demo` says, in the language of the demo."""

from moothall.reports.two_languages import TwoLanguages, both, in_each_language


class DemoText(TwoLanguages):
    """Every text, in one language."""

    what = both(
        "A demo: the words were written in advance, everything else is real (rules, record, tally). It stays out of your decisions and trust.",
        "这是演示：台词事先写好，其余都是真的（规则、记录、计票）。它不进入你的决定记录和信任统计。",
    )
    keys = both("Enter or space: go on at once · Ctrl-C: stop", "回车或空格：立即继续 · Ctrl-C：停止")
    listed = both("Play one with: moot demo NAME", "播放：moot demo 名称 --language zh")
    which = both("Which one? (Enter: {first})", "看哪一个？（回车：{first}）")
    after = both(
        "Next: moot show {session} · moot export {session} html -o demo.html · moot demo --list",
        "接下来：moot show {session} · moot export {session} html -o demo.html · moot demo --list --language zh",
    )
    offer = both(
        "No provider's key and no model server was found. There are two ways to see a meeting now:",
        "没有找到提供商的密钥，也没有模型服务。现在有两种方式看一场会议：",
    )
    first_way = both(
        "1  the demo: a meeting written by people, played by the real rules; what it says is worth reading",
        "1  演示：由人写好的会议，由真实规则推进，内容值得一读",
    )
    second_way = both(
        "2  the small model inside this process, on your question: really thinks for itself, and not well (135 million parameters, English only)",
        "2  本进程内的小模型，讨论你的问题：真的自己思考，但水平有限（1.35 亿参数，只会英语）",
    )
    agents = both(
        "Found coding agents ({agents}), which cost you what they cost: {command}",
        "找到编程 Agent（{agents}），费用由你的账户承担：{command}",
    )
    choose_way = both("1 or 2? (Enter: 1)", "1 还是 2？（回车：1）")
    go_on = both(
        "The demo was played quickly, because nobody sits at this terminal. At reading speed: moot demo. With the small model: moot run {topic} --model embedded. "
        "With a good model: set a provider's key, then make run.",
        "没有人在终端前，所以演示是快速播放的。按阅读速度播放：moot demo。用小模型：moot run {topic} --model embedded。用好模型：设置提供商的密钥，再 make run。",
    )


DEMO_TEXT = in_each_language(DemoText)
