"""Figures as people read them."""


def format_percent(value: float | None) -> str:
    """A share as a whole percentage."""
    return "–" if value is None else f"{value * 100:.0f} %"
