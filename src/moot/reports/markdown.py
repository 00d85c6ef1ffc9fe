"""Small pieces of Markdown, with what participants said made harmless."""

from collections.abc import Iterable, Sequence

from moot.domain.safe_text import one_line, strip_control


def format_cell(value: object) -> str:
    """A value as one table cell."""
    return one_line(str(value)).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("![", "!\\[")


def format_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """A Markdown table, line by line."""
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return [*lines, *(f"| {' | '.join(format_cell(value) for value in row)} |" for row in rows)]


def quote_markdown(text: str) -> list[str]:
    """Someone's words, each line behind a mark, so that none passes as a heading or as someone else's."""
    # An image would be fetched by whoever opens the file.
    # A link definition would make links of what others say in brackets.
    return [
        f"> {line}".rstrip().replace("<", "&lt;").replace("![", "!\\[").replace("]:", "]\\:")
        for line in strip_control(text).split("\n")
    ]
