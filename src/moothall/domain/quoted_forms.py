"""The words of a quotation without what its author may have put round them: fences, the language of a fence, line numbers, marks."""

import re
from typing import Final

from moothall.domain.safe_text import FENCE, compile_late

_LABELS: Final = compile_late(r"^\s{0,9}[1-9]\d{0,8}:[ \t]", re.MULTILINE)
"""The number of a line as given files show it. A bare number may be part of what is quoted: 30 days, 90-day notice."""
_SHOWN: Final = compile_late(
    r"^\s{0,9}(?:[1-9]\d{0,8}(?:[ \t]{2,}|[ \t][+-]))?[ \t]?[+-]?", re.MULTILINE
)
"""The number and mark of a line as a change shows them."""
_MARKS: Final = re.compile(r"^(?:\s{0,9}\d{1,9})?[ \t]?[+-](?=[ \t]|\S)", re.MULTILINE)
"""What an author may copy along with a line of a diff: its number and its mark."""
_NUMBERS: Final = compile_late(r"^\s{0,9}\d{1,9}(?::[ \t]?|[ \t])", re.MULTILINE)
"""The number of a line that has no mark."""
_PREFIXES: Final = compile_late(rf"^{re.escape(FENCE)}", re.MULTILINE)
"""What stands before each line of a file in a prompt."""
_FENCES: Final = compile_late(
    r"^[ \t]{0,9}(?:`{3,}|~{3,})(?:[^\n`~]*(?:\n|\Z)|[a-z+#-]{1,20}[ \t])",
    re.MULTILINE | re.IGNORECASE,
)
"""The line that begins or ends a block of code, with the name of its language."""
_FENCE_LINE: Final = compile_late(r"[ \t]{0,3}(`{3,}|~{3,})[^`\n]*")


def list_forms(words: str) -> list[str]:
    """Return quoted words in each form in which they may stand in a source."""
    bare = _PREFIXES.sub("", _FENCES.sub("", words))
    return list(dict.fromkeys((words, bare, _LABELS.sub("", bare))))


def list_block_forms(words: str) -> list[str]:
    """Return the lines of a block in each form in which they may stand in a source: also without the marks of a diff."""
    forms = list_forms(words)
    return list(dict.fromkeys((*forms, _SHOWN.sub("", forms[-1].strip("\n")))))


def list_change_forms(words: str) -> list[str]:
    """Return lines that are quoted from a change, where every line was shown with its number and mark, in each of their forms."""
    unfenced = _FENCES.sub("", words)
    forms: list[str] = []
    for text in (words, unfenced, _PREFIXES.sub("", unfenced)):
        unmarked = _MARKS.sub("", text.strip("\n"))
        forms += [unmarked, text, _NUMBERS.sub("", unmarked)]
    return list(dict.fromkeys(forms))


def find_blocks(text: str) -> list[tuple[int, int, str]]:
    """Return the blocks of code of a text: where each begins and ends, and the lines in it. One without an end is none."""
    blocks: list[tuple[int, int, str]] = []
    at = 0
    begin = inner = -1
    fence = ""
    for line in text.splitlines(keepends=True):
        end = at + len(line)
        match = _FENCE_LINE.fullmatch(line.rstrip("\r\n"))
        if match and not fence:
            fence = match[1]
            begin = at
            inner = end
        elif match and match[1].startswith(fence):
            blocks.append((begin, end, text[inner:at]))
            fence = ""
        at = end
    return blocks


def blank_spans(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text of the same length with spaces in place of these spans, which are in order."""
    parts: list[str] = []
    at = 0
    for start, end in spans:
        if end <= at:
            continue
        begin = max(start, at)
        parts += [text[at:begin], " " * (end - begin)]
        at = end
    return "".join((*parts, text[at:]))
