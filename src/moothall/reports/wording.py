"""Sentences, figures and small charts that the views of all protocols share.

The ledger keeps the cause of a loss as a code, and every language has a sentence for it (M-11). What a provider or a program wrote
of it is a quotation: it is shown where it is in the session's language, or where readers of that language are shown English.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Self

from moothall.domain.budget import BudgetKind, Spent
from moothall.domain.causes import Cause, word_cause
from moothall.domain.facts import (
    AnswersGrouped,
    BudgetExhausted,
    Fact,
    FactsListed,
    Language,
    Loss,
    SeatCause,
    SeatLost,
    SessionParked,
)
from moothall.domain.groups import JudgedPair
from moothall.domain.safe_text import one_line, strip_control
from moothall.locale.catalogues import FACTS_FIRST, LANGUAGE, LOSS_DETAILS, SharedReportText
from moothall.locale.texts import detect_language

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


def explain_cause(cause: Cause, reason: Loss, language: Language) -> str:
    """The cause of a loss in a session's language; empty where there is none that its readers could read."""
    # What a person wrote when they skipped a seat is theirs, in whatever language.
    is_readable = reason == "passed_over" or _can_read(cause.words, language)
    return word_cause(cause, language, has_words=is_readable)


def _can_read(words: str, language: Language) -> bool:
    """Whether the readers of a language are shown these words of a provider or a program."""
    return LANGUAGE[language].english_details == "shown" or detect_language(words) == language


def explain_outage(causes: Iterable[SeatCause], language: Language) -> str:
    """Why a session is parked, in its language."""
    words = LOSS_DETAILS[language]
    sentences = [
        words.cause.format(
            seats=", ".join(each.seats),
            cause=explain_cause(each.cause, "unreachable", language) or words.outage,
        )
        for each in causes
    ]
    return words.between_causes.join(sentences) or words.outage


def format_amount(exhausted: BudgetExhausted, language: Language) -> str:
    """How much of a limit was spent, in a session's language."""
    words = LOSS_DETAILS[language]
    form = _AMOUNTS[exhausted.budget]
    return words.amount.format(
        spent=form.format(exhausted.spent),
        limit=form.format(exhausted.limit),
        unit=words.units[exhausted.budget],
    )


_AMOUNTS: Final[Mapping[BudgetKind, str]] = {
    "tokens": "{:.0f}",
    "money": "{:.4f}",
    "time": "{:.1f}",
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
        lines = words.split("\n")
        text = head
        if len(lines) > 1:
            text = "\n".join([head, *(f"{QUOTE_BAR}{line}".rstrip() for line in lines)])
        elif words:
            text = f"{head}: {words}"
        made = super().__new__(cls, text)
        made.head, made.words = head, words
        return made


def format_loss(words: SharedReportText, lost: SeatLost) -> str:
    """How a seat was lost, in one line of the live view."""
    cause = one_line(explain_cause(lost.cause, lost.reason, words.language))
    line = f"✗ {lost.seat}: {words.losses[lost.reason]}"
    return f"{line} ({cause})" if cause else line


def format_parking(words: SharedReportText, parked: SessionParked) -> str:
    """Why a session is parked, in one line."""
    return words.parked.format(reason=one_line(explain_outage(parked.causes, words.language)))


def format_mends(words: SharedReportText, mends: Iterable[str]) -> str:
    """What was changed to read an answer: the code of each note in words, fields and what was given as they are."""
    return words.between_mends.join(_format_mend(words, mend) for mend in mends)


def _format_mend(words: SharedReportText, mend: str) -> str:
    code, _, rest = mend.partition(" ")
    if code not in words.mend_codes:
        # Of a plugin, in words of its own.
        return mend
    whole = "the answer"
    if rest.startswith(whole):
        rest = words.whole_answer + rest.removeprefix(whole)
    return f"{words.mend_codes[code]} {rest}"


def explain_consensus(words: SharedReportText, consensus: str) -> str:
    """A kind of consensus, with what it means where the term alone does not say it."""
    term, meaning = words.consensus_types[consensus], words.consensus_meanings.get(consensus)
    return words.explained.format(term=term, meaning=meaning) if meaning else term


def format_limit(words: SharedReportText, exhausted: BudgetExhausted) -> str:
    """Which limit was reached, in one line of the live view."""
    return f"■ {words.endings[exhausted.budget]}: {format_amount(exhausted, words.language)}"


def describe_shared_event(words: SharedReportText, fact: Fact) -> str:
    """Describe what happens in sessions of any protocol in one line of the live view; empty for what is not worth one."""
    match fact:
        case SeatLost():
            return format_loss(words, fact)
        case BudgetExhausted():
            return format_limit(words, fact)
        case FactsListed(count=count):
            return f"  ≡ {FACTS_FIRST[words.language].event.format(count=count)}"
        case AnswersGrouped():
            return _describe_groups(words, fact)
        case _:
            return ""


def format_pair(pair: JudgedPair) -> str:
    """Two answers as they were said, for people."""
    sign = "=" if pair.verdict == "same" else "≠"
    return f"“{one_line(pair.one)}” {sign} “{one_line(pair.other)}”"


def _describe_groups(words: SharedReportText, grouping: AnswersGrouped) -> str:
    is_owned = grouping.judge is None
    shown: list[str] = []
    for pair in grouping.pairs:
        if is_owned or pair.verdict == "same":
            shown.append(format_pair(pair))
    if not shown:
        return words.no_groups_event
    return words.groups_event.format(answers=", ".join(shown))


def format_money(words: SharedReportText, spent: Spent) -> str:
    """The price in US dollars, and plainly so when part of it is unknown."""
    if not spent.calls or (not spent.cost and not spent.unpriced):
        return "$0"
    if spent.unpriced == spent.calls:
        return words.no_price
    known = f"${spent.cost / 1e6:.4f}"
    return f"{known} + {words.unpriced.format(calls=spent.unpriced)}" if spent.unpriced else known
