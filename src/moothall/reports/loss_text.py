"""Causes of losses and limits as a Chinese session shows them (M-11).

The ledger keeps every detail as it was, for export and verification. An English session shows it; a Chinese one shows what it
says, where it is one of Moot's own sentences. Anything else (a provider's message, a fault of form with a field's name) is left
out there: the cause itself is translated, and the record has the rest.
"""

import re
from collections.abc import Sequence
from typing import Final

from moothall.domain.facts import Language, Loss

_CHINESE: Final = re.compile(r"[\u3400-\u9fff]")
# A status such as " (503)" after a provider's name.
_STATUS: Final = r"(?: \((?P<status>\d{3})\))?"

_DETAILS: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"no answer by the deadline", "截止时间前没有回答"),
        (r"no answer from (?P<name>.+?) within (?P<seconds>[\d.]+) s", "{name} 在 {seconds} 秒内没有回答"),
        (r"put (?P<times>\d+) times, each time the process ended", "已请求 {times} 次，每次进程都中止"),
        (r"the answer was cut off", "回答被截断"),
        (r"it cancelled itself", "自行中止"),
        (r"it did not end", "没有结束"),
        (r"it broke the files", "破坏了文件"),
        (r"it wrote no speech", "既未写文件，也未作发言"),
        (r"rejected_key", "密钥被拒"),
        (r"scripted", "脚本设定"),
        (r"(?P<name>\S+) has no \S+ for turn (?P<turn>\d+)", "{name} 没有第 {turn} 轮的回答"),
        (r"the person left", "此人已离开"),
        (r"there is no terminal to ask a person at", "没有可以向人提问的终端"),
        (r"the embedded model speaks no Chinese", "内置模型不会中文；请为此席位另选平台"),
        (r"the function returned None", "函数没有返回回答"),
        (r"nothing answers at (?P<name>\S+): is the server running", "{name} 没有响应：服务器是否在运行？"),
        (r"(?P<name>.+?) needs a key: set (?P<key>\w+)", "{name} 需要密钥：请设置 {key}"),
        (rf"(?P<name>.+?) wants a key{_STATUS}", "{name} 需要密钥{status}"),
        (rf"(?P<name>.+?) rejected the key in (?P<key>\w+){_STATUS}", "{name} 拒绝了 {key} 中的密钥{status}"),
        (rf"(?P<name>.+?) says that the account is out of credit{_STATUS}", "{name} 表示账户余额不足{status}"),
        (rf"(?P<name>.+?) has no such model or address{_STATUS}", "{name} 没有这个模型或地址{status}"),
        (rf"(?P<name>.+?) would not take the request{_STATUS}", "{name} 不接受该请求{status}"),
        (rf"(?P<name>.+?) is over its rate limit{_STATUS}", "{name} 超出速率限制{status}"),
        (r"the model declined", "模型拒绝作答"),
        (r"the connection to (?P<name>.+?) broke off", "与 {name} 的连接中断"),
        (r"(?P<name>.+?) cannot be reached", "无法连接 {name}"),
        (r"(?P<name>.+?) cannot be run", "无法运行 {name}"),
        (r"(?P<name>.+?) printed too much and was stopped", "{name} 输出过多，已被停止"),
        (r"(?P<name>.+?) ended with (?P<code>-?\d+)", "{name} 以代码 {code} 结束"),
        (rf"(?P<name>\S+) failed{_STATUS}", "{name} 出错{status}"),
    )
)

_OUTAGE: Final = "服务中断"
_AMOUNTS: Final = re.compile(r"(?P<spent>[\d.]+) of (?P<limit>[\d.]+) (?P<unit>tokens|US dollars|seconds)")
_UNITS: Final = {"tokens": "词元", "US dollars": "美元", "seconds": "秒"}


def explain_detail(detail: str, reason: Loss, language: Language) -> str:
    """The detail of a loss in a session's language; empty where there is none that its readers could read."""
    # What a person wrote when they skipped a seat is a quote.
    if language == "en" or reason == "passed_over" or _CHINESE.search(detail):
        return detail
    for pattern, text in _DETAILS:
        found = pattern.match(detail)
        if found is not None:
            named = {name: value or "" for name, value in found.groupdict().items()}
            status = f"（{named['status']}）" if named.get("status") else ""
            return text.format(**{**named, "status": status})
    return ""


def explain_outage(reason: str, seats: Sequence[str], language: Language) -> str:
    """Why a session is parked, in its language. The reason names `seats`, then their cause: "ada, bob: no key; cy: no model"."""
    if language == "en":
        return reason
    # A cause may hold the signs that part the causes: only the name of a seat begins another one.
    name = "|".join(re.escape(seat) for seat in sorted(seats, key=len, reverse=True))
    _, *parts = re.split(rf"(?:^|; )((?:{name})(?:, (?:{name}))*): ", reason)
    told = [
        f"{who}：{explain_detail(why, 'unreachable', language) or _OUTAGE}"
        for who, why in zip(parts[::2], parts[1::2], strict=True)
    ]
    return "；".join(told) or _OUTAGE


def explain_amount(spent: str, language: Language) -> str:
    """How much of a limit was spent, in a session's language."""
    found = _AMOUNTS.fullmatch(spent)
    if language == "en" or found is None:
        return spent if language == "en" else ""
    return f"{found['spent']} / {found['limit']} {_UNITS[found['unit']]}"
