"""Sentences that the views of all protocols share, put together from the words of `shared_report`."""

from collections.abc import Iterable

from moothall.domain.budget import BudgetKind, Spent
from moothall.domain.facts import BudgetExhausted, Fact, Loss, SeatLost, SessionParked
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import SharedReportText
from moothall.reports.loss_text import explain_amount, explain_detail, explain_outage


def format_loss(words: SharedReportText, seat: str, reason: Loss, detail: str) -> str:
    """How a seat was lost, in one line of the live view."""
    cause = one_line(explain_detail(detail, reason, words.language))
    return f"✗ {seat}: {words.losses[reason]}" + (f" ({cause})" if cause else "")


def format_parking(words: SharedReportText, parked: SessionParked) -> str:
    """Why a session is parked, in one line."""
    return words.parked.format(reason=one_line(explain_outage(parked.reason, parked.seats, words.language)))


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
