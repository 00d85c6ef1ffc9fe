"""Recognizes what looks like an answer and is not one: words that decline to answer (M-14).

Only a text that begins by declining is meant, and one that is short: a speech may say what it cannot know, and a vote against a
motion may begin with an apology. What is declined must be the answer itself ("I can't assist with that"), not the motion.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Final

from moothall.codec.choice_rule import fold_text
from moothall.codec.field_values import show_value
from moothall.errors import AnswerRefused

MAX_APOLOGY_LENGTH: Final = 600
"""A longer text says something beside its apology."""
MAX_BARE_LENGTH: Final = 160
"""How long a text may be that declines without an apology."""

_SORRY: Final = r"(?:(?:i'm |i am )?(?:\w+ )?sorry|(?:my )?apologies|i apologi[sz]e|unfortunately|(?:i )?regret|i'm afraid)"
_MACHINE: Final = r"(?:just |only )?an? [^.!?,]{0,30}?(?:ai|artificial intelligence|language model|assistant|chatbot)\b"
_SELF: Final = rf"(?:as {_MACHINE}[^.!?]{{0,60}}\bi\b|(?:i'm|i am) {_MACHINE})"
_CANNOT: Final = (
    r"(?:(?:ca|wo|could)n't(?: be able to)?|cannot|(?:can|will|could) not|unable to|decline to|refuse to|rather not|"
    r"prefer not to|not (?:be )?(?:able|going|allowed|permitted|designed|programmed) to|n[o']t (?:feel )?comfortable(?: with)?)"
)
_OBJECT: Final = r"(?:(?:on|to|in) )?(?:that|this|it|these|those|such|your|the|any|an?|my|personal)\b"
_TASK: Final = (
    r"(?:assist|help(?:ing)?(?! but)|comply|participat|take part|engag|be of (?:any )?(?:help|assistance)|fulfil|"
    r"do (?:that|this|so)|comment|say\W*$|express|continue|take (?:sides|a side|any|a position|a stance)|"
    rf"(?:answer|respond|reply|vote|provid|offer|giv|shar|discuss|address|process|complet|generat|weigh in)\w* {_OBJECT}|"
    r"(?:answer|respond|reply|vote|weigh in)\W*$|(?:form|hold|have|make) (?:an? |any )?(?:opinion|view|judg|personal|preference))"
)
_RULES: Final = r"(?:guideline|polic|programming|rules\b|terms\b|training)"
_CANNOT_HAN: Final = "(?:无法|不能|不便|不方便|不可以|没法|没办法|拒绝|难以)"
_TASK_HAN: Final = "(?:回答|作答|答复|协助|提供|帮|参与|讨论|满足|处理|完成|回应|评论|表达|发表|表态|执行|生成|继续|从命)"
_APOLOGY: Final = re.compile(
    rf"\W*+(?:(?:{_SORRY}|{_SELF})[^.!?]{{0,120}}?\b(?:{_CANNOT})(?: \w+ly)? {_TASK}"
    rf"|{_SELF}[^.!?]{{0,60}}(?:n't|not) (?:have|hold|take|form|express|possess)\b"
    rf"|{_SORRY}[^!?]{{0,30}}\b(?:can't|cannot|won't|decline)\W*$"
    rf"|(?:很|非常|十分|实在|真的?)?(?:抱歉|对不起|不好意思|遗憾)[^。！？]{{0,24}}?{_CANNOT_HAN}(?:[^。！？]{{0,8}}?{_TASK_HAN}|\W*$)"
    rf"|作为(?:一[个名款位])?[^，。]{{0,8}}(?:ai|人工智能|语言模型|助手|机器人)[^。！？]{{0,24}}(?:{_CANNOT_HAN}|没有|不具备|不持有))"
)
_BARE: Final = re.compile(
    r"\W*+(?:(?:(?:thank you|thanks|while|although|i understand|i appreciate|respectfully|hello|hi)\b[^.!?]{0,80}?)?"
    rf"\bi(?:'m|'d|'ll| am| would| do| will| must| have to| need to)?(?: \w+ly)? ?{_CANNOT}(?: \w+ly)? {_TASK}"
    r"|i (?:must |have to |will |respectfully |politely )*decline\W*$|no comment\W*$|request (?:denied|declined)"
    rf"|(?:th[ai][ts]|your)\b(?: \w+)? (?:may )?(?:violate|goes? against|is against|conflict)[^.]{{0,40}}{_RULES}"
    rf"|my {_RULES}\w* (?:prevent|prohibit|forbid|do(?:es)?(?: not|n't))|i (?:do not|don't) have personal (?:opinion|view)"
    r"|(?:it|that) (?:would be|is) inappropriate for me to"
    r"|(?:你好，)?(?:(?:对|对于)?(?:这个|这|该|此|您的|你的)(?:问题|请求|要求|话题)[，,]?)?我?(?:暂时|目前|现在|恐怕)?"
    rf"{_CANNOT_HAN}(?:对此|就此)?{_TASK_HAN}(?!证据)|恕(?:我)?(?:无法|不能|难)|无可奉告|[^。]{{0,20}}换个话题"
    r"|(?:该|此|这个|您的|你的)(?:请求|问题|内容)[^。]{0,8}(?:违反|不符合))"
)
# Signs of the traditional script that the table of the choices' words does not need.
_SIMPLIFIED: Final = str.maketrans("協參與請違滿處幫覆評達發執繼續語讓換話題", "协参与请违满处帮复评达发执继续语让换话题")


def check_refusal(value: object) -> None:
    """Raises AnswerRefused when an answer, or one of its texts, declines to answer."""
    for text in iterate_texts(value):
        if is_refusal(text):
            raise AnswerRefused(f"it declines to answer (given: {show_value(text)})")


def is_refusal(text: str) -> bool:
    """Whether a text declines to answer: an apology and no more."""
    if len(text) > MAX_APOLOGY_LENGTH:
        return False
    plain = " ".join(fold_text(text).translate(_SIMPLIFIED).split())
    return _APOLOGY.match(plain) is not None or (len(plain) <= MAX_BARE_LENGTH and _BARE.match(plain) is not None)


def iterate_texts(value: object, depth: int = 0) -> Iterator[str]:
    """Return all texts in a value, however it holds them."""
    if isinstance(value, str):
        yield value
    elif depth < 4:
        if is_dataclass(value):
            value = [getattr(value, each.name) for each in fields(value)]
        for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
            yield from iterate_texts(each, depth + 1)
