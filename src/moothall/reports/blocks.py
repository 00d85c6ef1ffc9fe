"""A report as blocks: a protocol describes it once, and renderers make Markdown, HTML and terminal text of it.

Every string in a block is plain text, never markup: each renderer escapes it for its own form. `Quote` holds what a participant
wrote; its Markdown is rendered on pages and left as it is elsewhere.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, Literal

from moothall.domain.facts import Language
from moothall.domain.ids import SeatId, SessionId
from moothall.domain.replace import dataclass

Tone = Literal["plain", "strong", "dim", "bad", "warn", "good"]
CardKind = Literal["plain", "decision", "turn"]

LINE: Final = "{line}"
"""Where the numbers stand in the text of `References`."""


@dataclass(frozen=True, slots=True)
class References:
    """Numbers of timeline entries, with words round them: pages make links of the numbers that are known."""

    numbers: tuple[int, ...]
    text: str = LINE

    def __str__(self) -> str:
        return self.text.replace(LINE, ", ".join(f"#{number}" for number in self.numbers))


@dataclass(frozen=True, slots=True)
class Linked:
    """Words that lead to a timeline entry: pages make a link of them where the entry is known."""

    text: str
    number: int

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _Words:
    text: str

    def __str__(self) -> str:
        return self.text


class Strong(_Words):
    """Words that stand out."""


class Muted(_Words):
    """Words that stand back."""


@dataclass(frozen=True, slots=True)
class Mark(_Words):
    """A word with a coloured mark before it, such as a side of a vote."""

    tone: Tone = "plain"


Span = str | References | Linked | Strong | Muted | Mark
Text = Span | tuple[Span, ...]
Cell = Text | int | float | None


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a section; 2 is a section of the report, 3 a part of one. `seq` is the ledger entry that began it."""

    text: str
    level: int = 2
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence of Moot's own. `seq` is the ledger entry that it tells of, if it tells of one."""

    text: Text
    tone: Tone = "plain"
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Quote:
    """What a participant wrote."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Fields:
    """Names, each with its value."""

    rows: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list; `tone` holds for all of it."""

    items: tuple[Text, ...]
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads; `caption` stands above it where there is no heading."""

    heads: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Blocks that belong together. `entry` is the number that references lead to, `seat` gives the card its colour."""

    blocks: "tuple[Block, ...]"
    head: tuple[Text, ...] = ()
    entry: int | None = None
    seat: SeatId | None = None
    kind: CardKind = "plain"


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks that are folded away on a page until a reader opens them. `seq` as in `Line`."""

    summary: str
    blocks: "tuple[Block, ...]"
    seq: int | None = None


@dataclass(frozen=True, slots=True)
class Preformatted:
    """Lines that keep their columns; `marked` are the places of those to point out."""

    lines: tuple[str, ...]
    marked: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A share from 0 to 1 with its name, and the figures in words."""

    name: str
    value: float
    text: str = ""
    tone: Tone = "plain"
    seat: SeatId | None = None


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars below each other."""

    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of one whole side by side, each as wide as its share."""

    parts: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a chart; None where there is no value."""

    name: str
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineChart:
    """Values from 0 to 1 over the same labels, with bounds drawn across."""

    label: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]
    bounds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnChart:
    """Counts stacked on each other, a column for each label."""

    label: str
    labels: tuple[str, ...]
    series: tuple[Series, ...]


Chart = Bars | Shares | LineChart | ColumnChart
Block = Heading | Line | Quote | Fields | Bullets | Table | Card | Details | Preformatted | Chart


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Sections of a report that are shown when they are asked for: its figures, or how it was recorded."""

    name: Literal["figures", "record"]
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A session for people.

    `decision` is the memo: what a person reads first. `argument` is what was decided in full, why, and what stands against it;
    `record` is who stood where and what was said; `folds` are the figures, and how it was recorded.
    `seats` have their colours in this order; `known` is the highest entry that references may lead to.
    `names` are the names of sections by their titles, the same in every language; `timeline` is the name of the section that
    tells the session entry by entry.
    """

    session: SessionId
    language: Language
    title: str
    topic: str
    decision: tuple[Block, ...]
    argument: tuple[Block, ...] = ()
    record: tuple[Block, ...] = ()
    folds: tuple[Fold, ...] = ()
    subtitle: tuple[Text, ...] = ()
    """Below the title: what a reader must know before the result, such as that it is a demo."""
    about: tuple[Text, ...] = ()
    """Below the result: which session it was, when, by which rules, with what."""
    seats: tuple[SeatId, ...] = ()
    known: int = 0
    names: Mapping[str, str] = field(default_factory=dict)
    timeline: str = "timeline"
    replies: tuple[Card, ...] = ()
    """What a timeline ends with and the report says in its decision."""


def build_section(title: str, blocks: Iterable[Block], level: int = 2) -> tuple[Block, ...]:
    """The blocks under a heading; nothing where there are none."""
    filled = tuple(block for block in blocks if not is_empty(block))
    return (Heading(title, level), *filled) if filled else ()


def build_fields(rows: Iterable[tuple[str, Cell]]) -> Fields:
    """The names that have a value."""
    return Fields(tuple((name, value) for name, value in rows if value not in {None, ""}))


def build_table(heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Table:
    """A table from any sequences."""
    return Table(tuple(heads), tuple(tuple(row) for row in rows))


def is_empty(block: Block) -> bool:
    """Whether there is nothing to show in a block."""
    match block:
        case Fields(rows=rows) | Table(rows=rows):
            return not rows
        case Bullets(items=items):
            return not items
        case Bars(bars=parts) | Shares(parts=parts):
            return not parts
        case LineChart(labels=labels) | ColumnChart(labels=labels):
            return not labels
        case Line(text=text) | Quote(text=text):
            return not text
        case _:
            return False


def join_spans(text: object) -> str:
    """A text as plain characters."""
    if isinstance(text, tuple):
        return "".join(str(span) for span in text)
    return "–" if text is None else str(text)


def split_spans(text: object) -> tuple[Span, ...]:
    if isinstance(text, tuple):
        return text
    if isinstance(text, References | Linked | Strong | Muted | Mark):
        return (text,)
    return (join_spans(text),)
