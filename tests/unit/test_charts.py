"""Charts of a page: columns stand on the axis, one upon the other, and lines stay within the frame."""

import re

from moothall.reports.blocks import ColumnChart, LineChart, Series
from moothall.reports.page import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    render_column_chart,
    render_line_chart,
)


def read_columns(svg: str) -> list[tuple[float, float, float, float]]:
    found = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', svg)
    return [(float(x), float(y), float(width), float(tall)) for x, y, width, tall in found]


def test_columns_stand_on_the_axis_and_the_highest_fills_the_frame() -> None:
    chart = ColumnChart(
        label="roles",
        labels=("T0", "T1"),
        series=(Series("a", (2.0, 1.0)), Series("b", (2.0, 0.0))),
    )
    (_, low, _, tall), (_, high, _, more), (x, single, width, small), *_ = read_columns(
        render_column_chart(chart)
    )
    assert low + tall == HEIGHT - BOTTOM
    assert (high + more, high) == (low, TOP)
    assert (single + small, small) == (HEIGHT - BOTTOM, tall / 2)
    assert LEFT < x < x + width < WIDTH - RIGHT


def test_a_chart_without_a_count_is_left_out() -> None:
    assert (
        render_column_chart(
            ColumnChart(label="roles", labels=("T0",), series=(Series("a", (0.0,)),))
        )
        == ""
    )


def test_lines_stay_within_the_frame_and_skip_what_is_not_known() -> None:
    svg = render_line_chart(
        LineChart(
            label="by round",
            labels=("1", "2", "3"),
            series=(Series("a", (0.0, None, 1.0)),),
            bounds=(0.5,),
        )
    )
    assert re.findall(r'<polyline points="([^"]+)"', svg) == [
        f"{LEFT:.1f},{HEIGHT - BOTTOM:.1f} {WIDTH - RIGHT:.1f},{TOP:.1f}"
    ]
    assert f'y1="{(TOP + HEIGHT - BOTTOM) / 2:.1f}"' in svg.partition('class="bound"')[2]
