"""Minutes as a document of a word processor (`.docx`), written by the library python-docx (the extra `docx`).

The document has what the minutes have, block by block. What participants wrote stands as quotations, without any markup of theirs
taken for Moot's own; nothing in it is fetched, and no macro is in it. Paper and PDF are the print of a browser.
"""

import io
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, assert_never

from moothall.domain.safe_text import one_line, strip_control
from moothall.errors import MissingExtra, describe_install
from moothall.reports import blocks
from moothall.reports.blocks import Block, Report, is_empty, join_spans, split_spans
from moothall.reports.plain_text import SEPARATOR, extract_question

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph

FORM: Final = "docx"
"""The name of the form for `moot export`."""
MAX_HEADING: Final = 4
_NOT_IN_XML: Final = dict.fromkeys((0xFFFE, 0xFFFF))
"""Numbers that are no characters; control codes and halves of characters are taken out with those of other texts."""
_QUOTE: Final = "Quote"
_BULLET: Final = "List Bullet"
_TABLE: Final = "Table Grid"


def build_word_document(report: Report) -> bytes:
    """Return a report as a document; raises MissingExtra."""
    try:
        from docx import Document
    except ImportError as cause:
        raise MissingExtra(
            f"a Word document needs an extra package: {describe_install('docx')}"
        ) from cause
    document = Document()
    question = extract_question(report.topic)
    title = f"{report.title}: {question or report.session}"
    document.core_properties.title = _clean_line(title)
    document.core_properties.author = "Moot"
    document.core_properties.language = report.language
    document.add_heading(_clean_line(title), 1)
    # The title asks what was asked; a longer text stands whole below it, as in the minutes.
    writer = _BlockWriter(document)
    if question != one_line(report.topic):
        writer.write([blocks.Quote(report.topic)])
    if report.subtitle:
        document.add_paragraph(_join_texts(report.subtitle))
    writer.write(report.decision)
    if report.about:
        document.add_paragraph(_join_texts(report.about))
    writer.write(report.argument)
    writer.write(report.record)
    for fold in report.folds:
        writer.write(fold.blocks)
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


class _BlockWriter:
    """Writes blocks into a document, below each other."""

    def __init__(self, document: "Document") -> None:
        self._document = document

    def write(self, content: Iterable[Block]) -> None:
        """Write each block that says something."""
        for block in content:
            if not is_empty(block):
                self._write_block(block)

    def _write_block(self, block: Block) -> None:
        match block:
            case blocks.Heading(text=text, level=level):
                self._document.add_heading(_clean_line(text), min(level, MAX_HEADING))
            case blocks.Line(text=text, tone=tone):
                paragraph = self._document.add_paragraph()
                _add_spans(paragraph, text, is_bold=tone in {"strong", "bad", "warn"})
            case blocks.Quote(text=text):
                # A paragraph for each line: a line break within one would lose its indent in some word processors.
                for line in strip_control(text).split("\n"):
                    self._document.add_paragraph(_clean(line), style=_QUOTE)
            case blocks.Fields(rows=rows):
                for name, value in rows:
                    paragraph = self._document.add_paragraph(style=_BULLET)
                    paragraph.add_run(f"{_clean_line(name)}: ").bold = True
                    _add_spans(paragraph, value)
            case blocks.Bullets(items=items):
                for item in items:
                    _add_spans(self._document.add_paragraph(style=_BULLET), item)
            case blocks.Table(heads=heads, rows=cells):
                self._write_table(heads, cells)
            case blocks.Card(head=head, blocks=content):
                self._write_head(_join_texts(filter(None, head)))
                self.write(content)
            case blocks.Details(summary=summary, blocks=content):
                self._write_head(_clean_line(summary))
                self.write(content)
            case blocks.Preformatted(lines=lines):
                run = self._document.add_paragraph().add_run(_clean("\n".join(lines)))
                run.font.name = "Courier New"
            case blocks.Bars() | blocks.Shares() | blocks.LineChart() | blocks.ColumnChart():
                self._write_chart(block)
            case _:
                assert_never(block)

    def _write_head(self, text: str) -> None:
        if not text:
            return
        paragraph = self._document.add_paragraph()
        # A head must not be the last line of a page.
        paragraph.paragraph_format.keep_with_next = True
        paragraph.add_run(text).bold = True

    def _write_chart(self, chart: blocks.Chart) -> None:
        """Write the figures of a chart: a document of words has no drawing."""
        match chart:
            case blocks.Bars(bars=bars) | blocks.Shares(parts=bars):
                for bar in bars:
                    said = bar.text or f"{bar.value * 100:.0f} %"
                    text = _clean_line(f"{bar.name} {said}")
                    self._document.add_paragraph(text, style=_BULLET)
            case blocks.LineChart(labels=labels, series=series):
                self._write_series(labels, series)
            case blocks.ColumnChart(labels=labels, series=series):
                self._write_series(labels, series)
            case _:
                assert_never(chart)

    def _write_series(self, labels: Sequence[str], series: Sequence[blocks.Series]) -> None:
        rows: list[tuple[blocks.Cell, ...]] = []
        for place, label in enumerate(labels):
            values = [each.values[place] for each in series]
            figures = ["–" if value is None else f"{value:g}" for value in values]
            rows.append((label, *figures))
        self._write_table(("", *(each.name for each in series)), rows)

    def _write_table(self, heads: Sequence[str], rows: Iterable[Sequence[blocks.Cell]]) -> None:
        table = self._document.add_table(rows=1, cols=len(heads), style=_TABLE)
        for cell, head in zip(table.rows[0].cells, heads, strict=True):
            cell.paragraphs[0].add_run(_clean_line(head)).bold = True
        for row in rows:
            cells = table.add_row().cells
            for cell, value in zip(cells, row, strict=True):
                _add_spans(cell.paragraphs[0], value)
        # A table stands against what follows without this.
        self._document.add_paragraph()


def _add_spans(paragraph: "Paragraph", text: object, *, is_bold: bool = False) -> None:
    for span in split_spans(text):
        run = paragraph.add_run(_clean(str(span)))
        run.bold = is_bold or isinstance(span, blocks.Strong)


def _join_texts(texts: Iterable[object]) -> str:
    return SEPARATOR.join(_clean_line(join_spans(text)) for text in texts)


def _clean_line(text: str) -> str:
    return _clean(one_line(text))


def _clean(text: str) -> str:
    """Return a text without what no XML document can hold."""
    return strip_control(text).translate(_NOT_IN_XML)
