"""What a list shows of a session: a badge, what was decided, and the short form of a reservation (T-1, M-9).

A module of its own: a list that has its lines already builds no memo.
"""

from typing import Final, NamedTuple

BADGE_MARK: Final = " ! "
"""Stands between a badge and the short form of a reservation."""


class MemoSummary(NamedTuple):
    """The parts of a memo that a list shows."""

    badge: str = ""
    """How the result came about, in a word or two."""
    what: str = ""
    """What was decided, or why nothing was, in one sentence."""
    reservation: str = ""
    """The short form of the first reservation; empty where there is none."""


def join_badge(badge: str, reservation: str) -> str:
    """Return a badge with the short form of a reservation behind it: `3 of 4 ! tie broken`."""
    if not reservation:
        return badge
    return f"{badge}{BADGE_MARK}{reservation}"
