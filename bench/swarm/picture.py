"""The figures as pictures: SVG that any browser shows."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from bench.svg import build_svg, draw_text
from bench.swarm.cells import Played
from bench.swarm.cost import Round
from bench.swarm.runs import Outcome, share

PARTS: Final[tuple[tuple[str, str, Callable[[Outcome], bool]], ...]] = (
    ("converged on the best", "#2b7a4b", lambda each: each.converged and each.is_best),
    (
        "not converged, the best most marked",
        "#a9d3b8",
        lambda each: not each.converged and each.is_best,
    ),
    (
        "not converged, a worse one most marked",
        "#d9d9d9",
        lambda each: not each.converged and not each.is_best,
    ),
    ("converged on a worse one", "#c0392b", lambda each: each.converged and not each.is_best),
)
LEFT: Final = 250
WIDTH: Final = 520
ROW: Final = 26


def outcomes(played: Played, runs: int) -> str:
    """A bar for each combination of safeguards, cut by what came of its runs."""
    inner = [
        draw_text(10, 22, f"What becomes of a swarm, by its safeguards ({runs} runs each)", size=15)
    ]
    for at, (label, colour, _) in enumerate(PARTS):
        x, y = 10 + 390 * (at % 2), 38 + 20 * (at // 2)
        inner.append(
            f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>'
            + draw_text(x + 18, y + 11, label)
        )
    top = 92
    for row, (name, found) in enumerate(played.items()):
        y = top + row * ROW + 10 * (row // 4)
        inner.append(
            draw_text(
                10, y + 15, " · ".join(part.strip() for part in name.split("  ") if part.strip())
            )
        )
        inner.append(_bar(y, found))
    height = top + len(played) * ROW + 40
    for tick in range(0, 101, 25):
        inner.append(draw_text(LEFT + WIDTH * tick / 100, height - 8, f"{tick} %", anchor="middle"))
    return build_svg(LEFT + WIDTH + 40, height, inner)


def _bar(y: float, found: Sequence[Outcome]) -> str:
    x, cut = float(LEFT), []
    for _, colour, holds in PARTS:
        width = WIDTH * share(found, holds).value
        cut.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 6}" fill="{colour}"/>'
        )
        x += width
    return "".join(cut)


LINES: Final = (
    ("rules, ideas repeated", "#2b7a4b"),
    ("rules, every idea new", "#2c5f9e"),
    ("measure by words, every idea new", "#c0392b"),
)
PANEL: Final = 330
TOP: Final = 70
LOW, HIGH = 1e-4, 1.0


def growth(
    agents: tuple[Mapping[int, Round], Mapping[int, Round]],
    findings: tuple[Mapping[int, Round], Mapping[int, Round]],
) -> str:
    """The CPU of a round against agents and against findings, both axes logarithmic; each pair is ideas repeated, ideas new."""
    inner = [draw_text(10, 22, "CPU of a round, seconds", size=15)]
    for at, (label, colour) in enumerate(LINES):
        inner.append(
            f'<rect x="{10 + 245 * at}" y="38" width="12" height="12" fill="{colour}"/>'
            + draw_text(28 + 245 * at, 49, label)
        )
    inner += _panel(60, agents, "agents") + _panel(
        60 + PANEL + 70, findings, "findings on the blackboard"
    )
    return build_svg(60 + 2 * PANEL + 100, TOP + PANEL + 50, inner)


def _panel(
    left: float, found: tuple[Mapping[int, Round], Mapping[int, Round]], title: str
) -> list[str]:
    repeated, new = found
    first, last = math.log(min(new)), math.log(max(new))

    def x_of(value: float) -> float:
        return left + PANEL * (math.log(value) - first) / (last - first)

    def y_of(value: float) -> float:
        share_of = (math.log(min(max(value, LOW), HIGH)) - math.log(LOW)) / (
            math.log(HIGH) - math.log(LOW)
        )
        return TOP + PANEL * (1 - share_of)

    inner = []
    for power in (-4, -3, -2, -1, 0):
        y = y_of(10.0**power)
        inner.append(
            f'<line x1="{left}" y1="{y:.1f}" x2="{left + PANEL}" y2="{y:.1f}" stroke="#ddd"/>'
        )
        inner.append(draw_text(left - 6, y + 4, f"{10.0**power:g}", anchor="end"))
    inner += [
        draw_text(x_of(number), TOP + PANEL + 18, f"{number:,}", anchor="middle") for number in new
    ]
    inner.append(draw_text(left + PANEL / 2, TOP + PANEL + 38, title, anchor="middle"))
    series = (
        [(number, each.rules) for number, each in repeated.items()],
        [(number, each.rules) for number, each in new.items()],
        [(number, each.measure) for number, each in new.items()],
    )
    for points, (_, colour) in zip(series, LINES, strict=True):
        path = " ".join(f"{x_of(x):.1f},{y_of(y):.1f}" for x, y in points)
        inner.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
    return inner
