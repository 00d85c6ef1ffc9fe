"""Causes of losses and limits as a session shows them in its language (M-11).

The ledger keeps every detail as it was, for export and verification. An English session shows it. Another one shows the
translation, where it is one of the sentences of `loss_details`. Anything else (a provider's message, a fault of form) is shown
only where readers of that language are shown English: the cause itself is translated, and the record has the rest.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final

from moothall.domain.facts import Language, Loss
from moothall.locale.catalogues import LANGUAGE, LOSS_DETAILS
from moothall.locale.texts import DEFAULT_LANGUAGE

_CHINESE: Final = re.compile(r"[\u3400-\u9fff]")
_PLACEHOLDER: Final = re.compile(r"\\\{(\w+)\\\}")
_VALUES: Final = {
    "seconds": r"[\d.]+",
    "times": r"\d+",
    "turn": r"\d+",
    "code": r"-?\d+",
    "key": r"\w+",
    "address": r"\S+",
    "program": r"\S+",
    # Such as " (503)" after a provider's name.
    "status": r"(?: \((?P<status>\d{3})\))?",
}
"""What stands for a placeholder of a sentence; for any other, the shortest text that fits."""
_AMOUNTS: Final = re.compile(r"(?P<spent>[\d.]+) of (?P<limit>[\d.]+) (?P<unit>tokens|US dollars|seconds)")


def explain_detail(detail: str, reason: Loss, language: Language) -> str:
    """The detail of a loss in a session's language; empty where there is none that its readers could read."""
    # What a person wrote when they skipped a seat is a quote.
    if language == DEFAULT_LANGUAGE or reason == "passed_over" or _CHINESE.search(detail):
        return detail
    words = LOSS_DETAILS[language]
    for name, pattern in _build_patterns().items():
        match = pattern.match(detail)
        if match is not None and words.details[name] != LOSS_DETAILS[DEFAULT_LANGUAGE].details[name]:
            values = {key: value or "" for key, value in match.groupdict().items()}
            status = words.status.format(status=values["status"]) if values.get("status") else ""
            return words.details[name].format(**{**values, "status": status})
    return detail if LANGUAGE[language].english_details == "shown" else ""


def explain_outage(reason: str, seats: Sequence[str], language: Language) -> str:
    """Why a session is parked, in its language. The reason names `seats`, then their cause: "ada, bob: no key; cy: no model"."""
    if language == DEFAULT_LANGUAGE:
        return reason
    words = LOSS_DETAILS[language]
    # A cause may hold the signs that part the causes: only the name of a seat begins another one.
    name = "|".join(re.escape(seat) for seat in sorted(seats, key=len, reverse=True))
    _, *parts = re.split(rf"(?:^|; )((?:{name})(?:, (?:{name}))*): ", reason)
    causes = [
        words.cause.format(seats=who, cause=explain_detail(why, "unreachable", language) or words.outage)
        for who, why in zip(parts[::2], parts[1::2], strict=True)
    ]
    return words.between_causes.join(causes) or words.outage


def explain_amount(spent: str, language: Language) -> str:
    """How much of a limit was spent, in a session's language."""
    amount = _AMOUNTS.fullmatch(spent)
    if language == DEFAULT_LANGUAGE or amount is None:
        return spent if LANGUAGE[language].english_details == "shown" else ""
    words = LOSS_DETAILS[language]
    return words.amount.format(spent=amount["spent"], limit=amount["limit"], unit=words.units[amount["unit"]])


@cache
def _build_patterns() -> Mapping[str, re.Pattern[str]]:
    """What recognizes each sentence: the English one, with something for each placeholder."""
    return {name: re.compile(_build_pattern(text)) for name, text in LOSS_DETAILS[DEFAULT_LANGUAGE].details.items()}


def _build_pattern(text: str) -> str:
    def match_value(placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        return _VALUES["status"] if name == "status" else rf"(?P<{name}>{_VALUES.get(name, '.+?')})"

    # A script names the answer that it lacks by its kind.
    return _PLACEHOLDER.sub(match_value, re.escape(text)).replace(r"no\ answer\ for\ turn", r"no \S+ for turn")
