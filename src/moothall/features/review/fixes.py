"""Suggested replacements of quoted lines, checked to apply to the change: whole lines at a place, and nothing that hides (G-7)."""

from collections.abc import Sequence
from typing import Final

from moothall.domain.quotations import fold_quotation
from moothall.features.review.change import ChangedFile, QuotedPlace
from moothall.plugins import strip_control

MAX_FIXED_LINES: Final = 40
"""How many lines a suggestion replaces, and has itself."""
_FENCE: Final = "```"


def fit_fix(
    change: Sequence[ChangedFile], place: QuotedPlace | None, evidence: str, fix: str
) -> str:
    """Return what may stand in place of the quoted lines, as whole lines of the new file; empty where it does not apply.

    It applies where the change shows each line of the place as it is after the change, and the evidence quotes each of them whole.
    """
    wanted = _strip_fence(fix)
    if place is None or not wanted or len(wanted) > MAX_FIXED_LINES:
        return ""
    # Marks that turn the order of letters, or hide them, would make a reader accept what is not seen.
    if any(strip_control(line) != line for line in wanted):
        return ""
    lines = _list_lines(change, place)
    if not lines or not _quotes_whole(lines, evidence):
        return ""
    fitted = _restore_indent(lines, _strip_fence(evidence), wanted)
    if fitted == lines:
        return ""
    return "\n".join(fitted)


def _strip_fence(text: str) -> list[str]:
    """Return the lines of a text without a fence round them, and without empty lines at its ends."""
    lines = [line.rstrip() for line in text.split("\n")]
    lines = _strip_empty(lines)
    if lines and lines[0].lstrip().startswith(_FENCE):
        lines = lines[1:]
        if lines and lines[-1].strip() == _FENCE:
            lines = lines[:-1]
    return _strip_empty(lines)


def _strip_empty(lines: list[str]) -> list[str]:
    while lines and not lines[0]:
        lines = lines[1:]
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def _list_lines(change: Sequence[ChangedFile], place: QuotedPlace) -> list[str]:
    """Return the lines of a place as they are after the change; nothing where the change does not show all of them once."""
    shown: dict[int, str] = {}
    for file in change:
        if file.name != place.file:
            continue
        for line in file.lines:
            if line.mark == "-" or not place.first <= line.number <= place.last:
                continue
            # A diff of several commits may show a line twice.
            if line.number in shown:
                return []
            shown[line.number] = line.text
    numbers = range(place.first, place.last + 1)
    if len(numbers) > MAX_FIXED_LINES or list(shown) != list(numbers):
        return []
    return list(shown.values())


def _quotes_whole(lines: Sequence[str], evidence: str) -> bool:
    """Whether the evidence holds each of these lines whole: a part of a line says nothing about the rest of it."""
    quoted = fold_quotation(evidence)
    return all(fold_quotation(line) in quoted for line in lines)


def _restore_indent(
    lines: Sequence[str], quoted: Sequence[str], wanted: Sequence[str]
) -> list[str]:
    """Return a suggestion with the indentation that was left out of the quotation, and so of it; nothing where it is not plain which
    of its lines lack it: the first one alone, as where copying began at the first letter, or all."""
    indent = _measure_indent(lines[0])
    is_cut = bool(indent) and bool(quoted) and not quoted[0].startswith(indent)
    if not is_cut or wanted[0].startswith(indent):
        return list(wanted)
    rest = [line for line in wanted[1:] if line]
    lack_all = any(not line.startswith(indent) for line in rest)
    if rest and not lack_all:
        # The second line of the quotation shows it, where there is one.
        if len(lines) < 2 or len(quoted) < 2:
            return []
        lack_all = not quoted[1].startswith(_measure_indent(lines[1]))
    fitted = [indent + wanted[0]]
    for line in wanted[1:]:
        if lack_all and line:
            fitted.append(indent + line)
        else:
            fitted.append(line)
    return fitted


def _measure_indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
