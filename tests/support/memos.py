"""What holds of every memo, whatever was decided or not: its length by the terminal's own measure, its words, its sentences."""

import re
from typing import Final

from rich.console import Console
from rich.text import Text

from moothall.reports.decision import Decision
from moothall.reports.how import Standing
from moothall.reports.memo import MAX_LINES, Memo, build_memo

CONSOLE: Final = Console(width=80)
QUOTED: Final = re.compile(r"“[^”]*”|`[^`]*`")
FORBIDDEN: Final = re.compile(
    r"\b(?:seats?|motions?|candidates?|synthes[ei]s|challenges?|dissent|conditional support|abstain\w*|obligations?|waived"
    r"|consensus|unanimous|convergent|contested|overruled|strong|fair|weak|disputed|confidence|turnout|weighed|effective|blind"
    r"|sealed|moved by|names nothing|malformed|pheromone|quorum|converged|explorer|artefact|validator|parked|concluded"
    r"|ledger|token|platform|entry|idea \d+|finding-\d+)\b|#\d",
    re.IGNORECASE,
)
"""The words that stand left of an arrow in the table of words of a memo: Moot's own, which people do not use."""
ENDS: Final = (
    ".",
    "!",
    "?",
    "…",
    "。",
    "！",
    "？",
    "”",
    '"',
    "’",
    "'",
    ")",
    "）",
    "」",
    "』",
    "】",
    "`",
)


def count_terminal_lines(memo: Memo) -> int:
    """How many lines of a terminal of 80 columns a memo takes, as the terminal itself wraps them."""
    return sum(len(Text(line.text).wrap(CONSOLE, 80)) for line in memo.all_lines)


def check_memo(source: Decision | Standing, language: str = "") -> Memo:
    """Build a memo and check what holds of all of them (T-1 to T-5)."""
    memo = build_memo(source, language or getattr(source, "language", "en"))
    assert memo.result.text
    assert memo.badge
    assert len(memo.badge) <= 40
    assert count_terminal_lines(memo) <= MAX_LINES, memo.text
    texts = [line.text for line in memo.all_lines]
    assert all(text.strip() == text and "\n" not in text for text in texts), texts
    assert len(set(texts)) == len(texts), texts
    cautions = {each.text for each in memo.reservations}
    assert sum(line.slot == "caution" for line in memo.lines) <= 1
    for line in memo.lines:
        if line.slot == "caution":
            assert line.text in cautions
    return memo


def list_forbidden_words(memo: Memo, names: tuple[str, ...] = ()) -> list[str]:
    """The words of Moot's own in the lines that Moot writes, outside quotations and the participants' words."""
    found: list[str] = []
    for line in memo.all_lines:
        if line.slot in {"body", "next", "against", "answer", "open"}:
            continue
        text = QUOTED.sub("", line.text)
        if line.slot == "result" and memo.what:
            text = text.replace(memo.what, "")
        for name in names:
            text = text.replace(name, "")
        found += FORBIDDEN.findall(text)
    return found
