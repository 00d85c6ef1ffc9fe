"""A roster says which model stands behind a seat whose platform does not (Q-11)."""

from pathlib import Path

import pytest

from moothall.app.panels import merge_seats, parse_panel, parse_seat_word
from moothall.errors import BadPanel
from moothall.scoring.independence import SAME_FAMILY, build_seat_correlations, count_minds

PANEL = """
[[seat]]
id = "ada"
platform = "command:./ask"
family = "qwen"

[[seat]]
id = "bob"
platform = "command:./ask"
family = "qwen3-32b"

[[seat]]
id = "cy"
platform = "command:./ask"
"""


def test_a_panel_states_the_family_of_a_seat() -> None:
    """Q-11: two answers of one model err together by a half; the third seat's program is a mind of its own."""
    seats = parse_panel(PANEL, "the panel", Path()).seats
    correlations = build_seat_correlations((), seats)
    assert correlations("ada", "bob") == SAME_FAMILY
    assert count_minds(seats) == 2


def test_a_family_stays_with_the_platform_that_it_was_stated_of() -> None:
    """Q-11"""
    panel = parse_panel(PANEL, "the panel", Path())
    seats = merge_seats(panel, [parse_seat_word("ada=anthropic:claude-5")])
    assert [seat.family for seat in seats] == ["", "qwen3-32b", ""]


def test_a_family_that_is_no_name_is_refused() -> None:
    with pytest.raises(BadPanel, match="family"):
        parse_panel(PANEL.replace('"qwen"', f'"{"q" * 101}"'), "the panel", Path())
