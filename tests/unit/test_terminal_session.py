"""What a person at a terminal is asked waits for the screen, where there is one; figures are drawn to scale."""

import asyncio

import pytest

from moothall.surfaces.cli.live_views import BAR, render_bar
from moothall.surfaces.cli.terminal_session import TerminalSession


def test_without_a_screen_there_is_nothing_to_catch_up_with() -> None:
    terminal = TerminalSession()
    assert asyncio.run(terminal.catch_up()) is False
    assert terminal.find_deadline("1.speech.ada") is None
    assert terminal.describe_stop() == "\nStopped. Nothing was recorded."


@pytest.mark.parametrize(("value", "filled"), [(0.0, 0), (0.5, BAR // 2), (1.0, BAR), (7.0, BAR)])
def test_a_bar_is_filled_as_far_as_its_figure_says(value: float, filled: int) -> None:
    assert render_bar(value, "red").plain == f"{'█' * filled}{'░' * (BAR - filled)} {value:.2f}"
