"""Sentences, figures and small charts that the views of all protocols share.

The ledger keeps every detail of a loss as it was, for export and verification (M-11). An English session shows it. Another one
shows the translation, where it is one of the sentences of `loss_details`. Anything else (a provider's message, a fault of form)
is shown only where readers of that language are shown English: the cause itself is translated, and the record has the rest.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final, Self

from moothall.domain.budget import BudgetKind, Spent
from moothall.domain.facts import BudgetExhausted, Fact, Language, Loss, SeatLost, SessionParked
from moothall.domain.safe_text import compile_late, one_line, strip_control
from moothall.locale.catalogues import LANGUAGE, LOSS_DETAILS, SharedReportText
from moothall.locale.texts import DEFAULT_LANGUAGE

BAR_WIDTH: Final = 20
_LEVELS: Final = "▁▂▃▄▅▆▇█"


def draw_bar(value: float) -> str:
    """A share as a bar of twenty blocks."""
    filled = round(max(0.0, min(1.0, value)) * BAR_WIDTH)
    return "█" * filled + "░" * (BAR_WIDTH - filled)


def draw_sparkline(values: Sequence[float | None]) -> str:
    """Values from 0 to 1 as a row of blocks; a blank where there is none."""
    return "".join(
        " " if value is None else _LEVELS[round(max(0.0, min(1.0, value)) * (len(_LEVELS) - 1))]
        for value in values
    )


def format_percent(value: float | None) -> str:
    return "–" if value is None else f"{value * 100:.0f} %"


_CHINESE: Final = compile_late(r"[\u3400-\u9fff]")
_PLACEHOLDER: Final = compile_late(r"\\\{(\w+)\\\}")
_VALUES: Final = {
    "seconds": r"[\d.]+",
    "times": r"\d+",
    "turn": r"\d+",
    "setting": r"\w+",
    "more": r"[\d.]+",
    "provider": r"[\w-]+",
    "code": r"-?\d+",
    "key": r"\w+",
    "address": r"\S+",
    "program": r"\S+",
    # Such as " (503)" after a provider's name.
    "status": r"(?: \((?P<status>\d{3})\))?",
}
"""What stands for a placeholder of a sentence; for any other, the shortest text that fits."""
_AMOUNTS: Final = compile_late(
    r"(?P<spent>[\d.]+) of (?P<limit>[\d.]+) (?P<unit>tokens|US dollars|seconds)"
)


def explain_detail(detail: str, reason: Loss, language: Language) -> str:
    """The detail of a loss in a session's language; empty where there is none that its readers could read."""
    # What a person wrote when they skipped a seat is a quote.
    if language == DEFAULT_LANGUAGE or reason == "passed_over" or _CHINESE.search(detail):
        return detail
    words = LOSS_DETAILS[language]
    for name, pattern in _build_patterns().items():
        match = pattern.match(detail)
        if (
            match is not None
            and words.details[name] != LOSS_DETAILS[DEFAULT_LANGUAGE].details[name]
        ):
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
        words.cause.format(
            seats=who, cause=explain_detail(why, "unreachable", language) or words.outage
        )
        for who, why in zip(parts[::2], parts[1::2], strict=True)
    ]
    return words.between_causes.join(causes) or words.outage


def explain_amount(spent: str, language: Language) -> str:
    """How much of a limit was spent, in a session's language."""
    amount = _AMOUNTS.fullmatch(spent)
    if language == DEFAULT_LANGUAGE or amount is None:
        return spent if LANGUAGE[language].english_details == "shown" else ""
    words = LOSS_DETAILS[language]
    return words.amount.format(
        spent=amount["spent"], limit=amount["limit"], unit=words.units[amount["unit"]]
    )


@cache
def _build_patterns() -> Mapping[str, re.Pattern[str]]:
    """What recognizes each sentence: the English one, with something for each placeholder."""

    def match_value(placeholder: re.Match[str]) -> str:
        name = placeholder[1]
        return _VALUES["status"] if name == "status" else rf"(?P<{name}>{_VALUES.get(name, '.+?')})"

    details = LOSS_DETAILS[DEFAULT_LANGUAGE].details
    patterns = {
        name: _PLACEHOLDER.sub(match_value, re.escape(text)) for name, text in details.items()
    }
    # A script names the answer that it lacks by its kind.
    return {
        name: re.compile(text.replace(r"no\ answer\ for\ turn", r"no \S+ for turn"))
        for name, text in patterns.items()
    }


QUOTE_BAR: Final = "    │ "
"""Before every further line of a participant's words: none of them passes as Moot's own."""


class SpokenLine(str):
    """`head: words`; words of several lines stand below their head, each behind a bar."""

    __slots__ = ("head", "words")
    head: str
    words: str

    def __new__(cls, head: str, words: str) -> Self:
        words = strip_control(words).strip()
        lines = [line.rstrip() for line in words.split("\n")]
        quoted = "\n".join([head, *(f"{QUOTE_BAR}{line}".rstrip() for line in lines)])
        text = f"{head}: {words}" if len(lines) == 1 else quoted
        made = super().__new__(cls, text if words else head)
        made.head, made.words = head, words
        return made


def format_loss(words: SharedReportText, seat: str, reason: Loss, detail: str) -> str:
    """How a seat was lost, in one line of the live view."""
    cause = one_line(explain_detail(detail, reason, words.language))
    return f"✗ {seat}: {words.losses[reason]}" + (f" ({cause})" if cause else "")


def format_parking(words: SharedReportText, parked: SessionParked) -> str:
    """Why a session is parked, in one line."""
    return words.parked.format(
        reason=one_line(explain_outage(parked.reason, parked.seats, words.language))
    )


def format_mends(words: SharedReportText, mends: Iterable[str]) -> str:
    """What was changed to read an answer: the code of each note in words, fields and what was given as they are."""
    return words.between_mends.join(_format_mend(words, mend) for mend in mends)


def _format_mend(words: SharedReportText, mend: str) -> str:
    code, _, rest = mend.partition(" ")
    if code not in words.mend_codes:
        # Of a plugin, in words of its own.
        return mend
    whole = "the answer"
    about = words.whole_answer + rest.removeprefix(whole) if rest.startswith(whole) else rest
    return f"{words.mend_codes[code]} {about}"


def explain_consensus(words: SharedReportText, consensus: str) -> str:
    """A kind of consensus, with what it means where the term alone does not say it."""
    term, meaning = words.consensus_types[consensus], words.consensus_meanings.get(consensus)
    return words.explained.format(term=term, meaning=meaning) if meaning else term


def format_limit(words: SharedReportText, budget: BudgetKind, spent: str) -> str:
    """Which limit was reached, in one line of the live view."""
    amount = explain_amount(spent, words.language)
    return f"■ {words.endings[budget]}" + (f": {amount}" if amount else "")


def describe_shared_event(words: SharedReportText, fact: Fact) -> str:
    """Describe what happens in sessions of any protocol in one line of the live view; empty for what is not worth one."""
    match fact:
        case SeatLost(seat=seat, reason=reason, detail=detail):
            return format_loss(words, seat, reason, detail)
        case BudgetExhausted(budget=budget, spent=spent):
            return format_limit(words, budget, spent)
        case _:
            return ""


def format_money(words: SharedReportText, spent: Spent) -> str:
    """The price in US dollars, and plainly so when part of it is unknown."""
    if not spent.calls or (not spent.cost and not spent.unpriced):
        return "$0"
    if spent.unpriced == spent.calls:
        return words.no_price
    known = f"${spent.cost / 1e6:.4f}"
    return f"{known} + {words.unpriced.format(calls=spent.unpriced)}" if spent.unpriced else known
