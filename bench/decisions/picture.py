"""Calibration as pictures: what was stated against what came true."""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from bench.decisions.calibration import build_reliability_table
from bench.svg import LIGHT_AND_DARK, build_svg, draw_text

# Told apart on white and on black, and by those who confuse red and green.
COLOURS: Final = ("#c8553d", "#2f80c3", "#8a8f2a")
SIDE: Final = 230
LEFT: Final = 50
TOP: Final = 92
BETWEEN: Final = 42
FEWEST: Final = 5
"""A bin with fewer cases is not drawn: it would show chance."""

Forecasts = Sequence[tuple[float, bool]]


def draw_calibration(title: str, panels: Mapping[str, Mapping[str, Forecasts]]) -> str:
    """A panel for each set of cases, with a line for each way of forecasting them; all panels have the same ways."""
    ways = next(iter(panels.values()))
    inner = [LIGHT_AND_DARK, draw_text(10, 22, title, size=15)]
    at = 10.0
    for name, colour in zip(ways, COLOURS, strict=False):
        inner.append(
            f'<rect x="{at:.0f}" y="36" width="12" height="12" fill="{colour}"/>'
            + draw_text(at + 18, 47, name)
        )
        at += 40 + 5.8 * len(name)
    for place, (name, each) in enumerate(panels.items()):
        inner += _draw_panel(LEFT + place * (SIDE + BETWEEN), name, each)
    return build_svg(LEFT + len(panels) * (SIDE + BETWEEN), TOP + SIDE + 48, inner)


def _draw_panel(left: float, name: str, ways: Mapping[str, Forecasts]) -> list[str]:
    inner = [draw_text(left + SIDE / 2, TOP - 12, name, anchor="middle", size=13)]
    for tick in range(0, 101, 25):
        across, up = left + SIDE * tick / 100, TOP + SIDE * (1 - tick / 100)
        inner.append(_draw_line(left, up, left + SIDE, up, "#ddd"))
        inner.append(_draw_line(across, TOP, across, TOP + SIDE, "#ddd"))
        inner.append(draw_text(across, TOP + SIDE + 16, f"{tick} %", anchor="middle", size=11))
        inner.append(draw_text(left - 5, up + 4, f"{tick} %", anchor="end", size=11))
    inner.append(_draw_line(left, TOP + SIDE, left + SIDE, TOP, "#888", ' stroke-dasharray="4 4"'))
    inner.append(
        draw_text(
            left + SIDE / 2, TOP + SIDE + 36, "stated (across), came true (up)", anchor="middle"
        )
    )
    for pairs, colour in zip(ways.values(), COLOURS, strict=False):
        inner += _draw_way(left, pairs, colour)
    return inner


def _draw_way(left: float, pairs: Forecasts, colour: str) -> list[str]:
    inner, path = [], []
    for one in build_reliability_table(pairs):
        if one.cases < FEWEST:
            continue
        x, y = left + SIDE * one.stated, TOP + SIDE * (1 - one.true)
        # Laplace's estimate keeps the error of a bin that is always right, or never, from vanishing.
        share = (one.true * one.cases + 1) / (one.cases + 2)
        error = SIDE * math.sqrt(share * (1 - share) / one.cases)
        low, high = min(y + error, TOP + SIDE), max(y - error, TOP)
        inner.append(
            _draw_line(x, low, x, high, colour, ' stroke-width="1.5" stroke-opacity="0.6"')
        )
        radius = 2 + 7 * math.sqrt(one.cases / len(pairs))
        inner.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{colour}" fill-opacity="0.75"/>'
        )
        path.append(f"{x:.1f},{y:.1f}")
    return [
        f'<polyline points="{" ".join(path)}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
        *inner,
    ]


def _draw_line(x: float, y: float, to_x: float, to_y: float, colour: str, more: str = "") -> str:
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}"{more}/>'
    )
