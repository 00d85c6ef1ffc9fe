"""Names and counts as a memo writes them."""

from collections.abc import Sequence

from moothall.domain.ids import USER
from moothall.domain.safe_text import one_line
from moothall.locale.catalogues import MemoText

MAX_NAMED = 2
"""So many who are against it are named in a result; more are counted."""
MAX_NAME_LENGTH = 24
"""A longer name is counted in a result, not written."""
MANY = 7
"""From so many participants on, sides are counted."""


def format_name(name: str, texts: MemoText) -> str:
    """Return a name as it was written; the user is `you`."""
    if name == USER:
        return texts.you
    return one_line(name)


def format_names(names: Sequence[str], texts: MemoText) -> str:
    """Return names beside each other: `A`, `A and B`, `A, B and C`."""
    written = [format_name(each, texts) for each in names]
    if not written:
        return ""
    if len(written) == 1:
        return written[0]
    if len(written) == 2:
        return f"{written[0]}{texts.between_two}{written[1]}"
    return f"{texts.between.join(written[:-1])}{texts.between_last}{written[-1]}"


def format_listed(names: Sequence[str], texts: MemoText) -> str:
    """Return names as they stand in brackets: in Chinese without a word before the last."""
    if len(names) == 2:
        return texts.between_two_listed.join(format_name(each, texts) for each in names)
    return format_names(names, texts)


def list_names(names: Sequence[str], texts: MemoText) -> str:
    """Return names in a list, without a word before the last."""
    return texts.between.join(format_name(each, texts) for each in names)


def format_possessive(name: str, texts: MemoText) -> str:
    """Return whose something is: `Bilal's`."""
    if name == USER:
        return texts.your
    return texts.possessive.format(name=format_name(name, texts))


def format_opponents(names: Sequence[str], texts: MemoText) -> str:
    """Return who is against a result: up to two short names, else their number."""
    is_short = all(len(each) <= MAX_NAME_LENGTH for each in names)
    if len(names) <= MAX_NAMED and is_short:
        return format_names(names, texts)
    return str(len(names))


def format_all(count: int, texts: MemoText) -> str:
    """Return `All 5`, or `Both`, at the beginning of a sentence."""
    if count == 2:
        return texts.both
    return texts.all_of.format(count=count)


def format_all_inside(count: int, texts: MemoText) -> str:
    """Return `all 5`, or `both`, within a sentence."""
    if count == 2:
        return texts.both_inside
    return texts.all_of_inside.format(count=count)
