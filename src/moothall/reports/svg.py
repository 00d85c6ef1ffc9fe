"""Charts as SVG, for pages without a script."""

from collections.abc import Sequence
from html import escape
from typing import Final

from moothall.domain.safe_text import strip_control
from moothall.reports.blocks import ColumnChart, LineChart, Series

WIDTH: Final = 720
HEIGHT: Final = 220
LEFT, RIGHT, TOP, BOTTOM = 46, 14, 14, 30
MAX_TICKS: Final = 20
ROOM: Final = 14
"""A part of a column that is at least so wide and high says its count."""
COLORS: Final = ("#0b63ce", "#c8452d", "#2c8a4b", "#8a4bc8", "#b58a00", "#1a9aa8", "#c82d86", "#5c6570")


def render_line_chart(chart: LineChart) -> str:
    """Lines over the labels, with the bounds drawn across and a legend below."""
    count = len(chart.labels)
    inner = _render_axes(chart.labels) + "".join(_render_bound(bound) for bound in chart.bounds)
    inner += "".join(_render_line(each.values, count, COLORS[at % len(COLORS)]) for at, each in enumerate(chart.series))
    return _render_frame(inner, chart.label, chart.series)


def render_column_chart(chart: ColumnChart) -> str:
    """A column for each label, its counts stacked in the order of the series."""
    totals = [sum(each.values[at] or 0 for each in chart.series) for at in range(len(chart.labels))]
    highest = max(totals, default=0)
    if not highest:
        return ""
    width = (WIDTH - LEFT - RIGHT) / len(chart.labels)
    inner = []
    for at, label in enumerate(chart.labels):
        y = float(HEIGHT - BOTTOM)
        for number, each in enumerate(chart.series):
            tall = (HEIGHT - TOP - BOTTOM) * (each.values[at] or 0) / highest
            y -= tall
            inner.append(
                f'<rect x="{LEFT + at * width + width * 0.15:.1f}" y="{y:.1f}" width="{width * 0.7:.1f}" height="{tall:.1f}" '
                f'fill="{COLORS[number % len(COLORS)]}"/>'
            )
            if min(width * 0.7, tall) >= ROOM:
                place = f'x="{LEFT + (at + 0.5) * width:.1f}" y="{y + tall / 2 + 4:.1f}"'
                inner.append(f'<text {place} text-anchor="middle" style="fill:#fff">{each.values[at]:g}</text>')
        inner.append(_render_label(LEFT + (at + 0.5) * width, label))
    return _render_frame("".join(inner), chart.label, chart.series)


def _render_frame(inner: str, label: str, series: Sequence[Series]) -> str:
    keys = "".join(
        f'<span><i style="background:{COLORS[at % len(COLORS)]}"></i>{_escape(each.name)}</span>'
        for at, each in enumerate(series)
    )
    return (
        f'<div class="card"><div class="chart"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{_escape(label)}">'
        f'{inner}</svg></div><div class="key">{keys}</div></div>'
    )


def _scale_x(at: int, count: int) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (at / max(1, count - 1) if count > 1 else 0.5)


def _scale_y(value: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - max(0.0, min(1.0, value)))


def _render_axes(labels: Sequence[str]) -> str:
    grid = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_scale_y(value):.1f}" y2="{_scale_y(value):.1f}"/>'
        f'<text x="{LEFT - 8}" y="{_scale_y(value) + 4:.1f}" text-anchor="end">{value:g}</text>'
        for value in (0.0, 0.25, 0.5, 0.75, 1.0)
    )
    step = max(1, len(labels) // MAX_TICKS)
    ticks = "".join(_render_label(_scale_x(at, len(labels)), label) for at, label in enumerate(labels) if at % step == 0)
    return grid + ticks


def _render_label(x: float, label: str) -> str:
    return f'<text x="{x:.1f}" y="{HEIGHT - 8}" text-anchor="middle">{_escape(label)}</text>'


def _render_line(values: Sequence[float | None], count: int, color: str) -> str:
    points = [(_scale_x(at, count), _scale_y(value)) for at, value in enumerate(values) if value is not None]
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{color}"/>' for x, y in points)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>{dots}'


def _render_bound(value: float) -> str:
    return f'<line class="bound" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{_scale_y(value):.1f}" y2="{_scale_y(value):.1f}"/>'


def _escape(text: str) -> str:
    return escape(strip_control(text))
