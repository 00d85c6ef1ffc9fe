"""What somebody said as a line of the live view: a pipe keeps its lines, a terminal renders its Markdown (M-10)."""

from typing import Final, Self

from moothall.domain.safe_text import strip_control

BAR: Final = "    │ "
"""Before every further line of somebody's words: none of them passes as Moot's own."""


class SpokenLine(str):
    """`head: words`; words of several lines stand below their head, each behind a bar."""

    __slots__ = ("head", "words")
    head: str
    words: str

    def __new__(cls, head: str, words: str) -> Self:
        words = strip_control(words).strip()
        lines = [line.rstrip() for line in words.split("\n")]
        text = (
            f"{head}: {words}" if len(lines) == 1 and words else "\n".join([head, *(f"{BAR}{line}".rstrip() for line in lines)])
        )
        made = super().__new__(cls, text if words else head)
        made.head, made.words = head, words
        return made
