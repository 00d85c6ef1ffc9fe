"""Reads a bid from the words of an answer that lacks its fields: "I want to speak", "urgency: high".

Whoever asks for the floor without saying how much it matters is heard as an ordinary bidder; who prefers to listen bids nothing.
"""

import re
from collections.abc import Mapping
from typing import Final

from moothall.codec.choice_rule import has_denial, split_clauses
from moothall.codec.value_words import read_flag, read_share
from moothall.domain.vocabulary import DEGREES

ORDINARY: Final = 0.5
"""The reaction of a seat that asks for the floor and does not say how strong it is."""
WANTED_FROM: Final = 0.5
"""From which reaction on a seat that does not say so asks for the floor."""

_DEGREE: Final = "|".join(re.escape(word) for word in sorted(DEGREES, key=len, reverse=True))
_AMOUNT: Final = rf"(?P<amount>\d{{1,3}}(?:[.,]\d+)?\s?(?:[%％]|/\s?10{{1,2}})?|\.\d+|{_DEGREE})(?![\w%％/])"
_NAME: Final = r"(?:score|reaction|relevance|urgency|priority|interest|importance|评分|反应|意愿|紧迫性?|重要性?|相关性?)"
# "urgency: high", "my score is 0.8"; "high urgency"; "High: the budget is gone".
_NAMED_AMOUNT: Final = re.compile(rf"{_NAME}[\s:：=]*(?:is|of|为|是)?[\s:：=]*{_AMOUNT}")
_AMOUNT_NAMED: Final = re.compile(rf"(?<![\w.]){_AMOUNT}\s*{_NAME}")
_LEADING_AMOUNT: Final = re.compile(rf"\s*{_AMOUNT}\s*(?:$|[:：.。,，;；!！—–-])")
_SPEAK: Final = r"(?:speak|talk|say|add|respond|reply|comment|answer|object|raise|correct|point out)"
_LISTENS: Final = re.compile(
    rf"\b(?:do(?:es)?(?:n['’]t| not)|no) (?:want|wish|need)s? (?:to )?{_SPEAK}\b|\bnothing (?:\w+ )?to (?:add|say)\b"
    r"|\b(?:listen|stay|remain|keep)(?:ing)? (?:silent|quiet)\b"
    r"|\b(?:i|i['’]ll|i will|i would) (?:just |rather |only )?(?:listen|pass)\b"
    r"|不(?:想|要|需要|用|必|打算|希望)?(?:发言|说|补充|回应)|无需发言|没有(?:什么|要)?(?:补充|说)|旁听"
)
_SPEAKS: Final = re.compile(
    rf"\b(?:want|wants|wish|need|must|should|would like|['’]d like|have|let me|allow me|may i|ask|asking) (?:to )?{_SPEAK}\b"
    r"|\b(?:want|need|ask for|asking for|request|take|have|give me) (?:the|my) floor\b|\bsomething to (?:say|add)\b"
    r"|(?:想|要|请求|需要|希望)(?:发言|说|补充|回应)|有话"
)


def infer_bid_field(name: str, fields: Mapping[str, object]) -> object | None:
    """Return a field that a bid lacks, from what else it says; None if nothing says it."""
    words = "\n".join(value for value in fields.values() if isinstance(value, str)).casefold()
    match name:
        case "reaction_score":
            score = _find_score(words)
            wants = read_flag(fields.get("intent_to_speak"))
            wants = _find_wish(words) if wants is None else wants
            return score if score is not None or wants is None else ORDINARY if wants else 0.0
        case "intent_to_speak":
            wants = _find_wish(words)
            score = read_share(fields.get("reaction_score"), 0, 1)
            return wants if wants is not None or score is None else score >= WANTED_FROM
        case _:
            return None


def _find_score(words: str) -> float | None:
    """Return the reaction that is called so, or that the words begin with; any other number is about the matter."""
    found = _NAMED_AMOUNT.search(words) or _AMOUNT_NAMED.search(words) or _LEADING_AMOUNT.match(words)
    return None if found is None else read_share(found["amount"], 0, 1)


def _find_wish(words: str) -> bool | None:
    rest, listens = _LISTENS.subn(" ", words)
    speaks = [clause for clause in split_clauses(rest) if _SPEAKS.search(clause)]
    # "I need to say nothing" asks for nothing: what is denied is not read.
    if speaks and (listens or any(has_denial(clause) for clause in speaks)):
        return None
    return True if speaks else False if listens else None
